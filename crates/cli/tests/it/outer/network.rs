//! Bad input on the port: wrong passwords (18456), garbage, endless answers that are cancelled, batches of 100 MB. Each ends
//! its own connection or statement, and the server goes on.

use crate::outer::support::{Folder, PASSWORD, Random, Served, ask, value};
use lab::client::{ClientError, Connection, Event, Target};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const READ_WAIT_MAX: Duration = Duration::from_secs(20);

#[test]
fn a_wrong_password_is_refused_with_18456_and_the_right_one_still_works() {
    let mut served = Served::new("password");
    for (user, password) in [("sa", "wrong"), ("sa", ""), ("nobody", PASSWORD), ("", "")] {
        let mut target = served.target();
        (target.user, target.password) = (user.into(), password.into());
        match Connection::open(&target) {
            Err(ClientError::LoginFailed(message)) => {
                assert_eq!((message.number, message.severity), (18456, 14), "{message}");
                assert_eq!(message.text, format!("Login failed for user '{user}'."));
            }
            Err(other) => panic!("{user}: {other}"),
            Ok(_) => panic!("{user} was let in"),
        }
    }
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
    assert!(served.is_up());
}

/// Wrong logins side by side: sixty a second made the error log grow by gigabytes a day, and nothing but the hash slowed the guesses.
#[test]
fn guesses_are_slowed_and_leave_few_lines() {
    const GUESSERS: usize = 4;
    const GUESSES_EACH: usize = 4;
    let mut served = Served::new("guesses");
    let target = Target {
        password: "wrong".into(),
        ..served.target()
    };
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..GUESSERS {
            scope.spawn(|| {
                for _ in 0..GUESSES_EACH {
                    assert!(matches!(Connection::open(&target), Err(ClientError::LoginFailed(_))));
                }
            });
        }
    });
    // Ten at once, then one a second: those that waited, and those that would have waited too long, prove it.
    let took = begin.elapsed();
    let slowed = GUESSERS * GUESSES_EACH - 10;
    assert!(
        took >= Duration::from_secs(4),
        "{slowed} guesses too many took {took:?}"
    );
    let log = served.error_log();
    let told = log.matches("Login failed for user 'sa'").count();
    assert!((1..=4).contains(&told), "{told} lines:\n{log}");
    // Nobody is locked out: the right password waits its turn.
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
    served.shut_down();
    let log = served.error_log();
    assert!(log.contains("(This message was repeated "), "{log}");
}

/// Sends bytes and reads until the server closes; true if it did.
fn is_closed_after(port: u16, bytes: &[u8]) -> bool {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(READ_WAIT_MAX)).unwrap();
    // The server may hang up while the bytes are still on their way.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut buffer = [0; 4_096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn garbage_on_the_port_closes_that_connection_only() {
    let mut served = Served::new("garbage");
    let port = served.port();
    let mut bystander = served.connect();
    let mut random = Random::new(7);
    let mut samples: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        vec![0; 10_000],
        vec![0xFF; 10_000],
        vec![0x12, 0x01, 0xFF, 0xFF, 0, 0, 0, 0],
        vec![
            0x10, 0x01, 0x00, 0x10, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        ],
        vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03],
    ];
    for _ in 0..200 {
        let length = random.below(3_000) as usize;
        let mut sample: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if let (Some(first), 0) = (sample.first_mut(), random.below(2)) {
            *first = [0x01, 0x03, 0x06, 0x07, 0x0E, 0x10, 0x12][random.below(7) as usize];
        }
        samples.push(sample);
    }
    for sample in &samples {
        assert!(is_closed_after(port, sample), "still open after {sample:02x?}");
    }
    println!("garbage: {} connections closed", samples.len());
    assert_eq!(value(&mut bystander, "select 42"), "42");
    assert_eq!(value(&mut served.connect(), "select 1"), "1");
    assert!(served.is_up());
}

/// The client looked whether it was asked to stop only while it waited for bytes, so that nobody could stop an answer that flowed.
#[test]
fn an_answer_without_end_is_stopped_while_it_flows() {
    let served = Served::new("endless");
    let mut connection = served.connect();
    let (cancel, mut rows) = (AtomicBool::new(false), 0_u64);
    let endless = "select a.name from sys.all_columns a cross join sys.all_columns b cross join sys.all_columns c";
    let outcome = connection.run_cancellable(endless, &cancel, &mut |event| {
        rows += u64::from(matches!(event, Event::Row(_)));
        cancel.fetch_or(rows == 1, Ordering::SeqCst);
    });
    assert!(matches!(outcome, Err(ClientError::Interrupted)), "{outcome:?}");
    assert!(rows >= 1);
    assert_eq!(value(&mut connection, "select 42"), "42");
}

/// 701 no memory for it, 191 nested too deeply, 8631 out of stack space, 8623 no plan for so large a query, 102 no syntax.
const TOO_LARGE: [i32; 5] = [701, 191, 8631, 8623, 102];

#[test]
fn a_batch_of_100_mb_is_run_or_refused_and_harms_nobody() {
    let mut served = Served::unstarted(Folder::new("large-batch"));
    served.launch.max_server_memory_mb = Some(1_024);
    served.start();
    let mut bystander = served.connect();
    let mut connection = served.connect();
    // One literal of 50 million characters: 100 MB as UTF-16 on the wire, allowed by SQL Server (65,536 packets of 4 KB).
    let literal = format!(
        "select len(replicate('', 1)) + datalength('{}')",
        "x".repeat(50_000_000)
    );
    assert_eq!(value(&mut connection, &literal), "50000000");
    // An expression of 25 million terms: more than a query may be.
    let answer = ask(&mut connection, &format!("select 1{}", "+ 1 ".repeat(25_000_000)));
    assert!(answer.has_any(&TOO_LARGE), "{:?}", answer.errors.first());
    if answer.lost {
        connection = served.connect();
    }
    // Not T-SQL at all.
    let answer = ask(&mut connection, &"(".repeat(50_000_000));
    assert!(answer.has_any(&TOO_LARGE), "{:?}", answer.errors.first());
    if answer.lost {
        connection = served.connect();
    }
    assert_eq!(value(&mut connection, "select 1"), "1");
    assert_eq!(value(&mut bystander, "select 2"), "2");
    println!("100 MB batches: server's memory at most {} MB", served.memory_mb_max());
    assert!(served.is_up());
    // A server without the memory for it reads it to its end, keeps none of it and says so; the session goes on.
    let mut small = Served::new("small-batch");
    let mut connection = small.connect();
    assert_eq!(ask(&mut connection, &literal).numbers(), [701]);
    assert_eq!(value(&mut connection, "select 1"), "1");
    let most = small.memory_mb_max();
    assert!(most < 64 + 200, "{most} MB");
    assert!(small.is_up());
}
