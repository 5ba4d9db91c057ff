//! What INSERT, UPDATE and DELETE share: building rows, checking them, writing them, OUTPUT.

use std::collections::HashSet;

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::Mode;
use engine::session::Table;
use engine::store::{Placement, RowLocator};
use engine::types::{SqlType, Value};

use super::executor::{Executor, closed};
use crate::bind::{Assignment, BoundOutput, OutputTarget, Target, TargetColumn, TargetColumns};
use crate::exec::grant::{Grant, KeptRows, kept_bytes};
use crate::exec::{Context, check_isolation, evaluate, locator_of, test};
use crate::messages;
use crate::plan::QueryPlan;
use crate::session::DoneKind;

/// Rows kept for OUTPUT until the statement has succeeded.
pub(super) type OutputRows = KeptRows;

/// The rows of a target that a search has met, so that each is changed once.
#[derive(Default)]
pub(super) struct SeenRows(HashSet<RowLocator>);

impl SeenRows {
    /// Whether this row of FROM has a row of the target, and one that was not met before. The locator is NULL where an outer join
    /// found none.
    pub(super) fn is_new(&mut self, locator: Option<&Value>) -> Result<bool> {
        match locator {
            None | Some(Value::Null) => Ok(false),
            Some(locator) => Ok(self.0.insert(locator_of(locator)?)),
        }
    }
}

/// Rows of a table variable whose keys are compared in the time of a step.
const KEYS_PER_STEP: usize = 32;

/// The word errors call a statement by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Insert,
    Update,
    AlterTable,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Insert => "INSERT",
            Verb::Update => "UPDATE",
            Verb::AlterTable => "ALTER TABLE",
        }
    }
}

