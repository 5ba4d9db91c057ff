//! SYSTEM_VERSIONING: how a table gets a period and a history table, and what may not be done to the two.
//!
//! ```text
//! statement                          temporal table                    its history table
//! CREATE TABLE, SET (... = ON)       versioning                        made, or checked (13511 to 13583)
//! SET (... = OFF)                    an ordinary table with a period   an ordinary table
//! ADD, ALTER COLUMN, DROP COLUMN     done                              done as well; 13548 to 13551 for itself
//! ADD, DROP PERIOD                   13592, 13597                      13598
//! TRUNCATE, DROP TABLE               13545, 13552                      13545, 13552
//! keys, CHECK, foreign keys          the primary key stays (13557)     13558, 13564, 13565, 13583, 13741
//! ```
//! (sql-docs, "Temporal table considerations and limitations", "CREATE TABLE", "ALTER TABLE".) A history table that is made has the columns of
//! its temporal table without identity, defaults, computations and keys, and a clustered index over the end and the start of the period.

use std::sync::Arc;

use engine::catalog::{
    Bindings, CatalogObject, ColumnDefinition, GeneratedColumn, IndexDefinition, IndexOptions, NamedText,
    ObjectDefinition, PeriodEnd, Retention, RetentionUnit, StorageRoot, SystemVersioning, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::TEMPDB;
use engine::types::{COLLATION_VERSION, SqlType};

use super::executor::Executor;
use super::table_definition::Made;
use crate::ast::{
    ConstraintKind, ExpressionKind, Identifier, Literal, Name, OptionValue, Period, TableConstraint, UnaryOperator,
};
use crate::messages;

/// The bytes of a row version, as history keeps them.
const ROW_VERSION_BYTES: u16 = 8;

/// The longest retention, in any unit.
const RETENTION_MAX: u32 = i32::MAX as u32;

/// What SYSTEM_VERSIONING = ON asks for.
pub(super) struct Versioning {
    /// HISTORY_TABLE.
    history: Option<Name>,
    /// DATA_CONSISTENCY_CHECK.
    checks: bool,
    /// HISTORY_RETENTION_PERIOD: `None` where it is not written, `Some(None)` for INFINITE.
    retention: Option<Option<Retention>>,
}

/// SYSTEM_VERSIONING among the options of a statement: `Some(None)` for OFF.
///
/// # Errors
/// 13743 for a retention of nothing; 13744 for a unit that there is not.
pub(super) fn versioning_of(options: &[OptionValue]) -> Result<Option<Option<Versioning>>> {
    let mut options = options.iter();
    let Some(option) = options.find(|option| option.name == "SYSTEM_VERSIONING") else {
        return Ok(None);
    };
    if option.word().as_deref() == Some("OFF") {
        return Ok(Some(None));
    }
    let mut versioning = Versioning {
        history: None,
        checks: true,
        retention: None,
    };
    for one in &option.arguments {
        match one.name.as_str() {
            "HISTORY_TABLE" => {
                if let Some(ExpressionKind::Column(name)) = one.value.as_ref().map(|value| &value.kind) {
                    versioning.history = Some(name.clone());
                }
            }
            "HISTORY_RETENTION_PERIOD" => versioning.retention = Some(retention_of(one)?),
            _ => versioning.checks = one.word().as_deref() != Some("OFF"),
        }
    }
    Ok(Some(Some(versioning)))
}

/// HISTORY_RETENTION_PERIOD: a number and its unit, or INFINITE.
fn retention_of(option: &OptionValue) -> Result<Option<Retention>> {
    let Some(unit) = option.arguments.first() else {
        return Ok(None);
    };
    let unit = match unit.name.as_str() {
        "DAY" | "DAYS" => RetentionUnit::Day,
        "WEEK" | "WEEKS" => RetentionUnit::Week,
        "MONTH" | "MONTHS" => RetentionUnit::Month,
        "YEAR" | "YEARS" => RetentionUnit::Year,
        other => return Err(messages::retention_unit(other)),
    };
    let number = |literal: &ExpressionKind| match literal {
        ExpressionKind::Literal(Literal::Integer(number)) => Some(i64::from(*number)),
        _ => None,
    };
    let count = match option.value.as_ref().map(|value| &value.kind) {
        Some(ExpressionKind::Unary {
            operator: UnaryOperator::Minus,
            operand,
        }) => number(&operand.kind).map(|number| -number),
        Some(other) => number(other),
        None => None,
    };
    let count = count.unwrap_or_default();
    match u32::try_from(count) {
        Ok(count @ 1..=RETENTION_MAX) => Ok(Some(Retention { count, unit })),
        _ => Err(messages::retention_count(count)),
    }
}

/// `database.schema.table`
pub(super) fn full_name(database: &Database, table: &TableDefinition) -> String {
    format!("{}.{}.{}", database.name(), table.schema, table.name)
}

/// The same with brackets, for T-SQL.
fn quoted(database: &Database, table: &TableDefinition) -> String {
    let parts = [database.name(), table.schema.clone(), table.name.clone()];
    parts.map(|part| bracketed(&part)).join(".")
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A name that finds a table whatever the current database is.
pub(super) fn name_of(database: &Database, table: &TableDefinition) -> Name {
    name_in(database, &table.schema, &table.name)
}

fn name_in(database: &Database, schema: &str, name: &str) -> Name {
    let part = |text: &str| Identifier {
        text: text.to_owned(),
        quoted: true,
    };
    Name {
        parts: vec![part(&database.name()), part(schema), part(name)],
    }
}

/// A column as a history table has it.
pub(super) fn history_column(column: &ColumnDefinition) -> ColumnDefinition {
    let sql_type = match column.sql_type {
        SqlType::RowVersion => SqlType::Binary(ROW_VERSION_BYTES),
        other => other,
    };
    ColumnDefinition {
        sql_type,
        identity: None,
        default: None,
        is_row_guid: false,
        computed: None,
        generated: None,
        mask: None,
        bound: Bindings::default(),
        ..column.clone()
    }
}

/// The history table that is made for a temporal one.
fn history_definition(table: &TableDefinition, (start, end): (usize, usize), name: &str) -> TableDefinition {
    let index = IndexDefinition {
        index_id: 1,
        name: format!("ix_{name}"),
        keys: vec![(end, false), (start, false)],
        included: Vec::new(),
        carried: Vec::new(),
        unique: false,
        primary_key: false,
        unique_constraint: false,
        constraint_id: 0,
        is_system_named: false,
        collation_version: COLLATION_VERSION,
        filter: None,
        options: IndexOptions::default(),
        is_disabled: false,
        data_space: engine::catalog::PRIMARY_FILEGROUP,
        storage: StorageRoot {
            unit: 0,
            first_iam: (0, 0),
        },
        other_partitions: Vec::new(),
    };
    TableDefinition {
        object_id: 0,
        name: name.to_owned(),
        columns: table.columns.iter().map(history_column).collect(),
        heap: None,
        other_partitions: Vec::new(),
        partitioning: None,
        text_space: None,
        indexes: vec![index],
        disabled_indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        versioning: None,
        history_of: None,
        indexed_views: Vec::new(),
        ..table.clone()
    }
}

/// The columns of CREATE TABLE that are generated, against its PERIOD.
///
/// # Errors
/// 13501 to 13509, 13513, 13587.
pub(super) fn check_period<'p>(table: &TableDefinition, mut periods: impl Iterator<Item = &'p Period>) -> Result<()> {
    let ends = |wanted: PeriodEnd| {
        let is_it = move |column: &&ColumnDefinition| column.generated.is_some_and(|one| one.end == wanted);
        table.columns.iter().filter(is_it)
    };
    if ends(PeriodEnd::RowStart).count() > 1 {
        return Err(messages::several_row_starts());
    }
    if ends(PeriodEnd::RowEnd).count() > 1 {
        return Err(messages::several_row_ends());
    }
    let (start, end) = (ends(PeriodEnd::RowStart).next(), ends(PeriodEnd::RowEnd).next());
    let Some(period) = periods.next() else {
        return match start.or(end) {
            Some(_) => Err(messages::generated_without_period()),
            None => Ok(()),
        };
    };
    if periods.next().is_some() {
        return Err(messages::several_periods());
    }
    let start = start.ok_or_else(messages::row_start_missing)?;
    let end = end.ok_or_else(messages::row_end_missing)?;
    if !period.start.is(&start.name) {
        return Err(messages::row_start_named_otherwise());
    }
    if !period.end.is(&end.name) {
        return Err(messages::row_end_named_otherwise());
    }
    check_period_columns(start, end)
}

fn check_period_columns(start: &ColumnDefinition, end: &ColumnDefinition) -> Result<()> {
    for column in [start, end] {
        if !matches!(column.sql_type, SqlType::DateTime2 { .. }) || column.computed.is_some() {
            return Err(messages::period_type(&column.name));
        }
        if column.nullable {
            return Err(messages::period_column_nullable(&column.name));
        }
    }
    match start.sql_type == end.sql_type {
        true => Ok(()),
        false => Err(messages::period_precisions_differ()),
    }
}

/// Whether a table that is there can keep the history of another.
///
/// # Errors
/// 13515 to 13531, 13574, 13580.
fn check_history(table: &TableDefinition, own: &str, history: &TableDefinition, name: &str) -> Result<()> {
    let columns = || history.columns.iter();
    if columns().any(|column| column.generated.is_some()) {
        return Err(messages::history_has_period(name));
    }
    if history.every_index().any(|index| index.unique) {
        return Err(messages::history_has_unique_keys(name));
    }
    if !history.foreign_keys.is_empty() {
        return Err(messages::history_has_foreign_keys(name));
    }
    if !history.checks.is_empty() {
        return Err(messages::history_has_constraints(name));
    }
    if history.identity().is_some() {
        return Err(messages::history_has_identity(name));
    }
    if columns().any(|column| column.computed.is_some()) {
        return Err(messages::history_has_computed(name));
    }
    if !history.triggers.is_empty() {
        return Err(messages::history_has_triggers(name));
    }
    if columns().any(|column| column.is_row_guid) {
        return Err(messages::history_has_row_guid(name));
    }
    if table.columns.len() != history.columns.len() {
        let counts = (table.columns.len(), history.columns.len());
        return Err(messages::history_width(own, counts.0, name, counts.1));
    }
    for (place, (column, former)) in table.columns.iter().zip(&history.columns).enumerate() {
        check_history_column((column, former), place + 1, own, name)?;
    }
    Ok(())
}

fn check_history_column(
    (column, former): (&ColumnDefinition, &ColumnDefinition),
    ordinal: usize,
    own: &str,
    history: &str,
) -> Result<()> {
    let name = &former.name;
    if !name.eq_ignore_ascii_case(&column.name) {
        return Err(messages::history_column_name(name, ordinal, history, &column.name, own));
    }
    let wanted = history_column(column);
    if former.sql_type != wanted.sql_type || former.is_xml() != column.is_xml() {
        let types = (former.sql_type.to_string(), wanted.sql_type.to_string());
        return Err(messages::history_column_type(name, &types.0, history, &types.1, own));
    }
    if former.collation != column.collation {
        return Err(messages::history_column_collation(name, own, history));
    }
    if former.xml_collection() != column.xml_collection() {
        return Err(messages::history_column_collection(name, own, history));
    }
    match former.nullable == column.nullable {
        true => Ok(()),
        false if column.generated.is_some() => Err(messages::history_period_nullable(name, history, own)),
        false => Err(messages::history_column_nullability(name, own, history)),
    }
}

/// A constraint that a history table would get.
///
/// # Errors
/// 13558, 13564, 13565, 13583.
pub(super) fn check_constraint_of_history(
    database: &Database,
    table: &TableDefinition,
    constraint: &TableConstraint,
) -> Result<()> {
    if table.history_of.is_none() {
        return Ok(());
    }
    let name = full_name(database, table);
    let key_name = constraint.name.as_ref().map_or("", |name| name.text.as_str());
    match &constraint.kind {
        ConstraintKind::Key(key) if key.primary => Err(messages::primary_key_of_history(&name)),
        ConstraintKind::Key(_) => Err(messages::unique_key_of_history(&name)),
        ConstraintKind::Check { .. } => Err(messages::check_of_history(&name)),
        ConstraintKind::ForeignKey(_) => Err(messages::foreign_key_of_history(key_name)),
        ConstraintKind::Default { .. } => Ok(()),
    }
}

impl Executor<'_> {
    /// The history table of a table, locked against everybody else.
    pub(super) fn history_to_change(
        &self,
        database: &Arc<Database>,
        table: &TableDefinition,
    ) -> Result<Option<(Arc<CatalogObject>, TableDefinition)>> {
        let Some(versioning) = table.versioning else {
            return Ok(None);
        };
        let object = database.catalog.by_id(versioning.history, self.session.id);
        let object = object.ok_or_else(|| Error::assertion("a temporal table without its history"))?;
        self.session.engine.borrow().lock_definition(database, &object)?;
        match &object.definition {
            ObjectDefinition::Table(history) => Ok(Some((object.clone(), history.clone()))),
            _ => Err(Error::assertion("history in something other than a table")),
        }
    }

    /// SYSTEM_VERSIONING of CREATE TABLE and of ALTER TABLE SET.
    ///
    /// # Errors
    /// 13591 for OFF of a table without versioning; those of [`Executor::begin_versioning`].
    pub(super) fn set_versioning(&mut self, name: &Name, wanted: Option<Versioning>, line: u32) -> Result<()> {
        if let Some(wanted) = wanted {
            return self.begin_versioning(name, wanted, line);
        }
        let (database, object, mut table) = self.table_to_change(name)?;
        let Some((history_object, mut history)) = self.history_to_change(&database, &table)? else {
            return Err(messages::versioning_not_on(&full_name(&database, &table)));
        };
        table.versioning = None;
        history.history_of = None;
        self.replace_definition(&database, &object, table)?;
        self.replace_definition(&database, &history_object, history)
    }

    /// SYSTEM_VERSIONING = ON.
    ///
    /// # Errors
    /// 13510, 13553, 13568, 13774 for a table that cannot have history; 13757, 13596 for one that has; 13511 to 13583 for a history table that
    /// is there and does not fit; 13765; those of creating one.
    fn begin_versioning(&mut self, name: &Name, wanted: Versioning, line: u32) -> Result<()> {
        let (database, object, mut table) = self.table_to_change(name)?;
        let own = full_name(&database, &table);
        if table.versioning.is_some() {
            return self.change_versioning(&database, &object, table, &wanted);
        }
        if database.id == TEMPDB {
            return Err(messages::versioned_in_tempdb(&own));
        }
        let period = table.period().ok_or_else(messages::versioning_without_period)?;
        if !table.indexes.iter().any(|index| index.primary_key) {
            return Err(messages::versioned_without_key(&own));
        }
        if table.triggers.iter().any(|trigger| trigger.is_instead_of) {
            return Err(messages::versioned_has_instead_of(&own));
        }
        let history_name = match &wanted.history {
            Some(written) if written.parts.len() != 2 => {
                return Err(messages::history_not_two_parts(&written.to_string()));
            }
            Some(written) => name_in(&database, written.schema().unwrap_or_default(), written.object()),
            None => self.free_history_name(&database, &table)?,
        };
        let (history_object, mut history) = match self.session.find_object(&history_name)? {
            Some((_, found)) => self.fitting_history(&database, &table, &found)?,
            None => {
                let made = history_definition(&table, period, history_name.object());
                let schema = history_name.schema().unwrap_or_default().to_owned();
                let mut made = TableDefinition { schema, ..made };
                made.data_space = super::data_space::default_space(&database.entry());
                made.indexes
                    .iter_mut()
                    .for_each(|index| index.data_space = made.data_space);
                self.create_defined_table(&history_name, made, line)?;
                let (_, made, definition) = self.table_to_change(&history_name)?;
                (made, definition)
            }
        };
        if wanted.checks {
            self.check_consistency(&database, &table, &history)?;
        }
        let retention = wanted.retention.flatten();
        check_retention(&database, &table, &history, retention)?;
        table.versioning = Some(SystemVersioning {
            history: history.object_id,
            retention,
        });
        history.history_of = Some(table.object_id);
        self.replace_definition(&database, &object, table)?;
        self.replace_definition(&database, &history_object, history)
    }

    /// SYSTEM_VERSIONING = ON of a table that has it: another retention.
    fn change_versioning(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        mut table: TableDefinition,
        wanted: &Versioning,
    ) -> Result<()> {
        let own = full_name(database, &table);
        let history = self.history_to_change(database, &table)?;
        let (Some((_, history)), Some(versioning)) = (history, table.versioning) else {
            return Err(Error::assertion("a temporal table without its history"));
        };
        if let Some(written) = &wanted.history {
            let is_same = written.object().eq_ignore_ascii_case(&history.name)
                && written
                    .schema()
                    .unwrap_or_default()
                    .eq_ignore_ascii_case(&history.schema);
            if !is_same {
                return Err(messages::history_already_defined(&own));
            }
        }
        let Some(retention) = wanted.retention else {
            return Err(messages::versioning_already_on(&own));
        };
        check_retention(database, &table, &history, retention)?;
        table.versioning = Some(SystemVersioning {
            retention,
            ..versioning
        });
        self.replace_definition(database, object, table)
    }

    /// The name of a history table that has none: `MSSQL_TemporalHistoryFor_` and the table's id, with a suffix where that is taken (sql-docs,
    /// "Create a system-versioned temporal table").
    fn free_history_name(&self, database: &Database, table: &TableDefinition) -> Result<Name> {
        let stem = format!("MSSQL_TemporalHistoryFor_{}", table.object_id);
        let mut name = name_in(database, &table.schema, &stem);
        while self.session.find_object(&name)?.is_some() {
            let number = self.session.random.next_bits() as u32;
            name = name_in(database, &table.schema, &format!("{stem}_{number:08X}"));
        }
        Ok(name)
    }

    /// A table that is there, as the history of another.
    fn fitting_history(
        &self,
        database: &Arc<Database>,
        table: &TableDefinition,
        found: &Arc<CatalogObject>,
    ) -> Result<(Arc<CatalogObject>, TableDefinition)> {
        let ObjectDefinition::Table(history) = &found.definition else {
            let name = found.definition.qualified_name().map_or("", |(_, name)| name);
            return Err(messages::not_a_history_table(name));
        };
        let (own, name) = (full_name(database, table), full_name(database, history));
        if history.object_id == table.object_id {
            return Err(messages::not_a_history_table(&name));
        }
        if history.history_of.is_some() {
            return Err(messages::history_in_use(&name));
        }
        if history.versioning.is_some() {
            return Err(messages::temporal_in_use(&name));
        }
        // Former rows are written beside the stations that keep views right.
        if !history.indexed_views.is_empty() {
            return Err(crate::bind::not_supported("an indexed view over a history table"));
        }
        self.session.engine.borrow().lock_definition(database, found)?;
        let mut referencing = database
            .catalog
            .referencing(history.object_id, self.session.id)
            .into_iter();
        if referencing.next().is_some() {
            return Err(messages::history_has_foreign_keys(&name));
        }
        check_history(table, &own, history, &name)?;
        Ok((found.clone(), history.clone()))
    }

    /// DATA_CONSISTENCY_CHECK: "the data consistency check makes sure that existing records do not overlap" (sql-docs, ALTER TABLE).
    ///
    /// # Errors
    /// 13541, 13543, 13573.
    fn check_consistency(&self, database: &Database, table: &TableDefinition, history: &TableDefinition) -> Result<()> {
        let Some((start, end)) = table.period() else {
            return Ok(());
        };
        let name = full_name(database, history);
        let rows = quoted(database, history);
        let column = |place: usize| bracketed(&table.columns[place].name);
        let (start, end) = (column(start), column(end));
        if self.any_row(&format!("{rows} where {end} < {start}"))? {
            return Err(messages::history_ends_before_start(&name));
        }
        if self.any_row(&format!("{rows} where {end} > sysutcdatetime()"))? {
            return Err(messages::history_ends_in_future(&name));
        }
        let key = table.indexes.iter().find(|index| index.primary_key);
        let keys = key.map(|index| &index.keys).into_iter().flatten();
        let keys: Vec<String> = keys.map(|(place, _)| column(*place)).collect();
        let next = format!(
            "lead({start}) over (partition by {} order by {start}, {end})",
            keys.join(", ")
        );
        let pairs = format!("(select {end} as e, {next} as n from {rows}) as versions where n < e");
        match self.any_row(&pairs)? {
            true => Err(messages::history_overlaps(&name)),
            false => Ok(()),
        }
    }

    /// Whether there is a row of what stands behind FROM.
    fn any_row(&self, from: &str) -> Result<bool> {
        let text = format!("case when exists (select * from {from}) then 1 else 0 end");
        let found = self.stored_default(&text, SqlType::Int)?;
        Ok(found.as_i64() == Some(1))
    }

    /// PERIOD FOR SYSTEM_TIME of ALTER TABLE ADD: over columns that are there, or that the statement has added.
    ///
    /// # Errors
    /// 13501, 13508, 13513, 13587, 13597, 13598; 13542, 13575 for rows whose period is not open; 207 for a column that is not there.
    pub(super) fn add_period(&mut self, name: &Name, period: &Period) -> Result<()> {
        let (database, object, mut table) = self.find_table(name)?;
        let own = full_name(&database, &table);
        if table.history_of.is_some() {
            return Err(messages::period_of_history(&own));
        }
        let place = |column: &Identifier| {
            let place = table.column(&column.text);
            place.ok_or_else(|| messages::invalid_column_name(&column.text))
        };
        let (start, end) = (place(&period.start)?, place(&period.end)?);
        for (place, role) in [(start, PeriodEnd::RowStart), (end, PeriodEnd::RowEnd)] {
            let column = &mut table.columns[place];
            let is_hidden = column.is_hidden();
            if column.generated.is_some_and(|generated| generated.end != role) {
                return Err(match role {
                    PeriodEnd::RowStart => messages::row_start_named_otherwise(),
                    PeriodEnd::RowEnd => messages::row_end_named_otherwise(),
                });
            }
            column.generated = Some(GeneratedColumn { end: role, is_hidden });
        }
        check_period(&table, std::iter::once(period))?;
        let rows = quoted(&database, &table);
        let column = |place: usize| bracketed(&table.columns[place].name);
        let scale = table.columns[end].sql_type.scale();
        let last = match scale {
            0 => "9999-12-31 23:59:59".to_owned(),
            scale => format!("9999-12-31 23:59:59.{}", "9".repeat(usize::from(scale))),
        };
        let is_closed = format!("{rows} where {} <> convert(datetime2({scale}), '{last}')", column(end));
        if self.any_row(&is_closed)? {
            return Err(messages::period_end_not_max(&own));
        }
        if self.any_row(&format!("{rows} where {} > sysutcdatetime()", column(start)))? {
            return Err(messages::period_starts_in_future(&own));
        }
        self.replace_definition(&database, &object, table)
    }

    /// DROP PERIOD FOR SYSTEM_TIME: its columns stay as ordinary ones.
    ///
    /// # Errors
    /// 13592, 13593.
    pub(super) fn drop_period(&mut self, name: &Name) -> Result<()> {
        let (database, object, mut table) = self.find_table(name)?;
        let own = full_name(&database, &table);
        if table.versioning.is_some() {
            return Err(messages::period_of_versioned(&own));
        }
        if table.period().is_none() {
            return Err(messages::no_period(&own));
        }
        table.columns.iter_mut().for_each(|column| column.generated = None);
        self.replace_definition(&database, &object, table)
    }

    /// ALTER COLUMN ... ADD | DROP HIDDEN.
    ///
    /// # Errors
    /// 4924; 13735 for a column of no period.
    pub(super) fn hide_column(&mut self, name: &Name, column: &str, is_hidden: bool) -> Result<()> {
        let (database, object, mut table) = self.find_table(name)?;
        let place = table.column(column);
        let place = place.ok_or_else(|| messages::column_not_in_table(column, &table.name))?;
        match &mut table.columns[place].generated {
            Some(generated) => generated.is_hidden = is_hidden,
            None => return Err(messages::hidden_not_generated(column, &full_name(&database, &table))),
        }
        self.replace_definition(&database, &object, table)
    }

    /// 13766 for the clustered index by which aged rows are found.
    pub(super) fn check_retention_index(&self, database: &Database, history: &TableDefinition) -> Result<()> {
        let parent = history
            .history_of
            .and_then(|id| database.catalog.by_id(id, self.session.id));
        let parent = parent.as_ref().and_then(|object| match &object.definition {
            ObjectDefinition::Table(table) => table.versioning,
            _ => None,
        });
        match (parent.and_then(|versioning| versioning.retention), history.clustered()) {
            (Some(_), Some(index)) => Err(messages::retention_index_dropped(&index.name)),
            _ => Ok(()),
        }
    }

    /// Adds a column that a temporal table has got to its history table; rows that are there get what those of the table got.
    ///
    /// # Errors
    /// 40517 for an identity or rowversion column, whose values former rows never had; those of rewriting the table.
    pub(super) fn carry_column(
        &mut self,
        database: &Arc<Database>,
        table: &TableDefinition,
        added: &ColumnDefinition,
        fills: bool,
    ) -> Result<()> {
        let Some((object, mut history)) = self.history_to_change(database, table)? else {
            return Ok(());
        };
        if added.identity.is_some() || added.sql_type == SqlType::RowVersion {
            return Err(crate::bind::not_supported(
                "ADD of an identity or rowversion column to a temporal table",
            ));
        }
        let place = history.columns.len();
        history.columns.push(history_column(added));
        if !fills {
            return self.replace_definition(database, &object, history);
        }
        self.fill_history((database, &object), history, place, added.default.clone())
    }

    /// Gives the rows of history the default that those of the table got in one of its columns.
    ///
    /// # Errors
    /// Those of rewriting the table.
    pub(super) fn carry_default(
        &mut self,
        database: &Arc<Database>,
        table: &TableDefinition,
        place: usize,
    ) -> Result<()> {
        match self.history_to_change(database, table)? {
            Some((object, history)) => {
                let default = table.columns.get(place).and_then(|column| column.default.clone());
                self.fill_history((database, &object), history, place, default)
            }
            None => Ok(()),
        }
    }

    /// Writes a history table again with a default in a column, which the column has for as long as that takes, under a name of its own.
    fn fill_history(
        &mut self,
        (database, object): (&Arc<Database>, &Arc<CatalogObject>),
        mut history: TableDefinition,
        place: usize,
        default: Option<NamedText>,
    ) -> Result<()> {
        let moved = all_but(history.columns.len(), Some(place));
        let name = name_of(database, &history);
        let made = Made::OfColumn("DF", Some(&history.columns[place].name));
        let default_name = self.constraint_name(made, database, &history);
        history.columns[place].default = default.map(|default| NamedText {
            name: default_name,
            object_id: 0,
            ..default
        });
        self.rebuild(database, object, history, Some(&moved))?;
        let (database, object, mut history) = self.find_table(&name)?;
        history.columns[place].default = None;
        self.replace_definition(&database, &object, history)
    }
}

/// Where the columns of a table stay when it is written again and one of them gets its default.
pub(super) fn all_but(columns: usize, filled: Option<usize>) -> Vec<Option<usize>> {
    (0..columns)
        .map(|ordinal| Some(ordinal).filter(|ordinal| Some(*ordinal) != filled))
        .collect()
}

/// 13765 for a retention of history that has no index to find aged rows by.
fn check_retention(
    database: &Database,
    table: &TableDefinition,
    history: &TableDefinition,
    retention: Option<Retention>,
) -> Result<()> {
    let end = table.period_column(PeriodEnd::RowEnd);
    let clustered = history.clustered().and_then(|index| index.keys.first());
    match retention.is_none() || clustered.is_some_and(|(column, _)| Some(*column) == end) {
        true => Ok(()),
        false => Err(messages::retention_without_index(
            &full_name(database, table),
            &full_name(database, history),
        )),
    }
}
