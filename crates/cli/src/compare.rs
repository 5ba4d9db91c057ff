//! `vlflab compare`: compares two results files.

use crate::exit::Failure;
use crate::report::load;
use advisor::Format;
use clap::Args;
use lab::compare::{Row, compare as compare_runs};
use std::io::{self, Write};
use std::path::PathBuf;

/// Shown under `vlflab compare --help`.
pub const COMPARE_EXAMPLES: &str = "Examples:
  vlflab compare before/results.json after/results.json
  vlflab compare main.json branch.json --threshold 10     exit code 99 if anything is more than 10 % slower
  vlflab compare main.json branch.json --only recovery,redo_s
  vlflab compare before.json after.json --format md

Differences of machine, load, versions and settings are named first. If the ranges of the runs overlap, no difference is claimed.
A threshold is not held against single runs, nor where the machine was busy before one run and not before the other; if only such
times are slower by more than it, the exit code is 1. On a modelled disk the disk's seconds count, which no load changes.";

/// Options of `vlflab compare`.
#[derive(Debug, Args)]
pub struct CompareOptions {
    /// results.json of the run to compare with.
    #[arg(value_name = "FIRST")]
    pub first: PathBuf,
    /// results.json of the other run.
    #[arg(value_name = "SECOND")]
    pub second: PathBuf,
    /// Fail with exit code 99 if the second is slower by more than this, beyond the spread.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub threshold: Option<f64>,
    /// Only these experiments (recovery), configurations (bad, classic, bad-classic, or a disk's name) or measurements
    /// (redo_s); several separated by commas.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub only: Vec<String>,
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

pub fn compare(options: &CompareOptions) -> Result<(), Failure> {
    let compared = compare_runs(&load(&options.first)?, &load(&options.second)?);
    let has_common = !compared.rows.is_empty();
    let compared = match has_common {
        true => compared.only(&options.only).map_err(Failure::Usage)?,
        false => compared,
    };
    if has_common && compared.rows.is_empty() {
        return Err(Failure::Usage("no measurement has all that --only names".into()));
    }
    let text = match options.format {
        Format::Table => compared.to_text(),
        Format::Json => compared.to_json() + "\n",
        Format::Csv => compared.to_csv(),
        Format::Markdown => compared.to_markdown(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if !has_common {
        return Err(Failure::Failed("the two runs have no measurement in common".into()));
    }
    let Some(percent) = options.threshold else {
        return Ok(());
    };
    let named = |rows: &[&Row], behind: &str| {
        let rows = rows.iter();
        let names: Vec<String> = rows
            .map(|row| format!("{}, {}: {}", row.experiment, row.configuration, row.measure))
            .collect();
        names.join(&format!("\n        {behind}: "))
    };
    let slower = compared.slower_than(percent);
    if !slower.is_empty() {
        return Err(Failure::ThresholdMissed(format!(
            "slower by more than {percent} %: {}",
            named(&slower, "slower by more than that")
        )));
    }
    let untold = compared.cannot_tell(percent);
    if untold.is_empty() {
        return Ok(());
    }
    let why = match compared.has_unlike_load {
        true => "the machine was busy before one run and not before the other; run again under the same load",
        false => "they are single runs, which nothing tells from an accident; run with --runs 3",
    };
    Err(Failure::Failed(format!(
        "slower by more than {percent} %, but {why}: {}",
        named(&untold, "the same")
    )))
}
