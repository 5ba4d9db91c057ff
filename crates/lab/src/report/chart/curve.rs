//! Cost over the number of VLFs: one panel for each measurement, one line for each mechanism.

use super::series::{Line, Plane, Point, plane};
use super::{Figure, Key, Panel};
use crate::experiment::Chart;
use crate::report::format::{label, thousands, value};
use crate::report::table::{Cell, Row, Table};
use crate::results::{ConfigurationResults, Results};

const VLFS: &str = "vlf_count";

/// The chart of an experiment whose configurations differ in their number of VLFs.
pub(in crate::report) fn figure(chart: &Chart, results: &Results) -> Figure {
    let variants = results.variants();
    let mut figure = Figure {
        title: chart.title.clone(),
        caption: chart.caption.clone(),
        ..Figure::default()
    };
    for measure in &chart.measures {
        let lines: Vec<Line> = variants
            .iter()
            .enumerate()
            .map(|(style, variant)| line(results, measure, variant, style))
            .filter(|line| !line.points.is_empty())
            .collect();
        if lines.is_empty() {
            continue;
        }
        let shape = Plane {
            title: &format!("{}: {}", chart.title, label(measure)),
            names: (VLFS, measure),
            labels: ("VLFs", &label(measure)),
            logarithmic: true,
            stepped: false,
        };
        figure.panels.push(Panel {
            caption: label(measure),
            published: false,
            svg: plane(&shape, &lines),
        });
        figure.tables.push(table(measure, &lines));
    }
    figure.keys = variants
        .iter()
        .enumerate()
        .map(|(style, variant)| Key {
            style,
            line: true,
            text: name(variant),
        })
        .collect();
    figure
}

fn name(variant: &str) -> String {
    if variant.is_empty() {
        "measured".into()
    } else {
        variant.into()
    }
}

fn line(results: &Results, measure: &str, variant: &str, style: usize) -> Line {
    let of_variant = results.configurations.iter().filter(|each| each.variant() == variant);
    let mut points: Vec<Point> = of_variant.filter_map(|each| point(each, measure)).collect();
    points.sort_by(|left, right| left.x.total_cmp(&right.x));
    Line {
        name: name(variant),
        style,
        points,
    }
}

fn point(configuration: &ConfigurationResults, measure: &str) -> Option<Point> {
    let vlfs = configuration.measurement(VLFS)?;
    let cost = configuration.measurement(measure)?;
    Some(Point {
        x: vlfs.median,
        y: cost.median,
        spread: (cost.runs > 1).then_some((cost.min, cost.max)),
    })
}

fn table(measure: &str, lines: &[Line]) -> Table {
    let mut counts: Vec<f64> = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.x)
        .collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let mut names = vec!["VLFs"];
    names.extend(lines.iter().map(|line| line.name.as_str()));
    let mut table = Table::plain(label(measure), &names);
    table.rows.push(Row::Heading(label(measure)));
    for count in counts {
        let mut cells = vec![Cell::figure(thousands(count))];
        cells.extend(lines.iter().map(|line| {
            let point = line.points.iter().find(|point| point.x == count);
            Cell::figure(point.map_or_else(|| "–".into(), |point| value(measure, point.y)))
        }));
        table.push(cells);
    }
    table
}
