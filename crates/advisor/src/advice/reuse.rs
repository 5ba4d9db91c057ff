//! Why the log is not reused, and what holds it.
//!
//! `log_reuse_wait_desc` is read by name and is only the last known reason: it is set when truncation is tried. So a holder is named only
//! if the views show one now: a transaction whose first record is in the oldest needed VLF, a running backup, a replica that is behind, a
//! job that does not run. Otherwise the holder is gone, and that is the finding.

use super::tempdb::{WHO_USES_TEMPDB, is_tempdb};
use super::wording::{comment, duration, held, identifier, percent};
use super::{Case, Finding};
use crate::size::format_bytes;
use crate::snapshot::{DatabaseFacts, Moment, ReplicaFacts, Service, SessionFacts, TransactionFacts};

/// A transaction is worth a finding from this age on, however little log it holds.
const OLD_TRANSACTION_S: u64 = 300;
/// Share of the log above which whatever holds it is worth a finding.
const MUCH_USED: f64 = 0.5;
/// The same for what passes by itself.
const NEARLY_ALL_USED: f64 = 0.7;
/// A log backup this old is not recent.
const RECENT_BACKUP_S: u64 = 86_400;

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    if database.source_database_id.is_some() || !database.is_online() {
        return;
    }
    let reason = normalized(&database.reuse_wait);
    let found = match reason.as_str() {
        "" | "NOTHING" => None,
        "ACTIVE_TRANSACTION" => Some(by_transaction(case, database)),
        "LOG_BACKUP" => by_log_backup(case, database, findings),
        "CHECKPOINT" => checkpoint(database),
        "ACTIVE_BACKUP_OR_RESTORE" => Some(by_backup(case, database)),
        "DATABASE_MIRRORING" => by_mirroring(database),
        "REPLICATION" => Some(by_replication(case, database)),
        "AVAILABILITY_REPLICA" => by_replica(database),
        "OLDEST_PAGE" => oldest_page(database),
        "XTP_CHECKPOINT" => memory_optimized(database),
        "DATABASE_SNAPSHOT_CREATION" => passing(
            "held-by-snapshot-creation",
            "a database snapshot is being made",
            database,
        ),
        "LOG_SCAN" => passing("held-by-log-scan", "something scans the log", database),
        other => passing("held-by-other", &format!("the reason is {other}"), database),
    };
    findings.extend(found.map(|finding| with_reason(finding, case, database)));
}

/// Whether something holds a log now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    /// Nothing, or what a checkpoint or a log backup clears.
    Free,
    /// By this, in words for a reader.
    Held(String),
}

/// By the last known reason, and by who is there now: a transaction or a backup that has ended holds nothing.
pub(super) fn holding(case: &Case<'_>, database: &DatabaseFacts) -> Holding {
    let reason = normalized(&database.reuse_wait);
    let named = |finding: Finding| Holding::Held(finding.headline);
    match reason.as_str() {
        "" | "NOTHING" | "LOG_BACKUP" | "CHECKPOINT" => Holding::Free,
        "ACTIVE_TRANSACTION" if holders(case, database).is_empty() => {
            let finding = no_transaction(case, database);
            match finding.outcome {
                super::Outcome::NothingToDo => Holding::Free,
                _ => named(finding),
            }
        }
        "ACTIVE_TRANSACTION" => named(by_transaction(case, database)),
        "ACTIVE_BACKUP_OR_RESTORE" => {
            let finding = by_backup(case, database);
            match finding.tsql {
                None => Holding::Free,
                Some(_) => named(finding),
            }
        }
        "REPLICATION" => named(by_replication(case, database)),
        "AVAILABILITY_REPLICA" => by_replica(database).map_or_else(|| Holding::Held(reason.clone()), named),
        _ => Holding::Held(format!("log_reuse_wait_desc = {}", database.reuse_wait)),
    }
}

/// `OTHER TRANSIENT` and `other_transient` are one.
fn normalized(reason: &str) -> String {
    reason.trim().to_uppercase().replace([' ', '-'], "_")
}

