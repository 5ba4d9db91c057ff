//! Databases and their files, as several views list them in different shapes.

use std::sync::Arc;

use engine::catalog::{DatabaseEntry, FileEntry, GrowthEntry};
use engine::database::Database;
use engine::instance::{DatabaseSlot, DatabaseState};
use engine::seams::DateTimeTicks;
use engine::types::Value;

use vlf::Lsn;

use super::SystemContext;
use super::values::{PAGE_BYTES, pages};

/// `max_size` of a log file that grows as far as SQL Server lets it: 2 TB.
const LOG_PAGES_MAX: i32 = 268_435_456;

/// A database, usable or not.
pub(crate) struct ListedDatabase {
    pub(crate) entry: DatabaseEntry,
    pub(crate) state: DatabaseState,
    pub(crate) database: Option<Arc<Database>>,
}

impl ListedDatabase {
    pub(crate) fn new(slot: &DatabaseSlot) -> ListedDatabase {
        let state = slot.state();
        let database = match &state {
            DatabaseState::Online(database) => Some(database.clone()),
            _ => None,
        };
        ListedDatabase {
            entry: slot.entry(),
            state,
            database,
        }
    }

    /// Every database in the order of ids.
    pub(crate) fn every(context: &SystemContext<'_>) -> Vec<ListedDatabase> {
        context
            .instance
            .slots()
            .iter()
            .map(|slot| ListedDatabase::new(slot))
            .collect()
    }

    pub(crate) fn of(database: &Arc<Database>) -> ListedDatabase {
        ListedDatabase {
            entry: database.entry(),
            state: DatabaseState::Online(database.clone()),
            database: Some(database.clone()),
        }
    }
}

/// The databases that the id argument of a function selects: all of them for NULL.
pub(crate) fn selected(context: &SystemContext<'_>, argument: Option<&Value>) -> Vec<ListedDatabase> {
    let mut databases = ListedDatabase::every(context);
    if let Some(id) = argument.and_then(Value::as_i64) {
        databases.retain(|listed| i64::from(listed.entry.database_id) == id);
    }
    databases
}

/// A file with its database.
pub(crate) struct ListedFile {
    pub(crate) database_id: u16,
    pub(crate) guid: [u8; 16],
    pub(crate) file: FileEntry,
    /// Its size now; 0 for a database that is not open.
    pub(crate) bytes: u64,
    /// It is a file of a database snapshot.
    pub(crate) is_sparse: bool,
    /// Its filegroup is READ_ONLY.
    pub(crate) is_read_only: bool,
    /// The name of its filegroup; `None` of a log file.
    pub(crate) filegroup: Option<String>,
    pub(crate) state: (u8, &'static str),
    /// Of a data file of a database that is open.
    pub(crate) base: Option<FileBase>,
}

/// The full backup on which differential ones are based.
#[derive(Clone, Copy)]
pub(crate) struct FileBase {
    pub(crate) lsn: Lsn,
    pub(crate) guid: [u8; 16],
    pub(crate) time: DateTimeTicks,
}

impl FileBase {
    fn of(database: &Database) -> Option<FileBase> {
        let boot = database.boot();
        (boot.change_base != [0; 16]).then_some(FileBase {
            lsn: boot.full_backup,
            guid: boot.change_base,
            time: boot.full_backup_time,
        })
    }
}

impl ListedFile {
    /// All files of a database in the order of their ids.
    pub(crate) fn of(listed: &ListedDatabase) -> Vec<ListedFile> {
        let mut files: Vec<ListedFile> = listed
            .entry
            .files
            .iter()
            .map(|file| ListedFile::one(listed, file))
            .collect();
        files.sort_by_key(|file| file.file.file_id);
        files
    }

    fn one(listed: &ListedDatabase, file: &FileEntry) -> ListedFile {
        let mut guid = listed.entry.guid;
        guid[15] ^= file.file_id as u8;
        let database = listed.database.as_ref();
        let filegroups = listed.entry.every_filegroup();
        let mut filegroups = filegroups.into_iter();
        let filegroup = filegroups.find(|filegroup| !file.log && filegroup.id == file.filegroup);
        ListedFile {
            database_id: listed.entry.database_id,
            guid,
            file: file.clone(),
            bytes: database.map_or(0, |database| file_bytes(database, file)),
            is_sparse: listed.entry.base().is_some() && !file.log,
            is_read_only: filegroup.as_ref().is_some_and(|filegroup| filegroup.is_read_only),
            filegroup: filegroup.map(|filegroup| filegroup.name),
            state: listed.state.number_and_name(),
            base: database
                .filter(|_| !file.log)
                .and_then(|database| FileBase::of(database)),
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
