//! Latency percentiles: a row for each configuration on a logarithmic axis.
//!
//! ```text
//! few-native · 40,000 transactions
//!      o----o-o--------o                o
//!     p50  p95 p99   p99.9           slowest
//! ```

use super::axis::Axis;
use super::{Figure, Key, Panel, WIDTH, style_class, svg, text};
use crate::report::format::{seconds, shortened, thousands};
use crate::report::table::{Cell, Table};
use crate::results::{ConfigurationResults, Latencies, Results};
use std::collections::BTreeSet;

const ROW_HEIGHT: f64 = 42.0;
const AXIS_HEIGHT: f64 = 24.0;
const SECONDS_PER_MICROSECOND: f64 = 1e-6;
const NAME_CHARACTERS_MAX: usize = 40;
const PERCENTILES: [&str; 5] = ["p50", "p95", "p99", "p99.9", "slowest"];

/// One panel for each kind of transaction; nothing when none was timed.
pub(in crate::report) fn figure(results: &Results) -> Figure {
    let names: BTreeSet<&String> = results
        .configurations
        .iter()
        .flat_map(|each| each.latencies.keys())
        .collect();
    let mut figure = Figure {
        title: "How long single transactions took".into(),
        caption: "Percentiles over all transactions of the last run, on a logarithmic axis.".into(),
        ..Figure::default()
    };
    for name in names {
        let rows: Vec<(&ConfigurationResults, &Latencies)> = results
            .configurations
            .iter()
            .filter_map(|each| Some((each, each.latencies.get(name)?)))
            .collect();
        figure.panels.push(Panel {
            caption: name.clone(),
            published: false,
            svg: panel(name, &rows),
        });
        figure.tables.push(table(name, &rows));
    }
    figure.keys = PERCENTILES
        .iter()
        .enumerate()
        .map(|(style, text)| Key {
            style,
            line: false,
            text: (*text).into(),
        })
        .collect();
    figure
}

fn percentiles(latencies: &Latencies) -> [f64; 5] {
    [
        latencies.p50_us,
        latencies.p95_us,
        latencies.p99_us,
        latencies.p999_us,
        latencies.max_us,
    ]
    .map(|micros| micros * SECONDS_PER_MICROSECOND)
}

fn panel(name: &str, rows: &[(&ConfigurationResults, &Latencies)]) -> String {
    let values = rows.iter().flat_map(|(_, latencies)| percentiles(latencies));
    let axis = Axis::logarithmic(values, (16.0, WIDTH - 24.0));
    let bottom = rows.len() as f64 * ROW_HEIGHT + 2.0;
    let mut body = String::new();
    for tick in axis.ticks() {
        let at = axis.at(tick);
        body.push_str(&format!("<path class=\"grid\" d=\"M{at:.1} 16V{bottom:.1}\"/>"));
        body.push_str(&text(
            "tick",
            "middle",
            (at, bottom + 15.0),
            &axis.tick_text("x_s", tick),
        ));
    }
    for (index, (configuration, latencies)) in rows.iter().enumerate() {
        let top = index as f64 * ROW_HEIGHT;
        body.push_str(&text(
            "name halo",
            "start",
            (0.0, top + 14.0),
            &shortened(&configuration.name, NAME_CHARACTERS_MAX),
        ));
        let median = format!("median {}", seconds(latencies.p50_us * SECONDS_PER_MICROSECOND));
        body.push_str(&text("value halo", "end", (WIDTH - 1.0, top + 14.0), &median));
        body.push_str(&row_svg(&percentiles(latencies), top + 28.0, &axis));
    }
    let described: Vec<String> = rows
        .iter()
        .map(|(each, latencies)| {
            let [p50, .., p999, _] = percentiles(latencies);
            format!("{}: median {}, p99.9 {}", each.name, seconds(p50), seconds(p999))
        })
        .collect();
    svg(
        bottom + AXIS_HEIGHT,
        &format!("Latency percentiles, {name}"),
        &described.join("; "),
        &body,
    )
}

fn row_svg(values: &[f64; 5], middle: f64, axis: &Axis) -> String {
    let [first, .., last] = *values;
    let mut body = format!(
        "<path class=\"spread\" d=\"M{:.1} {middle:.1}H{:.1}\"/>",
        axis.at(first),
        axis.at(last)
    );
    // The slowest first, so that the median lies on top where they fall together.
    for (style, value) in values.iter().enumerate().rev() {
        body.push_str(&format!(
            "<circle class=\"area dot {}\" cx=\"{:.1}\" cy=\"{middle:.1}\" r=\"4.5\"><title>{}: {}</title></circle>",
            style_class(style),
            axis.at(*value),
            PERCENTILES.get(style).unwrap_or(&""),
            seconds(*value)
        ));
    }
    body + "\n"
}

fn table(name: &str, rows: &[(&ConfigurationResults, &Latencies)]) -> Table {
    let mut names = vec!["<configuration", "transactions"];
    names.extend(PERCENTILES);
    let mut table = Table::plain(format!("Latency percentiles, {name}"), &names);
    for (configuration, latencies) in rows {
        let mut cells = vec![
            Cell::text(&configuration.name),
            Cell::figure(thousands(latencies.count as f64)),
        ];
        cells.extend(percentiles(latencies).map(|value| Cell::figure(seconds(value))));
        table.push(cells);
    }
    table
}
