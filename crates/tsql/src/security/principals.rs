//! The principals of a database: those that every database has, and those that its catalog has.

use std::sync::Arc;

use engine::catalog::{CatalogObject, ObjectDefinition, PrincipalDefinition, PrincipalKind};
use engine::database::Database;

/// A user or role.
#[derive(Debug, Clone)]
pub(crate) struct DatabasePrincipal {
    pub(crate) name: String,
    /// `principal_id`
    pub(crate) id: u32,
    pub(crate) is_role: bool,
    /// Whether it is on every server: it is not renamed or dropped.
    pub(crate) is_fixed: bool,
    /// Of a user.
    pub(crate) default_schema: Option<String>,
    /// Of a role.
    pub(crate) owner: Option<u32>,
    /// Its security identifier; `sys` and `INFORMATION_SCHEMA` have none.
    pub(crate) sid: Option<Vec<u8>>,
    /// ALLOW_ENCRYPTED_VALUE_MODIFICATIONS of a user.
    pub(crate) allows_encrypted_modifications: bool,
    /// Its catalog row, unless it is fixed.
    pub(crate) stored: Option<Arc<CatalogObject>>,
}

/// Ids of fixed principals.
pub(crate) const PUBLIC: u32 = 0;
pub(crate) const DBO: u32 = 1;
pub(crate) const GUEST: u32 = 2;
pub(crate) const DB_OWNER: u32 = 16_384;
pub(crate) const DB_SECURITYADMIN: u32 = 16_386;

/// Those of every database (sql-docs, "sys.database_principals", "Database-level roles").
const FIXED: [(&str, u32); 14] = [
    ("public", PUBLIC),
    ("dbo", DBO),
    ("guest", GUEST),
    ("INFORMATION_SCHEMA", 3),
    ("sys", 4),
    ("db_owner", DB_OWNER),
    ("db_accessadmin", 16_385),
    ("db_securityadmin", DB_SECURITYADMIN),
    ("db_ddladmin", 16_387),
    ("db_backupoperator", 16_389),
    ("db_datareader", 16_390),
    ("db_datawriter", 16_391),
    ("db_denydatareader", 16_392),
    ("db_denydatawriter", 16_393),
];

/// The first bytes of the security identifiers `S-1-9-3` of a user without a login, and `S-1-9-4` of a role.
const SID_OF_USER: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 3, 0, 0, 0];
const SID_OF_ROLE: [u8; 12] = [1, 5, 0, 0, 0, 0, 0, 9, 4, 0, 0, 0];

fn sid(first: [u8; 12], words: [u32; 4]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    first.into_iter().chain(words).collect()
}

fn fixed((name, id): (&str, u32)) -> DatabasePrincipal {
    let is_role = id == PUBLIC || id >= DB_OWNER;
    DatabasePrincipal {
        name: name.to_owned(),
        id,
        is_role,
        is_fixed: true,
        default_schema: matches!(id, DBO | GUEST).then(|| name.to_owned()),
        owner: is_role.then_some(DBO),
        sid: match id {
            DBO => Some(vec![1]),
            GUEST => Some(vec![0]),
            3 | 4 => None,
            _ => Some(sid(SID_OF_ROLE, [0, 0, 0, id])),
        },
        allows_encrypted_modifications: false,
        stored: None,
    }
}

fn stored(object: &Arc<CatalogObject>, own: &PrincipalDefinition) -> DatabasePrincipal {
    let is_role = own.kind == PrincipalKind::Role;
    DatabasePrincipal {
        name: own.name.clone(),
        id: own.principal_id,
        is_role,
        is_fixed: false,
        // A user without one has dbo's (sql-docs, "CREATE USER").
        default_schema: (!is_role).then(|| own.default_schema.clone().unwrap_or_else(|| "dbo".to_owned())),
        owner: own.owner,
        sid: Some(sid(if is_role { SID_OF_ROLE } else { SID_OF_USER }, own.sid)),
        allows_encrypted_modifications: own.allows_encrypted_modifications,
        stored: Some(object.clone()),
    }
}

impl DatabasePrincipal {
    /// Whether it is one of the nine fixed roles, which `public` is not.
    pub(crate) fn is_fixed_role(&self) -> bool {
        self.is_fixed && self.id >= DB_OWNER
    }

    /// Whether it is `sys` or `INFORMATION_SCHEMA`, which own what the system brings.
    pub(crate) fn is_of_system(&self) -> bool {
        matches!(self.id, 3 | 4)
    }

    /// `type` and `type_desc` of `sys.database_principals`.
    pub(crate) fn kind(&self) -> (&'static str, &'static str) {
        match self.is_role {
            true => ("R", "DATABASE_ROLE"),
            false => ("S", "SQL_USER"),
        }
    }

    /// What its catalog row says, unless it is fixed.
    pub(crate) fn definition(&self) -> Option<&PrincipalDefinition> {
        match &self.stored.as_ref()?.definition {
            ObjectDefinition::Principal(own) => Some(own),
            _ => None,
        }
    }
}

/// Every principal that a session sees, in the order of ids.
pub(crate) fn principals(database: &Database, session: u16) -> Vec<DatabasePrincipal> {
    let mut all: Vec<DatabasePrincipal> = FIXED.into_iter().map(fixed).collect();
    if database.has_principals() {
        let objects = database.catalog.objects(session);
        all.extend(objects.iter().filter_map(|object| match &object.definition {
            ObjectDefinition::Principal(own) => Some(stored(object, own)),
            _ => None,
        }));
        all.sort_by_key(|principal| principal.id);
    }
    all
}

/// The principal of that name, compared without case and without trailing blanks.
pub(crate) fn principal_named(database: &Database, session: u16, name: &str) -> Option<DatabasePrincipal> {
    let folded = name.trim_end_matches(' ').to_lowercase();
    let mut all = principals(database, session).into_iter();
    all.find(|principal| principal.name.to_lowercase() == folded)
}

/// The principal of that id.
pub(crate) fn principal_numbered(database: &Database, session: u16, id: u32) -> Option<DatabasePrincipal> {
    let mut all = principals(database, session).into_iter();
    all.find(|principal| principal.id == id)
}
