//! INSERT BULK and the rows that follow it: what clients call bulk copy.
//!
//! ```text
//! INSERT BULK t (columns) WITH (...)   the table and its columns are looked up, and remembered for the next request
//! rows (BulkLoadBCP)                   every column as announced (4816), then row by row as in INSERT: one statement, one transaction
//! ```
//! Differences from INSERT (sql-docs, BULK INSERT and "bcp"; numbers and states of 4804, 4815 and 4816 as captured by mirek/msduck):
//!
//! ```text
//! identity column listed       its values are kept                            not listed: the next values
//! rowversion column listed     its values are ignored: rows get the next values, as always
//! NULL for a column            its default, if it has one                     KEEP_NULLS: NULL
//! CHECK, FOREIGN KEY           not checked, and not trusted afterwards        CHECK_CONSTRAINTS: checked
//! triggers                     do not fire                               FIRE_TRIGGERS: fire, for all rows at once
//! the table                    row locks, until pages are filled              TABLOCK: locked whole, pages are filled from the first row on
//! ORDER (columns)              of the clustered key: rows out of order 4819   of other columns or types: nothing depends on it
//! ```
//! ROWS_PER_BATCH and KILOBYTES_PER_BATCH are hints for a plan, which row-by-row inserts do not need.

use std::cell::RefCell;
use std::cmp::Ordering;

use engine::cancel;
use engine::catalog::TableDefinition;
use engine::error::{Error, Result};
use engine::types::{Collation, SqlType, Value, key_text};

use super::bulk::ROWS_BEFORE_FILL;
use super::executor::{Executor, Flow, Outcome};
use super::host::type_of;
use crate::ast::{Identifier, InsertBulk, Name, OptionValue};
use crate::bind::{Binder, BoundInsert};
use crate::context::Context;
use crate::messages;
use crate::modify::{Changed, Fill, Pipeline};
use crate::modules::UserTypes;
use crate::optimize::{Logical, Optimizer};
use crate::plan::Target;
use crate::prepared::PlanUses;
use crate::scalar::compare;
use crate::scalar::convert::convert;
use crate::sink::{ClientColumn, ClientRows, DoneKind};
use crate::state::BulkTarget;

