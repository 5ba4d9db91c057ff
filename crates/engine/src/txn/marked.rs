//! Marking a transaction that is rolled back, and taking back what is left of it on pages that nobody has fixed since. See [`crate::marked`].
//!
//! | a transaction | its rollback |
//! |---|---|
//! | has written at least [`RECORDS_MIN`] records, changed rows only, and the option is on since before it began | by marking |
//! | the same, and its changes were carried forward in the log | in order, as links lead to records that may be gone |
//! | changed definitions, filled pages, wrote or gave up large values | in order |
//! | wrote less | in order: that is over at once |

use super::TransactionTable;
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::log::{RecordKind, TransactionChain, Undoing};
use crate::marked::Marked;
use crate::store::{self, SpaceMap};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Records from which on marking is worth it: fewer are undone within a few milliseconds.
pub const RECORDS_MIN: u64 = 1_024;

impl TransactionTable {
    /// Marks a transaction as rolled back if it can be undone page by page. True: the caller releases its locks, and the background takes back what
    /// nobody comes across.
    ///
    /// # Errors
    /// None: what cannot be marked is rolled back in order.
    pub fn mark(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> bool {
        if !storage.has_links() || chain.undoing != Undoing::ByPage || chain.logged_records < RECORDS_MIN {
            return false;
        }
        let _stays = chain.begin_rollback();
        chain.undoing == Undoing::ByPage && self.log_mark(storage, chain)
    }

    /// As [`TransactionTable::mark`], for one that a restart has found unfinished: nobody has locks for it.
    pub fn mark_recovered(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> bool {
        match chain.undoing {
            Undoing::InOrder => false,
            Undoing::ByPage => self.log_mark(storage, chain),
            Undoing::Marked => {
                storage.marked.add(Arc::new(Marked::new(chain.clone())));
                true
            }
        }
    }

    fn log_mark(&self, storage: &DatabaseStorage, chain: &mut TransactionChain) -> bool {
        let now = storage.env.clock.wall_ticks();
        let payload = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
        if storage.log.append_mark(chain, &payload).is_err() {
            return false;
        }
        self.detach(chain.id);
        storage.marked.add(Arc::new(Marked::new(chain.clone())));
        true
    }

    /// Takes back what is left of a marked transaction from `place` on, which is the transaction's, and logs its end. False when `goes_on` has stopped it
    /// after a change.
    ///
    /// # Errors
    /// 823 and 824 for pages, 9004 for records, 9001.
    pub fn take_back_marked(
        &self,
        (storage, space): (&DatabaseStorage, &SpaceMap),
        marked: &Marked,
        mut place: MutexGuard<'_, Lsn>,
        goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
    ) -> Result<bool> {
        while *place != Lsn::ZERO {
            let record = storage.log.read_record(*place)?;
            let is_change = record.header.kind == RecordKind::Change;
            if is_change {
                store::visit(storage, space, marked, &record)?;
            }
            *place = record.before_in_chain();
            if is_change && !goes_on(&marked.chain()) {
                return Ok(false);
            }
        }
        let mut chain = marked.chain();
        if chain.end.under_way().is_some() {
            let now = storage.env.clock.wall_ticks();
            let payload = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
            storage.log.append(&mut chain, RecordKind::Abort, &payload, 0)?;
            storage.marked.remove(marked.id());
            self.leave(storage, marked.id());
            self.rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }
}
