//! Where a table and its indexes are kept: `ON` and `TEXTIMAGE_ON`.
//!
//! ```text
//! CREATE TABLE ... ON fg             the table; without it the default filegroup
//! a key, INDEX, CREATE INDEX ON fg   the index; a clustered one takes the table with it. Without it the filegroup of the table
//! ON "default"                       the default filegroup; of a key, the filegroup of the table
//! DROP INDEX of a clustered one      the heap stays where the index was
//! ```
//! (sql-docs, CREATE TABLE, CREATE INDEX.)

use engine::catalog::{DatabaseEntry, IndexDefinition, TableDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::off_row::is_unlimited;

use super::executor::Executor;
use crate::ast::{CreateTable, DataSpace, Identifier};
use crate::messages;

/// The data space of an index that does not say one, until the table's is known.
pub(super) const OF_THE_TABLE: u32 = 0;

/// The default filegroup of a database.
pub(super) fn default_space(entry: &DatabaseEntry) -> u32 {
    let filegroups = entry.every_filegroup();
    let default = filegroups.iter().find(|filegroup| filegroup.is_default);
    default.map_or(engine::catalog::PRIMARY_FILEGROUP, |filegroup| u32::from(filegroup.id))
}

/// A filegroup by its name, or `"default"`.
///
/// # Errors
/// 1921 when there is none, 1924 when it is READ_ONLY.
fn filegroup_of(entry: &DatabaseEntry, name: &Identifier) -> Result<u32> {
    let filegroups = entry.every_filegroup();
    let is_meant = |filegroup: &&engine::catalog::FilegroupEntry| match name.is("default") {
        true => filegroup.is_default,
        false => name.is(&filegroup.name),
    };
    let found = filegroups.iter().find(is_meant);
    let found = found.ok_or_else(|| messages::invalid_data_space("filegroup", &name.text))?;
    match found.is_read_only {
        true => Err(Error::filegroup_is_read_only(&found.name)),
        false => Ok(u32::from(found.id)),
    }
}

/// What ON says.
///
/// # Errors
/// 1921, 1924; 40517 for a partition scheme.
pub(super) fn data_space_of(database: &Database, written: &DataSpace) -> Result<u32> {
    match &written.column {
        Some(_) => Err(messages::not_supported("partition scheme")),
        None => filegroup_of(&database.entry(), &written.name),
    }
}

/// What ON of an index says; [`OF_THE_TABLE`] where it says nothing.
///
/// # Errors
/// Those of [`data_space_of`].
pub(super) fn space_of_index(database: &Database, written: Option<&DataSpace>) -> Result<u32> {
    written.map_or(Ok(OF_THE_TABLE), |written| data_space_of(database, written))
}

/// What ON of a key says: `"default"` is where the table is.
///
/// # Errors
/// Those of [`data_space_of`].
pub(super) fn space_of_key(database: &Database, written: Option<&DataSpace>) -> Result<u32> {
    space_of_index(database, written.filter(|written| !written.name.is("default")))
}

/// Puts indexes that do not say where they go to the table's place, and the table to its clustered index.
pub(super) fn settle_spaces(table: &mut TableDefinition) {
    let of_table = table.data_space;
    let settle = |index: &mut IndexDefinition, space: u32| {
        if index.data_space == OF_THE_TABLE {
            index.data_space = space;
        }
    };
    if let Some(clustered) = table.indexes.first_mut().filter(|index| index.index_id == 1) {
        settle(clustered, of_table);
        table.data_space = clustered.data_space;
    }
    let of_table = table.data_space;
    table.every_index_mut().for_each(|index| settle(index, of_table));
}

impl Executor<'_> {
    /// Places a table that CREATE TABLE has defined.
    ///
    /// # Errors
    /// Those of [`data_space_of`]; 1709 for TEXTIMAGE_ON without a column that it is for.
    pub(super) fn place_table(&self, create: &CreateTable, table: &mut TableDefinition) -> Result<()> {
        let database = self.session.database_of(&create.name)?;
        table.data_space = match &create.data_space {
            Some(written) => data_space_of(&database, written)?,
            None => default_space(&database.entry()),
        };
        if let Some(written) = &create.text_filegroup {
            if !table.columns.iter().any(|column| is_unlimited(column.sql_type)) {
                return Err(messages::text_space_without_column());
            }
            table.text_space = Some(filegroup_of(&database.entry(), written)?);
        }
        settle_spaces(table);
        Ok(())
    }

    /// Places a table that SELECT INTO has defined.
    ///
    /// # Errors
    /// 1921, 1924.
    pub(super) fn place_rows(
        &self,
        database: &Database,
        written: Option<&Identifier>,
        table: &mut TableDefinition,
    ) -> Result<()> {
        table.data_space = match written {
            Some(name) => filegroup_of(&database.entry(), name)?,
            None => default_space(&database.entry()),
        };
        Ok(())
    }
}
