//! The command line.

use crate::advise::{ADVISE_EXAMPLES, AdviseOptions};
use crate::compare::{COMPARE_EXAMPLES, CompareOptions};
use crate::disks::{DISKS_EXAMPLES, DisksOptions};
use crate::export::{EXPORT_EXAMPLES, ExportOptions};
use crate::generate::{COMPLETIONS_EXAMPLES, CompletionsOptions, MAN_EXAMPLES, ManOptions};
use crate::health::{HEALTH_EXAMPLES, HealthOptions};
use crate::inspect::{INSPECT_EXAMPLES, InspectOptions};
use crate::lesson::{LESSON_EXAMPLES, LessonOptions};
use crate::login::{SecurityOptions, TicketOptions};
use crate::mcp::{MCP_EXAMPLES, McpOptions};
use crate::plan::{PLAN_EXAMPLES, PlanOptions};
use crate::replay::{REPLAY_EXAMPLES, ReplayOptions};
use crate::report::{REPORT_EXAMPLES, ReportOptions};
use crate::sample::{SAMPLE_EXAMPLES, SampleOptions};
use crate::snapshot::{SNAPSHOT_EXAMPLES, SnapshotOptions};
use crate::sql::{SQL_EXAMPLES, SqlOptions};
use crate::sweep::{SWEEP_EXAMPLES, SweepOptions};
use crate::watch::{WATCH_EXAMPLES, WatchOptions};
use crate::web::own_address;
use clap::{Args, Parser, Subcommand};
use engine::log::LogPolicy;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use vlf::ServerVersion;

/// A database engine with a transaction log like SQL Server's, and a lab that measures what such a log costs.
#[derive(Debug, Parser)]
#[command(
    name = "vlflab",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done, 1 a batch or run failed, 2 wrong usage, 3 cannot connect, 4 damaged data found,\n5 advise found something to do, 6 not everything could be read, 7 stopped and can be run again,\n8 running it again is useless, 99 a threshold was missed, 130 interrupted.\n\nStart here:  vlflab run"
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs experiments and writes results.json and a report.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunOptions),
    /// Runs experiments under every combination of disks, versions, layouts, mechanisms and sizes, on one machine or many.
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepOptions),
    /// Lists the modelled disks that experiments can run on; explains one.
    #[command(after_help = DISKS_EXAMPLES)]
    Disks(DisksOptions),
    /// Compares two runs: what is faster, what is slower, and what shows no clear difference.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareOptions),
    /// Writes the reports of a run again from its results.json, even from another machine; or the report of a sweep, from its folders.
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportOptions),
    /// Runs T-SQL: scripts, a query, or a prompt; on a folder, or against a server.
    #[command(disable_help_flag = true, after_help = SQL_EXAMPLES)]
    Sql(Box<SqlOptions>),
    /// Serves T-SQL to any SQL Server client.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeOptions),
    /// Checks whether a server answers, without a login: for a container's HEALTHCHECK.
    #[command(after_help = HEALTH_EXAMPLES)]
    Health(HealthOptions),
    /// Copies a database to another server, SQL Server or Azure SQL, or to a folder of scripts and CSV files.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(Box<ExportOptions>),
    /// Creates a sample database and backs it up for the published scripts.
    #[command(after_help = SAMPLE_EXAMPLES)]
    Sample(SampleOptions),
    /// Predicts the VLFs of a growth plan on every version of SQL Server; finds the steps and the T-SQL for a better layout.
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanOptions),
    /// Reads a log file, data files or a backup without a server: VLFs, tables, rows, who changed them, damage.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectOptions),
    /// Checks the logs of a server or of many: what is wrong, what holds a log, what it costs in seconds, what to do.
    #[command(after_help = ADVISE_EXAMPLES)]
    Advise(Box<AdviseOptions>),
    /// Saves the state of a server's logs as one JSON file, for vlflab advise.
    #[command(after_help = SNAPSHOT_EXAMPLES)]
    Snapshot(Box<SnapshotOptions>),
    /// Draws the logs of a server live in a browser, as annotated rings. vlflab serve --web does so for its own logs.
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(Box<WatchOptions>),
    /// Runs a lesson about the log on a separate instance, and shows what happens and why.
    #[command(after_help = LESSON_EXAMPLES)]
    Lesson(LessonOptions),
    /// Plays a recording of the live page in the terminal.
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(ReplayOptions),
    /// Serves plan, price, inspect, advise and snapshot as read-only tools of the Model Context Protocol, over standard input and output.
    #[command(after_help = MCP_EXAMPLES)]
    Mcp(McpOptions),
    /// Prints the completion script of a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsOptions),
    /// Prints a manual page.
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManOptions),
}

