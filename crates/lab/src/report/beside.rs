//! Published seconds beside those of modelled disks and of this machine's, where all of them are of the same size.
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
    let mut parts = vec!["Medians; below them, where runs were repeated, the smallest and the largest value."];
    if results.configurations.iter().any(|each| each.modelled_disk().is_some()) {
        parts.push("Modelled seconds are those of the disk that stands above them, and of this machine's processor.");
    }
    let published = experiment.published.iter().flat_map(|each| &each.configuration);
    if published.into_iter().any(|each| !each.fitted.is_empty()) {
        parts.push("“Fitted”: the modelled disk has a figure from this very post, so that it does not predict it.");
    }
    parts.join(" ")
}

/// For each finding one sentence on its slow side: published, modelled, measured.
pub(super) fn sentences(experiment: &Experiment, results: &Results) -> Vec<String> {
    if !applies(experiment, results) {
        return Vec::new();
    }
    let findings = experiment.finding.iter();
    findings
        .filter_map(|finding| sentence(finding, experiment, results))
        .collect()
}

fn sentence(finding: &Finding, experiment: &Experiment, results: &Results) -> Option<String> {
    let measure = finding.measure.as_str();
    let figures = |disk: Option<&str>| -> Vec<String> {
        let variants = results.variants().into_iter().map(VariantName::of);
        let of_disk = variants.filter(|variant| variant.disk == disk);
        of_disk
            .filter_map(|variant| {
                let found = results.find(&finding.slow, &variant.text())?.measurement(measure)?;
                let figure = value(measure, found.median);
                Some(match variant.policy {
                    "" => figure,
                    policy => format!("{policy} {figure}"),
                })
            })
            .collect()
    };
    let mut clauses = Vec::new();
    let published = experiment
        .published_for(&finding.slow)
        .and_then(|known| known.get(measure));
    if let Some(figure) = published {
        clauses.push(format!("published {}", value(measure, *figure)));
    }
    for disk in disks(results, &finding.slow).into_iter().flatten() {
        let found = figures(Some(disk));
        if !found.is_empty() {
            let fitted = match experiment.is_fitted(&finding.slow, measure) {
                true => " (fitted to that figure)",
                false => "",
            };
            clauses.push(format!("modelled on {disk}{fitted} {}", found.join(", ")));
        }
    }
    let own = figures(None);
    if !own.is_empty() {
        clauses.push(format!("measured here {}", own.join(", ")));
    }
    let ours = clauses.len() - usize::from(published.is_some());
    (ours > 0).then(|| format!("{}: {}.", finding.what, clauses.join("; ")))
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
