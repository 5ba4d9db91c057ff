//! The history of passes over an estate, and its trends: how fast logs grow, VLFs multiply, volumes fill.
//!
//! A pass leaves a [`LogRow`] for each log file and a [`FindingRow`] for each finding. They are flat tables, for any program that reads
//! tables: names and kinds of columns ([`LOG_COLUMNS`], [`FINDING_COLUMNS`]) are a contract, columns are added and never renamed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::advice::{Advice, Outcome};
use crate::snapshot::{DatabaseFacts, FileGrowth, LogFile, Snapshot};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Whole,
    Real,
    /// A time, UTC.
    Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not known.
    Null,
    Text(String),
    Whole(i64),
    Real(f64),
    /// Seconds since 1970, UTC.
    Moment(i64),
}

impl Cell {
    /// As a whole number; moments in microseconds.
    pub fn whole(&self) -> i64 {
        match self {
            Cell::Whole(number) => *number,
            Cell::Moment(seconds) => seconds.saturating_mul(1_000_000),
            _ => 0,
        }
    }

    pub fn real(&self) -> f64 {
        match self {
            Cell::Real(number) => *number,
            _ => 0.0,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Cell::Text(text) => text,
            _ => "",
        }
    }

    fn known(&self) -> Option<u64> {
        match self {
            Cell::Whole(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn of(number: Option<u64>) -> Cell {
        number.map_or(Cell::Null, |number| {
            Cell::Whole(i64::try_from(number).unwrap_or(i64::MAX))
        })
    }
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind }
}

/// Of a log file at a time.
pub const LOG_COLUMNS: &[Column] = &[
    column("taken_at", Kind::Moment),
    column("server", Kind::Text),
    column("product_version", Kind::Text),
    column("database", Kind::Text),
    column("recovery_model", Kind::Text),
    column("reuse_wait", Kind::Text),
    column("file_id", Kind::Whole),
    column("path", Kind::Text),
    column("log_bytes", Kind::Whole),
    column("used_bytes", Kind::Whole),
    column("vlfs", Kind::Whole),
    column("active_vlfs", Kind::Whole),
    column("growth_bytes", Kind::Whole),
    column("growth_percent", Kind::Whole),
    column("bytes_max", Kind::Whole),
    column("volume", Kind::Text),
    column("volume_free_bytes", Kind::Whole),
    column("written_bytes", Kind::Whole),
    column("write_stall_ms", Kind::Whole),
    column("restart_seconds", Kind::Real),
];

/// Of a finding at a time.
pub const FINDING_COLUMNS: &[Column] = &[
    column("taken_at", Kind::Moment),
    column("server", Kind::Text),
    column("database", Kind::Text),
    column("id", Kind::Text),
    column("check_id", Kind::Whole),
    column("priority", Kind::Whole),
    column("outcome", Kind::Text),
    column("headline", Kind::Text),
    column("restart_seconds", Kind::Real),
];

/// A log file at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRow {
    /// Seconds since 1970, UTC, of the machine that read it.
    pub taken_at_s: i64,
    pub server: String,
    pub product_version: String,
    pub database: String,
    pub recovery_model: String,
    pub reuse_wait: String,
    pub file_id: i64,
    pub path: String,
    pub log_bytes: u64,
    /// Of the whole log; `None` = not known, as below.
    pub used_bytes: Option<u64>,
    pub vlfs: Option<u64>,
    pub active_vlfs: Option<u64>,
    pub growth_bytes: Option<u64>,
    pub growth_percent: Option<u64>,
    pub bytes_max: Option<u64>,
    pub volume: String,
    pub volume_free_bytes: Option<u64>,
    /// Since the server started.
    pub written_bytes: Option<u64>,
    pub write_stall_ms: Option<u64>,
    /// What its VLFs cost at a start, typically, on the disk that was named.
    pub restart_s: Option<f64>,
}

/// A finding at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FindingRow {
    pub taken_at_s: i64,
    pub server: String,
    pub database: Option<String>,
    pub id: String,
    pub check_id: u16,
    pub priority: u8,
    pub outcome: String,
    pub headline: String,
    pub restart_s: Option<f64>,
}

fn optional_text(text: &str) -> Cell {
    match text {
        "" => Cell::Null,
        text => Cell::Text(text.to_owned()),
    }
}

