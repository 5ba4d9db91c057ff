//! The stored rows of a pass, and the trends of many passes.

use advisor::history::{Cell, FINDING_COLUMNS, FindingRow, LOG_COLUMNS, LogRow, rows_of, trends};
use advisor::render::{Format, trends_text};

use super::recorded::Recorded;

#[test]
fn a_pass_leaves_a_row_for_each_log_and_each_finding() {
    let set = Recorded::sales("FULL", "LOG_BACKUP", 105, 70);
    let (logs, findings) = rows_of(&set.snapshot(), &set.advice(), 1_764_158_400);
    assert_eq!(logs.len(), 1);
    let cells = logs[0].cells();
    assert_eq!(cells.len(), LOG_COLUMNS.len());
    assert_eq!(LogRow::of_cells(cells.clone()), logs[0]);
    // A file of an earlier build lacks columns at the end.
    assert_eq!(LogRow::of_cells(cells[..8].to_vec()).log_bytes, 0);
    let log = &logs[0];
    assert_eq!(
        (log.vlfs, log.active_vlfs, log.log_bytes),
        (Some(16), Some(12), 1 << 30)
    );
    assert!(log.restart_s.is_some_and(|seconds| seconds > 0.0));
    assert_eq!(findings[0].id, "held-by-log-backup");
    assert_eq!(FindingRow::cells(&findings[0]).len(), FINDING_COLUMNS.len());
    assert_eq!(cells[0], Cell::Moment(1_764_158_400));
}

fn day(number: i64, database: &str, log_bytes: u64, vlfs: u64) -> LogRow {
    LogRow {
        taken_at_s: number * 86_400,
        server: "db1:1433".to_owned(),
        database: database.to_owned(),
        file_id: 2,
        log_bytes,
        vlfs: Some(vlfs),
        bytes_max: Some(2 << 30),
        volume_free_bytes: Some(100 << 30),
        ..LogRow::default()
    }
}

#[test]
fn the_log_that_is_full_soonest_comes_first() {
    let mut rows = Vec::new();
    for number in 0..28 {
        let step = number as u64;
        rows.push(day(number, "growing", (1 << 30) + step * (16 << 20), 16 + step));
        rows.push(day(number, "shrinking", (1 << 30) - step * (8 << 20), 16));
        // Rows of passes come in any order.
        rows.insert(0, day(number, "still", 1 << 20, 4));
    }
    rows.push(day(5, "once", 1, 1));
    let found = trends(&rows);
    let names: Vec<&str> = found.iter().map(|trend| trend.database.as_str()).collect();
    assert_eq!(names, ["growing", "still", "shrinking"]);
    let growing = &found[0];
    // MAXSIZE comes before the volume: (2048 - 1024 - 27 x 16) MB by 16 MB a day.
    assert!((growing.days_until_full.unwrap() - 37.0).abs() < 1e-6, "{growing:?}");
    assert!((growing.vlfs_a_month.unwrap() - 30.4375).abs() < 1e-6);
    assert_eq!(found[2].days_until_full, None);
    let table = trends_text(&found, Format::Table);
    assert!(
        table.contains("112 MB") && table.contains("37 days") && table.contains("-56 MB"),
        "{table}"
    );
    assert_eq!(trends_text(&found, Format::Csv).lines().count(), 4);
    assert_eq!(trends_text(&found, Format::Json).lines().count(), 3);
}
