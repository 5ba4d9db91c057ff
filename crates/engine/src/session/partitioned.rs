//! A partitioned table: an ordinary table for each partition, under one definition and one lock.
//!
//! ```text
//! insert            into the partition of the row's value
//! update            in its partition; a row whose partition changes is deleted there and inserted in the other
//! locator           heap: RID, whose page says which partition it is of     clustered: partition u16 big-endian | key
//! scan              every partition in turn, all of them begun at once, so that it meets no row that its statement inserts
//! search            those partitions that the bounds allow, where the partitioning column leads the index; else every one
//! ```
//! All indexes are partitioned as the table is (aligned), so an entry and its row are in partitions of one number, and a unique key, which
//! contains the partitioning column, is unique in the table if it is in its partition. Entries have the locators of their partition's rows,
//! without its number.
//!
//! Invariant: a search over an index that the partitioning column leads returns rows in the order of the index. Over any other index they
//! are in order within each partition alone ([`TableDefinition::is_in_order`]).

use super::table::KeyRange;
use super::{Session, Table, TableScan};
use crate::catalog::{IndexDefinition, PartitionRanges, StorageRoot, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode};
use crate::page::ObjectId;
use crate::store::{ObjectRoot, PageSample, Placement, ReadMode, RowLocator, unit_of_page};
use crate::types::{KeyDirection, Value};
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};
use std::ops::Bound;

/// Bytes of the partition in a locator.
const NUMBER_BYTES: usize = 2;

/// The partitions of a table that is open.
pub(super) struct Partitions {
    tables: Vec<Table>,
    column: usize,
    ranges: PartitionRanges,
    /// By place of an index in the definition: the boundaries as beginnings of its keys, where the column leads it.
    leading: Vec<Option<PartitionRanges>>,
    /// Which partition a page of rows is of.
    by_unit: HashMap<ObjectId, usize, RandomState>,
}

impl Partitions {
    /// Opens the partitions of a table, which have these storages; `open` opens one. `None` for a table that is not partitioned.
    ///
    /// # Errors
    /// Those of `open`; 824 for a boundary that cannot be read.
    pub(super) fn open(
        definition: &TableDefinition,
        storages: &[PartitionStorage],
        open: impl Fn(&PartitionStorage) -> Result<Table>,
    ) -> Result<Option<Partitions>> {
        let Some(partitioning) = &definition.partitioning else {
            return Ok(None);
        };
        let column = definition.columns.get(partitioning.column);
        let column = column.ok_or_else(|| Error::assertion("a table is partitioned by a column that is not there"))?;
        let ranges = |direction| partitioning.ranges(column.sql_type, column.collation, direction);
        let tables = storages.iter().map(open).collect::<Result<Vec<Table>>>()?;
        let leading = definition.indexes.iter().map(|index| match index.keys.first() {
            Some((first, _)) if *first == partitioning.column => ranges(index.direction(0)).map(Some),
            _ => Ok(None),
        });
        let units = tables.iter().enumerate();
        Ok(Some(Partitions {
            column: partitioning.column,
            ranges: ranges(KeyDirection::Ascending)?,
            leading: leading.collect::<Result<_>>()?,
            by_unit: units
                .map(|(number, table)| (table.rows_root().object, number))
                .collect(),
            tables,
        }))
    }

    /// The partition that has this heap or tree.
    pub(super) fn with_rows_at(&self, root: ObjectRoot) -> Option<&Table> {
        let table = self.tables.get(*self.by_unit.get(&root.object)?)?;
        (table.rows_root() == root).then_some(table)
    }

    pub(super) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// A partition by its number, counted from 0.
    pub(super) fn table(&self, number: usize) -> Result<&Table> {
        self.tables
            .get(number)
            .ok_or_else(|| Error::assertion("a partition that is not there"))
    }

    /// The partition of a row.
    ///
    /// # Errors
    /// Those of reading a value that lies outside of its row.
    pub(super) fn number_of(&self, values: &[Value]) -> Result<usize> {
        Ok(match values.get(self.column).unwrap_or(&Value::Null) {
            held @ Value::Held(_) => self.ranges.partition_of(&held.clone().whole()?),
            value => self.ranges.partition_of(value),
        })
    }