/// What every finding about a holder says of the log.
fn with_reason(mut finding: Finding, case: &Case<'_>, database: &DatabaseFacts) -> Finding {
    let used = database.used_share().map(|share| {
        let used = format_bytes(database.space.used_bytes.unwrap_or(0));
        format!("{used} of the log are used, {}", percent(share))
    });
    let mut evidence = vec![format!(
        "log_reuse_wait_desc = {} (the last known reason)",
        database.reuse_wait
    )];
    evidence.extend(used);
    evidence.append(&mut finding.evidence);
    finding.evidence = evidence;
    if finding.cost.now.is_none()
        && let Some(bytes) = database.space.used_bytes
    {
        finding = finding.now(format!("{} not reusable", held(bytes, database.log_bytes())));
    }
    if finding.otherwise.is_empty() {
        let end = match case.snapshot.service() {
            Service::SqlServer | Service::Rds => "then writers fail with error 9002",
            Service::AzureSqlDatabase | Service::ManagedInstance => "then writers fail with error 9002 or 40552",
        };
        finding.otherwise = format!("The log grows to MAXSIZE or until its volume is full; {end}.");
    }
    finding
}

fn is_used_above(database: &DatabaseFacts, share: f64) -> bool {
    database.used_share().is_some_and(|used| used >= share)
}

/// Transactions that begin in the oldest VLF that is needed, or before it; the one that began first comes first.
fn holders<'s>(case: &Case<'s>, database: &DatabaseFacts) -> Vec<&'s TransactionFacts> {
    let Some(oldest) = database.oldest_needed_vlf() else {
        return Vec::new();
    };
    let begins_there = |transaction: &&TransactionFacts| {
        transaction.database_id == database.database_id && transaction.begin_lsn.is_some_and(|lsn| lsn.vlf <= oldest)
    };
    let mut holders: Vec<&TransactionFacts> = case.snapshot.transactions.iter().filter(begins_there).collect();
    holders.sort_by_key(|transaction| transaction.begin_lsn);
    holders
}

fn age(case: &Case<'_>, begun: Option<Moment>) -> Option<u64> {
    case.snapshot.age_s(begun?)
}

/// The session whose transaction began first in a database, in words, if that is old.
pub(super) fn oldest_open(case: &Case<'_>, database: &DatabaseFacts) -> Option<String> {
    let of_database = |each: &&TransactionFacts| each.database_id == database.database_id;
    let sessions = case.snapshot.transactions.iter().filter(of_database);
    let aged = sessions.filter_map(|each| Some((age(case, each.begun)?, each.session.as_ref()?)));
    let (age_s, session) = aged.max_by_key(|(age_s, _)| *age_s)?;
    let text = format!("{} has had a transaction open for {}", who(session), duration(age_s));
    (age_s >= OLD_TRANSACTION_S).then_some(text)
}

fn by_transaction(case: &Case<'_>, database: &DatabaseFacts) -> Finding {
    let holders = holders(case, database);
    let Some(first) = holders.first() else {
        return no_transaction(case, database);
    };
    let is_old = age(case, first.begun).is_some_and(|age| age >= OLD_TRANSACTION_S);
    let finding = of_transaction("held-by-transaction", case, database, first);
    let finding = match holders.len() {
        0 | 1 => finding,
        more => finding.evidence(format!(
            "{} more transactions begin in the same VLF and hold it too",
            more - 1
        )),
    };
    match is_old || is_used_above(database, MUCH_USED) {
        true => finding,
        false => finding
            .nothing_to_do()
            .otherwise("Nothing: it is younger than five minutes, and less than half of the log is used."),
    }
}

