//! A row as bytes.
//!
//! ```text
//! 0   u16  end of the fixed part (offset from the row's start)
//! 2        fixed-length columns, in column order
//! ..  u16  number of columns
//! ..       null bitmap, one bit per column, set when NULL
//! ..  u16  number of variable-length columns
//! ..  u16  each: end of its bytes (offset from the row's start)
//! ..       variable-length columns, in column order
//! ```
//! Bit 15 of an end is kept free for columns that lie outside the row, as in SQL Server's rows: the row then has the place of such a
//! column in its stead. No end has the bit, because rows are too short for it; a row that has it is damaged.
//!
//! The shape is SQL Server's (Paul Randal, "Anatomy of a record") without its two status bytes, which belong to the page
//! and are no part of what is encoded here. All numbers are little-endian. Invariants: a column that
//! the row's own column count does not reach was added after the row was written and reads as NULL; the bytes of a fixed
//! column that is NULL are zero; character columns of fixed length are padded with blanks.

use std::sync::Arc;

use super::key::push_stored_int;
use super::{Collation, Decimal, KeyDirection, SqlType, Text, Value, Variant, cp1252, encode_key_part};
use crate::error::{Error, Result};

/// Bytes a row may take on a page with its status bytes (SQL Server docs, "Maximum capacity specifications").
pub const ROW_BYTES_MAX: usize = 8_060;
/// The status bytes that the page adds.
pub(super) const STATUS_BYTES: usize = 2;
/// Offset of the first fixed column.
const FIXED_START: usize = 2;

/// Where a column's bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// At this offset from the row's start.
    Fixed { offset: usize, bytes: usize },
    /// The n-th variable column.
    Variable { index: usize },
}

/// How the columns of one table lie in its rows. Cheap to share, built once per table version.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub(super) columns: Vec<(SqlType, Place)>,
    /// By column; empty when all are the default one, which nearly all tables have.
    collations: Vec<Collation>,
    pub(super) fixed_end: usize,
    variable_count: usize,
}

impl RowLayout {
    /// The layout of rows whose columns have these types, in this order.
    pub fn new(types: &[SqlType]) -> RowLayout {
        let (mut offset, mut variable_count) = (FIXED_START, 0);
        let mut columns = Vec::with_capacity(types.len());
        for &sql_type in types {
            let place = match sql_type.fixed_bytes() {
                Some(bytes) => {
                    let place = Place::Fixed { offset, bytes };
                    offset += bytes;
                    place
                }
                None => {
                    variable_count += 1;
                    Place::Variable {
                        index: variable_count - 1,
                    }
                }
            };
            columns.push((sql_type, place));
        }
        RowLayout {
            columns,
            collations: Vec::new(),
            fixed_end: offset,
            variable_count,
        }
    }

    /// The same rows, their columns' collations in order.
    #[must_use]
    pub fn with_collations(mut self, collations: Vec<Collation>) -> RowLayout {
        if collations.iter().any(|collation| *collation != Collation::default()) {
            self.collations = collations;
        }
        self
    }

