//! The built-in experiments, and those of users.

use crate::experiment::{Experiment, ExperimentError, Fault};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where an experiment's scripts are.
#[derive(Debug, Clone, Default)]
pub enum Scripts {
    /// In the program.
    #[default]
    BuiltIn,
    /// In a folder: the one the TOML file is in.
    Folder(PathBuf),
    /// Their texts by name, as a results file keeps them.
    Texts(BTreeMap<String, String>),
}

/// One experiment of the program: name, TOML, and its scripts by name.
struct BuiltIn {
    name: &'static str,
    toml: &'static str,
    scripts: &'static [(&'static str, &'static str)],
}

/// Made by the build script from the folder `experiments`.
const EXPERIMENTS: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// What `vlflab run` does when no experiment is named, in this order.
///
/// It has two minutes and answers three questions. `published`: what do the published numbers of VLFs cost? Growths, startup, the way
/// through the VLFs and the log backup are executed at those numbers, on the model of a disk like the published one, where waiting
/// takes no time, and on this machine's disk, three times, as far as a few GB have room for them. `dml`: what does work on rows cost,
/// while a small log grows? At a tenth of the published rows, marked so, and never reckoned up to the published size. `accelerated`: what
/// does a forgotten transaction do to the log, and what with accelerated recovery?
const DEFAULT_RUN: [&str; 3] = ["published", "dml", "accelerated"];
/// The same at full scale, where time does not matter: the reproductions of published experiments as they were published, row by row.
const DEFAULT_RUN_FULL: [&str; 6] = ["published", "growth", "dml", "recovery", "accelerated", "backup"];
/// What is run along with an experiment that is named: the scenario of `recovery` in a database with ACCELERATED_DATABASE_RECOVERY, an
/// option of the database and not a log policy.
const ALONG: [(&str, &str); 1] = [("recovery", "accelerated")];

impl Scripts {
    /// The text of a script.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    pub fn read(&self, file: &str) -> Result<String, String> {
        match self {
            Scripts::BuiltIn => {
                let mut all = EXPERIMENTS.iter().flat_map(|each| each.scripts);
                let found = all.find(|(name, _)| *name == file);
                found
                    .map(|(_, text)| text.to_string())
                    .ok_or_else(|| "no such script in the program".to_string())
            }
            Scripts::Texts(texts) => texts
                .get(file)
                .cloned()
                .ok_or_else(|| "no such script in the results".to_string()),
            Scripts::Folder(folder) => {
                let path = folder.join(file);
                std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))
            }
        }
    }
}

impl Scripts {
    /// The names that [`Scripts::read`] knows; in a folder, those of its T-SQL files and of its folders'.
    pub fn names(&self) -> Vec<String> {
        match self {
            Scripts::BuiltIn => {
                let all = EXPERIMENTS.iter().flat_map(|each| each.scripts);
                all.map(|(name, _)| name.to_string()).collect()
            }
            Scripts::Texts(texts) => texts.keys().cloned().collect(),
            Scripts::Folder(folder) => {
                let mut names = sql_files(folder);
                for inner in entries(folder).filter(|path| path.is_dir()) {
                    names.extend(sql_files(&inner));
                }
                let relative = names.iter().filter_map(|path| path.strip_prefix(folder).ok());
                relative.map(|path| path.display().to_string()).collect()
            }
        }
    }
}

/// What is in a folder; nothing when it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten();
    read.filter_map(Result::ok).map(|entry| entry.path())
}

fn sql_files(folder: &Path) -> Vec<PathBuf> {
    entries(folder)
        .filter(|path| path.extension().is_some_and(|kind| kind == "sql"))
        .collect()
}

/// Names of the experiments in the program: the reproductions of published ones first.
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    let others = EXPERIMENTS.iter().map(|each| each.name);
    for name in DEFAULT_RUN_FULL.into_iter().chain(others) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Names of the experiments that `vlflab run` does at a scale when none is named.
pub fn default_run(scale: &str) -> &'static [&'static str] {
    match scale {
        "full" => &DEFAULT_RUN_FULL,
        _ => &DEFAULT_RUN,
    }
}

/// The experiments named, each with what is run along with it, and none twice.
pub fn with_companions<'a>(named: &[&'a str]) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for name in named {
        let along = ALONG.iter().filter(|(leader, _)| leader == name);
        for each in std::iter::once(*name).chain(along.map(|(_, companion)| *companion)) {
            if !all.contains(&each) {
                all.push(each);
            }
        }
    }
    all
}

/// Whether an experiment is one that is run along with another. These need what servers have from SQL Server 2019 on.
pub fn is_companion(name: &str) -> bool {
    ALONG.iter().any(|(_, companion)| *companion == name)
}

/// Finds an experiment: by name in the program, or a TOML file of the user's.
///
/// # Errors
/// An unknown name (with the nearest known ones), a file that cannot be read, or an experiment with mistakes.
pub fn load(name_or_file: &str) -> Result<Experiment, ExperimentError> {
    if let Some(found) = EXPERIMENTS.iter().find(|each| each.name == name_or_file) {
        return Experiment::parse(found.toml, Scripts::BuiltIn);
    }
    let path = Path::new(name_or_file);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(ExperimentError(unknown(name_or_file)));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| ExperimentError(format!("cannot read {}: {error}", path.display())))?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_path_buf();
    match Experiment::read(&text, Scripts::Folder(folder)) {
        (Some(experiment), faults) if faults.is_empty() => Ok(experiment),
        (_, faults) => Err(ExperimentError(told(path, &faults))),
    }
}

