//! Writing dirty pages: batches, checkpoints' flushes, and how far back redo must begin.

#![allow(
    unsafe_code,
    reason = "a pin and a latch taken here pass to the guard that gives them back"
)]

use super::arena::NO_KEY;
use super::double_write::BATCH_PAGES_MAX;
use super::pool::{Attached, BufferPool};
use super::{DatabaseId, PageRead, key_parts};
use crate::cancel;
use crate::error::{Error, Result};
use crate::page::PageId;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Why pages are written, for the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteReason {
    Checkpoint,
    Eviction,
}

/// What a batch came to.
#[derive(Default)]
pub(super) struct BatchOutcome {
    /// Pages written, durable now.
    pub pages_written: usize,
    /// Pages that others had latched exclusively.
    pub busy: Vec<u64>,
}

impl BufferPool {
    /// Writes those of the pages that are dirty, durable on return. Keys are sorted and at most [`BATCH_PAGES_MAX`].
    pub(super) fn write_batch(&self, attached: &Attached, keys: &[u64], reason: WriteReason) -> Result<BatchOutcome> {
        let mut outcome = BatchOutcome::default();
        let mut batch = attached.files.lock_batch();
        batch.clear();
        let mut taken = Vec::with_capacity(keys.len());
        let mut newest = Lsn::ZERO;
        for key in keys {
            match self.fix_for_writing(*key) {
                Fixed::Page(index, page) => {
                    newest = newest.max(page.view().lsn());
                    let target = match self.take_dirt(index) {
                        true => &mut batch.rebuildable,
                        false => &mut batch.copied,
                    };
                    target.push(page.id(), &page);
                    taken.push(index);
                }
                Fixed::Busy => outcome.busy.push(*key),
                Fixed::Clean => {}
            }
        }
        if taken.is_empty() {
            return Ok(outcome);
        }
        // Log first: nothing below may reach a file before the log does.
        let written = attached
            .log
            .flush_to(newest)
            .and_then(|()| attached.files.write_batch(&mut batch));
        for index in &taken {
            self.settle_dirt(*index, written.is_ok());
        }
        written?;
        outcome.pages_written = taken.len();
        let counter = match reason {
            WriteReason::Checkpoint => &self.counters.pages_written_by_checkpoint,
            WriteReason::Eviction => &self.counters.pages_written_by_eviction,
        };
        counter.fetch_add(taken.len() as u64, Ordering::Relaxed);
        Ok(outcome)
    }

