//! The results of a run as one JSON file, rewritten after every step so that an interrupted run keeps its measurements.
//!
//! ```text
//! { "product_version": "0.1.0", "scale": "quick", "environment": { ... }, "experiments": [
//!     { "experiment": "recovery", "toml": "...", "scripts": { ... }, "configurations": [
//!         { "name": "bad-classic", "settings": { ... }, "checks": [ ... ],
//!           "measurements": { "fill_s": { "median": 1.2, "min": 1.1, "max": 1.4, "runs": 3, "values": [ ... ] } },
//!           "waits": [ ... ], "vlf_map": [ ... ], "growth_events": [ ... ], "latencies": { ... } } ] } ] }
//! ```
//! Names of measurements end with their unit: `_s` seconds, `_bytes` bytes, `_count` or none a count. Fields are only ever
//! added; a file of an older version is read with the new ones empty.
//!
//! Invariant: a report needs nothing but this file: each experiment's own text and scripts are in it.

use crate::catalogue::Scripts;
use crate::environment::Environment;
use crate::experiment::{Experiment, ExperimentError};
use crate::statistics::Measurement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

/// Version of the form of `results.json`: it rises with what readers of the former version would misunderstand.
pub const SCHEMA_VERSION: u32 = 1;
/// The version of files that do not say.
const UNVERSIONED: u32 = 0;
/// The longest file that is read; every experiment at full scale has a hundredth of it.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// What says whether the rest of a file is understood.
#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    schema_version: u32,
    product_version: Option<String>,
}

/// Everything one call of `vlflab run` found out: what `results.json` holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of this form, [`SCHEMA_VERSION`]; 0 in files that do not say.
    #[serde(default)]
    pub schema_version: u32,
    /// Version of this program.
    pub product_version: String,
    /// When it began: UTC, ISO 8601.
    pub started: String,
    /// Seconds it took, as far as it got.
    #[serde(default)]
    pub elapsed_s: f64,
    /// Whether every experiment ran to its end.
    pub complete: bool,
    /// Why it stopped early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Name of the scale.
    pub scale: String,
    /// The machine this program ran on.
    pub environment: Environment,
    /// The server measured, when it is not this program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetServer>,
    /// One entry per experiment, in the order they ran.
    pub experiments: Vec<Results>,
}

/// A server that was there before: `--target`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TargetServer {
    /// `host:port`.
    pub address: String,
    /// `SERVERPROPERTY('ProductVersion')`: `16.0.4135.4`.
    pub product_version: String,
    /// `SERVERPROPERTY('Edition')`.
    pub edition: String,
    /// The version whose VLF rules predict for it.
    pub rules_of: String,
}

/// Everything one experiment found out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Results {
    /// Name of the experiment.
    pub experiment: String,
    #[serde(default)]
    pub title: String,
    /// Name of the scale.
    pub scale: String,
    /// When it began: UTC, ISO 8601.
    pub started: String,
    /// Whether every configuration ran as often as asked.
    pub complete: bool,
    /// Why it stopped early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Seconds it took, as far as it got.
    #[serde(default)]
    pub elapsed_s: f64,
    #[serde(default)]
    pub toml: String,
    /// The scripts it names.
    #[serde(default)]
    pub scripts: BTreeMap<String, String>,
    /// What was left out or done in another way, and why.
    #[serde(default)]
    pub notes: Vec<String>,
    /// How measurements grow with the number of VLFs.
    #[serde(default)]
    pub slopes: Vec<Slope>,
    /// Every limit that was looked at, kept or missed.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// What was measured, in the order of the experiment.
    pub configurations: Vec<ConfigurationResults>,
}

/// A straight line through the medians of one measurement over the number of VLFs, for one variant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Slope {
    /// The measurement; a time in seconds.
    pub measure: String,
    pub what: String,
    /// As [`ConfigurationResults::variant`].
    pub variant: String,
    /// Its rise: milliseconds for a thousand VLFs.
    pub ms_per_1000_vlfs: f64,
    /// Where the line begins: milliseconds without any VLF.
    pub base_ms: f64,
    /// The VLF count and the median in milliseconds of each configuration, by count.
    pub points: Vec<(f64, f64)>,
    /// VLFs that cost a second more than the same number does under `native`; none where they do not cost more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlfs_for_one_second: Option<f64>,
}

/// A limit of the experiment's file and what became of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// `bad-classic`.
    pub configuration: String,
    pub measure: String,
    /// For a limit on a ratio: the configuration the median was divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to: Option<String>,
    /// The median, or the ratio of two medians; none when it was not measured.
    pub value: Option<f64>,
    /// The least it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The most it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Whether the limit was missed.
    pub missed: bool,
    /// The same in a sentence.
    pub text: String,
}

/// The setting that names a modelled disk.
pub const DISK_SETTING: &str = "disk";

