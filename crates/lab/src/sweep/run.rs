//! Runs a shard of a sweep: each configuration that has no results yet, by the lab's own driver.
//!
//! A configuration that fails leaves no results. Whether it can succeed when it is run again is the kind of its failure: see [`is_final`].

use super::file::SweepError;
use super::folder::{self, WorkFolder};
use super::merge::Manifest;
use super::place::{self, Place};
use super::plan::{Plan, Planned};
use super::rows::{self, Found};
use super::shard::Shard;
use crate::client::ClientError;
use crate::driver::{self, LabError, Observer, RunOptions};
use crate::environment::{self, Environment};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// What the caller chooses.
pub struct SweepOptions {
    /// The `vlflab` program to start as the server.
    pub program: PathBuf,
    /// Where results go.
    pub out: Box<dyn Place>,
    /// Where databases lie meanwhile.
    pub data: PathBuf,
    pub shard: Shard,
    /// Configurations that run at once; 1 where any is measured.
    pub jobs: usize,
    /// Set to stop as soon as possible.
    pub interrupt: Arc<AtomicBool>,
}

/// Sees a shard go on, from several threads.
pub trait Watcher: Sync {
    /// The shard has so many configurations, of which some have their results already.
    fn begin(&self, configurations: usize, found_before: usize);
    /// One begins.
    fn configuration(&self, planned: &Planned);
    /// One has ended.
    fn end(&self, planned: &Planned, failure: Option<&str>);
}

/// A configuration without results.
#[derive(Debug, Clone)]
pub struct Failed {
    pub planned: Planned,
    pub why: String,
    /// Whether it fails however often it is run.
    pub is_final: bool,
}

/// What came of a shard.
#[derive(Debug, Default)]
pub struct Summary {
    /// Configurations of the shard.
    pub configurations: usize,
    /// Those that had their results before.
    pub found_before: usize,
    pub run: usize,
    pub failed: Vec<Failed>,
    /// Configurations of the shard whose results have a check that did not hold.
    pub with_failed_checks: Vec<String>,
    pub interrupted: bool,
}

/// Why a shard did not begin, or could not go on.
#[derive(Debug)]
pub enum RunError {
    /// What is asked for cannot be.
    Sweep(SweepError),
    /// A place or file, and what is wrong with it.
    Io(String, io::Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Sweep(error) => write!(f, "{error}"),
            RunError::Io(path, error) => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for RunError {}

/// A shard at work.
struct Work<'a> {
    plan: &'a Plan,
    options: &'a SweepOptions,
    watcher: &'a dyn Watcher,
    environment: Environment,
    summary: Mutex<Summary>,
    /// What keeps every other configuration from running, too.
    stop: Mutex<Option<RunError>>,
}

/// Runs what is missing of a shard.
///
/// # Errors
/// The folders cannot be written, or several jobs are wanted where times are measured.
pub fn run(plan: &Plan, options: &SweepOptions, watcher: &dyn Watcher) -> Result<Summary, RunError> {
    if plan.has_measured() && options.jobs > 1 {
        let text =
            "--jobs is for modelled disks without processor time: measured configurations would disturb each other";
        return Err(RunError::Sweep(SweepError::of(text)));
    }
    let in_out = |error| RunError::Io(options.out.to_string(), error);
    let in_data = |error| RunError::Io(options.data.display().to_string(), error);
    options.out.prepare().map_err(in_out)?;
    folder::remove_left_behind(&options.data).map_err(in_data)?;
    // The path may be too long for every configuration alike: that is said before any of them.
    drop(WorkFolder::make(&options.data).map_err(in_data)?);
    let there: BTreeSet<String> = options.out.names().map_err(in_out)?.into_iter().collect();
    Manifest::of(plan).write(options.out.as_ref(), &there).map_err(in_out)?;
    let work = Work {
        plan,
        options,
        watcher,
        environment: environment::describe(&options.data),
        summary: Mutex::default(),
        stop: Mutex::default(),
    };
    let missing = work.missing(&there)?;
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, missing.len().max(1)) {
            scope.spawn(|| {
                while let Some(planned) = missing.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if work.is_over() {
                        break;
                    }
                    work.configuration(planned);
                }
            });
        }
    });
    // The server of a process that was killed as it started one may have made its folder anew since the sweep began. What is still in use goes
    // with the next sweep.
    let _ = folder::remove_left_behind(&options.data);
    let stop = work.stop.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut summary = work.summary.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.interrupted = options.interrupt.load(Ordering::SeqCst);
    match stop {
        Some(error) => Err(error),
        None => Ok(summary),
    }
}