fn told(path: &Path, faults: &[Fault]) -> String {
    let count = match faults.len() {
        1 => "1 mistake".to_string(),
        many => format!("{many} mistakes"),
    };
    let lines: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    format!("{} has {count}:{lines}", path.display())
}

fn unknown(name: &str) -> String {
    let near = nearest(name, &names());
    format!(
        "no experiment is named '{name}'. Did you mean {}? Your own experiment is named by its file, ending in .toml.",
        near.join(" or ")
    )
}

/// The known names nearest to `name`, nearest first: at most three, and at least one.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut ranked: Vec<(usize, &str)> = known
        .iter()
        .map(|each| (edit_distance(&name.to_lowercase(), each), *each))
        .collect();
    ranked.sort_unstable();
    let best = ranked.first().map_or(0, |(distance, _)| *distance);
    ranked
        .into_iter()
        .take_while(|(distance, _)| *distance <= best + 1)
        .take(3)
        .map(|(_, each)| each)
        .collect()
}

/// The hint for `name` where one of `known` belongs: the nearest ones if they are near, else all.
pub fn remedy(name: &str, known: &[&str]) -> String {
    let distance = |each: &str| edit_distance(&name.to_lowercase(), &each.to_lowercase());
    let best = known.iter().map(|each| distance(each)).min().unwrap_or_default();
    let is_near = best <= (name.chars().count() / 3).max(2);
    let mut near: Vec<&str> = known
        .iter()
        .copied()
        .filter(|each| is_near && distance(each) == best)
        .collect();
    near.sort_unstable();
    near.dedup();
    match (near.as_slice(), known) {
        ([], []) => "there is none".into(),
        ([], [only]) => format!("there is only {only}"),
        ([], all) => format!("there are {}", all.join(", ")),
        (near, _) => format!("did you mean {}?", near.join(" or ")),
    }
}

/// Levenshtein's distance, in characters.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, here) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut before = index + 1;
        for (cell, there) in row.iter_mut().skip(1).zip(&right) {
            let changed = diagonal + usize::from(here != *there);
            diagonal = *cell;
            *cell = changed.min(diagonal + 1).min(before + 1);
            before = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_built_in_experiment_is_consistent() {
        for name in names() {
            let experiment = load(name).unwrap();
            assert_eq!(experiment.name, name);
            assert!(experiment.scale.contains_key("quick") && experiment.scale.contains_key("full"));
        }
    }

    #[test]
    fn the_default_runs_have_experiments_that_are_there_and_come_first() {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|each| each.name).collect();
        for scale in ["quick", "full"] {
            for name in default_run(scale) {
                assert!(known.contains(name), "{name}");
            }
        }
        assert!(names().starts_with(default_run("full")));
        assert_eq!(names().len(), known.len());
    }

    #[test]
    fn a_companion_is_run_once_behind_what_it_goes_with() {
        assert_eq!(with_companions(&["recovery"]), ["recovery", "accelerated"]);
        assert_eq!(
            with_companions(&["accelerated", "recovery", "dml"]),
            ["accelerated", "recovery", "dml"]
        );
        assert_eq!(with_companions(&["growth"]), ["growth"]);
        assert_eq!(with_companions(&DEFAULT_RUN_FULL), DEFAULT_RUN_FULL);
        for (leader, companion) in ALONG {
            assert!(load(leader).is_ok() && load(companion).is_ok(), "{leader} {companion}");
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_nearest() {
        let error = load("recvery").unwrap_err().to_string();
        assert!(error.contains("Did you mean recovery?"), "{error}");
    }

    #[test]
    fn distances_known_by_hand() {
        for (left, right, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("dml", "dml", 0),
            ("flaw", "lawn", 2),
        ] {
            assert_eq!(edit_distance(left, right), distance, "{left} {right}");
        }
    }

    #[test]
    fn a_users_file_with_mistakes_names_each() {
        let text = r#"
            name = "mine"
            title = "t"
            question = "q"
            database = "d"
            scale.quick = { description = "s", runs = 1 }
            matrix = { colour = ["red"] }
            [[configuration]]
            name = "one"
            title = "the one"
            log = { start = "1MB", growth = "1MB", max = "4MB" }
            [[step]]
            do = "sql"
            label = "x"
            file = "absent.sql"
            [[finding]]
            measure = "nothing_s"
            slow = "one"
            fast = "two"
            what = "It"
        "#;
        let error = Experiment::parse(text, Scripts::Folder("/nonexistent".into()))
            .unwrap_err()
            .to_string();
        for part in [
            "unknown setting `matrix.colour`",
            "absent.sql",
            "no configuration is named \"two\"",
            "nothing_s",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn broken_toml_is_named_with_its_line() {
        let error = Experiment::parse("name = \"x\"\ntitle = 5\n", Scripts::BuiltIn)
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 2"), "{error}");
    }
}
