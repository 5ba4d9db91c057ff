//! A gate where threads wait for the end of a write. It is a futex, so one system call wakes all of them, and none needs a mutex to
//! continue.
//!
//! A condition variable hands its waiters to its mutex one by one: each wakes the next, with as many context switches as there are waiters.
//! At a gate all waiters become runnable at once.
//!
//! Protocol: take a [`Ticket`], check under the mutex that the expected opening is still to come, then wait. [`Gate::wait`] returns at once
//! if the gate was opened since. It may also return early, so check your condition again.

use rustix::thread::futex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts its openings. See the module.
#[derive(Default)]
pub(super) struct Gate {
    openings: AtomicU32,
}

/// The openings that a waiter has seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket(u32);

impl Gate {
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(self.openings.load(Ordering::Acquire))
    }

    /// Returns when the gate has been opened since the ticket was taken, or early.
    pub(super) fn wait(&self, ticket: Ticket) {
        // Every error means "look again": the gate was opened meanwhile, or a signal came.
        let _ = futex::wait(&self.openings, futex::Flags::PRIVATE, ticket.0, None);
    }

    /// Invalidates tickets taken before; threads that sleep already must be woken.
    pub(super) fn open(&self) {
        self.openings.fetch_add(1, Ordering::Release);
    }

    /// Wakes all waiters. This is a system call: do not make it under a mutex.
    pub(super) fn wake_all(&self) {
        self.wake(i32::MAX as u32);
    }

    /// Wakes the thread that has slept longest. This is a system call as well.
    pub(super) fn wake_one(&self) {
        self.wake(1);
    }

    fn wake(&self, count: u32) {
        // Its only errors are about the address, which is a live one.
        let _ = futex::wake(&self.openings, futex::Flags::PRIVATE, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_ticket_does_not_wait() {
        let gate = Gate::default();
        let ticket = gate.ticket();
        gate.open();
        gate.wait(ticket);
    }

    #[test]
    fn one_opening_frees_all_who_wait() {
        let gate = Gate::default();
        let ticket = gate.ticket();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while gate.ticket().0 == ticket.0 {
                        gate.wait(ticket);
                    }
                });
            }
            gate.open();
            gate.wake_all();
        });
    }
}
