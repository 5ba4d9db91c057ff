//! For each finding a set that is *found*: what documentation, a post or a forum thread prints, with its address. Each says what of it is
//! printed there; the rest is *made*: that of [`Recorded::sales`], a server in order, or what the set puts in. Findings of which nothing
//! printed was found are named in [`NOT_FOUND`], with what was searched.

use std::collections::BTreeSet;

use advisor::advice::CHECKS;
use advisor::snapshot::Source;

use super::recorded::Origin::Found;
use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS, table};
use super::rows;

/// A set, what is printed of it where, and the findings that belong to it.
struct FoundSet {
    address: &'static str,
    /// What the address prints; all else is made.
    printed: &'static str,
    set: Recorded,
    ids: &'static [&'static str],
}

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;
const ERROR_LOG: &str = "LogDate|ProcessInfo|Text";
const SERVER: &str = "server_name|product_version|edition|engine_edition|clock|login_name";
const FILES: &str = "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth";
const BACKUPS: &str = "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d";
const BACKUP_DEVICES: &str = "database_name|type|device";
const VOLUMES: &str = "database_id|file_id|volume_mount_point|total_bytes|available_bytes";
const COUNTERS: &str = "counter|database_name|cntr_value";
const WAITS: &str = "wait_type|waiting_tasks_count|wait_time_ms";
const GB_PAGES: u64 = 131_072;
const MB_PAGES: u64 = 128;

