//! Making the log durable: leaders and followers, without handing work to another thread.
//!
//! ```text
//! session A  append commit -> nobody writes: prepare, write 1 -------------------> done
//! session B      append commit -> too few for a write of their own: wait ......... lead write 2 ----------> done
//! session C          append commit -> the same: wait ...................................... covered by write 2
//! ```
//! A write is *prepared* (taken from the queue, its blocks finished) by one leader at a time and in log order, then *written* concurrently
//! with others; [`super::flight`] says how many and when another begins. A thread that may not begin a write waits for the write that
//! covers its record, or for the next one. Threads waiting for the next one are woken, one at a time, when it may begin.
//!
//! | when | woken, in this order |
//! |---|---|
//! | a write is prepared or has ended, and another may begin | the thread that has waited longest for the next write: the device is underused until a leader runs |
//! | a write has ended, and it and all earlier log is durable | all threads waiting for it or for later writes that had already ended, with one system call for each write |
//! | the log has failed or is closed | all; they return 9001 unless their write is durable, or in flight without a failure before it |
//!
//! Sessions take turns leading, on purpose. A dedicated writer thread would use more time of a busy processor than any session, so a fair
//! scheduler would make just that thread wait. In SQL Server sessions write, too (mssql.fr, "Trace Flag 8904 - Disable Inline Database Log
//! Flushes").
//!
//! Each leader of commits seals everything that was appended. So a session waits at most for the writes in flight when its record was
//! appended, and for one more.
//!
//! **No lost wake-ups.** There is a gate for each write that may be in flight and one for the next write. A write's gate follows from its
//! number, and is reused only when that write is durable. A waiter registers for write `n` under the mutex and takes the gate's ticket
//! there. The waker opens the gate under the mutex, so that the holder of an earlier ticket does not sleep.
//!
//! - Waiting for a write that has begun: its leader ends it, and the thread that ends the last write before it opens its gate. If an
//!   earlier write fails, its end opens all gates.
//! - Waiting for the next write: the thread could not begin it itself, so another thread was preparing, or writes were in flight. The end
//!   of each preparation and of each write checks again whether the next may begin, counting all its waiters; once nothing is in flight it
//!   may. The woken thread leads, or finds one of three things: a newcomer leads (the end of its preparation checks again), its record is
//!   covered (the same holds), or the log is closed (it wakes all). When the next write begins, it keeps its gate, so the threads not woken
//!   to lead already wait in the right place.
//!
//! A power cut leaves a prefix of the log, followed by parts of the writes in flight. The chain of checksums cuts those parts off, and the
//! durable position in each write distinguishes them from damage ([`super::end`]). The first failed write closes the log for good (9001):
//! the content of the device is then unknown, and a retry could falsely claim success.

use super::LogManager;
use super::counters::add;
use super::flight::{GATES, gate_of};
use super::gate::Gate;
use super::hold::Held;
use super::policy::VlfSwitch;
use super::state::{LogPosition, LogState};
use super::write::{Preparation, PreparedWrite};
use crate::error::{Error, Result};
use crate::waits::WaitType;
use disk::{DiskError, DiskErrorKind};
use std::path::Path;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// The waiters to wake once the mutex is free. Gates by their number.
#[derive(Debug, Default, PartialEq, Eq)]
#[must_use = "somebody sleeps"]
struct Wakes {
    /// Where one waits to lead.
    one: Option<usize>,
    /// Where all may go on.
    all: [bool; GATES],
}

