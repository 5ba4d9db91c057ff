//! Constraints of an existing table: disabling, enabling, and checking them against its rows.
//!
//! ```text
//! ALTER TABLE                                    rows checked      is_disabled   is_not_trusted
//! [WITH CHECK] ADD CONSTRAINT                    yes               0             0
//! WITH NOCHECK ADD CONSTRAINT                    no                0             1
//! [WITH NOCHECK] CHECK CONSTRAINT                no                0             1
//! WITH CHECK CHECK CONSTRAINT                    yes               0             0
//! NOCHECK CONSTRAINT                             no                1             1
//! ```
//! "If you don't specify, WITH CHECK is assumed for new constraints, and WITH NOCHECK is assumed for re-enabled constraints." (SQL Server
//! docs, ALTER TABLE). The table applies to CHECK and FOREIGN KEY, the two kinds that can be disabled.

use std::sync::Arc;

use engine::cancel;
use engine::catalog::{CatalogObject, CheckConstraint, ForeignKey, ObjectDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::session::Table;
use engine::store::ReadMode;

use super::executor::Executor;
use super::foreign_key::{bound, definition_of};
use crate::ast::Identifier;
use crate::messages;
use crate::modify::check;
use crate::plan::{BoundTable, TargetColumns};

impl Executor<'_> {
    /// CHECK and NOCHECK CONSTRAINT: the constraints among `names` (all, when there are none) are switched on, with a look at the rows
    /// under WITH CHECK, or off.
    pub(super) fn switch_constraints(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        (enable, check_existing): (bool, bool),
        names: &[Identifier],
    ) -> Result<()> {
        let mut definition = definition_of(object)?.clone();
        refuse_others(&definition, names)?;
        let is_meant = |own: &str| names.is_empty() || names.iter().any(|name| name.is(own));
        // What was not looked at is not trusted, though it may have been until now.
        let is_not_trusted = !(enable && check_existing);
        let mut keys: Vec<ForeignKey> = Vec::new();
        for key in definition.foreign_keys.iter_mut().filter(|key| is_meant(&key.name)) {
            (key.is_disabled, key.is_not_trusted) = (!enable, is_not_trusted);
            keys.push(key.clone());
        }
        let mut checks: Vec<u32> = Vec::new();
        for check in definition.checks.iter_mut().filter(|check| is_meant(&check.name)) {
            (check.is_disabled, check.is_not_trusted) = (!enable, is_not_trusted);
            checks.push(check.object_id);
        }
        if keys.is_empty() && checks.is_empty() {
            return Ok(());
        }
        if enable {
            self.check_referenced_indexes(database, &keys)?;
            self.tell_referenced(database, definition.object_id, &keys)?;
        }
        let changed = ObjectDefinition::Table(definition);
        let changed = {
            let mut engine = self.session.engine.borrow_mut();
            engine.replace_object(database, object, changed)?
        };
        if is_not_trusted {
            return Ok(());
        }
        let table = bound(Table::open(database, &changed)?);
        self.check_stored_rows(&table, &|check| checks.contains(&check.object_id))?;
        self.check_references(&table, &keys)
    }

    /// 547 when a row that is there already violates a CHECK that is meant.
    pub(super) fn check_stored_rows(
        &self,
        table: &Arc<BoundTable>,
        is_meant: &dyn Fn(&CheckConstraint) -> bool,
    ) -> Result<()> {
        let binder = crate::bind::Binder::new(self.session, &self.batch.scope);
        let columns = TargetColumns {
            checks: binder.checks_of(table.table.definition(), is_meant)?,
            table_name: table.full_name.clone(),
            ..TargetColumns::default()
        };
        if columns.checks.is_empty() {
            return Ok(());
        }
        let context = self.context();
        let mut scan = table.table.scan(&self.session.locks, ReadMode::Uncommitted)?;
        let mut row = Vec::new();
        while scan.next_batch()? {
            for position in 0..scan.len() {
                cancel::spend(1)?;
                let stored = scan.row(position).unwrap_or_default();
                table.table.layout().decode_into(stored, &mut row)?;
                check::conditions(&columns, &row, "ALTER TABLE", &context)?;
            }
        }
        Ok(())
    }
}

/// 4917 for names of no constraint, 11415 for constraints that cannot be switched.
fn refuse_others(definition: &TableDefinition, names: &[Identifier]) -> Result<()> {
    for name in names {
        let keys = definition.foreign_keys.iter().map(|key| &key.name);
        let mut switched = keys.chain(definition.checks.iter().map(|check| &check.name));
        if switched.any(|own| name.is(own)) {
            continue;
        }
        let defaults = definition.columns.iter().filter_map(|column| column.default.as_ref());
        let unique = definition.every_index().filter(|index| index.is_constraint());
        let mut others = defaults
            .map(|default| &default.name)
            .chain(unique.map(|index| &index.name));
        if !others.any(|own| name.is(own)) {
            return Err(messages::no_such_constraint(&name.text));
        }
        let text = format!(
            "Object '{}' cannot be disabled or enabled. This action applies only to foreign key and check constraints.",
            name.text
        );
        return Err(Error::new(11415, 16, 1, text));
    }
    Ok(())
}
