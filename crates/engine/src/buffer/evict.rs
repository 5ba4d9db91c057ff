//! Eviction: the clock over the frames, and batches of dirty victims.

use super::arena::NO_KEY;
use super::batch::WriteReason;
use super::memory_ahead::is_calling_point;
use super::pool::BufferPool;
use super::{DatabaseId, key_parts};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Dirty victims gathered before they are written: 2 MB, so that two syncs pay for many frames.
pub(super) const VICTIMS_MAX: usize = 256;
/// Sweeps over all frames before the pool is declared full, at least. A sweep lowers every use count by one, and the counts end at 3.
const SWEEPS_MIN: usize = 64;
/// Frames looked at before the pool is declared full, at least. All frames of a small pool may be pinned for a moment, by a checkpoint that the
/// operating system does not let run: so few sweeps over them would be no time to wait for it.
const FRAMES_LOOKED_AT_MIN: usize = 1 << 20;

impl BufferPool {
    /// A free frame: pinned once, exclusively latched, in no table.
    pub(super) fn claim(&self) -> Result<usize> {
        let index = self.claim_pinned()?;
        // Free of everybody but this thread, so this never waits.
        self.frame(index).latch.exclusive();
        Ok(index)
    }

    pub(super) fn claim_pinned(&self) -> Result<usize> {
        let mut victims = Vec::new();
        let mut failure = None;
        let sweeps = SWEEPS_MIN.max(FRAMES_LOOKED_AT_MIN / self.frames.count().max(1));
        for turn in 0..sweeps {
            // Pages that cannot be written do not become writable by waiting.
            if turn >= SWEEPS_MIN && failure.is_some() {
                break;
            }
            // In each turn: memory that was lent may have come back.
            if let Some(index) = self.claim_unused().or_else(|| self.claim_likely_clean()) {
                return Ok(index);
            }
            if let Some(index) = self.sweep(&mut victims) {
                if !victims.is_empty() {
                    self.lazy_writer.ring();
                }
                return Ok(index);
            }
            if !victims.is_empty() {
                self.lazy_writer.ring();
                // Pages of a database whose files have failed stay in memory; others may still give way.
                failure = self.write_victims(&victims).err().or(failure);
                victims.clear();
            }
            std::thread::yield_now();
        }
        Err(failure.unwrap_or_else(Error::insufficient_memory))
    }

    fn claim_unused(&self) -> Option<usize> {
        if let Some(index) = self.unpark() {
            return Some(index);
        }
        let is_full = self.next_unused.load(Ordering::Relaxed) >= self.frames.count();
        if is_full || self.frames_in_use() >= self.frame_limit() {
            return None;
        }
        let index = self.next_unused.fetch_add(1, Ordering::AcqRel);
        if is_calling_point(index) {
            self.memory_ahead.ring();
        }
        if index >= self.frames.count() {
            return None;
        }
        self.frames.make(index);
        self.claim_empty(index).then_some(index)
    }

    fn claim_likely_clean(&self) -> Option<usize> {
        loop {
            let index = self.likely_clean.lock().pop()? as usize;
            if self.claim_if_free(index) {
                return Some(index);
            }
        }
    }

    /// One turn of the hand at most. Clean pages that were not used recently are taken; dirty ones are collected until there are enough.
    fn sweep(&self, victims: &mut Vec<usize>) -> Option<usize> {
        let touched = self.frames_touched();
        let enough = VICTIMS_MAX.min(touched / 2);
        for _ in 0..touched {
            let index = self.hand.fetch_add(1, Ordering::Relaxed) % touched;
            let frame = self.frame(index);
            if frame.pins.load(Ordering::Relaxed) != 0 {
                continue;
            }
            let usage = frame.usage.load(Ordering::Relaxed);
            if usage > 0 && frame.key.load(Ordering::Relaxed) != NO_KEY {
                frame.usage.store(usage - 1, Ordering::Relaxed);
            } else if frame.dirty.load(Ordering::Relaxed) {
                victims.push(index);
                if victims.len() >= enough {
                    return None;
                }
            } else if self.claim_if_free(index) {
                return Some(index);
            }
        }
        None
    }

