//! Runs experiments one after another: for each run and configuration, a fresh server, the steps in order, and results saved after each. If
//! an experiment fails, the failure is reported and the next one begins. A request to stop ends all.
//!
//! Runs alternate between the configurations (a b c, a b c), so that a machine that becomes slower or faster affects all of them.

mod modelled;
mod own_disk;
mod steps;

use crate::client::ClientError;
use crate::disks::DiskDescription;
use crate::environment::{self, Environment};
use crate::experiment::{Experiment, ExperimentError, ServerKind};
use crate::plan::{self, Disks, Setup};
use crate::results::{ConfigurationResults, Results, RunFile, SCHEMA_VERSION};
use crate::server_process::StartError;
use crate::slope;
use crate::target::TargetRun;
use crate::threshold;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

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
    /// Only configurations with one of these names, each of which may be several behind commas; all when empty.
    pub only: Vec<String>,
    /// Modelled disks to run on, one after the other; this machine's when empty.
    pub disks: Vec<DiskDescription>,
    /// On modelled disks nothing but the disk takes time.
    pub without_processor_time: bool,
    /// A server that is there already; without, each run gets one of its own.
    pub target: Option<TargetRun>,
    /// The machine's properties; if not given, they are measured, the disk for some seconds.
    pub environment: Option<Environment>,
    /// The first run of each configuration is recorded, as a file beside the results.
    pub records: bool,
    /// Set to stop as soon as possible.
    pub interrupt: Arc<AtomicBool>,
}

/// Sees a run go on.
pub trait Observer {
    /// All experiments together have this many units of work, each about a millisecond of an ordinary machine.
    fn begin(&mut self, units: u64);
    /// An experiment begins: the `ordinal`-th of `count`.
    fn experiment(&mut self, name: &str, ordinal: usize, count: usize);
    /// A step begins.
    fn step(&mut self, configuration: &str, run: usize, label: &str);
    /// So many units are done.
    fn advance(&mut self, units: u64);
}

/// Units of work in a second that was expected.
const UNITS_PER_SECOND: f64 = 1000.0;

/// Why a run stopped, or did not begin.
#[derive(Debug)]
pub enum LabError {
    /// The experiment, or what was asked of it, is wrong.
    Experiment(ExperimentError),
    /// The file system.
    Io(PathBuf, io::Error),
    /// The server did not start.
    Server(StartError),
    Step {
        label: String,
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
    pub(crate) fn is_interrupt(&self) -> bool {
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
    pub file: RunFile,
    /// The experiments that failed, by name.
    pub failures: Vec<(String, LabError)>,
    /// Whether the caller wished to stop.
    pub interrupted: bool,
}

/// An experiment and what is to be run of it.
struct Job<'a> {
    experiment: &'a Experiment,
    setups: Vec<Setup>,
    runs: usize,
    runs_modelled: usize,
    /// What was left out, and why.
    notes: Vec<String>,
    /// Units of one run of one configuration.
    units: u64,
}

/// Where a run stands among all of them.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Index of the configuration.
    configuration: usize,
    /// Number of the run, from 1.
    run: usize,
    /// Units of work done before it.
    units_before: u64,
    /// Units of work of this run.
    units: u64,
}

/// The results file in the making, open at one experiment.
struct Ledger<'a> {
    file: &'a mut RunFile,
    experiment: usize,
    begin: Instant,
    path: &'a Path,
}

impl Ledger<'_> {
    fn results(&mut self) -> Option<&mut Results> {
        self.file.experiments.get_mut(self.experiment)
    }

    fn configuration(&mut self, index: usize) -> Option<&mut ConfigurationResults> {
        self.results()?.configurations.get_mut(index)
    }

    fn save(&mut self) -> Result<(), LabError> {
        self.file.elapsed_s = self.begin.elapsed().as_secs_f64();
        let saved = self.file.save(self.path);
        saved.map_err(|error| LabError::Io(self.path.to_path_buf(), error))
    }
}

/// Name of the results file in the output folder.
pub const RESULTS_FILE: &str = "results.json";
/// Name of the folder of the databases in it, while a run lasts.
pub const DATA_FOLDER: &str = "data";
/// Settings that only a server of our own is started with.
const OWN_SERVER_SETTINGS: [&str; 2] = ["log_policy", "instant_file_initialization"];

