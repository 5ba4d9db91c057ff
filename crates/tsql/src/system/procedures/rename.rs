//! `sp_rename`: renames tables, modules, sequences, synonyms, constraints, columns of tables and views, indexes and databases.

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ColumnDefinition, IndexDefinition, ModuleKind, ObjectDefinition, StatisticsDefinition,
    TableDefinition,
};
use engine::error::{Error, Result};
use engine::session::{all_statistics, with_current_definitions};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext};
use super::{NAME, SystemProcedure, in_transaction, text};
use crate::ast::Name;
use crate::messages;
use crate::modules::{ColumnChange, ModuleBody, ModuleCache, dependent_on_column, dependent_on_object};

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_rename",
    parameters: &[
        ("@objname", NAME, true),
        ("@newname", SqlType::SYSNAME, true),
        ("@objtype", SqlType::VarChar(Length::Limited(13)), false),
    ],
    run: rename,
}];

/// What is renamed.
enum Item {
    /// Of a table or indexed view.
    Index(Arc<CatalogObject>),
    /// Of a table.
    Column(Arc<CatalogObject>),
    /// Of a view: a column that its text gives another name.
    ViewColumn(Arc<CatalogObject>),
    Object(Arc<CatalogObject>),
    /// The table that has it, and its id.
    Constraint(Arc<CatalogObject>, u32),
}

impl Item {
    /// As `@objtype` says it.
    fn kind(&self) -> &'static str {
        match self {
            Item::Index(_) => "index",
            Item::Column(_) | Item::ViewColumn(_) => "column",
            Item::Object(_) | Item::Constraint(..) => "object",
        }
    }
}

/// The parameters of a call.
struct Call<'c> {
    /// What is renamed: as it was written, and its parts.
    written: &'c str,
    name: Name,
    new_name: &'c str,
    /// `@objtype` as it was written.
    kind: Option<&'c str>,
}

impl Call<'_> {
    fn shown_kind(&self) -> &str {
        self.kind.unwrap_or("(null)")
    }

    /// 15225, as for every name that means nothing.
    fn no_item(&self, context: &SystemContext<'_>) -> Error {
        let text = format!(
            "No item by the name of '{}' could be found in the current database '{}', given that @itemtype was input as '{}'.",
            self.written,
            context.database.name(),
            self.shown_kind()
        );
        Error::new(15225, 11, 1, text)
    }

    /// 15248: there is no such item of that kind, or several without one.
    fn ambiguous(&self) -> Error {
        let text = format!(
            "Either the parameter @objname is ambiguous or the claimed @objtype ({}) is wrong.",
            self.shown_kind()
        );
        Error::new(15248, 11, 1, text)
    }

    /// 15335: another item has the new name.
    fn is_in_use(&self, item: &Item) -> Error {
        let text = format!(
            "Error: The new name '{}' is already in use as a {} name and would cause a duplicate that is not permitted.",
            self.new_name,
            self.kind.unwrap_or(item.kind())
        );
        Error::new(15335, 11, 1, text)
    }

    /// 15336: what a constraint or schema-bound module names keeps its name.
    fn enforced(&self) -> Error {
        let text = format!(
            "Object '{}' cannot be renamed because the object participates in enforced dependencies.",
            self.written
        );
        Error::new(15336, 16, 1, text)
    }
}

/// 15223 for a NULL name.
fn missing_name(parameter: &str, state: u8) -> Error {
    let text = format!("Error: The input parameter '{parameter}' is not allowed to be null.");
    Error::new(15223, 11, state, text)
}

