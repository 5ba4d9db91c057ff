//! Memory for one row, kept by the thread that used it: a statement on one row builds it several times over.
//!
//! Invariant: a buffer is empty when it is handed out, whoever used it before and however that ended.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Buffers that a thread keeps; more are never in use at once for one row.
const KEPT_MAX: usize = 8;
/// The largest one kept: a row with its key fits into a page.
const KEPT_BYTES_MAX: usize = 16 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty byte string whose memory goes back to the thread when it is dropped.
pub struct RowBuffer(Vec<u8>);

impl RowBuffer {
    /// An empty one.
    pub fn new() -> RowBuffer {
        // A thread that is ending has none.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop());
        RowBuffer(spare.ok().flatten().unwrap_or_default())
    }
}

impl Default for RowBuffer {
    fn default() -> RowBuffer {
        RowBuffer::new()
    }
}

impl Drop for RowBuffer {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0);
        if bytes.capacity() == 0 || bytes.capacity() > KEPT_BYTES_MAX {
            return;
        }
        bytes.clear();
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < KEPT_MAX {
                spare.push(bytes);
            }
        });
    }
}

impl Deref for RowBuffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for RowBuffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next user may be another session whose request this thread serves.
    #[test]
    fn a_reused_buffer_shows_nothing_of_its_former_user() {
        let mut first = RowBuffer::new();
        first.extend_from_slice(b"somebody's salary");
        let place = first.as_ptr();
        drop(first);
        let second = RowBuffer::new();
        assert_eq!(second.as_ptr(), place, "the memory is the same");
        assert!(second.is_empty());
        let third = RowBuffer::new();
        assert!(third.is_empty() && third.as_ptr() != place, "one memory, one user");
    }

    #[test]
    fn few_buffers_are_kept_and_no_large_ones() {
        let mut many: Vec<_> = (0..2 * KEPT_MAX).map(|_| RowBuffer::new()).collect();
        many.iter_mut().for_each(|buffer| buffer.reserve(100));
        many[0].reserve(KEPT_BYTES_MAX + 1);
        drop(many);
        SPARE.with_borrow(|spare| {
            assert_eq!(spare.len(), KEPT_MAX);
            assert!(spare.iter().all(|bytes| bytes.capacity() <= KEPT_BYTES_MAX));
        });
    }
}
