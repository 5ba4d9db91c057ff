//! Output and exit codes of command lines that need no database.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

fn vlflab(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vlflab"));
    command.args(arguments).stdin(Stdio::null());
    command
        .env_remove("MSSQL_SA_PASSWORD")
        .env_remove("SQLCMDPASSWORD")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_names_every_subcommand_and_gives_examples() {
    let output = vlflab(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let help = text(&output.stdout);
    for part in [
        "run",
        "disks",
        "compare",
        "sql",
        "serve",
        "sample",
        "Exit codes",
        "vlflab run",
    ] {
        assert!(help.contains(part), "{part} in {help}");
    }
    for (subcommand, example) in [
        ("run", "vlflab run recovery --scale full"),
        ("sql", "vlflab sql -S localhost,1433"),
        ("serve", "--log-policy classic"),
    ] {
        let output = vlflab(&[subcommand, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains(example), "{example}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_a_remedy() {
    for (arguments, remedy) in [
        (&["run", "recvery"][..], "Did you mean recovery?"),
        (&["run", "recovery", "--scale", "huge"], "there are full, quick"),
        (&["run", "recovery", "--only", "ugly"], "bad-classic"),
        (&["run", "/nonexistent/mine.toml"], "cannot read /nonexistent/mine.toml"),
        (&["run", "--runs", "0"], "--runs"),
        (&["run", "recovery", "--disk", "hdd-7200-2007"], "hdd-7200-2006"),
        (&["run", "oltp", "--without-processor-time"], "--disk"),
        (&["disks", "floppy"], "hdd-7200-2006"),
        (&["serve", "--sql-version", "1999"], "2022"),
        (&["serve", "--log-policy", "quick"], "native"),
        (&["sql", "-S", "host,many"], "write HOST,PORT"),
        (&["sql", "-v", "novalue", "-Q", "select 1"], "NAME=VALUE"),
        (&["frobnicate"], "frobnicate"),
        (&[], "Usage"),
    ] {
        let output = vlflab(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(remedy), "{arguments:?}: {said}");
    }
}

#[test]
fn nobody_at_the_port_ends_with_3_in_one_sentence() {
    // Port 9 (discard) is served by nobody on a test machine; the address is this machine's own.
    let output = vlflab(&["sql", "-S", "127.0.0.1,9", "-P", "x", "-Q", "select 1"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    assert!(
        said.contains("cannot connect to 127.0.0.1:9") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_script_that_is_not_there_is_named() {
    let output = vlflab(&["sql", "-i", "/nonexistent/script.sql"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("/nonexistent/script.sql"));
}
