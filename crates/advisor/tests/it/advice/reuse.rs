//! Each reuse wait and its holder.

use advisor::snapshot::Source;

use super::recorded::Origin::{Found, Made};
use super::recorded::{FIRST_SEQUENCE, Recorded};

/// The oldest VLF that is active in these sets.
const OLDEST: u32 = FIRST_SEQUENCE + 4;

fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "'{word}' is not in: {text}");
    }
}

#[test]
fn a_sleeping_session_is_named_with_login_program_age_and_what_it_holds() {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", OLDEST, 30);
    set.transaction(OLDEST, "09:00:00", Some("sleeping"));
    let found = set.finds(Made, &["held-by-transaction"]);
    let holder = &found[0];
    says(
        &holder.headline,
        &["session 57 (sleeping) of SHOP\\anna, Order entry on PC-17", "for 3.0 h"],
    );
    says(
        &holder.evidence.join("\n"),
        &[
            "sleeping for 3.0 h",
            "user_transaction",
            "105:240:1, in VLF 105",
            "has logged 50 MB",
        ],
    );
    // Twelve of the sixteen VLFs of 64 MB.
    says(
        &holder.cost.now.as_ref().unwrap().text,
        &["767.99 MB (75 % of the log) held"],
    );
    says(holder.tsql.as_ref().unwrap(), &["DBCC INPUTBUFFER (57)", "KILL 57"]);
}

/// SQL Server shows one LSN in two forms: the view as a number, fn_dblog in hexadecimal. Both name VLF 26.
#[test]
fn the_begin_lsn_of_the_view_is_read_as_it_is_printed() {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", OLDEST, 60);
    set.transaction(OLDEST, "11:59:00", Some("running"));
    let rows = "transaction_id|database_id|database_transaction_begin_time|database_transaction_log_bytes_used|\
                database_transaction_log_bytes_reserved|database_transaction_begin_lsn";
    set.put(
        Source::Transactions,
        rows,
        &["4711|5|2026-11-26 11:59:00.000|100|100|26000001014900001"],
    );
    let found = set.finds(
        Found("studylib.net/doc/5396182/interrogating-the-transaction-log"),
        &["held-by-transaction"],
    );
    let same: vlf::Lsn = "0000001a:000027a5:0001".parse().unwrap();
    says(
        &found[0].evidence.join("\n"),
        &[&format!("begins at {}", same.to_decimal())],
    );
}

#[test]
fn a_young_transaction_in_a_log_with_room_is_no_finding() {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", OLDEST, 30);
    set.transaction(OLDEST, "11:58:00", Some("running"));
    let remark = set.remarks(Made, "held-by-transaction");
    says(&remark.otherwise, &["Nothing"]);
}

/// The reason is the last known one: a transaction that begins behind the oldest VLF holds nothing of it.
#[test]
fn a_transaction_that_begins_in_a_later_vlf_is_not_the_holder() {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", OLDEST, 80);
    set.transaction(OLDEST + 1, "09:00:00", Some("sleeping"));
    let remark = set.remarks(Made, "held-by-transaction");
    says(&remark.headline, &["is gone", "the next checkpoint"]);
}

#[test]
fn a_prepared_distributed_transaction_is_ended_by_its_unit_of_work() {
    let mut set = Recorded::sales("FULL", "ACTIVE_TRANSACTION", OLDEST, 60);
    set.transaction(OLDEST, "09:00:00", None);
    set.put(
        Source::ActiveTransactions,
        "transaction_id|name|transaction_type|transaction_state|transaction_uow",
        &["4711|DTCXact|4|5|D9EE1B5C-36F8-4F2A-9D6B-6E9B1B8F3C11"],
    );
    let found = set.finds(Made, &["held-by-transaction"]);
    says(
        &found[0].headline,
        &["prepared distributed transaction without a session"],
    );
    says(
        found[0].tsql.as_ref().unwrap(),
        &["KILL 'D9EE1B5C-36F8-4F2A-9D6B-6E9B1B8F3C11' WITH COMMIT"],
    );
}

#[test]
fn a_blocked_holder_names_who_blocks_it() {
    let mut set = Recorded::sales("FULL", "ACTIVE_TRANSACTION", OLDEST, 60);
    set.transaction(OLDEST, "09:00:00", Some("running"));
    set.put(
        Source::Requests,
        "session_id|database_id|command|start_time|percent_complete|estimated_completion_time|wait_type|blocking_session_id",
        &["57|5|UPDATE|2026-11-26 09:00:01.000|0|0|LCK_M_X|61"],
    );
    let found = set.finds(Made, &["held-by-transaction"]);
    says(
        &found[0].evidence.join("\n"),
        &["it runs UPDATE", "LCK_M_X", "blocked by session 61"],
    );
}

