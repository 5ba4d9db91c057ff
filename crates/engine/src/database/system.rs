//! The system's own changes of a database's catalog, in separate transactions that no user transaction can block.
//!
//! A session's own thread does such work in the middle of its transaction, for example to reserve identity values for the row that it
//! inserts. The transaction continues afterwards, and others wait for the transaction. So the work must never wait for a lock of any user
//! transaction, least of all its own, and never queue behind a session that waits for one.
//!
//! ```text
//! user's transactions   IX  the catalog         X  rows of their definitions      S of the catalog: DBCC checks, behind all of them
//! the system's          SIX the system's work   X  rows of promises, statistics   S of the system's work: DBCC checks, last of all
//! ```
//! Both are object locks ([`catalog_object_id`](Database::catalog_object_id) and [`SYSTEM_WORK_OBJECT`]) over one heap. The work begins
//! with its *turn*: the lock on system work, taken before any other lock. After that it waits for nothing: if a lock is not free at once,
//! the error is 1222.
//!
//! | work | done by | the turn is | other locks | possible conflicts |
//! |---|---|---|---|---|
//! | [`IdentityPromise`](SystemWork::IdentityPromise) | a session that takes, sets or reseeds a number (`identity.rs`) | waited for, because the session waits | rows of promises, which only this work locks | a running check or other work |
//! | the same, at a clean close | the instance | tried | the same | locks that an unfinished end left: promises stay |
//! | [`Statistics`](SystemWork::Statistics) | a session that plans a query, the instance (`statistics.rs`) | tried | the statistics of the table (tried), their rows | if they are locked, the work is skipped |
//! | [`Modifications`](SystemWork::Modifications) | the instance, at a clean close | tried | the same | the same |
//! | [`ConstraintIds`](SystemWork::ConstraintIds) | an opening, once (`upgrade.rs`) | waited for | rows of tables | none: no users are connected |
//! | [`MasterRows`](SystemWork::MasterRows) | changes of the list of databases or of settings; commits in several databases (`decisions.rs`) | waited for, because the request waits | rows of master that only this work locks | as for promises |
//! | [`LogGrowth`](SystemWork::LogGrowth) | ALTER DATABASE that grew the log | none: it changes nothing | none | none |
//!
//! Invariant: the holder of the turn waits for no lock. So every wait for the turn ends: a check takes its lock on system work after all
//! its other locks.
//!
//! Invariant: only one such piece of work runs at a time, because they share one place for pending changes (session 0).

use super::Database;
use crate::error::{Error, NotStored, Result};
use crate::lock::{LAST_SYSTEM_OBJECT, LockOwner, Mode, Resource};
use crate::store::StoreContext;

/// The object whose lock is the turn of the system's work, and under whose id the rows of the catalog that it changes are locked.
pub use crate::catalog::SYSTEM_WORK_OBJECT;

const _: () = assert!(SYSTEM_WORK_OBJECT <= LAST_SYSTEM_OBJECT);

/// A kind of work; see the module's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemWork {
    /// Numbers of an identity are promised.
    IdentityPromise,
    /// Values of a sequence are reserved: the session that gets one may never commit.
    SequencePromise,
    /// Statistics that were made or updated by themselves.
    Statistics,
    /// How much was modified since statistics were counted.
    Modifications,
    /// Constraints of an older format get ids.
    ConstraintIds,
    /// Databases, files and settings.
    MasterRows,
    /// The log was grown by a statement.
    LogGrowth,
}

impl SystemWork {
    /// Every kind.
    pub const ALL: [SystemWork; 7] = [
        SystemWork::IdentityPromise,
        SystemWork::SequencePromise,
        SystemWork::Statistics,
        SystemWork::Modifications,
        SystemWork::ConstraintIds,
        SystemWork::MasterRows,
        SystemWork::LogGrowth,
    ];

    /// The transaction's name in the log.
    pub fn transaction_name(self) -> &'static str {
        match self {
            SystemWork::IdentityPromise => "IdentityReserve",
            SystemWork::SequencePromise => "SequenceReserve",
            SystemWork::Statistics | SystemWork::Modifications => "AutoStats",
            SystemWork::ConstraintIds => "UpgradeConstraints",
            SystemWork::MasterRows => "MasterRows",
            SystemWork::LogGrowth => "ALTER DATABASE",
        }
    }

    /// Whether it is durable when it is done; a later flush covers the others: that of the commit that needs the number, say.
    fn is_flushed(self) -> bool {
        matches!(self, SystemWork::MasterRows | SystemWork::SequencePromise)
    }
}

