//! Scanning a range of a tree in key order, in either direction, leaf by leaf: the rows in the range are found and copied once under the
//! leaf's latch, then read without it.
//!
//! Between two leaves no latch is held. Going right is safe: rows that a split moves to the right of a copied leaf were copied with it.
//! Going left, the left neighbour may have split since, so the scan follows its links to the right again, to the leaf just before the one
//! copied last.
//!
//! Leaves without rows may leave the tree in the meantime. A link is followed only if no leaf has left since it was read. Otherwise the
//! scan descends from the root again to the position of its last key, and continues after that key. No row is returned twice or skipped,
//! because rows stay in key order wherever leaves come and go.

use super::super::change::{
    as_reader_is_told, damaged, if_shared, is_settled, read, read_cached, while_locked, while_shared,
};
use super::super::page_sample::PageSample;
use super::super::row::is_ghost;
use super::super::scan::ReadMode;
use super::super::versioned::{Look, is_as_seen, is_settled_for_snapshots};
use super::ranges::{Part, Sealed};
use super::{Tree, check_level, key_at, parse};
use crate::buffer::{DatabaseId, DatabaseStorage, PageRead};
use crate::cancel::{self, STEPS_PER_PAGE};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode};
use crate::page::{PAGE_BYTES, PageBytes, PageId, PageKind, PageRef};
use crate::versions::Seen;
use std::cell::Cell;
use std::ops::{Bound, Deref, DerefMut, Range};

/// Up to so many rows are copied one by one; more of them cost more than the whole leaf.
const ROWS_APART_MAX: usize = 8;

/// The most memory of a batch that a thread keeps: that of a search for a few rows.
const SPARE_BATCH_BYTES_MAX: usize = 16 * 1024;
const SPARE_BATCH_ROWS_MAX: usize = 64;

impl KnownLeaf {
    /// Notes a leaf that is latched; one that is known already has hardly changed.
    fn note(&mut self, storage: &DatabaseStorage, leaf: PageRef<'_>, id: PageId) -> Result<()> {
        let Some(last) = leaf.slot_count().checked_sub(1).filter(|_| self.id != id) else {
            return Ok(());
        };
        self.id = id;
        for (key, slot) in [(&mut self.first, 0), (&mut self.last, last)] {
            key.clear();
            key.extend_from_slice(key_at(storage, leaf, id, slot)?);
        }
        Ok(())
    }
}

/// The rows of one leaf that lie in the range, copied.
pub struct TreeBatch {
    bytes: Vec<u8>,
    rows: Vec<TreeRow>,
}

struct TreeRow {
    key: u32,
    payload: u32,
    end: u32,
}

impl TreeBatch {
    /// An empty batch; its memory is reused from leaf to leaf, and by the thread's next search.
    pub fn new() -> TreeBatch {
        let (bytes, rows) = SPARE_BATCH.take();
        TreeBatch { bytes, rows }
    }

    /// Rows in the batch.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when no row of the leaf lies in the range.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Key and row; `None` past the last.
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let row = self.rows.get(index)?;
        let key = self.bytes.get(row.key as usize..row.payload as usize)?;
        Some((key, self.bytes.get(row.payload as usize..row.end as usize)?))
    }

    /// Keys and rows in the order of the scan.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.rows.len()).filter_map(|index| self.get(index))
    }

    fn push(&mut self, key: &[u8], payload: &[u8]) {
        let start = self.bytes.len() as u32;
        self.bytes.reserve(key.len() + payload.len());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
        let payload_at = start + key.len() as u32;
        self.rows.push(TreeRow {
            key: start,
            payload: payload_at,
            end: payload_at + payload.len() as u32,
        });
    }
}

impl Default for TreeBatch {
    fn default() -> TreeBatch {
        TreeBatch::new()
    }
}

impl Drop for TreeBatch {
    fn drop(&mut self) {
        let (mut bytes, mut rows) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.rows));
        if bytes.capacity() > SPARE_BATCH_BYTES_MAX || rows.capacity() > SPARE_BATCH_ROWS_MAX {
            return;
        }
        bytes.clear();
        rows.clear();
        // A thread that is ending has no place for it any more.
        let _ = SPARE_BATCH.try_with(|spare| spare.set((bytes, rows)));
    }
}

