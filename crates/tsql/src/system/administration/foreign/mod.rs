//! Backups and data files of SQL Server: RESTORE and FOR ATTACH import them.
//!
//! ```text
//! file --> genuine: pages, catalog --> T-SQL: tables, keys, defaults  --> INSERT BULK of every row --> T-SQL: indexes, checks, foreign keys, modules
//! ```
//!
//! The import goes into a new database of another name, which gets its own when all is there: a failed import is dropped, one that a crash cut off
//! is removed by the next start, and neither leaves anything ([`engine::instance::Instance::publish_database`]).
//! The files that are read stay as they are. What has no counterpart here is said before anything is made ([`genuine::schema::left_out`]).
//!
//! What the log has and the pages lack is done first, and what transactions without an end have changed is taken back ([`genuine::recovery`]): the
//! error log says what was done, and how many rows each table has then, with sums of its columns.

mod import;
pub(super) mod media;
mod rows;
mod sums;
mod verify;

use engine::backup::{AfterRestore, RestoreKind, RestoreRequest};
use engine::error::{Error, Result};
use engine::instance::{CreateDatabase, FileSpec, ForeignFile};
use engine::types::Collation;
use genuine::container::{Backup, BackupSet, is_backup};
use genuine::log::LogReader;
use genuine::recovery::Recovered;
use genuine::{DataFiles, Fault, PageSource};
use import::{Import, Target};
use vlf::{PAGE_BYTES, ReadAt};

use super::super::{Host, SystemContext};
use super::with_options::{sent, unsupported};

/// The file that 3241 was said of, if it is a backup of SQL Server.
pub(super) fn opened(context: &SystemContext<'_>, path: Option<&str>, errors: &[Error]) -> Option<Vec<ForeignFile>> {
    errors.iter().find(|error| error.number == 3241)?;
    let file = context.instance.open_foreign(path?).ok()?;
    is_media(&file).then(|| vec![file])
}

/// The files of a media set of several devices. Only SQL Server's have several.
///
/// # Errors
/// 3201 for a file that cannot be opened, 40517 when one of them is not SQL Server's.
pub(super) fn opened_all(context: &SystemContext<'_>, paths: &[String]) -> Result<Vec<ForeignFile>> {
    let several = || unsupported("several backup devices");
    let open = |path: &String| match context.instance.open_foreign(path) {
        Err(error) if error.number == 3241 => Err(several()),
        Ok(file) if !is_media(&file) => Err(several()),
        opened => opened,
    };
    paths.iter().map(open).collect()
}

fn is_media(file: &ForeignFile) -> bool {
    let mut first = [0; 8];
    file.read_at(0, &mut first).is_ok() && is_backup(&first)
}

/// The backup in `files`, which are all that it was dealt out to.
///
/// # Errors
/// 3203 for damage, 3258 for a file of another media set, 3132 for files that are missing.
fn whole_backup(paths: &[String], files: Vec<ForeignFile>) -> Result<Backup<ForeignFile>> {
    let backup = backup_of(paths, files)?;
    let given = backup.media().len();
    match backup.missing_families() {
        (_, missing) if missing.is_empty() => Ok(backup),
        (families, _) => Err(Error::media_families_missing(families, given)),
    }
}

/// The backup in `files`, whole or not.
fn backup_of(paths: &[String], files: Vec<ForeignFile>) -> Result<Backup<ForeignFile>> {
    let mut backup = Backup::default();
    for (file, path) in files.into_iter().zip(paths) {
        if !backup.add(file).map_err(|fault| damaged(path, &fault))? {
            return Err(Error::of_another_media_set(path));
        }
    }
    Ok(backup)
}

/// 3203: what was read cannot have been written.
fn damaged(path: &str, fault: &Fault) -> Error {
    Error::read_failed(path, &fault.to_string())
}

/// RESTORE DATABASE of a backup of SQL Server. A failure ends with 3013, as any RESTORE does.
pub(super) fn restore(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, request): (&str, &RestoreRequest),
    (paths, files): (&[String], Vec<ForeignFile>),
) -> Result<()> {
    if request.kind != RestoreKind::Database {
        return Err(unsupported("RESTORE LOG of a backup of SQL Server"));
    }
    if request.after == AfterRestore::NoRecovery || request.stop_at.is_some() {
        return Err(unsupported(
            "NORECOVERY, STANDBY and STOPAT with a backup of SQL Server",
        ));
    }
    if request.checksum {
        return Err(unsupported("CHECKSUM with a backup of SQL Server"));
    }
    let restored = restore_set(context, host, (name, request), (paths, files));
    restored.map_err(|error| sent(host, vec![error, Error::terminating_abnormally("RESTORE DATABASE")]))
}

