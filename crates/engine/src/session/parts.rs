//! A scan in parts, for several threads at once.
//!
//! ```text
//! heap   | 8 extents | 8 extents | ...          tree   | 64 leaves -> | 64 leaves -> | ...
//! ```
//! A part of a tree runs from its first leaf along the links to the first leaf of the next part, so new leaves from splits belong to the
//! part in which they split off. Together the parts are one scan: they return everything that was there at the start, once.
//!
//! Threads that read parts never wait for a lock. They set aside pages that may be changing, and the session's own thread reads those later
//! ([`TableParts::scan_put_aside`]). So a session waits for one lock at a time, as deadlock detection assumes.

use super::table::{Rows, Table};
use super::table_scan::TableScan;
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode};
use crate::page::PageId;
use crate::store::{Heap, HeapScan, Pin, ReadMode, RowBatch, TreeBatch};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Extents of a heap in a part: the unit of its read-ahead.
const EXTENTS_PER_PART: usize = 8;
/// Leaves of a tree in a part: as many pages.
const LEAVES_PER_PART: usize = 64;

/// A page that was put aside, and for a tree the leaf it had to its right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutAside {
    page: PageId,
    end: PageId,
}

/// The parts of one scan of a table.
pub struct TableParts<'s> {
    table: &'s Table,
    locks: &'s LockOwner,
    mode: ReadMode,
    /// Of a heap: the scan whose end and limits all parts share.
    heap: Option<HeapScan<'s>>,
    leaves: Vec<PageId>,
    last_key: Option<Vec<u8>>,
    part_count: usize,
    next: AtomicUsize,
    /// Parts are lists of pages and places, which others must not give up.
    _pin: Pin,
}

impl Table {
    /// Pages handed out to its rows so far.
    pub fn page_count(&self) -> u64 {
        if let Some(partitions) = self.partitions() {
            return partitions.tables().iter().map(Table::page_count).sum();
        }
        match self.rows() {
            Rows::Heap(heap) => heap.page_count(),
            Rows::Tree(tree) => tree.page_count(),
        }
    }

    /// Rows of the table, if they were counted since the database was opened or the table was made since.
    pub fn row_count(&self) -> Option<u64> {
        if let Some(partitions) = self.partitions() {
            return partitions.tables().iter().map(Table::row_count).sum();
        }
        let root = match self.rows() {
            Rows::Heap(heap) => heap.root(),
            Rows::Tree(tree) => tree.root(),
        };
        self.database().storage.row_counts.get(root.object)
    }

    /// What READ COMMITTED, or reading ranges, comes to when the session holds a lock on the whole table already.
    pub fn effective_mode(&self, locks: &LockOwner, mode: ReadMode) -> ReadMode {
        let holds_table = || locks.covers_table(self.database().id, self.definition().object_id, Mode::S);
        match mode {
            ReadMode::Committed | ReadMode::CommittedPast | ReadMode::Ranges(Mode::S) if holds_table() => {
                ReadMode::Uncommitted
            }
            other => other,
        }
    }

    /// Begins a scan in parts of all rows there are now, of a table that is not partitioned. `mode` is neither [`ReadMode::Locked`] nor [`ReadMode::Ranges`].
    ///
    /// # Errors
    /// Those of waiting for the table's lock; 823 and 824 when a page cannot be read.
    pub fn parts<'s>(&'s self, locks: &'s LockOwner, mode: ReadMode) -> Result<TableParts<'s>> {
        if self.is_partitioned() {
            return Err(Error::assertion("a partitioned table is scanned by one thread"));
        }
        self.declare_reader(locks, mode)?;
        let storage = &self.database().storage;
        let mut parts = TableParts {
            table: self,
            locks,
            mode: self.effective_mode(locks, mode),
            heap: None,
            leaves: Vec::new(),
            last_key: None,
            part_count: 0,
            next: AtomicUsize::new(0),
            _pin: match self.rows() {
                Rows::Heap(heap) => heap.pin(),
                Rows::Tree(tree) => tree.pin(),
            },
        };
        match self.rows() {
            Rows::Heap(heap) => {
                let scan = heap.scan(storage, locks, parts.mode)?;
                parts.part_count = scan.extent_count().div_ceil(EXTENTS_PER_PART);
                parts.heap = Some(scan);
            }
            Rows::Tree(tree) => {
                // The last key before the leaves: rows that come later are behind it or on leaves that are found.
                parts.last_key = tree.last_key_with_ghosts(storage)?;
                parts.leaves = tree.leaves(storage)?;
                parts.part_count = match (&parts.last_key, parts.leaves.len()) {
                    (None, _) => 0,
                    (Some(_), leaves) => leaves.div_ceil(LEAVES_PER_PART).max(1),
                };
            }
        }
        Ok(parts)
    }
}

