//! Logs whose end is in use: a shrink cuts VLFs off the end of the file, and stops at the first that is needed.

use super::wording::{identifier, literal};
use super::{Case, Finding, Outcome};
use crate::size::{format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, LogFile, Service, VlfFacts};

/// Findings whose remedy begins with a shrink. Without one of them it does not matter what a shrink would give back.
const REMEDIED_BY_A_SHRINK: [&str; 3] = ["many-vlfs", "huge-vlfs", "log-larger-than-peak"];

/// After the judges of layout and size.
pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    let of_this = |finding: &&Finding| finding.database.as_deref() == Some(database.name.as_str());
    let wants_a_shrink = findings
        .iter()
        .filter(of_this)
        .any(|finding| finding.outcome == Outcome::Act && REMEDIED_BY_A_SHRINK.contains(&finding.id));
    if !wants_a_shrink || case.snapshot.service() == Service::AzureSqlDatabase {
        return;
    }
    let is_held = findings
        .iter()
        .filter(of_this)
        .any(|finding| finding.outcome == Outcome::Act && finding.id.starts_with("held-by-"));
    let blocked = database.log_files.iter().filter_map(|file| {
        let last = file.vlfs.iter().max_by_key(|vlf| vlf.offset)?;
        let is_needed = last.status == 2
            && database
                .oldest_needed_vlf()
                .is_none_or(|oldest| last.sequence >= oldest);
        is_needed.then(|| cannot_shrink(case, database, file, last, is_held))
    });
    findings.extend(blocked.collect::<Vec<_>>());
}

fn cannot_shrink(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile, last: &VlfFacts, is_held: bool) -> Finding {
    let newest = database
        .log_files
        .iter()
        .flat_map(|file| &file.vlfs)
        .map(|vlf| vlf.sequence)
        .max();
    let headline = match newest == Some(last.sequence) {
        true => "the log is written in the last VLF of its file now: a shrink gives nothing back",
        false => "the last VLF of the file holds log that is still needed: a shrink gives nothing back",
    };
    let free: u64 = file
        .vlfs
        .iter()
        .filter(|vlf| vlf.status != 2)
        .map(|vlf| vlf.bytes)
        .sum();
    // Neither rows of VLFs nor a log file have it.
    let known_wait = !database.reuse_wait.is_empty();
    let finding = Finding::of("log-cannot-shrink", Some(database), headline.to_owned())
        .evidence(format!(
            "VLF {} ends the file and is active; {} of {} VLFs before it are free, {}",
            last.sequence,
            group_digits(file.vlfs.iter().filter(|vlf| vlf.status != 2).count() as u64),
            group_digits(file.vlfs.len() as u64),
            format_bytes(free)
        ))
        .evidence_if(known_wait.then(|| format!("log_reuse_wait_desc = {}", database.reuse_wait)))
        .otherwise("The log keeps its size, and what begins with a shrink gets no further.");
    let finding = match is_held {
        true => finding.evidence("something holds the log: end that first"),
        false => finding,
    };
    finding.tsql(steps(case, database, file))
}

/// The first shrink moves the end of the log to the front of the file, the second gives the space back (KB 256650).
fn steps(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile) -> String {
    let clear = match (case.snapshot.service(), database.needs_log_backups()) {
        (Service::ManagedInstance | Service::Rds, true) => "-- wait for the next log backup, which the service makes",
        (_, true) => "-- wait for the usual log backup, or start its job",
        (_, false) => "CHECKPOINT;",
    };
    let shrink = format!("DBCC SHRINKFILE ({}, 1);", literal(&file.name));
    format!(
        "USE {};\n{clear}\n{shrink}\n-- The end of the log is at the front of the file now, or goes there with what is written next. So once more:\n{clear}\n{shrink}",
        identifier(&database.name)
    )
}
