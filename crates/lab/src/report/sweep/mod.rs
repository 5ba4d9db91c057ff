//! The report of sweeps: one HTML page, the same as Markdown, and a table of everything for spreadsheets.
//!
//! ```text
//! what is there, what is missing, checks that did not hold
//! modelled; then for each class of machines, measured:
//!   for each experiment and time: what differs beyond spread, heat maps of disks and layouts, curves over the number of VLFs
//! ```
//! Invariant: the text follows from the results alone, whichever shards and folders they came from: no date, no machine but those measured.
//! Ratios are medians and quotients, so they are the same on every machine.
//!
//! Invariant: modelled and measured figures, and those of two classes of machines, share no table.

mod curves;
mod effects;
mod maps;

use super::chart::Figure;
use super::csv::field;
use super::format::{counted, escape, label, thousands};
use super::page;
use super::table::{Cell, Table, markdown_text};
use crate::sweep::merge::{ManifestEntry, Merged};
use crate::sweep::plan::Labels;
use crate::sweep::rows::Found;
use crate::sweep::table;
use advisor::history::Cell as Value;
use std::collections::BTreeSet;

/// What a time of an experiment comes to, in one group.
struct Part {
    title: String,
    about: String,
    tables: Vec<(String, Table)>,
    figure: Figure,
}

/// The results of one class of machines, or the modelled ones.
struct Group<'a> {
    title: String,
    found: Vec<&'a Found>,
}

fn groups(merged: &Merged) -> Vec<Group<'_>> {
    let machines: BTreeSet<&Option<String>> = merged.found.iter().map(|found| &found.machine).collect();
    let of = |machine: &Option<String>| Group {
        title: match machine {
            None => "Modelled, not measured".to_owned(),
            Some(class) => format!("Measured on {class}"),
        },
        found: merged.found.iter().filter(|found| found.machine == *machine).collect(),
    };
    machines.into_iter().map(of).collect()
}

/// A scale with its size: the words after it.
fn size(labels: &Labels) -> String {
    format!("{} {}", labels.scale, labels.size).trim_end().to_owned()
}

fn parts(group: &Group<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    let experiments: BTreeSet<&str> = group
        .found
        .iter()
        .map(|found| found.labels.experiment.as_str())
        .collect();
    for experiment in experiments {
        let of_it: Vec<&Found> = group
            .found
            .iter()
            .copied()
            .filter(|found| found.labels.experiment == experiment)
            .collect();
        let names = of_it.iter().flat_map(|found| found.measurements.keys());
        let times: BTreeSet<&str> = names.filter(|name| name.ends_with("_s")).map(String::as_str).collect();
        for measure in times {
            parts.push(part(experiment, measure, &of_it));
        }
    }
    parts
}

fn part(experiment: &str, measure: &str, found: &[&Found]) -> Part {
    let effects = effects::effects(measure, found);
    let mut tables = Vec::new();
    if effects.iter().any(effects::Effects::differs) {
        tables.push(("What differs beyond spread".to_owned(), effects::table(&effects)));
    }
    let (maps, left_out) = maps::maps(measure, found);
    tables.extend(maps);
    let mut about = effects::sentence(&effects);
    if left_out > 0 {
        about.push_str(&format!(
            " {} more heat maps are left out; results.csv has their figures.",
            thousands(left_out as f64)
        ));
    }
    Part {
        title: format!("{experiment}: {}", label(measure)),
        about,
        tables,
        figure: curves::figure(measure, found),
    }
}

fn title(merged: &Merged) -> String {
    let titles: BTreeSet<&str> = merged
        .manifests
        .iter()
        .map(|manifest| manifest.title.as_str())
        .collect();
    match titles.len() {
        0 => "A sweep".to_owned(),
        _ => titles.into_iter().collect::<Vec<&str>>().join("; "),
    }
}

fn programs(merged: &Merged) -> Vec<&str> {
    let programs: BTreeSet<&str> = merged.found.iter().map(|found| found.program.as_str()).collect();
    programs.into_iter().collect()
}

/// What is there, in a sentence.
pub fn summary(merged: &Merged) -> String {
    let measured = merged.found.iter().filter(|found| found.machine.is_some()).count();
    let configurations = counted(merged.found.len(), "configuration", "configurations");
    let missing = match merged.missing.len() {
        0 => "none is missing".to_owned(),
        1 => "1 that was planned is missing".to_owned(),
        many => format!("{} that were planned are missing", thousands(many as f64)),
    };
    format!("{configurations}, {measured} of them measured; {missing}")
}

/// What a reader must know before anything else.
fn warnings(merged: &Merged) -> Vec<String> {
    let mut warnings = Vec::new();
    let failed: Vec<&Found> = merged.found.iter().filter(|found| found.failed_checks() > 0).collect();
    if let Some(first) = failed.first() {
        let check = first.checks.iter().find(|check| check.failed > 0);
        let (name, detail) = check.map_or(("", ""), |check| (&check.name, &check.detail));
        warnings.push(format!(
            "A check did not hold in {}; the first, {}: {name}: {detail}",
            counted(failed.len(), "configuration", "configurations"),
            words(&first.labels)
        ));
    }
    if !merged.missing.is_empty() {
        warnings.push(format!("{}. 'vlflab sweep' runs them.", summary(merged)));
    }
    let programs = programs(merged);
    if programs.len() > 1 {
        warnings.push(format!(
            "Results of several versions of the program: {}.",
            programs.join(", ")
        ));
    }
    if merged.found.iter().any(|found| {
        found
            .machine
            .as_ref()
            .is_some_and(|class| class.ends_with(", not optimized"))
    }) {
        warnings.push("Measured with a build without optimisation: do not quote these times.".to_owned());
    }
    warnings
}

