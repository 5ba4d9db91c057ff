//! Part of a database's entry: the backups of another server from which it is being restored.

use serde::{Deserialize, Serialize};

/// A restore of another server's backups, as far as it has come: its sets are read when the database is recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignRestore {
    /// The full set, and those on it in their order.
    pub sets: Vec<ForeignSet>,
    /// WITH MOVE: logical names and paths.
    pub moves: Vec<(String, String)>,
    /// The checkpoint of the full set, in the other server's log.
    pub base: StoredLsn,
    /// Where in that log the next set has to begin.
    pub reached: StoredLsn,
    /// The path that the other server's log takes up to there.
    pub path: ForeignPath,
    /// Days and ticks of the newest transaction that is in it for certain.
    pub newest: Option<(i32, u32)>,
}

/// A backup set of another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignSet {
    /// The files that it was dealt out to, as the statement named them.
    pub paths: Vec<String>,
    /// WITH FILE.
    pub position: u32,
    /// By which it is known again.
    pub guid: [u8; 16],
    /// STOPAT: the first record that is not done.
    pub stop: Option<StoredLsn>,
}

/// The end of a recovery path of another server, as `log::LogPath` has it of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignPath {
    /// The GUID of the fork.
    pub fork: [u8; 16],
    /// The fork that it left, and where; `None` of a database that was never restored.
    pub origin: Option<([u8; 16], StoredLsn)>,
}

/// VLF, block, slot.
pub type StoredLsn = (u32, u32, u16);