impl Work<'_> {
    fn machine(&self, planned: &Planned) -> Option<String> {
        planned.is_measured.then(|| self.environment.class())
    }

    /// The configurations of the shard that have no results among the files that are there.
    fn missing(&self, there: &BTreeSet<String>) -> Result<Vec<&Planned>, RunError> {
        let out = &self.options.out;
        let mut missing = Vec::new();
        let mut found = Vec::new();
        for (place, planned) in self.plan.configurations.iter().enumerate() {
            if !self.options.shard.has(place) {
                continue;
            }
            let name = rows::file_name(&planned.name, self.machine(planned).as_deref());
            match there.contains(&name) {
                true => found.push(name),
                false => missing.push(planned),
            }
        }
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        summary.configurations = missing.len() + found.len();
        summary.found_before = found.len();
        for (name, text) in place::read_all(out.as_ref(), &found, folder::RESULTS_BYTES_MAX) {
            let results = text
                .and_then(|text| Found::parse(&text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why)));
            let results = results.map_err(|error| RunError::Io(place::file_in(out.as_ref(), name), error))?;
            note_checks(&mut summary, &results);
        }
        self.watcher.begin(summary.configurations, summary.found_before);
        Ok(missing)
    }

    fn is_over(&self) -> bool {
        let stopped = self.stop.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        stopped || self.options.interrupt.load(Ordering::SeqCst)
    }

    fn configuration(&self, planned: &Planned) {
        self.watcher.configuration(planned);
        let outcome = self.results(planned);
        let kept = match outcome {
            Ok(found) => self.keep(planned, &found),
            Err(error) if error.is_interrupt() => return,
            Err(error) => {
                self.watcher.end(planned, Some(&error.to_string()));
                let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
                summary.failed.push(Failed {
                    planned: planned.clone(),
                    is_final: is_final(&error),
                    why: error.to_string(),
                });
                return;
            }
        };
        match kept {
            Ok(()) => self.watcher.end(planned, None),
            Err(error) => {
                *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }

    fn keep(&self, planned: &Planned, found: &Found) -> Result<(), RunError> {
        let name = rows::file_name(&planned.name, found.machine.as_deref());
        let out = self.options.out.as_ref();
        let written = out.write(&name, &found.text());
        written.map_err(|error| RunError::Io(place::file_in(out, &name), error))?;
        let mut summary = self.summary.lock().unwrap_or_else(PoisonError::into_inner);
        summary.run += 1;
        note_checks(&mut summary, found);
        Ok(())
    }

    /// Runs one configuration.
    fn results(&self, planned: &Planned) -> Result<Found, LabError> {
        let (experiment, disk) = self
            .plan
            .experiment_of(planned)
            .ok_or_else(|| LabError::Unexpected("the plan has no such configuration".into()))?;
        let work =
            WorkFolder::make(&self.options.data).map_err(|error| LabError::Io(self.options.data.clone(), error))?;
        let options = RunOptions {
            program: self.options.program.clone(),
            out: work.path().to_path_buf(),
            scale: planned.labels.scale.clone(),
            runs: Some(planned.runs),
            only: Vec::new(),
            disks: disk.cloned().into_iter().collect(),
            without_processor_time: !planned.is_measured,
            target: None,
            environment: Some(self.environment.clone()),
            records: false,
            interrupt: Arc::clone(&self.options.interrupt),
        };
        let mut outcome = driver::run(&[experiment], &options, &mut Silence)?;
        if outcome.interrupted {
            return Err(LabError::Interrupted);
        }
        if let Some((_, error)) = outcome.failures.pop() {
            return Err(error);
        }
        let experiments = outcome.file.experiments.into_iter();
        let mut configurations = experiments.flat_map(|results| results.configurations);
        let results = configurations.next();
        let results = results.ok_or_else(|| LabError::Unexpected("nothing was run".into()))?;
        Ok(Found::of(planned, self.machine(planned).as_deref(), &results))
    }
}

fn note_checks(summary: &mut Summary, found: &Found) {
    if found.failed_checks() > 0 {
        summary.with_failed_checks.push(found.configuration.clone());
    }
}

/// Whether a configuration that failed so fails however often it is run: what is asked for is wrong, or a statement is refused for what it
/// says. From severity 17 on an error is about resources or the machine, and another run or another machine may have them; so may be a few
/// about files, a full disk's among them, which have severity 16.
pub fn is_final(error: &LabError) -> bool {
    const RESOURCES: u8 = 17;
    const OF_FILES: [i32; 7] = [1802, 3201, 3202, 3257, 5123, 5133, 5149];
    match error {
        LabError::Experiment(_) | LabError::Unexpected(_) => true,
        LabError::Step {
            error: ClientError::Server(message),
            ..
        } => message.severity < RESOURCES && !OF_FILES.contains(&message.number),
        LabError::Step { .. } | LabError::Io(..) | LabError::Server(_) | LabError::Interrupted => false,
    }
}

/// A configuration's own progress is not shown: there are too many.
struct Silence;

impl Observer for Silence {
    fn begin(&mut self, _units: u64) {}
    fn experiment(&mut self, _name: &str, _ordinal: usize, _count: usize) {}
    fn step(&mut self, _configuration: &str, _run: usize, _label: &str) {}
    fn advance(&mut self, _units: u64) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::client::ServerMessage;
    use std::fs;

    /// Does what the server of a killed sweep does that makes its folder only after another sweep of the same folder has begun.
    struct LateServer(PathBuf);

    impl Watcher for LateServer {
        fn begin(&self, _configurations: usize, _found_before: usize) {
            fs::create_dir_all(self.0.join("data")).unwrap();
        }

        fn configuration(&self, _planned: &Planned) {}

        fn end(&self, _planned: &Planned, _failure: Option<&str>) {}
    }

    /// A shard that was killed as it started a server, and run again, had left that server's folder behind for good where nobody ran it a third
    /// time: the sweep looked for such folders only as it began, and the server came later.
    #[test]
    fn a_folder_that_a_dying_server_makes_late_goes_at_the_end() {
        let folder = std::env::temp_dir().join(format!("vlflab-sweep-late-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("sweep.toml");
        let text = "name = 'a'\ntitle = 'A sweep'\nexperiments = ['curve']\ndisks = ['nvme-plp']\n";
        fs::write(&file, text).unwrap();
        let late = folder.join("data/vlflab-sweep-0123456789ab--");
        let options = SweepOptions {
            program: "/no/program/is/started".into(),
            out: Box::new(place::Folder(folder.join("out"))),
            data: folder.join("data"),
            // One that has no configuration.
            shard: Shard::parse("999/999").unwrap(),
            jobs: 1,
            interrupt: Arc::default(),
        };
        let summary = run(&Plan::load(&file).unwrap(), &options, &LateServer(late.clone())).unwrap();
        assert_eq!((summary.configurations, late.exists()), (0, false));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_refused_statement_fails_again_and_a_full_disk_need_not() {
        let of = |number, severity| {
            let message = ServerMessage {
                number,
                severity,
                state: 1,
                line: 1,
                server: String::new(),
                procedure: String::new(),
                text: String::new(),
            };
            is_final(&LabError::Step {
                label: "fill".into(),
                error: ClientError::Server(message),
            })
        };
        assert_eq!([of(208, 16), of(102, 15)], [true, true]);
        assert_eq!([of(5149, 16), of(9002, 17), of(823, 24)], [false, false, false]);
        assert!(is_final(&LabError::Unexpected(
            "step 'fill' ended without error 9002".into()
        )));
        assert!(!is_final(&LabError::Io("out".into(), io::Error::other("full"))));
    }
}
