//! Keys of b-trees: bytes whose unsigned order is the order of the values.
//!
//! ```text
//! part   0x00                       NULL, before every value
//!        0x01 payload               a value
//! payload   whole numbers           big-endian, sign bit flipped
//!           decimal                 16 bytes big-endian of the coefficient, sign bit flipped
//!           real, float             IEEE bits; all flipped when negative, else the sign bit
//!           dates and times         days big-endian with the sign flipped, then the time big-endian
//!           strings                 collation weights and a terminator
//!           binary                  0x00 as 0x00 0xFF; ends with 0x00 0x00
//!           sql_variant             the family of the type, then the value's own key
//!           uniqueidentifier        the groups in the order SQL Server compares them, last group first
//! ```
//! Strings are ordered by the collation they carry; the keys of an index by that of the column ([`encode_stored_key_part`]).
//! A descending part has every bit flipped. Values of one column have one type, so parts of different types never meet.

use super::{Collation, Decimal, SqlType, Value};

/// Order of one column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDirection {
    /// Small values first, NULL before all.
    Ascending,
    /// Large values first, NULL after all.
    Descending,
}

/// Appends the key of one value.
pub fn encode_key_part(value: &Value, direction: KeyDirection, output: &mut Vec<u8>) {
    let start = output.len();
    if value.is_null() {
        output.push(0);
    } else {
        output.push(1);
        push_payload(value, output);
    }
    turn(direction, &mut output[start..]);
}

/// Turns the bytes of an ascending part into those of the other direction, if that is wanted.
fn turn(direction: KeyDirection, part: &mut [u8]) {
    if direction == KeyDirection::Descending {
        for byte in part {
            *byte = !*byte;
        }
    }
}

/// Appends what the key of every string begins with that begins with characters equal to those of `text`, one by one
/// ([`Collation::push_prefix`]).
pub fn encode_key_prefix(text: &str, collation: Collation, direction: KeyDirection, output: &mut Vec<u8>) {
    let start = output.len();
    output.push(1);
    collation.push_prefix(text, output);
    turn(direction, &mut output[start..]);
}

/// Appends the key of a value of a column: strings are ordered by the column's collation, whatever they carry.
pub fn encode_stored_key_part(value: &Value, collation: Collation, direction: KeyDirection, output: &mut Vec<u8>) {
    match value {
        Value::Text(text) if text.collation() != collation => {
            encode_key_part(&Value::Text(text.clone().collated(collation)), direction, output);
        }
        _ => encode_key_part(value, direction, output),
    }
}

/// Whether a value of this type is read back from its part of a key as it was. Strings are not: keys hold their weights. Nor are
/// moments with an offset, which is not part of the key, nor `real` and `float`, whose two zeros have one key, nor variants.
pub fn is_read_back(sql_type: SqlType) -> bool {
    match sql_type {
        SqlType::Bit
        | SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Decimal { .. }
        | SqlType::Money
        | SqlType::SmallMoney
        | SqlType::Date
        | SqlType::Time { .. }
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::DateTime2 { .. }
        | SqlType::Binary(_)
        | SqlType::VarBinary(_)
        | SqlType::RowVersion
        | SqlType::UniqueIdentifier
        | SqlType::HierarchyId => true,
        SqlType::Real
        | SqlType::Float
        | SqlType::DateTimeOffset { .. }
        | SqlType::Char(_)
        | SqlType::VarChar(_)
        | SqlType::NChar(_)
        | SqlType::NVarChar(_)
        | SqlType::SqlVariant
        | SqlType::Json
        | SqlType::Geometry
        | SqlType::Geography => false,
    }
}

/// The value at the beginning of a key, and the bytes that it takes there; `None` when [`is_read_back`] says no, or when the bytes are
/// no key of the type.
#[inline]
pub fn decode_key_part(key: &[u8], sql_type: SqlType, direction: KeyDirection) -> Option<(Value, usize)> {
    // By far the most parts are these: they are not worth a call.
    if let (&[1, a, b, c, d, ..], SqlType::Int, KeyDirection::Ascending) = (key, sql_type, direction) {
        return Some((Value::Int((u32::from_be_bytes([a, b, c, d]) ^ (1 << 31)) as i32), 5));
    }
    decode_any_key_part(key, sql_type, direction)
}

