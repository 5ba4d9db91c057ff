//! SIGTERM during joins, CREATE INDEX, BACKUP, commits, rollbacks and undo: the process ends at once, the next start
//! recovers, and exactly what was acknowledged is there.
//!
//! Depth: each case once, over 100,000 rows; deep: 1,000,000.

use crate::outer::support::{Served, ask, assert_sound, run, value};
use lab::client::Connection;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A loaded machine included; what it took is printed.
const ENDED_MAX: Duration = Duration::from_secs(8);
const BEGUN_MAX: Duration = Duration::from_secs(60);

/// Rows of the large table.
fn row_count() -> u64 {
    workbench::depth("rows of the table of signals", 100_000, 1_000_000).units
}

/// A server with a large table, and its sum.
fn prepared(name: &str) -> (Served, String) {
    let served = Served::new(name);
    let mut connection = served.connect();
    run(&mut connection, "create database large");
    run(
        &mut connection,
        "alter database large set recovery simple use large create table n (id int not null)",
    );
    run(
        &mut connection,
        "declare @i int = 0 begin tran while @i < 1000 begin insert n values (@i) set @i = @i + 1 end commit",
    );
    run(
        &mut connection,
        &format!(
            "create table m (id int not null primary key, v int not null, f varchar(100) not null)
             insert m select top ({}) a.id * 1000 + b.id, b.id, replicate('x', 80) from n a cross join n b",
            row_count()
        ),
    );
    run(&mut connection, "checkpoint");
    let sum = sum(&mut connection);
    (served, sum)
}

fn sum(connection: &mut Connection) -> String {
    value(connection, "select sum(cast(v as bigint)) + count(*) from large.dbo.m")
}

/// Leaves a transaction open whose rollback takes much longer than the moment in which sessions may end by themselves.
fn change_much(connection: &mut Connection) {
    run(
        connection,
        "use large begin tran declare @i int = 0 while @i < 6 begin update m set v = v + 1 set @i = @i + 1 end",
    );
}

/// Sends the signal, waits for the end, starts again and looks whether everything is there.
fn end_and_recover(mut served: Served, what: &str, expected: &str) -> Served {
    assert!(served.is_up(), "{what}");
    served.terminate();
    let took = served.wait_for_end();
    println!("{what}: ended after {took:?}");
    assert!(took < ENDED_MAX, "{what}: {took:?}");
    served.start();
    let mut connection = served.connect();
    assert_eq!(sum(&mut connection), expected, "{what}");
    assert_sound(&mut connection, "large");
    served
}

/// A batch under way on a connection of its own, which ends with the server.
fn leave_running(served: &Served, batch: &str) -> std::thread::JoinHandle<()> {
    let mut connection = served.connect();
    let mut observer = served.connect();
    let session = value(&mut connection, "select @@spid");
    let text = format!("use large {batch}");
    let runner = std::thread::spawn(move || drop(ask(&mut connection, &text)));
    let query = format!("select count(*) from sys.dm_exec_requests where session_id = {session}");
    let begin = Instant::now();
    while value(&mut observer, &query) == "0" {
        assert!(
            begin.elapsed() < BEGUN_MAX && !runner.is_finished(),
            "{batch}: it does not run"
        );
    }
    runner
}

fn ends_while(what: &str, batch: &str) {
    let (served, sum) = prepared(&format!("stop-{}", what.replace(' ', "-")));
    let runner = leave_running(&served, batch);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!runner.is_finished(), "{what}: it was over before the signal came");
    end_and_recover(served, what, &sum);
    runner.join().unwrap();
}

#[test]
fn a_signal_ends_the_server_during_a_hash_join() {
    let join = "select count(*) from (select a.id * b.id as x from n a cross join n b cross join n c) l join (select -v - 1 as x from m) r on l.x = r.x";
    ends_while("hash join", join);
}

#[test]
fn a_signal_ends_the_server_during_create_index() {
    ends_while(
        "create index",
        "while 1 = 1 begin create index i on m (v, f) drop index i on m end",
    );
}

#[test]
fn a_signal_ends_the_server_during_a_backup() {
    ends_while(
        "backup",
        "while 1 = 1 backup database large to disk = 'large.bak' with init",
    );
}

#[test]
fn a_signal_ends_the_server_with_a_client_that_does_not_read() {
    let (served, sum) = prepared("stop-deaf");
    let mut connection = served.connect();
    let session = value(&mut connection, "select @@spid");
    connection
        .start("select a.id, b.id, c.id from large.dbo.n a cross join large.dbo.n b cross join large.dbo.n c")
        .unwrap();
    let mut observer = served.connect();
    let query = format!("select count(*) from sys.dm_exec_requests where session_id = {session}");
    while value(&mut observer, &query) == "0" {}
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(value(&mut observer, &query), "1");
    end_and_recover(served, "client that does not read", &sum);
}

