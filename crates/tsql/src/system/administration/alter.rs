//! ALTER DATABASE: files, name, and the options of [`super::options`].

use std::sync::Arc;

use engine::buffer::{FileGrowth, PRIMARY_FILEGROUP};
use engine::catalog::{DatabaseEntry, FileEntry, FilegroupEntry, GrowthEntry};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{DatabaseState, FileSpec, MSDB, Operation, Size, Work, default_file_name};
use engine::log;

use super::super::{Host, SystemContext};
use super::create::collation_of;
use super::file::{bytes, file_of, growth, maximum};
use super::{filegroup, options, refuse_in_transaction};
use crate::ast::{AlterDatabase, AlterDatabaseAction, FileSpecification, Identifier};
use crate::plan_cache::PlanCache;

const MB: u64 = 1 << 20;

/// Runs ALTER DATABASE.
pub fn alter(context: &SystemContext<'_>, host: &mut dyn Host, statement: &AlterDatabase) -> Result<()> {
    refuse_in_transaction(host, "ALTER DATABASE")?;
    let name = statement
        .name
        .as_ref()
        .map_or_else(|| context.database.name(), |name| name.text.clone());
    let outcome = act(context, host, &name, &statement.action);
    outcome.map_err(|error| match error.number {
        3906 | 3908 | 5004 | 5011 | 5052 | 5058 | 5061 | 5063 | 5093 | 5094 => match host.message(&error) {
            Ok(()) => Error::new(5069, 16, 1, "ALTER DATABASE statement failed."),
            Err(gone) => gone,
        },
        _ => error,
    })
}

fn act(context: &SystemContext<'_>, host: &mut dyn Host, name: &str, action: &AlterDatabaseAction) -> Result<()> {
    let slot = context.slot(name).ok_or_else(|| Error::no_database_to_alter(name))?;
    if slot.entry().snapshot_of.is_some() {
        return Err(Error::not_on_a_snapshot());
    }
    check_state(&slot.state(), name, action)?;
    drop(slot);
    let begin = |work| begin(context, name, action, work);
    match action {
        AlterDatabaseAction::Set { options, termination } => options::set(context, host, name, options, *termination),
        AlterDatabaseAction::ModifyName(new_name) => rename(context, host, name, &new_name.text),
        AlterDatabaseAction::ModifyFile(file) => {
            Change::new(context, begin(Work::Alter)?)?.modify(file)?;
            tell_of_names(host, file)
        }
        AlterDatabaseAction::AddFiles { files, filegroup } => {
            let change = Change::new(context, begin(Work::Files)?)?;
            let filegroup = change.filegroup(filegroup.as_ref())?;
            change.add(files, Some(filegroup))
        }
        AlterDatabaseAction::AddLogFiles(files) => Change::new(context, begin(Work::Files)?)?.add(files, None),
        AlterDatabaseAction::RemoveFile(file) => {
            context.instance.remove_file(&begin(Work::Files)?, &file.text)?;
            let text = format!("The file '{}' has been removed.", file.text);
            host.message(&Error::new(5044, 10, 1, text))
        }
        AlterDatabaseAction::ScopedConfiguration { option, .. } => {
            if option.name == "CLEAR PROCEDURE_CACHE" {
                let database_id = context.database.id;
                PlanCache::of(context.instance).remove(|plan| plan.database_id() == database_id);
            }
            Ok(())
        }
        AlterDatabaseAction::AddFilegroup(added) => filegroup::add(context, &begin(Work::Alter)?, added),
        AlterDatabaseAction::RemoveFilegroup(removed) => {
            filegroup::remove(context, host, &begin(Work::Alter)?, removed)
        }
        AlterDatabaseAction::ModifyFilegroup {
            name: modified,
            property,
        } => filegroup::modify(context, host, (name, modified), property),
        AlterDatabaseAction::Collate(written) => collate(&begin(Work::Alter)?, name, written),
    }
}

/// Begins work on a database, which may have changed since it was first looked at.
///
/// # Errors
/// 3023 beside a backup; those of [`check_state`].
fn begin(context: &SystemContext<'_>, name: &str, action: &AlterDatabaseAction, work: Work) -> Result<Operation> {
    let operation = context.instance.alter(name, work)?;
    check_state(&operation.state(), name, action)?;
    Ok(operation)
}

/// COLLATE: new columns get it; those there are keep theirs (sql-docs, "Set or change the database collation"). System databases
/// keep the instance's.
fn collate(operation: &Operation, name: &str, written: &Identifier) -> Result<()> {
    let collation = collation_of(Some(written))?;
    let database = operation.database()?;
    if database.entry().database_id <= MSDB {
        let text = format!("Cannot alter the database '{name}' because it is a system database.");
        return Err(Error::new(3708, 16, 4, text));
    }
    database.set_collation(collation)
}

