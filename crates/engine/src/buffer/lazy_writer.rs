//! The lazy writer: a thread that writes dirty pages before eviction reaches them, so that a thread that needs a frame finds a
//! clean one.
//!
//! Eviction wakes it after finding dirty victims. It then writes the dirty pages ahead of the clock's hand that were not used recently. It
//! runs only if background threads are allowed; without it, eviction writes the same batches itself.

use super::bell::Bell;
use super::pool::BufferPool;
use crate::seams::Background;
use std::sync::{Arc, Weak};

/// The part of the pool in front of the hand that is kept clean: one in so many.
const AHEAD_DIVISOR: usize = 4;
/// Use counts up to this are worth writing: the hand takes such a frame at this turn or the next.
const USAGE_MAX: u8 = 1;

impl BufferPool {
    /// Starts the lazy writer, where the environment allows threads. It ends with the pool.
    pub fn start_lazy_writer(self: &Arc<BufferPool>) {
        if self.environment.background != Background::Threads {
            return;
        }
        let (pool, bell) = (Arc::downgrade(self), self.lazy_writer.clone());
        let thread = std::thread::Builder::new().name("lazy writer".to_string());
        if let Err(error) = thread.spawn(move || lazy_writer(&pool, &bell)) {
            let text =
                format!("The lazy writer could not be started ({error}); pages are written as frames are needed.");
            self.environment.errorlog.write("Server", text);
        }
    }

    /// Writes dirty pages in front of the hand.
    fn write_ahead_of_hand(&self) {
        let frames = self.frames_touched();
        let mut victims = Vec::new();
        let hand = self.hand_position();
        for index in (0..frames / AHEAD_DIVISOR).map(|step| (hand + step) % frames) {
            if self.is_lazy_victim(index, USAGE_MAX) {
                victims.push(index);
            }
        }
        for batch in victims.chunks(super::evict::VICTIMS_MAX) {
            // A failure has closed the database's files and is in the error log; the next thread that needs a frame gets the same error.
            if self.write_victims(batch).is_err() {
                break;
            }
        }
    }
}

fn lazy_writer(pool: &Weak<BufferPool>, bell: &Bell) {
    while bell.wait() {
        let Some(pool) = pool.upgrade() else { return };
        pool.write_ahead_of_hand();
    }
}
