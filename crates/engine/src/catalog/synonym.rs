//! Synonyms: other names for objects.

use serde::{Deserialize, Serialize};

/// A synonym (CREATE SYNONYM). What it stands for is looked up by name at each use, and need not be there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynonymDefinition {
    /// Unique within the database.
    pub object_id: u32,
    /// Schema name as declared.
    pub schema: String,
    /// Name as declared.
    pub name: String,
    /// The name of what it stands for, as it was written: its parts in brackets, with a point between.
    pub base: String,
    /// Days and ticks of creation.
    pub created: (i32, u32),
}
