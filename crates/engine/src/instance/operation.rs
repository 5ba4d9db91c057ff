//! One statement at a time creates, changes or removes a database.
//!
//! | new statement | during ALTER, CREATE or DROP | during RESTORE | during backups |
//! |---|---|---|---|
//! | DROP | waits | 3702 | proceeds (its lock conflicts: 3702) |
//! | RESTORE | waits | 3101 | proceeds (its lock conflicts: 3101) |
//! | ALTER | waits | 5052 | proceeds |
//! | ADD FILE, REMOVE FILE, SHRINKFILE | waits | 5052 | 3023 |
//! | BACKUP | waits | 927 | proceeds |
//! | the tail of the log (NORECOVERY) | waits | 927 | proceeds (its lock conflicts: 3101) |
//!
//! A RESTORE may take hours, so no statement waits for it. CREATE DATABASE and RESTORE under a new name publish their slot with the
//! operation already begun.
//!
//! Source of 3023: sql-docs, MSSQLSERVER_3023: "Backup, CHECKALLOC, bulk copy, SELECT INTO, and file manipulation (such as CREATE
//! FILE) operations on a database must be serialized".
//!
//! Threads wait in this order: for an operation, then for [`Registry::creating`], then for master's rows. A thread with an operation tries
//! locks of the lock manager, but does not wait for them.
//!
//! Invariant: the entry, the state and the files of a database change only under its operation. Anything read from a slot before the
//! operation began is read again under it. Invariant: an operation's slot is the registry's; a thread that waited for it looks up the name
//! again.
//!
//! [`Registry::creating`]: super::registry::Registry::creating

use super::Instance;
use super::registry::DatabaseSlot;
use crate::cancel;
use crate::error::{Error, Result};
use parking_lot::{Condvar, Mutex};
use std::ops::Deref;
use std::sync::Arc;

/// What a statement does to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// CREATE DATABASE.
    Create,
    /// DROP DATABASE.
    Drop,
    /// RESTORE, every form of it.
    Restore,
    /// ALTER DATABASE: its options, its name, whether it is online, the place and size of its files.
    Alter,
    /// ADD FILE, REMOVE FILE, SHRINKFILE.
    Files,
    /// BACKUP: beside other backups.
    Backup,
    /// BACKUP LOG WITH NORECOVERY.
    Tail,
}

/// What a newcomer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Go,
    Wait,
    Refuse,
}

/// The table of the module.
fn decide(wanted: Work, under_way: Option<Work>, backups: u32) -> Turn {
    match under_way {
        Some(Work::Restore) => Turn::Refuse,
        Some(_) => Turn::Wait,
        None if wanted == Work::Files && backups > 0 => Turn::Refuse,
        None => Turn::Go,
    }
}

/// Why a turn is refused.
fn refusal(wanted: Work, under_way: Option<Work>, name: &str) -> Error {
    match wanted {
        Work::Files if under_way.is_none() => Error::beside_backup(),
        Work::Alter | Work::Files => Error::alter_while_restoring(),
        Work::Backup | Work::Tail => Error::restoring(name),
        Work::Drop => Error::database_in_use(name),
        Work::Create => Error::database_exists(name),
        Work::Restore => Error::no_exclusive_access(),
    }
}

/// The statements at work on a database.
#[derive(Default)]
pub(super) struct Turns {
    now: Mutex<UnderWay>,
    over: Condvar,
}

impl Turns {
    /// Whether a statement has it for itself: CREATE and DROP DATABASE show it closed meanwhile.
    pub(super) fn is_under_work(&self) -> bool {
        self.now.lock().work.is_some()
    }
}

#[derive(Default)]
struct UnderWay {
    /// The one that is alone.
    work: Option<Work>,
    backups: u32,
}

/// A statement's turn at a database, until it is dropped.
#[must_use]
pub struct Operation {
    slot: Arc<DatabaseSlot>,
    work: Work,
}

