//! `run`, `serve` and `sql` together on a tiny log: the server is filled, killed and recovered, and stops cleanly.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
const PASSWORD: &str = "End-to-end 1";

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn vlflab(arguments: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn said(output: &Output) -> String {
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_recovery_experiment_runs_to_its_report() {
    let out = Folder::new("run");
    let output = vlflab(&["run", "recovery", "--scale", "tiny", "--short", "--out", out.text()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.0.join("results.json")).unwrap()).unwrap();
    assert_eq!(json["complete"], true);
    let configurations = json["experiments"][0]["configurations"].as_array().unwrap();
    let vlfs: Vec<(&str, f64)> = configurations
        .iter()
        .map(|each| {
            (
                each["name"].as_str().unwrap(),
                each["measurements"]["vlf_count"]["median"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        vlfs,
        [
            ("bad-classic", 16.0),
            ("bad-native", 16.0),
            ("good-classic", 4.0),
            ("good-native", 4.0)
        ]
    );
    for each in configurations {
        for name in [
            "fill_s",
            "discovery_s",
            "analysis_s",
            "redo_s",
            "undo_s",
            "recovery_s",
            "transactions",
        ] {
            assert_eq!(each["measurements"][name]["runs"], 1, "{name}");
        }
        assert!(each["measurements"]["transactions"]["median"].as_f64().unwrap() > 50.0);
        assert!(
            each["checks"]
                .as_array()
                .unwrap()
                .iter()
                .all(|check| check["failed"] == 0)
        );
    }
    let report = fs::read_to_string(out.0.join("report.html")).unwrap();
    assert!(report.contains("Crash recovery with many virtual log files"));
    let short = fs::read_to_string(out.0.join("report-short.html")).unwrap();
    assert_eq!(short.matches("<section class=\"sheet\">").count(), 2);
    assert!(!out.0.join("data").exists(), "the databases are gone");
}

#[test]
fn a_script_runs_on_a_folder_without_a_server() {
    let folder = Folder::new("embedded");
    let sql = |arguments: &[&str]| vlflab(&[&["sql", "--data", folder.text()], arguments].concat());
    let scripts = Folder::new("embedded-scripts");
    let script = scripts.0.join("script.sql");
    fs::write(
        &script,
        "create table t (a int not null, b varchar(10))\ngo\ninsert t values ($(n), 'one')\ngo 2\n",
    )
    .unwrap();
    let output = sql(&["-Q", "create database d"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = sql(&["-d", "d", "-i", script.to_str().unwrap(), "-v", "n=7"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = sql(&["-d", "d", "-W", "-h", "-1", "-Q", "select a, b from t"]);
    assert_eq!(text(&output.stdout), "7 one\n7 one\n\n(2 rows affected)\n");
    let output = sql(&["-d", "d", "-Q", "select * from absent"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("Msg 208, Level 16"), "{}", said(&output));
}

/// A server on a free port; killed when dropped.
struct Serving(Child, String);

impl Serving {
    fn start(data: &Folder) -> Serving {
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--port", "0", "--data", data.text()])
            .env("MSSQL_SA_PASSWORD", PASSWORD);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .split("Server=")
            .nth(1)
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_string();
        Serving(child, address)
    }

    fn query(&self, password: &str, query: &str) -> Output {
        vlflab(&["sql", "-S", &self.1, "-P", password, "-W", "-h", "-1", "-Q", query])
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_answers_refuses_and_stops_cleanly() {
    let data = Folder::new("serve");
    let mut serving = Serving::start(&data);
    let output = serving.query(PASSWORD, "print 'hello' select 1, 'x'");
    assert_eq!(
        text(&output.stdout),
        "hello\n1 x\n\n(1 rows affected)\n",
        "{}",
        said(&output)
    );
    let output = serving.query("wrong", "select 1");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("18456"), "{}", said(&output));
    // Committed, and closed cleanly: the next start finds nothing to recover.
    assert_eq!(serving.query(PASSWORD, "create database kept").status.code(), Some(0));
    let pid = serving.0.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(serving.0.wait().unwrap().code(), Some(0));
    let again = Serving::start(&data);
    let output = again.query(PASSWORD, "use kept select 1");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let log = fs::read_to_string(data.0.join("log/ERRORLOG")).unwrap();
    assert!(!log.contains("Recovery completed for database kept"), "{log}");
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_leaves_no_server() {
    let out = Folder::new("interrupt");
    let mut command = Command::new(PROGRAM);
    command.args(["run", "recovery", "--scale", "tiny", "--out", out.text()]);
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let mut is_sent = false;
    for line in lines {
        // Once: a second signal ends a run at once, and several lines may name it.
        if line.contains("bad-native, run 1") && !is_sent {
            let pid = child.id().to_string();
            assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
            is_sent = true;
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.0.join("results.json")).unwrap()).unwrap();
    assert_eq!(json["complete"], false);
    assert!(json["stopped"].as_str().unwrap().contains("interrupted"));
    let configurations = &json["experiments"][0]["configurations"];
    assert_eq!(configurations[0]["measurements"]["fill_s"]["runs"], 1);
    assert!(configurations[2]["measurements"].as_object().unwrap().is_empty());
    assert!(
        fs::read_to_string(out.0.join("report.html"))
            .unwrap()
            .contains("stopped early")
    );
    let data = out.0.join("data");
    let still_running = fs::read_dir("/proc").unwrap().map_while(Result::ok).any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(data.to_str().unwrap())
    });
    assert!(!still_running, "a server was left behind");
    assert!(!data.exists(), "databases were left behind");
}

/// Who cannot wait for the end of a run sends a second signal: the databases are gone all the same.
#[test]
fn two_signals_leave_no_databases_either() {
    let out = Folder::new("interrupt-twice");
    let mut command = Command::new(PROGRAM);
    command.args(["run", "recovery", "--scale", "tiny", "--out", out.text()]);
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    for line in lines {
        if line.contains("bad-native, run 1") {
            // The process may be over after the first one.
            let pid = child.id().to_string();
            for signal in ["-INT", "-TERM"] {
                let _ = Command::new("kill").args([signal, &pid]).stderr(Stdio::null()).status();
            }
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!out.0.join("data").exists(), "databases were left behind");
}
