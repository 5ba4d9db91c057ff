//! `sp_rename`: renames tables, modules, columns, indexes and databases.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, StatisticsDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::session::{all_statistics, with_current_definitions};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{NAME, SystemProcedure, in_transaction, text};
use crate::ast::Name;
use crate::messages;
use crate::modules::{ColumnChange, dependent_on_column, dependent_on_object};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_rename",
    parameters: &[
        ("@objname", NAME, true),
        ("@newname", SqlType::SYSNAME, true),
        ("@objtype", SqlType::VarChar(Length::Limited(13)), false),
    ],
    run: rename,
}];

/// 15225, as for every name that means nothing.
fn no_item(context: &SystemContext<'_>, name: &str, kind: &str) -> Error {
    let text = format!(
        "No item by the name of '{name}' could be found in the current database '{}', given that @itemtype was input as '{kind}'.",
        context.database.name()
    );
    Error::new(15225, 11, 1, text)
}

fn rename(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let (Some(written), Some(new_name)) = (text(arguments, 0), text(arguments, 1)) else {
        return Ok(1);
    };
    let kind = text(arguments, 2).map(str::to_uppercase);
    let shown = kind.as_deref().unwrap_or("(null)");
    let name = crate::ast::Name::parse(written).ok_or_else(|| no_item(context, written, shown))?;
    if new_name.is_empty() {
        return Err(Error::new(
            15223,
            11,
            1,
            "Error: The input parameter '@newname' is not allowed to be null.",
        ));
    }
    with_current_definitions(|| match kind.as_deref() {
        Some("DATABASE") => context.instance.rename_database(name.object(), new_name),
        Some("COLUMN" | "INDEX") => rename_part(context, &name, new_name, shown == "COLUMN", written),
        None | Some("OBJECT") => rename_object(context, &name, new_name, written, shown),
        Some(_) => {
            let text = format!("Error: Explicit @objtype '{shown}' is unrecognized.");
            Err(Error::new(15249, 11, 1, text))
        }
    })?;
    let text = "Caution: Changing any part of an object name could break scripts and stored procedures.";
    host.message(&Error::new(15477, 10, 1, text))?;
    Ok(0)
}

/// 15336: what a constraint or schema-bound module names keeps its name.
fn enforced(written: &str) -> Error {
    let text =
        format!("Object '{written}' cannot be renamed because the object participates in enforced dependencies.");
    Error::new(15336, 16, 1, text)
}

fn rename_object(context: &SystemContext<'_>, name: &Name, new_name: &str, written: &str, kind: &str) -> Result<()> {
    let schema = name.schema().unwrap_or("dbo");
    let catalog = &context.database.catalog;
    let object = catalog
        .find(schema, name.object(), context.session_id)
        .ok_or_else(|| no_item(context, written, kind))?;
    if catalog
        .find(schema, new_name, context.session_id)
        .is_some_and(|other| !Arc::ptr_eq(&other, &object))
    {
        let text = format!(
            "Error: The new name '{new_name}' is already in use as a object name and would cause a duplicate that is not permitted."
        );
        return Err(Error::new(15335, 11, 1, text));
    }
    if dependent_on_object(&context.database, context.session_id, &object).is_some() {
        return Err(enforced(written));
    }
    let mut definition = object.definition.clone();
    match &mut definition {
        ObjectDefinition::Table(table) => new_name.clone_into(&mut table.name),
        ObjectDefinition::Module(module) => {
            new_name.clone_into(&mut module.name);
            if let Some(rows) = &mut module.rows {
                new_name.clone_into(&mut rows.name);
            }
        }
        ObjectDefinition::Standalone(own) => new_name.clone_into(&mut own.name),
        _ => return Err(no_item(context, written, kind)),
    }
    replace(context, &object, definition)
}

