//! The cost of VLFs: this layout's seconds on this disk, compared with the advised layout for its size, and whether the difference
//! justifies a rebuild.

use device::price::Price;
use vlf::{LogLayout, ServerVersion};

use super::wording::identifier;
use super::{Case, Cost, Finding, Provenance};
use crate::plan::Start;
use crate::price::{LogPrice, PricedDisk, range_text, seconds_text, start_is_published_as};
use crate::script::{Clearing, ScriptNames, of_search};
use crate::search::{Found, SearchRequest, search};
use crate::size::{GB, format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, LogFile, Service};

/// A start must become this much faster for a rebuild to be worth while.
const WORTH_AT_RESTART_S: f64 = 10.0;
/// The same for a day.
const WORTH_A_DAY_S: f64 = 60.0;
const DAY_S: f64 = 86_400.0;
/// What was written since the server started says nothing of a day before this.
const UPTIME_S_MIN: u64 = 3_600;

/// A log file's VLFs priced.
struct Priced {
    layout: LogLayout,
    log: LogPrice,
    restart: Price,
    /// `None` = not known how much is written.
    per_day: Option<Price>,
}

impl Priced {
    fn of(case: &Case<'_>, file: &LogFile) -> Option<Priced> {
        let layout = file.layout(case.version)?;
        Some(Priced::of_layout(
            layout,
            case.version,
            case.disk,
            bytes_a_day(case, file),
        ))
    }

    fn of_layout(layout: LogLayout, version: ServerVersion, disk: &PricedDisk, bytes_a_day: Option<f64>) -> Priced {
        let log = LogPrice::of_layout(&layout, version, &disk.ranges);
        let mean_bytes = layout.file_bytes() as f64 / layout.vlf_count().max(1) as f64;
        let per_day = bytes_a_day.map(|bytes| scaled(log.prices.switch, bytes / mean_bytes.max(1.0)));
        Priced {
            restart: log.prices.discovery,
            per_day,
            log,
            layout,
        }
    }

    /// What the layout advised for the size would save, in typical seconds: at a start, a day.
    fn savings(&self, advised: &Priced) -> (f64, f64) {
        let typical = |price: Option<Price>| price.map_or(0.0, |price| price.typical_s);
        (
            self.restart.typical_s - advised.restart.typical_s,
            typical(self.per_day) - typical(advised.per_day),
        )
    }
}

fn scaled(price: Price, by: f64) -> Price {
    Price {
        fast_s: price.fast_s * by,
        typical_s: price.typical_s * by,
        slow_s: price.slow_s * by,
    }
}

/// Log written a day, on average since the server started.
fn bytes_a_day(case: &Case<'_>, file: &LogFile) -> Option<f64> {
    let uptime = case.snapshot.uptime_s().filter(|uptime| *uptime >= UPTIME_S_MIN)? as f64;
    Some(file.writes.as_ref()?.bytes as f64 / uptime * DAY_S)
}

/// The layout that is advised for the size.
fn advised(layout: &LogLayout, version: ServerVersion) -> Option<Found> {
    let request = SearchRequest {
        version,
        start: Start::Existing(layout.clone()),
        target_file_bytes: layout.file_bytes(),
        target_vlfs: None,
    };
    search(&request).ok()
}

/// The verdict on a log's VLFs in one line, for a log on a disk.
pub fn verdict_of_layout(layout: &LogLayout, version: ServerVersion, disk: &PricedDisk) -> String {
    verdict_of(&Priced::of_layout(layout.clone(), version, disk, None), version, disk)
}

fn verdict_of(priced: &Priced, version: ServerVersion, disk: &PricedDisk) -> String {
    let vlfs = group_digits(priced.log.vlf_count);
    // What entering every VLF costs is the layout's. How often that is in a day, only a server that has run for a while tells.
    let round = format!(
        "{} s once round the log",
        seconds_text(priced.log.prices.switches.typical_s)
    );
    let use_of_log = match priced.per_day {
        Some(price) if price.typical_s >= 0.5 => format!("{round}, {} s a day", seconds_text(price.typical_s)),
        Some(_) => format!("{round}, nothing daily"),
        None => round,
    };
    let plural = if priced.log.vlf_count == 1 { "" } else { "s" };
    let costs = format!(
        "{vlfs} VLF{plural}: {} s at a restart on {} ({}), {use_of_log}",
        seconds_text(priced.restart.typical_s),
        disk.name,
        range_text(priced.restart)
    );
    let advice = match worth(priced, version, disk, None) {
        Some((_, advised, _)) => format!(
            "worth a rebuild to {} VLFs, {} s at a restart",
            group_digits(advised.log.vlf_count),
            seconds_text(advised.restart.typical_s)
        ),
        None => "leave it".to_owned(),
    };
    format!("{costs}: {advice}")
}

