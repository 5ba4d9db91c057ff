//! The space of one open object: its extents, its frontier, and the place for its next row.

use super::extents::Extents;
pub use super::extents::Position;
use super::queue::{Noted, Queue};
use super::{Claim, EXTENT_PAGES, EntryPlace, ExtentId, ObjectRoot, SpaceMap, entries_of};
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::log::TransactionChain;
use crate::page::{ObjectId, PageId, PageKind, PageOperation};
use crate::store::StoreContext;
use crate::store::change::{Author, Planned, Subject, fresh, log_and_apply, read, write, write_if_in_file};
use crate::store::ghosts::Horizon;
use crate::store::heap::Placement;
use crate::store::reserve::{Gain, set_aside_for_page};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vlf::Lsn;

/// Remembered pages looked at before a fresh page is taken.
const HOLES_TRIED: usize = 2;
/// Marks an insert page that may have empty slots, which fresh pages do not.
const MAY_HAVE_EMPTY_SLOTS: u64 = 1 << 63;

/// How much space an object takes, in pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpaceUsage {
    /// All pages of its extents.
    pub reserved_pages: u64,
    /// Pages with rows: heap pages or leaves.
    pub data_pages: u64,
    /// Pages of its structure: extent lists and branches.
    pub index_pages: u64,
}

/// The state all handles of an object share.
pub struct ObjectSpace {
    object: ObjectId,
    /// Its first extent list page, packed. It moves when its file becomes shorter.
    first_iam: AtomicU64,
    /// The page the next row goes to, packed; 0 for none yet.
    insert_page: AtomicU64,
    /// The page the next row goes to that must lie behind all others.
    end_page: AtomicU64,
    pub(super) extents: RwLock<Extents>,
    /// One session at a time looks for the next insert page. Taken without latches held.
    choosing: Mutex<()>,
    queue: Mutex<Queue>,
    /// Pages given up since the object was opened: a page that was promised before may be another's by now.
    given_up: AtomicU64,
    /// Its extents may come from the reserve.
    uses_reserve: AtomicBool,
    upkeep: Mutex<Upkeep>,
}

/// Whether pages may be given up now. Held while one is.
#[derive(Default)]
pub struct Upkeep {
    pins: u32,
    is_gone: bool,
}

/// Keeps an object from giving up pages until dropped: for those who remember its pages and walk along them without latches.
pub struct Pin(Arc<ObjectSpace>);

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.upkeep.lock().pins -= 1;
    }
}

fn pack(page: PageId) -> u64 {
    u64::from(page.file) << 32 | u64::from(page.page)
}

fn unpack(packed: u64) -> PageId {
    PageId::new((packed >> 32 & 0xFFFF) as u16, packed as u32)
}

