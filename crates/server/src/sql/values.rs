//! Types and values between the engine and the wire.
//!
//! The engine keeps time in ticks of 100 ns whatever the declared scale; the wire counts in units of the scale. Strings are
//! UTF-8 in the engine; on the wire they are UTF-16 or code page 1252, as the column's type says.

use std::rc::Rc;

use engine::types::{Decimal, Length, SqlType, Value, Variant};
use tds::{ColumnType, RowWriter, RpcParameter, Value as WireValue};
use tsql::session::{ClientTable, Parameter};

use super::rows::SentTable;

/// The finest scale of the time types: ticks of 100 ns.
const SCALE_MAX: u8 = 7;

/// The wire's type of a column.
pub fn column_type(sql_type: SqlType) -> ColumnType {
    match sql_type {
        SqlType::Bit => ColumnType::Bit,
        SqlType::TinyInt => ColumnType::TinyInt,
        SqlType::SmallInt => ColumnType::SmallInt,
        SqlType::Int => ColumnType::Int,
        SqlType::BigInt => ColumnType::BigInt,
        SqlType::Decimal { precision, scale } => ColumnType::Decimal { precision, scale },
        SqlType::Money => ColumnType::Money,
        SqlType::SmallMoney => ColumnType::SmallMoney,
        SqlType::Real => ColumnType::Real,
        SqlType::Float => ColumnType::Float,
        SqlType::Date => ColumnType::Date,
        SqlType::Time { scale } => ColumnType::Time { scale },
        SqlType::DateTime => ColumnType::DateTime,
        SqlType::SmallDateTime => ColumnType::SmallDateTime,
        SqlType::DateTime2 { scale } => ColumnType::DateTime2 { scale },
        SqlType::DateTimeOffset { scale } => ColumnType::DateTimeOffset { scale },
        SqlType::Char(units) => ColumnType::Char(units),
        SqlType::VarChar(Length::Limited(units)) => ColumnType::VarChar(units),
        SqlType::VarChar(Length::Max) => ColumnType::VarCharMax,
        SqlType::NChar(units) => ColumnType::NChar(units),
        SqlType::NVarChar(Length::Limited(units)) => ColumnType::NVarChar(units),
        SqlType::NVarChar(Length::Max) => ColumnType::NVarCharMax,
        SqlType::Binary(units) => ColumnType::Binary(units),
        SqlType::VarBinary(Length::Limited(units)) => ColumnType::VarBinary(units),
        SqlType::VarBinary(Length::Max) => ColumnType::VarBinaryMax,
        SqlType::UniqueIdentifier => ColumnType::UniqueIdentifier,
        SqlType::SqlVariant => ColumnType::SqlVariant,
    }
}

/// The engine's type of a parameter; a sql_variant has the type of what is in it.
pub(super) fn sql_type(column: ColumnType, value: &WireValue) -> SqlType {
    let limited = |units: u16| Length::Limited(units.max(1));
    match column {
        ColumnType::Bit => SqlType::Bit,
        ColumnType::TinyInt => SqlType::TinyInt,
        ColumnType::SmallInt => SqlType::SmallInt,
        ColumnType::Int => SqlType::Int,
        ColumnType::BigInt => SqlType::BigInt,
        ColumnType::Real => SqlType::Real,
        ColumnType::Float => SqlType::Float,
        ColumnType::SmallMoney => SqlType::SmallMoney,
        ColumnType::Money => SqlType::Money,
        ColumnType::Decimal { precision, scale } | ColumnType::Numeric { precision, scale } => {
            SqlType::Decimal { precision, scale }
        }
        ColumnType::Date => SqlType::Date,
        ColumnType::Time { scale } => SqlType::Time { scale },
        ColumnType::SmallDateTime => SqlType::SmallDateTime,
        ColumnType::DateTime => SqlType::DateTime,
        ColumnType::DateTime2 { scale } => SqlType::DateTime2 { scale },
        ColumnType::DateTimeOffset { scale } => SqlType::DateTimeOffset { scale },
        ColumnType::Char(units) => SqlType::Char(units.max(1)),
        ColumnType::VarChar(units) => SqlType::VarChar(limited(units)),
        ColumnType::VarCharMax | ColumnType::Text => SqlType::VarChar(Length::Max),
        ColumnType::NChar(units) => SqlType::NChar(units.max(1)),
        ColumnType::NVarChar(units) => SqlType::NVarChar(limited(units)),
        ColumnType::NVarCharMax | ColumnType::NText => SqlType::NVarChar(Length::Max),
        ColumnType::Binary(units) => SqlType::Binary(units.max(1)),
        ColumnType::VarBinary(units) => SqlType::VarBinary(limited(units)),
        ColumnType::VarBinaryMax | ColumnType::Image => SqlType::VarBinary(Length::Max),
        ColumnType::UniqueIdentifier => SqlType::UniqueIdentifier,
        ColumnType::SqlVariant if *value == WireValue::Null => SqlType::SqlVariant,
        ColumnType::SqlVariant => variant_type(value),
    }
}

