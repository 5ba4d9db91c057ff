//! Transactions that read versions of rows, step by step, in the form of `isolation_scenarios`: the Hermitage scenarios for SQL Server's SNAPSHOT
//! (github.com/ept/hermitage, `sqlserver.md`), the same for READ COMMITTED by versions, and what each way to a row's version has to answer.
#![allow(clippy::unwrap_used)]

use crate::isolation_scenarios::{Scenario, play_under};
use crate::transcript;

use std::sync::Arc;

use engine::seams::SystemClock;
use transcript::instance_with;

const ALLOWED: &str = "alter database {database} set allow_snapshot_isolation on";
const BY_DEFAULT: &str = "alter database {database} set read_committed_snapshot on";

/// The anomalies under SNAPSHOT: what it forbids, and write skew (G2-item), which it does not.
const UNDER_SNAPSHOT: &[Scenario] = &[
    (
        "G0: no write cycles",
        "snapshot",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 12 where id = 1 => waits
         1 update test set value = 21 where id = 2 => done
         1 commit => done
         2 => 3960",
    ),
    (
        "G1a: no aborted reads",
        "snapshot",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=10 2=20
         1 rollback => done
         2 select id, value from test => 1=10 2=20",
    ),
    (
        "G1b: no intermediate reads",
        "snapshot",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=10 2=20
         1 update test set value = 11 where id = 1 => done
         1 commit => done
         2 select id, value from test => 1=10 2=20
         2 commit => done
         2 select id, value from test => 1=11 2=20",
    ),
    (
        "G1c: no circular information flow",
        "snapshot",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 22 where id = 2 => done
         1 select id, value from test where id = 2 => 2=20
         2 select id, value from test where id = 1 => 1=10
         1 commit => done
         2 commit => done",
    ),
    (
        "OTV: no observed transaction vanishes",
        "snapshot",
        "1 update test set value = 11 where id = 1 => done
         1 update test set value = 19 where id = 2 => done
         2 select id, value from test where id = 1 => 1=10
         2 update test set value = 12 where id = 1 => waits
         1 commit => done
         2 => 3960
         3 select id, value from test => 1=11 2=19",
    ),
    (
        "PMP: a predicate does not find what was inserted",
        "snapshot",
        "1 select id, value from test where value = 30 => done
         2 insert test values (3, 30) => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => done",
    ),
    (
        "PMP: a change by a predicate meets a change of the row",
        "snapshot",
        "1 update test set value = value + 10 => done
         2 delete test where value = 20 => waits
         1 commit => done
         2 => 3960",
    ),
    (
        "P4: no lost update",
        "snapshot",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         1 update test set value = 11 where id = 1 => done
         2 update test set value = 11 where id = 1 => waits
         1 commit => done
         2 => 3960",
    ),
    (
        "G-single: no read skew",
        "snapshot",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 2 => 2=20
         2 update test set value = 12 where id = 1 => done
         2 update test set value = 18 where id = 2 => done
         2 commit => done
         1 select id, value from test where id = 2 => 2=20
         1 commit => done",
    ),
    (
        "G-single: no read skew by predicates",
        "snapshot",
        "1 select id, value from test where value % 5 = 0 => 1=10 2=20
         2 update test set value = 12 where value = 10 => done
         2 commit => done
         1 select id, value from test where value % 3 = 0 => done",
    ),
    (
        "G-single: a write by a predicate fails",
        "snapshot",
        "1 select id, value from test where id = 1 => 1=10
         2 update test set value = 12 where id = 1 => done
         2 update test set value = 18 where id = 2 => done
         2 commit => done
         1 delete test where value = 20 => 3960",
    ),
    (
        "G2-item: write skew is possible",
        "snapshot",
        "1 select id, value from test where id in (1, 2) => 1=10 2=20
         2 select id, value from test where id in (1, 2) => 1=10 2=20
         1 update test set value = 11 where id = 1 => done
         2 update test set value = 21 where id = 2 => done
         1 commit => done
         2 commit => done
         3 select id, value from test => 1=11 2=21",
    ),
    (
        "G2-item: UPDLOCK keeps write skew out",
        "snapshot",
        "1 select id, value from test with (updlock) where id in (1, 2) => 1=10 2=20
         2 select id, value from test with (updlock) where id in (1, 2) => waits
         1 update test set value = 11 where id = 1 => done
         1 commit => done
         2 => 3960",
    ),
    (
        "G2: anti-dependency cycles by predicates are possible",
        "snapshot",
        "1 select id, value from test where value % 3 = 0 => done
         2 select id, value from test where value % 3 = 0 => done
         1 insert test values (3, 30) => done
         2 insert test values (4, 42) => done
         1 commit => done
         2 commit => done
         3 select id, value from test where value % 3 = 0 => 3=30 4=42",
    ),
    (
        "what was undone is no conflict",
        "snapshot",
        "1 select count(*) from test => 2
         2 update test set value = 12 where id = 1 => done
         1 update test set value = 11 where id = 1 => waits
         2 rollback => done
         1 => done
         1 commit => done
         3 select id, value from test => 1=11 2=20",
    ),
    (
        "a key given up since is another's",
        "snapshot",
        "1 select id, value from test => 1=10 2=20
         2 delete test where id = 2 => done
         2 commit => done
         1 insert test values (2, 22) => 3960
         1 select id, value from test => 1=10",
    ),
    (
        "a key taken since is a duplicate",
        "snapshot",
        "1 select id, value from test => 1=10 2=20
         2 insert test values (3, 30) => done
         2 commit => done
         1 insert test values (3, 33) => 2627
         1 select id, value from test => 1=10 2=20",
    ),
    (
        "a foreign key is judged by what is there",
        "snapshot",
        "1 select id, value from parent => 1=10 2=20
         2 delete parent where id = 2 => done
         2 commit => done
         1 select id, value from parent => 1=10 2=20
         1 insert child values (1, 2) => 547",
    ),
    (
        "a transaction sees its own changes",
        "snapshot",
        "1 select id, value from test => 1=10 2=20
         1 update test set value = 11 where id = 1 => done
         1 delete test where id = 2 => done
         1 insert test values (3, 30) => done
         2 update heap set value = 11 where id = 1 => done
         2 commit => done
         1 select id, value from test => 1=11 3=30
         1 select id, value from heap => 1=10 2=20
         1 update test set id = 4 where id = 3 => done
         1 select id, value from test => 1=11 4=30
         3 select id, value from test => 1=10 2=20",
    ),
    (
        "a redefined table is none of the snapshot's",
        "snapshot",
        "1 select id, value from test => 1=10 2=20
         2 commit => done
         2 alter table heap add other int => done
         1 select count(*) from heap => 3961",
    ),
    (
        "a truncated table is none of the snapshot's",
        "snapshot",
        "1 select id, value from test => 1=10 2=20
         2 truncate table heap => done
         2 commit => done
         1 select count(*) from heap => 3961",
    ),
    (
        "definitions do not change under SNAPSHOT",
        "snapshot",
        "1 select count(*) from test => 2
         1 create index i on heap (value) => 3964",
    ),
    (
        "the level comes too late",
        "read committed",
        "1 select count(*) from test => 2
         1 set transaction isolation level snapshot select count(*) from test => 3951",
    ),
    (
        "locks by hints under SNAPSHOT",
        "snapshot",
        "1 select count(*) from heap => 2
         2 update test set value = 11 where id = 1 => done
         1 select id, value from test with (readcommittedlock) => waits
         2 commit => done
         1 => 1=11 2=20
         1 select id, value from test => 1=10 2=20",
    ),
];

