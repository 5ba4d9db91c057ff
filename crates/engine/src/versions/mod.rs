//! Row versions: older states of rows, for readers with a snapshot.
//!
//! A database keeps versions while READ_COMMITTED_SNAPSHOT or ALLOW_SNAPSHOT_ISOLATION is on. A reader then takes no row locks: it has a
//! [`Snapshot`] and reads every row as committed when the snapshot was taken, plus its own transaction's later changes.
//!
//! ```text
//! row on its page:   its current state, committed or not
//! chain of the row:  [writer 9 | before: 'c'] -> [writer 7 | before: 'b'] -> [writer 4 | before: no row]
//!                     newest                                                  oldest
//! snapshot that sees 4 and 7 and not 9: 'c'     only 4: 'b'     none of them: no row     all: the row on the page
//! ```
//!
//! | topic | rule |
//! |---|---|
//! | row identity | a heap row by its identifier, a row of a clustered tree and an entry of a nonclustered index by its key, each in its allocation unit. A changed key counts as a deletion and an insertion |
//! | creation | a session's transaction creates a version under the page's latch, before the page changes: the first change of a row by a transaction saves the old state. A rollback creates none, because it restores the state of the version |
//! | storage | in memory, outside the log; SQL Server keeps versions in tempdb, also outside the log. A restart discards versions together with their readers. The 14 bytes that rows reserve for a version pointer stay free: a database with the options off has the same pages as one without versions |
//! | when a transaction becomes visible | at one moment for all databases, once its end is durable and before its locks are released: it gets the next number of the sequence |
//! | visibility | a snapshot sees transactions that committed with a number up to its own, and the reader's own transaction |
//! | removal | a version is removed when every open snapshot sees its writer's end |
//! | also kept | deleted rows, their pages and the pages of old large values: the first record of the oldest writer whose versions may be needed is the horizon of `store::ghosts` ([`DatabaseVersions::horizon`]) |
//! | unchanged pages | every snapshot sees a page as it is if the page's last change is older than the horizon: no chain is searched |
//! | rows filled in by pages | one range for many rows ([`chain`]) instead of a version each |
//! | a unit created by the writer | has no versions: no other session reaches it before the definition is committed, and a session with an older snapshot then gets 3961 |
//!
//! *Ordering.* A writer saves the version, then changes the page, both under the exclusive latch. A reader copies the page under the latch
//! and searches the chain afterwards. So the chain has at least every change that the copy has. Additional changes are by writers that the
//! snapshot does not see, and the search passes them.
//!
//! *The limit.* Versions take at most [`VersionStore::limit_bytes`]. When they reach it, unneeded versions are removed first. Then the
//! oldest snapshot is sacrificed (3967 in the error log, and 3966 for its owner when it next needs a version). If open writers fill the
//! store by themselves, the one with the most versions stops creating them (3959 in the error log), and readers that do not see it get 3958
//! if they need one. The writer itself never fails. A reader with a sacrificed snapshot never gets remaining data: the snapshot is checked
//! after each search ([`VersionStore::check`]).
//!
//! Sources: SQL Server docs, "Transaction locking and row versioning guide" (row versioning-based isolation levels; space used in tempdb).

mod chain;
mod database;
mod errors;
mod listed;
mod snapshot;
mod writer;

pub use chain::{Seen, UnitVersions};
pub use database::{DatabaseVersions, SnapshotState};
pub use listed::{ListedSnapshot, ListedWriter};
pub use snapshot::{HeldSnapshot, Snapshot};
pub use writer::Writer;

use crate::error::Result;
use crate::errorlog::ErrorLog;
use crate::log::AtomicLsn;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};
use snapshot::SnapshotEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use vlf::Lsn;

/// Versions that the end of a transaction or a snapshot takes away at once: what is left then is the background's.
const CLEANED_AT_AN_END_MAX: usize = 1_024;
/// Versions taken away by a writer that finds the store full, before anything is given up.
const CLEANED_UNDER_PRESSURE_MAX: usize = 65_536;
/// The share of an instance's memory that versions may take: one part in so many.
const SHARE_OF_MEMORY: u64 = 4;

