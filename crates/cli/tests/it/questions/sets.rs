//! Rows made after each question that `advise` answers.

use advisor::price::PricedDisk;
use advisor::snapshot::{Snapshot, Source};
use device::parameter::{Kind, Range, Ranges};

use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS, table};
use super::rows;

const OLDEST: u32 = FIRST_SEQUENCE + 4;
const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;
const SERVER: &str = "server_name|product_version|edition|engine_edition|clock|login_name";
const TRANSACTIONS: &str = "transaction_id|database_id|database_transaction_begin_time|database_transaction_log_bytes_used|\
                            database_transaction_log_bytes_reserved|database_transaction_begin_lsn";
const KINDS: &str = "transaction_id|name|transaction_type|transaction_state|transaction_uow";

/// The server of a question.
pub(super) fn of(id: &str) -> Snapshot {
    let set = match id {
        "G6" => larger_than_its_use(),
        "G8" => without_log_backups(),
        "F2" => tempdb(43, &[], &[]),
        "F3" => tempdb(
            80,
            &["999|2|2026-11-26 09:00:00.000|52428800|67108864|41000000001600001"],
            &["999|sort_init|3|2|-"],
        ),
        "F4" => with_dead_capture(),
        "F5" => of_version(replicated(0, 0), "12.0.2000.8", 5),
        "F6" => replicated(1, 0),
        "F7" => with_replica("1|0|0"),
        "F8" => with_replica("0|3145728|102400"),
        "F9" => Recorded::sales("FULL", "OLDEST_PAGE", OLDEST, 60),
        "F10" => Recorded::sales("SIMPLE", "LOG_BACKUP", OLDEST, 40),
        "F11" => accelerated(),
        "R1" => in_recovery(),
        "R3" => of_vlfs(20_480, 1, 2_000),
        "A1" => of_vlfs(2_000, 10, 0),
        "A2" => of_vlfs(16, 512, 0),
        "A3" => of_version(with_replica("0|3145728|102400"), "13.0.6300.2", 3),
        "B3" => of_vlfs(32_000, 32, 0),
        "B4" => of_vlfs(5_000, 10, 0),
        "C1" => of_version(Recorded::sales("FULL", "LOG_BACKUP", OLDEST, 70), "12.0.2000.8", 8),
        "C2" => replicated(0, 1),
        "S1" => held_at_its_end(),
        "S2" => many("SIMPLE", "NOTHING"),
        "S3" => in_a_group(),
        other => panic!("{other} has no rows"),
    };
    set.snapshot()
}

/// A server of 2008 whose log grew by 512 KB at a time, as DBCC LOGINFO prints it.
pub(super) fn pasted() -> String {
    let mut text = String::from("FileId FileSize StartOffset FSeqNo Status Parity CreateLSN\n");
    for index in 0..100_000_u64 {
        let status = if index == 99_999 { 2 } else { 0 };
        text.push_str(&format!(
            "2 262144 {} {} {status} 64 {}\n",
            8_192 + index * 262_144,
            index + 1,
            index / 2
        ));
    }
    text
}

/// A disk so slow that a hundred VLFs are worth a rebuild: 200 ms a read.
pub(super) fn slow_disk() -> PricedDisk {
    let ranges = Ranges::collect(Kind::Flash, |name| {
        let value = match name {
            "read_us" | "write_us" => 200_000.0,
            "flush_us" | "iops" | "throughput_mb_s" | "reads_mb_s" => 0.0,
            "read_mb_s" | "write_mb_s" => 1048.576,
            "sector_bytes" => 512.0,
            "metadata_blocks" => 2.0,
            _ => 256.0,
        };
        Some(Range::exactly(value))
    });
    PricedDisk {
        name: "slow".to_owned(),
        title: "A disk to reckon with".to_owned(),
        ranges: ranges.unwrap(),
        why: Vec::new(),
    }
}

fn healthy() -> Recorded {
    Recorded::sales("FULL", "NOTHING", NEWEST, 8)
}

fn of_version(mut set: Recorded, version: &str, edition: u8) -> Recorded {
    let row = format!("DB1|{version}|-|{edition}|2026-11-26 12:00:00.000|reader");
    set.put(Source::Server, SERVER, &[&row]);
    set
}

/// VLFs of so many MB, of which the first is active, and so many MB of log written a day.
fn of_vlfs(count: u64, mb_each: u64, mb_a_day: u64) -> Recorded {
    let mut set = healthy();
    let bytes = mb_each << 20;
    let row = |index: u64| {
        let (sequence, status) = if index == 0 { (count, 2) } else { (index, 0) };
        let size = if index + 1 == count { bytes - 8_192 } else { bytes };
        format!(
            "0|2|{size}|{}|{}|{status}|64|{index}",
            8_192 + index * bytes,
            sequence + 100
        )
    };
    let lines: Vec<String> = (0..count).map(row).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let columns = "RecoveryUnitId|FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN";
    set.put(Source::LogInfoCommand, columns, &lines);
    set.log_file(count * bytes / 8_192, 268_435_456, 8_192, 0);
    // All of it is used at night.
    let largest = format!("Sales|L|2026-11-26 11:45:00.000|672|{0}|{0}", count * bytes);
    set.put(
        Source::Backups,
        "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d",
        &["Sales|D|2026-11-26 01:00:00.000|7|1|1", &largest],
    );
    // The server has run for seven days.
    let written = format!("5|2|2000000|{}|1000000", (mb_a_day << 20) * 7);
    set.put(
        Source::FileIo,
        "database_id|file_id|num_of_writes|num_of_bytes_written|io_stall_write_ms",
        &[&written],
    );
    set
}

