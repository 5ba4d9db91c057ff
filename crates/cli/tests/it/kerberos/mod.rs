//! Windows logins (-E), against a real KDC: the tokens that a server gets, mutual authentication, and the errors without a library, a
//! ticket, a matching service or a reachable KDC.

mod gate;
mod realm;

use crate::advise::{PROGRAM, Serving};
use gate::Manner;
use realm::Realm;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A place for a server, and a realm that has it as its service.
fn place(name: &str) -> Option<(TcpListener, u16, Realm)> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let realm = Realm::start(name, &format!("MSSQLSvc/localhost:{port}"))?;
    Some((listener, port, realm))
}

fn run(realm: &Realm, arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).envs(realm.environment());
    command.envs(environment.iter().copied()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A login to our server, whose socket the gate takes over.
fn behind(server: &Serving) -> TcpStream {
    let (stream, tls) = server.connection().into_parts().unwrap();
    assert!(tls.is_none());
    stream
}

/// Runs the program while the gate takes its login; who came, where one did.
fn through_gate(
    (listener, port, realm): &(TcpListener, u16, Realm),
    manner: Manner,
    socket: Option<TcpStream>,
    arguments: &[&str],
) -> (Option<String>, Output) {
    thread::scope(|scope| {
        let gate = scope.spawn(|| gate::take(listener, manner, &realm.keytab(), socket));
        let output = run(realm, arguments, &[]);
        // A gate to which nobody came waits no longer.
        let _ = TcpStream::connect(("127.0.0.1", *port));
        (gate.join().ok(), output)
    })
}

fn logs_in(name: &str, manner: Manner) {
    let Some(place) = place(name) else {
        return;
    };
    let server = Serving::start(name, &[]);
    let address = format!("localhost,{}", place.1);
    let query = ["sql", "-E", "-S", &address, "-h", "-1", "-Q", "select 40 + 2"];
    let (who, output) = through_gate(&place, manner, Some(behind(&server)), &query);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(who, Some(Realm::user()));
    assert!(text(&output).contains("42"), "{}", text(&output));
}

/// The answers to what follows are those of our server.
#[test]
fn a_ticket_logs_in_where_the_server_proves_itself_at_once() {
    logs_in("at-once", Manner::AtOnce);
}

#[test]
fn a_ticket_logs_in_where_the_server_wants_an_answer_to_its_proof() {
    logs_in("two-legs", Manner::InTwoLegs);
}

/// The inventory's own word, and a snapshot taken through that login.
#[test]
fn an_inventory_reads_servers_by_their_tickets() {
    let Some(place) = place("inventory") else {
        return;
    };
    let (port, realm) = (place.1, &place.2);
    let server = Serving::start("kerberos-inventory", &[]);
    let inventory = realm.folder().join("servers.txt");
    let line = format!("localhost,{port} auth=kerberos spn=MSSQLSvc/localhost:{port}\n");
    fs::write(&inventory, line).unwrap();
    let advise = ["advise", "--inventory", inventory.to_str().unwrap()];
    let (who, output) = through_gate(&place, Manner::InTwoLegs, Some(behind(&server)), &advise);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(who, Some(Realm::user()));
    assert!(text(&output).contains("4 databases on 1 server"), "{}", text(&output));
}

/// Before the run is agreed to, the server has been asked what it is, through that login.
#[test]
fn an_experiment_on_a_target_logs_in_by_a_ticket() {
    let Some(place) = place("target") else {
        return;
    };
    let server = Serving::start("kerberos-target", &["--sql-version", "2012"]);
    let (address, named) = (
        format!("mssql://localhost:{}", place.1),
        format!("mssql://sa@localhost:{}", place.1),
    );
    let target = ["run", "recovery", "-E", "--target", &address];
    let (who, output) = through_gate(&place, Manner::InTwoLegs, Some(behind(&server)), &target);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("say --yes to agree to that"),
        "{}",
        text(&output)
    );
    assert!(text(&output).contains("11.0."), "what it is: {}", text(&output));
    assert_eq!(who, Some(Realm::user()));
    // A login beside the ticket is refused, and nobody is asked.
    let output = run(&place.2, &["run", "recovery", "-E", "--target", &named], &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("leave out sa@"), "{}", text(&output));
}

