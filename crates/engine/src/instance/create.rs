//! CREATE DATABASE and DROP DATABASE: defaults and refusals. The order of files and master's rows is that
//! of [`super::intents`].
//!
//! Defaults follow the server version (sql-docs, CREATE DATABASE and ALTER DATABASE file options; layouts of new databases in
//! `docs/vlf-rules.md`): from 2016 on 8 MB data and 8 MB log growing by 64 MB; before, a small data file growing by 1 MB and a
//! log of a quarter of it growing by 10 %.

use super::intents::{MasterChange, proof_of};
use super::paths::{Admission, Purpose, default_file_name};
use super::registry::DatabaseState;
use super::{Instance, MODEL, Operation, Work};
use crate::buffer::PRIMARY_FILEGROUP;
use crate::catalog::{DatabaseEntry, FileEntry, FileIntent, FilegroupEntry, GrowthEntry, ObjectDefinition};
use crate::database::{CreateFile, Database, DatabaseFiles};
use crate::error::{Error, NotStored, Result};
use crate::lock::{Mode, Resource};
use crate::recovery::RecoveryModel;
use crate::session::Session;
use crate::types::Collation;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::ServerVersion;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// The least size of a file, as error 5174 says it.
const FILE_BYTES_MIN: u64 = 512 * KB;
/// The least size of a primary file here: room for the space maps and the catalog.
const PRIMARY_BYTES_MIN: u64 = MB;

/// MAXSIZE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// At most this many bytes.
    Bytes(u64),
    Unlimited,
}

/// A file of CREATE DATABASE, as far as the statement says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSpec {
    pub name: Option<String>,
    pub filename: Option<String>,
    pub size_bytes: Option<u64>,
    /// MAXSIZE.
    pub maximum: Option<Size>,
    /// FILEGROWTH.
    pub growth: Option<GrowthEntry>,
    /// The number of its filegroup; PRIMARY without it.
    pub filegroup: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateDatabase {
    pub name: String,
    /// ON; empty for the default file. The first one is in PRIMARY.
    pub data: Vec<FileSpec>,
    /// PRIMARY and the others; empty for PRIMARY alone.
    pub filegroups: Vec<FilegroupEntry>,
    /// LOG ON; empty for the default file.
    pub log: Vec<FileSpec>,
    /// COLLATE; the instance's without it.
    pub collation: Collation,
}

/// What a version gives a database whose statement says nothing.
struct Defaults {
    data_bytes: u64,
    data_growth: GrowthEntry,
    log_bytes: u64,
    log_growth: GrowthEntry,
}

fn defaults(version: ServerVersion) -> Defaults {
    let (data_bytes, log_bytes) = match version {
        ServerVersion::V2005 | ServerVersion::V2008 | ServerVersion::V2008R2 => (2_048 * KB, 504 * KB),
        ServerVersion::V2012 => (4_160 * KB, 1_040 * KB),
        ServerVersion::V2014 => (3_264 * KB, 816 * KB),
        _ => (8 * MB, 8 * MB),
    };
    if data_bytes == 8 * MB {
        let growth = GrowthEntry::Bytes(64 * MB);
        Defaults {
            data_bytes,
            data_growth: growth,
            log_bytes,
            log_growth: growth,
        }
    } else {
        Defaults {
            data_bytes,
            data_growth: GrowthEntry::Bytes(MB),
            log_bytes,
            log_growth: GrowthEntry::Percent(10),
        }
    }
}

impl Instance {
    /// Creates a database. After a failure nothing remains, or the remains are deleted as soon as possible.
    ///
    /// # Errors
    /// 1801 for a name taken, 1828 for a logical name given twice, 5169, 5174, 1803 for sizes, 5105 and 5133 for paths, 5170
    /// and 5123 for files that exist or cannot be created.
    pub fn create_database(&self, statement: &CreateDatabase) -> Result<Arc<Database>> {
        self.create(statement, false)
    }

    /// As [`Instance::create_database`]; one that `is_unfinished` goes with the next start.
    pub(super) fn create(&self, statement: &CreateDatabase, is_unfinished: bool) -> Result<Arc<Database>> {
        let _one_at_a_time = self.registry.creating()?;
        self.sweep_left_behind();
        if self.registry.find(&statement.name).is_some() {
            return Err(Error::database_exists(&statement.name));
        }
        let mut planned = self.plan_files(statement)?;
        planned.entry.object_id = self.master()?.new_object_id()?;
        planned.entry.creating = is_unfinished;
        let text = format!("CREATE DATABASE '{}'", planned.entry.name);
        let paths = planned.files.iter().map(|file| file.path.clone());
        let intent = self.new_intent(&text, planned.entry.guid, paths)?;
        let entry = planned.entry.clone();
        let operation = self
            .registry
            .insert_begun(entry, DatabaseState::RecoveryPending, Work::Create)?;
        let created = self.create_planned(&planned, &intent, statement.collation);
        created
            .inspect(|database| operation.set_state(DatabaseState::Online(database.clone())))
            .map_err(|failed| {
                self.forget(&operation);
                // Nobody was in it; what its own log's failure keeps locked would be the next database's of this number.
                self.locks.forget_database(planned.entry.database_id);
                self.abandon(&intent, failed)
            })
    }

