//! Column and parameter types, and TYPE_INFO, their form on the wire.
//!
//! ```text
//! INTN 26 / BITN 68 / FLTN 6D / MONEYN 6E / DATETIMEN 6F / GUID 24    length u8
//! DECIMALN 6A / NUMERICN 6C                                           length u8, precision u8, scale u8
//! DATE 28                                                             nothing
//! TIME 29 / DATETIME2 2A / DATETIMEOFFSET 2B                          scale u8
//! (BIG)(VAR)BINARY A5 AD                                              length u16; FFFF = MAX (A5 only)
//! (BIG)(VAR)CHAR A7 AF, N(VAR)CHAR E7 EF                              length u16, collation (5)
//! TEXT 23 / NTEXT 63                                                  length u32, collation (5)
//! IMAGE 22 / SQL_VARIANT 62                                           length u32
//! XML F1                             0, or 1 and a schema collection: database, schema u8 and UTF-16; name u16 and UTF-16
//! UDT F0 of a column                 length u16; database, schema, name u8 and UTF-16; assembly's name u16 and UTF-16
//! UDT F0 of a parameter              database, schema, name u8 and UTF-16
//! ```
//!
//! The server always writes the nullable forms; it reads the fixed and the pre-7.0 ones too, since
//! parameters and bulk rows arrive in them.

use crate::cursor::{Cursor, DecodeError, put_utf16};
use crate::date::time_bytes;
use crate::version::TdsVersion;

/// A collation as five bytes: LCID, flags and version packed in four, then the SQL sort order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub [u8; 5]);

impl Default for Collation {
    fn default() -> Self {
        Self::SQL_LATIN1_GENERAL_CP1_CI_AS
    }
}

impl Collation {
    /// SQL Server's default for US English: LCID 0409, sort order 52.
    pub const SQL_LATIN1_GENERAL_CP1_CI_AS: Self = Self([0x09, 0x04, 0xD0, 0x00, 0x34]);

    /// varchar holds UTF-8 under it (flag bit 26).
    pub fn is_utf8(self) -> bool {
        self.0[3] & 0x04 != 0
    }
}

/// A column's type. Lengths are in characters for the national types, else in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    Bit,
    /// `tinyint`
    TinyInt,
    /// `smallint`
    SmallInt,
    Int,
    /// `bigint`
    BigInt,
    Real,
    Float,
    /// `smallmoney`
    SmallMoney,
    Money,
    /// `decimal(precision, scale)`
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `numeric(precision, scale)`
    Numeric {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    Date,
    /// `time(scale)`
    Time {
        /// Digits of the second's fraction, 0 to 7.
        scale: u8,
    },
    /// `smalldatetime`
    SmallDateTime,
    /// `datetime`
    DateTime,
    /// `datetime2(scale)`
    DateTime2 {
        /// Digits of the second's fraction, 0 to 7.
        scale: u8,
    },
    /// `datetimeoffset(scale)`
    DateTimeOffset {
        /// Digits of the second's fraction, 0 to 7.
        scale: u8,
    },
    /// `char(n)`, 1 to 8000 bytes
    Char(u16),
    /// `varchar(n)`, 1 to 8000 bytes
    VarChar(u16),
    /// `varchar(max)`
    VarCharMax,
    /// `nchar(n)`, 1 to 4000 characters
    NChar(u16),
    /// `nvarchar(n)`, 1 to 4000 characters
    NVarChar(u16),
    /// `nvarchar(max)`
    NVarCharMax,
    Text,
    /// `ntext`
    NText,
    Image,
    /// `binary(n)`, 1 to 8000 bytes
    Binary(u16),
    /// `varbinary(n)`, 1 to 8000 bytes
    VarBinary(u16),
    /// `varbinary(max)`
    VarBinaryMax,
    /// `uniqueidentifier`
    UniqueIdentifier,
    SqlVariant,
    /// `hierarchyid`, a type of the common language runtime
    HierarchyId,
    /// `geometry`, likewise
    Geometry,
    /// `geography`, likewise
    Geography,
    Xml,
}

