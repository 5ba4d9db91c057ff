//! T-SQL that undoes a transaction: its changes of rows in reverse, each the other way round.
//!
//! A deleted row is inserted, an inserted one deleted, a changed one gets back the values that were changed. Every statement has to find
//! its one row as the transaction left it (by its key, and by the values that the statement takes away): if it has changed since, the script
//! ends with an error and changes nothing. What the log does not have (large values,
//! parts of rows) cannot be undone; the script then says so in place of the statement, and ends in an error before it changes anything.
//!
//! Computed columns and `timestamp` columns make their own values. Triggers fire, and foreign keys are checked, as for any statement.

use super::names::{Cell, Names, is_of_statement};
use super::rows::{RowChange, RowChangeKind, RowChanges};
use crate::catalog::Table;
use crate::catalog::objects::{Column, IndexRole, quoted};
use crate::catalog::stored::RowSet;
use crate::fault::{Fault, Result};
use crate::log::Outcome;
use crate::row::RecordKind;
use crate::types::{SystemType, Value};
use std::fmt::Write;
use vlf::record::SqlTransactionId;

/// A script, and how many changes it could not undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoScript {
    pub text: String,
    pub undone: u64,
    pub missing: u64,
}

/// The script for transaction `id`.
///
/// # Errors
/// The log has no such transaction, or it was rolled back.
pub fn undo_script(changes: &RowChanges, names: &Names, id: SqlTransactionId) -> Result<UndoScript> {
    let Some(transaction) = changes.transactions.get(id) else {
        return Err(Fault::whole(format!("the log that is left has no transaction {id}")));
    };
    if transaction.outcome == Outcome::RolledBack {
        return Err(Fault::whole(format!(
            "transaction {id} was rolled back: nothing of it is left to undo"
        )));
    }
    let mut script = Script::default();
    for change in changes.changes.iter().rev().filter(|change| change.transaction == id) {
        match names.table(change.unit, change.rowset) {
            Some((table, rowset)) if is_of_statement(change, rowset, &transaction.name) => {
                script.undo(names, table, rowset, change);
            }
            Some(_) => {}
            // The statements on the table change its indexes too.
            None if is_of_index(change) => {}
            None => script.miss(change, "rows of a table or an index that the catalog does not have"),
        }
    }
    if transaction.begin.is_none() {
        script.missing += 1;
        script.body.push_str(
            "-- The transaction began before the log that is left: its first changes are not in this script.\n",
        );
    }
    Ok(script.finish(&format!(
        "-- Undoes transaction {id} '{}', {}.\n",
        transaction.name.replace(['\r', '\n'], " "),
        transaction.outcome.name()
    )))
}

/// Whether the row is one of an index: its record says so.
fn is_of_index(change: &RowChange) -> bool {
    let image = change.before.whole().or(change.after.whole());
    let status = image.and_then(|row| row.first());
    status.is_some_and(|status| {
        matches!(
            RecordKind::of_status(*status),
            RecordKind::Index | RecordKind::GhostIndex
        )
    })
}

#[derive(Default)]
struct Script {
    body: String,
    undone: u64,
    missing: u64,
    /// The table for which IDENTITY_INSERT is on.
    identity: Option<String>,
}

impl Script {
    fn finish(mut self, head: &str) -> UndoScript {
        self.set_identity(None);
        let mut text = head.to_owned();
        if self.missing > 0 {
            let _ = writeln!(
                text,
                "THROW 50000, N'{} changes of the transaction cannot be undone from the log: read the script, and take this line out to undo the others.', 1;",
                self.missing
            );
        }
        text.push_str("SET XACT_ABORT ON;\nBEGIN TRANSACTION;\n");
        text.push_str(&self.body);
        text.push_str("COMMIT;\n");
        UndoScript {
            text,
            undone: self.undone,
            missing: self.missing,
        }
    }

    fn miss(&mut self, change: &RowChange, why: &str) {
        self.missing += 1;
        let _ = writeln!(
            self.body,
            "-- {} at {}, page {}, slot {}, is not undone: {why}.",
            change.kind.name(),
            change.lsn,
            change.page,
            change.slot
        );
    }

    fn undo(&mut self, names: &Names, table: &Table, rowset: &RowSet, change: &RowChange) {
        let before = names.cells(rowset, &change.before);
        let after = names.cells(rowset, &change.after);
        let statement = match change.kind {
            RowChangeKind::Delete => insertion(table, rowset, &before),
            RowChangeKind::Insert => deletion(table, rowset, &after),
            RowChangeKind::Update => update(table, rowset, &before, &after),
        };
        match statement {
            Ok(None) => {}
            Ok(Some(statement)) => {
                let identity = table.columns.iter().any(|column| column.identity.is_some());
                let wants_identity = identity && change.kind == RowChangeKind::Delete;
                self.set_identity(wants_identity.then(|| table.name.to_string()));
                self.undone += 1;
                let _ = writeln!(self.body, "{statement}");
                let _ = writeln!(
                    self.body,
                    "IF @@ROWCOUNT <> 1 THROW 50000, N'The row has changed since: {}', 1;",
                    change.lsn
                );
            }
            Err(why) => self.miss(change, &why),
        }
    }

    fn set_identity(&mut self, table: Option<String>) {
        if self.identity == table {
            return;
        }
        if let Some(table) = &self.identity {
            let _ = writeln!(self.body, "SET IDENTITY_INSERT {table} OFF;");
        }
        if let Some(table) = &table {
            let _ = writeln!(self.body, "SET IDENTITY_INSERT {table} ON;");
        }
        self.identity = table;
    }
}

