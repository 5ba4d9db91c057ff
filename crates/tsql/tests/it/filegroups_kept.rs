//! Filegroups at their edges: sets that do not follow, restores over a removed filegroup, every statement that would change a READ_ONLY
//! filegroup, DROP_EXISTING of keys that something needs, definitions that others have not committed, and where CHECKDB looks.
#![allow(clippy::unwrap_used)]

use crate::story::{Story, told};

use disk::Disk;
use disk::sim::SimDisk;
use engine::log::LogPolicy;

const CREATE: &str = "create database d on primary (name = d, filename = 'd.mdf', size = 2 MB),
    filegroup archive (name = a1, filename = 'a1.ndf', size = 1 MB, filegrowth = 0), (name = a2, filename = 'a2.ndf', size = 1 MB, filegrowth = 0),
    filegroup hot default (name = h1, filename = 'h1.ndf', size = 1 MB, filegrowth = 1 MB)
    log on (name = d_log, filename = 'd.ldf', size = 4 MB)";

const MOVES: &str = "move 'd' to 'e.mdf', move 'a1' to 'ea1.ndf', move 'a2' to 'ea2.ndf', move 'h1' to 'eh1.ndf', move 'd_log' to 'e.ldf'";

const LATER: &str = "alter database d add filegroup later
    alter database d add file (name = l, filename = 'l.ndf', size = 1 MB) to filegroup later
    alter database d modify filegroup later default";

fn begin() -> Story {
    let mut story = Story::on(SimDisk::new(5), LogPolicy::native());
    story.run(CREATE);
    story
}

/// Replaying all logs over a full backup of later met 4326 for the first of them, and the entry had the filegroups of that one by then: the
/// later filegroup was gone, with the table in it.
#[test]
fn a_set_that_does_not_follow_changes_no_filegroup() {
    let mut story = begin();
    story.run("create database x backup database x to disk = 'x.bak' backup log x to disk = 'x.trn'");
    story.run("backup database d to disk = 'd0.bak' backup log d to disk = 'l0.trn'");
    story.run(LATER);
    story.run("use d create table late (id int) insert late values (1) backup database d to disk = 'f.bak' use master");
    story.run(&format!(
        "restore database e from disk = 'f.bak' with norecovery, {MOVES}, move 'l' to 'el.ndf'"
    ));
    assert_eq!(
        story.errors("restore log e from disk = 'l0.trn' with norecovery"),
        [4326, 3013]
    );
    assert_eq!(
        story.errors("restore log e from disk = 'x.trn' with norecovery"),
        [3154, 3013]
    );
    story.run("restore database e with recovery");
    assert_eq!(
        story.rows("select name, is_default from e.sys.filegroups order by data_space_id"),
        ["PRIMARY 0", "archive 0", "hot 0", "later 1"]
    );
    story.run("use e insert late values (2)");
    story.is_sound("e");
}

/// A log that has the removal of a filegroup took it from the entry, whatever the moment restored to; its files and the table there then
/// belonged to the next filegroup, which got the number.
#[test]
fn a_filegroup_removed_in_a_log_is_there_before_its_removal() {
    let mut story = begin();
    story.run("use d create table t (id int) on archive insert t values (1) use master");
    story.run("backup database d to disk = 'f.bak'");
    story.clock.advance(5_000_000);
    let before = story.rows("select convert(varchar(30), getdate(), 126)").remove(0);
    story.clock.advance(5_000_000);
    story.run("use d drop table t use master");
    story.run(
        "alter database d remove file a1 alter database d remove file a2 alter database d remove filegroup archive",
    );
    story.run("backup log d to disk = 'l.trn'");
    story.run(&format!(
        "restore database e from disk = 'f.bak' with norecovery, {MOVES}"
    ));
    story.run(&format!(
        "restore log e from disk = 'l.trn' with stopat = '{before}', recovery"
    ));
    assert_eq!(
        story.rows("select name from e.sys.filegroups order by data_space_id"),
        ["PRIMARY", "archive", "hot"]
    );
    story.run(
        "alter database e add filegroup next use e insert t values (2) create table n (id int) on archive use master",
    );
    assert_eq!(story.rows("select count(*) from e.dbo.t"), ["2"]);
    assert_eq!(
        story.rows("select name, data_space_id from e.sys.filegroups order by data_space_id"),
        ["PRIMARY 1", "archive 2", "hot 3", "next 4"]
    );
    story.is_sound("e");
}

#[test]
fn the_number_of_a_removed_filegroup_is_not_given_again() {
    let mut story = begin();
    story.run("alter database d add filegroup x alter database d remove filegroup x alter database d add filegroup y");
    assert_eq!(
        story.rows("select data_space_id from d.sys.filegroups where name = 'y'"),
        ["5"]
    );
    story.run("alter database d remove filegroup y");
    story.again(crate::story::Again::StopStart, "d");
    story.run("alter database d add filegroup z");
    assert_eq!(
        story.rows("select data_space_id from d.sys.filegroups where name = 'z'"),
        ["6"]
    );
}

