//! A backup set: what was backed up, when, and from where to where in the log.
//!
//! ```text
//! TAPE, SFMB, then for each set: SSET, VOLB, MSCI, MSDA ..., MSTL ..., MSLS, SFMB, ESET, ESET, SFMB
//!
//! SSET  52 kind u32: 2 copy only, 4 full, 8 differential, 0x10 log | 62 number of the set u16 | 64, 68, 76 name, description, user
//!       80 where it begins, in sectors u64 | 88 date | 100 GUID of the set, the same in all files that it is dealt out to
//! MSCI  a stream MQCI, as it was at the beginning: SCIN, and behind it an SFGI for each filegroup, each followed by an SFIN for each of its
//!       files; then an SFIN for each log file
//! MSLS  the same, as it was at the end
//!
//! SCIN  4 length of it with its text u32
//!       0x18 build u16 | 0x1A minor u8 | 0x1B major u8
//!       0x20 first LSN | 0x2A LSN behind the last | 0x34 checkpoint | 0x3E last full backup      (10 bytes each)
//!       0x48 the database was made | 0x4D the backup began | 0x52 it ended; zeros in MSCI        (5 bytes each)
//!       0x57 'D' full, 'I' differential, 'L' log | 0x5B compatibility level u8 | 0x5E version of the database u16
//!       0x60 bytes of the backup, not compressed, u64
//!       0x68, 0x6C database, server (size and offset u16; the offset from SCIN)
//!       0x74 locale u32 | 0x7C GUID, the same in all backups of a database | 0x90 LSN that the fork reaches | 0x9C GUID of the fork
//!       0xAC LSN where that fork began | 0xB8 GUID of its parent; zeros of a database that was never restored
//!       0xC8 GUID of the full set that a differential one is based on | 0xD8 collation u32 | 0xE0 GUID of the family
//!       0x158 bytes of the backup, compressed, u64 (2008 and later; in MSLS)
//! SFGI  4 length with its text u32 | 0x10 name | 0x14 id u16
//! SFIN  4 length with its text u32 | 0x10 bytes of a page u32 | 0x14 file u32 | 0x18 pages in the backup u32 | 0x1C 1 data, 2 log u32
//!       0x24 filegroup u32, 0 of a log (inferred: all files seen are of filegroup 1)
//!       0x28 bytes of the file u64 | 0x30 logical name | 0x34 path
//! ```
//!
//! SSET's fields are the specification's (Microsoft Tape Format 1.00a). A log backup has the 4 of a full one there, so the letter at 0x57
//! decides; the letters are those of `msdb.dbo.backupset.type`. The rest is measured on 14 full backups of the database versions 611 to 957,
//! and on the headers of 36 full, differential and log backups of the versions 661 and 852 (the folders of `dataplat/appveyor-lab`): the SCIN of 8 striped
//! sets are equal in both files, byte by byte; the GUID at 0xC8 is the one that the full set has in its SSET; in the 9 sets of
//! databases that were restored once, 0x9C is a GUID of its own and 0xB8 the one at 0xE0, in all others 0x9C is the one at 0xE0. Names of LSNs: a project that reads backups (`mssqlbak-tests`).

use super::mtf::{Block, TapeDate, text_at};
use crate::bytes::{array_at, u16_at, u32_at, u64_at};
use crate::page::PAGE_BYTES;
use std::fmt;
use vlf::Lsn;

/// Files and filegroups of one database.
const PARTS_MAX: usize = 65_536;

/// What a set is a backup of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetKind {
    #[default]
    Full,
    Differential,
    Log,
    /// Another letter, or combination of bits.
    Other(u32),
}

impl SetKind {
    fn of_bits(bits: u32) -> SetKind {
        match bits & !2 {
            4 => SetKind::Full,
            8 => SetKind::Differential,
            0x10 => SetKind::Log,
            _ => SetKind::Other(bits),
        }
    }