/// `table.column` or `table.index`, with a schema before it or not.
fn rename_part(context: &SystemContext<'_>, name: &Name, new_name: &str, column: bool, written: &str) -> Result<()> {
    let missing = || no_item(context, written, if column { "COLUMN" } else { "INDEX" });
    let table = name.schema().ok_or_else(missing)?;
    let schema = name.database().unwrap_or("dbo");
    let object = context
        .database
        .catalog
        .find(schema, table, context.session_id)
        .ok_or_else(missing)?;
    let definition = object.definition.table().cloned();
    let mut definition: TableDefinition = definition.ok_or_else(missing)?;
    if column && !matches!(object.definition, ObjectDefinition::Table(_)) {
        return Err(missing());
    }
    if column && definition.history_of.is_some() {
        return Err(messages::rename_of_history(&definition.name));
    }
    let renamed = definition.column(name.object()).filter(|_| column);
    if let Some(ordinal) = definition.column(name.object()).filter(|_| column)
        && is_enforced(context, &definition, ordinal)
    {
        return Err(enforced(written));
    }
    let is_of_statistics = |known: &StatisticsDefinition| !known.of_index && known.name.eq_ignore_ascii_case(new_name);
    let statistics = all_statistics(&context.database, &definition, context.session_id);
    let is_taken_by_statistics = !column && statistics.iter().any(is_of_statistics);
    let names: Vec<&mut String> = if column {
        definition.columns.iter_mut().map(|column| &mut column.name).collect()
    } else {
        definition.every_index_mut().map(|index| &mut index.name).collect()
    };
    let is_another =
        |other: &&mut String| other.eq_ignore_ascii_case(new_name) && !other.eq_ignore_ascii_case(name.object());
    if is_taken_by_statistics || names.iter().any(is_another) {
        let kind = if column { "COLUMN" } else { "INDEX" };
        let text = format!(
            "Error: The new name '{new_name}' is already in use as a {kind} name and would cause a duplicate that is not permitted."
        );
        return Err(Error::new(15335, 11, 1, text));
    }
    let found = names
        .into_iter()
        .find(|other| other.eq_ignore_ascii_case(name.object()))
        .ok_or_else(missing)?;
    new_name.clone_into(found);
    // A name that a user chose does not count as generated.
    for index in definition
        .every_index_mut()
        .filter(|index| !column && index.name == new_name)
    {
        index.is_system_named = false;
    }
    match (definition.versioning, renamed) {
        (Some(versioning), Some(place)) => {
            let history = (versioning.history, place, new_name);
            replace_with_history(context, &object, definition, history)
        }
        _ => replace(context, &object, object.definition.with_table(definition)),
    }
}

/// Whether an object needs the name of a column, of the table or of its history.
fn is_enforced(context: &SystemContext<'_>, definition: &TableDefinition, ordinal: usize) -> bool {
    let needs = |table: &TableDefinition| {
        dependent_on_column(
            &context.database,
            context.session_id,
            table,
            ordinal,
            ColumnChange::Renamed,
        )
        .is_some()
    };
    let history = definition
        .versioning
        .and_then(|versioning| context.database.catalog.by_id(versioning.history, context.session_id));
    let history = history.as_deref().map(|object| &object.definition);
    needs(definition) || matches!(history, Some(ObjectDefinition::Table(history)) if needs(history))
}

/// Replaces the definition of a temporal table one of whose columns is renamed. History, of that id, has the column at the same place.
fn replace_with_history(
    context: &SystemContext<'_>,
    object: &Arc<CatalogObject>,
    definition: TableDefinition,
    (history, place, new_name): (u32, usize, &str),
) -> Result<()> {
    in_transaction(context, |session| {
        session.replace_object(&context.database, object, ObjectDefinition::Table(definition))?;
        let history = context.database.catalog.by_id(history, context.session_id);
        let history = history.ok_or_else(|| Error::assertion("a temporal table without its history"))?;
        let mut changed = history.definition.clone();
        if let ObjectDefinition::Table(table) = &mut changed
            && let Some(column) = table.columns.get_mut(place)
        {
            new_name.clone_into(&mut column.name);
        }
        session.replace_object(&context.database, &history, changed).map(|_| ())
    })
}

/// Replaces a definition in the session's transaction, or in one of its own when there is none.
fn replace(context: &SystemContext<'_>, object: &Arc<CatalogObject>, definition: ObjectDefinition) -> Result<()> {
    in_transaction(context, |session| {
        session
            .replace_object(&context.database, object, definition)
            .map(|_| ())
    })
}
