//! Table-valued parameters of calls (MS-TDS 2.2.5.5.5.1 to 2.2.5.5.5.3).
//!
//! ```text
//! F3 | database B_VARCHAR | schema B_VARCHAR | type B_VARCHAR
//! FFFF: NULL, or  count u16 | count * (user type u32 | flags u16 | TYPE_INFO | name B_VARCHAR)
//! 10 count u16 (column u16 | flags u8)*      order and uniqueness, at most once
//! 11 count u16 (column u16)*                 order of the columns, at most once
//! 00
//! (01 value*)* 00                            rows; a column of flag 0200 (default) has no values
//! ```
//! Invariant: the rows of a [`TableValue`] were read once to their end, so reading them again finds what it found then. They stay bytes:
//! as values, short ones would take many times what a client has sent.

use crate::column::{ColumnType, WireType};
use crate::cursor::{Cursor, DecodeError};
use crate::value::Value;

pub(crate) const TABLE: u8 = 0xF3;
/// Flag of a column whose values are all its default.
const IS_DEFAULT: u16 = 0x0200;
/// Columns of a table (SQL Server docs: maximum capacity specifications).
const COLUMNS_MAX: u16 = 1024;

/// A column of a table-valued parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    /// The type its values are sent in.
    pub column_type: ColumnType,
    /// No values are sent: every row has the column's default.
    pub is_default: bool,
}

/// A table as a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct TableValue {
    /// The database of its type; most clients leave it empty.
    pub database: String,
    /// The schema of its type, or empty.
    pub schema: String,
    /// The name of its type, or empty.
    pub name: String,
    /// Its columns; none at all for NULL.
    pub columns: Vec<TableColumn>,
    /// It is NULL, which stands for a table without rows.
    pub is_null: bool,
    /// Place of each column in a row as it is sent.
    order: Vec<usize>,
    wires: Vec<WireType>,
    rows: Vec<u8>,
    /// The row and column, from 1, of the first value that is none of its type.
    pub invalid: Option<(u64, usize)>,
}

/// The rows of a table from the first on.
#[derive(Debug, Clone)]
pub struct TableRows<'t> {
    table: &'t TableValue,
    cursor: Cursor<'t>,
}

impl TableValue {
    /// Reads what follows the type token.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut table = Self {
            database: cursor.b_varchar("table type")?,
            schema: cursor.b_varchar("table type")?,
            name: cursor.b_varchar("table type")?,
            columns: Vec::new(),
            is_null: false,
            order: Vec::new(),
            wires: Vec::new(),
            rows: Vec::new(),
            invalid: None,
        };
        match cursor.u16("table columns")? {
            u16::MAX => table.is_null = true,
            count if count > COLUMNS_MAX => return Err(DecodeError::Invalid("table columns", u64::from(count))),
            count => {
                for _ in 0..count {
                    table.parse_column(cursor)?;
                }
            }
        }
        table.order = (0..table.columns.len()).collect();
        table.parse_options(cursor)?;
        table.take_rows(cursor)?;
        Ok(table)
    }

    fn parse_column(&mut self, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        cursor.u32("table column")?;
        let flags = cursor.u16("table column")?;
        let wire = WireType::parse(cursor)?;
        cursor.b_varchar("table column")?;
        self.columns.push(TableColumn {
            column_type: wire.column,
            is_default: flags & IS_DEFAULT != 0,
        });
        self.wires.push(wire);
        Ok(())
    }

    /// What stands between columns and rows. How the rows are sorted and which columns are unique is advice that nothing here depends on.
    fn parse_options(&mut self, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        loop {
            match cursor.u8("table options")? {
                0x00 => return Ok(()),
                0x10 => {
                    for _ in 0..cursor.u16("table order")? {
                        cursor.bytes(3, "table order")?;
                    }
                }
                0x11 => {
                    let count = usize::from(cursor.u16("column order")?);
                    if count != self.columns.len() {
                        return Err(DecodeError::Invalid("column order", count as u64));
                    }
                    let mut order = Vec::with_capacity(count);
                    for _ in 0..count {
                        let number = cursor.u16("column order")?;
                        let place = usize::from(number).checked_sub(1).filter(|place| *place < count);
                        let place = place.filter(|place| !order.contains(place));
                        order.push(place.ok_or(DecodeError::Invalid("column order", u64::from(number)))?);
                    }
                    self.order = order;
                }
                other => return Err(DecodeError::Invalid("table token", u64::from(other))),
            }
        }
    }

    /// Reads all rows to find their end, and keeps their bytes.
    fn take_rows(&mut self, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let start = cursor.clone();
        let mut row = Vec::new();
        let mut number = 0;
        while self.next_row(cursor, &mut row)? {
            number += 1;
            if self.invalid.is_none() {
                let mut values = row.iter().zip(&self.columns);
                let column = values.position(|(value, column)| !value.is_valid(column.column_type));
                self.invalid = column.map(|column| (number, column + 1));
            }
        }
        let bytes = start.remaining() - cursor.remaining();
        self.rows = start.clone().bytes(bytes, "table rows")?.to_vec();
        Ok(())
    }

    fn next_row(&self, cursor: &mut Cursor<'_>, row: &mut Vec<Value>) -> Result<bool, DecodeError> {
        row.clear();
        match cursor.u8("table row")? {
            0x00 => return Ok(false),
            0x01 if !self.columns.is_empty() => {}
            other => return Err(DecodeError::Invalid("table token", u64::from(other))),
        }
        row.resize(self.columns.len(), Value::Null);
        for &place in &self.order {
            if !self.columns[place].is_default {
                row[place] = Value::parse(cursor, &self.wires[place], false)?;
            }
        }
        Ok(true)
    }

    pub fn rows(&self) -> TableRows<'_> {
        TableRows {
            table: self,
            cursor: Cursor::new(&self.rows),
        }
    }
}

