//! Backups of SQL Server one on another: a full one, differential and log backups, WITH NORECOVERY up to WITH RECOVERY. The media are made by the
//! tests' own writer.
//!
//! ```text
//! full: 1 first, 2 second | log 1: + 5 fifth, on day 46,001 | log 2: 1 becomes 100, on day 46,002 | log 3: + 7, never committed
//!                                                    differential: as log 2 leaves it ^
//! ```
//!
//! Depth: 8 power cuts of a chain of three; deep: 240.
#![allow(clippy::unwrap_used)]

use crate::foreign_files::{answer, columns, extents, put, sales, set_of, start};
use crate::genuine_support::database::{Cell, WRITTEN_LSN, record, table_page, utf16};
use crate::genuine_support::media::{MediaWriter, SetWriter, VlfWriter};
use crate::genuine_support::story::{CLUSTERED, LogStory, MODIFY_ROW};

use disk::Disk;
use disk::sim::{CutPolicy, SimDisk};
use engine::instance::Instance;
use std::sync::Arc;
use vlf::Lsn;

const FAMILY: u8 = 0x77;
const MOVES: &str = "move 'data' to 'c:\\new\\d.mdf', move 'log' to 'c:\\new\\d.ldf'";

fn row(id: i64, name: &str, rank: i64) -> Vec<u8> {
    record(
        &columns(),
        &[Cell::Number(id), Cell::Bytes(utf16(name)), Cell::Number(rank)],
    )
}

/// The log, and where its parts begin and end.
fn story() -> (LogStory, Vec<(usize, Lsn)>) {
    let page = table_page(0);
    let mut story = LogStory::default();
    let mut places = vec![story.place()];
    story
        .begin(5)
        .insert(CLUSTERED, 5, (page, 2), &row(5, "fifth", 50))
        .commit_on(5, 46_001);
    places.push(story.place());
    story
        .begin(6)
        .replace((MODIFY_ROW, CLUSTERED), 6, (page, 0), (4, &[1], &[100]))
        .commit_on(6, 46_002);
    places.push(story.place());
    story.begin(7).insert(CLUSTERED, 7, (page, 3), &row(7, "seventh", 70));
    places.push(story.place());
    (story, places)
}

fn full() -> SetWriter {
    let file = sales().file();
    let (_, places) = story();
    SetWriter {
        family: FAMILY,
        guid: 0xF0,
        checkpoint_lsn: WRITTEN_LSN,
        first_lsn: places[0].1,
        last_lsn: places[0].1,
        ..set_of(extents(&file), file.len())
    }
}

/// Log `number`, from 1.
fn log(number: usize) -> SetWriter {
    let (story, places) = story();
    let (from, to) = (places[number - 1], places[number]);
    let (sequence, log) = story.log(from.0, to.0);
    SetWriter {
        letter: b'L',
        guid: number as u8,
        data: Vec::new(),
        first_lsn: from.1,
        last_lsn: to.1,
        base_lsn: WRITTEN_LSN,
        vlfs: vec![VlfWriter {
            sequence,
            start: 8192,
            bytes: 262_144,
            format: 5,
            from: 16_384 + from.0 as u64,
            log,
        }],
        log_file_bytes: 270_336,
        ..full()
    }
}

/// The extent of the table as log 2 leaves it.
fn differential() -> SetWriter {
    let (_, places) = story();
    let mut changed = sales();
    changed.tables[0].records[0][4] = 100;
    changed.tables[0].records.push(row(5, "fifth", 50));
    let mut extent = extents(&changed.file())
        .into_iter()
        .find(|extent| extent[32..36] == table_page(0).to_le_bytes())
        .unwrap();
    // Without a checksum, and as new as the last record of log 2 that changes it.
    let newest = Lsn::new(places[1].1.vlf, places[1].1.block + 1, 1);
    extent[5] = 0;
    extent[40..50].copy_from_slice(&newest.to_bytes());
    SetWriter {
        kind: 8,
        guid: 0xD1,
        data: vec![vec![extent]],
        base_lsn: WRITTEN_LSN,
        first_lsn: places[1].1,
        last_lsn: places[2].1,
        vlfs: log(2).vlfs,
        log_file_bytes: 270_336,
        ..full()
    }
}