/// How a value's length is written before its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// No value at all: always NULL.
    Nothing,
    /// Always this many bytes, never NULL.
    Fixed(u8),
    /// u8, 0 = NULL.
    Byte,
    /// u8, FF = NULL (the character types of before 7.0).
    OldByte,
    /// u16, FFFF = NULL.
    Short,
    /// Chunks: u64 total or FF..FE unknown or FF..FF NULL, then u32-prefixed chunks up to an empty one.
    Chunks,
    /// text, ntext, image: text pointer in rows, then u32; FFFFFFFF = NULL in parameters.
    Long,
    /// sql_variant: u32, 0 = NULL.
    Variant,
}

/// A type as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireType {
    pub(crate) column: ColumnType,
    pub(crate) layout: Layout,
    pub(crate) collation: Option<Collation>,
}

/// The bytes of precision's magnitude with its sign byte (MS-TDS 2.2.5.5.1.6).
pub(crate) fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

impl ColumnType {
    /// The type a client of `version` gets for this one: SQL Server sends text for the date types
    /// to clients below 7.3, and the old large types for MAX to clients below 7.2.
    pub fn for_version(self, version: TdsVersion) -> Self {
        let fraction = |scale: u8| match scale {
            0 => 0,
            digits => u16::from(digits) + 1,
        };
        match self {
            Self::Date if !version.has_date_types() => Self::NVarChar(10),
            Self::Time { scale } if !version.has_date_types() => Self::NVarChar(8 + fraction(scale)),
            Self::DateTime2 { scale } if !version.has_date_types() => Self::NVarChar(19 + fraction(scale)),
            Self::DateTimeOffset { scale } if !version.has_date_types() => Self::NVarChar(26 + fraction(scale)),
            Self::VarCharMax if !version.is_2005_or_later() => Self::Text,
            Self::NVarCharMax if !version.is_2005_or_later() => Self::NText,
            Self::VarBinaryMax if !version.is_2005_or_later() => Self::Image,
            Self::HierarchyId if !version.is_2005_or_later() => Self::VarBinary(HIERARCHY_BYTES_MAX),
            Self::Xml if !version.is_2005_or_later() => Self::NText,
            Self::Geometry | Self::Geography if !version.is_2005_or_later() => Self::Image,
            other => other,
        }
    }

    /// text, ntext or image: its values carry a text pointer, its metadata a table name.
    pub fn is_large_object(self) -> bool {
        matches!(self, Self::Text | Self::NText | Self::Image)
    }

