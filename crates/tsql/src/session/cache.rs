//! The batches a session has executed, parsed and with their plans, by text.

use std::collections::HashMap;
use std::rc::Rc;

use crate::statements::CompiledBatch;

/// Batches kept; beyond that all are forgotten at once, which costs each of them one parse.
const BATCHES_MAX: usize = 256;
/// A batch longer than this is not likely to be sent again as it is.
const BATCH_BYTES_MAX: usize = 256 << 10;

/// See the module.
#[derive(Default)]
pub(super) struct BatchCache {
    batches: HashMap<(bool, String), Rc<CompiledBatch>>,
    /// The last batch executed, found without hashing its text.
    last: Option<(bool, String, Rc<CompiledBatch>)>,
}

impl BatchCache {
    pub(super) fn find(&mut self, text: &str, quoted_identifier: bool) -> Option<Rc<CompiledBatch>> {
        if let Some((quoted, last, batch)) = &self.last
            && *quoted == quoted_identifier
            && last == text
        {
            return Some(batch.clone());
        }
        let found = self.batches.get(&(quoted_identifier, text.to_owned()))?.clone();
        self.last = Some((quoted_identifier, text.to_owned(), found.clone()));
        Some(found)
    }

    pub(super) fn keep(&mut self, text: &str, quoted_identifier: bool, batch: Rc<CompiledBatch>) {
        if text.len() > BATCH_BYTES_MAX {
            return;
        }
        if self.batches.len() >= BATCHES_MAX {
            self.batches.clear();
        }
        self.batches.insert((quoted_identifier, text.to_owned()), batch);
    }
}
