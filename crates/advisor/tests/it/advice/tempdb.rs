//! tempdb's log: work that no session owns, reasons that stay below 70 %, and a size that each start loses.

use advisor::snapshot::Source;

use super::recorded::Origin::{Found, Made};
use super::recorded::Recorded;

const FILES: &str = "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth";
const COUNTERS: &str = "counter|database_name|cntr_value";

/// tempdb of a server of 2019: its log was made with 8 MB and has `log_mb` now.
fn tempdb(reuse_wait: &str, log_mb: u64, used_percent: u64) -> Recorded {
    let mut set = Recorded::sales("SIMPLE", "NOTHING", 116, 8);
    set.database(&format!(
        "2|tempdb|ONLINE|SIMPLE|{reuse_wait}|-|0|0|0|0|0|0|DISABLED|0|1"
    ));
    set.put(
        Source::Files,
        FILES,
        &["2|2|1|templog|L:\\templog.ldf|1024|268435456|8192|0"],
    );
    let size = format!("Log File(s) Size (KB)|tempdb|{}", log_mb * 1024);
    let used = format!(
        "Log File(s) Used Size (KB)|tempdb|{}",
        log_mb * 1024 * used_percent / 100
    );
    set.put(Source::Counters, COUNTERS, &[&size, &used]);
    set.put(Source::Backups, "database_name|type|last_finish", &[]);
    set.put(
        Source::LogInfoCommand,
        "FileId|FileSize|StartOffset|FSeqNo|Status|Parity|CreateLSN",
        &["2|4186112|8192|40|0|64|0", "2|4194304|4194304|41|2|64|0"],
    );
    set
}

/// 43.4 % used, only work tables among the transactions, which log nothing: the reason is an old one.
#[test]
fn work_tables_hold_nothing_and_the_reason_goes_at_seventy_percent() {
    let remark = tempdb("ACTIVE_TRANSACTION", 64, 43).remarks(
        Found("dba.stackexchange.com/questions/244862/tempdb-transaction-log-not-releasing-space"),
        "held-by-transaction",
    );
    assert!(
        remark
            .headline
            .contains("tempdb's own checkpoint, at 70 % of the log, clears it"),
        "{}",
        remark.headline
    );
}

#[test]
fn work_that_no_session_owns_is_looked_for_among_requests() {
    let mut set = tempdb("ACTIVE_TRANSACTION", 64, 80);
    set.put(
        Source::Transactions,
        "transaction_id|database_id|database_transaction_begin_time|database_transaction_log_bytes_used|\
         database_transaction_log_bytes_reserved|database_transaction_begin_lsn",
        &["999|2|2026-11-26 09:00:00.000|52428800|67108864|41000000001600001"],
    );
    set.put(
        Source::ActiveTransactions,
        "transaction_id|name|transaction_type|transaction_state|transaction_uow",
        &["999|sort_init|3|2|-"],
    );
    let found = set.finds(Made, &["held-by-transaction"]);
    assert!(
        found[0].headline.contains("work of a query in tempdb ('sort_init')"),
        "{}",
        found[0].headline
    );
    assert!(found[0].tsql.as_ref().unwrap().contains("dm_db_task_space_usage"));
    assert!(found[0].evidence.join("\n").contains("needs no backup"));
}

#[test]
fn a_log_that_each_start_makes_small_again_has_its_growths_priced() {
    tempdb("NOTHING", 128, 5).finds(Made, &[]);
    let found = tempdb("NOTHING", 4_104, 5).finds(Made, &["tempdb-log-regrows"]);
    assert_eq!(found[0].headline, "tempdb's log starts with 8 MB and has 4,104 MB now");
    let evidence = found[0].evidence.join("\n");
    // (4104 - 8) / 64; a growth of 64 MB adds 4 VLFs while the log has less than 512 MB, and 1 from then on.
    assert!(evidence.contains("64 growths with "), "{evidence}");
    assert!(found[0].tsql.as_ref().unwrap().contains("SIZE = 4104MB"));
    assert!(found[0].cost.at_restart.as_ref().unwrap().seconds.unwrap().typical_s > 4.0);
}
