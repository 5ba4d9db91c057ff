//! A session: one user's locks and transaction, across the databases it touches.
//!
//! ```text
//! begin --> (statement: mark, work, on error back to the mark)* --> commit: log records, flush, release locks
//!                                                               \-> roll back: undo, release locks
//! ```
//! A transaction writes its Begin record in a database when it first changes something there. One that spans databases commits in all of
//! them or in none ([`crate::database::Decisions`]).
//!
//! Invariant: locks of a transaction are released only after its end is durable (commit) or complete (rollback). If neither is possible,
//! the locks stay ([`Database::leave_locked`]).

mod clone;
mod commit;
mod definition;
mod filegroups;
mod fill;
mod index_scan;
mod key_length;
mod large;
mod lookup;
mod partition_changes;
mod partitioned;
mod parts;
mod property;
mod security;
mod shrink;
mod statistics;
mod table;
mod table_scan;
mod versions;
mod view_rows;

pub use commit::CommittedMark;
pub use definition::with_current_definitions;
pub use filegroups::rowset_id;
pub use fill::TableFill;
pub use index_scan::{EntryColumns, IndexEntry, IndexScan, RowReader};
pub use key_length::{key_bytes_max, key_bytes_range};
pub use partition_changes::{RebuiltPart, matching_indexes};
pub use partitioned::PartitionScan;
pub use parts::{PutAside, TableParts};
pub use shrink::{Moving, Stayed};
pub use statistics::{
    CountPlan, Sampling, all_statistics, columns_of_index, leading_of, next_stats_id, statistics_of_index,
    tell_if_fatal, update_statistics_aside,
};
pub use table::{Bound, KeyRange, Table};
pub use table_scan::TableScan;

use crate::cancel;
use crate::catalog::{MASTER, TableDefinition};
use crate::database::{Database, FormerIdentity};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::log::{LogMark, TransactionChain};
use crate::store::StoreContext;
use crate::versions::VersionStore;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use vlf::Lsn;

/// The name of a transaction that was given none.
pub const USER_TRANSACTION: &str = "user_transaction";

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
    /// What was committed when the transaction first read, in databases that allow it: by versions of rows, without locks.
    Snapshot,
}

/// The session's transaction in one database.
struct Part {
    database: Arc<Database>,
    chain: TransactionChain,
    /// It took row versions, so the database learns when it ends.
    has_row_versions: bool,
    /// Identities that TRUNCATE TABLE made begin again, as they were: a rollback puts them back, the last one first.
    former_identities: Vec<FormerIdentity>,
    /// It keeps versions of the rows it changes.
    keeps_versions: bool,
}

impl Part {
    /// Undoes what TRUNCATE TABLE did to identities after the first `kept` times.
    fn restore_identities(&mut self, kept: usize) {
        while self.former_identities.len() > kept {
            if let Some(former) = self.former_identities.pop() {
                self.database.restore_identity(former);
            }
        }
    }
}

/// A place in the session's transaction in one database.
#[derive(Debug, Clone, Copy)]
struct Place {
    database: u16,
    last: Lsn,
    catalog: usize,
    former_identities: usize,
}

impl Part {
    /// # Errors
    /// 9001 after a failure of the log, 6005 when the instance stops and leaves the rest to its next start.
    fn undo(&mut self, session: u16) -> Result<()> {
        let database = &self.database;
        // The pages and the log on disk may be another opening's by now.
        database.storage.log.check_intact()?;
        // No checkpoint carries its changes forward from here on.
        let _stays = self.chain.begin_rollback();
        let pages = (&*database.storage, &database.space);
        if database.transactions.mark(pages, &mut self.chain) {
            return Ok(());
        }
        let doomed = database.catalog.units_made_since(session, 0);
        let undone =
            database
                .transactions
                .roll_back_with(&database.storage, &database.space, &mut self.chain, &doomed)?;
        if undone.is_complete {
            Ok(())
        } else {
            Err(Error::shutdown_in_progress())
        }
    }
}

/// A place in the session's transaction to which [`Session::roll_back_to`] can return.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    places: Vec<Place>,
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
    /// The databases that what runs inside of something else was called in, outermost first. They stay locked until it has come back.
    called_in: Vec<u16>,
    /// A rollback to a savepoint was left to the next start: the transaction must not commit.
    is_left_to_recovery: bool,
    /// What its transaction is called.
    transaction_name: Cow<'static, str>,
    /// The mark that its Commits get.
    log_mark: Option<LogMark>,
    /// Marks that its last transactions have left in logs, until they are taken.
    committed_marks: Vec<CommittedMark>,
    /// What the transaction has to do with versions of rows.
    versions: versions::OfTransaction,
}

