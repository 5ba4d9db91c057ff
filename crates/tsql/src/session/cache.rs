//! The batches a session has executed, parsed and with their plans, by text.

use std::collections::HashMap;
use std::rc::Rc;

use engine::memory::Charge;

use crate::statements::CompiledBatch;

/// Batches kept; beyond that all are forgotten at once, which costs each of them one parse.
const BATCHES_MAX: usize = 256;
/// A batch longer than this is not likely to be sent again as it is.
pub(super) const BATCH_BYTES_MAX: usize = 256 << 10;
/// What the batches of a session may take together, with their plans: beyond that all are forgotten as well.
pub(super) const KEPT_BYTES_MAX: u64 = 4 << 20;

/// See the module.
#[derive(Default)]
pub(super) struct BatchCache {
    batches: HashMap<(bool, String), Rc<CompiledBatch>>,
    /// The last batch executed, found without hashing its text.
    last: Option<(bool, String, Rc<CompiledBatch>)>,
    charge: Charge,
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
        let kept: u64 = self
            .batches
            .iter()
            .map(|((_, text), batch)| text.len() as u64 + batch.bytes())
            .sum();
        let bytes = kept + 2 * text.len() as u64 + batch.bytes();
        if self.batches.len() >= BATCHES_MAX || bytes > KEPT_BYTES_MAX || self.charge.grow_to(bytes).is_err() {
            *self = BatchCache::default();
        }
        if batch.bytes() > KEPT_BYTES_MAX {
            return;
        }
        self.batches.insert((quoted_identifier, text.to_owned()), batch);
    }
}
