//! READTEXT, WRITETEXT, UPDATETEXT, TEXTPTR and TEXTVALID, beside what the documentation shows (`reference/text_pointers.txt`): long values in
//! parts, transactions, restarts, triggers, row versions, snapshots, locks, and pointers that a client has made up.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::SimDisk;
use engine::log::LogPolicy;
use story::{Again, Story, told};

/// A table with a clustered index, one whose keys are longer than a pointer, and a heap.
const KEYS: [&str; 3] = [
    "id int not null primary key",
    "id int not null, k char(20) not null default 'k', primary key (k, id)",
    "id int not null",
];

fn begin(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(7), policy);
    story.run("create database d");
    story.run("use d");
    story
}

/// A batch with the pointer to a column of a row.
fn pointed(column: &str, id: u32, batch: &str) -> String {
    format!("declare @p binary(16) = (select textptr({column}) from t where id = {id}) {batch}")
}

/// Values of several hundred kilobytes are read and changed in parts, in every kind of table; what is rolled back is gone, and what is
/// committed comes back after each kind of restart.
#[test]
fn long_values_are_read_and_changed_in_parts() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        for key in KEYS {
            let mut story = begin(policy);
            story.run(&format!(
                "create table t ({key}, x text null, n ntext null, i image null)"
            ));
            story.run(
                "insert t (id, x, n, i) select id, replicate(cast('abcdefghij' as varchar(max)), 40000), replicate(cast(N'äb' as nvarchar(max)), 100000),
                 cast(replicate(cast('z' as varchar(max)), 300000) as varbinary(max)) from (values (1), (2), (3)) v (id)",
            );
            assert_eq!(story.rows(&pointed("x", 2, "readtext t.x @p 399995 5")), ["fghij"]);
            assert_eq!(story.rows(&pointed("n", 2, "readtext t.n @p 199997 3")), ["bäb"]);
            assert_eq!(story.errors(&pointed("n", 2, "readtext t.n @p 199998 3")), [7124]);
            story.run(&pointed("x", 2, "updatetext t.x @p 200000 10 '<>'"));
            story.run(&pointed("n", 2, "updatetext t.n @p 1 0 N'ÖÖ'"));
            story.run(&pointed("i", 2, "updatetext t.i @p null null 0x0102"));
            let change = "writetext t.x @p 'short' updatetext t.x @p 5 0 'er' select cast(x as varchar(9)) from t where id = 2 rollback";
            let begun = pointed("x", 2, &format!("begin tran {change}"));
            assert_eq!(story.rows(&begun), ["shorter"]);
            let expected = [
                "1 400000 abc hij 400000 äbä 300000",
                "2 399992 abc hij 400004 äÖÖ 300002",
                "3 400000 abc hij 400000 äbä 300000",
            ];
            let shown = "select id, datalength(x), substring(x, 1, 3), substring(x, datalength(x) - 2, 3), datalength(n), substring(n, 1, 3), datalength(i) from t order by id";
            assert_eq!(story.rows(shown), expected, "{key}");
            for again in Again::ALL {
                story.again(again, "d");
                story.run("use d");
                assert_eq!(story.rows(shown), expected, "{key} {again:?}");
                assert_eq!(story.rows(&pointed("x", 2, "readtext t.x @p 199998 6")), ["ij<>ab"]);
            }
            story.is_sound("d");
        }
    }
}

/// A pointer means its row as long as the row keeps its key: other rows that come, grow, split pages and go do not matter. A row of a heap
/// that goes leaves its place to others.
#[test]
fn a_pointer_stays_valid_while_its_row_keeps_its_key() {
    for key in KEYS {
        let mut story = begin(LogPolicy::native());
        story.run(&format!(
            "create table t ({key}, f varchar(4000) not null, x text null)"
        ));
        story.run("create table kept (id int not null primary key, p varbinary(16) not null)");
        story.run(
            "declare @i int = 0 while @i < 60 begin insert t (id, f, x) values (@i * 10, replicate('f', 100), 'text of ' + cast(@i * 10 as varchar(9))) set @i += 1 end
             insert kept select id, textptr(x) from t",
        );
        story.run("delete t where id % 20 = 10 update t set f = replicate('g', 3000) where id % 40 = 0");
        story.run("declare @i int = 0 while @i < 60 begin insert t (id, f, x) values (@i * 10 + 5, replicate('h', 500), 'other') set @i += 1 end");
        let valid = "select count(*), sum(textvalid('t.x', k.p)) from kept k join t on t.id = k.id";
        assert_eq!(story.rows(valid), ["30 30"], "{key}");
        let batch = "declare @p binary(16) = (select p from kept where id = 400) readtext t.x @p 0 0";
        assert_eq!(story.rows(batch), ["text of 400"], "{key}");
        if key == KEYS[2] {
            continue;
        }
        let invalid =
            "select count(*), sum(textvalid('t.x', k.p)) from kept k left join t on t.id = k.id where t.id is null";
        assert_eq!(story.rows(invalid), ["30 0"], "{key}");
        let gone = "declare @p binary(16) = (select p from kept where id = 410) readtext t.x @p 0 0";
        assert_eq!(story.errors(gone), [7123], "{key}");
    }
}

