//! Places of a sweep's results, put together: what was planned, what is there, what is missing.
//!
//! Which place or shard a file comes from leaves no trace: the same files give the same bytes of every report.
//!
//! | two files of one name | |
//! |---|---|
//! | with the same bytes | count once |
//! | that differ, modelled | damaged: a configuration has one result |
//! | that differ, measured | runs of two machines of one class; all of them count |

use super::folder;
use super::place::{self, Place};
use super::plan::{Labels, Plan, digest};
use super::rows::{self, Found};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

/// What was planned: `sweep-DIGEST.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub sweep: String,
    pub title: String,
    pub program: String,
    pub configurations: Vec<ManifestEntry>,
}

/// A configuration that was planned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ManifestEntry {
    pub configuration: String,
    pub experiment: String,
    pub scale: String,
    pub size: String,
    pub layout: String,
    pub sql_version: String,
    pub log_policy: String,
    pub disk: String,
}

const MANIFEST_PREFIX: &str = "sweep-";
/// A million configurations have half of it.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

impl Manifest {
    pub fn of(plan: &Plan) -> Manifest {
        let entries = plan.configurations.iter().map(|planned| {
            let Labels {
                experiment,
                scale,
                size,
                layout,
                sql_version,
                log_policy,
                disk,
            } = planned.labels.clone();
            ManifestEntry {
                configuration: planned.name.clone(),
                experiment,
                scale,
                size,
                layout,
                sql_version,
                log_policy,
                disk,
            }
        });
        Manifest {
            sweep: plan.file.name.clone(),
            title: plan.file.title.clone(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            configurations: entries.collect(),
        }
    }

    /// Writes it, unless it is among the files that are there.
    ///
    /// # Errors
    /// The place cannot be written.
    pub fn write(&self, place: &dyn Place, there: &BTreeSet<String>) -> io::Result<()> {
        let text = serde_json::to_string(self).expect("texts always have a JSON form") + "\n";
        let name = format!("{MANIFEST_PREFIX}{}.json", digest(&[&text]));
        match there.contains(&name) {
            true => Ok(()),
            false => place.write(&name, &text),
        }
    }
}

/// Everything that places have.
#[derive(Debug, Default)]
pub struct Merged {
    /// In the order of their texts.
    pub manifests: Vec<Manifest>,
    /// By labels and machine.
    pub found: Vec<Found>,
    /// What was planned and has no results, by labels.
    pub missing: Vec<ManifestEntry>,
}

/// Why places cannot be put together.
#[derive(Debug)]
pub enum MergeError {
    /// A place or file, and why it cannot be read.
    Io(String, io::Error),
    /// Files that are not what they were, each with what is wrong.
    Damaged(Vec<String>),
    /// There are no results.
    Nothing(String),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Io(path, error) => write!(f, "{path}: {error}"),
            MergeError::Damaged(files) => write!(
                f,
                "damaged: {}\n        copy them again; or delete them, and run the sweep again",
                files.join("\n        damaged: ")
            ),
            MergeError::Nothing(path) => write!(
                f,
                "{path} has no results of a sweep; 'vlflab sweep FILE.toml --out DIR' writes them"
            ),
        }
    }
}

impl std::error::Error for MergeError {}

/// Results under the name of their file: their text's digest, so that the same counts once, and the results.
type ByName = BTreeMap<String, BTreeMap<String, Found>>;

