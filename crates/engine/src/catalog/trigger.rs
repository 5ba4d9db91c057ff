//! Triggers in the definitions of their tables and views, and those of a database. The text of each trigger is a separate module
//! ([`super::ModuleDefinition`]).

use serde::{Deserialize, Serialize};

/// A change of rows that fires triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TriggerAction {
    Insert,
    Update,
    Delete,
}

impl TriggerAction {
    /// All of them, in the order of their numbers in `sys.trigger_events`.
    pub const ALL: [TriggerAction; 3] = [TriggerAction::Insert, TriggerAction::Update, TriggerAction::Delete];

    /// `type` and `type_desc` of `sys.trigger_events` (SQL Server docs, "sys.trigger_events").
    pub fn shown(self) -> (i32, &'static str) {
        match self {
            TriggerAction::Insert => (1, "INSERT"),
            TriggerAction::Update => (2, "UPDATE"),
            TriggerAction::Delete => (3, "DELETE"),
        }
    }
}

/// When a trigger fires among those of its table and action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TriggerOrder {
    First,
    /// Anywhere between.
    #[default]
    None,
    Last,
}

impl TriggerOrder {
    fn is_none(&self) -> bool {
        *self == TriggerOrder::None
    }
}

/// What a trigger fires for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerEvent {
    pub action: TriggerAction,
    #[serde(default, skip_serializing_if = "TriggerOrder::is_none")]
    pub order: TriggerOrder,
}

/// A trigger as its table or view knows it. Its text is a module of its own.
///
/// Invariant: the parent's definition has it exactly as long as the module is there. So whatever makes, changes or drops a trigger makes
/// another definition of the parent, and no plan is used that was made without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerEntry {
    /// The module.
    pub object_id: u32,
    /// What it fires for, each action once.
    pub events: Vec<TriggerEvent>,
    /// INSTEAD OF, rather than AFTER.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_instead_of: bool,
    /// Switched off by DISABLE TRIGGER.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_disabled: bool,
    /// NOT FOR REPLICATION: there is no replication, so it is kept and shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_not_for_replication: bool,
}

impl TriggerEntry {
    /// How it is ordered for an action; `None` when it does not fire for that.
    pub fn order_of(&self, action: TriggerAction) -> Option<TriggerOrder> {
        let mut events = self.events.iter();
        events.find(|event| event.action == action).map(|event| event.order)
    }
}

/// What a trigger of the database fires for. It belongs to no table and to no schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionTrigger {
    /// Events and groups of events as its text names them, by their numbers in `sys.trigger_event_types`.
    pub fires_for: Vec<u16>,
    /// The events that it is the first trigger of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_for: Vec<u16>,
    /// The events that it is the last trigger of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_for: Vec<u16>,
    /// Switched off by DISABLE TRIGGER.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_disabled: bool,
}

impl DefinitionTrigger {
    /// How it is ordered among the triggers of an event.
    pub fn order_of(&self, event: u16) -> TriggerOrder {
        match () {
            () if self.first_for.contains(&event) => TriggerOrder::First,
            () if self.last_for.contains(&event) => TriggerOrder::Last,
            () => TriggerOrder::None,
        }
    }

    /// Gives it an order among the triggers of an event.
    pub fn set_order(&mut self, event: u16, order: TriggerOrder) {
        for (place, events) in [
            (TriggerOrder::First, &mut self.first_for),
            (TriggerOrder::Last, &mut self.last_for),
        ] {
            events.retain(|own| *own != event);
            if place == order {
                events.push(event);
            }
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
