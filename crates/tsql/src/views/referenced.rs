//! `sys.dm_sql_referenced_entities` (sql-docs, under this name): what a module uses, with the columns that it reads and writes, and what the
//! computed columns of a table use.
//!
//! What stands for an object that is not there has no columns. SQL Server says so by 2020 behind the rows, which is not said here.

use engine::catalog::{CatalogObject, ModuleDefinition, ObjectDefinition, TableDefinition};
use engine::types::{SqlType, Value};
use std::sync::Arc;

use super::dependencies::{DependencyRow, OBJECT_OR_COLUMN, dependencies, of_module, row_of};
use super::objects::columns_of;
use super::{BIT, INT, NAME, SystemView, TINYINT, all, function, nvarchar, system_row};
use crate::ast::Name;
use crate::modules::{ObjectUse, Usage, references_in, uses_of_module};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[function::<ReferencedRow>(
    "dm_sql_referenced_entities",
    &[nvarchar(517), nvarchar(60)],
    2,
    |context, arguments| all(rows(context, arguments)),
)];

const DESCRIPTION: SqlType = nvarchar(60);

struct ReferencedRow {
    named: DependencyRow,
    /// The name of a column of it.
    column: Option<String>,
    usage: Usage,
    is_select_all: bool,
    is_insert_all: bool,
    /// Whether it was found, and so its columns were.
    is_found: bool,
}

system_row!(ReferencedRow {
    "referencing_minor_id" INT => |row| (row.named.by.minor as i32).into();
    "referenced_server_name" NAME => |row| row.named.server.clone().into();
    "referenced_database_name" NAME => |row| row.named.database.clone().into();
    "referenced_schema_name" NAME => |row| row.named.schema.clone().into();
    "referenced_entity_name" NAME => |row| row.named.entity.as_str().into();
    "referenced_minor_name" NAME => |row| row.column.clone().into();
    "referenced_id" INT => |row| row.named.id.map(|id| id as i32).into();
    "referenced_minor_id" INT => |row| (row.named.minor as i32).into();
    "referenced_class" TINYINT => |_| Value::TinyInt(OBJECT_OR_COLUMN.0);
    "referenced_class_desc" DESCRIPTION => |_| OBJECT_OR_COLUMN.1.into();
    "is_caller_dependent" BIT => |row| row.named.is_caller_dependent.into();
    "is_ambiguous" BIT => |_| false.into();
    "is_selected" BIT => |row| row.usage.is_selected.into();
    "is_updated" BIT => |row| row.usage.is_updated.into();
    "is_select_all" BIT => |row| row.is_select_all.into();
    "is_all_columns_found" BIT => |row| row.is_found.into();
    "is_insert_all" BIT => |row| row.is_insert_all.into();
    "is_incomplete" BIT => |row| (!row.is_found).into();
});

fn rows(context: &SystemContext<'_>, arguments: &[Value]) -> Vec<ReferencedRow> {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str).unwrap_or_default();
    let catalog = &context.database.catalog;
    let Some(name) = Name::parse(text(0)) else {
        return Vec::new();
    };
    let found = match text(1).to_uppercase().as_str() {
        // "schema_name is required when the referencing class is OBJECT".
        "OBJECT" => name
            .schema()
            .and_then(|schema| catalog.find(schema, name.object(), context.session_id)),
        "DATABASE_DDL_TRIGGER" => catalog.objects(context.session_id).into_iter().find(|object| {
            let own = object
                .definition
                .definition_trigger()
                .and(object.definition.qualified_name());
            own.is_some_and(|(_, own)| own.eq_ignore_ascii_case(name.object()))
        }),
        _ => None,
    };
    match found.as_deref().map(|object| &object.definition) {
        Some(ObjectDefinition::Module(module)) => of_uses(context, module),
        Some(ObjectDefinition::Table(table)) => of_table(context, table),
        _ => Vec::new(),
    }
}

fn found(context: &SystemContext<'_>, name: &Name) -> Option<Arc<CatalogObject>> {
    let is_here = name.database().is_none() && name.server().is_none();
    let schema = name.schema().unwrap_or("dbo");
    let catalog = &context.database.catalog;
    is_here.then(|| catalog.find(schema, name.object(), context.session_id))?
}

