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
//! Bit 15 of an end is set for an off-row column, as in SQL Server's rows; the row then holds the column's place instead (see
//! `types::off_row` and `store::large`). Offsets never need the bit, because rows are too short.
//!
//! The layout is SQL Server's (Paul Randal, "Anatomy of a record") without its two status bytes, which belong to the page and are not
//! encoded here. All numbers are little-endian. Invariants: a column that the row's own column count does not reach was added after the row
//! was written and reads as NULL; the bytes of a fixed column that is NULL are zero; character columns of fixed length are padded with
//! blanks.

use std::sync::Arc;

use super::held::{HELD_BYTES_MIN, HeldForm, HeldValue};
use super::key::push_stored_int;
use super::off_row::{MOVED_BYTES_MIN, PLACE_HEAD_BYTES, ReadOffRow, may_move, value_bytes_at};
use super::{Collation, Decimal, KeyDirection, SqlType, Text, Value, Variant, cp1252, encode_key_part, string_room};
use crate::error::{Error, Result};

/// Bytes a row may take on a page with its status bytes (SQL Server docs, "Maximum capacity specifications").
pub const ROW_BYTES_MAX: usize = 8_060;
/// The status bytes that the page adds.
pub(super) const STATUS_BYTES: usize = 2;
/// Bit of a variable column's end: its bytes are the place of a value outside of the row.
const OFF_ROW: usize = 0x8000;
/// Offset of the first fixed column.
const FIXED_START: usize = 2;

/// Where a column's bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// At this offset from the row's start.
    Fixed { offset: usize, bytes: usize },
    /// The n-th variable column.
    Variable { index: usize },
    /// Nowhere: rows say NULL of it.
    Absent,
}

/// How the columns of one table lie in its rows. Cheap to share, built once per table version.
#[derive(Clone, Debug)]
pub struct RowLayout {
    pub(super) columns: Vec<(SqlType, Place)>,
    /// By column; empty when all are the default one, which nearly all tables have.
    collations: Vec<Collation>,
    pub(super) fixed_end: usize,
    variable_count: usize,
    /// Reads the columns that lie outside of the rows.
    off_row: Option<Arc<dyn ReadOffRow>>,
}

