//! One object's space while it is open: its extents, its frontier, and where its next row goes.

use super::{EXTENT_PAGES, ExtentId, ObjectRoot, SpaceMap, extents_of};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::log::TransactionChain;
use crate::page::{ObjectId, PageId, PageKind, PageOperation};
use crate::store::StoreContext;
use crate::store::change::{Author, Planned, Subject, fresh, log_and_apply, read, write};
use crate::store::heap::Placement;
use crate::store::reserve::{Gain, set_aside_for_page};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages remembered as having space to win back; more are forgotten until the next scan meets them.
const HINTS_MAX: usize = 65_536;
/// Remembered pages looked at before a fresh page is taken.
const HINTS_TRIED: usize = 2;
/// Marks an insert page that may have empty slots, which fresh pages do not.
const MAY_HAVE_EMPTY_SLOTS: u64 = 1 << 63;

/// A place in the order of an object's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Index of the extent in the object's list.
    pub extent: usize,
    /// Page within the extent.
    pub page: u32,
}

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

impl SpaceUsage {
    /// Pages never used so far.
    pub fn unused_pages(&self) -> u64 {
        self.reserved_pages.saturating_sub(self.data_pages + self.index_pages)
    }
}

/// The state all handles of an object share.
pub struct ObjectSpace {
    object: ObjectId,
    /// The page the next row goes to, packed; 0 for none yet.
    insert_page: AtomicU64,
    /// The page the next row goes to that must lie behind all others.
    end_page: AtomicU64,
    extents: RwLock<Extents>,
    /// One session at a time looks for the next insert page. Taken without latches held.
    choosing: Mutex<()>,
    hints: Mutex<VecDeque<PageId>>,
}

struct Extents {
    all: Vec<ExtentId>,
    lists: Vec<usize>,
    tail_entries: usize,
    /// The first page never handed out.
    frontier: Position,
}

impl Extents {
    fn starts_with_list(&self, extent: usize) -> bool {
        self.lists.binary_search(&extent).is_ok()
    }

    /// First page for rows of an extent.
    fn first_page(&self, extent: usize) -> u32 {
        u32::from(self.starts_with_list(extent))
    }

    /// The list page that the next extent is entered in, and its entries.
    fn tail(&self) -> Option<(PageId, usize)> {
        let list = *self.all.get(*self.lists.last()?)?;
        Some((list.page(0), self.tail_entries))
    }
}

fn pack(page: PageId) -> u64 {
    u64::from(page.file) << 32 | u64::from(page.page)
}

fn unpack(packed: u64) -> PageId {
    PageId::new((packed >> 32 & 0xFFFF) as u16, packed as u32)
}

