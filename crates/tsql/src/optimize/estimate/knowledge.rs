//! Finds statistics for the columns that conditions compare, and creates or updates those that are missing or out of date.
//!
//! ```text
//! statistics        in the catalog, usable                             used
//!                   none, AUTO_CREATE_STATISTICS is ON                 created and stored as _WA_Sys_<column>_<table>
//!                   out of date, AUTO_UPDATE_STATISTICS is ON          updated and stored, unless NORECOMPUTE
//!                   of an index, never counted                         as if out of date
//!                   out of date, AUTO_UPDATE_STATISTICS_ASYNC is ON    used; updated in the background (`Instance::leave`)
//! ```
//! They are out of date if more rows were modified since their last update than ("Statistics", AUTO_UPDATE_STATISTICS)
//! ```text
//! 500                                   up to 500 rows then
//! 500 + 20 % of the rows                below compatibility level 130
//! the least of that, root(1000 x rows)  from level 130 on
//! ```
//! Tables with fewer than [`STORED_ROWS_MIN`] rows, tables that are not committed yet, and tables of the system databases get temporary
//! statistics, which stay in memory until the table is modified.
//!
//! A plan is valid for as many modifications as its statistics ([`Premises`]): when they are out of date, so is the plan, and recompiling
//! it updates them. For temporary tables of fewer than 6 rows the threshold is 6 modifications, unless KEEP PLAN asks for the usual one.
//! KEEPFIXED PLAN, AUTO_UPDATE_STATISTICS OFF and NORECOMPUTE keep a plan regardless of modifications. A table of which no column is
//! compared counts by its rows; a search for one row by a unique index does not count. A plan is also recompiled when statistics of a table
//! that it was estimated from were created, updated or dropped, and no other plan is; under KEEPFIXED PLAN not even that one ("Query
//! hints", KEEPFIXED PLAN: only for schema changes).
//!
//! All of this happens when a plan is compiled, before the first choice. A search for one row by a unique index needs no statistics.
//! Statistics never cause an error: if they cannot be computed or stored, the optimizer guesses.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use engine::cancel;
use engine::catalog::{StatisticsDefinition, StatisticsSeen};
use engine::database::{Database, Modifications};
use engine::error::{Error, Result};
use engine::instance::{MSDB, TEMPDB, WorkName};
use engine::session::{
    CountPlan, Sampling, Table, all_statistics, leading_of, next_stats_id, tell_if_fatal, update_statistics_aside,
};
use engine::statistics::Content;
use engine::store::ReadMode;
use engine::types::Value;

use crate::plan::Aging;
use crate::state::SessionState;

/// Smaller tables are counted for the moment.
pub const STORED_ROWS_MIN: u64 = 500;

/// The table's database and id.
pub(super) type TableKey = (u16, u32);

pub(super) fn key_of(table: &Table) -> TableKey {
    (table.database().id, table.definition().object_id)
}

/// Columns, and what was counted of them.
type Counted = (Vec<usize>, Arc<Content>);

/// So many modifications of smaller temporary tables put their statistics out of date.
const TEMPORARY_ROWS: u64 = 6;

/// A table, or a column of one, and the count of modifications from which a plan that was made of its statistics is out of date.
struct Premise {
    database: Arc<Database>,
    modifications: Arc<Modifications>,
    column: Option<usize>,
    until: u64,
}

impl Premise {
    #[inline]
    fn holds(&self) -> bool {
        let modified = match self.column {
            Some(column) => self.modifications.of_column(column),
            None => self.modifications.of_rows(),
        };
        modified < self.until || !self.database.statistics_options().auto_update
    }
}

/// What a plan takes for granted of the tables that it reads: that they were not modified by more than statistics may be, and that
/// there are no other statistics of them.
#[derive(Default)]
pub struct Premises {
    modifications: Vec<Premise>,
    statistics: Vec<StatisticsSeen>,
}

impl Premises {
    /// Whether none of the statistics that a plan was made from was replaced, or is out of date and may be updated. Two loads for each
    /// column, and one for each table.
    #[inline]
    pub fn hold(&self) -> bool {
        self.modifications.iter().all(Premise::holds) && self.statistics.iter().all(StatisticsSeen::are_current)
    }

