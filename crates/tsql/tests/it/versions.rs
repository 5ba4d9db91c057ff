//! Versions of rows: the options that turn them on, what keeps them, what they cost, and readers beside writers.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use engine::seams::SystemClock;
use engine::versions::SnapshotState;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

/// What Entity Framework Core sends for each database that it makes.
#[test]
fn read_committed_snapshot_is_set_shown_and_kept() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    let made = run(
        &mut one,
        "create database app \
         if serverproperty('EngineEdition') <> 5 begin alter database app set read_committed_snapshot on end",
    );
    assert!(made.ends_with("Completed") && !made.contains("Msg"), "{made}");
    let shown = "select cast(is_read_committed_snapshot_on as int), snapshot_isolation_state_desc from sys.databases where name = 'app'";
    let answer = run(&mut one, shown);
    assert!(answer.contains("1 | OFF"), "{answer}");
    let answer = run(&mut one, "use app dbcc useroptions");
    assert!(answer.contains("read committed snapshot"), "{answer}");
}

/// The number in an answer's only row.
fn number(session: &mut Session, query: &str) -> i64 {
    let answer = run(session, query);
    let row = answer.lines().find_map(|line| line.trim().parse().ok());
    row.unwrap_or_else(|| panic!("{query}: {answer}"))
}

fn done(session: &mut Session, batch: &str) {
    let answer = run(session, batch);
    assert!(
        answer.ends_with("Completed") && !answer.contains("Msg"),
        "{batch}: {answer}"
    );
}

/// A database in which both kinds of readers go by versions, and two sessions in it.
fn versioned(options: &str) -> (Arc<Instance>, Session, Session) {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut one, mut other) = (session(&instance), session(&instance));
    done(&mut one, "create database d");
    done(&mut one, options);
    done(&mut one, "use d set nocount on");
    done(&mut other, "use d set nocount on");
    (instance, one, other)
}

const BOTH: &str = "alter database d set read_committed_snapshot on alter database d set allow_snapshot_isolation on";

#[test]
fn read_committed_snapshot_wants_the_database_for_itself_and_outlives_it_being_closed() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut one, mut other) = (session(&instance), session(&instance));
    done(&mut one, "create database d");
    done(&mut other, "use d");
    let answer = run(&mut one, "alter database d set read_committed_snapshot on with no_wait");
    assert!(answer.contains("Msg 5070, Level 16"), "{answer}");
    let on = "select count(*) from sys.databases where is_read_committed_snapshot_on = 1";
    assert_eq!(number(&mut one, on), 0);
    let waiting = std::thread::spawn({
        let instance = instance.clone();
        move || {
            done(
                &mut session(&instance),
                "alter database d set read_committed_snapshot on",
            )
        }
    });
    done(&mut other, "create table t (a int) use master");
    waiting.join().unwrap();
    assert_eq!(number(&mut one, on), 1);
    done(&mut one, "alter database d set offline alter database d set online");
    assert_eq!(number(&mut one, on), 1, "the boot record has it");
    done(
        &mut one,
        "alter database d set read_committed_snapshot off with rollback immediate",
    );
    assert_eq!(number(&mut one, on), 0);
    for system in ["master", "tempdb", "msdb"] {
        let answer = run(
            &mut one,
            &format!("alter database {system} set read_committed_snapshot on"),
        );
        assert!(answer.contains("Msg 5058"), "{system}: {answer}");
    }
    assert_eq!(
        number(
            &mut one,
            "select count(*) from sys.databases where snapshot_isolation_state = 1"
        ),
        2
    );
}

/// Waits until a database is in a state.
fn until(instance: &Instance, state: SnapshotState) {
    let database = instance.database("d").unwrap();
    while database.storage.versions.state() != state {
        std::thread::yield_now();
    }
}

#[test]
fn snapshots_are_allowed_once_all_transactions_keep_versions_and_until_the_last_has_ended() {
    let (instance, mut one, mut other) = versioned("use d create table t (a int) insert t values (1) use master");
    done(&mut one, "begin transaction update t set a = 2");
    let alter = |on: &str| {
        let (instance, batch) = (
            instance.clone(),
            format!("alter database d set allow_snapshot_isolation {on}"),
        );
        std::thread::spawn(move || done(&mut session(&instance), &batch))
    };
    let turning = alter("on");
    until(&instance, SnapshotState::TurningOn);
    let answer = run(&mut other, "set transaction isolation level snapshot select a from t");
    assert!(answer.contains("Msg 3956"), "{answer}");
    done(&mut one, "commit");
    turning.join().unwrap();
    until(&instance, SnapshotState::On);
    done(&mut other, "begin transaction");
    assert_eq!(number(&mut other, "select a from t"), 2);
    let turning = alter("off");
    until(&instance, SnapshotState::TurningOff);
    let answer = run(&mut one, "set transaction isolation level snapshot select a from t");
    assert!(answer.contains("Msg 3952"), "{answer}");
    done(
        &mut one,
        "set transaction isolation level read committed update t set a = 3",
    );
    assert_eq!(number(&mut other, "select a from t"), 2, "its snapshot goes on");
    done(&mut other, "commit");
    turning.join().unwrap();
    until(&instance, SnapshotState::Off);
    // A snapshot that is older than the option: a database that kept no versions of what it would need.
    done(
        &mut one,
        "create database e alter database e set allow_snapshot_isolation on use e create table t (a int)",
    );
    done(&mut other, "use e begin transaction select a from t");
    done(&mut one, "alter database d set allow_snapshot_isolation on");
    let answer = run(&mut other, "select a from d.dbo.t");
    assert!(answer.contains("Msg 3957"), "{answer}");
}

