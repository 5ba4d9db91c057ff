//! A server in memory on which the page's scripts are tried.

use crate::{Outcome, SiteError};
use disk::sim::SimDisk;
use engine::errorlog::ErrorLog;
use engine::instance::{Instance, InstanceOptions};
use engine::log::LogPolicy;
use engine::seams::{Background, Environment, ManualClock};
use engine::types::Value;
use engine::waits::WaitStatistics;
use std::path::PathBuf;
use std::sync::Arc;
use tsql::session::{DoneKind, Login, Message, ResultColumn, ResultSink, Session, SinkClosed};
use vlf::ServerVersion;

/// Noon of a day in 2023, in microseconds: the same for every page.
const START_US: u64 = 1_700_000_000_000_000;

/// What became of a script: the number and the words of its first error.
pub type Verdict = Result<(), (i32, String)>;

pub struct Trial {
    instance: Arc<Instance>,
}

/// Keeps the first error.
#[derive(Default)]
struct FirstError(Option<(i32, String)>);

impl ResultSink for FirstError {
    fn columns(&mut self, _: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _: &[Value]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _: Option<u64>, _: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 && self.0.is_none() {
            self.0 = Some((message.number, message.text.clone()));
        }
        Ok(())
    }
}

impl Trial {
    /// A new instance on a simulated disk, of the version that a server is when nobody says which.
    ///
    /// # Errors
    /// It does not start.
    pub fn start() -> Outcome<Trial> {
        Trial::of(ServerVersion::V2022)
    }

    /// The same of another version.
    ///
    /// # Errors
    /// It does not start.
    pub fn of(version: ServerVersion) -> Outcome<Trial> {
        let clock = Arc::new(ManualClock::starting_at(START_US));
        let environment = Environment {
            disk: Arc::new(SimDisk::new(7)),
            errorlog: Arc::new(ErrorLog::new(clock.clone())),
            clock,
            background: Background::Inline,
            waits: Arc::new(WaitStatistics::new()),
            activity: Arc::default(),
        };
        let options = InstanceOptions {
            folder: PathBuf::from("/instance"),
            server_name: "VLFLAB".to_owned(),
            version,
            policy: LogPolicy::native(),
            max_server_memory_bytes: 64 << 20,
            instant_file_initialization: true,
        };
        let instance = Instance::start(options, environment).map_err(|error| SiteError(error.to_string()))?;
        Ok(Trial { instance })
    }

    /// Runs a script in a session of its own, in `database` if it can be used: a script before may have left it restoring.
    ///
    /// # Errors
    /// The session cannot be opened.
    pub fn run(&self, database: &str, script: &str) -> Outcome<Verdict> {
        let login = Login {
            login: "sa".into(),
            host: "HOST".into(),
            application: "book".into(),
            ..Login::default()
        };
        let opened = Session::new(self.instance.clone(), login);
        let mut session = opened.map_err(|error| SiteError(error.to_string()))?;
        session.execute(&format!("use {database}"), &mut FirstError::default());
        let mut found = FirstError::default();
        for batch in tsql::batches::split(script) {
            session.execute(&batch.text, &mut found);
        }
        Ok(found.0.map_or(Ok(()), Err))
    }

    /// The same, where an error is a mistake of the book.
    ///
    /// # Errors
    /// The script's first one.
    pub fn must(&self, database: &str, script: &str) -> Outcome<()> {
        let verdict = self.run(database, script)?;
        verdict.map_err(|(number, text)| SiteError(format!("{script}: {number}: {text}")))
    }
}
