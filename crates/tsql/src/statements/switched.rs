//! ALTER TABLE ... SWITCH: two tables exchange the storage of a partition, or of a whole table. No row moves. What the definitions and the
//! CHECK constraints do not make sure of is refused, as in SQL Server; and rows are read to see that each belongs to the target's partition,
//! since a constraint may compare otherwise than the partition function does.
//!
//! ```text
//! columns     of the same names, types, collations and nullability; computed ones by the same text
//! indexes     each of one table has its like in the other, one for one
//! target      without rows; its CHECK and foreign keys are the source's, too
//! filegroup   the same
//! range       of a source with partitions: within the target's
//!             of one without: what its trusted CHECK constraints, and NOT NULL, let into the target's partition
//! ```
//! Numbers, states and words are as the SqlServerSimulator project has probed them on SQL Server 2025.

use std::sync::Arc;

use engine::catalog::{CatalogObject, Partitioning, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::{Table, matching_indexes};
use engine::types::{KeyDirection, SqlType, Value};

use super::disabled_index::check_clustered_is_enabled;
use super::executor::Executor;
use super::versioning::full_name;
use crate::ast::{ComparisonOperator, Expression, ExpressionKind, SwitchPartition};
use crate::messages;
use crate::optimize::Optimizer;
use crate::scalar::convert::store;

/// A table of the statement, with the number of the partition, counted from 1, if it has partitions.
struct Side {
    object: Arc<CatalogObject>,
    table: TableDefinition,
    name: String,
    partition: Option<usize>,
}

impl Side {
    /// Its partition, counted from 0.
    fn number(&self) -> usize {
        self.partition.map_or(0, |number| number - 1)
    }

    fn filegroup(&self) -> u32 {
        match (&self.table.partitioning, self.partition) {
            (Some(partitioning), Some(number)) => partitioning
                .filegroups
                .get(number - 1)
                .map_or(0, |filegroup| u32::from(*filegroup)),
            _ => self.table.data_space,
        }
    }
}

/// What is known of the values of a column.
#[derive(Default)]
struct Bounds {
    /// A value, and whether it is one itself.
    low: Option<(Value, bool)>,
    high: Option<(Value, bool)>,
    is_not_null: bool,
}

impl Executor<'_> {
    /// Exchanges a partition of the source, whose lock is held, with one of the target.
    ///
    /// # Errors
    /// See the module.
    pub(super) fn switch_partition(
        &mut self,
        (database, object, definition): (&Arc<Database>, &Arc<CatalogObject>, &TableDefinition),
        switch: &SwitchPartition,
        line: u32,
    ) -> Result<()> {
        let (of_target, target, target_definition) = self.table_to_change(&switch.target)?;
        if !Arc::ptr_eq(database, &of_target) {
            return Err(messages::not_supported("SWITCH between databases"));
        }
        check_clustered_is_enabled(&target_definition)?;
        let (source_name, target_name) = (full_name(database, definition), full_name(database, &target_definition));
        let from = self.side_partition(definition, (&source_name, 1), switch.partition.as_ref(), line)?;
        let to = self.side_partition(
            &target_definition,
            (&target_name, 2),
            switch.target_partition.as_ref(),
            line,
        )?;
        let source = Side {
            object: object.clone(),
            table: definition.clone(),
            name: source_name,
            partition: from,
        };
        let target = Side {
            object: target,
            table: target_definition,
            name: target_name,
            partition: to,
        };
        if source.table.object_id == target.table.object_id {
            return Err(messages::switch_same_table(&source.name, &target.name));
        }
        check_tables(&source, &target)?;
        check_columns(&source, &target)?;
        check_indexes(&source, &target)?;
        check_filegroups(database, &source, &target)?;
        self.check_keys(database, &source, &target)?;
        self.check_ranges(&source, &target)?;
        let opened = Table::open(database, &target.object)?;
        if opened
            .partition(target.number())?
            .has_row(&self.session.locks, |_| Ok(true))?
        {
            return Err(match target.partition {
                Some(number) => messages::switch_into_partition_with_rows(number, &target.name),
                None => messages::switch_into_table_with_rows(&target.name),
            });
        }
        opened.check_filegroups()?;
        let rows = Table::open(database, &source.object)?;
        rows.check_filegroups()?;
        let is_outside = |values: &[Value]| Ok(opened.number_of(values)? != target.number());
        if opened.is_partitioned()
            && rows
                .partition(source.number())?
                .has_row(&self.session.locks, is_outside)?
        {
            return Err(messages::switch_rows_outside(&source.name, &target.name));
        }
        let mut engine = self.session.engine.borrow_mut();
        let parts = ((&source.object, source.number()), (&target.object, target.number()));
        engine.switch_partitions(database, parts.0, parts.1)
    }

    /// The partition that is named of a table.
    ///
    /// # Errors
    /// 4911 for a partitioned table without one, 4950 for one that is not there.
    fn side_partition(
        &mut self,
        table: &TableDefinition,
        (name, state): (&str, u8),
        written: Option<&Expression>,
        line: u32,
    ) -> Result<Option<usize>> {
        let number = written.map(|written| self.partition_number(written)).transpose()?;
        match (&table.partitioning, number) {
            (None, None) => Ok(None),
            (None, Some(number)) => {
                let text = format!(
                    "Warning: The specified partition {number} for the table '{name}' was ignored in ALTER TABLE SWITCH statement because the table is not partitioned."
                );
                self.inform(4903, 10, line, text).map(|()| None)
            }
            (Some(_), None) => Err(messages::switch_without_partition(name, state)),
            (Some(_), Some(number)) => {
                let count = table.partition_count();
                let found = usize::try_from(number)
                    .ok()
                    .filter(|number| (1..=count).contains(number));
                found
                    .map(Some)
                    .ok_or_else(|| messages::switch_no_partition(number, name))
            }
        }
    }

    /// Foreign keys and CHECK constraints.
    ///
    /// # Errors
    /// 4967, 4968, 4971.
    fn check_keys(&self, database: &Database, source: &Side, target: &Side) -> Result<()> {
        let id = source.table.object_id;
        for other in database.catalog.referencing(id, self.session.id) {
            let Some(table) = other.definition.table() else {
                continue;
            };
            if let Some(key) = table.foreign_keys.iter().find(|key| key.referenced_object == id) {
                return Err(messages::switch_referenced(&source.name, &key.name));
            }
        }
        for key in &target.table.foreign_keys {
            let is_like = |own: &&engine::catalog::ForeignKey| {
                own.referenced_object == key.referenced_object
                    && (&own.columns, &own.referenced_columns) == (&key.columns, &key.referenced_columns)
                    && !own.is_not_trusted
                    && !own.is_disabled
            };
            if !source.table.foreign_keys.iter().any(|own| is_like(&own)) {
                return Err(messages::switch_foreign_key(&target.name, &key.name, &source.name));
            }
        }
        for check in &target.table.checks {
            let mut own = source.table.checks.iter();
            let is_there = own.any(|own| own.text == check.text && !own.is_not_trusted && !own.is_disabled);
            if !is_there {
                return Err(messages::switch_check(&target.name, &check.name, &source.name));
            }
        }
        Ok(())
    }

    /// Whether every row of the source belongs to the target's partition, as far as constraints and functions say.
    ///
    /// # Errors
    /// 4973, 4982.
    fn check_ranges(&self, source: &Side, target: &Side) -> Result<()> {
        let (Some(to), Some(partitioning)) = (target.partition, &target.table.partitioning) else {
            return Ok(());
        };
        let column = target.table.columns.get(partitioning.column);
        let column = column.ok_or_else(|| Error::assertion("a partitioning column that is not there"))?;
        if let (Some(from), Some(own)) = (source.partition, &source.table.partitioning) {
            return match is_within((own, from), (partitioning, to)) {
                true => Ok(()),
                false => Err(messages::switch_range(from, &source.name, to, &target.name)),
            };
        }
        let mut bounds = Bounds {
            is_not_null: source
                .table
                .columns
                .get(partitioning.column)
                .is_some_and(|own| !own.nullable),
            ..Bounds::default()
        };
        for check in source
            .table
            .checks
            .iter()
            .filter(|check| !check.is_not_trusted && !check.is_disabled)
        {
            let condition = crate::parser::parse_condition(&check.text).map_err(messages::syntax)?;
            self.narrow(&mut bounds, &condition, (&source.table, partitioning.column))?;
        }
        let ranges = partitioning.ranges(column.sql_type, column.collation, KeyDirection::Ascending)?;
        let lowest = match (&bounds.low, bounds.is_not_null) {
            (_, false) => ranges.partition_of(&Value::Null),
            (None, true) => 0,
            (Some((value, true)), true) => ranges.partition_of(value),
            (Some((value, false)), true) => ranges.boundaries_below(value, true),
        };
        let highest = match &bounds.high {
            None => ranges.partition_count() - 1,
            Some((value, true)) => ranges.partition_of(value),
            Some((value, false)) => ranges.boundaries_below(value, false),
        };
        match lowest >= to - 1 && highest < to {
            true => Ok(()),
            false => Err(messages::switch_check_range(&source.name, to, &target.name)),
        }
    }

    /// Takes in what a condition says of a column, as far as it is a comparison with a constant.
    fn narrow(&self, bounds: &mut Bounds, condition: &Expression, column: (&TableDefinition, usize)) -> Result<()> {
        let is_it = |expression: &Expression| matches!(&expression.kind, ExpressionKind::Column(name) if name.parts.len() == 1 && column.0.column(name.object()) == Some(column.1));
        let own = column.0.columns.get(column.1);
        let own = own.ok_or_else(|| Error::assertion("a partitioning column that is not there"))?;
        match &condition.kind {
            ExpressionKind::And(parts) => parts.iter().try_for_each(|part| self.narrow(bounds, part, column)),
            ExpressionKind::IsNull { operand, negated: true } if is_it(operand) => {
                bounds.is_not_null = true;
                Ok(())
            }
            ExpressionKind::Between(between) if !between.negated && is_it(&between.operand) => {
                self.take_bound(bounds, (ComparisonOperator::GreaterOrEqual, &between.low), own.sql_type)?;
                self.take_bound(bounds, (ComparisonOperator::LessOrEqual, &between.high), own.sql_type)
            }
            ExpressionKind::Comparison { left, operator, right } if is_it(left) => {
                self.take_bound(bounds, (*operator, right), own.sql_type)
            }
            ExpressionKind::Comparison { left, operator, right } if is_it(right) => {
                self.take_bound(bounds, (turned(*operator), left), own.sql_type)
            }
            _ => Ok(()),
        }
    }

    fn take_bound(
        &self,
        bounds: &mut Bounds,
        (operator, constant): (ComparisonOperator, &Expression),
        sql_type: SqlType,
    ) -> Result<()> {
        // What is not constant says nothing, nor does one that the column's type does not hold as it is.
        let Some(value) = self.constant_of(constant, sql_type) else {
            return Ok(());
        };
        let key = |value: &Value| {
            let mut key = Vec::new();
            engine::types::encode_key_part(value, KeyDirection::Ascending, &mut key);
            key
        };
        let tighter_low =
            |known: &Option<(Value, bool)>| known.as_ref().is_none_or(|(known, _)| key(known) <= key(&value));
        let tighter_high =
            |known: &Option<(Value, bool)>| known.as_ref().is_none_or(|(known, _)| key(known) >= key(&value));
        let is_itself = !matches!(operator, ComparisonOperator::Less | ComparisonOperator::Greater);
        let (is_low, is_high) = match operator {
            ComparisonOperator::Equal => (true, true),
            ComparisonOperator::Greater | ComparisonOperator::GreaterOrEqual => (true, false),
            ComparisonOperator::Less | ComparisonOperator::LessOrEqual => (false, true),
            ComparisonOperator::NotEqual => (false, false),
        };
        if is_low && tighter_low(&bounds.low) {
            bounds.low = Some((value.clone(), is_itself));
        }
        if is_high && tighter_high(&bounds.high) {
            bounds.high = Some((value, is_itself));
        }
        Ok(())
    }

    /// A constant as a value of a type, if it is one and the type holds it.
    fn constant_of(&self, expression: &Expression, sql_type: SqlType) -> Option<Value> {
        let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let mut bound = binder.scalar(expression).ok()?;
        Optimizer::new(self.session).expression(&mut bound).ok()?;
        let value = crate::exec::evaluate(&bound, &[], &self.context()).ok()?.into_owned();
        if value.is_null() || sql_type.is_character() != bound.sql_type.is_character() {
            // NULL bounds nothing, and a number and a text are not compared as the column's values are.
            return None;
        }
        let stored = store(&value, bound.sql_type, sql_type, "", "").ok()?;
        // A constant between two values of the type would be another one.
        let back = store(&stored, sql_type, bound.sql_type, "", "").ok()?;
        (back == value).then_some(stored)
    }
}