fn write(disk: &SimDisk, instance: &Instance, name: &str, sets: &[SetWriter]) {
    let mut media = MediaWriter::new(1, 1);
    for (number, set) in (1..).zip(sets) {
        media.set(number, set);
    }
    // Each file is a media set of its own.
    let guid = media.bytes.windows(4).position(|four| four == b"RAID").unwrap() + 22;
    let of_name = name.bytes().fold(0, u8::wrapping_add);
    media.bytes[guid..guid + 16].fill(of_name);
    let name = format!("c:\\foreign\\{name}");
    let path = instance.resolve(&name).unwrap();
    if disk.len(&path).unwrap().is_some() {
        disk.delete(&path).unwrap();
    }
    put(disk, instance, &name, &media.bytes);
}

fn prepared() -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    write(&disk, &instance, "full.bak", &[full()]);
    write(&disk, &instance, "diff.bak", &[differential()]);
    write(&disk, &instance, "logs.trn", &[log(1), log(2), log(3)]);
    (disk, instance)
}

fn restore_full(instance: &Arc<Instance>, options: &str) -> String {
    answer(
        instance,
        &format!("restore database sales from disk = 'c:\\foreign\\full.bak' with {MOVES}, {options}"),
    )
}

fn restore_log(instance: &Arc<Instance>, number: usize, options: &str) -> String {
    answer(
        instance,
        &format!("restore log sales from disk = 'c:\\foreign\\logs.trn' with file = {number}, {options}"),
    )
}

fn restore_differential(instance: &Arc<Instance>, options: &str) -> String {
    answer(
        instance,
        &format!("restore database sales from disk = 'c:\\foreign\\diff.bak' with {options}"),
    )
}

fn done(said: &str) {
    assert!(
        said.contains("successfully processed") && !said.contains("Level 16"),
        "{said}"
    );
}

fn refused(said: &str, number: u32) {
    assert!(said.contains(&format!("Msg {number}, Level 16")), "{number}: {said}");
    assert!(said.contains("Msg 3013"), "{said}");
}

fn state(instance: &Arc<Instance>) -> String {
    let said = answer(instance, "select state_desc from sys.databases where name = 'sales'");
    let found = ["RESTORING", "ONLINE"].into_iter().find(|state| said.contains(state));
    found.unwrap_or("absent").to_owned()
}

