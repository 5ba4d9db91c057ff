//! `vlflab export`: copies a database to another server or a folder.

use crate::exit::Failure;
use crate::progress::Progress;
use crate::reach::ReachOptions;
use crate::run;
use clap::{Args, ValueEnum};
use lab::client::ClientError;
use lab::driver::Observer;
use lab::export::{self, CsvFile, DataColumn, DataKind, Destination, ExportError, MakeFile, Options, RowFile, Watcher};
use remote::{RowsFile, RowsKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Shown under `vlflab export --help`.
pub const EXPORT_EXAMPLES: &str = "Examples:
  vlflab export shop -S db1 --to mssql://sa@db2:1433
                                             schema and rows, into a database of the same name
  vlflab export shop -S 127.0.0.1,14330 --to mssql://me@example.database.windows.net/shop2
  vlflab export shop -S db1 --to shop-files  scripts, and a CSV file for each table
  vlflab export shop -S db1 --to shop-files --format parquet

The password of the source is taken from MSSQL_PASSWORD or SQLCMDPASSWORD, that of the destination from
VLFLAB_TO_PASSWORD, else from those, or you are asked. After Ctrl-C or a kill, run the export again to resume it: complete tables
stay, others are copied again. docs/export.md lists what is exported.

Exit codes: 0 exported, and both sides are equal; 1 something failed or differs, 2 wrong usage, 3 cannot connect,
8 the destination lacks a feature of the source (listed; nothing was copied), 130 interrupted.";

/// Options of `vlflab export`.
#[derive(Debug, Args)]
pub struct ExportOptions {
    /// The database.
    #[arg(value_name = "DATABASE")]
    pub database: String,
    /// Where to: mssql://LOGIN@HOST[:PORT][/DATABASE], or a folder. The database is created if it is not there, and has to be empty.
    #[arg(long, value_name = "SERVER|FOLDER")]
    pub to: String,
    /// Files of rows in a folder.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub format: Format,
    /// Tables to copy at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,
    /// Leave out objects that the destination does not support, and list them.
    #[arg(long)]
    pub leave_out: bool,
    /// File that records progress, for the next run [default: DATABASE.export, for a folder FOLDER/export.state].
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub reach: ReachOptions,
}

/// How rows lie in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values, RFC 4180.
    Csv,
    /// Parquet, with types.
    Parquet,
}

/// Where the destination's password may be, first come first served.
const PASSWORD_VARIABLES: [&str; 3] = ["VLFLAB_TO_PASSWORD", "MSSQL_PASSWORD", "SQLCMDPASSWORD"];
const SCHEME: &str = "mssql://";

pub fn export(options: &ExportOptions) -> Result<(), Failure> {
    let server = options.reach.server.as_deref();
    let server =
        server.ok_or_else(|| Failure::Usage("say which server has the database: -S HOST[,PORT]".to_owned()))?;
    let mut source = options.reach.target_of(server)?;
    source.database = Some(options.database.clone());
    let (to, default_state) = destination(options)?;
    let plan = Options {
        source,
        to,
        jobs: options.jobs.into(),
        leaves_out: options.leave_out,
        state: options.state.clone().unwrap_or(default_state),
        interrupt: run::watch_signals()?,
    };
    let teller = Teller(Mutex::new((Progress::new(), 0)));
    let outcome = export::export(&plan, &teller);
    teller.with(|progress, _| progress.finish());
    let summary = outcome.map_err(failure)?;
    println!(
        "{} tables, {} rows in this run, {} failed, {} differences",
        summary.tables,
        summary.rows,
        summary.failed.len(),
        summary.differences.len()
    );
    let mut lines = summary.failed;
    lines.extend(summary.differences);
    match lines.is_empty() {
        true => Ok(()),
        false => Err(Failure::Failed(lines.join("\n        "))),
    }
}

