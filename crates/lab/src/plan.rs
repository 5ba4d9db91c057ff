//! Expands an experiment to the list of its runs: configurations times matrix, with every variable filled in, and the VLF layout that the
//! rules predict for each.

use crate::disks::{self, DiskDescription};
use crate::experiment::{Configuration, Experiment, ExperimentError, OWN_DISK, Scale};
use crate::results::DISK_SETTING;
use engine::log::LogPolicy;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use vlf::{LogLayout, ServerVersion};

/// One configuration under one choice of the matrix.
#[derive(Debug, Clone)]
pub struct Setup {
    /// `bad-classic`.
    pub name: String,
    /// `bad`.
    pub base: String,
    pub title: String,
    /// Version whose layout rules the server follows.
    pub version: ServerVersion,
    /// How the log does its work, as on the command line of `vlflab serve`.
    pub log_policy: String,
    /// Values for `$(name)`.
    pub variables: BTreeMap<String, String>,
    /// Whether data files grow without zeros being written.
    pub instant_file_initialization: bool,
    /// The server's memory, MB, if not its default.
    pub max_server_memory_mb: Option<u32>,
    pub log: LogPlan,
    /// VLFs of the log when it has grown to its largest; without a largest size, before it grows by itself.
    pub vlf_count_predicted: usize,
    /// The modelled disk it runs on; this machine's without.
    pub disk: Option<DiskDescription>,
    /// As [`Configuration::disks`].
    disks_named: Vec<String>,
}

/// Which disks setups are placed on.
#[derive(Debug, Clone, Copy)]
pub enum Disks<'a> {
    /// Each on those that its configuration names.
    AsWritten,
    /// What runs on a real disk, or on a server that is already there.
    OwnOnly,
    /// Each on all of these modelled ones.
    Modelled(&'a [DiskDescription]),
}

/// How a log grows by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By so many bytes.
    Bytes(u64),
    /// By a share of its size.
    Percent(u32),
}

/// A log's sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlan {
    /// As created.
    pub start: u64,
    /// Sizes that the step `grow_log` gives it, one after the other.
    pub grown_to: Vec<u64>,
    /// What it then grows by.
    pub growth: Growth,
    pub max: Option<u64>,
}

impl LogPlan {
    /// The layout once the file has `file_bytes`: created, grown by hand as planned, then by itself.
    ///
    /// # Errors
    /// A size no log file can have.
    pub fn layout_at(&self, version: ServerVersion, file_bytes: u64) -> Result<LogLayout, vlf::RuleError> {
        let mut layout = LogLayout::create(version, self.start)?;
        for target in self.grown_to.iter().take_while(|target| **target <= file_bytes) {
            layout.grow(target.saturating_sub(layout.file_bytes()))?;
        }
        while layout.file_bytes() < file_bytes {
            let current = layout.file_bytes();
            let step = match self.growth {
                Growth::Bytes(bytes) => bytes,
                Growth::Percent(percent) => vlf::percent_growth(current, percent)?.saturating_sub(current),
            };
            // The last growth before the largest size is as large as there is room for.
            let room = self.max.map_or(u64::MAX, |max| max.saturating_sub(current));
            layout.grow(step.min(room))?;
        }
        Ok(layout)
    }

    /// The size it ends with: the largest, or without one that which it is given by hand.
    pub fn bytes_at_end(&self) -> u64 {
        let by_hand = self.grown_to.last().copied().unwrap_or(self.start);
        match self.max {
            Some(max) if self.growth != Growth::Bytes(0) => max.max(by_hand),
            _ => by_hand,
        }
    }
}

