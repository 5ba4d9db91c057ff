//! Values as bcp writes them in native format: little-endian, as TDS has them, but for decimals (sql-docs, "Use native format to import or
//! export data"; the structure of decimals is that of ODBC, SQL_NUMERIC_STRUCT).
//!
//! ```text
//! money                 upper 4 bytes | lower 4 bytes             smallmoney   4 bytes
//! decimal               precision | scale | sign, 1 positive | magnitude, 16 bytes
//! datetime              days, 4 | ticks of 1/300 s, 4             smalldatetime   days, 2 | minutes, 2
//! time(s)               units of 10^-s s, 3 to 5 bytes            date   days since 0001-01-01, 3
//! datetime2(s)          time | date                               datetimeoffset(s)   time | date, in UTC | minutes, 2
//! ```

use engine::types::{Decimal, SqlType, Value};

/// Ticks of 100 ns in a day.
const DAY_TICKS: u64 = 864_000_000_000;
/// The last day, 9999-12-31, since 0001-01-01.
const DAYS_MAX: u64 = 3_652_058;
/// First and last day of `datetime`, 1753-01-01 and 9999-12-31, since 1900-01-01.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
/// 1/300 seconds in a day.
const DATETIME_TICKS: u32 = 25_920_000;
/// Minutes in a day.
const DAY_MINUTES: u16 = 1_440;
/// Minutes that a time is at most away from UTC.
const OFFSET_MINUTES: std::ops::RangeInclusive<i16> = -840..=840;

/// Bytes of a value without a prefix; `None` for types that always have one.
pub(super) fn fixed_bytes(sql_type: SqlType) -> Option<u64> {
    match sql_type {
        SqlType::Bit | SqlType::TinyInt => Some(1),
        SqlType::SmallInt => Some(2),
        SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => Some(4),
        SqlType::BigInt | SqlType::Float | SqlType::Money | SqlType::DateTime => Some(8),
        SqlType::Date => Some(3),
        SqlType::Time { scale } => Some(time_bytes(scale)),
        SqlType::DateTime2 { scale } => Some(time_bytes(scale) + 3),
        SqlType::DateTimeOffset { scale } => Some(time_bytes(scale) + 5),
        SqlType::Decimal { .. } => Some(19),
        SqlType::UniqueIdentifier => Some(16),
        SqlType::Char(_)
        | SqlType::VarChar(_)
        | SqlType::NChar(_)
        | SqlType::NVarChar(_)
        | SqlType::Binary(_)
        | SqlType::VarBinary(_)
        | SqlType::RowVersion
        | SqlType::SqlVariant
        | SqlType::HierarchyId
        | SqlType::Json
        | SqlType::Geometry
        | SqlType::Geography => None,
    }
}

