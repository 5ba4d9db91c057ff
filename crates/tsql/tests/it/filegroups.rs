//! Filegroups: what is made where, what goes on where, what READ_ONLY refuses, moving an index, backups, snapshots, copies and clones, and
//! a power cut at every operation of the statements. Prints the counts.
//!
//! Depth: one operation in 7; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story::{Again, Story, cut_everywhere};

use disk::sim::SimDisk;
use engine::log::LogPolicy;

const CREATE: &str = "create database d on primary (name = d, filename = 'd.mdf', size = 2 MB),
    filegroup archive (name = a1, filename = 'a1.ndf', size = 1 MB, filegrowth = 0), (name = a2, filename = 'a2.ndf', size = 1 MB, filegrowth = 0),
    filegroup hot default (name = h1, filename = 'h1.ndf', size = 1 MB, filegrowth = 1 MB)
    log on (name = d_log, filename = 'd.ldf', size = 4 MB)";

const SPACES: &str =
    "select o.name, i.index_id, f.name from d.sys.indexes i join d.sys.objects o on o.object_id = i.object_id
    join d.sys.filegroups f on f.data_space_id = i.data_space_id where o.type = 'U' order by o.name, i.index_id";

/// The files in which a table has pages, by the allocation units.
const PLACES: &str = "select distinct f.name, u.type_desc from d.sys.allocation_units u join d.sys.partitions p on p.hobt_id = u.container_id
    join d.sys.filegroups f on f.data_space_id = u.data_space_id where p.object_id = object_id('d.dbo.t') order by 1, 2";

fn policies() -> [LogPolicy; 2] {
    [LogPolicy::native(), LogPolicy::classic()]
}

fn with_filegroups(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(5), policy);
    story.run(CREATE);
    story
}

fn fill(story: &mut Story, table: &str, from: usize, count: usize) {
    story.run(&format!(
        "use d declare @i int = {from} while @i < {} begin insert {table} (id, f) values (@i, replicate('x', 900)) set @i += 1 end",
        from + count
    ));
}

fn files_used(story: &mut Story, table: &str) -> Vec<String> {
    story.rows(&format!(
        "select distinct a.allocated_page_file_id from sys.dm_db_database_page_allocations(db_id('d'), object_id('d.dbo.{table}'), null, null, 'LIMITED') a order by 1"
    ))
}

#[test]
fn tables_and_indexes_go_where_on_says() {
    for policy in policies() {
        let mut story = with_filegroups(policy);
        assert_eq!(
            story.rows("select name, data_space_id, is_default, is_read_only, type from d.sys.filegroups order by data_space_id"),
            ["PRIMARY 1 0 0 FG", "archive 2 0 0 FG", "hot 3 1 0 FG"]
        );
        story.run(
            "use d create table heap (id int, f char(900)) on archive
             create table by_default (id int, f char(900))
             create table keyed (id int primary key on archive, f char(900), index i (f) on [primary]) on hot
             create table both (id int primary key, f char(900), unique (f) ) on [primary]
             create index j on both (f) on archive
             create index k on heap (f)
             select id, f into copied on archive from heap
             create table t (id int, f varchar(max), g varchar(8000)) on hot textimage_on archive",
        );
        assert_eq!(
            story.rows(SPACES),
            [
                "both 1 PRIMARY",
                "both 2 PRIMARY",
                "both 3 archive",
                "by_default 0 hot",
                "copied 0 archive",
                "heap 0 archive",
                "heap 2 archive",
                "keyed 1 archive",
                "keyed 2 PRIMARY",
                "t 0 hot",
            ]
        );
        assert_eq!(
            story.rows("select name, lob_data_space_id from d.sys.tables where name in ('t', 'heap') order by name"),
            ["heap 0", "t 2"]
        );
        story.run(
            "use d insert t values (1, replicate(cast('a' as varchar(max)), 20000), replicate('b', 8000))
                   insert t values (2, replicate('c', 7000), replicate('d', 8000))",
        );
        assert_eq!(
            story.rows(PLACES),
            ["archive LOB_DATA", "hot IN_ROW_DATA", "hot ROW_OVERFLOW_DATA"]
        );
        fill(&mut story, "heap", 0, 200);
        assert_eq!(files_used(&mut story, "heap"), ["3", "4"]);
        story.is_sound("d");
        for how in Again::ALL {
            story.again(how, "d");
            assert_eq!(story.rows("select count(*), sum(len(f)) from d.dbo.t"), ["2 27000"]);
            assert_eq!(
                story.rows(PLACES),
                ["archive LOB_DATA", "hot IN_ROW_DATA", "hot ROW_OVERFLOW_DATA"]
            );
            assert_eq!(
                story.rows("select is_default from d.sys.filegroups order by data_space_id"),
                ["0", "0", "1"]
            );
            story.is_sound("d");
        }
        story.run("use d");
        assert_eq!(
            story.rows("select filegroup_name(2), filegroup_id('HOT'), filegroupproperty('hot', 'IsDefault'), filegroupproperty('archive', 'IsUserDefinedFG'), filegroupproperty('primary', 'IsUserDefinedFG'), filegroup_id('x')"),
            ["archive 3 1 1 0 NULL"]
        );
    }
}

