//! READ_COMMITTED_SNAPSHOT and ALLOW_SNAPSHOT_ISOLATION: which sessions read row versions, and from when on versions are kept.
//!
//! ```text
//! READ_COMMITTED_SNAPSHOT ON      no other session is in the database: every later transaction keeps versions
//! ALLOW_SNAPSHOT_ISOLATION ON     OFF -> IN_TRANSITION_TO_ON, versions are kept -> older transactions have ended -> ON
//! ALLOW_SNAPSHOT_ISOLATION OFF    ON -> IN_TRANSITION_TO_OFF, 3952 for others -> older snapshots have ended -> OFF
//! ```
//! The settings are in the boot record, so they survive a restart, a restore or an attach. master and msdb always allow snapshots, as in
//! SQL Server. (sql-docs, ALTER DATABASE SET, "snapshot options".)

use super::Database;
use crate::buffer::DatabaseStorage;
use crate::catalog::{MASTER, MSDB};
use crate::error::Result;
use crate::log::TransactionId;
use crate::recovery::BootRecord;
use crate::versions::SnapshotState;

/// Called when a database is opened, before any session uses it.
pub(super) fn begin(storage: &DatabaseStorage, boot: &BootRecord) {
    let versions = &storage.versions;
    versions.set_read_by_default(boot.reads_committed_versions);
    if boot.allows_snapshots || matches!(storage.id.0, MASTER | MSDB) {
        versions.set_state(SnapshotState::On);
    }
}

impl Database {
    /// Sets READ_COMMITTED_SNAPSHOT. Nobody else is in the database.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn set_read_committed_snapshot(&self, is_on: bool) -> Result<()> {
        self.change_boot(|boot| boot.reads_committed_versions = is_on)?;
        self.storage.versions.set_read_by_default(is_on);
        Ok(())
    }

    /// Begins to turn ALLOW_SNAPSHOT_ISOLATION on or off. Answers what has to be over before it is.
    pub fn begin_snapshot_state(&self, is_on: bool) -> SnapshotWait {
        let versions = &self.storage.versions;
        let former = versions.state();
        if is_on {
            versions.set_state(SnapshotState::TurningOn);
            let under_way = self.transactions.snapshot();
            let users = under_way.into_iter().filter(|(_, active)| active.session != 0);
            return SnapshotWait {
                former,
                transactions: users.map(|(id, _)| id).collect(),
                before: 0,
            };
        }
        versions.set_state(SnapshotState::TurningOff);
        SnapshotWait {
            former,
            transactions: Vec::new(),
            before: versions.store().sequence() + 1,
        }
    }

    /// Whether what had to be over is.
    pub fn is_over(&self, wait: &SnapshotWait) -> bool {
        let under_way = self.transactions.snapshot();
        let is_under_way = |id: &TransactionId| under_way.iter().any(|(other, _)| other == id);
        let store = self.storage.versions.store();
        !wait.transactions.iter().any(is_under_way) && !store.has_transactions_before(wait.before)
    }

    /// Ends what [`Database::begin_snapshot_state`] has begun.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written; it is as it was then.
    pub fn end_snapshot_state(&self, wait: &SnapshotWait, is_on: bool) -> Result<()> {
        let changed = self.change_boot(|boot| boot.allows_snapshots = is_on);
        if let Err(error) = changed {
            self.give_snapshot_state_up(wait);
            return Err(error);
        }
        let versions = &self.storage.versions;
        if is_on {
            versions.note_complete();
        }
        versions.set_state(match is_on {
            true => SnapshotState::On,
            false => SnapshotState::Off,
        });
        Ok(())
    }

    /// The wait is over: restores the previous state.
    pub fn give_snapshot_state_up(&self, wait: &SnapshotWait) {
        self.storage.versions.set_state(wait.former);
    }
}

/// What has to be over before snapshots are allowed, or not allowed any more.
pub struct SnapshotWait {
    former: SnapshotState,
    transactions: Vec<TransactionId>,
    /// Snapshots of transactions that are older than this.
    before: u64,
}
