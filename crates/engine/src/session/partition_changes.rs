//! Changes of partitioned tables: SPLIT, MERGE, SWITCH, TRUNCATE of partitions.
//!
//! ```text
//! SPLIT     the partition that the new boundary makes gets storage; the rows that belong there move to it
//! MERGE     the rows of the partition that goes move to its neighbour; its storage is freed after the commit
//! SWITCH    two tables exchange the storage of a partition: no page changes
//! TRUNCATE  partitions get new, empty storage
//! REBUILD   a partition gets new storage, where its rows, or the entries of one index, are written again
//! ```
//! Each is a change of definitions in the session's transaction, under Sch-M on every table: after a rollback, or a crash, the former
//! definitions name the former storage. Rows that move are logged one by one, as in SQL Server.

use super::definition::{new_heap, new_roots, new_tree};
use super::partitioned::{PartitionStorage, storages_of};
use super::{Session, Table};
use crate::catalog::{CatalogObject, ObjectDefinition, Partitioning, StorageRoot, TableDefinition};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::page::ObjectId;
use crate::store::{Claim, Placement, ReadMode};
use crate::types::Value;
use std::sync::Arc;

/// Puts the roots of a partition of one heap or tree into a list of all of them.
fn spread(
    first: &mut StorageRoot,
    others: &mut Vec<StorageRoot>,
    change: impl FnOnce(&mut Vec<StorageRoot>),
) -> Result<()> {
    let mut all = vec![*first];
    all.append(others);
    change(&mut all);
    let lost = || Error::assertion("a table without a partition");
    *others = all.split_off(1.min(all.len()));
    *first = all.pop().ok_or_else(lost)?;
    Ok(())
}

impl TableDefinition {
    /// Changes the lists of the roots of all partitions; `change` gets each list with the place of its index, `None` for the heap.
    fn change_roots(&mut self, mut change: impl FnMut(Option<usize>, &mut Vec<StorageRoot>)) -> Result<()> {
        if let Some(heap) = &mut self.heap {
            spread(heap, &mut self.other_partitions, |all| change(None, all))?;
        }
        for (place, index) in self.indexes.iter_mut().enumerate() {
            spread(&mut index.storage, &mut index.other_partitions, |all| {
                change(Some(place), all)
            })?;
        }
        Ok(())
    }

    /// Takes one partition's storage out, or puts another in its place.
    fn exchange(&mut self, number: usize, with: &PartitionStorage) -> Result<PartitionStorage> {
        let mut taken = PartitionStorage {
            heap: None,
            trees: Vec::new(),
        };
        self.change_roots(|place, all| {
            let Some(root) = all.get_mut(number) else { return };
            match place {
                None => taken.heap = with.heap.map(|new| std::mem::replace(root, new)),
                Some(place) => {
                    if let Some(new) = with.trees.get(place) {
                        taken.trees.push(std::mem::replace(root, *new));
                    }
                }
            }
        })?;
        let is_whole = taken.heap.is_some() == self.heap.is_some() && taken.trees.len() == self.indexes.len();
        match is_whole {
            true => Ok(taken),
            false => Err(Error::assertion("a partition without storage")),
        }
    }

    fn storage_of(&self, number: usize) -> Result<PartitionStorage> {
        let storage = storages_of(self)?.into_iter().nth(number);
        storage.ok_or_else(|| Error::assertion("a partition without storage"))
    }
}

/// Whether a table is partitioned as its function and scheme say: a change of them would give the rows of another to the wrong partition.
fn check_former(table: &TableDefinition, former: &Partitioning) -> Result<()> {
    match table.partitioning.as_ref() == Some(former) && table.has_all_partitions() {
        true => Ok(()),
        false => Err(Error::assertion(
            "a table is partitioned otherwise than its function says",
        )),
    }
}

fn table_of(object: &CatalogObject) -> Result<&TableDefinition> {
    let table = object.definition.table();
    table.ok_or_else(|| Error::assertion("only tables have partitions"))
}

/// What of a partition is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuiltPart {
    /// The rows, and the entries of every index.
    Rows,
    /// The entries of the index at this place, which is not the clustered one.
    Index(usize),
}

impl Session {
    /// New storage for one partition.
    fn new_partition(
        &mut self,
        database: &Arc<Database>,
        table: &TableDefinition,
        filegroup: u16,
    ) -> Result<PartitionStorage> {
        let owner = database.clone();
        let filegroup = [u32::from(filegroup)];
        let name = format!("{}.{}", table.schema, table.name);
        self.write(database, |ctx| {
            let of_heap = (name.as_str(), filegroup.as_slice());
            let heap = match table.heap {
                Some(_) => new_roots(&owner, of_heap, Claim::Rows, |room| new_heap(ctx, &owner, room))?.pop(),
                None => None,
            };
            let mut trees = Vec::with_capacity(table.indexes.len());
            for index in &table.indexes {
                let name = format!("{name}'.'{}", index.name);
                let of_index = (name.as_str(), filegroup.as_slice());
                trees.extend(new_roots(&owner, of_index, Claim::Rows, |room| {
                    new_tree(ctx, &owner, room)
                })?);
            }
            Ok(PartitionStorage { heap, trees })
        })
    }