fn destination(options: &ExportOptions) -> Result<(Destination, PathBuf), Failure> {
    if !options.to.starts_with(SCHEME) {
        if options.format == Format::Parquet && !remote::HAS_PARQUET {
            let why = "this build writes no Parquet files: build it with --features history (packages have it)";
            return Err(Failure::Usage(why.to_owned()));
        }
        let path = PathBuf::from(&options.to);
        std::fs::create_dir_all(&path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        let state = path.join("export.state");
        let (extension, make): (_, Box<MakeFile>) = match options.format {
            Format::Csv => ("csv", Box::new(CsvFile::create)),
            Format::Parquet => ("parquet", Box::new(parquet_file)),
        };
        return Ok((Destination::Folder { path, extension, make }, state));
    }
    if options.format != Format::Csv {
        return Err(Failure::Usage(
            "--format is of files in a folder, and --to names a server".to_owned(),
        ));
    }
    let mut target =
        lab::target::parse(&options.to).map_err(|why| Failure::Usage(format!("--to {}: {why}", options.to)))?;
    target.security = options.reach.security.security(&target.host)?;
    target.password = crate::login::password(&target.user, &target.host, &PASSWORD_VARIABLES)?;
    target.database.get_or_insert_with(|| options.database.clone());
    let state = Path::new(&format!("{}.export", options.database.replace(['/', '\\'], "_"))).to_owned();
    Ok((Destination::Server(target), state))
}

/// A Parquet file as what an export writes rows to.
struct ParquetRows(RowsFile);

impl RowFile for ParquetRows {
    fn row(&mut self, values: &[Option<String>]) -> Result<(), String> {
        self.0.row(values)
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        self.0.finish()
    }
}

fn parquet_file(path: &Path, columns: &[DataColumn]) -> Result<Box<dyn RowFile>, String> {
    let kind = |column: &DataColumn| match column.kind {
        DataKind::Bit => RowsKind::Bit,
        DataKind::Whole => RowsKind::Whole,
        DataKind::Decimal { precision, scale } => RowsKind::Decimal { precision, scale },
        DataKind::Real => RowsKind::Real,
        DataKind::Date => RowsKind::Date,
        DataKind::Time { scale } => RowsKind::Time { scale },
        DataKind::Moment { scale } => RowsKind::Moment { scale },
        DataKind::Text => RowsKind::Text,
        DataKind::Bytes => RowsKind::Bytes,
    };
    let columns: Vec<(&str, RowsKind)> = columns
        .iter()
        .map(|column| (column.name.as_str(), kind(column)))
        .collect();
    Ok(Box::new(ParquetRows(RowsFile::create(path, &columns)?)))
}

fn failure(error: ExportError) -> Failure {
    match error {
        ExportError::Client(ClientError::Interrupted) => {
            Failure::Interrupted("interrupted; complete tables are kept, run it again for the rest".to_owned())
        }
        ExportError::Client(error) => error.into(),
        ExportError::Lacks(_) => Failure::Useless(error.to_string()),
        ExportError::NotEmpty(_) | ExportError::File(_) => Failure::Failed(error.to_string()),
    }
}

/// Shows how far it is, by the display of runs; rows are its milliseconds.
struct Teller(Mutex<(Progress, u64)>);

impl Teller {
    fn with(&self, tell: impl FnOnce(&mut Progress, &mut u64)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (progress, rows) = &mut *state;
        tell(progress, rows);
    }
}

impl Watcher for Teller {
    fn begin(&self, tables: usize, rows: u64, left_out: &[String]) {
        self.with(|progress, _| {
            progress.begin(rows);
            progress.experiment("export", 1, 1);
            progress.say(&format!("{tables} tables, about {rows} rows"));
            for line in left_out {
                progress.say(&format!("not exported: {line}"));
            }
        });
    }

    fn rows(&self, _table: &str, rows: u64) {
        self.with(|progress, all| {
            *all += rows;
            progress.advance(*all);
        });
    }

    fn table(&self, table: &str, rows: u64) {
        self.with(|progress, _| progress.say(&format!("{table}: {rows} rows")));
    }

    fn say(&self, line: &str) {
        self.with(|progress, _| progress.say(line));
    }
}