    /// Appends the TYPE_INFO of this type in its nullable form.
    pub fn write_type_info(self, out: &mut Vec<u8>, collation: Collation) {
        match self {
            Self::Bit => out.extend_from_slice(&[0x68, 1]),
            Self::TinyInt => out.extend_from_slice(&[0x26, 1]),
            Self::SmallInt => out.extend_from_slice(&[0x26, 2]),
            Self::Int => out.extend_from_slice(&[0x26, 4]),
            Self::BigInt => out.extend_from_slice(&[0x26, 8]),
            Self::Real => out.extend_from_slice(&[0x6D, 4]),
            Self::Float => out.extend_from_slice(&[0x6D, 8]),
            Self::SmallMoney => out.extend_from_slice(&[0x6E, 4]),
            Self::Money => out.extend_from_slice(&[0x6E, 8]),
            Self::Decimal { precision, scale } => {
                out.extend_from_slice(&[0x6A, decimal_bytes(precision), precision, scale]);
            }
            Self::Numeric { precision, scale } => {
                out.extend_from_slice(&[0x6C, decimal_bytes(precision), precision, scale]);
            }
            Self::Date => out.push(0x28),
            Self::Time { scale } => out.extend_from_slice(&[0x29, scale]),
            Self::DateTime2 { scale } => out.extend_from_slice(&[0x2A, scale]),
            Self::DateTimeOffset { scale } => out.extend_from_slice(&[0x2B, scale]),
            Self::SmallDateTime => out.extend_from_slice(&[0x6F, 4]),
            Self::DateTime => out.extend_from_slice(&[0x6F, 8]),
            Self::UniqueIdentifier => out.extend_from_slice(&[0x24, 16]),
            Self::Char(bytes) => put_characters(out, 0xAF, bytes, collation),
            Self::VarChar(bytes) => put_characters(out, 0xA7, bytes, collation),
            Self::VarCharMax => put_characters(out, 0xA7, u16::MAX, collation),
            Self::NChar(units) => put_characters(out, 0xEF, national_bytes(units), collation),
            Self::NVarChar(units) => put_characters(out, 0xE7, national_bytes(units), collation),
            Self::NVarCharMax => put_characters(out, 0xE7, u16::MAX, collation),
            Self::Binary(bytes) => put_binary(out, 0xAD, bytes),
            Self::VarBinary(bytes) => put_binary(out, 0xA5, bytes),
            Self::VarBinaryMax => put_binary(out, 0xA5, u16::MAX),
            Self::Text => {
                out.push(0x23);
                out.extend_from_slice(&0x7FFF_FFFFu32.to_le_bytes());
                out.extend_from_slice(&collation.0);
            }
            Self::NText => {
                out.push(0x63);
                out.extend_from_slice(&0x7FFF_FFFEu32.to_le_bytes());
                out.extend_from_slice(&collation.0);
            }
            Self::Image => {
                out.push(0x22);
                out.extend_from_slice(&0x7FFF_FFFFu32.to_le_bytes());
            }
            Self::SqlVariant => {
                out.push(0x62);
                out.extend_from_slice(&8009u32.to_le_bytes());
            }
            Self::HierarchyId => put_clr_type(out, HIERARCHY_BYTES_MAX, "hierarchyid", "SqlHierarchyId"),
            // FFFF: no limit (MS-TDS 2.2.5.5.2).
            Self::Geometry => put_clr_type(out, u16::MAX, "geometry", "SqlGeometry"),
            Self::Geography => put_clr_type(out, u16::MAX, "geography", "SqlGeography"),
            Self::Xml => out.extend_from_slice(&[XML_TOKEN, 0]),
        }
    }
}

/// XMLTYPE ([MS-TDS] 2.2.5.4.3).
const XML_TOKEN: u8 = 0xF1;

/// Bytes of the longest `hierarchyid`.
const HIERARCHY_BYTES_MAX: u16 = 892;

/// A type of the common language runtime: its length, database, schema and name, and the type of .NET that reads its values, as SQL Server names
/// it since 2012. The types of the system are the same in every database, so none is named.
fn put_clr_type(out: &mut Vec<u8>, bytes_max: u16, name: &str, class: &str) {
    out.push(0xF0);
    out.extend_from_slice(&bytes_max.to_le_bytes());
    for name in ["", "sys", name] {
        put_b_varchar(out, name);
    }
    let assembly = format!(
        "Microsoft.SqlServer.Types.{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"
    );
    put_us_varchar(out, &assembly, u16::MAX);
}

/// The wire's byte length of a national type of `units` characters.
pub(crate) fn national_bytes(units: u16) -> u16 {
    units.clamp(1, 4000) * 2
}

fn put_characters(out: &mut Vec<u8>, token: u8, bytes: u16, collation: Collation) {
    put_binary(out, token, bytes);
    out.extend_from_slice(&collation.0);
}

fn put_binary(out: &mut Vec<u8>, token: u8, bytes: u16) {
    out.push(token);
    out.extend_from_slice(&bytes.max(1).to_le_bytes());
}