    fn create_planned(
        &self,
        planned: &Planned,
        intent: &FileIntent,
        collation: Collation,
    ) -> std::result::Result<Arc<Database>, NotStored> {
        self.begin_intent(intent)?;
        let database = self.create_files(planned)?;
        if collation != Collation::default() {
            database.set_collation(collation)?;
        }
        let change = MasterChange {
            end: Some(intent),
            entry: Some(&planned.entry),
            ..MasterChange::default()
        };
        let stored = self.change_rows(&change);
        stored.inspect_err(|_| database.storage.log.close())?;
        Ok(database)
    }

    fn create_files(&self, planned: &Planned) -> Result<Arc<Database>> {
        self.make_folders(&planned.files)?;
        let files = DatabaseFiles {
            entry: planned.entry.clone(),
            files: planned.files.clone(),
        };
        let model = self
            .database_by_id(MODEL)
            .map_or(RecoveryModel::Full, |model| model.recovery_model());
        let created = Database::create(
            &self.opening(),
            &files,
            self.next_log_sequence(),
            model,
            self.default_compatibility_level(),
        );
        created.map(Arc::new)
    }

    /// A new log begins one above model's newest sequence number, as SQL Server's does (Paul Randal, "Initial VLF sequence
    /// numbers and default log file size").
    pub(super) fn next_log_sequence(&self) -> u32 {
        self.database_by_id(MODEL)
            .map_or(20, |model| model.storage.log.end().vlf + 1)
    }

    pub(super) fn make_folders(&self, files: &[CreateFile]) -> Result<()> {
        for folder in files.iter().filter_map(|file| file.path.parent()) {
            let made = self.env.disk.create_directories(folder);
            made.map_err(|error| Error::cannot_create_file(&folder.display().to_string(), &Error::cause(&error)))?;
        }
        Ok(())
    }

    /// Drops a database: its files go after its row in master.
    ///
    /// # Errors
    /// 3701 when there is none, 3702 while anybody uses it, 3708 for a system database, 3709 for one that has snapshots.
    pub fn drop_database(&self, name: &str, session: &Session) -> Result<()> {
        let operation = self.operate(name, Work::Drop)?;
        let operation = operation.ok_or_else(|| Error::cannot_drop("database", name))?;
        let entry = operation.entry();
        if entry.database_id <= super::MSDB {
            return Err(Error::cannot_drop_system_database(&entry.name));
        }
        self.check_droppable(entry.database_id)?;
        if self.is_being_reverted_to(&entry) {
            return Err(Error::database_in_use(&entry.name));
        }
        self.let_go_of_broken(&operation, session.id)?;
        operation.wait_for_recovery()?;
        if !session.locks().try_lock(Resource::Database(entry.database_id), Mode::X) {
            return Err(Error::database_in_use(&entry.name));
        }
        let outcome = self.remove_database(&operation, &format!("DROP DATABASE '{}'", entry.name));
        session.locks().unlock(Resource::Database(entry.database_id));
        outcome
    }

    /// Removes a database that nobody uses: its row, its pages, its files. A file that cannot be deleted is named in the
    /// error log, as SQL Server does, and deleted when it can be.
    fn remove_database(&self, operation: &Operation, statement: &str) -> Result<()> {
        let entry = operation.entry();
        let intent = self.intent_of_files(&entry, statement)?;
        let _held = self.hold_files(&intent);
        let change = MasterChange {
            begin: Some(&intent),
            former: &[entry.database_id],
            ..MasterChange::default()
        };
        let stored = self.change_rows(&change);
        self.close_if_changed(operation, &stored, DatabaseState::RecoveryPending);
        stored?;
        self.end_snapshot(&entry);
        self.forget(operation);
        self.sweep(&intent, proof_of(&entry));
        Ok(())
    }

    /// An intent to remove every file of a database.
    pub(super) fn intent_of_files(&self, entry: &DatabaseEntry, statement: &str) -> Result<FileIntent> {
        let paths = paths_of(self, entry).unwrap_or_default().into_iter();
        let undo_file = entry.standby.as_ref().map(PathBuf::from);
        self.new_intent(statement, entry.guid, paths.chain(undo_file))
    }

