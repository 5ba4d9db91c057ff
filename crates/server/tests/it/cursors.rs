//! Cursors by handle (`sp_cursoropen` and its kin) as JDBC and ODBC use them: opened, fetched in every direction, prepared,
//! refused and closed, token by token.
//!
//! What is expected: sql-docs, the pages of the procedures; the order of tokens is Babelfish's (`tdsrpc.c`, `SendCursorResponse`).
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use support::{Client, errors, start_sql as start};
use tds_protocol::{ProcId, RpcParam, RpcRequest, Token};

const FAST_FORWARD: i32 = 0x10;
const KEYSET: i32 = 0x1;
const STATIC: i32 = 0x8;
const ALLOW_DIRECT: i32 = 0x2000;

fn int(value: i32) -> RpcParam {
    RpcParam::int("", value)
}

fn out(value: i32) -> RpcParam {
    int(value).as_output()
}

fn text(value: &str) -> RpcParam {
    RpcParam::nvarchar("", value)
}

fn call(client: &mut Client, procedure: ProcId, parameters: Vec<RpcParam>) -> Vec<Token> {
    let request = parameters
        .into_iter()
        .fold(RpcRequest::by_id(procedure), RpcRequest::param);
    client.rpc(&request)
}

/// The first column of each row, an int, with its ROWSTAT.
fn rows(tokens: &[Token]) -> Vec<(i32, i32)> {
    let ints = |data: &[u8]| {
        // An int that may be NULL has its length before it; ROWSTAT is never NULL.
        let value = i32::from_le_bytes(data[1..5].try_into().unwrap());
        let status = i32::from_le_bytes(data[data.len() - 4..].try_into().unwrap());
        (value, status)
    };
    let row = tokens.iter().filter_map(|token| match token {
        Token::Row(row) => Some(ints(&row.data)),
        _ => None,
    });
    row.collect()
}

fn values(tokens: &[Token]) -> Vec<i32> {
    let values = rows(tokens);
    assert!(values.iter().all(|(_, status)| *status == 1), "{values:?}");
    values.into_iter().map(|(value, _)| value).collect()
}

/// Values of output parameters, all of them ints.
fn outputs(tokens: &[Token]) -> Vec<i32> {
    let value = |token: &Token| match token {
        Token::ReturnValue(value) => Some(i32::from_le_bytes(value.value[1..5].try_into().unwrap())),
        _ => None,
    };
    tokens.iter().filter_map(value).collect()
}

fn status(tokens: &[Token]) -> i32 {
    let status = |token: &Token| match token {
        Token::ReturnStatus(status) => Some(*status),
        _ => None,
    };
    tokens.iter().find_map(status).unwrap_or_else(|| panic!("{tokens:?}"))
}

/// The kinds of the tokens.
fn kinds(tokens: &[Token]) -> String {
    let kinds = tokens.iter().map(|token| match token {
        Token::ColMetaData(metadata) => format!("columns {}", metadata.columns.len()),
        Token::Row(_) | Token::NbcRow(_) => "row".to_owned(),
        Token::Error(error) => error.number.to_string(),
        Token::Info(info) => format!("info {}", info.number),
        Token::ReturnStatus(status) => format!("status {status}"),
        Token::ReturnValue(_) => "value".to_owned(),
        Token::DoneInProc(done) if done.status.count => format!("INPROC {}", done.row_count),
        Token::DoneInProc(_) => "INPROC".to_owned(),
        Token::DoneProc(_) => "PROC".to_owned(),
        other => format!("{other:?}"),
    });
    kinds.collect::<Vec<_>>().join(", ")
}

fn open(client: &mut Client, query: &str, scroll: i32, concurrency: i32) -> Vec<Token> {
    let parameters = vec![out(0), text(query), out(scroll), out(concurrency), out(0)];
    call(client, ProcId::CursorOpen, parameters)
}

fn opened(client: &mut Client, scroll: i32) -> i32 {
    let tokens = open(client, "select a from t order by a", scroll, 1);
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    outputs(&tokens)[0]
}

fn fetch(client: &mut Client, cursor: i32, kind: i32, row: i32, count: i32) -> Vec<Token> {
    call(
        client,
        ProcId::CursorFetch,
        vec![int(cursor), int(kind), int(row), int(count)],
    )
}

fn client() -> (server::Server, Client) {
    let server = start();
    let mut client = Client::sa(&server);
    for batch in [
        "create table t (a int null, b varchar(9))",
        "insert t values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')",
    ] {
        assert_eq!(errors(&client.batch(batch)), Vec::<i32>::new());
    }
    (server, client)
}

