//! Runs an experiment: for each run, for each configuration, a fresh server, the steps in order, results saved after each.
//!
//! Runs alternate between the configurations (a b c, a b c) rather than finishing one first, so that a machine that grows
//! slower or faster meanwhile does so for all of them.

mod steps;

use crate::client::ClientError;
use crate::environment;
use crate::experiment::{Experiment, ExperimentError};
use crate::plan::{self, Setup};
use crate::results::{ConfigurationResults, Results};
use crate::server_process::StartError;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the caller chooses.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The `vlflab` program to start as the server.
    pub program: PathBuf,
    /// Where results go; the databases are made in a folder below it and removed at the end.
    pub out: PathBuf,
    /// Name of the scale.
    pub scale: String,
    /// Runs of each configuration; the scale's own count without.
    pub runs: Option<usize>,
    /// Only configurations with one of these names; all when empty.
    pub only: Vec<String>,
    /// Set to stop as soon as possible.
    pub interrupt: Arc<AtomicBool>,
}

/// Sees a run go on.
pub trait Observer {
    /// The run has this many units of work.
    fn begin(&mut self, units: u64);
    /// A step begins.
    fn step(&mut self, configuration: &str, run: usize, label: &str);
    /// So many units are done.
    fn advance(&mut self, units: u64);
}

/// Units of work of one run of one configuration.
pub const UNITS_PER_RUN: u64 = 1000;

/// Why a run stopped, or did not begin.
#[derive(Debug)]
pub enum LabError {
    /// The experiment, or what was asked of it, is wrong.
    Experiment(ExperimentError),
    /// The file system.
    Io(PathBuf, io::Error),
    /// The server did not start.
    Server(StartError),
    /// A step failed.
    Step {
        /// Which.
        label: String,
        /// Why.
        error: ClientError,
    },
    /// A step went another way than the experiment says.
    Unexpected(String),
    /// The caller wished to stop.
    Interrupted,
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::Experiment(error) => write!(f, "{error}"),
            LabError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            LabError::Server(StartError::Io(error)) => write!(f, "the server cannot be started: {error}"),
            LabError::Server(StartError::Ended(why)) => write!(f, "the server ended before it was ready: {why}"),
            LabError::Server(StartError::Interrupted) | LabError::Interrupted => f.write_str("interrupted"),
            LabError::Step { label, error } => write!(f, "step '{label}': {error}"),
            LabError::Unexpected(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for LabError {}

impl LabError {
    fn is_interrupt(&self) -> bool {
        matches!(
            self,
            LabError::Interrupted
                | LabError::Server(StartError::Interrupted)
                | LabError::Step {
                    error: ClientError::Interrupted,
                    ..
                }
        )
    }
}

/// What came of a run: everything measured until its end, and why that end came early if it did.
#[derive(Debug)]
pub struct Outcome {
    /// As in `results.json`.
    pub results: Results,
    /// The failure that ended it.
    pub failure: Option<LabError>,
    /// Whether the failure was the caller's wish to stop.
    pub interrupted: bool,
}

/// Name of the results file in the output folder.
pub const RESULTS_FILE: &str = "results.json";
const DATA_FOLDER: &str = "data";

/// Runs the experiment.
///
/// # Errors
/// What keeps it from beginning; everything later is in the [`Outcome`].
pub fn run(experiment: &Experiment, options: &RunOptions, observer: &mut dyn Observer) -> Result<Outcome, LabError> {
    let setups = chosen_setups(experiment, options)?;
    let runs = match options.runs {
        Some(runs) => runs,
        None => scale(experiment, &options.scale)?.runs,
    };
    let environment = environment::capture(&options.out).map_err(|error| LabError::Io(options.out.clone(), error))?;
    let mut results = Results {
        experiment: experiment.name.clone(),
        scale: options.scale.clone(),
        started: now_iso8601(),
        complete: false,
        stopped: None,
        environment,
        configurations: setups.iter().map(empty_results).collect(),
    };
    observer.begin(UNITS_PER_RUN * (runs * setups.len()) as u64);
    let failure = run_all(experiment, options, &setups, runs, &mut results, observer).err();
    results.complete = failure.is_none();
    results.stopped = failure.as_ref().map(ToString::to_string);
    save(&results, &options.out)?;
    let interrupted = failure.as_ref().is_some_and(LabError::is_interrupt);
    Ok(Outcome {
        results,
        failure,
        interrupted,
    })
}

fn run_all(
    experiment: &Experiment,
    options: &RunOptions,
    setups: &[Setup],
    runs: usize,
    results: &mut Results,
    observer: &mut dyn Observer,
) -> Result<(), LabError> {
    let data = options.out.join(DATA_FOLDER);
    let mut done = 0;
    for run in 1..=runs {
        for (index, setup) in setups.iter().enumerate() {
            remove_folder(&data)?;
            let finished =
                steps::OneRun::new(experiment, setup, options, &data, (run, done)).run(results, index, observer);
            // The databases of a failed run are kept for a look at them.
            finished?;
            remove_folder(&data)?;
            done += UNITS_PER_RUN;
            observer.advance(done);
        }
    }
    Ok(())
}

fn chosen_setups(experiment: &Experiment, options: &RunOptions) -> Result<Vec<Setup>, LabError> {
    let scale = scale(experiment, &options.scale)?;
    let mut setups = plan::setups(experiment, scale).map_err(LabError::Experiment)?;
    let known: Vec<String> = setups.iter().map(|setup| setup.name.clone()).collect();
    if !options.only.is_empty() {
        setups.retain(|setup| options.only.iter().any(|wanted| setup.is_named(wanted)));
    }
    if setups.is_empty() {
        let message = format!(
            "no configuration is named {}; there are {}",
            options.only.join(", "),
            known.join(", ")
        );
        return Err(LabError::Experiment(ExperimentError(message)));
    }
    Ok(setups)
}

fn scale<'a>(experiment: &'a Experiment, name: &str) -> Result<&'a crate::experiment::Scale, LabError> {
    experiment.scale.get(name).ok_or_else(|| {
        let visible = experiment.scale.iter().filter(|(_, scale)| !scale.hidden);
        let names: Vec<&str> = visible.map(|(name, _)| name.as_str()).collect();
        LabError::Experiment(ExperimentError(format!(
            "no scale is named '{name}'; there are {}",
            names.join(", ")
        )))
    })
}

fn empty_results(setup: &Setup) -> ConfigurationResults {
    ConfigurationResults {
        name: setup.name.clone(),
        base: setup.base.clone(),
        title: setup.title.clone(),
        settings: setup.settings(),
        ..ConfigurationResults::default()
    }
}

fn save(results: &Results, out: &Path) -> Result<(), LabError> {
    let path = out.join(RESULTS_FILE);
    results.save(&path).map_err(|error| LabError::Io(path, error))
}

fn remove_folder(folder: &Path) -> Result<(), LabError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LabError::Io(folder.to_path_buf(), error)),
        _ => Ok(()),
    }
}

fn is_stopped(options: &RunOptions) -> bool {
    options.interrupt.load(Ordering::SeqCst)
}

fn now_iso8601() -> String {
    let since_epoch = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let seconds = since_epoch.as_secs();
    let days = i64::try_from(seconds / 86_400).unwrap_or_default() + DAYS_FROM_YEAR_ONE_TO_1970;
    let time = crate::client::time_text(seconds % 86_400, 0);
    format!("{}T{time}Z", crate::client::date_text(days))
}

const DAYS_FROM_YEAR_ONE_TO_1970: i64 = 719_162;
