//! The page that reads logs in a browser gives the command line's answers: its functions natively, the same as WebAssembly, the page in
//! Chromium. WebAssembly is there when `packaging/wasm` has built it.
//!
//! Depth: all files of the folder `shared/ldf` beside the repository, if it is there; `VLFLAB_LDF_DIR` names another. `VLFLAB_GENUINE_DIR` names a folder
//! with data files and backups of SQL Server; the page is asked about the smallest of them.

use crate::operations::support::{Folder, Serving, said, serve, vlflab};
use browser::{Disk, FileNamed, PlanForm, Question};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use vlf::{ReadAt, ServerVersion};

const DISK: &str = "azure-p30";

fn root() -> PathBuf {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    site::root_of(Path::new(&folder)).unwrap()
}

/// Where the build puts things; several checkouts may share it.
fn target() -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    named.map_or_else(|| root().join("target"), |folder| root().join(folder))
}

fn disk(name: &str) -> Disk {
    let disk = lab::disks::load(name).unwrap();
    Disk::of(&disk.name, &disk.title, &disk.ranges)
}

fn named(path: &Path) -> FileNamed {
    FileNamed {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        bytes: fs::metadata(path).unwrap().len(),
    }
}

fn opened(path: &Path, version: &str, of: &str) -> Question {
    Question::Open {
        files: vec![named(path)],
        version: version.to_owned(),
        disk: disk(of),
    }
}

/// The answer of the functions that become WebAssembly, as text.
fn native(question: &Question, files: &[&Path]) -> String {
    let open = |number: usize, _: u64| -> Box<dyn ReadAt + Sync> { Box::new(fs::read(files[number]).unwrap()) };
    let answer = browser::answer(&serde_json::to_vec(question).unwrap(), &open);
    String::from_utf8(answer).unwrap()
}

fn parsed(question: &Question, files: &[&Path]) -> Value {
    let answer: Value = serde_json::from_str(&native(question, files)).unwrap();
    assert!(answer["error"].is_null(), "{}", answer["error"]);
    answer
}

