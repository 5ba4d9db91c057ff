//! `vlflab run`: runs an experiment, writes results and report, says what came out.

use crate::arguments::RunOptions;
use crate::exit::Failure;
use crate::progress::Progress;
use lab::driver::{self, Outcome, RESULTS_FILE};
use lab::experiment::{Experiment, Threshold};
use lab::results::Results;
use lab::{catalogue, report};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Name of the report in the output folder.
const REPORT_FILE: &str = "report.html";

/// Runs it.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let experiment = catalogue::load(&options.experiment).map_err(|error| Failure::Usage(error.to_string()))?;
    let experiments = [experiment];
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))?;
    }
    let options_of_run = driver::RunOptions {
        program: std::env::current_exe()?,
        out: options.out.clone(),
        scale: options.scale.clone(),
        runs: options.runs.map(usize::from),
        only: options.only.clone(),
        interrupt,
    };
    let mut progress = Progress::new();
    let outcome = driver::run(&experiments, &options_of_run, &mut progress);
    progress.finish();
    conclude(&experiments, options, outcome?)
}

fn conclude(experiments: &[Experiment], options: &RunOptions, outcome: Outcome) -> Result<(), Failure> {
    let report_path = options.out.join(REPORT_FILE);
    std::fs::write(&report_path, report::render(&outcome.file))?;
    let mut out = io::stdout().lock();
    for (experiment, results) in experiments.iter().zip(&outcome.file.experiments) {
        for line in report::summary(experiment, results) {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out, "\nreport   {}", report_path.display())?;
    writeln!(out, "results  {}", options.out.join(RESULTS_FILE).display())?;
    if let Some((name, error)) = outcome.failures.first() {
        let kept = format!("{name}: {error}; what was measured until then is kept");
        return Err(if outcome.interrupted {
            Failure::Interrupted(kept)
        } else {
            Failure::Failed(kept)
        });
    }
    if !outcome.file.experiments.iter().all(Results::all_checks_passed) {
        return Err(Failure::Failed("a check failed; see the report".into()));
    }
    let all = experiments.iter().zip(&outcome.file.experiments);
    let missed: Vec<String> = all
        .flat_map(|(experiment, results)| missed_thresholds(experiment, results))
        .collect();
    if missed.is_empty() {
        Ok(())
    } else {
        Err(Failure::ThresholdMissed(missed.join("\n        ")))
    }
}

/// Every threshold missed, in words.
fn missed_thresholds(experiment: &Experiment, results: &Results) -> Vec<String> {
    let mut missed = Vec::new();
    for threshold in &experiment.threshold {
        let matches = |name: &str, base: &str| threshold.configuration == name || threshold.configuration == base;
        for configuration in results
            .configurations
            .iter()
            .filter(|each| matches(&each.name, &each.base))
        {
            let Some(measured) = configuration.measurement(&threshold.measure) else {
                continue;
            };
            if let Some(how) = miss(threshold, measured.median) {
                missed.push(format!(
                    "threshold missed: {} of {} is {how}",
                    threshold.measure, configuration.name
                ));
            }
        }
    }
    missed
}

fn miss(threshold: &Threshold, median: f64) -> Option<String> {
    match (threshold.min, threshold.max) {
        (_, Some(max)) if median > max => Some(format!("{median}, more than {max}")),
        (Some(min), _) if median < min => Some(format!("{median}, less than {min}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_missed_from_either_side() {
        let threshold = |min, max| Threshold {
            measure: "fill_s".into(),
            configuration: "bad".into(),
            ratio_to: None,
            min,
            max,
        };
        assert_eq!(miss(&threshold(None, Some(2.0)), 2.0), None);
        assert!(miss(&threshold(None, Some(2.0)), 2.1).is_some());
        assert!(miss(&threshold(Some(1.0), Some(2.0)), 0.9).is_some());
        assert_eq!(miss(&threshold(None, None), 5.0), None);
    }
}
