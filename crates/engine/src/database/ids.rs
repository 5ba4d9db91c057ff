//! Giving out ids: of allocation units and of objects, each once in the database's life.
//!
//! ```text
//! range used up -> record IdRange in the log -> boot record, durable -> next id, from memory
//! ```
//! The record and the boot record are written under the boot record's lock. So a backup that does not have the record, because
//! its log begins behind it, has a boot record that knows the range (see [`crate::store::IdCounters`] for why that matters).

use super::Database;
use crate::error::{Error, Result};
use crate::log::RecordKind;
use crate::store::{IDS_PER_RANGE, IdCounters};
use parking_lot::Mutex;

/// What has been promised, and what of it is left.
pub(super) struct Ids(Mutex<Promised>);

#[derive(Clone, Copy)]
struct Promised {
    next: IdCounters,
    end: IdCounters,
}

impl Ids {
    /// Goes on where the boot record's promises end.
    pub fn after(promised: IdCounters) -> Ids {
        let end = promised.max(IdCounters::FIRST);
        Ids(Mutex::new(Promised { next: end, end }))
    }
}

impl Database {
    /// An allocation unit's id that this database has never given out, and never will again.
    ///
    /// Errors: 823, 9001 and 9002 when a new range cannot be promised durably; 3624 when no numbers are left.
    pub fn new_unit(&self) -> Result<u32> {
        let mut promised = self.ids.0.lock();
        if promised.next.unit == promised.end.unit {
            self.promise_range(&mut promised)?;
        }
        promised.next.unit += 1;
        Ok(promised.next.unit - 1)
    }

    /// An object's id, as [`Database::new_unit`]. Views show it as an INT, so it is at most 2,147,483,647.
    ///
    /// Errors: as those of [`Database::new_unit`].
    pub fn new_object_id(&self) -> Result<u32> {
        let mut promised = self.ids.0.lock();
        if promised.next.object == promised.end.object {
            self.promise_range(&mut promised)?;
        }
        promised.next.object += 1;
        Ok(promised.next.object - 1)
    }

    /// Promises a new range of whatever is used up, durably.
    fn promise_range(&self, promised: &mut Promised) -> Result<()> {
        let beyond = |next: u32, end: u32, limit: u32| match next == end {
            false => Ok(end),
            true => end
                .checked_add(IDS_PER_RANGE)
                .filter(|end| *end <= limit)
                .ok_or_else(|| Error::assertion("the database has no ids left to give out")),
        };
        let (next, end) = (promised.next, promised.end);
        let wanted = IdCounters {
            unit: beyond(next.unit, end.unit, u32::MAX)?,
            object: beyond(next.object, end.object, i32::MAX as u32)?,
        };
        let mut boot = self.boot.lock();
        if boot.needs_upgrade {
            return Err(Error::assertion("an id was asked for before the database was upgraded"));
        }
        let append = |payload: &[u8]| self.storage.log.append_system(RecordKind::IdRange, &[payload]);
        append(&wanted.to_bytes())?;
        self.replace_boot(&mut boot, |boot| boot.ids = boot.ids.max(wanted))?;
        promised.end = wanted;
        Ok(())
    }

    /// After an upgrade: ids below these may be in use.
    pub(super) fn skip_ids(&self, used: IdCounters) {
        let mut promised = self.ids.0.lock();
        let end = promised.end.max(used);
        *promised = Promised { next: end, end };
    }
}
