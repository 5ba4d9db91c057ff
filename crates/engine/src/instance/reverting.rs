//! RESTORE DATABASE ... FROM DATABASE_SNAPSHOT: reverts a database to its one snapshot.
//!
//! ```text
//! closed | entry: reverting | pages back to their places, log deleted | log made, opened | entry: not reverting | open
//!        +------------------- interrupted: the next startup continues here --------------+
//! ```
//! The work depends on the changes since the snapshot, not on the size of the database. The log is recreated, so the log chain is broken,
//! and log backups are impossible until a full backup. The snapshot stays. (sql-docs, "Revert a database to a database snapshot": "A revert
//! operation ... rebuilds the log"; Paul Randal, "Database snapshots, when things go wrong".)
//!
//! Invariant: while the entry says "reverting", only the revert reads or writes the database's files.

use super::registry::DatabaseState;
use super::{Instance, MSDB, Operation, Work};
use crate::buffer::DatabaseId;
use crate::catalog::{DatabaseEntry, FilegroupEntry, Reverting};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::sync::Arc;

/// The size of a log file after it, in bytes.
const LOG_BYTES: u64 = 512 << 10;

impl Instance {
    /// Makes a database what a snapshot of it shows.
    ///
    /// # Errors
    /// 3137 unless the two are a database and its only snapshot, with the same data files; 3101 and 3102 while the database is in use; those of
    /// its files.
    pub fn revert_database(&self, name: &str, snapshot: &str, session: &Session) -> Result<()> {
        let operation = self.operate(name, Work::Restore)?;
        let operation = operation.ok_or_else(Error::cannot_be_reverted)?;
        let of_snapshot = self.operate(snapshot, Work::Alter)?;
        let of_snapshot = of_snapshot.ok_or_else(Error::cannot_be_reverted)?;
        let entry = operation.entry();
        self.check_revertible(&entry, &of_snapshot.entry())?;
        if entry.reverting.is_some() {
            self.go_on_reverting(&operation)?;
            self.open_snapshots_of(|base| base == entry.database_id);
            return Ok(());
        }
        let database = operation.database()?;
        database.wait_for_recovery()?;
        let resource = Resource::Database(entry.database_id);
        if session.locks().mode_of(&resource).is_some() {
            return Err(Error::in_use_by_this_session("RESTORE", &entry.name));
        }
        if !session.locks().try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        let reverted = self.revert_locked(&operation, &database, &of_snapshot.entry());
        session.locks().unlock(resource);
        reverted
    }

    fn check_revertible(&self, entry: &DatabaseEntry, snapshot: &DatabaseEntry) -> Result<()> {
        let is_of_it = snapshot
            .snapshot_of
            .is_some_and(|of| of.database_id == entry.database_id && of.guid == entry.guid);
        // "Reverting is unsupported for read-only filegroups" (sql-docs, "Revert a database to a database snapshot").
        let mut filegroups = entry.filegroups.iter().chain(&snapshot.filegroups);
        let is_writable = !filegroups.any(|filegroup| filegroup.is_read_only);
        let is_only_one = self.snapshots_of(entry.database_id).len() == 1;
        let files = self.snapshots.find(snapshot.guid).filter(|files| !files.is_lost());
        let ids = |entry: &DatabaseEntry| -> Vec<u16> {
            let data = entry.files.iter().filter(|file| !file.log);
            data.map(|file| file.file_id).collect()
        };
        let has_all_files = files.is_some() && ids(entry) == ids(snapshot);
        match entry.database_id > MSDB && is_of_it && is_only_one && has_all_files && is_writable {
            true => Ok(()),
            false => Err(Error::cannot_be_reverted()),
        }
    }

    fn revert_locked(&self, operation: &Operation, database: &Arc<Database>, snapshot: &DatabaseEntry) -> Result<()> {
        operation.set_state(DatabaseState::Restoring);
        let closed = database.close_cleanly().inspect_err(|_| database.storage.log.close());
        let first_sequence = database.storage.log.end().vlf + 1;
        self.pool.forget_database(DatabaseId(database.id));
        let begun = closed.and_then(|()| {
            self.update_entry(operation, |entry| {
                entry.filegroups = filegroups_reverted(entry, snapshot);
                entry.reverting = Some(Reverting {
                    snapshot: snapshot.guid,
                    first_sequence,
                });
                Ok(())
            })
        });
        match begun {
            Ok(()) => self.go_on_reverting(operation),
            Err(error) => {
                operation.set_state(self.open_user_database(&operation.entry()));
                Err(error)
            }
        }
    }

    /// Ends what the entry says was begun: at once, or at the next start.
    ///
    /// # Errors
    /// 3137 without the snapshot; 823, 5120 and 5123 for files. The database stays closed then.
    pub(super) fn go_on_reverting(&self, operation: &Operation) -> Result<()> {
        let entry = operation.entry();
        let Some(reverting) = entry.reverting else {
            return Ok(());
        };
        let reverted = self.snapshots.find(reverting.snapshot).filter(|files| !files.is_lost());
        let reverted = reverted.ok_or_else(Error::cannot_be_reverted).and_then(|snapshot| {
            let mut files = self.files_of(&entry)?;
            let logs = files.files.iter_mut().zip(&entry.files).filter(|(_, file)| file.log);
            for (file, _) in logs {
                self.delete_database_file(&file.path)?;
                file.bytes = LOG_BYTES;
            }
            Database::revert_to_snapshot(&self.opening(), &files, &snapshot, reverting.first_sequence)
        });
        let opened = reverted.and_then(|database| {
            let stored = self.update_entry(operation, |entry| {
                entry.reverting = None;
                Ok(())
            });
            stored.inspect_err(|_| database.storage.log.close())?;
            database.set_entry(operation.entry());
            Ok(database)
        });
        match opened {
            Ok(database) => {
                operation.set_state(DatabaseState::Online(Arc::new(database)));
                Ok(())
            }
            Err(error) => {
                let id = entry.database_id;
                self.pool.forget_database(DatabaseId(id));
                self.locks.admit(id);
                operation.set_state(DatabaseState::Restoring);
                Err(error)
            }
        }
    }
}

/// The filegroups of a database once it is what a snapshot shows. The data files are the same, so the filegroups that it has got since have
/// none. Their numbers are not given again.
fn filegroups_reverted(entry: &DatabaseEntry, snapshot: &DatabaseEntry) -> Vec<FilegroupEntry> {
    if entry.filegroups.is_empty() {
        return Vec::new();
    }
    let mut filegroups = match snapshot.filegroups.is_empty() {
        true => vec![FilegroupEntry::primary(entry.guid)],
        false => snapshot.filegroups.clone(),
    };
    let ids = entry.filegroups.iter().map(|one| one.id.max(one.highest_id));
    filegroups[0].highest_id = ids.max().unwrap_or(0);
    filegroups
}