impl Executor<'_> {
    /// INSERT BULK: what is wrong with the table or its columns is said before a row is sent.
    pub(super) fn insert_bulk(&mut self, bulk: &InsertBulk) -> Result<()> {
        let (database, object, definition) = self.find_bulk_table(&bulk.table, "INSERT BULK")?;
        let types = UserTypes::of(&database, self.session.id, self.session.version());
        let mut columns = Vec::with_capacity(bulk.columns.len());
        for (place, column) in bulk.columns.iter().enumerate() {
            let Some(data_type) = &column.data_type else {
                return Err(messages::incorrect_syntax_near(&column.name.text));
            };
            columns.push((column.name.clone(), types.scalar(data_type, place + 1)?.0));
        }
        if columns.is_empty() {
            let own = definition.columns.iter().filter(|column| {
                column.identity.is_none() && column.sql_type != SqlType::RowVersion && column.generated.is_none()
            });
            columns.extend(own.map(|column| (Identifier::new(&column.name), column.sql_type)));
        }
        let has = |name: &str| bulk.options.iter().any(|option| option.name == name);
        let target = BulkTarget {
            table: bulk.table.clone(),
            object_id: object,
            checks_constraints: has("CHECK_CONSTRAINTS"),
            keeps_nulls: has("KEEP_NULLS"),
            locks_table: has("TABLOCK"),
            fires_triggers: has("FIRE_TRIGGERS"),
            order: order_of(&bulk.options, &definition)?,
            columns,
        };
        self.bound_bulk(&target)?;
        self.session.announce_bulk(target);
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn find_bulk_table(
        &self,
        table: &Name,
        statement: &str,
    ) -> Result<(std::sync::Arc<engine::database::Database>, u32, TableDefinition)> {
        let missing = || messages::invalid_object_name(&table.to_string());
        let (database, object) = self.session.find_object(table)?.ok_or_else(missing)?;
        match &object.definition {
            engine::catalog::ObjectDefinition::Table(table) => Ok((database, table.object_id, table.clone())),
            _ => Err(crate::bind::not_supported(&format!("{statement} into a view"))),
        }
    }

    pub(super) fn bound_bulk(&self, target: &BulkTarget) -> Result<BoundInsert> {
        let names: Vec<Identifier> = target.columns.iter().map(|(name, _)| name.clone()).collect();
        let mut binder = Binder::new(self.session, &self.batch.scope);
        binder.bulk(
            &target.table,
            &names,
            target.checks_constraints,
            target.locks_table,
            target.fires_triggers,
        )
    }

    /// The rows of a bulk load as a statement of its own.
    pub(crate) fn bulk_loaded(&mut self, target: &BulkTarget, rows: &mut dyn ClientRows) -> Outcome<Flow> {
        self.session.take_time();
        match self.load_bulk(target, rows) {
            Ok(()) => {
                self.session.set_error_number(0);
                Ok(Flow::Next)
            }
            Err(error) => {
                self.session.set_row_count(0);
                let mut failure = self.failure(error, 1);
                failure.undoes = self.statement.has_undone.take();
                self.handle(failure).map(|()| Flow::Next)
            }
        }
    }

    /// Loads the rows that INSERT BULK has announced.
    ///
    /// # Errors
    /// 4804, 4815, 4816 for what was not announced so; 4819; 4891 for a table that is another one since; those of INSERT.
    pub(crate) fn load_bulk(&mut self, target: &BulkTarget, rows: &mut dyn ClientRows) -> Result<()> {
        let count = self.load_batch(target, rows)?;
        self.changed(count, DoneKind::BulkLoad, false)
    }

    /// Loads rows until there are no more, as one unit; answers how many.
    ///
    /// # Errors
    /// As [`Executor::load_bulk`].
    pub(super) fn load_batch(&mut self, target: &BulkTarget, rows: &mut dyn ClientRows) -> Result<u64> {
        let rows = RefCell::new(rows);
        let loaded = RefCell::new(0);
        self.with_current_plan(|executor| {
            let count = executor.atomically(true, |executor| {
                if !target.checks_constraints {
                    executor.distrust_constraints(target)?;
                }
                let mut bound = executor.bound_bulk(target)?;
                bound.optimize(&mut Optimizer::new(executor.session))?;
                executor.lock_for_insert(&bound.target, bound.locking.of_insert())?;
                let changed = executor.load_rows(target, &bound, &mut **rows.borrow_mut())?;
                executor.finish_output(None, changed)
            })?;
            loaded.replace(count);
            Ok(())
        })?;
        Ok(loaded.into_inner())
    }

    /// Constraints that are not judged are not trusted from here on: plans rely on trusted ones.
    fn distrust_constraints(&mut self, target: &BulkTarget) -> Result<()> {
        let (database, object, definition) = self.find_table(&target.table)?;
        let mut changed = definition.clone();
        for check in changed.checks.iter_mut().filter(|check| !check.is_disabled) {
            check.is_not_trusted = true;
        }
        for key in changed.foreign_keys.iter_mut().filter(|key| !key.is_disabled) {
            key.is_not_trusted = true;
        }
        if changed == definition {
            return Ok(());
        }
        self.session.engine.borrow().lock_definition(&database, &object)?;
        self.replace_definition(&database, &object, changed)
    }

    fn load_rows(&self, target: &BulkTarget, bound: &BoundInsert, rows: &mut dyn ClientRows) -> Result<Changed> {
        let Target::Table(table) = &bound.target else {
            return Err(Error::assertion("a bulk load fills tables"));
        };
        let definition = table.table.definition();
        if definition.object_id != target.object_id {
            return Err(messages::bulk_target_changed());
        }
        let sent = rows.columns().to_vec();
        check_columns(&sent, target, definition)?;
        PlanUses::of_load(&bound.target).note(self.session.now_unix_micros());
        let context = Context::new(self.session, &self.variables);
        let mut pipeline = Pipeline::new(&context, &bound.target, &bound.columns, "INSERT", None)?;
        pipeline.fill(Fill {
            after_rows: if target.locks_table { 0 } else { ROWS_BEFORE_FILL },
            has_table_lock: target.locks_table,
        });
        let mut order = RowOrder::of(target, definition);
        let mut row = Vec::new();
        while rows.next(&mut row)? {
            cancel::spend(1)?;
            for (place, value) in row.iter_mut().enumerate() {
                let (column, declared) = (&sent[place], target.columns[place].1);
                *value = declared_value(value, column.sql_type, declared, place + 1)?;
            }
            order.require(&row)?;
            let given = |place: usize| {
                let value = row.get(place)?;
                let is_given = target.keeps_nulls || !value.is_null();
                is_given.then(|| (value.clone(), target.columns[place].1))
            };
            pipeline.insert(&bound.assignments, bound.sets_identity, &given)?;
        }
        pipeline.finish()
    }
}

