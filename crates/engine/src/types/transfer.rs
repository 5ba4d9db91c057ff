//! From a stored row to the row of another table without a [`Value`] per column: unchanged bytes are moved, and only computed
//! values are encoded.
//!
//! ```text
//! source  | fixed columns .. | bitmap | offsets | variable columns ..
//!             |  moved, neighbours at once        |  moved one by one
//! target  | template: constants, bitmap, offsets  | variable columns ..
//! ```
//! Rows that have, or get, off-row columns are not handled here: their values are returned separately to the table that writes them.
//!
//! Invariant: the appended bytes equal the result of [`RowLayout::encode`] for the same values.

use super::row::{Encoding, Place, RowLayout, STATUS_BYTES, Stored, get_u16, push_variable, put_fixed, put_u16};
use super::{ROW_BYTES_MAX, SqlType, Value};
use crate::error::{Error, Result};

/// Encoded rows one after another.
#[derive(Default)]
pub struct EncodedRows {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Rows that are not encoded but for their fixed columns that were left for later, in their order.
    apart: Vec<RowApart>,
    apart_bytes: usize,
}

struct RowApart {
    /// Which of the rows it is.
    index: usize,
    values: Vec<Value>,
    /// Columns whose values are in the encoded part.
    later: Vec<usize>,
}

impl EncodedRows {
    /// None.
    pub fn new() -> EncodedRows {
        EncodedRows::default()
    }

    /// None, with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> EncodedRows {
        EncodedRows {
            bytes: Vec::with_capacity(bytes),
            ..EncodedRows::default()
        }
    }

    /// Forgets all rows from the given number on.
    pub fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().map_or(0, |&end| end as usize));
        self.apart.retain(|row| row.index < count);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all rows.
    pub fn byte_count(&self) -> usize {
        self.bytes.len() + self.apart_bytes
    }

    /// The values of a row that is not encoded, because columns of it lie outside, or have to; `None` for all others.
    ///
    /// # Errors
    /// 824 when its encoded part contradicts itself.
    pub fn values_apart(&self, layout: &RowLayout, index: usize) -> Result<Option<Vec<Value>>> {
        let Ok(place) = self.apart.binary_search_by_key(&index, |row| row.index) else {
            return Ok(None);
        };
        let apart = &self.apart[place];
        let mut values = apart.values.clone();
        for &column in &apart.later {
            values[column] = layout.column(self.get(index).unwrap_or_default(), column)?;
        }
        Ok(Some(values))
    }

    /// Forgets the rows, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.apart.clear();
        self.apart_bytes = 0;
    }

    fn range(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let end = *self.ends.get(index)? as usize;
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)? as usize,
        };
        Some(start..end)
    }

    /// A row; `None` past the last.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.bytes.get(self.range(index)?)
    }

    /// A row, to be patched in place.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let range = self.range(index)?;
        self.bytes.get_mut(range)
    }

    /// Numbers an `int` column of all rows: `first`, `first + step` and so on. False, and nothing done, when the column is another
    /// or a number does not fit.
    ///
    /// # Errors
    /// 3624 when a row is too short to have the column.
    pub fn number(&mut self, layout: &RowLayout, column: usize, first: i64, step: i64) -> Result<bool> {
        let Some(&(SqlType::Int, Place::Fixed { offset, .. })) = layout.columns.get(column) else {
            return Ok(false);
        };
        let steps = i64::try_from(self.ends.len().saturating_sub(1)).ok();
        let last = steps.and_then(|steps| steps.checked_mul(step)?.checked_add(first));
        let last = last.and_then(|last| i32::try_from(last).ok());
        let (Ok(mut number), Some(_)) = (i32::try_from(first), last) else {
            return Ok(false);
        };
        let mut start = 0;
        for end in self.ends.iter().map(|end| *end as usize) {
            let slot = self
                .bytes
                .get_mut(start..end)
                .and_then(|row| row.get_mut(offset..offset + 4));
            let slot = slot.ok_or_else(|| Error::assertion("a row without the column to be numbered"))?;
            slot.copy_from_slice(&number.to_le_bytes());
            // First and last fit, so the sum wraps behind the last only.
            number = number.wrapping_add(step as i32);
            start = end;
        }
        Ok(true)
    }

    pub fn push(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        self.ends.push(self.bytes.len() as u32);
    }
}

