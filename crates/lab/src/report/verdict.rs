//! Conclusions that the figures support, and no others.
//!
//! A finding compares one measurement of two configurations under each variant of the matrix. Ratios are of medians; the
//! spread of a ratio is from the smallest over the largest run to the largest over the smallest.

use super::format::{Unit, counted, range, ratio, seconds, thousands, unit, value};
use crate::experiment::{Experiment, Finding};
use crate::results::{ConfigurationResults, Results, Slope};
use crate::statistics::Measurement;

/// How a comparison came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// One is larger beyond the spread of its runs.
    Differs,
    /// The medians are about the same.
    Same,
    /// The ranges of the runs overlap.
    Unclear,
    /// The difference is the clock's and the scheduler's.
    TooLittle,
    /// One of the two is not there.
    Missing,
}

/// One comparison under one variant of the matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    /// `classic`, or empty without a matrix.
    pub variant: String,
    /// How it came out.
    pub outcome: Outcome,
    /// Median over median.
    pub ratio: Option<f64>,
    /// Median less median.
    pub difference: f64,
    /// Both medians: `61.2 s against 44.0 s`.
    pub against: String,
    /// The figure that stands out: `17×`, `same`, `–`. Of single runs, which nothing tells from an accident, both figures and no
    /// ratio: `94.1 s instead of 78.0 ms`.
    pub figure: String,
    /// The spread of the ratio: `1.28–1.35`; empty for single runs.
    pub spread: String,
    pub sentence: String,
}

/// Differences below this are the clock's and the scheduler's, not the logs'; phases are logged in whole milliseconds.
const DIFFERENCE_SECONDS_MIN: f64 = 0.005;
/// The same for a single run, which nothing tells from an accident.
const DIFFERENCE_OF_ONE_RUN_SECONDS_MIN: f64 = 0.05;
/// Medians this close are called the same.
const SAME_WITHIN: f64 = 0.05;
/// The largest run of one over the smallest of the other, from which on medians alone do not make two the same.
const SCATTERED_FROM: f64 = 1.25;

/// A variant's name taken apart: `classic@hdd-7200-2006`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VariantName<'a> {
    /// What the matrix chose; empty without one.
    pub policy: &'a str,
    /// The modelled disk; none for this machine's.
    pub disk: Option<&'a str>,
}

