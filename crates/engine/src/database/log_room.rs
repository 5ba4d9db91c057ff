//! Log space that checkpoints can free, and when a checkpoint runs before the log grows.
//!
//! | log used | thread | action |
//! |---|---|---|
//! | 70 % | the appending thread | wakes the instance's checkpoint thread, which has a checkpoint written if it is due ([`Database::is_truncation_due`]) |
//! | 85 % | a session that begins a transaction | first runs a checkpoint, or waits for the running one ([`Database::make_log_room`]) |
//! | all | the appending thread | the log grows |
//!
//! Usually the thread is early enough and no session waits. A session waits only for a checkpoint of few pages ([`PAGES_WAITED_FOR_MAX`]);
//! if there are very many pages to write, a growth is cheaper.
//!
//! **No deadlock.** A checkpoint waits for latches of pages, never for locks. A session comes here before its transaction begins, so it
//! holds no latch. In the middle of a transaction no session waits for a checkpoint. Log space is reserved for the checkpoint's own
//! records; if that is used up as well, the checkpoint fails with 9002, and the log grows.
//!
//! **No storm.** A checkpoint is due only if it would free a twentieth of the log. It cannot free log held by an open transaction, by a
//! backup, or until the next log backup, so it is not tried then. Sessions try once per VLF.

use super::Database;
use crate::cancel;
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// A checkpoint is due if it frees this part of the log, or more.
const FREED_PART_MIN: u64 = 20;
/// Pages that a session waits for: 32 MB, a fraction of a second on any disk of today.
const PAGES_WAITED_FOR_MAX: usize = 4096;

impl Database {
    /// From now on the log does not grow ahead of need where a checkpoint will do.
    pub(crate) fn watch_log(self: &Arc<Self>) {
        let database = Arc::downgrade(self);
        let can_free = move || database.upgrade().is_some_and(|database| database.is_truncation_due());
        self.storage.log.on_growth_ahead(can_free);
    }

    /// Whether a checkpoint alone would free a good part of the log, however full that is.
    pub fn is_truncation_due(&self) -> bool {
        let log = &self.storage.log;
        log.space().total_bytes <= FREED_PART_MIN * self.log_freed_by_checkpoint()
    }

    /// Log that a checkpoint of every page would free, in bytes.
    fn log_freed_by_checkpoint(&self) -> u64 {
        let is_kept = self.keeps_log_for_backup();
        if is_kept && !self.is_carrying_due() {
            return 0;
        }
        // The end first: a transaction that is not in the table yet begins behind it.
        let end = self.storage.log.end();
        let backup_start = is_kept.then(|| self.boot().log_backup_start);
        let held: [Option<Lsn>; 3] = [self.log_needed_after_carrying(), self.holds.oldest(), backup_start];
        let kept_from = held.into_iter().flatten().fold(end, Lsn::min);
        self.storage.log.bytes_before(kept_from)
    }

    /// Before a transaction begins: where the log is about to grow and a checkpoint of few pages would free some of it, has one
    /// written. The caller holds no latch.
    ///
    /// # Errors
    /// 3617 when the request is to stop. A checkpoint that fails is not the session's error: the instance's own meets the same and
    /// reports it, and the log grows.
    pub fn make_log_room(&self) -> Result<()> {
        let Some(sequence) = self.storage.log.short_of_room() else {
            return Ok(());
        };
        if self.room_tried_at.load(Ordering::Relaxed) == sequence || !self.is_truncation_due() {
            return Ok(());
        }
        let pages = self.storage.pool.dirty_pages(self.storage.id, PAGES_WAITED_FOR_MAX + 1);
        if pages <= PAGES_WAITED_FOR_MAX {
            let turn = self.wait_for_checkpoint_turn()?;
            // Others may have waited for the same, and one of them was first.
            let is_needed = self.storage.log.short_of_room() == Some(sequence) && self.is_truncation_due();
            if is_needed && self.checkpoint_in_turn(&turn).is_err() {
                cancel::look()?;
            }
        }
        self.room_tried_at.store(sequence, Ordering::Relaxed);
        Ok(())
    }
}