/// Runs the experiments.
///
/// # Errors
/// What keeps the first from beginning; everything later is in the [`Outcome`].
pub fn run(experiments: &[Experiment], options: &RunOptions, observer: &mut dyn Observer) -> Result<Outcome, LabError> {
    let begin = Instant::now();
    let adapted: Vec<Experiment> = match &options.target {
        Some(target) => experiments.iter().map(|experiment| target.adapt(experiment)).collect(),
        None => experiments
            .iter()
            .map(|experiment| experiment.on(ServerKind::Own))
            .collect(),
    };
    let planned = adapted.iter().map(|experiment| job(experiment, options));
    let mut jobs: Vec<Job<'_>> = planned.collect::<Result<_, _>>()?;
    keep_chosen(&mut jobs, &options.only)?;
    let looked_at = match &options.environment {
        Some(known) => Ok(known.clone()),
        None => environment::capture(&options.out),
    };
    let environment = looked_at.map_err(|error| LabError::Io(options.out.clone(), error))?;
    for job in &mut jobs {
        own_disk::leave_out_if_slow(job, &options.scale, &environment);
    }
    let mut file = RunFile {
        schema_version: SCHEMA_VERSION,
        product_version: env!("CARGO_PKG_VERSION").into(),
        started: now_iso8601(),
        scale: options.scale.clone(),
        environment,
        target: options.target.as_ref().map(|target| target.server.clone()),
        ..RunFile::default()
    };
    observer.begin(jobs.iter().map(Job::units_in_all).sum());
    let path = options.out.join(RESULTS_FILE);
    // From the first moment the folder says that it is a run's.
    file.save(&path).map_err(|error| LabError::Io(path.clone(), error))?;
    let mut failures = Vec::new();
    let mut units_before = 0;
    for (index, job) in jobs.iter().enumerate() {
        observer.experiment(&job.experiment.name, index + 1, jobs.len());
        file.experiments.push(empty_results(job, options));
        let mut ledger = Ledger {
            file: &mut file,
            experiment: index,
            begin,
            path: &path,
        };
        let failure = run_job(job, options, units_before, &mut ledger, observer).err();
        ledger.save()?;
        units_before += job.units_in_all();
        observer.advance(units_before);
        if let Some(error) = failure {
            failures.push((job.experiment.name.clone(), error));
        }
        if is_stopped(options) {
            break;
        }
    }
    let interrupted = failures.iter().any(|(_, error)| error.is_interrupt());
    file.complete = failures.is_empty() && file.experiments.len() == jobs.len();
    file.stopped = failures.first().map(|(name, error)| format!("{name}: {error}"));
    file.elapsed_s = begin.elapsed().as_secs_f64();
    file.save(&path).map_err(|error| LabError::Io(path, error))?;
    Ok(Outcome {
        file,
        failures,
        interrupted,
    })
}

fn job<'a>(experiment: &'a Experiment, options: &RunOptions) -> Result<Job<'a>, LabError> {
    let scale = scale(experiment, &options.scale)?;
    let disks = match (&options.target, options.disks.as_slice()) {
        (Some(_), _) => Disks::OwnOnly,
        (None, []) => Disks::AsWritten,
        (None, named) => Disks::Modelled(named),
    };
    let setups = plan::setups(experiment, scale).and_then(|setups| plan::on_disks(setups, disks));
    let mut job = Job {
        experiment,
        setups: setups.map_err(LabError::Experiment)?,
        runs: scale.runs,
        runs_modelled: scale.runs_modelled.unwrap_or(scale.runs),
        notes: Vec::new(),
        units: 0,
    };
    let expected = scale.expected_s * UNITS_PER_SECOND / job.runs_in_all().max(1) as f64;
    job.units = (expected as u64).max(1);
    if let Some(runs) = options.runs {
        (job.runs, job.runs_modelled) = (runs, runs);
    }
    Ok(job)
}

impl Job<'_> {
    fn runs_of(&self, setup: &Setup) -> usize {
        if setup.disk.is_some() {
            self.runs_modelled
        } else {
            self.runs
        }
    }

    fn runs_in_all(&self) -> usize {
        self.setups.iter().map(|setup| self.runs_of(setup)).sum()
    }

    fn units_in_all(&self) -> u64 {
        self.units * self.runs_in_all() as u64
    }

    fn has_modelled(&self) -> bool {
        self.setups.iter().any(|setup| setup.disk.is_some())
    }
}

/// Runs one experiment and notes how it ended.
fn run_job(
    job: &Job<'_>,
    options: &RunOptions,
    units_before: u64,
    ledger: &mut Ledger<'_>,
    observer: &mut dyn Observer,
) -> Result<(), LabError> {
    let begin = Instant::now();
    let objection = options
        .target
        .as_ref()
        .and_then(|target| target.objection(job.experiment))
        .or_else(|| modelled::objection(job));
    let outcome = match objection {
        Some(reason) => Err(LabError::Unexpected(reason)),
        None => run_all(job, options, units_before, ledger, observer),
    };
    if let Some(results) = ledger.results() {
        results.elapsed_s = begin.elapsed().as_secs_f64();
        results.slopes = slope::slopes(job.experiment, results);
        results.complete = outcome.is_ok();
        results.stopped = outcome.as_ref().err().map(ToString::to_string);
        results.thresholds = threshold::judge(&job.experiment.threshold, results);
    }
    outcome
}

