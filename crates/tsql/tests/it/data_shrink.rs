//! DBCC SHRINKFILE of a data file and SHRINKDATABASE: the size on disk, the rows, CHECKDB, snapshots, differential backups and log backups;
//! a power cut at every operation of a shrink. Prints the counts.
//!
//! Depth: one operation in 11; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::{story, transcript};

use disk::Disk;
use disk::sim::SimDisk;
use engine::log::LogPolicy;
use std::path::Path;
use story::Story;
use story::cuts::{Run, cuts};

const SET_UP: [&str; 3] = [
    "create database d on (name = d, filename = 'd.mdf', size = 2 MB, filegrowth = 1 MB) log on (name = d_log, filename = 'd.ldf', size = 4 MB)",
    "use d create table t (id int not null primary key, v int not null, f char(300) not null)
     declare @i int = 0 while @i < 200 begin insert t values (@i, 0, 'old') set @i += 1 end",
    "use d create table filler (f char(7000) not null)
     declare @i int = 0 while @i < 400 begin insert filler values ('filler') set @i += 1 end",
];

const ROWS: &str = "select count(*), sum(id), sum(v), min(f), max(f) from d.dbo.t";

fn policies() -> [LogPolicy; 2] {
    [LogPolicy::native(), LogPolicy::classic()]
}

/// A database whose file ends with the pages of a table that is gone.
fn with_free_end(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(5), policy);
    SET_UP.iter().for_each(|batch| story.run(batch));
    story.run("use d drop table filler");
    story
}

fn pages_of(story: &mut Story) -> u64 {
    story.rows("select size from d.sys.database_files where file_id = 1")[0]
        .parse()
        .unwrap()
}

fn bytes_on_disk(story: &Story) -> u64 {
    story.disk.len(Path::new("/instance/data/d.mdf")).unwrap().unwrap()
}

#[test]
fn the_free_end_of_a_data_file_goes_back_to_the_disk() {
    for policy in policies() {
        let mut story = with_free_end(policy);
        let rows = story.rows(ROWS);
        let before = pages_of(&mut story);
        assert!(before > 400, "{before}");
        assert_eq!(bytes_on_disk(&story), before * 8192);
        let answer = story.answer("use d dbcc shrinkfile (d, truncateonly)");
        for column in [
            "DbId",
            "FileId",
            "CurrentSize",
            "MinimumSize",
            "UsedPages",
            "EstimatedPages",
        ] {
            assert!(answer.contains(column), "{column}: {answer}");
        }
        assert!(answer.contains("Msg 2528, Level 10"), "{answer}");
        let after = pages_of(&mut story);
        assert!(after < 200, "{after}");
        assert_eq!(bytes_on_disk(&story), after * 8192);
        assert_eq!(story.rows(ROWS), rows);
        story.is_sound("d");
        // The file grows as it did, and what comes into it is found.
        story.run(SET_UP[2]);
        assert_eq!(
            story.rows("select count(*) from d.dbo.filler where f = 'filler'"),
            ["400"]
        );
        story.is_sound("d");
        story.run("use d drop table filler dbcc shrinkdatabase (d, truncateonly) with no_infomsgs");
        assert_eq!(pages_of(&mut story), after);
        assert_eq!(story.rows(ROWS), rows);
    }
}

#[test]
fn a_shrink_is_refused_by_number() {
    let mut story = with_free_end(LogPolicy::native());
    for (batch, expected) in [
        ("use d dbcc shrinkfile (nothing, truncateonly)", &[8985][..]),
        ("use d dbcc shrinkfile (7, truncateonly)", &[8985]),
        ("use d begin transaction dbcc shrinkfile (d, truncateonly)", &[8920]),
        ("use d rollback", &[]),
        ("use d begin transaction dbcc shrinkdatabase (d)", &[8920]),
        ("use d rollback", &[]),
        ("alter database d set auto_shrink on", &[40517]),
        ("use d dbcc shrinkfile (d, banana)", &[2560]),
    ] {
        assert_eq!(story.errors(batch), expected, "{batch}");
    }
}

