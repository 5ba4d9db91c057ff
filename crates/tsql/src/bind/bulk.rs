//! The target of a bulk load: like that of an INSERT with a column list, including the identity column.

use std::sync::Arc;

use engine::error::Result;

use super::manipulation::listed_columns;
use super::{Binder, BoundInsert, InsertRows};
use crate::ast::{self, Identifier, Name};
use crate::messages;
use crate::plan::{Assignment, Locking, RowAction};

impl Binder<'_> {
    /// Binds the target of a bulk load. An identity column that is listed keeps the values that come. Without `checks_constraints`,
    /// neither CHECKs nor foreign keys of the table are judged.
    ///
    /// # Errors
    /// 208; 207 and 264 for its columns; 40517 when it is a view.
    pub(crate) fn bulk(
        &mut self,
        table: &Name,
        listed: &[Identifier],
        checks_constraints: bool,
        locks_table: bool,
        fires_triggers: bool,
    ) -> Result<BoundInsert> {
        let target = self.target(&ast::Target::Table(table.clone()))?;
        self.require_no_history(&target, RowAction::Insert)?;
        let mut columns = self.target_columns(&target)?;
        if !checks_constraints {
            columns.checks.clear();
        }
        let listed = listed_columns(&columns, listed, true)?;
        if listed.iter().any(|column| columns.columns[*column].is_generated) {
            return Err(messages::generated_insert(&columns.table_name));
        }
        let identity = columns.columns.iter().position(|column| column.identity);
        let assignment = |column: usize| match listed.iter().position(|&other| other == column) {
            Some(position) => Assignment::Source(position),
            None if Some(column) == identity => Assignment::Identity,
            None => Assignment::Default,
        };
        let assignments = (0..columns.columns.len()).map(assignment).collect();
        let mut columns = Arc::new(columns);
        if checks_constraints {
            columns = self.with_references(&target, columns, RowAction::Insert, &[])?;
        } else {
            columns = self.with_views(&target, columns, &[(RowAction::Insert, &[])])?;
        }
        if !fires_triggers {
            Arc::make_mut(&mut columns).firing = None;
        } else if !checks_constraints {
            let firing = self.firing(&target, &columns, &[(RowAction::Insert, &[])]);
            Arc::make_mut(&mut columns).firing = firing;
        }
        Ok(BoundInsert {
            target,
            locking: Locking {
                whole_table: locks_table.then_some(true),
                ..Locking::default()
            },
            columns,
            assignments,
            rows: InsertRows::Execute,
            target_reads: 0,
            top: None,
            output: None,
            sets_identity: identity.is_some_and(|identity| listed.contains(&identity)),
        })
    }
}
