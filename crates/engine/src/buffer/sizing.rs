//! The number of frames that may be in use: fewer while queries need the memory, or when `max server memory` was lowered.
//!
//! ```text
//! frames: | a page, or empty: in use | parked: no memory behind them | never used: address space only |
//! limit of those in use = target - lent, and never less than a quarter of the target
//! ```
//! The target is the rest of `max server memory`; the lent part belongs to the workspace ([`crate::workspace`]). A frame is freed as for
//! another page: by the clock, after writing a dirty page. Then it is *parked*: pinned, in no table, with its memory returned to the
//! system. If the limit allows, parked frames are used again before unused ones.
//!
//! The borrower parks the frames, so the memory is free when [`BufferPool::give_way`] returns. It frees less only if every frame is fixed
//! or pages cannot be written; the next call tries again.

#![allow(unsafe_code, reason = "frames claimed here give their memory back")]

use super::pool::{BufferPool, FRAMES_MIN};
use crate::page::PAGE_BYTES;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frames parked together, so that neighbours go back to the system with one call.
const PARKED_AT_ONCE_MAX: usize = 256;
/// The part of the target that is never lent: one in so many.
const KEPT_DIVISOR: usize = 4;

pub(super) struct Sizing {
    target: AtomicUsize,
    lent: AtomicUsize,
    parked: Mutex<Vec<u32>>,
    /// Length of `parked`, to be read without its mutex.
    parked_count: AtomicUsize,
}

impl Sizing {
    pub fn new(target: usize) -> Sizing {
        Sizing {
            target: AtomicUsize::new(target),
            lent: AtomicUsize::new(0),
            parked: Mutex::default(),
            parked_count: AtomicUsize::new(0),
        }
    }

    fn limit(&self) -> usize {
        limit_of(self.target.load(Ordering::Acquire), self.lent.load(Ordering::Acquire))
    }
}

/// Frames that may be in use.
fn limit_of(target: usize, lent: usize) -> usize {
    let kept = (target / KEPT_DIVISOR).max(FRAMES_MIN);
    target.saturating_sub(lent).max(kept)
}

impl BufferPool {
    /// Frames that may be in use at this moment.
    pub fn frame_limit(&self) -> usize {
        self.sizing.limit()
    }

    /// Frames that have memory, or are about to.
    pub(super) fn frames_in_use(&self) -> usize {
        let parked = self.sizing.parked_count.load(Ordering::Acquire);
        self.frames_touched().saturating_sub(parked)
    }

    /// Memory of the frames in use, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.frames_in_use() * PAGE_BYTES) as u64
    }

    /// Makes the pool use so many bytes at most, what is lent included; no more than it was made for. What is too much is
    /// given up before this returns.
    pub fn resize(&self, bytes: u64) {
        let frames = usize::try_from(bytes / PAGE_BYTES as u64).unwrap_or(usize::MAX);
        let target = frames.clamp(FRAMES_MIN, self.frames.count());
        self.sizing.target.store(target, Ordering::Release);
        self.give_way();
    }

    /// The memory of so many frames in all is wanted elsewhere. Call [`BufferPool::give_way`] after raising it.
    pub fn set_lent(&self, frames: usize) {
        self.sizing.lent.store(frames, Ordering::Release);
    }

    /// Parks what is in use beyond the limit, as far as it gives way.
    pub fn give_way(&self) {
        loop {
            let surplus = self.frames_in_use().saturating_sub(self.frame_limit());
            if surplus == 0 || !self.park(surplus.min(PARKED_AT_ONCE_MAX)) {
                return;
            }
        }
    }

    /// Parks some frames; false when none gives way.
    fn park(&self, count: usize) -> bool {
        let claimed = std::iter::from_fn(|| self.claim_pinned().ok());
        let mut claimed: Vec<u32> = claimed.take(count).map(|index| index as u32).collect();
        claimed.sort_unstable();
        for run in claimed.chunk_by(|a, b| a + 1 == *b) {
            let first = run[0] as usize;
            // SAFETY: claimed just now, so pinned by this thread alone and in no table.
            unsafe { self.arena.release(first..first + run.len()) };
        }
        let mut parked = self.sizing.parked.lock();
        parked.extend_from_slice(&claimed);
        self.sizing.parked_count.store(parked.len(), Ordering::Release);
        !claimed.is_empty()
    }

    /// A parked frame that may be used again, still pinned.
    pub(super) fn unpark(&self) -> Option<usize> {
        if self.sizing.parked_count.load(Ordering::Acquire) == 0 || self.frames_in_use() >= self.frame_limit() {
            return None;
        }
        let mut parked = self.sizing.parked.lock();
        let index = parked.pop();
        self.sizing.parked_count.store(parked.len(), Ordering::Release);
        index.map(|index| index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_target_is_never_lent() {
        // target, lent -> limit
        let table = [
            (1000, 0, 1000),
            (1000, 1, 999),
            (1000, 750, 250),
            (1000, 751, 250),
            (1000, usize::MAX, 250),
            (16, 0, 16),
            (16, 12, FRAMES_MIN),
            (FRAMES_MIN, 3, FRAMES_MIN),
        ];
        for (target, lent, limit) in table {
            assert_eq!(limit_of(target, lent), limit, "{target} {lent}");
        }
    }
}
