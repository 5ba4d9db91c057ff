//! The number of times plans have used the indexes of a database's tables since it was opened: the counters of
//! `sys.dm_db_index_usage_stats`.
//!
//! "Each individual seek, scan, lookup, or update on the specified index by one query execution is counted as a use of that index"
//! (sql-docs, "sys.dm_db_index_usage_stats"): each execution of a plan counts once for each of its operators, however many rows they
//! process. A heap counts as index 0.
//!
//! The counters are in memory only, as SQL Server's are. Dropping an index removes its counters at once, even if the drop is rolled back.

use super::Database;
use crate::catalog::TableDefinition;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an index was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexUseKind {
    /// A search of keys.
    Seek,
    /// A pass over all of it.
    Scan,
    /// A row, found by another index.
    Lookup,
    /// A statement that changes it.
    Update,
    /// A pass over all of it that no statement asked for: statistics.
    SystemScan,
}

/// Uses of one kind.
#[derive(Debug, Default)]
struct Uses {
    count: AtomicU64,
    last_unix_micros: AtomicU64,
}

/// The uses of one index.
#[derive(Debug, Default)]
pub struct IndexUses {
    seeks: Uses,
    scans: Uses,
    lookups: Uses,
    updates: Uses,
    system_scans: Uses,
}

impl IndexUses {
    fn of(&self, kind: IndexUseKind) -> &Uses {
        match kind {
            IndexUseKind::Seek => &self.seeks,
            IndexUseKind::Scan => &self.scans,
            IndexUseKind::Lookup => &self.lookups,
            IndexUseKind::Update => &self.updates,
            IndexUseKind::SystemScan => &self.system_scans,
        }
    }

    /// Counts a use at a time, in microseconds since 1970.
    #[inline]
    pub fn note(&self, kind: IndexUseKind, unix_micros: u64) {
        let uses = self.of(kind);
        uses.count.fetch_add(1, Ordering::Relaxed);
        uses.last_unix_micros.store(unix_micros, Ordering::Relaxed);
    }

    /// How often it was used so.
    pub fn count(&self, kind: IndexUseKind) -> u64 {
        self.of(kind).count.load(Ordering::Relaxed)
    }

    /// When it was used so last, in microseconds since 1970; `None` if never.
    pub fn last_unix_micros(&self, kind: IndexUseKind) -> Option<u64> {
        let uses = self.of(kind);
        (uses.count.load(Ordering::Relaxed) > 0).then(|| uses.last_unix_micros.load(Ordering::Relaxed))
    }
}

/// A table and one of its indexes.
type IndexKey = (u32, u32);

/// From so many indexes on, those of tables that are gone are forgotten whenever their number has doubled.
const INDEXES_BETWEEN_SWEEPS: usize = 1_024;

/// The uses of all indexes that some plan was made for.
#[derive(Default)]
pub(super) struct UsesByIndex(RwLock<BTreeMap<IndexKey, Arc<IndexUses>>>);

impl Database {
    /// Where the uses of an index of a table are counted.
    pub fn index_uses(&self, table: &TableDefinition, index_id: u32) -> Arc<IndexUses> {
        let key = (table.object_id, index_id);
        if let Some(known) = self.index_uses.0.read().get(&key) {
            return known.clone();
        }
        let mut indexes = self.index_uses.0.write();
        if indexes.len() >= INDEXES_BETWEEN_SWEEPS && indexes.len().is_power_of_two() {
            // Tables that only uncommitted transactions know have no entry that others see, but plans hold on to what they count in.
            indexes.retain(|(table, _), uses| Arc::strong_count(uses) > 1 || self.catalog.by_id(*table, 0).is_some());
        }
        indexes.entry(key).or_default().clone()
    }

    /// The uses of all indexes by table and index; of tables that are gone, too, as long as they are not forgotten.
    pub fn all_index_uses(&self) -> Vec<(u32, u32, Arc<IndexUses>)> {
        let indexes = self.index_uses.0.read();
        let all = indexes
            .iter()
            .map(|((table, index), uses)| (*table, *index, uses.clone()));
        all.collect()
    }

    /// Forgets the uses of a table's indexes but those that are kept.
    pub(crate) fn forget_index_uses(&self, table: u32, is_kept: impl Fn(u32) -> bool) {
        let mut indexes = self.index_uses.0.write();
        let of_table = indexes.range((table, 0)..=(table, u32::MAX)).map(|(key, _)| *key);
        let gone: Vec<IndexKey> = of_table.filter(|(_, index)| !is_kept(*index)).collect();
        for key in gone {
            indexes.remove(&key);
        }
    }
}
