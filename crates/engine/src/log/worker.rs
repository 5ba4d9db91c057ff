//! The log's background threads: grow ahead of need, write full blocks nobody waits for yet, and warm space.
//!
//! There are two threads. During a bulk load, one computes the checksums and copies of a write while the other's write is on its way to the
//! disk, and the session keeps filling pages.
//!
//! **Warming.** The first durable write into space that the file system has only reserved updates metadata (about 50 us on ext4, measured
//! with O_DIRECT|O_DSYNC). So a thread writes zeros over the next [`WARM_AHEAD_BYTES`] ahead of the log, in parts of VLFs that were never
//! written. Nothing depends on it, because the space reads as zeros anyway. If blocks queue up faster than they are written, they come
//! first. The range being zeroed is published in [`LogState::warming`], and the log does not open a block in it.
//!
//! The threads could not zero new space in time if it is nearer to the writing end than [`WARM_DISTANCE_BYTES`]. So the growth itself zeros
//! it, before the log may use the space ([`LogState::near_bytes`]): all of a growth by 1 MB, nothing of a growth that comes when 8 MB are
//! left. The growth's own sync then pays for the file system's journal, and the log's writes do not.

use super::LogManager;
use super::hold::Held;
use super::state::{LogState, WarmChunk};
use super::table::VlfPlace;
use crate::error::Result;
use crate::waits::WaitType;
use disk::{File, zeros};
use parking_lot::{Condvar, Mutex};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use vlf::VlfSequence;

/// How many threads there are.
const THREADS: usize = 2;
/// How long closing a log waits for the work of other threads after one has panicked.
const AFTER_PANIC_MAX: Duration = Duration::from_secs(1);
/// How far ahead of the log space is kept written.
const WARM_AHEAD_BYTES: u64 = 64 << 20;
/// One write of zeros.
const WARM_CHUNK_BYTES: u64 = 1 << 20;
/// Blocks that gather during one write of the log when a bulk load is under way, and never by commits alone: half a write.
const BULK_BLOCKS: usize = 8;
/// Distance the zeros keep from the writing end, over the borders of VLFs: more than the log writes while one chunk is zeroed.
/// A distance that ended with the VLF had the log run into them in every small one.
pub(super) const WARM_DISTANCE_BYTES: u64 = 8 << 20;

/// What a thread shall do next.
#[derive(Default)]
struct Requests {
    growth: bool,
    warm: bool,
    stop: bool,
    /// Threads at work.
    busy: usize,
}

/// How the threads get their work. Outlives the log by the moment it takes them to see `stop`.
#[derive(Default)]
pub(super) struct Worker {
    requests: Mutex<Requests>,
    wake: Condvar,
    idle: Condvar,
}

impl Worker {
    /// Asks for a growth ahead of need, or only for a look at what can be written and warmed.
    pub(super) fn ask(&self, growth: bool) {
        let mut requests = self.requests.lock();
        requests.growth |= growth;
        requests.warm = true;
        self.wake.notify_one();
    }

    /// Ends the threads after what they are doing.
    pub(super) fn stop(&self) {
        self.requests.lock().stop = true;
        self.wake.notify_all();
    }

    /// Ends the threads and waits until they touch nothing any more.
    fn stop_and_wait(&self) {
        self.stop();
        let mut requests = self.requests.lock();
        while requests.busy > 0 {
            self.idle.wait(&mut requests);
        }
    }

    /// Waits for something to do: whether it is growth, and what says that it is done; `None` = stop.
    fn next(&self) -> Option<(bool, Busy<'_>)> {
        let mut requests = self.requests.lock();
        while !(requests.growth || requests.warm || requests.stop) {
            self.wake.wait(&mut requests);
        }
        if requests.stop {
            return None;
        }
        requests.busy += 1;
        requests.warm = false;
        Some((std::mem::take(&mut requests.growth), Busy(self)))
    }
}

/// A thread does the work that [`Worker::next`] gave it until this is dropped, by a panic too: otherwise closing the log would
/// wait forever.
struct Busy<'w>(&'w Worker);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.requests.lock().busy -= 1;
        self.0.idle.notify_all();
    }
}