/// A write put together and not answered by the disk yet.
pub(super) struct LedWrite {
    number: u64,
    pub(super) write: PreparedWrite,
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
        let mut state = self.hold();
        let target = target.min(state.last_block());
        while target >= self.durable() {
            let awaited = match state.flight.covering(target) {
                Some(number) if !self.has_panicked() => number,
                _ => {
                    if let Err(closed) = self.check_usable() {
                        let wakes = self.release_all(&mut state);
                        drop(state);
                        self.wake(&wakes);
                        return Err(closed);
                    }
                    let next = state.flight.next();
                    if state.may_begin_write(state.flight.waiting_for(next) + 1) {
                        state.seal_open();
                        // Whether it succeeded is asked above: what matters is the write that covers the target.
                        let _ = self.lead_write(&mut state);
                        continue;
                    }
                    next
                }
            };
            let gate = &self.done[state.flight.wait_for(awaited)];
            let ticket = gate.ticket();
            drop(state);
            gate.wait(ticket);
            if target < self.durable() {
                return Ok(());
            }
            state = self.hold();
        }
        Ok(())
    }

    /// Makes one write of what is queued, as its leader. To be called when [`LogState::may_begin_write`] allows it.
    pub(super) fn lead_write(&self, state: &mut Held<'_>) -> Result<()> {
        let Some(led) = self.begin_write(state) else {
            return Ok(());
        };
        let wakes = self.release_next(state);
        let outcome = Held::unlocked(state, || {
            self.wake(&wakes);
            led.write.write(self)
        });
        self.end_write(state, led, outcome)
    }

    /// Puts the next write together; `None` when nothing is queued.
    pub(super) fn begin_write(&self, state: &mut Held<'_>) -> Option<LedWrite> {
        let blocks = state.take_one_write();
        let (start, end) = (blocks.first()?.start(), blocks.last()?.end);
        let (number, durable_before) = state.flight.begin(start, end);
        let preparation = Preparation {
            header_rides: state.policy.vlf_switch == VlfSwitch::FreeList,
            link: state.link,
            durable_before,
            write_ticks: self.env.clock.unix_micros(),
            staging: state.staging.pop(),
        };
        let (write, mut left) = Held::unlocked(state, || preparation.prepare(blocks))?;
        state.flight.prepared();
        state.link = left.link;
        state.staging.extend(left.staging);
        if !left.block_buffers.is_empty() {
            state.give_back(&mut left.block_buffers);
            self.room.notify_all();
        }
        Some(LedWrite { number, write })
    }

    /// The disk has answered.
    pub(super) fn end_write(
        &self,
        state: &mut Held<'_>,
        led: LedWrite,
        outcome: std::result::Result<(), DiskError>,
    ) -> Result<()> {
        let result = outcome.map_err(|error| self.latch(&error));
        let (ended, durable) = state.flight.ended(led.number, result.is_ok());
        if let Some(durable) = durable {
            self.durable.store(durable.0, Ordering::Release);
        }
        led.write.give_back(state);
        self.room.notify_all();
        let mut wakes = match self.check_usable() {
            Ok(()) => self.release_next(state),
            Err(_) => self.release_all(state),
        };
        for number in ended {
            self.done[gate_of(number)].open();
            wakes.all[gate_of(number)] |= state.flight.release(gate_of(number));
        }
        Held::unlocked(state, || self.wake(&wakes));
        result
    }

    /// Another write may begin now, perhaps: one of those who wait for it is to be woken.
    fn release_next(&self, state: &LogState) -> Wakes {
        let next = state.flight.next();
        let commits = state.flight.waiting_for(next);
        let mut wakes = Wakes::default();
        if commits > 0 && state.may_begin_write(commits) {
            self.done[gate_of(next)].open();
            wakes.one = Some(gate_of(next));
        }
        wakes
    }

    /// The log was found closed: all look again.
    fn release_all(&self, state: &mut LogState) -> Wakes {
        self.done.iter().for_each(Gate::open);
        let mut wakes = Wakes::default();
        for (gate, woken) in wakes.all.iter_mut().enumerate() {
            *woken = state.flight.release(gate);
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

    /// A file of the database was deleted, moved or replaced by another program: nothing is acknowledged from now on, as after
    /// a failed write.
    pub fn lose_file(&self, path: &Path) {
        let mut state = self.hold();
        let what = format!("File '{}' of database '{}'", path.display(), self.database);
        self.latch_for(&what, &DiskError::new(DiskErrorKind::Deleted, "write", path));
        let wakes = self.release_all(&mut state);
        drop(state);
        self.wake(&wakes);
        self.room.notify_all();
    }

    /// A rollback could not go on behind `last`, the transaction's last record. What it has not undone must not be seen, and undoing it is
    /// recovery's now: nothing is acknowledged from now on, as after a failed write.
    /// Nothing happens to a log that is closed or has failed already.
    pub fn lose_rollback(&self, last: Lsn, failure: &Error) {
        if self.failed.load(Ordering::SeqCst) {
            return;
        }
        let mut state = self.hold();
        let undone = Error::undo_failed(&self.database, last);
        self.break_for(&[failure, &undone], "Rollback", undone.number);
        let wakes = self.release_all(&mut state);
        drop(state);
        self.wake(&wakes);
        self.room.notify_all();
    }

    /// The log failed: says so once, and refuses everything from now on.
    pub(super) fn latch(&self, error: &DiskError) -> Error {
        self.latch_for(&format!("LogWriter: write of '{}'", error.path.display()), error)
    }

    fn latch_for(&self, what: &str, error: &DiskError) -> Error {
        let closed = Error::log_not_available(&self.database);
        let cause = Error::operating_system(what, &Error::cause(error));
        self.break_for(&[&cause, &closed], "LogWriter", closed.number);
        closed
    }

    /// Refuses everything from now on, and tells the error log why, if it did not before.
    fn break_for(&self, causes: &[&Error], routine: &str, number: i32) {
        if self.is_broken() {
            return;
        }
        self.break_down();
        for cause in causes {
            self.env.errorlog.write_error("Server", cause);
        }
        let text = format!(
            "Database {} was shutdown due to error {number} in routine '{routine}'. It is RECOVERY_PENDING: ALTER DATABASE ... SET \
             ONLINE, or a restart of the server, recovers it from its files.",
            self.database
        );
        self.env.errorlog.write("Server", text);
    }
}
