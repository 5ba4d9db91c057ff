//! A scan of a table's rows, page by page, whether they are in a heap or in a clustered tree.

use super::PartitionScan;
use super::table::KeyRange;
use crate::error::Result;
use crate::lock::Mode;
use crate::store::{HeapScan, PageSample, RowBatch, RowLocator, TreeBatch, TreeScan};

/// A scan of a table, a page of rows at a time.
pub enum TableScan<'s> {
    Heap(HeapScan<'s>, RowBatch),
    /// Of a clustered tree.
    Tree(TreeScan<'s>, TreeBatch),
    /// Of a partitioned table.
    Partitions(Box<PartitionScan<'s>>),
}

impl TableScan<'_> {
    /// From now on the rows of a heap may come without their bytes: nobody will ask for any.
    pub fn leave_out_bytes(&mut self) {
        match self {
            TableScan::Heap(scan, _) => scan.leave_out_bytes(),
            TableScan::Tree(..) => {}
            TableScan::Partitions(scan) => scan.leave_out_bytes(),
        }
    }

    /// From now on only rows on the pages of a sample are taken.
    pub fn keep_to_sample(&mut self, sample: PageSample) {
        match self {
            TableScan::Heap(scan, _) => scan.keep_to_sample(sample),
            TableScan::Tree(scan, _) => scan.keep_to_sample(sample),
            TableScan::Partitions(scan) => scan.keep_to_sample(sample),
        }
    }

    /// From now on rows are locked when they are read.
    pub fn lock_rows(&mut self, mode: Mode) {
        match self {
            TableScan::Heap(scan, _) => scan.lock_rows(mode),
            TableScan::Tree(scan, _) => scan.lock_rows(mode),
            TableScan::Partitions(scan) => scan.lock_rows(mode),
        }
    }

    /// Reads the next page's rows. False at the end.
    ///
    /// # Errors
    /// 9001 when the database's log has failed, even if it did so while the page was read; those of reading and of locks.
    pub fn next_batch(&mut self) -> Result<bool> {
        let (found, log) = match self {
            TableScan::Heap(scan, batch) => (scan.next_page(batch)?, &scan.storage().log),
            TableScan::Tree(scan, batch) => (scan.next_page(batch)?, &scan.storage().log),
            TableScan::Partitions(scan) => return scan.next_batch(),
        };
        log.check_intact().map(|()| found)
    }

    /// Begins a scan of a range again with another one.
    ///
    /// # Errors
    /// Those of [`Table::seek`](super::Table::seek).
    pub fn restart(&mut self, range: KeyRange) -> Result<()> {
        match self {
            TableScan::Heap(..) => {}
            TableScan::Tree(scan, _) => {
                scan.restart(range);
            }
            TableScan::Partitions(scan) => scan.restart(range)?,
        }
        Ok(())
    }

    /// Rows of the page read last.
    pub fn len(&self) -> usize {
        match self {
            TableScan::Heap(_, batch) => batch.len(),
            TableScan::Tree(_, batch) => batch.len(),
            TableScan::Partitions(scan) => scan.current().len(),
        }
    }

    /// True when that page had none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row's bytes, for the table's layout; `None` past the last.
    pub fn row(&self, index: usize) -> Option<&[u8]> {
        match self {
            TableScan::Heap(_, batch) => batch.get(index).map(|(_, row)| row),
            TableScan::Tree(_, batch) => batch.get(index).map(|(_, row)| row),
            TableScan::Partitions(scan) => scan.current().row(index),
        }
    }

    /// Where a row is.
    pub fn locator(&self, index: usize) -> Option<RowLocator> {
        match self {
            TableScan::Heap(_, batch) => batch.get(index).map(|(rid, _)| RowLocator::Rid(rid)),
            TableScan::Tree(_, batch) => batch.get(index).map(|(key, _)| RowLocator::Key(key.into())),
            TableScan::Partitions(scan) => scan.locator(index),
        }
    }
}
