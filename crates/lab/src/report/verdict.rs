//! What the figures allow to say, and no more.

use super::format::{ratio, seconds, thousands};
use crate::experiment::{Experiment, Finding};
use crate::results::{ConfigurationResults, Results};
use crate::statistics::Measurement;

/// One comparison under one variant of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comparison {
    /// `classic`, or empty without a matrix.
    pub variant: String,
    /// The figure that stands out: `17×`, `same`, `–`.
    pub figure: String,
    /// The sentence.
    pub sentence: String,
}

/// Differences below this are the clock's and the scheduler's, not the logs'; phases are logged in whole milliseconds.
const DIFFERENCE_SECONDS_MIN: f64 = 0.005;
/// The same for a single run, which nothing tells from an accident.
const DIFFERENCE_OF_ONE_RUN_SECONDS_MIN: f64 = 0.05;
/// Medians this close are called the same.
const SAME_WITHIN: f64 = 0.05;

/// The finding under each variant that was measured.
pub(super) fn compare(finding: &Finding, results: &Results) -> Vec<Comparison> {
    let variants = results.variants();
    variants
        .into_iter()
        .map(|variant| compare_variant(finding, results, variant))
        .collect()
}

/// The published ratio of a finding.
pub(super) fn published_ratio(finding: &Finding, experiment: &Experiment) -> Option<f64> {
    let value = |base: &str| experiment.published_for(base)?.get(&finding.measure).copied();
    let (slow, fast) = (value(&finding.slow)?, value(&finding.fast)?);
    (fast > 0.0).then(|| slow / fast)
}

fn compare_variant(finding: &Finding, results: &Results, variant: &str) -> Comparison {
    let side = |base: &str| {
        let configuration = results.find(base, variant)?;
        Some((configuration, configuration.measurement(&finding.measure)?))
    };
    let (figure, sentence) = match (side(&finding.slow), side(&finding.fast)) {
        (Some(slow), Some(fast)) => judge(finding, slow, fast),
        _ => ("–".into(), format!("{} was not measured for both logs.", finding.what)),
    };
    Comparison {
        variant: variant.into(),
        figure,
        sentence,
    }
}

type Side<'a> = (&'a ConfigurationResults, &'a Measurement);

fn judge(finding: &Finding, slow: Side<'_>, fast: Side<'_>) -> (String, String) {
    let what = &finding.what;
    let (slow_side, fast_side) = (side_text(slow), side_text(fast));
    let (slow, fast) = (slow.1, fast.1);
    let against = format!("{slow_side} against {fast_side}");
    let runs_fewest = slow.runs.min(fast.runs);
    let difference_min = if runs_fewest > 1 {
        DIFFERENCE_SECONDS_MIN
    } else {
        DIFFERENCE_OF_ONE_RUN_SECONDS_MIN
    };
    if (slow.median - fast.median).abs() < difference_min && slow.median.max(fast.median) < difference_min * 10.0 {
        let limit = seconds(difference_min);
        let sentence = format!("{what} differs by less than {limit}, too little to tell at this scale: {against}.");
        return ("–".into(), sentence);
    }
    let times = slow.median / fast.median.max(f64::MIN_POSITIVE);
    let runs = runs_text(runs_fewest);
    if (1.0 - SAME_WITHIN..=1.0 + SAME_WITHIN).contains(&times) {
        return (
            "same".into(),
            format!("{what} took about the same time: {against}, {runs}."),
        );
    }
    if slow.runs > 1 && fast.runs > 1 && slow.overlaps(fast) {
        let sentence = format!(
            "{what} shows no difference beyond the spread of its runs: {against}; the ranges {} and {} overlap.",
            range_text(slow),
            range_text(fast)
        );
        return ("unclear".into(), sentence);
    }
    if fast.median == 0.0 {
        return (
            format!("+{}", seconds(slow.median)),
            format!("{what} took {against}, {runs}."),
        );
    }
    (
        format!("{}×", ratio(times)),
        format!("{what} took {} times as long: {against}, {runs}.", ratio(times)),
    )
}

fn side_text((configuration, measurement): Side<'_>) -> String {
    let vlfs = configuration
        .measurement("vlf_count")
        .map(|count| format!(" with {} VLFs", thousands(count.median)));
    let time = if measurement.median == 0.0 {
        "less than 1 ms".into()
    } else {
        seconds(measurement.median)
    };
    format!("{time}{}", vlfs.unwrap_or_default())
}

fn range_text(measurement: &Measurement) -> String {
    format!("{} to {}", seconds(measurement.min), seconds(measurement.max))
}

