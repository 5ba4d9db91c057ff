//! The program by the names `sqlservr` and `sqlcmd`, as the image that stands in for SQL Server's has it: variables, SQL Server's lines, exit
//! codes.

use crate::operations::support::{Folder, PASSWORD, PROGRAM, Serving, said};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program by another name.
fn named(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    symlink(PROGRAM, &path).unwrap();
    path
}

/// `sqlservr` in memory on a port of its own, with the environment that the image has and nothing of the machine's.
fn sqlservr(path: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(path);
    command.args(["--in-memory", "--bind", "127.0.0.1", "--max-server-memory", "64"]);
    command.env_clear().envs(variables.iter().copied()).stdin(Stdio::null());
    command
}

#[test]
fn a_server_by_sql_servers_name_obeys_its_variables_and_says_its_lines() {
    let folder = Folder::new("sqlservr");
    let path = named(&folder.0, "sqlservr");
    let variables = [
        ("SA_PASSWORD", PASSWORD),
        ("ACCEPT_EULA", "Y"),
        ("MSSQL_TCP_PORT", "0"),
        ("MSSQL_COLLATION", "sql_latin1_general_cp1_ci_as"),
    ];
    let mut serving = Serving::start(&mut sqlservr(&path, &variables));
    assert_eq!(serving.sql("set nocount on select 1").trim(), "1");
    serving.signal("TERM");
    assert!(serving.wait().success());
    let lines = serving.said.join("\n");
    for line in [
        "Recovery is complete. This is an informational message only.",
        "SQL Server is now ready for client connections.",
    ] {
        assert!(lines.contains(line), "{line} in {lines}");
    }
}

#[test]
fn what_cannot_be_obeyed_ends_the_start_with_code_1() {
    let folder = Folder::new("sqlservr-refused");
    let path = named(&folder.0, "sqlservr");
    let refused = |variables: &[(&str, &str)]| {
        let output = sqlservr(&path, variables).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    };
    let password = ("MSSQL_SA_PASSWORD", PASSWORD);
    assert!(refused(&[("ACCEPT_EULA", "Y")]).contains("MSSQL_SA_PASSWORD is not set"));
    assert!(refused(&[password, ("MSSQL_AGENT_ENABLED", "true")]).contains("there is no SQL Server Agent"));
    assert!(refused(&[password, ("MSSQL_DATA_DIR", "/data")]).contains("MSSQL_DATA_DIR=/data"));
    assert!(refused(&[password, ("MSSQL_TCP_PORT", "many")]).contains("many"));
    assert!(refused(&[("MSSQL_SA_PASSWORD", "weak")]).contains("MSSQL_SA_PASSWORD"));
}

#[test]
fn sqlcmd_has_its_own_exit_codes_and_needs_no_server_named() {
    let folder = Folder::new("sqlcmd");
    let serving = Serving::start(&mut sqlservr(
        &named(&folder.0, "sqlservr"),
        &[("MSSQL_SA_PASSWORD", PASSWORD), ("MSSQL_TCP_PORT", "0")],
    ));
    let sqlcmd = named(&folder.0, "sqlcmd");
    let run = |arguments: &[&str]| -> Output {
        let mut command = Command::new(&sqlcmd);
        command
            .args(arguments)
            .env_clear()
            .env("SQLCMDUSER", "sa")
            .env("SQLCMDPASSWORD", PASSWORD);
        command.stdin(Stdio::null()).current_dir(&folder.0).output().unwrap()
    };
    let server = ["-S", &serving.address, "-C"];
    let with = |more: &[&str]| run(&[&server[..], more].concat());
    let output = with(&["-Q", "SELECT 1;"]);
    assert!(
        output.status.success() && said(&output).contains('1'),
        "{}",
        said(&output)
    );
    for (more, code) in [
        (&["-Q", "select * from nowhere"][..], 0),
        (&["-b", "-Q", "select * from nowhere"], 1),
        (&["-V", "16", "-Q", "select * from nowhere"], 16),
        (&["-Q", "exit(select 7)"], 7),
        (&["-P", "wrong", "-Q", "select 1"], 1),
        (&["--no-such-letter"], 1),
        (&["-E"], 1),
        (&["-?"], 0),
    ] {
        let output = with(more);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {}", said(&output));
    }
    // Without -S it is this machine's server, and no folder is made.
    let output = run(&["-S", "127.0.0.1,1", "-l", "1", "-Q", "select 1"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let output = run(&["-l", "1", "-C", "-Q", "select 1"]);
    assert!(
        !said(&output).contains("vlflab-data") && !folder.0.join("vlflab-data").exists(),
        "{}",
        said(&output)
    );
}
