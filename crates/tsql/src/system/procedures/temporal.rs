//! `sp_cleanup_temporal_history`: deletes the rows of a history table whose retention is over (sql-docs, the page of the procedure).

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext};
use super::{INT, SystemProcedure, text};
use crate::messages;
use crate::views::retention_limit;

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_cleanup_temporal_history",
    parameters: &[
        ("@schema_name", SqlType::SYSNAME, true),
        ("@table_name", SqlType::SYSNAME, true),
        ("@row_count", INT, false),
    ],
    run: clean,
}];

/// Rows that a statement deletes: fewer than let locks escalate.
const ROWS_OF_A_PART: u32 = 4_000;

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn clean(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (schema, name) = (
        text(arguments, 0).unwrap_or_default(),
        text(arguments, 1).unwrap_or_default(),
    );
    let database = context.database.name();
    let full_name = format!("{database}.{schema}.{name}");
    let found = context.database.catalog.find(schema, name, context.session_id);
    let Some(object) = found else {
        return Err(messages::cleanup_of_no_table(&full_name));
    };
    let (table, versioning, end) = match &object.definition {
        ObjectDefinition::Table(table) => match (table.versioning, table.period()) {
            (Some(versioning), Some((_, end))) => (table, versioning, end),
            _ => return Err(messages::cleanup_of_other_table(&full_name)),
        },
        _ => return Err(messages::cleanup_of_other_table(&full_name)),
    };
    let retention = versioning.retention;
    let retention = retention.ok_or_else(|| messages::cleanup_without_retention(&full_name))?;
    let history = context.database.catalog.by_id(versioning.history, context.session_id);
    let history = history.as_ref().and_then(|object| object.definition.qualified_name());
    let (schema, name) = history.ok_or_else(|| Error::assertion("a temporal table without its history"))?;
    let rows = [database.as_str(), schema, name].map(bracketed).join(".");
    let end = bracketed(&table.columns[end].name);
    // In parts: a statement that deletes all would have the log hold them, and lock the whole of the history.
    let part = format!(
        "delete top ({ROWS_OF_A_PART}) {rows} where {end} <= {}",
        retention_limit(retention)
    );
    let mut count = 0;
    loop {
        let deleted = host.clean_history(&part)?;
        if deleted == 0 {
            break;
        }
        count += deleted;
    }
    host.output(2, Value::Int(i32::try_from(count).unwrap_or(i32::MAX)));
    Ok(0)
}