impl<'s> TableParts<'s> {
    /// The next free part; `None` if all are taken.
    pub fn take(&self) -> Option<usize> {
        let part = self.next.fetch_add(1, Ordering::Relaxed);
        (part < self.part_count).then_some(part)
    }

    /// Scans a part without waiting for locks.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn scan(&self, part: usize) -> Result<TableScan<'s>> {
        let storage = &self.table.database().storage;
        Ok(match self.table.rows() {
            Rows::Heap(heap) => {
                let mut scan = self.fork(heap)?;
                scan.narrow(part * EXTENTS_PER_PART..(part + 1) * EXTENTS_PER_PART);
                scan.put_aside_unsettled();
                TableScan::Heap(scan, RowBatch::new())
            }
            Rows::Tree(tree) => {
                let mut scan = tree.scan(storage, self.locks, self.mode, self.range(), false);
                let leaf = |part: usize| self.leaves.get(part * LEAVES_PER_PART).copied();
                if let Some(first) = leaf(part) {
                    self.read_ahead(part)?;
                    scan.narrow(first, leaf(part + 1).unwrap_or(PageId::NONE));
                }
                scan.put_aside_unsettled();
                TableScan::Tree(scan, TreeBatch::new())
            }
        })
    }

    /// Scans a page that was put aside, waiting for the transaction that is changing it.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; those of waiting for a lock.
    pub fn scan_put_aside(&self, page: PutAside) -> Result<TableScan<'s>> {
        let storage = &self.table.database().storage;
        Ok(match self.table.rows() {
            Rows::Heap(heap) => {
                let mut scan = self.fork(heap)?;
                scan.narrow_to_page(page.page);
                TableScan::Heap(scan, RowBatch::new())
            }
            Rows::Tree(tree) => {
                let mut scan = tree.scan(storage, self.locks, self.mode, self.range(), false);
                scan.narrow(page.page, page.end);
                TableScan::Tree(scan, TreeBatch::new())
            }
        })
    }

    fn fork(&self, heap: &Heap) -> Result<HeapScan<'s>> {
        match &self.heap {
            Some(scan) => Ok(scan.fork()),
            None => heap.scan(&self.table.database().storage, self.locks, self.mode),
        }
    }

    fn range(&self) -> super::KeyRange {
        let last = self.last_key.clone();
        (Bound::Unbounded, last.map_or(Bound::Unbounded, Bound::Included))
    }

    /// Reads what is not in memory of a part of a tree, neighbours in one read.
    fn read_ahead(&self, part: usize) -> Result<()> {
        let storage = &self.table.database().storage;
        let leaves = self.leaves.iter().skip(part * LEAVES_PER_PART).take(LEAVES_PER_PART);
        let mut run: Option<(PageId, u32)> = None;
        for &leaf in leaves {
            run = match run {
                Some((first, count)) if first.file == leaf.file && first.page + count == leaf.page => {
                    Some((first, count + 1))
                }
                Some((first, count)) => {
                    storage.pool.read_ahead(storage.id, first, count)?;
                    Some((leaf, 1))
                }
                None => Some((leaf, 1)),
            };
        }
        match run {
            Some((first, count)) => storage.pool.read_ahead(storage.id, first, count).map(|_| ()),
            None => Ok(()),
        }
    }
}

impl TableScan<'_> {
    /// The pages that a scan of a part left out.
    pub fn take_put_aside(&mut self) -> Vec<PutAside> {
        match self {
            TableScan::Heap(scan, _) => {
                let pages = scan.take_put_aside().into_iter();
                let aside = |page| PutAside {
                    page,
                    end: PageId::NONE,
                };
                pages.map(aside).collect()
            }
            TableScan::Tree(scan, _) => {
                let pages = scan.take_put_aside().into_iter();
                pages.map(|(page, end)| PutAside { page, end }).collect()
            }
            TableScan::Partitions(_) => Vec::new(),
        }
    }
}
