//! Off-row values in the layout of a row.
//!
//! For an off-row column the row holds a *place* instead: `u16 arrangement of the pages | u48 bytes of the value | page ids`. The store
//! interprets the pages (`store::large`). The length is read here, so that it is known without reading them.
//!
//! Invariant: a place is at most 38 bytes long ([`PLACE_PAGES_MAX`] page ids), and only columns longer than [`MOVED_BYTES_MIN`] move. So moving columns off-row
//! makes a row shorter.

use super::{HeldSource, Length, SqlType};
use crate::error::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Columns up to this length stay where they are. SQL Server leaves them, too: it puts a pointer of 24 bytes in place of a column (sql-docs,
/// "Row-overflow considerations": "a 24-byte pointer").
pub const MOVED_BYTES_MIN: usize = 24;
/// Bytes of a place before its page ids.
pub const PLACE_HEAD_BYTES: usize = 8;
/// Page ids in a place.
pub const PLACE_PAGES_MAX: usize = 5;

/// Reads values by their places.
pub trait ReadOffRow: fmt::Debug + Send + Sync {
    /// The bytes of a value.
    ///
    /// # Errors
    /// 701 when there is no memory for it; 823 and 824 when its pages cannot be read or are not what the place promises.
    fn read(&self, place: &[u8]) -> Result<Vec<u8>>;

    /// The value, to be read in parts.
    ///
    /// # Errors
    /// 824 when there is no such place.
    fn hold(&self, place: &[u8]) -> Result<Arc<dyn HeldSource>>;
}

/// Bytes of the value at a place.
///
/// # Errors
/// 824 when it is none.
pub fn value_bytes_at(place: &[u8]) -> Result<u64> {
    match *place {
        [_, _, a, b, c, d, e, f, ..] => Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0])),
        _ => Err(Error::damaged_row("a column outside of the row has no place")),
    }
}

/// Bytes of a value on one page: the page less its header (96), a row's length (2), its status (1) and its slot (2), rounded down to whole
/// characters of four bytes.
pub const PAGE_VALUE_BYTES: usize = 8_088;
/// Page ids on a page that lists pages.
pub const PAGE_BRANCHES: usize = PAGE_VALUE_BYTES / 6;

/// How many pages a place names for a value of so many bytes, on which level: 0 = they hold the value, 1 = they list pages that do.
pub fn top_pages(bytes: u64) -> (u8, u64) {
    let (mut level, mut pages) = (0, bytes.div_ceil(PAGE_VALUE_BYTES as u64).max(1));
    while pages > PLACE_PAGES_MAX as u64 {
        pages = pages.div_ceil(PAGE_BRANCHES as u64);
        level += 1;
    }
    (level, pages)
}

/// Page ids in the place of a value of so many bytes.
pub(super) fn pages_in_place(bytes: u64) -> usize {
    top_pages(bytes).1 as usize
}

/// Whether the values of a type have no limit but that of all strings: those of `max` types and of large objects.
pub fn is_unlimited(sql_type: SqlType) -> bool {
    if sql_type == SqlType::Json || sql_type.is_spatial() {
        return true;
    }
    let (SqlType::VarChar(length) | SqlType::NVarChar(length) | SqlType::VarBinary(length)) = sql_type else {
        return false;
    };
    !matches!(length, Length::Limited(_))
}

/// Whether a column may lie outside of its row (sql-docs, "Row-overflow considerations": varchar, nvarchar, varbinary, sql_variant and CLR
/// types).
pub fn may_move(sql_type: SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_)
            | SqlType::SqlVariant
            | SqlType::HierarchyId
            | SqlType::Json
            | SqlType::Geometry
            | SqlType::Geography
    )
}
