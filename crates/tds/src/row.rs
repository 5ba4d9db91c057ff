//! Writing rows straight into the packet buffer.
//!
//! ```text
//! ROW D1 | value of each column
//! NBCROW D2 | bitmap of NULLs, one bit a column | value of each column that is not NULL
//! ```
//!
//! Invariants: a row is all there or not there: when a value does not fit its column, or values
//! are missing, [`RowWriter::finish`] withdraws the row and says why. No allocation per row.

use std::fmt;

use crate::code_page;
use crate::column::{Collation, ColumnType, decimal_bytes, national_bytes, value_bytes_max};
use crate::cursor::put_utf16;
use crate::date;
use crate::value::Value;

/// A column as declared and as this client gets it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) declared: ColumnType,
    pub(crate) wire: ColumnType,
    /// Whether single-byte characters go out as UTF-8 rather than in code page 1252.
    pub(crate) is_utf8: bool,
}

/// Why a row was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowError {
    /// The value's kind is not the column's; the column counts from 0.
    Mismatch(usize),
    /// The value is longer, or larger, than the column's type allows.
    TooLong(usize),
    /// More values than columns, or fewer: the number given.
    WrongCount(usize),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(column) => write!(f, "the value of column {column} is of another type"),
            Self::TooLong(column) => write!(f, "the value of column {column} does not fit"),
            Self::WrongCount(given) => write!(f, "{given} values do not make a row here"),
        }
    }
}

impl std::error::Error for RowError {}

/// How the pieces of a long value follow its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongFrame {
    /// Each with its length before it, and an empty one at the end ([MS-TDS] 2.2.5.2.3): the value may end early.
    Chunks,
    /// One after the other, as they are.
    Plain,
}

impl LongFrame {
    /// Writes a piece; an empty one is nothing.
    pub fn put(self, out: &mut Vec<u8>, piece: &[u8]) {
        let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        if self == LongFrame::Chunks && length > 0 {
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(piece);
    }

    /// Writes what ends the value.
    pub fn close(self, out: &mut Vec<u8>) {
        if self == LongFrame::Chunks {
            out.extend_from_slice(&[0; 4]);
        }
    }
}

/// Takes a row's values from left to right. Each method writes one value; `finish` closes the row.
#[derive(Debug)]
pub struct RowWriter<'a> {
    out: &'a mut Vec<u8>,
    slots: &'a [Slot],
    collation: Collation,
    start: usize,
    bitmap: Option<usize>,
    next: usize,
    error: Option<RowError>,
}

impl<'a> RowWriter<'a> {
    /// Opens a value list that begins at the buffer's end; `start` is where a failed one is cut off.
    pub(crate) fn new(out: &'a mut Vec<u8>, slots: &'a [Slot], collation: Collation, start: usize) -> Self {
        Self {
            out,
            slots,
            collation,
            start,
            bitmap: None,
            next: 0,
            error: None,
        }
    }

    /// Goes on behind so many values.
    pub(crate) fn behind(mut self, next: usize) -> Self {
        self.next = next;
        self
    }

    /// Makes it an NBCROW's list: NULLs go to a bitmap.
    pub(crate) fn with_bitmap(mut self) -> Self {
        self.bitmap = Some(self.out.len());
        let bytes = self.slots.len().div_ceil(8);
        self.out.resize(self.out.len() + bytes, 0);
        self
    }

    fn take(&mut self) -> Option<Slot> {
        let slot = self.slots.get(self.next).copied();
        self.next += 1;
        slot
    }

    fn fail(&mut self, error: fn(usize) -> RowError) {
        let column = self.next.saturating_sub(1);
        self.error.get_or_insert(error(column));
    }

    pub fn null(&mut self) {
        let Some(slot) = self.take() else { return };
        if let Some(bitmap) = self.bitmap {
            let column = self.next - 1;
            if let Some(byte) = self.out.get_mut(bitmap + column / 8) {
                *byte |= 1 << (column % 8);
            }
            return;
        }
        match slot.wire {
            ColumnType::Char(_)
            | ColumnType::VarChar(_)
            | ColumnType::NChar(_)
            | ColumnType::NVarChar(_)
            | ColumnType::Binary(_)
            | ColumnType::VarBinary(_) => self.out.extend_from_slice(&[0xFF; 2]),
            ColumnType::VarCharMax
            | ColumnType::NVarCharMax
            | ColumnType::VarBinaryMax
            | ColumnType::HierarchyId
            | ColumnType::Geometry
            | ColumnType::Geography
            | ColumnType::Xml => {
                self.out.extend_from_slice(&[0xFF; 8]);
            }
            ColumnType::SqlVariant => self.out.extend_from_slice(&[0; 4]),
            _ => self.out.push(0),
        }
    }

