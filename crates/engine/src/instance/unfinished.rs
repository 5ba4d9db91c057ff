//! Databases that are filled before they become visible: an import creates one under a temporary name, fills it, and publishes it.
//!
//! ```text
//! entry, unfinished | tables, rows | entry, complete, under its name; the entry of the replaced database is gone, its files are in an intent
//! ```
//!
//! The changes of the last step are one transaction in master. So at every moment there is either the old state or only the import: startup
//! removes an unfinished database, and deletes the files of a replaced one by their intent ([`super::intents`]).

use super::create::CreateDatabase;
use super::intents::{MasterChange, Proof, proof_of};
use super::registry::DatabaseState;
use super::{Instance, Operation, Work};
use crate::catalog::DatabaseEntry;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{Mode, Resource};
use crate::session::Session;
use std::sync::Arc;

impl Instance {
    /// Creates a database that is removed at the next start, unless [`Instance::publish_database`] has made it one like any other.
    ///
    /// # Errors
    /// Those of [`Instance::create_database`].
    pub fn create_unfinished_database(&self, statement: &CreateDatabase) -> Result<Arc<Database>> {
        self.create(statement, true)
    }

    /// Gives an unfinished database its name. With `replaces` the database that has the name is removed, if there is one.
    ///
    /// # Errors
    /// 911 when there is no such unfinished database, 1801 for a name that is taken, 3101 while anybody uses the database to be replaced, 3708
    /// for a system database. Then nothing has changed.
    pub fn publish_database(&self, unfinished: &str, name: &str, replaces: bool, session: &Session) -> Result<()> {
        let former = match replaces {
            true => self.operate(name, Work::Restore)?,
            false => None,
        };
        match former {
            Some(former) => self.publish_over(unfinished, name, &former, session),
            None => self.publish(unfinished, name, None),
        }
    }

    /// As [`Instance::publish_database`], in place of a database that the caller works on.
    ///
    /// # Errors
    /// 911, 3101 and 3708 as there.
    pub fn publish_over(&self, unfinished: &str, name: &str, former: &Operation, session: &Session) -> Result<()> {
        let gone = former.entry();
        if gone.database_id <= super::MSDB {
            return Err(Error::cannot_drop_system_database(&gone.name));
        }
        self.check_restorable(&gone)?;
        self.let_go_of_broken(former, session.id)?;
        former.wait_for_recovery()?;
        let in_use = Resource::Database(gone.database_id);
        if session.locks().mode_of(&in_use).is_some() {
            return Err(Error::in_use_by_this_session("RESTORE", &gone.name));
        }
        if !session.locks().try_lock(in_use, Mode::X) {
            return Err(Error::no_exclusive_access());
        }
        let published = self.publish(unfinished, name, Some(former));
        session.locks().unlock(in_use);
        published
    }

    fn publish(&self, unfinished: &str, name: &str, former: Option<&Operation>) -> Result<()> {
        let made = self.operate(unfinished, Work::Alter)?;
        let made = made.filter(|made| made.entry().creating);
        let made = made.ok_or_else(|| Error::no_such_database(unfinished))?;
        let _one_at_a_time = self.registry.creating()?;
        let namesake = self.registry.find(name);
        let is_replaced = |other: &Arc<_>| former.is_some_and(|former| Arc::ptr_eq(former.slot(), other));
        if namesake.is_some_and(|other| !is_replaced(&other)) {
            return Err(Error::database_exists(name));
        }
        let mut entry = made.entry();
        entry.name = name.to_owned();
        entry.creating = false;
        match former {
            Some(former) => self.replace_entry(former, &made, entry),
            None => Ok(self.change_entry(&made, entry, None, None)?),
        }
    }

    /// Removes `former`, and publishes `made` as `entry` says.
    fn replace_entry(&self, former: &Operation, made: &Operation, entry: DatabaseEntry) -> Result<()> {
        let gone = former.entry();
        let intent = self.intent_of_files(&gone, &format!("RESTORE DATABASE '{}'", gone.name))?;
        let _held = self.hold_files(&intent);
        let change = MasterChange {
            begin: Some(&intent),
            former: &[gone.database_id, entry.database_id],
            entry: Some(&entry),
            ..MasterChange::default()
        };
        let stored = self.change_rows(&change);
        self.close_if_changed(former, &stored, DatabaseState::RecoveryPending);
        stored?;
        self.forget(former);
        made.set_entry(entry);
        self.sweep(&intent, proof_of(&gone));
        Ok(())
    }

    /// At startup: removes a database that was never published. Its files go behind its entry.
    pub(super) fn forget_unfinished(&self, entry: &DatabaseEntry) -> Result<()> {
        let intent = self.intent_of_files(entry, &format!("Creation of database '{}'", entry.name))?;
        let change = MasterChange {
            begin: Some(&intent),
            former: &[entry.database_id],
            ..MasterChange::default()
        };
        self.change_rows(&change)?;
        self.sweep(&intent, Proof::Contents);
        Ok(())
    }
}
