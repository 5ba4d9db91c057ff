//! From a sweep's file to the list of its configurations, each with its name.
//!
//! The name is the first half of the SHA-256 of everything that decides the results: what the rows show of the configuration, the steps and
//! their scripts, variables, log and server settings, the whole text of the disk, the number of runs, and the program's version. A name is
//! the same whatever else is in the sweep, so a sweep that grows keeps what it has.
//!
//! The order is that of the file: experiments, scales, sizes, configurations, mechanisms and versions, disks.

use super::file::{ALL_MODELLED, Layout, SweepError, SweepFile};
use crate::catalogue;
use crate::disks::{self, DiskDescription};
use crate::experiment::{Configuration, Experiment, OWN_DISK, Scale, ServerKind, Step};
use crate::plan::{self, Setup};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// What rows show of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    pub experiment: String,
    pub scale: String,
    /// The variables that the sweep varies: `rows=1000`; empty when it varies none.
    pub size: String,
    /// Name of the experiment's configuration, or of the sweep's layout.
    pub layout: String,
    pub sql_version: String,
    pub log_policy: String,
    /// A modelled disk's name, or [`OWN_DISK`].
    pub disk: String,
}

/// One configuration.
#[derive(Debug, Clone)]
pub struct Planned {
    /// 32 hexadecimal digits.
    pub name: String,
    pub labels: Labels,
    /// Whether the machine is part of the result: its disk, or its processor's time.
    pub is_measured: bool,
    pub runs: usize,
    pub vlf_count_predicted: usize,
    /// Seconds it takes on an ordinary machine, as its experiment expects.
    pub expected_s: f64,
    part: usize,
    configuration: usize,
    disk: usize,
}

/// Everything that a sweep runs.
#[derive(Debug, Clone)]
pub struct Plan {
    pub file: SweepFile,
    pub configurations: Vec<Planned>,
    parts: Vec<Part>,
    disks: Vec<Option<DiskDescription>>,
}

/// An experiment at one scale and size.
#[derive(Debug, Clone)]
struct Part {
    experiment: Experiment,
    scale: Scale,
    scale_name: String,
    size: String,
    expected_s: f64,
}

/// More would be a slip of the pen: a year of a hundred processors.
const CONFIGURATIONS_MAX: usize = 1_000_000;

impl Plan {
    /// Plans the sweep of a file.
    ///
    /// # Errors
    /// Every experiment, disk, scale, variable, version or configuration that is not there, and what modelled disks cannot run.
    pub fn load(path: &Path) -> Result<Plan, SweepError> {
        let file = SweepFile::load(path)?;
        let mut mistakes = Vec::new();
        let disks = all_disks(&file, path, &mut mistakes);
        let mut parts = Vec::new();
        for name in &file.experiments {
            match catalogue::load(&SweepFile::beside(path, name)) {
                Ok(experiment) => add_parts(&file, &experiment, &mut parts, &mut mistakes),
                Err(error) => mistakes.push(error.to_string()),
            }
        }
        let has_modelled = disks.iter().any(Option::is_some);
        let clients = |part: &&Part| {
            part.experiment
                .step
                .iter()
                .any(|step| matches!(step, Step::Clients { .. }))
        };
        if let Some(part) = parts.iter().find(clients).filter(|_| has_modelled) {
            mistakes.push(format!(
                "{} has several clients at once, and the time of a modelled disk is that of one session: it is not run there",
                part.experiment.name
            ));
        }
        if !mistakes.is_empty() {
            return Err(SweepError(mistakes));
        }
        let mut plan = Plan {
            file,
            configurations: Vec::new(),
            parts,
            disks,
        };
        plan.fill()?;
        Ok(plan)
    }

