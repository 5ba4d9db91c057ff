//! Row versions in the store: saving and reading them. [`crate::versions`] explains them.

use super::StoreContext;
use super::ghosts::Horizon;
use super::ids::IdCounters;
use super::row::Rid;
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::lock::Mode;
use crate::page::{ObjectId, PageRef};
use crate::versions::{Seen, Snapshot, UnitVersions, Writer};
use std::sync::Arc;

/// What a transaction that writes has to do with versions.
#[derive(Clone, Copy, Default)]
pub struct Versioning<'a> {
    /// Who keeps versions; absent in a database that keeps none, and for work of the system.
    pub writer: Option<&'a Arc<Writer>>,
    /// What the transaction has to find unchanged: it writes under SNAPSHOT.
    pub snapshot: Option<Snapshot>,
}

/// The key of a heap's row among versions: identifiers in the order of pages and slots.
pub(super) fn key_of(rid: Rid) -> [u8; 8] {
    rid.to_u64().to_be_bytes()
}

impl StoreContext<'_> {
    /// Keeps what a row is before it changes, under its page's latch; `None` for no row.
    pub(super) fn keep_version(&self, unit: ObjectId, key: &[u8], before: Option<&[u8]>) {
        if let Some(writer) = self.versions.writer.filter(|_| is_of_users(unit)) {
            let store = self.storage.versions.store();
            store.keep(writer, (self.storage.id.0, unit.0), key, before);
        }
    }

    /// Keeps that no row was in a range which is filled now. False when each row has to be kept by itself.
    pub(super) fn keep_range(&self, unit: ObjectId, from: &[u8], to: &[u8], joins: bool) -> bool {
        let Some(writer) = self.versions.writer.filter(|_| is_of_users(unit)) else {
            return true;
        };
        let store = self.storage.versions.store();
        store.keep_range(writer, (self.storage.id.0, unit.0), (from, to), joins)
    }

    /// A unit is the transaction's own until it is committed.
    pub(super) fn note_made(&self, unit: ObjectId) {
        if let Some(writer) = self.versions.writer {
            writer.note_made(self.storage.id.0, unit.0);
        }
    }
}

/// Definitions have no versions.
fn is_of_users(unit: ObjectId) -> bool {
    unit.0 >= IdCounters::FIRST.unit
}

/// Whether everything on a page, whose latch the caller holds, is as every snapshot sees it.
pub(super) fn is_settled_for_snapshots(storage: &DatabaseStorage, page: PageRef<'_>) -> bool {
    Horizon::of(storage).is_behind(page.lsn())
}

/// A reader's look at the versions in a unit, begun after the page was copied, and good if [`Look::end`] says so.
#[must_use]
pub(super) struct Look<'s> {
    storage: &'s DatabaseStorage,
    snapshot: Snapshot,
    unit: ObjectId,
    versions: Option<Arc<UnitVersions>>,
}

impl<'s> Look<'s> {
    pub fn begin(storage: &'s DatabaseStorage, snapshot: Snapshot, unit: ObjectId) -> Look<'s> {
        Look {
            storage,
            snapshot,
            unit,
            versions: storage.versions.store().unit(storage.id.0, unit.0),
        }
    }

    /// What the snapshot sees of a row; a version is appended to `out`.
    pub fn at(&self, key: &[u8], out: &mut Vec<u8>) -> Seen {
        match &self.versions {
            Some(versions) => versions.find(self.snapshot, key, out),
            None => Seen::Current,
        }
    }

    /// Whether all was there that the look was for. `table` is named by its id until the table's reader knows better.
    ///
    /// # Errors
    /// 3958 and 3966.
    pub fn end(self, table: u32) -> Result<()> {
        let store = self.storage.versions.store();
        store.check(
            self.snapshot,
            (self.storage.id.0, self.unit.0),
            table,
            &self.storage.name,
        )
    }
}

/// Whether a row that a transaction under SNAPSHOT has locked is there for it.
///
/// # Errors
/// 3960 when it is another than the snapshot sees; 3958 and 3966.
pub(super) fn is_as_seen(
    storage: &DatabaseStorage,
    snapshot: Snapshot,
    (unit, table): (ObjectId, u32),
    key: &[u8],
) -> Result<bool> {
    let look = Look::begin(storage, snapshot, unit);
    let seen = look.at(key, &mut Vec::new());
    look.end(table)?;
    match seen {
        Seen::Current => Ok(true),
        Seen::Nothing => Ok(false),
        Seen::Version => Err(Error::update_conflict(&unnamed_table(table), &storage.name)),
    }
}

/// How a table is called in an error until who reads it gives it its name.
pub fn unnamed_table(table: u32) -> String {
    format!("object {table}")
}

/// Puts what a snapshot sees of a row in the place of what was read of it behind `start`; whether there is a row.
///
/// # Errors
/// 3958 and 3966.
pub(super) fn as_seen(
    storage: &DatabaseStorage,
    snapshot: Snapshot,
    (unit, table): (ObjectId, u32),
    key: &[u8],
    (is_there, start): (bool, usize),
    out: &mut Vec<u8>,
) -> Result<bool> {
    let look = Look::begin(storage, snapshot, unit);
    let end = out.len();
    let seen = look.at(key, out);
    look.end(table)?;
    match seen {
        Seen::Current => Ok(is_there),
        Seen::Nothing => {
            out.truncate(start);
            Ok(false)
        }
        Seen::Version => {
            out.drain(start..end);
            Ok(true)
        }
    }
}

impl super::Heap {
    /// Locks a row for a change under SNAPSHOT. Whether another transaction has changed it, which was committed too late for the snapshot.
    ///
    /// # Errors
    /// Those of waiting for the lock; 3958 and 3966.
    pub fn lock_and_compare(&self, ctx: &StoreContext<'_>, snapshot: Snapshot, rid: Rid) -> Result<bool> {
        self.lock_row(ctx.storage, ctx.locks, rid, Mode::X)?;
        is_changed_since(ctx.storage, snapshot, (self.root().object, self.table()), &key_of(rid))
    }
}

impl super::Tree {
    /// As for a heap's row, of the row or entry with a key, be it gone.
    ///
    /// # Errors
    /// Those of waiting for the lock; 3958 and 3966.
    pub fn lock_and_compare(&self, ctx: &StoreContext<'_>, snapshot: Snapshot, key: &[u8]) -> Result<bool> {
        self.lock_row(ctx.storage, ctx.locks, key, Mode::X)?;
        is_changed_since(ctx.storage, snapshot, (self.root().object, self.table()), key)
    }
}

fn is_changed_since(
    storage: &DatabaseStorage,
    snapshot: Snapshot,
    (unit, table): (ObjectId, u32),
    key: &[u8],
) -> Result<bool> {
    let look = Look::begin(storage, snapshot, unit);
    let is_changed = look
        .versions
        .as_ref()
        .is_some_and(|versions| versions.is_changed_since(snapshot, key));
    look.end(table).map(|()| is_changed)
}