/// The layout to rebuild to, where that is worth while; the seconds it saves at a start.
fn worth(
    priced: &Priced,
    version: ServerVersion,
    disk: &PricedDisk,
    bytes_a_day: Option<f64>,
) -> Option<(Found, Priced, f64)> {
    // Without this nothing can be saved, and no search is needed.
    if priced.restart.typical_s < WORTH_AT_RESTART_S
        && priced.per_day.is_none_or(|price| price.typical_s < WORTH_A_DAY_S)
    {
        return None;
    }
    let found = advised(&priced.layout, version)?;
    let advised = Priced::of_layout(found.plan.layout.clone(), version, disk, bytes_a_day);
    let (restart_s, day_s) = priced.savings(&advised);
    (restart_s >= WORTH_AT_RESTART_S || day_s >= WORTH_A_DAY_S).then_some((found, advised, restart_s))
}

/// The verdict on a database's log.
pub(super) fn verdict(case: &Case<'_>, database: &DatabaseFacts) -> String {
    let files: Vec<&LogFile> = database.log_files.iter().filter(|file| !file.vlfs.is_empty()).collect();
    let [file] = files.as_slice() else {
        return match files.is_empty() {
            true => "VLFs not read".to_owned(),
            false => format!("{} VLFs in {} files", group_digits(database.vlf_count()), files.len()),
        };
    };
    match Priced::of(case, file) {
        Some(priced) => verdict_of(&priced, case.version, case.disk),
        None => format!(
            "{} VLFs that do not follow one another",
            group_digits(file.vlfs.len() as u64)
        ),
    }
}

/// Typical seconds of a start, where the log is one file whose VLFs are known.
pub(super) fn restart_s(case: &Case<'_>, database: &DatabaseFacts) -> Option<f64> {
    match database.log_files.as_slice() {
        [file] => Priced::of(case, file).map(|priced| priced.restart.typical_s),
        _ => None,
    }
}

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    findings.extend(damaged(case, database));
    for file in &database.log_files {
        let Some(priced) = Priced::of(case, file) else { continue };
        findings.extend(many(case, database, file, &priced));
        findings.extend(huge(database, file, &priced.layout));
    }
}

/// By what reading the file found, or by error 9004, which a server writes where it could not read its log.
fn damaged(case: &Case<'_>, database: &DatabaseFacts) -> Vec<Finding> {
    let has_damage = |file: &&LogFile| {
        let inspection = file.inspection.as_ref();
        inspection.is_some_and(|inspection| inspection.damage_count > 0)
    };
    let files = database.log_files.iter().filter(has_damage);
    let by_inspection = files.map(|file| {
        Finding::of("damaged-log", Some(database), format!("{} is damaged", file.path))
            .otherwise("Recovery may stop there, and the database is then SUSPECT.")
    });
    let start = format!("processing the log for database '{}'", database.name);
    let lines = case.snapshot.error_log.iter().filter(|line| line.text.contains(&start));
    let by_error = lines.max_by_key(|line| line.at).map(|last| {
        let at = last.at.map_or_else(String::new, |at| format!("{at}: "));
        Finding::of(
            "damaged-log",
            Some(database),
            "the server could not read its log (error 9004)".to_owned(),
        )
        .evidence(format!("{at}{}", last.text))
        .evidence(format!("state_desc = {}", database.state))
        .tsql("-- The lines around it say where:\nEXEC sp_readerrorlog 0, 1, N'9004';\n-- Restore from backups, and have the disk looked at.")
        .otherwise("What needs that part of the log fails again: recovery, a rollback, a log backup, a log reader.")
    });
    by_inspection.chain(by_error).collect()
}

/// VLFs from which tools begin to warn.
const SOMEBODY_WARNS: u64 = 1_000;

fn many(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile, priced: &Priced) -> Option<Finding> {
    let count = priced.log.vlf_count;
    let a_day = bytes_a_day(case, file);
    let worth = worth(priced, case.version, case.disk, a_day);
    if worth.is_none() && count < SOMEBODY_WARNS {
        return None;
    }
    let headline = verdict_of(priced, case.version, case.disk);
    let mut finding = Finding::of("many-vlfs", Some(database), headline).evidence(format!(
        "{} VLFs of {} on average in {}",
        group_digits(count),
        format_bytes(file.bytes / count.max(1)),
        if file.path.is_empty() { "the log" } else { &file.path }
    ));
    finding
        .evidence
        .extend(start_is_published_as(case.version).map(str::to_owned));
    finding.cost.at_restart = Some(computed(priced.restart, case.disk, "of looking at every VLF"));
    finding.cost.per_day = priced
        .per_day
        .map(|price| computed(price, case.disk, "of entering VLFs"));
    let Some((found, _, saved_s)) = worth else {
        return Some(finding.nothing_to_do().otherwise("Nothing worth a rebuild."));
    };
    finding.tsql = Some(rebuild(case, database, file, &found));
    finding.otherwise = format!(
        "Each start, failover and attach of this database takes about {} s longer than it need.",
        seconds_text(saved_s)
    );
    Some(finding)
}

