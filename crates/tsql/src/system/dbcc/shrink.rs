//! DBCC SHRINKFILE and SHRINKDATABASE.
//!
//! | file | what it gives back |
//! |---|---|
//! | log | free VLFs at its end. Where the log itself stands at the end, it moves on to a free VLF, so that the next round gets further (`engine::log`, shrink) |
//! | data, TRUNCATEONLY | its free end (`engine::database`, shrink) |
//! | data | its end, once the pages there have moved towards the begin (`engine::session`, shrink); NOTRUNCATE moves pages and leaves the size |
//! | data, EMPTYFILE | nothing: its pages move to the other files, and no new ones come |
//!
//! Files of the system's databases give back their free end alone.

use std::sync::Arc;

use engine::catalog::FileEntry;
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{Operation, Work};
use engine::page::PageId;
use engine::seams::WorkKind;
use engine::session::{Moving, Stayed};
use engine::types::{SqlType, Value};

use super::super::{Host, Table};
use super::Command;
use crate::views::{file_bytes, used_pages};

const PAGE_BYTES: u64 = 8192;
const MB: u64 = 1 << 20;

/// The columns of both commands, in pages.
const COLUMNS: [(&str, SqlType); 6] = [
    ("DbId", SqlType::SmallInt),
    ("FileId", SqlType::Int),
    ("CurrentSize", SqlType::Int),
    ("MinimumSize", SqlType::Int),
    ("UsedPages", SqlType::Int),
    ("EstimatedPages", SqlType::Int),
];

/// The last VLF of the file holds log still needed.
const LAST_VLF_IN_USE: i32 = 9008;
/// The request was cancelled.
const CANCELLED: i32 = 3617;

/// The file that a database cannot be without.
const PRIMARY_FILE: u16 = 1;
/// The least size of a file, in pages: 1 MB of data, 504 KB of log.
const PAGES_MIN: (u64, u64) = (128, 63);
/// The databases of the system have lower numbers.
const USER_DATABASE_FIRST: u16 = 5;

/// `DBCC SHRINKFILE (file [, megabytes | EMPTYFILE] [, NOTRUNCATE | TRUNCATEONLY])`.
pub(super) fn file(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    check_no_transaction("shrinkfile", host)?;
    let operation = begin(command, &command.context.database)?;
    let database = operation.database()?;
    let written = command.text(0).unwrap_or_default();
    let id = command.argument(0).as_i64();
    let entry = operation.entry();
    let is_meant = |file: &&FileEntry| match id {
        Some(id) => i64::from(file.file_id) == id,
        None => file.name.eq_ignore_ascii_case(&written),
    };
    let file = entry.files.iter().find(is_meant).ok_or_else(|| {
        let text = format!("Could not locate file '{written}' for database '{}' in sys.database_files. The file either does not exist, or was dropped.", database.name());
        Error::new(8985, 16, 1, text)
    })?;
    let target = command
        .integer(1)
        .and_then(|megabytes| u64::try_from(megabytes).ok())
        .unwrap_or(0)
        .saturating_mul(MB);
    let how = How::of(command);
    check_writable(&database)?;
    if how.empties && (file.log || file.file_id == PRIMARY_FILE) {
        return Err(not_emptied(file));
    }
    if entry.read_only_filegroup_of(file).is_some() {
        return Err(Error::file_is_read_only(&file.name));
    }
    let row = shrink(command, &database, (file, how, target), host)?;
    let mut table = Table::new(&COLUMNS);
    table.push(row);
    table.send(host)
}

/// The words of both commands.
#[derive(Clone, Copy)]
struct How {
    empties: bool,
    keeps_size: bool,
    only_free_end: bool,
}

impl How {
    fn of(command: &Command<'_>) -> How {
        let has = |wanted: &str| {
            let mut words = (1..command.arguments.len()).filter_map(|index| command.text(index));
            words.any(|word| word.eq_ignore_ascii_case(wanted))
        };
        How {
            empties: has("EMPTYFILE"),
            keeps_size: has("NOTRUNCATE"),
            only_free_end: has("TRUNCATEONLY"),
        }
    }

