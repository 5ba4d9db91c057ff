//! One value in memory.

use std::sync::Arc;

use super::{Bytes, Collation, Decimal, HeldForm, HeldValue, SqlType, Text, Variant};

/// One value of a [`SqlType`]. Strings are UTF-8; whether they are single-byte or double-byte, of fixed or variable length,
/// is said by the static type beside them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    Bit(bool),
    /// `tinyint`
    TinyInt(u8),
    /// `smallint`
    SmallInt(i16),
    Int(i32),
    /// `bigint`
    BigInt(i64),
    /// `decimal`, `numeric`
    Decimal(Decimal),
    /// `money`, in ten-thousandths
    Money(i64),
    /// `smallmoney`, in ten-thousandths
    SmallMoney(i32),
    Real(f32),
    Float(f64),
    /// `date`: days since 0001-01-01
    Date(i32),
    /// `time`: ticks of 100 ns since midnight
    Time(u64),
    /// `datetime`
    DateTime {
        /// Days since 1900-01-01, may be negative.
        days: i32,
        /// 1/300 seconds since midnight.
        ticks: u32,
    },
    /// `smalldatetime`
    SmallDateTime {
        /// Days since 1900-01-01.
        days: u16,
        /// Minutes since midnight.
        minutes: u16,
    },
    /// `datetime2`
    DateTime2 {
        /// Days since 0001-01-01.
        days: i32,
        /// Ticks of 100 ns since midnight.
        ticks: u64,
    },
    /// `datetimeoffset`, kept in UTC
    DateTimeOffset {
        /// Days since 0001-01-01, in UTC.
        days: i32,
        /// Ticks of 100 ns since midnight, in UTC.
        ticks: u64,
        /// Offset of the local time from UTC, -840 to 840.
        offset_minutes: i16,
    },
    /// Any character string
    Text(Text),
    /// Any binary string
    Binary(Bytes),
    /// `uniqueidentifier`, in the byte order SQL Server stores: the first three groups little-endian
    UniqueIdentifier([u8; 16]),
    /// `sql_variant`
    Variant(Arc<Variant>),
    /// A long string that is read in parts
    Held(Arc<HeldValue>),
}

impl Value {
    pub fn text(text: impl Into<Text>) -> Value {
        Value::Text(text.into())
    }

    /// A character string that compares by another collation; all other values as they are.
    #[must_use]
    pub fn collated(self, collation: Collation) -> Value {
        match self {
            Value::Text(text) => Value::Text(text.collated(collation)),
            other => other,
        }
    }

    pub fn binary(bytes: impl Into<Bytes>) -> Value {
        Value::Binary(bytes.into())
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value as a whole number, for those types that are whole numbers.
    pub fn as_i64(&self) -> Option<i64> {
        Some(match *self {
            Value::Bit(bit) => i64::from(bit),
            Value::TinyInt(number) => i64::from(number),
            Value::SmallInt(number) => i64::from(number),
            Value::Int(number) => i64::from(number),
            Value::BigInt(number) => number,
            _ => return None,
        })
    }

    /// The characters of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value is one that a column of this type stores; NULL is one of every type.
    pub fn belongs_to(&self, sql_type: SqlType) -> bool {
        match self {
            Value::Null => true,
            Value::Bit(_) => sql_type == SqlType::Bit,
            Value::TinyInt(_) => sql_type == SqlType::TinyInt,
            Value::SmallInt(_) => sql_type == SqlType::SmallInt,
            Value::Int(_) => sql_type == SqlType::Int,
            Value::BigInt(_) => sql_type == SqlType::BigInt,
            Value::Decimal(_) => matches!(sql_type, SqlType::Decimal { .. }),
            Value::Money(_) => sql_type == SqlType::Money,
            Value::SmallMoney(_) => sql_type == SqlType::SmallMoney,
            Value::Real(_) => sql_type == SqlType::Real,
            Value::Float(_) => sql_type == SqlType::Float,
            Value::Date(_) => sql_type == SqlType::Date,
            Value::Time(_) => matches!(sql_type, SqlType::Time { .. }),
            Value::DateTime { .. } => sql_type == SqlType::DateTime,
            Value::SmallDateTime { .. } => sql_type == SqlType::SmallDateTime,
            Value::DateTime2 { .. } => matches!(sql_type, SqlType::DateTime2 { .. }),
            Value::DateTimeOffset { .. } => matches!(sql_type, SqlType::DateTimeOffset { .. }),
            Value::Text(_) => sql_type.is_character() || sql_type == SqlType::Json,
            Value::Binary(_) => sql_type.is_binary() || sql_type == SqlType::HierarchyId || sql_type.is_spatial(),
            Value::UniqueIdentifier(_) => sql_type == SqlType::UniqueIdentifier,
            Value::Variant(_) => sql_type == SqlType::SqlVariant,
            Value::Held(held) => match held.form() {
                HeldForm::Binary => sql_type.is_binary(),
                HeldForm::CodePage => sql_type.is_character() && !sql_type.is_unicode(),
                HeldForm::Utf16 => sql_type.is_unicode(),
            },
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Value {
        Value::Int(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::BigInt(number)
    }
}

impl From<bool> for Value {
    fn from(bit: bool) -> Value {
        Value::Bit(bit)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
