//! A cache that evicts by age (second chance): entries used since the last pass stay, others are evicted.
//!
//! ```text
//! oldest                                       newest
//! [ - ][ used ][ - ][ used ][ - ]                          when space is needed: an entry without a mark is evicted,
//!   |     \_____________________________ moves to the end, without its mark   one with a mark is passed over once
//!   evicted
//! ```
//! A new entry has no mark, so a text that is sent only once is evicted before texts that are sent repeatedly. Entries may grow (plans are
//! added to a text), so an entry's size is measured again whenever it is found.
//!
//! Invariant: `bytes` is the sum of the sizes last measured, and the charge covers it.

use std::borrow::Borrow;
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};

use engine::memory::{Charge, STEP_BYTES};

/// What a kept value takes.
pub(crate) trait Footprint {
    /// Bytes, estimated.
    fn bytes(&self) -> u64;

    /// Whether it was used since this was last asked, if it counts that itself: who has it in hand need not find it again.
    fn was_used(&self) -> bool {
        false
    }
}

struct Slot<K, V> {
    key: K,
    value: V,
    /// What the value took when it was last asked, with what the key takes.
    bytes: u64,
    key_bytes: u64,
    used: bool,
}

pub(crate) struct AgingCache<K, V, S = RandomState> {
    /// Oldest first; `None` where a key was kept again.
    slots: VecDeque<Option<Slot<K, V>>>,
    /// The number of each key's slot. The oldest slot has the number `first`.
    places: HashMap<K, u64, S>,
    first: u64,
    bytes: u64,
    bytes_max: u64,
    charge: Charge,
}

impl<K: Hash + Eq + Clone, V: Footprint, S: BuildHasher + Default> AgingCache<K, V, S> {
    /// An empty cache that keeps so many bytes at most.
    pub(crate) fn new(bytes_max: u64) -> AgingCache<K, V, S> {
        AgingCache {
            slots: VecDeque::new(),
            places: HashMap::default(),
            first: 0,
            bytes: 0,
            bytes_max,
            charge: Charge::default(),
        }
    }

