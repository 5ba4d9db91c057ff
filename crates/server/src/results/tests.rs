//! The bytes that a client receives for the answers of a session.
#![allow(clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::types::{Decimal, HeldForm, HeldSource, HeldValue, Length, SqlType};
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
        let back = parameter(&sent).unwrap();
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

/// A long value that stops at a place, in a way.
#[derive(Debug)]
struct Stops {
    at: u64,
    how: How,
}

#[derive(Debug)]
enum How {
    Fails,
    Panics,
    /// The client cancels; the value can be read on.
    Cancelled(Arc<AtomicBool>),
}

const LONG_BYTES: u64 = 2_000_000;

impl HeldSource for Stops {
    fn read(&self, at: u64, into: &mut [u8]) -> engine::error::Result<()> {
        into.fill(b'x');
        if at + (into.len() as u64) <= self.at {
            return Ok(());
        }
        match &self.how {
            How::Fails => Err(Error::new(824, 24, 2, "a damaged page")),
            How::Panics => panic!("the reader panics"),
            How::Cancelled(flag) => {
                flag.store(true, Ordering::SeqCst);
                Ok(())
            }
        }
    }
}

/// The answer to a SELECT of such a value and a number: what was sent, and whether the session goes on.
fn answer(sql_type: SqlType, form: HeldForm, stops: Stops) -> (Vec<u8>, bool) {
    let (mut tokens, mut sent) = (TokenWriter::new(TdsVersion::V7_4), Vec::new());
    let (signals, mut announced) = (Signals::default(), Announced::default());
    if let How::Cancelled(flag) = &stops.how {
        signals.watch(flag.clone());
    }
    let mut results = Results::new(&mut tokens, &mut sent, &signals, "VLFLAB", &mut announced);
    results
        .columns(&[ResultColumn::new("v", sql_type), ResultColumn::new("n", SqlType::Int)])
        .unwrap();
    let value = HeldValue::new(Arc::new(stops), LONG_BYTES, form, Default::default());
    let row = [Value::Held(Arc::new(value)), Value::Int(7)];
    match catch_unwind(AssertUnwindSafe(|| results.row(&row))) {
        Ok(outcome) => {
            assert_eq!(outcome, Err(SinkClosed));
            if let Some(error) = results.take_row_error() {
                results.tell(&error);
            }
        }
        Err(_) => {
            results.drop_open_row();
            results.tell(&notices::assertion_failed());
        }
    }
    let was_cancelled = signals.should_stop();
    let goes_on = results.finish(was_cancelled);
    (sent, goes_on)
}

/// A panic in the middle of a value left its beginning in the stream, and the error behind it was read as more of the value.
#[test]
fn a_row_that_breaks_is_taken_back_or_ends_the_connection() {
    for at in [0, 1_000_000] {
        for panics in [false, true] {
            let how = if panics { How::Panics } else { How::Fails };
            let number = if panics { 3624 } else { 824 };
            let (sent, goes_on) = answer(SqlType::VarBinary(Length::Max), HeldForm::Binary, Stops { at, how });
            assert!(!goes_on, "both are of severity 20 and above, or nothing can follow");
            let message = PacketReader::default().next(&mut sent.as_slice()).unwrap();
            if at == 0 {
                let tokens = tokens(message.unwrap().payload);
                let numbers: Vec<i32> = messages(&tokens).iter().map(|(number, _)| *number).collect();
                assert_eq!(numbers, [number]);
                assert!(!tokens.iter().any(|token| matches!(token, Token::Row(_))));
                assert!(matches!(tokens.last(), Some(Token::Done(_))));
            } else {
                assert!(message.is_none(), "a part of the row has left, and nothing behind it");
                assert!(sent.len() > 500_000 && sent.len() < LONG_BYTES as usize);
            }
        }
    }
}

/// Cancelled in the middle of text, ntext or image, whose length is announced, the connection ended.
#[test]
fn a_row_that_is_cancelled_ends_where_its_client_expects_it() {
    let forms = [
        (SqlType::VarChar(Length::LargeObject), HeldForm::CodePage),
        (SqlType::NVarChar(Length::LargeObject), HeldForm::Utf16),
        (SqlType::VarBinary(Length::LargeObject), HeldForm::Binary),
        (SqlType::VarBinary(Length::Max), HeldForm::Binary),
    ];
    for (sql_type, form) in forms {
        let is_plain = sql_type != SqlType::VarBinary(Length::Max);
        let cancelled = |at| Stops {
            at,
            how: How::Cancelled(Arc::default()),
        };
        // So many zeros would keep the statement, and its locks, for as long as the client takes.
        let (sent, goes_on) = answer(sql_type, form, cancelled(700_000));
        assert_eq!(goes_on, !is_plain, "{sql_type}");
        assert!(sent.len() < 1_000_000, "{sql_type}");
        let (sent, goes_on) = answer(sql_type, form, cancelled(1_200_000));
        assert!(goes_on, "{sql_type}");
        let message = PacketReader::default().next(&mut sent.as_slice()).unwrap().unwrap();
        let whole = LONG_BYTES as usize;
        let bytes = message.payload.len();
        assert!(
            if is_plain { bytes > whole } else { bytes < whole },
            "{sql_type}: {bytes}"
        );
        let tokens = tokens(message.payload);
        assert_eq!(tokens.iter().filter(|token| matches!(token, Token::Row(_))).count(), 1);
        let Some(Token::Done(done)) = tokens.last() else {
            panic!("{tokens:?}")
        };
        assert!(done.status.error, "{sql_type}");
    }
}