/// What a row has of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'row> {
    Null,
    /// Its bytes.
    InRow(&'row [u8]),
    /// The place of its bytes.
    OffRow(&'row [u8]),
}

impl RowLayout {
    /// The layout of rows whose columns have these types, in this order.
    pub fn new(types: &[SqlType]) -> RowLayout {
        RowLayout::leaving_out(types, |_| false)
    }

    /// The same for rows that have nothing of some columns: they read as NULL, and what they are given is not looked at.
    pub fn leaving_out(types: &[SqlType], is_absent: impl Fn(usize) -> bool) -> RowLayout {
        let (mut offset, mut variable_count) = (FIXED_START, 0);
        let mut columns = Vec::with_capacity(types.len());
        for (column, &sql_type) in types.iter().enumerate() {
            let place = match sql_type.fixed_bytes() {
                _ if is_absent(column) => Place::Absent,
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
            off_row: None,
        }
    }

    /// The same rows, with a reader for their off-row columns.
    #[must_use]
    pub fn with_off_row(mut self, off_row: Arc<dyn ReadOffRow>) -> RowLayout {
        self.off_row = Some(off_row);
        self
    }

    /// The same rows, whose columns that lie outside are read as those of another layout.
    #[must_use]
    pub fn reading_as(mut self, other: &RowLayout) -> RowLayout {
        self.off_row.clone_from(&other.off_row);
        self
    }

    /// Whether a column of its rows may lie outside.
    pub fn may_move(&self, column: usize) -> bool {
        self.column_type(column).is_some_and(may_move)
    }

    /// Whether any may.
    pub fn has_movable(&self) -> bool {
        self.columns.iter().any(|&(sql_type, _)| may_move(sql_type))
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
            (_, Value::Null) | (None | Some((_, Place::Absent)), _) => 0,
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
            Value::Held(held) => usize::try_from(held.bytes()).unwrap_or(usize::MAX),
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
        self.push_with(values, |_| None, row)
    }

    /// As [`RowLayout::push`], with some columns outside of the row: `place_of` has their places. What `values` says of them is not
    /// looked at, but whether it is NULL.
    ///
    /// # Errors
    /// As [`RowLayout::encode`].
    pub fn push_with<'p>(
        &self,
        values: &[Value],
        place_of: impl Fn(usize) -> Option<&'p [u8]>,
        row: &mut Vec<u8>,
    ) -> Result<()> {
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
            let value = match place {
                Place::Absent => &Value::Null,
                Place::Fixed { .. } | Place::Variable { .. } => values.get(column).unwrap_or(&Value::Null),
            };
            if value.is_null() {
                row[bitmap + column / 8] |= 1 << (column % 8);
            } else if !value.belongs_to(sql_type) {
                return Err(Error::assertion(&format!(
                    "a value of another type for a {sql_type} column"
                )));
            }
            let encoding = Encoding::of(sql_type, self.column_collation(column));
            match place {
                Place::Absent => {}
                Place::Fixed { offset, bytes } => {
                    put_fixed(
                        &mut row[start + offset..start + offset + bytes],
                        sql_type,
                        encoding,
                        value,
                    )?;
                }
                Place::Variable { index } => {
                    let outside = place_of(column).filter(|_| !value.is_null());
                    match outside {
                        // It is longer than any row, and is not read to see that.
                        None if matches!(value, Value::Held(_)) => return Err(self.too_long(values)),
                        None => push_variable(value, encoding, row),
                        Some(outside) => row.extend_from_slice(outside),
                    }
                    let end = row.len() - start;
                    if end + STATUS_BYTES > ROW_BYTES_MAX {
                        return Err(self.too_long(values));
                    }
                    put_u16(
                        row,
                        offsets + 2 * index,
                        if outside.is_some() { end | OFF_ROW } else { end },
                    );
                }
            }
        }
        if row.len() - start + STATUS_BYTES > ROW_BYTES_MAX {
            return Err(self.too_long(values));
        }
        Ok(())
    }

    /// Which columns have to move so that the row takes at most `limit` bytes, the page's status bytes included: the longest first, as SQL
    /// Server moves them, and of those in `kept`, which lie outside already, none. `stays` names columns that must not move.
    ///
    /// # Errors
    /// 511 when there are not enough of them.
    pub fn choose_moving(
        &self,
        values: &[Value],
        kept: &[(usize, Vec<u8>)],
        stays: impl Fn(usize) -> bool,
        limit: usize,
    ) -> Result<Vec<usize>> {
        let is_kept = |column: usize| kept.iter().any(|(other, _)| *other == column);
        let variable = |&column: &usize| matches!(self.columns[column].1, Place::Variable { .. });
        let moved = (0..self.columns.len())
            .filter(variable)
            .filter(|&column| !is_kept(column));
        let mut lengths: Vec<(usize, usize)> = moved
            .map(|column| {
                (
                    self.value_bytes(column, values.get(column).unwrap_or(&Value::Null)),
                    column,
                )
            })
            .collect();
        let places: usize = kept.iter().map(|(_, place)| place.len()).sum();
        let in_row: usize = lengths.iter().map(|(bytes, _)| bytes).sum();
        let mut total = self.row_bytes_min() + STATUS_BYTES + places + in_row;
        let whole = total;
        // Of columns equally long the first one moves.
        lengths.sort_by_key(|&(bytes, column)| (std::cmp::Reverse(bytes), column));
        let mut chosen = Vec::new();
        for (bytes, column) in lengths {
            if total <= limit || bytes <= MOVED_BYTES_MIN {
                break;
            }
            if self.may_move(column) && !stays(column) {
                total = total - bytes + place_bytes_of(bytes);
                chosen.push(column);
            }
        }
        match total <= limit {
            true => Ok(chosen),
            false => Err(Error::row_too_long(whole, limit)),
        }
    }

    /// The bytes of a variable column's value as a row would have them.
    ///
    /// # Errors
    /// 701 when there is no memory for them.
    pub fn encoded_column(&self, column: usize, value: &Value) -> Result<Vec<u8>> {
        let encoding = Encoding::of(
            self.column_type(column).unwrap_or(SqlType::Int),
            self.column_collation(column),
        );
        let bytes = self.value_bytes(column, value);
        let _room = string_room(bytes)?;
        let mut encoded = Vec::with_capacity(bytes);
        push_variable(value, encoding, &mut encoded);
        Ok(encoded)
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

    /// What a row has of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn stored<'row>(&self, row: &'row [u8], column: usize) -> Result<Stored<'row>> {
        self.columns(row)?.stored(column)
    }

    /// Bytes of a column's value, in the row or outside; 0 for NULL.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn stored_bytes(&self, row: &[u8], column: usize) -> Result<u64> {
        match self.stored(row, column)? {
            Stored::Null => Ok(0),
            Stored::InRow(bytes) => Ok(bytes.len() as u64),
            Stored::OffRow(place) => value_bytes_at(place),
        }
    }

    /// The places of the columns that lie outside of a row.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn places(&self, row: &[u8]) -> Result<Vec<(usize, Vec<u8>)>> {
        let columns = self.columns(row)?;
        let mut places = Vec::new();
        for column in (0..self.columns.len()).filter(|&column| self.may_move(column)) {
            if let Stored::OffRow(place) = columns.stored(column)? {
                places.push((column, place.to_vec()));
            }
        }
        Ok(places)
    }

    /// The value of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn column(&self, row: &[u8], column: usize) -> Result<Value> {
        self.columns(row)?.value(column)
    }

    /// The same for a layout without a reader: `read` has the bytes of a value that lies outside of the row.
    ///
    /// # Errors
    /// As for [`RowLayout::column`]; those of `read`.
    pub fn column_read_by(
        &self,
        row: &[u8],
        column: usize,
        read: impl FnOnce(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<Value> {
        match self.stored(row, column)? {
            Stored::InRow(bytes) => self.decode(bytes, column),
            Stored::Null => Ok(Value::Null),
            Stored::OffRow(place) => self.decode(&read(place)?, column),
        }
    }

    #[inline(always)]
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

    /// The value of a column that lies outside of its row: held, if it is long and of a type whose values may be.
    #[cold]
    fn hold_off_row(&self, place: &[u8], column: usize) -> Result<Value> {
        let collation = self.column_collation(column);
        let form = HeldForm::of(self.columns[column].0, collation);
        let bytes = value_bytes_at(place)?;
        match form.filter(|_| bytes >= HELD_BYTES_MIN) {
            None => self.read_off_row(place, column),
            Some(form) => {
                let reader = self.off_row.as_ref().ok_or_else(damaged)?;
                let held = HeldValue::new(reader.hold(place)?, bytes, form, collation);
                Ok(Value::Held(Arc::new(held)))
            }
        }
    }

    /// The value of a column that lies outside of its row.
    #[cold]
    fn read_off_row(&self, place: &[u8], column: usize) -> Result<Value> {
        let reader = self.off_row.as_ref().ok_or_else(damaged)?;
        let bytes = usize::try_from(value_bytes_at(place)?).map_err(|_| damaged())?;
        let _room = string_room(bytes)?;
        self.decode(&reader.read(place)?, column)
    }

    /// Appends a column's part of a key, as [`encode_key_part`] makes it of the column's value.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn push_key_part(&self, row: &[u8], column: usize, direction: KeyDirection, key: &mut Vec<u8>) -> Result<()> {
        let is_int = self.column_type(column) == Some(SqlType::Int) && direction == KeyDirection::Ascending;
        match self.stored(row, column)? {
            Stored::InRow(&[a, b, c, d]) if is_int => push_stored_int([a, b, c, d], key),
            Stored::InRow(bytes) => encode_key_part(&self.decode(bytes, column)?, direction, key),
            Stored::Null => encode_key_part(&Value::Null, direction, key),
            Stored::OffRow(place) => encode_key_part(&self.read_off_row(place, column)?, direction, key),
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
    /// As [`RowLayout::encode`], and 824 when the row contradicts itself; 511 also when one of the columns lies outside of the row.
    pub fn push_changed(&self, old: &[u8], columns: &[usize], values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        let changes = || columns.iter().copied().zip(values);
        for (column, value) in changes() {
            let is_fixed = matches!(self.columns.get(column), Some((_, Place::Fixed { .. })));
            if !is_fixed || value.is_null() || self.stored(old, column)? == Stored::Null {
                return self.push_made_anew(old, columns, values, row);
            }
        }
        let start = row.len();
        row.extend_from_slice(old);
        changes().try_for_each(|(column, value)| self.patch_fixed(&mut row[start..], column, value))
    }

    fn push_made_anew(&self, old: &[u8], columns: &[usize], values: &[Value], row: &mut Vec<u8>) -> Result<()> {
        let mut all = Vec::new();
        let places = self.places(old)?;
        if places.iter().any(|(column, _)| columns.contains(column)) {
            // Its pages have to be written or given up, which is not done here.
            return Err(Error::row_too_long(old.len() + STATUS_BYTES, ROW_BYTES_MAX));
        }
        self.decode_in_row_into(old, &mut all)?;
        for (&column, value) in columns.iter().zip(values) {
            let place = all.get_mut(column);
            *place.ok_or_else(|| Error::assertion("a column number beyond the table's"))? = value.clone();
        }
        let place_of = |column: usize| {
            let found = places.iter().find(|(other, _)| *other == column);
            found.map(|(_, place)| &place[..])
        };
        self.push_with(&all, place_of, row)
    }

    /// As [`RowLayout::decode_into`], with an empty value for each column that lies outside of the row.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    pub fn decode_in_row_into(&self, row: &[u8], values: &mut Vec<Value>) -> Result<()> {
        values.clear();
        let columns = self.columns(row)?;
        for column in 0..self.columns.len() {
            values.push(match columns.stored(column)? {
                Stored::Null => Value::Null,
                Stored::InRow(bytes) => self.decode(bytes, column)?,
                Stored::OffRow(_) if self.columns[column].0.is_binary() || self.columns[column].0.is_spatial() => {
                    Value::binary(&[][..])
                }
                Stored::OffRow(_) if self.columns[column].0.is_character() => Value::text(""),
                Stored::OffRow(_) if self.columns[column].0 == SqlType::Json => Value::text(""),
                Stored::OffRow(place) => self.read_off_row(place, column)?,
            });
        }
        Ok(())
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
    /// What the row has of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself.
    #[inline(always)]
    pub fn stored(&self, column: usize) -> Result<Stored<'row>> {
        let Some(&(_, place)) = self.layout.columns.get(column) else {
            return Err(Error::assertion("a column number beyond the table's"));
        };
        if column >= self.count {
            return Ok(Stored::Null);
        }
        let nulls = self.row.get(self.bitmap + column / 8).ok_or_else(damaged)?;
        if nulls >> (column % 8) & 1 == 1 {
            return Ok(Stored::Null);
        }
        let (start, end) = match place {
            Place::Absent => return Ok(Stored::Null),
            Place::Fixed { offset, bytes } => (offset, offset + bytes),
            Place::Variable { index } => {
                let (start, end) = self.variable_place(index)?;
                if end & OFF_ROW != 0 {
                    let place = self.row.get(start..end & !OFF_ROW).ok_or_else(damaged)?;
                    return Ok(Stored::OffRow(place));
                }
                (start, end)
            }
        };
        self.row.get(start..end).map(Stored::InRow).ok_or_else(damaged)
    }

    /// Where the bytes of a variable column begin and end; the end as it is stored.
    fn variable_place(&self, index: usize) -> Result<(usize, usize)> {
        let offsets = self.bitmap + self.count.div_ceil(8) + 2;
        let count = get_u16(self.row, offsets - 2)?;
        if index >= count {
            return Err(damaged());
        }
        let start = match index.checked_sub(1) {
            None => offsets + 2 * count,
            Some(before) => get_u16(self.row, offsets + 2 * before)? & !OFF_ROW,
        };
        Ok((start, get_u16(self.row, offsets + 2 * index)?))
    }

    /// The value of a column.
    ///
    /// # Errors
    /// 824 when the row contradicts itself; those of [`ReadOffRow::read`] for a column that lies outside.
    #[inline(always)]
    pub fn value(&self, column: usize) -> Result<Value> {
        match self.stored(column)? {
            Stored::Null => Ok(Value::Null),
            Stored::InRow(bytes) => self.layout.decode(bytes, column),
            Stored::OffRow(place) => self.layout.read_off_row(place, column),
        }
    }

    /// The value of a column for one who takes held values: a long one outside of the row is not read.
    ///
    /// # Errors
    /// As for [`RowColumns::value`].
    pub fn value_or_held(&self, column: usize) -> Result<Value> {
        match self.stored(column)? {
            Stored::Null => Ok(Value::Null),
            Stored::InRow(bytes) => self.layout.decode(bytes, column),
            Stored::OffRow(place) => self.layout.hold_off_row(place, column),
        }
    }
}

/// Bytes of the place of a value with so many bytes, at most.
fn place_bytes_of(bytes: usize) -> usize {
    PLACE_HEAD_BYTES + 6 * super::off_row::pages_in_place(bytes as u64)
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
        } else if collation.is_utf8() || sql_type == SqlType::Json {
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
        Value::Held(_) => return Err(Error::assertion("a held value in a column of fixed length")),
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
        SqlType::Binary(_)
        | SqlType::VarBinary(_)
        | SqlType::RowVersion
        | SqlType::HierarchyId
        | SqlType::Geometry
        | SqlType::Geography => Value::Binary(bytes.into()),
        SqlType::Json => Value::from(String::from_utf8_lossy(bytes).into_owned()),
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
mod tests;
