//! Reading a nonclustered index: its entries as a stream, in the order of their keys or backward, a leaf at a time.
//!
//! ```text
//! entry    key      parts of the key columns | locator, unless the index is unique
//!          payload  locator                                                         an index that carries nothing
//!                   u16 bytes of the locator | locator | carried columns as a row   one that carries columns
//! locator  heap: RID      clustered tree: the row's key there = parts of its key columns | uniquifier, unless it is unique
//! ```
//! If an entry's parts hold all requested columns, the row is not read ([`EntryColumns`]). Strings cannot be read back from keys, which
//! hold weights, so an index with INCLUDE also carries the strings of its key.
//!
//! *Uncommitted entries*: the scan waits for an entry that another session has inserted or deleted but not committed, as it would for a
//! row, unless it reads uncommitted data. A deleted key may come back by a rollback. A scan that locks rows locks the rows it finds, not
//! their entries; a scan that locks ranges locks the ranges of entries, and the rows that it reads through them.
//!
//! *Between reading an entry and its row*, another session may change the row's key and commit. [`RowReader::read`] then compares the row's
//! key with the entry's: if the new key is still ahead, its own entry will be reached, so the row is skipped here; if it is behind, the row
//! is returned. Invariant: a row is returned exactly once if no change of its index key commits during the scan. Otherwise it may be
//! returned twice or not at all, as under READ COMMITTED in SQL Server.

use super::large::place_of;
use super::partitioned::{Partitions, numbered};
use super::table::{KeyRange, Rows, Table};
use crate::catalog::{IndexDefinition, TableDefinition};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode};
use crate::store::{ReadMode, Rid, RowLocator, TreeBatch, TreeScan};
use crate::types::{KeyDirection, RowLayout, SqlType, Value, decode_key_part, is_read_back};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Bytes before the locator in the payload of an entry that carries columns.
const LOCATOR_LENGTH_BYTES: usize = 2;

/// A scan of a range of entries.
pub struct IndexScan<'s> {
    /// The table, or the partition that is scanned now.
    table: &'s Table,
    index: &'s IndexDefinition,
    scan: TreeScan<'s>,
    batch: TreeBatch,
    is_backward: bool,
    /// Of a partitioned table.
    walk: Option<Box<PartitionWalk<'s>>>,
}

/// The partitions that a scan of an index has still to come to.
struct PartitionWalk<'s> {
    partitions: &'s Partitions,
    /// The number of the one that is scanned now.
    number: usize,
    left: VecDeque<usize>,
    place: usize,
    locks: &'s LockOwner,
    mode: ReadMode,
    range: KeyRange,
}

/// An entry that was read.
#[derive(Clone, Copy)]
pub struct IndexEntry<'e> {
    key: &'e [u8],
    locator: &'e [u8],
    /// The carried columns as a row; empty where none are.
    carried: &'e [u8],
}

impl IndexEntry<'_> {
    /// The encoded key: what tells the entry from all others, in the order of the index.
    pub fn key(&self) -> &[u8] {
        self.key
    }
}

