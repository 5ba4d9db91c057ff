//! A transaction that keeps versions.

use super::Snapshot;
use super::chain::UnitVersions;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use vlf::Lsn;

/// What a writer has kept.
pub(super) enum Kept {
    Row(Arc<UnitVersions>, Arc<[u8]>),
    /// A range, by where it begins.
    Range(Arc<UnitVersions>, Arc<[u8]>),
}

/// A session's transaction that changes rows of databases that keep versions.
pub struct Writer {
    number: u64,
    session: u16,
    begun_micros: u64,
    /// 0 while it is under way; then its number in the sequence of ends, doubled, and one more if it was rolled back.
    end: AtomicU64,
    parts: Mutex<Vec<(u16, Lsn)>>,
    kept: Mutex<Vec<Kept>>,
    bytes: AtomicUsize,
    /// Units that it has made itself.
    made: Mutex<Vec<(u16, u32)>>,
    has_made: AtomicBool,
    /// The store was full: it keeps no versions any more.
    keeps_none: AtomicBool,
    /// Units that it has changed rows of, once it keeps none.
    touched: Mutex<Vec<(u16, u32)>>,
}

impl Writer {
    /// A transaction of this number, of a session.
    pub fn new(number: u64, session: u16, begun_micros: u64) -> Writer {
        Writer {
            number,
            session,
            begun_micros,
            end: AtomicU64::new(0),
            parts: Mutex::default(),
            kept: Mutex::default(),
            bytes: AtomicUsize::new(0),
            made: Mutex::default(),
            has_made: AtomicBool::new(false),
            keeps_none: AtomicBool::new(false),
            touched: Mutex::default(),
        }
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The session whose transaction it is.
    pub fn session(&self) -> u16 {
        self.session
    }

    /// When it began to write, on the monotonic clock.
    pub fn begun_micros(&self) -> u64 {
        self.begun_micros
    }

    /// Its number in the sequence of ends; `None` while it is under way.
    pub fn ended(&self) -> Option<u64> {
        let end = self.end.load(Ordering::Acquire);
        (end != 0).then_some(end >> 1)
    }

    pub(super) fn end(&self, number: u64, is_committed: bool) {
        self.end
            .store(number << 1 | u64::from(!is_committed), Ordering::Release);
    }

    /// Whether a snapshot sees what it did.
    pub(super) fn is_seen_by(&self, snapshot: Snapshot) -> bool {
        if self.number == snapshot.reader {
            return true;
        }
        let end = self.end.load(Ordering::Acquire);
        end != 0 && end & 1 == 0 && end >> 1 <= snapshot.at
    }

    /// Whether it was committed too late for a snapshot, whose own it is not.
    pub(super) fn is_committed_after(&self, snapshot: Snapshot) -> bool {
        let end = self.end.load(Ordering::Acquire);
        self.number != snapshot.reader && end & 1 == 0 && end >> 1 > snapshot.at
    }

    pub(super) fn add_part(&self, database: u16, first: Lsn) {
        self.parts.lock().push((database, first.with_slot(0)));
    }

    pub(super) fn parts(&self) -> Vec<(u16, Lsn)> {
        self.parts.lock().clone()
    }

    /// It has made a unit, which nobody else reaches before the definition is committed.
    pub fn note_made(&self, database: u16, unit: u32) {
        self.made.lock().push((database, unit));
        self.has_made.store(true, Ordering::Relaxed);
    }

    pub(super) fn made(&self, database: u16, unit: u32) -> bool {
        self.has_made.load(Ordering::Relaxed) && self.made.lock().contains(&(database, unit))
    }

    /// Whether it keeps no versions, which is noted of this unit then.
    pub(super) fn keeps_none_in(&self, database: u16, unit: u32) -> bool {
        if !self.keeps_none.load(Ordering::SeqCst) {
            return false;
        }
        let mut touched = self.touched.lock();
        if !touched.contains(&(database, unit)) {
            touched.push((database, unit));
        }
        true
    }

    /// It keeps no more versions, and those it has kept are to go: what they were of is noted.
    pub(super) fn keep_no_more(&self) {
        let kept = self.kept.lock();
        let mut touched = self.touched.lock();
        for one in kept.iter() {
            let (Kept::Row(unit, _) | Kept::Range(unit, _)) = one;
            let place = unit.place();
            if !touched.contains(&place) {
                touched.push(place);
            }
        }
        self.keeps_none.store(true, Ordering::SeqCst);
    }

    pub(super) fn has_touched(&self, database: u16, unit: u32) -> bool {
        self.touched.lock().contains(&(database, unit))
    }

    pub(super) fn note_kept(&self, kept: Kept) {
        self.kept.lock().push(kept);
    }

    pub(super) fn has_versions(&self) -> bool {
        !self.kept.lock().is_empty()
    }

    pub(super) fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of its versions.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Takes away up to so many of its versions, and all that are older; answers how many, and their bytes.
    pub(super) fn take_away(&self, versions_max: usize) -> (usize, usize) {
        let gone = {
            let mut kept = self.kept.lock();
            let from = kept.len().saturating_sub(versions_max);
            kept.split_off(from)
        };
        let bytes = gone.iter().map(|one| match one {
            Kept::Row(unit, key) => unit.take_away(self, key),
            Kept::Range(unit, from) => unit.take_range_away(from),
        });
        let bytes = bytes.sum();
        if !self.has_versions() {
            // Its list is not grown again.
            *self.kept.lock() = Vec::new();
        }
        let own = self.bytes.load(Ordering::Relaxed);
        self.bytes.store(own.saturating_sub(bytes), Ordering::Relaxed);
        (gone.len(), bytes)
    }
}
