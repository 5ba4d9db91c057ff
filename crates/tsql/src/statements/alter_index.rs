//! ALTER INDEX: REBUILD, REORGANIZE and SET; DISABLE is in `disabled_index`, PARTITION = number in `rebuilt_partition`. REORGANIZE rebuilds the index, like REBUILD: it fills its
//! pages to the fill factor while the table is locked.
//!
//! The grammar has refused what is not supported (`crate::grammar`).

use std::sync::Arc;

use engine::catalog::{CatalogObject, IndexDefinition, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::disabled_index::check_clustered_is_enabled;
use super::executor::Executor;
use super::index_options::{check_altered_ignoring, index_options, is_kept};
use super::rebuilt_partition::check_compressed_partitions;
use crate::ast::{AlterIndex, AlterIndexAction};
use crate::messages;

impl Executor<'_> {
    /// ALTER INDEX. The index must be there. What is not said stays as it is stored (sql-docs, ALTER INDEX).
    pub(super) fn alter_index(&mut self, alter: &AlterIndex, line: u32) -> Result<()> {
        let (database, mut object, mut definition) = self.indexed_to_change(&alter.table)?;
        let is_meant = |index: &IndexDefinition| alter.name.as_ref().is_none_or(|name| name.is(&index.name));
        let meant: Vec<String> = definition
            .every_index()
            .filter(|index| is_meant(index))
            .map(|index| index.name.clone())
            .collect();
        if let (Some(name), []) = (&alter.name, meant.as_slice()) {
            return Err(messages::no_such_index(&name.text));
        }
        if alter.action == AlterIndexAction::Disable {
            return self.disable_indexes(&database, &object, &meant, line);
        }
        let is_all = alter.name.is_none();
        let (is_set, table_name) = (alter.action == AlterIndexAction::Set, definition.name.clone());
        for index in definition.every_index_mut().filter(|index| is_meant(index)) {
            let is_passed_over = is_all && alter.action == AlterIndexAction::Reorganize;
            if index.is_disabled && alter.action != AlterIndexAction::Rebuild && !is_passed_over {
                return Err(messages::operation_on_disabled_index(&index.name, &table_name));
            }
            check_altered_ignoring(index, &alter.options, is_set, &alter.table.to_string())?;
            index.options = index_options(&alter.options, index.options);
        }
        let named = match &alter.name {
            Some(name) => ("alter", "index", name.text.as_str()),
            None => ("alter", "table", table_name.as_str()),
        };
        check_compressed_partitions(&alter.options, &definition, named)?;
        if let Some(partition) = &alter.partition {
            return self.rebuild_partition_of_indexes(&database, object, &meant, (alter, partition));
        }
        if alter.options.iter().any(|option| is_kept(&option.name)) {
            let changed = object.definition.with_table(definition.clone());
            let mut engine = self.session.engine.borrow_mut();
            object = engine.replace_object(&database, &object, changed)?;
        }
        let (table, name) = (definition.object_id, meant.first().filter(|_| !is_all).cloned());
        let place = name
            .as_ref()
            .and_then(|name| definition.indexes.iter().position(|index| index.name == *name));
        let is_without_rows =
            matches!(object.definition, ObjectDefinition::Module(_)) && !object.definition.is_indexed_view();
        match alter.action {
            AlterIndexAction::Rebuild if is_without_rows => self.rebuild_view(&database, &object, &meant, line),
            AlterIndexAction::Rebuild => {
                self.rebuild_meant(&database, object, definition, (place, &meant))?;
                self.set_no_recompute(&database, table, name.as_deref(), &alter.options)
            }
            AlterIndexAction::Reorganize => {
                let mut indexes = definition.indexes.iter().filter(|index| is_meant(index));
                if let Some(index) = indexes.find(|index| !index.options.allows_page_locks) {
                    return Err(messages::reorganize_without_page_locks(&index.name, &definition.name));
                }
                check_clustered_is_enabled(&definition)?;
                self.make_again(&database, object, definition, place)
            }
            AlterIndexAction::Set
                if alter
                    .options
                    .iter()
                    .any(|option| option.name == "STATISTICS_NORECOMPUTE") =>
            {
                self.set_no_recompute(&database, table, name.as_deref(), &alter.options)
            }
            AlterIndexAction::Disable | AlterIndexAction::Set => Ok(()),
        }
    }

    /// REBUILD of an index, or of all of them: what is disabled is enabled. The clustered index comes first.
    fn rebuild_meant(
        &mut self,
        database: &Arc<Database>,
        object: Arc<CatalogObject>,
        mut definition: TableDefinition,
        (place, meant): (Option<usize>, &[String]),
    ) -> Result<()> {
        let table = definition.object_id;
        let is_enabled = |definition: &TableDefinition| {
            let mut indexes = definition.indexes.iter();
            indexes.any(|index| meant.contains(&index.name))
        };
        if is_enabled(&definition) {
            if let Some(clustered) = definition
                .indexes
                .first_mut()
                .filter(|index| meant.contains(&index.name))
            {
                clustered.is_disabled &= clustered.index_id != 1;
            }
            self.make_again(database, object, definition, place)?;
        }
        for name in meant {
            let Some(object) = database.catalog.by_id(table, self.session.id) else {
                continue;
            };
            let Some(current) = object.definition.table() else {
                continue;
            };
            if current.disabled_indexes.iter().any(|index| index.name == *name) {
                self.enable_index(database, &object, name)?;
            }
        }
        Ok(())
    }

    /// One index, or all of a table, in new pages.
    fn make_again(
        &mut self,
        database: &Arc<Database>,
        object: Arc<CatalogObject>,
        definition: TableDefinition,
        place: Option<usize>,
    ) -> Result<()> {
        match place {
            Some(place) if definition.indexes[place].index_id != 1 => {
                let name = definition.indexes[place].name.clone();
                self.rebuild_index(database, &object, &name).map(|_| ())
            }
            // The clustered index is the table; and its rows move, so that the others are made again with it.
            _ if definition.clustered().is_some() => self.rebuild(database, &object, definition, None),
            _ => self.rebuild_all(database, object, &definition),
        }
    }

    /// Every index of a heap.
    fn rebuild_all(
        &mut self,
        database: &Arc<Database>,
        object: Arc<CatalogObject>,
        definition: &TableDefinition,
    ) -> Result<()> {
        let mut object = object;
        for index in &definition.indexes {
            object = self.rebuild_index(database, &object, &index.name)?;
        }
        Ok(())
    }

    /// Makes a nonclustered index again: its rows, in new pages, under its own id and in its own place.
    fn rebuild_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        name: &str,
    ) -> Result<Arc<CatalogObject>> {
        let table_of = |object: &CatalogObject| {
            let table = object.definition.table().cloned();
            table.ok_or_else(|| Error::assertion("only tables and views have indexes"))
        };
        let mut engine = self.session.engine.borrow_mut();
        let mut without = table_of(object)?;
        let place = without.indexes.iter().position(|index| index.name == name);
        let place = place.ok_or_else(|| messages::no_such_index(name))?;
        let index = without.indexes.remove(place);
        database.check_new_storage_of(&without, index.data_space)?;
        let (index_id, constraint_id) = (index.index_id, index.constraint_id);
        let object = engine.replace_object(database, object, object.definition.with_table(without))?;
        let object = engine.create_index(database, &object, index)?;
        let mut with = table_of(&object)?;
        let mut made = with
            .indexes
            .pop()
            .ok_or_else(|| Error::assertion("an index that was not made"))?;
        (made.index_id, made.constraint_id) = (index_id, constraint_id);
        with.indexes.insert(place, made);
        let table = with.object_id;
        let rebuilt = engine.replace_object(database, &object, object.definition.with_table(with))?;
        drop(engine);
        self.count_index(database, table, Some(name))?;
        Ok(rebuilt)
    }
}
