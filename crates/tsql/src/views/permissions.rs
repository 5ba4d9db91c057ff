//! `sys.fn_my_permissions`. Every login is a member of sysadmin, and so has every permission on every object (sql-docs,
//! "sys.fn_my_permissions", "Permissions (Database Engine)").

use engine::types::{SqlType, Value};

use super::objects::kind_of;
use super::{NAME, Rows, SystemContext, SystemView, all, function, nvarchar, system_row};
use crate::ast::Name;

pub(super) const VIEWS: &[SystemView] = &[function::<Permission>(
    "fn_my_permissions",
    &[SECURABLE, nvarchar(60)],
    2,
    my_permissions,
)];

const SECURABLE: SqlType = nvarchar(1035);

struct Permission {
    entity: String,
    name: &'static str,
}

system_row!(Permission {
    "entity_name" NAME => |row| row.entity.as_str().into();
    "subentity_name" NAME => |_| "".into();
    "permission_name" nvarchar(60) => |row| row.name.into();
});

/// Those that SQL Server 2012 and later have of a server.
const OF_SERVER: &[&str] = &[
    "CONNECT SQL",
    "SHUTDOWN",
    "CREATE ENDPOINT",
    "CREATE ANY DATABASE",
    "CREATE AVAILABILITY GROUP",
    "ALTER ANY LOGIN",
    "ALTER ANY CREDENTIAL",
    "ALTER ANY ENDPOINT",
    "ALTER ANY LINKED SERVER",
    "ALTER ANY CONNECTION",
    "ALTER ANY DATABASE",
    "ALTER RESOURCES",
    "ALTER SETTINGS",
    "ALTER TRACE",
    "ALTER ANY AVAILABILITY GROUP",
    "ADMINISTER BULK OPERATIONS",
    "AUTHENTICATE SERVER",
    "EXTERNAL ACCESS ASSEMBLY",
    "VIEW ANY DATABASE",
    "VIEW ANY DEFINITION",
    "VIEW SERVER STATE",
    "CREATE DDL EVENT NOTIFICATION",
    "CREATE TRACE EVENT NOTIFICATION",
    "ALTER ANY EVENT NOTIFICATION",
    "ALTER SERVER STATE",
    "UNSAFE ASSEMBLY",
    "ALTER ANY SERVER AUDIT",
    "CREATE SERVER ROLE",
    "ALTER ANY SERVER ROLE",
    "ALTER ANY EVENT SESSION",
    "CONNECT ANY DATABASE",
    "IMPERSONATE ANY LOGIN",
    "SELECT ALL USER SECURABLES",
    "CONTROL SERVER",
];

const OF_DATABASE: &[&str] = &[
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE PROCEDURE",
    "CREATE FUNCTION",
    "CREATE RULE",
    "CREATE DEFAULT",
    "BACKUP DATABASE",
    "BACKUP LOG",
    "CREATE DATABASE",
    "CREATE TYPE",
    "CREATE ASSEMBLY",
    "CREATE XML SCHEMA COLLECTION",
    "CREATE SCHEMA",
    "CREATE SYNONYM",
    "CREATE AGGREGATE",
    "CREATE ROLE",
    "CREATE MESSAGE TYPE",
    "CREATE SERVICE",
    "CREATE CONTRACT",
    "CREATE REMOTE SERVICE BINDING",
    "CREATE ROUTE",
    "CREATE QUEUE",
    "CREATE SYMMETRIC KEY",
    "CREATE ASYMMETRIC KEY",
    "CREATE FULLTEXT CATALOG",
    "CREATE CERTIFICATE",
    "CREATE DATABASE DDL EVENT NOTIFICATION",
    "CONNECT",
    "CONNECT REPLICATION",
    "CHECKPOINT",
    "SUBSCRIBE QUERY NOTIFICATIONS",
    "AUTHENTICATE",
    "SHOWPLAN",
    "ALTER ANY USER",
    "ALTER ANY ROLE",
    "ALTER ANY APPLICATION ROLE",
    "ALTER ANY SCHEMA",
    "ALTER ANY ASSEMBLY",
    "ALTER ANY DATASPACE",
    "ALTER ANY DATABASE DDL TRIGGER",
    "VIEW DATABASE STATE",
    "VIEW DEFINITION",
    "TAKE OWNERSHIP",
    "ALTER",
    "CONTROL",
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REFERENCES",
    "EXECUTE",
];

const OF_ROWS: &[&str] = &[
    "SELECT",
    "UPDATE",
    "REFERENCES",
    "INSERT",
    "DELETE",
    "VIEW CHANGE TRACKING",
    "VIEW DEFINITION",
    "ALTER",
    "TAKE OWNERSHIP",
    "CONTROL",
];

const OF_CALLED: &[&str] = &["EXECUTE", "VIEW DEFINITION", "ALTER", "TAKE OWNERSHIP", "CONTROL"];

/// Of a class and a securable of it; no rows for one that is not there, and for other classes.
fn my_permissions(context: &SystemContext<'_>, arguments: &[Value]) -> Rows {
    let text = |place: usize| arguments.get(place).and_then(Value::as_str);
    let class = text(1).unwrap_or("SERVER").trim().to_uppercase();
    let (entity, names) = match (class.as_str(), text(0)) {
        ("SERVER", _) => ("server".to_owned(), OF_SERVER),
        ("DATABASE", None) => ("database".to_owned(), OF_DATABASE),
        ("DATABASE", Some(name)) => {
            let found = Name::parse(name).and_then(|name| context.slot(name.object()));
            (name.to_owned(), if found.is_some() { OF_DATABASE } else { &[] })
        }
        ("OBJECT", Some(name)) => (name.to_owned(), of_object(context, name).unwrap_or_default()),
        _ => (String::new(), &[][..]),
    };
    all(names.iter().map(move |name| Permission {
        entity: entity.clone(),
        name,
    }))
}

fn of_object(context: &SystemContext<'_>, text: &str) -> Option<&'static [&'static str]> {
    let name = Name::parse(text)?;
    if let Some(view) = super::find(&name) {
        return (!view.is_function).then_some(&["SELECT"]);
    }
    let database = match name.database() {
        Some(database) => context.instance.database(database).ok()?,
        None => context.database.clone(),
    };
    let found = database
        .catalog
        .find(name.schema().unwrap_or("dbo"), name.object(), context.session_id)?;
    Some(match kind_of(&found.definition)?.0 {
        "U" | "V" | "IF" | "TF" | "SN" => OF_ROWS,
        _ => OF_CALLED,
    })
}