impl Setup {
    /// The settings as the results show them.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.variables.clone();
        settings.insert("sql_version".into(), self.version.to_string());
        settings.insert("log_policy".into(), self.log_policy.clone());
        let instant = if self.instant_file_initialization { "on" } else { "off" };
        if let Some(disk) = &self.disk {
            settings.insert(DISK_SETTING.into(), disk.name.clone());
        }
        settings.insert("instant_file_initialization".into(), instant.into());
        settings.insert("vlf_count_predicted".into(), self.vlf_count_predicted.to_string());
        settings
    }

    fn placed_on(&self, disk: &DiskDescription) -> Setup {
        Setup {
            name: format!("{}@{}", self.name, disk.name),
            disk: Some(disk.clone()),
            ..self.clone()
        }
    }

    fn is_for_own_disk(&self) -> bool {
        self.disks_named.is_empty() || self.disks_named.iter().any(|name| name == OWN_DISK)
    }

    /// Whether `--only wanted` means this one: its name, or any part of it (`bad`, `classic`).
    pub fn is_named(&self, wanted: &str) -> bool {
        let plain = self.name.split('@').next().unwrap_or_default();
        self.name == wanted || plain == wanted || self.base == wanted || plain.split('-').any(|part| part == wanted)
    }
}

/// Everything that is to be run at `scale`, in the order of the file.
///
/// # Errors
/// An unknown version or policy, an undefined variable, or sizes no log file can have.
pub fn setups(experiment: &Experiment, scale: &Scale) -> Result<Vec<Setup>, ExperimentError> {
    let mut setups = Vec::new();
    let is_chosen = |each: &&Configuration| scale.only.is_empty() || scale.only.contains(&each.name);
    for configuration in experiment.configuration.iter().filter(is_chosen) {
        for choice in choices(&experiment.matrix) {
            setups.push(setup(experiment, scale, configuration, &choice)?);
        }
    }
    Ok(setups)
}

/// The setups, each as often as it has disks to run on.
///
/// # Errors
/// A configuration names a disk that is not there.
pub fn on_disks(setups: Vec<Setup>, disks: Disks<'_>) -> Result<Vec<Setup>, ExperimentError> {
    match disks {
        Disks::OwnOnly => Ok(setups.into_iter().filter(Setup::is_for_own_disk).collect()),
        Disks::Modelled(disks) => {
            let on = |disk: &DiskDescription| setups.iter().map(|setup| setup.placed_on(disk)).collect::<Vec<_>>();
            Ok(disks.iter().flat_map(on).collect())
        }
        Disks::AsWritten => {
            let mut placed = Vec::new();
            for setup in setups {
                let modelled = setup.disks_named.iter().filter(|name| *name != OWN_DISK);
                for name in modelled {
                    let disk = disks::load(name).map_err(|error| ExperimentError(error.to_string()))?;
                    placed.push(setup.placed_on(&disk));
                }
                if setup.is_for_own_disk() {
                    placed.push(setup);
                }
            }
            Ok(placed)
        }
    }
}

/// Names of everything that [`setups`] would answer.
pub fn names(experiment: &Experiment) -> Vec<String> {
    let choices = choices(&experiment.matrix);
    let named = |configuration: &Configuration| {
        let base = configuration.name.clone();
        choices
            .iter()
            .map(move |choice| name(&base, choice))
            .collect::<Vec<_>>()
    };
    experiment.configuration.iter().flat_map(named).collect()
}

fn name(base: &str, choice: &[(String, String)]) -> String {
    let parts = choice.iter().map(|(_, value)| value.as_str());
    std::iter::once(base).chain(parts).collect::<Vec<_>>().join("-")
}

/// Names that have a value in a configuration at a scale.
pub fn variable_names(scale: &Scale, configuration: &Configuration) -> BTreeSet<String> {
    let given = scale.variables.keys().chain(configuration.variables.keys()).cloned();
    given.chain(LOG_VARIABLES.map(String::from)).collect()
}

/// The variables that a configuration's log sizes become.
const LOG_VARIABLES: [&str; 3] = ["log_start", "log_growth", "log_max"];

/// Whether a server knows this log policy.
///
/// # Errors
/// It does not.
pub fn log_policy(text: &str) -> Result<(), ExperimentError> {
    let known = LogPolicy::from_str(text);
    known.map(|_| ()).map_err(|error| ExperimentError(error.to_string()))
}

