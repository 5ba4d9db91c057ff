//! Station 2: what a row must satisfy by itself.

use engine::error::Result;
use engine::types::Value;

use crate::context::Context;
use crate::exec::test;
use crate::messages;
use crate::plan::{TargetColumn, TargetColumns};

/// NULLs, then every CHECK.
///
/// # Errors
/// 515, 547; those of evaluating.
pub(crate) fn row(columns: &TargetColumns, row: &[Value], statement: &str, context: &Context<'_>) -> Result<()> {
    for (column, value) in columns.columns.iter().zip(row) {
        null(column, value, &columns.table_name, statement)?;
    }
    conditions(columns, row, statement, context)
}

/// Every CHECK. A condition that is unknown is no violation.
///
/// # Errors
/// 547; those of evaluating.
pub(crate) fn conditions(columns: &TargetColumns, row: &[Value], statement: &str, context: &Context<'_>) -> Result<()> {
    for check in &columns.checks {
        if test(&check.condition, row, context)? == Some(false) {
            let (database, table) = in_two(&columns.table_name);
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