impl Table {
    /// Scans the entries that a nonclustered index (by its place in the definition) has in a range of keys, for a reader of this mode.
    ///
    /// # Errors
    /// 3624 when there is no such index; those of waiting for the table's lock.
    pub fn scan_index<'s>(
        &'s self,
        place: usize,
        locks: &'s LockOwner,
        mode: ReadMode,
        range: KeyRange,
        is_backward: bool,
    ) -> Result<IndexScan<'s>> {
        if let Some(partitions) = self.partitions() {
            let mut left: VecDeque<usize> = partitions.numbers_in(place, &range, is_backward).into();
            // A range of no key leads to no partition; then the first one has none of it either.
            let number = left.pop_front().unwrap_or(0);
            let first = partitions.table(number)?;
            let scan = first.scan_index(place, locks, mode, range.clone(), is_backward)?;
            let walk = PartitionWalk {
                partitions,
                number,
                left,
                place,
                locks,
                mode,
                range,
            };
            return Ok(IndexScan {
                walk: Some(Box::new(walk)),
                ..scan
            });
        }
        let (Some(tree), Some(index)) = (self.nonclustered(place), self.definition().indexes.get(place)) else {
            return Err(Error::assertion("a seek in an index that is not there"));
        };
        let mode = match mode {
            ReadMode::Locked(_) => ReadMode::Committed,
            ReadMode::LockedPast(_) => ReadMode::CommittedPast,
            ReadMode::LockedAt(_, snapshot) => ReadMode::Versioned(snapshot),
            other => other,
        };
        self.declare_reader(locks, mode)?;
        let mode = self.effective_mode(locks, mode);
        Ok(IndexScan {
            table: self,
            index,
            scan: tree.scan(&self.database().storage, locks, mode, range, is_backward),
            batch: TreeBatch::new(),
            is_backward,
            walk: None,
        })
    }

    /// A reader of single rows by their locators.
    ///
    /// # Errors
    /// Those of waiting for the table's lock.
    pub fn row_reader<'s>(&'s self, locks: &'s LockOwner, mode: ReadMode) -> Result<RowReader<'s>> {
        self.declare_reader(locks, mode)?;
        Ok(RowReader {
            table: self,
            locks,
            mode: self.effective_mode(locks, mode),
            key: Vec::new(),
        })
    }

    /// What an entry of an index holds beside its key, for a row with this locator.
    pub(super) fn entry_payload(
        &self,
        index: &IndexDefinition,
        values: &[Value],
        locator: &[u8],
        carried: Option<&RowLayout>,
        places: &[(usize, Vec<u8>)],
    ) -> Result<Vec<u8>> {
        let Some(layout) = carried else {
            return Ok(locator.to_vec());
        };
        let row = encode_carried(layout, index, values, places)?;
        let mut payload = Vec::with_capacity(LOCATOR_LENGTH_BYTES + locator.len() + row.len());
        // A locator is a key, which is shorter than a page.
        payload.extend_from_slice(&(locator.len() as u16).to_le_bytes());
        payload.extend_from_slice(locator);
        payload.extend_from_slice(&row);
        Ok(payload)
    }

    pub(super) fn decode_locator(&self, bytes: &[u8]) -> Result<RowLocator> {
        match self.rows() {
            Rows::Tree(_) => Ok(RowLocator::Key(bytes.into())),
            Rows::Heap(_) => Rid::from_bytes(bytes).map(RowLocator::Rid).ok_or_else(no_locator),
        }
    }
}

/// The layout of what the entries of an index carry; `None` when they carry nothing.
pub(super) fn carried_layout(definition: &TableDefinition, index: &IndexDefinition) -> Option<RowLayout> {
    let columns = index
        .carried
        .iter()
        .filter_map(|&column| definition.columns.get(column));
    let (types, collations): (Vec<SqlType>, Vec<_>) = columns.map(|column| (column.sql_type, column.collation)).unzip();
    (!types.is_empty()).then(|| RowLayout::new(&types).with_collations(collations))
}

/// The columns of a row that an entry carries, as a row of their own; of those that lie outside of the row it has the places.
pub(super) fn encode_carried(
    layout: &RowLayout,
    index: &IndexDefinition,
    values: &[Value],
    places: &[(usize, Vec<u8>)],
) -> Result<Vec<u8>> {
    let carried = index.carried.iter().map(|&column| values.get(column).cloned());
    let carried: Vec<Value> = carried.map(|value| value.unwrap_or(Value::Null)).collect();
    let mut row = Vec::new();
    let outside = |position: usize| place_of(places, *index.carried.get(position)?);
    layout.push_with(&carried, outside, &mut row).map(|()| row)
}

fn no_locator() -> Error {
    Error::assertion("an index entry without a row")
}

impl<'s> IndexScan<'s> {
    /// Starts over with another range. Answers the former bounds, whose memory may serve again.
    ///
    /// # Errors
    /// Those of [`Table::scan_index`].
    pub fn restart(&mut self, range: KeyRange) -> Result<KeyRange> {
        let Some(walk) = &mut self.walk else {
            return Ok(self.scan.restart(range));
        };
        walk.left = walk.partitions.numbers_in(walk.place, &range, self.is_backward).into();
        let former = std::mem::replace(&mut walk.range, range);
        if walk.left.is_empty() {
            walk.left.push_back(walk.number);
        }
        self.go_on()?;
        Ok(former)
    }

