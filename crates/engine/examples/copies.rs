//! Copies of one database, one after another, each opened, written, checkpointed and dropped: how long CREATE DATABASE ... AS COPY OF takes, and
//! whether memory and disk stay what they were.
//!
//! `copies FOLDER DATABASE_MB COPIES`, for example `copies /tmp/example 1024 1000`. The database is filled to its size. Prints a line for every
//! tenth part of the copies: milliseconds of the statement (median, 99 of 100, most), resident memory of the process and bytes in the folder.

use engine::catalog::{ColumnDefinition, LockEscalation, TableDefinition};
use engine::database::Database;
use engine::error::Result;
use engine::errorlog::ErrorLog;
use engine::instance::{CreateCopy, CreateDatabase, FileSpec, Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::session::Table;
use engine::store::Placement;
use engine::types::{Collation, SqlType, Value};
use engine::waits::WaitStatistics;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

const MB: u64 = 1 << 20;
/// Rows inserted by one transaction.
const ROWS_PER_COMMIT: u64 = 1_000;

fn environment() -> Environment {
    let clock = Arc::new(SystemClock::new());
    Environment {
        disk: Arc::new(disk::OsDisk),
        errorlog: Arc::new(ErrorLog::new(clock.clone())),
        clock,
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
    }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
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
    }
}

fn definition() -> TableDefinition {
    TableDefinition {
        object_id: 0,
        schema: "dbo".into(),
        name: "t".into(),
        columns: vec![column("a", SqlType::Int), column("b", SqlType::Char(8000))],
        heap: None,
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        disabled_indexes: Vec::new(),
        lock_escalation: LockEscalation::default(),
        triggers: Vec::new(),
        created: (0, 0),
    }
}

fn insert(instance: &Arc<Instance>, database: &Arc<Database>, numbers: std::ops::Range<u64>) -> Result<()> {
    let mut session = instance.open_session()?;
    let Some(object) = database.catalog.find("dbo", "t", 0) else {
        return Ok(());
    };
    let table = Table::open(database, &object)?;
    for number in numbers {
        let values = [Value::Int(number as i32), Value::text("filler")];
        table.insert(&mut session, &values, Placement::Anywhere)?;
    }
    session.commit()
}

/// A database whose pages hold a row each, as many as it has room for.
fn create_source(instance: &Arc<Instance>, bytes: u64) -> Result<Arc<Database>> {
    let sized = |size_bytes| FileSpec {
        size_bytes: Some(size_bytes),
        ..FileSpec::default()
    };
    let source = instance.create_database(&CreateDatabase {
        name: "source".into(),
        data: vec![sized(bytes)],
        log: vec![sized(64 * MB)],
        ..CreateDatabase::default()
    })?;
    let mut session = instance.open_session()?;
    session.create_table(&source, definition())?;
    session.commit()?;
    // Some pages are those of maps and of the catalog.
    let rows = (bytes / 8192).saturating_sub(256);
    for first in (0..rows).step_by(ROWS_PER_COMMIT as usize) {
        insert(instance, &source, first..rows.min(first + ROWS_PER_COMMIT))?;
    }
    source.checkpoint()?;
    Ok(source)
}

/// Bytes that the files in a folder take on disk.
fn bytes_on_disk(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_on_disk(&entry.path()),
            Ok(found) => found.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}

/// Resident memory of this process, in bytes; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn make_and_drop(instance: &Arc<Instance>, number: u64) -> Result<f64> {
    let statement = CreateCopy {
        name: format!("copy{number}"),
        source: "source".into(),
        ..CreateCopy::default()
    };
    let started = Instant::now();
    let copy = instance.create_copy(&statement)?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    insert(instance, &copy, 0..4)?;
    copy.checkpoint()?;
    drop(copy);
    let session = instance.open_session()?;
    instance.drop_database(&statement.name, &session)?;
    Ok(milliseconds)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: copies FOLDER DATABASE_MB COPIES";
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or(usage)?);
    let bytes = arguments.next().ok_or(usage)?.parse::<u64>()? * MB;
    let count: u64 = arguments.next().ok_or(usage)?.parse()?;
    let options = InstanceOptions {
        folder: folder.clone(),
        server_name: "COPIES".into(),
        version: vlf::ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 128 * MB,
        instant_file_initialization: true,
    };
    let instance = Instance::start(options, environment())?;
    let started = Instant::now();
    create_source(&instance, bytes)?;
    println!(
        "source of {} MB made in {:.1} s",
        bytes / MB,
        started.elapsed().as_secs_f64()
    );
    let part = count.div_ceil(10).max(1);
    for first in (0..count).step_by(part as usize) {
        let mut times = Vec::new();
        for number in first..count.min(first + part) {
            times.push(make_and_drop(&instance, number)?);
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "copies {first:>5} to {:>5}: median {:.1} ms, 99 % {:.1} ms, most {:.1} ms; memory {} MB, disk {} MB",
            first + times.len() as u64 - 1,
            at(0.5),
            at(0.99),
            at(1.0),
            resident_bytes() / MB,
            bytes_on_disk(&folder) / MB
        );
    }
    instance.shutdown(false)?;
    Ok(())
}