/// Nothing printed was found of these, in documentation, posts, forum threads and issues: sentences, queries without their output, and
/// pictures of it. Beside each, what was searched.
const NOT_FOUND: [(&str, &str); 10] = [
    (
        "log-filling",
        "log grows GB an hour, free space left; log_since_last_log_backup_mb",
    ),
    (
        "held-by-snapshot-creation",
        "full due to 'DATABASE_SNAPSHOT_CREATION'; log_reuse_wait_desc of a database under CHECKDB; the same words among the sources of public repositories",
    ),
    (
        "held-by-log-scan",
        "full due to 'LOG_SCAN'; log_reuse_wait_desc LOG_SCAN stuck; the same words among the sources of public repositories",
    ),
    (
        "held-by-oldest-page",
        "full due to 'OLDEST_PAGE'; OLDEST_PAGE, log 99 % used; indirect checkpoint, log keeps growing; issues of sql-docs (6150, 8747)",
    ),
    (
        "held-by-other",
        "full due to 'OTHER_TRANSIENT'; OTHER_TRANSIENT, log grows; error 9002 with each state",
    ),
    (
        "held-next-by-transaction",
        "LOG_BACKUP with DBCC OPENTRAN of the same time; log backup does not truncate, oldest active transaction; DBCC OPENTRAN beside SQLPERF(LOGSPACE)",
    ),
    (
        "log-rate-governed",
        "seconds of LOG_RATE_GOVERNOR and INSTANCE_LOG_RATE_GOVERNOR; the limits of 22 and 48 MB/s are printed, no waits; rows of dm_db_wait_stats, sp_BlitzFirst's waits in Azure",
    ),
    (
        "version-cleaner-behind",
        "values of current_aborted_transaction_count; PVS grew, aborted transactions, sp_persistent_version_cleanup; the documentation prints the query without rows",
    ),
    (
        "versions-held",
        "rows of dm_tran_active_snapshot_database_transactions beside dm_tran_version_store_space_usage or the size of a persistent version store",
    ),
    (
        "shrink-churn",
        "values of Log Shrinks and Log Growths; nightly DBCC SHRINKFILE and growths of the log; the default trace beside a plan that shrinks",
    ),
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

fn healthy() -> Recorded {
    Recorded::sales("FULL", "NOTHING", NEWEST, 8)
}

fn with_error(text: &str) -> Recorded {
    let mut set = healthy();
    set.put(Source::ErrorLog, ERROR_LOG, &[text]);
    set
}

/// Sales of another version or service.
fn of_version(mut set: Recorded, version: &str, edition: u8) -> Recorded {
    let row = format!("DB1|{version}|-|{edition}|2026-11-26 12:00:00.000|reader");
    set.put(Source::Server, SERVER, &[&row]);
    set
}

/// Sizes of Sales. Its VLFs are not known: of none of these sets they are printed.
fn sized(set: &mut Recorded, data_pages: u64, log: &str, log_pages: u64, used_percent: u64) {
    let data = format!("5|1|0|Sales|D:\\data\\Sales.mdf|{data_pages}|-1|8192|0");
    let log = format!("5|2|1|Sales_log|L:\\log\\Sales_log.ldf|{log_pages}|{log}");
    set.put(Source::Files, FILES, &[&data, &log]);
    let size = format!("Log File(s) Size (KB)|Sales|{}", log_pages * 8);
    let used = format!(
        "Log File(s) Used Size (KB)|Sales|{}",
        log_pages * 8 * used_percent / 100
    );
    set.put(Source::Counters, COUNTERS, &[&size, &used]);
    set.rows(Source::LogInfoCommand, table("FileId", &[]));
}

/// Each reuse wait that error 9002 is printed with.
fn full_logs() -> Vec<FoundSet> {
    const LINE: &str = "error 9002 with the database and the reason";
    let set = |address, database, wait, model, ids| FoundSet {
        address,
        printed: LINE,
        set: full_by(database, wait, model, 99),
        ids,
    };
    vec![
        set(
            "kailashsblogs.com/2026/01/the-transaction-log-for-database-is-full-due-to-log-backup.html",
            "Sales",
            "LOG_BACKUP",
            "FULL",
            &["log-full", "held-by-log-backup"],
        ),
        set(
            "github.com/ZeroK-RTS/Zero-K-Infrastructure/issues/906",
            "zero-k",
            "LOG_BACKUP",
            "FULL",
            &["log-full", "held-by-log-backup"],
        ),
        set(
            "github.com/microsoft/mssql-docker/issues/180 (a database of a user here: master is not judged)",
            "app",
            "NOTHING",
            "SIMPLE",
            &["log-full"],
        ),
        set(
            "learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-9001-database-engine-error",
            "ContosoDb",
            "AVAILABILITY_REPLICA",
            "FULL",
            &["log-full", "held-by-availability-replica"],
        ),
        set(
            "learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-17053-database-engine-error",
            "ContosoDb",
            "DATABASE_MIRRORING",
            "FULL",
            &["log-full", "held-by-mirroring"],
        ),
        set(
            "dba.stackexchange.com/questions/93588/the-transaction-log-for-database-database-name-is-full-due-to-xtp-checkpoint",
            "database_name",
            "XTP_CHECKPOINT",
            "SIMPLE",
            &["log-full", "held-by-memory-optimized"],
        ),
        set(
            "dba.stackexchange.com/questions/101585/transaction-log-is-full-due-to-checkpoint-for-db-in-simple-recovery-model",
            "dev",
            "CHECKPOINT",
            "SIMPLE",
            &["log-full", "held-by-checkpoint"],
        ),
    ]
}

/// DBCC OPENTRAN of TestDB: session 54, user_transaction, LSN (295:6687:1).
fn open_transaction() -> Recorded {
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
    open
}

/// Error 9002 of 05:58:48, and the full backup of 630 GB that ran from 23:30 to 06:37.
fn backup_at_night() -> Recorded {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_BACKUP_OR_RESTORE", FIRST_SEQUENCE, 99).renamed("ABC");
    let server = "Server1|12.0.4100.1|-|3|2015-12-01 06:00:00.000|reader";
    set.put(Source::Server, SERVER, &[server]);
    let line = "2015-12-01 05:58:48.000|spid118|The transaction log for database 'ABC' is full due to 'ACTIVE_BACKUP_OR_RESTORE'.";
    set.put(Source::ErrorLog, ERROR_LOG, &[line]);
    set.put(
        Source::Requests,
        "session_id|database_id|command|start_time|percent_complete|estimated_completion_time|wait_type|blocking_session_id",
        &["63|5|BACKUP DATABASE|2015-11-30 23:30:00.000|91|2220000|BACKUPIO|0"],
    );
    set
}

fn holders() -> Vec<FoundSet> {
    let mut captured = Recorded::sales("FULL", "REPLICATION", FIRST_SEQUENCE, 30);
    captured.database("5|Sales|ONLINE|FULL|REPLICATION|-|0|0|0|0|1|1|DISABLED|0|1");
    vec![
        FoundSet {
            address: "topic.alibabacloud.com/a/lookup-in-sql-server-for-a-long-time-uncommitted-transaction_1_42_10139269.html",
            printed: "DBCC OPENTRAN: the database, the session, the transaction's name, its LSN, the time of day it began",
            set: open_transaction(),
            ids: &["held-by-transaction"],
        },
        FoundSet {
            address: "support.microsoft.com/kb/2871474",
            printed: "log_reuse_wait_desc, the recovery model",
            set: Recorded::sales("FULL", "REPLICATION", FIRST_SEQUENCE, 30),
            ids: &["held-by-replication"],
        },
        FoundSet {
            address: "sqlservercentral.com/blogs/the-transaction-log-for-database-abc-is-full-due-to-active_backup_or_restore",
            printed: "error 9002 with its time and session, the recovery model, begin and end of the backup",
            set: backup_at_night(),
            ids: &["log-full", "held-by-backup"],
        },
        FoundSet {
            address: "learn.microsoft.com/en-us/troubleshoot/sql/database-engine/replication/monitor-long-running-transactions-and-log-growth",
            printed: "log_reuse_wait_desc and is_cdc_enabled, in Azure SQL Database too, where accelerated recovery is always on",
            set: of_version(captured, "12.0.2000.8", 5),
            ids: &["held-by-replication", "accelerated-recovery-with-log-reader"],
        },
    ]
}

fn recovering() -> Recorded {
    let mut set = with_error(
        "2026-11-26 11:58:00.000|spid7s|Recovery of database 'Sales' (5) is 0% complete (approximately 2189255 seconds remain). Phase 2 of 3. \
         This is an informational message only. No user action is required.",
    );
    set.database("5|Sales|RECOVERING|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    set
}

fn misaligned() -> Recorded {
    let mut set = with_error(
        "2014-04-29 15:17:17.000|Server|There have been 25958144 misaligned log IOs which required falling back to synchronous IO. The current \
         IO is on file W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf.",
    );
    let log = "5|2|1|PRDLOG1|W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf|131072|268435456|8192|0";
    set.put(Source::Files, FILES, &[log]);
    set
}

fn failing() -> Recorded {
    let mut set = with_error(
        "2026-11-26 11:45:00.000|Backup|BACKUP failed to complete the command BACKUP LOG Sales. Check the backup application log for detailed \
         messages.",
    );
    set.put(Source::Backups, BACKUPS, &["Sales|D|2026-11-26 01:00:00.000|7|1|1"]);
    set
}

/// Lines of error logs.
fn lines() -> Vec<FoundSet> {
    const LINE: &str = "the line of the error log";
    let set = |address, set, ids| FoundSet {
        address,
        printed: LINE,
        set,
        ids,
    };
    vec![
        set("dbafix.com/sql-database-stuck-in-recovery", recovering(), &["in-recovery"]),
        set(
            "learn.microsoft.com/en-us/archive/blogs/saponsqlserver/\
             message-misaligned-log-ios-which-required-falling-back-to-synchronous-io-in-sql-server-error-log",
            misaligned(),
            &["misaligned-log-writes"],
        ),
        set(
            "troubleshootingsql.com/2011/02/09/troubleshooting-that-darn-backup-error",
            failing(),
            &["log-backup-failing"],
        ),
        set(
            "topic.alibabacloud.com/a/font-classtopic-s-color00c1desqlfont-server-database-log-font-classtopic-s-color00c1defilefont-\
             autogrow-causes-font-classtopic-s-color00c1deconnectionfont-timeout-analysis_1_42_30088381.html (its names are left out there)",
            with_error(
                "2026-11-26 11:45:00.000|spid57|Autogrow of file 'Sales_log' in database 'Sales' was cancelled by user or timed out after 2391 \
                 milliseconds.  Use ALTER DATABASE to set a smaller FILEGROWTH value for this file or to explicitly set a new file size.",
            ),
            &["growth-stalls"],
        ),
        set(
            "learn.microsoft.com/en-us/archive/blogs/cindygross/what-do-those-io-requests-taking-longer-than-15-seconds-messages-on-my-sql-box-mean \
             (of an .mdf or an .ldf; its count, file and database are left out there)",
            with_error(
                "2026-11-26 11:40:00.000|spid8s|SQL Server has encountered 12 occurrence(s) of IO requests taking longer than 15 seconds to complete \
                 on file [L:\\log\\Sales_log.ldf] in database [Sales] (5). The OS file handle is 0x000004BC. The offset of the latest long IO is: 0x1000",
            ),
            &["slow-log-writes"],
        ),
        set(
            "support.microsoft.com/en-us/help/2015753/how-to-troubleshoot-error-9004-in-sql-server",
            with_error(
                "2026-11-26 11:40:00.000|spid57|An error occurred while processing the log for database 'mydb'.  If possible, restore from backup. \
                 If a backup is not available, it might be necessary to rebuild the log.",
            )
            .renamed("mydb"),
            &["damaged-log"],
        ),
    ]
}

/// The chain of log backups.
fn chains() -> Vec<FoundSet> {
    let mut missing = Recorded::sales("FULL", "LOG_BACKUP", FIRST_SEQUENCE, 99);
    sized(&mut missing, 10 * GB_PAGES, "268435456|-|-", 987 * GB_PAGES, 99);
    missing.put(Source::Backups, BACKUPS, &["Sales|D|2026-11-23 01:00:00.000|3|1|1"]);
    let mut not_begun = healthy().renamed("TestLogBackup");
    not_begun.put(Source::RecoveryStatus, "database_id|chain_has_begun", &["5|0"]);
    let mut thrown_away = healthy();
    thrown_away.put(Source::BackupDevices, BACKUP_DEVICES, &["Sales|L|Nul"]);
    let mut beside = healthy().renamed("singlerestore");
    let folder = "C:\\Program Files\\Microsoft SQL Server\\MSSQL10_50.SQL2008R2SP2\\MSSQL";
    let log = format!("5|2|1|singlerestore_log|{folder}\\DATA\\singlerestore_log.ldf|131072|268435456|8192|0");
    beside.put(Source::Files, FILES, &[&log]);
    let device = format!("singlerestore|L|{folder}\\Backup\\singlerestore_201707161837.trn");
    beside.put(Source::BackupDevices, BACKUP_DEVICES, &[&device]);
    vec![
        FoundSet {
            address: "sqlskills.com/blogs/paul/search-engine-qa-23-my-transaction-log-is-full-now-what",
            printed: "10 GB of data, a log of 987 GB, FULL, a full backup and no log backup",
            set: missing,
            ids: &["log-backup-missing", "held-by-log-backup"],
        },
        FoundSet {
            address: "mssqltips.com/sqlservertip/5968/the-statement-backup-log-is-not-allowed-for-a-sql-server-transaction-log-backup",
            printed: "FULL, no full backup since the switch from SIMPLE (last_log_backup_lsn is then NULL, says learn.microsoft.com)",
            set: not_begun,
            ids: &["log-chain-not-begun"],
        },
        FoundSet {
            address: "sqlservercentral.com/blogs/backing-up-to-nul-vs-backup-with-truncate-only",
            printed: "BACKUP LOG ... TO DISK = 'Nul'",
            set: thrown_away,
            ids: &["log-backup-to-nul"],
        },
        FoundSet {
            address: "github.com/dataplat/dbatools/issues/1574",
            printed: "database, kind and path of the last log backup; the log stands in the default folder of that instance",
            set: beside,
            ids: &["backup-beside-data"],
        },
    ]
}

/// How large a log may become.
fn rooms() -> Vec<FoundSet> {
    // Log backups every two hours, steps of 100 MB, a volume of just under 40 GB that keeps filling up.
    let mut volume = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 60);
    sized(&mut volume, 90 * GB_PAGES, "268435456|12800|0", 39 * GB_PAGES, 60);
    volume.put(Source::Volumes, VOLUMES, &["5|2|L:\\|41943040000|67108864"]);
    let mut limited = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 60);
    sized(&mut limited, 10 * GB_PAGES, "262144|8192|0", 2_000 * MB_PAGES, 60);
    let mut off = Recorded::sales("SIMPLE", "NOTHING", FIRST_SEQUENCE, 80);
    sized(&mut off, 10 * GB_PAGES, "-1|0|0", MB_PAGES, 80);
    vec![
        FoundSet {
            address: "itprotoday.com/microsoft-sql-server/data-tales-3-case-stubborn-log-file",
            printed: "data of about 90 GB, FILEGROWTH of 100 MB, a volume of just under 40 GB that the log fills, log backups every two hours",
            set: volume,
            ids: &["volume-near-full"],
        },
        FoundSet {
            address: "github.com/BrentOzarULTD/SQL-Server-First-Responder-Kit/issues/1775",
            printed: "MAXSIZE of 2,048 MB",
            set: limited,
            ids: &["near-max-size"],
        },
        FoundSet {
            address: "sqlservergeeks.com/sql-server-database-transaction-log-files-virtual-log-files",
            printed: "FILEGROWTH = 0 of a log that is filled then",
            set: off.renamed("TEST2"),
            ids: &["growth-off"],
        },
    ]
}

