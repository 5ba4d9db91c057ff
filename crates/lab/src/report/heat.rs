//! The number of VLFs from which they hurt: known disks against numbers of VLFs, one map for each mechanism of the classic log.
//!
//! Nothing here is executed: every cell is a closed form of [`device::price`] at a built-in disk's typical figures, and its range the same
//! at the best and the worst figures. The runs in the report show how accurate that is.
//!
//! Invariant: a cost is proportional to the number of VLFs, so one number of VLFs shows from where on a disk costs a second.

use super::chart::hurt::{self, Row};
use super::chart::{Figure, Panel};
use super::format::{escape, seconds, thousands};
use super::table::{Cell, Column, Look, Table};
use crate::disks::{self, DiskDescription};
use crate::results::{ConfigurationResults, RunFile};
use device::parameter::{Case, Figures};
use device::price::{self, Price};

/// Numbers of VLFs in the maps: two round ones that occur, and the published ones.
pub(super) const VLF_COUNTS: [u64; 5] = [100, 1_000, 8_192, 20_480, 126_399];

const MB: u64 = 1 << 20;
/// VLFs that a growth by 1 MB makes, and how far they lie apart.
const VLFS_PER_GROWTH: u64 = 4;
const VLF_BYTES: u64 = MB / VLFS_PER_GROWTH;

/// A way in which each VLF costs time.
pub(super) struct Mechanism {
    pub name: &'static str,
    /// What is done for each VLF.
    pub about: &'static str,
    /// Seconds on a device for so many VLFs.
    pub seconds: fn(&Figures, u64) -> f64,
    /// The measurement that has the same of this machine's disk.
    measure: &'static str,
}

/// The mechanisms whose cost is known in closed form.
pub(super) const MECHANISMS: [Mechanism; 3] = [
    Mechanism {
        name: "Growing the log by 1 MB at a time",
        about: "each growth makes four VLFs: zeros are written and flushed, then their headers, then the size of the file",
        seconds: |figures, vlfs| (vlfs as f64 / VLFS_PER_GROWTH as f64) * price::growth_s(figures, MB, VLFS_PER_GROWTH),
        measure: "growth_s",
    },
    Mechanism {
        name: "Finding the VLFs when the server starts",
        about: "one header is read after the other, 256 KB apart, before anybody hears of the database",
        seconds: |figures, vlfs| price::discovery_s(figures, vlfs, VLF_BYTES),
        measure: "discovery_s",
    },
    Mechanism {
        name: "Entering each VLF once while log is written",
        about: "the header of each VLF that the log enters is written and flushed on its own, and a commit waits for it",
        seconds: |figures, vlfs| vlfs as f64 * price::switch_s(figures),
        measure: "write_through_s",
    },
];

/// A disk's line in a map.
pub(super) struct Line {
    pub disk: DiskDescription,
    /// A price for each of the counts asked for.
    pub prices: Vec<Price>,
    /// VLFs that cost a second at typical figures.
    pub vlfs_for_one_second: f64,
}

/// A mechanism's line for every disk of the program, the slowest first.
pub(super) fn lines(mechanism: &Mechanism, counts: &[u64]) -> Vec<Line> {
    let known = disks::names().into_iter();
    let known = known.map(|name| disks::load(name).expect("a test reads every disk of the program"));
    let mut lines: Vec<Line> = known
        .map(|disk| {
            let price = |vlfs: u64| Price::of(&disk.ranges, |figures| (mechanism.seconds)(figures, vlfs));
            Line {
                prices: counts.iter().map(|vlfs| price(*vlfs)).collect(),
                vlfs_for_one_second: 1.0 / (mechanism.seconds)(&disk.ranges.at(Case::Typical), 1),
                disk,
            }
        })
        .collect();
    lines.sort_by(|left, right| left.vlfs_for_one_second.total_cmp(&right.vlfs_for_one_second));
    lines
}

/// What the maps begin with: how many VLFs a disk takes until they hurt, drawn.
pub(super) fn figure(file: &RunFile) -> Figure {
    let panels = [1, 0, 2].into_iter().filter_map(|index| MECHANISMS.get(index));
    let panels = panels.map(|mechanism| {
        let known = lines(mechanism, &[]).into_iter().map(|line| Row {
            about: line.disk.title,
            name: line.disk.name,
            vlfs_for_one_second: line.vlfs_for_one_second,
            is_own: false,
        });
        let rows: Vec<Row> = own_row(file, mechanism).into_iter().chain(known).collect();
        Panel {
            caption: mechanism.name.into(),
            published: false,
            svg: hurt::panel(mechanism.name, &rows, &MARKS),
        }
    });
    Figure {
        title: "Where VLFs begin to hurt".into(),
        caption: "Along each bar the number of VLFs grows. Its colour says what so many cost on that disk with a log that works as SQL Server's did from 2005 to 2012. The lines are at published numbers.".into(),
        panels: panels.collect(),
        ..Figure::default()
    }
}

