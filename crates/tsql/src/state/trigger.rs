//! The running triggers, the innermost last: the shape of `inserted` and `deleted`, `UPDATE()`, `COLUMNS_UPDATED()`, `TRIGGER_NESTLEVEL()`,
//! and whether a change may fire them again.
//!
//! ```text
//! AFTER trigger, itself the innermost        again only under RECURSIVE_TRIGGERS ON           direct recursion
//! AFTER trigger, another one in between      again                                            indirect recursion
//! any AFTER trigger, within another          not when `nested triggers` is 0
//! INSTEAD OF trigger already running         not again: the change is made
//! ```
//! (sql-docs, "Create nested triggers", "CREATE TRIGGER".)

use std::sync::Arc;

use engine::database::Database;

use super::SessionState;
use crate::modules::TableVariableShape;

/// A trigger under way.
#[derive(Clone)]
pub(crate) struct RunningTrigger {
    pub(crate) database: Arc<Database>,
    /// Its own.
    pub(crate) object_id: u32,
    pub(crate) is_instead_of: bool,
    /// What its tables look like.
    pub(crate) shape: Arc<TableVariableShape>,
    /// For each column of the target whether the statement has set it.
    pub(crate) set: Vec<bool>,
    /// What has fired a trigger of the database.
    pub(crate) event: Option<TriggerEventData>,
}

/// What EVENTDATA() answers in a trigger of the database.
#[derive(Clone)]
pub(crate) struct TriggerEventData {
    pub(crate) document: Arc<str>,
    /// The level of the trigger's own statements: what they call does not see it (sql-docs, "EVENTDATA").
    pub(crate) level: u32,
}

/// A trigger that runs, until this is dropped.
pub(crate) struct TriggerFrame<'s> {
    session: &'s SessionState,
}

impl<'s> TriggerFrame<'s> {
    /// What runs from here on is this trigger.
    pub(crate) fn enter(session: &'s SessionState, trigger: RunningTrigger) -> TriggerFrame<'s> {
        session.triggers.borrow_mut().push(trigger);
        TriggerFrame { session }
    }
}

impl Drop for TriggerFrame<'_> {
    fn drop(&mut self) {
        self.session.triggers.borrow_mut().pop();
    }
}

impl SessionState {
    /// What `inserted` and `deleted` look like in the trigger under way. Who binds to that depends on the catalog of the trigger's target.
    pub(crate) fn trigger_shape(&self) -> Option<Arc<TableVariableShape>> {
        let triggers = self.triggers.borrow();
        let innermost = triggers.last()?;
        self.lookup.dependencies.borrow_mut().looks_into(&innermost.database);
        Some(innermost.shape.clone())
    }

    /// Whether the statement that has fired the trigger under way has set a column; `None` outside of triggers, and for a column that
    /// the target does not have.
    pub(crate) fn trigger_sets(&self, column: &str) -> Option<bool> {
        let triggers = self.triggers.borrow();
        let innermost = triggers.last()?;
        let wanted = column.to_lowercase();
        let mut columns = innermost.shape.columns.iter();
        let place = columns.position(|column| column.name.to_lowercase() == wanted)?;
        innermost.set.get(place).copied()
    }

    /// What has fired the trigger of the database whose own statements run.
    pub(crate) fn event_data(&self) -> Option<Arc<str>> {
        let triggers = self.triggers.borrow();
        let event = triggers.last()?.event.as_ref()?;
        (event.level == self.nest_level()).then(|| event.document.clone())
    }

    /// For each column of the target of the trigger under way whether it was set.
    pub(crate) fn trigger_set(&self) -> Option<Vec<bool>> {
        self.triggers.borrow().last().map(|trigger| trigger.set.clone())
    }

    /// How many triggers are under way of those that `is_counted` accepts.
    pub(crate) fn triggers_under_way(&self, is_counted: impl Fn(&RunningTrigger) -> bool) -> usize {
        self.triggers
            .borrow()
            .iter()
            .filter(|trigger| is_counted(trigger))
            .count()
    }

    /// Whether a trigger in place of a change runs for one more change: not within itself.
    pub(crate) fn may_run_instead(&self, database_id: u16, object_id: u32) -> bool {
        self.triggers_under_way(|one| one.database.id == database_id && one.object_id == object_id) == 0
    }

    /// Whether a trigger runs after one more change.
    pub(crate) fn may_run_after(&self, database: &Database, object_id: u32) -> bool {
        let triggers = self.triggers.borrow();
        let Some(innermost) = triggers.last() else { return true };
        let is_own = innermost.database.id == database.id && innermost.object_id == object_id;
        let is_nested = triggers.iter().any(|trigger| !trigger.is_instead_of);
        let nests = !is_nested || self.instance.configuration.in_use("nested triggers") != 0;
        nests && (!is_own || database.has_recursive_triggers())
    }
}