/// The errors and their order are those of SQL Server's procedure, whose text `sp_helptext` shows.
fn rename(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let kind = text(arguments, 2);
    let upper = kind.map(str::to_uppercase);
    match upper.as_deref() {
        Some("USERDATATYPE" | "STATISTICS") => {
            return Err(messages::not_supported(&format!(
                "sp_rename {}",
                kind.unwrap_or_default()
            )));
        }
        None | Some("COLUMN" | "DATABASE" | "INDEX" | "OBJECT") => {}
        Some(_) => {
            let text = format!(
                "Error: Explicit @objtype '{}' is unrecognized.",
                kind.unwrap_or_default()
            );
            return Err(Error::new(15249, 11, 1, text));
        }
    }
    let new_name = text(arguments, 1).ok_or_else(|| missing_name("NewName", 11))?;
    let written = text(arguments, 0).ok_or_else(|| missing_name("OldName", 1))?;
    if new_name.is_empty() {
        let text = format!(
            "Error: The value for the @newname parameter contains invalid characters or violates a basic restriction ({new_name})."
        );
        return Err(Error::new(15224, 11, 15, text));
    }
    let name = Name::parse(written).ok_or_else(|| {
        Error::new(
            15253,
            11,
            1,
            format!("Syntax error parsing SQL identifier '{written}'."),
        )
    })?;
    let call = Call {
        written,
        name,
        new_name,
        kind,
    };
    with_current_definitions(|| match upper.as_deref() {
        Some("DATABASE") => context.instance.rename_database(call.name.object(), new_name),
        upper => {
            let item = found_item(context, &call, upper)?;
            require_current_database(context, &call, &item)?;
            match &item {
                Item::Column(object) => rename_column(context, &call, &item, object),
                Item::ViewColumn(object) => rename_view_column(context, &call, &item, object),
                Item::Index(object) => rename_index(context, &call, &item, object),
                Item::Constraint(table, id) => rename_constraint(context, &call, &item, (table, *id)),
                Item::Object(object) => rename_object(context, &call, &item, object),
            }
        }
    })?;
    let text = "Caution: Changing any part of an object name could break scripts and stored procedures.";
    host.message(&Error::new(15477, 10, 1, text))?;
    Ok(0)
}

/// What the name means. Without a kind all kinds are tried.
fn found_item(context: &SystemContext<'_>, call: &Call<'_>, kind: Option<&str>) -> Result<Item> {
    let name = &call.name;
    let is_tried = |one: &str| kind.is_none_or(|kind| kind == one);
    let mut found = Vec::new();
    // Before the name of a column or index comes that of its table.
    if let Some(table) = name.schema()
        && let Some(object) = find(context, name.database().unwrap_or("dbo"), table)
        && let Some(definition) = object.definition.table()
    {
        let is_table = matches!(object.definition, ObjectDefinition::Table(_));
        if is_tried("COLUMN") && is_table && definition.column(name.object()).is_some() {
            found.push(Item::Column(object.clone()));
        }
        let is_named = |index: &IndexDefinition| index.name.eq_ignore_ascii_case(name.object());
        if is_tried("INDEX") && definition.every_index().any(is_named) {
            found.push(Item::Index(object.clone()));
        }
    }
    if let Some(view) = name.schema().filter(|_| is_tried("COLUMN"))
        && let Some(object) = find(context, name.database().unwrap_or("dbo"), view)
        && let ObjectDefinition::Module(module) = &object.definition
        && module.kind == ModuleKind::View
        && place_of(&module.columns, name.object()).is_some()
    {
        found.push(Item::ViewColumn(object));
    }
    if is_tried("OBJECT") && name.server().is_none() {
        let schema = name.schema().unwrap_or("dbo");
        let constraint = || constraint_of_name(context, schema, name.object());
        found.extend(
            find(context, schema, name.object())
                .map(Item::Object)
                .or_else(constraint),
        );
    }
    match (found.pop(), found.is_empty()) {
        (Some(item), true) => Ok(item),
        (None, _) if kind.is_none() => Err(call.no_item(context)),
        _ => Err(call.ambiguous()),
    }
}

fn find(context: &SystemContext<'_>, schema: &str, name: &str) -> Option<Arc<CatalogObject>> {
    let schema = if schema.is_empty() { "dbo" } else { schema };
    context.database.catalog.find(schema, name, context.session_id)
}

fn constraint_of_name(context: &SystemContext<'_>, schema: &str, name: &str) -> Option<Item> {
    let schema = if schema.is_empty() { "dbo" } else { schema };
    let found = context
        .database
        .catalog
        .find_constraint(schema, name, context.session_id);
    found.map(|(table, id)| Item::Constraint(table, id))
}

/// 15333 for a name with another database's.
fn require_current_database(context: &SystemContext<'_>, call: &Call<'_>, item: &Item) -> Result<()> {
    let written = match item {
        Item::Column(_) | Item::ViewColumn(_) | Item::Index(_) => call.name.server(),
        Item::Object(_) | Item::Constraint(..) => call.name.database(),
    };
    match written.filter(|written| !written.is_empty() && !written.eq_ignore_ascii_case(&context.database.name())) {
        Some(other) => {
            let text = format!(
                "Error: The qualified @oldname references a database ({other}) other than the current database."
            );
            Err(Error::new(15333, 11, 1, text))
        }
        None => Ok(()),
    }
}

