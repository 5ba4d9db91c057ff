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

pub use rollback::{Undone, roll_back_while};

use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::lock::{LockOwner, WriteLock};
use crate::log::{ChainEnd, RecordKind, TransactionChain, TransactionId};
use crate::seams::DateTimeTicks;
use crate::store::SpaceMap;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    pub name: Cow<'static, str>,
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
    active: Mutex<Active>,
    /// The instance stops: sessions' rollbacks end where they are.
    leaves_undone: AtomicBool,
}

/// The entries in the order of their numbers. Short transactions come and go at the end, and the memory stays.
#[derive(Default)]
struct Active(Vec<(TransactionId, ActiveTransaction)>);

impl Active {
    fn place(&self, id: TransactionId) -> std::result::Result<usize, usize> {
        self.0.binary_search_by_key(&id, |entry| entry.0)
    }

    fn insert(&mut self, id: TransactionId, entry: ActiveTransaction) {
        match self.place(id) {
            Ok(place) => self.0[place].1 = entry,
            Err(place) => self.0.insert(place, (id, entry)),
        }
    }

    fn remove(&mut self, id: TransactionId) {
        if let Ok(place) = self.place(id) {
            self.0.remove(place);
        }
    }

    fn get(&self, id: TransactionId) -> Option<&ActiveTransaction> {
        self.place(id).ok().map(|place| &self.0[place].1)
    }

    /// The first record of the oldest.
    fn oldest(&self) -> Option<Lsn> {
        self.0.iter().map(|(_, entry)| entry.first).min()
    }
}

impl TransactionTable {
    /// An empty table; the first transaction gets the number `next`.
    pub fn new(next: u64) -> TransactionTable {
        TransactionTable {
            next: AtomicU64::new(next.max(1)),
            active: Mutex::default(),
            leaves_undone: AtomicBool::new(false),
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
        name: impl Into<Cow<'static, str>>,
        owner: Option<&Arc<LockOwner>>,
    ) -> Result<TransactionChain> {
        let name = name.into();
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
                name,
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

    /// From now on rollbacks of sessions stop after the change they are at: the next start takes the rest back.
    pub fn leave_undone(&self) {
        self.leaves_undone.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.leaves_undone.load(Ordering::Relaxed)
    }

    /// Takes back every change of the chain that is newer than the LSN given; `place` names the session as well, which is
    /// shown how far it is.
    pub fn roll_back_to(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        place: (Lsn, u16),
    ) -> Result<Undone> {
        roll_back_while(storage, space, chain, place, &mut |_| self.goes_on())
    }

    /// Rolls the whole transaction back and logs its end. Incomplete once the instance leaves rollbacks to its next start.
    pub fn roll_back(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
    ) -> Result<Undone> {
        self.roll_back_while(storage, space, chain, &mut |_| self.goes_on())
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

    /// The locks of a transaction that could not be ended have another owner now.
    pub fn set_owner(&self, id: TransactionId, owner: &Arc<LockOwner>) {
        let mut active = self.active.lock();
        if let Ok(place) = active.place(id) {
            active.0[place].1.owner = Arc::downgrade(owner);
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

    /// The first record of the oldest transaction under way.
    pub fn oldest(&self) -> Option<Lsn> {
        self.active.lock().oldest()
    }

    /// A copy of the table, oldest number first.
    pub fn snapshot(&self) -> Vec<(TransactionId, ActiveTransaction)> {
        self.active.lock().0.clone()
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::instance::{CreateDatabase, Instance, InstanceOptions};
    use crate::log::LogPolicy;
    use crate::seams::{Background, Environment, ManualClock};
    use disk::sim::{CutPolicy, SimDisk};
    use std::sync::Arc;
    use vlf::Lsn;

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

    /// Until the first transaction of a server's life had ended, every reader took every row for somebody's work and locked it:
    /// a database that was only read never got rid of that.
    #[test]
    fn a_database_without_transactions_is_settled_from_its_start() {
        let disk = SimDisk::new(1);
        let instance = start(&disk);
        let statement = CreateDatabase {
            name: "vlf".into(),
            ..CreateDatabase::default()
        };
        instance.create_database(&statement).unwrap();
        drop(instance);
        let database = start(&disk).database("vlf").unwrap();
        assert!(database.transactions.snapshot().is_empty());
        let storage = &database.storage;
        let changed = storage.pool.read(storage.id, database.boot().catalog_root).unwrap();
        let (oldest, newest) = (storage.oldest_active.load(), changed.view().lsn());
        assert!(newest > Lsn::ZERO && newest < oldest, "{newest} is not before {oldest}");
        drop(changed);
        // A transaction under way takes that back.
        let mut chain = database.transactions.begin(&database.storage, 51, "t", None).unwrap();
        assert!(database.storage.oldest_active.load() <= chain.first);
        database.transactions.commit(&database.storage, &mut chain).unwrap();
        assert!(database.storage.oldest_active.load() > chain.first);
    }

    /// Numbers are given before the table is locked, so transactions do not always enter in their order.
    #[test]
    fn transactions_are_listed_by_number_and_leave_in_any_order() {
        let disk = SimDisk::new(1);
        let instance = start(&disk);
        let database = instance.database("master").unwrap();
        let (table, storage) = (&database.transactions, &database.storage);
        let mut chains: Vec<_> = (0..4).map(|_| table.begin(storage, 51, "t", None).unwrap()).collect();
        let adopted =
            crate::log::TransactionChain::recovered(crate::log::TransactionId(1), chains[0].first, chains[0].first);
        let owner = Arc::new(crate::lock::LockOwner::new(
            Arc::default(),
            storage.env.clock.clone(),
            Arc::default(),
            0,
            Arc::default(),
        ));
        table.adopt(storage, &adopted, &owner);
        let listed = || table.snapshot().iter().map(|(id, _)| id.0).collect::<Vec<_>>();
        assert!(listed().is_sorted() && listed().len() == 5 && listed()[0] == 1);
        for place in [2, 0, 1, 0] {
            let mut chain = chains.remove(place);
            let before = listed();
            table.commit_system(storage, &mut chain).unwrap();
            let expected: Vec<u64> = before.into_iter().filter(|id| *id != chain.id.0).collect();
            assert_eq!(listed(), expected);
        }
        assert_eq!(listed(), [1]);
    }
}