impl WireType {
    /// Reads a TYPE_INFO.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let token = cursor.u8("type")?;
        if let Some(fixed) = fixed_type(token) {
            return Ok(fixed);
        }
        match token {
            0x24 | 0x26 | 0x68 | 0x6D | 0x6E | 0x6F => {
                let length = cursor.u8("type length")?;
                Ok(plain(sized_type(token, length)?, Layout::Byte))
            }
            0x37 | 0x3F | 0x6A | 0x6C => {
                cursor.u8("decimal length")?;
                let (precision, scale) = precision_and_scale(cursor)?;
                let column = if token == 0x37 || token == 0x6A {
                    ColumnType::Decimal { precision, scale }
                } else {
                    ColumnType::Numeric { precision, scale }
                };
                Ok(plain(column, Layout::Byte))
            }
            0x28 => Ok(plain(ColumnType::Date, Layout::Byte)),
            0x29..=0x2B => {
                let scale = cursor.u8("time scale")?;
                if scale > 7 {
                    return Err(DecodeError::Invalid("time scale", u64::from(scale)));
                }
                let column = match token {
                    0x29 => ColumnType::Time { scale },
                    0x2A => ColumnType::DateTime2 { scale },
                    _ => ColumnType::DateTimeOffset { scale },
                };
                Ok(plain(column, Layout::Byte))
            }
            0x25 | 0x27 | 0x2D | 0x2F => {
                let length = u16::from(cursor.u8("type length")?);
                let column = match token {
                    0x25 => ColumnType::VarBinary(length),
                    0x27 => ColumnType::VarChar(length),
                    0x2D => ColumnType::Binary(length),
                    _ => ColumnType::Char(length),
                };
                Ok(plain(column, Layout::OldByte))
            }
            0xA5 | 0xAD | 0xA7 | 0xAF | 0xE7 | 0xEF => string_type(token, cursor),
            0x22 | 0x23 | 0x63 => large_object_type(token, cursor),
            0x62 => {
                cursor.u32("type length")?;
                Ok(plain(ColumnType::SqlVariant, Layout::Variant))
            }
            XML_TOKEN => {
                if cursor.u8("xml schema")? != 0 {
                    cursor.b_varchar("xml schema database")?;
                    cursor.b_varchar("xml schema owner")?;
                    cursor.us_varchar("xml schema collection")?;
                }
                Ok(plain(ColumnType::Xml, Layout::Chunks))
            }
            0xF0 => named_type(token, cursor),
            0xF3..=0xF5 => Err(DecodeError::Unsupported("data type", u64::from(token))),
            other => Err(DecodeError::Invalid("data type", u64::from(other))),
        }
    }
}

/// A CLR type, by its name: those of the system are known.
fn named_type(token: u8, cursor: &mut Cursor<'_>) -> Result<WireType, DecodeError> {
    cursor.b_varchar("type's database")?;
    let schema = cursor.b_varchar("type's schema")?;
    let name = cursor.b_varchar("type's name")?;
    let known = match name.to_ascii_lowercase().as_str() {
        "hierarchyid" => Some(ColumnType::HierarchyId),
        "geometry" => Some(ColumnType::Geometry),
        "geography" => Some(ColumnType::Geography),
        _ => None,
    };
    let known = known.filter(|_| schema.is_empty() || schema.eq_ignore_ascii_case("sys"));
    match known {
        Some(known) => Ok(plain(known, Layout::Chunks)),
        None => Err(DecodeError::Unsupported("data type", u64::from(token))),
    }
}

fn plain(column: ColumnType, layout: Layout) -> WireType {
    WireType {
        column,
        layout,
        collation: None,
    }
}

fn fixed_type(token: u8) -> Option<WireType> {
    let (column, length) = match token {
        0x1F => return Some(plain(ColumnType::VarChar(1), Layout::Nothing)),
        0x30 => (ColumnType::TinyInt, 1),
        0x32 => (ColumnType::Bit, 1),
        0x34 => (ColumnType::SmallInt, 2),
        0x38 => (ColumnType::Int, 4),
        0x3A => (ColumnType::SmallDateTime, 4),
        0x3B => (ColumnType::Real, 4),
        0x3C => (ColumnType::Money, 8),
        0x3D => (ColumnType::DateTime, 8),
        0x3E => (ColumnType::Float, 8),
        0x7A => (ColumnType::SmallMoney, 4),
        0x7F => (ColumnType::BigInt, 8),
        _ => return None,
    };
    Some(plain(column, Layout::Fixed(length)))
}

