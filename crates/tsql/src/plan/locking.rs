//! How a statement locks a table it reads or changes: by table hints and isolation level.
//!
//! SERIALIZABLE locks the ranges of keys that are read, in the index they are read by; a heap has no keys, and is locked whole. PAGLOCK is
//! refused: no pages are locked.
//!
//! ```text
//!                        read                      UPDLOCK          XLOCK     target of UPDATE, DELETE
//! READ UNCOMMITTED       Sch-S, rows as they are   IX, rows U       IX, X     IX, rows U
//! READ COMMITTED         IS, rows waited for       IX, rows U       IX, X     IX, rows U
//! REPEATABLE READ        IS, rows S, kept          IX, rows U       IX, X     IX, rows U
//! SERIALIZABLE           IS, ranges S, kept        IX, ranges U     IX, X     IX, ranges U
//!   of a heap            S, kept                   U, kept          X, kept   X, kept
//! TABLOCK                S, for the statement      X, kept          X, kept   X, kept
//!   with REPEATABLE READ S, kept
//! ```
//! (sql-docs, "Table hints": TABLOCKX is TABLOCK with XLOCK; "If UPDLOCK is combined with TABLOCK ... an exclusive (X) lock will be taken
//! instead".) Row locks, and those of ranges, are kept to the end of the transaction. A hint overrides the session's level.
//!
//! A scan of the target of UPDATE or DELETE locks the rows that qualify, under READ COMMITTED and READ UNCOMMITTED
//! ([`Locking::tests_before_locking`]): SQL Server gives the lock of another row back at once (C. Freedman, "Read Committed and Updates"), or
//! tests first, as here (sql-docs, "Optimized locking": lock after qualification). A search of an index, and a scan whose rows are tested
//! above it, lock all that they read.
//!
//! Reads through row versions ([`Locking::by_versions`]):
//!
//! ```text
//!                                          read                  UPDLOCK, XLOCK               target of UPDATE, DELETE
//! READ COMMITTED, READ_COMMITTED_SNAPSHOT  Sch-S, by versions    as by locks                  as by locks
//! SNAPSHOT                                 Sch-S, by versions    IX, rows locked; 3960 for    IX, by versions; 3960 when a row
//!                                                                one changed since            is written that was changed since
//! ```
//! READCOMMITTEDLOCK and READPAST keep to locks (sql-docs, "Table hints").

use engine::lock::Mode;
use engine::session::Isolation;
use engine::store::ReadMode;
use engine::versions::Snapshot;

use crate::state::Reading;

/// What hints and the place in the statement say about one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locking {
    /// The level that a hint sets for this table.
    pub isolation: Option<Isolation>,
    /// UPDLOCK (U) or XLOCK (X).
    pub rows: Option<Mode>,
    /// TABLOCK, TABLOCKX (true), ROWLOCK (false).
    pub whole_table: Option<bool>,
    /// READCOMMITTEDLOCK: READ COMMITTED by locks, whatever the database does by default.
    pub keeps_to_locks: bool,
    /// READPAST.
    pub read_past: bool,
    /// NOWAIT.
    pub no_wait: bool,
    /// Whether UPDATE or DELETE changes the rows.
    pub is_target: bool,
}

/// Whose snapshot a table is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotOf {
    Statement,
    Transaction,
}

/// The locks of one read of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLocks {
    pub table: Mode,
    /// What is done about rows.
    pub rows: ReadMode,
    /// The table's lock is given back at the end of the statement.
    pub for_statement: bool,
}

impl From<Locking> for Reading {
    fn from(locking: Locking) -> Reading {
        Reading {
            isolation: locking.isolation,
            is_plain: locking.rows.is_none() && locking.whole_table != Some(true) && !locking.keeps_to_locks,
            no_wait: locking.no_wait,
            is_target: locking.is_target,
        }
    }
}

impl Locking {
    /// The level this table is read under.
    pub fn isolation(&self, session: Isolation) -> Isolation {
        self.isolation.unwrap_or(session)
    }

    /// Whether rows are locked for a change to come.
    pub fn is_for_update(&self) -> bool {
        self.is_target || self.rows.is_some()
    }

    /// Whether a row of the target need only be locked if it qualifies: nothing asks for rows that are read to stay as they are.
    pub fn tests_before_locking(&self, session: Isolation) -> bool {
        let level = self.isolation(session);
        self.is_target && self.rows.is_none() && matches!(level, Isolation::ReadUncommitted | Isolation::ReadCommitted)
    }

