//! Whole conversations over real sockets, against a backend that obeys a few words: login, results, ATTENTION, garbage,
//! panics, timeouts, transactions.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
use crate::support;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use support::{Client, PASSWORD, errors, eventually, row_count, start};
use tds_protocol::{Login7, PreLogin, RpcParam, RpcRequest, RpcTypeInfo, Token};

/// The interrupted answer ends in an error, then the ATTENTION is answered on its own.
fn expect_cancelled(client: &mut Client) {
    let answer = client.tokens();
    assert!(matches!(answer.last(), Some(Token::Done(done)) if done.status.error && !done.status.attn));
    expect_acknowledged(client);
}

fn expect_acknowledged(client: &mut Client) {
    assert!(matches!(&client.tokens()[..], [Token::Done(done)] if done.status.attn && !done.status.more));
}

#[test]
fn a_login_gets_what_drivers_expect_in_sql_servers_order() {
    let (server, _) = start(|_| {});
    let (_client, tokens) = Client::log_in(&server, "SA", PASSWORD, "vlf");
    let names: Vec<String> = tokens
        .iter()
        .map(|token| match token {
            Token::EnvChange(change) => format!("{:?}", change.env_type),
            Token::Info(info) => info.number.to_string(),
            Token::LoginAck(ack) => ack.prog_name.clone(),
            Token::Done(done) => format!("done {}", done.status.more),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = [
        "Database",
        "5701",
        "SqlCollation",
        "Language",
        "5703",
        "Microsoft SQL Server",
        "PacketSize",
        "done false",
    ];
    assert_eq!(
        names
            .into_iter()
            .filter(|name| !name.starts_with("Feature"))
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn refused_logins_tell_the_client_little_and_the_error_log_why() {
    let (server, words) = start(|_| {});
    let walks: [(&str, &str, &str, &[i32], &str); 3] = [
        ("sa", "wrong", "", &[18456], "18456, Severity: 14, State: 8."),
        ("nobody", PASSWORD, "", &[18456], "18456, Severity: 14, State: 5."),
        (
            "sa",
            PASSWORD,
            "gone",
            &[4060, 18456],
            "18456, Severity: 14, State: 38.",
        ),
    ];
    for (user, password, database, numbers, line) in walks {
        let (mut client, tokens) = Client::log_in(&server, user, password, database);
        assert_eq!(errors(&tokens), numbers, "{user}");
        assert!(
            tokens
                .iter()
                .all(|token| !matches!(token, Token::Error(error) if error.state != 1))
        );
        assert!(client.payload().is_none(), "the connection is closed");
        assert!(words.logged(line), "{line}");
    }
    assert!(words.logged("Reason: Password did not match that for the login provided. [CLIENT: 127.0.0.1]"));
}

#[test]
fn results_come_with_counts_and_the_more_bit() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    let tokens = client.batch("rows 3\nupdate 7\nupdate");
    assert_eq!(row_count(&tokens), 3);
    let dones: Vec<_> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Done(done) => Some((done.status.more, done.status.count, done.row_count, done.cur_cmd)),
            _ => None,
        })
        .collect();
    assert_eq!(
        dones,
        [(true, true, 3, 0xC1), (true, true, 7, 0xC5), (false, false, 0, 0xC5)]
    );
    assert_eq!(client.batch("").len(), 1, "an empty batch is answered by one DONE");
}

#[test]
fn errors_mark_their_done_and_the_session_goes_on() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    let tokens = client.batch("update 1\nfail 208");
    assert_eq!(errors(&tokens), [208]);
    assert!(
        matches!(&tokens[..], [Token::Done(first), Token::Error(error), Token::Done(last)]
        if first.status.more && !first.status.error && error.line == 3 && error.server == "WORDS"
            && last.status.error && !last.status.more)
    );
    assert_eq!(errors(&client.batch("misfit")), [50_010]);
    assert_eq!(row_count(&client.batch("rows 2")), 2);
}

#[test]
fn a_long_result_arrives_whole() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    assert_eq!(row_count(&client.batch("rows 30000")), 30_000);
}

