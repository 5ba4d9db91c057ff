//! Snapshots: what a reader sees, and the list of open snapshots.

use super::VersionStore;
use std::sync::Arc;

/// A reader's place in the sequence of ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Transactions that were committed with a number up to this are seen.
    pub at: u64,
    /// And this one, which is the reader's own.
    pub reader: u64,
}

/// The state of an open snapshot.
pub(super) struct SnapshotEntry {
    pub session: u16,
    pub reader: u64,
    pub begun_micros: u64,
    /// Of a transaction, not of one statement.
    pub is_of_transaction: bool,
    /// Writers that were under way then, if it is a transaction's.
    pub writers: Vec<u64>,
}

/// A snapshot under way: versions that it may need stay until it is dropped.
pub struct HeldSnapshot {
    store: Arc<VersionStore>,
    id: u64,
    snapshot: Snapshot,
}

impl HeldSnapshot {
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot
    }
}

impl VersionStore {
    /// Takes a snapshot of now for the transaction of number `reader`.
    pub fn take_snapshot(
        self: &Arc<VersionStore>,
        reader: u64,
        session: u16,
        begun_micros: u64,
        is_of_transaction: bool,
    ) -> HeldSnapshot {
        let mut book = self.book.lock();
        let id = book.next_snapshot;
        book.next_snapshot += 1;
        let snapshot = Snapshot {
            at: self.sequence(),
            reader,
        };
        let under_way = book.writers.values().filter(|writer| writer.ended().is_none());
        let writers = match is_of_transaction {
            true => under_way
                .map(|writer| writer.number())
                .filter(|number| *number != reader)
                .collect(),
            false => Vec::new(),
        };
        let entry = SnapshotEntry {
            session,
            reader,
            begun_micros,
            is_of_transaction,
            writers,
        };
        book.snapshots.insert((snapshot.at, id), entry);
        HeldSnapshot {
            store: self.clone(),
            id,
            snapshot,
        }
    }

    /// Whether a transaction reads by a snapshot that is older than a place in the sequence.
    pub fn has_transactions_before(&self, at: u64) -> bool {
        let book = self.book.lock();
        let mut older = book.snapshots.range(..(at, 0));
        older.any(|(_, entry)| entry.is_of_transaction)
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        {
            let mut book = self.store.book.lock();
            book.snapshots.remove(&(self.snapshot.at, self.id));
            self.store.settle(&mut book);
        }
        self.store.clean(super::CLEANED_AT_AN_END_MAX);
    }
}
