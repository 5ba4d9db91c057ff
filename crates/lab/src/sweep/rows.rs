//! The results of a configuration as JSON Lines: a line for each run's each figure, and for each check. Every line has all that is known of
//! the configuration, so that a query needs nothing else:
//!
//! ```text
//! {"configuration":"9f0c…","program":"0.1.0","experiment":"curve","scale":"quick","size":"","layout":"v100","vlfs":100,
//!  "sql_version":"2012","log_policy":"classic","disk":"hdd-7200-2006","machine":null,"kind":"measurement","name":"discovery_s",
//!  "run":1,"value":0.42,"device_s":0.42,"detail":"","rows":14}
//! ```
//! `rows` is the number of lines of the file. A check's `value` is the number of runs in which it did not hold.

use super::plan::{Labels, Planned, digest};
use crate::results::{Check, ConfigurationResults};
use crate::statistics::Measurement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row {
    configuration: String,
    program: String,
    experiment: String,
    scale: String,
    size: String,
    layout: String,
    /// VLFs that the rules predict.
    vlfs: u64,
    sql_version: String,
    log_policy: String,
    disk: String,
    machine: Option<String>,
    kind: Kind,
    name: String,
    run: u64,
    value: f64,
    device_s: Option<f64>,
    detail: String,
    rows: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Measurement,
    Check,
}

/// The results of one configuration on one machine, or on a model, which is the same everywhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub configuration: String,
    pub program: String,
    pub labels: Labels,
    /// The machine's class; none where the result does not depend on it.
    pub machine: Option<String>,
    pub vlfs: u64,
    /// By name.
    pub measurements: BTreeMap<String, Measurement>,
    pub checks: Vec<Check>,
}

/// Name of the file of a configuration.
pub fn file_name(configuration: &str, machine: Option<&str>) -> String {
    match machine {
        None => format!("{configuration}.jsonl"),
        Some(machine) => format!(
            "{configuration}-{}.jsonl",
            digest(&[machine]).get(..16).unwrap_or_default()
        ),
    }
}

impl Found {
    /// What a run of a planned configuration found out.
    pub fn of(planned: &Planned, machine: Option<&str>, results: &ConfigurationResults) -> Found {
        Found {
            configuration: planned.name.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            labels: planned.labels.clone(),
            machine: machine.map(str::to_owned),
            vlfs: planned.vlf_count_predicted as u64,
            measurements: results.measurements.clone(),
            checks: results.checks.clone(),
        }
    }

    /// The number of checks that did not hold.
    pub fn failed_checks(&self) -> usize {
        self.checks.iter().filter(|check| check.failed > 0).count()
    }

    /// VLFs as counted, or as predicted where nothing counted them.
    pub fn vlf_count(&self) -> f64 {
        self.measurements
            .get("vlf_count")
            .map_or(self.vlfs as f64, |counted| counted.median)
    }

    /// Adds the runs of the same configuration on another machine of the class.
    pub fn add_runs(&mut self, other: &Found) {
        for (name, measurement) in &other.measurements {
            let ours = self.measurements.entry(name.clone()).or_default();
            for (index, value) in measurement.values.iter().enumerate() {
                match measurement.device_values.get(index) {
                    Some(device_s) => ours.add_with_device(*value, *device_s),
                    None => ours.add(*value),
                }
            }
        }
        for check in &other.checks {
            match self.checks.iter_mut().find(|known| known.name == check.name) {
                Some(known) => {
                    known.passed += check.passed;
                    known.failed += check.failed;
                }
                None => self.checks.push(check.clone()),
            }
        }
    }

    /// As the text of its file.
    pub fn text(&self) -> String {
        let count = self.measurements.values().map(|each| each.values.len()).sum::<usize>() + self.checks.len();
        let row = |kind, name: &str| Row {
            configuration: self.configuration.clone(),
            program: self.program.clone(),
            experiment: self.labels.experiment.clone(),
            scale: self.labels.scale.clone(),
            size: self.labels.size.clone(),
            layout: self.labels.layout.clone(),
            vlfs: self.vlfs,
            sql_version: self.labels.sql_version.clone(),
            log_policy: self.labels.log_policy.clone(),
            disk: self.labels.disk.clone(),
            machine: self.machine.clone(),
            kind,
            name: name.to_owned(),
            run: 0,
            value: 0.0,
            device_s: None,
            detail: String::new(),
            rows: count as u64,
        };
        let mut text = String::new();
        let mut line = |row: &Row| {
            text += &serde_json::to_string(row).expect("texts and numbers always have a JSON form");
            text.push('\n');
        };
        for (name, measurement) in &self.measurements {
            for (index, value) in measurement.values.iter().enumerate() {
                line(&Row {
                    run: index as u64 + 1,
                    value: *value,
                    device_s: measurement.device_values.get(index).copied(),
                    ..row(Kind::Measurement, name)
                });
            }
        }
        for check in &self.checks {
            line(&Row {
                run: (check.passed + check.failed) as u64,
                value: check.failed as f64,
                detail: check.detail.clone(),
                ..row(Kind::Check, &check.name)
            });
        }
        text
    }