fn runs_text(runs: usize) -> String {
    match runs {
        1 => "one run each".into(),
        many => format!("medians of {many} runs"),
    }
}

/// What the checks allow to say about the data itself; `None` when nothing was checked.
pub(super) fn safety(results: &Results) -> Option<(bool, String)> {
    let checks: Vec<_> = results.configurations.iter().flat_map(|each| &each.checks).collect();
    if checks.is_empty() {
        return None;
    }
    let passed: usize = checks.iter().map(|check| check.passed).sum();
    let failed: usize = checks.iter().map(|check| check.failed).sum();
    let crashes: usize = results
        .configurations
        .iter()
        .filter_map(|each| each.measurement("restart_s"))
        .map(|restart| restart.runs)
        .sum();
    if failed == 0 {
        let text = format!(
            "All {passed} checks held over {}: see below for what was verified.",
            counted(crashes, "crash", "crashes")
        );
        return Some((true, text));
    }
    let mut names: Vec<&str> = checks
        .iter()
        .filter(|check| check.failed > 0)
        .map(|check| check.name.as_str())
        .collect();
    names.dedup();
    Some((
        false,
        format!("{failed} of {} checks failed: {}.", passed + failed, names.join("; ")),
    ))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The published figures of a finding, and whose they are.
pub(super) fn published_sentence(finding: &Finding, experiment: &Experiment, whose: &str) -> String {
    let side = |base: &str| {
        let figures = experiment.published_for(base)?;
        let vlfs = figures
            .get("vlf_count")
            .map(|count| format!(" with {} VLFs", thousands(*count)));
        Some(format!(
            "{}{}",
            seconds(*figures.get(&finding.measure)?),
            vlfs.unwrap_or_default()
        ))
    };
    match (side(&finding.slow), side(&finding.fast)) {
        (Some(slow), Some(fast)) => format!("{slow} against {fast} ({whose})."),
        _ => format!("Not published ({whose})."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(slow: &[f64], fast: &[f64]) -> Results {
        let configuration = |base: &str, values: &[f64], vlfs: f64| {
            let mut found = ConfigurationResults {
                name: base.into(),
                base: base.into(),
                ..Default::default()
            };
            for value in values {
                found.measure("fill_s", *value);
                found.measure("vlf_count", vlfs);
            }
            found
        };
        Results {
            experiment: "recovery".into(),
            scale: "quick".into(),
            complete: true,
            configurations: vec![configuration("bad", slow, 20_480.0), configuration("good", fast, 16.0)],
            ..Results::default()
        }
    }

    fn finding() -> Finding {
        Finding {
            measure: "fill_s".into(),
            slow: "bad".into(),
            fast: "good".into(),
            what: "Filling the log".into(),
            note: String::new(),
        }
    }

    #[test]
    fn what_the_figures_allow_to_say() {
        for (slow, fast, figure, part) in [
            (
                &[5.0, 5.2, 5.1][..],
                &[1.0, 1.1, 1.0][..],
                "5.1×",
                "5.1 times as long: 5.10 s with 20,480 VLFs",
            ),
            (&[5.0], &[1.0], "5.0×", "one run each"),
            (&[1.0, 3.0], &[0.9, 1.2], "unclear", "no difference beyond the spread"),
            (&[1.01], &[1.0], "same", "about the same"),
            (&[0.002], &[0.001], "–", "too little to tell"),
            (&[0.015], &[0.001], "–", "less than 50.0 ms"),
            (&[0.023, 0.024], &[0.0, 0.001], "47×", "47 times as long"),
            (&[1.0], &[4.0], "0.25×", "0.25 times as long"),
            (
                &[0.033, 0.034],
                &[0.0, 0.0],
                "+33.5 ms",
                "33.5 ms with 20,480 VLFs against less than 1 ms with 16",
            ),
            (&[1.0], &[], "–", "not measured"),
        ] {
            let compared = compare(&finding(), &results(slow, fast));
            assert_eq!(compared.len(), 1);
            assert_eq!(compared[0].figure, figure, "{slow:?} {fast:?}");
            assert!(compared[0].sentence.contains(part), "{}", compared[0].sentence);
        }
    }

    #[test]
    fn a_failed_check_is_named() {
        let mut results = results(&[1.0], &[1.0]);
        assert_eq!(safety(&results), None);
        results.configurations[0].check("every committed update is there", true, String::new());
        assert_eq!(safety(&results).map(|(held, _)| held), Some(true));
        results.configurations[1].check("every committed update is there", false, "found 3".into());
        let (held, text) = safety(&results).unwrap_or_default();
        assert!(
            !held && text.contains("1 of 2 checks failed: every committed update is there"),
            "{text}"
        );
    }
}
