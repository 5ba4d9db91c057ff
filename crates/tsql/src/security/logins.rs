//! The logins and roles of the server: the same on every server.

/// A login or a role of the server.
pub(crate) struct Principal {
    pub(crate) name: &'static str,
    pub(crate) id: u16,
    /// `type` and `type_desc`.
    pub(crate) kind: (&'static str, &'static str),
    pub(crate) is_fixed_role: bool,
}

const fn principal(name: &'static str, id: u16, kind: (&'static str, &'static str), is_fixed_role: bool) -> Principal {
    Principal {
        name,
        id,
        kind,
        is_fixed_role,
    }
}

const LOGIN: (&str, &str) = ("S", "SQL_LOGIN");
const SERVER_ROLE: (&str, &str) = ("R", "SERVER_ROLE");

/// Those of the server (sql-docs, "sys.server_principals", "Server-level roles").
pub(crate) static OF_SERVER: [Principal; 10] = [
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
    /// Whether it is a login, rather than a role that logins are members of.
    pub(crate) fn is_login(&self) -> bool {
        self.kind == LOGIN
    }
}

/// The login or role of the server with a name.
pub(crate) fn of_server(name: &str) -> Option<&'static Principal> {
    let name = name.trim_end_matches(' ');
    OF_SERVER.iter().find(|own| own.name.eq_ignore_ascii_case(name))
}

/// The security identifier: the id in as many bytes as it needs.
pub(crate) fn sid_of(principal: &Principal) -> Vec<u8> {
    let bytes = principal.id.to_le_bytes();
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.into_iter().take(length).collect()
}
