//! Limits on the number of key columns, the length of keys, and the number of nonclustered indexes of a table (sql-docs, "Maximum capacity
//! specifications").
//!
//! ```text
//!                        2005    2008 to 2014    from 2016
//! key columns            16      16              32
//! nonclustered indexes   249     999             999
//! ```
//! Bytes of a key (`engine::session::key_bytes_max`): fixed-length columns that exceed the limit give 1944; columns that may exceed it give
//! a warning (1945), and 1946 for a row that does (sql-docs, "CREATE INDEX", index key size).

use engine::catalog::{IndexDefinition, TableDefinition};
use engine::error::{Error, Result};
use engine::session::{key_bytes_max, key_bytes_range};
use vlf::ServerVersion;

use crate::messages;

/// Judges the indexes of a table, with one that is about to be added to it.
///
/// # Errors
/// 1904, 1910 and 1944.
pub(super) fn check_indexes(
    version: ServerVersion,
    table: &TableDefinition,
    added: Option<&IndexDefinition>,
) -> Result<()> {
    let columns_max = if version < ServerVersion::V2016 { 16 } else { 32 };
    let indexes_max = if version < ServerVersion::V2008 { 249 } else { 999 };
    let mut nonclustered = 0;
    for index in table.every_index().chain(added) {
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
        let (shortest, _) = key_bytes_range(table, index);
        if shortest > key_bytes_max(index) {
            let kind = kind_of(index);
            return Err(messages::index_key_too_large(
                &index.name,
                shortest,
                kind,
                key_bytes_max(index),
            ));
        }
        nonclustered += usize::from(index.index_id != 1);
        if nonclustered > indexes_max {
            return Err(messages::too_many_indexes(&index.name, indexes_max));
        }
    }
    Ok(())
}

/// The warning that some keys of an index may be too long for it: 1945.
pub(super) fn long_key_warning(table: &TableDefinition, index: &IndexDefinition) -> Option<Error> {
    let (_, longest) = key_bytes_range(table, index);
    let bytes_max = key_bytes_max(index);
    (longest > bytes_max).then(|| messages::index_key_may_be_too_large(kind_of(index), bytes_max, &index.name, longest))
}

fn kind_of(index: &IndexDefinition) -> &'static str {
    match index.index_id {
        1 => "clustered",
        _ => "nonclustered",
    }
}
