//! Compares published seconds with those on modelled disks and on this machine's disk, if all have the same size.
//!
//! ```text
//!                                    |           |  modelled           |  measured here      |
//!                         VLFs       | published |  classic   native   |  classic   native   |
//! 5 GB grown by 1 MB, modelled on hdd-7200-2006
//! discovery               20,480     |    106 s  |   94.1 s   12 ms    |   1.13 s   9 ms     |
//! ```
//! A row's modelled figures are those of the disk that its heading names, so no column has two kinds of figures.

use super::comparison::figure_cell;
use super::format::{label, thousands, value};
use super::table::{Cell, Column, Look, Row, Table};
use super::verdict::{self, VariantName};
use crate::experiment::{Experiment, Finding};
use crate::results::Results;

const MODELLED: &str = "modelled";
const MEASURED: &str = "measured here";

/// Whether this experiment's figures may stand beside the published ones without a mark.
pub(super) fn applies(experiment: &Experiment, results: &Results) -> bool {
    experiment.is_of_published_size(&results.scale)
}

/// The table; nothing where nothing was measured or sizes differ.
pub(super) fn table(experiment: &Experiment, results: &Results) -> Option<Table> {
    if !applies(experiment, results) {
        return None;
    }
    let (modelled, own) = policies(results);
    let mut table = Table {
        caption: "Published, modelled and measured seconds".into(),
        columns: vec![
            column("", "", Look::Text),
            column("", "VLFs", Look::Figure),
            column("", "published", Look::Figure),
        ],
        rows: Vec::new(),
    };
    for (group, names) in [(MODELLED, &modelled), (MEASURED, &own)] {
        table
            .columns
            .extend(names.iter().map(|name| column(group, shown_policy(name), Look::Figure)));
    }
    for base in bases(experiment, results) {
        let measures = measures(experiment, results, base);
        for disk in disks(results, base) {
            let rows: Vec<Vec<Cell>> = measures
                .iter()
                .map(|measure| {
                    let mut cells = vec![
                        Cell::text(label(measure)),
                        Cell::figure(vlf_count(results, base).map_or_else(|| "–".into(), thousands)),
                        published_cell(experiment, base, measure),
                    ];
                    let variants = modelled.iter().map(|policy| VariantName { policy, disk });
                    let own = own.iter().map(|policy| VariantName { policy, disk: None });
                    cells.extend(
                        variants
                            .map(|variant| (variant.disk.is_some(), variant))
                            .chain(own.map(|variant| (true, variant)))
                            .map(|(is_there, variant)| {
                                let found = results.find(base, &variant.text()).filter(|_| is_there);
                                figure_cell(measure, found.and_then(|found| found.measurement(measure)))
                            }),
                    );
                    cells
                })
                .collect();
            if !rows.is_empty() {
                table.rows.push(Row::Heading(heading(results, base, disk)));
                rows.into_iter().for_each(|cells| table.push(cells));
            }
        }
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

/// How the table is to be read.
pub(super) fn note(experiment: &Experiment, results: &Results) -> String {
    let runs = |is_modelled: bool| {
        let of_kind = results.configurations.iter();
        let of_kind = of_kind.filter(|each| each.modelled_disk().is_some() == is_modelled);
        of_kind
            .flat_map(|each| each.measurements.values())
            .map(|each| each.runs)
            .max()
    };
    let mut parts = Vec::new();
    match runs(false) {
        Some(1) => parts.push("This machine's figures are of one run.".to_string()),
        Some(many) => parts.push(format!(
            "This machine's figures are medians of {many} runs; below them stand the smallest and the largest."
        )),
        None => {}
    }
    match runs(true) {
        Some(1) => parts.push(format!(
            "{MODELLED_SECONDS} One run is enough for it: the disk's part is computed and the same in every run."
        )),
        Some(many) => parts.push(format!(
            "{MODELLED_SECONDS} They are medians of {many} runs; below them stand the smallest and the largest."
        )),
        None => {}
    }
    let published = experiment.published.iter().flat_map(|each| &each.configuration);
    if published.into_iter().any(|each| !each.fitted.is_empty()) {
        parts.push(
            "“Fitted”: the modelled disk has a figure from this very post, so that it does not predict it.".to_string(),
        );
    }
    parts.join(" ")
}

const MODELLED_SECONDS: &str =
    "Modelled seconds are those of the disk that stands above them, and of this machine's processor.";

/// For each finding what its slow side took, as one would say it: published, on the model of that disk, here.
pub(super) fn sentences(experiment: &Experiment, results: &Results) -> Vec<String> {
    if !applies(experiment, results) {
        return Vec::new();
    }
    let findings = experiment.finding.iter();
    findings
        .filter_map(|finding| told(finding, experiment, results))
        .collect()
}

/// A figure of the slow side, and the policy and the disk it is of.
struct Told<'r> {
    variant: VariantName<'r>,
    figure: String,
}

/// `Startup with 20,480 VLFs took 106 s in 2008. Our model of that disk gives 94.2 s. On your disk it takes 2.50 s.`
fn told(finding: &Finding, experiment: &Experiment, results: &Results) -> Option<String> {
    let measure = finding.measure.as_str();
    let variants = results.variants().into_iter();
    let ours: Vec<Told<'_>> = variants
        .filter_map(|variant| {
            let found = results.find(&finding.slow, variant)?.measurement(measure)?;
            Some(Told {
                variant: VariantName::of(variant),
                figure: value(measure, found.median),
            })
        })
        .collect();
    // The log that works as the published one did, where the experiment has several.
    let policies = || ours.iter().map(|each| each.variant.policy);
    let first = policies()
        .find(|policy| *policy == CLASSIC)
        .or_else(|| policies().next())?;
    let mut sentences = Vec::new();
    let published = experiment.published_configuration(&finding.slow);
    let published = published.and_then(|each| Some((each.measurements.get(measure)?, each.year)));
    if let Some((figure, year)) = published {
        let when = year.map_or_else(|| "where it was published".to_string(), |year| format!("in {year}"));
        sentences.push(format!("{} took {} {when}.", finding.what, value(measure, *figure)));
    }
    for each in ours.iter().filter(|each| each.variant.policy == first) {
        sentences.push(match (each.variant.disk, !sentences.is_empty()) {
            (Some(disk), true) => {
                let fitted = match experiment.is_fitted(&finding.slow, measure) {
                    true => ", fitted to that figure,",
                    false => "",
                };
                format!("Our model of such a disk ({disk}){fitted} gives {}.", each.figure)
            }
            (Some(disk), false) => format!("{} takes {} on our model of {disk}.", finding.what, each.figure),
            (None, true) => format!("{} it takes {}.", here(first), each.figure),
            (None, false) => format!("{} takes {} here.", finding.what, each.figure),
        });
    }
    sentences.extend(of_other_policies(&ours, first));
    Some(sentences.join(" "))
}

/// What the same took under the other policies.
fn of_other_policies(ours: &[Told<'_>], first: &str) -> Vec<String> {
    let mut others: Vec<&str> = Vec::new();
    for each in ours {
        if each.variant.policy != first && !others.contains(&each.variant.policy) {
            others.push(each.variant.policy);
        }
    }
    let sentence = |policy: &&str| {
        let places = ours.iter().filter(|each| each.variant.policy == *policy);
        let places: Vec<String> = places
            .map(|each| match each.variant.disk {
                Some(_) => format!("{} on that model", each.figure),
                None => format!("{} {}", each.figure, here(policy).to_lowercase()),
            })
            .collect();
        let whose = match *policy {
            NATIVE => "This engine's own log (native)".to_string(),
            other => format!("A log that works as {other}"),
        };
        format!("{whose} takes {}.", places.join(" and "))
    };
    others.iter().map(sentence).collect()
}

const CLASSIC: &str = "classic";
const NATIVE: &str = "native";

/// A policy is of our own server, on the reader's disk; without one the server may be another.
fn here(policy: &str) -> &'static str {
    if policy.is_empty() {
        "Measured here"
    } else {
        "On your disk"
    }
}

fn column(group: &str, name: &str, look: Look) -> Column {
    Column {
        group: group.into(),
        name: name.into(),
        look,
    }
}

fn shown_policy(policy: &str) -> &str {
    if policy.is_empty() { "seconds" } else { policy }
}

/// The policies that ran on modelled disks, and those that ran on this machine's.
fn policies(results: &Results) -> (Vec<&str>, Vec<&str>) {
    let (mut modelled, mut own) = (Vec::new(), Vec::new());
    for variant in results.variants().into_iter().map(VariantName::of) {
        let names = if variant.disk.is_some() {
            &mut modelled
        } else {
            &mut own
        };
        if !names.contains(&variant.policy) {
            names.push(variant.policy);
        }
    }
    (modelled, own)
}

fn bases<'a>(experiment: &'a Experiment, results: &Results) -> Vec<&'a str> {
    let names = experiment.configuration.iter().map(|each| each.name.as_str());
    names
        .filter(|base| results.configurations.iter().any(|each| each.base == **base))
        .collect()
}

