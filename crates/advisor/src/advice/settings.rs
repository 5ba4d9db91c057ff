//! Settings: growth, size, files, options; and what concerns the whole server.

use device::price::{self, GrowthRun, Price};
use vlf::ServerVersion;
use vlf::growth::grow_plan;

use super::room::next_growth_bytes;
use super::wording::{duration, identifier, literal};
use super::{Case, Cost, Finding, Provenance};
use crate::price::{INSTANT_GROWTH_BYTES_MAX, range_text, seconds_text};
use crate::search::{advised_autogrowth_bytes, autogrowth_reason};
use crate::size::{GB, MB, format_bytes, group_digits};
use crate::snapshot::{DatabaseFacts, FileGrowth, GrowthSeen, LogFile, Service, WaitFacts};

/// A growth this long is noticed by everybody.
const LONG_GROWTH_S: f64 = 10.0;
/// VLFs that doubling the log may add.
const ADDED_VLFS_MAX: u64 = 1_000;
/// A log below this does not matter.
const LARGE_LOG_BYTES: u64 = 10 * GB;
/// A single log file holds no more.
const ONE_FILE_BYTES_MAX: u64 = 2048 * GB;

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    if !database.is_ordinary() || database.is_system() {
        return;
    }
    if case.snapshot.service() != Service::AzureSqlDatabase {
        findings.extend(
            database
                .log_files
                .iter()
                .filter_map(|file| growth_step(case, database, file)),
        );
    }
    findings.extend(larger_than_peak(database));
    findings.extend(several_files(database));
    findings.extend(shrinking(database));
    findings.extend(options(case, database));
}

pub(super) fn judge_server(case: &Case<'_>, findings: &mut Vec<Finding>) {
    let waits = &case.snapshot.waits;
    let sync = waits.iter().find(|wait| wait.wait_type == "HADR_SYNC_COMMIT");
    findings.extend(sync.and_then(slow_replica));
    findings.extend(instant_initialization(case));
    let governed: u64 = waits
        .iter()
        .filter(|wait| wait.wait_type.ends_with("LOG_RATE_GOVERNOR"))
        .map(|wait| wait.milliseconds / 1_000)
        .sum();
    if governed >= 3_600 {
        let headline = format!(
            "sessions have waited {} because the service limits the log",
            duration(governed)
        );
        findings.push(
            Finding::of("log-rate-governed", None, headline)
                .evidence("LOG_RATE_GOVERNOR and its kin in sys.dm_os_wait_stats, since the server started")
                .otherwise("Loads that write much take as long as the limit makes them."),
        );
    }
}

/// A growth of a data file of this length was noticed.
const STALL_US: u64 = 1_000_000;

/// The right to instant initialization: judged by what growths of data files took, for logs do not gain by it.
fn instant_initialization(case: &Case<'_>) -> Option<Finding> {
    if case.snapshot.server.instant_initialization != Some(false) {
        return None;
    }
    let of_data = |growth: &&GrowthSeen| !growth.is_log && !growth.is_shrink && growth.microseconds >= STALL_US;
    let long: Vec<&GrowthSeen> = case.snapshot.growths.iter().filter(of_data).collect();
    let zeros = case.snapshot.waits.iter();
    let zeros = zeros
        .filter(|wait| wait.wait_type == "PREEMPTIVE_OS_WRITEFILEGATHER" && wait.waits > 0)
        .map(|wait| {
            format!(
                "PREEMPTIVE_OS_WRITEFILEGATHER, growths of data files and logs: {} waits, {} since the server started",
                group_digits(wait.waits),
                duration(wait.milliseconds / 1_000)
            )
        })
        .next();
    let of_logs = match case.version >= ServerVersion::V2022 {
        true => "Logs do not gain: their growths up to 64 MB write no zeros without the right too.",
        false => "Logs do not gain: up to 2019 every growth of a log writes zeros, with the right or without.",
    };
    let finding = Finding::of(
        "instant-initialization-off",
        None,
        "the service has no right to instant initialization".to_owned(),
    )
    .evidence("instant_file_initialization_enabled = N in sys.dm_server_services")
    .evidence_if(zeros);
    let Some(longest) = long.iter().max_by_key(|growth| growth.microseconds) else {
        return Some(finding.nothing_to_do().otherwise(format!(
            "Nothing: no growth of a data file took a second within seven days. {of_logs}"
        )));
    };
    let total_s = long.iter().map(|growth| growth.microseconds).sum::<u64>() / 1_000_000;
    let mut finding = finding
        .evidence(format!(
            "data files: {} growths of a second or longer in seven days, {} in all; the longest {:.1} s, of {} by {}",
            group_digits(long.len() as u64),
            duration(total_s),
            longest.microseconds as f64 / 1e6,
            longest.database,
            format_bytes(longest.bytes)
        ))
        .tsql(
            "-- In Windows, not in T-SQL: give 'Perform volume maintenance tasks' to the service (NT SERVICE\\MSSQLSERVER, or\n\
             -- NT SERVICE\\MSSQL$<instance>), and start it anew.",
        )
        .otherwise(format!("Growths of data files go on writing zeros. {of_logs}"));
    finding.cost.per_day = Some(Cost {
        text: format!("{:.1} s of growths of data files a day", total_s as f64 / 7.0),
        seconds: None,
        from: Provenance::Server,
    });
    Some(finding)
}

