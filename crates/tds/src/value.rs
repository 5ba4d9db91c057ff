//! Values as clients send them in parameters and bulk rows.

use std::borrow::Cow;
use std::sync::Arc;

use crate::code_page;
use crate::column::{ColumnType, Layout, WireType};
use crate::cursor::{Cursor, DecodeError, utf16_text};
use crate::date::units_per_second;
use crate::feed::LongValue;

const SECONDS_PER_DAY: u64 = 86_400;
/// Units of a datetime's time.
const DATETIME_TICKS_PER_SECOND: u64 = 300;
/// 1753-01-01 to 9999-12-31, from 1900-01-01.
const DATETIME_DAYS: std::ops::RangeInclusive<i32> = -53_690..=2_958_463;
/// 14 hours, the widest offset of a datetimeoffset.
const OFFSET_MINUTES_MAX: u16 = 14 * 60;
const DECIMAL_DIGITS_MAX: u8 = 38;

/// One value, in the units of the wire. Character data stays as bytes: what they mean depends on
/// the collation, and UTF-16 from clients need not be well formed.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    Bit(bool),
    /// tinyint
    TinyInt(u8),
    /// smallint
    SmallInt(i16),
    Int(i32),
    /// bigint
    BigInt(i64),
    Real(f32),
    Float(f64),
    /// money or smallmoney, in ten-thousandths
    Money(i64),
    /// decimal or numeric: magnitude / 10^scale
    Decimal {
        /// Below zero.
        negative: bool,
        /// All digits without the point.
        magnitude: u128,
        /// Digits after the point.
        scale: u8,
    },
    /// date: days since 0001-01-01
    Date(u32),
    /// time: units of 10^-scale seconds since midnight
    Time {
        /// Units since midnight.
        units: u64,
        /// The unit is 10^-scale seconds.
        scale: u8,
    },
    /// smalldatetime: days since 1900-01-01 and minutes since midnight
    SmallDateTime {
        /// Days since 1900-01-01.
        days: u16,
        /// Minutes since midnight.
        minutes: u16,
    },
    /// datetime: days since 1900-01-01 and 1/300 seconds since midnight
    DateTime {
        /// Days since 1900-01-01.
        days: i32,
        /// 1/300 seconds since midnight.
        ticks: u32,
    },
    /// datetime2
    DateTime2 {
        /// Days since 0001-01-01.
        days: u32,
        /// Units since midnight.
        units: u64,
        /// The unit is 10^-scale seconds.
        scale: u8,
    },
    /// datetimeoffset; day and time are those of UTC
    DateTimeOffset {
        /// Days since 0001-01-01, in UTC.
        days: u32,
        /// Units since midnight, in UTC.
        units: u64,
        /// The unit is 10^-scale seconds.
        scale: u8,
        /// Local time minus UTC.
        offset_minutes: i16,
    },
    /// char, varchar, text: bytes in the collation's code page
    VarChar(Vec<u8>),
    /// nchar, nvarchar, ntext, and xml that is sent to a client: UTF-16LE bytes
    NVarChar(Vec<u8>),
    /// binary, varbinary, image, and xml that a client has sent, in any encoding
    Binary(Vec<u8>),
    /// uniqueidentifier, in SQL Server's byte order
    UniqueIdentifier([u8; 16]),
    /// sql_variant
    Variant(Box<VariantValue>),
    /// A long string that stays in its message, which is spooled
    Long(Arc<LongValue>),
}

/// A value that brings its type along ([MS-TDS] 2.2.5.5.4): the bytes say it all, so that they go as they have come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantValue {
    pub base: u8,
    /// Precision, scale, length, collation, as the type has them.
    pub properties: Vec<u8>,
    pub payload: Vec<u8>,
}

