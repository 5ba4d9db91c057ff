//! `cargo run` in a checkout runs the program, as README says.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// `cargo run --release -- run` failed, "could not determine which binary to run", as the workspace has the binaries of its tools too.
#[test]
fn cargo_run_in_a_checkout_runs_the_program() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let root = Path::new(&folder).parent().unwrap();
    let asked = Command::new(std::env::var("CARGO").unwrap())
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let told = String::from_utf8(asked.stdout).unwrap();
    let (_, rest) = told.split_once("\"workspace_default_members\":[").unwrap();
    let members: Vec<&str> = rest.split(']').next().unwrap().split(',').collect();
    assert_eq!(members.len(), 1, "{members:?}");
    assert!(members[0].contains("/crates/cli#vlflab@"), "{members:?}");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(
        readme.contains("cargo run --release -- run"),
        "README has another first command"
    );
}
