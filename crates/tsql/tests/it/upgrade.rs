//! Databases, backup sets and log chains of format 2, from kept files of the last release that wrote it; newer formats are
//! refused.
//!
//! Depth: one operation of the upgrade in 7; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::{CutPolicy, SimDisk};
use engine::catalog::ObjectDefinition;
use engine::log::LogPolicy;
use story::{Again, Story};

const STOPPED: &[u8] = include_bytes!("../format_2/stopped.zst");
const KILLED: &[u8] = include_bytes!("../format_2/killed.zst");
const FULL: &[u8] = include_bytes!("../format_2/full.zst");
const MEDIA: &[u8] = include_bytes!("../format_2/media.zst");

fn unpacked(archive: &[u8]) -> SimDisk {
    let disk = SimDisk::new(3);
    Story::unpacked(archive, &disk);
    disk
}

/// New tables of both kinds beside those of format 2; nobody takes anything of anybody.
fn goes_on(story: &mut Story, name: &str) {
    story.run(&format!("use {name}"));
    let parents = story.rows("select count(*), sum(id) from parent");
    let children = story.rows("select id, parent, name, code from child order by id");
    for (kind, key) in [("heap", ""), ("tree", "primary key")] {
        story.run(&format!(
            "create table new_{kind} (id int not null {key}, f char(800) not null)"
        ));
        story.run(&format!(
            "declare @i int = 0 while @i < 100 begin insert new_{kind} values (@i, 'new') set @i += 1 end"
        ));
        assert_eq!(
            story.rows(&format!("select count(*), sum(id) from new_{kind}")),
            ["100 4950"]
        );
    }
    assert_eq!(story.rows("select count(*), sum(id) from parent"), parents);
    assert_eq!(
        story.rows("select id, parent, name, code from child order by id"),
        children
    );
    assert_eq!(parents, ["2 3"]);
    assert_eq!(children.len(), 2);
    story.ids(name);
    story.is_sound(name);
}

fn says_upgraded(story: &Story, name: &str) -> usize {
    let line = format!("Converting database '{name}' from version 2 to the current version 3.");
    story.error_log().iter().filter(|said| said.contains(&line)).count()
}

#[test]
fn a_stopped_instance_is_upgraded_once_and_goes_on() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = Story::on(unpacked(STOPPED), policy);
        for name in ["master", "old"] {
            assert_eq!(says_upgraded(&story, name), 1, "{name}: {:#?}", story.error_log());
        }
        goes_on(&mut story, "old");
        let ids = story.ids("old");
        for again in Again::ALL {
            story.again(again, "old");
            assert_eq!(story.ids("old"), ids);
        }
        assert_eq!(says_upgraded(&story, "old"), 0, "once is enough");
    }
}

/// Constraints get ids of their own in the catalog, which needs room there. Without any the database was not opened: 1105.
#[test]
fn a_database_whose_file_is_full_is_upgraded_and_gets_the_ids_of_constraints_when_there_is_room() {
    for policy in [LogPolicy::native(), LogPolicy::classic()] {
        let mut story = Story::on(unpacked(FULL), policy);
        assert_eq!(says_upgraded(&story, "filled"), 1);
        story.run("use filled");
        assert_eq!(story.rows("select * from parent"), ["1 one"]);
        story.is_sound("filled");
        let without_id = |story: &Story| {
            let objects = story.instance.database("filled").unwrap().catalog.objects(0);
            let mut tables = objects.iter().filter_map(|object| match &object.definition {
                ObjectDefinition::Table(table) => Some(table.clone()),
                _ => None,
            });
            tables.any(|mut table| table.constraint_ids_mut().any(|id| *id == 0))
        };
        assert!(without_id(&story), "there was room after all");
        story.run("alter database filled modify file (name = filled_data, maxsize = 20MB)");
        for again in Again::ALL {
            story.again(again, "filled");
            assert!(!without_id(&story));
            story.is_sound("filled");
        }
        story.run("use filled create table more (id int not null primary key) insert more values (1)");
    }
}

#[test]
fn a_killed_instance_is_recovered_and_upgraded() {
    let mut story = Story::on(unpacked(KILLED), LogPolicy::native());
    assert_eq!(says_upgraded(&story, "old"), 1);
    story.run("use old");
    assert_eq!(
        story.rows("select name from sys.tables order by name"),
        ["child", "heap", "parent", "whole"]
    );
    assert_eq!(story.rows("select text from heap order by id"), ["a", "b", "c"]);
    assert_eq!(story.rows("select id, rtrim(f) from whole"), ["1 whole"]);
    goes_on(&mut story, "old");
}

