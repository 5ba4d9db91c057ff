//! `vlflab health`: whether a server answers, for a container's HEALTHCHECK, a load balancer's check or a person.
//!
//! It sends PRELOGIN to the server's port. An answer proves that the process runs, accepts connections and speaks TDS, and that every
//! recoverable database is open, because earlier connections wait. It does not mean that all databases were recoverable. The check needs no
//! login and leaves no line in the error log, so it can run every few seconds.

use crate::exit::Failure;
use crate::sql::host_and_port;
use clap::Args;
use lab::client::{ClientError, Connection};
use std::io::{self, Write};
use std::time::Duration;

/// Shown under `vlflab health --help`.
pub const HEALTH_EXAMPLES: &str = "Examples:
  vlflab health                              the server on 127.0.0.1:1433
  vlflab health --server db1,14330 --timeout 2
  HEALTHCHECK CMD [\"vlflab\", \"health\"]       in a Dockerfile

Exit codes: 0 it answers; 1 it does not, and standard error has the reason; 2 wrong usage.";

/// Options of `vlflab health`.
#[derive(Debug, Args)]
pub struct HealthOptions {
    /// The server.
    #[arg(short = 'S', long, value_name = "HOST[,PORT]", default_value = "127.0.0.1,1433")]
    pub server: String,
    /// Seconds to wait for a connection, and for the answer.
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
    Ok(writeln!(
        io::stdout(),
        "healthy: {host},{port} answers as version {version}"
    )?)
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
