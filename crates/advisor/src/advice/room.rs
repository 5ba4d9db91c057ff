//! Space: a log that is full, will be full, or whose next growth does not fit.

use super::reuse::last_log_backup;
use super::wording::{duration, identifier, literal, percent};
use super::{Case, Finding};
use crate::size::format_bytes;
use crate::snapshot::{DatabaseFacts, FileGrowth, LogFile, Moment};

/// Share from which a log that cannot grow is full in all but name.
const FULL: f64 = 0.95;
/// Share from which it matters that a log cannot grow.
const MUCH_USED: f64 = 0.5;
/// The same for a log that was configured not to grow.
const NEARLY_ALL_USED: f64 = 0.7;
const DAY_S: f64 = 86_400.0;
/// An error that is older says nothing of now.
const RECENT_ERROR_S: u64 = 3_600;
/// The pace of a shorter time is chance.
const PACE_S_MIN: u64 = 300;

/// What keeps a file from growing by its next step.
enum Stop {
    Off,
    MaxSize,
    Volume,
}

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    let Some(share) = database.used_share().filter(|_| database.is_ordinary()) else {
        return;
    };
    let stops: Vec<Option<(Stop, &LogFile)>> = database.log_files.iter().map(stop).collect();
    let cannot_grow = !stops.is_empty() && stops.iter().all(Option::is_some);
    let error = full_by_error(case, database);
    if error.is_some() || cannot_grow && share >= FULL {
        findings.push(full(database, share, stops.into_iter().flatten().next()).evidence_if(error));
        return;
    }
    findings.extend(filling(case, database));
    for (stop, file) in stops.into_iter().flatten().filter(|_| cannot_grow) {
        findings.extend(near(database, share, &stop, file));
    }
}

/// The next step, in bytes; `None` = not known or none.
pub(super) fn next_growth_bytes(file: &LogFile) -> Option<u64> {
    match file.growth {
        FileGrowth::Bytes(bytes) => Some(bytes),
        FileGrowth::Percent(percent) => vlf::percent_growth(file.bytes, percent).ok()?.checked_sub(file.bytes),
        FileGrowth::None | FileGrowth::NotKnown => None,
    }
}

fn stop(file: &LogFile) -> Option<(Stop, &LogFile)> {
    if file.growth == FileGrowth::None {
        return Some((Stop::Off, file));
    }
    let step = next_growth_bytes(file)?;
    if file
        .bytes_max
        .is_some_and(|most| file.bytes.saturating_add(step) > most)
    {
        return Some((Stop::MaxSize, file));
    }
    let free = file.volume.as_ref()?.free_bytes;
    (free < step).then_some((Stop::Volume, file))
}

/// The last error 9002 of this database within an hour. Its words name the reason, and since SQL Server 2022 the first LSN that is held.
fn full_by_error(case: &Case<'_>, database: &DatabaseFacts) -> Option<String> {
    let start = format!("transaction log for database '{}' is full", database.name);
    let is_recent = |at: Moment| case.snapshot.age_s(at).is_some_and(|age| age <= RECENT_ERROR_S);
    let lines = case.snapshot.error_log.iter();
    let last = lines
        .filter(|line| line.at.is_some_and(is_recent) && line.text.contains(&start))
        .max_by_key(|line| line.at)?;
    let at = last.at.map_or_else(String::new, |at| format!("{at}: "));
    Some(format!("{at}{}", last.text))
}

fn full(database: &DatabaseFacts, share: f64, stop: Option<(Stop, &LogFile)>) -> Finding {
    let name = identifier(&database.name);
    let why = match &stop {
        Some((Stop::Off, _)) => ": its growth is off",
        Some((Stop::MaxSize, _)) => ": it has reached its MAXSIZE",
        Some((Stop::Volume, _)) => ": its volume has no room for the next growth",
        None => "",
    };
    let first_aid = match stop {
        Some((Stop::MaxSize, file)) => format!(
            "ALTER DATABASE {name} MODIFY FILE (NAME = {}, MAXSIZE = {}MB);",
            literal(&file.name),
            (file.bytes_max.unwrap_or(0) / 2_u64.pow(20)).saturating_mul(3) / 2
        ),
        Some((Stop::Off, file)) => format!(
            "ALTER DATABASE {name} MODIFY FILE (NAME = {}, FILEGROWTH = 64MB);",
            literal(&file.name)
        ),
        _ => format!(
            "ALTER DATABASE {name} ADD LOG FILE (NAME = {}, FILENAME = N'<another volume>', SIZE = 1024MB);",
            literal(&format!("{}_log2", database.name))
        ),
    };
    Finding::of(
        "log-full",
        Some(database),
        format!("the log is full, {} of it used{why}", percent(share)),
    )
    .evidence(format!(
        "{} of {} used",
        format_bytes(database.space.used_bytes.unwrap_or(0)),
        format_bytes(database.log_bytes())
    ))
    .evidence(format!("log_reuse_wait_desc = {}", database.reuse_wait))
    .now("writers fail with error 9002")
    .tsql(format!(
        "-- Remove what holds the log (the findings of this database). Until then, room:\n{first_aid}"
    ))
    .otherwise("Every statement that writes fails until log space is reusable.")
}

