//! Import of SQL Server's files: what is there after it, and after a power cut in the middle of it. The files are made by the tests' own writer.
//!
//! Depth: 40 power cuts of each import; deep: 400.
#![allow(clippy::unwrap_used)]

use crate::genuine_support::database::{Cell, Column, Database, INT, NVARCHAR, Table, utf16};
use crate::transcript::{Transcript, session};

use disk::sim::{CutPolicy, SimDisk};
use disk::{Access, Disk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::ServerVersion;

pub fn start(disk: &SimDisk) -> Arc<Instance> {
    let clock = Arc::new(ManualClock::new());
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
    disk.sync_directory(path.parent().unwrap()).unwrap();
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

fn sales() -> Database {
    let columns = vec![
        Column::new("id", INT, 4).not_null(),
        Column::new("name", NVARCHAR, 40),
        Column::new("rank", INT, 4).added(variant(7), Cell::Null),
    ];
    let name = |name: &str| Cell::Bytes(utf16(name));
    let orders = Table::new("Orders", columns)
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
    let depth = workbench::depth("power cuts of an import", 40, 400);
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
        let says_removed = |line: &String| line.contains("Creation of database 'sales (import)' was not finished");
        removed += u64::from(instance.env.errorlog.lines().iter().any(says_removed));
        if !is_there {
            let said = answer(&instance, ATTACH);
            assert!(!said.contains("Msg"), "cut at {cut}: {said}");
        }
        assert!(rows(&instance).contains("2 | second | 3"), "cut at {cut}");
    }
    assert!(
        absent > 5 && removed > 5,
        "{absent} times absent, {removed} times removed"
    );
    depth.count();
}