    /// The collation of a column, the default one for columns that are no strings.
    pub fn column_collation(&self, column: usize) -> Collation {
        self.collations.get(column).copied().unwrap_or_default()
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    pub fn column_type(&self, column: usize) -> Option<SqlType> {
        self.columns.get(column).map(|&(sql_type, _)| sql_type)
    }

    /// Bytes that a value of a column takes in a row; 0 for NULL.
    pub fn value_bytes(&self, column: usize, value: &Value) -> usize {
        match (self.columns.get(column), value) {
            (_, Value::Null) | (None, _) => 0,
            (Some((_, Place::Fixed { bytes, .. })), _) => *bytes,
            (Some(_), value) => self.variable_bytes(column, value),
        }
    }

    fn variable_bytes(&self, column: usize, value: &Value) -> usize {
        let sql_type = self.column_type(column).unwrap_or(SqlType::Int);
        match value {
            Value::Text(text) => Encoding::of(sql_type, self.column_collation(column)).byte_count(text),
            Value::Binary(bytes) => bytes.len(),
            Value::Variant(variant) => variant.to_bytes().len(),
            _ => 0,
        }
    }

    /// Bytes of a row whose variable columns are all empty, without the page's two status bytes.
    pub fn row_bytes_min(&self) -> usize {
        self.variable_start(self.columns.len(), self.fixed_end, self.variable_count)
    }

    fn variable_start(&self, columns: usize, fixed_end: usize, variable_count: usize) -> usize {
        let offsets = if variable_count == 0 { 0 } else { 2 + 2 * variable_count };
        fixed_end + 2 + columns.div_ceil(8) + offsets
    }

    /// Replaces `row` by the bytes of these values, one per column, each of its column's type or NULL.
    ///
    /// # Errors
    /// 511 when the row would not fit on a page; 3624 when a value is not of its column's type.
    pub fn encode(&self, values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        row.clear();
        self.push(values, row)
    }

    /// Appends the bytes of these values to what is in `row`.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    pub fn push(&self, values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        let start = row.len();
        row.resize(start + self.row_bytes_min(), 0);
        put_u16(row, start, self.fixed_end);
        put_u16(row, start + self.fixed_end, self.columns.len());
        let bitmap = start + self.fixed_end + 2;
        let offsets = bitmap + self.columns.len().div_ceil(8) + 2;
        if self.variable_count > 0 {
            put_u16(row, offsets - 2, self.variable_count);
        }
        for (column, &(sql_type, place)) in self.columns.iter().enumerate() {
            let value = values.get(column).unwrap_or(&Value::Null);
            if value.is_null() {
                row[bitmap + column / 8] |= 1 << (column % 8);
            } else if !value.belongs_to(sql_type) {
                return Err(Error::assertion(&format!(
                    "a value of another type for a {sql_type} column"
                )));
            }
            let encoding = Encoding::of(sql_type, self.column_collation(column));
            match place {
                Place::Fixed { offset, bytes } => {
                    put_fixed(
                        &mut row[start + offset..start + offset + bytes],
                        sql_type,
                        encoding,
                        value,
                    )?;
                }
                Place::Variable { index } => {
                    push_variable(value, encoding, row);
                    let end = row.len() - start;
                    if end + STATUS_BYTES > ROW_BYTES_MAX {
                        return Err(self.too_long(values));
                    }
                    put_u16(row, offsets + 2 * index, end);
                }
            }
        }
        if row.len() - start + STATUS_BYTES > ROW_BYTES_MAX {
            return Err(self.too_long(values));
        }
        Ok(())
    }

    /// 511 with the size the whole row would have had.
    fn too_long(&self, values: &[Value]) -> Error {
        let columns = self.columns.iter().zip(values).enumerate();
        let variable: usize = columns
            .filter(|(_, ((_, place), _))| matches!(place, Place::Variable { .. }))
            .map(|(column, (_, value))| self.variable_bytes(column, value))
            .sum();
        Error::row_too_long(self.row_bytes_min() + STATUS_BYTES + variable, ROW_BYTES_MAX)
    }

    /// A row whose columns are read one after the other.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    #[inline]
    pub fn columns<'layout, 'row>(&'layout self, row: &'row [u8]) -> Result<RowColumns<'layout, 'row>> {
        let fixed_end = get_u16(row, 0)?;
        Ok(RowColumns {
            layout: self,
            row,
            count: get_u16(row, fixed_end)?,
            bitmap: fixed_end + 2,
        })
    }

