//! Statistics data outside the catalog: the number of changed rows of each table, and the database's options.
//!
//! Every row that is inserted, deleted, or updated in a column counts as one modification of that column ("Statistics",
//! AUTO_UPDATE_STATISTICS: thresholds of modifications). Modifications are counted in memory, even if the change is rolled back, and stored
//! when the database is closed. A crash loses those since the last clean close.
//!
//! Invariant: automatically created or updated statistics are stored by a separate transaction with its own locks, only for tables whose
//! definition is committed, and under a lock that prevents dropping the table.

use super::Database;
use super::system::{SystemTurn, SystemWork, unless_locked};
use crate::catalog::{ObjectDefinition, StatisticsDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::Resource;
use crate::statistics::Content;
use crate::store::StoreContext;
use crate::types::Value;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is done to statistics without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// AUTO_CREATE_STATISTICS.
    pub auto_create: bool,
    /// AUTO_UPDATE_STATISTICS.
    pub auto_update: bool,
    /// AUTO_UPDATE_STATISTICS_ASYNC.
    pub auto_update_async: bool,
}

impl StatisticsOptions {
    fn of_bits(bits: u8) -> StatisticsOptions {
        StatisticsOptions {
            auto_create: bits & 1 == 0,
            auto_update: bits & 2 == 0,
            auto_update_async: bits & 4 != 0,
        }
    }

    fn bits(self) -> u8 {
        u8::from(!self.auto_create) | u8::from(!self.auto_update) << 1 | u8::from(self.auto_update_async) << 2
    }
}

/// Statistics in memory: the columns, their first column's modifications when it was counted, and what was counted.
type Brief = (Vec<usize>, u64, Arc<Content>);

/// The modifications of one table since the database was opened.
#[derive(Debug)]
pub struct Modifications {
    /// Rows inserted and deleted.
    rows: AtomicU64,
    /// Of each column, rows in which it was updated.
    columns: Box<[AtomicU64]>,
    /// For statistics that were counted since, by their catalog row's id: what their column's modifications were then.
    counted_at: Mutex<HashMap<u32, u64>>,
    /// Statistics that are kept in memory alone.
    brief: Mutex<Vec<Brief>>,
}

impl Modifications {
    fn new(columns: usize) -> Modifications {
        Modifications {
            rows: AtomicU64::new(0),
            columns: (0..columns).map(|_| AtomicU64::new(0)).collect(),
            counted_at: Mutex::default(),
            brief: Mutex::default(),
        }
    }

