//! Transactions that are rolled back page by page (`crate::marked`), as the database sees them: who takes back what nobody comes across.
//!
//! | `Background` | taken back by |
//! |---|---|
//! | threads | the thread for checkpoints, [`RECORDS_PER_TURN`] records a turn, one turn behind the other while anything is left |
//! | inline | each transaction that begins, [`RECORDS_PER_BEGIN`] records, so that nothing stays for ever |
//!
//! Whoever needs the database for itself, closes or drops it, or copies it, takes everything back first ([`Database::wait_for_recovery`]).

use super::Database;
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::recovery::BootRecord;
use crate::seams::Background;
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
    /// One turn of taking back what marked transactions have changed. Whether anything is left.
    ///
    /// # Errors
    /// 823 and 824 for pages, 9001 and 9004 for the log.
    pub(crate) fn take_back_some(&self, records_max: u64) -> Result<bool> {
        if self.storage.marked.is_empty() || self.is_recovering() {
            return Ok(false);
        }
        let visited = std::cell::Cell::new(0);
        self.take_back_marked(&|| {
            visited.set(visited.get() + 1);
            visited.get() < records_max
        })?;
        Ok(!self.storage.marked.is_empty())
    }

    /// A turn of the background's.
    ///
    /// # Errors
    /// Those of [`Database::take_back_some`].
    pub(crate) fn take_back_in_background(&self) -> Result<bool> {
        self.take_back_some(RECORDS_PER_TURN)
    }

    /// A turn before a transaction begins, where nothing works in the background.
    ///
    /// # Errors
    /// Those of [`Database::take_back_some`].
    pub(crate) fn take_back_inline(&self) -> Result<()> {
        match self.storage.env.background {
            Background::Threads => Ok(()),
            Background::Inline => self.take_back_some(RECORDS_PER_BEGIN).map(|_| ()),
        }
    }

    /// Takes back everything that marked transactions have changed, and ends them, for as long as `goes_on` says so after a record. False when it
    /// stopped.
    ///
    /// # Errors
    /// Those of [`Database::take_back_some`].
    pub(crate) fn take_back_marked(&self, goes_on: &dyn Fn() -> bool) -> Result<bool> {
        for marked in self.storage.marked.all() {
            let is_complete = self
                .transactions
                .take_back_marked(&self.storage, &self.space, &marked, &mut |_| goes_on())?;
            if !is_complete {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
