//! Past stalls: growths timed by the server itself, and slow writes.

use super::wording::{duration, identifier, literal};
use super::{Case, Finding};
use crate::size::{format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, ErrorLogLine, GrowthSeen, LogFile};

/// A growth of this length was noticed.
const STALL_US: u64 = 1_000_000;
/// Slow, on average over all writes since the server started.
const SLOW_WRITE_MS: f64 = 20.0;
/// Fewer writes have no average.
const WRITES_MIN: u64 = 10_000;
/// Requests that were stuck longer ago say nothing of now.
const STUCK_S: u64 = 7 * 86_400;

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    findings.extend(stalls(case, database));
    findings.extend(slow_writes(case, database));
    findings.extend(misaligned(case, database));
}

/// Error 9012 names the file, and how many writes it was since the server started. Each further 256 are a line more.
fn misaligned(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let of_this = |text: &str| {
        let mut files = database.log_files.iter().filter(|file| !file.path.is_empty());
        text.contains("misaligned log IOs") && files.any(|file| text.contains(&format!("on file {}.", file.path)))
    };
    let lines = case.snapshot.error_log.iter().filter(|line| of_this(&line.text));
    let last = lines.max_by_key(|line| line.at)?;
    let mut words = last.text.split_whitespace();
    let count = words.find_map(|word| word.parse::<u64>().ok());
    let headline = match count {
        Some(count) => format!(
            "{} log writes of this server began or ended inside a sector of their disk",
            group_digits(count)
        ),
        None => "log writes begin or end inside a sector of their disk".to_owned(),
    };
    let at = last.at.map_or_else(String::new, |at| format!("{at}: "));
    let writes = database.log_files.iter().find_map(|file| file.writes.as_ref());
    let mean = writes.filter(|writes| writes.writes > 0).map(|writes| {
        let mean_ms = writes.stall_ms as f64 / writes.writes as f64;
        format!("a write to this log takes {mean_ms:.1} ms on average")
    });
    Some(
        Finding::of("misaligned-log-writes", Some(database), headline)
            .evidence(format!("{at}{}", last.text))
            .evidence_if(mean)
            .tsql(
                "-- On the server that makes this log (the primary, the source of log shipping), and in its startup parameters as -T1800:\n\
                 DBCC TRACEON (1800, -1);\n\
                 -- What sectors a disk has, at a prompt of Windows: fsutil fsinfo ntfsinfo <drive>",
            )
            .otherwise("Each of these writes is waited for, and a replica falls behind where they are many."),
    )
}

fn stalls(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let of_this = |growth: &&GrowthSeen| growth.database == database.name && growth.is_log && !growth.is_shrink;
    let long: Vec<&GrowthSeen> = case
        .snapshot
        .growths
        .iter()
        .filter(of_this)
        .filter(|growth| growth.microseconds >= STALL_US)
        .collect();
    // 5144 and 5145: "Autogrow of file 'x' in database 'y' ...".
    let of_log = |text: &str| {
        let file = database
            .log_files
            .iter()
            .any(|file| text.contains(&format!("file '{}'", file.name)));
        file && text.contains(&format!("database '{}'", database.name))
    };
    let lines: Vec<&str> = case
        .snapshot
        .error_log
        .iter()
        .filter(|line| line.text.starts_with("Autogrow of file") && of_log(&line.text))
        .map(|line| line.text.as_str())
        .collect();
    if long.is_empty() && lines.is_empty() {
        return None;
    }
    let total_s = long.iter().map(|growth| growth.microseconds).sum::<u64>() / 1_000_000;
    let longest = long.iter().max_by_key(|growth| growth.microseconds);
    let headline = match longest {
        Some(growth) => format!(
            "growths stopped writers {} in seven days, {} in all, the longest for {:.1} s",
            super::wording::times(long.len()),
            duration(total_s),
            growth.microseconds as f64 / 1e6
        ),
        None => format!(
            "the error log has {} growths that took long or were cancelled",
            lines.len()
        ),
    };
    let file = database.log_files.first();
    let mut finding = Finding::of("growth-stalls", Some(database), headline)
        .evidence_if(longest.map(|growth| {
            let at = growth.at.map_or_else(String::new, |at| format!(" at {at}"));
            format!("by {}{at}", format_bytes(growth.bytes))
        }))
        .evidence_if(lines.last().map(|line| (*line).to_owned()))
        .otherwise("The next growth stops every writer as long.");
    finding.cost.per_day = Some(super::Cost {
        text: format!("{:.1} s of stalls a day", total_s as f64 / 7.0),
        seconds: None,
        from: super::Provenance::Server,
    });
    Some(match file {
        Some(file) => finding.tsql(format!(
            "-- At a quiet hour, to the size the log needs:\nALTER DATABASE {} MODIFY FILE (NAME = {}, SIZE = <MB>MB);",
            identifier(&database.name),
            literal(&file.name)
        )),
        None => finding,
    })
}

/// By the average of all writes, or by requests of the log that the server itself found stuck.
fn slow_writes(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let slow = |file: &&LogFile| {
        file.writes.as_ref().is_some_and(|writes| {
            writes.writes >= WRITES_MIN && writes.stall_ms as f64 / writes.writes as f64 >= SLOW_WRITE_MS
        })
    };
    let stuck = stuck(case, database);
    let Some(file) = database.log_files.iter().find(slow) else {
        let (count, line) = stuck?;
        let finding = Finding::of(
            "slow-log-writes",
            Some(database),
            format!(
                "requests of the log took longer than 15 s, {} within seven days",
                super::wording::times(count)
            ),
        );
        return Some(
            finding
                .evidence(line)
                .now("15 s and more for the commits of that moment")
                .otherwise("Every commit waits for the write of its log."),
        );
    };
    let writes = file.writes.as_ref()?;
    let mean_ms = writes.stall_ms as f64 / writes.writes as f64;
    Some(
        Finding::of(
            "slow-log-writes",
            Some(database),
            format!("a write to the log takes {mean_ms:.0} ms on average"),
        )
        .evidence(format!(
            "{} writes, {} of waiting since the server started, {}",
            writes.writes,
            duration(writes.stall_ms / 1_000),
            file.path
        ))
        .evidence_if(stuck.map(|(_, line)| line))
        .now(format!("{mean_ms:.0} ms for each commit"))
        .otherwise("Every commit waits for that."),
    )
}

/// How often error 833 of the last seven days names a file of this log, and its last line. The server writes one for a file every five
/// minutes at most.
fn stuck(case: &Case<'_>, database: &DatabaseFacts) -> Option<(usize, String)> {
    let of_this = |line: &&ErrorLogLine| {
        let mut files = database.log_files.iter().filter(|file| !file.path.is_empty());
        let age_s = line.at.and_then(|at| case.snapshot.age_s(at));
        age_s.is_some_and(|age| age < STUCK_S)
            && line.text.contains("taking longer than")
            && files.any(|file| line.text.contains(&format!("to complete on file [{}]", file.path)))
    };
    let lines: Vec<&ErrorLogLine> = case.snapshot.error_log.iter().filter(of_this).collect();
    let last = lines.iter().max_by_key(|line| line.at)?;
    let at = last.at.map_or_else(String::new, |at| format!("{at}: "));
    Some((lines.len(), format!("{at}{}", last.text)))
}
