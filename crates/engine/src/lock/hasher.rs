//! The hash function of the lock table, which must be fast: a statement on one row looks up a dozen locks.
//!
//! It does not resist keys chosen to collide. It need not, because a row's number is already a hash of its key.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table of what is locked.
pub(super) type LockMap<K, V> = HashMap<K, V, BuildHasherDefault<LockHasher>>;

/// An odd number without a pattern: the golden ratio's fraction, times 2^64 (Knuth's multiplicative hashing).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Default)]
pub(super) struct LockHasher(u64);

impl LockHasher {
    fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for LockHasher {
    fn finish(&self) -> u64 {
        // The upper bits are the mixed ones; the table uses both ends.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.add(u64::from(byte));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.add(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.add(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.add(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.add(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.add(number as u64);
    }
}