/// Where the reason names a transaction and none begins in the oldest VLF.
fn no_transaction(case: &Case<'_>, database: &DatabaseFacts) -> Finding {
    let is_unread = |source: &str| case.snapshot.not_read.iter().any(|not_read| not_read.source == source);
    if is_unread("sys.dm_tran_database_transactions") || database.oldest_needed_vlf().is_none() {
        let mut finding = Finding::of(
            "held-by-transaction",
            Some(database),
            "a transaction holds the log; which one could not be read".to_owned(),
        );
        finding.tsql = Some(format!("USE {};\nDBCC OPENTRAN;", identifier(&database.name)));
        return finding;
    }
    let what = match database.recovery_model.as_str() {
        _ if is_tempdb(database) => "tempdb's own checkpoint, at 70 % of the log,",
        "SIMPLE" => "the next checkpoint",
        _ => "the next log backup",
    };
    Finding::of(
        "held-by-transaction",
        Some(database),
        format!("the transaction that held the log is gone; {what} clears it"),
    )
    .evidence("no transaction under way begins in the oldest VLF that is needed")
    .nothing_to_do()
    .otherwise(format!("Nothing: {what} comes by itself."))
}

fn of_transaction(
    id: &'static str,
    case: &Case<'_>,
    database: &DatabaseFacts,
    transaction: &TransactionFacts,
) -> Finding {
    let age_s = age(case, transaction.begun);
    let since = age_s.map_or_else(String::new, |age| format!(" for {}", duration(age)));
    let log_held = held_from(database, transaction);
    let who = match &transaction.session {
        Some(session) => who(session),
        None if transaction.state == 5 => "a prepared distributed transaction without a session".to_owned(),
        None if is_tempdb(database) => match transaction.name.as_str() {
            "" => "work of a query in tempdb".to_owned(),
            name => format!("work of a query in tempdb ('{}')", comment(name)),
        },
        None => "a transaction without a session (the system's own, or deferred)".to_owned(),
    };
    let mut finding = Finding::of(id, Some(database), format!("{who} holds the log{since}"));
    finding.evidence.push(match transaction.name.as_str() {
        "" => format!("transaction {}", transaction.transaction_id),
        name => format!("transaction {} '{name}'", transaction.transaction_id),
    });
    if let (Some(lsn), Some(oldest)) = (transaction.begin_lsn, database.oldest_needed_vlf()) {
        let line = format!(
            "begins at {}, in VLF {oldest}, the oldest that is needed",
            lsn.to_decimal()
        );
        finding.evidence.push(line);
    }
    finding.evidence.push(format!(
        "has logged {} itself, and {} are kept for its rollback",
        format_bytes(transaction.log_bytes),
        format_bytes(transaction.reserved_bytes)
    ));
    if let Some(session) = &transaction.session {
        finding.evidence.extend(session_evidence(case, session));
    }
    if is_tempdb(database) {
        let line = "tempdb's log needs no backup: its own checkpoint clears it at 70 %, up to the oldest work in it";
        finding.evidence.push(line.to_owned());
    }
    if let Some(bytes) = log_held {
        finding = finding.now(format!("{} held", held(bytes, database.log_bytes())));
    }
    finding.tsql = Some(tsql_of_transaction(database, transaction));
    finding
}

/// The log from the transaction's first record to the end; whole VLFs, so it is what cannot be reused.
fn held_from(database: &DatabaseFacts, transaction: &TransactionFacts) -> Option<u64> {
    let begin = transaction.begin_lsn?;
    let vlfs = database.log_files.iter().flat_map(|file| &file.vlfs);
    let held = vlfs.filter(|vlf| vlf.status == 2 && vlf.sequence >= begin.vlf);
    let bytes: u64 = held.map(|vlf| vlf.bytes).sum();
    (bytes > 0).then_some(bytes)
}

/// A session by its number, login, host and program.
fn who(session: &SessionFacts) -> String {
    let mut text = format!("session {}", session.session_id);
    if !session.status.is_empty() {
        text.push_str(&format!(" ({})", session.status));
    }
    if !session.login.is_empty() {
        text.push_str(&format!(" of {}", session.login));
    }
    let place: Vec<&str> = [session.program.as_str(), session.host.as_str()]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    if !place.is_empty() {
        text.push_str(&format!(", {}", place.join(" on ")));
    }
    text
}

