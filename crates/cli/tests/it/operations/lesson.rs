//! `vlflab lesson`: every lesson runs to its end, is the same file every time, and plays in a browser.

use crate::operations::support::{Folder, said, vlflab};
use advisor::live::recording::{RECORDING_BYTES_MAX, Recording};
use advisor::live::{EventKind, FileMap, Frame, Head, LogMap, Stand};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a lesson has at its end, and its events.
fn taught(name: &str, folder: &Folder) -> (Recording, Stand) {
    let written = |file: &str| {
        let path = folder.0.join(file);
        let output = vlflab(&["lesson", name, "--out", path.to_str().unwrap()]);
        assert!(output.status.success(), "{name}: {}", said(&output));
        fs::read_to_string(path).unwrap()
    };
    let text = written("first.html");
    assert!(text.len() < RECORDING_BYTES_MAX);
    assert!(text == written("second.html"), "{name} is the same every time");
    let recording = Recording::from_html(&text).unwrap();
    let mut stand = recording.first.clone();
    recording.frames.iter().for_each(|frame| stand.take(frame));
    (recording, stand)
}

fn has(recording: &Recording, kind: EventKind, words: &str) -> bool {
    let mut events = recording.frames.iter().flat_map(|frame| &frame.events);
    events.any(|event| event.kind == kind && (event.text.contains(words) || event.why.contains(words)))
}

fn vlfs(stand: &Stand) -> usize {
    let lesson = stand.maps.iter().find(|map| map.database == "lesson");
    lesson.unwrap().vlfs().count()
}

#[test]
fn lessons_show_what_they_speak_of() {
    let folder = Folder::new("lesson");
    let shows = [
        ("fill", EventKind::Growth, "The log grew"),
        ("wrap", EventKind::Switch, "came round"),
        ("full", EventKind::Full, "9002"),
        ("backup", EventKind::Truncation, "became reusable"),
        ("growth", EventKind::Growth, ": 4 VLFs more"),
        ("transaction", EventKind::ReuseWait, "ACTIVE_TRANSACTION"),
        ("accelerated", EventKind::Truncation, "became reusable"),
        ("shrink", EventKind::Shrink, "9008"),
    ];
    let listed = String::from_utf8(vlflab(&["lesson"]).stdout).unwrap();
    assert_eq!(listed.lines().count(), shows.len(), "{listed}");
    for (name, kind, words) in shows {
        assert!(listed.contains(name));
        let (recording, stand) = taught(name, &folder);
        assert!(has(&recording, kind, words), "{name} shows {words}");
        let question = recording.question.as_ref().unwrap();
        let seen = question.sequence.is_none_or(|sequence| {
            let lesson = stand.maps.iter().find(|map| map.database == "lesson").unwrap();
            lesson.vlfs().any(|(.., own)| own == sequence)
        });
        assert!(seen, "{name}: the answer is seen in the ring");
    }
}

#[test]
fn the_lesson_on_growth_counts_as_each_version_does() {
    let folder = Folder::new("lesson-growth");
    let (recording, stand) = taught("growth", &folder);
    let added: Vec<String> = recording
        .frames
        .iter()
        .flat_map(|frame| &frame.events)
        .filter(|event| event.kind == EventKind::Growth)
        .map(|event| event.text.split(": ").nth(1).unwrap().to_owned())
        .collect();
    let (four, one) = ("4 VLFs more.", "1 VLF more.");
    assert_eq!(added, [four, four, four, four, one, one, four, one]);
    // 4 by creation as of 2012, then those.
    assert_eq!(vlfs(&stand), 4 + 16 + 2 + 4 + 1);
}

#[test]
fn a_lesson_of_ones_own_says_what_is_wrong_with_it() {
    let folder = Folder::new("lesson-own");
    let path = folder.0.join("own.toml");
    let run = |text: &str| {
        fs::write(&path, text).unwrap();
        vlflab(&["lesson", path.to_str().unwrap()])
    };
    let step = |sql: &str| format!("title = 'x'\nabout = 'y'\n[[step]]\nsay = 'Look.'\nsql = '{sql}'\n");
    let good = run(&step("create database mine"));
    let shown = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(
        good.status.success() && shown.contains("\nLook.\n") && shown.contains("  mine  "),
        "{}",
        said(&good)
    );
    let failing = run(&step("select 1/0"));
    assert_eq!(failing.status.code(), Some(1));
    assert!(said(&failing).contains("error 8134"), "{}", said(&failing));
    let wrong = run("title = 'x'\n");
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
}

