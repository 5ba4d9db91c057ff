//! The report: one HTML file that needs nothing else, on screen (light and dark, wide and narrow) and on paper; and the same
//! as Markdown and as a table for spreadsheets.
//!
//! ```text
//! what came out, over all experiments
//! for each: findings, charts, published beside measured, doubts, limits, checks, method
//! machine, raw results
//! ```
//! It claims what was measured and says what a scale cannot show. It renders from a [`RunFile`] alone.
//!
//! Invariant: everything that did not come from this module is escaped: names come from users' files, messages from servers.
//! Invariant: the page loads nothing, and its policy forbids it to. Its script only switches colours and offers the results
//! for download; without it nothing else is lost.

mod chart;
mod comparison;
mod csv;
pub(crate) mod format;
mod markdown;
mod method;
mod page;
mod sections;
mod table;
mod verdict;

pub use csv::csv;
pub use markdown::markdown;

use crate::experiment::Experiment;
use crate::results::{Results, RunFile};

/// The report as HTML text. An experiment whose own text this version does not understand is told as such; its results are
/// among the raw ones.
pub fn render(file: &RunFile) -> String {
    let told = told(file);
    let mut html = page::head(file);
    html.push_str(&sections::overview(file, &told));
    for (results, experiment) in &told {
        if let Some(experiment) = experiment {
            html.push_str(&sections::experiment(results, experiment, told.len() == 1));
        }
    }
    html.push_str(&page::foot(file));
    html
}

/// The figures of modelled disks in plain lines, each beside the published one: what the device took and what processors took.
pub fn modelled(experiment: &Experiment, results: &Results) -> Vec<String> {
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
            let published = published.map_or_else(String::new, |figure| format!("; published {}", show(*figure)));
            let name = configuration.name.split('@').next().unwrap_or_default();
            let what = format::label(measure);
            lines.push(format!(
                "modelled  {what}, {name} on {disk}: {} (device {}, processor {}){published}",
                show(found.median),
                show(device),
                show(processor)
            ));
        }
    }
    lines
}

/// The verdict in plain lines, for a terminal.
pub fn summary(experiment: &Experiment, results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in &experiment.finding {
        for compared in verdict::compare(finding, results) {
            let variant = verdict::shown_variant(&compared.variant);
            lines.push(format!("{variant:<9} {}", compared.sentence));
        }
        if let Some(published) = &experiment.published {
            let sentence = verdict::published_sentence(finding, experiment, &published.short);
            lines.push(format!("published {sentence}"));
        }
    }
    lines.extend(verdict::safety(results).map(|(_, text)| format!("{:<9} {text}", "checks")));
    lines
}

/// The experiments with their texts read back.
fn told(file: &RunFile) -> Vec<sections::Told<'_>> {
    let each = file.experiments.iter();
    each.map(|results| (results, results.experiment().ok())).collect()
}
