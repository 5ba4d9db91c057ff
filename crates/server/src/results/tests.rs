//! What a client receives of what a session says.
#![allow(clippy::unwrap_used)]

use engine::types::{Decimal, Length};
use tds::bulk::BulkLoad;
use tds::{PacketReader, RpcParameter, TdsVersion, Value as WireValue};
use tds_protocol::{Token, TokenParser};

use super::*;
use crate::sql::{column_type, parameter};

/// The payload of the answer to what a session says.
fn payload(announced: &mut Announced, said: impl FnOnce(&mut Results<'_>)) -> Vec<u8> {
    let (mut tokens, mut sent) = (TokenWriter::new(TdsVersion::V7_4), Vec::new());
    let signals = Signals::default();
    let mut results = Results::new(&mut tokens, &mut sent, &signals, "VLFLAB", announced);
    said(&mut results);
    results.finish(false);
    PacketReader::default()
        .next(&mut sent.as_slice())
        .unwrap()
        .unwrap()
        .payload
}

fn tokens(payload: Vec<u8>) -> Vec<Token> {
    let mut parser = TokenParser::new(payload.into());
    let (mut columns, mut tokens) = (None, Vec::new());
    while let Some(token) = parser.next_token_with_metadata(columns.as_ref()).unwrap() {
        if let Token::ColMetaData(found) = &token {
            columns = Some(found.clone());
        }
        tokens.push(token);
    }
    tokens
}

/// Number and severity of every message, errors and others.
fn messages(tokens: &[Token]) -> Vec<(i32, u8)> {
    let message = |token: &Token| match token {
        Token::Error(error) => Some((error.number, error.class)),
        Token::Info(info) => Some((info.number, info.class)),
        _ => None,
    };
    tokens.iter().filter_map(message).collect()
}

fn samples() -> Vec<(SqlType, Value)> {
    vec![
        (SqlType::Bit, Value::Bit(true)),
        (SqlType::TinyInt, Value::TinyInt(200)),
        (SqlType::SmallInt, Value::SmallInt(-2)),
        (SqlType::Int, Value::Int(7)),
        (SqlType::BigInt, Value::BigInt(i64::MIN)),
        (
            SqlType::Decimal {
                precision: 10,
                scale: 3,
            },
            Value::Decimal(Decimal::new(-12_345, 10, 3)),
        ),
        (SqlType::Money, Value::Money(-5)),
        (SqlType::SmallMoney, Value::SmallMoney(5)),
        (SqlType::Real, Value::Real(0.5)),
        (SqlType::Float, Value::Float(0.25)),
        (SqlType::Date, Value::Date(739_000)),
        (SqlType::Time { scale: 3 }, Value::Time(12_340_000)),
        (SqlType::DateTime, Value::DateTime { days: -1, ticks: 300 }),
        (SqlType::SmallDateTime, Value::SmallDateTime { days: 1, minutes: 2 }),
        (
            SqlType::DateTime2 { scale: 7 },
            Value::DateTime2 {
                days: 5,
                ticks: 863_999_999_999,
            },
        ),
        (
            SqlType::DateTimeOffset { scale: 0 },
            Value::DateTimeOffset {
                days: 5,
                ticks: 10_000_000,
                offset_minutes: -60,
            },
        ),
        (SqlType::Char(3), Value::text("a\u{20AC} ")),
        (SqlType::VarChar(Length::Limited(10)), Value::text("caf\u{E9}")),
        (SqlType::VarChar(Length::Max), Value::text("long")),
        (SqlType::NChar(2), Value::text("\u{4E2D} ")),
        (SqlType::NVarChar(Length::Limited(4)), Value::text("\u{1F600}")),
        (SqlType::NVarChar(Length::Max), Value::text("")),
        (SqlType::Binary(2), Value::binary([1, 2])),
        (SqlType::VarBinary(Length::Max), Value::binary([3])),
        (SqlType::UniqueIdentifier, Value::UniqueIdentifier([9; 16])),
    ]
}

#[test]
fn every_value_goes_out_and_comes_back_as_a_parameter() {
    let samples = samples();
    let columns = samples.iter().map(|(sql_type, _)| ResultColumn::new("c", *sql_type));
    let columns: Vec<_> = columns.collect();
    let row: Vec<Value> = samples.iter().map(|(_, value)| value.clone()).collect();
    let sent = payload(&mut Announced::default(), |results| {
        results.columns(&columns).unwrap();
        results.bitmap_rows = false;
        results.row(&row).unwrap();
        results.row(&vec![Value::Null; row.len()]).unwrap();
        results.done(Some(2), Finished::Select).unwrap();
    });
    let mut load = BulkLoad::parse(&sent, TdsVersion::V7_4).unwrap();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    assert!(load.next_row(&mut first).unwrap() && load.next_row(&mut second).unwrap());
    for ((sql_type, value), (sent, null)) in samples.iter().zip(first.into_iter().zip(second)) {
        let sent = RpcParameter {
            name: "@p".to_owned(),
            output: false,
            default: false,
            column_type: column_type(*sql_type),
            value: sent,
            table: None,
        };
        let back = parameter(&sent);
        assert_eq!((back.sql_type, &back.value), (*sql_type, value));
        assert_eq!(null, WireValue::Null);
    }
}

#[test]
fn a_value_of_another_type_or_size_does_not_go_out() {
    let column = ResultColumn::new("d", SqlType::Decimal { precision: 3, scale: 1 });
    let sent = payload(&mut Announced::default(), |results| {
        results.columns(&[column]).unwrap();
        results.row(&[Value::Decimal(Decimal::new(9_990, 10, 2))]).unwrap();
        results.row(&[Value::Decimal(Decimal::new(100_000, 10, 2))]).unwrap();
        results.row(&[Value::text("1")]).unwrap();
    });
    let tokens = tokens(sent);
    let rows = tokens.iter().filter(|token| matches!(token, Token::Row(_))).count();
    assert_eq!(rows, 1);
    assert_eq!(messages(&tokens), [(50_010, 16), (50_010, 16)]);
}

/// What a panic leaves of a row would be read as the beginning of the next token.
#[test]
fn a_row_that_was_not_finished_does_not_go_out() {
    let whole = |results: &mut Results<'_>| {
        results.columns(&[ResultColumn::new("a", SqlType::Int)]).unwrap();
    };
    let sent = payload(&mut Announced::default(), |results| {
        whole(results);
        results.open_row = Some(results.tokens.pending());
        results.tokens.packets().payload().extend([0xD1, 4, 1]);
        results.drop_open_row();
    });
    assert_eq!(sent, payload(&mut Announced::default(), whole));
}

