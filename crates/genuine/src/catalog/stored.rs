//! Where the values of a table lie: its rowsets, and in their rows its columns.

use crate::page::PageId;
use crate::types::{ColumnType, Value};

/// How the rows of a rowset are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Row,
    Page,
    /// A columnstore: not rows at all.
    Columnstore,
}

impl Compression {
    /// The level in `sysrowsets.cmprlevel`.
    pub fn of(level: i64) -> Compression {
        match level {
            1 => Compression::Row,
            2 => Compression::Page,
            3 | 4 => Compression::Columnstore,
            _ => Compression::None,
        }
    }
}

/// Where a column's value is in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnPlace {
    /// Bytes of the fixed part, from this one of the record on.
    Fixed(u16),
    /// A bit of a byte of the fixed part.
    Bit { offset: u16, bit: u8 },
    /// The variable value with this number, counted from 0.
    Variable(u16),
    /// In the row's sparse vector.
    Sparse,
}

/// A column as a rowset stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredColumn {
    pub name: String,
    /// Its id in the table.
    pub id: u32,
    pub kind: ColumnType,
    pub place: ColumnPlace,
    /// Its number in the null bitmap and among the columns of compressed rows, counted from 1.
    pub null_bit: u16,
    /// What it is in rows that are older than the column; `None` if the catalog does not say, and then such a row cannot be read.
    pub value_of_older_rows: Option<Value>,
}

/// One partition of a heap or a clustered index.
#[derive(Clone, Debug, PartialEq)]
pub struct RowSet {
    pub id: u64,
    /// The number of the partition, counted from 1.
    pub partition: i64,
    pub is_heap: bool,
    pub compression: Compression,
    /// How many rows the catalog says it has.
    pub catalog_rows: i64,
    pub allocation_unit: u64,
    pub first_page: Option<PageId>,
    pub first_iam: Option<PageId>,
    /// Pages of all its allocation units that the catalog says are used, those of large values among them.
    pub used_pages: i64,
    pub columns: Vec<StoredColumn>,
}
