//! Row versions as a session's transaction reads and creates them; [`crate::versions`] explains them.
//!
//! ```text
//! READ COMMITTED by versions   a snapshot for each statement, taken when its tables are locked (Sch-S)
//! SNAPSHOT                     one for the transaction, taken when it first reads
//! changes of rows              one writer for the transaction in all databases that keep versions
//! ```

use super::{Isolation, Part, Session};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::store::Versioning;
use crate::versions::{HeldSnapshot, Snapshot, VersionStore, Writer};
use std::sync::Arc;
use vlf::Lsn;

/// What a session has of versions until its transaction ends.
pub(super) struct OfTransaction {
    store: Arc<VersionStore>,
    /// The transaction's number; 0 as long as it has none.
    number: u64,
    writer: Option<Arc<Writer>>,
    snapshot: Option<HeldSnapshot>,
    /// The level at which the transaction first read or wrote.
    began_as: Option<Isolation>,
    /// Tables that it has redefined in parts that are committed.
    redefined: Vec<(u16, u32)>,
}

impl OfTransaction {
    pub(super) fn new(store: &Arc<VersionStore>) -> OfTransaction {
        OfTransaction {
            store: store.clone(),
            number: 0,
            writer: None,
            snapshot: None,
            began_as: None,
            redefined: Vec::new(),
        }
    }

    fn number(&mut self) -> u64 {
        if self.number == 0 {
            self.number = self.store.new_transaction();
        }
        self.number
    }

    /// The transaction is over.
    pub(super) fn forget_snapshot(&mut self) {
        (self.number, self.snapshot, self.began_as) = (0, None, None);
    }

    /// What a change of rows has to do with versions.
    pub(super) fn versioning(&self, isolation: Isolation) -> Versioning<'_> {
        let snapshot = self.snapshot.as_ref().filter(|_| isolation == Isolation::Snapshot);
        Versioning {
            writer: self.writer.as_ref(),
            snapshot: snapshot.map(HeldSnapshot::snapshot),
        }
    }
}

impl Session {
    /// A snapshot for the statement that begins to read now, which keeps it until it ends.
    pub fn take_statement_snapshot(&mut self, now_micros: u64) -> HeldSnapshot {
        let number = self.versions.number();
        self.versions.store.take_snapshot(number, self.id, now_micros, false)
    }

    /// The snapshot of the transaction, taken at the first call.
    pub fn transaction_snapshot(&mut self, now_micros: u64) -> Snapshot {
        let number = self.versions.number();
        let (store, id) = (&self.versions.store, self.id);
        let take = || store.take_snapshot(number, id, now_micros, true);
        self.versions.snapshot.get_or_insert_with(take).snapshot()
    }

    /// The snapshot of the transaction, if it has one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.versions.snapshot.as_ref().map(HeldSnapshot::snapshot)
    }

    /// The number by which versions know the transaction, if it has one.
    pub fn version_transaction(&self) -> Option<u64> {
        (self.versions.number != 0).then_some(self.versions.number)
    }

    /// The transaction reads or writes at a level. The level at which it first did.
    pub fn note_access(&mut self, isolation: Isolation) -> Isolation {
        *self.versions.began_as.get_or_insert(isolation)
    }

    /// The transaction begins to write in a database: whether it keeps versions there.
    pub(super) fn begin_versions(&mut self, database: &Database, first: Lsn) -> bool {
        // Asked after the transaction is in the table of those under way: who turns versions on waits for those in the table.
        if !database.storage.versions.are_kept() {
            return false;
        }
        let number = self.versions.number();
        let now = database.storage.env.clock.now_micros();
        let new = || Arc::new(Writer::new(number, self.id, now));
        let writer = self.versions.writer.get_or_insert_with(new);
        self.versions.store.begin_part(writer, database.id, first);
        true
    }

    /// Notes which tables a part has redefined that is committed, before they are everybody's.
    pub(super) fn note_redefined(&mut self, part: &Part, is_committed: bool) {
        if part.keeps_versions && is_committed {
            let tables = part.database.catalog.tables_pending(self.id);
            let tables = tables.into_iter().map(|table| (part.database.id, table));
            self.versions.redefined.extend(tables);
        }
    }

    /// The transaction's end is durable, and its locks are still held. One whose rollback is left to the next start has changes on pages
    /// still: for snapshots it goes on.
    pub(super) fn end_versions(&mut self, is_committed: bool, outcome: &Result<()>) {
        let redefined = std::mem::take(&mut self.versions.redefined);
        let is_left = |error: &Error| error.number == Error::shutdown_in_progress().number;
        let goes_on = !is_committed && outcome.as_ref().is_err_and(is_left);
        if let Some(writer) = self.versions.writer.take().filter(|_| !goes_on) {
            self.versions.store.end(&writer, is_committed, &redefined);
        }
    }
}
