//! Estates: servers of a central management server, history and its trends, and rows of where no connection comes about.

use crate::advise::{PASSWORD, PROGRAM, Serving, run};
use std::fs;
use std::process::{Command, Output};

fn advise(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("advise").args(arguments).env("MSSQL_PASSWORD", PASSWORD);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The tables are those of msdb since SQL Server 2008; our server has them once they are made.
#[test]
fn a_central_management_server_is_an_inventory() {
    let server = Serving::start("registered", &[]);
    let mut writer = server.connection();
    let none = advise(&["--registered-at", &server.address()]);
    assert_eq!(none.status.code(), Some(1), "{}", text(&none));
    let groups =
        "create table msdb.dbo.sysmanagement_shared_server_groups_internal (server_group_id int, name nvarchar(128))";
    let servers = "create table msdb.dbo.sysmanagement_shared_registered_servers_internal \
                   (server_id int, server_group_id int, name nvarchar(128), server_name nvarchar(128))";
    run(&mut writer, groups);
    run(&mut writer, servers);
    run(
        &mut writer,
        "insert msdb.dbo.sysmanagement_shared_server_groups_internal values (1, N'sales'), (2, N'other')",
    );
    let registered = format!(
        "insert msdb.dbo.sysmanagement_shared_registered_servers_internal values (1, 1, N'here', N'{}'), (2, 2, N'gone', N'127.0.0.1,1')",
        server.address()
    );
    run(&mut writer, &registered);
    let output = advise(&["--registered-at", &server.address(), "--group", "sales"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("4 databases on 1 server"), "{}", text(&output));
    let output = advise(&["--registered-at", &server.address()]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output));
    assert!(text(&output).contains("127.0.0.1,1: not reached"), "{}", text(&output));
    assert_eq!(
        advise(&["-S", &server.address(), "--group", "x"]).status.code(),
        Some(2)
    );
}

/// With the feature `history` two passes are a trend; a build without it says what is missing.
#[test]
fn passes_are_kept_and_become_trends() {
    let server = Serving::start("kept", &[]);
    let folder = server.folder.join("history");
    let folder = folder.to_str().unwrap();
    let output = advise(&["-S", &server.address(), "--history", folder]);
    if !cfg!(feature = "history") {
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains("--features history"), "{}", text(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let again = advise(&["-S", &server.address(), "--history", folder]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    assert_eq!(fs::read_dir(server.folder.join("history/logs")).unwrap().count(), 2);
    let trends = advise(&["--trends", folder, "--format", "csv"]);
    assert_eq!(trends.status.code(), Some(0), "{}", text(&trends));
    assert!(
        text(&trends).starts_with("server,database,file_id,passes,days,"),
        "{}",
        text(&trends)
    );
    assert_eq!(
        advise(&["--trends", folder, "--format", "junit"]).status.code(),
        Some(2)
    );
    assert_eq!(advise(&["--trends", "/nowhere"]).status.code(), Some(1));
}

/// The script for servers that cannot be connected to, run by our own client; its output is what `--from` reads.
#[test]
fn the_script_for_servers_out_of_reach_prints_what_from_reads() {
    let server = Serving::start("script", &["--sql-version", "2012"]);
    run(&mut server.connection(), "create database [it's a [b]]ase]");
    let script = server.folder.join("script.sql");
    fs::write(&script, advise(&["--paste-script"]).stdout).unwrap();
    let mut command = Command::new(PROGRAM);
    command
        .args(["sql", "-S", &server.address(), "-W", "-s", "|", "-i"])
        .arg(&script);
    let printed = command.env("SQLCMDPASSWORD", PASSWORD).output().unwrap();
    assert!(printed.status.success(), "{}", text(&printed));
    let rows = server.folder.join("rows.txt");
    fs::write(&rows, &printed.stdout).unwrap();
    let output = advise(&["--from", rows.to_str().unwrap(), "--sql-version", "2012"]);
    let read = text(&output);
    assert_eq!(output.status.code(), Some(0), "{read}\n{}", text(&printed));
    for name in ["master", "tempdb", "it's a [b]ase"] {
        assert!(
            read.lines().any(|line| line.trim_start().starts_with(name)),
            "{name}: {read}"
        );
    }
}