fn restore_set(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, request): (&str, &RestoreRequest),
    (paths, files): (&[String], Vec<ForeignFile>),
) -> Result<()> {
    let path = paths.first().map_or("", String::as_str);
    let damaged = |fault: Fault| damaged(path, &fault);
    let backup = whole_backup(paths, files)?;
    if let Some(fault) = backup.faults().first() {
        return Err(damaged(fault.clone()));
    }
    let at = set_at(&backup, request.file.max(1), path)?;
    let set = &backup.sets()[at];
    if set.header.kind.backup_type() != 1 {
        return Err(unsupported("differential and log backups of SQL Server"));
    }
    let pages = backup.pages(at, &mut |_, _| {}).map_err(damaged)?;
    let logs = backup.logs(at).map_err(damaged)?;
    if logs.iter().any(|log| log.left_out_bytes() > 0) {
        return Err(unsupported(
            "a backup in several files whose log cannot be put together",
        ));
    }
    let target = Target {
        name: name.to_owned(),
        replaces: request.replace,
        stats_percent: request.stats_percent,
        create: files_of(set, request)?,
    };
    let logs: Vec<&dyn ReadAt> = logs.iter().map(|log| log as &dyn ReadAt).collect();
    let recovered = recovered(&pages, logs)?;
    let imported = Import::new(context, host, &recovered, path).run(target)?;
    host.message(&Error::successfully_processed(
        "RESTORE DATABASE",
        imported.pages,
        imported.micros,
    ))
}

/// The place of the set at a position, counted from 1.
fn set_at(backup: &Backup<ForeignFile>, position: u32, path: &str) -> Result<usize> {
    let at = usize::try_from(position.max(1) - 1).unwrap_or(usize::MAX);
    match at < backup.sets().len() {
        true => Ok(at),
        false => Err(Error::no_such_set(position, path)),
    }
}

/// The pages of a file that was in use, or that was not shut down, as its log leaves them.
fn recovered<'s>(pages: &'s dyn PageSource, logs: Vec<&dyn ReadAt>) -> Result<Recovered<'s>> {
    Recovered::open(pages, &LogReader::new(logs))
        .map_err(|fault| unsupported(&format!("a database whose log cannot be recovered ({fault})")))
}

/// The files of the new database: logical names and sizes of the set, at the places that MOVE names.
fn files_of(set: &BackupSet, request: &RestoreRequest) -> Result<CreateDatabase> {
    let files = &set.configuration.files;
    for (logical, _) in &request.moves {
        if !files.iter().any(|file| file.logical_name.eq_ignore_ascii_case(logical)) {
            return Err(Error::no_such_logical_file(logical, &set.configuration.database));
        }
    }
    let mut create = CreateDatabase {
        collation: Collation::default(),
        ..CreateDatabase::default()
    };
    for file in files {
        let moved = request
            .moves
            .iter()
            .find(|(logical, _)| file.logical_name.eq_ignore_ascii_case(logical));
        let spec = FileSpec {
            name: Some(file.logical_name.clone()),
            filename: Some(moved.map_or_else(|| file.path.clone(), |(_, path)| path.clone())),
            size_bytes: (file.file_bytes > 0).then_some(file.file_bytes),
            ..FileSpec::default()
        };
        match file.is_log() {
            true => create.log.push(spec),
            false => create.data.push(spec),
        }
    }
    Ok(create)
}

/// CREATE DATABASE FOR ATTACH: data files and logs of SQL Server, in any order. The new database has files of its own.
pub(super) fn attach(context: &SystemContext<'_>, host: &mut dyn Host, name: &str, paths: &[String]) -> Result<()> {
    let first = paths.first().map_or("", String::as_str);
    let damaged = |fault: Fault| damaged(first, &fault);
    let mut data = Vec::new();
    let mut logs = Vec::new();
    for path in paths {
        let file = context
            .instance
            .open_foreign(path)
            .map_err(|error| match error.number {
                // There it is, and it is ours.
                3241 => unsupported("FOR ATTACH"),
                _ => error,
            })?;
        match is_data_file(&file) {
            true => data.push(file),
            false => logs.push(file),
        }
    }
    let pages = DataFiles::open(data).map_err(damaged)?;
    if pages.files().is_empty() {
        return Err(damaged(Fault::whole("none of the files is a data file")));
    }
    let recovered = recovered(&pages, logs.iter().map(|log| log as &dyn ReadAt).collect())?;
    let target = Target {
        name: name.to_owned(),
        replaces: false,
        stats_percent: None,
        create: CreateDatabase::default(),
    };
    Import::new(context, host, &recovered, first).run(target).map(|_| ())
}

/// Behind its header page a data file has a PFS page.
fn is_data_file(file: &ForeignFile) -> bool {
    let mut kind = [0; 2];
    file.read_at(PAGE_BYTES, &mut kind).is_ok() && kind == [1, 11]
}
