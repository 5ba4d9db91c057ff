//! Import of SQL Server's files: the result, and the state after a power cut in the middle. The files come from the tests' own writer.
//!
//! Depth: 16 power cuts of each import; deep: 400.
#![allow(clippy::unwrap_used)]

use crate::genuine_support::database::{
    Cell, Column, Database, INT, NVARCHAR, Table, VARCHAR, differential_map, record, table_page, utf16,
};
use crate::genuine_support::media::{MediaWriter, SetWriter};
use crate::genuine_support::story::{CLUSTERED, LogStory, MODIFY_ROW};
use crate::transcript::{Transcript, session};

use disk::sim::{CutPolicy, SimDisk};
use disk::{Access, Disk};
use engine::errorlog::{ErrorLog, ErrorLogLine};
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::ServerVersion;

pub fn start(disk: &SimDisk) -> Arc<Instance> {
    let clock = Arc::new(ManualClock::starting_at(1_338_508_800_000_000));
    let env = Environment {
        disk: Arc::new(disk.clone()),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        errorlog: Arc::new(ErrorLog::new(clock)),
        activity: Arc::default(),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 16 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

/// Puts a file where a statement finds it.
pub fn put(disk: &SimDisk, instance: &Instance, name: &str, bytes: &[u8]) {
    let path = instance.resolve(name).unwrap();
    disk.create_directories(path.parent().unwrap()).unwrap();
    let file = disk.create(&path, Access::Buffered).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
}

/// What a batch answers in a session of its own.
pub fn answer(instance: &Arc<Instance>, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session(instance).execute(batch, &mut transcript);
    transcript.text
}

/// `sql_variant` of an int.
fn variant(value: i32) -> Cell {
    let mut bytes = vec![INT, 1];
    bytes.extend(value.to_le_bytes());
    Cell::Bytes(bytes)
}

pub fn columns() -> Vec<Column> {
    vec![
        Column::new("id", INT, 4).not_null(),
        Column::new("name", NVARCHAR, 40),
        Column::new("rank", INT, 4).added(variant(7), Cell::Null),
    ]
}

pub fn sales() -> Database {
    let name = |name: &str| Cell::Bytes(utf16(name));
    let orders = Table::new("Orders", columns())
        .row(&[Cell::Number(1), name("first")])
        .row(&[Cell::Number(2), name("second"), Cell::Number(3)]);
    Database::new("Sales", vec![orders])
}

const ATTACH: &str = "create database sales on (filename = 'c:\\foreign\\sales.mdf') for attach";

fn rows(instance: &Arc<Instance>) -> String {
    answer(
        instance,
        "set nocount on select id, name, rank from sales.dbo.Orders order by id",
    )
}

#[test]
fn an_attached_file_has_the_values_that_its_older_rows_never_had() {
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    put(&disk, &instance, "c:\\foreign\\sales.mdf", &sales().file());
    let said = answer(&instance, ATTACH);
    assert!(!said.contains("Msg"), "{said}");
    let found = rows(&instance);
    assert!(
        found.contains("1 | first | 7") && found.contains("2 | second | 3"),
        "{found}"
    );
}

/// Wherever the power is cut there is no database behind it, or all of it. What was begun is removed by the start, which says so.
#[test]
fn a_power_cut_during_an_import_leaves_nothing_or_all_of_it() {
    let prepared = SimDisk::new(3);
    let instance = start(&prepared);
    put(&prepared, &instance, "c:\\foreign\\sales.mdf", &sales().file());
    drop(instance);
    let depth = workbench::depth("power cuts of an import", 16, 400);
    let whole = prepared.snapshot();
    let instance = start(&whole);
    let before = whole.operation_count();
    answer(&instance, ATTACH);
    let after = whole.operation_count();
    drop(instance);
    let (mut absent, mut removed) = (0, 0);
    let step = ((after - before) / depth.units).max(1);
    for cut in (before + 1..=after).step_by(step as usize) {
        let disk = prepared.snapshot();
        let instance = start(&disk);
        disk.power_cut_at(cut);
        let acknowledged = !answer(&instance, ATTACH).contains("Msg");
        std::mem::forget(instance);
        let policy = [CutPolicy::AllLost, CutPolicy::AllKept, CutPolicy::RandomSectors][cut as usize % 3];
        let disk = disk.after_power_cut(policy, cut);
        let instance = start(&disk);
        let names: Vec<String> = instance.slots().iter().map(|slot| slot.entry().name).collect();
        let is_there = names.iter().any(|name| name == "sales");
        assert_eq!(names.len(), 4 + usize::from(is_there), "cut at {cut}: {names:?}");
        assert!(is_there || !acknowledged, "cut at {cut}: acknowledged, and not there");
        absent += u64::from(!is_there);
        let says_removed = |line: &ErrorLogLine| {
            line.text
                .contains("Creation of database 'sales (import)' was not finished")
        };
        removed += u64::from(instance.env.errorlog.lines().iter().any(says_removed));
        if !is_there {
            let said = answer(&instance, ATTACH);
            assert!(!said.contains("Msg"), "cut at {cut}: {said}");
        }
        assert!(rows(&instance).contains("2 | second | 3"), "cut at {cut}");
    }
    assert!(
        absent > 5 && removed > 0,
        "{absent} times absent, {removed} times removed"
    );
    depth.count();
}

/// The server was killed: transaction 5 was committed and not written, 6 was written and never committed.
#[test]
fn files_that_were_not_shut_down_are_recovered_by_their_log() {
    let page = table_page(0);
    let row = record(
        &columns(),
        &[Cell::Number(5), Cell::Bytes(utf16("fifth")), Cell::Number(50)],
    );
    let mut story = LogStory::default();
    story
        .begin(5)
        .insert(CLUSTERED, 5, (page, 2), &row)
        .commit(5)
        .begin(6)
        .replace((MODIFY_ROW, CLUSTERED), 6, (page, 0), (4, &[1], &[100]));
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    put(&disk, &instance, "c:\\foreign\\sales.mdf", &sales().file());
    put(&disk, &instance, "c:\\foreign\\sales.ldf", &story.file());
    let said = answer(
        &instance,
        "create database sales on (filename = 'c:\\foreign\\sales.mdf'), (filename = 'c:\\foreign\\sales.ldf') for attach",
    );
    assert!(!said.contains("Msg"), "{said}");
    let found = rows(&instance);
    let lines: Vec<&str> = found
        .lines()
        .filter(|line| line.contains(" | ") && !line.contains('['))
        .collect();
    assert_eq!(lines, ["  1 | first | 7", "  2 | second | 3", "  5 | fifth | 50"]);
    let log = instance.env.errorlog.lines();
    for part in [
        "2 records of the log were done on 1 pages, and 1 transactions without an end were rolled back",
        "table [dbo].[Orders]: 3 rows; [id] 8; [name] 16 characters; [rank] 60",
    ] {
        assert!(log.iter().any(|line| line.text.contains(part)), "{part}: {log:#?}");
    }
}

/// The extents of a database, as a backup has them.
pub fn extents(file: &[u8]) -> Vec<Vec<u8>> {
    let extents = file.chunks(65_536).map(<[u8]>::to_vec);
    extents.filter(|extent| extent.iter().any(|byte| *byte != 0)).collect()
}

pub fn set_of(extents: Vec<Vec<u8>>, file_bytes: usize) -> SetWriter {
    SetWriter {
        kind: 4,
        name: "full".to_owned(),
        database: "Sales".to_owned(),
        database_version: 904,
        file_bytes: file_bytes as u64,
        data: vec![extents],
        ..SetWriter::default()
    }
}

/// A backup in two files is one only with both of them.
#[test]
fn a_backup_in_several_files_is_verified_and_restored_with_all_of_them() {
    let file = sales().file();
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    let all = extents(&file);
    for family in [1u16, 2] {
        let own = all.iter().skip(usize::from(family) - 1).step_by(2).cloned().collect();
        let mut media = MediaWriter::new(family, 2);
        media.set(1, &set_of(own, file.len()));
        put(&disk, &instance, &format!("c:\\foreign\\{family}.bak"), &media.bytes);
    }
    let one = "disk = 'c:\\foreign\\1.bak'";
    let both = format!("{one}, disk = 'c:\\foreign\\2.bak'");
    let moves = "move 'data' to 'c:\\new\\d.mdf', move 'log' to 'c:\\new\\d.ldf'";
    let missing = "Msg 3132, Level 16, State 1, Line 1: The media set has 2 media families but only 1 are provided.";
    let said = answer(&instance, &format!("restore database sales from {one} with {moves}"));
    assert!(said.contains(missing) && said.contains("Msg 3013"), "{said}");
    let said = answer(&instance, &format!("restore verifyonly from {one}"));
    assert!(
        said.contains(missing) && said.contains("VERIFY DATABASE is terminating abnormally"),
        "{said}"
    );
    let said = answer(&instance, &format!("restore verifyonly from {both} with stats = 50"));
    assert!(
        said.contains("50 percent processed") && said.contains("The backup set on file 1 is valid."),
        "{said}"
    );
    let said = answer(&instance, &format!("restore labelonly from {one}"));
    assert!(
        said.contains(" | 2 | 1 | NULL | 1 | 0 | NULL | a test | 4608 | "),
        "{said}"
    );
    let said = answer(&instance, &format!("restore database sales from {both} with {moves}"));
    assert!(
        said.contains("RESTORE DATABASE successfully processed") && !said.contains("Level 16"),
        "{said}"
    );
    assert!(rows(&instance).contains("2 | second | 3"));
}

#[test]
fn a_damaged_page_is_found_by_verifyonly_if_a_table_has_it() {
    let file = sales().file();
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    for (name, page) in [("table", table_page(0)), ("nobodys", table_page(0) + 3)] {
        let mut damaged = file.clone();
        let at = page as usize * 8192;
        // A page that says of itself that it is another one.
        damaged[at] = 1;
        damaged[at + 1] = 1;
        damaged[at + 32] ^= 1;
        let mut media = MediaWriter::new(1, 1);
        media.set(1, &set_of(extents(&damaged), file.len()));
        put(&disk, &instance, &format!("c:\\foreign\\{name}.bak"), &media.bytes);
    }
    let said = answer(&instance, "restore verifyonly from disk = 'c:\\foreign\\table.bak'");
    assert!(said.contains("Msg 3189") && said.contains("page (1:32)"), "{said}");
    let said = answer(&instance, "restore verifyonly from disk = 'c:\\foreign\\nobodys.bak'");
    assert!(said.contains("The backup set on file 1 is valid."), "{said}");
    let said = answer(
        &instance,
        "restore verifyonly from disk = 'c:\\foreign\\table.bak' with checksum",
    );
    assert!(said.contains("Msg 40517"), "{said}");
}

/// SQL Server gives a log backup the kind of a full one; only the letter of its configuration tells it.
#[test]
fn headers_tell_log_backups_from_full_ones() {
    let file = sales().file();
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    let mut media = MediaWriter::new(1, 1);
    let log = SetWriter {
        letter: b'L',
        ..set_of(Vec::new(), file.len())
    };
    media.set(1, &set_of(extents(&file), file.len())).set(2, &log);
    put(&disk, &instance, "c:\\foreign\\sets.bak", &media.bytes);
    let said = answer(&instance, "restore headeronly from disk = 'c:\\foreign\\sets.bak'");
    let types: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("  full | NULL | "))
        .map(|line| line.split(" | ").next().unwrap())
        .collect();
    assert_eq!(types, ["1", "2"], "{said}");
    assert!(said.contains("2023-01-13 00:40:37"), "{said}");
    let said = answer(
        &instance,
        "restore database sales from disk = 'c:\\foreign\\sets.bak' with file = 2",
    );
    assert!(said.contains("Msg 3118"), "{said}");
}

/// A differential backup lacks what has not changed, and is whole all the same.
#[test]
fn a_differential_backup_is_verified_by_the_pages_that_it_has() {
    let file = sales().file();
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    let table_extent = table_page(0) as usize / 8;
    let mut changed = file.clone();
    changed[table_extent * 65_536..(table_extent + 1) * 65_536].fill(0);
    for (name, kind) in [("differential", 8), ("full", 4)] {
        let set = SetWriter {
            kind,
            ..set_of(extents(&changed), file.len())
        };
        let mut media = MediaWriter::new(1, 1);
        media.set(1, &set);
        put(&disk, &instance, &format!("c:\\foreign\\{name}.bak"), &media.bytes);
    }
    let said = answer(
        &instance,
        "restore verifyonly from disk = 'c:\\foreign\\differential.bak'",
    );
    assert!(said.contains("The backup set on file 1 is valid."), "{said}");
    // A full one that lacks the same extent is not.
    let said = answer(&instance, "restore verifyonly from disk = 'c:\\foreign\\full.bak'");
    assert!(said.contains("Msg 3189") && said.contains("page (1:32)"), "{said}");
}

/// The extent of the table is where another one should be, by the ids of all its pages. The map of what has changed tells: nothing else would, for a
/// differential backup lacks what has not changed.
#[test]
fn a_differential_backup_lacks_nothing_that_has_changed() {
    let file = sales().file();
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    let extent = table_page(0) as usize / 8;
    let mut changed = file.clone();
    let map = differential_map(&[0, extent as u32]);
    changed[6 * 8192..7 * 8192].copy_from_slice(&map[..]);
    // Another extent of the file, and a page number that no extent has at that place.
    for (name, first_page) in [
        ("sound", table_page(0)),
        ("far", table_page(9)),
        ("unplaced", table_page(0) + 3),
    ] {
        let mut extents = extents(&changed);
        let moved = extents
            .iter_mut()
            .find(|found| found[32..36] == table_page(0).to_le_bytes());
        let moved = moved.unwrap();
        moved[32..36].copy_from_slice(&first_page.to_le_bytes());
        // Without a checksum, which would tell.
        moved[5] = 0;
        extents.retain(|extent| extent[1] == 15 || extent[32..36] == first_page.to_le_bytes());
        let set = SetWriter {
            kind: 8,
            ..set_of(extents, file.len())
        };
        let mut media = MediaWriter::new(1, 1);
        media.set(1, &set);
        put(&disk, &instance, &format!("c:\\foreign\\{name}.bak"), &media.bytes);
    }
    let verify = |name: &str| {
        answer(
            &instance,
            &format!("restore verifyonly from disk = 'c:\\foreign\\{name}.bak'"),
        )
    };
    assert!(
        verify("sound").contains("The backup set on file 1 is valid."),
        "{}",
        verify("sound")
    );
    for name in ["far", "unplaced"] {
        let said = verify(name);
        assert!(
            said.contains("Msg 3189") && said.contains("page (1:32): its extent has changed"),
            "{said}"
        );
    }
}

/// `varchar` of code page 1251 had question marks here, without a word: our `varchar` has the characters of code page 1252. And two keys that
/// differ in case alone were one.
#[test]
fn text_of_another_code_page_keeps_its_characters_and_collations_what_they_tell_apart() {
    const CYRILLIC_CI: u32 = 0xD015;
    const LATIN_CS: u32 = 0xC008;
    let disk = SimDisk::new(3);
    let instance = start(&disk);
    let words = Table::new(
        "Words",
        vec![
            Column::new("word", VARCHAR, 20).collated(CYRILLIC_CI),
            Column::new("code", VARCHAR, 5).collated(LATIN_CS),
        ],
    )
    .row(&[Cell::Bytes(vec![0xCC, 0xE8, 0xF0]), Cell::Bytes(b"a".to_vec())])
    .row(&[Cell::Bytes(vec![0xEC, 0xE8, 0xF0]), Cell::Bytes(b"A".to_vec())]);
    put(
        &disk,
        &instance,
        "c:\\foreign\\words.mdf",
        &Database::new("Words", vec![words]).file(),
    );
    let said = answer(
        &instance,
        "create database words on (filename = 'c:\\foreign\\words.mdf') for attach",
    );
    assert!(!said.contains("Msg"), "{said}");
    let named = "1 column has the collation 0x0000D015 (code page 1251), and Latin1_General_CI_AS here; of these, char, varchar and text become nchar";
    assert!(said.contains(named), "{said}");
    let found = answer(
        &instance,
        "set nocount on select word from words.dbo.Words where code = 'a' select count(*) from words.dbo.Words where word = N'\u{43c}\u{438}\u{440}'",
    );
    assert!(
        found.contains("\u{41c}\u{438}\u{440}") && found.contains('2'),
        "{found}"
    );
    assert!(!found.contains("\u{43c}\u{438}\u{440}"), "{found}");
}
