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
        let bytes = self.bytes + text.bytes();
        self.charge.grow_to(bytes)?;
        self.bytes = bytes;
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.texts.contains_key(&self.last) {
                self.texts.insert(self.last, text);
                return Ok(self.last);
            }
        }
    }

    pub(super) fn find(&self, handle: i32) -> Option<&PreparedText> {
        self.texts.get(&handle)
    }

    /// Releases a text; false if there is no such handle.
    pub(super) fn remove(&mut self, handle: i32) -> bool {
        let removed = self.texts.remove(&handle);
        self.bytes -= removed.as_ref().map_or(0, PreparedText::bytes);
        removed.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use engine::memory::{Accountant, enter};

    fn text(bytes: usize) -> PreparedText {
        PreparedText {
            declarations: String::new(),
            statement: "s".repeat(bytes),
        }
    }

    /// Has no memory at all beyond what is free.
    struct Poor;

    impl Accountant for Poor {
        fn take(&self, _bytes: u64) -> bool {
            false
        }

        fn take_beyond(&self, _bytes: u64) {}

        fn give_back(&self, _bytes: u64) {}
    }

    /// A text that was refused stayed counted, so that after it the smallest was refused as well, to the end of the session.
    #[test]
    fn a_text_that_is_refused_leaves_room_for_others() {
        let _working = enter(Arc::new(Poor));
        let mut handles = Handles::default();
        assert_eq!(handles.add(text(1 << 20)).unwrap_err().number, 701);
        let handle = handles.add(text(9)).unwrap();
        assert_eq!(handles.find(handle).unwrap().statement.len(), 9);
        assert!(handles.remove(handle));
        assert_eq!(handles.bytes, 0);
    }

    /// Handles come round after 2^31 of them, which was an overflow, and pass over those that are kept.
    #[test]
    fn handles_that_come_round_pass_over_those_that_are_kept() {
        let mut handles = Handles::default();
        let first = handles.add(text(1)).unwrap();
        handles.last = i32::MAX - 1;
        assert_eq!(handles.add(text(2)).unwrap(), i32::MAX);
        let next = handles.add(text(3)).unwrap();
        assert!(next != first && next > 0);
        assert_eq!(handles.find(first).unwrap().statement.len(), 1);
    }
}
