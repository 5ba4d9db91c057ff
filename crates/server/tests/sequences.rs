//! What ends what: the DONE tokens of statements that succeed and fail, alone, in a row and in procedures, from T-SQL to the wire.
//!
//! MS-TDS 2.2.7.6 to 2.2.7.8: each statement of a batch has a DONE, of a procedure a DONEINPROC; each procedure a DONEPROC; all but the
//! last say MORE; ERROR belongs to the statement that failed. Drivers count by it: JDBC throws for the result that bears the bit.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod support;

use support::{Client, start_sql as start};
use tds_protocol::token::DoneStatus;
use tds_protocol::{RpcParam, RpcRequest, Token};

fn done(kind: &str, status: DoneStatus, rows: u64) -> String {
    let mut text = kind.to_owned();
    if status.error {
        text += " error";
    }
    if status.count {
        text += &format!(" {rows}");
    }
    if status.more {
        text += " more";
    }
    text
}

/// The tokens of an answer in words.
fn sequence(tokens: &[Token]) -> String {
    let words = tokens.iter().map(|token| match token {
        Token::ColMetaData(_) => "columns".to_owned(),
        Token::Row(_) | Token::NbcRow(_) => "row".to_owned(),
        Token::Error(error) => format!("{}", error.number),
        Token::Info(info) => format!("info {}", info.number),
        Token::ReturnStatus(status) => format!("status {status}"),
        Token::Done(token) => done("DONE", token.status, token.row_count),
        Token::DoneInProc(token) => done("INPROC", token.status, token.row_count),
        Token::DoneProc(token) => done("PROC", token.status, token.row_count),
        other => format!("{other:?}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

const SETUP: [&str; 4] = [
    "create table #t (id int primary key, x int not null check (x > 0))",
    "create procedure #ends as insert #t values (20, 1) return 3",
    "create procedure #goes_on as insert #t values (30, 1) insert #t values (30, 1) insert #t values (31, 1) return 4",
    "create procedure #is_ended as insert #t values (40, 1) select convert(int, 'x') insert #t values (41, 1)",
];

#[test]
fn every_statement_of_a_batch_has_the_done_that_is_its_own() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in SETUP {
        let made = sequence(&client.batch(batch));
        assert!(!made.contains("error"), "{batch}: {made}");
    }
    for (batch, expected) in [
        ("insert #t values (1, 1)", "DONE 1"),
        (
            "insert #t values (2, 1) insert #t values (1, 1) insert #t values (3, 1), (4, 1)",
            "DONE 1 more, 2627, info 3621, DONE error more, DONE 2",
        ),
        (
            "insert #t values (5, 1) insert #t values (5, 1)",
            "DONE 1 more, 2627, info 3621, DONE error",
        ),
        (
            "insert #t values (1, 1) insert #t values (6, 0) update #t set x = 2 where id = 1",
            "2627, info 3621, DONE error more, 547, info 3621, DONE error more, DONE 1",
        ),
        (
            "raiserror('no', 16, 1) select 1",
            "50000, DONE error more, columns, row, DONE 1",
        ),
        (
            "set nocount on insert #t values (1, 1) insert #t values (7, 1) select 1",
            "2627, info 3621, DONE error more, columns, row, DONE",
        ),
        ("set nocount off", "DONE"),
        (
            "select 1 / x from #t where id = 0 select 1 / 0 select 2",
            "columns, DONE 0 more, 8134, DONE error more, columns, row, DONE 1",
        ),
        // What ends the batch ends it with the DONE of the statement that failed.
        (
            "select 1 select convert(int, 'x') select 2",
            "columns, row, DONE 1 more, 245, DONE error",
        ),
        ("select 1 from missing", "208, DONE error"),
        ("select from", "156, DONE error"),
        // Who catches an error hears nothing of it.
        (
            "begin try insert #t values (1, 1) end try begin catch select 3 end catch",
            "columns, row, DONE 1",
        ),
        (
            "set xact_abort on; insert #t values (1, 1) select 2",
            "DONE more, 2627, DONE error",
        ),
        ("set xact_abort off print 'x'", "DONE more, info 0, DONE"),
    ] {
        assert_eq!(sequence(&client.batch(batch)), expected, "{batch}");
    }
}

#[test]
fn a_call_ends_with_its_status_and_one_doneproc() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in SETUP {
        client.batch(batch);
    }
    for (name, expected) in [
        ("#ends", "INPROC 1 more, status 3, PROC"),
        (
            "#goes_on",
            "INPROC 1 more, 2627, info 3621, INPROC error more, INPROC 1 more, status 4, PROC",
        ),
    ] {
        assert_eq!(sequence(&client.rpc(&RpcRequest::named(name))), expected, "{name}");
    }
    let ended = sequence(&client.rpc(&RpcRequest::named("#is_ended")));
    assert!(
        ended.starts_with("INPROC 1 more, 245, ") && ended.ends_with("PROC error"),
        "{ended}"
    );
    let sql = |text: &str| RpcRequest::execute_sql(text, Vec::<RpcParam>::new());
    let text = "insert #t values (50, 1) insert #t values (50, 1) insert #t values (51, 1)";
    assert_eq!(
        sequence(&client.rpc(&sql(text))),
        "INPROC 1 more, 2627, info 3621, INPROC error more, INPROC 1 more, status 0, PROC"
    );
    assert_eq!(
        sequence(&client.batch("select count(*) from #t")),
        "columns, row, DONE 1"
    );
}

/// SQLAlchemy's first query names columns by schema, view and column.
#[test]
fn columns_of_views_answer_to_their_full_names() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in ["create database d", "use d", "create view dbo.v as select 1 as a"] {
        client.batch(batch);
    }
    for (query, expected) in [
        ("select sys.tables.name from sys.tables", "columns, DONE 0"),
        (
            "select master.sys.databases.name from sys.databases where sys.databases.database_id = 1",
            "4104, DONE error",
        ),
        (
            "select sys.databases.name from sys.databases where sys.databases.database_id = 1",
            "columns, row, DONE 1",
        ),
        (
            "select INFORMATION_SCHEMA.TABLES.TABLE_NAME from INFORMATION_SCHEMA.TABLES",
            "columns, row, DONE 1",
        ),
        ("select dbo.v.a from dbo.v", "columns, row, DONE 1"),
        ("select d.dbo.v.a from v", "columns, row, DONE 1"),
        ("select dbo.v.a from v as v", "4104, DONE error"),
        ("select dbo.x.a from v", "4104, DONE error"),
        ("select sys.v.a from v", "4104, DONE error"),
        ("select sys.o.name from sys.objects o", "4104, DONE error"),
    ] {
        assert_eq!(sequence(&client.batch(query)), expected, "{query}");
    }
}

/// A client that gives a request up while it sends it says so with its last packet, and waits for one DONE (MS-TDS 2.2.1.7).
#[test]
fn a_request_that_is_cancelled_while_it_is_sent_gets_one_done() {
    use std::io::Write;
    let server = start();
    let mut client = Client::sa(&server);
    for (kind, first) in [
        (1, &b"\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0x\0"[..]),
        (3, b"?"),
        (7, b""),
    ] {
        for status in [0, 8] {
            let header = |status: u8, bytes: usize| [kind, status, 0, 8 + bytes as u8, 0, 0, 1, 0];
            client
                .stream
                .write_all(&[&header(status, first.len())[..], first].concat())
                .unwrap();
            client.stream.write_all(&header(3, 0)).unwrap();
            assert_eq!(sequence(&client.tokens()), "DONE error", "{kind} {status}");
        }
    }
    // All in one packet.
    client.stream.write_all(&[1, 3, 0, 8, 0, 0, 1, 0]).unwrap();
    assert_eq!(sequence(&client.tokens()), "DONE error");
    assert_eq!(sequence(&client.batch("select 1")), "columns, row, DONE 1");
}
