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
//!
//! **A column that was added to a table with rows** is missing in those rows. SQL Server 2012 and later add a column that is NOT NULL and has a
//! default without writing the rows (sql-docs, ALTER TABLE, "Adding NOT NULL columns as an online operation"): what the column is in them
//! was computed once, and is kept apart from the default, which can be another one by now.
//!
//! ```text
//! sysseobjvalues (9): valclass, id, subid, valnum, value sql_variant, imageval
//!     valclass 1, valnum 0: in rows of the rowset `id` that are older than its column `subid`, an hbcolid of sysrscols, that column is `value`
//! ```
//!
//! So says the text of the view `sys.system_internals_partition_columns`, whose columns `has_default` and `default_value` come from there (Randal, "How
//! are default column values stored?", shows the rows). A value that is not in `value`, or of another type than the column, is not read.

use super::base::{BaseRow, BaseTables, id};
use super::objects::Column;
use super::stored::{ColumnPlace, StoredColumn};
use crate::fault::Result;
use crate::types::{ColumnType, SystemType, Value};
use std::collections::HashMap;

/// Where a column lies.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    offset: i16,
    null_bit: u16,
    bit: u8,
    /// What it is in older rows, if sysseobjvalues has a row for it.
    older: Option<OlderValue>,
}

/// The type of the value in a row of sysseobjvalues, and the value; `None` if its `value` is NULL.
type OlderValue = Option<(ColumnType, Value)>;

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
    let mut older = older_values(tables)?;
    tables.each(id::SYSRSCOLS, &mut |row: &BaseRow<'_>| {
        let rowset = row.integer("rsid").cast_unsigned();
        let mut leaf = Leaf::of(row.integer("offset"), row.integer("nullbit"), row.integer("bitpos"));
        leaf.older = older.remove(&(rowset, row.integer("hbcolid")));
        layouts.insert((rowset, row.integer("rscolid")), leaf);
    })?;
    Ok(layouts)
}

/// What sysseobjvalues has, by rowset and hbcolid.
fn older_values(tables: &mut BaseTables<'_>) -> Result<HashMap<(u64, i64), OlderValue>> {
    /// sysseobjvalues.valclass, valnum.
    const VALUE_OF_OLDER_ROWS: (i64, i64) = (1, 0);
    let mut found = HashMap::new();
    tables.each(id::SYSSEOBJVALUES, &mut |row: &BaseRow<'_>| {
        if (row.integer("valclass"), row.integer("valnum")) == VALUE_OF_OLDER_ROWS {
            let place = (row.integer("id").cast_unsigned(), row.integer("subid"));
            let value = row.variant("value").map(|(kind, value)| (*kind, value.clone()));
            found.insert(place, value);
        }
    })?;
    Ok(found)
}

/// What `column` is in rows that are older than it; `None` if that is not known. A row is never older than a column that is NOT NULL and has no
/// value for it, so the catalog would be wrong about one of the two.
fn value_of_older_rows(leaf: &Leaf, column: &Column) -> Option<Value> {
    match &leaf.older {
        None => column.is_nullable.then_some(Value::Null),
        Some(None) => None,
        Some(Some((kind, value))) => match column.kind.system {
            SystemType::SqlVariant => Some(Value::Variant(*kind, Box::new(value.clone()))),
            system if system == kind.system => of_length(&column.kind, value),
            _ => None,
        },
    }
}

/// `value` with the scale and, for types of fixed length, the length of `kind`: a `char` has blanks at its end, and a `binary` zeros.
fn of_length(kind: &ColumnType, value: &Value) -> Option<Value> {
    let length = kind.fixed_bytes();
    match value {
        Value::Decimal { scale, .. }
        | Value::Time { scale, .. }
        | Value::DateTime2 { scale, .. }
        | Value::DateTimeOffset { scale, .. } => (*scale == kind.scale).then(|| value.clone()),
        Value::Text(text) => {
            let unit = if kind.system == SystemType::NChar { 2 } else { 1 };
            let characters = length.map_or(0, |bytes| bytes / unit);
            Some(Value::Text(format!("{text:<characters$}")))
        }
        Value::Bytes(bytes) => {
            let mut bytes = bytes.clone();
            bytes.resize(bytes.len().max(length.unwrap_or(0)), 0);
            Some(Value::Bytes(bytes))
        }
        other => Some(other.clone()),
    }
}

impl Leaf {
    /// Of the first two the low half counts: the other is that of the pages above the leaves.
    fn of(offset: i64, null_bit: i64, bit: i64) -> Leaf {
        Leaf {
            offset: (offset & 0xFFFF) as u16 as i16,
            null_bit: (null_bit & 0xFFFF) as u16,
            bit: (bit & 0xFF) as u8,
            older: None,
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
                _ if column.is_sparse => Some((ColumnPlace::Sparse, 0, Some(Value::Null))),
                Some(leaf) => {
                    place_of(leaf, column).map(|place| (place, leaf.null_bit, value_of_older_rows(leaf, column)))
                }
                None => None,
            };
            let (place, null_bit, value_of_older_rows) = place.ok_or_else(|| column.name.clone())?;
            Ok(StoredColumn {
                name: column.name.clone(),
                id: u32::try_from(column.id).unwrap_or(0),
                kind: column.kind,
                place,
                null_bit,
                value_of_older_rows,
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
