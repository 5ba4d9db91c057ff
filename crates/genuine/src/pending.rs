//! What a log has that the pages lack, or what they have too early: whether pages can be read as they are.
//!
//! A backup's pages are copied while the database is used, and a server that was killed leaves pages that recovery would still change. The
//! log says so: a change of rows whose LSN is later than its page's was not on the page yet (redo would bring it), and a transaction
//! without its end may be on pages already (undo would take it away). (Microsoft, "SQL Server transaction log architecture": write-ahead
//! logging.)
//!
//! Changes of indexes, allocation maps and free space do not count: rows are not read through them, but for the IAM pages of a heap, whose
//! change comes with the first row on a new page. That FORMAT_PAGE, row operations and page headers are all that matters to rows is inferred.

use crate::fault::Result;
use crate::page::{Page, PageId, PageSource};
use std::collections::{BTreeMap, BTreeSet};
use vlf::record::SqlRecord;
use vlf::{Lsn, ReadAt, VlfBlocks, WalkStep, survey};

/// What recovery would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Pages with rows that the log has later changes of.
    pub pages_to_redo: usize,
    /// Transactions that changed rows, and whose end is not in the log.
    pub transactions_to_undo: usize,
}

impl Pending {
    /// The pages are the database.
    pub fn is_nothing(self) -> bool {
        self == Pending::default()
    }
}

/// Looks through a log, a file or the image of one that a backup has.
///
/// # Errors
/// The log cannot be read.
pub fn pending<S: ReadAt>(source: &dyn PageSource, log: &S) -> Result<Pending> {
    let survey = survey(log)?;
    let mut changes = Changes::default();
    for header in survey.in_sequence() {
        let mut blocks = VlfBlocks::new(log, &header);
        loop {
            match blocks.next_step()? {
                WalkStep::Block(block) => {
                    for (lsn, bytes) in block.records() {
                        if let Some(record) = SqlRecord::decode(block.header().format, bytes) {
                            changes.take(lsn, &record);
                        }
                    }
                }
                WalkStep::Gap { .. } => {}
                _ => break,
            }
        }
    }
    Ok(changes.against(source))
}

#[derive(Default)]
struct Changes {
    /// The last change of each page with rows. There are no more of them than pages that the log names.
    pages: BTreeMap<PageId, Lsn>,
    open: BTreeSet<(u32, u16)>,
}

impl Changes {
    fn take(&mut self, lsn: Lsn, record: &SqlRecord<'_>) {
        /// FORMAT_PAGE, INSERT_ROWS, DELETE_ROWS, MODIFY_ROW, MODIFY_HEADER, MODIFY_COLUMNS, DELETE_SPLIT.
        const ROW_OPERATIONS: [u8; 7] = [1, 2, 3, 4, 5, 6, 11];
        /// Heap, clustered index, large values.
        const ROW_CONTEXTS: [u8; 4] = [1, 2, 5, 6];
        /// COMMIT_XACT, ABORT_XACT.
        const ENDS: [u8; 2] = [129, 130];
        let transaction = (record.transaction.low, record.transaction.high);
        if ENDS.contains(&record.operation.0) {
            self.open.remove(&transaction);
        }
        if !ROW_OPERATIONS.contains(&record.operation.0) || !ROW_CONTEXTS.contains(&record.context.0) {
            return;
        }
        if let Some(page) = &record.page {
            self.pages.insert(PageId::new(page.file, page.page), lsn);
        }
        // FORMAT_PAGE and headers belong to the system's own transactions, which are short; rows are what undo takes away.
        if (2..=6).contains(&record.operation.0) && record.operation.0 != 5 {
            self.open.insert(transaction);
        }
    }

    fn against(self, source: &dyn PageSource) -> Pending {
        let is_behind = |(id, lsn): &(PageId, Lsn)| {
            // A page that is not there, or was never written, has nothing of the change either.
            Page::read_unchecked(source, *id).is_ok_and(|page| page.lsn() < *lsn)
        };
        Pending {
            pages_to_redo: self.pages.into_iter().filter(is_behind).count(),
            transactions_to_undo: self.open.len(),
        }
    }
}
