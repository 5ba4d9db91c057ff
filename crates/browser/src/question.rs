//! What the page asks. Names in JSON are known to `page/page.js` and to nobody else.

use advisor::Format;
use advisor::price::PricedDisk;
use advisor::size::{Growth, GrowthList, parse_bytes};
use device::parameter::{DurableWrite, Kind, Range, Ranges};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use vlf::ServerVersion;

/// A question of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// What there is to choose from.
    Choices,
    /// A log file, the data files of a database, the files of a backup, rows in a text file, or a recording.
    Open {
        files: Vec<FileNamed>,
        version: String,
        disk: Disk,
    },
    /// Rows, JSON or a snapshot, as a text.
    Paste { text: String, version: String, disk: Disk },
    /// Steps, prices and T-SQL.
    Plan(Box<PlanForm>),
    /// A log file as `json` or `csv`.
    Export { files: Vec<FileNamed>, format: String },
}

/// A file that the worker has; its number is its place in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileNamed {
    pub name: String,
    pub bytes: u64,
}

/// The form of a plan as it was filled in: empty = not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanForm {
    pub version: String,
    /// Size that the log is created with, 8 MB if empty; without a file and a text.
    pub initial: String,
    /// Start from this log file.
    pub files: Vec<FileNamed>,
    /// Start from these rows.
    pub text: String,
    /// Which of several pasted logs, from 1; 0 = there is one.
    pub log: usize,
    pub grow: String,
    pub growth: String,
    pub to: String,
    pub target_size: String,
    pub target_vlfs: String,
    pub database: String,
    pub log_name: String,
    pub disk: Disk,
}

/// A modelled disk, as the page has it from the program's files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    pub name: String,
    pub title: String,
    /// What a rotating disk makes of durable writes; none for flash.
    pub durable_write: Option<String>,
    /// Figures by their names.
    pub figures: BTreeMap<String, Figure>,
}

/// Low, typical, high.
pub type Figure = [f64; 3];

impl Disk {
    /// For the page, of a disk of the program.
    pub fn of(name: &str, title: &str, ranges: &Ranges) -> Disk {
        Disk {
            name: name.to_owned(),
            title: title.to_owned(),
            durable_write: match ranges.kind() {
                Kind::Rotating(durable_write) => Some(durable_write.name().to_owned()),
                Kind::Flash => None,
            },
            figures: ranges
                .iter()
                .map(|(parameter, range)| (parameter.name.to_owned(), [range.low, range.typical, range.high]))
                .collect(),
        }
    }

    /// For prices.
    ///
    /// # Errors
    /// A figure is missing or beyond its limits.
    pub fn priced(&self) -> Result<PricedDisk, String> {
        let kind = match &self.durable_write {
            None => Kind::Flash,
            Some(word) => {
                let found = DurableWrite::NAMES.iter().find(|(name, _)| name == word);
                Kind::Rotating(found.ok_or(format!("durable_write = \"{word}\" is not known"))?.1)
            }
        };
        let range = |name: &str| {
            let [low, typical, high] = *self.figures.get(name)?;
            Some(Range { low, typical, high })
        };
        let ranges = Ranges::collect(kind, range).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            format!("the disk {}: {}", self.name, faults.join("; "))
        })?;
        Ok(PricedDisk {
            name: self.name.clone(),
            title: self.title.clone(),
            ranges,
            why: Vec::new(),
        })
    }
}

/// A version as it is written on the command line.
pub(crate) fn version_of(text: &str) -> Result<ServerVersion, String> {
    ServerVersion::from_str(text).map_err(|error| error.to_string())
}

/// The forms that a log can be saved in.
pub(crate) fn format_of(text: &str) -> Result<Format, String> {
    match text.parse()? {
        format @ (Format::Json | Format::Csv) => Ok(format),
        Format::Table | Format::Markdown => Err("a log is saved as json or csv".to_owned()),
    }
}

impl PlanForm {
    /// Sizes and growths of the form.
    pub(crate) fn fields(&self) -> Result<Fields, String> {
        let of = |label: &str, text: &str, parsed: Result<u64, String>| {
            parsed
                .map(Some)
                .map_err(|reason| format!("{label} \"{text}\": {reason}"))
        };
        let size = |label: &str, text: &str| match text.trim() {
            "" => Ok(None),
            text => of(label, text, parse_bytes(text).map_err(|error| error.to_string())),
        };
        let fields = Fields {
            initial_bytes: size("Initial size", &self.initial)?,
            to_bytes: size("Until the log has", &self.to)?,
            target_file_bytes: size("Target size", &self.target_size)?,
            target_vlfs: match self.target_vlfs.trim() {
                "" => None,
                text => of(
                    "Target VLFs",
                    text,
                    text.parse().map_err(|_| "expected is a whole number".to_owned()),
                )?,
            },
            growths: match self.grow.trim() {
                "" => Vec::new(),
                text => text.parse::<GrowthList>().map_err(|error| error.to_string())?.0,
            },
            autogrowth: match self.growth.trim() {
                "" => None,
                text => Some(text.parse::<Growth>().map_err(|error| error.to_string())?),
            },
        };
        // The command line refuses the same.
        let is_search = fields.target_vlfs.is_some() || fields.target_file_bytes.is_some();
        if is_search && (fields.autogrowth.is_some() || !fields.growths.is_empty()) {
            return Err(
                "Either give growths, or let the steps to a target be searched for: leave the growths or the targets empty."
                    .to_owned(),
            );
        }
        if fields.to_bytes.is_some() && fields.target_file_bytes.is_some() {
            return Err("Until the log has, or a target size: one of them says how large the log shall be.".to_owned());
        }
        Ok(fields)
    }
}

/// [`PlanForm`] in numbers.
pub(crate) struct Fields {
    pub initial_bytes: Option<u64>,
    pub to_bytes: Option<u64>,
    pub target_file_bytes: Option<u64>,
    pub target_vlfs: Option<u64>,
    pub growths: Vec<Growth>,
    pub autogrowth: Option<Growth>,
}
