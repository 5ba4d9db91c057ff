//! Everything that a session remembers, piece by piece, and which of it the reset of a pooled connection clears.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use std::io::Write;

use support::{Client, errors, start_sql as start};
use tds_protocol::Token;

const RESET: u8 = 0x08;
const RESET_KEEP_TRANSACTION: u8 = 0x10;

/// A SQL batch whose packet bears status bits beside the one of the last packet.
fn batch_with(client: &mut Client, text: &str, status: u8) -> Vec<Token> {
    let headers = b"\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0";
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = u16::try_from(headers.len() + units.len() + 8).unwrap().to_be_bytes();
    let packet = [&[1, 1 | status, length[0], length[1], 0, 0, 1, 0][..], headers, &units].concat();
    client.stream.write_all(&packet).unwrap();
    client.tokens()
}

/// The one value of an answer as its bytes, without what says how many there are; nothing for NULL and for an error.
fn value(tokens: &[Token]) -> String {
    assert_eq!(errors(tokens), Vec::<i32>::new(), "{tokens:?}");
    let row = tokens.iter().find_map(|token| match token {
        Token::Row(row) => Some(row.data.clone()),
        _ => None,
    });
    let row = row.unwrap_or_else(|| panic!("no row in {tokens:?}"));
    // Every query here answers varchar(n): two bytes of length, 0xFFFF for NULL.
    match row.get(..2).unwrap() {
        [0xFF, 0xFF] => "NULL".to_owned(),
        _ => String::from_utf8(row[2..].to_vec()).unwrap(),
    }
}

fn ask(client: &mut Client, query: &str) -> String {
    let tokens = client.batch(query);
    value(&tokens)
}

/// What sets a piece of the session's state, what asks for it, and what the answer is after that and after the login.
const STATE: [(&str, &str, &str); 19] = [
    ("set nocount on", "select convert(varchar(20), @@options & 512)", "512"),
    (
        "set xact_abort on",
        "select convert(varchar(20), @@options & 16384)",
        "16384",
    ),
    (
        "set implicit_transactions on",
        "select convert(varchar(20), @@options & 2)",
        "2",
    ),
    (
        "set quoted_identifier off",
        "select convert(varchar(20), @@options & 256)",
        "0",
    ),
    (
        "set concat_null_yields_null off",
        "select convert(varchar(20), @@options & 4096)",
        "0",
    ),
    (
        "set lock_timeout 77",
        "select convert(varchar(20), @@lock_timeout)",
        "77",
    ),
    ("set textsize 99", "select convert(varchar(20), @@textsize)", "99"),
    ("set datefirst 3", "select convert(varchar(20), @@datefirst)", "3"),
    (
        "set transaction isolation level serializable",
        "select convert(varchar(20), transaction_isolation_level) from sys.dm_exec_sessions where session_id = @@spid",
        "4",
    ),
    (
        "set deadlock_priority 4",
        "select convert(varchar(20), deadlock_priority) from sys.dm_exec_sessions where session_id = @@spid",
        "4",
    ),
    (
        "set context_info 0x07",
        "select convert(varchar(4), context_info(), 1)",
        "0x07",
    ),
    (
        "exec sp_set_session_context 'key', 'value'",
        "select convert(varchar(20), session_context(N'key'))",
        "value",
    ),
    (
        "exec sp_getapplock 'name', 'Exclusive', 'Session'",
        "select convert(varchar(20), applock_mode('public', 'name', 'Session'))",
        "Exclusive",
    ),
    (
        "declare c cursor global for select 1 open c",
        "select convert(varchar(20), cursor_status('global', 'c'))",
        "1",
    ),
    ("use tempdb", "select convert(varchar(20), db_name())", "tempdb"),
    (
        "create table #t (a int identity)",
        "select case when object_id('tempdb..#t') is null then 'gone' else 'there' end",
        "there",
    ),
    (
        "create table #i (a int identity) insert #i default values",
        "select convert(varchar(20), @@identity)",
        "1",
    ),
    ("begin transaction", "select convert(varchar(20), @@trancount)", "1"),
    (
        "set rowcount 1",
        "declare @n int select @n = a from (select 1 as a union all select 2) as q order by a select convert(varchar(20), @n)",
        "1",
    ),
];

#[test]
fn a_reset_takes_away_what_a_session_remembers() {
    let server = start();
    for (set, query, expected) in STATE {
        let mut client = Client::sa(&server);
        let first = ask(&mut client, query);
        assert_eq!(errors(&client.batch(set)), Vec::<i32>::new(), "{set}");
        assert_eq!(ask(&mut client, query), expected, "{set}");
        let answer = batch_with(&mut client, query, RESET);
        assert_eq!(value(&answer), first, "{set} is left");
        assert_eq!(ask(&mut client, query), first, "{set} comes back");
    }
}

