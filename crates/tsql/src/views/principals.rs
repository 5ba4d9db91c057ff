//! The principals that every database and every server has: there are no others.

use super::{
    BIT, DATETIME, INT, NAME, SID, SMALLINT, SystemContext, SystemView, TINYINT, all, nvarchar, system_row, view,
};
use engine::types::{Length, SqlType, Value};

/// A principal: name, id, and the code and description of its kind.
pub(crate) struct Principal {
    pub(crate) name: &'static str,
    pub(crate) id: u16,
    kind: (&'static str, &'static str),
    is_fixed_role: bool,
}

const fn principal(name: &'static str, id: u16, kind: (&'static str, &'static str), is_fixed_role: bool) -> Principal {
    Principal {
        name,
        id,
        kind,
        is_fixed_role,
    }
}

const USER: (&str, &str) = ("S", "SQL_USER");
const LOGIN: (&str, &str) = ("S", "SQL_LOGIN");
const DATABASE_ROLE: (&str, &str) = ("R", "DATABASE_ROLE");
const SERVER_ROLE: (&str, &str) = ("R", "SERVER_ROLE");

/// Those of a database (sql-docs, "sys.database_principals", "Database-level roles").
const OF_DATABASE: [Principal; 14] = [
    principal("public", 0, DATABASE_ROLE, false),
    principal("dbo", 1, USER, false),
    principal("guest", 2, USER, false),
    principal("INFORMATION_SCHEMA", 3, USER, false),
    principal("sys", 4, USER, false),
    principal("db_owner", 16_384, DATABASE_ROLE, true),
    principal("db_accessadmin", 16_385, DATABASE_ROLE, true),
    principal("db_securityadmin", 16_386, DATABASE_ROLE, true),
    principal("db_ddladmin", 16_387, DATABASE_ROLE, true),
    principal("db_backupoperator", 16_389, DATABASE_ROLE, true),
    principal("db_datareader", 16_390, DATABASE_ROLE, true),
    principal("db_datawriter", 16_391, DATABASE_ROLE, true),
    principal("db_denydatareader", 16_392, DATABASE_ROLE, true),
    principal("db_denydatawriter", 16_393, DATABASE_ROLE, true),
];

/// Those of the server (sql-docs, "sys.server_principals", "Server-level roles").
const OF_SERVER: [Principal; 10] = [
    principal("sa", 1, LOGIN, false),
    principal("public", 2, SERVER_ROLE, false),
    principal("sysadmin", 3, SERVER_ROLE, true),
    principal("securityadmin", 4, SERVER_ROLE, true),
    principal("serveradmin", 5, SERVER_ROLE, true),
    principal("setupadmin", 6, SERVER_ROLE, true),
    principal("processadmin", 7, SERVER_ROLE, true),
    principal("diskadmin", 8, SERVER_ROLE, true),
    principal("dbcreator", 9, SERVER_ROLE, true),
    principal("bulkadmin", 10, SERVER_ROLE, true),
];

impl Principal {
    /// Whether it is `dbo`, the user that has a login.
    fn is_database_owner(&self) -> bool {
        self.name == "dbo"
    }

    /// Whether it is a login, rather than a role that logins are members of.
    pub(crate) fn is_login(&self) -> bool {
        self.kind == LOGIN
    }
}

fn named(principals: &'static [Principal], name: &str) -> Option<&'static Principal> {
    let name = name.trim_end_matches(' ');
    principals.iter().find(|own| own.name.eq_ignore_ascii_case(name))
}

/// The principal of a database with a name.
pub(crate) fn of_database(name: &str) -> Option<&'static Principal> {
    named(&OF_DATABASE, name)
}

/// The login or role of the server with a name.
pub(crate) fn of_server(name: &str) -> Option<&'static Principal> {
    named(&OF_SERVER, name)
}

