//! ALTER DATABASE ADD, REMOVE and MODIFY FILEGROUP: a change of the database's entry in master, one transaction there.
//!
//! No page says which filegroup its file is in, so nothing else changes. The database's boot record says that there are filegroups before the
//! entry does: a version that does not know them opens neither.

use super::{Instance, Operation};
use crate::cancel;
use crate::catalog::{DatabaseEntry, FilegroupEntry, TableDefinition};
use crate::database::Database;
use crate::error::Result;

/// Pages with deleted rows that are looked at between two looks for a request to stop.
const PAGES_SETTLED: usize = 1_024;

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
        note_highest(&mut filegroups);
        database.note_data_spaces()?;
        self.update_entry(operation, |entry| {
            entry.filegroups = filegroups;
            Ok(())
        })
    }

    /// A filegroup that no database has yet. Its number is one that no filegroup of the database has had; `taken` are numbers that its files
    /// and definitions name.
    pub fn new_filegroup(&self, others: &[FilegroupEntry], taken: &[u16], name: &str) -> FilegroupEntry {
        let of_others = others.iter().map(|other| other.id.max(other.highest_id));
        let highest = of_others.chain(taken.iter().copied()).max();
        FilegroupEntry {
            id: highest.map_or(2, |id| id.saturating_add(1)),
            name: name.to_owned(),
            guid: self.new_guid(name),
            is_default: false,
            is_read_only: false,
            grows_all_files: false,
            highest_id: 0,
        }
    }
}

/// Keeps the numbers of filegroups that are there from being given again.
fn note_highest(filegroups: &mut [FilegroupEntry]) {
    let highest = filegroups.iter().map(|one| one.id.max(one.highest_id)).max();
    if let Some((first, highest)) = filegroups.first_mut().zip(highest) {
        first.highest_id = highest;
    }
}

/// The filegroups of a database that is RESTORING once a set with these is restored. Those that the set does not have stay: restored to a
/// moment within the set, the database may have tables there, and its files name them. One whose name another has by then gets its number
/// behind it.
pub(super) fn filegroups_after(entry: &DatabaseEntry, of_set: &[FilegroupEntry]) -> Vec<FilegroupEntry> {
    if entry.filegroups.is_empty() || of_set.is_empty() && entry.filegroups.len() == 1 {
        return of_set.to_vec();
    }
    let mut filegroups = match of_set.is_empty() {
        true => vec![FilegroupEntry::primary(entry.guid)],
        false => of_set.to_vec(),
    };
    for former in entry.filegroups.iter().skip(1) {
        if filegroups.iter().any(|one| one.id == former.id) {
            continue;
        }
        let folded = former.name.to_lowercase();
        let is_taken = filegroups.iter().any(|one| one.name.to_lowercase() == folded);
        filegroups.push(FilegroupEntry {
            name: match is_taken {
                true => format!("{}_{}", former.name, former.id),
                false => former.name.clone(),
            },
            is_default: false,
            ..former.clone()
        });
    }
    filegroups.sort_by_key(|one| one.id);
    let highest = entry.filegroups.iter().map(|one| one.highest_id).max().unwrap_or(0);
    filegroups[0].highest_id = filegroups[0].highest_id.max(highest);
    note_highest(&mut filegroups);
    filegroups
}

impl Database {
    /// Ends what deletions have left to be done, and writes a checkpoint. Nobody else uses the database.
    ///
    /// # Errors
    /// 3617; those of cleaning and of a checkpoint.
    pub fn settle(&self) -> Result<()> {
        self.wait_for_recovery()?;
        while self.clean_ghosts(PAGES_SETTLED)?.pages > 0 {
            cancel::look()?;
        }
        self.free_large_values()?;
        self.checkpoint()
    }

    /// The numbers of filegroups that definitions name, as a session sees them.
    pub fn filegroups_of_definitions(&self, session: u16) -> Vec<u16> {
        let mut found = Vec::new();
        for object in self.catalog.objects(session) {
            if let Some(scheme) = object.definition.partition_scheme() {
                found.extend(scheme.filegroups.iter().chain(&scheme.next_used));
            }
            let Some(table) = object.definition.table() else {
                continue;
            };
            let indexes = table.every_index().map(|index| index.data_space);
            let spaces = indexes.chain([table.data_space]).chain(table.text_space);
            found.extend(spaces.filter_map(|space| u16::try_from(space).ok()));
            let partitioning = table.partitioning.iter();
            found.extend(partitioning.flat_map(|partitioning| &partitioning.filegroups));
        }
        found
    }

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
        objects.iter().find_map(|object| {
            let table = object.definition.table().filter(|table| is_there(table));
            let scheme = object.definition.partition_scheme().filter(|scheme| {
                let mut filegroups = scheme.filegroups.iter().chain(&scheme.next_used);
                filegroups.any(is_it)
            });
            let names = (table.map(|table| &table.name), scheme.map(|scheme| &scheme.name));
            names.0.or(names.1).cloned()
        })
    }
}
