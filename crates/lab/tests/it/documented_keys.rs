//! `docs/experiments.md` and `docs/sweeps.md` against the definitions that check an experiment's and a sweep's file: every key, which ones
//! are required, and no others.
#![allow(clippy::unwrap_used)]

use lab::experiment::{
    Chart, Configuration, Derived, Doubt, Experiment, Finding, LogSizes, Pregrowth, Published, PublishedConfiguration,
    Scale, ServerSettings, SlopeOf, Step, Threshold,
};
use lab::sweep::file::{Cost, Layout, SweepFile};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

const GUIDE: &str = include_str!("../../../../docs/experiments.md");
const GUIDE_OF_SWEEPS: &str = include_str!("../../../../docs/sweeps.md");
/// A key that nothing has.
const UNKNOWN: &str = "no_such_key";

/// What the definition says to a key that it does not have: the names between accents behind "expected".
fn keys_of<T: DeserializeOwned>(before: &str) -> BTreeSet<String> {
    let said = toml::from_str::<T>(&format!("{before}{UNKNOWN} = 1")).err().unwrap();
    let said = said.message().to_string();
    let (unknown, expected) = said.split_once("expected").unwrap_or_else(|| panic!("{said}"));
    assert!(unknown.contains(UNKNOWN), "{said}");
    expected.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Whether a table that has nothing is refused for want of this key. Asked key by key: each is given in turn what is missing.
fn needed<T: DeserializeOwned>(before: &str, keys: &BTreeSet<String>) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    let mut text = before.to_string();
    while let Err(error) = toml::from_str::<T>(&text) {
        let said = error.message().to_string();
        let Some(key) = said
            .strip_prefix("missing field `")
            .and_then(|rest| rest.strip_suffix('`'))
        else {
            panic!("{said} in {text}");
        };
        assert!(keys.contains(key) && missing.insert(key.to_string()), "{key}");
        text = with_value::<T>(&text, key);
    }
    missing
}

/// The text with a value of the key that is of its kind.
fn with_value<T: DeserializeOwned>(text: &str, key: &str) -> String {
    let values = ["'x'", "'bars'", "1", "[]", "{}", "{ start = '1MB', growth = '1MB' }"];
    let suits = |text: &String| {
        let said = toml::from_str::<T>(text).err().map(|error| error.message().to_string());
        said.is_none_or(|said| said.starts_with("missing field") && !said.contains("`start`"))
    };
    let mut texts = values.iter().map(|value| format!("{text}{key} = {value}\n"));
    texts.find(suits).unwrap_or_else(|| panic!("no value suits {key}"))
}

/// The rows of the table under each heading: key, and whether it is needed.
fn told(guide: &str) -> BTreeMap<String, BTreeMap<String, bool>> {
    let mut sections: BTreeMap<String, BTreeMap<String, bool>> = BTreeMap::new();
    let mut heading = String::new();
    for line in guide.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text.to_string();
        } else if let Some(row) = line.strip_prefix("| `") {
            let (key, rest) = row.split_once("` |").unwrap();
            let is_needed = rest.trim_start().starts_with("needed");
            let known = sections
                .entry(heading.clone())
                .or_default()
                .insert(key.to_string(), is_needed);
            assert!(known.is_none(), "{heading}: {key} twice");
        }
    }
    sections
}

/// Takes a section out of the guide and compares it with its definition.
fn compare<T: DeserializeOwned>(told: &mut BTreeMap<String, BTreeMap<String, bool>>, heading: &str, before: &str) {
    let section = told
        .remove(heading)
        .unwrap_or_else(|| panic!("there is no section {heading}"));
    let mut keys = keys_of::<T>(before);
    keys.remove("do");
    let in_guide: BTreeSet<String> = section.keys().cloned().collect();
    assert_eq!(in_guide, keys, "{heading}");
    // A threshold may be given without the limits that make it one; the reader of files asks for one of them.
    let needed_in_guide: BTreeSet<String> = section
        .into_iter()
        .filter(|(_, needed)| *needed)
        .map(|(key, _)| key)
        .collect();
    assert_eq!(needed_in_guide, needed::<T>(before, &keys), "{heading}: what is needed");
}

#[test]
fn the_guide_tells_every_key_and_no_others() {
    let mut told = told(GUIDE);
    compare::<Experiment>(&mut told, "The whole file", "");
    compare::<Scale>(&mut told, "`[scale.NAME]`", "");
    compare::<ServerSettings>(&mut told, "`[server]`", "");
    compare::<Configuration>(&mut told, "`[[configuration]]`", "");
    compare::<LogSizes>(&mut told, "`log` of a configuration", "");
    compare::<Pregrowth>(&mut told, "`grow` of a log", "");
    compare::<Derived>(&mut told, "`[[derived]]`", "");
    compare::<SlopeOf>(&mut told, "`[[slope]]`", "");
    compare::<Finding>(&mut told, "`[[finding]]`", "");
    compare::<Chart>(&mut told, "`[[chart]]`", "");
    compare::<Published>(&mut told, "`[published]`", "");
    compare::<PublishedConfiguration>(&mut told, "`[[published.configuration]]`", "");
    compare::<Doubt>(&mut told, "`[[published.doubt]]`", "");
    compare::<Threshold>(&mut told, "`[[threshold]]`", "");
    for kind in ["sql", "grow_log", "clients", "sample", "query", "check"] {
        let heading = format!("`[[step]]` with `do = \"{kind}\"`");
        compare::<Step>(&mut told, &heading, &format!("do = '{kind}'\n"));
    }
    assert!(told.is_empty(), "sections of nothing: {:?}", told.keys());
}

#[test]
fn the_guide_to_sweeps_tells_every_key_and_no_others() {
    let mut told = told(GUIDE_OF_SWEEPS);
    compare::<SweepFile>(&mut told, "The whole file", "");
    compare::<Layout>(&mut told, "`[[layout]]`", "");
    compare::<Cost>(&mut told, "`[cost]`", "");
    // Its table is of variables.
    told.remove("Buckets");
    assert!(told.is_empty(), "sections of nothing: {:?}", told.keys());
}

/// Steps that have no keys are named.
#[test]
fn the_guide_tells_every_step() {
    let said = toml::from_str::<Step>("do = 'nothing'").err().unwrap();
    let kinds: Vec<&str> = said.message().split('`').skip(3).step_by(2).collect();
    assert!(kinds.len() >= 12, "{}", said.message());
    for kind in kinds {
        let section = GUIDE.contains(&format!("with `do = \"{kind}\"`"));
        assert!(section || GUIDE.contains(&format!("`{kind}`")), "{kind}");
    }
}
