//! The server's waits: a bar of shares for each configuration, and a table with running percent as in the published results.

use super::{Figure, Key, Panel, WIDTH, style_class, svg, text};
use crate::experiment::Experiment;
use crate::report::format::{escape, seconds, shortened, thousands};
use crate::report::table::{Cell, Row, Table};
use crate::results::{ConfigurationResults, Results};
use std::collections::BTreeMap;

/// Colours for single wait types; the rest share one.
const SHOWN_MAX: usize = 6;
const OTHER: &str = "others";
const ROW_HEIGHT: f64 = 42.0;
const BAR_HEIGHT: f64 = 16.0;
const NAME_CHARACTERS_MAX: usize = 40;
/// The published query lists wait types until they make up this share.
const LISTED_PERCENT: f64 = 99.0;

/// Shares by wait type, percent, and in words what they are shares of.
struct Shares {
    name: String,
    total: String,
    percent: Vec<(String, f64)>,
}

/// The figure; nothing when no waits were read.
pub(in crate::report) fn figure(experiment: &Experiment, results: &Results) -> Figure {
    let ours: Vec<Shares> = results.configurations.iter().filter_map(measured).collect();
    if ours.is_empty() {
        return Figure::default();
    }
    let published = published(experiment);
    let shown = most_waited_for(ours.iter().chain(&published));
    let mut figure = Figure {
        title: "What the server waited for".into(),
        caption: "Shares of all wait time of the last run, harmless background waits left out; waits of several sessions add up, so the sum may exceed the elapsed time.".into(),
        ..Figure::default()
    };
    for (caption, shares, is_published) in [("measured here", &ours, false), ("published", &published, true)] {
        if !shares.is_empty() {
            figure.panels.push(Panel {
                caption: caption.into(),
                published: is_published,
                svg: panel(caption, shares, &shown),
            });
        }
    }
    let names = shown.iter().map(String::as_str).chain([OTHER]);
    figure.keys = names
        .enumerate()
        .map(|(style, name)| Key {
            style,
            line: false,
            text: name.into(),
        })
        .collect();
    figure.tables = results
        .configurations
        .iter()
        .filter_map(|each| table(each, experiment))
        .collect();
    figure
}

fn measured(configuration: &ConfigurationResults) -> Option<Shares> {
    let total: u64 = configuration.waits.iter().map(|wait| wait.wait_time_ms).sum();
    (total > 0).then(|| Shares {
        name: configuration.name.clone(),
        total: format!("{} in all", seconds(total as f64 / 1000.0)),
        percent: configuration
            .waits
            .iter()
            .filter(|wait| wait.wait_time_ms > 0)
            .map(|wait| (wait.wait_type.clone(), wait.wait_time_ms as f64 * 100.0 / total as f64))
            .collect(),
    })
}

fn published(experiment: &Experiment) -> Vec<Shares> {
    let configurations = experiment.published.iter().flat_map(|each| &each.configuration);
    configurations
        .filter(|each| !each.waits.is_empty())
        .map(|each| {
            let mut percent: Vec<(String, f64)> =
                each.waits.iter().map(|(name, share)| (name.clone(), *share)).collect();
            percent.sort_by(|left, right| right.1.total_cmp(&left.1));
            // What the source does not list is there all the same.
            let listed: f64 = percent.iter().map(|(_, share)| share).sum();
            percent.push((OTHER.into(), (100.0 - listed).max(0.0)));
            Shares {
                name: each.name.clone(),
                total: String::new(),
                percent,
            }
        })
        .collect()
}

/// The wait types with the largest shares, summed over all configurations.
fn most_waited_for<'a>(shares: impl Iterator<Item = &'a Shares>) -> Vec<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, share) in shares.flat_map(|each| &each.percent).filter(|(name, _)| name != OTHER) {
        *sums.entry(name).or_default() += share;
    }
    let mut names: Vec<(&str, f64)> = sums.into_iter().collect();
    names.sort_by(|left, right| right.1.total_cmp(&left.1));
    names.into_iter().take(SHOWN_MAX).map(|(name, _)| name.into()).collect()
}