/// Every combination of the matrix's values, each as pairs of key and value.
fn choices(matrix: &BTreeMap<String, Vec<String>>) -> Vec<Vec<(String, String)>> {
    matrix.iter().fold(vec![Vec::new()], |choices, (key, values)| {
        let extend = |choice: &Vec<(String, String)>, value: &String| {
            let mut longer = choice.clone();
            longer.push((key.clone(), value.clone()));
            longer
        };
        choices
            .iter()
            .flat_map(|choice| values.iter().map(move |value| extend(choice, value)))
            .collect()
    })
}

fn setup(
    experiment: &Experiment,
    scale: &Scale,
    configuration: &Configuration,
    choice: &[(String, String)],
) -> Result<Setup, ExperimentError> {
    let chosen = |key: &str, otherwise: &str| {
        let found = choice.iter().find(|(name, _)| name == key);
        found.map_or(otherwise, |(_, value)| value).to_string()
    };
    let (common, own) = (&experiment.server, &configuration.server);
    let version = chosen("sql_version", own.sql_version.as_ref().unwrap_or(&common.sql_version));
    let version = ServerVersion::from_str(&version).map_err(|error| ExperimentError(error.to_string()))?;
    let log_policy = chosen("log_policy", own.log_policy.as_ref().unwrap_or(&common.log_policy));
    self::log_policy(&log_policy)?;
    let mut variables = scale.variables.clone();
    for (name, text) in &configuration.variables {
        variables.insert(name.clone(), substitute(text, &scale.variables)?);
    }
    let log = log_plan(configuration, &mut variables)?;
    let refused = |error: vlf::RuleError| ExperimentError(format!("{}: the log's sizes: {error}", configuration.name));
    let layout = log.layout_at(version, log.bytes_at_end()).map_err(refused)?;
    Ok(Setup {
        name: name(&configuration.name, choice),
        base: configuration.name.clone(),
        title: configuration.title.clone(),
        version,
        log_policy,
        instant_file_initialization: own
            .instant_file_initialization
            .unwrap_or(common.instant_file_initialization),
        max_server_memory_mb: own.max_server_memory_mb.or(common.max_server_memory_mb),
        variables,
        log,
        vlf_count_predicted: layout.vlf_count(),
        disk: None,
        disks_named: configuration.disks.clone(),
    })
}

/// The log's sizes in bytes; their texts become the variables `log_start`, `log_growth` and `log_max`.
fn log_plan(
    configuration: &Configuration,
    variables: &mut BTreeMap<String, String>,
) -> Result<LogPlan, ExperimentError> {
    let log = &configuration.log;
    let start = substitute(&log.start, variables)?;
    let growth = substitute(&log.growth, variables)?;
    let max = log.max.as_ref().map(|max| substitute(max, variables)).transpose()?;
    let mut grown_to = Vec::new();
    for each in &log.grow {
        let to = size_bytes(&substitute(&each.to, variables)?)?;
        let from = grown_to.last().copied().unwrap_or(size_bytes(&start)?);
        let by = each
            .by
            .as_ref()
            .map(|by| size_bytes(&substitute(by, variables)?))
            .transpose()?;
        match by {
            Some(0) => return Err(ExperimentError(format!("{}: grow by 0 never ends", configuration.name))),
            Some(by) => grown_to.extend((from / by + 1..=to / by).map(|multiple| multiple * by)),
            None => grown_to.push(to),
        }
    }
    let plan = LogPlan {
        start: size_bytes(&start)?,
        grown_to,
        growth: growth_of(&growth)?,
        max: max.as_deref().map(size_bytes).transpose()?,
    };
    variables.insert("log_start".into(), start);
    variables.insert("log_growth".into(), growth);
    variables.insert("log_max".into(), max.unwrap_or_else(|| "unlimited".into()));
    Ok(plan)
}

/// What a log grows by: a size, or a percentage.
///
/// # Errors
/// The text is neither.
pub fn growth_of(text: &str) -> Result<Growth, ExperimentError> {
    match text.trim().strip_suffix('%') {
        Some(percent) => {
            let refused = |_| ExperimentError(format!("{text:?} is not a growth; write 64MB or 10%"));
            Ok(Growth::Percent(percent.trim().parse().map_err(refused)?))
        }
        None => Ok(Growth::Bytes(size_bytes(text)?)),
    }
}

