//! Memory for unused frames, allocated by the system ahead of need.
//!
//! The first access to memory makes the system find and clear it. Filling a table uses a frame per page, and the filling thread would spend
//! about half its time on this. A separate thread does it instead.
//!
//! ```text
//! frames: | used ............ | memory taken, not used yet | address space only ......... |
//!         0                 next                    next + ahead                       the end
//! ```
//! The thread stays ahead by as many frames as are in use, at most 64 MB, so a small pool stays small. Nothing waits for the thread. If it
//! is behind or not running, the first access allocates the memory as usual.

use super::bell::Bell;
use super::pool::BufferPool;
use crate::seams::Background;
use std::sync::{Arc, Weak};

/// Frames whose memory is taken at once: 512 KB, so that other threads that map memory do not wait long.
const STRETCH_FRAMES: usize = 64;
/// Frames taken ahead at most: 64 MB.
const AHEAD_FRAMES_MAX: usize = 8_192;

/// True for frames at which the thread is to be called.
pub(super) fn is_calling_point(frame: usize) -> bool {
    frame.is_multiple_of(STRETCH_FRAMES)
}

/// The next stretch to take, `taken` frames being done and `used` in use; `None` when enough is taken.
fn next_stretch(taken: usize, used: usize, frame_count: usize) -> Option<std::ops::Range<usize>> {
    let wanted = (used + used.min(AHEAD_FRAMES_MAX)).min(frame_count);
    let start = taken.max(used);
    (start < wanted).then(|| start..(start + STRETCH_FRAMES).min(wanted))
}

impl BufferPool {
    /// Frames from 0 on that may be used as things are: those used once, and unused ones within the limit.
    fn frames_usable(&self) -> usize {
        let room = self.frame_limit().saturating_sub(self.frames_in_use());
        (self.frames_touched() + room).min(self.frames.count())
    }

    /// Starts the thread, where the environment allows threads. It ends with the pool.
    pub fn start_memory_ahead(self: &Arc<BufferPool>) {
        if self.environment.background != Background::Threads {
            return;
        }
        let (pool, bell) = (Arc::downgrade(self), self.memory_ahead.clone());
        let thread = std::thread::Builder::new().name("buffer memory".to_string());
        if let Err(error) = thread.spawn(move || memory_ahead(&pool, &bell)) {
            let text = format!("Memory cannot be taken ahead ({error}); it is taken as pages are read and made.");
            self.environment.errorlog.write("Server", text);
        }
    }
}

fn memory_ahead(pool: &Weak<BufferPool>, bell: &Bell) {
    let mut taken = 0;
    while bell.wait() {
        let Some(pool) = pool.upgrade() else { return };
        while let Some(stretch) = next_stretch(taken, pool.frames_touched(), pool.frames_usable()) {
            taken = stretch.end;
            if !pool.arena.populate(stretch) {
                return; // a system that cannot
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_keep_ahead_of_use_and_end_with_the_pool() {
        // taken, used, frames in all -> the next stretch
        let table = [
            (0, 0, 1000, None),
            (0, 10, 1000, Some(10..20)),
            (20, 10, 1000, None),
            (20, 40, 1000, Some(40..80)),
            (100, 400, 1000, Some(400..464)),
            (464, 400, 1000, Some(464..528)),
            (784, 400, 1000, Some(784..800)),
            (800, 900, 1000, Some(900..964)),
            (964, 900, 1000, Some(964..1000)),
            (1000, 1000, 1000, None),
            (50_000, 50_000, 1_000_000, Some(50_000..50_064)),
            (58_192, 50_000, 1_000_000, None),
        ];
        for (taken, used, frames, expected) in table {
            assert_eq!(next_stretch(taken, used, frames), expected, "{taken} {used} {frames}");
        }
    }
}
