//! The list of databases and their states.

use super::operation::{Operation, Turns, Work};
use crate::cancel;
use crate::catalog::DatabaseEntry;
use crate::database::Database;
use crate::error::{Error, Result};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// `sys.databases.state`.
#[derive(Clone)]
pub enum DatabaseState {
    /// Usable.
    Online(Arc<Database>),
    /// A restore is not finished.
    Restoring,
    /// Recovery could not begin: files missing, no space, no memory. Worth another try.
    RecoveryPending,
    /// Recovery failed on what the files hold.
    Suspect,
    /// SET OFFLINE.
    Offline,
}

impl DatabaseState {
    /// `state` and `state_desc`.
    pub fn number_and_name(&self) -> (u8, &'static str) {
        match self {
            DatabaseState::Online(database) if database.is_emergency() => (5, "EMERGENCY"),
            DatabaseState::Online(_) => (0, "ONLINE"),
            DatabaseState::Restoring => (1, "RESTORING"),
            DatabaseState::RecoveryPending => (3, "RECOVERY_PENDING"),
            DatabaseState::Suspect => (4, "SUSPECT"),
            DatabaseState::Offline => (6, "OFFLINE"),
        }
    }
}

/// A database of the instance, usable or not.
pub struct DatabaseSlot {
    entry: RwLock<DatabaseEntry>,
    state: RwLock<DatabaseState>,
    pub(super) turns: Turns,
}

impl DatabaseSlot {
    pub(super) fn new(entry: DatabaseEntry, state: DatabaseState) -> DatabaseSlot {
        DatabaseSlot {
            entry: RwLock::new(entry),
            state: RwLock::new(state),
            turns: Turns::default(),
        }
    }

    /// Its entry in master.
    pub fn entry(&self) -> DatabaseEntry {
        self.entry.read().clone()
    }

    pub(super) fn set_entry(&self, entry: DatabaseEntry) {
        if let DatabaseState::Online(database) = &*self.state.read() {
            database.set_entry(entry.clone());
        }
        *self.entry.write() = entry;
    }

    /// Its state. A database whose log has failed is RECOVERY_PENDING from that moment on.
    pub fn state(&self) -> DatabaseState {
        match &*self.state.read() {
            DatabaseState::Online(database) if database.storage.log.is_broken() => DatabaseState::RecoveryPending,
            DatabaseState::Online(database) if database.is_lost() => DatabaseState::Suspect,
            state => state.clone(),
        }
    }

    /// The database as it was opened, if its log has failed since, or if it is a copy that is lost: that has a log, transactions and locks,
    /// which a snapshot has not.
    pub fn broken(&self) -> Option<Arc<Database>> {
        let is_lost_copy = |database: &Database| database.is_lost() && self.entry.read().copy_of.is_some();
        match &*self.state.read() {
            DatabaseState::Online(database) if database.storage.log.is_broken() || is_lost_copy(database) => {
                Some(database.clone())
            }
            _ => None,
        }
    }

    /// Changes its state. A statement that found the database open earlier cannot begin to use it.
    pub(super) fn set_state(&self, state: DatabaseState) {
        let mut place = self.state.write();
        if let DatabaseState::Online(former) = &*place {
            former.retire();
        }
        if let DatabaseState::Online(database) = &state {
            database.watch_log();
        }
        *place = state;
    }

    /// Changes its state if it is this very database that is open: for callers without an operation on it.
    pub(super) fn set_state_of(&self, open: &Database, state: DatabaseState) {
        let mut place = self.state.write();
        if let DatabaseState::Online(former) = &*place
            && std::ptr::eq(&**former, open)
        {
            former.retire();
            *place = state;
        }
    }

    /// Returns when the database, if it is open, has nothing left to recover: for callers that need it exclusively.
    ///
    /// # Errors
    /// 3617 when the request is to stop before that.
    pub fn wait_for_recovery(&self) -> Result<()> {
        match self.state() {
            DatabaseState::Online(database) => database.wait_for_recovery(),
            _ => Ok(()),
        }
    }