/// What a column of the new row holds.
#[derive(Clone, Debug)]
pub enum ColumnSource {
    /// The bytes of a column of the source row. The types must be the same, but for the length that a variable one may have, and so
    /// must the code pages of their collations.
    Same(usize),
    /// A value computed for each row: its place among those given.
    Computed(usize),
    /// The same value in every row, of the column's type.
    Constant(Value),
    /// Nothing yet: zero, and to be patched.
    Later,
}

/// Fixed bytes that move together.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: usize,
    to: usize,
    bytes: usize,
}

/// How rows of one layout become rows of another.
pub struct RowTransfer {
    source: RowLayout,
    target: RowLayout,
    columns: Vec<ColumnSource>,
    /// Columns that must not be NULL.
    required: Vec<bool>,
    template: Vec<u8>,
    moves: Vec<Move>,
    /// Columns of the target that the moves leave out.
    singly: Vec<usize>,
    /// Bits of the source's bitmap that must be clear for the moves to be all there is to do.
    null_mask: Vec<u8>,
}

impl RowTransfer {
    /// Prepares the transfer; `columns` and `required` have one entry per column of the target.
    ///
    /// # Errors
    /// 3624 when a constant is not of its column's type, or a column is named that does not exist.
    pub fn new(
        source: &RowLayout,
        target: &RowLayout,
        columns: Vec<ColumnSource>,
        required: Vec<bool>,
    ) -> Result<RowTransfer> {
        let constants: Vec<Value> = columns
            .iter()
            .map(|column| match column {
                ColumnSource::Constant(value) => value.clone(),
                _ => Value::Null,
            })
            .collect();
        let mut template = Vec::new();
        target.encode(&constants, &mut template)?;
        template.truncate(target.row_bytes_min());
        let bitmap = target.fixed_end + 2;
        let mut moves: Vec<Move> = Vec::new();
        let mut singly = Vec::new();
        let mut null_mask = vec![0u8; source.columns.len().div_ceil(8)];
        for (index, (column, &(_, place))) in columns.iter().zip(&target.columns).enumerate() {
            if !matches!(column, ColumnSource::Constant(Value::Null)) {
                template[bitmap + index / 8] &= !(1 << (index % 8));
            }
            let from = match column {
                _ if matches!(place, Place::Absent) => {
                    singly.push(index);
                    continue;
                }
                ColumnSource::Same(from) => *from,
                ColumnSource::Later => continue,
                ColumnSource::Constant(_) if matches!(place, Place::Fixed { .. }) => continue,
                _ => {
                    singly.push(index);
                    continue;
                }
            };
            let Some(&(_, source_place)) = source.columns.get(from) else {
                return Err(Error::assertion("a row is made from a column that does not exist"));
            };
            match (source_place, place) {
                (Place::Fixed { offset, .. }, Place::Fixed { offset: to, bytes }) => {
                    null_mask[from / 8] |= 1 << (from % 8);
                    add_move(
                        &mut moves,
                        Move {
                            from: offset,
                            to,
                            bytes,
                        },
                    );
                }
                _ => singly.push(index),
            }
        }
        Ok(RowTransfer {
            source: source.clone(),
            target: target.clone(),
            columns,
            required,
            template,
            moves,
            singly,
            null_mask,
        })
    }

    /// Appends the row that a source row becomes. `Some(column)` when NULL would come into a column that takes none; nothing is
    /// appended then.
    ///
    /// # Errors
    /// 824 when the source row contradicts itself; 3624 for a value of another type; those of reading columns outside of their row.
    pub fn append(&self, source: &[u8], computed: &[Value], rows: &mut EncodedRows) -> Result<Option<usize>> {
        let start = rows.bytes.len();
        let outcome = self.append_row(source, computed, &mut rows.bytes, start);
        match outcome {
            Ok(None) => rows.ends.push(rows.bytes.len() as u32),
            _ => rows.bytes.truncate(start),
        }
        match outcome {
            // Too long as it is, or made of columns that lie outside of their row.
            Err(error) if error.number == 511 => self.keep_apart(source, computed, rows),
            outcome => outcome,
        }
    }

    /// Keeps the values of a row instead of its bytes. Answers as [`RowTransfer::append`].
    #[cold]
    fn keep_apart(&self, source: &[u8], computed: &[Value], rows: &mut EncodedRows) -> Result<Option<usize>> {
        let mut values = Vec::with_capacity(self.columns.len());
        let mut later = Vec::new();
        for (column, from) in self.columns.iter().enumerate() {
            let value = match from {
                ColumnSource::Same(from) => self.source.columns(source)?.value_or_held(*from)?,
                ColumnSource::Computed(index) => computed.get(*index).cloned().unwrap_or(Value::Null),
                ColumnSource::Constant(value) => value.clone(),
                ColumnSource::Later => {
                    later.push(column);
                    Value::Null
                }
            };
            if value.is_null() && self.required[column] && !matches!(from, ColumnSource::Later) {
                return Ok(Some(column));
            }
            rows.apart_bytes += self.target.value_bytes(column, &value);
            values.push(value);
        }
        rows.apart.push(RowApart {
            index: rows.ends.len(),
            values,
            later,
        });
        rows.push(&self.template);
        Ok(None)
    }

