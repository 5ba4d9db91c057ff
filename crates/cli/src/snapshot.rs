//! `vlflab snapshot`: saves a server's logs as one JSON file, to be analysed elsewhere or later.

use crate::exit::Failure;
use crate::reach::{ReachOptions, write_out};
use clap::Args;
use std::path::PathBuf;

/// Shown under `vlflab snapshot --help`.
pub const SNAPSHOT_EXAMPLES: &str = "Examples:
  MSSQL_PASSWORD=... vlflab snapshot -S db1 -U reader --out db1.json
  vlflab advise --from db1.json

Only reads: one connection, one query at a time, none longer than --query-timeout, at READ UNCOMMITTED and with a low deadlock
priority. A login needs VIEW SERVER STATE, and db_datareader in msdb for the history of backups; what it may not read is named in
the file with the reason. The file has names of servers, databases, files, logins, hosts and programs, and no text of statements.";

/// Options of `vlflab snapshot`.
#[derive(Debug, Args)]
pub struct SnapshotOptions {
    #[command(flatten)]
    pub reach: ReachOptions,
    /// File to write instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Runs `vlflab snapshot`.
pub fn snapshot(options: &SnapshotOptions) -> Result<(), Failure> {
    let Some(server) = &options.reach.server else {
        return Err(Failure::Usage("which server? Write -S HOST[,PORT]".to_owned()));
    };
    let snapshot = options.reach.snapshot(server)?;
    write_out(options.out.as_ref(), &format!("{}\n", snapshot.to_json()))
}
