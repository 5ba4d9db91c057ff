//! `vlflab advise`: the command line of [`advisor::advice`], for one server, many servers, a snapshot, pasted rows or a log file.

use crate::apply::{ApplyOptions, apply};
use crate::exit::Failure;
use crate::inspect::open;
use crate::plan::{TEXT_BYTES_MAX, priced_disk};
use crate::reach::{ReachOptions, write_out};
use advisor::advice::{Advice, CHECKS, advise as judge, check};
use advisor::database::begins_with_page_zero;
use advisor::history::{rows_of, trends as trends_of};
use advisor::pasted::{PASTE_SCRIPT, decoded};
use advisor::render::{AdviceFormat, AdviceText, Unreached, advice_text, checks_table, explanation, nagios};
use advisor::render::{Format, trends_text};
use advisor::snapshot::{Snapshot, of_inspection, of_text};
use advisor::{Depth, inspect};
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};
use vlf::ServerVersion;

/// Shown under `vlflab advise --help`.
pub const ADVISE_EXAMPLES: &str = "Examples:
  What is wrong with the logs of this server, what holds them, what does it cost, and what should I do?
    MSSQL_PASSWORD=... vlflab advise -S db1 -U reader

  The same for a snapshot received by mail, for rows pasted from DBCC LOGINFO, for a log file:
    vlflab advise --from db1.json
    vlflab advise --from loginfo.txt --sql-version 2012
    vlflab advise Sales_log.ldf

  Two hundred servers, one table, the most urgent first; for a monitor; for a spreadsheet:
    vlflab advise --inventory servers.txt --parallel 20
    vlflab advise -S db1 --format nagios
    vlflab advise -S db1 --format csv > logs.csv
    vlflab advise --inventory servers.txt --format html > logs.html

  Rebuild a log that has too many VLFs: shows the T-SQL, asks, goes step by step:
    MSSQL_PASSWORD=... vlflab advise -S db1 -U dba --apply Sales --log-backup \"EXEC msdb.dbo.sp_start_job N'Log backups'\"

  What does a finding mean?
    vlflab advise --explain held-by-replication

Nothing is changed, except by --apply: you read the T-SQL and run it yourself. It reads the same views as vlflab snapshot.
--apply rebuilds the log of one database. It makes no log backup by itself, changes no recovery model and names no path. It stops if something
holds the log, and only prints the T-SQL for availability groups, mirroring, Managed Instance and RDS. Run it again to continue.

Exit codes: 0 nothing to do, 5 there is something to do, 6 no findings but not everything could be read, 7 --apply stopped and
can be run again, 2 wrong usage, 3 cannot connect. With --format nagios: 0 OK, 1 warning, 2 critical, 3 unknown.";

/// Exit code: something is to be done.
const FINDINGS: u8 = 5;
/// Exit code: not everything could be read.
const GAPS: u8 = 6;