fn run_all(
    job: &Job<'_>,
    options: &RunOptions,
    units_before: u64,
    ledger: &mut Ledger<'_>,
    observer: &mut dyn Observer,
) -> Result<(), LabError> {
    let data = options.out.join(DATA_FOLDER);
    let mut place = Place {
        configuration: 0,
        run: 1,
        units_before,
        units: job.units,
    };
    for run in 1..=job.runs.max(job.runs_modelled) {
        let due = job
            .setups
            .iter()
            .enumerate()
            .filter(|(_, setup)| run <= job.runs_of(setup));
        for (index, setup) in due {
            (place.run, place.configuration) = (run, index);
            remove_folder(&data)?;
            let outcome = steps::OneRun::new(job.experiment, setup, options, &data, place).run(ledger, observer);
            // The databases of a failed run are kept for a look at them; who ended it by a signal does not want one.
            let removed = match outcome.as_ref().err().is_none_or(LabError::is_interrupt) {
                true => remove_folder(&data),
                false => Ok(()),
            };
            outcome.and(removed)?;
            place.units_before += place.units;
            observer.advance(place.units_before);
        }
    }
    Ok(())
}

/// Of all experiments' setups those that were asked for; every name asked for has to mean at least one.
/// The names that `--only` has. One with commas in it is taken whole where that is the name of a setup (`small-native,discovery=classic`);
/// else it is a list, of which as many parts as make a name are taken together.
fn names_wanted(only: &[String], is_name: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wanted = Vec::new();
    for text in only {
        let parts: Vec<&str> = text.split(',').collect();
        let mut from = 0;
        while from < parts.len() {
            let whole = |to: &usize| is_name(&parts[from..*to].join(","));
            let to = (from + 1..=parts.len()).rev().find(whole).unwrap_or(from + 1);
            wanted.push(parts[from..to].join(","));
            from = to;
        }
    }
    wanted
}

fn keep_chosen(jobs: &mut Vec<Job<'_>>, only: &[String]) -> Result<(), LabError> {
    let all: Vec<&Setup> = jobs.iter().flat_map(|job| &job.setups).collect();
    let only = names_wanted(only, |name| all.iter().any(|setup| setup.is_named(name)));
    let unknown: Vec<&str> = only
        .iter()
        .filter(|wanted| !all.iter().any(|setup| setup.is_named(wanted)))
        .map(String::as_str)
        .collect();
    if !unknown.is_empty() {
        let mut known: Vec<&str> = all.iter().map(|setup| setup.name.as_str()).collect();
        known.dedup();
        let message = format!(
            "no configuration is named {}; there are {}",
            unknown.join(", "),
            known.join(", ")
        );
        return Err(LabError::Experiment(ExperimentError(message)));
    }
    if !only.is_empty() {
        for job in jobs.iter_mut() {
            job.setups
                .retain(|setup| only.iter().any(|wanted| setup.is_named(wanted)));
        }
        jobs.retain(|job| !job.setups.is_empty());
    }
    Ok(())
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

fn empty_results(job: &Job<'_>, options: &RunOptions) -> Results {
    Results {
        experiment: job.experiment.name.clone(),
        title: job.experiment.title.clone(),
        scale: options.scale.clone(),
        started: now_iso8601(),
        toml: job.experiment.text.clone(),
        scripts: job.experiment.script_texts(),
        notes: match &options.target {
            Some(target) => target.notes(job.experiment),
            None => [job.notes.clone(), modelled::notes(job, options)].concat(),
        },
        configurations: job
            .setups
            .iter()
            .map(|setup| empty_configuration(setup, options))
            .collect(),
        ..Results::default()
    }
}

fn empty_configuration(setup: &Setup, options: &RunOptions) -> ConfigurationResults {
    let mut settings = setup.settings();
    if options.target.is_some() {
        // These were not requested from that server.
        settings.retain(|name, _| !OWN_SERVER_SETTINGS.contains(&name.as_str()));
    }
    ConfigurationResults {
        name: setup.name.clone(),
        base: setup.base.clone(),
        title: setup.title.clone(),
        settings,
        ..ConfigurationResults::default()
    }
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

#[cfg(test)]
mod tests {
    use super::names_wanted;

    /// A policy with commas in it is one name, alone and in a list.
    #[test]
    fn several_names_stand_behind_commas() {
        let known = ["small", "large", "native", "native,discovery=classic"];
        let wanted = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|text| text.to_string()).collect();
            names_wanted(&only, |name| known.contains(&name))
        };
        assert_eq!(wanted(&["small,large"]), ["small", "large"]);
        assert_eq!(wanted(&["native,discovery=classic"]), ["native,discovery=classic"]);
        assert_eq!(
            wanted(&["small,native,discovery=classic,large", "native"]),
            ["small", "native,discovery=classic", "large", "native"]
        );
        // Unknown ones are kept, to be named in the refusal.
        assert_eq!(wanted(&["small,nothing,", ""]), ["small", "nothing", "", ""]);
    }
}
