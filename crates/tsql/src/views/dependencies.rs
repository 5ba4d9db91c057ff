//! `sys.sql_expression_dependencies` and `sys.dm_sql_referencing_entities` (sql-docs, under these names): what the texts of modules and of
//! constraints name.
//!
//! Names are found in the trees of modules, once for each text ([`ReferenceCache`]), and in the texts of constraints ([`references_in`]). They
//! are looked up in the catalog whenever the view is read. An object of the
//! system, a type and an XML schema collection have no rows here. Columns have rows of their own where the reference is schema-bound: those
//! whose name stands in the text.

use std::collections::HashSet;

use engine::catalog::{CatalogObject, ModuleDefinition, ObjectDefinition, TableDefinition};
use engine::types::{SqlType, Value};

use super::FIXED_SCHEMAS;
use super::objects::{columns_of, constraints_of, type_code};
use super::{BIT, INT, NAME, Rows, SystemView, TINYINT, all, function, nvarchar, system_row, view};
use crate::ast::Name;
use crate::modules::{NamedReference, ReferenceCache, ReferenceUse, names_in, references_in};
use crate::views::SystemContext;

pub(super) const VIEWS: &[SystemView] = &[
    view::<DependencyRow>("sys", "sql_expression_dependencies", |context, _| {
        all(dependencies(context))
    }),
    function::<ReferencingRow>(
        "dm_sql_referencing_entities",
        &[nvarchar(517), nvarchar(60)],
        2,
        referencing,
    ),
];

const DESCRIPTION: SqlType = nvarchar(60);