    /// The stored bytes of a column, without decoding them; `None` when it is NULL.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn bytes<'row>(&self, row: &'row [u8], column: usize) -> Result<Option<&'row [u8]>> {
        self.columns(row)?.bytes(column)
    }

    /// The value of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn column(&self, row: &[u8], column: usize) -> Result<Value> {
        self.columns(row)?.value(column)
    }

    #[inline]
    fn decode(&self, bytes: &[u8], column: usize) -> Result<Value> {
        // By far the most columns are numbers: these are not worth a call.
        match (self.columns[column].0, bytes) {
            (SqlType::Int, &[a, b, c, d]) => return Ok(Value::Int(i32::from_le_bytes([a, b, c, d]))),
            (SqlType::BigInt, &[a, b, c, d, e, f, g, h]) => {
                return Ok(Value::BigInt(i64::from_le_bytes([a, b, c, d, e, f, g, h])));
            }
            _ => {}
        }
        decode(bytes, self.columns[column].0, self.column_collation(column))
    }

    /// Appends a column's part of a key, as [`encode_key_part`] makes it of the column's value.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn push_key_part(&self, row: &[u8], column: usize, direction: KeyDirection, key: &mut Vec<u8>) -> Result<()> {
        let is_int = self.column_type(column) == Some(SqlType::Int) && direction == KeyDirection::Ascending;
        match self.bytes(row, column)? {
            Some(&[a, b, c, d]) if is_int => push_stored_int([a, b, c, d], key),
            Some(bytes) => encode_key_part(&self.decode(bytes, column)?, direction, key),
            None => encode_key_part(&Value::Null, direction, key),
        }
        Ok(())
    }

    /// Overwrites a fixed column of an encoded row with a value that is not NULL.
    ///
    /// # Errors
    /// 3624 when the column is not fixed, or the value not of its type.
    pub fn patch_fixed(&self, row: &mut [u8], column: usize, value: &Value) -> Result<()> {
        let slot = match self.columns.get(column) {
            Some(&(sql_type, Place::Fixed { offset, bytes })) if value.belongs_to(sql_type) => {
                row.get_mut(offset..offset + bytes).map(|slot| (slot, sql_type))
            }
            _ => None,
        };
        let (slot, sql_type) = slot.ok_or_else(|| Error::assertion("a column that cannot be patched"))?;
        slot.fill(0);
        put_fixed(
            slot,
            sql_type,
            Encoding::of(sql_type, self.column_collation(column)),
            value,
        )
    }

    /// Appends an encoded row with other values in some columns. Fixed columns are overwritten in a copy of the bytes, as long
    /// as none of them is or becomes NULL; otherwise the row is made again.
    ///
    /// # Errors
    /// As [`RowLayout::encode`], and 824 when the row contradicts itself.
    pub fn push_changed(&self, old: &[u8], columns: &[usize], values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        let changes = || columns.iter().copied().zip(values);
        for (column, value) in changes() {
            let is_fixed = matches!(self.columns.get(column), Some((_, Place::Fixed { .. })));
            if !is_fixed || value.is_null() || self.bytes(old, column)?.is_none() {
                return self.push_made_anew(old, columns, values, row);
            }
        }
        let start = row.len();
        row.extend_from_slice(old);
        changes().try_for_each(|(column, value)| self.patch_fixed(&mut row[start..], column, value))
    }

    fn push_made_anew(&self, old: &[u8], columns: &[usize], values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        let mut all = Vec::new();
        self.decode_into(old, &mut all)?;
        for (&column, value) in columns.iter().zip(values) {
            let place = all.get_mut(column);
            *place.ok_or_else(|| Error::assertion("a column number beyond the table's"))? = value.clone();
        }
        self.push(&all, row)
    }

    /// The values of all columns, into a buffer that is reused from row to row.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn decode_into(&self, row: &[u8], values: &mut Vec<Value>) -> Result<()> {
        values.clear();
        let columns = self.columns(row)?;
        for column in 0..self.columns.len() {
            values.push(columns.value(column)?);
        }
        Ok(())
    }
}

/// A row whose columns are read one after the other: what all of them need is looked up once.
#[derive(Clone, Copy, Debug)]
pub struct RowColumns<'layout, 'row> {
    layout: &'layout RowLayout,
    row: &'row [u8],
    /// Columns that the row has.
    count: usize,
    /// Where the null bitmap begins.
    bitmap: usize,
}