/// A snapshot shows pages that its base has cut off, and the base becomes what the snapshot shows.
#[test]
fn a_snapshot_keeps_what_is_cut_off() {
    let mut story = Story::on(SimDisk::new(5), LogPolicy::native());
    SET_UP.iter().for_each(|batch| story.run(batch));
    story.run("use master create database s on (name = d, filename = 's.ss') as snapshot of d");
    let before = pages_of(&mut story);
    story.run("use d drop table filler dbcc shrinkfile (d, truncateonly)");
    assert!(pages_of(&mut story) < before);
    let filler = "select count(*) from s.dbo.filler where f = 'filler'";
    assert_eq!(story.rows(filler), ["400"]);
    story.run("dbcc checkdb ('s') with no_infomsgs");
    story.again(story::Again::Kill, "d");
    assert_eq!(story.rows(filler), ["400"]);
    story.run("use master restore database d from database_snapshot = 's'");
    assert_eq!(pages_of(&mut story), before);
    assert_eq!(
        story.rows("select count(*) from d.dbo.filler where f = 'filler'"),
        ["400"]
    );
    story.is_sound("d");
}

/// Full, shrink, differential, work, log: every way back leads to the rows that were there.
#[test]
fn backups_on_both_sides_of_a_shrink_are_restored() {
    let mut story = with_free_end(LogPolicy::native());
    story.run("alter database d set recovery full backup database d to disk = 'F' with init");
    story.run("update d.dbo.t set v = 1 use d dbcc shrinkfile (d, truncateonly)");
    story.run("backup database d to disk = 'D' with differential, init");
    story.run("update d.dbo.t set v += id backup log d to disk = 'L' with init");
    let rows = story.rows(ROWS);
    story.run("use master");
    for between in ["restore database d from disk = 'D' with norecovery", ""] {
        story.run("restore database d from disk = 'F' with replace, norecovery");
        story.run(between);
        story.run("restore log d from disk = 'L' with recovery");
        assert_eq!(story.rows(ROWS), rows, "{between}");
        story.is_sound("d");
        story.run("use d dbcc shrinkfile (1, truncateonly) use master");
        assert_eq!(story.rows(ROWS), rows, "{between}");
        story.is_sound("d");
    }
}

/// Tables of every kind at the end of a file, behind room that a dropped table has left: a clustered index with another beside it, a
/// heap with rows that have moved and two indexes, and a tree of three levels.
const AT_THE_END: [&str; 8] = [
    "create database d on (name = d, filename = 'd.mdf', size = 2 MB, filegrowth = 1 MB) log on (name = d_log, filename = 'd.ldf', size = 4 MB)",
    "use d create table filler (f char(7000) not null)
     declare @i int = 0 while @i < 500 begin insert filler values ('filler') set @i += 1 end",
    "use d create table t (id int not null primary key, v int not null, f char(300) not null) create index v on t (v) include (f)
     declare @i int = 0 while @i < 250 begin insert t values (@i, @i % 7, 'old') set @i += 1 end",
    "use d create table h (id int not null, v int not null, f varchar(3000) not null) create unique index id on h (id) create index v on h (v)
     declare @i int = 0 while @i < 250 begin insert h values (@i, @i % 5, replicate('h', 40 + @i)) set @i += 1 end",
    "use d update h set f = replicate('long', 300) where id % 10 = 3",
    "use d create table deep (k char(800) not null primary key, v int not null)
     declare @i int = 0 while @i < 200 begin insert deep values (str(@i, 800), @i) set @i += 1 end",
    "use d delete h where id % 4 = 1 delete t where id % 9 = 2",
    "use d drop table filler checkpoint",
];

const ALL_ROWS: [&str; 4] = [
    "select count(*), sum(id), sum(v), min(f), max(f) from d.dbo.t with (index (1))",
    "select count(*), sum(id), sum(v), sum(len(f)) from d.dbo.h",
    "select count(*), sum(h.v) from d.dbo.h as h with (index (id)) where h.id >= 0",
    "select count(*), sum(v), min(k), max(k) from d.dbo.deep",
];

fn at_the_end(policy: LogPolicy) -> Story {
    let mut story = Story::on(SimDisk::new(9), policy);
    AT_THE_END.iter().for_each(|batch| story.run(batch));
    story
}