fn time_bytes(scale: u8) -> u64 {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

/// The value of some bytes; `None` when they are none of the type.
pub(super) fn value(bytes: &[u8], sql_type: SqlType) -> Option<Value> {
    Some(match sql_type {
        SqlType::Bit => Value::Bit(unsigned(bytes, 1)? != 0),
        SqlType::TinyInt => Value::TinyInt(u8::from_le_bytes(bytes.try_into().ok()?)),
        SqlType::SmallInt => Value::SmallInt(i16::from_le_bytes(bytes.try_into().ok()?)),
        SqlType::Int => Value::Int(i32::from_le_bytes(bytes.try_into().ok()?)),
        SqlType::BigInt => Value::BigInt(i64::from_le_bytes(bytes.try_into().ok()?)),
        SqlType::Real => Value::Real(Some(f32::from_le_bytes(bytes.try_into().ok()?)).filter(|real| real.is_finite())?),
        SqlType::Float => {
            Value::Float(Some(f64::from_le_bytes(bytes.try_into().ok()?)).filter(|float| float.is_finite())?)
        }
        SqlType::SmallMoney => Value::SmallMoney(i32::from_le_bytes(bytes.try_into().ok()?)),
        SqlType::Money => {
            let bytes: [u8; 8] = bytes.try_into().ok()?;
            let upper = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let lower = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
            Value::Money((u64::from(upper) << 32 | u64::from(lower)) as i64)
        }
        SqlType::UniqueIdentifier => Value::UniqueIdentifier(bytes.try_into().ok()?),
        SqlType::Decimal { .. } => Value::Decimal(decimal(bytes)?),
        SqlType::DateTime => datetime(bytes)?,
        SqlType::SmallDateTime => {
            let bytes: [u8; 4] = bytes.try_into().ok()?;
            let minutes = u16::from_le_bytes([bytes[2], bytes[3]]);
            Value::SmallDateTime {
                days: u16::from_le_bytes([bytes[0], bytes[1]]),
                minutes: Some(minutes).filter(|minutes| *minutes < DAY_MINUTES)?,
            }
        }
        SqlType::Date => Value::Date(days(bytes)?),
        SqlType::Time { scale } => Value::Time(ticks(bytes, scale)?),
        SqlType::DateTime2 { scale } => {
            let (time, date) = bytes.split_at_checked(usize::try_from(time_bytes(scale)).ok()?)?;
            Value::DateTime2 {
                days: days(date)?,
                ticks: ticks(time, scale)?,
            }
        }
        SqlType::DateTimeOffset { scale } => {
            let (time, rest) = bytes.split_at_checked(usize::try_from(time_bytes(scale)).ok()?)?;
            let (date, offset) = rest.split_at_checked(3)?;
            let offset = i16::from_le_bytes(offset.try_into().ok()?);
            Value::DateTimeOffset {
                days: days(date)?,
                ticks: ticks(time, scale)?,
                offset_minutes: Some(offset).filter(|offset| OFFSET_MINUTES.contains(offset))?,
            }
        }
        SqlType::Char(_)
        | SqlType::VarChar(_)
        | SqlType::NChar(_)
        | SqlType::NVarChar(_)
        | SqlType::Binary(_)
        | SqlType::VarBinary(_)
        | SqlType::RowVersion
        | SqlType::SqlVariant
        | SqlType::HierarchyId
        | SqlType::Json
        | SqlType::Geometry
        | SqlType::Geography => return None,
    })
}

fn unsigned(bytes: &[u8], length: usize) -> Option<u64> {
    let mut whole = [0; 8];
    whole.get_mut(..length)?.copy_from_slice(bytes.get(..length)?);
    (bytes.len() == length).then(|| u64::from_le_bytes(whole))
}

fn datetime(bytes: &[u8]) -> Option<Value> {
    let bytes: [u8; 8] = bytes.try_into().ok()?;
    let days = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let ticks = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let is_one = DATETIME_DAYS.contains(&days) && ticks < DATETIME_TICKS;
    is_one.then_some(Value::DateTime { days, ticks })
}

fn days(bytes: &[u8]) -> Option<i32> {
    let days = unsigned(bytes, 3).filter(|days| *days <= DAYS_MAX)?;
    i32::try_from(days).ok()
}

fn ticks(bytes: &[u8], scale: u8) -> Option<u64> {
    let units = unsigned(bytes, usize::try_from(time_bytes(scale)).ok()?)?;
    let ticks = units.checked_mul(10u64.pow(7u32.saturating_sub(u32::from(scale))))?;
    (ticks < DAY_TICKS).then_some(ticks)
}

fn decimal(bytes: &[u8]) -> Option<Decimal> {
    let [precision, scale, sign, magnitude @ ..] = bytes else {
        return None;
    };
    let mut whole = [0; 16];
    whole.get_mut(..magnitude.len())?.copy_from_slice(magnitude);
    let magnitude = i128::try_from(u128::from_le_bytes(whole)).ok()?;
    let is_one = (1..=38).contains(precision) && scale <= precision && Decimal::fits(magnitude, *precision);
    let coefficient = if *sign == 0 { -magnitude } else { magnitude };
    is_one.then(|| Decimal::new(coefficient, *precision, *scale))
}
