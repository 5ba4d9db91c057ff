//! The foreign keys that a change of rows can violate, and the triggers that it fires (`firing`).
//!
//! ```text
//!                of the target                  of other tables, referring to it
//! INSERT         all                            none
//! UPDATE         those with a column set        those that refer to a column set
//! DELETE         none                           all
//! ```
//! Foreign keys of other tables with a referential action are not checked; they act ([`Cascade`]), and their tables are targets in turn. A
//! disabled foreign key (NOCHECK) is skipped. An untrusted one is not skipped, because that concerns only old rows.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ForeignKey, ObjectDefinition, ReferentialAction};
use engine::database::Database;
use engine::error::{Error, Result};

use super::Binder;
use crate::messages;
use crate::plan::{BoundTable, Cascade, CascadeAction, Check, Reference, RowAction, Target, TargetColumns};
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

/// Whether an action gives rows a key of these columns that they did not have.
fn makes_key(action: RowAction, set: &[usize], key: &[usize]) -> bool {
    match action {
        RowAction::Insert => true,
        RowAction::Update => key.iter().any(|column| set.contains(column)),
        RowAction::Delete => false,
    }
}

/// Whether an action takes from rows a key of these columns.
fn takes_key(action: RowAction, set: &[usize], key: &[usize]) -> bool {
    match action {
        RowAction::Insert => false,
        RowAction::Update => key.iter().any(|column| set.contains(column)),
        RowAction::Delete => true,
    }
}

impl Binder<'_> {
    /// The columns of a target with the foreign keys that an action, and an update of these columns, can break, with the triggers that
    /// it fires, the indexed views that it changes, and the table that its former rows go to.
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
        self.with_references_of(target, columns, &[(action, set)])
    }

    /// The same for a statement that does several things.
    ///
    /// # Errors
    /// As for [`Binder::with_references`].
    pub(super) fn with_references_of(
        &self,
        target: &Target,
        columns: Arc<TargetColumns>,
        actions: &[(RowAction, &[usize])],
    ) -> Result<Arc<TargetColumns>> {
        let firing = match columns.is_text_write {
            true => None,
            false => self.firing(target, &columns, actions),
        };
        let columns = match firing {
            None => columns,
            Some(firing) => Arc::new(TargetColumns {
                firing: Some(firing),
                ..Arc::unwrap_or_clone(columns)
            }),
        };
        let columns = with_rules_of(columns, actions);
        let columns = self.with_views(target, columns, actions)?;
        let Target::Table(table) = target else {
            return Ok(columns);
        };
        let takes_rows = actions.iter().any(|(action, _)| *action != RowAction::Insert);
        let columns = match self.with_history(target)?.filter(|_| takes_rows) {
            Some(period) => Arc::new(TargetColumns {
                period: Some(period),
                ..Arc::unwrap_or_clone(columns)
            }),
            None => columns,
        };
        let mut references = Vec::new();
        let makes_keys = |own: &[usize]| actions.iter().any(|(action, set)| makes_key(*action, set, own));
        for key in &table.table.definition().foreign_keys {
            if !key.is_disabled && makes_keys(&key.columns) {
                references.push(self.reference(table, key)?);
            }
        }
        let (referenced_by, cascades) = self.referring(table, actions)?;
        if references.is_empty() && referenced_by.is_empty() && cascades.is_empty() {
            return Ok(columns);
        }
        let mut columns = Arc::unwrap_or_clone(columns);
        (columns.references, columns.referenced_by, columns.cascades) = (references, referenced_by, cascades);
        Ok(Arc::new(columns))
    }

    /// The foreign keys that refer to a target whose rows lose keys: those that are judged, and those that act.
    fn referring(
        &self,
        table: &Arc<BoundTable>,
        actions: &[(RowAction, &[usize])],
    ) -> Result<(Vec<Reference>, Vec<Cascade>)> {
        let (mut referenced_by, mut cascades) = (Vec::new(), Vec::new());
        if actions.iter().all(|(action, _)| *action == RowAction::Insert) {
            return Ok((referenced_by, cascades));
        }
        let (database, own_id) = (table.table.database(), table.table.definition().object_id);
        for other in database.catalog.referencing(own_id, self.session.id) {
            let ObjectDefinition::Table(definition) = &other.definition else {
                continue;
            };
            let own_keys = definition.foreign_keys.iter();
            for key in own_keys.filter(|key| key.referenced_object == own_id && !key.is_disabled) {
                let concerned =
                    |(action, set): &&(RowAction, &[usize])| takes_key(*action, set, &key.referenced_columns);
                let concerned: Vec<RowAction> = actions.iter().filter(concerned).map(|(action, _)| *action).collect();
                let mut judged = Vec::new();
                for action in concerned {
                    let reference = self.referenced_by(table, database, &other, key)?;
                    match action_of(key, action) {
                        None => judged.push((action, reference)),
                        Some(follows) => cascades.push(self.cascade(table, reference, action, follows)?),
                    }
                }
                let is_one = judged.len() == 1;
                // Judged after both: one end does for both.
                let kept = judged.into_iter().take(1);
                referenced_by.extend(kept.map(|(action, reference)| Reference {
                    judged_after: is_one.then_some(action),
                    ..reference
                }));
            }
        }
        Ok((referenced_by, cascades))
    }

    /// What a foreign key does to its table, which becomes a target for it.
    fn cascade(
        &self,
        table: &BoundTable,
        reference: Reference,
        follows: RowAction,
        action: CascadeAction,
    ) -> Result<Cascade> {
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
            follows,
            action,
            target,
            columns,
        })
    }

    /// 332 for a table at either end of a foreign key: OUTPUT INTO judges none.
    pub(super) fn refuse_references(&self, target: &Target) -> Result<()> {
        match (target, self.first_reference(target)) {
            (Target::Table(table), Some(key)) => Err(messages::output_into_foreign_key(&table.full_name, &key)),
            _ => Ok(()),
        }
    }

    /// The name of a foreign key that a table has, or that refers to it.
    pub(super) fn first_reference(&self, target: &Target) -> Option<String> {
        let Target::Table(table) = target else { return None };
        let (database, definition) = (table.table.database(), table.table.definition());
        let referencing = database.catalog.referencing(definition.object_id, self.session.id);
        let others = referencing.iter().filter_map(|other| match &other.definition {
            ObjectDefinition::Table(other) => Some(other),
            _ => None,
        });
        let to_it = others
            .flat_map(|other| &other.foreign_keys)
            .filter(|key| key.referenced_object == definition.object_id);
        let first = definition.foreign_keys.iter().chain(to_it).next();
        first.map(|key| key.name.clone())
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
            judged_after: None,
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
            judged_after: None,
        })
    }
}

/// The columns with the rules that actions can break alone: "a column insert or update conflicts with a rule" (513), so an UPDATE of other
/// columns judges none of them.
fn with_rules_of(mut columns: Arc<TargetColumns>, actions: &[(RowAction, &[usize])]) -> Arc<TargetColumns> {
    let is_set = |column: &usize| {
        actions.iter().any(|(action, set)| match action {
            RowAction::Insert => true,
            RowAction::Update => set.contains(column),
            RowAction::Delete => false,
        })
    };
    let is_judged = |check: &Check| check.rule_of.as_ref().is_none_or(is_set);
    if !columns.checks.iter().all(is_judged) {
        Arc::make_mut(&mut columns).checks.retain(is_judged);
    }
    columns
}
