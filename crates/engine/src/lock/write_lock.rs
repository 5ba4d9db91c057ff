//! A transaction's locks for writing, as recorded by a checkpoint. With them, startup after a crash can let users connect before the
//! transaction is undone. Only the key of a range lock is recorded, because reads of the transaction no longer matter.
//!
//! ```text
//! u8 1 | u32 table                           the whole table
//! u8 2 | u32 table | u32 unit | u64 row      a row of one of its heaps or trees
//! ```
//! Little-endian.

use super::{LAST_SYSTEM_OBJECT, LockOwner, Mode, Resource};

const TABLE: u8 = 1;
const ROW: u8 = 2;

/// An exclusive lock on a table or on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteLock {
    /// On all of a table.
    Table(u32),
    /// On a row, see [`Resource::Row`].
    Row {
        table: u32,
        /// The heap or tree it is in.
        unit: u32,
        /// Its place or the hash of its key.
        row: u64,
    },
}

impl WriteLock {
    /// The most bytes one takes.
    pub const BYTES_MAX: usize = 17;

    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            WriteLock::Table(table) => {
                out.push(TABLE);
                out.extend_from_slice(&table.to_le_bytes());
            }
            WriteLock::Row { table, unit, row } => {
                out.push(ROW);
                out.extend_from_slice(&table.to_le_bytes());
                out.extend_from_slice(&unit.to_le_bytes());
                out.extend_from_slice(&row.to_le_bytes());
            }
        }
    }

    /// Reads locks to the end of `bytes`; `None` when the bytes are not a list of locks.
    pub fn decode_all(mut bytes: &[u8]) -> Option<Vec<WriteLock>> {
        let mut locks = Vec::new();
        while let Some((&kind, rest)) = bytes.split_first() {
            let (table, rest) = rest.split_first_chunk()?;
            let table = u32::from_le_bytes(*table);
            bytes = match kind {
                TABLE => {
                    locks.push(WriteLock::Table(table));
                    rest
                }
                ROW => {
                    let (unit, rest) = rest.split_first_chunk()?;
                    let (row, rest) = rest.split_first_chunk()?;
                    let (unit, row) = (u32::from_le_bytes(*unit), u64::from_le_bytes(*row));
                    locks.push(WriteLock::Row { table, unit, row });
                    rest
                }
                _ => return None,
            };
        }
        Some(locks)
    }
}

impl LockOwner {
    /// What the owner has locked for writing in a database, in order. `None` when it is changing definitions there: what depends
    /// on them cannot be locked row by row.
    ///
    /// A row being locked just now may be missing: nothing is logged about it yet.
    pub fn write_locks(&self, database: u16) -> Option<Vec<WriteLock>> {
        let held = self.held.lock();
        let mut locks = Vec::new();
        for (resource, mode) in held.modes.iter() {
            match resource {
                Resource::Object(of, _) if of == database && mode == Mode::SchM => return None,
                Resource::Name(of, _) if of == database && mode == Mode::X => return None,
                Resource::Object(of, table) if of == database && mode == Mode::X => locks.push(WriteLock::Table(table)),
                _ => {}
            }
        }
        for ((of, table), rows) in &held.rows_by_object {
            if *of == database && *table <= LAST_SYSTEM_OBJECT && !rows.rows.is_empty() {
                return None;
            }
            for resource in &rows.rows {
                let mode = held.modes.get(resource);
                if let Resource::Row(_, unit, row) = *resource
                    && mode.is_some_and(|mode| mode.is_exclusive_on_key())
                    && *of == database
                {
                    let table = *table;
                    locks.push(WriteLock::Row { table, unit, row });
                }
            }
        }
        locks.sort_unstable();
        Some(locks)
    }

    /// Takes a lock that was written down; false when another owner is in the way.
    pub fn try_write_lock(&self, database: u16, lock: WriteLock) -> bool {
        match lock {
            WriteLock::Table(table) => self.try_lock(Resource::Object(database, table), Mode::X),
            WriteLock::Row { table, unit, row } => {
                self.try_lock_row(database, table, Resource::Row(database, unit, row), Mode::X)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::lock::LockManager;
    use crate::seams::SystemClock;
    use crate::waits::WaitStatistics;
    use std::sync::Arc;

    fn owner(manager: &Arc<LockManager>) -> LockOwner {
        let waits = Arc::new(WaitStatistics::new());
        LockOwner::new(manager.clone(), Arc::new(SystemClock::new()), waits, 51, Arc::default())
    }

    #[test]
    fn locks_taken_again_from_their_bytes_are_the_same_locks() {
        let manager = Arc::new(LockManager::new());
        let writer = owner(&manager);
        writer.lock(Resource::Database(5), Mode::S).unwrap();
        writer.lock(Resource::Object(5, 7), Mode::X).unwrap();
        for row in [3, 1, 2] {
            writer.lock_row(5, 108, Resource::Row(5, 1_001, row), Mode::X).unwrap();
        }
        writer.lock_row(5, 108, Resource::Row(5, 1_001, 9), Mode::U).unwrap();
        writer.lock_row(6, 108, Resource::Row(6, 1_001, 4), Mode::X).unwrap();
        let locks = writer.write_locks(5).unwrap();
        let mut bytes = Vec::new();
        locks.iter().for_each(|lock| lock.encode(&mut bytes));
        assert!(bytes.len() <= locks.len() * WriteLock::BYTES_MAX);
        assert_eq!(WriteLock::decode_all(&bytes).unwrap(), locks);
        for cut in [1, 4, 6, bytes.len() - 1] {
            assert_eq!(WriteLock::decode_all(&bytes[..cut]), None, "cut to {cut}");
        }
        drop(writer);
        let again = owner(&manager);
        assert!(locks.iter().all(|lock| again.try_write_lock(5, *lock)));
        assert_eq!(again.write_locks(5).unwrap(), locks);
        assert!(!owner(&manager).try_lock_row(5, 108, Resource::Row(5, 1_001, 2), Mode::S));
        assert!(owner(&manager).try_lock_row(5, 108, Resource::Row(5, 1_001, 9), Mode::S));
        assert!(!owner(&manager).try_lock(Resource::Object(5, 7), Mode::IS));
    }

    #[test]
    fn who_changes_definitions_has_no_list_of_locks() {
        for (resource, mode, has_list) in [
            (Resource::Object(5, 7), Mode::SchM, false),
            (Resource::Name(5, 7), Mode::X, false),
            (Resource::Object(6, 7), Mode::SchM, true),
            (Resource::Object(5, 7), Mode::IX, true),
            (Resource::Object(5, 7), Mode::SchS, true),
        ] {
            let writer = owner(&Arc::new(LockManager::new()));
            writer.lock(resource, mode).unwrap();
            assert_eq!(writer.write_locks(5).is_some(), has_list, "{resource:?} {mode:?}");
        }
    }
}
