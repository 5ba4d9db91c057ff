//! RESTORE HEADERONLY and FILELISTONLY of a backup of SQL Server: its sets and their files, as they say of themselves. Columns are those of our
//! own backups ([`super::super::media`]); what is not read from the file is NULL.

use engine::clock::DateTimeTicks;
use engine::error::{Error, Result};
use engine::instance::ForeignFile;
use engine::types::calendar::days_from_date;
use engine::types::{Decimal, Length, SqlType, Value};
use genuine::container::{BackedUpFile, Backup, BackupSet, TapeDate};

use super::super::super::{Host, Table};
use super::super::with_options::{sent, unsupported};
use super::damaged;
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

/// Answers one of the statements, about the set at a position, or about all sets.
///
/// # Errors
/// 40517 for LABELONLY and VERIFYONLY, 3203 for a damaged file, 3287 or its kin for a set that is not there; behind them 3013.
pub(in crate::system) fn show(
    host: &mut dyn Host,
    kind: RestoreKind,
    (path, position): (&str, Option<u32>),
    file: ForeignFile,
) -> Result<()> {
    let (statement, answered) = match kind {
        RestoreKind::HeaderOnly => ("RESTORE HEADERONLY", headers(path, position, file)),
        RestoreKind::FileListOnly => ("RESTORE FILELIST", listed(path, position, file)),
        RestoreKind::LabelOnly => return Err(unsupported("RESTORE LABELONLY of a backup of SQL Server")),
        _ => return Err(unsupported("RESTORE VERIFYONLY of a backup of SQL Server")),
    };
    match answered {
        Ok(table) => table.send(host),
        Err(error) => Err(sent(host, vec![error, Error::terminating_abnormally(statement)])),
    }
}

fn headers(path: &str, position: Option<u32>, file: ForeignFile) -> Result<Table> {
    let backup = Backup::open(vec![file]).map_err(|fault| damaged(path, &fault))?;
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
    Ok(table)
}

fn listed(path: &str, position: Option<u32>, file: ForeignFile) -> Result<Table> {
    let backup = Backup::open(vec![file]).map_err(|fault| damaged(path, &fault))?;
    let position = position.unwrap_or(1).max(1);
    let at = usize::try_from(position - 1).unwrap_or(usize::MAX);
    let set = backup.sets().get(at);
    let set = set.ok_or_else(|| Error::no_such_set(position, path))?;
    let mut table = Table::new(Listed::COLUMNS);
    for file in &set.configuration.files {
        table.push(Listed(file).values());
    }
    Ok(table)
}

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

fn bytes(number: u64) -> Value {
    Value::Decimal(Decimal::new(i128::from(number), 20, 0))
}

fn date(date: Option<TapeDate>) -> Value {
    let days = date.and_then(|date| days_from_date(i32::from(date.year), u32::from(date.month), u32::from(date.day)));
    let (Some(date), Some(days)) = (date, days) else {
        return Value::Null;
    };
    let seconds = u32::from(date.hour) * 3_600 + u32::from(date.minute) * 60 + u32::from(date.second);
    datetime(DateTimeTicks {
        days,
        ticks: seconds * TICKS_PER_SECOND,
    })
}

/// A text, or NULL for one that was not given.
fn given(text: &str) -> Value {
    Some(text).filter(|text| !text.is_empty()).into()
}

struct Header<'b> {
    set: &'b BackupSet,
    position: u16,
    is_compressed: bool,
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
    "BindingID" SqlType::UniqueIdentifier => |_| Value::Null;
    "RecoveryForkID" SqlType::UniqueIdentifier => |_| Value::Null;
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
    "FirstRecoveryForkID" SqlType::UniqueIdentifier => |_| Value::Null;
    "ForkPointLSN" LSN => |_| Value::Null;
    "RecoveryModel" SqlType::NVarChar(Length::Limited(60)) => |_| Value::Null;
    "DifferentialBaseLSN" LSN => |_| Value::Null;
    "DifferentialBaseGUID" SqlType::UniqueIdentifier => |_| Value::Null;
    "BackupTypeDescription" SqlType::NVarChar(Length::Limited(60)) => |row| match row.set.header.kind.backup_type() {
        1 => "Database".into(),
        2 => "Transaction Log".into(),
        5 => "Database Differential".into(),
        _ => Value::Null,
    };
    "BackupSetGUID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.set.configuration.set_guid);
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
