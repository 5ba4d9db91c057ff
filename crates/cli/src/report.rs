//! `vlflab report`: the reports of a run, made again from its results.json; and their writing at the end of a run.

use crate::exit::Failure;
use clap::Args;
use lab::report;
use lab::results::RunFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The report on two pages.
const SHORT_REPORT: &str = "report-short.html";

/// Shown under `vlflab report --help`.
pub const REPORT_EXAMPLES: &str = "Examples:
  vlflab report results/results.json                   what 'vlflab run' wrote beside it, made again
  vlflab report from-db1.json --out db1                results of another machine, into a folder of their own
  vlflab report from-db1.json --out db1 --short        the report on two printed pages as well
  vlflab report results/results.json --overwrite       written anew by this version, over those that are there

Everything comes from the file: nothing is run or measured. It writes report.html, report.md and results.csv, and report.svg
where the run has published figures of its size.";

/// Options of `vlflab report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// results.json of a run, on this machine or another.
    #[arg(value_name = "FILE.json")]
    pub results: PathBuf,
    /// Folder for the reports, made where it is missing [default: the folder of the file].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the report on two printed pages as well, report-short.html.
    #[arg(long)]
    pub short: bool,
    /// Replace existing reports.
    #[arg(long)]
    pub overwrite: bool,
}

pub fn report(options: &ReportOptions) -> Result<(), Failure> {
    let file = load(&options.results)?;
    let beside = || match options.results.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let folder = options.out.clone().unwrap_or_else(beside);
    let forms = forms(&file, options.short);
    let there = forms
        .iter()
        .map(|(name, _)| folder.join(name))
        .find(|path| path.exists());
    if let Some(path) = there.filter(|_| !options.overwrite) {
        return Err(Failure::Usage(format!(
            "{} is there already; --overwrite replaces it, --out names another folder",
            path.display()
        )));
    }
    let unwritable = |error: io::Error| Failure::Failed(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    write(&folder, &forms).map_err(unwritable)?;
    let mut out = io::stdout().lock();
    for (name, _) in &forms {
        writeln!(out, "{}", folder.join(name).display())?;
    }
    Ok(())
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