    pub(super) fn hand_position(&self) -> usize {
        self.hand.load(Ordering::Relaxed) % self.frames_touched().max(1)
    }

    /// True for a dirty frame that is not fixed and was used at most so often.
    pub(super) fn is_lazy_victim(&self, index: usize, usage_max: u8) -> bool {
        let frame = self.frame(index);
        frame.dirty.load(Ordering::Relaxed)
            && frame.pins.load(Ordering::Relaxed) == 0
            && frame.usage.load(Ordering::Relaxed) <= usage_max
    }

    /// DBCC DROPCLEANBUFFERS: evicts every clean page that is not fixed. Returns their number.
    pub fn drop_clean(&self) -> usize {
        let mut dropped = 0;
        for index in 0..self.frames_touched() {
            let frame = self.frame(index);
            let key = frame.key.load(Ordering::Acquire);
            if key != NO_KEY && self.evict(index, key) {
                frame.pins.fetch_sub(1, Ordering::Release);
                dropped += 1;
            }
        }
        dropped
    }

    fn claim_if_free(&self, index: usize) -> bool {
        match self.frame(index).key.load(Ordering::Acquire) {
            NO_KEY => self.claim_empty(index),
            key => self.evict(index, key),
        }
    }

    /// Pins a frame that holds no page, if it is not pinned.
    fn claim_empty(&self, index: usize) -> bool {
        let frame = self.frame(index);
        if frame
            .pins
            .compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        // A thread that published a page here in between has released it again; it is an ordinary frame now.
        if frame.key.load(Ordering::Acquire) == NO_KEY {
            return true;
        }
        frame.pins.fetch_sub(1, Ordering::Release);
        false
    }

    /// Evicts a clean page. Under the shard's lock no thread can pin it by its key.
    fn evict(&self, index: usize, key: u64) -> bool {
        let frame = self.frame(index);
        let mut shard = self.shard(key).write();
        if shard.get(&key) != Some(&(index as u32)) {
            return false;
        }
        if frame
            .pins
            .compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            return false;
        }
        if frame.dirty.load(Ordering::Acquire) {
            frame.pins.fetch_sub(1, Ordering::Release);
            return false;
        }
        shard.remove(&key);
        frame.key.store(NO_KEY, Ordering::Release);
        true
    }

    fn is_broken(&self, database: DatabaseId) -> bool {
        self.attached(database).is_ok_and(|attached| attached.log.is_broken())
    }

    /// Pages of a database whose log has failed need no writing: no session may see them, and recovery rebuilds them from the disk. No
    /// checkpoint can take them for written, for none can end there.
    fn give_up(&self, keys: &[u64]) {
        for key in keys {
            if let Some(index) = self.pin(*key) {
                let frame = self.frame(index);
                *frame.state.lock() = Default::default();
                frame.dirty.store(false, Ordering::Release);
                frame.pins.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Writes dirty victims, database by database. Fails only when not one database's pages could be written.
    pub(super) fn write_victims(&self, victims: &[usize]) -> Result<()> {
        let mut by_database: BTreeMap<DatabaseId, Vec<u64>> = BTreeMap::new();
        for index in victims {
            let key = self.frame(*index).key.load(Ordering::Acquire);
            if key != NO_KEY {
                by_database.entry(key_parts(key).0).or_default().push(key);
            }
        }
        let mut outcome = Ok(());
        let mut wrote = by_database.is_empty();
        for (database, mut keys) in by_database {
            keys.sort_unstable();
            let written = self
                .attached(database)
                .and_then(|attached| self.write_batch(&attached, &keys, WriteReason::Eviction));
            match written {
                Ok(_) => wrote = true,
                Err(_) if self.is_broken(database) => {
                    self.give_up(&keys);
                    wrote = true;
                }
                Err(error) => outcome = Err(error),
            }
        }
        let hints = victims.iter().map(|index| *index as u32);
        self.likely_clean.lock().extend(hints);
        if wrote { Ok(()) } else { outcome }
    }
}
