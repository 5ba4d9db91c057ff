//! Statements prepared by handle (sp_prepare, sp_prepexec): their texts and declarations. The plans are with the texts.

use std::collections::HashMap;

use engine::error::Error;
use engine::memory::Charge;

/// What a prepared statement takes beside its texts.
const PREPARED_BYTES: u64 = 128;

/// A text and the declarations of its parameters.
#[derive(Clone)]
pub(crate) struct PreparedText {
    pub(crate) declarations: String,
    pub(crate) statement: String,
}

impl PreparedText {
    fn bytes(&self) -> u64 {
        (self.declarations.len() + self.statement.len()) as u64 + PREPARED_BYTES
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Handles {
    last: i32,
    texts: HashMap<i32, PreparedText>,
    bytes: u64,
    charge: Charge,
}

impl Handles {
    /// Keeps a text; answers its handle.
    ///
    /// # Errors
    /// 701 when there is no memory to keep it.
    pub(super) fn add(&mut self, text: PreparedText) -> Result<i32, Error> {
        self.bytes += text.bytes();
        self.charge.grow_to(self.bytes)?;
        self.last += 1;
        self.texts.insert(self.last, text);
        Ok(self.last)
    }

    pub(super) fn find(&self, handle: i32) -> Option<&PreparedText> {
        self.texts.get(&handle)
    }

    /// Lets go of a text; false when there is none of that handle.
    pub(super) fn remove(&mut self, handle: i32) -> bool {
        let removed = self.texts.remove(&handle);
        self.bytes -= removed.as_ref().map_or(0, PreparedText::bytes);
        removed.is_some()
    }
}