#[test]
fn a_full_filegroup_is_named_and_takes_nothing_of_another() {
    let mut story = with_filegroups(LogPolicy::native());
    story.run("use d create table t (id int, f char(900)) on archive create table u (id int, f char(900)) on hot");
    let answer = story.answer(
        "use d set nocount on declare @i int = 0 while @i < 4000 begin insert t values (@i, 'x') set @i += 1 end",
    );
    assert!(
        answer.contains("Msg 1105")
            && answer.contains("'dbo.t' in database 'd' because the 'archive' filegroup is full"),
        "{answer}"
    );
    assert_eq!(files_used(&mut story, "t"), ["3", "4"]);
    // The others go on, and so does TRUNCATE TABLE where it is full.
    fill(&mut story, "u", 0, 2000);
    assert_eq!(files_used(&mut story, "u"), ["5"]);
    story.run("use d truncate table t");
    fill(&mut story, "t", 0, 100);
    story.is_sound("d");
    // One more file, and there is room again.
    story.run(
        "alter database d add file (name = a3, filename = 'a3.ndf', size = 1 MB, filegrowth = 0) to filegroup archive",
    );
    fill(&mut story, "t", 0, 1200);
    story.is_sound("d");
}

#[test]
fn all_files_grow_where_it_is_said() {
    let mut story = Story::begin();
    story.run("create database d on primary (name = d, filename = 'd.mdf', size = 2 MB), filegroup g (name = g1, filename = 'g1.ndf', size = 1 MB, filegrowth = 1 MB), (name = g2, filename = 'g2.ndf', size = 1 MB, filegrowth = 1 MB)");
    let sizes = "select size from d.sys.database_files where data_space_id = 2 order by file_id";
    story.run("use d create table t (id int, f char(900)) on g");
    fill(&mut story, "t", 0, 2400);
    let (single, before) = (story.rows(sizes), ["128".to_owned(), "128".to_owned()]);
    assert!(single[0] != before[0] && single[1] == before[1], "{single:?}");
    let told = story.answer("alter database d modify filegroup g autogrow_all_files");
    assert!(
        told.contains("The filegroup property 'AUTOGROW_ALL_FILES' has been set."),
        "{told}"
    );
    assert_eq!(
        story.rows("select is_autogrow_all_files from d.sys.filegroups order by data_space_id"),
        ["0", "1"]
    );
    fill(&mut story, "t", 0, 2400);
    let all = story.rows(sizes);
    assert!(all[0] != single[0] && all[1] != single[1], "{all:?}");
}

