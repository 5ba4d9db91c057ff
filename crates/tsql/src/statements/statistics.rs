//! CREATE, UPDATE and DROP STATISTICS (SQL Server docs, the statements' own pages), and the effects of other statements on statistics.

use std::sync::Arc;

use engine::catalog::{StatisticsDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::{CountPlan, Sampling, Table, all_statistics, leading_of, next_stats_id};

use super::executor::Executor;
use super::table_definition::refuse_json_key;
use crate::ast::{CreateStatistics, Expression, ExpressionKind, Literal, Name, OptionValue, UpdateStatistics};
use crate::messages;
use crate::plan_cache::PlanCache;

/// What WITH asks for.
struct Asked {
    sampling: Option<Sampling>,
    no_recompute: bool,
    /// RESAMPLE: as they were counted last.
    resample: bool,
    of_columns: bool,
    of_indexes: bool,
    /// ROWCOUNT and PAGECOUNT: what the optimizer is to believe of the table.
    believed: Believed,
}

/// How large a table is to be taken for.
#[derive(Clone, Copy, Default)]
struct Believed {
    rows: Option<u64>,
    pages: Option<u64>,
}

impl Asked {
    fn new(statement: &str, options: &[OptionValue]) -> Result<Asked> {
        let mut asked = Asked {
            sampling: None,
            no_recompute: false,
            resample: false,
            of_columns: true,
            of_indexes: true,
            believed: Believed::default(),
        };
        let mut how: Option<&str> = None;
        for option in options {
            let is_how = ["FULLSCAN", "SAMPLE", "RESAMPLE"].contains(&option.name.as_str());
            if let (true, Some(other)) = (is_how, how) {
                return Err(messages::conflicting_options(statement, other, &option.name));
            }
            how = how.or(is_how.then_some(option.name.as_str()));
            match option.name.as_str() {
                "FULLSCAN" => asked.sampling = Some(Sampling::Full),
                "SAMPLE" => asked.sampling = Some(sample(option)?),
                "RESAMPLE" => asked.resample = true,
                "NORECOMPUTE" => asked.no_recompute = true,
                "COLUMNS" => asked.of_indexes = false,
                "INDEX" => asked.of_columns = false,
                "ROWCOUNT" => asked.believed.rows = Some(count_of(option)?),
                "PAGECOUNT" => asked.believed.pages = Some(count_of(option)?),
                // What the grammar admits beside these says what is so here anyway.
                _ => {}
            }
        }
        match how {
            Some(how) if asked.believed.is_any() => {
                Err(messages::conflicting_options(statement, how, "ROWCOUNT or PAGECOUNT"))
            }
            _ => Ok(asked),
        }
    }

    /// How statistics that were counted before, or never, are to be counted.
    fn sampling(&self, before: &StatisticsDefinition) -> Sampling {
        match (self.sampling, &before.content) {
            (Some(sampling), _) => sampling,
            (None, Some(content)) if self.resample && content.rows > 0 => {
                Sampling::Percent(100.0 * content.rows_sampled as f64 / content.rows as f64)
            }
            _ => Sampling::Usual,
        }
    }
}

impl Believed {
    fn is_any(self) -> bool {
        self.rows.is_some() || self.pages.is_some()
    }
}

/// The value of ROWCOUNT or PAGECOUNT: a whole number within bigint.
fn count_of(option: &OptionValue) -> Result<u64> {
    let number = match option.value.as_ref().map(|Expression { kind, .. }| kind) {
        Some(ExpressionKind::Literal(Literal::Integer(number))) => i64::from(*number),
        Some(ExpressionKind::Literal(Literal::Decimal(number))) if number.scale == 0 => {
            i64::try_from(number.unscaled).unwrap_or(-1)
        }
        _ => -1,
    };
    u64::try_from(number).map_err(|_| messages::incorrect_syntax_near(&option.name))
}

/// SAMPLE n PERCENT | ROWS.
fn sample(option: &OptionValue) -> Result<Sampling> {
    let number = match option.value.as_ref().map(|Expression { kind, .. }| kind) {
        Some(ExpressionKind::Literal(Literal::Integer(number))) => f64::from(*number),
        _ => -1.0,
    };
    let is_percent = option.arguments.iter().any(|unit| unit.name == "PERCENT");
    match is_percent {
        true if (0.0..=100.0).contains(&number) => Ok(Sampling::Percent(number)),
        false if number >= 0.0 => Ok(Sampling::Rows(number as u64)),
        _ => Err(messages::incorrect_syntax_near("SAMPLE")),
    }
}

impl Executor<'_> {
    /// A table whose statistics are about to be changed: its definition is held, and its statistics are locked.
    fn table_of_statistics(&self, name: &Name) -> Result<(Arc<Database>, Table)> {
        let (database, object, _) = self.find_indexed(name)?;
        let engine = self.session.engine.borrow();
        engine.lock_statistics(&database, object.definition.object_id())?;
        match database.catalog.is_current(&object, self.session.id) {
            true => Ok((database.clone(), Table::open(&database, &object)?)),
            false => Err(Error::definition_changed(name.object())),
        }
    }

    /// Has rows have the computed columns that statistics are to be of.
    ///
    /// # Errors
    /// 2729, 2799; those of computing.
    fn store_columns_of_statistics(&mut self, create: &CreateStatistics) -> Result<()> {
        let (database, object, definition) = self.find_indexed(&create.table)?;
        let columns = create
            .columns
            .iter()
            .filter_map(|column| definition.column(&column.text));
        let columns: Vec<usize> = columns
            .filter(|place| definition.columns[*place].computed.is_some())
            .collect();
        match columns.is_empty() {
            true => Ok(()),
            false => self.store_columns(&database, &object, &definition, (&columns, &create.name.text)),
        }
    }

    pub(super) fn create_statistics(&mut self, create: &CreateStatistics) -> Result<()> {
        let asked = Asked::new("CREATE STATISTICS", &create.options)?;
        self.store_columns_of_statistics(create)?;
        let (database, table) = self.table_of_statistics(&create.table)?;
        let definition = table.definition();
        let mut known = all_statistics(&database, definition, self.session.id).into_iter();
        if known.any(|other| create.name.is(&other.name)) {
            return Err(messages::statistics_exist(&create.table.to_string(), &create.name.text));
        }
        let mut columns = Vec::new();
        for column in &create.columns {
            let ordinal = definition.column(&column.text);
            let ordinal = ordinal.ok_or_else(|| messages::column_not_in_target(&column.text))?;
            if columns.contains(&ordinal) {
                return Err(messages::duplicate_column_of("statistics", &column.text));
            }
            refuse_json_key(definition, &column.text)?;
            // "CLR user-defined type columns can be specified if the type supports binary ordering" (sql-docs, "CREATE STATISTICS").
            if definition.columns[ordinal].sql_type.is_spatial() {
                return Err(messages::invalid_key_or_statistics_type(&column.text, &definition.name));
            }
            columns.push(ordinal);
        }
        let names = (create.name.text.as_str(), create.table.to_string());
        let filter = create.filter.as_ref();
        let filter = filter.map(|filter| self.statistics_filter(definition, (names.0, &names.1), filter));
        let statistics = StatisticsDefinition {
            object_id: 0,
            table: definition.object_id,
            stats_id: next_stats_id(&database, definition, self.session.id),
            name: create.name.text.clone(),
            of_index: false,
            auto_created: false,
            no_recompute: asked.no_recompute,
            leading: leading_of(definition, &columns),
            columns,
            content: None,
            modified: 0,
            filter: filter.transpose()?.map(Box::new),
        };
        let sampling = asked.sampling(&statistics);
        self.count_and_keep(&database, &table, vec![(statistics, sampling)])
    }

    pub(super) fn update_statistics(&mut self, update: &UpdateStatistics) -> Result<()> {
        let asked = Asked::new("UPDATE STATISTICS", &update.options)?;
        let (database, table) = self.table_of_statistics(&update.table)?;
        if asked.believed.is_any() {
            // Nothing is counted: plans that went by other figures are made anew.
            table.believe(asked.believed.rows, asked.believed.pages)?;
            PlanCache::of(&self.session.instance).remove(|plan| plan.database_id() == database.id);
            return Ok(());
        }
        let mut all = all_statistics(&database, table.definition(), self.session.id);
        if let Some(name) = update
            .names
            .iter()
            .find(|name| !all.iter().any(|known| name.is(&known.name)))
        {
            return Err(messages::no_such_statistics(&name.text));
        }
        all.retain(|known| {
            let is_named = update.names.is_empty() || update.names.iter().any(|name| name.is(&known.name));
            let is_kind = if known.of_index {
                asked.of_indexes
            } else {
                asked.of_columns
            };
            is_named && is_kind
        });
        let wanted = all.into_iter().map(|statistics| {
            let sampling = asked.sampling(&statistics);
            let statistics = StatisticsDefinition {
                no_recompute: asked.no_recompute,
                modified: 0,
                ..statistics
            };
            (statistics, sampling)
        });
        self.count_and_keep(&database, &table, wanted.collect())
    }

    /// Counts statistics, those of one sampling in one pass over the table, and keeps them.
    fn count_and_keep(
        &mut self,
        database: &Arc<Database>,
        table: &Table,
        mut wanted: Vec<(StatisticsDefinition, Sampling)>,
    ) -> Result<()> {
        let now = self.session.now_ticks();
        while let Some(sampling) = wanted.first().map(|first| first.1) {
            let (same, others): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|one| one.1 == sampling);
            wanted = others;
            let plans: Vec<CountPlan> = same.iter().map(|(statistics, _)| statistics.plan()).collect();
            let counted = table.count_statistics(&self.session.locks, &plans, sampling, (now.days, now.ticks))?;
            for ((statistics, _), content) in same.into_iter().zip(counted) {
                let statistics = StatisticsDefinition {
                    content: content.map(Arc::new),
                    leading: leading_of(table.definition(), &statistics.columns),
                    ..statistics
                };
                self.session.engine.borrow_mut().keep_statistics(database, statistics)?;
            }
        }
        Ok(())
    }

    /// DROP STATISTICS of one `table.name`.
    pub(super) fn drop_statistics(&mut self, name: &Name) -> Result<()> {
        let mut table = name.clone();
        let own = table.parts.pop().map(|own| own.text).unwrap_or_default();
        let missing = || messages::cannot_drop("statistics", &name.to_string());
        if self.session.find_object(&table)?.is_none() {
            return Err(missing());
        }
        let (database, table) = self.table_of_statistics(&table)?;
        let definition = table.definition();
        let known = all_statistics(&database, definition, self.session.id);
        let found = known.iter().find(|known| known.name.eq_ignore_ascii_case(&own));
        match found.ok_or_else(missing)? {
            index if index.of_index => Err(messages::statistics_of_index(&name.to_string())),
            found => {
                let mut engine = self.session.engine.borrow_mut();
                engine.drop_statistics(&database, definition.object_id, |known| {
                    known.stats_id == found.stats_id
                })
            }
        }
    }

    /// Prepares statistics for a column that goes, or gets another type: those that the server made go with it.
    ///
    /// # Errors
    /// 5074 when a user's depend on it.
    pub(super) fn release_statistics(
        &mut self,
        database: &Arc<Database>,
        table: &TableDefinition,
        ordinal: usize,
    ) -> Result<()> {
        let kept = database.catalog.statistics_of(table.object_id, self.session.id);
        let mut kept = kept.iter().filter_map(|object| object.statistics());
        let is_in = |known: &StatisticsDefinition| {
            let filter = known.filter.as_deref();
            known.columns.contains(&ordinal) || filter.is_some_and(|filter| filter.reads(ordinal))
        };
        if let Some(of_user) = kept.find(|known| is_in(known) && !known.auto_created && !known.of_index) {
            let column = &table.columns[ordinal].name;
            return Err(messages::statistics_depend_on_column(&of_user.name, column));
        }
        let mut engine = self.session.engine.borrow_mut();
        engine.drop_statistics(database, table.object_id, |known| known.auto_created && is_in(known))
    }

    /// Columns behind a dropped one move up: what statistics say of them follows.
    pub(super) fn shift_statistics(
        &mut self,
        database: &Arc<Database>,
        table: u32,
        shift: &dyn Fn(&mut usize),
    ) -> Result<()> {
        for object in database.catalog.statistics_of(table, self.session.id) {
            let Some(statistics) = object.statistics() else {
                continue;
            };
            let mut shifted = statistics.clone();
            shifted.columns.iter_mut().for_each(shift);
            let terms = shifted.filter.iter_mut().flat_map(|filter| &mut filter.terms);
            terms.for_each(|term| shift(&mut term.column));
            if shifted != *statistics {
                self.session.engine.borrow_mut().keep_statistics(database, shifted)?;
            }
        }
        Ok(())
    }

    /// Whether the statistics of an index, or of all of a table's, are from now on left as they are when they are out of date: what
    /// STATISTICS_NORECOMPUTE of an index that was made says. Without it they are not (SQL Server docs, "CREATE INDEX").
    pub(super) fn set_no_recompute(
        &mut self,
        database: &Arc<Database>,
        table: u32,
        index_name: Option<&str>,
        options: &[OptionValue],
    ) -> Result<()> {
        let is_said = |option: &OptionValue| {
            option.name == "STATISTICS_NORECOMPUTE" && option.word().is_some_and(|word| word == "ON")
        };
        let no_recompute = options.iter().any(is_said);
        let Some(object) = database.catalog.by_id(table, self.session.id) else {
            return Ok(());
        };
        let Some(definition) = object.definition.table() else {
            return Ok(());
        };
        let is_it = |name: &str| index_name.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name));
        for known in all_statistics(database, definition, self.session.id) {
            if known.of_index && is_it(&known.name) && known.no_recompute != no_recompute {
                let changed = StatisticsDefinition { no_recompute, ..known };
                self.session.engine.borrow_mut().keep_statistics(database, changed)?;
            }
        }
        Ok(())
    }

    /// Counts the statistics of an index that was just made, or of all of a table's.
    pub(super) fn count_index(&mut self, database: &Arc<Database>, table: u32, index_name: Option<&str>) -> Result<()> {
        let now = self.session.now_ticks();
        let Some(object) = database.catalog.by_id(table, self.session.id) else {
            return Ok(());
        };
        let Some(definition) = object.definition.table() else {
            return Ok(());
        };
        let is_it = |name: &str| index_name.is_none_or(|wanted| wanted.eq_ignore_ascii_case(name));
        let made: Vec<u32> = definition
            .indexes
            .iter()
            .filter(|index| is_it(&index.name))
            .map(|index| index.index_id)
            .collect();
        for index_id in made {
            let mut engine = self.session.engine.borrow_mut();
            engine.count_index_statistics(database, &object, Some(index_id), (now.days, now.ticks))?;
        }
        Ok(())
    }
}