    /// The size that a log file is to have; `None` leaves it as it is. "target_size is ignored if specified with TRUNCATEONLY";
    /// "NOTRUNCATE is applicable only to data files. The log files aren't affected" (sql-docs, DBCC SHRINKFILE).
    fn target_of(self, target: u64) -> Option<u64> {
        (!self.keeps_size).then_some(if self.only_free_end { 0 } else { target })
    }
}

/// 2555: what EMPTYFILE left in the file.
fn not_emptied(file: &FileEntry) -> Error {
    let text = format!(
        "Cannot move all contents of file \"{}\" to other places to complete the emptyfile operation.",
        file.name
    );
    Error::new(2555, 16, 1, text)
}

/// EMPTYFILE: pages move to the other files, and nothing new goes to this one, so that what is empty stays so until REMOVE FILE.
fn empty(command: &Command<'_>, database: &Arc<Database>, file: &FileEntry) -> Result<()> {
    database.space.keep_out(file.file_id);
    let stayed = move_pages(command, database, file, Moving::Out)?;
    if database.space.used_pages(file.file_id) == 0 {
        return Ok(());
    }
    Err(match stayed {
        Some(Stayed::NoRoom) => {
            let text = "There is insufficient space in the filegroup to complete the emptyfile operation.";
            Error::new(2556, 16, 1, text)
        }
        _ => not_emptied(file),
    })
}

/// Moves pages by a session of its own, whose transactions are not the user's.
fn move_pages(
    command: &Command<'_>,
    database: &Arc<Database>,
    file: &FileEntry,
    moving: Moving,
) -> Result<Option<Stayed>> {
    if database.id < USER_DATABASE_FIRST {
        return Ok(None);
    }
    let instance = command.context.instance;
    let mut session = instance.open_session()?;
    let id = session.id;
    let moved = session.move_pages_of_file(database, file.file_id, moving);
    drop(session);
    instance.close_session(id);
    moved
}

/// 8920: neither command is part of a transaction (sys.messages; the command in small letters).
fn check_no_transaction(operation: &str, host: &dyn Host) -> Result<()> {
    if host.transaction_count() == 0 {
        return Ok(());
    }
    let text = format!(
        "Cannot perform a {operation} operation inside a user transaction. Terminate the transaction and reissue the statement."
    );
    Err(Error::new(8920, 16, 2, text))
}

/// 7992: the log of a standby must stay as the sets have left it.
fn check_writable(database: &Database) -> Result<()> {
    if database.is_read_only() {
        let text = format!("Cannot shrink 'read only' database '{}'.", database.name());
        return Err(Error::new(7992, 16, 1, text));
    }
    Ok(())
}

/// `DBCC SHRINKDATABASE (database [, percent])`: every file, as far as it goes. "The Database Engine doesn't display rows for those
/// files not shrunk" (sql-docs, DBCC SHRINKDATABASE). Files of a filegroup that is READ_ONLY are not. Of data files with less free space than is to be left 5201 says so.
pub(super) fn database(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    check_no_transaction("shrinkdatabase", host)?;
    let operation = begin(command, &*command.database(0)?)?;
    let database = operation.database()?;
    check_writable(&database)?;
    let how = How::of(command);
    let percent = command
        .integer(1)
        .and_then(|percent| u64::try_from(percent).ok())
        .unwrap_or(0)
        .min(99);
    let mut table = Table::new(&COLUMNS);
    let entry = operation.entry();
    let writable = entry.files.iter();
    for file in writable.filter(|file| entry.read_only_filegroup_of(file).is_none()) {
        let used = match file.log {
            true => used_pages(&database, file),
            false => u64::from(database.pages_packed(file.file_id)),
        };
        let target = used * PAGE_BYTES * 100 / (100 - percent);
        if !file.log && !how.only_free_end && file_bytes(&database, file) <= target.max(PAGES_MIN.0 * PAGE_BYTES) {
            if !command.is_silent() {
                host.message(&skipped(&database, file))?;
            }
            continue;
        }
        table.push(shrink(command, &database, (file, how, target), host)?);
    }
    table.send(host)
}

/// 5201: a file that SHRINKDATABASE leaves as it is (Microsoft, "How It Works: DBCC ShrinkDatabase / ShrinkFile (Tabular)").
fn skipped(database: &Database, file: &FileEntry) -> Error {
    let text = format!(
        "DBCC SHRINKDATABASE: File ID {} of database ID {} was skipped because the file does not have enough free space to reclaim.",
        file.file_id, database.id
    );
    Error::new(5201, 10, 1, text)
}