/// The rollback of a large transaction was waited for: 25 s after SIGTERM the server was still there.
#[test]
fn a_signal_leaves_an_open_transaction_to_recovery() {
    let (served, sum) = prepared("stop-open-transaction");
    let mut connection = served.connect();
    change_much(&mut connection);
    let served = end_and_recover(served, "open transaction", &sum);
    // It is undone in the background, after the database was opened.
    let begin = Instant::now();
    while !served
        .error_log()
        .contains("1 transactions rolled back in database 'large'")
    {
        assert!(begin.elapsed() < BEGUN_MAX, "not rolled back: {}", served.error_log());
    }
}

#[test]
fn a_signal_leaves_a_rollback_under_way_to_recovery() {
    let (served, sum) = prepared("stop-rollback");
    let mut connection = served.connect();
    change_much(&mut connection);
    let mut observer = served.connect();
    let runner = std::thread::spawn(move || drop(ask(&mut connection, "rollback")));
    let rolling_back = "select count(*) from sys.dm_exec_requests where percent_complete > 0";
    let begin = Instant::now();
    while value(&mut observer, rolling_back) == "0" {
        assert!(
            begin.elapsed() < BEGUN_MAX && !runner.is_finished(),
            "no rollback is seen"
        );
    }
    let served = end_and_recover(served, "rollback under way", &sum);
    runner.join().unwrap();
    // It is undone in the background, after the database was opened.
    let begin = Instant::now();
    while !served
        .error_log()
        .contains("1 transactions rolled back in database 'large'")
    {
        assert!(begin.elapsed() < BEGUN_MAX, "not rolled back: {}", served.error_log());
    }
}

/// Undo in the background of the start before is cut off as well.
#[test]
fn a_signal_ends_the_server_while_it_recovers() {
    let (mut served, sum) = prepared("stop-undo");
    let mut connection = served.connect();
    run(
        &mut connection,
        "use large begin tran update m set v = v + 1 checkpoint",
    );
    served.kill();
    served.start();
    end_and_recover(served, "undo in the background", &sum);
}

#[test]
fn a_signal_ends_the_server_under_commits_and_loses_none() {
    let (mut served, sum) = prepared("stop-commits");
    run(
        &mut served.connect(),
        "use large create table ledger (id int not null primary key, f char(400) not null)",
    );
    let acknowledged: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|threads| {
        for (client, acknowledged) in acknowledged.iter().enumerate() {
            let mut connection = served.connect();
            threads.spawn(move || {
                for number in 1.. {
                    let id = client as u64 * 1_000_000 + number;
                    let answer = ask(&mut connection, &format!("insert large.dbo.ledger values ({id}, 'x')"));
                    if answer.lost || !answer.errors.is_empty() {
                        return;
                    }
                    acknowledged.store(number, Ordering::SeqCst);
                }
            });
        }
        while acknowledged
            .iter()
            .any(|acknowledged| acknowledged.load(Ordering::SeqCst) < 20)
        {
            std::thread::yield_now();
        }
        served.terminate();
        let took = served.wait_for_end();
        println!("commits: ended after {took:?}");
        assert!(took < ENDED_MAX, "{took:?}");
    });
    served.start();
    let mut connection = served.connect();
    for (client, acknowledged) in acknowledged.iter().enumerate() {
        let acknowledged = acknowledged.load(Ordering::SeqCst);
        let (first, last) = (client as u64 * 1_000_000 + 1, client as u64 * 1_000_000 + 999_999);
        let query = format!("select count(*) from large.dbo.ledger where id between {first} and {last}");
        let found: u64 = value(&mut connection, &query).parse().unwrap();
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "{found} of {acknowledged}"
        );
    }
    assert_eq!(self::sum(&mut connection), sum);
    assert_sound(&mut connection, "large");
}

/// SHUTDOWN waits for what runs; a signal does not.
#[test]
fn a_signal_cuts_a_shutdown_short() {
    let (mut served, sum) = prepared("stop-shutdown");
    let runner = leave_running(&served, "waitfor delay '00:10:00'");
    // The connection may break before or after the answer.
    let _ = served.connect().run("shutdown", &mut |_| {});
    std::thread::sleep(Duration::from_millis(700));
    assert!(
        served.is_up() && !runner.is_finished(),
        "SHUTDOWN does not wait for what runs"
    );
    end_and_recover(served, "SHUTDOWN and a signal", &sum);
    runner.join().unwrap();
}
