//! What several views show in different shapes: databases, their files, and how times and sizes become values.

use std::sync::Arc;

use engine::catalog::{DatabaseEntry, FileEntry, GrowthEntry};
use engine::database::Database;
use engine::instance::{DatabaseSlot, DatabaseState};
use engine::seams::DateTimeTicks;
use engine::types::{Decimal, Value};
use vlf::Lsn;

use crate::views::SystemContext;

/// Bytes of a page, the unit of file sizes.
pub(crate) const PAGE_BYTES: u64 = 8192;
/// `max_size` of a log file that grows as far as SQL Server lets it: 2 TB.
const LOG_PAGES_MAX: i32 = 268_435_456;

/// A database, usable or not.
pub(crate) struct DatabaseFacts {
    pub(crate) entry: DatabaseEntry,
    pub(crate) state: DatabaseState,
    pub(crate) database: Option<Arc<Database>>,
}

impl DatabaseFacts {
    pub(crate) fn new(slot: &DatabaseSlot) -> DatabaseFacts {
        let state = slot.state();
        let database = match &state {
            DatabaseState::Online(database) => Some(database.clone()),
            _ => None,
        };
        DatabaseFacts {
            entry: slot.entry(),
            state,
            database,
        }
    }

    /// Every database in the order of ids.
    pub(crate) fn every(context: &SystemContext<'_>) -> Vec<DatabaseFacts> {
        context
            .instance
            .slots()
            .iter()
            .map(|slot| DatabaseFacts::new(slot))
            .collect()
    }

    /// One database.
    pub(crate) fn of(database: &Arc<Database>) -> DatabaseFacts {
        DatabaseFacts {
            entry: database.entry(),
            state: DatabaseState::Online(database.clone()),
            database: Some(database.clone()),
        }
    }
}

/// The databases that the id argument of a function selects: all of them for NULL.
pub(crate) fn selected(context: &SystemContext<'_>, argument: Option<&Value>) -> Vec<DatabaseFacts> {
    let mut databases = DatabaseFacts::every(context);
    if let Some(id) = argument.and_then(Value::as_i64) {
        databases.retain(|facts| i64::from(facts.entry.database_id) == id);
    }
    databases
}

/// A file with its database.
pub(crate) struct FileFacts {
    pub(crate) database_id: u16,
    pub(crate) guid: [u8; 16],
    pub(crate) file: FileEntry,
    /// Its size now; 0 for a database that is not open.
    pub(crate) bytes: u64,
    pub(crate) state: (u8, &'static str),
}

impl FileFacts {
    /// All files of a database in the order of their ids.
    pub(crate) fn of(facts: &DatabaseFacts) -> Vec<FileFacts> {
        let mut files: Vec<FileFacts> = facts
            .entry
            .files
            .iter()
            .map(|file| FileFacts::one(facts, file))
            .collect();
        files.sort_by_key(|file| file.file.file_id);
        files
    }

    fn one(facts: &DatabaseFacts, file: &FileEntry) -> FileFacts {
        let mut guid = facts.entry.guid;
        guid[15] ^= file.file_id as u8;
        FileFacts {
            database_id: facts.entry.database_id,
            guid,
            file: file.clone(),
            bytes: facts.database.as_ref().map_or(0, |database| file_bytes(database, file)),
            state: facts.state.number_and_name(),
        }
    }

    /// `size`: pages.
    pub(crate) fn pages(&self) -> i32 {
        pages(self.bytes)
    }

    /// `max_size`: pages; -1 for unlimited.
    pub(crate) fn pages_max(&self) -> i32 {
        match self.file.max_bytes {
            Some(bytes) => pages(bytes),
            None if self.file.log => LOG_PAGES_MAX,
            None => -1,
        }
    }

    /// `growth`: pages or percent.
    pub(crate) fn growth(&self) -> i32 {
        match self.file.growth {
            GrowthEntry::Fixed => 0,
            GrowthEntry::Bytes(bytes) => pages(bytes.next_multiple_of(64 << 10)),
            GrowthEntry::Percent(percent) => i32::try_from(percent).unwrap_or(i32::MAX),
        }
    }

    /// Whether `growth` is a percentage.
    pub(crate) fn is_percent(&self) -> bool {
        matches!(self.file.growth, GrowthEntry::Percent(_))
    }
}

/// Size of a file in bytes.
pub(crate) fn file_bytes(database: &Database, file: &FileEntry) -> u64 {
    if !file.log {
        return u64::from(database.storage.files.page_count(file.file_id)) * PAGE_BYTES;
    }
    let files = database.storage.log.files();
    files
        .iter()
        .find(|info| info.file_id == file.file_id)
        .map_or(0, |info| info.bytes)
}

/// `FILEPROPERTY(name, 'SpaceUsed')`: pages of a file in use. Of a log file, the part of the log in use that its VLFs can
/// hold: the whole log's use where there is one file.
pub fn used_pages(database: &Database, file: &FileEntry) -> u64 {
    if file.log {
        let space = database.storage.log.space();
        let files = database.storage.log.files().len().max(1) as u64;
        return space.used_bytes.div_ceil(PAGE_BYTES) / files;
    }
    let pages = u64::from(database.storage.files.page_count(file.file_id));
    database.space.used_pages(file.file_id).min(pages)
}

/// Bytes as pages.
pub(crate) fn pages(bytes: u64) -> i32 {
    i32::try_from(bytes / PAGE_BYTES).unwrap_or(i32::MAX)
}

/// A `datetime`.
pub(crate) fn datetime(time: DateTimeTicks) -> Value {
    Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    }
}

/// A `datetime` of the catalog.
pub(crate) fn stored_datetime((days, ticks): (i32, u32)) -> Value {
    Value::DateTime { days, ticks }
}

/// A `datetime`, NULL when nothing has happened yet.
pub(crate) fn past_datetime(time: DateTimeTicks) -> Value {
    if (time.days, time.ticks) == (0, 0) {
        Value::Null
    } else {
        datetime(time)
    }
}

/// An LSN as `numeric(25,0)`.
pub(crate) fn lsn_number(lsn: Lsn) -> Value {
    let number = i128::try_from(lsn.to_numeric()).unwrap_or(i128::MAX);
    Value::Decimal(Decimal::new(number, 25, 0))
}

/// A count as bigint.
pub(crate) fn big(count: u64) -> Value {
    Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Bytes as megabytes, rounded to two decimals as the log views round them.
pub(crate) fn megabytes(bytes: u64) -> Value {
    Value::Float((bytes as f64 / 1_048_576.0 * 100.0).floor() / 100.0)
}

/// The time at the begin of an error log line, `2008-05-16 13:22:47.97`.
pub(crate) fn parse_time(text: &str) -> Option<DateTimeTicks> {
    let parsed = crate::scalar::moment_parse::parse(text, crate::scalar::moment_parse::DateOrder::MonthDayYear).ok()?;
    match parsed.moment.to_value(engine::types::SqlType::DateTime)? {
        Value::DateTime { days, ticks } => Some(DateTimeTicks { days, ticks }),
        _ => None,
    }
}
