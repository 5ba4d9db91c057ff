//! The data in master about database snapshots and copies, and about databases that are being reverted to a snapshot.

use serde::{Deserialize, Serialize};

/// The database that another one is a snapshot of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotBase {
    pub database_id: u16,
    pub guid: [u8; 16],
    /// A page could not be copied, or the files were not available when the base was opened: the snapshot is unusable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lost: bool,
}

/// The database that another one is a copy of: unchanged pages of the copy are read from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyBase {
    pub of: SnapshotBase,
    /// The most bytes of pages that the copy may have of its own; `None` = as many as there is disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// RESTORE ... FROM DATABASE_SNAPSHOT that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverting {
    /// The guid of the snapshot.
    pub snapshot: [u8; 16],
    /// The first VLF of its new log: no page in its files has a change of that one or a later one.
    pub first_sequence: u32,
}