#[test]
fn what_is_flushed_arrives_while_the_batch_runs_and_attention_ends_it() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    client.send_batch("print now");
    let mut head = [0; 9];
    client.stream.read_exact(&mut head).unwrap();
    assert_eq!(
        (head[1], head[8]),
        (0, 0xAB),
        "an INFO in a packet that does not end the message"
    );
    let mut rest = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]])) - 9];
    client.stream.read_exact(&mut rest).unwrap();
    let start = Instant::now();
    client.send(6, 1, &[]);
    expect_cancelled(&mut client);
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// RAISERROR WITH NOWAIT was parsed and no more: what it said came with the end of the batch, here ten minutes later.
#[test]
fn what_raiserror_says_with_nowait_arrives_while_the_batch_waits() {
    const INFO: u8 = 0xAB;
    const ERROR: u8 = 0xAA;
    let server = support::start_sql();
    let mut client = Client::sa(&server);
    client.batch("create procedure p as raiserror('inside', 16, 1) with nowait");
    for (says, token) in [
        ("raiserror('now', 0, 1) with nowait", INFO),
        ("raiserror('now', 10, 1) with nowait", INFO),
        ("raiserror('now', 16, 1) with nowait", ERROR),
        ("exec p", ERROR),
        (
            "begin try exec p end try begin catch raiserror('now', 1, 1) with nowait end catch",
            INFO,
        ),
    ] {
        client.send_batch(&format!("set nocount on {says} waitfor delay '00:10:00'"));
        let mut head = [0; 9];
        client.stream.read_exact(&mut head).unwrap();
        assert_eq!(
            (head[1], head[8]),
            (0, token),
            "{says}: in a packet that does not end the message"
        );
        let mut rest = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]])) - 9];
        client.stream.read_exact(&mut rest).unwrap();
        client.send(6, 1, &[]);
        expect_cancelled(&mut client);
    }
    // What waited with it comes along.
    client.send_batch("select 1 raiserror('now', 0, 1) with nowait waitfor delay '00:10:00'");
    let mut head = [0; 9];
    client.stream.read_exact(&mut head).unwrap();
    assert_eq!((head[1], head[8]), (0, 0x81), "the columns of the SELECT");
    let mut rest = vec![0; usize::from(u16::from_be_bytes([head[2], head[3]])) - 9];
    client.stream.read_exact(&mut rest).unwrap();
    let says: Vec<u8> = "now".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(rest.windows(says.len()).any(|part| part == says), "{rest:?}");
    client.send(6, 1, &[]);
    expect_cancelled(&mut client);
}

#[test]
fn attention_stops_a_result_and_is_answered_once() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    for _ in 0..20 {
        client.send_batch("forever");
        client.send(6, 1, &[]);
        expect_cancelled(&mut client);
        assert_eq!(
            row_count(&client.batch("rows 5")),
            5,
            "the next request is not cancelled"
        );
    }
    client.send(6, 1, &[]);
    expect_acknowledged(&mut client);
    assert_eq!(row_count(&client.batch("rows 5")), 5);
}

/// A stranger wrote whatever lines he liked into the error log, and as long as he liked: his name goes there before it is known.
#[test]
fn a_strangers_name_is_one_line_of_the_error_log_and_a_short_one() {
    let (server, words) = start(|_| {});
    let forged = "x'.\r\n2026-11-25 10:00:00.00 Logon       Login succeeded for user 'sa";
    for (user, database) in [(forged, ""), ("sa", "a\nb\u{1b}[2J\u{2028}c")] {
        let password = if user == "sa" { PASSWORD } else { "wrong" };
        let (_, tokens) = Client::log_in(&server, user, password, database);
        assert_eq!(errors(&tokens).last(), Some(&18456));
    }
    let log = words.log.lock().unwrap().clone();
    assert!(
        log.iter().any(|line| line.contains("x'.\\u{d}\\u{a}2026-11-25")),
        "{log:?}"
    );
    assert!(
        log.iter().any(|line| line.contains("'a\\u{a}b\\u{1b}[2J\\u{2028}c'")),
        "{log:?}"
    );
    assert!(!log.iter().any(|line| line.contains(char::is_control)), "{log:?}");
    let mut client = Client::connect(&server);
    client.send(0x12, 1, &PreLogin::new().encode());
    client.payload().unwrap();
    let login = Login7::new().with_sql_auth("u".repeat(129), "wrong").encode();
    client.send(0x10, 1, &login);
    assert!(client.payload().is_none());
    assert!(words.logged("17832") && words.logged("the LOGIN7 user is too long (129)"));
    assert!(!words.logged("uuu"));
}

