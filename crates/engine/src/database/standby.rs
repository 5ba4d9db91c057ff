//! A database that can be read between two log restores (RESTORE ... WITH STANDBY).
//!
//! ```text
//! RESTORING - undo file created -> entry: standby ---> recovery as at startup, every page first copied to the undo file ---> read-only
//! RESTORING <-- pages put back, boot record and log as they were <------------------------------------------------------------+
//! ```
//! Recovery is the ordinary one: it logs what it undoes. To revert it, pages, boot record and the headers of VLFs entered since are
//! restored; the next set overwrites the log after the restored end.
//!
//! Invariant: while the boot record says RESTORING and the entry says standby, the undo file's pages must be put back before anything else
//! happens; doing so twice is harmless.

use super::Database;
use super::open::{DatabaseFiles, OpenContext, OpenedData};
use crate::buffer::BeforeImages;
use crate::error::{Error, Result};
use crate::log::{StoredLog, delete_directory};
use crate::recovery::BootRecord;
use disk::{Access, DiskError, File};
use std::path::Path;
use std::sync::atomic::Ordering;
use vlf::{FIRST_BLOCK, Lsn, VlfHeader};

impl Database {
    /// True for a standby database: it can only be read.
    pub fn is_standby(&self) -> bool {
        self.standby.load(Ordering::Relaxed)
    }

    /// Makes the undo file for a database that is RESTORING, with its boot record.
    ///
    /// # Errors
    /// 5120 and those of opening the data files.
    pub fn make_undo_file(context: &OpenContext, files: &DatabaseFiles, path: &Path) -> Result<()> {
        let data = OpenedData::open(context, files)?;
        let disk = context.env.disk.as_ref();
        BeforeImages::create(disk, path, files.entry.guid, &data.boot.encode()).map(|_| ())
    }

    /// Makes a closed standby database RESTORING again, as it was before its undo file was made.
    ///
    /// # Errors
    /// 5120 for the undo file; 823 when pages cannot be written; 9001 for the log's files.
    pub fn take_standby_back(context: &OpenContext, files: &DatabaseFiles) -> Result<()> {
        let data = OpenedData::open(context, files)?;
        let Some(images) = data.files.before_images() else {
            return Ok(());
        };
        let boot = BootRecord {
            // Of what its recovery wrote the change map keeps the marks.
            change_generation: data.boot.change_generation,
            ..BootRecord::decode(images.note(), &files.entry.name)?
        };
        data.boot_page.write(&data.files, &boot.encode())?;
        images.each(&mut |id, page| data.files.restore_run(id, page))?;
        data.files.sync_all()?;
        for (_, file) in files
            .entry
            .files
            .iter()
            .zip(&files.files)
            .filter(|(entry, _)| entry.log)
        {
            let outcome = delete_directory(context.env.disk.as_ref(), &file.path)
                .and_then(|()| context.env.disk.open(&file.path, Access::Buffered))
                .and_then(|log| forget_later_vlfs(log.as_ref(), boot.restored_to));
            outcome
                .map_err(|error| Error::cannot_open_file(&file.path.display().to_string(), &Error::cause(&error)))?;
        }
        Ok(())
    }

    /// First step of RECOVERY of a standby database: its log leaves the path of the sets. Done twice, the second fork counts;
    /// the first has no log that anybody has seen.
    pub fn fork_standby(&self) -> Result<()> {
        let env = &self.storage.env;
        self.change_boot(|boot| boot.path = boot.path.forked_at(boot.restore_position, env))
    }

    /// RECOVERY of a standby database: it goes on from here, and the undo file is not needed any more.
    ///
    /// # Errors
    /// Those of an upgrade that is due; the database stops being a standby all the same.
    pub fn end_standby(&self) -> Result<()> {
        self.storage.files.set_before_images(None);
        self.standby.store(false, Ordering::Relaxed);
        self.upgrade()
    }
}

/// Makes unused again every VLF that was entered behind the restored end.
fn forget_later_vlfs(log: &dyn File, end: Lsn) -> std::result::Result<(), DiskError> {
    let is_later = |sequence: u32| sequence > end.vlf || sequence == end.vlf && end.block <= FIRST_BLOCK;
    for header in StoredLog::read(log)?.vlfs.iter().filter_map(|vlf| vlf.header) {
        if is_later(header.sequence.0) {
            let unused = VlfHeader::unused(header.span(), header.create_lsn);
            log.write_at(header.start_offset, &unused.encode())?;
        }
    }
    log.sync()
}
