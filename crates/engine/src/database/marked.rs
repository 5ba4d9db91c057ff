//! Transactions that are rolled back page by page (`crate::marked`), as the database sees them: what takes back their changes on pages that no session fixes.
//!
//! | `Background` | taken back by |
//! |---|---|
//! | threads | the thread for checkpoints, [`RECORDS_PER_TURN`] records a turn, one turn behind the other while anything is left |
//! | inline | each transaction that begins, [`RECORDS_PER_BEGIN`] records, so that nothing stays for ever |
//!
//! A statement that needs the database for itself, drops or copies it, takes everything back first ([`Database::wait_for_recovery`]).

use super::Database;
use crate::buffer::DatabaseStorage;
use crate::cancel;
use crate::error::{Error, Result};
use crate::marked::{Marked, Place};
use crate::recovery::BootRecord;
use crate::seams::Background;
use parking_lot::MutexGuard;
use std::cell::Cell;
use std::sync::atomic::Ordering;

/// Records that are visited in one turn: some ten milliseconds.
const RECORDS_PER_TURN: u64 = 16_384;
/// The same, of a turn in the way of a transaction: about as many as it may write itself before its rollback is marked.
const RECORDS_PER_BEGIN: u64 = 1_024;

impl DatabaseStorage {
    /// Log records have links while ACCELERATED_DATABASE_RECOVERY is on, and the boot record says that there may be some.
    pub(crate) fn link_changes(&self, boot: &BootRecord) {
        let has_links = boot.is_recovery_accelerated && boot.has_links;
        self.links_changes.store(has_links, Ordering::Relaxed);
    }
}

impl Database {
    /// A turn of the background's. Whether anything is left that it can do something about.
    ///
    /// # Errors
    /// 823 and 824 for pages, 9001 and 9004 for the log.
    pub(crate) fn take_back_in_background(&self) -> Result<bool> {
        self.take_back_some(RECORDS_PER_TURN)
    }

    /// A turn before a transaction begins, where nothing works in the background. What fails is met again by who comes across the page.
    pub(crate) fn take_back_inline(&self) {
        if self.storage.env.background == Background::Inline {
            let _ = self.take_back_some(RECORDS_PER_BEGIN);
        }
    }

    fn take_back_some(&self, records_max: u64) -> Result<bool> {
        if self.storage.marked.is_empty() || self.is_recovering() || self.is_emergency() {
            return Ok(false);
        }
        let visited = Cell::new(0);
        let goes_on = || {
            visited.set(visited.get() + 1);
            visited.get() < records_max
        };
        // Where a session is at it already, checkpoints must not wait.
        self.take_back(&goes_on, Marked::try_place)
            .map(|is_complete| !is_complete)
    }

    /// Takes back everything that marked transactions have changed, and ends them.
    ///
    /// # Errors
    /// 3617 when the request is to stop before that; 823 and 824 for pages, 9001 and 9004 for the log.
    pub(crate) fn take_back_all_marked(&self) -> Result<()> {
        if self.storage.marked.is_empty() {
            return Ok(());
        }
        let request = cancel::served();
        let goes_on = || !request.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed));
        match cancel::shield(|| self.take_back(&goes_on, |marked| Some(marked.place())))? {
            true => Ok(()),
            false => Err(Error::cancelled()),
        }
    }

    /// One transaction after the other; those that cannot be taken back whole do not keep the others, nor do those of which `place` has none, because
    /// another thread is at them. False when `goes_on` has stopped it.
    fn take_back(
        &self,
        goes_on: &dyn Fn() -> bool,
        place: impl Fn(&Marked) -> Option<MutexGuard<'_, Place>>,
    ) -> Result<bool> {
        let mut outcome = Ok(true);
        for marked in self.storage.marked.all() {
            let Some(place) = place(&marked) else { continue };
            let taken_back =
                self.transactions
                    .take_back_marked((&self.storage, &self.space), &marked, place, &mut |_| goes_on());
            match taken_back {
                Ok(true) => {}
                Ok(false) => return outcome.map(|_| false),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome
    }
}
