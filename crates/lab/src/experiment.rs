//! An experiment as data: a TOML file next to its T-SQL scripts.
//!
//! ```text
//! [scale.*]          sizes, as variables            [[step]]     the steps, in order
//! [[configuration]]  the logs that are compared     [[finding]]  what the report says
//! [matrix]           each configuration under each  [published]  the figures to stand beside ours
//! [[derived]]        measurements from others       [[slope]]    measurements that grow with the number of VLFs
//! ```
//! Scripts, queries and log sizes may name variables as `$(name)`: those of the scale, and `log_start`, `log_growth` and
//! `log_max` of the configuration.
//!
//! Invariant: an [`Experiment`] that was read is consistent: every step's script exists, every name used is defined.

mod document;
mod faults;
mod mend;

pub use faults::Fault;

use crate::catalogue::Scripts;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Short name, as on the command line.
    pub name: String,
    /// Headline of the report.
    pub title: String,
    /// The question, in one sentence.
    pub question: String,
    /// The database whose log and recovery are looked at.
    pub database: String,
    /// Sizes to choose from.
    pub scale: BTreeMap<String, Scale>,
    /// How the server is started.
    #[serde(default)]
    pub server: ServerSettings,
    /// Server settings that every configuration is tried under: `log_policy`, `sql_version`.
    #[serde(default)]
    pub matrix: BTreeMap<String, Vec<String>>,
    pub configuration: Vec<Configuration>,
    /// What is done with each.
    pub step: Vec<Step>,
    /// What the report's verdict compares.
    #[serde(default)]
    pub finding: Vec<Finding>,
    /// What the report draws.
    #[serde(default)]
    pub chart: Vec<Chart>,
    /// Measurements reckoned from others of the same run.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// Measurements whose growth with the number of VLFs is reckoned over all configurations.
    #[serde(default)]
    pub slope: Vec<SlopeOf>,
    /// Figures to stand beside ours.
    pub published: Option<Published>,
    /// Limits; a missed one fails the run.
    #[serde(default)]
    pub threshold: Vec<Threshold>,
    /// The scripts the steps name.
    #[serde(skip)]
    pub scripts: Scripts,
    /// The text this was read from.
    #[serde(skip)]
    pub text: String,
}

/// One size of the experiment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    pub description: String,
    /// Runs of each configuration unless the command line says otherwise.
    pub runs: usize,
    /// The same on a modelled disk, where only what processors took differs from run to run; `runs` without.
    #[serde(default)]
    pub runs_modelled: Option<usize>,
    /// Seconds that all its runs take together on an ordinary machine: what the time left is reckoned by at first.
    #[serde(default = "expected_seconds")]
    pub expected_s: f64,
    /// Seconds that making and growing the logs on this machine's disk may take in all runs together, as reckoned from what the disk
    /// was seen to do; where it would take longer, that disk is left out. No limit without.
    #[serde(default)]
    pub own_disk_s_max: Option<f64>,
    /// Whether it is left out of help texts.
    #[serde(default)]
    pub hidden: bool,
    /// Whether the published figures are of this size, so that they may stand beside ours without a mark.
    #[serde(default)]
    pub published_size: bool,
    /// The configurations it has, by name; all when empty.
    #[serde(default)]
    pub only: Vec<String>,
    /// Values for `$(name)`.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
}

fn expected_seconds() -> f64 {
    20.0
}

/// Settings of the server that the matrix does not vary.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// The SQL Server version whose log layout rules apply.
    pub sql_version: String,
    /// `native`, `classic`, or one of them and the mechanisms that differ: `native,discovery=classic`.
    pub log_policy: String,
    /// Buffer pool and log cache, MB; the server's default without.
    pub max_server_memory_mb: Option<u32>,
    /// Whether data files grow without zeros being written.
    pub instant_file_initialization: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        ServerSettings {
            sql_version: "2022".into(),
            log_policy: "native".into(),
            max_server_memory_mb: None,
            instant_file_initialization: true,
        }
    }
}

/// One thing to compare.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    pub name: String,
    pub title: String,
    pub log: LogSizes,
    /// Further values for `$(name)`; they may name those of the scale.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Settings of the server that only this one has.
    #[serde(default)]
    pub server: ServerOverrides,
    /// The default disks: built-in modelled ones, and [`OWN_DISK`]; only that if empty.
    #[serde(default)]
    pub disks: Vec<String>,
}