impl Command {
    /// Whether it has an engine in this process, or in one that it begins with its environment.
    pub fn starts_instance(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Sweep(_)
                | Command::Sql(_)
                | Command::Serve(_)
                | Command::Sample(_)
                | Command::Lesson(_)
        )
    }
}

const RUN_EXAMPLES: &str = "Examples:
  vlflab run                                 VLFs at their published numbers, modelled and measured: two minutes
  vlflab run --list                          the built-in experiments
  vlflab run recovery --scale full           the published sizes; needs 6 GB of disk
  vlflab run accelerated --scale large       20 GB through a 1 GB log with an open transaction, by accelerated recovery
  vlflab run recovery dml --only bad --runs 5
  vlflab run recovery --scale full --disk hdd-7200-2006
                                             the published size on a model of a disk of its time
  vlflab run --template my-experiment        writes an experiment to start from
  vlflab run my-experiment.toml --out results
  MSSQL_PASSWORD=... vlflab run recovery --target mssql://sa@db1:1433 -J db1.pem --yes

Ctrl-C ends a run early: measurements so far are kept, and their report is written.";

const SERVE_EXAMPLES: &str = "Examples:
  vlflab serve                               on 127.0.0.1:1433, data in ./vlflab-data
  vlflab serve --port 14330 --sql-version 2005 --log-policy classic
  vlflab serve --web                         and shows every log live in a browser
  vlflab serve --in-memory --restore shop.bak --port 0
                                             for tests: a database from its backup, and nothing left at the end
  MSSQL_SA_PASSWORD='Str0ng!pass' vlflab serve --bind 0.0.0.0 --certificate host.pem --key host.key

A start that fails leaves the folder as it was. Ctrl-C or SIGTERM ends the server within 2 seconds. What was not written
by then is recovered at the next start. SHUTDOWN writes everything first.

Under systemd (Type=notify) it reports when it is ready, what it recovers, and that it is alive.

Exit codes: 0 stopped on request, 1 it could not start or the log of a system database failed, 2 wrong usage,
130 ended at once, by a signal before its databases were open or by a second signal.";

/// Folder of the instance when none is named.
pub const DEFAULT_DATA: &str = "vlflab-data";