#[test]
fn nothing_in_a_read_only_filegroup_changes() {
    for policy in policies() {
        let mut story = with_filegroups(policy);
        story.run(
            "use d create table t (id int primary key, f char(900), v int) on archive insert t values (1, 'x', 1)
             create table u (id int primary key, f int, v int) on hot create index i on u (f) on archive insert u values (1, 1, 1)
             use master",
        );
        // Another session is there.
        let mut other = story.beside();
        crate::story::told(&mut other, "use d");
        assert_eq!(
            story.errors("alter database d modify filegroup archive read_only"),
            [5070, 5069]
        );
        crate::story::told(&mut other, "use master");
        let told = story.answer("alter database d modify filegroup archive read_only");
        assert!(
            told.contains("The filegroup property 'READ_ONLY' has been set."),
            "{told}"
        );
        for how in Again::ALL {
            let answer = story.answer("use d update t set v = 2");
            assert!(
                answer.contains("Msg 652, Level 16, State 1")
                    && answer.contains("for table \"dbo.t\"")
                    && answer.contains("(\"archive\")"),
                "{answer}"
            );
            for (batch, number) in [
                ("insert t values (2, 'y', 2)", 652),
                ("delete t", 652),
                ("truncate table t", 652),
                ("insert u values (2, 2, 2)", 652),
                ("update u set f = 2", 652),
                (
                    "merge t using (select 1 as id) s on t.id = s.id when matched then update set v = 3;",
                    652,
                ),
                ("drop table t", 3740),
                ("create table n (id int) on archive", 1924),
                ("create index n on u (v) on archive", 1924),
                ("select * into n on archive from u", 1924),
                (
                    "alter database d add file (name = a9, filename = 'a9.ndf') to filegroup archive",
                    5048,
                ),
                ("alter database d remove file a2", 5055),
                ("alter database d modify filegroup archive read_only", 5045),
            ] {
                assert_eq!(story.errors(&format!("use d {batch}")), [number], "{batch}");
            }
            // Columns that no index of the filegroup has.
            story.run("use d update u set v += 1");
            assert_eq!(story.rows("select id, v from d.dbo.t"), ["1 1"]);
            assert_eq!(
                story.rows("select name from d.sys.database_files where is_read_only = 1 order by name"),
                ["a1", "a2"]
            );
            story.is_sound("d");
            story.run("use master");
            story.again(how, "d");
        }
        story.run("use master alter database d modify filegroup archive read_write");
        story.run("use d update t set v = 2 delete u drop table t");
        story.is_sound("d");
    }
}

#[test]
fn filegroups_are_refused_by_number() {
    let mut story = with_filegroups(LogPolicy::native());
    story.run("use d create table t (id int) on hot alter database d add filegroup empty");
    for (batch, expected) in [
        ("create table n (id int) on nowhere", 1921),
        ("create table n (id int primary key on nowhere)", 1921),
        ("create table n (id int, f varchar(max)) textimage_on nowhere", 1921),
        ("create table n (id int) textimage_on hot", 1709),
        ("create index i on t (id) on nowhere", 1921),
        ("select 1 as x into n on nowhere", 1921),
        ("create table n (id int) on empty", 622),
        ("create index i on t (id) on empty", 622),
        (
            "alter database d add file (name = n, filename = 'n.ndf') to filegroup nowhere",
            1921,
        ),
        ("alter database d add filegroup Archive", 5035),
        ("alter database d add filegroup [default]", 5051),
        ("alter database d add filegroup [primary]", 5035),
        ("alter database master add filegroup g", 1826),
        ("alter database tempdb add filegroup g", 1826),
        ("alter database d remove filegroup nowhere", 5014),
        ("alter database d remove filegroup archive", 5042),
        ("alter database d remove filegroup [primary]", 5042),
        ("alter database d remove file h1", 5031),
        ("alter database d modify filegroup nowhere default", 5014),
        ("alter database d modify filegroup empty default", 5050),
        ("alter database d modify filegroup hot default", 5045),
        ("alter database d modify filegroup [primary] read_only", 5047),
        ("alter database d modify filegroup [primary] name = p", 5012),
        ("alter database d modify filegroup hot name = ARCHIVE", 5035),
        ("alter database d modify filegroup hot banana", 102),
        ("alter database d modify filegroup archive autogrow_single_file", 5045),
        ("create index i on t (id) with (drop_existing = on)", 7999),
        ("backup database d filegroup = 'hot' to disk = 'x.bak'", 40517),
        (
            "create database e on (name = e, filename = 'e.mdf'), filegroup g (name = g, filename = 'g.ndf'), filegroup G (name = g2, filename = 'g2.ndf')",
            5035,
        ),
        (
            "create database e on (name = e, filename = 'e.mdf'), filegroup g default (name = g, filename = 'g.ndf'), filegroup h default (name = g2, filename = 'g2.ndf')",
            40517,
        ),
    ] {
        assert_eq!(story.errors(&format!("use d {batch}")), [expected], "{batch}");
    }
}