/// Numbers of VLFs that were published.
const MARKS: [f64; 3] = [8_192.0, 20_480.0, 126_399.0];
/// The cost of fewer VLFs drowns in everything else.
const VLFS_MIN: f64 = 1_000.0;
/// Nor does less time.
const SECONDS_MIN: f64 = 0.01;

/// The disk that the run measured, if it has a classic log with many VLFs of the size that the map is of.
fn own_row(file: &RunFile, mechanism: &Mechanism) -> Option<Row> {
    let all = file.experiments.iter().flat_map(|each| &each.configurations);
    let measured = all.filter(|each| is_as_in_the_map(each)).filter_map(|each| {
        let took_s = each.measurement(mechanism.measure)?.median;
        let vlfs = each.measurement("vlf_count")?.median;
        (vlfs >= VLFS_MIN && took_s >= SECONDS_MIN).then_some((vlfs, took_s))
    });
    let (vlfs, took_s) = measured.max_by(|left, right| left.0.total_cmp(&right.0))?;
    Some(Row {
        name: "your disk".into(),
        about: format!("measured: {} for {} VLFs", seconds(took_s), thousands(vlfs)),
        vlfs_for_one_second: vlfs / took_s,
        is_own: true,
    })
}

/// Whether it is a classic log on this machine's disk that grew by 1 MB, four VLFs at a time.
fn is_as_in_the_map(each: &ConfigurationResults) -> bool {
    let median = |name| each.measurement(name).map(|found| found.median);
    let vlf_bytes = median("log_bytes")
        .zip(median("vlf_count"))
        .map(|(log, vlfs)| log / vlfs);
    let is_classic = each
        .settings
        .get("log_policy")
        .is_some_and(|policy| policy == "classic");
    let has_size = vlf_bytes.is_some_and(|bytes| (bytes / VLF_BYTES as f64 - 1.0).abs() < 0.1);
    is_classic && has_size && each.modelled_disk().is_none()
}

/// How much a time hurts: less than a second, seconds, from ten on, from a minute on.
pub(super) fn look(seconds: f64) -> Look {
    match seconds {
        minute if minute >= 60.0 => Look::Heat(3),
        ten if ten >= 10.0 => Look::Heat(2),
        one if one >= 1.0 => Look::Heat(1),
        _ => Look::Heat(0),
    }
}

/// The map of one mechanism.
pub(super) fn table(mechanism: &Mechanism) -> Table {
    let mut table = Table::plain(mechanism.name, &["<disk"]);
    let counts = VLF_COUNTS.iter();
    table.columns.extend(counts.map(|count| Column {
        group: "VLFs".into(),
        name: thousands(*count as f64),
        look: Look::Figure,
    }));
    table.columns.push(Column {
        group: String::new(),
        name: "1 s from".into(),
        look: Look::Figure,
    });
    for line in lines(mechanism, &VLF_COUNTS) {
        let mut cells = vec![disk_cell(&line.disk)];
        cells.extend(line.prices.iter().map(price_cell));
        cells.push(Cell::figure(hurt::rounded(line.vlfs_for_one_second)));
        table.push(cells);
    }
    table
}

fn disk_cell(disk: &DiskDescription) -> Cell {
    Cell {
        below: disk.title.clone(),
        ..Cell::text(&disk.name)
    }
}

fn price_cell(price: &Price) -> Cell {
    Cell {
        below: format!("{}–{}", seconds(price.fast_s), seconds(price.slow_s)),
        ..Cell::look(seconds(price.typical_s), look(price.typical_s))
    }
}

/// The colours in words.
const KEY: [(u8, &str); 4] = [
    (0, "less than 1 s"),
    (1, "1 s and more"),
    (2, "10 s and more"),
    (3, "a minute and more"),
];

/// How the maps are to be read.
pub(super) const NOTE: &str = "Computed, not executed: closed forms at the typical figures of each disk, below them the same at its best and worst figures; processors take none of it. The classic log's: under native a growth writes neither zeros nor headers, and VLFs are neither searched for nor entered one by one.";

/// The same where the ranges have no room.
pub(super) const NOTE_WITHOUT_RANGES: &str = "Seconds, computed from closed forms at the typical figures of each disk, not executed; processors take none of them. The classic log's: under native a growth writes neither zeros nor headers, and VLFs are neither searched for nor entered one by one.";

pub(super) fn legend_html() -> String {
    let keys: String = KEY
        .iter()
        .map(|(heat, text)| format!("<li><span class=\"heat h{heat} sample\"></span>{text}</li>"))
        .collect();
    format!("<ul class=\"legend\">{keys}</ul>\n")
}

/// The section of the report.
pub(super) fn section() -> String {
    let mut html = format!(
        "<section id=\"disks\">\n<h2>Where VLFs begin to hurt, in seconds</h2>\n<p class=\"small\">{NOTE}</p>\n{}",
        legend_html()
    );
    for mechanism in &MECHANISMS {
        html.push_str(&format!(
            "<h3>{}</h3>\n<p class=\"small\">{}.</p>\n{}",
            escape(mechanism.name),
            escape(&capitalised(mechanism.about)),
            table(mechanism).html()
        ));
    }
    html + "</section>\n"
}