/// Options of `vlflab serve`.
#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Instance folder; created if it does not exist, readable only by its owner. A folder with other files than an instance's is
    /// refused.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_DATA)]
    pub data: PathBuf,
    /// Keep everything in memory: nothing is written to a disk, nothing is synced, and nothing is left when the server ends,
    /// even if it is killed. Files may take half of the machine's memory.
    #[arg(long, conflicts_with_all = ["data", "disk"])]
    pub in_memory: bool,
    /// Restore the last full backup in this file before the server is ready, under its database's name, with its files next to
    /// master's; may be given several times. An existing database stays unchanged. Statements may then name files of that
    /// folder.
    #[arg(long, value_name = "FILE")]
    pub restore: Vec<PathBuf>,
    /// TCP port; 0 picks a free one.
    #[arg(long, default_value_t = 1433)]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// How connections are encrypted [default: on; required where other machines can connect].
    #[arg(long, value_name = "DEMAND")]
    pub encrypt: Option<EncryptDemand>,
    /// Certificate to present, PEM, followed by its chain [default: a self-signed one, made at the first start and kept in the
    /// instance folder].
    #[arg(long, value_name = "FILE", requires = "key")]
    pub certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,
    /// Let clients on other machines connect unencrypted, although passwords and data can then be read on the way.
    #[arg(long)]
    pub allow_unencrypted: bool,
    /// SQL Server version to emulate, in log layout and version number: 2005, 2008, 2008R2, 2012 ... 2025. The folder
    /// remembers it [default: what the folder was last started as, 2022 for a new one].
    #[arg(long, value_name = "VERSION")]
    pub sql_version: Option<ServerVersion>,
    /// How the log works: native, classic, or one of them with the mechanisms that differ, such as
    /// native,discovery=classic. The folder remembers it [default: what the folder was last started with, native for a new
    /// one].
    #[arg(long, value_name = "POLICY")]
    pub log_policy: Option<LogPolicy>,
    /// Whether data files may grow without zeroing the new space.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    pub instant_file_initialization: bool,
    /// Password of sa for a new folder: at least 8 characters from three of these sets: uppercase letters, lowercase letters,
    /// digits, symbols. Without it, a random one is generated and printed once. A folder keeps its password; a different one ends
    /// the start.
    #[arg(long, value_name = "PASSWORD", env = "MSSQL_SA_PASSWORD", hide_env_values = true)]
    pub sa_password: Option<String>,
    /// Replace the folder's password of sa with the one given, or with a random one that is printed once.
    #[arg(long)]
    pub reset_sa_password: bool,
    /// Memory for pages and queries, MB; sp_configure 'max server memory' can set less [default: a quarter of the
    /// machine's, at most 4096, less where addresses are limited].
    #[arg(long, value_name = "MB")]
    pub max_server_memory: Option<u32>,
    /// Another folder in which statements may name files, in addition to the instance folder; may be given several times.
    #[arg(long, value_name = "DIR")]
    pub allow_path: Vec<PathBuf>,
    /// Serve HTTP on this port: /metrics for Prometheus, /healthz, /readyz. Without an address, only to this machine. There is no
    /// login, and the answers contain database names. Port 0 picks a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = metrics_address)]
    pub metrics: Option<SocketAddr>,
    /// Show every log live in a browser: a page on this port of this machine, which only reads. Its address, with a token, is printed at
    /// the start. Port 0, or none, picks a free one.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = own_address, num_args = 0..=1, default_missing_value = "0")]
    pub web: Option<SocketAddr>,
    /// Largest file of the error log, MB; a full one is cycled.
    #[arg(long, value_name = "MB", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=2047))]
    pub error_log_size: u32,
    /// Old files of the error log to keep.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(6..=99))]
    pub error_log_files: u8,
    /// Also print the error log: as text, or as JSON, an object a line; then all other output is JSON too.
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Also print the error log, as text unless --log-format says otherwise.
    #[arg(short, long)]
    pub verbose: bool,
    /// End when standard input is closed, for programs that start a server of their own. Each byte there is answered with
    /// the time of a modelled disk.
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
    /// Answer a view or function of sys, a column of one (VIEW.COLUMN=207), loginfo or sp_readerrorlog as an older version (207, 208) or a
    /// lesser login (229, 300, 2571) would see it: NAME=NUMBER, for tests of tools that read servers.
    #[arg(long, value_name = "NAME=NUMBER", value_parser = withheld, hide = true)]
    pub withhold: Vec<(String, i32)>,
    /// A modelled disk, whose time then counts: for one session at a time, and not durable on this machine.
    #[arg(long, value_name = "NAME|FILE", hide = true)]
    pub disk: Option<String>,
    /// Decides the angles at which seeks of that disk end.
    #[arg(long, hide = true, default_value_t = 1)]
    pub disk_seed: u64,
    /// Only that disk takes time.
    #[arg(long, hide = true)]
    pub without_processor_time: bool,
}

