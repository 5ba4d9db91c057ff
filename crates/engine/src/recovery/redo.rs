//! Redo: applies, in log order, every logged change that its page does not have yet.
//!
//! A file is grown durably before any page in the new part is used, so every page that the log names exists.
//!
//! ```text
//! log ->  batch k: changes are gathered  |  batch k - 1: its pages are read by threads, in large pieces  |  batch k - 2: applied
//! ```
//! Reading pages one by one costs a turn of the disk for each. The pages of a few thousand changes, read in file order, need only a few
//! reads. Read-ahead only warms the pool: a page that could not be read, or was evicted again, is fixed like any other.

use super::analysis::PROGRESS_RECORDS;
use crate::buffer::{DamagedPages, DatabaseStorage};
use crate::error::{Error, Result};
use crate::log::{LogRecord, RecordKind};
use crate::ordered::Ordered;
use crate::page::{Change, PageId};
use std::collections::HashSet;
use std::ops::Range;
use vlf::Lsn;

/// Bytes of changes in one batch.
const BATCH_BYTES: usize = 8 << 20;
/// Pages read for one batch at most; a pool of few frames sets a lower limit.
const BATCH_PAGES_MAX: usize = 4_096;
/// Reads in flight.
const READERS: usize = 4;
/// Pages of one read at most, as many as the pool reads at once.
const RUN_PAGES_MAX: u32 = 64;
/// Pages not wanted that are read along rather than to begin another read.
const GAP_PAGES_MAX: u32 = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redone {
    /// Records read.
    pub records: u64,
    /// Changes of pages applied.
    pub applied: u64,
    /// Commit records at or before the end asked for.
    pub committed: u64,
    /// The last record looked at.
    pub last: Lsn,
}

/// Reads the log from `from` and applies what pages lack, up to and including `until` (`Lsn::MAX`: the end of the log).
///
/// # Errors
/// 824 for a page that is damaged and that nothing later in the log makes again; 9004 for damaged records.
pub fn redo(storage: &DatabaseStorage, from: Lsn, until: Lsn, progress: &mut dyn FnMut(Lsn)) -> Result<Redone> {
    let (redone, damaged) = redo_noting_damage(storage, from, until, progress)?;
    damaged.into_result()?;
    Ok(redone)
}

/// As [`redo`], but leaves it to the caller which damaged pages matter.
pub fn redo_noting_damage(
    storage: &DatabaseStorage,
    from: Lsn,
    until: Lsn,
    progress: &mut dyn FnMut(Lsn),
) -> Result<(Redone, DamagedPages)> {
    let mut redo = Redo::new(storage);
    let mut scan = storage.log.scan(from)?;
    while let Some(record) = scan.next()? {
        if record.lsn > until {
            break;
        }
        redo.meet(&record)?;
        if redo.done.records.is_multiple_of(PROGRESS_RECORDS) {
            progress(scan.position());
        }
    }
    redo.finish()
}

/// Changes to be applied, and the pages they need that are not in memory.
#[derive(Default)]
struct Batch {
    payloads: Vec<u8>,
    changes: Vec<(Lsn, Range<usize>)>,
    /// Pages met, so that each is looked for once.
    met: HashSet<PageId>,
    wanted: Vec<PageId>,
}

impl Batch {
    fn clear(&mut self) {
        self.payloads.clear();
        self.changes.clear();
        self.met.clear();
        self.wanted.clear();
    }

    fn add(&mut self, storage: &DatabaseStorage, lsn: Lsn, payload: &[u8]) -> Result<()> {
        let change = decode(storage, lsn, payload)?;
        let mut last = None;
        for entry in change.entries() {
            let (page, operation) = entry.map_err(|found| damage(storage, lsn, found.0))?;
            if last.replace(page) == Some(page) || !self.met.insert(page) {
                continue;
            }
            // The map on disk may not know of it, and the page may need nothing that would be written.
            storage.files.changes().mark(std::iter::once(page));
            if !operation.replaces_page() && !storage.pool.holds(storage.id, page) {
                self.wanted.push(page);
            }
        }
        let start = self.payloads.len();
        self.payloads.extend_from_slice(payload);
        self.changes.push((lsn, start..self.payloads.len()));
        Ok(())
    }