/// The power is cut at every write, sync and growth of the first start: the next one makes the upgrade whole.
#[test]
fn a_cut_during_the_upgrade_is_followed_by_all_of_it() {
    let sample = workbench::sample("operations of an upgrade with a power cut", 7);
    let mut cuts = 0;
    for archive in [STOPPED, KILLED] {
        let disk = unpacked(archive);
        let whole = Story::on(disk.snapshot(), LogPolicy::native());
        let (first, last) = (disk.operation_count() + 1, whole.disk.operation_count());
        assert!(last > first + 20, "{first}..{last}");
        for cut in (first..=last).step_by(sample.one_in) {
            let disk = disk.snapshot();
            disk.power_cut_at(cut);
            assert!(Story::try_on(disk.clone(), LogPolicy::native()).is_none() || disk.power_is_cut());
            let policy = [CutPolicy::AllLost, CutPolicy::RandomSectors, CutPolicy::AllKept][cut as usize % 3];
            let mut story = Story::on(disk.after_power_cut(policy, cut), LogPolicy::native());
            goes_on(&mut story, "old");
            cuts += 1;
        }
    }
    sample.count(cuts);
}

/// What format 2 has mixed already is reported, not guessed at; the database is there all the same, and nothing new is
/// mixed.
#[test]
fn a_database_mixed_by_format_2_is_reported() {
    let mut story = Story::on(unpacked(STOPPED), LogPolicy::native());
    assert!(story.errors("dbcc checkdb (mixed) with no_infomsgs").contains(&8939));
    story.run("use mixed create table n (id int not null, f char(800) not null)");
    story.run("declare @i int = 0 while @i < 100 begin insert n values (@i, 'new') set @i += 1 end");
    assert_eq!(story.rows("select count(*), sum(id) from n"), ["100 4950"]);
}

#[test]
fn a_backup_and_a_log_chain_are_restored_and_upgraded() {
    let disk = SimDisk::new(3);
    Story::unpacked(MEDIA, &disk);
    for logs in 0..=2 {
        let mut story = Story::on(disk.snapshot(), LogPolicy::native());
        story.run("restore database old from disk = '/instance/old.bak' with norecovery");
        for log in 1..=logs {
            story.run(&format!(
                "restore log old from disk = '/instance/old.bak' with file = {}, norecovery",
                log + 1
            ));
        }
        story.again(Again::StopStart, "old");
        story.run("restore database old with recovery");
        assert_eq!(says_upgraded(&story, "old"), 1, "{logs}");
        story.run("use old");
        assert_eq!(story.rows("select count(*) from heap"), [(3 + logs).to_string()]);
        let later = story.rows("select count(*) from sys.tables where name = 'later'");
        assert_eq!(later, [i32::from(logs > 0).to_string()]);
        goes_on(&mut story, "old");
        story.again(Again::Kill, "old");
        story.is_sound("old");
    }
}

/// Between two sets of format 2 the database can be read; it is upgraded when it is to be written.
#[test]
fn a_standby_database_is_upgraded_when_it_ends_to_be_one() {
    for more in [
        "",
        "restore log old from disk = '/instance/old.bak' with file = 3, recovery",
    ] {
        let disk = SimDisk::new(3);
        Story::unpacked(MEDIA, &disk);
        let mut story = Story::on(disk, LogPolicy::native());
        story.run("restore database old from disk = '/instance/old.bak' with norecovery");
        story.run("restore log old from disk = '/instance/old.bak' with file = 2, standby = '/instance/old.undo'");
        story.again(Again::StopStart, "old");
        assert_eq!(story.rows("select count(*) from old.dbo.heap"), ["4"]);
        assert_eq!(says_upgraded(&story, "old"), 0);
        match more {
            "" => story.run("restore database old with recovery"),
            log => story.run(log),
        }
        assert_eq!(says_upgraded(&story, "old"), 1);
        goes_on(&mut story, "old");
        story.again(Again::Kill, "old");
        story.is_sound("old");
    }
}

/// The boot record with another number or an unknown feature in it: 948, and the database is as it was when that is gone again.
#[test]
fn a_newer_format_is_refused_as_sql_server_does() {
    let mut story = Story::begin();
    story.run("create database d");
    story.instance.shutdown(false).unwrap();
    let disk = story.disk.snapshot();
    story::change_boot_pages(&disk, "d.mdf", |payload| payload[0] = 4);
    let mut later = Story::on(disk.snapshot(), LogPolicy::native());
    let text = "The database 'd' cannot be opened because it is version 4. This server supports version 3 and earlier. A downgrade path is not supported.";
    assert!(
        later.error_log().iter().any(|line| line.contains(text)),
        "{:#?}",
        later.error_log()
    );
    assert!(!later.errors("use d").is_empty());
    story::change_boot_pages(&disk, "d.mdf", |payload| (payload[0], payload[235]) = (3, 128));
    let featured = Story::on(disk.snapshot(), LogPolicy::native());
    assert!(
        featured.error_log().iter().any(|line| line.contains(text)),
        "a feature that is not known"
    );
    story::change_boot_pages(&disk, "d.mdf", |payload| payload[235] = 0);
    let mut story = Story::on(disk.snapshot(), LogPolicy::native());
    story.run("use d");
}