fn turned(operator: ComparisonOperator) -> ComparisonOperator {
    match operator {
        ComparisonOperator::Less => ComparisonOperator::Greater,
        ComparisonOperator::LessOrEqual => ComparisonOperator::GreaterOrEqual,
        ComparisonOperator::Greater => ComparisonOperator::Less,
        ComparisonOperator::GreaterOrEqual => ComparisonOperator::LessOrEqual,
        same @ (ComparisonOperator::Equal | ComparisonOperator::NotEqual) => same,
    }
}

/// Whether one partition's range is within another's: the same boundaries on both sides, of the same kind.
fn is_within((own, from): (&Partitioning, usize), (other, to): (&Partitioning, usize)) -> bool {
    let sides = |partitioning: &Partitioning, number: usize| {
        let low = number
            .checked_sub(2)
            .and_then(|place| partitioning.boundaries.get(place).cloned());
        (low, partitioning.boundaries.get(number - 1).cloned())
    };
    own.column == other.column
        && (own.is_right == other.is_right || own.boundaries.is_empty())
        && sides(own, from) == sides(other, to)
}

/// What a SWITCH is not for.
fn check_tables(source: &Side, target: &Side) -> Result<()> {
    for side in [source, target] {
        if side.table.versioning.is_some() || side.table.history_of.is_some() || side.table.period().is_some() {
            return Err(messages::not_supported("SWITCH of a temporal table"));
        }
        if !side.table.indexed_views.is_empty() {
            return Err(messages::not_supported("SWITCH of a table with indexed views"));
        }
        if !side.table.disabled_indexes.is_empty() {
            return Err(messages::not_supported("SWITCH of a table with disabled indexes"));
        }
        // TRUNCATE and rebuilds note where large values stay, beside the rows as well.
        if side
            .table
            .text_space
            .is_some_and(|space| space != side.table.data_space)
        {
            return Err(messages::not_supported("SWITCH of a table with TEXTIMAGE_ON"));
        }
    }
    Ok(())
}