fn slow_replica(wait: &WaitFacts) -> Option<Finding> {
    let mean_ms = wait.milliseconds as f64 / wait.waits.max(1) as f64;
    (wait.waits >= 10_000 && mean_ms >= 20.0).then(|| {
        Finding::of(
            "sync-commit-waits",
            None,
            format!("a commit waits {mean_ms:.0} ms for its synchronous replica"),
        )
        .evidence(format!(
            "HADR_SYNC_COMMIT: {} waits, {}",
            group_digits(wait.waits),
            duration(wait.milliseconds / 1_000)
        ))
        .now(format!("{mean_ms:.0} ms for each commit"))
        .otherwise("Every commit waits for that.")
    })
}

/// How the log grows. One finding of the three at most: the same statement mends each.
fn growth_step(case: &Case<'_>, database: &DatabaseFacts, file: &LogFile) -> Option<Finding> {
    let step = next_growth_bytes(file).filter(|step| *step > 0)?;
    let plan = grow_plan(case.version, file.bytes, step).ok()?;
    let is_instant = case.version >= ServerVersion::V2022 && step <= INSTANT_GROWTH_BYTES_MAX;
    let run = GrowthRun {
        times: 1,
        step_bytes: step,
        vlfs: u64::from(plan.vlf_count),
        is_zeroed: !is_instant,
    };
    let price = Price::of(&case.disk.ranges, |figures| price::growths_s(figures, run, file.bytes));
    let seconds = format!(
        "{} s ({}) on {}",
        seconds_text(price.typical_s),
        range_text(price),
        case.disk.name
    );
    let added = file.bytes / step * u64::from(plan.vlf_count);
    let (id, headline) = match file.growth {
        FileGrowth::Percent(percent) if step >= 64 * MB => (
            "percent-growth",
            format!(
                "the log grows by {percent} %, which is {} now: {seconds} for which writers wait",
                format_bytes(step)
            ),
        ),
        _ if price.typical_s >= LONG_GROWTH_S => (
            "growth-step-large",
            format!("the next growth by {} stops writers for {seconds}", format_bytes(step)),
        ),
        _ if added > ADDED_VLFS_MAX => (
            "growth-step-small",
            format!(
                "grown by {} a time, the log has {} VLFs more when it has doubled",
                format_bytes(step),
                group_digits(added)
            ),
        ),
        _ => return None,
    };
    let advised = advised_autogrowth_bytes(case.version, file.bytes);
    let mut finding = Finding::of(id, Some(database), headline)
        .evidence(format!(
            "FILEGROWTH of {}: {}, size {}",
            file.name,
            file.growth,
            format_bytes(file.bytes)
        ))
        .tsql(format!(
            "-- {}.\nALTER DATABASE {} MODIFY FILE (NAME = {}, FILEGROWTH = {}MB);",
            autogrowth_reason(case.version, file.bytes),
            identifier(&database.name),
            literal(&file.name),
            advised / MB
        ))
        .otherwise(
            "Nothing until the log grows; then each growth stops writers for that long, or leaves that many VLFs.",
        );
    finding.cost.now = Some(Cost {
        text: format!("{seconds} at each growth"),
        seconds: Some(price.into()),
        from: Provenance::ModelledDisk(case.disk.name.clone()),
    });
    Some(finding)
}

