//! `vlflab plan`: the command line of [`advisor::plan`] and [`advisor::search`]. Reads a layout and a disk, writes a page if
//! one is asked for, and nothing else.

use crate::exit::Failure;
use crate::inspect::{open, refuse_overwriting};
use advisor::database::begins_with_page_zero;
use advisor::pasted::{Choice, decoded, layout_from_text};
use advisor::planning::{PlanAnswer, PlanQuestion, identifier, layout_of_log};
use advisor::price::PricedDisk;
use advisor::render::{plan_csv, plan_html, plan_json, plan_markdown, plan_table, price_csv};
use advisor::size::{Growth, GrowthList, parse_bytes};
use advisor::{Format, Start};
use clap::Args;
use lab::disks;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use vlf::{LogLayout, ServerVersion};

/// Shown under `vlflab plan --help`.
pub const PLAN_EXAMPLES: &str = "Examples:
  A default log with 64 MB autogrowth, on the way to 64 GB:
    vlflab plan --sql-version 2019 --initial 8MB --growth 64MB --to 64GB

  Pre-grow in steps of 8000 MB:
    vlflab plan --sql-version 2016 --initial 8000MB --grow 8000MB,8000MB,8000MB

  From the current log, pasted from DBCC LOGINFO, to 64 GB with few VLFs:
    vlflab plan --sql-version 2022 --from loginfo.csv --target-size 64GB --database Sales

  The same, with its seconds on a built-in disk, or on your own:
    vlflab plan --from loginfo.csv --target-size 64GB --disk ebs-gp3
    vlflab disks probe /var/opt/mssql && vlflab plan --from loginfo.csv --target-size 64GB --disk probed-disk.toml
    vlflab plan --from loginfo.csv --target-size 64GB --disk ebs-gp3 --format csv

Sizes: 504KB, 8MB, 1.5GB, 2TB; a bare number counts MB, as SIZE does in T-SQL.
Nothing is changed: you read the script and run it yourself.";

/// The disk of those who name none.
const USUAL_DISK: &str = "azure-p30";
const WHY_USUAL: &str = "No --disk was given: azure-p30 is the smallest disk that Microsoft's checklist for SQL Server on Azure VMs has for \
                         logs.";