/// What this machine's disk is called among [`Configuration::disks`].
pub const OWN_DISK: &str = "own";

/// Settings of the server that one configuration has for itself; the matrix goes before them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerOverrides {
    /// As [`ServerSettings::sql_version`].
    pub sql_version: Option<String>,
    /// As [`ServerSettings::log_policy`].
    pub log_policy: Option<String>,
    /// As [`ServerSettings::max_server_memory_mb`].
    pub max_server_memory_mb: Option<u32>,
    /// As [`ServerSettings::instant_file_initialization`].
    pub instant_file_initialization: Option<bool>,
}

/// The sizes of a log file, as T-SQL writes them (`64MB`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSizes {
    /// `SIZE`.
    pub start: String,
    /// What the step `grow_log` makes of it, in this order.
    #[serde(default)]
    pub grow: Vec<Pregrowth>,
    /// `FILEGROWTH`: a size, or a percentage such as `10%`.
    pub growth: String,
    /// `MAXSIZE`; `unlimited` without.
    pub max: Option<String>,
}

/// Growth by hand: `ALTER DATABASE ... MODIFY FILE (SIZE = ...)`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pregrowth {
    /// The size in the end.
    pub to: String,
    /// With it, every multiple of this size up to the end is one growth; without, there is one growth.
    pub by: Option<String>,
}

/// Whose server a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// One that the run starts for itself.
    Own,
    /// One that is there already: `--target`.
    Target,
}

/// One step of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Sql {
        label: String,
        /// Name of the connection; each name is a connection of its own, which stays open.
        #[serde(default = "main_connection")]
        connection: String,
        /// The script, beside the TOML file.
        file: String,
        /// The error that has to end the script; without, any error fails the run.
        until_error: Option<i32>,
        /// The measurement that gets the seconds the script took.
        measure: Option<String>,
        /// Whether progress follows the share of the log in use, and the growth of the log is noted.
        #[serde(default)]
        watch_log: bool,
        /// The configurations it is for; all when empty.
        #[serde(default)]
        only: Vec<String>,
        /// The servers it is for; all without.
        server: Option<ServerKind>,
    },
    /// Grows the log as its sizes' `grow` says; what is left of time and VLFs is measured.
    GrowLog {
        /// The measurement that gets the seconds it took.
        measure: Option<String>,
    },
    /// Runs a script again and again in several connections at once.
    Clients {
        label: String,
        /// How many connections; each also gets its number as `$(client)`, from 1.
        connections: usize,
        /// The script; one pass through all its batches is one transaction.
        file: String,
        /// Passes of each connection: a number, or a variable.
        repeat: String,
        /// First part of the names of [`CLIENT_MEASUREMENTS`], and name of the latencies.
        measure: String,
    },
    /// Sets all of `sys.dm_os_wait_stats` to zero.
    ClearWaits {},
    /// Keeps what was waited for since.
    ReadWaits {},
    /// Has the program make a sample database: `vlflab sample NAME --data FOLDER ARGUMENTS`. Only before the first step that
    /// needs the server.
    Sample {
        label: String,
        /// Name of the sample.
        name: String,
        #[serde(default)]
        arguments: Vec<String>,
        /// The servers it is for; all without, which then are the run's own.
        server: Option<ServerKind>,
    },
    /// Stops the server in order; its databases are checkpointed and closed.
    Stop {},
    /// Asks for one number and keeps it as a measurement.
    Query {
        label: String,
        sql: String,
        /// The measurement that gets the number.
        measure: String,
        /// Its unit, for the reader of the file.
        #[serde(default)]
        unit: String,
    },
    /// Counts the VLFs with `DBCC LOGINFO` as `vlf_count` and checks them against the layout rules.
    CountVlfs {},
    /// Kills the server with SIGKILL.
    Kill {},
    /// Starts it again and measures [`RESTART_MEASUREMENTS`].
    Restart {},
    /// Asks for one number and verifies it.
    Check {
        /// What must hold.
        label: String,
        sql: String,
        /// A number, a variable, or the name of a measurement of the same run.
        equals: String,
        /// The configurations it is for; all when empty.
        #[serde(default)]
        only: Vec<String>,
    },
}