    /// Comes to the next partition. False when there is none.
    fn go_on(&mut self) -> Result<bool> {
        let Some(walk) = &mut self.walk else { return Ok(false) };
        let Some(number) = walk.left.pop_front() else {
            return Ok(false);
        };
        let table = walk.partitions.table(number)?;
        let scan = table.scan_index(walk.place, walk.locks, walk.mode, walk.range.clone(), self.is_backward)?;
        walk.number = number;
        (self.table, self.scan) = (table, scan.scan);
        Ok(true)
    }

    /// Reads the next leaf's entries. False at the end; a leaf may have none.
    ///
    /// # Errors
    /// 9001 when the database's log has failed, even if it did so meanwhile; 823, 824; those of waiting for a lock.
    pub fn next_batch(&mut self) -> Result<bool> {
        loop {
            let found = self.scan.next_page(&mut self.batch)?;
            self.scan.storage().log.check_intact()?;
            if found || !self.go_on()? {
                return Ok(found);
            }
        }
    }

    /// Entries of the leaf read last.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// True when that leaf had none.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// An entry of the leaf read last.
    ///
    /// # Errors
    /// 3624 past the last, or when the entry contradicts itself.
    pub fn entry(&self, place: usize) -> Result<IndexEntry<'_>> {
        let (key, payload) = self.batch.get(place).ok_or_else(no_locator)?;
        if self.index.carried.is_empty() {
            return Ok(IndexEntry {
                key,
                locator: payload,
                carried: &[],
            });
        }
        let (length, rest) = payload
            .split_first_chunk::<LOCATOR_LENGTH_BYTES>()
            .ok_or_else(no_locator)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (locator, carried) = rest.split_at_checked(length).ok_or_else(no_locator)?;
        Ok(IndexEntry { key, locator, carried })
    }

    /// Where an entry's row is.
    ///
    /// # Errors
    /// As for [`IndexScan::entry`].
    pub fn locator(&self, place: usize) -> Result<RowLocator> {
        let locator = self.table.decode_locator(self.entry(place)?.locator)?;
        Ok(match &self.walk {
            Some(walk) => numbered(walk.number, locator),
            None => locator,
        })
    }

    /// Whether a row whose key compares so with that of the entry it was found by will be met again, at an entry still to come.
    pub fn is_still_to_come(&self, key_of_row: Ordering) -> bool {
        match self.is_backward {
            false => key_of_row == Ordering::Greater,
            true => key_of_row == Ordering::Less,
        }
    }

    /// Reads the row of an entry into `row`: how the row's key in the index compares with the entry's, `None` when the row is not
    /// there any more.
    ///
    /// # Errors
    /// 9001, 823, 824; those of waiting for a lock.
    pub fn read_row(&self, place: usize, reader: &mut RowReader<'_>, row: &mut Vec<u8>) -> Result<Option<Ordering>> {
        let entry = self.entry(place)?;
        row.clear();
        // An entry names a row of its partition.
        let found = self
            .table
            .fetch_by_entry(reader.locks, reader.mode, entry.locator, row)?;
        match found {
            true => reader.compare_key(self.index, row, entry.key).map(Some),
            false => Ok(None),
        }
    }
}

/// Reads rows by their locators.
pub struct RowReader<'s> {
    table: &'s Table,
    locks: &'s LockOwner,
    mode: ReadMode,
    /// Scratch: the key of a row.
    key: Vec<u8>,
}

impl RowReader<'_> {
    /// Reads a row's bytes. False when it is not there.
    ///
    /// # Errors
    /// 9001, 823, 824; those of waiting for a lock.
    pub fn read(&self, locator: &RowLocator, row: &mut Vec<u8>) -> Result<bool> {
        row.clear();
        self.table.fetch_declared(self.locks, self.mode, locator, row)
    }

    /// Whether a lock of the whole table is as good as a row's own in this mode.
    pub fn holds_table(&self, mode: Mode) -> bool {
        let (database, table) = (self.table.database().id, self.table.definition().object_id);
        self.locks.covers_table(database, table, mode)
    }

    /// How the key that a row has in an index compares with that of an entry.
    fn compare_key(&mut self, index: &IndexDefinition, row: &[u8], entry: &[u8]) -> Result<Ordering> {
        self.key.clear();
        for (position, &(column, _)) in index.keys.iter().enumerate() {
            let direction = index.direction(position);
            self.table
                .layout()
                .push_key_part(row, column, direction, &mut self.key)?;
        }
        // No part is the beginning of another, so what lies behind the parts in the entry does not count.
        let parts = entry.get(..self.key.len()).unwrap_or(entry);
        Ok(self.key.as_slice().cmp(parts))
    }
}