#[test]
fn garbage_costs_the_sender_its_connection_and_nobody_else() {
    let (server, words) = start(|_| {});
    let mut other = Client::sa(&server);
    for garbage in [
        &b"GET / HTTP/1.0\r\n\r\n"[..],
        &[0xFF; 5000],
        &[0x12, 1, 0, 9, 0, 0, 0, 0, 7],
        &[1, 1, 0, 10, 0, 0, 1, 0, b'x', 0],
    ] {
        let mut client = Client::connect(&server);
        client.stream.write_all(garbage).unwrap();
        assert!(client.payload().is_none());
    }
    assert!(words.logged("17836") && words.logged("17832"));
    let mut late = Client::sa(&server);
    late.stream.write_all(&[0xEE; 100]).unwrap();
    assert!(late.payload().is_none());
    late = Client::sa(&server);
    late.send(1, 1, &[9, 0, 0, 0, 1]);
    assert_eq!(errors(&late.tokens()), [50_011]);
    assert!(late.payload().is_none());
    assert_eq!(row_count(&other.batch("rows 1")), 1);
}

#[test]
fn a_panic_costs_one_session() {
    let (server, words) = start(|_| {});
    let mut other = Client::sa(&server);
    let mut client = Client::sa(&server);
    let tokens = client.batch("update 1\npanic");
    assert_eq!(errors(&tokens), [3624]);
    assert_eq!(row_count(&tokens), 0);
    assert!(client.payload().is_none());
    assert!(words.logged("the word was panic"));
    let mut caller = Client::sa(&server);
    assert_eq!(errors(&caller.rpc(&RpcRequest::execute_sql("panic", vec![]))), [3624]);
    assert_eq!(row_count(&other.batch("rows 1")), 1);
    eventually("both sessions are closed", || server.connection_count() == 1);
}

#[test]
fn a_client_that_vanishes_stops_its_request() {
    let (server, _) = start(|_| {});
    for word in ["wait", "forever"] {
        let mut client = Client::sa(&server);
        client.send_batch(word);
        drop(client);
        eventually("the session ends", || server.connection_count() == 0);
    }
}

#[test]
fn a_session_that_ended_is_closed_after_its_answer() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    assert_eq!(client.batch("kill").len(), 1);
    assert!(client.payload().is_none());
}

#[test]
fn prepared_statements_live_until_unprepared_or_reset() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    let int = |value| RpcParam::int("", value);
    let tokens = client.rpc(&RpcRequest::prepexec("rows 2", vec![int(1)]));
    assert_eq!(row_count(&tokens), 2);
    assert!(
        tokens
            .iter()
            .any(|token| matches!(token, Token::ReturnValue(value) if value.value[..] == [4, 1, 0, 0, 0]))
    );
    assert!(matches!(tokens.last(), Some(Token::DoneProc(done)) if !done.status.more));
    assert_eq!(row_count(&client.rpc(&RpcRequest::execute(1, vec![int(5)]))), 2);
    assert_eq!(errors(&client.rpc(&RpcRequest::execute(2, vec![]))), [8179]);
    assert_eq!(errors(&client.rpc(&RpcRequest::unprepare(1))), Vec::<i32>::new());
    assert_eq!(errors(&client.rpc(&RpcRequest::unprepare(1))), [8179]);
    client.rpc(&RpcRequest::prepare("rows 1", &[]));
    assert_eq!(row_count(&client.rpc(&RpcRequest::execute(2, vec![]))), 1);
    client.batch("use vlf");
    client.send(1, 0x09, &tds_protocol::SqlBatch::new("rows 1").encode());
    let tokens = client.tokens();
    assert!(matches!(&tokens[0], Token::EnvChange(change) if format!("{:?}", change.env_type).contains("Reset")));
    assert!(matches!(&tokens[1], Token::EnvChange(change) if change.new_database() == Some("master")));
    assert_eq!(errors(&client.rpc(&RpcRequest::execute(2, vec![]))), [8179]);
}