    /// Takes a database out of use, unless its entry is for certain what it was: nobody may write to what may be gone after the
    /// next start.
    pub(super) fn close_if_changed(
        &self,
        operation: &Operation,
        stored: &std::result::Result<(), NotStored>,
        state: DatabaseState,
    ) {
        if stored.as_ref().is_err_and(|failed| !failed.is_unknown) {
            return;
        }
        if let DatabaseState::Online(database) = operation.state() {
            database.storage.log.close();
            // Plans may keep it alive; its locks would be those of the database that gets its number.
            database.internal_locks().release_all();
        }
        operation.set_state(state);
    }

    /// Forgets a database's pages and its place in the list.
    pub(super) fn forget(&self, operation: &Operation) {
        let database_id = operation.entry().database_id;
        self.pool.forget_database(crate::buffer::DatabaseId(database_id));
        self.registry.remove(operation.slot());
    }

    /// Deletes a database's files without more ado: at startup, where nothing else can have them.
    pub(super) fn delete_files(&self, entry: &DatabaseEntry) -> Result<()> {
        paths_of(self, entry)?
            .iter()
            .try_for_each(|path| self.delete_database_file(path))
    }

    /// Changes the entry of a database, in master and here, as `change` says.
    ///
    /// # Errors
    /// Those of `change`, which then has changed nothing; 9001 and others of master's log.
    pub fn update_entry(
        &self,
        operation: &Operation,
        change: impl FnOnce(&mut DatabaseEntry) -> Result<()>,
    ) -> Result<()> {
        let mut entry = operation.entry();
        change(&mut entry)?;
        Ok(self.change_entry(operation, entry, None, None)?)
    }

    /// Stores a changed entry, and with it the end of an intent or the begin of another.
    pub(super) fn change_entry(
        &self,
        operation: &Operation,
        entry: DatabaseEntry,
        end: Option<&FileIntent>,
        begin: Option<&FileIntent>,
    ) -> std::result::Result<(), NotStored> {
        let change = MasterChange {
            end,
            begin,
            former: &[entry.database_id],
            entry: Some(&entry),
        };
        self.change_rows(&change)?;
        operation.set_entry(entry);
        Ok(())
    }

    /// Gives a database another name.
    ///
    /// # Errors
    /// 911 when there is none of the old name, 1801 when there is one of the new name, 5016 for a system database.
    pub fn rename_database(&self, name: &str, new_name: &str) -> Result<()> {
        let operation = self.operate(name, Work::Alter)?;
        let operation = operation.ok_or_else(|| Error::no_such_database(name))?;
        let _one_at_a_time = self.registry.creating()?;
        if operation.entry().snapshot_of.is_some() {
            return Err(Error::not_on_a_snapshot());
        }
        let namesake = self.registry.find(new_name);
        if namesake.is_some_and(|other| !Arc::ptr_eq(&other, operation.slot())) {
            return Err(Error::database_exists(new_name));
        }
        if operation.entry().database_id <= super::MSDB {
            return Err(Error::cannot_rename_system_database(name));
        }
        self.update_entry(&operation, |entry| {
            entry.name = new_name.to_string();
            Ok(())
        })
    }

    /// Fills in what the statement left out, and checks the whole.
    fn plan_files(&self, statement: &CreateDatabase) -> Result<Planned> {
        let defaults = defaults(self.options.version);
        let default_file = [FileSpec::default()];
        let or_default = |specs| -> &[FileSpec] {
            if <[FileSpec]>::is_empty(specs) {
                &default_file
            } else {
                specs
            }
        };
        let (data, log) = (or_default(&statement.data), or_default(&statement.log));
        let has_primary = data.iter().any(|spec| spec.filegroup.is_none());
        let primary: &[FileSpec] = if has_primary { &[] } else { &default_file };
        let numbered = primary
            .iter()
            .chain(data)
            .map(|spec| (spec, false))
            .chain(log.iter().map(|spec| (spec, true)));
        let mut entries: Vec<FileEntry> = Vec::new();
        let mut names = HashSet::new();
        let (mut files, mut admissions) = (Vec::new(), Vec::new());
        let mut next_id = 3;
        for (spec, is_log) in numbered {
            let is_first = entries.iter().all(|entry| entry.log != is_log);
            let file_id = match (is_log, is_first) {
                (false, true) => 1,
                (true, true) => 2,
                _ => next_id,
            };
            next_id += u16::from(file_id == next_id);
            let (default_bytes, growth) = match is_log {
                true => (defaults.log_bytes, defaults.log_growth),
                false => (defaults.data_bytes, defaults.data_growth),
            };
            let draft = FileDraft {
                statement,
                spec,
                is_log,
                is_first,
                file_id,
                default_bytes,
                growth,
            };
            let (entry, bytes) = self.plan_file(&draft)?;
            let admission = self.check_new_file(&mut names, &entry)?;
            let path = admission.path.clone();
            files.push(CreateFile { path, bytes });
            admissions.push(admission);
            entries.push(entry);
        }
        Ok(Planned {
            entry: DatabaseEntry {
                filegroups: statement.filegroups.clone(),
                ..self.new_entry(&statement.name, entries)
            },
            files,
            _held: admissions,
        })
    }

