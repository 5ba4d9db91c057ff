//! `sys.dm_sql_referenced_entities` (sql-docs, under this name): what a module uses, with the columns that it reads and writes, and what the
//! computed columns of a table use.
//!
//! What stands for an object that is not there has no columns. Error 2020 comes behind the rows where not every column could be found: an object
//! or a column is not there, a statement does not parse, or statements are nested deeper than the stack has room for. The names are then those
//! of the text's tokens, so that none is missing ("This error does not prevent the query from returning object-level dependencies": sql-docs).

use engine::catalog::{CatalogObject, ModuleDefinition, ObjectDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::types::{SqlType, Value};
use std::collections::HashSet;
use std::sync::Arc;

use super::dependencies::{DependencyRow, OBJECT_OR_COLUMN, dependencies, of_module, row_of};
use super::objects::{columns_of, is_schema_bound};
use super::{BIT, INT, NAME, RowStream, Source, SystemRow, SystemView, TINYINT, all, nvarchar, system_row};
use crate::ast::Name;
use crate::messages;
use crate::modules::{ObjectUse, ReferenceUse, Usage, references_in, uses_of_module};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[SystemView {
    schema: "sys",
    name: "dm_sql_referenced_entities",
    columns: ReferencedRow::COLUMNS,
    is_function: true,
    parameters: &[nvarchar(517), nvarchar(60)],
    required: 2,
    rows: Source::Streamed(open),
}];

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

/// Rows, and an error behind the last.
struct RowsAndError {
    rows: std::vec::IntoIter<Vec<Value>>,
    error: Option<Error>,
}

impl RowStream for RowsAndError {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        match (self.rows.next(), self.error.take()) {
            (None, Some(error)) => Err(error),
            (row, error) => {
                self.error = error;
                Ok(row)
            }
        }
    }
}

fn open(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Box<dyn RowStream>> {
    let found = rows(context, arguments);
    let name = arguments.first().and_then(Value::as_str).unwrap_or_default();
    let error = (!found.is_whole).then(|| messages::dependencies_not_whole(name));
    Ok(Box::new(RowsAndError {
        rows: all(found.rows)?.into_iter(),
        error,
    }))
}

/// What an object refers to.
#[derive(Default)]
struct Referenced {
    rows: Vec<ReferencedRow>,
    /// Every column of it was found.
    is_whole: bool,
}

impl Referenced {
    /// Of what has no columns that may be missing.
    fn whole(rows: Vec<ReferencedRow>) -> Referenced {
        Referenced { rows, is_whole: true }
    }
}

fn rows(context: &SystemContext<'_>, arguments: &[Value]) -> Referenced {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str).unwrap_or_default();
    let catalog = &context.database.catalog;
    let Some(name) = Name::parse(text(0)) else {
        return Referenced::whole(Vec::new());
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
        Some(ObjectDefinition::Table(table)) => Referenced::whole(of_table(context, table)),
        _ => Referenced::whole(Vec::new()),
    }
}

fn found(context: &SystemContext<'_>, name: &Name) -> Option<Arc<CatalogObject>> {
    let is_here = name.database().is_none() && name.server().is_none();
    let schema = name.schema().unwrap_or("dbo");
    let catalog = &context.database.catalog;
    is_here.then(|| catalog.find(schema, name.object(), context.session_id))?
}

/// A row for each object that a module uses, and behind it one for each column of it.
fn of_uses(context: &SystemContext<'_>, module: &ModuleDefinition) -> Referenced {
    let columns = |name: &Name| {
        let object = found(context, name)?;
        let columns = columns_of(&object).iter();
        let columns: Vec<String> = columns.map(|column| column.name.to_lowercase()).collect();
        // What has no columns of its own, as a synonym, may stand for something that has.
        Some(columns).filter(|columns| !columns.is_empty())
    };
    let by = of_module(module, is_schema_bound(module));
    let mut rows = Vec::new();
    let (uses, mut is_whole) = uses_and_names(module, &columns);
    for own in uses {
        let Some(named) = row_of(context, by, &own.reference()) else {
            continue;
        };
        let object = named
            .id
            .and_then(|id| context.database.catalog.by_id(id, context.session_id));
        let is_found = object.is_some() && !own.lacks_column;
        let is_elsewhere = named.database.is_some() || named.server.is_some();
        // A procedure that is executed is looked up when it is.
        is_whole &= is_found || is_elsewhere || own.used_as == ReferenceUse::Execute;
        rows.push(ReferencedRow {
            column: None,
            usage: own.usage,
            is_select_all: own.is_select_all,
            is_insert_all: own.is_insert_all,
            is_found,
            named: named.clone(),
        });
        rows.extend(
            object
                .into_iter()
                .flat_map(|object| columns_used(&own, &object, &named)),
        );
    }
    Referenced { rows, is_whole }
}

/// What a module uses, and whether that is all with every column. Of statements that do not parse, as those of another server may not, and of
/// those that are nested too deep, the names in the text stand for the rest: their columns are not found.
fn uses_and_names(module: &ModuleDefinition, columns: &dyn Fn(&Name) -> Option<Vec<String>>) -> (Vec<ObjectUse>, bool) {
    let (mut uses, is_all, is_whole) = match uses_of_module(module, columns) {
        Ok(used) => (used.objects, used.is_whole, used.is_whole && !used.lacks_column),
        Err(_) => (Vec::new(), false, false),
    };
    if !is_all {
        let lower = |parts: &[String]| -> Vec<String> { parts.iter().map(|part| part.to_lowercase()).collect() };
        let known: HashSet<Vec<String>> = uses.iter().map(|own| lower(&own.parts)).collect();
        uses.iter_mut().for_each(|own| own.lacks_column = true);
        let others = references_in(&module.text).into_iter();
        let others = others.filter(|reference| !known.contains(&lower(&reference.parts)));
        uses.extend(others.map(|reference| ObjectUse {
            lacks_column: true,
            ..ObjectUse::named(reference)
        }));
    }
    (uses, is_whole)
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
        ObjectDefinition::Module(module) => of_uses(context, module).rows,
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
