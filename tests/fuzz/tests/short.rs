//! Random inputs for every target: no panic, no runaway memory, no endless input, and a history repeats from its numbers.
//!
//! Depth: 12,000 inputs; deep: 1,000,000. `vlflab-fuzz run` for more (`tests/fuzz/README.md`).
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}-{}", std::process::id()))
}

#[test]
fn nothing_is_found_in_a_few_thousand_inputs() {
    let folder = folder("short");
    let depth = workbench::depth("random inputs", 12_000, 1_000_000);
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab-fuzz"))
        .args(["run", "--inputs", &depth.units.to_string(), "--goes-on", "--folder"])
        .arg(&folder)
        .output()
        .unwrap();
    let told = told(&output);
    assert!(output.status.success(), "{told}");
    // Every target got its share, and some of it was taken.
    let counted = told.lines().filter(|line| line.contains(" inputs of build "));
    let words: Vec<Vec<&str>> = counted.map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words.len(), fuzzing::target::TARGETS.len(), "{told}");
    for line in words {
        let place = line.iter().position(|word| *word == "taken,").unwrap();
        assert!(line[place - 1].parse::<u64>().unwrap() > 0, "{line:?}");
    }
    depth.count();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_history_can_be_repeated_from_its_numbers() {
    let once = || {
        let output = Command::new(env!("CARGO_BIN_EXE_vlflab-fuzz"))
            .args(["repeat", "bind-grammar", "3", "5"])
            .output()
            .unwrap();
        let told = told(&output);
        assert!(output.status.success() && told.contains("finding: None"), "{told}");
        told.split("Judged").next().unwrap().to_owned()
    };
    assert_eq!(once(), once());
}