impl Value {
    /// Character data in memory as text: UTF-16, or code page 1252. None for anything else.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::NVarChar(bytes) => Some(utf16_text(bytes)),
            Self::VarChar(bytes) => Some(code_page::decode(bytes)),
            Self::Variant(variant) => variant.decoded().ok()?.1.text(),
            _ => None,
        }
    }

    /// An integer of any width. None for anything else.
    pub fn integer(&self) -> Option<i64> {
        match *self {
            Self::Bit(value) => Some(i64::from(value)),
            Self::TinyInt(value) => Some(i64::from(value)),
            Self::SmallInt(value) => Some(i64::from(value)),
            Self::Int(value) => Some(i64::from(value)),
            Self::BigInt(value) => Some(value),
            _ => None,
        }
    }

    /// Reads the value of a parameter, or of a row's column: only text, ntext and image differ.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, wire: &WireType, is_in_row: bool) -> Result<Self, DecodeError> {
        let bytes = match wire.layout {
            Layout::Long => match Self::long_length(cursor, is_in_row)? {
                None => return Ok(Self::Null),
                Some(length) => Some(Cow::Borrowed(take(cursor, length)?)),
            },
            _ => raw(cursor, wire.layout)?,
        };
        Self::interpret(wire, bytes)
    }

    /// The length of a value of text, ntext or image; None is NULL.
    pub(crate) fn long_length(cursor: &mut Cursor<'_>, is_in_row: bool) -> Result<Option<u32>, DecodeError> {
        if is_in_row {
            let pointer_bytes = cursor.u8("text pointer")?;
            if pointer_bytes == 0 {
                return Ok(None);
            }
            cursor.bytes(usize::from(pointer_bytes), "text pointer")?;
            cursor.bytes(8, "text timestamp")?;
        }
        let length = cursor.u32("value length")?;
        Ok(Some(length).filter(|length| *length != u32::MAX))
    }

    /// Whether it is a value of a type of its layout: a number that is finite, digits that the precision has room for, a time within
    /// its day. Bytes of the right length may say otherwise. `column` is where it was sent, and gives the precision.
    pub fn is_valid(&self, column: ColumnType) -> bool {
        let in_day = |units: u64, scale: u8| units < SECONDS_PER_DAY * units_per_second(scale);
        match *self {
            Self::Variant(ref variant) => variant.is_valid(),
            Self::Real(value) => value.is_finite(),
            Self::Float(value) => value.is_finite(),
            Self::Decimal { magnitude, .. } => {
                let digits = match column {
                    ColumnType::Decimal { precision, .. } | ColumnType::Numeric { precision, .. } => precision,
                    _ => DECIMAL_DIGITS_MAX,
                };
                magnitude < 10_u128.pow(u32::from(digits.min(DECIMAL_DIGITS_MAX)))
            }
            Self::Time { units, scale } | Self::DateTime2 { units, scale, .. } => in_day(units, scale),
            Self::DateTimeOffset {
                units,
                scale,
                offset_minutes,
                ..
            } => in_day(units, scale) && offset_minutes.unsigned_abs() <= OFFSET_MINUTES_MAX,
            Self::DateTime { days, ticks } => {
                DATETIME_DAYS.contains(&days) && u64::from(ticks) < SECONDS_PER_DAY * DATETIME_TICKS_PER_SECOND
            }
            Self::SmallDateTime { minutes, .. } => u64::from(minutes) < SECONDS_PER_DAY / 60,
            _ => true,
        }
    }

    pub(crate) fn interpret(wire: &WireType, bytes: Option<Cow<'_, [u8]>>) -> Result<Self, DecodeError> {
        let Some(bytes) = bytes else {
            return Ok(Self::Null);
        };
        match wire.column {
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::VarCharMax | ColumnType::Text => {
                if wire.collation.is_some_and(|collation| collation.is_utf8()) {
                    let text = String::from_utf8_lossy(&bytes);
                    return Ok(Self::NVarChar(text.encode_utf16().flat_map(u16::to_le_bytes).collect()));
                }
                Ok(Self::VarChar(bytes.into_owned()))
            }
            ColumnType::NChar(_) | ColumnType::NVarChar(_) | ColumnType::NVarCharMax | ColumnType::NText => {
                if !bytes.len().is_multiple_of(2) {
                    return Err(DecodeError::Invalid("UTF-16 length", bytes.len() as u64));
                }
                Ok(Self::NVarChar(bytes.into_owned()))
            }
            ColumnType::Binary(_)
            | ColumnType::VarBinary(_)
            | ColumnType::VarBinaryMax
            | ColumnType::Image
            | ColumnType::HierarchyId
            | ColumnType::Geometry
            | ColumnType::Geography
            // Its bytes say themselves how they are encoded.
            | ColumnType::Xml => Ok(Self::Binary(bytes.into_owned())),
            ColumnType::SqlVariant => variant(&bytes),
            column => scalar(column, &bytes),
        }
    }
}

