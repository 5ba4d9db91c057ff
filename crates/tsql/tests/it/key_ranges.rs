//! SERIALIZABLE by key-range locks: the waits between transactions, step by step in the form of `isolation_scenarios`; the locks in views;
//! and concurrent upserts, none of which may fail on a key that another session has just inserted.
//!
//! The locks that are expected are those of SQL Server's documentation ("Transaction locking and row versioning guide": range scan, singleton
//! fetch of a nonexistent row, delete, insert).
//!
//! Depth: 40 keys for each way to write an upsert, 4 sessions.
#![allow(clippy::unwrap_used)]

use crate::isolation_scenarios::{Scenario, play_under};
use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use engine::seams::SystemClock;
use transcript::{Transcript, instance_with, session};
use tsql::session::Session;

/// Rows with gaps between their keys, and an index.
const ROWS: &str = "use {database} create table r (k int primary key, team int, v int) create index by_team on r (team) \
                    insert r values (10, 1, 100), (20, 1, 200), (30, 2, 300), (40, 2, 400)";

const RANGES: &[Scenario] = &[
    (
        "a range, the gaps in it and the one behind it",
        "serializable",
        "1 select k from r where k between 10 and 15 => 10
         2 insert r values (35, 3, 0) => done
         2 update r set v = 1 where k = 40 => done
         2 delete r where k = 30 => done
         2 commit => done
         2 begin tran insert r values (12, 3, 0) => waits
         1 select k from r where k between 10 and 15 => 10
         1 commit => done
         2 => done",
    ),
    (
        "the gap in front of the first key of a range",
        "serializable",
        "1 select k from r where k between 15 and 25 => 20
         2 insert r values (11, 3, 0) => waits
         3 insert r values (5, 3, 0) => done
         1 commit => done
         2 => done",
    ),
    (
        "the gap behind the last key",
        "serializable",
        "1 select k from r where k > 30 => 40
         2 insert r values (99, 3, 0) => waits
         3 insert r values (15, 3, 0) => done
         1 rollback => done
         2 => done",
    ),
    (
        "a key that is not there",
        "serializable",
        "1 select k from r where k = 25 => done
         2 insert r values (22, 3, 0) => waits
         3 insert r values (15, 3, 0) => done
         1 commit => done
         2 => done",
    ),
    (
        "a key that is there is locked without its gap",
        "serializable",
        "1 select k from r where k = 20 => 20
         2 insert r values (19, 3, 0), (21, 3, 0) => done
         3 update r set v = 0 where k = 20 => waits
         1 commit => done
         3 => done",
    ),
    (
        "of several keys those that are not there have gaps",
        "serializable",
        "1 select k from r where k in (20, 21) => 20
         2 insert r values (21, 3, 0) => waits
         1 commit => done
         2 => done",
    ),
    (
        "entries of an index",
        "serializable",
        "1 select k from r where team = 1 => 10 20
         2 insert r values (50, 1, 0) => waits
         3 insert r values (51, 3, 0) => done
         4 update r set team = 1 where k = 40 => waits
         1 select k from r where team = 1 => 10 20
         1 commit => done
         2 => done
         4 => done",
    ),
    (
        "entries of an index and the rows read by them",
        "serializable",
        "1 select k, v from r with (index (by_team)) where team = 1 => 10=100 20=200
         2 update r set v = 0 where k = 30 => done
         2 update r set v = 0 where k = 20 => waits
         1 commit => done
         2 => done",
    ),
    (
        "backward",
        "serializable",
        "1 select top 1 k from r where k < 30 order by k desc => 20
         2 insert r values (25, 3, 0) => waits
         3 insert r values (35, 3, 0) => done
         1 commit => done
         2 => done",
    ),
    (
        "a row of a range is not deleted, and one beside it is",
        "serializable",
        "1 select k from r where k between 15 and 25 => 20
         2 delete r where k = 10 => done
         2 delete r where k = 20 => waits
         1 commit => done
         2 => done",
    ),
    (
        "who inserts into his own gap keeps both halves",
        "serializable",
        "1 select k from r where k between 11 and 19 => done
         1 insert r values (15, 3, 0) => done
         2 insert r values (12, 3, 0) => waits
         3 insert r values (17, 3, 0) => waits
         1 commit => done
         2 => done
         3 => done",
    ),
    (
        "the gap stays when the insert into it is taken back",
        "serializable",
        "1 select k from r where k between 11 and 19 => done
         1 save tran s insert r values (15, 3, 0) rollback tran s => done
         2 insert r values (12, 3, 0) => waits
         1 commit => done
         2 => done",
    ),
    (
        "a key that was deleted",
        "serializable",
        "3 delete r where k = 20 => done
         3 commit => done
         1 select k from r where k between 15 and 25 => done
         2 insert r values (20, 3, 0) => waits
         1 commit => done
         2 => done",
    ),
    (
        "a deletion that is not committed",
        "serializable",
        "2 delete r where k = 20 => done
         1 select k from r where k between 15 and 25 => waits
         2 rollback => done
         1 => 20",
    ),
    (
        "an insert that is not committed, and is taken back",
        "serializable",
        "2 insert r values (15, 3, 0) => done
         1 select k from r where k between 11 and 19 => waits
         2 rollback => done
         1 => done
         3 insert r values (12, 3, 0) => waits
         1 commit => done
         3 => done",
    ),
    (
        "an insert that is not committed, and is then",
        "serializable",
        "2 insert r values (15, 3, 0) => done
         1 select k from r where k between 11 and 19 => waits
         2 commit => done
         1 => 15",
    ),
    (
        "two that have read a gap insert into it",
        "serializable",
        "1 select k from r where k between 50 and 60 => done
         2 select k from r where k between 50 and 60 => done
         1 insert r values (51, 3, 0) => waits
         2 insert r values (52, 3, 0) => deadlock 1",
    ),
    (
        "write skew",
        "serializable",
        "1 select k from r where team = 1 => 10 20
         2 select k from r where team = 2 => 30 40
         1 update r set team = 9 where k = 30 => waits
         2 update r set team = 9 where k = 20 => deadlock 1",
    ),
    (
        "two updates of ranges apart",
        "serializable",
        "1 update r set v = v + 1 where k between 10 and 15 => done
         2 update r set v = v + 1 where k between 35 and 45 => done
         1 select k, v from r where k = 10 => 10=101
         1 commit => done
         2 commit => done",
    ),
    (
        "an update that finds nothing keeps the gap for itself",
        "serializable",
        "1 update r set v = 0 where k = 25 => done
         2 update r set v = 0 where k = 26 => waits
         1 insert r values (25, 3, 0) => done
         1 commit => done
         2 => done",
    ),
    (
        "the whole table",
        "serializable",
        "1 select sum(v) from r => 1000
         2 insert r values (99, 3, 0) => waits
         3 update r set v = 0 where k = 10 => waits
         1 commit => done
         2 => done
         3 => done",
    ),
    (
        "a table without rows",
        "serializable",
        "3 delete r => done
         3 commit => done
         1 select k from r => done
         2 insert r values (1, 1, 1) => waits
         1 commit => done
         2 => done",
    ),
    (
        "INSERT of what the same table has",
        "serializable",
        "1 insert r select k + 100, team, v from r => done
         1 select count(*) from r => 8
         2 insert r values (500, 3, 0) => waits
         1 rollback => done
         2 => done",
    ),
    (
        "a heap",
        "serializable",
        "1 select id from heap where id = 9 => done
         2 insert heap values (9, 9) => waits
         1 commit => done
         2 => done",
    ),
    (
        "a statement at another level locks no range",
        "serializable",
        "1 select k from r with (readcommitted) where k = 25 => done
         1 select k from r with (nolock) where k = 25 => done
         1 select k from r with (repeatableread) where k = 25 => done
         2 insert r values (25, 3, 0) => done",
    ),
    (
        "ranges that are locked stay so when the level changes",
        "serializable",
        "1 select k from r where k = 25 => done
         1 set transaction isolation level read committed select k from r where k = 35 => done
         2 insert r values (35, 3, 0) => done
         2 insert r values (25, 3, 0) => waits
         1 commit => done
         2 => done",
    ),
    (
        "SELECT WITH UPDLOCK, HOLDLOCK and then INSERT",
        "read committed",
        "1 select k from r with (updlock, holdlock) where k = 25 => done
         2 select k from r with (updlock, holdlock) where k = 25 => waits
         1 insert r values (25, 3, 0) => done
         1 commit => done
         2 => 25",
    ),
    (
        "INSERT WHERE NOT EXISTS",
        "read committed",
        "1 insert r select 25, 3, 0 where not exists (select * from r with (updlock, holdlock) where k = 25) => done
         2 insert r select 25, 3, 1 where not exists (select * from r with (updlock, holdlock) where k = 25) => waits
         1 commit => done
         2 => done
         2 select v from r where k = 25 => 0",
    ),
    (
        "MERGE WITH HOLDLOCK",
        "read committed",
        "1 merge r with (holdlock) as t using (select 25 as k) as s on t.k = s.k when matched then update set v = t.v + 1 when not matched then insert values (25, 9, 1); => done
         2 merge r with (holdlock) as t using (select 25 as k) as s on t.k = s.k when matched then update set v = t.v + 1 when not matched then insert values (25, 9, 1); => waits
         1 commit => done
         2 => done
         2 select v from r where k = 25 => 2",
    ),
    (
        "XLOCK, HOLDLOCK",
        "read committed",
        "1 select k from r with (xlock, holdlock) where k between 15 and 25 => 20
         2 insert r values (26, 3, 0) => waits
         3 insert r values (35, 3, 0) => done
         1 commit => done
         2 => done",
    ),
    (
        "the lock of a table that a statement takes for itself stays when it covers ranges",
        "read committed",
        "1 select count(*) from r a with (tablock), r b with (holdlock) where b.k = 25 => 0
         2 insert r values (25, 3, 0) => waits
         1 commit => done
         2 => done",
    ),
    (
        "a lock that is not waited for",
        "serializable",
        "1 select k from r where k = 25 => done
         2 set lock_timeout 0 insert r values (25, 3, 0) => 1222
         2 insert r values (15, 3, 0) => done",
    ),
];