pub(super) const VIEWS: &[SystemView] = &[
    view::<ServerPrincipal>("sys", "server_principals", |context, _| {
        let created = created(context, "master");
        let row = |own| ServerPrincipal { own, created };
        all(OF_SERVER.iter().map(row))
    }),
    view::<DatabasePrincipal>("sys", "database_principals", |context, _| {
        let created = created(context, &context.database.name());
        let row = |own| DatabasePrincipal { own, created };
        all(OF_DATABASE.iter().map(row))
    }),
    view::<SqlLogin>("sys", "sql_logins", |context, _| {
        let created = created(context, "master");
        let logins = OF_SERVER.iter().filter(|principal| principal.is_login());
        all(logins.map(|own| SqlLogin { own, created }))
    }),
    view::<Permission>("sys", "server_permissions", |_, _| {
        all(PERMISSIONS.iter().map(Permission))
    }),
    view::<DatabasePermission>("sys", "database_permissions", |_, _| all([DatabasePermission])),
    view::<RoleMember>("sys", "database_role_members", |_, _| all([RoleMember])),
    view::<ServerRoleMember>("sys", "server_role_members", |_, _| all([ServerRoleMember])),
    view::<OldRoleMember>("sys", "sysmembers", |_, _| all([OldRoleMember])),
    view::<OldUser>("sys", "sysusers", |_, _| all(OF_DATABASE.iter().map(OldUser))),
    view::<OldLogin>("sys", "syslogins", |_, _| {
        let logins = OF_SERVER.iter().filter(|principal| principal.kind == LOGIN);
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

impl Principal {
    /// What only logins and users have.
    fn of_user(&self, value: &'static str) -> Value {
        match self.kind.0 {
            "S" => value.into(),
            _ => Value::Null,
        }
    }

    /// The owner of a role: the first principal there is.
    fn owner(&self) -> Value {
        match self.kind.0 {
            "S" => Value::Null,
            _ => 1.into(),
        }
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
    "default_database_name" NAME => |row| row.own.of_user("master");
    "default_language_name" NAME => |row| row.own.of_user("us_english");
    "credential_id" INT => |_| Value::Null;
    "owning_principal_id" INT => |row| row.own.owner();
    "is_fixed_role" BIT => |row| row.own.is_fixed_role.into();
});

/// sql-docs, "sys.database_principals".
struct DatabasePrincipal {
    own: &'static Principal,
    created: Created,
}

system_row!(DatabasePrincipal {
    "name" NAME => |row| row.own.name.into();
    "principal_id" INT => |row| i32::from(row.own.id).into();
    "type" SqlType::Char(1) => |row| row.own.kind.0.into();
    "type_desc" nvarchar(60) => |row| row.own.kind.1.into();
    "default_schema_name" NAME => |row| row.own.of_user("dbo");
    "create_date" DATETIME => |row| moment(row.created);
    "modify_date" DATETIME => |row| moment(row.created);
    "owning_principal_id" INT => |row| row.own.owner();
    "sid" SID => |row| Value::binary(sid_of(row.own));
    "is_fixed_role" BIT => |row| row.own.is_fixed_role.into();
    "authentication_type" INT => |row| i32::from(row.own.is_database_owner()).into();
    "authentication_type_desc" nvarchar(60) => |row| if row.own.is_database_owner() { "INSTANCE" } else { "NONE" }.into();
    "default_language_name" NAME => |_| Value::Null;
    "default_language_lcid" INT => |_| Value::Null;
    "allow_encrypted_value_modifications" BIT => |_| false.into();
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

/// The one permission in a database: its owner may connect. What everybody may read is not a grant here (sql-docs,
/// "sys.database_permissions").
struct DatabasePermission;

system_row!(DatabasePermission {
    "class" TINYINT => |_| Value::TinyInt(0);
    "class_desc" nvarchar(60) => |_| "DATABASE".into();
    "major_id" INT => |_| 0.into();
    "minor_id" INT => |_| 0.into();
    "grantee_principal_id" INT => |_| DBO.into();
    "grantor_principal_id" INT => |_| DBO.into();
    "type" SqlType::Char(4) => |_| "CO  ".into();
    "permission_name" NAME => |_| "CONNECT".into();
    "state" SqlType::Char(1) => |_| "G".into();
    "state_desc" nvarchar(60) => |_| "GRANT".into();
});

/// The ids of `dbo` and of `db_owner`.
const DBO: i32 = 1;
const DB_OWNER: i32 = 16_384;

/// The ids of `sa` and of `sysadmin`.
const SA: i32 = 1;
const SYSADMIN: i32 = 3;

/// `dbo` is the one member of a role (sql-docs, "sys.database_role_members").
struct RoleMember;

system_row!(RoleMember {
    "role_principal_id" INT => |_| DB_OWNER.into();
    "member_principal_id" INT => |_| DBO.into();
});

/// `sa` is the one member of a role of the server, `sysadmin` (sql-docs, "sys.server_role_members").
struct ServerRoleMember;

system_row!(ServerRoleMember {
    "role_principal_id" INT => |_| SYSADMIN.into();
    "member_principal_id" INT => |_| SA.into();
});

/// The same for older scripts (sql-docs, "sys.sysmembers").
struct OldRoleMember;

system_row!(OldRoleMember {
    "memberuid" SMALLINT => |_| Value::SmallInt(1);
    "groupuid" SMALLINT => |_| Value::SmallInt(16_384);
});

/// A user or role of a database for older scripts (sql-docs, "sys.sysusers").
struct OldUser(&'static Principal);

impl OldUser {
    fn flag(is: bool) -> Value {
        i32::from(is).into()
    }
}

system_row!(OldUser {
    "uid" SMALLINT => |row| Value::SmallInt(row.0.id as i16);
    "status" SMALLINT => |_| Value::SmallInt(0);
    "name" NAME => |row| row.0.name.into();
    "sid" SID => |row| Value::binary(sid_of(row.0));
    "roles" SqlType::VarBinary(Length::Limited(2048)) => |_| Value::Null;
    "createdate" DATETIME => |_| Value::Null;
    "updatedate" DATETIME => |_| Value::Null;
    "altuid" SMALLINT => |_| Value::Null;
    "password" SqlType::VarBinary(Length::Limited(256)) => |_| Value::Null;
    "gid" SMALLINT => |row| Value::SmallInt(if row.0.kind == USER { 0 } else { row.0.id as i16 });
    "environ" SqlType::VarChar(Length::Limited(255)) => |_| Value::Null;
    "hasdbaccess" INT => |row| OldUser::flag(row.0.name == "dbo");
    "islogin" INT => |row| OldUser::flag(row.0.kind == USER);
    "isntname" INT => |_| 0.into();
    "isntgroup" INT => |_| 0.into();
    "isntuser" INT => |_| 0.into();
    "issqluser" INT => |row| OldUser::flag(row.0.kind == USER);
    "isaliased" INT => |_| 0.into();
    "issqlrole" INT => |row| OldUser::flag(row.0.kind == DATABASE_ROLE);
    "isapprole" INT => |_| 0.into();
});

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

/// The security identifier: the id in as many bytes as it needs.
pub(crate) fn sid_of(principal: &Principal) -> Vec<u8> {
    let bytes = principal.id.to_le_bytes();
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.into_iter().take(length).collect()
}