/// 15335 when an object or constraint of the schema has the new name, unless it is the one that is renamed.
fn require_free_name(context: &SystemContext<'_>, call: &Call<'_>, item: &Item, schema: &str) -> Result<()> {
    let is_same_but_for_case = call.new_name.eq_ignore_ascii_case(call.name.object());
    let is_used =
        find(context, schema, call.new_name).is_some() || constraint_of_name(context, schema, call.new_name).is_some();
    match is_used && !is_same_but_for_case {
        true => Err(call.is_in_use(item)),
        false => Ok(()),
    }
}

fn rename_object(context: &SystemContext<'_>, call: &Call<'_>, item: &Item, object: &Arc<CatalogObject>) -> Result<()> {
    let mut definition = object.definition.clone();
    let schema = match &mut definition {
        ObjectDefinition::Table(table) => {
            call.new_name.clone_into(&mut table.name);
            &table.schema
        }
        ObjectDefinition::Module(module) => {
            call.new_name.clone_into(&mut module.name);
            if let Some(rows) = &mut module.rows {
                call.new_name.clone_into(&mut rows.name);
            }
            &module.schema
        }
        ObjectDefinition::Sequence(sequence) => {
            call.new_name.clone_into(&mut sequence.name);
            &sequence.schema
        }
        ObjectDefinition::Synonym(synonym) => {
            call.new_name.clone_into(&mut synonym.name);
            &synonym.schema
        }
        ObjectDefinition::Standalone(own) => {
            call.new_name.clone_into(&mut own.name);
            &own.schema
        }
        _ => return Err(call.no_item(context)),
    };
    require_free_name(context, call, item, schema)?;
    if dependent_on_object(&context.database, context.session_id, object).is_some() {
        return Err(call.enforced());
    }
    replace(context, object, definition)
}

/// A key is renamed with its index, and an index with its key. A name that a user chose does not count as generated.
fn rename_constraint(
    context: &SystemContext<'_>,
    call: &Call<'_>,
    item: &Item,
    (object, id): (&Arc<CatalogObject>, u32),
) -> Result<()> {
    let ObjectDefinition::Table(table) = &object.definition else {
        return Err(call.no_item(context));
    };
    require_free_name(context, call, item, &table.schema)?;
    let mut definition = table.clone();
    let index = definition.every_index().find(|index| index.constraint_id == id);
    if let Some(index) = index.map(|index| index.name.clone()) {
        require_free_index_name(context, call, item, (&definition, &index))?;
    }
    let keys = definition.indexes.iter_mut().chain(&mut definition.disabled_indexes);
    let keys = keys.map(|index| (index.constraint_id, &mut index.name, &mut index.is_system_named));
    let defaults = definition
        .columns
        .iter_mut()
        .filter_map(|column| column.default.as_mut());
    let defaults = defaults.map(|default| (default.object_id, &mut default.name, &mut default.is_system_named));
    let checks = definition.checks.iter_mut();
    let checks = checks.map(|check| (check.object_id, &mut check.name, &mut check.is_system_named));
    let foreign_keys = definition.foreign_keys.iter_mut();
    let foreign_keys = foreign_keys.map(|key| (key.object_id, &mut key.name, &mut key.is_system_named));
    let mut all = keys.chain(defaults).chain(checks).chain(foreign_keys);
    let (_, name, is_system_named) = all.find(|one| one.0 == id).ok_or_else(|| call.no_item(context))?;
    call.new_name.clone_into(name);
    *is_system_named = false;
    drop(all);
    replace(context, object, ObjectDefinition::Table(definition))
}

/// 15335 when an index or statistics of the table have the new name.
fn require_free_index_name(
    context: &SystemContext<'_>,
    call: &Call<'_>,
    item: &Item,
    (definition, own): (&TableDefinition, &str),
) -> Result<()> {
    let new_name = call.new_name;
    let is_of_statistics = |known: &StatisticsDefinition| !known.of_index && known.name.eq_ignore_ascii_case(new_name);
    let statistics = all_statistics(&context.database, definition, context.session_id);
    let is_another =
        |other: &IndexDefinition| other.name.eq_ignore_ascii_case(new_name) && !other.name.eq_ignore_ascii_case(own);
    match statistics.iter().any(is_of_statistics) || definition.every_index().any(is_another) {
        true => Err(call.is_in_use(item)),
        false => Ok(()),
    }
}

