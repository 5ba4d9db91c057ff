//! `vlflab run --target`: an experiment on a server that already runs, and every way in which connecting to it can fail.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

const PROGRAM: &str = env!("CARGO_BIN_EXE_vlflab");
const PASSWORD: &str = workbench::SA_PASSWORD;

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that nobody started for the lab; killed when dropped.
struct Serving {
    child: Child,
    port: u16,
}

impl Serving {
    fn start(data: &Folder) -> Serving {
        workbench::store_sa_password(&data.0);
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--port", "0", "--sql-version", "2012", "--data"])
            .arg(&data.0)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let (_, address) = line.split_once("Server=").unwrap();
        let (address, _) = address.split_once(';').unwrap();
        let port = address.rsplit_once(',').unwrap().1.parse().unwrap();
        Serving { child, port }
    }

    fn query(&self, query: &str) -> String {
        let server = format!("127.0.0.1,{}", self.port);
        let output = Command::new(PROGRAM)
            .args(["sql", "-S", &server, "-P", PASSWORD, "-W", "-h", "-1", "-Q", query])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run_on(address: &str, password: &str, more: &[&str], out: &Folder) -> Output {
    run_experiment_on("recovery", address, password, more, out)
}

fn run_experiment_on(experiment: &str, address: &str, password: &str, more: &[&str], out: &Folder) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .args(["run", experiment, "--scale", "tiny", "--target", address, "--out"])
        .arg(&out.0)
        .args(more)
        .env("MSSQL_PASSWORD", password)
        .stdin(Stdio::null());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn the_experiment_runs_there_and_leaves_nothing_but_the_server() {
    let (data, out) = (Folder::new("target-data"), Folder::new("target-out"));
    let serving = Serving::start(&data);
    let address = format!("mssql://sa@127.0.0.1:{}", serving.port);

    let output = run_on(&address, PASSWORD, &[], &out);
    assert_eq!(output.status.code(), Some(2), "nobody agreed: {}", said(&output));
    assert!(
        said(&output).contains("creates and drops, again and again, the database vlf"),
        "{}",
        said(&output)
    );
    assert!(!out.0.join("results.json").exists());

    let output = run_on(&address, PASSWORD, &["--yes"], &out);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.0.join("results.json")).unwrap()).unwrap();
    assert!(
        json["target"]["product_version"].as_str().unwrap().starts_with("11.0"),
        "{}",
        json["target"]
    );
    assert_eq!(json["target"]["rules_of"], "2012");
    let experiment = &json["experiments"][0];
    assert!(
        experiment["notes"][1]
            .as_str()
            .unwrap()
            .contains("not stopped or killed"),
        "{}",
        experiment["notes"]
    );
    let configurations = experiment["configurations"].as_array().unwrap();
    let names: Vec<&str> = configurations
        .iter()
        .map(|each| each["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bad", "good"], "the matrix is for servers of our own");
    for each in configurations {
        let measured = &each["measurements"];
        assert!(measured["restart_s"]["median"].as_f64().unwrap() > 0.0);
        assert!(measured.get("recovery_s").is_none(), "nothing crashed");
        assert_eq!(
            measured["vlf_count"]["median"].to_string(),
            format!("{}.0", each["settings"]["vlf_count_predicted"].as_str().unwrap())
        );
        assert!(each["settings"].get("log_policy").is_none());
        assert!(
            each["checks"]
                .as_array()
                .unwrap()
                .iter()
                .all(|check| check["failed"] == 0),
            "{}",
            each["checks"]
        );
    }
    let left = serving.query("set nocount on select count(*) from sys.databases where name = 'vlf'");
    assert_eq!(
        left.lines().next(),
        Some("0"),
        "the database is gone and the server is not"
    );
}

#[test]
fn a_database_of_that_name_is_left_alone() {
    let (data, out) = (Folder::new("taken-data"), Folder::new("taken-out"));
    let serving = Serving::start(&data);
    serving.query("create database vlf");
    serving.query("create table vlf.dbo.precious (id int) insert vlf.dbo.precious values (42)");
    let address = format!("mssql://sa@127.0.0.1:{}", serving.port);
    let output = run_on(&address, PASSWORD, &["--yes"], &out);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("a database named 'vlf' already exists"),
        "{}",
        said(&output)
    );
    let kept = serving.query("set nocount on select id from vlf.dbo.precious");
    assert_eq!(kept.lines().next(), Some("42"));
}

