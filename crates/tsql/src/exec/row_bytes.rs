//! Rows as bytes, for operators that buffer many rows: in a few large blocks of memory, and in spill files.
//!
//! ```text
//! row    count of values u16, then the values one after another
//! value  tag u8, payload        numbers little-endian, strings with their length u32 before them
//! ```
//! The format is internal to this process and never outlives the instance. Reading still checks every length.

use std::sync::Arc;

use engine::error::{Error, Result};
use engine::types::{Collation, Decimal, Value, Variant};

const NULL: u8 = 0;
const BIT: u8 = 1;
const TINY_INT: u8 = 2;
const SMALL_INT: u8 = 3;
const INT: u8 = 4;
const BIG_INT: u8 = 5;
const DECIMAL: u8 = 6;
const MONEY: u8 = 7;
const SMALL_MONEY: u8 = 8;
const REAL: u8 = 9;
const FLOAT: u8 = 10;
const DATE: u8 = 11;
const TIME: u8 = 12;
const DATE_TIME: u8 = 13;
const SMALL_DATE_TIME: u8 = 14;
const DATE_TIME_2: u8 = 15;
const DATE_TIME_OFFSET: u8 = 16;
const TEXT: u8 = 17;
const BINARY: u8 = 18;
const UNIQUE_IDENTIFIER: u8 = 19;
const VARIANT: u8 = 20;
/// What is not kept: reading it is an assertion error.
const HELD: u8 = 21;

/// Appends a row.
pub(super) fn push_row(row: &[Value], output: &mut Vec<u8>) {
    output.extend_from_slice(&(row.len() as u16).to_le_bytes());
    for value in row {
        push_value(value, output);
    }
}

