//! Every experiment of the program runs to its end at its smallest scale, and every check in it holds.
#![allow(clippy::unwrap_used)]

use lab::results::RunFile;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs it and answers what it measured.
fn tiny(experiment: &str) -> RunFile {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tiny-{experiment}-{}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab"))
        .args(["run", experiment, "--scale", "tiny", "--out"])
        .arg(&out)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let file = RunFile::load(&out.join("results.json")).unwrap_or_else(|error| panic!("{error}: {said}"));
    let checks = file
        .experiments
        .iter()
        .flat_map(|each| &each.configurations)
        .flat_map(|each| &each.checks);
    let failed: Vec<_> = checks.filter(|check| check.failed > 0).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(output.status.success() && file.complete, "{said}");
    fs::remove_dir_all(&out).unwrap();
    file
}

/// A measurement of the only run of a configuration.
fn measured(file: &RunFile, configuration: &str, measure: &str) -> f64 {
    let mut all = file.experiments[0].configurations.iter();
    let found = all.find(|each| each.name == configuration).unwrap();
    found
        .measurement(measure)
        .unwrap_or_else(|| panic!("{configuration} has no {measure}"))
        .median
}

#[test]
fn dml() {
    let file = tiny("dml");
    assert_eq!(measured(&file, "slow-classic", "vlf_count_before"), 20.0);
    assert_eq!(measured(&file, "fast-native", "vlf_count_before"), 4.0);
    assert!(measured(&file, "slow-native", "statements_s") > 0.0);
}