/// "WRITETEXT doesn't activate triggers" (SQL Server docs, CREATE TRIGGER), and no row version advances.
#[test]
fn no_trigger_fires_and_no_row_version_advances() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int not null primary key, x text null, v rowversion) create table fired (n int)");
    story.run("create trigger on_t on t after insert, update as insert fired values (1)");
    story.run("insert t (id, x) values (1, 'a')");
    let version = story.rows("select v from t");
    story.run(&pointed("x", 1, "writetext t.x @p 'b' updatetext t.x @p null 0 'c'"));
    assert_eq!(story.rows("select cast(x as varchar(5)) from t"), ["bc"]);
    assert_eq!(story.rows("select v from t"), version);
    assert_eq!(story.rows("select count(*) from fired"), ["1"]);
    story.run("update t set x = 'd'");
    assert_ne!(story.rows("select v from t"), version);
    assert_eq!(story.rows("select count(*) from fired"), ["2"]);
}

/// A snapshot reads the value of its moment by the pointer, and HOLDLOCK keeps writers away from it.
#[test]
fn a_pointer_reads_by_snapshots_and_holds_locks() {
    let mut story = begin(LogPolicy::native());
    story.run("alter database d set allow_snapshot_isolation on");
    story.run("create table t (id int not null primary key, x text null) insert t values (1, replicate(cast('o' as varchar(max)), 300000))");
    let mut reader = story.beside();
    let begun = told(
        &mut reader,
        "use d set transaction isolation level snapshot begin tran select count(*) from t",
    );
    assert!(!begun.contains("Level 16"), "{begun}");
    story.run(&pointed("x", 1, "updatetext t.x @p 0 1 'n'"));
    let read = told(&mut reader, &pointed("x", 1, "readtext t.x @p 0 2"));
    assert!(read.contains("oo"), "{read}");
    let conflict = told(&mut reader, &pointed("x", 1, "writetext t.x @p 'mine'"));
    assert!(conflict.contains("3960"), "{conflict}");
    assert_eq!(story.rows(&pointed("x", 1, "readtext t.x @p 0 2")), ["no"]);

    let mut holder = story.beside();
    let held = told(
        &mut holder,
        &format!("use d begin tran {}", pointed("x", 1, "readtext t.x @p 0 2 holdlock")),
    );
    assert!(held.contains("no"), "{held}");
    let blocked = pointed("x", 1, "set lock_timeout 0 writetext t.x @p 'blocked'");
    assert_eq!(story.errors(&blocked), [1222]);
    told(&mut holder, "commit");
    story.run(&pointed("x", 1, "set lock_timeout -1 writetext t.x @p 'free'"));
    assert_eq!(story.rows("select cast(x as varchar(9)) from t"), ["free"]);
}

/// A pointer that has a digest of a long key finds its row by a scan, which passes deleted rows: one whose deletion is not committed is waited for
/// all the same, and a snapshot reads the one that it still sees.
#[test]
fn a_pointer_by_digest_waits_for_a_deletion_and_reads_by_snapshots() {
    let mut story = begin(LogPolicy::native());
    story.run("alter database d set allow_snapshot_isolation on");
    story.run(&format!("create table t ({}, x text null)", KEYS[1]));
    story.run("insert t (id, x) values (1, 'old'), (2, 'other')");
    let [pointer] = story.rows("select textptr(x) from t where id = 1").try_into().unwrap();
    let read = format!("readtext t.x {pointer} 0 3");
    let mut reader = story.beside();
    let begun = told(
        &mut reader,
        "use d set transaction isolation level snapshot begin tran select count(*) from t",
    );
    assert!(!begun.contains("Level 16"), "{begun}");
    let mut holder = story.beside();
    told(&mut holder, "use d begin tran delete t where id = 1");
    assert_eq!(story.errors(&format!("set lock_timeout 0 {read}")), [1222]);
    assert_eq!(
        story.errors(&format!("set lock_timeout 0 writetext t.x {pointer} 'new'")),
        [1222]
    );
    told(&mut holder, "rollback");
    assert_eq!(story.rows(&read), ["old"]);
    told(&mut holder, "delete t where id = 1");
    assert_eq!(story.errors(&read), [7123]);
    let seen = told(&mut reader, &read);
    assert!(seen.contains("old"), "{seen}");
}

/// A pointer to a heap is a place in the files, which a client may make up: pages of other objects, of no object and of no file are no rows of
/// the heap, and nothing fails that is not 7123.
#[test]
fn a_made_up_place_points_to_nothing() {
    let mut story = begin(LogPolicy::native());
    story.run("create table t (id int not null, x text null) create table u (id int not null, x text null)");
    story.run("insert t values (1, 'a') insert u values (1, 'b')");
    let begins = story.rows("select substring(textptr(x), 1, 4) from t").remove(0);
    let begins = begins.trim_start_matches("0x").to_owned();
    let mut found = 0;
    for file in [0_u16, 1, 2, 9, u16::MAX] {
        for page in (0..400).chain([100_000, u32::MAX]) {
            for slot in [0_u16, 1, u16::MAX] {
                let place = u64::from(file) << 48 | u64::from(page) << 16 | u64::from(slot);
                let bytes: String = place.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                let errors = story.errors(&format!("readtext t.x 0x{begins}{bytes}00000000 0 0"));
                match errors.as_slice() {
                    [] => found += 1,
                    errors => assert_eq!(errors, [7123], "file {file} page {page} slot {slot}"),
                }
            }
        }
    }
    assert_eq!(found, 1, "the one row of the table");
    story.is_sound("d");
}
