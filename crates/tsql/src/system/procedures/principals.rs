//! Procedures about users and roles, most of them through the statements that replaced them (sql-docs, "Security stored procedures").

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::{SystemProcedure, text};
use crate::messages;
use crate::security::{DBO, DatabasePrincipal, Entries, principal_named, principals};

const NAME: SqlType = SqlType::SYSNAME;
const SID: SqlType = SqlType::VarBinary(Length::Limited(85));
const ROLE: &[super::Parameter] = &[("@rolename", NAME, false)];
const MEMBER: &[super::Parameter] = &[("@rolename", NAME, true), ("@membername", NAME, true)];
const USER: &[super::Parameter] = &[("@name_in_db", NAME, true)];

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_addrole",
        parameters: &[("@rolename", NAME, true), ("@ownername", NAME, false)],
        run: |_, host, arguments| {
            let role = format!("CREATE ROLE {}", quoted(arguments, 0));
            run(
                host,
                match text(arguments, 1) {
                    Some(_) => format!("{role} AUTHORIZATION {}", quoted(arguments, 1)),
                    None => role,
                },
            )
        },
    },
    SystemProcedure {
        name: "sp_droprole",
        parameters: &[("@rolename", NAME, true)],
        run: drop_role,
    },
    SystemProcedure {
        name: "sp_addrolemember",
        parameters: MEMBER,
        run: |context, host, arguments| {
            let member = text(arguments, 1).unwrap_or_default();
            if find(context, member).is_none() {
                return Err(messages::no_user_or_role_here(member));
            }
            let (role, member) = (quoted(arguments, 0), quoted(arguments, 1));
            run(host, format!("ALTER ROLE {role} ADD MEMBER {member}"))
        },
    },
    SystemProcedure {
        name: "sp_droprolemember",
        parameters: MEMBER,
        run: |_, host, arguments| {
            let (role, member) = (quoted(arguments, 0), quoted(arguments, 1));
            run(host, format!("ALTER ROLE {role} DROP MEMBER {member}"))
        },
    },
    SystemProcedure {
        name: "sp_adduser",
        parameters: &[
            ("@loginame", NAME, true),
            ("@name_in_db", NAME, false),
            ("@grpname", NAME, false),
        ],
        run: add_user,
    },
    SystemProcedure {
        name: "sp_grantdbaccess",
        parameters: &[("@loginame", NAME, true), ("@name_in_db", NAME, false)],
        run: add_user,
    },
    SystemProcedure {
        name: "sp_dropuser",
        parameters: USER,
        run: drop_user,
    },
    SystemProcedure {
        name: "sp_revokedbaccess",
        parameters: USER,
        run: drop_user,
    },
    SystemProcedure {
        name: "sp_changedbowner",
        parameters: &[
            ("@loginame", NAME, true),
            ("@map", SqlType::VarChar(Length::Limited(5)), false),
        ],
        run: |context, host, arguments| match text(arguments, 0) {
            None => Ok(0),
            Some(_) => {
                let database = context.database.name().replace(']', "]]");
                let login = quoted(arguments, 0);
                run(
                    host,
                    format!("ALTER AUTHORIZATION ON DATABASE::[{database}] TO {login}"),
                )
            }
        },
    },
    SystemProcedure {
        name: "sp_helprole",
        parameters: ROLE,
        run: help_role,
    },
    SystemProcedure {
        name: "sp_helprolemember",
        parameters: ROLE,
        run: help_role_member,
    },
    SystemProcedure {
        name: "sp_helpdbfixedrole",
        parameters: ROLE,
        run: help_fixed_role,
    },
    SystemProcedure {
        name: "sp_helpuser",
        parameters: &[("@name_in_db", NAME, false)],
        run: help_user,
    },
];

fn quoted(arguments: &[Value], place: usize) -> String {
    let name = text(arguments, place).unwrap_or_default();
    format!("[{}]", name.replace(']', "]]"))
}

fn run(host: &mut dyn Host, statement: String) -> Result<i32> {
    host.execute(&statement).map(|()| 0)
}

fn find(context: &SystemContext<'_>, name: &str) -> Option<DatabasePrincipal> {
    principal_named(&context.database, context.session_id, name)
}

fn every(context: &SystemContext<'_>) -> Vec<DatabasePrincipal> {
    principals(&context.database, context.session_id)
}

fn drop_role(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let name = text(arguments, 0).unwrap_or_default();
    match find(context, name).is_some_and(|found| found.is_role) {
        true => run(host, format!("DROP ROLE {}", quoted(arguments, 0))),
        false => Err(messages::no_such_role(name)),
    }
}

fn drop_user(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let name = text(arguments, 0).unwrap_or_default();
    match find(context, name).is_some_and(|found| !found.is_role) {
        true => run(host, format!("DROP USER {}", quoted(arguments, 0))),
        false => Err(messages::no_such_user(name)),
    }
}

/// A user of a login, of its name unless another is given, and in a role if one is given.
fn add_user(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let user = quoted(arguments, usize::from(text(arguments, 1).is_some()));
    host.execute(&format!("CREATE USER {user} FOR LOGIN {}", quoted(arguments, 0)))?;
    match text(arguments, 2) {
        Some(_) => run(host, format!("ALTER ROLE {} ADD MEMBER {user}", quoted(arguments, 2))),
        None => Ok(0),
    }
}