fn check_columns(source: &Side, target: &Side) -> Result<()> {
    let (own, others) = (&source.table.columns, &target.table.columns);
    if own.len() != others.len() {
        return Err(messages::switch_column_count(
            &source.name,
            own.len(),
            &target.name,
            others.len(),
        ));
    }
    for (place, (one, other)) in own.iter().zip(others).enumerate() {
        let (name, from, to) = (&one.name, &source.name, &target.name);
        if name.to_lowercase() != other.name.to_lowercase() {
            return Err(messages::switch_column_name(name, place + 1, from, &other.name, to));
        }
        if one.sql_type != other.sql_type || one.alias_type != other.alias_type {
            let types = (one.sql_type.to_string(), other.sql_type.to_string());
            return Err(messages::switch_column_type(name, &types.0, from, &types.1, to));
        }
        if one.collation != other.collation {
            return Err(messages::switch_column_collation(name, from, to));
        }
        if one.nullable != other.nullable {
            return Err(messages::switch_column_nullability(name, from, to));
        }
        if one.computed != other.computed {
            let text = |column: &engine::catalog::ColumnDefinition| {
                column
                    .computed
                    .as_ref()
                    .map_or(String::new(), |computed| computed.text.clone())
            };
            return Err(messages::switch_computed_column(
                name,
                &text(one),
                from,
                to,
                &text(other),
            ));
        }
    }
    Ok(())
}