fn decode_any_key_part(key: &[u8], sql_type: SqlType, direction: KeyDirection) -> Option<(Value, usize)> {
    let mut reader = KeyReader {
        key,
        at: 0,
        flip: if direction == KeyDirection::Descending { 0xFF } else { 0 },
    };
    let value = match reader.array::<1>()? {
        [0] => Value::Null,
        [1] => reader.payload(sql_type)?,
        _ => return None,
    };
    Some((value, reader.at))
}

/// Reads a key part from its beginning.
struct KeyReader<'k> {
    key: &'k [u8],
    at: usize,
    /// All bits of a descending part are flipped.
    flip: u8,
}

impl KeyReader<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.key.get(self.at..)?.first_chunk::<N>()?;
        self.at += N;
        Some(bytes.map(|byte| byte ^ self.flip))
    }

    fn signed_32(&mut self) -> Option<i32> {
        Some((u32::from_be_bytes(self.array()?) ^ (1 << 31)) as i32)
    }

    fn signed_64(&mut self) -> Option<i64> {
        Some((u64::from_be_bytes(self.array()?) ^ (1 << 63)) as i64)
    }

    fn payload(&mut self, sql_type: SqlType) -> Option<Value> {
        Some(match sql_type {
            SqlType::Bit => Value::Bit(self.array::<1>()? != [0]),
            SqlType::TinyInt => Value::TinyInt(u8::from_be_bytes(self.array()?)),
            SqlType::SmallInt => Value::SmallInt((u16::from_be_bytes(self.array()?) ^ (1 << 15)) as i16),
            SqlType::Int => Value::Int(self.signed_32()?),
            SqlType::SmallMoney => Value::SmallMoney(self.signed_32()?),
            SqlType::Date => Value::Date(self.signed_32()?),
            SqlType::BigInt => Value::BigInt(self.signed_64()?),
            SqlType::Money => Value::Money(self.signed_64()?),
            SqlType::Decimal { precision, scale } => {
                let coefficient = u128::from_be_bytes(self.array()?) ^ (1 << 127);
                Value::Decimal(Decimal::new(coefficient as i128, precision, scale))
            }
            SqlType::Time { .. } => Value::Time(u64::from_be_bytes(self.array()?)),
            SqlType::DateTime => Value::DateTime {
                days: self.signed_32()?,
                ticks: u32::from_be_bytes(self.array()?),
            },
            SqlType::SmallDateTime => Value::SmallDateTime {
                days: u16::from_be_bytes(self.array()?),
                minutes: u16::from_be_bytes(self.array()?),
            },
            SqlType::DateTime2 { .. } => Value::DateTime2 {
                days: self.signed_32()?,
                ticks: u64::from_be_bytes(self.array()?),
            },
            SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::RowVersion | SqlType::HierarchyId => self.binary()?,
            SqlType::UniqueIdentifier => {
                let ordered = self.array::<16>()?;
                let mut bytes = [0; 16];
                for (byte, &place) in ordered.iter().zip(&GUID_ORDER) {
                    bytes[place] = *byte;
                }
                Value::UniqueIdentifier(bytes)
            }
            _ => return None,
        })
    }

    fn binary(&mut self) -> Option<Value> {
        let mut bytes = Vec::new();
        loop {
            match self.array::<1>()? {
                [0] => match self.array::<1>()? {
                    [0xFF] => bytes.push(0),
                    [0] => return Some(Value::binary(bytes)),
                    _ => return None,
                },
                [byte] => bytes.push(byte),
            }
        }
    }
}

/// Appends the ascending key of an `int` as it is stored; what [`encode_key_part`] makes of its value.
pub(super) fn push_stored_int(stored: [u8; 4], output: &mut Vec<u8>) {
    let [lowest, low, high, highest] = stored;
    output.extend_from_slice(&[1, highest ^ 0x80, high, low, lowest]);
}