/// A scan of a range of keys.
pub struct TreeScan<'s> {
    tree: Tree,
    storage: &'s DatabaseStorage,
    locks: &'s LockOwner,
    mode: ReadMode,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    is_backward: bool,
    step: Step,
    /// A scan going right ends before this leaf; none: at the last.
    stop_before: PageId,
    /// Leaves that may be changing are noted here and not read, each with the leaf it had to its right.
    put_aside: Option<Vec<(PageId, PageId)>>,
    /// Of leaves that are not in it no rows are taken.
    sample: Option<PageSample>,
    copy: LeafCopy,
    /// Of a scan that was begun again: the leaf that it began with last.
    begun_with: Option<KnownLeaf>,
    /// Pages that had left the tree when the last leaf was copied.
    given_up: u64,
    /// The slots of the last leaf copied that lie in the range.
    copied: Range<u16>,
    /// The last key met, if the last leaf copied has none in the range.
    met: Option<Vec<u8>>,
}

/// A leaf and the first and last of its keys when it was read. It may have become anything since.
struct KnownLeaf {
    id: PageId,
    first: Vec<u8>,
    last: Vec<u8>,
}

thread_local! {
    /// The copy of this thread's last scan: a search for one row need not clear and allocate a page of memory.
    static SPARE_COPY: Cell<Option<Box<PageBytes>>> = const { Cell::new(None) };
    /// The memory of this thread's last batch, empty.
    static SPARE_BATCH: Cell<(Vec<u8>, Vec<TreeRow>)> = const { Cell::new((Vec::new(), Vec::new())) };
    /// The leaf on which this thread has locked rows last: they are about to be changed.
    static LAST_LEAF: Cell<Option<(DatabaseId, PageId)>> = const { Cell::new(None) };
}

/// Notes the leaf of rows that this thread has locked.
pub(super) fn note_leaf(storage: &DatabaseStorage, id: PageId) {
    LAST_LEAF.set(Some((storage.id, id)));
}

/// The leaf on which this thread has locked rows last, if that was in this database. It may have become anything since.
pub(super) fn leaf_scanned_last(storage: &DatabaseStorage) -> Option<PageId> {
    let (database, id) = LAST_LEAF.get()?;
    (database == storage.id).then_some(id)
}

/// A leaf's header, slots, and at least those of its rows that lie in the range, at their places. The rest is of no meaning.
struct LeafCopy(Option<Box<PageBytes>>);

impl LeafCopy {
    fn new() -> LeafCopy {
        let spare = SPARE_COPY.take();
        LeafCopy(Some(spare.unwrap_or_else(|| Box::new([0; PAGE_BYTES]))))
    }
}

impl Drop for LeafCopy {
    fn drop(&mut self) {
        // A thread that is ending has no place for it any more.
        let _ = SPARE_COPY.try_with(|spare| spare.set(self.0.take()));
    }
}

impl Deref for LeafCopy {
    type Target = PageBytes;

    fn deref(&self) -> &PageBytes {
        self.0.as_deref().expect("taken when dropped only")
    }
}

impl DerefMut for LeafCopy {
    fn deref_mut(&mut self) -> &mut PageBytes {
        self.0.as_deref_mut().expect("taken when dropped only")
    }
}

/// A leaf that was copied.
struct Copied {
    id: PageId,
    /// All on it is committed.
    is_settled: bool,
    /// The slots that lie in the range.
    slots: Range<u16>,
    /// The scan's last key lies on it or before it.
    is_past_end: bool,
}

/// What came of going on to the next leaf.
enum Opened<'s> {
    Leaf(PageRead<'s>),
    End,
    /// Pages have left the tree since the link was read.
    LinkBroken,
}

/// Where the next leaf comes from.
enum Step {
    /// From the root.
    Begin,
    /// The right neighbour of the last leaf.
    Right(PageId),
    /// The left neighbour, as it was, of a leaf.
    Left { neighbour: PageId, of: PageId },
    /// Nowhere.
    End,
}

