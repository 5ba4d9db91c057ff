//! RESTORE HEADERONLY, FILELISTONLY, LABELONLY and VERIFYONLY: the contents of a media file (columns: sql-docs, "RESTORE Statements -
//! HEADERONLY", "- FILELISTONLY", "- LABELONLY"). [`super::foreign::media`] handles SQL Server's own backups.

use engine::backup::{BackupEvent, BackupFile, DifferentialBase, MediaLabel, SetDescription, SetKind};
use engine::catalog::FilegroupEntry;
use engine::error::{Error, Result};
use engine::recovery::BootRecord;
use engine::seams::WorkKind;
use engine::types::{Collation, Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::backup::report;
use super::foreign::{self, media::Asked};
use super::with_options::{Options, ended, paths_of, sent};
use crate::ast::{Restore, RestoreKind};
use crate::views::{SystemRow, datetime, lsn_number, system_row};

/// Runs one of them.
pub(super) fn show(context: &SystemContext<'_>, host: &mut dyn Host, statement: &Restore) -> Result<()> {
    let command = match statement.kind {
        RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
        RestoreKind::FileListOnly => "RESTORE FILELIST",
        RestoreKind::LabelOnly => "RESTORE LABELONLY",
        RestoreKind::VerifyOnly | RestoreKind::Database | RestoreKind::Log => "VERIFY DATABASE",
    };
    let paths = paths_of(host, &statement.devices);
    let paths = ended(host, command, paths)?;
    let (mut file, mut step, mut checksum) = (None, None, false);
    let mut options = Options::new(host, &statement.options);
    while let Some(option) = options.next() {
        match option.name.as_str() {
            "FILE" => file = Some(options.number(option)?),
            "STATS" => step = Some(u64::from(options.percent(option)?)),
            "CHECKSUM" => checksum = true,
            // What is left says what is so here anyway.
            _ => {}
        }
    }
    let asked = Asked {
        kind: statement.kind,
        paths: &paths,
        position: file,
        step,
        checksum,
    };
    let Err(failed) = own(context, host, &paths, &asked) else {
        return Ok(());
    };
    let failed = match failed {
        Refused::ByMedia(errors) => errors,
        Refused::Otherwise(error) => return Err(error),
    };
    match foreign::opened(context, &paths, &failed) {
        Some(files) => foreign::media::show(host, &asked, files),
        None => Err(sent(host, failed)),
    }
}

/// Why a statement is not answered.
enum Refused {
    /// What the media is, or is not: 3241 for one that is not ours.
    ByMedia(Vec<Error>),
    Otherwise(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Otherwise(error)
    }
}

impl From<Vec<Error>> for Refused {
    fn from(errors: Vec<Error>) -> Refused {
        Refused::ByMedia(errors)
    }
}

/// Answers about a backup of our own.
fn own(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    paths: &[String],
    asked: &Asked<'_>,
) -> std::result::Result<(), Refused> {
    let instance = context.instance;
    let is_meant = |set: &SetDescription| asked.position.is_none_or(|file| set.position == file);
    if asked.checksum && asked.kind != RestoreKind::HeaderOnly {
        require_checksums(instance.backup_headers(paths)?.iter().filter(|set| is_meant(set)))?;
    }
    match asked.kind {
        RestoreKind::HeaderOnly => {
            let sets = instance.backup_headers(paths)?;
            if asked.checksum {
                require_checksums(sets.iter().filter(|set| is_meant(set)))?;
            }
            table(sets.into_iter().filter(is_meant).map(Header)).send(host)?;
        }
        RestoreKind::FileListOnly => {
            let set = instance.backup_file_list(paths, asked.position)?;
            let listed = |file: &BackupFile| ListedFile {
                base: set.differential_base.filter(|_| !file.file.log),
                filegroup: set.filegroup_of(&file.file),
                file: file.clone(),
            };
            table(set.files.iter().map(listed)).send(host)?;
        }
        RestoreKind::LabelOnly => table(instance.backup_labels(paths)?.into_iter().map(Label)).send(host)?,
        _ => verify(context, host, paths, asked)?,
    }
    Ok(())
}

fn verify(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    paths: &[String],
    asked: &Asked<'_>,
) -> std::result::Result<(), Vec<Error>> {
    let instance = context.instance;
    let work = instance.env.begin_work(WorkKind::Verify, "", 0);
    let mut told = 0;
    instance.verify_backup(paths, asked.position, &mut |event| {
        if let (
            Some(step),
            BackupEvent::Progress {
                processed_bytes,
                total_bytes,
            },
        ) = (asked.step, &event)
        {
            while (told + step) * total_bytes <= processed_bytes * 100 && told + step <= 100 {
                told += step;
                host.message(&Error::percent_processed(told))?;
            }
        }
        report(host, &work, event)
    })
}

/// 3187 unless the sets that are read have checksums.
fn require_checksums<'s>(mut meant: impl Iterator<Item = &'s SetDescription>) -> Result<()> {
    if meant.all(|set| set.checksum) {
        return Ok(());
    }
    let text =
        "RESTORE WITH CHECKSUM cannot be specified because the backup set does not contain checksum information.";
    Err(Error::new(3187, 16, 1, text))
}

