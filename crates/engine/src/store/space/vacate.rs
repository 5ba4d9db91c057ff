//! Empties an extent so that its file can shrink: the contents of its pages move toward the start of the file, or to another file.
//!
//! ```text
//! extent of an object   its pages move one by one: pages of trees by `tree::relocate`, rows of heaps by the caller, who knows their indexes
//! all pages free        the extent is given back
//! it begins with a list its list page is copied to another extent, which takes its place in the chain of lists
//! with the first list   the catalog names it, and the root of a tree is beside it: both are copied, then the catalog changes
//! ```
//! While an extent is being emptied, its object allocates its pages last. Its pages that were never allocated become free pages, and the
//! lists name all of them as candidates. So after a crash the next open finds everything.
//!
//! A copied list page that is not linked yet, or not linked any more, is in an extent without an owner. After a crash
//! [`SpaceMap::reconcile`] frees it.

use super::object::{ObjectSpace, Pin};
use super::{
    AT_NEXT, AT_OWN_LOOKS, AT_PREVIOUS, Allocation, EXTENT_PAGES, EntryPlace, ExtentId, ObjectRoot, SpaceMap,
    entry_offset, extents_of, map_change, set_map_byte,
};
use crate::buffer::DatabaseStorage;
use crate::cancel;
use crate::error::{Error, Result};
use crate::page::{HEADER_BYTES, ObjectId, PAGE_BYTES, PageId, PageKind, PageOperation};
use crate::store::StoreContext;
use crate::store::change::{Author, Planned, Subject, fresh, log_and_apply, read, write};
use std::collections::HashMap;
use std::sync::Arc;

/// The pages of an extent behind its list, a bit each.
const ALL_BUT_THE_LIST: u8 = 0xFE;

/// Where pages that move may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Nearer to the begin of the file: DBCC SHRINKFILE to a size.
    Before(ExtentId),
    /// To another file of its filegroup: EMPTYFILE. Other extents of an object whose extent moves are in the filegroup, too.
    OutOf { file: u16, filegroup: u16 },
}

impl Goal {
    /// Whether an extent is one of those.
    pub(in crate::store) fn allows(self, extent: ExtentId) -> bool {
        match self {
            Goal::Before(end) => extent.file == end.file && extent.extent < end.extent,
            Goal::OutOf { file, .. } => extent.file != file,
        }
    }
}

/// What an extent holds of its object beside pages for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// The extent starts with pages for rows.
    Rows,
    /// A list page that another leads to.
    List,
    /// The first list page, which the catalog names, and in a tree the root.
    FirstList,
}

/// An extent that is being emptied, until it is dropped.
pub struct Vacating {
    space: Arc<ObjectSpace>,
    pub extent: ExtentId,
    place: usize,
}

impl Drop for Vacating {
    fn drop(&mut self) {
        self.space.avoid(None);
    }
}

impl Vacating {
    /// The pages for rows that are not free.
    pub fn pages_in_use(&self) -> Vec<PageId> {
        self.space.pages_in_use(self.place)
    }

    /// What it begins with.
    pub fn begin(&self) -> Begin {
        match self.space.first_page(self.place) {
            0 => Begin::Rows,
            _ if self.place == 0 => Begin::FirstList,
            _ => Begin::List,
        }
    }

    /// From now on rows go to another page than this one of the heap.
    pub fn leave_page(&self, page: PageId) {
        self.space.stop_growing(page);
    }

