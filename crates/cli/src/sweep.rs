//! `vlflab sweep`: plans a sweep, runs this process's shard of it, and reports the outcome.

use crate::exit::Failure;
use crate::place;
use crate::progress::Progress;
use crate::run;
use clap::Args;
use lab::driver::Observer;
use lab::sweep::file::SweepError;
use lab::sweep::plan::{Plan, Planned};
use lab::sweep::run::{self as shard_run, RunError, Summary, Watcher};
use lab::sweep::shard::Shard;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Shown under `vlflab sweep --help`.
pub const SWEEP_EXAMPLES: &str = "Examples:
  vlflab sweep disks.toml --dry-run            how many configurations, how many hours, what they cost
  vlflab sweep disks.toml --out results        all of it, here; run it again after a Ctrl-C
  vlflab sweep disks.toml --out results --jobs 8
  vlflab sweep disks.toml --out /shared/results --shard 3/8
  vlflab sweep disks.toml --out /shared/results --shards 8
                                               the shard whose index the scheduler sets: a Kubernetes Indexed Job, a
                                               Slurm array, an AWS Batch array
  vlflab sweep disks.toml --out s3://bucket/vlfs --shards 8
                                               the same into a bucket; AWS_ENDPOINT_URL names a server that is not Amazon's
  vlflab report /shared/results                tables, heat maps, curves

Each configuration has one file in --out. After a kill, run the shard again: existing files are kept, and nothing counts
twice. docs/sweeps.md explains the sweep file.

Exit codes: 0 every configuration of the shard has its results, 1 some have none yet and can be run again, 4 a file in --out
is damaged, 8 running it again is useless, 130 interrupted.";

const DEFAULT_OUT: &str = "vlflab-sweep";

/// Options of `vlflab sweep`.
#[derive(Debug, Args)]
pub struct SweepOptions {
    /// The sweep's file.
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Folder for the results, which several shards may share; or a bucket of S3 or a compatible service, as s3://BUCKET/PREFIX.
    #[arg(long, value_name = "DIR|URL", default_value = DEFAULT_OUT)]
    pub out: PathBuf,
    /// Folder for the databases, while a configuration runs; a disk of this machine's own is best [default: that of --out;
    /// for a bucket the folder for temporary files].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Run this part of the sweep: the I-th of N.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse, conflicts_with = "shards")]
    pub shard: Option<Shard>,
    /// Number of shards, where a scheduler says which of them this is: JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID,
    /// AWS_BATCH_JOB_ARRAY_INDEX.
    #[arg(long, value_name = "N", env = "VLFLAB_SHARDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub shards: Option<u64>,
    /// Configurations to run at once; for sweeps that measure nothing of this machine.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
    /// Print the number of configurations, the hours and the cost, and exit.
    #[arg(long)]
    pub dry_run: bool,
}

pub fn sweep(options: &SweepOptions) -> Result<(), Failure> {
    let plan = Plan::load(&options.file).map_err(useless)?;
    let shard = match &options.shard {
        Some(shard) => shard.clone(),
        None => Shard::of_environment(&|name| std::env::var(name).ok(), options.shards).map_err(useless)?,
    };
    if options.dry_run {
        return tell_plan(&mut io::stdout().lock(), &plan, &shard).map_err(Failure::Io);
    }
    let out = place::of(&options.out);
    let data = match (&options.data, place::bucket_of(&options.out)) {
        (Some(data), _) => data.clone(),
        (None, Some(_)) => std::env::temp_dir(),
        (None, None) => options.out.clone(),
    };
    let options = shard_run::SweepOptions {
        program: std::env::current_exe()?,
        out: out.map_err(|error| Failure::Useless(error.to_string()))?,
        data,
        shard,
        jobs: options.jobs.into(),
        interrupt: run::watch_signals()?,
    };
    let teller = Teller::new(&plan.file.name, &options.shard);
    let begin = Instant::now();
    let outcome = shard_run::run(&plan, &options, &teller);
    teller.finish();
    let summary = outcome.map_err(failure)?;
    conclude(&summary, &options, begin.elapsed().as_secs_f64())
}

fn useless(error: SweepError) -> Failure {
    Failure::Useless(error.to_string())
}

fn failure(error: RunError) -> Failure {
    let text = error.to_string();
    match error {
        RunError::Sweep(_) => Failure::Useless(text),
        RunError::Io(_, error) => match error.kind() {
            io::ErrorKind::InvalidInput => Failure::Useless(text),
            io::ErrorKind::InvalidData => {
                // The code tells, should standard error be gone.
                let _ = writeln!(io::stderr(), "vlflab: {text}");
                Failure::Corruption
            }
            _ => Failure::Failed(text),
        },
    }
}

const SECONDS_PER_HOUR: f64 = 3600.0;

