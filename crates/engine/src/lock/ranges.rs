//! Key-range locks: a key of an index with the gap before it. `store::tree::ranges` defines the next key and when locks are tested.
//!
//! The manager counts owners with such locks. An owner increments the count before its first range lock and decrements it at the end of its
//! transaction. An insert checks the count under the latch of its leaf; a reader of a range increments it before it releases the latch on
//! that leaf. So without SERIALIZABLE readers, an insert only pays for reading one number.

use super::{LockManager, LockOwner, Mode, Resource};
use crate::error::Result;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many owners may hold locks of ranges.
#[derive(Default)]
pub(super) struct RangeOwners(AtomicU64);

impl LockManager {
    /// Whether some owner may hold a lock of a range.
    pub fn has_ranges(&self) -> bool {
        self.range_owners.0.load(Ordering::Acquire) > 0
    }
}

/// Whether an owner is counted among those that may hold locks of ranges.
#[derive(Default)]
pub(super) struct LocksRanges(AtomicBool);

impl LocksRanges {
    /// What another owner takes over with the locks.
    pub(super) fn count_heir(&self, manager: &LockManager, heir: &LocksRanges) {
        if self.0.load(Ordering::Acquire) {
            heir.count(manager);
        }
    }

    fn count(&self, manager: &LockManager) {
        if !self.0.swap(true, Ordering::AcqRel) {
            manager.range_owners.0.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The locks are released.
    pub(super) fn end(&self, manager: &LockManager) {
        if self.0.load(Ordering::Acquire) && self.0.swap(false, Ordering::AcqRel) {
            manager.range_owners.0.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl LockOwner {
    /// From now on, until its transaction ends, the owner may hold locks of ranges. It says so before it lets go of the latch of what it
    /// reads.
    pub fn begin_ranges(&self) {
        self.locks_ranges.count(self.manager());
    }

    /// Whether a key may be inserted before `next` without waiting. For callers that hold a page's latch.
    pub fn may_insert_before(&self, next: Resource) -> bool {
        self.manager().fits(self.id(), next, Mode::RangeIN)
    }

    /// Waits until a key could be inserted before `next`: takes RangeI-N and gives it back at once. The caller looks again then which key
    /// is the next one.
    ///
    /// # Errors
    /// As for [`LockOwner::lock`].
    pub fn wait_to_insert_before(&self, next: Resource) -> Result<()> {
        let before = self.mode_of(&next);
        self.lock(next, Mode::RangeIN)?;
        self.restore(next, before);
        Ok(())
    }

    /// Whether the owner itself keeps others from inserting before a key.
    pub fn keeps_gap_before(&self, key: &Resource) -> bool {
        self.mode_of(key).is_some_and(Mode::keeps_gap)
    }
}
