//! Row versions that stay: a cleaner that is behind, and an old snapshot or transaction that keeps them, each found, and each left alone where it is
//! young, small, or another's fault.

use advisor::snapshot::Source;

use super::recorded::Origin::Made;
use super::recorded::Recorded;

const GB_KB: u64 = 1_048_576;
const FILES: &str = "database_id|file_id|type|name|physical_name|size|max_size|growth|is_percent_growth";

/// Sales, 10 GB, with accelerated recovery, versions of so many GB and so many aborted transactions.
fn accelerated(versions_gb: u64, aborted: u64) -> Recorded {
    let mut set = Recorded::sales("FULL", "NOTHING", 116, 8);
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|1|DISABLED|0|1");
    let row = format!(
        "5|{}|{aborted}|2026-11-26 11:00:00.000|2026-11-26 11:10:00.000",
        versions_gb * GB_KB
    );
    set.put(
        Source::PersistentVersions,
        "database_id|persistent_version_store_size_kb|current_aborted_transaction_count|aborted_version_cleaner_start_time|\
         aborted_version_cleaner_end_time",
        &[&row],
    );
    set
}

fn aborted_since(set: &mut Recorded, begun: &str) {
    let row = format!("5|2026-11-26 {begun}.000");
    set.put(Source::AbortedTransactions, "database_id|oldest_begin_time", &[&row]);
}

/// Session 61 reads a snapshot for so many seconds.
fn reader(set: &mut Recorded, elapsed_s: u64) {
    let row = format!("99|61|{elapsed_s}");
    set.put(
        Source::SnapshotTransactions,
        "transaction_id|session_id|elapsed_time_seconds",
        &[&row],
    );
    set.put(
        Source::Sessions,
        "session_id|login_name|host_name|program_name|status|last_request_end_time",
        &["61|SHOP\\ben|PC-4|Report|running|2026-11-26 09:01:00.000"],
    );
}

#[test]
fn an_aborted_transaction_of_half_an_hour_is_the_cleaners() {
    let mut set = accelerated(1, 1_204);
    aborted_since(&mut set, "11:15:00");
    let found = set.finds(Made, &["version-cleaner-behind"]);
    assert_eq!(
        found[0].headline,
        "1,204 aborted transactions are not cleaned up: the version cleaner is behind"
    );
    let evidence = found[0].evidence.join("\n");
    for part in [
        "the oldest of them began 45 min ago",
        "1 GB, 10 % of the data files' 10 GB",
        "its last sweep ended 50 min ago",
    ] {
        assert!(evidence.contains(part), "{part} in {evidence}");
    }
    let tsql = found[0].tsql.as_deref().unwrap();
    assert!(
        tsql.contains("EXEC sys.sp_persistent_version_cleanup [Sales];"),
        "{tsql}"
    );
    // A minute later it may be through.
    aborted_since(&mut set, "11:45:00");
    set.finds(Made, &[]);
}

#[test]
fn many_versions_and_nobody_who_needs_them_are_the_cleaners() {
    accelerated(5, 3).finds(Made, &["version-cleaner-behind"]);
    accelerated(4, 3).finds(Made, &[]);
    // Nothing is left of what was rolled back.
    accelerated(5, 0).finds(Made, &[]);
}

#[test]
fn a_sweep_that_goes_on_is_said_so() {
    let mut set = accelerated(5, 3);
    set.put(
        Source::PersistentVersions,
        "database_id|persistent_version_store_size_kb|current_aborted_transaction_count|aborted_version_cleaner_start_time|\
         aborted_version_cleaner_end_time",
        &["5|6291456|3|2026-11-26 10:00:00.000|-"],
    );
    let found = set.finds(Made, &["version-cleaner-behind"]);
    let evidence = found[0].evidence.join("\n");
    assert!(
        evidence.contains("its sweep began 2.0 h ago and has not ended"),
        "{evidence}"
    );
}

#[test]
fn whoever_reads_an_old_snapshot_keeps_persistent_versions() {
    let mut set = accelerated(6, 3);
    reader(&mut set, 7_200);
    let found = set.finds(Made, &["versions-held"]);
    assert_eq!(
        found[0].headline,
        "row versions are kept for session 61 of SHOP\\ben, which reads a snapshot for 2.0 h"
    );
    assert!(found[0].evidence.join("\n").contains("60 % of the data files' 10 GB"));
    assert!(found[0].tsql.as_deref().unwrap().contains("KILL 61;"));
    // The cleaner is not to blame for what a reader keeps, nor the reader for few versions.
    let mut few = accelerated(1, 3);
    aborted_since(&mut few, "09:00:00");
    reader(&mut few, 7_200);
    few.finds(Made, &[]);
    reader(&mut set, 1_700);
    set.finds(Made, &["version-cleaner-behind"]);
}

#[test]
fn an_open_transaction_keeps_the_versions_of_its_database() {
    let mut set = accelerated(6, 0);
    set.transaction(116, "09:00:00", Some("sleeping"));
    let found = set.finds(Made, &["versions-held"]);
    assert_eq!(
        found[0].headline,
        "row versions are kept for session 57 of SHOP\\anna, which has a transaction open for 3.0 h"
    );
    set.transaction(116, "11:45:00", Some("sleeping"));
    set.finds(Made, &[]);
}

/// Without accelerated recovery versions are in tempdb, and are compared with it.
#[test]
fn an_old_snapshot_that_fills_tempdb_is_found() {
    let set = |versions_gb: u64, elapsed_s: u64| {
        let mut set = Recorded::sales("FULL", "NOTHING", 116, 8);
        set.put(
            Source::Databases,
            "database_id|name|state_desc|recovery_model_desc|log_reuse_wait_desc",
            &["2|tempdb|ONLINE|SIMPLE|NOTHING", "5|Sales|ONLINE|FULL|NOTHING"],
        );
        set.put(
            Source::Files,
            FILES,
            &[
                "2|1|0|tempdev|T:\\tempdb.mdf|1048576|-1|8192|0",
                "5|1|0|Sales|D:\\data\\Sales.mdf|1310720|-1|8192|0",
                "5|2|1|Sales_log|L:\\log\\Sales_log.ldf|131072|268435456|8192|0",
            ],
        );
        let row = format!("5|{}", versions_gb * GB_KB);
        set.put(Source::VersionStore, "database_id|reserved_space_kb", &[&row]);
        reader(&mut set, elapsed_s);
        set
    };
    let found = set(4, 3_600).finds(Made, &["versions-held"]);
    assert_eq!(found[0].database.as_deref(), Some("Sales"));
    assert!(
        found[0].evidence[0].contains("4 GB, 50 % of tempdb's 8 GB"),
        "{:?}",
        found[0].evidence
    );
    set(3, 3_600).finds(Made, &[]);
    set(4, 600).finds(Made, &[]);
}
