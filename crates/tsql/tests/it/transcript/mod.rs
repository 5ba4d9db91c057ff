//! Runs a script on a separate instance and records all its answers.
#![allow(clippy::unwrap_used, dead_code)]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use disk::sim::SimDisk;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Clock, Environment, ManualClock};
use engine::types::{Length, SqlType, Value};
use engine::waits::WaitStatistics;
use tsql::scalar::convert::convert;
use tsql::session::{BatchOutcome, DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use tsql::stack;
use vlf::ServerVersion;

/// Runs work on a thread with the stack of a server's session. A test's own thread is not known to the accountant of stack, and is
/// taken to have half of it.
pub fn on_a_sessions_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(stack::THREAD_BYTES);
    let running = thread.spawn(move || {
        stack::begin_thread(stack::THREAD_BYTES);
        work();
    });
    if let Err(panic) = running.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

/// Collects answers as text.
#[derive(Default)]
pub struct Transcript {
    pub text: String,
    types: Vec<SqlType>,
}

impl ResultSink for Transcript {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.types = columns.iter().map(|column| column.sql_type).collect();
        let heads: Vec<String> = columns
            .iter()
            .map(|column| format!("{} {}", column.name, column.sql_type))
            .collect();
        writeln!(self.text, "  [{}]", heads.join(" | ")).unwrap();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let cells: Vec<String> = row
            .iter()
            .zip(&self.types)
            .map(|(value, sql_type)| cell(value, *sql_type))
            .collect();
        writeln!(self.text, "  {}", cells.join(" | ")).unwrap();
        Ok(())
    }

    fn done(&mut self, row_count: Option<u64>, kind: DoneKind) -> Result<(), SinkClosed> {
        match row_count {
            // Scripts are full of assignments, which come to one row each.
            Some(_) if kind == DoneKind::Assign => {}
            Some(count) => writeln!(self.text, "  ({count} rows, {kind:?})").unwrap(),
            None => {}
        }
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.number == 5701 {
            return Ok(());
        }
        let Message {
            number,
            severity,
            state,
            line,
            procedure,
            text,
        } = message;
        // How long a backup took does not belong in the transcript.
        let text = if *number == 3014 {
            text.split(" in ").next().unwrap_or(text)
        } else {
            text
        };
        let procedure = if procedure.is_empty() {
            String::new()
        } else {
            format!(", Procedure {procedure}")
        };
        if *severity == 0 {
            writeln!(self.text, "  {text}").unwrap();
        } else {
            writeln!(
                self.text,
                "  Msg {number}, Level {severity}, State {state}{procedure}, Line {line}: {text}"
            )
            .unwrap();
        }
        Ok(())
    }

    fn database_changed(&mut self, _from: &str, to: &str) {
        writeln!(self.text, "  (database {to})").unwrap();
    }
}

/// Keeps the first value of each row, whole.
#[derive(Default)]
pub struct Whole(pub Vec<String>);

impl ResultSink for Whole {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.0.push(row[0].as_str().unwrap_or_default().to_owned());
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        panic!("{}", message.text);
    }
}

fn cell(value: &Value, sql_type: SqlType) -> String {
    assert!(value.belongs_to(sql_type), "{value:?} in a {sql_type} column");
    let text = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Binary(_) => convert(value, sql_type, SqlType::VarChar(Length::Max), Some(1)),
        _ if sql_type.is_temporal() => convert(value, sql_type, SqlType::VarChar(Length::Max), Some(121)),
        _ => convert(value, sql_type, SqlType::NVarChar(Length::Max), None),
    };
    let text = text.unwrap().as_str().unwrap().to_owned();
    if text.len() > 120 {
        format!("{}... ({} bytes)", &text[..100], text.len())
    } else {
        text
    }
}

/// A new instance on a simulated disk whose clock moves only when read.
pub fn instance() -> Arc<Instance> {
    instance_with(Arc::new(ManualClock::starting_at(1_700_000_000_000_000)))
}

/// A new instance on a simulated disk.
pub fn instance_with(clock: Arc<dyn Clock>) -> Arc<Instance> {
    instance_on(&SimDisk::new(7), clock)
}

/// A new instance that is another version of SQL Server.
pub fn instance_of(version: ServerVersion) -> Arc<Instance> {
    let clock = Arc::new(ManualClock::starting_at(1_700_000_000_000_000));
    instance_as(&SimDisk::new(7), clock, version)
}

/// The instance of a simulated disk.
pub fn instance_on(disk: &SimDisk, clock: Arc<dyn Clock>) -> Arc<Instance> {
    instance_as(disk, clock, ServerVersion::V2022)
}

fn instance_as(disk: &SimDisk, clock: Arc<dyn Clock>, version: ServerVersion) -> Arc<Instance> {
    let env = Environment {
        disk: Arc::new(disk.clone()),
        clock: clock.clone(),
        background: Background::Inline,
        waits: Arc::new(WaitStatistics::new()),
        activity: Arc::default(),
        errorlog: Arc::new(ErrorLog::new(clock)),
    };
    let options = InstanceOptions {
        folder: PathBuf::from("/instance"),
        server_name: "VLFLAB".to_owned(),
        version,
        policy: LogPolicy::native(),
        max_server_memory_bytes: 64 << 20,
        instant_file_initialization: true,
    };
    Instance::start(options, env).unwrap()
}

/// A session of `sa`.
pub fn session(instance: &Arc<Instance>) -> Session {
    let login = Login {
        login: "sa".into(),
        host: "HOST".into(),
        application: "tests".into(),
        ..Login::default()
    };
    Session::new(instance.clone(), login).unwrap()
}

/// Runs a script, batch by batch. A batch that begins with `--session 2` runs in a second session.
pub fn run(script: &str) -> String {
    let instance = instance();
    let mut sessions = vec![session(&instance)];
    let mut transcript = Transcript::default();
    for batch in tsql::batches::split(script) {
        let number: usize = batch
            .text
            .trim_start()
            .strip_prefix("--session ")
            .and_then(|rest| rest.lines().next()?.trim().parse().ok())
            .unwrap_or(1);
        while sessions.len() < number {
            sessions.push(session(&instance));
        }
        for line in batch.text.trim().lines() {
            writeln!(transcript.text, "> {}", line.trim_end()).unwrap();
        }
        for _ in 0..batch.repeat {
            let outcome = sessions[number - 1].execute(&batch.text, &mut transcript);
            if outcome != BatchOutcome::Completed {
                writeln!(transcript.text, "  ({outcome:?})").unwrap();
            }
        }
        transcript.text.push('\n');
    }
    transcript.text
}
