//! The log's state, held by a thread.
//!
//! A thread that panics while it holds the state, or while it writes with the mutex released, may leave the state half changed: a record
//! that is counted but not stored, or a write that never ends. So such a panic closes the log like a failed write: every call returns 9001,
//! all waiters are woken, and recovery starts again from the files.

use super::state::LogState;
use super::{Gate, LogManager};
use crate::error::Error;
use parking_lot::{Condvar, MutexGuard};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

pub(crate) struct Held<'l> {
    log: &'l LogManager,
    state: MutexGuard<'l, LogState>,
    /// The thread was unwinding when it took hold: what fails is something else.
    was_panicking: bool,
}

impl LogManager {
    /// Holds the state until the guard is dropped.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held {
            log: self,
            state: self.state.lock(),
            was_panicking: std::thread::panicking(),
        }
    }

    /// A thread has panicked in the middle of a change: some of what others wait for will never end.
    pub(super) fn has_panicked(&self) -> bool {
        self.panicked.load(Ordering::SeqCst)
    }

    fn give_up_after_panic(&self, state: &mut LogState) {
        self.panicked.store(true, Ordering::SeqCst);
        if !self.is_broken() {
            self.break_down();
            let closed = Error::log_not_available(&self.database);
            self.env.errorlog.write_error("Server", &closed);
            let text = format!(
                "Database {} was shutdown because a thread stopped in the middle of a change of its log. It is RECOVERY_PENDING: ALTER \
                 DATABASE ... SET ONLINE, or a restart of the server, recovers it from its files.",
                self.database
            );
            self.env.errorlog.write("Server", text);
        }
        for gate in 0..self.done.len() {
            state.flight.release(gate);
        }
        self.done.iter().for_each(Gate::open);
        self.done.iter().for_each(Gate::wake_all);
        self.room.notify_all();
    }
}

impl<'l> Held<'l> {
    /// Does something with the mutex released.
    pub(super) fn unlocked<T>(held: &mut Held<'l>, work: impl FnOnce() -> T) -> T {
        MutexGuard::unlocked(&mut held.state, work)
    }

    /// Waits on a condition variable, with the mutex released.
    pub(super) fn wait(held: &mut Held<'l>, condition: &Condvar) {
        condition.wait(&mut held.state);
    }

    /// The same, for so long at most.
    pub(super) fn wait_for(held: &mut Held<'l>, condition: &Condvar, time_max: Duration) {
        condition.wait_for(&mut held.state, time_max);
    }
}

impl Deref for Held<'_> {
    type Target = LogState;

    fn deref(&self) -> &LogState {
        &self.state
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut LogState {
        &mut self.state
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.was_panicking && std::thread::panicking() {
            self.log.give_up_after_panic(&mut self.state);
        }
    }
}
