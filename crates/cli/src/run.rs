//! `vlflab run`: runs experiments, writes results and report, says what came out.

use crate::arguments::RunOptions;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::target;
use lab::driver::{self, DATA_FOLDER, Outcome, RESULTS_FILE};
use lab::experiment::Experiment;
use lab::results::{Results, RunFile};
use lab::{catalogue, disks, report};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const INTERRUPTED: i32 = 130;

/// Runs them.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.list {
        return list();
    }
    if let Some(name) = &options.template {
        return template(name);
    }
    let experiments = experiments(&options.experiments)?;
    let target = match &options.target {
        Some(address) => Some(target::agree(address, options, &experiments)?),
        None if options.security.is_given() => {
            let text = "-N, -C, -F and -J are for the server of --target";
            return Err(Failure::Usage(text.to_owned()));
        }
        None => None,
    };
    let named = options.disk.iter().map(|name| disks::load(name));
    let disks: Result<Vec<_>, Failure> = named
        .map(|chosen| chosen.map_err(|error| Failure::Usage(error.to_string())))
        .collect();
    let out = out_folder(options)?;
    let options_of_run = driver::RunOptions {
        program: std::env::current_exe()?,
        out: out.clone(),
        scale: options.scale.clone(),
        runs: options.runs.map(usize::from),
        only: options.only.clone(),
        target,
        disks: disks?,
        without_processor_time: options.without_processor_time,
        interrupt: watch_signals()?,
    };
    let mut progress = Progress::new();
    let outcome = driver::run(&experiments, &options_of_run, &mut progress);
    progress.finish();
    conclude(&out, outcome?)
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
                "{shown}/{DATA_FOLDER} is there, and no run's; name another folder with --out"
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

/// The experiments named, or the published ones; every mistake of every file at once.
fn experiments(named: &[String]) -> Result<Vec<Experiment>, Failure> {
    let published: Vec<String>;
    let named = if named.is_empty() {
        published = catalogue::published().into_iter().map(str::to_string).collect();
        &published
    } else {
        named
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

/// The first signal ends the run with its report written, the second one ends the program as it stands.
pub fn watch_signals() -> io::Result<Arc<AtomicBool>> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&interrupt))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }
    Ok(interrupt)
}

fn list() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let published = catalogue::published();
    for name in catalogue::names() {
        let experiment = catalogue::load(name).map_err(|error| Failure::Failed(error.to_string()))?;
        let mark = if published.contains(&name) { "*" } else { " " };
        writeln!(out, "{mark} {name:<10} {}", experiment.title)?;
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
    writeln!(out, "\n* run by 'vlflab run' when none is named")?;
    Ok(())
}

/// Writes the report's forms beside the results; answers their names.
fn write_reports(out: &Path, file: &RunFile) -> io::Result<Vec<&'static str>> {
    let forms = [
        ("report.html", report::render(file)),
        ("report.md", report::markdown(file)),
        ("results.csv", report::csv(file)),
    ];
    for (name, text) in &forms {
        std::fs::write(out.join(name), text)?;
    }
    Ok(forms.iter().map(|(name, _)| *name).chain([RESULTS_FILE]).collect())
}

fn conclude(folder: &Path, outcome: Outcome) -> Result<(), Failure> {
    let written = write_reports(folder, &outcome.file)?;
    let mut out = io::stdout().lock();
    for results in &outcome.file.experiments {
        writeln!(out, "{}\n", heading(results))?;
        if let Ok(experiment) = results.experiment() {
            for line in report::modelled(&experiment, results) {
                writeln!(out, "  {line}")?;
            }
            for line in report::summary(&experiment, results) {
                writeln!(out, "  {line}")?;
            }
        }
        for note in &results.notes {
            writeln!(out, "  note      {note}")?;
        }
        for threshold in &results.thresholds {
            let mark = if threshold.missed { "MISSED" } else { "limit" };
            writeln!(out, "  {mark:<9} {}", threshold.text)?;
        }
        writeln!(out)?;
    }
    for name in written {
        writeln!(out, "{}", folder.join(name).display())?;
    }
    out.flush()?;
    verdict(outcome)
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