/// The column stayed computed when it is read, and its keys were NULL.
#[test]
fn drop_existing_onto_a_computed_column_stores_it() {
    let mut story = begin();
    story.run("use d create table t (a int, b as a * 2, c as getdate()) create clustered index c on t (a) insert t values (1), (2)");
    story.run("create clustered index c on t (b) with (drop_existing = on)");
    assert_eq!(story.rows("select a, b from t where b = 4"), ["2 4"]);
    assert_eq!(
        story.errors("create clustered index c on t (c) with (drop_existing = on)"),
        [2729]
    );
    story.run("create unique clustered index c on t (b) with (drop_existing = on)");
    story.is_sound("d");
}

fn with_archive() -> Story {
    let mut story = begin();
    story.run(
        "use d create table large (id int primary key, f varchar(max)) on hot textimage_on archive
         insert large values (1, replicate(cast('x' as varchar(max)), 20000)), (2, 'short')
         create table u (id int primary key, f int, v int, constraint uq unique (v) on archive) on hot create index i on u (f) on archive insert u values (1, 1, 1)
         create table heap (id int not null) on archive insert heap values (1)
         create table deleted (id int primary key, f char(900)) on archive
         create table seen (id int primary key, v int not null) on hot insert seen values (1, 1)",
    );
    story.run("create view w with schemabinding as select id, v from dbo.seen");
    story.run("create unique clustered index k on w (id) on archive");
    story.run("declare @i int = 0 while @i < 100 begin insert deleted values (@i, 'x') set @i += 1 end delete deleted where id % 2 = 0");
    story.run("use master alter database d modify filegroup archive read_only");
    story
}

/// Large values, and the storage that a statement gives back, were not looked at.
#[test]
fn no_statement_changes_a_read_only_filegroup() {
    let mut story = with_archive();
    for (batch, number) in [
        ("update large set f = replicate(cast('y' as varchar(max)), 20000)", 652),
        ("update large set f = 'short'", 652),
        (
            "insert large values (3, replicate(cast('y' as varchar(max)), 20000))",
            652,
        ),
        ("delete large where id = 1", 652),
        ("truncate table large", 652),
        ("drop table large", 3740),
        ("alter table large rebuild", 1924),
        ("alter index all on large rebuild", 1924),
        ("alter table large add g int not null default 1", 1924),
        ("drop index i on u", 3740),
        ("drop table u", 3740),
        ("alter table u drop constraint uq", 3740),
        ("alter index i on u disable", 3740),
        ("alter index i on u rebuild", 1924),
        ("alter index i on u reorganize", 1924),
        ("create index i on u (f) with (drop_existing = on) on hot", 3740),
        ("create clustered index c on heap (id) on hot", 3740),
        ("alter table heap add constraint pk primary key (id) on hot", 3740),
        ("drop index k on w", 3740),
        ("drop view w", 3740),
        ("alter index k on w disable", 3740),
        ("insert seen values (2, 2)", 652),
        (
            "create table n (id int, f varchar(max)) on hot textimage_on archive",
            1924,
        ),
        ("dbcc shrinkfile (a1, 1)", 5055),
        ("dbcc shrinkfile (a1, emptyfile)", 5055),
        ("alter database d modify file (name = a1, size = 50 MB)", 5048),
        ("alter database d modify file (name = a1, filegrowth = 1 MB)", 5048),
    ] {
        let errors = story.errors(&format!("use d {batch}"));
        assert_eq!(errors.first(), Some(&number), "{batch}: {errors:?}");
    }
    let answer = story.answer("use d drop index i on u");
    assert!(
        answer.contains(
            "Cannot drop the index 'u.i' because at least part of the table resides on a read-only filegroup."
        ),
        "{answer}"
    );
    story.run("use d dbcc shrinkdatabase (d) with no_infomsgs");
    // What writes nothing there goes on.
    story.run("use d update large set f = 'other' where id = 2 insert large values (4, 'short') use master");
    assert_eq!(
        story.rows("select id, len(f) from d.dbo.large order by id"),
        ["1 20000", "2 5", "4 5"]
    );
    story.is_sound("d");
    story.run("use master alter database d modify filegroup archive read_write");
    story.run("use d drop table large drop index i on u drop view w create clustered index c on heap (id) on hot");
    story.is_sound("d");
}

