//! RESTORE HEADERONLY, FILELISTONLY and LABELONLY of a backup of SQL Server: its sets, their files, the media. Columns are those of our own
//! backups ([`super::super::media`]); values that are not read from the file are NULL.

use engine::clock::DateTimeTicks;
use engine::error::{Error, Result};
use engine::instance::ForeignFile;
use engine::log::LogPath;
use engine::types::calendar::{DAY_OF_1900, days_from_date};
use engine::types::{Decimal, Length, SqlType, Value};
use genuine::container::{BackedUpFile, Backup, BackupSet, MediaHeader, SetKind, TapeDate};

use super::super::super::{Host, Table};
use super::super::with_options::{sent, unsupported};
use super::chain::path_of;
use super::verify::verify;
use super::{backup_of, set_at, whole_backup};
use crate::ast::RestoreKind;
use crate::views::{SystemRow, datetime, lsn_number, system_row};

/// Ticks of `datetime`, 1/300 of a second, in a second.
const TICKS_PER_SECOND: u32 = 300;

const NAME: SqlType = SqlType::SYSNAME;
const BIG: SqlType = SqlType::BigInt;
const BYTES: SqlType = SqlType::Decimal {
    precision: 20,
    scale: 0,
};
const LSN: SqlType = SqlType::Decimal {
    precision: 25,
    scale: 0,
};

/// What a statement asks of a media set.
pub(in crate::system) struct Asked<'a> {
    pub kind: RestoreKind,
    pub paths: &'a [String],
    /// WITH FILE.
    pub position: Option<u32>,
    /// WITH STATS, in percent.
    pub step: Option<u64>,
    /// The checksum of the backup as a whole is asked for.
    pub checksum: bool,
}

/// Answers one of the statements, about the set at a position, or about all sets.
///
/// # Errors
/// 40517 for CHECKSUM, 3203 for a damaged file, 3132 and 3258 for files that do not belong together, 3287 or its kin for a set that is not there;
/// behind them 3013.
pub(in crate::system) fn show(host: &mut dyn Host, asked: &Asked<'_>, files: Vec<ForeignFile>) -> Result<()> {
    if asked.checksum {
        return Err(unsupported("CHECKSUM with a backup of SQL Server"));
    }
    let path = asked.paths.first().map_or("", String::as_str);
    // A verified set must be whole; the others say what one file says.
    let backup = match asked.kind {
        RestoreKind::VerifyOnly => whole_backup(asked.paths, files),
        _ => backup_of(asked.paths, files),
    };
    let (statement, answered) = match asked.kind {
        RestoreKind::HeaderOnly => (
            "RESTORE HEADERONLY",
            backup.and_then(|backup| headers(&backup, asked.position).send(host)),
        ),
        RestoreKind::FileListOnly => (
            "RESTORE FILELIST",
            backup.and_then(|backup| listed(&backup, path, asked.position)?.send(host)),
        ),
        RestoreKind::LabelOnly => (
            "RESTORE LABELONLY",
            backup.and_then(|backup| labels(&backup).send(host)),
        ),
        _ => {
            let what = (path, asked.position.unwrap_or(1).max(1), asked.step);
            ("VERIFY DATABASE", backup.and_then(|backup| verify(host, &backup, what)))
        }
    };
    answered.map_err(|error| sent(host, vec![error, Error::terminating_abnormally(statement)]))
}

fn headers(backup: &Backup<ForeignFile>, position: Option<u32>) -> Table {
    let is_compressed = backup.media().iter().any(|media| media.is_compressed());
    let mut table = Table::new(Header::COLUMNS);
    for (set, at) in backup.sets().iter().zip(1u16..) {
        if position.is_none_or(|position| position == u32::from(at)) {
            let header = Header {
                set,
                position: at,
                is_compressed,
            };
            table.push(header.values());
        }
    }
    table
}

fn listed(backup: &Backup<ForeignFile>, path: &str, position: Option<u32>) -> Result<Table> {
    let set = &backup.sets()[set_at(backup, position.unwrap_or(1), path)?];
    let mut table = Table::new(Listed::COLUMNS);
    for file in &set.configuration.files {
        table.push(Listed(file).values());
    }
    Ok(table)
}

fn labels(backup: &Backup<ForeignFile>) -> Table {
    let mut table = Table::new(Label::COLUMNS);
    for media in backup.media() {
        let label = Label {
            header: &media.header,
            is_compressed: media.is_compressed(),
        };
        table.push(label.values());
    }
    table
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

fn bytes(number: u64) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), 20, 0))
}

fn date(date: Option<TapeDate>) -> Value {
    date.and_then(ticks_of).map_or(Value::Null, datetime)
}