    fn append_row(&self, source: &[u8], computed: &[Value], out: &mut Vec<u8>, start: usize) -> Result<Option<usize>> {
        out.extend_from_slice(&self.template);
        let remaining: &mut dyn Iterator<Item = usize> = if self.moves_all(source) {
            let row = &mut out[start..];
            for one in &self.moves {
                row[one.to..one.to + one.bytes].copy_from_slice(&source[one.from..one.from + one.bytes]);
            }
            if self.singly.is_empty() {
                return Ok(None);
            }
            &mut self.singly.iter().copied()
        } else {
            &mut (0..self.columns.len())
        };
        for column in remaining {
            if !self.put(column, source, computed, out, start)? && self.required[column] {
                return Ok(Some(column));
            }
        }
        let bytes = out.len() - start + STATUS_BYTES;
        if bytes > ROW_BYTES_MAX {
            return Err(Error::row_too_long(bytes, ROW_BYTES_MAX));
        }
        Ok(None)
    }

    /// Whether the source row has all columns of its layout, and no NULL among those that are moved.
    fn moves_all(&self, source: &[u8]) -> bool {
        let fixed_end = self.source.fixed_end;
        let is_whole = get_u16(source, 0).is_ok_and(|end| end == fixed_end)
            && get_u16(source, fixed_end).is_ok_and(|count| count == self.source.columns.len());
        let bitmap = source.get(fixed_end + 2..fixed_end + 2 + self.null_mask.len());
        is_whole && bitmap.is_some_and(|bitmap| bitmap.iter().zip(&self.null_mask).all(|(bits, mask)| bits & mask == 0))
    }

    /// Writes one column; false when it is NULL.
    fn put(&self, column: usize, source: &[u8], computed: &[Value], out: &mut Vec<u8>, start: usize) -> Result<bool> {
        let (sql_type, place) = self.target.columns[column];
        let is_there = match (&self.columns[column], place) {
            (_, Place::Absent) => false,
            (ColumnSource::Later, _) => true,
            (ColumnSource::Constant(value), Place::Fixed { .. }) => !value.is_null(),
            (ColumnSource::Same(from), Place::Fixed { offset, bytes }) => match self.source.stored(source, *from)? {
                Stored::InRow(found) if found.len() == bytes => {
                    out[start + offset..start + offset + bytes].copy_from_slice(found);
                    true
                }
                Stored::Null => false,
                _ => return Err(Error::assertion("a fixed column of another width")),
            },
            (ColumnSource::Same(from), Place::Variable { .. }) => match self.source.stored(source, *from)? {
                Stored::InRow(found) => {
                    out.extend_from_slice(found);
                    true
                }
                Stored::Null => false,
                Stored::OffRow(_) => return Err(Error::row_too_long(source.len(), ROW_BYTES_MAX)),
            },
            (ColumnSource::Computed(_) | ColumnSource::Constant(_), _) => {
                let value = match &self.columns[column] {
                    ColumnSource::Computed(index) => computed.get(*index).unwrap_or(&Value::Null),
                    ColumnSource::Constant(value) => value,
                    _ => &Value::Null,
                };
                if !value.belongs_to(sql_type) {
                    return Err(Error::assertion(&format!(
                        "a value of another type for a {sql_type} column"
                    )));
                }
                if matches!(value, Value::Held(_)) {
                    return Err(Error::row_too_long(
                        self.target.value_bytes(column, value),
                        ROW_BYTES_MAX,
                    ));
                }
                let encoding = Encoding::of(sql_type, self.target.column_collation(column));
                match place {
                    Place::Fixed { offset, bytes } => {
                        put_fixed(
                            &mut out[start + offset..start + offset + bytes],
                            sql_type,
                            encoding,
                            value,
                        )?;
                    }
                    Place::Variable { .. } => push_variable(value, encoding, out),
                    Place::Absent => {}
                }
                !value.is_null()
            }
        };
        if !is_there {
            out[start + self.target.fixed_end + 2 + column / 8] |= 1 << (column % 8);
        }
        if let Place::Variable { index } = place {
            let offsets = self.target.fixed_end + 2 + self.target.columns.len().div_ceil(8) + 2;
            // Wrong only for a row that is refused for its length.
            let end = out.len() - start;
            put_u16(&mut out[start..], offsets + 2 * index, end);
        }
        Ok(is_there)
    }
}