fn session_evidence(case: &Case<'_>, session: &SessionFacts) -> Vec<String> {
    let mut lines = Vec::new();
    let is_sleeping = session.status.eq_ignore_ascii_case("sleeping");
    if is_sleeping {
        let since = age(case, session.last_request_end);
        let since = since.map_or_else(String::new, |age| format!(" for {}", duration(age)));
        lines.push(format!(
            "the session is sleeping{since}: its application has not ended the transaction"
        ));
    }
    if let Some(command) = &session.command {
        lines.push(format!("it runs {command}"));
    }
    if let Some(wait) = &session.wait_type {
        lines.push(format!("it waits: {wait}"));
    }
    if let Some(blocker) = session.blocked_by {
        lines.push(format!("it is blocked by session {blocker}, so that one is the cause"));
    }
    lines
}

fn tsql_of_transaction(database: &DatabaseFacts, transaction: &TransactionFacts) -> String {
    let Some(session) = &transaction.session else {
        return match (&transaction.unit_of_work, transaction.state) {
            (Some(unit), 5) => format!(
                "-- In doubt: ask its coordinator (MS DTC) how it ended, then say the same here.\n\
                 KILL '{unit}' WITH COMMIT;   -- or WITH ROLLBACK"
            ),
            _ if is_tempdb(database) => WHO_USES_TEMPDB.to_owned(),
            _ => format!(
                "-- Deferred transactions wait for files that are not online:\n\
                 SELECT name, state_desc FROM {}.sys.database_files WHERE state_desc <> 'ONLINE';",
                identifier(&database.name)
            ),
        };
    };
    let id = session.session_id;
    let end = if session.status.eq_ignore_ascii_case("sleeping") {
        "-- Have the application commit or roll back. If it cannot:"
    } else {
        "-- Let it end if it is nearly done. If it must not go on:"
    };
    format!(
        "-- What it ran last:\nDBCC INPUTBUFFER ({id});\n{end}\n-- (rolls back {} of {}; a rollback takes about as long as the work did)\nKILL {id};",
        format_bytes(transaction.log_bytes),
        comment(&session.login)
    )
}

fn by_log_backup(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) -> Option<Finding> {
    if !database.needs_log_backups() {
        let finding = Finding::of(
            "held-by-log-backup",
            Some(database),
            format!(
                "LOG_BACKUP under {} is the reason from before the switch",
                database.recovery_model
            ),
        );
        return Some(
            finding
                .nothing_to_do()
                .otherwise("Nothing: the next checkpoint clears it."),
        );
    }
    // The transaction behind the first reason.
    let old = holders(case, database).into_iter().find(|transaction| {
        age(case, transaction.begun).is_some_and(|age| age >= OLD_TRANSACTION_S) && transaction.kind != 3
    });
    if let Some(transaction) = old {
        let finding = of_transaction("held-next-by-transaction", case, database, transaction);
        findings.push(with_reason(finding, case, database));
    }
    let last = last_log_backup(database);
    let age_s = age(case, last);
    let is_missing = age_s.is_some_and(|age| age >= RECENT_BACKUP_S);
    // Backups that are missing for long are a finding of their own, but where the service makes them and keeps no history of it.
    let is_own_finding = is_missing && matches!(case.snapshot.service(), Service::SqlServer | Service::Rds);
    if is_own_finding || !is_used_above(database, MUCH_USED) {
        return None;
    }
    let headline = match age_s {
        None => "the log waits for its first log backup".to_owned(),
        Some(age) => format!("the log waits for a log backup; the last one was {} ago", duration(age)),
    };
    let since = database.marks.since_log_backup_bytes.filter(|_| last.is_some());
    let finding = Finding::of("held-by-log-backup", Some(database), headline)
        .evidence_if(last.map(|moment| format!("last log backup: {moment}")))
        .evidence_if(since.map(|bytes| format!("{} of log since then", format_bytes(bytes))))
        .tsql(back_up_log(case, database));
    Some(finding)
}