    /// Takes a free page of the object where `goal` allows, or one of a fresh extent; `None` when there is none. The page must be formatted
    /// next, or put back.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn take_page(&self, ctx: &mut StoreContext<'_>, goal: Goal) -> Result<Option<PageId>> {
        self.space.take_page_elsewhere(ctx, goal)
    }

    /// As [`Vacating::take_page`], formatted as an empty page of a heap.
    ///
    /// # Errors
    /// As for [`Vacating::take_page`].
    pub fn take_heap_page(&self, ctx: &mut StoreContext<'_>, goal: Goal) -> Result<Option<PageId>> {
        let Some(id) = self.take_page(ctx, goal)? else {
            return Ok(None);
        };
        self.space.format_heap_page(ctx, id).map(|()| Some(id))
    }

    /// Moves a page of a tree to a page that was taken. False, and the page that was taken is free again, when it is in use by an open
    /// transaction, or is not to be found in the tree at this moment.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn move_tree_page(&self, storage: &DatabaseStorage, map: &SpaceMap, from: PageId, to: PageId) -> Result<bool> {
        let (Some(_moves), Some(_upkeep)) = (map.may_move(), self.space.begin_upkeep()) else {
            self.space.put_back(to);
            return Ok(false);
        };
        match crate::store::tree::relocate(storage, &self.space, from, to) {
            Ok(Some(since)) => {
                self.space.note_moved(to, since);
                self.space.free_page(storage, map, from).map(|_| true)
            }
            unmoved => {
                self.space.put_back(to);
                unmoved.map(|_| false)
            }
        }
    }

    /// Gives the extent back if all of its pages are free and it begins with no list. True when it is not the object's any more.
    ///
    /// # Errors
    /// 9002 when the log is full.
    pub fn give_back(&self, storage: &DatabaseStorage, map: &SpaceMap) -> Result<bool> {
        self.space.give_back_if_empty(storage, map, self.place, self.extent)
    }

    /// The page of a tree's root, if it lies in the extent.
    pub fn root_page(&self) -> Option<PageId> {
        (self.place == 0).then(|| self.extent.page(1))
    }

    /// Copies the list with which the object begins, and the root page of a tree, to another extent, which becomes the object's first one.
    /// The caller holds the table for himself, has the catalog name the extent, and settles that. `None` when other pages of the extent
    /// are in use, or no extent is free where `goal` allows.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn move_first_extent(&self, ctx: &mut StoreContext<'_>, goal: Goal) -> Result<Option<FirstExtent>> {
        let (storage, object) = (ctx.storage, self.space.root().object);
        // Changes of a tree of one leaf name its root, from where their rows are found (`store::visit`).
        if !storage.marked.is_empty() {
            return Ok(None);
        }
        let pages_stay = self.space.pin();
        let free = self.space.extents.read().free_pages(0);
        let has_root = match free {
            0xFE => false,
            0xFC => true,
            _ => return Ok(None),
        };
        let Some(now) = ctx.space.copy_list(ctx, (self.extent, free), goal)? else {
            return Ok(None);
        };
        if has_root && let Err(error) = copy_page(storage, object, self.extent.page(1), now.page(1)) {
            return ctx.space.free_list(storage, object, now).and(Err(error));
        }
        self.space.begin_in(now, free);
        Ok(Some(FirstExtent {
            space: self.space.clone(),
            _pages_stay: pages_stay,
            former: self.extent,
            now,
            free,
        }))
    }

    /// Moves the list page that the extent begins with, if all of its other pages are free, and frees the extent. False when one is not,
    /// or no extent is free where `goal` allows.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn move_list(&self, ctx: &mut StoreContext<'_>, goal: Goal) -> Result<bool> {
        self.space.move_list(ctx, (self.place, self.extent), goal)
    }
}

/// The first extent of an object has become another one, of which the catalog is to learn.
pub struct FirstExtent {
    space: Arc<ObjectSpace>,
    _pages_stay: Pin,
    former: ExtentId,
    now: ExtentId,
    free: u8,
}

impl FirstExtent {
    /// The object as the catalog is to name it.
    pub fn root(&self) -> ObjectRoot {
        self.space.root()
    }

