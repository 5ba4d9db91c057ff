//! Values of rowversion columns: none is assigned twice, whatever happens to the rows, the database and the machine.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::{CutPolicy, SimDisk};
use engine::log::LogPolicy;
use story::{Again, Story, change_boot_pages, told};

/// Where the boot record has the row versions that were not promised.
const AT_ROW_VERSION: usize = 192;

fn filled() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (id int not null, v char(20), r rowversion) insert t (id) values (1), (2), (3)");
    story
}

/// The highest row version in the table; that of no two rows is the same.
fn highest(story: &mut Story, table: &str) -> i64 {
    let rows = story.rows(&format!(
        "select count(*) - count(distinct r), cast(max(r) as bigint) from {table}"
    ));
    let (same, highest) = rows[0].split_once(' ').unwrap();
    assert_eq!(same, "0", "{table}");
    highest.parse().unwrap()
}

/// Columns of the type were binary(8): they stayed NULL, and @@DBTS was 0.
#[test]
fn no_value_comes_again_whatever_becomes_of_the_database() {
    for again in Again::ALL {
        let mut story = filled();
        let mut last = highest(&mut story, "t");
        for round in 0..3 {
            story.run("use d begin tran insert t (id) values (0) update t set v = 'x' rollback");
            let used: i64 = story.rows("select cast(@@dbts as bigint)")[0].parse().unwrap();
            assert_eq!(used, last + 5 + round, "a value that was rolled back is used up");
            story.again(again, "d");
            story.run("use d insert t (id) values (7)");
            let next = highest(&mut story, "t");
            assert!(next > used, "{again:?}: {next} after {used}");
            last = next;
        }
        story.is_sound("d");
    }
}

/// The power goes while nothing is committed, with all that was written and with none of it.
#[test]
fn a_power_cut_gives_no_value_again() {
    for policy in [CutPolicy::AllKept, CutPolicy::AllLost] {
        let mut story = filled();
        story.run(
            "use d begin tran insert t (id) select top (12000) 5 from sys.all_columns a cross join sys.all_columns b",
        );
        let used: i64 = story.rows("select cast(@@dbts as bigint)")[0].parse().unwrap();
        let disk = story.disk.after_power_cut(policy, 1);
        story.start_on(disk);
        story.run("use d insert t (id) values (4)");
        assert_eq!(story.rows("select count(*) from t"), ["4"], "{policy:?}");
        let next = highest(&mut story, "t");
        assert!(next > used, "{policy:?}: {next} after {used}");
    }
}

/// Promises in the log count where it is restored: the set's boot record is older than they are.
#[test]
fn restored_log_promises_what_it_promised() {
    let mut story = filled();
    story.run("use master alter database d set recovery full backup database d to disk = 'd.bak'");
    story.run("use d insert t (id) select top (25000) 5 from sys.all_columns a cross join sys.all_columns b");
    let used = highest(&mut story, "t");
    story.run("use master backup log d to disk = 'd.trn' with format drop database d");
    story.run("restore database d from disk = 'd.bak' with norecovery restore log d from disk = 'd.trn' with recovery");
    assert_eq!(story.rows("select count(*) from d.dbo.t"), ["25003"]);
    story.run("use d insert t (id) values (4)");
    let next = highest(&mut story, "t");
    assert!(next > used, "{next} after {used}");
}

/// Rows by the ways that move bytes or fill pages elsewhere: each gets its own value here.
#[test]
fn every_way_into_a_table_gives_values() {
    for table in [
        "create table u (id int not null, v char(20), r rowversion)",
        "create table u (id int not null primary key, v char(20), r rowversion)",
        "create table u (id int identity not null, v char(20), r rowversion not null unique)",
    ] {
        for hint in ["", "with (tablock)"] {
            let mut story = filled();
            story.run(&format!("use d {table}"));
            story.run(
                "create table s (n int not null) begin tran declare @i int = 0 \
                 while @i < 5000 begin insert s values (@i) set @i += 1 end commit",
            );
            let (columns, values) = match table.contains("identity") {
                true => ("v", "'x'"),
                false => ("v, id", "'x', n"),
            };
            story.run(&format!("insert u {hint} ({columns}) select {values} from s"));
            let first = highest(&mut story, "u");
            assert_eq!(story.rows("select count(*) from u where r is not null"), ["5000"]);
            story.run("create table copy (id int not null, v char(20), r rowversion)");
            story.run(&format!("insert copy {hint} (id, v) select id, v from u"));
            let copied = highest(&mut story, "copy");
            assert!(copied >= first + 5000, "{table} {hint}: {copied} after {first}");
            story.run("update u set v = 'y' where v = 'x'");
            let changed = highest(&mut story, "u");
            assert!(changed >= copied + 5000, "{table} {hint}: {changed} after {copied}");
            assert_eq!(story.rows("select count(*) from u where v = 'y'"), ["5000"]);
            story.is_sound("d");
        }
    }
}

/// https://learn.microsoft.com/sql/t-sql/functions/min-active-rowversion-transact-sql: the lowest value of a transaction that has not been
/// committed, else `@@DBTS` + 1.
#[test]
fn values_of_transactions_under_way_are_active() {
    let both = "select cast(@@dbts as bigint), cast(min_active_rowversion() as bigint)";
    let mut story = filled();
    assert_eq!(story.rows(both), ["2003 2004"]);
    let mut other = story.beside();
    let mut third = story.beside();
    told(&mut other, "use d begin tran insert t (id) values (4), (5)");
    assert_eq!(story.rows(both), ["2005 2004"]);
    told(&mut third, "use d begin tran insert t (id) values (6)");
    assert_eq!(story.rows(both), ["2006 2004"]);
    told(&mut other, "rollback");
    assert_eq!(story.rows(both), ["2006 2006"]);
    story.run("insert t (id) values (7)");
    assert_eq!(story.rows(both), ["2007 2006"], "a statement's own transaction is over");
    told(&mut third, "commit");
    assert_eq!(story.rows(both), ["2007 2008"]);
    told(&mut third, "begin tran insert t (id) values (8)");
    drop(third);
    assert_eq!(story.rows(both), ["2008 2009"], "a session that ends has none left");
}

/// A database of before there were row versions has nothing where the boot record has them now.
#[test]
fn a_database_of_before_begins_with_the_first_value() {
    let mut story = Story::begin();
    story.run("create database d");
    story.instance.shutdown(false).unwrap();
    let disk = story.disk.snapshot();
    change_boot_pages(&disk, "d.mdf", |payload| {
        payload[AT_ROW_VERSION..AT_ROW_VERSION + 8].fill(0);
    });
    story.start_on(disk);
    story.run("use d create table t (id int, r rowversion) insert t (id) values (1)");
    assert_eq!(story.rows("select cast(r as bigint) from t"), ["2001"]);
    story.again(Again::Kill, "d");
    story.run("use d insert t (id) values (2)");
    assert!(highest(&mut story, "t") > 2001);
}

/// Under the other log policy, too.
#[test]
fn values_follow_each_other_without_gaps_while_the_database_is_open() {
    let mut story = Story::on(SimDisk::new(3), LogPolicy::classic());
    story.run("create database d");
    story.run("use d create table t (id int not null, r rowversion)");
    story.run("begin tran declare @i int = 0 while @i < 10100 begin insert t (id) values (@i) set @i += 1 end commit");
    assert_eq!(highest(&mut story, "t"), 12_100, "a promise was renewed in between");
}