/// What a session announced before is kept for the next request; another result set, or the same with one column changed, must
/// not go out under its names.
#[test]
fn columns_kept_from_the_request_before_describe_no_other_result() {
    let plain = [
        ResultColumn::new("a", SqlType::Int),
        ResultColumn::new("b", SqlType::Bit),
    ];
    let mut marked = plain.clone();
    marked[1].identity = true;
    let mut renamed = plain.clone();
    renamed[0].name = "c".to_owned();
    let mut shorter = plain.to_vec();
    shorter.pop();
    let mut widened = plain.clone();
    widened[0].sql_type = SqlType::BigInt;
    let mut kept = Announced::default();
    for columns in [&plain[..], &plain, &marked, &renamed, &shorter, &plain, &widened] {
        let sent = |announced: &mut Announced| payload(announced, |results| results.columns(columns).unwrap());
        assert_eq!(sent(&mut kept), sent(&mut Announced::default()), "{columns:?}");
    }
}

/// Drivers take a message with a severity above 0 for an error.
#[test]
fn informational_messages_are_no_errors_to_drivers() {
    let sent = payload(&mut Announced::default(), |results| {
        results.database_changed("master", "vlf");
        for (number, severity) in [(5701, 10), (2528, 10), (50_000, 5), (911, 16)] {
            let message = Message {
                number,
                severity,
                state: 1,
                line: 1,
                procedure: String::new(),
                text: String::new(),
            };
            results.message(&message).unwrap();
        }
    });
    let tokens = tokens(sent);
    assert!(matches!(tokens[0], Token::EnvChange(_)), "{:?}", tokens[0]);
    assert_eq!(messages(&tokens), [(5701, 0), (2528, 0), (50_000, 5), (911, 16)]);
}
