//! Which parts of a table may be changed: those in a filegroup that is READ_ONLY may not.
//!
//! Every change of a row asks before its first page, and every change of an entry of an index. So an UPDATE that touches no index of such a
//! filegroup goes on, as in SQL Server. A value that lies outside of its row asks where it is written and where it is given up. Storage that
//! a definition has no more is given back: that is asked in one place, where definitions are replaced and dropped, and new storage
//! asks where it is made.

use super::Table;
use super::definition::filegroups_of;
use crate::catalog::{IndexDefinition, ObjectDefinition, TableDefinition};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::store::{LargeKind, ObjectRoot, Tree};
use std::collections::HashSet;

/// `partition_id` and `hobt_id` of a heap or tree: the unit's number in the upper half, as SQL Server's have it.
pub fn rowset_id(unit: u32) -> i64 {
    (i64::from(unit) << 16) | 0x0100_0000_0000_0000
}

impl Table {
    /// Whether its rows, and all of its indexes, may be changed.
    ///
    /// # Errors
    /// 652 when one of them is in a filegroup that is READ_ONLY.
    pub fn check_filegroups(&self) -> Result<()> {
        if let Some(partitions) = self.partitions() {
            return partitions.tables().iter().try_for_each(Table::check_filegroups);
        }
        self.check_rows_filegroup()?;
        for (place, index) in self.definition().indexes.iter().enumerate() {
            if let Some(tree) = self.nonclustered(place) {
                self.check_index_filegroup(index, tree)?;
            }
        }
        let units = self.large().map(|large| large.beside().all()).unwrap_or_default();
        let mut units = units.iter();
        units.try_for_each(|unit| self.check_filegroup("", unit.root()))
    }

    /// Whether values outside of rows may be written, or given up.
    ///
    /// # Errors
    /// 652
    pub(super) fn check_large_filegroup(&self, kind: LargeKind) -> Result<()> {
        if !self.database().storage.files.has_read_only_filegroup() {
            return Ok(());
        }
        let Some(large) = self.large() else { return Ok(()) };
        match (large.beside().of_kind(kind), large.lob_filegroup()) {
            (Some(unit), _) => self.check_filegroup("", unit.root()),
            (None, Some(filegroup)) if kind == LargeKind::Lob => {
                self.check_unit_filegroup("", self.rows_root(), filegroup)
            }
            (None, _) => self.check_filegroup("", self.rows_root()),
        }
    }

    /// Whether its rows may be changed.
    ///
    /// # Errors
    /// 652
    pub(super) fn check_rows_filegroup(&self) -> Result<()> {
        let clustered = self.definition().clustered();
        self.check_filegroup(clustered.map_or("", |index| &index.name), self.rows_root())
    }

    /// Whether the entries of an index may be changed.
    ///
    /// # Errors
    /// 652
    pub(super) fn check_index_filegroup(&self, index: &IndexDefinition, tree: &Tree) -> Result<()> {
        self.check_filegroup(&index.name, tree.root())
    }

    fn check_filegroup(&self, index: &str, root: ObjectRoot) -> Result<()> {
        let files = &self.database().storage.files;
        if !files.has_read_only_filegroup() {
            return Ok(());
        }
        self.check_unit_filegroup(index, root, files.filegroup_of(root.first_iam.file))
    }

    fn check_unit_filegroup(&self, index: &str, root: ObjectRoot, filegroup: u16) -> Result<()> {
        let files = &self.database().storage.files;
        if !files.is_read_only_filegroup(filegroup) {
            return Ok(());
        }
        let definition = self.definition();
        let table = format!("{}.{}", definition.schema, definition.name);
        let filegroup = files.filegroup_name(filegroup);
        Err(Error::filegroup_is_not_changed(
            index,
            &table,
            rowset_id(root.object.0),
            &filegroup,
        ))
    }
}

impl Database {
    /// Whether the storage that an object has and will not have under its next definition, `None` when it is dropped, may be given back.
    /// It asks by definitions alone, so that an object whose pages cannot be read is dropped like any other.
    ///
    /// # Errors
    /// 3740 when some of it is in a filegroup that is READ_ONLY.
    pub(super) fn check_storage_may_go(
        &self,
        object: &ObjectDefinition,
        after: Option<&TableDefinition>,
    ) -> Result<()> {
        let files = &self.storage.files;
        let Some(before) = object.table().filter(|_| files.has_read_only_filegroup()) else {
            return Ok(());
        };
        let kept: HashSet<u32> = after
            .iter()
            .flat_map(|after| after.storage_roots().map(|root| root.unit))
            .collect();
        let is_read_only =
            |space: u32| u16::try_from(space).is_ok_and(|filegroup| files.is_read_only_filegroup(filegroup));
        let kind = match object {
            ObjectDefinition::Module(_) => "view",
            _ => "table",
        };
        let refused = |index: Option<&IndexDefinition>| match index.filter(|_| after.is_some()) {
            Some(index) => Error::part_is_read_only("index", &format!("{}.{}", before.name, index.name)),
            None => Error::part_is_read_only(kind, &before.name),
        };
        let clustered = before.clustered();
        let rows_go = clustered
            .map(|index| index.storage)
            .or(before.heap)
            .is_some_and(|root| !kept.contains(&root.unit));
        if rows_go && before.text_space.is_some_and(is_read_only) {
            return Err(refused(clustered));
        }
        for (index, number, root) in before.partition_roots() {
            let space = match &before.partitioning {
                Some(partitioning) => partitioning.filegroups.get(number - 1).copied().map(u32::from),
                None => Some(index.map_or(before.data_space, |index| index.data_space)),
            };
            if !kept.contains(&root.unit) && space.is_some_and(is_read_only) {
                return Err(refused(index));
            }
        }
        Ok(())
    }

    /// Whether a heap or an index may be made in a data space of its table: in all filegroups of the partitions.
    ///
    /// # Errors
    /// Those of [`Database::check_new_storage`]; 3624 for an index that is partitioned otherwise than its table.
    pub fn check_new_storage_of(&self, table: &TableDefinition, data_space: u32) -> Result<()> {
        let mut filegroups = filegroups_of(table, data_space)?.into_iter();
        filegroups.try_for_each(|filegroup| self.check_new_storage(filegroup).map(|_| ()))
    }

    /// Whether something new may be made in a filegroup.
    ///
    /// # Errors
    /// 1924 for one that is READ_ONLY; 2801 for one that was removed since its name was looked up.
    pub fn check_new_storage(&self, data_space: u32) -> Result<u16> {
        let filegroup = u16::try_from(data_space);
        let filegroup = filegroup.map_err(|_| Error::assertion("storage is made in a filegroup"))?;
        let files = &self.storage.files;
        if !files.has_filegroup(filegroup) {
            return Err(Error::definition_changed(""));
        }
        match files.is_read_only_filegroup(filegroup) {
            true => Err(Error::filegroup_is_read_only(&files.filegroup_name(filegroup))),
            false => Ok(filegroup),
        }
    }
}
