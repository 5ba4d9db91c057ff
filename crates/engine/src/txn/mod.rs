//! Transactions of one database: numbers, the table of those under way, commit, rollback and savepoints.
//!
//! A transaction is a chain of log records, newest to oldest; [`TransactionTable`] knows the ends of every chain that is
//! not finished. From it come three things others depend on: the oldest record that may still have to be undone (the log
//! must keep it), the list a checkpoint writes down, and `storage.oldest_active`, which tells readers and writers of pages
//! what is certainly committed.
//!
//! Invariants:
//! - A transaction is in the table, and `oldest_active` at most its first LSN, before it changes its first page.
//! - It leaves the table after its Commit record is durable (or its Abort record is logged) and before its locks are released.
//! - Rollback needs no space that was not reserved when the change was logged, and so cannot fail for a full log.

mod rollback;

pub use rollback::{Undone, roll_back_to, roll_back_while};

use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::lock::{LockOwner, WriteLock};
use crate::log::{ChainEnd, RecordKind, TransactionChain, TransactionId};
use crate::seams::DateTimeTicks;
use crate::store::SpaceMap;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use vlf::Lsn;

/// One transaction under way.
#[derive(Debug, Clone)]
pub struct ActiveTransaction {
    /// Its Begin record.
    pub first: Lsn,
    /// Its newest record; written by the log at each append.
    pub end: ChainEnd,
    /// The session it belongs to; 0 for the engine's own.
    pub session: u16,
    /// Its name, `user_transaction` unless given.
    pub name: String,
    /// When it began.
    pub begun: DateTimeTicks,
    /// Who holds its locks; nobody for the engine's own.
    pub owner: Weak<LockOwner>,
}

impl ActiveTransaction {
    /// What it has locked for writing in its database; `None` when that is not all that undo of it would need.
    pub fn write_locks(&self, database: u16) -> Option<Vec<WriteLock>> {
        self.owner.upgrade()?.write_locks(database)
    }
}

/// The transactions of a database that have logged something and are not finished.
pub struct TransactionTable {
    next: AtomicU64,
    active: Mutex<BTreeMap<TransactionId, ActiveTransaction>>,
}

impl TransactionTable {
    /// An empty table; the first transaction gets the number `next`.
    pub fn new(next: u64) -> TransactionTable {
        TransactionTable {
            next: AtomicU64::new(next.max(1)),
            active: Mutex::new(BTreeMap::new()),
        }
    }

