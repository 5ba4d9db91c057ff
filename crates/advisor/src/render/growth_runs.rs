//! Growths of a log with alike ones in one line: a log that grew 1,249 times by 1 MB is two lines. JSON has every one.

use super::table::{Align, Table};
use crate::price::seconds_text;
use crate::size::{format_bytes, group_digits};
use crate::snapshot::{GrowthSeen, LogFile, VlfFacts};

/// Lines of a table at most.
const RUNS_MAX: usize = 200;

/// VLFs that one growth made.
#[derive(PartialEq, Eq)]
struct Grown {
    vlfs: u64,
    bytes: u64,
    active: u64,
    create_lsn: String,
}

fn growths(file: &LogFile) -> Vec<Grown> {
    let runs = file.vlfs.chunk_by(|one, other| one.create_lsn == other.create_lsn);
    let grown = |vlfs: &[VlfFacts]| Grown {
        vlfs: vlfs.len() as u64,
        bytes: vlfs.iter().map(|vlf| vlf.bytes).sum(),
        active: vlfs.iter().filter(|vlf| vlf.status == 2).count() as u64,
        create_lsn: vlfs.first().map_or_else(String::new, |vlf| vlf.create_lsn.clone()),
    };
    runs.map(grown).collect()
}

/// `1`, or `1 - 1,249`.
fn span<T: PartialEq + ToString>(first: T, last: T) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{} - {}", first.to_string(), last.to_string()),
    }
}

/// The growths that a file's VLFs tell of, runs of the same size and number of VLFs in one line; how many lines are left out.
pub(super) fn layout_table(file: &LogFile) -> (Table, usize) {
    let mut table = Table::new(&[
        ("growth", Align::Right),
        ("each", Align::Right),
        ("in all", Align::Right),
        ("VLFs", Align::Right),
        ("active", Align::Right),
        ("create LSN", Align::Left),
    ]);
    let all = growths(file);
    let (created, grown) = all.split_at(all.len().min(1));
    let alike = |one: &Grown, other: &Grown| (one.bytes, one.vlfs) == (other.bytes, other.vlfs);
    let runs: Vec<&[Grown]> = [created]
        .into_iter()
        .filter(|run| !run.is_empty())
        .chain(grown.chunk_by(alike))
        .collect();
    let mut number = 0;
    for run in runs.iter().take(RUNS_MAX) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let name = match number {
            0 => "created".to_owned(),
            from => span(group_digits(from), group_digits(from + run.len() as u64 - 1)),
        };
        number += run.len() as u64;
        let sum = |of: fn(&Grown) -> u64| run.iter().map(of).sum::<u64>();
        table.row(vec![
            name,
            format_bytes(first.bytes),
            format_bytes(sum(|grown| grown.bytes)),
            group_digits(sum(|grown| grown.vlfs)),
            group_digits(sum(|grown| grown.active)),
            span(first.create_lsn.clone(), last.create_lsn.clone()),
        ]);
    }
    (table, runs.len().saturating_sub(RUNS_MAX))
}

/// Growths and shrinks of a database's log that the default trace has, runs of the same kind and size in one line, with what they took;
/// how many lines are left out. `None` = it has none.
pub(super) fn remembered_table(seen: &[GrowthSeen], database: &str) -> Option<(Table, usize)> {
    let mut seen: Vec<&GrowthSeen> = seen
        .iter()
        .filter(|growth| growth.is_log && growth.database == database)
        .collect();
    if seen.is_empty() {
        return None;
    }
    seen.sort_by_key(|growth| growth.at);
    let mut table = Table::new(&[
        ("what", Align::Left),
        ("times", Align::Right),
        ("each", Align::Right),
        ("in all", Align::Right),
        ("from", Align::Left),
        ("to", Align::Left),
        ("seconds in all", Align::Right),
        ("slowest", Align::Right),
    ]);
    let runs: Vec<&[&GrowthSeen]> = seen
        .chunk_by(|one, other| (one.is_shrink, one.bytes) == (other.is_shrink, other.bytes))
        .collect();
    for run in runs.iter().take(RUNS_MAX) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            continue;
        };
        let at = |growth: &GrowthSeen| growth.at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let seconds = |microseconds: u64| seconds_text(microseconds as f64 / 1e6);
        table.row(vec![
            if first.is_shrink { "shrink" } else { "growth" }.to_owned(),
            group_digits(run.len() as u64),
            format_bytes(first.bytes),
            format_bytes(run.iter().map(|growth| growth.bytes).sum()),
            at(first),
            at(last),
            seconds(run.iter().map(|growth| growth.microseconds).sum()),
            seconds(run.iter().map(|growth| growth.microseconds).max().unwrap_or(0)),
        ]);
    }
    Some((table, runs.len().saturating_sub(RUNS_MAX)))
}