    fn fill(&mut self) -> Result<(), SweepError> {
        let mut mistakes = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            let setups = match plan::setups(&part.experiment, &part.scale) {
                Ok(setups) => setups,
                Err(error) => {
                    mistakes.push(format!("{}: {error}", part.experiment.name));
                    continue;
                }
            };
            if setups.len().saturating_mul(self.disks.len()) + self.configurations.len() > CONFIGURATIONS_MAX {
                return Err(SweepError::of("more than 1,000,000 configurations"));
            }
            for setup in setups {
                let place = part
                    .experiment
                    .configuration
                    .iter()
                    .position(|each| each.name == setup.base);
                for disk in 0..self.disks.len() {
                    let planned = self.planned(part, &setup, (index, place.unwrap_or_default(), disk));
                    self.configurations.push(planned);
                }
            }
        }
        match mistakes.is_empty() {
            true => Ok(()),
            false => Err(SweepError(mistakes)),
        }
    }

    fn planned(&self, part: &Part, setup: &Setup, (index, configuration, disk): (usize, usize, usize)) -> Planned {
        let modelled = self.disks.get(disk).and_then(Option::as_ref);
        let is_measured = modelled.is_none() || self.file.processor_time;
        let labels = Labels {
            experiment: part.experiment.name.clone(),
            scale: part.scale_name.clone(),
            size: part.size.clone(),
            layout: setup.base.clone(),
            sql_version: setup.version.to_string(),
            log_policy: setup.log_policy.clone(),
            disk: modelled.map_or(OWN_DISK.to_owned(), |disk| disk.name.clone()),
        };
        let runs = match is_measured {
            true => self.file.runs.map_or(part.scale.runs, usize::from),
            false => 1,
        };
        Planned {
            name: name(part, setup, &labels, modelled, (runs, is_measured)),
            labels,
            is_measured,
            runs,
            vlf_count_predicted: setup.vlf_count_predicted,
            expected_s: part.expected_s * runs as f64,
            part: index,
            configuration,
            disk,
        }
    }

    /// Whether any configuration is measured.
    pub fn has_measured(&self) -> bool {
        self.configurations.iter().any(|planned| planned.is_measured)
    }

    /// The experiment that has this configuration alone, and the disk it runs on.
    pub fn experiment_of(&self, planned: &Planned) -> Option<(Experiment, Option<&DiskDescription>)> {
        let part = self.parts.get(planned.part)?;
        let mut experiment = part.experiment.clone();
        experiment.configuration = vec![part.experiment.configuration.get(planned.configuration)?.clone()];
        let labels = &planned.labels;
        let chosen = |key: &str, value: &str, matrix: &mut BTreeMap<String, Vec<String>>| {
            if let Some(values) = matrix.get_mut(key) {
                values.retain(|each| is_same(key, each, value));
            }
        };
        chosen("sql_version", &labels.sql_version, &mut experiment.matrix);
        chosen("log_policy", &labels.log_policy, &mut experiment.matrix);
        let mut scale = part.scale.clone();
        scale.only.clear();
        experiment.scale = BTreeMap::from([(labels.scale.clone(), scale)]);
        Some((experiment, self.disks.get(planned.disk)?.as_ref()))
    }
}

/// Whether a value of a matrix is the one that a label shows.
fn is_same(key: &str, value: &str, label: &str) -> bool {
    let version = |text: &str| text.parse::<vlf::ServerVersion>().ok();
    match key {
        "sql_version" => version(value) == version(&label.replace(' ', "")),
        _ => value == label,
    }
}

fn all_disks(file: &SweepFile, path: &Path, mistakes: &mut Vec<String>) -> Vec<Option<DiskDescription>> {
    let mut all: Vec<Option<DiskDescription>> = Vec::new();
    let mut add = |disk: Option<DiskDescription>, mistakes: &mut Vec<String>| {
        let name = |disk: &Option<DiskDescription>| disk.as_ref().map(|disk| disk.name.clone());
        match all.iter().find(|known| name(known) == name(&disk)) {
            Some(known) if *known == disk => {}
            Some(_) => mistakes.push(format!("two disks are named {}", name(&disk).unwrap_or_default())),
            None => all.push(disk),
        }
    };
    for named in &file.disks {
        match named.as_str() {
            OWN_DISK => add(None, mistakes),
            ALL_MODELLED => {
                for name in disks::names() {
                    match disks::load(name) {
                        Ok(disk) => add(Some(disk), mistakes),
                        Err(error) => mistakes.push(error.to_string()),
                    }
                }
            }
            named => match disks::load(&SweepFile::beside(path, named)) {
                Ok(disk) => add(Some(disk), mistakes),
                Err(error) => mistakes.push(error.to_string()),
            },
        }
    }
    all
}

/// The experiment at each scale and size, with the sweep's dimensions in place of its own.
fn add_parts(file: &SweepFile, experiment: &Experiment, parts: &mut Vec<Part>, mistakes: &mut Vec<String>) {
    let mut adapted = experiment.on(ServerKind::Own);
    for (key, values) in [("sql_version", &file.sql_versions), ("log_policy", &file.log_policies)] {
        if !values.is_empty() {
            adapted.matrix.insert(key.to_owned(), values.clone());
        }
    }
    // What compares configurations has nothing to compare in a run of one; the sweep's report compares.
    (adapted.finding, adapted.chart, adapted.slope) = (Vec::new(), Vec::new(), Vec::new());
    (adapted.threshold, adapted.published) = (Vec::new(), None);
    let unknown = file
        .only
        .iter()
        .filter(|name| !experiment.configuration.iter().any(|each| each.name == **name));
    mistakes.extend(unknown.map(|name| format!("{} has no configuration {name:?}", experiment.name)));
    if !file.only.is_empty() {
        adapted.configuration.retain(|each| file.only.contains(&each.name));
    }
    if !file.layout.is_empty() {
        mistakes.extend(put_layouts(&mut adapted, &file.layout).err());
    }
    for configuration in &mut adapted.configuration {
        configuration.disks.clear();
    }
    for name in &file.scales {
        let Some(scale) = experiment.scale.get(name) else {
            mistakes.push(format!("{} has no scale {name:?}", experiment.name));
            continue;
        };
        let all_in_it = plan::setups(experiment, scale).map_or(1, |setups| setups.len().max(1));
        let expected_s = scale.expected_s / (all_in_it * scale.runs.max(1)) as f64;
        for (size, variables) in sizes(&file.variables) {
            let mut scale = scale.clone();
            for (name, value) in &variables {
                if !is_variable(&scale, &adapted.configuration, name) {
                    mistakes.push(format!(
                        "{} has no variable {name:?} at scale {}",
                        experiment.name, name
                    ));
                }
                scale.variables.insert(name.clone(), value.clone());
            }
            if !file.layout.is_empty() || !file.only.is_empty() {
                scale.only.clear();
            }
            parts.push(Part {
                experiment: adapted.clone(),
                scale,
                scale_name: name.clone(),
                size,
                expected_s,
            });
        }
    }
}

