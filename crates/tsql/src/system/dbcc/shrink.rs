//! DBCC SHRINKFILE and SHRINKDATABASE: log files give back free VLFs at their end; data files keep their pages.

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
    let empties = command
        .text(1)
        .is_some_and(|word| word.eq_ignore_ascii_case("EMPTYFILE"));
    if empties && !file.log && file.file_id != PRIMARY_FILE {
        // Nothing new goes there, so that what is empty stays so until REMOVE FILE.
        database.space.keep_out(file.file_id);
    }
    let row = shrink(&database, file, target, host)?;
    let mut table = Table::new(&COLUMNS);
    table.push(row);
    table.send(host)
}

/// `DBCC SHRINKDATABASE (database [, percent])`: every log file, as far as it goes.
pub(super) fn database(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let operation = begin(command, &*command.database(0)?)?;
    let database = operation.database()?;
    let percent = command
        .integer(1)
        .and_then(|percent| u64::try_from(percent).ok())
        .unwrap_or(0)
        .min(99);
    let mut table = Table::new(&COLUMNS);
    for file in operation.entry().files {
        let used = used_pages(&database, &file) * PAGE_BYTES;
        table.push(shrink(&database, &file, used * 100 / (100 - percent), host)?);
    }
    table.send(host)
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
fn shrink(database: &Arc<Database>, file: &FileEntry, target: u64, host: &mut dyn Host) -> Result<Vec<Value>> {
    if database.is_standby() {
        // Its log must stay as the sets have left it.
        let text = format!("Cannot shrink 'read only' database '{}'.", database.name());
        return Err(Error::new(7992, 16, 1, text));
    }
    let env = &database.storage.env;
    let work = env.begin_work(WorkKind::Shrink, &database.name(), 2);
    if file.log {
        // What a checkpoint frees is free to be cut off; SQL Server pads the log and does the same.
        database.checkpoint()?;
        work.set_done(1);
        let outcome = database.storage.log.shrink_file(file.file_id, target)?;
        if let Some(refusal) = outcome.refusal {
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