pub(super) fn variant_type(value: &WireValue) -> SqlType {
    match *value {
        WireValue::Bit(_) => SqlType::Bit,
        WireValue::TinyInt(_) => SqlType::TinyInt,
        WireValue::SmallInt(_) => SqlType::SmallInt,
        WireValue::Int(_) => SqlType::Int,
        WireValue::BigInt(_) => SqlType::BigInt,
        WireValue::Real(_) => SqlType::Real,
        WireValue::Float(_) => SqlType::Float,
        WireValue::Money(_) => SqlType::Money,
        WireValue::Decimal { scale, .. } => SqlType::Decimal { precision: 38, scale },
        WireValue::Date(_) => SqlType::Date,
        WireValue::Time { scale, .. } => SqlType::Time { scale },
        WireValue::SmallDateTime { .. } => SqlType::SmallDateTime,
        WireValue::DateTime { .. } => SqlType::DateTime,
        WireValue::DateTime2 { scale, .. } => SqlType::DateTime2 { scale },
        WireValue::DateTimeOffset { scale, .. } => SqlType::DateTimeOffset { scale },
        WireValue::VarChar(_) => SqlType::VarChar(Length::Limited(8000)),
        WireValue::Null | WireValue::NVarChar(_) => SqlType::NVarChar(Length::Limited(4000)),
        WireValue::Binary(_) => SqlType::VarBinary(Length::Limited(8000)),
        WireValue::UniqueIdentifier(_) => SqlType::UniqueIdentifier,
    }
}

/// A parameter of a call, as T-SQL takes it.
pub fn parameter(sent: &RpcParameter) -> Parameter {
    let sql_type = sql_type(sent.column_type, &sent.value);
    Parameter {
        name: sent.name.clone(),
        sql_type,
        value: from_wire(&sent.value, sql_type),
        output: sent.output,
        is_default: sent.default,
        table: sent
            .table
            .clone()
            .map(|table| Rc::new(SentTable(table)) as Rc<dyn ClientTable>),
    }
}

pub(super) fn from_wire(value: &WireValue, sql_type: SqlType) -> Value {
    let day = |days: u32| i32::try_from(days).unwrap_or(i32::MAX);
    match *value {
        WireValue::Null => Value::Null,
        WireValue::Bit(value) => Value::Bit(value),
        WireValue::TinyInt(value) => Value::TinyInt(value),
        WireValue::SmallInt(value) => Value::SmallInt(value),
        WireValue::Int(value) => Value::Int(value),
        WireValue::BigInt(value) => Value::BigInt(value),
        WireValue::Real(value) => Value::Real(value),
        WireValue::Float(value) => Value::Float(value),
        WireValue::Money(value) => match i32::try_from(value) {
            Ok(narrow) if sql_type == SqlType::SmallMoney => Value::SmallMoney(narrow),
            _ => Value::Money(value),
        },
        WireValue::Decimal {
            negative,
            magnitude,
            scale,
        } => decimal(negative, magnitude, scale, sql_type),
        WireValue::Date(days) => Value::Date(day(days)),
        WireValue::Time { units, scale } => Value::Time(ticks(units, scale)),
        WireValue::SmallDateTime { days, minutes } => Value::SmallDateTime { days, minutes },
        WireValue::DateTime { days, ticks } => Value::DateTime { days, ticks },
        WireValue::DateTime2 { days, units, scale } => Value::DateTime2 {
            days: day(days),
            ticks: ticks(units, scale),
        },
        WireValue::DateTimeOffset {
            days,
            units,
            scale,
            offset_minutes,
        } => Value::DateTimeOffset {
            days: day(days),
            ticks: ticks(units, scale),
            offset_minutes,
        },
        WireValue::VarChar(_) | WireValue::NVarChar(_) => Value::text(value.text().unwrap_or_default()),
        WireValue::Binary(ref bytes) => Value::binary(bytes.as_slice()),
        WireValue::UniqueIdentifier(bytes) => Value::UniqueIdentifier(bytes),
    }
}

