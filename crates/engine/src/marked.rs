//! Rollback by marking: transactions that are rolled back, though their changes are still on the pages.
//!
//! ROLLBACK of a large transaction in a database with ACCELERATED_DATABASE_RECOVERY logs one record, [`RecordKind::Marked`], and is over: its
//! locks are released. A session that then fixes a page with a change of the transaction takes its changes on this page back first, under the page's
//! latch (`store::revert`). The background does the same for all other pages (`txn::marked`), and ends the transaction when none is left.
//!
//! ```text
//! Begin <- A <- B <- C <- Marked <- CLR(B) <- CLR(A) <- ... <- Abort
//!                         locks     a reader fixes the     the background has
//!                         released  page of A and B        visited every page
//! page 7:   A <- B <- (a change of others, by which the page is found to be clean) ...      links between the changes of one page
//! ```
//!
//! The log is the version store: with the option on, each record has a link to the change before it of each of its pages, so what one page needs
//! is found without reading the rest. SQL Server keeps row versions in the database for this (sql-docs, "Accelerated database recovery").
//!
//! | state of a page | how it is known | what a reader or writer of the page does |
//! |---|---|---|
//! | older than every marked transaction | its LSN | nothing |
//! | visited | [`Marked::has_visited`] | nothing |
//! | else | | walks back along the page's links, and undoes changes that no compensation names |
//!
//! That is for rows, one by one or filled into a page. Pages of large values are taken back by the background alone; definitions by the rollback,
//! before the mark (`txn::marked`).
//!
//! Invariant: a row that a marked transaction changed is taken back before anyone reads or changes it, since pages of rows are fixed in
//! `store::change` only. So the row has no later change than the transaction's, and needs no lock.
//! Invariant: until its Abort a marked transaction is under way for everything else: the log, the ghosts and the space that it may need are kept.
//! Invariant: compensations name the change that they undo, and undo of a marked transaction after a crash skips changes that are named. So which
//! pages were visited need not be durable.
//!
//! [`RecordKind::Marked`]: crate::log::RecordKind::Marked

use crate::log::{AtomicLsn, TransactionChain, TransactionId};
use crate::page::{CATALOG_UNIT, ObjectId, PageId, PageKind, PageRef};
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vlf::Lsn;

/// A transaction that is rolled back page by page.
pub struct Marked {
    id: TransactionId,
    /// Its Begin: pages whose last change is older have nothing of it.
    first: Lsn,
    chain: Mutex<TransactionChain>,
    visited: Mutex<PageSet>,
    /// Pages that it had filled, and that were emptied.
    emptied: Mutex<PageSet>,
    place: Mutex<Place>,
}

/// How far the background is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The record that it visits next.
    pub next: Lsn,
    /// It is behind the record of the mark, where changes are.
    pub has_passed_mark: bool,
    /// Changes of large values from here on are undone, as compensations on the way have shown: after a crash it meets them again.
    pub large_values_from: Lsn,
}

impl Marked {
    /// The chain ends with a Marked record, or with compensations behind it.
    pub fn new(chain: TransactionChain) -> Marked {
        Marked {
            id: chain.id,
            first: chain.first,
            place: Mutex::new(Place {
                next: chain.last,
                has_passed_mark: false,
                large_values_from: Lsn::MAX,
            }),
            chain: Mutex::new(chain),
            visited: Mutex::default(),
            emptied: Mutex::default(),
        }
    }

    /// The transaction's number.
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Its Begin record.
    pub fn first(&self) -> Lsn {
        self.first
    }

    /// Its chain, for a record; taken with the latch of the page that it is about.
    pub fn chain(&self) -> MutexGuard<'_, TransactionChain> {
        self.chain.lock()
    }

    /// The place up to which the background has taken its changes back; held for as long as it works.
    pub fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock()
    }

    /// As [`Marked::place`]; `None` while another thread works.
    pub fn try_place(&self) -> Option<MutexGuard<'_, Place>> {
        self.place.try_lock()
    }

    /// Nothing of it is left on a page, whose exclusive latch the caller holds.
    pub fn note_visited(&self, page: PageId) {
        self.visited.lock().insert(page);
    }

    /// A page that it had filled is empty.
    pub fn note_emptied(&self, page: PageId) {
        self.emptied.lock().insert(page);
    }

    /// Whether a page that it had filled was emptied, as far as is known since the restart.
    pub fn has_emptied(&self, page: PageId) -> bool {
        self.emptied.lock().contains(page)
    }

    /// Whether nothing of it is left on a page.
    pub fn has_visited(&self, page: PageId) -> bool {
        self.visited.lock().contains(page)
    }
}

/// Behind every record; without a slot, which an [`AtomicLsn`] does not hold.
const NONE: Lsn = Lsn::new(u32::MAX, u32::MAX, 0);

/// The marked transactions of a database.
pub struct MarkedTransactions {
    /// The first record of the oldest; [`NONE`] when there is none.
    oldest: AtomicLsn,
    /// How many were entered so far.
    entered: AtomicU64,
    list: RwLock<Vec<Arc<Marked>>>,
    /// Held while a rollback comes to its mark, and exclusively while ACCELERATED_DATABASE_RECOVERY goes off.
    links: RwLock<()>,
}

