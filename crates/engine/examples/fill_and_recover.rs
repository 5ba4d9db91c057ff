//! Fills a log as the published recovery experiment does, without SQL in between, forgets the instance as a crash would, and
//! starts it again: what the engine alone costs. `fill_and_recover FOLDER LOG_MB INITIAL_MB [classic]`
#![allow(clippy::unwrap_used)]

use engine::catalog::{ColumnDefinition, GrowthEntry, TableDefinition};
use engine::errorlog::ErrorLog;
use engine::instance::{CreateDatabase, FileSpec, Instance, InstanceOptions, Size};
use engine::lock::Mode;
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::session::{Session, Table};
use engine::store::{Placement, ReadMode};
use engine::types::{SqlType, Value};
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
    }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.into(),
        sql_type,
        nullable: false,
        identity: None,
        default: None,
        computed: None,
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
        indexes: vec![],
        checks: vec![],
        foreign_keys: vec![],
        created: (0, 0),
    }
}

fn update(session: &mut Session, table: &Table, value: &Value, number: i32) -> engine::error::Result<()> {
    let locks = session.locks().clone();
    let mut scan = table.scan(&locks, ReadMode::Locked(Mode::U))?;
    let mut old = Vec::new();
    while scan.next_batch()? {
        for index in 0..scan.len() {
            table.layout().decode_into(scan.row(index).unwrap(), &mut old)?;
            let new = [old[0].clone(), value.clone(), Value::Int(number)];
            table.update(session, &scan.locator(index).unwrap(), &old, &new)?;
        }
    }
    session.commit()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (megabytes, initial): (u64, u64) = (arguments[2].parse().unwrap(), arguments[3].parse().unwrap());
    let policy = if arguments.len() > 4 {
        LogPolicy::classic()
    } else {
        LogPolicy::native()
    };
    let options = InstanceOptions {
        folder: PathBuf::from(&arguments[1]),
        server_name: "BENCH".into(),
        version: vlf::ServerVersion::V2005,
        policy,
        max_server_memory_bytes: 1 << 30,
        instant_file_initialization: true,
    };
    let instance = Instance::start(options.clone(), environment()).unwrap();
    let log = FileSpec {
        size_bytes: Some(initial << 20),
        maximum: Some(Size::Bytes(megabytes << 20)),
        growth: Some(GrowthEntry::Bytes(1 << 20)),
        ..FileSpec::default()
    };
    let started = Instant::now();
    let database = instance
        .create_database(&CreateDatabase {
            name: "vlf".into(),
            data: vec![],
            log: vec![log],
        })
        .unwrap();
    println!("create {:?}", started.elapsed());
    let mut session = instance.open_session().unwrap();
    let object = session.create_table(&database, table("vlf_test")).unwrap();
    let rows = Table::open(&database, &object).unwrap();
    rows.insert(
        &mut session,
        &[Value::Int(1), Value::text("vlftest"), Value::Int(0)],
        Placement::Anywhere,
    )
    .unwrap();
    session.commit().unwrap();
    let mut other = instance.open_session().unwrap();
    other.create_table(&database, table("opentran")).unwrap();
    let letters = [Value::text("a".repeat(8000)), Value::text("b".repeat(8000))];
    let started = Instant::now();
    let mut updates = 0;
    let error = loop {
        match update(&mut session, &rows, &letters[updates % 2], updates as i32) {
            Ok(()) => updates += 1,
            Err(error) => break error,
        }
    };
    let elapsed = started.elapsed();
    println!("{error}");
    println!(
        "{updates} updates in {elapsed:?}: {:.0}/s, {:.1} us each",
        updates as f64 / elapsed.as_secs_f64(),
        elapsed.as_micros() as f64 / updates as f64
    );
    println!(
        "{} VLFs, {:?}",
        database.storage.log.vlfs().len(),
        database.storage.log.counters()
    );
    for row in instance.env.waits.rows().iter().filter(|row| row.wait_micros > 0) {
        println!(
            "  {} {} {} ms",
            row.wait_type.name(),
            row.waiting_tasks,
            row.wait_micros / 1000
        );
    }
    instance.shutdown(true).unwrap();
    std::mem::forget((session, other));
    drop((rows, database, instance));
    let started = Instant::now();
    let instance = loop {
        match Instance::start(options.clone(), environment()) {
            Ok(instance) => break instance,
            Err(error) if started.elapsed().as_secs() > 2 => panic!("{error}"),
            Err(_) => std::thread::yield_now(),
        }
    };
    instance
        .env
        .errorlog
        .lines()
        .iter()
        .for_each(|line| println!("{}", line.file_text()));
    println!(
        "restart {:?}, {:?}",
        started.elapsed(),
        instance.database("vlf").unwrap().recovery
    );
    instance
        .env
        .errorlog
        .lines()
        .iter()
        .for_each(|line| println!("{}", line.file_text()));
}
