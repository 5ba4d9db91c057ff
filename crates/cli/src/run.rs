//! `vlflab run`: runs experiments, writes results and report, prints a summary.

use crate::arguments::RunOptions;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report;
use crate::target;
use crate::wrap;
use lab::driver::{self, DATA_FOLDER, Outcome, RESULTS_FILE};
use lab::experiment::Experiment;
use lab::results::Results;
use lab::{catalogue, disks};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const INTERRUPTED: i32 = 130;

pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.list {
        return list();
    }
    if let Some(name) = &options.template {
        return template(name);
    }
    let experiments = experiments(options)?;
    let target = match &options.target {
        Some(address) => Some(target::agree(address, options, &experiments)?),
        None if options.security.is_given() || options.ticket.is_given() => {
            let text = "-N, -C, -F, -J, -E and --access-token are for the server of --target";
            return Err(Failure::Usage(text.to_owned()));
        }
        None => None,
    };
    let named = options.disk.iter().map(|name| disks::load(name));
    let disks: Result<Vec<_>, Failure> = named
        .map(|chosen| chosen.map_err(|error| Failure::Usage(error.to_string())))
        .collect();
    let out = out_folder(options)?;
    let (interrupt, ending) = end_at_signals(out.join(DATA_FOLDER))?;
    let options_of_run = driver::RunOptions {
        program: std::env::current_exe()?,
        out: out.clone(),
        scale: options.scale.clone(),
        runs: options.runs.map(usize::from),
        only: options.only.clone(),
        target,
        environment: None,
        disks: disks?,
        without_processor_time: options.without_processor_time,
        records: options.record,
        interrupt,
    };
    let mut progress = Progress::new();
    let outcome = driver::run(&experiments, &options_of_run, &mut progress);
    progress.finish();
    // The end of the run waits for a second signal's clean-up.
    let _ending = ending.lock();
    conclude(&out, outcome?, options.short)
}

/// Folder of the results when none is named.
const DEFAULT_OUT: &str = "vlflab-results";

/// Where results go. Nothing that is there is replaced but the results of a run, and these only when that was asked for:
///
/// | results | databases | overwrite | |
/// |---|---|---|---|
/// | no | no | any | goes there |
/// | yes | any | no | refused; without a folder named, the next is taken |
/// | yes | any | yes | goes there |
/// | no | yes | any | refused: that folder is not a run's |
fn out_folder(options: &RunOptions) -> Result<PathBuf, Failure> {
    let holds = |folder: &Path| [RESULTS_FILE, DATA_FOLDER].map(|name| folder.join(name).exists());
    if let Some(named) = &options.out {
        let shown = named.display();
        return match (holds(named), options.overwrite) {
            ([false, false], _) | ([true, _], true) => Ok(named.clone()),
            ([true, _], false) => Err(Failure::Usage(format!(
                "{shown} holds the results of a run; --overwrite replaces them, another --out keeps them"
            ))),
            ([false, true], _) => Err(Failure::Usage(format!(
                "{shown}/{DATA_FOLDER} exists and does not belong to a run; name another folder with --out"
            ))),
        };
    }
    let names = std::iter::once(DEFAULT_OUT.to_owned()).chain((2..).map(|number| format!("{DEFAULT_OUT}-{number}")));
    let free = names.map(PathBuf::from).find(|folder| holds(folder) == [false, false]);
    free.ok_or_else(|| Failure::Failed("no folder for the results is free".into()))
}

/// Writes an experiment to begin with.
fn template(name: &str) -> Result<(), Failure> {
    let written = lab::template::write(Path::new("."), name).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut out = io::stdout().lock();
    for path in &written {
        writeln!(out, "{}", path.strip_prefix(".").unwrap_or(path).display())?;
    }
    writeln!(out, "\nRun it with: vlflab run {name}.toml")?;
    Ok(())
}

/// The experiments named, or those of the default run; every mistake of every file at once.
fn experiments(options: &RunOptions) -> Result<Vec<Experiment>, Failure> {
    let named: Vec<&str> = options.experiments.iter().map(String::as_str).collect();
    let default_run = catalogue::default_run(&options.scale);
    // A server that is there may be of any version: it gets a companion only where that is named.
    let named: Vec<&str> = match (named.is_empty(), options.target.is_none()) {
        (true, true) => default_run.to_vec(),
        (true, false) => default_run
            .iter()
            .copied()
            .filter(|name| !catalogue::is_companion(name))
            .collect(),
        (false, true) => catalogue::with_companions(&named),
        (false, false) => named,
    };
    let mut experiments = Vec::new();
    let mut mistakes = Vec::new();
    for name in named {
        match catalogue::load(name) {
            Ok(experiment) => experiments.push(experiment),
            Err(error) => mistakes.push(error.to_string()),
        }
    }
    if mistakes.is_empty() {
        Ok(experiments)
    } else {
        Err(Failure::Usage(mistakes.join("\n")))
    }
}

/// The first signal is noted, the second one ends the program as it stands.
pub fn watch_signals() -> io::Result<Arc<AtomicBool>> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&interrupt))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }
    Ok(interrupt)
}

