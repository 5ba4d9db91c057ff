//! Whether a database may be changed: READ_ONLY, EMERGENCY, standby.
//!
//! | | stored in | error for a change |
//! |---|---|---|
//! | READ_ONLY | the boot record, so a backup brings it along | 3906 |
//! | EMERGENCY | the entry in master | 3908 |
//! | standby | the entry in master | 3906 |
//! | a database snapshot | the entry in master | 3906 |
//!
//! The instance's own work continues in a READ_ONLY database: checkpoints, backups, recovery at startup.

use super::Database;
use crate::error::{Error, Result};
use std::sync::atomic::Ordering;

impl Database {
    /// Whether nothing in it may be changed.
    pub fn is_read_only(&self) -> bool {
        self.is_snapshot || self.is_standby() || self.read_only.load(Ordering::Relaxed) || self.is_emergency()
    }

    /// Whether it is a database snapshot.
    pub fn is_snapshot(&self) -> bool {
        self.is_snapshot
    }

    /// Whether it is a database snapshot or a copy for which a page could not be kept.
    pub(crate) fn is_lost(&self) -> bool {
        self.storage.files.snapshot().is_some_and(|files| files.is_lost())
    }

    /// Whether it is EMERGENCY.
    pub fn is_emergency(&self) -> bool {
        self.emergency.load(Ordering::Relaxed)
    }

    /// # Errors
    /// 3906 or 3908 for a database that must not be changed.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_emergency() {
            return Err(Error::database_in_emergency(&self.name()));
        }
        match self.is_read_only() {
            true => Err(Error::database_is_read_only(&self.name())),
            false => Ok(()),
        }
    }

    /// Refuses new changes, or takes them again, until the boot record is written again: a session that sets READ_ONLY then waits
    /// for those under way.
    pub fn refuse_changes(&self, is_refused: bool) {
        self.read_only.store(is_refused, Ordering::Relaxed);
    }

    /// READ_ONLY or READ_WRITE, durably. What was changed until then is in the data files of a READ_ONLY database.
    ///
    /// # Errors
    /// Those of a checkpoint and of a rollback; 823 when the boot record cannot be written.
    pub fn set_read_only(&self, is_read_only: bool) -> Result<()> {
        if is_read_only {
            self.take_back_all_marked()?;
            self.checkpoint()?;
        }
        self.change_boot(|boot| boot.is_read_only = is_read_only)
    }

    /// EMERGENCY, or no longer; the caller has stored it in master.
    pub(crate) fn set_emergency(&self, is_emergency: bool) {
        self.emergency.store(is_emergency, Ordering::Relaxed);
    }
}
