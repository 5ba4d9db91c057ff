//! READ_ONLY, READ_WRITE and EMERGENCY: which changes are refused by which number, through close, a stop and a kill.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::{Again, Story};

const SHOWN: &str = "select is_read_only, state, state_desc, cast(databasepropertyex('d', 'updateability') as varchar(20)), \
    cast(databasepropertyex('d', 'status') as varchar(20)) from sys.databases where name = 'd'";

/// Changes of every kind.
const CHANGES: [&str; 9] = [
    "insert d.dbo.t values (2)",
    "update d.dbo.t set a = 3",
    "delete d.dbo.t",
    "truncate table d.dbo.t",
    "use d create table n (a int)",
    "use d alter table t add b int",
    "use d create index i on t (a)",
    "use d drop table t",
    "use d exec sp_executesql N'create procedure p as select 1 as one'",
];

fn made() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (a int not null) insert t values (1)");
    story.run("use master");
    story
}

/// All changes are refused by one number; rows are read, and tempdb is as ever.
fn is_only_read(story: &mut Story, number: i32) {
    for change in CHANGES {
        assert_eq!(story.errors(change), [number], "{change}");
        story.run("use master");
    }
    assert_eq!(story.rows("select a from d.dbo.t"), ["1"]);
    story.run("use d create table #n (a int) insert #n select a + 1 from t");
    assert_eq!(story.rows("select a from #n"), ["2"]);
    story.run("drop table #n use master");
}

#[test]
fn a_read_only_database_is_read_and_not_changed_until_it_is_read_write() {
    for again in Again::ALL {
        let mut story = made();
        story.run("alter database d set read_only with rollback immediate");
        is_only_read(&mut story, 3906);
        story.again(again, "d");
        story.run("use master");
        assert_eq!(story.rows(SHOWN), ["1 0 ONLINE READ_ONLY ONLINE"], "{again:?}");
        is_only_read(&mut story, 3906);
        assert_eq!(story.errors("alter database d set recovery simple"), [3906, 5069]);
        story.run("alter database d set read_write");
        assert_eq!(story.rows(SHOWN), ["0 0 ONLINE READ_WRITE ONLINE"], "{again:?}");
        story.run("insert d.dbo.t values (2)");
        story.again(again, "d");
        assert_eq!(story.rows("select a from d.dbo.t order by a"), ["1", "2"], "{again:?}");
    }
}

#[test]
fn an_emergency_database_is_read_and_not_changed_until_it_is_online() {
    let mut story = made();
    story.run("alter database d set emergency");
    assert_eq!(story.rows(SHOWN), ["1 5 EMERGENCY READ_ONLY EMERGENCY"]);
    is_only_read(&mut story, 3908);
    story.again(Again::Kill, "d");
    story.run("use master");
    assert_eq!(story.rows(SHOWN), ["1 5 EMERGENCY READ_ONLY EMERGENCY"]);
    is_only_read(&mut story, 3908);
    story.run("alter database d set online");
    assert_eq!(story.rows(SHOWN), ["0 0 ONLINE READ_WRITE ONLINE"]);
    story.run("insert d.dbo.t values (2)");
}

/// A transaction under way in the database is not cut in half: with NO_WAIT nothing happens.
#[test]
fn a_database_that_others_use_stays_as_it_is() {
    let mut story = made();
    let mut other = story.beside();
    story::told(&mut other, "use d begin tran insert t values (2)");
    assert_eq!(
        story.errors("alter database d set read_only with no_wait"),
        [5061, 5069]
    );
    assert_eq!(story.rows(SHOWN), ["0 0 ONLINE READ_WRITE ONLINE"]);
    story::told(&mut other, "insert t values (3) commit");
    assert_eq!(story.rows("select a from d.dbo.t order by a"), ["1", "2", "3"]);
    drop(other);
    story.run("alter database d set read_only with no_wait");
    assert_eq!(story.errors("insert d.dbo.t values (4)"), [3906]);
}

#[test]
fn system_databases_stay_as_they_are() {
    let mut story = made();
    for database in ["master", "tempdb", "model"] {
        for option in ["read_only", "emergency"] {
            let batch = format!("alter database {database} set {option}");
            assert_eq!(story.errors(&batch), [5058, 5069], "{batch}");
        }
        story.run(&format!("alter database {database} set read_write"));
    }
}
