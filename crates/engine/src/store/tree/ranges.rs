//! Key ranges under SERIALIZABLE: reading a range prevents other sessions from inserting into it until the reader's transaction ends.
//!
//! A range lock locks a key and the gap before it (`lock::mode`). The end of the tree has a separate lock, for the gap after the last key
//! ([`Resource::tree_end`]). A reader locks every key in the range, and so the gaps before them, and the *next key* after the range. An
//! insert checks whether the gap is free with RangeI-N on the next key.
//!
//! *Which key is the next one.* Ghosts on a leaf count as keys, like rows: an uncommitted deletion may be undone, and a lock on the ghost
//! waits for that. But once its deletion is committed, a ghost may be removed at any moment (`store::ghosts`), and the gap before it then
//! belongs to the following key. So a reader also locks the ghosts up to the first row, or up to the end of the tree:
//!
//! ```text
//! range read      [10 ... 30]     keys 10, 20, ghost 35, ghost 40, row 50, row 60
//! locked          10  20  (35)  (40)  50          removing 35 and 40 leaves 50, and the gap from 20 to 50 is locked as before
//! ```
//! A locked row stays until its reader's transaction ends: only that transaction can make it a ghost, and such a ghost is not removed
//! before the transaction ends. A row removed by a rollback was locked exclusively by the transaction that inserted it, so no other
//! session's range ended there; and whatever this transaction has read since the insert is undone with it.
//!
//! *When.* A reader locks all keys of a leaf in the range, and the following ones up to the first row, while the leaf is latched; leaves to
//! the right that it searches for the first row are latched as well. A key inserted into the range belongs on the same leaf (or left of it,
//! where a backward scan has not been yet). So an insert comes before all of this and is seen, or after it and finds the locks. If a lock
//! is not granted at once, the reader waits without latches and reads the leaf again. So it does not matter to which page a split, or the
//! removal of a leaf, moves a key: locks are on keys, and neighbours are searched again each time.
//!
//! *A key found by a complete unique key* is locked alone, without its gap, because no equal key can be inserted. If it does not exist, the
//! gap is locked.
//!
//! *An insert into a gap that the same session has locked* splits the gap in two, and the session keeps both: the new key is locked with
//! its gap. Replacing a ghost needs no check: it requires an exclusive lock on the key, and a reader of the range holds that key.
//!
//! (sql-docs, "Transaction locking and row versioning guide": range scan, singleton fetch of a nonexistent row, delete, insert.)

use super::super::change::read;
use super::super::row::is_ghost;
use super::{Tree, key_at};
use crate::buffer::{DatabaseStorage, PageRead};
use crate::error::Result;
use crate::lock::{LockOwner, Mode, Resource};
use crate::page::{PageId, PageRef};
use std::ops::{Bound, Range};

/// So many leaves without rows are latched at once. Behind more of them the whole table is locked instead.
const LEAVES_LATCHED_MAX: usize = 8;

/// What became of locking a leaf's part of a range.
pub(super) enum Sealed {
    /// All of it is locked.
    Done,
    /// This lock is to be waited for without a latch.
    WaitFor(Resource, Mode),
    /// The first row behind the range is too far away: the table is to be locked.
    Table,
}

/// A part of a range that lies on one leaf.
pub(super) struct Part<'r> {
    pub(super) slots: Range<u16>,
    pub(super) lower: &'r Bound<Vec<u8>>,
    pub(super) upper: &'r Bound<Vec<u8>>,
}

/// The key behind a place on a leaf.
enum NextKey {
    Row(Resource),
    Ghost(Resource),
    End(Resource),
}

impl Tree {
    fn end_resource(&self, storage: &DatabaseStorage) -> Resource {
        Resource::tree_end(storage.id.0, self.root.object.0)
    }

    /// Locks the gap behind the last key, whatever the last key is then.
    ///
    /// # Errors
    /// Those of waiting for a lock.
    pub(super) fn lock_end(&self, storage: &DatabaseStorage, locks: &LockOwner, mode: Mode) -> Result<()> {
        locks.begin_ranges();
        locks.lock_row(storage.id.0, self.table, self.end_resource(storage), mode.with_gap())
    }