    /// The catalog names the new extent, or, with false, does not after all. The one that it does not name is freed.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages. What is not freed then stays for the next start.
    pub fn settle(self, storage: &DatabaseStorage, map: &SpaceMap, is_named: bool) -> Result<()> {
        let object = self.root().object;
        if !is_named {
            self.space.begin_in(self.former, self.free);
            return map.free_list(storage, object, self.now);
        }
        let list = self.now.page(0);
        let next = read(storage, list)?.view().next();
        if !next.is_none() {
            map.link_lists(storage, object, (AT_PREVIOUS, next), list)?;
        }
        map.free_list(storage, object, self.former)
    }
}

/// Makes a page what another one of the object is.
fn copy_page(storage: &DatabaseStorage, object: ObjectId, from: PageId, to: PageId) -> Result<()> {
    let mut image = Vec::with_capacity(PAGE_BYTES);
    read(storage, from)?.view().image_into(&mut image);
    let mut page = fresh(storage, to)?;
    let mut planned = [Planned {
        page: &mut page,
        operation: PageOperation::Image { bytes: &image },
    }];
    log_and_apply(storage, Author::System, Subject::structure(object), &mut planned).map(drop)
}

impl SpaceMap {
    /// The objects among `roots` that own extents of a file from `first` on, by extent.
    ///
    /// # Errors
    /// 823 and 824 when a list cannot be read; 3617 when the request is to stop.
    pub fn owners_from(
        &self,
        storage: &DatabaseStorage,
        roots: &[ObjectRoot],
        (file, first): (u16, u32),
    ) -> Result<HashMap<u32, ObjectRoot>> {
        let mut owners = HashMap::new();
        for &root in roots {
            cancel::look()?;
            let extents = extents_of(storage, root)?.extents.into_iter();
            let found = extents.filter(|extent| extent.file == file && extent.extent >= first);
            owners.extend(found.map(|extent| (extent.extent, root)));
        }
        Ok(owners)
    }