    /// The entry of a database that is created now, but for its number in master.
    fn new_entry(&self, name: &str, files: Vec<FileEntry>) -> DatabaseEntry {
        let now = self.env.clock.wall_ticks();
        DatabaseEntry {
            object_id: 0,
            guid: self.new_guid(name),
            database_id: self.registry.free_id(),
            name: name.to_owned(),
            files,
            filegroups: Vec::new(),
            creating: false,
            being_replaced: false,
            offline: false,
            standby: None,
            emergency: false,
            foreign: None,
            snapshot_of: None,
            copy_of: None,
            reverting: None,
            created: (now.days, now.ticks),
        }
    }

    /// The place of a file to be created, unless its logical name is among `names` or its place is taken.
    fn check_new_file(&self, names: &mut HashSet<String>, entry: &FileEntry) -> Result<Admission> {
        if !names.insert(entry.name.to_lowercase()) {
            return Err(Error::duplicate_file_name(&entry.name));
        }
        let admission = self.admit(&entry.physical_name, Purpose::NewFile, None);
        admission.map_err(|refused| refused.for_file())
    }

    fn plan_file(&self, file: &FileDraft<'_>) -> Result<(FileEntry, u64)> {
        let suffix = if file.is_log { "_log" } else { "" };
        let ordinal = if file.is_first {
            String::new()
        } else {
            file.file_id.to_string()
        };
        let default_name = format!("{}{suffix}{ordinal}", file.statement.name);
        let name = file.spec.name.clone().unwrap_or(default_name);
        let extension = match (file.is_log, file.is_first) {
            (true, _) => "ldf",
            (false, true) => "mdf",
            (false, false) => "ndf",
        };
        let default_path = || {
            let file = format!("{}.{extension}", default_file_name(&name));
            self.folder().join(super::paths::DEFAULT_FOLDER).join(file)
        };
        let physical_name = file
            .spec
            .filename
            .clone()
            .unwrap_or_else(|| default_path().display().to_string());
        let bytes = file
            .spec
            .size_bytes
            .unwrap_or(file.default_bytes)
            .next_multiple_of(8 * KB);
        if file.spec.size_bytes.is_some() && bytes < FILE_BYTES_MIN {
            return Err(Error::file_too_small());
        }
        if !file.is_log && file.is_first && bytes < PRIMARY_BYTES_MIN {
            return Err(Error::primary_file_too_small(PRIMARY_BYTES_MIN / MB));
        }
        let max_bytes = match file.spec.maximum {
            Some(Size::Bytes(bytes)) => Some(bytes),
            Some(Size::Unlimited) | None => None,
        };
        let growth = file.spec.growth.unwrap_or(file.growth);
        if let Some(maximum) = max_bytes {
            if bytes > maximum {
                return Err(Error::maximum_below_size(&name));
            }
            if matches!(growth, GrowthEntry::Bytes(step) if step > maximum) {
                return Err(Error::growth_above_maximum(&name));
            }
        }
        let entry = FileEntry {
            file_id: file.file_id,
            log: file.is_log,
            name,
            physical_name,
            max_bytes,
            growth,
            filegroup: file.spec.filegroup.unwrap_or(PRIMARY_FILEGROUP),
        };
        Ok((entry, bytes))
    }
}

/// A database to be created; its paths are held.
struct Planned {
    entry: DatabaseEntry,
    files: Vec<CreateFile>,
    _held: Vec<Admission>,
}

/// One file of a statement with what applies to it.
struct FileDraft<'s> {
    statement: &'s CreateDatabase,
    spec: &'s FileSpec,
    is_log: bool,
    is_first: bool,
    file_id: u16,
    default_bytes: u64,
    growth: GrowthEntry,
}

pub(super) fn is_entry(definition: &ObjectDefinition, database_id: u16) -> bool {
    matches!(definition, ObjectDefinition::Database(entry) if entry.database_id == database_id)
}

/// The paths of a database's files, in the order of its entry.
pub(super) fn paths_of(instance: &Instance, entry: &DatabaseEntry) -> Result<Vec<PathBuf>> {
    entry
        .files
        .iter()
        .map(|file| instance.resolve(&file.physical_name))
        .collect()
}
