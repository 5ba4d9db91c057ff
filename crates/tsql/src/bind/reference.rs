//! Which foreign keys a change of rows can break.
//!
//! ```text
//!                of the target                  of others, referring to it
//! INSERT         all                            none
//! UPDATE         those with a column set        those that refer to a column set
//! DELETE         none                           all
//! ```
//! A foreign key that was switched off (NOCHECK) is left out; one that is not trusted is not: that says something about old rows only.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ForeignKey, ObjectDefinition};
use engine::database::Database;
use engine::error::{Error, Result};

use super::Binder;
use crate::messages;
use crate::plan::{BoundTable, Reference, RowAction, Target, TargetColumns};
use crate::state::Reading;

impl Binder<'_> {
    /// The columns of a target with the foreign keys that an action, and an update of these columns, can break.
    ///
    /// # Errors
    /// Those of opening the tables at the other ends.
    pub(super) fn with_references(
        &self,
        target: &Target,
        columns: Arc<TargetColumns>,
        action: RowAction,
        set: &[usize],
    ) -> Result<Arc<TargetColumns>> {
        let Target::Table(table) = target else {
            return Ok(columns);
        };
        let is_concerned = |own: &[usize]| action != RowAction::Update || own.iter().any(|column| set.contains(column));
        let (mut references, mut referenced_by) = (Vec::new(), Vec::new());
        if action != RowAction::Delete {
            for key in &table.table.definition().foreign_keys {
                if !key.is_disabled && is_concerned(&key.columns) {
                    references.push(self.reference(table, key)?);
                }
            }
        }
        if action != RowAction::Insert {
            let (database, own_id) = (table.table.database(), table.table.definition().object_id);
            for other in database.catalog.referencing(own_id, self.session.id) {
                let ObjectDefinition::Table(definition) = &other.definition else {
                    continue;
                };
                for key in &definition.foreign_keys {
                    let is_ours = key.referenced_object == own_id && !key.is_disabled;
                    if is_ours && is_concerned(&key.referenced_columns) {
                        referenced_by.push(self.referenced_by(table, database, &other, key)?);
                    }
                }
            }
        }
        if references.is_empty() && referenced_by.is_empty() {
            return Ok(columns);
        }
        let mut columns = Arc::unwrap_or_clone(columns);
        (columns.references, columns.referenced_by) = (references, referenced_by);
        Ok(Arc::new(columns))
    }

    /// 332 for a table at either end of a foreign key: OUTPUT INTO judges none.
    pub(super) fn refuse_references(&self, target: &Target) -> Result<()> {
        let Target::Table(table) = target else { return Ok(()) };
        let (database, definition) = (table.table.database(), table.table.definition());
        let referencing = database.catalog.referencing(definition.object_id, self.session.id);
        let others = referencing.iter().filter_map(|other| match &other.definition {
            ObjectDefinition::Table(other) => Some(other),
            _ => None,
        });
        let to_it = others
            .flat_map(|other| &other.foreign_keys)
            .filter(|key| key.referenced_object == definition.object_id);
        match definition.foreign_keys.iter().chain(to_it).next() {
            Some(key) => Err(messages::output_into_foreign_key(&table.full_name, &key.name)),
            None => Ok(()),
        }
    }

    /// A foreign key as the table that has it sees it.
    ///
    /// # Errors
    /// Those of opening the table referred to.
    pub(crate) fn reference(&self, table: &Arc<BoundTable>, key: &ForeignKey) -> Result<Reference> {
        let (database, own_id) = (table.table.database(), table.table.definition().object_id);
        let other = match key.referenced_object == own_id {
            true => table.clone(),
            false => {
                let object = database.catalog.by_id(key.referenced_object, self.session.id);
                let object = object.ok_or_else(|| Error::assertion("a foreign key refers to no table"))?;
                self.bound_table(database, &object, Reading::default())?
            }
        };
        Ok(Reference {
            name: key.name.clone(),
            columns: key.columns.clone(),
            index: other.table.definition().unique_index_of(&key.referenced_columns),
            table: other,
            other_columns: key.referenced_columns.clone(),
            is_own: key.referenced_object == own_id,
        })
    }

    /// A foreign key as the table that it refers to sees it.
    fn referenced_by(
        &self,
        table: &Arc<BoundTable>,
        database: &Arc<Database>,
        other: &Arc<CatalogObject>,
        key: &ForeignKey,
    ) -> Result<Reference> {
        let is_own = other.definition.object_id() == table.table.definition().object_id;
        let other = match is_own {
            true => table.clone(),
            false => self.bound_table(database, other, Reading::default())?,
        };
        Ok(Reference {
            name: key.name.clone(),
            columns: key.referenced_columns.clone(),
            index: other.table.definition().index_beginning_with(&key.columns),
            table: other,
            other_columns: key.columns.clone(),
            is_own,
        })
    }
}