fn computed(price: Price, disk: &PricedDisk, of_what: &str) -> Cost {
    Cost {
        text: format!("{} s ({}) {of_what}", seconds_text(price.typical_s), range_text(price)),
        seconds: Some(price.into()),
        from: Provenance::ModelledDisk(disk.name.clone()),
    }
}

/// The steps to the advised layout and their T-SQL, where many VLFs or huge ones are a finding.
pub(super) fn rebuild_of(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile) -> Option<(Found, String)> {
    let priced = Priced::of(case, file)?;
    let found = match worth(&priced, case.version, case.disk, bytes_a_day(case, file)) {
        Some((found, ..)) => found,
        None => {
            huge(database, file, &priced.layout)?;
            advised(&priced.layout, case.version)?
        }
    };
    let tsql = rebuild(case, database, file, &found);
    Some((found, tsql))
}

/// The script, with what has to be known where it runs.
fn rebuild(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile, found: &Found) -> String {
    let names = ScriptNames {
        database: database.name.clone(),
        log_file: if file.name.is_empty() {
            format!("{}_log", database.name)
        } else {
            file.name.clone()
        },
        clearing: Clearing::UsualJob,
    };
    let mut first = match case.snapshot.service() {
        Service::AzureSqlDatabase => return "-- Azure SQL Database keeps the layout of its logs itself.".to_owned(),
        Service::ManagedInstance => {
            "-- Managed Instance makes the log backups itself; wait for one where the script says so.\n".to_owned()
        }
        Service::Rds => "-- RDS makes the log backups itself; wait for one where the script says so.\n".to_owned(),
        Service::SqlServer => String::new(),
    };
    if database.is_in_availability_group {
        first.push_str(
            "-- On the primary replica; shrink and growth are redone on each secondary: look at their disks first.\n",
        );
    }
    if case.snapshot.service() == Service::SqlServer && !database.is_in_availability_group && !file.name.is_empty() {
        first.push_str("-- vlflab advise --apply takes these steps one by one, and looks after each.\n");
    }
    if database.is_cdc_enabled || database.is_published {
        first.push_str("-- The log reader must have read the log, or nothing shrinks.\n");
    }
    format!("{first}{}", of_search(found, &names, None))
}

/// An eighth of the log, above 1 GB.
const LARGE_SHARE: f64 = 0.125;
/// What a log of 64 GB has that was made at once: 16 VLFs, each of which is freed only when 4 GB more were written (Kimberly Tripp, "Transaction
/// log VLFs: too many or too few?"). A VLF loses its header and page 0 to rounding.
const PREALLOCATED_BYTES: u64 = 4 * GB - (1 << 20);
const PREALLOCATED_SHARE: f64 = 1.0 / 17.0;

/// A VLF so large that the log is hardly freed in parts.
fn huge(database: &DatabaseFacts, file: &LogFile, layout: &LogLayout) -> Option<Finding> {
    let largest = layout.vlfs().iter().map(|vlf| vlf.span.bytes).max()?;
    let share = largest as f64 / layout.file_bytes().max(1) as f64;
    let is_large = largest > GB && share >= LARGE_SHARE;
    let is_preallocated = largest >= PREALLOCATED_BYTES && share >= PREALLOCATED_SHARE;
    if !is_large && !is_preallocated {
        return None;
    }
    let headline = format!(
        "one VLF has {}, {:.0} % of the log, and is freed only as a whole",
        format_bytes(largest),
        share * 100.0
    );
    Some(
        Finding::of("huge-vlfs", Some(database), headline)
            .evidence(format!(
                "{} VLFs in {}",
                group_digits(layout.vlf_count() as u64),
                format_bytes(file.bytes)
            ))
            .tsql(format!(
                "-- Once the log can be shrunk, grow it in steps of at most 8000 MB: 16 VLFs of 500 MB each.\nUSE {};\nDBCC SHRINKFILE ({}, 1);",
                identifier(&database.name),
                super::wording::literal(&file.name)
            ))
            .otherwise("One record that is still needed keeps all of that VLF; the log is larger than its load asks for."),
    )
}
