//! INFORMATION_SCHEMA: which constraints there are on what, views, parameters and types (sql-docs, "System information schema views").

use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition, TableDefinition};
use engine::types::{Length, SqlType, Value};

use super::objects::{ObjectRow, objects, table_of, tables};
use super::{NAME, Rows, SystemView, all, system_row, varchar, view};
use crate::modules::{condition_text, has_word, names_in};
use crate::views::SystemContext;

const TEXT: SqlType = SqlType::NVarChar(Length::Limited(4000));
/// Characters of a definition that these views show.
const SHOWN_MAX: usize = 4000;

pub(super) const VIEWS: &[SystemView] = &[
    view::<ViewRow>("INFORMATION_SCHEMA", "VIEWS", views),
    view::<CheckRow>("INFORMATION_SCHEMA", "CHECK_CONSTRAINTS", checks),
    view::<ColumnUsage>("INFORMATION_SCHEMA", "CONSTRAINT_COLUMN_USAGE", |context, _| {
        all(column_usage(context))
    }),
    view::<TableUsage>("INFORMATION_SCHEMA", "CONSTRAINT_TABLE_USAGE", table_usage),
];

struct ViewRow {
    database: String,
    object: ObjectRow,
    text: String,
}

system_row!(ViewRow {
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.object.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.object.name.as_str().into();
    "VIEW_DEFINITION" TEXT => |row| match row.text.chars().count() {
        // sql-docs: NULL for a definition that does not fit.
        SHOWN_MAX.. => Value::Null,
        _ => row.text.as_str().into(),
    };
    // Neither word can stand elsewhere in a view: one is reserved, and a view has no OPTION clause.
    "CHECK_OPTION" varchar(7) => |row| match has_word(&row.text, "CHECK") && has_word(&row.text, "OPTION") {
        true => "CASCADE",
        false => "NONE",
    }.into();
    "IS_UPDATABLE" varchar(2) => |_| "NO".into();
});

fn views(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "V");
    all(rows.filter_map(|object| {
        let found = object_of(context, &object)?;
        let ObjectDefinition::Module(module) = &found.definition else {
            return None;
        };
        debug_assert_eq!(module.kind, ModuleKind::View);
        Some(ViewRow {
            database: database.clone(),
            text: module.text.clone(),
            object,
        })
    }))
}

fn object_of(context: &SystemContext<'_>, row: &ObjectRow) -> Option<Arc<CatalogObject>> {
    context.database.catalog.by_id(row.object_id as u32, context.session_id)
}

struct CheckRow {
    database: String,
    schema: String,
    name: String,
    text: String,
}

system_row!(CheckRow {
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.name.as_str().into();
    "CHECK_CLAUSE" TEXT => |row| condition_text(&row.text).chars().take(SHOWN_MAX).collect::<String>().into();
});

fn checks(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let checks = table_of(&object).into_iter().flat_map(|table| &table.checks);
        rows.extend(checks.map(|check| CheckRow {
            database: database.clone(),
            schema: owner.schema.clone(),
            name: check.name.clone(),
            text: check.text.clone(),
        }));
    }
    all(rows)
}

/// A constraint and a column of its table.
struct ColumnUsage {
    database: String,
    owner: ObjectRow,
    constraint: String,
    column: String,
}

system_row!(ColumnUsage {
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.owner.name.as_str().into();
    "COLUMN_NAME" NAME => |row| row.column.as_str().into();
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.constraint.as_str().into();
});

/// The constraints of a table, each with the places of its columns there.
fn constraints(table: &TableDefinition) -> Vec<(&String, Vec<usize>)> {
    let keys = table.every_index().filter(|index| index.is_constraint());
    let keys = keys.map(|index| (&index.name, index.keys.iter().map(|(column, _)| *column).collect()));
    let foreign = table.foreign_keys.iter().map(|key| (&key.name, key.columns.clone()));
    let checks = table.checks.iter().map(|check| {
        let mut columns: Vec<usize> = names_in(&check.text)
            .iter()
            .filter_map(|name| table.column(name))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        (&check.name, columns)
    });
    keys.chain(foreign).chain(checks).collect()
}

fn column_usage(context: &SystemContext<'_>) -> Vec<ColumnUsage> {
    let database = context.database.name();
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let Some(table) = table_of(&object) else { continue };
        for (constraint, columns) in constraints(table) {
            let columns = columns.into_iter().filter_map(|column| table.columns.get(column));
            rows.extend(columns.map(|column| ColumnUsage {
                database: database.clone(),
                owner: owner.clone(),
                constraint: constraint.clone(),
                column: column.name.clone(),
            }));
        }
    }
    rows
}

struct TableUsage {
    database: String,
    owner: ObjectRow,
    constraint: String,
}

system_row!(TableUsage {
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.owner.name.as_str().into();
    "CONSTRAINT_CATALOG" NAME => |row| row.database.as_str().into();
    "CONSTRAINT_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "CONSTRAINT_NAME" NAME => |row| row.constraint.as_str().into();
});

fn table_usage(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let database = context.database.name();
    let mut rows = Vec::new();
    for (owner, object) in tables(context) {
        let constraints = table_of(&object).map(constraints).unwrap_or_default();
        rows.extend(constraints.into_iter().map(|(constraint, _)| TableUsage {
            database: database.clone(),
            owner: owner.clone(),
            constraint: constraint.clone(),
        }));
    }
    all(rows)
}