/// The results of one configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ConfigurationResults {
    /// `bad-classic`: the configuration and what the matrix added.
    pub name: String,
    /// The configuration's own name, `bad`.
    pub base: String,
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
    /// Waits of the last run between the steps `clear_waits` and `read_waits`, longest first, harmless ones left out.
    #[serde(default)]
    pub waits: Vec<Wait>,
    /// The log's VLFs when they were last counted.
    #[serde(default)]
    pub vlf_map: Vec<VlfMapFile>,
    /// How the log grew during the last run's steps with `watch_log`.
    #[serde(default)]
    pub growth_events: Vec<GrowthEvent>,
    /// Latencies of the last run's `clients` steps, by the step's name.
    #[serde(default)]
    pub latencies: BTreeMap<String, Latencies>,
    /// The file beside the results in which the first run's logs are played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
}

/// One row of `sys.dm_os_wait_stats`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Wait {
    /// `WRITELOG`.
    pub wait_type: String,
    /// Number of waits.
    pub waiting_tasks_count: u64,
    /// All waits together, milliseconds.
    pub wait_time_ms: u64,
    /// The longest, milliseconds.
    pub max_wait_time_ms: u64,
    /// Part of the time spent waiting for a processor after the wait was over, milliseconds.
    pub signal_wait_time_ms: u64,
}

/// The VLFs of one log file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VlfMapFile {
    /// As in `sys.database_files`; a log file is usually 2.
    pub file_id: u32,
    /// Neighbours of the same size and status, joined.
    pub runs: Vec<VlfRun>,
}

/// Neighbouring VLFs that look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VlfRun {
    pub vlf_count: u64,
    /// Size of each, bytes.
    pub vlf_bytes: u64,
    /// 0 never used, 1 reusable, 2 active.
    pub status: u8,
}

/// The log at a moment while it grew.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GrowthEvent {
    /// Seconds since the step began.
    pub at_s: f64,
    /// Size of the log, bytes.
    pub log_bytes: u64,
    pub vlf_count: u64,
}

/// How long single transactions took, microseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// How many were timed.
    pub count: u64,
    /// Half took at most this long.
    pub p50_us: f64,
    /// 95 % took at most this long.
    pub p95_us: f64,
    /// 99 % took at most this long.
    pub p99_us: f64,
    /// 99.9 % took at most this long.
    pub p999_us: f64,
    /// The slowest.
    pub max_us: f64,
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

    /// The same of a time of which a modelled device took `device_s`.
    pub fn measure_with_device(&mut self, name: &str, seconds: f64, device_s: Option<f64>) {
        let measurement = self.measurements.entry(name.to_string()).or_default();
        match device_s {
            Some(device_s) => measurement.add_with_device(seconds, device_s),
            None => measurement.add(seconds),
        }
    }

    /// The modelled disk it ran on; none when it was this machine's.
    pub fn modelled_disk(&self) -> Option<&str> {
        self.settings.get(DISK_SETTING).map(String::as_str)
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

    /// The experiment as it was run, read back from its text.
    ///
    /// # Errors
    /// The text is not an experiment this version understands.
    pub fn experiment(&self) -> Result<Experiment, ExperimentError> {
        Experiment::parse(&self.toml, Scripts::Texts(self.scripts.clone()))
    }
}

impl RunFile {
    /// Every limit that was missed, in words.
    pub fn missed_thresholds(&self) -> Vec<&str> {
        let all = self.experiments.iter().flat_map(|each| &each.thresholds);
        all.filter(|each| each.missed).map(|each| each.text.as_str()).collect()
    }

    /// As JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps with text keys, text and numbers always have a JSON form")
    }

    /// Reads a results file of this form, or of the one before forms had a version, which is the same with fewer fields.
    ///
    /// # Errors
    /// It cannot be read, is none, is damaged, or is of another form; with what to do about it.
    pub fn load(path: &Path) -> io::Result<RunFile> {
        let mut text = Vec::new();
        std::fs::File::open(path)?
            .take(TEXT_BYTES_MAX + 1)
            .read_to_end(&mut text)?;
        if text.len() as u64 > TEXT_BYTES_MAX {
            let why = format!(
                "it has more than {} MB, which no results.json has",
                TEXT_BYTES_MAX >> 20
            );
            return Err(io::Error::other(why));
        }
        RunFile::parse(&text).map_err(io::Error::other)
    }

    fn parse(text: &[u8]) -> Result<RunFile, String> {
        let unreadable = |error: serde_json::Error| {
            format!("it is not a results.json, or damaged ({error}); take the file that 'vlflab run' wrote")
        };
        let form: Form = serde_json::from_slice(text).map_err(unreadable)?;
        if ![UNVERSIONED, SCHEMA_VERSION].contains(&form.schema_version) {
            return Err(format!(
                "its form has version {}, and this vlflab reads version {SCHEMA_VERSION}; take the vlflab that wrote it, {}",
                form.schema_version,
                form.product_version.as_deref().unwrap_or("whichever that is"),
            ));
        }
        serde_json::from_slice(text).map_err(unreadable)
    }

    /// Writes the file so that a reader sees the old text or the new, never half of one.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let beside = path.with_extension("json.new");
        std::fs::write(&beside, self.to_json() + "\n")?;
        std::fs::rename(&beside, path)
    }
}
