//! CREATE, ALTER, DROP and TRUNCATE TABLE; indexes, views, procedures, schemas.

use std::sync::Arc;

use engine::catalog::{CatalogObject, IndexDefinition, IndexOptions, ObjectDefinition, StorageRoot, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::{Table, all_statistics};
use engine::types::COLLATION_VERSION;

use super::disabled_index::check_clustered_is_enabled;
use super::executor::Executor;
use super::index_limits::{check_indexes, long_key_warning};
use super::index_options::{check_filter_without_ignoring, check_uniqueness_of_ignoring, index_options};
use super::rebuilt_partition::check_compressed_partitions;
use super::table_definition::{index_columns, refuse_json_key};
use super::versioning::{full_name, versioning_of};
use crate::ast::{
    AlterTable, CreateIndex, CreateSchema, CreateTable, Drop, DropIndex, Identifier, Name, ObjectKind, StatementKind,
    TruncateTable,
};
use crate::failure::Place;
use crate::messages;
use crate::modules::object_of_schema;
use crate::sink::DoneKind;

impl Executor<'_> {
    /// A statement that changes definitions.
    pub(super) fn define(&mut self, kind: &StatementKind, work: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        self.redefining_by(kind, 0, work)?;
        self.defined()
    }

    /// The same for one that may make constraints, which says so when it fails (1750).
    pub(super) fn define_table(&mut self, kind: &StatementKind, work: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        self.redefining_by(kind, 0, work)
            .map_err(messages::while_making_constraint)?;
        self.defined()
    }

    /// The same for one that names several objects, each a unit by itself.
    pub(super) fn define_each<T>(
        &mut self,
        kind: &StatementKind,
        objects: &[T],
        work: impl Fn(&mut Self, &T) -> Result<()>,
    ) -> Result<()> {
        for (place, object) in objects.iter().enumerate() {
            self.redefining_by(kind, place, |executor| work(executor, object))?;
        }
        self.defined()
    }

    fn defined(&mut self) -> Result<()> {
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    /// ALTER TABLE. Rows that conflict with a new constraint (547) end more than those that conflict in a change.
    pub(super) fn change_table(&mut self, kind: &StatementKind, alter: &AlterTable, line: u32) -> Result<()> {
        let altered = self.define_table(kind, |executor| executor.alter_table(alter, line));
        if matches!(&altered, Err(error) if error.number == 547) {
            self.statement.place.set(Place::Definition);
        }
        altered
    }

    pub(super) fn drop_indexes(&mut self, kind: &StatementKind, drop: &DropIndex) -> Result<()> {
        self.define_each(kind, &drop.indexes, |executor, (index, table)| {
            executor.drop_index(index, table, drop.if_exists)
        })
    }

    pub(super) fn drop_objects(&mut self, kind: &StatementKind, drop: &Drop, line: u32) -> Result<()> {
        match drop.kind {
            ObjectKind::Database => {
                self.by_system(line, |context, host| crate::system::drop_databases(context, host, drop))
            }
            _ => self.define_each(kind, &drop.names, |executor, name| executor.drop_object(drop, name)),
        }
    }

    /// Runs what changes definitions as a unit: whole or not at all, and again when an object it has found was redefined while it waited
    /// for the object's lock.
    pub(super) fn redefining(&mut self, work: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        self.with_current_plan(|executor| executor.atomically(true, &work))
    }

    pub(super) fn create_table(&mut self, create: &CreateTable, line: u32) -> Result<()> {
        let mut definition = self.definition_of(&create.name, &create.elements)?;
        self.place_table(create, &mut definition)?;
        let named = ("create", "table", create.name.object());
        check_compressed_partitions(&create.options, &definition, named)?;
        self.create_defined_table(&create.name, definition, line)?;
        match versioning_of(&create.options)?.flatten() {
            Some(versioning) => self.set_versioning(&create.name, Some(versioning), line),
            None => Ok(()),
        }
    }

    /// Creates a table from its definition. A temporary one gets a name in tempdb that is its session's alone.
    pub(super) fn create_defined_table(
        &mut self,
        name: &Name,
        mut definition: TableDefinition,
        line: u32,
    ) -> Result<Table> {
        let database = self.session.database_of(name)?;
        let own_name = name.object();
        let is_private = crate::state::is_private(own_name);
        if is_private {
            definition.name = self.session.name_to_store(&database, own_name)?;
        }
        if own_name.starts_with('#') {
            for _ in std::mem::take(&mut definition.foreign_keys) {
                let skipped = messages::foreign_key_skipped(own_name);
                self.inform(skipped.number, skipped.severity, line, skipped.message)?;
            }
        }
        if !is_private {
            self.check_schema(&database, &definition.schema)?;
        }
        if database
            .catalog
            .find(&definition.schema, &definition.name, self.session.id)
            .is_some()
        {
            return Err(messages::object_exists(own_name));
        }
        self.tell_referenced(&database, 0, &definition.foreign_keys)?;
        self.check_cascades(&database, &definition, definition.foreign_keys.len())?;
        for index in &definition.indexes {
            self.warn_of_long_keys(&definition, index, line)?;
        }
        let object = self.session.engine.borrow_mut().create_table(&database, definition)?;
        self.session.note_temporary(own_name, &object);
        Table::open(&database, &object)
    }

    pub(super) fn check_schema(&self, database: &Database, schema: &str) -> Result<()> {
        if crate::views::id_of_schema(database, self.session.id, schema).is_some() {
            return Ok(());
        }
        let text = format!(
            "The specified schema name \"{schema}\" either does not exist or you do not have permission to use it."
        );
        Err(Error::new(2760, 16, 1, text))
    }

    /// A table by its name, with its definition.
    pub(super) fn find_table(&self, name: &Name) -> Result<(Arc<Database>, Arc<CatalogObject>, TableDefinition)> {
        let found = self.session.find_object(name)?;
        let (database, object) = found.ok_or_else(|| messages::cannot_find_object(&name.to_string()))?;
        match &object.definition {
            ObjectDefinition::Table(definition) => {
                let definition = definition.clone();
                Ok((database, object, definition))
            }
            _ => Err(messages::cannot_find_object(&name.to_string())),
        }
    }

    /// A table that is about to be changed, as [`Executor::find_table`] finds it, locked against everybody else.
    pub(super) fn table_to_change(&self, name: &Name) -> Result<(Arc<Database>, Arc<CatalogObject>, TableDefinition)> {
        let (database, object, definition) = self.find_table(name)?;
        self.session.engine.borrow().lock_definition(&database, &object)?;
        Ok((database, object, definition))
    }

    /// DROP of one object.
    fn drop_object(&mut self, drop: &Drop, name: &Name) -> Result<()> {
        if drop.kind == ObjectKind::Type {
            return self.drop_type(name, drop.if_exists);
        }
        if drop.kind == ObjectKind::XmlSchemaCollection {
            return self.drop_xml_schema_collection(name);
        }
        if drop.kind == ObjectKind::Trigger {
            return self.drop_trigger(name, drop.if_exists);
        }
        if drop.kind == ObjectKind::DatabaseTrigger {
            return self.drop_database_trigger(name, drop.if_exists);
        }
        let (word, wanted) = dropped_kind(drop.kind);
        let found = if drop.kind == ObjectKind::Schema {
            let database = self.session.database();
            let schemas = database.catalog.objects(self.session.id);
            let found = schemas.into_iter().find(|object| {
                matches!(&object.definition, ObjectDefinition::Schema { name: other, .. } if other.eq_ignore_ascii_case(name.object()))
            });
            found.map(|object| (database, object))
        } else {
            self.session.find_object(name)?
        };
        if let Some((_, object)) = &found {
            let code = crate::views::type_code(&object.definition);
            if !wanted.contains(&code) {
                return Err(drop_of_another_kind(word, name, code));
            }
        }
        let Some((database, object)) = found else {
            self.check_no_default_constraint(drop.kind, name)?;
            return if drop.if_exists {
                Ok(())
            } else {
                Err(messages::cannot_drop(word, &name.to_string()))
            };
        };
        self.lock_with_tables(&database, &object)?;
        self.check_not_bound(&database, &object)?;
        if let Some(table) = versioned(&object) {
            return Err(messages::drop_of_versioned(&full_name(&database, table)));
        }
        self.check_not_referenced(&database, &object, messages::dropped_table_is_referenced)?;
        if let ObjectDefinition::Schema { name, .. } = &object.definition
            && let Some(inside) = object_of_schema(&database, self.session.id, name)
        {
            let inside = inside.definition.qualified_name().map_or("", |(_, name)| name);
            return Err(messages::referenced_by_object("drop schema", name, inside));
        }
        self.check_not_named(
            &database,
            &object,
            &format!("DROP {}", word.to_uppercase()),
            &name.to_string(),
        )?;
        self.session.engine.borrow_mut().drop_object(&database, &object)
    }

    pub(super) fn truncate(&mut self, truncate: &TruncateTable) -> Result<()> {
        let name = &truncate.name;
        let (database, object, definition) = self.table_to_change(name)?;
        check_clustered_is_enabled(&definition)?;
        if versioned(&object).is_some() {
            return Err(messages::truncate_of_versioned(&full_name(&database, &definition)));
        }
        self.check_not_referenced(&database, &object, messages::truncated_table_is_referenced)?;
        let mut views = definition.indexed_views.iter();
        if let Some(view) = views.find_map(|id| database.catalog.by_id(*id, self.session.id)) {
            let view = view.definition.qualified_name().map_or("", |(_, name)| name);
            return Err(messages::referenced_by_object(
                "TRUNCATE TABLE",
                &name.to_string(),
                view,
            ));
        }
        if !truncate.partitions.is_empty() {
            let numbers = self.partitions_to_truncate(&definition, &truncate.partitions)?;
            let mut session = self.session.engine.borrow_mut();
            return session.truncate_partitions(&database, &object, &numbers).map(|_| ());
        }
        let mut session = self.session.engine.borrow_mut();
        session.truncate_table(&database, &object).map(|_| ())
    }

    /// CREATE SCHEMA, with what is made in it.
    ///
    /// # Errors
    /// 15151 for an owner that is not there, 2714 for a name that is taken; those of the elements.
    pub(super) fn create_schema(&mut self, schema: &CreateSchema) -> Result<()> {
        let name = &schema.name.text;
        let id = self.create_empty_schema(name, schema.owner.as_ref())?;
        if let Some(owner) = &schema.owner {
            self.changing(|change| change.own_new_schema(id, &owner.text))?;
        }
        let session = self.session;
        session.within_schema(Some(name), || {
            let mut elements = schema.elements.iter();
            elements.try_for_each(|element| match &element.kind {
                StatementKind::CreateTable(create) => self.create_table(create, element.line),
                StatementKind::AlterTable(alter) => self.alter_table(alter, element.line),
                StatementKind::CreateView(view) => self.create_view_of_schema(&element.kind, view),
                StatementKind::Permission(permission) => self.permission(permission, element.line),
                other => Err(messages::not_supported(other.facts().name)),
            })
        })
    }

    /// Answers the schema's id.
    fn create_empty_schema(&mut self, name: &str, owner: Option<&Identifier>) -> Result<u32> {
        let database = self.session.database();
        if let Some(owner) = owner {
            self.changing(|change| change.schema_owner(&owner.text).map(|_| ()))?;
        }
        if crate::views::id_of_schema(&database, self.session.id, name).is_some() {
            return Err(messages::object_exists(name));
        }
        let object_id = database.new_object_id()?;
        let definition = ObjectDefinition::Schema {
            object_id,
            name: name.to_owned(),
        };
        let mut session = self.session.engine.borrow_mut();
        session.create_object(&database, definition).map(|_| object_id)
    }

    /// Warns that keys of an index that is made may be too long for it.
    pub(super) fn warn_of_long_keys(
        &mut self,
        table: &TableDefinition,
        index: &IndexDefinition,
        line: u32,
    ) -> Result<()> {
        match long_key_warning(table, index) {
            Some(warning) => self.inform(warning.number, warning.severity, line, warning.message),
            None => Ok(()),
        }
    }

    /// CREATE INDEX on a table. A clustered one rebuilds the table.
    pub(super) fn create_table_index(&mut self, create: &CreateIndex, line: u32) -> Result<()> {
        check_uniqueness_of_ignoring(create.unique, &create.options)?;
        let (database, object, definition) = self.table_to_change(&create.table)?;
        if create.unique && definition.history_of.is_some() {
            return Err(messages::unique_index_of_history(&full_name(&database, &definition)));
        }
        let statistics = all_statistics(&database, &definition, self.session.id);
        let replaces = super::index_options::drops_existing(&create.options);
        if let Some(clustered) = definition.disabled_clustered()
            && !(replaces && create.name.is(&clustered.name))
        {
            return Err(messages::clustered_is_disabled(
                "create",
                &create.name.text,
                &definition.name,
            ));
        }
        let is_disabled = definition
            .disabled_indexes
            .iter()
            .any(|index| create.name.is(&index.name));
        if replaces && !definition.every_index().any(|index| create.name.is(&index.name)) {
            return Err(messages::no_index_to_replace(
                &create.name.text,
                &create.table.to_string(),
            ));
        }
        if !replaces && (is_disabled || statistics.iter().any(|known| create.name.is(&known.name))) {
            return Err(messages::index_exists(&create.table.to_string(), &create.name.text));
        }
        let mut index = self.index_to_make(create, &definition)?;
        let definition = self.place_index(&database, definition, &mut index, create.data_space.as_ref())?;
        let named = ("create", "index", create.name.text.as_str());
        check_compressed_partitions(&create.options, &definition, named)?;
        if crate::bind::needs_settings(&definition, &index) {
            self.session.require_index_settings("CREATE INDEX")?;
        }
        if replaces {
            return self.replace_index(&database, &object, &definition, (index, create, line));
        }
        check_indexes(self.session.instance.options.version, &definition, Some(&index))?;
        check_filter_without_ignoring(&index, "create", &create.table.to_string())?;
        self.warn_of_long_keys(&definition, &index, line)?;
        self.add_index(&database, &object, &definition, index)?;
        self.set_no_recompute(
            &database,
            definition.object_id,
            Some(&create.name.text),
            &create.options,
        )
    }

    /// The index that CREATE INDEX describes.
    fn index_to_make(&self, create: &CreateIndex, definition: &TableDefinition) -> Result<IndexDefinition> {
        for column in &create.columns {
            refuse_json_key(definition, &column.name.text)?;
        }
        let columns = index_columns(definition, &create.columns, &create.included_columns)?;
        if create.clustered && !columns.included.is_empty() {
            return Err(messages::include_of_clustered_index());
        }
        let filter = match &create.filter {
            Some(filter) => {
                Some(self.index_filter(definition, (&create.name.text, &create.table.to_string()), filter)?)
            }
            None => None,
        };
        if filter.is_some() && create.clustered {
            return Err(messages::filter_incorrect(
                "index",
                &create.name.text,
                &create.table.to_string(),
            ));
        }
        Ok(IndexDefinition {
            index_id: u32::from(create.clustered),
            name: create.name.text.clone(),
            keys: columns.keys,
            included: columns.included,
            carried: Vec::new(),
            unique: create.unique,
            primary_key: false,
            unique_constraint: false,
            constraint_id: 0,
            is_system_named: false,
            collation_version: COLLATION_VERSION,
            is_disabled: false,
            filter,
            options: index_options(&create.options, IndexOptions::default()),
            data_space: definition.data_space,
            storage: StorageRoot {
                unit: 0,
                first_iam: (0, 0),
            },
            other_partitions: Vec::new(),
        })
    }

    /// Adds an index to a table that may have rows.
    pub(super) fn add_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        index: IndexDefinition,
    ) -> Result<()> {
        let (object, definition) = &self.with_stored_computed(database, object, definition, &index)?;
        if index.index_id != 1 {
            let name = index.name.clone();
            let mut engine = self.session.engine.borrow_mut();
            engine.create_index(database, object, index)?;
            drop(engine);
            return self.count_index(database, definition.object_id, Some(&name));
        }
        if let Some(clustered) = definition.clustered() {
            return Err(super::table_definition::several_clustered(
                &definition.name,
                &clustered.name,
            ));
        }
        let mut changed = definition.clone();
        let table = format!("{}.{}", definition.schema, definition.name);
        let name = index.name.clone();
        changed.data_space = index.data_space;
        changed.indexes.insert(0, index);
        changed.heap = None;
        let rebuilt = self.rebuild(database, object, changed, None);
        rebuilt.map_err(|error| error.while_building_index(&table, &name))
    }

    fn drop_index(&mut self, index: &Identifier, table: &Name, if_exists: bool) -> Result<()> {
        if let Some(view) = self.find_view(table)? {
            return self.drop_view_index(index, &view, if_exists);
        }
        let (database, object, mut definition) = self.table_to_change(table)?;
        let place = definition.indexes.iter().position(|other| index.is(&other.name));
        let disabled = definition
            .disabled_indexes
            .iter()
            .position(|other| index.is(&other.name));
        if let Some(place) = disabled
            && !definition.disabled_indexes[place].is_constraint()
        {
            definition.disabled_indexes.remove(place);
            return self.replace_definition(&database, &object, definition);
        }
        let place = place.or(disabled.map(|place| definition.indexes.len() + place));
        let Some(place) = place else {
            return match if_exists {
                true => Ok(()),
                false => Err(messages::cannot_drop("index", &format!("{table}.{index}"))),
            };
        };
        let Some(found) = definition.every_index().nth(place) else {
            return Err(Error::assertion("an index that was found"));
        };
        let refused = |enforced: &str, state: u8| {
            let text = format!(
                "An explicit DROP INDEX is not allowed on index '{table}.{index}'. It is being used for {enforced} constraint enforcement."
            );
            Err(Error::new(3723, 16, state, text))
        };
        if found.primary_key || found.unique_constraint {
            return refused("PRIMARY KEY", 4);
        }
        if self.key_that_needs(&database, &definition, found).is_some() {
            return refused("FOREIGN KEY", 6);
        }
        self.remove_index(&database, &object, &mut definition, place)
    }

    pub(super) fn remove_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &mut TableDefinition,
        place: usize,
    ) -> Result<()> {
        if place == 0 && definition.clustered().is_some() {
            self.check_retention_index(database, definition)?;
        }
        let removed = definition.indexes.remove(place);
        if removed.index_id == 1 {
            definition.data_space = removed.data_space;
        }
        let definition = definition.clone();
        if removed.index_id == 1 {
            return self.rebuild(database, object, definition, None);
        }
        self.replace_definition(database, object, definition)
    }
}