/// Logs larger than they need be, and how a shrink meets them.
fn sizes() -> Vec<FoundSet> {
    // 5 GB as a rule, 90 GB every nine weeks, and 2 GB free on the volume.
    let mut peak = healthy();
    sized(&mut peak, 60 * GB_PAGES, "268435456|131072|0", 90 * GB_PAGES, 1);
    let largest = [
        "Sales|D|2026-11-26 01:00:00.000|7|1|1",
        "Sales|L|2026-11-26 11:45:00.000|672|45097156608|5368709120",
    ];
    peak.put(Source::Backups, BACKUPS, &largest);
    peak.put(Source::Volumes, VOLUMES, &["5|2|L:\\|99857989632|2147483648"]);
    let mut stuck = healthy();
    sized(&mut stuck, 100 * GB_PAGES, "268435456|131072|0", 200 * GB_PAGES, 1);
    stuck.rows(Source::LogInfoCommand, rows::grown(8_000, 8_000, 200 * 1_024));
    vec![
        FoundSet {
            address: "midnightdba.com/Jen/2016/02/shrink-a-log-fileautomatically",
            printed: "a log of 90 GB, 5 GB of it used as a rule, 2 GB free on the volume",
            set: peak,
            ids: &["log-larger-than-peak"],
        },
        FoundSet {
            address: "rusanu.com/2012/07/27/how-to-shrink-the-sql-server-log",
            printed: "a log of 200 GB that DBCC SHRINKFILE leaves as it is, for its last VLF is active",
            set: stuck,
            ids: &["log-cannot-shrink", "log-larger-than-peak"],
        },
    ]
}

