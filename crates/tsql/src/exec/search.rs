//! Index searches: key ranges, read forward or backward. Rows come from the entries if these have every needed column, otherwise they are
//! read one by one. Also unions of searches, with each row once.
//!
//! The ranges are computed at the first row, from the row that the search writes into. So a search on the right of a nested loop uses the
//! left row's columns, and is restarted for the next left row without being reopened ([`Operator::rewind`]).

use std::collections::HashSet;

use engine::cancel;
use engine::catalog::IndexDefinition;
use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode};
use engine::session::{EntryColumns, IndexScan, RowReader, TableScan};
use engine::store::{ReadMode, RowLocator};
use engine::types::Value;

use super::Operator;
use super::key_range::{Keys, Range, ranges};
use super::scan::{STEPS_PER_FETCH, decode, named, place_locator, within_timeout};
use crate::context::Context;
use crate::grant::Grant;
use crate::plan::{IndexSeek, ScanNode};

/// What a locator takes in a set, beside the bytes of a key.
const LOCATOR_BYTES: u64 = 64;

/// A search of one index.
pub(super) struct Search<'p> {
    node: &'p ScanNode,
    seek: &'p IndexSeek,
    index: &'p IndexDefinition,
    locks: &'p LockOwner,
    mode: ReadMode,
    /// The ranges behind the one under way, the last one first; `None` before the first row.
    ranges: Option<Vec<Range>>,
    source: Source<'p>,
    /// The next row of the batch read last.
    next: usize,
    row: Vec<u8>,
}

