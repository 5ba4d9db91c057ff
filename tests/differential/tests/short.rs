//! Random statements answered by the server of this build, SQLite and PostgreSQL: no difference that is not in the table of
//! known ones.
//!
//! Depth: 1,000 statements; deep: 200,000. `vlflab-differential run` for more (`tests/differential/README.md`).
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

/// The exit code of the harness where there is nobody to compare with.
const UNAVAILABLE: i32 = 77;

/// The server as these sources make it: built here, because a test of this package alone does not build it.
fn server() -> PathBuf {
    workbench::build_server();
    PathBuf::from(env!("CARGO_BIN_EXE_vlflab-differential")).with_file_name("vlflab")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn vlflab_answers_as_the_others_do() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("differential-{}", std::process::id()));
    let depth = workbench::depth("statements compared with other engines", 1_000, 200_000);
    let output = Command::new(env!("CARGO_BIN_EXE_vlflab-differential"))
        .args(["run", "--statements", &depth.units.to_string(), "--server"])
        .arg(server())
        .arg("--folder")
        .arg(&folder)
        .output()
        .unwrap();
    let told = told(&output);
    for line in told.lines().filter(|line| line.starts_with("skipped: ")) {
        println!("{line}");
    }
    if output.status.code() == Some(UNAVAILABLE) {
        return;
    }
    assert!(output.status.success(), "{told}");
    println!("{}", told.lines().last().unwrap());
    depth.count();
    std::fs::remove_dir_all(folder).unwrap();
}