fn check_indexes(source: &Side, target: &Side) -> Result<()> {
    match (source.table.clustered(), target.table.clustered()) {
        (Some(index), None) => {
            return Err(messages::switch_clustered(&source.name, &index.name, &target.name, 1));
        }
        (None, Some(index)) => {
            return Err(messages::switch_clustered(&target.name, &index.name, &source.name, 2));
        }
        _ => {}
    }
    if let Err(lacking) = matching_indexes(&source.table, &target.table) {
        let name = target.table.indexes.get(lacking).map_or("", |index| &index.name);
        return Err(messages::switch_index(&source.name, name, &target.name));
    }
    match source.table.indexes.len() != target.table.indexes.len() {
        true => Err(messages::not_supported(
            "SWITCH of a table with an index that the target does not have",
        )),
        false => Ok(()),
    }
}

fn check_filegroups(database: &Database, source: &Side, target: &Side) -> Result<()> {
    let (own, other) = (source.filegroup(), target.filegroup());
    let indexes = |side: &Side| -> Vec<u32> {
        let spaces = side.table.indexes.iter().map(|index| index.data_space);
        spaces.filter(|_| side.partition.is_none()).collect()
    };
    let is_together = |side: &Side, filegroup: u32| indexes(side).iter().all(|space| *space == filegroup);
    if own == other && is_together(source, own) && is_together(target, other) {
        return Ok(());
    }
    let name = |filegroup: u32| {
        let filegroup = u16::try_from(filegroup).unwrap_or(engine::buffer::PRIMARY_FILEGROUP);
        database.storage.files.filegroup_name(filegroup)
    };
    let (from, to) = (name(own), name(other));
    Err(match (source.partition, target.partition) {
        (Some(number), Some(other)) => {
            messages::switch_partition_filegroups(number, &source.name, &from, other, &target.name, &to)
        }
        (None, Some(number)) => messages::switch_table_filegroup(&source.name, &from, number, &target.name, &to),
        (Some(number), None) => messages::switch_table_filegroup(&target.name, &to, number, &source.name, &from),
        (None, None) => messages::switch_table_filegroups(&source.name, &from, &target.name, &to),
    })
}
