//! Alias types, in memory and as the catalog's JSON text has them.

use super::definition::{StoredType, stored_type, type_of};
use super::standalone::Bindings;
use crate::types::SqlType;
use serde::{Deserialize, Serialize};

/// Another name for a type (CREATE TYPE ... FROM, sp_addtype).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "StoredAliasType", try_from = "StoredAliasType")]
pub struct AliasType {
    /// The catalog row's id.
    pub object_id: u32,
    /// `user_type_id` of `sys.types`: [`super::USER_TYPE_ID_FIRST`] and above.
    pub user_type_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Its name as declared.
    pub name: String,
    /// What it stands for.
    pub base: SqlType,
    /// Whether columns of it may be NULL when they do not say.
    pub nullable: bool,
    /// The default and the rule that columns of it get.
    pub bound: Bindings,
}

#[derive(Clone, Serialize, Deserialize)]
struct StoredAliasType {
    object_id: u32,
    user_type_id: u32,
    schema: String,
    name: String,
    base: StoredType,
    nullable: bool,
    #[serde(default, skip_serializing_if = "Bindings::is_empty")]
    bound: Bindings,
}

impl From<AliasType> for StoredAliasType {
    fn from(alias: AliasType) -> StoredAliasType {
        StoredAliasType {
            object_id: alias.object_id,
            user_type_id: alias.user_type_id,
            schema: alias.schema,
            name: alias.name,
            base: stored_type(alias.base),
            nullable: alias.nullable,
            bound: alias.bound,
        }
    }
}

impl TryFrom<StoredAliasType> for AliasType {
    type Error = String;

    fn try_from(stored: StoredAliasType) -> Result<AliasType, String> {
        Ok(AliasType {
            base: type_of(stored.base).map_err(|problem| format!("type {}: {problem}", stored.name))?,
            object_id: stored.object_id,
            user_type_id: stored.user_type_id,
            schema: stored.schema,
            name: stored.name,
            nullable: stored.nullable,
            bound: stored.bound,
        })
    }
}
