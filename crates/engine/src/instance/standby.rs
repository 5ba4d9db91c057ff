//! Standby databases of an instance: entering, leaving, and going online from there.

use super::intents::Proof;
use super::paths::{Purpose, Verdict};
use super::registry::DatabaseState;
use super::{Instance, Operation};
use crate::backup::AfterRestore;
use crate::buffer::DatabaseId;
use crate::catalog::{DatabaseEntry, FileIntent};
use crate::database::{Database, Opened};
use crate::error::{Error, NotStored, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::path::PathBuf;

impl Instance {
    /// Makes a RESTORING database readable. Master says that it is a standby before its boot record does.
    ///
    /// # Errors
    /// 1834 when the undo file is a database's own file; 5133, 5170, 5123 and 5120 when it cannot be made; those of
    /// recovery.
    pub(super) fn enter_standby(&self, operation: &Operation, undo_file: &str) -> Result<()> {
        self.sweep_left_behind();
        let admission = self.admit(undo_file, Purpose::UndoFile, None);
        let admission = admission.map_err(|refused| refused.for_undo_file())?;
        let path = admission.path.as_path();
        if let Some(folder) = path.parent() {
            let made = self.env.disk.create_directories(folder);
            made.map_err(|error| Error::cannot_create_file(undo_file, &Error::cause(&error)))?;
        }
        let mut files = self.files_of(&operation.entry())?;
        let statement = format!("RESTORE of '{}' WITH STANDBY", files.entry.name);
        let intent = self.new_intent(&statement, files.entry.guid, [path.to_path_buf()])?;
        let mut make = || -> std::result::Result<(), NotStored> {
            self.begin_intent(&intent)?;
            if admission.verdict == Verdict::Replace {
                self.delete_replaced(&admission)?;
            }
            Database::make_undo_file(&self.opening(), &files, path)?;
            files.entry.standby = Some(path.display().to_string());
            self.change_entry(operation, files.entry.clone(), Some(&intent), None)
        };
        make().map_err(|failed| self.abandon(&intent, failed))?;
        if let Opened::Online(database) = Database::roll_forward(&self.opening(), &files, AfterRestore::Recovery)? {
            operation.set_state(DatabaseState::Online(database));
        }
        Ok(())
    }

    /// Makes a standby database RESTORING again; nothing happens to another one.
    ///
    /// # Errors
    /// 3101 and 3102 while it is in use; those of the undo file.
    pub(super) fn leave_standby(&self, operation: &Operation, session: &Session) -> Result<()> {
        let mut entry = operation.entry();
        let Some(undo_file) = entry.standby.take() else {
            return Ok(());
        };
        let resource = self.lock_standby(operation, session)?;
        let taken_back = || {
            if let DatabaseState::Online(database) = operation.state() {
                database.storage.log.close();
            }
            operation.set_state(DatabaseState::Restoring);
            self.pool.forget_database(DatabaseId(entry.database_id));
            let files = self.files_of(&operation.entry())?;
            Database::take_standby_back(&self.opening(), &files)?;
            let intent = self.intent_of_undo_file(&entry, &undo_file)?;
            let _held = self.hold_files(&intent);
            self.change_entry(operation, entry.clone(), None, Some(&intent))?;
            self.sweep(&intent, Proof::Entry);
            Ok(())
        };
        let outcome = taken_back();
        session.locks().unlock(resource);
        outcome
    }

    /// RESTORE ... WITH RECOVERY of a standby database that is open. False when it is none.
    ///
    /// # Errors
    /// 3101 and 3102 while it is in use.
    pub(super) fn recover_standby(&self, operation: &Operation, session: &Session) -> Result<bool> {
        let DatabaseState::Online(database) = operation.state() else {
            return Ok(false);
        };
        let mut entry = operation.entry();
        let Some(undo_file) = entry.standby.take() else {
            return Ok(false);
        };
        let resource = self.lock_standby(operation, session)?;
        let recover = || -> Result<()> {
            database.fork_standby()?;
            let intent = self.intent_of_undo_file(&entry, &undo_file)?;
            let _held = self.hold_files(&intent);
            self.change_entry(operation, entry.clone(), None, Some(&intent))?;
            let ended = database.end_standby();
            self.sweep(&intent, Proof::Entry);
            ended
        };
        let recovered = recover();
        session.locks().unlock(resource);
        recovered.map(|()| true)
    }

    fn lock_standby(&self, operation: &Operation, session: &Session) -> Result<Resource> {
        let entry = operation.entry();
        let resource = Resource::Database(entry.database_id);
        if session.locks().mode_of(&resource).is_some() {
            return Err(Error::in_use_by_this_session("RESTORE", &entry.name));
        }
        if !session.locks().try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        Ok(resource)
    }

    fn intent_of_undo_file(&self, entry: &DatabaseEntry, path: &str) -> Result<FileIntent> {
        let statement = format!("RESTORE of the standby database '{}'", entry.name);
        self.new_intent(&statement, entry.guid, [PathBuf::from(path)])
    }
}
