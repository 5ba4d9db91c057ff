//! What the tests of whole instances share: a simulated machine, a small database, rows with a number and a letter.
#![allow(clippy::unwrap_used, dead_code)]

pub mod seam;
pub mod small;

use disk::sim::{CutPolicy, SimDisk};
use engine::catalog::{Bindings, ColumnDefinition, GrowthEntry, Identity, LockEscalation, TableDefinition};
use engine::errorlog::ErrorLog;
use engine::instance::{CreateDatabase, FileSpec, Instance, InstanceOptions, Size};
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use engine::types::{Collation, SqlType, Value};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use vlf::ServerVersion;

/// What a power cut does to what was not synced, by the number of the operation: each of three fates in turn.
pub fn cut_policy(cut: u64) -> CutPolicy {
    let policies = [
        CutPolicy::AllLost,
        CutPolicy::RandomSectors,
        CutPolicy::TornLastWrite {
            sectors_kept: 1 + cut as usize % 15,
        },
    ];
    policies[(cut % 3) as usize]
}

pub fn options(policy: LogPolicy) -> InstanceOptions {
    InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "TEST".into(),
        version: ServerVersion::V2005,
        policy,
        max_server_memory_bytes: 4 << 20,
        instant_file_initialization: true,
    }
}

pub fn environment(disk: &SimDisk) -> Environment {
    let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
    Environment {
        disk: Arc::new(disk.clone()),
        errorlog: Arc::new(ErrorLog::new(clock.clone())),
        clock,
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
    }
}

pub fn start(disk: &SimDisk, policy: LogPolicy) -> Arc<Instance> {
    Instance::start(options(policy), environment(disk)).unwrap()
}

pub fn statement(name: &str, log_bytes: u64, log_max: u64) -> CreateDatabase {
    let log = FileSpec {
        size_bytes: Some(log_bytes),
        maximum: Some(Size::Bytes(log_max)),
        growth: Some(GrowthEntry::Bytes(1 << 20)),
        filename: Some(format!("c:\\{name}_log.ldf")),
        ..FileSpec::default()
    };
    let data = FileSpec {
        filename: Some(format!("c:\\{name}.mdf")),
        ..FileSpec::default()
    };
    CreateDatabase {
        name: name.into(),
        data: vec![data],
        log: vec![log],
        ..CreateDatabase::default()
    }
}

pub fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.into(),
        sql_type,
        collation: Collation::default(),
        alias_type: None,
        nullable: false,
        identity: None,
        default: None,
        is_row_guid: false,
        computed: None,
        generated: None,
        mask: None,
        bound: Bindings::default(),
    }
}

pub fn table_definition(name: &str) -> TableDefinition {
    let identity = Some(Identity { seed: 1, increment: 1 });
    TableDefinition {
        object_id: 0,
        schema: "dbo".into(),
        name: name.into(),
        columns: vec![
            ColumnDefinition {
                identity,
                ..column("a", SqlType::Int)
            },
            column("b", SqlType::Char(8000)),
            column("c", SqlType::Int),
        ],
        heap: None,
        other_partitions: Vec::new(),
        partitioning: None,
        data_space: engine::catalog::PRIMARY_FILEGROUP,
        text_space: None,
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        disabled_indexes: Vec::new(),
        lock_escalation: LockEscalation::default(),
        triggers: Vec::new(),
        versioning: None,
        history_of: None,
        indexed_views: Vec::new(),
        created: (0, 0),
    }
}

pub fn create_table(session: &mut Session, database: &Arc<engine::database::Database>, name: &str) -> Table {
    let object = session.create_table(database, table_definition(name)).unwrap();
    Table::open(database, &object).unwrap()
}

pub fn open_table(database: &Arc<engine::database::Database>, name: &str) -> Table {
    Table::open(database, &database.catalog.find("dbo", name, 0).unwrap()).unwrap()
}

pub fn rows(session: &Session, table: &Table) -> Vec<(i32, i32)> {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Committed).unwrap();
    let mut rows = Vec::new();
    while scan.next_batch().unwrap() {
        for index in 0..scan.len() {
            let row = scan.row(index).unwrap();
            let number = |column| table.layout().column(row, column).unwrap().as_i64().unwrap() as i32;
            rows.push((number(0), number(2)));
        }
    }
    rows
}

pub fn insert(session: &mut Session, table: &Table, a: i32, c: i32) {
    let values = [Value::Int(a), Value::text("vlftest"), Value::Int(c)];
    table.insert(session, &values, Placement::Anywhere).unwrap();
}

pub fn update(session: &mut Session, table: &Table, letter: &str, c: i32) -> engine::error::Result<()> {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Locked(Mode::U))?;
    let mut old = Vec::new();
    while scan.next_batch()? {
        for index in 0..scan.len() {
            table.layout().decode_into(scan.row(index).unwrap(), &mut old)?;
            let new = [old[0].clone(), Value::text(letter.repeat(8000)), Value::Int(c)];
            assert!(table.update(session, &scan.locator(index).unwrap(), &old, &new)?);
        }
    }
    Ok(())
}

pub fn open_table_if_there(database: &Arc<engine::database::Database>, name: &str) -> Option<Table> {
    Some(Table::open(database, &database.catalog.find("dbo", name, 0)?).unwrap())
}

pub fn try_insert(session: &mut Session, table: &Table, a: i32, c: i32) -> engine::error::Result<()> {
    let values = [Value::Int(a), Value::text("vlftest"), Value::Int(c)];
    table.insert(session, &values, Placement::Anywhere)
}