    pub fn bit(&mut self, value: bool) {
        self.bigint(i64::from(value));
    }

    pub fn tinyint(&mut self, value: u8) {
        self.bigint(i64::from(value));
    }

    pub fn smallint(&mut self, value: i16) {
        self.bigint(i64::from(value));
    }

    pub fn int(&mut self, value: i32) {
        self.bigint(i64::from(value));
    }

    /// bigint, or any other integer type at the column's own width if the value fits it.
    pub fn bigint(&mut self, value: i64) {
        let Some(slot) = self.take() else { return };
        let fits = match slot.wire {
            ColumnType::Bit => put_byte_value(self.out, u8::try_from(value).ok().map(|v| [v])),
            ColumnType::TinyInt => put_byte_value(self.out, u8::try_from(value).ok().map(|v| [v])),
            ColumnType::SmallInt => put_byte_value(self.out, i16::try_from(value).ok().map(i16::to_le_bytes)),
            ColumnType::Int => put_byte_value(self.out, i32::try_from(value).ok().map(i32::to_le_bytes)),
            ColumnType::BigInt => put_byte_value(self.out, Some(value.to_le_bytes())),
            ColumnType::SqlVariant => {
                put_variant_head(self.out, 0x7F, &[], 8);
                self.out.extend_from_slice(&value.to_le_bytes());
                true
            }
            _ => return self.fail(RowError::Mismatch),
        };
        if !fits {
            self.fail(RowError::TooLong);
        }
    }

    /// real (into a real or float column).
    pub fn real(&mut self, value: f32) {
        self.float(f64::from(value));
    }

