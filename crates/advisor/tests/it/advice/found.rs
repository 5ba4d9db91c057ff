//! For each finding a set that is *found*: what documentation, a post or a forum thread prints, with its address. What it does not print
//! is that of [`Recorded::sales`], a server in order. Findings of which nothing printed was found are named in [`NOT_FOUND`].

use std::collections::BTreeSet;

use advisor::advice::CHECKS;
use advisor::snapshot::Source;

use super::recorded::Origin::Found;
use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS};
use super::rows;

/// A set, what is printed of it where, and the findings that belong to it.
struct FoundSet {
    address: &'static str,
    set: Recorded,
    ids: &'static [&'static str],
}

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;
const ERROR_LOG: &str = "LogDate|ProcessInfo|Text";

/// Nothing printed was found of these: what is published of them are sentences and queries without their output, or pictures of it.
const NOT_FOUND: [&str; 31] = [
    "log-filling",
    "held-by-checkpoint",
    "held-by-backup",
    "held-by-snapshot-creation",
    "held-by-log-scan",
    "held-by-oldest-page",
    "held-by-other",
    "held-next-by-transaction",
    "log-backup-missing",
    "log-chain-not-begun",
    "log-backup-to-nul",
    "backup-beside-data",
    "slow-log-writes",
    "instant-initialization-off",
    "near-max-size",
    "volume-near-full",
    "growth-off",
    "huge-vlfs",
    "log-cannot-shrink",
    "percent-growth",
    "growth-step-large",
    "log-larger-than-peak",
    "several-log-files",
    "auto-shrink",
    "shrink-churn",
    "delayed-durability",
    "sync-commit-waits",
    "log-rate-governed",
    "accelerated-recovery-with-log-reader",
    "damaged-log",
    "tempdb-log-regrows",
];

/// Error 9002 as it is printed, half an hour ago.
fn full_by(database: &str, wait: &str, model: &str, used: u64) -> Recorded {
    let mut set = Recorded::sales(model, wait, FIRST_SEQUENCE, used).renamed(database);
    let line = format!(
        "2026-11-26 11:30:00.000|spid57|The transaction log for database '{database}' is full due to '{wait}'."
    );
    set.put(Source::ErrorLog, ERROR_LOG, &[&line]);
    set
}

fn with_error(text: &str) -> Recorded {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    set.put(Source::ErrorLog, ERROR_LOG, &[text]);
    set
}

/// Each reuse wait that error 9002 is printed with.
fn full_logs() -> Vec<FoundSet> {
    vec![
        FoundSet {
            address: "kailashsblogs.com/2026/01/the-transaction-log-for-database-is-full-due-to-log-backup.html",
            set: full_by("Sales", "LOG_BACKUP", "FULL", 80),
            ids: &["log-full", "held-by-log-backup"],
        },
        FoundSet {
            address: "github.com/ZeroK-RTS/Zero-K-Infrastructure/issues/906",
            set: full_by("zero-k", "LOG_BACKUP", "FULL", 99),
            ids: &["log-full", "held-by-log-backup"],
        },
        FoundSet {
            address: "github.com/microsoft/mssql-docker/issues/180 (a database of a user here: master is not judged)",
            set: full_by("app", "NOTHING", "SIMPLE", 99),
            ids: &["log-full"],
        },
        FoundSet {
            address: "learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-9001-database-engine-error",
            set: full_by("ContosoDb", "AVAILABILITY_REPLICA", "FULL", 99),
            ids: &["log-full", "held-by-availability-replica"],
        },
        FoundSet {
            address: "learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-17053-database-engine-error",
            set: full_by("ContosoDb", "DATABASE_MIRRORING", "FULL", 99),
            ids: &["log-full", "held-by-mirroring"],
        },
        FoundSet {
            address: "dba.stackexchange.com/questions/93588/the-transaction-log-for-database-database-name-is-full-due-to-xtp-checkpoint",
            set: full_by("database_name", "XTP_CHECKPOINT", "SIMPLE", 99),
            ids: &["log-full", "held-by-memory-optimized"],
        },
    ]
}

/// DBCC OPENTRAN of TestDB: session 54, user_transaction, LSN (295:6687:1); and one of a replicated database.
fn holders() -> Vec<FoundSet> {
    let mut open = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", 295, 60).renamed("TestDB");
    open.vlfs_from(280, 295);
    open.put(
        Source::Transactions,
        "transaction_id|database_id|database_transaction_begin_time|database_transaction_log_bytes_used|\
         database_transaction_log_bytes_reserved|database_transaction_begin_lsn",
        &["4711|5|2026-11-26 11:50:15.607|100|100|295000000668700001"],
    );
    let kinds = "transaction_id|name|transaction_type|transaction_state|transaction_uow";
    open.put(Source::ActiveTransactions, kinds, &["4711|user_transaction|1|2|-"]);
    open.put(Source::SessionTransactions, "session_id|transaction_id", &["54|4711"]);
    vec![
        FoundSet {
            address: "topic.alibabacloud.com/a/lookup-in-sql-server-for-a-long-time-uncommitted-transaction_1_42_10139269.html",
            set: open,
            ids: &["held-by-transaction"],
        },
        FoundSet {
            address: "support.microsoft.com/kb/2871474",
            set: Recorded::sales("FULL", "REPLICATION", FIRST_SEQUENCE, 30),
            ids: &["held-by-replication"],
        },
    ]
}

