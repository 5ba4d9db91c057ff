//! Curves: a time over the number of VLFs, a line for each disk, a panel for each mechanism, version and size. Panels that are alike are one.

use crate::report::chart::series::{Line, Plane, Point, plane};
use crate::report::chart::{Figure, Key, Panel};
use crate::report::format::{label, shortened, thousands};
use crate::sweep::rows::Found;
use std::collections::{BTreeMap, BTreeSet};

/// More of one time would not be looked at.
const PANELS_MAX: usize = 12;
/// Fewer points make no curve.
const COUNTS_MIN: usize = 3;

/// A point of a line: VLFs, then the median and the range of the runs, to be compared.
type Place = (u64, [f64; 3]);
/// The lines of a panel by disk.
type Lines = BTreeMap<String, Vec<Place>>;

/// The curves of a time.
pub(super) fn figure(measure: &str, found: &[&Found]) -> Figure {
    let mut panels: BTreeMap<String, Lines> = BTreeMap::new();
    let disks: BTreeSet<&str> = found.iter().map(|each| each.labels.disk.as_str()).collect();
    for each in found {
        let Some(measurement) = each.measurements.get(measure) else {
            continue;
        };
        let labels = &each.labels;
        let name = format!("{}, {}, {}", labels.log_policy, labels.sql_version, super::size(labels));
        let line = panels.entry(name).or_default().entry(labels.disk.clone()).or_default();
        line.push((
            each.vlf_count() as u64,
            [measurement.median, measurement.min, measurement.max],
        ));
    }
    let mut alike: Vec<(Vec<String>, Lines)> = Vec::new();
    for (name, mut lines) in panels {
        for line in lines.values_mut() {
            line.sort_by(|left, right| left.0.cmp(&right.0).then(left.1[0].total_cmp(&right.1[0])));
        }
        let counts: BTreeSet<u64> = lines.values().flatten().map(|(vlfs, _)| *vlfs).collect();
        if counts.len() < COUNTS_MIN {
            continue;
        }
        match alike.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => names.push(name),
            None => alike.push((vec![name], lines)),
        }
    }
    let left_out = alike.len().saturating_sub(PANELS_MAX);
    let caption = match left_out {
        0 => String::new(),
        many => format!(
            "{} more panels are left out; results.csv has their figures.",
            thousands(many as f64)
        ),
    };
    Figure {
        title: format!("{} over the number of VLFs", label(measure)),
        caption,
        keys: disks.iter().enumerate().map(|(style, disk)| key(style, disk)).collect(),
        panels: alike
            .iter()
            .take(PANELS_MAX)
            .map(|(names, lines)| panel(measure, names, lines, &disks))
            .collect(),
        tables: Vec::new(),
    }
}

fn key(style: usize, disk: &str) -> Key {
    Key {
        style,
        line: true,
        text: disk.to_owned(),
    }
}

fn panel(measure: &str, names: &[String], lines: &Lines, disks: &BTreeSet<&str>) -> Panel {
    const CAPTION_CHARACTERS_MAX: usize = 120;
    let point = |(vlfs, [median, min, max]): &Place| Point {
        x: *vlfs as f64,
        y: *median,
        spread: (min < max).then_some((*min, *max)),
    };
    let drawn: Vec<Line> = lines
        .iter()
        .map(|(disk, places)| Line {
            name: disk.clone(),
            style: disks
                .iter()
                .position(|known| *known == disk.as_str())
                .unwrap_or_default(),
            points: places.iter().map(point).collect(),
        })
        .collect();
    let caption = shortened(&names.join("; "), CAPTION_CHARACTERS_MAX);
    let shape = Plane {
        title: &caption,
        names: ("vlf_count", measure),
        labels: ("VLFs", &label(measure)),
        logarithmic: true,
        stepped: false,
    };
    Panel {
        svg: plane(&shape, &drawn),
        caption,
        published: false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sweep::rows::tests::found;

    #[test]
    fn three_numbers_of_vlfs_make_a_curve_and_two_do_not() {
        let all = [10, 100, 1000].map(|vlfs| found("a", vlfs, &[("fill_s", vlfs as f64 / 100.0)]));
        let refs: Vec<&Found> = all.iter().collect();
        let drawn = figure("fill_s", &refs);
        assert_eq!(drawn.panels.len(), 1);
        assert!(drawn.html().contains("classic, 2012, quick"));
        assert!(figure("fill_s", &refs[..2]).panels.is_empty());
    }
}