/// Puts places together.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(places: &[Box<dyn Place>]) -> Result<Merged, MergeError> {
    let mut manifests: BTreeMap<String, Manifest> = BTreeMap::new();
    let mut by_name = ByName::new();
    let mut damaged = Vec::new();
    for place in places {
        let names = names(place.as_ref())?;
        if names.is_empty() {
            return Err(MergeError::Nothing(place.to_string()));
        }
        read_place(place.as_ref(), &names, &mut manifests, &mut by_name, &mut damaged)?;
    }
    let mut found = Vec::new();
    for (name, takes) in by_name {
        if takes.len() > 1 && takes.values().any(|take| take.machine.is_none()) {
            damaged.push(format!("{name}: two places have different results of it"));
        }
        let mut takes = takes.into_values();
        if let Some(mut first) = takes.next() {
            takes.for_each(|other| first.add_runs(&other));
            found.push(first);
        }
    }
    if !damaged.is_empty() {
        return Err(MergeError::Damaged(damaged));
    }
    found.sort_by(|left, right| order(left).cmp(&order(right)));
    let known: BTreeSet<&str> = found.iter().map(|found| found.configuration.as_str()).collect();
    let mut missing: Vec<ManifestEntry> = manifests
        .values()
        .flat_map(|manifest| &manifest.configurations)
        .filter(|entry| !known.contains(entry.configuration.as_str()))
        .cloned()
        .collect();
    missing.sort();
    missing.dedup();
    Ok(Merged {
        manifests: manifests.into_values().collect(),
        found,
        missing,
    })
}

fn order(found: &Found) -> (&Labels, &Option<String>, &str) {
    (&found.labels, &found.machine, &found.configuration)
}

fn is_results(name: &str) -> bool {
    name.ends_with(".jsonl") && !name.starts_with('.')
}

fn is_manifest(name: &str) -> bool {
    name.starts_with(MANIFEST_PREFIX) && name.ends_with(".json")
}

/// The files of results and the plans of a place.
fn names(place: &dyn Place) -> Result<Vec<String>, MergeError> {
    let names = place
        .names()
        .map_err(|error| MergeError::Io(place.to_string(), error))?;
    let mut names: Vec<String> = names
        .into_iter()
        .filter(|name| is_results(name) || is_manifest(name))
        .collect();
    names.sort();
    Ok(names)
}

/// How many files are in memory as text at once.
const FILES_AT_ONCE: usize = 256;

fn read_place(
    place: &dyn Place,
    names: &[String],
    manifests: &mut BTreeMap<String, Manifest>,
    by_name: &mut ByName,
    damaged: &mut Vec<String>,
) -> Result<(), MergeError> {
    let (plans, results): (Vec<String>, Vec<String>) = names.iter().cloned().partition(|name| is_manifest(name));
    for (name, text) in place::read_all(place, &plans, MANIFEST_BYTES_MAX) {
        let Some(text) = whole(place, name, text, damaged)? else {
            continue;
        };
        match serde_json::from_str(&text) {
            Ok(manifest) => drop(manifests.insert(text, manifest)),
            Err(error) => damaged.push(format!("{}: {error}", place::file_in(place, name))),
        }
    }
    for some in results.chunks(FILES_AT_ONCE) {
        for (name, text) in place::read_all(place, some, folder::RESULTS_BYTES_MAX) {
            let Some(text) = whole(place, name, text, damaged)? else {
                continue;
            };
            match parse(name, &text) {
                Ok(found) => {
                    let takes = by_name.entry(name.to_owned()).or_default();
                    takes.insert(digest(&[&text]), found);
                }
                Err(why) => damaged.push(format!("{}: {why}", place::file_in(place, name))),
            }
        }
    }
    Ok(())
}

fn parse(name: &str, text: &str) -> Result<Found, String> {
    let found = Found::parse(text)?;
    match rows::file_name(&found.configuration, found.machine.as_deref()) == name {
        true => Ok(found),
        false => Err("it has the results of another configuration".to_owned()),
    }
}

/// The text of a file; none where it is damaged, which is noted.
fn whole(
    place: &dyn Place,
    name: &str,
    text: io::Result<String>,
    damaged: &mut Vec<String>,
) -> Result<Option<String>, MergeError> {
    match text {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            damaged.push(format!("{}: {error}", place::file_in(place, name)));
            Ok(None)
        }
        Err(error) => Err(MergeError::Io(place::file_in(place, name), error)),
    }
}
