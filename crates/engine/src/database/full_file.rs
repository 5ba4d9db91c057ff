//! Error 1105 with names: the store knows heaps and trees by number, but clients know tables and indexes by name.

use super::Database;
use crate::catalog::TableDefinition;
use crate::error::Error;

/// All data files are in it.
const FILEGROUP: &str = "PRIMARY";

impl Database {
    /// Puts the table, and the index if it is one's tree, into a 1105 that names what wants room by its number. `session` sees the table.
    pub(crate) fn name_full_unit(&self, error: Error, session: u16) -> Error {
        let Some(unit) = error.unit_without_room() else {
            return error;
        };
        let objects = self.catalog.objects(session);
        let tables = objects.iter().filter_map(|object| object.definition.table());
        match tables.into_iter().find_map(|table| name_in(table, unit)) {
            Some(name) => Error::filegroup_full(&name, &self.name(), FILEGROUP),
            None => error,
        }
    }

    /// Puts a name into a 1105 that names what wants room by its number, when no table has it yet.
    pub(crate) fn name_full_object(&self, error: Error, name: &str) -> Error {
        match error.unit_without_room() {
            Some(_) => Error::filegroup_full(name, &self.name(), FILEGROUP),
            None => error,
        }
    }
}

/// What SQL Server calls a heap or tree of a table: `dbo.t`, and an index's `dbo.t'.'index`, which the sentence puts in quotes.
fn name_in(table: &TableDefinition, unit: u32) -> Option<String> {
    let name = format!("{}.{}", table.schema, table.name);
    if table.heap.is_some_and(|heap| heap.unit == unit) {
        return Some(name);
    }
    let index = table.indexes.iter().find(|index| index.storage.unit == unit)?;
    Some(format!("{name}'.'{}", index.name))
}
