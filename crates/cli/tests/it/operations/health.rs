//! `vlflab health`: exit code 0 and one line if a server answers, 1 and the reason if none does.

use crate::operations::support::{Folder, Serving, said, serve, vlflab};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Output;

/// The code, and the one line that was said.
fn outcome(output: &Output) -> (Option<i32>, String) {
    let text = said(output);
    assert_eq!(text.lines().count(), 1, "{text:?}");
    (output.status.code(), text.trim_end().to_owned())
}

fn health(server: &str) -> (Option<i32>, String) {
    outcome(&vlflab(&["health", "--server", server, "--timeout", "1"]))
}

/// Every demand of encryption is greeted alike, and a probe leaves nothing in the error log.
#[test]
fn a_server_that_serves_is_healthy_whatever_it_demands() {
    for demand in ["off", "on", "required", "strict"] {
        let folder = Folder::new(&format!("health-{demand}"));
        let serving = Serving::start(serve(&folder.0).args(["--encrypt", demand]));
        let healthy = format!("healthy: {} answers as version 16.0.1000.0", serving.address);
        assert_eq!(health(&serving.address), (Some(0), healthy), "{demand}");
        let log = std::fs::read_to_string(folder.0.join("log/ERRORLOG")).unwrap();
        assert!(!log.contains("Logon") && !log.contains("Error: "), "{log}");
    }
}

/// PRELOGIN reported build 1000 under every version, and statements on the same server another one.
#[test]
fn every_version_tells_one_build_before_and_after_the_login() {
    for version in ["2005", "2008 R2", "2016", "2019", "2025"] {
        let folder = Folder::new(&format!("build-{}", version.replace(' ', "")));
        let serving = Serving::start(serve(&folder.0).args(["--sql-version", version]));
        let told = serving.sql("set nocount on select serverproperty('productversion')");
        let build = told
            .lines()
            .find(|line| line.ends_with(".0"))
            .unwrap()
            .trim()
            .to_owned();
        let healthy = format!("healthy: {} answers as version {build}", serving.address);
        assert_eq!(health(&serving.address), (Some(0), healthy), "{version}");
        let text = serving.sql("set nocount on select @@version");
        assert!(text.contains(&format!(" - {build} (X64)")), "{version}: {text}");
    }
}

/// Nobody connects to 0.0.0.0: the line that people copy from names the machine, in the form that programs read.
#[test]
fn a_server_on_every_address_names_its_machine() {
    let folder = Folder::new("every-address");
    let serving = Serving::start(serve(&folder.0).args(["--bind", "0.0.0.0"]));
    let line = serving.said.last().unwrap();
    let (host, port) = serving.address.rsplit_once(',').unwrap();
    assert!(
        port.parse::<u16>().is_ok() && !host.is_empty() && host != "0.0.0.0",
        "{line}"
    );
    assert!(line.starts_with(&format!("ready: Server={host},{port};")), "{line}");
    assert!(line.contains(&format!("sqlcmd -S {host},{port} -U sa")), "{line}");
}

#[test]
fn nobody_silence_and_nonsense_are_not_healthy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = format!("127.0.0.1,{port}");
    // The system takes the connection, and nobody comes for it: a server that opens its databases.
    let (code, line) = health(&server);
    assert_eq!(code, Some(1));
    assert!(
        line.contains(&server) && line.contains("does not answer within 1 s"),
        "{line}"
    );
    let nonsense = std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream: TcpStream = stream.unwrap();
            // The first one is the connection given up above. A client that has seen enough hangs up.
            let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
        }
    });
    let (code, line) = health(&server);
    assert_eq!(code, Some(1));
    assert!(
        line.starts_with("vlflab: unhealthy: ") && line.contains("is it a SQL Server?"),
        "{line}"
    );
    nonsense.join().unwrap();
    let (code, line) = health(&server);
    assert_eq!(code, Some(1));
    assert!(line.contains("no server listens there"), "{line}");
    assert_eq!(vlflab(&["health", "--server", "db,x"]).status.code(), Some(2));
}