fn larger_than_its_use() -> Recorded {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 1);
    set.log_file(4 * 1_310_720, 268_435_456, 8_192, 0);
    set.rows(
        Source::LogInfoCommand,
        rows::grown_and_gone_round(40 * 1024, 1024, 40 * 1024),
    );
    set
}

fn without_log_backups() -> Recorded {
    let mut set = healthy();
    set.put(
        Source::Backups,
        "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d",
        &[
            "Sales|D|2026-11-24 01:00:00.000|7|1|1",
            "Sales|L|2026-11-24 11:45:00.000|100|1|1",
        ],
    );
    set
}

fn tempdb(used_percent: u64, transactions: &[&str], kinds: &[&str]) -> Recorded {
    let mut set = Recorded::sales("SIMPLE", "NOTHING", 116, 8);
    set.database("2|tempdb|ONLINE|SIMPLE|ACTIVE_TRANSACTION|-|0|0|0|0|0|0|DISABLED|0|1");
    set.put(
        Source::Files,
        "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth",
        &["2|2|1|templog|L:\\templog.ldf|1024|268435456|8192|0"],
    );
    let used = format!("Log File(s) Used Size (KB)|tempdb|{}", 65_536 * used_percent / 100);
    set.put(
        Source::Counters,
        "counter|database_name|cntr_value",
        &["Log File(s) Size (KB)|tempdb|65536", &used],
    );
    set.put(Source::Backups, "database_name|type|last_finish", &[]);
    set.rows(
        Source::LogInfoCommand,
        table(
            "FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN",
            &["2|4186112|8192|40|0|64|0", "2|4194304|4194304|41|2|64|0"],
        ),
    );
    set.put(Source::Transactions, TRANSACTIONS, transactions);
    set.put(Source::ActiveTransactions, KINDS, kinds);
    set
}

/// REPLICATION as the reason, with a publication or change data capture or neither.
fn replicated(is_published: u8, is_cdc_enabled: u8) -> Recorded {
    let mut set = Recorded::sales("FULL", "REPLICATION", OLDEST, 30);
    set.database(&format!(
        "5|Sales|ONLINE|FULL|REPLICATION|-|0|0|0|{is_published}|{is_cdc_enabled}|0|DISABLED|0|1"
    ));
    set
}

fn with_dead_capture() -> Recorded {
    let mut set = replicated(0, 1);
    set.put(
        Source::Jobs,
        "name|category|is_enabled|started|stopped|run_status",
        &["cdc.Sales_capture|REPL-LogReader|1|2026-11-25 02:00:00.000|2026-11-25 02:00:07.000|0"],
    );
    set
}

/// A replica of which it is said whether it is suspended, and the KB that it has to get and to redo.
fn with_replica(state: &str) -> Recorded {
    let mut set = Recorded::sales("FULL", "AVAILABILITY_REPLICA", FIRST_SEQUENCE, 80);
    set.database("5|Sales|ONLINE|FULL|AVAILABILITY_REPLICA|-|0|0|0|0|0|0|DISABLED|1|1");
    let second = format!("5|B|0|0|SYNCHRONIZING|{state}|102000000100000001");
    set.put(
        Source::Replicas,
        "database_id|replica_id|is_local|is_primary_replica|synchronization_state_desc|is_suspended|log_send_queue_size|\
         redo_queue_size|last_hardened_lsn",
        &["5|A|1|1|SYNCHRONIZED|0|-|-|116000000100000001", &second],
    );
    set.put(
        Source::ReplicaNames,
        "replica_id|replica_server_name|availability_mode_desc",
        &["A|DB1|SYNCHRONOUS_COMMIT", "B|DB2|SYNCHRONOUS_COMMIT"],
    );
    set
}

fn accelerated() -> Recorded {
    let mut set = healthy();
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|1|1|DISABLED|0|1");
    set
}

fn in_recovery() -> Recorded {
    let mut set = healthy();
    set.database("5|Sales|RECOVERING|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|0|1");
    let line = "2026-11-26 11:58:00.000|spid7s|Recovery of database 'Sales' (5) is 0% complete (approximately 2189255 seconds remain). Phase 2 of 3. \
                This is an informational message only. No user action is required.";
    set.put(Source::ErrorLog, "LogDate|ProcessInfo|Text", &[line]);
    set
}

/// A log of 1 GB in 1,024 VLFs whose last one is active.
fn many(recovery_model: &str, reuse_wait: &str) -> Recorded {
    let mut set = of_version(
        Recorded::sales(recovery_model, reuse_wait, FIRST_SEQUENCE, 5),
        "11.0.7001.0",
        3,
    );
    set.rows(Source::LogInfoCommand, rows::grown(4, 4, 1024));
    set
}

fn held_at_its_end() -> Recorded {
    let mut set = many("FULL", "ACTIVE_TRANSACTION");
    set.transaction(1_124, "09:00:00", Some("sleeping"));
    set
}

fn in_a_group() -> Recorded {
    let mut set = many("FULL", "NOTHING");
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|1|1");
    set
}
