//! Devices as files: the disks of `vlflab run --disk`, by name or by file.
//!
//! ```toml
//! title = "Desktop disk, 7,200 rpm, 2006"
//! kind = "rotating"                     # or "flash", for flash and for volumes behind a network
//! about = "What it stands for."
//! durable_write = "ignored"             # rotating: honoured, ignored, battery, cache-off
//! durable_write_source = "Where that is said."
//!
//! [figure.rate_mb_s]                    # one for each figure of the kind
//! low = 48
//! typical = 57
//! high = 65                             # or only: value = 57
//! source = "Where it is said; assumed, where nobody does."
//! ```
//! The figures of each kind are those of [`device::parameter`]. Invariant: a file that lacks a figure, or the source of one, is invalid.

use crate::catalogue::remedy;
use device::parameter::{DurableWrite, Kind, Parameter, Range, Ranges};
use device::probe::Fitted;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// A device that is known by a file.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskDescription {
    /// Its name: that of the file, without `.toml`.
    pub name: String,
    /// How another process asks for it: its name, or its file with the whole path.
    pub asked_for: String,
    pub title: String,
    pub about: String,
    pub ranges: Ranges,
    /// Where what it makes of durable writes is said; empty for flash.
    pub durable_write_source: String,
    /// Where each figure is said, by its name.
    pub sources: BTreeMap<String, String>,
    pub text: String,
}

/// Every mistake of a file, or that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFileError(pub String);

impl fmt::Display for DiskFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DiskFileError {}

/// Made by the build script from the folder `disks`: names and texts.
const DISKS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/disks.rs"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    kind: String,
    about: String,
    durable_write: Option<String>,
    durable_write_source: Option<String>,
    figure: BTreeMap<String, Figure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    value: Option<f64>,
    low: Option<f64>,
    typical: Option<f64>,
    high: Option<f64>,
    source: String,
}

impl Figure {
    fn range(&self) -> Option<Range> {
        match (self.value, self.low, self.typical, self.high) {
            (Some(value), None, None, None) => Some(Range::exactly(value)),
            (None, Some(low), Some(typical), Some(high)) => Some(Range { low, typical, high }),
            _ => None,
        }
    }
}

/// Names of the devices in the program.
pub fn names() -> Vec<&'static str> {
    DISKS.iter().map(|(name, _)| *name).collect()
}

/// Finds a device: by name in the program, or a TOML file of the user's.
///
/// # Errors
/// An unknown name (with the nearest known ones), a file that cannot be read, or one with mistakes.
pub fn load(name_or_file: &str) -> Result<DiskDescription, DiskFileError> {
    if let Some((name, text)) = DISKS.iter().find(|(name, _)| *name == name_or_file) {
        return parse(name, text);
    }
    let path = Path::new(name_or_file);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Err(DiskFileError(format!(
            "no disk is named '{name_or_file}': {}. A disk of your own is named by its file, ending in .toml",
            remedy(name_or_file, &names())
        )));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| DiskFileError(format!("cannot read {}: {error}", path.display())))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let whole =
        std::path::absolute(path).map_err(|error| DiskFileError(format!("cannot find {}: {error}", path.display())))?;
    Ok(DiskDescription {
        asked_for: whole.display().to_string(),
        ..parse(&name, &text)?
    })
}

