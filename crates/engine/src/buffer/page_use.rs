//! Pages that a thread has fixed and changed: the figures of SET STATISTICS IO, sys.dm_exec_query_stats and plans.
//!
//! The counts are per thread, because code that fixes a page does not know the statement. A statement takes the difference between its
//! start and its end. Threads that work for a statement add their counts with [`add_page_use`] when they are done.

use std::cell::Cell;
use std::ops::{Add, Sub};

/// Pages fixed by a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageUse {
    /// Pages asked for, wherever they were found.
    pub logical: u64,
    /// Of these, pages that had to be read from a file.
    pub physical: u64,
    /// Pages read from a file before anybody asked for them.
    pub read_ahead: u64,
    /// Pages that it was the first to change since they were written ("if a page has already been dirtied, no writes are counted", sql-docs,
    /// "sys.dm_exec_query_stats").
    pub dirtied: u64,
}

impl Add for PageUse {
    type Output = PageUse;

    fn add(self, more: PageUse) -> PageUse {
        PageUse {
            logical: self.logical + more.logical,
            physical: self.physical + more.physical,
            read_ahead: self.read_ahead + more.read_ahead,
            dirtied: self.dirtied + more.dirtied,
        }
    }
}

impl Sub for PageUse {
    type Output = PageUse;

    fn sub(self, less: PageUse) -> PageUse {
        PageUse {
            logical: self.logical.saturating_sub(less.logical),
            physical: self.physical.saturating_sub(less.physical),
            read_ahead: self.read_ahead.saturating_sub(less.read_ahead),
            dirtied: self.dirtied.saturating_sub(less.dirtied),
        }
    }
}

thread_local! {
    static LOGICAL: Cell<u64> = const { Cell::new(0) };
    static PHYSICAL: Cell<u64> = const { Cell::new(0) };
    static AHEAD: Cell<u64> = const { Cell::new(0) };
    static DIRTIED: Cell<u64> = const { Cell::new(0) };
}

fn add(counter: &'static std::thread::LocalKey<Cell<u64>>, pages: u64) {
    counter.set(counter.get() + pages);
}

pub(super) fn count_fixed() {
    add(&LOGICAL, 1);
}

/// A page was read because it was asked for.
pub(super) fn count_loaded() {
    add(&LOGICAL, 1);
    add(&PHYSICAL, 1);
}

pub(super) fn count_ahead(pages: usize) {
    add(&AHEAD, pages as u64);
}

pub(super) fn count_dirtied() {
    add(&DIRTIED, 1);
}

/// What this thread has fixed since it began.
pub fn page_use() -> PageUse {
    PageUse {
        logical: LOGICAL.get(),
        physical: PHYSICAL.get(),
        read_ahead: AHEAD.get(),
        dirtied: DIRTIED.get(),
    }
}

/// Takes over what another thread has fixed for this one.
pub fn add_page_use(reads: PageUse) {
    add(&LOGICAL, reads.logical);
    add(&PHYSICAL, reads.physical);
    add(&AHEAD, reads.read_ahead);
    add(&DIRTIED, reads.dirtied);
}