impl Tree {
    /// The leaves that hang on branches, from left to right, without those that split off meanwhile: these are reached from
    /// their left neighbours. A tree of one leaf has none.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn leaves(&self, storage: &DatabaseStorage) -> Result<Vec<PageId>> {
        let mut page = read(storage, self.root_page())?;
        while page.view().level() > 1 {
            let child = read(storage, self.child(storage, page.view(), page.id(), 0)?)?;
            check_level(storage, child.view(), child.id(), page.view().level())?;
            page = child;
        }
        let mut leaves = Vec::new();
        if page.view().level() == 0 {
            return Ok(leaves);
        }
        loop {
            let view = page.view();
            for slot in 0..view.slot_count() {
                leaves.push(self.child(storage, view, page.id(), slot)?);
            }
            let next = view.next();
            if next.is_none() {
                return Ok(leaves);
            }
            let level = view.level();
            drop(page);
            page = read(storage, next)?;
            self.check_page(storage, page.view(), next, level)?;
        }
    }

    /// Pages handed out to the tree so far.
    pub fn page_count(&self) -> u64 {
        self.space.page_counts().1
    }

    /// Begins a scan of the keys between two bounds, in key order or backward.
    pub fn scan<'s>(
        &self,
        storage: &'s DatabaseStorage,
        locks: &'s LockOwner,
        mode: ReadMode,
        (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>),
        is_backward: bool,
    ) -> TreeScan<'s> {
        TreeScan {
            tree: self.clone(),
            storage,
            locks,
            mode,
            lower,
            upper,
            is_backward,
            step: Step::Begin,
            stop_before: PageId::NONE,
            put_aside: None,
            sample: None,
            copy: LeafCopy::new(),
            begun_with: None,
            given_up: 0,
            copied: 0..0,
            met: None,
        }
    }
}

