//! The versions of the rows of one allocation unit.
//!
//! ```text
//! key of the row -> newest version -> older one -> ...       16 tables, each with its latch
//! range of keys  -> its writer                               rows that were filled a page at a time
//! ```
//! A range says that none of its rows existed before its writer. In each row's chain it has the position of its time. No other writer was
//! in the table while it was filled, so every version is by the same writer, or from before or after the range.
//!
//! Ranges do not overlap: rows whose range would overlap are kept one by one.

use super::Snapshot;
use super::writer::{Kept, Writer};
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::ops::Bound;
use std::sync::Arc;

const SHARDS: usize = 16;
/// What a version takes beside the bytes of its row: its place in the table at the usual filling, in the list of its writer, and two
/// allocations.
const VERSION_BYTES: usize = 144;
/// What its key takes besides.
const KEY_BYTES: usize = 16;

/// What a snapshot sees of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// What is on the page.
    Current,
    /// No row.
    Nothing,
    /// Another row, which was written to the caller's buffer.
    Version,
}

/// What a row was before a writer changed it.
struct Version {
    writer: Arc<Writer>,
    /// The place in the sequence of ends when it was kept.
    kept_at: u64,
    before: Option<Box<[u8]>>,
    older: Option<Box<Version>>,
}

impl Version {
    fn bytes(&self) -> usize {
        VERSION_BYTES + self.before.as_ref().map_or(0, |before| before.len())
    }

    /// The bytes of this and all that are older. A chain is as long as a row had writers that a snapshot may miss.
    fn bytes_of_all(&self) -> usize {
        let mut bytes = self.bytes();
        let mut next = &self.older;
        while let Some(version) = next {
            bytes += version.bytes();
            next = &version.older;
        }
        bytes
    }
}

impl Drop for Version {
    /// A long chain is dropped version by version, not by recursion.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(mut version) = next {
            next = version.older.take();
        }
    }
}

/// The versions of one row.
struct Chain {
    newest: Version,
    /// When the oldest of them was kept. Who had ended by then has none here: his would be older.
    oldest_kept_at: u64,
}

struct Range {
    to: Arc<[u8]>,
    writer: Arc<Writer>,
    kept_at: u64,
}

/// A change of a row hashes its key several times, so the hash is a fast one; keys are what users choose, so it is seeded.
type Chains = HashMap<Arc<[u8]>, Chain, RandomState>;

/// Chains by key, and the ranges that were filled.
pub struct UnitVersions {
    place: (u16, u32),
    hasher: RandomState,
    shards: [RwLock<Chains>; SHARDS],
    ranges: RwLock<BTreeMap<Arc<[u8]>, Range>>,
    bytes: std::sync::atomic::AtomicUsize,
}

impl UnitVersions {
    pub(super) fn new(database: u16, unit: u32) -> UnitVersions {
        UnitVersions {
            place: (database, unit),
            hasher: RandomState::default(),
            shards: Default::default(),
            ranges: RwLock::default(),
            bytes: Default::default(),
        }
    }

    /// Database and unit.
    pub(super) fn place(&self) -> (u16, u32) {
        self.place
    }

    /// Bytes of its versions.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }

    fn take_bytes(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, std::sync::atomic::Ordering::Relaxed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.read().is_empty() && self.shards.iter().all(|shard| shard.read().is_empty())
    }

    fn shard(&self, key: &[u8]) -> &RwLock<Chains> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Adds a version to a row's chain, unless its newest is the writer's already; answers its bytes.
    pub(super) fn push(
        self: &Arc<UnitVersions>,
        writer: &Arc<Writer>,
        kept_at: u64,
        key: &[u8],
        before: Option<&[u8]>,
    ) -> Option<usize> {
        let version = |older| Version {
            writer: writer.clone(),
            kept_at,
            before: before.map(Into::into),
            older,
        };
        let mut shard = self.shard(key).write();
        let (key, bytes) = match shard.get_mut(key) {
            Some(chain) if Arc::ptr_eq(&chain.newest.writer, writer) => return None,
            Some(Chain { newest, .. }) => {
                let former = std::mem::replace(newest, version(None));
                newest.older = Some(Box::new(former));
                let bytes = newest.bytes();
                let key = shard.get_key_value(key).map(|(key, _)| key.clone())?;
                (key, bytes)
            }
            None => {
                let key: Arc<[u8]> = key.into();
                let new = version(None);
                let bytes = new.bytes() + KEY_BYTES + key.len();
                let chain = Chain {
                    newest: new,
                    oldest_kept_at: kept_at,
                };
                shard.insert(key.clone(), chain);
                (key, bytes)
            }
        };
        drop(shard);
        writer.note_kept(Kept::Row(self.clone(), key));
        self.add_bytes(bytes);
        Some(bytes)
    }