impl<'a> VariantName<'a> {
    pub(super) fn of(variant: &'a str) -> VariantName<'a> {
        match variant.split_once('@') {
            Some((policy, disk)) => VariantName {
                policy,
                disk: Some(disk),
            },
            None => VariantName {
                policy: variant,
                disk: None,
            },
        }
    }

    pub(super) fn text(self) -> String {
        match self.disk {
            Some(disk) => format!("{}@{disk}", self.policy),
            None => self.policy.into(),
        }
    }
}

/// What a variant is called in a report: an experiment without variants has one of no name.
pub(super) fn shown_variant(variant: &str) -> String {
    let VariantName { policy, disk } = VariantName::of(variant);
    match (policy, disk) {
        ("", Some(disk)) => format!("modelled on {disk}"),
        (policy, Some(disk)) => format!("{policy}, modelled on {disk}"),
        ("", None) => "measured".into(),
        (policy, None) => policy.into(),
    }
}

/// Whether what a variant took is a model's figure.
pub(super) fn is_modelled(variant: &str) -> bool {
    VariantName::of(variant).disk.is_some()
}

/// A headline names at most so many variants one by one.
const VARIANTS_NAMED_MAX: usize = 4;

/// The finding under each variant that one of its two configurations has.
pub(super) fn compare(finding: &Finding, results: &Results) -> Vec<Comparison> {
    let has = |variant: &&str| {
        let mut bases = [&finding.slow, &finding.fast].into_iter();
        bases.any(|base| results.find(base, variant).is_some())
    };
    let variants = results.variants().into_iter().filter(has);
    variants
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
    let mut comparison = match (side(&finding.slow), side(&finding.fast)) {
        (Some(slow), Some(fast)) => Comparison {
            against: format!(
                "{} against {}",
                median_text(&finding.measure, slow.1),
                median_text(&finding.measure, fast.1)
            ),
            ..judge(finding, slow, fast, is_modelled(variant))
        },
        _ => comparison(
            Outcome::Missing,
            "–",
            format!("{} was not measured for both logs.", finding.what),
        ),
    };
    comparison.variant = variant.into();
    comparison
}

fn comparison(outcome: Outcome, figure: impl Into<String>, sentence: String) -> Comparison {
    Comparison {
        variant: String::new(),
        outcome,
        ratio: None,
        difference: 0.0,
        against: String::new(),
        figure: figure.into(),
        spread: String::new(),
        sentence,
    }
}

type Side<'a> = (&'a ConfigurationResults, &'a Measurement);

fn judge(finding: &Finding, slow: Side<'_>, fast: Side<'_>, is_modelled: bool) -> Comparison {
    let (what, name) = (&finding.what, finding.measure.as_str());
    let against = format!("{} against {}", side_text(name, slow), side_text(name, fast));
    let (slow, fast) = (slow.1, fast.1);
    if let Some(limit) = too_little(name, slow, fast) {
        let sentence = format!("{what} differs by less than {limit}, too little to tell at this scale: {against}.");
        return comparison(Outcome::TooLittle, "–", sentence);
    }
    let runs = runs_text(slow.runs.min(fast.runs), is_modelled);
    let times = slow.median / fast.median.max(f64::MIN_POSITIVE);
    let spread = spread_of_ratio(slow, fast);
    let close = (1.0 - SAME_WITHIN..=1.0 + SAME_WITHIN).contains(&times);
    let is_single = slow.runs.min(fast.runs) < 2;
    let (outcome, figure, sentence) = if close && !is_scattered(slow, fast) {
        let sentence = format!("{what} {}: {against}, {runs}.", wording(name).same);
        let figure = if is_single {
            pair(name, slow, fast)
        } else {
            "same".into()
        };
        (Outcome::Same, figure, sentence)
    } else if slow.runs > 1 && fast.runs > 1 && slow.overlaps(fast) {
        let sentence = format!(
            "{what}: no difference beyond the spread of the runs, {against}; the ranges {} and {} overlap.",
            range(name, slow.min, slow.max),
            range(name, fast.min, fast.max)
        );
        (Outcome::Unclear, "unclear".into(), sentence)
    } else if fast.median == 0.0 {
        let sentence = format!("{what} took {against}, {runs}.");
        let figure = if is_single {
            pair(name, slow, fast)
        } else {
            format!("+{}", value(name, slow.median))
        };
        return Comparison {
            difference: slow.median,
            ..comparison(Outcome::Differs, figure, sentence)
        };
    } else {
        let between = if spread.is_empty() {
            String::new()
        } else {
            format!(" ({spread} by single runs)")
        };
        let sentence = format!("{what} {}{between}: {against}, {runs}.", (wording(name).times)(times));
        let figure = if is_single {
            pair(name, slow, fast)
        } else {
            format!("{}×", ratio(times))
        };
        (Outcome::Differs, figure, sentence)
    };
    Comparison {
        ratio: Some(times),
        difference: slow.median - fast.median,
        spread,
        ..comparison(outcome, figure, sentence)
    }
}

/// Both medians, where their ratio would claim too much.
fn pair(name: &str, slow: &Measurement, fast: &Measurement) -> String {
    format!("{} instead of {}", value(name, slow.median), value(name, fast.median))
}

/// The published figures of a finding next to each other: they are of single runs.
pub(super) fn published_pair(finding: &Finding, experiment: &Experiment) -> Option<String> {
    let figure = |base: &str| {
        let figure = experiment.published_for(base)?.get(&finding.measure)?;
        Some(value(&finding.measure, *figure))
    };
    Some(format!(
        "{} instead of {}",
        figure(&finding.slow)?,
        figure(&finding.fast)?
    ))
}

/// How a kind of measurement is compared in words.
struct Wording {
    same: &'static str,
    times: fn(f64) -> String,
}

fn wording(name: &str) -> Wording {
    match unit(name) {
        Unit::Time(_) => Wording {
            same: "took about the same time",
            times: |times| format!("took {} times as long", ratio(times)),
        },
        _ => Wording {
            same: "came out about the same",
            times: |times| format!("came to {} times as much", ratio(times)),
        },
    }
}

/// The limit under which two times count as equal, if both are that small.
fn too_little(name: &str, slow: &Measurement, fast: &Measurement) -> Option<String> {
    let Unit::Time(factor) = unit(name) else { return None };
    let limit = if slow.runs.min(fast.runs) > 1 {
        DIFFERENCE_SECONDS_MIN
    } else {
        DIFFERENCE_OF_ONE_RUN_SECONDS_MIN
    };
    let (slow, fast) = (slow.median * factor, fast.median * factor);
    let small = (slow - fast).abs() < limit && slow.max(fast) < limit * 10.0;
    // Microseconds are the means of many operations, not single readings of the clock.
    let single = !name.ends_with("_us");
    (small && single).then(|| seconds(limit))
}

/// Whether single runs lie so far apart that medians close to each other may be an accident.
fn is_scattered(slow: &Measurement, fast: &Measurement) -> bool {
    let wide = |one: &Measurement, other: &Measurement| one.max > other.min * SCATTERED_FROM;
    slow.runs > 1 && fast.runs > 1 && (wide(slow, fast) || wide(fast, slow))
}

fn spread_of_ratio(slow: &Measurement, fast: &Measurement) -> String {
    if slow.runs < 2 || fast.runs < 2 || fast.max <= 0.0 {
        return String::new();
    }
    if fast.min <= 0.0 {
        return format!("at least {}", ratio(slow.min / fast.max));
    }
    format!("{}–{}", ratio(slow.min / fast.max), ratio(slow.max / fast.min))
}

fn side_text(name: &str, (configuration, measurement): Side<'_>) -> String {
    let text = median_text(name, measurement);
    match configuration.measurement("vlf_count") {
        Some(count) if name != "vlf_count" => {
            format!("{text} with {}", vlfs_text(count.median))
        }
        _ => text,
    }
}

fn median_text(name: &str, measurement: &Measurement) -> String {
    match unit(name) {
        Unit::Time(_) if measurement.median == 0.0 => "less than 1 ms".into(),
        _ => value(name, measurement.median),
    }
}

fn vlfs_text(count: f64) -> String {
    format!("{} VLFs", thousands(count))
}

/// How many runs a figure stands for. On a modelled disk one is enough: its time is computed, and only the processor's differs.
fn runs_text(runs: usize, is_modelled: bool) -> String {
    match (runs, is_modelled) {
        (1, true) => "one run each, as the disk's time is computed and the same in every run".into(),
        (1, false) => "one run each".into(),
        (many, _) => format!("medians of {many} runs"),
    }
}

/// The experiment in one sentence: its first finding under every variant, and what was published.
pub(super) fn headline(experiment: &Experiment, results: &Results) -> String {
    let Some(finding) = experiment.finding.first() else {
        if !results.slopes.is_empty() {
            return slopes_headline(results);
        }
        return format!(
            "{} measured; the experiment's file asks for no comparison.",
            counted(results.configurations.len(), "configuration", "configurations")
        );
    };
    let comparisons = compare(finding, results);
    let mut clauses = clauses(&comparisons);
    if let Some(against) = published_against(finding, experiment) {
        clauses.push(format!("published{} {against}", published_mark(experiment, results)));
    }
    format!(
        "{}{}: {}.",
        finding.what,
        vlfs_against(finding, results),
        clauses.join("; ")
    )
}

/// What stands behind a published figure whose size is not that of this run.
pub(super) fn published_mark(experiment: &Experiment, results: &Results) -> &'static str {
    if experiment.is_of_published_size(&results.scale) {
        ""
    } else {
        " at another size"
    }
}