    /// The partition of a locator, and the locator in it; `None` when it is of no partition's.
    fn split(&self, table: &Table, locator: &RowLocator) -> Result<Option<(&Table, RowLocator)>> {
        match locator {
            RowLocator::Rid(rid) => {
                let unit = unit_of_page(&table.database().storage, rid.page)?;
                let number = unit.and_then(|unit| self.by_unit.get(&unit));
                Ok(match number {
                    Some(number) => Some((self.table(*number)?, locator.clone())),
                    None => None,
                })
            }
            RowLocator::Key(bytes) => {
                let Some((number, key)) = bytes.split_first_chunk::<NUMBER_BYTES>() else {
                    return Ok(None);
                };
                let table = self.tables.get(usize::from(u16::from_be_bytes(*number)));
                Ok(table.map(|table| (table, RowLocator::Key(key.into()))))
            }
        }
    }

    pub(super) fn insert_or_meet<'t>(
        &'t self,
        session: &mut Session,
        values: &[Value],
        placement: Placement,
    ) -> Result<Option<&'t IndexDefinition>> {
        self.table(self.number_of(values)?)?
            .insert_or_meet(session, values, placement)
    }

    pub(super) fn leave(
        &self,
        table: &Table,
        session: &mut Session,
        locator: &RowLocator,
        (old, new): (&[Value], &[Value]),
    ) -> Result<bool> {
        let Some((own, locator)) = self.split(table, locator)? else {
            return Ok(false);
        };
        match self.number_of(old)? == self.number_of(new)? {
            true => own.leave_keys(session, &locator, old, new),
            false => own.delete(session, &locator, old),
        }
    }

    pub(super) fn enter(
        &self,
        table: &Table,
        session: &mut Session,
        locator: &RowLocator,
        (old, new): (&[Value], &[Value]),
    ) -> Result<()> {
        let number = self.number_of(new)?;
        if self.number_of(old)? != number {
            return self.table(number)?.insert(session, new, Placement::Anywhere);
        }
        match self.split(table, locator)? {
            Some((own, locator)) => own.enter_keys(session, &locator, old, new),
            None => Err(Error::assertion("a row that has left its keys is gone")),
        }
    }

    /// Gives some columns of a row other values; the partitioning column is not among them.
    pub(super) fn change(
        &self,
        table: &Table,
        session: &mut Session,
        locator: &RowLocator,
        (columns, values): (&[usize], &[Value]),
    ) -> Result<bool> {
        if columns.contains(&self.column) {
            return Err(Error::assertion("a row changes its partition in place"));
        }
        match self.split(table, locator)? {
            Some((own, locator)) => own.change(session, &locator, columns, values),
            None => Ok(false),
        }
    }

    pub(super) fn delete(
        &self,
        table: &Table,
        session: &mut Session,
        locator: &RowLocator,
        old: &[Value],
    ) -> Result<bool> {
        match self.split(table, locator)? {
            Some((own, locator)) => own.delete(session, &locator, old),
            None => Ok(false),
        }
    }

    /// What a partition answers about a locator; `otherwise` for one of no partition.
    pub(super) fn at<T>(
        &self,
        table: &Table,
        locator: &RowLocator,
        otherwise: T,
        ask: impl FnOnce(&Table, &RowLocator) -> Result<T>,
    ) -> Result<T> {
        match self.split(table, locator)? {
            Some((own, locator)) => ask(own, &locator),
            None => Ok(otherwise),
        }
    }

    /// The locator that a row with these values has, by its partition's.
    pub(super) fn locator_by_values(&self, values: &[Value]) -> Result<Option<RowLocator>> {
        let number = self.number_of(values)?;
        let found = self.table(number)?.locator_by_values(values)?;
        Ok(found.map(|locator| numbered(number, locator)))
    }

    /// The partitions in which keys of a range may be, in the order of the index, which is that of the definition's place.
    pub(super) fn numbers_in(&self, place: usize, range: &KeyRange, is_backward: bool) -> Vec<usize> {
        let Some(ranges) = self.leading.get(place).and_then(Option::as_ref) else {
            return (0..self.tables.len()).collect();
        };
        let of_bound = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => Some(ranges.partition_of_key(key)),
            Bound::Unbounded => None,
        };
        let last = self.tables.len().saturating_sub(1);
        let (start, end) = (of_bound(&range.0), of_bound(&range.1));
        // Keys of a descending column begin with the last partition.
        let (start, end) = match ranges.is_descending() {
            false => (start.unwrap_or(0), end.unwrap_or(last)),
            true => (end.unwrap_or(0), start.unwrap_or(last)),
        };
        let numbers = start..=end.min(last);
        match is_backward != ranges.is_descending() {
            false => numbers.collect(),
            true => numbers.rev().collect(),
        }
    }

    /// Whether a partition in which keys of a range may be answers yes.
    pub(super) fn any_in(
        &self,
        place: usize,
        range: &KeyRange,
        mut ask: impl FnMut(&Table) -> Result<bool>,
    ) -> Result<bool> {
        for number in self.numbers_in(place, range, false) {
            if ask(self.table(number)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As [`Table::scan`].
    pub(super) fn scan<'s>(&'s self, locks: &'s LockOwner, mode: ReadMode) -> Result<TableScan<'s>> {
        let is_clustered = self.table(0)?.definition().clustered().is_some();
        let numbers = match is_clustered {
            true => self.numbers_in(0, &(Bound::Unbounded, Bound::Unbounded), false),
            false => (0..self.tables.len()).collect(),
        };
        let scans = numbers.into_iter().map(|number| {
            let scan = self.table(number)?.scan(locks, mode)?;
            Ok((number, scan))
        });
        let mut scans = scans.collect::<Result<VecDeque<_>>>()?;
        let (number, current) = scans
            .pop_front()
            .ok_or_else(|| Error::assertion("a table without a partition"))?;
        Ok(TableScan::Partitions(Box::new(PartitionScan {
            number,
            current,
            begun: scans,
            search: None,
        })))
    }

    /// As [`Table::seek`].
    pub(super) fn seek<'s>(
        &'s self,
        locks: &'s LockOwner,
        mode: ReadMode,
        range: KeyRange,
        is_backward: bool,
    ) -> Result<TableScan<'s>> {
        let mut search = Search {
            partitions: self,
            locks,
            mode,
            numbers: self.numbers_in(0, &range, is_backward).into(),
            range,
            is_backward,
        };
        let (number, current) = match search.next()? {
            Some(next) => next,
            None => (0, self.table(0)?.seek(locks, mode, nothing(), is_backward)?),
        };
        Ok(TableScan::Partitions(Box::new(PartitionScan {
            number,
            current,
            begun: VecDeque::new(),
            search: Some(search),
        })))
    }
}

