//! Principals of databases and of the server, their memberships and permissions. Those of the server are the same on every server; the
//! databases' own are kept in their catalogs (`security`).

use engine::catalog::{PermissionEntry, PermissionState, Securable};
use engine::types::{Length, SqlType, Value};

use super::values::stored_datetime;
use super::{
    BIT, DATETIME, INT, NAME, Rows, SID, SMALLINT, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view,
};
use crate::security::{self, DBO, DatabasePrincipal, Entries, OF_SERVER, Principal, principals, sid_of};

pub(super) const VIEWS: &[SystemView] = &[
    view::<ServerPrincipal>("sys", "server_principals", |context, _| {
        let created = created(context, "master");
        let row = |own| ServerPrincipal { own, created };
        all(OF_SERVER.iter().map(row))
    }),
    view::<PrincipalRow>("sys", "database_principals", |context, _| {
        let created = created(context, &context.database.name());
        let own = principals(&context.database, context.session_id).into_iter();
        all(own.map(|own| PrincipalRow { own, created }))
    }),
    view::<SqlLogin>("sys", "sql_logins", |context, _| {
        let created = created(context, "master");
        let logins = OF_SERVER.iter().filter(|principal| principal.is_login());
        all(logins.map(|own| SqlLogin { own, created }))
    }),
    view::<Permission>("sys", "server_permissions", |_, _| {
        all(PERMISSIONS.iter().map(Permission))
    }),
    view::<PermissionRow>("sys", "database_permissions", |context, _| {
        all(entries(context).every_permission().into_iter().map(PermissionRow))
    }),
    view::<RoleMember>("sys", "database_role_members", |context, _| {
        all(memberships(context).map(|(role, member)| RoleMember(role, member)))
    }),
    view::<ServerRoleMember>("sys", "server_role_members", |_, _| all([ServerRoleMember])),
    view::<OldRoleMember>("sys", "sysmembers", |context, _| {
        all(memberships(context).map(|(role, member)| OldRoleMember(role, member)))
    }),
    view::<OldUser>("sys", "sysusers", |context, _| {
        let created = created(context, &context.database.name());
        let own = principals(&context.database, context.session_id).into_iter();
        all(own.map(|own| OldUser(PrincipalRow { own, created })))
    }),
    view::<OldProtection>("sys", "sysprotects", old_protections),
    view::<OldPermission>("sys", "syspermissions", |context, _| {
        let mut keys: Vec<(u32, u32, u32)> = old_permissions(context)
            .map(|own| (own.securable.numbers().2, own.grantee, own.grantor))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        all(keys.into_iter().map(OldPermission))
    }),
    view::<OldLogin>("sys", "syslogins", |_, _| {
        let logins = OF_SERVER.iter().filter(|principal| principal.is_login());
        all(logins.map(OldLogin))
    }),
];

/// When a database was made, in days and ticks: all of its principals are as old as it is.
type Created = Option<(i32, u32)>;

fn created(context: &SystemContext<'_>, database: &str) -> Created {
    let slots = context.instance.slots();
    let slot = slots
        .iter()
        .find(|slot| slot.entry().name.eq_ignore_ascii_case(database));
    slot.map(|slot| slot.entry().created)
}

fn moment(created: Created) -> Value {
    created.map_or(Value::Null, |(days, ticks)| Value::DateTime { days, ticks })
}

/// What only logins have.
fn of_login(principal: &Principal, value: &'static str) -> Value {
    if principal.is_login() {
        value.into()
    } else {
        Value::Null
    }
}

/// sql-docs, "sys.server_principals".
struct ServerPrincipal {
    own: &'static Principal,
    created: Created,
}

system_row!(ServerPrincipal {
    "name" NAME => |row| row.own.name.into();
    "principal_id" INT => |row| i32::from(row.own.id).into();
    "sid" SID => |row| Value::binary(sid_of(row.own));
    "type" SqlType::Char(1) => |row| row.own.kind.0.into();
    "type_desc" nvarchar(60) => |row| row.own.kind.1.into();
    "is_disabled" BIT => |_| false.into();
    "create_date" DATETIME => |row| moment(row.created);
    "modify_date" DATETIME => |row| moment(row.created);
    "default_database_name" NAME => |row| of_login(row.own, "master");
    "default_language_name" NAME => |row| of_login(row.own, "us_english");
    "credential_id" INT => |_| Value::Null;
    "owning_principal_id" INT => |row| if row.own.is_login() { Value::Null } else { SA.into() };
    "is_fixed_role" BIT => |row| row.own.is_fixed_role.into();
});

/// sql-docs, "sys.database_principals".
struct PrincipalRow {
    own: DatabasePrincipal,
    /// Of the database, as the fixed ones are as old as it is.
    created: Created,
}

