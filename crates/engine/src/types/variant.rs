//! `sql_variant`: a value together with its own type.
//!
//! ```text
//! 0        system_type_id of the value's type
//! 1        1, the version of this form
//! 2        decimal: precision, scale; time, datetime2, datetimeoffset: scale;
//!          strings and binary strings: max_length in bytes, u16; other types: nothing
//! ...      the value as a column of its type holds it
//! ```
//! These are the parts that SQL Server's own form has, without the collation: strings come back under the default one.
//!
//! Values order by the family of their type first, then within it (sql-docs, "sql_variant"): dates and times above approximate
//! numbers above exact numbers above strings above binary strings above unique identifiers.

use super::key::encode_key_part;
use super::row::{Encoding, push_variable, put_fixed};
use super::{Collation, Decimal, KeyDirection, POWERS_OF_TEN, SqlType, Value, calendar};
use crate::error::{Error, Result};

/// Longest value with its properties, in bytes: `max_length` of the type.
pub const VARIANT_BYTES_MAX: i16 = 8_016;

const VERSION: u8 = 1;

/// What a `sql_variant` holds; NULL is plain NULL, not a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The type of the value: any but `sql_variant` itself and the `max` types.
    pub sql_type: SqlType,
    pub value: Value,
}

impl Variant {
    /// Precision, scale or length, as they stand before the value.
    pub fn properties(&self) -> Vec<u8> {
        match self.sql_type {
            SqlType::Decimal { precision, scale } => vec![precision, scale],
            SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => vec![scale],
            own if own.is_character() || own.is_binary() => own.max_length().to_le_bytes().to_vec(),
            _ => Vec::new(),
        }
    }

    /// The bytes of the value alone.
    pub fn payload(&self) -> Vec<u8> {
        let encoding = Encoding::of(self.sql_type, Collation::default());
        let mut payload = vec![0; self.sql_type.fixed_bytes().unwrap_or(0)];
        if self.sql_type.fixed_bytes().is_none() {
            push_variable(&self.value, encoding, &mut payload);
        } else {
            put_fixed(&mut payload, self.sql_type, encoding, &self.value)
                .expect("a variant's value belongs to its type");
        }
        payload
    }

    /// Type, properties and value.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.sql_type.system_type_id(), VERSION];
        bytes.extend_from_slice(&self.properties());
        bytes.extend_from_slice(&self.payload());
        bytes
    }

    /// The variant of such bytes.
    ///
    /// # Errors
    /// 824 when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Variant> {
        let damaged = || Error::damaged_row("a sql_variant without a type");
        let (&[type_id, VERSION], rest) = bytes.split_first_chunk::<2>().ok_or_else(damaged)? else {
            return Err(damaged());
        };
        let (max_length, precision, scale, payload) = match (type_id, rest) {
            (106, [precision, scale, payload @ ..]) => (0, *precision, *scale, payload),
            (41..=43, [scale, payload @ ..]) => (0, 0, *scale, payload),
            (165 | 167 | 173 | 175 | 231 | 239, [low, high, payload @ ..]) => {
                (i16::from_le_bytes([*low, *high]), 0, 0, payload)
            }
            (_, payload) => (0, 0, 0, payload),
        };
        let sql_type = SqlType::from_catalog(type_id, max_length, precision, scale).ok_or_else(damaged)?;
        let value = super::row::decode(payload, sql_type, Collation::default())?;
        Ok(Variant { sql_type, value })
    }

    /// Appends what orders the value among variants.
    pub(super) fn push_key(&self, output: &mut Vec<u8>) {
        let mut part = |family: u8, value: &Value| {
            output.push(family);
            encode_key_part(value, KeyDirection::Ascending, output);
        };
        match &self.value {
            Value::Real(number) => part(5, &Value::Float(f64::from(*number))),
            Value::Float(_) => part(5, &self.value),
            Value::Text(_) => part(3, &self.value),
            Value::Binary(_) => part(2, &self.value),
            Value::UniqueIdentifier(_) => part(1, &self.value),
            other => match exact(other) {
                Some((whole, fraction)) => {
                    part(4, &Value::Decimal(Decimal::new(whole, 38, 0)));
                    part(0, &Value::Decimal(Decimal::new(fraction, 38, 38)));
                }
                None => {
                    let (days, ticks) = moment(other);
                    part(6, &Value::DateTime2 { days, ticks });
                }
            },
        }
    }
}

