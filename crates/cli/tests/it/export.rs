//! `vlflab export`: a database with every feature goes into an empty server, killed twice on the way, and into a folder.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
const PASSWORD: &str = workbench::SA_PASSWORD;

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> Folder {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    Folder(path)
}

/// Killed when dropped.
struct Serving(Child, u16);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(data: &Path, version: &str) -> Serving {
    workbench::store_sa_password(data);
    let mut child = Command::new(PROGRAM)
        .args(["serve", "--port", "0", "--sql-version", version, "--data"])
        .arg(data)
        .env("MSSQL_SA_PASSWORD", PASSWORD)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let (_, address) = line.split_once("Server=").unwrap();
    let port = address.split_once(';').unwrap().0.rsplit_once(',').unwrap().1;
    let port = port.parse().unwrap();
    Serving(child, port)
}

fn sql(server: &Serving, arguments: &[&str]) -> String {
    let address = format!("127.0.0.1,{}", server.1);
    let output = Command::new(PROGRAM)
        .args(["sql", "-S", &address, "-b", "-W", "-h", "-1", "-P", PASSWORD])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

fn source(folder: &Folder) -> Serving {
    let server = serve(&folder.0.join("source"), "2022");
    for name in ["export_source.sql", "export_features.sql"] {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name);
        sql(&server, &["-i", script.to_str().unwrap()]);
    }
    server
}

fn command(folder: &Folder, source: &Serving, to: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    let address = format!("127.0.0.1,{}", source.1);
    command
        .args(["export", "shop", "-S", &address, "--to", to])
        .env("MSSQL_PASSWORD", PASSWORD)
        .current_dir(&folder.0);
    command
}

fn assert_exported(output: &Output) {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("0 failed, 0 differences"), "{out}{err}");
}

/// Kills an export once its state file has so many lines. False when it had ended by then.
fn kill_at(folder: &Folder, mut exporting: Child, lines: usize) -> bool {
    let state = folder.0.join("shop.export");
    loop {
        let found = fs::read_to_string(&state).map_or(0, |text| text.lines().count());
        if found >= lines || exporting.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::yield_now();
    }
    let _ = exporting.kill();
    exporting.wait().unwrap().signal() == Some(9)
}

#[test]
fn an_export_that_is_killed_twice_ends_with_both_sides_equal() {
    let mut killed = 0;
    for version in ["2012", "2022"] {
        let folder = folder(version);
        let source = source(&folder);
        let destination = serve(&folder.0.join("destination"), version);
        let to = format!("mssql://sa@127.0.0.1:{}", destination.1);
        for lines in [6, 14] {
            let exporting = command(&folder, &source, &to).stderr(Stdio::null()).spawn().unwrap();
            killed += usize::from(kill_at(&folder, exporting, lines));
        }
        if folder.0.join("shop.export").exists() {
            assert_exported(&command(&folder, &source, &to).output().unwrap());
        }
        let query = "SET NOCOUNT ON; SELECT COUNT(*), SUM(amount), MAX(note) FROM shop.sales.orders; SELECT name, id, doubled FROM shop.sales.customers; \
             SELECT COUNT(*) FROM shop.dbo.a";
        assert_eq!(sql(&source, &["-Q", query]), sql(&destination, &["-Q", query]));
        // Of the table type: its key, its UNIQUE and its index, each with its column.
        let of_type = "SET NOCOUNT ON; SELECT i.type, i.is_unique, i.is_primary_key, c.name, x.is_descending_key FROM sys.table_types AS t \
             INNER JOIN sys.indexes AS i ON i.object_id = t.type_table_object_id INNER JOIN sys.index_columns AS x \
             ON x.object_id = i.object_id AND x.index_id = i.index_id INNER JOIN sys.columns AS c ON c.object_id = x.object_id \
             AND c.column_id = x.column_id ORDER BY c.name DESC";
        let there = sql(&destination, &["-d", "shop", "-Q", of_type]);
        let lines: Vec<&str> = there
            .lines()
            .filter(|line| line.split_whitespace().count() == 5)
            .collect();
        assert_eq!(lines, ["1 1 1 id 0", "2 1 0 c 0", "2 0 0 b 1"], "{there}");
        let next = "SET NOCOUNT ON; INSERT shop.sales.customers (name, phone) VALUES ('next', '3'); SELECT MAX(id) FROM shop.sales.customers; \
             USE shop; SELECT NEXT VALUE FOR sales.numbers";
        assert_eq!(sql(&source, &["-Q", next]), sql(&destination, &["-Q", next]));
        // A second export finds the database in use.
        let refused = |state: Option<&str>, why: &str| {
            let path = folder.0.join("kept");
            let mut command = command(&folder, &source, &to);
            if let Some(text) = state {
                fs::write(&path, text).unwrap();
                command.arg("--state").arg(&path);
            }
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(why), "{said}");
        };
        refused(None, "has objects already");
        // So does one that only ended before it looked there: its file names both sides, and no table is emptied.
        let sides = format!("127.0.0.1:{}/shop to 127.0.0.1:{}/shop", source.1, destination.1);
        refused(Some(&format!("{{\"export\":\"{sides}\"}}\n")), "has objects already");
        // A file of something else stays as it is, its last line too.
        refused(Some("notes\nof mine"), "not an export's");
        assert_eq!(fs::read_to_string(folder.0.join("kept")).unwrap(), "notes\nof mine");
        assert_eq!(sql(&source, &["-Q", query]), sql(&destination, &["-Q", query]));
    }
    assert!(killed > 0, "all four ended before they were killed");
}