/// What was published of a configuration or is looked at in a finding, as far as there is a figure of ours.
fn measures(experiment: &Experiment, results: &Results, base: &str) -> Vec<String> {
    let published = experiment.published_for(base);
    let is_asked = |name: &str| {
        let mut findings = experiment.finding.iter();
        findings.any(|finding| finding.measure == name && [&finding.slow, &finding.fast].contains(&&base.to_string()))
    };
    let mut names: Vec<String> = Vec::new();
    for name in experiment.measurement_names() {
        let is_wanted = published.is_some_and(|known| known.contains_key(&name)) || is_asked(&name);
        if is_wanted && name != "vlf_count" && !names.contains(&name) {
            names.push(name);
        }
    }
    let of_base = || results.configurations.iter().filter(|each| each.base == base);
    names.retain(|name| of_base().any(|each| each.measurement(name).is_some()));
    names
}

/// The modelled disks a configuration ran on; one that is none when it ran on this machine's alone.
fn disks<'a>(results: &'a Results, base: &str) -> Vec<Option<&'a str>> {
    let mut disks = Vec::new();
    for each in results.configurations.iter().filter(|each| each.base == base) {
        let disk = each.modelled_disk();
        if disk.is_some() && !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    if disks.is_empty() { vec![None] } else { disks }
}

fn heading(results: &Results, base: &str, disk: Option<&str>) -> String {
    let of_base = results.configurations.iter().find(|each| each.base == base);
    let title = of_base.map_or(base, |each| each.title.as_str());
    match disk {
        Some(disk) => format!("{title}; modelled on {disk}"),
        None => title.into(),
    }
}

fn vlf_count(results: &Results, base: &str) -> Option<f64> {
    let mut of_base = results.configurations.iter().filter(|each| each.base == base);
    of_base.find_map(|each| Some(each.measurement("vlf_count")?.median))
}

fn published_cell(experiment: &Experiment, base: &str, measure: &str) -> Cell {
    let figure = experiment.published_for(base).and_then(|known| known.get(measure));
    let below = match experiment.is_fitted(base, measure) {
        true => "fitted",
        false => "",
    };
    Cell {
        below: below.into(),
        ..Cell::figure(figure.map_or_else(|| "–".into(), |figure| value(measure, *figure)))
    }
}

/// Whether a variant's figures are a model's.
pub(super) fn has_modelled(results: &Results) -> bool {
    results.variants().into_iter().any(verdict::is_modelled)
}