/// Reads a device's file.
///
/// # Errors
/// Every mistake in it.
pub fn parse(name: &str, text: &str) -> Result<DiskDescription, DiskFileError> {
    let told = |mistakes: &[String]| DiskFileError(format!("{name}.toml: {}", mistakes.join("; ")));
    let document: Document = toml::from_str(text).map_err(|error| told(&[error.to_string().trim_end().to_string()]))?;
    let kind = kind_of(&document).map_err(|mistake| told(&[mistake]))?;
    let mut mistakes = unknown_figures(&document, kind.parameters());
    let ranges = Ranges::collect(kind, |name| document.figure.get(name).and_then(Figure::range));
    for error in ranges.as_ref().err().into_iter().flatten() {
        let is_there = document.figure.contains_key(error.name);
        mistakes.push(match error.range {
            None if is_there => format!("figure.{} needs either value, or low, typical and high", error.name),
            _ => format!("figure.{error}"),
        });
    }
    let sourceless = document
        .figure
        .iter()
        .filter(|(_, figure)| figure.source.trim().is_empty());
    mistakes.extend(sourceless.map(|(name, _)| format!("figure.{name} has no source; write \"assumed\" without one")));
    match ranges {
        Ok(ranges) if mistakes.is_empty() => Ok(DiskDescription {
            name: name.to_string(),
            asked_for: name.to_string(),
            title: document.title,
            about: document.about,
            ranges,
            durable_write_source: document.durable_write_source.unwrap_or_default(),
            sources: sources_of(document.figure, kind.parameters()),
            text: text.to_string(),
        }),
        _ => Err(told(&mistakes)),
    }
}

/// Where each figure is from, those that the file need not name included.
fn sources_of(figures: BTreeMap<String, Figure>, known: &[Parameter]) -> BTreeMap<String, String> {
    let unnamed = known.iter().filter(|parameter| parameter.unnamed.is_some());
    let mut sources: BTreeMap<String, String> = unnamed
        .map(|parameter| (parameter.name.to_string(), "not given".to_string()))
        .collect();
    sources.extend(figures.into_iter().map(|(name, figure)| (name, figure.source)));
    sources
}

/// The file of a device that was fitted to measurements; [`parse`] reads it back.
pub fn document_of(fitted: &Fitted, title: &str, about: &str) -> String {
    let mut text = format!("title = {}\n", quoted(title));
    let kind = match fitted.kind {
        Kind::Rotating(_) => "rotating",
        Kind::Flash => "flash",
    };
    text += &format!("kind = {}\nabout = {}\n", quoted(kind), quoted(about));
    if let Kind::Rotating(durable_write) = fitted.kind {
        let source = quoted("measured: cached writes, durable writes and flushes beside each other");
        text += &format!(
            "durable_write = {}\ndurable_write_source = {source}\n",
            quoted(durable_write.name())
        );
    }
    for figure in &fitted.figures {
        let Range { low, typical, high } = figure.range;
        let values = match low == high {
            true => format!("value = {typical}"),
            false => format!("low = {low}\ntypical = {typical}\nhigh = {high}"),
        };
        let source = quoted(&figure.source);
        text += &format!("\n[figure.{}]\n{values}\nsource = {source}\n", figure.name);
    }
    text
}

/// A text as TOML has it: JSON's escapes are a part of TOML's, which wants one character more escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn kind_of(document: &Document) -> Result<Kind, String> {
    match (document.kind.as_str(), document.durable_write.as_deref()) {
        ("flash", None) => Ok(Kind::Flash),
        ("flash", Some(_)) => Err("durable_write is for rotating disks; on flash it is a write and a flush".into()),
        ("rotating", None) => Err("durable_write is missing".into()),
        ("rotating", Some(word)) => {
            let found = DurableWrite::NAMES.iter().find(|(name, _)| *name == word);
            let names = DurableWrite::NAMES.map(|(name, _)| name);
            let (_, durable_write) =
                found.ok_or_else(|| format!("durable_write = \"{word}\": {}", remedy(word, &names)))?;
            match document.durable_write_source.as_deref().unwrap_or_default().trim() {
                "" => Err("durable_write_source is missing; write \"assumed\" without one".into()),
                _ => Ok(Kind::Rotating(*durable_write)),
            }
        }
        (word, _) => Err(format!("kind = \"{word}\": {}", remedy(word, &["rotating", "flash"]))),
    }
}

