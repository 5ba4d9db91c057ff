//! The dependents of a table's column, of a schema, or of an object: constraints and schema-bound modules that refer to it.
//!
//! ```text
//!                              DROP COLUMN   ALTER COLUMN, other type   other length or NULL   sp_rename
//! a default or rule bound      5074          5074                       -                      -
//! its DEFAULT                  5074          5074                       -                      -
//! a CHECK of the table         5074          5074                       -                      15336
//! a schema-bound module        5074          5074                       5074                   15336
//! a computed column            5074          5074                       5074                   15336
//! ```
//! (sql-docs, "ALTER TABLE": a column may not be dropped or changed that is "associated with a default definition", "used in a CHECK
//! constraint"; lengths may change. [`ColumnChange::Renullified`] is in the column "other length or NULL" too. Foreign keys, for which it is
//! a change of its own, and indexes, which hold columns by number: `statements/foreign_key.rs`.)

use engine::catalog::{CatalogObject, ObjectDefinition, TableDefinition};
use engine::database::Database;
use std::sync::Arc;

use super::names::{has_name, has_word, refers_to};

/// What is about to happen to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnChange {
    /// DROP COLUMN.
    Dropped,
    /// ALTER COLUMN to another type.
    Retyped,
    /// ALTER COLUMN that leaves the type and changes its length, its collation or whether it may be NULL.
    Resized,
    /// ALTER COLUMN that changes whether it may be NULL, or nothing. A foreign key of the table's own may have the column (Sequelize's
    /// changeColumn relies on it).
    Renullified,
    /// `sp_rename`.
    Renamed,
}

/// The first computed column that reads a column: nothing is done with that column as long as it is there.
pub(crate) fn computed_of_column(table: &TableDefinition, ordinal: usize) -> Option<&str> {
    let name = &table.columns[ordinal].name;
    let mut computed = table
        .columns
        .iter()
        .filter_map(|column| Some((column, column.computed.as_ref()?)));
    let found = computed.find(|(_, computed)| has_name(&computed.text, name));
    found.map(|(column, _)| column.name.as_str())
}

fn leaves_type(change: ColumnChange) -> bool {
    matches!(change, ColumnChange::Resized | ColumnChange::Renullified)
}

/// The first constraint or schema-bound module that forbids the change of a column.
pub(crate) fn dependent_on_column(
    database: &Database,
    session: u16,
    table: &TableDefinition,
    ordinal: usize,
    change: ColumnChange,
) -> Option<String> {
    let column = &table.columns[ordinal];
    let default = column
        .default
        .as_ref()
        .filter(|_| matches!(change, ColumnChange::Dropped | ColumnChange::Retyped));
    let mut checks = table
        .checks
        .iter()
        .filter(|check| !leaves_type(change) && has_name(&check.text, &column.name));
    let bound = column.bound.default.iter().chain(&column.bound.rule);
    let bound = bound.filter(|_| matches!(change, ColumnChange::Dropped | ColumnChange::Retyped));
    let bound = bound.filter_map(|bound| database.catalog.by_id(bound.object_id, session));
    let bound = bound.filter_map(|object| object.definition.qualified_name().map(|(_, name)| name.to_owned()));
    let own = default
        .map(|default| default.name.clone())
        .or_else(|| bound.into_iter().next())
        .or_else(|| checks.next().map(|check| check.name.clone()));
    let computed = || computed_of_column(table, ordinal).map(str::to_owned);
    own.or_else(|| computed().filter(|_| change == ColumnChange::Renamed))
        .or_else(|| {
            let names_it = |text: &str| refers_to(text, &table.schema, &table.name) && has_name(text, &column.name);
            let found = schema_bound(database, session).find(|(_, _, text)| names_it(text));
            found.map(|(_, name, _)| name)
        })
}

/// The first constraint that calls an object, or schema-bound module that names it.
pub(crate) fn dependent_on_object(database: &Database, session: u16, object: &CatalogObject) -> Option<String> {
    let definition = &object.definition;
    let (schema, name) = definition.qualified_name()?;
    let calling = || {
        let mut objects = database.catalog.objects(session).into_iter();
        objects.find_map(|other| match &other.definition {
            ObjectDefinition::Table(table) => constraint_that_calls(table, schema, name).map(str::to_owned),
            _ => None,
        })
    };
    let is_module = matches!(definition, ObjectDefinition::Module(_) | ObjectDefinition::Sequence(_));
    is_module.then(calling).flatten().or_else(|| {
        let own_id = definition.object_id();
        let names_it = |(id, _, text): &(u32, String, String)| *id != own_id && refers_to(text, schema, name);
        schema_bound(database, session).find(names_it).map(|(_, name, _)| name)
    })
}

/// The first object in a schema.
pub(crate) fn object_of_schema(database: &Database, session: u16, schema: &str) -> Option<Arc<CatalogObject>> {
    let is_in = |object: &Arc<CatalogObject>| {
        let other = match &object.definition {
            ObjectDefinition::XmlSchemaCollection(collection) => Some(collection.schema.as_str()),
            definition => definition.qualified_name().map(|(schema, _)| schema),
        };
        other.is_some_and(|other| other.to_lowercase() == schema.to_lowercase())
    };
    database.catalog.objects(session).into_iter().find(is_in)
}

/// Id, name and text of every module WITH SCHEMABINDING: without it nothing keeps the objects that a module names.
fn schema_bound(database: &Database, session: u16) -> impl Iterator<Item = (u32, String, String)> {
    let objects = database.catalog.objects(session).into_iter();
    objects.filter_map(|object| match &object.definition {
        ObjectDefinition::Module(module) if has_word(&module.text, "SCHEMABINDING") => {
            Some((module.object_id, module.name.clone(), module.text.clone()))
        }
        _ => None,
    })
}

/// The name of a table's constraint that calls a function; the table's own where a computed column does.
fn constraint_that_calls<'t>(table: &'t TableDefinition, schema: &str, name: &str) -> Option<&'t str> {
    let defaults = table.columns.iter().filter_map(|column| column.default.as_ref());
    let defaults = defaults.map(|default| (&default.name, &default.text));
    let checks = table.checks.iter().map(|check| (&check.name, &check.text));
    let computed = table.columns.iter().filter_map(|column| column.computed.as_ref());
    let computed = computed.map(|computed| (&table.name, &computed.text));
    let mut constraints = defaults.chain(checks).chain(computed);
    constraints
        .find(|(_, text)| refers_to(text, schema, name))
        .map(|(constraint, _)| constraint.as_str())
}
