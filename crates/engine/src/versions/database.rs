//! The version state of one database: whether rows get versions, which sessions may read them, and what must be kept for those readers.

use super::{Horizons, Snapshot, VersionStore};
use crate::log::AtomicLsn;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use vlf::Lsn;

/// ALLOW_SNAPSHOT_ISOLATION, as `sys.databases` numbers its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SnapshotState {
    Off = 0,
    On = 1,
    /// On its way off: transactions that read by snapshots go on.
    TurningOff = 2,
    /// On its way on: transactions of before are waited for.
    TurningOn = 3,
}

impl SnapshotState {
    /// `snapshot_isolation_state_desc`.
    pub fn name(self) -> &'static str {
        match self {
            SnapshotState::Off => "OFF",
            SnapshotState::On => "ON",
            SnapshotState::TurningOff => "IN_TRANSITION_TO_OFF",
            SnapshotState::TurningOn => "IN_TRANSITION_TO_ON",
        }
    }

    fn from_number(number: u8) -> SnapshotState {
        match number {
            1 => SnapshotState::On,
            2 => SnapshotState::TurningOff,
            3 => SnapshotState::TurningOn,
            _ => SnapshotState::Off,
        }
    }
}

/// Versions as an open database has them.
pub struct DatabaseVersions {
    store: Arc<VersionStore>,
    database: u16,
    state: AtomicU8,
    reads_committed: AtomicBool,
    /// Snapshots from here on see all of the database: it kept versions since.
    complete_since: AtomicU64,
    horizon: Arc<AtomicLsn>,
}

impl DatabaseVersions {
    /// A database that is being opened. Whatever the store had of one with its id is gone.
    pub fn open(store: &Arc<VersionStore>, database: u16) -> DatabaseVersions {
        let horizon = Arc::new(AtomicLsn::new(Lsn::MAX));
        store.units.write().retain(|(of, _), _| *of != database);
        let horizons = Horizons {
            firsts: BTreeSet::new(),
            shown: horizon.clone(),
        };
        let mut book = store.book.lock();
        book.horizons.insert(database, horizons);
        book.defined.retain(|(of, _), _| *of != database);
        DatabaseVersions {
            store: store.clone(),
            database,
            state: AtomicU8::new(SnapshotState::Off as u8),
            reads_committed: AtomicBool::new(false),
            complete_since: AtomicU64::new(store.sequence()),
            horizon,
        }
    }

    pub fn store(&self) -> &Arc<VersionStore> {
        &self.store
    }

    /// Whether rows that change get versions.
    pub fn are_kept(&self) -> bool {
        self.state() != SnapshotState::Off || self.are_read_by_default()
    }

    /// READ_COMMITTED_SNAPSHOT.
    pub fn are_read_by_default(&self) -> bool {
        self.reads_committed.load(Ordering::Relaxed)
    }

    /// Sets READ_COMMITTED_SNAPSHOT. Nobody else is in the database.
    pub fn set_read_by_default(&self, is_on: bool) {
        if !self.are_kept() {
            self.note_complete();
        }
        self.reads_committed.store(is_on, Ordering::SeqCst);
    }

    /// ALLOW_SNAPSHOT_ISOLATION.
    pub fn state(&self) -> SnapshotState {
        SnapshotState::from_number(self.state.load(Ordering::SeqCst))
    }

    pub fn set_state(&self, state: SnapshotState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// Every transaction under way keeps versions: snapshots from now on see all of the database.
    pub fn note_complete(&self) {
        let mut book = self.store.book.lock();
        let next = self.store.sequence() + 1;
        self.store.sequence.store(next, Ordering::Release);
        self.store.settle(&mut book);
        self.complete_since.store(next, Ordering::SeqCst);
    }

    /// Whether a snapshot sees all of the database.
    pub fn is_complete_for(&self, snapshot: Snapshot) -> bool {
        snapshot.at >= self.complete_since.load(Ordering::SeqCst)
    }

    /// Everything on a page whose last change is older is as every snapshot sees it.
    pub fn horizon(&self) -> Lsn {
        self.horizon.load()
    }

    /// Bytes of its versions.
    pub fn bytes(&self) -> usize {
        let units = self.store.units.read();
        let own = units.values().filter(|unit| unit.place().0 == self.database);
        own.map(|unit| unit.bytes()).sum()
    }
}