/// What the program prints; it may find something to do (5), something unread (6) or damage (4).
fn printed(arguments: &[&str]) -> String {
    let output = vlflab(arguments);
    assert!(
        matches!(output.status.code(), Some(0 | 4 | 5 | 6)),
        "{arguments:?}: {}",
        said(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A log that our own server has written, as it lies alone in a folder, and the real ones.
fn logs(folder: &Folder) -> Vec<PathBuf> {
    static OWN: OnceLock<Vec<u8>> = OnceLock::new();
    let bytes = OWN.get_or_init(|| {
        let data = folder.0.join("data");
        let server = Serving::start(&mut serve(&data));
        server.sql(
            "create database here log on (name = here_log, filename = 'here_log.ldf', size = 2MB, filegrowth = 1MB)",
        );
        server.sql(
            "use here; create table t (a char(4000)); declare @i int = 0;
             while @i < 900 begin insert t values ('x'); set @i += 1 end",
        );
        drop(server);
        let found = log_below(&data).expect("the server has made a log");
        fs::read(found).unwrap()
    });
    let own = folder.0.join("own_log.ldf");
    fs::write(&own, bytes).unwrap();
    let beside = || root().join("../shared/ldf");
    let real = std::env::var_os("VLFLAB_LDF_DIR").map_or_else(beside, PathBuf::from);
    let mut found = vec![own];
    match fs::read_dir(&real) {
        Ok(entries) => {
            let paths = entries.map(|entry| entry.unwrap().path());
            found.extend(paths.filter(|path| path.extension().is_some_and(|kind| kind == "ldf")));
        }
        Err(error) => println!("skipped: {}: {error}", real.display()),
    }
    found
}

fn log_below(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let own = files.into_iter().find(|path| path.ends_with("here_log.ldf"));
    own.or_else(|| folders.iter().find_map(|folder| log_below(folder)))
}

fn plan_of(path: &Path, target_size: &str) -> Question {
    Question::Plan(Box::new(PlanForm {
        version: "2022".to_owned(),
        files: vec![named(path)],
        target_size: target_size.to_owned(),
        disk: disk(DISK),
        ..PlanForm::default()
    }))
}

#[test]
fn a_log_has_the_figures_findings_and_plans_of_the_command_line() {
    let folder = Folder::new("browser-logs");
    let logs = logs(&folder);
    for path in &logs {
        let file = path.to_str().unwrap();
        let answer = parsed(&opened(path, "2022", DISK), &[path]);
        assert_eq!(answer["kind"], "log", "{file}");
        assert_eq!(answer["text"], printed(&["inspect", file, "--map"]), "{file}");
        assert_eq!(
            answer["advice_text"],
            printed(&["advise", file, "--disk", DISK]),
            "{file}"
        );
        for format in ["json", "csv"] {
            let export = Question::Export {
                files: vec![named(path)],
                format: format.to_owned(),
            };
            let saved = parsed(&export, &[path]);
            assert_eq!(saved["text"], printed(&["inspect", file, "--format", format]), "{file}");
        }
        let plan = parsed(&plan_of(path, "64MB"), &[path]);
        let arguments = ["plan", "--from", file, "--target-size", "64MB", "--disk", DISK];
        assert_eq!(plan["text"], printed(&arguments), "{file}");
        assert!(plan["tsql"].as_str().unwrap().contains("MODIFY FILE"), "{file}");
    }
    println!("{} logs", logs.len());
}

/// `--from` reads many forms, and so does the page.
#[test]
fn rows_in_every_form_have_the_findings_and_plans_of_the_command_line() {
    let folder = Folder::new("browser-rows");
    let log = &logs(&folder)[0];
    let file = log.to_str().unwrap();
    let heading = "RecoveryUnitId,FileId,FileSize,StartOffset,FSeqNo,Status,Parity,CreateLSN\n";
    let rows = "0,2,253952,8192,31,0,64,0\n0,2,253952,262144,32,2,64,0\n0,2,253952,516096,0,0,0,0\n0,2,278528,770048,0,0,0,0\n";
    let html = rows
        .lines()
        .map(|row| format!("<tr><td>{}</td></tr>", row.replace(',', "</td><td>")))
        .collect::<String>();
    let forms = [
        ("rows.csv", format!("{heading}{rows}").into_bytes()),
        ("rows.txt", rows.replace(',', "\t").into_bytes()),
        ("rows.html", format!("<table>{html}</table>").into_bytes()),
        (
            "inspected.csv",
            printed(&["inspect", file, "--format", "csv"]).into_bytes(),
        ),
        (
            "inspected.json",
            printed(&["inspect", file, "--format", "json"]).into_bytes(),
        ),
        (
            "powershell.txt",
            [0xFEFF_u16]
                .into_iter()
                .chain(format!("{heading}{rows}").encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect(),
        ),
    ];
    for (name, bytes) in forms {
        let path = folder.0.join(name);
        fs::write(&path, &bytes).unwrap();
        let given = path.to_str().unwrap();
        let answer = parsed(&opened(&path, "2012", "ebs-gp3"), &[&path]);
        assert_eq!(answer["kind"], "rows", "{name}");
        let advised = printed(&["advise", "--from", given, "--sql-version", "2012", "--disk", "ebs-gp3"]);
        assert_eq!(answer["text"], advised, "{name}");
        assert!(
            !answer["rings"][0]["map"]["files"][0]["sizes"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        let pasted = PlanForm {
            version: "2012".to_owned(),
            text: advisor::pasted::decoded(bytes).unwrap(),
            target_vlfs: "12".to_owned(),
            target_size: "100MB".to_owned(),
            database: "Sales".to_owned(),
            disk: disk("ebs-gp3"),
            ..PlanForm::default()
        };
        let plan = parsed(&Question::Plan(Box::new(pasted)), &[]);
        let arguments = [
            "plan",
            "--sql-version",
            "2012",
            "--from",
            given,
            "--target-vlfs",
            "12",
            "--target-size",
            "100MB",
        ];
        let more = ["--database", "Sales", "--disk", "ebs-gp3"];
        assert_eq!(plan["text"], printed(&[&arguments[..], &more[..]].concat()), "{name}");
    }
}

#[test]
fn a_growth_plan_of_every_version_is_that_of_the_command_line() {
    for version in ServerVersion::ALL {
        let form = PlanForm {
            version: version.name().to_owned(),
            initial: "8MB".to_owned(),
            growth: "64MB".to_owned(),
            to: "4GB".to_owned(),
            disk: disk("nvme-plp"),
            ..PlanForm::default()
        };
        let plan = parsed(&Question::Plan(Box::new(form)), &[]);
        let arguments = [
            "plan",
            "--sql-version",
            version.name(),
            "--initial",
            "8MB",
            "--growth",
            "64MB",
            "--to",
            "4GB",
        ];
        assert_eq!(
            plan["text"],
            printed(&[&arguments[..], &["--disk", "nvme-plp"]].concat())
        );
    }
}

/// Data files and backups that are looked at, and how large they may be.
const DATABASES_MAX: usize = 6;
const DATABASE_BYTES_MAX: u64 = 20_000_000;

#[test]
fn databases_and_backups_have_the_summary_of_the_command_line() {
    let Some(folder) = std::env::var_os("VLFLAB_GENUINE_DIR").map(PathBuf::from) else {
        return println!("skipped: VLFLAB_GENUINE_DIR names no folder");
    };
    let mut files = Vec::new();
    for kind in ["bak", "mdf"] {
        let mut found = files_below(&folder, kind);
        found.retain(|(bytes, _)| *bytes <= DATABASE_BYTES_MAX);
        found.sort();
        files.extend(found.into_iter().take(DATABASES_MAX / 2));
    }
    assert!(
        !files.is_empty(),
        "{} has none of at most {DATABASE_BYTES_MAX} bytes",
        folder.display()
    );
    for (_, path) in &files {
        let answer: Value = serde_json::from_str(&native(&opened(path, "2022", DISK), &[path])).unwrap();
        let output = vlflab(&["inspect", path.to_str().unwrap()]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        match answer["text"].as_str() {
            // What comes behind is what to type next.
            Some(text) => assert!(printed.starts_with(text), "{}: {text}\n{printed}", path.display()),
            None => assert!(!output.status.success(), "{}: {}", path.display(), answer["error"]),
        }
    }
    println!("{} files", files.len());
}

fn files_below(folder: &Path, extension: &str) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let is_wanted = |path: &PathBuf| {
        path.extension()
            .is_some_and(|kind| kind.eq_ignore_ascii_case(extension))
    };
    let own = files.into_iter().filter(is_wanted);
    let sized = own.map(|path| (fs::metadata(&path).unwrap().len(), path));
    sized
        .chain(folders.iter().flat_map(|folder| files_below(folder, extension)))
        .collect()
}

#[test]
fn what_cannot_be_answered_is_said_in_a_sentence() {
    let folder = Folder::new("browser-refused");
    let noise = folder.0.join("noise.bin");
    fs::write(&noise, [0xFF; 10_000]).unwrap();
    let refused = |question: &Question, files: &[&Path]| {
        let answer: Value = serde_json::from_str(&native(question, files)).unwrap();
        answer["error"].as_str().unwrap_or_default().to_owned()
    };
    assert!(refused(&opened(&noise, "2022", DISK), &[&noise]).contains("neither a log file"));
    assert!(refused(&opened(&noise, "2000", DISK), &[&noise]).contains("2000"));
    let form = |form: PlanForm| {
        let form = PlanForm {
            version: "2022".to_owned(),
            disk: disk(DISK),
            ..form
        };
        refused(&Question::Plan(Box::new(form)), &[])
    };
    let both = PlanForm {
        growth: "64MB".to_owned(),
        target_size: "1GB".to_owned(),
        ..PlanForm::default()
    };
    assert!(form(both).contains("Either give growths"));
    let size = PlanForm {
        initial: "8 apples".to_owned(),
        ..PlanForm::default()
    };
    assert!(form(size).contains("8 apples"));
    let no_figures = PlanForm {
        version: "2022".to_owned(),
        ..PlanForm::default()
    };
    assert!(refused(&Question::Plan(Box::new(no_figures)), &[]).contains("is missing"));
}

/// The WebAssembly, if it was built.
fn wasm() -> Option<PathBuf> {
    let path = target().join("wasm/browser.wasm");
    if path.is_file() {
        return Some(path);
    }
    println!("skipped: there is no {}: packaging/wasm makes it", path.display());
    None
}

#[test]
fn web_assembly_answers_as_the_native_functions_do() {
    let Some(wasm) = wasm() else { return };
    let folder = Folder::new("browser-wasm");
    let logs = logs(&folder);
    let mut questions = Vec::new();
    for path in &logs {
        questions.push((opened(path, "2022", DISK), path.as_path()));
        questions.push((plan_of(path, "1GB"), path.as_path()));
    }
    let script = root().join("crates/browser/tests/ask.mjs");
    let node = Command::new("node")
        .arg(script)
        .arg(wasm)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut node = match node {
        Ok(node) => node,
        Err(error) => return println!("skipped: node cannot be started: {error}"),
    };
    let lines = questions
        .iter()
        .map(|(question, path)| format!("{}\n", json!({ "question": question, "files": [path] })));
    let text: String = lines.collect();
    let mut input = node.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "node: {}", output.status);
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), questions.len());
    for (answer, (question, path)) in answers.iter().zip(&questions) {
        assert!(**answer == native(question, &[path]), "{}", path.display());
    }
    println!("{} answers about {} logs", answers.len(), logs.len());
}

/// What Chromium shows; none where it, node or the WebAssembly is missing.
fn shown(folder: &Folder, what: Value) -> Option<Value> {
    let bytes = fs::read(wasm()?).unwrap();
    let page = folder.0.join("log.html");
    fs::write(&page, site::log_page::page(&bytes).unwrap()).unwrap();
    let mut asked = what;
    asked["page"] = json!(page);
    asked["profile"] = json!(folder.0.join("profile"));
    let script = root().join("crates/browser/tests/page.mjs");
    let output = match Command::new("node").arg(script).arg(asked.to_string()).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: node cannot be started: {error}");
            return None;
        }
    };
    // Its exit code where there is no Chromium.
    if output.status.code() == Some(3) {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    assert!(output.status.success(), "{}", said(&output));
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["errors"], json!([]), "nothing is refused by the page's policy");
    Some(seen)
}

#[test]
fn chromium_shows_a_log_its_findings_and_its_plan_and_asks_nothing_of_a_network() {
    let folder = Folder::new("browser-page");
    let log = logs(&folder)[0].clone();
    let Some(seen) = shown(
        &folder,
        json!({ "files": [log], "keys": ["Home", "ArrowRight"], "width": 390 }),
    ) else {
        return;
    };
    let inspected = printed(&["inspect", log.to_str().unwrap(), "--map"]);
    let text = seen["text"].as_str().unwrap();
    assert!(text.starts_with(&inspected), "{text}");
    assert_eq!(seen["answer-heading"], "own_log.ldf");
    assert!(seen["ring"].as_str().unwrap().contains("VLFs in"), "{}", seen["ring"]);
    assert!(
        seen["picked"].as_str().unwrap().starts_with("VLF 2 of "),
        "{}",
        seen["picked"]
    );
    assert!(seen["plan-sections"].as_str().unwrap().contains("MODIFY FILE"));
    assert!(seen["colours"].as_u64().unwrap() >= 3, "a ring is drawn");
    assert_eq!(seen["overflows"], false, "390 pixels are enough");
    let requests = seen["requests"].as_array().unwrap();
    let is_own = |request: &Value| {
        let address = request.as_str().unwrap();
        ["file://", "blob:", "data:", "about:"]
            .iter()
            .any(|scheme| address.starts_with(scheme))
    };
    assert!(requests.iter().all(is_own), "{requests:?}");
}

#[test]
fn chromium_plays_a_recording_in_the_page() {
    let folder = Folder::new("browser-recording");
    let recording = folder.0.join("full.html");
    let written = vlflab(&["lesson", "full", "--out", recording.to_str().unwrap()]);
    assert!(written.status.success(), "{}", said(&written));
    let Some(seen) = shown(&folder, json!({ "files": [recording], "inRecording": true })) else {
        return;
    };
    let inside = seen["recording"].as_str().unwrap();
    for part in ["A recording of vlflab", "What happened, and why", "Log reuse wait"] {
        assert!(inside.contains(part), "{part} in {inside}");
    }
}
