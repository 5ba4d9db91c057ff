//! All checks: their names, priorities, and the text of `advise --explain`.
//!
//! Invariant: an id and its number are never reused for another check.

/// Priority of what needs nothing done.
pub(super) const REMARK: u8 = 250;
/// The number of `not-checked`.
pub(super) const NOT_CHECKED: u16 = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    pub id: &'static str,
    pub check_id: u16,
    /// From 1, the most urgent, to 255.
    pub priority: u8,
    pub title: &'static str,
    /// What it means, when it is found and where that limit comes from, what to do.
    pub explanation: &'static str,
}

/// The check of an id or of a number.
pub fn check(id_or_number: &str) -> Option<&'static Check> {
    let number = id_or_number.parse().ok();
    CHECKS
        .iter()
        .find(|check| check.id == id_or_number || number == Some(check.check_id))
}

const fn entry(check_id: u16, id: &'static str, priority: u8, title: &'static str, explanation: &'static str) -> Check {
    Check {
        id,
        check_id,
        priority,
        title,
        explanation,
    }
}

/// All checks, by number.
pub const CHECKS: &[Check] = &[
    entry(
        1,
        "log-full",
        1,
        "The log is full",
        "At least 95 % of the log is used, and it cannot grow: FILEGROWTH is 0, MAXSIZE is reached, or the volume has no room for the next step. \
         Statements that write fail with error 9002 until space is reusable. The reuse wait says what holds the space; remove that first. More \
         room (MODIFY FILE, MAXSIZE, a second log file) buys time and nothing else.",
    ),
    entry(
        2,
        "log-filling",
        5,
        "The log will be full within a day",
        "Something holds the log, and at the pace at which it was filled so far the room that is left, in the file and on the volume, lasts less \
         than 24 hours. The pace is that since the last log backup, or since the holder began; it is an average, so a load at night may be faster.",
    ),
    entry(
        3,
        "in-recovery",
        8,
        "A database is in recovery and not online yet",
        "The server is starting, restoring or failing over this database. How far it is, and how long it may take, is the server's own estimate in its \
         error log, which it writes every few seconds: phase 1 reads the log (analysis), phase 2 does again what was not written (redo), phase 3 \
         takes back what was not committed (undo; Enterprise lets users in meanwhile). Silence before phase 1 is the look at every VLF: see many-vlfs. \
         Do not restart the server: recovery begins anew.",
    ),
    entry(
        10,
        "held-by-transaction",
        10,
        "A transaction holds the log (ACTIVE_TRANSACTION)",
        "Log space from the oldest open transaction on cannot be reused, whatever else is backed up or checkpointed. Named is a transaction whose \
         first log record lies in the oldest VLF that is needed: only its end frees that VLF. It is reported from five minutes of age on, or when \
         half of the log is used.\n\
         A sleeping session with an open transaction waits for its application: for a person before a form, or for a COMMIT that an error or a \
         time-out skipped. KILL rolls it back, which takes about as long as the work took and writes log too. A prepared distributed transaction \
         has no session; it is ended by its unit of work (KILL 'uow' WITH COMMIT or ROLLBACK). A transaction without a session is the system's own \
         or deferred: a deferred one waits for a file that is offline.\n\
         The reason in sys.databases is the last known one. Where no transaction begins in the oldest VLF, its holder is gone, and the next \
         checkpoint (SIMPLE) or log backup (FULL) clears it.",
    ),
    entry(
        11,
        "held-by-log-backup",
        15,
        "The log waits for a log backup (LOG_BACKUP)",
        "Under FULL and BULK_LOGGED only a log backup lets log space be reused. Between two log backups the reason is normal; it is reported when \
         half of the log is used. Either the backups are too rare for the load, or there are none.\n\
         LOG_BACKUP right after a log backup is normal too: the reason is the one of the last time that space was wanted, and a backup that finds \
         the whole active log in one VLF clears nothing (Paul Randal, sqlskills.com). LOG_BACKUP under SIMPLE is the reason from before the switch; \
         the next checkpoint clears it.",
    ),
    entry(
        12,
        "held-by-checkpoint",
        40,
        "The log waits for a checkpoint (CHECKPOINT)",
        "Pages changed since the last checkpoint are not written yet, so their log records are needed. Under SIMPLE the automatic checkpoint comes at \
         the latest when 70 % of the log is used. Reported at 70 % and more: then checkpoints cannot keep up, or none was possible. A CHECKPOINT by \
         hand shows which.",
    ),
    entry(
        13,
        "held-by-backup",
        40,
        "A backup or restore is running (ACTIVE_BACKUP_OR_RESTORE)",
        "A full or differential backup needs the log from its begin on, so that what it read can be made consistent. Log backups can run meanwhile, \
         yet free nothing. Named is the session of the backup, with its percentage and the time it expects to need. Cancelling it frees the log; \
         letting it end does so as well.",
    ),
    entry(
        14,
        "held-by-mirroring",
        15,
        "Database mirroring holds the log (DATABASE_MIRRORING)",
        "Log that the mirror has not hardened is kept on the principal. With the session suspended or the partner gone, all log since then is kept. \
         Resume it (ALTER DATABASE ... SET PARTNER RESUME) or give it up (SET PARTNER OFF).",
    ),
    entry(
        15,
        "held-by-replication",
        10,
        "A log reader holds the log (REPLICATION)",
        "Transactional replication and change data capture read the log; what they have not read is kept. REPLICATION without a publication means \
         change data capture: its capture job does not run, fails or lags. Start the job that reads, and look at its error first. \
         sp_repldone throws away what was not read: subscribers and change tables then miss it.",
    ),
    entry(
        16,
        "held-by-snapshot-creation",
        50,
        "A database snapshot is being made (DATABASE_SNAPSHOT_CREATION)",
        "Short by nature. If it stays, look for the session that runs CREATE DATABASE ... AS SNAPSHOT; DBCC CHECKDB makes one too.",
    ),
    entry(
        17,
        "held-by-log-scan",
        50,
        "The log is being scanned (LOG_SCAN)",
        "Short by nature: something reads the log from its oldest part on. If it stays, look for long checkpoints, log readers or fn_dblog.",
    ),
    entry(
        18,
        "held-by-availability-replica",
        10,
        "A secondary replica holds the log (AVAILABILITY_REPLICA)",
        "Log that a secondary has not hardened, or still has to redo where its reading is held up, is kept on the primary. Log backups free nothing \
         meanwhile. Named is the replica that is furthest behind, with its queues. Resume its data movement, mend its connection, or remove it from \
         the group; then log backups free the log again. On a primary VLFs stay marked active until the log comes round, although nothing needs them \
         (lazy truncation); that is not reported.",
    ),
    entry(
        19,
        "held-by-oldest-page",
        40,
        "The oldest changed page holds the log (OLDEST_PAGE)",
        "With indirect checkpoints (TARGET_RECOVERY_TIME above 0) log is kept from the oldest page on that is changed and not written. It stays where \
         the disk does not keep up with the writer of pages. A CHECKPOINT by hand writes them; sys.dm_io_virtual_file_stats of the data files shows \
         whether the disk is the cause.",
    ),
    entry(
        20,
        "held-by-memory-optimized",
        40,
        "Memory-optimized tables hold the log (XTP_CHECKPOINT)",
        "A database with memory-optimized tables keeps log until their own checkpoint has run, which comes by itself when the log has grown by 1.5 GB \
         since the last one. So it is normal below that; CHECKPOINT by hand makes one. A log that may not grow so far fills before: then it is a finding.",
    ),
    entry(
        22,
        "held-by-other",
        50,
        "Something else holds the log (OTHER_TRANSIENT and reasons without a page of their own)",
        "Reasons are read by name, since their numbers changed their meaning: 9 was OTHER_TRANSIENT up to 2008 R2 and is AVAILABILITY_REPLICA since \
         2012. OTHER_TRANSIENT is short by nature. Look again after a minute; only if it stays while the log fills is there something to find.",
    ),
    entry(
        24,
        "held-next-by-transaction",
        20,
        "The next log backup will not free the log: a transaction does not let it",
        "The reason in sys.databases is the first that was found, LOG_BACKUP. Yet a transaction of five minutes or more begins in the oldest VLF that \
         is needed, so the next log backup will free nothing before it. It is named now, before the reason changes to ACTIVE_TRANSACTION.",
    ),
    entry(
        30,
        "log-backup-missing",
        5,
        "Log backups are missing",
        "The database is under FULL or BULK_LOGGED, its chain has begun, and its last log backup is older than 24 hours. The log grows until somebody \
         makes one, and everything since then is lost with the server. On an availability group backups may be made on another replica: the mark of \
         the database itself (log_backup_time) counts there, not msdb. Managed Instance and Azure SQL Database back up by themselves and are left out.",
    ),
    entry(
        31,
        "log-chain-not-begun",
        10,
        "FULL in name only: the chain of log backups has not begun",
        "The database is under FULL or BULK_LOGGED, and no full backup was made since. It behaves as under SIMPLE: the log is cleared by checkpoints, \
         log backups fail with error 4214, and there is no restore to a point in time. Make a full backup and schedule log backups, or say SIMPLE.",
    ),
    entry(
        32,
        "log-backup-failing",
        5,
        "Log backups fail",
        "The error log has error 3041 for BACKUP LOG of this database within the last 24 hours, and no log backup succeeded since. The message before \
         it in the error log says why.",
    ),
    entry(
        33,
        "log-backup-to-nul",
        1,
        "The last log backup went to NUL",
        "A log backup to NUL throws away the log that it frees and continues the chain as if it were there. No log backup that follows can be restored. \
         Make a full or differential backup at once; it is where restores begin again.",
    ),
    entry(
        34,
        "backup-beside-data",
        30,
        "Log backups lie on the volume of the log",
        "The volume that fails takes the log and its backups with it. The same name of a volume is not always the same device: a mount point or a \
         network share may be another one.",
    ),
    entry(
        40,
        "growth-stalls",
        50,
        "Writers were stopped by growths of the log",
        "The server itself recorded growths of this log that took a second or longer within the last seven days (default trace, events 93; error log, \
         5144 and 5145). Every session that writes waits for them. Grow the log to the size it needs at a quiet hour.",
    ),
    entry(
        41,
        "slow-log-writes",
        50,
        "Writes to the log are slow",
        "Since the server started, a write to this log has taken 20 ms or more on average, over 10,000 writes and more. Every commit waits for one. \
         The limit is no law: below 5 ms is what Microsoft's guides call good, SAN and cloud volumes have 1 to 5 ms. Reported too where the error \
         log has error 833 of this log within seven days: a request that was under way for longer than 15 seconds. Its number counts how often such \
         requests were seen, not how many there were.",
    ),
    entry(
        42,
        "misaligned-log-writes",
        60,
        "The log is written in smaller sectors than its disk has",
        "The error log has error 9012: log blocks are cut for sectors of 512 bytes, and the disk has 4,096. Each write that does not begin and end at a \
         sector of the disk is made while the writer waits, instead of beside it, and the disk reads a sector before it writes it. It is reported \
         of a log that was made, restored or sent from a disk of 512 bytes: after a move to other storage, on a replica, at a log shipping \
         target. Trace flag 1800 on the server that makes the log has its blocks cut for 4,096 bytes (KB 3009974); disks of one sector size on all \
         servers need no flag. On a replica the flag belongs to the primary, and to each server that may become it.",
    ),
    entry(
        43,
        "instant-initialization-off",
        150,
        "Growths of data files write zeros: the service lacks a right",
        "Without the right to volume maintenance (SE_MANAGE_VOLUME_NAME, 'Perform volume maintenance tasks') every growth of a data file writes zeros \
         while a statement waits. Reported when such growths took a second or longer within seven days. Logs do not gain by the right: up to 2019 \
         every growth of a log writes zeros, and from 2022 on growths by themselves of up to 64 MB write none, with the right or without (SQL Server \
         docs, database instant file initialization).",
    ),
    entry(
        50,
        "near-max-size",
        20,
        "The log is near its MAXSIZE",
        "Half of the log or more is used, and its next growth does not fit below MAXSIZE. When the log is full then, writers fail with error 9002.",
    ),
    entry(
        51,
        "volume-near-full",
        20,
        "The volume has no room for the next growth",
        "The free space of the log's volume is less than its next growth, and half of the log or more is used. A growth that does not fit fails, and \
         so do the statements that needed it. (A growth of 2012 and later is tried at a smaller size then.)",
    ),
    entry(
        52,
        "growth-off",
        60,
        "The log does not grow by itself",
        "FILEGROWTH is 0. That is sound where the log was made for the largest load; it is reported when 70 % of the log is used.",
    ),
    entry(
        60,
        "many-vlfs",
        100,
        "Many VLFs, in seconds",
        "Tools count VLFs and warn from 50 or 10,000 on. What they cost depends on the disk and is paid in three places: at each start and failover \
         (every VLF is looked at before recovery), round the log (each VLF is entered by a write of its own) and at growths. Reported as something to \
         mend when a start costs 10 s more than with as many VLFs as are advised for the size, or a day costs a minute more; below that the verdict is \
         to leave it. Seconds are computed for the disk named: --disk takes another, 'vlflab disks probe' measures yours. The work priced is that of \
         SQL Server 2005 to 2012. How later versions find VLFs is not published; 10,000 of them took 4 s longer than 20 (Bob Ward, 2024), which the \
         range holds from 2014 on. 'vlflab run curve --target' measures it on your server.",
    ),
    entry(
        61,
        "huge-vlfs",
        110,
        "VLFs so large that the log cannot be cleared in parts",
        "Log space is freed a whole VLF at a time: one record that is needed keeps all of its VLF. Reported of a VLF with an eighth of the log or more, \
         above 1 GB, and of VLFs of 4 GB where the log has 16 or fewer: that is what a log of 64 GB has that was made at once (Kimberly Tripp). Made in \
         steps of 8,000 MB it has VLFs of 500 MB. A growth of less than an eighth of the log makes a single VLF since 2014.",
    ),
    entry(
        62,
        "log-cannot-shrink",
        115,
        "The end of the log file is in use",
        "DBCC SHRINKFILE cuts inactive VLFs off the end of a log file and stops at the first that is active (SQL Server docs, DBCC SHRINKFILE). So it \
         gives nothing back while the log stands in its last VLF, however empty the others are, and while that VLF is needed by what holds the log. \
         Reported where another finding asks for a shrink. Without a holder two rounds are enough: a checkpoint (SIMPLE) or the usual log backup, then \
         the shrink; the first moves the end of the log to the front of the file, the second gives the space back (KB 256650).",
    ),
    entry(
        70,
        "percent-growth",
        120,
        "The log grows by a percentage",
        "The step grows with the file: the larger the log, the longer writers wait for each growth. Reported with the seconds of the next step.",
    ),
    entry(
        71,
        "growth-step-large",
        120,
        "A growth stops writers for long",
        "The next growth writes zeros while every writer waits; from 2022 on not for steps up to 64 MB (SQL Server docs, instant file initialization). \
         Reported when it takes 10 s or more on the disk named.",
    ),
    entry(
        72,
        "growth-step-small",
        130,
        "Small growths",
        "The step is so small that the log, grown by it from here to twice its size, would have more than 1,000 VLFs more.",
    ),
    entry(
        80,
        "log-larger-than-peak",
        150,
        "The log is much larger than its peak use",
        "The log is larger than the data and 10 GB or more, and neither the log backups of the last seven days nor what is used now come to a tenth of \
         it. A warehouse whose load at night fills the log is not reported: its log backups show the peak. A smaller log starts, restores and is copied \
         faster; a log that will be needed again should stay.",
    ),
    entry(
        81,
        "several-log-files",
        170,
        "Several log files",
        "The log is written to one file after the other, never to two at once, so a second file is no faster. It is right for a log above 2 TB, or \
         as first aid on another volume; remove it afterwards (ALTER DATABASE ... REMOVE FILE, once it is empty).",
    ),
    entry(
        82,
        "auto-shrink",
        120,
        "AUTO_SHRINK is on",
        "A shrunk file grows again, and writers wait for that.",
    ),
    entry(
        83,
        "shrink-churn",
        120,
        "The log is shrunk and grows again",
        "Since the server started the log was shrunk three times or more, and grew as often. Each growth stops writers, and small ones leave many VLFs. \
         Take the shrink out of the maintenance job.",
    ),
    entry(
        84,
        "delayed-durability",
        180,
        "Commits may be lost: delayed durability is forced",
        "With DELAYED_DURABILITY = FORCED every commit returns before its log is on disk. A crash loses what was committed last.",
    ),
    entry(
        85,
        "sync-commit-waits",
        100,
        "Commits wait for a synchronous replica",
        "HADR_SYNC_COMMIT: since the server started, a commit has waited 20 ms or more on average for the replica to harden it. The network and \
         the replica's log disk decide that, not the primary's log.",
    ),
    entry(
        86,
        "log-rate-governed",
        100,
        "The service slows log writes down",
        "Azure SQL Database and Managed Instance limit how much log is written a second (LOG_RATE_GOVERNOR and its kin). Sessions have waited for it \
         an hour or more since the server started. Larger service objectives have higher limits.",
    ),
    entry(
        87,
        "accelerated-recovery-with-log-reader",
        100,
        "Accelerated recovery does not shorten the log here",
        "Accelerated database recovery truncates the log under open transactions, but not where change data capture or replication reads it (SQL Server \
         docs, accelerated database recovery). So the log still grows with the oldest transaction, and versions are logged on top.",
    ),
    entry(
        88,
        "damaged-log",
        1,
        "The log file is damaged",
        "Reading the file found damage ('vlflab inspect' names each place), or the error log has error 9004: the server could not \
         read its log. A database that starts with it may become SUSPECT. Restore from backups; do not detach it or delete the log.",
    ),
    entry(
        89,
        "tempdb-log-regrows",
        110,
        "tempdb's log grows anew after each start",
        "tempdb is made anew at each start, with the sizes that sys.master_files has. Its log is now at least twice as large as that, so it will grow \
         to it again, step by step, while sessions wait. Give it the size it has. Its log holds only what undoes changes, needs no backup, and is cleared \
         by a checkpoint of its own when 70 % of it is used (SQL Server docs, database checkpoints); a log that is much larger than that was held by \
         one long transaction, which the findings of tempdb name while it runs.",
    ),
    entry(
        NOT_CHECKED,
        "not-checked",
        200,
        "Not checked",
        "A right, an answer or a connection was missing. Each line names the source, the error number and the right that would help. No finding of \
         that source can come out until then.",
    ),
    entry(
        91,
        "not-there",
        240,
        "Not there",
        "This server, by its version or service, does not have the view, column or command; the checks that need it are left out.",
    ),
    entry(
        92,
        "version-cleaner-behind",
        60,
        "Accelerated recovery's version cleaner is behind",
        "With accelerated database recovery a rollback is a mark, and a cleaner takes away afterwards what was rolled back. Found where aborted \
         transactions wait for it although no transaction of 1,800 s or more keeps it back: the oldest of them began that long ago, or the persistent \
         version store has half the size of the data files (both limits: SQL Server docs, monitor and troubleshoot accelerated database recovery). \
         Causes named there: locks on whole tables, which the cleaner cannot pass, and applications that roll back much (deadlocks, keys that are \
         there already). Clean at a quiet hour with sys.sp_persistent_version_cleanup, and look for VersionCleaner in the error log.",
    ),
    entry(
        93,
        "versions-held",
        60,
        "Row versions are kept for an old transaction",
        "Row versions are cleaned up to the oldest snapshot that may need them, whichever database it reads, and in a database with accelerated \
         recovery up to its oldest transaction. Found where a transaction of 1,800 s or more is there and versions take half of the data files \
         (persistent version store) or of tempdb's (version store in tempdb); the limits are those of SQL Server's docs (monitor and troubleshoot \
         accelerated database recovery). With accelerated recovery each version is logged, too. End that transaction; reports that run for hours \
         read READ COMMITTED, or a database snapshot.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_checks_share_a_name_or_a_number() {
        for (index, one) in CHECKS.iter().enumerate() {
            for other in &CHECKS[index + 1..] {
                assert_ne!(one.id, other.id);
                assert!(one.check_id < other.check_id, "{} and {}", one.id, other.id);
            }
            assert_eq!(check(one.id), Some(one));
            assert_eq!(check(&one.check_id.to_string()), Some(one));
        }
        assert_eq!(check("nothing"), None);
    }
}
