//! Marking a transaction that is rolled back, and taking back what is left of it on pages that nobody has fixed since. See [`crate::marked`].
//!
//! | a transaction | its rollback |
//! |---|---|
//! | has written at least [`RECORDS_MIN`] records, and the option is on since before it began | by marking |
//! | the same, and has changed definitions, 65,536 times at most | undoes these newest first, then by marking |
//! | the same, and its changes were carried forward in the log | in order, as links lead to records that may be gone |
//! | wrote less | in order: that is over at once |
//!
//! A restart marks those of the first two rows, if its checkpoint has found at most 4,096 changes of definitions, and undoes the others in order. What
//! undoes a change says [`UndoneBy`](store::UndoneBy):
//!
//! | change | undone by |
//! |---|---|
//! | a row, rows filled into a page | the first session that fixes the page, or the background |
//! | a page of a large value, pages of one given up | the background, from the newest back; who gives up such pages anew waits for it |
//! | a definition | the rollback, before the mark |
//!
//! Order does not matter between them: no row is on a page of definitions, and nothing but rows, which are taken back before anyone reads them, leads to
//! pages of large values. So a rollback that does not come to the mark goes on in order.

use super::{TransactionTable, rollback};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::log::{RecordKind, TransactionChain, Undoing};
use crate::marked::{Marked, Place};
use crate::store::{self, SpaceMap};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Records from which on marking is worth it: fewer are undone within a few milliseconds.
pub const RECORDS_MIN: u64 = 1_024;

impl TransactionTable {
    /// Marks a transaction as rolled back if it can be undone page by page. True: the caller releases its locks, and the background takes back what
    /// nobody comes across. The caller has begun the rollback, and holds that until it is over.
    ///
    /// # Errors
    /// None: what cannot be marked is rolled back in order.
    pub fn mark(&self, (storage, space): (&DatabaseStorage, &SpaceMap), chain: &mut TransactionChain) -> bool {
        // The option does not go off before the mark is there.
        let _stays_on = storage.marked.keep_links();
        if !storage.has_links() || !chain.undoing.is_by_page() || chain.logged_records < RECORDS_MIN {
            return false;
        }
        rollback::undo_first((storage, space), chain, &mut || self.goes_on()).unwrap_or(false)
            && self.log_mark(storage, chain)
    }

    /// As [`TransactionTable::mark`], for one that a restart has found unfinished: nobody has locks for it, and units without an owner are given back.
    pub fn mark_recovered(
        &self,
        (storage, space): (&DatabaseStorage, &SpaceMap),
        chain: &mut TransactionChain,
    ) -> bool {
        match chain.undoing {
            Undoing::InOrder => false,
            Undoing::ByPage | Undoing::PartlyByPage => {
                rollback::undo_first((storage, space), chain, &mut || true).unwrap_or(false)
                    && self.log_mark(storage, chain)
            }
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

    /// Takes back what is left of a marked transaction from `place` on, which is the transaction's, and logs its end. False when `goes_on` has stopped
    /// it after a change.
    ///
    /// # Errors
    /// 823 and 824 for pages, 9004 for records, 9001.
    pub fn take_back_marked(
        &self,
        (storage, space): (&DatabaseStorage, &SpaceMap),
        marked: &Marked,
        mut place: MutexGuard<'_, Place>,
        goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
    ) -> Result<bool> {
        while place.next != Lsn::ZERO {
            let record = storage.log.read_record(place.next)?;
            let is_change = record.header.kind == RecordKind::Change;
            match record.header.kind {
                RecordKind::Change => store::visit(storage, space, (marked, place.large_values_from), &record)?,
                // After a restart the walk begins with what was taken back until then.
                RecordKind::Compensation if !place.has_passed_mark => {
                    store::note_taken_back(marked, &mut place, &record)
                }
                RecordKind::Marked => place.has_passed_mark = true,
                _ => {}
            }
            place.next = record.before_in_chain();
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
