//! Computed columns in the catalog.

use serde::{Deserialize, Serialize};

/// What makes a column a computed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputedColumn {
    /// The expression, T-SQL text as it was written.
    pub text: String,
    /// Whether it was declared as PERSISTED.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_persisted: bool,
    /// Whether rows store its values, because it is persisted or indexed. Otherwise it is computed when read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stored: bool,
}