/// The newer of what msdb and the database itself remember.
pub(super) fn last_log_backup(database: &DatabaseFacts) -> Option<Moment> {
    database.backups.last_log.max(database.marks.log_backup)
}

/// How a log backup comes about here; never a path of its own.
pub(super) fn back_up_log(case: &Case<'_>, database: &DatabaseFacts) -> String {
    let name = identifier(&database.name);
    match case.snapshot.service() {
        Service::AzureSqlDatabase | Service::ManagedInstance => {
            "-- The service makes log backups by itself, every few minutes. If they do not come, ask its support."
                .to_owned()
        }
        Service::Rds => {
            "-- RDS makes log backups by itself while automated backups are on: see the instance's backup retention."
                .to_owned()
        }
        Service::SqlServer => {
            let usual = database.backups.last_log_device.as_deref();
            let usual = usual.map_or_else(String::new, |device| {
                format!("-- The last log backup went to {}.\n", comment(device))
            });
            format!(
                "{usual}-- Run the job or product that usually backs up this log; a backup beside it would split the chain.\n\
                 -- Without one: BACKUP LOG {name} TO DISK = N'<a folder of your backups>';"
            )
        }
    }
}

fn checkpoint(database: &DatabaseFacts) -> Option<Finding> {
    if !is_used_above(database, NEARLY_ALL_USED) {
        return None;
    }
    let since = database.marks.since_checkpoint_bytes;
    let finding = Finding::of(
        "held-by-checkpoint",
        Some(database),
        "the log waits for a checkpoint".to_owned(),
    );
    Some(
        finding
            .evidence_if(since.map(|bytes| format!("{} of log since the last checkpoint", format_bytes(bytes))))
            .tsql(format!("USE {};\nCHECKPOINT;", identifier(&database.name))),
    )
}

fn by_backup(case: &Case<'_>, database: &DatabaseFacts) -> Finding {
    let works = case.snapshot.works.iter();
    let running: Vec<_> = works
        .filter(|work| work.database_id == database.database_id || work.database_id == 0)
        .filter(|work| work.command.starts_with("BACKUP") || work.command.starts_with("RESTORE"))
        .collect();
    let Some(work) = running.first() else {
        return Finding::of(
            "held-by-backup",
            Some(database),
            "the backup that held the log has ended; the next log backup or checkpoint clears it".to_owned(),
        )
        .evidence("no request runs BACKUP or RESTORE")
        .nothing_to_do()
        .otherwise("Nothing: it comes by itself.");
    };
    let since = age(case, work.begun).map_or_else(String::new, |age| format!(" for {}", duration(age)));
    let finding = Finding::of(
        "held-by-backup",
        Some(database),
        format!(
            "session {} runs {}{since} and holds the log",
            work.session_id, work.command
        ),
    )
    .evidence(format!(
        "{:.0} % done, {} to go",
        work.percent,
        duration(work.milliseconds_left / 1_000)
    ))
    .tsql(format!(
        "-- Let it end. If the log fills before that, cancel it and make it again later:\nKILL {};",
        work.session_id
    ));
    match is_used_above(database, MUCH_USED) {
        true => finding,
        false => finding
            .nothing_to_do()
            .otherwise("Nothing: less than half of the log is used, and the backup ends by itself."),
    }
}

fn by_mirroring(database: &DatabaseFacts) -> Option<Finding> {
    let mirroring = database.mirroring.clone().unwrap_or_default();
    let is_moving = matches!(mirroring.state.as_str(), "SYNCHRONIZED" | "SYNCHRONIZING");
    if is_moving && !is_used_above(database, MUCH_USED) {
        return None;
    }
    let partner = match mirroring.partner.as_str() {
        "" => "its partner".to_owned(),
        name => name.to_owned(),
    };
    let name = identifier(&database.name);
    let finding = Finding::of(
        "held-by-mirroring",
        Some(database),
        format!("the mirror on {partner} holds the log"),
    )
    .evidence_if(
        (!mirroring.state.is_empty()).then(|| format!("mirroring is {} as {}", mirroring.state, mirroring.role)),
    );
    Some(finding.tsql(format!(
        "ALTER DATABASE {name} SET PARTNER RESUME;\n-- Or, where the partner does not come back, give the mirror up:\n-- ALTER DATABASE {name} SET PARTNER OFF;"
    )))
}