#[test]
fn an_open_answers_its_columns_and_what_was_granted() {
    let (_server, mut client) = client();
    let tokens = open(&mut client, "select a, b from t", KEYSET, 4);
    assert_eq!(
        kinds(&tokens),
        "columns 3, INPROC, status 0, value, value, value, value, PROC"
    );
    let granted = outputs(&tokens);
    assert!(granted[0] != 0 && granted[1..] == [STATIC, 1, 5], "{granted:?}");
    let tokens = open(&mut client, "select a, b from t", FAST_FORWARD, 1 | ALLOW_DIRECT);
    assert_eq!(outputs(&tokens)[1..], [FAST_FORWARD, 1, -1]);
    // A client that takes a keyset cursor or none.
    let tokens = open(&mut client, "select a from t", KEYSET | 0x8000 | 0x10000, 1);
    assert_eq!(kinds(&tokens), "16955, status -6, PROC");
    // Also one or a static one.
    let tokens = open(&mut client, "select a from t", KEYSET | 0x8000 | 0x10000 | 0x80000, 1);
    assert_eq!(outputs(&tokens)[1], STATIC);
    for (query, number) in [
        ("select missing from t", 207),
        ("select", 102),
        ("insert t values (1, 'x')", 16938),
    ] {
        assert_eq!(errors(&open(&mut client, query, STATIC, 1)), [number], "{query}");
    }
    // A text that is not a statement ends the call, and not the transaction.
    client.batch("begin transaction");
    assert_eq!(errors(&open(&mut client, "select", STATIC, 1)), [102]);
    assert_eq!(
        support::row_count(&client.batch("select 1 where @@trancount = 1 rollback")),
        1
    );
}

#[test]
fn rows_are_fetched_in_every_direction() {
    let (_server, mut client) = client();
    let cursor = opened(&mut client, STATIC);
    // What is changed later is not seen.
    client.batch("delete t where a = 3");
    let tokens = fetch(&mut client, cursor, 2, 0, 2);
    assert_eq!(kinds(&tokens), "columns 2, row, row, INPROC, status 0, PROC");
    assert_eq!(values(&tokens), [1, 2]);
    for (kind, row, count, expected) in [
        (2, 0, 2, &[3, 4][..]),
        (2, 0, 2, &[5]),
        (2, 0, 2, &[]),
        (4, 0, 2, &[4, 5]),
        (4, 0, 2, &[2, 3]),
        (4, 0, 2, &[1, 2]),
        (4, 0, 2, &[]),
        (2, 0, 1, &[1]),
        (8, 0, 2, &[4, 5]),
        (1, 0, 3, &[1, 2, 3]),
        (16, 4, 1, &[4]),
        (16, -2, 2, &[4, 5]),
        (16, 9, 1, &[]),
        (16, 2, 1, &[2]),
        (32, 2, 1, &[4]),
        (32, -3, 2, &[1, 2]),
        (0x80, 0, 0, &[1, 2]),
        (0x200, 0, 2, &[]),
    ] {
        assert_eq!(
            values(&fetch(&mut client, cursor, kind, row, count)),
            expected,
            "{kind} {row} {count}"
        );
    }
    fetch(&mut client, cursor, 16, 3, 1);
    let info = call(
        &mut client,
        ProcId::CursorFetch,
        vec![int(cursor), int(0x100), out(0), out(0)],
    );
    assert_eq!(outputs(&info), [3, 5]);
    let again = call(
        &mut client,
        ProcId::Cursor,
        vec![int(cursor), int(0x28), int(1), text("")],
    );
    assert_eq!(values(&again), [3]);
    for operation in [1, 2, 4, 0x21] {
        let tokens = call(
            &mut client,
            ProcId::Cursor,
            vec![int(cursor), int(operation), int(1), text("t")],
        );
        assert_eq!(errors(&tokens), [16929], "{operation}");
    }
    let option = call(&mut client, ProcId::CursorOption, vec![int(cursor), int(4), out(0)]);
    assert_eq!(outputs(&option), [STATIC]);
    assert_eq!(
        kinds(&call(&mut client, ProcId::CursorClose, vec![int(cursor)])),
        "status 0, PROC"
    );
    assert_eq!(errors(&fetch(&mut client, cursor, 2, 0, 1)), [16909]);
    assert_eq!(
        errors(&call(&mut client, ProcId::CursorClose, vec![int(cursor)])),
        [16909]
    );
}

