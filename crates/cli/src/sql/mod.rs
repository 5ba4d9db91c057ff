//! `vlflab sql`: scripts, a query or a prompt, on a folder or against a server, in the manner of sqlcmd.

mod document;
mod embedded;
mod output;
mod plan;
mod prompt;

use crate::arguments::{PlanForm, SqlOptions};
use crate::exit::Failure;
use crate::login;
use lab::client::{ClientError, Connection, Event, LOGIN_TIMEOUT, Target};
use output::Output;
use plan::Plans;
use signal_hook::consts::SIGINT;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tsql::batches::{self, Variables};

/// Something that runs batches.
pub trait Channel {
    /// Setting it stops the running batch; Ctrl-C does.
    fn cancel_flag(&self) -> Arc<AtomicBool>;

    /// Runs one batch and hands over what comes back.
    ///
    /// # Errors
    /// The connection broke, or the batch was stopped; errors of T-SQL are events.
    fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError>;
}

/// A server somewhere.
struct Remote {
    connection: Connection,
    cancel: Arc<AtomicBool>,
}

impl Channel for Remote {
    fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    fn run(&mut self, batch: &str, on_event: &mut dyn FnMut(Event<'_>)) -> Result<(), ClientError> {
        self.connection.run_cancellable(batch, &self.cancel, on_event)
    }
}

/// Runs the subcommand.
pub fn sql(options: &SqlOptions) -> Result<(), Failure> {
    let scripts = scripts(options)?;
    let channel = open(options)?;
    let sink: Box<dyn Write> = match &options.output {
        Some(path) => Box::new(io::BufWriter::new(
            File::create(path).map_err(|error| named(path, &error))?,
        )),
        None => Box::new(io::BufWriter::new(io::stdout())),
    };
    let cancel = channel.cancel_flag();
    signal_hook::flag::register(SIGINT, Arc::clone(&cancel))?;
    let mut session = SqlSession {
        cancel,
        channel,
        output: Output::new(sink, options),
        variables: variables(options),
        stop_at_error: options.stop_at_error,
        failed: false,
        plans: options.plan.map(|form| (form, Plans::default())),
    };
    if options.plan.is_some() {
        session.ask_for_plans(options.estimated)?;
    }
    for script in &scripts {
        if session.run_script(script)? && options.stop_at_error {
            return session.outcome();
        }
    }
    if scripts.is_empty() || options.first_query.is_some() {
        prompt::prompt(&mut session)?;
        return Ok(());
    }
    session.outcome()
}

fn named(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

fn variables(options: &SqlOptions) -> Variables {
    let mut variables = Variables::default();
    for (name, value) in &options.variables {
        variables.set(name, value.as_str());
    }
    variables
}

/// The texts to run before, or instead of, the prompt.
fn scripts(options: &SqlOptions) -> Result<Vec<String>, Failure> {
    if let Some(query) = options.query.as_ref().or(options.first_query.as_ref()) {
        return Ok(vec![query.clone()]);
    }
    if !options.input.is_empty() {
        let read = |path: &std::path::PathBuf| {
            let bytes = fs::read(path).map_err(|error| named(path, &error))?;
            Ok(String::from_utf8(bytes).unwrap_or_else(|error| decode_script(error.as_bytes())))
        };
        return options.input.iter().map(read).collect();
    }
    if io::stdin().is_terminal() {
        return Ok(Vec::new());
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(vec![text])
}

/// A script that is not UTF-8: UTF-16 when it begins with its mark, else the bytes as Latin letters.
fn decode_script(bytes: &[u8]) -> String {
    let units = |rest: &[u8], join: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest
            .chunks_exact(2)
            .filter_map(|pair| pair.try_into().ok().map(join))
            .collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => units(rest, u16::from_be_bytes),
        _ => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

fn open(options: &SqlOptions) -> Result<Box<dyn Channel>, Failure> {
    let of_environment = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let server = options.server.clone();
    let server = server.or_else(|| of_environment("SQLCMDSERVER").filter(|_| options.data.is_none()));
    let Some(server) = server else {
        if options.user.is_some() || options.password.is_some() || options.security.is_given() {
            let text = "-U, -P, -N, -C, -F and -J are for a server; name it with -S";
            return Err(Failure::Usage(text.to_owned()));
        }
        return embedded::open(options);
    };
    let (host, port) = host_and_port(&server)?;
    let user = options.user.clone().or_else(|| of_environment("SQLCMDUSER"));
    let user = user.unwrap_or_else(|| "sa".to_owned());
    let security = options.security.security(&host)?;
    let password = match &options.password {
        Some(password) => password.clone(),
        None => login::password(&user, &host, &["SQLCMDPASSWORD"])?,
    };
    let target = Target {
        host,
        port,
        user,
        password,
        database: options.database.clone().or_else(|| of_environment("SQLCMDDBNAME")),
        timeout: LOGIN_TIMEOUT,
        security,
    };
    Ok(Box::new(Remote {
        connection: Connection::open(&target)?,
        cancel: Arc::default(),
    }))
}

/// `host`, `host,port`, `tcp:host,port` or `host:port`.
fn host_and_port(server: &str) -> Result<(String, u16), Failure> {
    const DEFAULT_PORT: u16 = 1433;
    let server = server.strip_prefix("tcp:").unwrap_or(server);
    let Some((host, port)) = server.rsplit_once(',').or_else(|| server.rsplit_once(':')) else {
        return Ok((server.to_string(), DEFAULT_PORT));
    };
    let port = port
        .trim()
        .parse()
        .map_err(|_| Failure::Usage(format!("{port:?} is not a port; write HOST,PORT")))?;
    Ok((host.to_string(), port))
}

/// A channel with where its answers go.
pub struct SqlSession {
    /// Set by Ctrl-C.
    cancel: Arc<AtomicBool>,
    channel: Box<dyn Channel>,
    output: Output,
    variables: Variables,
    stop_at_error: bool,
    failed: bool,
    /// Where plans are shown instead of rows: how, and those of the batch at hand.
    plans: Option<(PlanForm, Plans)>,
}

impl SqlSession {
    /// Runs the batches of a script; true when one failed.
    fn run_script(&mut self, script: &str) -> Result<bool, Failure> {
        let script = self.variables.substitute(script).map_err(Failure::Usage)?;
        let mut failed = false;
        for batch in batches::split(&script) {
            for _ in 0..batch.repeat {
                failed |= self.run_batch(&batch.text)?;
                if failed && self.stop_at_error {
                    break;
                }
            }
            if failed && self.stop_at_error {
                break;
            }
        }
        self.failed |= failed;
        Ok(failed)
    }

    fn run_batch(&mut self, batch: &str) -> Result<bool, Failure> {
        let output = &mut self.output;
        self.cancel.store(false, Ordering::SeqCst);
        let plans = &mut self.plans;
        let run = self.channel.run(batch, &mut |event| {
            let is_taken = plans.as_mut().is_some_and(|(_, plans)| plans.take(&event));
            if !is_taken {
                output.event(&event);
            }
        });
        self.show_plans().map_err(Failure::Io)?;
        let failed = self.output.end_of_batch()?;
        run?;
        Ok(failed)
    }

    /// Has the server answer with plans from here on.
    fn ask_for_plans(&mut self, estimated: bool) -> Result<(), Failure> {
        let option = if estimated { "SHOWPLAN_XML" } else { "STATISTICS XML" };
        self.run_batch(&format!("SET {option} ON")).map(|_| ())
    }

    /// Shows the plans of the batch. A document that is none of a plan is shown as it came.
    fn show_plans(&mut self) -> io::Result<()> {
        let Some((form, plans)) = &mut self.plans else {
            return Ok(());
        };
        let width = terminal_size::terminal_size().map_or(usize::MAX, |(width, _)| usize::from(width.0));
        for document in plans.documents() {
            let drawn = match form {
                PlanForm::Tree => plan::draw(&document, width),
                PlanForm::Xml => None,
            };
            self.output
                .line(drawn.as_deref().unwrap_or(&document).trim_end_matches('\n'))?;
            if *form == PlanForm::Tree {
                self.output.line("")?;
            }
        }
        Ok(())
    }

    /// A line of our own among the answers.
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.output.line(text).map_err(Failure::Io)
    }

    fn outcome(&self) -> Result<(), Failure> {
        match (self.output.saw_corruption(), self.failed) {
            (true, _) => Err(Failure::Corruption),
            (false, true) => Err(Failure::Failed(String::new())),
            (false, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn servers_as_sqlcmd_takes_them() {
        for (text, host, port) in [
            ("localhost", "localhost", 1433),
            ("localhost,1434", "localhost", 1434),
            ("tcp:db.example, 1500", "db.example", 1500),
            ("127.0.0.1:14330", "127.0.0.1", 14_330),
        ] {
            assert_eq!(host_and_port(text).unwrap(), (host.to_string(), port));
        }
        assert!(host_and_port("host,many").is_err());
    }

    #[test]
    fn scripts_of_other_encodings_are_read() {
        assert_eq!(decode_script(&[0xFF, 0xFE, b'G', 0, b'O', 0]), "GO");
        assert_eq!(decode_script(&[0xFE, 0xFF, 0, b'G', 0, b'O']), "GO");
        assert_eq!(decode_script(&[b'\'', 0xE9, b'\'']), "'é'");
    }
}
