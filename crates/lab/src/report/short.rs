//! The report on two printed pages, for a reader who decides and does not measure.
//!
//! ```text
//! sheet 1   what classic, native, modelled and measured mean; what came out; published seconds beside ours
//! sheet 2   on which disks VLFs begin to hurt; what to do; what this does not show; checks and machine
//! ```
//! Invariant: there are two sheets whatever the results are. Each list has a longest length and says when it was cut, and on paper
//! a sheet is no higher than a page.

use super::format::{escape, seconds, shortened, thousands};
use super::heat::{self, Line, MECHANISMS};
use super::sections::{self, Told};
use super::table::{Cell, Column, Look, Row, Table};
use super::{beside, has_modelled, page, verdict};
use crate::results::RunFile;

/// Sentences on the first sheet, characters of each, and rows of its table.
const SENTENCES_MAX: usize = 9;
const SENTENCE_CHARACTERS_MAX: usize = 330;
const ROWS_MAX: usize = 18;
/// Lines on the second sheet that say what is not shown.
const LIMITS_MAX: usize = 5;
/// Characters of a disk's title: one line.
const TITLE_CHARACTERS_MAX: usize = 34;
/// Numbers of VLFs in the map of the second sheet.
const VLF_COUNTS: [u64; 2] = [1_000, 20_480];

/// What follows for a log, whatever was measured.
const ADVICE: [&str; 4] = [
    "Count the VLFs of every log: select count(*) from sys.dm_db_log_info(db_id()), or the rows of DBCC LOGINFO before SQL Server 2016 SP2.",
    "Give a log the size that it needs, in a few large steps, and let it grow by hundreds of MB rather than by 1 MB or 10 %.",
    "A log of many VLFs is mended by backing it up, shrinking it and growing it again: 'vlflab plan' prints the exact layout on each version and the T-SQL.",
    "Where the map has no colour but the palest, the number of VLFs is not what to look at first.",
];

/// The short report as HTML text.
pub fn short(file: &RunFile) -> String {
    let told = super::told(file);
    let mut html = page::opening(file);
    html.push_str("<section class=\"sheet\">\n");
    html.push_str(&page::header(file));
    html.push_str(&page::terms_html(file));
    html.push_str(&outcome(&told));
    html.push_str("</section>\n<section class=\"sheet\">\n");
    if has_modelled(file) {
        html.push_str(&format!(
            "<h2>Where VLFs begin to hurt, by disk</h2>\n{}{}<p class=\"small\">{}</p>\n",
            heat::legend_html(),
            map().html(),
            escape(heat::NOTE_WITHOUT_RANGES)
        ));
    }
    html.push_str(&list("What to do", ADVICE.iter().map(ToString::to_string).collect()));
    html.push_str(&list("What this does not show", limits(&told)));
    for (held, text) in sections::safety_lines(file) {
        let class = if held { "held" } else { "warning" };
        html.push_str(&format!(
            "<p class=\"{class}\">{}</p>\n",
            escape(&shortened(&text, SENTENCE_CHARACTERS_MAX))
        ));
    }
    html.push_str(&format!("<p class=\"small\">{}</p>\n", escape(&machine(file))));
    html + "</section>\n</main>\n</body>\n</html>\n"
}

fn outcome(told: &[Told<'_>]) -> String {
    let understood = || {
        told.iter()
            .filter_map(|(results, experiment)| Some((*results, experiment.as_ref()?)))
    };
    let sentences: Vec<String> = understood()
        .flat_map(|(results, experiment)| sections::headlines(experiment, results))
        .collect();
    let mut html = list("What came out", cut(sentences, SENTENCES_MAX));
    let beside = understood().find_map(|(results, experiment)| {
        let table = beside::table(experiment, results)?;
        Some((table, beside::note(experiment, results)))
    });
    let table = beside.or_else(|| Some((sections::findings_table(told)?, sections::RATIO_KEY.to_string())));
    if let Some((table, note)) = table {
        html.push_str(&format!(
            "<h2>{}</h2>\n{}<p class=\"small\">{}</p>\n",
            escape(&table.caption),
            first_rows(table).html(),
            escape(&note)
        ));
    }
    html
}

/// The table as far as a sheet has room for it.
fn first_rows(mut table: Table) -> Table {
    for row in &mut table.rows {
        if let Row::Cells(cells) = row {
            // Parts and spreads are in the full report; marks stay.
            let parts = cells.iter_mut().filter(|cell| cell.below.contains(char::is_numeric));
            parts.for_each(|cell| cell.below.clear());
        }
    }
    let more = table.rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        table.rows.truncate(ROWS_MAX);
        table.rows.push(Row::Heading(format!(
            "{} more rows are in the full report",
            thousands(more as f64)
        )));
    }
    table
}