fn is_variable(scale: &Scale, configurations: &[Configuration], name: &str) -> bool {
    scale.variables.contains_key(name) && !configurations.iter().any(|each| each.variables.contains_key(name))
}

/// Puts the sweep's layouts in place of the experiment's configurations. A step that is for some configurations is for the layouts like them.
fn put_layouts(experiment: &mut Experiment, layouts: &[Layout]) -> Result<(), String> {
    let mut configurations = Vec::new();
    for layout in layouts {
        let like = match &layout.like {
            Some(name) => experiment.configuration.iter().find(|each| each.name == *name),
            None => experiment.configuration.first(),
        };
        let like = like.ok_or_else(|| {
            let named = layout.like.as_deref().unwrap_or_default();
            format!(
                "{} has no configuration {named:?}, which layout {} is to be like",
                experiment.name, layout.name
            )
        })?;
        let like_name = like.name.clone();
        configurations.push(Configuration {
            name: layout.name.clone(),
            title: if layout.title.is_empty() {
                layout.name.clone()
            } else {
                layout.title.clone()
            },
            log: layout.log.clone(),
            ..like.clone()
        });
        for step in &mut experiment.step {
            if let Step::Sql { only, .. } | Step::Check { only, .. } = step
                && only.contains(&like_name)
                && !only.contains(&layout.name)
            {
                only.push(layout.name.clone());
            }
        }
    }
    experiment.configuration = configurations;
    Ok(())
}

/// Every combination of the values, with its words.
fn sizes(variables: &BTreeMap<String, Vec<String>>) -> Vec<(String, Vec<(String, String)>)> {
    let combinations = variables.iter().fold(vec![Vec::new()], |all, (name, values)| {
        let longer = |known: &Vec<(String, String)>, value: &String| {
            let mut known = known.clone();
            known.push((name.clone(), value.clone()));
            known
        };
        all.iter()
            .flat_map(|known| values.iter().map(move |value| longer(known, value)))
            .collect()
    });
    let words = |chosen: &Vec<(String, String)>| {
        let words: Vec<String> = chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.join(" ")
    };
    combinations
        .into_iter()
        .map(|chosen| (words(&chosen), chosen))
        .collect()
}

fn name(part: &Part, setup: &Setup, labels: &Labels, disk: Option<&DiskDescription>, run: (usize, bool)) -> String {
    let experiment = &part.experiment;
    let steps: Vec<&Step> = experiment.step.iter().filter(|step| step.is_for(&setup.base)).collect();
    let scripts: Vec<String> = steps
        .iter()
        .filter_map(|step| step.file())
        .map(|file| experiment.scripts.read(file).unwrap_or_default())
        .collect();
    let only_of_names = |step: &&Step| {
        let mut step = (*step).clone();
        if let Step::Sql { only, .. } | Step::Check { only, .. } = &mut step {
            only.clear();
        }
        step
    };
    let steps: Vec<Step> = steps.iter().map(only_of_names).collect();
    let decides = [
        env!("CARGO_PKG_VERSION").to_owned(),
        format!("{labels:?}"),
        experiment.database.clone(),
        format!("{steps:?}"),
        format!("{:?}", experiment.derived),
        format!("{scripts:?}"),
        format!("{:?}", setup.settings()),
        format!("{:?}", (setup.max_server_memory_mb, &setup.log)),
        disk.map_or(String::new(), |disk| disk.text.clone()),
        format!("{run:?}"),
    ];
    digest(&decides)
}

/// The first half of the SHA-256 of texts, each behind its length.
pub fn digest<T: AsRef<str>>(texts: &[T]) -> String {
    const HALF_BYTES: usize = 16;
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.as_ref().len() as u64).to_le_bytes());
        hasher.update(text.as_ref().as_bytes());
    }
    hasher
        .finalize()
        .iter()
        .take(HALF_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
