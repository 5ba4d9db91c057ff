//! CREATE, DROP and ALTER INDEX of views: the rows of a view are made when its unique clustered index is, and go with it.
//!
//! ```text
//! CREATE UNIQUE CLUSTERED INDEX   the view is judged (bind/indexable), its rows are stored, its tables name it
//! other indexes                   over these rows, as over those of a table
//! DROP of the clustered index     the rows go, all other indexes with them; so with DROP VIEW and ALTER VIEW
//! DISABLE of it                   the rows go, the indexes stay switched off; REBUILD makes the rows again
//! ```
//! (sql-docs, "Create indexed views", "Disable indexes and constraints": disabling a clustered index on a view deletes its data.)
//!
//! The tables of the view are locked against everybody first (SQL Server lets them be read), then the view, in the order in which a change of
//! rows locks them.

use std::sync::Arc;

use engine::catalog::{
    Bindings, CatalogObject, ColumnDefinition, IndexDefinition, IndexOptions, ModuleDefinition, ModuleKind,
    ObjectDefinition, StorageRoot, TableDefinition,
};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::Table;
use engine::types::{COLLATION_VERSION, Collation, SqlType};

use super::data_space::{OF_THE_TABLE, default_space, space_of_index};
use super::executor::Executor;
use super::index_limits::check_indexes;
use super::index_options::{drops_existing, index_options};
use super::table_definition::index_columns;
use crate::ast::{CreateIndex, Identifier, Name};
use crate::bind::{Binder, IndexableView};
use crate::messages;
use crate::modules::{has_word, ignores_duplicates};
use crate::optimize::{Logical, Optimizer};
use crate::plan::KeptColumn;

/// Of a table whose trees are about to be made.
const NO_STORAGE: StorageRoot = StorageRoot {
    unit: 0,
    first_iam: (0, 0),
};

/// A view with its place.
pub(super) struct FoundView {
    pub(super) database: Arc<Database>,
    pub(super) object: Arc<CatalogObject>,
    module: ModuleDefinition,
}

impl FoundView {
    fn name(&self) -> String {
        format!("{}.{}", self.module.schema, self.module.name)
    }
}

