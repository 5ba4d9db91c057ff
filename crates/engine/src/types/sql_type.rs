//! The declared type of a column, variable or expression.

use std::fmt;

use super::VARIANT_BYTES_MAX;

/// `system_type_id` of the types of the common language runtime (sql-docs, "sys.types").
const CLR_TYPE_ID: u8 = 240;

/// `user_type_id` of `geometry` (sql-docs, "sys.types").
pub const GEOMETRY_TYPE_ID: u8 = 129;
/// `user_type_id` of `geography` (sql-docs, "sys.types").
pub const GEOGRAPHY_TYPE_ID: u8 = 130;

/// `system_type_id` and `user_type_id` of `json`, as public projects note them of SQL Server 2025.
const JSON_TYPE_ID: u8 = 244;

/// `system_type_id` and `user_type_id` of `xml` (SQL Server docs, "sys.types").
pub const XML_TYPE_ID: u8 = 241;

/// Bytes of the longest `hierarchyid` (sql-docs, "hierarchyid data type method reference").
pub const HIERARCHY_BYTES_MAX: i16 = 892;

/// Declared length of a variable type: a number of characters or bytes, or `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Length {
    /// 1 to 8000 bytes, or 1 to 4000 double-byte characters.
    Limited(u16),
    /// `max`: up to 2^31 - 1 bytes, outside of the row where it is long.
    Max,
    /// `text`, `ntext` and `image`: as long as `max`, but neither compared nor sorted, grouped or added (sql-docs, "ntext, text, and image").
    LargeObject,
    /// Of `nvarchar`: `xml`, whose values are kept as the text of `nvarchar(max)`.
    Xml,
}

impl Length {
    /// The number of units a value may have.
    pub fn units_max(self) -> usize {
        match self {
            Length::Limited(units) => usize::from(units),
            Length::Max | Length::LargeObject | Length::Xml => i32::MAX as usize,
        }
    }
}

/// A scalar type of T-SQL with its length, precision and scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlType {
    Bit,
    /// `tinyint`, 0 to 255
    TinyInt,
    /// `smallint`
    SmallInt,
    Int,
    /// `bigint`
    BigInt,
    /// `decimal(precision, scale)`, also `numeric`
    Decimal {
        /// Digits in total, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: u8,
    },
    /// `money`, ten-thousandths in 64 bits
    Money,
    /// `smallmoney`, ten-thousandths in 32 bits
    SmallMoney,
    /// `real`, 32 bit floating point
    Real,
    /// `float`, 64 bit floating point
    Float,
    Date,
    /// `time(scale)`
    Time {
        /// Digits of the fraction of a second, 0 to 7.
        scale: u8,
    },
    /// `datetime`, 1/300 second
    DateTime,
    /// `smalldatetime`, minutes
    SmallDateTime,
    /// `datetime2(scale)`
    DateTime2 {
        /// Digits of the fraction of a second, 0 to 7.
        scale: u8,
    },
    /// `datetimeoffset(scale)`
    DateTimeOffset {
        /// Digits of the fraction of a second, 0 to 7.
        scale: u8,
    },
    /// `char(n)`: n bytes of code page 1252, padded with blanks
    Char(u16),
    /// `varchar(n)`, `varchar(max)`; `text` with [`Length::LargeObject`]
    VarChar(Length),
    /// `nchar(n)`: n UTF-16 units, padded with blanks
    NChar(u16),
    /// `nvarchar(n)`, `nvarchar(max)`; `ntext` with [`Length::LargeObject`], `xml` with [`Length::Xml`]
    NVarChar(Length),
    /// `binary(n)`, padded with zeros
    Binary(u16),
    /// `varbinary(n)`, `varbinary(max)`; `image` with [`Length::LargeObject`]
    VarBinary(Length),
    /// `rowversion`, `timestamp`: eight bytes that the database chooses whenever a row of the column's table is written
    RowVersion,
    /// `uniqueidentifier`
    UniqueIdentifier,
    /// `sql_variant`: values that bring their type along
    SqlVariant,
    /// `hierarchyid`: the path to a node of a tree as bytes, at most 892, whose order is that of a walk into the depth
    HierarchyId,
    /// `json`: an object or array, kept as its text in UTF-8 without spaces. Values are neither compared nor sorted.
    Json,
    /// `geometry`: shapes in a plane, in the bytes of [MS-SSCLRT]. Values are neither compared nor sorted.
    Geometry,
    /// `geography`: shapes on the earth, likewise
    Geography,
}

