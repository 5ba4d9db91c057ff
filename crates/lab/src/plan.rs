//! From an experiment to the list of what is run: configurations times matrix, with every variable filled in, and the VLF
//! layout that the rules predict for each.

use crate::experiment::{Configuration, Experiment, ExperimentError, Scale};
use std::collections::BTreeMap;
use std::str::FromStr;
use vlf::{LogLayout, ServerVersion};

/// One configuration under one choice of the matrix.
#[derive(Debug, Clone)]
pub struct Setup {
    /// `bad-classic`.
    pub name: String,
    /// `bad`.
    pub base: String,
    /// In words.
    pub title: String,
    /// Version whose layout rules the server follows.
    pub version: ServerVersion,
    /// `native` or `classic`.
    pub log_policy: String,
    /// Values for `$(name)`.
    pub variables: BTreeMap<String, String>,
    /// VLFs of the log when it has grown to its largest.
    pub vlf_count_predicted: usize,
    /// The log's largest size, bytes.
    pub log_bytes_max: u64,
}

impl Setup {
    /// The settings as the results show them.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.variables.clone();
        settings.insert("sql_version".into(), self.version.to_string());
        settings.insert("log_policy".into(), self.log_policy.clone());
        settings.insert("vlf_count_predicted".into(), self.vlf_count_predicted.to_string());
        settings
    }

    /// Whether `--only wanted` means this one: its name, or any part of it (`bad`, `classic`).
    pub fn is_named(&self, wanted: &str) -> bool {
        self.name == wanted || self.base == wanted || self.name.split('-').any(|part| part == wanted)
    }
}

/// Everything that is to be run at `scale`, in the order of the file.
///
/// # Errors
/// An unknown version or policy, an undefined variable, or sizes no log file can have.
pub fn setups(experiment: &Experiment, scale: &Scale) -> Result<Vec<Setup>, ExperimentError> {
    let mut setups = Vec::new();
    for configuration in &experiment.configuration {
        for choice in choices(&experiment.matrix) {
            setups.push(setup(experiment, scale, configuration, &choice)?);
        }
    }
    Ok(setups)
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
    let version = chosen("sql_version", &experiment.server.sql_version);
    let version = ServerVersion::from_str(&version).map_err(|error| ExperimentError(error.to_string()))?;
    let log_policy = chosen("log_policy", &experiment.server.log_policy);
    if log_policy != "native" && log_policy != "classic" {
        return Err(ExperimentError(format!(
            "log_policy {log_policy:?}: use native or classic"
        )));
    }
    let mut variables = scale.variables.clone();
    variables.extend(configuration.variables.clone());
    let mut sizes = [0_u64; 3];
    let log = &configuration.log;
    for (size, (name, text)) in sizes.iter_mut().zip([
        ("log_start", &log.start),
        ("log_growth", &log.growth),
        ("log_max", &log.max),
    ]) {
        let text = substitute(text, &variables)?;
        *size = size_bytes(&text)?;
        variables.insert(name.into(), text);
    }
    let [start, growth, max] = sizes;
    let parts = choice.iter().map(|(_, value)| value.as_str());
    Ok(Setup {
        name: std::iter::once(configuration.name.as_str())
            .chain(parts)
            .collect::<Vec<_>>()
            .join("-"),
        base: configuration.name.clone(),
        title: configuration.title.clone(),
        version,
        log_policy,
        variables,
        vlf_count_predicted: predicted_vlf_count(version, start, growth, max)?,
        log_bytes_max: max,
    })
}

fn predicted_vlf_count(version: ServerVersion, start: u64, growth: u64, max: u64) -> Result<usize, ExperimentError> {
    let refused = |error: vlf::RuleError| ExperimentError(format!("the log's sizes: {error}"));
    let mut layout = LogLayout::create(version, start).map_err(refused)?;
    while layout.file_bytes() + growth <= max {
        layout.grow(growth).map_err(refused)?;
    }
    Ok(layout.vlf_count())
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
