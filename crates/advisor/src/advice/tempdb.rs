//! tempdb's log: recreated at each startup, cleared by tempdb's own checkpoint, and held by work outside user transactions.

use device::price::{self, GrowthRun, Price};
use vlf::growth::grow_plan;

use super::room::next_growth_bytes;
use super::wording::literal;
use super::{Case, Cost, Finding, Provenance};
use crate::price::{INSTANT_GROWTH_BYTES_MAX, range_text, seconds_text};
use crate::size::{MB, format_bytes, group_digits};
use crate::snapshot::DatabaseFacts;
use vlf::ServerVersion;

/// A log below this grows back unnoticed.
const LARGE_BYTES: u64 = 256 * MB;
/// Growths that are looked at one by one.
const GROWTHS_MAX: u64 = 100_000;

pub(super) fn is_tempdb(database: &DatabaseFacts) -> bool {
    database.name.eq_ignore_ascii_case("tempdb")
}

/// Which sessions have work in tempdb: what holds its log is often a sort or a worktable, which no view ties to its session.
pub(super) const WHO_USES_TEMPDB: &str = "-- Which requests have sorts and worktables there; the oldest of them holds the log:\n\
     SELECT t.session_id, SUM(t.internal_objects_alloc_page_count) / 128 AS internal_mb, MIN(r.start_time) AS began\n\
     FROM sys.dm_db_task_space_usage AS t INNER JOIN sys.dm_exec_requests AS r ON r.session_id = t.session_id\n\
     GROUP BY t.session_id HAVING SUM(t.internal_objects_alloc_page_count) > 0 ORDER BY began;";

/// `sys.master_files` has the sizes of the next start, the counters those of now.
pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    if !is_tempdb(database) {
        return;
    }
    let ([file], Some(now)) = (database.log_files.as_slice(), database.space.total_bytes) else {
        return;
    };
    let at_start = file.bytes;
    if now < LARGE_BYTES || at_start == 0 || now / 2 < at_start {
        return;
    }
    let mut finding = Finding::of(
        "tempdb-log-regrows",
        Some(database),
        format!(
            "tempdb's log starts with {} and has {} now",
            format_bytes(at_start),
            format_bytes(now)
        ),
    )
    .evidence(format!(
        "size of {} in sys.master_files: {}",
        file.name,
        format_bytes(at_start)
    ))
    .evidence(format!("Log File(s) Size (KB) of tempdb: {}", format_bytes(now)))
    .tsql(format!(
        "-- What the next start makes it with:\nALTER DATABASE tempdb MODIFY FILE (NAME = {}, SIZE = {}MB);",
        literal(&file.name),
        now.div_ceil(MB)
    ))
    .otherwise("After each start it grows to that size again, and sessions wait for every growth.");
    if let Some((price, growths, vlfs)) = growing_back(case, database, at_start, now) {
        finding = finding.evidence(format!(
            "{} growths with {} VLFs lead there",
            group_digits(growths),
            group_digits(vlfs)
        ));
        finding.cost.at_restart = Some(Cost {
            text: format!(
                "{} s ({}) of growths after it",
                seconds_text(price.typical_s),
                range_text(price)
            ),
            seconds: Some(price.into()),
            from: Provenance::ModelledDisk(case.disk.name.clone()),
        });
    }
    findings.push(finding);
}

/// The growths from one size to another: their price, how many, and the VLFs they add. `None` = the growth is not known, off, or too small to
/// list.
fn growing_back(case: &Case<'_>, database: &DatabaseFacts, from: u64, to: u64) -> Option<(Price, u64, u64)> {
    let mut file = database.log_files.first()?.clone();
    file.bytes = from;
    let mut price = Price::default();
    let (mut growths, mut vlfs) = (0, 0);
    while file.bytes < to && growths < GROWTHS_MAX {
        let step = next_growth_bytes(&file).filter(|step| *step > 0)?;
        let plan = grow_plan(case.version, file.bytes, step).ok()?;
        let run = GrowthRun {
            times: 1,
            step_bytes: step,
            vlfs: plan.vlf_count.into(),
            is_zeroed: !(case.version >= ServerVersion::V2022 && step <= INSTANT_GROWTH_BYTES_MAX),
        };
        price = price.plus(Price::of(&case.disk.ranges, |figures| {
            price::growths_s(figures, run, file.bytes)
        }));
        vlfs += u64::from(plan.vlf_count);
        growths += 1;
        file.bytes += step;
    }
    (file.bytes >= to).then_some((price, growths, vlfs))
}
