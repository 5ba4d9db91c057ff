use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use disk::sim::{CutPolicy, SimDisk};
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::types::Value;
use engine::waits::WaitStatistics;
use tsql::session::{DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

/// Noon of a day in 2023. One seed, one clock, no threads: every run of this program is the same.
const START_US: u64 = 1_700_000_000_000_000;

/// Opens the instance that lies on a disk, or makes one.
fn open(disk: &SimDisk) -> Result<Arc<Instance>, Box<dyn Error>> {
    let clock = Arc::new(ManualClock::starting_at(START_US));
    let environment = Environment {
        disk: Arc::new(disk.clone()),
        errorlog: Arc::new(ErrorLog::new(clock.clone())),
        clock,
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "EMBEDDED".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 64 << 20,
        instant_file_initialization: true,
    };
    Ok(Instance::start(options, environment).map_err(|error| error.to_string())?)
}

/// Takes what a session answers: rows, and errors.
#[derive(Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    errors: Vec<String>,
}

impl ResultSink for Answer {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.rows.push(row.to_vec());
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            self.errors.push(format!("Msg {}: {}", message.number, message.text));
        }
        Ok(())
    }
}

/// Runs a batch in a session of its own.
fn run(instance: &Arc<Instance>, batch: &str) -> Result<Vec<Vec<Value>>, Box<dyn Error>> {
    let mut session = Session::new(instance.clone(), Login::default()).map_err(|error| error.to_string())?;
    let mut answer = Answer::default();
    session.execute(batch, &mut answer);
    match answer.errors.first() {
        Some(error) => Err(error.clone().into()),
        None => Ok(answer.rows),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let disk = SimDisk::new(7);
    let instance = open(&disk)?;
    run(&instance, "create database shop")?;
    run(
        &instance,
        "use shop create table sold (id int primary key, item varchar(20))",
    )?;
    run(&instance, "use shop insert sold values (1, 'lamp'), (2, 'chair')")?;

    // The power goes. What was not made durable is lost in whole or in part; what was committed is not.
    let after = disk.after_power_cut(CutPolicy::RandomSectors, 7);
    let instance = open(&after)?;
    let rows = run(&instance, "use shop select id, item from sold order by id")?;
    assert_eq!(rows[1], [Value::Int(2), Value::from("chair".to_owned())]);

    let vlfs = run(&instance, "select count(*) from sys.dm_db_log_info(db_id('shop'))")?;
    println!("{} rows after the power cut, {:?} VLFs", rows.len(), vlfs[0][0]);
    Ok(())
}
