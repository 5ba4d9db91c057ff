//! CREATE INDEX ... WITH (DROP_EXISTING = ON): an index is made again under another definition, maybe in another filegroup.
//!
//! ```text
//! nonclustered -> nonclustered   its tree is made again
//! nonclustered -> clustered      it goes, and the table is written again in its order
//! clustered -> clustered         the table is written again
//! clustered -> nonclustered      1925
//! of a constraint                the keys must be the same (1907)
//! ```
//! (sql-docs, CREATE INDEX, "DROP_EXISTING".) An index that is switched off is switched on by it.

use std::sync::Arc;

use engine::catalog::{CatalogObject, IndexDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::executor::Executor;
use super::index_limits::check_indexes;
use super::index_options::check_filter_without_ignoring;
use crate::ast::CreateIndex;
use crate::messages;

impl Executor<'_> {
    /// Makes an index of a table again, as `index` says.
    ///
    /// # Errors
    /// 1925, 1907; those of making an index.
    pub(super) fn replace_index(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        (mut index, create, line): (IndexDefinition, &CreateIndex, u32),
    ) -> Result<()> {
        let mut without = definition.clone();
        let is_it = |other: &IndexDefinition| create.name.is(&other.name);
        let enabled = without
            .indexes
            .iter()
            .position(is_it)
            .map(|place| without.indexes.remove(place));
        let disabled = || without.disabled_indexes.iter().position(is_it);
        let former = match enabled {
            Some(former) => former,
            None => {
                let place = disabled().ok_or_else(|| Error::assertion("an index that was found"))?;
                without.disabled_indexes.remove(place)
            }
        };
        if former.index_id == 1 && index.index_id != 1 {
            return Err(messages::clustered_becomes_nonclustered());
        }
        keep_constraint(&mut index, &former)?;
        let serves = |index: &IndexDefinition| index.is_unique_of_all();
        let keeps_key = serves(&index) && index.keys.len() == former.keys.len() && {
            let mut keys = index.keys.iter();
            keys.all(|(column, _)| former.keys.iter().any(|(other, _)| other == column))
        };
        if !keeps_key && self.key_that_needs(database, definition, &former).is_some() {
            return Err(messages::index_does_not_match_constraint(&former.name));
        }
        check_indexes(self.session.instance.options.version, &without, Some(&index))?;
        check_filter_without_ignoring(&index, "create", &create.table.to_string())?;
        self.warn_of_long_keys(&without, &index, line)?;
        if former.index_id == 1 {
            return self.replace_clustered(database, object, definition, (index, create));
        }
        database.check_new_storage_of(&without, index.data_space)?;
        let without_object = {
            let changed = object.definition.with_table(without.clone());
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_object(database, object, changed)?
        };
        let (table, name) = (without.object_id, index.name.clone());
        let (becomes_clustered, constraint_id) = (index.index_id == 1, former.constraint_id);
        self.add_index(database, &without_object, &without, index)?;
        if !becomes_clustered {
            self.restore_index_ids(database, (table, &name), (former.index_id, constraint_id))?;
        }
        self.set_no_recompute(database, table, Some(&name), &create.options)
    }

    /// Makes a clustered index again: the table is written again as a whole. One that is switched off is on then, as after REBUILD.
    ///
    /// # Errors
    /// 1505 for two rows of one key; 13766 for the index that HISTORY_RETENTION_PERIOD needs.
    fn replace_clustered(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        definition: &TableDefinition,
        (index, create): (IndexDefinition, &CreateIndex),
    ) -> Result<()> {
        if definition.clustered().is_some_and(|former| former.keys != index.keys) {
            self.check_retention_index(database, definition)?;
        }
        let (object, mut changed) = self.with_stored_computed(database, object, definition, &index)?;
        let (table, name) = (format!("{}.{}", changed.schema, changed.name), index.name.clone());
        match changed.indexes.first_mut() {
            Some(first) => *first = index,
            None => return Err(Error::assertion("a clustered index that was found")),
        }
        let rebuilt = self.rebuild(database, &object, changed, None);
        rebuilt.map_err(|error| error.while_building_index(&table, &name))?;
        self.set_no_recompute(database, definition.object_id, Some(&name), &create.options)
    }

    /// Gives an index that was made last the number of the one in whose place it is.
    fn restore_index_ids(
        &mut self,
        database: &Arc<Database>,
        (table, name): (u32, &str),
        (index_id, constraint_id): (u32, u32),
    ) -> Result<()> {
        let object = database.catalog.by_id(table, self.session.id);
        let object = object.ok_or_else(|| Error::definition_changed(name))?;
        let mut with = object
            .definition
            .table()
            .cloned()
            .ok_or_else(|| Error::assertion("only tables have indexes"))?;
        let made = with.indexes.iter().position(|index| index.name == name);
        let made = made.ok_or_else(|| Error::assertion("an index that was not made"))?;
        let mut made = with.indexes.remove(made);
        (made.index_id, made.constraint_id) = (index_id, constraint_id);
        let place = with.indexes.partition_point(|other| other.index_id < index_id);
        with.indexes.insert(place, made);
        let changed = object.definition.with_table(with);
        self.session
            .engine
            .borrow_mut()
            .replace_object(database, &object, changed)?;
        self.count_index(database, table, Some(name))
    }
}

/// An index that stands for a constraint goes on to, if it has the same key.
///
/// # Errors
/// 1907
fn keep_constraint(index: &mut IndexDefinition, former: &IndexDefinition) -> Result<()> {
    if !former.is_constraint() {
        return Ok(());
    }
    let is_same = (index.index_id == 1) == (former.index_id == 1)
        && index.unique
        && index.filter.is_none()
        && index.keys == former.keys
        && index.included.is_empty();
    if !is_same {
        return Err(messages::index_does_not_match_constraint(&former.name));
    }
    (index.primary_key, index.unique_constraint) = (former.primary_key, former.unique_constraint);
    (index.constraint_id, index.is_system_named) = (former.constraint_id, former.is_system_named);
    Ok(())
}
