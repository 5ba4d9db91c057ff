//! The rows of indexed views: their places by their keys, and which tables name which view.
//!
//! A row of an indexed view is found by the whole key of its unique clustered index, which is its locator. A change locks it first
//! ([`Table::fetch`] with U), so that two transactions that change one row wait for each other. A change that finds none inserts one: the key
//! is locked exclusively before it is looked for again ([`Table::insert_new`]), and a row that another transaction was first to insert is met
//! then.

use super::{Session, Table};
use crate::catalog::{CatalogObject, ObjectDefinition};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::store::{Placement, RowLocator};
use crate::types::{KeyDirection, Value, encode_stored_key_part};
use std::sync::Arc;

impl Table {
    /// Where a row of these values is, if it is there: the key of the unique clustered index.
    ///
    /// # Errors
    /// 3624 without such an index.
    pub fn locator_of(&self, values: &[Value]) -> Result<RowLocator> {
        let index = self.clustered_index()?;
        match index.unique {
            true => Ok(RowLocator::Key(self.key_of(index, values, &[])?.into())),
            false => Err(Error::assertion("a row is looked for by a key that others may have")),
        }
    }

    /// Bytes that are equal for rows with the same values in some columns, strings as their collations compare them.
    pub fn bytes_of_columns(&self, columns: &[usize], values: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(16);
        for &column in columns {
            let value = values.get(column).unwrap_or(&Value::Null);
            let collation = self.layout().column_collation(column);
            encode_stored_key_part(value, collation, KeyDirection::Ascending, &mut bytes);
        }
        bytes
    }

    /// Inserts a row unless the clustered index has its key: false then, with the key locked, and nothing of the row is there.
    ///
    /// # Errors
    /// As for [`Table::insert`]; 2601 when another index has a key of the row.
    pub fn insert_new(&self, session: &mut Session, values: &[Value]) -> Result<bool> {
        match self.insert_or_meet(session, values, Placement::Anywhere)? {
            None => Ok(true),
            Some(index) if index.index_id == 1 => Ok(false),
            Some(index) => Err(self.duplicate(index, values)),
        }
    }

    /// The error for a row whose key the clustered index has.
    pub fn duplicate_row(&self, values: &[Value]) -> Error {
        match self.clustered_index() {
            Ok(index) => self.duplicate(index, values),
            Err(error) => error,
        }
    }
}

impl Session {
    /// Has these tables, and no others, name an indexed view. The caller holds the view's Sch-M.
    ///
    /// # Errors
    /// Those of [`Session::replace_object`].
    pub fn name_indexed_view(&mut self, database: &Arc<Database>, view: u32, tables: &[u32]) -> Result<()> {
        for object in database.catalog.objects(self.id) {
            let ObjectDefinition::Table(table) = &object.definition else {
                continue;
            };
            let is_wanted = tables.contains(&table.object_id);
            if is_wanted == table.indexed_views.contains(&view) {
                continue;
            }
            let mut changed = table.clone();
            changed.indexed_views.retain(|other| *other != view);
            changed.indexed_views.extend(is_wanted.then_some(view));
            self.replace_object(database, &object, ObjectDefinition::Table(changed))?;
        }
        Ok(())
    }

    /// Has no table name a view that has no rows any more.
    pub(super) fn leave_indexed_view(
        &mut self,
        database: &Arc<Database>,
        before: &CatalogObject,
        after: Option<&ObjectDefinition>,
    ) -> Result<()> {
        let is_left = before.definition.is_indexed_view() && !after.is_some_and(ObjectDefinition::is_indexed_view);
        match is_left {
            true => self.name_indexed_view(database, before.definition.object_id(), &[]),
            false => Ok(()),
        }
    }

    /// Locks the tables that name an indexed view against everybody: before the view's own lock, in the order in which a change of their
    /// rows locks the two.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`].
    pub fn lock_tables_of_view(&self, database: &Database, view: u32) -> Result<()> {
        for object in database.catalog.objects(self.id) {
            match &object.definition {
                ObjectDefinition::Table(table) if table.indexed_views.contains(&view) => {
                    self.lock_definition(database, &object)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