fn sized_type(token: u8, length: u8) -> Result<ColumnType, DecodeError> {
    Ok(match (token, length) {
        (0x24, 16) => ColumnType::UniqueIdentifier,
        (0x26, 1) => ColumnType::TinyInt,
        (0x26, 2) => ColumnType::SmallInt,
        (0x26, 4) => ColumnType::Int,
        (0x26, 8) => ColumnType::BigInt,
        (0x68, 1) => ColumnType::Bit,
        (0x6D, 4) => ColumnType::Real,
        (0x6D, 8) => ColumnType::Float,
        (0x6E, 4) => ColumnType::SmallMoney,
        (0x6E, 8) => ColumnType::Money,
        (0x6F, 4) => ColumnType::SmallDateTime,
        (0x6F, 8) => ColumnType::DateTime,
        _ => return Err(DecodeError::Invalid("type length", u64::from(length))),
    })
}

fn precision_and_scale(cursor: &mut Cursor<'_>) -> Result<(u8, u8), DecodeError> {
    let precision = cursor.u8("precision")?;
    let scale = cursor.u8("scale")?;
    if !(1..=38).contains(&precision) || scale > precision {
        return Err(DecodeError::Invalid(
            "precision and scale",
            u64::from(precision) << 8 | u64::from(scale),
        ));
    }
    Ok((precision, scale))
}

fn large_object_type(token: u8, cursor: &mut Cursor<'_>) -> Result<WireType, DecodeError> {
    cursor.u32("type length")?;
    let (column, has_collation) = match token {
        0x22 => (ColumnType::Image, false),
        0x23 => (ColumnType::Text, true),
        _ => (ColumnType::NText, true),
    };
    let collation = if has_collation {
        Some(Collation(cursor.array("collation")?))
    } else {
        None
    };
    Ok(WireType {
        column,
        layout: Layout::Long,
        collation,
    })
}

fn string_type(token: u8, cursor: &mut Cursor<'_>) -> Result<WireType, DecodeError> {
    let length = cursor.u16("type length")?;
    let collation = match token {
        0xA5 | 0xAD => None,
        _ => Some(Collation(cursor.array("collation")?)),
    };
    if length == u16::MAX {
        let column = match token {
            0xA5 => ColumnType::VarBinaryMax,
            0xA7 => ColumnType::VarCharMax,
            0xE7 => ColumnType::NVarCharMax,
            _ => return Err(DecodeError::Invalid("type length", u64::from(length))),
        };
        return Ok(WireType {
            column,
            layout: Layout::Chunks,
            collation,
        });
    }
    if length > 8000 {
        return Err(DecodeError::Invalid("type length", u64::from(length)));
    }
    let column = match token {
        0xA5 => ColumnType::VarBinary(length),
        0xAD => ColumnType::Binary(length),
        0xA7 => ColumnType::VarChar(length),
        0xAF => ColumnType::Char(length),
        0xE7 => ColumnType::NVarChar(length / 2),
        _ => ColumnType::NChar(length / 2),
    };
    Ok(WireType {
        column,
        layout: Layout::Short,
        collation,
    })
}

/// A column of a result set, or of a bulk load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name, empty for an unnamed expression.
    pub name: String,
    pub column_type: ColumnType,
    /// The collation of its characters; without one, that of the database.
    pub collation: Option<Collation>,
    /// NULL may occur.
    pub nullable: bool,
    /// It is an identity column.
    pub identity: bool,
    /// The user type id; 0 but for system alias types.
    pub user_type: u32,
    /// The schema collection of typed xml.
    pub xml_collection: Option<XmlCollection>,
}

/// An XML schema collection by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlCollection {
    pub database: String,
    pub schema: String,
    pub name: String,
}

impl Column {
    /// A nullable column without further marks.
    pub fn new(name: impl Into<String>, column_type: ColumnType) -> Self {
        Self {
            name: name.into(),
            column_type,
            collation: None,
            nullable: true,
            identity: false,
            user_type: 0,
            xml_collection: None,
        }
    }

    /// Appends its TYPE_INFO as a wire type, xml with its schema collection.
    pub(crate) fn write_type_info(&self, out: &mut Vec<u8>, wire: ColumnType, collation: Collation) {
        match (wire, &self.xml_collection) {
            (ColumnType::Xml, Some(collection)) => {
                out.extend_from_slice(&[XML_TOKEN, 1]);
                put_b_varchar(out, &collection.database);
                put_b_varchar(out, &collection.schema);
                put_us_varchar(out, &collection.name, u16::MAX);
            }
            _ => wire.write_type_info(out, self.collation.unwrap_or(collation)),
        }
    }