    /// Adds a range, or makes the writer's last one longer if `joins`; answers its bytes. `None` when it would overlap another.
    pub(super) fn push_range(
        self: &Arc<UnitVersions>,
        writer: &Arc<Writer>,
        kept_at: u64,
        from: &[u8],
        to: &[u8],
        joins: bool,
    ) -> Option<usize> {
        let mut ranges = self.ranges.write();
        let mut below = ranges.range_mut::<[u8], _>((Bound::Unbounded, Bound::Included(to)));
        if let Some((_, last)) = below.next_back() {
            if *last.to >= *from {
                return None;
            }
            if joins && Arc::ptr_eq(&last.writer, writer) {
                last.to = to.into();
                return Some(0);
            }
        }
        let start: Arc<[u8]> = from.into();
        let range = Range {
            to: to.into(),
            writer: writer.clone(),
            kept_at,
        };
        ranges.insert(start.clone(), range);
        drop(ranges);
        writer.note_kept(Kept::Range(self.clone(), start));
        let bytes = VERSION_BYTES;
        self.add_bytes(bytes);
        Some(bytes)
    }

    /// What a snapshot sees of a row; a version is appended to `out`.
    pub fn find(&self, snapshot: Snapshot, key: &[u8], out: &mut Vec<u8>) -> Seen {
        let range = self.range_of(key);
        let mut range = range.as_ref();
        let shard = self.shard(key).read();
        let mut seen = Seen::Current;
        let mut older_still: Option<&[u8]> = None;
        let mut next = shard.get(key).map(|chain| &chain.newest);
        while let Some(version) = next {
            if let Some((writer, kept_at)) = range
                && version.kept_at < *kept_at
            {
                // The range comes before the older versions.
                range = None;
                if writer.is_seen_by(snapshot) {
                    return write_out(seen, older_still, out);
                }
                (seen, older_still) = (Seen::Nothing, None);
            }
            if version.writer.is_seen_by(snapshot) {
                return write_out(seen, older_still, out);
            }
            (seen, older_still) = match &version.before {
                Some(before) => (Seen::Version, Some(&**before)),
                None => (Seen::Nothing, None),
            };
            next = version.older.as_deref();
        }
        if let Some((writer, _)) = range
            && !writer.is_seen_by(snapshot)
        {
            return Seen::Nothing;
        }
        write_out(seen, older_still, out)
    }

    /// Whether a row was changed by a transaction that was committed too late for a snapshot.
    pub fn is_changed_since(&self, snapshot: Snapshot, key: &[u8]) -> bool {
        if let Some((writer, _)) = self.range_of(key)
            && writer.is_committed_after(snapshot)
        {
            return true;
        }
        let shard = self.shard(key).read();
        let mut next = shard.get(key).map(|chain| &chain.newest);
        while let Some(version) = next {
            if version.writer.is_committed_after(snapshot) {
                return true;
            }
            next = version.older.as_deref();
        }
        false
    }

    fn range_of(&self, key: &[u8]) -> Option<(Arc<Writer>, u64)> {
        let ranges = self.ranges.read();
        let mut below = ranges.range::<[u8], _>((Bound::Unbounded, Bound::Included(key)));
        let (_, range) = below.next_back()?;
        (*range.to >= *key).then(|| (range.writer.clone(), range.kept_at))
    }

    /// Takes away a writer's version of a row and all that are older; answers their bytes.
    pub(super) fn take_away(&self, writer: &Writer, key: &Arc<[u8]>) -> usize {
        let mut shard = self.shard(key).write();
        let Entry::Occupied(mut entry) = shard.entry(key.clone()) else {
            return 0;
        };
        let has_gone = |chain: &Chain| writer.ended().is_some_and(|end| chain.oldest_kept_at >= end);
        let bytes = if std::ptr::eq(&*entry.get().newest.writer, writer) {
            entry.remove().newest.bytes_of_all() + KEY_BYTES + key.len()
        } else if has_gone(entry.get()) {
            0
        } else {
            cut_off(entry.get_mut(), writer)
        };
        drop(shard);
        self.take_bytes(bytes);
        bytes
    }

    pub(super) fn take_range_away(&self, from: &Arc<[u8]>) -> usize {
        if self.ranges.write().remove(from).is_none() {
            return 0;
        }
        self.take_bytes(VERSION_BYTES);
        VERSION_BYTES
    }
}

/// Cuts a chain off at a writer's version; answers the bytes of what is gone.
fn cut_off(chain: &mut Chain, writer: &Writer) -> usize {
    let mut at = &mut chain.newest;
    loop {
        let is_it = |older: &Version| std::ptr::eq(&*older.writer, writer);
        if at.older.as_deref().is_some_and(is_it) {
            chain.oldest_kept_at = at.kept_at;
            return at.older.take().map_or(0, |gone| gone.bytes_of_all());
        }
        match &mut at.older {
            Some(older) => at = older,
            None => return 0,
        }
    }
}

fn write_out(seen: Seen, version: Option<&[u8]>, out: &mut Vec<u8>) -> Seen {
    if let Some(version) = version {
        out.extend_from_slice(version);
    }
    seen
}