impl<'row> RowColumns<'_, 'row> {
    /// The stored bytes of a column, without decoding them; `None` when it is NULL.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    #[inline]
    pub fn bytes(&self, column: usize) -> Result<Option<&'row [u8]>> {
        let Some(&(_, place)) = self.layout.columns.get(column) else {
            return Err(Error::assertion("a column number beyond the table's"));
        };
        if column >= self.count {
            return Ok(None);
        }
        let nulls = self.row.get(self.bitmap + column / 8).ok_or_else(damaged)?;
        if nulls >> (column % 8) & 1 == 1 {
            return Ok(None);
        }
        let (start, end) = match place {
            Place::Fixed { offset, bytes } => (offset, offset + bytes),
            Place::Variable { index } => self.variable_place(index)?,
        };
        self.row.get(start..end).map(Some).ok_or_else(damaged)
    }

    /// Where the bytes of a variable column begin and end.
    fn variable_place(&self, index: usize) -> Result<(usize, usize)> {
        let offsets = self.bitmap + self.count.div_ceil(8) + 2;
        let count = get_u16(self.row, offsets - 2)?;
        if index >= count {
            return Err(damaged());
        }
        let start = match index.checked_sub(1) {
            None => offsets + 2 * count,
            Some(before) => get_u16(self.row, offsets + 2 * before)?,
        };
        Ok((start, get_u16(self.row, offsets + 2 * index)?))
    }

    /// The value of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    #[inline]
    pub fn value(&self, column: usize) -> Result<Value> {
        match self.bytes(column)? {
            None => Ok(Value::Null),
            Some(bytes) => self.layout.decode(bytes, column),
        }
    }
}

#[cold]
fn damaged() -> Error {
    Error::damaged_row("the offsets or the null bitmap reach beyond the row")
}

pub(super) fn put_u16(row: &mut [u8], offset: usize, number: usize) {
    // Offsets are below 8,060 by the check at the end of every variable column; column counts are at most 1,024.
    row[offset..offset + 2].copy_from_slice(&(number as u16).to_le_bytes());
}

pub(super) fn get_u16(row: &[u8], offset: usize) -> Result<usize> {
    match row.get(offset..offset + 2) {
        Some(&[low, high]) => Ok(usize::from(u16::from_le_bytes([low, high]))),
        _ => Err(damaged()),
    }
}

/// How the characters of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf16,
    Utf8,
    Cp1252,
}

impl Encoding {
    pub(super) fn of(sql_type: SqlType, collation: Collation) -> Encoding {
        if sql_type.is_unicode() {
            Encoding::Utf16
        } else if collation.is_utf8() {
            Encoding::Utf8
        } else {
            Encoding::Cp1252
        }
    }

    fn byte_count(self, text: &str) -> usize {
        match self {
            Encoding::Utf16 => text.encode_utf16().count() * 2,
            Encoding::Utf8 => text.len(),
            Encoding::Cp1252 => cp1252::encoded_bytes(text),
        }
    }
}

/// Appends a variable column's bytes.
pub(super) fn push_variable(value: &Value, encoding: Encoding, row: &mut Vec<u8>) {
    match (value, encoding) {
        (Value::Text(text), Encoding::Utf16) => row.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        (Value::Text(text), Encoding::Utf8) => row.extend_from_slice(text.as_bytes()),
        (Value::Text(text), Encoding::Cp1252) => cp1252::encode_into(text, row),
        (Value::Binary(bytes), _) => row.extend_from_slice(bytes),
        (Value::Variant(variant), _) => row.extend_from_slice(&variant.to_bytes()),
        _ => {}
    }
}

/// Ticks of 100 ns that the last digit kept by a scale stands for.
fn ticks_per_unit(scale: u8) -> u64 {
    10u64.pow(7 - u32::from(scale.min(7)))
}