#[test]
fn calls_return_status_and_output_parameters() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    let tokens = client.rpc(&RpcRequest::execute_sql(
        "update 1",
        vec![RpcParam::int("@a", 21).as_output()],
    ));
    assert!(tokens.iter().any(|token| matches!(token, Token::ReturnStatus(0))));
    assert!(tokens.iter().any(
        |token| matches!(token, Token::ReturnValue(value) if value.param_name == "@a" && value.value[..] == [4, 42, 0, 0, 0])
    ));
    assert_eq!(errors(&client.rpc(&RpcRequest::named("sp_nothing"))), [2812]);
    let textless = RpcRequest::by_id(tds_protocol::ProcId::ExecuteSql).param(RpcParam::int("", 1));
    assert_eq!(errors(&client.rpc(&textless)), [214]);
    assert_eq!(
        errors(&client.rpc(&RpcRequest::by_id(tds_protocol::ProcId::ExecuteSql))),
        [201]
    );
    let strange = RpcRequest::named("p").param(RpcParam::null("@t", RpcTypeInfo::tvp("dbo.t")));
    assert_eq!(errors(&client.rpc(&strange)), [8009]);
}

#[test]
fn transactions_by_request() {
    let (server, _) = start(|_| {});
    let mut client = Client::sa(&server);
    let mut kinds = Vec::new();
    for body in [&[5, 0, 2, 0][..], &[7, 0, 0, 0], &[5, 0, 0, 0], &[8, 0, 0, 0]] {
        let mut payload = vec![22, 0, 0, 0, 18, 0, 0, 0, 2, 0];
        payload.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        payload.extend_from_slice(body);
        client.send(0x0E, 1, &payload);
        if let [Token::EnvChange(change), Token::Done(done)] = &client.tokens()[..] {
            kinds.push(format!("{:?} {}", change.env_type, done.status.more));
        }
    }
    assert_eq!(
        kinds,
        [
            "BeginTransaction false",
            "CommitTransaction false",
            "BeginTransaction false",
            "RollbackTransaction false"
        ]
    );
}

#[test]
fn the_connection_limit_is_told() {
    let (server, _) = start(|options| options.connections_max = 1);
    let first = Client::sa(&server);
    assert_eq!(errors(&Client::log_in(&server, "sa", PASSWORD, "").1), [17809]);
    drop(first);
    eventually("the first is gone", || server.connection_count() == 0);
    assert!(errors(&Client::log_in(&server, "sa", PASSWORD, "").1).is_empty());
}

#[test]
fn a_silent_client_is_dropped_at_the_timeout() {
    let (server, words) = start(|options| options.login_timeout = Duration::from_millis(100));
    let mut client = Client::connect(&server);
    assert!(client.payload().is_none());
    assert!(words.logged("17830"));
}

#[test]
fn stopping_lets_requests_finish_and_then_cancels() {
    let (mut server, _) = start(|_| {});
    let mut quick = Client::sa(&server);
    let _idle = Client::sa(&server);
    quick.send_batch("sleep 200");
    std::thread::sleep(Duration::from_millis(50));
    assert!(server.stop(Duration::from_secs(5)));
    assert!(matches!(&quick.tokens()[..], [Token::Done(done)] if done.row_count == 1));

    let (mut server, _) = start(|_| {});
    let mut slow = Client::sa(&server);
    slow.send_batch("wait");
    std::thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    assert!(server.stop(Duration::from_millis(50)));
    assert!(start.elapsed() < Duration::from_secs(5));
}