/// An exact number as its whole part, rounded down, and 38 digits behind the point.
fn exact(value: &Value) -> Option<(i128, i128)> {
    let (coefficient, scale) = match value {
        Value::Decimal(number) => (number.coefficient(), usize::from(number.scale)),
        Value::Money(number) => (i128::from(*number), 4),
        Value::SmallMoney(number) => (i128::from(*number), 4),
        other => (i128::from(other.as_i64()?), 0),
    };
    let unit = POWERS_OF_TEN.get(scale)?;
    let fraction = coefficient.rem_euclid(*unit) * POWERS_OF_TEN.get(38 - scale)?;
    Some((coefficient.div_euclid(*unit), fraction))
}

/// A date or time as days since 0001-01-01 and ticks of 100 ns; a time alone is on 1900-01-01.
fn moment(value: &Value) -> (i32, u64) {
    match *value {
        Value::Date(days) => (days, 0),
        Value::Time(ticks) => (calendar::DAY_OF_1900, ticks),
        Value::DateTime { days, ticks } => (days + calendar::DAY_OF_1900, (u64::from(ticks) * 10 + 1) / 3 * 10_000),
        Value::SmallDateTime { days, minutes } => (
            i32::from(days) + calendar::DAY_OF_1900,
            u64::from(minutes) * 600_000_000,
        ),
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => (days, ticks),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Length;
    use super::*;

    fn variant(value: Value, sql_type: SqlType) -> Variant {
        Variant { sql_type, value }
    }

    /// One of each family and of several types in it, in the order that sql-docs gives the families.
    fn ascending() -> Vec<Variant> {
        let decimal = |coefficient, scale| {
            let sql_type = SqlType::Decimal { precision: 38, scale };
            variant(Value::Decimal(Decimal::new(coefficient, 38, scale)), sql_type)
        };
        vec![
            variant(Value::UniqueIdentifier([9; 16]), SqlType::UniqueIdentifier),
            variant(Value::binary(&[1, 2][..]), SqlType::VarBinary(Length::Limited(9))),
            variant("abc".into(), SqlType::NVarChar(Length::Limited(5))),
            variant("abd  ".into(), SqlType::Char(5)),
            decimal(-POWERS_OF_TEN[37], 0),
            decimal(-15, 1),
            variant(Value::TinyInt(0), SqlType::TinyInt),
            decimal(1, 38),
            variant(Value::SmallMoney(15_000), SqlType::SmallMoney),
            variant(Value::Int(2), SqlType::Int),
            variant(Value::Float(-3.0), SqlType::Float),
            variant(Value::Real(0.5), SqlType::Real),
            variant(Value::Time(5), SqlType::Time { scale: 7 }),
            variant(Value::DateTime { days: 1, ticks: 3 }, SqlType::DateTime),
            variant(Value::Date(800_000), SqlType::Date),
        ]
    }

    #[test]
    fn variants_come_back_with_their_types() {
        for original in ascending() {
            assert_eq!(Variant::from_bytes(&original.to_bytes()), Ok(original));
        }
        assert!(Variant::from_bytes(&[]).is_err());
        assert!(Variant::from_bytes(&[56, 2, 0, 0, 0, 0]).is_err());
        assert!(Variant::from_bytes(&[106, 1, 5]).is_err());
    }

    #[test]
    fn families_order_before_values() {
        let key = |variant: &Variant| {
            let mut key = Vec::new();
            variant.push_key(&mut key);
            key
        };
        for pair in ascending().windows(2) {
            assert!(key(&pair[0]) < key(&pair[1]), "{pair:?}");
        }
        let one = variant(Value::Int(1), SqlType::Int);
        assert_eq!(key(&one), key(&variant(Value::Money(10_000), SqlType::Money)));
    }
}