impl Session {
    pub(crate) fn new(
        id: u16,
        locks: Arc<LockOwner>,
        cancel: Arc<AtomicBool>,
        versions: &Arc<VersionStore>,
    ) -> Session {
        Session {
            id,
            locks,
            cancel,
            parts: Vec::new(),
            in_transaction: false,
            isolation: Isolation::ReadCommitted,
            using: None,
            called_in: Vec::new(),
            is_left_to_recovery: false,
            transaction_name: Cow::Borrowed(USER_TRANSACTION),
            log_mark: None,
            committed_marks: Vec::new(),
            versions: versions::OfTransaction::new(versions),
        }
    }

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

    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Makes `database` the session's own: it holds a shared lock on it, and on no other but those that it comes back to
    /// ([`Session::enter_database`]).
    ///
    /// # Errors
    /// 924 when another session has it exclusively, 952 when it was closed since it was found.
    pub fn use_database(&mut self, database: &Database) -> Result<()> {
        if self.using == Some(database.id) {
            return Ok(());
        }
        let resource = Resource::Database(database.id);
        let was_held = self.locks.mode_of(&resource).is_some();
        if !self.locks.try_lock(resource, Mode::S) {
            return Err(Error::single_user(&database.name()));
        }
        if let Err(closed) = database.check_open() {
            if !was_held {
                self.locks.unlock(resource);
            }
            return Err(closed);
        }
        if let Some(former) = self.using.replace(database.id) {
            self.let_go(former);
        }
        Ok(())
    }

    /// Goes on in another database, and comes back to its own by [`Session::leave_database`]: until then that one stays locked, so that nobody gets
    /// into it under SINGLE_USER, and nobody drops it.
    ///
    /// # Errors
    /// Those of [`Session::use_database`].
    pub fn enter_database(&mut self, database: &Database) -> Result<()> {
        let depth = self.called_in.len();
        // Where it is the last already, it stays locked as it is: USE to and fro in a loop adds no depth.
        if self.called_in.last() != self.using.as_ref() {
            self.called_in.extend(self.using);
        }
        let entered = self.use_database(database);
        if entered.is_err() {
            self.called_in.truncate(depth);
        }
        entered
    }

    /// How many databases the session comes back to: what [`Session::leave_database`] takes.
    pub fn databases_called_in(&self) -> usize {
        self.called_in.len()
    }

    /// Comes back to a database that it has entered others from since there were `depth` to come back to.
    ///
    /// # Errors
    /// Those of [`Session::use_database`], where what was called has given up the database.
    pub fn leave_database(&mut self, database: &Database, depth: usize) -> Result<()> {
        let is_held = self.uses(database.id);
        let left = self.called_in.split_off(depth.min(self.called_in.len()));
        let back = match is_held {
            true => {
                let inner = self.using.replace(database.id);
                inner.into_iter().for_each(|id| self.let_go(id));
                database.check_open()
            }
            false => self.use_database(database),
        };
        left.into_iter().for_each(|id| self.let_go(id));
        back
    }

    fn uses(&self, id: u16) -> bool {
        self.using == Some(id) || self.called_in.contains(&id)
    }

    fn let_go(&self, id: u16) {
        if !self.uses(id) {
            self.locks.unlock(Resource::Database(id));
        }
    }

    /// Keeps a database from being closed, dropped or replaced until the answer is dropped: for a statement that reads it by other ways
    /// than a table's.
    ///
    /// # Errors
    /// 952 when it was closed since it was found; 1222 and 3617 of waiting for the session that has it exclusively.
    pub fn hold(&self, database: &Database) -> Result<InUse> {
        let resource = Resource::Database(database.id);
        let was_held = self.locks.mode_of(&resource).is_some();
        self.locks.lock(resource, Mode::S)?;
        let in_use = InUse {
            locks: self.locks.clone(),
            resource,
            was_held,
        };
        database.check_open().map(|()| in_use)
    }

    /// A database for this session alone, until the answer is dropped; `None` while another one uses it.
    pub fn alone_in(&self, database: &Database) -> Option<Alone> {
        let resource = Resource::Database(database.id);
        let before = self.locks.mode_of(&resource);
        let is_alone = self.locks.try_lock(resource, Mode::X);
        is_alone.then(|| Alone {
            locks: self.locks.clone(),
            resource,
            before,
        })
    }

    /// True between [`Session::begin`] and its end.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Begins a transaction; inside one, nothing changes.
    pub fn begin(&mut self) {
        self.begin_named(USER_TRANSACTION);
    }

    /// As [`Session::begin`], under a name that its records and views show.
    pub fn begin_named(&mut self, name: impl Into<Cow<'static, str>>) {
        if !self.in_transaction {
            self.transaction_name = name.into();
        }
        self.in_transaction = true;
    }

    /// A place to which the transaction can be rolled back.
    pub fn mark(&self) -> Mark {
        let place = |part: &Part| Place {
            database: part.database.id,
            last: part.chain.last,
            catalog: part.database.catalog.mark(self.id),
            former_identities: part.former_identities.len(),
        };
        Mark {
            places: self.parts.iter().map(place).collect(),
        }
    }

