//! The report as Markdown: verdict, tables, doubts, machine; no charts.

use super::table::{Table, markdown_text};
use super::{beside, comparison, heat, method, page, sections, verdict};
use crate::experiment::Experiment;
use crate::results::{Results, RunFile};

/// The report as Markdown text.
pub fn markdown(file: &RunFile) -> String {
    let told = super::told(file);
    let mut text = format!(
        "# vlflab: scale {}, {}\n\n",
        markdown_text(&file.scale),
        markdown_text(&file.started)
    );
    for warning in page::warnings(file) {
        text.push_str(&format!("> {}\n\n", markdown_text(&warning)));
    }
    text.push_str("## What came out\n\n");
    for (results, experiment) in &told {
        match experiment {
            Some(experiment) => text.push_str(&headline(experiment, results)),
            None => text.push_str(&format!(
                "- **{}**: this version cannot read the experiment's text.\n",
                markdown_text(&results.experiment)
            )),
        }
    }
    text.push('\n');
    for (term, meaning) in page::terms(file) {
        text.push_str(&format!("- **{term}**: {}\n", markdown_text(&meaning)));
    }
    text.push('\n');
    if let Some(table) = sections::findings_table(&told) {
        text.push_str(&table.markdown());
        text.push_str(&format!("{}\n\n", sections::RATIO_KEY));
    }
    for (_, line) in sections::safety_lines(file) {
        text.push_str(&format!("{}\n\n", markdown_text(&line)));
    }
    for (results, experiment) in &told {
        if let Some(experiment) = experiment {
            text.push_str(&section(experiment, results));
        }
    }
    if super::has_modelled(file) {
        text.push_str(&heat::markdown());
    }
    text + "## Machine and versions\n\n" + &method::machine(file).markdown()
}

fn headline(experiment: &Experiment, results: &Results) -> String {
    let mut sentences = sections::headlines(experiment, results);
    let first = if sentences.is_empty() {
        String::new()
    } else {
        sentences.remove(0)
    };
    let mut text = format!(
        "- **{}**: {}\n",
        markdown_text(&results.experiment),
        markdown_text(&first)
    );
    for sentence in &sentences {
        text.push_str(&format!("  {}\n", markdown_text(sentence)));
    }
    for limit in verdict::limits(experiment, results) {
        text.push_str(&format!("  {}\n", markdown_text(&limit)));
    }
    if let Some(table) = beside::table(experiment, results) {
        let note = beside::note(experiment, results);
        text.push_str(&format!("\n{}{}\n\n", table.markdown(), markdown_text(&note)));
    }
    text
}

fn section(experiment: &Experiment, results: &Results) -> String {
    let mut text = format!(
        "## {}\n\n{}\n\n",
        markdown_text(&experiment.title),
        markdown_text(&experiment.question)
    );
    for finding in &experiment.finding {
        for compared in verdict::compare(finding, results) {
            let variant = verdict::shown_variant(&compared.variant);
            text.push_str(&format!(
                "- {}: {}\n",
                markdown_text(&variant),
                markdown_text(&compared.sentence)
            ));
        }
    }
    text.push('\n');
    text.push_str(&comparison::table(experiment, results).markdown());
    text.push_str(&format!(
        "{}\n\n",
        markdown_text(&comparison::ratio_note(experiment, results))
    ));
    if let Some(published) = &experiment.published {
        text.push_str(&format!("Published: {}.\n\n", markdown_text(&published.source)));
    }
    text.push_str(&list(
        "Where the published figures do not add up",
        &sections::doubts(experiment),
    ));
    text.push_str(&list("Done in another way here", &results.notes));
    let tables = [
        ("What a thousand VLFs cost", method::slopes(results)),
        ("Thresholds", method::thresholds(results)),
        ("What was verified", method::checks(results)),
        ("Settings", Some(method::settings(results))),
    ];
    for (title, table) in tables {
        let table = table.as_ref().map(Table::markdown);
        text.push_str(&table.map_or(String::new(), |table| format!("### {title}\n\n{table}")));
    }
    text
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("- {}\n", markdown_text(item)))
        .collect();
    format!("### {title}\n\n{items}\n")
}