/// The cleaner went on in the filegroup with what was deleted before.
#[test]
fn a_read_only_filegroup_is_clean_when_it_becomes_so_and_stays_as_it_is() {
    let mut story = with_archive();
    let ghosts = "select sum(ghost_record_count) from sys.dm_db_index_physical_stats(db_id('d'), object_id('d.dbo.deleted'), null, null, 'DETAILED')";
    assert_eq!(story.rows(ghosts), ["0"]);
    story.run("use master checkpoint");
    let file = |story: &Story, name: &str| {
        let file = story
            .disk
            .open(
                &std::path::PathBuf::from("/instance/data").join(name),
                disk::Access::Buffered,
            )
            .unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    };
    let before = [file(&story, "a1.ndf"), file(&story, "a2.ndf")];
    let database = story.instance.database("d").unwrap();
    story.run("use d select count(*) from deleted update seen set v = v use master");
    database.clean_ghosts(1_000).unwrap();
    database.free_large_values().unwrap();
    database.checkpoint().unwrap();
    assert!(before == [file(&story, "a1.ndf"), file(&story, "a2.ndf")]);
}

/// Another session's change that is not committed keeps READ_ONLY away, and the filegroup as it is.
#[test]
fn read_only_waits_for_no_one_and_leaves_no_trace() {
    let mut story = begin();
    story.run("use d create table t (id int) on archive use master");
    let mut other = story.beside();
    told(&mut other, "use d begin tran insert t values (1)");
    assert_eq!(
        story.errors("alter database d modify filegroup archive read_only"),
        [5070, 5069]
    );
    let answer = told(&mut other, "insert t values (2) commit use master");
    assert!(crate::story::numbers(&answer).is_empty(), "{answer}");
    story.run("alter database d modify filegroup archive read_only");
    assert_eq!(
        story.errors("alter database d modify filegroup nowhere read_only"),
        [5014]
    );
    assert_eq!(story.errors("use d delete t"), [652]);
}

#[test]
fn drop_existing_keeps_what_keys_need() {
    let mut story = begin();
    story.run(
        "use d create table p (a int not null, b int) create unique index u on p (a) create table c (a int references p (a))
         create table h (id int not null constraint pk primary key nonclustered, v int)
         create table t (a int, v int) create clustered index k on t (a) insert t values (1, 1), (1, 2)",
    );
    for (batch, number) in [
        ("create index u on p (b) with (drop_existing = on)", 1907),
        ("create index u on p (a) with (drop_existing = on)", 1907),
        (
            "create unique clustered index pk on h (id) with (drop_existing = on)",
            1907,
        ),
        (
            "create unique clustered index k on t (a) with (drop_existing = on)",
            1505,
        ),
    ] {
        assert_eq!(
            story.errors(&format!("use d {batch}")).first(),
            Some(&number),
            "{batch}"
        );
    }
    story.run("use d create unique index u on p (a) include (b) with (drop_existing = on)");
    assert_eq!(story.errors("use d insert p values (1, 1), (1, 2)"), [2601]);
    story.run("use d create clustered index k on t (v) with (drop_existing = on, statistics_norecompute = on)");
    assert_eq!(
        story.rows("select no_recompute from d.sys.stats where object_id = object_id('d.dbo.t') and name = 'k'"),
        ["1"]
    );
    // One that is switched off is on again.
    story.run("use d alter index k on t disable create clustered index k on t (a) with (drop_existing = on)");
    assert_eq!(story.rows("select a, v from d.dbo.t order by v"), ["1 1", "1 2"]);
    assert_eq!(
        story.rows("select is_disabled from d.sys.indexes where name = 'k'"),
        ["0"]
    );
    story.is_sound("d");
}

/// They went with the clustered index.
#[test]
fn large_values_stay_when_the_clustered_index_moves() {
    let mut story = begin();
    story.run("use d create table t (id int not null constraint pk primary key, f varchar(max)) on hot insert t values (1, replicate(cast('x' as varchar(max)), 20000))");
    story.run("create unique clustered index pk on t (id) with (drop_existing = on) on archive");
    assert_eq!(
        story.rows("select f.name, u.type_desc from sys.allocation_units u join sys.partitions p on p.hobt_id = u.container_id join sys.filegroups f on f.data_space_id = u.data_space_id where p.object_id = object_id('t') order by 2"),
        ["archive IN_ROW_DATA", "hot LOB_DATA"]
    );
    assert_eq!(
        story.rows("select lob_data_space_id from sys.tables where name = 't'"),
        ["3"]
    );
    story.is_sound("d");
}