impl Executor<'_> {
    /// The view of a name; `None` when it is something else or nothing.
    pub(super) fn find_view(&self, name: &Name) -> Result<Option<FoundView>> {
        let Some((database, object)) = self.session.find_object(name)? else {
            return Ok(None);
        };
        let module = match &object.definition {
            ObjectDefinition::Module(module) if module.kind == ModuleKind::View => module.clone(),
            _ => return Ok(None),
        };
        Ok(Some(FoundView {
            database,
            object,
            module,
        }))
    }

    /// A table, or the rows of a view that has indexes, locked against everybody else.
    ///
    /// # Errors
    /// 4902 for a view without an index, and for what is neither; those of waiting.
    pub(super) fn indexed_to_change(
        &self,
        name: &Name,
    ) -> Result<(Arc<Database>, Arc<CatalogObject>, TableDefinition)> {
        let (database, object, definition) = self.find_indexed(name)?;
        self.lock_with_tables(&database, &object)?;
        Ok((database, object, definition))
    }

    /// The same, not locked.
    ///
    /// # Errors
    /// 4902 for a view without an index, and for what is neither.
    pub(super) fn find_indexed(&self, name: &Name) -> Result<(Arc<Database>, Arc<CatalogObject>, TableDefinition)> {
        let found = self.session.find_object(name)?;
        let (database, object) = found.ok_or_else(|| messages::cannot_find_object(&name.to_string()))?;
        let definition = object.definition.table().cloned();
        let definition = definition.ok_or_else(|| messages::cannot_find_object(&name.to_string()))?;
        Ok((database, object, definition))
    }

    /// Locks an object whose definition is to be changed, an indexed view behind its tables.
    pub(super) fn lock_with_tables(&self, database: &Database, object: &Arc<CatalogObject>) -> Result<()> {
        let engine = self.session.engine.borrow();
        if object.definition.is_indexed_view() {
            engine.lock_tables_of_view(database, object.definition.object_id())?;
        }
        engine.lock_definition(database, object)
    }

    /// CREATE INDEX on a table or on a view.
    pub(super) fn create_index(&mut self, create: &CreateIndex, line: u32) -> Result<()> {
        match self.find_view(&create.table)? {
            Some(view) => self.create_view_index(create, &view, line),
            None => self.create_table_index(create, line),
        }
    }

    /// CREATE INDEX on a view.
    fn create_view_index(&mut self, create: &CreateIndex, view: &FoundView, line: u32) -> Result<()> {
        self.judge_view_index(create, view)?;
        if drops_existing(&create.options) {
            return Err(messages::not_supported("DROP_EXISTING = ON of an index of a view"));
        }
        let index = IndexDefinition {
            index_id: u32::from(create.clustered),
            name: create.name.text.clone(),
            keys: Vec::new(),
            included: Vec::new(),
            carried: Vec::new(),
            unique: create.unique,
            primary_key: false,
            unique_constraint: false,
            constraint_id: 0,
            is_system_named: false,
            collation_version: COLLATION_VERSION,
            filter: None,
            options: index_options(&create.options, IndexOptions::default()),
            is_disabled: false,
            data_space: self.space_of_view_index(create, view)?,
            storage: NO_STORAGE,
            other_partitions: Vec::new(),
        };
        match create.clustered {
            true => self.make_view_rows(view, (&create.name.text, line), |rows| {
                let columns = index_columns(rows, &create.columns, &create.included_columns)?;
                if !columns.included.is_empty() {
                    return Err(messages::include_of_clustered_index());
                }
                rows.indexes.push(IndexDefinition {
                    keys: columns.keys,
                    ..index.clone()
                });
                Ok(())
            })?,
            false => self.add_view_index(create, view, index, line)?,
        }
        let (database, id) = (&view.database, view.module.object_id);
        self.set_no_recompute(database, id, Some(&create.name.text), &create.options)
    }

    /// Where an index of a view is kept: without ON where the rows of the view are, or are to be.
    ///
    /// # Errors
    /// 40517 for a partition scheme; 1921, 1924.
    fn space_of_view_index(&self, create: &CreateIndex, view: &FoundView) -> Result<u32> {
        if create.data_space.as_ref().is_some_and(|space| space.column.is_some()) {
            return Err(messages::not_supported("a partition scheme for an index of a view"));
        }
        Ok(match space_of_index(&view.database, create.data_space.as_ref())? {
            OF_THE_TABLE => match view.module.rows.as_deref() {
                Some(rows) if !create.clustered => rows.data_space,
                _ => default_space(&view.database.entry()),
            },
            space => space,
        })
    }

    /// What is judged of an index on a view before the view itself.
    ///
    /// # Errors
    /// 1939, 1941, 1940, 1902, 1913, 1990, 10610, 1934, 1935.
    fn judge_view_index(&self, create: &CreateIndex, view: &FoundView) -> Result<()> {
        let (module, name) = (&view.module, view.name());
        if !has_word(&module.text, "SCHEMABINDING") {
            return Err(messages::view_not_schema_bound(&module.name));
        }
        if create.clustered && !create.unique {
            return Err(messages::view_clustered_not_unique(&name));
        }
        let rows = module.rows.as_deref();
        let indexes: Vec<&IndexDefinition> = rows.map_or_else(Vec::new, |rows| rows.every_index().collect());
        let clustered = indexes.iter().find(|index| index.index_id == 1);
        if clustered.is_none() && !create.clustered {
            return Err(messages::view_without_clustered(&name));
        }
        if indexes.iter().any(|index| create.name.is(&index.name)) {
            return Err(messages::index_exists(&create.table.to_string(), &create.name.text));
        }
        match clustered {
            Some(index) if create.clustered => return Err(messages::several_clustered_on_view(&name, &index.name)),
            Some(index) if index.is_disabled => {
                return Err(messages::clustered_is_disabled(
                    "create",
                    &create.name.text,
                    &module.name,
                ));
            }
            _ => {}
        }
        if ignores_duplicates(&create.options) {
            return Err(messages::view_index_ignores_duplicates());
        }
        if create.filter.is_some() {
            return Err(messages::filtered_index_on_view(
                &create.name.text,
                &create.table.to_string(),
            ));
        }
        self.session.require_index_settings("CREATE INDEX")?;
        let off: Vec<&str> = [
            (module.uses_ansi_nulls, "ANSI_NULLS"),
            (module.uses_quoted_identifier, "QUOTED_IDENTIFIER"),
        ]
        .iter()
        .filter(|(is_on, _)| !is_on)
        .map(|(_, option)| *option)
        .collect();
        match off.is_empty() {
            true => Ok(()),
            false => Err(messages::made_under_wrong_settings(&module.name, &off.join(", "))),
        }
    }

    /// Stores the rows of a view under the clustered index that `index` adds to their definition.
    ///
    /// # Errors
    /// Those of judging the view; 1505 for two rows of one key; those of its query and of writing.
    fn make_view_rows(
        &mut self,
        view: &FoundView,
        (name, line): (&str, u32),
        index: impl FnOnce(&mut TableDefinition) -> Result<()>,
    ) -> Result<()> {
        let (database, object) = (&view.database, &view.object);
        let indexable = self.judged_and_locked(view, name)?;
        let IndexableView {
            mut plan,
            columns,
            tables,
        } = indexable;
        let mut rows = self.rows_of_view(&view.module, &plan.columns);
        index(&mut rows)?;
        let clustered = rows.indexes.first().cloned();
        let clustered = clustered.ok_or_else(|| Error::assertion("rows of a view without an index"))?;
        let full_name = format!("{}.{}", database.name(), view.name());
        let is_grouped = columns.contains(&KeptColumn::Count);
        let is_key = |kind: KeptColumn| {
            let mut keys = clustered.keys.iter();
            keys.any(|(column, _)| columns.get(*column) == Some(&kind))
        };
        if is_grouped && (is_key(KeptColumn::Count) || is_key(KeptColumn::Sum)) {
            return Err(messages::key_not_grouped(&clustered.name, &full_name));
        }
        require_precise_keys(&rows, &clustered)?;
        check_indexes(self.session.instance.options.version, &rows, None)?;
        self.warn_of_long_keys(&rows, &clustered, line)?;
        plan.optimize(&mut Optimizer::new(self.session))?;
        let made = self
            .session
            .engine
            .borrow_mut()
            .replace_storage(database, object, rows)?;
        let filled = self.fill_new_table(Table::open(database, &made)?, &plan, None);
        filled.map_err(|error| error.while_building_index(&view.name(), &clustered.name))?;
        let mut engine = self.session.engine.borrow_mut();
        engine.name_indexed_view(database, view.module.object_id, &tables)?;
        drop(engine);
        self.count_index(database, view.module.object_id, None)
    }

    /// Judges a view, locks its tables and it, and binds it to what they are then.
    fn judged_and_locked(&mut self, view: &FoundView, index: &str) -> Result<IndexableView> {
        let (database, object) = (&view.database, &view.object);
        let judge = |executor: &Self| {
            Binder::new(executor.session, &executor.batch.scope).indexable_view(database, object, index)
        };
        let judged = judge(self)?;
        let engine = self.session.engine.borrow();
        for id in &judged.tables {
            let table = database.catalog.by_id(*id, self.session.id);
            let table = table.ok_or_else(|| Error::definition_changed(""))?;
            engine.lock_definition(database, &table)?;
        }
        engine.lock_definition(database, object)?;
        drop(engine);
        judge(self)
    }

    /// What the rows of a view look like: its columns, of the types that its query answers.
    fn rows_of_view(&self, module: &ModuleDefinition, columns: &[crate::sink::ResultColumn]) -> TableDefinition {
        let created = self.session.now_ticks();
        let column = |(place, column): (usize, &crate::sink::ResultColumn)| ColumnDefinition {
            name: module
                .columns
                .get(place)
                .map_or_else(|| column.name.clone(), |known| known.name.clone()),
            sql_type: column.sql_type,
            collation: match column.sql_type.is_character() {
                true => column.label.collation(),
                false => Collation::default(),
            },
            alias_type: module.columns.get(place).and_then(|known| known.alias_type),
            nullable: column.nullable,
            identity: None,
            default: None,
            is_row_guid: false,
            computed: None,
            generated: None,
            mask: None,
            bound: Bindings::default(),
        };
        TableDefinition {
            object_id: module.object_id,
            schema: module.schema.clone(),
            name: module.name.clone(),
            columns: columns.iter().enumerate().map(column).collect(),
            heap: None,
            other_partitions: Vec::new(),
            partitioning: None,
            data_space: engine::catalog::PRIMARY_FILEGROUP,
            text_space: None,
            indexes: Vec::new(),
            disabled_indexes: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            lock_escalation: engine::catalog::LockEscalation::default(),
            triggers: Vec::new(),
            versioning: None,
            history_of: None,
            indexed_views: Vec::new(),
            created: (created.days, created.ticks),
        }
    }

    /// Adds a nonclustered index to the rows of a view.
    fn add_view_index(
        &mut self,
        create: &CreateIndex,
        view: &FoundView,
        index: IndexDefinition,
        line: u32,
    ) -> Result<()> {
        let (database, object) = (&view.database, &view.object);
        self.lock_with_tables(database, object)?;
        let rows = view.module.rows.as_deref();
        let rows = rows.ok_or_else(|| messages::view_without_clustered(&view.name()))?;
        let columns = index_columns(rows, &create.columns, &create.included_columns)?;
        let index = IndexDefinition {
            keys: columns.keys,
            included: columns.included,
            ..index
        };
        require_precise_keys(rows, &index)?;
        check_indexes(self.session.instance.options.version, rows, Some(&index))?;
        self.warn_of_long_keys(rows, &index, line)?;
        let name = index.name.clone();
        self.session.engine.borrow_mut().create_index(database, object, index)?;
        self.count_index(database, view.module.object_id, Some(&name))
    }

    /// DROP INDEX of a view's: with the clustered one all others go.
    pub(super) fn drop_view_index(&mut self, index: &Identifier, view: &FoundView, if_exists: bool) -> Result<()> {
        let (database, object) = (&view.database, &view.object);
        self.lock_with_tables(database, object)?;
        let Some(mut rows) = view.module.rows.as_deref().cloned() else {
            return no_such_index(index, view, if_exists);
        };
        let dropped = rows.every_index().find(|other| index.is(&other.name));
        let Some(id) = dropped.map(|index| index.index_id) else {
            return no_such_index(index, view, if_exists);
        };
        let stays = |other: &IndexDefinition| id != 1 && other.index_id != id;
        rows.indexes.retain(stays);
        rows.disabled_indexes.retain(stays);
        let mut engine = self.session.engine.borrow_mut();
        let changed = object.definition.with_table(rows);
        engine.replace_object(database, object, changed).map(|_| ())
    }

    /// REBUILD of indexes of a view whose clustered index is switched off: its rows are made again.
    ///
    /// # Errors
    /// 1987 when the clustered one is not among them; those of making the rows.
    pub(super) fn rebuild_view(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        meant: &[String],
        line: u32,
    ) -> Result<()> {
        let ObjectDefinition::Module(module) = &object.definition else {
            return Err(Error::assertion("only a view goes without its rows"));
        };
        let view = FoundView {
            database: database.clone(),
            object: object.clone(),
            module: module.clone(),
        };
        let mut disabled = module
            .rows
            .as_ref()
            .map_or_else(Vec::new, |rows| rows.disabled_indexes.clone());
        let first = disabled
            .iter()
            .position(|index| index.index_id == 1 && meant.contains(&index.name));
        let Some(first) = first else {
            let name = meant.first().map_or("", String::as_str);
            return Err(messages::clustered_is_disabled("rebuild", name, &module.name));
        };
        let clustered = IndexDefinition {
            is_disabled: false,
            collation_version: COLLATION_VERSION,
            ..disabled.remove(first)
        };
        let name = clustered.name.clone();
        self.session.require_index_settings("ALTER INDEX")?;
        self.make_view_rows(&view, (&name, line), |rows| {
            rows.indexes.push(clustered);
            rows.disabled_indexes = disabled;
            Ok(())
        })?;
        for name in meant.iter().filter(|other| **other != name) {
            if let Some(object) = database.catalog.by_id(module.object_id, self.session.id) {
                self.enable_index(database, &object, name)?;
            }
        }
        Ok(())
    }

    /// Switches off the indexed views that read a table whose clustered index is switched off, and says so (1998).
    pub(super) fn disable_views_of(
        &mut self,
        database: &Arc<Database>,
        table: &TableDefinition,
        by: &str,
        line: u32,
    ) -> Result<()> {
        for id in &table.indexed_views {
            let Some(object) = database.catalog.by_id(*id, self.session.id) else {
                continue;
            };
            let Some(rows) = object.definition.table().cloned() else {
                continue;
            };
            let Some(clustered) = rows.clustered() else { continue };
            self.lock_with_tables(database, &object)?;
            let warning = messages::view_index_disabled(&clustered.name, &rows.name, &table.name, by);
            self.inform(warning.number, warning.severity, line, warning.message)?;
            self.disable_indexes(database, &object, std::slice::from_ref(&clustered.name), line)?;
        }
        Ok(())
    }
}

/// 3701, unless IF EXISTS was said.
fn no_such_index(index: &Identifier, view: &FoundView, if_exists: bool) -> Result<()> {
    match if_exists {
        true => Ok(()),
        false => Err(messages::cannot_drop("index", &format!("{}.{index}", view.name()))),
    }
}

/// 1901 for a float in the key of an index on a view.
fn require_precise_keys(rows: &TableDefinition, index: &IndexDefinition) -> Result<()> {
    let keys = index.keys.iter().filter_map(|(column, _)| rows.columns.get(*column));
    let mut floats = keys.filter(|column| matches!(column.sql_type, SqlType::Real | SqlType::Float));
    match floats.next() {
        Some(column) => {
            let name = format!("{}.{}", rows.schema, rows.name);
            Err(messages::imprecise_view_key(&index.name, &name, &column.name))
        }
        None => Ok(()),
    }
}