/// A build without Parquet refuses it with the way to one that has it.
#[test]
fn a_folder_of_parquet_files_has_the_columns_types() {
    let folder = folder("parquet");
    let source = source(&folder);
    let files = folder.0.join("files");
    let mut exporting = command(&folder, &source, files.to_str().unwrap());
    let output = exporting.args(["--format", "parquet"]).output().unwrap();
    if cfg!(not(feature = "history")) {
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("--features history"));
        return;
    }
    assert_exported(&output);
    let has = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: the Python package duckdb is not installed");
        return;
    }
    let read = "import duckdb, sys\nprint(duckdb.sql(f\"SELECT count(*), sum(amount)::VARCHAR, count(customer), typeof(any_value(amount)), typeof(any_value(tm)), \
        max(octet_length(i)), max(f) FROM '{sys.argv[1]}'\").fetchall())";
    let output = Command::new("python3")
        .args(["-c", read])
        .arg(files.join("data/sales.orders.parquet"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("(5000, '12502500.00', 3334, 'DECIMAL(10,2)', 'TIME_NS', "),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_folder_has_scripts_and_a_file_of_rows_for_each_table() {
    let folder = folder("files");
    let source = source(&folder);
    let files = folder.0.join("files");
    assert_exported(&command(&folder, &source, files.to_str().unwrap()).output().unwrap());
    let customers = fs::read_to_string(files.join("data/sales.customers.csv")).unwrap();
    assert_eq!(
        customers,
        "id,name,phone,born\n10,Ana,1,2000-01-01\n15,\"B\u{f6},b\",2,\n"
    );
    let after = fs::read_to_string(files.join("after-data.sql")).unwrap();
    assert!(after.find("VIEW dbo.b").unwrap() < after.find("VIEW dbo.a").unwrap());
    assert!(after.contains("INCLUDE ([amount]) WHERE"), "{after}");
    let has = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: the Python package duckdb is not installed");
        return;
    }
    let read = "import duckdb, sys\nprint(duckdb.sql(f\"SELECT count(*), sum(amount), count(customer) FROM read_csv('{sys.argv[1]}')\").fetchall())";
    let output = Command::new("python3")
        .args(["-c", read])
        .arg(files.join("data/sales.orders.csv"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("5000, 12502500.0, 3334"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
