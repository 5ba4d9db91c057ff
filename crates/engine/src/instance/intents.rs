//! Statements that create or remove files: a durable intent, the action, a durable completion.
//!
//! An intent is a row of master that names files that belong to no database. The rows change in the same transaction as the entry of their
//! database, so at every moment a file is in an entry, in an intent, or does not exist:
//!
//! ```text
//! make     + intent | create, fill | - intent, entry with the files
//! remove   + intent, entry without the files | delete | - intent
//! ```
//! So after any interruption, startup simply deletes the files that an intent names.
//!
//! | statement | its steps | interrupted before the entry is durable | after it |
//! |---|---|---|---|
//! | CREATE DATABASE | make | no database, no file | the database |
//! | RESTORE, a new database | make | no database, no file | the database, RESTORING |
//! | RESTORE over a database | remove (the entry stays, RESTORING), then make | the old database, or RESTORING without a file | the database, RESTORING |
//! | RESTORE LOG with new files | make | RESTORING, without the file | RESTORING, with it |
//! | import of a foreign database | make; until the import is published, the next startup removes the entry | no database, no file | the database, unfinished |
//! | publishing it over another | remove the other; in the same transaction the entry becomes complete, under its name | the old database | the import |
//! | DROP DATABASE | remove | the database | no database, no file |
//! | ADD FILE | make | the database without the file | with it |
//! | REMOVE FILE | remove | the database with the file | without it |
//! | RESTORE WITH STANDBY | make | RESTORING, no undo file | standby |
//! | RESTORE of a standby database | remove | standby | RESTORING, or online; no undo file |
//! | BACKUP to a new file, INIT, FORMAT | make, then rename; no entry | the old file | the new file |
//!
//! **Ownership.** Between a crash and the next startup, a user may have put a file in the same place. So startup deletes a file named by an
//! intent only if the file identifies itself as the intent's. It does so from its creation on ([`disk::Disk::create_holding`]), and until
//! it gets its final name, its name contains the guid. Companions (`.dwb`, `.vlfs`) are created after their file and deleted before it, so
//! they are ours if the file is.
//!
//! If a file cannot be deleted, its intent stays: the next such statement and the next startup try again.
//!
//! Invariant: no page and no log block goes to a new file before its entry is durable, and none is left in a file whose entry is gone.
//!
//! Invariant: the intent of a running statement is removed only by that statement.

use super::paths::{Admission, owner_of};
use super::{Instance, create::is_entry};
use crate::buffer::double_write_path;
use crate::catalog::{DatabaseEntry, FileIntent, IntendedFile, ObjectDefinition};
use crate::database::SystemWork;
use crate::error::{Error, NotStored, Result};
use crate::log::directory_path;
use disk::{Access, DiskError, DiskErrorKind, temporary_path};
use std::path::{Path, PathBuf};

/// What a log file of before guids were written into log files says of its database.
const NO_GUID: [u8; 16] = [0; 16];

/// What makes sure that a file is the intent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// What the file says.
    Contents,
    /// It was a database's file a moment ago, in this run.
    Entry,
}

/// What is known of the files of a database that is removed: those of one that is being replaced may not be its own yet.
pub(super) fn proof_of(entry: &DatabaseEntry) -> Proof {
    match entry.being_replaced {
        true => Proof::Contents,
        false => Proof::Entry,
    }
}

/// Changes of master's rows that belong together.
#[derive(Default)]
pub(super) struct MasterChange<'c> {
    pub end: Option<&'c FileIntent>,
    pub begin: Option<&'c FileIntent>,
    /// The databases whose entries are removed or replaced.
    pub former: &'c [u16],
    /// Its entry from then on.
    pub entry: Option<&'c DatabaseEntry>,
}