fn table<R: SystemRow>(rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new(R::COLUMNS);
    rows.into_iter().for_each(|row| table.push(row.values()));
    table
}

const NAME: SqlType = SqlType::SYSNAME;
const BIG: SqlType = SqlType::BigInt;
const LSN: SqlType = SqlType::Decimal {
    precision: 25,
    scale: 0,
};

fn big(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

struct Header(SetDescription);

impl Header {
    fn recovery_model(&self) -> &'static str {
        match self.0.recovery_model {
            1 => "FULL",
            2 => "BULK-LOGGED",
            _ => "SIMPLE",
        }
    }

    /// The database's default collation, out of the boot record at the end of the set.
    fn collation(&self) -> &'static str {
        let boot = BootRecord::decode(&self.0.boot, &self.0.database_name).ok();
        let collation = boot.and_then(|boot| Collation::from_number(boot.collation));
        collation.unwrap_or_default().name()
    }

    /// 16 has checksums, 512 copy only, 1 with its tail for log backups (sql-docs: `Flags` is kept for old clients).
    fn flags(&self) -> i32 {
        512 * i32::from(self.0.copy_only) + 16 * i32::from(self.0.checksum)
    }
}

system_row!(Header {
    "BackupName" NAME => |row| row.0.name.as_deref().into();
    "BackupDescription" SqlType::NVarChar(Length::Limited(255)) => |row| row.0.description.as_deref().into();
    "BackupType" SqlType::SmallInt => |row| Value::SmallInt(i16::from(row.0.kind.number()));
    "ExpirationDate" SqlType::DateTime => |_| Value::Null;
    "Compressed" SqlType::TinyInt => |row| Value::TinyInt(u8::from(row.0.compressed));
    "Position" SqlType::SmallInt => |row| Value::SmallInt(i16::try_from(row.0.position).unwrap_or(i16::MAX));
    "DeviceType" SqlType::TinyInt => |_| Value::TinyInt(2);
    "UserName" NAME => |row| row.0.user_name.as_str().into();
    "ServerName" NAME => |row| row.0.server_name.as_str().into();
    "DatabaseName" NAME => |row| row.0.database_name.as_str().into();
    "DatabaseVersion" SqlType::Int => |_| 957.into();
    "DatabaseCreationDate" SqlType::DateTime => |row| datetime(row.0.database_created);
    "BackupSize" BIG => |row| big(row.0.backup_bytes);
    "FirstLSN" LSN => |row| lsn_number(row.0.first_lsn);
    "LastLSN" LSN => |row| lsn_number(row.0.last_lsn);
    "CheckpointLSN" LSN => |row| lsn_number(row.0.checkpoint_lsn);
    "DatabaseBackupLSN" LSN => |row| lsn_number(row.0.database_backup_lsn);
    "BackupStartDate" SqlType::DateTime => |row| datetime(row.0.started);
    "BackupFinishDate" SqlType::DateTime => |row| datetime(row.0.finished);
    "SortOrder" SqlType::SmallInt => |_| Value::SmallInt(52);
    "CodePage" SqlType::SmallInt => |_| Value::SmallInt(0);
    "UnicodeLocaleId" SqlType::Int => |_| 1033.into();
    "UnicodeComparisonStyle" SqlType::Int => |_| 196_609.into();
    "CompatibilityLevel" SqlType::TinyInt => |row| Value::TinyInt(row.0.compatibility_level as u8);
    "SoftwareVendorId" SqlType::Int => |_| 4608.into();
    "SoftwareVersionMajor" SqlType::Int => |row| i32::from(row.0.software_version.0).into();
    "SoftwareVersionMinor" SqlType::Int => |row| i32::from(row.0.software_version.1).into();
    "SoftwareVersionBuild" SqlType::Int => |_| 0.into();
    "MachineName" NAME => |row| row.0.server_name.as_str().into();
    "Flags" SqlType::Int => |row| row.flags().into();
    "BindingID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.family_guid);
    "RecoveryForkID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.path.fork.0);
    "Collation" NAME => |row| row.collation().into();
    "FamilyGUID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.family_guid);
    "HasBulkLoggedData" SqlType::Bit => |_| false.into();
    "IsSnapshot" SqlType::Bit => |_| false.into();
    "IsReadOnly" SqlType::Bit => |_| false.into();
    "IsSingleUser" SqlType::Bit => |_| false.into();
    "HasBackupChecksums" SqlType::Bit => |row| row.0.checksum.into();
    "IsDamaged" SqlType::Bit => |_| false.into();
    "BeginsLogChain" SqlType::Bit => |row| row.0.begins_log_chain.into();
    "HasIncompleteMetaData" SqlType::Bit => |_| false.into();
    "IsForceOffline" SqlType::Bit => |row| row.0.no_recovery.into();
    "IsCopyOnly" SqlType::Bit => |row| row.0.copy_only.into();
    "FirstRecoveryForkID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.path.first_fork().0);
    "ForkPointLSN" LSN => |row| row.0.path.origin.map_or(Value::Null, |origin| lsn_number(origin.point));
    "RecoveryModel" SqlType::NVarChar(Length::Limited(60)) => |row| row.recovery_model().into();
    "DifferentialBaseLSN" LSN => |row| row.0.differential_base.map_or(Value::Null, |base| lsn_number(base.lsn));
    "DifferentialBaseGUID" SqlType::UniqueIdentifier => |row| base_guid(row.0.differential_base);
    "BackupTypeDescription" SqlType::NVarChar(Length::Limited(60)) => |row| match row.0.kind {
        SetKind::Database => "Database".into(),
        SetKind::Differential => "Database Differential".into(),
        SetKind::Log => "Transaction Log".into(),
    };
    "BackupSetGUID" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.set_guid);
    "CompressedBackupSize" BIG => |row| big(row.0.stored_bytes);
    "containment" SqlType::TinyInt => |_| Value::TinyInt(0);
});