impl Experiment {
    /// The experiment with the steps that are for servers of this kind.
    pub fn on(&self, kind: ServerKind) -> Experiment {
        let mut kept = self.clone();
        kept.step.retain(|step| step.is_for_server(kind));
        kept
    }
}

impl Step {
    /// The script the step names, if it names one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Step::Sql { file, .. } | Step::Clients { file, .. } => Some(file),
            _ => None,
        }
    }

    /// What it does, in words.
    pub fn label(&self) -> &str {
        match self {
            Step::Sql { label, .. }
            | Step::Query { label, .. }
            | Step::Check { label, .. }
            | Step::Clients { label, .. }
            | Step::Sample { label, .. } => label,
            Step::GrowLog { .. } => "grow the log with ALTER DATABASE ... MODIFY FILE",
            Step::ClearWaits {} => "set the wait statistics to zero",
            Step::ReadWaits {} => "read the wait statistics",
            Step::CountVlfs {} => "count the VLFs with DBCC LOGINFO and compare with the layout rules",
            Step::Kill {} => "kill the server (SIGKILL)",
            Step::Stop {} => "stop the server in order",
            Step::Restart {} => "start it again; wait until a query is answered and recovery is over",
        }
    }

    /// The configurations it is for; all when empty.
    fn only(&self) -> &[String] {
        match self {
            Step::Sql { only, .. } | Step::Check { only, .. } => only,
            _ => &[],
        }
    }

    /// Whether it is for servers of this kind.
    pub fn is_for_server(&self, kind: ServerKind) -> bool {
        match self {
            Step::Sql { server, .. } | Step::Sample { server, .. } => server.is_none_or(|wanted| wanted == kind),
            _ => true,
        }
    }

    /// Whether it is for this configuration.
    pub fn is_for(&self, configuration: &str) -> bool {
        self.only().is_empty() || self.only().iter().any(|name| name == configuration)
    }

    /// Variables that only the step itself gives a value.
    fn own_variables(&self) -> &'static [&'static str] {
        match self {
            Step::Clients { .. } => &["client"],
            _ => &[],
        }
    }

    /// The measurements it makes.
    fn measurement_names(&self) -> Vec<String> {
        match self {
            Step::Sql {
                measure: Some(name), ..
            }
            | Step::GrowLog { measure: Some(name) }
            | Step::Query { measure: name, .. } => vec![name.clone()],
            Step::Clients { measure, .. } => CLIENT_MEASUREMENTS
                .iter()
                .map(|end| format!("{measure}{end}"))
                .collect(),
            Step::CountVlfs {} => vec!["vlf_count".into(), "log_bytes".into()],
            Step::Restart {} => RESTART_MEASUREMENTS.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }
}

fn main_connection() -> String {
    "main".into()
}

/// A measurement reckoned from others of the same run: the sum of some, less others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    pub measure: String,
    /// What is added up.
    pub sum: Vec<String>,
    /// What is taken off.
    #[serde(default)]
    pub less: Vec<String>,
}

/// How a measurement grows with the number of VLFs: a line through the medians of all configurations.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlopeOf {
    /// The measurement; a time in seconds.
    pub measure: String,
    /// Subject of the sentence: "Log backup".
    pub what: String,
}

/// A comparison of two configurations for the verdict.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The measurement compared; a time.
    pub measure: String,
    /// The configuration expected to be slow.
    pub slow: String,
    /// The one expected to be fast.
    pub fast: String,
    /// Subject of the sentence: "Filling the log".
    pub what: String,
    /// What to know when reading it.
    #[serde(default)]
    pub note: String,
}

/// How a chart shows its measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// One stacked bar per configuration.
    Stack,
    /// One bar per configuration with the spread of its runs; a panel for each measurement.
    Bars,
    /// Cost over the number of VLFs on logarithmic axes: one line per value of the matrix, a point per configuration.
    Curve,
}

/// A chart of the report.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    pub kind: ChartKind,
    pub title: String,
    /// What to know when reading it.
    pub caption: String,
    /// The measurements; those of a stack are times.
    pub measures: Vec<String>,
}

/// Figures of others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The author, the place and the date.
    pub source: String,
    /// The same in two or three words.
    pub short: String,
    pub machine: String,
    /// How its figures became the ones here.
    pub note: String,
    pub configuration: Vec<PublishedConfiguration>,
    /// Where the source does not add up.
    #[serde(default)]
    pub doubt: Vec<Doubt>,
}

