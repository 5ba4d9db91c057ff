//! How many key columns an index may have, and how many nonclustered indexes a table (sql-docs, "Maximum capacity specifications").
//!
//! ```text
//!                        2005    2008 to 2014    from 2016
//! key columns            16      16              32
//! nonclustered indexes   249     999             999
//! ```

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::error::Result;
use vlf::ServerVersion;

use crate::messages;

/// Judges the indexes of a table, with one that is about to be added to it.
///
/// # Errors
/// 1904 and 1910.
pub(super) fn check_indexes(
    version: ServerVersion,
    table: &TableDefinition,
    added: Option<&IndexDefinition>,
) -> Result<()> {
    let columns_max = if version < ServerVersion::V2016 { 16 } else { 32 };
    let indexes_max = if version < ServerVersion::V2008 { 249 } else { 999 };
    let mut nonclustered = 0;
    for index in table.indexes.iter().chain(added) {
        let columns = index.keys.len();
        if columns > columns_max {
            let table = format!("{}.{}", table.schema, table.name);
            return Err(messages::too_many_key_columns(
                &index.name,
                &table,
                columns,
                columns_max,
            ));
        }
        nonclustered += usize::from(index.index_id != 1);
        if nonclustered > indexes_max {
            return Err(messages::too_many_indexes(&index.name, indexes_max));
        }
    }
    Ok(())
}
