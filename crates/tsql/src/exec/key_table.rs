//! Distinct keys of rows, numbered in the order of their arrival: the lookup table of groups, joins and sets.
//!
//! ```text
//! slot     | first bytes u64 | more bytes u32   | number |     a key of up to 12 bytes lies in its slot,
//!          | hash u64        | place in `long`  | number |     a longer one in `long`, one after another
//! ```
//! A key is a byte string that is equal for values that count as equal ([`push_group_key`]). No key is a prefix of another, so padding
//! short keys with zeros makes no two equal. Slots are probed linearly from the position given by the hash. The hash has a random seed for
//! each table, so that a client cannot choose values that all collide.
//!
//! [`push_group_key`]: crate::scalar::compare::push_group_key

use std::hash::{BuildHasher, RandomState};

use engine::cancel;
use engine::error::{Error, Result};

/// Keys up to this length lie in their slot.
const SHORT_BYTES_MAX: usize = 12;
const SLOTS_MIN: usize = 16;
const EMPTY: u32 = u32::MAX;
/// Set in the number of a slot whose key is a long one.
const LONG: u32 = 1 << 31;
/// Keys at most: their numbers leave [`LONG`] alone.
const COUNT_MAX: usize = (LONG - 1) as usize;
/// Slots that are moved in the time of a step.
const SLOTS_PER_STEP: usize = 64;
/// What a key takes of slots, with those that are free and those that a doubling leaves behind.
const SLOTS_BYTES_PER_KEY: u64 = 48;
/// An odd number without a pattern: the golden ratio's digits.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Copy)]
struct Slot {
    head: u64,
    rest: u32,
    number: u32,
}

const EMPTY_SLOT: Slot = Slot {
    head: 0,
    rest: 0,
    number: EMPTY,
};

impl Slot {
    /// The hash of its key.
    fn hash(&self, seed: u64) -> u64 {
        match self.number < LONG {
            true => hash_short(seed, self.head, self.rest),
            false => self.head,
        }
    }
}

/// A set of keys with their numbers.
pub(super) struct KeyTable {
    seed: u64,
    /// A power of two of them, three quarters in use at most; none before the first key.
    slots: Vec<Slot>,
    count: usize,
    long: Vec<u8>,
    /// Where each long key ends in `long`.
    long_ends: Vec<usize>,
}

impl Default for KeyTable {
    fn default() -> KeyTable {
        KeyTable {
            seed: RandomState::new().hash_one(0_u8),
            slots: Vec::new(),
            count: 0,
            long: Vec::new(),
            long_ends: Vec::new(),
        }
    }
}

/// About what a table takes for one more key.
pub(super) fn key_bytes(key: &[u8]) -> u64 {
    let long = if key.len() > SHORT_BYTES_MAX {
        // A vector that has doubled is half empty.
        2 * (key.len() + size_of::<usize>())
    } else {
        0
    };
    SLOTS_BYTES_PER_KEY + long as u64
}

impl KeyTable {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// What the hashes of this table's keys go by.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of a key in the table with a seed.
    #[inline]
    pub(super) fn hash(seed: u64, key: &[u8]) -> u64 {
        match short(key) {
            Some((head, rest)) => hash_short(seed, head, rest),
            None => hash_long(seed, key),
        }
    }

