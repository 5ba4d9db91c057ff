//! Memory accounting, from the view of allocating code: requests to the instance's accountant, and charges for granted memory.
//!
//! ```text
//! a thread works for a session of an instance:  enter(accountant) .. guard dropped
//!   require(bytes)? -> Charge         called before an allocation; 701 if there is no memory; returned when dropped
//!   Charge::grow_to(bytes)?           for what grows: the first FREE_BYTES cost nothing, then whole steps
//!   Charge::of_made(bytes)            for memory that exists already and can no longer be refused
//! ```
//! The accountant is the instance's workspace ([`crate::workspace`]), which takes granted memory from the buffer pool. Each thread knows
//! its accountant, because strings and trees are created by code that does not know the session. A thread without a session (tools, parser
//! tests) is granted everything.
//!
//! Invariant: a charge is held as long as the memory it stands for, by the value or structure that owns that memory.
//!
//! | memory | charged by |
//! |---|---|
//! | trees | the parser, token by token |
//! | plans | the binder; the charge is kept with the batch |
//! | strings of 16 KB and more | the function that computes them, once their length is known and before they are made |
//! | messages | `server/src/receiving.rs`, from their receipt until they are served |
//! | rows | the grants of operators (`tsql/src/grant.rs`) |
//! | the first 256 KB of each tree, plan and operator | not charged: small allocations are free |
//! | answers that a client of several sessions does not read yet | not charged: 64 KB a session, the rest in a file (`server/src/mars/spool.rs`) |
//! | lines of the error log | not charged, because any client that reaches the port can cause them. Memory keeps 16 MB of them, and files are bounded in number and size (`engine/src/errorlog.rs`) |

use crate::error::{Error, Result};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// What a growing charge has without asking, so that small statements touch nothing shared.
pub const FREE_BYTES: u64 = 256 << 10;
/// What a growing charge takes at a time.
pub const STEP_BYTES: u64 = 1 << 20;

/// What grants memory.
pub trait Accountant: Send + Sync {
    /// Grants bytes; false when there are not so many left.
    fn take(&self, bytes: u64) -> bool;

    /// Notes bytes that are in use already, whether there was room or not.
    fn take_beyond(&self, bytes: u64);

    /// Takes bytes back.
    fn give_back(&self, bytes: u64);
}

/// A holder of memory that it can do without, which gives it up before another request is refused.
pub trait Keeper: Send + Sync {
    /// Gives back about so many bytes, if it has them. It waits for no lock that a thread may hold while it asks for
    /// memory.
    fn give_up(&self, bytes: u64);
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Accountant>>> = const { RefCell::new(None) };
}

/// While it lives, this thread works for an accountant's instance.
pub struct Working {
    former: Option<Arc<dyn Accountant>>,
}

/// This thread works for `accountant` until the guard is dropped.
pub fn enter(accountant: Arc<dyn Accountant>) -> Working {
    let former = CURRENT.with(|current| current.replace(Some(accountant)));
    Working { former }
}

impl Drop for Working {
    fn drop(&mut self) {
        let former = self.former.take();
        CURRENT.with(|current| *current.borrow_mut() = former);
    }
}

/// Whom this thread asks.
fn current() -> Option<Arc<dyn Accountant>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Memory granted; given back when dropped.
#[derive(Default)]
pub struct Charge {
    of: Option<Arc<dyn Accountant>>,
    bytes: u64,
}

/// Asks for bytes that are about to be allocated.
///
/// # Errors
/// 701 when there are not so many left.
pub fn require(bytes: usize) -> Result<Charge> {
    let bytes = bytes as u64;
    let of = current();
    match &of {
        Some(accountant) if !accountant.take(bytes) => Err(Error::insufficient_memory()),
        _ => Ok(Charge { of, bytes }),
    }
}

impl Charge {
    /// Asks for what is known to be small only mostly: nothing is asked up to [`FREE_BYTES`].
    ///
    /// # Errors
    /// 701 when there are not so many left.
    pub fn of_large(bytes: usize) -> Result<Charge> {
        if bytes as u64 <= FREE_BYTES {
            return Ok(Charge::default());
        }
        require(bytes)
    }