/// The steepest slope of each kind of cost.
fn slopes_headline(results: &Results) -> String {
    format!("What a thousand VLFs cost: {}.", slope_clauses(results).join("; "))
}

/// The same, each by itself; nothing where no slope was asked for.
pub(super) fn slope_clauses(results: &Results) -> Vec<String> {
    let mut steepest: Vec<&Slope> = Vec::new();
    for slope in &results.slopes {
        match steepest.iter_mut().find(|each| each.what == slope.what) {
            Some(each) if each.ms_per_1000_vlfs < slope.ms_per_1000_vlfs => *each = slope,
            Some(_) => {}
            None => steepest.push(slope),
        }
    }
    let clauses = steepest.iter().map(|slope| {
        let native = results
            .slopes
            .iter()
            .find(|each| each.what == slope.what && each.variant == "native");
        let native = native.filter(|native| native.variant != slope.variant);
        let native = native.map(|native| format!(" (native {:.2} ms)", native.ms_per_1000_vlfs));
        format!(
            "{} {:.2} ms at most, under {}{}",
            slope.what,
            slope.ms_per_1000_vlfs,
            slope.variant,
            native.unwrap_or_default()
        )
    });
    clauses.collect()
}

/// `, 20,480 VLFs against 16`, as far as all variants agree on it.
fn vlfs_against(finding: &Finding, results: &Results) -> String {
    let count = |base: &str| {
        let found = results.configurations.iter().filter(|each| each.base == base);
        let mut counts = found
            .filter_map(|each| each.measurement("vlf_count"))
            .map(|each| each.median);
        let first = counts.next()?;
        counts.all(|count| count == first).then_some(first)
    };
    match (count(&finding.slow), count(&finding.fast)) {
        (Some(slow), Some(fast)) if slow != fast => {
            format!(", {} VLFs against {}", thousands(slow), thousands(fast))
        }
        _ => String::new(),
    }
}

