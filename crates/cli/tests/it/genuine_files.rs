//! Public backups and data files of SQL Server, through the binary: inspected, restored, attached. `VLFLAB_GENUINE_DIR` names a folder with
//! them; without it the tests say so and pass.
//!
//! Depth: every backup and every fourth data file of the folder; each table has as many rows as in the file.
#![allow(clippy::unwrap_used)]

/// Writers of SQL Server's files.
#[allow(dead_code)]
#[path = "../../../genuine/tests/it/support/mod.rs"]
mod support;

use genuine::container::{Backup, SetKind};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::database::{Cell, Column, Database, INT, NVARCHAR, Table, record, table_page, utf16};
use support::media::{MediaWriter, SetWriter};
use support::story::{CLUSTERED, LogStory, MODIFY_ROW};

fn vlflab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    command.args(arguments).output().unwrap()
}

fn files(extension: &str) -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("VLFLAB_GENUINE_DIR") else {
        println!("skipped: VLFLAB_GENUINE_DIR names no folder of public SQL Server files");
        return Vec::new();
    };
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all
        .filter(|path| {
            path.extension()
                .is_some_and(|name| name.eq_ignore_ascii_case(extension))
        })
        .collect();
    found.sort();
    found
}

/// What `inspect` says of a file; `None` for one that is not a whole backup of one file.
fn inspected(path: &Path) -> Option<Value> {
    let output = vlflab(&["inspect", path.to_str().unwrap(), "--format", "json"]);
    output
        .status
        .success()
        .then(|| serde_json::from_slice(&output.stdout).unwrap())
}