    /// Begins to empty an extent of an object; `None` when it is not the object's any more.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn begin_vacating(
        &self,
        storage: &DatabaseStorage,
        root: ObjectRoot,
        extent: ExtentId,
    ) -> Result<Option<Vacating>> {
        let space = self.open_object(storage, root)?;
        let place = space.begin_vacating(storage, extent)?;
        Ok(place.map(|place| Vacating { space, extent, place }))
    }

    /// Looks at a page whose rows were deleted, as the background does, if nobody can want them back.
    ///
    /// # Errors
    /// 9002 when the log is full, 823 and 824 for pages.
    pub fn clean_page(&self, storage: &DatabaseStorage, root: ObjectRoot, page: PageId) -> Result<()> {
        let space = self.open_object(storage, root)?;
        crate::store::ghosts::clean_page(self, storage, &space, page)
    }

    /// The first free extent where `goal` allows, with a formatted space map. What leaves a file may have the others grow.
    fn find_extent_for(
        &self,
        ctx: &mut StoreContext<'_>,
        allocation: &mut Allocation,
        goal: Goal,
    ) -> Result<Option<ExtentId>> {
        let storage = ctx.storage;
        allocation.meet_files(storage);
        let found = match (allocation.find_free_where(storage, goal), goal) {
            (None, Goal::OutOf { filegroup, .. }) if allocation.grow_another(storage, filegroup)? => {
                allocation.find_free_where(storage, goal)
            }
            (found, _) => found,
        };
        let Some(extent) = found else { return Ok(None) };
        self.format_map(storage, ctx.chain, extent).map(|()| Some(extent))
    }

    /// Allocates an extent where `goal` allows and enters it in an object's lists; `None` when none is free.
    pub(super) fn allocate_for(
        &self,
        ctx: &mut StoreContext<'_>,
        object: ObjectId,
        place: EntryPlace,
        goal: Goal,
    ) -> Result<Option<ExtentId>> {
        let mut allocation = self.allocation.lock();
        let Some(extent) = self.find_extent_for(ctx, &mut allocation, goal)? else {
            return Ok(None);
        };
        self.enter_extent(ctx.storage, ctx.chain, &mut allocation, (object, place), extent)?;
        Ok(Some(extent))
    }

    /// Copies the list page of an extent into a free extent where `goal` allows; `None` when there is none. Nothing leads to it, and the
    /// pages `looks` of the copy's extent are to be looked at.
    pub(super) fn copy_list(
        &self,
        ctx: &mut StoreContext<'_>,
        (former, looks): (ExtentId, u8),
        goal: Goal,
    ) -> Result<Option<ExtentId>> {
        let storage = ctx.storage;
        let (head, entries) = {
            let list = read(storage, former.page(0))?;
            let view = list.view();
            let head = (view.level(), view.object(), view.next(), view.previous());
            let used = view
                .bytes()
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |last| last + 1);
            let mut entries = view.bytes()[HEADER_BYTES..used.max(HEADER_BYTES + AT_OWN_LOOKS + 1)].to_vec();
            entries[AT_OWN_LOOKS] = looks;
            (head, entries)
        };
        let mut allocation = self.allocation.lock();
        let Some(extent) = self.find_extent_for(ctx, &mut allocation, goal)? else {
            return Ok(None);
        };
        let (level, object, next, previous) = head;
        let mut list = fresh(storage, extent.page(0))?;
        let mut map = write(storage, extent.map_bit().0)?;
        let (bytes, offset) = map_change(&map, extent, true);
        let format = PageOperation::Format {
            kind: PageKind::ExtentList,
            level,
            object,
            next,
            previous,
        };
        let mut planned = [
            Planned {
                page: &mut list,
                operation: format,
            },
            Planned {
                page: &mut map,
                operation: set_map_byte(offset, &bytes),
            },
        ];
        log_and_apply(storage, Author::System, Subject::structure(object), &mut planned)?;
        allocation.mark(extent, true);
        drop(map);
        let mut planned = [Planned {
            page: &mut list,
            operation: PageOperation::SetBytes {
                offset: entry_offset(0),
                before: &[],
                after: &entries,
            },
        }];
        let copied = log_and_apply(storage, Author::System, Subject::structure(object), &mut planned);
        drop(list);
        drop(allocation);
        match copied {
            Ok(_) => Ok(Some(extent)),
            Err(error) => self.free_extents(storage, object, &[extent]).and(Err(error)),
        }
    }

    /// Frees an extent that only held a list page to which nothing leads.
    pub(super) fn free_list(&self, storage: &DatabaseStorage, object: ObjectId, extent: ExtentId) -> Result<()> {
        self.free_extents(storage, object, &[extent])
    }

    /// Has a list page link to another one.
    pub(super) fn link_lists(
        &self,
        storage: &DatabaseStorage,
        object: ObjectId,
        (offset, list): (u16, PageId),
        to: PageId,
    ) -> Result<()> {
        let link = to.to_bytes();
        let mut page = write(storage, list)?;
        let mut planned = [Planned {
            page: &mut page,
            operation: PageOperation::SetBytes {
                offset,
                before: &[],
                after: &link,
            },
        }];
        log_and_apply(storage, Author::System, Subject::structure(object), &mut planned).map(drop)
    }
}

impl ObjectSpace {
    /// Closes the extent to be emptied: it has no pages that were never handed out, its free ones are handed out last, and the lists have
    /// all of them among those to look at. Answers its place.
    fn begin_vacating(&self, storage: &DatabaseStorage, extent: ExtentId) -> Result<Option<usize>> {
        let mut extents = self.extents.write();
        let Some(place) = extents.place_of(extent.page(0)) else {
            return Ok(None);
        };
        self.close_up_to(storage, &mut extents, place)?;
        for page in extents.first_page(place)..EXTENT_PAGES {
            self.look_at_in(storage, &mut extents, extent.page(page))?;
        }
        extents.set_avoided(Some(extent));
        drop(extents);
        (0..EXTENT_PAGES).for_each(|page| self.stop_growing(extent.page(page)));
        Ok(Some(place))
    }