fn add_move(moves: &mut Vec<Move>, next: Move) {
    if let Some(last) = moves.last_mut()
        && last.from + last.bytes == next.from
        && last.to + last.bytes == next.to
    {
        last.bytes += next.bytes;
        return;
    }
    moves.push(next);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::{KeyDirection, Length, encode_key_part};
    use super::*;

    fn layouts() -> (RowLayout, RowLayout) {
        let varchar = SqlType::VarChar(Length::Limited(20));
        let source = RowLayout::new(&[
            SqlType::Int,
            SqlType::DateTime,
            varchar,
            SqlType::Money,
            SqlType::Char(2),
            varchar,
        ]);
        let target = RowLayout::new(&[
            SqlType::Int,
            SqlType::DateTime,
            SqlType::Money,
            varchar,
            SqlType::Char(2),
            SqlType::Int,
            varchar,
        ]);
        (source, target)
    }

    fn columns() -> Vec<ColumnSource> {
        vec![
            ColumnSource::Later,
            ColumnSource::Same(1),
            ColumnSource::Same(3),
            ColumnSource::Same(5),
            ColumnSource::Same(4),
            ColumnSource::Computed(0),
            ColumnSource::Constant("always".into()),
        ]
    }

    fn source_values(nulls: u32) -> Vec<Value> {
        let moment = Value::DateTime { days: 5, ticks: 7 };
        let values = [
            Value::Int(1),
            moment,
            "a".into(),
            Value::Money(12),
            "xy".into(),
            "bcd".into(),
        ];
        let keep = |(index, value)| if nulls >> index & 1 == 1 { Value::Null } else { value };
        values.into_iter().enumerate().map(keep).collect()
    }

    #[test]
    fn every_pattern_of_nulls_is_moved_as_it_would_be_encoded() {
        let (source, target) = layouts();
        let transfer = RowTransfer::new(&source, &target, columns(), vec![false; 7]).unwrap();
        let (mut row, mut expected, mut rows) = (Vec::new(), Vec::new(), EncodedRows::new());
        for nulls in 0..64 {
            let values = source_values(nulls);
            source.encode(&values, &mut row).unwrap();
            let computed = if nulls & 1 == 1 { Value::Null } else { Value::Int(9) };
            assert_eq!(
                transfer
                    .append(&row, std::slice::from_ref(&computed), &mut rows)
                    .unwrap(),
                None
            );
            let wanted = [
                Value::Int(0),
                values[1].clone(),
                values[3].clone(),
                values[5].clone(),
                values[4].clone(),
                computed,
                "always".into(),
            ];
            target.encode(&wanted, &mut expected).unwrap();
            assert_eq!(rows.get(nulls as usize), Some(&expected[..]), "nulls {nulls:b}");
        }
    }

    #[test]
    fn a_required_column_names_itself_and_nothing_is_appended() {
        let (source, target) = layouts();
        let transfer = RowTransfer::new(&source, &target, columns(), vec![true; 7]).unwrap();
        let (mut row, mut rows) = (Vec::new(), EncodedRows::new());
        for (nulls, column) in [(1 << 1, 1), (1 << 3, 2), (1 << 5, 3), (1 << 4, 4)] {
            source.encode(&source_values(nulls), &mut row).unwrap();
            assert_eq!(
                transfer.append(&row, &[Value::Int(1)], &mut rows).unwrap(),
                Some(column)
            );
        }
        source.encode(&source_values(0), &mut row).unwrap();
        assert_eq!(transfer.append(&row, &[Value::Null], &mut rows).unwrap(), Some(5));
        assert!(rows.is_empty() && rows.byte_count() == 0);
    }

    #[test]
    fn rows_are_numbered_as_one_by_one_or_not_at_all() {
        let layout = RowLayout::new(&[SqlType::BigInt, SqlType::Int]);
        let (mut row, mut rows) = (Vec::new(), EncodedRows::new());
        for _ in 0..3 {
            layout.encode(&[Value::BigInt(-1), Value::Int(0)], &mut row).unwrap();
            rows.push(&row);
        }
        let (most, least) = (i64::from(i32::MAX), i64::from(i32::MIN));
        // first, step -> whether it fits
        let table = [
            (5, 1, true),
            (0, -7, true),
            (most - 2, 1, true),
            (most - 1, 1, false),
            (least, most, true),
            (least, most * 2, false),
            (least + 1, -1, false),
            (most + 1, -1, false),
            (0, i64::MAX, false),
        ];
        for (first, step, fits) in table {
            let before = rows.bytes.clone();
            assert_eq!(rows.number(&layout, 1, first, step).unwrap(), fits, "{first} {step}");
            if !fits {
                assert_eq!(rows.bytes, before);
                continue;
            }
            for index in 0..3 {
                let number = (first + index as i64 * step) as i32;
                assert_eq!(layout.column(rows.get(index).unwrap(), 1).unwrap(), Value::Int(number));
                assert_eq!(layout.column(rows.get(index).unwrap(), 0).unwrap(), Value::BigInt(-1));
            }
        }
        assert!(!rows.number(&layout, 0, 1, 1).unwrap(), "a column of another type");
    }

    #[test]
    fn key_parts_of_stored_columns_are_those_of_their_values() {
        let layout = RowLayout::new(&[SqlType::Int, SqlType::BigInt, SqlType::VarChar(Length::Limited(9))]);
        let mut row = Vec::new();
        for number in [i32::MIN, -256, -1, 0, 1, 77_777, i32::MAX] {
            for nulls in 0..8 {
                let values = [Value::Int(number), Value::BigInt(number.into()), "text".into()];
                let keep = |(index, value)| if nulls >> index & 1 == 1 { Value::Null } else { value };
                let values: Vec<Value> = values.into_iter().enumerate().map(keep).collect();
                layout.encode(&values, &mut row).unwrap();
                for direction in [KeyDirection::Ascending, KeyDirection::Descending] {
                    for (column, value) in values.iter().enumerate() {
                        let (mut stored, mut expected) = (Vec::new(), Vec::new());
                        layout.push_key_part(&row, column, direction, &mut stored).unwrap();
                        encode_key_part(value, direction, &mut expected);
                        assert_eq!(stored, expected, "{value:?} {direction:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn columns_that_a_short_row_lacks_are_null() {
        let old = RowLayout::new(&[SqlType::Int]);
        let new = RowLayout::new(&[SqlType::Int, SqlType::Int]);
        let columns = vec![ColumnSource::Same(0), ColumnSource::Same(1)];
        let transfer = RowTransfer::new(&new, &new, columns, vec![false; 2]).unwrap();
        let (mut row, mut rows, mut values) = (Vec::new(), EncodedRows::new(), Vec::new());
        old.encode(&[Value::Int(4)], &mut row).unwrap();
        transfer.append(&row, &[], &mut rows).unwrap();
        new.decode_into(rows.get(0).unwrap(), &mut values).unwrap();
        assert_eq!(values, [Value::Int(4), Value::Null]);
    }

    #[test]
    fn damaged_rows_are_errors_and_the_values_of_those_too_long_are_kept() {
        let layout = RowLayout::new(&[
            SqlType::Int,
            SqlType::VarChar(Length::Limited(8000)),
            SqlType::VarChar(Length::Limited(8000)),
        ]);
        let columns = vec![ColumnSource::Same(0), ColumnSource::Same(1), ColumnSource::Computed(0)];
        let transfer = RowTransfer::new(&layout, &layout, columns, vec![false; 3]).unwrap();
        let (mut row, mut rows) = (Vec::new(), EncodedRows::new());
        layout
            .encode(&[Value::Int(1), "x".repeat(5000).into(), Value::Null], &mut row)
            .unwrap();
        let long = [Value::from("y".repeat(5000))];
        assert_eq!(transfer.append(&row, &long, &mut rows).unwrap(), None);
        assert_eq!(transfer.append(&row, &[Value::Null], &mut rows).unwrap(), None);
        let apart = rows.values_apart(&layout, 0).unwrap().unwrap();
        assert_eq!(apart, [Value::Int(1), "x".repeat(5000).into(), "y".repeat(5000).into()]);
        assert_eq!(rows.values_apart(&layout, 1).unwrap(), None, "one that fits is encoded");
        assert!(rows.byte_count() > 10_000, "a packet knows what it holds");
        rows.truncate(1);
        assert!(rows.values_apart(&layout, 0).unwrap().is_some());
        rows.truncate(0);
        assert!(rows.values_apart(&layout, 0).unwrap().is_none());
        for length in 0..row.len() {
            assert!(
                transfer.append(&row[..length], &[Value::Null], &mut rows).is_err(),
                "cut at {length}"
            );
        }
        assert!(rows.is_empty());
    }
}
