//! Station 2: the conditions that a row must satisfy by itself: NOT NULL, rules, CHECKs.

use engine::error::Result;
use engine::types::Value;

use crate::context::Context;
use crate::exec::test;
use crate::messages;
use crate::plan::{Check, TargetColumn, TargetColumns};

/// NULLs, then every rule and CHECK that the row alone decides, then the views that the row goes through.
///
/// # Errors
/// 513, 515, 547, 550; those of evaluating.
pub(super) fn row(columns: &TargetColumns, row: &[Value], statement: &str, context: &Context<'_>) -> Result<()> {
    for (column, value) in columns.columns.iter().zip(row) {
        null(column, value, &columns.table_name, statement)?;
    }
    let by_itself = columns.checks.iter().filter(|check| !check.calls_module);
    judge(by_itself, columns, row, statement, context)?;
    for condition in &columns.view_conditions {
        // Of a row that a condition is unknown for, the view shows nothing.
        if test(condition, row, context)? != Some(true) {
            return Err(messages::row_leaves_view());
        }
    }
    Ok(())
}

/// Every CHECK that calls a function of the user, for a row that is written: the function may count it.
///
/// # Errors
/// 547; those of evaluating.
pub(super) fn written(columns: &TargetColumns, row: &[Value], statement: &str, context: &Context<'_>) -> Result<()> {
    let calling = columns.checks.iter().filter(|check| check.calls_module);
    judge(calling, columns, row, statement, context)
}

/// Every CHECK, for a row that is there.
///
/// # Errors
/// 547; those of evaluating.
pub(crate) fn conditions(columns: &TargetColumns, row: &[Value], statement: &str, context: &Context<'_>) -> Result<()> {
    judge(columns.checks.iter(), columns, row, statement, context)
}

/// A condition that is unknown is not a violation.
fn judge<'c>(
    checks: impl Iterator<Item = &'c Check>,
    columns: &TargetColumns,
    row: &[Value],
    statement: &str,
    context: &Context<'_>,
) -> Result<()> {
    for check in checks {
        if test(&check.condition, row, context)? == Some(false) {
            let (database, table) = in_two(&columns.table_name);
            if let Some(column) = check.rule_of.and_then(|place| columns.columns.get(place)) {
                return Err(messages::rule_violated(database, table, &column.name));
            }
            let column = check.column.as_ref().map(|column| format!(", column '{column}'"));
            let column = column.unwrap_or_default();
            return Err(messages::constraint_conflict(
                statement,
                "CHECK",
                &check.name,
                database,
                table,
                &column,
            ));
        }
    }
    Ok(())
}

/// NULLs among the new values of some columns.
///
/// # Errors
/// 515.
pub(super) fn nulls_of(columns: &TargetColumns, set: &[usize], values: &[Value], statement: &str) -> Result<()> {
    for (column, value) in set.iter().zip(values) {
        if let Some(column) = columns.columns.get(*column) {
            null(column, value, &columns.table_name, statement)?;
        }
    }
    Ok(())
}

/// 515 for NULL in a column that allows none.
fn null(column: &TargetColumn, value: &Value, table_name: &str, statement: &str) -> Result<()> {
    if value.is_null() && !column.nullable {
        return Err(messages::null_not_allowed(&column.name, table_name, statement));
    }
    Ok(())
}

/// `database.schema.table` as errors of constraints name it: the database, and the table with its schema.
pub(super) fn in_two(full_name: &str) -> (&str, &str) {
    full_name.split_once('.').unwrap_or((full_name, ""))
}