impl TableRows<'_> {
    /// Reads the next row into `row`, a value for each column and NULL for those of default; false behind the last.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> Result<bool, DecodeError> {
        self.table.next_row(&mut self.cursor, row)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sample() -> Vec<u8> {
        let mut bytes = vec![0, 3];
        bytes.extend("dbo".bytes().flat_map(|byte| [byte, 0]));
        bytes.extend([1, b'T', 0]);
        bytes.extend([3, 0]);
        bytes.extend([0, 0, 0, 0, 1, 0, 0x26, 4, 0]);
        bytes.extend([0, 0, 0, 0, 0, 2, 0x26, 4, 0]);
        bytes.extend([0, 0, 0, 0, 1, 0, 0xA5, 10, 0, 0]);
        bytes.extend([0x10, 1, 0, 1, 0, 1]);
        bytes.extend([0x11, 3, 0, 3, 0, 2, 0, 1, 0]);
        bytes.push(0);
        bytes.extend([1, 2, 0, 7, 8, 4, 5, 0, 0, 0]);
        bytes.extend([1, 0xFF, 0xFF, 0]);
        bytes.push(0);
        bytes
    }

    #[test]
    fn rows_come_in_the_order_of_the_columns_whatever_order_they_are_sent_in() {
        let bytes = sample();
        let mut cursor = Cursor::new(&bytes);
        let table = TableValue::parse(&mut cursor).unwrap();
        assert!(cursor.is_empty());
        assert_eq!((table.schema.as_str(), table.name.as_str()), ("dbo", "T"));
        assert_eq!(
            table.columns.iter().map(|column| column.is_default).collect::<Vec<_>>(),
            [false, true, false]
        );
        let mut rows = table.rows();
        let mut row = Vec::new();
        assert!(rows.next_row(&mut row).unwrap());
        assert_eq!(row, [Value::Int(5), Value::Null, Value::Binary(vec![7, 8])]);
        assert!(rows.next_row(&mut row).unwrap());
        assert_eq!(row, [Value::Null, Value::Null, Value::Null]);
        assert!(!rows.next_row(&mut row).unwrap());
    }

    #[test]
    fn every_cut_and_every_column_that_is_named_twice_is_refused() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            assert!(TableValue::parse(&mut Cursor::new(&bytes[..cut])).is_err(), "{cut}");
        }
        let at = bytes.windows(3).position(|window| window == [0x11, 3, 0]).unwrap() + 3;
        for number in [0, 2, 4] {
            let mut wrong = bytes.clone();
            wrong[at] = number;
            assert!(TableValue::parse(&mut Cursor::new(&wrong)).is_err(), "{number}");
        }
    }

    #[test]
    fn null_is_a_table_without_columns_and_has_no_rows() {
        let bytes = [0, 0, 0, 0xFF, 0xFF, 0, 0];
        let table = TableValue::parse(&mut Cursor::new(&bytes)).unwrap();
        assert!(table.is_null && table.columns.is_empty());
        let with_row = [0, 0, 0, 0xFF, 0xFF, 0, 1, 0];
        assert!(TableValue::parse(&mut Cursor::new(&with_row)).is_err());
    }
}
