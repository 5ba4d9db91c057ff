//! Bytes to values.

use super::code_page::text;
use super::{ColumnType, SystemType, Value, decimal_bytes, time_bytes};
use crate::bytes::{u16_at, u32_at, utf16_text};

/// Units of a day at this number of decimals.
fn units_of_a_day(scale: u8) -> u64 {
    86_400 * 10u64.pow(u32::from(scale.min(7)))
}

/// The value of type `kind` that `bytes` are. NULL is not among the bytes.
///
/// # Errors
/// A clause: the bytes are too few, or no value of the type.
pub fn decode(kind: &ColumnType, bytes: &[u8]) -> Result<Value, String> {
    check_length(kind, bytes)?;
    let value = match kind.system {
        SystemType::TinyInt
        | SystemType::SmallInt
        | SystemType::Int
        | SystemType::BigInt
        | SystemType::Money
        | SystemType::SmallMoney => whole(kind.system, bytes),
        SystemType::Bit => Value::Bit(bytes[0] & 1 == 1),
        SystemType::Decimal | SystemType::Numeric => decimal(bytes, kind.scale)?,
        SystemType::Real => Value::Real(f32::from_le_bytes(padded(bytes))),
        SystemType::Float => Value::Float(f64::from_le_bytes(padded(bytes))),
        SystemType::DateTime => Value::DateTime {
            ticks: u32::from_le_bytes(padded(&bytes[..4])),
            days_since_1900: i32::from_le_bytes(padded(&bytes[4..])),
        },
        SystemType::SmallDateTime => Value::SmallDateTime {
            minutes: u16::from_le_bytes(padded(&bytes[..2])),
            days_since_1900: u16::from_le_bytes(padded(&bytes[2..])),
        },
        SystemType::Date | SystemType::Time | SystemType::DateTime2 | SystemType::DateTimeOffset => {
            date_and_time(kind, bytes)
        }
        SystemType::NChar | SystemType::NVarChar | SystemType::NText => Value::Text(utf16_text(bytes)),
        SystemType::Char | SystemType::VarChar | SystemType::Text => Value::Text(text(kind.collation, bytes)),
        SystemType::UniqueIdentifier => Value::UniqueIdentifier(padded(bytes)),
        SystemType::SqlVariant => variant(bytes)?,
        SystemType::Binary
        | SystemType::VarBinary
        | SystemType::Image
        | SystemType::Timestamp
        | SystemType::Clr
        | SystemType::Xml
        | SystemType::Json
        | SystemType::Unknown(_) => Value::Bytes(bytes.to_vec()),
    };
    check_range(kind, &value)?;
    Ok(value)
}

/// Whether `bytes` are a value of type `kind`, without making it.
///
/// # Errors
/// Those of [`decode`].
pub fn check(kind: &ColumnType, bytes: &[u8]) -> Result<(), String> {
    match kind.system {
        // Any bytes of the right number are one.
        SystemType::NChar
        | SystemType::NVarChar
        | SystemType::NText
        | SystemType::Char
        | SystemType::VarChar
        | SystemType::Text
        | SystemType::Binary
        | SystemType::VarBinary
        | SystemType::Image
        | SystemType::Clr
        | SystemType::Xml
        | SystemType::Json
        | SystemType::TinyInt
        | SystemType::SmallInt
        | SystemType::Int
        | SystemType::BigInt
        | SystemType::Money
        | SystemType::SmallMoney
        | SystemType::Unknown(_) => check_length(kind, bytes),
        _ => decode(kind, bytes).map(|_| ()),
    }
}

fn check_length(kind: &ColumnType, bytes: &[u8]) -> Result<(), String> {
    match kind.fixed_bytes() {
        Some(length) if length != bytes.len() => Err(format!("a {kind} has {} bytes", bytes.len())),
        _ => Ok(()),
    }
}

/// `N` bytes whose lowest are `bytes`.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    let length = bytes.len().min(N);
    all[..length].copy_from_slice(&bytes[..length]);
    all
}

fn whole(system: SystemType, bytes: &[u8]) -> Value {
    let signed = |bits: u32| i64::from_le_bytes(padded(bytes)) << (64 - bits) >> (64 - bits);
    match system {
        SystemType::TinyInt => Value::Integer(i64::from(bytes[0])),
        SystemType::SmallInt => Value::Integer(signed(16)),
        SystemType::Int => Value::Integer(signed(32)),
        SystemType::SmallMoney => Value::Money(signed(32)),
        SystemType::Money => Value::Money(signed(64)),
        _ => Value::Integer(signed(64)),
    }
}