/// The longest text `--from` reads; a hundred thousand VLFs as JSON have a quarter of it.
pub const TEXT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Options of `vlflab plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// Version whose rules apply: 2005, 2008, 2008R2, 2012 ... 2025, or a product version such as 16.0.
    #[arg(long, value_name = "VERSION", default_value = "2022")]
    pub sql_version: ServerVersion,
    /// Size the log is created with.
    #[arg(long, value_name = "SIZE", default_value = "8MB", value_parser = parse_bytes, conflicts_with = "from")]
    pub initial: u64,
    /// Start from an existing log: an .ldf file, JSON, or rows pasted from DBCC LOGINFO or sys.dm_db_log_info; - reads
    /// standard input.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Which log file, if --from has rows of several.
    #[arg(long, value_name = "ID", requires = "from")]
    pub file_id: Option<u64>,
    /// Which log, if --from has rows of several databases: its number in the list that is shown without this option.
    #[arg(long, value_name = "N", requires = "from")]
    pub from_log: Option<usize>,
    /// Growths to make one after another: sizes or percentages.
    #[arg(long, value_name = "STEP,...")]
    pub grow: Vec<GrowthList>,
    /// Autogrowth (FILEGROWTH), a size or a percentage, repeated until the log reaches --to.
    #[arg(long, value_name = "GROWTH")]
    pub growth: Option<Growth>,
    /// Size to reach.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with = "target_size")]
    pub to: Option<u64>,
    /// Search for the steps that end with this many VLFs, and print the T-SQL.
    #[arg(long, value_name = "N", conflicts_with_all = ["grow", "growth"])]
    pub target_vlfs: Option<u64>,
    /// Search for the steps that end with this size, and print the T-SQL.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, conflicts_with_all = ["grow", "growth"])]
    pub target_size: Option<u64>,
    /// Disk to price the layout on: a built-in one (vlflab disks), or a file ending in .toml, such as a probe writes
    /// [default: azure-p30].
    #[arg(long, value_name = "DISK")]
    pub disk: Option<String>,
    /// Database the T-SQL is written for [default: YourDatabase].
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    pub database: Option<String>,
    /// Logical name of its log file [default: the database's name and _log].
    #[arg(long, value_name = "NAME", value_parser = identifier)]
    pub log_name: Option<String>,
    /// Also write a page for the browser.
    #[arg(long, value_name = "OUT")]
    pub html: Option<PathBuf>,
    /// table, json, csv (the steps; with --disk a row for each kind of waiting) or md.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// Runs `vlflab plan`.
pub fn plan(options: &PlanOptions) -> Result<(), Failure> {
    let is_search = options.target_vlfs.is_some() || options.target_size.is_some();
    if !is_search && (options.database.is_some() || options.log_name.is_some()) {
        return Err(Failure::Usage(
            "--database and --log-name are names for the T-SQL: it is printed with --target-size or --target-vlfs"
                .to_owned(),
        ));
    }
    if let (Some(page), Some(from)) = (&options.html, &options.from) {
        refuse_overwriting(from, page)?;
    }
    let question = PlanQuestion {
        version: options.sql_version,
        start: match &options.from {
            Some(path) => Start::Existing(existing(path, options)?),
            None => Start::Create(options.initial),
        },
        growths: options.grow.iter().flat_map(|list| list.0.iter().copied()).collect(),
        autogrowth: options.growth,
        to_bytes: options.to,
        target_vlfs: options.target_vlfs,
        target_file_bytes: options.target_size,
        database: options.database.clone(),
        log_name: options.log_name.clone(),
        disk: priced_disk(options.disk.as_deref())?,
    };
    let answer = question.answer().map_err(|error| Failure::Usage(error.to_string()))?;
    show(&answer, options)
}

/// The disk that was named, or the usual one with the reason for it.
pub fn priced_disk(named: Option<&str>) -> Result<PricedDisk, Failure> {
    let disk = disks::load(named.unwrap_or(USUAL_DISK)).map_err(|error| Failure::Usage(error.to_string()))?;
    let why = || {
        let others = disks::names().into_iter().filter(|name| *name != USUAL_DISK);
        let others = others.collect::<Vec<_>>().join(", ");
        let how =
            "--disk NAME takes another; 'vlflab disks probe DIR' measures yours, --disk probed-disk.toml takes that.";
        vec![WHY_USUAL.to_owned(), format!("Others: {others}."), how.to_owned()]
    };
    Ok(PricedDisk {
        name: disk.name,
        title: disk.title,
        ranges: disk.ranges,
        why: if named.is_none() { why() } else { Vec::new() },
    })
}

fn show(answer: &PlanAnswer, options: &PlanOptions) -> Result<(), Failure> {
    let text = answer.text();
    if let Some(page) = &options.html {
        std::fs::write(page, plan_html(text))
            .map_err(|error| Failure::Failed(format!("{}: {error}", page.display())))?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    match options.format {
        Format::Table => {
            out.write_all(plan_table(text).as_bytes())?;
            writeln!(out, "\n{}", answer.verdict())?;
        }
        Format::Markdown => {
            out.write_all(plan_markdown(text).as_bytes())?;
            writeln!(out, "\n{}", answer.verdict())?;
        }
        Format::Csv => {
            let asked_for = text.price.filter(|_| options.disk.is_some());
            let csv = asked_for.map_or_else(|| plan_csv(text.plan), price_csv);
            out.write_all(csv.as_bytes())?;
        }
        Format::Json => plan_json(text, &mut out)?,
    }
    Ok(out.flush()?)
}

/// The layout that `--from` names.
fn existing(path: &Path, options: &PlanOptions) -> Result<LogLayout, Failure> {
    let unusable = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let choice = Choice {
        file_id: options.file_id,
        log: options.from_log,
    };
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > TEXT_BYTES_MAX {
            return Err(unusable(format!("more than {TEXT_BYTES_MAX} bytes of text")));
        }
        let text = decoded(bytes).map_err(unusable)?;
        return layout_from_text(&text, options.sql_version, choice).map_err(|error| unusable(error.to_string()));
    }
    let source = open(path)?;
    if begins_with_page_zero(&source) {
        if choice != Choice::default() {
            let what = "is a log file: --file-id and --from-log choose among pasted rows";
            return Err(Failure::Usage(format!("{} {what}", path.display())));
        }
        return layout_of_log(&source, options.sql_version).map_err(unusable);
    }
    let text = source.text(TEXT_BYTES_MAX).map_err(unusable)?;
    layout_from_text(&text, options.sql_version, choice).map_err(|error| unusable(error.to_string()))
}
