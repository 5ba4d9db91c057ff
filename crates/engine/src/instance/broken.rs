//! Databases whose log has failed: data that was not durable is never shown.
//!
//! The state in memory of such a database may or may not be on disk. Only recovery, which reads the disk, can find out. A rollback that
//! cannot go on, for a page that cannot be read, say (3314 in the error log), counts as a failed write: what it has not undone stays locked,
//! and those who wait for it would never be answered. SQL Server closes the database then, too. From the failed write on
//!
//! | operation | result |
//! |---|---|
//! | commits that the failed write covers, and later ones | 9001: the outcome is unknown until recovery |
//! | rollbacks | 9001; recovery undoes |
//! | lock requests in it, including waiting ones | 9001; held locks stay held |
//! | reads without locks, and reads that have just ended | 9001, checked after every page read (`session/table.rs`) |
//! | its pages with changes that are not in the durable log | evicted without being written |
//! | `sys.databases` | RECOVERY_PENDING |
//!
//! until SET ONLINE, RESTORE, DROP or a restart. The log of a system database cannot be reopened while it is in use: the instance stops
//! (3449), as SQL Server does.
//!
//! Invariant: all of this holds before the first 9001 is returned, because it depends on one flag of the log ([`LogManager::is_broken`]).
//!
//! [`LogManager::is_broken`]: crate::log::LogManager::is_broken

use super::{DatabaseState, Instance, MSDB, Operation};
use crate::buffer::DatabaseId;
use crate::cancel;
use crate::error::{Error, Result};
use crate::errorlog::ErrorLog;
use crate::lock::{LockRow, Resource};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long sessions that were ended have to be gone: 10 seconds.
const LOOKS_MAX: u32 = 500;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Told when the instance cannot go on.
#[derive(Default)]
pub(super) struct Fatal {
    happened: AtomicBool,
    hook: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Fatal {
    /// A database's log has failed. Runs under that log's mutex.
    pub(super) fn log_failed(&self, database_id: u16, errorlog: &ErrorLog) {
        if database_id > MSDB || self.happened.swap(true, Ordering::SeqCst) {
            return;
        }
        errorlog.write_error("Server", &Error::must_shut_down(database_id));
        if let Some(hook) = self.hook.get() {
            hook();
        }
    }
}

impl Instance {
    /// `hook` is called when the log of a system database has failed: the process must end without writing anything more, as
    /// by SHUTDOWN WITH NOWAIT. It must not wait. Only the first registration counts.
    pub fn on_fatal(&self, hook: impl Fn() + Send + Sync + 'static) {
        // The program registers once.
        let _ = self.fatal.hook.set(Box::new(hook));
    }

    /// True once the log of a system database has failed.
    pub fn must_stop(&self) -> bool {
        self.fatal.happened.load(Ordering::SeqCst)
    }

    /// Sessions that hold a lock on a database, but for one.
    pub fn users_of(&self, database_id: u16, but: u16) -> Vec<u16> {
        let uses = |row: &LockRow| row.resource == Resource::Database(database_id) && row.granted;
        let rows = self.locks.rows();
        let owners: Vec<u64> = rows.iter().filter(|row| uses(row)).map(|row| row.owner).collect();
        let sessions = self.sessions().into_iter();
        let users = sessions.filter(|session| session.id != but && owners.contains(&session.lock_owner));
        users.map(|session| session.id).collect()
    }

    /// Lets go of a database whose log has failed, so that its files can be opened again, replaced or deleted: ends every
    /// session in it but `asking`, forgets its pages, locks and transactions. Nothing happens to another one.
    ///
    /// # Errors
    /// 5061 when a session does not end in time; 3617 when the caller is to stop meanwhile. Then nothing was let go.
    pub(super) fn let_go_of_broken(&self, operation: &Operation, asking: u16) -> Result<()> {
        let Some(database) = operation.broken() else {
            return Ok(());
        };
        for look in 0..LOOKS_MAX {
            let users = self.users_of(database.id, asking);
            if users.is_empty() {
                break;
            }
            if look + 1 == LOOKS_MAX {
                return Err(Error::database_not_locked(&database.name()));
            }
            users.iter().for_each(|session| {
                self.end_session(*session);
            });
            cancel::look()?;
            std::thread::sleep(LOOK_EVERY);
        }
        operation.set_state(DatabaseState::RecoveryPending);
        database.abandon_recovery();
        database.storage.log.close();
        self.pool.forget_database(DatabaseId(database.id));
        self.locks.forget_database(database.id);
        Ok(())
    }

    /// What a database's log calls when it fails.
    pub(super) fn log_failure(&self) -> Arc<dyn Fn(u16) + Send + Sync> {
        let (fatal, errorlog) = (self.fatal.clone(), self.env.errorlog.clone());
        Arc::new(move |database_id| fatal.log_failed(database_id, &errorlog))
    }
}