    /// Fixes a dirty page without waiting. A page found carries one pin more than its guard, which
    /// [`BufferPool::settle_dirt`] gives back: until then its file has an old image, so it must not be evicted.
    fn fix_for_writing(&self, key: u64) -> Fixed<'_> {
        let Some(index) = self.pin(key) else {
            return Fixed::Clean;
        };
        let frame = self.frame(index);
        let is_latched = frame.dirty.load(Ordering::Acquire) && frame.latch.try_shared();
        if !is_latched {
            let is_dirty = frame.dirty.load(Ordering::Acquire);
            frame.pins.fetch_sub(1, Ordering::Release);
            return if is_dirty { Fixed::Busy } else { Fixed::Clean };
        }
        // SAFETY: pinned and latched just now.
        let page = unsafe { PageRead::adopt(self, index) };
        if !frame.dirty.load(Ordering::Acquire) {
            return Fixed::Clean;
        }
        frame.pins.fetch_add(1, Ordering::Acquire);
        Fixed::Page(index, page)
    }

    /// Moves the dirt of a latched page into the batch; true when redo could make the page from nothing.
    fn take_dirt(&self, index: usize) -> bool {
        let frame = self.frame(index);
        let mut state = frame.state.lock();
        state.writing_lsn = state.recovery_lsn.take();
        frame.dirty.store(false, Ordering::Release);
        std::mem::take(&mut state.rebuildable)
    }

    /// Ends the write of a page: clean unless changed since, or as dirty as before when the write failed.
    fn settle_dirt(&self, index: usize, is_durable: bool) {
        let frame = self.frame(index);
        let mut state = frame.state.lock();
        let written = state.writing_lsn.take();
        if !is_durable {
            state.recovery_lsn = written.or(state.recovery_lsn);
            state.rebuildable = false;
            frame.dirty.store(true, Ordering::Release);
        }
        drop(state);
        frame.pins.fetch_sub(1, Ordering::Release);
    }

    /// Writes the dirty pages of a database, or only those whose first change is at or before `up_to`, in page order and large
    /// batches; durable on return. Pages changed meanwhile may stay dirty. Waits for latches: the caller holds none. Returns the
    /// number of pages written.
    ///
    /// # Errors
    /// Errors of the log's flush; 3617 and 6005 when it is to stop; 823 when a write or sync fails, which closes the database's files.
    pub fn flush_database(&self, database: DatabaseId, up_to: Option<Lsn>) -> Result<usize> {
        let mut keys = Vec::new();
        self.for_each_dirt(database, |key, lsn| {
            if up_to.is_none_or(|up_to| lsn <= up_to) {
                keys.push(key);
            }
        });
        self.flush_pages(database, keys)
    }

    /// From then on, in microseconds of the environment's clock, checkpoints write nothing more and end with 6005.
    pub fn write_until(&self, micros: u64) {
        self.write_until_micros.store(micros, Ordering::Relaxed);
    }

    /// Whether a checkpoint may write its next batch.
    fn check_goes_on(&self) -> Result<()> {
        cancel::look()?;
        let until = self.write_until_micros.load(Ordering::Relaxed);
        if until != u64::MAX && self.environment.clock.now_micros() >= until {
            return Err(Error::shutdown_in_progress());
        }
        Ok(())
    }

    /// Of the dirty pages whose first change is before `first_change_before`, writes the `pages_max` with the oldest. Otherwise as
    /// [`BufferPool::flush_database`].
    ///
    /// # Errors
    /// As [`BufferPool::flush_database`].
    pub fn flush_oldest(&self, database: DatabaseId, first_change_before: Lsn, pages_max: usize) -> Result<usize> {
        let mut oldest = Vec::new();
        self.for_each_dirt(database, |key, lsn| {
            if lsn < first_change_before {
                oldest.push((lsn, key));
            }
        });
        if pages_max < oldest.len() {
            oldest.select_nth_unstable(pages_max);
            oldest.truncate(pages_max);
        }
        self.flush_pages(database, oldest.into_iter().map(|(_, key)| key).collect())
    }

    fn flush_pages(&self, database: DatabaseId, mut keys: Vec<u64>) -> Result<usize> {
        let attached = self.attached(database)?;
        keys.sort_unstable();
        let mut pages_written = 0;
        while !keys.is_empty() {
            let mut busy = Vec::new();
            for chunk in keys.chunks(BATCH_PAGES_MAX) {
                self.check_goes_on()?;
                let outcome = self.write_batch(&attached, chunk, WriteReason::Checkpoint)?;
                pages_written += outcome.pages_written;
                busy.extend(outcome.busy);
            }
            // Busy pages are waited for here, where no mutex is held, and then tried again.
            for key in &busy {
                self.wait_until_unlatched(*key);
            }
            keys = busy;
        }
        Ok(pages_written)
    }

    fn wait_until_unlatched(&self, key: u64) {
        if let Some(index) = self.pin(key) {
            let frame = self.frame(index);
            frame.latch.shared();
            // SAFETY: pinned and latched just now; the guard only gives both back.
            drop(unsafe { PageRead::adopt(self, index) });
        }
    }

    /// LSN of the oldest change that a file does not have yet: redo begins there or at the checkpoint, whichever is older.
    /// Take the checkpoint's own LSN first, then call this: changes logged before it are then counted, because pages being
    /// changed are waited for. The caller holds no latch.
    pub fn oldest_dirty(&self, database: DatabaseId) -> Option<Lsn> {
        let mut oldest: Option<Lsn> = None;
        self.for_each_dirt(database, |_, lsn| {
            oldest = Some(oldest.map_or(lsn, |oldest| oldest.min(lsn)))
        });
        oldest
    }

    /// Visits every page of the database that its file does not have as it is.
    pub fn each_dirty(&self, database: DatabaseId, visit: &mut dyn FnMut(PageId)) {
        self.for_each_dirt(database, |key, _| visit(key_parts(key).1));
    }

    /// The number of dirty pages of the database, counted up to `count_max`. Never waits.
    pub fn dirty_pages(&self, database: DatabaseId, count_max: usize) -> usize {
        let is_dirty = |index: &usize| {
            let frame = self.frame(*index);
            let key = frame.key.load(Ordering::Acquire);
            frame.dirty.load(Ordering::Relaxed) && key != NO_KEY && key_parts(key).0 == database
        };
        (0..self.frames_touched()).filter(is_dirty).take(count_max).count()
    }

    /// Every page of the database that is dirty or being written, with the LSN of its first change.
    fn for_each_dirt(&self, database: DatabaseId, mut visit: impl FnMut(u64, Lsn)) {
        for index in 0..self.frames_touched() {
            let frame = self.frame(index);
            let key = frame.key.load(Ordering::Acquire);
            if key == NO_KEY || key_parts(key).0 != database {
                continue;
            }
            if frame.latch.is_exclusive() {
                self.wait_until_unlatched(key);
            }
            let state = *frame.state.lock();
            let lsns = state.writing_lsn.into_iter().chain(state.recovery_lsn);
            if let Some(lsn) = lsns.min() {
                visit(key, lsn);
            }
        }
    }
}

enum Fixed<'p> {
    Page(usize, PageRead<'p>),
    Busy,
    Clean,
}
