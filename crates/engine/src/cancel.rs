//! Cancellation: which work may be stopped, and which code checks for it.
//!
//! ATTENTION, KILL, a disconnect and a shutdown set a request's flag. The flag belongs to the thread that serves the request, and to the
//! threads it starts, so all code on them can check it without a parameter: operators, string functions, the binder, scans of the store,
//! waits.
//!
//! A loop reports its work: [`spend`] counts steps, and the flag is read every [`STEPS_PER_LOOK`] of them. A step is a
//! microsecond of work at most (a row, a hundred bytes of a string, a token). A waiter wakes up every [`LOOK_EVERY`] and calls
//! [`look`].
//!
//! Invariant: no loop that can take longer than 10 ms runs without spending or looking. Invariant: work that must run to its end runs under
//! [`shield`]: commits, rollbacks, and the cleanup after them. Threads that serve no request, such as those of checkpoints and recovery,
//! are never stopped here.
//!
//! | code | spends |
//! |---|---|
//! | statements | a look each, including control of flow |
//! | operators that make rows (scans, seeks, spilled rows, sorted rows) | a step a row; operators that only pass rows on spend nothing |
//! | operators that keep rows (hash candidates, window frames, groups) | a step for each row they go through |
//! | the comparison sort | its own merge sort, a step an element (`exec/merge_sort.rs`) |
//! | string functions and LIKE | a step for 64 characters compared one by one; searches for a fixed text, by their bytes |
//! | the parser and the binder | a step for each token and expression |
//! | pages of the store, batches of a checkpoint, packets of an exchange, progress of a backup | a step or a look each |
//! | sending to a client | looks every 20 ms; what ATTENTION finds unsent is kept until the client reads (`server/src/to_client.rs`) |
//!
//! Two waits do not look: the wait for a commit's log, and the waits of one exchange's threads for each other, one of which works and
//! looks. A requested commit is always carried out: an ATTENTION during it is acknowledged afterwards.
//!
//! Invariant: a flag set between two requests stops neither: the caller that passes requests on clears it, and only then counts ATTENTIONs.

use crate::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Steps between two looks at the flag: about a millisecond.
pub const STEPS_PER_LOOK: usize = 1_024;
/// Bytes of a string that count as a step.
const BYTES_PER_STEP: usize = 128;
/// What the rows of a page come to.
pub const STEPS_PER_PAGE: usize = 16;
/// How long a wait goes on without looking.
pub const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Set by anybody to stop a request.
pub type Flag = Arc<AtomicBool>;

thread_local! {
    static STEPS_LEFT: Cell<usize> = const { Cell::new(STEPS_PER_LOOK) };
    static SERVED: RefCell<Option<Flag>> = const { RefCell::new(None) };
}

/// While it lives, the thread serves a request or, under a shield, none. Dropping it restores the previous state.
#[must_use]
pub struct Serving {
    before: Option<Flag>,
    /// It belongs to its thread.
    not_send: PhantomData<*const ()>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        SERVED.set(self.before.take());
    }
}

/// This thread works for the request that `flag` stops; for none with `None`.
pub fn serve(flag: Option<Flag>) -> Serving {
    Serving {
        before: SERVED.replace(flag),
        not_send: PhantomData,
    }
}

/// The flag of the request that this thread serves, to be handed to threads that share its work.
pub fn served() -> Option<Flag> {
    SERVED.with_borrow(Clone::clone)
}

/// Runs what must not be stopped halfway.
pub fn shield<T>(work: impl FnOnce() -> T) -> T {
    let _nobody = serve(None);
    work()
}

/// Accounts for so many steps of work. Cheap enough for every row: no clock, no shared memory but at each look.
///
/// # Errors
/// 3617 when the request is to stop.
#[inline]
pub fn spend(steps: usize) -> Result<()> {
    match STEPS_LEFT.get().checked_sub(steps) {
        Some(left) => {
            STEPS_LEFT.set(left);
            Ok(())
        }
        None => look(),
    }
}

/// Accounts for work on so many bytes of a string.
///
/// # Errors
/// As [`spend`].
#[inline]
pub fn spend_bytes(bytes: usize) -> Result<()> {
    spend(bytes / BYTES_PER_STEP)
}

/// Looks at once.
///
/// # Errors
/// As [`spend`].
#[cold]
pub fn look() -> Result<()> {
    STEPS_LEFT.set(STEPS_PER_LOOK);
    if is_asked_to_stop() {
        Err(Error::cancelled())
    } else {
        Ok(())
    }
}

/// Whether the request that this thread serves is to stop.
pub fn is_asked_to_stop() -> bool {
    SERVED.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn set() -> Flag {
        Arc::new(AtomicBool::new(true))
    }

    #[test]
    fn a_request_is_stopped_within_a_look_and_nobody_else_is() {
        look().unwrap();
        let serving = serve(Some(set()));
        assert_eq!(look().unwrap_err().number, 3617);
        let steps = (1..).find(|_| spend(1).is_err()).unwrap();
        assert_eq!(steps, STEPS_PER_LOOK + 1);
        assert!(spend_bytes(BYTES_PER_STEP * STEPS_PER_LOOK * 2).is_err());
        shield(look).unwrap();
        assert!(look().is_err(), "the shield is gone");
        std::thread::scope(|threads| threads.spawn(look).join().unwrap()).unwrap();
        drop(serving);
        look().unwrap();
    }

    #[test]
    fn one_request_may_serve_another() {
        let outer = serve(Some(Flag::default()));
        let inner = serve(Some(set()));
        assert!(is_asked_to_stop());
        drop(inner);
        assert!(!is_asked_to_stop());
        drop(outer);
        assert!(served().is_none());
    }
}