/// A magnitude of more than 38 digits can only come from a broken client; it becomes NULL rather than another number.
fn decimal(negative: bool, magnitude: u128, scale: u8, sql_type: SqlType) -> Value {
    let SqlType::Decimal { precision, .. } = sql_type else {
        return Value::Null;
    };
    match i128::try_from(magnitude) {
        Ok(coefficient) if Decimal::fits(coefficient, precision) => {
            let signed = if negative { -coefficient } else { coefficient };
            Value::Decimal(Decimal::new(signed, precision, scale))
        }
        _ => Value::Null,
    }
}

fn units_per_tick_inverse(scale: u8) -> u64 {
    10u64.pow(u32::from(SCALE_MAX - scale.min(SCALE_MAX)))
}

/// Units of a scale as ticks of 100 ns.
fn ticks(units: u64, scale: u8) -> u64 {
    units.saturating_mul(units_per_tick_inverse(scale))
}

/// Ticks of 100 ns as units of a scale.
fn units(ticks: u64, scale: u8) -> u64 {
    ticks / units_per_tick_inverse(scale)
}

/// Days from 0001-01-01 as the wire counts them.
fn wire_days(days: i32) -> u32 {
    u32::try_from(days).unwrap_or(0)
}

/// Writes one value of a row. A value of another type than its column makes the row fail, by the writer's own rule.
pub(crate) fn write(row: &mut RowWriter<'_>, sql_type: SqlType, value: &Value) {
    match (value, sql_type) {
        (Value::Null, _) => row.null(),
        (Value::Bit(value), _) => row.bit(*value),
        (Value::TinyInt(value), _) => row.tinyint(*value),
        (Value::SmallInt(value), _) => row.smallint(*value),
        (Value::Int(value), _) => row.int(*value),
        (Value::BigInt(value), _) => row.bigint(*value),
        (Value::Decimal(value), SqlType::Decimal { precision, scale }) => {
            // A value that does not fit its column is given as too long a number, which the writer refuses.
            let coefficient = value
                .rescaled(precision, scale)
                .map_or(i128::MAX, |fitting| fitting.coefficient());
            row.decimal(coefficient < 0, coefficient.unsigned_abs());
        }
        (Value::Decimal(value), _) => row.float(value.to_f64()),
        (Value::Money(value), _) => row.money(*value),
        (Value::SmallMoney(value), _) => row.money(i64::from(*value)),
        (Value::Real(value), _) => row.real(*value),
        (Value::Float(value), _) => row.float(*value),
        (Value::Date(days), _) => row.date(wire_days(*days)),
        (Value::Time(ticks), SqlType::Time { scale }) => row.time(units(*ticks, scale)),
        (Value::Time(ticks), _) => row.time(*ticks),
        (Value::DateTime { days, ticks }, _) => row.datetime(*days, *ticks),
        (Value::SmallDateTime { days, minutes }, _) => row.smalldatetime(*days, *minutes),
        (Value::DateTime2 { days, ticks }, _) => row.datetime2(wire_days(*days), units(*ticks, sql_type.scale())),
        (
            Value::DateTimeOffset {
                days,
                ticks,
                offset_minutes,
            },
            _,
        ) => {
            row.datetimeoffset(wire_days(*days), units(*ticks, sql_type.scale()), *offset_minutes);
        }
        (Value::Text(text), _) => row.text(text),
        (Value::Binary(bytes), _) => row.binary(bytes),
        (Value::UniqueIdentifier(bytes), _) => row.uniqueidentifier(bytes),
        (Value::Variant(variant), _) => write_variant(row, variant),
    }
}

