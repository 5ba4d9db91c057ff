//! Under the classic policy the log record of a changed row ends with the locks held for the change, as in SQL Server (`Lock Information`
//! of `fn_dblog`): 26 bytes if a key or row is locked, 12 if the table is.
//!
//! ```text
//! table  u8 1 | u8 mode | u16 database | u32 table
//! row    u8 2 | u8 mode | u32 heap or tree | u64 row, by the number that locks give it     where the row has a lock of its own
//! end    u16 number of locks | u16 length of all of this
//! ```
//! The lengths are those of genuine log files. SQL Server's 26 bytes also include a page lock. There are no page locks here, but a row's
//! number is longer than SQL Server's key hash.
//!
//! Recovery does not need them: the change itself shows what undo touches ([`super::touched()`]). A database with such records has a feature
//! bit in its boot record, because a reader that does not know them would take them for damage.

use super::StoreContext;
use crate::lock::{Mode, Resource};

const TABLE: u8 = 1;
const ROW: u8 = 2;
const TABLE_BYTES: usize = 8;
const ROW_BYTES: usize = 14;
const END_BYTES: usize = 4;
const BYTES_MAX: usize = TABLE_BYTES + ROW_BYTES + END_BYTES;

/// The locks of one change, encoded. Empty where none are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockInformation {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl LockInformation {
    /// No locks are logged.
    pub const NONE: LockInformation = LockInformation {
        bytes: [0; BYTES_MAX],
        length: 0,
    };

    /// The locks that a transaction holds on a row and its table, if they are to be logged.
    pub(super) fn of(ctx: &StoreContext<'_>, table: u32, row: Resource) -> LockInformation {
        let database = ctx.storage.id.0;
        let mode = match ctx.storage.logs_locks() {
            true => ctx.locks.mode_of(&Resource::Object(database, table)),
            false => None,
        };
        let Some(mode) = mode else {
            return LockInformation::NONE;
        };
        let row = match row {
            Resource::Row(_, object, row) => ctx
                .locks
                .mode_of(&Resource::Row(database, object, row))
                .map(|mode| (mode, object, row)),
            _ => None,
        };
        LockInformation::encode((mode, database, table), row)
    }

    fn encode(table: (Mode, u16, u32), row: Option<(Mode, u32, u64)>) -> LockInformation {
        let mut information = LockInformation::NONE;
        information.put(&[TABLE, table.0 as u8]);
        information.put(&table.1.to_le_bytes());
        information.put(&table.2.to_le_bytes());
        if let Some((mode, object, row)) = row {
            information.put(&[ROW, mode as u8]);
            information.put(&object.to_le_bytes());
            information.put(&row.to_le_bytes());
        }
        let length = information.length + END_BYTES;
        information.put(&(1 + u16::from(row.is_some())).to_le_bytes());
        information.put(&(length as u16).to_le_bytes());
        information
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// As they are logged.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A lock that a record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedLock {
    Table {
        mode: Mode,
        database: u16,
        table: u32,
    },
    Row {
        mode: Mode,
        /// The heap or tree.
        object: u32,
        /// By the number that locks give it.
        row: u64,
    },
}

impl LoggedLock {
    /// The locks at the end of a record ([`crate::log::LogRecord::locks`]); none where the bytes contradict themselves.
    pub fn all(bytes: &[u8]) -> Vec<LoggedLock> {
        LoggedLock::decode(bytes).unwrap_or_default()
    }

    fn decode(bytes: &[u8]) -> Option<Vec<LoggedLock>> {
        let mut rest = bytes.get(..bytes.len().checked_sub(END_BYTES)?)?;
        let mut locks = Vec::new();
        while let Some((&[kind, mode], fields)) = rest.split_first_chunk() {
            let mode = *Mode::ALL.get(usize::from(mode))?;
            let (lock, bytes) = match kind {
                TABLE => {
                    let lock = LoggedLock::Table {
                        mode,
                        database: u16::from_le_bytes(*fields.first_chunk()?),
                        table: u32::from_le_bytes(*fields.get(2..)?.first_chunk()?),
                    };
                    (lock, TABLE_BYTES)
                }
                ROW => {
                    let lock = LoggedLock::Row {
                        mode,
                        object: u32::from_le_bytes(*fields.first_chunk()?),
                        row: u64::from_le_bytes(*fields.get(4..)?.first_chunk()?),
                    };
                    (lock, ROW_BYTES)
                }
                _ => return None,
            };
            locks.push(lock);
            rest = rest.get(bytes..)?;
        }
        Some(locks)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_read_again_and_no_cut_panics() {
        let encoded = LockInformation::encode((Mode::IX, 5, 100), Some((Mode::X, 7, 9)));
        let table = LoggedLock::Table {
            mode: Mode::IX,
            database: 5,
            table: 100,
        };
        let row = LoggedLock::Row {
            mode: Mode::X,
            object: 7,
            row: 9,
        };
        assert_eq!(LoggedLock::all(encoded.bytes()), [table, row]);
        for length in 0..encoded.bytes().len() {
            assert!(
                LoggedLock::all(&encoded.bytes()[..length]).len() <= 1,
                "cut to {length}"
            );
        }
    }

    #[test]
    fn a_row_lock_takes_26_bytes_and_a_table_lock_12() {
        let table = LockInformation::encode((Mode::X, 5, 100), None);
        assert_eq!(table.bytes(), [1, Mode::X as u8, 5, 0, 100, 0, 0, 0, 1, 0, 12, 0]);
        let row = LockInformation::encode((Mode::IX, 5, 100), Some((Mode::X, 7, 9)));
        assert_eq!(row.bytes().len(), 26);
        assert_eq!(row.bytes()[8..10], [2, Mode::X as u8]);
        assert_eq!(row.bytes()[22..], [2, 0, 26, 0]);
    }
}
