//! CREATE DATABASE ... AS COPY OF, as a client sees it: two databases that change independently, through a stop and a kill; the error
//! numbers; the bound; files that shrink and grow; log backups of a copy.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::CutPolicy;
use story::cuts::{Cut, Run, cuts};
use story::{Again, Story};

const MAKE: &str = "create database c as copy of d";
const ROWS: &str = "select a from c.dbo.t order by a";
const ROWS_OF_SOURCE: &str = "select a from d.dbo.t order by a";

fn made() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (a int not null primary key, w char(3000) not null default 'w') insert t (a) values (1), (2), (3)");
    story.run("use master");
    story
}

#[test]
fn a_copy_and_its_source_change_independently_through_a_stop_and_a_kill() {
    for again in [Again::StopStart, Again::Kill] {
        let mut story = made();
        let mut other = story.beside();
        story::told(&mut other, "begin transaction insert d.dbo.t (a) values (9)");
        story.run(MAKE);
        assert_eq!(story.rows(ROWS), ["1", "2", "3"], "what is under way is not in it");
        story::told(&mut other, "commit");
        drop(other);
        story.run("update c.dbo.t set a = a + 10, w = 'x' insert c.dbo.t (a) values (7)");
        story.run("use c create table n (b int) create index i on t (a desc) checkpoint use master");
        story.run("delete d.dbo.t where a = 1 use d checkpoint use master");
        story.again(again, "d");
        story.run("use master");
        assert_eq!(story.rows(ROWS), ["7", "11", "12", "13"], "{again:?}");
        assert_eq!(story.rows(ROWS_OF_SOURCE), ["2", "3", "9"], "{again:?}");
        assert_eq!(story.rows("select name from c.sys.tables order by 1"), ["n", "t"]);
        story.is_sound("c");
        story.is_sound("d");
        assert_eq!(story.errors("drop database d"), [3709]);
        story.run("drop database c drop database d");
    }
}

#[test]
fn a_copy_has_an_identity_and_files_of_its_own() {
    let mut story = made();
    story.run("alter database d set recovery full alter database d set read_committed_snapshot on");
    story.run("backup database d to disk = 'c:\\d.bak'");
    story.run("create database c on (name = d, filename = 'c:\\copied.mdf') log on (name = d_log, filename = 'c:\\copied.ldf') as copy of d");
    let files = "select type_desc, name, physical_name, is_sparse from c.sys.database_files order by file_id";
    assert_eq!(
        story.rows(files),
        ["ROWS d c:\\copied.mdf 1", "LOG d_log c:\\copied.ldf 0"]
    );
    let differ = "select count(distinct database_id), count(distinct recovery_model_desc), sum(cast(is_read_committed_snapshot_on as int)), \
        count(source_database_id), count(distinct create_date) from sys.databases where name in ('c', 'd')";
    assert_eq!(story.rows(differ), ["2 1 2 0 2"]);
    let guids = "select count(distinct database_guid) from sys.database_recovery_status where database_id in (db_id('c'), db_id('d'))";
    assert_eq!(story.rows(guids), ["2"]);
    let smaller = "select case when c.size_on_disk_bytes * 4 < d.size_on_disk_bytes then 'smaller' else 'not smaller' end \
        from sys.dm_io_virtual_file_stats(db_id('c'), 1) c cross join sys.dm_io_virtual_file_stats(db_id('d'), 1) d";
    assert_eq!(story.rows(smaller), ["smaller"]);
    // Its log begins with it: the source's backups are none of it.
    assert_eq!(story.errors("backup log c to disk = 'c:\\c.bak'"), [4214, 3013]);
    story.run("insert c.dbo.t (a) values (4) backup database c to disk = 'c:\\c.bak' insert c.dbo.t (a) values (5)");
    story.run("backup log c to disk = 'c:\\c.bak'");
    story.run("insert c.dbo.t (a) values (6) backup database c to disk = 'c:\\c.bak' with differential");
    story.run("restore database q from disk = 'c:\\c.bak' with file = 1, norecovery, move 'd' to 'c:\\q.mdf', move 'd_log' to 'c:\\q.ldf'");
    story.run("restore database q from disk = 'c:\\c.bak' with file = 3");
    assert_eq!(story.rows("select count(*), max(a) from q.dbo.t"), ["6 6"]);
    story.run("restore database r from disk = 'c:\\c.bak' with file = 1, norecovery, move 'd' to 'c:\\r.mdf', move 'd_log' to 'c:\\r.ldf'");
    story.run("restore log r from disk = 'c:\\c.bak' with file = 2");
    assert_eq!(
        story.rows("select a from r.dbo.t order by a"),
        ["1", "2", "3", "4", "5"]
    );
    story.run("drop database c");
    story.is_sound("r");
    assert_eq!(
        story.rows("select a from r.dbo.t order by a"),
        ["1", "2", "3", "4", "5"]
    );
}