/// What messages call an object that is dropped, and the letters of its kinds.
fn dropped_kind(kind: ObjectKind) -> (&'static str, &'static [&'static str]) {
    match kind {
        ObjectKind::Table => ("table", &["U"]),
        ObjectKind::View => ("view", &["V"]),
        ObjectKind::Procedure => ("procedure", &["P"]),
        ObjectKind::Function => ("function", &["FN", "IF", "TF"]),
        ObjectKind::Sequence => ("sequence object", &["SO"]),
        ObjectKind::Synonym => ("synonym", &["SN"]),
        ObjectKind::Default => ("default", &["D"]),
        ObjectKind::Rule => ("rule", &["R"]),
        ObjectKind::Schema => ("schema", &[""]),
        ObjectKind::Type
        | ObjectKind::Database
        | ObjectKind::Trigger
        | ObjectKind::DatabaseTrigger
        | ObjectKind::XmlSchemaCollection => ("type", &[]),
    }
}

/// The table of a temporal pair, if an object is one.
fn versioned(object: &CatalogObject) -> Option<&TableDefinition> {
    match &object.definition {
        ObjectDefinition::Table(table) => {
            Some(table).filter(|table| table.versioning.is_some() || table.history_of.is_some())
        }
        _ => None,
    }
}

/// 3705: the object is there, but is another statement's to drop; IF EXISTS does not change that.
fn drop_of_another_kind(word: &str, name: &Name, code: &str) -> Error {
    let (kind, own) = match code {
        "U" => ("table", "TABLE"),
        "V" => ("view", "VIEW"),
        "P" => ("procedure", "PROCEDURE"),
        "FN" => ("function", "FUNCTION"),
        "IF" | "TF" => ("table valued function", "FUNCTION"),
        "SN" => ("synonym", "SYNONYM"),
        "TR" => ("trigger", "TRIGGER"),
        "D" => ("default", "DEFAULT"),
        "R" => ("rule", "RULE"),
        _ => ("sequence object", "SEQUENCE"),
    };
    let wanted = word.split(' ').next().unwrap_or(word).to_uppercase();
    messages::drop_of_another_kind(&wanted, &name.to_string(), kind, own)
}
