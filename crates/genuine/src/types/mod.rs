//! The types of columns: their names, and their values as bytes.
//!
//! Every number is little-endian. (Microsoft's documents name the types and their sizes; the layouts are in Delaney and others, "SQL Server
//! 2008 Internals", chapter 5, and were measured on Northwind and pubs, whose values are published.)
//!
//! | type | bytes |
//! |---|---|
//! | `tinyint` `smallint` `int` `bigint` | 1, 2, 4, 8: a number; `tinyint` has no sign |
//! | `bit` | a bit of a byte that it shares with others |
//! | `decimal` `numeric` | 5, 9, 13, 17: a byte that is 1 for zero and above, then the digits as a number |
//! | `money` `smallmoney` | 8, 4: ten-thousandths |
//! | `float` `real` | 8, 4: IEEE 754 |
//! | `datetime` | 8: 1/300 seconds since midnight u32, days since 1900 i32 |
//! | `smalldatetime` | 4: minutes since midnight u16, days since 1900 u16 |
//! | `date` | 3: days since 0001-01-01 |
//! | `time(n)` | 3 to 5: units of 10^-n seconds since midnight |
//! | `datetime2(n)` | 6 to 8: `time(n)`, then `date` |
//! | `datetimeoffset(n)` | 8 to 10: `datetime2(n)` in UTC, then minutes of the offset i16 |
//! | `char` `varchar` `text` | text in the code page of the collation |
//! | `nchar` `nvarchar` `ntext` | UTF-16 |
//! | `binary` `varbinary` `image` `timestamp` | themselves |
//! | `uniqueidentifier` | 16: u32, u16, u16, 8 bytes |
//! | `sql_variant` | type u8, 1, what the type needs (precision, scale, length, collation), the value |
//! | `xml` `json`, CLR types | read as bytes, in a format of their own |

pub mod code_page;
mod compressed;
mod decode;
mod text;

pub use compressed::expand;
pub use decode::{check, decode};

use std::fmt;

/// A system type, by its number in the catalog (`sys.types.system_type_id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemType {
    Image,
    Text,
    UniqueIdentifier,
    Date,
    Time,
    DateTime2,
    DateTimeOffset,
    TinyInt,
    SmallInt,
    Int,
    SmallDateTime,
    Real,
    Money,
    DateTime,
    Float,
    SqlVariant,
    NText,
    Bit,
    Decimal,
    Numeric,
    SmallMoney,
    BigInt,
    VarBinary,
    VarChar,
    Binary,
    Char,
    Timestamp,
    NVarChar,
    NChar,
    /// A type of the common language runtime: `geometry`, `geography`, `hierarchyid`, or a user's.
    Clr,
    Xml,
    Json,
    /// Another number.
    Unknown(u8),
}

/// Number, type, name in T-SQL.
const SYSTEM_TYPES: [(u8, SystemType, &str); 32] = [
    (34, SystemType::Image, "image"),
    (35, SystemType::Text, "text"),
    (36, SystemType::UniqueIdentifier, "uniqueidentifier"),
    (40, SystemType::Date, "date"),
    (41, SystemType::Time, "time"),
    (42, SystemType::DateTime2, "datetime2"),
    (43, SystemType::DateTimeOffset, "datetimeoffset"),
    (48, SystemType::TinyInt, "tinyint"),
    (52, SystemType::SmallInt, "smallint"),
    (56, SystemType::Int, "int"),
    (58, SystemType::SmallDateTime, "smalldatetime"),
    (59, SystemType::Real, "real"),
    (60, SystemType::Money, "money"),
    (61, SystemType::DateTime, "datetime"),
    (62, SystemType::Float, "float"),
    (98, SystemType::SqlVariant, "sql_variant"),
    (99, SystemType::NText, "ntext"),
    (104, SystemType::Bit, "bit"),
    (106, SystemType::Decimal, "decimal"),
    (108, SystemType::Numeric, "numeric"),
    (122, SystemType::SmallMoney, "smallmoney"),
    (127, SystemType::BigInt, "bigint"),
    (165, SystemType::VarBinary, "varbinary"),
    (167, SystemType::VarChar, "varchar"),
    (173, SystemType::Binary, "binary"),
    (175, SystemType::Char, "char"),
    (189, SystemType::Timestamp, "timestamp"),
    (231, SystemType::NVarChar, "nvarchar"),
    (239, SystemType::NChar, "nchar"),
    (240, SystemType::Clr, "clr"),
    (241, SystemType::Xml, "xml"),
    (244, SystemType::Json, "json"),
];

impl SystemType {
    /// The type whose number is `number`.
    pub fn of(number: u8) -> SystemType {
        let known = SYSTEM_TYPES.iter().find(|known| known.0 == number);
        known.map_or(SystemType::Unknown(number), |known| known.1)
    }

