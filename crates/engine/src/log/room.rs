//! A log that fills up alerts its owner early: a checkpoint may free space, so that the log need not grow.
//!
//! | the log | the thread that seals a block or enters a VLF |
//! |---|---|
//! | is [`NEARLY_FULL_PERCENT`] full | alerts the owner, once per VLF (SQL Server's automatic checkpoint under the simple recovery model comes at 70 %: sql-docs, "Database checkpoints") |
//! | is [`SHORT_OF_ROOM_PERCENT`] full | sets [`LogManager::short_of_room`], which beginning transactions check |
//! | has entered its last free VLF, and grows ahead of need | asks the owner; while a checkpoint would free space, the log grows only when it is full |
//!
//! If a record does not fit, its thread does not wait for a checkpoint, because it holds page latches that the checkpoint may wait for. The
//! log grows.
//!
//! Invariant: the owner is called with the log's mutex free.

use super::LogManager;
use super::hold::Held;
use super::state::LogState;
use crate::seams::Background;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// From here on the owner is called.
pub const NEARLY_FULL_PERCENT: u64 = 70;
/// From this level on, beginning transactions make space.
const SHORT_OF_ROOM_PERCENT: u64 = 85;

impl LogManager {
    /// `tell` is called when the log is nearly full, by an appending thread: it must not wait. Only the first registration
    /// counts.
    pub fn on_nearly_full(&self, tell: impl Fn() + Send + Sync + 'static) {
        // A second one would be a second owner of this log, which there is none.
        let _ = self.on_nearly_full.set(Box::new(tell));
    }

    /// `can_free` answers whether a checkpoint would free some of the log, and nothing else is needed for that. It must not use
    /// pages. Only the first registration counts.
    pub fn on_growth_ahead(&self, can_free: impl Fn() -> bool + Send + Sync + 'static) {
        // As above.
        let _ = self.on_growth_ahead.set(Box::new(can_free));
    }

    /// Sequence of the VLF in which the log is so full that it is about to grow; `None` while there is room.
    pub fn short_of_room(&self) -> Option<u32> {
        match self.short_of_room.load(Ordering::Relaxed) {
            0 => None,
            sequence => Some(sequence),
        }
    }

    /// Bytes of the VLFs in use that lie wholly before `lsn`.
    pub fn bytes_before(&self, lsn: Lsn) -> u64 {
        self.hold().table.bytes_before(lsn.vlf)
    }

    /// Takes notice of how full the log is; true when the owner should be called.
    pub(super) fn note_fullness(&self, state: &mut LogState) -> bool {
        let Some(sequence) = state.tail.as_ref().map(|tail| tail.sequence) else {
            return false;
        };
        let (used, total) = (state.used_bytes(), state.table.total_bytes());
        let is_full = |percent: u64| used * 100 >= total * percent;
        let short = if is_full(SHORT_OF_ROOM_PERCENT) { sequence } else { 0 };
        self.short_of_room.store(short, Ordering::Relaxed);
        is_full(NEARLY_FULL_PERCENT) && std::mem::replace(&mut state.told_full_at, sequence) != sequence
    }

    pub(super) fn tell_owner(&self) {
        if let Some(tell) = self.on_nearly_full.get() {
            tell();
        }
    }

    /// The last free VLF was entered: grows ahead of need, unless a checkpoint will do.
    pub(super) fn grow_ahead_or_wait<'l>(&'l self, mut state: Held<'l>) -> Held<'l> {
        let can_free = Held::unlocked(&mut state, || {
            self.on_growth_ahead.get().is_some_and(|can_free| can_free())
        });
        // Another thread found the log full meanwhile and has made it grow.
        let is_due = !state.resizing && state.table.free_count() == 0;
        state.growth_withheld = is_due && can_free;
        if is_due && !can_free {
            self.grow_ahead(&mut state);
        }
        state
    }

    /// A truncation is over. Had a growth waited for it in vain, it comes now.
    pub(super) fn note_truncation(&self, mut state: Held<'_>) {
        self.note_fullness(&mut state);
        let was_withheld = std::mem::take(&mut state.growth_withheld);
        if was_withheld && state.table.free_count() == 0 && self.env.background == Background::Threads {
            self.worker.ask(true);
        }
    }
}
