//! Databases, backup sets and log chains of format 2, made by the last release that wrote it (`format_2/make.sh`).
#![allow(clippy::unwrap_used, missing_docs)]

mod story;

use disk::sim::{CutPolicy, SimDisk};
use engine::log::LogPolicy;
use story::{Again, Story};

const STOPPED: &[u8] = include_bytes!("format_2/stopped.zst");
const KILLED: &[u8] = include_bytes!("format_2/killed.zst");
const MEDIA: &[u8] = include_bytes!("format_2/media.zst");

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
    for archive in [STOPPED, KILLED] {
        let disk = unpacked(archive);
        let whole = Story::on(disk.snapshot(), LogPolicy::native());
        let (first, last) = (disk.operation_count() + 1, whole.disk.operation_count());
        assert!(last > first + 20, "{first}..{last}");
        for cut in (first..=last).step_by(2) {
            let disk = disk.snapshot();
            disk.power_cut_at(cut);
            assert!(Story::try_on(disk.clone(), LogPolicy::native()).is_none() || disk.power_is_cut());
            let policy = [CutPolicy::AllLost, CutPolicy::RandomSectors, CutPolicy::AllKept][cut as usize % 3];
            let mut story = Story::on(disk.after_power_cut(policy, cut), LogPolicy::native());
            goes_on(&mut story, "old");
        }
    }
}

/// What format 2 has mixed already is told, not guessed at; the database is there all the same, and nothing new is mixed.
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