fn clauses(comparisons: &[Comparison]) -> Vec<String> {
    if comparisons.len() <= VARIANTS_NAMED_MAX {
        return comparisons.iter().map(clause).collect();
    }
    let mut differing: Vec<&Comparison> = comparisons
        .iter()
        .filter(|each| each.outcome == Outcome::Differs)
        .collect();
    differing.sort_by(|left, right| right.difference.total_cmp(&left.difference));
    let mut clauses: Vec<String> = differing
        .iter()
        .take(VARIANTS_NAMED_MAX - 1)
        .map(|each| clause(each))
        .collect();
    let others = comparisons.len() - clauses.len();
    if differing.len() > clauses.len() {
        clauses.push(format!("{others} others below"));
    } else {
        clauses.push(format!("no difference that could be told under {others} others"));
    }
    clauses
}

fn clause(comparison: &Comparison) -> String {
    let judged = match comparison.outcome {
        Outcome::Differs if comparison.ratio.is_none() => String::new(),
        Outcome::Differs if comparison.spread.is_empty() => " (one run each)".into(),
        Outcome::Differs => format!(" ({}, by single runs {})", comparison.figure, comparison.spread),
        Outcome::Same => " (about the same)".into(),
        Outcome::Unclear => " (no difference beyond the spread of the runs)".into(),
        Outcome::TooLittle => " (too little to tell)".into(),
        Outcome::Missing => "not measured".into(),
    };
    let said = format!("{}{judged}", comparison.against);
    if comparison.variant.is_empty() {
        said
    } else {
        format!("{} {said}", comparison.variant)
    }
}

fn published_against(finding: &Finding, experiment: &Experiment) -> Option<String> {
    let side = |base: &str| {
        let figure = experiment.published_for(base)?.get(&finding.measure)?;
        Some(value(&finding.measure, *figure))
    };
    Some(format!("{} against {}", side(&finding.slow)?, side(&finding.fast)?))
}

/// What this run cannot show, in sentences.
pub(super) fn limits(experiment: &Experiment, results: &Results) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(reason) = &results.stopped {
        limits.push(format!(
            "This experiment stopped early ({reason}); what follows is what it had measured by then."
        ));
    }
    if results.scale != "full" {
        limits.push(scale_limit(experiment, results));
    }
    let runs = results
        .configurations
        .iter()
        .flat_map(|each| each.measurements.values())
        .map(|each| each.runs)
        .max();
    let is_measured = results.configurations.iter().any(|each| each.modelled_disk().is_none());
    if runs == Some(1) && is_measured {
        limits.push("Every figure is a single run, so nothing is known about its spread.".into());
    }
    limits
}

fn scale_limit(experiment: &Experiment, results: &Results) -> String {
    let scale = experiment.scale.get(&results.scale);
    let description = scale.map_or(String::new(), |scale| format!(": {}", scale.description));
    let most = results
        .configurations
        .iter()
        .filter_map(|each| each.measurement("vlf_count"))
        .map(|count| count.max)
        .fold(0.0, f64::max);
    let published = experiment.published.iter().flat_map(|each| &each.configuration);
    let published = published
        .filter_map(|each| each.measurements.get("vlf_count").copied())
        .fold(0.0, f64::max);
    let mut text = format!("Scale {}{description}.", results.scale);
    if most > 0.0 && published > most {
        text.push_str(&format!(
            " The largest log here had {}, the published one {}: what VLFs cost grows with their number, so this scale cannot show the published effect in full.",
            vlfs_text(most),
            thousands(published)
        ));
    }
    if !experiment.is_of_published_size(&results.scale) && experiment.scale.contains_key("full") {
        text.push_str(&format!(
            " The published size is measured by: vlflab run {} --scale full",
            results.experiment
        ));
    }
    text
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
        let over = if crashes > 0 {
            format!(" over {}", counted(crashes, "crash", "crashes"))
        } else {
            String::new()
        };
        let text = match passed {
            1 => format!("The one check held{over}."),
            _ => format!("All {passed} checks held{over}."),
        };
        return Some((true, text));
    }
    let mut names: Vec<&str> = checks
        .iter()
        .filter(|check| check.failed > 0)
        .map(|check| check.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    Some((
        false,
        format!("{failed} of {} checks failed: {}.", passed + failed, names.join("; ")),
    ))
}

