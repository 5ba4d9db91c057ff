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

use super::{Collation, Decimal, Value};

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
    if direction == KeyDirection::Descending {
        for byte in output.iter_mut().skip(start) {
            *byte = !*byte;
        }
    }
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
        // Two offsets of one moment are equal, so the offset is no part of the key.
        Value::DateTime2 { days, ticks } | Value::DateTimeOffset { days, ticks, .. } => {
            push_signed_32(*days, output);
            output.extend_from_slice(&ticks.to_be_bytes());
        }
        Value::Text(text) => text.collation().push_key(text, output),
        Value::Binary(bytes) => push_binary(bytes, output),
        Value::UniqueIdentifier(bytes) => output.extend(GUID_ORDER.iter().map(|&index| bytes[index])),
        Value::Variant(variant) => variant.push_key(output),
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