    /// By the letter of `msdb.dbo.backupset.type`; `None` where the field is empty.
    pub(super) fn of_letter(letter: u8) -> Option<SetKind> {
        match letter {
            b'D' => Some(SetKind::Full),
            b'I' => Some(SetKind::Differential),
            b'L' => Some(SetKind::Log),
            0 => None,
            // Of some files or filegroups: F, G, P, Q.
            letter => Some(SetKind::Other(u32::from(letter))),
        }
    }

    /// `BackupType` of RESTORE HEADERONLY.
    pub fn backup_type(self) -> u8 {
        match self {
            SetKind::Full => 1,
            SetKind::Log => 2,
            SetKind::Differential => 5,
            SetKind::Other(_) => 0,
        }
    }
}

impl fmt::Display for SetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetKind::Full => f.pad("full"),
            SetKind::Differential => f.pad("differential"),
            SetKind::Log => f.pad("log"),
            SetKind::Other(bits) => f.pad(&format!("kind 0x{bits:x}")),
        }
    }
}

/// The fields of a block SSET.
#[derive(Clone, Debug, Default)]
pub struct SetHeader {
    pub kind: SetKind,
    pub copy_only: bool,
    /// From 1.
    pub number: u16,
    pub name: String,
    pub description: String,
    pub user: String,
    pub written: Option<TapeDate>,
    /// No two sets have the same.
    pub guid: [u8; 16],
}

impl SetHeader {
    /// The fields of `block`.
    pub fn of(block: &Block) -> SetHeader {
        let bits = u32_at(&block.bytes, 52).unwrap_or(0);
        SetHeader {
            kind: SetKind::of_bits(bits),
            copy_only: bits & 2 != 0,
            number: u16_at(&block.bytes, 62).unwrap_or(0),
            name: block.text(64),
            description: block.text(68),
            user: block.text(76),
            written: TapeDate::read(&block.bytes, 88),
            guid: array_at(&block.bytes, 100).unwrap_or_default(),
        }
    }
}

/// A database file that a set names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUpFile {
    pub id: u32,
    pub logical_name: String,
    pub path: String,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of it in the backup.
    pub backup_bytes: u64,
    /// 0 for a log file.
    pub filegroup: u32,
    /// Empty for a log file.
    pub filegroup_name: String,
}

impl BackedUpFile {
    /// It is a log file.
    pub fn is_log(&self) -> bool {
        self.filegroup == 0
    }
}

/// The content of a stream MQCI.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    pub database: String,
    pub server: String,
    /// Major, minor and build of the server.
    pub server_version: (u8, u8, u16),
    pub compatibility_level: u8,
    pub database_version: u16,
    pub first_lsn: Lsn,
    /// Behind the last record of the set.
    pub last_lsn: Lsn,
    pub checkpoint_lsn: Lsn,
    /// The checkpoint of the full backup that a differential one is based on.
    pub database_backup_lsn: Lsn,
    pub database_created: Option<TapeDate>,
    pub started: Option<TapeDate>,
    pub finished: Option<TapeDate>,
    /// The letter of `msdb.dbo.backupset.type`.
    pub letter: u8,
    pub backup_bytes: u64,
    pub compressed_bytes: u64,
    pub locale: u32,
    pub collation: u32,
    /// The same in all backups of a database (`BindingID` of RESTORE HEADERONLY).
    pub binding_guid: [u8; 16],
    /// The same in all backups of a database and of what was restored from them (`FamilyGUID`).
    pub family_guid: [u8; 16],
    /// The fork of its newest log (`RecoveryForkID`): every restore that ends with recovery begins one.
    pub fork: [u8; 16],
    /// The fork that it left, and where; `None` of a database that was never restored.
    pub fork_origin: Option<([u8; 16], Lsn)>,
    /// Of a differential set: the [`SetHeader::guid`] of its base.
    pub base_guid: [u8; 16],
    pub files: Vec<BackedUpFile>,
    /// Filegroups in the set, by id.
    pub filegroups: Vec<(u16, String)>,
}

