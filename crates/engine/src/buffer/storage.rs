//! The parts of one open database that storage, transactions and recovery share.

use super::{AtomicLsn, BufferPool, DataFiles, DatabaseId, LogFlush, RowCounts};
use crate::error::Result;
use crate::log::{LogManager, LogVolume};
use crate::marked::MarkedTransactions;
use crate::seams::Environment;
use crate::versions::DatabaseVersions;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vlf::Lsn;

impl LogFlush for LogManager {
    fn open_files(&self) -> Vec<Arc<dyn disk::File>> {
        self.open_files()
    }

    fn flush_to(&self, lsn: Lsn) -> Result<()> {
        LogManager::flush_to(self, lsn)
    }

    fn flushed(&self) -> Lsn {
        LogManager::flushed(self)
    }

    fn is_broken(&self) -> bool {
        LogManager::is_broken(self)
    }
}

/// A database's log, its data files and its place in the pool.
pub struct DatabaseStorage {
    pub id: DatabaseId,
    /// The name, for messages.
    pub name: String,
    pub log: Arc<LogManager>,
    /// The instance's buffer pool, to which the data files are attached.
    pub pool: Arc<BufferPool>,
    pub files: Arc<DataFiles>,
    /// Files, time, waits, error log.
    pub env: Environment,
    /// First LSN of the oldest active transaction; the log's end when there is none. Everything on a page whose LSN is older is
    /// committed, and nothing freed before it can be wanted back. Read it while holding the page's latch.
    pub oldest_active: AtomicLsn,
    /// Transactions that are rolled back, and whose changes are taken back page by page.
    pub marked: MarkedTransactions,
    /// Versions of its rows, while it keeps them.
    pub versions: DatabaseVersions,
    /// Rows of its objects, as far as they are known.
    pub row_counts: RowCounts,
    /// The boot record says that log records may have lock information.
    pub may_log_locks: AtomicBool,
    /// Log records have links to the changes before them of their pages.
    pub links_changes: AtomicBool,
    /// The boot record says that heaps and trees may have given up pages.
    pub may_free_pages: AtomicBool,
    /// Whether the boot record says that units of large values may have given extents back.
    pub may_free_large_extents: AtomicBool,
}

impl DatabaseStorage {
    /// True when the log policy wants rows that come and go whole in the log, as SQL Server logs them.
    pub fn log_whole_rows(&self) -> bool {
        self.log.policy().volume == LogVolume::RowImages
    }

    /// True when log records have links: ACCELERATED_DATABASE_RECOVERY is on.
    pub fn has_links(&self) -> bool {
        self.links_changes.load(Ordering::Relaxed)
    }

    /// True when the records of changed rows have the locks of their transaction, as SQL Server's have.
    pub fn logs_locks(&self) -> bool {
        self.may_log_locks.load(Ordering::Relaxed) && self.log_whole_rows()
    }
}