/// A layout whose size, step and count are printed; the rules make its rows.
fn layouts() -> Vec<FoundSet> {
    let mut many = healthy();
    many.log_file(655_360, 268_435_456, 128, 0);
    many.rows(Source::LogInfoCommand, rows::grown_and_gone_round(1, 1, 5_120));
    let mut huge = healthy();
    sized(&mut huge, 100 * GB_PAGES, "268435456|131072|0", 64 * GB_PAGES, 8);
    huge.rows(
        Source::LogInfoCommand,
        rows::grown_and_gone_round(65_536, 1_024, 65_536),
    );
    let mut steps = healthy();
    sized(&mut steps, 100 * GB_PAGES, "268435456|1048576|0", 64 * GB_PAGES, 8);
    let mut percent = healthy();
    sized(&mut percent, 100 * GB_PAGES, "268435456|10|1", 11 * GB_PAGES, 8);
    vec![
        FoundSet {
            address: "blogs.msdn.microsoft.com/grahamk/2008/05/16/\
                      slow-recovery-times-and-slow-performance-due-to-large-numbers-of-virtual-log-files",
            printed: "20,480 VLFs in 5 GB, FILEGROWTH = 1MB",
            set: many,
            ids: &["many-vlfs", "growth-step-small"],
        },
        FoundSet {
            address: "sqlskills.com/blogs/kimberly/transaction-log-vlfs-too-many-or-too-few",
            printed: "a log of 64 GB made at once, which has 16 VLFs of 4 GB",
            set: huge,
            ids: &["huge-vlfs"],
        },
        FoundSet {
            address: "dbamohsin.wordpress.com/2011/02/11/448-virtual-log-files-vlfs-on-a-11gb-file-hmmmmmm",
            printed: "a log of 11 GB that grows by 10 %",
            set: percent,
            ids: &["percent-growth"],
        },
        FoundSet {
            address: "docs.aws.amazon.com/prescriptive-guidance/latest/sql-server-ec2-best-practices/vlf.html",
            printed: "a log that is grown by 8 GB at a time",
            set: steps,
            ids: &["growth-step-large"],
        },
    ]
}

