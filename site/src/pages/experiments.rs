//! The experiments: their authors, the published figures, our results, and open doubts.

use super::cell;
use crate::{Outcome, SiteError, read};
use lab::catalogue;
use lab::experiment::{Experiment, Published};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "# The published experiments\n\n\
Between 2008 and 2013 several people measured the cost of many virtual log files. vlflab repeats their experiments. For each, this page gives the \
source, the published figures, the seconds for the same work on the model of such a disk, and what does not add up in the source or here.\n\n\
Modelled seconds are disk time only, without processor time, so they are the same on every machine. \"calibrates\" marks a figure that the \
disk's model was fitted to, so it is not a prediction. [How accurate the models are](validity.md) has these rows for all experiments. \
[Performance](performance.md) has this engine's times on a real disk.\n";

/// Which rows of the table of validity an experiment's figures stand in: the name of its post there.
const POSTS: [(&str, &str); 4] = [
    ("recovery", "kent"),
    ("growth", "berry"),
    ("dml", "sqlsat"),
    ("backup", "ezequiel"),
];
const VALIDITY: &str = "docs/validity.md";

/// The page.
///
/// # Errors
/// An experiment with mistakes; a table of validity that lacks a post.
pub fn page(root: &Path) -> Outcome<String> {
    let validity = read(&root.join(VALIDITY))?;
    let mut page = HEAD.to_string();
    for name in catalogue::names() {
        let experiment = catalogue::load(name).map_err(|error| SiteError(error.to_string()))?;
        add(&mut page, &experiment);
        if let Some((_, post)) = POSTS.iter().find(|(experiment, _)| *experiment == name) {
            page += &modelled(&validity, post)?;
        }
        add_doubts(&mut page, &experiment);
    }
    Ok(page)
}

fn add(page: &mut String, experiment: &Experiment) {
    let Experiment {
        name, title, question, ..
    } = experiment;
    let _ = write!(page, "\n## {name}: {title}\n\n{question}\n\n");
    match &experiment.published {
        Some(published) => add_published(page, experiment, published),
        None => page.push_str("No such measurement is published: the question is this project's.\n\n"),
    }
    page.push_str("How to run it:\n\n| command | size |\n|---|---|\n");
    for (scale, size) in experiment.scale.iter().filter(|(_, size)| !size.hidden) {
        let option = if scale == "quick" {
            String::new()
        } else {
            format!(" --scale {scale}")
        };
        let _ = writeln!(page, "| `vlflab run {name}{option}` | {} |", cell(&size.description));
    }
    page.push('\n');
}

fn add_published(page: &mut String, experiment: &Experiment, published: &Published) {
    let Published {
        source, machine, note, ..
    } = published;
    let _ = write!(
        page,
        "**Source**: {source}.\n\n**Machine**: {machine}\n\n**Figures**: {note}\n\n"
    );
    let measures: BTreeSet<&String> = published
        .configuration
        .iter()
        .flat_map(|each| each.measurements.keys())
        .collect();
    if measures.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "| published | {} |",
        joined(measures.iter().map(|name| format!("`{name}`")))
    );
    let _ = writeln!(page, "|---|{}", "---:|".repeat(measures.len()));
    for each in &published.configuration {
        let found = experiment.configuration.iter().find(|other| other.name == each.name);
        let title = found.map_or(each.name.as_str(), |configuration| configuration.title.as_str());
        let figures = measures
            .iter()
            .map(|name| each.measurements.get(*name).map_or(String::new(), f64::to_string));
        let _ = writeln!(page, "| {} (`{}`) | {} |", cell(title), each.name, joined(figures));
    }
    page.push('\n');
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" | ")
}

/// The rows of a post in the table of validity.
fn modelled(validity: &str, post: &str) -> Outcome<String> {
    let begin = format!("| {post} | ");
    let rows: Vec<&str> = validity.lines().filter_map(|line| line.strip_prefix(&begin)).collect();
    if rows.is_empty() {
        return Err(SiteError(format!(
            "{VALIDITY} has no row of {post}, which an experiment's page is made of"
        )));
    }
    let mut text = "Compared with the model of a disk of its time, under the classic policy:\n\n\
                    | figure | published, s | device, s | processor, s | ratio | within 25 % | why not |\n|---|---:|---:|---:|---:|---|---|\n"
        .to_string();
    for row in rows {
        let _ = writeln!(text, "| {row}");
    }
    text.push('\n');
    Ok(text)
}

fn add_doubts(page: &mut String, experiment: &Experiment) {
    let published = experiment.published.iter().flat_map(|published| &published.doubt);
    let doubts: Vec<&str> = published.map(|doubt| doubt.text.as_str()).collect();
    let notes = experiment.finding.iter().filter(|finding| !finding.note.is_empty());
    let notes: Vec<String> = notes
        .map(|finding| format!("{}: {}", finding.what, finding.note))
        .collect();
    let list = |heading: &str, items: &[&str]| match items.is_empty() {
        true => String::new(),
        false => format!(
            "{heading}\n\n{}\n",
            items.iter().map(|item| format!("- {item}\n")).collect::<String>()
        ),
    };
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    *page += &list("What is in doubt in the source:", &doubts);
    *page += &list("What to know when reading our result:", &notes);
    let end = page.trim_end().len();
    page.truncate(end);
    page.push('\n');
}
