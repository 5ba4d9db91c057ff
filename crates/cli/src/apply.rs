//! `vlflab advise --apply`: shows the advice for one log, asks for confirmation, and carries it out step by step.
//!
//! [`advisor::apply`] decides on the next step. This module has the questions, the connection, the waiting, and the file from which an
//! interrupted run continues. Invariant: that file is on disk before the first statement that changes anything, and is removed at the end.

use crate::exit::Failure;
use crate::reach::ReachOptions;
use advisor::apply::{Applying, Refusal, Step, Task};
use advisor::price::PricedDisk;
use clap::Args;
use lab::client::{ClientError, Connection, Event, Identity, ServerMessage, Target};
use lab::collect;
use std::fs::{self, File};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Exit code: it stopped at what it may not do itself, and can be begun again.
const STOPPED: u8 = 7;
/// How often the server is asked whether the usual log backup has come.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Options of `vlflab advise --apply`.
#[derive(Debug, Clone, Args)]
pub struct ApplyOptions {
    /// Do what is advised for the VLFs of this database's log: show the T-SQL, ask, and go step by step. Never tried on a SQL Server.
    #[arg(long, value_name = "DATABASE", requires = "server")]
    pub apply: Option<String>,
    /// T-SQL that makes the usual log backup, or starts its job; without it the next usual one is waited for.
    #[arg(long, value_name = "T-SQL", requires = "apply")]
    pub log_backup: Option<String>,
    /// Minutes that a log backup is waited for.
    #[arg(long, value_name = "MINUTES", default_value_t = 60, requires = "apply")]
    pub wait: u32,
    /// Agree to what is shown.
    #[arg(long, requires = "apply")]
    pub yes: bool,
    /// File that keeps what is to be reached, until it is [default: vlflab-apply-HOST-PORT-DATABASE.json, in the current folder].
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub task: Option<PathBuf>,
}

/// Runs `vlflab advise --apply`.
pub fn apply(
    server: &str,
    name: &str,
    options: &ApplyOptions,
    reach: &ReachOptions,
    disk: &PricedDisk,
) -> Result<(), Failure> {
    if options.log_backup.as_deref().is_some_and(throws_away) {
        return Err(Failure::Usage(
            "--log-backup: a backup to NUL throws the log away, and with it every restore beyond it; this program runs none".to_owned(),
        ));
    }
    let target = reach.target_of(server)?;
    let limit = reach.query_limit();
    let path = options.task.clone().unwrap_or_else(|| usual_path(&target, name));
    let task = match resumed(&path, &target, name)? {
        Some(task) => {
            say(&format!(
                "Continues with {}: the log of {} was {}, and the target is {}.",
                path.display(),
                task.database,
                task.before,
                task.target()
            ))?;
            task
        }
        None => match begun(&collect::snapshot(&target, limit)?, disk, name)? {
            Some(task) => task,
            None => return Ok(()),
        },
    };
    agree(&task, options)?;
    keep(&path, &task)?;
    let mut run = Run {
        connection: open(&target)?,
        target,
        limit,
        options,
    };
    let shape = run.step_by_step(Applying::begin(task), disk)?;
    fs::remove_file(&path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    say(&format!(
        "Done: the log has {shape}. See that the next log backup succeeds."
    ))
}

/// Whether T-SQL names the device that keeps nothing.
fn throws_away(tsql: &str) -> bool {
    let words = tsql.to_lowercase();
    ["'nul'", "'nul:'", "'/dev/null'"]
        .iter()
        .any(|device| words.contains(device))
}

/// The task of a new run; `None` = nothing is to be done, and that was said.
fn begun(snapshot: &advisor::snapshot::Snapshot, disk: &PricedDisk, name: &str) -> Result<Option<Task>, Failure> {
    match Task::of(snapshot, disk, name) {
        Ok(task) => Ok(Some(task)),
        Err(Refusal::NotJudged(reason)) => Err(Failure::Failed(format!("{name}: {reason}"))),
        Err(Refusal::NothingToDo(verdict)) => {
            say(&format!("Nothing to do for the VLFs of {name}: {verdict}"))?;
            Ok(None)
        }
        Err(Refusal::PrintOnly { because, tsql }) => {
            say(&format!("Printed and not run, because {because}:\n{tsql}"))?;
            Err(Failure::Code(STOPPED))
        }
    }
}

fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

fn usual_path(target: &Target, name: &str) -> PathBuf {
    let plain = |text: &str| -> String {
        let kept = |character: char| if character.is_alphanumeric() { character } else { '_' };
        text.chars().map(kept).collect()
    };
    PathBuf::from(format!(
        "vlflab-apply-{}-{}-{}.json",
        plain(&target.host),
        target.port,
        plain(name)
    ))
}

/// The task that an earlier run left.
fn resumed(path: &Path, target: &Target, name: &str) -> Result<Option<Task>, Failure> {
    let unusable = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let task = Task::from_json(&text).map_err(unusable)?;
    let server = format!("{}:{}", target.host, target.port);
    if task.server != server || !task.database.eq_ignore_ascii_case(name) {
        return Err(unusable(format!(
            "it is the task of {} on {}, not of {name} on {server}; name another file with --task",
            task.database, task.server
        )));
    }
    Ok(Some(task))
}

/// Writes the task so that a crash leaves it whole or not at all.
fn keep(path: &Path, task: &Task) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    let beside = path.with_extension("json.new");
    let mut file = File::create(&beside).map_err(failed)?;
    file.write_all(task.to_json().as_bytes()).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    fs::rename(&beside, path).map_err(failed)
}

