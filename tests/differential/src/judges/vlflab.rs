//! The server as users start it, on a folder of its own.

use super::{Answer, FORCED_PARAMETERIZATION, Failure, Judge};
use crate::dialect::Dialect;
use crate::print::Script;
use lab::client::{ClientError, Connection, Event};
use outside::server::{Launch, Server, Wait};
use std::path::Path;
use std::time::{Duration, Instant};

const READY_PATIENCE: Duration = Duration::from_secs(60);
/// A statement of a few rows that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// NOT NULL; CHECK and FOREIGN KEY; unique index; unique constraint; a trigger's own.
const CONSTRAINTS: [i32; 5] = [515, 547, 2601, 2627, 50001];

/// A running server and a connection to it.
pub struct Vlflab {
    connection: Connection,
    /// The names of its optimizer's rules; none of a build that has none.
    rules: Vec<String>,
    is_forced: bool,
    /// Killed when it goes.
    _server: Server,
}

impl Vlflab {
    /// Starts the program on a new folder below `folder`.
    ///
    /// # Errors
    /// It does not come up, in its words.
    pub fn start(program: &Path, folder: &Path) -> Result<Vlflab, String> {
        let launch = Launch {
            program: program.to_path_buf(),
            data: folder.join("instance"),
            output: folder.join("server-output.txt"),
            sql_version: "2022",
            log_policy: "native",
            max_server_memory_mb: 512,
        };
        let mut server = Server::spawn(&launch).map_err(|error| format!("{}: {error}", program.display()))?;
        match server.wait_until_ready(READY_PATIENCE) {
            Wait::Ready => {}
            Wait::Ended(words) => return Err(words),
            Wait::TimedOut => return Err(format!("not ready within {READY_PATIENCE:?}")),
        }
        let connection = server.connect().map_err(|error| error.to_string())?;
        let mut judge = Vlflab {
            connection,
            rules: Vec::new(),
            is_forced: false,
            _server: server,
        };
        let rules = judge.statement("dbcc showonrules")?;
        judge.rules = rules.rows.into_iter().flatten().flatten().collect();
        Ok(judge)
    }

    /// The statement that switches the rules at these places.
    fn switching(&self, verb: &str, places: u64) -> Option<String> {
        let rules = self.rules.iter().enumerate();
        let names = rules.filter(|(place, _)| places & !FORCED_PARAMETERIZATION & 1 << (place % 63) != 0);
        let names: Vec<String> = names.map(|(_, name)| format!("'{name}'")).collect();
        (!names.is_empty()).then(|| format!("dbcc rule{verb} ({}) with no_infomsgs", names.join(", ")))
    }

    fn statement(&mut self, text: &str) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let begin = Instant::now();
        let outcome = self
            .connection
            .run_watched(text, &mut || begin.elapsed() < PATIENCE, &mut |event| match event {
                Event::Row(values) => answer.rows.push(values.to_vec()),
                Event::Done { rows } => answer.count = answer.count.or(rows),
                Event::Error(message) if answer.failure.is_none() => {
                    answer.failure = Some(Failure {
                        is_constraint: CONSTRAINTS.contains(&message.number),
                        text: message.to_string(),
                    });
                }
                _ => {}
            });
        match outcome {
            Ok(()) => Ok(answer),
            Err(ClientError::Server(message)) => {
                answer.failure = Some(Failure {
                    is_constraint: false,
                    text: message.to_string(),
                });
                Ok(answer)
            }
            Err(error) => Err(format!("{error}, at: {text:.2000}")),
        }
    }
}

fn parameterization(is_forced: bool) -> &'static str {
    match is_forced {
        true => "alter database current set parameterization forced",
        false => "alter database current set parameterization simple",
    }
}

impl Judge for Vlflab {
    fn dialect(&self) -> Dialect {
        Dialect::TransactSql
    }

    fn name(&self) -> &str {
        "vlflab"
    }

    fn switch_rules(&mut self, off: u64) -> Result<(), String> {
        let is_forced = off & FORCED_PARAMETERIZATION != 0;
        let forcing = (is_forced != self.is_forced).then(|| parameterization(is_forced).to_owned());
        self.is_forced = is_forced;
        for text in [self.switching("on", !off), self.switching("off", off), forcing]
            .into_iter()
            .flatten()
        {
            if let Some(failure) = self.statement(&text)?.failure {
                return Err(format!("{}, at: {text}", failure.text));
            }
        }
        Ok(())
    }

    fn rules_off_in_words(&self, off: u64) -> String {
        let forcing = (off & FORCED_PARAMETERIZATION != 0).then(|| parameterization(true).to_owned());
        let switched = [self.switching("off", off), forcing];
        switched.into_iter().flatten().collect::<Vec<_>>().join(";\n")
    }

    fn ask(&mut self, scripts: &[Script]) -> Result<Vec<Answer>, String> {
        let mut answers = Vec::with_capacity(scripts.len());
        for script in scripts {
            let mut first = None;
            for text in script {
                let answer = self.statement(text)?;
                first.get_or_insert(answer);
            }
            answers.push(first.unwrap_or_default());
        }
        Ok(answers)
    }
}