/// Options of `vlflab advise`.
#[derive(Debug, Args)]
pub struct AdviseOptions {
    /// A log file; no server is needed.
    #[arg(value_name = "FILE.ldf", conflicts_with_all = ["server", "from", "inventory"])]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub reach: ReachOptions,
    /// A snapshot (vlflab snapshot), or rows pasted from DBCC LOGINFO or sys.dm_db_log_info, of several databases too; - reads
    /// standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "inventory"])]
    pub from: Option<PathBuf>,
    /// Servers, one a line: HOST[,PORT], HOST\INSTANCE or mssql://LOGIN@HOST:PORT, then login=NAME, password=VARIABLE, token=VARIABLE,
    /// group=NAME.
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    pub inventory: Option<PathBuf>,
    /// The servers that are registered at this central management server, with the login of the command line.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["server", "from", "inventory", "file", "apply"])]
    pub registered_at: Option<String>,
    /// Only the servers of this group of the inventory, or of the central management server.
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Servers of the inventory that are read at a time.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub parallel: u16,
    /// Version whose rules apply to pasted rows and log files: 2005, 2008, 2008R2, 2012 ... 2025.
    #[arg(long, value_name = "VERSION", default_value = "2022")]
    pub sql_version: ServerVersion,
    /// Disk that seconds are computed on: one of the program (vlflab disks), or a file ending in .toml, such as a probe writes
    /// [default: azure-p30].
    #[arg(long, value_name = "DISK")]
    pub disk: Option<String>,
    /// Only findings of this priority or more urgent ones (1 is the most urgent).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    pub priority: Option<u8>,
    /// Show also what needs nothing done, and what the server does not have.
    #[arg(long)]
    pub all: bool,
    /// Explain a finding, by its id or CheckID, and end; without one, list all.
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["server", "from", "inventory", "file"])]
    pub explain: Option<String>,
    /// Also keep this pass in a folder, as Parquet files that DuckDB and others read.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["apply", "explain"])]
    pub history: Option<PathBuf>,
    /// Show trends from such a folder: growth a week, VLFs a month, days until full (as table, jsonl, csv or md).
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["server", "from", "inventory", "file", "apply", "history", "explain"])]
    pub trends: Option<PathBuf>,
    #[command(flatten)]
    pub applied: ApplyOptions,
    /// Print T-SQL that reads the VLFs where this program cannot connect, for --from.
    #[arg(long, conflicts_with_all = ["server", "from", "inventory", "file"])]
    pub paste_script: bool,
    /// table, jsonl, csv, md, html (one page for a browser), nagios or junit.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: AdviceFormat,
}

/// Runs `vlflab advise`.
pub fn advise(options: &AdviseOptions) -> Result<(), Failure> {
    if let Some(id) = &options.explain {
        return explain(id);
    }
    if options.paste_script {
        return write_out(None, PASTE_SCRIPT);
    }
    if let Some(folder) = &options.trends {
        return trends(folder, options.format);
    }
    let disk = priced_disk(options.disk.as_deref())?;
    if let (Some(database), Some(server)) = (&options.applied.apply, &options.reach.server) {
        return apply(server, database, &options.applied, &options.reach, &disk);
    }
    let mut servers: Vec<Advice> = Vec::new();
    let mut unreached: Vec<Unreached> = Vec::new();
    let mut kept = (Vec::new(), Vec::new());
    let taken_at_s = now_s();
    for outcome in snapshots(options)? {
        match outcome {
            Ok(snapshot) => {
                let advice = judge(&snapshot, &disk);
                if options.history.is_some() {
                    let (logs, findings) = rows_of(&snapshot, &advice, taken_at_s);
                    kept.0.extend(logs);
                    kept.1.extend(findings);
                }
                servers.push(advice);
            }
            Err(failed) => unreached.push(failed),
        }
    }
    if let Some(folder) = &options.history {
        // The process tells passes of one second apart.
        let name = format!("{taken_at_s}-{}", std::process::id());
        remote::append(folder, &name, &kept.0, &kept.1).map_err(Failure::Failed)?;
    }
    if let Some(most) = options.priority {
        let is_wanted = |finding: &advisor::advice::Finding| {
            finding.priority <= most || finding.outcome == advisor::advice::Outcome::NotChecked
        };
        servers.iter_mut().for_each(|advice| advice.findings.retain(is_wanted));
    }
    let text = AdviceText {
        servers: &servers,
        unreached: &unreached,
        all: options.all,
    };
    write_out(None, &advice_text(text, options.format))?;
    let code = match options.format {
        AdviceFormat::Nagios => nagios(text).0,
        _ if servers.iter().any(|advice| advice.to_do().next().is_some()) => FINDINGS,
        _ if !unreached.is_empty() || servers.iter().any(Advice::has_gaps) => GAPS,
        _ => return Ok(()),
    };
    match code {
        0 => Ok(()),
        code => Err(Failure::Code(code)),
    }
}

/// Seconds since 1970, UTC.
fn now_s() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