    /// Reads the text of a file back.
    ///
    /// # Errors
    /// A sentence: it is not the whole of one.
    pub fn parse(text: &str) -> Result<Found, String> {
        let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str::<Row>).collect();
        let rows = rows.map_err(|error| format!("a line is none of a sweep's results ({error})"))?;
        let first = rows.first().ok_or("it is empty")?;
        if !text.ends_with('\n') || rows.iter().any(|row| row.rows != rows.len() as u64) {
            return Err(format!("it has {} of its {} lines", rows.len(), first.rows));
        }
        let mut found = Found {
            configuration: first.configuration.clone(),
            program: first.program.clone(),
            labels: first.labels(),
            machine: first.machine.clone(),
            vlfs: first.vlfs,
            measurements: BTreeMap::new(),
            checks: Vec::new(),
        };
        if rows
            .iter()
            .any(|row| row.configuration != found.configuration || row.machine != found.machine)
        {
            return Err("its lines are of several configurations".to_owned());
        }
        for row in rows {
            match row.kind {
                Kind::Measurement => {
                    let measurement = found.measurements.entry(row.name).or_default();
                    match row.device_s {
                        Some(device_s) => measurement.add_with_device(row.value, device_s),
                        None => measurement.add(row.value),
                    }
                }
                Kind::Check => {
                    let failed = (row.value as u64).min(row.run);
                    found.checks.push(Check {
                        name: row.name,
                        passed: (row.run - failed) as usize,
                        failed: failed as usize,
                        detail: row.detail,
                    });
                }
            }
        }
        Ok(found)
    }
}

impl Row {
    fn labels(&self) -> Labels {
        Labels {
            experiment: self.experiment.clone(),
            scale: self.scale.clone(),
            size: self.size.clone(),
            layout: self.layout.clone(),
            sql_version: self.sql_version.clone(),
            log_policy: self.log_policy.clone(),
            disk: self.disk.clone(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Results of a configuration on a disk with a number of VLFs, one time each.
    pub(crate) fn found(disk: &str, vlfs: u64, times: &[(&str, f64)]) -> Found {
        let labels = Labels {
            experiment: "curve".into(),
            scale: "quick".into(),
            size: String::new(),
            layout: format!("v{vlfs}"),
            sql_version: "2012".into(),
            log_policy: "classic".into(),
            disk: disk.into(),
        };
        let mut measurements = BTreeMap::new();
        for (name, value) in times {
            let mut measurement = Measurement::default();
            measurement.add_with_device(*value, *value);
            measurements.insert((*name).to_owned(), measurement);
        }
        Found {
            configuration: digest(&[format!("{labels:?}")]),
            program: "0.1.0".into(),
            labels,
            machine: None,
            vlfs,
            measurements,
            checks: vec![Check {
                name: "every row is there".into(),
                passed: 1,
                failed: 0,
                detail: "expected 5, found 5".into(),
            }],
        }
    }

    #[test]
    fn what_is_written_comes_back_and_half_of_it_is_refused() {
        let found = found("hdd-7200-2006", 100, &[("discovery_s", 0.1 + 0.2), ("fill_s", 1e-9)]);
        let text = found.text();
        assert_eq!(Found::parse(&text).unwrap(), found);
        assert_eq!(Found::parse(&text).unwrap().text(), text);
        let lines: Vec<&str> = text.lines().collect();
        for (cut, part) in [
            (String::new(), "it is empty"),
            (lines[..2].join("\n") + "\n", "2 of its 3 lines"),
            (text[..text.len() - 9].to_owned(), "a line is none"),
            (text.clone() + &text, "6 of its 3 lines"),
        ] {
            let told = Found::parse(&cut).unwrap_err();
            assert!(told.contains(part), "{part} in {told}");
        }
    }

    #[test]
    fn machines_have_files_of_their_own() {
        let names = [None, Some("a"), Some("b")].map(|machine| file_name("9f", machine));
        assert_eq!(names[0], "9f.jsonl");
        assert!(names[1] != names[2] && names[1].starts_with("9f-") && names[1].len() == 25);
    }
}
