//! Memory that direct I/O accepts: a zeroed byte buffer whose first byte lies on a 4096-byte boundary.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Alignment in bytes of every [`AlignedBuffer`]; a multiple of every direct I/O alignment the crate uses.
pub const BUFFER_ALIGNMENT_BYTES: usize = 4096;

#[derive(Clone, Copy)]
#[repr(C, align(4096))]
struct Block([u8; BUFFER_ALIGNMENT_BYTES]);

/// A byte buffer of fixed length on a 4096-byte boundary, zeroed at first. Fit for direct reads and writes.
#[derive(Clone)]
pub struct AlignedBuffer {
    blocks: Vec<Block>,
    len: usize,
}

impl AlignedBuffer {
    /// A zeroed buffer of `len` bytes. `len` need not be a multiple of anything.
    pub fn with_len(len: usize) -> AlignedBuffer {
        let count = len.div_ceil(BUFFER_ALIGNMENT_BYTES);
        AlignedBuffer {
            blocks: vec![Block([0; BUFFER_ALIGNMENT_BYTES]); count],
            len,
        }
    }
}

#[allow(
    unsafe_code,
    reason = "a vector of aligned blocks is viewed as the bytes it consists of"
)]
impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the blocks are `repr(C)` arrays of initialized bytes without padding (size equals alignment), they
        // lie one after another, and `len` never exceeds their total since it is fixed at construction. An empty
        // vector gives an aligned dangling pointer, which is valid for length 0.
        unsafe { std::slice::from_raw_parts(self.blocks.as_ptr().cast::<u8>(), self.len) }
    }
}

#[allow(
    unsafe_code,
    reason = "a vector of aligned blocks is viewed as the bytes it consists of"
)]
impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the exclusive borrow of `self` makes this the only view, and any byte value is valid.
        unsafe { std::slice::from_raw_parts_mut(self.blocks.as_mut_ptr().cast::<u8>(), self.len) }
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
        for len in [0, 1, 511, 512, 4096, 4097, 61_440, 1 << 20] {
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
}
