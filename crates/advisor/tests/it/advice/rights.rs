//! Unreadable data give a separate finding, and never count as healthy.

use advisor::advice::Outcome;
use advisor::snapshot::Source;

use super::recorded::{FIRST_SEQUENCE, Recorded};

/// A login without sysadmin gets 2571 from DBCC, and a tool showed 0 VLFs (github.com/opserver/Opserver/issues/306).
#[test]
fn vlfs_that_were_not_read_are_not_zero() {
    let mut set = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 8);
    set.refuse(
        Source::LogInfo,
        300,
        "VIEW SERVER STATE permission was denied on object 'server', database 'master'.",
    );
    set.refuse(
        Source::LogInfoCommand,
        2571,
        "User 'guest' does not have permission to run DBCC loginfo.",
    );
    let advice = set.advice();
    assert!(advice.has_gaps());
    assert_eq!(advice.verdicts[0].text, "VLFs not read");
    let said: Vec<&str> = advice
        .of_outcome(Outcome::NotChecked)
        .map(|finding| finding.headline.as_str())
        .collect();
    assert!(
        said.iter().any(|line| line.starts_with(
            "DBCC LOGINFO of Sales was not checked, because the login lacks a right: sysadmin (error 2571"
        )),
        "{said:#?}"
    );
    assert!(
        said.iter()
            .any(|line| line.starts_with("sys.dm_db_log_info of Sales") && line.contains("error 300")),
        "{said:#?}"
    );
}

#[test]
fn an_older_version_without_the_view_is_read_by_the_command_and_has_no_gap() {
    let mut set = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 8);
    set.refuse(Source::LogInfo, 208, "Invalid object name 'sys.dm_db_log_info'.");
    set.refuse(
        Source::Replicas,
        208,
        "Invalid object name 'sys.dm_hadr_database_replica_states'.",
    );
    let advice = set.advice();
    assert_eq!(advice.verdicts[0].vlf_count, 16);
    assert!(!advice.has_gaps());
    let absent: Vec<&str> = advice
        .of_outcome(Outcome::NotChecked)
        .map(|finding| finding.id)
        .collect();
    assert_eq!(absent, ["not-there"]);
}

/// Whose transactions cannot be read, whose holder is not "gone".
#[test]
fn a_holder_that_could_not_be_read_is_said_so() {
    let mut set = Recorded::sales("SIMPLE", "ACTIVE_TRANSACTION", FIRST_SEQUENCE, 60);
    set.refuse(
        Source::Transactions,
        300,
        "VIEW SERVER STATE permission was denied on object 'server', database 'master'.",
    );
    let advice = set.advice();
    let holder = advice
        .to_do()
        .find(|finding| finding.id == "held-by-transaction")
        .unwrap();
    assert!(
        holder.headline.contains("which one could not be read"),
        "{}",
        holder.headline
    );
}

#[test]
fn databases_that_cannot_be_entered_are_named_and_not_asked() {
    let mut set = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 8);
    set.put(
        Source::Databases,
        "database_id|name|state_desc|recovery_model_desc|log_reuse_wait_desc|source_database_id|is_accessible",
        &[
            "5|Sales|ONLINE|FULL|NOTHING|-|1",
            "6|Old|OFFLINE|SIMPLE|NOTHING|-|0",
            "7|Theirs|ONLINE|SIMPLE|NOTHING|-|0",
            "8|Sales_snapshot|ONLINE|SIMPLE|NOTHING|5|1",
        ],
    );
    let advice = set.advice();
    let said: Vec<String> = advice
        .of_outcome(Outcome::NotChecked)
        .map(|finding| finding.headline.clone())
        .collect();
    for part in [
        "of Old was not checked, because it is OFFLINE",
        "of Theirs was not checked, because this login has no access",
        "of Sales_snapshot was not checked, because it is a database snapshot",
    ] {
        assert!(said.iter().any(|line| line.contains(part)), "{part}: {said:#?}");
    }
}