    /// Its name in T-SQL.
    pub fn name(self) -> &'static str {
        let known = SYSTEM_TYPES.iter().find(|known| known.1 == self);
        known.map_or("unknown", |known| known.2)
    }

    /// Its values have a collation.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            SystemType::Char
                | SystemType::VarChar
                | SystemType::Text
                | SystemType::NChar
                | SystemType::NVarChar
                | SystemType::NText
        )
    }
}

/// The type of a column as the catalog has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnType {
    pub system: SystemType,
    /// Bytes of the longest value; -1 for the `max` types.
    pub length_bytes: i16,
    pub precision: u8,
    pub scale: u8,
    /// The id of the collation; 0 without one.
    pub collation: u32,
}

/// CLR types that SQL Server brings along, by the id of the user type.
fn system_clr_name(user_type: u32) -> Option<&'static str> {
    match user_type {
        128 => Some("hierarchyid"),
        129 => Some("geometry"),
        130 => Some("geography"),
        _ => None,
    }
}

impl ColumnType {
    /// Bytes of a value in the fixed part of a row; `None` for types of variable length.
    pub fn fixed_bytes(&self) -> Option<usize> {
        match self.system {
            SystemType::TinyInt | SystemType::Bit => Some(1),
            SystemType::SmallInt => Some(2),
            SystemType::Int | SystemType::Real | SystemType::SmallMoney | SystemType::SmallDateTime => Some(4),
            SystemType::BigInt
            | SystemType::Float
            | SystemType::Money
            | SystemType::DateTime
            | SystemType::Timestamp => Some(8),
            SystemType::UniqueIdentifier => Some(16),
            SystemType::Date => Some(3),
            SystemType::Time => Some(time_bytes(self.scale)),
            SystemType::DateTime2 => Some(time_bytes(self.scale) + 3),
            SystemType::DateTimeOffset => Some(time_bytes(self.scale) + 5),
            SystemType::Decimal | SystemType::Numeric => Some(decimal_bytes(self.precision)),
            SystemType::Binary | SystemType::Char | SystemType::NChar => usize::try_from(self.length_bytes).ok(),
            _ => None,
        }
    }

    /// The name of the CLR type with this id of a user type, or of the system type.
    pub fn name(&self, user_type: u32) -> &'static str {
        match self.system {
            SystemType::Clr => system_clr_name(user_type).unwrap_or("clr"),
            other => other.name(),
        }
    }
}

/// As T-SQL declares it: `decimal(10, 2)`, `nvarchar(max)`.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.system.name();
        let characters = match self.system {
            SystemType::NVarChar | SystemType::NChar => self.length_bytes / 2,
            _ => self.length_bytes,
        };
        match self.system {
            SystemType::Decimal | SystemType::Numeric => write!(f, "{name}({}, {})", self.precision, self.scale),
            SystemType::Time | SystemType::DateTime2 | SystemType::DateTimeOffset => {
                write!(f, "{name}({})", self.scale)
            }
            SystemType::VarBinary | SystemType::VarChar | SystemType::NVarChar if self.length_bytes == -1 => {
                write!(f, "{name}(max)")
            }
            SystemType::VarBinary
            | SystemType::VarChar
            | SystemType::NVarChar
            | SystemType::Binary
            | SystemType::Char
            | SystemType::NChar => write!(f, "{name}({characters})"),
            SystemType::Unknown(number) => write!(f, "type {number}"),
            _ => f.write_str(name),
        }
    }
}

/// Bytes of a time with this number of decimals.
pub(crate) fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Bytes of a decimal with this precision.
pub(crate) fn decimal_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bit(bool),
    /// `tinyint` to `bigint`.
    Integer(i64),
    Decimal {
        is_negative: bool,
        /// All digits, without the point.
        digits: u128,
        scale: u8,
    },
    /// Ten-thousandths.
    Money(i64),
    Real(f32),
    Float(f64),
    DateTime {
        days_since_1900: i32,
        /// 1/300 seconds since midnight.
        ticks: u32,
    },
    SmallDateTime {
        days_since_1900: u16,
        minutes: u16,
    },
    /// Days since 0001-01-01.
    Date(u32),
    Time {
        /// 10^-scale seconds since midnight.
        units: u64,
        scale: u8,
    },
    DateTime2 {
        days: u32,
        units: u64,
        scale: u8,
    },
    /// The time is UTC, and is shown in the offset's.
    DateTimeOffset {
        days: u32,
        units: u64,
        scale: u8,
        offset_minutes: i16,
    },
    Text(String),
    Bytes(Vec<u8>),
    UniqueIdentifier([u8; 16]),
    /// A `sql_variant`: the type of its value, and the value.
    Variant(ColumnType, Box<Value>),
}

impl Value {
    /// The value is NULL.
    pub fn is_null(&self) -> bool {
        *self == Value::Null
    }

    /// The number of a whole number.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Bit(bit) => Some(i64::from(*bit)),
            _ => None,
        }
    }
}