impl PrincipalRow {
    fn created(&self) -> Value {
        self.own
            .definition()
            .map_or_else(|| moment(self.created), |own| stored_datetime(own.created))
    }

    fn modified(&self) -> Value {
        self.own
            .definition()
            .map_or_else(|| moment(self.created), |own| stored_datetime(own.modified))
    }

    fn sid(&self) -> Value {
        self.own.sid.clone().map_or(Value::Null, Value::binary)
    }

    /// Whether it is `dbo`, the user that has a login.
    fn has_login(&self) -> bool {
        self.own.id == DBO
    }
}

system_row!(PrincipalRow {
    "name" NAME => |row| row.own.name.as_str().into();
    "principal_id" INT => |row| (row.own.id as i32).into();
    "type" SqlType::Char(1) => |row| row.own.kind().0.into();
    "type_desc" nvarchar(60) => |row| row.own.kind().1.into();
    "default_schema_name" NAME => |row| row.own.default_schema.as_deref().into();
    "create_date" DATETIME => |row| row.created();
    "modify_date" DATETIME => |row| row.modified();
    "owning_principal_id" INT => |row| row.own.owner.map_or(Value::Null, |owner| (owner as i32).into());
    "sid" SID => |row| row.sid();
    "is_fixed_role" BIT => |row| row.own.is_fixed_role().into();
    "authentication_type" INT => |row| i32::from(row.has_login()).into();
    "authentication_type_desc" nvarchar(60) => |row| if row.has_login() { "INSTANCE" } else { "NONE" }.into();
    "default_language_name" NAME => |_| Value::Null;
    "default_language_lcid" INT => |_| Value::Null;
    "allow_encrypted_value_modifications" BIT => |row| row.own.allows_encrypted_modifications.into();
});

/// A login with a password (sql-docs, "sys.sql_logins"). No policy of passwords is checked, and what is kept of a password is none of SQL
/// Server's hashes: those columns are NULL or 0.
struct SqlLogin {
    own: &'static Principal,
    created: Created,
}

system_row!(SqlLogin {
    "name" NAME => |row| row.own.name.into();
    "principal_id" INT => |row| i32::from(row.own.id).into();
    "sid" SID => |row| Value::binary(sid_of(row.own));
    "type" SqlType::Char(1) => |row| row.own.kind.0.into();
    "type_desc" nvarchar(60) => |row| row.own.kind.1.into();
    "is_disabled" BIT => |_| false.into();
    "create_date" DATETIME => |row| moment(row.created);
    "modify_date" DATETIME => |row| moment(row.created);
    "default_database_name" NAME => |_| "master".into();
    "default_language_name" NAME => |_| "us_english".into();
    "credential_id" INT => |_| Value::Null;
    "is_policy_checked" BIT => |_| false.into();
    "is_expiration_checked" BIT => |_| false.into();
    "password_hash" SqlType::VarBinary(Length::Limited(256)) => |_| Value::Null;
});

/// What is granted on the server: the grantee, the permission's code and name. Both are there on every SQL Server.
const PERMISSIONS: [(u16, &str, &str); 2] = [(1, "COSQ", "CONNECT SQL"), (2, "VWDB", "VIEW ANY DATABASE")];

