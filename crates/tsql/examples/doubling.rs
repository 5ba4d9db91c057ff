//! How fast a table grows by INSERT ... SELECT from itself, and how fast it is read: `cargo run --release --example doubling`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use disk::OsDisk;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, SystemClock};
use engine::types::Value;
use engine::waits::WaitStatistics;
use tsql::session::{BatchOutcome, DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

/// Prints messages, drops everything else.
struct Quiet;

impl ResultSink for Quiet {
    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _row: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            println!("Msg {}: {}", message.number, message.text);
        }
        Ok(())
    }
}

fn timed(session: &mut Session, batch: &str) -> f64 {
    let started = Instant::now();
    assert_eq!(session.execute(batch, &mut Quiet), BatchOutcome::Completed, "{batch}");
    started.elapsed().as_secs_f64() * 1e6
}

fn start(folder: &std::path::Path) -> Arc<Instance> {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(OsDisk),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: folder.to_owned(),
        server_name: "BENCH".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 256 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

fn main() {
    let folder = std::env::temp_dir().join(format!("doubling_{}", std::process::id()));
    let instance = start(&folder);
    let login = Login {
        login: "sa".to_owned(),
        ..Login::default()
    };
    let mut session = Session::new(instance.clone(), login).unwrap();
    timed(
        &mut session,
        "create database bench on (name = d, filename = 'c:\\bench.mdf', size = 200MB, filegrowth = 200MB)
         log on (name = l, filename = 'c:\\bench.ldf', size = 512MB, filegrowth = 512MB)",
    );
    timed(
        &mut session,
        "use bench create table charge (charge_no int identity(1,1) not null primary key, member_no int not null,
         provider_no int not null, charge_dt datetime not null, charge_amt money not null, charge_code char(2) not null)
         insert charge (member_no, provider_no, charge_dt, charge_amt, charge_code) values (1, 2, '1999-01-05', 12.5, 'ab')",
    );
    let double = "insert charge (member_no, provider_no, charge_dt, charge_amt, charge_code)
         select member_no, provider_no, charge_dt + 30, charge_amt, charge_code from charge";
    let mut rows = 1.0;
    while rows < 1_500_000.0 {
        let micros = timed(&mut session, double);
        if rows > 100_000.0 {
            println!("{rows:9} rows inserted at {:10.0} rows/s", rows / micros * 1e6);
        }
        rows *= 2.0;
    }
    let reads = [
        ("count", "declare @n int select @n = count(*) from charge"),
        (
            "filter",
            "declare @n int select @n = count(*) from charge where charge_amt > 20 and member_no = 7",
        ),
        ("sum", "declare @n money select @n = sum(charge_amt) from charge"),
        (
            "group",
            "declare @n int select @n = max(n) from (select count(*) n from charge group by charge_dt) x",
        ),
        (
            "sort",
            "declare @n int select @n = charge_no from charge order by charge_dt, member_no desc",
        ),
        (
            "window",
            "declare @n bigint select @n = row_number() over (order by charge_no) from charge",
        ),
        ("update", "update charge set charge_amt = charge_amt * 2"),
        ("delete", "delete charge where charge_no % 2 = 0"),
    ];
    for (name, statement) in reads {
        let micros = timed(&mut session, statement);
        println!("{name:9} {:10.0} rows/s", rows / micros * 1e6);
    }
    drop(session);
    instance.shutdown(false).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
