//! Heat maps: disks against layouts, one for each mechanism, version and size. Those that are alike are one, with all their names.

use crate::report::format::{seconds, thousands};
use crate::report::table::{Cell, Column, Look, NO_FIGURE, Table};
use crate::sweep::rows::Found;
use std::collections::{BTreeMap, BTreeSet};

/// More of one time would not be looked at.
const MAPS_MAX: usize = 24;

pub(super) const NOTE: &str = "In heat maps the colour is a time's ratio to the fastest of all maps of that time.";

/// Ratios from which on a cell is hotter.
const LIMITS: [f64; 3] = [10.0, 100.0, 1000.0];

pub(super) fn legend_html() -> String {
    let texts = [
        "less than 10 times",
        "10 times and more",
        "100 times and more",
        "1,000 times and more",
    ];
    let keys: String = texts
        .iter()
        .enumerate()
        .map(|(heat, text)| format!("<li><span class=\"heat h{heat} sample\"></span>{text}</li>"))
        .collect();
    format!("<ul class=\"legend\">{keys}</ul>\n")
}

/// What a map is of: mechanism, version, size.
type Key = (String, String, String);

/// A map's figures: by disk and layout, the layouts by their number of VLFs.
#[derive(Default, PartialEq)]
struct Map {
    layouts: Vec<(f64, String)>,
    cells: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The maps of a time with what each is of, and how many there are besides.
pub(super) fn maps(measure: &str, found: &[&Found]) -> (Vec<(String, Table)>, usize) {
    let mut maps: BTreeMap<Key, Map> = BTreeMap::new();
    for each in found {
        let Some(measurement) = each.measurements.get(measure) else {
            continue;
        };
        let labels = &each.labels;
        let key = (
            labels.log_policy.clone(),
            labels.sql_version.clone(),
            super::size(labels),
        );
        let map = maps.entry(key).or_default();
        let layout = (each.vlf_count(), labels.layout.clone());
        if !map.layouts.contains(&layout) {
            map.layouts.push(layout);
        }
        let row = map.cells.entry(labels.disk.clone()).or_default();
        row.insert(labels.layout.clone(), measurement.median);
    }
    let fastest = maps
        .values()
        .flat_map(|map| map.cells.values())
        .flat_map(BTreeMap::values);
    let fastest = fastest
        .copied()
        .filter(|median| *median > 0.0)
        .min_by(f64::total_cmp)
        .unwrap_or(1.0);
    let mut alike: Vec<(Vec<Key>, Map)> = Vec::new();
    for (key, mut map) in maps {
        let is_nothing = map
            .cells
            .values()
            .flat_map(BTreeMap::values)
            .all(|median| *median == 0.0);
        if is_nothing || (map.cells.len() < 2 && map.layouts.len() < 2) {
            continue;
        }
        map.layouts
            .sort_by(|left, right| left.0.total_cmp(&right.0).then_with(|| left.1.cmp(&right.1)));
        map.layouts.dedup_by(|left, right| left.1 == right.1);
        match alike.iter_mut().find(|(_, known)| *known == map) {
            Some((keys, _)) => keys.push(key),
            None => alike.push((vec![key], map)),
        }
    }
    let left_out = alike.len().saturating_sub(MAPS_MAX);
    let shown = alike.iter().take(MAPS_MAX);
    (
        shown.map(|(keys, map)| (heading(keys), map.table(fastest))).collect(),
        left_out,
    )
}

/// `classic; 2012, 2014; quick`.
fn heading(keys: &[Key]) -> String {
    let values = |of: fn(&Key) -> &String| {
        let values: BTreeSet<&String> = keys.iter().map(of).collect();
        values.into_iter().map(String::as_str).collect::<Vec<&str>>().join(", ")
    };
    let (policies, versions, sizes) = (values(|key| &key.0), values(|key| &key.1), values(|key| &key.2));
    format!("{policies}; {versions}; {sizes}")
}

impl Map {
    fn table(&self, fastest: f64) -> Table {
        let mut table = Table::plain("Disks against layouts", &["<disk"]);
        table.columns.extend(self.layouts.iter().map(|(vlfs, layout)| Column {
            group: String::new(),
            name: format!("{layout} ({} VLFs)", thousands(*vlfs)),
            look: Look::Figure,
        }));
        for (disk, row) in &self.cells {
            let cells = self.layouts.iter().map(|(_, layout)| match row.get(layout) {
                Some(median) => Cell::look(seconds(*median), look(median / fastest)),
                None => Cell::figure(NO_FIGURE),
            });
            table.push(std::iter::once(Cell::text(disk)).chain(cells).collect());
        }
        table
    }
}

fn look(ratio: f64) -> Look {
    Look::Heat(LIMITS.iter().filter(|limit| ratio >= **limit).count() as u8)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sweep::rows::tests::found;

    #[test]
    fn versions_that_are_alike_share_a_map_and_hot_cells_are_hot() {
        let mut all = vec![
            found("a", 100, &[("fill_s", 0.001)]),
            found("a", 20, &[("fill_s", 0.5)]),
            found("b", 100, &[("fill_s", 2.0)]),
        ];
        let other: Vec<Found> = all
            .iter()
            .cloned()
            .map(|mut found| {
                found.labels.sql_version = "2014".into();
                found
            })
            .collect();
        all.extend(other);
        let refs: Vec<&Found> = all.iter().collect();
        let (maps, left_out) = maps("fill_s", &refs);
        assert_eq!((maps.len(), left_out), (1, 0));
        assert_eq!(maps[0].0, "classic; 2012, 2014; quick");
        let names: Vec<&str> = maps[0].1.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["disk", "v20 (20 VLFs)", "v100 (100 VLFs)"]);
        let html = maps[0].1.html();
        assert!(html.contains("h3") && html.contains(NO_FIGURE), "{html}");
        // One that differs is another map.
        all[0].measurements.get_mut("fill_s").unwrap().median = 0.002;
        let refs: Vec<&Found> = all.iter().collect();
        assert_eq!(super::maps("fill_s", &refs).0.len(), 2);
    }
}