/// RESETCONNECTIONSKIPTRAN (MS-TDS 2.2.3.1.2): everything but the transaction, its locks and the level that it reads at.
#[test]
fn a_reset_can_keep_the_transaction() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in [
        "create database d",
        "use d create table kept (a int)",
        "begin transaction set transaction isolation level serializable insert kept values (1) create table #gone (a int)",
        "set nocount on set context_info 0x07 exec sp_getapplock 'mine', 'Shared', 'Session' exec sp_getapplock 'its', 'Shared'",
    ] {
        assert_eq!(errors(&client.batch(batch)), Vec::<i32>::new(), "{batch}");
    }
    let count = batch_with(
        &mut client,
        "select convert(varchar(20), @@trancount)",
        RESET_KEEP_TRANSACTION,
    );
    assert_eq!(value(&count), "1");
    for (query, expected) in [
        ("select convert(varchar(20), db_name())", "master"),
        ("select convert(varchar(4), context_info(), 1)", "NULL"),
        ("select convert(varchar(20), @@options & 512)", "0"),
        (
            "select case when object_id('tempdb..#gone') is null then 'gone' else 'there' end",
            "gone",
        ),
        (
            "select convert(varchar(20), transaction_isolation_level) from sys.dm_exec_sessions where session_id = @@spid",
            "4",
        ),
        (
            "select convert(varchar(20), count(*)) from sys.dm_tran_locks where resource_type = 'APPLICATION' and request_owner_type = 'SESSION'",
            "0",
        ),
        (
            "select convert(varchar(20), count(*)) from sys.dm_tran_locks where resource_type = 'APPLICATION' and request_owner_type = 'TRANSACTION'",
            "1",
        ),
    ] {
        assert_eq!(ask(&mut client, query), expected, "{query}");
    }
    assert_eq!(errors(&client.batch("rollback")), Vec::<i32>::new());
    assert_eq!(
        ask(&mut client, "select convert(varchar(20), count(*)) from d.dbo.kept"),
        "0"
    );
    // What was hidden is dropped: the name can be used again.
    assert_eq!(errors(&client.batch("create table #gone (b int)")), Vec::<i32>::new());
}

/// A prepared statement is gone after a reset, and so is a plain transaction, whose locks others wait for.
#[test]
fn a_reset_forgets_handles_and_rolls_back() {
    let server = start();
    let (mut one, mut other) = (Client::sa(&server), Client::sa(&server));
    for batch in [
        "create database d",
        "create table d.dbo.t (a int)",
        "begin transaction insert d.dbo.t values (1)",
        "declare @h int exec sp_prepare @h output, N'', N'select 1'",
    ] {
        let answer = one.batch(batch);
        assert!(
            errors(&answer).iter().all(|number| *number == 2812),
            "{batch}: {answer:?}"
        );
    }
    assert_eq!(
        value(&batch_with(&mut one, "select convert(varchar(20), @@trancount)", RESET)),
        "0"
    );
    assert_eq!(
        ask(
            &mut other,
            "set lock_timeout 0 select convert(varchar(20), count(*)) from d.dbo.t"
        ),
        "0"
    );
}

/// The kinds of ENVCHANGE tokens about the transaction and the reset.
fn changes(tokens: &[Token]) -> Vec<String> {
    let kind = |token: &Token| match token {
        Token::EnvChange(change) => Some(format!("{:?}", change.env_type)),
        _ => None,
    };
    let told = |kind: &String| kind.contains("Transaction") || kind.contains("Reset");
    tokens.iter().filter_map(kind).filter(told).collect()
}

/// A driver that knows transactions by ENVCHANGE tokens went on believing in the one that the reset of its pooled connection had rolled
/// back, and sent its id with the next request.
#[test]
fn a_reset_tells_of_the_transaction_that_it_rolls_back() {
    let server = start();
    let mut client = Client::sa(&server);
    let begun = changes(&client.batch("begin transaction"));
    assert_eq!(begun.len(), 1, "{begun:?}");
    let kept = changes(&batch_with(&mut client, "select 1", RESET_KEEP_TRANSACTION));
    assert!(matches!(&kept[..], [reset] if reset.contains("Reset")), "{kept:?}");
    let gone = changes(&batch_with(&mut client, "select 1", RESET));
    assert!(
        matches!(&gone[..], [rollback, reset] if rollback.contains("Rollback") && reset.contains("Reset")),
        "{gone:?}"
    );
    let none = changes(&batch_with(&mut client, "select 1", RESET));
    assert!(matches!(&none[..], [reset] if reset.contains("Reset")), "{none:?}");
}