impl Executor<'_> {
    /// Checks a finished row: NULLs, and what CHECK demands.
    pub(super) fn check_row(&self, columns: &TargetColumns, row: &[Value], verb: Verb) -> Result<()> {
        for (column, value) in columns.columns.iter().zip(row) {
            check_null(column, value, &columns.table_name, verb)?;
        }
        if columns.checks.is_empty() {
            return Ok(());
        }
        let context = Context::new(self.session, &self.variables);
        for (name, condition) in &columns.checks {
            if test(condition, row, &context)? == Some(false) {
                let mut parts = columns.table_name.splitn(2, '.');
                let (database, table) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                return Err(messages::constraint_conflict(
                    verb.name(),
                    "CHECK",
                    name,
                    database,
                    table,
                    "",
                ));
            }
        }
        Ok(())
    }

    /// The row that a target gets from source columns, defaults and the identity.
    pub(super) fn build_row(
        &self,
        target: &Target,
        columns: &TargetColumns,
        assignments: &[Assignment],
        source: &dyn Fn(usize) -> Option<(Value, SqlType)>,
    ) -> Result<Vec<Value>> {
        let context = Context::new(self.session, &self.variables);
        let mut row = Vec::with_capacity(columns.columns.len());
        for (column, assignment) in columns.columns.iter().zip(assignments) {
            let given = match assignment {
                Assignment::Source(position) => source(*position),
                Assignment::Default | Assignment::Identity => None,
            };
            let value = match (given, assignment, &column.default) {
                (Some((value, from)), _, _) => column.store(value, from, &columns.table_name)?,
                (None, Assignment::Identity, _) => self.next_identity(target, column.sql_type)?,
                (None, _, Some(default)) => {
                    let value = evaluate(default, &[], &context)?.into_owned();
                    column.store(value, default.sql_type, &columns.table_name)?
                }
                (None, _, None) => Value::Null,
            };
            row.push(value);
        }
        Ok(row)
    }

    /// The next identity value of a target, in its column's type.
    fn next_identity(&self, target: &Target, sql_type: SqlType) -> Result<Value> {
        let number = match target {
            Target::Table(table) => {
                let definition = table.table.definition();
                let Some((_, identity)) = definition.identity() else {
                    return Ok(Value::Null);
                };
                table
                    .table
                    .database()
                    .next_identity(definition, identity, &self.session.locks)?
            }
            Target::Variable(slot, shape) => {
                let step = shape
                    .columns
                    .iter()
                    .find_map(|column| column.identity)
                    .map_or(1, |(_, step)| step);
                let mut tables = self.variables.tables.borrow_mut();
                let Some(table) = tables.get_mut(*slot) else {
                    return Ok(Value::Null);
                };
                let number = table.identity_next;
                table.identity_next = number.wrapping_add(step);
                number
            }
        };
        self.session.set_identity(number);
        crate::scalar::convert::convert(&Value::BigInt(number), SqlType::BigInt, sql_type, None)
            .map_err(|_| messages::overflow_converting("IDENTITY", messages::type_name(sql_type)))
    }

    /// Remembers an identity value that was given rather than taken.
    pub(super) fn note_identity(&self, target: &Target, columns: &TargetColumns, row: &[Value]) -> Result<()> {
        let Some(position) = columns.columns.iter().position(|column| column.identity) else {
            return Ok(());
        };
        let number = match row.get(position) {
            Some(Value::Decimal(number)) => i64::try_from(number.coefficient()).ok(),
            Some(value) => value.as_i64(),
            None => None,
        };
        let Some(number) = number else { return Ok(()) };
        self.session.set_identity(number);
        if let Target::Table(table) = target {
            let definition = table.table.definition();
            if let Some((_, identity)) = definition.identity() {
                table
                    .table
                    .database()
                    .identity_used(definition, identity, number, &self.session.locks)?;
            }
        }
        Ok(())
    }

    /// Writes a new row into a target.
    pub(super) fn put_row(&self, target: &Target, row: Vec<Value>) -> Result<()> {
        match target {
            Target::Table(table) => table
                .table
                .insert(&mut self.session.engine.borrow_mut(), &row, Placement::AtEnd),
            Target::Variable(slot, shape) => {
                let mut tables = self.variables.tables.borrow_mut();
                let Some(table) = tables.get_mut(*slot) else {
                    return Ok(());
                };
                for (columns, primary) in &shape.keys {
                    cancel::spend(table.rows.len() / KEYS_PER_STEP)?;
                    let same = |other: &Vec<Value>| {
                        columns
                            .iter()
                            .all(|&column| crate::scalar::compare::same(&row[column], &other[column]))
                    };
                    if table.rows.iter().flatten().any(same) {
                        let kind = if *primary { "PRIMARY KEY" } else { "UNIQUE KEY" };
                        let key: Vec<String> = columns.iter().map(|&column| display(&row[column])).collect();
                        let key = format!("({})", key.join(", "));
                        return Err(messages::duplicate_key(kind, "PK__table_variable", &shape.name, &key));
                    }
                }
                let workspace = &self.session.instance.workspace;
                let grant = table.grant.get_or_insert_with(|| Grant::of(workspace));
                grant.require(kept_bytes(&row))?;
                table.rows.push(Some(row));
                Ok(())
            }
        }
    }

    /// Locks a table for writing new rows.
    pub(super) fn lock_for_insert(&self, target: &Target, mode: Mode) -> Result<()> {
        let Target::Table(table) = target else { return Ok(()) };
        check_isolation(self.session.options().isolation, table.table.database())?;
        table.table.lock(&self.session.locks, mode)
    }

    /// Runs a change, under NOWAIT without waiting for any lock.
    pub(super) fn within_no_wait<T>(&mut self, no_wait: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let timeout_ms = self.session.locks.timeout_ms();
        if no_wait {
            self.session.locks.set_timeout_ms(0);
        }
        let result = work(self);
        self.session.locks.set_timeout_ms(timeout_ms);
        result
    }

    /// Appends all rows of a query to a table that nobody else can see.
    pub(super) fn fill_new_table(&mut self, table: &Table, plan: &QueryPlan) -> Result<u64> {
        let Some(mut fill) = table.fill() else {
            return Err(Error::assertion("a new table with indexes"));
        };
        let context = Context::new(self.session, &self.variables);
        let count = crate::exec::run(plan, &context, &mut |row| {
            fill.push(&mut self.session.engine.borrow_mut(), row)
        })?;
        fill.finish(&mut self.session.engine.borrow_mut())?;
        Ok(count)
    }

    /// Computes a row of OUTPUT from the deleted and the inserted row.
    pub(super) fn output_row(
        &self,
        output: Option<&BoundOutput>,
        deleted: Option<&[Value]>,
        inserted: Option<&[Value]>,
        width: usize,
        rows: &mut OutputRows,
    ) -> Result<()> {
        let Some(output) = output else { return Ok(()) };
        let nulls = vec![Value::Null; width];
        let both = [deleted.unwrap_or(&nulls), inserted.unwrap_or(&nulls)].concat();
        let context = Context::new(self.session, &self.variables);
        let values = output
            .expressions
            .iter()
            .map(|expression| Ok(evaluate(expression, &both, &context)?.into_owned()));
        rows.push(values.collect::<Result<_>>()?, &self.session.instance.workspace)
    }

    /// Sends or stores the rows of OUTPUT.
    pub(super) fn finish_output(&mut self, output: Option<&BoundOutput>, rows: OutputRows) -> Result<()> {
        let Some(output) = output else { return Ok(()) };
        match &output.target {
            OutputTarget::Client => {
                self.sink.columns(&output.columns).map_err(closed)?;
                let cut = super::select::Cut::of(&output.columns, self.session.options().text_size_bytes);
                for row in &rows.rows {
                    super::select::send_row(self.sink, row, &cut)?;
                }
                Ok(())
            }
            OutputTarget::Into(target, columns, assignments) => {
                self.lock_for_insert(target, Mode::IX)?;
                for row in rows.rows {
                    let source = |position: usize| {
                        let sql_type = output
                            .columns
                            .get(position)
                            .map_or(SqlType::Int, |column| column.sql_type);
                        Some((row.get(position).cloned().unwrap_or(Value::Null), sql_type))
                    };
                    let built = self.build_row(target, columns, assignments, &source)?;
                    self.check_row(columns, &built, Verb::Insert)?;
                    self.put_row(target, built)?;
                }
                Ok(())
            }
        }
    }

    /// Counts and tells the end of a changing statement.
    pub(super) fn changed(&mut self, count: u64, kind: DoneKind, to_client: bool) -> Result<()> {
        self.session.set_row_count(count as i64);
        self.done(Some(count), if to_client { DoneKind::Select } else { kind })
    }
}

/// 515 for NULL in a column that allows none.
pub(super) fn check_null(column: &TargetColumn, value: &Value, table_name: &str, verb: Verb) -> Result<()> {
    if value.is_null() && !column.nullable {
        return Err(messages::null_not_allowed(&column.name, table_name, verb.name()));
    }
    Ok(())
}

/// Whether OUTPUT goes to the client.
pub(super) fn goes_to_client(output: Option<&BoundOutput>) -> bool {
    output.is_some_and(|output| matches!(output.target, OutputTarget::Client))
}

/// A value as error messages show it.
pub(super) fn display(value: &Value) -> String {
    match value {
        Value::Null => "<NULL>".to_owned(),
        Value::Text(text) => text.to_string(),
        Value::Decimal(number) => number.to_string(),
        other => other
            .as_i64()
            .map_or_else(|| "...".to_owned(), |number| number.to_string()),
    }
}
