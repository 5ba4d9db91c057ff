//! Assigning ids of allocation units and of objects, each once in the database's life, and the values of `rowversion` columns.
//!
//! ```text
//! range used up -> record IdRange in the log -> boot record, durable -> next id, from memory
//! ```
//! The record and the boot record are written under the boot record's lock. So if a backup lacks the record, because its log begins after
//! it, then its boot record includes the range (see [`crate::store::IdCounters`] for why that matters).
//!
//! A page holds the id of its allocation unit, and keeps it when its extent is freed. So a structure recognizes its own pages, and freed
//! pages need not be cleared.
//!
//! Invariant: an id is never assigned twice on one recovery path, across rollbacks, crashes, restores and restarts. Two forks of a database
//! may assign the same id; their pages and logs never mix.

//!
//! *Row versions.* A caller that takes one says for which transaction. The first that a transaction took is kept until the transaction
//! ends: from there on rows may still appear (MIN_ACTIVE_ROWVERSION). It is noted under the lock under which it is taken, so no reader sees
//! a count past a value that is not noted yet.
//!
//! Invariant: `next` of row versions never goes back while the database is open, and begins where promises end when it opens.

use super::Database;
use crate::error::{Error, Result};
use crate::log::{RecordKind, TransactionId};
use crate::store::{IDS_PER_RANGE, IdCounters, ROW_VERSIONS_PER_RANGE};
use parking_lot::Mutex;
use std::collections::HashMap;

/// What has been promised, and what of it is left.
pub(super) struct Ids(Mutex<Promised>);

struct Promised {
    next: IdCounters,
    end: IdCounters,
    /// The first row version of every transaction under way that took one.
    active: HashMap<TransactionId, u64>,
}

impl Ids {
    /// Goes on where the boot record's promises end.
    pub fn after(promised: IdCounters) -> Ids {
        let end = promised.max(IdCounters::FIRST);
        Ids(Mutex::new(Promised {
            next: end,
            end,
            active: HashMap::new(),
        }))
    }
}

impl Database {
    /// An allocation unit's id that this database has never given out, and never will again.
    ///
    /// # Errors
    /// 823, 9001 and 9002 when a new range cannot be promised durably; 3624 when no numbers are left.
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
    /// # Errors
    /// As those of [`Database::new_unit`].
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
            row_version: end.row_version,
        };
        // Nothing is new about the row versions.
        self.promise(promised, wanted, IdCounters::ID_BYTES)
    }

    /// Promises everything below `wanted`, durably. `bytes` of the record say what is new.
    fn promise(&self, promised: &mut Promised, wanted: IdCounters, bytes: usize) -> Result<()> {
        let mut boot = self.boot.lock();
        if boot.needs_upgrade {
            return Err(Error::assertion("an id was asked for before the database was upgraded"));
        }
        let append = |payload: &[u8]| self.storage.log.append_system(RecordKind::IdRange, &[payload]);
        append(&wanted.to_bytes()[..bytes])?;
        self.replace_boot(&mut boot, |boot| boot.ids = boot.ids.max(wanted))?;
        promised.end = wanted;
        Ok(())
    }

    /// After an upgrade: ids below these may be in use.
    pub(super) fn skip_ids(&self, used: IdCounters) {
        let mut promised = self.ids.0.lock();
        let end = promised.end.max(used);
        promised.end = end;
        promised.next.unit = end.unit;
        promised.next.object = end.object;
    }

    /// A row version that this database has never given out, and never will again. It is one of `transaction`'s, which says when it
    /// ends ([`Database::end_row_versions`]); None if no reader will ever wait for it.
    ///
    /// # Errors
    /// As those of [`Database::new_unit`]; 3906 for a database that only can be read.
    pub fn new_row_version(&self, transaction: Option<TransactionId>) -> Result<u64> {
        self.check_writable()?;
        let mut promised = self.ids.0.lock();
        if promised.next.row_version == promised.end.row_version {
            let end = promised.end.row_version.checked_add(ROW_VERSIONS_PER_RANGE);
            let wanted = IdCounters {
                row_version: end
                    .ok_or_else(|| Error::assertion("the database has no row versions left to give out"))?,
                ..promised.end
            };
            self.promise(&mut promised, wanted, IdCounters::BYTES)?;
        }
        let version = promised.next.row_version;
        if let Some(transaction) = transaction {
            promised.active.entry(transaction).or_insert(version);
        }
        promised.next.row_version += 1;
        Ok(version)
    }

    /// A transaction that took row versions is over: its rows are there, or will never be.
    pub(crate) fn end_row_versions(&self, transaction: TransactionId) {
        self.ids.0.lock().active.remove(&transaction);
    }

    /// `@@DBTS`: the last row version given out. After a start, the last one that was promised before.
    pub fn last_row_version(&self) -> u64 {
        self.ids.0.lock().next.row_version - 1
    }

    /// MIN_ACTIVE_ROWVERSION: the lowest row version of the transactions under way, or the next one when they have none.
    pub fn min_active_row_version(&self) -> u64 {
        let promised = self.ids.0.lock();
        promised
            .active
            .values()
            .min()
            .copied()
            .unwrap_or(promised.next.row_version)
    }
}