/// What the table has; the database must be online and sound.
fn rows(instance: &Arc<Instance>) -> Vec<String> {
    let said = answer(
        instance,
        "set nocount on dbcc checkdb (sales) with no_infomsgs select concat(id, ' ', name, ' ', rank) from sales.dbo.Orders order by id",
    );
    assert!(!said.contains("Msg"), "{said}");
    let lines = said.lines().map(str::trim);
    lines
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

const AFTER_FULL: [&str; 2] = ["1 first 7", "2 second 3"];
const AFTER_LOG_1: [&str; 3] = ["1 first 7", "2 second 3", "5 fifth 50"];
const AFTER_LOG_2: [&str; 3] = ["2 second 3", "5 fifth 50", "100 first 7"];

#[test]
fn log_backups_are_done_on_a_full_one_and_what_never_ended_is_taken_back() {
    let (_, instance) = prepared();
    done(&restore_full(&instance, "norecovery, stats = 50"));
    assert_eq!(state(&instance), "RESTORING");
    let said = answer(&instance, "select * from sales.dbo.Orders");
    assert!(said.contains("Msg 927"), "{said}");
    for number in [1, 2] {
        let said = restore_log(&instance, number, "norecovery, stats = 50");
        done(&said);
        assert!(said.contains("100 percent processed"), "{said}");
    }
    done(&restore_log(&instance, 3, "recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
    let lines = instance.env.errorlog.lines();
    let undone = "1 transactions without an end were rolled back";
    assert!(lines.iter().any(|line| line.text.contains(undone)), "{lines:#?}");
}

#[test]
fn a_differential_backup_is_laid_over_a_full_one_and_log_goes_on_from_it() {
    let (_, instance) = prepared();
    done(&restore_full(&instance, "norecovery"));
    done(&restore_differential(&instance, "recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
    // Log that is older than the differential one is not asked for; what is newer goes on from it.
    done(&restore_full(&instance, "norecovery, replace"));
    done(&restore_log(&instance, 1, "norecovery"));
    done(&restore_differential(&instance, "norecovery"));
    refused(&restore_log(&instance, 1, "norecovery"), 4326);
    done(&restore_log(&instance, 3, "norecovery"));
    done(&answer(&instance, "restore database sales with recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
}

#[test]
fn a_set_that_does_not_follow_is_refused_and_changes_nothing() {
    let (disk, instance) = prepared();
    let other_base = SetWriter {
        base_lsn: Lsn::new(29, 16, 1),
        ..differential()
    };
    let other_family = SetWriter { family: 0x66, ..log(1) };
    let sets = [other_base, other_family, full()];
    write(&disk, &instance, "others.bak", &sets);
    let other = |kind: &str, number: usize| {
        let text =
            format!("restore {kind} sales from disk = 'c:\\foreign\\others.bak' with norecovery, file = {number}");
        answer(&instance, &text)
    };
    refused(&restore_log(&instance, 1, "norecovery"), 3118);
    refused(&restore_differential(&instance, "recovery"), 3118);
    done(&restore_full(&instance, "norecovery"));
    refused(&restore_log(&instance, 2, "recovery"), 4305);
    refused(&other("database", 1), 3136);
    refused(&other("log", 2), 3154);
    refused(
        &restore_full(&instance, "norecovery, move 'none' to 'c:\\new\\n.mdf'"),
        3234,
    );
    done(&restore_log(&instance, 1, "norecovery"));
    done(&restore_log(&instance, 2, "norecovery"));
    refused(&restore_log(&instance, 1, "norecovery"), 4326);
    for option in ["standby = 'c:\\new\\undo.bak'", "checksum"] {
        let said = restore_log(&instance, 3, option);
        assert!(said.contains("Msg 40517"), "{said}");
    }
    for option in ["stopatmark = 'mark'", "stopbeforemark = 'mark'"] {
        let said = restore_log(&instance, 3, option);
        assert!(said.contains("Msg 40517"), "{said}");
    }
    done(&answer(&instance, "restore database sales with recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
    refused(&restore_log(&instance, 3, "recovery"), 3117);
    refused(&answer(&instance, "restore database sales with recovery"), 3117);
}

/// The lines of an answer that have columns between bars.
fn barred(instance: &Arc<Instance>, select: &str) -> Vec<String> {
    let said = answer(instance, &format!("set nocount on {select}"));
    assert!(!said.contains("Msg"), "{said}");
    let lines = said.lines().map(str::trim);
    lines
        .filter(|line| line.contains('|') && !line.starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// "When was this database restored, from which file?": msdb had no row of it.
#[test]
fn each_set_that_is_restored_is_in_the_history_with_its_media_and_files() {
    let (_, instance) = prepared();
    done(&restore_full(&instance, "norecovery, replace"));
    refused(&restore_log(&instance, 2, "norecovery"), 4305);
    done(&restore_log(&instance, 1, "norecovery"));
    done(&restore_differential(&instance, "norecovery"));
    done(&restore_log(&instance, 3, "recovery"));
    let history = "select concat(h.restore_history_id, '|', destination_database_name, '|', restore_type, '|', [replace], [recovery], restart,
        '|', device_count, '|', isnull(convert(varchar(20), stop_at), 'to its end'), '|', s.type, '|', position, '|', database_name, '|', database_version,
        '|', right(physical_device_name, 8), '|', datediff(second, restore_date, getdate()) / 60)
        from msdb.dbo.restorehistory h join msdb.dbo.backupset s on s.backup_set_id = h.backup_set_id
        join msdb.dbo.backupmediafamily f on f.media_set_id = s.media_set_id order by 1";
    assert_eq!(
        barred(&instance, history),
        [
            "1|sales|D|100|1|to its end|D|1|Sales|904|full.bak|0",
            "2|sales|L|000|1|to its end|L|1|Sales|904|logs.trn|0",
            "3|sales|I|000|1|to its end|I|1|Sales|904|diff.bak|0",
            "4|sales|L|010|1|to its end|L|3|Sales|904|logs.trn|0",
        ]
    );
    let files =
        "select concat(restore_history_id, '|', file_number, '|', destination_phys_drive, '|', destination_phys_name)
        from msdb.dbo.restorefile where restore_history_id <> 2 order by 1";
    assert_eq!(
        barred(&instance, files),
        [
            "1|1|C:|c:\\new\\d.mdf",
            "1|2|C:|c:\\new\\d.ldf",
            "3|1|C:|c:\\new\\d.mdf",
            "3|2|C:|c:\\new\\d.ldf",
            "4|1|C:|c:\\new\\d.mdf",
            "4|2|C:|c:\\new\\d.ldf",
        ]
    );
    let parts = "select concat((select count(*) from msdb.dbo.restorefilegroup where filegroup_name = 'PRIMARY'), '|',
        (select count(*) from msdb.dbo.backupfilegroup where type = 'FG'), '|', (select count(*) from msdb.dbo.backupfile), '|',
        (select count(*) from msdb.dbo.backupset where first_lsn <= last_lsn and family_guid is not null))";
    assert_eq!(barred(&instance, parts), ["4|4|8|4"]);
    // A set that is restored again is the one that is known; what is deleted, is deleted with all that belongs to it.
    done(&restore_full(&instance, "norecovery, replace"));
    done(&answer(&instance, "restore database sales with recovery"));
    let count =
        "select concat((select count(*) from msdb.dbo.restorehistory), '|', (select count(*) from msdb.dbo.backupset))";
    assert_eq!(barred(&instance, count), ["5|4"]);
    answer(&instance, "exec msdb.dbo.sp_delete_database_backuphistory 'Sales'");
    let left = [
        "restorehistory",
        "restorefile",
        "restorefilegroup",
        "backupset",
        "backupfile",
        "backupfilegroup",
        "backupmediafamily",
    ];
    for table in left {
        let count = format!("select concat('|', count(*)) from msdb.dbo.{table}");
        assert_eq!(barred(&instance, &count), ["|0"], "{table}");
    }
}

/// What a set calls its family was taken from the fork: a database that was restored once had backups of two families, and a chain over that restore was
/// refused by 3154.
#[test]
fn a_chain_goes_over_a_fork_and_takes_no_log_of_the_path_that_was_left() {
    let (disk, instance) = prepared();
    let (fork, other) = (0xB0, 0xC0);
    let (begin, end) = (log(1).first_lsn, log(1).last_lsn);
    let on = |set: SetWriter, fork: u8, point: Lsn| SetWriter {
        fork: Some((fork, point)),
        ..set
    };
    let sets = [
        on(log(2), fork, end),
        on(log(2), other, begin),
        on(log(3), fork, end),
        log(3),
        on(differential(), other, begin),
    ];
    write(&disk, &instance, "forks.bak", &sets);
    let from = |kind: &str, number: usize, option: &str| {
        let text = format!("restore {kind} sales from disk = 'c:\\foreign\\forks.bak' with {option}, file = {number}");
        answer(&instance, &text)
    };
    done(&restore_full(&instance, "norecovery"));
    done(&restore_log(&instance, 1, "norecovery"));
    // The other fork began before log 1, which is on the first path to its end.
    refused(&from("log", 2, "norecovery"), 4330);
    refused(&from("database", 5, "norecovery"), 4330);
    done(&from("log", 1, "norecovery"));
    // The fork is kept over a restart of the statement: log of the path that was left does not follow.
    refused(&from("log", 4, "norecovery"), 4330);
    done(&from("log", 3, "recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
    let header = answer(&instance, "restore headeronly from disk = 'c:\\foreign\\forks.bak'");
    for guid in [FAMILY, fork, other] {
        let text = format!(
            "{0}-{1}-{1}-{1}-{0}{1}",
            format!("{guid:02X}").repeat(4),
            format!("{guid:02X}").repeat(2)
        );
        assert!(header.contains(&text), "{text} in {header}");
    }
}

#[test]
fn stopat_stops_at_the_first_transaction_that_was_committed_later() {
    let (_, instance) = prepared();
    let at = |day: u32, statement: &str| {
        let text =
            format!("declare @at datetime = dateadd(hour, 12, dateadd(day, {day}, 0)); {statement}, stopat = @at");
        answer(&instance, &text)
    };
    let log = |number: usize| format!("restore log sales from disk = 'c:\\foreign\\logs.trn' with file = {number}");
    let full = format!("restore database sales from disk = 'c:\\foreign\\full.bak' with {MOVES}");
    refused(&at(40_000, &full), 4338);
    // A full set has no later transaction: the database waits for log.
    let said = at(46_001, &full);
    done(&said);
    assert!(said.contains("is being left in the restoring state"), "{said}");
    let said = at(46_001, &log(1));
    done(&said);
    assert!(said.contains("is being left in the restoring state"), "{said}");
    refused(&at(46_000, &log(2)), 4335);
    // Transaction 6 was committed half a day later, and is taken back.
    done(&at(46_001, &log(2)));
    assert_eq!(rows(&instance), AFTER_LOG_1);
    // The same log once more, with a later end.
    done(&restore_full(&instance, "norecovery, replace"));
    done(&restore_log(&instance, 1, "norecovery"));
    done(&at(46_001, &format!("{}, norecovery", log(2))));
    refused(&at(46_000, &log(2)), 4335);
    refused(&restore_log(&instance, 3, "recovery"), 4305);
    done(&restore_log(&instance, 2, "norecovery"));
    refused(&at(46_001, &log(3)), 4335);
    done(&answer(&instance, "restore database sales with recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_2);
}

/// What is known of neither is refused: pages in a log backup, and a backup of some of the files.
#[test]
fn backups_of_minimally_logged_work_and_of_files_are_refused() {
    let (disk, instance) = prepared();
    let bulk_logged = SetWriter {
        data: differential().data,
        ..log(1)
    };
    let of_files = SetWriter { letter: b'F', ..full() };
    write(&disk, &instance, "others.bak", &[bulk_logged, of_files]);
    done(&restore_full(&instance, "norecovery"));
    for (kind, number, what) in [
        ("log", 1, "pages of minimally logged work"),
        ("database", 2, "kind 0x46"),
    ] {
        let text = format!("restore {kind} sales from disk = 'c:\\foreign\\others.bak' with file = {number}");
        let said = answer(&instance, &text);
        refused(&said, 40517);
        assert!(said.contains(what), "{said}");
    }
    assert_eq!(state(&instance), "RESTORING");
}

/// Backups of this server and of SQL Server are never mixed.
#[test]
fn sets_of_ours_are_not_restored_on_those_of_another_server() {
    let (_, instance) = prepared();
    let made = answer(
        &instance,
        "create database own alter database own set recovery full
         backup database own to disk = 'c:\\own\\own.bak' backup log own to disk = 'c:\\own\\own.trn'",
    );
    assert!(!made.contains("Level 16"), "{made}");
    let own = |text: &str| answer(&instance, text);
    let own_full = "restore database sales from disk = 'c:\\own\\own.bak' with norecovery, replace,
        move 'own' to 'c:\\new\\o.mdf', move 'own_log' to 'c:\\new\\o.ldf'";
    done(&restore_full(&instance, "norecovery"));
    refused(
        &own("restore log sales from disk = 'c:\\own\\own.trn' with norecovery"),
        3154,
    );
    refused(
        &own("restore database sales from disk = 'c:\\own\\own.bak' with norecovery"),
        3154,
    );
    done(&own(own_full));
    refused(&restore_log(&instance, 1, "norecovery"), 3154);
    done(&own("restore log sales from disk = 'c:\\own\\own.trn' with recovery"));
    assert_eq!(state(&instance), "ONLINE");
    // And the other way round: one that waits for log of ours is replaced as a whole.
    done(&own(own_full));
    refused(&restore_full(&instance, "norecovery"), 3154);
    done(&restore_full(&instance, "norecovery, replace"));
    done(&restore_log(&instance, 1, "recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_1);
}

/// The entry in master is all there is of such a database: a restart finds it, DROP DATABASE removes it, and what is read at its recovery has to be
/// what was restored.
#[test]
fn a_database_that_waits_survives_restarts_and_can_be_dropped_and_replaced() {
    let (disk, instance) = prepared();
    done(&restore_full(&instance, "norecovery"));
    done(&restore_log(&instance, 1, "norecovery"));
    instance.shutdown(false).unwrap();
    drop(instance);
    let instance = start(&disk);
    assert_eq!(state(&instance), "RESTORING");
    let said = answer(&instance, "backup database sales to disk = 'c:\\new\\s.bak'");
    assert!(said.contains("Msg 927"), "{said}");
    let said = answer(&instance, "alter database sales set offline");
    assert!(said.contains("Msg 5052"), "{said}");
    // Other files by the same names, and none.
    write(&disk, &instance, "logs.trn", &[log(2), log(1), log(3)]);
    refused(&answer(&instance, "restore database sales with recovery"), 3203);
    assert_eq!(state(&instance), "RESTORING");
    write(&disk, &instance, "logs.trn", &[log(1), log(2), log(3)]);
    done(&restore_log(&instance, 2, "norecovery"));
    // From its beginning again, which needs no REPLACE.
    done(&restore_full(&instance, "norecovery"));
    done(&restore_log(&instance, 1, "recovery"));
    assert_eq!(rows(&instance), AFTER_LOG_1);
    // An online database is another one.
    refused(&restore_full(&instance, "norecovery"), 3154);
    done(&restore_full(&instance, "norecovery, replace"));
    assert_eq!(state(&instance), "RESTORING");
    let said = answer(&instance, "drop database sales");
    assert!(!said.contains("Msg"), "{said}");
    assert_eq!(state(&instance), "absent");
    done(&restore_full(&instance, "recovery"));
    assert_eq!(rows(&instance), AFTER_FULL);
}

/// Wherever the power is cut, the database is as one of the statements has left it.
#[test]
fn a_power_cut_leaves_a_database_that_waits_as_a_statement_has_left_it() {
    let (prepared, instance) = prepared();
    drop(instance);
    let depth = workbench::depth("power cuts of a chain", 8, 240);
    let steps = |instance: &Arc<Instance>| {
        done(&restore_full(instance, "norecovery"));
        done(&restore_log(instance, 1, "norecovery"));
        done(&restore_log(instance, 2, "recovery"));
    };
    let log = "restore log sales from disk = 'c:\\foreign\\logs.trn' with file";
    let all = format!(
        "restore database sales from disk = 'c:\\foreign\\full.bak' with {MOVES}, norecovery {log} = 1, norecovery {log} = 2"
    );
    let whole = prepared.snapshot();
    let instance = start(&whole);
    let before = whole.operation_count();
    done(&answer(&instance, &all));
    let after = whole.operation_count();
    drop(instance);
    let step = ((after - before) / depth.units).max(1);
    let mut found = std::collections::BTreeMap::new();
    for cut in (before + 1..=after).step_by(step as usize) {
        let disk = prepared.snapshot();
        let instance = start(&disk);
        disk.power_cut_at(cut);
        answer(&instance, &all);
        std::mem::forget(instance);
        let policy = [CutPolicy::AllLost, CutPolicy::AllKept, CutPolicy::RandomSectors][cut as usize % 3];
        let disk = disk.after_power_cut(policy, cut);
        let instance = start(&disk);
        let state = state(&instance);
        match state.as_str() {
            "absent" => steps(&instance),
            "RESTORING" => {
                // Log 1 is there, or it can be restored.
                let said = restore_log(&instance, 1, "norecovery");
                assert!(
                    said.contains("Msg 4326") || said.contains("successfully"),
                    "cut at {cut}: {said}"
                );
                done(&restore_log(&instance, 2, "recovery"));
            }
            _ => {}
        }
        assert_eq!(rows(&instance), AFTER_LOG_2, "cut at {cut}");
        *found.entry(state).or_insert(0) += 1;
    }
    assert!(found.contains_key("RESTORING"), "{found:?}");
    depth.count();
}

/// A log backup whose last blocks were damaged, or that was cut off before them, was restored as if what they have had never been committed.
#[test]
fn a_log_backup_that_lacks_log_is_refused() {
    let (disk, instance) = prepared();
    let whole = log(2);
    let end = whole.vlfs[0].log.len();
    let damages: [fn(&mut Vec<u8>, usize); 3] = [
        |log, end| log[end - 512..].fill(0),
        // The parity of the last sector.
        |log, end| log[end - 512] ^= 0x40,
        |log, end| log.truncate(end - 512),
    ];
    for damage in damages {
        let mut damaged = whole.clone();
        damage(&mut damaged.vlfs[0].log, end);
        write(&disk, &instance, "logs.trn", &[log(1), damaged, log(3)]);
        done(&restore_full(&instance, "norecovery, replace"));
        done(&restore_log(&instance, 1, "norecovery"));
        refused(&restore_log(&instance, 2, "norecovery"), 3203);
        refused(&restore_log(&instance, 2, "recovery"), 3203);
        let verified = answer(
            &instance,
            "restore verifyonly from disk = 'c:\\foreign\\logs.trn' with file = 2",
        );
        refused(&verified, 3203);
    }
}

/// The log of a full backup need not have a commit; that the database was as it is at the backup's end is certain.
#[test]
fn a_stop_before_the_full_backup_was_made_has_passed() {
    let (_disk, instance) = prepared();
    done(&restore_full(&instance, "norecovery"));
    refused(&restore_log(&instance, 1, "recovery, stopat = '1999-01-01'"), 4335);
}

/// Without FROM there is no backup that options could be about. NORECOVERY leaves the database waiting.
#[test]
fn without_a_backup_a_database_is_recovered_or_waits() {
    let (_disk, instance) = prepared();
    done(&restore_full(&instance, "norecovery"));
    assert!(!answer(&instance, "restore database sales with norecovery").contains("Level 16"));
    done(&restore_log(&instance, 1, "norecovery"));
    for option in [
        "stopat = '2001-01-01'",
        "file = 2",
        "replace",
        "checksum",
        "move 'Sales' to 'c:\\x'",
    ] {
        let said = answer(&instance, &format!("restore log sales with recovery, {option}"));
        assert!(said.contains("Msg 40517"), "{option}: {said}");
    }
    done(&restore_log(&instance, 2, "recovery"));
    let own = "create database own backup database own to disk = 'own.bak' \
        restore database own from disk = 'own.bak' with norecovery, replace";
    answer(&instance, own);
    assert!(!answer(&instance, "restore database own with norecovery").contains("Level 16"));
    let state = "select state_desc from sys.databases where name = 'own'";
    assert!(answer(&instance, state).contains("RESTORING"));
    answer(&instance, "restore database own with recovery");
    assert!(answer(&instance, state).contains("ONLINE"));
}

/// A session that uses a database had it replaced under its feet.
#[test]
fn a_database_that_the_session_itself_uses_is_not_replaced() {
    let (_disk, instance) = prepared();
    let said = answer(
        &instance,
        &format!(
            "create database sales; exec ('use sales restore database sales from disk = ''c:\\foreign\\full.bak'' with {}, replace')",
            MOVES.replace('\'', "''")
        ),
    );
    refused(&said, 3102);
}

/// An import took a base away from its snapshots, and what got its id next was shown by them.
#[test]
fn a_base_is_not_replaced_while_it_has_a_snapshot() {
    let (_disk, instance) = prepared();
    answer(&instance, "create database sales");
    let made = answer(
        &instance,
        "create database seen on (name = sales, filename = 'c:\\sales.ss') as snapshot of sales",
    );
    assert!(!made.contains("Level 16"), "{made}");
    refused(&restore_full(&instance, "replace"), 5094);
    answer(&instance, "drop database seen");
    done(&restore_full(&instance, "replace"));
}