    /// An empty charge that asks `accountant`, whomever the thread works for.
    pub fn asking(accountant: Arc<dyn Accountant>) -> Charge {
        Charge {
            of: Some(accountant),
            bytes: 0,
        }
    }

    /// The charge of bytes that are allocated already.
    pub fn of_made(bytes: usize) -> Charge {
        let bytes = bytes as u64;
        let of = current();
        if let Some(accountant) = &of {
            accountant.take_beyond(bytes);
        }
        Charge { of, bytes }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Grows to cover so many bytes in all, [`FREE_BYTES`] of them uncharged, in steps of [`STEP_BYTES`]. Never shrinks.
    ///
    /// # Errors
    /// 701 when there are not so many left; the charge is as before then.
    pub fn grow_to(&mut self, bytes: u64) -> Result<()> {
        let wanted = bytes.saturating_sub(FREE_BYTES);
        if wanted <= self.bytes {
            return Ok(());
        }
        let more = (wanted - self.bytes).next_multiple_of(STEP_BYTES);
        if self.of.is_none() {
            self.of = current();
        }
        match &self.of {
            Some(accountant) if !accountant.take(more) => return Err(Error::insufficient_memory()),
            _ => self.bytes += more,
        }
        Ok(())
    }

    /// Gives back what [`Charge::grow_to`] took beyond so many bytes, by whole steps.
    pub fn shrink_to(&mut self, bytes: u64) {
        let wanted = bytes.saturating_sub(FREE_BYTES).next_multiple_of(STEP_BYTES);
        if wanted >= self.bytes {
            return;
        }
        if let Some(accountant) = &self.of {
            accountant.give_back(self.bytes - wanted);
        }
        self.bytes = wanted;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(accountant) = &self.of
            && self.bytes > 0
        {
            accountant.give_back(self.bytes);
        }
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Purse {
        used: AtomicU64,
        limit: u64,
    }

    impl Accountant for Purse {
        fn take(&self, bytes: u64) -> bool {
            let fits = self.used.load(Ordering::Relaxed) + bytes <= self.limit;
            if fits {
                self.take_beyond(bytes);
            }
            fits
        }

        fn take_beyond(&self, bytes: u64) {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }

        fn give_back(&self, bytes: u64) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_is_granted_is_counted_until_it_is_dropped() {
        let purse = Arc::new(Purse {
            used: AtomicU64::new(0),
            limit: 4 << 20,
        });
        let used = || purse.used.load(Ordering::Relaxed);
        let working = enter(purse.clone());
        let first = require(3 << 20).unwrap();
        assert_eq!(require(2 << 20).unwrap_err().number, 701);
        let made = Charge::of_made(2 << 20);
        assert_eq!(used(), 5 << 20, "what is there is counted beyond the limit");
        assert_eq!(require(1).unwrap_err().number, 701);
        drop((first, made));
        assert_eq!(used(), 0);
        let mut growing = Charge::default();
        growing.grow_to(FREE_BYTES).unwrap();
        assert_eq!(used(), 0, "a small one is free");
        growing.grow_to(FREE_BYTES + 1).unwrap();
        assert_eq!(used(), STEP_BYTES);
        growing.grow_to(2 << 20).unwrap();
        assert_eq!((used(), growing.bytes()), (2 << 20, 2 << 20));
        assert_eq!(growing.grow_to(5 << 20).unwrap_err().number, 701);
        assert_eq!(used(), 2 << 20, "a refusal changes nothing");
        growing.shrink_to((1 << 20) + FREE_BYTES);
        assert_eq!((used(), growing.bytes()), (1 << 20, 1 << 20));
        growing.shrink_to(FREE_BYTES);
        assert_eq!((used(), growing.bytes()), (0, 0));
        growing.grow_to(2 << 20).unwrap();
        drop(working);
        // The charge goes back to whom it was taken from, whomever the thread works for by then.
        drop(growing);
        assert_eq!(used(), 0);
        assert!(
            require(usize::MAX).is_ok(),
            "who works for nobody is granted everything"
        );
    }
}