impl ObjectSpace {
    /// Reads an object's extent lists and finds its frontier.
    pub fn load(storage: &DatabaseStorage, root: ObjectRoot) -> Result<ObjectSpace> {
        let lists = extents_of(storage, root)?;
        let mut extents = Extents {
            all: lists.extents,
            lists: lists.lists,
            tail_entries: lists.tail_entries,
            frontier: Position { extent: 0, page: 1 },
        };
        'search: for extent in (0..extents.all.len()).rev() {
            for page in (extents.first_page(extent)..EXTENT_PAGES).rev() {
                if is_formatted(storage, extents.all[extent].page(page), root.object)? {
                    extents.frontier = Position { extent, page: page + 1 };
                    break 'search;
                }
            }
        }
        let frontier = extents.frontier;
        let last = frontier
            .page
            .checked_sub(1)
            .and_then(|page| Some(extents.all.get(frontier.extent)?.page(page)));
        let is_row_page = frontier.page > extents.first_page(frontier.extent);
        let insert_page = last.filter(|_| is_row_page).map_or(0, pack);
        Ok(ObjectSpace {
            object: root.object,
            insert_page: AtomicU64::new(insert_page),
            end_page: AtomicU64::new(insert_page),
            extents: RwLock::new(extents),
            choosing: Mutex::new(()),
            hints: Mutex::new(VecDeque::new()),
        })
    }

    /// The page at or behind `position` that comes next, and its position; `None` at `end`.
    pub fn page_from(&self, position: Position, end: Position) -> Option<(PageId, Position)> {
        let extents = self.extents.read();
        let mut at = position;
        if at.page >= EXTENT_PAGES {
            at = Position {
                extent: at.extent + 1,
                page: 0,
            };
        }
        at.page = at.page.max(extents.first_page(at.extent));
        if at >= end {
            return None;
        }
        Some((extents.all.get(at.extent)?.page(at.page), at))
    }

    /// The first page for rows of an extent.
    pub fn first_page(&self, extent: usize) -> u32 {
        self.extents.read().first_page(extent)
    }

    /// The pages of some extents as runs of neighbours: first page and length.
    pub fn page_runs(&self, extents: std::ops::Range<usize>) -> Vec<(PageId, u32)> {
        let held = self.extents.read();
        let wanted = held.all.iter().skip(extents.start).take(extents.len());
        let mut runs: Vec<(PageId, u32)> = Vec::new();
        for extent in wanted {
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
        self.extents.read().frontier
    }

    /// The pages that rows are being added to.
    pub fn growing_pages(&self) -> [PageId; 2] {
        [
            unpack(self.insert_page.load(Ordering::Acquire)),
            unpack(self.end_page.load(Ordering::Acquire)),
        ]
    }

    /// Pages handed out so far, and extent list pages.
    pub fn page_counts(&self) -> (u64, u64, u64) {
        let extents = self.extents.read();
        let whole: u64 = (0..extents.frontier.extent.min(extents.all.len()))
            .map(|extent| u64::from(EXTENT_PAGES - extents.first_page(extent)))
            .sum();
        let begun = extents.frontier.page - extents.first_page(extents.frontier.extent).min(extents.frontier.page);
        let reserved = extents.all.len() as u64 * u64::from(EXTENT_PAGES);
        (reserved, whole + u64::from(begun), extents.lists.len() as u64)
    }

    /// Hands out a page never used before, allocating an extent when the last one is used up. The page must be formatted next.
    pub fn take_page(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        chain: &mut TransactionChain,
    ) -> Result<PageId> {
        let mut extents = self.extents.write();
        if extents.frontier.page >= EXTENT_PAGES {
            let next = extents.frontier.extent + 1;
            if next >= extents.all.len() {
                let Some(tail) = extents.tail() else {
                    return Err(crate::error::Error::assertion("an object has no extent list"));
                };
                let (extent, is_list) = space.allocate_extent(storage, chain, self.object, tail)?;
                if is_list {
                    let index = extents.all.len();
                    extents.lists.push(index);
                    extents.tail_entries = 0;
                } else {
                    extents.tail_entries += 1;
                }
                extents.all.push(extent);
            }
            let page = extents.first_page(next);
            extents.frontier = Position { extent: next, page };
        }
        let Position { extent, page } = extents.frontier;
        let Some(found) = extents.all.get(extent) else {
            return Err(crate::error::Error::assertion(
                "an object's frontier lies outside its extents",
            ));
        };
        let taken = found.page(page);
        extents.frontier.page += 1;
        Ok(taken)
    }

    /// Takes a page and formats it as an empty heap page.
    fn take_heap_page(&self, ctx: &mut StoreContext<'_>) -> Result<PageId> {
        let id = self.take_page(ctx.storage, ctx.space, ctx.chain)?;
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
        Ok(id)
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
            for _ in 0..HINTS_TRIED {
                let Some(hint) = self.hints.lock().pop_front() else {
                    break;
                };
                if hint != left && self.win_back(ctx, hint, row_bytes)? {
                    current.store(pack(hint) | MAY_HAVE_EMPTY_SLOTS, Ordering::Release);
                    return Ok(());
                }
            }
            if may_hold_more {
                self.note_reclaimable(left);
            }
        }
        let page = self.take_heap_page(ctx)?;
        current.store(pack(page), Ordering::Release);
        Ok(())
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
        let mut page = write(ctx.storage, id)?;
        let view = page.view();
        if view.kind() != Some(PageKind::Heap) || view.object() != self.object {
            return Ok(false);
        }
        if view.is_reclaimable(oldest_active) && view.ghost_count() > 0 {
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
            drop(page);
            self.note_reclaimable(id);
            return Ok(false);
        }
        Ok(page.view().fits(row_bytes, oldest_active))
    }

    /// Remembers a page in which rows were deleted or became shorter.
    pub fn note_reclaimable(&self, page: PageId) {
        let mut hints = self.hints.lock();
        if hints.back() != Some(&page) && hints.len() < HINTS_MAX {
            hints.push_back(page);
        }
    }

    /// True when no page is remembered: a scan may then remember those it meets.
    pub fn wants_hints(&self) -> bool {
        self.hints.lock().is_empty()
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

fn is_formatted(storage: &DatabaseStorage, page: PageId, object: ObjectId) -> Result<bool> {
    let page = read(storage, page)?;
    let view = page.view();
    Ok(view.kind().is_some_and(PageKind::has_rows) && view.object() == object)
}
