//! What the document of EVENTDATA() says of principals, owners and permissions.
//!
//! ```text
//! CREATE_ROLE, DROP_ROLE                  ObjectName ObjectType OwnerName
//! ALTER_ROLE                              ObjectName ObjectType
//! ADD_ROLE_MEMBER, DROP_ROLE_MEMBER       ObjectName ObjectType RoleName               the object is the member
//! CREATE_USER, ALTER_USER, DROP_USER      ObjectName ObjectType DefaultSchema
//! ALTER_AUTHORIZATION_DATABASE            SchemaName ObjectName ObjectType OwnerName
//! GRANT_, DENY_, REVOKE_DATABASE          SchemaName ObjectName ObjectType Grantor Permissions Grantees AsGrantor GrantOption CascadeOption
//! ```
//! (schemas.microsoft.com/sqlserver/2006/11/eventdata has the elements. That principals have no SchemaName, a user is an `SQL USER`, and the
//! document of GRANT, with its permissions in small letters, the SqlServerSimulator project has seen of SQL Server 2025.)

use engine::catalog::PermissionState;
use engine::database::Database;

use super::definition_event::{Content, Elements};
use super::securable::FoundSecurable;
use crate::ast::{Name, Permission, PermissionAction, PrincipalStatement, RoleChange, UserOption};
use crate::security::{Class, Entries, principal_named, principal_numbered};
use crate::state::SessionState;

fn text(name: &str) -> Content {
    Content::Text(name.to_owned())
}

/// The event of a statement about a principal or an owner.
pub(super) fn event_of_principal(statement: &PrincipalStatement) -> &'static str {
    match statement {
        PrincipalStatement::CreateRole { .. } => "CREATE_ROLE",
        PrincipalStatement::AlterRole { change, .. } => match change {
            RoleChange::AddMember(_) => "ADD_ROLE_MEMBER",
            RoleChange::DropMember(_) => "DROP_ROLE_MEMBER",
            RoleChange::Rename(_) => "ALTER_ROLE",
        },
        PrincipalStatement::DropRole { .. } => "DROP_ROLE",
        PrincipalStatement::CreateUser { .. } => "CREATE_USER",
        PrincipalStatement::AlterUser { .. } => "ALTER_USER",
        PrincipalStatement::DropUser { .. } => "DROP_USER",
        PrincipalStatement::AlterAuthorization { .. } => "ALTER_AUTHORIZATION_DATABASE",
    }
}

/// The event of GRANT, DENY or REVOKE.
pub(super) fn event_of_permission(action: PermissionAction) -> &'static str {
    match action {
        PermissionAction::Grant => "GRANT_DATABASE",
        PermissionAction::Deny => "DENY_DATABASE",
        PermissionAction::Revoke => "REVOKE_DATABASE",
    }
}

/// The elements of a role or its member.
pub(super) fn role_elements(session: &SessionState, name: &str, owner: Option<&str>) -> Elements {
    let database = session.database();
    let stored = principal_named(&database, session.id, name).and_then(|role| role.owner);
    let stored = stored.and_then(|owner| principal_numbered(&database, session.id, owner));
    let stored = stored.map_or_else(|| "dbo".to_owned(), |owner| owner.name);
    vec![
        ("ObjectName", text(name)),
        ("ObjectType", text("ROLE")),
        ("OwnerName", text(owner.unwrap_or(&stored))),
    ]
}

/// The elements of a member of a role that comes or goes.
pub(super) fn member_elements(session: &SessionState, role: &str, member: &str) -> Elements {
    let found = principal_named(&session.database(), session.id, member);
    let is_role = found.is_some_and(|found| found.is_role);
    vec![
        ("ObjectName", text(member)),
        ("ObjectType", text(if is_role { "ROLE" } else { "SQL USER" })),
        ("RoleName", text(role)),
    ]
}

/// The elements of a user.
pub(super) fn user_elements(session: &SessionState, name: &str, default_schema: Option<&str>) -> Elements {
    let found = principal_named(&session.database(), session.id, name);
    let stored = found.and_then(|found| found.default_schema);
    let schema = default_schema.or(stored.as_deref()).unwrap_or("dbo");
    vec![
        ("ObjectName", text(name)),
        ("ObjectType", text("SQL USER")),
        ("DefaultSchema", text(schema)),
    ]
}