fn decimal(bytes: &[u8], scale: u8) -> Result<Value, String> {
    let (sign, digits) = bytes.split_first().ok_or("a decimal has no bytes")?;
    Ok(Value::Decimal {
        is_negative: *sign == 0,
        digits: u128::from_le_bytes(padded(digits)),
        scale,
    })
}

fn date_and_time(kind: &ColumnType, bytes: &[u8]) -> Value {
    let scale = kind.scale;
    let number = |bytes: &[u8]| u64::from_le_bytes(padded(bytes));
    let days = |bytes: &[u8]| u32::from_le_bytes(padded(bytes));
    if kind.system == SystemType::Date {
        return Value::Date(days(bytes));
    }
    let (time, rest) = bytes.split_at(time_bytes(scale));
    let units = number(time);
    match kind.system {
        SystemType::Time => Value::Time { units, scale },
        SystemType::DateTime2 => Value::DateTime2 {
            days: days(rest),
            units,
            scale,
        },
        _ => Value::DateTimeOffset {
            days: days(&rest[..3]),
            units,
            scale,
            offset_minutes: i16::from_le_bytes(padded(&rest[3..])),
        },
    }
}

/// Dates and times that no server writes would be shown as others.
fn check_range(kind: &ColumnType, value: &Value) -> Result<(), String> {
    /// Days from 0001-01-01 to 9999-12-31.
    const DAYS_MAX: u32 = 3_652_058;
    let fits = match *value {
        Value::DateTime { days_since_1900, ticks } => {
            (-53_690..=2_958_463).contains(&days_since_1900) && ticks < 86_400 * 300
        }
        Value::SmallDateTime { minutes, .. } => minutes < 1440,
        Value::Date(days) => days <= DAYS_MAX,
        Value::Time { units, scale } => scale <= 7 && units < units_of_a_day(scale),
        Value::DateTime2 { days, units, scale } => days <= DAYS_MAX && scale <= 7 && units < units_of_a_day(scale),
        Value::DateTimeOffset {
            days,
            units,
            scale,
            offset_minutes,
        } => days <= DAYS_MAX && scale <= 7 && units < units_of_a_day(scale) && (-840..=840).contains(&offset_minutes),
        Value::Decimal { digits, scale, .. } => digits < 10u128.pow(38) && scale <= 38,
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(format!("a {kind} is out of range")),
    }
}

/// The value of a `sql_variant`: its type, the number 1, what the type needs, the value.
fn variant(bytes: &[u8]) -> Result<Value, String> {
    let short = || "a sql_variant is too short".to_owned();
    let system = SystemType::of(*bytes.first().ok_or_else(short)?);
    let mut kind = ColumnType {
        system,
        length_bytes: 0,
        precision: 0,
        scale: 0,
        collation: 0,
    };
    let value_at = match system {
        SystemType::Decimal | SystemType::Numeric => {
            kind.precision = *bytes.get(2).ok_or_else(short)?;
            kind.scale = *bytes.get(3).ok_or_else(short)?;
            4
        }
        SystemType::Time | SystemType::DateTime2 | SystemType::DateTimeOffset => {
            kind.scale = *bytes.get(2).ok_or_else(short)?;
            3
        }
        SystemType::Binary | SystemType::VarBinary => 4,
        _ if system.is_text() => {
            kind.collation = u32_at(bytes, 4).ok_or_else(short)?;
            8
        }
        _ => 2,
    };
    if let SystemType::SqlVariant | SystemType::Unknown(_) | SystemType::Clr | SystemType::Xml = system {
        return Err(format!("a sql_variant holds a {}", system.name()));
    }
    let value = bytes.get(value_at..).ok_or_else(short)?;
    kind.length_bytes = match u16_at(bytes, 2) {
        Some(length) if value_at > 3 && !matches!(system, SystemType::Decimal | SystemType::Numeric) => {
            length.cast_signed()
        }
        _ => 0,
    };
    let value = match system {
        SystemType::Binary | SystemType::Char | SystemType::NChar => {
            kind.length_bytes = i16::try_from(value.len()).map_err(|_| "a sql_variant is too long")?;
            decode(&kind, value)?
        }
        SystemType::Decimal | SystemType::Numeric if value.len() != decimal_bytes(kind.precision) => {
            decimal(value, kind.scale)?
        }
        _ => decode(&kind, value)?,
    };
    Ok(Value::Variant(kind, Box::new(value)))
}