/// Every connection of a whole experiment is opened by the ticket: the databases are made, broken and recovered on that server, its rules are
/// read there, and nothing is left behind.
#[test]
fn a_whole_experiment_runs_on_a_target_by_a_ticket() {
    let Some((listener, port, realm)) = place("experiment") else {
        return;
    };
    let server = Serving::start("kerberos-experiment", &["--sql-version", "2012"]);
    let (address, out) = (format!("mssql://localhost:{port}"), realm.folder().join("out"));
    let arguments = [
        "run",
        "recovery",
        "--scale",
        "tiny",
        "-E",
        "--yes",
        "--target",
        &address,
        "--out",
        out.to_str().unwrap(),
    ];
    let is_over = AtomicBool::new(false);
    let (who, output) = thread::scope(|scope| {
        let gate = scope.spawn(|| gate::take_all(&listener, &realm.keytab(), || behind(&server), &is_over));
        let output = run(&realm, &arguments, &[]);
        is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", port));
        (gate.join().unwrap(), output)
    });
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        who.len() > 1 && who.iter().all(|each| *each == Realm::user()),
        "{who:?}"
    );
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["target"]["rules_of"], "2012", "{}", results["target"]);
    let databases = server
        .connection()
        .rows("select name from sys.databases where database_id > 4");
    assert_eq!(databases.unwrap().len(), 0);
}

/// A call of a tool is a child that logs in with the same ticket.
#[test]
fn the_tools_of_mcp_log_in_by_a_ticket() {
    let Some(place) = place("mcp") else {
        return;
    };
    let server = Serving::start("kerberos-mcp", &[]);
    let call = |id: u8, arguments: String| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"advise","arguments":{arguments}}}}}"#
        )
    };
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    let address = format!("localhost,{}", place.1);
    let input = place.2.folder().join("messages.jsonl");
    let spoken = |arguments: String| {
        fs::write(&input, format!("{hello}\n{}\n", call(2, arguments))).unwrap();
        fs::File::open(&input).unwrap()
    };
    let asked = spoken(format!(r#"{{"server":"{address}","all":true}}"#));
    let (who, output) = thread::scope(|scope| {
        let (listener, port, realm) = &place;
        let socket = behind(&server);
        let gate = scope.spawn(|| gate::take(listener, Manner::InTwoLegs, &realm.keytab(), Some(socket)));
        let mut command = Command::new(PROGRAM);
        let output = command
            .args(["mcp", "-E"])
            .envs(realm.environment())
            .stdin(asked)
            .output()
            .unwrap();
        let _ = TcpStream::connect(("127.0.0.1", *port));
        (gate.join().ok(), output)
    });
    assert!(text(&output).contains("databases on 1 server"), "{}", text(&output));
    assert_eq!(who, Some(Realm::user()));
    // A request cannot bring a login of its own beside the ticket.
    let asked = spoken(format!(r#"{{"server":"{address}","login":"sa"}}"#));
    let mut command = Command::new(PROGRAM);
    let output = command
        .args(["mcp", "-E"])
        .envs(place.2.environment())
        .stdin(asked)
        .output()
        .unwrap();
    assert!(text(&output).contains(r#""isError":true"#), "{}", text(&output));
    assert!(text(&output).contains("--windows-login"), "{}", text(&output));
}

/// Another program in the place of the server cannot prove to be it.
#[test]
fn a_server_that_does_not_prove_itself_is_left() {
    let Some(place) = place("proof") else {
        return;
    };
    let address = format!("localhost,{}", place.1);
    let query = ["sql", "-E", "-S", &address, "-Q", "select 1"];
    let (_, output) = through_gate(&place, Manner::WithoutProof, None, &query);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(
        text(&output).contains("without authenticating itself"),
        "{}",
        text(&output)
    );
}

/// Each is one sentence with its remedy, and none of them asks the server anything.
#[test]
fn what_is_missing_for_a_windows_login_is_said() {
    let Some((_listener, port, realm)) = place("missing") else {
        return;
    };
    let address = format!("localhost,{port}");
    let login = ["sql", "-E", "-S", &address, "-l", "1", "-Q", "select 1"];
    let says = |output: &Output, words: &[&str]| {
        assert_eq!(output.status.code(), Some(3), "{}", text(output));
        for word in words {
            assert!(text(output).contains(word), "{word}: {}", text(output));
        }
    };
    let nowhere = realm.folder().join("no-tickets");
    says(
        &run(&realm, &login, &[("KRB5CCNAME", &nowhere)]),
        &["no Kerberos ticket", "kinit"],
    );

    let empty = realm.folder().join("no-library");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("libgssapi_krb5.so.2"), "not a library").unwrap();
    let output = run(&realm, &login, &[("LD_LIBRARY_PATH", &empty)]);
    says(&output, &["libgssapi_krb5.so.2", "apt-get install libgssapi-krb5-2"]);

    let spn = [&login[..], &["--spn", "MSSQLSvc/other:1"]].concat();
    says(
        &run(&realm, &spn, &[]),
        &["MSSQLSvc/other:1", "not found in Kerberos database"],
    );

    // It takes connections, and never reads from one.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = realm.configure("silent.conf", silent.local_addr().unwrap().port());
    let output = run(&realm, &login, &[("KRB5_CONFIG", &elsewhere)]);
    says(&output, &["no Kerberos server answered within 1 s"]);
}
