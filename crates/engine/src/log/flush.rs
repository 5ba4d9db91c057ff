//! Making the log durable: leader and followers, without handing work to another thread.
//!
//! ```text
//! session A  append commit -> nobody writes: seal, write 1 ------------> done
//! session B      append commit -> A writes: wait ......... lead write 2 ----------> done
//! session C          append commit -> A writes: wait ......................... covered by write 2
//! ```
//! The first to come writes everything sealed so far, itself. Who comes meanwhile waits; when the write is done, one of those
//! it did not cover is woken to lead the next write, which covers all of them, and then those it covered are woken.
//!
//! | at the end of a write | woken, in this order |
//! |---|---|
//! | somebody waits for the next | the one who has waited longest: the device stands still until a leader runs |
//! | somebody waited for this one | all of them, with one system call |
//! | the log has failed or is closed | all; they answer 9001 unless theirs was durable |
//!
//! Leading goes round among the sessions on purpose: a thread that does nothing but write uses more time of a busy processor
//! than any session, so a fair scheduler lets just that one wait.
//!
//! Each write covers all that was sealed when it began, and its leader seals all that was appended. So nobody waits for more than
//! two writes: the one under way when the record was appended, and the one after it.
//!
//! Two gates alternate, one per write number's parity. No wake-up is lost: whoever waits does so for write `n`, which is under
//! way, or for `n + 1`, says so in [`LogState::waiting`] under the mutex and takes the gate's ticket there. The end of `n` opens
//! both gates under the mutex. The one woken to lead leads; or finds that a newcomer does, whose end will wake again; or finds
//! its own record durable, and then so did whoever wrote it; or finds the log closed, and tells all. Those whose record is
//! durable go on without the mutex.
//!
//! Writes are strictly in order, each durable before the next begins. So what a power cut leaves is a prefix of the log, but
//! for the one write it interrupts, whose torn blocks the chain of checksums cuts off. The first failed write closes the log
//! for good: what the device holds is unknown then, and a second try could only pretend (error 9001 from then on).

use super::LogManager;
use super::counters::add;
use super::gate::Gate;
use super::state::{LogPosition, LogState};
use super::write::Writer;
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::DiskError;
use parking_lot::MutexGuard;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Who is to be woken once the mutex is free. Gates by their number.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "somebody sleeps"]
struct Wakes {
    /// Where one waits to lead.
    one: Option<usize>,
    /// Where all may go on.
    all: [bool; 2],
}

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
            if let Err(closed) = self.check_usable() {
                let wakes = self.open_gates(&mut state);
                drop(state);
                self.wake(&wakes);
                return Err(closed);
            }
            if !state.writer_busy {
                state.seal_open();
                let (result, wakes) = self.write_batch(&mut state);
                drop(state);
                self.wake(&wakes);
                return result;
            }
            let under_way = target < state.batch_end;
            let awaited = gate_of(if under_way { state.batch } else { state.batch + 1 });
            state.waiting[awaited] += 1;
            let ticket = self.done[awaited].ticket();
            drop(state);
            self.done[awaited].wait(ticket);
            if target < self.durable() {
                return Ok(());
            }
            state = self.state.lock();
        }
        Ok(())
    }

    /// Writes all sealed blocks as their leader. Nobody else writes when this is called.
    pub(super) fn write_queue(&self, state: &mut MutexGuard<'_, LogState>) -> Result<()> {
        let (result, wakes) = self.write_batch(state);
        MutexGuard::unlocked(state, || self.wake(&wakes));
        result
    }

    fn write_batch(&self, state: &mut MutexGuard<'_, LogState>) -> (Result<()>, Wakes) {
        let Some(last) = state.queue.back() else {
            return (Ok(()), Wakes::default());
        };
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
        let wakes = self.open_gates(state);
        self.room.notify_all();
        (result, wakes)
    }

    /// A write has ended, or the log was found closed.
    fn open_gates(&self, state: &mut LogState) -> Wakes {
        let ended = gate_of(state.batch);
        let next = 1 - ended;
        self.done.iter().for_each(Gate::open);
        let mut wakes = Wakes::default();
        wakes.all[ended] = std::mem::take(&mut state.waiting[ended]) > 0;
        if self.check_usable().is_err() {
            wakes.all[next] = std::mem::take(&mut state.waiting[next]) > 0;
        } else {
            wakes.one = (state.waiting[next] > 0).then_some(next);
        }
        wakes
    }

    /// Not to be called under the mutex.
    fn wake(&self, wakes: &Wakes) {
        if let Some(gate) = wakes.one {
            self.done[gate].wake_one();
        }
        for (gate, _) in self.done.iter().zip(wakes.all).filter(|(_, waits)| *waits) {
            gate.wake_all();
        }
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

/// Which of the two gates the end of a write opens.
fn gate_of(batch: u64) -> usize {
    (batch % 2) as usize
}