#[test]
fn a_log_that_waits_for_backups_says_how_old_the_last_is() {
    let set = Recorded::sales("FULL", "LOG_BACKUP", OLDEST, 70);
    let found = set.finds(Made, &["held-by-log-backup"]);
    says(&found[0].headline, &["the last one was 15 min ago"]);
    let tsql = found[0].tsql.as_ref().unwrap();
    says(tsql, &["job or product that usually backs up this log"]);
    assert!(tsql.lines().all(|line| line.starts_with("--")), "{tsql}");
}

/// Between two log backups it is the normal reason, and right after one as well.
#[test]
fn log_backup_in_a_log_with_room_is_nothing_at_all() {
    let set = Recorded::sales("FULL", "LOG_BACKUP", OLDEST, 40);
    set.finds(
        Found("sqlskills.com/blogs/paul/why-is-log_reuse_wait_desc-saying-log_backup-after-doing-a-log-backup"),
        &[],
    );
    assert!(
        set.advice()
            .findings
            .iter()
            .all(|finding| finding.id == "not-checked" || finding.id == "not-there")
    );
}

#[test]
fn log_backup_under_simple_is_the_reason_of_before() {
    let set = Recorded::sales("SIMPLE", "LOG_BACKUP", OLDEST, 40);
    let remark = set.remarks(
        Found("github.com/BrentOzarULTD/SQL-Server-First-Responder-Kit/issues/3"),
        "held-by-log-backup",
    );
    says(&remark.headline, &["under SIMPLE"]);
}

#[test]
fn the_transaction_behind_a_missing_log_backup_is_named_as_well() {
    let mut set = Recorded::sales("FULL", "LOG_BACKUP", OLDEST, 70);
    set.transaction(OLDEST, "09:00:00", Some("sleeping"));
    let found = set.finds(Made, &["held-by-log-backup", "held-next-by-transaction"]);
    says(&found[1].headline, &["session 57"]);
}

#[test]
fn a_checkpoint_that_does_not_come_is_one_from_seven_tenths_on() {
    Recorded::sales("SIMPLE", "CHECKPOINT", OLDEST, 60).finds(Made, &[]);
    let found = Recorded::sales("SIMPLE", "CHECKPOINT", OLDEST, 75).finds(Made, &["held-by-checkpoint"]);
    says(found[0].tsql.as_ref().unwrap(), &["USE [Sales]", "CHECKPOINT"]);
}

const REQUESTS: &str = "session_id|database_id|command|start_time|percent_complete|estimated_completion_time|wait_type|blocking_session_id";

#[test]
fn a_running_backup_is_named_with_its_percentage() {
    let mut set = Recorded::sales("FULL", "ACTIVE_BACKUP_OR_RESTORE", OLDEST, 70);
    let row = "63|5|BACKUP DATABASE|2026-11-26 08:00:00.000|42.5|18000000|BACKUPIO|0";
    set.put(Source::Requests, REQUESTS, &[row]);
    let found = set.finds(Made, &["held-by-backup"]);
    says(&found[0].headline, &["session 63 runs BACKUP DATABASE for 4.0 h"]);
    says(&found[0].evidence.join("\n"), &["42 % done, 5.0 h to go"]);
    let mut ended = Recorded::sales("FULL", "ACTIVE_BACKUP_OR_RESTORE", OLDEST, 70);
    ended.put(Source::Requests, REQUESTS, &[]);
    says(&ended.remarks(Made, "held-by-backup").headline, &["has ended"]);
}

#[test]
fn mirroring_names_the_partner() {
    let mut set = Recorded::sales("FULL", "DATABASE_MIRRORING", OLDEST, 30);
    set.put(
        Source::Mirroring,
        "database_id|mirroring_state_desc|mirroring_role_desc|mirroring_partner_instance",
        &["5|SUSPENDED|PRINCIPAL|DB2\\SQL"],
    );
    let found = set.finds(Made, &["held-by-mirroring"]);
    says(&found[0].headline, &["DB2\\SQL"]);
    says(found[0].tsql.as_ref().unwrap(), &["SET PARTNER RESUME"]);
}