/// The versions of an instance, its snapshots, and the sequence of ends.
pub struct VersionStore {
    errorlog: Arc<ErrorLog>,
    /// The number of the transaction that ended last.
    sequence: AtomicU64,
    /// Snapshots before this one were given up.
    given_up_before: AtomicU64,
    next_transaction: AtomicU64,
    bytes: AtomicUsize,
    limit_bytes: AtomicUsize,
    units: RwLock<HashMap<(u16, u32), Arc<UnitVersions>, RandomState>>,
    book: Mutex<Book>,
    /// Writers that keep no versions, until no snapshot can miss them.
    without_versions: RwLock<Vec<Arc<Writer>>>,
    has_without_versions: AtomicBool,
    /// How many definitions [`Book::defined`] has.
    definitions: AtomicUsize,
    cleaning: Mutex<()>,
}

/// The state of snapshots and writers.
#[derive(Default)]
struct Book {
    next_snapshot: u64,
    snapshots: BTreeMap<(u64, u64), SnapshotEntry>,
    writers: BTreeMap<u64, Arc<Writer>>,
    /// Ended writers in the order of their ends, whose versions a snapshot may want.
    wanted: VecDeque<Arc<Writer>>,
    /// Writers whose versions nobody wants, or that keep none, in the order in which they came here. The last one goes first: with a version
    /// go all that are older, so a long chain is walked once.
    due: VecDeque<Arc<Writer>>,
    /// Ended writers without versions, in the order of their ends: what they deleted, a snapshot that was given up may still read.
    emptied: BTreeMap<u64, Arc<Writer>>,
    horizons: HashMap<u16, Horizons, RandomState>,
    /// When a table was last redefined, if a snapshot may be older.
    defined: HashMap<(u16, u32), u64, RandomState>,
}

/// The first records of writers in one database.
struct Horizons {
    firsts: BTreeSet<(Lsn, u64)>,
    shown: Arc<AtomicLsn>,
}

impl Horizons {
    fn show(&self) {
        self.shown
            .store(self.firsts.first().map_or(Lsn::MAX, |(first, _)| *first));
    }
}

impl Book {
    /// Moves on what no snapshot wants; `given_up_before` says which snapshots do not count.
    fn settle(&mut self, given_up_before: u64) {
        let live = self.snapshots.range((given_up_before, 0)..).next();
        let oldest_live = live.map_or(u64::MAX, |((at, _), _)| *at);
        let is_unwanted = |writer: &Arc<Writer>| writer.ended().is_some_and(|end| end <= oldest_live);
        let unwanted = self.wanted.iter().take_while(|writer| is_unwanted(writer)).count();
        self.due.extend(self.wanted.drain(..unwanted));
        let oldest = self.snapshots.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        while let Some(entry) = self.emptied.first_entry() {
            if *entry.key() > oldest {
                break;
            }
            let writer = entry.remove();
            self.release(&writer);
        }
        self.defined.retain(|_, at| *at > oldest);
    }

    /// Versions of this writer are no longer needed.
    fn release(&mut self, writer: &Arc<Writer>) {
        self.writers.remove(&writer.number());
        for (database, first) in writer.parts() {
            if let Some(horizons) = self.horizons.get_mut(&database)
                && horizons.firsts.remove(&(first, writer.number()))
            {
                horizons.show();
            }
        }
    }
}

impl VersionStore {
    /// An empty store for an instance with so much memory.
    pub fn new(errorlog: Arc<ErrorLog>, memory_bytes: u64) -> VersionStore {
        let limit = usize::try_from(memory_bytes / SHARE_OF_MEMORY).unwrap_or(usize::MAX);
        VersionStore {
            errorlog,
            sequence: AtomicU64::new(1),
            given_up_before: AtomicU64::new(0),
            next_transaction: AtomicU64::new(1),
            bytes: AtomicUsize::new(0),
            limit_bytes: AtomicUsize::new(limit),
            units: RwLock::default(),
            book: Mutex::default(),
            without_versions: RwLock::default(),
            has_without_versions: AtomicBool::new(false),
            definitions: AtomicUsize::new(0),
            cleaning: Mutex::new(()),
        }
    }