/// A date of a backup; `None` for one that is none.
pub(super) fn ticks_of(date: TapeDate) -> Option<DateTimeTicks> {
    let days = days_from_date(i32::from(date.year), u32::from(date.month), u32::from(date.day))?;
    let seconds = u32::from(date.hour) * 3_600 + u32::from(date.minute) * 60 + u32::from(date.second);
    Some(DateTimeTicks {
        days: days - DAY_OF_1900,
        ticks: seconds * TICKS_PER_SECOND,
    })
}

/// A text, or NULL for one that was not given.
pub(super) fn given(text: &str) -> Value {
    Some(text).filter(|text| !text.is_empty()).into()
}

struct Header<'b> {
    set: &'b BackupSet,
    position: u16,
    is_compressed: bool,
}

impl Header<'_> {
    /// The path of the set's own log.
    fn path(&self) -> LogPath {
        path_of(self.set).since(self.set.configuration.first_lsn)
    }
}

system_row!(Header<'_> {
    "BackupName" NAME => |row| given(&row.set.header.name);
    "BackupDescription" SqlType::NVarChar(Length::Limited(255)) => |row| given(&row.set.header.description);
    "BackupType" SqlType::SmallInt => |row| Value::SmallInt(i16::from(row.set.header.kind.backup_type()));
    "ExpirationDate" SqlType::DateTime => |_| Value::Null;
    "Compressed" SqlType::TinyInt => |row| Value::TinyInt(u8::from(row.is_compressed));
    "Position" SqlType::SmallInt => |row| Value::SmallInt(i16::try_from(row.position).unwrap_or(i16::MAX));
    "DeviceType" SqlType::TinyInt => |_| Value::TinyInt(2);
    "UserName" NAME => |row| given(&row.set.header.user);
    "ServerName" NAME => |row| given(&row.set.configuration.server);
    "DatabaseName" NAME => |row| row.set.configuration.database.as_str().into();
    "DatabaseVersion" SqlType::Int => |row| i32::from(row.set.configuration.database_version).into();
    "DatabaseCreationDate" SqlType::DateTime => |row| date(row.set.configuration.database_created);
    "BackupSize" BIG => |row| big(row.set.configuration.backup_bytes);
    "FirstLSN" LSN => |row| lsn_number(row.set.configuration.first_lsn);
    "LastLSN" LSN => |row| lsn_number(row.set.configuration.last_lsn);
    "CheckpointLSN" LSN => |row| lsn_number(row.set.configuration.checkpoint_lsn);
    "DatabaseBackupLSN" LSN => |row| lsn_number(row.set.configuration.database_backup_lsn);
    "BackupStartDate" SqlType::DateTime => |row| date(row.set.configuration.started);
    "BackupFinishDate" SqlType::DateTime => |row| date(row.set.configuration.finished);
    "SortOrder" SqlType::SmallInt => |_| Value::Null;
    "CodePage" SqlType::SmallInt => |_| Value::SmallInt(0);
    "UnicodeLocaleId" SqlType::Int => |row| i32::try_from(row.set.configuration.locale).unwrap_or(0).into();
    "UnicodeComparisonStyle" SqlType::Int => |_| Value::Null;
    "CompatibilityLevel" SqlType::TinyInt => |row| Value::TinyInt(row.set.configuration.compatibility_level);
    "SoftwareVendorId" SqlType::Int => |_| 4608.into();
    "SoftwareVersionMajor" SqlType::Int => |row| i32::from(row.set.configuration.server_version.0).into();
    "SoftwareVersionMinor" SqlType::Int => |row| i32::from(row.set.configuration.server_version.1).into();
    "SoftwareVersionBuild" SqlType::Int => |row| i32::from(row.set.configuration.server_version.2).into();
    "MachineName" NAME => |row| given(&row.set.configuration.server);
    "Flags" SqlType::Int => |row| (512 * i32::from(row.set.header.copy_only)).into();
    "BindingID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.set.configuration.binding_guid);
    "RecoveryForkID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.set.configuration.fork);
    "Collation" NAME => |_| Value::Null;
    "FamilyGUID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.set.configuration.family_guid);
    "HasBulkLoggedData" SqlType::Bit => |_| Value::Null;
    "IsSnapshot" SqlType::Bit => |_| false.into();
    "IsReadOnly" SqlType::Bit => |_| Value::Null;
    "IsSingleUser" SqlType::Bit => |_| Value::Null;
    "HasBackupChecksums" SqlType::Bit => |_| Value::Null;
    "IsDamaged" SqlType::Bit => |row| (!row.set.is_complete).into();
    "BeginsLogChain" SqlType::Bit => |_| Value::Null;
    "HasIncompleteMetaData" SqlType::Bit => |_| Value::Null;
    "IsForceOffline" SqlType::Bit => |_| Value::Null;
    "IsCopyOnly" SqlType::Bit => |row| row.set.header.copy_only.into();
    "FirstRecoveryForkID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.path().first_fork().0);
    "ForkPointLSN" LSN => |row| row.path().origin.map_or(Value::Null, |origin| lsn_number(origin.point));
    "RecoveryModel" SqlType::NVarChar(Length::Limited(60)) => |_| Value::Null;
    "DifferentialBaseLSN" LSN => |row| match row.set.header.kind {
        SetKind::Differential => lsn_number(row.set.configuration.database_backup_lsn),
        _ => Value::Null,
    };
    "DifferentialBaseGUID" SqlType::UniqueIdentifier => |row| match row.set.header.kind {
        SetKind::Differential => Value::UniqueIdentifier(row.set.configuration.base_guid),
        _ => Value::Null,
    };
    "BackupTypeDescription" SqlType::NVarChar(Length::Limited(60)) => |row| match row.set.header.kind.backup_type() {
        1 => "Database".into(),
        2 => "Transaction Log".into(),
        5 => "Database Differential".into(),
        _ => Value::Null,
    };
    "BackupSetGUID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.set.header.guid);
    "CompressedBackupSize" BIG => |row| match row.set.configuration.compressed_bytes {
        0 => big(row.set.configuration.backup_bytes),
        compressed => big(compressed),
    };
    "containment" SqlType::TinyInt => |_| Value::Null;
});