    /// Appends the column's part of COLMETADATA, its type as `version` gets it; `collation` is the database's.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: TdsVersion, collation: Collation) {
        // Bits 2-3 "updatable: unknown" (2) is what SQL Server sends for ordinary results.
        let flags = u16::from(self.nullable) | 0x08 | u16::from(self.identity) << 4;
        let wire = self.column_type.for_version(version);
        put_user_type(out, version, self.user_type);
        out.extend_from_slice(&flags.to_le_bytes());
        self.write_type_info(out, wire, collation);
        if wire.is_large_object() {
            // The table's name: none, as one empty part.
            if version.is_2005_or_later() {
                out.push(1);
            }
            out.extend_from_slice(&0u16.to_le_bytes());
        }
        put_b_varchar(out, &self.name);
    }
}

/// Appends a user type id in the version's width.
pub(crate) fn put_user_type(out: &mut Vec<u8>, version: TdsVersion, user_type: u32) {
    if version.is_2005_or_later() {
        out.extend_from_slice(&user_type.to_le_bytes());
    } else {
        let narrow = u16::try_from(user_type).unwrap_or(0);
        out.extend_from_slice(&narrow.to_le_bytes());
    }
}

/// Appends a B_VARCHAR; what passes 255 code units is cut.
pub(crate) fn put_b_varchar(out: &mut Vec<u8>, text: &str) {
    let (cut, units) = cut_to_units(text, usize::from(u8::MAX));
    out.push(u8::try_from(units).unwrap_or(u8::MAX));
    put_utf16(out, cut);
}

/// Appends a US_VARCHAR; what passes `units_max` code units is cut.
pub(crate) fn put_us_varchar(out: &mut Vec<u8>, text: &str, units_max: u16) {
    let (cut, units) = cut_to_units(text, usize::from(units_max));
    out.extend_from_slice(&u16::try_from(units).unwrap_or(units_max).to_le_bytes());
    put_utf16(out, cut);
}

/// The longest front of `text` within `units_max` UTF-16 code units, and its length in them.
fn cut_to_units(text: &str, units_max: usize) -> (&str, usize) {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        let next = units + character.len_utf16();
        if next > units_max {
            return (&text[..at], units);
        }
        units = next;
    }
    (text, units)
}