fn take<'a>(cursor: &mut Cursor<'a>, length: u32) -> Result<&'a [u8], DecodeError> {
    cursor.bytes(usize::try_from(length).unwrap_or(usize::MAX), "value")
}

/// A value's bytes by its layout; None is NULL.
fn raw<'a>(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
    let bytes = match layout {
        Layout::Nothing => None,
        Layout::Fixed(length) => Some(cursor.bytes(usize::from(length), "value")?),
        Layout::Byte => match cursor.u8("value length")? {
            0 => None,
            length => Some(cursor.bytes(usize::from(length), "value")?),
        },
        Layout::OldByte => match cursor.u8("value length")? {
            0xFF => None,
            length => Some(cursor.bytes(usize::from(length), "value")?),
        },
        Layout::Short => match cursor.u16("value length")? {
            0xFFFF => None,
            length => Some(cursor.bytes(usize::from(length), "value")?),
        },
        Layout::Long | Layout::Variant => match cursor.u32("value length")? {
            0 => None,
            length => Some(take(cursor, length)?),
        },
        Layout::Chunks => return chunks(cursor),
    };
    Ok(bytes.map(Cow::Borrowed))
}

fn chunks<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
    // The announced total may be "unknown", and a liar's total must not size a buffer: only the
    // chunks that are really there count.
    if cursor.u64("chunked length")? == u64::MAX {
        return Ok(None);
    }
    let mut joined: Cow<'a, [u8]> = Cow::Borrowed(&[]);
    loop {
        let length = cursor.u32("chunk length")?;
        if length == 0 {
            return Ok(Some(joined));
        }
        let chunk = take(cursor, length)?;
        if joined.is_empty() {
            joined = Cow::Borrowed(chunk);
        } else {
            joined.to_mut().extend_from_slice(chunk);
        }
    }
}

/// The value of a type that is neither a string nor a variant.
fn scalar(column: ColumnType, bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let value = match column {
        ColumnType::Bit => Value::Bit(cursor.u8("bit")? != 0),
        ColumnType::TinyInt | ColumnType::SmallInt | ColumnType::Int | ColumnType::BigInt => integer(&mut cursor)?,
        ColumnType::Real | ColumnType::Float => match bytes.len() {
            4 => Value::Real(f32::from_le_bytes(cursor.array("real")?)),
            _ => Value::Float(f64::from_le_bytes(cursor.array("float")?)),
        },
        ColumnType::SmallMoney | ColumnType::Money => match bytes.len() {
            4 => Value::Money(i64::from(i32::from_le_bytes(cursor.array("smallmoney")?))),
            _ => {
                let high = i32::from_le_bytes(cursor.array("money")?);
                Value::Money(i64::from(high) << 32 | i64::from(cursor.u32("money")?))
            }
        },
        ColumnType::Decimal { scale, .. } | ColumnType::Numeric { scale, .. } => {
            let negative = cursor.u8("decimal sign")? == 0;
            let mut magnitude = [0; 16];
            let digits = cursor.rest();
            magnitude
                .get_mut(..digits.len())
                .ok_or(DecodeError::Invalid("decimal length", bytes.len() as u64))?
                .copy_from_slice(digits);
            Value::Decimal {
                negative,
                magnitude: u128::from_le_bytes(magnitude),
                scale,
            }
        }
        ColumnType::SmallDateTime | ColumnType::DateTime => match bytes.len() {
            4 => Value::SmallDateTime {
                days: cursor.u16("smalldatetime")?,
                minutes: cursor.u16("smalldatetime")?,
            },
            _ => Value::DateTime {
                days: i32::from_le_bytes(cursor.array("datetime")?),
                ticks: cursor.u32("datetime")?,
            },
        },
        ColumnType::UniqueIdentifier => Value::UniqueIdentifier(cursor.array("uniqueidentifier")?),
        _ => date_type(column, &mut cursor)?,
    };
    if cursor.is_empty() {
        Ok(value)
    } else {
        Err(DecodeError::Invalid("value length", bytes.len() as u64))
    }
}

fn integer(cursor: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    Ok(match cursor.remaining() {
        1 => Value::TinyInt(cursor.u8("tinyint")?),
        2 => Value::SmallInt(i16::from_le_bytes(cursor.array("smallint")?)),
        4 => Value::Int(i32::from_le_bytes(cursor.array("int")?)),
        _ => Value::BigInt(i64::from_le_bytes(cursor.array("bigint")?)),
    })
}