/// DifferentialBaseGUID.
fn base_guid(base: Option<DifferentialBase>) -> Value {
    base.map_or(Value::Null, |base| Value::UniqueIdentifier(base.guid))
}

struct ListedFile {
    file: BackupFile,
    /// Of a data file in a differential set.
    base: Option<DifferentialBase>,
    /// Of a data file.
    filegroup: Option<FilegroupEntry>,
}

system_row!(ListedFile {
    "LogicalName" SqlType::NVarChar(Length::Limited(128)) => |row| row.file.file.name.as_str().into();
    "PhysicalName" SqlType::NVarChar(Length::Limited(260)) => |row| row.file.file.physical_name.as_str().into();
    "Type" SqlType::Char(1) => |row| if row.file.file.log { "L" } else { "D" }.into();
    "FileGroupName" NAME => |row| row.filegroup.as_ref().map(|filegroup| filegroup.name.as_str()).into();
    "Size" SqlType::Decimal { precision: 20, scale: 0 } => |row| decimal(row.file.bytes);
    "MaxSize" SqlType::Decimal { precision: 20, scale: 0 } => |row| decimal(row.file.file.max_bytes.unwrap_or(35_184_372_080_640));
    "FileId" BIG => |row| big(u64::from(row.file.file.file_id));
    "CreateLSN" LSN => |_| decimal_lsn();
    "DropLSN" LSN => |_| decimal_lsn();
    "UniqueId" SqlType::UniqueIdentifier => |row| {
        let mut guid = [0; 16];
        guid[15] = row.file.file.file_id as u8;
        Value::UniqueIdentifier(guid)
    };
    "ReadOnlyLSN" LSN => |_| decimal_lsn();
    "ReadWriteLSN" LSN => |_| decimal_lsn();
    "BackupSizeInBytes" BIG => |row| big(row.file.backup_bytes);
    "SourceBlockSize" SqlType::Int => |_| 512.into();
    "FileGroupId" SqlType::Int => |row| row.filegroup.as_ref().map_or(0, |filegroup| i32::from(filegroup.id)).into();
    "LogGroupGUID" SqlType::UniqueIdentifier => |_| Value::Null;
    "DifferentialBaseLSN" LSN => |row| row.base.map_or_else(decimal_lsn, |base| lsn_number(base.lsn));
    "DifferentialBaseGUID" SqlType::UniqueIdentifier => |row| base_guid(row.base);
    "IsReadOnly" SqlType::Bit => |row| row.filegroup.as_ref().is_some_and(|filegroup| filegroup.is_read_only).into();
    "IsPresent" SqlType::Bit => |_| true.into();
    "TDEThumbprint" SqlType::VarBinary(Length::Limited(32)) => |_| Value::Null;
    "SnapshotUrl" SqlType::NVarChar(Length::Limited(360)) => |_| Value::Null;
});

fn decimal(number: u64) -> Value {
    Value::Decimal(engine::types::Decimal::new(i128::from(number), 20, 0))
}

/// Files here have no LSN of their own.
fn decimal_lsn() -> Value {
    Value::Decimal(engine::types::Decimal::new(0, 25, 0))
}

struct Label(MediaLabel);

system_row!(Label {
    "MediaName" NAME => |row| row.0.name.as_str().into();
    "MediaSetId" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.guid);
    "FamilyCount" SqlType::Int => |row| i32::from(row.0.families).into();
    "FamilySequenceNumber" SqlType::Int => |row| i32::from(row.0.family).into();
    "MediaFamilyId" SqlType::UniqueIdentifier => |row| Value::UniqueIdentifier(row.0.family_guid(row.0.family));
    "MediaSequenceNumber" SqlType::Int => |_| 1.into();
    "MediaLabelPresent" SqlType::TinyInt => |_| Value::TinyInt(0);
    "MediaDescription" SqlType::NVarChar(Length::Limited(255)) => |_| Value::Null;
    "SoftwareName" NAME => |_| "Microsoft SQL Server".into();
    "SoftwareVendorId" SqlType::Int => |_| 4608.into();
    "MediaDate" SqlType::DateTime => |row| datetime(row.0.created);
    "MirrorCount" SqlType::Int => |_| 1.into();
    "IsCompressed" SqlType::Bit => |_| false.into();
});
