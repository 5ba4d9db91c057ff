//! Which parts of a table may be changed: those in a filegroup that is READ_ONLY may not.
//!
//! Every change of a row asks before its first page, and every change of an entry of an index. So an UPDATE that touches no index of such a
//! filegroup goes on, as in SQL Server.

use super::Table;
use crate::catalog::IndexDefinition;
use crate::error::{Error, Result};
use crate::store::{ObjectRoot, Tree};

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
        Ok(())
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
        let filegroup = files.filegroup_of(root.first_iam.file);
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