/// One configuration's published figures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedConfiguration {
    /// Name of the configuration they stand beside.
    pub name: String,
    /// The year in which they were published.
    #[serde(default)]
    pub year: Option<u16>,
    /// Figures by measurement name.
    pub measurements: BTreeMap<String, f64>,
    /// Shares of the waits by wait type, percent.
    #[serde(default)]
    pub waits: BTreeMap<String, f64>,
    /// Figures that the modelled disk was fitted to: it cannot be said to predict them.
    #[serde(default)]
    pub fitted: Vec<String>,
}

/// Something in the source that does not add up.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doubt {
    pub text: String,
}

/// A limit on a measurement's median, or on its ratio to another configuration's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    pub measure: String,
    /// The configuration, as `bad` (under every matrix value) or `bad-classic`.
    pub configuration: String,
    /// Divide the median by the one of this configuration (under the same matrix value) first.
    #[serde(default)]
    pub ratio_to: Option<String>,
    /// The most it may be.
    pub max: Option<f64>,
    /// The least it may be.
    pub min: Option<f64>,
}

/// Why an experiment was refused: what, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentError(pub String);

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for ExperimentError {}

/// Matrix keys the driver knows how to apply.
const MATRIX_KEYS: [&str; 2] = ["log_policy", "sql_version"];

impl Experiment {
    /// Reads `text`; `scripts` finds the T-SQL files it names.
    ///
    /// # Errors
    /// Every mistake with its line and what to do about it, one per line.
    pub fn parse(text: &str, scripts: Scripts) -> Result<Experiment, ExperimentError> {
        match Experiment::read(text, scripts) {
            (Some(experiment), faults) if faults.is_empty() => Ok(experiment),
            (_, faults) => {
                let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
                Err(ExperimentError(lines.join("\n")))
            }
        }
    }

    /// As [`Experiment::parse`], with every mistake on its own, in the order of the lines. With mistakes, the experiment is
    /// not fit to be run, only to be looked at.
    pub fn read(text: &str, scripts: Scripts) -> (Option<Experiment>, Vec<Fault>) {
        faults::read(text, scripts)
    }

    /// The published figures for a configuration.
    pub fn published_for(&self, base: &str) -> Option<&BTreeMap<String, f64>> {
        self.published_configuration(base).map(|found| &found.measurements)
    }

    /// Whether a modelled disk was fitted to this published figure.
    pub fn is_fitted(&self, base: &str, measure: &str) -> bool {
        let found = self.published_configuration(base);
        found.is_some_and(|found| found.fitted.iter().any(|name| name == measure))
    }

    /// Whether the published figures are of the size that the scale of this name has.
    pub fn is_of_published_size(&self, scale: &str) -> bool {
        self.published.is_some() && self.scale.get(scale).is_some_and(|scale| scale.published_size)
    }

    pub(crate) fn published_configuration(&self, base: &str) -> Option<&PublishedConfiguration> {
        let published = self.published.as_ref()?;
        published.configuration.iter().find(|each| each.name == base)
    }

    /// The texts of the scripts the steps name.
    pub fn script_texts(&self) -> BTreeMap<String, String> {
        let named = self.step.iter().filter_map(Step::file);
        named
            .filter_map(|file| Some((file.to_string(), self.scripts.read(file).ok()?)))
            .collect()
    }

    /// Every measurement of a run: those the steps make, in their order, and those derived.
    pub fn measurement_names(&self) -> Vec<String> {
        let steps = self.step.iter().flat_map(Step::measurement_names);
        steps
            .chain(self.derived.iter().map(|each| each.measure.clone()))
            .collect()
    }
}

/// What a restart measures, in the order of recovery's phases.
pub const RESTART_MEASUREMENTS: [&str; 7] = [
    "discovery_s",
    "analysis_s",
    "redo_s",
    "undo_s",
    "recovery_s",
    "restart_s",
    "rolled_forward",
];

/// What a step with several clients measures, each name after the step's own: seconds, passes per second, and how long a
/// pass took in microseconds.
pub const CLIENT_MEASUREMENTS: [&str; 5] = ["_s", "_per_s", "_p50_us", "_p99_us", "_p999_us"];