/// What a browser has made of the end of a recording; `None` where there is no browser.
fn seen_by_a_browser(page: &Path, folder: &Folder) -> Option<String> {
    let mut command = Command::new("chromium");
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", folder.0.join("browser").display()));
    // Its time is its own, and over when nothing is left to do.
    command.arg("--virtual-time-budget=5000");
    command
        .arg(format!("file://{}#end", page.display()))
        .stdin(Stdio::null());
    match command.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            println!("skipped: chromium cannot be started: {error}");
            None
        }
    }
}

#[test]
fn a_browser_plays_a_lesson_to_its_question() {
    let folder = Folder::new("lesson-browser");
    let page = folder.0.join("full.html");
    let written = vlflab(&["lesson", "full", "--out", page.to_str().unwrap()]);
    assert!(written.status.success(), "{}", said(&written));
    let Some(seen) = seen_by_a_browser(&page, &folder) else {
        return;
    };
    for part in [
        "<dt>Log reuse wait</dt>",
        "cannot grow: error 9002.",
        "Would SHRINKFILE have helped",
        ">lesson</option>",
        "Rows come in again.",
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}

#[test]
fn a_browser_draws_a_log_of_126_399_vlfs() {
    let folder = Folder::new("lesson-large");
    let page = folder.0.join("large.html");
    let count: u64 = 126_399;
    let head = |last: u32| Head {
        database: "large".to_owned(),
        state: "ONLINE".to_owned(),
        total_bytes: count * 262_144,
        vlf_count: count,
        active_vlfs: 1_000,
        active: Some((last - 999, last)),
        end: Some((last, 16, 1)),
        ..Head::default()
    };
    let first = Stand {
        maps: vec![LogMap {
            database: "large".to_owned(),
            files: vec![FileMap {
                id: 2,
                start: 8_192,
                sizes: (0..count).map(|_| 262_144).collect(),
                sequences: (1..=count).collect(),
                ..FileMap::default()
            }],
        }],
        heads: vec![head(5_000)],
        ..Stand::default()
    };
    let frame = Frame {
        frame: 1,
        at: 1,
        heads: vec![head(5_001)],
        ..Frame::default()
    };
    let recording = Recording {
        version: advisor::live::LIVE_VERSION,
        first,
        frames: vec![frame],
        question: None,
    };
    fs::write(&page, recording.to_html()).unwrap();
    let Some(seen) = seen_by_a_browser(&page, &folder) else {
        return;
    };
    assert!(seen.contains("1,000 of 126,399 VLFs active"), "{seen}");
    assert!(seen.contains("<dd>5001:16:1</dd>"), "the frame is played: {seen}");
}

/// Ctrl-C left the instance's folder behind, hundreds of megabytes in the folder for temporary files.
#[test]
fn a_lesson_that_is_cut_off_leaves_nothing() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = Folder::new(&format!("lesson-cut-off-{code}"));
        let lesson = folder.0.join("endless.toml");
        let text = r#"
title = "Endless"
about = "It never ends by itself."
[[step]]
say = "On and on."
sql = "WHILE 1 = 1 BEGIN DECLARE @i int = 1; END;"
"#;
        fs::write(&lesson, text).unwrap();
        let temporary = folder.0.join("temporary");
        fs::create_dir(&temporary).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_vlflab"))
            .args(["lesson", lesson.to_str().unwrap()])
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The instance is there once it has made the files of its databases.
        while !holds_a_log(&temporary) {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::yield_now();
        }
        let kill = Command::new("kill")
            .args([&format!("-{signal}"), &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        let ended = child.wait().unwrap();
        assert_eq!(ended.code(), Some(code), "{signal}");
        let left = fs::read_dir(&temporary).unwrap().count();
        assert_eq!(left, 0, "{signal}");
    }
}

/// Whether an instance in the folder has made a log file.
fn holds_a_log(folder: &Path) -> bool {
    let below = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read_dir(entry.path().join("data")).ok());
    let mut files = below.flatten().flatten();
    files.any(|file| file.path().extension().is_some_and(|extension| extension == "ldf"))
}
