//! The copy of the workspace in which every chosen change waits behind a question, built once.
//!
//! ```text
//!   folder/copy     tracked files of the workspace; crates/tsql/src/vlflab_mutant.rs and the changed sources
//!   folder/build    its build folder
//!   folder/plan.json
//! ```

use crate::rewrite::{Written, rewrite};
use crate::sites::{self, Site};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders that are changed, below [`SOURCES`].
pub const FOLDERS: [&str; 3] = ["bind", "modify", "exec"];

const SOURCES: &str = "crates/tsql/src";

/// How often the compiler may object to changes before something else must be wrong.
const CHECKS_MAX: usize = 12;

/// One change, as it is kept and reported.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mutant {
    /// Its number, from 1.
    pub id: u32,
    /// The file, from the workspace's root.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The kind of change.
    pub operator: String,
    pub original: String,
    /// What would stand there.
    pub changed: String,
}

/// What was drawn from which sources.
#[derive(Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The commit of the sources.
    pub commit: String,
    /// The seed of the draw.
    pub seed: u64,
    /// How many changes there are to draw from.
    pub sites: usize,
    /// Drawn changes that the compiler refuses, which others took the place of.
    pub refused: usize,
    pub mutants: Vec<Mutant>,
}

impl Plan {
    /// The plan that [`prepare`] has left.
    pub fn read(folder: &Path) -> Result<Plan, Box<dyn Error>> {
        let text = fs::read_to_string(folder.join("plan.json"))?;
        Ok(serde_json::from_str(&text)?)
    }
}

/// A source with all its sites.
struct Source {
    file: String,
    text: String,
    sites: Vec<Site>,
}

/// The place of a site: index of its source, index among its sites.
type Place = (usize, usize);

/// Copies the workspace, draws `count` changes by `seed`, and writes and checks them until the compiler takes all.
pub fn prepare(folder: &Path, count: usize, seed: u64) -> Result<Plan, Box<dyn Error>> {
    let copy = folder.join("copy");
    copy_workspace(&copy)?;
    let sources = read_sources(&copy)?;
    let mut order: Vec<Place> = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        order.extend((0..source.sites.len()).map(|site| (place, site)));
    }
    shuffle(&mut order, seed);
    let mut refused: BTreeSet<Place> = BTreeSet::new();
    for check in 1..=CHECKS_MAX {
        let kept = order.iter().filter(|place| !refused.contains(place));
        let chosen: BTreeMap<Place, u32> = kept.take(count).copied().zip(1..).collect();
        let written = write(&copy, &sources, &chosen)?;
        let objections = objections(folder, &copy, &written)?;
        println!("check {check}: {} changes refused", objections.len());
        if objections.is_empty() {
            let last = order
                .iter()
                .position(|place| chosen.get(place) == Some(&(chosen.len() as u32)));
            let drawn = last.map_or(0, |last| last + 1);
            return plan(folder, seed, &sources, &chosen, drawn - chosen.len());
        }
        let places = chosen.iter().filter(|(_, id)| objections.contains(id));
        refused.extend(places.map(|(place, _)| *place));
    }
    Err(format!("the compiler still refuses changes after {CHECKS_MAX} checks").into())
}

fn copy_workspace(copy: &Path) -> Result<(), Box<dyn Error>> {
    if copy.exists() {
        fs::remove_dir_all(copy)?;
    }
    for file in output(Command::new("git").args(["ls-files"]))?.lines() {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().ok_or("a file without a folder")?)?;
        if Path::new(file).exists() {
            fs::copy(file, to)?;
        }
    }
    Ok(())
}

/// What a command prints; an error where it fails.
fn output(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let answer = command.stderr(Stdio::inherit()).output()?;
    if !answer.status.success() {
        return Err(format!("{command:?} failed: {}", answer.status).into());
    }
    Ok(String::from_utf8(answer.stdout)?)
}