/// An index of an unknown order is reported, not searched and not changed; dropping it is the way out.
#[test]
fn an_index_of_another_collation_version_is_disabled() {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("use d create table t (id int not null primary key, s varchar(10) not null)");
    story.run("create index s on t (s) insert t values (1, 'a'), (2, 'b')");
    let database = story.instance.database("d").unwrap();
    let object = database.catalog.find("dbo", "t", 0).unwrap();
    let ObjectDefinition::Table(mut table) = object.definition.clone() else {
        panic!()
    };
    table.indexes[1].collation_version = 7;
    let mut session = story.instance.open_session().unwrap();
    session.begin();
    session
        .replace_object(&database, &object, ObjectDefinition::Table(table))
        .unwrap();
    session.commit().unwrap();
    drop((session, database));
    story.again(Again::StopStart, "d");
    let text = "The index 's' on table 't' in database 'd' is ordered by version 7 of its collation";
    assert!(
        story.error_log().iter().any(|line| line.contains(text)),
        "{:#?}",
        story.error_log()
    );
    for statement in [
        "select id from t where s = 'a'",
        "insert t values (3, 'c')",
        "select count(*) from t",
    ] {
        assert_eq!(story.errors(&format!("use d {statement}")), [8655], "{statement}");
    }
    story.run("use d drop index s on t");
    assert_eq!(story.rows("select count(*) from t"), ["2"]);
    story.run("create index s on t (s)");
    assert_eq!(story.rows("select id from t where s = 'a'"), ["1"]);
}

/// The chain goes on over the upgrade: full and first log of format 2, the rest of the log written by this version.
#[test]
fn a_log_chain_that_begins_in_format_2_goes_on() {
    let disk = unpacked(STOPPED);
    Story::unpacked(MEDIA, &disk);
    let mut story = Story::on(disk, LogPolicy::native());
    goes_on(&mut story, "old");
    story.run("use master backup log old to disk = '/instance/new.bak' with format");
    let ids = story.ids("old");
    story.run("restore database old from disk = '/instance/old.bak' with replace, norecovery");
    for file in [2, 3] {
        story.run(&format!(
            "restore log old from disk = '/instance/old.bak' with file = {file}, norecovery"
        ));
    }
    story.run("restore log old from disk = '/instance/new.bak' with recovery");
    assert_eq!(story.ids("old"), ids);
    story.run("use old drop table new_heap drop table new_tree");
    goes_on(&mut story, "old");
    assert_eq!(
        story.ids("old").difference(&ids).count(),
        5,
        "two tables with three units, one with a key, nothing twice"
    );
}

/// Entries that carry columns are a feature: a version that does not know it must not read the database. They are there after a
/// restart, and in a database restored from a backup, log included.
#[test]
fn entries_that_carry_columns_are_told_in_the_boot_record() {
    let feature = |disk: &SimDisk| {
        let features = std::cell::Cell::new(0);
        // The newer of the two copies: a feature stays.
        story::change_boot_pages(disk, "d.mdf", |payload| features.set(features.get() | payload[180]));
        features.get() & 2
    };
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d alter database d set recovery full");
        story.run("use d create table t (id int primary key, k int, v varchar(20)) insert t values (1, 10, 'one'), (2, 20, 'two')");
        story.run("backup database d to disk = 'd.bak'");
        assert_eq!(feature(&story.disk.snapshot()), 0);
        story.run("use d create index ik on t (k) include (v) insert t values (3, 30, 'three') update t set v = 'ten' where id = 1");
        assert_eq!(feature(&story.disk.snapshot()), 2);
        story.run("backup log d to disk = 'd.trn'");
        let found = "select k, v from t with (index (ik)) order by k";
        let expected = ["10 ten", "20 two", "30 three"];
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows(found), expected, "{again:?}");
        story.run("use master restore database e from disk = 'd.bak' with norecovery, move 'd' to 'e.mdf', move 'd_log' to 'e.ldf'");
        story.run("restore log e from disk = 'd.trn'");
        story.run("use e");
        assert_eq!(story.rows(found), expected, "{again:?}");
        story.is_sound("e");
    }
}