fn two_logs() -> Recorded {
    let mut set = healthy();
    let folder = "c:\\Program Files\\Microsoft SQL Server\\MSSQL\\Data";
    let log = |id: u8, name: &str, file: &str| format!("5|{id}|1|{name}|{folder}\\{file}|640|12800|640|0");
    let (second, third) = (log(3, "test1log2", "test2log.ldf"), log(4, "test1log3", "test3log.ldf"));
    let first = log(2, "Test1_log", "Test1_log.ldf");
    set.put(Source::Files, FILES, &[&first, &second, &third]);
    set.rows(Source::LogInfoCommand, table("FileId", &[]));
    set.renamed("Test1")
}

/// tempdb of 2005 after some hours of a load test.
fn tempdb() -> Recorded {
    let mut set = Recorded::sales("SIMPLE", "NOTHING", NEWEST, 8);
    set.database("2|tempdb|ONLINE|SIMPLE|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    set.put(
        Source::Files,
        FILES,
        &["2|2|1|templog|L:\\templog.ldf|131072|268435456|8192|0"],
    );
    let counters = [
        "Log File(s) Size (KB)|tempdb|12582912",
        "Log File(s) Used Size (KB)|tempdb|8388608",
    ];
    set.put(Source::Counters, COUNTERS, &counters);
    set.put(Source::Backups, "database_name|type|last_finish", &[]);
    set.rows(Source::LogInfoCommand, table("FileId", &[]));
    of_version(set, "9.00.5000.00", 3)
}