fn words(labels: &Labels) -> String {
    let parts = [
        &labels.experiment,
        &labels.layout,
        &labels.log_policy,
        &labels.sql_version,
        &labels.disk,
        &size(labels),
    ];
    parts.map(String::as_str).join(", ")
}

/// Rows of the table of what is missing.
const MISSING_MAX: usize = 50;

fn missing_table(missing: &[ManifestEntry]) -> Table {
    let mut table = Table::plain(
        "Missing",
        &["<experiment", "<size", "<layout", "<log policy", "<version", "<disk"],
    );
    for entry in missing.iter().take(MISSING_MAX) {
        let size = format!("{} {}", entry.scale, entry.size);
        let cells = [
            &entry.experiment,
            &size,
            &entry.layout,
            &entry.log_policy,
            &entry.sql_version,
            &entry.disk,
        ];
        table.push(cells.map(|text| Cell::text(text.trim_end())).to_vec());
    }
    table
}

const ABOUT_MODELLED: &str = "Every statement was executed; the time of the disk was computed from its figures, and processors took none of it. The same configuration has the same times on every machine.";
const ABOUT_MEASURED: &str = "By the clock of that machine; or, on a modelled disk, with its processor's time.";

fn about(group: &Group<'_>) -> &'static str {
    match group.found.first().is_some_and(|found| found.machine.is_some()) {
        true => ABOUT_MEASURED,
        false => ABOUT_MODELLED,
    }
}

/// The report as HTML.
pub fn html(merged: &Merged) -> String {
    let title = title(merged);
    let mut html = page::opening_of(&title);
    html.push_str(&format!(
        "<header>\n<p class=\"kicker\">vlflab {} · sweep · {}</p>\n<h1>{}</h1>\n",
        escape(&programs(merged).join(", ")),
        escape(&summary(merged)),
        escape(&title)
    ));
    for warning in warnings(merged) {
        html.push_str(&format!("<p class=\"warning\">{}</p>\n", escape(&warning)));
    }
    html.push_str("</header>\n");
    for group in groups(merged) {
        html.push_str(&format!(
            "<section>\n<h2>{}</h2>\n<p class=\"small\">{} {}</p>\n{}",
            escape(&group.title),
            about(&group),
            maps::NOTE,
            maps::legend_html()
        ));
        for part in parts(&group) {
            html.push_str(&part_html(&part));
        }
        html.push_str("</section>\n");
    }
    if !merged.missing.is_empty() {
        let heading = missing_heading(merged);
        html.push_str(&format!(
            "<section>\n<h2>{heading}</h2>\n{}</section>\n",
            missing_table(&merged.missing).html()
        ));
    }
    html + "</main>\n</body>\n</html>\n"
}

fn missing_heading(merged: &Merged) -> String {
    match merged.missing.len() {
        few if few <= MISSING_MAX => "Missing".to_owned(),
        many => format!("Missing: the first {MISSING_MAX} of {}", thousands(many as f64)),
    }
}

fn part_html(part: &Part) -> String {
    let mut html = format!("<h3>{}</h3>\n<p>{}</p>\n", escape(&part.title), escape(&part.about));
    for (heading, table) in &part.tables {
        html.push_str(&format!("<h4>{}</h4>\n{}", escape(heading), table.html()));
    }
    html + &part.figure.html()
}

/// The same as Markdown, the curves as tables.
pub fn markdown(merged: &Merged) -> String {
    let mut text = format!("# {}\n\n{}.\n\n", markdown_text(&title(merged)), summary(merged));
    for warning in warnings(merged) {
        text.push_str(&format!("**{}**\n\n", markdown_text(&warning)));
    }
    for group in groups(merged) {
        text.push_str(&format!("## {}\n\n{}\n\n", markdown_text(&group.title), about(&group)));
        for part in parts(&group) {
            text.push_str(&format!(
                "### {}\n\n{}\n\n",
                markdown_text(&part.title),
                markdown_text(&part.about)
            ));
            for (heading, table) in &part.tables {
                text.push_str(&format!("#### {}\n\n{}\n", markdown_text(heading), table.markdown()));
            }
        }
    }
    if !merged.missing.is_empty() {
        text.push_str(&format!(
            "## {}\n\n{}\n",
            missing_heading(merged),
            missing_table(&merged.missing).markdown()
        ));
    }
    text
}

/// Every figure, by RFC 4180.
pub fn csv(merged: &Merged) -> String {
    let names: Vec<&str> = table::COLUMNS.iter().map(|column| column.name).collect();
    let mut text = names.join(",") + "\r\n";
    for row in table::rows(merged) {
        let fields = row.iter().map(|cell| match cell {
            Value::Null => String::new(),
            Value::Text(text) => field(text),
            Value::Whole(number) | Value::Moment(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
        });
        text.push_str(&fields.collect::<Vec<String>>().join(","));
        text.push_str("\r\n");
    }
    text
}
