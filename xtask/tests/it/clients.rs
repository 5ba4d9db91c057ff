//! The runner of the real clients: an unknown check fails, before any server is started.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

/// A misspelt name ran no check, and as none had failed the runner said that all was well.
#[test]
fn a_check_that_there_is_not_fails_and_those_near_it_are_named() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    let runner = Path::new(&folder).parent().unwrap().join("tests/clients/run.py");
    let run = |names: &[&str]| Command::new("python3").arg("-B").arg(&runner).args(names).output();
    let Ok(outcome) = run(&["dml", "dml by FreeTDS"]) else {
        eprintln!("there is no python3");
        return;
    };
    assert_eq!(outcome.status.code(), Some(1));
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert!(
        said.starts_with("FAIL dml by FreeTDS: ") && said.contains("dml"),
        "{said}"
    );
    let said = String::from_utf8(run(&["tedius"]).unwrap().stderr).unwrap();
    assert!(said.contains("tedious") && !said.contains("jTDS"), "{said}");
}
