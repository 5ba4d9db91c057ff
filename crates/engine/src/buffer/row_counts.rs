//! The row count of each object of a database, updated as rows are inserted and deleted.
//!
//! The counts are in memory only. For an object created in this run the count is known from the start. Other objects are counted at the
//! first request. A count is exact if nothing changes the object while it is being counted.

use crate::page::ObjectId;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};

/// A count below this has gone beyond the greatest: no count that is a little behind goes so far below zero.
const OVERFLOWN: i64 = i64::MIN / 2;

#[derive(Default)]
pub struct RowCounts {
    counts: RwLock<HashMap<ObjectId, AtomicI64, RandomState>>,
    /// How many pages the optimizer is to believe that an object has, where UPDATE STATISTICS ... WITH PAGECOUNT has said it.
    pages_believed: RwLock<HashMap<ObjectId, u64, RandomState>>,
}

impl RowCounts {
    /// The rows of an object, if they are known.
    pub fn get(&self, object: ObjectId) -> Option<u64> {
        let counts = self.counts.read();
        let count = counts.get(&object)?.load(Ordering::Relaxed);
        Some(match count {
            // Rows came to the greatest count there is, which a user may set.
            ..OVERFLOWN => i64::MAX as u64,
            count => u64::try_from(count).unwrap_or(0),
        })
    }

    /// The pages of an object as UPDATE STATISTICS has set them.
    pub fn pages_believed(&self, object: ObjectId) -> Option<u64> {
        self.pages_believed.read().get(&object).copied()
    }

    /// UPDATE STATISTICS ... WITH PAGECOUNT.
    pub fn believe_pages(&self, object: ObjectId, pages: u64) {
        self.pages_believed.write().insert(object, pages);
    }

    /// An object was made, or its rows were counted.
    pub fn set(&self, object: ObjectId, rows: u64) {
        let rows = AtomicI64::new(i64::try_from(rows).unwrap_or(i64::MAX));
        self.counts.write().insert(object, rows);
    }

    /// Rows came, or went; nothing happens for an object whose rows were never counted.
    pub fn add(&self, object: ObjectId, rows: i64) {
        if let Some(count) = self.counts.read().get(&object) {
            count.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// The object is gone.
    pub fn forget(&self, object: ObjectId) {
        self.counts.write().remove(&object);
        self.pages_believed.write().remove(&object);
    }
}