    /// Calls `visit` for the hash of each key.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    pub(super) fn for_each_hash(&self, visit: &mut impl FnMut(u64)) -> Result<()> {
        for slots in self.slots.chunks(SLOTS_PER_STEP) {
            cancel::spend(1)?;
            let taken = slots.iter().filter(|slot| slot.number != EMPTY);
            taken.for_each(|slot| visit(slot.hash(self.seed)));
        }
        Ok(())
    }

    /// The number of a key that is there.
    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        match short(key) {
            Some((head, rest)) => self.find_short(head, rest),
            None => self.find_long(key, hash_long(self.seed, key)),
        }
    }

    fn find_short(&self, head: u64, rest: u32) -> Option<usize> {
        let mut place = hash_short(self.seed, head, rest) as usize;
        loop {
            let slot = self.slot(place)?;
            if slot.head == head && slot.rest == rest && slot.number < LONG {
                return Some(slot.number as usize);
            }
            place = place.wrapping_add(1);
        }
    }

    fn find_long(&self, key: &[u8], hash: u64) -> Option<usize> {
        let mut place = hash as usize;
        loop {
            let slot = self.slot(place)?;
            if slot.head == hash && slot.number >= LONG && self.long_key(slot.rest as usize) == key {
                return Some((slot.number & !LONG) as usize);
            }
            place = place.wrapping_add(1);
        }
    }

    /// The slot that a hash or a later place means; `None` when it is free.
    #[inline]
    fn slot(&self, place: usize) -> Option<&Slot> {
        let slot = self.slots.get(place & self.slots.len().wrapping_sub(1))?;
        (slot.number != EMPTY).then_some(slot)
    }

    fn long_key(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.long_ends.get(before));
        let end = self.long_ends.get(index).copied().unwrap_or_default();
        self.long
            .get(start.copied().unwrap_or_default()..end)
            .unwrap_or_default()
    }

    /// Adds a key that is not there, and says its number: how many were there before it.
    ///
    /// # Errors
    /// 701 when there are more keys than there are numbers; 3617 when the request is to stop.
    pub(super) fn add(&mut self, key: &[u8]) -> Result<usize> {
        if self.count >= COUNT_MAX {
            return Err(Error::insufficient_memory());
        }
        if self.count >= self.slots.len() / 4 * 3 {
            self.grow()?;
        }
        let number = self.count as u32;
        let (slot, hash) = match short(key) {
            Some((head, rest)) => (Slot { head, rest, number }, hash_short(self.seed, head, rest)),
            None => {
                let head = hash_long(self.seed, key);
                let rest = self.long_ends.len() as u32;
                self.long.extend_from_slice(key);
                self.long_ends.push(self.long.len());
                let number = number | LONG;
                (Slot { head, rest, number }, head)
            }
        };
        self.put(slot, hash);
        self.count += 1;
        Ok(number as usize)
    }

    /// Puts a slot into the first free place from where its hash says.
    fn put(&mut self, slot: Slot, hash: u64) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut place = hash as usize & mask;
        while let Some(found) = self.slots.get_mut(place) {
            if found.number == EMPTY {
                *found = slot;
                return;
            }
            place = (place + 1) & mask;
        }
    }

    fn grow(&mut self) -> Result<()> {
        let count = (self.slots.len() * 2).max(SLOTS_MIN);
        let former = std::mem::replace(&mut self.slots, vec![EMPTY_SLOT; count]);
        for slots in former.chunks(SLOTS_PER_STEP) {
            cancel::spend(1)?;
            for &slot in slots.iter().filter(|slot| slot.number != EMPTY) {
                self.put(slot, slot.hash(self.seed));
            }
        }
        Ok(())
    }
}

/// A short key as two numbers.
#[inline]
fn short(key: &[u8]) -> Option<(u64, u32)> {
    let mut filled = [0; SHORT_BYTES_MAX];
    filled.get_mut(..key.len())?.copy_from_slice(key);
    let [a, b, c, d, e, f, g, h, i, j, k, l] = filled;
    let head = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    Some((head, u32::from_le_bytes([i, j, k, l])))
}

/// Both halves of a product: each bit of the factors reaches the middle of it.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn hash_short(seed: u64, head: u64, rest: u32) -> u64 {
    fold(fold(head ^ seed, MULTIPLIER) ^ u64::from(rest), seed | 1)
}

fn hash_long(seed: u64, key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks::<8>();
    let mut hash = seed ^ key.len() as u64;
    for word in words {
        hash = fold(hash ^ u64::from_le_bytes(*word), MULTIPLIER);
    }
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    fold(hash ^ u64::from_le_bytes(last), seed | 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Keys of every length around the border between short and long, none the beginning of another.
    fn key(number: u32) -> Vec<u8> {
        let mut key = vec![1; number as usize % 23];
        key.push(0);
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn keys_are_found_by_their_numbers_and_others_are_not() {
        let mut table = KeyTable::default();
        assert_eq!(table.find(&key(0)), None);
        for number in 0..40_000 {
            assert_eq!(table.find(&key(number)), None, "{number}");
            assert_eq!(table.add(&key(number)).unwrap(), number as usize);
        }
        for number in 0..40_000 {
            assert_eq!(table.find(&key(number)), Some(number as usize));
            assert_eq!(table.find(&key(number + 40_000)), None, "{number}");
        }
    }

    #[test]
    fn an_empty_key_is_a_key() {
        let mut table = KeyTable::default();
        assert_eq!(table.find(&[]), None);
        assert_eq!(table.add(&[]).unwrap(), 0);
        assert_eq!(table.find(&[]), Some(0));
    }

    #[test]
    fn keys_in_a_row_spread_over_the_slots() {
        let mut table = KeyTable::default();
        for number in 0_u64..48_000 {
            table.add(&[&[1][..], &(number << 20).to_be_bytes()].concat()).unwrap();
        }
        let mut longest = 0;
        let mut length = 0;
        for slot in &table.slots {
            length = if slot.number == EMPTY { 0 } else { length + 1 };
            longest = longest.max(length);
        }
        assert!(longest < 200, "{longest} slots in a row are taken");
    }
}
