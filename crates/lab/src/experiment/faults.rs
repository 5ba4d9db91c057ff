//! All mistakes in an experiment's file, each with its line and a remedy: mistakes of form (by [`super::mend`]), and of meaning: unknown
//! names, impossible log sizes, missing scripts and variables, limits without effect.

use super::document::{Document, Part, line_of_byte, place_of};
use super::{Configuration, Experiment, MATRIX_KEYS, OWN_DISK, Scale, Step, mend};
use crate::catalogue::{Scripts, remedy};
use crate::{disks, plan};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use toml::de::DeValue;
use vlf::ServerVersion;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The script it is in; none for the experiment's file itself.
    pub script: Option<String>,
    /// Line of that file, from 1.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub text: String,
}

impl Fault {
    pub(super) fn at(line: usize, text: String) -> Fault {
        Fault {
            script: None,
            line,
            text,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.script {
            Some(script) => write!(f, "{script}, line {}: {}", self.line, self.text),
            None => write!(f, "line {}: {}", self.line, self.text),
        }
    }
}

/// Reads `text`: the experiment if it could be made out, and every mistake, in the order of the lines.
pub(super) fn read(text: &str, scripts: Scripts) -> (Option<Experiment>, Vec<Fault>) {
    let (document, errors) = Document::parse(text);
    let not_toml = |(byte, what)| Fault::at(document.line_of_byte(byte), format!("this is not TOML: {what}"));
    let broken: Vec<Fault> = errors.into_iter().map(not_toml).collect();
    let mut faults = Vec::new();
    let mut experiment = mend::read(&mut document.clone(), &mut faults);
    if let Some(experiment) = &mut experiment {
        experiment.scripts = scripts;
        experiment.text = text.to_string();
        let mut judge = Judge {
            experiment,
            document: &document,
            faults: Vec::new(),
        };
        judge.everything();
        faults.append(&mut judge.faults);
    }
    // What is read out of a broken line is not worth judging.
    let is_broken = |fault: &Fault| {
        broken
            .iter()
            .any(|each| each.line == fault.line && fault.script.is_none())
    };
    faults.retain(|fault| !is_broken(fault) || fault.text.starts_with(mend::WHOLE_FILE));
    faults.extend(broken);
    faults.sort();
    faults.dedup();
    (experiment, faults)
}

/// Looks for what makes no sense in an experiment whose form is right, or was made so.
struct Judge<'e> {
    experiment: &'e Experiment,
    /// As it was written.
    document: &'e Document<'e>,
    faults: Vec<Fault>,
}