/// The first of them, and how many more there are.
fn cut(mut texts: Vec<String>, count_max: usize) -> Vec<String> {
    let more = texts.len().saturating_sub(count_max);
    texts.truncate(count_max);
    texts
        .iter_mut()
        .for_each(|text| *text = shortened(text, SENTENCE_CHARACTERS_MAX));
    if more > 0 {
        texts.push(format!("{} more in the full report.", thousands(more as f64)));
    }
    texts
}

fn limits(told: &[Told<'_>]) -> Vec<String> {
    let mut limits: Vec<String> = Vec::new();
    for (results, experiment) in told {
        let Some(experiment) = experiment else { continue };
        for limit in verdict::limits(experiment, results) {
            let text = format!("{}: {limit}", results.experiment);
            if !limits.contains(&text) {
                limits.push(text);
            }
        }
    }
    cut(limits, LIMITS_MAX)
}

fn list(title: &str, items: Vec<String>) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{}</li>\n", escape(item)))
        .collect();
    format!("<h2>{title}</h2>\n<ul>\n{items}</ul>\n")
}

/// All mechanisms in one map.
fn map() -> Table {
    let mut table = Table::plain("Where VLFs begin to hurt", &["<disk"]);
    for mechanism in &MECHANISMS {
        table.columns.extend(VLF_COUNTS.iter().map(|count| Column {
            group: mechanism.name.into(),
            name: format!("{} VLFs", thousands(*count as f64)),
            look: Look::Figure,
        }));
    }
    let all: Vec<Vec<Line>> = MECHANISMS
        .iter()
        .map(|mechanism| heat::lines(mechanism, &VLF_COUNTS))
        .collect();
    for first in all.first().into_iter().flatten() {
        let mut cells = vec![Cell::text(shortened(&first.disk.title, TITLE_CHARACTERS_MAX))];
        for lines in &all {
            let line = lines.iter().find(|line| line.disk.name == first.disk.name);
            let prices = line.into_iter().flat_map(|line| &line.prices);
            cells.extend(prices.map(|price| Cell::look(seconds(price.typical_s), heat::look(price.typical_s))));
        }
        table.push(cells);
    }
    table
}

fn machine(file: &RunFile) -> String {
    let machine = &file.environment;
    format!(
        "Measured on {}, {}, {}; a durable write of 8 KB took {:.0} µs there (median). vlflab {}, scale {}, {}. The full report has every figure, the method and the raw results.",
        shortened(&machine.cpu, 60),
        shortened(&machine.operating_system, 60),
        machine.filesystem,
        machine.durable_write_us_median,
        file.product_version,
        file.scale,
        file.started
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::catalogue;
    use crate::results::{ConfigurationResults, Results};

    fn file(experiment: &str, scale: &str, count: usize) -> RunFile {
        let read = catalogue::load(experiment).unwrap();
        let disks = plan_names(&read, scale);
        let results = |number: usize| Results {
            experiment: format!("{experiment}-{number}"),
            title: read.title.clone(),
            scale: scale.into(),
            toml: read.text.clone(),
            scripts: read.script_texts(),
            configurations: disks.clone(),
            ..Results::default()
        };
        RunFile {
            scale: scale.into(),
            experiments: (0..count).map(results).collect(),
            ..RunFile::default()
        }
    }

    fn plan_names(experiment: &crate::experiment::Experiment, scale: &str) -> Vec<ConfigurationResults> {
        use crate::plan::{Disks, on_disks, setups};
        let planned = on_disks(setups(experiment, &experiment.scale[scale]).unwrap(), Disks::AsWritten).unwrap();
        let found = |setup: &crate::plan::Setup| {
            let mut found = ConfigurationResults {
                name: setup.name.clone(),
                base: setup.base.clone(),
                title: setup.title.clone(),
                settings: setup.settings(),
                ..ConfigurationResults::default()
            };
            for measure in experiment.measurement_names() {
                found.measure(&measure, 1.5);
            }
            found
        };
        planned.iter().map(found).collect()
    }

    /// However much was run, there are two sheets, and each list on them is bounded.
    #[test]
    fn there_are_two_sheets_whatever_was_run() {
        for (experiment, scale, count) in [
            ("published", "quick", 1),
            ("published", "quick", 40),
            ("curve", "full", 3),
            ("growth", "quick", 30),
            ("recovery", "full", 0),
        ] {
            let html = short(&file(experiment, scale, count));
            assert_eq!(html.matches("<section class=\"sheet\">").count(), 2, "{experiment}");
            assert_eq!(html.matches("</section>").count(), 2, "{experiment}");
            let items = html.matches("<li>").count();
            assert!(
                items <= SENTENCES_MAX + LIMITS_MAX + ADVICE.len() + 6,
                "{experiment}: {items}"
            );
            let rows = html.matches("<tr").count();
            assert!(
                rows <= ROWS_MAX + crate::disks::names().len() + 6,
                "{experiment}: {rows}"
            );
        }
    }

    #[test]
    fn what_was_cut_is_said() {
        let html = short(&file("published", "quick", 40));
        assert!(html.contains("more in the full report"), "{html}");
    }
}
