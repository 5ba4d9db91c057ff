//! CREATE DATABASE ... AS SNAPSHOT OF, as a client sees it: the contents of a snapshot, the error numbers, and the snapshot after a stop,
//! after a kill, and after its base was closed.
#![allow(clippy::unwrap_used)]

use crate::story;

use story::{Again, Story};

const MAKE: &str = "create database s on (name = d, filename = 'c:\\s.ss') as snapshot of d";
const LISTED: &str = "select s.name, b.name, s.state_desc, s.is_read_only from sys.databases s \
    left join sys.databases b on b.database_id = s.source_database_id where s.name in ('d', 's') order by 1";
const ROWS: &str = "select a from s.dbo.t order by a";

fn made() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (a int not null primary key, w char(3000) not null default 'w') insert t (a) values (1), (2), (3)");
    story.run("use master");
    story
}

#[test]
fn a_snapshot_shows_its_base_as_it_was_through_a_stop_and_a_kill() {
    for again in [Again::StopStart, Again::Kill] {
        let mut story = made();
        story.run(MAKE);
        story.run("update d.dbo.t set a = a + 10, w = 'x' insert d.dbo.t (a) values (1), (2)");
        story.run("use d create table n (b int) checkpoint use master");
        assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
        assert_eq!(story.rows("select name from s.sys.tables"), ["t"]);
        assert_eq!(story.rows(LISTED), ["d NULL ONLINE 0", "s d ONLINE 1"]);
        story.again(again, "d");
        story.run("use master");
        assert_eq!(story.rows(LISTED), ["d NULL ONLINE 0", "s d ONLINE 1"], "{again:?}");
        assert_eq!(story.rows(ROWS), ["1", "2", "3"], "{again:?}");
        assert_eq!(
            story.rows("select a from d.dbo.t order by a"),
            ["1", "2", "11", "12", "13"]
        );
        story.run("delete d.dbo.t");
        story.run("use d checkpoint use master");
        assert_eq!(story.rows(ROWS), ["1", "2", "3"], "{again:?}");
        story.run("dbcc checkdb ('s') with no_infomsgs");
        story.run("drop database s");
        story.run("drop database d");
    }
}

#[test]
fn what_is_under_way_is_not_in_a_snapshot() {
    let mut story = made();
    let mut other = story.beside();
    story::told(
        &mut other,
        "begin transaction update d.dbo.t set a = a + 100 where a = 1 insert d.dbo.t (a) values (9)",
    );
    story.run(MAKE);
    assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
    story::told(&mut other, "commit");
    assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
    assert_eq!(story.rows("select a from d.dbo.t order by a"), ["2", "3", "9", "101"]);
}

#[test]
fn files_of_a_snapshot_are_sparse_and_take_what_was_changed() {
    let mut story = made();
    story.run(MAKE);
    let files = "select type_desc, physical_name, is_sparse from s.sys.database_files \
        union all select type_desc, physical_name, is_sparse from sys.master_files where database_id = db_id('s')";
    let row = "ROWS c:\\s.ss 1";
    assert_eq!(story.rows(files), [row, row]);
    let smaller = "select case when s.size_on_disk_bytes * 4 < d.size_on_disk_bytes then 'smaller' else 'not smaller' end, \
        case when ms.size = md.size then 'as large' else 'not as large' end \
        from sys.dm_io_virtual_file_stats(db_id('s'), 1) s cross join sys.dm_io_virtual_file_stats(db_id('d'), 1) d \
        join sys.master_files ms on ms.database_id = s.database_id and ms.file_id = 1 \
        join sys.master_files md on md.database_id = d.database_id and md.file_id = 1";
    assert_eq!(story.rows(smaller), ["smaller as large"]);
    let size = "select size_on_disk_bytes from sys.dm_io_virtual_file_stats(db_id('s'), 1)";
    let before: u64 = story.rows(size)[0].parse().unwrap();
    story.run("update d.dbo.t set w = 'y'");
    story.run("use d checkpoint use master");
    let after: u64 = story.rows(size)[0].parse().unwrap();
    assert!(after > before, "{before} {after}");
}

#[test]
fn what_cannot_be_said_of_a_snapshot_has_a_number() {
    let mut story = made();
    let refused = [
        ("create database s as snapshot of d", &[156][..]),
        ("create database s on (name = d) as snapshot of d", &[102]),
        (
            "create database s on (name = d, filename = 'c:\\s.ss') log on (name = l, filename = 'c:\\l.ss') as snapshot of d",
            &[156],
        ),
        (
            "create database s on (name = d, filename = 'c:\\s.ss', size = 10MB) as snapshot of d",
            &[1815],
        ),
        (
            "create database s on (name = d, filename = 'c:\\s.ss') collate Latin1_General_CI_AS as snapshot of d",
            &[1825],
        ),
        (
            "create database s on (name = master, filename = 'c:\\s.ss') as snapshot of master",
            &[1816],
        ),
        (
            "create database s on (name = d, filename = 'c:\\s.ss') as snapshot of nowhere",
            &[911],
        ),
        (
            "create database s on (name = x, filename = 'c:\\s.ss') as snapshot of d",
            &[5014],
        ),
        (
            "create database d on (name = d, filename = 'c:\\s.ss') as snapshot of d",
            &[1801],
        ),
        (
            "begin transaction create database s on (name = d, filename = 'c:\\s.ss') as snapshot of d",
            &[226],
        ),
    ];
    for (batch, numbers) in refused {
        assert_eq!(story.errors(batch), numbers, "{batch}");
        story.run("if @@trancount > 0 rollback");
    }
}

