//! Backups to several files: whole, differential and log backups are dealt out to up to 64 files and restored from them in any order; what is
//! refused when files are missing, foreign or given twice, and what a power cut, a full disk and damage in one of the files do.
//!
//! Depth: one operation in 7; deep: every one.
#![allow(clippy::unwrap_used)]

use crate::story::{Story, cut_everywhere, numbers};

use disk::Disk;
use disk::sim::{FaultError, OperationKind, Repetition, SimDisk};
use engine::log::LogPolicy;
use std::path::{Path, PathBuf};

/// The database d with 3 MB of rows, in FULL.
fn with_rows() -> Story {
    let mut story = Story::begin();
    story.run("create database d");
    story.run("alter database d set recovery full");
    story.run("create table d.dbo.t (i int not null primary key, w char(4000) not null)");
    story.run("insert d.dbo.t select value, concat(value, 'w') from generate_series(1, 700)");
    story
}

fn files(names: &[&str]) -> String {
    let devices: Vec<String> = names.iter().map(|name| format!("disk = '{name}'")).collect();
    devices.join(", ")
}

const MOVED: &str = "move 'd' to 'r.mdf', move 'd_log' to 'r.ldf'";

/// How many rows r has, and their sum; it is sound.
fn content_of_r(story: &mut Story) -> String {
    story.is_sound("r");
    story.rows("select count(*), sum(i) from r.dbo.t").concat()
}

fn path_of(name: &str) -> PathBuf {
    Path::new("/instance/data").join(name)
}

fn file_bytes(story: &Story, name: &str) -> u64 {
    story.disk.len(&path_of(name)).unwrap().unwrap()
}

#[test]
fn a_set_is_dealt_out_to_its_files_and_restored_from_them_in_any_order() {
    for options in ["init", "format, compression", "format, checksum, stats = 50"] {
        let mut story = with_rows();
        story.run(&format!(
            "backup database d to {} with {options}",
            files(&["a", "b", "c"])
        ));
        let sizes = ["a", "b", "c"].map(|name| file_bytes(&story, name));
        let least = if options.contains("compression") { 8_192 } else { 50_000 };
        assert!(sizes.iter().all(|size| *size > least), "{options}: {sizes:?}");
        story.run("insert d.dbo.t values (701, 'x')");
        story.run(&format!(
            "backup database d to {} with differential",
            files(&["c", "a", "b"])
        ));
        story.run("insert d.dbo.t values (702, 'x')");
        story.run(&format!("backup log d to {}", files(&["l1", "l2"])));
        for (order, log_order) in [(["a", "b", "c"], ["l1", "l2"]), (["c", "b", "a"], ["l2", "l1"])] {
            let (from, log) = (files(&order), files(&log_order));
            story.run(&format!("restore verifyonly from {from}"));
            if options.contains("checksum") {
                // As the scripts of Ola Hallengren do with @NumberOfFiles and @CheckSum.
                story.run(&format!("restore verifyonly from {from} with file = 1, checksum"));
            }
            story.run(&format!("restore database r from {from} with {MOVED}, replace"));
            assert_eq!(content_of_r(&mut story), "700 245350", "{options}");
            story.run(&format!(
                "restore database r from {from} with {MOVED}, replace, norecovery"
            ));
            story.run(&format!("restore database r from {from} with file = 2, norecovery"));
            story.run(&format!("restore log r from {log}"));
            assert_eq!(content_of_r(&mut story), "702 246753", "{options}");
        }
    }
}

#[test]
fn labels_headers_and_history_say_what_each_file_is() {
    let mut story = with_rows();
    story.run(&format!(
        "backup database d to {} with medianame = 'm', name = 'first'",
        files(&["a", "b"])
    ));
    story.run(&format!("backup log d to {} with name = 'second'", files(&["b", "a"])));
    let label = |story: &mut Story, name: &str| {
        let text = story.answer(&format!("restore labelonly from disk = '{name}'"));
        let row = text.lines().nth(1).unwrap().trim().to_owned();
        row.split(" | ").map(str::to_owned).collect::<Vec<String>>()
    };
    let (one, other) = (label(&mut story, "a"), label(&mut story, "b"));
    // MediaName, MediaSetId, FamilyCount, FamilySequenceNumber, MediaFamilyId.
    assert_eq!(
        (&one[0], &one[2], &one[3]),
        (&"m".to_owned(), &"2".to_owned(), &"1".to_owned())
    );
    assert_eq!((&other[2], &other[3]), (&"2".to_owned(), &"2".to_owned()));
    assert_eq!(one[1], other[1]);
    assert_ne!(one[4], other[4]);
    // One file tells of the sets, and of their files.
    for from in [files(&["b"]), files(&["b", "a"])] {
        let text = story.answer(&format!("restore headeronly from {from}"));
        assert!(
            numbers(&text).is_empty() && text.contains("first") && text.contains("second"),
            "{text}"
        );
        let text = story.answer(&format!("restore filelistonly from {from}"));
        assert!(numbers(&text).is_empty() && text.contains("d_log"), "{text}");
    }
    let families = "select concat(s.media_family_count, ' ', f.family_sequence_number, ' ', right(f.physical_device_name, 1))
        from msdb.dbo.backupmediaset as s join msdb.dbo.backupmediafamily as f on f.media_set_id = s.media_set_id order by f.family_sequence_number";
    assert_eq!(story.rows(families), ["2 1 a", "2 2 b"]);
    let sets = "select concat(name, ' ', position, ' ', first_family_number, ' ', last_family_number) from msdb.dbo.backupset order by backup_set_id";
    assert_eq!(story.rows(sets), ["first 1 1 2", "second 2 1 2"]);
    story.run(&format!("restore database r from {} with {MOVED}", files(&["b", "a"])));
    assert_eq!(story.rows("select device_count from msdb.dbo.restorehistory"), ["2"]);
    assert_eq!(story.rows("select count(*) from msdb.dbo.backupmediafamily"), ["2"]);
}