fn push_value(value: &Value, output: &mut Vec<u8>) {
    let mut put = |tag: u8, payload: &[u8]| {
        output.push(tag);
        output.extend_from_slice(payload);
    };
    match value {
        Value::Null => put(NULL, &[]),
        Value::Bit(bit) => put(BIT, &[u8::from(*bit)]),
        Value::TinyInt(number) => put(TINY_INT, &[*number]),
        Value::SmallInt(number) => put(SMALL_INT, &number.to_le_bytes()),
        Value::Int(number) => put(INT, &number.to_le_bytes()),
        Value::BigInt(number) => put(BIG_INT, &number.to_le_bytes()),
        Value::Decimal(number) => {
            put(DECIMAL, &[number.precision, number.scale]);
            output.extend_from_slice(&number.coefficient().to_le_bytes());
        }
        Value::Money(number) => put(MONEY, &number.to_le_bytes()),
        Value::SmallMoney(number) => put(SMALL_MONEY, &number.to_le_bytes()),
        Value::Real(number) => put(REAL, &number.to_le_bytes()),
        Value::Float(number) => put(FLOAT, &number.to_le_bytes()),
        Value::Date(days) => put(DATE, &days.to_le_bytes()),
        Value::Time(ticks) => put(TIME, &ticks.to_le_bytes()),
        Value::DateTime { days, ticks } => {
            put(DATE_TIME, &days.to_le_bytes());
            output.extend_from_slice(&ticks.to_le_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            put(SMALL_DATE_TIME, &days.to_le_bytes());
            output.extend_from_slice(&minutes.to_le_bytes());
        }
        Value::DateTime2 { days, ticks } => {
            put(DATE_TIME_2, &days.to_le_bytes());
            output.extend_from_slice(&ticks.to_le_bytes());
        }
        Value::DateTimeOffset {
            days,
            ticks,
            offset_minutes,
        } => {
            put(DATE_TIME_OFFSET, &days.to_le_bytes());
            output.extend_from_slice(&ticks.to_le_bytes());
            output.extend_from_slice(&offset_minutes.to_le_bytes());
        }
        Value::Text(text) => {
            put(TEXT, &[text.collation() as u8]);
            output.extend_from_slice(&(text.len() as u32).to_le_bytes());
            output.extend_from_slice(text.as_bytes());
        }
        Value::Binary(bytes) => {
            put(BINARY, &(bytes.len() as u32).to_le_bytes());
            output.extend_from_slice(bytes);
        }
        Value::UniqueIdentifier(bytes) => put(UNIQUE_IDENTIFIER, bytes),
        Value::Variant(variant) => {
            let bytes = variant.to_bytes();
            put(VARIANT, &(bytes.len() as u32).to_le_bytes());
            output.extend_from_slice(&bytes);
        }
        // No operator that keeps rows is given held values. One that was would find no value where it reads the row.
        Value::Held(_) => put(HELD, &[]),
    }
}

/// Reads a row into the beginning of `row`.
///
/// # Errors
/// An assertion when the bytes are not a row.
pub(super) fn read_row(bytes: &[u8], row: &mut [Value]) -> Result<()> {
    let mut reader = Reader(bytes);
    let count = u16::from_le_bytes(reader.array()?);
    for target in row.iter_mut().take(usize::from(count)) {
        *target = reader.value()?;
    }
    Ok(())
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| Error::assertion("a kept row ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self
            .0
            .split_first_chunk::<N>()
            .ok_or_else(|| Error::assertion("a kept row ends early"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn counted(&mut self) -> Result<&'b [u8]> {
        let count = u32::from_le_bytes(self.array()?);
        self.take(count as usize)
    }

    fn value(&mut self) -> Result<Value> {
        let [tag] = self.array()?;
        Ok(match tag {
            NULL => Value::Null,
            BIT => Value::Bit(self.array::<1>()? != [0]),
            TINY_INT => Value::TinyInt(u8::from_le_bytes(self.array()?)),
            SMALL_INT => Value::SmallInt(i16::from_le_bytes(self.array()?)),
            INT => Value::Int(i32::from_le_bytes(self.array()?)),
            BIG_INT => Value::BigInt(i64::from_le_bytes(self.array()?)),
            DECIMAL => {
                let [precision, scale] = self.array()?;
                Value::Decimal(Decimal::new(i128::from_le_bytes(self.array()?), precision, scale))
            }
            MONEY => Value::Money(i64::from_le_bytes(self.array()?)),
            SMALL_MONEY => Value::SmallMoney(i32::from_le_bytes(self.array()?)),
            REAL => Value::Real(f32::from_le_bytes(self.array()?)),
            FLOAT => Value::Float(f64::from_le_bytes(self.array()?)),
            DATE => Value::Date(i32::from_le_bytes(self.array()?)),
            TIME => Value::Time(u64::from_le_bytes(self.array()?)),
            DATE_TIME => Value::DateTime {
                days: i32::from_le_bytes(self.array()?),
                ticks: u32::from_le_bytes(self.array()?),
            },
            SMALL_DATE_TIME => Value::SmallDateTime {
                days: u16::from_le_bytes(self.array()?),
                minutes: u16::from_le_bytes(self.array()?),
            },
            DATE_TIME_2 => Value::DateTime2 {
                days: i32::from_le_bytes(self.array()?),
                ticks: u64::from_le_bytes(self.array()?),
            },
            DATE_TIME_OFFSET => Value::DateTimeOffset {
                days: i32::from_le_bytes(self.array()?),
                ticks: u64::from_le_bytes(self.array()?),
                offset_minutes: i16::from_le_bytes(self.array()?),
            },
            TEXT => {
                let [collation] = self.array()?;
                let collation = Collation::from_number(collation)
                    .ok_or_else(|| Error::assertion("a kept row's text is of no collation"))?;
                let text = std::str::from_utf8(self.counted()?);
                Value::from(text.map_err(|_| Error::assertion("a kept row's text is none"))?).collated(collation)
            }
            BINARY => Value::binary(self.counted()?),
            UNIQUE_IDENTIFIER => Value::UniqueIdentifier(self.array()?),
            VARIANT => Value::Variant(Arc::new(Variant::from_bytes(self.counted()?)?)),
            HELD => return Err(Error::assertion("a held value was kept in a row of bytes")),
            _ => return Err(Error::assertion("a kept row has a value of no type")),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn values() -> Vec<Value> {
        vec![
            Value::Null,
            Value::Bit(true),
            Value::TinyInt(200),
            Value::SmallInt(-2),
            Value::Int(i32::MIN),
            Value::BigInt(i64::MAX),
            Value::Decimal(Decimal::new(-12_345, 38, 7)),
            Value::Money(-1),
            Value::SmallMoney(7),
            Value::Real(-0.5),
            Value::Float(1e300),
            Value::Date(-3),
            Value::Time(863_999_999_999),
            Value::DateTime { days: -1, ticks: 299 },
            Value::SmallDateTime { days: 9, minutes: 1439 },
            Value::DateTime2 { days: 5, ticks: 6 },
            Value::DateTimeOffset {
                days: 1,
                ticks: 2,
                offset_minutes: -840,
            },
            "Grüße".into(),
            "".into(),
            Value::binary(&[0, 255, 0][..]),
            Value::UniqueIdentifier([9; 16]),
        ]
    }

    #[test]
    fn a_row_of_every_type_comes_back() {
        let mut bytes = Vec::new();
        push_row(&values(), &mut bytes);
        let mut wide = vec![Value::Int(1); values().len() + 1];
        read_row(&bytes, &mut wide).unwrap();
        assert_eq!(wide.pop(), Some(Value::Int(1)));
        assert_eq!(wide, values());
    }

    #[test]
    fn a_row_cut_anywhere_is_refused() {
        let mut bytes = Vec::new();
        push_row(&values(), &mut bytes);
        let mut row = vec![Value::Null; values().len()];
        for end in 0..bytes.len() {
            assert!(read_row(&bytes[..end], &mut row).is_err(), "{end}");
        }
    }
}