/// Runs the statement in a new instance, and compares the rows of every table with those of the file.
fn imports(path: &Path, statement: &str) {
    let Some(found) = inspected(path) else {
        println!("{}: not a whole backup", path.display());
        return;
    };
    let tables = found["tables"].as_array().unwrap();
    let counts: Vec<String> = tables
        .iter()
        .map(|table| {
            let (schema, name) = (table["schema"].as_str().unwrap(), table["name"].as_str().unwrap());
            format!("SELECT COUNT(*) AS n FROM x.[{schema}].[{}];", name.replace(']', "]]"))
        })
        .collect();
    let folder = std::env::temp_dir().join(format!("vlflab-genuine-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let script = format!("{statement}\nGO\nSET NOCOUNT ON;\n{}\nGO\n", counts.join("\n"));
    let script_file = folder.with_extension("sql");
    std::fs::write(&script_file, script).unwrap();
    let output = vlflab(&[
        "sql",
        "--data",
        folder.to_str().unwrap(),
        "--allow-path",
        path.parent().unwrap().to_str().unwrap(),
        "-i",
        script_file.to_str().unwrap(),
    ]);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::remove_file(&script_file).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let expected: Vec<u64> = tables.iter().map(|table| table["rows"].as_u64().unwrap()).collect();
    assert_eq!(numbers, expected, "{}:\n{text}", path.display());
    println!("{}: {} tables", path.display(), tables.len());
}

#[test]
fn genuine_backups_are_restored() {
    for path in files("bak") {
        imports(&path, &format!("RESTORE DATABASE x FROM DISK = N'{}';", path.display()));
    }
}

#[test]
fn genuine_data_files_are_attached() {
    for path in files("mdf").into_iter().step_by(4) {
        imports(
            &path,
            &format!("CREATE DATABASE x ON (FILENAME = N'{}') FOR ATTACH;", path.display()),
        );
    }
}

/// What says nothing of a database is refused, and an almost empty file is one clear error.
#[test]
fn options_of_logs_are_refused_for_databases() {
    let folder = std::env::temp_dir().join(format!("vlflab-options-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("empty.mdf");
    let mut bytes = vec![0; 16_384];
    bytes[..2].copy_from_slice(&[1, 15]);
    bytes[36] = 1;
    bytes[8_192..8_194].copy_from_slice(&[1, 11]);
    std::fs::write(&path, bytes).unwrap();
    let inspect = |more: &[&str]| {
        let output = vlflab(&[&["inspect", path.to_str().unwrap()], more].concat());
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    for (more, expected) in [
        (&["--map"][..], "--map is for log files"),
        (&["--set", "1"], "--set is for backups"),
    ] {
        let (code, said) = inspect(more);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    // There is no boot page: damage is found, and said.
    assert_eq!(inspect(&[]).0, Some(4));
    let (code, said) = inspect(&["--tables"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("page (1:9): the file ends after 2 pages"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// HEADERONLY, FILELISTONLY and LABELONLY of a backup of SQL Server say what its sets and its media say of themselves.
#[test]
fn sets_of_a_written_backup_are_listed() {
    let folder = std::env::temp_dir().join(format!("vlflab-sets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (path, data) = (folder.join("written.bak"), folder.join("data"));
    let set = |name: &str| SetWriter {
        kind: 4,
        name: name.to_owned(),
        database: "Sales".to_owned(),
        database_version: 904,
        file_bytes: 40 << 20,
        ..SetWriter::default()
    };
    let mut writer = MediaWriter::new(1, 1);
    writer.set(1, &set("first")).set(2, &set("second"));
    std::fs::write(&path, &writer.bytes).unwrap();
    let answer = |statement: &str| {
        let query = format!("SET NOCOUNT ON; RESTORE {statement} FROM DISK = N'{}'", path.display());
        let (data, allowed) = (data.to_str().unwrap(), folder.to_str().unwrap());
        let output = vlflab(&[
            "sql",
            "--data",
            data,
            "--allow-path",
            allowed,
            "-W",
            "-s",
            "|",
            "-Q",
            &query,
        ]);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let headers = answer("HEADERONLY");
    for row in ["first|NULL|1|NULL|0|1|2|", "second|NULL|1|NULL|0|2|2|", "|Sales|904|"] {
        assert!(headers.contains(row), "{row}: {headers}");
    }
    let backup = Backup::open(vec![writer.bytes.clone()]).unwrap();
    let files = &backup.sets()[1].configuration.files;
    assert!(files.len() > 1);
    let listed = answer("FILELISTONLY");
    for file in files {
        let kind = if file.is_log() { "L" } else { "D" };
        let row = format!("{}|{}|{kind}|", file.logical_name, file.path);
        assert!(listed.contains(&row), "{row}: {listed}");
    }
    let label = answer("LABELONLY");
    assert!(label.contains("|1|1|NULL|1|0|NULL|a test|4608|"), "{label}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A full backup of a database with two tables.
fn sales() -> SetWriter {
    let columns = || vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 40)];
    let row = |id: i64, name: &str| record(&columns(), &[Cell::Number(id), Cell::Bytes(utf16(name))]);
    let mut orders = Table::new("Order Details", columns());
    orders.records = vec![row(1, "one"), row(2, "two")];
    let file = Database::new("Sales of 'May'", vec![orders, Table::new("Empty", columns())]).file();
    let extents = file.chunks(65_536).map(<[u8]>::to_vec);
    SetWriter {
        kind: 4,
        name: "nightly".to_owned(),
        database: "Sales of 'May'".to_owned(),
        database_version: 904,
        file_bytes: file.len() as u64,
        data: vec![extents.filter(|extent| extent.iter().any(|byte| *byte != 0)).collect()],
        ..SetWriter::default()
    }
}

/// Who sees a backup for the first time reads what it is and whether it is sound on one screen, and can copy each command that is offered. Before, the
/// summary was wider than a terminal, did not have the names that MOVE takes, and ended in 60 lines about VLFs.
#[test]
fn a_backup_says_what_it_is_and_each_command_that_it_offers_works() {
    let folder = std::env::temp_dir().join(format!("vlflab next {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("it's a backup.bak");
    let mut media = MediaWriter::new(1, 1);
    media.set(1, &sales());
    std::fs::write(&path, &media.bytes).unwrap();
    let inspected = vlflab(&["inspect", path.to_str().unwrap()]);
    let text = String::from_utf8(inspected.stdout).unwrap();
    assert_eq!(inspected.status.code(), Some(0), "{text}");
    let (found, next) = text.split_once("\nNext\n").unwrap();
    for words in [
        "full backup of Sales of 'May', named nightly",
        "damage            none",
        "[dbo].[Order Details]",
        "2, with 2 rows",
    ] {
        assert!(found.contains(words), "{words}: {text}");
    }
    let summary = found.split("\nlog file").next().unwrap();
    for line in summary.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for name in ["data", "log"] {
        assert!(summary.contains(name), "{name}: {summary}");
    }
    let commands: Vec<&str> = next.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    assert_eq!(commands.len(), 4, "{next}");
    for command in commands {
        let program = env!("CARGO_BIN_EXE_vlflab");
        let line = command.replacen("vlflab ", &format!("'{program}' "), 1);
        let ran = Command::new("sh")
            .args(["-c", &line])
            .current_dir(&folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && !said.contains("Msg 3"), "{command}: {said}");
    }
    let there = Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args([
            "sql",
            "-h",
            "-1",
            "-Q",
            "SET NOCOUNT ON; SELECT name FROM [Sales of 'May'].dbo.[Order Details]",
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&there.stdout).into_owned();
    assert!(said.contains("one") && said.contains("two"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A differential backup has the pages that changed and not the others: that was called damage, and the exit code was 4. A backup of the log had other
/// keys in its JSON than one of pages.
#[test]
fn a_differential_and_a_log_backup_are_no_damage_and_say_what_they_are() {
    let folder = std::env::temp_dir().join(format!("vlflab-part-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let full = sales();
    let first = full.data[0][0].clone();
    let differential = SetWriter {
        kind: 8,
        data: vec![vec![first]],
        ..full.clone()
    };
    let log = SetWriter {
        letter: b'L',
        data: Vec::new(),
        ..full
    };
    for (name, set, kind) in [("d.bak", differential, "differential"), ("l.trn", log, "log")] {
        let path = folder.join(name);
        let mut media = MediaWriter::new(1, 1);
        media.set(1, &set);
        std::fs::write(&path, &media.bytes).unwrap();
        let inspect = |more: &[&str]| vlflab(&[&["inspect", path.to_str().unwrap()], more].concat());
        let shown = inspect(&[]);
        let text = String::from_utf8(shown.stdout).unwrap();
        assert_eq!(shown.status.code(), Some(0), "{text}");
        assert!(text.contains(&format!("{kind} backup of Sales of 'May'")), "{text}");
        assert!(text.contains("\nNext\n"), "{text}");
        let json: Value = serde_json::from_slice(&inspect(&["--format", "json"]).stdout).unwrap();
        assert_eq!(json["backup_sets"][0]["kind"], kind, "{json}");
        assert_eq!(json["backup_set"], 1, "{json}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A row was deleted and another one changed. The log has it, `--undo-script` writes the statements that bring both back, and on the imported
/// database they do.
#[test]
fn an_undo_script_brings_back_what_a_transaction_did() {
    let folder = std::env::temp_dir().join(format!("vlflab-undo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let columns = || vec![Column::new("id", INT, 4).not_null(), Column::new("name", NVARCHAR, 40)];
    let row = |id: i64, name: &str| record(&columns(), &[Cell::Number(id), Cell::Bytes(utf16(name))]);
    let mut table = Table::new("Orders", columns());
    table.records = vec![row(1, "one"), row(2, "it's two"), row(3, "three")];
    std::fs::write(path("sales.mdf"), Database::new("Sales", vec![table]).file()).unwrap();
    let page = table_page(0);
    let mut story = LogStory::default();
    story
        .begin(5)
        .delete(5, (page, 1), &row(2, "it's two"))
        .replace((MODIFY_ROW, CLUSTERED), 5, (page, 2), (4, &[3], &[33]))
        .commit(5);
    std::fs::write(path("sales.ldf"), story.file()).unwrap();
    let inspected = vlflab(&[
        "inspect",
        &path("sales.ldf"),
        "--data",
        &path("sales.mdf"),
        "--undo-script",
        "0000:00000005",
    ]);
    let script = String::from_utf8(inspected.stdout).unwrap();
    let inserted = "INSERT INTO [dbo].[Orders] ([id], [name]) VALUES (2, N'it''s two');";
    assert!(script.contains(inserted), "{script}");
    let attach = format!(
        "CREATE DATABASE sales ON (FILENAME = N'{}'), (FILENAME = N'{}') FOR ATTACH;",
        path("sales.mdf"),
        path("sales.ldf")
    );
    let show = "SET NOCOUNT ON; SELECT id, name FROM sales.dbo.Orders ORDER BY id;";
    let batches = [&attach, show, "USE sales;", &script, show].map(|batch| format!("{batch}\nGO\n"));
    std::fs::write(path("all.sql"), batches.concat()).unwrap();
    let (data, allowed, all) = (path("data"), path(""), path("all.sql"));
    let output = vlflab(&[
        "sql",
        "--data",
        &data,
        "--allow-path",
        &allowed,
        "-W",
        "-s",
        "|",
        "-h",
        "-1",
        "-i",
        &all,
    ]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains('|')).collect();
    assert_eq!(
        rows,
        ["1|one", "33|three", "1|one", "2|it's two", "3|three"],
        "{text}\n{script}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The published listing that begins with RESTORE of a genuine backup, on each public backup: its logical names are replaced by those of the file.
/// With the names as they are it ends in 3234, as on SQL Server. The listing lies in the folder `shared/acceptance` beside this repository, or where
/// VLFLAB_ACCEPTANCE_DIR says.
#[test]
fn the_published_listing_restores_a_genuine_backup() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/acceptance");
    let acceptance = std::env::var_os("VLFLAB_ACCEPTANCE_DIR").map_or_else(beside, PathBuf::from);
    let Ok(listing) = std::fs::read_to_string(acceptance.join("000-listing-1.sql")) else {
        println!("skipped: there is no published listing in {}", acceptance.display());
        return;
    };
    let folder = std::env::temp_dir().join(format!("vlflab-listing-{}", std::process::id()));
    let paths = files("bak");
    let mut restored = 0;
    for path in &paths {
        let not_taken = |why: &str| println!("{}: {why}", path.display());
        let Ok(backup) = Backup::open(vec![std::fs::read(path).unwrap()]) else {
            not_taken("no backup");
            continue;
        };
        let is_full = backup.sets()[0].header.kind == SetKind::Full;
        let named = &backup.sets()[0].configuration.files;
        let (Some(data), Some(log)) = (
            named.iter().find(|file| !file.is_log()),
            named.iter().find(|file| file.is_log()),
        ) else {
            not_taken("no data file, or no log");
            continue;
        };
        if !is_full || !backup.missing_families().1.is_empty() || named.len() != 2 || !backup.faults().is_empty() {
            not_taken("not full or whole, or more files than the listing moves");
            continue;
        }
        let run = |script: &str| {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("all.sql"), script).unwrap();
            let arguments = [folder.join("data"), folder.join("all.sql")].map(|path| path.display().to_string());
            let allowed = path.parent().unwrap().to_str().unwrap();
            let output = vlflab(&[
                "sql",
                "--data",
                &arguments[0],
                "--allow-path",
                allowed,
                "-i",
                &arguments[1],
            ]);
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
        };
        let of_file = listing.replace("C:\\SQLBackups\\CreditBackup100.bak", path.to_str().unwrap());
        assert!(run(&of_file).contains("Msg 3234"), "{}", path.display());
        let of_file = of_file
            .replace("N'CreditData'", &format!("N'{}'", data.logical_name))
            .replace("N'CreditLog'", &format!("N'{}'", log.logical_name));
        let said = run(&format!(
            "{of_file}\nGO\nSELECT name, recovery_model_desc, compatibility_level FROM sys.databases WHERE name = 'Credit';\nGO\n"
        ));
        assert!(!said.contains("Msg"), "{}: {said}", path.display());
        assert!(
            said.contains("FULL") && said.contains("110"),
            "{}: {said}",
            path.display()
        );
        println!("{}: {} files", path.display(), named.len());
        restored += 1;
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(
        restored > 0 || paths.is_empty(),
        "none of {} backups was taken",
        paths.len()
    );
}

/// One file of a backup in two says whose it is, and which file is missing.
#[test]
fn a_stripe_alone_says_what_it_is_a_part_of() {
    let folder = std::env::temp_dir().join(format!("vlflab-stripe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sales1.bak");
    let mut media = MediaWriter::new(1, 2);
    media.set(1, &sales());
    std::fs::write(&path, &media.bytes).unwrap();
    let output = vlflab(&["inspect", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "sales1.bak: a full backup of Sales of 'May' in 2 files (stripes), of which number 2 is missing. Name all of them";
    assert!(said.contains(expected), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Deleted rows of public logs beside their data files: each has a user and a time, and the undo scripts of their transactions, the newest first, bring
/// back as many rows as were deleted.
#[test]
fn rows_that_public_logs_have_deleted_come_back() {
    let mut deleted = 0;
    for data in files("mdf") {
        let stem = data.file_stem().unwrap().to_string_lossy().into_owned();
        let log = data.with_file_name(format!("{stem}_log.ldf"));
        let Some(found) = inspected(&data).filter(|_| log.exists()) else {
            continue;
        };
        let (data, log) = (data.to_str().unwrap(), log.to_str().unwrap());
        let tables: Vec<String> = found["tables"].as_array().unwrap().iter().map(table_name).collect();
        let mut ended: Vec<(String, String)> = Vec::new();
        let mut rows = 0;
        for table in &tables {
            let arguments = [
                "inspect",
                log,
                "--data",
                data,
                "--who-deleted",
                table,
                "--format",
                "json",
            ];
            let output = vlflab(&arguments);
            let Ok(Value::Array(found)) = serde_json::from_slice(&output.stdout) else {
                continue;
            };
            for row in &found {
                let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
                assert!(!text("ended").is_empty(), "{log}: {row}");
                assert!(!text("user").is_empty() || !text("sid").is_empty(), "{log}: {row}");
                ended.push((text("ended"), text("transaction")));
            }
            rows += found.len();
        }
        ended.sort();
        ended.dedup();
        if rows > 0 {
            assert_eq!(brought_back(data, log, &tables, &ended), rows, "{data}");
            println!("{data}: {rows} rows of {} transactions", ended.len());
        }
        deleted += rows;
    }
    println!("{deleted} deleted rows");
}

fn table_name(table: &Value) -> String {
    let quoted = |field: &str| format!("[{}]", table[field].as_str().unwrap().replace(']', "]]"));
    format!("{}.{}", quoted("schema"), quoted("name"))
}

/// How many rows more the tables have when the undo scripts of the transactions have run, from the last one on.
fn brought_back(data: &str, log: &str, tables: &[String], ended: &[(String, String)]) -> usize {
    let folder = std::env::temp_dir().join(format!("vlflab-deleted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let counted: Vec<String> = tables
        .iter()
        .map(|table| format!("(SELECT COUNT(*) FROM x.{table})"))
        .collect();
    let count = format!("SET NOCOUNT ON; SELECT 'rows', {};", counted.join(" + "));
    let attach = format!("CREATE DATABASE x ON (FILENAME = N'{data}'), (FILENAME = N'{log}') FOR ATTACH;");
    let mut batches = vec![attach, count.clone(), "USE x;".to_owned()];
    for (_, transaction) in ended.iter().rev() {
        let output = vlflab(&["inspect", log, "--data", data, "--undo-script", transaction]);
        batches.push(String::from_utf8(output.stdout).unwrap());
    }
    batches.push(count);
    let script = folder.join("all.sql");
    std::fs::write(&script, batches.join("\nGO\n") + "\nGO\n").unwrap();
    let (own, script) = (folder.join("data"), script.to_str().unwrap());
    let allowed = Path::new(data).parent().unwrap().to_str().unwrap();
    let output = vlflab(&[
        "sql",
        "--data",
        own.to_str().unwrap(),
        "--allow-path",
        allowed,
        "-W",
        "-h",
        "-1",
        "-i",
        script,
    ]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    std::fs::remove_dir_all(&folder).unwrap();
    let counts = said
        .lines()
        .filter_map(|line| line.strip_prefix("rows ")?.trim().parse().ok());
    match counts.collect::<Vec<usize>>()[..] {
        [before, after] => after - before,
        _ => panic!("{data}: {said}"),
    }
}
