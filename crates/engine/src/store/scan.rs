//! Scanning a heap: pages in the order they were filled, each copied under its latch once, its rows then read without it.
//!
//! The end of a scan is fixed when it begins: the object's frontier, and the used slots on the pages to which rows are being added. So a
//! statement that reads a heap and inserts into it with [`Placement::AtEnd`](super::Placement) or through [`HeapFill`](super::HeapFill)
//! never reads its own rows.
//!
//! READ COMMITTED takes no locks if possible: when a page's last change is older than the oldest active transaction, everything on it is
//! committed. Otherwise the scan waits for each row, and reads it again if its page has changed since.

use super::change::{if_shared, is_settled, read, while_locked, while_shared};
use super::heap::Heap;
use super::page_sample::PageSample;
use super::row::{FORWARDED, HeapRow, Rid, STUB_BYTES, is_ghost};
use super::space::Position;
use super::versioned::{Look, is_as_seen, is_settled_for_snapshots, key_of};
use crate::buffer::DatabaseStorage;
use crate::cancel::{self, STEPS_PER_PAGE};
use crate::error::Result;
use crate::lock::{LockOwner, Mode};
use crate::page::{PAGE_BYTES, PageId, PageKind, PageRef};
use crate::versions::{Seen, Snapshot};

/// Extents read ahead at a time: 512 KB, the largest read-ahead of SQL Server (SQL Server docs, "Reading pages").
const READ_AHEAD_EXTENTS: usize = 8;

/// What a reader does about rows that others are changing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// Reads them as they stand: READ UNCOMMITTED, or a table lock is held that keeps writers out.
    Uncommitted,
    /// Waits for them: READ COMMITTED.
    Committed,
    /// Locks every row in this mode and keeps the lock: REPEATABLE READ (S), or the search of an UPDATE (U).
    Locked(Mode),
    /// As [`ReadMode::Locked`]; the ranges of a tree that are scanned are locked with the gaps between their keys: SERIALIZABLE. Of a row that is
    /// read by its locator, and of a heap, the rows alone are.
    Ranges(Mode),
    /// As [`ReadMode::Committed`], but leaves out the rows it would have to wait for: READPAST.
    CommittedPast,
    /// As [`ReadMode::Locked`], but leaves out the rows it would have to wait for.
    LockedPast(Mode),
    /// Reads them as a snapshot sees them, and waits for nobody: SNAPSHOT, and READ COMMITTED by versions.
    Versioned(Snapshot),
    /// As [`ReadMode::Locked`], the rows that a snapshot sees; one that was changed since is 3960: UPDLOCK under SNAPSHOT.
    LockedAt(Mode, Snapshot),
}

/// The rows of one page, copied: no latch is held while they are read.
#[derive(Default)]
pub struct RowBatch {
    page: PageId,
    bytes: Vec<u8>,
    rows: Vec<BatchRow>,
}

struct BatchRow {
    slot: u16,
    start: u32,
    length: u32,
}

impl RowBatch {
    /// An empty batch; its memory is reused from page to page.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// Rows in the batch.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when the page had no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row with its identifier; `None` past the last.
    pub fn get(&self, index: usize) -> Option<(Rid, &[u8])> {
        let row = self.rows.get(index)?;
        let (start, length) = (row.start as usize, row.length as usize);
        let rid = Rid {
            page: self.page,
            slot: row.slot,
        };
        Some((rid, self.bytes.get(start..start + length)?))
    }

    /// The rows with their identifiers, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (Rid, &[u8])> {
        (0..self.rows.len()).filter_map(|index| self.get(index))
    }

    fn push_copy(&mut self, slot: u16, payload: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.push(slot, start, payload.len());
    }

    fn push(&mut self, slot: u16, start: usize, length: usize) {
        self.rows.push(BatchRow {
            slot,
            start: start as u32,
            length: length as u32,
        });
    }
}

