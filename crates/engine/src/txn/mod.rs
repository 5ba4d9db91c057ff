//! Transactions of one database: numbers, the table of open transactions, commit, rollback and savepoints.
//!
//! A transaction is a chain of log records, newest to oldest; [`TransactionTable`] has the ends of every unfinished chain. Other code
//! depends on three things from it: the oldest record that a rollback may still read (the log must keep it), the list that a checkpoint
//! writes, and `storage.oldest_active`, from which readers and writers of pages know what is certainly committed.
//!
//! What a rollback reads may have been carried forward in the log (`database::carry`), so a transaction may need less of the log than
//! its first record suggests. Visibility still depends on the first record.
//!
//! Invariants:
//! - A transaction has an entry before its Begin record is appended, and shows its first LSN ([`ChainEnd::first`]) before the log's mutex
//!   is released. So after reading a position in the log, this table shows every transaction whose Begin is before that position.
//! - `oldest_active` is at most a transaction's first LSN before it changes its first page.
//! - It leaves the table after its Commit record is durable (or its Abort record is logged) and before its locks are released.
//! - Rollback cannot fail because the log is full. Its space was reserved when the change was logged. For the one case without a
//!   reservation, pages split off from a bulk fill, the log grows past MAXSIZE (`store/tree/undo.rs`).
//!
//! The table is not locked while Begin is appended, because the append may wait for a growth of the log, and every ending transaction locks
//! the table. An entry without a first LSN is not visible yet. If a Begin is being appended, this affects readers of the table as follows:
//!
//! | reader | the Begin, if not seen, is | why that is safe |
//! |---|---|---|
//! | a checkpoint, after its CheckpointBegin | after that | analysis finds it |
//! | truncation and a backup, after reading where redo starts | after the CheckpointBegin of that checkpoint | the log is kept from there |
//! | a thread that publishes `oldest_active`, perhaps a later LSN | anywhere | the transaction publishes again before its first page |
//!
//! A rollback may be over before its changes are taken back (`marked`): the transaction then stays in the table without a session.
//!
//! The reserve is taken under the log's mutex together with the record, and becomes visible with it.

mod active;
mod marked;
mod rollback;
#[cfg(test)]
mod tests;

use active::Active;
pub use rollback::Undone;
use rollback::{Wanted, roll_back_while};

use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::lock::{LockOwner, WriteLock};
use crate::log::{ChainEnd, RecordKind, TransactionChain, TransactionId, Undoing};
use crate::page::ObjectId;
use crate::seams::DateTimeTicks;
use crate::store::SpaceMap;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use vlf::Lsn;

/// One transaction under way.
#[derive(Debug, Clone)]
pub struct ActiveTransaction {
    /// Its Begin record.
    pub first: Lsn,
    /// Its first and newest record; written by the log at each append.
    pub end: ChainEnd,
    /// The session it belongs to; 0 for the engine's own.
    pub session: u16,
    /// Its name, `user_transaction` unless given.
    pub name: Cow<'static, str>,
    pub begun: DateTimeTicks,
    /// The owner of its locks; none for the engine's own.
    pub owner: Weak<LockOwner>,
}

impl ActiveTransaction {
    /// Its Begin record, if that is in the log.
    fn begun_at(&self) -> Option<Lsn> {
        match self.first {
            Lsn::ZERO => self.end.first(),
            first => Some(first),
        }
    }

    /// From where on its rollback needs the log, if its Begin is in the log.
    pub fn log_needed_from(&self) -> Option<Lsn> {
        self.end.needed_from().or_else(|| self.begun_at())
    }

    /// What it has locked for writing in its database; `None` when that is not all that undo of it would need.
    pub fn write_locks(&self, database: u16) -> Option<Vec<WriteLock>> {
        self.owner.upgrade()?.write_locks(database)
    }
}

/// What a Commit record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// The record's place in the log.
    pub lsn: Lsn,
    /// When the transaction committed.
    pub time: DateTimeTicks,
}

/// The transactions of a database that have logged something and are not finished.
pub struct TransactionTable {
    next: AtomicU64,
    commits: AtomicU64,
    rollbacks: AtomicU64,
    active: Mutex<Active>,
    /// The instance stops: sessions' rollbacks end where they are.
    leaves_undone: AtomicBool,
}

impl TransactionTable {
    /// An empty table; the first transaction gets the number `next`.
    pub fn new(next: u64) -> TransactionTable {
        TransactionTable {
            next: AtomicU64::new(next.max(1)),
            commits: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            active: Mutex::default(),
            leaves_undone: AtomicBool::new(false),
        }
    }

