//! What one row costs in the store: insert, fill, update, scan, fetch, delete, in nanoseconds, with the log not flushed.
//!
//! `cargo run --release -p vlflab-engine --example store_cost`: a simulated disk, so the figures are the CPU's alone.

use disk::sim::SimDisk;
use engine::buffer::{AtomicLsn, BufferPool, DataFileSpecification, DataFiles, DatabaseId, DatabaseIdentity};
use engine::buffer::{DatabaseStorage, FileGrowth, FileOptions};
use engine::error::Result;
use engine::errorlog::ErrorLog;
use engine::lock::{LockManager, LockOwner, Mode, Resource};
use engine::log::{LogFileSpec, LogManager, LogPolicy, RecordKind, TransactionChain, TransactionId};
use engine::page::ObjectId;
use engine::seams::{Background, Clock, Environment, SystemClock};
use engine::store::{Heap, HeapFill, Placement, ReadMode, RowBatch, SpaceMap, StoreContext, Tree, TreeBatch, TreeFill};
use engine::versions::{DatabaseVersions, VersionStore};
use engine::waits::WaitStatistics;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use vlf::{Lsn, ServerVersion};

const ROWS: u32 = 500_000;
const TABLE: u32 = 100;
const DATABASE: DatabaseId = DatabaseId(5);

fn environment() -> Environment {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    Environment {
        disk: Arc::new(SimDisk::new(1)),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    }
}

fn open_storage(env: &Environment) -> Result<DatabaseStorage> {
    let log_file = LogFileSpec {
        database_guid: [0; 16],
        file_id: 2,
        path: PathBuf::from("/log.ldf"),
        logical_name: "log".to_string(),
        bytes: 1 << 30,
        max_bytes: 1 << 40,
        growth: engine::log::FileGrowth::Bytes(256 << 20),
    };
    let log = LogManager::create(env, "cost", &[log_file], ServerVersion::V2022, LogPolicy::native(), 1)?;
    let data_file = DataFileSpecification {
        id: 1,
        path: PathBuf::from("/data.mdf"),
        logical_name: "data".to_string(),
        bytes: 512 << 20,
        bytes_max: None,
        growth: FileGrowth::Bytes(64 << 20),
        filegroup: 1,
    };
    let identity = DatabaseIdentity {
        id: 5,
        name: "cost".to_string(),
        guid: [1; 16],
    };
    let files = Arc::new(DataFiles::create(env, identity, &[data_file], FileOptions::default())?);
    let pool = Arc::new(BufferPool::new(env.clone(), 1 << 30));
    pool.attach(DATABASE, files.clone(), log.clone());
    Ok(DatabaseStorage {
        id: DATABASE,
        name: "cost".to_string(),
        log,
        pool,
        files,
        env: env.clone(),
        oldest_active: AtomicLsn::new(Lsn::MAX),
        versions: DatabaseVersions::open(&Arc::new(VersionStore::new(env.errorlog.clone(), 1 << 30)), 5),
        row_counts: Default::default(),
        marked: Default::default(),
        links_changes: Default::default(),
        may_log_locks: Default::default(),
        may_free_pages: Default::default(),
        may_free_large_extents: Default::default(),
    })
}

struct Bench<'a> {
    storage: &'a DatabaseStorage,
    space: &'a SpaceMap,
    locks: &'a LockOwner,
    chain: TransactionChain,
}

impl Bench<'_> {
    /// Runs `work`, prints its cost by row and by record byte, and ends the transaction.
    fn measure(&mut self, what: &str, rows: u32, work: impl FnOnce(&mut StoreContext<'_>) -> Result<()>) -> Result<()> {
        let (log, clock) = (&self.storage.log, &self.storage.env.clock);
        log.append(&mut self.chain, RecordKind::Begin, &[], 0)?;
        let from = log.end();
        let start = clock.now_micros();
        let mut ctx = StoreContext {
            storage: self.storage,
            space: self.space,
            chain: &mut self.chain,
            locks: self.locks,
            versions: Default::default(),
        };
        work(&mut ctx)?;
        let nanos = (clock.now_micros() - start) * 1_000 / u64::from(rows);
        println!(
            "{what:<42} {nanos:>7} ns/row {:>6} log bytes/row",
            log.used_since(from) / u64::from(rows)
        );
        log.append(&mut self.chain, RecordKind::Commit, &[], 0)?;
        self.chain = TransactionChain::new(TransactionId(self.chain.id.0 + 1));
        self.locks.release_transaction(|_| false);
        Ok(())
    }
}

fn row(number: u32, text: u8) -> [u8; 44] {
    let mut row = [text; 44];
    row[..4].copy_from_slice(&number.to_be_bytes());
    row
}

