//! T-SQL values to a client and back.
#![allow(clippy::unwrap_used)]

use engine::types::{Decimal, Length, SqlType, Value};
use server::backend::{CallEnd, Notice, ResultSink, SessionChange, StatementKind, Stop};
use server::sql::{Announced, Bridge, column_type, parameter};
use tds::bulk::BulkLoad;
use tds::token::{Done, DoneKind, TokenWriter};
use tds::{Column, ColumnType, PacketReader, RowError, RowWriter, RpcParameter, TdsVersion, Value as WireValue};
use tsql::session::{ResultColumn, ResultSink as _};

/// Takes tokens, and notes what else it gets.
struct Taker {
    tokens: TokenWriter,
    rows: Vec<Result<(), RowError>>,
    changes: Vec<String>,
}

impl ResultSink for Taker {
    fn columns(&mut self, columns: &[Column]) -> Result<(), Stop> {
        self.tokens.columns(columns);
        Ok(())
    }
    fn row(&mut self, fill: &mut dyn FnMut(&mut RowWriter<'_>)) -> Result<(), Stop> {
        let mut row = self.tokens.row();
        fill(&mut row);
        self.rows.push(row.finish());
        Ok(())
    }
    fn done(&mut self, _: StatementKind, _: Option<u64>) -> Result<(), Stop> {
        self.tokens.done(DoneKind::Done, &Done::default());
        Ok(())
    }
    fn notice(&mut self, notice: &Notice) -> Result<(), Stop> {
        self.changes.push(format!("{} {}", notice.number, notice.severity));
        Ok(())
    }
    fn changed(&mut self, change: SessionChange<'_>) -> Result<(), Stop> {
        self.changes.push(format!("{change:?}"));
        Ok(())
    }
    fn call_begun(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn call_ended(&mut self, _: CallEnd) -> Result<(), Stop> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}

fn taker() -> Taker {
    Taker {
        tokens: TokenWriter::new(TdsVersion::V7_4),
        rows: Vec::new(),
        changes: Vec::new(),
    }
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
    let mut taker = taker();
    let mut announced = Announced::default();
    let mut bridge = Bridge::new(&mut taker, &[], &mut announced);
    let columns: Vec<_> = samples
        .iter()
        .map(|(sql_type, _)| ResultColumn::new("c", *sql_type))
        .collect();
    bridge.columns(&columns).unwrap();
    let row: Vec<Value> = samples.iter().map(|(_, value)| value.clone()).collect();
    bridge.row(&row).unwrap();
    bridge.row(&vec![Value::Null; row.len()]).unwrap();
    bridge.done(Some(2), tsql::session::DoneKind::Select).unwrap();
    assert_eq!(taker.rows, [Ok(()), Ok(())]);
    let mut wire = Vec::new();
    taker.tokens.finish(&mut wire).unwrap();
    let message = PacketReader::default().next(&mut wire.as_slice()).unwrap().unwrap();
    let mut load = BulkLoad::parse(&message.payload, TdsVersion::V7_4).unwrap();
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
    let mut taker = taker();
    let mut announced = Announced::default();
    let mut bridge = Bridge::new(&mut taker, &[], &mut announced);
    bridge
        .columns(&[ResultColumn::new("d", SqlType::Decimal { precision: 3, scale: 1 })])
        .unwrap();
    bridge.row(&[Value::Decimal(Decimal::new(9_990, 10, 2))]).unwrap();
    bridge.row(&[Value::Decimal(Decimal::new(100_000, 10, 2))]).unwrap();
    bridge.row(&[Value::text("1")]).unwrap();
    assert_eq!(
        taker.rows,
        [Ok(()), Err(RowError::TooLong(0)), Err(RowError::Mismatch(0))]
    );
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
        let sent = |announced: &mut Announced| {
            let mut taker = taker();
            Bridge::new(&mut taker, &[], announced).columns(columns).unwrap();
            let mut wire = Vec::new();
            taker.tokens.finish(&mut wire).unwrap();
            wire
        };
        assert_eq!(sent(&mut kept), sent(&mut Announced::default()), "{columns:?}");
    }
}

#[test]
fn output_parameters_find_their_arguments() {
    let argument = |name: &str, output| RpcParameter {
        name: name.to_owned(),
        output,
        default: false,
        column_type: ColumnType::Int,
        value: WireValue::Null,
        table: None,
    };
    let arguments = [argument("@a", false), argument("", true), argument("@B", true)];
    let mut taker = taker();
    let mut announced = Announced::default();
    let mut bridge = Bridge::new(&mut taker, &arguments, &mut announced);
    bridge.return_status(-6);
    bridge.output_parameter("@b", SqlType::Int, &Value::Int(2));
    bridge.output_parameter("@first", SqlType::Int, &Value::Int(1));
    bridge.output_parameter("@surplus", SqlType::Int, &Value::Int(3));
    bridge.database_changed("master", "vlf");
    let outcome = bridge.into_outcome();
    assert_eq!(outcome.return_status, -6);
    assert_eq!(outcome.outputs, [(2, WireValue::Int(2)), (1, WireValue::Int(1))]);
    assert_eq!(taker.changes, ["Database(\"vlf\", \"master\")"]);
}

/// Severity 10 goes out as 0, and the message of USE is the server's own.
#[test]
fn informational_messages_are_no_errors_to_drivers() {
    let mut taker = taker();
    let mut announced = Announced::default();
    let mut bridge = Bridge::new(&mut taker, &[], &mut announced);
    for (number, severity) in [(5701, 10), (2528, 10), (50_000, 5), (911, 16)] {
        let message = tsql::session::Message {
            number,
            severity,
            state: 1,
            line: 1,
            procedure: String::new(),
            text: String::new(),
        };
        bridge.message(&message).unwrap();
    }
    assert_eq!(taker.changes, ["2528 0", "50000 5", "911 16"]);
}