/// Flips the sign bit, so that negative numbers come first in unsigned order.
fn push_signed_64(number: i64, output: &mut Vec<u8>) {
    output.extend_from_slice(&(number as u64 ^ (1 << 63)).to_be_bytes());
}

fn push_signed_32(number: i32, output: &mut Vec<u8>) {
    output.extend_from_slice(&(number as u32 ^ (1 << 31)).to_be_bytes());
}

fn push_payload(value: &Value, output: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bit(bit) => output.push(u8::from(*bit)),
        Value::TinyInt(number) => output.push(*number),
        Value::SmallInt(number) => output.extend_from_slice(&(*number as u16 ^ (1 << 15)).to_be_bytes()),
        Value::Int(number) | Value::SmallMoney(number) | Value::Date(number) => push_signed_32(*number, output),
        Value::BigInt(number) | Value::Money(number) => push_signed_64(*number, output),
        Value::Decimal(number) => push_decimal(*number, output),
        Value::Real(number) => push_float(f64::from(*number), output),
        Value::Float(number) => push_float(*number, output),
        Value::Time(ticks) => output.extend_from_slice(&ticks.to_be_bytes()),
        Value::DateTime { days, ticks } => {
            push_signed_32(*days, output);
            output.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            output.extend_from_slice(&days.to_be_bytes());
            output.extend_from_slice(&minutes.to_be_bytes());
        }
        // Two offsets of one moment are equal, so the offset is not part of the key.
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            push_signed_32(*days, output);
            output.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::Text(text) => text.collation().push_key(text, output),
        Value::Binary(bytes) => push_binary(bytes, output),
        Value::UniqueIdentifier(bytes) => output.extend(GUID_ORDER.iter().map(|&index| bytes[index])),
        Value::Variant(variant) => variant.push_key(output),
        // Nothing that makes keys asks for held values: columns of `max` types are no keys, and filters refuse to compare one.
        Value::Held(_) => debug_assert!(false, "a held value has no key"),
    }
}

/// The order in which SQL Server compares the bytes of a `uniqueidentifier` (Microsoft, "Comparing GUID and
/// uniqueidentifier values").
pub(super) const GUID_ORDER: [usize; 16] = [10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3];

fn push_decimal(number: Decimal, output: &mut Vec<u8>) {
    output.extend_from_slice(&(number.coefficient() as u128 ^ (1 << 127)).to_be_bytes());
}

