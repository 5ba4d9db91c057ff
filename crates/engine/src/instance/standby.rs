//! Standby databases of an instance: entering, leaving, and going online from there.

use super::Instance;
use super::registry::{DatabaseSlot, DatabaseState};
use crate::backup::AfterRestore;
use crate::buffer::DatabaseId;
use crate::database::{Database, Opened};
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::path::Path;
use std::sync::Arc;

impl Instance {
    /// Makes a RESTORING database readable. Master says that it is a standby before its boot record does.
    ///
    /// Errors: 1834 when the undo file is a database's own file; 5120 when it cannot be made; those of recovery.
    pub(super) fn enter_standby(&self, slot: &Arc<DatabaseSlot>, undo_file: &str) -> Result<()> {
        let path = self.resolve(undo_file)?;
        self.check_undo_file(undo_file, &path)?;
        if let Some(folder) = path.parent() {
            let made = self.env.disk.create_directories(folder);
            made.map_err(|error| Error::cannot_create_file(undo_file, &Error::cause(&error)))?;
        }
        let mut files = self.files_of(&slot.entry())?;
        Database::make_undo_file(&self.opening(), &files, &path)?;
        files.entry.standby = Some(path.display().to_string());
        self.store_entry(files.entry.clone())?;
        if let Opened::Online(database) = Database::roll_forward(&self.opening(), &files, AfterRestore::Recovery)? {
            slot.set_state(DatabaseState::Online(database));
        }
        Ok(())
    }

    fn check_undo_file(&self, written: &str, path: &Path) -> Result<()> {
        for slot in self.slots() {
            let entry = slot.entry();
            for file in &entry.files {
                if self.resolve(&file.physical_name)? == path {
                    return Err(Error::file_in_use_by_database(written, &entry.name));
                }
            }
        }
        Ok(())
    }

    /// Makes a standby database RESTORING again; nothing happens to another one.
    ///
    /// Errors: 3101 and 3102 while it is in use; those of the undo file.
    pub(super) fn leave_standby(&self, slot: &DatabaseSlot, session: &Session) -> Result<()> {
        let mut entry = slot.entry();
        let Some(undo_file) = entry.standby.take() else {
            return Ok(());
        };
        let resource = self.lock_standby(slot, session)?;
        let taken_back = || {
            if let DatabaseState::Online(database) = slot.state() {
                database.storage.log.close();
            }
            slot.set_state(DatabaseState::Restoring);
            self.pool.forget_database(DatabaseId(entry.database_id));
            let files = self.files_of(&slot.entry())?;
            Database::take_standby_back(&self.opening(), &files)?;
            self.store_entry(entry.clone())?;
            self.delete_undo_file(&undo_file);
            Ok(())
        };
        let outcome = taken_back();
        session.locks().unlock(resource);
        outcome
    }

    /// RESTORE ... WITH RECOVERY of a standby database that is open. False when it is none.
    ///
    /// Errors: 3101 and 3102 while it is in use.
    pub(super) fn recover_standby(&self, slot: &DatabaseSlot, session: &Session) -> Result<bool> {
        let DatabaseState::Online(database) = slot.state() else {
            return Ok(false);
        };
        let mut entry = slot.entry();
        let Some(undo_file) = entry.standby.take() else {
            return Ok(false);
        };
        let resource = self.lock_standby(slot, session)?;
        let stored = database.fork_standby().and_then(|()| self.store_entry(entry));
        let ended = stored.and_then(|()| {
            let ended = database.end_standby();
            self.delete_undo_file(&undo_file);
            ended
        });
        session.locks().unlock(resource);
        ended.map(|()| true)
    }

    fn lock_standby(&self, slot: &DatabaseSlot, session: &Session) -> Result<Resource> {
        let entry = slot.entry();
        let resource = Resource::Database(entry.database_id);
        if session.locks().mode_of(&resource).is_some() {
            return Err(Error::in_use_by_this_session("RESTORE", &entry.name));
        }
        if !session.locks().try_lock(resource, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        Ok(resource)
    }

    /// A file that stays behind does no harm: its name is in the error log.
    fn delete_undo_file(&self, path: &str) {
        if let Err(error) = self.env.disk.delete(Path::new(path)) {
            let refused = Error::operating_system(path, &Error::cause(&error));
            self.env.errorlog.write_error("Server", &refused);
        }
    }
}
