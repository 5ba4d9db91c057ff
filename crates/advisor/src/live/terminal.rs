//! A recording in a terminal: a line for each event, and the log as a row of cells whenever it has changed.
//!
//! ```text
//! 12:00:03.120  sales  The log entered VLF 44. 8 MB, used for the first time.
//!               sales  ####>.....          43 % of 10 MB used, 4 of 8 VLFs active, LOG_BACKUP
//! ```
//! `#` active, `>` the VLF in which the log stands, `.` reusable, a blank one that was never used. A cell that has several VLFs shows what most
//! of its bytes are.

use super::words::duration;
use super::{Frame, Head, LogMap, Stand};
use crate::size::{format_bytes, group_digits};
use std::fmt::Write;

/// Cells of a row.
const CELLS: usize = 48;

/// The lines of a frame, once `stand` has it; `None` where there is nothing to say. Of one database, or of all.
pub fn lines(stand: &Stand, frame: &Frame, only: Option<&str>) -> Option<String> {
    // What belongs to no database is a sentence of a lesson.
    let is_wanted = |database: &str| database.is_empty() || only.is_none_or(|only| only == database);
    let mut out = String::new();
    let mut named: Vec<&str> = Vec::new();
    for event in frame.events.iter().filter(|event| is_wanted(&event.database)) {
        if event.database.is_empty() {
            // A String takes whatever is written.
            let _ = writeln!(out, "\n{}", event.text);
            continue;
        }
        let clock = clock(event.at);
        let took = event
            .micros
            .map_or(String::new(), |micros| format!(" ({})", duration(micros)));
        let why = if event.why.is_empty() { "" } else { " " };
        let _ = writeln!(
            out,
            "{clock}  {}  {}{took}{why}{}",
            event.database, event.text, event.why
        );
        if !named.contains(&event.database.as_str()) {
            named.push(&event.database);
        }
    }
    for database in named {
        let map = stand.maps.iter().find(|map| map.database == database);
        let head = stand.heads.iter().find(|head| head.database == database);
        if let (Some(map), Some(head)) = (map, head) {
            let _ = writeln!(out, "              {database}  {}", row(map, head));
        }
    }
    (!out.is_empty()).then_some(out)
}

/// A log as cells and figures.
fn row(map: &LogMap, head: &Head) -> String {
    let used = 100.0 * head.used_bytes as f64 / head.total_bytes.max(1) as f64;
    format!(
        "[{}] {used:.0} % of {} used, {} of {} VLFs active, {}",
        cells(map, head),
        format_bytes(head.total_bytes),
        group_digits(head.active_vlfs),
        group_digits(head.vlf_count),
        head.reuse_wait
    )
}

fn cells(map: &LogMap, head: &Head) -> String {
    let total: u128 = map.vlfs().map(|(_, _, bytes, _)| u128::from(bytes)).sum();
    let mut weights = vec![[0_u64; 4]; CELLS];
    let mut before = 0_u128;
    for (_, _, bytes, sequence) in map.vlfs() {
        let kind = match (head.active, sequence) {
            (Some((_, last)), sequence) if sequence == last && sequence > 0 => 3,
            (Some((first, last)), sequence) if sequence > 0 && (first..=last).contains(&sequence) => 2,
            (_, 0) => 0,
            _ => 1,
        };
        let cell_of = |at: u128| (at * CELLS as u128 / total.max(1)) as usize;
        let (first, last) = (cell_of(before), cell_of(before + u128::from(bytes.saturating_sub(1))));
        for cell in &mut weights[first.min(CELLS - 1)..=last.min(CELLS - 1)] {
            cell[kind] += bytes;
        }
        before += u128::from(bytes);
    }
    let shown = |cell: &[u64; 4]| match cell {
        [_, _, _, head] if *head > 0 => '>',
        [unused, free, active, _] if active >= unused && active >= free && *active > 0 => '#',
        [unused, free, ..] if free >= unused && *free > 0 => '.',
        _ => ' ',
    };
    weights.iter().map(shown).collect()
}

/// The time of day, UTC.
fn clock(micros: u64) -> String {
    let (of_day, fraction) = (micros / 1_000_000 % 86_400, micros / 1_000 % 1_000);
    format!(
        "{:02}:{:02}:{:02}.{fraction:03}",
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

#[cfg(test)]
mod tests {
    use super::super::FileMap;
    use super::*;

    #[test]
    fn cells_show_what_most_of_their_bytes_are() {
        let map = LogMap {
            database: "sales".to_owned(),
            files: vec![FileMap {
                id: 2,
                sizes: [100; 4].into_iter().collect(),
                sequences: [5, 6, 0, 3].into_iter().collect(),
                ..FileMap::default()
            }],
        };
        let head = Head {
            active: Some((5, 6)),
            ..Head::default()
        };
        let quarter = CELLS / 4;
        let expected = ['#', '>', ' ', '.']
            .map(|cell| cell.to_string().repeat(quarter))
            .concat();
        assert_eq!(cells(&map, &head), expected);
        assert_eq!(cells(&LogMap::default(), &head), " ".repeat(CELLS));
    }
}
