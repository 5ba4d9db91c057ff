//! How long the keys of an index may be, in bytes of the values of its columns: 900 in a clustered index, 1,700 in others (sql-docs,
//! "CREATE INDEX", index key size).
//!
//! Keys whose columns cannot exceed the limit are never checked. CREATE INDEX fails with 1944 if all of its keys would be longer, and warns
//! (1945) if some could be; those are checked whenever an entry is inserted. Keys hold the weights of strings, which may be longer than the
//! strings; a key too long for a tree gets the same error.

use super::table::Table;
use crate::catalog::{IndexDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::types::Value;

/// The most bytes of a key of this index.
pub fn key_bytes_max(index: &IndexDefinition) -> usize {
    match index.index_id {
        1 => 900,
        _ => 1_700,
    }
}

/// The bytes that the shortest and the longest key of an index take, without NULLs.
pub fn key_bytes_range(definition: &TableDefinition, index: &IndexDefinition) -> (usize, usize) {
    let types = index
        .keys
        .iter()
        .filter_map(|(column, _)| definition.columns.get(*column));
    types.fold((0, 0), |(shortest, longest), column| {
        let fixed = column.sql_type.fixed_bytes();
        let most = usize::try_from(column.sql_type.max_length()).unwrap_or(0);
        (shortest + fixed.unwrap_or(0), longest + fixed.unwrap_or(most))
    })
}

impl Table {
    /// Whether keys of an index can be longer than they may be.
    pub(super) fn may_exceed_key(definition: &TableDefinition, index: &IndexDefinition) -> bool {
        key_bytes_range(definition, index).1 > key_bytes_max(index)
    }

    /// 1946 for a row whose key is too long for an index that it may be too long for.
    pub(super) fn check_key_length(&self, index: &IndexDefinition, values: &[Value]) -> Result<()> {
        let columns = index.keys.iter().map(|&(column, _)| column);
        let bytes: usize = columns
            .map(|column| {
                self.layout()
                    .value_bytes(column, values.get(column).unwrap_or(&Value::Null))
            })
            .sum();
        match bytes > key_bytes_max(index) {
            true => Err(Error::index_key_too_long(bytes, &index.name, index.index_id == 1)),
            false => Ok(()),
        }
    }
}

/// 1946 of a tree with the name of its index.
pub(super) fn of_index(error: Error, index: &IndexDefinition) -> Error {
    match (error.number, error.state) {
        (1946, Error::STATE_OF_TREE) => Error {
            message: error
                .message
                .replacen(" for the index ", &format!(" for the index '{}' ", index.name), 1),
            ..error
        },
        _ => error,
    }
}
