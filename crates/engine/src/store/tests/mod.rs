//! The store on a simulated disk, with a real log and a small pool: against models, against its own log, and damaged.

#![allow(clippy::unwrap_used)]

mod faults;
mod ghosts;
mod heap_model;
mod interleaved;
mod ownership;
mod reserve;
mod space;
mod tree_model;
mod undo;

use super::*;
use crate::buffer::{
    AtomicLsn, BufferPool, DamagedPages, DataFileSpecification, DataFiles, DatabaseId, DatabaseIdentity,
};
use crate::buffer::{FileGrowth, FileOptions};
use crate::errorlog::ErrorLog;
use crate::lock::LockManager;
use crate::log::{LogFileSpec, LogManager, LogPolicy, OwnedRecord, RecordKind, TransactionId};
use crate::page::{Change, ObjectId, PAGE_BYTES, PageId, PageKind, PageOperation};
use crate::seams::{Background, Environment, ManualClock};
use crate::waits::WaitStatistics;
use disk::sim::SimDisk;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vlf::{Lsn, ServerVersion};

pub const DATABASE: DatabaseId = DatabaseId(5);
pub const TABLE: u32 = 100;

/// A database without a catalog, and as much of a transaction table as the store asks for.
pub struct Bench {
    pub storage: DatabaseStorage,
    pub space: SpaceMap,
    manager: Arc<LockManager>,
    active: Mutex<BTreeMap<u64, Lsn>>,
    next_transaction: AtomicU64,
    pub begin: Lsn,
}

/// A transaction under way.
pub struct Work {
    pub chain: TransactionChain,
    pub locks: LockOwner,
}

