//! Folders of a sweep's results, put together: what was planned, what is there, what is missing.
//!
//! Which folder or shard a file comes from leaves no trace: the same files give the same bytes of every report.
//!
//! | two files of one name | |
//! |---|---|
//! | with the same bytes | count once |
//! | that differ, modelled | damaged: a configuration has one result |
//! | that differ, measured | runs of two machines of one class; all of them count |

use super::folder;
use super::plan::{Labels, Plan, digest};
use super::rows::{self, Found};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

    /// Writes it, unless it is there.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self).expect("texts always have a JSON form") + "\n";
        let name = format!("{MANIFEST_PREFIX}{}.json", digest(&[&text]));
        match folder.join(&name).exists() {
            true => Ok(()),
            false => folder::write_whole(folder, &name, &text),
        }
    }
}

/// Everything that folders have.
#[derive(Debug, Default)]
pub struct Merged {
    /// In the order of their texts.
    pub manifests: Vec<Manifest>,
    /// By labels and machine.
    pub found: Vec<Found>,
    /// What was planned and has no results, by labels.
    pub missing: Vec<ManifestEntry>,
}

/// Why folders cannot be put together.
#[derive(Debug)]
pub enum MergeError {
    Io(PathBuf, io::Error),
    /// Files that are not what they were, each with what is wrong.
    Damaged(Vec<String>),
    /// There are no results.
    Nothing(PathBuf),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Io(path, error) => write!(f, "{}: {error}", path.display()),
            MergeError::Damaged(files) => write!(
                f,
                "damaged: {}\n        copy them again; or delete them, and run the sweep again",
                files.join("\n        damaged: ")
            ),
            MergeError::Nothing(path) => write!(
                f,
                "{} has no results of a sweep; 'vlflab sweep FILE.toml --out DIR' writes them",
                path.display()
            ),
        }
    }
}

impl std::error::Error for MergeError {}

/// Results under the name of their file: their text's digest, so that the same counts once, and the results.
type ByName = BTreeMap<String, BTreeMap<String, Found>>;

/// Puts folders together.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(folders: &[PathBuf]) -> Result<Merged, MergeError> {
    let mut manifests: BTreeMap<String, Manifest> = BTreeMap::new();
    let mut by_name = ByName::new();
    let mut damaged = Vec::new();
    for folder in folders {
        let before = by_name.len() + manifests.len();
        read_folder(folder, &mut manifests, &mut by_name, &mut damaged)?;
        let is_known = by_name.len() + manifests.len() > before || holds_any(folder)?;
        if !is_known && damaged.is_empty() {
            return Err(MergeError::Nothing(folder.clone()));
        }
    }
    let mut found = Vec::new();
    for (name, takes) in by_name {
        if takes.len() > 1 && takes.values().any(|take| take.machine.is_none()) {
            damaged.push(format!("{name}: two folders have different results of it"));
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

fn names(folder: &Path) -> Result<Vec<String>, MergeError> {
    let at = |error| MergeError::Io(folder.to_path_buf(), error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(at)? {
        names.push(entry.map_err(at)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn holds_any(folder: &Path) -> Result<bool, MergeError> {
    Ok(names(folder)?.iter().any(|name| is_results(name) || is_manifest(name)))
}

fn read_folder(
    folder: &Path,
    manifests: &mut BTreeMap<String, Manifest>,
    by_name: &mut ByName,
    damaged: &mut Vec<String>,
) -> Result<(), MergeError> {
    for name in names(folder)? {
        let path = folder.join(&name);
        if !is_results(&name) && !is_manifest(&name) {
            continue;
        }
        let bytes_max = match is_manifest(&name) {
            true => MANIFEST_BYTES_MAX,
            false => folder::RESULTS_BYTES_MAX,
        };
        let text = match folder::read_text(&path, bytes_max) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                damaged.push(format!("{}: {error}", path.display()));
                continue;
            }
            Err(error) => return Err(MergeError::Io(path, error)),
        };
        if is_manifest(&name) {
            match serde_json::from_str(&text) {
                Ok(manifest) => drop(manifests.insert(text, manifest)),
                Err(error) => damaged.push(format!("{}: {error}", path.display())),
            }
            continue;
        }
        match Found::parse(&text) {
            Ok(found) if rows::file_name(&found.configuration, found.machine.as_deref()) != name => {
                damaged.push(format!(
                    "{}: it has the results of another configuration",
                    path.display()
                ));
            }
            Ok(found) => drop(by_name.entry(name).or_default().insert(digest(&[&text]), found)),
            Err(why) => damaged.push(format!("{}: {why}", path.display())),
        }
    }
    Ok(())
}
