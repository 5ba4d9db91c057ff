//! The triggers that a change of rows fires, as stored in its plan, and the rows that they see. [`crate::modify`] collects the rows, and
//! `statements` runs the triggers: a trigger is a batch, and sends results.

use std::sync::Arc;

use engine::catalog::{TriggerAction, TriggerEntry, TriggerOrder};

use super::RowAction;
use crate::grant::KeptRows;
use crate::modules::TableVariableShape;

/// The rows a statement has changed, as they were and as they are.
#[derive(Debug, Default)]
pub struct ChangedRows {
    /// Those deleted, and those updated before that.
    pub(crate) deleted: KeptRows,
    /// Those inserted, and those updated after that, in the order of `deleted`.
    pub(crate) inserted: KeptRows,
}

/// The enabled triggers of a target that a statement fires. A target without any has none of this, and pays nothing.
///
/// Invariant: it is as current as the target's definition, which names the triggers; whatever changes a trigger changes that.
#[derive(Clone, Debug)]
pub struct Firing {
    pub database_id: u16,
    /// What `inserted` and `deleted` look like: the table or view.
    pub shape: Arc<TableVariableShape>,
    /// What the statement does, each action once, in the order in which triggers fire: INSERT, UPDATE, DELETE.
    pub events: Vec<FiredEvent>,
}

/// What fires for one action.
#[derive(Clone, Debug)]
pub struct FiredEvent {
    pub action: RowAction,
    /// For each column whether the statement sets it: `UPDATE()` and `COLUMNS_UPDATED()`.
    pub set: Vec<bool>,
    /// The id of the trigger that runs in place of the change.
    pub instead_of: Option<u32>,
    /// The ids of those that run after it, in their order.
    pub after: Vec<u32>,
}

/// Rows with the triggers that they fire.
#[derive(Debug)]
pub struct Fired {
    pub(crate) firing: Arc<Firing>,
    /// The place of the action among the events.
    pub(crate) event: usize,
    /// Whether the trigger in place of the change is meant, rather than those after it.
    pub(crate) is_instead: bool,
    pub(crate) rows: ChangedRows,
}

impl FiredEvent {
    /// What fires for an action among the triggers of a table or view; `None` when nothing does.
    pub fn of(triggers: &[TriggerEntry], action: RowAction, set: Vec<bool>) -> Option<FiredEvent> {
        let enabled = triggers.iter().filter(|trigger| !trigger.is_disabled);
        let mut after = Vec::new();
        let mut instead_of = None;
        for trigger in enabled {
            match trigger.order_of(action.event()) {
                None => {}
                Some(_) if trigger.is_instead_of => instead_of = Some(trigger.object_id),
                Some(order) => after.push((place_of(order), trigger.object_id)),
            }
        }
        if after.is_empty() && instead_of.is_none() {
            return None;
        }
        after.sort_by_key(|(place, _)| *place);
        Some(FiredEvent {
            action,
            set,
            instead_of,
            after: after.into_iter().map(|(_, id)| id).collect(),
        })
    }
}

fn place_of(order: TriggerOrder) -> u8 {
    match order {
        TriggerOrder::First => 0,
        TriggerOrder::None => 1,
        TriggerOrder::Last => 2,
    }
}

impl RowAction {
    /// The same in the words of the catalog.
    pub fn event(self) -> TriggerAction {
        match self {
            RowAction::Insert => TriggerAction::Insert,
            RowAction::Update => TriggerAction::Update,
            RowAction::Delete => TriggerAction::Delete,
        }
    }
}
