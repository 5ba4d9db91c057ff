//! Runs T-SQL scripts of others as they are, and counts their statements that ran.
//!
//! ```text
//! statements [--encrypt LEVEL] PORT SECONDS FILE ...
//! ```
//! Prints a line of JSON for each file: `{"file", "statements", "ran", "failed": [{"line", "number", "message", "statement"}]}`.
//!
//! - A script is cut at GO. A statement is one that stands in no other: `IF ... BEGIN ... END` counts once, however often GO repeats it.
//! - A statement failed if an error of severity 11 or more says its line, or if the batch ended before it. So an error that ends a batch
//!   fails all statements that follow in it; their number is 0 and their message says so. A batch that has to be stopped after `SECONDS`
//!   failed in all its statements.
//! - A batch that does not parse is one statement that failed.
//!
//! All files share a session, as in a window of a query editor. The password of sa comes from `MSSQL_SA_PASSWORD`.

mod support;

use std::time::Duration;

use lab::client::{ClientError, Connection, Event, ServerMessage};
use serde_json::{Value, json};
use support::Server;
use syntax::ast::{Statement, StatementKind};
use syntax::batches::{Batch, split};
use syntax::parser::parse_batch;
use syntax::resources::Resources;

/// The last line of a batch, which shows that the batch came to its end.
const END: &str = "-- statements: the batch is over --";

fn main() {
    let (encrypt, arguments) = support::arguments();
    let [port, seconds, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: statements [--encrypt LEVEL] PORT SECONDS FILE ...");
        std::process::exit(2);
    };
    let server = Server {
        port: port.parse().expect("PORT is a number"),
        database: String::new(),
        encrypt,
    };
    let limit = Duration::from_secs(seconds.parse().expect("SECONDS is a number"));
    let mut session = server.open(support::PACKET_BYTES_DEFAULT);
    for file in files {
        let bytes = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut script = Script::default();
        for batch in split(&text_of(&bytes)) {
            script.run(&mut session, &batch, limit);
            if script.lost {
                session = server.open(support::PACKET_BYTES_DEFAULT);
                script.lost = false;
            }
        }
        let failed: Vec<Value> = script.failures.iter().map(Failure::to_json).collect();
        println!(
            "{}",
            json!({
                "file": file,
                "statements": script.statements,
                "ran": script.statements - failed.len(),
                "failed": failed,
            })
        );
    }
}

