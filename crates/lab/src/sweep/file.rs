//! A sweep as data: a TOML file.
//!
//! ```toml
//! name = "what-vlfs-cost"
//! title = "What VLFs cost, by disk, version and mechanism"
//! experiments = ["curve", "mine.toml"]     # of the program, or files beside this one
//! disks = ["modelled"]                     # names, files beside this one, "own", or "modelled": every disk of the program
//! scales = ["quick"]
//! sql_versions = ["2008", "2022"]          # without: what each experiment says
//! log_policies = ["native", "classic"]     # likewise
//! only = ["v16", "v100"]                   # configurations of the experiments
//! runs = 3                                 # of measured configurations
//! processor_time = false                   # whether modelled ones count it, which makes them measured
//!
//! [variables]                              # sizes: every combination of these values
//! rows = ["1000", "10000"]
//!
//! [[layout]]                               # instead of the experiments' own configurations
//! name = "one-step"
//! title = "created at its size"
//! like = "v16"                             # the configuration whose steps, variables and server it takes
//! log = { start = "64MB", growth = "64MB" }
//!
//! [cost]                                   # for --dry-run
//! seconds_per_configuration = 1.5
//! price_per_hour = 0.08
//! currency = "USD"
//! ```

use crate::experiment::LogSizes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A sweep's file, read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepFile {
    /// Short name, one word.
    pub name: String,
    /// Headline of the report.
    pub title: String,
    /// Experiments of the program, or files ending in `.toml`, beside this one.
    pub experiments: Vec<String>,
    /// Modelled disks by name or file; [`crate::experiment::OWN_DISK`]; [`ALL_MODELLED`].
    pub disks: Vec<String>,
    #[serde(default = "quick")]
    pub scales: Vec<String>,
    /// Versions to emulate; those of each experiment when empty.
    #[serde(default)]
    pub sql_versions: Vec<String>,
    /// How the log works; as each experiment says when empty.
    #[serde(default)]
    pub log_policies: Vec<String>,
    /// Configurations of the experiments, by name; all when empty.
    #[serde(default)]
    pub only: Vec<String>,
    /// Runs of a measured configuration; its scale's own count without. One without processor time runs once: it repeats exactly.
    #[serde(default)]
    pub runs: Option<u16>,
    /// Whether what processors take counts on modelled disks.
    #[serde(default)]
    pub processor_time: bool,
    /// Values of variables; every combination is a size.
    #[serde(default)]
    pub variables: BTreeMap<String, Vec<String>>,
    /// Logs to compare instead of the experiments' own configurations.
    #[serde(default)]
    pub layout: Vec<Layout>,
    #[serde(default)]
    pub cost: Cost,
}

/// The word for every modelled disk of the program.
pub const ALL_MODELLED: &str = "modelled";

fn quick() -> Vec<String> {
    vec!["quick".into()]
}

/// A log to compare.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    pub name: String,
    #[serde(default)]
    pub title: String,
    /// The configuration whose steps, variables and server settings it takes; the experiment's first without.
    #[serde(default)]
    pub like: Option<String>,
    pub log: LogSizes,
}

/// What a dry run reckons with.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Seconds that one configuration takes on the machine that is paid for; without, from what the experiments expect.
    pub seconds_per_configuration: Option<f64>,
    /// Price of an hour of one shard.
    pub price_per_hour: Option<f64>,
    #[serde(default)]
    pub currency: String,
}

/// Why there is no sweep: every mistake that was found, in a sentence each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepError(pub Vec<String>);

impl SweepError {
    /// One mistake.
    pub fn of(text: impl Into<String>) -> SweepError {
        SweepError(vec![text.into()])
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n        "))
    }
}

impl std::error::Error for SweepError {}

/// The longest file that is read.
const TEXT_BYTES_MAX: u64 = 4 << 20;

