//! ALTER DATABASE ADD, REMOVE and MODIFY FILEGROUP: a change of the database's entry in master, one transaction there.
//!
//! No page says which filegroup its file is in, so nothing else changes. The database's boot record says that there are filegroups before the
//! entry does: a version that does not know them opens neither.

use super::{Instance, Operation};
use crate::catalog::{FilegroupEntry, ObjectDefinition, TableDefinition};
use crate::database::Database;
use crate::error::Result;

impl Instance {
    /// Changes the filegroups of a database that is open, durably. `change` gets all of them, PRIMARY first.
    ///
    /// # Errors
    /// 942 and its kin when it is not open; those of `change`, which then has changed nothing; 9001 and others of master's log.
    pub fn alter_filegroups(
        &self,
        operation: &Operation,
        change: impl FnOnce(&mut Vec<FilegroupEntry>) -> Result<()>,
    ) -> Result<()> {
        let database = operation.database()?;
        let mut filegroups = operation.entry().every_filegroup();
        change(&mut filegroups)?;
        database.note_data_spaces()?;
        self.update_entry(operation, |entry| {
            entry.filegroups = filegroups;
            Ok(())
        })
    }

    /// A filegroup that no database has yet. Its number is one of a database's.
    pub fn new_filegroup(&self, others: &[FilegroupEntry], name: &str) -> FilegroupEntry {
        let highest = others.iter().map(|other| other.id).max();
        FilegroupEntry {
            id: highest.map_or(2, |id| id.saturating_add(1)),
            name: name.to_owned(),
            guid: self.new_guid(name),
            is_default: false,
            is_read_only: false,
            grows_all_files: false,
        }
    }
}

impl Database {
    /// The name of a table that is kept in a filegroup, in whole or in part, as a session sees it. A switched off index counts: it comes
    /// back there.
    pub fn table_in_filegroup(&self, filegroup: u16, session: u16) -> Option<String> {
        let is_it = |space: &u16| *space == filegroup;
        let is_there = |table: &TableDefinition| {
            let indexes = table.every_index().map(|index| index.data_space);
            let mut spaces = indexes.chain([table.data_space]).chain(table.text_space);
            let partitioning = table.partitioning.as_ref();
            spaces.any(|space| space == u32::from(filegroup))
                || partitioning.is_some_and(|partitioning| partitioning.filegroups.iter().any(is_it))
        };
        let objects = self.catalog.objects(session);
        objects.iter().find_map(|object| match &object.definition {
            ObjectDefinition::PartitionScheme(scheme) => {
                let mut filegroups = scheme.filegroups.iter().chain(&scheme.next_used);
                filegroups.any(is_it).then(|| scheme.name.clone())
            }
            other => other
                .table()
                .filter(|table| is_there(table))
                .map(|table| table.name.clone()),
        })
    }
}
