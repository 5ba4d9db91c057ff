//! The bytes of one file version: sparse, shared between versions chunk by chunk, copied when written.
//!
//! Invariants: a missing chunk reads as zeros, and every byte at or behind `len` is zero in its chunk, so that a file
//! cut and extended again shows zeros there. Zeros written where no chunk is make none.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

const CHUNK_BYTES: usize = 16 * 1024;

/// `CHUNK_BYTES` bytes.
type Chunk = [u8];

/// What a missing chunk reads as.
static ZEROS: LazyLock<Arc<Chunk>> = LazyLock::new(|| Arc::from(vec![0; CHUNK_BYTES]));

/// One version of a file's bytes. Cloning shares all chunks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    chunks: BTreeMap<u64, Arc<Chunk>>,
    len: u64,
}

/// Splits a byte range at chunk boundaries: chunk number, and the range inside the chunk.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let mut at = offset;
    let end = offset.saturating_add(len as u64);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let start = (at % CHUNK_BYTES as u64) as usize;
        let size = (CHUNK_BYTES - start).min((end - at) as usize);
        let piece = (at / CHUNK_BYTES as u64, start..start + size);
        at += size as u64;
        Some(piece)
    })
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buffer` from `offset`, with zeros where nothing was written or the file has ended.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) {
        let mut done = 0;
        for (number, range) in pieces(offset, buffer.len()) {
            let part = &mut buffer[done..done + range.len()];
            done += range.len();
            match self.chunks.get(&number) {
                Some(chunk) => part.copy_from_slice(&chunk[range]),
                None => part.fill(0),
            }
        }
    }

    /// Writes the bytes that lie below the length; the length stays.
    pub(crate) fn write_within(&mut self, offset: u64, bytes: &[u8]) {
        let room = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let mut done = 0;
        for (number, range) in pieces(offset, room) {
            let part = &bytes[done..done + range.len()];
            done += range.len();
            match self.chunks.entry(number) {
                Entry::Vacant(_) if part == &ZEROS[..part.len()] => {}
                Entry::Vacant(place) if part.len() == CHUNK_BYTES => {
                    place.insert(Arc::from(part));
                }
                Entry::Occupied(mut chunk) if part.len() == CHUNK_BYTES && Arc::strong_count(chunk.get()) > 1 => {
                    chunk.insert(Arc::from(part));
                }
                entry => {
                    let chunk = entry.or_insert_with(|| Arc::clone(&ZEROS));
                    Arc::make_mut(chunk)[range].copy_from_slice(part);
                }
            }
        }
    }

    /// Extends the length to at least `len` with zeros.
    pub(crate) fn extend_to(&mut self, len: u64) {
        self.len = self.len.max(len);
    }

    /// Sets the length, dropping what lies behind it.
    pub(crate) fn set_len(&mut self, len: u64) {
        if len < self.len {
            let boundary = len.div_ceil(CHUNK_BYTES as u64);
            self.chunks.split_off(&boundary);
            let tail = (len % CHUNK_BYTES as u64) as usize;
            if tail > 0
                && let Some(chunk) = self.chunks.get_mut(&(len / CHUNK_BYTES as u64))
            {
                Arc::make_mut(chunk)[tail..].fill(0);
            }
        }
        self.len = len;
    }

    /// Takes over the chunks of `other` that a range touches, and its length. Correct only where the two versions
    /// agree outside the range.
    pub(crate) fn adopt(&mut self, other: &Content, offset: u64, len: usize) {
        for (number, _) in pieces(offset, len) {
            match other.chunks.get(&number) {
                Some(chunk) => self.chunks.insert(number, Arc::clone(chunk)),
                None => self.chunks.remove(&number),
            };
        }
        self.len = other.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_tail_reads_as_zeros_after_extension() {
        let mut content = Content::default();
        content.extend_to(50_000);
        content.write_within(0, &[7; 50_000]);
        content.set_len(20_000);
        content.set_len(60_000);
        let mut bytes = vec![1; 60_000];
        content.read(0, &mut bytes);
        assert!(bytes[..20_000].iter().all(|byte| *byte == 7));
        assert!(bytes[20_000..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn zeros_take_no_chunk_and_still_overwrite() {
        let mut content = Content::default();
        content.extend_to(3 * CHUNK_BYTES as u64);
        content.write_within(100, &vec![0; 2 * CHUNK_BYTES]);
        assert!(content.chunks.is_empty());
        content.write_within(CHUNK_BYTES as u64, &[7; CHUNK_BYTES]);
        let before = content.clone();
        content.write_within(CHUNK_BYTES as u64, &[0; CHUNK_BYTES]);
        let mut bytes = vec![1; CHUNK_BYTES];
        content.read(CHUNK_BYTES as u64, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 0));
        before.read(CHUNK_BYTES as u64, &mut bytes);
        assert!(bytes.iter().all(|byte| *byte == 7), "the other version has its own");
    }

    #[test]
    fn what_is_adopted_may_be_a_missing_chunk() {
        let mut old = Content::default();
        old.extend_to(CHUNK_BYTES as u64);
        let new = old.clone();
        old.write_within(0, &[7; 512]);
        old.adopt(&new, 0, 512);
        let mut bytes = [1; 512];
        old.read(0, &mut bytes);
        assert_eq!(bytes, [0; 512]);
    }

    #[test]
    fn versions_share_chunks_until_written() {
        let mut first = Content::default();
        first.extend_to(3 * CHUNK_BYTES as u64);
        first.write_within(0, &vec![1; 3 * CHUNK_BYTES]);
        let mut second = first.clone();
        second.write_within(CHUNK_BYTES as u64 - 1, &[2, 2]);
        let shared = |number: u64| Arc::ptr_eq(&first.chunks[&number], &second.chunks[&number]);
        assert_eq!([shared(0), shared(1), shared(2)], [false, false, true]);
        let mut byte = [0];
        first.read(CHUNK_BYTES as u64, &mut byte);
        assert_eq!(byte, [1]);
    }
}
