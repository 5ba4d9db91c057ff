//! The changes of rows of some tables, by ascending LSN, with the rows before and after as far as the log has them.
//!
//! An insertion and a deletion have the whole row in their record. A modification has the pieces that it replaced: the row around them comes from
//! [`super::replay`]. In compressed tables and in rows with large values a row has pointers and codes whose values lie elsewhere; who decodes
//! the row says so.
//!
//! Two walks over the log: the first finds the pages that the tables' rows were changed on, the second keeps all records of these pages. What is kept has
//! a limit, and beyond it there is an error, not half an answer.

use super::record::{Change, PageChange};
use super::replay::{Both, whole_rows};
use super::transactions::Transactions;
use super::unlogged::Unlogged;
use super::{LogExtent, LogReader, LogRecord};
use crate::fault::{Fault, Result};
use crate::page::{Page, PageId, PageSource};
use std::collections::{BTreeMap, BTreeSet};
use vlf::record::SqlTransactionId;
use vlf::{FormatVersion, Lsn};

/// Bytes of records that are kept at once.
const KEPT_BYTES_MAX: usize = 512 << 20;

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChangeKind {
    Insert,
    Delete,
    Update,
}

impl RowChangeKind {
    /// In the word of T-SQL.
    pub fn name(self) -> &'static str {
        match self {
            RowChangeKind::Insert => "INSERT",
            RowChangeKind::Delete => "DELETE",
            RowChangeKind::Update => "UPDATE",
        }
    }
}

/// A row before or after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowImage {
    /// There was no row.
    Absent,
    /// The record of the row, with bytes behind its end now and then.
    Whole(Vec<u8>),
    /// There was a row, and the log that is left has only what was changed of it: offsets and bytes.
    Pieces(Vec<(usize, Vec<u8>)>),
}

impl RowImage {
    /// The record with all of its bytes, if they are known.
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            RowImage::Whole(row) => Some(row),
            RowImage::Absent | RowImage::Pieces(_) => None,
        }
    }
}

/// One row that was changed.
#[derive(Clone, Debug)]
pub struct RowChange {
    pub lsn: Lsn,
    pub transaction: SqlTransactionId,
    pub kind: RowChangeKind,
    pub page: PageId,
    pub slot: u16,
    pub unit: u64,
    /// 0 where the record does not say.
    pub rowset: u64,
    pub before: RowImage,
    pub after: RowImage,
}

/// The changes of rows in a log, and the log that they were found in.
#[derive(Debug)]
pub struct RowChanges {
    pub changes: Vec<RowChange>,
    pub transactions: Transactions,
    pub extent: LogExtent,
    pub unlogged: Unlogged,
    /// Modifications of which only pieces are known.
    pub in_pieces: u64,
}

/// A record that is kept.
struct Kept {
    lsn: Lsn,
    format: FormatVersion,
    bytes: Box<[u8]>,
}