    /// Notes that a plan goes by statistics, and by how many modifications they may still grow old.
    fn note(&mut self, table: &Table, column: Option<usize>, left: u64) {
        let modifications = table.modifications();
        let is_it = |known: &&mut Premise| Arc::ptr_eq(&known.modifications, modifications) && known.column == column;
        let modified = column.map_or_else(|| modifications.of_rows(), |column| modifications.of_column(column));
        let until = modified.saturating_add(left).saturating_add(1);
        match self.modifications.iter_mut().find(is_it) {
            Some(known) => known.until = known.until.min(until),
            None => self.modifications.push(Premise {
                database: table.database().clone(),
                modifications: modifications.clone(),
                column,
                until,
            }),
        }
    }
}

/// Column statistics for one statement.
pub(super) struct Knowledge<'s> {
    session: &'s SessionState,
    premises: RefCell<Premises>,
    aging: Cell<Aging>,
    /// For tables that were asked about.
    known: RefCell<HashMap<TableKey, Known>>,
}

/// The statistics of a table that say something of its columns as they are.
struct Known {
    /// Of all rows, by their columns.
    counted: Vec<Counted>,
    /// Those that have a filter.
    filtered: Rc<[StatisticsDefinition]>,
}

/// How many rows may be modified before statistics of so many rows are out of date.
pub fn modified_rows_max(rows: u64, compatibility_level: u16) -> u64 {
    if rows <= 500 {
        return 500;
    }
    let fifth = 500 + rows / 5;
    match compatibility_level {
        130.. => fifth.min((1_000.0 * rows as f64).sqrt() as u64),
        _ => fifth,
    }
}

