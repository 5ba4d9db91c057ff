//! Snapshots and writers, for the views of them.

use super::{Snapshot, VersionStore};

/// A snapshot under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedSnapshot {
    pub session: u16,
    /// The number of the transaction that reads by it.
    pub transaction: u64,
    /// Its place in the sequence of ends.
    pub at: u64,
    /// When it was taken, on the monotonic clock.
    pub begun_micros: u64,
    /// It is a transaction's (SNAPSHOT), not a statement's.
    pub is_of_transaction: bool,
}

/// A transaction that keeps versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedWriter {
    pub session: u16,
    pub transaction: u64,
    /// When it began to write, on the monotonic clock.
    pub begun_micros: u64,
    /// Its number in the sequence of ends, once it has ended.
    pub ended: Option<u64>,
    pub bytes: usize,
}

impl VersionStore {
    /// Every snapshot under way, the oldest first.
    pub fn snapshots(&self) -> Vec<ListedSnapshot> {
        let book = self.book.lock();
        let listed = book.snapshots.iter().map(|((at, _), entry)| ListedSnapshot {
            session: entry.session,
            transaction: entry.reader,
            at: *at,
            begun_micros: entry.begun_micros,
            is_of_transaction: entry.is_of_transaction,
        });
        listed.collect()
    }

    /// Every writer under way.
    pub fn writers(&self) -> Vec<ListedWriter> {
        let book = self.book.lock();
        let listed = book.writers.values().map(|writer| ListedWriter {
            session: writer.session(),
            transaction: writer.number(),
            begun_micros: writer.begun_micros(),
            ended: writer.ended(),
            bytes: writer.bytes(),
        });
        listed.filter(|writer| writer.ended.is_none()).collect()
    }

    /// The transactions that kept versions and had not ended when a snapshot was taken. Its own is none of them.
    pub fn writers_before(&self, snapshot: Snapshot) -> Vec<u64> {
        let book = self.book.lock();
        let taken = book
            .snapshots
            .iter()
            .find(|((at, _), entry)| *at == snapshot.at && entry.reader == snapshot.reader && entry.is_of_transaction);
        taken.map(|(_, entry)| entry.writers.clone()).unwrap_or_default()
    }
}