    /// Bytes that versions may take.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Sets the limit; what is beyond it goes when the next version is kept.
    pub fn set_limit_bytes(&self, bytes: usize) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that versions take.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of the transaction that ended last.
    pub fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// A number for a transaction that reads by a snapshot or keeps versions.
    pub fn new_transaction(&self) -> u64 {
        self.next_transaction.fetch_add(1, Ordering::Relaxed)
    }

    /// The number given last; 0 before the first.
    pub fn last_transaction(&self) -> u64 {
        self.next_transaction.load(Ordering::Relaxed) - 1
    }

    /// A transaction begins to write in a database; `first` is its first record there. Told before it changes anything.
    pub fn begin_part(&self, writer: &Arc<Writer>, database: u16, first: Lsn) {
        let mut book = self.book.lock();
        book.writers.insert(writer.number(), writer.clone());
        writer.add_part(database, first);
        if let Some(horizons) = book.horizons.get_mut(&database) {
            horizons.firsts.insert((first.with_slot(0), writer.number()));
            horizons.show();
        }
    }

    /// A transaction has ended: its end is durable, and its locks are still held. `defined` names the tables it has redefined, by database and
    /// object, if it was committed.
    pub fn end(&self, writer: &Arc<Writer>, is_committed: bool, defined: &[(u16, u32)]) {
        {
            let mut book = self.book.lock();
            let number = self.sequence() + 1;
            book.defined.extend(defined.iter().map(|table| (*table, number)));
            writer.end(number, is_committed);
            self.sequence.store(number, Ordering::Release);
            book.wanted.push_back(writer.clone());
            self.settle(&mut book);
        }
        self.clean(CLEANED_AT_AN_END_MAX);
    }

    fn settle(&self, book: &mut Book) {
        book.settle(self.given_up_before.load(Ordering::SeqCst));
        self.definitions.store(book.defined.len(), Ordering::SeqCst);
    }

    /// Whether a table was redefined by a transaction that the snapshot does not see.
    pub fn is_redefined(&self, snapshot: Snapshot, database: u16, table: u32) -> bool {
        if self.definitions.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let book = self.book.lock();
        let at = book.defined.get(&(database, table));
        at.is_some_and(|at| *at > snapshot.at)
    }

    /// The versions in a unit; `None` when there are none. Asked after the page was copied.
    pub fn unit(&self, database: u16, unit: u32) -> Option<Arc<UnitVersions>> {
        self.units.read().get(&(database, unit)).cloned()
    }

    fn unit_or_new(&self, database: u16, unit: u32) -> Arc<UnitVersions> {
        if let Some(versions) = self.unit(database, unit) {
            return versions;
        }
        let mut units = self.units.write();
        let new = || Arc::new(UnitVersions::new(database, unit));
        units.entry((database, unit)).or_insert_with(new).clone()
    }

    /// Keeps what a row is before its writer changes it; `None` for no row. The row's lock is the writer's, and its page is latched.
    pub fn keep(&self, writer: &Arc<Writer>, (database, unit): (u16, u32), key: &[u8], before: Option<&[u8]>) {
        if writer.made(database, unit) || writer.keeps_none_in(database, unit) {
            return;
        }
        let versions = self.unit_or_new(database, unit);
        if let Some(bytes) = versions.push(writer, self.sequence(), key, before) {
            self.grow(writer, bytes);
        }
    }

    /// Keeps that no row was in a range of keys before the writer filled it. False when rows there may have versions of others:
    /// each row is to be kept by itself then.
    pub fn keep_range(
        &self,
        writer: &Arc<Writer>,
        (database, unit): (u16, u32),
        (from, to): (&[u8], &[u8]),
        joins: bool,
    ) -> bool {
        if writer.made(database, unit) || writer.keeps_none_in(database, unit) {
            return true;
        }
        let versions = self.unit_or_new(database, unit);
        match versions.push_range(writer, self.sequence(), from, to, joins) {
            Some(bytes) => {
                self.grow(writer, bytes);
                true
            }
            None => false,
        }
    }

    fn grow(&self, writer: &Arc<Writer>, bytes: usize) {
        writer.add_bytes(bytes);
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if now > self.limit_bytes() {
            self.make_room();
        }
    }

