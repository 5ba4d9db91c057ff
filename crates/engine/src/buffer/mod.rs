//! The buffer pool: pages in memory between the engine and its data files, never more than their limit.
//!
//! ```text
//!   read / write / fresh            page table (sharded)            frames            data files
//!   (database, page) ------------>  key -> frame  ------------->  pin + latch  <--->  .mdf .ndf
//!                                                                     |
//!                                        dirty, in batches:  log flushed to the newest LSN
//!                                                            -> double-write file, durable
//!                                                            -> the pages' places, synced
//! ```
//! Invariants:
//! * **Log first.** A page reaches a file only after the log is durable up to the page's LSN.
//! * **Torn pages are repaired.** A page overwrites its old image in place only after a complete copy is durable in the database's
//!   double-write file; [`DataFiles::recover_torn`] restores the copies. Page images in the log would inflate the log, whose volume and
//!   VLFs this engine exists to measure. If the first change of a page since its last write recreated it (format, fill, image), it needs no
//!   copy: redo starts at or before that change and needs nothing older.
//! * A page is dirty from its change until its write is durable; [`BufferPool::oldest_dirty`] covers writes in flight.
//! * The first failed write or sync of a database's files closes them: every later write repeats the error.
//! * Frames in use stay within the limit that `sizing` sets: the pool evicts by clock, clean pages first, dirty ones in batches.
//!
//! **Order of latches and locks**: page latches (in page-id order), then the double-write mutex, then a frame's state. No thread waits for
//! a page latch while it holds the double-write mutex, so eviction may run under page latches. A thread never fixes a page that it has
//! already fixed.

mod arena;
mod batch;
mod before_images;
mod bell;
mod changes;
mod cut;
mod data_file;
mod double_write;
mod evict;
mod filegroups;
mod files;
mod guard;
mod held;
mod lazy_writer;
mod memory_ahead;
mod page_use;
mod pool;
mod redo;
mod row_counts;
mod sizing;
mod snapshot;
mod storage;

pub use before_images::{BeforeImages, undo_file_owner};
pub use changes::{BegunMap, ChangeBase, ChangeMap, ExtentSet, is_change_map};
pub use data_file::{DataFileInformation, DataFileSpecification, FileGrowth, IoStatistics, data_file_owner};
pub use double_write::{TornReport, double_write_path};
pub use filegroups::{Filegroup, PRIMARY_FILEGROUP};
pub use files::{DataFiles, DatabaseIdentity, FileOptions, Grown};
pub use guard::{PageRead, PageWrite};
pub use held::{HeldHeader, HeldPage};
pub use page_use::{PageUse, add_page_use, page_use};
pub use pool::{BufferPool, PoolCounters};
pub use redo::DamagedPages;
pub use row_counts::RowCounts;
pub use snapshot::{OpenSnapshots, SnapshotFiles, SparseBase, SparseKind};
pub use storage::DatabaseStorage;

pub use crate::log::AtomicLsn;

use crate::error::Result;
use crate::page::PageId;
use std::fmt;
use std::sync::Arc;
use vlf::Lsn;

/// A database of the instance, `database_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DatabaseId(pub u16);

impl fmt::Display for DatabaseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What the pool asks of a database's log: to be durable before its pages are.
pub trait LogFlush: Send + Sync {
    /// Makes the log durable up to the record at `lsn`. Must not fix pages.
    fn flush_to(&self, lsn: Lsn) -> Result<()>;

    /// Everything before this LSN is durable.
    fn flushed(&self) -> Lsn;

    /// The log has failed: changes that are not durable never will be, and no session may see them.
    fn is_broken(&self) -> bool {
        false
    }

    /// The open log files.
    fn open_files(&self) -> Vec<Arc<dyn disk::File>> {
        Vec::new()
    }
}

/// Database and page in the 64 bits the page table is keyed by: database, file, page.
pub(crate) fn page_key(database: DatabaseId, id: PageId) -> u64 {
    u64::from(database.0) << 48 | u64::from(id.file) << 32 | u64::from(id.page)
}

pub(crate) fn key_parts(key: u64) -> (DatabaseId, PageId) {
    (
        DatabaseId((key >> 48) as u16),
        PageId::new((key >> 32) as u16, key as u32),
    )
}

#[cfg(test)]
mod tests;
