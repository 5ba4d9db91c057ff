//! The possible keys of a hash table: a bitmap with which a scan tests its rows before it decodes them further.
//!
//! ```text
//! word   by the low bits of a key's hash      bits   two of the word, by its high bits
//! ```
//! The hash is that of the table's keys. A row whose bits are not both set has no match. With at least eight bits per key, about one in
//! twenty rows without a match has both bits set by chance.

use engine::error::Result;

use super::key_table::KeyTable;

const KEYS_PER_WORD: usize = 8;
const BIT_MASK: u32 = u64::BITS - 1;

/// A bitmap of the keys of a table.
pub struct KeyBitmap {
    /// Where the parts of a row's key lie in the wide row.
    places: Vec<usize>,
    seed: u64,
    /// A power of two of them.
    words: Vec<u64>,
}

/// What a bitmap of so many keys takes.
pub(super) fn bitmap_bytes(keys: usize) -> u64 {
    (words_of(keys) * size_of::<u64>()) as u64
}

fn words_of(keys: usize) -> usize {
    (keys / KEYS_PER_WORD + 1).next_power_of_two()
}

impl KeyBitmap {
    /// Of all keys of a table, which rows are looked up in by what lies in places.
    ///
    /// # Errors
    /// 3617 when the request is to stop.
    pub(super) fn of(keys: &KeyTable, places: Vec<usize>) -> Result<KeyBitmap> {
        let mut bitmap = KeyBitmap {
            places,
            seed: keys.seed(),
            words: vec![0; words_of(keys.len())],
        };
        keys.for_each_hash(&mut |hash| {
            let (place, bits) = bitmap.place_and_bits(hash);
            if let Some(word) = bitmap.words.get_mut(place) {
                *word |= bits;
            }
        })?;
        Ok(bitmap)
    }

    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// Whether the table may have a key; one that it has is never missing.
    #[inline]
    pub(super) fn may_have(&self, key: &[u8]) -> bool {
        let (place, bits) = self.place_and_bits(KeyTable::hash(self.seed, key));
        self.words.get(place).is_some_and(|word| word & bits == bits)
    }

    #[inline]
    fn place_and_bits(&self, hash: u64) -> (usize, u64) {
        let high = (hash >> 32) as u32;
        let bits = 1 << (high & BIT_MASK) | 1 << (high >> 6 & BIT_MASK);
        (hash as usize & (self.words.len() - 1), bits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Short keys and long ones.
    fn key(number: u32) -> Vec<u8> {
        let mut key = vec![1; if number.is_multiple_of(3) { 20 } else { 1 }];
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn every_key_is_known_and_few_others_are() {
        for count in [0, 1, 7, 1_000, 30_000] {
            let mut keys = KeyTable::default();
            for number in 0..count {
                keys.add(&key(number)).unwrap();
            }
            let bitmap = KeyBitmap::of(&keys, vec![0]).unwrap();
            assert!((0..count).all(|number| bitmap.may_have(&key(number))), "{count}");
            let strangers = (count..count + 10_000)
                .filter(|number| bitmap.may_have(&key(*number)))
                .count();
            assert!(strangers < 1_500, "{strangers} of 10,000 beside {count} keys");
        }
    }
}