/// The turn of one piece of work. It is over when this is dropped.
#[must_use]
pub struct SystemTurn {
    locks: LockOwner,
}

impl SystemTurn {
    /// Locks something else for the work, if it is free.
    pub(super) fn try_lock(&self, resource: Resource) -> bool {
        self.locks.try_lock(resource, Mode::X)
    }
}

/// The outcome of work that is skipped if another session is in the way.
pub(super) fn unless_locked(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.number == Error::lock_timeout().number => Ok(()),
        outcome => outcome,
    }
}

impl Database {
    /// The lock of the system's work. A shared holder keeps such work out, and waits for no other lock from then on.
    pub fn system_work_lock(&self) -> Resource {
        Resource::Object(self.id, SYSTEM_WORK_OBJECT)
    }

    /// Waits for the turn as the owner given would wait, and with nothing of what that owner holds.
    ///
    /// # Errors
    /// 1222 and 3617 of waiting.
    pub(crate) fn system_turn(&self, of: &LockOwner) -> Result<SystemTurn> {
        let locks = of.beside();
        locks.lock(self.system_work_lock(), Mode::SIX)?;
        locks.set_timeout_ms(0);
        Ok(SystemTurn { locks })
    }

    /// The turn, if it is free.
    pub(super) fn try_system_turn(&self) -> Option<SystemTurn> {
        let locks = self.internal_locks.another();
        let is_free = locks.try_lock(self.system_work_lock(), Mode::SIX);
        is_free.then_some(SystemTurn { locks })
    }

    /// Changes the catalog outside of any user's transaction: done, or not, when this returns.
    ///
    /// # Errors
    /// Those of `work` and of the transaction: 1222 where a row is not free, 9001, 9002.
    pub(crate) fn change_catalog<T>(
        &self,
        turn: &SystemTurn,
        work: SystemWork,
        change: impl FnOnce(&mut StoreContext<'_>) -> Result<T>,
    ) -> std::result::Result<T, NotStored> {
        let outcome = self.system_transaction(turn, work, change);
        self.catalog.finish(0, outcome.is_ok());
        outcome.map_err(|failed| NotStored {
            error: self.explain(failed.error),
            ..failed
        })
    }

    /// A transaction that changes nothing: the log that a statement has grown gets a record of its own, so that the VLFs of the next growth
    /// have another create LSN than these, by which tools tell growths apart.
    ///
    /// # Errors
    /// Those of the log.
    pub fn mark_log_growth(&self) -> Result<()> {
        let name = SystemWork::LogGrowth.transaction_name();
        let mut chain = self.transactions.begin(&self.storage, 0, name, None)?;
        self.transactions.commit_system(&self.storage, &mut chain).map(|_| ())
    }

    /// Runs `change` in a transaction: committed when it succeeds, rolled back when it fails.
    fn system_transaction<T>(
        &self,
        turn: &SystemTurn,
        work: SystemWork,
        change: impl FnOnce(&mut StoreContext<'_>) -> Result<T>,
    ) -> std::result::Result<T, NotStored> {
        let name = work.transaction_name();
        let mut chain = self.transactions.begin(&self.storage, 0, name, None)?;
        let changed = change(&mut self.context(&mut chain, &turn.locks));
        let (outcome, ended) = match changed {
            Ok(value) if work.is_flushed() => {
                (Ok(value), self.transactions.commit(&self.storage, &mut chain).map(drop))
            }
            Ok(value) => {
                let committed = self.transactions.commit_system(&self.storage, &mut chain);
                (Ok(value), committed.map(drop))
            }
            Err(error) => {
                let undone = self.transactions.roll_back(&self.storage, &self.space, &mut chain);
                let undone = undone.and_then(|undone| match undone.is_complete {
                    true => Ok(()),
                    false => Err(Error::shutdown_in_progress()),
                });
                (Err(error.into()), undone)
            }
        };
        if let Err(error) = ended {
            // The outcome of the rows is unknown. The turn is released: the next work finds the rows locked, and does not wait.
            turn.locks.unlock(self.system_work_lock());
            self.leave_locked(&chain, &turn.locks, &error);
            let is_unknown = true;
            return Err(NotStored { error, is_unknown });
        }
        outcome
    }
}
