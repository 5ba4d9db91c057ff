//! The log chain: whether it exists, is unbroken, and is of use.

use super::reuse::{back_up_log, last_log_backup};
use super::wording::{duration, identifier};
use super::{Case, Finding};
use crate::size::format_bytes;
use crate::snapshot::{DatabaseFacts, Service};

/// A log backup is missing from this age of the last one on.
const MISSING_S: u64 = 86_400;

pub(super) fn judge(case: &Case<'_>, database: &DatabaseFacts, findings: &mut Vec<Finding>) {
    let backs_up_itself = matches!(
        case.snapshot.service(),
        Service::AzureSqlDatabase | Service::ManagedInstance
    );
    let is_of_a_user = !database.is_system() && database.is_ordinary() && !database.is_in_standby;
    if backs_up_itself || !database.needs_log_backups() || !is_of_a_user {
        return;
    }
    if database.marks.chain_has_begun == Some(false) {
        findings.push(not_begun(database));
        return;
    }
    findings.extend(failing(case, database).or_else(|| missing(case, database)));
    findings.extend(to_nul(database));
    findings.extend(beside_the_log(database));
}

fn not_begun(database: &DatabaseFacts) -> Finding {
    let name = identifier(&database.name);
    let headline = format!(
        "{} in name only: there is no full backup, so no log backup is possible",
        database.recovery_model
    );
    Finding::of("log-chain-not-begun", Some(database), headline)
        .evidence("last_log_backup_lsn is NULL in sys.database_recovery_status")
        .now("no restore to a point in time")
        .tsql(format!(
            "-- Either begin the chain, to where your backups go:\n-- BACKUP DATABASE {name} TO DISK = N'<a folder of your backups>';\n\
             -- and schedule log backups; or, if nobody will restore to a point in time, say so with ALTER DATABASE and its recovery model."
        ))
        .otherwise("Checkpoints clear the log meanwhile, so it does not grow; what was done since the last full backup is lost with the server.")
}

fn missing(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let last = last_log_backup(database);
    let age_s = match last {
        Some(last) => case.snapshot.age_s(last)?,
        // Without any, a chain that has just begun has nothing missing yet.
        None => case
            .snapshot
            .age_s(database.backups.last_full.filter(|_| database.backups.is_known)?)?,
    };
    if age_s < MISSING_S {
        return None;
    }
    let headline = match last {
        Some(_) => format!("the last log backup is {} old", duration(age_s)),
        None => format!("there was never a log backup, {} after the full one", duration(age_s)),
    };
    let since = database.marks.since_log_backup_bytes;
    Some(
        Finding::of("log-backup-missing", Some(database), headline)
            .evidence_if(last.map(|last| format!("last log backup: {last}")))
            .evidence_if(since.map(|bytes| format!("{} of log since then", format_bytes(bytes))))
            .evidence_if(
                (database.backups.log_backups_7d > 0)
                    .then(|| format!("{} log backups in the last seven days", database.backups.log_backups_7d)),
            )
            .now(format!("{} of work are lost with the server", duration(age_s)))
            .tsql(back_up_log(case, database))
            .otherwise("The log grows until its volume is full, and the work that a crash would lose grows with it."),
    )
}

/// Error 3041 names the command: `BACKUP failed to complete the command BACKUP LOG Sales. ...`.
fn failing(case: &Case<'_>, database: &DatabaseFacts) -> Option<Finding> {
    let names = [
        format!("BACKUP LOG {}.", database.name),
        format!("BACKUP LOG {} ", database.name),
        format!("BACKUP LOG {}", identifier(&database.name)),
    ];
    let of_this =
        |text: &str| text.starts_with("BACKUP failed") && names.iter().any(|name| text.contains(name.as_str()));
    let lines = case.snapshot.error_log.iter().filter(|line| of_this(&line.text));
    let recent: Vec<_> = lines
        .filter(|line| {
            line.at
                .and_then(|at| case.snapshot.age_s(at))
                .is_some_and(|age| age < MISSING_S)
        })
        .filter(|line| line.at > last_log_backup(database))
        .collect();
    let last = recent.last()?;
    let headline = format!(
        "log backups fail: error 3041, {} within a day, none succeeded since",
        super::wording::times(recent.len())
    );
    Some(
        Finding::of("log-backup-failing", Some(database), headline)
            .evidence(format!(
                "{}: {}",
                last.at.map_or_else(String::new, |at| at.to_string()),
                last.text
            ))
            .tsql("-- The lines before error 3041 say why:\nEXEC sp_readerrorlog 0, 1, N'BACKUP';")
            .otherwise("The log grows until its volume is full, and the work that a crash would lose grows with it."),
    )
}

fn to_nul(database: &DatabaseFacts) -> Option<Finding> {
    let device = database.backups.last_log_device.as_deref()?;
    let is_nul = device.eq_ignore_ascii_case("nul") || device.eq_ignore_ascii_case("nul:") || device == "/dev/null";
    let name = identifier(&database.name);
    is_nul.then(|| {
        Finding::of("log-backup-to-nul", Some(database), "the last log backup was thrown away".to_owned())
            .evidence(format!("physical_device_name = {device}"))
            .now("no restore beyond that backup")
            .tsql(format!(
                "-- Start a new backup chain, in the folder of your backups:\n-- BACKUP DATABASE {name} TO DISK = N'<a folder of your backups>';"
            ))
            .otherwise("The log backups that follow cannot be restored: one before them is missing.")
    })
}

/// The volume of a path: a drive's letter, or nothing where a path does not say.
fn drive(path: &str) -> Option<char> {
    let mut characters = path.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    (characters.next() == Some(':')).then(|| letter.to_ascii_uppercase())
}

fn beside_the_log(database: &DatabaseFacts) -> Option<Finding> {
    let device = database.backups.last_log_device.as_deref()?;
    let backup = drive(device)?;
    let file = database
        .log_files
        .iter()
        .find(|file| drive(&file.path) == Some(backup))?;
    Some(
        Finding::of(
            "backup-beside-data",
            Some(database),
            format!("log backups go to drive {backup}:, where the log is"),
        )
        .evidence(format!("log: {}", file.path))
        .evidence(format!("last log backup: {device}"))
        .otherwise("The drive that fails takes the log and its backups with it."),
    )
}