#[test]
fn a_wrong_password_is_told_in_the_servers_words() {
    let (data, out) = (Folder::new("password-data"), Folder::new("password-out"));
    let serving = Serving::start(&data);
    let output = run_on(
        &format!("mssql://sa@127.0.0.1:{}", serving.port),
        "wrong",
        &["--yes"],
        &out,
    );
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("the server refused the login: Msg 18456"),
        "{}",
        said(&output)
    );
}

#[test]
fn every_way_of_not_getting_there_has_its_sentence() {
    let out = Folder::new("unreachable-out");
    let free_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude_port = rude.local_addr().unwrap().port();
    std::thread::spawn(move || rude.incoming().for_each(drop));
    for (address, part) in [
        (
            format!("mssql://sa@127.0.0.1:{free_port}"),
            "no server listens there (connection refused)",
        ),
        ("mssql://sa@no-such-host.invalid".into(), "the name cannot be resolved"),
        (
            format!("mssql://sa@127.0.0.1:{silent_port}"),
            "does not answer the login within 1 s",
        ),
        (format!("mssql://sa@127.0.0.1:{rude_port}"), "the login broke off"),
    ] {
        let begin = Instant::now();
        let output = run_on(&address, PASSWORD, &["--yes", "--login-timeout", "1"], &out);
        assert_eq!(output.status.code(), Some(3), "{address}: {}", said(&output));
        let said = said(&output);
        assert!(said.contains(part), "{address}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "one sentence: {said}");
        assert!(begin.elapsed().as_secs() < 10, "{address}");
    }
    let output = run_on("mssql://sa:secret@127.0.0.1", PASSWORD, &["--yes"], &out);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("MSSQL_PASSWORD"), "{}", said(&output));
}

/// A server that answers every PRELOGIN by requiring encryption.
#[test]
fn required_encryption_is_named() {
    use std::io::{Read, Write};
    // Packet of type 4, end of message, 26 bytes; the places of VERSION and ENCRYPTION, then their values.
    const REQUIRED: [u8; 26] = [
        4, 1, 0, 26, 0, 0, 1, 0, 0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 3, 232, 0, 0, 3,
    ];
    let out = Folder::new("encryption-out");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0_u8; 512];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&REQUIRED);
            let _ = stream.read(&mut request);
        }
    });
    let output = run_on(
        &format!("mssql://sa@127.0.0.1:{port}"),
        PASSWORD,
        &["--yes", "--login-timeout", "5", "-N", "disable"],
        &out,
    );
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("requires encryption"), "{}", said(&output));
}

/// The sample database cannot be put on a server from outside: growth makes rows of its own there, and counts the same.
#[test]
fn growth_makes_its_own_rows_where_no_sample_can_be_put() {
    let (data, out) = (Folder::new("target-growth-data"), Folder::new("target-growth-out"));
    let serving = Serving::start(&data);
    let address = format!("mssql://sa@127.0.0.1:{}", serving.port);
    let output = run_experiment_on(
        "growth",
        &address,
        PASSWORD,
        &["--yes", "--only", "test1", "--only", "test4"],
        &out,
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.0.join("results.json")).unwrap()).unwrap();
    let experiment = &json["experiments"][0];
    let notes = experiment["notes"].as_array().unwrap();
    let notes: Vec<&str> = notes.iter().map(|note| note.as_str().unwrap()).collect();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("make rows like those of the Credit database")),
        "{notes:?}"
    );
    let configurations = experiment["configurations"].as_array().unwrap();
    assert_eq!(configurations.len(), 2);
    for each in configurations {
        assert!(each["measurements"]["elapsed_s"]["median"].as_f64().unwrap() > 0.0);
        let checks = each["checks"].as_array().unwrap();
        assert!(
            checks.len() >= 2 && checks.iter().all(|check| check["failed"] == 0),
            "{checks:?}"
        );
    }
    let left = serving.query("set nocount on select count(*) from sys.databases where name in ('growth', 'Credit')");
    assert_eq!(left.lines().next(), Some("0"), "{left}");
}
