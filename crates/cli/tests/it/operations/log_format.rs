//! `vlflab serve --log-format json`: every line is a JSON object, and the lines that scripts wait for are among them.

use crate::operations::support::{Folder, Serving, serve, serve_new};
use serde_json::Value;
use std::net::TcpListener;

/// The objects that these lines are; none may be anything else.
fn objects(lines: &[String]) -> Vec<Value> {
    let object = |line: &String| -> Value {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        for key in ["time", "level", "source", "message"] {
            assert!(object[key].is_string(), "{line} has no {key}");
        }
        let time = object["time"].as_str().unwrap();
        assert!(
            time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T',
            "{line}"
        );
        object
    };
    lines.iter().map(object).collect()
}

fn with<'a>(objects: &'a [Value], key: &str, value: &str) -> &'a Value {
    let found = objects.iter().find(|object| object[key] == value);
    found.unwrap_or_else(|| panic!("nothing has {key} {value}: {objects:#?}"))
}

#[test]
fn every_line_of_a_servers_life_is_an_object() {
    let folder = Folder::new("log-format");
    let mut command = serve_new(&folder.0);
    command.args(["--log-format", "json", "--metrics", "0"]);
    // A made-up password is one of the things it says.
    command.env_remove("MSSQL_SA_PASSWORD");
    let mut serving = Serving::start(&mut command);
    let said = objects(&serving.said);
    let password = with(&said, "event", "password")["password"]
        .as_str()
        .unwrap()
        .to_owned();
    let ready = with(&said, "event", "ready");
    let (host, port) = serving.address.split_once(',').unwrap();
    assert_eq!(ready["host"], host);
    assert_eq!(ready["port"].to_string(), port);
    assert_eq!(ready["certificate_sha256"].as_str().map(str::len), Some(64), "{ready}");
    assert!(ready["metrics"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    let recovered = "Recovery is complete. This is an informational message only. No user action is required.";
    assert_eq!(with(&said, "message", recovered)["level"], "info");

    assert!(!serving.sql_as("wrong", "select 1").status.success());
    let raised = serving.sql_as(&password, "raiserror('two\nlines', 20, 7) with log");
    assert!(!raised.status.success());
    serving.signal("TERM");
    assert!(serving.wait().success());
    let said = objects(&serving.said);
    let refused = said
        .iter()
        .find(|object| object["error"] == 18456)
        .expect("a refused login");
    assert_eq!(
        (&refused["level"], &refused["source"]),
        (&"warning".into(), &"Logon".into())
    );
    assert_eq!((&refused["severity"], &refused["state"]), (&14.into(), &8.into()));
    let raised = said
        .iter()
        .find(|object| object["error"] == 50000)
        .expect("what RAISERROR logged");
    assert_eq!(
        (&raised["level"], &raised["severity"], &raised["state"]),
        (&"error".into(), &20.into(), &7.into())
    );
    assert_eq!(raised["message"], "two\nlines");
    assert!(
        said.iter()
            .all(|object| !object["message"].as_str().unwrap().starts_with("Error: ")),
        "an error's numbers are in its own object"
    );
}

#[test]
fn a_start_that_fails_says_why_in_an_object() {
    let folder = Folder::new("log-format-failed");
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = serve(&folder.0)
        .args(["--log-format", "json", "--metrics", &address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let lines: Vec<String> = String::from_utf8(output.stderr)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    let said = objects(&lines);
    let failed = with(&said, "event", "failed");
    assert_eq!((&failed["level"], &failed["exit_code"]), (&"error".into(), &1.into()));
    assert!(failed["message"].as_str().unwrap().contains("--metrics"), "{failed}");
}