    /// The store is full; see the module.
    #[cold]
    fn make_room(&self) {
        self.clean(CLEANED_UNDER_PRESSURE_MAX);
        while self.bytes() > self.limit_bytes() {
            let mut book = self.book.lock();
            // What is due is on its way out.
            if !book.due.is_empty() {
                drop(book);
                if self.clean(CLEANED_UNDER_PRESSURE_MAX) == 0 {
                    return;
                }
                continue;
            }
            let line = self.given_up_before.load(Ordering::SeqCst);
            let oldest = book.snapshots.range((line, 0)..).next();
            match oldest.map(|((at, _), entry)| (*at, entry.session)) {
                Some((at, session)) if !book.wanted.is_empty() => {
                    // Snapshots to come are behind the line, though nothing has ended since.
                    let next = self.sequence() + 1;
                    self.sequence.store(next, Ordering::Release);
                    self.given_up_before.store(at + 1, Ordering::SeqCst);
                    self.settle(&mut book);
                    drop(book);
                    self.errorlog
                        .write_error(&format!("spid{session}"), &errors::given_up(session));
                }
                _ => {
                    let candidates = book.writers.values().filter(|writer| writer.ended().is_none());
                    let Some(largest) = candidates.max_by_key(|writer| writer.bytes()).cloned() else {
                        return;
                    };
                    if largest.bytes() == 0 {
                        return;
                    }
                    self.has_without_versions.store(true, Ordering::SeqCst);
                    self.without_versions.write().push(largest.clone());
                    largest.keep_no_more();
                    book.due.push_back(largest);
                    drop(book);
                    self.errorlog.write_error("spid1s", &errors::store_full());
                }
            }
        }
    }

    /// Whether all versions that a snapshot may have wanted in a unit were there when it looked.
    ///
    /// # Errors
    /// 3966 when the snapshot was given up, 3958 when a writer keeps no versions that it does not see.
    pub fn check(&self, snapshot: Snapshot, (database, unit): (u16, u32), table: u32, name: &str) -> Result<()> {
        if snapshot.at < self.given_up_before.load(Ordering::SeqCst) {
            return Err(errors::was_given_up());
        }
        if !self.has_without_versions.load(Ordering::SeqCst) {
            return Ok(());
        }
        let writers = self.without_versions.read();
        let is_missed = |writer: &Arc<Writer>| writer.has_touched(database, unit) && !writer.is_seen_by(snapshot);
        match writers.iter().any(is_missed) {
            true => Err(errors::version_not_found(&format!("object {table}"), name)),
            false => Ok(()),
        }
    }

    /// Removes up to this many unneeded versions, and returns the number. Only one thread at a time does it.
    pub fn clean(&self, versions_max: usize) -> usize {
        let Some(_turn) = self.cleaning.try_lock() else {
            return 0;
        };
        let mut left = versions_max;
        while left > 0 {
            let Some(writer) = self.book.lock().due.pop_back() else {
                break;
            };
            let (taken, bytes) = writer.take_away(left);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            left -= taken.min(left);
            let mut book = self.book.lock();
            if writer.has_versions() {
                book.due.push_back(writer);
                continue;
            }
            if let Some(end) = writer.ended() {
                book.emptied.insert(end, writer);
                self.settle(&mut book);
            }
        }
        self.forget_without_versions();
        versions_max - left
    }

    /// Writers without versions that every snapshot sees are of no interest.
    fn forget_without_versions(&self) {
        if !self.has_without_versions.load(Ordering::SeqCst) {
            return;
        }
        let book = self.book.lock();
        let oldest = book.snapshots.first_key_value().map_or(u64::MAX, |((at, _), _)| *at);
        let mut writers = self.without_versions.write();
        writers.retain(|writer| writer.ended().is_none_or(|end| end > oldest));
        self.has_without_versions.store(!writers.is_empty(), Ordering::SeqCst);
    }

    /// Removes everything that is not needed: the background's turn. Units without versions are removed, too.
    pub fn clean_all(&self) {
        while self.clean(CLEANED_UNDER_PRESSURE_MAX) > 0 {}
        if self.units.read().is_empty() {
            return;
        }
        // Who is about to keep a version in one holds it as well.
        let is_idle = |versions: &Arc<UnitVersions>| Arc::strong_count(versions) == 1 && versions.is_empty();
        self.units.write().retain(|_, versions| !is_idle(versions));
    }
}

#[cfg(test)]
mod tests;