/// No file is added, removed or backed up meanwhile, and the database stays open.
///
/// # Errors
/// 3023 beside a backup; 3617 when the request is to stop before it is its turn.
fn begin(command: &Command<'_>, database: &Database) -> Result<Operation> {
    let instance = command.context.instance;
    instance.alter(&database.name(), Work::Files)
}

/// Shrinks one file and says how it is now.
fn shrink(
    command: &Command<'_>,
    database: &Arc<Database>,
    (file, how, target): (&FileEntry, How, u64),
    host: &mut dyn Host,
) -> Result<Vec<Value>> {
    let env = &database.storage.env;
    let work = env.begin_work(WorkKind::Shrink, &database.name(), 2);
    if file.log {
        if let Some(target_bytes) = how.target_of(target) {
            // What a checkpoint frees is free to be cut off.
            database.checkpoint()?;
            work.set_done(1);
            shrink_log(database, (file, how, target_bytes), host)?;
        }
    } else if how.empties {
        empty(command, database, file)?;
    } else {
        let stayed = shrink_data(command, database, (file, how, target));
        database.space.use_end_again(file.file_id);
        if let Some(page) = stayed?
            && !command.is_silent()
        {
            host.message(&not_moved(command, page))?;
        }
    }
    let pages = |count: u64| Value::Int(i32::try_from(count).unwrap_or(i32::MAX));
    let (least, estimated) = match file.log {
        true => (PAGES_MIN.1, used_pages(database, file)),
        false => (PAGES_MIN.0, u64::from(database.pages_packed(file.file_id))),
    };
    Ok(vec![
        Value::SmallInt(database.id as i16),
        Value::Int(i32::from(file.file_id)),
        pages(file_bytes(database, file) / PAGE_BYTES),
        pages(least),
        pages(used_pages(database, file)),
        pages(estimated),
    ])
}

/// "TRUNCATEONLY doesn't move information in the log, but does remove inactive VLFs from the end of the log file" (sql-docs, DBCC
/// SHRINKFILE).
fn shrink_log(
    database: &Arc<Database>,
    (file, how, target_bytes): (&FileEntry, How, u64),
    host: &mut dyn Host,
) -> Result<()> {
    let outcome = database.storage.log.shrink_file(file.file_id, target_bytes)?;
    let Some(refusal) = outcome.refusal else { return Ok(()) };
    if refusal.number == LAST_VLF_IN_USE && !how.only_free_end {
        database.storage.log.leave_last_vlf(file.file_id, target_bytes)?;
    }
    host.message(&Error {
        severity: refusal.severity.min(10),
        ..refusal
    })
}

/// Moves pages of a data file from behind the target towards the begin, unless TRUNCATEONLY, and cuts the free end off, unless NOTRUNCATE.
/// TRUNCATEONLY "releases all free space at the end of the file", whatever the target; a file does not become shorter "than the size needed
/// to store the data" (sql-docs, DBCC SHRINKFILE). Answers a page that is in the way.
fn shrink_data(
    command: &Command<'_>,
    database: &Arc<Database>,
    (file, how, target): (&FileEntry, How, u64),
) -> Result<Option<PageId>> {
    let target = u32::try_from(target.div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX);
    if how.only_free_end {
        return database.cut_data_file(file.file_id, 0).map(|()| None);
    }
    let pages = target.max(PAGES_MIN.0 as u32).max(database.pages_packed(file.file_id));
    let stayed = move_pages(command, database, file, Moving::Behind { pages });
    if !how.keeps_size && !matches!(&stayed, Err(error) if error.number == CANCELLED) {
        database.cut_data_file(file.file_id, pages)?;
    }
    Ok(match stayed? {
        Some(Stayed::InUse(page)) => Some(page),
        Some(Stayed::NoRoom) | None => None,
    })
}

/// 5205: a page that others use, or that is of a kind which stays (sys.messages; the command first).
fn not_moved(command: &Command<'_>, page: PageId) -> Error {
    let text = format!("DBCC {}: Moving page {page} failed.", command.statement.command);
    Error::new(5205, 10, 1, text)
}
