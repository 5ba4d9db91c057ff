//! Statistics of a table: counting them, and keeping them in the session's transaction.
//!
//! All rows count, committed or not, without waiting for locks. The scan visits every row. For a sample it decodes and keeps only the rows
//! chosen by a hash of their position, so a table always has the same sample.
//!
//! Invariant: a session that creates, changes or drops statistics of a table locks the definition (at least Sch-S) and the statistics until
//! the end of the transaction.

use super::{Session, Table};
use crate::cancel;
use crate::catalog::{
    CatalogObject, IndexDefinition, IndexFilter, ObjectDefinition, StatisticsDefinition, TableDefinition,
};
use crate::database::{Database, IndexUseKind};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::statistics::{Collector, Content, Plan, rows_to_sample};
use crate::store::ReadMode;
use crate::types::Value;
use std::sync::Arc;

/// How many rows of a new index are counted at most.
const INDEX_ROWS_MAX: u64 = 4_000_000;

/// From here on an error is the administrator's to fix.
const FATAL_SEVERITY_MIN: u8 = 20;

/// How many rows are looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// As many as seem right: all of a small table, a falling share of a large one.
    Usual,
    /// FULLSCAN.
    Full,
    /// SAMPLE n PERCENT.
    Percent(f64),
    /// SAMPLE n ROWS.
    Rows(u64),
}

