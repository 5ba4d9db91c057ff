//! A clone of a database: its schema and statistics without its rows (DBCC CLONEDATABASE).
//!
//! ```text
//! source:  definitions of one moment, all committed; row and page counts of each table   (no writes, no waits)
//! clone:   a new database | options, ids behind the source's | definitions, each with new empty storage; counts | READ_ONLY
//! ```
//! Objects keep their ids, because definitions refer to each other by id. A table has no rows, but keeps the source's row and page counts
//! ([`BelievedCounts`]) in addition to the statistics, so that the optimizer chooses the same plans. SQL Server's clones show the source's
//! rows in `sys.partitions`, too.
//!
//! Invariant: the clone never assigns an id that the source has assigned.

use super::Database;
use super::restore::take_over;
use crate::buffer::DatabaseStorage;
use crate::catalog::{BelievedCounts, Catalog, ObjectDefinition};
use crate::error::Result;
use crate::page::ObjectId;
use crate::recovery::BootRecord;
use crate::store::IdCounters;

/// Sets what tables of a clone are believed to have.
pub(super) fn believe(storage: &DatabaseStorage, catalog: &Catalog) {
    for object in catalog.committed() {
        if let ObjectDefinition::BelievedCounts(counts) = &object.definition {
            storage.believe(counts);
        }
    }
}

impl DatabaseStorage {
    /// Has an allocation unit have so many rows and pages, as far as anybody asks without counting.
    pub(crate) fn believe(&self, counts: &BelievedCounts) {
        let unit = ObjectId(counts.unit);
        self.row_counts.set(unit, counts.rows);
        self.row_counts.believe_pages(unit, counts.pages);
    }
}

impl Database {
    /// Gives a new database the options of the one that it becomes a clone of, and makes it one.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub(crate) fn become_clone_of(&self, source: &BootRecord) -> Result<()> {
        let ids = IdCounters {
            row_version: self.boot().ids.row_version,
            ..source.ids
        };
        self.change_boot(|boot| {
            take_over(boot, source);
            boot.reads_committed_versions = source.reads_committed_versions;
            boot.allows_snapshots = source.allows_snapshots;
            boot.is_read_only = false;
            boot.is_clone = true;
            boot.is_verified_clone = false;
            boot.ids = boot.ids.max(ids);
        })?;
        self.skip_ids(ids);
        super::versions::begin(&self.storage, &self.boot());
        Ok(())
    }

    /// Whether DBCC CLONEDATABASE has made it.
    pub fn is_clone(&self) -> bool {
        self.boot.lock().is_clone
    }

    /// Whether it is a clone that was found whole when it was made.
    pub fn is_verified_clone(&self) -> bool {
        self.boot.lock().is_verified_clone
    }

    /// Says durably that it is a clone that was found whole.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn note_verified_clone(&self) -> Result<()> {
        self.change_boot(|boot| boot.is_verified_clone = boot.is_clone)
    }
}
