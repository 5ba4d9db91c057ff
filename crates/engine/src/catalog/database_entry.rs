//! What master knows of a database: its files and filegroups.
//!
//! An entry is JSON, as every definition is. Its filegroups are in it and not in the database: a file becomes a database's by its entry, and
//! a file without its filegroup is of no use. A backup set has them with its files.

use super::{CopyBase, ForeignRestore, Reverting, SnapshotBase};
use serde::{Deserialize, Serialize};

/// `data_space_id` of the filegroup PRIMARY.
pub const PRIMARY_FILEGROUP: u32 = 1;

/// A filegroup, as `sys.filegroups` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilegroupEntry {
    /// `data_space_id`: 1 for PRIMARY, 2 and above for others.
    pub id: u16,
    /// As declared.
    pub name: String,
    /// `filegroup_guid`.
    pub guid: [u8; 16],
    /// What says no filegroup goes there. One filegroup of a database is it.
    pub is_default: bool,
    /// Nothing in it may be changed, and nothing new be made in it.
    pub is_read_only: bool,
    /// AUTOGROW_ALL_FILES: its files grow together.
    pub grows_all_files: bool,
}

impl FilegroupEntry {
    /// PRIMARY, as it is in a database that says nothing of filegroups. `guid` is the database's.
    pub fn primary(guid: [u8; 16]) -> FilegroupEntry {
        FilegroupEntry {
            id: primary(),
            name: "PRIMARY".to_owned(),
            guid,
            is_default: true,
            is_read_only: false,
            grows_all_files: false,
        }
    }
}

/// One file of a database, as `sys.master_files` shows it. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// 1 for the primary data file, 2 for the first log file.
    pub file_id: u16,
    /// True for a log file.
    pub log: bool,
    /// Logical name.
    pub name: String,
    /// Path as the script gave it.
    pub physical_name: String,
    /// MAXSIZE; `None` for UNLIMITED.
    pub max_bytes: Option<u64>,
    /// FILEGROWTH.
    pub growth: GrowthEntry,
    /// The filegroup of a data file; that of a log file says nothing. A database with other filegroups than PRIMARY says so in its boot
    /// record, and master does in its own.
    #[serde(default = "primary", skip_serializing_if = "is_primary")]
    pub filegroup: u16,
}

fn primary() -> u16 {
    PRIMARY_FILEGROUP as u16
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_primary(filegroup: &u16) -> bool {
    *filegroup == primary()
}

/// FILEGROWTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrowthEntry {
    /// FILEGROWTH = 0: the file stays as it is.
    Fixed,
    /// By this many bytes.
    Bytes(u64),
    /// By this percentage of the current size.
    Percent(u32),
}

/// A database of the instance, as master knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseEntry {
    /// The catalog row's id.
    pub object_id: u32,
    /// The same in every file of the database.
    pub guid: [u8; 16],
    /// `database_id`: 1 to 4 for the system databases, 5 and above for others.
    pub database_id: u16,
    /// As declared.
    pub name: String,
    /// Data files first.
    pub files: Vec<FileEntry>,
    /// Its filegroups, PRIMARY first. Empty while there is PRIMARY alone, as it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filegroups: Vec<FilegroupEntry>,
    /// Set while CREATE DATABASE or RESTORE has not finished: startup removes what is left of it.
    pub creating: bool,
    /// Set while RESTORE replaces the database: its files are not whole, and another RESTORE has to make them.
    #[serde(default)]
    pub being_replaced: bool,
    /// Set by ALTER DATABASE SET OFFLINE.
    #[serde(default)]
    pub offline: bool,
    /// The undo file of a standby database, as it is called on this machine.
    #[serde(default)]
    pub standby: Option<String>,
    /// Set by ALTER DATABASE SET EMERGENCY.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub emergency: bool,
    /// It waits for more backups of another server, or for its recovery, and has no files yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<ForeignRestore>,
    /// What it is a snapshot of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_of: Option<SnapshotBase>,
    /// What it is a copy of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<CopyBase>,
    /// It is being made what one of its snapshots is: nothing else may be done with its files until that is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverting: Option<Reverting>,
    /// Days and ticks of creation.
    pub created: (i32, u32),
}

impl DatabaseEntry {
    /// The database whose pages it reads: that of a snapshot or of a copy.
    pub fn base(&self) -> Option<SnapshotBase> {
        self.snapshot_of.or(self.copy_of.map(|copy| copy.of))
    }

    /// Its filegroups, PRIMARY first.
    pub fn every_filegroup(&self) -> Vec<FilegroupEntry> {
        match self.filegroups.is_empty() {
            true => vec![FilegroupEntry::primary(self.guid)],
            false => self.filegroups.clone(),
        }
    }

    /// A filegroup by its name, ignoring case.
    pub fn filegroup(&self, name: &str) -> Option<FilegroupEntry> {
        let folded = name.to_lowercase();
        let mut filegroups = self.every_filegroup().into_iter();
        filegroups.find(|filegroup| filegroup.name.to_lowercase() == folded)
    }

    /// Whether a version that knows PRIMARY alone would misread it.
    pub fn has_filegroups(&self) -> bool {
        !self.filegroups.is_empty()
    }
}
