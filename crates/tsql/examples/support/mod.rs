//! What the examples share: an instance in a folder of its own, a session, and a clock around a batch.

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

/// Why an example fails where it does.
pub const FIRST_ERROR: &str = "an example may stop at the first error";

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

/// Runs a batch that must complete; microseconds.
pub fn timed(session: &mut Session, batch: &str) -> f64 {
    let started = Instant::now();
    assert_eq!(session.execute(batch, &mut Quiet), BatchOutcome::Completed, "{batch}");
    started.elapsed().as_secs_f64() * 1e6
}

/// Microseconds of processor time that this process has used, in user and system mode and on all threads; 0 where the system
/// does not tell. The system counts in hundredths of a second.
#[allow(dead_code, reason = "not every example asks")]
pub fn cpu_micros() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) * 10_000.0
}

fn start(folder: &std::path::Path) -> Arc<Instance> {
    let clock = Arc::new(SystemClock::new());
    let env = Environment {
        disk: Arc::new(OsDisk),
        clock: clock.clone(),
        background: Background::Threads,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: folder.to_owned(),
        server_name: "BENCH".to_owned(),
        version: ServerVersion::V2022,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 4 << 30,
        instant_file_initialization: true,
    };
    Instance::start(options, env).expect(FIRST_ERROR)
}

/// Runs `work` with a session on a new instance in a temporary folder, which is gone afterwards.
#[allow(dead_code, reason = "not every example asks")]
pub fn with_session(name: &str, work: impl FnOnce(&mut Session)) {
    with_instance(name, |_, session| work(session));
}

/// As [`with_session`], for examples that look below the session as well.
pub fn with_instance(name: &str, work: impl FnOnce(&Arc<Instance>, &mut Session)) {
    let folder = std::env::temp_dir().join(format!("{name}_{}", std::process::id()));
    let instance = start(&folder);
    let login = Login {
        login: "sa".to_owned(),
        ..Login::default()
    };
    let mut session = Session::new(instance.clone(), login).expect(FIRST_ERROR);
    work(&instance, &mut session);
    drop(session);
    instance.shutdown(false).expect(FIRST_ERROR);
    std::fs::remove_dir_all(folder).expect(FIRST_ERROR);
}
