//! `vlflab plan`, `inspect`, `completions` and `man` as a DBA and as a script use them: output and exit codes of the binary.
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use vlf::{FormatVersion, LogLayout, Lsn, ServerVersion, VlfHeader, VlfSequence};

fn vlflab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = vlflab(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

/// A log file of SQL Server 2012's format with headers only: created with 1 MB, grown by 1 MB.
fn log_file(name: &str) -> PathBuf {
    let mut layout = LogLayout::create(ServerVersion::V2012, 1 << 20).unwrap();
    layout.grow(1 << 20).unwrap();
    let mut bytes = vec![0; layout.file_bytes() as usize];
    bytes[..2].copy_from_slice(&[1, 15]);
    for (index, vlf) in layout.vlfs().iter().enumerate() {
        let create_lsn = if vlf.growth_step == 0 {
            Lsn::ZERO
        } else {
            Lsn::new(20, 217, 747)
        };
        let mut header = VlfHeader::unused(vlf.span, create_lsn);
        header.format = FormatVersion::SqlServer2012;
        if index < 2 {
            header = header.entered(VlfSequence(20 + index as u32));
        }
        let start = vlf.span.offset as usize;
        bytes[start..start + 512].copy_from_slice(&header.encode());
    }
    let path = std::env::temp_dir().join(format!("vlflab-{}-{name}.ldf", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn plan_keeps_its_json_contract() {
    let plan = json(&[
        "plan",
        "--sql-version",
        "2019",
        "--initial",
        "8MB",
        "--growth",
        "64MB",
        "--to",
        "64GB",
        "--format",
        "json",
    ]);
    assert_eq!(plan["sql_version"], "2019");
    assert_eq!(plan["vlf_count"], 1052);
    assert_eq!(plan["steps"].as_array().unwrap().len(), 1025);
    assert_eq!(plan["steps"][1]["file_bytes"], 72 << 20);
    assert_eq!(plan["steps"][1]["vlfs_added"], 4);
    assert_eq!(plan["vlfs"][0]["offset"], 8192);
    assert_eq!(plan["vlfs"][0]["size"], 2_031_616);
    let on_2022 = plan["totals"]
        .as_array()
        .unwrap()
        .iter()
        .find(|total| total["sql_version"] == "2022")
        .unwrap();
    assert_eq!(on_2022["vlf_count"], 1028);
}

#[test]
fn plan_searches_and_prints_the_script() {
    let arguments = [
        "plan",
        "--sql-version",
        "2016",
        "--target-size",
        "64GB",
        "--target-vlfs",
        "128",
        "--database",
        "Sales",
    ];
    let plan = text(&arguments);
    assert!(plan.contains("exactly") || plan.contains("nearest"), "{plan}");
    assert!(
        plan.contains("ALTER DATABASE [Sales] MODIFY FILE (NAME = N'Sales_log', SIZE = 65536MB)"),
        "{plan}"
    );
    let csv = text(&["plan", "--grow", "1024MB,10%", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 4);
    assert!(csv.starts_with("step,growth_bytes,"), "{csv}");
    let priced = ["plan", "--grow", "1024MB,10%", "--disk", "ebs-gp3", "--format", "csv"];
    let csv = text(&priced);
    assert!(csv.starts_with("disk,thing,as_it_is_count,"), "{csv}");
    assert!(csv.lines().skip(1).all(|row| row.starts_with("ebs-gp3,")), "{csv}");
    assert_eq!(csv.lines().count(), 7);
    assert!(text(&["plan", "--format", "md"]).contains("|---:|"));
}

#[test]
fn inspect_keeps_its_json_contract_and_feeds_plan() {
    let file = log_file("contract");
    let path = file.to_str().unwrap();
    let found = json(&["inspect", path, "--format", "json"]);
    assert_eq!(found["file_bytes"], 2 << 20);
    assert_eq!(found["format_version"], 5);
    assert_eq!(found["damage"], Value::Array(vec![]));
    assert_eq!(
        (&found["blocks"], &found["records"]),
        (&Value::from(0), &Value::from(0))
    );
    let vlfs = found["vlfs"].as_array().unwrap();
    assert_eq!(vlfs.len(), 8);
    assert_eq!(vlfs[1]["sequence"], 21);
    assert_eq!(vlfs[1]["parity"], 64);
    assert_eq!(vlfs[1]["uses"], 1);
    assert_eq!(vlfs[1]["create_lsn"], "0");
    assert_eq!(vlfs[4]["create_lsn"], "00000014:000000d9:02eb");
    assert_eq!(found["growth_history"][1]["vlfs_added"], 4);
    // A file, its JSON and its CSV are the same layout to plan from.
    let page = std::env::temp_dir().join(format!("vlflab-{}.html", std::process::id()));
    let table = text(&["inspect", path, "--map", "--html", page.to_str().unwrap()]);
    assert!(
        table.contains("00000014:000000d9:02eb") && table.contains("╭──▶"),
        "{table}"
    );
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg"));
    let mut layouts = vec![json(&["plan", "--from", path, "--format", "json"])["vlfs"].clone()];
    for format in ["json", "csv"] {
        let pasted = file.with_extension(format);
        std::fs::write(&pasted, text(&["inspect", path, "--format", format])).unwrap();
        layouts.push(json(&["plan", "--from", pasted.to_str().unwrap(), "--format", "json"])["vlfs"].clone());
        std::fs::remove_file(pasted).unwrap();
    }
    assert_eq!(layouts[0].as_array().unwrap().len(), 8);
    assert!(layouts.iter().all(|layout| *layout == layouts[0]));
    std::fs::remove_file(page).unwrap();
    std::fs::remove_file(file).unwrap();
}

#[test]
fn damage_is_reported_and_told_by_the_exit_code() {
    let file = log_file("damage");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[262_144] = 0;
    std::fs::write(&file, &bytes).unwrap();
    let output = vlflab(&["inspect", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(4));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["damage"][0]["offset"], 262_144);
    assert_eq!(found["vlfs"].as_array().unwrap().len(), 7);
    let output = vlflab(&["plan", "--from", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("262144"));
    // Reading leaves the file as it was.
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    std::fs::remove_file(file).unwrap();
}

/// A page replaced the log it was made of, and options for pasted rows were ignored for a file.
#[test]
fn a_log_file_is_neither_overwritten_nor_taken_for_rows() {
    let file = log_file("kept");
    let path = file.to_str().unwrap();
    let bytes = std::fs::read(&file).unwrap();
    for arguments in [
        vec!["inspect", path, "--html", path],
        vec!["plan", "--from", path, "--html", path],
        vec!["plan", "--from", path, "--file-id", "2"],
        vec!["plan", "--from", path, "--from-log", "1"],
    ] {
        let output = vlflab(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            error.contains("--html") || error.contains("pasted rows"),
            "{arguments:?}: {error}"
        );
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{arguments:?}");
    }
    // A file that is cut says so in both commands.
    std::fs::write(&file, &bytes[..300_000]).unwrap();
    for arguments in [vec!["inspect", path], vec!["plan", "--from", path]] {
        let output = vlflab(&arguments);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(
            said.contains("the file ends here") && said.contains("or more are missing"),
            "{said}"
        );
    }
    std::fs::remove_file(file).unwrap();
}

/// PowerShell pipes UTF-16, and Management Studio saves it.
#[test]
fn rows_come_through_standard_input_in_utf_16_too() {
    let rows = "FileId\tFileSize\tStartOffset\r\n2\t253952\t8192\r\n2\t253952\t262144\r\n";
    let utf_16: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(rows.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [rows.as_bytes().to_vec(), utf_16] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_vlflab"))
            .args(["plan", "--from", "-", "--format", "json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(plan["vlf_count"], 2);
    }
}

#[test]
fn wrong_usage_says_what_is_expected() {
    for (arguments, expected) in [
        (vec!["plan", "--sql-version", "2010"], "2008 R2"),
        (vec!["plan", "--initial", "8QB"], "504KB"),
        (vec!["plan", "--to", "1GB"], "--growth"),
        (vec!["plan", "--format", "xml"], "table, json, csv, md"),
        (vec!["plan", "--growth", "64MB"], "--to"),
        (vec!["plan", "--growth", "0", "--to", "1GB"], "--growth 0 B"),
        (vec!["plan", "--growth", "64MB", "--to", "8MB"], "--to 8 MB"),
        (vec!["plan", "--target-size", "3TB"], "2 TB (error 5150)"),
        (
            vec!["plan", "--target-size", "1GB", "--to", "2GB"],
            "cannot be used with",
        ),
        (
            vec!["plan", "--target-size", "1GB", "--database", ""],
            "1 to 128 characters",
        ),
        (vec!["plan", "--grow", "1,5GB"], "1.5GB for one"),
        (vec!["plan", "--to", "1,5GB"], "decimal point"),
        (vec!["plan", "--database", "Sales"], "--target-size"),
        (vec!["plan", "--log-name", "Sales_log"], "--target-size"),
        (vec!["inspect", "/no/such/file.ldf"], "No such file"),
        (vec!["inspect", "Cargo.toml"], "no log file"),
        (vec!["man", "nothing"], "no subcommand 'nothing' of vlflab"),
        (
            vec!["man", "disks", "nothing"],
            "no subcommand 'nothing' of vlflab disks",
        ),
        (vec!["man", "disks", "--out", "x"], "cannot be used with"),
    ] {
        let output = vlflab(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn help_completions_and_man_come_from_the_same_definitions() {
    for command in ["plan", "inspect"] {
        let help = text(&[command, "--help"]);
        assert!(help.matches(&format!("vlflab {command} ")).count() >= 3, "{help}");
        assert!(text(&["man", command]).contains("format"));
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&["completions", shell]);
        assert!(script.contains("target-vlfs") && script.contains("inspect"), "{shell}");
    }
    assert!(text(&["man"]).contains(".TH vlflab"));
}

/// The subcommands that a help text lists, without `help` itself.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let listed = listed.lines().take_while(|line| !line.is_empty());
    let names = listed.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_manual_page_and_a_completion_and_no_page_names_one_that_is_not_there() {
    let mut commands = vec![Vec::new()];
    for name in subcommands(&text(&["--help"])) {
        let nested = subcommands(&text(&[&name, "--help"]));
        commands.push(vec![name.clone()]);
        commands.extend(nested.into_iter().map(|nested| vec![name.clone(), nested]));
    }
    assert!(commands.len() > 10, "{commands:?}");
    let folder = std::env::temp_dir().join(format!("vlflab-man-{}", std::process::id()));
    text(&["man", "--out", folder.to_str().unwrap()]);
    let scripts = ["bash", "zsh", "fish"].map(|shell| text(&["completions", shell]));
    for command in &commands {
        let words: Vec<&str> = ["man"].into_iter().chain(command.iter().map(String::as_str)).collect();
        let title = std::iter::once("vlflab")
            .chain(words[1..].iter().copied())
            .collect::<Vec<_>>();
        let (title, line) = (title.join("-"), title.join(" "));
        let page = std::fs::read_to_string(folder.join(format!("{title}.1"))).unwrap();
        assert_eq!(page, text(&words), "{title}");
        assert!(page.contains(&format!(".TH {title} 1 ")), "{page}");
        assert!(page.contains(&format!("\\fB{line}\\fR")), "{page}");
        for named in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
            assert!(
                folder.join(format!("{}.1", named.replace('\\', ""))).exists(),
                "{title} names {named}"
            );
        }
        if let Some(last) = command.last() {
            assert!(scripts.iter().all(|script| script.contains(last)), "{line}");
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), commands.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_manual_page_keeps_examples_on_their_lines() {
    let page = text(&["man", "inspect"]);
    let example = "made them?\n    vlflab inspect /var/opt/mssql/data/Sales_log.ldf \\-\\-map\n.fi\n";
    let (_, kept) = page.split_once("\n.nf\n").unwrap();
    assert!(kept.contains(example), "{page}");
}