/// Its peak is known from its log backups only, so it is judged under FULL alone.
fn larger_than_peak(database: &DatabaseFacts) -> Option<Finding> {
    let log = database.log_bytes();
    let data = database.data_bytes?;
    let used = database.space.used_bytes?;
    let backups = &database.backups;
    if log < LARGE_LOG_BYTES || log <= data || !database.needs_log_backups() || backups.log_backups_7d < 7 {
        return None;
    }
    let peak = backups.log_bytes_largest_7d.max(used);
    if peak > log / 10 {
        return None;
    }
    Some(
        Finding::of(
            "log-larger-than-peak",
            Some(database),
            format!(
                "the log has {}, and at most {} of it were used in seven days",
                format_bytes(log),
                format_bytes(peak)
            ),
        )
        .evidence(format!("data: {}", format_bytes(data)))
        .evidence(format!(
            "{} log backups in seven days, the largest of {}",
            backups.log_backups_7d,
            format_bytes(backups.log_bytes_largest_7d)
        ))
        .otherwise("It takes its room, and the time to make it again at each restore."),
    )
}

fn several_files(database: &DatabaseFacts) -> Option<Finding> {
    let log = database.log_bytes();
    (database.log_files.len() > 1 && log < ONE_FILE_BYTES_MAX).then(|| {
        let last = database.log_files.last().map_or("", |file| file.name.as_str());
        let finding = Finding::of(
            "several-log-files",
            Some(database),
            format!("the log has {} files", database.log_files.len()),
        );
        let finding = database.log_files.iter().fold(finding, |finding, file| {
            finding.evidence(format!("{}: {}", file.path, format_bytes(file.bytes)))
        });
        finding
            .tsql(format!(
                "-- Once its VLFs are free (status 0 in DBCC LOGINFO):\nALTER DATABASE {} REMOVE FILE {};",
                identifier(&database.name),
                identifier(last)
            ))
            .otherwise("Nothing daily: the log is written to one of them at a time. A restore makes both again.")
    })
}

fn shrinking(database: &DatabaseFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    if database.is_auto_shrink_on {
        findings.push(
            Finding::of("auto-shrink", Some(database), "AUTO_SHRINK is on".to_owned())
                .tsql(format!(
                    "ALTER DATABASE {} SET AUTO_SHRINK OFF;",
                    identifier(&database.name)
                ))
                .otherwise("A shrunk file grows again, and writers wait for that."),
        );
    }
    if let (Some(shrinks @ 3..), Some(growths)) = (database.space.shrinks, database.space.growths)
        && growths >= shrinks
    {
        findings.push(
            Finding::of(
                "shrink-churn",
                Some(database),
                format!("the log was shrunk {shrinks} times and grew {growths} times since the server started"),
            )
            .evidence("Log Shrinks and Log Growths of sys.dm_os_performance_counters")
            .tsql("-- Take DBCC SHRINKFILE out of the job:\nSELECT j.name, s.step_name FROM msdb.dbo.sysjobsteps AS s INNER JOIN msdb.dbo.sysjobs AS j ON j.job_id = s.job_id WHERE s.command LIKE N'%SHRINK%';")
            .otherwise("Each growth stops writers, and small growths leave many VLFs."),
        );
    }
    findings
}

fn options(case: &Case<'_>, database: &DatabaseFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = identifier(&database.name);
    if database.delayed_durability == "FORCED" {
        findings.push(
            Finding::of(
                "delayed-durability",
                Some(database),
                "commits return before their log is on disk".to_owned(),
            )
            .evidence("delayed_durability_desc = FORCED")
            .tsql(format!("ALTER DATABASE {name} SET DELAYED_DURABILITY = ALLOWED;"))
            .otherwise("A crash loses what was committed last."),
        );
    }
    let has_reader = database.is_cdc_enabled || database.is_published;
    if database.is_accelerated_recovery_on && has_reader {
        findings.push(
            Finding::of(
                "accelerated-recovery-with-log-reader",
                Some(database),
                "accelerated recovery does not truncate the log under open transactions here".to_owned(),
            )
            .evidence("is_accelerated_database_recovery_on = 1, and change data capture or replication reads the log")
            .evidence_if(super::reuse::oldest_open(case, database))
            .otherwise("The log grows with the oldest transaction, and versions are logged on top."),
        );
    }
    findings
}
