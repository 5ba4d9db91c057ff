//! The DONE tokens of statements that succeed, fail, end their batch or procedure, or are cancelled while sending: from
//! T-SQL to the wire.
//!
//! MS-TDS 2.2.7.6 to 2.2.7.8: each statement of a batch has a DONE, of a procedure a DONEINPROC; each procedure a DONEPROC; all but the
//! last say MORE; ERROR belongs to the statement that failed. Drivers count by it: JDBC throws for the result that bears the bit.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, start_sql as start};
use tds_protocol::token::DoneStatus;
use tds_protocol::{RpcParam, RpcRequest, Token};

fn done(kind: &str, status: DoneStatus, rows: u64) -> String {
    let mut text = kind.to_owned();
    if status.error {
        text += " error";
    }
    if status.srverror {
        text += " fatal";
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
            "declare @a int declare @b int = 1 set @b = 2 select @a = x from #t where id < 3",
            "DONE 1 more, DONE 1 more, DONE 2",
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
        // A caught error is not sent.
        (
            "begin try insert #t values (1, 1) end try begin catch select 3 end catch",
            "columns, row, DONE 1",
        ),
        (
            "set xact_abort on; insert #t values (1, 1) select 2",
            "DONE more, 2627, DONE error",
        ),
        ("set xact_abort off print 'x'", "DONE more, info 0, DONE"),
        // A procedure of the system that counts nothing.
        ("exec sp_help int", "columns, row, INPROC more, status 0, PROC"),
    ] {
        assert_eq!(sequence(&client.batch(batch)), expected, "{batch}");
    }
}

/// PRINT is a statement as any other, and so is each condition (go-mssqldb tests, "TestMessageQueue" and
/// "TestSprocWithCursorNoResult"). Under NOCOUNT neither tells of itself.
#[test]
fn print_and_each_condition_have_a_done() {
    let server = start();
    let mut client = Client::sa(&server);
    for (batch, expected) in [
        ("print 'x' select 1", "info 0, DONE more, columns, row, DONE 1"),
        (
            "declare @i int = 0 while @i < 1 set @i += 1",
            "DONE 1 more, DONE more, DONE 1 more, DONE",
        ),
        ("if 1 = 0 select 1 else select 2", "DONE more, columns, row, DONE 1"),
        (
            "set nocount on print 'x' if 1 = 1 select 1",
            "info 0, columns, row, DONE",
        ),
        ("set nocount off", "DONE"),
    ] {
        assert_eq!(sequence(&client.batch(batch)), expected, "{batch}");
    }
}

