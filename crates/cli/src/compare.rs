//! `vlflab compare`: two results files beside each other.

use crate::exit::Failure;
use crate::report::load;
use advisor::Format;
use clap::Args;
use lab::compare::compare as compare_runs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Shown under `vlflab compare --help`.
pub const COMPARE_EXAMPLES: &str = "Examples:
  vlflab compare before/results.json after/results.json
  vlflab compare main.json branch.json --threshold 10     exit code 99 if anything is more than 10 % slower
  vlflab compare before.json after.json --format md

Differences of machine, versions and settings are named first. Where the ranges of the runs overlap, no difference is claimed.";

/// Options of `vlflab compare`.
#[derive(Debug, Args)]
pub struct CompareOptions {
    /// results.json of the run to compare with.
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// results.json of the other run.
    #[arg(value_name = "SECOND")]
    pub second: PathBuf,
    /// Fail with exit code 99 when the second is slower by more than this, beyond the spread.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub threshold: Option<f64>,
    /// table, json, csv or md.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>();
    number
        .ok()
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .ok_or_else(|| "write a number of percent, such as 10".to_string())
}

/// Runs it.
pub fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let compared = compare_runs(&load(&options.first)?, &load(&options.second)?);
    let text = match options.format {
        Format::Table => compared.to_text(),
        Format::Json => compared.to_json() + "\n",
        Format::Csv => compared.to_csv(),
        Format::Markdown => compared.to_markdown(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if compared.rows.is_empty() {
        return Err(Failure::Failed("the two runs have no measurement in common".into()));
    }
    let Some(percent) = options.threshold else {
        return Ok(());
    };
    let slower = compared.slower_than(percent);
    if slower.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = slower
        .iter()
        .map(|row| format!("{}, {}: {}", row.experiment, row.configuration, row.measure))
        .collect();
    Err(Failure::ThresholdMissed(format!(
        "slower by more than {percent} %: {}",
        named.join("\n        slower by more than that: ")
    )))
}