/// The same as Markdown.
pub(super) fn markdown() -> String {
    let mut text = format!("## Where VLFs begin to hurt, in seconds\n\n{NOTE}\n\n");
    for mechanism in &MECHANISMS {
        text.push_str(&format!(
            "### {}\n\n{}.\n\n{}",
            mechanism.name,
            capitalised(mechanism.about),
            table(mechanism).markdown()
        ));
    }
    text
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::report::table::Row;
    use device::layout::{LayoutPrices, LogShape};
    use device::practice::Practice;

    /// Every cell of every map is the closed form of the device, and has the colour of its seconds.
    #[test]
    fn each_cell_is_the_closed_form_of_its_disk() {
        for mechanism in &MECHANISMS {
            let table = table(mechanism);
            assert_eq!(table.rows.len(), disks::names().len());
            for row in &table.rows {
                let Row::Cells(cells) = row else {
                    panic!("a heading");
                };
                let disk = disks::load(&cells[0].text).unwrap();
                let typical = disk.ranges.at(Case::Typical);
                for (cell, count) in cells[1..].iter().zip(VLF_COUNTS) {
                    let expected = match mechanism.name {
                        "Growing the log by 1 MB at a time" => {
                            price::growth_s(&typical, 1 << 20, 4) * count as f64 / 4.0
                        }
                        "Finding the VLFs when the server starts" => price::discovery_s(&typical, count, 256 << 10),
                        _ => price::switch_s(&typical) * count as f64,
                    };
                    assert_eq!(cell.text, seconds(expected), "{} {count}", disk.name);
                    let heat = [1.0, 10.0, 60.0].iter().filter(|limit| expected >= **limit).count();
                    assert_eq!(cell.look, Look::Heat(heat as u8));
                }
                let one_second = (mechanism.seconds)(&typical, 1_000_000) / 1e6;
                assert_eq!(cells[VLF_COUNTS.len() + 1].text, hurt::rounded(1.0 / one_second));
            }
        }
    }

    /// The published wait of 106 s, on the disk that is nearest to the published machine.
    #[test]
    fn the_map_has_the_published_wait() {
        let lines = lines(&MECHANISMS[1], &[20_480]);
        let line = lines.iter().find(|line| line.disk.name == "hdd-7200-2006").unwrap();
        let price = line.prices[0];
        assert!((80.0..110.0).contains(&price.typical_s), "{price:?}");
        assert!(price.fast_s < price.typical_s && price.typical_s < price.slow_s);
    }

    /// A turn of the platter, where the disk is one that ignores durable writes: what 8,192 VLFs cost in a run on that model, where
    /// writing 2 GB took 68 s longer than through 20 VLFs.
    #[test]
    fn entering_a_vlf_costs_a_turn_of_a_rotating_disk() {
        let disk = disks::load("hdd-7200-2010").unwrap();
        let seconds = (MECHANISMS[2].seconds)(&disk.ranges.at(Case::Typical), 8192);
        assert!((68.0..69.5).contains(&seconds), "{seconds}");
    }

    /// The map and the prices of a layout (`vlflab plan`) agree for the same log: on a disk behind a battery they were an overhead
    /// apart for each VLF, as only one of them paid the flush behind the header.
    #[test]
    fn a_layout_costs_what_the_map_says() {
        const VLFS: u64 = 1_000;
        let layout = LogShape {
            first_bytes: VLFS / VLFS_PER_GROWTH * MB,
            growths: Vec::new(),
            vlfs: vec![price::VlfRun {
                count: VLFS,
                vlf_bytes: VLF_BYTES,
            }],
        };
        for name in disks::names() {
            let ranges = disks::load(name).unwrap().ranges;
            let of_map = |index: usize| Price::of(&ranges, |figures| (MECHANISMS[index].seconds)(figures, VLFS));
            let prices = LayoutPrices::of(&layout, &ranges, Practice::SERIAL_DISCOVERY);
            assert_eq!(prices.discovery, of_map(1), "{name}");
            assert_eq!(prices.switches, of_map(2), "{name}");
        }
    }

    #[test]
    fn costs_are_proportional_and_colours_begin_where_they_say() {
        for mechanism in &MECHANISMS {
            let at = |disk: &DiskDescription, vlfs| (mechanism.seconds)(&disk.ranges.at(Case::Typical), vlfs);
            for line in lines(mechanism, &[]) {
                let ratio = at(&line.disk, 100_000) / at(&line.disk, 1_000);
                assert!((99.0..101.0).contains(&ratio), "{} {ratio}", line.disk.name);
            }
        }
        for (seconds, heat) in [(0.99, 0), (1.0, 1), (9.9, 1), (10.0, 2), (60.0, 3)] {
            assert_eq!(look(seconds), Look::Heat(heat));
        }
    }
}
