//! What a one-row committed UPDATE in a WHILE loop costs, beside the flush: `cargo run --release --example one_row_update`.
//!
//! The same loop runs twice: with a commit for each update, and as one transaction whose only flush comes at its end. The
//! second figure is the price of everything but the flush.
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
    let folder = std::env::temp_dir().join(format!("one_row_update_{}", std::process::id()));
    let instance = start(&folder);
    let login = Login {
        login: "sa".to_owned(),
        ..Login::default()
    };
    let mut session = Session::new(instance.clone(), login).unwrap();
    timed(
        &mut session,
        "create database bench log on (name = l, filename = 'c:\\bench.ldf', size = 512MB)",
    );
    timed(
        &mut session,
        "use bench create table heap (a int, b int not null) insert heap values (1, 0)",
    );
    timed(
        &mut session,
        "create table tree (a int not null primary key, b int not null) insert tree values (1, 0), (2, 0), (3, 0)",
    );
    timed(
        &mut session,
        "create table wide (a int identity, b char(8000) not null, c int not null) insert wide values ('x', 0)",
    );
    let count = 50_000;
    let loops = [
        ("heap, scan", "update heap set b = @i where a = 1"),
        ("tree, seek", "update tree set b = @i where a = 2"),
        ("8 KB row, scan", "update wide set b = @b, c = @i where a = 1"),
        ("nothing at all", "set @j = @i"),
    ];
    for (name, statement) in loops {
        let body = |begin: &str, end: &str| {
            format!(
                "set nocount on declare @i int = 0, @j int declare @b char(8000) = replicate('b', 8000) {begin} \
                 while @i < {count} begin {statement} set @i = @i + 1 end {end}"
            )
        };
        let one_transaction = timed(&mut session, &body("begin tran", "commit")) / f64::from(count);
        let committed = timed(&mut session, &body("", "")) / f64::from(count);
        println!("{name:16} {one_transaction:8.2} us without flush, {committed:8.2} us with a commit each");
    }
    drop(session);
    instance.shutdown(false).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