/// go-mssqldb takes the connection for good without DONE_SRVERROR. [MS-TDS] 2.2.7.6 has that bit in place of DONE_ERROR, but python-tds, which
/// knows DONE_ERROR alone, took a COMMIT that failed with severity 21 for a success then.
#[test]
fn what_ends_the_connection_is_told_apart_from_other_errors() {
    let server = start();
    let mut client = Client::sa(&server);
    assert_eq!(
        sequence(&client.batch("select 1 raiserror('the end', 20, 1) with log")),
        "columns, row, DONE 1 more, 50000, DONE error fatal"
    );
    assert!(client.payload().is_none(), "the connection is closed");
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

const CALLED: [&str; 8] = [
    "create table #t (id int primary key, x int)",
    "create procedure #one as insert #t values (1, 1) delete #t where id = 1 return 3",
    "create procedure #silent as set nocount on insert #t values (1, 1) delete #t where id = 1 select 1",
    "create procedure #outer as exec #one select 2",
    "create procedure #text as exec('select 3')",
    "create procedure #fails as select 1 / 0",
    "create procedure #dies as insert #t values (1, 1) delete #t select convert(int, 'x') select 4",
    "create procedure #gives @in int, @out int output as set @out = @in + 1 return 7",
];

/// A batch with EXECUTE, and what it is answered by, in this order.
const EXECUTED: &[(&str, &str)] = &[
    ("exec #one", "INPROC 1 more, INPROC 1 more, status 3, PROC"),
    (
        "exec #one select 1",
        "INPROC 1 more, INPROC 1 more, status 3, PROC more, columns, row, DONE 1",
    ),
    (
        "select 1 exec #one exec #one",
        "columns, row, DONE 1 more, INPROC 1 more, INPROC 1 more, status 3, PROC more, INPROC 1 more, INPROC 1 more, status 3, PROC",
    ),
    // Under NOCOUNT statements inside say nothing; result sets have their end.
    ("exec #silent", "columns, row, INPROC more, status 0, PROC"),
    (
        "exec #outer",
        "INPROC 1 more, INPROC 1 more, INPROC more, columns, row, INPROC 1 more, status 0, PROC",
    ),
    ("exec #text", "columns, row, INPROC 1 more, INPROC more, status 0, PROC"),
    (
        "exec('select 1 select 2')",
        "columns, row, INPROC 1 more, columns, row, INPROC 1 more, status 0, PROC",
    ),
    (
        "exec sp_executesql N'select @a', N'@a int', 5",
        "columns, row, INPROC 1 more, status 0, PROC",
    ),
    (
        "exec sp_executesql N'select 1 / 0'",
        "8134, INPROC error more, status 8134, PROC",
    ),
    (
        "exec('select 1 / 0') select 1",
        "8134, INPROC error more, status 0, PROC more, columns, row, DONE 1",
    ),
    ("exec #fails", "8134, INPROC error more, status -6, PROC"),
    // What ends the batch ends it with a DONE of the batch.
    ("exec #dies select 5", "INPROC 1 more, INPROC 1 more, 245, DONE error"),
    ("exec #missing select 5", "2812, DONE error more, columns, row, DONE 1"),
    ("exec #gives select 5", "201, DONE error more, columns, row, DONE 1"),
    (
        "begin try exec #fails end try begin catch select 6 end catch",
        "columns, row, DONE 1",
    ),
    (
        "begin try exec #dies end try begin catch select 6 end catch if @@trancount > 0 rollback",
        "INPROC 1 more, INPROC 1 more, columns, row, DONE 1 more, DONE",
    ),
    (
        "begin try raiserror('x', 16, 1) end try begin catch throw end catch",
        "50000, DONE error",
    ),
    (
        "declare @o int exec #gives 1, @o output select @o",
        "INPROC 1 more, status 7, PROC more, columns, row, DONE 1",
    ),
    (
        "declare @n sysname = '#one' exec @n",
        "DONE 1 more, INPROC 1 more, INPROC 1 more, status 3, PROC",
    ),
    (
        "set nocount on exec #one exec #outer set nocount off",
        "status 3, PROC more, columns, row, INPROC more, status 0, PROC more, DONE",
    ),
    ("insert #t exec('select 8, 8')", "DONE 1"),
    ("delete #t", "DONE 1"),
    ("exec sp_lock 32000", "columns, INPROC 0 more, status 0, PROC"),
];

/// EXECUTE in a batch: what is called answers as a procedure, with its RETURNSTATUS and its DONEPROC; what that calls in turn is a statement of
/// it (MS-TDS 2.2.7.7, 2.2.7.8, 2.2.7.18; Babelfish's `StatementEnd_Internal`).
#[test]
fn an_execute_of_a_batch_is_a_call_of_its_own() {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in CALLED {
        let made = sequence(&client.batch(batch));
        assert_eq!(made, "DONE", "{batch}");
    }
    for &(batch, expected) in EXECUTED {
        assert_eq!(sequence(&client.batch(batch)), expected, "{batch}");
    }
    let texts = [
        ("exec #one", "INPROC 1 more, INPROC 1 more, INPROC more, status 0, PROC"),
        (
            "exec('select 1')",
            "columns, row, INPROC 1 more, INPROC more, status 0, PROC",
        ),
        ("select convert(int, 'x')", "245, status 245, PROC error"),
        (
            "declare @x int = 1 select @x",
            "INPROC 1 more, columns, row, INPROC 1 more, status 0, PROC",
        ),
    ];
    for (text, expected) in texts {
        let call = RpcRequest::execute_sql(text, Vec::<RpcParam>::new());
        assert_eq!(sequence(&client.rpc(&call)), expected, "{text}");
    }
    for (name, expected) in [
        (
            "#outer",
            "INPROC 1 more, INPROC 1 more, INPROC more, columns, row, INPROC 1 more, status 0, PROC",
        ),
        ("#dies", "INPROC 1 more, INPROC 1 more, 245, status -6, PROC error"),
        ("#missing", "2812, status -6, PROC error"),
    ] {
        assert_eq!(sequence(&client.rpc(&RpcRequest::named(name))), expected, "{name}");
    }
}

/// What drivers tell update counts and definitions by (Microsoft's JDBC driver: `StreamDone.java`).
#[test]
fn done_tokens_say_which_statement_they_end() {
    let server = start();
    let mut client = Client::sa(&server);
    let commands = |tokens: &[Token]| {
        let commands = tokens.iter().filter_map(|token| match token {
            Token::Done(done) => Some(done.cur_cmd),
            Token::DoneInProc(done) => Some(done.cur_cmd),
            Token::DoneProc(done) => Some(done.cur_cmd),
            _ => None,
        });
        commands.collect::<Vec<_>>()
    };
    for (batch, expected) in [
        ("create table t (a int)", &[0xC6][..]),
        (
            "create index i on t (a) insert t values (1) select * into u from t",
            &[0xC8, 0xC3, 0xC2],
        ),
        ("update t set a = 2 delete t declare @a int = 1", &[0xC5, 0xC4, 0xC1]),
        ("create procedure p as insert t values (1) exec('select 1')", &[0xDE]),
        ("exec p", &[0xC3, 0xC1, 0xE0, 0xE0]),
        ("begin tran commit begin tran rollback", &[0xD4, 0xD5, 0xD4, 0xD2]),
        (
            "set nocount off set xact_abort on set xact_abort off",
            &[0xBA, 0xB9, 0xBA],
        ),
        (
            "alter table t add b int drop index i on t drop table t, u drop procedure p",
            &[0xD8, 0xC9, 0xC7, 0xDF],
        ),
        (
            "create table t (a int primary key) insert t values (1) insert t values (1)",
            &[0xC6, 0xC3, 0xC3],
        ),
    ] {
        assert_eq!(commands(&client.batch(batch)), expected, "{batch}");
    }
}

/// Each call of a message has a DONEPROC; all but the last bear DONE_RPCINBATCH (MS-TDS 2.2.7.8).
#[test]
fn calls_of_one_message_end_one_by_one() {
    use std::io::Write;
    let server = start();
    let mut client = Client::sa(&server);
    let call = |text: &str| {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u16::try_from(units.len()).unwrap().to_le_bytes();
        // sp_executesql by its number; one nvarchar(4000) without a name.
        [
            &b"\xFF\xFF\x0A\0\0\0\0\0\xE7\x40\x1F\x09\x04\xD0\0\x34"[..],
            &length,
            &units,
        ]
        .concat()
    };
    let headers = b"\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0";
    let payload = [
        &headers[..],
        &call("select 1"),
        b"\xFF",
        &call("select 1 / 0"),
        b"\xFF",
        &call("print 'x'"),
    ]
    .concat();
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    let packet = [&[3, 1, length[0], length[1], 0, 0, 1, 0][..], &payload].concat();
    client.stream.write_all(&packet).unwrap();
    let payload = client.payload().unwrap();
    // Every DONEPROC has 0xE0, EXECUTE, behind its status; no row and no text of this answer does.
    let status = |bytes: &[u8]| (bytes[0] == 0xFE && bytes[3..5] == [0xE0, 0]).then(|| bytes[1]);
    let statuses: Vec<u8> = payload.windows(5).filter_map(status).collect();
    assert_eq!(statuses, [0x81, 0x81, 0]);
    assert_eq!(
        sequence(&support::parse(payload)),
        "columns, row, INPROC 1 more, status 0, PROC more, 8134, INPROC error more, status 8134, PROC more, info 0, INPROC more, status 0, PROC"
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
