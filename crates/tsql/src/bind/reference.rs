//! Which foreign keys a change of rows can break.
//!
//! ```text
//!                of the target                  of others, referring to it
//! INSERT         all                            none
//! UPDATE         those with a column set        those that refer to a column set
//! DELETE         none                           all
//! ```
//! Of others, those with an action for what happens are not judged; they act ([`Cascade`]), and their tables are targets in turn.
//! A foreign key that was switched off (NOCHECK) is left out; one that is not trusted is not: that says something about old rows only.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ForeignKey, ObjectDefinition, ReferentialAction};
use engine::database::Database;
use engine::error::{Error, Result};

use super::Binder;
use crate::messages;
use crate::plan::{BoundTable, Cascade, CascadeAction, Reference, RowAction, Target, TargetColumns};
use crate::state::Reading;

/// What a foreign key does to its rows when something is done to those that they refer to; `None` when it is judged instead.
fn action_of(key: &ForeignKey, action: RowAction) -> Option<CascadeAction> {
    let said = match action {
        RowAction::Insert => ReferentialAction::NoAction,
        RowAction::Delete => key.on_delete,
        RowAction::Update => key.on_update,
    };
    match (said, action) {
        (ReferentialAction::NoAction, _) => None,
        (ReferentialAction::Cascade, RowAction::Delete) => Some(CascadeAction::Delete),
        (ReferentialAction::Cascade, _) => Some(CascadeAction::Follow),
        (ReferentialAction::SetNull, _) => Some(CascadeAction::SetNull),
        (ReferentialAction::SetDefault, _) => Some(CascadeAction::SetDefault),
    }
}

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
        let (mut references, mut referenced_by, mut cascades) = (Vec::new(), Vec::new(), Vec::new());
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
                    if !is_ours || !is_concerned(&key.referenced_columns) {
                        continue;
                    }
                    let reference = self.referenced_by(table, database, &other, key)?;
                    match action_of(key, action) {
                        None => referenced_by.push(reference),
                        Some(follows) => cascades.push(self.cascade(table, reference, follows)?),
                    }
                }
            }
        }
        if references.is_empty() && referenced_by.is_empty() && cascades.is_empty() {
            return Ok(columns);
        }
        let mut columns = Arc::unwrap_or_clone(columns);
        (columns.references, columns.referenced_by, columns.cascades) = (references, referenced_by, cascades);
        Ok(Arc::new(columns))
    }

    /// What a foreign key does to its table, which becomes a target for it.
    fn cascade(&self, table: &BoundTable, reference: Reference, action: CascadeAction) -> Result<Cascade> {
        crate::stack::require()?;
        let target = Target::Table(reference.table.clone());
        let columns = Arc::new(self.target_columns(&target)?);
        let of_rows = match action {
            CascadeAction::Delete => RowAction::Delete,
            CascadeAction::Follow | CascadeAction::SetNull | CascadeAction::SetDefault => RowAction::Update,
        };
        let columns = self.with_references(&target, columns, of_rows, &reference.other_columns)?;
        let definition = table.table.definition();
        let types = reference
            .columns
            .iter()
            .filter_map(|column| definition.columns.get(*column));
        Ok(Cascade {
            types: types.map(|column| column.sql_type).collect(),
            reference,
            action,
            target,
            columns,
        })
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