/// A row for each object that a module uses, and behind it one for each column of it.
fn of_uses(context: &SystemContext<'_>, module: &ModuleDefinition) -> Vec<ReferencedRow> {
    let columns = |name: &Name| {
        let object = found(context, name)?;
        Some(
            columns_of(&object)
                .iter()
                .map(|column| column.name.to_lowercase())
                .collect(),
        )
    };
    let by = of_module(module);
    let mut rows = Vec::new();
    let used = uses_of_module(module, &columns);
    // A text that does not parse, as that of another server may not, has names, and columns that are not found.
    let is_parsed = used.is_some();
    let named = || references_in(&module.text).into_iter().map(ObjectUse::named);
    for own in used.unwrap_or_else(|| named().collect()) {
        let Some(named) = row_of(context, by, &own.reference()) else {
            continue;
        };
        let object = named
            .id
            .and_then(|id| context.database.catalog.by_id(id, context.session_id));
        rows.push(ReferencedRow {
            column: None,
            usage: own.usage,
            is_select_all: own.is_select_all,
            is_insert_all: own.is_insert_all,
            is_found: is_parsed && object.is_some(),
            named: named.clone(),
        });
        rows.extend(
            object
                .into_iter()
                .flat_map(|object| columns_used(&own, &object, &named)),
        );
    }
    rows
}

fn columns_used(own: &ObjectUse, object: &CatalogObject, named: &DependencyRow) -> Vec<ReferencedRow> {
    let columns = own.columns.iter().filter_map(|(ordinal, usage)| {
        let column = columns_of(object).get(*ordinal)?;
        Some(ReferencedRow {
            column: Some(column.name.clone()),
            usage: *usage,
            is_select_all: false,
            is_insert_all: false,
            is_found: true,
            named: DependencyRow {
                minor: *ordinal as u32 + 1,
                ..named.clone()
            },
        })
    });
    columns.collect()
}

/// What the computed columns of a table use: its own columns, and functions.
fn of_table(context: &SystemContext<'_>, table: &TableDefinition) -> Vec<ReferencedRow> {
    let own = dependencies(context).into_iter().filter(|row| {
        let by = (row.by.id, row.by.class);
        by == (table.object_id, OBJECT_OR_COLUMN)
    });
    let shown = own.map(|named| {
        let object = named
            .id
            .and_then(|id| context.database.catalog.by_id(id, context.session_id));
        let ordinal = (named.minor as usize).checked_sub(1);
        let column = object.as_ref().zip(ordinal);
        let column = column.and_then(|(object, ordinal)| columns_of(object).get(ordinal).map(|own| own.name.clone()));
        ReferencedRow {
            column,
            usage: Usage::default(),
            is_select_all: false,
            is_insert_all: false,
            is_found: object.is_some(),
            named,
        }
    });
    shown.collect()
}

/// An object that another one uses, or a column of it.
pub(crate) struct UsedObject {
    pub(crate) object_id: u32,
    pub(crate) column: Option<String>,
    pub(crate) usage: Usage,
}

/// What an object of the database uses in it. A procedure that is executed by its name alone is one of `dbo`.
pub(crate) fn used_by(context: &SystemContext<'_>, object: &CatalogObject) -> Vec<UsedObject> {
    let rows = match &object.definition {
        ObjectDefinition::Module(module) => of_uses(context, module),
        ObjectDefinition::Table(table) => of_table(context, table),
        _ => Vec::new(),
    };
    // An object is there once for each of its columns, and once without a column.
    let has_columns = |id: Option<u32>| rows.iter().any(|row| row.named.id == id && row.column.is_some());
    let shown = rows
        .iter()
        .filter(|row| row.column.is_some() || !has_columns(row.named.id));
    let used = shown.filter_map(|row| {
        Some(UsedObject {
            object_id: row.named.id.or_else(|| called(context, &row.named))?,
            column: row.column.clone(),
            usage: row.usage,
        })
    });
    used.collect()
}

/// The procedure that a name without a schema calls.
fn called(context: &SystemContext<'_>, named: &DependencyRow) -> Option<u32> {
    let name = Name::single(named.entity.as_str());
    let object = found(context, &name).filter(|_| named.is_caller_dependent)?;
    Some(object.definition.object_id())
}

/// What uses an object, each once.
pub(crate) fn referencing_ids(context: &SystemContext<'_>, object_id: u32) -> Vec<u32> {
    let mut ids: Vec<u32> = Vec::new();
    for row in dependencies(context) {
        let is_it = row.id == Some(object_id) || called(context, &row) == Some(object_id);
        if is_it && !ids.contains(&row.by.id) {
            ids.push(row.by.id);
        }
    }
    ids
}