fn panel(caption: &str, rows: &[Shares], shown: &[String]) -> String {
    let mut body = String::new();
    for (index, row) in rows.iter().enumerate() {
        let top = index as f64 * ROW_HEIGHT;
        let name = shortened(&row.name, NAME_CHARACTERS_MAX);
        body.push_str(&text("name", "start", (0.0, top + 14.0), &name));
        body.push_str(&text("value", "end", (WIDTH - 1.0, top + 14.0), &row.total));
        body.push_str(&row_svg(row, shown, top + 20.0));
    }
    let described: Vec<String> = rows
        .iter()
        .map(|row| {
            let largest = row.percent.first();
            let largest = largest.map(|(name, share)| format!("{name} {share:.0} %"));
            format!("{}: mostly {}", row.name, largest.unwrap_or_default())
        })
        .collect();
    svg(
        rows.len() as f64 * ROW_HEIGHT + 2.0,
        &format!("Waits, {caption}"),
        &described.join("; "),
        &body,
    )
}

fn row_svg(row: &Shares, shown: &[String], top: f64) -> String {
    let share_of = |name: &str| {
        row.percent
            .iter()
            .find(|(each, _)| each == name)
            .map_or(0.0, |(_, share)| *share)
    };
    let mut parts: Vec<(&str, f64)> = shown.iter().map(|name| (name.as_str(), share_of(name))).collect();
    let rest = row.percent.iter().filter(|(name, _)| !shown.contains(name));
    parts.push((OTHER, rest.map(|(_, share)| share).sum()));
    let mut from = 0.0;
    let mut body = String::new();
    for (style, (name, share)) in parts.iter().enumerate().filter(|(_, (_, share))| *share > 0.0) {
        body.push_str(&format!(
            "<rect class=\"area share {}\" x=\"{:.2}\" y=\"{top:.1}\" width=\"{:.2}\" height=\"{BAR_HEIGHT}\"><title>{}: {share:.1} %</title></rect>",
            style_class(style),
            from / 100.0 * WIDTH,
            share / 100.0 * WIDTH,
            escape(name)
        ));
        from += share;
    }
    body + "\n"
}

/// The table of the published query: wait type, seconds, percent, running percent.
fn table(configuration: &ConfigurationResults, experiment: &Experiment) -> Option<Table> {
    let shares = measured(configuration)?;
    let published = published(experiment)
        .into_iter()
        .find(|each| each.name == configuration.base);
    let mut names = vec![
        "<wait type",
        "waits",
        "seconds",
        "longest",
        "percent",
        "running percent",
    ];
    if published.is_some() {
        names.push("published percent");
    }
    let mut table = Table::plain(format!("Waits of {}", configuration.name), &names);
    table.rows.push(Row::Heading(configuration.name.clone()));
    let mut running = 0.0;
    for (name, percent) in &shares.percent {
        let wait = configuration.waits.iter().find(|wait| wait.wait_type == *name)?;
        running += percent;
        let mut cells = vec![
            Cell::text(name),
            Cell::figure(thousands(wait.waiting_tasks_count as f64)),
            Cell::figure(format!("{:.2}", wait.wait_time_ms as f64 / 1000.0)),
            Cell::figure(seconds(wait.max_wait_time_ms as f64 / 1000.0)),
            Cell::figure(format!("{percent:.2}")),
            Cell::figure(format!("{running:.2}")),
        ];
        if let Some(published) = &published {
            let share = published.percent.iter().find(|(each, _)| each == name);
            cells.push(Cell::figure(
                share.map_or_else(|| "–".into(), |(_, share)| format!("{share:.2}")),
            ));
        }
        table.push(cells);
        if running > LISTED_PERCENT {
            break;
        }
    }
    Some(table)
}
