//! Compares two runs: first their settings and machines, then each measurement's medians and their ratio, and whether the spreads show a
//! difference at all.
//!
//! A threshold applies only if a difference can be shown:
//!
//! | times of | held against a threshold |
//! |---|---|
//! | two or more runs on this machine's disk | if their ranges do not overlap |
//! | one run on this machine's disk | no: a single run may be an outlier |
//! | a machine that was busy before only one of the runs | no: the difference may come from the load |
//! | a modelled disk | the disk's seconds, which are computed; all of them where there are two or more runs and the load is alike |

use crate::report::format::{self, Unit};
use crate::results::{ConfigurationResults, Results, RunFile};
use crate::statistics::Measurement;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What makes the runs unlike: machine, versions, settings, experiments.
    pub differences: Vec<String>,
    /// Every measurement that both have.
    pub rows: Vec<Row>,
    /// Whether one run found the machine busier than the other did.
    pub has_unlike_load: bool,
}

/// What a name of `--only` chooses by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Experiment,
    Measure,
    Configuration,
}

/// One measurement of one configuration in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the experiment.
    pub experiment: String,
    /// `bad-classic`.
    pub configuration: String,
    /// Name of the measurement.
    pub measure: String,
    /// In the first run.
    pub a: Measurement,
    /// In the second.
    pub b: Measurement,
    /// The second's median divided by the first's; none when that is 0.
    pub ratio: Option<f64>,
    /// What it comes to.
    pub verdict: Verdict,
}

/// What a ratio comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The ranges of the runs overlap, or the times are too short to tell.
    NoDifference,
    /// The second is faster, beyond the spread.
    Faster,
    /// The second is slower, beyond the spread.
    Slower,
    /// A figure that is neither good nor bad differs, such as a count.
    Different,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::NoDifference => "no difference beyond the spread",
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Different => "different",
        }
    }
}

/// Times closer than this are the clock's and the scheduler's; of single runs, which have no spread, ten times that.
const TELLABLE_SECONDS: f64 = 0.005;
const TELLABLE_SECONDS_OF_ONE_RUN: f64 = 0.05;
/// Medians of single runs this close count as equal.
const TELLABLE_SHARE_OF_ONE_RUN: f64 = 0.05;

/// Compares the second run with the first.
pub fn compare(a: &RunFile, b: &RunFile) -> Comparison {
    let mut differences = run_differences(a, b);
    let mut rows = Vec::new();
    for of_a in &a.experiments {
        let Some(of_b) = b.experiments.iter().find(|each| each.experiment == of_a.experiment) else {
            differences.push(format!("experiment {} is only in the first", of_a.experiment));
            continue;
        };
        differences.extend(experiment_differences(of_a, of_b));
        for first in &of_a.configurations {
            if let Some(second) = of_b.configurations.iter().find(|each| each.name == first.name) {
                rows.extend(rows_of(of_a, first, second));
            }
        }
    }
    let known = |name: &str| a.experiments.iter().any(|each| each.experiment == name);
    let only_in_b = b.experiments.iter().filter(|each| !known(&each.experiment));
    differences.extend(only_in_b.map(|each| format!("experiment {} is only in the second", each.experiment)));
    let has_unlike_load = load_difference(a, b).is_some();
    Comparison {
        differences,
        rows,
        has_unlike_load,
    }
}

impl Comparison {
    /// The rows of these experiments, configurations and measurements: of each kind that is named, a row has one of the names.
    ///
    /// # Errors
    /// A name that no row has, in words.
    pub fn only(mut self, names: &[String]) -> Result<Comparison, String> {
        let mut chosen = Vec::new();
        for name in names {
            let is_of = |choice: &Choice| self.rows.iter().any(|row| row.is_named(*choice, name));
            let choices = [Choice::Experiment, Choice::Measure, Choice::Configuration];
            let Some(choice) = choices.into_iter().find(is_of) else {
                let known: BTreeSet<&str> = self.rows.iter().flat_map(Row::names).collect();
                let known: Vec<&str> = known.into_iter().collect();
                return Err(format!(
                    "nothing that both runs have is called {name:?}; there are {}",
                    known.join(", ")
                ));
            };
            chosen.push((choice, name));
        }
        self.rows.retain(|row| {
            chosen.iter().all(|(choice, _)| {
                let mut of_kind = chosen.iter().filter(|(other, _)| other == choice);
                of_kind.any(|(choice, name)| row.is_named(*choice, name))
            })
        });
        Ok(self)
    }

