//! Logins: how long many of them take, or many sessions that stay and ask nothing.
//!
//! ```text
//! logins PORT login CLIENTS COUNT    COUNT logins by CLIENTS threads, each on a connection of its own; prints {"seconds": s}
//! logins PORT hold COUNT             COUNT sessions, each of which has asked one thing; prints "held", ends with its input
//! ```
//! The password of sa comes from `MSSQL_SA_PASSWORD`.

use lab::client::{Connection, LOGIN_TIMEOUT, Security, Target};
use std::io::Read;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [port, "login", clients, count] => log_in(&target(port), number(clients), number(count)),
        [port, "hold", count] => hold(&target(port), number(count)),
        _ => {
            eprintln!("usage: logins PORT login CLIENTS COUNT | logins PORT hold COUNT");
            std::process::exit(2);
        }
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn target(port: &str) -> Target {
    Target {
        host: "127.0.0.1".into(),
        port: port.parse().expect("PORT is a number"),
        user: "sa".into(),
        password: std::env::var("MSSQL_SA_PASSWORD").expect("MSSQL_SA_PASSWORD is set"),
        database: None,
        timeout: LOGIN_TIMEOUT,
        security: Security::none(),
    }
}

fn log_in(target: &Target, clients: usize, count: usize) {
    let begin = Instant::now();
    std::thread::scope(|threads| {
        for client in 0..clients {
            let own = count / clients + usize::from(client < count % clients);
            threads.spawn(move || (0..own).for_each(|_| drop(open(target))));
        }
    });
    println!("{{\"seconds\": {}}}", begin.elapsed().as_secs_f64());
}

fn open(target: &Target) -> Connection {
    Connection::open(target).expect("the server lets sa in")
}

fn hold(target: &Target, count: usize) {
    let mut sessions: Vec<Connection> = (0..count).map(|_| open(target)).collect();
    for session in &mut sessions {
        session
            .run("select db_name()", &mut |_| {})
            .expect("the server answers");
    }
    println!("held");
    // Until the input ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
