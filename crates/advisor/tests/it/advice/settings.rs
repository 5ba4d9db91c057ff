//! Room, the chain of backups, VLFs in seconds, stalls and settings.

use advisor::snapshot::Source;

use super::recorded::Origin::{Found, Made};
use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS};
use super::rows;

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;

fn healthy() -> Recorded {
    Recorded::sales("FULL", "NOTHING", NEWEST, 8)
}

const ERROR_LOG: &str = "LogDate|ProcessInfo|Text";

#[test]
fn a_log_that_is_full_says_why_it_cannot_grow() {
    let mut set = Recorded::sales("FULL", "LOG_BACKUP", FIRST_SEQUENCE, 98);
    set.log_file(131_072, 131_072, 8_192, 0);
    let found = set.finds(Made, &["log-full", "held-by-log-backup"]);
    assert!(
        found[0].headline.contains("it has reached its MAXSIZE"),
        "{}",
        found[0].headline
    );
    assert!(found[0].tsql.as_ref().unwrap().contains("MAXSIZE = 1536MB"));
}

#[test]
fn error_9002_of_the_last_hour_is_a_full_log() {
    let mut set = Recorded::sales("FULL", "LOG_BACKUP", FIRST_SEQUENCE, 80);
    let line = "2026-11-26 11:30:00.000|spid57|The transaction log for database 'Sales' is full due to 'LOG_BACKUP'.";
    set.put(Source::ErrorLog, ERROR_LOG, &[line]);
    set.finds(
        Found("kailashsblogs.com/2026/01/the-transaction-log-for-database-is-full-due-to-log-backup.html"),
        &["log-full", "held-by-log-backup"],
    );
    let old = "2026-11-25 11:30:00.000|spid57|The transaction log for database 'Sales' is full due to 'LOG_BACKUP'.";
    set.put(Source::ErrorLog, ERROR_LOG, &[old]);
    set.finds(Made, &["held-by-log-backup"]);
}

/// 600 MB in the quarter of an hour since the last log backup, and 300 MB are left below MAXSIZE.
#[test]
fn hours_to_full_come_from_the_pace_since_the_last_log_backup() {
    let mut set = Recorded::sales("FULL", "LOG_BACKUP", FIRST_SEQUENCE, 75);
    set.log_file(131_072, 131_072, 8_192, 0);
    set.put(
        Source::LogStatistics,
        "log_min_lsn|log_since_last_log_backup_mb|log_backup_time",
        &["00000065:00000010:0001|600|2026-11-26 11:45:00.000"],
    );
    let found = set.finds(Made, &["log-filling", "held-by-log-backup", "near-max-size"]);
    assert!(found[0].headline.contains("full in 6 min"), "{}", found[0].headline);
    assert!(
        found[0]
            .evidence
            .join("\n")
            .contains("600 MB in 15 min since the last log backup")
    );
}

#[test]
fn a_volume_without_room_for_the_next_growth() {
    let mut set = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 60);
    set.put(
        Source::Volumes,
        "database_id|file_id|volume_mount_point|total_bytes|available_bytes",
        &["5|2|L:\\|107374182400|31457280"],
    );
    let found = set.finds(Made, &["volume-near-full"]);
    assert!(found[0].headline.contains("does not fit on L:\\"));
}

const BACKUPS: &str = "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d";

