//! Making the log durable: leader and followers, without handing work to another thread.
//!
//! ```text
//! session A  append commit -> nobody writes: seal, write 1 ------------> done
//! session B      append commit -> A writes: wait ......... lead write 2 ----------> done
//! session C          append commit -> A writes: wait ......................... covered by write 2
//! ```
//! The first to come writes everything sealed so far, itself. Who comes meanwhile waits; when the write is done, those it
//! covered go on and exactly one of the others leads the next write, which covers all of them.
//!
//! Two condition variables alternate, one per write number's parity, so that the end of write `n` wakes all who wait for
//! `n` and one of those who wait for `n + 1`. No wake-up is lost: whoever waits does so for `n` or `n + 1` under the mutex,
//! the end of every write signals both, and the one woken as leader either leads or finds that a newcomer does, whose end
//! will signal again.
//!
//! Writes are strictly in order, each durable before the next begins. So what a power cut leaves is a prefix of the log, but
//! for the one write it interrupts, whose torn blocks the chain of checksums cuts off. The first failed write closes the log
//! for good: what the device holds is unknown then, and a second try could only pretend (error 9001 from then on).

use super::LogManager;
use super::counters::add;
use super::state::{LogPosition, LogState};
use super::write::Writer;
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::DiskError;
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;
use vlf::Lsn;

impl LogManager {
    /// Returns when the record at `lsn`, and all before it, are durable. LSNs beyond the end of the log mean its end. A log that
    /// is not resumed yet has nothing to write; see [`LogManager::sync`].
    ///
    /// # Errors
    /// 9001 when a write of the log has failed, now or before, unless the record was durable already.
    pub fn flush_to(&self, lsn: Lsn) -> Result<()> {
        let target = LogPosition::of(lsn);
        if target < self.durable() || !self.is_resumed() {
            return Ok(());
        }
        let start = self.env.clock.now_micros();
        let result = self.wait_until_durable(target);
        let waited_micros = self.env.clock.now_micros().saturating_sub(start);
        self.env.waits.record(WaitType::WriteLog, waited_micros, 0);
        add(&self.counters.flush_waits, 1);
        add(&self.counters.flush_wait_micros, waited_micros);
        result
    }

    fn wait_until_durable(&self, target: LogPosition) -> Result<()> {
        let mut state = self.state.lock();
        let target = target.min(state.last_block());
        while target >= self.durable() {
            self.check_usable()?;
            if !state.writer_busy {
                state.seal_open();
                self.write_queue(&mut state)?;
                continue;
            }
            let awaited = if target < state.batch_end {
                state.batch
            } else {
                state.batch + 1
            };
            self.done[(awaited % 2) as usize].wait(&mut state);
        }
        Ok(())
    }

    /// Writes all sealed blocks as their leader. Nobody else writes when this is called.
    pub(super) fn write_queue(&self, state: &mut MutexGuard<'_, LogState>) -> Result<()> {
        let Some(last) = state.queue.back() else { return Ok(()) };
        state.batch_end = last.end;
        state.batch += 1;
        state.writer_busy = true;
        let batch = std::mem::take(&mut state.queue);
        let staging = state.staging.take();
        let mut writer = Writer::new(self, state.policy, state.link, staging);
        let outcome = MutexGuard::unlocked(state, || writer.write_all(batch));
        state.writer_busy = false;
        let mut left = writer.finish();
        state.link = left.link;
        state.give_back(&mut left.buffers);
        state.staging = left.staging;
        let result = outcome.map_err(|error| self.latch(&error));
        self.announce(state.batch, result.is_err());
        result
    }

    fn announce(&self, batch: u64, failed: bool) {
        let ended = (batch % 2) as usize;
        self.done[ended].notify_all();
        if failed {
            self.done[1 - ended].notify_all();
        } else {
            self.done[1 - ended].notify_one();
        }
        self.room.notify_all();
    }

    /// The log failed: says so once, and refuses everything from now on.
    pub(super) fn latch(&self, error: &DiskError) -> Error {
        let closed = Error::log_not_available(&self.database);
        if !self.failed.swap(true, Ordering::SeqCst) {
            let what = format!("LogWriter: write of '{}'", error.path.display());
            let cause = Error::operating_system(&what, &Error::cause(error));
            self.env.errorlog.write_error("Server", &cause);
            self.env.errorlog.write_error("Server", &closed);
        }
        closed
    }
}