impl Operation {
    /// Begins when it is its turn.
    ///
    /// # Errors
    /// The table of the module; 3617 when the request is to stop before that.
    pub(super) fn begin(slot: &Arc<DatabaseSlot>, work: Work) -> Result<Operation> {
        let mut now = slot.turns.now.lock();
        loop {
            match decide(work, now.work, now.backups) {
                Turn::Go => break,
                Turn::Refuse => return Err(refusal(work, now.work, &slot.entry().name)),
                Turn::Wait => {
                    cancel::look()?;
                    slot.turns.over.wait_for(&mut now, cancel::LOOK_EVERY);
                }
            }
        }
        match work {
            Work::Backup => now.backups += 1,
            _ => now.work = Some(work),
        }
        drop(now);
        let slot = slot.clone();
        Ok(Operation { slot, work })
    }

    pub fn slot(&self) -> &Arc<DatabaseSlot> {
        &self.slot
    }
}

impl Deref for Operation {
    type Target = DatabaseSlot;

    fn deref(&self) -> &DatabaseSlot {
        &self.slot
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        let mut now = self.slot.turns.now.lock();
        match self.work {
            Work::Backup => now.backups -= 1,
            _ => now.work = None,
        }
        drop(now);
        self.slot.turns.over.notify_all();
    }
}

impl Instance {
    /// Begins a statement's work on the database that has the name when it is its turn; `None` when there is none.
    ///
    /// # Errors
    /// See the table of the module; 3617 when the request is to stop before that.
    pub fn operate(&self, name: &str, work: Work) -> Result<Option<Operation>> {
        while let Some(slot) = self.registry.find(name) {
            let operation = Operation::begin(&slot, work)?;
            // The previous holder may have dropped it, or given it another name.
            if self.registry.find(name).is_some_and(|now| Arc::ptr_eq(&now, &slot)) {
                return Ok(Some(operation));
            }
        }
        Ok(None)
    }

    /// As [`Instance::operate`], for ALTER DATABASE.
    ///
    /// # Errors
    /// 5011 when there is no such database, 5093 for a database snapshot, 5052 while it is being restored, 3023 for files beside a backup, 3617.
    pub fn alter(&self, name: &str, work: Work) -> Result<Operation> {
        let operation = self.operate(name, work)?;
        let operation = operation.ok_or_else(|| Error::no_database_to_alter(name))?;
        match operation.entry().snapshot_of {
            Some(_) => Err(Error::not_on_a_snapshot()),
            None => Ok(operation),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ALL: [Work; 7] = [
        Work::Create,
        Work::Drop,
        Work::Restore,
        Work::Alter,
        Work::Files,
        Work::Backup,
        Work::Tail,
    ];

    /// The module's table, every combination.
    #[test]
    fn who_comes_second_waits_or_is_told_why() {
        let mut refused = Vec::new();
        for wanted in ALL {
            for under_way in [None].into_iter().chain(ALL.map(Some)) {
                for backups in [0, 1, 2] {
                    let turn = decide(wanted, under_way, backups);
                    let expected = match (under_way, wanted, backups) {
                        (None, Work::Files, 1 | 2) => Turn::Refuse,
                        (None, ..) => Turn::Go,
                        (Some(Work::Restore), ..) => Turn::Refuse,
                        (Some(_), ..) => Turn::Wait,
                    };
                    assert_eq!(turn, expected, "{wanted:?} while {under_way:?} and {backups} backups");
                    if turn == Turn::Refuse {
                        refused.push((wanted, refusal(wanted, under_way, "d").number));
                    }
                }
            }
        }
        refused.dedup();
        let expected = [
            (Work::Create, 1801),
            (Work::Drop, 3702),
            (Work::Restore, 3101),
            (Work::Alter, 5052),
            (Work::Files, 3023),
            (Work::Files, 5052),
            (Work::Backup, 927),
            (Work::Tail, 927),
        ];
        assert_eq!(refused, expected);
    }
}