/// A source and the number of the error that it is answered by.
fn withheld(text: &str) -> Result<(String, i32), String> {
    let (name, number) = text.split_once('=').ok_or("write NAME=NUMBER")?;
    let number = number.parse().ok();
    let known = number.filter(|number| tsql::views::WITHHELD_NUMBERS.contains(number));
    let number = known.ok_or_else(|| format!("the number is one of {:?}", tsql::views::WITHHELD_NUMBERS))?;
    Ok((name.to_owned(), number))
}

/// An address with its port, or a port of this machine's own.
fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    let own = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let parsed = text.parse().ok().or_else(|| text.parse().ok().map(own));
    parsed.ok_or_else(|| {
        "it is neither a port nor an address with its port, such as 9187, 10.0.0.5:9187 or [::1]:9187".to_owned()
    })
}

/// What `vlflab serve` demands of clients, as SQL Server's "Force Encryption" and "Force Strict Encryption" do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum EncryptDemand {
    /// Everything is encrypted; a client that cannot is refused.
    Required,
    /// The client chooses; by default only the login is encrypted.
    On,
    /// Clients of TDS 8.0 (Encrypt=strict) only: TLS comes first.
    Strict,
    /// There is no TLS.
    Off,
}

/// The form of what `vlflab serve` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// As in the error log file.
    Text,
    /// For log collectors.
    Json,
}

/// Options of `vlflab run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Built-in experiments, or your own files ending in .toml. Without any: the published VLF counts, on modelled disks and on
    /// this machine's, a small run of the work on rows, and a forgotten transaction with accelerated recovery and without; with
    /// --scale full, the published experiments at their sizes. With 'recovery' goes 'accelerated', except with --target.
    #[arg(value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// List the built-in experiments, with their scales and configurations, and exit.
    #[arg(long)]
    pub list: bool,
    /// Size: quick, full, or what the experiment's file defines.
    #[arg(long, value_name = "SCALE", default_value = "quick")]
    pub scale: String,
    /// Folder for the results, the report and, meanwhile, the databases [default: vlflab-results, or vlflab-results-2 and so on
    /// where that is taken].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the results that --out holds.
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Also write a two-page report for print, report-short.html: the results, and the disks on which VLFs hurt.
    #[arg(long)]
    pub short: bool,
    /// Write an experiment for you to change, NAME.toml with its scripts, and exit. It runs as it is; docs/experiments.md
    /// explains every key.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "my-experiment", conflicts_with_all = ["experiments", "list", "target", "disk", "short"])]
    pub template: Option<String>,
    /// Runs of each configuration, instead of the scale's own count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub runs: Option<u16>,
    /// Only configurations of this name (bad), or with this setting (classic), or both (bad-classic); several separated by commas.
    #[arg(long, value_name = "NAME,...")]
    pub only: Vec<String>,
    /// Run on an existing server, such as a real SQL Server; the password comes from MSSQL_PASSWORD or SQLCMDPASSWORD,
    /// or is asked for. With -E or --access-token, mssql://HOST[:PORT][/DATABASE].
    #[arg(long, value_name = "mssql://USER@HOST[:PORT][/DATABASE]")]
    pub target: Option<String>,
    #[command(flatten)]
    pub ticket: TicketOptions,
    #[command(flatten)]
    pub security: SecurityOptions,
    /// Run on modelled disks instead of this machine's: by name (see vlflab disks), or your own files ending in .toml; several
    /// separated by commas. The disk's time is then computed and added to the processor's, for one session at a time.
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', conflicts_with = "target")]
    pub disk: Vec<String>,
    /// On modelled disks, count the disk's time alone: every run then has the same times, to the nanosecond.
    #[arg(long, requires = "disk")]
    pub without_processor_time: bool,
    /// Also record the logs of the first run of each configuration, as HTML files next to the report that play by themselves. A log is then
    /// polled five times a second while it is measured.
    #[arg(long, conflicts_with_all = ["target", "list", "template"])]
    pub record: bool,
    /// Agree to what the run creates and drops on the server of --target.
    #[arg(long, requires = "target")]
    pub yes: bool,
    /// Seconds to wait for a connection and for the login.
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..), requires = "target")]
    pub login_timeout: u16,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
