//! The results of a run as one JSON file, rewritten after every step so that an interrupted run keeps what it measured.
//!
//! ```text
//! { "experiment": "recovery", "scale": "quick", "environment": { ... }, "configurations": [
//!     { "name": "bad-classic", "settings": { ... }, "checks": [ ... ],
//!       "measurements": { "fill_s": { "median": 1.2, "min": 1.1, "max": 1.4, "runs": 3, "values": [ ... ] } } } ] }
//! ```
//! Names of measurements end with their unit: `_s` seconds, `_count` or none a count.

use crate::environment::Environment;
use crate::statistics::Measurement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Everything one run found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the scale.
    pub scale: String,
    /// When it began: UTC, ISO 8601.
    pub started: String,
    /// Whether every configuration ran as often as asked.
    pub complete: bool,
    /// Why it stopped early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The machine.
    pub environment: Environment,
    /// What was measured, in the order of the experiment.
    pub configurations: Vec<ConfigurationResults>,
}

/// The results of one configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConfigurationResults {
    /// `bad-classic`: the configuration and what the matrix added.
    pub name: String,
    /// The configuration's own name, `bad`.
    pub base: String,
    /// In words.
    pub title: String,
    /// What was set, by name.
    pub settings: BTreeMap<String, String>,
    /// What was measured, by name.
    pub measurements: BTreeMap<String, Measurement>,
    /// What was verified.
    pub checks: Vec<Check>,
    /// The server's error log of the last run's recovery, as far as it concerns the database.
    #[serde(default)]
    pub error_log: Vec<String>,
}

/// One thing verified, over all runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Check {
    /// What must hold.
    pub name: String,
    /// In how many runs it held.
    pub passed: usize,
    /// In how many it did not.
    pub failed: usize,
    /// What was seen in the last run.
    pub detail: String,
}

impl ConfigurationResults {
    /// Adds one run's value of a measurement.
    pub fn measure(&mut self, name: &str, value: f64) {
        self.measurements.entry(name.to_string()).or_default().add(value);
    }

    /// Adds one run's outcome of a check.
    pub fn check(&mut self, name: &str, passed: bool, detail: String) {
        let known = self.checks.iter().position(|check| check.name == name);
        let index = known.unwrap_or_else(|| {
            self.checks.push(Check {
                name: name.to_string(),
                ..Check::default()
            });
            self.checks.len() - 1
        });
        if let Some(check) = self.checks.get_mut(index) {
            check.passed += usize::from(passed);
            check.failed += usize::from(!passed);
            check.detail = detail;
        }
    }

    /// The measurement of that name.
    pub fn measurement(&self, name: &str) -> Option<&Measurement> {
        self.measurements.get(name)
    }

    /// What the matrix added to the configuration's name: `classic` of `bad-classic`, empty without a matrix.
    pub fn variant(&self) -> &str {
        self.name
            .strip_prefix(&self.base)
            .unwrap_or_default()
            .trim_start_matches('-')
    }
}

impl Results {
    /// Whether no check failed.
    pub fn all_checks_passed(&self) -> bool {
        self.configurations
            .iter()
            .flat_map(|each| &each.checks)
            .all(|check| check.failed == 0)
    }

    /// The variants in order of appearance; one empty variant when there is no matrix.
    pub fn variants(&self) -> Vec<&str> {
        let mut variants = Vec::new();
        for configuration in &self.configurations {
            if !variants.contains(&configuration.variant()) {
                variants.push(configuration.variant());
            }
        }
        variants
    }

    /// The results of a configuration under a variant.
    pub fn find(&self, base: &str, variant: &str) -> Option<&ConfigurationResults> {
        self.configurations
            .iter()
            .find(|each| each.base == base && each.variant() == variant)
    }

    /// As JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps with text keys, text and numbers always have a JSON form")
    }

    /// Writes the file so that a reader sees the old text or the new, never half of one.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("json.new");
        std::fs::write(&beside, self.to_json() + "\n")?;
        std::fs::rename(&beside, path)
    }
}