    /// The pages wanted, in the order of the files, as runs: the first and how many.
    fn runs(&mut self) -> Vec<(PageId, u32)> {
        self.wanted.sort_unstable();
        let mut runs: Vec<(PageId, u32)> = Vec::new();
        for page in &self.wanted {
            match runs.last_mut() {
                Some((first, count))
                    if first.file == page.file
                        && page.page - first.page < RUN_PAGES_MAX
                        && page.page - first.page <= *count + GAP_PAGES_MAX =>
                {
                    *count = page.page - first.page + 1;
                }
                _ => runs.push((*page, 1)),
            }
        }
        runs
    }
}

fn damage(storage: &DatabaseStorage, lsn: Lsn, what: &str) -> Error {
    Error::log_damaged(&storage.name, &format!("record {lsn}: {what}"))
}

fn decode<'p>(storage: &DatabaseStorage, lsn: Lsn, payload: &'p [u8]) -> Result<Change<'p>> {
    Change::decode(payload).map_err(|found| damage(storage, lsn, found.0))
}

/// Redo, record by record; [`Redo::finish`] ends it.
pub(super) struct Redo<'s> {
    storage: &'s DatabaseStorage,
    pub(super) done: Redone,
    damaged: DamagedPages,
    gathered: Batch,
    /// Its pages are being read.
    next: Batch,
    reads: Ordered<(PageId, u32), ()>,
    pages_max: usize,
}

impl<'s> Redo<'s> {
    pub(super) fn new(storage: &'s DatabaseStorage) -> Redo<'s> {
        let reads = Ordered::new(storage.env.background, "redo-read-ahead", READERS, || {
            let (pool, id) = (storage.pool.clone(), storage.id);
            move |(first, page_count)| {
                // A page that cannot be read now is met again when its change is applied, and reported then.
                let _ = pool.read_ahead(id, first, page_count);
            }
        });
        Redo {
            storage,
            done: Redone::default(),
            damaged: DamagedPages::new(),
            gathered: Batch::default(),
            next: Batch::default(),
            reads,
            pages_max: (storage.pool.frame_limit() / 8).clamp(1, BATCH_PAGES_MAX),
        }
    }

    /// Takes note of a record. What its pages lack of it is applied before [`Redo::finish`] is over.
    pub(super) fn meet(&mut self, record: &LogRecord<'_>) -> Result<()> {
        let kind = record.header.kind;
        self.done.records += 1;
        self.done.last = record.lsn;
        self.done.committed += u64::from(kind == RecordKind::Commit);
        if matches!(kind, RecordKind::Change | RecordKind::Compensation) && !record.payload.is_empty() {
            self.gathered.add(self.storage, record.lsn, record.payload)?;
            if self.gathered.payloads.len() >= BATCH_BYTES || self.gathered.wanted.len() >= self.pages_max {
                self.turn()?;
            }
        }
        Ok(())
    }

    /// Begins to read the pages of what was gathered, and applies the batch before meanwhile.
    fn turn(&mut self) -> Result<()> {
        while self.reads.next().is_some() {}
        for run in self.gathered.runs() {
            self.reads.submit(run);
        }
        for (lsn, place) in &self.next.changes {
            let payload = self.next.payloads.get(place.clone()).unwrap_or_default();
            let change = decode(self.storage, *lsn, payload)?;
            let (pool, id) = (&self.storage.pool, self.storage.id);
            self.done.applied += pool.redo(id, &change, *lsn, &mut self.damaged)? as u64;
        }
        self.next.clear();
        std::mem::swap(&mut self.next, &mut self.gathered);
        Ok(())
    }

    /// Applies what is left.
    pub(super) fn finish(mut self) -> Result<(Redone, DamagedPages)> {
        self.turn()?;
        self.turn()?;
        Ok((self.done, self.damaged))
    }
}