#[test]
fn files_that_are_missing_foreign_or_given_twice_are_refused() {
    let mut story = with_rows();
    story.run(&format!("backup database d to {}", files(&["a", "b"])));
    story.run(&format!("backup database d to {}", files(&["x", "y"])));
    story.run("backup database d to disk = 'single'");
    for (from, expected) in [
        (&["a"][..], 3132),
        (&["b"], 3132),
        (&["a", "a"], 3227),
        (&["a", "y"], 3258),
        (&["a", "b", "x"], 3231),
        (&["single", "a"], 3231),
        (&["a", "none"], 3201),
    ] {
        for statement in [
            format!("restore verifyonly from {}", files(from)),
            format!("restore database r from {} with {MOVED}", files(from)),
        ] {
            assert_eq!(story.errors(&statement), [expected, 3013], "{statement}");
        }
    }
    let text = story.answer("restore database r from disk = 'a'");
    assert!(
        text.contains("The media set has 2 media families but only 1 are provided. All members must be provided."),
        "{text}"
    );
    let text = story.answer(&format!("restore database r from {}", files(&["b", "a", "b"])));
    assert!(numbers(&text) == [3231, 3013], "{text}");
    // A backup goes to all files of a media set, or makes a new one.
    for (to, options, expected) in [
        (&["a"][..], "noinit", 3132),
        (&["a"], "init", 3132),
        (&["a", "single"], "noinit", 3231),
        (&["a", "x"], "init", 3258),
        (&["a", "new"], "noinit", 3132),
    ] {
        let statement = format!("backup database d to {} with {options}", files(to));
        assert_eq!(story.errors(&statement), [expected, 3013], "{statement}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("disk = 'm{number}'")).collect();
    assert_eq!(
        story.errors(&format!("backup database d to {}", many.join(", "))),
        [3205, 3013]
    );
    assert!(
        !story
            .errors(&format!("backup database d to {}", files(&["twice", "twice"])))
            .is_empty()
    );
    assert_eq!(
        story.errors(&format!(
            "backup database d to {} mirror to {}",
            files(&["p"]),
            files(&["q"])
        )),
        [40517]
    );
    // Nothing of what was refused has changed a file.
    story.run(&format!("restore verifyonly from {}", files(&["b", "a"])));
    story.run(&format!("restore database r from {} with {MOVED}", files(&["y", "x"])));
    story.run("restore verifyonly from disk = 'single'");
    assert_eq!(content_of_r(&mut story), "700 245350");
    // FORMAT takes a file out of its media set.
    story.run("backup database d to disk = 'a' with format");
    story.run("restore verifyonly from disk = 'a'");
    assert_eq!(
        story.errors(&format!("restore verifyonly from {}", files(&["a", "b"]))),
        [3231, 3013]
    );
}

#[test]
fn sixty_four_files_and_the_null_device_take_a_set() {
    let mut story = with_rows();
    let names: Vec<String> = (0..64).map(|number| format!("s{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    story.run(&format!("backup database d to {}", files(&names)));
    let backwards: Vec<&str> = names.iter().rev().copied().collect();
    story.run(&format!("restore database r from {} with {MOVED}", files(&backwards)));
    assert_eq!(content_of_r(&mut story), "700 245350");
    story.run(&format!("backup database d to {}", files(&["NUL", "nul:"])));
    let devices = "select count(*) from msdb.dbo.backupmediafamily where physical_device_name = 'NUL'";
    assert_eq!(story.rows(devices), ["2"]);
}

/// Damage in one of the files is found, and the error log names the file.
#[test]
fn damage_in_one_of_the_files_is_found_and_named() {
    for victim in ["a", "b"] {
        let mut story = with_rows();
        story.run(&format!("backup database d to {}", files(&["a", "b"])));
        let middle = file_bytes(&story, victim) / 2;
        story.disk.flip_bit(&path_of(victim), middle, 3).unwrap();
        let from = files(&["a", "b"]);
        assert_eq!(
            story.errors(&format!("restore verifyonly from {from}")),
            [3189, 3013],
            "{victim}"
        );
        assert!(
            story
                .error_log()
                .iter()
                .any(|line| line.contains(&format!("('{victim}', byte"))),
            "{:?}",
            story.error_log()
        );
        assert_eq!(
            story.errors(&format!("restore database r from {from} with {MOVED}")),
            [3189, 3013]
        );
        assert_eq!(story.rows("select count(*) from sys.databases where name = 'r'"), ["0"]);
        // A file that was cut short.
        story.disk.truncate_behind(&path_of(victim), middle).unwrap();
        assert!(
            !story.errors(&format!("restore verifyonly from {from}")).is_empty(),
            "{victim}"
        );
    }
}

/// Where the disk of one file is full, the backup fails by the name of that file, nothing of it stays, and what was there is whole.
#[test]
fn a_full_disk_under_one_file_leaves_all_files_as_they_were() {
    for (to, options) in [
        (["one", "two"], "noinit"),
        (["one", "two"], "init"),
        (["new1", "new2"], "noinit"),
    ] {
        for kind in [OperationKind::Write, OperationKind::WriteDurable, OperationKind::SetLen] {
            let mut story = with_rows();
            story.run(&format!("backup database d to {}", files(&["one", "two"])));
            let before = ["one", "two"].map(|name| file_bytes(&story, name));
            let full = to[1];
            // Cutting the file back before the set is one change of its length, cutting it to the set's end the next.
            let nth = if kind == OperationKind::SetLen && to[0] == "one" && options == "noinit" {
                2
            } else {
                1
            };
            story
                .disk
                .fail_next(kind, full, nth, FaultError::NoSpace, Repetition::Once);
            let text = story.answer(&format!("backup database d to {} with {options}", files(&to)));
            let case = format!("{to:?} {options} {kind:?}: {text}");
            assert_eq!(numbers(&text), [3202, 3013], "{case}");
            assert!(text.contains(&format!("Write on \"{full}\" failed")), "{case}");
            story.disk.clear_faults();
            assert_eq!(["one", "two"].map(|name| file_bytes(&story, name)), before, "{case}");
            for new in ["new1", "new2"] {
                assert_eq!(story.disk.len(&path_of(new)).unwrap(), None, "{case}");
            }
            story.run(&format!("backup database d to {}", files(&["two", "one"])));
            story.run(&format!(
                "restore verifyonly from {} with file = 1",
                files(&["one", "two"])
            ));
            story.run(&format!(
                "restore database r from {} with file = 2, {MOVED}",
                files(&["one", "two"])
            ));
            assert_eq!(content_of_r(&mut story), "700 245350", "{case}");
        }
    }
}

/// At every cut both files have the set, or no restore finds it; the next backup goes on behind the last whole one.
#[test]
fn a_power_cut_leaves_a_whole_set_or_none() {
    let sample = workbench::sample("operations of backups to two files with a power cut", 7);
    let begin = || {
        let mut story = Story::on(SimDisk::new(9), LogPolicy::native());
        story.run("create database d");
        story.run("create table d.dbo.t (i int not null primary key, w char(4000) not null)");
        story.run("insert d.dbo.t select value, 'w' from generate_series(1, 300)");
        story.run(&format!("backup database d to {}", files(&["a", "b"])));
        story
    };
    let seen = |story: &mut Story| {
        let mut sets = 0;
        for position in 1..=3 {
            let verify = format!("restore verifyonly from {} with file = {position}", files(&["a", "b"]));
            match story.errors(&verify)[..] {
                [] => sets = position,
                [3287, 3013] => {}
                ref other => panic!("{position}: {other:?}"),
            }
        }
        let new = story.errors(&format!("restore verifyonly from {}", files(&["n1", "n2"])));
        vec![sets.to_string(), new.is_empty().to_string()]
    };
    let statements = [
        "backup database d to disk = 'a', disk = 'b'",
        "backup database d to disk = 'n1', disk = 'n2'",
    ];
    cut_everywhere(&statements, sample, begin, seen, |story, cut| {
        story.run(&format!("backup database d to {}", files(&["b", "a"])));
        let last = story.rows("select max(position) from msdb.dbo.backupset").concat();
        let last: u32 = last.parse().unwrap();
        assert!(last >= 2, "{cut}");
        story.run(&format!(
            "restore database r from {} with file = {last}, {MOVED}, replace",
            files(&["a", "b"])
        ));
        assert_eq!(content_of_r(story), "300 45150", "{cut}");
    });
}