fn default_schema(options: &[UserOption]) -> Option<&str> {
    options.iter().find_map(|option| match option {
        UserOption::DefaultSchema(schema) => Some(schema.text.as_str()),
        _ => None,
    })
}

/// The elements of a statement about a principal or an owner; `found` is what the owner is of.
pub(super) fn elements_of_principal(
    session: &SessionState,
    statement: &PrincipalStatement,
    found: Option<&FoundSecurable>,
) -> Elements {
    match statement {
        PrincipalStatement::CreateRole { name, owner } => {
            role_elements(session, &name.text, owner.as_ref().map(|owner| owner.text.as_str()))
        }
        PrincipalStatement::DropRole { name, .. } => role_elements(session, &name.text, None),
        PrincipalStatement::AlterRole { name, change } => match change {
            RoleChange::AddMember(member) | RoleChange::DropMember(member) => {
                member_elements(session, &name.text, &member.text)
            }
            RoleChange::Rename(_) => vec![("ObjectName", text(&name.text)), ("ObjectType", text("ROLE"))],
        },
        PrincipalStatement::CreateUser { name, options, .. } | PrincipalStatement::AlterUser { name, options } => {
            user_elements(session, &name.text, default_schema(options))
        }
        PrincipalStatement::DropUser { name, .. } => user_elements(session, &name.text, None),
        PrincipalStatement::AlterAuthorization { class, name, owner } => {
            let owner = owner.as_ref().map_or("SCHEMA OWNER", |owner| owner.text.as_str());
            let is_database = class_to_own(class.as_deref()) == Some(Class::Database);
            let mut elements = match is_database {
                true => of_database(name.object()),
                false => of_securable(found, name),
            };
            elements.push(("OwnerName", text(owner)));
            elements
        }
    }
}

fn of_database(name: &str) -> Elements {
    vec![
        ("SchemaName", text("")),
        ("ObjectName", text(name)),
        ("ObjectType", text("DATABASE")),
    ]
}

fn of_securable(found: Option<&FoundSecurable>, written: &Name) -> Elements {
    let schema = found.and_then(|found| found.schema.as_deref()).unwrap_or_default();
    let name = found.map_or_else(|| written.object(), |found| found.name.as_str());
    vec![
        ("SchemaName", text(schema)),
        ("ObjectName", text(name)),
        ("ObjectType", text(found.map_or("", FoundSecurable::event_type))),
    ]
}

/// The elements of GRANT, DENY or REVOKE; nothing is found where the database itself is meant.
pub(super) fn elements_of_permission(
    session: &SessionState,
    database: &Database,
    written: &Permission,
    found: Option<&FoundSecurable>,
) -> Elements {
    let name_of = |id: u32| principal_numbered(database, session.id, id).map(|own| own.name);
    let owner = found.map_or(crate::security::DBO, |found| found.owner);
    let mut elements = match (found, &written.securable) {
        (Some(_), Some(securable)) => of_securable(found, &securable.name),
        _ => of_database(&database.name()),
    };
    let grantees: Vec<String> = written.principals.iter().map(|own| own.text.clone()).collect();
    let permissions = written.permissions.iter().map(|own| own.words.to_lowercase()).collect();
    let id = found.map_or(engine::catalog::Securable::Database, |found| found.id);
    let holds_option = {
        let entries = Entries::of(database, session.id);
        let grantees: Vec<u32> = grantees
            .iter()
            .filter_map(|name| principal_named(database, session.id, name).map(|own| own.id))
            .collect();
        entries.permissions.iter().any(|(_, own)| {
            own.state == PermissionState::GrantWithGrantOption
                && own.securable.whole() == id
                && grantees.contains(&own.grantee)
        })
    };
    let flag = |is_on: bool| text(if is_on { "1" } else { "0" });
    let grantor = written.grantor.as_ref().map(|grantor| grantor.text.as_str());
    elements.push(("Grantor", text(&name_of(owner).unwrap_or_default())));
    elements.push(("Permissions", Content::List("Permission", permissions)));
    elements.push(("Grantees", Content::List("Grantee", grantees)));
    elements.push(("AsGrantor", text(grantor.unwrap_or_default())));
    elements.push(("GrantOption", flag(written.grant_option)));
    elements.push(("CascadeOption", flag(written.cascade && holds_option)));
    elements
}

/// The class that ALTER AUTHORIZATION names.
pub(super) fn class_to_own(class: Option<&str>) -> Option<Class> {
    Class::named(class.unwrap_or("OBJECT"))
}
