//! Servers on which nothing need be done.

use advisor::snapshot::Source;

use super::recorded::Origin::{Found, Made};
use super::recorded::{FIRST_SEQUENCE, Recorded, VLFS};

const NEWEST: u32 = FIRST_SEQUENCE + VLFS - 1;

fn nothing(set: &Recorded, origin: super::recorded::Origin) {
    set.finds(origin, &[]);
    let said: Vec<&str> = set
        .advice()
        .findings
        .iter()
        .map(|finding| finding.id)
        .filter(|id| !id.starts_with("not-"))
        .collect();
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn a_server_with_nothing_to_do_has_no_finding_and_a_verdict_for_each_database() {
    for (model, wait) in [
        ("FULL", "NOTHING"),
        ("FULL", "LOG_BACKUP"),
        ("SIMPLE", "NOTHING"),
        ("BULK_LOGGED", "NOTHING"),
    ] {
        let set = Recorded::sales(model, wait, NEWEST, 8);
        nothing(&set, Made);
        let verdict = &set.advice().verdicts[0];
        assert!(
            verdict.text.starts_with("16 VLFs: 0.016 s at a restart on simple"),
            "{}",
            verdict.text
        );
        assert!(verdict.text.ends_with("leave it"), "{}", verdict.text);
    }
}

/// On a primary all VLFs stay active until the log comes round, and an old transaction does not begin in the oldest that is needed.
#[test]
fn a_busy_primary_with_lazy_truncation_is_healthy() {
    let mut set = Recorded::sales("FULL", "NOTHING", FIRST_SEQUENCE, 6);
    set.database("5|Sales|ONLINE|FULL|NOTHING|-|0|0|0|0|0|0|DISABLED|1|1");
    set.put(Source::LogStatistics, "log_min_lsn", &["00000074:00000010:0001"]);
    nothing(
        &set,
        Found("sqlskills.com/blogs/paul/lazy-log-truncation-clearing-vlfs"),
    );
}

/// A log that is larger than the data, because it is used at night: its log backups show that.
#[test]
fn a_warehouse_whose_log_is_larger_than_its_data_is_healthy() {
    let mut set = Recorded::sales("FULL", "NOTHING", NEWEST, 1);
    set.log_file(4 * 1_310_720, 268_435_456, 8_192, 0);
    set.rows(Source::LogInfoCommand, super::rows::of_layout(40, 40));
    set.put(
        Source::Backups,
        "database_name|type|last_finish|backups_7d|bytes_7d|largest_7d",
        &[
            "Sales|D|2026-11-26 01:00:00.000|7|75161927680|10737418240",
            "Sales|L|2026-11-26 11:45:00.000|672|245097156608|30064771072",
        ],
    );
    nothing(&set, Made);
}