impl Instance {
    /// Makes an intent, not yet durable. Files are given by their paths.
    pub(super) fn new_intent(
        &self,
        statement: &str,
        guid: [u8; 16],
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Result<FileIntent> {
        let files = files.into_iter().map(|path| IntendedFile {
            path: path.display().to_string(),
            by_name: false,
        });
        Ok(FileIntent {
            object_id: self.master()?.new_object_id()?,
            statement: statement.to_string(),
            guid,
            files: files.collect(),
        })
    }

    /// Makes an intent durable: its files may be made from then on.
    pub(super) fn begin_intent(&self, intent: &FileIntent) -> Result<()> {
        let change = MasterChange {
            begin: Some(intent),
            ..MasterChange::default()
        };
        Ok(self.change_rows(&change)?)
    }

    /// Changes rows of master in one transaction, durable on return.
    pub(super) fn change_rows(&self, change: &MasterChange<'_>) -> std::result::Result<(), NotStored> {
        let master = self.master()?;
        if change.entry.is_some_and(DatabaseEntry::has_filegroups) {
            master.note_data_spaces()?;
        }
        let turn = self.turn_in(&master)?;
        master.change_catalog(&turn, SystemWork::MasterRows, |ctx| {
            let is_former = |definition: &ObjectDefinition| match definition {
                ObjectDefinition::FileIntent(intent) => change.end.is_some_and(|end| end.object_id == intent.object_id),
                definition => change.former.iter().any(|id| is_entry(definition, *id)),
            };
            for object in master.catalog.objects(0) {
                if is_former(&object.definition) {
                    master.catalog.remove(ctx, 0, &object)?;
                }
            }
            if let Some(intent) = change.begin {
                master
                    .catalog
                    .insert(ctx, 0, ObjectDefinition::FileIntent(intent.clone()))?;
            }
            if let Some(entry) = change.entry {
                master
                    .catalog
                    .insert(ctx, 0, ObjectDefinition::Database(entry.clone()))?;
            }
            Ok(())
        })
    }

    /// Ends an intent: its files are deleted, then its row. A file that cannot be deleted is named in the error log and stays
    /// for later.
    pub(super) fn sweep(&self, intent: &FileIntent, proof: Proof) {
        // One that cannot be deleted keeps none of the others.
        let deleted = intent
            .files
            .iter()
            .map(|file| self.sweep_file(intent, file, proof))
            .fold(Ok(()), Result::and);
        let ended = deleted.and_then(|()| {
            let change = MasterChange {
                end: Some(intent),
                ..MasterChange::default()
            };
            Ok(self.change_rows(&change)?)
        });
        if let Err(error) = ended {
            self.env.errorlog.write_error("Server", &error);
            self.left_behind.lock().insert(intent.object_id);
        }
    }

    /// After a failure: sweeps what was made, unless it may be a database's by now. Answers the error.
    pub(super) fn abandon(&self, intent: &FileIntent, failed: NotStored) -> Error {
        if !failed.is_unknown {
            self.sweep(intent, Proof::Contents);
        }
        failed.error
    }

    /// Tries again to delete what former statements could not: before a statement that may want the names.
    pub(super) fn sweep_left_behind(&self) {
        let left = std::mem::take(&mut *self.left_behind.lock());
        if left.is_empty() {
            return;
        }
        for intent in self.stored_intents().unwrap_or_default() {
            if left.contains(&intent.object_id) {
                self.sweep(&intent, Proof::Contents);
            }
        }
    }

    /// At startup: every intent is of a statement that was cut off.
    pub(super) fn sweep_all(&self) -> Result<()> {
        for intent in self.stored_intents()? {
            let text = format!("{} was not finished; its files are being removed.", intent.statement);
            self.env.errorlog.write("spid8s", text);
            self.sweep(&intent, Proof::Contents);
        }
        Ok(())
    }

    fn stored_intents(&self) -> Result<Vec<FileIntent>> {
        let objects = self.master()?.catalog.objects(0);
        let intents = objects.iter().filter_map(|object| match &object.definition {
            ObjectDefinition::FileIntent(intent) => Some(intent.clone()),
            _ => None,
        });
        Ok(intents.collect())
    }

    fn sweep_file(&self, intent: &FileIntent, file: &IntendedFile, proof: Proof) -> Result<()> {
        let path = Path::new(&file.path);
        if file.by_name {
            return self.delete_if_there(path);
        }
        self.delete_if_there(&temporary_path(path, &intent.guid))?;
        let is_ours = match proof {
            Proof::Entry => true,
            Proof::Contents => !self.is_in_entry(path)? && self.is_of(path, &intent.guid)?,
        };
        match is_ours {
            true => self.delete_database_file(path),
            false => Ok(()),
        }
    }

    /// Whether a database has the path for its own: one made from a backup of the same family, since the intent was left behind.
    fn is_in_entry(&self, path: &Path) -> Result<bool> {
        let objects = self.master()?.catalog.objects(0);
        let has_path = |definition: &ObjectDefinition| match definition {
            ObjectDefinition::Database(entry) if !entry.being_replaced && !entry.creating => {
                let mut names = entry.files.iter().map(|file| &file.physical_name).chain(&entry.standby);
                names.any(|name| self.resolve(name).is_ok_and(|other| other == path))
            }
            _ => false,
        };
        Ok(objects.iter().any(|object| has_path(&object.definition)))
    }

    /// Whether a file says that it is of this database. One that says something else is named in the error log.
    fn is_of(&self, path: &Path, guid: &[u8; 16]) -> Result<bool> {
        let text = path.display().to_string();
        let failed = |error: DiskError| Error::cannot_open_file(&text, &Error::cause(&error));
        let owner = match self.env.disk.open(path, Access::Buffered) {
            Ok(file) => owner_of(file.as_ref()).map_err(failed)?,
            Err(error) if error.kind == DiskErrorKind::NotFound => return Ok(false),
            Err(error) if matches!(error.kind, DiskErrorKind::NotAFile | DiskErrorKind::Outside) => None,
            Err(error) => return Err(failed(error)),
        };
        let is_ours = owner.is_some_and(|owner| owner == *guid || owner == NO_GUID);
        if !is_ours {
            let text = format!("The file '{text}' was not made by an unfinished statement and stays as it is.");
            self.env.errorlog.write("Server", text);
        }
        Ok(is_ours)
    }

    /// Deletes a data, log or undo file, its companions first.
    pub(super) fn delete_database_file(&self, path: &Path) -> Result<()> {
        self.delete_if_there(&double_write_path(path))?;
        self.delete_if_there(&directory_path(path))?;
        self.delete_if_there(path)
    }

    /// Deletes the file that an admission allows to be replaced, with its companions, unless another has its name by now.
    pub(super) fn delete_replaced(&self, admission: &Admission) -> Result<()> {
        let text = admission.path.display().to_string();
        let failed = |error: DiskError| Error::cannot_create_file(&text, &Error::cause(&error));
        let Some(file) = &admission.file else { return Ok(()) };
        match self.env.disk.look(&admission.path).map_err(failed)? {
            Some(found) if found.identity == file.identity().map_err(failed)? => {
                self.delete_database_file(&admission.path)
            }
            _ => Ok(()),
        }
    }

    fn delete_if_there(&self, path: &Path) -> Result<()> {
        match self.env.disk.delete(path) {
            Err(error) if error.kind != DiskErrorKind::NotFound => {
                let text = format!("deleting the physical file '{}'", path.display());
                Err(Error::operating_system(&text, &Error::cause(&error)))
            }
            _ => Ok(()),
        }
    }
}