/// What was copied of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Its rows, or that it was put aside.
    Rows,
    /// Nothing: the page is none of the heap's.
    Nothing,
}

/// A scan of a heap, page by page.
pub struct HeapScan<'s> {
    heap: Heap,
    storage: &'s DatabaseStorage,
    locks: &'s LockOwner,
    mode: ReadMode,
    position: Position,
    end: Position,
    /// Pages that rows are being added to, and the slots they had when the scan began.
    limits: [(PageId, u16); 2],
    collects_hints: bool,
    /// Pages that may be changing are noted here and not read.
    put_aside: Option<Vec<PageId>>,
    /// Only this page is read.
    only: Option<PageId>,
    /// Nobody asks for what is in the rows.
    only_locators: bool,
    /// Pages that are not in it are left out.
    sample: Option<PageSample>,
    /// From the last page to the first.
    is_backward: bool,
    copy: Box<[u8; PAGE_BYTES]>,
}

impl<'s> HeapScan<'s> {
    pub fn storage(&self) -> &'s DatabaseStorage {
        self.storage
    }

    pub(super) fn new(
        heap: Heap,
        storage: &'s DatabaseStorage,
        locks: &'s LockOwner,
        mode: ReadMode,
    ) -> Result<HeapScan<'s>> {
        // The growing pages before the frontier: a page that begins to grow in between lies behind the end or has its limit.
        let growing = heap.object_space().growing_pages();
        let mut limits = growing.map(|page| (page, u16::MAX));
        for (page, slots) in &mut limits {
            if !page.is_none() {
                *slots = read(storage, *page)?.view().slot_count();
            }
        }
        let end = heap.object_space().frontier();
        let collects_hints = heap.object_space().wants_hints();
        Ok(HeapScan {
            heap,
            storage,
            locks,
            mode,
            position: Position { extent: 0, page: 0 },
            end,
            limits,
            collects_hints,
            put_aside: None,
            only: None,
            only_locators: false,
            sample: None,
            is_backward: false,
            copy: Box::new([0; PAGE_BYTES]),
        })
    }

    /// From now on the pages come from the last one to the first. Their rows come in the order of their slots still.
    pub fn turn_back(&mut self) {
        self.is_backward = true;
        self.position = self.end;
    }

    /// Begins at a page in place of the first or last one; `likely` is the place of its extent when it was read
    /// ([`HeapScan::extent`]). A scan begins at the extent which has that place if the page is the heap's no more.
    pub fn begin_at(&mut self, page: PageId, likely: usize) {
        let found = self.heap.object_space().position_of(page, likely);
        let at = found.unwrap_or(Position {
            extent: likely,
            page: 0,
        });
        self.position = match self.is_backward {
            true => Position {
                page: at.page + 1,
                ..at
            },
            false => at,
        };
    }

    /// The place of the extent of the page read last.
    pub fn extent(&self) -> usize {
        self.position.extent
    }

    /// From now on rows are read as [`ReadMode::Locked`].
    pub fn lock_rows(&mut self, mode: Mode) {
        self.mode = ReadMode::Locked(mode);
    }

    /// From now on rows come with their identifiers alone, without their bytes: for counting or deleting them. That saves going
    /// through all of the table's memory.
    pub fn leave_out_bytes(&mut self) {
        self.only_locators = true;
    }

    /// From now on only the pages of a sample are read.
    pub fn keep_to_sample(&mut self, sample: PageSample) {
        self.sample = Some(sample);
    }

    /// A scan of the same rows from the start.
    pub fn fork(&self) -> HeapScan<'s> {
        HeapScan {
            heap: self.heap.clone(),
            position: Position { extent: 0, page: 0 },
            put_aside: None,
            only: None,
            copy: Box::new([0; PAGE_BYTES]),
            ..*self
        }
    }

    /// Extents that the scan goes through.
    pub fn extent_count(&self) -> usize {
        self.end.extent + 1
    }

    /// Narrows the scan to some extents of its own.
    pub fn narrow(&mut self, extents: std::ops::Range<usize>) {
        self.position = self.position.max(Position {
            extent: extents.start,
            page: 0,
        });
        self.end = self.end.min(Position {
            extent: extents.end,
            page: 0,
        });
    }

    /// Narrows the scan to one page.
    pub fn narrow_to_page(&mut self, page: PageId) {
        self.only = Some(page);
        self.end = self.position;
    }

    /// From now on, pages that would have to be waited for are left out and noted.
    pub fn put_aside_unsettled(&mut self) {
        self.put_aside = Some(Vec::new());
    }

    /// The pages left out so far.
    pub fn take_put_aside(&mut self) -> Vec<PageId> {
        self.put_aside.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Reads the next page's rows into `batch`; false at the end. A page may have none.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; those of waiting for a lock.
    pub fn next_page(&mut self, batch: &mut RowBatch) -> Result<bool> {
        batch.bytes.clear();
        batch.rows.clear();
        if let Some(only) = self.only.take() {
            return self.copy_page(only, batch, None).map(|copied| copied == Copied::Rows);
        }
        loop {
            cancel::spend(STEPS_PER_PAGE)?;
            let space = self.heap.object_space();
            let given_up = space.given_up();
            let next = match self.is_backward {
                false => space.page_from(self.position, self.end),
                true => space.page_before(self.position),
            };
            let Some((id, at)) = next else {
                return Ok(false);
            };
            if self.sample.is_some_and(|sample| !sample.has(id)) {
                self.position = Position {
                    page: at.page + 1,
                    ..at
                };
                continue;
            }
            // Of a sample most pages are not read.
            if at.page == space.first_page(at.extent) && self.sample.is_none() && !self.is_backward {
                self.read_ahead(at.extent)?;
            }
            let copied = self.copy_page(id, batch, Some(given_up))?;
            if copied == Copied::Nothing && self.heap.object_space().given_up() != given_up {
                // Its extent may be another object's by now, or be in another place of this one.
                continue;
            }
            self.position = match self.is_backward {
                false => Position {
                    page: at.page + 1,
                    ..at
                },
                true => at,
            };
            if copied == Copied::Rows {
                return Ok(true);
            }
        }
    }

    /// At every eighth extent, reads the next eight in large reads.
    fn read_ahead(&self, extent: usize) -> Result<()> {
        let is_wanted = extent.is_multiple_of(READ_AHEAD_EXTENTS) && extent <= self.end.extent;
        if !is_wanted {
            return Ok(());
        }
        for (first, page_count) in self.heap.object_space().page_runs(extent..extent + READ_AHEAD_EXTENTS) {
            self.storage.pool.read_ahead(self.storage.id, first, page_count)?;
        }
        Ok(())
    }

    /// Copies the rows of a page, if it is one of the heap's, and no page was given up since `given_up` were.
    fn copy_page(&mut self, id: PageId, batch: &mut RowBatch, given_up: Option<u64>) -> Result<Copied> {
        let (used, is_settled, is_sparse) = {
            if self.heap.has_left_the_file(self.storage, id) {
                return Ok(Copied::Nothing);
            }
            let page = read(self.storage, id);
            if given_up.is_some_and(|before| self.heap.object_space().given_up() != before) {
                return Ok(Copied::Nothing);
            }
            let page = page?;
            let view = page.view();
            if view.kind() != Some(PageKind::Heap) || view.object() != self.heap.root().object {
                return Ok(Copied::Nothing);
            }
            let oldest_active = self.storage.oldest_active.load();
            let is_sparse = view.usable_free(oldest_active) > PAGE_BYTES / 2;
            let is_settled = match self.mode {
                ReadMode::Versioned(_) => is_settled_for_snapshots(self.storage, view),
                _ => is_settled(self.storage, view),
            };
            (self.copy_used(view), is_settled, is_sparse)
        };
        let limit = self.slot_limit(id);
        batch.page = id;
        if self.collects_hints && is_sparse {
            self.heap.object_space().note_hole(id);
        }
        let needs_no_lock = match self.mode {
            ReadMode::Uncommitted => true,
            ReadMode::Committed | ReadMode::CommittedPast => is_settled,
            ReadMode::Versioned(_) if is_settled => true,
            ReadMode::Versioned(snapshot) => {
                self.take_rows_as_seen(snapshot, limit, batch)?;
                return Ok(Copied::Rows);
            }
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::LockedAt(..) | ReadMode::Ranges(_) => false,
        };
        if !needs_no_lock && let Some(put_aside) = &mut self.put_aside {
            put_aside.push(id);
            return Ok(Copied::Rows);
        }
        if needs_no_lock {
            if !self.only_locators {
                batch.bytes.extend_from_slice(&self.copy[..used]);
            }
            self.take_rows(limit, batch)?;
        } else {
            self.take_rows_waiting(id, limit, batch)?;
        }
        Ok(Copied::Rows)
    }

    /// Copies header, rows and slots; returns where the rows end. Of rows nobody asks for only what says of which kind they are:
    /// a status and a row identifier, or all of a padded row.
    fn copy_used(&mut self, view: PageRef<'_>) -> usize {
        let used = usize::from(view.free_offset()).min(PAGE_BYTES);
        if self.only_locators {
            view.copy_heads_to(STUB_BYTES, &mut self.copy);
            return used;
        }
        let slots = PAGE_BYTES.saturating_sub(2 * usize::from(view.slot_count())).max(used);
        self.copy[..used].copy_from_slice(&view.bytes()[..used]);
        self.copy[slots..].copy_from_slice(&view.bytes()[slots..]);
        used
    }

    fn slot_limit(&self, id: PageId) -> u16 {
        let limits = self.limits.iter().filter(|(page, _)| *page == id);
        limits.map(|(_, slots)| *slots).min().unwrap_or(u16::MAX)
    }

    /// All rows of the copied page, which lies at the front of the batch's bytes.
    fn take_rows(&self, limit: u16, batch: &mut RowBatch) -> Result<()> {
        let view = PageRef::new(&self.copy);
        let base = self.copy.as_ptr() as usize;
        let id = batch.page;
        for (slot, row) in view.rows().take_while(|(slot, _)| *slot < limit) {
            if is_ghost(row) {
                continue;
            }
            match self.heap.parse(self.storage, Rid { page: id, slot }, row)? {
                HeapRow::Plain(_) if self.only_locators => batch.push(slot, 0, 0),
                HeapRow::Plain(payload) => batch.push(slot, payload.as_ptr() as usize - base, payload.len()),
                HeapRow::Forwarded(..) => {}
                HeapRow::Stub(_) => _ = self.take_forwarded(Rid { page: id, slot }, batch)?,
            }
        }
        Ok(())
    }

    /// All rows that a snapshot sees of the copied page, on which some may be newer.
    fn take_rows_as_seen(&self, snapshot: Snapshot, limit: u16, batch: &mut RowBatch) -> Result<()> {
        let view = PageRef::new(&self.copy);
        let unit = self.heap.root().object;
        let look = Look::begin(self.storage, snapshot, unit);
        for (slot, row) in view.rows().take_while(|(slot, _)| *slot < limit) {
            let rid = Rid { page: batch.page, slot };
            let current = match is_ghost(row) {
                // What a deleted row was is in its version; its forwarded part stands for nothing.
                true if row[0] & FORWARDED != 0 => continue,
                true => None,
                false => match self.heap.parse(self.storage, rid, row)? {
                    HeapRow::Plain(payload) => Some(payload),
                    HeapRow::Forwarded(..) => continue,
                    HeapRow::Stub(_) => {
                        self.take_forwarded(rid, batch)?;
                        continue;
                    }
                },
            };
            let start = batch.bytes.len();
            match (look.at(&key_of(rid), &mut batch.bytes), current) {
                (Seen::Version, _) => batch.push(slot, start, batch.bytes.len() - start),
                (Seen::Current, Some(_)) if self.only_locators => batch.push(slot, 0, 0),
                (Seen::Current, Some(payload)) => batch.push_copy(slot, payload),
                (Seen::Current, None) | (Seen::Nothing, _) => {}
            }
        }
        look.end(self.heap.table())
    }

    /// Reads a row as it is now; false when there is none.
    fn take_forwarded(&self, rid: Rid, batch: &mut RowBatch) -> Result<bool> {
        let start = batch.bytes.len();
        let is_there = match self.mode {
            ReadMode::Committed => self
                .heap
                .read_committed(self.storage, self.locks, rid, &mut batch.bytes)?,
            ReadMode::CommittedPast => self.heap.read_past(self.storage, self.locks, rid, &mut batch.bytes)?,
            ReadMode::Versioned(snapshot) => self.heap.read_as_seen(self.storage, snapshot, rid, &mut batch.bytes)?,
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::LockedAt(..) | ReadMode::Ranges(_) => {
                self.heap.read_row(self.storage, rid, &mut batch.bytes)?.is_there
            }
            ReadMode::Uncommitted => self.heap.read_dirty(self.storage, self.locks, rid, &mut batch.bytes)?,
        };
        if is_there {
            let length = batch.bytes.len() - start;
            batch.push(rid.slot, start, length);
        }
        Ok(is_there)
    }

    /// Waits for each row, ghosts included (their deletion may be undone), then reads it; or passes it by.
    fn take_rows_waiting(&self, id: PageId, limit: u16, batch: &mut RowBatch) -> Result<()> {
        let view = PageRef::new(&self.copy);
        for (slot, row) in view.rows().take_while(|(slot, _)| *slot < limit) {
            let rid = Rid { page: id, slot };
            if !is_ghost(row) && matches!(self.heap.parse(self.storage, rid, row)?, HeapRow::Forwarded(..)) {
                continue;
            }
            let (resource, table) = (self.heap.resource(self.storage, rid), self.heap.table());
            let mut take = || self.take_current(rid, row, view.lsn(), batch);
            match self.mode {
                ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::Ranges(_) => {
                    while_locked(self.storage, self.locks, (table, resource), self.mode, take)?;
                }
                ReadMode::CommittedPast => {
                    if_shared(self.storage, self.locks, table, resource, take)?;
                }
                ReadMode::LockedAt(_, snapshot) => {
                    let unit = (self.heap.root().object, table);
                    while_locked(self.storage, self.locks, (table, resource), self.mode, || {
                        Ok(is_as_seen(self.storage, snapshot, unit, &key_of(rid))? && take()?)
                    })?;
                }
                ReadMode::Committed | ReadMode::Uncommitted | ReadMode::Versioned(_) => {
                    while_shared(self.storage, self.locks, table, resource, take)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the row as it is now: the copy when the page has not changed since, the page's own otherwise. False when there is none.
    fn take_current(&self, rid: Rid, row: &[u8], copied_at: vlf::Lsn, batch: &mut RowBatch) -> Result<bool> {
        let is_there = !self.heap.has_left_the_file(self.storage, rid.page);
        let is_unchanged = is_there && read(self.storage, rid.page)?.view().lsn() == copied_at;
        if is_unchanged && is_ghost(row) {
            return Ok(false);
        }
        if is_unchanged && let HeapRow::Plain(payload) = self.heap.parse(self.storage, rid, row)? {
            match self.only_locators {
                true => batch.push(rid.slot, 0, 0),
                false => batch.push_copy(rid.slot, payload),
            }
            return Ok(true);
        }
        self.take_forwarded(rid, batch)
    }
}