/// A range that no key is in.
fn nothing() -> KeyRange {
    (Bound::Excluded(Vec::new()), Bound::Excluded(Vec::new()))
}

/// A locator with the number of its partition.
pub(super) fn numbered(number: usize, locator: RowLocator) -> RowLocator {
    match locator {
        RowLocator::Rid(_) => locator,
        RowLocator::Key(key) => {
            let mut bytes = Vec::with_capacity(NUMBER_BYTES + key.len());
            // There are at most `PARTITIONS_MAX` partitions.
            bytes.extend_from_slice(&(number as u16).to_be_bytes());
            bytes.extend_from_slice(&key);
            RowLocator::Key(bytes.into())
        }
    }
}

/// The storage of one partition.
pub(super) struct PartitionStorage {
    /// The heap; `None` beside a clustered index.
    pub(super) heap: Option<StorageRoot>,
    /// The tree of every index, in the order of the definition.
    pub(super) trees: Vec<StorageRoot>,
}

impl PartitionStorage {
    /// The unit of the rows.
    pub(super) fn rows_unit(&self) -> u32 {
        let root = self.heap.or(self.trees.first().copied());
        root.map_or(0, |root| root.unit)
    }
}

/// The storage of a table's partitions; one for a table that is not partitioned.
///
/// # Errors
/// 3624 when the definition contradicts itself.
pub(super) fn storages_of(definition: &TableDefinition) -> Result<Vec<PartitionStorage>> {
    if !definition.has_all_partitions() {
        return Err(Error::assertion(
            "a table has other partitions than its definition says",
        ));
    }
    let count = definition.partition_count();
    let lost = || Error::assertion("a partition without storage");
    let storage = |number: usize| {
        let heap = match (definition.heap, number.checked_sub(1)) {
            (None, _) => None,
            (Some(first), None) => Some(first),
            (Some(_), Some(other)) => Some(*definition.other_partitions.get(other).ok_or_else(lost)?),
        };
        let trees = definition.indexes.iter().map(|index| match number.checked_sub(1) {
            None => Ok(index.storage),
            Some(other) => index.other_partitions.get(other).copied().ok_or_else(lost),
        });
        Ok(PartitionStorage {
            heap,
            trees: trees.collect::<Result<_>>()?,
        })
    };
    (0..count).map(storage).collect()
}

