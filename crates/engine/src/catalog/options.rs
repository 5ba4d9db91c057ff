//! The options of indexes in the catalog.

use serde::{Deserialize, Serialize};

/// What `sys.indexes` shows of an index's WITH clause. A version that does not know them loses them when it stores the definition again:
/// no row and no page depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IndexOptions {
    /// FILLFACTOR; 0 where none was asked for.
    pub fill_factor_percent: u8,
    /// PAD_INDEX
    pub is_padded: bool,
    /// ALLOW_ROW_LOCKS
    pub allows_row_locks: bool,
    /// ALLOW_PAGE_LOCKS. There are no page locks: it is kept and shown.
    pub allows_page_locks: bool,
    /// OPTIMIZE_FOR_SEQUENTIAL_KEY
    pub is_optimized_for_sequential_key: bool,
    /// IGNORE_DUP_KEY: an INSERT leaves out rows whose key is there already.
    pub ignores_duplicates: bool,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            fill_factor_percent: 0,
            is_padded: false,
            allows_row_locks: true,
            allows_page_locks: true,
            is_optimized_for_sequential_key: false,
            ignores_duplicates: false,
        }
    }
}

impl IndexOptions {
    pub(super) fn is_default(&self) -> bool {
        *self == IndexOptions::default()
    }
}