#[test]
fn a_revert_takes_the_filegroups_back_and_overwrites_none_that_is_read_only() {
    let mut story = begin();
    story.run("use d create table t (id int) on archive use master");
    let snapshot = "create database s on (name = d, filename = 'd.ss'), (name = a1, filename = 'a1.ss'), (name = a2, filename = 'a2.ss'), (name = h1, filename = 'h1.ss') as snapshot of d";
    story.run(snapshot);
    story.run("alter database d modify filegroup hot name = warm alter database d modify filegroup [primary] default alter database d add filegroup x");
    story.run("restore database d from database_snapshot = 's'");
    assert_eq!(
        story.rows("select name, is_default from d.sys.filegroups order by data_space_id"),
        ["PRIMARY 0", "archive 0", "hot 1"]
    );
    story.is_sound("d");
    story.run("alter database d add filegroup y");
    assert_eq!(
        story.rows("select data_space_id from d.sys.filegroups where name = 'y'"),
        ["5"]
    );
    story.run("alter database d modify filegroup archive read_only");
    assert_eq!(
        story.errors("restore database d from database_snapshot = 's'").first(),
        Some(&3137)
    );
}

#[test]
fn snapshots_and_copies_declare_no_filegroup() {
    let mut story = begin();
    for of in ["as copy of d", "as snapshot of d"] {
        let batch = format!(
            "create database c on (name = d, filename = 'c.mdf'), filegroup archive (name = a1, filename = 'x.ndf') {of}"
        );
        assert_eq!(story.errors(&batch), [40517], "{of}");
    }
}

/// The table's filegroup went away under it, and its number to another.
#[test]
fn a_filegroup_that_an_uncommitted_definition_names_is_not_removed() {
    let mut story = begin();
    story.run("alter database d add filegroup g");
    let mut other = story.beside();
    told(
        &mut other,
        "use d begin tran create table t (id int, f varchar(max)) on [primary] textimage_on g",
    );
    assert_eq!(
        story
            .errors("set lock_timeout 0 alter database d remove filegroup g")
            .first(),
        Some(&1222)
    );
    told(&mut other, "commit");
    assert_eq!(story.errors("alter database d remove filegroup g"), [5042]);
    told(&mut other, "drop table t");
    story.run("alter database d remove filegroup g");
}

/// The table's filegroup was named, whatever was being made.
#[test]
fn a_full_filegroup_of_an_index_is_named() {
    let mut story = begin();
    story.run("use d create table t (id int primary key, v int) on [primary] create index i on t (v) on archive create table fills (id int, f char(8000)) on archive");
    story.answer(
        "use d set nocount on declare @i int = 0 while @i < 4000 begin insert fills values (@i, 'x') set @i += 1 end",
    );
    let answer = story.answer("use d create index j on t (v) on archive");
    assert!(
        answer.contains("Msg 1105") && answer.contains("the 'archive' filegroup is full"),
        "{answer}"
    );
    let answer = story.answer("use d alter table t add g int not null default 1");
    assert!(
        answer.contains("Msg 1105") && answer.contains("the 'archive' filegroup is full"),
        "{answer}"
    );
}

#[test]
fn checkdb_looks_where_things_are() {
    let mut story = begin();
    story.run("use d create table t (id int primary key, f varchar(max), v int) on hot textimage_on archive create index i on t (v) on archive
               insert t values (1, replicate(cast('x' as varchar(max)), 20000), 1) use master");
    story.is_sound("d");
    let database = story.instance.database("d").unwrap();
    let mut entry = database.entry();
    let sound = entry.clone();
    entry.filegroups.retain(|filegroup| filegroup.name != "archive");
    database.set_entry(entry);
    let answer = story.answer("dbcc checkdb (d) with no_infomsgs");
    for test in [
        "the database has the filegroup 2 of table t",
        "the database has the filegroup 2 of the file a1",
    ] {
        assert!(answer.contains("Msg 8939") && answer.contains(test), "{answer}");
    }
    database.set_entry(sound);
    story.is_sound("d");
}

#[test]
fn old_views_and_commands_know_filegroups() {
    let mut story = begin();
    story.run("alter database d add filegroup [Ärchiv] use d");
    assert_eq!(
        story.rows("select name, groupid from sysfiles order by fileid"),
        ["d 1", "d_log 0", "a1 2", "a2 2", "h1 3"]
    );
    assert_eq!(
        story.answer("dbcc checkfilegroup ('ärchiv') with no_infomsgs").trim(),
        ""
    );
    assert!(story.errors("use d exec sp_helpfilegroup 'ärchiv'").is_empty());
}

#[test]
fn on_is_said_once_and_has_no_column_in_a_variable() {
    let mut story = begin();
    assert_eq!(story.errors("use d create table n (id int) on hot on archive"), [156]);
    assert_eq!(
        story.errors("use d create table n (id int, f varchar(max)) textimage_on hot textimage_on archive"),
        [102]
    );
    assert_eq!(
        story.errors("declare @t table (id int primary key on [primary] (nosuch))"),
        [40517]
    );
}
