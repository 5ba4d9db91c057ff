//! `sys.triggers`, `sys.trigger_events` and `sys.trigger_event_types` (SQL Server docs, the pages of the views).

use engine::catalog::{CatalogObject, ObjectDefinition, TriggerEntry, TriggerOrder};
use engine::types::{SqlType, Value};

use super::objects::{ObjectRow, objects};
use super::values::stored_datetime;
use super::{BIT, DATETIME, INT, NAME, Rows, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view};
use crate::grammar::{EVENT_TYPES, EventType};

pub(super) const VIEWS: &[SystemView] = &[
    view::<TriggerRow>("sys", "triggers", triggers),
    view::<EventRow>("sys", "trigger_events", events),
    view::<EventTypeRow>("sys", "trigger_event_types", event_types),
];

const DESCRIPTION: SqlType = nvarchar(60);

/// `parent_class` of a trigger of the database.
const PARENT_CLASS_DATABASE: u8 = 0;
/// `parent_class` of a trigger of a table or view.
const PARENT_CLASS_OBJECT: u8 = 1;

struct TriggerRow {
    object: ObjectRow,
    /// Of a trigger of a table or view.
    entry: Option<TriggerEntry>,
    is_disabled: bool,
}

impl TriggerRow {
    fn is(&self, asked: impl Fn(&TriggerEntry) -> bool) -> Value {
        self.entry.as_ref().is_some_and(asked).into()
    }
}

system_row!(TriggerRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "parent_class" TINYINT => |row| Value::TinyInt(if row.entry.is_some() { PARENT_CLASS_OBJECT } else { PARENT_CLASS_DATABASE });
    "parent_class_desc" DESCRIPTION => |row| if row.entry.is_some() { "OBJECT_OR_COLUMN" } else { "DATABASE" }.into();
    "parent_id" INT => |row| row.object.parent.into();
    "type" SqlType::Char(2) => |_| "TR".into();
    "type_desc" DESCRIPTION => |_| "SQL_TRIGGER".into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_disabled" BIT => |row| row.is_disabled.into();
    "is_not_for_replication" BIT => |row| row.is(|entry| entry.is_not_for_replication);
    "is_instead_of_trigger" BIT => |row| row.is(|entry| entry.is_instead_of);
});

struct EventRow {
    object_id: i32,
    /// Its number and name.
    event: (i32, &'static str),
    order: TriggerOrder,
    /// Number and name of the group that the trigger's text names in its place.
    group: Option<(i32, &'static str)>,
}

system_row!(EventRow {
    "object_id" INT => |row| row.object_id.into();
    "type" INT => |row| row.event.0.into();
    "type_desc" DESCRIPTION => |row| row.event.1.into();
    "is_first" BIT => |row| (row.order == TriggerOrder::First).into();
    "is_last" BIT => |row| (row.order == TriggerOrder::Last).into();
    "event_group_type" INT => |row| row.group.map_or(Value::Null, |group| group.0.into());
    "event_group_type_desc" DESCRIPTION => |row| row.group.map_or(Value::Null, |group| group.1.into());
    "is_trigger_event" BIT => |_| true.into();
});

/// What a table or view knows of its triggers.
fn entries(object: &CatalogObject) -> &[TriggerEntry] {
    object.definition.triggers()
}

fn triggers(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let catalog = &context.database.catalog;
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "TR");
    let rows = rows.filter_map(|object| {
        let parent = catalog.by_id(object.parent as u32, context.session_id)?;
        let mut own = entries(&parent).iter();
        let entry = own.find(|entry| entry.object_id as i32 == object.object_id)?.clone();
        Some(TriggerRow {
            object,
            is_disabled: entry.is_disabled,
            entry: Some(entry),
        })
    });
    all(rows.chain(database_triggers(context)))
}

/// Those of the database itself.
fn database_triggers(context: &SystemContext<'_>) -> impl Iterator<Item = TriggerRow> {
    let triggers = context.database.database_triggers(context.session_id).into_iter();
    triggers.filter_map(|object| match &object.definition {
        ObjectDefinition::Module(module) => Some(TriggerRow {
            object: ObjectRow {
                name: module.name.clone(),
                object_id: module.object_id as i32,
                schema: String::new(),
                schema_id: 0,
                parent: 0,
                kind: ("TR", "SQL_TRIGGER"),
                created: module.created,
                shipped: false,
                owner: None,
            },
            entry: None,
            is_disabled: object.definition.definition_trigger()?.is_disabled,
        }),
        _ => None,
    })
}

fn events(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let objects = context.database.catalog.objects(context.session_id);
    let mut rows = Vec::new();
    for entry in objects.iter().flat_map(|object| entries(object)) {
        rows.extend(entry.events.iter().map(|event| EventRow {
            object_id: entry.object_id as i32,
            event: event.action.shown(),
            order: event.order,
            group: None,
        }));
    }
    for object in context.database.database_triggers(context.session_id) {
        rows.extend(events_of_database_trigger(&object));
    }
    all(rows)
}

/// Each event that a trigger of the database fires for, once: as its text names it, or with the group that it is in.
fn events_of_database_trigger(object: &CatalogObject) -> Vec<EventRow> {
    let Some(trigger) = object.definition.definition_trigger() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for event in EVENT_TYPES
        .iter()
        .filter(|event| !event.is_group() && event.is_of_database())
    {
        let mut named = trigger.fires_for.iter().copied();
        let Some(named) = named.find(|named| event.is_within(*named)) else {
            continue;
        };
        let group = EventType::numbered(named).filter(|named| named.is_group());
        rows.push(EventRow {
            object_id: object.definition.object_id() as i32,
            event: (event.number.into(), event.name),
            order: trigger.order_of(event.number),
            group: group.map(|group| (group.number.into(), group.name)),
        });
    }
    rows
}

struct EventTypeRow(&'static EventType);

system_row!(EventTypeRow {
    "type" INT => |row| i32::from(row.0.number).into();
    "type_name" nvarchar(64) => |row| row.0.name.into();
    "parent_type" INT => |row| match row.0.parent {
        0 => Value::Null,
        parent => i32::from(parent).into(),
    };
});

fn event_types(_context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    all(EVENT_TYPES.iter().map(EventTypeRow))
}