/// Without a publication it is change data capture whose job does not run.
#[test]
fn replication_without_a_publication_is_capture_and_its_job() {
    let mut set = Recorded::sales("FULL", "REPLICATION", OLDEST, 30);
    set.database("5|Sales|ONLINE|FULL|REPLICATION|-|0|0|0|0|1|0|DISABLED|0|1");
    set.put(
        Source::Jobs,
        "name|category|is_enabled|started|stopped|run_status",
        &["cdc.Sales_capture|REPL-LogReader|1|2026-11-25 02:00:00.000|2026-11-25 02:00:07.000|0"],
    );
    let found = set.finds(
        Found("sqlskills.com/blogs/paul/category/change-data-capture"),
        &["held-by-replication"],
    );
    says(
        &found[0].headline,
        &["change data capture", "'cdc.Sales_capture' does not run"],
    );
    says(&found[0].evidence.join("\n"), &["its last run failed"]);
    says(
        found[0].tsql.as_ref().unwrap(),
        &["sp_start_job @job_name = N'cdc.Sales_capture'"],
    );
}

#[test]
fn replication_of_a_database_that_has_none_is_what_is_left_of_it() {
    let found = Recorded::sales("FULL", "REPLICATION", OLDEST, 30).finds(Made, &["held-by-replication"]);
    says(&found[0].headline, &["whose publication or capture is gone"]);
    says(
        found[0].tsql.as_ref().unwrap(),
        &["sp_removedbreplication @dbname = N'Sales'"],
    );
}

fn with_replicas(wait: &str, used: u64, rows: &[&str]) -> Recorded {
    let mut set = Recorded::sales("FULL", wait, FIRST_SEQUENCE, used);
    set.database(&format!("5|Sales|ONLINE|FULL|{wait}|-|0|0|0|0|0|0|DISABLED|1|1"));
    set.put(
        Source::Replicas,
        "database_id|replica_id|is_local|is_primary_replica|synchronization_state_desc|is_suspended|log_send_queue_size|\
         redo_queue_size|last_hardened_lsn",
        rows,
    );
    set.put(
        Source::ReplicaNames,
        "replica_id|replica_server_name|availability_mode_desc",
        &[
            "A|DB1|SYNCHRONOUS_COMMIT",
            "B|DB2|SYNCHRONOUS_COMMIT",
            "C|DB3|ASYNCHRONOUS_COMMIT",
        ],
    );
    set
}

#[test]
fn the_replica_that_is_furthest_behind_is_named() {
    let set = with_replicas(
        "AVAILABILITY_REPLICA",
        80,
        &[
            "5|A|1|1|SYNCHRONIZED|0|-|-|116000000100000001",
            "5|B|0|0|SYNCHRONIZED|0|0|1024|116000000100000001",
            "5|C|0|0|NOT SYNCHRONIZING|1|838860|0|102000000100000001",
        ],
    );
    let found = set.finds(Made, &["held-by-availability-replica"]);
    says(&found[0].headline, &["replica DB3 is suspended"]);
    says(
        &found[0].evidence.join("\n"),
        &["DB2: SYNCHRONIZED, SYNCHRONOUS_COMMIT", "hardened up to 102:1000:1"],
    );
    says(found[0].tsql.as_ref().unwrap(), &["SET HADR RESUME"]);
}

#[test]
fn pages_that_are_behind_memory_optimized_tables_and_what_passes() {
    Recorded::sales("FULL", "OLDEST_PAGE", OLDEST, 30).finds(Made, &[]);
    Recorded::sales("FULL", "OLDEST_PAGE", OLDEST, 60).finds(Made, &["held-by-oldest-page"]);
    Recorded::sales("SIMPLE", "XTP_CHECKPOINT", OLDEST, 60).remarks(Made, "held-by-memory-optimized");
    for (wait, id) in [
        ("LOG_SCAN", "held-by-log-scan"),
        ("DATABASE_SNAPSHOT_CREATION", "held-by-snapshot-creation"),
        ("OTHER_TRANSIENT", "held-by-other"),
        ("OTHER TRANSIENT", "held-by-other"),
        ("SOMETHING_NEW", "held-by-other"),
    ] {
        Recorded::sales("SIMPLE", wait, OLDEST, 30).remarks(Made, id);
        Recorded::sales("SIMPLE", wait, OLDEST, 75).finds(Made, &[id]);
    }
}