/// The largest value in bytes that a type of the Byte or Short layout may hold on the wire.
pub(crate) fn value_bytes_max(column: ColumnType) -> usize {
    match column {
        ColumnType::Char(n) | ColumnType::VarChar(n) | ColumnType::Binary(n) | ColumnType::VarBinary(n) => {
            usize::from(n.max(1))
        }
        ColumnType::NChar(n) | ColumnType::NVarChar(n) => usize::from(national_bytes(n)),
        ColumnType::Time { scale } => time_bytes(scale),
        ColumnType::DateTime2 { scale } => time_bytes(scale) + 3,
        ColumnType::DateTimeOffset { scale } => time_bytes(scale) + 5,
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ALL: [ColumnType; 32] = [
        ColumnType::Xml,
        ColumnType::Bit,
        ColumnType::TinyInt,
        ColumnType::SmallInt,
        ColumnType::Int,
        ColumnType::BigInt,
        ColumnType::Real,
        ColumnType::Float,
        ColumnType::SmallMoney,
        ColumnType::Money,
        ColumnType::Decimal {
            precision: 38,
            scale: 10,
        },
        ColumnType::Numeric { precision: 5, scale: 0 },
        ColumnType::Date,
        ColumnType::Time { scale: 0 },
        ColumnType::SmallDateTime,
        ColumnType::DateTime,
        ColumnType::DateTime2 { scale: 3 },
        ColumnType::DateTimeOffset { scale: 7 },
        ColumnType::Char(10),
        ColumnType::VarChar(8000),
        ColumnType::VarCharMax,
        ColumnType::NChar(1),
        ColumnType::NVarChar(4000),
        ColumnType::NVarCharMax,
        ColumnType::Text,
        ColumnType::NText,
        ColumnType::Image,
        ColumnType::Binary(1),
        ColumnType::VarBinary(300),
        ColumnType::VarBinaryMax,
        ColumnType::UniqueIdentifier,
        ColumnType::SqlVariant,
    ];

    #[test]
    fn what_is_written_is_read_back() {
        for column in ALL {
            let mut out = Vec::new();
            column.write_type_info(&mut out, Collation::default());
            let mut cursor = Cursor::new(&out);
            let parsed = WireType::parse(&mut cursor).unwrap();
            assert_eq!(parsed.column, column);
            assert!(cursor.is_empty(), "{column:?}");
            for cut in 0..out.len() {
                assert!(WireType::parse(&mut Cursor::new(&out[..cut])).is_err());
            }
        }
    }

    /// Columns say the length and the assembly ([MS-TDS] 2.2.5.5.2.1), parameters the three names alone (2.2.5.5.2.2).
    #[test]
    fn a_hierarchyid_is_told_to_clients_and_read_from_them() {
        let mut out = Vec::new();
        ColumnType::HierarchyId.write_type_info(&mut out, Collation::default());
        let mut cursor = Cursor::new(&out);
        assert_eq!(cursor.u8("type").unwrap(), 0xF0);
        assert_eq!(cursor.u16("length").unwrap(), 892);
        let names = [(); 3].map(|()| cursor.b_varchar("name").unwrap());
        assert_eq!(names, ["", "sys", "hierarchyid"]);
        assert!(cursor.us_varchar("assembly").unwrap().contains("SqlHierarchyId"));
        assert!(cursor.is_empty());
        let sent = |names: [&str; 3]| {
            let mut out = vec![0xF0];
            names.iter().for_each(|name| put_b_varchar(&mut out, name));
            WireType::parse(&mut Cursor::new(&out)).map(|wire| (wire.column, wire.layout))
        };
        let read = Ok((ColumnType::HierarchyId, Layout::Chunks));
        assert_eq!(sent(["", "", "hierarchyid"]), read);
        assert_eq!(sent(["shop", "sys", "HierarchyId"]), read);
        assert_eq!(
            sent(["", "sys", "geometry"]),
            Ok((ColumnType::Geometry, Layout::Chunks))
        );
        assert_eq!(sent(["", "", "Geography"]), Ok((ColumnType::Geography, Layout::Chunks)));
        assert!(sent(["", "sys", "shape"]).is_err());
        assert!(sent(["", "dbo", "hierarchyid"]).is_err());
        let old = ColumnType::HierarchyId.for_version(TdsVersion::V7_1);
        assert_eq!(old, ColumnType::VarBinary(892));
    }

    #[test]
    fn old_clients_get_types_they_know() {
        let walks = [
            (ColumnType::Date, TdsVersion::V7_2, ColumnType::NVarChar(10)),
            (ColumnType::Date, TdsVersion::V7_3A, ColumnType::Date),
            (
                ColumnType::Time { scale: 7 },
                TdsVersion::V7_1,
                ColumnType::NVarChar(16),
            ),
            (
                ColumnType::DateTime2 { scale: 0 },
                TdsVersion::V7_1,
                ColumnType::NVarChar(19),
            ),
            (
                ColumnType::DateTimeOffset { scale: 7 },
                TdsVersion::V7_2,
                ColumnType::NVarChar(34),
            ),
            (ColumnType::NVarCharMax, TdsVersion::V7_1Revision1, ColumnType::NText),
            (ColumnType::NVarCharMax, TdsVersion::V7_2, ColumnType::NVarCharMax),
        ];
        for (declared, version, expected) in walks {
            assert_eq!(declared.for_version(version), expected);
        }
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let mut out = Vec::new();
        put_b_varchar(&mut out, &"\u{1F600}".repeat(200));
        assert_eq!((out[0], out.len()), (254, 1 + 254 * 2));
    }
}
