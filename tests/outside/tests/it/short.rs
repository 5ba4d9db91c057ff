//! A short version of every long run, with the server of this build. Needs root and `/dev/fuse`; skipped with the reason
//! elsewhere.
//!
//! Depth: 4 power cuts, 2 kills, 2 rivals, 4 steps, 5 hostile clients; deep: 200, 100, 100, 400, 500. `vlflab-outside` for more
//! (`tests/outside/README.md`).
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The exit code of the harness where it has no root or no FUSE.
const UNAVAILABLE: i32 = 77;

/// The server as these sources make it: built here, because a test of this package alone does not build it.
fn server() -> PathBuf {
    static SERVER: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        workbench::build_server();
        let harness = PathBuf::from(env!("CARGO_BIN_EXE_vlflab-outside"));
        harness.with_file_name("vlflab")
    };
    SERVER.get_or_init(build).clone()
}

/// Runs the harness; `None` where it cannot run.
fn harness(name: &str, arguments: &[&str]) -> Option<Output> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("outside-{name}-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab-outside"));
    command
        .args(arguments)
        .arg("--server")
        .arg(server())
        .arg("--folder")
        .arg(&folder);
    let output = command.output().unwrap();
    if output.status.code() == Some(UNAVAILABLE) {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        return None;
    }
    if output.status.success() {
        std::fs::remove_dir_all(folder).unwrap();
    }
    Some(output)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn syncs_that_do_nothing_are_found() {
    let Some(output) = harness("control", &["control", "--count", "20", "--jobs", "1"]) else {
        return;
    };
    assert!(output.status.success(), "{}", told(&output));
    assert!(told(&output).contains("FAILED"), "{}", told(&output));
}

fn assert_nothing_found(output: &Output) {
    assert!(output.status.success(), "{}", told(output));
    println!("{}", told(output).lines().last().unwrap());
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes() {
    let depth = workbench::depth("power cuts", 4, 200);
    let count = depth.units.to_string();
    let arguments = ["power-cuts", "--count", &count, "--cycles", "4", "--jobs", "1"];
    let Some(output) = harness("power-cuts", &arguments) else {
        return;
    };
    assert_nothing_found(&output);
    depth.count();
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let depth = workbench::depth("kills under administration", 2, 100);
    let count = depth.units.to_string();
    let arguments = [
        "kills", "--count", &count, "--cycles", "3", "--jobs", "1", "--seed", "1000",
    ];
    let Some(output) = harness("kills", &arguments) else {
        return;
    };
    assert_nothing_found(&output);
    depth.count();
}

#[test]
fn administrators_that_work_on_the_same_databases_lose_nothing_of_each_other() {
    let depth = workbench::depth("rounds of rival administrators", 2, 100);
    let count = depth.units.to_string();
    let Some(output) = harness("rivals", &["rivals", "--count", &count, "--cycles", "4", "--jobs", "1"]) else {
        return;
    };
    assert_nothing_found(&output);
    depth.count();
}

#[test]
fn statements_that_touch_files_are_finished_or_undone_wherever_they_are_cut_off() {
    let depth = workbench::depth("statements on files cut off", 4, 400);
    let count = depth.units.to_string();
    let arguments = [
        "steps", "--count", &count, "--points", "1", "--jobs", "1", "--seed", "20",
    ];
    let Some(output) = harness("steps", &arguments) else {
        return;
    };
    assert_nothing_found(&output);
    depth.count();
}

#[test]
fn clients_that_mean_harm_do_none() {
    let depth = workbench::depth("hostile clients", 5, 500);
    let count = depth.units.to_string();
    let arguments = ["hostile", "--count", &count, "--cycles", "3", "--jobs", "1"];
    let Some(output) = harness("hostile", &arguments) else {
        return;
    };
    assert_nothing_found(&output);
    depth.count();
}