/// Whether a database may be altered that is being restored, or that is only read. One that waits for log may not at all; a standby
/// database may change who uses it and whether it is online, which says nothing in its own files. The options of a READ_ONLY database
/// are judged one by one.
///
/// # Errors
/// 5052 while RESTORING; 5063 for options of a standby database; 5004 for files of one that is only read.
fn check_state(state: &DatabaseState, name: &str, action: &AlterDatabaseAction) -> Result<()> {
    match state {
        DatabaseState::Restoring => return Err(Error::alter_while_restoring()),
        DatabaseState::Online(database) if database.is_read_only() => {}
        _ => return Ok(()),
    }
    let is_standby = matches!(state, DatabaseState::Online(database) if database.is_standby());
    let not_writable = |state: u8| {
        let text =
            "To use ALTER DATABASE, the database must be in a writable state in which a checkpoint can be executed.";
        Err(Error::new(5004, 16, state, text))
    };
    match action {
        AlterDatabaseAction::Set { options, .. } if is_standby && !options.iter().all(options::is_of_use) => {
            Err(options::in_warm_standby(name))
        }
        AlterDatabaseAction::AddFiles { .. }
        | AlterDatabaseAction::AddLogFiles(_)
        | AlterDatabaseAction::AddFilegroup(_)
        | AlterDatabaseAction::ModifyFilegroup { .. } => not_writable(1),
        AlterDatabaseAction::RemoveFile(_) | AlterDatabaseAction::RemoveFilegroup(_) => not_writable(3),
        AlterDatabaseAction::ModifyFile(_) => not_writable(4),
        _ => Ok(()),
    }
}

/// What MODIFY FILE says of a new name, and of a path that counts from the next start.
fn tell_of_names(host: &mut dyn Host, file: &FileSpecification) -> Result<()> {
    if let Some(new_name) = &file.new_name {
        let text = format!("The file name '{new_name}' has been set.");
        host.message(&Error::new(5021, 10, 1, text))?;
    }
    if file.file_name.is_some() {
        let text = format!(
            "The file \"{}\" has been modified in the system catalog. The new path will be used the next time the database is started.",
            file.name
        );
        host.message(&Error::new(5018, 10, 1, text))?;
    }
    Ok(())
}

fn rename(context: &SystemContext<'_>, host: &mut dyn Host, name: &str, new_name: &str) -> Result<()> {
    context.instance.rename_database(name, new_name)?;
    host.message(&crate::messages::database_name_set(new_name))
}

/// A change of one database's files.
struct Change<'a> {
    context: &'a SystemContext<'a>,
    operation: Operation,
    database: Arc<Database>,
}