    /// Moves the frontier behind an extent. What was not handed out before it is entered among the pages to look at first.
    fn close_up_to(
        &self,
        storage: &DatabaseStorage,
        extents: &mut super::extents::Extents,
        place: usize,
    ) -> Result<()> {
        for page in extents.new_pages_up_to(place) {
            self.look_at_in(storage, extents, page)?;
        }
        extents.close(place);
        Ok(())
    }

    fn avoid(&self, extent: Option<ExtentId>) {
        self.extents.write().set_avoided(extent);
    }

    fn pages_in_use(&self, place: usize) -> Vec<PageId> {
        self.extents.read().pages_in_use(place)
    }

    /// A page that was taken and not used is free again.
    fn put_back(&self, page: PageId) {
        let mut extents = self.extents.write();
        if let Some(place) = extents.place_of(page) {
            extents.set_free(place, page);
        }
    }

    fn take_page_elsewhere(&self, ctx: &mut StoreContext<'_>, goal: Goal) -> Result<Option<PageId>> {
        let (storage, space) = (ctx.storage, ctx.space);
        let object = self.root().object;
        let mut extents = self.extents.write();
        if let Some(free) = extents.take_free_in(|extent| goal.allows(extent)) {
            return Ok(Some(free));
        }
        if let Some((place, entry)) = extents.unused_entry() {
            let Some(extent) = space.allocate_for(ctx, object, entry, goal)? else {
                return Ok(None);
            };
            extents.refill(place, extent);
        } else {
            // An extent behind the frontier must not be used before the pages that lie between.
            let last = extents.len().saturating_sub(1);
            self.close_up_to(storage, &mut extents, last)?;
            let entry = extents.next_entry();
            let entry = entry.ok_or_else(|| Error::assertion("an object has no extent list"))?;
            let Some(extent) = space.allocate_for(ctx, object, entry, goal)? else {
                return Ok(None);
            };
            extents.push(extent, matches!(entry, EntryPlace::NewList { .. }));
            let last = extents.len().saturating_sub(1);
            self.close_up_to(storage, &mut extents, last)?;
        }
        Ok(extents.take_free_in(|extent| goal.allows(extent)))
    }

    fn give_back_if_empty(
        &self,
        storage: &DatabaseStorage,
        space: &SpaceMap,
        place: usize,
        extent: ExtentId,
    ) -> Result<bool> {
        let Some(_upkeep) = self.begin_upkeep() else {
            return Ok(false);
        };
        let mut extents = self.extents.write();
        if extents.get(place) != Some(extent) {
            return Ok(true);
        }
        if extents.starts_with_list(place) || !extents.is_empty(place) {
            return Ok(false);
        }
        let Some(entry) = extents.entry_of(place) else {
            return Ok(false);
        };
        space.give_back(storage, self.root().object, extent, entry)?;
        extents.drop_extent(place);
        Ok(true)
    }

    fn move_list(&self, ctx: &mut StoreContext<'_>, (place, former): (usize, ExtentId), goal: Goal) -> Result<bool> {
        let (storage, space, object) = (ctx.storage, ctx.space, self.root().object);
        let (Some(_moves), Some(_upkeep)) = (space.may_move(), self.begin_upkeep()) else {
            return Ok(false);
        };
        let mut extents = self.extents.write();
        let (Some(before), behind) = extents.lists_beside(place) else {
            return Ok(false);
        };
        if extents.get(place) != Some(former) || !extents.is_empty(place) {
            return Ok(false);
        }
        let Some(extent) = space.copy_list(ctx, (former, ALL_BUT_THE_LIST), goal)? else {
            return Ok(false);
        };
        let linked = space.link_lists(storage, object, (AT_NEXT, before), extent.page(0));
        if let Err(error) = linked {
            return space.free_list(storage, object, extent).and(Err(error));
        }
        extents.replace_list(place, extent, ALL_BUT_THE_LIST);
        if let Some(behind) = behind {
            space.link_lists(storage, object, (AT_PREVIOUS, behind), extent.page(0))?;
        }
        space.free_list(storage, object, former).map(|()| true)
    }
}
