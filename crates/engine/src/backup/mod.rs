//! Backup and restore: sets of pages and log in a file, and databases restored from them.
//!
//! ```text
//! media file | label 4 KB | set 1 | set 2 | ...                                       every set begins on a 4 KB boundary
//! set        | header 512 B | chunk | chunk | ... | description | zeros to the boundary
//! chunk      | header 48 B | up to 1 MB of pages, log blocks or VLF headers, plain or Zstandard
//! ```
//! (bytes: [`format`](mod@format)).
//!
//! **A full backup** is a fuzzy copy: pages are read while sessions change them. The set also holds the log from the checkpoint at its
//! start (or from the oldest open transaction, if that is older) to the end of the copy, so that redo makes the copy consistent (SQL Server
//! works the same way: Paul Randal, "More on how much transaction log a full backup includes"). A page that was freed before its extent was
//! copied is not in the set. Its changes are still in the log, but find no page to change; see [`crate::instance`].
//!
//! **A differential backup** is such a copy of the extents written since its base, a full backup ([`crate::buffer::ChangeMap`]), with its
//! own log. On restore its pages overwrite those of the restored base, and then its log applies. It needs no log between the base and
//! itself: pages that it lacks were not written since.
//!
//! **Several files.** The chunks of a set are dealt out in turn to all files of its media set, so that all of their disks write and read at once;
//! [`MediaSet`] puts them together again. A single file is a media set of one family, and is laid out as ever.
//!
//! **A log backup** holds log blocks byte for byte, and the layout of the log files.
//!
//! **Why a restore writes blocks to their original places.** A restored log file gets the VLFs of the source, including sequence numbers
//! and parities, and each block goes where it was. The files then look as after a crash of the source at the end of the set, so startup's
//! own analysis, redo and undo apply without any translation. In a chain of log backups, a VLF is overwritten exactly when the source had
//! overwritten it, and the source could do so only once no transaction and no checkpoint needed it. So at the end of a set everything that
//! undo needs is there. A set is redone before the next set may overwrite it.
//!
//! **Where a restore stops.** A point in time lies before the first Commit record with a later time, a mark before or behind the Commit record
//! that has it ([`StopPoint`]). The block with the first record that is not restored is rebuilt with only the records before it, and the log after
//! it is cleared, so that every reader sees the log end there.
//!
//! **The null device.** TO DISK = 'NUL' (or 'NUL:', in any case) creates no file: everything is read, checked and packed as for a file, and
//! then discarded. SQL Server counts such a backup like any other, so a log backup to NUL frees log that is in no backup (Kenneth Fisher,
//! "Backup to NUL"; Andy Mallon, "Backup to NUL").
//!
//! Invariants:
//! - A set without a complete header does not count: the header is written last, in one sector, when everything else is durable.
//! - An existing media file only grows; INIT writes a new file next to it and renames.
//! - Every byte of a set is covered by a CRC32C.

mod description;
mod errors;
pub mod format;
mod layout;
mod log_copy;
mod log_restore;
mod media_set;
mod page_copy;
mod reader;
mod set_log;
mod stop;
mod writer;

pub use description::{BackupFile, DifferentialBase, SetDescription, SetKind};
pub use format::{FAMILIES_MAX, MediaLabel, is_media};
pub use layout::LogImage;
pub use log_copy::copy_log;
pub use log_restore::{LogRestorer, RestoredLog};
pub use media_set::{MediaSet, SetReader};
pub use page_copy::{copy_pages, plan_pages};
pub use reader::{Chunk, MediaReader};
pub use set_log::SetLog;
pub use stop::{StopPlace, StopPoint};
pub use writer::{MediaOptions, MediaPlace, SetWriter};

use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BackupKind {
    #[default]
    Database,
    Log,
}

/// Whether a backup to this device goes nowhere: NUL or NUL:, in any case, as Windows has it.
pub fn is_null_device(device: &str) -> bool {
    let name = device.trim();
    name.strip_suffix(':').unwrap_or(name).eq_ignore_ascii_case("NUL")
}

/// What a log backup does to the log and the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogTail {
    /// The log is truncated, the database goes on.
    #[default]
    No,
    /// NORECOVERY: the database is left RESTORING, nothing can follow the backup.
    NoRecovery,
    /// NO_TRUNCATE: the log is not truncated and the chain does not move, as with COPY_ONLY.
    NoTruncate,
}

/// BACKUP DATABASE or BACKUP LOG.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupRequest {
    pub kind: BackupKind,
    /// TO DISK; see [`is_null_device`] for those that are no file.
    pub path: String,
    /// The other files of a media set of several families.
    pub further_paths: Vec<String>,
    /// INIT: sets in the file are overwritten.
    pub init: bool,
    /// FORMAT: the file is overwritten whatever it is.
    pub format: bool,
    pub copy_only: bool,
    pub compression: bool,
    /// CHECKSUM. Checksums are written and checked in any case; this is what HEADERONLY shows.
    pub checksum: bool,
    pub name: Option<String>,
    pub description: Option<String>,
    /// MEDIANAME.
    pub media_name: Option<String>,
    /// STATS: percent between two messages; `None` = no messages.
    pub stats_percent: Option<u8>,
    /// DIFFERENTIAL: only what was written since the last full backup. COPY_ONLY has no effect on it.
    pub differential: bool,
    /// For a log backup.
    pub tail: LogTail,
    /// The login that makes it.
    pub user: String,
}

