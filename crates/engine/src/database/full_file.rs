//! Error 1105 with names: the store knows heaps and trees by number, but clients know tables and indexes by name.

use super::Database;
use crate::catalog::{StorageRoot, TableDefinition};
use crate::error::Error;

impl Database {
    /// Puts the table, and the index if it is one's tree, into a 1105 that names what wants room by its number. `session` sees the table.
    pub(crate) fn name_full_unit(&self, error: Error, session: u16) -> Error {
        let Some(unit) = error.unit_without_room() else {
            return error;
        };
        let objects = self.catalog.objects(session);
        let tables = objects.iter().filter_map(|object| object.definition.table());
        match tables.into_iter().find_map(|table| name_in(table, unit)) {
            Some((name, file)) => {
                let files = &self.storage.files;
                let filegroup = files.filegroup_name(files.filegroup_of(file));
                Error::filegroup_full(&name, &self.name(), &filegroup)
            }
            None => error,
        }
    }

    /// Puts a name into a 1105 that names what wants room by its number, when no table has it yet.
    pub(crate) fn name_full_object(&self, error: Error, (name, data_space): (&str, u32)) -> Error {
        match error.unit_without_room() {
            Some(_) => Error::filegroup_full(name, &self.name(), &self.filegroup_name(data_space)),
            None => error,
        }
    }

    fn filegroup_name(&self, data_space: u32) -> String {
        let filegroup = u16::try_from(data_space).unwrap_or(crate::buffer::PRIMARY_FILEGROUP);
        self.storage.files.filegroup_name(filegroup)
    }
}

/// What SQL Server calls a heap or tree of a table: `dbo.t`, and an index's `dbo.t'.'index`, which the sentence puts in quotes; and
/// the file that it begins in.
fn name_in(table: &TableDefinition, unit: u32) -> Option<(String, u16)> {
    let name = format!("{}.{}", table.schema, table.name);
    let is_it = |root: &StorageRoot| root.unit == unit;
    let root = table.storage_roots().find(is_it)?;
    let index = table
        .indexes
        .iter()
        .find(|index| index.storage_roots().any(|root| is_it(&root)));
    let name = match index {
        Some(index) => format!("{name}'.'{}", index.name),
        None => name,
    };
    Some((name, root.first_iam.0))
}