/// Whether a log of the configuration's sizes can be.
///
/// # Errors
/// It cannot; with the reason.
pub fn check_log(configuration: &Configuration, scale: &Scale, version: ServerVersion) -> Result<(), ExperimentError> {
    let mut variables = scale.variables.clone();
    variables.extend(configuration.variables.clone());
    let log = log_plan(configuration, &mut variables)?;
    let layout = log.layout_at(version, log.bytes_at_end());
    layout.map(|_| ()).map_err(|error| ExperimentError(error.to_string()))
}

/// Puts the values in place of `$(name)`.
///
/// # Errors
/// A name that has no value, or a `$(` without its `)`.
pub fn substitute(text: &str, variables: &BTreeMap<String, String>) -> Result<String, ExperimentError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        let (name, tail) = after
            .split_once(')')
            .ok_or_else(|| ExperimentError("a $( has no closing parenthesis".into()))?;
        let value = variables.get(name).ok_or_else(|| {
            let known: Vec<&str> = variables.keys().map(String::as_str).collect();
            ExperimentError(format!("$({name}) is not defined; there are {}", known.join(", ")))
        })?;
        out.push_str(before);
        out.push_str(value);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// Bytes of a T-SQL size: a whole number with KB, MB (also when nothing is given), GB or TB.
