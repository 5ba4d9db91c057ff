//! History as files: written rows are read back, and DuckDB reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use advisor::history::{FindingRow, LogRow, trends};

const DAY_S: i64 = 86_400;
/// 2026-01-01.
const START_S: i64 = 1_767_225_600;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("history-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    path
}

fn log(day: i64, database: &str) -> LogRow {
    LogRow {
        taken_at_s: START_S + day * DAY_S,
        server: "db1:1433".to_owned(),
        product_version: "15.0.4385.2".to_owned(),
        database: database.to_owned(),
        recovery_model: "FULL".to_owned(),
        file_id: 2,
        path: "L:\\log\\\u{e9}'s.ldf".to_owned(),
        log_bytes: (1 << 30) + day as u64 * (64 << 20),
        used_bytes: (day % 2 == 0).then_some(1 << 20),
        vlfs: Some(16 + day as u64),
        volume: "L:\\".to_owned(),
        volume_free_bytes: Some(10 << 30),
        restart_s: Some(0.5),
        ..LogRow::default()
    }
}

fn finding(day: i64) -> FindingRow {
    FindingRow {
        taken_at_s: START_S + day * DAY_S,
        server: "db1:1433".to_owned(),
        database: None,
        id: "log-rate-governed".to_owned(),
        check_id: 86,
        priority: 100,
        outcome: "act".to_owned(),
        headline: "sessions have waited".to_owned(),
        restart_s: None,
    }
}

#[test]
fn every_column_comes_back_and_passes_add_up_to_trends() {
    let folder = folder("back");
    let mut written = Vec::new();
    for day in 0..30 {
        let rows = vec![
            log(day, "Sales"),
            LogRow {
                log_bytes: 5,
                ..log(day, "still")
            },
        ];
        remote::append(&folder, &format!("{day:03}"), &rows, &[finding(day)]).unwrap();
        written.extend(rows);
    }
    let read = remote::logs(&folder).unwrap();
    assert_eq!(read, written);
    let trends = trends(&read);
    assert_eq!(trends[0].database, "Sales");
    let days = trends[0].days_until_full.unwrap();
    assert!((days - 160.0).abs() < 1e-6, "10 GB by 64 MB a day: {days}");
    assert!((trends[0].growth_bytes_a_week - 7.0 * f64::from(64 << 20)).abs() < 1.0);
    assert_eq!(trends[1].days_until_full, None);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_that_is_no_history_and_a_damaged_file_are_named() {
    let folder = folder("damaged");
    assert!(remote::logs(&folder).unwrap_err().contains("logs"));
    remote::append(&folder, "1", &[log(0, "Sales")], &[]).unwrap();
    let file = folder.join("logs/1.parquet");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let refused = remote::logs(&folder).unwrap_err();
    assert!(refused.contains("1.parquet"), "{refused}");
    // What a crash left half written is not read.
    fs::rename(&file, folder.join("logs/1.new")).unwrap();
    assert_eq!(remote::logs(&folder).unwrap(), []);
    fs::remove_dir_all(&folder).unwrap();
}

/// By the Python package, where it is installed.
#[test]
fn duckdb_reads_times_as_times_and_what_is_not_known_as_null() {
    let has = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: the Python package duckdb is not installed");
        return;
    }
    let folder = folder("duckdb");
    for day in 0..10 {
        remote::append(&folder, &format!("{day:03}"), &[log(day, "Sales")], &[finding(day)]).unwrap();
    }
    let script = "import duckdb, sys\n\
        folder = sys.argv[1]\n\
        print(duckdb.sql(f\"SELECT count(*), count(used_bytes), min(taken_at)::DATE, max(vlfs), any_value(path) FROM '{folder}/logs/*.parquet'\").fetchall())\n\
        print(duckdb.sql(f\"SELECT id, count(*), count(database) FROM '{folder}/findings/*.parquet' GROUP BY id\").fetchall())\n";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        text,
        "[(10, 5, datetime.date(2026, 1, 1), 25, \"L:\\\\log\\\\\u{e9}'s.ldf\")]\n[('log-rate-governed', 10, 0)]\n"
    );
    fs::remove_dir_all(&folder).unwrap();
}
