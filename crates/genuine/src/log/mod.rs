//! The transaction log: who changed which rows, when, and from what to what.
//!
//! ```text
//!   .ldf ---------------+                                        +-- transactions: name, times, SID, how it ended
//!   log of a backup ----+--> LogReader --> records, by LSN -----+
//!   chain of backups ---+                                        +-- changes of pages --> replay --> whole rows, before and after
//! ```
//!
//! - [`record`]: what a record changes
//! - [`transactions`]: begin, end, name and SID of every transaction
//! - [`replay`]: pages and rows as they were at each record
//! - [`rows`]: the changes of one table's rows
//! - [`names`]: tables, columns and users for what the log has as numbers
//! - [`undo`]: T-SQL that undoes a transaction
//! - [`unlogged`]: extents that were filled by work without rows in the log
//!
//! **What a log cannot say.** A log is a ring: what the server needed no more was overwritten. So the log begins somewhere, transactions can
//! have begun before it, and the changes around such a place say so. Some work leaves no rows in the log: TRUNCATE TABLE and
//! DROP TABLE free pages, and minimally logged loads (bulk insert, SELECT INTO, index builds in the simple and bulk-logged models) write
//! pages. What a record has not is never made up.
//!
//! Logs of SQL Server 2000 and older (blocks of format 2) have other records; they are counted and not read.

pub mod names;
pub mod record;
pub mod replay;
pub mod rows;
pub mod transactions;
pub mod undo;
pub mod unlogged;

pub use names::{Cell, Names};
pub use record::{Change, PageChange};
pub use rows::{RowChange, RowChanges, RowImage};
pub use transactions::{Outcome, Transaction, Transactions};
pub use unlogged::Unlogged;

use crate::fault::Result;
use vlf::{FormatVersion, Lsn, ReadAt, VlfBlocks, VlfHeader, WalkStep};

/// A record of the log.
#[derive(Clone, Copy, Debug)]
pub struct LogRecord<'a> {
    pub lsn: Lsn,
    /// Of the block it is in.
    pub format: FormatVersion,
    pub bytes: &'a [u8],
}

/// What a walk over a log has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogExtent {
    /// The oldest record that is left.
    pub first: Option<Lsn>,
    /// The newest record.
    pub last: Option<Lsn>,
    pub records: u64,
    /// Records of formats that are not read.
    pub unread: u64,
    /// Places where log is missing between two blocks.
    pub gaps: u64,
}

/// Logs of one database, read as one: a log file, or the logs of backups, or both.
pub struct LogReader<'s> {
    sources: Vec<&'s dyn ReadAt>,
    /// Records from here on are not visited.
    end: Option<Lsn>,
}

impl<'s> LogReader<'s> {
    /// The log in `sources`, in any order. What two of them have is read once.
    pub fn new(sources: Vec<&'s dyn ReadAt>) -> LogReader<'s> {
        LogReader { sources, end: None }
    }

    /// The same log up to a record, which is not visited.
    pub fn before(self, end: Option<Lsn>) -> LogReader<'s> {
        LogReader { end, ..self }
    }

    /// Visits every record by ascending LSN.
    ///
    /// # Errors
    /// A source cannot be read. Behind damage the walk goes on, and counts a gap.
    pub fn each(&self, visit: &mut dyn FnMut(LogRecord<'_>)) -> Result<LogExtent> {
        let mut vlfs: Vec<(VlfHeader, &dyn ReadAt)> = Vec::new();
        for source in &self.sources {
            let found = vlf::survey(*source)?.in_sequence();
            vlfs.extend(found.into_iter().map(|vlf| (vlf, *source)));
        }
        vlfs.sort_by_key(|(vlf, _)| vlf.sequence);
        let newest = vlfs.last().map(|(vlf, _)| vlf.sequence);
        let mut extent = LogExtent::default();
        for (vlf, source) in vlfs {
            let is_tail = Some(vlf.sequence) == newest;
            let until = (is_tail, self.end);
            walk(source, &vlf, until, &mut extent, visit)?;
        }
        Ok(extent)
    }
}

/// Visits the records of one VLF that are newer than those visited.
fn walk(
    source: &dyn ReadAt,
    vlf: &VlfHeader,
    (is_tail, end): (bool, Option<Lsn>),
    extent: &mut LogExtent,
    visit: &mut dyn FnMut(LogRecord<'_>),
) -> Result<()> {
    let mut blocks = VlfBlocks::new(source, vlf);
    let mut began = false;
    loop {
        match blocks.next_step()? {
            WalkStep::Block(block) => {
                let format = block.header().format;
                let is_read = !matches!(format, FormatVersion::SqlServer2000 | FormatVersion::Vlflab);
                for (lsn, bytes) in block.records() {
                    if extent.last.is_some_and(|last| lsn <= last) || end.is_some_and(|end| lsn >= end) {
                        continue;
                    }
                    extent.first = extent.first.or(Some(lsn));
                    extent.last = Some(lsn);
                    extent.records += 1;
                    match is_read {
                        true => visit(LogRecord { lsn, format, bytes }),
                        false => extent.unread += 1,
                    }
                }
                began = true;
            }
            // Behind the newest block there can be blocks of the same use that a crash has cut off.
            WalkStep::Gap { fault, .. } if is_tail && began && fault.is_link_fault() => return Ok(()),
            WalkStep::Gap { .. } => extent.gaps += u64::from(began),
            WalkStep::End { .. } => return Ok(()),
        }
    }
}
