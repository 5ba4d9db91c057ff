//! ALTER DATABASE ADD FILE, REMOVE FILE and MODIFY FILE with a new path. Order: [`super::intents`].

use super::intents::Proof;
use super::paths::{Admission, Purpose, Refusal, Verdict};
use super::{Instance, Operation};
use crate::buffer::DataFileSpecification;
use crate::catalog::{DatabaseEntry, FileEntry};
use crate::database::{CreateFile, data_growth, log_growth};
use crate::error::{Error, NotStored, Result};
use crate::log::LogFileSpec;

impl Instance {
    /// Adds a file to a database that is open: its entry has the file before a page or a block of log is in it.
    ///
    /// # Errors
    /// 942 and its kin when it is not open; 1828 for a name or id that is taken; 5105, 5133, 5170 and 5123 for the path; those of file
    /// creation; 5048 in a filegroup that is READ_ONLY; 9001 and others of master's log; 3617 when the request is to stop before it is its turn.
    pub fn add_file(&self, operation: &Operation, file: FileEntry, bytes: u64) -> Result<()> {
        let database = operation.database()?;
        let _one_at_a_time = self.registry.creating()?;
        self.sweep_left_behind();
        let mut entry = operation.entry();
        if entry.copy_of.is_some() && !file.log {
            return Err(Error::not_on_a_copy());
        }
        let is_taken =
            |other: &FileEntry| other.file_id == file.file_id || other.name.to_lowercase() == file.name.to_lowercase();
        if entry.files.iter().any(is_taken) {
            return Err(Error::duplicate_file_name(&file.name));
        }
        check_files_may_change(&entry, &file)?;
        let admission = self.admit(&file.physical_name, Purpose::NewFile, None);
        let admission = admission.map_err(|refused| refused.for_file())?;
        let path = admission.path.clone();
        self.make_folders(&[CreateFile {
            path: path.clone(),
            bytes,
        }])?;
        entry.files.push(file.clone());
        let statement = format!("ALTER DATABASE '{}' ADD FILE '{}'", entry.name, file.name);
        let intent = self.new_intent(&statement, entry.guid, [path.clone()])?;
        self.begin_intent(&intent)?;
        let mut store = || self.change_entry(operation, entry.clone(), Some(&intent), None);
        let added = match file.log {
            true => {
                let spec = LogFileSpec {
                    file_id: file.file_id,
                    database_guid: entry.guid,
                    path,
                    logical_name: file.name.clone(),
                    bytes,
                    max_bytes: file.max_bytes.unwrap_or(u64::MAX),
                    growth: log_growth(&file),
                };
                database.storage.log.add_file(&spec, &mut store)
            }
            false => {
                let specification = DataFileSpecification {
                    id: file.file_id,
                    path,
                    logical_name: file.name.clone(),
                    bytes,
                    bytes_max: file.max_bytes,
                    growth: data_growth(&file),
                    filegroup: file.filegroup,
                };
                database.storage.files.add_when(&specification, &mut store)
            }
        };
        added.map_err(|failed| self.abandon(&intent, failed))
    }

    /// Removes a file from a database that is open: a log file whose VLFs are all free, or a data file without pages of any object.
    /// It is deleted when the entry without it is durable; a file that cannot be deleted is named in the error log.
    ///
    /// # Errors
    /// 942 and its kin when it is not open; 5009 for a file that is not there, 5020 for a first file, 5042 for one in use; 5031 for the
    /// last one of the default filegroup, 5048 in one that is READ_ONLY; 5094 for a data file of a database that has snapshots; 9001 and others of master's log; 3617 when the request is to stop before it is its turn.
    pub fn remove_file(&self, operation: &Operation, name: &str) -> Result<()> {
        let database = operation.database()?;
        let _one_at_a_time = self.registry.creating()?;
        let mut entry = operation.entry();
        let is_it = |file: &FileEntry| file.name.to_lowercase() == name.to_lowercase();
        let place = entry.files.iter().position(is_it);
        let file = entry.files.remove(place.ok_or_else(Error::no_file_to_remove)?);
        check_files_may_change(&entry, &file)?;
        if !file.log && file.file_id != 1 && is_last_of_default(&entry, &file) {
            return Err(Error::last_file_of_default_filegroup(name));
        }
        let statement = format!("ALTER DATABASE '{}' REMOVE FILE '{}'", entry.name, file.name);
        let intent = self.new_intent(&statement, entry.guid, [self.resolve(&file.physical_name)?])?;
        let _held = self.hold_files(&intent);
        let mut store = || -> std::result::Result<(), NotStored> {
            self.change_entry(operation, entry.clone(), None, Some(&intent))
        };
        if !file.log {
            self.check_no_snapshots(database.id)?;
            if entry.copy_of.is_some() {
                return Err(Error::not_on_a_copy());
            }
        }
        match file.log {
            true => database.storage.log.remove_file(file.file_id, &mut store)?,
            false => database.remove_data_file(file.file_id, name, &mut store)?,
        }
        self.sweep(&intent, Proof::Entry);
        Ok(())
    }

    /// Whether a file may be looked for at another place from the next opening on: nothing is there yet, or a database's file that
    /// nobody has, or the file itself.
    ///
    /// # Errors
    /// 5105, 5133, 5170 and 5123.
    pub fn check_new_place(&self, entry: &DatabaseEntry, file: &FileEntry, name: &str) -> Result<NewPlace> {
        if self.resolve(name)? == self.resolve(&file.physical_name)? {
            return Ok(NewPlace { _held: None });
        }
        // Its source writes to the file while the copy is closed.
        if entry.copy_of.is_some() && !file.log {
            return Err(Error::not_on_a_copy());
        }
        let purpose = Purpose::RestoredFile { replace: true };
        let admission = self
            .admit(name, purpose, None)
            .map_err(|refused| match refused.reason {
                Refusal::InUse => Error::file_in_use_by_database(name, &entry.name),
                _ => refused.for_file(),
            })?;
        debug_assert!(admission.verdict != Verdict::Use);
        Ok(NewPlace { _held: Some(admission) })
    }
}

/// # Errors
/// 5048 for a file of a filegroup that is READ_ONLY.
fn check_files_may_change(entry: &DatabaseEntry, file: &FileEntry) -> Result<()> {
    let mut filegroups = entry.filegroups.iter();
    let its = filegroups.find(|filegroup| filegroup.id == file.filegroup && filegroup.is_read_only && !file.log);
    its.map_or(Ok(()), |filegroup| {
        Err(Error::files_of_read_only_filegroup(&filegroup.name))
    })
}

/// Whether the default filegroup has no file beside this one, which is not among those of the entry any more.
fn is_last_of_default(entry: &DatabaseEntry, file: &FileEntry) -> bool {
    let mut filegroups = entry.filegroups.iter();
    let is_in_default = filegroups.any(|filegroup| filegroup.is_default && filegroup.id == file.filegroup);
    let mut others = entry.files.iter();
    is_in_default && !others.any(|other| !other.log && other.filegroup == file.filegroup)
}

/// A path that nobody else may take until the entry that has it is stored.
#[must_use]
pub struct NewPlace {
    _held: Option<Admission>,
}
