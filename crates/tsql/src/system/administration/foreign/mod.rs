//! Backups and data files of SQL Server: RESTORE and FOR ATTACH import them.
//!
//! ```text
//! file --> genuine: pages, catalog --> T-SQL: tables, keys, defaults  --> INSERT BULK of every row --> T-SQL: indexes, checks, foreign keys, modules
//! ```
//!
//! The import goes into a new database of another name, which gets its own when all is there: a failed import is dropped, and leaves nothing.
//! The files that are read stay as they are. What has no counterpart here is said before anything is made ([`genuine::schema::left_out`]).
//!
//! What the log of a file would still change is not imported: a file whose pages are not the whole truth is refused ([`genuine::pending`]).

mod import;
pub(super) mod media;
mod rows;

use engine::backup::{AfterRestore, RestoreKind, RestoreRequest};
use engine::error::{Error, Result};
use engine::instance::{CreateDatabase, FileSpec, ForeignFile};
use engine::types::Collation;
use genuine::container::{Backup, BackupSet, is_backup};
use genuine::pending::Pending;
use genuine::{DataFiles, Fault, PageSource};
use import::{Import, Target};
use vlf::{PAGE_BYTES, ReadAt};

use super::super::{Host, SystemContext};
use super::with_options::{sent, unsupported};

/// What 3241 was said of, if it is a backup of SQL Server.
pub(super) fn opened(context: &SystemContext<'_>, path: Option<&str>, errors: &[Error]) -> Option<ForeignFile> {
    errors.iter().find(|error| error.number == 3241)?;
    let file = context.instance.open_foreign(path?).ok()?;
    let mut first = [0; 8];
    file.read_at(0, &mut first).ok()?;
    is_backup(&first).then_some(file)
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
    file: ForeignFile,
) -> Result<()> {
    if request.kind != RestoreKind::Database {
        return Err(unsupported("RESTORE LOG of a backup of SQL Server"));
    }
    if request.after == AfterRestore::NoRecovery || request.stop_at.is_some() {
        return Err(unsupported(
            "NORECOVERY, STANDBY and STOPAT with a backup of SQL Server",
        ));
    }
    let path = request.path.clone().unwrap_or_default();
    let restored = restore_set(context, host, (name, request), (&path, file));
    restored.map_err(|error| sent(host, vec![error, Error::terminating_abnormally("RESTORE DATABASE")]))
}

fn restore_set(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, request): (&str, &RestoreRequest),
    (path, file): (&str, ForeignFile),
) -> Result<()> {
    let damaged = |fault: Fault| damaged(path, &fault);
    let backup = Backup::open(vec![file]).map_err(damaged)?;
    if let Some(fault) = backup.faults().first() {
        return Err(damaged(fault.clone()));
    }
    let position = request.file.max(1);
    let at = usize::try_from(position - 1).unwrap_or(usize::MAX);
    let set = backup
        .sets()
        .get(at)
        .ok_or_else(|| Error::no_such_set(position, path))?;
    if set.header.kind.backup_type() != 1 {
        return Err(unsupported("differential and log backups of SQL Server"));
    }
    let pages = backup.pages(at, &mut |_, _| {}).map_err(damaged)?;
    let mut recovery = Pending::default();
    for log in backup.logs(at).map_err(damaged)? {
        let of_log = genuine::pending::pending(&pages, &log).map_err(damaged)?;
        recovery.pages_to_redo += of_log.pages_to_redo;
        recovery.transactions_to_undo += of_log.transactions_to_undo;
    }
    require_whole(recovery)?;
    let target = Target {
        name: name.to_owned(),
        replaces: request.replace,
        stats_percent: request.stats_percent,
        create: files_of(set, request)?,
    };
    let imported = Import::new(context, host, &pages, path).run(target)?;
    host.message(&Error::successfully_processed(
        "RESTORE DATABASE",
        imported.pages,
        imported.micros,
    ))
}

/// The pages of a file that was in use, or that was not shut down, are changed by recovery, which is not done here.
fn require_whole(recovery: Pending) -> Result<()> {
    match recovery.is_nothing() {
        true => Ok(()),
        false => Err(unsupported(&format!(
            "a database whose log must be recovered ({} pages to redo, {} transactions to undo)",
            recovery.pages_to_redo, recovery.transactions_to_undo
        ))),
    }
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
    for log in &logs {
        require_whole(genuine::pending::pending(&pages, log).map_err(damaged)?)?;
    }
    let target = Target {
        name: name.to_owned(),
        replaces: false,
        stats_percent: None,
        create: CreateDatabase::default(),
    };
    Import::new(context, host, &pages, first).run(target).map(|_| ())
}

/// Behind its header page a data file has a PFS page.
fn is_data_file(file: &ForeignFile) -> bool {
    let mut kind = [0; 2];
    file.read_at(PAGE_BYTES, &mut kind).is_ok() && kind == [1, 11]
}
