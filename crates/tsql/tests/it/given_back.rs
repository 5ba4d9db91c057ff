//! Storage that a rollback frees (TRUNCATE, SELECT INTO, indexes, tables, with savepoints), with a power cut at every
//! operation of the rollback: rows added to it are left as they are, everything else is undone. Counts are printed.
//!
//! Depth: one operation in 13; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story;

use disk::sim::{CutPolicy, SimDisk};
use engine::log::LogPolicy;
use story::Story;

const SET_UP: [&str; 4] = [
    "create database d alter database d set recovery simple",
    "use d create table kept (id int not null primary key, v int not null, f char(200) not null)
     declare @i int = 0 while @i < 200 begin insert kept values (@i, 0, 'old') set @i += 1 end",
    "use d create table source (id int not null, f char(300) not null)
     insert source select id, f from kept where id < 80",
    "use d create table t (id int not null, f char(300) not null) insert t with (tablock) select id, f from source where id < 40",
];

/// Work whose records are many, in a table that stays: the log goes to the disk between what is given back.
const CHANGE: &str = "update kept set v += 1, f = replicate(char(65 + (v + id) % 26), 200)";

/// What transactions do. CHANGE stands for the work between.
const WORKS: [(&str, &str); 10] = [
    (
        "rows one by one",
        "create table made (id int not null primary key, f char(300) not null) insert made select id, f from source CHANGE
         insert made select id + 100, f from source CHANGE",
    ),
    (
        "rows one by one, one deleted and inserted again",
        "create table made (id int not null primary key, f char(300) not null) CHANGE
         insert made values (5, 'first') CHANGE delete made where id = 5 CHANGE insert made values (5, 'again') CHANGE
         update made set f = 'changed' CHANGE delete made CHANGE insert made values (5, 'third'), (6, 'fourth') CHANGE",
    ),
    (
        "TRUNCATE, filled, again",
        "truncate table t CHANGE insert t with (tablock) select id, f from source CHANGE
         truncate table t insert t with (tablock) select id, f from source CHANGE",
    ),
    (
        "SELECT INTO and more of it",
        "select id, f into made from source CHANGE insert made with (tablock) select id + 1000, f from source CHANGE
         delete made where id % 3 = 0 insert made values (3, 'again') CHANGE",
    ),
    (
        "CREATE INDEX",
        "create index i on t (f, id) CHANGE drop index i on t create index i on t (id) include (f) CHANGE
         delete t where id = 7 insert t values (7, 'again') CHANGE",
    ),
    (
        "a clustered index",
        "create unique clustered index c on t (id) CHANGE delete t where id = 7 insert t values (7, 'again') CHANGE
         insert t with (tablock) select id + 1000, f from source CHANGE drop index c on t CHANGE",
    ),
    (
        "a table with a key: deleted, inserted again",
        "create table made (id int not null primary key, f char(300) not null)
         insert made with (tablock) select id, f from source CHANGE delete made where id < 60 CHANGE
         insert made with (tablock) select id + 10, upper(f) from source where id + 10 < 60 CHANGE",
    ),
    (
        "filled before and behind a savepoint",
        "insert t with (tablock) select id + 500, f from source CHANGE save tran a
         truncate table t insert t with (tablock) select id, f from source CHANGE rollback tran a
         insert t with (tablock) select id + 1000, f from source CHANGE",
    ),
    (
        "nothing but storage behind a savepoint",
        "select id, f into made from source save tran a select id, f into more from source rollback tran a
         create table other (id int not null, f char(300) not null) insert other with (tablock) select id, f from source CHANGE",
    ),
    (
        "made and dropped",
        "select id, f into made from source CHANGE drop table made select id, f into made from t CHANGE",
    ),
];

/// Everything that the transactions leave as it was.
fn state_of(story: &mut Story) -> Vec<String> {
    [
        "select count(*), sum(v), min(f), max(f) from d.dbo.kept",
        "select count(*), sum(id), min(f), max(f) from d.dbo.t",
        "select count(*), sum(id) from d.dbo.source",
        "select count(*), min(name), max(name) from d.sys.tables",
        "select count(*) from d.sys.indexes where name in ('i', 'c')",
    ]
    .iter()
    .flat_map(|query| story.rows(query))
    .collect()
}

/// A database in which the work is done, and what was in it before.
fn worked(policy: LogPolicy, work: &str) -> (Story, Vec<String>) {
    let mut story = Story::on(SimDisk::new(3), policy);
    SET_UP.iter().for_each(|batch| story.run(batch));
    let before = state_of(&mut story);
    story.run(&format!("use d begin tran {}", work.replace("CHANGE", CHANGE)));
    (story, before)
}

/// Nothing of the work is left, and what comes after it finds pages of its own.
fn is_as_it_was(story: &mut Story, before: &[String], what: &str) {
    assert_eq!(state_of(story), before, "{what}");
    story.is_sound("d");
    story.run("use d create table later (id int not null primary key, f char(300) not null)");
    story.run("use d insert later select id, f from source");
    assert_eq!(
        story.rows("select count(*), sum(id) from d.dbo.later"),
        ["80 3160"],
        "{what}"
    );
    story.run("use d drop table later");
    assert_eq!(state_of(story), before, "{what}");
    story.is_sound("d");
}

fn policies() -> [LogPolicy; 2] {
    [LogPolicy::native(), LogPolicy::classic()]
}

#[test]
fn a_rollback_takes_back_everything_beside_storage_it_gives_back() {
    for policy in policies() {
        for (name, work) in WORKS {
            let (mut story, before) = worked(policy, work);
            story.run("rollback");
            is_as_it_was(&mut story, &before, name);
            // A statement that fails is undone alone.
            story.run(&format!("use d begin tran {}", CHANGE));
            assert_eq!(
                story.errors("use d select id, 1 / (id - 79) as n into made from source"),
                [8134]
            );
            story.run(&format!("use d {CHANGE} rollback"));
            is_as_it_was(&mut story, &before, name);
        }
    }
}

/// Cuts the power at every operation of the rollback of each work.
fn cut_everywhere(policy: LogPolicy) {
    let sample = workbench::sample("operations of rollbacks that give storage back, with a power cut", 13);
    let (mut cuts, mut uncut) = (0, 0);
    for (name, work) in WORKS {
        for number in (1..).step_by(sample.one_in) {
            let (mut story, before) = worked(policy, work);
            let at = story.disk.operation_count() + number;
            story.disk.power_cut_at(at);
            story.answer("rollback");
            // Pages and the rest of the log, as a checkpoint would write them.
            story.answer("checkpoint");
            if !story.disk.power_is_cut() {
                uncut += 1;
                break;
            }
            cuts += 1;
            let fate = [CutPolicy::AllKept, CutPolicy::AllLost, CutPolicy::RandomSectors][number as usize % 3];
            let disk = story.disk.after_power_cut(fate, at);
            story.start_on(disk);
            is_as_it_was(&mut story, &before, &format!("{name}, cut at {number}"));
        }
    }
    println!("{cuts} cuts; {uncut} rollbacks to their end");
    assert!(cuts >= 5, "{cuts}");
    sample.count(cuts);
}

// A test for each policy, so that they run beside each other.

#[test]
fn a_power_cut_in_such_a_rollback_leaves_what_was_there_by_the_native_policy() {
    cut_everywhere(LogPolicy::native());
}

#[test]
fn a_power_cut_in_such_a_rollback_leaves_what_was_there_by_the_classic_policy() {
    cut_everywhere(LogPolicy::classic());
}