    /// The rows in which the second run is slower by more than `percent`, beyond the spread.
    pub fn slower_than(&self, percent: f64) -> Vec<&Row> {
        let mut rows = self.beyond(percent);
        rows.retain(|row| self.can_tell(row));
        rows
    }

    /// The rows that are slower by more than `percent` for unknown reasons: single runs, and runs under different load.
    pub fn cannot_tell(&self, percent: f64) -> Vec<&Row> {
        let mut rows = self.beyond(percent);
        rows.retain(|row| !self.can_tell(row));
        rows
    }

    fn beyond(&self, percent: f64) -> Vec<&Row> {
        let limit = 1.0 + percent / 100.0;
        let is_beyond = |row: &&Row| row.verdict == Verdict::Slower && self.slowdown(row) > limit;
        self.rows.iter().filter(is_beyond).collect()
    }

    fn can_tell(&self, row: &Row) -> bool {
        row.device_s().is_some() || !self.has_unlike_load && row.has_spread()
    }

    /// How many times as slow the second is: of a modelled disk by its own seconds, unless the processor's are comparable
    /// too.
    fn slowdown(&self, row: &Row) -> f64 {
        match row.device_s() {
            Some((a, b)) if self.has_unlike_load || !row.has_spread() => b / a.max(f64::MIN_POSITIVE),
            _ => row.slowdown(),
        }
    }

    /// As JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("text and numbers always have a JSON form")
    }

    /// As CSV with a heading.
    pub fn to_csv(&self) -> String {
        let mut csv = String::from(
            "experiment,configuration,measure,a_median,a_min,a_max,a_runs,b_median,b_min,b_max,b_runs,ratio,verdict\n",
        );
        for row in &self.rows {
            let side = |side: &Measurement| format!("{},{},{},{}", side.median, side.min, side.max, side.runs);
            csv.push_str(&format!(
                "{},{},{},{},{},{},{}\n",
                row.experiment,
                row.configuration,
                row.measure,
                side(&row.a),
                side(&row.b),
                row.ratio.map(|ratio| ratio.to_string()).unwrap_or_default(),
                row.verdict.text()
            ));
        }
        csv
    }

    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        if !self.differences.is_empty() {
            text.push_str("What differs before anything was measured:\n\n");
            text.extend(self.differences.iter().map(|each| format!("- {each}\n")));
            text.push('\n');
        }
        text.push_str(
            "| experiment | configuration | measurement | first | second | ratio | |\n|---|---|---|--:|--:|--:|---|\n",
        );
        for row in &self.rows {
            let cells = row.cells(self.has_unlike_load).map(|cell| cell.replace('|', "\\|"));
            text.push_str(&format!("| {} | {} |\n", row.experiment, cells.join(" | ")));
        }
        text
    }

    /// As text for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        if !self.differences.is_empty() {
            text.push_str("What differs before anything was measured:\n");
            text.extend(self.differences.iter().map(|each| format!("  {each}\n")));
            text.push('\n');
        }
        let heading = ["configuration", "measurement", "first", "second", "ratio", ""].map(String::from);
        let cells: Vec<[String; 6]> = std::iter::once(heading)
            .chain(self.rows.iter().map(|row| row.cells(self.has_unlike_load)))
            .collect();
        let width = |column: usize| {
            cells
                .iter()
                .map(|row| row.get(column).map_or(0, |cell| cell.chars().count()))
                .max()
        };
        let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or_default()).collect();
        let mut experiment = "";
        for (index, row) in cells.iter().enumerate() {
            let owner = index.checked_sub(1).and_then(|index| self.rows.get(index));
            if let Some(owner) = owner.filter(|owner| owner.experiment != experiment) {
                experiment = &owner.experiment;
                text.push_str(&format!("{experiment}\n"));
            }
            text.push_str(&line(row, &widths));
        }
        text
    }
}

