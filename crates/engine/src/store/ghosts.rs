//! Ghosts: deleted rows that may still be needed, and the pages they leave.
//!
//! The contract is the same for heaps, clustered trees and entries of nonclustered indexes:
//!
//! | topic | rule |
//! |---|---|
//! | definition | a ghost is a row with the ghost bit in its status: its deletion is logged, and the row stays in place |
//! | visibility | no reader sees a ghost as a row, except snapshots that do not see the deletion, through its version. Inserting its key in a tree replaces it; rolling back the deletion makes it a row again |
//! | waiting | readers that wait for others' changes wait for the deletion's lock as for any row's, because it may be undone; so do index searches for its entries |
//! | removal | once the horizon is after the page's newest deletion: [`Horizon::is_behind`] |
//! | freeing its page | at the same moment, if the page has no other rows. No open transaction then has a record to undo on the page: an inserted or changed row would still be there, a deleted one would keep the ghosts, and if a split moved rows away, the split counts as a deletion |
//! | removed by | a writer that needs its space (a full leaf, an insert page), the cleaner in the background, and the cleaner under pressure before error 1105 |
//!
//! The horizon is the first record of the oldest open transaction, or of the oldest ended transaction that an open snapshot does not see
//! (`crate::versions`): rows that it deleted are still rows for that snapshot. Nothing else holds the horizon back.
//!
//! For a page on which rows were deleted, the cleaner does the following, in changes outside any transaction:
//!
//! ```text
//! page with other rows     its ghosts are removed; a heap page with space takes rows again
//! heap page of ghosts      becomes a free page
//! leaf of ghosts           leaves the tree and becomes a free page (`tree::unlink`)
//! eight free pages         the extent is returned to the file, unless it holds an extent list
//! ```
//! Only its own object reuses a free page. The pages to be cleaned are remembered in memory and in the extent lists (see [`super::space`]).
//! The bits of an extent are set when the first row on one of its pages is deleted. So a table without deletions pays nothing, page-by-page
//! deletions pay one record for eight pages, and a restart reads only the lists, which it reads anyway. If the bits of an extent lead to a
//! page with nothing to clean, its bit is cleared. The alternative, searching all pages after a restart, would read tables without
//! deletions.
//!
//! *Promised pages.* A freed page may belong to any object. Code that remembers a page of a heap or tree without its latch compares
//! [`ObjectSpace::given_up`]: while the count stays the same, no page was freed. Otherwise, a row identifier that leads elsewhere belongs
//! to a deleted row, and a tree scan continues from the root after the last key it returned. Code that walks whole levels or keeps lists of
//! leaves pins the object ([`ObjectSpace::pin`]); a check pins the whole database ([`SpaceMap::keep_still`]).
//!
//! *A crash* between two changes leaves ghosts, free pages or an extent of free pages. The lists lead to all of them.
//!
//! *Budget.* A page costs a latch and a record of a few dozen bytes; freeing a leaf also costs the latches of its neighbours and its
//! parent. Each turn visits a limited number of pages, no session waits for it, and pages that must wait for the horizon are not visited
//! earlier.

use super::StoreContext;
use super::change::{Author, Planned, Subject, log_and_apply, write, write_if_in_file};
use super::row::is_ghost;
use super::space::{Noted, ObjectSpace, SpaceMap};
use super::tree::Unlinked;
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::cancel;
use crate::error::{Error, Result};
use crate::page::{ObjectId, PAGE_BYTES, PageId, PageKind, PageOperation, PageRef};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Pages looked at under pressure before the statement that needs room tries again.
const PRESSURE_PAGES: usize = 1_024;
/// A heap page with more usable bytes takes rows again.
pub(super) const HOLE_BYTES_MIN: usize = PAGE_BYTES / 5;

/// What nobody can want back: everything older.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Horizon {
    lsn: Lsn,
    /// Pages without rows may leave whose last change is older. A marked transaction empties pages that it has filled, and looks for what was split
    /// off them where they are (`super::revert`).
    last_change_before: Lsn,
}

impl Horizon {
    /// The horizon now. It only moves on; one taken before a latch is older than it could be, never newer.
    pub fn of(storage: &DatabaseStorage) -> Horizon {
        let lsn = storage.oldest_active.load().min(storage.versions.horizon());
        let last_change_before = if storage.marked.is_empty() { Lsn::MAX } else { lsn };
        Horizon {
            lsn,
            last_change_before,
        }
    }

    /// True when nobody can want back what a change at `lsn` took away, or undo the change.
    pub fn is_behind(self, lsn: Lsn) -> bool {
        lsn < self.lsn
    }

    /// The place in the log.
    pub(super) fn lsn(self) -> Lsn {
        self.lsn
    }

