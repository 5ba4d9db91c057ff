//! The report: one HTML file that needs nothing else, neither network nor script, on screen (light and dark) and on paper.
//!
//! Order: what came out, the charts, our figures beside the published ones, where the published ones do not add up, what was
//! verified, method, machine, raw results. It claims what was measured and says where a scale hides an effect.

mod chart;
mod format;
mod sections;
mod verdict;

use crate::experiment::Experiment;
use crate::results::{Results, RunFile};
use format::escape;

const STYLE: &str = include_str!("style.css");

/// The report as HTML text. An experiment whose own text this version no longer understands is told with its raw results.
pub fn render(file: &RunFile) -> String {
    let mut html = String::with_capacity(64 * 1024);
    html.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let titles: Vec<String> = file.experiments.iter().map(|each| escape(&each.title)).collect();
    html.push_str(&format!(
        "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        titles.join(" · ")
    ));
    for results in &file.experiments {
        match results.experiment() {
            Ok(experiment) => html.push_str(&one(&experiment, results, file)),
            Err(error) => html.push_str(&format!(
                "<section><h1>{}</h1><p class=\"warning\">{}</p></section>\n",
                escape(&results.title),
                escape(&error.to_string())
            )),
        }
    }
    html.push_str(&sections::machine(&file.environment));
    html.push_str(&sections::raw(file));
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn one(experiment: &Experiment, results: &Results, file: &RunFile) -> String {
    let mut html = header(experiment, results, file);
    for part in [
        sections::verdict(experiment, results),
        sections::charts(experiment, results),
        sections::comparison(experiment, results),
        sections::doubts(experiment),
        sections::checks(results),
        sections::method(experiment, results),
    ] {
        html.push_str(&part);
    }
    html
}

/// The verdict in plain lines, for a terminal.
pub fn summary(experiment: &Experiment, results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in &experiment.finding {
        for compared in verdict::compare(finding, results) {
            let variant = if compared.variant.is_empty() {
                "measured"
            } else {
                &compared.variant
            };
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

fn header(experiment: &Experiment, results: &Results, file: &RunFile) -> String {
    let description = experiment
        .scale
        .get(&results.scale)
        .map_or("", |scale| scale.description.as_str());
    let mut html = format!(
        "<header>\n<p class=\"kicker\">vlflab · experiment {} · scale {} · {}</p>\n<h1>{}</h1>\n<p class=\"question\">{}</p>\n",
        escape(&results.experiment),
        escape(&results.scale),
        escape(&results.started),
        escape(&experiment.title),
        escape(&experiment.question),
    );
    if let Some(reason) = &results.stopped {
        html.push_str(&format!(
            "<p class=\"warning\">This run stopped early ({}); what follows is what it had measured by then.</p>\n",
            escape(reason)
        ));
    }
    if results.scale != "full" {
        html.push_str(&format!(
            "<p class=\"note\">This is the {} scale: {}. What many VLFs cost grows with their number, so effects are smaller here than at the published size; <code>vlflab run {} --scale full</code> measures that.</p>\n",
            escape(&results.scale),
            escape(description),
            escape(&results.experiment)
        ));
    }
    if !file.environment.optimized_build {
        html.push_str(
            "<p class=\"warning\">Measured with a build without optimisation: do not quote these times.</p>\n",
        );
    }
    html.push_str("</header>\n");
    html
}