fn push_float(number: f64, output: &mut Vec<u8>) {
    // Adding zero turns minus zero into zero: the two are equal.
    let bits = (number + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
    output.extend_from_slice(&ordered.to_be_bytes());
}

fn push_binary(bytes: &[u8], output: &mut Vec<u8>) {
    for &byte in bytes {
        output.push(byte);
        if byte == 0 {
            output.push(0xFF);
        }
    }
    output.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn key(value: &Value, direction: KeyDirection) -> Vec<u8> {
        let mut output = Vec::new();
        encode_key_part(value, direction, &mut output);
        output
    }

    #[test]
    fn keys_order_as_values_do() {
        let decimal = |coefficient| Value::Decimal(Decimal::new(coefficient, 38, 2));
        let ascending: Vec<Vec<Value>> = vec![
            vec![
                Value::Null,
                Value::Int(i32::MIN),
                Value::Int(-1),
                Value::Int(0),
                Value::Int(7),
                Value::Int(i32::MAX),
            ],
            vec![
                Value::Null,
                Value::BigInt(i64::MIN),
                Value::BigInt(-256),
                Value::BigInt(255),
                Value::BigInt(256),
            ],
            vec![
                Value::SmallInt(-300),
                Value::SmallInt(-1),
                Value::SmallInt(1),
                Value::SmallInt(300),
            ],
            vec![
                decimal(-1_000),
                decimal(-1),
                decimal(0),
                decimal(1),
                decimal(i128::from(u64::MAX) + 1),
            ],
            vec![
                Value::Float(f64::MIN),
                Value::Float(-1.5),
                Value::Float(0.0),
                Value::Float(1e-9),
                Value::Float(2.0),
            ],
            vec![
                Value::DateTime { days: -5, ticks: 9 },
                Value::DateTime { days: 4, ticks: 1 },
                Value::DateTime { days: 4, ticks: 2 },
            ],
            vec!["".into(), "a".into(), "a b".into(), "B".into(), "ba".into()],
            vec![
                Value::binary(&[][..]),
                Value::binary(&[0][..]),
                Value::binary(&[0, 1][..]),
                Value::binary(&[1][..]),
            ],
            vec![Value::Null, Value::Bit(false), Value::Bit(true)],
        ];
        for values in ascending {
            for pair in values.windows(2) {
                assert!(
                    key(&pair[0], KeyDirection::Ascending) < key(&pair[1], KeyDirection::Ascending),
                    "{pair:?}"
                );
                assert!(
                    key(&pair[0], KeyDirection::Descending) > key(&pair[1], KeyDirection::Descending),
                    "{pair:?}"
                );
            }
        }
        assert_eq!(
            key(&Value::Float(0.0), KeyDirection::Ascending),
            key(&Value::Float(-0.0), KeyDirection::Ascending)
        );
    }

    #[test]
    fn what_is_said_to_be_read_back_comes_back_and_nothing_else() {
        let decimal = SqlType::Decimal { precision: 9, scale: 2 };
        let values: Vec<(SqlType, Value)> = vec![
            (SqlType::Bit, Value::Bit(true)),
            (SqlType::TinyInt, Value::TinyInt(200)),
            (SqlType::SmallInt, Value::SmallInt(-300)),
            (SqlType::Int, Value::Int(i32::MIN)),
            (SqlType::BigInt, Value::BigInt(-7)),
            (decimal, Value::Decimal(Decimal::new(-12_345, 9, 2))),
            (SqlType::Money, Value::Money(-1)),
            (SqlType::SmallMoney, Value::SmallMoney(77)),
            (SqlType::Date, Value::Date(-40)),
            (SqlType::Time { scale: 7 }, Value::Time(863_999_999_999)),
            (SqlType::DateTime, Value::DateTime { days: -5, ticks: 9 }),
            (
                SqlType::SmallDateTime,
                Value::SmallDateTime {
                    days: 4,
                    minutes: 1_439,
                },
            ),
            (SqlType::DateTime2 { scale: 3 }, Value::DateTime2 { days: 1, ticks: 2 }),
            (SqlType::Binary(4), Value::binary(&[0, 0xFF, 0, 0][..])),
            (SqlType::UniqueIdentifier, Value::UniqueIdentifier(*b"0123456789abcdef")),
        ];
        for (sql_type, value) in values {
            assert!(is_read_back(sql_type));
            for direction in [KeyDirection::Ascending, KeyDirection::Descending] {
                for value in [&value, &Value::Null] {
                    let mut bytes = key(value, direction);
                    let length = bytes.len();
                    bytes.extend_from_slice(&[0, 0xFF, 1, 2]);
                    assert_eq!(
                        decode_key_part(&bytes, sql_type, direction),
                        Some((value.clone(), length))
                    );
                    if !value.is_null() {
                        assert_eq!(
                            decode_key_part(&bytes[..length - 1], sql_type, direction),
                            None,
                            "{value:?}"
                        );
                    }
                }
            }
        }
        for sql_type in [SqlType::Float, SqlType::Real, SqlType::SqlVariant, SqlType::Char(3)] {
            assert!(!is_read_back(sql_type));
            assert_eq!(
                decode_key_part(
                    &key(&Value::Float(0.5), KeyDirection::Ascending),
                    sql_type,
                    KeyDirection::Ascending
                ),
                None
            );
        }
    }

    #[test]
    fn the_first_column_decides_before_the_second() {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (key, values) in [
            (&mut left, ["a".into(), Value::Int(9)]),
            (&mut right, ["a b".into(), Value::Int(1)]),
        ] {
            for value in &values {
                encode_key_part(value, KeyDirection::Ascending, key);
            }
        }
        assert!(left < right);
    }
}