/// Where an entry has the value of a column.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The part of its key at this position.
    Key(usize),
    /// The part of its locator at this position.
    Locator(usize),
    /// The column of what it carries.
    Carried(usize),
}

/// How columns are read from the entries of an index alone.
#[derive(Debug)]
pub struct EntryColumns {
    /// Parts of the key to go through, with type and direction, and the number of the column asked for if it is one.
    key: Vec<(SqlType, KeyDirection, Option<usize>)>,
    /// The same of the locator.
    locator: Vec<(SqlType, KeyDirection, Option<usize>)>,
    carried: Vec<(usize, usize)>,
    layout: Option<RowLayout>,
}

impl EntryColumns {
    /// A reader of some columns, by their number in the table; `None` when the entries of the index do not have them all.
    pub fn new(definition: &TableDefinition, index: &IndexDefinition, columns: &[usize]) -> Option<EntryColumns> {
        let mut found = EntryColumns {
            key: Vec::new(),
            locator: Vec::new(),
            carried: Vec::new(),
            layout: carried_layout(definition, index),
        };
        for &column in columns {
            match source_of(definition, index, column)? {
                Source::Key(position) => ask(&mut found.key, definition, index, position, column),
                Source::Locator(position) => {
                    ask(
                        &mut found.locator,
                        definition,
                        definition.clustered()?,
                        position,
                        column,
                    );
                }
                Source::Carried(position) => found.carried.push((position, column)),
            }
        }
        Some(found)
    }

    /// The same reader, for the entries of a table: columns that its rows have outside of them are read.
    #[must_use]
    pub fn of_table(mut self, table: &Table) -> EntryColumns {
        self.layout = self.layout.map(|layout| layout.reading_as(table.layout()));
        self
    }

    /// Hands the value of every column asked for to `take`, by the column's number in the table.
    ///
    /// # Errors
    /// 3624 and 824 when the entry contradicts itself.
    pub fn read(&self, entry: IndexEntry<'_>, mut take: impl FnMut(usize, Value)) -> Result<()> {
        for (parts, mut bytes) in [(&self.key, entry.key), (&self.locator, entry.locator)] {
            for &(sql_type, direction, column) in parts {
                let (value, length) = decode_key_part(bytes, sql_type, direction)
                    .ok_or_else(|| Error::assertion("an index entry whose key cannot be read"))?;
                bytes = bytes.get(length..).unwrap_or_default();
                if let Some(column) = column {
                    take(column, value);
                }
            }
        }
        if let Some(layout) = &self.layout {
            for &(position, column) in &self.carried {
                take(column, layout.column(entry.carried, position)?);
            }
        }
        Ok(())
    }
}

/// Notes that a column is asked for at a position of a key, all parts before which have to be gone through.
fn ask(
    parts: &mut Vec<(SqlType, KeyDirection, Option<usize>)>,
    definition: &TableDefinition,
    index: &IndexDefinition,
    position: usize,
    column: usize,
) {
    for place in parts.len()..=position {
        if let Some(one) = index.keys.get(place).and_then(|(key, _)| definition.columns.get(*key)) {
            parts.push((one.sql_type, index.direction(place), None));
        }
    }
    if let Some(part) = parts.get_mut(position) {
        part.2 = Some(column);
    }
}

fn source_of(definition: &TableDefinition, index: &IndexDefinition, column: usize) -> Option<Source> {
    // A part can be gone through only if it can be read back.
    let readable_in = |index: &IndexDefinition| {
        let is_readable = |(key, _): &&(usize, bool)| {
            definition
                .columns
                .get(*key)
                .is_some_and(|one| is_read_back(one.sql_type))
        };
        let mut readable = index.keys.iter().take_while(is_readable);
        readable.position(|(key, _)| *key == column)
    };
    if let Some(position) = readable_in(index) {
        return Some(Source::Key(position));
    }
    if let Some(position) = index.carried.iter().position(|other| *other == column) {
        return Some(Source::Carried(position));
    }
    definition.clustered().and_then(readable_in).map(Source::Locator)
}
