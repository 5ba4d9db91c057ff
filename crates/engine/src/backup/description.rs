//! The description in a backup set: the columns of RESTORE HEADERONLY and FILELISTONLY, and the data that a restore needs.

use crate::catalog::{FileEntry, FilegroupEntry};
use crate::log::LogPath;
use crate::seams::DateTimeTicks;
use serde::{Deserialize, Serialize};
use vlf::Lsn;

/// What a set holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetKind {
    /// BackupType 1.
    Database,
    /// BackupType 2.
    Log,
    /// BackupType 5.
    Differential,
}

/// The full backup on which a differential one is based.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferentialBase {
    /// DifferentialBaseGUID: of its set.
    pub guid: [u8; 16],
    /// DifferentialBaseLSN: its checkpoint.
    #[serde(with = "crate::log::lsn_text")]
    pub lsn: Lsn,
}

impl SetKind {
    /// `BackupType` of HEADERONLY.
    pub fn number(self) -> u8 {
        match self {
            SetKind::Database => 1,
            SetKind::Log => 2,
            SetKind::Differential => 5,
        }
    }

    /// The kind of BACKUP in its last message.
    pub fn backup_noun(self) -> &'static str {
        match self {
            SetKind::Database => "DATABASE",
            SetKind::Differential => "DATABASE WITH DIFFERENTIAL",
            SetKind::Log => "LOG",
        }
    }

    /// The kind of RESTORE in its last message.
    pub fn restore_noun(self) -> &'static str {
        match self {
            SetKind::Database | SetKind::Differential => "DATABASE",
            SetKind::Log => "LOG",
        }
    }

    /// `type` of msdb's backupset, `restore_type` of its restorehistory.
    pub fn letter(self) -> &'static str {
        match self {
            SetKind::Database => "D",
            SetKind::Differential => "I",
            SetKind::Log => "L",
        }
    }
}

/// One file of the database, a row of FILELISTONLY.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// LogicalName, PhysicalName, Type (L or D), MaxSize, FileId and growth.
    pub file: FileEntry,
    /// Size in bytes.
    pub bytes: u64,
    /// BackupSizeInBytes: what of it is in the set.
    pub backup_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetDescription {
    /// BackupType.
    pub kind: SetKind,
    /// BackupName.
    pub name: Option<String>,
    /// BackupDescription.
    pub description: Option<String>,
    pub compressed: bool,
    /// Position: its place in the media file, from 1.
    pub position: u32,
    pub user_name: String,
    pub server_name: String,
    pub database_name: String,
    /// DatabaseCreationDate.
    #[serde(with = "time")]
    pub database_created: DateTimeTicks,
    /// BackupSize in bytes, before compression.
    pub backup_bytes: u64,
    /// CompressedBackupSize in bytes.
    pub stored_bytes: u64,
    /// FirstLSN: where the set's log begins.
    #[serde(with = "crate::log::lsn_text")]
    pub first_lsn: Lsn,
    /// LastLSN: the first LSN that is not in the set.
    #[serde(with = "crate::log::lsn_text")]
    pub last_lsn: Lsn,
    #[serde(with = "crate::log::lsn_text")]
    pub checkpoint_lsn: Lsn,
    /// DatabaseBackupLSN: the checkpoint of the last full backup before.
    #[serde(with = "crate::log::lsn_text")]
    pub database_backup_lsn: Lsn,
    /// Where redo of a full backup starts.
    #[serde(with = "crate::log::lsn_text")]
    pub redo_start: Lsn,
    /// BackupStartDate.
    #[serde(with = "time")]
    pub started: DateTimeTicks,
    /// BackupFinishDate.
    #[serde(with = "time")]
    pub finished: DateTimeTicks,
    /// No transaction that committed at this time or before is missing from the set's log.
    #[serde(with = "time")]
    pub log_end: DateTimeTicks,
    pub compatibility_level: u16,
    /// SoftwareVersionMajor and Minor.
    pub software_version: (u8, u8),
    /// RecoveryModel: FULL, BULK-LOGGED or SIMPLE, as `sys.databases.recovery_model`.
    pub recovery_model: u8,
    pub copy_only: bool,
    /// HasBackupChecksums as asked for; ours always has them.
    pub checksum: bool,
    pub begins_log_chain: bool,
    /// The database was left RESTORING: nothing follows this log.
    pub no_recovery: bool,
    /// FamilyGUID, and the identity by which backups and databases know each other.
    pub family_guid: [u8; 16],
    /// The recovery path of the set's log: RecoveryForkID, FirstRecoveryForkID and ForkPointLSN.
    pub path: LogPath,
    /// BackupSetGUID.
    pub set_guid: [u8; 16],
    /// FILELISTONLY.
    pub files: Vec<BackupFile>,
    /// The database's filegroups; empty for PRIMARY alone.
    #[serde(default)]
    pub filegroups: Vec<FilegroupEntry>,
    /// Of a differential backup.
    #[serde(default)]
    pub differential_base: Option<DifferentialBase>,
    /// The boot record at the end of the set.
    pub boot: Vec<u8>,
    /// Pages of log in the set.
    pub log_pages: u64,
}

impl SetDescription {
    /// The filegroup of a data file; `None` for a log file.
    pub fn filegroup_of(&self, file: &FileEntry) -> Option<FilegroupEntry> {
        if file.log {
            return None;
        }
        let found = self.filegroups.iter().find(|filegroup| filegroup.id == file.filegroup);
        Some(found.map_or_else(|| FilegroupEntry::primary(self.family_guid), FilegroupEntry::clone))
    }
}

mod time {
    use crate::seams::DateTimeTicks;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(time: &DateTimeTicks, serializer: S) -> Result<S::Ok, S::Error> {
        (time.days, time.ticks).serialize(serializer)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<DateTimeTicks, D::Error> {
        let (days, ticks) = Deserialize::deserialize(deserializer)?;
        Ok(DateTimeTicks { days, ticks })
    }
}