/// Writes a fixed column; the slot has exactly the type's width and is zero.
pub(super) fn put_fixed(slot: &mut [u8], sql_type: SqlType, encoding: Encoding, value: &Value) -> Result<()> {
    let put = |slot: &mut [u8], bytes: &[u8]| {
        let count = slot.len().min(bytes.len());
        slot[..count].copy_from_slice(&bytes[..count]);
    };
    match value {
        Value::Null => {}
        Value::Bit(bit) => put(slot, &[u8::from(*bit)]),
        Value::TinyInt(number) => put(slot, &[*number]),
        Value::SmallInt(number) => put(slot, &number.to_le_bytes()),
        Value::Int(number) | Value::SmallMoney(number) | Value::Date(number) => put(slot, &number.to_le_bytes()),
        Value::BigInt(number) | Value::Money(number) => put(slot, &number.to_le_bytes()),
        Value::Decimal(number) => return put_decimal(slot, sql_type, *number),
        Value::Real(number) => put(slot, &number.to_le_bytes()),
        Value::Float(number) => put(slot, &number.to_le_bytes()),
        Value::Time(ticks) => put(slot, &(ticks / ticks_per_unit(sql_type.scale())).to_le_bytes()),
        Value::DateTime { days, ticks } => {
            put(slot, &ticks.to_le_bytes());
            put(&mut slot[4..], &days.to_le_bytes());
        }
        Value::SmallDateTime { days, minutes } => {
            put(slot, &minutes.to_le_bytes());
            put(&mut slot[2..], &days.to_le_bytes());
        }
        Value::DateTime2 { days, ticks } => put_moment(slot, sql_type.scale(), *days, *ticks),
        Value::DateTimeOffset {
            days,
            ticks,
            offset_minutes,
        } => {
            let offset_at = slot.len() - 2;
            put_moment(&mut slot[..offset_at], sql_type.scale(), *days, *ticks);
            put(&mut slot[offset_at..], &offset_minutes.to_le_bytes());
        }
        Value::Text(text) => put_text(slot, encoding, text),
        Value::Binary(bytes) => put(slot, bytes),
        Value::UniqueIdentifier(bytes) => put(slot, bytes),
        // Variants have no fixed length.
        Value::Variant(_) => return Err(Error::assertion("a sql_variant in a column of fixed length")),
    }
    Ok(())
}

fn put_moment(slot: &mut [u8], scale: u8, days: i32, ticks: u64) {
    let days_at = slot.len() - 3;
    slot[..days_at].copy_from_slice(&(ticks / ticks_per_unit(scale)).to_le_bytes()[..days_at]);
    slot[days_at..].copy_from_slice(&days.to_le_bytes()[..3]);
}

/// One byte of sign (1 for positive, as SQL Server and TDS have it), then the magnitude.
fn put_decimal(slot: &mut [u8], sql_type: SqlType, number: Decimal) -> Result<()> {
    let number = number
        .rescaled(sql_type.precision(), sql_type.scale())
        .ok_or_else(|| Error::assertion("a decimal with more digits than its column"))?;
    let coefficient = number.coefficient();
    slot[0] = u8::from(coefficient >= 0);
    let magnitude = coefficient.unsigned_abs().to_le_bytes();
    let count = slot.len() - 1;
    slot[1..].copy_from_slice(&magnitude[..count]);
    Ok(())
}

fn put_text(slot: &mut [u8], encoding: Encoding, text: &str) {
    if encoding == Encoding::Utf16 {
        let units = text.encode_utf16().chain(std::iter::repeat(u16::from(b' ')));
        for (pair, unit) in slot.chunks_exact_mut(2).zip(units) {
            pair.copy_from_slice(&unit.to_le_bytes());
        }
        return;
    }
    if text.is_ascii() || encoding == Encoding::Utf8 {
        let count = text.floor_char_boundary(slot.len());
        slot[..count].copy_from_slice(&text.as_bytes()[..count]);
        slot[count..].fill(b' ');
        return;
    }
    let bytes = text.chars().map(cp1252::encode_nearest);
    for (target, byte) in slot.iter_mut().zip(bytes.chain(std::iter::repeat(b' '))) {
        *target = byte;
    }
}

/// Takes the first N bytes as an array.
fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes
        .get(..N)
        .and_then(|found| found.try_into().ok())
        .ok_or_else(damaged)
}

/// Reads up to eight little-endian bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    let mut wide = [0u8; 8];
    for (target, &byte) in wide.iter_mut().zip(bytes) {
        *target = byte;
    }
    u64::from_le_bytes(wide)
}