/// What refers to something.
#[derive(Clone, Copy)]
pub(super) struct Referencing {
    pub(super) id: u32,
    /// A column or an index of it.
    pub(super) minor: u32,
    /// 1 object or column, 7 index, 12 trigger of the database.
    pub(super) class: (u8, &'static str),
    pub(super) is_schema_bound: bool,
}

/// `referencing_class` of objects and their columns, and the only `referenced_class` here.
pub(super) const OBJECT_OR_COLUMN: (u8, &str) = (1, "OBJECT_OR_COLUMN");
const INDEX: (u8, &str) = (7, "INDEX");
const DATABASE_TRIGGER: (u8, &str) = (12, "DATABASE_DDL_TRIGGER");

#[derive(Clone)]
pub(super) struct DependencyRow {
    pub(super) by: Referencing,
    pub(super) server: Option<String>,
    pub(super) database: Option<String>,
    pub(super) schema: Option<String>,
    pub(super) entity: String,
    pub(super) id: Option<u32>,
    pub(super) minor: u32,
    pub(super) is_caller_dependent: bool,
}

system_row!(DependencyRow {
    "referencing_id" INT => |row| (row.by.id as i32).into();
    "referencing_minor_id" INT => |row| (row.by.minor as i32).into();
    "referencing_class" TINYINT => |row| Value::TinyInt(row.by.class.0);
    "referencing_class_desc" DESCRIPTION => |row| row.by.class.1.into();
    "is_schema_bound_reference" BIT => |row| row.by.is_schema_bound.into();
    "referenced_class" TINYINT => |_| Value::TinyInt(OBJECT_OR_COLUMN.0);
    "referenced_class_desc" DESCRIPTION => |_| OBJECT_OR_COLUMN.1.into();
    "referenced_server_name" NAME => |row| row.server.clone().into();
    "referenced_database_name" NAME => |row| row.database.clone().into();
    "referenced_schema_name" NAME => |row| row.schema.clone().into();
    "referenced_entity_name" NAME => |row| row.entity.as_str().into();
    "referenced_id" INT => |row| row.id.map(|id| id as i32).into();
    "referenced_minor_id" INT => |row| (row.minor as i32).into();
    "is_caller_dependent" BIT => |row| row.is_caller_dependent.into();
    "is_ambiguous" BIT => |_| false.into();
});

pub(super) fn dependencies(context: &SystemContext<'_>) -> Vec<DependencyRow> {
    let kept = ReferenceCache::of(context.instance);
    let mut rows = Vec::new();
    for object in context.database.catalog.objects(context.session_id) {
        match &object.definition {
            ObjectDefinition::Module(module) => {
                let Some(text) = kept.references(&object) else { continue };
                let by = of_module(module, text.is_schema_bound);
                named(context, by, (&text.names, &text.references), &mut rows);
            }
            ObjectDefinition::Table(table) => of_table(context, table, &mut rows),
            _ => {}
        }
    }
    rows
}

pub(super) fn of_module(module: &ModuleDefinition, is_schema_bound: bool) -> Referencing {
    Referencing {
        id: module.object_id,
        minor: 0,
        class: match module.definition_trigger {
            Some(_) => DATABASE_TRIGGER,
            None => OBJECT_OR_COLUMN,
        },
        is_schema_bound,
    }
}

/// Rows for what a text names: by its references, and by all names in it where the references are schema-bound.
fn named(
    context: &SystemContext<'_>,
    by: Referencing,
    (names, references): (&HashSet<String>, &[NamedReference]),
    rows: &mut Vec<DependencyRow>,
) {
    for reference in references {
        let Some(row) = row_of(context, by, reference) else {
            continue;
        };
        let found = row
            .id
            .and_then(|id| context.database.catalog.by_id(id, context.session_id));
        if let Some(object) = found.filter(|_| by.is_schema_bound) {
            rows.extend(columns_named(by, &object, names));
        }
        rows.push(row);
    }
}

/// `None` for what is not an object of a user: views of the system, methods of columns.
pub(super) fn row_of(
    context: &SystemContext<'_>,
    by: Referencing,
    reference: &NamedReference,
) -> Option<DependencyRow> {
    let part = |from_right: usize| {
        let place = reference.parts.len().checked_sub(from_right + 1)?;
        reference.parts.get(place).filter(|part| !part.is_empty()).cloned()
    };
    let (entity, schema, database, server) = (part(0)?, part(1), part(2), part(3));
    let is_system = |schema: &String| {
        FIXED_SCHEMAS[2..]
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(schema))
    };
    let name = Name::parse(&quoted(&reference.parts))?;
    if schema.as_ref().is_some_and(is_system) || super::find(&name).is_some() {
        return None;
    }
    let is_here = database.is_none() && server.is_none();
    let is_caller_dependent = reference.used_as == ReferenceUse::Execute && is_here && schema.is_none();
    let catalog = &context.database.catalog;
    let found = catalog.find(schema.as_deref().unwrap_or("dbo"), &entity, context.session_id);
    let found = found.filter(|object| is_here && object.definition.object_id() != by.id);
    let lower = entity.to_lowercase();
    let is_procedure_of_system = lower.starts_with("sp_") || lower.starts_with("xp_");
    match reference.used_as {
        ReferenceUse::Call if found.is_none() => return None,
        ReferenceUse::Execute if found.is_none() && is_procedure_of_system => return None,
        _ => {}
    }
    Some(DependencyRow {
        by,
        server,
        database,
        schema,
        entity,
        id: found
            .filter(|_| !is_caller_dependent)
            .map(|object| object.definition.object_id()),
        minor: 0,
        is_caller_dependent,
    })
}

fn quoted(parts: &[String]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match part.as_str() {
            "" => String::new(),
            part => format!("[{}]", part.replace(']', "]]")),
        })
        .collect();
    parts.join(".")
}

/// Rows for the columns of an object that are among the names of a text.
fn columns_named(by: Referencing, object: &CatalogObject, names: &HashSet<String>) -> Vec<DependencyRow> {
    let Some((schema, name)) = object.definition.qualified_name() else {
        return Vec::new();
    };
    let columns = columns_of(object).iter().zip(1..);
    let columns = columns.filter(|(column, _)| names.contains(&column.name.to_lowercase()));
    columns
        .map(|(_, minor)| own_row(by, (schema, name), object.definition.object_id(), minor))
        .collect()
}

/// A row about an object of the database, or a column of it.
fn own_row(by: Referencing, (schema, name): (&str, &str), id: u32, minor: u32) -> DependencyRow {
    DependencyRow {
        by,
        server: None,
        database: None,
        schema: Some(schema.to_owned()),
        entity: name.to_owned(),
        id: Some(id),
        minor,
        is_caller_dependent: false,
    }
}