struct Listed<'b>(&'b BackedUpFile);

system_row!(Listed<'_> {
    "LogicalName" SqlType::NVarChar(Length::Limited(128)) => |row| row.0.logical_name.as_str().into();
    "PhysicalName" SqlType::NVarChar(Length::Limited(260)) => |row| row.0.path.as_str().into();
    "Type" SqlType::Char(1) => |row| if row.0.is_log() { "L" } else { "D" }.into();
    "FileGroupName" NAME => |row| given(&row.0.filegroup_name);
    "Size" BYTES => |row| bytes(row.0.file_bytes);
    "MaxSize" BYTES => |_| Value::Null;
    "FileId" BIG => |row| big(u64::from(row.0.id));
    "CreateLSN" LSN => |_| Value::Null;
    "DropLSN" LSN => |_| Value::Null;
    "UniqueId" SqlType::UniqueIdentifier => |_| Value::Null;
    "ReadOnlyLSN" LSN => |_| Value::Null;
    "ReadWriteLSN" LSN => |_| Value::Null;
    "BackupSizeInBytes" BIG => |row| big(row.0.backup_bytes);
    "SourceBlockSize" SqlType::Int => |_| 512.into();
    "FileGroupId" SqlType::Int => |row| i32::try_from(row.0.filegroup).unwrap_or(0).into();
    "LogGroupGUID" SqlType::UniqueIdentifier => |_| Value::Null;
    "DifferentialBaseLSN" LSN => |_| Value::Null;
    "DifferentialBaseGUID" SqlType::UniqueIdentifier => |_| Value::Null;
    "IsReadOnly" SqlType::Bit => |_| Value::Null;
    "IsPresent" SqlType::Bit => |_| true.into();
    "TDEThumbprint" SqlType::VarBinary(Length::Limited(32)) => |_| Value::Null;
    "SnapshotUrl" SqlType::NVarChar(Length::Limited(360)) => |_| Value::Null;
});

struct Label<'b> {
    header: &'b MediaHeader,
    is_compressed: bool,
}

system_row!(Label<'_> {
    "MediaName" NAME => |row| given(&row.header.name);
    "MediaSetId" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.header.set_guid);
    "FamilyCount" SqlType::Int => |row| i32::from(row.header.families).into();
    "FamilySequenceNumber" SqlType::Int => |row| i32::from(row.header.family).into();
    "MediaFamilyId" SqlType::UniqueIdentifier => |_| Value::Null;
    "MediaSequenceNumber" SqlType::Int => |_| 1.into();
    "MediaLabelPresent" SqlType::TinyInt => |_| Value::TinyInt(0);
    "MediaDescription" SqlType::NVarChar(Length::Limited(255)) => |row| given(&row.header.description);
    "SoftwareName" NAME => |row| given(&row.header.software);
    "SoftwareVendorId" SqlType::Int => |_| 4608.into();
    "MediaDate" SqlType::DateTime => |row| date(row.header.written);
    "MirrorCount" SqlType::Int => |_| Value::Null;
    "IsCompressed" SqlType::Bit => |row| row.is_compressed.into();
});