/// Turns the stored bytes of a column into its value.
pub(super) fn decode(bytes: &[u8], sql_type: SqlType, collation: Collation) -> Result<Value> {
    Ok(match sql_type {
        SqlType::Bit => Value::Bit(array::<1>(bytes)? != [0]),
        SqlType::TinyInt => Value::TinyInt(u8::from_le_bytes(array(bytes)?)),
        SqlType::SmallInt => Value::SmallInt(i16::from_le_bytes(array(bytes)?)),
        SqlType::Int => Value::Int(i32::from_le_bytes(array(bytes)?)),
        SqlType::BigInt => Value::BigInt(i64::from_le_bytes(array(bytes)?)),
        SqlType::Decimal { precision, scale } => decode_decimal(bytes, precision, scale)?,
        SqlType::Money => Value::Money(i64::from_le_bytes(array(bytes)?)),
        SqlType::SmallMoney => Value::SmallMoney(i32::from_le_bytes(array(bytes)?)),
        SqlType::Real => Value::Real(f32::from_le_bytes(array(bytes)?)),
        SqlType::Float => Value::Float(f64::from_le_bytes(array(bytes)?)),
        SqlType::Date => Value::Date(number(bytes) as i32),
        SqlType::Time { scale } => Value::Time(number(bytes) * ticks_per_unit(scale)),
        SqlType::DateTime => Value::DateTime {
            ticks: u32::from_le_bytes(array(bytes)?),
            days: i32::from_le_bytes(array(bytes.get(4..).unwrap_or_default())?),
        },
        SqlType::SmallDateTime => Value::SmallDateTime {
            minutes: u16::from_le_bytes(array(bytes)?),
            days: u16::from_le_bytes(array(bytes.get(2..).unwrap_or_default())?),
        },
        SqlType::DateTime2 { scale } => {
            let (time, days) = bytes.split_at(bytes.len().saturating_sub(3));
            Value::DateTime2 {
                days: number(days) as i32,
                ticks: number(time) * ticks_per_unit(scale),
            }
        }
        SqlType::DateTimeOffset { scale } => {
            let (moment, offset) = bytes.split_at(bytes.len().saturating_sub(2));
            let (time, days) = moment.split_at(moment.len().saturating_sub(3));
            Value::DateTimeOffset {
                days: number(days) as i32,
                ticks: number(time) * ticks_per_unit(scale),
                offset_minutes: i16::from_le_bytes(array(offset)?),
            }
        }
        SqlType::Char(_) | SqlType::VarChar(_) if collation.is_utf8() => {
            Value::from(String::from_utf8_lossy(bytes).into_owned()).collated(collation)
        }
        SqlType::Char(_) | SqlType::VarChar(_) => Value::text(decode_single_byte(bytes)).collated(collation),
        SqlType::NChar(_) | SqlType::NVarChar(_) => {
            let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
            let text: String = char::decode_utf16(units)
                .map(|unit| unit.unwrap_or('\u{FFFD}'))
                .collect();
            Value::from(text).collated(collation)
        }
        SqlType::Binary(_) | SqlType::VarBinary(_) | SqlType::RowVersion => Value::Binary(bytes.into()),
        SqlType::UniqueIdentifier => Value::UniqueIdentifier(array(bytes)?),
        SqlType::SqlVariant => Value::Variant(Arc::new(Variant::from_bytes(bytes)?)),
    })
}

/// One copy for ASCII, which nearly all single-byte text is.
fn decode_single_byte(bytes: &[u8]) -> Text {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.is_ascii() => text.into(),
        _ => cp1252::decode(bytes).into(),
    }
}