fn date_type(column: ColumnType, cursor: &mut Cursor<'_>) -> Result<Value, DecodeError> {
    Ok(match column {
        ColumnType::Date => Value::Date(days(cursor)?),
        ColumnType::Time { scale } => {
            let count = cursor.remaining();
            Value::Time {
                units: units(cursor, count)?,
                scale,
            }
        }
        ColumnType::DateTime2 { scale } => {
            let count = cursor.remaining().saturating_sub(3);
            Value::DateTime2 {
                units: units(cursor, count)?,
                days: days(cursor)?,
                scale,
            }
        }
        ColumnType::DateTimeOffset { scale } => {
            let count = cursor.remaining().saturating_sub(5);
            Value::DateTimeOffset {
                units: units(cursor, count)?,
                days: days(cursor)?,
                scale,
                offset_minutes: i16::from_le_bytes(cursor.array("offset")?),
            }
        }
        _ => return Err(DecodeError::Invalid("type of a value", 0)),
    })
}

fn days(cursor: &mut Cursor<'_>) -> Result<u32, DecodeError> {
    let [low, middle, high] = cursor.array("date")?;
    let days = u32::from_le_bytes([low, middle, high, 0]);
    if days > crate::date::LAST_DAY {
        return Err(DecodeError::Invalid("date", u64::from(days)));
    }
    Ok(days)
}

fn units(cursor: &mut Cursor<'_>, count: usize) -> Result<u64, DecodeError> {
    let mut wide = [0; 8];
    if !(3..=5).contains(&count) {
        return Err(DecodeError::Invalid("time length", count as u64));
    }
    wide[..count].copy_from_slice(cursor.bytes(count, "time")?);
    Ok(u64::from_le_bytes(wide))
}

/// sql_variant: base type u8, count of property bytes u8, properties, value.
fn variant(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let base = cursor.u8("variant type")?;
    let count = cursor.u8("variant properties")?;
    let properties = cursor.bytes(usize::from(count), "variant properties")?;
    let variant = VariantValue {
        base,
        properties: properties.to_vec(),
        payload: cursor.rest().to_vec(),
    };
    variant.decoded()?;
    Ok(Value::Variant(Box::new(variant)))
}

impl VariantValue {
    /// Its type and value.
    pub fn decoded(&self) -> Result<(ColumnType, Value), DecodeError> {
        // A variant's base type and properties are a TYPE_INFO in another order.
        let properties = self.properties.as_slice();
        let mut info = vec![self.base];
        match self.base {
            0x24 => info.push(16),
            0x6A | 0x6C => {
                info.push(17);
                info.extend_from_slice(properties);
            }
            0x29..=0x2B => info.extend_from_slice(properties),
            0xA5 | 0xAD => info.extend_from_slice(properties),
            0xA7 | 0xAF | 0xE7 | 0xEF => {
                let (collation, length) = properties
                    .split_at_checked(5)
                    .ok_or(DecodeError::Truncated("variant properties"))?;
                info.extend_from_slice(length);
                info.extend_from_slice(collation);
            }
            0x22 | 0x23 | 0x62 | 0x63 => {
                return Err(DecodeError::Invalid("variant type", u64::from(self.base)));
            }
            _ => {}
        }
        let wire = WireType::parse(&mut Cursor::new(&info))?;
        if wire.layout == Layout::Chunks || wire.column == ColumnType::SqlVariant {
            return Err(DecodeError::Invalid("variant type", u64::from(self.base)));
        }
        let value = Value::interpret(&wire, Some(Cow::Borrowed(&self.payload)))?;
        Ok((wire.column, value))
    }

    /// Whether its bytes are a value of its type, and no longer than that allows.
    fn is_valid(&self) -> bool {
        let Ok((column, value)) = self.decoded() else {
            return false;
        };
        let room = match column {
            ColumnType::Char(bytes)
            | ColumnType::VarChar(bytes)
            | ColumnType::Binary(bytes)
            | ColumnType::VarBinary(bytes) => usize::from(bytes),
            ColumnType::NChar(units) | ColumnType::NVarChar(units) => usize::from(units) * 2,
            _ => usize::MAX,
        };
        self.payload.len() <= room && value.is_valid(column)
    }
}
