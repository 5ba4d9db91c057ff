//! Principals of a database: its users and roles, who is a member of which role, which permissions they are given, and what they own.
//!
//! The fixed principals (`dbo`, `public`, `db_owner` and so on) are on every server and are not stored. Nothing here is asked before a
//! statement runs: every session is `dbo`, to whom SQL Server's permission checks do not apply.
//!
//! Invariant: a membership, permission or ownership names principals that are stored or fixed, and a securable that is there: what is
//! dropped takes the entries about it along (`session::security`). Invariant: at most one entry of a kind has one key, because writers
//! hold the lock of `Session::lock_principals` until their transaction ends.

use serde::{Deserialize, Serialize};

use super::property::PropertyOwner;
use super::{ObjectDefinition, TableDefinition};

/// Whether a principal is a user or a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrincipalKind {
    /// CREATE USER ... WITHOUT LOGIN.
    User,
    /// CREATE ROLE.
    Role,
}

/// A user or role of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrincipalDefinition {
    /// The catalog row's id.
    pub object_id: u32,
    /// `principal_id` of `sys.database_principals`: [`PRINCIPAL_ID_FIRST`] and above, but not one of [`FIXED_ROLE_IDS`].
    pub principal_id: u32,
    /// Unique among the principals of the database, as declared.
    pub name: String,
    pub kind: PrincipalKind,
    /// The principal that owns a role; `None` for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u32>,
    /// DEFAULT_SCHEMA of a user, which need not be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_schema: Option<String>,
    /// ALLOW_ENCRYPTED_VALUE_MODIFICATIONS of a user.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allows_encrypted_modifications: bool,
    /// The part of its security identifier that no other principal has.
    pub sid: [u32; 4],
    /// Days and ticks of creation, and of the last change.
    pub created: (i32, u32),
    pub modified: (i32, u32),
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The first `principal_id` that is not a fixed principal's (sql-docs, "sys.database_principals").
pub const PRINCIPAL_ID_FIRST: u32 = 5;

/// The ids that SQL Server keeps for fixed roles of a database.
pub const FIXED_ROLE_IDS: std::ops::Range<u32> = 16_384..16_400;

/// A principal's membership in a role. Either may be fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleMembership {
    /// The catalog row's id.
    pub object_id: u32,
    /// Ids of principals; unique together.
    pub role: u32,
    pub member: u32,
}

/// What permissions are given on, and what has an owner, by the classes and ids of `sys.database_permissions` (sql-docs).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Securable {
    /// Class 0.
    Database,
    /// Class 1 with the minor id 0: a table, view, module, sequence or synonym.
    Object(u32),
    /// Class 1: a column, by its number from 1.
    Column(u32, u32),
    /// Class 3.
    Schema(u32),
    /// Class 4: a user or role, by its `principal_id`.
    Principal(u32),
    /// Class 6: an alias or table type, by its `user_type_id`.
    Type(u32),
    /// Class 10, by its `xml_collection_id`.
    XmlSchemaCollection(u32),
}

impl Securable {
    /// `class`, `class_desc`, `major_id` and `minor_id`.
    pub fn numbers(self) -> (u8, &'static str, u32, u32) {
        match self {
            Securable::Database => (0, "DATABASE", 0, 0),
            Securable::Object(object) => (1, "OBJECT_OR_COLUMN", object, 0),
            Securable::Column(object, column) => (1, "OBJECT_OR_COLUMN", object, column),
            Securable::Schema(schema) => (3, "SCHEMA", schema, 0),
            Securable::Principal(principal) => (4, "DATABASE_PRINCIPAL", principal, 0),
            Securable::Type(user_type) => (6, "TYPE", user_type, 0),
            Securable::XmlSchemaCollection(collection) => (10, "XML_SCHEMA_COLLECTION", collection, 0),
        }
    }

    /// The securable that a column is of; itself for every other.
    pub fn whole(self) -> Securable {
        match self {
            Securable::Column(object, _) => Securable::Object(object),
            other => other,
        }
    }