/// Names to the left, figures to the right.
fn line(cells: &[String; 6], widths: &[usize]) -> String {
    let padded = cells
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, width))| match column {
            2..=4 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
    let line = padded.collect::<Vec<_>>().join("  ");
    format!("  {}\n", line.trim_end())
}

impl Row {
    /// How many times as slow the second is; rates the other way round.
    fn slowdown(&self) -> f64 {
        let ratio = self.ratio.unwrap_or(f64::INFINITY);
        match format::unit(&self.measure) {
            Unit::Rate => 1.0 / ratio,
            _ => ratio,
        }
    }

    /// Both runs' seconds of a modelled disk.
    fn device_s(&self) -> Option<(f64, f64)> {
        self.a.device_s.zip(self.b.device_s)
    }

    fn has_spread(&self) -> bool {
        self.a.runs.min(self.b.runs) > 1
    }

    fn is_named(&self, choice: Choice, name: &str) -> bool {
        match choice {
            Choice::Experiment => self.experiment == name,
            Choice::Measure => self.measure == name,
            Choice::Configuration => {
                let (plain, disk) = self.configuration.split_once('@').unwrap_or((&self.configuration, ""));
                let is_part = plain.starts_with(&format!("{name}-")) || plain.ends_with(&format!("-{name}"));
                [self.configuration.as_str(), plain, disk].contains(&name) || is_part
            }
        }
    }

    fn names(&self) -> [&str; 3] {
        [&self.experiment, &self.configuration, &self.measure]
    }

    fn cells(&self, has_unlike_load: bool) -> [String; 6] {
        let side = |side: &Measurement| {
            let median = format::value(&self.measure, side.median);
            if side.runs < 2 || side.min == side.max {
                return median;
            }
            format!("{median} ({})", format::range(&self.measure, side.min, side.max))
        };
        let text = self.verdict.text();
        let is_judged = [Verdict::Slower, Verdict::Faster].contains(&self.verdict);
        let verdict = match (self.verdict, self.device_s(), self.has_spread()) {
            (Verdict::NoDifference, ..) if self.a == self.b => "same".into(),
            (_, None, _) if is_judged && has_unlike_load => format!("{text}, under unlike load"),
            (Verdict::Different, ..) | (_, _, true) => text.to_string(),
            (_, _, false) => format!("{text}, by one run"),
        };
        [
            self.configuration.clone(),
            self.measure.clone(),
            side(&self.a),
            side(&self.b),
            self.ratio.map_or("–".into(), |ratio| format!("{ratio:.2}×")),
            verdict,
        ]
    }
}

fn rows_of(of: &Results, first: &ConfigurationResults, second: &ConfigurationResults) -> Vec<Row> {
    let both = first
        .measurements
        .iter()
        .filter_map(|(name, a)| Some((name, a, second.measurement(name)?)));
    both.map(|(name, a, b)| Row {
        experiment: of.experiment.clone(),
        configuration: first.name.clone(),
        measure: name.clone(),
        a: a.clone(),
        b: b.clone(),
        ratio: (a.median != 0.0).then(|| b.median / a.median),
        verdict: judge(name, a, b),
    })
    .collect()
}

fn judge(name: &str, a: &Measurement, b: &Measurement) -> Verdict {
    let has_spread = a.runs > 1 && b.runs > 1;
    let (more, less) = match format::unit(name) {
        Unit::Time(seconds) => {
            let tellable = if has_spread {
                TELLABLE_SECONDS
            } else {
                TELLABLE_SECONDS_OF_ONE_RUN
            };
            if (a.median - b.median).abs() * seconds < tellable && seconds == 1.0 {
                return Verdict::NoDifference;
            }
            (Verdict::Slower, Verdict::Faster)
        }
        Unit::Rate => (Verdict::Faster, Verdict::Slower),
        _ => (Verdict::Different, Verdict::Different),
    };
    let is_close = (a.median - b.median).abs() <= TELLABLE_SHARE_OF_ONE_RUN * a.median.abs();
    let is_same = match (has_spread, more) {
        (_, Verdict::Different) if a.median == b.median => true,
        (true, _) => a.overlaps(b),
        (false, Verdict::Different) => false,
        (false, _) => is_close,
    };
    match (is_same, b.median > a.median) {
        (true, _) => Verdict::NoDifference,
        (false, true) => more,
        (false, false) => less,
    }
}