/// A search through partitions, which are opened when it comes to them.
struct Search<'s> {
    partitions: &'s Partitions,
    locks: &'s LockOwner,
    mode: ReadMode,
    range: KeyRange,
    is_backward: bool,
    numbers: VecDeque<usize>,
}

impl<'s> Search<'s> {
    fn next(&mut self) -> Result<Option<(usize, TableScan<'s>)>> {
        let Some(number) = self.numbers.pop_front() else {
            return Ok(None);
        };
        let table = self.partitions.table(number)?;
        let scan = table.seek(self.locks, self.mode, self.range.clone(), self.is_backward)?;
        Ok(Some((number, scan)))
    }
}

/// A scan or a search through partitions.
pub struct PartitionScan<'s> {
    number: usize,
    current: TableScan<'s>,
    /// Scans that have begun.
    begun: VecDeque<(usize, TableScan<'s>)>,
    search: Option<Search<'s>>,
}

impl PartitionScan<'_> {
    pub(super) fn leave_out_bytes(&mut self) {
        self.current.leave_out_bytes();
        self.begun.iter_mut().for_each(|(_, scan)| scan.leave_out_bytes());
    }

    pub(super) fn keep_to_sample(&mut self, sample: PageSample) {
        self.current.keep_to_sample(sample);
        self.begun.iter_mut().for_each(|(_, scan)| scan.keep_to_sample(sample));
    }

    pub(super) fn lock_rows(&mut self, mode: Mode) {
        self.current.lock_rows(mode);
        self.begun.iter_mut().for_each(|(_, scan)| scan.lock_rows(mode));
        if let Some(search) = &mut self.search {
            search.mode = ReadMode::Locked(mode);
        }
    }

    pub(super) fn next_batch(&mut self) -> Result<bool> {
        loop {
            if self.current.next_batch()? {
                return Ok(true);
            }
            let next = match (self.begun.pop_front(), &mut self.search) {
                (Some(next), _) => Some(next),
                (None, Some(search)) => search.next()?,
                (None, None) => None,
            };
            match next {
                Some((number, scan)) => (self.number, self.current) = (number, scan),
                None => return Ok(false),
            }
        }
    }

    /// Begins a search again with another range.
    pub(super) fn restart(&mut self, range: KeyRange) -> Result<()> {
        let Some(search) = &mut self.search else { return Ok(()) };
        search.numbers = search.partitions.numbers_in(0, &range, search.is_backward).into();
        search.range = range;
        match search.next()? {
            Some((number, scan)) => (self.number, self.current) = (number, scan),
            None => self.current.restart(nothing())?,
        }
        Ok(())
    }

    pub(super) fn current(&self) -> &TableScan<'_> {
        &self.current
    }

    pub(super) fn locator(&self, index: usize) -> Option<RowLocator> {
        self.current
            .locator(index)
            .map(|locator| numbered(self.number, locator))
    }
}
