//! Functions about users, roles and permissions. The user is `dbo`, who has every permission on everything that is there.

use engine::database::Database;
use engine::error::Result;
use engine::types::Value;

use super::Parameter::{Int, Name};
use super::{Call, INT, NAME, Signature, signature};
use crate::ast;
use crate::security::{
    self, Class, DB_OWNER, DBO, DatabasePrincipal, Entries, PUBLIC, permission_named, principal_named,
    principal_numbered,
};
use crate::views::type_code;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("current_user", 0, &[], NAME, user_name).told(": user in the database: dbo"),
    signature(
        "has_perms_by_name",
        3,
        &[Name, Name, Name, Name, Name],
        INT,
        has_permission,
    )
    .told("name, class, permission, part, part_class: 1 for what is there: the one login may do everything"),
    signature("is_member", 1, &[Name], INT, is_role_member).told("role: 1 if the user is in a role of the database"),
    signature("is_rolemember", 1, &[Name, Name], INT, is_role_member)
        .told("role, user: 1 if a user is in a role of the database"),
    signature("session_user", 0, &[], NAME, user_name).told(": user in the database: dbo"),
    signature("user", 0, &[], NAME, user_name).told(": user in the database: dbo"),
    signature("user_id", 0, &[Name], INT, user_id).told("name: id of a user or role of the database"),
    signature("user_name", 0, &[Int], NAME, user_name).told("id: name of a user or role of the database"),
];

/// The principal that the argument at a place names.
fn named(call: &Call<'_>, place: usize) -> Option<DatabasePrincipal> {
    let session = call.context.session;
    call.text(place)
        .and_then(|name| principal_named(&session.database(), session.id, name))
}

/// `USER_ID` and `DATABASE_PRINCIPAL_ID`: the user is dbo; NULL for a name that no principal has.
pub(super) fn user_id(call: &Call<'_>) -> Result<Value> {
    let id = match call.values.is_empty() {
        true => Some(DBO),
        false => named(call, 0).map(|principal| principal.id),
    };
    Ok(id.map_or(Value::Null, |id| Value::Int(id as i32)))
}

/// Every login works as the owner of every database.
fn user_name(call: &Call<'_>) -> Result<Value> {
    if call.values.is_empty() {
        return Ok(Value::from("dbo"));
    }
    let session = call.context.session;
    let id = call.integer(0).and_then(|id| u32::try_from(id).ok());
    let found = id.and_then(|id| principal_numbered(&session.database(), session.id, id));
    Ok(found.map_or(Value::Null, |found| Value::from(found.name)))
}

/// The fixed roles whose members are denied something: dbo is in neither of them.
const DENYING: [&str; 2] = ["db_denydatareader", "db_denydatawriter"];

/// `IS_ROLEMEMBER('role', 'user')` and `IS_MEMBER('role')`: NULL for a role or user that does not exist. A principal is a member of itself,
/// of `public`, and of the roles that its roles are in; dbo is in every fixed role that gives something.
fn is_role_member(call: &Call<'_>) -> Result<Value> {
    let Some(role) = named(call, 0).filter(|role| role.is_role) else {
        return Ok(Value::Null);
    };
    let session = call.context.session;
    let member = match call.values.len() {
        1 => Some(DBO),
        _ => named(call, 1).map(|member| member.id),
    };
    let Some(member) = member else {
        return Ok(Value::Null);
    };
    let is_owners = member == DBO && role.id >= DB_OWNER && role.is_fixed && !DENYING.contains(&role.name.as_str());
    let is_in = is_owners || role.id == PUBLIC || {
        let entries = Entries::of(&session.database(), session.id);
        entries.closure(member).contains(&role.id)
    };
    Ok(Value::Int(is_in.into()))
}

/// `HAS_PERMS_BY_NAME(securable, class, permission, part, part_class)` (sql-docs): 1 for a permission on what is there, 0 for an object or
/// schema that is not, NULL for classes and permissions that are none.
fn has_permission(call: &Call<'_>) -> Result<Value> {
    let Some(permission) = call.text(2).map(|name| name.trim().to_uppercase()) else {
        return Ok(Value::Null);
    };
    let class = call.text(1).map(|class| class.trim().to_uppercase());
    let is_any = permission == "ANY";
    let class = match class.as_deref() {
        None | Some("SERVER") => {
            let is_one = is_any || security::is_of_server(&permission);
            return Ok(if is_one { Value::Int(1) } else { Value::Null });
        }
        Some("LOGIN") => return Ok(on_login(call.text(0), &permission)),
        Some(words) => Class::named(words),
    };
    let Some(class) = class.filter(|class| is_any || permission_named(&permission, *class).is_some()) else {
        return Ok(Value::Null);
    };
    let session = call.context.session;
    let database = session.database();
    let Some(name) = call.text(0) else {
        // The current database, of which nothing else needs to be named.
        let is_current = class == Class::Database;
        return Ok(if is_current { Value::Int(1) } else { Value::Null });
    };
    let is_there = match class {
        Class::Object => return Ok(on_object(call, name)),
        Class::Database => {
            let slots = session.instance.slots();
            slots.iter().any(|slot| slot.entry().name.eq_ignore_ascii_case(name))
        }
        Class::Schema => crate::views::id_of_schema(&database, session.id, name).is_some(),
        Class::User => named(call, 0).is_some_and(|found| !found.is_role),
        Class::Role => named(call, 0).is_some_and(|found| found.is_role),
        Class::Type => is_type(&database, session.id, name),
        Class::XmlSchemaCollection => ast::Name::parse(name).is_some_and(|name| {
            let schema = name.schema().unwrap_or("dbo");
            database
                .xml_schema_collection(schema, name.object(), session.id)
                .is_some()
        }),
    };
    Ok(Value::Int(is_there.into()))
}

fn is_type(database: &Database, session: u16, name: &str) -> bool {
    ast::Name::parse(name).is_some_and(|name| {
        let schema = name.schema().unwrap_or("dbo");
        database.catalog.user_type(schema, name.object(), session).is_some()
    })
}

/// The permissions on a login (sql-docs, "sys.fn_builtin_permissions", LOGIN).
fn on_login(name: Option<&str>, permission: &str) -> Value {
    if !["ALTER", "ANY", "CONTROL", "IMPERSONATE", "VIEW DEFINITION"].contains(&permission) {
        return Value::Null;
    }
    name.map_or(Value::Null, |name| {
        let found = security::of_server(name);
        Value::Int(found.is_some_and(security::Principal::is_login).into())
    })
}

/// An object, or a column of it when the part's class says so.
fn on_object(call: &Call<'_>, text: &str) -> Value {
    let session = call.context.session;
    let Some(name) = ast::Name::parse(text) else {
        return Value::Int(0);
    };
    if crate::views::find(&name).is_some() {
        return Value::Int(1);
    }
    let Ok(Some((_, object))) = session.find_object(&name) else {
        return Value::Int(0);
    };
    let part = call.text(3);
    let is_of_column = call
        .text(4)
        .is_some_and(|class| class.trim().eq_ignore_ascii_case("COLUMN"));
    let columns = crate::views::columns_of(&object);
    let is_there = match part {
        Some(column) if is_of_column => columns
            .iter()
            .any(|own| own.name.to_lowercase() == column.to_lowercase()),
        Some(_) => return Value::Null,
        None => !type_code(&object.definition).is_empty(),
    };
    Value::Int(is_there.into())
}