fn run_differences(a: &RunFile, b: &RunFile) -> Vec<String> {
    let (on_a, on_b) = (&a.environment, &b.environment);
    let build = |optimized| if optimized { "optimised" } else { "not optimised" }.to_string();
    let server = |file: &RunFile| {
        file.target.as_ref().map_or("of this program".to_string(), |target| {
            format!("{} ({})", target.address, target.product_version)
        })
    };
    let pairs = [
        (
            "version of vlflab",
            a.product_version.clone(),
            b.product_version.clone(),
        ),
        ("build", build(on_a.optimized_build), build(on_b.optimized_build)),
        ("server", server(a), server(b)),
        ("scale", a.scale.clone(), b.scale.clone()),
        ("machine", on_a.machine.clone(), on_b.machine.clone()),
        ("processor", on_a.cpu.clone(), on_b.cpu.clone()),
        ("processors in use", on_a.cores.to_string(), on_b.cores.to_string()),
        ("memory, MB", on_a.memory_mb.to_string(), on_b.memory_mb.to_string()),
        (
            "operating system",
            on_a.operating_system.clone(),
            on_b.operating_system.clone(),
        ),
        ("kernel", on_a.kernel.clone(), on_b.kernel.clone()),
        ("file system", on_a.filesystem.clone(), on_b.filesystem.clone()),
    ];
    let load = load_difference(a, b);
    let differing = pairs.into_iter().filter(|(_, first, second)| first != second);
    let mut found: Vec<String> = differing
        .map(|(what, first, second)| format!("{what}: {first} | {second}"))
        .collect();
    found.extend(disk_difference(
        on_a.durable_write_us_median,
        on_b.durable_write_us_median,
    ));
    found.extend(load);
    found
}

/// Processes that waited for a processor before the runs, where one machine was busier by half of its processors: a time may then be
/// longer for the sake of others.
fn load_difference(a: &RunFile, b: &RunFile) -> Option<String> {
    let (first, second) = (a.environment.load_average, b.environment.load_average);
    let processors = a.environment.cores.min(b.environment.cores).max(1) as f64;
    let is_unlike = (first - second).abs() > processors / 2.0;
    is_unlike.then(|| {
        format!("load before the run, processes: {first:.2} | {second:.2}; times under unlike load are not held against a threshold")
    })
}

/// The disks, when one of them was half as fast again or more.
fn disk_difference(first: f64, second: f64) -> Option<String> {
    let unlike = first.max(second) > 1.5 * first.min(second);
    unlike.then(|| format!("durable write of 8 KB: {first:.0} µs | {second:.0} µs (median)"))
}

fn experiment_differences(a: &Results, b: &Results) -> Vec<String> {
    let name = &a.experiment;
    let mut found = Vec::new();
    if a.toml != b.toml || a.scripts != b.scripts {
        found.push(format!("{name}: the experiment's file or scripts"));
    }
    for (which, results) in [("first", a), ("second", b)] {
        if let Some(reason) = &results.stopped {
            found.push(format!("{name}: the {which} run stopped early ({reason})"));
        }
    }
    let names = |results: &Results| -> BTreeSet<String> {
        results.configurations.iter().map(|each| each.name.clone()).collect()
    };
    let (in_a, in_b) = (names(a), names(b));
    found.extend(
        in_a.difference(&in_b)
            .map(|each| format!("{name}: {each} is only in the first")),
    );
    found.extend(
        in_b.difference(&in_a)
            .map(|each| format!("{name}: {each} is only in the second")),
    );
    for first in &a.configurations {
        if let Some(second) = b.configurations.iter().find(|each| each.name == first.name) {
            found.extend(setting_differences(name, first, second));
        }
    }
    found
}

