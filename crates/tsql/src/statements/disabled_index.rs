//! ALTER INDEX DISABLE, and its effects.
//!
//! ```text
//! disabled         its entries   uniqueness    the table       foreign keys to it         enabled again by
//! nonclustered     are removed   not checked   as before       disabled, not trusted      REBUILD, which checks (1505)
//! clustered        stay          -             8655, 1974      all disabled               REBUILD; the other indexes are disabled with it
//! of a view        are removed   not checked   its query       -                          REBUILD of the clustered one
//! ```
//! (sql-docs, "Disable indexes and constraints", ALTER INDEX.)

use std::sync::Arc;

use engine::catalog::{CatalogObject, ForeignKey, IndexDefinition, ObjectDefinition, StorageRoot, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::executor::Executor;
use crate::messages;

/// Of an index that has no tree.
const NO_STORAGE: StorageRoot = StorageRoot {
    unit: 0,
    first_iam: (0, 0),
};

/// 1974 when the clustered index of a table is disabled.
pub(super) fn check_clustered_is_enabled(table: &TableDefinition) -> Result<()> {
    match table.disabled_clustered() {
        Some(index) => Err(messages::operation_on_disabled_table(&table.name, &index.name)),
        None => Ok(()),
    }
}

fn table_of(object: &CatalogObject) -> Result<TableDefinition> {
    let table = object.definition.table().cloned();
    table.ok_or_else(|| Error::assertion("only tables and views have indexes"))
}

impl Executor<'_> {
    /// Switches off indexes by their names: their entries go, and foreign keys that need them are switched off.
    pub(super) fn disable_indexes(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        names: &[String],
        line: u32,
    ) -> Result<()> {
        let is_named = |index: &IndexDefinition| names.contains(&index.name);
        let before = table_of(object)?;
        let clustered = before.clustered().filter(|index| is_named(index));
        if let Some(index) = clustered.filter(|_| !before.indexed_views.is_empty()) {
            self.disable_views_of(database, &before, &index.name, line)?;
        }
        // Its views name it no more.
        let object = database.catalog.by_id(before.object_id, self.session.id);
        let object = &object.ok_or_else(|| Error::definition_changed(&before.name))?;
        let is_view = matches!(object.definition, ObjectDefinition::Module(_));
        let mut table = table_of(object)?;
        let disables_clustered = table.clustered().is_some_and(is_named);
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for mut index in std::mem::take(&mut table.indexes) {
            if index.index_id == 1 && !(is_view && disables_clustered) {
                index.is_disabled |= disables_clustered;
                kept.push(index);
            } else if disables_clustered || is_named(&index) {
                index.is_disabled = true;
                index.storage = NO_STORAGE;
                index.other_partitions = Vec::new();
                index.carried = Vec::new();
                gone.push(index);
            } else {
                kept.push(index);
            }
        }
        table.indexes = kept;
        for index in gone.iter().filter(|index| !is_named(index)) {
            let text = format!(
                "Warning: Index '{}' on table '{}' was disabled as a result of disabling the clustered index on the table.",
                index.name, table.name
            );
            self.inform(3750, 10, line, text)?;
        }
        table.disabled_indexes.extend(gone);
        table.disabled_indexes.sort_by_key(|index| index.index_id);
        let first = names.first().map_or("", String::as_str);
        self.disable_referencing(database, &mut table, first, line)?;
        let mut engine = self.session.engine.borrow_mut();
        let changed = object.definition.with_table(table);
        engine.replace_object(database, object, changed).map(|_| ())
    }

    /// Switches off the foreign keys that have lost the index of the keys that they refer to.
    fn disable_referencing(
        &mut self,
        database: &Arc<Database>,
        table: &mut TableDefinition,
        index: &str,
        line: u32,
    ) -> Result<()> {
        let (id, lost) = (table.object_id, table.clone());
        let is_lost = |key: &ForeignKey| {
            !key.is_disabled && key.referenced_object == id && lost.unique_index_of(&key.referenced_columns).is_none()
        };
        let mut told = Vec::new();
        let mut switch = |owner: &mut TableDefinition| {
            let keys = owner.foreign_keys.iter_mut().filter(|key| is_lost(key));
            let before = told.len();
            for key in keys {
                (key.is_disabled, key.is_not_trusted) = (true, true);
                told.push((key.name.clone(), owner.name.clone()));
            }
            told.len() > before
        };
        switch(table);
        for object in database.catalog.referencing(id, self.session.id) {
            if object.definition.object_id() == id {
                continue;
            }
            let mut owner = table_of(&object)?;
            if switch(&mut owner) {
                let mut engine = self.session.engine.borrow_mut();
                engine.replace_object(database, &object, ObjectDefinition::Table(owner))?;
            }
        }
        for (key, owner) in told {
            let text = format!(
                "Warning: Foreign key '{key}' on table '{owner}' referencing table '{}' was disabled as a result of disabling the index '{index}'.",
                table.name
            );
            self.inform(1992, 10, line, text)?;
        }
        Ok(())
    }

    /// 1989 for a foreign key that is to be switched on while the index of the keys that it refers to is disabled.
    pub(super) fn check_referenced_indexes(&self, database: &Database, keys: &[ForeignKey]) -> Result<()> {
        for key in keys {
            let Some(object) = database.catalog.by_id(key.referenced_object, self.session.id) else {
                continue;
            };
            let referenced = table_of(&object)?;
            if referenced.unique_index_of(&key.referenced_columns).is_some() {
                continue;
            }
            let mut disabled = referenced.every_index().filter(|index| index.is_disabled);
            let index = disabled.next().map_or("", |index| index.name.as_str());
            return Err(messages::referenced_index_is_disabled(&key.name, index));
        }
        Ok(())
    }

    /// Makes the tree of an index that was disabled, with an entry for every row.
    ///
    /// # Errors
    /// 1505 for two rows of one key; 1987 while the clustered index is disabled.
    pub(super) fn enable_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        name: &str,
    ) -> Result<Arc<CatalogObject>> {
        let mut without = table_of(object)?;
        if without.disabled_clustered().is_some() {
            return Err(messages::clustered_is_disabled("rebuild", name, &without.name));
        }
        let place = without.disabled_indexes.iter().position(|index| index.name == name);
        let place = place.ok_or_else(|| messages::no_such_index(name))?;
        let mut index = without.disabled_indexes.remove(place);
        index.is_disabled = false;
        index.collation_version = engine::types::COLLATION_VERSION;
        let (index_id, constraint_id) = (index.index_id, index.constraint_id);
        let table = without.object_id;
        let mut engine = self.session.engine.borrow_mut();
        let object = engine.replace_object(database, object, object.definition.with_table(without))?;
        let object = engine.create_index(database, &object, index)?;
        let mut with = table_of(&object)?;
        let made = with.indexes.pop();
        let mut made = made.ok_or_else(|| Error::assertion("an index that was not made"))?;
        (made.index_id, made.constraint_id) = (index_id, constraint_id);
        let place = with.indexes.partition_point(|other| other.index_id < index_id);
        with.indexes.insert(place, made);
        let enabled = engine.replace_object(database, &object, object.definition.with_table(with))?;
        drop(engine);
        self.count_index(database, table, Some(name))?;
        Ok(enabled)
    }
}
