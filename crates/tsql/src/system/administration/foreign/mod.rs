//! Backups and data files of SQL Server: RESTORE and FOR ATTACH import them.
//!
//! ```text
//! file --> genuine: pages, catalog --> T-SQL: tables, keys, defaults  --> INSERT BULK of every row --> T-SQL: indexes, checks, foreign keys, modules
//! ```
//!
//! The import fills a new database under a temporary name and renames it when it is complete: a failed import is dropped, an interrupted
//! one is removed by the next startup, and neither leaves anything behind ([`engine::instance::Instance::publish_database`]). The source
//! files stay unchanged. Everything without a counterpart here is listed before anything is created ([`genuine::schema::left_out`]).
//!
//! First, log that the pages lack is redone, and open transactions are rolled back ([`genuine::recovery`]). The error log reports this, and
//! the row count of each table with sums of its columns. [`chain`] combines several consecutive sets into one database.
//! msdb has a row for each restored set ([`history`]).

mod chain;
mod history;
mod import;
pub(super) mod media;
mod rows;
mod sums;
mod verify;

use engine::backup::{RestoreKind, RestoreRequest};
use engine::error::{Error, Result};
use engine::instance::{CreateDatabase, FileSpec, ForeignFile};
use engine::types::Collation;
use genuine::container::{Backup, BackupSet, SetKind, is_backup};
use genuine::log::LogReader;
use genuine::recovery::Recovered;
use genuine::{DataFiles, Fault, PageSource};
use import::{Import, Place, Target};
use vlf::{PAGE_BYTES, ReadAt};

use super::super::{Host, SystemContext};
use super::with_options::{sent, unsupported};

/// SQL Server's own log files can be 504 KB; a file that CREATE DATABASE makes has at least this.
const FILE_BYTES_MIN: u64 = 512 << 10;

/// Files of a database (sql-docs, "Maximum capacity specifications for SQL Server").
const FILES_MAX: usize = 32_767;

/// The error of a restore that its disks have no room for; 3119 follows it.
const NO_ROOM: i32 = 3257;

/// The files of a media set of which 3241 was said, if all of them are backups of SQL Server.
pub(super) fn opened(context: &SystemContext<'_>, paths: &[String], errors: &[Error]) -> Option<Vec<ForeignFile>> {
    errors.iter().find(|error| error.number == 3241)?;
    let open = |path: &String| {
        let file = context.instance.open_foreign(path).ok()?;
        is_media(&file).then_some(file)
    };
    (!paths.is_empty()).then(|| paths.iter().map(open).collect())?
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

/// RESTORE DATABASE and RESTORE LOG of a backup of SQL Server. A failure ends with 3013, as any RESTORE does.
pub(super) fn restore(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, request): (&str, &RestoreRequest),
    (paths, files): (&[String], Vec<ForeignFile>),
) -> Result<()> {
    refuse_options(request)?;
    let mut work = Work {
        context,
        host,
        name,
        request,
    };
    let restored = restore_set(&mut work, paths, files);
    restored.map_err(|error| work.ended(error))
}

/// RESTORE DATABASE WITH RECOVERY, without a backup, of a database that is RESTORING from backups of SQL Server. `false` if it is none of those.
pub(super) fn recover(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, request): (&str, &RestoreRequest),
) -> Result<bool> {
    let is_foreign = context.slot(name).is_some_and(|slot| slot.entry().foreign.is_some());
    if is_foreign {
        refuse_options(request)?;
        let mut work = Work {
            context,
            host,
            name,
            request,
        };
        chain::recover(&mut work).map_err(|error| work.ended(error))?;
    }
    Ok(is_foreign)
}

/// What RESTORE does with our own backups, and not with those of SQL Server.
fn refuse_options(request: &RestoreRequest) -> Result<()> {
    if request.standby.is_some() {
        return Err(unsupported("STANDBY with a backup of SQL Server"));
    }
    if request.stop_at.as_ref().is_some_and(|stop| stop.time().is_none()) {
        return Err(unsupported("STOPATMARK or STOPBEFOREMARK with a backup of SQL Server"));
    }
    match request.checksum {
        true => Err(unsupported("CHECKSUM with a backup of SQL Server")),
        false => Ok(()),
    }
}

/// One RESTORE.
struct Work<'w> {
    context: &'w SystemContext<'w>,
    host: &'w mut dyn Host,
    name: &'w str,
    request: &'w RestoreRequest,
}