    /// Whether it goes with an object of the catalog.
    pub fn goes_with(self, definition: &ObjectDefinition) -> bool {
        match (self, definition) {
            (Securable::Principal(id), ObjectDefinition::Principal(principal)) => id == principal.principal_id,
            (Securable::XmlSchemaCollection(id), ObjectDefinition::XmlSchemaCollection(own)) => id == own.collection_id,
            (Securable::Type(id), definition) => definition.type_name().is_some_and(|(_, _, own)| own == id),
            (Securable::Schema(id), ObjectDefinition::Schema { object_id, .. }) => id == *object_id,
            (Securable::Object(id) | Securable::Column(id, _), definition) => {
                definition.qualified_name().is_some() && definition.object_id() == id
            }
            _ => false,
        }
    }

    /// What it is once `table` has taken the place of `before`: itself, a column with another number, or gone.
    pub(crate) fn after(self, before: &TableDefinition, table: &TableDefinition) -> Option<Securable> {
        let Securable::Column(object, number) = self else {
            return Some(self);
        };
        match PropertyOwner::Column(object, number).after(before, table)? {
            PropertyOwner::Column(object, number) => Some(Securable::Column(object, number)),
            _ => None,
        }
    }
}

/// The state of a permission: `state` of `sys.database_permissions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionState {
    Grant,
    GrantWithGrantOption,
    Deny,
    /// Of a column, where its table's permission is granted: the column is left out of that.
    Revoke,
}

impl PermissionState {
    /// Its letter and its word.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            PermissionState::Grant => ("G", "GRANT"),
            PermissionState::GrantWithGrantOption => ("W", "GRANT_WITH_GRANT_OPTION"),
            PermissionState::Deny => ("D", "DENY"),
            PermissionState::Revoke => ("R", "REVOKE"),
        }
    }

    /// Whether the permission is given.
    pub fn is_granted(self) -> bool {
        matches!(self, PermissionState::Grant | PermissionState::GrantWithGrantOption)
    }
}

/// A permission that a principal was given or denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionEntry {
    /// The catalog row's id.
    pub object_id: u32,
    pub securable: Securable,
    /// The code of the permission, of two to four letters: `type` of `sys.database_permissions` without its blanks.
    pub permission: String,
    /// Ids of principals. Securable, permission, grantee and grantor are unique together.
    pub grantee: u32,
    pub grantor: u32,
    pub state: PermissionState,
}

/// The owner of a schema, object, type or XML schema collection that is not owned as it would be without this entry: by dbo for a schema, by
/// the schema's owner for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerEntry {
    /// The catalog row's id.
    pub object_id: u32,
    /// Unique.
    pub securable: Securable,
    /// Id of a principal.
    pub owner: u32,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_survives_its_stored_form() {
        let role = ObjectDefinition::Principal(PrincipalDefinition {
            object_id: 9,
            principal_id: PRINCIPAL_ID_FIRST,
            name: "r\u{e9}le".into(),
            kind: PrincipalKind::Role,
            owner: Some(1),
            default_schema: None,
            allows_encrypted_modifications: false,
            sid: [1, 2, 3, u32::MAX],
            created: (46_000, 1),
            modified: (46_000, 2),
        });
        let membership = ObjectDefinition::RoleMembership(RoleMembership {
            object_id: 10,
            role: 16_384,
            member: PRINCIPAL_ID_FIRST,
        });
        let permission = ObjectDefinition::Permission(PermissionEntry {
            object_id: 11,
            securable: Securable::Column(7, 2),
            permission: "SL".into(),
            grantee: PRINCIPAL_ID_FIRST,
            grantor: 1,
            state: PermissionState::Revoke,
        });
        let owner = ObjectDefinition::Owner(OwnerEntry {
            object_id: 12,
            securable: Securable::XmlSchemaCollection(65_536),
            owner: PRINCIPAL_ID_FIRST,
        });
        for (id, definition) in (9..).zip([role, membership, permission, owner]) {
            assert_eq!(definition.object_id(), id);
            let text = serde_json::to_string(&definition).unwrap();
            assert_eq!(serde_json::from_str::<ObjectDefinition>(&text).unwrap(), definition);
        }
    }
}