/// The columns of ORDER.
pub(super) fn order_of(options: &[OptionValue], definition: &TableDefinition) -> Result<Vec<(Identifier, bool)>> {
    let mut order: Vec<(Identifier, bool)> = Vec::new();
    for item in options
        .iter()
        .filter(|option| option.name == "ORDER")
        .flat_map(|option| &option.arguments)
    {
        if item.value.is_some() || !item.arguments.is_empty() {
            return Err(messages::incorrect_syntax_near(&item.name));
        }
        // Names of columns come as they are written, in upper case, with their direction behind them.
        let (name, descending) = match item.name.rsplit_once(' ') {
            Some((name, "DESC")) => (name, true),
            Some((name, "ASC")) => (name, false),
            _ => (item.name.as_str(), false),
        };
        let name = Identifier::new(name);
        if definition.column(&name.text).is_none() {
            return Err(messages::bulk_order_unknown(&name.text));
        }
        if order.iter().any(|(other, _)| other.is(&name.text)) {
            return Err(messages::bulk_order_twice(&name.text));
        }
        order.push((name, descending));
    }
    Ok(order)
}

/// 4804 for another number of columns than announced, 4816 for a column of another type, of other nullability than the table's (state 1), or
/// of limited length for one that is `max` (state 2).
fn check_columns(sent: &[ClientColumn], target: &BulkTarget, definition: &TableDefinition) -> Result<()> {
    if sent.len() != target.columns.len() {
        return Err(messages::bulk_stream_ended(3));
    }
    for (place, (column, (name, declared))) in sent.iter().zip(&target.columns).enumerate() {
        let own = definition
            .column(&name.text)
            .and_then(|ordinal| definition.columns.get(ordinal));
        let own = own.ok_or_else(messages::bulk_target_changed)?;
        // "XMLTYPE is to be sent as NVARCHAR(N) or NVARCHAR(MAX)" ([MS-TDS] 2.2.6.1, note on INSERT BULK).
        if column.sql_type == SqlType::XML
            || !is_of_one_family(column.sql_type, *declared)
            || column.nullable != own.nullable
        {
            return Err(messages::bulk_column_type(place + 1, 1));
        }
        if own.sql_type.is_max() && !column.sql_type.is_max() {
            return Err(messages::bulk_column_type(place + 1, 2));
        }
    }
    Ok(())
}

/// Whether values of one type are sent for a column that is declared with another: lengths, precisions and scales may differ.
fn is_of_one_family(sent: SqlType, declared: SqlType) -> bool {
    if declared == SqlType::Json {
        return sent.is_character() || sent == declared;
    }
    if sent.is_character() || declared.is_character() {
        return sent.is_character() && declared.is_character() && sent.is_unicode() == declared.is_unicode();
    }
    if sent.is_binary() || declared.is_binary() {
        return sent.is_binary() && declared.is_binary();
    }
    std::mem::discriminant(&sent) == std::mem::discriminant(&declared)
}

