//! The hash function of a session's private cache: texts that it has sent, and the plans of their statements.
//!
//! It does not resist keys chosen to collide. It need not: a client that chooses them slows down only its own session.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds the hash of a session's own tables.
pub(crate) type OwnKeys = BuildHasherDefault<OwnKeyHasher>;

/// An odd number without a pattern: the golden ratio's fraction, times 2^64 (Knuth's multiplicative hashing).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Takes eight bytes at a time.
#[derive(Default)]
pub(crate) struct OwnKeyHasher(u64);

impl OwnKeyHasher {
    fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for OwnKeyHasher {
    fn finish(&self) -> u64 {
        // The upper bits are the mixed ones; the table uses both ends.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        for &byte in rest {
            self.add(u64::from(byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.add(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    /// The table takes its place from the low bits and its tag from the high ones.
    #[test]
    fn texts_that_differ_in_one_character_spread_over_both_ends_of_the_hash() {
        let text = |number: u32| format!("select amount from account where id = {number:05}");
        let hash = |number: u32| OwnKeys::default().hash_one(text(number));
        let hashes: Vec<u64> = (0..4096).map(hash).collect();
        let low: HashSet<u64> = hashes.iter().map(|hash| hash & 0xFFF).collect();
        let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        // Drawn at random they would take about 2,590 of the 4,096 places.
        assert!(low.len() > 2_000, "{}", low.len());
        assert_eq!(high.len(), 128);
    }
}