    /// True when the ghosts of a page may go, and the bytes it keeps for undo.
    pub(super) fn frees_ghosts_of(self, page: PageRef<'_>) -> bool {
        page.is_reclaimable(self.lsn)
    }

    /// True when a page may be given up: it has no rows, and nobody active has a record to undo that names it.
    pub(super) fn frees_page(self, page: PageRef<'_>) -> bool {
        self.frees_ghosts_of(page) && !has_rows(page) && !self.keeps_empty(page)
    }

    /// True when a page stays though it has no rows.
    fn keeps_empty(self, page: PageRef<'_>) -> bool {
        page.lsn() >= self.last_change_before
    }
}

/// What a turn of the cleaner has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Pages looked at.
    pub pages: usize,
    /// Pages that became free.
    pub pages_freed: usize,
    /// Extents given back to their files.
    pub extents_freed: usize,
    /// Pages that stay and have more room: their ghosts went, or rows may come into their holes.
    pub pages_with_room: usize,
}

impl SpaceMap {
    /// Whether an open object has pages whose ghosts may go.
    pub fn has_ghosts_due(&self, storage: &DatabaseStorage) -> bool {
        let horizon = Horizon::of(storage);
        let mut objects = self.open_objects().into_iter();
        objects.any(|space| space.has_due(horizon) && !storage.files.is_read_only_file(space.root().first_iam.file))
    }

    /// One turn of the cleaner: looks at up to `pages_max` pages whose ghosts may go. Ends early where a check keeps pages still.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn clean(&self, storage: &DatabaseStorage, pages_max: usize) -> Result<Cleaned> {
        let mut done = Cleaned::default();
        if !storage.may_free_pages.load(Ordering::Relaxed) {
            return Ok(done);
        }
        let horizon = Horizon::of(storage);
        for space in self.open_objects() {
            if storage.files.is_read_only_file(space.root().first_iam.file) {
                continue;
            }
            while done.pages < pages_max {
                // Both are held while one page is looked at, so that who wants pages to stay waits no longer than that.
                let Some(_moves) = self.may_move() else { return Ok(done) };
                let Some(_upkeep) = space.begin_upkeep() else { break };
                let Some(noted) = space.take_due(horizon) else { break };
                done.pages += 1;
                let cleaner = Cleaner {
                    storage,
                    map: self,
                    space: &space,
                    horizon,
                };
                if let Err(error) = cleaner.look_at(noted, &mut done) {
                    space.note_again(noted);
                    return Err(error);
                }
            }
        }
        Ok(done)
    }
}

/// Looks at one page, if nobody can want back what was deleted on it.
///
/// # Errors
/// 9002 when the log is full, 823 and 824 for pages.
pub(super) fn clean_page(
    map: &SpaceMap,
    storage: &DatabaseStorage,
    space: &Arc<ObjectSpace>,
    page: PageId,
) -> Result<()> {
    let (Some(_moves), Some(_upkeep)) = (map.may_move(), space.begin_upkeep()) else {
        return Ok(());
    };
    let cleaner = Cleaner {
        storage,
        map,
        space,
        horizon: Horizon::of(storage),
    };
    let noted = Noted {
        page,
        since: Lsn::ZERO,
        is_from_lists: false,
    };
    cleaner.look_at(noted, &mut Cleaned::default())
}

/// Tries something that may need a page, and when the files are full makes room by what deleted rows have left, and tries again. No
/// latch is held.
pub(super) fn under_pressure<T>(
    ctx: &mut StoreContext<'_>,
    mut attempt: impl FnMut(&mut StoreContext<'_>) -> Result<T>,
) -> Result<T> {
    loop {
        match attempt(ctx) {
            Err(error) if error.is_data_full() => relieve(ctx, error)?,
            outcome => return outcome,
        }
    }
}

/// Looks at pages whose ghosts may go until there is room somewhere, because something failed for want of a page. A page that was only
/// looked at gives none: what failed would fail again, as long as others leave pages to look at.
///
/// # Errors
/// That failure, when nothing that may be looked at gives room; 3617 when the request is to stop.
pub(super) fn relieve(ctx: &mut StoreContext<'_>, failure: Error) -> Result<()> {
    loop {
        let done = ctx.space.clean(ctx.storage, PRESSURE_PAGES)?;
        let (large_pages, large_extents) = ctx.space.free_large_values(ctx.storage)?;
        if done.pages_freed + done.pages_with_room > 0 || large_pages + large_extents > 0 {
            return Ok(());
        }
        if done.pages < PRESSURE_PAGES {
            return Err(failure);
        }
        cancel::spend(PRESSURE_PAGES)?;
    }
}

/// Looks after the pages of one object, which nobody keeps.
struct Cleaner<'c> {
    storage: &'c DatabaseStorage,
    map: &'c SpaceMap,
    space: &'c Arc<ObjectSpace>,
    horizon: Horizon,
}