    /// The entry for a key; it counts as used.
    pub(crate) fn find<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find_with_key(key).map(|(_, value)| value)
    }

    /// As [`AgingCache::find`], with the key as it is kept.
    pub(crate) fn find_with_key<Q>(&mut self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let place = usize::try_from(self.places.get(key)? - self.first).ok()?;
        let slot = self.slots.get_mut(place)?.as_mut()?;
        slot.used = true;
        let bytes = slot.value.bytes() + slot.key_bytes;
        self.bytes = self.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        Some((&slot.key, &slot.value))
    }

    /// Keeps a value under a key that takes so many bytes itself, unless it is larger than all there may be, or there is no memory
    /// for it even when half of the others are given up.
    pub(crate) fn keep(&mut self, key: K, value: V, key_bytes: u64) {
        // The key stands in the slot and in the table of places.
        let key_bytes = 2 * key_bytes;
        let bytes = value.bytes() + key_bytes;
        self.forget(&key);
        if bytes > self.bytes_max {
            return;
        }
        self.shrink_to(self.bytes_max - bytes);
        if self.charge.grow_to(self.bytes + bytes).is_err() {
            self.shrink_to(self.bytes / 2);
            self.charge.shrink_to(self.bytes);
            if self.charge.grow_to(self.bytes + bytes).is_err() {
                return;
            }
        }
        self.bytes += bytes;
        self.append(Slot {
            key,
            value,
            bytes,
            key_bytes,
            used: false,
        });
    }

    fn append(&mut self, slot: Slot<K, V>) {
        self.places
            .insert(slot.key.clone(), self.first + self.slots.len() as u64);
        self.slots.push_back(Some(slot));
    }

    /// Forgets the oldest until no more than so many bytes are kept.
    fn shrink_to(&mut self, bytes: u64) {
        while self.bytes > bytes
            && let Some(oldest) = self.slots.pop_front()
        {
            self.first += 1;
            match oldest {
                Some(slot) if slot.used | slot.value.was_used() => self.append(Slot { used: false, ..slot }),
                Some(slot) => {
                    self.places.remove(&slot.key);
                    self.bytes -= slot.bytes;
                }
                None => {}
            }
        }
    }

    /// Everything that is kept, the oldest first; it does not count as used.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().flatten().map(|slot| &slot.value)
    }

    /// Forgets what does not fulfil a condition; answers how many that was.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(&V) -> bool) -> usize {
        let mut forgotten = 0;
        for place in &mut self.slots {
            if let Some(slot) = place.take_if(|slot| !is_kept(&slot.value)) {
                self.places.remove(&slot.key);
                self.bytes -= slot.bytes;
                forgotten += 1;
            }
        }
        self.charge.shrink_to(self.bytes);
        forgotten
    }

    /// Asks again what a value takes, and makes the room for it.
    pub(crate) fn measure<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.find(key).is_some() {
            self.shrink_to(self.bytes_max);
            if self.charge.grow_to(self.bytes).is_err() {
                self.shrink_to(self.charge.bytes());
            }
        }
    }

    /// Forgets the oldest until so many bytes have come back, or nothing is left.
    pub(crate) fn give_up(&mut self, bytes: u64) {
        // They come back by whole steps.
        self.shrink_to(self.bytes.saturating_sub(bytes.saturating_add(STEP_BYTES)));
        self.charge.shrink_to(self.bytes);
    }

    /// Forgets what is kept under a key.
    fn forget(&mut self, key: &K) {
        let place = self.places.remove(key).map(|number| number - self.first);
        let place = place.and_then(|place| usize::try_from(place).ok());
        if let Some(slot) = place.and_then(|place| self.slots.get_mut(place)?.take()) {
            self.bytes -= slot.bytes;
        }
    }

    /// Bytes kept.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use engine::memory::{Accountant, FREE_BYTES, enter};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    impl Footprint for u64 {
        fn bytes(&self) -> u64 {
            *self
        }
    }

    struct Purse {
        used: AtomicU64,
        limit: u64,
    }

    impl Accountant for Purse {
        fn take(&self, bytes: u64) -> bool {
            let fits = self.used.load(Ordering::Relaxed) + bytes <= self.limit;
            if fits {
                self.used.fetch_add(bytes, Ordering::Relaxed);
            }
            fits
        }

        fn take_beyond(&self, bytes: u64) {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }

        fn give_back(&self, bytes: u64) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_used_stays_and_what_is_sent_once_goes() {
        let mut cache: AgingCache<u32, u64> = AgingCache::new(100);
        for key in 0..10 {
            cache.keep(key, 10, 0);
        }
        assert_eq!(cache.bytes(), 100);
        // Half of them are used again; a flood of others comes once each.
        for key in 100..105 {
            for used in 0..5 {
                assert!(cache.find(&used).is_some(), "{used} while {key} comes");
            }
            cache.keep(key, 10, 0);
        }
        assert!((0..5).all(|key| cache.find(&key).is_some()));
        assert!((5..10).all(|key| cache.find(&key).is_none()));
        assert!(cache.find(&104).is_some(), "the newest is kept");
        assert_eq!(cache.bytes(), 100);
        cache.keep(1_000, 101, 0);
        assert!(cache.find(&1_000).is_none(), "what is larger than all is not kept");
        assert!(cache.find(&0).is_some(), "and drives nobody out");
    }

    #[test]
    fn sizes_that_grow_are_counted_and_a_key_kept_twice_is_kept_once() {
        use std::cell::Cell;
        use std::rc::Rc;
        struct Grows(Rc<Cell<u64>>);
        impl Footprint for Grows {
            fn bytes(&self) -> u64 {
                self.0.get()
            }
        }
        let size = Rc::new(Cell::new(10));
        let mut cache: AgingCache<u32, Grows> = AgingCache::new(100);
        cache.keep(1, Grows(size.clone()), 5);
        assert_eq!(cache.bytes(), 20, "a key is there twice");
        size.set(60);
        assert!(cache.find(&1).is_some());
        assert_eq!(cache.bytes(), 70);
        cache.keep(1, Grows(size), 5);
        assert_eq!(cache.bytes(), 70);
        cache.keep(2, Grows(Rc::new(Cell::new(31))), 0);
        assert!(cache.find(&1).is_none() && cache.find(&2).is_some());
        assert_eq!(cache.bytes(), 31);
    }

    #[test]
    fn short_memory_makes_it_give_up_half_and_what_is_given_up_is_given_back() {
        let purse = Arc::new(Purse {
            used: AtomicU64::new(0),
            limit: 4 * STEP_BYTES,
        });
        let _working = enter(purse.clone());
        let mut cache: AgingCache<u32, u64> = AgingCache::new(100 * STEP_BYTES);
        for key in 0..4 {
            cache.keep(key, STEP_BYTES, 0);
        }
        assert!(cache.bytes() <= 4 * STEP_BYTES + FREE_BYTES);
        assert_eq!(purse.used.load(Ordering::Relaxed), 4 * STEP_BYTES);
        cache.keep(4, STEP_BYTES + FREE_BYTES, 0);
        assert!(cache.find(&4).is_some());
        assert!(purse.used.load(Ordering::Relaxed) < 4 * STEP_BYTES);
        purse.take_beyond(4 * STEP_BYTES);
        cache.keep(5, 3 * STEP_BYTES, 0);
        assert!(cache.find(&5).is_none(), "no memory, nothing kept");
        drop(cache);
        assert_eq!(purse.used.load(Ordering::Relaxed), 4 * STEP_BYTES);
    }
}