#[test]
fn log_backups_that_are_missing_never_begun_failing_or_thrown_away() {
    let mut missing = healthy();
    let lines = [
        "Sales|D|2026-11-24 01:00:00.000|7|1|1",
        "Sales|L|2026-11-24 11:45:00.000|100|1|1",
    ];
    missing.put(Source::Backups, BACKUPS, &lines);
    let found = missing.finds(Made, &["log-backup-missing"]);
    assert!(found[0].headline.contains("2.0 days old"), "{}", found[0].headline);
    // Backups are made on another replica: the database itself remembers.
    missing.put(Source::LogStatistics, "log_backup_time", &["2026-11-26 11:45:00.000"]);
    missing.finds(
        Found("github.com/BrentOzarULTD/SQL-Server-First-Responder-Kit/issues/3141"),
        &[],
    );

    let mut not_begun = healthy();
    not_begun.put(Source::RecoveryStatus, "database_id|chain_has_begun", &["5|0"]);
    let found = not_begun.finds(Made, &["log-chain-not-begun"]);
    assert!(!found[0].tsql.as_ref().unwrap().to_uppercase().contains("SET RECOVERY"));

    let mut failing = healthy();
    failing.put(Source::Backups, BACKUPS, &["Sales|D|2026-11-26 01:00:00.000|7|1|1"]);
    let line = "2026-11-26 11:45:00.000|Backup|BACKUP failed to complete the command BACKUP LOG Sales. Check the backup application log \
                for detailed messages.";
    failing.put(Source::ErrorLog, ERROR_LOG, &[line]);
    failing.finds(
        Found("troubleshootingsql.com/2011/02/09/troubleshooting-that-darn-backup-error"),
        &["log-backup-failing"],
    );

    let mut thrown_away = healthy();
    thrown_away.put(Source::BackupDevices, "database_name|type|device", &["Sales|L|NUL"]);
    thrown_away.finds(Made, &["log-backup-to-nul"]);
    thrown_away.put(
        Source::BackupDevices,
        "database_name|type|device",
        &["Sales|L|l:\\backup\\Sales.trn"],
    );
    thrown_away.finds(Made, &["backup-beside-data"]);
}

/// 20,480 VLFs (Graham Kent's log of 5 GB, grown by 1 MB): 1 ms for each on this disk, beside 16.
#[test]
fn many_vlfs_are_a_finding_where_their_seconds_are_worth_a_rebuild() {
    let mut set = healthy();
    set.log_file(655_360, 268_435_456, 8_192, 0);
    set.rows(Source::LogInfoCommand, rows::grown_and_gone_round(1, 1, 5_120));
    let found = set.finds(
        Found("blogs.msdn.microsoft.com/grahamk/2008/05/16/slow-recovery-times-and-slow-performance-due-to-large-numbers-of-virtual-log-files"),
        &["many-vlfs"],
    );
    let restart = found[0].cost.at_restart.as_ref().unwrap().seconds.unwrap();
    assert!((restart.typical_s - 20.48).abs() < 0.1, "{restart:?}");
    // The published figure of later versions begins the range: 4 s for 10,000.
    assert!((restart.fast_s - 8.192).abs() < 0.01, "{restart:?}");
    let tsql = found[0].tsql.as_ref().unwrap();
    assert!(tsql.contains("DBCC SHRINKFILE (N'Sales_log', 1)") && tsql.contains("usual log backup"));
    assert!(!tsql.contains("BACKUP LOG"), "{tsql}");

    // Tools warn here, and it is 1.2 s.
    set.log_file(38_400, 268_435_456, 8_192, 0);
    set.rows(Source::LogInfoCommand, rows::grown(1, 1, 300));
    let remark = set.remarks(Made, "many-vlfs");
    assert!(
        remark.headline.contains("1,200 VLFs: 1.20 s at a restart"),
        "{}",
        remark.headline
    );
    assert!(remark.headline.ends_with("leave it"));
}

#[test]
fn a_vlf_of_an_eighth_of_the_log_is_huge() {
    let mut set = healthy();
    set.log_file(1_048_576, 268_435_456, 8_192, 0);
    let (mb, end) = (1_u64 << 20, 8_192 * (1_u64 << 20));
    let first = format!("0|2|{}|8192|101|0|64|0", 1024 * mb - 8192);
    let second = format!("0|2|{}|{}|102|0|64|0", 1024 * mb, 1024 * mb);
    let third = format!("0|2|{}|{}|103|2|64|1", end - 2048 * mb, 2048 * mb);
    let columns = "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN";
    set.put(Source::LogInfoCommand, columns, &[&first, &second, &third]);
    let found = set.finds(Made, &["huge-vlfs", "log-cannot-shrink"]);
    assert!(
        found[1].headline.contains("written in the last VLF"),
        "{}",
        found[1].headline
    );
}

