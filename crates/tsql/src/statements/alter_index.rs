//! ALTER INDEX: REBUILD, REORGANIZE and SET. A reorganized index is made again, as a rebuilt one is: its pages are filled as its fill factor says,
//! while the table is locked.
//!
//! The grammar has refused what is not supported (`crate::grammar`).

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::executor::Executor;
use super::index_options::{check_altered_ignoring, index_options, is_kept};
use crate::ast::{AlterIndex, AlterIndexAction};
use crate::messages;

impl Executor<'_> {
    /// ALTER INDEX. The index must be there. What is not said stays as it is stored (sql-docs, ALTER INDEX).
    pub(super) fn alter_index(&mut self, alter: &AlterIndex) -> Result<()> {
        let (database, mut object, mut definition) = self.table_to_change(&alter.table)?;
        let place = match &alter.name {
            None => None,
            Some(name) => Some(
                definition
                    .indexes
                    .iter()
                    .position(|index| name.is(&index.name))
                    .ok_or_else(|| messages::no_such_index(&name.text))?,
            ),
        };
        let name = place.map(|place| definition.indexes[place].name.clone());
        let places = place.map_or(0..definition.indexes.len(), |place| place..place + 1);
        let is_set = alter.action == AlterIndexAction::Set;
        for index in &mut definition.indexes[places] {
            check_altered_ignoring(index, &alter.options, is_set, &alter.table.to_string())?;
            index.options = index_options(&alter.options, index.options);
        }
        if alter.options.iter().any(|option| is_kept(&option.name)) {
            let changed = ObjectDefinition::Table(definition.clone());
            let mut engine = self.session.engine.borrow_mut();
            object = engine.replace_object(&database, &object, changed)?;
        }
        let table = definition.object_id;
        match alter.action {
            AlterIndexAction::Rebuild => {
                self.make_again(&database, object, definition, place)?;
                self.set_no_recompute(&database, table, name.as_deref(), &alter.options)
            }
            AlterIndexAction::Reorganize => {
                let places = place.map_or(0..definition.indexes.len(), |place| place..place + 1);
                let mut indexes = definition.indexes[places].iter();
                if let Some(index) = indexes.find(|index| !index.options.allows_page_locks) {
                    return Err(messages::reorganize_without_page_locks(&index.name, &definition.name));
                }
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
        let table_of = |object: &CatalogObject| match &object.definition {
            ObjectDefinition::Table(table) => Ok(table.clone()),
            _ => Err(Error::assertion("only tables have indexes")),
        };
        let mut engine = self.session.engine.borrow_mut();
        let mut without = table_of(object)?;
        let place = without.indexes.iter().position(|index| index.name == name);
        let place = place.ok_or_else(|| messages::no_such_index(name))?;
        let index = without.indexes.remove(place);
        let (index_id, constraint_id) = (index.index_id, index.constraint_id);
        let object = engine.replace_object(database, object, ObjectDefinition::Table(without))?;
        let object = engine.create_index(database, &object, index)?;
        let mut with = table_of(&object)?;
        let mut made = with
            .indexes
            .pop()
            .ok_or_else(|| Error::assertion("an index that was not made"))?;
        (made.index_id, made.constraint_id) = (index_id, constraint_id);
        with.indexes.insert(place, made);
        let table = with.object_id;
        let rebuilt = engine.replace_object(database, &object, ObjectDefinition::Table(with))?;
        drop(engine);
        self.count_index(database, table, Some(name))?;
        Ok(rebuilt)
    }
}