fn by_replication(case: &Case<'_>, database: &DatabaseFacts) -> Finding {
    let reader = match (database.is_cdc_enabled, database.is_published) {
        (true, false) => "change data capture",
        (false, true) => "the log reader of replication",
        (true, true) => "change data capture or the log reader of replication",
        (false, false) => "a log reader whose publication or capture is gone",
    };
    let of_database = |job: &&crate::snapshot::JobFacts| job.name.contains(&database.name);
    let jobs: Vec<_> = case.snapshot.jobs.iter().filter(of_database).collect();
    let stopped = jobs.iter().find(|job| !job.is_running);
    let headline = match stopped {
        Some(job) => format!("{reader} holds the log: its job '{}' does not run", job.name),
        None => format!("{reader} holds the log: it has not read it yet"),
    };
    let mut finding = Finding::of("held-by-replication", Some(database), headline);
    for job in &jobs {
        let state = match (job.is_running, job.is_enabled, job.last_outcome) {
            (true, ..) => "runs",
            (_, false, _) => "is disabled",
            (.., Some(0)) => "does not run; its last run failed",
            _ => "does not run",
        };
        finding = finding.evidence(format!("job '{}' {state}", job.name));
    }
    if database.is_accelerated_recovery_on {
        finding = finding.evidence("accelerated recovery does not truncate what a log reader has not read");
    }
    if jobs.is_empty() {
        finding = finding.evidence("no job of category REPL-LogReader names this database");
    }
    finding.tsql(tsql_of_replication(
        case,
        database,
        stopped.map(|job| job.name.as_str()),
    ))
}

fn tsql_of_replication(case: &Case<'_>, database: &DatabaseFacts, job: Option<&str>) -> String {
    let name = identifier(&database.name);
    let look = format!("USE {name};\nDBCC OPENTRAN;   -- the oldest log that is not distributed\n");
    if case.snapshot.service() == Service::AzureSqlDatabase {
        return format!(
            "USE {name};\nEXEC sys.sp_cdc_help_jobs;\nSELECT * FROM sys.dm_cdc_errors;   -- the capture is run by the service"
        );
    }
    match (job, database.is_cdc_enabled, database.is_published) {
        (Some(job), ..) => format!(
            "{look}EXEC msdb.dbo.sp_help_jobhistory @job_name = {}, @mode = N'FULL';   -- why it stopped\nEXEC msdb.dbo.sp_start_job @job_name = {};",
            super::wording::literal(job),
            super::wording::literal(job)
        ),
        (None, true, _) => {
            format!("{look}SELECT * FROM sys.dm_cdc_errors;\nEXEC sys.sp_cdc_start_job @job_type = N'capture';")
        }
        (None, false, true) => {
            format!("{look}EXEC sp_replcounters;   -- its lag; the log reader's job is on the distributor")
        }
        (None, false, false) => format!(
            "{look}-- Neither published nor captured: remains of replication hold the log.\nEXEC sp_removedbreplication @dbname = {};",
            super::wording::literal(&database.name)
        ),
    }
}