impl Work<'_> {
    fn statement(&self) -> &'static str {
        match self.request.kind {
            RestoreKind::Database => "RESTORE DATABASE",
            RestoreKind::Log => "RESTORE LOG",
        }
    }

    fn ended(&mut self, error: Error) -> Error {
        let is_planning = error.number == NO_ROOM;
        let mut errors = vec![error];
        errors.extend(is_planning.then(Error::restore_planning_failed));
        errors.push(Error::terminating_abnormally(self.statement()));
        sent(self.host, errors)
    }

    /// Imports what was recovered, and says so. `restored` is the set that the statement names.
    fn import(
        &mut self,
        recovered: &Recovered<'_>,
        (path, restored): (&str, Option<&Given<'_>>),
        target: Target<'_>,
    ) -> Result<()> {
        let imported = Import::new(self.context, self.host, recovered, path).run(target)?;
        if let Some(restored) = restored {
            self.note(restored)?;
        }
        let statement = self.statement();
        let last = Error::successfully_processed(statement, imported.pages, imported.micros);
        self.host.message(&last)
    }
}

fn restore_set(work: &mut Work<'_>, paths: &[String], files: Vec<ForeignFile>) -> Result<()> {
    let path = paths.first().map_or("", String::as_str);
    let backup = sound_backup(paths, files)?;
    let at = set_at(&backup, work.request.file, path)?;
    let set = Given {
        paths,
        backup: &backup,
        at,
    };
    match backup.sets()[at].header.kind {
        SetKind::Full => chain::begin(work, &set),
        SetKind::Differential | SetKind::Log => chain::go_on(work, &set),
        kind @ SetKind::Other(_) => Err(unsupported(&format!("a backup of SQL Server of {kind}"))),
    }
}

/// The set that a statement names.
struct Given<'g> {
    paths: &'g [String],
    backup: &'g Backup<ForeignFile>,
    at: usize,
}

impl Given<'_> {
    fn set(&self) -> &BackupSet {
        &self.backup.sets()[self.at]
    }

    fn path(&self) -> &str {
        self.paths.first().map_or("", String::as_str)
    }

    /// From 1.
    fn position(&self) -> u32 {
        u32::try_from(self.at).map_or(u32::MAX, |at| at.saturating_add(1))
    }
}

/// A backup with all of its files, of which every block could be read.
fn sound_backup(paths: &[String], files: Vec<ForeignFile>) -> Result<Backup<ForeignFile>> {
    let backup = whole_backup(paths, files)?;
    match backup.faults().first() {
        Some(fault) => Err(damaged(paths.first().map_or("", String::as_str), fault)),
        None => Ok(backup),
    }
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
fn recovered<'s>(pages: &'s dyn PageSource, log: &LogReader<'_>) -> Result<Recovered<'s>> {
    Recovered::open(pages, log)
        .map_err(|fault| unsupported(&format!("a database whose log cannot be recovered ({fault})")))
}

/// WITH MOVE names files of the set.
///
/// # Errors
/// 3234 for another name.
fn check_moves(set: &BackupSet, moves: &[(String, String)]) -> Result<()> {
    let files = &set.configuration.files;
    let is_there = |logical: &str| files.iter().any(|file| file.logical_name.eq_ignore_ascii_case(logical));
    match moves.iter().find(|(logical, _)| !is_there(logical)) {
        Some((logical, _)) => Err(Error::no_such_logical_file(logical, &set.configuration.database)),
        None => Ok(()),
    }
}

/// The files of the new database ([`files_of`]), if there can be such.
///
/// # Errors
/// 3203 for more files than a database has; 3257 for sizes that the disks have no room for.
fn possible_files(
    work: &Work<'_>,
    (path, set): (&str, &BackupSet),
    moves: &[(String, String)],
) -> Result<CreateDatabase> {
    let files = set.configuration.files.len();
    if files > FILES_MAX {
        let reason = format!("it says that the database has {files} files");
        return Err(damaged(path, &Fault::whole(reason)));
    }
    let create = files_of(set, moves);
    work.context.instance.check_room_for(&create)?;
    Ok(create)
}

/// Logical names and sizes of the set, at the places that MOVE names.
fn files_of(set: &BackupSet, moves: &[(String, String)]) -> CreateDatabase {
    let mut create = CreateDatabase {
        collation: Collation::default(),
        ..CreateDatabase::default()
    };
    for file in &set.configuration.files {
        let moved = moves
            .iter()
            .rfind(|(logical, _)| file.logical_name.eq_ignore_ascii_case(logical));
        let spec = FileSpec {
            name: Some(file.logical_name.clone()),
            filename: Some(moved.map_or_else(|| file.path.clone(), |(_, path)| path.clone())),
            size_bytes: (file.file_bytes > 0).then_some(file.file_bytes.max(FILE_BYTES_MIN)),
            ..FileSpec::default()
        };
        match file.is_log() {
            true => create.log.push(spec),
            false => create.data.push(spec),
        }
    }
    create
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
    let log = LogReader::new(logs.iter().map(|log| log as &dyn ReadAt).collect());
    let recovered = recovered(&pages, &log)?;
    let target = Target {
        name: name.to_owned(),
        place: Place::New,
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