fn unknown_figures(document: &Document, known: &[Parameter]) -> Vec<String> {
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    let unknown = document.figure.keys().filter(|name| !names.contains(&name.as_str()));
    unknown
        .map(|name| format!("unknown figure.{name}: {}", remedy(name, &names)))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use device::parameter::Case;
    use device::price::{self, Price};

    #[test]
    fn every_built_in_disk_is_whole_and_says_where_its_figures_are_from() {
        for wanted in [
            "hdd-7200-2006",
            "hdd-5400-2008",
            "sas-15k-battery",
            "ssd-sata-2012",
            "nvme-consumer",
            "nvme-plp",
            "ebs-gp3",
            "azure-p30",
        ] {
            assert!(names().contains(&wanted), "{wanted}");
        }
        for name in names() {
            let disk = load(name).unwrap();
            assert_eq!(disk.name, name);
            assert!(!disk.title.is_empty() && !disk.about.is_empty());
            assert_eq!(disk.sources.len(), disk.ranges.iter().count());
        }
    }

    /// Seconds on record for a disk's class; the whole range has to hold it or the typical come near.
    #[test]
    fn prices_of_known_disks_hold_what_was_published_of_their_class() {
        const MB: u64 = 1 << 20;
        let price = |name: &str, cost: &dyn Fn(&device::parameter::Figures) -> f64| {
            Price::of(&load(name).unwrap().ranges, cost)
        };
        let discovery = |figures: &device::parameter::Figures| price::discovery_s(figures, 20_480, MB / 4);
        let growth = |figures: &device::parameter::Figures| price::growth_s(figures, MB, 4);
        for (name, published, found) in [
            ("hdd-7200-2006", 99.96, price("hdd-7200-2006", &discovery)),
            ("hdd-7200-2006", 0.0873, price("hdd-7200-2006", &growth)),
            ("hdd-7200-2010", 0.0586, price("hdd-7200-2010", &growth)),
            ("ssd-sata-2012", 0.0115, price("ssd-sata-2012", &growth)),
        ] {
            assert!(
                found.fast_s <= published && published <= found.slow_s,
                "{name}: {published} is not in {found:?}"
            );
            assert!(
                (found.typical_s / published - 1.0).abs() < 0.25,
                "{name}: {published} {found:?}"
            );
        }
    }

    #[test]
    fn the_fast_case_is_faster_than_the_slow_one_on_every_disk() {
        for name in names() {
            let ranges = load(name).unwrap().ranges;
            let seconds = |case| {
                let figures = ranges.at(case);
                price::discovery_s(&figures, 1000, 256 << 10) + price::growth_s(&figures, 1 << 20, 4)
            };
            assert!(seconds(Case::Fast) <= seconds(Case::Typical), "{name}");
            assert!(seconds(Case::Typical) <= seconds(Case::Slow), "{name}");
        }
    }

    #[test]
    fn every_mistake_of_a_file_is_told_at_once() {
        let good = load("hdd-7200-2006").unwrap().text;
        let broken = good
            .replace("[figure.rpm]", "[figure.rmp]")
            .replace("low = 48", "low = 60")
            .replace("value = 512", "low = 512");
        let error = parse("mine", &broken).unwrap_err().to_string();
        for part in [
            "mine.toml",
            "unknown figure.rmp: did you mean rpm?",
            "figure.rpm is missing",
            "figure.rate_mb_s: low, typical and high are not in ascending order",
            "figure.sector_bytes needs either value, or low, typical and high",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
        for (from, to, part) in [
            ("kind = \"rotating\"", "kind = \"rotatin\"", "did you mean rotating?"),
            ("\"ignored\"", "\"ignore\"", "did you mean ignored?"),
            ("durable_write = \"ignored\"", "", "durable_write is missing"),
            ("title = ", "titel = ", "unknown field `titel`"),
            ("value = 7200", "value = 1e12", "is not between"),
            ("source = \"the class itself\"", "source = \" \"", "has no source"),
        ] {
            let error = parse("mine", &good.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_nearest() {
        let error = load("hdd-7200-2007").unwrap_err().to_string();
        assert!(error.contains("hdd-7200-2006"), "{error}");
        assert!(
            load("/nonexistent/disk.toml")
                .unwrap_err()
                .to_string()
                .contains("cannot read")
        );
    }
}