    /// Empties partitions of a table, counted from 0, at once.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`] and of space.
    pub fn truncate_partitions(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        numbers: &[usize],
    ) -> Result<Arc<CatalogObject>> {
        self.lock_definition(database, object)?;
        let mut table = table_of(object)?.clone();
        let filegroups = table
            .partitioning
            .as_ref()
            .map(|partitioning| partitioning.filegroups.clone());
        let filegroups = filegroups.ok_or_else(|| Error::assertion("a table without partitions"))?;
        let opened = Table::open(database, object)?;
        opened.check_filegroups()?;
        for &number in numbers {
            let filegroup = filegroups.get(number).copied();
            let filegroup = filegroup.ok_or_else(|| Error::assertion("a partition that is not there"))?;
            let new = self.new_partition(database, &table, filegroup)?;
            table.exchange(number, &new)?;
        }
        database
            .modifications(&table)
            .note_rows(opened.row_count().unwrap_or(1));
        self.replace_object(database, object, ObjectDefinition::Table(table))
    }

    /// Writes a partition, counted from 0, into new storage: its rows with the entries of all indexes, or the entries of one index.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`], of space and of writing rows.
    pub fn rebuild_partition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        number: usize,
        part: RebuiltPart,
    ) -> Result<Arc<CatalogObject>> {
        self.lock_definition(database, object)?;
        let mut table = table_of(object)?.clone();
        let filegroups = table.partitioning.as_ref().map(|partitioning| &partitioning.filegroups);
        let filegroup = filegroups.and_then(|filegroups| filegroups.get(number).copied());
        let filegroup = filegroup.ok_or_else(|| Error::assertion("a partition that is not there"))?;
        let before = Table::open(database, object)?;
        before.check_filegroups()?;
        let place = match part {
            RebuiltPart::Rows => {
                let new = self.new_partition(database, &table, filegroup)?;
                table.exchange(number, &new)?;
                None
            }
            RebuiltPart::Index(place) => {
                let mut alone = table.clone();
                alone.heap = None;
                alone.indexes = table.indexes.get(place).cloned().into_iter().collect();
                let new = self.new_partition(database, &alone, filegroup)?;
                let tree = new.trees.first().copied();
                let tree = tree.ok_or_else(|| Error::assertion("an index that is not there"))?;
                table.change_roots(|of, all| {
                    if let Some(root) = all.get_mut(number).filter(|_| of == Some(place)) {
                        *root = tree;
                    }
                })?;
                Some(place)
            }
        };
        let changed = self.replace_object(database, object, object.definition.with_table(table))?;
        let opened = Table::open(database, &changed)?;
        match place {
            None => self.move_rows(&opened, before.partition(number)?, |_| Ok(true), false)?,
            Some(place) => opened.partition(number)?.build_index(self, place)?,
        }
        Ok(changed)
    }

    /// Exchanges the storage of a partition of one table with that of a partition of another; 0 for a table that is not partitioned. The
    /// caller has made sure that rows of each may be in the other.
    ///
    /// # Errors
    /// Those of [`Session::lock_definition`].
    pub fn switch_partitions(
        &mut self,
        database: &Arc<Database>,
        (source, source_number): (&Arc<CatalogObject>, usize),
        (target, target_number): (&Arc<CatalogObject>, usize),
    ) -> Result<()> {
        self.lock_definition(database, source)?;
        self.lock_definition(database, target)?;
        let (mut from, mut to) = (table_of(source)?.clone(), table_of(target)?.clone());
        // The indexes of one table stand in another order than those of the other.
        let places = matching_indexes(&from, &to);
        let places = places.map_err(|_| Error::assertion("an index without its like"))?;
        if places.len() != from.indexes.len() {
            return Err(Error::assertion("an index without its like"));
        }
        let given = from.storage_of(source_number)?;
        let lost = || Error::assertion("an index without its like");
        let trees = places
            .iter()
            .map(|place| given.trees.get(*place).copied().ok_or_else(lost));
        let given = PartitionStorage {
            heap: given.heap,
            trees: trees.collect::<Result<_>>()?,
        };
        let taken = to.exchange(target_number, &given)?;
        let mut back = PartitionStorage {
            heap: taken.heap,
            trees: from.storage_of(source_number)?.trees,
        };
        for (tree, place) in taken.trees.iter().zip(&places) {
            if let Some(slot) = back.trees.get_mut(*place) {
                *slot = *tree;
            }
        }
        from.exchange(source_number, &back)?;
        for table in [&from, &to] {
            let rows = database.storage.row_counts.get(ObjectId(given.rows_unit()));
            database.modifications(table).note_rows(rows.unwrap_or(1));
        }
        self.replace_object(database, source, ObjectDefinition::Table(from))?;
        self.replace_object(database, target, ObjectDefinition::Table(to))
            .map(drop)
    }

    /// Gives a table, which is partitioned as `before` says, the partitions that its function has after SPLIT: the partition at `number` is new,
    /// and rows of `former`, as its number is now, that belong to it move there.
    ///
    /// # Errors
    /// 3624 for a table that is partitioned otherwise; those of [`Session::lock_definition`], of space and of moving rows.
    pub fn split_partition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        (before, partitioning): (&Partitioning, Partitioning),
        (number, former): (usize, usize),
    ) -> Result<()> {
        self.lock_definition(database, object)?;
        let mut table = table_of(object)?.clone();
        check_former(&table, before)?;
        let filegroup = partitioning.filegroups.get(number).copied();
        let filegroup = filegroup.ok_or_else(|| Error::assertion("a partition without a filegroup"))?;
        let new = self.new_partition(database, &table, filegroup)?;
        table.change_roots(|place, all| {
            let root = match place {
                None => new.heap,
                Some(place) => new.trees.get(place).copied(),
            };
            if let Some(root) = root {
                all.insert(number.min(all.len()), root);
            }
        })?;
        table.partitioning = Some(partitioning);
        let changed = self.replace_object(database, object, ObjectDefinition::Table(table))?;
        let opened = Table::open(database, &changed)?;
        let source = opened.partition(former)?;
        self.move_rows(&opened, source, |values| Ok(opened.number_of(values)? == number), true)
    }

    /// Gives a table, which is partitioned as `former` says, the partitions that its function has after MERGE: the partition at `number`
    /// goes, and its rows move to where they belong then.
    ///
    /// # Errors
    /// As for [`Session::split_partition`].
    pub fn merge_partition(
        &mut self,
        database: &Arc<Database>,
        object: &Arc<CatalogObject>,
        (former, partitioning): (&Partitioning, Partitioning),
        number: usize,
    ) -> Result<()> {
        self.lock_definition(database, object)?;
        check_former(table_of(object)?, former)?;
        let before = Table::open(database, object)?;
        let mut table = table_of(object)?.clone();
        table.change_roots(|_, all| {
            if number < all.len() {
                all.remove(number);
            }
        })?;
        table.partitioning = Some(partitioning);
        let changed = self.replace_object(database, object, ObjectDefinition::Table(table))?;
        let opened = Table::open(database, &changed)?;
        self.move_rows(&opened, before.partition(number)?, |_| Ok(true), false)
    }

    /// Inserts rows of a partition into the table that it is of, or was; where it stays, they are deleted there first.
    fn move_rows(
        &mut self,
        table: &Table,
        source: &Table,
        is_moved: impl Fn(&[Value]) -> Result<bool>,
        stays: bool,
    ) -> Result<()> {
        let locks = self.locks().clone();
        let mut scan = source.scan(&locks, ReadMode::Uncommitted)?;
        let mut values = Vec::new();
        while scan.next_batch()? {
            self.check_cancelled()?;
            for row in 0..scan.len() {
                let stored = scan.row(row).unwrap_or_default();
                source.layout().decode_into(stored, &mut values)?;
                if !is_moved(&values)? {
                    continue;
                }
                if stays {
                    let locator = scan.locator(row);
                    let locator = locator.ok_or_else(|| Error::assertion("a row without a place"))?;
                    source.delete(self, &locator, &values)?;
                }
                table.insert(self, &values, Placement::AtEnd)?;
            }
        }
        Ok(())
    }
}

/// For each index of `to` the place of its like in `from`: clustered or not, with the same keys and what else its entries have. Each is the
/// like of one alone, so that no two indexes get one tree.
///
/// # Errors
/// The place in `to` of the first index that is left without one.
pub fn matching_indexes(from: &TableDefinition, to: &TableDefinition) -> std::result::Result<Vec<usize>, usize> {
    let mut is_taken = vec![false; from.indexes.len()];
    let places = to.indexes.iter().enumerate().map(|(own, index)| {
        let mut others = from.indexes.iter().zip(&is_taken);
        let place = others.position(|(other, is_taken)| !is_taken && index.is_like(other));
        let place = place.ok_or(own)?;
        is_taken[place] = true;
        Ok(place)
    });
    places.collect()
}