/// Starts the threads. They hold the log only while they work for it.
pub(super) fn start(log: &Arc<LogManager>) -> Result<()> {
    for _ in 0..THREADS {
        let worker = log.worker.clone();
        let log: Weak<LogManager> = Arc::downgrade(log);
        let body = move || {
            while let Some((growth, _busy)) = worker.next() {
                if let Some(log) = log.upgrade() {
                    log.do_background_work(growth);
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-background".to_string());
        thread
            .spawn(body)
            .map_err(|error| crate::error::Error::operating_system("starting the log's thread", &error.to_string()))?;
    }
    Ok(())
}

impl LogManager {
    /// Closes the log: from now on every call answers 9001, and when this returns nothing of this log touches its files any
    /// more, so that they may be opened again, moved or deleted. What was not flushed before is gone.
    pub fn close(&self) {
        self.save_directory();
        self.failed.store(true, Ordering::SeqCst);
        let clock = &*self.env.clock;
        self.env.waits.time(clock, WaitType::LogManager, || {
            self.worker.stop_and_wait();
            let mut state = self.hold();
            while !state.flight.is_idle() || state.resizing || state.directory.saving {
                if self.has_panicked() {
                    // The work of the thread that is gone never ends; others' does within the time of a write.
                    Held::wait_for(&mut state, &self.room, AFTER_PANIC_MAX);
                    break;
                }
                Held::wait(&mut state, &self.room);
            }
        });
    }

    fn do_background_work(&self, growth: bool) {
        let mut state = self.hold();
        if growth {
            state = self.grow_ahead_or_wait(state);
        }
        let mut is_bulk = false;
        if state.may_begin_write(0) && self.check_usable().is_ok() {
            // A failure latches the log and is reported to the waiters.
            let written = self.lead_write(&mut state);
            // A bulk load waits for this thread: its large writes hardly feel what small ones pay for unwritten space.
            is_bulk = written.is_ok() && state.queue.len() >= BULK_BLOCKS;
        }
        drop(state);
        if is_bulk || self.warm_one_chunk() {
            self.worker.ask(false);
        }
    }

    /// Writes zeros over the next chunk, if there is one; false when enough lies ahead.
    pub(super) fn warm_one_chunk(&self) -> bool {
        let mut state = self.hold();
        if state.resizing || state.warming.is_some() || self.check_usable().is_err() {
            return false;
        }
        let Some((chunk, file, file_offset)) = state.next_cold_chunk() else {
            return false;
        };
        let (place, range) = (chunk.place, chunk.range.clone());
        state.warming = Some(chunk);
        drop(state);
        let written = file.write_at(file_offset, zeros((range.end - range.start) as usize));
        let mut state = self.hold();
        state.warming = None;
        if let Some(vlf) = state.table.vlf_mut(place) {
            // A failed write is not tried again; the log's own write will meet the fault if it is real.
            vlf.written_bytes = if written.is_ok() { range.end } else { u64::MAX };
        }
        self.room.notify_all();
        written.is_ok()
    }
}

impl LogState {
    /// Of the space that a growth by `growth_bytes` is about to add, the bytes that lie nearer to the writing end than
    /// [`WARM_DISTANCE_BYTES`]. Only VLFs that were never used come before those that are added.
    pub(super) fn near_bytes(&self, growth_bytes: u64) -> u64 {
        let Some(tail) = self.tail.as_ref() else { return 0 };
        let mut ahead = tail.vlf_bytes.saturating_sub(tail.block_offset);
        for place in self.table.ring() {
            let unused = self
                .table
                .vlf(place)
                .filter(|vlf| vlf.header.sequence == VlfSequence::UNUSED);
            let Some(vlf) = unused.filter(|_| ahead < WARM_DISTANCE_BYTES) else {
                break;
            };
            ahead += vlf.header.vlf_bytes;
        }
        growth_bytes.min(WARM_DISTANCE_BYTES.saturating_sub(ahead))
    }

    pub(super) fn next_cold_chunk(&self) -> Option<(WarmChunk, Arc<dyn File>, u64)> {
        let tail = self.tail.as_ref()?;
        let entered_later = self.table.ring().map(|place| (place, 0));
        // What the log has still to write before it comes to `entered_at` of the VLF at `place`.
        let mut ahead = 0;
        for (place, entered_at) in std::iter::once((tail.place, tail.block_offset)).chain(entered_later) {
            if ahead >= WARM_DISTANCE_BYTES + WARM_AHEAD_BYTES {
                break;
            }
            let vlf = self.table.vlf(place)?;
            let from = match ahead < WARM_DISTANCE_BYTES {
                true => entered_at + (WARM_DISTANCE_BYTES - ahead),
                false => 0,
            };
            let enough = entered_at + (WARM_DISTANCE_BYTES + WARM_AHEAD_BYTES - ahead);
            if let Some(range) = self.cold_range(place, from).filter(|range| range.start < enough) {
                let file = self.table.files.get(&place.file)?.handle.clone();
                let file_offset = vlf.header.start_offset + range.start;
                return Some((WarmChunk { place, range }, file, file_offset));
            }
            ahead += vlf.header.vlf_bytes.saturating_sub(entered_at);
        }
        None
    }

    /// The first part of a VLF, not before `from`, that was never written.
    fn cold_range(&self, place: VlfPlace, from: u64) -> Option<Range<u64>> {
        let vlf = self.table.vlf(place)?;
        let start = vlf.written_bytes.max(from.next_multiple_of(WARM_CHUNK_BYTES));
        let chunk_end = |start: u64| (start / WARM_CHUNK_BYTES + 1) * WARM_CHUNK_BYTES;
        (start < vlf.header.vlf_bytes).then(|| start..chunk_end(start).min(vlf.header.vlf_bytes))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A panic in background work left the thread counted as busy, and closing the log waited forever.
    #[test]
    fn work_that_panics_is_done_as_well() {
        let worker = Worker::default();
        worker.ask(true);
        let working = || {
            let (growth, _busy) = worker.next().unwrap();
            assert!(growth);
            panic!("of the work")
        };
        assert!(catch_unwind(AssertUnwindSafe(working)).is_err());
        worker.stop_and_wait();
        assert!(worker.next().is_none());
    }
}
