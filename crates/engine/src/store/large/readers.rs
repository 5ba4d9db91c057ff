//! Readers of large values: pages that were given up stay until every statement that may have their places has ended.
//!
//! ```text
//! log   ---- row changed -- given up at L -------- R: another statement begins to read ---->
//!            |<-- statements that began here may have the old place ----->|
//! ```
//! A statement registers the log's end before it reads its first row of a table whose rows may have large values, and unregisters when it
//! ends. A page given up at L may become free once all registered statements began after L, because the row was changed before L. A
//! snapshot that does not see the change finds the old place in a version of the row, so the horizon of ghosts counts here as well.

use crate::buffer::DatabaseStorage;
use crate::store::ghosts::Horizon;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vlf::Lsn;

/// The statements that are reading, of one database.
#[derive(Debug, Default)]
pub struct Readers {
    since: Mutex<BTreeSet<(Lsn, u64)>>,
    next: AtomicU64,
}

/// A statement that is reading; over when dropped.
#[derive(Debug)]
pub struct Reading {
    readers: Arc<Readers>,
    key: (Lsn, u64),
}

impl Readers {
    /// A statement begins to read.
    pub fn begin(self: &Arc<Readers>, storage: &DatabaseStorage) -> Reading {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut since = self.since.lock();
        let key = (storage.log.end(), number);
        since.insert(key);
        Reading {
            readers: self.clone(),
            key,
        }
    }

    /// What was given up before it is free: nobody can undo it or read it.
    pub(super) fn horizon(&self, storage: &DatabaseStorage) -> Lsn {
        let oldest_reader = self.since.lock().first().map(|(since, _)| *since);
        let horizon = Horizon::of(storage).lsn();
        oldest_reader.map_or(horizon, |since| since.min(horizon))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.readers.since.lock().remove(&self.key);
    }
}