impl RowChanges {
    /// The changes of rows that `is_wanted`. `pages` is the database as it was at, or after, the end of the log; without it, rows are rebuilt
    /// from empty pages only.
    ///
    /// # Errors
    /// A source cannot be read, or there is more than is kept.
    pub fn read(
        log: &LogReader<'_>,
        pages: Option<&dyn PageSource>,
        is_wanted: &dyn Fn(&PageChange<'_>) -> bool,
    ) -> Result<RowChanges> {
        let mut transactions = Transactions::default();
        let mut touched: BTreeSet<PageId> = BTreeSet::new();
        let mut unlogged = Unlogged::default();
        let extent = log.each(&mut |record| {
            transactions.add(record);
            unlogged.add(record);
            if let Some(change) = PageChange::read(record)
                && is_wanted(&change)
                && kind_of(&change).is_some()
            {
                touched.insert(change.page);
            }
        })?;
        transactions.check_all_kept()?;
        let kept = keep(log, &touched)?;
        let mut found = RowChanges {
            changes: Vec::new(),
            transactions,
            extent,
            unlogged,
            in_pieces: 0,
        };
        for (page, records) in &kept {
            found.add_page(*page, records, pages, is_wanted);
        }
        found.changes.sort_by_key(|change| change.lsn);
        Ok(found)
    }

    fn add_page(
        &mut self,
        page: PageId,
        records: &[Kept],
        pages: Option<&dyn PageSource>,
        is_wanted: &dyn Fn(&PageChange<'_>) -> bool,
    ) {
        let changes: Vec<PageChange<'_>> = records
            .iter()
            .filter_map(|kept| PageChange::read(kept.record()))
            .collect();
        // A page that cannot be read, or is damaged, helps no replay.
        let in_file = pages.and_then(|pages| Page::read(pages, page).ok());
        let rows = whole_rows(&changes, in_file.as_ref());
        for (change, both) in changes.iter().zip(rows) {
            let Some(kind) = kind_of(change).filter(|_| is_wanted(change)) else {
                continue;
            };
            for (number, (before, after)) in (0..).zip(images(change, both)) {
                self.in_pieces += u64::from(matches!(before, RowImage::Pieces(_)));
                self.changes.push(RowChange {
                    lsn: change.lsn,
                    transaction: change.transaction,
                    kind,
                    page,
                    slot: change.slot.saturating_add(number),
                    unit: change.unit,
                    rowset: change.rowset,
                    before,
                    after,
                });
            }
        }
    }
}

impl Kept {
    fn record(&self) -> LogRecord<'_> {
        LogRecord {
            lsn: self.lsn,
            format: self.format,
            bytes: &self.bytes,
        }
    }
}

/// The records of the pages `touched`, by page and by ascending LSN.
fn keep(log: &LogReader<'_>, touched: &BTreeSet<PageId>) -> Result<BTreeMap<PageId, Vec<Kept>>> {
    let mut kept: BTreeMap<PageId, Vec<Kept>> = BTreeMap::new();
    let mut kept_bytes = 0usize;
    log.each(&mut |record| {
        let page = PageChange::read(record).map(|change| change.page);
        let Some(page) = page.filter(|page| touched.contains(page)) else {
            return;
        };
        kept_bytes = kept_bytes.saturating_add(record.bytes.len() + size_of::<Kept>());
        if kept_bytes <= KEPT_BYTES_MAX {
            kept.entry(page).or_default().push(Kept {
                lsn: record.lsn,
                format: record.format,
                bytes: record.bytes.into(),
            });
        }
    })?;
    match kept_bytes <= KEPT_BYTES_MAX {
        true => Ok(kept),
        false => Err(Fault::whole(format!(
            "the log has {kept_bytes} bytes of records for these tables, more than the {KEPT_BYTES_MAX} that are kept at once: read fewer log \
             backups, or one table"
        ))),
    }
}

/// What a record does to rows, if it does.
fn kind_of(change: &PageChange<'_>) -> Option<RowChangeKind> {
    match change.change {
        Change::Insert { .. } => Some(RowChangeKind::Insert),
        Change::Delete { .. } => Some(RowChangeKind::Delete),
        Change::Modify(_) => Some(RowChangeKind::Update),
        _ => None,
    }
}

/// Before and after of each row of a record.
fn images(change: &PageChange<'_>, both: Both) -> Vec<(RowImage, RowImage)> {
    match &change.change {
        Change::Insert { rows, .. } => {
            let rows = rows.iter().map(|row| RowImage::Whole(row.to_vec()));
            rows.map(|row| (RowImage::Absent, row)).collect()
        }
        Change::Delete { row, .. } => vec![(RowImage::Whole(row.to_vec()), RowImage::Absent)],
        Change::Modify(pieces) => match (both.before, both.after) {
            (Some(before), Some(after)) => vec![(RowImage::Whole(before), RowImage::Whole(after))],
            _ => {
                let part = |bytes: fn(&super::record::Piece<'_>) -> Vec<u8>| {
                    RowImage::Pieces(pieces.iter().map(|piece| (piece.offset, bytes(piece))).collect())
                };
                vec![(part(|piece| piece.before.to_vec()), part(|piece| piece.after.to_vec()))]
            }
        },
        _ => Vec::new(),
    }
}