impl LogRow {
    /// In the order of [`LOG_COLUMNS`].
    pub fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Moment(self.taken_at_s),
            Cell::Text(self.server.clone()),
            optional_text(&self.product_version),
            Cell::Text(self.database.clone()),
            optional_text(&self.recovery_model),
            optional_text(&self.reuse_wait),
            Cell::Whole(self.file_id),
            optional_text(&self.path),
            Cell::of(Some(self.log_bytes)),
            Cell::of(self.used_bytes),
            Cell::of(self.vlfs),
            Cell::of(self.active_vlfs),
            Cell::of(self.growth_bytes),
            Cell::of(self.growth_percent),
            Cell::of(self.bytes_max),
            optional_text(&self.volume),
            Cell::of(self.volume_free_bytes),
            Cell::of(self.written_bytes),
            Cell::of(self.write_stall_ms),
            self.restart_s.map_or(Cell::Null, Cell::Real),
        ]
    }

    /// From cells in the order of [`LOG_COLUMNS`]; what is missing is not known.
    pub fn of_cells(cells: Vec<Cell>) -> LogRow {
        let mut cells = cells.into_iter().chain(std::iter::repeat(Cell::Null));
        let mut next = || cells.next().unwrap_or(Cell::Null);
        LogRow {
            taken_at_s: match next() {
                Cell::Moment(seconds) => seconds,
                _ => 0,
            },
            server: next().text().to_owned(),
            product_version: next().text().to_owned(),
            database: next().text().to_owned(),
            recovery_model: next().text().to_owned(),
            reuse_wait: next().text().to_owned(),
            file_id: next().whole(),
            path: next().text().to_owned(),
            log_bytes: next().known().unwrap_or(0),
            used_bytes: next().known(),
            vlfs: next().known(),
            active_vlfs: next().known(),
            growth_bytes: next().known(),
            growth_percent: next().known(),
            bytes_max: next().known(),
            volume: next().text().to_owned(),
            volume_free_bytes: next().known(),
            written_bytes: next().known(),
            write_stall_ms: next().known(),
            restart_s: match next() {
                Cell::Real(seconds) => Some(seconds),
                _ => None,
            },
        }
    }

    fn of(snapshot: &Snapshot, database: &DatabaseFacts, file: &LogFile, advice: &Advice, taken_at_s: i64) -> LogRow {
        let count = Some(file.vlfs.len() as u64).filter(|count| *count > 0);
        let active = file.vlfs.iter().filter(|vlf| vlf.status == 2).count() as u64;
        let verdict = advice.verdicts.iter().find(|verdict| verdict.database == database.name);
        LogRow {
            taken_at_s,
            server: snapshot.name.clone(),
            product_version: snapshot.server.product_version.clone(),
            database: database.name.clone(),
            recovery_model: database.recovery_model.clone(),
            reuse_wait: database.reuse_wait.clone(),
            file_id: file.file_id,
            path: file.path.clone(),
            log_bytes: file.bytes,
            used_bytes: database.space.used_bytes,
            vlfs: count,
            active_vlfs: count.map(|_| active),
            growth_bytes: match file.growth {
                FileGrowth::Bytes(bytes) => Some(bytes),
                FileGrowth::None => Some(0),
                _ => None,
            },
            growth_percent: match file.growth {
                FileGrowth::Percent(percent) => Some(percent.into()),
                _ => None,
            },
            bytes_max: file.bytes_max,
            volume: file
                .volume
                .as_ref()
                .map_or_else(String::new, |volume| volume.mount_point.clone()),
            volume_free_bytes: file.volume.as_ref().map(|volume| volume.free_bytes),
            written_bytes: file.writes.as_ref().map(|writes| writes.bytes),
            write_stall_ms: file.writes.as_ref().map(|writes| writes.stall_ms),
            restart_s: verdict.and_then(|verdict| verdict.restart_s),
        }
    }
}

impl FindingRow {
    /// In the order of [`FINDING_COLUMNS`].
    pub fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Moment(self.taken_at_s),
            Cell::Text(self.server.clone()),
            self.database.clone().map_or(Cell::Null, Cell::Text),
            Cell::Text(self.id.clone()),
            Cell::Whole(self.check_id.into()),
            Cell::Whole(self.priority.into()),
            Cell::Text(self.outcome.clone()),
            Cell::Text(self.headline.clone()),
            self.restart_s.map_or(Cell::Null, Cell::Real),
        ]
    }
}

