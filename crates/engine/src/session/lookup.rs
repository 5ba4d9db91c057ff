//! Checks whether a table has a key, to validate rows of another table (foreign keys). These checks are READ COMMITTED, whatever the
//! session's level: they wait for rows that another session has changed or deleted, because that may be rolled back. And rows by locators that
//! clients have named, in text pointers.

use super::table::Rows;
use super::{KeyRange, Table, TableScan};
use crate::error::{Error, Result};
use crate::lock::LockOwner;
use crate::store::{ReadMode, RowLocator, Tree, TreeBatch};
use std::ops::Bound;

impl Table {
    /// As [`Table::fetch`], by a locator that a client has named: false also where it is none of this table's.
    pub fn fetch_named(
        &self,
        locks: &LockOwner,
        mode: ReadMode,
        locator: &RowLocator,
        row: &mut Vec<u8>,
    ) -> Result<bool> {
        let (Some(heap), RowLocator::Rid(rid)) = (self.heap(), locator) else {
            return self.fetch(locks, mode, locator, row);
        };
        if let Some(partitions) = self.partitions() {
            return partitions.at(self, locator, false, |own, locator| {
                own.fetch_named(locks, mode, locator, row)
            });
        }
        let _pin = heap.pin();
        Ok(heap.has_row_page(&self.database().storage, *rid)? && self.fetch(locks, mode, locator, row)?)
    }

    /// Whether the unique index at a place of the definition has a key, given whole.
    ///
    /// # Errors
    /// Those of waiting for a lock; 823 and 824 when a page cannot be read.
    pub fn holds_key(&self, place: usize, locks: &LockOwner, key: &[u8]) -> Result<bool> {
        if let Some(partitions) = self.partitions() {
            let range = (Bound::Included(key.to_vec()), Bound::Included(key.to_vec()));
            return partitions.any_in(place, &range, |table| table.holds_key(place, locks, key));
        }
        self.declare_reader(locks, ReadMode::Committed)?;
        let storage = &self.database().storage;
        let mode = self.effective_mode(locks, ReadMode::Committed);
        let found = self.tree_at(place)?.fetch(storage, locks, mode, key, &mut Vec::new())?;
        storage.log.check_intact().map(|()| found)
    }

    /// Whether the index at a place of the definition has a key in a range.
    ///
    /// # Errors
    /// As for [`Table::holds_key`].
    pub fn holds_key_in(&self, place: usize, locks: &LockOwner, range: KeyRange) -> Result<bool> {
        if let Some(partitions) = self.partitions() {
            return partitions.any_in(place, &range, |table| table.holds_key_in(place, locks, range.clone()));
        }
        self.declare_reader(locks, ReadMode::Committed)?;
        let storage = &self.database().storage;
        let mode = self.effective_mode(locks, ReadMode::Committed);
        let mut scan = self.tree_at(place)?.scan(storage, locks, mode, range, false);
        let mut batch = TreeBatch::new();
        let mut is_found = false;
        while !is_found && scan.next_page(&mut batch)? {
            is_found = !batch.is_empty();
        }
        storage.log.check_intact().map(|()| is_found)
    }

    /// Calls `visit` with the locators of the rows whose keys lie in a range of the index at a place of the definition. Without locks that
    /// stay: rows may be others when they are read.
    ///
    /// # Errors
    /// As for [`Table::holds_key`]; those of `visit`.
    pub fn locators_in(
        &self,
        place: usize,
        locks: &LockOwner,
        range: KeyRange,
        visit: &mut dyn FnMut(RowLocator) -> Result<()>,
    ) -> Result<()> {
        let is_clustered = self
            .definition()
            .indexes
            .get(place)
            .is_some_and(|index| index.index_id == 1);
        if !is_clustered {
            let mut scan = self.scan_index(place, locks, ReadMode::Committed, range, false)?;
            while scan.next_batch()? {
                (0..scan.len()).try_for_each(|entry| visit(scan.locator(entry)?))?;
            }
            return Ok(());
        }
        self.declare_reader(locks, ReadMode::Committed)?;
        let mode = self.effective_mode(locks, ReadMode::Committed);
        let mut scan = self.seek(locks, mode, range, false)?;
        while scan.next_batch()? {
            (0..scan.len())
                .filter_map(|row| scan.locator(row))
                .try_for_each(&mut *visit)?;
        }
        Ok(())
    }

    /// A scan of all rows.
    ///
    /// # Errors
    /// As for [`Table::holds_key`].
    pub fn scan_committed<'s>(&'s self, locks: &'s LockOwner) -> Result<TableScan<'s>> {
        self.declare_reader(locks, ReadMode::Committed)?;
        self.scan(locks, self.effective_mode(locks, ReadMode::Committed))
    }

    /// The tree of the index at a place of the definition.
    fn tree_at(&self, place: usize) -> Result<&Tree> {
        let is_clustered = self
            .definition()
            .indexes
            .get(place)
            .is_some_and(|index| index.index_id == 1);
        match self.rows() {
            Rows::Tree(tree) if is_clustered => Ok(tree),
            _ => self
                .nonclustered(place)
                .ok_or_else(|| Error::assertion("a search in an index that is not there")),
        }
    }
}
