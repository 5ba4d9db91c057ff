//! The physical layout of heaps and trees, for `sys.dm_db_index_physical_stats`.
//!
//! | | pages of a level of a tree | pages of a heap |
//! |---|---|---|
//! | order | key order | file order |
//! | a fragment | adjacent pages | adjacent extents |
//! | out of order | a page whose successor is not the next page of its level in the file | an extent followed by another object's |
//!
//! The branches of a tree name its leaves, so the leaves need not be read to find their order.
//!
//! Invariant: at most one page is latched at a time, and a page that others change is seen in its current state. The tree or heap is
//! pinned, so no page is freed, and the caller's lock prevents it from being dropped. So a walk ends: it visits no more pages than were
//! allocated when the level's walk ended.

use super::change::{foreign, read};
use super::ghosts::Horizon;
use super::heap::Heap;
use super::row::{HeapRow, is_ghost, parse_heap_row};
use super::space::{EXTENT_PAGES, Position};
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel;
use crate::error::Result;
use crate::memory::{self, Charge};
use crate::page::{HEADER_BYTES, PAGE_BYTES, PageId, PageKind, PageRef};

/// Bytes of a page that rows and their slots can take.
const PAGE_SPACE_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
/// With fewer pages a sample is all of them (sql-docs, "sys.dm_db_index_physical_stats").
const SAMPLED_PAGES_MIN: usize = 10_000;
/// Of more pages, one in so many.
const SAMPLED_EVERY: usize = 100;

/// How closely pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhysicalMode {
    /// No page with rows is read: the order of leaves comes from their branches, that of a heap from its extents.
    Limited,
    /// Leaves, a sample of them where there are many.
    Sampled,
    /// All pages of all levels.
    Detailed,
}

/// What the pages looked at hold. Of a sample, counts are those of the sample times what it stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PageContents {
    /// Rows that are not deleted; of a heap their stubs as well.
    pub rows: u64,
    /// Rows that are, and are kept until nobody can undo that.
    pub ghosts: u64,
    /// Of these the rows that nobody can bring back, and that a snapshot may still read.
    pub version_ghosts: u64,
    /// Rows that have moved to another page of their heap.
    pub forwarded: u64,
    /// Bytes of the shortest row, as it is stored.
    pub row_bytes_min: usize,
    /// Bytes of the longest.
    pub row_bytes_max: usize,
    /// Bytes of all rows.
    pub row_bytes: u64,
    /// Share of the pages' space that is in use, 0 to 1.
    pub used_share: f64,
}

/// A level of a tree, or a heap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhysicalLevel {
    /// Height above the leaves.
    pub level: u8,
    pub pages: u64,
    pub fragments: u64,
    /// Share of pages, of a heap of extents, that are out of order, 0 to 1.
    pub out_of_order: f64,
    /// What the pages hold, if they were read.
    pub contents: Option<PageContents>,
}

/// A tree or heap.
#[derive(Debug, Clone, PartialEq)]
pub struct Physical {
    /// Levels of the tree, 1 for a heap.
    pub depth: u8,
    /// Leaves first; only these unless all were asked for.
    pub levels: Vec<PhysicalLevel>,
}

/// Pages in some order, and what the list takes.
#[derive(Default)]
pub(super) struct PageList {
    pub(super) pages: Vec<PageId>,
    charge: Charge,
}

impl PageList {
    pub(super) fn push(&mut self, page: PageId) -> Result<()> {
        if self.pages.len() == self.pages.capacity() {
            let more = self.pages.capacity().max(512);
            // A copy of it is sorted later.
            self.charge = memory::require((self.pages.len() + more) * 2 * size_of::<PageId>())?;
            self.pages.reserve_exact(more);
        }
        self.pages.push(page);
        Ok(())
    }

    /// Runs of pages that lie one behind another in a file.
    pub(super) fn fragments(&self) -> u64 {
        let breaks = self.pages.windows(2).filter(|pair| !follows(pair[0], pair[1])).count();
        breaks as u64 + u64::from(!self.pages.is_empty())
    }

    /// Share of pages whose successor is not the next one of the list in the file.
    pub(super) fn out_of_order(&self) -> f64 {
        let mut sorted = self.pages.clone();
        sorted.sort_unstable();
        let is_next = |pair: &&[PageId]| {
            let place = sorted.binary_search(&pair[0]);
            place.is_ok_and(|place| sorted.get(place + 1) == Some(&pair[1]))
        };
        let in_order = self.pages.windows(2).filter(is_next).count();
        let pairs = self.pages.len().saturating_sub(1);
        (pairs - in_order) as f64 / self.pages.len().max(1) as f64
    }
}

fn follows(page: PageId, next: PageId) -> bool {
    next.file == page.file && page.page.checked_add(1) == Some(next.page)
}

/// Adds up pages.
#[derive(Default)]
struct Sum {
    contents: PageContents,
    pages: u64,
    used_bytes: u64,
}