    /// The number the next transaction gets.
    pub fn next_id(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Transactions that were committed and rolled back as a whole since the database was opened, the engine's own among them. One that
    /// changed nothing has logged nothing and is not counted.
    pub fn finished(&self) -> (u64, u64) {
        (
            self.commits.load(Ordering::Relaxed),
            self.rollbacks.load(Ordering::Relaxed),
        )
    }

    /// Makes sure that no later transaction gets a number up to `id`.
    pub fn seen(&self, id: TransactionId) {
        self.next.fetch_max(id.0 + 1, Ordering::Relaxed);
    }

    /// Begins a transaction: enters it and logs its Begin record. `owner` takes every lock for it, or is absent for those of
    /// the engine's own.
    ///
    /// # Errors
    /// 9002 when the log is full; nothing has begun then.
    pub fn begin(
        &self,
        storage: &DatabaseStorage,
        session: u16,
        name: impl Into<Cow<'static, str>>,
        owner: Option<&Arc<LockOwner>>,
    ) -> Result<TransactionChain> {
        let name = name.into();
        let id = TransactionId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut chain = TransactionChain::new(id);
        if storage.has_links() {
            chain.set_undoing(Undoing::ByPage);
        }
        let begun = storage.env.clock.wall_ticks();
        let entry = ActiveTransaction {
            first: Lsn::ZERO,
            end: chain.end.clone(),
            session,
            name: name.clone(),
            begun,
            owner: owner.map(Arc::downgrade).unwrap_or_default(),
        };
        self.active.lock().insert(id, entry);
        let payload = [
            &begun.days.to_le_bytes()[..],
            &begun.ticks.to_le_bytes()[..],
            name.as_bytes(),
            &[0],
            &session.to_le_bytes()[..],
        ];
        let appended = storage.log.append(&mut chain, RecordKind::Begin, &payload, 0);
        let mut active = self.active.lock();
        match appended {
            Ok(first) => active.begun(id, first),
            Err(error) => {
                active.remove(id);
                return Err(error);
            }
        }
        publish_oldest(storage, &active);
        Ok(chain)
    }

    /// Enters a transaction that recovery found unfinished; `owner` takes its locks.
    pub fn adopt(&self, storage: &DatabaseStorage, chain: &TransactionChain, owner: &Arc<LockOwner>) {
        let begun = storage.env.clock.wall_ticks();
        let entry = ActiveTransaction {
            first: chain.first,
            end: chain.end.clone(),
            session: 0,
            name: "recovered".into(),
            begun,
            owner: Arc::downgrade(owner),
        };
        let mut active = self.active.lock();
        active.insert(chain.id, entry);
        self.seen(chain.id);
        publish_oldest(storage, &active);
    }

    /// Commits: logs the Commit record and waits until it is durable. The caller releases the locks afterwards.
    ///
    /// # Errors
    /// Whatever kept the record from becoming durable; the transaction's fate is then decided at the next start.
    pub fn commit(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> Result<Lsn> {
        self.commit_marked(storage, chain, &[]).map(|committed| committed.lsn)
    }

    /// As [`TransactionTable::commit`], with a mark as [`crate::log::LogMark::encode`] makes it; empty for none.
    ///
    /// # Errors
    /// As [`TransactionTable::commit`].
    pub fn commit_marked(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        mark: &[u8],
    ) -> Result<Committed> {
        let committed = self.commit_lazily(storage, chain, mark)?;
        storage.log.flush_to(committed.lsn)?;
        self.leave(storage, chain.id);
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(committed)
    }

    /// Logs the Commit record without waiting; for transactions of the engine's own that a later flush covers.
    pub fn commit_system(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> Result<Lsn> {
        let committed = self.commit_lazily(storage, chain, &[])?;
        self.leave(storage, chain.id);
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(committed.lsn)
    }

    fn commit_lazily(&self, storage: &DatabaseStorage, chain: &mut TransactionChain, mark: &[u8]) -> Result<Committed> {
        let time = storage.env.clock.wall_ticks();
        let payload = [&time.days.to_le_bytes()[..], &time.ticks.to_le_bytes()[..], mark];
        let lsn = storage.log.append(chain, RecordKind::Commit, &payload, 0)?;
        Ok(Committed { lsn, time })
    }

    /// From now on rollbacks of sessions stop after the change they are at: the next start undoes the rest.
    pub fn leave_undone(&self) {
        self.leaves_undone.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.leaves_undone.load(Ordering::Relaxed)
    }

    /// Undoes every change of the chain that is newer than the LSN given; the transaction goes on. `place` names the session as
    /// well, which is shown how far it is. The units `doomed` are given back as soon as it is over.
    pub fn roll_back_to(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        (target, session): (Lsn, u16),
        doomed: &HashSet<ObjectId>,
    ) -> Result<Undone> {
        let wanted = Wanted {
            target,
            session,
            doomed,
        };
        roll_back_while(storage, space, chain, wanted, &mut |_| self.goes_on())
    }

    /// Rolls the whole transaction back and logs its end. Incomplete once the instance leaves rollbacks to its next start.
    pub fn roll_back(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
    ) -> Result<Undone> {
        self.roll_back_with(storage, space, chain, &HashSet::new())
    }

    /// As [`TransactionTable::roll_back`], when these units are given back as soon as it is over.
    pub fn roll_back_with(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        doomed: &HashSet<ObjectId>,
    ) -> Result<Undone> {
        self.take_back_all(storage, space, chain, doomed, &mut |_| self.goes_on())
    }

    /// As [`TransactionTable::roll_back`], for as long as `goes_on` says so after a change undone; stopped, the transaction
    /// stays in the table and is rolled back further another time.
    pub fn roll_back_while(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
    ) -> Result<Undone> {
        self.take_back_all(storage, space, chain, &HashSet::new(), goes_on)
    }

    fn take_back_all(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        doomed: &HashSet<ObjectId>,
        goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
    ) -> Result<Undone> {
        if chain.undoing == Undoing::Marked {
            let marked = storage.marked.find(chain);
            let mut changes = 0;
            let is_complete = self.take_back_marked((storage, space), &marked, marked.place(), &mut |chain| {
                changes += 1;
                goes_on(chain)
            })?;
            return Ok(Undone { changes, is_complete });
        }
        let wanted = Wanted {
            target: Lsn::ZERO,
            session: self.session_of(chain.id),
            doomed,
        };
        let undone = roll_back_while(storage, space, chain, wanted, goes_on)?;
        if undone.is_complete {
            let now = storage.env.clock.wall_ticks();
            let payload = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
            storage.log.append(chain, RecordKind::Abort, &payload, 0)?;
            self.leave(storage, chain.id);
            self.rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        Ok(undone)
    }

    /// The locks of a transaction that could not be ended have another owner now.
    pub fn set_owner(&self, id: TransactionId, owner: &Arc<LockOwner>) {
        let mut active = self.active.lock();
        if let Some(entry) = active.get_mut(id) {
            entry.owner = Arc::downgrade(owner);
        }
    }

    /// A transaction goes on without its session, which has released its locks.
    fn detach(&self, id: TransactionId) {
        let mut active = self.active.lock();
        if let Some(entry) = active.get_mut(id) {
            entry.owner = Weak::new();
            entry.session = 0;
        }
    }

    fn session_of(&self, id: TransactionId) -> u16 {
        self.active.lock().get(id).map_or(0, |entry| entry.session)
    }

    fn leave(&self, storage: &DatabaseStorage, id: TransactionId) {
        let mut active = self.active.lock();
        active.remove(id);
        publish_oldest(storage, &active);
    }

    /// Whether no transaction is under way.
    pub fn is_empty(&self) -> bool {
        self.active.lock().oldest().is_none()
    }

    /// The oldest record that the rollback of a transaction under way may have to read.
    pub fn log_needed_from(&self) -> Option<Lsn> {
        let active = self.active.lock();
        active
            .entries()
            .iter()
            .filter_map(|(_, entry)| entry.log_needed_from())
            .min()
    }

    /// A copy of the table, oldest number first: every transaction whose Begin was in the log before the call, and perhaps some
    /// that begin meanwhile.
    pub fn snapshot(&self) -> Vec<(TransactionId, ActiveTransaction)> {
        let active = self.active.lock();
        let begun = active.entries().iter().filter_map(|(id, entry)| {
            let first = entry.begun_at()?;
            Some((*id, ActiveTransaction { first, ..entry.clone() }))
        });
        begun.collect()
    }

    /// Tells readers and writers of pages which transactions are under way, before the first one begins or ends: until then
    /// they take everything for someone's work.
    pub fn publish(&self, storage: &DatabaseStorage) {
        publish_oldest(storage, &self.active.lock());
    }
}

fn publish_oldest(storage: &DatabaseStorage, active: &Active) {
    let oldest = active.oldest();
    storage.oldest_active.store(oldest.unwrap_or_else(|| storage.log.end()));
}
