//! The row and page counts in the catalog of a clone, which has no data of its own.

use serde::{Deserialize, Serialize};

/// The row and page counts of a clone's allocation unit when the database is opened: those of the table that it is a clone of. It has none
/// of its own for longer than nobody writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BelievedCounts {
    /// The catalog row's id.
    pub object_id: u32,
    /// The allocation unit of a heap or clustered index. No other one ever has its number.
    pub unit: u32,
    pub rows: u64,
    pub pages: u64,
}