fn read_sources(copy: &Path) -> Result<Vec<Source>, Box<dyn Error>> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        let mut files = Vec::new();
        let mut for_tests = BTreeSet::new();
        rust_files(&copy.join(SOURCES).join(folder), &mut files)?;
        files.sort();
        for path in files {
            let text = fs::read_to_string(&path)?;
            let own = path.with_extension("");
            let below = match path.file_stem().is_some_and(|stem| stem == "mod") {
                true => path.with_file_name(""),
                false => own,
            };
            for module in sites::test_modules(&text)? {
                for_tests.insert(below.join(&module));
            }
            let file = path.strip_prefix(copy)?.display().to_string();
            let sites = sites::find(&text).map_err(|error| format!("{file}: {error}"))?;
            sources.push(Source { file, text, sites });
        }
        sources.retain(|source| {
            let module = copy.join(&source.file).with_extension("");
            !for_tests.iter().any(|of_tests| module.starts_with(of_tests))
        });
    }
    Ok(sources)
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Fisher and Yates, with SplitMix64.
fn shuffle(places: &mut [Place], seed: u64) {
    let mut state = seed;
    for last in (1..places.len()).rev() {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut drawn = state;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        drawn ^= drawn >> 31;
        let other = drawn % (last as u64 + 1);
        places.swap(last, usize::try_from(other).expect("less than a slice's length"));
    }
}

/// Writes every source with its chosen changes, and the question; answers where the changes stand, by file.
fn write(
    copy: &Path,
    sources: &[Source],
    chosen: &BTreeMap<Place, u32>,
) -> Result<BTreeMap<String, Vec<Written>>, Box<dyn Error>> {
    let mut all = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        let numbered = source.sites.iter().enumerate().filter_map(|(site, change)| {
            let id = chosen.get(&(place, site))?;
            Some((*id, change.clone()))
        });
        let numbered: Vec<(u32, Site)> = numbered.collect();
        let (text, written) = rewrite(&source.text, &numbered);
        fs::write(copy.join(&source.file), text)?;
        all.insert(source.file.clone(), written);
    }
    let count = chosen.len() + 1;
    let question = include_str!("question.txt").replace("COUNT_OF_MUTANTS", &count.to_string());
    fs::write(copy.join(SOURCES).join("vlflab_mutant.rs"), question)?;
    let root = copy.join(SOURCES).join("lib.rs");
    let text = fs::read_to_string(&root)?;
    if !text.contains("mod vlflab_mutant;") {
        fs::write(&root, text + "\npub(crate) mod vlflab_mutant;\n")?;
    }
    Ok(all)
}

/// A cargo command in the copy.
fn cargo(folder: &Path, copy: &Path, arguments: &[&str]) -> Result<Command, Box<dyn Error>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).args(["--message-format", "json"]);
    command
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", fs::canonicalize(folder)?.join("build"));
    // Those of the cargo that runs this tool.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR")
    {
        command.env_remove(name);
    }
    command.stderr(Stdio::null());
    Ok(command)
}

fn messages(command: &mut Command) -> Result<(bool, Vec<Value>), Box<dyn Error>> {
    let answer = command.output()?;
    let text = String::from_utf8(answer.stdout)?;
    let messages = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Value>, _>>()?;
    Ok((answer.status.success(), messages))
}

/// The changes that the compiler does not take.
fn objections(
    folder: &Path,
    copy: &Path,
    written: &BTreeMap<String, Vec<Written>>,
) -> Result<BTreeSet<u32>, Box<dyn Error>> {
    let (success, messages) = messages(&mut cargo(folder, copy, &["check", "-p", "vlflab-tsql", "--lib"])?)?;
    let mut refused = BTreeSet::new();
    for message in messages.iter().filter(|message| message["message"]["level"] == "error") {
        let message = &message["message"];
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = spans.iter().flat_map(|span| changes_at(span, written));
        refused.extend(found);
        if spans.is_empty() || !refused.is_empty() {
            continue;
        }
        return Err(format!("outside of all changes: {}", message["rendered"]).into());
    }
    if !success && refused.is_empty() {
        return Err("the copy does not build; run cargo check there".into());
    }
    Ok(refused)
}

/// The changes whose text holds what the compiler points at; else those whose question does.
fn changes_at(span: &Value, written: &BTreeMap<String, Vec<Written>>) -> Vec<u32> {
    let at = |name: &str| span[name].as_u64().and_then(|byte| usize::try_from(byte).ok());
    let (Some(file), Some(start), Some(end)) = (span["file_name"].as_str(), at("byte_start"), at("byte_end")) else {
        return Vec::new();
    };
    let Some((_, written)) = written.iter().find(|(name, _)| file.ends_with(name.as_str())) else {
        return Vec::new();
    };
    let inside = written
        .iter()
        .filter(|one| one.changed.start <= start && end <= one.changed.end);
    let inside: Vec<u32> = inside.map(|one| one.id).collect();
    if !inside.is_empty() {
        return inside;
    }
    let holding = written
        .iter()
        .filter(|one| one.whole.start <= start && end <= one.whole.end);
    // The narrowest question.
    let narrowest = holding.min_by_key(|one| one.whole.len());
    narrowest.map(|one| one.id).into_iter().collect()
}