fn rename_index(context: &SystemContext<'_>, call: &Call<'_>, item: &Item, object: &Arc<CatalogObject>) -> Result<()> {
    let own = call.name.object();
    let definition: Option<TableDefinition> = object.definition.table().cloned();
    let mut definition = definition.ok_or_else(|| call.no_item(context))?;
    require_free_index_name(context, call, item, (&definition, own))?;
    let is_own = |index: &&IndexDefinition| index.name.eq_ignore_ascii_case(own);
    let index = definition.every_index().find(is_own);
    if index.is_some_and(|index| index.primary_key || index.unique_constraint) {
        require_free_name(context, call, item, &definition.schema)?;
    }
    let mut indexes = definition.every_index_mut();
    let index = indexes.find(|index| index.name.eq_ignore_ascii_case(own));
    let index = index.ok_or_else(|| call.no_item(context))?;
    call.new_name.clone_into(&mut index.name);
    // A name that a user chose does not count as generated.
    index.is_system_named = false;
    drop(indexes);
    replace(context, object, object.definition.with_table(definition))
}

fn rename_column(context: &SystemContext<'_>, call: &Call<'_>, item: &Item, object: &Arc<CatalogObject>) -> Result<()> {
    let ObjectDefinition::Table(table) = &object.definition else {
        return Err(call.no_item(context));
    };
    let mut definition = table.clone();
    if definition.history_of.is_some() {
        return Err(messages::rename_of_history(&definition.name));
    }
    let place = definition.column(call.name.object());
    let place = place.ok_or_else(|| call.no_item(context))?;
    if is_enforced(context, &definition, place) {
        return Err(call.enforced());
    }
    if definition.column(call.new_name).is_some_and(|other| other != place) {
        return Err(call.is_in_use(item));
    }
    if let Some(column) = definition.columns.get_mut(place) {
        call.new_name.clone_into(&mut column.name);
    }
    match definition.versioning {
        Some(versioning) => {
            let history = (versioning.history, place, call.new_name);
            replace_with_history(context, object, definition, history)
        }
        None => replace(context, object, ObjectDefinition::Table(definition)),
    }
}

fn place_of(columns: &[ColumnDefinition], name: &str) -> Option<usize> {
    columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
}

/// The column has its new name for the statements that read the view. The text of the view stays what it is, and `sp_refreshview` and ALTER VIEW,
/// which find the columns by the text, undo the renaming. Of a view with `*` the columns are always found by the text.
fn rename_view_column(
    context: &SystemContext<'_>,
    call: &Call<'_>,
    item: &Item,
    object: &Arc<CatalogObject>,
) -> Result<()> {
    let mut definition = object.definition.clone();
    let ObjectDefinition::Module(module) = &mut definition else {
        return Err(call.no_item(context));
    };
    let is_needed = dependent_on_object(&context.database, context.session_id, object).is_some();
    if is_needed || module.rows.is_some() {
        return Err(call.enforced());
    }
    let place = place_of(&module.columns, call.name.object());
    let place = place.ok_or_else(|| call.no_item(context))?;
    if place_of(&module.columns, call.new_name).is_some_and(|other| other != place) {
        return Err(call.is_in_use(item));
    }
    let compiled = ModuleCache::of(context.instance).module(object, context.user_types())?;
    if matches!(&compiled.body, ModuleBody::View(view) if view.query.body.has_star()) {
        return Err(messages::not_supported("sp_rename of a column of a view with *"));
    }
    if let Some(column) = module.columns.get_mut(place) {
        call.new_name.clone_into(&mut column.name);
    }
    replace(context, object, definition)
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
    let kept = context
        .database
        .catalog
        .statistics_of(definition.object_id, context.session_id);
    let mut kept = kept.iter().filter_map(|object| object.statistics());
    let is_filtered = kept.any(|known| known.filter.as_ref().is_some_and(|filter| filter.reads(ordinal)));
    is_filtered || needs(definition) || matches!(history, Some(ObjectDefinition::Table(history)) if needs(history))
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
