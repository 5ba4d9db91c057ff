//! DBCC SHRINKFILE and SHRINKDATABASE: log files give back free VLFs at their end. Where the log itself stands at the end, it moves on
//! to a free VLF, so that the next round gets further (`engine::log`, shrink). Data files keep their size, which is said: 40517.

use std::sync::Arc;

use engine::catalog::FileEntry;
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{Operation, Work};
use engine::seams::WorkKind;
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

/// The file that a database cannot be without.
const PRIMARY_FILE: u16 = 1;

/// `DBCC SHRINKFILE (file [, megabytes | EMPTYFILE] [, NOTRUNCATE | TRUNCATEONLY])`.
pub(super) fn file(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
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
    if how.empties {
        empty(&database, file)?;
    } else if !file.log {
        return Err(crate::messages::not_supported("SHRINKFILE of a data file"));
    }
    let row = shrink(&database, file, how, target, host)?;
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

    /// The size that a file is to have; `None` leaves it as it is. "target_size is ignored if specified with TRUNCATEONLY";
    /// "NOTRUNCATE is applicable only to data files. The log files aren't affected" (sql-docs, DBCC SHRINKFILE).
    fn target_of(self, target: u64) -> Option<u64> {
        (!self.keeps_size).then_some(if self.only_free_end { 0 } else { target })
    }
}

/// EMPTYFILE: nothing new goes to the file, so that what is empty stays so until REMOVE FILE. Pages do not move out of it: 2555.
fn empty(database: &Database, file: &FileEntry) -> Result<()> {
    let is_emptied = !file.log && file.file_id != PRIMARY_FILE;
    if is_emptied {
        database.space.keep_out(file.file_id);
    }
    if !is_emptied || database.space.used_pages(file.file_id) > 0 {
        let text = format!(
            "Cannot move all contents of file \"{}\" to other places to complete the emptyfile operation.",
            file.name
        );
        return Err(Error::new(2555, 16, 1, text));
    }
    Ok(())
}

/// 7992: the log of a standby must stay as the sets have left it.
fn check_writable(database: &Database) -> Result<()> {
    if database.is_read_only() {
        let text = format!("Cannot shrink 'read only' database '{}'.", database.name());
        return Err(Error::new(7992, 16, 1, text));
    }
    Ok(())
}

/// `DBCC SHRINKDATABASE (database [, percent])`: every log file, as far as it goes. "The Database Engine doesn't display rows for those
/// files not shrunk" (sql-docs, DBCC SHRINKDATABASE): data files, which keep their size.
pub(super) fn database(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
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
    for file in operation.entry().files.iter().filter(|file| file.log) {
        let used = used_pages(&database, file) * PAGE_BYTES;
        let target = used * 100 / (100 - percent);
        table.push(shrink(&database, file, how, target, host)?);
    }
    table.send(host)?;
    if command.is_silent() {
        return Ok(());
    }
    let told = crate::messages::not_supported("SHRINKDATABASE of data files");
    host.message(&Error { severity: 10, ..told })
}

/// No file is added, removed or backed up meanwhile, and the database stays open.
///
/// # Errors
/// 3023 beside a backup; 3617 when the request is to stop before it is its turn.
fn begin(command: &Command<'_>, database: &Database) -> Result<Operation> {
    let instance = command.context.instance;
    instance.alter(&database.name(), Work::Files)
}

/// Shrinks one file and says how it is now. "TRUNCATEONLY doesn't move information in the log, but does remove inactive VLFs from the end
/// of the log file" (sql-docs, DBCC SHRINKFILE).
fn shrink(
    database: &Arc<Database>,
    file: &FileEntry,
    how: How,
    target: u64,
    host: &mut dyn Host,
) -> Result<Vec<Value>> {
    let env = &database.storage.env;
    let work = env.begin_work(WorkKind::Shrink, &database.name(), 2);
    if let (true, Some(target_bytes)) = (file.log, how.target_of(target)) {
        // What a checkpoint frees is free to be cut off.
        database.checkpoint()?;
        work.set_done(1);
        let outcome = database.storage.log.shrink_file(file.file_id, target_bytes)?;
        if let Some(refusal) = outcome.refusal {
            if refusal.number == LAST_VLF_IN_USE && !how.only_free_end {
                database.storage.log.leave_last_vlf(file.file_id, target_bytes)?;
            }
            host.message(&Error {
                severity: refusal.severity.min(10),
                ..refusal
            })?;
        }
    }
    let pages = |count: u64| Value::Int(i32::try_from(count).unwrap_or(i32::MAX));
    let used = used_pages(database, file);
    Ok(vec![
        Value::SmallInt(database.id as i16),
        Value::Int(i32::from(file.file_id)),
        pages(file_bytes(database, file) / PAGE_BYTES),
        pages(if file.log { 63 } else { 128 }),
        pages(used),
        pages(used),
    ])
}
