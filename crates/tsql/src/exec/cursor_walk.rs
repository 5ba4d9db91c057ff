//! The walk of a dynamic cursor through its table: from a place on, in the order of an index or of a heap's pages, in either direction.
//!
//! A walk is opened for each FETCH and reads a page's rows at a time, of which it hands on one. So a level that keeps locks keeps those of
//! the page, and READ COMMITTED may wait for a row of the page that lies behind the one it fetches. Under a tree the walk begins with a
//! descent to its place. In a heap it begins at the page of its place: the place of the page's extent is remembered, and is looked for where
//! pages were given up since.

use engine::cancel;
use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::session::{IndexScan, KeyRange, RowReader, TableScan};
use engine::store::{ReadMode, Rid, RowLocator};
use engine::types::Value;

use super::Operator;
use super::cursor_row::without_cursor;
use super::key_range::{Keys, Range, ranges};
use super::scan::{STEPS_PER_FETCH, decode, named, place_locator, within_timeout};
use crate::context::Context;
use crate::plan::{IndexSeek, ScanNode};
use crate::scalar::row_place::locator_value;
use crate::state::{CursorPlace, CursorWay, TableRow};

/// Rows from a place on.
pub(super) struct CursorWalk<'p> {
    node: &'p ScanNode,
    locks: &'p LockOwner,
    mode: ReadMode,
    /// The ranges behind the one under way, the last one first; `None` before the first row.
    ranges: Option<Vec<KeyRange>>,
    source: Source<'p>,
    /// The next row of the batch.
    next: usize,
    row: Vec<u8>,
}