fn all_rows(story: &mut Story) -> Vec<String> {
    ALL_ROWS.iter().flat_map(|query| story.rows(query)).collect()
}

#[test]
fn pages_move_to_the_front_and_the_file_becomes_as_short_as_they_allow() {
    for policy in policies() {
        let mut story = at_the_end(policy);
        let (rows, before) = (all_rows(&mut story), pages_of(&mut story));
        assert!(before > 700, "{before}");
        // NOTRUNCATE moves and leaves the size, then TRUNCATEONLY takes what has become free.
        let answer = story.answer("use d dbcc shrinkfile (d, notruncate)");
        assert!(!answer.contains("5205"), "{answer}");
        assert_eq!(pages_of(&mut story), before);
        assert_eq!(all_rows(&mut story), rows);
        story.is_sound("d");
        story.run("use d dbcc shrinkfile (d, truncateonly)");
        let after = pages_of(&mut story);
        assert!(after < 350, "{policy:?}: {after} of {before}");
        assert_eq!(bytes_on_disk(&story), after * 8192);
        assert_eq!(all_rows(&mut story), rows);
        story.is_sound("d");
        for again in [story::Again::StopStart, story::Again::Kill] {
            story.again(again, "d");
            assert_eq!(all_rows(&mut story), rows);
            story.run(
                "use d update t set v += 1 update h set v += 1, f = f + 'x' insert t select id + 1000, v, f from t",
            );
            story.run(
                "use d delete t where id >= 1000 update t set v -= 1 update h set v -= 1, f = left(f, len(f) - 1)",
            );
            assert_eq!(all_rows(&mut story), rows);
            story.is_sound("d");
        }
    }
}

#[test]
fn a_target_and_a_percentage_say_how_far() {
    let mut story = at_the_end(LogPolicy::native());
    let rows = all_rows(&mut story);
    story.run("use d dbcc shrinkfile (d, 5) with no_infomsgs");
    assert_eq!(pages_of(&mut story), 640);
    story.run("use d dbcc shrinkdatabase (d, 50)");
    let half = pages_of(&mut story);
    assert!(half < 640, "{half}");
    let answer = story.answer("use d dbcc shrinkdatabase (d, 50)");
    assert!(
        answer.contains("Msg 5201, Level 10") && answer.contains("File ID 1 of database ID"),
        "{answer}"
    );
    story.run("use d dbcc shrinkdatabase (d)");
    assert!(pages_of(&mut story) < half);
    assert_eq!(all_rows(&mut story), rows);
    story.is_sound("d");
}

/// A table that another session uses stays where it is, which is said; the others move. When it is free the rest follows.
#[test]
fn what_others_use_stays_and_is_told() {
    let mut story = at_the_end(LogPolicy::native());
    let rows = all_rows(&mut story);
    let mut other = story.beside();
    story::told(&mut other, "use d begin transaction update h set v = v where id = 0");
    let answer = story.answer("use d dbcc shrinkfile (d, 1)");
    assert!(
        answer.contains("Msg 5205, Level 10") && answer.contains("DBCC SHRINKFILE: Moving page"),
        "{answer}"
    );
    story::told(&mut other, "rollback");
    let answer = story.answer("use d dbcc shrinkfile (d, 1)");
    assert!(!answer.contains("5205"), "{answer}");
    assert!(pages_of(&mut story) < 350);
    assert_eq!(all_rows(&mut story), rows);
    story.is_sound("d");
}

#[test]
fn a_file_is_emptied_into_the_others_and_removed() {
    let mut story = Story::on(SimDisk::new(9), LogPolicy::native());
    story.run("create database d on (name = d, filename = 'd.mdf', size = 2 MB), (name = e, filename = 'e.ndf', size = 2 MB) log on (name = d_log, filename = 'd.ldf', size = 4 MB)");
    AT_THE_END[2..7].iter().for_each(|batch| story.run(batch));
    let rows = all_rows(&mut story);
    assert_eq!(story.errors("use d alter database d remove file e"), [5042]);
    assert_eq!(story.errors("use d dbcc shrinkfile (d, emptyfile)"), [2555]);
    assert_eq!(story.errors("use d dbcc shrinkfile (d_log, emptyfile)"), [2555]);
    story.run("use d dbcc shrinkfile (e, emptyfile)");
    assert_eq!(all_rows(&mut story), rows);
    story.is_sound("d");
    story.run("use d alter database d remove file e");
    assert_eq!(all_rows(&mut story), rows);
    story.is_sound("d");
}

