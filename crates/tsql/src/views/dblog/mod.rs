//! `sys.fn_dblog` and `sys.fn_dump_dblog`: the log of a database or of a backup, a row for each record.
//!
//! SQL Server documents none of it. Its arguments are LSNs, the first and the last record wanted: three parts as decimal numbers, or after
//! `0x` as hexadecimal ones (sqlservercentral, "Time pass with transaction log, part 3"; David Furman, "Reading database transaction log
//! with fn_dump_dblog()"); NULL is the oldest record that is still needed, or the newest there is. Trace flag 2537 (2536 up to 2008) shows
//! what is still there of log that is no longer needed (Paul Randal, "Using fn_dblog, fn_dump_dblog, and restoring with STOPBEFOREMARK").
//!
//! Rows are made as they are wanted; memory does not grow with the log. [`engine::database::LogReader`] says what reading costs others.

mod columns;
pub mod inside;
mod row;

use std::sync::Arc;

use engine::database::{Database, LogExtent, LogReader};
use engine::error::{Error, Result};
use engine::instance::BackupLog;
use engine::types::{SqlType, Value};
use vlf::Lsn;

pub(crate) use self::columns::COLUMNS;
use self::row::RowMaker;
use super::units::Units;
use super::{INT, RowStream, Source, SystemContext, SystemView, nvarchar};
use crate::messages;

pub(super) const VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "fn_dblog",
        columns: &COLUMNS,
        is_function: true,
        parameters: &[LSN_TEXT, LSN_TEXT],
        required: 2,
        rows: Source::Streamed(log_of_database),
    },
    SystemView {
        schema: "sys",
        name: "fn_dump_dblog",
        columns: &COLUMNS,
        is_function: true,
        parameters: &DUMP_PARAMETERS,
        required: DUMP_PARAMETERS.len(),
        rows: Source::Streamed(log_of_backup),
    },
];

const LSN_TEXT: SqlType = nvarchar(25);
/// Places of the parameters of `fn_dump_dblog` behind the LSNs: the kind of device, the backup on it, and 64 files.
const DEVICE: usize = 2;
const POSITION: usize = 3;
const FIRST_FILE: usize = 4;
const DUMP_PARAMETERS: [SqlType; FIRST_FILE + 64] = {
    let mut parameters = [nvarchar(260); FIRST_FILE + 64];
    (parameters[0], parameters[1]) = (LSN_TEXT, LSN_TEXT);
    parameters[DEVICE] = nvarchar(260);
    parameters[POSITION] = INT;
    parameters
};

/// Trace flags under which log is shown that is no longer needed.
const SHOWS_ALL: [u16; 2] = [2536, 2537];

/// Records as rows.
struct LogRows {
    reader: LogReader,
    maker: RowMaker,
    first: Lsn,
    last: Lsn,
}

fn log_of_database(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Box<dyn RowStream>> {
    let argument = |place: usize| lsn_argument(arguments.get(place).unwrap_or(&Value::Null));
    let (first, last) = (argument(0)?, argument(1)?);
    Ok(Box::new(log_rows(context, &context.database, first, last)?))
}

/// `fn_dump_dblog (start, end, device type, backup, file, ...)`: the log of a backup of ours on one file; without a file, that of the current
/// database (David Furman, "Reading database transaction log with fn_dump_dblog()"). Names are those of the current database.
///
/// # Errors
/// 40517 for tape and for more than one file; those of RESTORE for the file.
fn log_of_backup(context: &SystemContext<'_>, arguments: &[Value]) -> Result<Box<dyn RowStream>> {
    let argument = |place: usize| arguments.get(place).unwrap_or(&Value::Null);
    let Some(path) = argument(FIRST_FILE).as_str() else {
        return log_of_database(context, arguments);
    };
    let device = argument(DEVICE).as_str().unwrap_or("DISK").trim();
    if !device.eq_ignore_ascii_case("DISK") {
        return Err(messages::not_supported(device));
    }
    if arguments.iter().skip(FIRST_FILE + 1).any(|file| !file.is_null()) {
        return Err(messages::not_supported("fn_dump_dblog of more than one file"));
    }
    let position = argument(POSITION).as_i64().unwrap_or(1);
    let (first, last) = (lsn_argument(argument(0))?, lsn_argument(argument(1))?);
    let position = u32::try_from(position).unwrap_or(u32::MAX);
    Ok(Box::new(BackupRows {
        backup: context.instance.log_of_backup(path, position)?,
        maker: RowMaker {
            units: Units::of(&context.database, context.session_id),
            database_id: context.database.id,
        },
        first: first.unwrap_or(Lsn::ZERO),
        last: last.unwrap_or(Lsn::MAX),
    }))
}

/// Records of a backup as rows.
struct BackupRows {
    backup: BackupLog,
    maker: RowMaker,
    first: Lsn,
    last: Lsn,
}

impl RowStream for BackupRows {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        while let Some(record) = self.backup.log.next()? {
            engine::cancel::spend(1)?;
            match record.lsn {
                lsn if lsn > self.last => return Ok(None),
                lsn if lsn < self.first => {}
                _ => return self.maker.row(&record).map(Some),
            }
        }
        Ok(None)
    }
}

/// `DBCC LOG`: the records of a database's log as far as it is needed.
///
/// # Errors
/// 9001 when the log is closed.
pub(crate) fn records(context: &SystemContext<'_>, database: &Arc<Database>) -> Result<impl RowStream + use<>> {
    log_rows(context, database, None, None)
}

fn log_rows(
    context: &SystemContext<'_>,
    database: &Arc<Database>,
    first: Option<Lsn>,
    last: Option<Lsn>,
) -> Result<LogRows> {
    let activity = &context.instance.env.activity;
    let extent = match SHOWS_ALL.iter().any(|flag| activity.is_on(*flag)) {
        true => LogExtent::Kept,
        false => LogExtent::Needed,
    };
    // Names are those of the moment at which the reading begins.
    let maker = RowMaker {
        units: Units::of(database, context.session_id),
        database_id: database.id,
    };
    Ok(LogRows {
        reader: LogReader::open(database, first, extent)?,
        maker,
        first: first.unwrap_or(Lsn::ZERO),
        last: last.unwrap_or(Lsn::MAX),
    })
}

impl RowStream for LogRows {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        while let Some(record) = self.reader.next()? {
            engine::cancel::spend(1)?;
            match record.lsn {
                lsn if lsn > self.last => return Ok(None),
                lsn if lsn < self.first => {}
                _ => return self.maker.row(&record).map(Some),
            }
        }
        Ok(None)
    }
}

/// An LSN as an argument; `None` for NULL.
///
/// # Errors
/// 9005 for a text that is none.
fn lsn_argument(value: &Value) -> Result<Option<Lsn>> {
    let Some(text) = value.as_str() else {
        return Ok(None);
    };
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let parsed = match hexadecimal {
        Some(digits) => digits.parse(),
        None => Lsn::parse_decimal(text),
    };
    parsed.map(Some).map_err(|_| {
        let text = "Either start LSN or end LSN specified in OpenRowset(DBLog, ...) is invalid.";
        Error::new(9005, 16, 1, text)
    })
}
