//! `sys.synonyms` (SQL Server docs, the page of the view).

use engine::catalog::ObjectDefinition;
use engine::types::{SqlType, Value};

use super::objects::{ObjectRow, objects, owner_id};
use super::values::stored_datetime;
use super::{BIT, DATETIME, INT, NAME, Rows, SystemContext, SystemView, all, nvarchar, system_row, view};

pub(super) const VIEWS: &[SystemView] = &[view::<SynonymRow>("sys", "synonyms", synonyms)];

struct SynonymRow {
    object: ObjectRow,
    base: String,
}

system_row!(SynonymRow {
    "name" NAME => |row| row.object.name.as_str().into();
    "object_id" INT => |row| row.object.object_id.into();
    "principal_id" INT => |row| owner_id(row.object.owner);
    "schema_id" INT => |row| row.object.schema_id.into();
    "parent_object_id" INT => |_| Value::Int(0);
    "type" SqlType::Char(2) => |_| "SN".into();
    "type_desc" nvarchar(60) => |_| "SYNONYM".into();
    "create_date" DATETIME => |row| stored_datetime(row.object.created);
    "modify_date" DATETIME => |row| stored_datetime(row.object.created);
    "is_ms_shipped" BIT => |_| false.into();
    "is_published" BIT => |_| false.into();
    "is_schema_published" BIT => |_| false.into();
    "base_object_name" nvarchar(1035) => |row| row.base.as_str().into();
});

fn synonyms(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let catalog = &context.database.catalog;
    let rows = objects(context).into_iter().filter(|row| row.kind.0 == "SN");
    all(rows.filter_map(|object| {
        let found = catalog.by_id(object.object_id as u32, context.session_id)?;
        match &found.definition {
            ObjectDefinition::Synonym(synonym) => Some(SynonymRow {
                base: synonym.base.clone(),
                object,
            }),
            _ => None,
        }
    }))
}