impl Table {
    /// Its rows, those not committed too: as they are kept, or counted now. Then they are kept.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn counted_rows(&self, locks: &LockOwner) -> Result<u64> {
        if let Some(partitions) = self.partitions() {
            return partitions.tables().iter().map(|table| table.counted_rows(locks)).sum();
        }
        let counts = &self.database().storage.row_counts;
        let unit = self.rows_unit()?;
        if let Some(rows) = counts.get(unit) {
            return Ok(rows);
        }
        let mut rows = 0;
        let mut scan = self.scan(locks, ReadMode::Uncommitted)?;
        scan.leave_out_bytes();
        while scan.next_batch()? {
            cancel::spend(cancel::STEPS_PER_PAGE)?;
            rows += scan.len() as u64;
        }
        counts.set(unit, rows);
        Ok(rows)
    }

    /// Whether it has a row that `is_it` holds for, those not committed too. The storage itself is read: a count may have been set by UPDATE
    /// STATISTICS.
    ///
    /// # Errors
    /// 3617; 823 and 824 when a page cannot be read.
    pub fn has_row(&self, locks: &LockOwner, is_it: impl Fn(&[Value]) -> Result<bool>) -> Result<bool> {
        let mut scan = self.scan(locks, ReadMode::Uncommitted)?;
        let mut values = Vec::new();
        while scan.next_batch()? {
            cancel::spend(cancel::STEPS_PER_PAGE)?;
            for row in 0..scan.len() {
                self.layout()
                    .decode_into(scan.row(row).unwrap_or_default(), &mut values)?;
                if is_it(&values)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Sets how many rows and pages the table is believed to have, as UPDATE STATISTICS ... WITH ROWCOUNT, PAGECOUNT does: the rows go on
    /// being counted from there, the pages stay. Until the database is opened again.
    ///
    /// # Errors
    /// 3624 for a table without storage.
    pub fn believe(&self, rows: Option<u64>, pages: Option<u64>) -> Result<()> {
        if self.is_partitioned() {
            let text = "Keyword or statement option 'ROWCOUNT and PAGECOUNT of a partitioned table' is not supported in this version of vlflab.";
            return Err(Error::new(40517, 16, 1, text));
        }
        let counts = &self.database().storage.row_counts;
        let unit = self.rows_unit()?;
        if let Some(rows) = rows {
            counts.set(unit, rows);
        }
        if let Some(pages) = pages {
            counts.believe_pages(unit, pages);
        }
        Ok(())
    }

    /// Pages of its rows as the optimizer is to believe: those set by UPDATE STATISTICS, else those handed out.
    pub fn page_count_believed(&self) -> u64 {
        if self.is_partitioned() {
            return self.page_count();
        }
        let counts = &self.database().storage.row_counts;
        let set = self.rows_unit().ok().and_then(|unit| counts.pages_believed(unit));
        set.unwrap_or_else(|| self.page_count())
    }

    fn rows_unit(&self) -> Result<crate::page::ObjectId> {
        Ok(self.rows_root().object)
    }

    /// A pass over its rows that no statement has asked for is a use of what holds them.
    fn note_system_scan(&self) {
        let (database, definition) = (self.database(), self.definition());
        let rows_id = u32::from(definition.clustered().is_some());
        let now = database.storage.env.clock.unix_micros();
        database
            .index_uses(definition, rows_id)
            .note(IndexUseKind::SystemScan, now);
    }

    /// Counts statistics, all in one pass over the table; `None` for one without rows.
    ///
    /// # Errors
    /// 701 when there is no memory for the keys; 823 and 824 when a page cannot be read.
    pub fn count_statistics(
        &self,
        locks: &LockOwner,
        plans: &[CountPlan],
        sampling: Sampling,
        updated: (i32, u32),
    ) -> Result<Vec<Option<Content>>> {
        let known = self.counted_rows(locks)?;
        let share = match sampling {
            Sampling::Usual => rows_to_sample(known, self.page_count()) as f64 / known.max(1) as f64,
            Sampling::Full => 1.0,
            Sampling::Percent(percent) => percent / 100.0,
            Sampling::Rows(rows) => rows as f64 / known.max(1) as f64,
        };
        let limit = (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64;
        self.note_system_scan();
        let collectors = plans.iter().map(|plan| Collector::new(&plan.plan, self.layout()));
        let mut collectors: Vec<_> = collectors.collect();
        let has_filter = plans.iter().any(|plan| plan.filter.is_some());
        let mut values = Vec::new();
        let (mut rows, mut looked_at) = (0u64, 0u64);
        let mut scan = self.scan(locks, ReadMode::Uncommitted)?;
        while scan.next_batch()? {
            cancel::spend(cancel::STEPS_PER_PAGE)?;
            for place in 0..scan.len() {
                // The first row is always there, so that no sample of a table with rows is empty.
                let is_chosen = rows == 0 || share >= 1.0 || scattered(rows) < limit;
                rows += 1;
                if !is_chosen {
                    continue;
                }
                cancel::spend(1)?;
                looked_at += 1;
                let row = scan.row(place).unwrap_or_default();
                if has_filter {
                    self.layout().decode_into(row, &mut values)?;
                }
                for (collector, plan) in collectors.iter_mut().zip(plans) {
                    let is_meant = match &plan.filter {
                        Some(filter) => filter.holds(&values, self.layout())?,
                        None => true,
                    };
                    if is_meant {
                        collector.add(self.layout(), row)?;
                    }
                }
            }
        }
        let finished = collectors.into_iter().zip(plans).map(|(collector, plan)| {
            // Of a filter the share among those that were looked at is that among all.
            let meant = match plan.filter {
                Some(_) => (rows as f64 * collector.len() as f64 / looked_at.max(1) as f64).round() as u64,
                None => rows,
            };
            match rows {
                0 => Ok(None),
                _ => collector.finish(meant, updated).map(|content| {
                    Some(Content {
                        unfiltered_rows: rows,
                        ..content
                    })
                }),
            }
        });
        finished.collect()
    }
}

/// Counts statistics of a table that are out of date and stores them, by locks and a transaction of their own: for work that is left to
/// the instance ([`crate::instance::Instance::leave`]). Statistics that another session has counted or dropped meanwhile are left out, and
/// all of them if a lock is in the way; the next query that finds them out of date asks again.
pub fn update_statistics_aside(
    database: &Arc<Database>,
    object: &Arc<CatalogObject>,
    mut wanted: Vec<StatisticsDefinition>,
    updated: (i32, u32),
) {
    let Some(definition) = object.definition.table() else {
        return;
    };
    let locks = database.internal_locks().another();
    let (own, table) = (database.id, definition.object_id);
    let is_free =
        locks.try_lock(Resource::Database(own), Mode::S) && locks.try_lock(Resource::Object(own, table), Mode::SchS);
    let is_there = is_free && database.check_open().is_ok() && database.catalog.is_current(object, 0);
    if is_there {
        let kept = database.catalog.statistics_of(table, 0);
        wanted.retain(|known| is_still_kept(&kept, known));
    }
    if is_there && !wanted.is_empty() {
        // They are never worth an error: what cannot be counted or stored stays as it is.
        tell_if_fatal(database, count_and_store(database, object, wanted, &locks, updated));
    }
    locks.release_all();
}

/// Statistics that are to be counted.
#[derive(Debug, Clone)]
pub struct CountPlan {
    plan: Plan,
    /// Which rows count; `None`: all.
    filter: Option<Box<IndexFilter>>,
}

impl CountPlan {
    /// Of columns of all rows.
    pub fn of(columns: Vec<usize>) -> CountPlan {
        CountPlan {
            plan: Plan::of(columns),
            filter: None,
        }
    }
}

impl StatisticsDefinition {
    /// What is to be counted for them.
    pub fn plan(&self) -> CountPlan {
        CountPlan {
            plan: Plan::of(self.columns.clone()),
            filter: self.filter.clone(),
        }
    }
}

/// Whether statistics are still those that the caller knew.
fn is_still_kept(kept: &[Arc<CatalogObject>], known: &StatisticsDefinition) -> bool {
    let counted = |statistics: &StatisticsDefinition| statistics.content.as_ref().map(|content| content.updated);
    let mut kept = kept.iter().filter_map(|object| object.statistics());
    kept.any(|kept| kept.object_id == known.object_id && counted(kept) == counted(known))
}

/// The outcome of counting whose failure is not worth an error. A page that cannot be read (823, 824) is logged all the same, and
/// only here: the buffer pool leaves that to its caller. A failed log (9001) has been logged already.
pub fn tell_if_fatal<T: Default>(database: &Database, outcome: Result<T>) -> T {
    outcome.unwrap_or_else(|error| {
        if error.severity >= FATAL_SEVERITY_MIN && error.number != Error::log_not_available("").number {
            database.storage.env.errorlog.write_error("Server", &error);
        }
        T::default()
    })
}

fn count_and_store(
    database: &Arc<Database>,
    object: &Arc<CatalogObject>,
    wanted: Vec<StatisticsDefinition>,
    locks: &LockOwner,
    updated: (i32, u32),
) -> Result<()> {
    let table = Table::open(database, object)?;
    let plans: Vec<CountPlan> = wanted.iter().map(StatisticsDefinition::plan).collect();
    let counted = table.count_statistics(locks, &plans, Sampling::Usual, updated)?;
    let stored = wanted.into_iter().zip(counted).filter_map(|(statistics, content)| {
        Some(StatisticsDefinition {
            leading: leading_of(table.definition(), &statistics.columns),
            content: Some(Arc::new(content?)),
            modified: 0,
            ..statistics
        })
    });
    database.store_own_statistics(stored.collect())
}

/// A number spread over all of `u64`, the same for the same place (the finalizer of Stafford's variant 13 of MurmurHash3).
fn scattered(place: u64) -> u64 {
    let mut number = place.wrapping_add(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// The columns that statistics of an index are of.
pub fn columns_of_index(index: &IndexDefinition) -> Vec<usize> {
    index.keys.iter().map(|(column, _)| *column).collect()
}

/// Statistics of an index, before they are counted.
pub fn statistics_of_index(table: &TableDefinition, index: &IndexDefinition) -> StatisticsDefinition {
    let columns = columns_of_index(index);
    StatisticsDefinition {
        object_id: 0,
        table: table.object_id,
        stats_id: index.index_id,
        name: index.name.clone(),
        of_index: true,
        auto_created: false,
        no_recompute: false,
        leading: leading_of(table, &columns),
        columns,
        content: None,
        modified: 0,
        filter: None,
    }
}

/// The type and collation of the first of some columns.
pub fn leading_of(table: &TableDefinition, columns: &[usize]) -> (crate::types::SqlType, crate::types::Collation) {
    let leading = columns.first().and_then(|column| table.columns.get(*column));
    leading.map_or(
        (crate::types::SqlType::Int, crate::types::Collation::default()),
        |column| (column.sql_type, column.collation),
    )
}

/// All statistics of a table: those kept, and those of indexes that were never counted. In the order of their numbers.
pub fn all_statistics(database: &Database, table: &TableDefinition, session: u16) -> Vec<StatisticsDefinition> {
    let kept = database.catalog.statistics_of(table.object_id, session);
    let mut all: Vec<_> = kept.iter().filter_map(|object| object.statistics().cloned()).collect();
    for statistics in &mut all {
        let index = table.indexes.iter().find(|index| index.index_id == statistics.stats_id);
        if let Some(index) = index.filter(|_| statistics.of_index) {
            statistics.name.clone_from(&index.name);
        }
    }
    for index in &table.indexes {
        if !all.iter().any(|known| known.stats_id == index.index_id) {
            all.push(statistics_of_index(table, index));
        }
    }
    all.sort_by_key(|statistics| statistics.stats_id);
    all
}

/// The next free `stats_id` of a table.
pub fn next_stats_id(database: &Database, table: &TableDefinition, session: u16) -> u32 {
    let all = all_statistics(database, table, session);
    let disabled = table.disabled_indexes.iter().map(|index| index.index_id);
    let known = all.iter().map(|known| known.stats_id).chain(disabled);
    known.max().unwrap_or(0).max(1) + 1
}

impl Session {
    /// Locks the statistics of a table, and its definition against change, until the end of the transaction.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn lock_statistics(&self, database: &Database, table: u32) -> Result<()> {
        let resource = Resource::Object(database.id, table);
        self.locks().lock(resource, Mode::SchS)?;
        self.locks().lock(database.statistics_lock(table), Mode::X)
    }

    /// Keeps statistics: new ones, or those kept under their id again. The caller holds [`Session::lock_statistics`].
    ///
    /// # Errors
    /// Those of [`Session::write`].
    pub fn keep_statistics(&mut self, database: &Arc<Database>, mut statistics: StatisticsDefinition) -> Result<()> {
        database.note_statistics()?;
        if statistics.filter.is_some() {
            database.note_filtered_statistics()?;
        }
        self.lock_catalog(database)?;
        let kept = database.catalog.statistics_of(statistics.table, self.id);
        let is_it = |object: &&Arc<CatalogObject>| {
            object
                .statistics()
                .is_some_and(|other| other.stats_id == statistics.stats_id)
        };
        let before = kept.iter().find(is_it).cloned();
        statistics.object_id = match &before {
            Some(object) => object.definition.object_id(),
            None => database.new_object_id()?,
        };
        let (session, owner) = (self.id, database.clone());
        let definition = ObjectDefinition::Statistics(statistics.clone());
        self.write(database, |ctx| match &before {
            Some(object) => owner.catalog.replace(ctx, session, object, definition),
            None => owner.catalog.insert(ctx, session, definition),
        })?;
        if let Some(object) = database.catalog.by_id(statistics.table, self.id)
            && let Some(table) = object.definition.table()
        {
            database.modifications(table).counted(&statistics);
        }
        Ok(())
    }

    /// Drops statistics of a table for which `is_dropped` holds. The caller holds [`Session::lock_statistics`], or the table for himself.
    ///
    /// # Errors
    /// Those of [`Session::write`].
    pub fn drop_statistics(
        &mut self,
        database: &Arc<Database>,
        table: u32,
        is_dropped: impl Fn(&StatisticsDefinition) -> bool,
    ) -> Result<()> {
        let mut kept = database.catalog.statistics_of(table, self.id);
        kept.retain(|object| object.statistics().is_some_and(&is_dropped));
        if kept.is_empty() {
            return Ok(());
        }
        self.locks().lock(database.statistics_lock(table), Mode::X)?;
        self.lock_catalog(database)?;
        let (session, owner) = (self.id, database.clone());
        self.write(database, |ctx| {
            kept.iter()
                .try_for_each(|object| owner.catalog.remove(ctx, session, object))
        })
    }

    /// Counts the statistics of indexes of a table that was just built, those with these numbers or all. Nothing is kept for a table without
    /// rows. The caller holds the table for himself.
    ///
    /// # Errors
    /// As for [`Table::count_statistics`].
    pub fn count_index_statistics(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        index_id: Option<u32>,
        updated: (i32, u32),
    ) -> Result<()> {
        let table = Table::open(database, object)?;
        let locks = self.locks().clone();
        let definition = table.definition();
        let indexes = definition.indexes.iter();
        let indexes: Vec<_> = indexes
            .filter(|index| index_id.is_none_or(|wanted| index.index_id == wanted))
            .collect();
        if indexes.is_empty() || table.counted_rows(&locks)? == 0 {
            return Ok(());
        }
        let sampling = match table.counted_rows(&locks)? {
            rows if rows <= INDEX_ROWS_MAX => Sampling::Full,
            _ => Sampling::Usual,
        };
        for index in indexes {
            let plan = CountPlan::of(columns_of_index(index));
            let content = table
                .count_statistics(&locks, &[plan], sampling, updated)?
                .pop()
                .flatten();
            let counted = StatisticsDefinition {
                content: content.map(Arc::new),
                ..statistics_of_index(definition, index)
            };
            self.locks()
                .lock(database.statistics_lock(definition.object_id), Mode::X)?;
            self.keep_statistics(database, counted)?;
        }
        Ok(())
    }
}