impl Judge<'_> {
    fn everything(&mut self) {
        self.empty_lists();
        self.server();
        self.matrix();
        self.scales();
        self.configurations();
        self.scripts();
        self.variables();
        self.checks();
        self.names();
        self.thresholds();
        self.sizes();
    }

    fn note(&mut self, path: &[Part], text: String) {
        self.faults.push(Fault::at(self.document.line(path), text));
    }

    fn empty_lists(&mut self) {
        let experiment = self.experiment;
        for (key, is_empty, example) in [
            ("scale", experiment.scale.is_empty(), "[scale.quick]"),
            (
                "configuration",
                experiment.configuration.is_empty(),
                "[[configuration]]",
            ),
            ("step", experiment.step.is_empty(), "[[step]]"),
        ] {
            if is_empty && self.document.value(&place_of![key]).is_some() {
                self.note(&place_of![key], format!("`{key}` is empty; add at least one {example}"));
            }
        }
    }

    fn server(&mut self) {
        let server = &self.experiment.server;
        self.setting(&place_of!["server", "sql_version"], "sql_version", &server.sql_version);
        self.setting(&place_of!["server", "log_policy"], "log_policy", &server.log_policy);
        for (index, configuration) in self.experiment.configuration.iter().enumerate() {
            let own = &configuration.server;
            for (key, value) in [("sql_version", &own.sql_version), ("log_policy", &own.log_policy)] {
                let place = place_of!["configuration", index, "server", key];
                if let Some(value) = value {
                    self.setting(&place, key, value);
                }
            }
        }
    }

    fn matrix(&mut self) {
        for (key, values) in &self.experiment.matrix {
            let place = place_of!["matrix", key.as_str()];
            if !MATRIX_KEYS.contains(&key.as_str()) {
                self.note(
                    &place,
                    format!("unknown setting `matrix.{key}`; {}", remedy(key, &MATRIX_KEYS)),
                );
                continue;
            }
            if values.is_empty() {
                self.note(&place, format!("`matrix.{key}` is empty; give it at least one value"));
            }
            for (index, value) in values.iter().enumerate() {
                self.setting(&place_of!["matrix", key.as_str(), index], key, value);
            }
        }
    }

    /// A value that the server has to understand.
    fn setting(&mut self, place: &[Part], key: &str, value: &str) {
        if value == mend::MADE_UP {
            return;
        }
        let refused = match key {
            "sql_version" => ServerVersion::from_str(value).err().map(|error| error.to_string()),
            _ => plan::log_policy(value).err().map(|error| error.to_string()),
        };
        if let Some(error) = refused {
            self.note(place, format!("`{key}` cannot be {value:?}: {error}"));
        }
    }

    fn scales(&mut self) {
        for (name, scale) in &self.experiment.scale {
            if scale.runs == 0 {
                let place = place_of!["scale", name.as_str(), "runs"];
                self.note(&place, format!("`scale.{name}.runs` is 0; at least 1 is needed"));
            }
            if scale.runs_modelled == Some(0) {
                let place = place_of!["scale", name.as_str(), "runs_modelled"];
                self.note(
                    &place,
                    format!("`scale.{name}.runs_modelled` is 0; at least 1 is needed"),
                );
            }
            if scale.expected_s.is_nan() || scale.expected_s <= 0.0 {
                let place = place_of!["scale", name.as_str(), "expected_s"];
                self.note(&place, format!("`scale.{name}.expected_s` has to be more than 0"));
            }
        }
    }

    fn configurations(&mut self) {
        let mut seen = BTreeSet::new();
        for (index, configuration) in self.experiment.configuration.iter().enumerate() {
            let name = configuration.name.as_str();
            if !seen.insert(name) && name != mend::MADE_UP {
                let place = place_of!["configuration", index, "name"];
                self.note(
                    &place,
                    format!("a second configuration is named {name:?}; name it otherwise"),
                );
            }
            self.disks(index, configuration);
        }
    }

    fn disks(&mut self, index: usize, configuration: &Configuration) {
        let mut known = disks::names();
        known.push(OWN_DISK);
        for (at, name) in configuration.disks.iter().enumerate() {
            let place = place_of!["configuration", index, "disks", at];
            if !known.contains(&name.as_str()) && name != mend::MADE_UP {
                self.note(&place, format!("no disk is named {name:?}; {}", remedy(name, &known)));
            } else if configuration.disks.iter().take(at).any(|before| before == name) {
                self.note(&place, format!("{name:?} is in this list twice; take one out"));
            }
        }
    }

    fn scripts(&mut self) {
        let experiment = self.experiment;
        for (index, step) in experiment.step.iter().enumerate() {
            let Some(file) = step.file().filter(|file| *file != mend::MADE_UP) else {
                continue;
            };
            if let Err(error) = experiment.scripts.read(file) {
                let known = experiment.scripts.names();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let text = format!("script {file:?}: {error}; {}", remedy(file, &known));
                self.note(&place_of!["step", index, "file"], text);
            }
        }
    }

    /// Names between `$(` and `)` in scripts, steps and log sizes.
    fn variables(&mut self) {
        let experiment = self.experiment;
        for (index, step) in experiment.step.iter().enumerate() {
            let place = place_of!["step", index];
            for (place, text) in self.texts_below(&place) {
                for (_, name) in variables_in(&text) {
                    if let Some(what) = self.undefined(&name, step) {
                        self.note(&place, what);
                    }
                }
            }
            let Some(script) = step.file() else { continue };
            let Ok(text) = experiment.scripts.read(script) else {
                continue;
            };
            for (byte, name) in variables_in(&text) {
                if let Some(what) = self.undefined(&name, step) {
                    self.faults.push(Fault {
                        script: Some(script.to_string()),
                        line: line_of_byte(&text, byte),
                        text: what,
                    });
                }
            }
        }
    }

    /// What is wrong with a variable's name in a step: no scale and configuration has it, or not all of them.
    fn undefined(&self, name: &str, step: &Step) -> Option<String> {
        let is_own = name
            .strip_suffix(')')
            .is_some_and(|name| step.own_variables().contains(&name));
        let configurations = self
            .experiment
            .configuration
            .iter()
            .filter(|each| step.is_for(&each.name));
        let places = configurations.flat_map(|configuration| {
            let scales = self.experiment.scale.iter();
            scales.map(move |(name, scale)| (name.as_str(), configuration, plan::variable_names(scale, configuration)))
        });
        if is_own { None } else { lacking(name, places) }
    }

    /// Every text below a place, as it was written.
    fn texts_below(&self, place: &[Part]) -> Vec<(Vec<Part>, String)> {
        let Some(value) = self.document.value(place) else {
            return Vec::new();
        };
        match value.get_ref() {
            DeValue::String(text) => vec![(place.to_vec(), text.to_string())],
            DeValue::Array(array) => (0..array.len())
                .flat_map(|index| self.texts_below(&[place, &[Part::Index(index)]].concat()))
                .collect(),
            DeValue::Table(table) => table
                .keys()
                .flat_map(|key| self.texts_below(&[place, &[Part::from(key.get_ref().as_ref())]].concat()))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// What a check compares with has to be a number, a variable, or measured before it.
    fn checks(&mut self) {
        let experiment = self.experiment;
        for (index, step) in experiment.step.iter().enumerate() {
            let Step::Check { equals, .. } = step else { continue };
            let before = experiment.step.get(..index).unwrap_or_default();
            let measured: Vec<String> = before.iter().flat_map(Step::measurement_names).collect();
            let is_known = equals.parse::<f64>().is_ok() || equals.contains("$(") || measured.contains(equals);
            if is_known || equals == mend::MADE_UP {
                continue;
            }
            let known: Vec<&str> = measured.iter().map(String::as_str).collect();
            let text = format!(
                "{equals:?} is neither a number nor measured before this check; {}",
                remedy(equals, &known)
            );
            self.note(&place_of!["step", index, "equals"], text);
        }
    }

    /// Names of configurations and of measurements, wherever they are referred to.
    fn names(&mut self) {
        let experiment = self.experiment;
        let mut configurations = Vec::new();
        let mut measures = Vec::new();
        for (index, step) in experiment.step.iter().enumerate() {
            for (at, name) in step.only().iter().enumerate() {
                configurations.push((place_of!["step", index, "only", at], name));
            }
        }
        for (scale_name, scale) in &experiment.scale {
            for (at, name) in scale.only.iter().enumerate() {
                configurations.push((place_of!["scale", scale_name.as_str(), "only", at], name));
            }
        }
        for (index, finding) in experiment.finding.iter().enumerate() {
            configurations.push((place_of!["finding", index, "slow"], &finding.slow));
            configurations.push((place_of!["finding", index, "fast"], &finding.fast));
            measures.push((place_of!["finding", index, "measure"], &finding.measure));
        }
        for (index, chart) in experiment.chart.iter().enumerate() {
            for (at, name) in chart.measures.iter().enumerate() {
                measures.push((place_of!["chart", index, "measures", at], name));
            }
        }
        for (index, each) in experiment
            .published
            .iter()
            .flat_map(|each| &each.configuration)
            .enumerate()
        {
            configurations.push((place_of!["published", "configuration", index, "name"], &each.name));
        }
        for (index, each) in experiment.derived.iter().enumerate() {
            for (key, names) in [("sum", &each.sum), ("less", &each.less)] {
                for (at, name) in names.iter().enumerate() {
                    measures.push((place_of!["derived", index, key, at], name));
                }
            }
        }
        for (index, slope) in experiment.slope.iter().enumerate() {
            measures.push((place_of!["slope", index, "measure"], &slope.measure));
        }
        for (index, threshold) in experiment.threshold.iter().enumerate() {
            measures.push((place_of!["threshold", index, "measure"], &threshold.measure));
        }
        self.references(configurations, measures);
    }

    fn references(&mut self, configurations: Vec<(Vec<Part>, &String)>, measures: Vec<(Vec<Part>, &String)>) {
        let known: Vec<&str> = self
            .experiment
            .configuration
            .iter()
            .map(|each| each.name.as_str())
            .collect();
        for (place, name) in configurations {
            if !known.contains(&name.as_str()) && name != mend::MADE_UP {
                let text = format!("no configuration is named {name:?}; {}", remedy(name, &known));
                self.note(&place, text);
            }
        }
        let known = self.measurements();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        for (place, name) in measures {
            if !known.contains(&name.as_str()) && name != mend::MADE_UP {
                let text = format!("no step measures {name:?}; {}", remedy(name, &known));
                self.note(&place, text);
            }
        }
    }

    /// What the steps measure, also those whose kind is mistaken.
    fn measurements(&self) -> Vec<String> {
        let mut known = self.experiment.measurement_names();
        for index in 0..self.experiment.step.len() {
            let written = self.document.value(&place_of!["step", index, "measure"]);
            if let Some(name) = written.and_then(|value| value.get_ref().as_str())
                && !known.iter().any(|each| each == name)
            {
                known.push(name.to_string());
            }
        }
        known
    }

    fn thresholds(&mut self) {
        let experiment = self.experiment;
        let names = self.names_with_matrix();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        for (index, threshold) in experiment.threshold.iter().enumerate() {
            let place = place_of!["threshold", index];
            match (threshold.min, threshold.max) {
                (None, None) => self.note(&place, "`threshold` limits nothing; add max = ... or min = ...".into()),
                (Some(min), Some(max)) if min > max => {
                    self.note(
                        &place,
                        format!("`threshold` can never be kept: min {min} is more than max {max}"),
                    );
                }
                _ => {}
            }
            let referred = [
                ("configuration", Some(&threshold.configuration)),
                ("ratio_to", threshold.ratio_to.as_ref()),
            ];
            for (key, name) in referred {
                let Some(name) = name.filter(|name| !known.contains(&name.as_str()) && *name != mend::MADE_UP) else {
                    continue;
                };
                let text = format!("no configuration is named {name:?}; {}", remedy(name, &known));
                self.note(&place_of!["threshold", index, key], text);
            }
        }
    }

    /// `bad`, and `bad-classic` for each choice of the matrix.
    fn names_with_matrix(&self) -> Vec<String> {
        let bases = self.experiment.configuration.iter().map(|each| each.name.clone());
        let combined = plan::names(self.experiment);
        bases.chain(combined).collect()
    }

    /// Each size of each log at each scale; if they are sizes, whether such a log can be.
    fn sizes(&mut self) {
        let experiment = self.experiment;
        for (index, configuration) in experiment.configuration.iter().enumerate() {
            let place = place_of!["configuration", index, "log"];
            let before = self.faults.len();
            for (place, text) in self.texts_below(&place) {
                self.size(&place, &text, configuration);
            }
            if self.faults.len() > before || !self.is_whole(&place) {
                continue;
            }
            let version = ServerVersion::from_str(&experiment.server.sql_version).unwrap_or(ServerVersion::V2022);
            let refused = experiment.scale.iter().find_map(|(name, scale)| {
                let error = plan::check_log(configuration, scale, version).err()?;
                Some(format!("at scale {name:?} no log can have these sizes: {error}"))
            });
            if let Some(text) = refused {
                self.note(&place, text);
            }
        }
    }

    fn size(&mut self, place: &[Part], text: &str, configuration: &Configuration) {
        let known = |scale: &Scale| {
            let mut known = scale.variables.clone();
            known.extend(configuration.variables.clone());
            known
        };
        let scales = &self.experiment.scale;
        for (_, name) in variables_in(text) {
            let places = scales
                .iter()
                .map(|(scale_name, scale)| (scale_name.as_str(), configuration, known(scale).into_keys().collect()));
            if let Some(what) = lacking(&name, places) {
                return self.note(place, what);
            }
        }
        let refused = scales.values().find_map(|scale| {
            let text = plan::substitute(text, &known(scale)).ok()?;
            plan::growth_of(&text).err()
        });
        if let Some(error) = refused {
            self.note(place, error.to_string());
        }
    }

    /// Whether the log's table was written with all it needs.
    fn is_whole(&self, place: &[Part]) -> bool {
        let has = |key: &str| self.document.value(&[place, &[Part::from(key)]].concat()).is_some();
        has("start") && has("growth")
    }
}

/// What is wrong with a variable's name, which ends with `)`, given the names known at each scale in each configuration.
fn lacking<'e>(
    name: &str,
    places: impl Iterator<Item = (&'e str, &'e Configuration, BTreeSet<String>)>,
) -> Option<String> {
    let Some(name) = name.strip_suffix(')') else {
        return Some("a $( has no closing parenthesis; write $(name)".into());
    };
    let mut known = BTreeSet::new();
    let mut lacking = None;
    for (scale, configuration, here) in places {
        if !here.contains(name) {
            lacking = Some((scale, &configuration.name));
        }
        known.extend(here);
    }
    let (scale, configuration) = lacking?;
    if known.contains(name) {
        return Some(format!(
            "$({name}) has no value at scale {scale:?} in configuration {configuration:?}; add it to that scale's variables"
        ));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Some(format!("$({name}) is not defined; {}", remedy(name, &known)))
}

/// The names behind each `$(` with the byte they are at; each ends with its `)`, unless that is missing.
fn variables_in(text: &str) -> Vec<(usize, String)> {
    text.match_indices("$(")
        .map(|(byte, _)| {
            let after = text.get(byte + 2..).unwrap_or_default();
            let end = after.find(')').map_or(after.len(), |end| end + 1);
            (byte, after.get(..end).unwrap_or_default().to_string())
        })
        .collect()
}