impl ObjectSpace {
    /// Reads an object's extent lists and finds its frontier, and the pages to look at.
    pub fn load(storage: &DatabaseStorage, root: ObjectRoot) -> Result<ObjectSpace> {
        let mut extents = Extents::new(entries_of(storage, root)?);
        let mut queue = Queue::default();
        let mut frontier = None;
        'search: for place in (0..extents.len()).rev() {
            let Some(extent) = extents.get(place) else { continue };
            for page in (extents.first_page(place)..EXTENT_PAGES).rev() {
                let id = extent.page(page);
                let formatted = formatted_as(storage, id, root.object)?;
                if formatted.is_some() {
                    frontier.get_or_insert(Position {
                        extent: place,
                        page: page + 1,
                    });
                }
                match formatted {
                    Some(PageKind::Free) => note_from_lists(&mut queue, id),
                    Some(_) => break 'search,
                    None => {}
                }
            }
        }
        let frontier = frontier.unwrap_or(Position { extent: 0, page: 1 });
        extents.set_frontier(frontier);
        for (place, page) in extents.pages_to_look_at(0) {
            if !queue.has_room() {
                queue.left_out_from = Some(place);
                break;
            }
            note_from_lists(&mut queue, page);
        }
        let is_row_page = frontier.page > extents.first_page(frontier.extent);
        let last = frontier.page.checked_sub(1).filter(|_| is_row_page);
        let last = last.and_then(|page| Some(extents.get(frontier.extent)?.page(page)));
        let insert_page = match last {
            Some(last) if formatted_as(storage, last, root.object)? == Some(PageKind::Heap) => pack(last),
            _ => 0,
        };
        Ok(ObjectSpace::of(root, extents, queue, insert_page))
    }

    /// The same of an object that was just made and has no pages but that of its extent list: none is looked at.
    pub fn of_new(storage: &DatabaseStorage, root: ObjectRoot) -> Result<ObjectSpace> {
        let mut extents = Extents::new(entries_of(storage, root)?);
        extents.set_frontier(Position { extent: 0, page: 1 });
        Ok(ObjectSpace::of(root, extents, Queue::default(), 0))
    }

    fn of(root: ObjectRoot, extents: Extents, queue: Queue, insert_page: u64) -> ObjectSpace {
        ObjectSpace {
            object: root.object,
            first_iam: AtomicU64::new(pack(root.first_iam)),
            insert_page: AtomicU64::new(insert_page),
            end_page: AtomicU64::new(insert_page),
            extents: RwLock::new(extents),
            choosing: Mutex::new(()),
            queue: Mutex::new(queue),
            given_up: AtomicU64::new(0),
            uses_reserve: AtomicBool::new(false),
            upkeep: Mutex::default(),
        }
    }

    /// Where the object begins.
    pub fn root(&self) -> ObjectRoot {
        ObjectRoot {
            object: self.object,
            first_iam: unpack(self.first_iam.load(Ordering::Acquire)),
        }
    }

    /// Another extent has become the first, with the pages `free` of it free. Nobody but the caller uses the object.
    pub(super) fn begin_in(&self, extent: ExtentId, free: u8) {
        let mut extents = self.extents.write();
        extents.replace_list(0, extent, free);
        self.first_iam.store(pack(extent.page(0)), Ordering::Release);
    }

    /// From now on its extents may come from the reserve.
    pub fn use_reserve(&self) {
        self.uses_reserve.store(true, Ordering::Relaxed);
    }

    /// Pages given up so far, since the object was opened. A link read under a latch holds as long as this is what it was then, read
    /// under the latch of the page that the link leads to.
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Acquire)
    }

    /// A page is given up, whose exclusive latch is held.
    pub fn count_given_up(&self) {
        self.given_up.fetch_add(1, Ordering::Release);
    }

    /// Keeps its pages what they are until the answer is dropped.
    pub fn pin(self: &Arc<Self>) -> Pin {
        self.upkeep.lock().pins += 1;
        Pin(self.clone())
    }

    /// Lets a page be given up while the answer is held; `None` when they are pinned, or the object is gone.
    pub fn begin_upkeep(&self) -> Option<MutexGuard<'_, Upkeep>> {
        let upkeep = self.upkeep.lock();
        (upkeep.pins == 0 && !upkeep.is_gone).then_some(upkeep)
    }

    /// The object is gone: from now on it gives up nothing: all its extents are about to be freed.
    pub fn leave(&self) {
        self.upkeep.lock().is_gone = true;
    }

    /// Whether a page that a client names is one of the object's with rows of this kind. It stays so while the object is pinned.
    ///
    /// # Errors
    /// 823 and 824 when the page cannot be read.
    pub fn has_row_page(&self, storage: &DatabaseStorage, page: PageId, kind: PageKind) -> Result<bool> {
        let is_own = {
            let extents = self.extents.read();
            let mut own = extents.some_from(0, extents.len());
            own.any(|extent| {
                extent.page(0).file == page.file && extent.page(0).page == page.page / EXTENT_PAGES * EXTENT_PAGES
            })
        };
        Ok(is_own && formatted_as(storage, page, self.object)? == Some(kind))
    }

    /// The page at or behind `position` that comes next, and its position; `None` at `end`.
    pub fn page_from(&self, position: Position, end: Position) -> Option<(PageId, Position)> {
        let extents = self.extents.read();
        let mut at = position;
        loop {
            if at.page >= EXTENT_PAGES {
                at = Position {
                    extent: at.extent + 1,
                    page: 0,
                };
            }
            at.page = at.page.max(extents.first_page(at.extent));
            if at >= end || at.extent >= extents.len() {
                return None;
            }
            if let Some(extent) = extents.get(at.extent) {
                return Some((extent.page(at.page), at));
            }
            at.page = EXTENT_PAGES;
        }
    }

    /// The page before `position` that comes next on the way back, and its position; `None` at the beginning.
    pub fn page_before(&self, position: Position) -> Option<(PageId, Position)> {
        let extents = self.extents.read();
        let mut at = Position {
            extent: position.extent.min(extents.len()),
            page: position.page.min(EXTENT_PAGES),
        };
        loop {
            if let Some(extent) = extents.get(at.extent)
                && at.page > extents.first_page(at.extent)
            {
                at.page -= 1;
                return Some((extent.page(at.page), at));
            }
            at = Position {
                extent: at.extent.checked_sub(1)?,
                page: EXTENT_PAGES,
            };
        }
    }

    /// Where a page is among the object's pages; its extent is looked for at the place `likely` first, then everywhere. `None` when it is
    /// none of them any more.
    pub fn position_of(&self, page: PageId, likely: usize) -> Option<Position> {
        let extents = self.extents.read();
        let place_in = |extent: usize| {
            let pages = extents.get(extent)?;
            let place = (0..EXTENT_PAGES).find(|place| pages.page(*place) == page)?;
            Some(Position { extent, page: place })
        };
        place_in(likely).or_else(|| (0..extents.len()).find_map(place_in))
    }

    /// Whether a page of its extents is free.
    pub fn is_free(&self, at: Position) -> bool {
        self.extents.read().is_free(at.extent, at.page)
    }

    /// The first page for rows of an extent.
    pub fn first_page(&self, extent: usize) -> u32 {
        self.extents.read().first_page(extent)
    }

    /// The pages of some extents as runs of neighbours: first page and length.
    pub fn page_runs(&self, extents: std::ops::Range<usize>) -> Vec<(PageId, u32)> {
        let held = self.extents.read();
        let mut runs: Vec<(PageId, u32)> = Vec::new();
        for extent in held.some_from(extents.start, extents.len()) {
            let first = extent.page(0);
            match runs.last_mut() {
                Some((page, count)) if page.file == first.file && page.page + *count == first.page => {
                    *count += EXTENT_PAGES;
                }
                _ => runs.push((first, EXTENT_PAGES)),
            }
        }
        runs
    }

    /// The first page never handed out: the end of a scan that begins now.
    pub fn frontier(&self) -> Position {
        self.extents.read().frontier()
    }

    /// The pages that rows are being added to.
    pub fn growing_pages(&self) -> [PageId; 2] {
        [
            unpack(self.insert_page.load(Ordering::Acquire)),
            unpack(self.end_page.load(Ordering::Acquire)),
        ]
    }

    /// All its pages; pages in use, and extent list pages.
    pub fn page_counts(&self) -> (u64, u64, u64) {
        self.extents.read().page_counts()
    }

    /// Hands out a page: a free one, unless it must lie behind all others, or one never used. Allocates an extent when there is none. The
    /// page must be formatted next.
    ///
    /// # Errors
    /// 1101 and 1105 when the files are full, 9002 when the log is.
    pub fn take_page(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
        placement: Placement,
    ) -> Result<PageId> {
        let claim = match self.uses_reserve.load(Ordering::Relaxed) {
            true => Claim::Reserve,
            false => Claim::Rows,
        };
        let claim = (self.object, claim);
        let mut extents = self.extents.write();
        if placement == Placement::Anywhere {
            if let Some(free) = extents.take_free() {
                return Ok(free);
            }
            if extents.frontier().page >= EXTENT_PAGES
                && let Some((place, entry)) = extents.unused_entry()
            {
                let extent = space.allocate_extent(storage, chain, claim, entry)?;
                extents.refill(place, extent);
                let lost = || Error::assertion("an extent has no free page");
                return extents.take_free().ok_or_else(lost);
            }
        }
        if let Some(new) = extents.take_new() {
            return Ok(new);
        }
        let Some(entry) = extents.next_entry() else {
            return Err(Error::assertion("an object has no extent list"));
        };
        let extent = space.allocate_extent(storage, chain, claim, entry)?;
        extents.push(extent, matches!(entry, EntryPlace::NewList { .. }));
        let lost = || Error::assertion("an object's frontier lies outside its extents");
        extents.take_new().ok_or_else(lost)
    }

    /// Takes a page and formats it as an empty heap page.
    fn take_heap_page(&self, ctx: &mut StoreContext<'_>, placement: Placement) -> Result<PageId> {
        let id = self.take_page(ctx.storage, ctx.space, ctx.chain, placement)?;
        self.format_heap_page(ctx, id).map(|()| id)
    }

    /// Makes a page that was taken an empty one of a heap.
    pub(super) fn format_heap_page(&self, ctx: &mut StoreContext<'_>, id: PageId) -> Result<()> {
        let mut page = fresh(ctx.storage, id)?;
        let operation = empty_heap_page(self.object);
        let mut planned = [Planned {
            page: &mut page,
            operation,
        }];
        log_and_apply(
            ctx.storage,
            Author::Transaction(ctx.chain),
            Subject::structure(self.object),
            &mut planned,
        )?;
        set_aside_for_page(ctx, Gain::NewPage);
        Ok(())
    }

    /// The page to try for the next row.
    pub fn insert_page(&self, ctx: &mut StoreContext<'_>, placement: Placement) -> Result<PageId> {
        let current = self.current(placement).load(Ordering::Acquire);
        if current != 0 {
            return Ok(unpack(current));
        }
        self.leave_insert_page(ctx, PageId::NONE, false, 0, placement)?;
        Ok(unpack(self.current(placement).load(Ordering::Acquire)))
    }

    /// Rows are added to a page no longer.
    pub(super) fn stop_growing(&self, page: PageId) {
        let _one_at_a_time = self.choosing.lock();
        for growing in [&self.insert_page, &self.end_page] {
            if unpack(growing.load(Ordering::Acquire)) == page {
                growing.store(0, Ordering::Release);
            }
        }
    }

    /// True when the insert page may have empty slots worth looking for.
    pub fn may_have_empty_slots(&self) -> bool {
        self.insert_page.load(Ordering::Relaxed) & MAY_HAVE_EMPTY_SLOTS != 0
    }

    /// Gives up the page `left`, which had no room for a row of `row_bytes`, and chooses another.
    pub fn leave_insert_page(
        &self,
        ctx: &mut StoreContext<'_>,
        left: PageId,
        may_hold_more: bool,
        row_bytes: usize,
        placement: Placement,
    ) -> Result<()> {
        let _one_at_a_time = self.choosing.lock();
        let current = self.current(placement);
        let packed = current.load(Ordering::Acquire);
        if packed != 0 && unpack(packed) != left {
            return Ok(());
        }
        if placement == Placement::Anywhere {
            for _ in 0..HOLES_TRIED {
                let Some(hole) = self.next_hole(ctx.storage) else { break };
                let is_to_be_emptied = self.extents.read().avoided() == Some(ExtentId::of(hole));
                if hole != left && !is_to_be_emptied && self.win_back(ctx, hole, row_bytes)? {
                    current.store(pack(hole) | MAY_HAVE_EMPTY_SLOTS, Ordering::Release);
                    return Ok(());
                }
            }
            if may_hold_more {
                self.note_hole(left);
            }
        }
        let page = self.take_heap_page(ctx, placement)?;
        current.store(pack(page), Ordering::Release);
        Ok(())
    }

    /// A page that may have room for a row.
    fn next_hole(&self, storage: &DatabaseStorage) -> Option<PageId> {
        let mut queue = self.queue.lock();
        let hole = queue.take_hole();
        hole.or_else(|| {
            let horizon = Horizon::of(storage);
            queue.take_due(|since| horizon.is_behind(since)).map(|noted| noted.page)
        })
    }

    fn current(&self, placement: Placement) -> &AtomicU64 {
        match placement {
            Placement::Anywhere => &self.insert_page,
            Placement::AtEnd => &self.end_page,
        }
    }

    /// Removes the ghosts of a page that nobody can bring back; true when a row of `row_bytes` then fits.
    fn win_back(&self, ctx: &mut StoreContext<'_>, id: PageId, row_bytes: usize) -> Result<bool> {
        let oldest_active = ctx.storage.oldest_active.load();
        let Some(mut page) = write_if_in_file(ctx.storage, id)? else {
            return Ok(false);
        };
        let view = page.view();
        if view.kind() != Some(PageKind::Heap) || view.object() != self.object {
            return Ok(false);
        }
        if Horizon::of(ctx.storage).frees_ghosts_of(view) && view.ghost_count() > 0 {
            let has_rows = view.rows().any(|(_, row)| !crate::store::row::is_ghost(row));
            let operation = if has_rows {
                PageOperation::PurgeGhosts
            } else {
                empty_heap_page(self.object)
            };
            let mut planned = [Planned {
                page: &mut page,
                operation,
            }];
            log_and_apply(
                ctx.storage,
                Author::Transaction(ctx.chain),
                Subject::structure(self.object),
                &mut planned,
            )?;
        } else if view.ghost_count() > 0 || view.reserved_bytes() > 0 {
            let since = view.reclaim_lsn();
            drop(page);
            self.note_shrunk(id, since);
            return Ok(false);
        }
        Ok(page.view().fits(row_bytes, oldest_active))
    }

    /// Remembers a page in which rows became shorter, or that a rollback took rows from: in memory alone.
    pub fn note_shrunk(&self, page: PageId, since: Lsn) {
        self.note_again(Noted {
            page,
            since,
            is_from_lists: false,
        });
    }

    /// A page of a tree has become another one, with the ghosts that are on it; the lists have it among those to look at.
    pub(super) fn note_moved(&self, to: PageId, since: Lsn) {
        self.note_shrunk(to, since);
    }

    /// Remembers a page that could not be cleaned, as it was.
    pub fn note_again(&self, noted: Noted) {
        self.queue.lock().note(noted);
    }

    /// Remembers a page on which a row was deleted by the change `since`; in the extent lists too, so that a restart knows it. No latch
    /// is held.
    ///
    /// # Errors
    /// 9002 when the log is full.
    pub fn note_ghost(&self, ctx: &mut StoreContext<'_>, page: PageId, since: Lsn) -> Result<()> {
        let noted = Noted {
            page,
            since,
            is_from_lists: false,
        };
        if !self.queue.lock().note(noted) {
            return Ok(());
        }
        self.mark(ctx.storage, Author::Transaction(ctx.chain), page, Extents::look_at)
    }

    /// Remembers a page with room for rows, in memory alone.
    pub fn note_hole(&self, page: PageId) {
        self.queue.lock().note_hole(page);
    }

    /// Enters a page among those to look at, in the extent lists, or takes it out. The queue learns what the lists have before they can
    /// change again.
    fn mark(
        &self,
        storage: &DatabaseStorage,
        author: Author<'_>,
        page: PageId,
        change: impl Fn(&Extents, usize, PageId) -> Option<(PageId, u16, u8)>,
    ) -> Result<()> {
        self.mark_in(storage, author, &mut self.extents.write(), (page, change))
    }

    /// As [`ObjectSpace::mark`] with [`Extents::look_at`], by who holds the extents.
    pub(super) fn look_at_in(&self, storage: &DatabaseStorage, extents: &mut Extents, page: PageId) -> Result<()> {
        self.mark_in(storage, Author::System, extents, (page, Extents::look_at))
    }

    fn mark_in(
        &self,
        storage: &DatabaseStorage,
        author: Author<'_>,
        extents: &mut Extents,
        (page, change): (PageId, impl Fn(&Extents, usize, PageId) -> Option<(PageId, u16, u8)>),
    ) -> Result<()> {
        let Some(place) = extents.place_of(page) else {
            return Ok(());
        };
        let Some((list, offset, looks)) = change(extents, place, page) else {
            self.queue.lock().set_listed(ExtentId::of(page), extents.looks(place));
            return Ok(());
        };
        let mut list = write(storage, list)?;
        let mut planned = [Planned {
            page: &mut list,
            operation: PageOperation::SetBytes {
                offset,
                before: &[],
                after: &[looks],
            },
        }];
        log_and_apply(storage, author, Subject::structure(self.object), &mut planned)?;
        extents.set_looks(place, looks);
        self.queue.lock().set_listed(ExtentId::of(page), looks);
        Ok(())
    }

    /// A page has nothing left that anybody has to look at, unless a row of it was deleted meanwhile.
    ///
    /// # Errors
    /// 9002 when the log is full.
    pub fn look_away(&self, storage: &DatabaseStorage, page: PageId) -> Result<()> {
        // Who notes the page after this question finds out that the lists do not have it: it waits for the extents.
        let unless_noted = |extents: &Extents, place, page| match self.queue.lock().is_noted(page) {
            true => None,
            false => extents.look_away(place, page),
        };
        self.mark(storage, Author::System, page, unless_noted)
    }

    /// A page has become free: it is handed out again, or its extent given back. True when that was. A page from the lists counts only if
    /// nobody has handed it out.
    ///
    /// # Errors
    /// 9002 when the log is full.
    pub fn free_page(&self, storage: &DatabaseStorage, space: &SpaceMap, page: PageId) -> Result<bool> {
        self.mark(storage, Author::System, page, Extents::look_at)?;
        let mut extents = self.extents.write();
        let Some(place) = extents.place_of(page) else {
            return Ok(false);
        };
        if extents.is_free(place, page.page % EXTENT_PAGES) || !extents.set_free(place, page) {
            return Ok(false);
        }
        let (Some(extent), Some(entry)) = (extents.get(place), extents.entry_of(place)) else {
            return Ok(false);
        };
        space.give_back(storage, self.object, extent, entry)?;
        extents.drop_extent(place);
        // The extent may come back, and then the lists have no page of it to look at.
        self.queue.lock().set_listed(extent, 0);
        Ok(true)
    }

    /// The next page whose leavings nobody can want back.
    pub fn take_due(&self, horizon: Horizon) -> Option<Noted> {
        let is_due = |since| horizon.is_behind(since);
        if let Some(due) = self.queue.lock().take_due(is_due) {
            return Some(due);
        }
        let extents = self.extents.read();
        let mut queue = self.queue.lock();
        let from = queue.take_left_out()?;
        for (place, page) in extents.pages_to_look_at(from) {
            if !queue.has_room() {
                queue.left_out_from = Some(place);
                break;
            }
            if !extents.is_free(place, page.page % EXTENT_PAGES) {
                // It may have been handed out: only what is on it counts.
                queue.note(Noted {
                    page,
                    since: Lsn::ZERO,
                    is_from_lists: false,
                });
            }
        }
        queue.take_due(is_due)
    }

    /// Whether there is a page whose leavings nobody can want back.
    pub fn has_due(&self, horizon: Horizon) -> bool {
        self.queue.lock().has_due(|since| horizon.is_behind(since))
    }

    /// True when no page is remembered: a scan may then remember those it meets.
    pub fn wants_hints(&self) -> bool {
        self.queue.lock().is_empty()
    }

    /// After a bulk fill: later rows may go to its last page.
    pub fn insert_into(&self, page: PageId) {
        self.insert_page.store(pack(page), Ordering::Release);
    }
}

fn empty_heap_page(object: ObjectId) -> PageOperation<'static> {
    PageOperation::Format {
        kind: PageKind::Heap,
        level: 0,
        object,
        next: PageId::NONE,
        previous: PageId::NONE,
    }
}

/// The kind of a page of the object that has rows, had some, or is free; `None` for one never formatted for it.
fn formatted_as(storage: &DatabaseStorage, page: PageId, object: ObjectId) -> Result<Option<PageKind>> {
    let page = read(storage, page)?;
    let view = page.view();
    let kind = view.kind().filter(|kind| kind.has_rows() || *kind == PageKind::Free);
    Ok(kind.filter(|_| view.object() == object))
}

fn note_from_lists(queue: &mut Queue, page: PageId) {
    queue.note(Noted {
        page,
        since: Lsn::ZERO,
        is_from_lists: true,
    });
}