#[test]
fn what_cannot_be_said_of_a_copy_or_done_to_it_or_its_source_has_a_number() {
    let mut story = made();
    let refused = [
        ("create database c as copy of nowhere", &[911][..]),
        ("create database c as copy of master", &[1816]),
        ("create database d as copy of d", &[1801]),
        ("create database c as copy of s.d", &[102]),
        ("create database c as copy of d (service_objective = 'S0')", &[102]),
        ("create database c as copy of d with trustworthy on", &[319]),
        ("create database c on (name = d) as copy of d", &[102]),
        (
            "create database c on (name = x, filename = 'c:\\c.mdf') as copy of d",
            &[5014],
        ),
        (
            "create database c on (name = d, filename = 'c:\\c.mdf', size = 10MB) as copy of d",
            &[1815],
        ),
        ("create database c collate Latin1_General_CI_AS as copy of d", &[1825]),
        ("begin transaction create database c as copy of d", &[226]),
    ];
    for (batch, numbers) in refused {
        assert_eq!(story.errors(batch), numbers, "{batch}");
        story.run("if @@trancount > 0 rollback");
    }
    story.run(MAKE);
    story.run("backup database d to disk = 'c:\\d.bak' backup database c to disk = 'c:\\c.bak'");
    let refused = [
        (MAKE, &[1801][..]),
        ("create database c2 as copy of c", &[1821]),
        (
            "create database s on (name = d, filename = 'c:\\s.ss') as snapshot of c",
            &[1821],
        ),
        ("drop database d", &[3709]),
        ("alter database d set offline", &[5094, 5069]),
        ("restore database d from disk = 'c:\\d.bak' with replace", &[5094, 3013]),
        ("restore database c from disk = 'c:\\c.bak' with replace", &[5093, 3013]),
        ("backup log c to disk = 'c:\\c.bak' with norecovery", &[5093, 3013]),
        ("backup log d to disk = 'c:\\d.bak' with norecovery", &[5094, 3013]),
        (
            "alter database c add file (name = e, filename = 'c:\\e.ndf')",
            &[5093, 5069],
        ),
        (
            "alter database c modify file (name = d, filename = 'c:\\other.mdf')",
            &[5093, 5069],
        ),
        ("use c drop database c", &[3702]),
    ];
    for (batch, numbers) in refused {
        assert_eq!(story.errors(batch), numbers, "{batch}");
        story.run("use master");
    }
    story.run("alter database c add log file (name = l, filename = 'c:\\l.ldf')");
    story.run("alter database c set offline update d.dbo.t set w = 'z' alter database c set online");
    assert_eq!(story.rows("select distinct rtrim(w) from c.dbo.t"), ["w"]);
    story.run("alter database c modify name = e");
    story.run("drop database e drop database d");
}

#[test]
fn a_copy_with_maxsize_takes_no_more_pages_than_that() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run(
        "use d create table t (a int not null primary key, w char(3000) not null default 'w')
         declare @i int = 0 while @i < 400 begin insert t (a) values (@i) set @i += 1 end",
    );
    story.run("use master create database c as copy of d (maxsize = 1 MB)");
    story.run("update c.dbo.t set w = 'x' where a < 10");
    assert_eq!(story.errors("update c.dbo.t set w = 'y'"), [40544]);
    assert_eq!(
        story.rows("select rtrim(w), count(*) from c.dbo.t group by w order by 1"),
        ["w 390", "x 10"]
    );
    story.run("update c.dbo.t set w = 'z' where a < 10");
    // The source's changes are kept whatever the bound is.
    story.run("update d.dbo.t set w = 'n' use d checkpoint use master");
    // A page that was kept is the copy's already.
    story.run("update c.dbo.t set w = 'y' where a between 10 and 19");
    story.again(Again::Kill, "d");
    story.run("use master");
    assert_eq!(
        story.rows("select rtrim(w), count(*) from c.dbo.t group by w order by 1"),
        ["w 380", "y 10", "z 10"]
    );
    story.is_sound("c");
}

