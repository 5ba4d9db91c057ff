//! A copy of a database: a database of its own that reads the pages it has not changed from the one it was made of (CREATE DATABASE ... AS
//! COPY OF).
//!
//! ```text
//! source:  checkpoint -- the moment -- continues, keeping pages for the copy before it overwrites them
//! copy:                  redo to the moment, undo | its own identity | closed cleanly | opened as any database is
//! ```
//! It is made as a snapshot is ([`super::snapshot`]): recovered from the source's log, on pages of its own. From then on it is a database
//! like any other, with its own log, double-write file, identity and recovery; only its data files are sparse
//! ([`crate::buffer::SnapshotFiles`]). Until it is closed its boot record names the source, because it has to end transactions as the source
//! ends them.
//!
//! Azure SQL Database copies every page, and the copy is independent of its source from then on (sql-docs, "Copy a transactionally consistent
//! copy of a database in Azure SQL Database"). Here it takes as long as a checkpoint of the source and a few small files, however large the
//! source is, and the source cannot be dropped before its copies.
//!
//! Invariant: the LSNs of a copy's log are above every LSN in the pages that it reads from its source.

use super::Database;
use super::open::{DatabaseFiles, OpenContext};
use super::snapshot::BegunSnapshot;
use crate::buffer::{DataFiles, FileOptions, SnapshotFiles, SparseKind};
use crate::error::{Error, Result};
use crate::log::LogManager;
use crate::recovery::BootRecord;
use crate::seams::DateTimeTicks;
use std::sync::Arc;

/// What the boot record of a copy does not have from its source: who it is, its backups, and what was made of it.
fn become_copy(boot: &mut BootRecord, guid: [u8; 16], created: DateTimeTicks) {
    let new = BootRecord::of_new_database(guid, created);
    boot.guid = new.guid;
    boot.created = new.created;
    boot.path = new.path;
    boot.log_backup_start = new.log_backup_start;
    boot.full_backup = new.full_backup;
    boot.full_backup_time = new.full_backup_time;
    boot.log_backup_time = new.log_backup_time;
    boot.restored_to = new.restored_to;
    boot.restore_position = new.restore_position;
    boot.change_base = new.change_base;
    boot.change_generation = new.change_generation;
    boot.has_snapshots = new.has_snapshots;
    boot.has_copies = new.has_copies;
}

impl Database {
    /// Makes a copy of this database: its files and what differs from the source's. It may have `bytes_max` of pages of its own. Closed on
    /// return; [`Database::open`] opens it once the answer is among the [`crate::buffer::OpenSnapshots`]. After an error the caller ends it by
    /// [`Database::end_snapshot`].
    ///
    /// # Errors
    /// 5123 for files, 3617 when the request is to stop, those of a checkpoint and of a recovery.
    pub(crate) fn make_copy(
        &self,
        context: &OpenContext,
        files: &DatabaseFiles,
        bytes_max: Option<u64>,
    ) -> Result<Arc<SnapshotFiles>> {
        if !self.boot().has_copies {
            self.change_boot(|boot| boot.has_copies = true)?;
        }
        self.make_sparse(context, files, (SparseKind::Copy, bytes_max), |begun| {
            self.recover_copy(context, files, begun)
        })
    }

    fn recover_copy(&self, context: &OpenContext, files: &DatabaseFiles, begun: &BegunSnapshot) -> Result<()> {
        let options = FileOptions {
            instant_initialization: context.instant_file_initialization,
            double_write: true,
        };
        let data = DataFiles::of_copy(
            &context.env,
            files.identity(),
            &files.data_specifications(),
            (&begun.files, true),
            options,
        )?;
        let log = LogManager::create(
            &context.env,
            &files.entry.name,
            &files.log_specifications(),
            context.version,
            context.policy,
            begun.end.vlf + 1,
        )?;
        let copy = self.recover_sparse(context, files, begun, (data, log))?;
        let created = context.env.clock.wall_ticks();
        copy.change_boot(|boot| become_copy(boot, files.entry.guid, created))?;
        copy.close_cleanly()
    }
}

impl OpenContext {
    /// The open sparse files of a copy.
    ///
    /// # Errors
    /// 3420 when a page could not be kept for it, 5120 while its source is not open.
    pub(super) fn files_of_copy(&self, files: &DatabaseFiles) -> Result<Arc<SnapshotFiles>> {
        let found = self.snapshots.find(files.entry.guid).filter(|found| !found.is_lost());
        let found = found.ok_or_else(|| Error::copy_is_lost(&files.entry.name))?;
        match found.has_base() {
            true => Ok(found),
            false => {
                let path = files
                    .files
                    .first()
                    .map_or_else(String::new, |file| file.path.display().to_string());
                Err(Error::cannot_open_file(
                    &path,
                    "21(The source of the database copy is not open.)",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogPath;
    use vlf::Lsn;

    #[test]
    fn a_copy_has_the_options_of_its_source_and_an_identity_of_its_own() {
        let time = |days| DateTimeTicks { days, ticks: 1 };
        let source = BootRecord {
            compatibility_level: 150,
            is_recovery_accelerated: true,
            full_backup: Lsn::new(7, 8, 1),
            log_backup_start: Lsn::new(7, 9, 1),
            full_backup_time: time(3),
            has_copies: true,
            has_snapshots: true,
            change_base: [9; 16],
            ..BootRecord::of_new_database([1; 16], time(1))
        };
        let mut copy = source.clone();
        become_copy(&mut copy, [2; 16], time(5));
        let expected = BootRecord {
            guid: [2; 16],
            created: time(5),
            path: LogPath::of_new_database([2; 16]),
            full_backup: Lsn::ZERO,
            log_backup_start: Lsn::ZERO,
            full_backup_time: DateTimeTicks::default(),
            has_copies: false,
            has_snapshots: false,
            change_base: [0; 16],
            ..source
        };
        assert_eq!(copy, expected);
    }
}