#[test]
fn a_forward_only_cursor_goes_forward_and_may_close_itself() {
    let (_server, mut client) = client();
    let cursor = opened(&mut client, FAST_FORWARD);
    assert_eq!(errors(&fetch(&mut client, cursor, 4, 0, 1)), [16911]);
    assert_eq!(values(&fetch(&mut client, cursor, 2, 0, 9)), [1, 2, 3, 4, 5]);
    assert!(values(&fetch(&mut client, cursor, 2, 0, 9)).is_empty());
    // AUTO_FETCH and AUTO_CLOSE: the rows come with the open; as many as asked for leave it open.
    let parameters = |rows| {
        vec![
            out(0),
            text("select a from t order by a"),
            out(0x6010),
            out(1),
            out(rows),
        ]
    };
    let tokens = call(&mut client, ProcId::CursorOpen, parameters(5));
    assert_eq!((values(&tokens), status(&tokens)), (vec![1, 2, 3, 4, 5], 0));
    let cursor = outputs(&tokens)[0];
    let tokens = fetch(&mut client, cursor, 2, 0, 5);
    assert_eq!((values(&tokens), status(&tokens)), (vec![], 16));
    assert_eq!(errors(&fetch(&mut client, cursor, 2, 0, 5)), [16909]);
    let tokens = call(&mut client, ProcId::CursorOpen, parameters(9));
    assert_eq!(
        (values(&tokens).len(), status(&tokens), outputs(&tokens)[0]),
        (5, 16, 0)
    );
}

#[test]
fn prepared_cursors_take_values() {
    let (_server, mut client) = client();
    let query = "select a from t where a > @a order by a";
    let parameters = vec![
        out(0),
        out(0),
        text("@a int"),
        text(query),
        out(STATIC),
        out(1),
        out(0),
        int(3),
    ];
    let tokens = call(&mut client, ProcId::CursorPrepExec, parameters);
    let answer = outputs(&tokens);
    assert_eq!(answer[2..], [STATIC, 1, 2], "{tokens:?}");
    assert_eq!(values(&fetch(&mut client, answer[1], 2, 0, 9)), [4, 5]);
    let parameters = vec![int(answer[0]), out(0), out(STATIC), out(1), out(0), int(4)];
    let tokens = call(&mut client, ProcId::CursorExecute, parameters);
    let cursor = outputs(&tokens)[0];
    assert_eq!(values(&fetch(&mut client, cursor, 2, 0, 9)), [5]);
    assert_eq!(
        errors(&call(&mut client, ProcId::CursorUnprepare, vec![int(answer[0])])),
        Vec::<i32>::new()
    );
    assert_eq!(
        errors(&call(&mut client, ProcId::CursorUnprepare, vec![int(answer[0])])),
        [16909]
    );
    // Parameters of sp_cursoropen come with PARAMETERIZED_STMT.
    let parameters = vec![
        out(0),
        text(query),
        out(STATIC | 0x1000),
        out(1),
        out(0),
        text("@a int"),
        int(4),
    ];
    let tokens = call(&mut client, ProcId::CursorOpen, parameters);
    assert_eq!(outputs(&tokens)[3], 1, "{tokens:?}");
    let parameters = vec![out(0), text("@a int"), text(query), int(1), out(KEYSET), out(4)];
    let tokens = call(&mut client, ProcId::CursorPrepare, parameters);
    assert_eq!(outputs(&tokens)[1..], [STATIC, 1]);
}

/// What no cursor can be opened on is executed where the client allows it, and says so (16954): Microsoft's JDBC driver goes by that number.
#[test]
fn statements_without_rows_are_executed_directly() {
    let (_server, mut client) = client();
    let tokens = open(
        &mut client,
        "insert t values (6, 'f') select a from t where a = 6",
        FAST_FORWARD,
        1 | ALLOW_DIRECT,
    );
    assert_eq!(
        kinds(&tokens),
        "info 16954, INPROC 1, columns 1, row, INPROC 1, status 0, value, value, value, value, PROC"
    );
    assert_eq!(outputs(&tokens)[0], 0);
    let tokens = open(&mut client, "select a into u from t", FAST_FORWARD, 1 | ALLOW_DIRECT);
    assert_eq!(
        kinds(&tokens),
        "info 16954, INPROC 6, status 0, value, value, value, value, PROC"
    );
}

#[test]
fn a_batch_can_use_them_and_a_session_ends_them() {
    let (_server, mut client) = client();
    let batch = "declare @c int exec sp_cursoropen @c output, N'select a from t order by a', 8, 1 exec sp_cursorfetch @c, 8, 0, 1 exec sp_cursorclose @c";
    let tokens = client.batch(batch);
    assert_eq!(errors(&tokens), Vec::<i32>::new());
    assert_eq!(values(&tokens), [5]);
    let cursors: Vec<i32> = (0..3).map(|_| opened(&mut client, STATIC)).collect();
    assert!(cursors[0] != cursors[1] && cursors[1] != cursors[2]);
    assert_eq!(
        errors(&call(&mut client, ProcId::CursorClose, vec![int(-1)])),
        Vec::<i32>::new()
    );
    for cursor in cursors {
        assert_eq!(errors(&fetch(&mut client, cursor, 2, 0, 1)), [16909]);
    }
}