/// The constraints, computed columns and filtered indexes of a table: their references are schema-bound.
fn of_table(context: &SystemContext<'_>, table: &TableDefinition, rows: &mut Vec<DependencyRow>) {
    let own = (table.schema.as_str(), table.name.as_str());
    let mut texts: Vec<(Referencing, &str)> = Vec::new();
    let bound = |id, minor, class| Referencing {
        id,
        minor,
        class,
        is_schema_bound: true,
    };
    for constraint in constraints_of(table) {
        texts.extend(
            constraint
                .text
                .map(|text| (bound(constraint.object_id, 0, OBJECT_OR_COLUMN), text)),
        );
    }
    for (column, minor) in table.columns.iter().zip(1..) {
        if let Some(computed) = &column.computed {
            texts.push((bound(table.object_id, minor, OBJECT_OR_COLUMN), computed.text.as_str()));
        }
    }
    for (by, text) in texts {
        let names: HashSet<String> = names_in(text).into_iter().collect();
        let columns = table.columns.iter().zip(1..);
        let columns = columns.filter(|(column, _)| names.contains(&column.name.to_lowercase()));
        rows.extend(columns.map(|(_, minor)| own_row(by, own, table.object_id, minor)));
        named(context, by, (&names, &references_in(text)), rows);
    }
    for index in table.every_index() {
        let by = bound(table.object_id, index.index_id, INDEX);
        let mut columns: Vec<usize> = index
            .filter
            .iter()
            .flat_map(|filter| &filter.terms)
            .map(|term| term.column)
            .collect();
        columns.dedup();
        rows.extend(
            columns
                .into_iter()
                .map(|column| own_row(by, own, table.object_id, column as u32 + 1)),
        );
    }
}

struct ReferencingRow {
    schema: Option<String>,
    name: String,
    id: i32,
    class: (u8, &'static str),
    is_caller_dependent: bool,
}

system_row!(ReferencingRow {
    "referencing_schema_name" NAME => |row| row.schema.clone().into();
    "referencing_entity_name" NAME => |row| row.name.as_str().into();
    "referencing_id" INT => |row| row.id.into();
    "referencing_class" TINYINT => |row| Value::TinyInt(row.class.0);
    "referencing_class_desc" DESCRIPTION => |row| row.class.1.into();
    "is_caller_dependent" BIT => |row| row.is_caller_dependent.into();
});

/// Modules that name an object, each once. The name has its schema ("a two-part name": sql-docs); of other classes than OBJECT there are none.
fn referencing(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str).unwrap_or_default();
    let catalog = &context.database.catalog;
    let name = Name::parse(text(0)).filter(|_| text(1).eq_ignore_ascii_case("OBJECT"));
    let wanted = name.and_then(|name| catalog.find(name.schema()?, name.object(), context.session_id));
    let Some(wanted) = wanted else { return Ok(Vec::new()) };
    let own_name = wanted.definition.qualified_name().map_or("", |(_, name)| name);
    let mut rows: Vec<ReferencingRow> = Vec::new();
    for row in dependencies(context) {
        let is_meant = row.id == Some(wanted.definition.object_id())
            || row.is_caller_dependent
                && row.entity.eq_ignore_ascii_case(own_name)
                && type_code(&wanted.definition) == "P";
        let Some(object) = catalog.by_id(row.by.id, context.session_id).filter(|_| is_meant) else {
            continue;
        };
        let is_module = matches!(object.definition, ObjectDefinition::Module(_));
        if !is_module || rows.iter().any(|other| other.id == row.by.id as i32) {
            continue;
        }
        let (schema, name) = object.definition.qualified_name().unwrap_or_default();
        rows.push(ReferencingRow {
            schema: (!schema.is_empty()).then(|| schema.to_owned()),
            name: name.to_owned(),
            id: row.by.id as i32,
            class: row.by.class,
            is_caller_dependent: row.is_caller_dependent,
        });
    }
    all(rows)
}