/// Sessions work on the tables while their pages move, again and again: each row is there as often as they have left it. A deadlock ends the
/// batch of its victim, whose next one removes what that left.
#[test]
fn sessions_work_on_while_pages_move() {
    let mut story = at_the_end(LogPolicy::native());
    let workers: Vec<_> = (0..3)
        .map(|number| {
            let instance = story.instance.clone();
            std::thread::spawn(move || {
                let mut session = transcript::session(&instance);
                let from = 10_000 + number * 1_000;
                let mut answers = String::new();
                for round in 0..12 {
                    answers += &story::told(
                        &mut session,
                        &format!(
                            "set nocount on use d
                             delete t where id >= {from} and id < {from} + 1000
                             delete h where id >= {from} and id < {from} + 1000
                             insert t select id + {from}, v, f from t where id < 40
                             insert h select id + {from}, v, f from h where id < 40
                             update t set v += {round} where id >= {from} and id < {from} + 1000
                             delete t where id >= {from} and id < {from} + 1000
                             delete h where id >= {from} and id < {from} + 1000"
                        ),
                    );
                }
                answers
            })
        })
        .collect();
    for _ in 0..4 {
        story.answer("use d dbcc shrinkfile (d, 1)");
    }
    for worker in workers {
        let answers = worker.join().unwrap();
        let errors = answers.matches("Msg ").count();
        assert_eq!(errors, answers.matches("Msg 1205").count(), "{answers}");
    }
    story.is_sound("d");
    story.run("delete d.dbo.t where id >= 10000 delete d.dbo.h where id >= 10000");
    story.run("use d dbcc shrinkfile (d, 1)");
    story.is_sound("d");
    assert_eq!(all_rows(&mut story), all_rows(&mut at_the_end(LogPolicy::native())));
    let pages = pages_of(&mut story);
    assert!(pages < 450, "{pages}");
}

/// Cuts the power at every operation of a shrink and what comes behind it.
fn cut_everywhere(begin: impl Fn() -> Story, shrink: &str, pages_max: u64) {
    let sample = workbench::sample("operations of shrinks of data files with a power cut", 11);
    let run = |run: &mut Run<'_>| {
        run.story.answer(shrink);
        run.story.answer("checkpoint");
    };
    let (mut story, cuts) = cuts(sample.one_in, || (begin(), None), run);
    let is_filled = story.rows("select count(*) from d.sys.tables where name = 'deep'") == ["1"];
    let rows_of = |story: &mut Story| match is_filled {
        true => all_rows(story),
        false => story.rows(ROWS),
    };
    let rows = rows_of(&mut begin());
    let count = cuts.len() as u64;
    for cut in cuts {
        let number = cut.number;
        story.start_on(cut.found());
        let what = format!("{shrink}, cut at {number}");
        assert_eq!(rows_of(&mut story), rows, "{what}");
        story.is_sound("d");
        story.run(shrink);
        assert!(pages_of(&mut story) < pages_max, "{what}");
        assert_eq!(rows_of(&mut story), rows, "{what}");
        story.is_sound("d");
    }
    println!("{count} cuts of {shrink}");
    assert!(count >= 1, "{count}");
    sample.count(count);
}

#[test]
fn a_power_cut_in_a_cut_leaves_every_row() {
    for policy in policies() {
        cut_everywhere(|| with_free_end(policy), "use d dbcc shrinkfile (d, truncateonly)", 200);
    }
}

// A test for each policy, so that they run beside each other.

#[test]
fn a_power_cut_while_pages_move_leaves_every_row_by_the_native_policy() {
    cut_everywhere(|| at_the_end(LogPolicy::native()), "use d dbcc shrinkfile (d, 1)", 350);
}

#[test]
fn a_power_cut_while_pages_move_leaves_every_row_by_the_classic_policy() {
    cut_everywhere(|| at_the_end(LogPolicy::classic()), "use d dbcc shrinkfile (d, 1)", 350);
}
