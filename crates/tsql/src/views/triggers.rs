//! `sys.triggers` and `sys.trigger_events` (SQL Server docs, the pages of the views).

use engine::catalog::{CatalogObject, TriggerEntry, TriggerEvent, TriggerOrder};
use engine::types::{SqlType, Value};

use super::objects::{ObjectRow, objects};
use super::values::stored_datetime;
use super::{BIT, DATETIME, INT, NAME, Rows, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[
    view::<TriggerRow>("sys", "triggers", triggers),
    view::<EventRow>("sys", "trigger_events", events),
];

const DESCRIPTION: SqlType = nvarchar(60);

/// `parent_class` of a trigger of a table or view.
const PARENT_CLASS_OBJECT: u8 = 1;

struct TriggerRow {
    object: ObjectRow,
    entry: TriggerEntry,
}

system_row!(TriggerRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "parent_class" TINYINT => |_| Value::TinyInt(PARENT_CLASS_OBJECT);
    "parent_class_desc" DESCRIPTION => |_| "OBJECT_OR_COLUMN".into();
    "parent_id" INT => |row| row.object.parent.into();
    "type" SqlType::Char(2) => |_| "TR".into();
    "type_desc" DESCRIPTION => |_| "SQL_TRIGGER".into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_disabled" BIT => |row| row.entry.is_disabled.into();
    "is_not_for_replication" BIT => |row| row.entry.is_not_for_replication.into();
    "is_instead_of_trigger" BIT => |row| row.entry.is_instead_of.into();
});

struct EventRow {
    object_id: i32,
    event: TriggerEvent,
}

system_row!(EventRow {
    "object_id" INT => |row| row.object_id.into();
    "type" INT => |row| row.event.action.shown().0.into();
    "type_desc" DESCRIPTION => |row| row.event.action.shown().1.into();
    "is_first" BIT => |row| (row.event.order == TriggerOrder::First).into();
    "is_last" BIT => |row| (row.event.order == TriggerOrder::Last).into();
    "event_group_type" INT => |_| Value::Null;
    "event_group_type_desc" DESCRIPTION => |_| Value::Null;
    "is_trigger_event" BIT => |_| true.into();
});

/// What a table or view knows of its triggers.
fn entries(object: &CatalogObject) -> &[TriggerEntry] {
    object.definition.triggers()
}

fn triggers(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let catalog = &context.database.catalog;
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "TR");
    all(rows.filter_map(|object| {
        let parent = catalog.by_id(object.parent as u32, context.session_id)?;
        let mut own = entries(&parent).iter();
        let entry = own.find(|entry| entry.object_id as i32 == object.object_id)?.clone();
        Some(TriggerRow { object, entry })
    }))
}

fn events(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let objects = context.database.catalog.objects(context.session_id);
    let mut rows = Vec::new();
    for entry in objects.iter().flat_map(|object| entries(object)) {
        rows.extend(entry.events.iter().map(|event| EventRow {
            object_id: entry.object_id as i32,
            event: *event,
        }));
    }
    all(rows)
}
