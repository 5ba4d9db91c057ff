//! `sp_helprotect`: permissions on objects and of statements, those that SQL Server 2000 had and those of the same kinds (sql-docs).

use std::collections::HashMap;

use engine::catalog::{ObjectDefinition, PermissionEntry, PermissionState, Securable};
use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{NAME, SystemProcedure, text};
use crate::ast::Name;
use crate::messages;
use crate::security::{Entries, Permission, principal_named, principals};
use crate::views::columns_of;

pub(super) const PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_helprotect",
    parameters: &[
        ("@name", NAME, false),
        ("@username", SqlType::SYSNAME, false),
        ("@grantorname", SqlType::SYSNAME, false),
        ("@permissionarea", SqlType::VarChar(Length::Limited(10)), false),
    ],
    run: help_protect,
}];

/// What stands for nothing.
const NONE: &str = ".";

/// A permission as it is reported, in the order of the report.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    is_statement: bool,
    owner: String,
    object: String,
    grantee: String,
    grantor: String,
    protection: &'static str,
    action: String,
    column_id: u32,
    column: String,
}

/// Permissions that SQL Server 2000 had begin with a capital letter, others are all in capital letters.
const OLD: [&str; 15] = [
    "RF", "CRFN", "SL", "IN", "DL", "UP", "CRTB", "CRDB", "CRVW", "CRPR", "EX", "BADB", "CRDF", "BALO", "CRRU",
];

fn action(code: &str) -> String {
    let name = Permission::coded(code).map_or("", |own| own.name);
    if !OLD.contains(&code) {
        return name.to_owned();
    }
    let words = name.split(' ').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{first}{}", rest.to_lowercase())
    });
    words.collect::<Vec<_>>().join(" ")
}

fn row(context: &SystemContext<'_>, names: &HashMap<u32, String>, own: &PermissionEntry) -> Option<Row> {
    let (owner, object, column_id, column) = match own.securable {
        Securable::Database => (NONE.to_owned(), NONE.to_owned(), 0, NONE.to_owned()),
        Securable::Object(id) | Securable::Column(id, _) => {
            let object = context.database.catalog.by_id(id, context.session_id)?;
            let (schema, name) = object.definition.qualified_name()?;
            let number = own.securable.numbers().3;
            let has_columns = matches!(own.permission.as_str(), "RF" | "SL" | "UP")
                && matches!(
                    object.definition,
                    ObjectDefinition::Table(_) | ObjectDefinition::Module(_)
                );
            let column = match (number as usize).checked_sub(1) {
                Some(place) => columns_of(&object).get(place)?.name.clone(),
                None if has_columns => "(All+New)".to_owned(),
                None => NONE.to_owned(),
            };
            (schema.to_owned(), name.to_owned(), number, column)
        }
        _ => return None,
    };
    Some(Row {
        is_statement: own.securable == Securable::Database,
        owner,
        object,
        grantee: names.get(&own.grantee)?.clone(),
        grantor: names.get(&own.grantor)?.clone(),
        protection: match own.state {
            PermissionState::Grant => "Grant",
            PermissionState::GrantWithGrantOption => "Grant_WGO",
            PermissionState::Deny => "Deny",
            PermissionState::Revoke => return None,
        },
        action: action(&own.permission),
        column_id,
        column,
    })
}

fn help_protect(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let id_of = |place: usize| {
        let name = text(arguments, place)?;
        let found = principal_named(&context.database, context.session_id, name);
        Some(found.map(|found| found.id))
    };
    let (grantee, grantor) = (id_of(1), id_of(2));
    let area = text(arguments, 3).map_or_else(|| "os".to_owned(), str::to_lowercase);
    let wanted = text(arguments, 0);
    let object = wanted.and_then(Name::parse).and_then(|name| {
        let schema = name.schema().unwrap_or("dbo");
        let found = context
            .database
            .catalog
            .find(schema, name.object(), context.session_id)?;
        Some(found.definition.object_id())
    });
    let is_meant = |own: &&PermissionEntry| {
        let is_named = wanted.is_none_or(|wanted| match (own.securable.whole(), object) {
            (Securable::Object(id), Some(object)) => id == object,
            (Securable::Database, None) => action(&own.permission).eq_ignore_ascii_case(wanted.trim()),
            _ => false,
        });
        let is_in_area = match own.securable {
            Securable::Database => area.contains('s'),
            _ => area.contains('o'),
        };
        is_named
            && is_in_area
            && grantee.is_none_or(|id| id == Some(own.grantee))
            && grantor.is_none_or(|id| id == Some(own.grantor))
    };
    let names: HashMap<u32, String> = principals(&context.database, context.session_id)
        .into_iter()
        .map(|principal| (principal.id, principal.name))
        .collect();
    let entries = Entries::of(&context.database, context.session_id).every_permission();
    let meant = entries.iter().filter(is_meant);
    let mut rows: Vec<Row> = meant.filter_map(|own| row(context, &names, own)).collect();
    if rows.is_empty() {
        return Err(messages::no_rows_to_report());
    }
    rows.sort();
    let mut table = Table::new(&[
        ("Owner", SqlType::SYSNAME),
        ("Object", SqlType::SYSNAME),
        ("Grantee", SqlType::SYSNAME),
        ("Grantor", SqlType::SYSNAME),
        ("ProtectType", SqlType::NVarChar(Length::Limited(10))),
        ("Action", SqlType::NVarChar(Length::Limited(60))),
        ("Column", SqlType::SYSNAME),
    ]);
    for row in rows {
        table.push(vec![
            row.owner.into(),
            row.object.into(),
            row.grantee.into(),
            row.grantor.into(),
            format!("{:<10}", row.protection).into(),
            row.action.into(),
            row.column.into(),
        ]);
    }
    table.send(host).map(|()| 0)
}