    /// Undoes everything since `mark`; locks stay.
    ///
    /// # Errors
    /// 6005 when the instance stops and leaves the rest to its next start.
    pub fn roll_back_to(&mut self, mark: &Mark) -> Result<()> {
        cancel::shield(|| self.take_back_to(mark))
    }

    fn take_back_to(&mut self, mark: &Mark) -> Result<()> {
        for part in &mut self.parts {
            part.database.storage.log.check_intact()?;
            let place = mark.places.iter().find(|place| place.database == part.database.id);
            let place = place.copied().unwrap_or(Place {
                database: part.database.id,
                last: part.chain.first,
                catalog: 0,
                former_identities: 0,
            });
            if part.chain.last > place.last {
                let database = part.database.clone();
                let target = (place.last, self.id);
                let doomed = database.catalog.units_made_since(self.id, place.catalog);
                let undone = database.transactions.roll_back_to(
                    &database.storage,
                    &database.space,
                    &mut part.chain,
                    target,
                    &doomed,
                )?;
                if !undone.is_complete {
                    self.is_left_to_recovery = true;
                    return Err(Error::shutdown_in_progress());
                }
                part.restore_identities(place.former_identities);
                let orphans = database.catalog.take_back(self.id, place.catalog);
                database.free_storage(&orphans)?;
            }
        }
        Ok(())
    }

    /// Ends the transaction: everything it did is durable when this returns.
    ///
    /// # Errors
    /// When a database cannot make its commit durable; its part is decided by recovery. Of several databases, all have committed then or
    /// will (`database::decisions`), or all are rolled back.
    pub fn commit(&mut self) -> Result<()> {
        cancel::shield(|| self.end_parts())
    }

    fn end_parts(&mut self) -> Result<()> {
        if self.is_left_to_recovery {
            return Err(Error::shutdown_in_progress());
        }
        // What cannot be committed in one of several databases is committed in none, as far as that is known beforehand.
        let intact = |part: &Part| part.database.storage.log.check_intact();
        let mut outcome = self.parts.iter().try_for_each(intact).and_then(|()| self.note_mark());
        let mut decided = None;
        if outcome.is_ok() {
            match self.decide() {
                Ok(decision) => decided = decision,
                Err(failed) if failed.is_unknown => {
                    outcome = Err(self.end_undecided(failed.error));
                    self.end_versions(false, &outcome);
                    self.end();
                    return outcome;
                }
                Err(failed) => outcome = Err(failed.error),
            }
        }
        let decisions = decided.and_then(|_| Some(self.parts.first()?.database.decisions.clone()));
        // The next transaction uses the list's memory again.
        let mut parts = std::mem::take(&mut self.parts);
        let mut is_committed = false;
        for mut part in parts.drain(..) {
            let is_over = decided.is_some_and(|decided| decided.is_committed_in_master) && part.database.id == MASTER;
            let committed = match &outcome {
                _ if is_over => Ok(true),
                Err(_) if decided.is_none() => part.undo(self.id).map(|_| false),
                _ => self.commit_part(&mut part).map(|()| true),
            };
            is_committed |= matches!(committed, Ok(true));
            self.note_redefined(&part, matches!(committed, Ok(true)));
            outcome = outcome.and(self.end_part(&mut part, committed));
        }
        self.parts = parts;
        self.end_versions(is_committed, &outcome);
        self.end();
        // The row of a decision may have been this transaction's own: it is free for others from here on.
        self.complete(decided, decisions.as_deref(), &outcome);
        outcome
    }

    /// Undoes everything the transaction did.
    ///
    /// # Errors
    /// 6005 when the instance stops and leaves the rest to its next start.
    pub fn roll_back(&mut self) -> Result<()> {
        cancel::shield(|| self.take_back_all())
    }

    fn take_back_all(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        for mut part in std::mem::take(&mut self.parts) {
            let undone = part.undo(self.id).map(|_| false);
            outcome = outcome.and(self.end_part(&mut part, undone));
        }
        self.end_versions(false, &outcome);
        self.end();
        outcome
    }

    /// The session's part in a database is over, committed or not; or it could not be ended: then what it has locked there stays
    /// locked, for nobody knows, or nobody may see, what it changed.
    fn end_part(&self, part: &mut Part, ended: Result<bool>) -> Result<()> {
        let committed = *ended.as_ref().unwrap_or(&false);
        if !committed {
            part.restore_identities(0);
        }
        let database = &part.database;
        let orphans = database.catalog.finish(self.id, committed);
        if let Err(error) = ended {
            database.leave_locked(&part.chain, &self.locks, &error);
            return Err(error);
        }
        if part.has_row_versions {
            database.end_row_versions(part.chain.id);
        }
        database.free_storage(&orphans)
    }