/// A stored column that a statement can give a value, and its cell.
struct Field<'a> {
    column: &'a Column,
    cell: &'a Cell,
}

fn fields<'a>(table: &'a Table, rowset: &RowSet, cells: &'a [Cell]) -> Vec<Field<'a>> {
    let stored = rowset.columns.iter().zip(cells);
    stored
        .filter_map(|(stored, cell)| {
            let column = table.column(i64::from(stored.id))?;
            let is_given = column.computed.is_none() && column.kind.system != SystemType::Timestamp;
            is_given.then_some(Field { column, cell })
        })
        .collect()
}

type Statement = std::result::Result<Option<String>, String>;

fn insertion(table: &Table, rowset: &RowSet, cells: &[Cell]) -> Statement {
    let mut names = Vec::new();
    let mut values = Vec::new();
    for field in fields(table, rowset, cells) {
        names.push(quoted(&field.column.name));
        values.push(field.literal()?);
    }
    Ok(Some(format!(
        "INSERT INTO {} ({}) VALUES ({});",
        table.name,
        names.join(", "),
        values.join(", ")
    )))
}

fn deletion(table: &Table, rowset: &RowSet, cells: &[Cell]) -> Statement {
    let found = condition(table, &fields(table, rowset, cells), &|_| true)?;
    Ok(Some(format!("DELETE TOP (1) FROM {} WHERE {found};", table.name)))
}

fn update(table: &Table, rowset: &RowSet, before: &[Cell], after: &[Cell]) -> Statement {
    let old = fields(table, rowset, before);
    let new = fields(table, rowset, after);
    let mut changed = Vec::new();
    let mut changed_ids = Vec::new();
    for (old, new) in old.iter().zip(&new) {
        if old.cell != new.cell {
            changed_ids.push(old.column.id);
            changed.push(format!("{} = {}", quoted(&old.column.name), old.literal()?));
        } else if let Cell::Missing(why) = old.cell
            && !why.contains("large value")
        {
            return Err(why.clone());
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let found = condition(table, &new, &|field| changed_ids.contains(&field.column.id))?;
    Ok(Some(format!(
        "UPDATE TOP (1) {} SET {} WHERE {found};",
        table.name,
        changed.join(", ")
    )))
}

/// What finds the row as the change left it: its primary key, if it has one, and the values of the columns that `is_checked`.
///
/// Approximate numbers are left to the key: a literal need not be the number that the row has.
fn condition(
    table: &Table,
    fields: &[Field<'_>],
    is_checked: &dyn Fn(&Field<'_>) -> bool,
) -> std::result::Result<String, String> {
    let key = table.indexes.iter().find(|index| index.role == IndexRole::PrimaryKey);
    let is_in_key = |column: &Column| key.is_some_and(|key| key.keys.iter().any(|(id, _)| *id == column.id));
    let mut terms = Vec::new();
    for field in fields {
        let is_wanted = match key {
            Some(_) => is_in_key(field.column) || is_checked(field) && field.is_exact(),
            None => field.is_exact(),
        };
        if !is_wanted || !field.is_comparable() || field.cell.value().is_none() && !is_in_key(field.column) {
            continue;
        }
        let name = quoted(&field.column.name);
        terms.push(match field.literal()? {
            null if null == "NULL" => format!("{name} IS NULL"),
            value => format!("{name} = {value}"),
        });
    }
    match terms.is_empty() {
        true => Err("no column of it can be compared".to_owned()),
        false => Ok(terms.join(" AND ")),
    }
}

impl Field<'_> {
    fn is_exact(&self) -> bool {
        !matches!(
            self.column.kind.system,
            SystemType::Real | SystemType::Float | SystemType::SqlVariant
        )
    }

    fn is_comparable(&self) -> bool {
        !matches!(
            self.column.kind.system,
            SystemType::Text
                | SystemType::NText
                | SystemType::Image
                | SystemType::Xml
                | SystemType::Clr
                | SystemType::Json
        )
    }

    fn literal(&self) -> std::result::Result<String, String> {
        match self.cell {
            Cell::Missing(why) => Err(format!("column {}: {why}", self.column.name)),
            Cell::Known(value) => {
                let is_opaque = matches!(
                    self.column.kind.system,
                    SystemType::Xml | SystemType::Clr | SystemType::Json
                );
                match is_opaque && !value.is_null() {
                    true => Err(format!(
                        "column {}: a {} is not written as T-SQL",
                        self.column.name, self.column.kind
                    )),
                    false => Ok(literal(value)),
                }
            }
        }
    }
}

/// A value as T-SQL writes it.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Null | Value::Bit(_) | Value::Integer(_) | Value::Decimal { .. } | Value::Money(_) | Value::Bytes(_) => {
            value.to_string()
        }
        Value::Real(number) => format!("{number:e}"),
        Value::Float(number) => format!("{number:e}"),
        Value::Text(text) => format!("N'{}'", text.replace('\'', "''")),
        // With a T between date and time, no setting of the session reads the parts in another order.
        Value::DateTime { .. } | Value::SmallDateTime { .. } => format!("'{}'", value.to_string().replace(' ', "T")),
        Value::Date(_) | Value::Time { .. } | Value::DateTime2 { .. } | Value::DateTimeOffset { .. } => {
            format!("'{value}'")
        }
        Value::UniqueIdentifier(_) => format!("'{value}'"),
        Value::Variant(kind, value) => format!("CAST({} AS {kind})", literal(value)),
    }
}