/// Where the rows come from.
enum Source<'p> {
    /// Nothing is open: no range was read so far.
    None,
    /// Ranges of the clustered index.
    Clustered(TableScan<'p>),
    /// The same, each row locked when its turn comes if nobody else has it (READPAST).
    OneByOne(TableScan<'p>, RowReader<'p>),
    /// Entries that have all that is asked for.
    Covering(IndexScan<'p>, EntryColumns),
    /// Entries, and then their rows.
    Lookup(IndexScan<'p>, RowReader<'p>),
}

impl<'p> Search<'p> {
    /// A search whose table is locked for it.
    ///
    /// # Errors
    /// 3624 for an index that is gone.
    #[inline]
    pub(super) fn new(
        node: &'p ScanNode,
        seek: &'p IndexSeek,
        locks: &'p LockOwner,
        mode: ReadMode,
    ) -> Result<Search<'p>> {
        let indexes = &node.table.table.definition().indexes;
        let index = indexes.get(seek.index);
        Ok(Search {
            node,
            seek,
            index: index.ok_or_else(|| Error::assertion("an index that is gone"))?,
            locks,
            mode,
            ranges: None,
            source: Source::None,
            next: 0,
            row: Vec::new(),
        })
    }

    /// The source at the beginning of a range: opened, or turned to it.
    fn turn_to(&mut self, range: Range) -> Result<()> {
        let (table, locks, mode) = (&self.node.table.table, self.locks, self.mode);
        let (range, is_backward) = (range.into_bounds(), self.seek.is_backward);
        self.next = 0;
        match &mut self.source {
            Source::None => {}
            Source::Clustered(scan) | Source::OneByOne(scan, _) => {
                scan.restart(range)?;
                return Ok(());
            }
            Source::Covering(scan, _) | Source::Lookup(scan, _) => {
                scan.restart(range)?;
                return Ok(());
            }
        }
        self.source = match (self.index.index_id, mode) {
            (1, ReadMode::LockedPast(_)) => Source::OneByOne(
                table.seek(locks, ReadMode::Uncommitted, range, is_backward)?,
                table.row_reader(locks, mode)?,
            ),
            (1, _) => Source::Clustered(table.seek(locks, mode, range, is_backward)?),
            _ => {
                let entries = table.scan_index(self.seek.index, locks, mode, range, is_backward)?;
                // A search that locks rows has to go to them.
                let locks_rows = match mode {
                    ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::LockedAt(..) => true,
                    // Changing the values read from an entry changes the entry, which is locked.
                    ReadMode::Ranges(mode) => mode != Mode::S,
                    ReadMode::Uncommitted | ReadMode::Committed | ReadMode::CommittedPast | ReadMode::Versioned(_) => {
                        false
                    }
                };
                let wanted = (!locks_rows).then_some(&self.node.columns);
                match wanted.and_then(|columns| {
                    EntryColumns::new(table.definition(), self.index, columns).map(|read| read.of_table(table))
                }) {
                    Some(columns) => Source::Covering(entries, columns),
                    None => Source::Lookup(entries, table.row_reader(locks, mode)?),
                }
            }
        };
        Ok(())
    }

    fn batch_len(&self) -> usize {
        match &self.source {
            Source::None => 0,
            Source::Clustered(scan) | Source::OneByOne(scan, _) => scan.len(),
            Source::Covering(scan, _) | Source::Lookup(scan, _) => scan.len(),
        }
    }

    /// Makes sure that there is another row in the batch; false at the end of the last range.
    fn fill(&mut self, context: &Context<'_>, row: &[Value]) -> Result<bool> {
        if self.ranges.is_none() {
            let keys = Keys {
                table: self.node.table.table.definition(),
                index: self.index,
            };
            let (first, others) = ranges(keys, self.seek, row, context)?;
            self.ranges = Some(others);
            match first {
                Some(first) => self.turn_to(first)?,
                None => return Ok(false),
            }
        }
        while self.next >= self.batch_len() {
            self.next = 0;
            let node = self.node;
            let source = &mut self.source;
            let is_filled = within_timeout(node, context, || match source {
                Source::None => Ok(false),
                Source::Clustered(scan) | Source::OneByOne(scan, _) => scan.next_batch(),
                Source::Covering(scan, _) | Source::Lookup(scan, _) => scan.next_batch(),
            });
            let is_filled = is_filled.map_err(|error| named(node, error))?;
            if is_filled {
                continue;
            }
            match self.ranges.as_mut().and_then(Vec::pop) {
                Some(range) => self.turn_to(range)?,
                None => {
                    self.end_batch();
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Behind the end nothing is left to give.
    fn end_batch(&mut self) {
        self.next = self.batch_len();
    }

    /// Reads the row at a place of the batch into the wide row, or only its locator where nothing else is asked for; false when the
    /// row does not qualify.
    fn take(&mut self, place: usize, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let (node, bytes) = (self.node, &mut self.row);
        match &mut self.source {
            Source::None => return Ok(false),
            Source::Clustered(scan) => {
                cancel::spend(1)?;
                decode(node, scan.row(place).unwrap_or_default(), row)?;
            }
            Source::OneByOne(scan, reader) => {
                cancel::spend(STEPS_PER_FETCH)?;
                let Some(locator) = scan.locator(place) else {
                    return Ok(false);
                };
                if !reader.read(&locator, bytes)? {
                    return Ok(false);
                }
                decode(node, bytes, row)?;
            }
            Source::Covering(scan, columns) => {
                cancel::spend(1)?;
                columns.read(scan.entry(place)?, |column, value| {
                    if let Some(target) = row.get_mut(node.offset + column) {
                        *target = value;
                    }
                })?;
            }
            Source::Lookup(scan, reader) => {
                cancel::spend(STEPS_PER_FETCH)?;
                let read = within_timeout(node, context, || scan.read_row(place, reader, bytes));
                let read = read.map_err(|error| named(node, error))?;
                let Some(key) = read else { return Ok(false) };
                // A row that has got another key since: where order counts, this is not its place; and where it will be met again it
                // is left for then.
                if key.is_ne() && (self.seek.keeps_order || scan.is_still_to_come(key)) {
                    return Ok(false);
                }
                decode(node, bytes, row)?;
            }
        }
        Ok(true)
    }

    fn locator(&self, place: usize) -> Result<Option<RowLocator>> {
        match &self.source {
            Source::None => Ok(None),
            Source::Clustered(scan) | Source::OneByOne(scan, _) => Ok(scan.locator(place)),
            Source::Covering(scan, _) | Source::Lookup(scan, _) => scan.locator(place).map(Some),
        }
    }

    /// The next row for which `wants` its locator says so, if locators are asked for.
    fn next_wanted(
        &mut self,
        context: &Context<'_>,
        row: &mut [Value],
        wants: &mut dyn FnMut(&RowLocator) -> Result<bool>,
        asks: bool,
    ) -> Result<bool> {
        while self.fill(context, row)? {
            let place = self.next;
            self.next += 1;
            if asks && !self.locator(place)?.as_ref().map_or(Ok(false), &mut *wants)? {
                continue;
            }
            if self.take(place, context, row)? {
                if self.node.shows_rows()
                    && let Some(locator) = self.locator(place)?
                {
                    place_locator(self.node, &locator, row)?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Operator for Search<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        self.next_wanted(context, row, &mut |_| Ok(true), false)
    }

    fn rewind(&mut self) -> bool {
        self.ranges = None;
        self.end_batch();
        true
    }
}

/// Several searches, whose rows come one search after the other, each row once.
pub(super) struct Union<'p> {
    searches: Vec<Search<'p>>,
    /// The search under way.
    at: usize,
    seen: HashSet<RowLocator>,
    grant: Option<Grant>,
}

impl<'p> Union<'p> {
    /// A search and those it is united with.
    ///
    /// # Errors
    /// As for [`Search::new`].
    pub(super) fn new(
        node: &'p ScanNode,
        seek: &'p IndexSeek,
        locks: &'p LockOwner,
        mode: ReadMode,
    ) -> Result<Union<'p>> {
        let searches = std::iter::once(seek).chain(&seek.union);
        Ok(Union {
            searches: searches
                .map(|seek| Search::new(node, seek, locks, mode))
                .collect::<Result<_>>()?,
            at: 0,
            seen: HashSet::new(),
            grant: None,
        })
    }
}

impl Operator for Union<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        let (seen, grant) = (&mut self.seen, self.grant.get_or_insert_with(|| context.grant()));
        let mut is_new = |locator: &RowLocator| {
            if !seen.insert(locator.clone()) {
                return Ok(false);
            }
            let key_bytes = match locator {
                RowLocator::Rid(_) => 0,
                RowLocator::Key(key) => key.len() as u64,
            };
            grant.require(LOCATOR_BYTES + key_bytes).map(|()| true)
        };
        while let Some(search) = self.searches.get_mut(self.at) {
            if search.next_wanted(context, row, &mut is_new, true)? {
                return Ok(true);
            }
            self.at += 1;
        }
        Ok(false)
    }

    fn rewind(&mut self) -> bool {
        self.searches.iter_mut().for_each(|search| {
            search.rewind();
        });
        self.at = 0;
        self.seen.clear();
        self.grant = None;
        true
    }
}