fn environment() -> Environment {
    let clock = Arc::new(ManualClock::starting_at(1_210_944_167_970_000));
    Environment {
        disk: Arc::new(SimDisk::new(7)),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

fn data_file(id: u16, pages: u64, bytes_max: Option<u64>) -> DataFileSpecification {
    DataFileSpecification {
        id,
        path: PathBuf::from(format!("/data{id}.mdf")),
        logical_name: format!("data{id}"),
        bytes: pages * PAGE_BYTES as u64,
        bytes_max,
        growth: FileGrowth::Bytes(64 * PAGE_BYTES as u64),
        filegroup: 1,
    }
}

fn log_file(bytes: u64, growth: crate::log::FileGrowth) -> LogFileSpec {
    LogFileSpec {
        database_guid: [0; 16],
        file_id: 2,
        path: PathBuf::from("/log.ldf"),
        logical_name: "log".to_string(),
        bytes,
        max_bytes: 1 << 40,
        growth,
    }
}

impl Bench {
    pub fn new(frames: usize, policy: LogPolicy) -> Bench {
        Bench::with_files(frames, policy, &[data_file(1, 64, None)])
    }

    pub fn with_files(frames: usize, policy: LogPolicy, files: &[DataFileSpecification]) -> Bench {
        Bench::on(
            environment(),
            frames,
            policy,
            files,
            log_file(16 << 20, crate::log::FileGrowth::Bytes(16 << 20)),
        )
    }

    /// With a log that ends at `log_bytes`.
    pub fn with_log_limit(frames: usize, log_bytes: u64) -> Bench {
        let log = log_file(log_bytes, crate::log::FileGrowth::None);
        Bench::on(
            environment(),
            frames,
            LogPolicy::native(),
            &[data_file(1, 64, None)],
            log,
        )
    }

    fn on(
        env: Environment,
        frames: usize,
        policy: LogPolicy,
        files: &[DataFileSpecification],
        log_file: LogFileSpec,
    ) -> Bench {
        let log = LogManager::create(&env, "vlf", &[log_file], ServerVersion::V2022, policy, 1).unwrap();
        let identity = DatabaseIdentity {
            id: 5,
            name: "vlf".to_string(),
            guid: *b"0123456789abcdef",
        };
        let options = FileOptions {
            instant_initialization: true,
            double_write: true,
        };
        let files = Arc::new(DataFiles::create(&env, identity, files, options).unwrap());
        let pool = Arc::new(BufferPool::new(env.clone(), (frames * PAGE_BYTES) as u64));
        pool.attach(DATABASE, files.clone(), log.clone());
        let begin = log.end();
        let versions = crate::versions::VersionStore::new(env.errorlog.clone(), 1 << 30);
        let storage = DatabaseStorage {
            id: DATABASE,
            name: "vlf".to_string(),
            log,
            pool,
            files,
            env,
            oldest_active: AtomicLsn::new(Lsn::MAX),
            versions: crate::versions::DatabaseVersions::open(&Arc::new(versions), DATABASE.0),
            row_counts: Default::default(),
            marked: Default::default(),
            links_changes: Default::default(),
            may_log_locks: Default::default(),
            may_free_pages: AtomicBool::new(true),
            may_free_large_extents: AtomicBool::new(true),
        };
        let space = SpaceMap::open(&storage).unwrap();
        Bench {
            storage,
            space,
            manager: Arc::new(LockManager::new()),
            active: Mutex::new(BTreeMap::new()),
            next_transaction: AtomicU64::new(1),
            begin,
        }
    }

    pub fn owner(&self) -> LockOwner {
        let (clock, waits) = (self.storage.env.clock.clone(), self.storage.env.waits.clone());
        let owner = LockOwner::new(self.manager.clone(), clock, waits, 51, Arc::new(AtomicBool::new(false)));
        owner.set_timeout_ms(5_000);
        owner
    }

    pub fn begin(&self) -> Work {
        let id = self.next_transaction.fetch_add(1, Ordering::SeqCst);
        let mut chain = TransactionChain::new(TransactionId(id));
        let mut active = self.active.lock();
        let first = self.storage.log.append(&mut chain, RecordKind::Begin, &[], 0).unwrap();
        active.insert(id, first);
        self.publish(&active);
        Work {
            chain,
            locks: self.owner(),
        }
    }

    fn publish(&self, active: &BTreeMap<u64, Lsn>) {
        self.storage
            .oldest_active
            .store(active.values().min().copied().unwrap_or(Lsn::MAX));
    }

    fn end(&self, work: Work) {
        let mut active = self.active.lock();
        active.remove(&work.chain.id.0);
        self.publish(&active);
    }

    pub fn commit(&self, mut work: Work) {
        self.storage
            .log
            .append(&mut work.chain, RecordKind::Commit, &[], 0)
            .unwrap();
        self.end(work);
    }

    pub fn roll_back_to(&self, work: &mut Work, target: Lsn) {
        let (mut next, mut reads) = (work.chain.last, ReadDownward::default());
        while next > target {
            let record = self.storage.log.read_record(next).unwrap();
            next = match record.header.kind {
                RecordKind::Change => {
                    let page = super::undo(
                        &self.storage,
                        &self.space,
                        &mut work.chain,
                        &record,
                        &mut super::FilledPages::default(),
                    )
                    .unwrap();
                    page.into_iter().for_each(|page| reads.met(&self.storage, page));
                    record.header.previous
                }
                RecordKind::Compensation => record.header.undo_next,
                RecordKind::Begin => Lsn::ZERO,
                other => panic!("{other:?} in the chain"),
            };
        }
    }

    pub fn roll_back(&self, mut work: Work) {
        self.roll_back_to(&mut work, Lsn::ZERO);
        self.storage
            .log
            .append(&mut work.chain, RecordKind::Abort, &[], 0)
            .unwrap();
        self.end(work);
    }

    pub fn ctx<'a>(&'a self, work: &'a mut Work) -> StoreContext<'a> {
        StoreContext {
            storage: &self.storage,
            space: &self.space,
            chain: &mut work.chain,
            locks: &work.locks,
            versions: Default::default(),
        }
    }

    pub fn heap(&self, object: u32) -> Heap {
        let mut work = self.begin();
        let root = Heap::create(&mut self.ctx(&mut work), ObjectId(object)).unwrap();
        self.commit(work);
        Heap::open(&self.storage, &self.space, root, TABLE).unwrap()
    }

    pub fn tree(&self, object: u32) -> Tree {
        let mut work = self.begin();
        let root = Tree::create(&mut self.ctx(&mut work), ObjectId(object)).unwrap();
        self.commit(work);
        Tree::open(&self.storage, &self.space, root, TABLE).unwrap()
    }

    /// Every record of the log so far.
    pub fn records(&self) -> Vec<OwnedRecord> {
        self.storage.log.flush_to(self.storage.log.end()).unwrap();
        let mut scan = self.storage.log.scan(self.begin).unwrap();
        let mut records = Vec::new();
        while let Some(record) = scan.next().unwrap() {
            records.push(record.to_owned());
        }
        records
    }

    /// Redoes the whole log over empty data files of another bench and compares every page, byte for byte.
    pub fn assert_redo_makes_the_same_pages(&self) {
        let replayed = Bench::new(256, LogPolicy::native());
        while replayed.storage.files.page_count(1) < self.storage.files.page_count(1) {
            replayed.storage.files.grow_any(8).unwrap();
        }
        let mut damaged = DamagedPages::new();
        let mut changes = 0;
        for record in self.records() {
            if matches!(record.header.kind, RecordKind::Change | RecordKind::Compensation) {
                let change = Change::decode(&record.payload).unwrap();
                replayed
                    .storage
                    .pool
                    .redo(DATABASE, &change, record.lsn, &mut damaged)
                    .unwrap();
                changes += 1;
            }
        }
        damaged.into_result().unwrap();
        assert!(changes > 0);
        for page in (0..self.storage.files.page_count(1)).filter(|page| ![0, 9, 10].contains(page)) {
            let id = PageId::new(1, page);
            let (done, redone) = (self.page_bytes(id), replayed.page_bytes(id));
            assert!(done == redone, "page {id} differs after redo");
        }
    }

    /// A page without what is not logged: its checksum, and the reserve that writers give free.
    fn page_bytes(&self, id: PageId) -> Vec<u8> {
        let mut bytes = change::read(&self.storage, id).unwrap().to_vec();
        bytes[4..8].fill(0);
        bytes[58..60].fill(0);
        bytes
    }

    pub fn assert_sound(&self, objects: &[(ObjectRoot, ObjectKind)]) {
        let roots: Vec<ObjectRoot> = objects.iter().map(|(root, _)| *root).collect();
        assert_eq!(verify_allocation(&self.storage, &self.space, &roots).findings, []);
        for (root, kind) in objects {
            assert_eq!(verify_object(&self.storage, *root, *kind, None).findings, []);
        }
    }
}

/// A small deterministic generator (splitmix64), so that a failure names its seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A row whose length is mostly short and sometimes long.
    pub fn row(&mut self) -> Vec<u8> {
        let longest = [12, 60, 300, 2_500][self.below(4) as usize];
        let length = self.below(longest + 1);
        let byte = self.next() as u8;
        (0..length).map(|index| byte.wrapping_add(index as u8)).collect()
    }
}

pub fn heap_rows(bench: &Bench, heap: &Heap, mode: ReadMode) -> BTreeMap<Rid, Vec<u8>> {
    let locks = bench.owner();
    let mut scan = heap.scan(&bench.storage, &locks, mode).unwrap();
    let mut batch = RowBatch::new();
    let mut rows = BTreeMap::new();
    while scan.next_page(&mut batch).unwrap() {
        for (rid, row) in batch.iter() {
            assert!(rows.insert(rid, row.to_vec()).is_none(), "row {rid} met twice");
        }
    }
    rows
}
