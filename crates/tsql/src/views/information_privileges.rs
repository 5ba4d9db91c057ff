//! `INFORMATION_SCHEMA.TABLE_PRIVILEGES` and `COLUMN_PRIVILEGES`: what is granted to everybody, or to or by the current user, who is dbo
//! (sql-docs, the pages of the views).

use std::collections::HashMap;

use engine::catalog::{PermissionEntry, PermissionState, Securable};
use engine::types::Value;

use super::objects::{ObjectRow, columns_of, with_columns};
use super::{NAME, Rows, SystemContext, SystemView, all, system_row, varchar, view};
use crate::security::{DBO, Entries, PUBLIC, Permission, principals};

pub(super) const VIEWS: &[SystemView] = &[
    view::<TableRow>("INFORMATION_SCHEMA", "TABLE_PRIVILEGES", of_tables),
    view::<ColumnRow>("INFORMATION_SCHEMA", "COLUMN_PRIVILEGES", of_columns),
];

struct TableRow {
    database: String,
    owner: ObjectRow,
    grantor: String,
    grantee: String,
    own: PermissionEntry,
}

impl TableRow {
    fn privilege(&self) -> Value {
        Permission::coded(&self.own.permission).map(|own| own.name).into()
    }

    fn grantable(&self) -> Value {
        match self.own.state == PermissionState::GrantWithGrantOption {
            true => "YES",
            false => "NO",
        }
        .into()
    }
}

system_row!(TableRow {
    "GRANTOR" NAME => |row| row.grantor.as_str().into();
    "GRANTEE" NAME => |row| row.grantee.as_str().into();
    "TABLE_CATALOG" NAME => |row| row.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.owner.name.as_str().into();
    "PRIVILEGE_TYPE" varchar(10) => |row| row.privilege();
    "IS_GRANTABLE" varchar(3) => |row| row.grantable();
});

/// A permission of a column, and the column's name.
struct ColumnRow(TableRow, String);

system_row!(ColumnRow {
    "GRANTOR" NAME => |row| row.0.grantor.as_str().into();
    "GRANTEE" NAME => |row| row.0.grantee.as_str().into();
    "TABLE_CATALOG" NAME => |row| row.0.database.as_str().into();
    "TABLE_SCHEMA" NAME => |row| row.0.owner.schema.as_str().into();
    "TABLE_NAME" NAME => |row| row.0.owner.name.as_str().into();
    "COLUMN_NAME" NAME => |row| row.1.as_str().into();
    "PRIVILEGE_TYPE" varchar(10) => |row| row.0.privilege();
    "IS_GRANTABLE" varchar(3) => |row| row.0.grantable();
});

/// The permissions of some codes on tables and views, with the numbers of their columns; 0 for a whole table.
fn granted(context: &SystemContext<'_>, codes: &[&str]) -> Vec<(TableRow, u32, Vec<String>)> {
    let names: HashMap<u32, String> = principals(&context.database, context.session_id)
        .into_iter()
        .map(|principal| (principal.id, principal.name))
        .collect();
    let name_of = |id: u32| names.get(&id).cloned().unwrap_or_default();
    let entries = Entries::of(&context.database, context.session_id);
    let database = context.database.name();
    let mut rows = Vec::new();
    for (owner, object) in with_columns(context) {
        if !matches!(owner.kind.0, "U" | "V") {
            continue;
        }
        let object_id = object.definition.object_id();
        for (_, own) in &entries.permissions {
            let is_told = own.grantor == DBO || [PUBLIC, DBO].contains(&own.grantee);
            let is_meant = own.state.is_granted() && codes.contains(&own.permission.as_str()) && is_told;
            if !is_meant || own.securable.whole() != Securable::Object(object_id) {
                continue;
            }
            let row = TableRow {
                database: database.clone(),
                owner: owner.clone(),
                grantor: name_of(own.grantor),
                grantee: name_of(own.grantee),
                own: own.clone(),
            };
            let columns = columns_of(&object).iter().map(|column| column.name.clone());
            rows.push((row, own.securable.numbers().3, columns.collect()));
        }
    }
    rows
}

fn of_tables(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let rows = granted(context, &["DL", "IN", "RF", "SL", "UP"]).into_iter();
    all(rows.filter(|(_, column, _)| *column == 0).map(|(row, ..)| row))
}

fn of_columns(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let rows = granted(context, &["RF", "SL", "UP"]).into_iter();
    all(rows.filter_map(|(row, column, names)| {
        let place = usize::try_from(column).ok()?.checked_sub(1)?;
        Some(ColumnRow(row, names.get(place)?.clone()))
    }))
}
