//! Types and values between the engine and the wire.
//!
//! The engine keeps time in ticks of 100 ns whatever the declared scale; the wire counts in units of the scale. Strings are
//! UTF-8 in the engine; on the wire they are UTF-16 or code page 1252, as the column's type says.

use std::rc::Rc;
use std::sync::Arc;

use engine::error::Error;
use engine::types::{Collation, Decimal, Length, SqlType, Value, Variant};
use tds::{ColumnType, RowWriter, RpcParameter, Value as WireValue, VariantValue};
use tsql::scalar::convert::convert;
use tsql::scalar::hierarchy;
use tsql::scalar::spatial::{Surface, to_spatial};
use tsql::scalar::xml::to_xml;
use tsql::session::{ClientTable, Parameter};

use super::rows::SentTable;
use super::sent;
use crate::notices;

const DECIMAL_PRECISION_MAX: u8 = 38;

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
        SqlType::VarChar(Length::Max | Length::Xml) => ColumnType::VarCharMax,
        SqlType::VarChar(Length::LargeObject) => ColumnType::Text,
        SqlType::NChar(units) => ColumnType::NChar(units),
        SqlType::NVarChar(Length::Limited(units)) => ColumnType::NVarChar(units),
        SqlType::NVarChar(Length::Max) => ColumnType::NVarCharMax,
        SqlType::NVarChar(Length::LargeObject) => ColumnType::NText,
        SqlType::XML => ColumnType::Xml,
        SqlType::Binary(units) => ColumnType::Binary(units),
        SqlType::RowVersion => ColumnType::Binary(8),
        SqlType::VarBinary(Length::Limited(units)) => ColumnType::VarBinary(units),
        SqlType::VarBinary(Length::Max | Length::Xml) => ColumnType::VarBinaryMax,
        SqlType::VarBinary(Length::LargeObject) => ColumnType::Image,
        SqlType::UniqueIdentifier => ColumnType::UniqueIdentifier,
        SqlType::SqlVariant => ColumnType::SqlVariant,
        SqlType::HierarchyId => ColumnType::HierarchyId,
        SqlType::Geometry => ColumnType::Geometry,
        SqlType::Geography => ColumnType::Geography,
        // With a collation of UTF-8 (sql-docs, "JSON data type", limitations).
        SqlType::Json => ColumnType::VarCharMax,
    }
}

/// The engine's type of a parameter or column.
pub(super) fn sql_type(column: ColumnType) -> SqlType {
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
        ColumnType::VarCharMax => SqlType::VarChar(Length::Max),
        ColumnType::Text => SqlType::VarChar(Length::LargeObject),
        ColumnType::NChar(units) => SqlType::NChar(units.max(1)),
        ColumnType::NVarChar(units) => SqlType::NVarChar(limited(units)),
        ColumnType::NVarCharMax => SqlType::NVarChar(Length::Max),
        ColumnType::NText => SqlType::NVarChar(Length::LargeObject),
        ColumnType::Binary(units) => SqlType::Binary(units.max(1)),
        ColumnType::VarBinary(units) => SqlType::VarBinary(limited(units)),
        ColumnType::VarBinaryMax => SqlType::VarBinary(Length::Max),
        ColumnType::Image => SqlType::VarBinary(Length::LargeObject),
        ColumnType::UniqueIdentifier => SqlType::UniqueIdentifier,
        ColumnType::SqlVariant => SqlType::SqlVariant,
        ColumnType::HierarchyId => SqlType::HierarchyId,
        ColumnType::Geometry => SqlType::Geometry,
        ColumnType::Geography => SqlType::Geography,
        ColumnType::Xml => SqlType::XML,
    }
}

/// A parameter of a call, as T-SQL takes it.
///
/// # Errors
/// Those of [`from_wire`].
pub fn parameter(sent: &RpcParameter) -> Result<Parameter, Error> {
    let sql_type = sql_type(sent.column_type);
    Ok(Parameter {
        name: sent.name.clone(),
        sql_type,
        value: from_wire(&sent.value, sql_type)?,
        output: sent.output,
        is_default: sent.default,
        table: sent
            .table
            .clone()
            .map(|table| Rc::new(SentTable(table)) as Rc<dyn ClientTable>),
    })
}

/// A value that was sent, in the engine's terms. A long one of a message in a file stays there.
///
/// # Errors
/// 6522 for bytes that are no `hierarchyid`, `geometry` or `geography`; those of [`to_xml`]; 7119 for a string that is longer than any can be; those of reading one in
/// UTF-8, which is not kept as it is: 701, 823.
pub(super) fn from_wire(value: &WireValue, own: SqlType) -> Result<Value, Error> {
    if own == SqlType::XML {
        return xml_from_wire(value);
    }
    match value {
        // None is so long that it would be left in the message.
        WireValue::Long(_) if own == SqlType::HierarchyId => Err(hierarchy::invalid_bytes()),
        WireValue::Long(long) => match Surface::of(own) {
            Some(surface) => to_spatial(&sent::held(long)?, BYTES, surface),
            None => sent::held(long),
        },
        value if own == SqlType::HierarchyId => hierarchy::to_hierarchy(&short(value, own)),
        value => match Surface::of(own) {
            Some(surface) => to_spatial(&short(value, own), BYTES, surface),
            None => Ok(short(value, own)),
        },
    }
}

