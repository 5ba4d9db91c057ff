//! Foreign keys as definitions: CREATE TABLE and ALTER TABLE, checking existing rows, and the statements refused for tables, keys and
//! columns that a foreign key needs.
//!
//! ```text
//! statement                                                       on an object that a foreign key needs
//! DROP TABLE                                                      3726
//! TRUNCATE TABLE                                                  4712
//! DROP CONSTRAINT of its PRIMARY KEY or UNIQUE                     3725
//! DROP INDEX of its unique index                                   3723
//! DROP COLUMN, ALTER COLUMN at either end                         5074 (what else holds a column: `modules/dependents.rs`)
//! ```
//! A table that refers to itself may be dropped and truncated.

use std::sync::Arc;

use engine::catalog::{
    CatalogObject, ForeignKey, IndexDefinition, ObjectDefinition, ReferentialAction, TableDefinition, TriggerAction,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::lock::{Mode, Resource};
use engine::session::Table;
use engine::types::SqlType;

use super::executor::Executor;
use crate::ast::{self, Identifier, IndexColumn};
use crate::messages;
use crate::modules::{ColumnChange, computed_of_column, dependent_on_column};
use crate::plan::{BoundTable, TargetColumns};

/// The table that a table of a definition that is not stored yet has in its foreign keys: itself.
const ITSELF: u32 = 0;

impl Executor<'_> {
    /// A foreign key of a table, which may not be stored yet (its id is 0 then).
    ///
    /// # Errors
    /// 1753, 1757, 1761, 1762, 1763, 1766, 1767, 1769, 1770, 1773, 1776, 1778, 1788, 8139.
    pub(super) fn foreign_key(
        &self,
        (database, table): (&Arc<Database>, &TableDefinition),
        foreign: &ast::ForeignKey,
        own: &[IndexColumn],
        name: String,
    ) -> Result<ForeignKey> {
        let stored = self.referenced_table((database, table), foreign, &name)?;
        let referenced = match &stored {
            Some(object) => definition_of(object)?,
            None => table,
        };
        let written: Vec<&str> = match foreign.columns.is_empty() {
            true => own.iter().map(|column| column.name.text.as_str()).collect(),
            false => foreign.columns.iter().map(|column| column.text.as_str()).collect(),
        };
        if referenced.history_of.is_some() {
            return Err(messages::foreign_key_of_history(&name));
        }
        let columns = written.iter().map(|column| {
            let missing = || messages::foreign_key_invalid_column(&name, column, &table.name);
            table.column(column).ok_or_else(missing)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let referenced_columns = referenced_columns(referenced, &foreign.referenced_columns, &name)?;
        if columns.len() != referenced_columns.len() {
            return Err(messages::foreign_key_column_counts(&table.name));
        }
        for (&column, &other) in columns.iter().zip(&referenced_columns) {
            check_types(&name, (table, column), (referenced, other))?;
        }
        if referenced.unique_index_of(&referenced_columns).is_none() {
            return Err(messages::foreign_key_without_key(&referenced.name, &name));
        }
        check_actions(&name, foreign, table, &columns)?;
        check_triggers(&name, foreign, table)?;
        Ok(ForeignKey {
            name,
            columns,
            referenced_object: if stored.is_some() { referenced.object_id } else { ITSELF },
            referenced_columns,
            object_id: 0,
            is_system_named: false,
            is_not_trusted: false,
            is_disabled: false,
            on_delete: stored_action(foreign.on_delete),
            on_update: stored_action(foreign.on_update),
        })
    }

    /// The table that a foreign key names, locked against everybody else, so that it stays what the key is judged by; `None` when that is
    /// the table being defined.
    fn referenced_table(
        &self,
        (own, table): (&Arc<Database>, &TableDefinition),
        foreign: &ast::ForeignKey,
        name: &str,
    ) -> Result<Option<Arc<CatalogObject>>> {
        let schema = foreign
            .table
            .schema()
            .filter(|schema| !schema.is_empty())
            .unwrap_or("dbo");
        let written = foreign.table.database();
        let is_here = written.is_none_or(|written| written.is_empty() || written.eq_ignore_ascii_case(&own.name()));
        let is_itself = is_here
            && schema.eq_ignore_ascii_case(&table.schema)
            && foreign.table.object().to_lowercase() == table.name.to_lowercase();
        if is_itself {
            return Ok(None);
        }
        let missing = || messages::foreign_key_invalid_table(name, &foreign.table.to_string());
        // The table's database, where it is another than the current one, has what is named without a database. Names in the definition of a
        // temporary table, whose keys are skipped, are the current one's.
        let current_id = self.session.database_id();
        let home_id = if table.name.starts_with('#') {
            current_id
        } else {
            own.id
        };
        let is_elsewhere = home_id != current_id && written.is_none_or(str::is_empty);
        let found = match is_elsewhere && !foreign.table.object().starts_with('#') {
            true => {
                let found = own.catalog.find(schema, foreign.table.object(), self.session.id);
                found.map(|object| (own.clone(), object))
            }
            false => self.session.find_object(&foreign.table)?,
        };
        let (database, object) = found.ok_or_else(missing)?;
        if foreign.table.object().starts_with('#') {
            return Err(messages::foreign_key_to_temporary_table(name));
        }
        if database.id != home_id {
            return Err(messages::foreign_key_across_databases(name));
        }
        match &object.definition {
            ObjectDefinition::Table(_) => {
                self.session.engine.borrow().lock_definition(&database, &object)?;
                Ok(Some(object))
            }
            _ => Err(missing()),
        }
    }

    /// Tells the tables that foreign keys refer to, and with them everybody who is about to change rows there: each is locked against all
    /// others, and its definition stored again, so that a statement bound before does not take it for the one it knows.
    pub(super) fn tell_referenced(&self, database: &Arc<Database>, own_id: u32, keys: &[ForeignKey]) -> Result<()> {
        for key in keys
            .iter()
            .filter(|key| ![ITSELF, own_id].contains(&key.referenced_object))
        {
            let id = key.referenced_object;
            self.session.locks.lock(Resource::Object(database.id, id), Mode::SchM)?;
            let referenced = database.catalog.by_id(id, self.session.id);
            let referenced = referenced.ok_or_else(|| messages::foreign_key_invalid_table(&key.name, ""))?;
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_object(database, &referenced, referenced.definition.clone())?;
        }
        Ok(())
    }

    /// 547 when a row that is there already violates a foreign key of its table.
    pub(super) fn check_references(&self, table: &Arc<BoundTable>, keys: &[ForeignKey]) -> Result<()> {
        let binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let references = keys.iter().map(|key| binder.reference(table, key));
        let columns = TargetColumns {
            references: references.collect::<Result<_>>()?,
            table_name: table.full_name.clone(),
            ..TargetColumns::default()
        };
        crate::modify::check_stored_references(&self.context(), &table.table, &columns, "ALTER TABLE")
    }

    /// 3726 and 4712: a table that a foreign key of another refers to.
    pub(super) fn check_not_referenced(
        &self,
        database: &Database,
        object: &CatalogObject,
        refusal: fn(&str) -> Error,
    ) -> Result<()> {
        let id = object.definition.object_id();
        let referencing = database.catalog.referencing(id, self.session.id);
        match referencing.iter().any(|other| other.definition.object_id() != id) {
            true => Err(refusal(object.definition.qualified_name().map_or("", |(_, name)| name))),
            false => Ok(()),
        }
    }

    /// The first foreign key that needs an index, with its table, when no other index would do.
    pub(super) fn key_that_needs(
        &self,
        database: &Database,
        definition: &TableDefinition,
        index: &IndexDefinition,
    ) -> Option<(String, String)> {
        let without = TableDefinition {
            indexes: definition
                .indexes
                .iter()
                .filter(|other| other.name != index.name)
                .cloned()
                .collect(),
            ..definition.clone()
        };
        let needs = |key: &ForeignKey| {
            key.referenced_object == definition.object_id && without.unique_index_of(&key.referenced_columns).is_none()
        };
        self.referring(database, definition.object_id, &needs)
    }

    /// 5074 when a foreign key has a column at either end, or something that names it forbids the change.
    pub(super) fn check_column_is_free(
        &self,
        database: &Database,
        definition: &TableDefinition,
        ordinal: usize,
        change: ColumnChange,
    ) -> Result<()> {
        let column = &definition.columns[ordinal].name;
        let word = match change {
            ColumnChange::Dropped => "DROP",
            ColumnChange::Retyped | ColumnChange::Resized | ColumnChange::Renullified | ColumnChange::Renamed => {
                "ALTER"
            }
        };
        let accessed = || messages::column_is_accessed(word, column);
        if let Some(computed) = computed_of_column(definition, ordinal) {
            return Err(messages::column_depends_on_column(computed, column).followed_by(accessed()));
        }
        let is_filter = |index: &&IndexDefinition| index.filter.as_ref().is_some_and(|filter| filter.reads(ordinal));
        if let Some(index) = definition.every_index().find(is_filter) {
            return Err(messages::index_depends_on_column(&index.name, column).followed_by(accessed()));
        }
        // What SET NULL and SET DEFAULT write depends on whether the column may be NULL.
        let sets = |action| matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault);
        let sets_value = |key: &ForeignKey| sets(key.on_delete) || sets(key.on_update);
        let own = definition
            .foreign_keys
            .iter()
            .find(|key| key.columns.contains(&ordinal) && (change != ColumnChange::Renullified || sets_value(key)));
        let refers = |key: &ForeignKey| {
            key.referenced_object == definition.object_id && key.referenced_columns.contains(&ordinal)
        };
        let found = own.map(|key| key.name.clone()).or_else(|| {
            self.referring(database, definition.object_id, &refers)
                .map(|(_, key)| key)
        });
        let found = found.or_else(|| dependent_on_column(database, self.session.id, definition, ordinal, change));
        match found {
            Some(key) => Err(messages::depends_on_column(&key, &definition.columns[ordinal].name)),
            None => Ok(()),
        }
    }

    /// The first foreign key that refers to a table in some way: the name of its table, and its own.
    fn referring(
        &self,
        database: &Database,
        object_id: u32,
        is_it: &dyn Fn(&ForeignKey) -> bool,
    ) -> Option<(String, String)> {
        let tables = database.catalog.referencing(object_id, self.session.id);
        tables.iter().find_map(|object| {
            let table = definition_of(object).ok()?;
            let key = table.foreign_keys.iter().find(|key| is_it(key))?;
            Some((table.name.clone(), key.name.clone()))
        })
    }

    /// Columns behind a dropped one move up: what foreign keys of other tables say of them follows.
    pub(super) fn shift_referenced_columns(
        &self,
        database: &Arc<Database>,
        object_id: u32,
        shift: &dyn Fn(&mut usize),
    ) -> Result<()> {
        for object in database.catalog.referencing(object_id, self.session.id) {
            let mut table = definition_of(&object)?.clone();
            if table.object_id == object_id {
                continue;
            }
            let keys = table
                .foreign_keys
                .iter_mut()
                .filter(|key| key.referenced_object == object_id);
            keys.for_each(|key| key.referenced_columns.iter_mut().for_each(shift));
            let changed = ObjectDefinition::Table(table);
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_object(database, &object, changed)?;
        }
        Ok(())
    }
}

/// A table as plans refer to it.
pub(super) fn bound(table: Table) -> Arc<BoundTable> {
    let definition = table.definition();
    let full_name = format!("{}.{}.{}", table.database().name(), definition.schema, definition.name);
    Arc::new(BoundTable { table, full_name })
}

pub(super) fn definition_of(object: &CatalogObject) -> Result<&TableDefinition> {
    match &object.definition {
        ObjectDefinition::Table(table) => Ok(table),
        _ => Err(Error::assertion("a foreign key refers to no table")),
    }
}

/// The columns that a foreign key refers to: those it lists, or the primary key's.
fn referenced_columns(referenced: &TableDefinition, listed: &[Identifier], name: &str) -> Result<Vec<usize>> {
    if listed.is_empty() {
        let primary = referenced.indexes.iter().find(|index| index.primary_key);
        let primary = primary.ok_or_else(|| messages::foreign_key_without_primary_key(name, &referenced.name))?;
        return Ok(primary.keys.iter().map(|(column, _)| *column).collect());
    }
    let ordinals = listed.iter().map(|column| {
        let missing = || messages::foreign_key_invalid_referenced_column(name, &column.text, &referenced.name);
        referenced.column(&column.text).ok_or_else(missing)
    });
    ordinals.collect()
}

fn stored_action(written: ast::ReferentialAction) -> ReferentialAction {
    match written {
        ast::ReferentialAction::NoAction => ReferentialAction::NoAction,
        ast::ReferentialAction::Cascade => ReferentialAction::Cascade,
        ast::ReferentialAction::SetNull => ReferentialAction::SetNull,
        ast::ReferentialAction::SetDefault => ReferentialAction::SetDefault,
    }
}

/// 1787 for an action beside an INSTEAD OF trigger that would run in its place.
fn check_triggers(name: &str, foreign: &ast::ForeignKey, table: &TableDefinition) -> Result<()> {
    let acts = |action| match action {
        TriggerAction::Insert => false,
        TriggerAction::Update => foreign.on_update != ast::ReferentialAction::NoAction,
        TriggerAction::Delete => foreign.on_delete != ast::ReferentialAction::NoAction,
    };
    let mut instead_of = table.triggers.iter().filter(|trigger| trigger.is_instead_of);
    match instead_of.any(|trigger| trigger.events.iter().any(|event| acts(event.action))) {
        true => Err(messages::cascade_with_instead_of(name, &table.name)),
        false => Ok(()),
    }
}

/// Whether the columns of a foreign key take what its actions would give them.
fn check_actions(name: &str, foreign: &ast::ForeignKey, table: &TableDefinition, columns: &[usize]) -> Result<()> {
    use ast::ReferentialAction::{Cascade, SetDefault, SetNull};
    let actions = [foreign.on_delete, foreign.on_update];
    for column in columns.iter().filter_map(|column| table.columns.get(*column)) {
        if actions.contains(&SetNull) && !column.nullable {
            return Err(messages::set_null_of_not_null(name));
        }
        if actions.contains(&SetDefault) && !column.nullable && column.default_expression().is_none() {
            return Err(messages::set_default_without_default(name));
        }
        let is_set =
            foreign.on_update == Cascade || actions.iter().any(|action| [SetNull, SetDefault].contains(action));
        if is_set && column.identity.is_some() {
            return Err(messages::cascade_to_identity(name, &table.name, &column.name));
        }
    }
    Ok(())
}

/// Two columns of a foreign key have one type and collation. Strings of one type may differ in length, since that changes nothing of how they compare.
fn check_types(
    name: &str,
    (table, column): (&TableDefinition, usize),
    (referenced, other): (&TableDefinition, usize),
) -> Result<()> {
    let (own, others) = (&table.columns[column], &referenced.columns[other]);
    let is_of = |kind: SqlType| own.sql_type.system_type_id() == kind.system_type_id();
    if !is_of(others.sql_type) {
        return Err(messages::foreign_key_types(
            &referenced.name,
            &others.name,
            &table.name,
            &own.name,
            name,
        ));
    }
    if own.sql_type != others.sql_type && !own.sql_type.is_character() {
        return Err(messages::foreign_key_lengths(
            &referenced.name,
            &others.name,
            &table.name,
            &own.name,
            name,
        ));
    }
    if own.sql_type.is_character() && own.collation != others.collation {
        return Err(messages::foreign_key_collations(
            &referenced.name,
            &others.name,
            &table.name,
            &own.name,
            name,
        ));
    }
    Ok(())
}