    /// The open database.
    ///
    /// # Errors
    /// 926, 927, 942, 945 by its state, 952 while a statement makes, opens or drops it; 9001 when its log has failed.
    pub fn database(&self) -> Result<Arc<Database>> {
        let name = || self.entry.read().name.clone();
        match &*self.state.read() {
            DatabaseState::Online(database) if database.is_lost() => Err(Error::suspect(&name())),
            DatabaseState::Online(database) => database.storage.log.check_intact().map(|()| database.clone()),
            DatabaseState::Restoring => Err(Error::restoring(&name())),
            DatabaseState::RecoveryPending if self.turns.is_under_work() => Err(Error::in_transition(&name())),
            DatabaseState::RecoveryPending => Err(Error::inaccessible(&name())),
            DatabaseState::Suspect => Err(Error::suspect(&name())),
            DatabaseState::Offline => Err(Error::offline(&name())),
        }
    }
}

/// All databases by id.
#[derive(Default)]
pub(super) struct Registry {
    slots: RwLock<BTreeMap<u16, Arc<DatabaseSlot>>>,
    /// Databases that are gone. While a statement has one, it may still act by its id.
    removed: Mutex<Vec<(u16, Weak<DatabaseSlot>)>>,
    creation: Mutex<()>,
}

impl Registry {
    pub(super) fn find(&self, name: &str) -> Option<Arc<DatabaseSlot>> {
        let folded = name.to_lowercase();
        let slots = self.slots.read();
        slots
            .values()
            .find(|slot| slot.entry.read().name.to_lowercase() == folded)
            .cloned()
    }

    pub(super) fn by_id(&self, id: u16) -> Option<Arc<DatabaseSlot>> {
        self.slots.read().get(&id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<DatabaseSlot>> {
        self.slots.read().values().cloned().collect()
    }

    pub(super) fn insert(&self, slot: DatabaseSlot) -> Arc<DatabaseSlot> {
        let (id, slot) = (slot.entry().database_id, Arc::new(slot));
        self.slots.write().insert(id, slot.clone());
        slot
    }

    /// Publishes a database that a statement is at work on.
    pub(super) fn insert_begun(&self, entry: DatabaseEntry, state: DatabaseState, work: Work) -> Result<Operation> {
        let (id, slot) = (entry.database_id, Arc::new(DatabaseSlot::new(entry, state)));
        let operation = Operation::begin(&slot, work)?;
        self.slots.write().insert(id, slot);
        Ok(operation)
    }

    /// Removes this very database; another one that has its id stays.
    pub(super) fn remove(&self, slot: &Arc<DatabaseSlot>) {
        let id = slot.entry().database_id;
        let mut slots = self.slots.write();
        if slots.get(&id).is_some_and(|now| Arc::ptr_eq(now, slot)) {
            slots.remove(&id);
            self.removed.lock().push((id, Arc::downgrade(slot)));
        }
    }

    /// The lowest free id for a user database. That of a database that is gone is free when no statement has it any more.
    pub(super) fn free_id(&self) -> u16 {
        let slots = self.slots.read();
        let mut removed = self.removed.lock();
        removed.retain(|(_, slot)| slot.strong_count() > 0);
        let is_free = |id: &u16| !slots.contains_key(id) && removed.iter().all(|(gone, _)| gone != id);
        (5..u16::MAX).find(is_free).unwrap_or(u16::MAX)
    }

    /// Held while a database is being made, so that no two take one name or id.
    ///
    /// # Errors
    /// 3617 when the request is to stop before it is its turn.
    pub(super) fn creating(&self) -> Result<MutexGuard<'_, ()>> {
        loop {
            if let Some(turn) = self.creation.try_lock_for(cancel::LOOK_EVERY) {
                return Ok(turn);
            }
            cancel::look()?;
        }
    }
}
