//! Databases that are RESTORING from backups of another server.
//!
//! ```text
//! full, NORECOVERY   + entry: no files, the paths of the set     (over a database: its files are deleted, as by RESTORE of our own sets)
//! log, NORECOVERY    entry: one set more
//! RECOVERY           the sets are read, imported and published in place of the entry     (super::unfinished)
//! ```
//!
//! Such a database consists only of its entry in master, so it survives a restart, and DROP DATABASE has no files to delete. Its backups
//! are read when it is recovered; until then their files must stay where they are.

use super::operation::{Operation, Work};
use super::registry::DatabaseState;
use super::restore::Newcomer;
use super::{Instance, intents::MasterChange};
use crate::catalog::{DatabaseEntry, ForeignRestore};
use crate::error::{Error, Result};
use crate::session::Session;

impl Instance {
    /// Makes a database RESTORING from a full set of another server. `family` is that of its backups.
    ///
    /// # Errors
    /// 3154 for a database of that name which is not RESTORING from the same family, unless it is replaced; 3101 and 3102 while it is in use, 3108
    /// and 3147 for a system database; those of master's log.
    pub fn begin_foreign_restore(
        &self,
        name: &str,
        (family, replace): ([u8; 16], bool),
        restore: ForeignRestore,
        session: &Session,
    ) -> Result<()> {
        let Some(existing) = self.operate(name, Work::Restore)? else {
            return self.begin_new(name, family, restore);
        };
        let former = existing.entry();
        let newcomer = Newcomer {
            is_of_family: former.foreign.is_some() && former.guid == family,
            replace,
            stops: false,
            session,
        };
        let held = self.take_for_restore(&existing, &newcomer)?;
        let entry = DatabaseEntry {
            object_id: former.object_id,
            ..self.entry_of_foreign((&former.name, former.database_id), family, restore)
        };
        let statement = format!("RESTORE DATABASE '{}'", entry.name);
        let dismantled = self.dismantle(&existing, entry, &statement);
        session.locks().unlock(held);
        dismantled
    }

    fn begin_new(&self, name: &str, family: [u8; 16], restore: ForeignRestore) -> Result<()> {
        let _one_at_a_time = self.registry.creating()?;
        if self.registry.find(name).is_some() {
            return Err(Error::no_exclusive_access());
        }
        let entry = DatabaseEntry {
            object_id: self.master()?.new_object_id()?,
            ..self.entry_of_foreign((name, self.registry.free_id()), family, restore)
        };
        let operation = self
            .registry
            .insert_begun(entry.clone(), DatabaseState::Restoring, Work::Restore)?;
        let change = MasterChange {
            entry: Some(&entry),
            ..MasterChange::default()
        };
        self.change_rows(&change).map_err(|failed| {
            self.forget(&operation);
            failed.error
        })
    }

    fn entry_of_foreign(
        &self,
        (name, database_id): (&str, u16),
        family: [u8; 16],
        restore: ForeignRestore,
    ) -> DatabaseEntry {
        let now = self.env.clock.wall_ticks();
        DatabaseEntry {
            object_id: 0,
            guid: family,
            database_id,
            name: name.to_owned(),
            files: Vec::new(),
            filegroups: Vec::new(),
            creating: false,
            being_replaced: false,
            offline: false,
            standby: None,
            emergency: false,
            foreign: Some(restore),
            snapshot_of: None,
            copy_of: None,
            reverting: None,
            created: (now.days, now.ticks),
        }
    }

    /// Begins to go on with a restore of another server's backups; how far it has come is in the entry.
    ///
    /// # Errors
    /// 3118 when there is no such database, 3154 when it is RESTORING from backups of ours, 3117 when it is not RESTORING, 3101 while another RESTORE
    /// works on it.
    pub fn go_on_with_foreign_restore(&self, name: &str) -> Result<(Operation, ForeignRestore)> {
        let operation = self.operate(name, Work::Restore)?;
        let operation = operation.ok_or_else(|| Error::no_database_to_restore(name))?;
        match (operation.state(), operation.entry().foreign) {
            (DatabaseState::Restoring, Some(restore)) => Ok((operation, restore)),
            (DatabaseState::Restoring, None) => Err(Error::set_of_another_database(name)),
            _ => Err(Error::nothing_to_roll_forward()),
        }
    }
}