    /// Rows came or went.
    #[inline]
    pub fn note_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// A column of a row was updated.
    #[inline]
    pub fn note_column(&self, column: usize) {
        if let Some(count) = self.columns.get(column) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A row got other values.
    pub fn note_update(&self, old: &[Value], new: &[Value]) {
        for (column, (old, new)) in old.iter().zip(new).enumerate() {
            if old != new {
                self.note_column(column);
            }
        }
    }

    /// The statistics kept in memory that are of the table as it is.
    pub fn brief(&self) -> Vec<(Vec<usize>, Arc<Content>)> {
        let brief = self.brief.lock();
        let current = brief
            .iter()
            .filter(|(columns, at, _)| self.of_column(columns[0]) == *at);
        current
            .map(|(columns, _, content)| (columns.clone(), content.clone()))
            .collect()
    }

    /// Whether there are some of a column.
    pub fn is_brief(&self, column: usize) -> bool {
        let brief = self.brief.lock();
        let mut of_column = brief.iter().filter(|(columns, ..)| columns[0] == column);
        of_column.any(|(_, at, _)| self.of_column(column) == *at)
    }

    /// Keeps statistics in memory, until their first column is modified.
    pub fn keep_brief(&self, columns: Vec<usize>, content: Arc<Content>) {
        let Some(&first) = columns.first() else { return };
        let at = self.of_column(first);
        let mut brief = self.brief.lock();
        brief.retain(|(other, ..)| other[0] != first);
        brief.push((columns, at, content));
    }

    /// Rows that came or went, or were updated in a column. It never falls.
    #[inline]
    pub fn of_column(&self, column: usize) -> u64 {
        let updated = self.columns.get(column);
        self.of_rows() + updated.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Rows that came or went. It never falls.
    #[inline]
    pub fn of_rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Statistics were counted just now.
    pub fn counted(&self, statistics: &StatisticsDefinition) {
        let column = statistics.columns.first().copied().unwrap_or_default();
        let modified = self.of_column(column);
        self.counted_at.lock().insert(statistics.object_id, modified);
    }

    /// Modifications of the first column of statistics since they were counted.
    pub fn since_counted(&self, statistics: &StatisticsDefinition) -> u64 {
        let column = statistics.columns.first().copied().unwrap_or_default();
        let modified = self.of_column(column);
        match self.counted_at.lock().get(&statistics.object_id) {
            Some(then) => modified.saturating_sub(*then),
            None => statistics.modified + modified,
        }
    }
}

/// From so many tables on, those that are gone are forgotten whenever their number has doubled.
const TABLES_BETWEEN_SWEEPS: usize = 1_024;

/// Those of all tables of a database that were opened.
#[derive(Default)]
pub(super) struct ModificationsByTable(RwLock<HashMap<u32, Arc<Modifications>, RandomState>>);

impl Database {
    /// The modifications of a table.
    pub fn modifications(&self, table: &TableDefinition) -> Arc<Modifications> {
        let columns = table.columns.len();
        let is_wide_enough = |known: &&Arc<Modifications>| known.columns.len() >= columns;
        if let Some(known) = self.modifications.0.read().get(&table.object_id).filter(is_wide_enough) {
            return known.clone();
        }
        let mut tables = self.modifications.0.write();
        if tables.len() >= TABLES_BETWEEN_SWEEPS && tables.len().is_power_of_two() {
            // Dropped tables are no longer requested.
            tables.retain(|id, known| Arc::strong_count(known) > 1 || self.catalog.by_id(*id, 0).is_some());
        }
        let made = tables
            .entry(table.object_id)
            .or_insert_with(|| Arc::new(Modifications::new(columns)));
        if made.columns.len() < columns {
            // A column was added: what was counted until then goes on in rows, which count for every column.
            let wider = Modifications::new(columns);
            wider.note_rows(made.rows.load(Ordering::Relaxed));
            *wider.counted_at.lock() = made.counted_at.lock().clone();
            *made = Arc::new(wider);
        }
        made.clone()
    }

    /// What is done to statistics without being asked.
    pub fn statistics_options(&self) -> StatisticsOptions {
        StatisticsOptions::of_bits(self.boot.lock().statistics_options)
    }

    /// Sets it.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn set_statistics_options(&self, options: StatisticsOptions) -> Result<()> {
        self.change_boot(|boot| {
            boot.statistics_options = options.bits();
            boot.has_statistics = true;
        })
    }

    /// Says in the boot record that the catalog has statistics, before it does: a version that does not know them must not
    /// read it.
    pub(crate) fn note_statistics(&self) -> Result<()> {
        if self.boot.lock().has_statistics {
            return Ok(());
        }
        self.change_boot(|boot| boot.has_statistics = true)
    }

    /// The same of statistics of some rows of their table.
    pub(crate) fn note_filtered_statistics(&self) -> Result<()> {
        if self.boot.lock().further.has_filtered_statistics {
            return Ok(());
        }
        self.change_boot(|boot| boot.further.has_filtered_statistics = true)
    }

    /// The resource locked to create, update or drop statistics of a table, in addition to the table's definition.
    pub fn statistics_lock(&self, table: u32) -> Resource {
        Resource::name(self.id, &format!("statistics of {table}"))
    }

    /// Stores statistics that were made or updated by themselves; their table is held by the caller. They are left out when another
    /// session is at the table's statistics.
    ///
    /// # Errors
    /// 3906 in a database that is only read; those of the log.
    pub fn store_own_statistics(&self, made: Vec<StatisticsDefinition>) -> Result<()> {
        let Some(table) = made.first().map(|statistics| statistics.table) else {
            return Ok(());
        };
        self.check_writable()?;
        let turn = self.try_system_turn();
        let Some(turn) = turn.filter(|turn| turn.try_lock(self.statistics_lock(table))) else {
            return Ok(());
        };
        self.note_statistics()?;
        let stored = self.change_catalog(&turn, SystemWork::Statistics, |ctx| {
            made.into_iter()
                .try_for_each(|statistics| self.store_one(ctx, table, statistics))
        });
        unless_locked(stored.map_err(Error::from))
    }

    fn store_one(&self, ctx: &mut StoreContext<'_>, table: u32, mut statistics: StatisticsDefinition) -> Result<()> {
        let kept = self.catalog.statistics_of(table, 0);
        let is_update = statistics.object_id != 0;
        let before = kept.iter().find(|object| match is_update {
            true => object.definition.object_id() == statistics.object_id,
            false => object
                .statistics()
                .is_some_and(|other| other.name.eq_ignore_ascii_case(&statistics.name)),
        });
        if is_update && before.is_none() {
            // They were dropped while they were counted.
            return Ok(());
        }
        // Another session may have taken the number meanwhile.
        let others = || kept.iter().filter_map(|object| object.statistics());
        if before.is_none() && others().any(|other| other.stats_id == statistics.stats_id) {
            statistics.stats_id = others().map(|other| other.stats_id).max().unwrap_or(0) + 1;
        }
        statistics.object_id = match before {
            Some(object) => object.definition.object_id(),
            None => self.new_object_id()?,
        };
        let definition = ObjectDefinition::Statistics(statistics.clone());
        match before {
            Some(object) => self.catalog.replace(ctx, 0, object, definition)?,
            None => self.catalog.insert(ctx, 0, definition)?,
        };
        if let Some(table) = self.modifications.0.read().get(&table) {
            table.counted(&statistics);
        }
        Ok(())
    }

    /// Stores how much was modified since statistics were counted, where that is another number than the stored one. What is locked stays
    /// as it is, as after a crash.
    pub(super) fn store_modifications(&self, turn: &SystemTurn) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let tables: Vec<_> = self
            .modifications
            .0
            .read()
            .iter()
            .map(|(id, table)| (*id, table.clone()))
            .collect();
        for (id, table) in tables {
            for object in self.catalog.statistics_of(id, 0) {
                let Some(statistics) = object.statistics() else {
                    continue;
                };
                let modified = table.since_counted(statistics);
                if modified == statistics.modified {
                    continue;
                }
                let changed = StatisticsDefinition {
                    modified,
                    ..statistics.clone()
                };
                let stored = self.change_catalog(turn, SystemWork::Modifications, |ctx| {
                    let changed = ObjectDefinition::Statistics(changed);
                    self.catalog.replace(ctx, 0, &object, changed).map(drop)
                });
                unless_locked(stored.map_err(Error::from))?;
            }
        }
        Ok(())
    }
}