/// Options of databases.
fn options() -> Vec<FoundSet> {
    let option = |row: &str| {
        let mut set = healthy();
        set.database(row);
        set
    };
    let shrinks = option("5|Sales|ONLINE|FULL|NOTHING|-|0|0|1|0|0|0|DISABLED|0|1");
    let delayed = option("5|Sales|ONLINE|SIMPLE|NOTHING|-|0|0|0|0|0|0|FORCED|0|1");
    vec![
        FoundSet {
            address: "cnblogs.com/lei1217/archive/2008/11/20/1337871.html (Books Online, ALTER DATABASE, example C)",
            printed: "names, paths, SIZE, MAXSIZE and FILEGROWTH of two log files beside the first",
            set: two_logs(),
            ids: &["several-log-files"],
        },
        FoundSet {
            address: "jeeja.biz/2024/05/12/myth-busters-who-is-scared-of-auto_shrink",
            printed: "AUTO_SHRINK is on, in Azure SQL Database",
            set: of_version(shrinks, "12.0.2000.8", 5),
            ids: &["auto-shrink"],
        },
        FoundSet {
            address: "github.com/linq2db/linq2db/pull/5697",
            printed: "DELAYED_DURABILITY = FORCED, SIMPLE, SQL Server 2022",
            set: of_version(delayed.renamed("TestData"), "16.0.4135.4", 3),
            ids: &["delayed-durability"],
        },
        FoundSet {
            address: "itecnotes.com/server/sql-server-tempdb-log-file-usage",
            printed: "tempdb's log grew to 12 GB within hours, 8 GB of it used; SQL Server 2005",
            set: tempdb(),
            ids: &["tempdb-log-regrows"],
        },
    ]
}