impl SweepFile {
    /// Reads a sweep's file.
    ///
    /// # Errors
    /// It cannot be read, or every mistake in it that needs no look at the experiments.
    pub fn load(path: &Path) -> Result<SweepFile, SweepError> {
        let cannot = |why: String| SweepError::of(format!("{}: {why}", path.display()));
        let bytes = std::fs::metadata(path)
            .map_err(|error| cannot(error.to_string()))?
            .len();
        if bytes > TEXT_BYTES_MAX {
            return Err(cannot("it is longer than 4 MB, which no sweep's file is".into()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| cannot(error.to_string()))?;
        SweepFile::parse(&text).map_err(|SweepError(mistakes)| SweepError::of(cannot(mistakes.join("; ")).to_string()))
    }

    /// Reads the text of one.
    ///
    /// # Errors
    /// As [`SweepFile::load`].
    pub fn parse(text: &str) -> Result<SweepFile, SweepError> {
        let file: SweepFile =
            toml::from_str(text).map_err(|error| SweepError::of(error.to_string().trim_end().to_owned()))?;
        let mistakes = file.mistakes();
        if mistakes.is_empty() {
            Ok(file)
        } else {
            Err(SweepError(mistakes))
        }
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let is_word =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_word(&self.name) {
            mistakes.push(format!("name = {:?}: use letters, digits, -, _ and .", self.name));
        }
        for (key, values) in [
            ("experiments", &self.experiments),
            ("disks", &self.disks),
            ("scales", &self.scales),
            ("sql_versions", &self.sql_versions),
            ("log_policies", &self.log_policies),
            ("only", &self.only),
        ] {
            mistakes.extend(repeated(key, values));
        }
        for (key, values) in [
            ("experiments", &self.experiments),
            ("disks", &self.disks),
            ("scales", &self.scales),
        ] {
            if values.is_empty() {
                mistakes.push(format!("{key} is empty: nothing would be run"));
            }
        }
        for (name, values) in &self.variables {
            if values.is_empty() {
                mistakes.push(format!("variables.{name} has no values: nothing would be run"));
            }
            mistakes.extend(repeated(&format!("variables.{name}"), values));
        }
        let names: Vec<String> = self.layout.iter().map(|layout| layout.name.clone()).collect();
        mistakes.extend(repeated("layout names", &names));
        mistakes.extend(
            names
                .iter()
                .filter(|name| !is_word(name))
                .map(|name| format!("layout name {name:?}: use letters, digits, -, _ and .")),
        );
        if !self.layout.is_empty() && !self.only.is_empty() {
            mistakes.push("only names configurations of the experiments, and [[layout]] replaces them: use one".into());
        }
        if self.runs == Some(0) {
            mistakes.push("runs = 0: at least 1".into());
        }
        let figures = [self.cost.seconds_per_configuration, self.cost.price_per_hour];
        if figures
            .iter()
            .flatten()
            .any(|figure| !figure.is_finite() || *figure < 0.0)
        {
            mistakes.push("cost has a figure that is not an amount".into());
        }
        mistakes
    }

    /// A name of the file as the catalogue finds it: files are beside the sweep's own.
    pub fn beside(path: &Path, name: &str) -> String {
        let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
        let folder = path.parent().unwrap_or(Path::new(""));
        match is_file {
            true => PathBuf::from(folder).join(name).to_string_lossy().into_owned(),
            false => name.to_owned(),
        }
    }
}

fn repeated(key: &str, values: &[String]) -> Option<String> {
    let twice = values
        .iter()
        .enumerate()
        .find(|(index, value)| values.iter().take(*index).any(|other| other == *value));
    twice.map(|(_, value)| format!("{key} has {value:?} twice"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SMALL: &str = "name = 'small'\ntitle = 'Small'\nexperiments = ['curve']\ndisks = ['nvme-plp']\n";

    #[test]
    fn a_small_file_is_whole_and_every_mistake_of_another_is_named() {
        let file = SweepFile::parse(SMALL).unwrap();
        assert_eq!(
            (file.scales.as_slice(), file.processor_time),
            (["quick".to_owned()].as_slice(), false)
        );
        let text = SMALL
            .replace("'small'", "'a b'")
            .replace("['curve']", "[]")
            .replace("['nvme-plp']", "['own', 'own']")
            + "runs = 0\nonly = ['v4']\n[variables]\nrows = []\n[[layout]]\nname = 'a'\nlog = { start = '1MB', growth = '1MB' }\n\
               [cost]\nprice_per_hour = -1.0\n";
        let told = SweepFile::parse(&text).unwrap_err().to_string();
        for part in [
            "name = \"a b\"",
            "experiments is empty",
            "disks has \"own\" twice",
            "runs = 0",
            "variables.rows has no values",
            "[[layout]] replaces them",
            "cost has a figure",
        ] {
            assert!(told.contains(part), "{part} in {told}");
        }
        let told = SweepFile::parse(&(SMALL.to_owned() + "disk = ['own']\n"))
            .unwrap_err()
            .to_string();
        assert!(told.contains("unknown field `disk`"), "{told}");
    }
}