/// The published figures of a finding, and whose they are.
pub(super) fn published_sentence(finding: &Finding, experiment: &Experiment, whose: &str) -> String {
    let side = |base: &str| {
        let figures = experiment.published_for(base)?;
        let vlfs = figures.get("vlf_count").filter(|_| finding.measure != "vlf_count");
        let vlfs = vlfs.map(|count| format!(" with {}", vlfs_text(*count)));
        Some(format!(
            "{}{}",
            value(&finding.measure, *figures.get(&finding.measure)?),
            vlfs.unwrap_or_default()
        ))
    };
    match (side(&finding.slow), side(&finding.fast)) {
        (Some(slow), Some(fast)) => format!("{slow} against {fast} ({whose})."),
        _ => format!("no figure for this ({whose})."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(measure: &str, slow: &[f64], fast: &[f64]) -> Results {
        let configuration = |base: &str, values: &[f64], vlfs: f64| {
            let mut found = ConfigurationResults {
                name: base.into(),
                base: base.into(),
                ..Default::default()
            };
            for value in values {
                found.measure(measure, *value);
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

    fn finding(measure: &str) -> Finding {
        Finding {
            measure: measure.into(),
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
                "5.1 times as long (4.5–5.2 by single runs): 5.10 s with 20,480 VLFs",
            ),
            (&[5.0], &[1.0], "5.00 s instead of 1.00 s", "one run each"),
            (&[1.0, 3.0], &[0.9, 1.2], "unclear", "no difference beyond the spread"),
            (
                &[1.0, 2.0, 3.0],
                &[1.1, 2.0, 2.9],
                "unclear",
                "no difference beyond the spread",
            ),
            (&[1.01], &[1.0], "1.01 s instead of 1.00 s", "about the same"),
            (&[0.002], &[0.001], "–", "too little to tell"),
            (&[0.015], &[0.001], "–", "less than 50.0 ms"),
            (
                &[0.023, 0.024],
                &[0.0, 0.001],
                "47×",
                "47 times as long (at least 23 by single runs)",
            ),
            (&[1.0], &[4.0], "1.00 s instead of 4.00 s", "0.25 times as long"),
            (
                &[0.033, 0.034],
                &[0.0, 0.0],
                "+33.5 ms",
                "33.5 ms with 20,480 VLFs against less than 1 ms with 16",
            ),
            (&[1.0], &[], "–", "not measured"),
        ] {
            let compared = compare(&finding("fill_s"), &results("fill_s", slow, fast));
            assert_eq!(compared.len(), 1);
            assert_eq!(compared[0].figure, figure, "{slow:?} {fast:?}");
            assert!(compared[0].sentence.contains(part), "{}", compared[0].sentence);
        }
    }

    #[test]
    fn rates_and_milliseconds_are_told_as_what_they_are() {
        let compared = compare(
            &finding("updates_per_s"),
            &results("updates_per_s", &[5000.0], &[10_000.0]),
        );
        assert!(
            compared[0]
                .sentence
                .contains("came to 0.50 times as much: 5,000 /s with"),
            "{}",
            compared[0].sentence
        );
        let compared = compare(&finding("insert_ms"), &results("insert_ms", &[13_177.0], &[6431.0]));
        assert_eq!(compared[0].figure, "13.2 s instead of 6.43 s");
        assert!(compared[0].sentence.contains("13.2 s with"), "{}", compared[0].sentence);
    }

    #[test]
    fn many_variants_make_a_short_headline() {
        let variant = |name: &str, times: f64| Comparison {
            variant: name.into(),
            ratio: Some(times),
            difference: times - 1.0,
            against: "x against y".into(),
            ..comparison(
                if times > 1.0 { Outcome::Differs } else { Outcome::Same },
                format!("{times}×"),
                String::new(),
            )
        };
        let comparisons = [
            variant("a", 1.0),
            variant("b", 3.0),
            variant("c", 9.0),
            variant("d", 1.0),
            variant("e", 1.0),
        ];
        assert_eq!(
            clauses(&comparisons),
            [
                "c x against y (one run each)",
                "b x against y (one run each)",
                "no difference that could be told under 3 others"
            ]
        );
    }

    #[test]
    fn a_failed_check_is_named() {
        let mut results = results("fill_s", &[1.0], &[1.0]);
        assert_eq!(safety(&results), None);
        results.configurations[0].check("every committed update is there", true, String::new());
        assert_eq!(safety(&results), Some((true, "The one check held.".to_string())));
        results.configurations[1].check("every committed update is there", false, "found 3".into());
        let (held, text) = safety(&results).unwrap_or_default();
        assert!(
            !held && text.contains("1 of 2 checks failed: every committed update is there"),
            "{text}"
        );
    }
}