fn by_replica(database: &DatabaseFacts) -> Option<Finding> {
    let remote: Vec<&ReplicaFacts> = database.replicas.iter().filter(|replica| !replica.is_local).collect();
    let worst = remote.iter().max_by_key(|replica| {
        let is_stopped = replica.is_suspended || replica.synchronization == "NOT SYNCHRONIZING";
        (is_stopped, replica.send_queue_bytes + replica.redo_queue_bytes)
    });
    let is_stopped = remote
        .iter()
        .any(|replica| replica.is_suspended || replica.synchronization == "NOT SYNCHRONIZING");
    if !is_stopped && !is_used_above(database, MUCH_USED) {
        return None;
    }
    let name = identifier(&database.name);
    let headline = match worst {
        Some(replica) if replica.is_suspended => format!("replica {} is suspended and holds the log", called(replica)),
        Some(replica) => format!(
            "replica {} holds the log: {} to send, {} to redo",
            called(replica),
            format_bytes(replica.send_queue_bytes),
            format_bytes(replica.redo_queue_bytes)
        ),
        None => "a secondary replica holds the log; which one could not be read".to_owned(),
    };
    let mut finding = Finding::of("held-by-availability-replica", Some(database), headline);
    for replica in &remote {
        let mode = match replica.availability_mode.as_str() {
            "" => String::new(),
            mode => format!(", {mode}"),
        };
        let hardened = replica
            .last_hardened
            .map_or_else(String::new, |lsn| format!(", hardened up to {}", lsn.to_decimal()));
        finding = finding.evidence(format!(
            "{}: {}{mode}{hardened}",
            called(replica),
            replica.synchronization
        ));
    }
    Some(finding.tsql(format!(
        "-- On that replica; first mend what stopped it (its error log, its disk, its network):\nALTER DATABASE {name} SET HADR RESUME;\n\
         -- If it does not come back, on the primary: ALTER AVAILABILITY GROUP [...] REMOVE REPLICA ON N'...';"
    )))
}

fn called(replica: &ReplicaFacts) -> &str {
    match replica.server.as_str() {
        "" => "(its name could not be read)",
        name => name,
    }
}

fn oldest_page(database: &DatabaseFacts) -> Option<Finding> {
    if !is_used_above(database, MUCH_USED) {
        return None;
    }
    let since = database.marks.recovery_bytes;
    let finding = Finding::of(
        "held-by-oldest-page",
        Some(database),
        "the writer of changed pages is behind and holds the log".to_owned(),
    );
    Some(
        finding
            .evidence_if(since.map(|bytes| format!("recovery would read {} of log", format_bytes(bytes))))
            .tsql(format!("USE {};\nCHECKPOINT;", identifier(&database.name))),
    )
}

/// The checkpoint of memory-optimized tables comes when the log has grown by 1.5 GB (SQL Server docs, checkpoint operation for
/// memory-optimized tables).
const MEMORY_CHECKPOINT_BYTES: u64 = 3 << 29;

fn memory_optimized(database: &DatabaseFacts) -> Option<Finding> {
    let finding = Finding::of(
        "held-by-memory-optimized",
        Some(database),
        "the checkpoint of memory-optimized tables has not come yet".to_owned(),
    );
    let is_due = database
        .space
        .used_bytes
        .is_some_and(|used| used > MEMORY_CHECKPOINT_BYTES);
    // A log that cannot grow by 1.5 GB fills before that (dba.stackexchange.com, question 93588).
    match is_due && is_used_above(database, MUCH_USED) || is_used_above(database, NEARLY_ALL_USED) {
        true => Some(finding.tsql(format!("USE {};\nCHECKPOINT;", identifier(&database.name)))),
        false => Some(
            finding
                .nothing_to_do()
                .otherwise("Nothing: it comes by itself once the log has grown by 1.5 GB since the last one."),
        ),
    }
}

/// What passes by itself: worth a finding only where the log is nearly full.
fn passing(id: &'static str, what: &str, database: &DatabaseFacts) -> Option<Finding> {
    let finding = Finding::of(id, Some(database), format!("{what}; it passes by itself as a rule")).tsql(format!(
        "-- Look again after a minute:\nSELECT log_reuse_wait_desc FROM sys.databases WHERE database_id = {};",
        database.database_id
    ));
    match is_used_above(database, NEARLY_ALL_USED) {
        true => Some(finding),
        false => Some(
            finding
                .nothing_to_do()
                .otherwise("Nothing: it passes by itself, and the log has room."),
        ),
    }
}