/// A deleted row is a row for a snapshot that does not see the deletion: neither it nor its page goes before.
#[test]
fn deleted_rows_stay_for_snapshots_and_go_with_the_last() {
    let (instance, mut writer, mut reader) = versioned(BOTH);
    let database = instance.database("d").unwrap();
    done(
        &mut writer,
        "create table heap (id int, text varchar(200), index by_id (id)) create table tree (id int primary key, text varchar(200))",
    );
    done(
        &mut writer,
        "insert heap select value, replicate('x', 150) from generate_series(1, 3000) insert tree select id, text from heap",
    );
    done(
        &mut reader,
        "set transaction isolation level snapshot begin transaction",
    );
    let count = "select (select count(*) from heap) + (select sum(len(text)) from tree) + (select count(*) from heap with (index(by_id)) where id > 0)";
    let before = number(&mut reader, count);
    assert_eq!(before, 3000 + 3000 * 150 + 3000);
    done(
        &mut writer,
        "delete heap where id % 2 = 0 delete heap delete tree insert tree values (7, 'new')",
    );
    let kept = "select sum(version_ghost_record_count) from sys.dm_db_index_physical_stats(db_id(), object_id('tree'), null, null, 'DETAILED') where index_level = 0";
    assert_eq!(number(&mut writer, kept), 2_999, "7 is a row again");
    for _ in 0..3 {
        let cleaned = database.clean_ghosts(usize::MAX).unwrap();
        assert_eq!(cleaned.pages_freed, 0, "a snapshot reads them");
        assert_eq!(number(&mut reader, count), before);
    }
    done(
        &mut writer,
        "insert heap select value, 'again' from generate_series(1, 3000)",
    );
    assert_eq!(number(&mut reader, count), before);
    assert!(
        number(
            &mut writer,
            "select sum(reserved_space_kb) from sys.dm_tran_version_store_space_usage"
        ) > 1_000
    );
    done(&mut reader, "commit");
    instance.versions.clean_all();
    assert_eq!(instance.versions.bytes(), 0);
    assert!(database.clean_ghosts(usize::MAX).unwrap().pages_freed > 50);
    assert_eq!(number(&mut reader, "select count(*) from tree"), 1);
    assert!(run(&mut writer, "dbcc checkdb(d) with no_infomsgs").ends_with("Completed"));
}

/// Rows that move, and values outside of rows.
#[test]
fn versions_of_rows_that_moved_and_of_large_values() {
    let (instance, mut writer, mut reader) = versioned(BOTH);
    let database = instance.database("d").unwrap();
    done(
        &mut writer,
        "create table heap (id int, text varchar(3000)) create table large (id int primary key, text varchar(max))",
    );
    done(
        &mut writer,
        "insert heap select value, replicate('x', 20) from generate_series(1, 500) \
         insert large select value, replicate(cast('y' as varchar(max)), 30000) from generate_series(1, 5)",
    );
    let rows = "select sum(len(text)) from heap";
    let values = "select sum(len(text)) + count(*) from large where text like '%y'";
    done(
        &mut reader,
        "set transaction isolation level snapshot begin transaction",
    );
    assert_eq!(
        (number(&mut reader, rows), number(&mut reader, values)),
        (10_000, 150_005)
    );
    done(
        &mut writer,
        "begin transaction update heap set text = replicate('z', 2500) where id % 3 = 0 delete heap where id % 9 = 0",
    );
    done(
        &mut writer,
        "update large set text = replicate(cast('z' as varchar(max)), 50000) where id < 4 delete large where id = 5",
    );
    let by_statement = |query: &str| number(&mut session_in(&instance), query);
    assert_eq!(
        (by_statement(rows), by_statement(values)),
        (10_000, 150_005),
        "not committed"
    );
    done(&mut writer, "commit");
    assert_ne!(by_statement(rows), 10_000);
    for _ in 0..3 {
        database.free_large_values().unwrap();
        database.clean_ghosts(usize::MAX).unwrap();
        done(
            &mut writer,
            "insert large select max(id) + 1, replicate(cast('q' as varchar(max)), 40000) from large",
        );
        assert_eq!(
            (number(&mut reader, rows), number(&mut reader, values)),
            (10_000, 150_005)
        );
    }
    done(&mut reader, "commit");
    assert!(run(&mut writer, "dbcc checkdb(d) with no_infomsgs").ends_with("Completed"));
}