impl<'s> Knowledge<'s> {
    pub(super) fn new(session: &'s SessionState) -> Knowledge<'s> {
        Knowledge {
            session,
            premises: RefCell::default(),
            aging: Cell::default(),
            known: RefCell::default(),
        }
    }

    /// By what the plan that is made grows out of date.
    pub(super) fn age(&self, aging: Aging) {
        self.aging.set(aging);
    }

    /// What the plan that was made takes for granted.
    pub(super) fn take_premises(&self) -> Premises {
        self.premises.take()
    }

    /// Notes that the plan goes by how many rows a table has, and by statistics of a column if one is given. `left` says how many
    /// modifications put these out of date; none: as many as if they had been counted just now.
    fn rely_on(&self, table: &Table, column: Option<usize>, left: Option<u64>) {
        if self.aging.get() == Aging::Never {
            return;
        }
        let rows = || table.row_count().unwrap_or(0);
        let left = match left {
            _ if self.ages_soon(table) && rows() < TEMPORARY_ROWS => TEMPORARY_ROWS,
            Some(left) => left,
            None => modified_rows_max(rows(), table.database().boot().compatibility_level),
        };
        self.premises.borrow_mut().note(table, column, left);
    }

    /// Whether it is a temporary table, of which few modifications count.
    fn ages_soon(&self, table: &Table) -> bool {
        table.database().id == TEMPDB && self.aging.get() == Aging::Usual
    }

    /// The plan goes by how many rows a table has.
    pub(super) fn rely_on_rows(&self, table: &Table) {
        self.rely_on(table, None, None);
    }

    /// What was counted of a column.
    pub(super) fn content(&self, table: &Table, column: usize) -> Option<Arc<Content>> {
        self.find(table, |columns| columns.first() == Some(&column))
    }

    /// The statistics of a table that have a filter, as far as they say something of its columns as they are.
    pub(super) fn filtered(&self, table: &Table) -> Rc<[StatisticsDefinition]> {
        self.known_of(table, |known| known.filtered.clone())
    }

    /// Different ones of some columns together, in any order.
    pub(super) fn distinct_of(&self, table: &Table, columns: &[usize]) -> Option<f64> {
        let begins = |known: &[usize]| {
            let prefix = known.get(..columns.len());
            prefix.is_some_and(|prefix| columns.iter().all(|column| prefix.contains(column)))
        };
        let content = self.find(table, begins)?;
        Some(content.distinct(columns.len()))
    }

    /// How many rows a table had when its latest statistics were counted.
    pub(super) fn rows_when_counted(&self, table: &Table) -> Option<u64> {
        let latest = |of_table: &[Counted]| {
            let contents = of_table.iter().map(|(_, content)| content);
            contents
                .max_by_key(|content| content.updated)
                .map(|content| content.rows)
        };
        self.of_table(table, latest)
    }

    fn find(&self, table: &Table, is_it: impl Fn(&[usize]) -> bool) -> Option<Arc<Content>> {
        self.of_table(table, |of_table| {
            let found = of_table.iter().find(|(columns, _)| is_it(columns));
            found.map(|(_, content)| content.clone())
        })
    }

    fn of_table<T>(&self, table: &Table, ask: impl FnOnce(&[Counted]) -> T) -> T {
        self.known_of(table, |known| ask(&known.counted))
    }

    fn known_of<T>(&self, table: &Table, ask: impl FnOnce(&Known) -> T) -> T {
        let key = key_of(table);
        let mut known = self.known.borrow_mut();
        ask(known.entry(key).or_insert_with(|| self.usable(table)))
    }

    /// What there is of a table. The plan goes by these.
    fn usable(&self, table: &Table) -> Known {
        if self.aging.get() != Aging::Never {
            // Seen first: what changes while they are read is another premise.
            let seen = table.database().catalog.see_statistics_of(table.definition().object_id);
            self.premises.borrow_mut().statistics.push(seen);
        }
        let mut all = all_statistics(table.database(), table.definition(), self.session.id);
        all.retain(|known| {
            let is_as_counted = leading_of(table.definition(), &known.columns) == known.leading;
            known.content.is_some() && is_as_counted
        });
        let (filtered, of_all): (Vec<_>, Vec<_>) = all.into_iter().partition(|known| known.filter.is_some());
        let counted = of_all
            .into_iter()
            .filter_map(|known| Some((known.columns, known.content?)));
        let mut counted: Vec<_> = counted.collect();
        counted.extend(table.modifications().brief());
        Known {
            counted,
            filtered: filtered.into(),
        }
    }

    /// Provides statistics for the columns of a table, as far as possible.
    ///
    /// # Errors
    /// 3617 when the batch is to stop.
    pub(super) fn require(&self, table: &Table, columns: &[usize]) -> Result<()> {
        let (database, definition) = (table.database(), table.definition());
        let options = database.statistics_options();
        let all = all_statistics(database, definition, self.session.id);
        let level = database.boot().compatibility_level;
        let mut wanted: Vec<StatisticsDefinition> = Vec::new();
        for &column in columns {
            let of_column = all.iter().filter(|known| known.columns.first() == Some(&column));
            let (of_column, filtered): (Vec<_>, Vec<_>) = of_column.partition(|known| known.filter.is_none());
            wanted.extend(
                filtered
                    .into_iter()
                    .filter(|known| {
                        // Rows outside of the filter count, too: which rows were modified is not known.
                        let modified = table.modifications().since_counted(known);
                        let content = known.content.as_ref();
                        let most = content.map(|content| modified_rows_max(content.unfiltered_rows, level));
                        options.auto_update && !known.no_recompute && most.is_none_or(|most| modified > most)
                    })
                    .cloned(),
            );
            let best = of_column
                .into_iter()
                .max_by_key(|known| known.content.as_ref().map(|content| content.updated));
            match best {
                Some(known) => {
                    let modified = table.modifications().since_counted(known);
                    let most = known
                        .content
                        .as_ref()
                        .map(|content| modified_rows_max(content.rows, level));
                    let is_out_of_date = most.is_none_or(|most| modified > most);
                    if known.no_recompute {
                        continue;
                    }
                    if is_out_of_date && options.auto_update {
                        wanted.push(known.clone());
                    }
                    // What is counted now, or meanwhile by others, or cannot be counted, is asked about again after as many as if it had been.
                    let left = most.filter(|_| !is_out_of_date).map(|most| most - modified);
                    self.rely_on(table, Some(column), left);
                }
                None => {
                    let is_virtual = definition.columns.get(column).is_none_or(|column| column.is_virtual());
                    if options.auto_create && !is_virtual && !table.modifications().is_brief(column) {
                        wanted.push(own_statistics(database, table, column, wanted.len(), self.session.id));
                    }
                    self.rely_on(table, Some(column), None);
                }
            }
        }
        // Index statistics that were counted for the moment do not say so in the catalog.
        wanted.retain(|known| {
            known.filter.is_some() || known.columns.len() > 1 || !table.modifications().is_brief(known.columns[0])
        });
        let (later, wanted): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|known| options.auto_update_async && known.content.is_some());
        if !wanted.is_empty() {
            passed_over(table.database(), self.count(table, wanted))?;
        }
        self.leave(table, later);
        Ok(())
    }

