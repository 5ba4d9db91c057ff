//! Tables as Parquet files: DuckDB reads every kind of column with its type and values, over several row groups. A value that its column
//! cannot hold is refused, and an unfinished file does not appear.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use remote::{RowsFile, RowsKind};

/// A place of its own for a file.
fn path(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rows-{name}-{}.parquet", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// A column of each kind, with a value that only this kind holds, and how DuckDB shows type and value.
const KINDS: &[(&str, RowsKind, &str, &str, &str)] = &[
    ("bit", RowsKind::Bit, "1", "BOOLEAN", "true"),
    (
        "bigint",
        RowsKind::Whole,
        "-9223372036854775808",
        "BIGINT",
        "-9223372036854775808",
    ),
    (
        "money",
        RowsKind::Decimal {
            precision: 18,
            scale: 4,
        },
        "-0.5",
        "DECIMAL(18,4)",
        "-0.5000",
    ),
    (
        "wide",
        RowsKind::Decimal {
            precision: 38,
            scale: 2,
        },
        "-123456789012345678901234567890.12",
        "DECIMAL(38,2)",
        "-123456789012345678901234567890.12",
    ),
    ("float", RowsKind::Real, "1.5E-300", "DOUBLE", "1.5e-300"),
    ("date", RowsKind::Date, "9999-12-31", "DATE", "9999-12-31"),
    (
        "time3",
        RowsKind::Time { scale: 3 },
        "23:59:59.997",
        "TIME",
        "23:59:59.997",
    ),
    (
        "datetime",
        RowsKind::Moment { scale: 3 },
        "1753-01-01T00:00:00.003",
        "TIMESTAMP",
        "1753-01-01 00:00:00.003",
    ),
    (
        "datetime2",
        RowsKind::Moment { scale: 7 },
        "9999-12-31T23:59:59.9999999",
        "VARCHAR",
        "9999-12-31T23:59:59.9999999",
    ),
    ("text", RowsKind::Text, "B\u{f6}b", "VARCHAR", "B\u{f6}b"),
    ("bytes", RowsKind::Bytes, "0x00FF", "BLOB", "\\x00\\xFF"),
];

/// More than a group has.
const ROWS: usize = 70_000;

fn columns() -> Vec<(&'static str, RowsKind)> {
    KINDS.iter().map(|(name, kind, ..)| (*name, *kind)).collect()
}

/// By the Python package, where it is installed.
#[test]
fn duckdb_reads_every_kind_with_its_type() {
    let path = path("kinds");
    let mut file = RowsFile::create(&path, &columns()).unwrap();
    let values: Vec<Option<String>> = KINDS
        .iter()
        .map(|(_, _, value, ..)| Some((*value).to_owned()))
        .collect();
    for row in 0..ROWS {
        let row = if row % 2 == 0 {
            values.clone()
        } else {
            vec![None; KINDS.len()]
        };
        file.row(&row).unwrap();
    }
    assert!(!path.exists(), "it is there before it is whole");
    file.finish().unwrap();
    let has = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: the Python package duckdb is not installed");
        return;
    }
    let script = "import duckdb, sys\n\
        file = sys.argv[1]\n\
        for name, type, *_ in duckdb.sql(f\"DESCRIBE SELECT * FROM '{file}'\").fetchall():\n\
        \x20   (count, value), = duckdb.sql(f'SELECT count(\"{name}\"), any_value(\"{name}\"::VARCHAR) FROM \\'{file}\\' WHERE \"{name}\" IS NOT NULL').fetchall()\n\
        \x20   print(name, type, count, value, sep='|')\n";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).unwrap();
    let expected: Vec<String> = KINDS
        .iter()
        .map(|(name, _, _, shown_type, value)| format!("{name}|{shown_type}|{}|{value}", ROWS / 2))
        .collect();
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
    fs::remove_file(&path).unwrap();
}

#[test]
fn what_a_column_cannot_hold_is_refused_with_its_name() {
    let refused = [
        (RowsKind::Bit, "2"),
        (RowsKind::Whole, "9223372036854775808"),
        (RowsKind::Decimal { precision: 4, scale: 2 }, "100.00"),
        (RowsKind::Decimal { precision: 4, scale: 2 }, "1.001"),
        (RowsKind::Real, "much"),
        (RowsKind::Date, "2026-00-01"),
        (RowsKind::Time { scale: 7 }, "24:00:00.0000000"),
        (RowsKind::Moment { scale: 3 }, "2026-01-01"),
        (RowsKind::Bytes, "FF"),
    ];
    let path = path("refused");
    for (kind, value) in refused {
        let mut file = RowsFile::create(&path, &[("amount", kind)]).unwrap();
        let why = file.row(&[Some(value.to_owned())]).unwrap_err();
        assert!(why.contains("amount") && why.contains(value), "{kind:?}: {why}");
    }
    assert!(!path.exists());
    let _ = fs::remove_file(path.with_extension("new"));
}