#[test]
fn what_cannot_be_done_to_a_snapshot_or_its_base_has_a_number() {
    let mut story = made();
    story.run("alter database d add file (name = e, filename = 'c:\\e.ndf')");
    assert_eq!(story.errors(MAKE), [5127]);
    story.run("alter database d remove file e");
    story.run(MAKE);
    for change in [
        "insert s.dbo.t (a) values (9)",
        "update s.dbo.t set a = 9",
        "delete s.dbo.t",
        "use s create table n (a int)",
        "use s drop table t",
    ] {
        assert_eq!(story.errors(change), [3906], "{change}");
        story.run("use master");
    }
    let refused = [
        ("backup database s to disk = 'c:\\s.bak'", &[3002, 3013][..]),
        ("backup log s to disk = 'c:\\s.bak'", &[3002, 3013]),
        ("alter database s set read_write", &[5093, 5069]),
        ("alter database s modify name = r", &[5093, 5069]),
        (
            "create database s2 on (name = d, filename = 'c:\\s2.ss') as snapshot of s",
            &[1821],
        ),
        ("drop database d", &[3709]),
        ("alter database d set offline", &[5094, 5069]),
        (MAKE, &[1801]),
    ];
    for (batch, numbers) in refused {
        assert_eq!(story.errors(batch), numbers, "{batch}");
    }
    story.run("backup database d to disk = 'c:\\d.bak'");
    assert_eq!(
        story.errors("restore database d from disk = 'c:\\d.bak' with replace"),
        [5094, 3013]
    );
    assert_eq!(
        story.errors("restore database s from disk = 'c:\\d.bak' with replace"),
        [3002, 3013]
    );
    assert_eq!(story.errors("use s drop database s"), [3702]);
    story.run("use master drop database s");
    assert_eq!(story.errors(ROWS), [208]);
    story.run("drop database d");
}

/// The state of before, a broken log chain, and the snapshot still there.
#[test]
fn a_database_is_reverted_to_its_snapshot() {
    const REVERT: &str = "restore database d from database_snapshot = 's'";
    for again in [Again::StopStart, Again::Kill] {
        let mut story = made();
        story.run("backup database d to disk = 'c:\\d.bak' backup log d to disk = 'c:\\d.bak'");
        story.run(MAKE);
        story.run("update d.dbo.t set a = a + 10, w = 'x' use d create table n (b int) checkpoint use master");
        story.run("create database s2 on (name = d, filename = 'c:\\s2.ss') as snapshot of d");
        assert_eq!(story.errors(REVERT), [3137, 3013]);
        story.run("drop database s2");
        assert_eq!(
            story.errors("restore database d from database_snapshot = 'nowhere'"),
            [3137, 3013]
        );
        assert_eq!(
            story.errors("restore database nowhere from database_snapshot = 's'"),
            [3137, 3013]
        );
        assert_eq!(story.errors(&format!("use d {REVERT}")), [3102, 3013]);
        assert_eq!(story.errors(&format!("{REVERT} with replace")), [319]);
        story.run("use master");
        story.run(REVERT);
        let rows = "select a from d.dbo.t order by a";
        assert_eq!(story.rows(rows), ["1", "2", "3"]);
        assert_eq!(story.rows("select name from d.sys.tables"), ["t"]);
        assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
        assert_eq!(story.errors("backup log d to disk = 'c:\\d.bak'"), [4214, 3013]);
        story.run("insert d.dbo.t (a) values (4)");
        story.again(again, "d");
        story.run("use master");
        assert_eq!(story.rows(rows), ["1", "2", "3", "4"], "{again:?}");
        assert_eq!(story.rows(ROWS), ["1", "2", "3"], "{again:?}");
        story.is_sound("d");
        story.run(REVERT);
        assert_eq!(story.rows(rows), ["1", "2", "3"], "{again:?}");
        story.run("drop database s");
        story.run(
            "backup database d to disk = 'c:\\d.bak' insert d.dbo.t (a) values (5) backup log d to disk = 'c:\\d.bak'",
        );
        story.run("drop database d");
    }
}

#[test]
fn a_base_that_is_closed_and_comes_back_brings_its_snapshot_along() {
    let mut story = made();
    story.run(MAKE);
    // The base waits for recovery at the start; its snapshot has what it had then, and cannot be read yet.
    story.run("update d.dbo.t set w = 'z'");
    story.again(Again::Kill, "d");
    story.run("use master");
    assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
}