fn plan(
    folder: &Path,
    seed: u64,
    sources: &[Source],
    chosen: &BTreeMap<Place, u32>,
    refused: usize,
) -> Result<Plan, Box<dyn Error>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for ((place, index), id) in chosen {
        let source = &sources[*place];
        let site = &source.sites[*index];
        mutants.push(Mutant {
            id: *id,
            file: source.file.clone(),
            line: site.line,
            operator: site.operator.name().to_string(),
            original: source.text[site.span.clone()].to_string(),
            changed: site.changed.clone(),
        });
    }
    mutants.sort_by_key(|mutant| mutant.id);
    let plan = Plan {
        commit: output(Command::new("git").args(["rev-parse", "HEAD"]))?
            .trim()
            .to_string(),
        seed,
        sites: sources.iter().map(|source| source.sites.len()).sum(),
        refused,
        mutants,
    };
    fs::write(folder.join("plan.json"), serde_json::to_string_pretty(&plan)?)?;
    Ok(plan)
}

/// Builds the tests of tsql and the programs of the differential test; answers the test programs by name.
pub fn build(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    let copy = folder.join("copy");
    let (success, told) = messages(&mut cargo(folder, &copy, &["test", "--no-run", "-p", "vlflab-tsql"])?)?;
    if !success {
        return Err("the tests of the copy do not build; run cargo test --no-run there".into());
    }
    let mut programs = BTreeMap::new();
    for artifact in told.iter().filter(|message| message["profile"]["test"] == true) {
        if let (Some(name), Some(program)) = (artifact["target"]["name"].as_str(), artifact["executable"].as_str()) {
            programs.insert(name.to_string(), PathBuf::from(program));
        }
    }
    Ok(programs)
}

/// Takes the tests of the workspace as they are now into the copy, whose sources stay.
pub fn take_tests(folder: &Path) -> Result<(), Box<dyn Error>> {
    let tests = output(Command::new("git").args(["ls-files", "-co", "--exclude-standard", "crates/tsql/tests"]))?;
    for file in tests.lines().filter(|file| Path::new(file).exists()) {
        let to = folder.join("copy").join(file);
        fs::create_dir_all(to.parent().ok_or("a file without a folder")?)?;
        let text = fs::read(file)?;
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::write(to, text)?;
            println!("took {file}");
        }
    }
    Ok(())
}

/// Builds the server and the differential test; answers both programs.
pub fn build_differential(folder: &Path) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let copy = folder.join("copy");
    let wanted = ["build", "-p", "vlflab", "-p", "vlflab-differential"];
    let (success, told) = messages(&mut cargo(folder, &copy, &wanted)?)?;
    if !success {
        return Err("the server of the copy does not build; run cargo build there".into());
    }
    let program = |name: &str| {
        let mut built = told.iter().filter(|message| message["target"]["name"] == name);
        built.find_map(|artifact| artifact["executable"].as_str().map(PathBuf::from))
    };
    let server = program("vlflab").ok_or("no server was built")?;
    let differential = program("vlflab-differential").ok_or("no differential test was built")?;
    Ok((server, differential))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_order_and_another_draws_another() {
        let drawn = |seed| {
            let mut places: Vec<Place> = (0..100).map(|place| (0, place)).collect();
            shuffle(&mut places, seed);
            places
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let mut sorted = drawn(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).map(|place| (0, place)).collect::<Vec<_>>());
    }

    #[test]
    fn an_objection_is_that_of_the_change_it_points_at_else_of_the_narrowest_question() {
        let one = |id, changed, whole| Written { id, changed, whole };
        let written = BTreeMap::from([(
            "a/b.rs".to_string(),
            vec![one(1, 10..20, 5..90), one(2, 40..50, 35..60)],
        )]);
        let at = |start: u64, end: u64| {
            let span = serde_json::json!({"file_name": "x/a/b.rs", "byte_start": start, "byte_end": end});
            changes_at(&span, &written)
        };
        assert_eq!(at(12, 15), [1]);
        assert_eq!(at(40, 50), [2]);
        assert_eq!(at(36, 55), [2]);
        assert_eq!(at(5, 90), [1]);
        assert_eq!(at(91, 95), [] as [u32; 0]);
    }
}