/// Rows that come a page at a time.
#[test]
fn versions_of_filled_pages() {
    let (instance, mut writer, mut reader) = versioned(BOTH);
    let by_statement = |query: &str| number(&mut session_in(&instance), query);
    done(&mut reader, "set transaction isolation level snapshot");
    done(
        &mut writer,
        "create table filled (id int primary key, text varchar(100)) create table pile (id int)",
    );
    done(&mut reader, "begin transaction select count(*) from filled");
    done(
        &mut writer,
        "begin transaction insert filled select value, 'x' from generate_series(1, 20000) insert pile select id from filled",
    );
    done(
        &mut writer,
        "update filled set text = 'changed' where id % 2 = 0 delete pile where id < 100",
    );
    let counts = "select (select count(*) from filled) + (select count(*) from pile) + (select count(*) from filled where id between 5 and 9)";
    assert_eq!((by_statement(counts), number(&mut reader, counts)), (0, 0));
    assert!(
        instance.versions.bytes() < 4_000_000,
        "filled rows have no version each: {}",
        instance.versions.bytes()
    );
    done(&mut writer, "commit");
    assert_eq!(
        (by_statement(counts), number(&mut reader, counts)),
        (20_000 + 19_901 + 5, 0)
    );
    done(
        &mut writer,
        "begin transaction insert pile select id from filled insert filled select id + 20000, 'y' from filled rollback",
    );
    done(&mut writer, "insert filled values (20001, 'z')");
    assert_eq!(
        (by_statement(counts), number(&mut reader, counts)),
        (20_001 + 19_901 + 5, 0)
    );
    done(&mut reader, "commit");
    instance.versions.clean_all();
    assert_eq!(instance.versions.bytes(), 0);
    assert!(run(&mut writer, "dbcc checkdb(d) with no_infomsgs").ends_with("Completed"));
}

fn session_in(instance: &Arc<Instance>) -> Session {
    let mut session = session(instance);
    done(&mut session, "use d set nocount on");
    session
}

/// What happens at the limit: readers get errors, and writers go on.
#[test]
fn a_full_store_gives_up_the_oldest_snapshot_and_then_the_largest_writer() {
    let (instance, mut writer, mut reader) = versioned(BOTH);
    done(
        &mut writer,
        "create table t (id int primary key, text varchar(200)) insert t select value, 'x' from generate_series(1, 4000)",
    );
    done(
        &mut writer,
        "create table other (id int primary key) insert other values (1)",
    );
    instance.versions.clean_all();
    instance.versions.set_limit_bytes(400_000);
    done(
        &mut reader,
        "set transaction isolation level snapshot begin transaction select count(*) from other",
    );
    for round in 0..4 {
        done(&mut writer, &format!("update t set text = 'y{round}' where id <= 1500"));
        assert!(instance.versions.bytes() <= 400_000);
    }
    let answer = run(&mut reader, "select count(*) from t");
    assert!(answer.contains("Msg 3966, Level 17"), "{answer}");
    let said = |text: &str| {
        instance
            .env
            .errorlog
            .lines()
            .iter()
            .any(|line| line.text.contains(text))
    };
    assert!(said("has been marked as victim"));
    // A transaction that alone takes more than all.
    done(&mut reader, "set transaction isolation level read committed");
    done(&mut writer, "begin transaction update t set text = 'z'");
    let answer = run(&mut reader, "select count(*) from t where text = 'z'");
    assert!(
        answer.contains("Msg 3958, Level 16") && answer.contains("'d.dbo.t'"),
        "{answer}"
    );
    assert!(said("Version store is full"));
    assert_eq!(
        number(&mut reader, "select count(*) from other"),
        1,
        "another table's rows are all there"
    );
    assert_eq!(
        number(&mut writer, "select count(*) from t where text = 'z'"),
        4000,
        "its own"
    );
    done(&mut writer, "commit");
    assert_eq!(number(&mut reader, "select count(*) from t where text = 'z'"), 4000);
    assert_eq!(instance.versions.bytes(), 0);
}

#[test]
fn views_show_snapshots_and_writers() {
    let (_instance, mut writer, mut reader) = versioned(BOTH);
    done(
        &mut writer,
        "create table t (a int) insert t values (1) begin transaction update t set a = 2",
    );
    done(
        &mut reader,
        "set transaction isolation level snapshot begin transaction select a from t",
    );
    let shown = "select count(*) from sys.dm_tran_active_snapshot_database_transactions where is_snapshot = ";
    assert_eq!(number(&mut reader, &format!("{shown} 1 and session_id = @@spid")), 1);
    assert_eq!(number(&mut reader, &format!("{shown} 0 and session_id <> @@spid")), 1);
    assert_eq!(
        number(&mut reader, "select count(*) from sys.dm_tran_current_snapshot"),
        1
    );
    done(&mut writer, "commit");
    done(&mut reader, "commit");
    assert_eq!(
        number(
            &mut reader,
            "select count(*) from sys.dm_tran_active_snapshot_database_transactions"
        ),
        0
    );
    assert_eq!(
        number(&mut reader, "select count(*) from sys.dm_tran_current_snapshot"),
        0
    );
}