impl Configuration {
    /// Reads the content of a stream MQCI; `None` if it does not begin with SCIN. Parts behind damage are left out.
    pub fn read(content: &[u8]) -> Option<Configuration> {
        if !content.starts_with(b"SCIN") {
            return None;
        }
        let lsn = |offset| Lsn::read(content, offset).unwrap_or(Lsn::ZERO);
        let mut found = Configuration {
            database: text_at(content, 0x68, false),
            server: text_at(content, 0x6C, false),
            server_version: (*content.get(0x1B)?, *content.get(0x1A)?, u16_at(content, 0x18)?),
            compatibility_level: *content.get(0x5B)?,
            database_version: u16_at(content, 0x5E)?,
            first_lsn: lsn(0x20),
            last_lsn: lsn(0x2A),
            checkpoint_lsn: lsn(0x34),
            database_backup_lsn: lsn(0x3E),
            database_created: TapeDate::read(content, 0x48),
            started: TapeDate::read(content, 0x4D),
            finished: TapeDate::read(content, 0x52),
            letter: *content.get(0x57)?,
            backup_bytes: u64_at(content, 0x60)?,
            locale: u32_at(content, 0x74)?,
            collation: u32_at(content, 0xD8)?,
            binding_guid: array_at(content, 0x7C)?,
            family_guid: array_at(content, 0xE0)?,
            fork: array_at(content, 0x9C)?,
            fork_origin: array_at(content, 0xB8)
                .filter(|parent| *parent != [0; 16])
                .map(|parent| (parent, lsn(0xAC))),
            base_guid: array_at(content, 0xC8)?,
            ..Configuration::default()
        };
        let length = u32_at(content, 4)? as usize;
        // The text of 2005 begins at 0x158, where later versions have this field.
        let first_text = usize::from(u16_at(content, 0x6A)?);
        if first_text >= 0x160 {
            found.compressed_bytes = u64_at(content, 0x158)?;
        }
        found.add_parts(content, length);
        Some(found)
    }

    /// Reads filegroups and files from `offset` on.
    fn add_parts(&mut self, content: &[u8], offset: usize) {
        let mut rest = content.get(offset..).unwrap_or(&[]);
        while self.files.len() + self.filegroups.len() < PARTS_MAX {
            let Some(length) = u32_at(rest, 4).map(|length| length as usize) else {
                return;
            };
            let Some(part) = rest.get(..length).filter(|part| part.len() >= 8) else {
                return;
            };
            match &part[..4] {
                b"SFGI" => self
                    .filegroups
                    .push((u16_at(part, 0x14).unwrap_or(0), text_at(part, 0x10, false))),
                b"SFIN" => self.files.extend(file_of(part, &self.filegroups)),
                _ => return,
            }
            rest = &rest[length..];
        }
    }

    /// The file whose id is `id`.
    pub fn file(&self, id: u32) -> Option<&BackedUpFile> {
        self.files.iter().find(|file| file.id == id)
    }
}

/// The fields of an SFIN.
fn file_of(part: &[u8], filegroups: &[(u16, String)]) -> Option<BackedUpFile> {
    let filegroup = u32_at(part, 0x24)?;
    let name = filegroups.iter().find(|(id, _)| u32::from(*id) == filegroup);
    Some(BackedUpFile {
        id: u32_at(part, 0x14)?,
        logical_name: text_at(part, 0x30, false),
        path: text_at(part, 0x34, false),
        file_bytes: u64_at(part, 0x28)?,
        backup_bytes: u64::from(u32_at(part, 0x18)?) * PAGE_BYTES as u64,
        filegroup,
        filegroup_name: name.map(|(_, name)| name.clone()).unwrap_or_default(),
    })
}
