//! The report: one HTML file that needs nothing else, on screen (light and dark, wide and narrow) and on paper; and the same
//! as Markdown and as a table for spreadsheets.
//!
//! ```text
//! checks that failed; the first finding in a sentence or two
//! with modelled figures: where VLFs begin to hurt, drawn
//! what came out, over all experiments
//! what classic, native, modelled and measured mean; published seconds beside ours where sizes are the same
//! for each: findings, charts, published beside measured, doubts, limits, checks, method
//! with modelled figures: the same map in seconds, by disk
//! machine, raw results
//! ```
//! It claims only what was measured and states what a scale cannot show. It is rendered from a [`RunFile`] alone.
//!
//! Invariant: everything that did not come from this module is escaped: names come from users' files, messages from servers.
//! Invariant: the page loads nothing, and its policy forbids it to. Its script only switches colours and offers the results
//! for download; without it nothing else is lost.

mod beside;
mod chart;
mod comparison;
mod csv;
pub(crate) mod format;
mod heat;
mod markdown;
mod method;
mod page;
mod picture;
mod sections;
mod short;
pub mod sweep;
mod table;
mod verdict;

pub use csv::csv;
pub use markdown::markdown;
pub use picture::picture;
pub use short::short;

use crate::experiment::{Experiment, Finding};
use crate::results::{Results, RunFile};
use verdict::VariantName;

/// The report as HTML text. An experiment whose own text this version does not understand is marked; its results are among
/// the raw ones.
pub fn render(file: &RunFile) -> String {
    let told = told(file);
    let mut html = page::opening(file);
    html.push_str(&page::header(file));
    html.push_str(&sections::overview(file, &told));
    for (results, experiment) in &told {
        if let Some(experiment) = experiment {
            html.push_str(&sections::experiment(results, experiment, told.len() == 1));
        }
    }
    if has_modelled(file) {
        html.push_str(&heat::section());
    }
    html.push_str(&page::foot(file));
    html
}

/// What came out in plain lines for a terminal: a word or two that say whose it is, and a sentence.
pub fn summary(experiment: &Experiment, results: &Results) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if beside::applies(experiment, results) {
        lines.extend(marked("result", beside::sentences(experiment, results)));
    } else {
        lines.extend(marked("modelled", modelled(experiment, results)));
        for finding in &experiment.finding {
            lines.extend(finding_lines(finding, experiment, results));
        }
    }
    lines.extend(marked("result", verdict::slope_clauses(results)));
    lines.extend(marked("checks", verdict::safety(results).map(|(_, text)| text)));
    lines
}

fn marked(mark: &str, texts: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
    texts.into_iter().map(|text| (mark.to_string(), text)).collect()
}

fn finding_lines(finding: &Finding, experiment: &Experiment, results: &Results) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for compared in verdict::compare(finding, results) {
        let VariantName { policy, disk } = VariantName::of(&compared.variant);
        let (mark, whose) = match (policy, disk) {
            (policy, Some(disk)) => ("modelled", format!("{policy} on {disk}: ")),
            ("", None) => ("measured", String::new()),
            (policy, None) => (policy, String::new()),
        };
        lines.push((mark.to_string(), whose.trim_start().to_string() + &compared.sentence));
    }
    if let Some(published) = &experiment.published {
        let sentence = verdict::published_sentence(finding, experiment, &published.short);
        let mark = verdict::published_mark(experiment, results).trim_start();
        let mark = if mark.is_empty() {
            String::new()
        } else {
            format!("{mark}: ")
        };
        lines.push(("published".into(), mark + &sentence));
    }
    lines
}

/// The figures of modelled disks, each beside the published one: what the device took and what processors took.
fn modelled(experiment: &Experiment, results: &Results) -> Vec<String> {
    let mut measures: Vec<&str> = Vec::new();
    for finding in &experiment.finding {
        if !measures.contains(&finding.measure.as_str()) {
            measures.push(&finding.measure);
        }
    }
    let mut lines = Vec::new();
    for configuration in &results.configurations {
        let Some(disk) = configuration.modelled_disk() else {
            continue;
        };
        for measure in &measures {
            let Some(found) = configuration.measurement(measure) else {
                continue;
            };
            let (Some(device), Some(processor)) = (found.device_s, found.processor_s) else {
                continue;
            };
            let show = |seconds| format::value(measure, seconds);
            let published = experiment
                .published_for(&configuration.base)
                .and_then(|known| known.get(*measure));
            let mark = verdict::published_mark(experiment, results);
            let published = published.map_or_else(String::new, |figure| format!("; published{mark} {}", show(*figure)));
            let name = configuration.name.split('@').next().unwrap_or_default();
            let what = format::label(measure);
            lines.push(format!(
                "{what}, {name} on {disk}: {} (device {}, processor {}){published}",
                show(found.median),
                show(device),
                show(processor)
            ));
        }
    }
    lines
}

/// Whether a modelled disk has a figure in it: then the maps of such disks belong to it.
fn has_modelled(file: &RunFile) -> bool {
    file.experiments.iter().any(beside::has_modelled)
}

/// The experiments with their texts read back.
fn told(file: &RunFile) -> Vec<sections::Told<'_>> {
    let each = file.experiments.iter();
    each.map(|results| (results, results.experiment().ok())).collect()
}