impl<'s> TreeScan<'s> {
    pub fn storage(&self) -> &'s DatabaseStorage {
        self.storage
    }

    /// Narrows a scan going right to the leaves from `first` on, up to `end` or the scan's last key. The tree is pinned.
    pub fn narrow(&mut self, first: PageId, end: PageId) {
        self.step = Step::Right(first);
        self.stop_before = end;
        self.given_up = self.tree.space.given_up();
    }

    /// Starts over with another range, in the same direction. Answers the former bounds, whose memory may serve again.
    pub fn restart(&mut self, (lower, upper): (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (self.step, self.stop_before) = (Step::Begin, PageId::NONE);
        (self.copied, self.met) = (0..0, None);
        self.begun_with.get_or_insert_with(|| KnownLeaf {
            id: PageId::NONE,
            first: Vec::new(),
            last: Vec::new(),
        });
        (
            std::mem::replace(&mut self.lower, lower),
            std::mem::replace(&mut self.upper, upper),
        )
    }

    /// From now on rows are read as [`ReadMode::Locked`].
    pub fn lock_rows(&mut self, mode: Mode) {
        self.mode = ReadMode::Locked(mode);
    }

    /// From now on only rows on the leaves of a sample are taken. All leaves are read, because one leads to the next.
    pub fn keep_to_sample(&mut self, sample: PageSample) {
        self.sample = Some(sample);
    }

    /// From now on, leaves that would have to be waited for are left out and noted.
    pub fn put_aside_unsettled(&mut self) {
        self.put_aside = Some(Vec::new());
    }

    /// The leaves left out so far, each with the leaf it had to its right.
    pub fn take_put_aside(&mut self) -> Vec<(PageId, PageId)> {
        self.put_aside.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the scan at the highest key there is now, even if an open transaction has deleted its row, so that a statement does not meet the rows it
    /// inserts behind it.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; those of waiting for a lock.
    pub fn stop_at_current_end(&mut self) -> Result<()> {
        if let ReadMode::Ranges(mode) = self.mode {
            // What others add from here on waits, so the last key found is the last one there will be.
            self.tree.lock_end(self.storage, self.locks, mode)?;
        }
        let Some(last) = self.tree.last_key_with_ghosts(self.storage)? else {
            self.step = Step::End;
            return Ok(());
        };
        if is_within_upper(&last, &self.upper) {
            self.upper = Bound::Included(last);
        }
        Ok(())
    }

    /// Reads the next leaf's rows into `batch`; false at the end. A leaf may have none.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; those of waiting for a lock.
    pub fn next_page(&mut self, batch: &mut TreeBatch) -> Result<bool> {
        batch.bytes.clear();
        batch.rows.clear();
        cancel::spend(STEPS_PER_PAGE)?;
        let Some(leaf) = self.copy_next_leaf()? else {
            return Ok(false);
        };
        let (id, is_past_end) = (leaf.id, leaf.is_past_end);
        let view = PageRef::new(&self.copy);
        let is_settled = match self.mode {
            // The rows of a range are locked by now.
            ReadMode::Uncommitted | ReadMode::Ranges(_) => true,
            ReadMode::Committed | ReadMode::CommittedPast | ReadMode::Versioned(_) => leaf.is_settled,
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::LockedAt(..) => false,
        };
        let look = match self.mode {
            ReadMode::Versioned(snapshot) if !is_settled => {
                Some(Look::begin(self.storage, snapshot, self.tree.root.object))
            }
            _ => None,
        };
        if !is_settled
            && look.is_none()
            && let Some(put_aside) = &mut self.put_aside
        {
            let next = view.next();
            put_aside.push((id, next));
            self.step = self.step_right(next, is_past_end);
            return Ok(true);
        }
        let is_taken = self.sample.is_none_or(|sample| sample.has(id));
        let slot_count = if is_taken { leaf.slots.end - leaf.slots.start } else { 0 };
        for index in 0..slot_count {
            let slot = if self.is_backward {
                leaf.slots.end - 1 - index
            } else {
                leaf.slots.start + index
            };
            let row = view.row(slot).ok_or_else(|| empty_slot(self.storage, id))?;
            let (key, payload) = parse(self.storage, id, row)?;
            if let Some(look) = &look {
                take_as_seen(look, key, (!is_ghost(row)).then_some(payload), batch);
            } else if !is_settled {
                self.take_waiting(id, key, row, batch)?;
            } else if !is_ghost(row) {
                batch.push(key, payload);
            }
        }
        if let Some(look) = look {
            look.end(self.tree.table())?;
        }
        let (next, previous) = (view.next(), view.previous());
        self.step = match (is_past_end, self.is_backward) {
            (_, false) => self.step_right(next, is_past_end),
            (false, true) if !previous.is_none() => Step::Left {
                neighbour: previous,
                of: id,
            },
            _ => Step::End,
        };
        Ok(true)
    }

    fn step_right(&self, next: PageId, is_past_end: bool) -> Step {
        match is_past_end || next.is_none() || next == self.stop_before {
            true => Step::End,
            false => Step::Right(next),
        }
    }

    /// Copies what the scan is to read of the next leaf; `None` at the end.
    fn copy_next_leaf(&mut self) -> Result<Option<Copied>> {
        let storage = self.storage;
        let (page, slots, is_past_end) = loop {
            let entered = storage.marked.entered();
            let page = match self.open_next_leaf()? {
                Opened::End => return Ok(None),
                Opened::Leaf(page) => page,
                Opened::LinkBroken => {
                    self.go_on_from_the_root()?;
                    continue;
                }
            };
            let checked = self.tree.check_leaf(storage, page.view(), page.id());
            checked.map_err(|error| self.told(error))?;
            let (slots, is_past_end) = self.slots_within(page.view(), page.id())?;
            let ReadMode::Ranges(mode) = self.mode else {
                break (page, slots, is_past_end);
            };
            match self.seal(mode, &page, &slots)? {
                Sealed::Done if entered == storage.marked.entered() => break (page, slots, is_past_end),
                // What the locks were of may have to be taken back on the leaf, or on those behind it.
                Sealed::Done => {}
                waiting => {
                    drop(page);
                    self.tree.wait_to_seal(storage, self.locks, mode, waiting)?;
                }
            }
        };
        if matches!(
            self.mode,
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::LockedAt(..) | ReadMode::Ranges(_)
        ) {
            note_leaf(storage, page.id());
        }
        let view = page.view();
        if matches!(self.step, Step::Begin)
            && let Some(known) = &mut self.begun_with
        {
            known.note(storage, view, page.id())?;
        }
        if slots.is_empty() {
            self.met = self.last_met()?;
        }
        self.given_up = self.tree.space.given_up();
        self.copied = slots.clone();
        self.copy_leaf(&page, &slots)?;
        Ok(Some(Copied {
            id: page.id(),
            is_settled: match self.mode {
                ReadMode::Versioned(_) => is_settled_for_snapshots(storage, view),
                _ => is_settled(storage, view),
            },
            slots,
            is_past_end,
        }))
    }

    /// Locks what is to be read of a leaf, and what keeps others from adding to it.
    fn seal(&self, mode: Mode, page: &PageRead<'_>, slots: &Range<u16>) -> Result<Sealed> {
        let part = Part {
            slots: slots.clone(),
            lower: &self.lower,
            upper: &self.upper,
        };
        self.tree.seal(self.storage, self.locks, mode, page, &part)
    }

    /// Copies some rows of a leaf, or the whole leaf.
    fn copy_leaf(&mut self, page: &PageRead<'_>, slots: &Range<u16>) -> Result<()> {
        let view = page.view();
        if slots.len() <= ROWS_APART_MAX {
            if !view.copy_rows_to(slots.clone(), &mut self.copy) {
                return Err(empty_slot(self.storage, page.id()));
            }
        } else {
            let used = usize::from(view.free_offset()).min(PAGE_BYTES);
            let slots_at = PAGE_BYTES.saturating_sub(2 * usize::from(view.slot_count())).max(used);
            self.copy[..used].copy_from_slice(&page[..used]);
            self.copy[slots_at..].copy_from_slice(&page[slots_at..]);
        }
        Ok(())
    }

    /// The last key of the range that the scan has met; none before the first.
    fn last_met(&self) -> Result<Option<Vec<u8>>> {
        let slot = match self.is_backward {
            true => self.copied.start,
            false => self.copied.end.saturating_sub(1),
        };
        if self.copied.is_empty() {
            return Ok(self.met.clone());
        }
        let view = PageRef::new(&self.copy);
        key_at(self.storage, view, view.id(), slot).map(|key| Some(key.to_vec()))
    }

    /// Pages have left the tree since the last leaf was copied, and its links may lead anywhere.
    fn go_on_from_the_root(&mut self) -> Result<()> {
        if let Some(met) = self.last_met()? {
            match self.is_backward {
                true => self.upper = Bound::Excluded(met),
                false => self.lower = Bound::Excluded(met),
            }
        }
        (self.step, self.copied, self.met) = (Step::Begin, 0..0, None);
        Ok(())
    }

    fn open_next_leaf(&self) -> Result<Opened<'s>> {
        let storage = self.storage;
        let page = match (&self.step, self.is_backward) {
            (Step::End, _) => return Ok(Opened::End),
            (Step::Right(next), _) => match self.tree.follow(storage, *next, self.given_up)? {
                Some(page) => page,
                None => return Ok(Opened::LinkBroken),
            },
            (Step::Left { neighbour, of }, _) => {
                let found = self.tree.left_neighbour(storage, *neighbour, *of, self.given_up);
                match found.map_err(|error| self.told(error))? {
                    Some(page) => page,
                    None => return Ok(Opened::LinkBroken),
                }
            }
            (Step::Begin, false) => match &self.lower {
                Bound::Unbounded => self.tree.descend_first(storage)?,
                Bound::Included(key) | Bound::Excluded(key) => match self.leaf_begun_with(key)? {
                    Some(leaf) => leaf,
                    None => self.tree.descend_read(storage, key)?,
                },
            },
            (Step::Begin, true) => match &self.upper {
                Bound::Unbounded => self.tree.descend_last(storage)?,
                Bound::Included(key) | Bound::Excluded(key) => self.tree.descend_read(storage, key)?,
            },
        };
        Ok(Opened::Leaf(page))
    }

    /// The leaf that the scan began with last, without a descent, if a key lies between two that are there: searches one after the
    /// other often look for neighbours.
    fn leaf_begun_with(&self, key: &[u8]) -> Result<Option<PageRead<'s>>> {
        let storage = self.storage;
        let known = self.begun_with.as_ref();
        let known = known.filter(|known| *known.first <= *key && *key <= *known.last);
        let Some(leaf) = known.and_then(|known| read_cached(storage, known.id)) else {
            return Ok(None);
        };
        let (view, id) = (leaf.view(), leaf.id());
        let is_ours = view.kind() == Some(PageKind::TreeLeaf) && view.object() == self.tree.root.object;
        let Some(last) = view.slot_count().checked_sub(1).filter(|_| is_ours) else {
            return Ok(None);
        };
        let is_between = key_at(storage, view, id, 0)? <= key && key <= key_at(storage, view, id, last)?;
        Ok(is_between.then_some(leaf))
    }

    fn told(&self, error: Error) -> Error {
        match self.mode {
            ReadMode::Uncommitted => as_reader_is_told(self.storage, self.locks, self.tree.table(), error),
            _ => error,
        }
    }

    /// The slots of a leaf whose keys lie in the range, and whether keys beyond the scan's last are on the leaf.
    fn slots_within(&self, leaf: PageRef<'_>, id: PageId) -> Result<(Range<u16>, bool)> {
        let count = leaf.slot_count();
        let first = match &self.lower {
            Bound::Unbounded => 0,
            lower => self.slots_before(leaf, id, 0..count, |key| !is_within_lower(key, lower))?,
        };
        let end = match &self.upper {
            Bound::Unbounded => count,
            upper => {
                // Most ranges are short: their end is looked for from their beginning on, in steps that double.
                let within = |key: &[u8]| is_within_upper(key, upper);
                let (mut low, mut step) = (first, 1);
                while low + step <= count && within(key_at(self.storage, leaf, id, low + step - 1)?) {
                    (low, step) = (low + step, 2 * step);
                }
                self.slots_before(leaf, id, low..count.min(low + step - 1), within)?
            }
        };
        let is_past_end = if self.is_backward { first > 0 } else { end < count };
        // The bounds of an empty range may be the wrong way round.
        Ok((first..end.max(first), is_past_end))
    }

    /// The first slot of some whose key does not come `before`, or the one behind them.
    fn slots_before(
        &self,
        leaf: PageRef<'_>,
        id: PageId,
        slots: Range<u16>,
        before: impl Fn(&[u8]) -> bool,
    ) -> Result<u16> {
        let (mut low, mut high) = (slots.start, slots.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(key_at(self.storage, leaf, id, middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Waits for a row, ghosts included, and takes it as it is then; or passes it by.
    fn take_waiting(&self, id: PageId, key: &[u8], row: &[u8], batch: &mut TreeBatch) -> Result<()> {
        let (resource, table) = (self.tree.resource(self.storage, key), self.tree.table());
        let mut take = || self.take_current(id, key, row, batch);
        match self.mode {
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::Ranges(_) => {
                while_locked(self.storage, self.locks, (table, resource), self.mode, take)?;
            }
            ReadMode::CommittedPast => drop(if_shared(self.storage, self.locks, table, resource, take)?),
            ReadMode::LockedAt(_, snapshot) => {
                let unit = (self.tree.root.object, table);
                while_locked(self.storage, self.locks, (table, resource), self.mode, || {
                    Ok(is_as_seen(self.storage, snapshot, unit, key)? && take()?)
                })?;
            }
            ReadMode::Committed | ReadMode::Uncommitted | ReadMode::Versioned(_) => {
                while_shared(self.storage, self.locks, table, resource, take)?;
            }
        }
        Ok(())
    }

    /// Takes a row whose lock is held: from the copy when the page has not changed since, from the tree otherwise. False when there is
    /// none any more.
    fn take_current(&self, id: PageId, key: &[u8], row: &[u8], batch: &mut TreeBatch) -> Result<bool> {
        // The page may be anything by now, or be cut off: then the row is looked for by its key.
        let page = read(self.storage, id);
        let is_unchanged = page.is_ok_and(|page| page.view().lsn() == PageRef::new(&self.copy).lsn());
        if is_unchanged {
            if is_ghost(row) {
                return Ok(false);
            }
            batch.push(key, parse(self.storage, id, row)?.1);
            return Ok(true);
        }
        let mut payload = Vec::new();
        let uncommitted = ReadMode::Uncommitted;
        let is_there = self
            .tree
            .fetch(self.storage, self.locks, uncommitted, key, &mut payload)?;
        if is_there {
            batch.push(key, &payload);
        }
        Ok(is_there)
    }
}

/// Takes what a snapshot sees of a row, be it deleted by now.
fn take_as_seen(look: &Look<'_>, key: &[u8], current: Option<&[u8]>, batch: &mut TreeBatch) {
    let start = batch.bytes.len();
    batch.bytes.extend_from_slice(key);
    let payload_at = batch.bytes.len();
    match (look.at(key, &mut batch.bytes), current) {
        (Seen::Version, _) => {}
        (Seen::Current, Some(payload)) => batch.bytes.extend_from_slice(payload),
        (Seen::Current, None) | (Seen::Nothing, _) => return batch.bytes.truncate(start),
    }
    batch.rows.push(TreeRow {
        key: start as u32,
        payload: payload_at as u32,
        end: batch.bytes.len() as u32,
    });
}

fn empty_slot(storage: &DatabaseStorage, id: PageId) -> Error {
    damaged(storage, id, "a tree page has an empty slot")
}

fn is_within_lower(key: &[u8], lower: &Bound<Vec<u8>>) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= &bound[..],
        Bound::Excluded(bound) => key > &bound[..],
    }
}

fn is_within_upper(key: &[u8], upper: &Bound<Vec<u8>>) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(bound) => key <= &bound[..],
        Bound::Excluded(bound) => key < &bound[..],
    }
}
