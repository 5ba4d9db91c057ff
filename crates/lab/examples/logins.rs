//! Logins: how long many of them take, or many sessions that stay and ask nothing.
//!
//! ```text
//! logins [--encrypt off|login|on|strict] PORT ...
//! logins PORT login CLIENTS COUNT    COUNT logins by CLIENTS threads, each on a connection of its own; prints {"seconds": s}
//! logins PORT hold COUNT             COUNT sessions, each of which has asked one thing; prints "held", ends with its input
//! ```
//! The password of sa comes from `MSSQL_SA_PASSWORD`.

mod support;

use lab::client::Connection;
use std::io::Read;
use std::time::Instant;
use support::Server;

fn main() {
    let (encrypt, arguments) = support::arguments();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = |port: &str| Server {
        port: port.parse().expect("PORT is a number"),
        database: String::new(),
        encrypt,
    };
    match words.as_slice() {
        [port, "login", clients, count] => log_in(&server(port), number(clients), number(count)),
        [port, "hold", count] => hold(&server(port), number(count)),
        _ => {
            eprintln!("usage: logins [--encrypt LEVEL] PORT login CLIENTS COUNT | PORT hold COUNT");
            std::process::exit(2);
        }
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

fn log_in(server: &Server, clients: usize, count: usize) {
    let begin = Instant::now();
    std::thread::scope(|threads| {
        for client in 0..clients {
            let own = count / clients + usize::from(client < count % clients);
            threads.spawn(move || (0..own).for_each(|_| drop(open(server))));
        }
    });
    println!("{{\"seconds\": {}}}", begin.elapsed().as_secs_f64());
}

fn open(server: &Server) -> Connection {
    server.open(support::PACKET_BYTES_DEFAULT)
}

fn hold(server: &Server, count: usize) {
    let mut sessions: Vec<Connection> = (0..count).map(|_| open(server)).collect();
    for session in &mut sessions {
        session
            .run("select db_name()", &mut |_| {})
            .expect("the server answers");
    }
    println!("held");
    // Until the input ends.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