/// A permission that `sa` has granted (sql-docs, "sys.server_permissions").
struct Permission(&'static (u16, &'static str, &'static str));

system_row!(Permission {
    "class" TINYINT => |_| Value::TinyInt(100);
    "class_desc" nvarchar(60) => |_| "SERVER".into();
    "major_id" INT => |_| 0.into();
    "minor_id" INT => |_| 0.into();
    "grantee_principal_id" INT => |row| i32::from(row.0.0).into();
    "grantor_principal_id" INT => |_| 1.into();
    "type" SqlType::Char(4) => |row| row.0.1.into();
    "permission_name" NAME => |row| row.0.2.into();
    "state" SqlType::Char(1) => |_| "G".into();
    "state_desc" nvarchar(60) => |_| "GRANT".into();
});

/// What is given in a database (sql-docs, "sys.database_permissions"). What everybody may read of the system's own is not a grant here.
struct PermissionRow(PermissionEntry);

system_row!(PermissionRow {
    "class" TINYINT => |row| Value::TinyInt(row.0.securable.numbers().0);
    "class_desc" nvarchar(60) => |row| row.0.securable.numbers().1.into();
    "major_id" INT => |row| (row.0.securable.numbers().2 as i32).into();
    "minor_id" INT => |row| (row.0.securable.numbers().3 as i32).into();
    "grantee_principal_id" INT => |row| (row.0.grantee as i32).into();
    "grantor_principal_id" INT => |row| (row.0.grantor as i32).into();
    "type" SqlType::Char(4) => |row| format!("{:<4}", row.0.permission).into();
    "permission_name" NAME => |row| security::Permission::coded(&row.0.permission).map(|own| own.name).into();
    "state" SqlType::Char(1) => |row| row.0.state.names().0.into();
    "state_desc" nvarchar(60) => |row| row.0.state.names().1.into();
});

fn entries(context: &SystemContext<'_>) -> Entries {
    Entries::of(&context.database, context.session_id)
}

fn memberships(context: &SystemContext<'_>) -> impl Iterator<Item = (u32, u32)> {
    entries(context).every_membership().into_iter()
}

/// The ids of `sa` and of `sysadmin`.
const SA: i32 = 1;
const SYSADMIN: i32 = 3;

/// Role and member (sql-docs, "sys.database_role_members").
struct RoleMember(u32, u32);

system_row!(RoleMember {
    "role_principal_id" INT => |row| (row.0 as i32).into();
    "member_principal_id" INT => |row| (row.1 as i32).into();
});

/// `sa` is the one member of a role of the server, `sysadmin` (sql-docs, "sys.server_role_members").
struct ServerRoleMember;

system_row!(ServerRoleMember {
    "role_principal_id" INT => |_| SYSADMIN.into();
    "member_principal_id" INT => |_| SA.into();
});

/// Role and member for older scripts (sql-docs, "sys.sysmembers").
struct OldRoleMember(u32, u32);

system_row!(OldRoleMember {
    "memberuid" SMALLINT => |row| small(row.1);
    "groupuid" SMALLINT => |row| small(row.0);
});

/// An id as a smallint; NULL for one that is none (sql-docs, "sys.sysusers": "Overflows or returns NULL").
fn small(id: u32) -> Value {
    i16::try_from(id).map_or(Value::Null, Value::SmallInt)
}

/// A user or role of a database for older scripts (sql-docs, "sys.sysusers").
struct OldUser(PrincipalRow);

impl OldUser {
    fn flag(is: bool) -> Value {
        i32::from(is).into()
    }
}

system_row!(OldUser {
    "uid" SMALLINT => |row| small(row.0.own.id);
    "status" SMALLINT => |_| Value::SmallInt(0);
    "name" NAME => |row| row.0.own.name.as_str().into();
    "sid" SID => |row| row.0.sid();
    "roles" SqlType::VarBinary(Length::Limited(2048)) => |_| Value::Null;
    "createdate" DATETIME => |row| row.0.created();
    "updatedate" DATETIME => |row| row.0.modified();
    "altuid" SMALLINT => |row| row.0.own.owner.map_or(Value::Null, small);
    "password" SqlType::VarBinary(Length::Limited(256)) => |_| Value::Null;
    "gid" SMALLINT => |row| if row.0.own.is_role { small(row.0.own.id) } else { Value::SmallInt(0) };
    "environ" SqlType::VarChar(Length::Limited(255)) => |_| Value::Null;
    "hasdbaccess" INT => |row| OldUser::flag(row.0.has_login() || !row.0.own.is_role && !row.0.own.is_fixed);
    "islogin" INT => |row| OldUser::flag(!row.0.own.is_role);
    "isntname" INT => |_| 0.into();
    "isntgroup" INT => |_| 0.into();
    "isntuser" INT => |_| 0.into();
    "issqluser" INT => |row| OldUser::flag(!row.0.own.is_role);
    "isaliased" INT => |_| 0.into();
    "issqlrole" INT => |row| OldUser::flag(row.0.own.is_role);
    "isapprole" INT => |_| 0.into();
});

/// The permissions that SQL Server 2000 had, with its numbers of them (sql-docs, "sys.sysprotects").
const OLD_ACTIONS: [(&str, u8); 15] = [
    ("RF", 26),
    ("CRFN", 178),
    ("SL", 193),
    ("IN", 195),
    ("DL", 196),
    ("UP", 197),
    ("CRTB", 198),
    ("CRDB", 203),
    ("CRVW", 207),
    ("CRPR", 222),
    ("EX", 224),
    ("BADB", 228),
    ("CRDF", 233),
    ("BALO", 235),
    ("CRRU", 236),
];

fn old_action(permission: &str) -> Option<u8> {
    let mut actions = OLD_ACTIONS.iter();
    actions.find(|(code, _)| *code == permission).map(|(_, number)| *number)
}

/// What is given on objects and columns, and on the database, of what SQL Server 2000 had.
fn old_permissions(context: &SystemContext<'_>) -> impl Iterator<Item = PermissionEntry> {
    let all = entries(context).every_permission().into_iter();
    all.filter(|own| {
        old_action(&own.permission).is_some()
            && matches!(
                own.securable,
                Securable::Database | Securable::Object(_) | Securable::Column(..)
            )
    })
}

/// A permission for older scripts, with the columns that it is for (sql-docs, "sys.sysprotects").
struct OldProtection {
    own: PermissionEntry,
    columns: Vec<u32>,
}

impl OldProtection {
    /// Bit 0 for all columns, then a bit for each column; NULL where columns do not matter.
    fn bitmap(&self) -> Value {
        if !matches!(self.own.permission.as_str(), "SL" | "UP") || self.own.securable == Securable::Database {
            return Value::Null;
        }
        let length = self.columns.iter().max().map_or(1, |last| *last as usize / 8 + 1);
        let mut bytes = vec![0_u8; length];
        for column in &self.columns {
            bytes[*column as usize / 8] |= 1 << (column % 8);
        }
        Value::binary(bytes)
    }
}

system_row!(OldProtection {
    "id" INT => |row| (row.own.securable.numbers().2 as i32).into();
    "uid" SMALLINT => |row| small(row.own.grantee);
    "action" TINYINT => |row| old_action(&row.own.permission).map_or(Value::Null, Value::TinyInt);
    "protecttype" TINYINT => |row| match row.own.state {
        PermissionState::GrantWithGrantOption => Value::TinyInt(204),
        PermissionState::Grant => Value::TinyInt(205),
        PermissionState::Deny | PermissionState::Revoke => Value::TinyInt(206),
    };
    "columns" SqlType::VarBinary(Length::Limited(8000)) => |row| row.bitmap();
    "grantor" SMALLINT => |row| small(row.own.grantor);
});

fn old_protections(context: &SystemContext<'_>, _arguments: &[Value]) -> Rows {
    let mut rows: Vec<OldProtection> = Vec::new();
    for own in old_permissions(context).filter(|own| own.state != PermissionState::Revoke) {
        let column = own.securable.numbers().3;
        let is_same = |row: &&mut OldProtection| {
            row.own.securable.whole() == own.securable.whole()
                && (row.own.grantee, row.own.grantor, row.own.state) == (own.grantee, own.grantor, own.state)
                && row.own.permission == own.permission
        };
        match rows.iter_mut().find(is_same) {
            Some(row) => row.columns.push(column),
            None => rows.push(OldProtection {
                own,
                columns: vec![column],
            }),
        }
    }
    all(rows)
}

/// Object, grantee and grantor of some permission for older scripts: the other columns are for internal use (sql-docs, "sys.syspermissions").
struct OldPermission((u32, u32, u32));

system_row!(OldPermission {
    "id" INT => |row| (row.0.0 as i32).into();
    "grantee" SMALLINT => |row| small(row.0.1);
    "grantor" SMALLINT => |row| small(row.0.2);
    "actadd" SMALLINT => |_| Value::Null;
    "actmod" SMALLINT => |_| Value::Null;
    "seladd" OLD_BITMAP => |_| Value::Null;
    "selmod" OLD_BITMAP => |_| Value::Null;
    "updadd" OLD_BITMAP => |_| Value::Null;
    "updmod" OLD_BITMAP => |_| Value::Null;
    "refadd" OLD_BITMAP => |_| Value::Null;
    "refmod" OLD_BITMAP => |_| Value::Null;
});

const OLD_BITMAP: SqlType = SqlType::VarBinary(Length::Limited(4000));

/// A login, which is a member of `sysadmin` and of no other role. Dates of logins are not kept; the columns for internal use are NULL
/// (sql-docs, "sys.syslogins").
struct OldLogin(&'static Principal);

system_row!(OldLogin {
    "sid" SID => |row| Value::binary(sid_of(row.0));
    "status" SMALLINT => |_| Value::Null;
    "createdate" DATETIME => |_| Value::Null;
    "updatedate" DATETIME => |_| Value::Null;
    "accdate" DATETIME => |_| Value::Null;
    "totcpu" INT => |_| Value::Null;
    "totio" INT => |_| Value::Null;
    "spacelimit" INT => |_| Value::Null;
    "timelimit" INT => |_| Value::Null;
    "resultlimit" INT => |_| Value::Null;
    "name" NAME => |row| row.0.name.into();
    "dbname" NAME => |_| "master".into();
    "password" nvarchar(128) => |_| Value::Null;
    "language" NAME => |_| "us_english".into();
    "denylogin" INT => |_| 0.into();
    "hasaccess" INT => |_| 1.into();
    "isntname" INT => |_| 0.into();
    "isntgroup" INT => |_| 0.into();
    "isntuser" INT => |_| 0.into();
    "sysadmin" INT => |_| 1.into();
    "securityadmin" INT => |_| 0.into();
    "serveradmin" INT => |_| 0.into();
    "setupadmin" INT => |_| 0.into();
    "processadmin" INT => |_| 0.into();
    "diskadmin" INT => |_| 0.into();
    "dbcreator" INT => |_| 0.into();
    "bulkadmin" INT => |_| 0.into();
    "loginname" nvarchar(128) => |row| row.0.name.into();
});