/// The bytes that are logged a second while nothing is freed, with the words for where that comes from.
fn pace(case: &Case<'_>, database: &DatabaseFacts) -> Option<(f64, String)> {
    let of = |bytes: u64, since: Moment, words: &str| {
        let age = case.snapshot.age_s(since).filter(|age| *age >= PACE_S_MIN)?;
        let text = format!("{} in {} {words}", format_bytes(bytes), duration(age));
        (bytes > 0).then_some((bytes as f64 / age as f64, text))
    };
    if database.needs_log_backups()
        && let (Some(bytes), Some(since)) = (database.marks.since_log_backup_bytes, last_log_backup(database))
    {
        return of(bytes, since, "since the last log backup");
    }
    let uptime = case.snapshot.uptime_s()?;
    let bytes: u64 = database
        .log_files
        .iter()
        .filter_map(|file| Some(file.writes.as_ref()?.bytes))
        .sum();
    (uptime >= PACE_S_MIN && bytes > 0).then(|| {
        let text = format!(
            "{} in {} since the server started",
            format_bytes(bytes),
            duration(uptime)
        );
        (bytes as f64 / uptime as f64, text)
    })
}

/// What is free in the log, and what it can still grow by; `None` where that has no bound that is known.
fn room_bytes(database: &DatabaseFacts) -> Option<u64> {
    let free = database.space.total_bytes?.saturating_sub(database.space.used_bytes?);
    let mut room = free;
    for file in &database.log_files {
        let by_size = file.bytes_max.map(|most| most.saturating_sub(file.bytes));
        let by_volume = file.volume.as_ref().map(|volume| volume.free_bytes);
        room += match file.growth {
            FileGrowth::None => 0,
            _ => by_size.into_iter().chain(by_volume).min()?,
        };
    }
    Some(room)
}

fn filling(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let is_held = !matches!(database.reuse_wait.as_str(), "" | "NOTHING");
    let share = database.used_share()?;
    if !is_held || share < MUCH_USED {
        return None;
    }
    let (pace, words) = pace(case, database)?;
    let room = room_bytes(database)?;
    let left_s = room as f64 / pace;
    if left_s >= DAY_S {
        return None;
    }
    let left = duration(left_s as u64);
    Some(
        Finding::of(
            "log-filling",
            Some(database),
            format!("the log is full in {left} at its pace so far"),
        )
        .evidence(format!("logged: {words}"))
        .evidence(format!(
            "room left: {}, in the file and as far as it may grow",
            format_bytes(room)
        ))
        .evidence(format!("log_reuse_wait_desc = {}", database.reuse_wait))
        .now(format!("full in {left}"))
        .otherwise(format!("In {left} every statement that writes fails with error 9002.")),
    )
}

fn near(database: &DatabaseFacts, share: f64, stop: &Stop, file: &LogFile) -> Option<Finding> {
    let step = next_growth_bytes(file).unwrap_or(0);
    let used = format!("{} of the log are used", percent(share));
    let (id, limit, headline, what) = match stop {
        Stop::Off => (
            "growth-off",
            NEARLY_ALL_USED,
            "the log does not grow by itself".to_owned(),
            "FILEGROWTH = 0".to_owned(),
        ),
        Stop::MaxSize => (
            "near-max-size",
            MUCH_USED,
            format!("the next growth by {} does not fit below MAXSIZE", format_bytes(step)),
            format!(
                "{} of {} MAXSIZE",
                format_bytes(file.bytes),
                format_bytes(file.bytes_max.unwrap_or(0))
            ),
        ),
        Stop::Volume => {
            let volume = file.volume.clone().unwrap_or_default();
            (
                "volume-near-full",
                MUCH_USED,
                format!(
                    "the next growth by {} does not fit on {}",
                    format_bytes(step),
                    volume.mount_point
                ),
                format!(
                    "{} free of {}",
                    format_bytes(volume.free_bytes),
                    format_bytes(volume.total_bytes)
                ),
            )
        }
    };
    if share < limit {
        return None;
    }
    Some(
        Finding::of(id, Some(database), headline)
            .evidence(what)
            .evidence(used)
            .otherwise("When the log is full, writers fail with error 9002."),
    )
}