fn decode_decimal(bytes: &[u8], precision: u8, scale: u8) -> Result<Value> {
    let (&sign, magnitude) = bytes.split_first().ok_or_else(damaged)?;
    // Up to 19 digits, which most have: 8 bytes.
    if let &[a, b, c, d, e, f, g, h] = magnitude {
        let magnitude = i128::from(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        let coefficient = if sign == 0 { -magnitude } else { magnitude };
        return Ok(Value::Decimal(Decimal::new(coefficient, precision, scale)));
    }
    let mut wide = [0u8; 16];
    for (target, &byte) in wide.iter_mut().zip(magnitude) {
        *target = byte;
    }
    let magnitude = i128::try_from(u128::from_le_bytes(wide)).map_err(|_| damaged())?;
    let coefficient = if sign == 0 { -magnitude } else { magnitude };
    Ok(Value::Decimal(Decimal::new(coefficient, precision, scale)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Length;
    use super::*;

    fn all_types() -> Vec<(SqlType, Value)> {
        vec![
            (SqlType::Bit, Value::Bit(true)),
            (SqlType::TinyInt, Value::TinyInt(200)),
            (SqlType::SmallInt, Value::SmallInt(-5)),
            (SqlType::Int, Value::Int(i32::MIN)),
            (SqlType::BigInt, Value::BigInt(i64::MAX)),
            (SqlType::VarChar(Length::Limited(20)), "häßlich".into()),
            (
                SqlType::Decimal { precision: 9, scale: 2 },
                Value::Decimal(Decimal::new(-12_345, 9, 2)),
            ),
            (
                SqlType::Decimal {
                    precision: 38,
                    scale: 0,
                },
                Value::Decimal(Decimal::new(10i128.pow(37), 38, 0)),
            ),
            (SqlType::Money, Value::Money(-1)),
            (SqlType::SmallMoney, Value::SmallMoney(19_999)),
            (SqlType::Real, Value::Real(1.5)),
            (SqlType::Float, Value::Float(-2.25)),
            (SqlType::NVarChar(Length::Max), "漢字 😀".into()),
            (SqlType::Date, Value::Date(738_000)),
            (SqlType::Time { scale: 7 }, Value::Time(863_999_999_999)),
            (
                SqlType::DateTime,
                Value::DateTime {
                    days: -53_690,
                    ticks: 25_919_999,
                },
            ),
            (
                SqlType::SmallDateTime,
                Value::SmallDateTime {
                    days: 65_535,
                    minutes: 1_439,
                },
            ),
            (
                SqlType::DateTime2 { scale: 3 },
                Value::DateTime2 {
                    days: 3_652_058,
                    ticks: 1_230_000,
                },
            ),
            (
                SqlType::DateTimeOffset { scale: 0 },
                Value::DateTimeOffset {
                    days: 1,
                    ticks: 10_000_000,
                    offset_minutes: -330,
                },
            ),
            (SqlType::VarBinary(Length::Limited(8)), Value::binary(&[0, 255][..])),
            (SqlType::UniqueIdentifier, Value::UniqueIdentifier([7; 16])),
        ]
    }

    #[test]
    fn every_type_comes_back_equal_and_as_null() {
        let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        let mut decoded = Vec::new();
        layout.decode_into(&row, &mut decoded).unwrap();
        assert_eq!(decoded, values);
        let nulls = vec![Value::Null; types.len()];
        layout.encode(&nulls, &mut row).unwrap();
        layout.decode_into(&row, &mut decoded).unwrap();
        assert_eq!(decoded, nulls);
    }

    #[test]
    fn fixed_strings_are_padded_and_foreign_characters_replaced() {
        let layout = RowLayout::new(&[SqlType::Char(4), SqlType::NChar(3), SqlType::Binary(3)]);
        let mut row = Vec::new();
        layout
            .encode(&["é漢".into(), "漢".into(), Value::binary(&[1][..])], &mut row)
            .unwrap();
        assert_eq!(layout.column(&row, 0).unwrap(), "é?  ".into());
        assert_eq!(layout.column(&row, 1).unwrap(), "漢  ".into());
        assert_eq!(layout.bytes(&row, 2).unwrap(), Some(&[1, 0, 0][..]));
    }

    #[test]
    fn a_row_of_the_seed_fits_and_a_longer_one_is_refused() {
        let layout = RowLayout::new(&[SqlType::Int, SqlType::Char(8000), SqlType::Int]);
        assert!(layout.row_bytes_min() + STATUS_BYTES <= ROW_BYTES_MAX);
        let layout = RowLayout::new(&[SqlType::VarChar(Length::Max)]);
        let mut row = Vec::new();
        let room = ROW_BYTES_MAX - STATUS_BYTES - layout.row_bytes_min();
        layout.encode(&["x".repeat(room).into()], &mut row).unwrap();
        assert_eq!(row.len() + STATUS_BYTES, ROW_BYTES_MAX);
        let error = layout.encode(&["x".repeat(room + 1).into()], &mut row).unwrap_err();
        assert_eq!((error.number, error.message.contains("8061")), (511, true));
    }

    #[test]
    fn columns_added_later_read_as_null() {
        let old = RowLayout::new(&[SqlType::Int, SqlType::VarChar(Length::Limited(5))]);
        let types = [
            SqlType::Int,
            SqlType::VarChar(Length::Limited(5)),
            SqlType::Int,
            SqlType::VarChar(Length::Limited(5)),
        ];
        let new = RowLayout::new(&types);
        let mut row = Vec::new();
        old.encode(&[Value::Int(1), "abc".into()], &mut row).unwrap();
        let mut values = Vec::new();
        new.decode_into(&row, &mut values).unwrap();
        assert_eq!(values, [Value::Int(1), "abc".into(), Value::Null, Value::Null]);
    }

    /// Every type, set and NULL before, set and NULL after, alone and all at once, in a row of all its columns and in one from
    /// before the second half of them was added: the same values as encoding the changed row gives.
    #[test]
    fn a_changed_row_has_the_values_of_one_made_anew() {
        let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
        let (layout, older) = (RowLayout::new(&types), RowLayout::new(&types[..types.len() / 2]));
        let nulls = vec![Value::Null; types.len()];
        let singles = (0..types.len()).map(|column| vec![column]);
        let sets: Vec<Vec<usize>> = singles.chain([(0..types.len()).collect()]).collect();
        for written in [&layout, &older] {
            for (before, after) in [
                (&values, &values),
                (&values, &nulls),
                (&nulls, &values),
                (&nulls, &nulls),
            ] {
                for columns in &sets {
                    let mut old = Vec::new();
                    written.encode(before, &mut old).unwrap();
                    let mut expected = Vec::new();
                    layout.decode_into(&old, &mut expected).unwrap();
                    let new: Vec<Value> = columns.iter().map(|&column| after[column].clone()).collect();
                    columns
                        .iter()
                        .zip(&new)
                        .for_each(|(&column, value)| expected[column] = value.clone());
                    let mut row = b"head".to_vec();
                    layout.push_changed(&old, columns, &new, &mut row).unwrap();
                    let mut found = Vec::new();
                    layout.decode_into(&row[4..], &mut found).unwrap();
                    assert_eq!(found, expected, "columns {columns:?}");
                }
            }
        }
    }

    /// A shorter string in place of a longer one leaves none of it behind.
    #[test]
    fn a_fixed_column_overwritten_is_padded_again() {
        let layout = RowLayout::new(&[SqlType::Char(6), SqlType::Binary(3)]);
        let (mut old, mut row) = (Vec::new(), Vec::new());
        layout
            .encode(&["secret".into(), Value::binary(&[1, 2, 3][..])], &mut old)
            .unwrap();
        let values = ["no".into(), Value::binary(&[9][..])];
        layout.push_changed(&old, &[0, 1], &values, &mut row).unwrap();
        assert_eq!(layout.column(&row, 0).unwrap(), "no    ".into());
        assert_eq!(layout.bytes(&row, 1).unwrap(), Some(&[9, 0, 0][..]));
    }

    #[test]
    fn damaged_rows_are_errors_and_never_panics() {
        let (types, values): (Vec<_>, Vec<_>) = all_types().into_iter().unzip();
        let layout = RowLayout::new(&types);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        let mut decoded = Vec::new();
        for length in 0..row.len() {
            let result = layout.decode_into(&row[..length], &mut decoded);
            assert_eq!(result.unwrap_err().number, 824, "cut at {length}");
        }
        for position in 0..row.len() {
            for bit in 0..8 {
                let mut damaged = row.clone();
                damaged[position] ^= 1 << bit;
                // Any answer but a panic will do: the page's checksum is what detects flipped bits.
                if let Err(error) = layout.decode_into(&damaged, &mut decoded) {
                    assert_eq!(error.number, 824);
                }
            }
        }
    }
}
