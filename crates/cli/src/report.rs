//! `vlflab report`: writes the reports of a run from its results.json, also at the end of a run, and the report of a sweep from any number
//! of folders.

use crate::exit::Failure;
use crate::place;
use clap::Args;
use lab::report;
use lab::results::RunFile;
use lab::sweep::merge::{self, MergeError, Merged};
use lab::sweep::table;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The report on two pages.
const SHORT_REPORT: &str = "report-short.html";

/// Shown under `vlflab report --help`.
pub const REPORT_EXAMPLES: &str = "Examples:
  vlflab report results/results.json                   the reports that 'vlflab run' wrote next to it, again
  vlflab report from-db1.json --out db1                results of another machine, into a separate folder
  vlflab report from-db1.json --out db1 --short        and a two-page report for print
  vlflab report results/results.json --overwrite       again, by this version, replacing existing reports
  vlflab report sweep-results                          a sweep: tables, heat maps, curves, differences beyond spread
  vlflab report node1 node2 node3 --out all            a sweep whose shards used separate folders
  vlflab report s3://bucket/vlfs --out all             a sweep whose results are in a bucket

Everything comes from the files: nothing is run or measured. It writes report.html, report.md and results.csv, and report.svg
if a run has published figures of its size. For a sweep it also writes results.parquet, for DuckDB, Polars and similar tools.
The same results always give the same bytes, whatever shards and folders they came from.

Exit codes: 0 written, 2 wrong usage, 4 a file of a sweep is damaged.";

/// Options of `vlflab report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// results.json of a run, on this machine or another; or folders and buckets of a sweep's results.
    #[arg(value_name = "FILE.json|DIR|URL", required = true)]
    pub results: Vec<PathBuf>,
    /// Folder for the reports, made where it is missing [default: the folder of the file, or the first folder;
    /// vlflab-report where that is a bucket].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the report of a run on two printed pages as well, report-short.html.
    #[arg(long)]
    pub short: bool,
    /// Replace existing reports.
    #[arg(long)]
    pub overwrite: bool,
}

pub fn report(options: &ReportOptions) -> Result<(), Failure> {
    match options.results.as_slice() {
        [file] if !file.is_dir() && place::bucket_of(file).is_none() => of_run(file, options),
        folders => of_sweep(folders, options),
    }
}

fn of_run(path: &Path, options: &ReportOptions) -> Result<(), Failure> {
    let file = load(path)?;
    let beside = || match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let folder = options.out.clone().unwrap_or_else(beside);
    let forms = forms(&file, options.short);
    let names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
    make_room(&folder, &names, options.overwrite)?;
    write(&folder, &forms).map_err(|error| unwritable(&folder, &error))?;
    tell(&folder, &names)
}

/// A folder for files that are not there yet, or may be replaced.
fn make_room(folder: &Path, names: &[&str], overwrite: bool) -> Result<(), Failure> {
    let there = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    if let Some(path) = there.filter(|_| !overwrite) {
        return Err(Failure::Usage(format!(
            "{} already exists; --overwrite replaces it, --out names another folder",
            path.display()
        )));
    }
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))
}

fn unwritable(folder: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("{}: {error}", folder.display()))
}

fn tell(folder: &Path, names: &[&str]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for name in names {
        writeln!(out, "{}", folder.join(name).display())?;
    }
    Ok(())
}

/// The folder for the report of a bucket.
const DEFAULT_OUT: &str = "vlflab-report";
/// Name of the table of a sweep's results.
const PARQUET: &str = "results.parquet";

fn of_sweep(folders: &[PathBuf], options: &ReportOptions) -> Result<(), Failure> {
    if options.short {
        return Err(Failure::Usage("--short is for the results.json of a run".to_owned()));
    }
    if let Some(file) = folders
        .iter()
        .find(|folder| !folder.is_dir() && place::bucket_of(folder).is_none())
    {
        return Err(Failure::Usage(format!(
            "{} is not a folder: the report of a sweep needs folders, that of a run needs one results.json",
            file.display()
        )));
    }
    let places: io::Result<Vec<_>> = folders.iter().map(|folder| place::of(folder)).collect();
    let places = places.map_err(|error| Failure::Usage(error.to_string()))?;
    let merged = merge::merge(&places).map_err(merge_failure)?;
    let folder = match (&options.out, folders.first()) {
        (Some(out), _) => out.clone(),
        (None, Some(first)) if place::bucket_of(first).is_none() => first.clone(),
        (None, _) => PathBuf::from(DEFAULT_OUT),
    };
    let forms = sweep_forms(&merged);
    let mut names: Vec<&str> = forms.iter().map(|(name, _)| *name).collect();
    if remote::HAS_PARQUET {
        names.push(PARQUET);
    }
    make_room(&folder, &names, options.overwrite)?;
    write(&folder, &forms).map_err(|error| unwritable(&folder, &error))?;
    if remote::HAS_PARQUET {
        let written = remote::table(&folder.join(PARQUET), table::COLUMNS, &mut table::rows(&merged));
        written.map_err(Failure::Failed)?;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", report::sweep::summary(&merged))?;
    if !remote::HAS_PARQUET {
        writeln!(out, "no {PARQUET}: this build writes no Parquet files (packages do)")?;
    }
    drop(out);
    tell(&folder, &names)
}

fn sweep_forms(merged: &Merged) -> Vec<(&'static str, String)> {
    vec![
        ("report.html", report::sweep::html(merged)),
        ("report.md", report::sweep::markdown(merged)),
        ("results.csv", report::sweep::csv(merged)),
    ]
}

fn merge_failure(error: MergeError) -> Failure {
    let text = error.to_string();
    match error {
        MergeError::Io(..) | MergeError::Nothing(_) => Failure::Usage(text),
        MergeError::Damaged(_) => {
            // The code tells, should standard error be gone.
            let _ = writeln!(io::stderr(), "vlflab: {text}");
            Failure::Corruption
        }
    }
}

/// Reads a results file; any other file is a usage error.
pub fn load(path: &Path) -> Result<RunFile, Failure> {
    RunFile::load(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

/// The report in all its forms, by the names of their files.
pub fn forms(file: &RunFile, is_short: bool) -> Vec<(&'static str, String)> {
    let mut forms = vec![
        ("report.html", report::render(file)),
        ("report.md", report::markdown(file)),
        ("results.csv", report::csv(file)),
    ];
    if is_short {
        forms.insert(0, (SHORT_REPORT, report::short(file)));
    }
    forms.extend(report::picture(file).map(|picture| ("report.svg", picture)));
    forms
}

/// Writes them into a folder.
pub fn write(folder: &Path, forms: &[(&str, String)]) -> io::Result<()> {
    forms
        .iter()
        .try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
}