    /// float (a real column takes the nearest single).
    pub fn float(&mut self, value: f64) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::Real => {
                put_byte_value(self.out, Some((value as f32).to_le_bytes()));
            }
            ColumnType::Float => {
                put_byte_value(self.out, Some(value.to_le_bytes()));
            }
            ColumnType::SqlVariant => {
                put_variant_head(self.out, 0x3E, &[], 8);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// money or smallmoney, in ten-thousandths.
    pub fn money(&mut self, ten_thousandths: i64) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::Money => {
                put_byte_value(self.out, Some(money_bytes(ten_thousandths)));
            }
            ColumnType::SmallMoney => {
                let narrow = i32::try_from(ten_thousandths).ok().map(i32::to_le_bytes);
                if !put_byte_value(self.out, narrow) {
                    self.fail(RowError::TooLong);
                }
            }
            ColumnType::SqlVariant => {
                put_variant_head(self.out, 0x3C, &[], 8);
                self.out.extend_from_slice(&money_bytes(ten_thousandths));
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// decimal or numeric; `magnitude` is at the column's scale.
    pub fn decimal(&mut self, negative: bool, magnitude: u128) {
        let Some(slot) = self.take() else { return };
        let (ColumnType::Decimal { precision, .. } | ColumnType::Numeric { precision, .. }) = slot.wire else {
            return self.fail(RowError::Mismatch);
        };
        let within = 10u128
            .checked_pow(u32::from(precision))
            .is_none_or(|limit| magnitude < limit);
        if !within {
            return self.fail(RowError::TooLong);
        }
        let length = decimal_bytes(precision);
        self.out.push(length);
        self.out.push(u8::from(!negative));
        let digits = magnitude.to_le_bytes();
        let count = usize::from(length) - 1;
        self.out.extend_from_slice(&digits[..count]);
    }

    /// date: days since 0001-01-01.
    pub fn date(&mut self, days: u32) {
        let Some(slot) = self.take() else { return };
        match (slot.declared, slot.wire) {
            (ColumnType::Date, ColumnType::Date) => {
                self.out.push(3);
                put_days(self.out, days);
            }
            (ColumnType::Date, _) => self.put_text(slot, &date::date_text(days)),
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// time: units of 10^-scale seconds since midnight, at the column's scale.
    pub fn time(&mut self, units: u64) {
        let Some(slot) = self.take() else { return };
        match (slot.declared, slot.wire) {
            (ColumnType::Time { scale }, ColumnType::Time { .. }) => {
                self.out.push(u8::try_from(date::time_bytes(scale)).unwrap_or(5));
                put_units(self.out, units, scale);
            }
            (ColumnType::Time { scale }, _) => self.put_text(slot, &date::time_text(units, scale)),
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// smalldatetime: days since 1900-01-01 and minutes since midnight.
    pub fn smalldatetime(&mut self, days: u16, minutes: u16) {
        let Some(slot) = self.take() else { return };
        if slot.wire != ColumnType::SmallDateTime {
            return self.fail(RowError::Mismatch);
        }
        self.out.push(4);
        self.out.extend_from_slice(&days.to_le_bytes());
        self.out.extend_from_slice(&minutes.to_le_bytes());
    }

    /// datetime: days since 1900-01-01 and 1/300 seconds since midnight.
    pub fn datetime(&mut self, days: i32, ticks: u32) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::DateTime => self.out.push(8),
            ColumnType::SqlVariant => put_variant_head(self.out, 0x3D, &[], 8),
            _ => return self.fail(RowError::Mismatch),
        }
        self.out.extend_from_slice(&days.to_le_bytes());
        self.out.extend_from_slice(&ticks.to_le_bytes());
    }

    /// datetime2: days since 0001-01-01 and units of 10^-scale seconds at the column's scale.
    pub fn datetime2(&mut self, days: u32, units: u64) {
        let Some(slot) = self.take() else { return };
        match (slot.declared, slot.wire) {
            (ColumnType::DateTime2 { scale }, ColumnType::DateTime2 { .. }) => {
                let length = date::time_bytes(scale) + 3;
                self.out.push(u8::try_from(length).unwrap_or(8));
                put_units(self.out, units, scale);
                put_days(self.out, days);
            }
            (ColumnType::DateTime2 { scale }, _) => {
                let text = format!("{} {}", date::date_text(days), date::time_text(units, scale));
                self.put_text(slot, &text);
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// datetimeoffset: day and time in UTC, and local time's lead in minutes.
    pub fn datetimeoffset(&mut self, days: u32, units: u64, offset_minutes: i16) {
        let Some(slot) = self.take() else { return };
        match (slot.declared, slot.wire) {
            (ColumnType::DateTimeOffset { scale }, ColumnType::DateTimeOffset { .. }) => {
                let length = date::time_bytes(scale) + 5;
                self.out.push(u8::try_from(length).unwrap_or(10));
                put_units(self.out, units, scale);
                put_days(self.out, days);
                self.out.extend_from_slice(&offset_minutes.to_le_bytes());
            }
            (ColumnType::DateTimeOffset { scale }, _) => {
                let text = date::offset_text(days, units, scale, offset_minutes);
                self.put_text(slot, &text);
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// char, varchar or text: bytes in the collation's code page.
    pub fn varchar(&mut self, bytes: &[u8]) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::VarCharMax | ColumnType::Text => {
                self.framed(slot.wire, |out| out.extend_from_slice(bytes))
            }
            ColumnType::SqlVariant => self.variant_string(0xA7, bytes),
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// nchar, nvarchar or ntext: UTF-16LE bytes.
    pub fn nvarchar_utf16(&mut self, bytes: &[u8]) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::NChar(_)
            | ColumnType::NVarChar(_)
            | ColumnType::NVarCharMax
            | ColumnType::NText
            | ColumnType::Xml => self.framed(slot.wire, |out| out.extend_from_slice(bytes)),
            ColumnType::SqlVariant => self.variant_string(0xE7, bytes),
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// Any character type from text: UTF-16 for the national ones, the code page of the column's collation for the others.
    pub fn text(&mut self, text: &str) {
        let Some(slot) = self.take() else { return };
        self.put_text(slot, text);
    }

    /// binary, varbinary or image.
    pub fn binary(&mut self, bytes: &[u8]) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::Binary(_)
            | ColumnType::VarBinary(_)
            | ColumnType::VarBinaryMax
            | ColumnType::Image
            | ColumnType::HierarchyId
            | ColumnType::Geometry
            | ColumnType::Geography => self.framed(slot.wire, |out| out.extend_from_slice(bytes)),
            ColumnType::SqlVariant if bytes.len() <= 8000 => {
                put_variant_head(self.out, 0xA5, &8000u16.to_le_bytes(), bytes.len());
                self.out.extend_from_slice(bytes);
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// A value that no column takes: the row is withdrawn.
    pub fn refuse(&mut self) {
        self.next += 1;
        self.fail(RowError::Mismatch);
    }

    /// uniqueidentifier, in SQL Server's byte order.
    pub fn uniqueidentifier(&mut self, bytes: &[u8; 16]) {
        let Some(slot) = self.take() else { return };
        match slot.wire {
            ColumnType::UniqueIdentifier => self.out.push(16),
            ColumnType::SqlVariant => put_variant_head(self.out, 0x24, &[], 16),
            _ => return self.fail(RowError::Mismatch),
        }
        self.out.extend_from_slice(bytes);
    }

    /// A value as clients send them; its type must be the column's.
    pub fn value(&mut self, value: &Value) {
        match *value {
            Value::Null => self.null(),
            Value::Bit(value) => self.bit(value),
            Value::TinyInt(value) => self.tinyint(value),
            Value::SmallInt(value) => self.smallint(value),
            Value::Int(value) => self.variant_or(value.into(), 0x38, &value.to_le_bytes()),
            Value::BigInt(value) => self.bigint(value),
            Value::Real(value) => self.real(value),
            Value::Float(value) => self.float(value),
            Value::Money(value) => self.money(value),
            Value::Decimal {
                negative, magnitude, ..
            } => self.decimal(negative, magnitude),
            Value::Date(days) => self.date(days),
            Value::Time { units, .. } => self.time(units),
            Value::SmallDateTime { days, minutes } => self.smalldatetime(days, minutes),
            Value::DateTime { days, ticks } => self.datetime(days, ticks),
            Value::DateTime2 { days, units, .. } => self.datetime2(days, units),
            Value::DateTimeOffset {
                days,
                units,
                offset_minutes,
                ..
            } => self.datetimeoffset(days, units, offset_minutes),
            Value::VarChar(ref bytes) => self.varchar(bytes),
            Value::NVarChar(ref bytes) => self.nvarchar_utf16(bytes),
            Value::Binary(ref bytes) => self.binary(bytes),
            Value::UniqueIdentifier(ref bytes) => self.uniqueidentifier(bytes),
            Value::Variant(ref variant) => self.variant(variant.base, &variant.properties, &variant.payload),
            // It is a value to be received.
            Value::Long(_) => self.refuse(),
        }
    }

    /// Opens a long value of so many bytes, which are in the column's own form and follow in pieces. `None` when the column takes none.
    pub fn open_long(&mut self, bytes: u64) -> Option<LongFrame> {
        let slot = self.take()?;
        let narrow = u32::try_from(bytes).ok()?;
        match slot.wire {
            ColumnType::VarCharMax | ColumnType::NVarCharMax | ColumnType::VarBinaryMax | ColumnType::Xml
                if !slot.is_utf8 =>
            {
                self.out.extend_from_slice(&bytes.to_le_bytes());
                Some(LongFrame::Chunks)
            }
            ColumnType::Text | ColumnType::NText | ColumnType::Image if !slot.is_utf8 => {
                self.out.push(16);
                self.out.extend_from_slice(&[1; 24]);
                self.out.extend_from_slice(&narrow.to_le_bytes());
                Some(LongFrame::Plain)
            }
            _ => None,
        }
    }

    /// Leaves the row open behind what was written: `TokenWriter::row_from` goes on with it.
    ///
    /// # Errors
    /// What was wrong with a value; nothing of it is withdrawn.
    pub fn leave_open(self) -> Result<(), RowError> {
        self.error.map_or(Ok(()), Err)
    }

    /// Closes the row; when anything was wrong, the row is withdrawn from the buffer.
    pub fn finish(self) -> Result<(), RowError> {
        let error = self
            .error
            .or_else(|| (self.next != self.slots.len()).then_some(RowError::WrongCount(self.next)));
        match error {
            None => Ok(()),
            Some(error) => {
                self.out.truncate(self.start);
                Err(error)
            }
        }
    }

    /// An int keeps its own base type inside a sql_variant.
    fn variant_or(&mut self, value: i64, base: u8, bytes: &[u8]) {
        let is_variant = self
            .slots
            .get(self.next)
            .is_some_and(|slot| slot.wire == ColumnType::SqlVariant);
        if is_variant {
            self.next += 1;
            put_variant_head(self.out, base, &[], bytes.len());
            self.out.extend_from_slice(bytes);
        } else {
            self.bigint(value);
        }
    }

    /// A sql_variant: its base type, its properties and the bytes of its value.
    pub fn variant(&mut self, base: u8, properties: &[u8], value: &[u8]) {
        let Some(slot) = self.take() else { return };
        if slot.wire != ColumnType::SqlVariant {
            return self.fail(RowError::Mismatch);
        }
        put_variant_head(self.out, base, properties, value.len());
        self.out.extend_from_slice(value);
    }

    fn variant_string(&mut self, base: u8, bytes: &[u8]) {
        if bytes.len() > 8000 {
            return self.fail(RowError::TooLong);
        }
        let mut properties = [0; 7];
        properties[..5].copy_from_slice(&self.collation.0);
        properties[5..].copy_from_slice(&8000u16.to_le_bytes());
        put_variant_head(self.out, base, &properties, bytes.len());
        self.out.extend_from_slice(bytes);
    }

    fn put_text(&mut self, slot: Slot, text: &str) {
        match slot.wire {
            ColumnType::NChar(_)
            | ColumnType::NVarChar(_)
            | ColumnType::NVarCharMax
            | ColumnType::NText
            | ColumnType::Xml => self.framed(slot.wire, |out| put_utf16(out, text)),
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::VarCharMax | ColumnType::Text => {
                let utf8 = slot.is_utf8;
                self.framed(slot.wire, |out| {
                    if utf8 {
                        out.extend_from_slice(text.as_bytes());
                    } else {
                        code_page::encode_into(out, text);
                    }
                });
            }
            ColumnType::SqlVariant => {
                let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
                self.variant_string(0xE7, &utf16);
            }
            _ => self.fail(RowError::Mismatch),
        }
    }

    /// Writes a string's bytes with the length form of its type, patched in afterwards.
    fn framed(&mut self, wire: ColumnType, fill: impl FnOnce(&mut Vec<u8>)) {
        match wire {
            ColumnType::VarCharMax
            | ColumnType::NVarCharMax
            | ColumnType::VarBinaryMax
            | ColumnType::HierarchyId
            | ColumnType::Geometry
            | ColumnType::Geography
            | ColumnType::Xml => {
                let at = self.out.len();
                self.out.extend_from_slice(&[0; 12]);
                fill(self.out);
                let count = self.out.len() - at - 12;
                let Ok(narrow) = u32::try_from(count) else {
                    return self.fail(RowError::TooLong);
                };
                self.out[at..at + 8].copy_from_slice(&u64::from(narrow).to_le_bytes());
                self.out[at + 8..at + 12].copy_from_slice(&narrow.to_le_bytes());
                if count > 0 {
                    self.out.extend_from_slice(&[0; 4]);
                }
            }
            ColumnType::Text | ColumnType::NText | ColumnType::Image => {
                self.out.push(16);
                self.out.extend_from_slice(&[1; 24]);
                let at = self.out.len();
                self.out.extend_from_slice(&[0; 4]);
                fill(self.out);
                let Ok(narrow) = u32::try_from(self.out.len() - at - 4) else {
                    return self.fail(RowError::TooLong);
                };
                self.out[at..at + 4].copy_from_slice(&narrow.to_le_bytes());
            }
            _ => {
                let at = self.out.len();
                self.out.extend_from_slice(&[0; 2]);
                fill(self.out);
                let count = self.out.len() - at - 2;
                match u16::try_from(count) {
                    Ok(narrow) if count <= value_bytes_max(wire) => {
                        self.out[at..at + 2].copy_from_slice(&narrow.to_le_bytes());
                    }
                    _ => self.fail(RowError::TooLong),
                }
            }
        }
    }
}

/// A value with a one-byte length; None (the value did not fit) writes nothing and is false.
fn put_byte_value<const N: usize>(out: &mut Vec<u8>, value: Option<[u8; N]>) -> bool {
    let Some(bytes) = value else { return false };
    out.push(N as u8);
    out.extend_from_slice(&bytes);
    true
}

fn put_variant_head(out: &mut Vec<u8>, base: u8, properties: &[u8], value_bytes: usize) {
    let total = u32::try_from(2 + properties.len() + value_bytes).unwrap_or(u32::MAX);
    out.extend_from_slice(&total.to_le_bytes());
    out.push(base);
    out.push(u8::try_from(properties.len()).unwrap_or(0));
    out.extend_from_slice(properties);
}

/// money puts its high half first.
fn money_bytes(value: i64) -> [u8; 8] {
    (value.rotate_left(32)).to_le_bytes()
}

fn put_days(out: &mut Vec<u8>, days: u32) {
    let [low, middle, high, _] = days.min(date::LAST_DAY).to_le_bytes();
    out.extend_from_slice(&[low, middle, high]);
}

fn put_units(out: &mut Vec<u8>, units: u64, scale: u8) {
    let bytes = units.to_le_bytes();
    out.extend_from_slice(&bytes[..date::time_bytes(scale)]);
}

/// What an output parameter's type becomes where a large object type cannot stand.
pub(crate) fn without_large_objects(column: ColumnType) -> ColumnType {
    match column {
        ColumnType::Text => ColumnType::VarChar(8000),
        ColumnType::NText => ColumnType::NVarChar(national_bytes(4000) / 2),
        ColumnType::Image => ColumnType::VarBinary(8000),
        other => other,
    }
}