/// The first signal ends the run with its report written. The second one, and a terminal that is closed twice over, end the program
/// as it stands, but for the server and its databases: these are taken away first. The holder of the lock ends the program.
fn end_at_signals(data: PathBuf) -> io::Result<(Arc<AtomicBool>, Arc<Mutex<()>>)> {
    let interrupt = Arc::new(AtomicBool::new(false));
    let ending = Arc::new(Mutex::new(()));
    let (asked, held) = (Arc::clone(&interrupt), Arc::clone(&ending));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if asked.swap(true, Ordering::SeqCst) {
                let _ending = held.lock();
                lab::server_process::end_for_good();
                remove_whatever_is_written(&data);
                std::process::exit(INTERRUPTED);
            }
        }
    });
    Ok((interrupt, ending))
}

/// Removes a folder in which files may still appear.
pub fn remove_whatever_is_written(folder: &Path) {
    const TRIES_MAX: usize = 100;
    for _ in 0..TRIES_MAX {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
}

fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    for name in catalogue::names() {
        let experiment = catalogue::load(name).map_err(|error| Failure::Failed(error.to_string()))?;
        let is_default = |scale: &str| catalogue::default_run(scale).contains(&name);
        let mark = match (is_default("quick"), is_default("full")) {
            (true, _) => "*",
            (false, true) => "+",
            (false, false) => " ",
        };
        writeln!(out, "{mark} {name:<11} {}", experiment.title)?;
        for (scale, about) in experiment.scale.iter().filter(|(_, scale)| !scale.hidden) {
            writeln!(out, "    {scale:<8} {}", about.description)?;
        }
        let configurations: Vec<&str> = experiment.configuration.iter().map(|each| each.name.as_str()).collect();
        let matrix = experiment
            .matrix
            .iter()
            .map(|(key, values)| format!("; {key}: {}", values.join(", ")));
        writeln!(
            out,
            "    --only   {}{}",
            configurations.join(", "),
            matrix.collect::<String>()
        )?;
    }
    writeln!(
        out,
        "\n* run by 'vlflab run' when none is named; with --scale full, those marked + as well"
    )?;
    Ok(())
}

fn conclude(folder: &Path, outcome: Outcome, is_short: bool) -> Result<(), Failure> {
    let forms = report::forms(&outcome.file, is_short);
    report::write(folder, &forms)?;
    let mut out = io::stdout().lock();
    for results in &outcome.file.experiments {
        tell(&mut out, wrap::width(), results)?;
    }
    for name in forms.iter().map(|(name, _)| *name).chain([RESULTS_FILE]) {
        writeln!(out, "{}", folder.join(name).display())?;
    }
    out.flush()?;
    verdict(outcome)
}

/// Words at the left of the summary's lines have this much room.
const MARK_COLUMNS: usize = 10;

/// An experiment's outcome for a terminal.
fn tell(out: &mut dyn Write, width: usize, results: &Results) -> io::Result<()> {
    wrap::write(out, width, ("", "  "), &heading(results))?;
    writeln!(out)?;
    let mut line = |mark: &str, text: &str| {
        let first = format!("  {mark:<MARK_COLUMNS$}");
        let rest = " ".repeat(MARK_COLUMNS + 2);
        wrap::write(out, width, (&first, &rest), text)
    };
    if let Ok(experiment) = results.experiment() {
        for (mark, text) in lab::report::summary(&experiment, results) {
            line(&mark, &text)?;
        }
    }
    for note in &results.notes {
        line("note", note)?;
    }
    for threshold in &results.thresholds {
        line(if threshold.missed { "MISSED" } else { "limit" }, &threshold.text)?;
    }
    writeln!(out)
}

fn heading(results: &Results) -> String {
    let state = if results.complete { "" } else { ", cut short" };
    format!(
        "{}: {} ({:.0} s{state})",
        results.experiment, results.title, results.elapsed_s
    )
}

/// What the exit code is to tell: a wish to stop before a failure, a failure before a failed check, that before a limit.
fn verdict(mut outcome: Outcome) -> Result<(), Failure> {
    if outcome.interrupted {
        let kept = "interrupted; what was measured until then is in the report and the results";
        return Err(Failure::Interrupted(kept.into()));
    }
    if !outcome.failures.is_empty() {
        let (name, error) = outcome.failures.remove(0);
        let others = outcome
            .failures
            .iter()
            .map(|(name, error)| format!("\n        {name}: {error}"));
        let said = format!(
            "{name}: {error}{}\n        what was measured until then is kept",
            others.collect::<String>()
        );
        return Err(Failure::of_run(error, said));
    }
    if !outcome.file.experiments.iter().all(Results::all_checks_passed) {
        return Err(Failure::Failed("a check failed; see the report".into()));
    }
    let missed = outcome.file.missed_thresholds();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(Failure::ThresholdMissed(format!(
            "limit missed: {}",
            missed.join("\n        limit missed: ")
        )))
    }
}