/// Where the rows come from.
enum Source<'p> {
    None,
    /// Pages of a heap; from the last one to the first if that is true.
    Heap(TableScan<'p>, bool),
    /// Ranges of the clustered index.
    Clustered(TableScan<'p>),
    /// Entries of another index, and their rows.
    Entries(IndexScan<'p>, RowReader<'p>),
}

impl<'p> CursorWalk<'p> {
    /// A walk through a table that is locked for it.
    pub(super) fn new(node: &'p ScanNode, locks: &'p LockOwner, mode: ReadMode) -> CursorWalk<'p> {
        CursorWalk {
            node,
            locks,
            mode,
            ranges: None,
            source: Source::None,
            next: 0,
            row: Vec::new(),
        }
    }

    /// Finds the ranges of the walk, and opens the first.
    fn begin(&mut self, walk: &CursorWay, context: &Context<'_>, row: &[Value]) -> Result<()> {
        let node = self.node;
        let table = &node.table.table;
        let Some(seek) = &node.seek else {
            self.ranges = Some(Vec::new());
            let mut rows = table.scan(self.locks, table.effective_mode(self.locks, self.mode))?;
            if let TableScan::Heap(scan, _) = &mut rows {
                if walk.is_backward {
                    scan.turn_back();
                }
                if let Some(CursorPlace::Row { rid, extent }) = &walk.from {
                    scan.begin_at(rid.page, *extent);
                }
            }
            self.source = Source::Heap(rows, walk.is_backward);
            return Ok(());
        };
        let index = table.definition().indexes.get(seek.index);
        let keys = Keys {
            table: table.definition(),
            index: index.ok_or_else(|| Error::assertion("an index that is gone"))?,
        };
        let place = match &walk.from {
            Some(CursorPlace::Key(key)) => Some(key.as_slice()),
            Some(CursorPlace::Row { .. }) | None => None,
        };
        let (first, others) = ranges(keys, seek, row, context)?;
        let mut all: Vec<Range> = others.into_iter().chain(first).collect();
        if walk.is_backward {
            all.reverse();
        }
        let is_backward = is_backward(seek, walk);
        let left = all.into_iter().filter_map(|range| range.beyond(place, is_backward));
        let mut left: Vec<KeyRange> = left.collect();
        let next = left.pop();
        self.ranges = Some(left);
        match next {
            Some(range) => self.turn_to(range, seek, is_backward),
            None => Ok(()),
        }
    }

    /// The source at the beginning of a range.
    fn turn_to(&mut self, range: KeyRange, seek: &IndexSeek, is_backward: bool) -> Result<()> {
        let (table, locks, mode) = (&self.node.table.table, self.locks, self.mode);
        self.next = 0;
        match &mut self.source {
            Source::Clustered(scan) => scan.restart(range)?,
            Source::Entries(scan, _) => {
                scan.restart(range)?;
            }
            Source::None | Source::Heap(..) => {
                let index = table.definition().indexes.get(seek.index);
                self.source = match index.is_some_and(|index| index.index_id == 1) {
                    true => Source::Clustered(table.seek(locks, mode, range, is_backward)?),
                    false => Source::Entries(
                        table.scan_index(seek.index, locks, mode, range, is_backward)?,
                        table.row_reader(locks, mode)?,
                    ),
                };
            }
        }
        Ok(())
    }

    fn batch_len(&self) -> usize {
        match &self.source {
            Source::None => 0,
            Source::Heap(scan, _) | Source::Clustered(scan) => scan.len(),
            Source::Entries(scan, _) => scan.len(),
        }
    }

    /// Makes sure that there is another row in the batch; false at the end.
    fn fill(&mut self, walk: &CursorWay, context: &Context<'_>, row: &[Value]) -> Result<bool> {
        if self.ranges.is_none() {
            self.begin(walk, context, row)?;
        }
        while self.next >= self.batch_len() {
            self.next = 0;
            let (node, source) = (self.node, &mut self.source);
            let is_filled = within_timeout(node, context, || match source {
                Source::None => Ok(false),
                Source::Heap(scan, _) | Source::Clustered(scan) => scan.next_batch(),
                Source::Entries(scan, _) => scan.next_batch(),
            });
            if is_filled.map_err(|error| named(node, error))? {
                continue;
            }
            let next = self.ranges.as_mut().and_then(Vec::pop);
            let (Some(range), Some(seek)) = (next, &node.seek) else {
                self.next = self.batch_len();
                return Ok(false);
            };
            self.turn_to(range, seek, is_backward(seek, walk))?;
        }
        Ok(true)
    }

    /// Reads the row at a place of the batch: its locator and where it is; `None` when it does not count.
    fn take(
        &mut self,
        place: usize,
        walk: &CursorWay,
        context: &Context<'_>,
    ) -> Result<Option<(RowLocator, CursorPlace)>> {
        let (node, bytes) = (self.node, &mut self.row);
        match &mut self.source {
            Source::None => Ok(None),
            Source::Heap(scan, is_backward) => {
                let place = match *is_backward {
                    true => scan.len().saturating_sub(place + 1),
                    false => place,
                };
                let Some(RowLocator::Rid(rid)) = scan.locator(place) else {
                    return Ok(None);
                };
                if !is_beyond(walk, rid) {
                    return Ok(None);
                }
                let extent = match scan {
                    TableScan::Heap(scan, _) => scan.extent(),
                    TableScan::Tree(..) | TableScan::Partitions(_) => 0,
                };
                bytes.clear();
                bytes.extend_from_slice(scan.row(place).unwrap_or_default());
                Ok(Some((RowLocator::Rid(rid), CursorPlace::Row { rid, extent })))
            }
            Source::Clustered(scan) => {
                let Some(RowLocator::Key(key)) = scan.locator(place) else {
                    return Ok(None);
                };
                bytes.clear();
                bytes.extend_from_slice(scan.row(place).unwrap_or_default());
                let at = CursorPlace::Key(key.to_vec());
                Ok(Some((RowLocator::Key(key), at)))
            }
            Source::Entries(scan, reader) => {
                let read = within_timeout(node, context, || scan.read_row(place, reader, bytes));
                // A row that has got another key since is met where that is, or was.
                match read.map_err(|error| named(node, error))? {
                    Some(key) if key.is_eq() => {
                        let at = CursorPlace::Key(scan.entry(place)?.key().to_vec());
                        Ok(Some((scan.locator(place)?, at)))
                    }
                    Some(_) | None => Ok(None),
                }
            }
        }
    }
}

/// Whether the keys of an index come from the last to the first.
fn is_backward(seek: &IndexSeek, walk: &CursorWay) -> bool {
    seek.is_backward != walk.is_backward
}

/// Whether a row of a heap lies beyond the place of a walk, whose page is read again from its first row.
fn is_beyond(walk: &CursorWay, rid: Rid) -> bool {
    match &walk.from {
        Some(CursorPlace::Row { rid: from, .. }) if from.page == rid.page => match walk.is_backward {
            true => rid.slot < from.slot,
            false => rid.slot > from.slot,
        },
        _ => true,
    }
}

impl Operator for CursorWalk<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let reading = context.cursor().ok_or_else(without_cursor)?;
        let walk = reading.walk.as_ref().ok_or_else(without_cursor)?;
        while self.fill(walk, context, row)? {
            let place = self.next;
            self.next += 1;
            cancel::spend(STEPS_PER_FETCH)?;
            let Some((locator, at)) = self.take(place, walk, context)? else {
                continue;
            };
            decode(self.node, &self.row, row)?;
            place_locator(self.node, &locator, row)?;
            let read = TableRow {
                locator: locator_value(&locator),
                bytes: self.row.clone(),
            };
            reading.arrived(at, read);
            return Ok(true);
        }
        Ok(false)
    }
}
