//! Memory that direct I/O accepts: a zeroed byte buffer whose first byte lies on a 4096-byte boundary.
//!
//! ```text
//!   memory:  | skipped | len bytes, the first on a boundary | rest |
//! ```
//! The memory is asked for as zeros, not filled with them: a large buffer costs only what is used of it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Alignment in bytes of every [`AlignedBuffer`]; a multiple of every direct I/O alignment the crate uses.
pub const BUFFER_ALIGNMENT_BYTES: usize = 4096;

/// The longest slice in bytes that [`zeros`] answers.
pub const ZEROS_BYTES_MAX: usize = (4 << 20) + (64 << 10);

/// `len` zeros on a 4096-byte boundary. All who write zeros share them: memory that is only read stays one page, and is asked for once.
///
/// # Panics
/// When `len` is above [`ZEROS_BYTES_MAX`].
pub fn zeros(len: usize) -> &'static [u8] {
    static ZEROS: LazyLock<AlignedBuffer> = LazyLock::new(|| AlignedBuffer::with_len(ZEROS_BYTES_MAX));
    &ZEROS[..len]
}

/// A byte buffer of fixed length on a 4096-byte boundary, zeroed at first. Fit for direct reads and writes.
pub struct AlignedBuffer {
    /// Never grows, so it stays where it is.
    memory: Vec<u8>,
    /// Bytes before the boundary.
    skipped: usize,
    len: usize,
}

impl AlignedBuffer {
    /// A zeroed buffer of `len` bytes. `len` need not be a multiple of anything.
    pub fn with_len(len: usize) -> AlignedBuffer {
        let memory = match len {
            0 => Vec::new(),
            _ => vec![0; len + BUFFER_ALIGNMENT_BYTES - 1],
        };
        let address = memory.as_ptr().addr();
        let skipped = match len {
            0 => 0,
            _ => address.next_multiple_of(BUFFER_ALIGNMENT_BYTES) - address,
        };
        AlignedBuffer { memory, skipped, len }
    }
}

impl Clone for AlignedBuffer {
    fn clone(&self) -> AlignedBuffer {
        let mut copy = AlignedBuffer::with_len(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.skipped..self.skipped + self.len]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.skipped..self.skipped + self.len]
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "AlignedBuffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_aligned_zeroed_and_writable_to_its_end() {
        for len in [1, 511, 512, 4096, 4097, 61_440, 1 << 20] {
            let mut buffer = AlignedBuffer::with_len(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr() as usize % BUFFER_ALIGNMENT_BYTES, 0);
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(0xA5);
            let copy = buffer.clone();
            assert_eq!(copy.as_ptr() as usize % BUFFER_ALIGNMENT_BYTES, 0);
            assert!(copy.iter().all(|byte| *byte == 0xA5));
        }
    }

    #[test]
    fn zeros_are_shared_aligned_and_as_many_as_asked_for() {
        for len in [0, 1, 4096, ZEROS_BYTES_MAX] {
            let all = zeros(len);
            assert_eq!((all.len(), all.as_ptr()), (len, zeros(1).as_ptr()));
            assert_eq!(all.as_ptr() as usize % BUFFER_ALIGNMENT_BYTES, 0);
            assert!(all.iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn no_bytes_are_no_memory() {
        let buffer = AlignedBuffer::with_len(0);
        assert!(buffer.is_empty() && buffer.clone().is_empty());
        assert_eq!(buffer.memory.capacity(), 0);
    }
}
