//! ALTER DATABASE SET OFFLINE and SET ONLINE.
//!
//! Invariant: a database is opened only once. The check whether it is open is repeated under the operation.

use super::registry::DatabaseState;
use super::{Instance, MSDB, Work};
use crate::buffer::DatabaseId;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;

impl Instance {
    /// Closes a database that nobody uses, and leaves it closed.
    ///
    /// # Errors
    /// 5011 when there is none, 5052 while it is being restored, 5058 for a system database, 5061 while it is in use; those of
    /// the last checkpoint.
    pub fn take_offline(&self, name: &str, session: &Session) -> Result<()> {
        let operation = self.alter(name, Work::Alter)?;
        let id = operation.entry().database_id;
        if id <= MSDB {
            return Err(Error::option_refused(name, "OFFLINE"));
        }
        self.check_no_snapshots(id)?;
        self.let_go_of_broken(&operation, session.id)?;
        match operation.state() {
            DatabaseState::Restoring => return Err(Error::alter_while_restoring()),
            DatabaseState::Online(database) => {
                database.wait_for_recovery()?;
                let resource = Resource::Database(id);
                if session.locks().mode_of(&resource).is_some() || !session.locks().try_lock(resource, Mode::X) {
                    return Err(Error::database_not_locked(name));
                }
                operation.set_state(DatabaseState::Offline);
                // What a failed checkpoint leaves to recovery is written no more, for the files may be opened again.
                let closed = database.close_cleanly().inspect_err(|_| database.storage.log.close());
                self.pool.forget_database(DatabaseId(id));
                session.locks().unlock(resource);
                closed?;
            }
            DatabaseState::RecoveryPending | DatabaseState::Suspect | DatabaseState::Offline => {}
        }
        operation.set_state(DatabaseState::Offline);
        self.update_entry(&operation, |entry| {
            entry.offline = true;
            Ok(())
        })
    }

    /// Lets an open database be read alone (SET EMERGENCY).
    ///
    /// # Errors
    /// 5011 when there is none, 5058 for a system database, those of a database that is not open; those of storing it.
    pub fn set_emergency(&self, name: &str) -> Result<()> {
        let operation = self.alter(name, Work::Alter)?;
        if operation.entry().database_id <= MSDB {
            return Err(Error::option_refused(name, "EMERGENCY"));
        }
        let database = operation.database()?;
        self.update_entry(&operation, |entry| {
            entry.emergency = true;
            Ok(())
        })?;
        database.set_emergency(true);
        Ok(())
    }

    /// Opens a database that is closed, or whose log has failed, and recovers it. One that is EMERGENCY may be changed again; nothing
    /// happens to another one that is open.
    ///
    /// # Errors
    /// 5011 when there is none, 5052 while it is being restored, 5061 when those who are in it do not leave; 926 and 945 when it cannot
    /// be recovered, for which the error log has the reason.
    pub fn bring_online(&self, name: &str, session: &Session) -> Result<()> {
        let operation = self.alter(name, Work::Alter)?;
        self.let_go_of_broken(&operation, session.id)?;
        match operation.state() {
            DatabaseState::Online(database) if database.is_emergency() => {
                self.update_entry(&operation, |entry| {
                    entry.emergency = false;
                    Ok(())
                })?;
                database.set_emergency(false);
                return Ok(());
            }
            DatabaseState::Online(_) => return Ok(()),
            DatabaseState::Restoring => return Err(Error::alter_while_restoring()),
            DatabaseState::RecoveryPending | DatabaseState::Suspect | DatabaseState::Offline => {}
        }
        self.update_entry(&operation, |entry| {
            (entry.offline, entry.emergency) = (false, false);
            Ok(())
        })?;
        operation.set_state(self.open_user_database(&operation.entry()));
        let database = operation.database()?;
        self.open_snapshots_of(|base| base == database.id);
        Ok(())
    }
}