/// A value as one of the declared type.
///
/// # Errors
/// 4815 for a string that is longer.
fn declared_value(value: &Value, sent: SqlType, declared: SqlType, place: usize) -> Result<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let room = usize::try_from(declared.max_length())
        .ok()
        .filter(|_| !declared.is_max());
    let bytes = match value {
        Value::Text(text) if declared.is_unicode() => text.encode_utf16().count() * 2,
        Value::Text(text) => text.chars().count(),
        Value::Binary(bytes) => bytes.len(),
        // Of a form of one byte for each character, or of UTF-16.
        Value::Held(held) => usize::try_from(held.bytes()).unwrap_or(usize::MAX),
        _ => 0,
    };
    if room.is_some_and(|room| bytes > room) {
        return Err(messages::bulk_column_length(place));
    }
    let from = if value.belongs_to(sent) { sent } else { type_of(value) };
    convert(value, from, declared, None)
}

/// The order that the rows are said to come in, where it is that of the clustered index.
struct RowOrder {
    /// Places in the rows, with their types and the collations of the columns they are for; true for descending.
    keys: Vec<(usize, SqlType, Collation, bool)>,
    last: Option<Vec<Value>>,
}

impl RowOrder {
    fn of(target: &BulkTarget, definition: &TableDefinition) -> RowOrder {
        let place_of = |name: &str| target.columns.iter().position(|(column, _)| column.is(name));
        let clustered = definition
            .clustered()
            .map(|index| index.keys.as_slice())
            .unwrap_or_default();
        let is_clustered = target.order.len() <= clustered.len()
            && target
                .order
                .iter()
                .zip(clustered)
                .all(|((name, descending), (column, own))| {
                    definition.column(&name.text) == Some(*column) && descending == own
                });
        let keys = target
            .order
            .iter()
            .filter(|_| is_clustered)
            .filter_map(|(name, descending)| {
                let place = place_of(&name.text)?;
                let own = definition.columns.get(definition.column(&name.text)?)?;
                let announced = target.columns[place].1;
                // Converted values may have another order: then the hint is ignored (tedious tests, "ignores the order").
                (announced == own.sql_type).then_some((place, announced, own.collation, *descending))
            });
        let keys: Vec<_> = keys.collect();
        RowOrder {
            keys: if keys.len() == target.order.len() {
                keys
            } else {
                Vec::new()
            },
            last: None,
        }
    }

    /// 4819 for a row that stands before the one before it.
    fn require(&mut self, row: &[Value]) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let keys = self.keys.iter();
        let own: Vec<Value> = keys
            .map(|(place, _, collation, _)| row[*place].clone().collated(*collation))
            .collect();
        if let Some(last) = &self.last {
            let mut order = Ordering::Equal;
            for ((one, other), (.., descending)) in last.iter().zip(&own).zip(&self.keys) {
                let next = compare::order(one, other);
                order = order.then(if *descending { next.reverse() } else { next });
            }
            if order == Ordering::Greater {
                let text =
                    |values: &[Value]| key_text(values.iter().zip(&self.keys).map(|(value, key)| (value, key.1)));
                return Err(messages::bulk_order_wrong(&text(last), &text(&own)));
            }
        }
        self.last = Some(own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_of_one_family_whatever_their_length() {
        let limited = |length| engine::types::Length::Limited(length);
        let (narrow, wide) = (SqlType::VarChar(limited(3)), SqlType::Char(9));
        assert!(is_of_one_family(narrow, wide));
        assert!(!is_of_one_family(narrow, SqlType::NVarChar(limited(3))));
        assert!(!is_of_one_family(SqlType::Int, SqlType::BigInt));
        assert!(is_of_one_family(SqlType::Time { scale: 1 }, SqlType::Time { scale: 7 }));
        assert!(!is_of_one_family(SqlType::Binary(3), narrow));
    }
}