    /// Locks what lies in a range on a latched leaf, each key with the gap before it, and the next key behind. `mode` is the keys'.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub(super) fn seal(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        mode: Mode,
        leaf: &PageRead<'_>,
        part: &Part<'_>,
    ) -> Result<Sealed> {
        let (database, view) = (storage.id.0, leaf.view());
        if locks.covers_table(database, self.table, mode) {
            return Ok(Sealed::Done);
        }
        locks.begin_ranges();
        let try_lock = |resource, mode| locks.try_lock_row(database, self.table, resource, mode);
        if self.is_found_by_its_key(storage, view, leaf.id(), part)? {
            let key = self.resource(storage, key_at(storage, view, leaf.id(), part.slots.start)?);
            return Ok(match try_lock(key, mode) {
                true => Sealed::Done,
                false => Sealed::WaitFor(key, mode),
            });
        }
        let mode = mode.with_gap();
        for slot in part.slots.clone() {
            let key = self.resource(storage, key_at(storage, view, leaf.id(), slot)?);
            if !try_lock(key, mode) {
                return Ok(Sealed::WaitFor(key, mode));
            }
        }
        let mut is_refused = None;
        let is_near = self.visit_behind(storage, view, leaf.id(), part.slots.end, &mut |next| {
            let (NextKey::Row(key) | NextKey::Ghost(key) | NextKey::End(key)) = next;
            let is_locked = try_lock(key, mode);
            is_refused = (!is_locked).then_some(key);
            is_locked && matches!(next, NextKey::Ghost(_))
        })?;
        Ok(match is_refused {
            Some(key) => Sealed::WaitFor(key, mode),
            None if is_near => Sealed::Done,
            None => Sealed::Table,
        })
    }

    /// Waits for what [`Tree::seal`] has answered. No latch is held.
    ///
    /// # Errors
    /// Those of waiting for a lock.
    pub(super) fn wait_to_seal(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        mode: Mode,
        sealed: Sealed,
    ) -> Result<()> {
        let database = storage.id.0;
        match sealed {
            Sealed::Done => Ok(()),
            Sealed::WaitFor(key, mode) => locks.lock_row(database, self.table, key, mode),
            Sealed::Table => {
                let whole = if mode == Mode::S { Mode::S } else { Mode::X };
                locks.lock(Resource::Object(database, self.table), whole)
            }
        }
    }

    /// Whether a range is all of a unique key, and its row is there. Such a key has nothing behind its parts, so it is the range's lower
    /// bound, and the upper one is the first that does not begin with it.
    fn is_found_by_its_key(
        &self,
        storage: &DatabaseStorage,
        leaf: PageRef<'_>,
        id: PageId,
        part: &Part<'_>,
    ) -> Result<bool> {
        let (Bound::Included(lower), 1) = (part.lower, part.slots.len()) else {
            return Ok(false);
        };
        let is_one_key = match part.upper {
            Bound::Included(upper) => upper == lower,
            Bound::Excluded(upper) => is_first_behind(lower, upper),
            Bound::Unbounded => false,
        };
        let is_row = leaf.row(part.slots.start).is_some_and(|row| !is_ghost(row));
        Ok(is_one_key && is_row && key_at(storage, leaf, id, part.slots.start)? == lower.as_slice())
    }

    /// The key that an insert at a place of a latched leaf has to wait for; `None` when it may go on. The new key, which is locked, is locked
    /// with its gap if the gap is the inserting owner's.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub(super) fn key_in_the_way(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        (leaf, id, slot): (PageRef<'_>, PageId, u16),
        key: &[u8],
    ) -> Result<Option<Resource>> {
        if !locks.manager().has_ranges() {
            return Ok(None);
        }
        let mut found = None;
        let is_near = self.visit_behind(storage, leaf, id, slot, &mut |next| {
            let (NextKey::Row(key) | NextKey::Ghost(key) | NextKey::End(key)) = next;
            found = Some(key);
            false
        })?;
        // Leaves without any key are few, as they leave the tree; behind too many of them, the end stands for what is not looked for.
        let next = found.filter(|_| is_near).unwrap_or_else(|| self.end_resource(storage));
        if !locks.may_insert_before(next) {
            return Ok(Some(next));
        }
        if locks.keeps_gap_before(&next) {
            locks.try_lock_row(storage.id.0, self.table, self.resource(storage, key), Mode::RangeXX);
        }
        Ok(None)
    }

    /// Visits the keys from a slot of a latched leaf on to the right, and the end of the tree, until `visit` answers false. The leaves that
    /// it comes to are latched beside the first one. False when there are too many.
    fn visit_behind(
        &self,
        storage: &DatabaseStorage,
        leaf: PageRef<'_>,
        id: PageId,
        slot: u16,
        visit: &mut dyn FnMut(NextKey) -> bool,
    ) -> Result<bool> {
        let mut latched: Vec<PageRead<'_>> = Vec::new();
        let mut slot = slot;
        loop {
            let (view, id) = match latched.last() {
                Some(page) => (page.view(), page.id()),
                None => (leaf, id),
            };
            while let Some(row) = view.row(slot) {
                let key = self.resource(storage, key_at(storage, view, id, slot)?);
                let next = if is_ghost(row) {
                    NextKey::Ghost(key)
                } else {
                    NextKey::Row(key)
                };
                if !visit(next) {
                    return Ok(true);
                }
                slot += 1;
            }
            let next = view.next();
            if next.is_none() {
                visit(NextKey::End(self.end_resource(storage)));
                return Ok(true);
            }
            if latched.len() == LEAVES_LATCHED_MAX {
                return Ok(false);
            }
            let page = read(storage, next)?;
            self.check_leaf(storage, page.view(), next)?;
            latched.push(page);
            slot = 0;
        }
    }
}

/// Whether a key is the first of those behind all that begin with `prefix`.
fn is_first_behind(prefix: &[u8], key: &[u8]) -> bool {
    let Some((last, before)) = key.split_last() else {
        return false;
    };
    let Some((same, rest)) = prefix.split_at_checked(before.len()) else {
        return false;
    };
    // The bytes that have no successor fall away.
    let Some((raised, high)) = rest.split_first() else {
        return false;
    };
    same == before && raised.checked_add(1) == Some(*last) && high.iter().all(|byte| *byte == u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_behind_a_prefix_is_known() {
        for (prefix, key, is_it) in [
            (&[1u8, 2][..], &[1u8, 3][..], true),
            (&[1, 255], &[2], true),
            (&[1, 255, 255], &[2], true),
            (&[1, 255], &[2, 0], false),
            (&[1, 2], &[1, 4], false),
            (&[1, 2], &[2], false),
            (&[1, 2], &[1, 2], false),
            (&[1, 2], &[1, 2, 1], false),
            (&[255], &[], false),
        ] {
            assert_eq!(is_first_behind(prefix, key), is_it, "{prefix:?} {key:?}");
        }
    }
}