///
/// # Errors
/// Anything else.
pub fn size_bytes(text: &str) -> Result<u64, ExperimentError> {
    let refused = || ExperimentError(format!("{text:?} is not a size; write 512KB, 64MB, 5GB"));
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic() || character == ' ');
    let number: u64 = digits.trim().parse().map_err(|_| refused())?;
    let unit = match text
        .get(digits.len()..)
        .map(str::trim)
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_str()
    {
        "KB" => 1 << 10,
        "" | "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1_u64 << 40,
        _ => return Err(refused()),
    };
    number.checked_mul(unit).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::catalogue;

    #[test]
    fn the_published_sizes_give_the_published_counts() {
        let experiment = catalogue::load("recovery").unwrap();
        let planned = setups(&experiment, &experiment.scale["full"]).unwrap();
        let counts: Vec<(&str, usize)> = planned
            .iter()
            .map(|each| (each.name.as_str(), each.vlf_count_predicted))
            .collect();
        assert_eq!(
            counts,
            [
                ("bad-classic", 20_480),
                ("bad-native", 20_480),
                ("good-classic", 16),
                ("good-native", 16)
            ]
        );
    }

    #[test]
    fn the_published_logs_of_the_other_experiments_have_the_vlfs_their_rules_give() {
        for (name, configuration, vlf_count) in [
            ("growth", "test1-classic", 126_399),
            ("growth", "test3-classic", 263),
            ("growth", "test4-native", 143),
            ("dml", "slow-native", 20),
            ("dml", "fast-native", 16),
            ("oltp", "many-native", 20_000),
            ("oltp", "few-native", 16),
            ("curve", "v20480-native", 20_480),
            ("curve", "v126399-classic", 126_399),
        ] {
            let experiment = catalogue::load(name).unwrap();
            let planned = setups(&experiment, &experiment.scale["full"]).unwrap();
            let found = planned.iter().find(|each| each.name == configuration).unwrap();
            assert_eq!(found.vlf_count_predicted, vlf_count, "{name} {configuration}");
        }
    }

    #[test]
    fn a_log_grown_by_hand_and_then_by_itself() {
        const MB: u64 = 1 << 20;
        let mut log = LogPlan {
            start: MB,
            grown_to: vec![1024 * MB, 2048 * MB],
            growth: Growth::Bytes(1024 * MB),
            max: Some(2192 * MB),
        };
        let counts = |log: &LogPlan, sizes: &[u64]| -> Vec<usize> {
            let at = |mb: &u64| log.layout_at(ServerVersion::V2008R2, mb * MB).unwrap().vlf_count();
            sizes.iter().map(at).collect()
        };
        // The last growth has only 144 MB of room.
        assert_eq!(counts(&log, &[1, 1024, 2048, 2192]), [4, 12, 20, 28]);
        log.growth = Growth::Percent(10);
        log.grown_to.clear();
        assert_eq!(counts(&log, &[1]), [4]);
        assert!(counts(&log, &[100])[0] > 100);
    }

    #[test]
    fn every_configuration_is_on_every_disk() {
        let experiment = catalogue::load("recovery").unwrap();
        let planned = setups(&experiment, &experiment.scale["quick"]).unwrap();
        let disks = ["hdd-7200-2006", "nvme-plp"].map(|name| crate::disks::load(name).unwrap());
        let placed = on_disks(planned.clone(), Disks::Modelled(&disks)).unwrap();
        assert_eq!(placed.len(), 2 * planned.len());
        assert_eq!(placed[0].name, "bad-classic@hdd-7200-2006");
        assert_eq!(placed[0].settings()["disk"], "hdd-7200-2006");
        for wanted in ["bad", "classic", "bad-classic", "bad-classic@hdd-7200-2006"] {
            assert!(placed[0].is_named(wanted), "{wanted}");
        }
        assert!(!placed[0].is_named("7200"));
    }

    /// The numbers that were published, each on the model nearest to its machine; what has room here on this machine's disk, too.
    #[test]
    fn the_default_run_has_the_published_counts_on_the_disks_it_names() {
        let experiment = catalogue::load("published").unwrap();
        let planned = || setups(&experiment, &experiment.scale["quick"]).unwrap();
        let placed = |disks| {
            let placed = on_disks(planned(), disks).unwrap();
            let classic = placed.into_iter().filter(|each| each.log_policy == "classic");
            classic
                .map(|each| (each.name.replace("-classic", ""), each.vlf_count_predicted))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("kent_many@hdd-7200-2006", 20_480),
            ("kent_many", 20_480),
            ("kent_few@hdd-7200-2006", 16),
            ("kent_few", 16),
            ("berry_many@ssd-sata-2012", 126_399),
            ("berry_few@ssd-sata-2012", 263),
            ("ezequiel_many@hdd-7200-2010", 8192),
            ("ezequiel_few@hdd-7200-2010", 20),
        ]
        .map(|(name, count)| (name.to_string(), count));
        assert_eq!(placed(Disks::AsWritten), expected);
        let own: Vec<(String, usize)> = placed(Disks::OwnOnly);
        assert_eq!(own, [("kent_many".to_string(), 20_480), ("kent_few".to_string(), 16)]);
    }

    #[test]
    fn only_takes_a_name_or_a_part_of_it() {
        let experiment = catalogue::load("recovery").unwrap();
        let planned = setups(&experiment, &experiment.scale["quick"]).unwrap();
        for (wanted, count) in [("bad", 2), ("classic", 2), ("good-native", 1), ("nothing", 0)] {
            assert_eq!(
                planned.iter().filter(|each| each.is_named(wanted)).count(),
                count,
                "{wanted}"
            );
        }
    }

    #[test]
    fn sizes_as_t_sql_writes_them() {
        for (text, bytes) in [
            ("512KB", 524_288),
            ("1MB", 1_048_576),
            ("64", 67_108_864),
            ("5 gb", 5_368_709_120),
        ] {
            assert_eq!(size_bytes(text).unwrap(), bytes);
        }
        for text in ["", "MB", "1.5GB", "-1MB", "5 parsecs", "99999999999TB"] {
            assert!(size_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn variables_are_put_in_place_or_named() {
        let variables = BTreeMap::from([("log_mb".to_string(), "64".to_string())]);
        assert_eq!(
            substitute("size = $(log_mb)MB, $(log_mb)", &variables).unwrap(),
            "size = 64MB, 64"
        );
        assert!(
            substitute("$(nothing)", &variables)
                .unwrap_err()
                .to_string()
                .contains("there are log_mb")
        );
        assert!(substitute("$(log_mb", &variables).is_err());
    }
}