/// The rows of a server's logs and findings.
pub fn rows_of(snapshot: &Snapshot, advice: &Advice, taken_at_s: i64) -> (Vec<LogRow>, Vec<FindingRow>) {
    let files = snapshot
        .databases
        .iter()
        .flat_map(|database| database.log_files.iter().map(move |file| (database, file)));
    let logs = files.map(|(database, file)| LogRow::of(snapshot, database, file, advice, taken_at_s));
    let findings = advice.findings.iter().map(|finding| FindingRow {
        taken_at_s,
        server: advice.name.clone(),
        database: finding.database.clone(),
        id: finding.id.to_owned(),
        check_id: finding.check_id,
        priority: finding.priority,
        outcome: match finding.outcome {
            Outcome::Act => "act",
            Outcome::NothingToDo => "nothing_to_do",
            Outcome::NotChecked => "not_checked",
        }
        .to_owned(),
        headline: finding.headline.clone(),
        restart_s: finding
            .cost
            .at_restart
            .as_ref()
            .and_then(|cost| cost.seconds)
            .map(|seconds| seconds.typical_s),
    });
    (logs.collect(), findings.collect())
}

/// What passes over one log file tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    pub server: String,
    pub database: String,
    pub file_id: i64,
    pub passes: u64,
    /// Days from the first pass to the last.
    pub days: f64,
    /// At the last pass.
    pub log_bytes: u64,
    pub vlfs: Option<u64>,
    /// Bytes by which the file grows a week, on average over all passes; negative where it shrank.
    pub growth_bytes_a_week: f64,
    pub vlfs_a_month: Option<f64>,
    /// Until MAXSIZE or the volume is reached at that pace; `None` = it does not grow, or no end is known.
    pub days_until_full: Option<f64>,
}

const DAY_S: f64 = 86_400.0;

/// A trend for each log file with two passes or more, the one that is full soonest first, then the one that grows fastest.
pub fn trends(rows: &[LogRow]) -> Vec<Trend> {
    let mut files: BTreeMap<(&str, &str, i64), Vec<&LogRow>> = BTreeMap::new();
    for row in rows {
        files
            .entry((&row.server, &row.database, row.file_id))
            .or_default()
            .push(row);
    }
    let mut trends: Vec<Trend> = files.into_values().filter_map(trend).collect();
    let soonest = |trend: &Trend| trend.days_until_full.unwrap_or(f64::INFINITY);
    trends.sort_by(|one, other| {
        let by_end = soonest(one).total_cmp(&soonest(other));
        by_end.then_with(|| other.growth_bytes_a_week.total_cmp(&one.growth_bytes_a_week))
    });
    trends
}

fn trend(mut rows: Vec<&LogRow>) -> Option<Trend> {
    rows.sort_by_key(|row| row.taken_at_s);
    let (first, last) = (*rows.first()?, *rows.last()?);
    let days = (last.taken_at_s - first.taken_at_s) as f64 / DAY_S;
    let days_at = |row: &&LogRow| (row.taken_at_s - first.taken_at_s) as f64 / DAY_S;
    let sizes: Vec<(f64, f64)> = rows.iter().map(|row| (days_at(row), row.log_bytes as f64)).collect();
    let vlfs: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|row| Some((days_at(row), row.vlfs? as f64)))
        .collect();
    let a_day = slope(&sizes)?;
    let room = [
        last.bytes_max.map(|most| most.saturating_sub(last.log_bytes)),
        last.volume_free_bytes,
    ];
    let room = room.into_iter().flatten().min();
    Some(Trend {
        server: last.server.clone(),
        database: last.database.clone(),
        file_id: last.file_id,
        passes: rows.len() as u64,
        days,
        log_bytes: last.log_bytes,
        vlfs: last.vlfs,
        growth_bytes_a_week: a_day * 7.0,
        vlfs_a_month: slope(&vlfs).map(|a_day| a_day * 365.25 / 12.0),
        days_until_full: room.filter(|_| a_day > 0.0).map(|room| room as f64 / a_day),
    })
}

/// The slope of the line of least squares through points; `None` for fewer than two different places.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}