#[test]
fn every_range_is_kept_as_it_is_told() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let played = RANGES.iter().enumerate();
    let failed: Vec<String> = played
        .filter_map(|(place, scenario)| play_under(&instance, &format!("d{place}"), ROWS, scenario).err())
        .collect();
    println!("{} scenarios, {} not as told", RANGES.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

/// A table of some rows, of which every page has many.
fn numbers(rows: u32) -> (Arc<Instance>, Session) {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut first = session(&instance);
    let made = run(
        &mut first,
        &format!(
            "set nocount on create table n (k int primary key, v int not null)
             insert n select value * 10, value from generate_series(1, {rows})"
        ),
    );
    assert!(made.ends_with("Completed"), "{made}");
    (instance, first)
}

/// The locks of one session that are not of databases, as `type mode`, and how many of each.
fn held(watcher: &mut Session, id: u16) -> Vec<String> {
    let answer = run(
        watcher,
        &format!(
            "select concat(resource_type, ' ', request_mode, ' ', count(*)) from sys.dm_tran_locks
             where request_session_id = {id} and resource_type <> 'DATABASE' group by resource_type, request_mode order by 1"
        ),
    );
    let lines = answer.lines().skip(1).map(|line| line.trim().to_owned());
    lines
        .filter(|line| line.starts_with("KEY ") || line.starts_with("OBJECT "))
        .collect()
}

#[test]
fn the_views_show_the_modes_and_the_end_of_an_index() {
    let (instance, mut one) = numbers(4);
    let mut watcher = session(&instance);
    let id = one.id();
    let cases = [
        (
            "select v from n with (holdlock) where k = 20",
            &["KEY S 1", "OBJECT IS 1"][..],
        ),
        (
            "select v from n with (holdlock) where k = 25",
            &["KEY RangeS-S 1", "OBJECT IS 1"],
        ),
        (
            "select v from n with (holdlock) where k > 20",
            &["KEY RangeS-S 3", "OBJECT IS 1"],
        ),
        (
            "select v from n with (updlock, holdlock) where k > 20",
            &["KEY RangeS-U 3", "OBJECT IX 1"],
        ),
        (
            "select v from n with (xlock, holdlock) where k > 20",
            &["KEY RangeX-X 3", "OBJECT IX 1"],
        ),
        (
            "update n with (holdlock) set v = 0 where k = 20",
            &["KEY X 1", "OBJECT IX 1"],
        ),
        (
            "update n with (holdlock) set v = 0 where k > 20",
            &["KEY RangeS-U 1", "KEY RangeX-X 2", "OBJECT IX 1"],
        ),
        (
            "delete n with (holdlock) where k = 25",
            &["KEY RangeS-U 1", "OBJECT IX 1"],
        ),
    ];
    for (statement, expected) in cases {
        run(&mut one, &format!("begin tran {statement}"));
        assert_eq!(held(&mut watcher, id), expected, "{statement}");
        run(&mut one, "rollback");
        assert!(held(&mut watcher, id).is_empty(), "{statement}");
    }
    run(&mut one, "begin tran select v from n with (holdlock) where k > 30");
    let ends = run(
        &mut watcher,
        &format!(
            "select request_mode, count(*) from sys.dm_tran_locks where request_session_id = {id} and resource_type = 'KEY'
             and resource_description = '(ffffffffffff)' group by request_mode"
        ),
    );
    assert!(ends.contains("RangeS-S"), "{ends}");
    let listed = run(&mut watcher, &format!("exec sp_lock {id}"));
    assert!(
        listed.contains("(ffffffffffff)") && listed.contains("RangeS-S"),
        "{listed}"
    );
    let refused = run(&mut watcher, "set lock_timeout 0 insert n values (35, 0)");
    assert!(refused.contains("Msg 1222"), "{refused}");
}

/// More locks than a statement keeps: they become one of the table, and the ranges are as well kept.
#[test]
fn many_ranges_become_one_lock_of_the_table() {
    let (instance, mut one) = numbers(6_000);
    let mut other = session(&instance);
    let id = one.id();
    run(&mut one, "begin tran select max(v + 0) from n with (holdlock)");
    assert_eq!(held(&mut other, id), ["OBJECT S 1"]);
    run(&mut other, "set lock_timeout 0");
    assert!(run(&mut other, "insert n values (15, 0)").contains("Msg 1222"));
    run(&mut one, "commit");
    assert!(run(&mut other, "insert n values (15, 0)").ends_with("Completed"));
    // Another session is at work on a row: all locks stay what they are, and its key is waited for.
    run(&mut other, "begin tran update n set v = 0 where k = 15");
    run(
        &mut one,
        "set lock_timeout 0 begin tran select count(*) from n with (holdlock, forceseek) where k > 15 and v >= 0",
    );
    let locks = held(&mut other, id);
    assert_eq!(locks, ["KEY RangeS-S 6000", "OBJECT IS 1"]);
    assert!(run(&mut other, "insert n values (999999, 0)").contains("Msg 1222"));
}

/// Pages split, and lose their rows, beside a range: the keys that others may not insert stay the same.
#[test]
fn a_range_stays_where_it_is_while_pages_split_and_go() {
    let (instance, mut one) = numbers(2_000);
    let mut other = session(&instance);
    run(&mut other, "set nocount on set lock_timeout 0");
    let reads = "select count(*) from n with (holdlock) where k between 10005 and 10055";
    run(&mut one, "set nocount on begin tran");
    let before = run(&mut one, reads);
    for batch in [
        "insert n select value * 10 + 5, 0 from generate_series(1, 999) where value < 1000",
        "insert n select value * 10 + 7, 0 from generate_series(1007, 2000)",
        "delete n where k < 10000",
        "delete n where k > 10060",
    ] {
        let answer = run(&mut other, batch);
        assert!(answer.ends_with("Completed"), "{batch}: {answer}");
        // What is deleted is removed, and the pages that it leaves are given back.
        instance.database("master").unwrap().clean_ghosts(10_000).unwrap();
    }
    for key in [10_001, 10_009, 10_025, 10_055, 10_059] {
        let answer = run(&mut other, &format!("insert n values ({key}, 0)"));
        assert!(answer.contains("Msg 1222"), "{key}: {answer}");
    }
    assert_eq!(run(&mut one, reads), before);
    run(&mut one, "commit");
    assert!(run(&mut other, "insert n values (10025, 0)").ends_with("Completed"));
}

/// The key behind a range was deleted, and what the deletion left goes while the range is locked: the gap is as well kept by the row behind it.
#[test]
fn a_range_that_ends_at_a_deleted_key_outlives_what_is_left_of_the_key() {
    let (instance, mut one) = numbers(6);
    let mut other = session(&instance);
    let database = instance.database("master").unwrap();
    run(
        &mut other,
        "set nocount on delete n where k in (30, 40) set lock_timeout 0",
    );
    run(
        &mut one,
        "begin tran select v from n with (holdlock) where k between 22 and 27",
    );
    assert_eq!(held(&mut other, one.id()), ["KEY RangeS-S 3", "OBJECT IS 1"]);
    let cleaned = database.clean_ghosts(10_000).unwrap();
    assert!(cleaned.pages_with_room > 0, "{cleaned:?}");
    for (key, outcome) in [(25, "Msg 1222"), (45, "Msg 1222"), (15, "Completed"), (55, "Completed")] {
        let answer = run(&mut other, &format!("insert n values ({key}, 0)"));
        assert!(answer.contains(outcome), "{key}: {answer}");
    }
    run(&mut one, "commit");
    assert!(run(&mut other, "insert n values (25, 0)").ends_with("Completed"));
}

/// Sessions that upsert the same keys at once. Each way of writing it inserts every key once and counts every call.
#[test]
fn upserts_of_one_key_neither_fail_nor_insert_twice() {
    const SESSIONS: u32 = 4;
    let depth = workbench::depth("keys of upserts", 40, 2_000);
    let ways = [
        "merge u with (holdlock) as t using (select {key} as k) as s on t.k = s.k
         when matched then update set calls = t.calls + 1 when not matched then insert (k, calls) values (s.k, 1);",
        "insert u select {key}, 0 where not exists (select * from u with (updlock, holdlock) where k = {key})
         update u set calls = calls + 1 where k = {key}",
        "if exists (select * from u with (updlock, holdlock) where k = {key}) update u set calls = calls + 1 where k = {key}
         else insert u values ({key}, 1)",
        "update u with (updlock, serializable) set calls = calls + 1 where k = {key}
         if @@rowcount = 0 insert u values ({key}, 1)",
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for key_of in ["primary key", "not null, index by_key unique clustered (k)"] {
            let instance = instance_with(Arc::new(SystemClock::new()));
            let mut first = session(&instance);
            run(&mut first, &format!("create table u (k int {key_of}, calls int)"));
            let keys = depth.units as u32;
            let sessions: Vec<_> = (0..SESSIONS)
                .map(|_| {
                    let instance = instance.clone();
                    std::thread::spawn(move || {
                        let mut session = session(&instance);
                        for key in 0..keys {
                            let batch = way.replace("{key}", &key.to_string());
                            loop {
                                let answer = run(&mut session, &format!("begin tran {batch} commit"));
                                if !answer.contains("Msg ") {
                                    break;
                                }
                                assert!(answer.contains("Msg 1205"), "way {number}: {answer}");
                            }
                        }
                    })
                })
                .collect();
            sessions.into_iter().for_each(|session| session.join().unwrap());
            let counted = run(
                &mut first,
                "select concat(count(*), ' ', min(calls), ' ', max(calls)) from u",
            );
            assert!(
                counted.contains(&format!("{keys} {SESSIONS} {SESSIONS}")),
                "way {number}: {counted}"
            );
        }
    }
    depth.count();
}

/// A range whose session is killed is free.
#[test]
fn who_is_killed_keeps_no_range() {
    let (instance, mut one) = numbers(4);
    let mut other = session(&instance);
    run(&mut one, "begin tran select v from n with (holdlock) where k = 25");
    run(&mut other, "set lock_timeout 0");
    assert!(run(&mut other, "insert n values (25, 0)").contains("Msg 1222"));
    assert!(run(&mut other, &format!("kill {}", one.id())).ends_with("Completed"));
    // The session is idle: it meets its end with its next request.
    run(&mut one, "select 1");
    assert!(run(&mut other, "insert n values (25, 0)").ends_with("Completed"));
}