    /// The locks under the session's level. `has_key` says that the rows are in a clustered index.
    pub fn locks(&self, session: Isolation, has_key: bool) -> TableLocks {
        let isolation = self.isolation(session);
        let rows = match (self.is_target, self.rows) {
            (_, Some(Mode::X)) => Some(Mode::X),
            (true, _) | (_, Some(_)) => Some(Mode::U),
            (false, None) => None,
        };
        let keeps = matches!(isolation, Isolation::RepeatableRead | Isolation::Serializable);
        let is_serializable = isolation == Isolation::Serializable;
        let (table, reads) = match (rows, self.whole_table == Some(true)) {
            (Some(mode), true) => (Mode::X, ReadMode::Locked(mode)),
            (None, true) => (Mode::S, ReadMode::Uncommitted),
            (rows, false) if is_serializable && has_key => {
                let mode = rows.unwrap_or(Mode::S);
                (mode.intent(), ReadMode::Ranges(mode))
            }
            (Some(mode), false) if is_serializable && (self.is_target || mode == Mode::X) => {
                (Mode::X, ReadMode::Locked(mode))
            }
            // The lock of the table keeps every writer out.
            (Some(_), false) if is_serializable => (Mode::U, ReadMode::Uncommitted),
            (None, false) if is_serializable => (Mode::S, ReadMode::Uncommitted),
            (Some(mode), false) => (Mode::IX, ReadMode::Locked(mode)),
            (None, false) => match isolation {
                Isolation::ReadUncommitted => (Mode::SchS, ReadMode::Uncommitted),
                Isolation::RepeatableRead => (Mode::IS, ReadMode::Locked(Mode::S)),
                _ => (Mode::IS, ReadMode::Committed),
            },
        };
        let reads = match reads {
            ReadMode::Committed if self.read_past => ReadMode::CommittedPast,
            ReadMode::Locked(mode) if self.read_past => ReadMode::LockedPast(mode),
            other => other,
        };
        TableLocks {
            table,
            rows: reads,
            for_statement: matches!(table, Mode::S | Mode::IS) && !keeps,
        }
    }

    /// The snapshot by which a table is read, if it is: that of the statement under READ COMMITTED, of the transaction under SNAPSHOT.
    pub fn snapshot_wanted(&self, session: Isolation, reads_committed_versions: bool) -> Option<SnapshotOf> {
        match self.isolation(session) {
            Isolation::Snapshot => Some(SnapshotOf::Transaction),
            Isolation::ReadCommitted if reads_committed_versions && !self.keeps_to_locks => {
                (self.locks(session, false).rows == ReadMode::Committed).then_some(SnapshotOf::Statement)
            }
            _ => None,
        }
    }

    /// The locks of a read by a snapshot.
    pub fn by_versions(&self, session: Isolation, snapshot: Snapshot) -> TableLocks {
        let by_locks = self.locks(session, false);
        let rows = match by_locks.rows {
            ReadMode::Locked(mode) if self.rows.is_some() => ReadMode::LockedAt(mode, snapshot),
            _ => ReadMode::Versioned(snapshot),
        };
        match by_locks.table {
            Mode::IS => TableLocks {
                table: Mode::SchS,
                rows,
                for_statement: false,
            },
            _ => TableLocks { rows, ..by_locks },
        }
    }

    /// The lock of a table that INSERT fills.
    pub fn of_insert(&self) -> Mode {
        match self.whole_table {
            Some(true) => Mode::X,
            Some(false) | None => Mode::IX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Isolation::{ReadCommitted, ReadUncommitted, RepeatableRead, Serializable};

    /// Every combination of level, hints and place keeps what the level promises.
    #[test]
    fn no_combination_locks_less_than_its_level_promises() {
        let levels = [ReadUncommitted, ReadCommitted, RepeatableRead, Serializable];
        let mut walked = 0;
        for session in levels {
            for isolation in [None].into_iter().chain(levels.map(Some)) {
                for rows in [None, Some(Mode::U), Some(Mode::X)] {
                    for whole_table in [None, Some(false), Some(true)] {
                        for flags in 0..4 {
                            let locking = Locking {
                                isolation,
                                rows,
                                whole_table,
                                keeps_to_locks: false,
                                read_past: flags & 1 == 1,
                                no_wait: false,
                                is_target: flags & 2 == 2,
                            };
                            check(&locking, session, true);
                            check(&locking, session, false);
                            walked += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(walked, 4 * 5 * 3 * 3 * 4);
    }

    fn check(locking: &Locking, session: Isolation, has_key: bool) {
        let (locks, level) = (locking.locks(session, has_key), locking.isolation(session));
        let row_mode = match locks.rows {
            ReadMode::Locked(mode) | ReadMode::LockedPast(mode) | ReadMode::Ranges(mode) => Some(mode),
            _ => None,
        };
        let told = format!("{locking:?} under {session:?}: {locks:?}");
        // A lock of rows is announced on the table, and a reader without row locks has locked the table or does not care.
        assert!(row_mode.is_none_or(|mode| locks.table.covers(mode.intent())), "{told}");
        if locks.rows == ReadMode::Uncommitted {
            let keeps_writers_out = locks.table.covers_rows_in(Mode::S);
            assert!(keeps_writers_out || level == ReadUncommitted, "{told}");
        }
        if locking.is_for_update() {
            let updates = row_mode.is_some_and(|mode| mode.covers(Mode::U)) || locks.table.covers(Mode::U);
            assert!(updates && !locks.for_statement, "{told}");
        }
        if locking.rows == Some(Mode::X) {
            assert!(row_mode == Some(Mode::X) || locks.table == Mode::X, "{told}");
        }
        if level == Serializable {
            let locks_ranges = has_key && matches!(locks.rows, ReadMode::Ranges(_));
            assert!(
                (locks_ranges || locks.table.covers(Mode::S)) && !locks.for_statement,
                "{told}"
            );
        }
        if level == RepeatableRead {
            let keeps = row_mode.is_some() || locks.table.covers(Mode::S) && !locks.for_statement;
            assert!(keeps, "{told}");
        }
        if locking.whole_table == Some(true) {
            assert!(locks.table.covers(Mode::S), "{told}");
            assert_eq!(locks.table == Mode::X, locking.is_for_update(), "{told}");
        }
    }
}