#[test]
fn filegroups_are_renamed_and_removed() {
    let mut story = with_filegroups(LogPolicy::native());
    story.run("use d create table t (id int) on hot alter database d add filegroup empty");
    // Names change, numbers stay.
    let told = story.answer("alter database d modify filegroup hot name = warm");
    assert!(
        told.contains("Msg 5021, Level 10") && told.contains("The filegroup name 'warm' has been set."),
        "{told}"
    );
    assert_eq!(story.rows(SPACES), ["t 0 warm"]);
    let told = story.answer("alter database d remove filegroup empty");
    assert!(told.contains("The filegroup 'empty' has been removed."), "{told}");
    // A filegroup that nothing is in goes with its files.
    story.run(
        "alter database d remove file a1 alter database d remove file a2 alter database d remove filegroup archive",
    );
    assert_eq!(
        story.rows("select name from d.sys.data_spaces order by 1"),
        ["PRIMARY", "warm"]
    );
    // One that a definition names does not, although it has no file.
    story.run("alter database d add filegroup later alter database d add file (name = l, filename = 'l.ndf', size = 1 MB) to filegroup later
               use d create table k (id int primary key, v int) on [primary] create index i on k (v) on later alter index i on k disable
               alter database d remove file l");
    assert_eq!(story.errors("alter database d remove filegroup later"), [5042]);
    assert_eq!(story.errors("use d alter index i on k rebuild"), [622]);
    story.is_sound("d");
}

#[test]
fn drop_existing_moves_an_index() {
    for policy in policies() {
        let mut story = with_filegroups(policy);
        story.run("use d create table t (id int not null constraint pk primary key, f char(900), v int) on [primary] create index i on t (v)");
        fill(&mut story, "t", 0, 100);
        let places = "select i.name, f.name, i.index_id from d.sys.indexes i join d.sys.filegroups f on f.data_space_id = i.data_space_id where i.object_id = object_id('d.dbo.t') order by i.index_id";
        assert_eq!(story.rows(places), ["pk PRIMARY 1", "i PRIMARY 2"]);
        story.run("use d create unique clustered index pk on t (id) with (drop_existing = on) on archive");
        assert_eq!(story.rows(places), ["pk archive 1", "i PRIMARY 2"]);
        story.run("use d create index i on t (v) include (f) with (drop_existing = on, fillfactor = 80) on hot");
        assert_eq!(story.rows(places), ["pk archive 1", "i hot 2"]);
        assert!(!files_used(&mut story, "t").contains(&"1".to_owned()));
        for (batch, number) in [
            (
                "create unique clustered index pk on t (v) with (drop_existing = on)",
                1907,
            ),
            ("create unique index pk on t (id) with (drop_existing = on)", 1925),
            ("create index i on t (v)", 1913),
        ] {
            assert_eq!(story.errors(&format!("use d {batch}")), [number], "{batch}");
        }
        assert_eq!(
            story.rows("select is_primary_key, is_unique from d.sys.indexes where name = 'pk'"),
            ["1 1"]
        );
        // Rebuilt and truncated, everything stays where it is.
        story.run("use d alter index all on t rebuild truncate table t");
        assert_eq!(story.rows(places), ["pk archive 1", "i hot 2"]);
        fill(&mut story, "t", 0, 50);
        assert!(!files_used(&mut story, "t").contains(&"1".to_owned()));
        // The heap stays where the clustered index was.
        story.run("use d alter table t drop constraint pk");
        assert_eq!(story.rows("select f.name from d.sys.indexes i join d.sys.filegroups f on f.data_space_id = i.data_space_id where i.object_id = object_id('d.dbo.t') and index_id = 0"), ["archive"]);
        story.is_sound("d");
        assert_eq!(story.rows("select count(*), sum(id) from d.dbo.t"), ["50 1225"]);
    }
}

#[test]
fn emptying_a_file_keeps_to_its_filegroup() {
    let mut story = with_filegroups(LogPolicy::native());
    story.run("use d create table t (id int primary key, f char(900)) on archive");
    fill(&mut story, "t", 0, 100);
    story.run("use d dbcc shrinkfile (a1, emptyfile) with no_infomsgs");
    assert_eq!(files_used(&mut story, "t"), ["4"]);
    story.run("alter database d remove file a1");
    assert_eq!(story.rows("select count(*), sum(id) from d.dbo.t"), ["100 4950"]);
    // There is no other file of the filegroup now, however much room others have.
    assert_eq!(
        story.errors("use d dbcc shrinkfile (a2, emptyfile) with no_infomsgs"),
        [2556]
    );
    assert_eq!(files_used(&mut story, "t"), ["4"]);
    story.is_sound("d");
}

/// Files that nothing had been put in were not looked at (2556).
#[test]
fn a_file_is_emptied_into_one_that_was_just_added() {
    let mut story = Story::begin();
    story.run(
        "create database d on primary (name = d, filename = 'd.mdf'), filegroup g (name = a1, filename = 'a1.ndf', size = 2 MB)
         log on (name = d_log, filename = 'd.ldf')
         use d create table t (id int primary key, f char(900)) on g",
    );
    fill(&mut story, "t", 0, 300);
    story.run("alter database d add file (name = a2, filename = 'a2.ndf', size = 2 MB) to filegroup g");
    story.run("use d dbcc shrinkfile (a1, emptyfile) with no_infomsgs alter database d remove file a1");
    assert_eq!(story.rows("select count(*), sum(id) from d.dbo.t"), ["300 44850"]);
    story.is_sound("d");
}

#[test]
fn backups_snapshots_copies_and_clones_have_the_filegroups() {
    for policy in policies() {
        let mut story = with_filegroups(policy);
        story.run(
            "use d create table t (id int primary key, f char(900)) on archive backup database d to disk = 'd.bak'",
        );
        fill(&mut story, "t", 0, 40);
        // A filegroup of after the full backup comes with the log.
        story.run("alter database d add filegroup later alter database d add file (name = l, filename = 'l.ndf', size = 1 MB) to filegroup later
                   alter database d modify filegroup later default
                   use d create table late (id int, f char(900)) backup log d to disk = 'd.trn' use master");
        let listed = story.answer("restore filelistonly from disk = 'd.trn'");
        assert!(
            ["archive", "hot", "later", "PRIMARY"]
                .iter()
                .all(|name| listed.contains(name)),
            "{listed}"
        );
        story.run("restore database e from disk = 'd.bak' with norecovery, move 'd' to 'e.mdf', move 'a1' to 'ea1.ndf', move 'a2' to 'ea2.ndf', move 'h1' to 'eh1.ndf', move 'd_log' to 'e.ldf'
                   restore log e from disk = 'd.trn' with move 'l' to 'el.ndf'");
        assert_eq!(
            story.rows("select name, is_default from e.sys.filegroups order by data_space_id"),
            ["PRIMARY 0", "archive 0", "hot 0", "later 1"]
        );
        assert_eq!(story.rows("select count(*) from e.dbo.t"), ["40"]);
        story.run("use e insert t values (1000, 'x') insert late values (1, 'x') create table n (id int)");
        assert_eq!(
            story.rows("select data_space_id from e.sys.indexes where object_id = object_id('e.dbo.n')"),
            ["4"]
        );
        story.is_sound("e");
        assert_eq!(
            story.rows("select name, filegroup_id, is_default from msdb.dbo.backupfilegroup where backup_set_id = (select max(backup_set_id) from msdb.dbo.backupset) order by filegroup_id"),
            ["PRIMARY 1 0", "archive 2 0", "hot 3 0", "later 4 1"]
        );
        story.run("use master create database s on (name = d, filename = 'd.ss'), (name = a1, filename = 'a1.ss'), (name = a2, filename = 'a2.ss'), (name = h1, filename = 'h1.ss'), (name = l, filename = 'l.ss') as snapshot of d");
        fill(&mut story, "t", 100, 10);
        assert_eq!(story.rows("select count(*) from s.dbo.t"), ["40"]);
        assert_eq!(story.rows("select count(*) from s.sys.filegroups"), ["4"]);
        story.run("use master restore database d from database_snapshot = 's' drop database s");
        assert_eq!(story.rows("select count(*) from d.dbo.t"), ["40"]);
        story.is_sound("d");
        story.run("dbcc clonedatabase (d, c) with no_infomsgs");
        assert_eq!(
            story.rows("select name from c.sys.filegroups order by data_space_id"),
            ["PRIMARY", "archive", "hot", "later"]
        );
        assert_eq!(
            story.rows("select data_space_id from c.sys.indexes where object_id = object_id('c.dbo.t')"),
            ["2"]
        );
        story.is_sound("c");
    }
}

#[test]
fn dbcc_checkfilegroup_looks_at_what_is_there() {
    let mut story = with_filegroups(LogPolicy::native());
    story.run("use d create table t (id int) on archive insert t values (1) create table u (id int) on hot");
    let answer = story.answer("use d dbcc checkfilegroup ('archive')");
    assert!(
        answer.contains("for object \"t\"") && !answer.contains("for object \"u\""),
        "{answer}"
    );
    assert!(
        answer.contains("CHECKFILEGROUP found 0 allocation errors and 0 consistency errors in database 'd'."),
        "{answer}"
    );
    let answer = story.answer("use d dbcc checkfilegroup");
    assert!(
        answer.contains("sys.sysobjects") && !answer.contains("\"t\""),
        "{answer}"
    );
    assert_eq!(story.errors("use d dbcc checkfilegroup ('nowhere')"), [1921]);
}

#[test]
fn a_version_that_does_not_know_filegroups_refuses_them() {
    const AT_FEATURES: usize = 180;
    let mut story = Story::begin();
    story.run("create database d create database e alter database e add filegroup g");
    let features = |story: &Story, file: &str| {
        let found = std::cell::Cell::new(0);
        crate::story::change_boot_pages(&story.disk, file, |payload| {
            let bytes = payload[AT_FEATURES..AT_FEATURES + 4].try_into().unwrap();
            found.set(found.get().max(u32::from_le_bytes(bytes)));
        });
        found.get()
    };
    assert_eq!(features(&story, "d.mdf") & 1 << 31, 0);
    assert_ne!(features(&story, "e.mdf") & 1 << 31, 0);
    assert_ne!(features(&story, "master.mdf") & 1 << 31, 0);
}

const CHANGES: [&str; 6] = [
    "alter database d add filegroup later",
    "alter database d add file (name = l, filename = 'l.ndf', size = 1 MB) to filegroup later",
    "alter database d modify filegroup later default",
    "use d create table late (id int primary key, f char(900)) insert late values (1, 'x')",
    "use d create unique clustered index pk on t (id) with (drop_existing = on) on later use master",
    "alter database d modify filegroup archive read_only",
];

/// What the statements change: filegroups with their properties, files with their filegroups, tables and indexes with theirs.
fn placement(story: &mut Story) -> Vec<String> {
    let mut all = story.rows("select name, is_default, is_read_only from d.sys.filegroups order by data_space_id");
    all.extend(story.rows("select name, data_space_id from d.sys.database_files order by file_id"));
    all.extend(story.rows(SPACES));
    all
}

fn begin_changes(policy: LogPolicy) -> Story {
    let mut story = with_filegroups(policy);
    story.run("use d create table t (id int not null constraint pk primary key, f char(900)) on archive");
    fill(&mut story, "t", 0, 30);
    story.run("checkpoint use master");
    story
}

/// What was there is there, and a table is made.
fn cut_filegroups(policy: LogPolicy) {
    let begin = || begin_changes(policy);
    let sample = workbench::sample("operations of statements of filegroups with a power cut", 7);
    cut_everywhere(&CHANGES, sample, begin, placement, |story, what| {
        assert_eq!(
            story.rows("select count(*), sum(id) from d.dbo.t"),
            ["30 435"],
            "{what}"
        );
        story.run("use d create table after (id int) insert after values (1)");
    });
}

#[test]
fn a_power_cut_leaves_filegroups_whole_by_the_native_policy() {
    cut_filegroups(LogPolicy::native());
}

#[test]
fn a_power_cut_leaves_filegroups_whole_by_the_classic_policy() {
    cut_filegroups(LogPolicy::classic());
}
