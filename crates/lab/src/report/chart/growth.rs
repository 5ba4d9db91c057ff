//! How the log grew while it was filled: its size and its VLFs over time, one line for each configuration.

use super::series::{Line, Plane, Point, plane};
use super::{Figure, Key, Panel};
use crate::report::format::{bytes, seconds, thousands};
use crate::report::table::{Cell, Table};
use crate::results::{ConfigurationResults, GrowthEvent, Results};

/// What is drawn of a growth event: caption, name with its unit, the value.
type Drawn = (&'static str, &'static str, fn(&GrowthEvent) -> f64);

const DRAWN: [Drawn; 2] = [
    ("size of the log", "log_bytes", |event| event.log_bytes as f64),
    ("VLFs", "vlf_count", |event| event.vlf_count as f64),
];

/// Panels for every variant; nothing when no growth was watched.
pub(in crate::report) fn figure(results: &Results) -> Figure {
    let mut figure = Figure {
        title: "How the log grew".into(),
        caption: "In the last run of each configuration, while its log was watched. A lone dot is a log that was large enough from the start.".into(),
        ..Figure::default()
    };
    let bases = bases(results);
    let mut table = Table::plain(
        "Growth of the log",
        &[
            "<configuration",
            "first",
            "last",
            "from",
            "to",
            "VLFs from",
            "to",
            "samples",
        ],
    );
    for variant in results.variants() {
        let watched: Vec<&ConfigurationResults> = results
            .configurations
            .iter()
            .filter(|each| each.variant() == variant && !each.growth_events.is_empty())
            .collect();
        if watched.is_empty() {
            continue;
        }
        for (caption, name, value) in DRAWN {
            figure
                .panels
                .push(panel(&watched, &bases, variant, (caption, name, value)));
        }
        watched.iter().for_each(|each| table.push(row(each)));
    }
    figure.keys = bases
        .iter()
        .enumerate()
        .map(|(style, base)| Key {
            style,
            line: true,
            text: (*base).into(),
        })
        .collect();
    figure.tables.push(table);
    figure
}

fn bases(results: &Results) -> Vec<&str> {
    let mut bases: Vec<&str> = Vec::new();
    for each in results
        .configurations
        .iter()
        .filter(|each| !each.growth_events.is_empty())
    {
        if !bases.contains(&each.base.as_str()) {
            bases.push(&each.base);
        }
    }
    bases
}

fn panel(watched: &[&ConfigurationResults], bases: &[&str], variant: &str, drawn: Drawn) -> Panel {
    let (what, name, value) = drawn;
    let lines: Vec<Line> = watched
        .iter()
        .map(|each| Line {
            name: each.name.clone(),
            style: bases.iter().position(|base| *base == each.base).unwrap_or_default(),
            points: each
                .growth_events
                .iter()
                .map(|event| Point {
                    x: event.at_s,
                    y: value(event),
                    spread: None,
                })
                .collect(),
        })
        .collect();
    let caption = if variant.is_empty() {
        what.to_string()
    } else {
        format!("{what}, {variant}")
    };
    let shape = Plane {
        title: &format!("How the log grew: {caption}"),
        names: ("at_s", name),
        labels: ("time", what),
        logarithmic: false,
        stepped: true,
    };
    Panel {
        svg: plane(&shape, &lines),
        caption,
        published: false,
    }
}

fn row(configuration: &ConfigurationResults) -> Vec<Cell> {
    let events = &configuration.growth_events;
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return vec![Cell::text(&configuration.name)];
    };
    vec![
        Cell::text(&configuration.name),
        Cell::figure(seconds(first.at_s)),
        Cell::figure(seconds(last.at_s)),
        Cell::figure(bytes(first.log_bytes as f64)),
        Cell::figure(bytes(last.log_bytes as f64)),
        Cell::figure(thousands(first.vlf_count as f64)),
        Cell::figure(thousands(last.vlf_count as f64)),
        Cell::figure(thousands(events.len() as f64)),
    ]
}