    /// Has statistics counted again for plans to come; this one goes by those that there are.
    fn leave(&self, table: &Table, wanted: Vec<StatisticsDefinition>) {
        if wanted.is_empty() {
            return;
        }
        let key = key_of(table);
        let mut known = self.known.borrow_mut();
        known.entry(key).or_insert_with(|| self.usable(table));
        let (database, object) = (table.database().clone(), table.object().clone());
        let now = self.session.now_ticks();
        let name = {
            let database_id = database.id;
            move |known: &StatisticsDefinition| (database_id, known.object_id)
        };
        let names: Vec<WorkName> = wanted.iter().map(name).collect();
        // Other plans may have asked for some of them.
        let work = move |names: &[WorkName]| {
            let wanted = wanted.into_iter().filter(|known| names.contains(&name(known)));
            update_statistics_aside(&database, &object, wanted.collect(), (now.days, now.ticks));
        };
        self.session.instance.leave(names, work);
    }

    /// All rows of a table, if there are not more than so many; none too where they cannot be read.
    ///
    /// # Errors
    /// 3617 when the batch is to stop.
    pub(super) fn all_rows(&self, table: &Table, rows_max: usize) -> Result<Option<Vec<Vec<Value>>>> {
        let read = || {
            let mut rows = Vec::new();
            let mut scan = table.scan(&self.session.locks, ReadMode::Uncommitted)?;
            while scan.next_batch()? {
                cancel::spend(cancel::STEPS_PER_PAGE)?;
                for row in (0..scan.len()).filter_map(|place| scan.row(place)) {
                    let mut values = Vec::new();
                    table.layout().decode_into(row, &mut values)?;
                    rows.push(values);
                }
                if rows.len() > rows_max {
                    return Ok(None);
                }
            }
            Ok(Some(rows))
        };
        passed_over(table.database(), read())
    }

    fn count(&self, table: &Table, wanted: Vec<StatisticsDefinition>) -> Result<()> {
        let (database, locks) = (table.database(), &self.session.locks);
        let plans: Vec<CountPlan> = wanted.iter().map(StatisticsDefinition::plan).collect();
        let now = self.session.now_ticks();
        let counted = table.count_statistics(locks, &plans, Sampling::Usual, (now.days, now.ticks))?;
        let is_stored = table.counted_rows(locks)? >= STORED_ROWS_MIN
            && database.id > MSDB
            && !database.catalog.is_pending_for(table.object(), 0)
            && !database.is_standby()
            && !database.is_snapshot();
        let mut stored = Vec::new();
        for (statistics, content) in wanted.into_iter().zip(counted) {
            let Some(content) = content.map(Arc::new) else { continue };
            if !is_stored {
                if statistics.filter.is_some() {
                    continue;
                }
                table.modifications().keep_brief(statistics.columns, content);
                continue;
            }
            stored.push(StatisticsDefinition {
                leading: leading_of(table.definition(), &statistics.columns),
                content: Some(content),
                modified: 0,
                ..statistics
            });
        }
        let key = key_of(table);
        self.known.borrow_mut().remove(&key);
        database.store_own_statistics(stored)
    }
}

/// What statistics that the server makes of a column are called and numbered, the n-th of a table that are made together.
fn own_statistics(database: &Database, table: &Table, column: usize, n: usize, session: u16) -> StatisticsDefinition {
    let definition = table.definition();
    StatisticsDefinition {
        object_id: 0,
        table: definition.object_id,
        stats_id: next_stats_id(database, definition, session) + n as u32,
        name: format!("_WA_Sys_{:08X}_{:08X}", column + 1, definition.object_id),
        of_index: false,
        auto_created: true,
        no_recompute: false,
        leading: leading_of(definition, &[column]),
        columns: vec![column],
        content: None,
        modified: 0,
        filter: None,
    }
}

/// An error that only means that something stays unknown, unless the batch is to stop.
fn passed_over<T: Default>(database: &Database, outcome: Result<T>) -> Result<T> {
    match outcome {
        Err(error) if error.number == Error::cancelled().number => Err(error),
        other => Ok(tell_if_fatal(database, other)),
    }
}

#[cfg(test)]
mod tests {
    use super::modified_rows_max;

    #[test]
    fn statistics_are_out_of_date_by_the_documented_thresholds() {
        let table = [
            (100, 150, 500),
            (500, 100, 500),
            (10_000, 100, 2_500),
            (10_000, 130, 2_500),
            (1_000_000, 120, 200_500),
            (1_000_000, 130, 31_622),
        ];
        for (rows, level, most) in table {
            assert_eq!(modified_rows_max(rows, level), most, "{rows} rows at level {level}");
        }
    }
}