/// READ COMMITTED by versions: what each statement sees, and that it waits for nobody.
const BY_STATEMENT: &[Scenario] = &[
    (
        "G1a: no aborted reads",
        "read committed",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=10 2=20
         1 rollback => done
         2 select id, value from test => 1=10 2=20",
    ),
    (
        "G1b: no intermediate reads",
        "read committed",
        "1 update test set value = 101 where id = 1 => done
         2 select id, value from test => 1=10 2=20
         1 update test set value = 11 where id = 1 => done
         1 commit => done
         2 select id, value from test => 1=11 2=20",
    ),
    (
        "G1c: no circular information flow",
        "read committed",
        "1 update test set value = 11 where id = 1 => done
         2 update test set value = 22 where id = 2 => done
         1 select id, value from test where id = 2 => 2=20
         2 select id, value from test where id = 1 => 1=10",
    ),
    (
        "G-single: read skew between statements is possible",
        "read committed",
        "1 select id, value from test where id = 1 => 1=10
         2 update test set value = 12 where id = 1 => done
         2 update test set value = 18 where id = 2 => done
         2 commit => done
         1 select id, value from test where id = 2 => 2=18",
    ),
    (
        "P4: an update is lost, as by locks",
        "read committed",
        "1 select id, value from test where id = 1 => 1=10
         2 select id, value from test where id = 1 => 1=10
         1 update test set value = 11 where id = 1 => done
         2 update test set value = 12 where id = 1 => waits
         1 commit => done
         2 => done
         2 commit => done
         3 select id, value from test => 1=12 2=20",
    ),
    (
        "PMP: a change goes by the row as it is",
        "read committed",
        "1 update test set value = value + 10 => done
         2 delete test where value = 20 => waits
         1 commit => done
         2 => done
         2 select id, value from test => 2=30",
    ),
    (
        "inserted, deleted, moved and undone rows, in a tree and in a heap",
        "read committed",
        "1 insert test values (3, 30) => done
         1 delete test where id = 1 => done
         1 update test set id = 5 where id = 2 => done
         1 insert heap values (3, 30) => done
         1 delete heap where id = 1 => done
         2 select id, value from test => 1=10 2=20
         2 select id, value from heap => 1=10 2=20
         2 select count(*) from heap => 2
         2 select value from test where id = 2 => 20
         2 select value from test where id = 5 => done
         1 select id, value from test => 3=30 5=20
         1 rollback => done
         2 select id, value from test => 1=10 2=20
         2 select id, value from heap => 1=10 2=20",
    ),
    (
        "a lock of the whole table keeps no reader out",
        "read committed",
        "1 update test with (tablockx) set value = 0 => done
         2 select id, value from test => 1=10 2=20
         2 select id, value from test with (readcommittedlock) => waits
         1 commit => done
         2 => 1=0 2=0",
    ),
    (
        "REPEATABLE READ keeps to locks",
        "repeatable read",
        "1 update test set value = 0 where id = 1 => done
         2 select id, value from test => waits
         1 commit => done
         2 => 1=0 2=20",
    ),
    (
        "a key that is looked up through an index and changed meanwhile",
        "read committed",
        "1 commit => done
         1 create index by_value on heap (value) include (id) => done
         1 begin transaction update heap set value = 25 where id = 1 => done
         2 select id, value from heap with (index(by_value)) where value between 0 and 100 => 1=10 2=20
         2 select id from heap with (index(by_value)) where value = 25 => done
         1 commit => done
         2 select id, value from heap with (index(by_value)) where value between 0 and 100 => 1=25 2=20",
    ),
    (
        "what a statement changes it reads by locks, its sources by versions",
        "read committed",
        "1 update parent set value = 50 where id = 1 => done
         2 update test set value = parent.value from test join parent on parent.id = test.id => done
         2 select id, value from test => 1=10 2=20
         1 rollback => done",
    ),
];

fn play_all(options: &str, scenarios: &[Scenario]) {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let played = scenarios.iter().enumerate();
    let failed: Vec<String> = played
        .filter_map(|(place, scenario)| play_under(&instance, &format!("d{place}"), options, scenario).err())
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn snapshot_forbids_what_it_forbids_and_write_skew_is_left() {
    play_all(ALLOWED, UNDER_SNAPSHOT);
}

#[test]
fn read_committed_by_versions_sees_what_was_committed_when_the_statement_began() {
    play_all(BY_DEFAULT, BY_STATEMENT);
}