fn measure_heap(bench: &mut Bench<'_>) -> Result<()> {
    let root = Heap::create(
        &mut StoreContext {
            storage: bench.storage,
            space: bench.space,
            chain: &mut bench.chain,
            locks: bench.locks,
            versions: Default::default(),
        },
        ObjectId(1),
    )?;
    let heap = Heap::open(bench.storage, bench.space, root, TABLE)?;
    let mut rids = Vec::new();
    bench.measure("heap insert, row locks (5,000), then table", ROWS, |ctx| {
        for number in 0..ROWS {
            rids.push(heap.insert(ctx, &row(number, 1), Placement::Anywhere)?);
        }
        Ok(())
    })?;
    bench.measure("heap fill under a table lock", ROWS, |ctx| {
        ctx.locks.lock(Resource::Object(DATABASE.0, TABLE), Mode::X)?;
        let mut fill = HeapFill::new(&heap);
        for number in 0..ROWS {
            fill.push(ctx, &row(number, 2))?;
        }
        fill.finish(ctx)
    })?;
    bench.measure("heap update in place", ROWS, |ctx| {
        for (rid, number) in rids.iter().zip(0..) {
            heap.update(ctx, *rid, &row(number, 3))?;
        }
        Ok(())
    })?;
    bench.measure("heap scan", 2 * ROWS, |ctx| {
        let mut scan = heap.scan(ctx.storage, ctx.locks, ReadMode::Committed)?;
        let (mut batch, mut sum) = (RowBatch::new(), 0usize);
        while scan.next_page(&mut batch)? {
            sum += batch.iter().map(|(_, row)| row.len()).sum::<usize>();
        }
        assert_eq!(sum, 2 * ROWS as usize * 44);
        Ok(())
    })?;
    bench.measure("heap delete", ROWS, |ctx| {
        for rid in &rids {
            heap.delete(ctx, *rid)?;
        }
        Ok(())
    })
}

fn measure_tree(bench: &mut Bench<'_>) -> Result<()> {
    let root = Tree::create(
        &mut StoreContext {
            storage: bench.storage,
            space: bench.space,
            chain: &mut bench.chain,
            locks: bench.locks,
            versions: Default::default(),
        },
        ObjectId(2),
    )?;
    let tree = Tree::open(bench.storage, bench.space, root, TABLE)?;
    bench.measure("tree insert, rising keys", ROWS, |ctx| {
        for number in 0..ROWS {
            tree.insert(ctx, &number.to_be_bytes(), &row(number, 1))?;
        }
        Ok(())
    })?;
    bench.measure("tree fill under a table lock", ROWS, |ctx| {
        ctx.locks.lock(Resource::Object(DATABASE.0, TABLE), Mode::X)?;
        let mut fill = TreeFill::new(&tree);
        for number in ROWS..2 * ROWS {
            fill.push(ctx, &number.to_be_bytes(), &row(number, 2))?;
        }
        fill.finish(ctx)
    })?;
    bench.measure("tree update by key", ROWS, |ctx| {
        for number in 0..ROWS {
            tree.update(ctx, &number.to_be_bytes(), &row(number, 3))?;
        }
        Ok(())
    })?;
    bench.measure("tree fetch by key", ROWS, |ctx| {
        let mut found = Vec::new();
        for number in 0..ROWS {
            let key = (number.wrapping_mul(7_919) % ROWS).to_be_bytes();
            tree.fetch(ctx.storage, ctx.locks, ReadMode::Committed, &key, &mut found)?;
        }
        Ok(())
    })?;
    bench.measure("tree scan", 2 * ROWS, |ctx| {
        let bounds = (Bound::Unbounded, Bound::Unbounded);
        let mut scan = tree.scan(ctx.storage, ctx.locks, ReadMode::Committed, bounds, false);
        let (mut batch, mut rows) = (TreeBatch::new(), 0);
        while scan.next_page(&mut batch)? {
            rows += batch.iter().count();
        }
        assert_eq!(rows, 2 * ROWS as usize);
        Ok(())
    })
}

fn main() -> Result<()> {
    let env = environment();
    let storage = open_storage(&env)?;
    let space = SpaceMap::open(&storage)?;
    let cancel = Arc::new(AtomicBool::new(false));
    let locks = LockOwner::new(
        Arc::new(LockManager::new()),
        env.clock.clone(),
        env.waits.clone(),
        51,
        cancel,
    );
    let mut bench = Bench {
        storage: &storage,
        space: &space,
        locks: &locks,
        chain: TransactionChain::new(TransactionId(1)),
    };
    measure_heap(&mut bench)?;
    measure_tree(&mut bench)
}