impl Cleaner<'_> {
    fn object(&self) -> ObjectId {
        self.space.root().object
    }

    fn look_at(&self, noted: Noted, done: &mut Cleaned) -> Result<()> {
        let Some(page) = write_if_in_file(self.storage, noted.page)? else {
            return Ok(());
        };
        let view = page.view();
        let kind = view.kind().filter(|_| view.object() == self.object());
        match kind {
            Some(PageKind::Heap) => self.look_at_heap_page(page, done),
            Some(PageKind::TreeLeaf) => self.look_at_leaf(page, done),
            // Handed out by nobody since the object was opened, and not in use: free.
            _ if noted.is_from_lists && !kind.is_some_and(PageKind::has_rows) => {
                drop(page);
                self.freed(noted.page, done)
            }
            _ => Ok(()),
        }
    }

    fn look_at_heap_page(&self, mut page: PageWrite<'_>, done: &mut Cleaned) -> Result<()> {
        let (id, view) = (page.id(), page.view());
        if !self.horizon.frees_ghosts_of(view) {
            self.space.note_shrunk(id, view.reclaim_lsn());
            return Ok(());
        }
        if !has_rows(view) && self.horizon.keeps_empty(view) {
            self.space.note_shrunk(id, view.lsn());
            return Ok(());
        }
        if !has_rows(view) && !self.space.growing_pages().contains(&id) {
            self.space.count_given_up();
            self.change(&mut page, free_page(self.object()))?;
            drop(page);
            return self.freed(id, done);
        }
        let has_ghosts = view.ghost_count() > 0;
        if has_ghosts {
            self.change(&mut page, PageOperation::PurgeGhosts)?;
        }
        let has_room = page.view().usable_free(self.storage.oldest_active.load()) > HOLE_BYTES_MIN;
        drop(page);
        done.pages_with_room += usize::from(has_ghosts || has_room);
        if has_room {
            self.space.note_hole(id);
            return Ok(());
        }
        self.space.look_away(self.storage, id)
    }

    fn look_at_leaf(&self, mut page: PageWrite<'_>, done: &mut Cleaned) -> Result<()> {
        let (id, view) = (page.id(), page.view());
        if !self.horizon.frees_ghosts_of(view) {
            self.space.note_shrunk(id, view.reclaim_lsn());
            return Ok(());
        }
        if !has_rows(view) && self.horizon.keeps_empty(view) {
            self.space.note_shrunk(id, view.lsn());
            return Ok(());
        }
        if !has_rows(view) {
            let emptied = super::tree::Emptied::of(self.storage, view, id)?;
            drop(page);
            return match super::tree::unlink(self.storage, self.space, &emptied, self.horizon)? {
                Unlinked::Done(pages) => pages.into_iter().try_for_each(|page| self.freed(page, done)),
                Unlinked::TheOnlyLeaf => self.purge_leaf(id),
                Unlinked::NotNow => {
                    self.space.note_shrunk(id, self.storage.log.end());
                    Ok(())
                }
            };
        }
        if view.ghost_count() > 0 {
            self.change(&mut page, PageOperation::PurgeGhosts)?;
            done.pages_with_room += 1;
        }
        drop(page);
        self.space.look_away(self.storage, id)
    }

    /// Removes the ghosts of the last leaf of a tree, which stays.
    fn purge_leaf(&self, id: PageId) -> Result<()> {
        let mut page = write(self.storage, id)?;
        let view = page.view();
        let is_leaf = view.kind() == Some(PageKind::TreeLeaf) && view.object() == self.object();
        if is_leaf && view.ghost_count() > 0 && self.horizon.frees_ghosts_of(view) {
            self.change(&mut page, PageOperation::PurgeGhosts)?;
        }
        drop(page);
        self.space.look_away(self.storage, id)
    }

    fn freed(&self, page: PageId, done: &mut Cleaned) -> Result<()> {
        done.pages_freed += 1;
        done.extents_freed += usize::from(self.space.free_page(self.storage, self.map, page)?);
        Ok(())
    }

    fn change(&self, page: &mut PageWrite<'_>, operation: PageOperation<'_>) -> Result<Lsn> {
        let mut planned = [Planned { page, operation }];
        let subject = Subject::structure(self.object());
        log_and_apply(self.storage, Author::System, subject, &mut planned)
    }
}

/// Whether a page has rows that are not deleted.
fn has_rows(page: PageRef<'_>) -> bool {
    page.rows().any(|(_, row)| !is_ghost(row))
}

/// Makes a page one that is in no structure.
pub(super) fn free_page(object: ObjectId) -> PageOperation<'static> {
    PageOperation::Format {
        kind: PageKind::Free,
        level: 0,
        object,
        next: PageId::NONE,
        previous: PageId::NONE,
    }
}
