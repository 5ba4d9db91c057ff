//! Where the columns of users' tables lie in their rows.
//!
//! SQL Server 2008 and later keep it in sysrscols, a row for each column of each rowset:
//!
//! - `rscolid` the column's id in the table; `offset`, its low half: where it begins in the fixed part, or below zero which of the variable
//!   values it is (-1 the first); `nullbit`, its low half: its number in the null bitmap; `bitpos`, its low byte: which bit of its byte a
//!   `bit` is. `hbcolid` is another number: in a clustered index it counts the columns of the key first.
//!
//! SQL Server 2005 keeps it in syshobtcolumns, by the id of the heap or tree, which is that of its rowset (measured on five databases), and
//! by the number within the tree (`hobtcolumnid`), for which sysrowsetcolumns has the column's id (`hobtcolid`, `rowsetcolid`):
//!
//! - `offsetleaf`, `nullbitleaf`, `bitposleaf`.
//!
//! Columns that were dropped have rows of their own, with ids that no column has.

use super::base::{BaseRow, BaseTables, id};
use super::objects::Column;
use super::stored::{ColumnPlace, StoredColumn};
use crate::fault::Result;
use crate::types::{SystemType, Value};
use std::collections::HashMap;

/// Where a column lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    offset: i16,
    null_bit: u16,
    bit: u8,
}

/// By rowset and column.
pub(super) type Layouts = HashMap<(u64, i64), Leaf>;

/// Reads where the columns of all tables lie.
pub(super) fn read(tables: &mut BaseTables<'_>) -> Result<Layouts> {
    let mut layouts = Layouts::new();
    // 2005: numbers within the tree to ids of columns.
    let mut columns: HashMap<(u64, i64), i64> = HashMap::new();
    tables.each(id::SYSROWSETCOLUMNS, &mut |row: &BaseRow<'_>| {
        let rowset = row.integer("rowsetid").cast_unsigned();
        columns.insert((rowset, row.integer("hobtcolid")), row.integer("rowsetcolid"));
    })?;
    tables.each(id::SYSHOBTCOLUMNS, &mut |row: &BaseRow<'_>| {
        let rowset = row.integer("hobtid").cast_unsigned();
        let leaf = Leaf::of(
            row.integer("offsetleaf"),
            row.integer("nullbitleaf"),
            row.integer("bitposleaf"),
        );
        if let Some(column) = columns.get(&(rowset, row.integer("hobtcolumnid"))) {
            layouts.insert((rowset, *column), leaf);
        }
    })?;
    tables.each(id::SYSRSCOLS, &mut |row: &BaseRow<'_>| {
        let rowset = row.integer("rsid").cast_unsigned();
        let leaf = Leaf::of(row.integer("offset"), row.integer("nullbit"), row.integer("bitpos"));
        layouts.insert((rowset, row.integer("rscolid")), leaf);
    })?;
    Ok(layouts)
}

impl Leaf {
    /// Of the first two the low half counts: the other is that of the pages above the leaves.
    fn of(offset: i64, null_bit: i64, bit: i64) -> Leaf {
        Leaf {
            offset: (offset & 0xFFFF) as u16 as i16,
            null_bit: (null_bit & 0xFFFF) as u16,
            bit: (bit & 0xFF) as u8,
        }
    }
}

/// The stored columns of a table in the rowset `rowset`; the name of the first column whose place is not known, otherwise.
pub(super) fn stored_columns(
    layouts: &Layouts,
    rowset: u64,
    columns: &[Column],
) -> std::result::Result<Vec<StoredColumn>, String> {
    let stored = columns.iter().filter(|column| column.is_stored());
    stored
        .map(|column| {
            let place = match layouts.get(&(rowset, column.id)) {
                _ if column.is_sparse => Some((ColumnPlace::Sparse, 0)),
                Some(leaf) => place_of(leaf, column).map(|place| (place, leaf.null_bit)),
                None => None,
            };
            let (place, null_bit) = place.ok_or_else(|| column.name.clone())?;
            Ok(StoredColumn {
                name: column.name.clone(),
                id: u32::try_from(column.id).unwrap_or(0),
                kind: column.kind,
                place,
                null_bit,
                value_of_older_rows: Value::Null,
            })
        })
        .collect()
}

fn place_of(leaf: &Leaf, column: &Column) -> Option<ColumnPlace> {
    match (leaf.offset, column.kind.system) {
        (offset @ 4.., SystemType::Bit) => Some(ColumnPlace::Bit {
            offset: offset.cast_unsigned(),
            bit: leaf.bit,
        }),
        (offset @ 4.., _) => Some(ColumnPlace::Fixed(offset.cast_unsigned())),
        (number @ ..=-1, _) => Some(ColumnPlace::Variable(number.checked_neg()?.cast_unsigned() - 1)),
        _ => None,
    }
}