#[test]
fn growths_that_stopped_writers_come_from_the_servers_own_clock() {
    let mut set = healthy();
    set.put(
        Source::Growths,
        "database_name|event_class|pages|microseconds|started",
        &[
            "Sales|93|8192|4200000|2026-11-25 08:00:00.000",
            "Sales|93|8192|200000|2026-11-25 09:00:00.000",
            "Sales|92|8192|9000000|2026-11-25 09:00:00.000",
            "Other|93|8192|9000000|2026-11-25 09:00:00.000",
        ],
    );
    let found = set.finds(Made, &["growth-stalls"]);
    assert!(
        found[0]
            .headline
            .contains("once in seven days, 4 s in all, the longest for 4.2 s"),
        "{}",
        found[0].headline
    );
}

#[test]
fn slow_writes_and_how_it_grows() {
    let columns = "database_id|file_id|num_of_writes|num_of_bytes_written|io_stall_write_ms";
    let mut slow = healthy();
    slow.put(
        Source::FileIo,
        columns,
        &["5|2|200000|12288000000|6000000", "5|1|10|1|999999"],
    );
    slow.finds(Made, &["slow-log-writes"]);
    let mut percent = healthy();
    percent.log_file(131_072, 268_435_456, 10, 1);
    percent.finds(Made, &["percent-growth"]);
    let mut large = healthy();
    large.log_file(131_072, 268_435_456, 2_097_152, 0);
    large.finds(Made, &["growth-step-large"]);
    let mut small = healthy();
    small.log_file(131_072, 268_435_456, 32, 0);
    small.finds(Made, &["growth-step-small"]);
    // Nothing needs a log that does not grow while it has room.
    let mut off = healthy();
    off.log_file(131_072, 268_435_456, 0, 0);
    off.finds(Made, &[]);
    let mut off = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 80);
    off.log_file(131_072, 268_435_456, 0, 0);
    off.finds(Made, &["growth-off"]);
}