/// Lines of error logs.
fn lines() -> Vec<FoundSet> {
    let mut recovering = with_error(
        "2026-11-26 11:58:00.000|spid7s|Recovery of database 'Sales' (5) is 0% complete (approximately 2189255 seconds remain). Phase 2 of 3. \
         This is an informational message only. No user action is required.",
    );
    recovering.database("5|Sales|RECOVERING|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    let mut misaligned = with_error(
        "2014-04-29 15:17:17.000|Server|There have been 25958144 misaligned log IOs which required falling back to synchronous IO. The current \
         IO is on file W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf.",
    );
    misaligned.put(
        Source::Files,
        "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth",
        &["5|2|1|PRDLOG1|W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf|131072|268435456|8192|0"],
    );
    let mut failing = with_error(
        "2026-11-26 11:45:00.000|Backup|BACKUP failed to complete the command BACKUP LOG Sales. Check the backup application log for detailed \
         messages.",
    );
    let backups = "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d";
    failing.put(Source::Backups, backups, &["Sales|D|2026-11-26 01:00:00.000|7|1|1"]);
    vec![
        FoundSet {
            address: "dbafix.com/sql-database-stuck-in-recovery",
            set: recovering,
            ids: &["in-recovery"],
        },
        FoundSet {
            address: "learn.microsoft.com/en-us/archive/blogs/saponsqlserver/\
                      message-misaligned-log-ios-which-required-falling-back-to-synchronous-io-in-sql-server-error-log",
            set: misaligned,
            ids: &["misaligned-log-writes"],
        },
        FoundSet {
            address: "troubleshootingsql.com/2011/02/09/troubleshooting-that-darn-backup-error",
            set: failing,
            ids: &["log-backup-failing"],
        },
        FoundSet {
            address: "topic.alibabacloud.com/a/font-classtopic-s-color00c1desqlfont-server-database-log-font-classtopic-s-color00c1defilefont-\
                      autogrow-causes-font-classtopic-s-color00c1deconnectionfont-timeout-analysis_1_42_30088381.html (its names are left out there)",
            set: with_error(
                "2026-11-26 11:45:00.000|spid57|Autogrow of file 'Sales_log' in database 'Sales' was cancelled by user or timed out after 2391 \
                 milliseconds.  Use ALTER DATABASE to set a smaller FILEGROWTH value for this file or to explicitly set a new file size.",
            ),
            ids: &["growth-stalls"],
        },
    ]
}

/// A layout whose size, step and count are printed; the rules make its rows.
fn layouts() -> Vec<FoundSet> {
    // 20,480 VLFs in 5 GB, FILEGROWTH = 1MB, on SQL Server 2005.
    let mut many = Recorded::sales("FULL", "NOTHING", NEWEST, 8);
    many.log_file(655_360, 268_435_456, 128, 0);
    many.rows(Source::LogInfoCommand, rows::grown_and_gone_round(1, 1, 5_120));
    vec![FoundSet {
        address: "blogs.msdn.microsoft.com/grahamk/2008/05/16/\
                      slow-recovery-times-and-slow-performance-due-to-large-numbers-of-virtual-log-files",
        set: many,
        ids: &["many-vlfs", "growth-step-small"],
    }]
}

fn all() -> Vec<FoundSet> {
    [full_logs(), holders(), lines(), layouts()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn what_is_printed_is_judged() {
    for found in all() {
        found.set.finds(Found(found.address), found.ids);
    }
}

/// The list of what was not found cannot grow stale: a check is either in it or has a set, and never both.
#[test]
fn every_finding_has_a_set_that_is_printed_somewhere_or_is_named() {
    let with_a_set: BTreeSet<&str> = all().iter().flat_map(|found| found.ids).copied().collect();
    let named: BTreeSet<&str> = NOT_FOUND.into_iter().collect();
    let both: Vec<_> = with_a_set.intersection(&named).collect();
    assert!(both.is_empty(), "found after all: {both:?}");
    let checks = CHECKS.iter().map(|check| check.id).filter(|id| !id.starts_with("not-"));
    let neither: Vec<&str> = checks
        .filter(|id| !with_a_set.contains(id) && !named.contains(id))
        .collect();
    assert!(neither.is_empty(), "no printed set, and not named: {neither:?}");
}