/// Text of xml that was sent. A parser reads it to its end, so that it cannot stay in its message.
fn xml_from_wire(value: &WireValue) -> Result<Value, Error> {
    let sent = match value {
        WireValue::Long(long) => sent::held(long)?.whole()?,
        value => short(value, BYTES),
    };
    match &sent {
        Value::Binary(bytes) if bytes.starts_with(&BINARY_XML) => Err(notices::binary_xml()),
        sent => to_xml(sent, BYTES),
    }
}

/// What binary XML begins with ([MS-BINXML] 2.1, its signature).
const BINARY_XML: [u8; 2] = [0xDF, 0xFF];

/// What bytes of `geometry`, `geography` and `xml` are until they have been read.
const BYTES: SqlType = SqlType::VarBinary(Length::Max);

/// A value that is in memory.
fn short(value: &WireValue, own: SqlType) -> Value {
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
            Ok(narrow) if own == SqlType::SmallMoney => Value::SmallMoney(narrow),
            _ => Value::Money(value),
        },
        WireValue::Decimal {
            negative,
            magnitude,
            scale,
        } => decimal(negative, magnitude, scale, own),
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
        WireValue::Variant(ref variant) => match variant.decoded() {
            Ok((column, value)) => from_variant(sql_type(column), &value),
            // What is not a value was refused where it came in.
            Err(_) => Value::Null,
        },
        // It was taken before.
        WireValue::Long(_) => Value::Null,
    }
}

/// A sql_variant of a value and its type. What is shorter than its type is filled up, as in a column of the type.
fn from_variant(sql_type: SqlType, value: &WireValue) -> Value {
    let value = short(value, sql_type);
    let sent = match sql_type {
        SqlType::Char(length) => SqlType::VarChar(Length::Limited(length)),
        SqlType::NChar(length) => SqlType::NVarChar(Length::Limited(length)),
        SqlType::Binary(length) => SqlType::VarBinary(Length::Limited(length)),
        other => other,
    };
    let value = convert(&value, sent, sql_type, None).unwrap_or(value);
    Value::Variant(Arc::new(Variant { sql_type, value }))
}

/// Calls and bulk loads with a magnitude of too many digits are refused before; none becomes another number here.
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
        // Long values go in pieces (`results::pieces`).
        (Value::Held(_), _) => row.refuse(),
    }
}

fn write_variant(row: &mut RowWriter<'_>, variant: &Variant) {
    let VariantValue {
        base,
        properties,
        payload,
    } = variant_to_wire(variant);
    row.variant(base, &properties, &payload);
}

/// A sql_variant by type, properties and bytes ([MS-TDS] 2.2.5.5.4).
fn variant_to_wire(variant: &Variant) -> VariantValue {
    let mut payload = variant.payload();
    let mut properties = variant.properties();
    let mut base = variant.sql_type.system_type_id();
    match &variant.value {
        Value::Text(_) => properties
            .splice(0..0, Collation::default().wire_bytes())
            .for_each(drop),
        // A bit that is never NULL has a type of its own on the wire.
        Value::Bit(_) => base = 0x32,
        // Rows have the time before the day and money with its low half first; the wire has it the other way round.
        Value::DateTime { .. } | Value::Money(_) => payload.rotate_left(4),
        Value::SmallDateTime { .. } => payload.rotate_left(2),
        _ => {}
    }
    VariantValue {
        base,
        properties,
        payload,
    }
}

/// The value of an output parameter, as the type that the client has sent it in: a parameter that is sent is assigned what comes back.
/// Strings, binary strings and decimals are returned whole, whatever length or precision was sent. Decimals have the scale that was sent, if
/// that is not the smaller one (pymssql tests, "testDecimal4").
///
/// # Errors
/// Those of conversion.
pub fn returned(value: &Value, own: SqlType, sent: &RpcParameter) -> Result<WireValue, Error> {
    if matches!(value, Value::Held(_)) {
        return returned(&value.clone().whole()?, own, sent);
    }
    let wanted = match sql_type(sent.column_type) {
        SqlType::Char(_) | SqlType::VarChar(_) => SqlType::VarChar(Length::Max),
        SqlType::NChar(_) | SqlType::NVarChar(_) => SqlType::NVarChar(Length::Max),
        SqlType::Binary(_) | SqlType::VarBinary(_) => SqlType::VarBinary(Length::Max),
        other => other,
    };
    let is_one_kind = wanted.is_character() && own.is_character() && (wanted != SqlType::XML || own == wanted)
        || wanted.is_binary() && own.is_binary()
        || std::mem::discriminant(&wanted) == std::mem::discriminant(&own);
    if let (Value::Decimal(number), SqlType::Decimal { scale, .. }) = (value, wanted)
        && scale > number.scale
    {
        let finer = SqlType::Decimal {
            precision: DECIMAL_PRECISION_MAX,
            scale,
        };
        return to_wire(&convert(value, own, finer, None)?, finer);
    }
    if is_one_kind || value.is_null() {
        return to_wire(value, own);
    }
    let (value, from) = match value {
        Value::Variant(variant) => (&variant.value, variant.sql_type),
        other => (other, own),
    };
    to_wire(&convert(value, from, wanted, None)?, wanted)
}

/// The value of an output parameter in its own type.
///
/// # Errors
/// An assertion for a held value: they are read before.
pub fn to_wire(value: &Value, sql_type: SqlType) -> Result<WireValue, Error> {
    let scale = sql_type.scale();
    Ok(match value {
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
        Value::Variant(variant) => WireValue::Variant(Box::new(variant_to_wire(variant))),
        Value::Held(_) => return Err(Error::assertion("a held value is returned by an output parameter")),
    })
}
