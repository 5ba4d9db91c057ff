//! Under the classic policy the record of a changed row ends with the locks of its transaction, and recovery reads such a
//! log.

use crate::support::small::{pair, small_rows};
use crate::support::*;
use disk::sim::SimDisk;
use engine::database::Database;
use engine::log::{LogPolicy, RecordKind};
use engine::page::{Change, UndoKind};
use engine::session::Table;
use std::sync::Arc;
use vlf::Lsn;

/// Bytes of lock information in the records of rows from a place on, each with how many records have it.
fn lock_bytes(database: &Database, from: Lsn) -> Vec<(u16, usize)> {
    let log = &database.storage.log;
    log.flush_to(log.end()).unwrap();
    let mut scan = log.scan(from).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    while let Some(record) = scan.next().unwrap() {
        if record.header.kind == RecordKind::Change && Change::decode(record.payload).unwrap().undo != UndoKind::None {
            *counts.entry(record.header.lock_bytes).or_insert(0) += 1;
        } else {
            assert_eq!(record.header.lock_bytes, 0, "{:?}", record.header);
        }
    }
    counts.into_iter().collect()
}

/// 26 bytes where the row is locked, 12 where its table is, as in genuine log files; native logs none. 5,000 rows and more of one
/// statement are locked by their table.
#[test]
fn records_of_rows_have_the_locks_of_their_transaction_under_classic() {
    for (policy, rows, expected) in [
        (LogPolicy::classic(), 100, vec![(26, 100)]),
        (LogPolicy::native(), 100, vec![(0, 100)]),
    ] {
        let disk = SimDisk::new(3);
        let instance = start(&disk, policy);
        let database = instance.create_database(&statement("vlf", 4 << 20, 64 << 20)).unwrap();
        let mut session = instance.open_session().unwrap();
        let object = session.create_table(&database, small_rows(true, false)).unwrap();
        session.commit().unwrap();
        let table = Table::open(&database, &object).unwrap();
        let from = database.storage.log.end();
        for number in 0..rows {
            table
                .insert(&mut session, &pair(number, 0), engine::store::Placement::Anywhere)
                .unwrap();
        }
        session.commit().unwrap();
        assert_eq!(lock_bytes(&database, from), expected, "{policy}");
        assert_eq!(database.boot().has_lock_information, policy == LogPolicy::classic());
    }
}

/// A row under a lock of the whole table, and a heap; then the instance is lost, and recovery redoes and undoes what has lock
/// information, under either policy.
#[test]
fn a_table_lock_takes_12_bytes_and_recovery_reads_both() {
    let disk = SimDisk::new(4);
    let instance = start(&disk, LogPolicy::classic());
    let database: Arc<Database> = instance.create_database(&statement("vlf", 4 << 20, 64 << 20)).unwrap();
    let mut session = instance.open_session().unwrap();
    let table = create_table(&mut session, &database, "t");
    session.commit().unwrap();
    let from = database.storage.log.end();
    insert(&mut session, &table, 1, 10);
    session.commit().unwrap();
    let object_id = database.catalog.find("dbo", "t", 0).unwrap().definition.object_id();
    let locked = engine::lock::Resource::Object(database.id, object_id);
    session.locks().lock(locked, engine::lock::Mode::X).unwrap();
    insert(&mut session, &table, 2, 20);
    session.commit().unwrap();
    assert_eq!(lock_bytes(&database, from), [(12, 1), (26, 1)]);
    let mut lost = instance.open_session().unwrap();
    insert(&mut lost, &table, 3, 30);
    database.storage.log.flush_to(database.storage.log.end()).unwrap();
    for policy in [LogPolicy::classic(), LogPolicy::native()] {
        let again = start(&disk.snapshot(), policy);
        let database = again.database("vlf").unwrap();
        assert!(database.boot().has_lock_information, "{policy}");
        let session = again.open_session().unwrap();
        let found = rows(&session, &open_table(&database, "t"));
        assert_eq!(found, [(1, 10), (2, 20)], "{policy}");
    }
}