/// After a restart the pages that a copy has grown by have to be counted before a shrink takes them off: it had no room for another growth then,
/// 40544, though nothing bounds it.
#[test]
fn a_copy_without_maxsize_grows_again_after_a_restart_and_a_shrink() {
    let mut story = Story::begin();
    story.run("create database d use master create database c as copy of d");
    let fill = |rows: u32| {
        format!(
            "use c create table filler (f char(7000) not null)
             declare @i int = 0 while @i < {rows} begin insert filler values ('filler') set @i += 1 end use master"
        )
    };
    story.run(&fill(1_500));
    story.again(Again::Kill, "d");
    story.run("use c drop table filler dbcc shrinkfile (1, 2)");
    story.run(&fill(2_500));
    assert_eq!(story.rows("select count(*) from c.dbo.filler"), ["2500"]);
    story.is_sound("c");
}

/// Pages that were cut off and come again are empty, not the source's.
#[test]
fn a_copy_shrinks_below_its_source_and_grows_again() {
    let mut story = Story::begin();
    story.run("create database d on (name = d, filename = 'd.mdf', size = 2 MB, filegrowth = 1 MB) log on (name = d_log, filename = 'd.ldf', size = 4 MB)");
    story.run("use d create table t (a int not null primary key) insert t (a) values (1), (2), (3)");
    let fill = "create table filler (f char(7000) not null)
        declare @i int = 0 while @i < 400 begin insert filler values ('filler') set @i += 1 end";
    story.run(&format!("use d {fill}"));
    story.run("use master create database c on (name = d, filename = 'c.mdf') as copy of d");
    let pages = "select size from c.sys.database_files where file_id = 1";
    let before: u64 = story.rows(pages)[0].parse().unwrap();
    story.run("use c drop table filler");
    story.run("use c dbcc shrinkfile (d, truncateonly)");
    let cut: u64 = story.rows(pages)[0].parse().unwrap();
    assert!(before > 400 && cut < 300, "{before} {cut}");
    story.run("use master");
    story.is_sound("c");
    story.again(Again::Kill, "d");
    assert_eq!(story.rows(pages), [cut.to_string()]);
    story.run(&format!("use c {fill}"));
    story.run("checkpoint use master");
    story.is_sound("c");
    story.again(Again::Kill, "d");
    story.run("use master");
    assert_eq!(
        story.rows("select count(*), min(rtrim(f)), max(rtrim(f)) from c.dbo.filler"),
        ["400 filler filler"]
    );
    assert_eq!(
        story.rows("select count(*), min(rtrim(f)), max(rtrim(f)) from d.dbo.filler"),
        ["400 filler filler"]
    );
    assert_eq!(story.rows(ROWS), ["1", "2", "3"]);
    story.is_sound("c");
    story.is_sound("d");
}

/// A shrink of a copy that the power cuts off leaves a copy that can grow again.
#[test]
fn a_power_cut_in_the_shrink_of_a_copy_leaves_no_page_of_its_source_behind_its_end() {
    let fill = "create table filler (f char(7000) not null)
        declare @i int = 0 while @i < 300 begin insert filler values ('filler') set @i += 1 end";
    let begin = || {
        let mut story = Story::begin();
        story.run("create database d on (name = d, filename = 'd.mdf', size = 2 MB, filegrowth = 1 MB) log on (name = d_log, filename = 'd.ldf', size = 4 MB)");
        story.run(&format!(
            "use d create table t (a int not null primary key) insert t (a) values (1), (2), (3) {fill}"
        ));
        story.run("use master create database c on (name = d, filename = 'c.mdf') as copy of d");
        story.run("use c drop table filler");
        (story, None)
    };
    let run = |run: &mut Run<'_>| {
        run.story.answer("use c dbcc shrinkfile (d, truncateonly)");
    };
    let (mut story, cuts) = cuts(1, begin, run);
    assert!(cuts.len() > 4, "{} cuts", cuts.len());
    for Cut { number, left, .. } in cuts {
        story.start_on(left.after_power_cut(CutPolicy::RandomSectors, number));
        story.is_sound("c");
        story.run(&format!("use c {fill}"));
        story.run("checkpoint use master");
        story.is_sound("c");
        story.is_sound("d");
        assert_eq!(
            story.rows("select count(*), max(rtrim(f)) from c.dbo.filler"),
            ["300 filler"],
            "{number}"
        );
        assert_eq!(story.rows(ROWS), ["1", "2", "3"], "{number}");
    }
}