fn agree(task: &Task, options: &ApplyOptions) -> Result<(), Failure> {
    say(&format!(
        "{}, {}: {} now, {} then.\n{}\n\n\
         Every growth writes zeros while writers wait. This has been run on vlflab's own server, and never on a SQL Server.",
        task.server,
        task.database,
        task.before,
        task.target(),
        task.tsql()
    ))?;
    if options.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("say --yes to agree to that".into()));
    }
    let mut out = io::stdout().lock();
    write!(out, "Go on? (yes/no) ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Interrupted("nothing was done".into())),
    }
}

fn open(target: &Target) -> Result<Connection, ClientError> {
    let identity = Identity {
        application: "vlflab advise --apply".to_owned(),
        ..Identity::default()
    };
    Connection::open_as(target, &identity)
}

struct Run<'a> {
    target: Target,
    limit: Duration,
    options: &'a ApplyOptions,
    /// Runs the statements, without a limit of time.
    connection: Connection,
}

impl Run<'_> {
    /// Step by step; the log's size at the end.
    fn step_by_step(&mut self, mut applying: Applying, disk: &PricedDisk) -> Result<advisor::apply::Shape, Failure> {
        loop {
            let database = applying.task().database.clone();
            let snapshot = collect::snapshot_of_database(&self.target, self.limit, &database)?;
            match applying.next(&snapshot, disk) {
                Step::Run(statement) => {
                    if let Some(message) = self.run(&statement)? {
                        // What is left matters more than why it cannot be read.
                        let left = collect::snapshot_of_database(&self.target, self.limit, &database)
                            .map_or_else(|_| String::new(), |now| applying.left_by_refusal(&now, message.number));
                        return refused(&message, &left);
                    }
                }
                Step::AwaitLogBackup { mark } => self.await_log_backup(&database, mark.as_deref())?,
                Step::Done(shape) => return Ok(shape),
                Step::Stop(why) => {
                    return stopped(&why);
                }
            }
        }
    }

    /// Runs a statement, and says how long it took; the first error, where the server refused it.
    fn run(&mut self, statement: &str) -> Result<Option<ServerMessage>, Failure> {
        say(&format!("| {statement}"))?;
        let begin = Instant::now();
        let mut refused = None;
        self.connection.run(statement, &mut |event| {
            if let Event::Error(message) = event {
                refused.get_or_insert_with(|| message.clone());
            }
        })?;
        if refused.is_none() {
            say(&format!("  {:.1} s", begin.elapsed().as_secs_f64()))?;
        }
        Ok(refused)
    }

    /// Waits until the server's mark of the last log backup is another one.
    fn await_log_backup(&mut self, database: &str, mark: Option<&str>) -> Result<(), Failure> {
        if let Some(tsql) = &self.options.log_backup.clone() {
            if let Some(message) = self.run(tsql)? {
                return refused(&message, "");
            }
        } else {
            say("  waits for the usual log backup")?;
        }
        let literal = format!("N'{}'", database.replace('\'', "''"));
        let query = format!(
            "SELECT CONVERT(varchar(30), last_log_backup_lsn) FROM sys.database_recovery_status WHERE database_id = DB_ID({literal})"
        );
        let begin = Instant::now();
        let limit = Duration::from_secs(u64::from(self.options.wait) * 60);
        loop {
            let rows = self.connection.rows(&query)?;
            let now = rows.first().and_then(|row| row.first()).and_then(Option::as_deref);
            if now.is_some() && now != mark {
                return say(&format!(
                    "  the log backup has come after {:.1} s",
                    begin.elapsed().as_secs_f64()
                ));
            }
            if begin.elapsed() >= limit {
                return stopped(&format!(
                    "no log backup came within {} min; run the job or product that usually makes it, then this again",
                    self.options.wait
                ));
            }
            std::thread::sleep(LOOK_INTERVAL.min(limit));
        }
    }
}

/// Stops with the server's words, and how that leaves the log.
fn refused<T>(message: &ServerMessage, left: &str) -> Result<T, Failure> {
    let why = format!("the server refused it: {message}");
    match left.is_empty() {
        true => stopped(why.trim_end_matches('.')),
        false => stopped(&format!("{}. {left}", why.trim_end_matches('.'))),
    }
}

/// Says why it stops; what was done so far stays, and a later run goes on from there.
fn stopped<T>(why: &str) -> Result<T, Failure> {
    say(&format!(
        "Stopped: {why}.\nCompleted steps stay. Run the same command again to continue."
    ))?;
    Err(Failure::Code(STOPPED))
}