/// A sql_variant: strings go as the writer has them, all else by type, properties and bytes ([MS-TDS] 2.2.5.5.4).
fn write_variant(row: &mut RowWriter<'_>, variant: &Variant) {
    let mut payload = variant.payload();
    let type_id = match &variant.value {
        Value::Text(text) if variant.sql_type.is_unicode() => return row.text(text),
        Value::Text(_) => return row.varchar(&payload),
        Value::Binary(_) => return row.binary(&payload),
        Value::UniqueIdentifier(bytes) => return row.uniqueidentifier(bytes),
        // A bit that is never NULL has a type of its own on the wire.
        Value::Bit(_) => 0x32,
        // Rows have the time before the day and money with its low half first; the wire has it the other way round.
        Value::DateTime { .. } | Value::Money(_) => {
            payload.rotate_left(4);
            variant.sql_type.system_type_id()
        }
        Value::SmallDateTime { .. } => {
            payload.rotate_left(2);
            variant.sql_type.system_type_id()
        }
        _ => variant.sql_type.system_type_id(),
    };
    row.variant(type_id, &variant.properties(), &payload);
}

/// The value of an output parameter.
pub fn to_wire(value: &Value, sql_type: SqlType) -> WireValue {
    let scale = sql_type.scale();
    match value {
        Value::Null => WireValue::Null,
        Value::Bit(value) => WireValue::Bit(*value),
        Value::TinyInt(value) => WireValue::TinyInt(*value),
        Value::SmallInt(value) => WireValue::SmallInt(*value),
        Value::Int(value) => WireValue::Int(*value),
        Value::BigInt(value) => WireValue::BigInt(*value),
        Value::Decimal(value) => WireValue::Decimal {
            negative: value.coefficient() < 0,
            magnitude: value.coefficient().unsigned_abs(),
            scale: value.scale,
        },
        Value::Money(value) => WireValue::Money(*value),
        Value::SmallMoney(value) => WireValue::Money(i64::from(*value)),
        Value::Real(value) => WireValue::Real(*value),
        Value::Float(value) => WireValue::Float(*value),
        Value::Date(days) => WireValue::Date(wire_days(*days)),
        Value::Time(ticks) => WireValue::Time {
            units: units(*ticks, scale),
            scale,
        },
        Value::DateTime { days, ticks } => WireValue::DateTime {
            days: *days,
            ticks: *ticks,
        },
        Value::SmallDateTime { days, minutes } => WireValue::SmallDateTime {
            days: *days,
            minutes: *minutes,
        },
        Value::DateTime2 { days, ticks } => WireValue::DateTime2 {
            days: wire_days(*days),
            units: units(*ticks, scale),
            scale,
        },
        Value::DateTimeOffset {
            days,
            ticks,
            offset_minutes,
        } => WireValue::DateTimeOffset {
            days: wire_days(*days),
            units: units(*ticks, scale),
            scale,
            offset_minutes: *offset_minutes,
        },
        Value::Text(text) if sql_type.is_unicode() => {
            WireValue::NVarChar(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
        }
        Value::Text(text) => {
            let mut bytes = Vec::with_capacity(text.len());
            tds::code_page::encode_into(&mut bytes, text);
            WireValue::VarChar(bytes)
        }
        Value::Binary(bytes) => WireValue::Binary(bytes.to_vec()),
        Value::UniqueIdentifier(bytes) => WireValue::UniqueIdentifier(*bytes),
        Value::Variant(variant) => to_wire(&variant.value, variant.sql_type),
    }
}
