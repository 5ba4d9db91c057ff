//! The transaction table: what a checkpoint sees while a Begin or Commit record waits for the log, and how entries are added and removed.
#![allow(clippy::unwrap_used)]

use crate::catalog::GrowthEntry;
use crate::database::Database;
use crate::instance::{CreateDatabase, FileSpec, Instance, InstanceOptions, Size};
use crate::log::{GrowthTiming, LogPolicy, TransactionChain};
use crate::recovery::{Checkpointed, Purpose, checkpoint};
use crate::seams::{Background, Environment, ManualClock};
use disk::sim::{CutPolicy, Held, OperationKind, SimDisk};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use vlf::Lsn;

/// Longer than any machine needs; a thread that is not done by then never will be.
const HANG: Duration = Duration::from_secs(60);

fn start(disk: &SimDisk) -> Arc<Instance> {
    start_with(disk, LogPolicy::native())
}

fn start_with(disk: &SimDisk, policy: LogPolicy) -> Arc<Instance> {
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
        policy,
        max_server_memory_bytes: 4 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

/// A database whose log is 1 MB large.
fn with_small_log(instance: &Instance, maximum: Size) -> Arc<Database> {
    let statement = CreateDatabase {
        name: "vlf".into(),
        log: vec![FileSpec {
            filename: Some("c:\\small.ldf".into()),
            size_bytes: Some(1 << 20),
            maximum: Some(maximum),
            growth: Some(GrowthEntry::Bytes(1 << 20)),
            ..FileSpec::default()
        }],
        ..CreateDatabase::default()
    };
    instance.create_database(&statement).unwrap()
}

/// Begins a transaction whose Begin fills a block but for room for an end, so that it is a Begin that finds no room in a VLF.
fn begin_at_length(database: &Database) -> crate::error::Result<TransactionChain> {
    let name = "n".repeat(50_000);
    database.transactions.begin(&database.storage, 51, name, None)
}

/// One transaction after the other, until `last` is true when a Begin returns.
fn begin_until(database: &Database, last: &AtomicBool) -> TransactionChain {
    for _ in 0..1_000 {
        let mut chain = begin_at_length(database).unwrap();
        if last.load(Ordering::SeqCst) {
            return chain;
        }
        database
            .transactions
            .commit_system(&database.storage, &mut chain)
            .unwrap();
    }
    panic!("no Begin was the last");
}

/// While a Begin waits for a growth of the log: another transaction commits, and a checkpoint is written. Answers the checkpoint,
/// the oldest transaction then, and the one that had to wait.
fn meet_a_begin_that_waits(disk: &SimDisk, database: &Database) -> (Checkpointed, Option<Lsn>, TransactionChain) {
    let (table, storage) = (&database.transactions, &database.storage);
    let mut other = table.begin(storage, 52, "other", None).unwrap();
    let last = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let held: Held = disk.hold_next(OperationKind::Grow, "small.ldf");
        let waiting = scope.spawn(|| begin_until(database, &last));
        assert!(held.is_reached_within(HANG), "the log never grew");
        last.store(true, Ordering::SeqCst);
        let (tell, told) = mpsc::channel();
        scope.spawn(move || {
            table.commit(storage, &mut other).unwrap();
            let done = checkpoint(storage, table, Purpose::Routine).unwrap();
            let _ = tell.send((done, table.log_needed_from()));
        });
        let answer = told.recv_timeout(HANG);
        assert!(!waiting.is_finished(), "the growth was not held");
        drop(held);
        let (done, oldest) = answer.expect("a commit waited for a growth that another's Begin needs");
        (done, oldest, waiting.join().unwrap())
    })
}

/// The table was locked while Begin was appended: a growth of the log, which a Begin may have to wait for, queued every commit
/// behind it.
///
/// Both places where Begin meets a growth: behind its record (growth ahead of need, here by the appending thread), and before
/// it (a full log). A checkpoint meanwhile knows the transaction in the first case, whose Begin it would not meet; in the
/// second it has nothing to know.
#[test]
fn a_begin_that_waits_for_a_growth_holds_nobody_up_and_no_checkpoint_misses_it() {
    for growth in [GrowthTiming::AheadOfNeed, GrowthTiming::WhenFull] {
        let disk = SimDisk::new(1);
        let policy = LogPolicy {
            growth,
            ..LogPolicy::native()
        };
        let instance = start_with(&disk, policy);
        let database = with_small_log(&instance, Size::Unlimited);
        let (done, oldest, mut chain) = meet_a_begin_that_waits(&disk, &database);
        let (table, storage) = (&database.transactions, &database.storage);
        let is_before_checkpoint = chain.first < done.begin;
        assert_eq!(is_before_checkpoint, growth == GrowthTiming::AheadOfNeed, "{growth:?}");
        let expected = is_before_checkpoint.then_some(chain.first);
        assert_eq!((done.oldest_active, oldest), (expected, expected), "{growth:?}");
        // Whatever others published meanwhile, it is under way to readers and writers of pages.
        assert_eq!(storage.oldest_active.load(), chain.first.with_slot(0), "{growth:?}");
        assert_eq!(
            database.truncation_point().0,
            chain.first.min(database.boot().redo_start)
        );
        table.commit(storage, &mut chain).unwrap();
        assert_eq!(storage.log.space().reserved_bytes, 0, "{growth:?}");
    }
}

/// A transaction that found no room for its Begin leaves nothing behind that would hold the log.
#[test]
fn a_begin_that_finds_no_room_leaves_no_entry() {
    let disk = SimDisk::new(1);
    let instance = start(&disk);
    let database = with_small_log(&instance, Size::Bytes(1 << 20));
    let (table, storage) = (&database.transactions, &database.storage);
    let mut refused = None;
    while refused.is_none() {
        match begin_at_length(&database) {
            Ok(mut chain) => drop(table.commit(storage, &mut chain).unwrap()),
            Err(error) => refused = Some(error),
        }
    }
    assert!(refused.unwrap().is_log_full());
    assert!(table.active.lock().entries().is_empty());
    assert_eq!(storage.log.space().reserved_bytes, 0);
    database.checkpoint().unwrap();
    let mut chain = begin_at_length(&database).unwrap();
    assert_eq!(table.log_needed_from(), Some(chain.first));
    table.commit(storage, &mut chain).unwrap();
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
        .commit_lazily(&database.storage, &mut chain, &[])
        .unwrap();
    assert_eq!(database.transactions.snapshot().len(), 1, "still waiting for its flush");
    database.checkpoint().unwrap();
    disk.power_cut_at(disk.operation_count() + 1);
    std::mem::forget((database, instance));

    let instance = start(&disk.after_power_cut(CutPolicy::AllKept, 1));
    let database = instance.database("vlf").unwrap();
    assert_eq!(database.recovery().rolled_back, 0);
}

/// Until the first transaction of a server's life had ended, every reader took every row for uncommitted and locked it:
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
    // An open transaction changes that.
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
