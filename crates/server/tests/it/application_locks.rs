//! sp_getapplock and sp_releaseapplock between two sessions (sql-docs, "sp_getapplock"; return codes and errors as the test
//! suite of SQLServerSimulator, `ApplicationLockTests.cs`, recorded them from SQL Server 2025).
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use std::thread::JoinHandle;

use support::{Client, errors, start_sql as start};
use tds_protocol::Token;

/// The return status that a client sees of a batch which is one EXECUTE.
fn status(client: &mut Client, call: &str) -> i32 {
    let tokens = client.batch(call);
    let status = tokens.iter().find_map(|token| match token {
        Token::ReturnStatus(status) => Some(*status),
        _ => None,
    });
    status.unwrap_or_else(|| panic!("{call}: {tokens:?}"))
}

fn get(client: &mut Client, rest: &str) -> i32 {
    status(client, &format!("exec sp_getapplock {rest}"))
}

/// Whether a query finds a row.
fn holds(client: &mut Client, condition: &str) -> bool {
    let tokens = client.batch(&format!("select 1 where {condition}"));
    assert_eq!(errors(&tokens), Vec::<i32>::new(), "{condition}");
    support::row_count(&tokens) == 1
}

fn error(client: &mut Client, batch: &str) -> Vec<i32> {
    errors(&client.batch(batch))
}

/// Begins a request on a thread of its own, and comes back when it waits for a lock.
fn waiting(mut client: Client, call: &'static str, looker: &mut Client) -> JoinHandle<(Client, i32)> {
    let thread = std::thread::spawn(move || {
        let status = get(&mut client, call);
        (client, status)
    });
    while !holds(
        looker,
        "exists (select * from sys.dm_tran_locks where resource_type = 'APPLICATION' and request_status = 'WAIT')",
    ) {
        std::thread::yield_now();
    }
    thread
}

#[test]
fn calls_return_what_became_of_them() {
    let server = start();
    let (mut one, mut other) = (Client::sa(&server), Client::sa(&server));
    for (call, expected) in [
        ("'res', 'Exclusive', 'Session'", 0),
        ("'res', 'exclusive', 'session', 0, 'dbo'", 0),
        ("'res', 'Bogus', 'Session'", -999),
        ("'res', 'Exclusive', 'Nonsense'", -999),
        ("'res', 'Exclusive'", -999),
        ("@LockMode = 'Exclusive', @LockOwner = 'Session', @Resource = 'Res'", 0),
    ] {
        assert_eq!(get(&mut one, call), expected, "{call}");
    }
    for (batch, number) in [
        ("exec sp_getapplock null, 'Exclusive', 'Session'", 1224),
        ("exec sp_getapplock 'res', 'Exclusive', 'Session', -2", 1227),
        ("exec sp_getapplock 'res', 'Exclusive', 'Session', 0, 'nobody'", 1202),
        ("exec sp_getapplock @Resource = 'res', @LockOwner = 'Session'", 201),
        ("exec sp_releaseapplock 'ghost', 'Session'", 1223),
        ("select applock_mode(null, 'res', 'Session')", 8116),
        ("select applock_mode('public', 'res', 'Transaction')", 3918),
        ("select applock_mode('public', 'res', 'Nonsense')", 1226),
        ("select applock_mode('nobody', 'res', 'Session')", 1202),
        ("select applock_test('public', 'res', 'Bogus', 'Session')", 1225),
        ("select applock_test('public', 'res', null, 'Session')", 8116),
    ] {
        assert_eq!(error(&mut one, batch), [number], "{batch}");
    }
    for (mode, granted) in [("Shared", false), ("IntentShared", false)] {
        let test = format!("applock_test('public', 'res', '{mode}', 'Session') = 1");
        assert!(holds(&mut one, &test));
        assert_eq!(holds(&mut other, &test), granted);
    }
    assert_eq!(get(&mut other, "'res', 'Shared', 'Session', 0"), -1);
    assert_eq!(get(&mut other, "'RES', 'Shared', 'Session', 0"), 0);
    let row = "exists (select * from sys.dm_tran_locks where resource_type = 'APPLICATION' and resource_description like '0:[[]res]:(%' \
               and request_mode = 'X' and request_owner_type = 'SESSION' and request_status = 'GRANT')";
    assert!(holds(&mut other, row));
    assert_eq!(status(&mut one, "exec sp_releaseapplock 'res', 'Session'"), 0);
    assert!(holds(&mut one, "applock_mode('public', 'res', 'Session') = 'NoLock'"));
    assert!(holds(&mut one, "applock_mode('dbo', 'res', 'Session') = 'Exclusive'"));
    assert_eq!(get(&mut other, "'res', 'Shared', 'Session', 0"), 0);
}

#[test]
fn a_transactions_locks_end_with_it_and_a_sessions_with_the_session() {
    let server = start();
    let (mut one, mut other) = (Client::sa(&server), Client::sa(&server));
    for end in ["commit", "rollback"] {
        assert_eq!(status(&mut one, "begin tran exec sp_getapplock 'a', 'Exclusive'"), 0);
        assert_eq!(get(&mut one, "'b', 'Exclusive', 'Session'"), 0);
        assert_eq!(get(&mut other, "'a', 'Shared', 'Session', 0"), -1);
        one.batch(end);
        assert_eq!(get(&mut other, "'a', 'Shared', 'Session', 0"), 0, "{end}");
        assert_eq!(get(&mut other, "'b', 'Shared', 'Session', 0"), -1, "{end}");
        assert_eq!(status(&mut other, "exec sp_releaseapplock 'a', 'Session'"), 0);
        assert_eq!(status(&mut one, "exec sp_releaseapplock 'b', 'Session'"), 0);
    }
    assert_eq!(get(&mut one, "'b', 'Exclusive', 'Session'"), 0);
    drop(one);
    assert!(get(&mut other, "'b', 'Shared', 'Session', 60000") >= 0);
}

#[test]
fn a_wait_ends_with_the_lock_and_a_circle_with_its_victim() {
    let server = start();
    let (mut one, other) = (Client::sa(&server), Client::sa(&server));
    let mut looker = Client::sa(&server);
    assert_eq!(get(&mut one, "'a', 'Exclusive', 'Session'"), 0);
    let thread = waiting(other, "'a', 'Shared', 'Session', 60000", &mut looker);
    assert_eq!(status(&mut one, "exec sp_releaseapplock 'a', 'Session'"), 0);
    let (mut other, granted) = thread.join().unwrap();
    assert_eq!(granted, 1);
    // Each holds what the other asks for; the victim gets -3, without an error, and goes on.
    assert_eq!(get(&mut one, "'b', 'Exclusive', 'Session'"), 0);
    one.batch("set deadlock_priority high");
    assert_eq!(status(&mut other, "begin tran exec sp_getapplock 'c', 'Exclusive'"), 0);
    let thread = waiting(other, "'b', 'Exclusive', 'Session'", &mut looker);
    let closing = std::thread::spawn(move || (get(&mut one, "'c', 'Exclusive', 'Session'"), one));
    let (mut other, victim) = thread.join().unwrap();
    assert_eq!(victim, -3);
    assert!(holds(&mut other, "@@trancount = 1 and xact_state() = 1"));
    other.batch("rollback");
    assert_eq!(closing.join().unwrap().0, 1);
}