/// Number, hours, cost.
fn tell_plan(out: &mut dyn Write, plan: &Plan, shard: &Shard) -> io::Result<()> {
    let all = &plan.configurations;
    let measured = all.iter().filter(|planned| planned.is_measured).count();
    writeln!(out, "{}: {}", plan.file.name, plan.file.title)?;
    let of_a_kind = match measured {
        0 => "all of them modelled, so that they repeat exactly".to_owned(),
        _ => format!("{measured} of them measured, for each class of machines anew"),
    };
    writeln!(out, "  {} configurations, {of_a_kind}", all.len())?;
    for (what, values) in dimensions(plan) {
        writeln!(out, "    {what:<13} {:>4}  {}", values.len(), first_of(&values))?;
    }
    let seconds: f64 = match plan.file.cost.seconds_per_configuration {
        Some(seconds) => seconds * all.len() as f64,
        None => all.iter().map(|planned| planned.expected_s).sum(),
    };
    let whose = match plan.file.cost.seconds_per_configuration {
        Some(_) => "as the file says",
        None => {
            "as the experiments expect of an ordinary machine; cost.seconds_per_configuration in the file says better"
        }
    };
    let hours = seconds / SECONDS_PER_HOUR;
    writeln!(
        out,
        "  {hours:.2} hours one after the other, {:.2} s each, {whose}",
        seconds / all.len().max(1) as f64
    )?;
    if shard.count > 1 {
        let mine = (0..all.len()).filter(|place| shard.has(*place)).count();
        let (ordinal, count) = (shard.index + 1, shard.count);
        writeln!(
            out,
            "  {:.2} hours with {count} shards at once; shard {ordinal}/{count} has {mine}",
            hours / count as f64
        )?;
    }
    match plan.file.cost.price_per_hour {
        Some(price) => writeln!(
            out,
            "  {:.2} {} at {price} an hour of a shard",
            hours * price,
            plan.file.cost.currency
        ),
        None => writeln!(out, "  no cost: the file has no cost.price_per_hour"),
    }
}

fn dimensions(plan: &Plan) -> Vec<(&'static str, Vec<&str>)> {
    let values = |of: fn(&Planned) -> &str| {
        let mut seen = BTreeSet::new();
        let all = plan.configurations.iter().map(of);
        all.filter(|value| seen.insert(*value)).collect::<Vec<&str>>()
    };
    vec![
        ("experiments", values(|planned| &planned.labels.experiment)),
        ("scales", values(|planned| &planned.labels.scale)),
        ("sizes", values(|planned| &planned.labels.size)),
        ("layouts", values(|planned| &planned.labels.layout)),
        ("log policies", values(|planned| &planned.labels.log_policy)),
        ("versions", values(|planned| &planned.labels.sql_version)),
        ("disks", values(|planned| &planned.labels.disk)),
    ]
}

/// The first few of a list.
fn first_of(values: &[&str]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = values
        .iter()
        .take(SHOWN)
        .copied()
        .filter(|value| !value.is_empty())
        .collect();
    let more = if values.len() > SHOWN { ", ..." } else { "" };
    shown.join(", ") + more
}

fn conclude(summary: &Summary, options: &shard_run::SweepOptions, elapsed_s: f64) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let each = match summary.run {
        0 => String::new(),
        run => format!(", {:.2} s each", elapsed_s * options.jobs as f64 / run as f64),
    };
    writeln!(
        out,
        "{} configurations: {} were there, {} run{each}, {} failed; results in {}",
        summary.configurations,
        summary.found_before,
        summary.run,
        summary.failed.len(),
        options.out
    )?;
    out.flush()?;
    if summary.interrupted {
        return Err(Failure::Interrupted(
            "interrupted; what has its results is kept, run it again for the rest".into(),
        ));
    }
    let mut lines: Vec<String> = summary
        .failed
        .iter()
        .map(|failed| format!("{}: {}", shown(&failed.planned), failed.why))
        .collect();
    lines.extend(
        summary
            .with_failed_checks
            .iter()
            .map(|name| format!("{name}.jsonl has a check that did not hold")),
    );
    lines.sort();
    let text = lines.join("\n        ");
    let can_succeed = summary.failed.iter().any(|failed| !failed.is_final);
    match (lines.is_empty(), can_succeed) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Failed(text)),
        (false, false) => Err(Failure::Useless(text)),
    }
}

/// A configuration in words.
fn shown(planned: &Planned) -> String {
    let labels = &planned.labels;
    let parts = [
        &labels.experiment,
        &labels.layout,
        &labels.size,
        &labels.log_policy,
        &labels.sql_version,
        &labels.disk,
    ];
    let parts: Vec<&str> = parts
        .into_iter()
        .map(String::as_str)
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(" ")
}

/// Shows a shard's progress, by the display of runs.
struct Teller(Mutex<State>);

struct State {
    progress: Progress,
    name: String,
    ended: u64,
}

/// What a configuration counts for in a display made for milliseconds.
const UNITS: u64 = 1000;

impl Teller {
    fn new(name: &str, shard: &Shard) -> Teller {
        let part = match shard.count {
            1 => String::new(),
            count => format!(", shard {} of {count}", shard.index + 1),
        };
        Teller(Mutex::new(State {
            progress: Progress::new(),
            name: format!("{name}{part}"),
            ended: 0,
        }))
    }

    fn with(&self, tell: impl FnOnce(&mut State)) {
        tell(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn finish(&self) {
        self.with(|state| state.progress.finish());
    }
}

impl Watcher for Teller {
    fn begin(&self, configurations: usize, found_before: usize) {
        self.with(|state| {
            let missing = configurations.saturating_sub(found_before);
            state.progress.begin(missing as u64 * UNITS);
            let name = state.name.clone();
            state.progress.experiment(&name, 1, 1);
        });
    }

    fn configuration(&self, planned: &Planned) {
        self.with(|state| state.progress.step(&shown(planned), 1, "all steps"));
    }

    fn end(&self, planned: &Planned, failure: Option<&str>) {
        self.with(|state| {
            state.ended += 1;
            let units = state.ended * UNITS;
            state.progress.advance(units);
            if let Some(why) = failure {
                state.progress.say(&format!("{}: {why}", shown(planned)));
            }
        });
    }
}