/// A file's text: UTF-16 with its mark, else UTF-8 with or without.
fn text_of(bytes: &[u8]) -> String {
    let units = |decode: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|two| decode([two[0], two[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xFF, 0xFE, ..] => units(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => units(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    }
}

/// As much of time, stack and memory as there is: these scripts were chosen.
struct Ample;

impl Resources for Ample {
    fn spend_step(&mut self) -> bool {
        true
    }

    fn has_stack(&self) -> bool {
        true
    }

    fn grow_tree(&mut self, _bytes: u64) -> bool {
        true
    }
}

/// What a script has come to so far.
#[derive(Default)]
struct Script {
    statements: usize,
    failures: Vec<Failure>,
    /// The session is of no use any more.
    lost: bool,
}

struct Failure {
    /// Line of the script.
    line: u32,
    number: i32,
    message: String,
    /// The statement's first line.
    statement: String,
}

impl Failure {
    fn to_json(&self) -> Value {
        json!({ "line": self.line, "number": self.number, "message": self.message, "statement": self.statement })
    }
}

/// What one run of a batch came to.
#[derive(Default)]
struct Run {
    errors: Vec<ServerMessage>,
    /// It came to its end.
    is_over: bool,
    /// Why it was stopped, if it was.
    stopped: Option<String>,
}

impl Script {
    fn run(&mut self, session: &mut Connection, batch: &Batch, limit: Duration) {
        let parsed = parse_batch(&batch.text, true, &mut Ample).map(|parsed| parsed.statements);
        let statements = parsed.unwrap_or_default();
        let count = statements.len();
        if count == 0 && !has_statements(&batch.text) {
            return;
        }
        self.statements += count.max(1);
        let is_followed = count > 0 && statements.iter().all(may_be_followed);
        let text = match is_followed {
            true => format!("{}\nPRINT N'{END}'", batch.text),
            false => batch.text.clone(),
        };
        let mut failed: Vec<Option<(i32, String)>> = vec![None; count.max(1)];
        for _ in 0..batch.repeat {
            let run = once(session, &text, limit, &mut self.lost);
            let mut reached = 0;
            for error in run.errors {
                let at = place_of(&error, &statements, &batch.text, reached);
                reached = reached.max(at + 1);
                failed[at].get_or_insert((error.number, error.text));
            }
            let rest = match run.stopped {
                Some(reason) => Some((0, reason)),
                None => (is_followed && !run.is_over).then(|| (reached, "the batch had ended".to_owned())),
            };
            if let Some((from, reason)) = rest {
                for one in &mut failed[from..] {
                    one.get_or_insert((0, reason.clone()));
                }
            }
            if self.lost || failed.iter().all(Option::is_some) {
                break;
            }
        }
        for (place, failure) in failed.into_iter().enumerate() {
            let Some((number, message)) = failure else { continue };
            let statement = statements.get(place);
            let line = batch.first_line + statement.map_or(1, |one| one.line) - 1;
            let start = statement.map_or(0, |one| one.span.0 as usize);
            let first_line = batch.text.get(start..).unwrap_or_default().trim().lines().next();
            self.failures.push(Failure {
                line,
                number,
                message,
                statement: first_line.unwrap_or_default().to_owned(),
            });
        }
    }
}

/// Whether a text that has no statement by our parser may have one by the server's: it is more than comments.
fn has_statements(text: &str) -> bool {
    parse_batch(text, true, &mut Ample).is_err()
}

/// Whether another statement may stand behind it and is run: not if all that follows belongs to it, or if it ends the batch.
fn may_be_followed(statement: &Statement) -> bool {
    use StatementKind as Kind;
    !matches!(
        statement.kind,
        Kind::CreateProcedure(_)
            | Kind::CreateFunction(_)
            | Kind::CreateView(_)
            | Kind::CreateTrigger(_)
            | Kind::CreateDatabaseTrigger(_)
            | Kind::CreateSchema(_)
            | Kind::Return(_)
    )
}

/// The place of the statement that an error is of. An error within a procedure says a line of the procedure: it is of the next statement
/// that names the procedure.
fn place_of(error: &ServerMessage, statements: &[Statement], text: &str, reached: usize) -> usize {
    let line = u32::try_from(error.line).unwrap_or(0);
    let names = |one: &Statement| {
        let own = text.get(one.span.0 as usize..one.span.1 as usize).unwrap_or_default();
        let procedure = error.procedure.rsplit('.').next().unwrap_or_default();
        own.to_ascii_lowercase().contains(&procedure.to_ascii_lowercase())
    };
    let place = match error.procedure.as_str() {
        "" => statements.iter().rposition(|one| one.line <= line),
        _ => statements
            .iter()
            .skip(reached.saturating_sub(1))
            .position(names)
            .map(|at| at + reached.saturating_sub(1)),
    };
    place.unwrap_or(0)
}

/// Runs a batch once.
fn once(session: &mut Connection, text: &str, limit: Duration, lost: &mut bool) -> Run {
    let mut run = Run::default();
    let answer = session.run_within(text, limit, &mut |event| match event {
        Event::Error(message) => run.errors.push(message.clone()),
        Event::Information(message) => run.is_over |= message.text == END,
        _ => {}
    });
    match answer {
        Ok(()) => {}
        Err(ClientError::Interrupted) => run.stopped = Some(format!("stopped after {} s", limit.as_secs())),
        Err(error) => {
            *lost = true;
            run.stopped = Some(error.to_string());
        }
    }
    run
}
