//! Fills a log as the published recovery experiment does, without SQL in between, forgets the instance as a crash would, and
//! starts it again: what the engine alone costs, until the first query and until recovery is over.
//!
//! `fill_and_recover FOLDER LOG_MB INITIAL_MB [POLICY [RECOVERY_INTERVAL_MINUTES [UPDATES_PER_COMMIT]]]`, for example
//! `fill_and_recover /tmp/example 5120 5120 native 60`, where all the log is to be recovered, as without a recovery interval it is
//! not.

use engine::catalog::{Bindings, ColumnDefinition, GrowthEntry, LockEscalation, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::errorlog::ErrorLog;
use engine::instance::{CreateDatabase, FileSpec, Instance, InstanceOptions, Size};
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use engine::types::{Collation, SqlType, Value};
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

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
        generated: None,
        mask: None,
        bound: Bindings::default(),
    }
}

fn table(name: &str) -> TableDefinition {
    let columns = vec![
        column("a", SqlType::Int),
        column("b", SqlType::Char(8000)),
        column("c", SqlType::Int),
    ];
    TableDefinition {
        object_id: 0,
        schema: "dbo".into(),
        name: name.into(),
        columns,
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

fn update(session: &mut Session, table: &Table, value: &Value, number: i32) -> Result<()> {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Locked(Mode::U))?;
    let mut old = Vec::new();
    while scan.next_batch()? {
        for index in 0..scan.len() {
            table
                .layout()
                .decode_into(scan.row(index).unwrap_or_default(), &mut old)?;
            let new = [old[0].clone(), value.clone(), Value::Int(number)];
            let place = scan
                .locator(index)
                .ok_or_else(|| Error::assertion("a row without a place"))?;
            table.update(session, &place, &old, &new)?;
        }
    }
    Ok(())
}

fn options(folder: &str, policy: LogPolicy) -> InstanceOptions {
    InstanceOptions {
        folder: PathBuf::from(folder),
        server_name: "BENCH".into(),
        version: vlf::ServerVersion::V2005,
        policy,
        max_server_memory_bytes: 1 << 30,
        instant_file_initialization: true,
    }
}

fn create(instance: &Instance, log_bytes: u64, log_bytes_max: u64) -> Result<Arc<Database>> {
    let log = FileSpec {
        size_bytes: Some(log_bytes),
        maximum: Some(Size::Bytes(log_bytes_max)),
        growth: Some(GrowthEntry::Bytes(1 << 20)),
        ..FileSpec::default()
    };
    let started = Instant::now();
    let statement = CreateDatabase {
        name: "vlf".into(),
        data: vec![],
        log: vec![log],
        ..CreateDatabase::default()
    };
    let database = instance.create_database(&statement)?;
    println!("created in {:?}", started.elapsed());
    Ok(database)
}

/// Updates one row until the log is full.
fn fill(instance: &Instance, database: &Arc<Database>, session: &mut Session, updates_per_commit: usize) -> Result<()> {
    let object = session.create_table(database, table("vlf_test"))?;
    let rows = Table::open(database, &object)?;
    let first = [Value::Int(1), Value::text("vlftest"), Value::Int(0)];
    rows.insert(session, &first, Placement::Anywhere)?;
    session.commit()?;
    let mut other = instance.open_session()?;
    let opentran = Table::open(database, &other.create_table(database, table("opentran"))?)?;
    other.commit()?;
    opentran.insert(&mut other, &first, Placement::Anywhere)?;
    let letters = [Value::text("a".repeat(8000)), Value::text("b".repeat(8000))];
    let started = Instant::now();
    let mut updates = 0;
    let error = loop {
        match update(session, &rows, &letters[updates % 2], updates as i32) {
            Ok(()) => {
                updates += 1;
                if updates.is_multiple_of(updates_per_commit) {
                    session.commit()?;
                }
            }
            Err(error) => break error,
        }
    };
    let elapsed = started.elapsed();
    let each = elapsed.as_micros() as f64 / updates as f64;
    println!("{error}\n{updates} updates in {elapsed:?}, {each:.1} us each");
    println!(
        "{} VLFs, {:?}",
        database.storage.log.vlfs().len(),
        database.storage.log.counters()
    );
    for row in instance.env.waits.rows().iter().filter(|row| row.wait_micros > 0) {
        println!(
            "  {} {} times, {} ms",
            row.wait_type.name(),
            row.waiting_tasks,
            row.wait_micros / 1000
        );
    }
    // The transaction stays open, as a crash would find it.
    std::mem::forget(other);
    Ok(())
}

/// How the example is to be run.
struct Arguments {
    folder: String,
    log_bytes: u64,
    initial_bytes: u64,
    policy: LogPolicy,
    /// 0 = not configured.
    recovery_interval_minutes: i64,
    updates_per_commit: usize,
}

impl Arguments {
    fn read() -> std::result::Result<Arguments, Box<dyn std::error::Error>> {
        let arguments: Vec<String> = std::env::args().collect();
        let [_, folder, log, initial, rest @ ..] = arguments.as_slice() else {
            return Err("usage: fill_and_recover FOLDER LOG_MB INITIAL_MB [POLICY [RECOVERY_INTERVAL_MINUTES [UPDATES_PER_COMMIT]]]".into());
        };
        Ok(Arguments {
            folder: folder.clone(),
            log_bytes: log.parse::<u64>()? << 20,
            initial_bytes: initial.parse::<u64>()? << 20,
            policy: rest.first().map_or(Ok(LogPolicy::native()), |text| text.parse())?,
            recovery_interval_minutes: rest.get(1).map_or(Ok(0), |text| text.parse())?,
            updates_per_commit: rest.get(2).map_or(Ok(1), |text| text.parse())?,
        })
    }
}

/// Starts the instance again and tells how long that takes users, and how long it takes in all.
fn restart(options: &InstanceOptions) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let instance = loop {
        match Instance::start(options.clone(), environment()) {
            Ok(instance) => break instance,
            Err(error) if started.elapsed().as_secs() > 2 => return Err(error.into()),
            Err(_) => std::thread::yield_now(),
        }
    };
    let database = instance.database("vlf")?;
    let object = database.catalog.find("dbo", "vlf_test", 0).ok_or("the table is gone")?;
    let rows = Table::open(&database, &object)?;
    let session = instance.open_session()?;
    let mut scan = rows.scan(session.locks(), ReadMode::Committed)?;
    let mut found = 0;
    while scan.next_batch()? {
        found += scan.len();
    }
    let first_query = started.elapsed();
    database.wait_for_recovery()?;
    let whole = started.elapsed();
    let lines = instance.env.errorlog.lines();
    lines.iter().for_each(|line| println!("{}", line.file_text()));
    let recovery = database.recovery();
    println!("first query {first_query:?} ({found} row), recovered {whole:?}, {recovery:?}");
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::read()?;
    let options = options(&arguments.folder, arguments.policy);
    let instance = Instance::start(options.clone(), environment())?;
    if arguments.recovery_interval_minutes > 0 {
        let configuration = &instance.configuration;
        configuration.configure("recovery interval (min)", arguments.recovery_interval_minutes)?;
        configuration.reconfigure();
    }
    let database = create(&instance, arguments.initial_bytes, arguments.log_bytes)?;
    // As after the first backups: from here on only log backups free the log.
    database.change_boot(|boot| boot.log_backup_start = boot.checkpoint)?;
    let mut session = instance.open_session()?;
    fill(&instance, &database, &mut session, arguments.updates_per_commit)?;
    instance.shutdown(true)?;
    std::mem::forget(session);
    drop((database, instance));
    restart(&options)
}