impl Default for MarkedTransactions {
    /// None yet.
    fn default() -> MarkedTransactions {
        MarkedTransactions {
            oldest: AtomicLsn::new(NONE),
            entered: AtomicU64::new(0),
            list: RwLock::default(),
            links: RwLock::default(),
        }
    }
}

impl MarkedTransactions {
    /// Log records keep their links until the answer is dropped.
    pub fn keep_links(&self) -> RwLockReadGuard<'_, ()> {
        self.links.read()
    }

    /// Log records lose their links: no rollback comes to its mark until the answer is dropped.
    pub fn lose_links(&self) -> RwLockWriteGuard<'_, ()> {
        self.links.write()
    }

    /// Enters a transaction, before its locks are released.
    pub fn add(&self, marked: Arc<Marked>) {
        let mut list = self.list.write();
        list.push(marked);
        self.publish(&list);
        self.entered.fetch_add(1, Ordering::SeqCst);
    }

    /// How many were entered so far. Who takes a lock without waiting, under the latch of a page that it reads, asks before it latches and once more
    /// when it has the lock: if the answers differ, the lock may have been that of a transaction which is on the page still.
    pub fn entered(&self) -> u64 {
        self.entered.load(Ordering::SeqCst)
    }

    /// The transaction of a chain that is marked; entered if it is not there yet.
    pub fn find(&self, chain: &TransactionChain) -> Arc<Marked> {
        let mut list = self.list.write();
        if let Some(marked) = list.iter().find(|marked| marked.id == chain.id) {
            return marked.clone();
        }
        let marked = Arc::new(Marked::new(chain.clone()));
        list.push(marked.clone());
        self.publish(&list);
        marked
    }

    /// Nothing is left of a transaction.
    pub fn remove(&self, id: TransactionId) {
        let mut list = self.list.write();
        list.retain(|marked| marked.id != id);
        self.publish(&list);
    }

    fn publish(&self, list: &[Arc<Marked>]) {
        let oldest = list.iter().map(|marked| marked.first).min();
        self.oldest.store(oldest.unwrap_or(NONE));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.oldest.load() == NONE
    }

    /// All of them, in the order in which they were marked.
    pub fn all(&self) -> Vec<Arc<Marked>> {
        self.list.read().clone()
    }

    /// Whether something may have to be taken back on a page, whose latch the caller holds.
    #[inline]
    pub fn concern(&self, id: PageId, page: PageRef<'_>) -> bool {
        page.lsn() >= self.oldest.load() && self.concern_changed(id, page)
    }

    /// The same of a page that was changed since the oldest of them began.
    #[cold]
    fn concern_changed(&self, id: PageId, page: PageRef<'_>) -> bool {
        has_rows(page) && self.list.read().iter().any(|marked| marked.concerns(id, page))
    }

    /// Those that may have changed something on a page, whose exclusive latch the caller holds.
    pub fn of(&self, id: PageId, page: PageRef<'_>) -> Vec<Arc<Marked>> {
        let list = self.list.read();
        list.iter()
            .filter(|marked| marked.concerns(id, page))
            .cloned()
            .collect()
    }
}

impl Marked {
    fn concerns(&self, id: PageId, page: PageRef<'_>) -> bool {
        page.lsn() >= self.first && !self.has_visited(id)
    }
}

/// Only rows of tables and entries of indexes are taken back page by page.
fn has_rows(page: PageRef<'_>) -> bool {
    matches!(page.kind(), Some(PageKind::Heap | PageKind::TreeLeaf)) && page.object() != ObjectId(CATALOG_UNIT)
}

/// Pages as bits, in blocks of [`PageSet::BLOCK_PAGES`]: 16 MB at most for a terabyte of data.
#[derive(Default)]
struct PageSet {
    blocks: HashMap<(u16, u32), Box<[u64; PageSet::WORDS]>, RandomState>,
}

impl PageSet {
    const WORDS: usize = 64;
    const BLOCK_PAGES: u32 = 64 * PageSet::WORDS as u32;

    fn place(page: PageId) -> ((u16, u32), usize, u64) {
        let within = page.page % PageSet::BLOCK_PAGES;
        let block = (page.file, page.page / PageSet::BLOCK_PAGES);
        (block, (within / 64) as usize, 1 << (within % 64))
    }

    fn insert(&mut self, page: PageId) {
        let (block, word, bit) = PageSet::place(page);
        let words = self
            .blocks
            .entry(block)
            .or_insert_with(|| Box::new([0; PageSet::WORDS]));
        words[word] |= bit;
    }

    fn contains(&self, page: PageId) -> bool {
        let (block, word, bit) = PageSet::place(page);
        self.blocks.get(&block).is_some_and(|words| words[word] & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_apart() {
        let pages = [(1, 0), (1, 63), (1, 64), (1, 4095), (1, 4096), (2, 0), (1, u32::MAX)];
        let pages = pages.map(|(file, page)| PageId::new(file, page));
        let mut set = PageSet::default();
        for (index, page) in pages.iter().enumerate() {
            assert!(pages[index..].iter().all(|other| !set.contains(*other)), "{page}");
            set.insert(*page);
            assert!(pages[..=index].iter().all(|other| set.contains(*other)), "{page}");
        }
    }
}