impl Sum {
    fn add(&mut self, storage: &DatabaseStorage, page: PageRef<'_>) {
        let is_for_snapshots =
            page.is_reclaimable(storage.oldest_active.load()) && !Horizon::of(storage).frees_ghosts_of(page);
        self.pages += 1;
        let free = page.contiguous_free() + usize::from(page.hole_bytes());
        self.used_bytes += PAGE_SPACE_BYTES.saturating_sub(free) as u64;
        let is_heap = page.kind() == Some(PageKind::Heap);
        let contents = &mut self.contents;
        for (_, row) in page.rows() {
            if is_ghost(row) {
                contents.ghosts += 1;
                contents.version_ghosts += u64::from(is_for_snapshots);
                continue;
            }
            // "A row may contain multiple records" (sql-docs): one that has moved, and the stub that leads to it.
            if is_heap && matches!(parse_heap_row(row), Some(HeapRow::Forwarded(..))) {
                contents.forwarded += 1;
            }
            let is_first = contents.rows == 0;
            contents.rows += 1;
            contents.row_bytes += row.len() as u64;
            contents.row_bytes_max = contents.row_bytes_max.max(row.len());
            contents.row_bytes_min = match is_first {
                true => row.len(),
                false => contents.row_bytes_min.min(row.len()),
            };
        }
    }

    /// The sum, with counts of all pages that those added stand for.
    fn finish(self, pages: u64) -> PageContents {
        let scaled = |count: u64| match self.pages {
            0 => 0,
            looked_at => (u128::from(count) * u128::from(pages) / u128::from(looked_at)) as u64,
        };
        let space = self.pages * PAGE_SPACE_BYTES as u64;
        PageContents {
            rows: scaled(self.contents.rows),
            ghosts: scaled(self.contents.ghosts),
            version_ghosts: scaled(self.contents.version_ghosts),
            forwarded: scaled(self.contents.forwarded),
            row_bytes: scaled(self.contents.row_bytes),
            used_share: self.used_bytes as f64 / space.max(1) as f64,
            ..self.contents
        }
    }
}

/// Reads pages of a list, all or a sample, and adds up what they hold.
pub(super) fn contents_of<'s>(
    storage: &DatabaseStorage,
    list: &PageList,
    mode: PhysicalMode,
    open: impl Fn(PageId) -> Result<Option<PageRead<'s>>>,
) -> Result<PageContents> {
    let is_sample = mode == PhysicalMode::Sampled && list.pages.len() >= SAMPLED_PAGES_MIN;
    let mut sum = Sum::default();
    for id in list.pages.iter().step_by(if is_sample { SAMPLED_EVERY } else { 1 }) {
        cancel::spend(cancel::STEPS_PER_PAGE)?;
        if let Some(page) = open(*id)? {
            sum.add(storage, page.view());
        }
    }
    Ok(sum.finish(list.pages.len() as u64))
}

impl Heap {
    /// How it lies in its pages. The caller keeps it from being dropped.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; 701 when there is no memory for a list of its pages; 3617 when the request is to stop.
    pub fn physical(&self, storage: &DatabaseStorage, mode: PhysicalMode) -> Result<Physical> {
        let _pages_stay = self.pin();
        let (space, mut list, mut extents) = (self.object_space(), PageList::default(), PageList::default());
        let (mut at, end) = (Position { extent: 0, page: 0 }, space.frontier());
        while let Some((page, position)) = space.page_from(at, end) {
            if !space.is_free(position) {
                list.push(page)?;
            }
            let extent = PageId::new(page.file, page.page / EXTENT_PAGES);
            if extents.pages.last() != Some(&extent) {
                extents.push(extent)?;
            }
            at = Position {
                page: position.page + 1,
                ..position
            };
        }
        extents.pages.sort_unstable();
        let contents = match mode {
            PhysicalMode::Limited => None,
            _ => Some(contents_of(storage, &list, mode, |id| self.open_page(storage, id))?),
        };
        let fragments = extents.fragments();
        let level = PhysicalLevel {
            level: 0,
            pages: list.pages.len() as u64,
            fragments,
            out_of_order: fragments.saturating_sub(1) as f64 / extents.pages.len().max(1) as f64,
            contents,
        };
        Ok(Physical {
            depth: 1,
            levels: vec![level],
        })
    }

    /// A page of it; `None` for one that is free, or was handed out and is not formatted yet.
    fn open_page<'s>(&self, storage: &'s DatabaseStorage, id: PageId) -> Result<Option<PageRead<'s>>> {
        let page = read(storage, id)?;
        let view = page.view();
        if view.version() == 0 || view.kind() == Some(PageKind::Free) {
            return Ok(None);
        }
        match view.kind() == Some(PageKind::Heap) && view.object() == self.root().object {
            true => Ok(Some(page)),
            false => Err(foreign(storage, id, view, self.root().object, "a heap page")),
        }
    }
}
