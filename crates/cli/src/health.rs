//! `vlflab health`: whether a server serves, for a container's HEALTHCHECK, a load balancer's check or a person.
//!
//! | asked | what an answer proves | needs |
//! |---|---|---|
//! | PRELOGIN at the server's port | the process runs, takes connections and speaks TDS. Who connects earlier waits: a server answers once its databases are opened | nothing |
//! | `/readyz` at the address of its metrics, with `--metrics` | every database is recovered; the ones that are not are named | `serve --metrics` |
//!
//! Neither needs a login or leaves a line in the error log, so both may be asked every few seconds.

use crate::exit::Failure;
use crate::serve::MonitorAddress;
use crate::sql::host_and_port;
use clap::Args;
use lab::client::{ClientError, Connection};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Shown under `vlflab health --help`.
pub const HEALTH_EXAMPLES: &str = "Examples:
  vlflab health                              the server on 127.0.0.1:1433
  vlflab health --server db1,14330 --timeout 2
  vlflab health --metrics 9399               and every database is recovered
  HEALTHCHECK CMD [\"vlflab\", \"health\"]       in a Dockerfile

Exit codes: 0 it serves, 1 it does not, with the reason on standard error; 2 wrong usage.";

/// The most of an answer that is read.
const ANSWER_BYTES_MAX: u64 = 8 << 10;

/// The most that is shown of an answer of somebody else.
const LINE_CHARS_MAX: usize = 100;

/// Options of `vlflab health`.
#[derive(Debug, Args)]
pub struct HealthOptions {
    /// The server.
    #[arg(short = 'S', long, value_name = "HOST[,PORT]", default_value = "127.0.0.1,1433")]
    pub server: String,
    /// Also ask whether every database is recovered, at the address that the server was given with its own --metrics.
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub metrics: Option<MonitorAddress>,
    /// Seconds to wait for each answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub timeout: u16,
}

/// Runs the subcommand.
///
/// # Errors
/// The server does not serve.
pub fn health(options: &HealthOptions) -> Result<(), Failure> {
    let (host, port) = host_and_port(&options.server)?;
    let timeout = Duration::from_secs(options.timeout.into());
    let greeted = Connection::greet(&host, port, timeout);
    let version = greeted.map_err(|error| unhealthy(&format!("{host},{port}: {}", reason(error, timeout))))?;
    let mut line = format!("healthy: {host},{port} answers as version {version}");
    if let Some(address) = options.metrics {
        let ready = readiness(address, timeout);
        ready.map_err(|reason| unhealthy(&format!("http://{}/readyz: {reason}", address.reachable())))?;
        line += ", every database is recovered";
    }
    Ok(writeln!(io::stdout(), "{line}")?)
}

/// One line, whatever the other side has said.
fn unhealthy(reason: &str) -> Failure {
    let words: Vec<&str> = reason.split_whitespace().collect();
    Failure::Failed(format!("unhealthy: {}", words.join(" ")))
}

fn reason(error: ClientError, timeout: Duration) -> String {
    match error {
        ClientError::Unreachable { reason, .. } => reason,
        ClientError::Interrupted => {
            let seconds = timeout.as_secs();
            format!(
                "something takes the connection but does not answer within {seconds} s; a server answers when its databases are open"
            )
        }
        other => format!("{other}; is it a SQL Server?"),
    }
}

/// What `/readyz` says; its words when that is no.
fn readiness(address: MonitorAddress, timeout: Duration) -> Result<(), String> {
    let asked = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address.reachable(), timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let request = format!(
            "GET /readyz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            address.reachable()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = asked().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!("no answer within {} s", timeout.as_secs()),
        io::ErrorKind::ConnectionRefused => "nobody listens there (connection refused)".to_owned(),
        _ => error.to_string(),
    })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    match status {
        "200" => Ok(()),
        "503" => Err(body.trim().replace('\n', ", ")),
        _ => {
            let line = head.lines().next().unwrap_or_default();
            let line: String = line.chars().take(LINE_CHARS_MAX).collect();
            Err(format!("this is not the metrics address of a vlflab server: {line:?}"))
        }
    }
}