/// The line that a post asks about: days to go, in redo.
#[test]
fn a_database_in_recovery_says_how_long_by_the_servers_own_estimate() {
    let mut set = healthy();
    set.database("5|Sales|RECOVERING|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    let line = "2026-11-26 11:58:00.000|spid7s|Recovery of database 'Sales' (5) is 0% complete (approximately 2189255 seconds remain). Phase 2 of 3. \
                This is an informational message only. No user action is required.";
    let older = "2026-11-26 11:50:00.000|spid7s|Recovery of database 'Sales' (5) is 0% complete (approximately 9 seconds remain). Phase 1 of 3.";
    set.put(Source::ErrorLog, ERROR_LOG, &[line, older]);
    let found = set.finds(Found("dbafix.com/sql-database-stuck-in-recovery"), &["in-recovery"]);
    assert_eq!(
        found[0].headline,
        "recovery is 0 % done, in redo (phase 2 of 3); about 25.3 days are left"
    );
    // Online again, the lines are of the past.
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    set.finds(Made, &[]);
}

/// Error 9012 as two posts print it; the second is of another database's file.
#[test]
fn a_log_written_in_smaller_sectors_than_its_disk_has() {
    let address = "learn.microsoft.com/en-us/archive/blogs/saponsqlserver/\
                   message-misaligned-log-ios-which-required-falling-back-to-synchronous-io-in-sql-server-error-log";
    let mut set = healthy();
    let files = "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth";
    let log = "5|2|1|PRDLOG1|W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf|131072|268435456|8192|0";
    set.put(Source::Files, files, &[log]);
    let lines = [
        "2014-04-29 15:17:17.000|Server|There have been 25958144 misaligned log IOs which required falling back to synchronous IO. The current \
         IO is on file W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf.",
        "2014-04-29 15:17:24.000|Server|There have been 25958400 misaligned log IOs which required falling back to synchronous IO. The current \
         IO is on file W:\\MOUNTLOG\\PRDLOG\\PRDLOG1.ldf.",
    ];
    set.put(Source::ErrorLog, ERROR_LOG, &lines);
    let found = set.finds(Found(address), &["misaligned-log-writes"]);
    assert!(
        found[0].headline.starts_with("25,958,400 log writes"),
        "{}",
        found[0].headline
    );
    assert!(found[0].tsql.as_ref().unwrap().contains("TRACEON (1800, -1)"));

    let other = "2026-04-13 10:00:00.000|spid9s|There have been 256 misaligned log IOs which required falling back to synchronous IO. The current \
                 IO is on file t:\\MSSQL11.NAVISION\\MSSQL\\DATA\\NEWPROD_5.ldf.";
    set.put(Source::ErrorLog, ERROR_LOG, &[other]);
    set.finds(
        Found("sqlfingers.com/2026/04/misaligned-log-ios-after-hyper-v.html"),
        &[],
    );
}

/// Error 833 of the log, within seven days; of a data file, of another log or of long ago it says nothing of this log's writes.
#[test]
fn requests_of_the_log_that_were_stuck_are_slow_writes() {
    let stuck = |at: &str, file: &str| {
        format!(
            "{at}|spid8s|SQL Server has encountered 3 occurrence(s) of I/O requests taking longer than 15 seconds to complete on file [{file}] in \
             database [Sales] (5).  The OS file handle is 0x4BC.  The offset of the latest long I/O is: 0x1000."
        )
    };
    let log = "L:\\log\\Sales_log.ldf";
    let twice = [
        stuck("2026-11-25 08:00:00.000", log),
        stuck("2026-11-25 08:05:00.000", log),
    ];
    let mut set = healthy();
    set.put(Source::ErrorLog, ERROR_LOG, &[&twice[0], &twice[1]]);
    let found = set.finds(Made, &["slow-log-writes"]);
    assert_eq!(
        found[0].headline,
        "requests of the log took longer than 15 s, 2 times within seven days"
    );
    assert!(
        found[0].evidence[0].starts_with("2026-11-25 08:05:00: "),
        "{:?}",
        found[0].evidence
    );
    for line in [
        stuck("2026-11-25 08:00:00.000", "D:\\data\\Sales.mdf"),
        stuck("2026-11-25 08:00:00.000", "L:\\log\\Sales_log.ldf.old"),
        stuck("2026-11-18 08:00:00.000", log),
    ] {
        set.put(Source::ErrorLog, ERROR_LOG, &[&line]);
        set.finds(Made, &[]);
    }
}

/// Error 9004 of the database, whatever state it is in; another one is left alone.
#[test]
fn a_log_that_the_server_could_not_read_is_damaged() {
    let damaged = |database: &str| {
        format!(
            "2026-11-26 11:00:00.000|spid9s|An error occurred while processing the log for database '{database}'.  If possible, restore from backup."
        )
    };
    let mut set = healthy();
    set.put(Source::ErrorLog, ERROR_LOG, &[&damaged("Sales2")]);
    set.finds(Made, &[]);
    set.put(Source::ErrorLog, ERROR_LOG, &[&damaged("Sales")]);
    set.finds(Made, &["damaged-log"]);
    set.database("5|Sales|SUSPECT|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    let found = set.finds(Made, &["damaged-log"]);
    assert!(
        found[0].evidence.contains(&"state_desc = SUSPECT".to_owned()),
        "{:?}",
        found[0].evidence
    );
}

/// Logs do not gain by the right, so it is judged by what growths of data files took.
#[test]
fn the_right_to_instant_initialization_matters_to_growths_of_data_files() {
    let docs = "learn.microsoft.com/en-us/sql/relational-databases/databases/database-instant-file-initialization";
    let mut set = healthy();
    let services = "servicename|instant_file_initialization_enabled";
    set.put(
        Source::Services,
        services,
        &["SQL Server (MSSQLSERVER)|N", "SQL Server Agent (MSSQLSERVER)|N"],
    );
    let growths = "database_name|event_class|pages|microseconds|started";
    set.put(
        Source::Growths,
        growths,
        &["Sales|92|8192|300000|2026-11-25 08:00:00.000"],
    );
    let remark = set.remarks(Found(docs), "instant-initialization-off");
    assert!(
        remark
            .otherwise
            .contains("up to 2019 every growth of a log writes zeros"),
        "{}",
        remark.otherwise
    );
    set.put(
        Source::Growths,
        growths,
        &["Sales|92|131072|8400000|2026-11-25 08:00:00.000"],
    );
    let found = set.finds(Made, &["instant-initialization-off"]);
    assert!(
        found[0]
            .evidence
            .join("\n")
            .contains("the longest 8.4 s, of Sales by 1 GB"),
        "{:?}",
        found[0].evidence
    );
    set.put(Source::Services, services, &["SQL Server (MSSQLSERVER)|Y"]);
    set.finds(Made, &[]);
}

#[test]
fn options_that_cost() {
    let row = |row: &str| {
        let mut set = healthy();
        set.database(row);
        set
    };
    row("5|Sales|ONLINE|FULL|NOTHING|-|0|0|1|0|0|0|DISABLED|0|1").finds(Made, &["auto-shrink"]);
    row("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|0|FORCED|0|1").finds(Made, &["delayed-durability"]);
    row("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|1|1|DISABLED|0|1").finds(
        Found("learn.microsoft.com/en-us/sql/relational-databases/accelerated-database-recovery-concepts"),
        &["accelerated-recovery-with-log-reader"],
    );
    // Who holds the log with it is named.
    let mut set = row("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|1|1|DISABLED|0|1");
    set.transaction(116, "09:00:00", Some("sleeping"));
    let found = set.finds(Made, &["accelerated-recovery-with-log-reader"]);
    let evidence = found[0].evidence.join("\n");
    assert!(
        evidence.contains("session 57 (sleeping) of SHOP\\anna") && evidence.contains("for 3.0 h"),
        "{evidence}"
    );
    // Nobody writes to it.
    row("5|Sales|ONLINE|FULL|NOTHING|-|1|0|1|0|0|0|FORCED|0|1").finds(Made, &[]);
}

#[test]
fn waits_of_the_whole_server_and_churn() {
    let mut set = healthy();
    set.put(
        Source::Waits,
        "wait_type|waiting_tasks_count|wait_time_ms",
        &[
            "HADR_SYNC_COMMIT|20000|800000",
            "LOG_RATE_GOVERNOR|5|7200000",
            "WRITELOG|9|9",
        ],
    );
    set.finds(Made, &["sync-commit-waits", "log-rate-governed"]);
    let mut churn = healthy();
    churn.put(
        Source::Counters,
        "counter|database_name|cntr_value",
        &["Log Growths|Sales|14", "Log Shrinks|Sales|7"],
    );
    churn.finds(Made, &["shrink-churn"]);
}

#[test]
fn a_log_that_is_never_used_is_larger_than_its_peak_and_two_files_are_one_too_many() {
    let mut large = Recorded::sales("FULL", "NOTHING", NEWEST, 1);
    large.log_file(4 * 1_310_720, 268_435_456, 8_192, 0);
    large.rows(Source::LogInfoCommand, rows::of_layout(40, 40));
    let found = large.finds(Made, &["log-cannot-shrink", "log-larger-than-peak"]);
    let tsql = found[0].tsql.as_ref().unwrap();
    assert!(
        tsql.matches("DBCC SHRINKFILE (N'Sales_log', 1)").count() == 2 && tsql.contains("usual log backup"),
        "{tsql}"
    );
    // With the log at the front of its file the shrink works.
    large.rows(
        Source::LogInfoCommand,
        rows::grown_and_gone_round(40 * 1024, 1024, 40 * 1024),
    );
    large.finds(Made, &["log-larger-than-peak"]);
    let mut two = healthy();
    two.put(
        Source::Files,
        "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth",
        &[
            "5|2|1|Sales_log|L:\\Sales_log.ldf|131072|268435456|8192|0",
            "5|3|1|Sales_log2|M:\\Sales_log2.ldf|131072|268435456|8192|0",
        ],
    );
    let found = two.finds(Made, &["several-log-files"]);
    assert!(found[0].tsql.as_ref().unwrap().contains("REMOVE FILE [Sales_log2]"));
}
