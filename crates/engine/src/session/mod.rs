//! A session: one user's locks and transaction, across the databases it touches.
//!
//! ```text
//! begin --> (statement: mark, work, on error back to the mark)* --> commit: log records, flush, release locks
//!                                                               \-> roll back: undo, release locks
//! ```
//! A transaction writes its Begin record in a database when it first changes something there. One that spans databases
//! commits in each in turn, in the order it touched them; see the README for what that means after a crash.
//!
//! Invariant: locks of a transaction are released only after its end is durable (commit) or complete (rollback).

mod definition;
mod parts;
mod table;

pub use parts::{PutAside, TableParts};
pub use table::{Bound, KeyRange, Table, TableFill, TableScan};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::log::TransactionChain;
use crate::store::StoreContext;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vlf::Lsn;

/// What a session may see of others' changes, and what it keeps locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Everything, committed or not.
    ReadUncommitted,
    /// Only what is committed at the moment of reading. The default.
    ReadCommitted,
    /// As READ COMMITTED, and rows read stay locked.
    RepeatableRead,
    /// As REPEATABLE READ, with the whole table locked against new rows.
    Serializable,
    /// What was committed when the transaction began. No database keeps versions of rows, so it reads no table but temporary ones.
    Snapshot,
}

/// The session's transaction in one database.
struct Part {
    database: Arc<Database>,
    chain: TransactionChain,
}

/// A place in the session's transaction to which [`Session::roll_back_to`] can return.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    places: Vec<(u16, Lsn, usize)>,
}

/// One user's locks and transaction.
pub struct Session {
    /// `session_id` (spid), 51 and above for users.
    pub id: u16,
    locks: Arc<LockOwner>,
    cancel: Arc<AtomicBool>,
    parts: Vec<Part>,
    in_transaction: bool,
    isolation: Isolation,
    using: Option<u16>,
}

impl Session {
    pub(crate) fn new(id: u16, locks: Arc<LockOwner>, cancel: Arc<AtomicBool>) -> Session {
        Session {
            id,
            locks,
            cancel,
            parts: Vec::new(),
            in_transaction: false,
            isolation: Isolation::ReadCommitted,
            using: None,
        }
    }

    /// The session's locks.
    pub fn locks(&self) -> &Arc<LockOwner> {
        &self.locks
    }

    /// Set by anyone to end what the session is doing, with error 3617.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.clone()
    }

    /// Errors with 3617 when the session was asked to stop.
    pub fn check_cancelled(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(Error::cancelled())
        } else {
            Ok(())
        }
    }

    /// SET TRANSACTION ISOLATION LEVEL.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// The isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Makes `database` the session's own: it holds a shared lock on it, and on no other.
    ///
    /// Errors: 924 when somebody has it for himself.
    pub fn use_database(&mut self, database: &Database) -> Result<()> {
        if self.using == Some(database.id) {
            return Ok(());
        }
        if !self.locks.try_lock(Resource::Database(database.id), Mode::S) {
            return Err(Error::single_user(&database.name()));
        }
        if let Some(former) = self.using.replace(database.id) {
            self.locks.unlock(Resource::Database(former));
        }
        Ok(())
    }

    /// True between [`Session::begin`] and its end.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// True when the transaction has changed anything.
    pub fn has_changes(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Begins a transaction; inside one, nothing changes.
    pub fn begin(&mut self) {
        self.in_transaction = true;
    }

    /// A place to which the transaction can be rolled back.
    pub fn mark(&self) -> Mark {
        let place = |part: &Part| (part.database.id, part.chain.last, part.database.catalog.mark(self.id));
        Mark {
            places: self.parts.iter().map(place).collect(),
        }
    }

    /// Takes back everything since `mark`; locks stay.
    pub fn roll_back_to(&mut self, mark: &Mark) -> Result<()> {
        for part in &mut self.parts {
            let place = mark.places.iter().find(|place| place.0 == part.database.id);
            let (target, catalog_mark) = place.map_or((part.chain.first, 0), |place| (place.1, place.2));
            if part.chain.last > target {
                let database = &part.database;
                crate::txn::roll_back_to(&database.storage, &database.space, &mut part.chain, target, self.id)?;
                let orphans = database.catalog.take_back(self.id, catalog_mark);
                database.free_storage(&orphans)?;
            }
        }
        Ok(())
    }

    /// Ends the transaction: everything it did is durable when this returns.
    ///
    /// Errors: when a database cannot make its commit durable; its part is decided by recovery, the rest is rolled back.
    pub fn commit(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        // The next transaction uses the list's memory again.
        let mut parts = std::mem::take(&mut self.parts);
        for Part { database, mut chain } in parts.drain(..) {
            let ended = match outcome {
                Ok(()) => database
                    .transactions
                    .commit(&database.storage, &mut chain)
                    .map(|_| true),
                Err(_) => database
                    .transactions
                    .roll_back(&database.storage, &database.space, &mut chain)
                    .map(|_| false),
            };
            let committed = *ended.as_ref().unwrap_or(&false);
            let orphans = database.catalog.finish(self.id, committed);
            let freed = database.free_storage(&orphans);
            outcome = outcome.and(ended.map(|_| ())).and(freed);
        }
        self.parts = parts;
        self.end();
        outcome
    }

    /// Takes back everything the transaction did.
    pub fn roll_back(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for mut part in std::mem::take(&mut self.parts) {
            let database = part.database.clone();
            let undone = database
                .transactions
                .roll_back(&database.storage, &database.space, &mut part.chain);
            let orphans = database.catalog.finish(self.id, false);
            let freed = database.free_storage(&orphans);
            outcome = outcome.and(undone.map(|_| ())).and(freed);
        }
        self.end();
        outcome
    }

    fn end(&mut self) {
        self.in_transaction = false;
        self.locks.release_transaction(self.using);
    }

    /// Runs `work` with what is needed to change rows of `database`, as part of the session's transaction.
    ///
    /// Errors: those of `work`, with the reason filled into 9002.
    pub fn write<T>(
        &mut self,
        database: &Arc<Database>,
        work: impl FnOnce(&mut StoreContext<'_>) -> Result<T>,
    ) -> Result<T> {
        if database.is_standby() {
            return Err(Error::database_is_read_only(&database.name()));
        }
        let place = match self.parts.iter().position(|part| part.database.id == database.id) {
            Some(place) => place,
            None => {
                // Nobody may drop a database while a transaction is in it.
                self.locks.lock(Resource::Database(database.id), Mode::S)?;
                let begun =
                    database
                        .transactions
                        .begin(&database.storage, self.id, "user_transaction", Some(&self.locks));
                let chain = begun.map_err(|error| database.explain(error))?;
                self.parts.push(Part {
                    database: database.clone(),
                    chain,
                });
                self.parts.len() - 1
            }
        };
        let part = &mut self.parts[place];
        let outcome = work(&mut part.database.context(&mut part.chain, &self.locks));
        // Whoever has logged least is the cheapest victim of a deadlock.
        self.locks
            .set_log_bytes(self.parts.iter().map(|part| part.chain.reserved_bytes).sum());
        outcome.map_err(|error| database.explain(error))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A session that ends takes back what it did not commit. What fails here, recovery does.
        if self.roll_back().is_err() {
            self.parts.clear();
        }
    }
}