    /// Gives back what was locked outside of any transaction: by a statement that needed none, or failed before it began one.
    pub fn release_outside_transaction(&mut self) {
        if !self.in_transaction && self.parts.is_empty() {
            self.versions.forget_snapshot();
            self.locks.release_transaction(|id| self.uses(id));
        }
    }

    fn end(&mut self) {
        self.in_transaction = false;
        self.log_mark = None;
        self.versions.forget_snapshot();
        self.locks.release_transaction(|id| self.uses(id));
    }

    /// Lets the identity of a table begin again, until a rollback of the transaction, which has changed the table already.
    pub fn restart_identity(&mut self, database: &Arc<Database>, table: &TableDefinition) {
        let part = self.parts.iter_mut().find(|part| part.database.id == database.id);
        if let (Some((_, identity)), Some(part)) = (table.identity(), part) {
            let former = database.restart_identity(table, identity);
            part.former_identities.push(former);
        }
    }

    /// The next value for a `rowversion` column of `database`, which the session's transaction has until it ends.
    ///
    /// # Errors
    /// Those of [`Session::write`] and [`Database::new_row_version`].
    pub fn new_row_version(&mut self, database: &Arc<Database>) -> Result<u64> {
        let id = self.write(database, |ctx| Ok(ctx.chain.id))?;
        let version = database.new_row_version(Some(id))?;
        if let Some(part) = self.parts.iter_mut().find(|part| part.database.id == database.id) {
            part.has_row_versions = true;
        }
        Ok(version)
    }

    /// Runs `work` with what is needed to change rows of `database`, as part of the session's transaction.
    ///
    /// # Errors
    /// Those of `work`, with the reason filled into 9002.
    pub fn write<T>(
        &mut self,
        database: &Arc<Database>,
        work: impl FnOnce(&mut StoreContext<'_>) -> Result<T>,
    ) -> Result<T> {
        database.check_writable()?;
        let place = match self.parts.iter().position(|part| part.database.id == database.id) {
            Some(place) => place,
            None => {
                // A database cannot be dropped while a transaction is in it.
                self.locks.lock(Resource::Database(database.id), Mode::S)?;
                database.check_open()?;
                database.note_lock_information()?;
                database.take_back_inline();
                database.make_log_room()?;
                let name = match self.in_transaction {
                    true => self.transaction_name.clone(),
                    false => Cow::Borrowed(USER_TRANSACTION),
                };
                let begun = database
                    .transactions
                    .begin(&database.storage, self.id, name, Some(&self.locks));
                let chain = begun.map_err(|error| database.explain(error))?;
                let keeps_versions = self.begin_versions(database, chain.first);
                let mut part = Part {
                    database: database.clone(),
                    chain,
                    has_row_versions: false,
                    former_identities: Vec::new(),
                    keeps_versions,
                };
                part.make_room_for(self.log_mark.as_ref());
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        let part = &mut self.parts[place];
        if !Arc::ptr_eq(&part.database, database) {
            // The database was closed by a failure and opened again since: the transaction cannot go on in it.
            return Err(Error::log_not_available(&database.name()));
        }
        let mut context = part.database.context(&mut part.chain, &self.locks);
        if part.keeps_versions {
            context.versions = self.versions.versioning(self.isolation);
        }
        let outcome = work(&mut context);
        // The session that has logged least is the cheapest victim of a deadlock.
        self.locks
            .set_log_bytes(self.parts.iter().map(|part| part.chain.reserved_bytes).sum());
        outcome.map_err(|error| database.explain(database.name_full_unit(error, self.id)))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A session that ends undoes what it did not commit. What fails here, recovery does.
        if self.roll_back().is_err() {
            self.parts.clear();
        }
    }
}

/// A database that a session has for itself; see [`Session::alone_in`].
#[must_use]
pub struct Alone {
    locks: Arc<LockOwner>,
    resource: Resource,
    before: Option<Mode>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.locks.end_of_statement(self.resource, Mode::X, self.before);
    }
}

/// A database that a statement uses; see [`Session::hold`].
#[must_use]
pub struct InUse {
    locks: Arc<LockOwner>,
    resource: Resource,
    was_held: bool,
}

impl InUse {
    /// Holds a database for a reader without a session; `None` where it would have to wait, or the database is closed.
    pub(crate) fn at_once(locks: LockOwner, database: &Database) -> Option<InUse> {
        let in_use = InUse {
            locks: Arc::new(locks),
            resource: Resource::Database(database.id),
            was_held: false,
        };
        let is_held = in_use.locks.try_lock(in_use.resource, Mode::S);
        (is_held && database.check_open().is_ok()).then_some(in_use)
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        if !self.was_held {
            self.locks.unlock(self.resource);
        }
    }
}
