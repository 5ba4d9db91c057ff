//! Intents in master's catalog for work that a crash may interrupt: creating and removing files, and commits that span several databases.

use serde::{Deserialize, Serialize};

/// Files that a statement is about to make, or that it has taken from a database and is about to delete. Whatever the statement
/// comes to, a file that is still named here belongs to nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIntent {
    /// The catalog row's id.
    pub object_id: u32,
    /// The statement, for the error log.
    pub statement: String,
    /// What the files say of themselves: the guid of their database, or of a backup set.
    pub guid: [u8; 16],
    pub files: Vec<IntendedFile>,
}

/// A transaction that has committed in several databases, be its Commit there yet or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitDecision {
    /// The catalog row's id.
    pub object_id: u32,
    pub parts: Vec<DecidedPart>,
    /// The mark that every Commit gets, as the log has it (`crate::log`); empty for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mark: Vec<u8>,
}

/// A transaction's part in one database, by what no other transaction has on any recovery path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedPart {
    pub database_guid: [u8; 16],
    /// The recovery fork on which it ran.
    pub fork: [u8; 16],
    /// Its number in that database's log.
    pub transaction: u64,
    /// The LSN of its first record, as bytes.
    pub first: [u8; 10],
}

/// A file of a [`FileIntent`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntendedFile {
    /// Where it is on this machine.
    pub path: String,
    /// True where the name itself tells that the file is the intent's; else the file's first bytes have to.
    pub by_name: bool,
}