/// What concerns the whole server.
fn servers() -> Vec<FoundSet> {
    let mut replica = healthy();
    replica.put(Source::Waits, WAITS, &["HADR_SYNC_COMMIT|1600000|800000000"]);
    let mut zeros = healthy();
    zeros.put(
        Source::Services,
        "servicename|instant_file_initialization_enabled",
        &["SQL Server (MSSQLSERVER)|N"],
    );
    zeros.put(
        Source::Growths,
        "database_name|event_class|pages|microseconds|started",
        &["Sales|92|1310720|421000000|2026-11-25 08:00:00.000"],
    );
    vec![
        FoundSet {
            address: "woodler.eu/blog/when-network-infrastructure-throttles-sql-server-analyzing-hadr-sync-commit",
            printed: "800,000 s of HADR_SYNC_COMMIT a day, 0.5 s for a commit by day",
            set: replica,
            ids: &["sync-commit-waits"],
        },
        FoundSet {
            address: "sqlskills.com/blogs/kimberly/instant-initialization-what-why-and-how",
            printed: "a growth of data by 10 GB took 7:01 min without the right",
            set: zeros,
            ids: &["instant-initialization-off"],
        },
    ]
}

fn all() -> Vec<FoundSet> {
    [
        full_logs(),
        holders(),
        lines(),
        chains(),
        rooms(),
        sizes(),
        layouts(),
        options(),
        servers(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn what_is_printed_is_judged() {
    for found in all() {
        assert!(!found.printed.is_empty(), "{}: what is printed there?", found.address);
        found.set.finds(Found(found.address), found.ids);
    }
}

/// The list of what was not found cannot grow stale: a check is either in it or has a set, and never both.
#[test]
fn every_finding_has_a_set_that_is_printed_somewhere_or_is_named() {
    let with_a_set: BTreeSet<&str> = all().iter().flat_map(|found| found.ids).copied().collect();
    let named: BTreeSet<&str> = NOT_FOUND.into_iter().map(|(id, _)| id).collect();
    let both: Vec<_> = with_a_set.intersection(&named).collect();
    assert!(both.is_empty(), "found after all: {both:?}");
    let checks = CHECKS.iter().map(|check| check.id).filter(|id| !id.starts_with("not-"));
    let neither: Vec<&str> = checks
        .filter(|id| !with_a_set.contains(id) && !named.contains(id))
        .collect();
    assert!(neither.is_empty(), "no printed set, and not named: {neither:?}");
}