impl<'a> Change<'a> {
    fn new(context: &'a SystemContext<'a>, operation: Operation) -> Result<Change<'a>> {
        let database = operation.database()?;
        Ok(Change {
            context,
            operation,
            database,
        })
    }

    fn place_of(&self, entry: &DatabaseEntry, name: &str) -> Option<usize> {
        let mut files = entry.files.iter();
        files.position(|file| file.name.to_lowercase() == name.to_lowercase())
    }

    /// MODIFY FILE. The size is changed first: when that fails, nothing has changed.
    fn modify(self, specification: &FileSpecification) -> Result<()> {
        let entry = self.operation.entry();
        let place = self
            .place_of(&entry, &specification.name)
            .ok_or_else(|| Error::no_such_file(&specification.name))?;
        let mut file = entry.files[place].clone();
        if let Some(new_name) = &specification.new_name {
            if self.place_of(&entry, new_name).is_some_and(|other| other != place) {
                return Err(Error::duplicate_file_name(new_name));
            }
            file.name.clone_from(new_name);
        }
        if let Some(limit) = specification.size_max {
            file.max_bytes = match maximum(limit)? {
                Size::Bytes(bytes) => Some(bytes),
                Size::Unlimited => None,
            };
        }
        if let Some(step) = specification.growth {
            file.growth = growth(step)?;
        }
        let size = specification.size.map(bytes).transpose()?;
        let wanted = size.unwrap_or_else(|| self.bytes_of(&file));
        if file.max_bytes.is_some_and(|maximum| wanted > maximum) {
            return Err(Error::size_above_maximum());
        }
        if let Some(size) = size {
            self.grow(&file, size)?;
        }
        self.set_limits(&file)?;
        let new_path = specification.file_name.as_ref();
        let _held = new_path
            .map(|path| self.context.instance.check_new_place(&entry, &file, path))
            .transpose()?;
        if let Some(path) = new_path {
            file.physical_name.clone_from(path);
        }
        self.context.instance.update_entry(&self.operation, |entry| {
            entry.files[place] = file;
            Ok(())
        })
    }

    fn bytes_of(&self, file: &FileEntry) -> u64 {
        if !file.log {
            return u64::from(self.database.storage.files.page_count(file.file_id)) * 8192;
        }
        let files = self.database.storage.log.files();
        files
            .iter()
            .find(|info| info.file_id == file.file_id)
            .map_or(0, |info| info.bytes)
    }

    fn grow(&self, file: &FileEntry, bytes: u64) -> Result<()> {
        let bytes = bytes.next_multiple_of(8192);
        if bytes <= self.bytes_of(file) {
            return Err(Error::size_not_larger());
        }
        if file.log {
            self.database.storage.log.grow_file(file.file_id, bytes)?;
            self.database.mark_log_growth()
        } else {
            self.database.storage.files.grow_to(file.file_id, bytes)
        }
    }

    fn set_limits(&self, file: &FileEntry) -> Result<()> {
        if file.log {
            let log = &self.database.storage.log;
            log.rename_file(file.file_id, &file.name)?;
            return log.set_file_limits(
                file.file_id,
                file.max_bytes.unwrap_or(u64::MAX),
                log_growth(file.growth),
            );
        }
        let files = &self.database.storage.files;
        let known = files.modify(file.file_id, &file.name, file.max_bytes, data_growth(file.growth));
        if known {
            Ok(())
        } else {
            Err(Error::no_such_file(&file.name))
        }
    }

    /// The number of the filegroup that files are added to: without TO FILEGROUP the default one.
    ///
    /// # Errors
    /// 1921 when there is none of that name.
    fn filegroup(&self, written: Option<&Identifier>) -> Result<u16> {
        let filegroups = self.operation.entry().every_filegroup();
        let is_meant = |filegroup: &&FilegroupEntry| match written {
            Some(name) if !name.is("default") => name.is(&filegroup.name),
            _ => filegroup.is_default,
        };
        let found = filegroups.iter().find(is_meant).map(|filegroup| filegroup.id);
        let name = written.map_or("default", |name| &name.text);
        found.ok_or_else(|| crate::messages::invalid_data_space("filegroup", name))
    }

    /// ADD FILE to a filegroup, and ADD LOG FILE, one after the other.
    fn add(self, specifications: &[FileSpecification], filegroup: Option<u16>) -> Result<()> {
        for specification in specifications {
            let spec = file_of(specification)?;
            let file = self.plan(&spec, filegroup)?;
            let bytes = spec.size_bytes.unwrap_or(if file.log { MB } else { MB * 8 });
            self.context.instance.add_file(&self.operation, file, bytes)?;
        }
        Ok(())
    }

    fn plan(&self, spec: &FileSpec, filegroup: Option<u16>) -> Result<FileEntry> {
        let log = filegroup.is_none();
        let entry = self.operation.entry();
        let file_id = (1..u16::MAX)
            .find(|id| entry.files.iter().all(|file| file.file_id != *id))
            .unwrap_or(u16::MAX);
        let name = spec.name.clone().unwrap_or_else(|| format!("{}_{file_id}", entry.name));
        if self.place_of(&entry, &name).is_some() {
            return Err(Error::duplicate_file_name(&name));
        }
        let extension = if log { "ldf" } else { "ndf" };
        let max_bytes = match spec.maximum {
            Some(Size::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        if spec
            .size_bytes
            .zip(max_bytes)
            .is_some_and(|(size, maximum)| size > maximum)
        {
            return Err(Error::maximum_below_size(&name));
        }
        if spec.size_bytes.is_some_and(|bytes| bytes < 512 << 10) {
            return Err(Error::file_too_small());
        }
        let default_growth = if log {
            GrowthEntry::Percent(10)
        } else {
            GrowthEntry::Bytes(MB)
        };
        Ok(FileEntry {
            file_id,
            log,
            physical_name: spec
                .filename
                .clone()
                .unwrap_or_else(|| format!("{}.{extension}", default_file_name(&name))),
            name,
            max_bytes,
            growth: spec.growth.unwrap_or(default_growth),
            filegroup: filegroup.unwrap_or(PRIMARY_FILEGROUP),
        })
    }
}

fn log_growth(growth: GrowthEntry) -> log::FileGrowth {
    match growth {
        GrowthEntry::Fixed => log::FileGrowth::None,
        GrowthEntry::Bytes(bytes) => log::FileGrowth::Bytes(bytes),
        GrowthEntry::Percent(percent) => log::FileGrowth::Percent(percent),
    }
}

fn data_growth(growth: GrowthEntry) -> FileGrowth {
    match growth {
        GrowthEntry::Fixed => FileGrowth::Bytes(0),
        GrowthEntry::Bytes(bytes) => FileGrowth::Bytes(bytes),
        GrowthEntry::Percent(percent) => FileGrowth::Percent(percent),
    }
}