impl BackupRequest {
    /// All devices.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.path).chain(&self.further_paths)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RestoreKind {
    #[default]
    Database,
    Log,
}

/// What a restored database is afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterRestore {
    /// RECOVERY: usable.
    #[default]
    Recovery,
    /// NORECOVERY: waiting for more log.
    NoRecovery,
}

/// RESTORE DATABASE or RESTORE LOG.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreRequest {
    pub kind: RestoreKind,
    /// FROM DISK; `None` = only recover what was restored.
    pub path: Option<String>,
    /// The other files of a media set of several families, in any order.
    pub further_paths: Vec<String>,
    /// FILE: the position of the set, from 1; 0 counts as 1.
    pub file: u32,
    /// MOVE: logical names and new paths.
    pub moves: Vec<(String, String)>,
    pub replace: bool,
    /// RECOVERY or NORECOVERY.
    pub after: AfterRestore,
    /// STANDBY: the undo file; with NORECOVERY, the database can be read until the next restore.
    pub standby: Option<String>,
    /// CHECKSUM: checked in any case.
    pub checksum: bool,
    /// STATS: percent between two messages; `None` = no messages.
    pub stats_percent: Option<u8>,
    /// Where the log ends that is restored.
    pub stop_at: Option<StopPoint>,
    pub user: String,
}

/// What a running backup or restore tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupEvent {
    /// A message of severity 0 to be sent at once.
    Message(Error),
    /// How far it is.
    Progress {
        processed_bytes: u64,
        /// Bytes in all, as far as known.
        total_bytes: u64,
    },
}

/// Takes what a running backup or restore tells; an error stops it.
pub type Report<'r> = dyn FnMut(BackupEvent) -> Result<()> + 'r;

/// What a backup or restore did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackupSummary {
    /// Pages of data and log.
    pub pages: u64,
    /// Time it took.
    pub micros: u64,
    /// Position of the set in its file.
    pub position: u32,
    /// Bytes the set takes in the file.
    pub stored_bytes: u64,
}

/// A set that a backup has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeSet {
    /// As RESTORE HEADERONLY would show it.
    pub description: SetDescription,
    /// Of the media that it is on.
    pub label: MediaLabel,
    /// The devices, in the order of their families.
    pub devices: Vec<String>,
}

/// Counts bytes and says every so many percent how far it is.
pub struct Progress<'r, 'f> {
    report: &'r mut Report<'f>,
    step_percent: Option<u64>,
    said_percent: u64,
    processed_bytes: u64,
    total_bytes: u64,
}

impl<'r, 'f> Progress<'r, 'f> {
    /// Of `total_bytes`; a message each `stats_percent` percent, if that is wanted.
    pub fn new(report: &'r mut Report<'f>, stats_percent: Option<u8>, total_bytes: u64) -> Progress<'r, 'f> {
        Progress {
            report,
            step_percent: stats_percent.map(|percent| u64::from(percent.clamp(1, 100))),
            said_percent: 0,
            processed_bytes: 0,
            total_bytes: total_bytes.max(1),
        }
    }

    /// There is more to do than was known.
    pub fn expect_more(&mut self, bytes: u64) {
        self.total_bytes += bytes;
    }

    /// So much more is done, without a message.
    ///
    /// # Errors
    /// What the listener answers, to stop.
    pub fn add_quietly(&mut self, bytes: u64) -> Result<()> {
        self.processed_bytes += bytes;
        (self.report)(BackupEvent::Progress {
            processed_bytes: self.processed_bytes.min(self.total_bytes),
            total_bytes: self.total_bytes,
        })
    }

    /// So much more is done.
    ///
    /// # Errors
    /// What the listener answers, to stop.
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.add_quietly(bytes)?;
        let Some(step_percent) = self.step_percent else {
            return Ok(());
        };
        let percent = self.processed_bytes.min(self.total_bytes) * 100 / self.total_bytes;
        let due = percent / step_percent * step_percent;
        if due > self.said_percent {
            self.said_percent = due;
            self.message(Error::percent_processed(due))?;
        }
        Ok(())
    }

    pub fn finish(&mut self) -> Result<()> {
        self.processed_bytes = self.total_bytes;
        if self.said_percent < 100 {
            self.add(0)?;
        }
        if self.said_percent < 100 && self.step_percent.is_some() {
            self.said_percent = 100;
            self.message(Error::percent_processed(100))?;
        }
        Ok(())
    }

    /// Passes a message on.
    pub fn message(&mut self, message: Error) -> Result<()> {
        (self.report)(BackupEvent::Message(message))
    }
}