/// The roles that an argument asks for: one, or all.
///
/// # Errors
/// 15409 for a name that no role has.
fn roles_asked(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Vec<DatabasePrincipal>> {
    let Some(name) = text(arguments, 0) else {
        return Ok(every(context)
            .into_iter()
            .filter(|principal| principal.is_role)
            .collect());
    };
    let found = find(context, name).filter(|found| found.is_role);
    found.map(|role| vec![role]).ok_or_else(|| messages::not_a_role(name))
}

fn help_role(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let columns = [
        ("RoleName", NAME),
        ("RoleId", SqlType::SmallInt),
        ("IsAppRole", SqlType::Int),
    ];
    let mut table = Table::new(&columns);
    for role in roles_asked(context, arguments)? {
        table.push(vec![role.name.into(), small(role.id), 0.into()]);
    }
    table.send(host).map(|()| 0)
}

fn small(id: u32) -> Value {
    i16::try_from(id).map_or(Value::Null, Value::SmallInt)
}

/// The direct members of roles that have any.
fn help_role_member(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[("DbRole", NAME), ("MemberName", NAME), ("MemberSID", SID)]);
    let (all, entries) = (every(context), Entries::of(&context.database, context.session_id));
    let memberships = entries.every_membership();
    for role in roles_asked(context, arguments)? {
        let members = memberships.iter().filter(|(own, _)| *own == role.id);
        for member in members.filter_map(|(_, id)| all.iter().find(|own| own.id == *id)) {
            let sid = member.sid.clone().map_or(Value::Null, Value::binary);
            table.push(vec![role.name.as_str().into(), member.name.as_str().into(), sid]);
        }
    }
    table.send(host).map(|()| 0)
}

/// What SQL Server calls the fixed roles.
const FIXED_ROLES: [(&str, &str); 9] = [
    ("db_owner", "DB Owners"),
    ("db_accessadmin", "DB Access Administrators"),
    ("db_securityadmin", "DB Security Administrators"),
    ("db_ddladmin", "DB DDL Administrators"),
    ("db_backupoperator", "DB Backup Operator"),
    ("db_datareader", "DB Data Reader"),
    ("db_datawriter", "DB Data Writer"),
    ("db_denydatareader", "DB Deny Data Reader"),
    ("db_denydatawriter", "DB Deny Data Writer"),
];

fn help_fixed_role(_context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let mut table = Table::new(&[
        ("DbFixedRole", NAME),
        ("Description", SqlType::NVarChar(Length::Limited(70))),
    ]);
    let asked = text(arguments, 0);
    for (name, description) in FIXED_ROLES {
        if asked.is_none_or(|asked| asked.eq_ignore_ascii_case(name)) {
            table.push(vec![name.into(), description.into()]);
        }
    }
    match asked {
        Some(asked) if !FIXED_ROLES.iter().any(|(name, _)| name.eq_ignore_ascii_case(asked)) => {
            Err(messages::not_a_fixed_role(asked))
        }
        _ => table.send(host).map(|()| 0),
    }
}

/// The users with their roles, or the members of a role.
fn help_user(context: &SystemContext<'_>, host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    let asked = match text(arguments, 0) {
        None => None,
        Some(name) => Some(find(context, name).ok_or_else(|| messages::no_user_or_role(name))?),
    };
    let (all, entries) = (every(context), Entries::of(&context.database, context.session_id));
    let memberships = entries.every_membership();
    let named = |id: u32| all.iter().find(|own| own.id == id);
    if let Some(role) = asked.as_ref().filter(|asked| asked.is_role) {
        let mut table = Table::new(&[
            ("Role_name", NAME),
            ("Role_id", SqlType::SmallInt),
            ("Users_in_role", NAME),
            ("Userid", SqlType::SmallInt),
        ]);
        let members = memberships.iter().filter(|(own, _)| *own == role.id);
        for member in members.filter_map(|(_, id)| named(*id)) {
            let (name, id) = (role.name.as_str().into(), small(role.id));
            table.push(vec![name, id, member.name.as_str().into(), small(member.id)]);
        }
        return table.send(host).map(|()| 0);
    }
    let mut table = Table::new(&[
        ("UserName", NAME),
        ("RoleName", NAME),
        ("LoginName", NAME),
        ("DefDBName", NAME),
        ("DefSchemaName", NAME),
        ("UserID", SqlType::SmallInt),
        ("SID", SID),
    ]);
    let is_asked = |own: &&DatabasePrincipal| asked.as_ref().is_none_or(|asked| asked.id == own.id);
    for user in all.iter().filter(|own| !own.is_role).filter(is_asked) {
        let roles = memberships.iter().filter(|(_, member)| *member == user.id);
        let mut roles: Vec<&str> = roles
            .filter_map(|(role, _)| named(*role))
            .map(|role| role.name.as_str())
            .collect();
        if roles.is_empty() {
            roles.push("public");
        }
        let of_login = |value: &'static str| if user.id == DBO { value.into() } else { Value::Null };
        for role in roles {
            table.push(vec![
                user.name.as_str().into(),
                role.into(),
                of_login("sa"),
                of_login("master"),
                user.default_schema.as_deref().into(),
                small(user.id),
                user.sid.clone().map_or(Value::Null, Value::binary),
            ]);
        }
    }
    table.send(host).map(|()| 0)
}