    /// The number the next transaction gets.
    pub fn next_id(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Makes sure that no later transaction gets a number up to `id`.
    pub fn seen(&self, id: TransactionId) {
        self.next.fetch_max(id.0 + 1, Ordering::Relaxed);
    }

    /// Begins a transaction: logs its Begin record and enters it. `owner` takes every lock for it, or is absent for those of
    /// the engine's own.
    ///
    /// Errors: 9002 when the log is full; nothing has begun then.
    pub fn begin(
        &self,
        storage: &DatabaseStorage,
        session: u16,
        name: &str,
        owner: Option<&Arc<LockOwner>>,
    ) -> Result<TransactionChain> {
        let id = TransactionId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut chain = TransactionChain::new(id);
        let begun = storage.env.clock.wall_ticks();
        // The table is locked over the append, so that a checkpoint which begins after this record also sees the entry.
        let mut active = self.active.lock();
        let payload = [
            &begun.days.to_le_bytes()[..],
            &begun.ticks.to_le_bytes()[..],
            name.as_bytes(),
        ];
        let first = storage.log.append(&mut chain, RecordKind::Begin, &payload, 0)?;
        active.insert(
            id,
            ActiveTransaction {
                first,
                end: chain.end.clone(),
                session,
                name: name.to_string(),
                begun,
                owner: owner.map(Arc::downgrade).unwrap_or_default(),
            },
        );
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
            name: "recovered".to_string(),
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
    /// Errors: whatever kept the record from becoming durable; the transaction's fate is then decided at the next start.
    pub fn commit(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> Result<Lsn> {
        let lsn = self.commit_lazily(storage, chain)?;
        storage.log.flush_to(lsn)?;
        self.leave(storage, chain.id);
        Ok(lsn)
    }

    /// Logs the Commit record without waiting; for transactions of the engine's own that a later flush covers.
    pub fn commit_system(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> Result<Lsn> {
        let lsn = self.commit_lazily(storage, chain)?;
        self.leave(storage, chain.id);
        Ok(lsn)
    }

    fn commit_lazily(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> Result<Lsn> {
        let now = storage.env.clock.wall_ticks();
        let payload = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
        storage.log.append(chain, RecordKind::Commit, &payload, 0)
    }

    /// Rolls the whole transaction back and logs its end.
    pub fn roll_back(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
    ) -> Result<Undone> {
        self.roll_back_while(storage, space, chain, &mut |_| true)
    }

    /// As [`TransactionTable::roll_back`], for as long as `goes_on` says so after a change taken back; stopped, the transaction
    /// stays in the table and is rolled back further another time.
    pub fn roll_back_while(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
    ) -> Result<Undone> {
        let session = self.session_of(chain.id);
        let undone = roll_back_while(storage, space, chain, (Lsn::ZERO, session), goes_on)?;
        if undone.is_complete {
            storage.log.append(chain, RecordKind::Abort, &[], 0)?;
            self.leave(storage, chain.id);
        }
        Ok(undone)
    }

    fn session_of(&self, id: TransactionId) -> u16 {
        self.active.lock().get(&id).map_or(0, |entry| entry.session)
    }

    fn leave(&self, storage: &DatabaseStorage, id: TransactionId) {
        let mut active = self.active.lock();
        active.remove(&id);
        publish_oldest(storage, &active);
    }

    /// The first record of the oldest transaction under way.
    pub fn oldest(&self) -> Option<Lsn> {
        self.active.lock().values().map(|entry| entry.first).min()
    }

    /// A copy of the table, oldest number first.
    pub fn snapshot(&self) -> Vec<(TransactionId, ActiveTransaction)> {
        self.active
            .lock()
            .iter()
            .map(|(id, entry)| (*id, entry.clone()))
            .collect()
    }
}

fn publish_oldest(storage: &DatabaseStorage, active: &BTreeMap<TransactionId, ActiveTransaction>) {
    let oldest = active.values().map(|entry| entry.first).min();
    storage.oldest_active.store(oldest.unwrap_or_else(|| storage.log.end()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::instance::{CreateDatabase, Instance, InstanceOptions};
    use crate::log::LogPolicy;
    use crate::seams::{Background, Environment, ManualClock};
    use disk::sim::{CutPolicy, SimDisk};
    use std::sync::Arc;

    fn start(disk: &SimDisk) -> Arc<Instance> {
        let clock = Arc::new(ManualClock::starting_at(0));
        let env = Environment {
            disk: Arc::new(disk.clone()),
            errorlog: Arc::new(crate::errorlog::ErrorLog::new(clock.clone())),
            clock,
            background: Background::Inline,
            waits: Arc::default(),
            activity: Arc::default(),
        };
        let options = InstanceOptions {
            folder: "/instance".into(),
            server_name: "TEST".into(),
            version: vlf::ServerVersion::V2022,
            policy: LogPolicy::native(),
            max_server_memory_bytes: 4 << 20,
            instant_file_initialization: true,
        };
        Instance::start(options, env).unwrap()
    }

    /// A session had logged its Commit and was waiting for the disk when a checkpoint began. The checkpoint listed the
    /// transaction as under way, with the Commit as its newest record; after a crash, analysis began behind that Commit and
    /// undo refused to undo it: the database was SUSPECT. Found by killing a server in the middle of 15,000 commits.
    #[test]
    fn a_checkpoint_between_a_commit_record_and_its_flush_does_not_list_the_transaction() {
        let disk = SimDisk::new(1);
        let instance = start(&disk);
        let statement = CreateDatabase {
            name: "vlf".into(),
            ..CreateDatabase::default()
        };
        let database = instance.create_database(&statement).unwrap();
        let mut chain = database.transactions.begin(&database.storage, 51, "t", None).unwrap();
        database
            .transactions
            .commit_lazily(&database.storage, &mut chain)
            .unwrap();
        assert_eq!(database.transactions.snapshot().len(), 1, "still waiting for its flush");
        database.checkpoint().unwrap();
        disk.power_cut_at(disk.operation_count() + 1);
        std::mem::forget((database, instance));

        let instance = start(&disk.after_power_cut(CutPolicy::AllKept, 1));
        let database = instance.database("vlf").unwrap();
        assert_eq!(database.recovery().rolled_back, 0);
    }
}
