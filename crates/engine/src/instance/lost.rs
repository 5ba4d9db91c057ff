//! Files that another program deletes, moves or replaces while the instance has them open.
//!
//! Linux allows this, and the open file keeps working. But data written to it are lost when the process ends, or end up in a file that no
//! one looks for. On Windows, SQL Server prevents this by opening its files without FILE_SHARE_DELETE.
//!
//! | what happens | noticed by | when |
//! |---|---|---|
//! | a log file is deleted, or replaced by another | the log, which asks the open file whether it has a name left | at the next durable write, before any commit it covers is acknowledged |
//! | a data file is deleted, or replaced by another | the next durable batch of pages (823), or this module's check | at the next checkpoint, after [`LOOK_EVERY_MICROS`] at the latest |
//! | the folder, or one above it, is moved | this module's check: the path leads nowhere, or to another file | after [`LOOK_EVERY_MICROS`] at the latest |
//! | the same, and CREATE DATABASE, BACKUP, RESTORE, ADD FILE | [`Instance::require_folder`] | before the statement creates anything |
//!
//! If a file is not where it was opened, the log of its database is closed, as after a failed write (9001; `broken.rs`). For a system
//! database the instance stops (3449). A move loses no data: everything acknowledged is in the files, wherever they are.
//!
//! The check walks the path of each open file.

use super::{DatabaseState, Instance};
use crate::database::Database;
use disk::{Disk, DiskError, DiskErrorKind, File, FileIdentity};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time between two looks, in microseconds of the instance's clock.
pub const LOOK_EVERY_MICROS: u64 = 1_000_000;

/// Where the instance's databases are, and when that was last looked at.
pub(super) struct FolderPlace {
    folder: PathBuf,
    /// `None` where the disk would not say: then nothing is ever missed.
    identity: Option<FileIdentity>,
    looked_micros: AtomicU64,
}

impl FolderPlace {
    /// Of the folder of system databases: the instance's own may be reached by a symbolic link.
    pub fn of(disk: &dyn Disk, folder: &Path) -> FolderPlace {
        let folder = folder.join(super::paths::DEFAULT_FOLDER);
        let found = disk.look(&folder).ok().flatten();
        FolderPlace {
            folder,
            identity: found.map(|found| found.identity),
            looked_micros: AtomicU64::new(0),
        }
    }
}

/// Whether the path of an open file leads to it. A disk that does not answer says nothing of the file.
fn is_in_place(disk: &dyn Disk, file: &dyn File) -> bool {
    match (disk.look(file.path()), file.identity()) {
        (Ok(None), Ok(_)) => false,
        (Ok(Some(found)), Ok(identity)) => found.identity == identity,
        _ => true,
    }
}

fn open_files(database: &Database) -> Vec<Arc<dyn File>> {
    let data = database.storage.files.open_files();
    if database.is_snapshot() {
        // Its log is in memory, where no path leads to.
        return data;
    }
    data.into_iter().chain(database.storage.log.open_files()).collect()
}

impl Instance {
    /// Looks for lost files if it is time to.
    pub(super) fn look_for_lost_files(&self) {
        let now = self.env.clock.now_micros();
        let before = self.place.looked_micros.load(Ordering::Relaxed);
        if now.saturating_sub(before) >= LOOK_EVERY_MICROS {
            self.place.looked_micros.store(now, Ordering::Relaxed);
            self.close_what_lost_files();
        }
    }

    fn close_what_lost_files(&self) {
        for slot in self.slots() {
            let DatabaseState::Online(database) = slot.state() else {
                continue;
            };
            let lost = open_files(&database)
                .into_iter()
                .find(|file| !is_in_place(&*self.env.disk, file.as_ref()));
            // DROP and REMOVE FILE take a file out of its database first, and delete it then.
            let is_still_its_own = |lost: &Arc<dyn File>| {
                let is_open = matches!(slot.state(), DatabaseState::Online(now) if Arc::ptr_eq(&now, &database));
                is_open && open_files(&database).iter().any(|file| Arc::ptr_eq(file, lost))
            };
            if let Some(lost) = lost.filter(is_still_its_own) {
                database.storage.log.lose_file(lost.path());
            }
        }
    }

    /// For statements that make files: the instance's folder has to be where it was at the start. Else they would make another one.
    ///
    /// # Errors
    /// `NotFound` when it is not. Then the databases in it are closed already.
    pub(super) fn require_folder(&self) -> Result<(), DiskError> {
        let Some(identity) = self.place.identity else {
            return Ok(());
        };
        let found = self.env.disk.look(&self.place.folder)?;
        if found.is_some_and(|found| found.identity == identity) {
            return Ok(());
        }
        self.close_what_lost_files();
        Err(DiskError::new(DiskErrorKind::NotFound, "open", &self.place.folder))
    }
}