fn setting_differences(experiment: &str, a: &ConfigurationResults, b: &ConfigurationResults) -> Vec<String> {
    let keys: BTreeSet<&String> = a.settings.keys().chain(b.settings.keys()).collect();
    let value = |of: &ConfigurationResults, key: &str| of.settings.get(key).cloned().unwrap_or("not set".into());
    keys.into_iter()
        .map(|key| (key, value(a, key), value(b, key)))
        .filter(|(_, first, second)| first != second)
        .map(|(key, first, second)| format!("{experiment}, {}: {key} {first} | {second}", a.name))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(values: &[(&str, &[f64])]) -> RunFile {
        let mut found = ConfigurationResults {
            name: "bad-native".into(),
            base: "bad".into(),
            ..ConfigurationResults::default()
        };
        found.settings.insert("log_max".into(), "64MB".into());
        for (name, runs) in values {
            runs.iter().for_each(|value| found.measure(name, *value));
        }
        RunFile {
            experiments: vec![Results {
                experiment: "recovery".into(),
                configurations: vec![found],
                ..Results::default()
            }],
            ..RunFile::default()
        }
    }

    #[test]
    fn what_two_sets_of_runs_come_to() {
        for (measure, a, b, verdict) in [
            (
                "fill_s",
                &[1.0, 1.1, 1.2][..],
                &[1.2, 1.3, 1.4][..],
                Verdict::NoDifference,
            ),
            ("fill_s", &[1.0, 1.1], &[2.0, 2.1], Verdict::Slower),
            ("fill_s", &[2.0, 2.1], &[1.0, 1.1], Verdict::Faster),
            ("fill_s", &[0.001, 0.001], &[0.004, 0.004], Verdict::NoDifference),
            ("fill_s", &[1.0], &[1.04], Verdict::NoDifference),
            ("fill_s", &[1.0], &[1.2], Verdict::Slower),
            ("fill_s", &[0.01], &[0.05], Verdict::NoDifference),
            ("clients_per_s", &[900.0, 1000.0], &[400.0, 500.0], Verdict::Slower),
            ("clients_per_s", &[400.0, 500.0], &[900.0, 1000.0], Verdict::Faster),
            ("clients_p99_us", &[100.0, 110.0], &[200.0, 210.0], Verdict::Slower),
            ("vlf_count", &[16.0, 16.0], &[16.0, 16.0], Verdict::NoDifference),
            ("vlf_count", &[16.0], &[17.0], Verdict::Different),
        ] {
            let compared = compare(&run(&[(measure, a)]), &run(&[(measure, b)]));
            assert_eq!(compared.rows[0].verdict, verdict, "{measure} {a:?} {b:?}");
        }
    }

    #[test]
    fn a_threshold_looks_at_what_is_slower_beyond_the_spread() {
        let a = run(&[
            ("fill_s", &[1.0, 1.1]),
            ("redo_s", &[1.0, 1.4]),
            ("clients_per_s", &[1000.0, 1001.0]),
        ]);
        let b = run(&[
            ("fill_s", &[1.2, 1.3]),
            ("redo_s", &[1.3, 1.9]),
            ("clients_per_s", &[500.0, 501.0]),
        ]);
        let compared = compare(&a, &b);
        let named = |percent| -> Vec<&str> {
            compared
                .slower_than(percent)
                .iter()
                .map(|row| row.measure.as_str())
                .collect()
        };
        assert_eq!(named(10.0), ["clients_per_s", "fill_s"]);
        assert_eq!(named(50.0), ["clients_per_s"]);
        assert!(named(150.0).is_empty());
    }

    /// The same program on a machine that was busy before the second run: 16 times as long, and no program's fault.
    #[test]
    fn a_load_of_others_trips_no_threshold() {
        let a = run(&[("fill_s", &[1.0, 1.1])]);
        let mut b = run(&[("fill_s", &[16.0, 17.0])]);
        (b.environment.cores, b.environment.load_average) = (2, 9.5);
        let compared = compare(&a, &b);
        let text = compared.to_text();
        assert!(text.contains("load before the run, processes: 0.00 | 9.50"), "{text}");
        assert!(text.contains("slower, under unlike load"), "{text}");
        assert!(compared.slower_than(10.0).is_empty());
        assert_eq!(compared.cannot_tell(10.0).len(), 1);
        b.environment.load_average = 0.4;
        let compared = compare(&a, &b);
        assert_eq!(
            (compared.slower_than(10.0).len(), compared.cannot_tell(10.0).len()),
            (1, 0)
        );
    }

    /// One run tells nothing, unless its time was computed: then the disk's seconds count and the processor's do not.
    #[test]
    fn single_runs_trip_no_threshold_unless_their_disk_is_modelled() {
        let compared = compare(&run(&[("fill_s", &[1.0])]), &run(&[("fill_s", &[16.0])]));
        assert!(
            compared.to_text().contains("slower, by one run"),
            "{}",
            compared.to_text()
        );
        assert_eq!(
            (compared.slower_than(10.0).len(), compared.cannot_tell(10.0).len()),
            (0, 1)
        );
        let modelled = |seconds: f64, device_s: f64| {
            let mut file = run(&[]);
            file.experiments[0].configurations[0].measure_with_device("fill_s", seconds, Some(device_s));
            file
        };
        for (seconds, device_s, slower) in [(16.0, 1.0, 0), (2.1, 2.0, 1)] {
            let compared = compare(&modelled(1.1, 1.0), &modelled(seconds, device_s));
            let found = (compared.slower_than(10.0).len(), compared.cannot_tell(10.0).len());
            assert_eq!(found, (slower, 0), "{seconds} {device_s}");
        }
    }

    #[test]
    fn only_what_is_named_is_compared() {
        let file = |seconds| {
            let mut file = run(&[("fill_s", seconds), ("redo_s", seconds)]);
            let mut other = file.experiments[0].configurations[0].clone();
            other.name = "good-classic@hdd".into();
            file.experiments[0].configurations.push(other);
            let mut second = file.experiments[0].clone();
            second.experiment = "dml".into();
            file.experiments.push(second);
            file
        };
        let rows = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            compare(&file(&[1.0]), &file(&[2.0]))
                .only(&names)
                .map(|compared| compared.rows.len())
        };
        for (names, count) in [
            (&[][..], 8),
            (&["dml"], 4),
            (&["fill_s"], 4),
            (&["bad"], 4),
            (&["classic"], 4),
            (&["good-classic"], 4),
            (&["hdd"], 4),
            (&["dml", "fill_s", "bad-native"], 1),
            (&["fill_s", "redo_s", "dml"], 4),
        ] {
            assert_eq!(rows(names), Ok(count), "{names:?}");
        }
        let refused = rows(&["fill"]).unwrap_err();
        assert!(
            refused.contains("\"fill\"") && refused.contains("fill_s, good-classic@hdd"),
            "{refused}"
        );
    }

    #[test]
    fn what_differs_beforehand_is_named_first() {
        let a = run(&[("fill_s", &[1.0])]);
        let mut b = run(&[("fill_s", &[1.0])]);
        b.environment.kernel = "6.1".into();
        b.scale = "full".into();
        b.experiments[0].configurations[0]
            .settings
            .insert("log_max".into(), "5GB".into());
        b.experiments.push(Results {
            experiment: "dml".into(),
            ..Results::default()
        });
        let text = compare(&a, &b).to_text();
        for part in [
            "scale:  | full",
            "kernel:  | 6.1",
            "recovery, bad-native: log_max 64MB | 5GB",
            "dml is only in the second",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.find("kernel") < text.find("fill_s"));
        assert!(compare(&a, &a).differences.is_empty());
    }

    #[test]
    fn every_form_has_every_row() {
        let a = run(&[("fill_s", &[1.0, 1.1]), ("vlf_count", &[16.0, 16.0])]);
        let compared = compare(&a, &run(&[("fill_s", &[2.0, 2.1]), ("vlf_count", &[16.0, 16.0])]));
        assert_eq!(compared.to_csv().lines().count(), 3);
        assert!(
            compared
                .to_csv()
                .contains("recovery,bad-native,fill_s,1.05,1,1.1,2,2.05,2,2.1,2,1.95")
        );
        assert!(compared.to_markdown().contains("| recovery | bad-native | fill_s |"));
        assert!(compared.to_text().contains("1.95×  slower"), "{}", compared.to_text());
        let json: serde_json::Value = serde_json::from_str(&compared.to_json()).unwrap();
        assert_eq!(json["rows"][0]["verdict"], "slower");
    }
}