impl SqlType {
    /// `sysname`: the type of every name in the catalog.
    pub const SYSNAME: SqlType = SqlType::NVarChar(Length::Limited(128));
    /// `xml`: text that is well formed, kept as `nvarchar(max)`.
    pub const XML: SqlType = SqlType::NVarChar(Length::Xml);

    /// The type's name without its arguments, as `sys.types` spells it.
    pub fn name(self) -> &'static str {
        match self {
            SqlType::Bit => "bit",
            SqlType::TinyInt => "tinyint",
            SqlType::SmallInt => "smallint",
            SqlType::Int => "int",
            SqlType::BigInt => "bigint",
            SqlType::Decimal { .. } => "decimal",
            SqlType::Money => "money",
            SqlType::SmallMoney => "smallmoney",
            SqlType::Real => "real",
            SqlType::Float => "float",
            SqlType::Date => "date",
            SqlType::Time { .. } => "time",
            SqlType::DateTime => "datetime",
            SqlType::SmallDateTime => "smalldatetime",
            SqlType::DateTime2 { .. } => "datetime2",
            SqlType::DateTimeOffset { .. } => "datetimeoffset",
            SqlType::Char(_) => "char",
            SqlType::VarChar(Length::LargeObject) => "text",
            SqlType::VarChar(_) => "varchar",
            SqlType::NChar(_) => "nchar",
            SqlType::NVarChar(Length::LargeObject) => "ntext",
            SqlType::XML => "xml",
            SqlType::NVarChar(_) => "nvarchar",
            SqlType::Binary(_) => "binary",
            SqlType::VarBinary(Length::LargeObject) => "image",
            SqlType::VarBinary(_) => "varbinary",
            SqlType::RowVersion => "timestamp",
            SqlType::UniqueIdentifier => "uniqueidentifier",
            SqlType::SqlVariant => "sql_variant",
            SqlType::HierarchyId => "hierarchyid",
            SqlType::Json => "json",
            SqlType::Geometry => "geometry",
            SqlType::Geography => "geography",
        }
    }

    /// `system_type_id` of `sys.types` (SQL Server docs).
    pub fn system_type_id(self) -> u8 {
        match self {
            SqlType::VarBinary(Length::LargeObject) => 34,
            SqlType::VarChar(Length::LargeObject) => 35,
            SqlType::UniqueIdentifier => 36,
            SqlType::Date => 40,
            SqlType::Time { .. } => 41,
            SqlType::DateTime2 { .. } => 42,
            SqlType::DateTimeOffset { .. } => 43,
            SqlType::TinyInt => 48,
            SqlType::SmallInt => 52,
            SqlType::Int => 56,
            SqlType::SmallDateTime => 58,
            SqlType::Real => 59,
            SqlType::Money => 60,
            SqlType::DateTime => 61,
            SqlType::Float => 62,
            SqlType::SqlVariant => 98,
            SqlType::NVarChar(Length::LargeObject) => 99,
            SqlType::XML => XML_TYPE_ID,
            SqlType::Bit => 104,
            SqlType::Decimal { .. } => 106,
            SqlType::SmallMoney => 122,
            SqlType::BigInt => 127,
            SqlType::VarBinary(_) => 165,
            SqlType::VarChar(_) => 167,
            SqlType::Binary(_) => 173,
            SqlType::Char(_) => 175,
            SqlType::RowVersion => 189,
            SqlType::NVarChar(_) => 231,
            SqlType::NChar(_) => 239,
            SqlType::HierarchyId | SqlType::Geometry | SqlType::Geography => CLR_TYPE_ID,
            SqlType::Json => JSON_TYPE_ID,
        }
    }

    /// Whether values may be longer than a row: `varchar(max)`, `nvarchar(max)`, `varbinary(max)`, the older names of these, `xml`, `json`,
    /// `geometry` and `geography`.
    pub fn is_max(self) -> bool {
        matches!(
            self,
            SqlType::VarChar(Length::Max | Length::LargeObject)
                | SqlType::NVarChar(Length::Max | Length::LargeObject | Length::Xml)
                | SqlType::VarBinary(Length::Max | Length::LargeObject)
                | SqlType::Json
                | SqlType::Geometry
                | SqlType::Geography
        )
    }

    /// Whether no operator compares or sorts values: `text`, `ntext`, `image`, `xml`, `json`, `geometry` and `geography`.
    pub fn is_incomparable(self) -> bool {
        self.is_large_object() || matches!(self, SqlType::XML | SqlType::Json) || self.is_spatial()
    }

    /// Whether it is `geometry` or `geography`.
    pub fn is_spatial(self) -> bool {
        matches!(self, SqlType::Geometry | SqlType::Geography)
    }

    /// Whether it is `text`, `ntext` or `image`, whose values no operator compares, sorts or adds.
    pub fn is_large_object(self) -> bool {
        matches!(
            self,
            SqlType::VarChar(Length::LargeObject)
                | SqlType::NVarChar(Length::LargeObject)
                | SqlType::VarBinary(Length::LargeObject)
        )
    }

    /// Rebuilds a type from what a stored definition has: the columns of `sys.columns`, with [`SqlType::stored_precision`]; `None` for a combination that is not a type.
    pub fn from_catalog(system_type_id: u8, max_length: i16, precision: u8, scale: u8) -> Option<SqlType> {
        let limited = |divisor: i16| u16::try_from(max_length / divisor).ok().filter(|&units| units > 0);
        let length = |divisor: i16| match max_length {
            -1 => Some(Length::Max),
            _ => limited(divisor).map(Length::Limited),
        };
        Some(match system_type_id {
            34 => SqlType::VarBinary(Length::LargeObject),
            35 => SqlType::VarChar(Length::LargeObject),
            36 => SqlType::UniqueIdentifier,
            40 => SqlType::Date,
            41 if scale <= 7 => SqlType::Time { scale },
            42 if scale <= 7 => SqlType::DateTime2 { scale },
            43 if scale <= 7 => SqlType::DateTimeOffset { scale },
            48 => SqlType::TinyInt,
            52 => SqlType::SmallInt,
            56 => SqlType::Int,
            58 => SqlType::SmallDateTime,
            59 => SqlType::Real,
            60 => SqlType::Money,
            61 => SqlType::DateTime,
            62 => SqlType::Float,
            98 => SqlType::SqlVariant,
            99 => SqlType::NVarChar(Length::LargeObject),
            104 => SqlType::Bit,
            106 | 108 if (1..=38).contains(&precision) && scale <= precision => SqlType::Decimal { precision, scale },
            122 => SqlType::SmallMoney,
            127 => SqlType::BigInt,
            165 => SqlType::VarBinary(length(1)?),
            167 => SqlType::VarChar(length(1)?),
            173 => SqlType::Binary(limited(1)?),
            175 => SqlType::Char(limited(1)?),
            189 => SqlType::RowVersion,
            231 => SqlType::NVarChar(length(2)?),
            239 => SqlType::NChar(limited(2)?),
            JSON_TYPE_ID => SqlType::Json,
            XML_TYPE_ID => SqlType::XML,
            CLR_TYPE_ID if max_length == HIERARCHY_BYTES_MAX => SqlType::HierarchyId,
            CLR_TYPE_ID if max_length == -1 && precision == GEOMETRY_TYPE_ID => SqlType::Geometry,
            CLR_TYPE_ID if max_length == -1 && precision == GEOGRAPHY_TYPE_ID => SqlType::Geography,
            _ => return None,
        })
    }

    /// `max_length` of `sys.columns`: bytes a value may take, -1 for `max`; of `text`, `ntext` and `image` those of a pointer, 16 (sql-docs,
    /// "sys.columns").
    pub fn max_length(self) -> i16 {
        let limited = |length: Length, bytes_per_unit: usize| match length {
            Length::Max | Length::Xml => -1,
            Length::LargeObject => 16,
            Length::Limited(units) => i16::try_from(usize::from(units) * bytes_per_unit).unwrap_or(-1),
        };
        match self {
            SqlType::VarChar(length) | SqlType::VarBinary(length) => limited(length, 1),
            SqlType::NVarChar(length) => limited(length, 2),
            SqlType::SqlVariant => VARIANT_BYTES_MAX,
            SqlType::HierarchyId => HIERARCHY_BYTES_MAX,
            other => other
                .fixed_bytes()
                .and_then(|bytes| i16::try_from(bytes).ok())
                .unwrap_or(-1),
        }
    }

    /// `precision` of `sys.columns` (SQL Server docs): 0 for types that are not numbers or times.
    pub fn precision(self) -> u8 {
        let fraction = |base: u8, scale: u8| if scale == 0 { base } else { base + 1 + scale };
        match self {
            SqlType::Bit => 1,
            SqlType::TinyInt => 3,
            SqlType::SmallInt => 5,
            SqlType::Int | SqlType::SmallMoney | SqlType::Date => 10,
            SqlType::BigInt | SqlType::Money => 19,
            SqlType::Decimal { precision, .. } => precision,
            SqlType::Real => 24,
            SqlType::Float => 53,
            SqlType::Time { scale } => fraction(8, scale),
            SqlType::DateTime => 23,
            SqlType::SmallDateTime => 16,
            SqlType::DateTime2 { scale } => fraction(19, scale),
            SqlType::DateTimeOffset { scale } => fraction(26, scale),
            _ => 0,
        }
    }

    /// What a stored definition has in the place of the precision: for `geometry` and `geography`, which have no precision and share all the rest,
    /// their `user_type_id`.
    pub fn stored_precision(self) -> u8 {
        match self {
            SqlType::Geometry => GEOMETRY_TYPE_ID,
            SqlType::Geography => GEOGRAPHY_TYPE_ID,
            other => other.precision(),
        }
    }

    /// `scale` of `sys.columns`: digits after the point.
    pub fn scale(self) -> u8 {
        match self {
            SqlType::Decimal { scale, .. }
            | SqlType::Time { scale }
            | SqlType::DateTime2 { scale }
            | SqlType::DateTimeOffset { scale } => scale,
            SqlType::Money | SqlType::SmallMoney => 4,
            SqlType::DateTime => 3,
            _ => 0,
        }
    }

    /// Bytes every value takes in a row, or `None` for a type of variable length. The widths are SQL Server's.
    pub fn fixed_bytes(self) -> Option<usize> {
        let time_bytes = |scale: u8| match scale {
            0..=2 => 3,
            3..=4 => 4,
            _ => 5,
        };
        Some(match self {
            SqlType::Bit | SqlType::TinyInt => 1,
            SqlType::SmallInt => 2,
            SqlType::Int | SqlType::SmallMoney | SqlType::Real | SqlType::SmallDateTime => 4,
            SqlType::BigInt | SqlType::Money | SqlType::Float | SqlType::DateTime | SqlType::RowVersion => 8,
            SqlType::Decimal { precision, .. } => match precision {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            SqlType::Date => 3,
            SqlType::Time { scale } => time_bytes(scale),
            SqlType::DateTime2 { scale } => time_bytes(scale) + 3,
            SqlType::DateTimeOffset { scale } => time_bytes(scale) + 5,
            SqlType::Char(bytes) | SqlType::Binary(bytes) => usize::from(bytes),
            SqlType::NChar(units) => usize::from(units) * 2,
            SqlType::UniqueIdentifier => 16,
            SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_)
            | SqlType::SqlVariant
            | SqlType::HierarchyId
            | SqlType::Json
            | SqlType::Geometry
            | SqlType::Geography => return None,
        })
    }

    /// Whether values are character strings.
    pub fn is_character(self) -> bool {
        matches!(
            self,
            SqlType::Char(_) | SqlType::VarChar(_) | SqlType::NChar(_) | SqlType::NVarChar(_)
        )
    }

    /// Whether values are double-byte character strings.
    pub fn is_unicode(self) -> bool {
        matches!(self, SqlType::NChar(_) | SqlType::NVarChar(_))
    }

    /// Whether values are binary strings.
    pub fn is_binary(self) -> bool {
        matches!(self, SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::RowVersion)
    }

    /// Whether values are whole numbers (`bit` is not: it takes no part in arithmetic on its own).
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt
        )
    }

    /// Whether values are numbers of any kind, `bit` and `money` included.
    pub fn is_numeric(self) -> bool {
        self.is_integer()
            || matches!(
                self,
                SqlType::Bit
                    | SqlType::Decimal { .. }
                    | SqlType::Money
                    | SqlType::SmallMoney
                    | SqlType::Real
                    | SqlType::Float
            )
    }

    /// Whether values are dates or times.
    pub fn is_temporal(self) -> bool {
        matches!(
            self,
            SqlType::Date
                | SqlType::Time { .. }
                | SqlType::DateTime
                | SqlType::SmallDateTime
                | SqlType::DateTime2 { .. }
                | SqlType::DateTimeOffset { .. }
        )
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())?;
        match self {
            SqlType::Decimal { precision, scale } => write!(formatter, "({precision},{scale})"),
            SqlType::Time { scale } | SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => {
                write!(formatter, "({scale})")
            }
            SqlType::Char(units) | SqlType::NChar(units) | SqlType::Binary(units) => write!(formatter, "({units})"),
            SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length) => match length {
                Length::Limited(units) => write!(formatter, "({units})"),
                Length::Max => formatter.write_str("(max)"),
                Length::LargeObject | Length::Xml => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_type_survives_the_catalog() {
        let types = [
            SqlType::Bit,
            SqlType::Decimal {
                precision: 12,
                scale: 2,
            },
            SqlType::Time { scale: 7 },
            SqlType::DateTime2 { scale: 0 },
            SqlType::Char(8000),
            SqlType::NChar(10),
            SqlType::VarChar(Length::Max),
            SqlType::VarChar(Length::LargeObject),
            SqlType::XML,
            SqlType::NVarChar(Length::LargeObject),
            SqlType::VarBinary(Length::LargeObject),
            SqlType::NVarChar(Length::Limited(128)),
            SqlType::VarBinary(Length::Limited(1)),
            SqlType::RowVersion,
            SqlType::Money,
            SqlType::UniqueIdentifier,
            SqlType::HierarchyId,
            SqlType::Json,
            SqlType::Geometry,
            SqlType::Geography,
        ];
        for sql_type in types {
            let found = SqlType::from_catalog(
                sql_type.system_type_id(),
                sql_type.max_length(),
                sql_type.stored_precision(),
                sql_type.scale(),
            );
            assert_eq!(found, Some(sql_type), "{sql_type}");
        }
        assert_eq!(SqlType::from_catalog(175, 0, 0, 0), None);
        assert_eq!(SqlType::from_catalog(7, 4, 0, 0), None);
    }
}
