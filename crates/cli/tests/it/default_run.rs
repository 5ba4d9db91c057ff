//! `vlflab run` without a name, at its smallest scale; `vlflab report` makes the same reports again from results.json, byte
//! for byte, and refuses damaged files.
#![allow(clippy::unwrap_used)]

use crate::schema;

use lab::results::{RunFile, SCHEMA_VERSION};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The exit code, and everything that was said.
fn vlflab(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    let Output { status, stdout, stderr } = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    let said = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (status.code(), said.concat())
}

const REPORTS: [&str; 5] = [
    "report-short.html",
    "report.html",
    "report.md",
    "results.csv",
    "results.json",
];

#[test]
fn its_reports_are_made_again_byte_for_byte() {
    let (out, again) = (Folder::new("default-run"), Folder::new("default-again"));
    let folder = out.file("");
    let run = ["run", "--scale", "tiny", "--runs", "1", "--short", "--out", &folder];
    let (code, said) = vlflab(&run);
    assert_eq!(code, Some(0), "{said}");
    let results = out.file("results.json");
    let json = serde_json::from_str(&fs::read_to_string(&results).unwrap()).unwrap();
    assert_eq!(schema::faults(&json), Vec::<String>::new(), "docs/results.schema.json");
    let file = RunFile::load(Path::new(&results)).unwrap();
    let names: Vec<&str> = file.experiments.iter().map(|each| each.experiment.as_str()).collect();
    assert_eq!(names, ["published", "dml", "accelerated"]);
    // Work on rows is done on this machine's disk, the published numbers of VLFs and the forgotten transaction on models, too.
    let has_model = |index: usize| {
        let mut configurations = file.experiments[index].configurations.iter();
        configurations.any(|each| each.modelled_disk().is_some())
    };
    assert_eq!([has_model(0), has_model(1), has_model(2)], [true, false, true]);
    assert!(REPORTS.iter().all(|name| out.0.join(name).exists()), "{said}");

    let folder = again.file("");
    let report = ["report", &results, "--short", "--out", &folder];
    let (code, said) = vlflab(&report);
    assert_eq!(code, Some(0), "{said}");
    for name in REPORTS.iter().filter(|name| **name != "results.json") {
        assert!(said.contains(name), "{said}");
        let [first, second] = [&out, &again].map(|folder| fs::read(folder.0.join(name)).unwrap());
        assert!(first == second, "{name} differs");
    }
    // What is there is replaced only where that was asked for.
    for arguments in [&report[..], &["report", &results]] {
        let (code, said) = vlflab(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("--overwrite") && said.contains("--out"), "{said}");
    }
    fs::write(again.0.join("report.md"), "mine").unwrap();
    let (code, said) = vlflab(&[&report[..], &["--overwrite"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(fs::read_to_string(again.0.join("report.md")).unwrap(), "mine");
}

#[test]
fn a_file_that_is_damaged_or_of_another_form_is_refused_with_what_to_do() {
    let folder = Folder::new("other-forms");
    let sound = RunFile {
        schema_version: SCHEMA_VERSION,
        product_version: "7.8.9".into(),
        ..RunFile::default()
    };
    let sound = sound.to_json();
    let later = sound.replacen("\"schema_version\": 1", "\"schema_version\": 2", 1);
    assert_ne!(later, sound);
    // A later form need not have what this one needs.
    let bare = "{ \"schema_version\": 3, \"product_version\": \"9.0.0\" }";
    let results = folder.file("other.json");
    let reports = folder.file("reports");
    for (text, expected) in [
        (later.as_str(), ["version 2", "7.8.9"]),
        (bare, ["version 3", "9.0.0"]),
        (&sound[..sound.len() / 2], ["damaged", "line"]),
        ("{}", ["not a results.json", "product_version"]),
        ("", ["not a results.json", "line"]),
    ] {
        fs::write(&results, text).unwrap();
        for arguments in [
            ["report", &results, "--out", &reports],
            ["compare", &results, &results, "--format=md"],
        ] {
            let (code, said) = vlflab(&arguments);
            assert_eq!(code, Some(2), "{arguments:?} {said}");
            assert!(expected.iter().all(|part| said.contains(part)), "{arguments:?} {said}");
            assert!(said.contains("other.json"), "{said}");
        }
    }
    let (code, said) = vlflab(&["report", &folder.file("nothing.json"), "--out", &reports]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nothing.json: No such file"), "{said}");
    assert!(!Path::new(&reports).exists());
}