fn trends(folder: &Path, format: AdviceFormat) -> Result<(), Failure> {
    let format = match format {
        AdviceFormat::Table => Format::Table,
        AdviceFormat::JsonLines => Format::Json,
        AdviceFormat::Csv => Format::Csv,
        AdviceFormat::Markdown => Format::Markdown,
        _ => {
            return Err(Failure::Usage("trends are shown as table, jsonl, csv or md".to_owned()));
        }
    };
    let rows = remote::logs(folder).map_err(Failure::Failed)?;
    write_out(None, &trends_text(&trends_of(&rows), format))
}

fn explain(id: &str) -> Result<(), Failure> {
    if id.is_empty() {
        return write_out(None, &checks_table(CHECKS));
    }
    let Some(check) = check(id) else {
        return Err(Failure::Usage(format!(
            "no finding is called '{id}'; vlflab advise --explain lists them"
        )));
    };
    write_out(None, &explanation(check))
}

fn snapshots(options: &AdviseOptions) -> Result<Vec<Result<Snapshot, Unreached>>, Failure> {
    if options.group.is_some() && options.inventory.is_none() && options.registered_at.is_none() {
        return Err(Failure::Usage(
            "--group is one of --inventory or of --registered-at".to_owned(),
        ));
    }
    let sources = (&options.file, &options.from, &options.inventory, &options.reach.server);
    match sources {
        (Some(file), ..) => Ok(vec![Ok(of_file(file, options)?)]),
        (_, Some(from), ..) => Ok(vec![Ok(from_text(from, options)?)]),
        _ if options.registered_at.is_some() => {
            let server = options.registered_at.as_deref().unwrap_or_default();
            options
                .reach
                .registered(server, options.group.as_deref(), options.parallel.into())
        }
        (_, _, Some(inventory), _) => {
            options
                .reach
                .inventory(inventory, options.group.as_deref(), options.parallel.into())
        }
        // A monitor wants its line, whatever happens.
        (.., Some(server)) => match options.reach.snapshot(server) {
            Err(Failure::CannotConnect(reason)) if options.format == AdviceFormat::Nagios => Ok(vec![Err(Unreached {
                name: server.clone(),
                reason,
            })]),
            outcome => Ok(vec![Ok(outcome?)]),
        },
        _ => Err(Failure::Usage(
            "whose logs? Write -S HOST[,PORT], --from FILE, --inventory FILE or a log file".to_owned(),
        )),
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn of_file(path: &Path, options: &AdviseOptions) -> Result<Snapshot, Failure> {
    let source = open(path)?;
    let failed = |reason: String| Failure::Failed(format!("{}: {reason}", path.display()));
    let inspection = inspect(&source, Depth::Blocks).map_err(|fault| failed(fault.to_string()))?;
    if inspection.is_no_log() {
        return Err(Failure::Usage(format!("{}: no log file", path.display())));
    }
    Ok(of_inspection(&inspection, &name_of(path), Some(options.sql_version)))
}

/// A snapshot, or pasted rows.
fn from_text(path: &Path, options: &AdviseOptions) -> Result<Snapshot, Failure> {
    let unusable = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let text = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let mut input = std::io::stdin().lock().take(TEXT_BYTES_MAX + 1);
        input.read_to_end(&mut bytes)?;
        if bytes.len() as u64 > TEXT_BYTES_MAX {
            return Err(unusable(format!("more than {TEXT_BYTES_MAX} bytes of text")));
        }
        decoded(bytes).map_err(unusable)?
    } else {
        let source = open(path)?;
        if begins_with_page_zero(&source) {
            return of_file(path, options);
        }
        source.text(TEXT_BYTES_MAX).map_err(unusable)?
    };
    if Snapshot::is_json_of_one(&text) {
        return Snapshot::from_json(&text).map_err(unusable);
    }
    of_text(&text, &name_of(path), options.sql_version).map_err(|error| unusable(error.to_string()))
}
