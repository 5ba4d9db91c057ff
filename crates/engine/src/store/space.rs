//! Space maps: which extents of a data file are free, and which belong to which object.
//!
//! ```text
//! data file | 0 header | 1 | 2 space map | 3..8 | 9, 10 boot | 11..16 | extent 2 | extent 3 | ...     8 pages per extent
//!           | 512,000 + 0 .. 2 space map ..                                                          next interval
//!
//! space map (GAM)    header | one bit per extent of its interval of 64,000 extents: 1 = in use       8,000 bytes
//! extent list (IAM)  header (next: the object's next extent list) | entries: u32 extent, u16 file, u8 pages to look at, u8
//! ```
//! *Pages to look at*, in the lists of heaps and trees: a bit for each page of the extent that is free, or on which a row was deleted
//! (`store::ghosts`). In SQL Server, PFS pages have this information. The last byte of a list's first entry has these bits for the list's
//! own extent, and is zero in all other entries. An entry of all ones stands for an extent that was returned; the entry is reused. SQL
//! Server's GAM covers about 64,000 extents (4 GB) too (SQL Server docs, "Pages and extents architecture guide"); its IAM pages are
//! bitmaps, ours are lists in the order of allocation, so that a heap is scanned in the order it was filled.
//!
//! Large values have separate units in addition to that of a heap or clustered tree (`store::large`). In the first list of a unit, the link
//! to the previous list leads to the first list of the next such unit. The level of a first list gives the contents of its unit (0 rows, 2
//! LOB_DATA, 3 ROW_OVERFLOW_DATA). In the lists of such units, the last two bytes of an entry show which pages of the extent are in use
//! (one bit each, low byte) and which of them a transaction has freed (high byte). An extent without pages in use is returned too.
//!
//! * Each extent list page is the first page of an extent that the object owns through that list; an entry of zero ends a list.
//! * An object owns whole extents. Extents 0 and 1 of a file, and the extent of every later space map, have no owner.
//! * All extents of an object are in files of one filegroup: that of its first list page. Units of large values have one of their own.
//!   The database's entry in master lists its filegroups, and so does a backup set; PRIMARY's has the highest number that one has had
//!   (`highest_id`), which no other gets.
//! * Allocating an extent is one change of list and map together, without undo: if the transaction rolls back, the object keeps the extent.
//!   An object returns an extent in one change of both as well, outside any transaction, once all its pages are free. When the object is
//!   dropped, all its extents are freed, in changes outside any transaction. A crash in between leaves extents without an owner, which
//!   [`SpaceMap::reconcile`] finds.
//! * Pages of an object are used in the order of its extents; the first page that was never formatted is the object's frontier. After it
//!   all pages are new. Before it, free pages are reused for rows that need not come after all others.
//! * The last free extents of files that may not grow are a *reserve* ([`Claim`]): statements that free space need some space first, and
//!   must not fail because a file is full.

use super::change::{Author, Planned, Subject, damaged, foreign, fresh, log_and_apply, read, write};
use super::large::{LargeUnits, units_beside};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::log::TransactionChain;
use crate::page::{HEADER_BYTES, INTERVAL_EXTENTS, ObjectId, PAGE_BYTES, PageId, PageKind, PageOperation};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod allocation;
mod extents;
pub(super) mod object;
mod queue;
mod shrink;
mod vacate;

use allocation::{Allocation, Wanted, full, read_file_map};
pub(super) use object::{ObjectSpace, Position};
pub use object::{Pin, SpaceUsage};
pub(super) use queue::Noted;
pub use vacate::{Begin, FirstExtent, Goal, Vacating};

pub use crate::page::EXTENT_PAGES;
/// Place of the space map in its interval.
const MAP_PAGE: u32 = 2;
/// Extents at the start of each file that belong to nobody.
const RESERVED_EXTENTS: u32 = 2;
/// Free extents kept for statements that free space, unless a table opened has more heaps and trees.
const RESERVE_EXTENTS_MIN: u32 = 8;
/// Bytes of an entry of an extent list.
const ENTRY_BYTES: usize = 8;
/// Entries an extent list page holds.
pub(super) const LIST_ENTRIES: usize = (PAGE_BYTES - HEADER_BYTES) / ENTRY_BYTES;
/// Offset in an entry of the pages to look at.
const AT_LOOKS: usize = 6;
/// Offset in a list's first entry of the pages to look at in the list's own extent.
const AT_OWN_LOOKS: usize = 7;
/// Extent and file of an entry whose extent was given back.
const GIVEN_BACK: [u8; AT_LOOKS] = [0xFF; AT_LOOKS];
/// Offset of the link to the next page in every page's header.
const AT_NEXT: u16 = 36;
/// Offset of the link to the page before.
const AT_PREVIOUS: u16 = 42;

/// Whether a page is one of those that say which extents of a file are in use.
pub fn is_space_map(page: PageId) -> bool {
    page.page % (INTERVAL_EXTENTS * EXTENT_PAGES) == MAP_PAGE
}

/// The page that says whether the extent of a page is in use.
pub fn space_map_of(page: PageId) -> PageId {
    let (map, ..) = ExtentId::of(page).map_bit();
    map
}

/// What an extent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Rows to be kept: the reserve is not for them.
    Rows,
    /// What must go on in a full file: TRUNCATE TABLE, and the catalog.
    Reserve,
}

/// Where a new object goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// What its first extent is for.
    pub claim: Claim,
    /// The filegroup that all of its extents are in.
    pub filegroup: u16,
}

impl Room {
    /// Room for rows in PRIMARY.
    pub const PRIMARY: Room = Room {
        claim: Claim::Rows,
        filegroup: crate::buffer::PRIMARY_FILEGROUP,
    };
}

/// Where the entry of a new extent goes.
#[derive(Debug, Clone, Copy)]
enum EntryPlace {
    /// The entry of a list page, and which pages of the extent are to be looked at after a restart.
    Entry { list: PageId, index: usize, looks: u8 },
    /// None: the extent begins with a list page of its own, behind this one.
    NewList { after: PageId },
}

/// An extent: eight pages of a file that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentId {
    pub file: u16,
    /// Number of the extent in the file, from 0.
    pub extent: u32,
}

impl ExtentId {
    /// A page of the extent.
    pub fn page(self, index: u32) -> PageId {
        PageId::new(self.file, self.extent * EXTENT_PAGES + index)
    }

    /// The extent a page lies in.
    pub fn of(page: PageId) -> ExtentId {
        ExtentId {
            file: page.file,
            extent: page.page / EXTENT_PAGES,
        }
    }

    /// The space map that covers the extent, and the byte and bit of it that stand for it.
    pub(super) fn map_bit(self) -> (PageId, usize, u8) {
        let (interval, index) = (self.extent / INTERVAL_EXTENTS, self.extent % INTERVAL_EXTENTS);
        let map = PageId::new(self.file, interval * INTERVAL_EXTENTS * EXTENT_PAGES + MAP_PAGE);
        (map, HEADER_BYTES + index as usize / 8, 1 << (index % 8))
    }

    /// True for extents that no object may own.
    pub(super) fn is_reserved(self) -> bool {
        self.extent < RESERVED_EXTENTS || self.extent.is_multiple_of(INTERVAL_EXTENTS)
    }

    /// Its entry, without the last byte, which is not its own.
    fn to_entry(self, looks: u8) -> [u8; AT_OWN_LOOKS] {
        let mut entry = [0; AT_OWN_LOOKS];
        entry[..4].copy_from_slice(&self.extent.to_le_bytes());
        entry[4..6].copy_from_slice(&self.file.to_le_bytes());
        entry[AT_LOOKS] = looks;
        entry
    }

    /// The extent of an entry, as [`ExtentId::if_kept`].
    pub(super) fn from_entry(entry: &[u8]) -> Option<Option<ExtentId>> {
        ExtentId::if_kept(entry.first_chunk()?)
    }

    /// The extent of an entry, `Some(None)` for one given back, and `None` at the end of the list.
    fn if_kept(entry: &[u8; ENTRY_BYTES]) -> Option<Option<ExtentId>> {
        let [a, b, c, d, e, f, ..] = *entry;
        let extent = u32::from_le_bytes([a, b, c, d]);
        let file = u16::from_le_bytes([e, f]);
        if [a, b, c, d, e, f] == GIVEN_BACK {
            return Some(None);
        }
        (extent != 0).then_some(Some(ExtentId { file, extent }))
    }
}

/// Consecutive pages of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    pub first: PageId,
    /// How many there are.
    pub page_count: u32,
}

/// Where a heap or tree begins: all that a catalog has to remember of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectRoot {
    pub object: ObjectId,
    /// Its first extent list page.
    pub first_iam: PageId,
}

/// The space of one database: a copy in memory of its space maps, and the insert state of its open objects.
pub struct SpaceMap {
    allocation: Mutex<Allocation>,
    objects: Mutex<HashMap<ObjectId, Arc<ObjectSpace>, RandomState>>,
    /// The units of large values that are open.
    pub large: LargeUnits,
    reserve_extents: AtomicU32,
    /// How many want pages to stay what they are; held while one is given up.
    kept_still: Mutex<u32>,
}

/// Keeps every page of the database what it is until dropped: none is given up meanwhile.
pub struct Still<'m> {
    map: &'m SpaceMap,
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        *self.map.kept_still.lock() -= 1;
    }
}

impl SpaceMap {
    /// Reads the space maps of every data file. A database just created has none yet: its maps appear as they are needed.
    ///
    /// # Errors
    /// 823 and 824 when a map cannot be read.
    pub fn open(storage: &DatabaseStorage) -> Result<SpaceMap> {
        let map = SpaceMap {
            allocation: Mutex::new(Allocation::of(Vec::new())),
            objects: Mutex::default(),
            large: LargeUnits::default(),
            reserve_extents: AtomicU32::new(RESERVE_EXTENTS_MIN),
            kept_still: Mutex::new(0),
        };
        map.reload(storage)?;
        Ok(map)
    }

    /// Reads the space maps again and forgets every object's state: after recovery or restore changed pages below.
    ///
    /// # Errors
    /// 823 and 824 when a map cannot be read.
    pub fn reload(&self, storage: &DatabaseStorage) -> Result<()> {
        let files = storage.files.file_ids();
        let files = files.into_iter().map(|file| read_file_map(storage, file));
        let files = files.collect::<Result<Vec<_>>>()?;
        let mut allocation = self.allocation.lock();
        *allocation = Allocation::of(files);
        // Who keeps a unit of large values up holds it while it waits for the allocation.
        drop(allocation);
        self.objects.lock().clear();
        self.large.forget_all();
        Ok(())
    }

    /// The pages of the extents of a file that are in use, and of those that belong to nobody but are not free either, in runs
    /// of at most `run_pages` pages. For backups; a differential one wants only those that changed, by their first pages.
    pub fn runs_in_use(
        &self,
        file: u16,
        page_count: u32,
        run_pages: u32,
        is_wanted: &dyn Fn(PageId) -> bool,
    ) -> Vec<PageRun> {
        let allocation = self.allocation.lock();
        let map = allocation.files.iter().find(|map| map.file == file);
        let mut runs: Vec<PageRun> = Vec::new();
        for extent in 0..page_count.div_ceil(EXTENT_PAGES) {
            let id = ExtentId { file, extent };
            let is_in_use = id.is_reserved() || map.is_some_and(|map| map.is_used(extent));
            if !is_in_use || !is_wanted(id.page(0)) {
                continue;
            }
            let first = id.page(0);
            let pages = EXTENT_PAGES.min(page_count - first.page);
            match runs.last_mut() {
                Some(run) if run.first.page + run.page_count == first.page && run.page_count + pages <= run_pages => {
                    run.page_count += pages;
                }
                _ => runs.push(PageRun {
                    first,
                    page_count: pages,
                }),
            }
        }
        runs
    }

    /// True for a page of an extent that an object owns, or that no object may own.
    pub fn is_in_use(&self, page: PageId) -> bool {
        let id = ExtentId::of(page);
        let allocation = self.allocation.lock();
        let map = allocation.files.iter().find(|map| map.file == id.file);
        id.is_reserved() || map.is_some_and(|map| map.is_used(id.extent))
    }

    /// Allocates a new object's first extent, whose first page becomes its extent list. The object stays in the extent's filegroup.
    pub(super) fn create_object(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        (object, room): (ObjectId, Room),
    ) -> Result<ObjectRoot> {
        storage.row_counts.set(object, 0);
        let mut allocation = self.allocation.lock();
        let wanted = Wanted {
            object,
            claim: room.claim,
            filegroup: room.filegroup,
        };
        let extent = self.find_extent(storage, chain, &mut allocation, wanted)?;
        let first_iam = extent.page(0);
        let mut list = fresh(storage, first_iam)?;
        let mut map = write(storage, extent.map_bit().0)?;
        let (operation_bytes, offset) = map_change(&map, extent, true);
        let mut planned = [
            Planned {
                page: &mut list,
                operation: format_list(object, PageId::NONE),
            },
            Planned {
                page: &mut map,
                operation: set_map_byte(offset, &operation_bytes),
            },
        ];
        log_and_apply(
            storage,
            Author::Transaction(chain),
            Subject::structure(object),
            &mut planned,
        )?;
        allocation.mark(extent, true);
        Ok(ObjectRoot { object, first_iam })
    }

    /// Allocates the first extent of a unit of large values in a filegroup and links it to the first list of the unit before it; `level`
    /// says what it holds.
    pub(super) fn create_beside(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        (object, filegroup): (ObjectId, u16),
        level: u8,
        beside: PageId,
    ) -> Result<ObjectRoot> {
        let mut allocation = self.allocation.lock();
        let wanted = Wanted {
            object,
            claim: Claim::Rows,
            filegroup,
        };
        let extent = self.find_extent(storage, chain, &mut allocation, wanted)?;
        let first_iam = extent.page(0);
        let mut before = write(storage, beside)?;
        let mut list = fresh(storage, first_iam)?;
        let mut map = write(storage, extent.map_bit().0)?;
        let (operation_bytes, offset) = map_change(&map, extent, true);
        let link = first_iam.to_bytes();
        let mut planned = [
            Planned {
                page: &mut before,
                operation: PageOperation::SetBytes {
                    offset: AT_PREVIOUS,
                    before: &[],
                    after: &link,
                },
            },
            Planned {
                page: &mut list,
                operation: PageOperation::Format {
                    kind: PageKind::ExtentList,
                    level,
                    object,
                    next: PageId::NONE,
                    previous: PageId::NONE,
                },
            },
            Planned {
                page: &mut map,
                operation: set_map_byte(offset, &operation_bytes),
            },
        ];
        log_and_apply(
            storage,
            Author::Transaction(chain),
            Subject::structure(object),
            &mut planned,
        )?;
        allocation.mark(extent, true);
        Ok(ObjectRoot { object, first_iam })
    }

    /// Allocates an extent for a unit of large values, for the entry `index` of one of its list pages. Returns the extent and, when the list page
    /// was full and the extent begins with a new one, true.
    pub(super) fn allocate_for_large(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        object: ObjectId,
        (list, index): (PageId, usize),
    ) -> Result<(ExtentId, bool)> {
        let is_list = index >= LIST_ENTRIES;
        let place = match is_list {
            true => EntryPlace::NewList { after: list },
            false => EntryPlace::Entry { list, index, looks: 0 },
        };
        let extent = self.allocate_extent(storage, chain, (object, Claim::Rows), place)?;
        Ok((extent, is_list))
    }

    /// Allocates an extent for an object and enters it in its lists.
    fn allocate_extent(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        (object, claim): (ObjectId, Claim),
        place: EntryPlace,
    ) -> Result<ExtentId> {
        let mut allocation = self.allocation.lock();
        let (EntryPlace::Entry { list, .. } | EntryPlace::NewList { after: list }) = place;
        let wanted = Wanted {
            object,
            claim,
            filegroup: storage.files.filegroup_of(list.file),
        };
        let extent = self.find_extent(storage, chain, &mut allocation, wanted)?;
        self.enter_extent(storage, chain, &mut allocation, (object, place), extent)?;
        Ok(extent)
    }

    /// Enters a free extent in an object's lists.
    fn enter_extent(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        allocation: &mut Allocation,
        (object, place): (ObjectId, EntryPlace),
        extent: ExtentId,
    ) -> Result<()> {
        let mut list = match place {
            EntryPlace::Entry { list, .. } | EntryPlace::NewList { after: list } => write(storage, list)?,
        };
        let tail_page = list.id();
        let mut new_list = match place {
            EntryPlace::NewList { .. } => Some(fresh(storage, extent.page(0))?),
            EntryPlace::Entry { .. } => None,
        };
        let mut map = write(storage, extent.map_bit().0)?;
        let (map_bytes, map_offset) = map_change(&map, extent, true);
        let link = extent.page(0).to_bytes();
        let (entry, offset) = match place {
            EntryPlace::Entry { index, looks, .. } => (extent.to_entry(looks), entry_offset(index)),
            EntryPlace::NewList { .. } => (extent.to_entry(0), AT_NEXT),
        };
        let mut planned = Vec::with_capacity(3);
        planned.push(Planned {
            page: &mut list,
            operation: PageOperation::SetBytes {
                offset,
                before: &[],
                after: if new_list.is_some() { &link } else { &entry },
            },
        });
        if let Some(page) = &mut new_list {
            planned.push(Planned {
                page,
                operation: format_list(object, tail_page),
            });
        }
        planned.push(Planned {
            page: &mut map,
            operation: set_map_byte(map_offset, &map_bytes),
        });
        log_and_apply(
            storage,
            Author::Transaction(chain),
            Subject::structure(object),
            &mut planned,
        )?;
        allocation.mark(extent, true);
        Ok(())
    }

    /// Gives back an extent whose pages are all free: its entry stands for none from then on. Belongs to no transaction.
    pub(super) fn give_back(
        &self,
        storage: &DatabaseStorage,
        object: ObjectId,
        extent: ExtentId,
        (list, index): (PageId, usize),
    ) -> Result<()> {
        let mut allocation = self.allocation.lock();
        let mut list = write(storage, list)?;
        if list.view().kind() != Some(PageKind::ExtentList) || list.view().object() != object {
            return Err(foreign(storage, list.id(), list.view(), object, "an extent list"));
        }
        let mut map = write(storage, extent.map_bit().0)?;
        let (map_bytes, map_offset) = map_change(&map, extent, false);
        let mut planned = [
            Planned {
                page: &mut list,
                operation: PageOperation::SetBytes {
                    offset: entry_offset(index),
                    before: &[],
                    after: &GIVEN_BACK,
                },
            },
            Planned {
                page: &mut map,
                operation: set_map_byte(map_offset, &map_bytes),
            },
        ];
        log_and_apply(storage, Author::System, Subject::structure(object), &mut planned)?;
        allocation.mark(extent, false);
        Ok(())
    }

    /// Keeps room for so many heaps and trees, which TRUNCATE TABLE makes anew before it frees those they replace.
    pub fn keep_reserve_for(&self, storages: usize) {
        let wanted = u32::try_from(storages).unwrap_or(u32::MAX);
        if wanted > self.reserve_extents.load(Ordering::Relaxed) {
            self.reserve_extents.fetch_max(wanted, Ordering::Relaxed);
        }
    }

    /// Keeps every page what it is until the answer is dropped: for checks, which walk along links.
    pub fn keep_still(&self) -> Still<'_> {
        *self.kept_still.lock() += 1;
        Still { map: self }
    }

    /// Lets a page be given up, unless they are kept still: that does not begin while the answer is held.
    pub(super) fn may_move(&self) -> Option<parking_lot::MutexGuard<'_, u32>> {
        let kept = self.kept_still.lock();
        (*kept == 0).then_some(kept)
    }

    /// The objects that are open, by their numbers.
    pub(super) fn open_objects(&self) -> Vec<Arc<ObjectSpace>> {
        let objects = self.objects.lock();
        let mut open: Vec<_> = objects.values().cloned().collect();
        drop(objects);
        open.sort_unstable_by_key(|space| space.root().object);
        open
    }

    /// A free extent whose space map is formatted. Grows a file of the filegroup when none is free.
    fn find_extent(
        &self,
        storage: &DatabaseStorage,
        chain: &mut TransactionChain,
        allocation: &mut Allocation,
        wanted: Wanted,
    ) -> Result<ExtentId> {
        let reserve = match wanted.claim {
            Claim::Rows => self.reserve_extents.load(Ordering::Relaxed),
            Claim::Reserve => 0,
        };
        let filegroup = wanted.filegroup;
        let is_reserved = allocation.has_at_most(storage, (filegroup, reserve))
            && !storage.files.may_grow_in(filegroup, EXTENT_PAGES);
        let found = match is_reserved {
            true => None,
            false => allocation.find_free(storage, filegroup),
        };
        let extent = match found {
            Some(extent) => extent,
            None => {
                if !storage.files.grow_in(filegroup, EXTENT_PAGES)? {
                    return Err(full(storage, wanted));
                }
                let found = allocation.find_free(storage, filegroup);
                found.ok_or_else(|| full(storage, wanted))?
            }
        };
        self.format_map(storage, chain, extent).map(|()| extent)
    }

    /// Formats the space map of an extent, if it is not yet.
    fn format_map(&self, storage: &DatabaseStorage, chain: &mut TransactionChain, extent: ExtentId) -> Result<()> {
        let map = extent.map_bit().0;
        let is_formatted = read(storage, map)?.view().kind() == Some(PageKind::SpaceMap);
        if !is_formatted {
            let mut page = fresh(storage, map)?;
            let operation = PageOperation::Format {
                kind: PageKind::SpaceMap,
                level: 0,
                object: ObjectId(0),
                next: PageId::NONE,
                previous: PageId::NONE,
            };
            let mut planned = [Planned {
                page: &mut page,
                operation,
            }];
            let subject = Subject::structure(ObjectId(0));
            log_and_apply(storage, Author::Transaction(chain), subject, &mut planned)?;
        }
        Ok(())
    }

    /// Frees all extents of an object that is gone: dropped and committed, or created and rolled back, and of the units of large values
    /// beside it. The changes belong to no transaction. Nobody may use the object any more.
    ///
    /// # Errors
    /// 9002 when the log is full: what is not freed then stays for [`SpaceMap::reconcile`].
    pub fn free_object(&self, storage: &DatabaseStorage, root: ObjectRoot) -> Result<()> {
        let open = self.objects.lock().remove(&root.object);
        if let Some(space) = open {
            space.leave();
        }
        storage.row_counts.forget(root.object);
        self.large.forget(root.object);
        let mut extents = extents_of(storage, root)?.extents;
        for (beside, _) in units_beside(storage, root)? {
            extents.extend(extents_of(storage, beside)?.extents);
        }
        extents.sort_unstable();
        self.free_extents(storage, root.object, &extents)
    }

    /// Frees every extent that none of `owned` and of the units of large values beside them owns. To be called after crash recovery, before the database opens; returns how
    /// many extents were freed.
    ///
    /// # Errors
    /// 823 and 824 when a list or map cannot be read.
    pub fn reconcile(&self, storage: &DatabaseStorage, owned: &[ObjectRoot]) -> Result<usize> {
        let mut kept = std::collections::HashSet::new();
        for root in self.with_units_beside(storage, owned)? {
            kept.extend(extents_of(storage, root)?.extents);
        }
        let orphans: Vec<ExtentId> = self
            .used_extents()
            .into_iter()
            .filter(|one| !kept.contains(one))
            .collect();
        self.free_extents(storage, ObjectId(0), &orphans)?;
        Ok(orphans.len())
    }

    /// Pages of the extents that a file's map calls used.
    pub fn used_pages(&self, file: u16) -> u64 {
        let allocation = self.allocation.lock();
        let map = allocation.files.iter().find(|map| map.file == file);
        let extents = map.map_or(0, |map| map.used_count);
        u64::from(extents) * u64::from(EXTENT_PAGES)
    }

    /// Closes a file to allocation when no object has an extent in it, in one step against allocations. False when one has.
    pub fn close_file(&self, file: u16) -> bool {
        let mut allocation = self.allocation.lock();
        if let Some(map) = allocation.files.iter().find(|map| map.file == file) {
            let extents = 0..map.used.len() as u32 * 64;
            let is_owned = |extent: u32| map.is_used(extent) && !ExtentId { file, extent }.is_reserved();
            if extents.into_iter().any(is_owned) {
                return false;
            }
        }
        allocation.closed.insert(file);
        true
    }

    /// Closes a file to allocation, whatever objects have in it: what follows goes to other files.
    pub fn keep_out(&self, file: u16) {
        self.allocation.lock().closed.insert(file);
    }

    /// Opens a closed file again.
    pub fn open_file(&self, file: u16) {
        self.allocation.lock().closed.remove(&file);
    }

    /// Forgets a closed file that the database has no more. Its number may be given to another one.
    pub fn forget_file(&self, file: u16) {
        let mut allocation = self.allocation.lock();
        allocation.files.retain(|map| map.file != file);
        allocation.turn = 0;
        allocation.closed.remove(&file);
    }

    /// Every extent that the maps call used, in order.
    pub(super) fn used_extents(&self) -> Vec<ExtentId> {
        let allocation = self.allocation.lock();
        let mut extents = Vec::new();
        for map in &allocation.files {
            let bits = (0..map.used.len() as u32 * 64).filter(|extent| map.is_used(*extent));
            extents.extend(bits.map(|extent| ExtentId { file: map.file, extent }));
        }
        extents.sort_unstable();
        extents
    }

    /// Clears the bits of sorted extents, one record per space map page.
    fn free_extents(&self, storage: &DatabaseStorage, object: ObjectId, extents: &[ExtentId]) -> Result<()> {
        let mut allocation = self.allocation.lock();
        for group in extents.chunk_by(|a, b| a.map_bit().0 == b.map_bit().0) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                continue;
            };
            let (map_page, from, _) = first.map_bit();
            let to = last.map_bit().1;
            let mut map = write(storage, map_page)?;
            let before = map.view().bytes()[from..=to].to_vec();
            let mut after = before.clone();
            for extent in group {
                let (_, byte, bit) = extent.map_bit();
                after[byte - from] &= !bit;
            }
            let mut planned = [Planned {
                page: &mut map,
                operation: PageOperation::SetBytes {
                    offset: from as u16,
                    before: &before,
                    after: &after,
                },
            }];
            log_and_apply(storage, Author::System, Subject::structure(object), &mut planned)?;
            for extent in group {
                allocation.mark(*extent, false);
            }
        }
        Ok(())
    }

    /// After a rollback: a page of an object has space to win back, if anybody has the object open.
    pub(super) fn note_reclaimable(&self, storage: &DatabaseStorage, object: ObjectId, page: PageId) {
        let space = self.objects.lock().get(&object).cloned();
        if let Some(space) = space {
            space.note_shrunk(page, storage.log.end());
        }
    }

    /// The shared insert state of an object that was just made.
    pub(super) fn open_new_object(&self, storage: &DatabaseStorage, root: ObjectRoot) -> Result<Arc<ObjectSpace>> {
        let space = Arc::new(ObjectSpace::of_new(storage, root)?);
        self.objects.lock().insert(root.object, space.clone());
        Ok(space)
    }

    /// The shared insert state of an object.
    pub(super) fn open_object(&self, storage: &DatabaseStorage, root: ObjectRoot) -> Result<Arc<ObjectSpace>> {
        let mut objects = self.objects.lock();
        if let Some(space) = objects.get(&root.object) {
            return Ok(space.clone());
        }
        let space = Arc::new(ObjectSpace::load(storage, root)?);
        objects.insert(root.object, space.clone());
        Ok(space)
    }
}

/// The extents of an object, from its lists.
pub(super) struct ExtentLists {
    /// In the order of their entries, the first extent of each list page in its place.
    pub extents: Vec<ExtentId>,
    /// Positions in `extents` of those that begin with a list page.
    pub lists: Vec<usize>,
}

/// The entries of an object's lists.
#[derive(Default)]
struct Entries {
    /// In their order, the extent of each list page in its place; `None` for an extent given back.
    extents: Vec<Option<ExtentId>>,
    /// For each of them the pages to look at.
    looks: Vec<u8>,
    /// Positions in `extents` of those that begin with a list page.
    lists: Vec<usize>,
    /// Entries on the last list page.
    tail_entries: usize,
}

/// Walks an object's extent lists.
pub(super) fn extents_of(storage: &DatabaseStorage, root: ObjectRoot) -> Result<ExtentLists> {
    let entries = entries_of(storage, root)?;
    let mut found = ExtentLists {
        extents: Vec::with_capacity(entries.extents.len()),
        lists: Vec::with_capacity(entries.lists.len()),
    };
    for (place, extent) in entries.extents.iter().enumerate() {
        let Some(extent) = extent else { continue };
        if entries.lists.binary_search(&place).is_ok() {
            found.lists.push(found.extents.len());
        }
        found.extents.push(*extent);
    }
    Ok(found)
}

fn entries_of(storage: &DatabaseStorage, root: ObjectRoot) -> Result<Entries> {
    let mut found = Entries::default();
    let mut list = root.first_iam;
    let mut seen = std::collections::HashSet::new();
    while !list.is_none() {
        let page = read(storage, list)?;
        let view = page.view();
        let is_ours = view.kind() == Some(PageKind::ExtentList) && view.object() == root.object;
        if !is_ours || !seen.insert(list) {
            return Err(damaged(
                storage,
                list,
                "an object's chain of extent lists leads to another page",
            ));
        }
        let (entries, _) = view.bytes()[HEADER_BYTES..].as_chunks::<ENTRY_BYTES>();
        found.lists.push(found.extents.len());
        found.extents.push(Some(ExtentId::of(list)));
        found.looks.push(entries.first().map_or(0, |entry| entry[AT_OWN_LOOKS]));
        found.tail_entries = 0;
        for entry in entries {
            let Some(extent) = ExtentId::if_kept(entry) else {
                break;
            };
            if extent.is_some_and(ExtentId::is_reserved) {
                return Err(damaged(
                    storage,
                    list,
                    "an extent list names an extent that belongs to no object",
                ));
            }
            found.extents.push(extent);
            found.looks.push(if extent.is_some() { entry[AT_LOOKS] } else { 0 });
            found.tail_entries += 1;
        }
        list = view.next();
    }
    Ok(found)
}

/// Offset in a list page of an entry.
fn entry_offset(index: usize) -> u16 {
    (HEADER_BYTES + index.min(LIST_ENTRIES) * ENTRY_BYTES) as u16
}

fn format_list(object: ObjectId, previous: PageId) -> PageOperation<'static> {
    PageOperation::Format {
        kind: PageKind::ExtentList,
        level: 0,
        object,
        next: PageId::NONE,
        previous,
    }
}

/// The byte of the map that stands for the extent, before and after.
fn map_change(map: &crate::buffer::PageWrite<'_>, extent: ExtentId, used: bool) -> ([u8; 2], usize) {
    let (_, offset, bit) = extent.map_bit();
    let before = map.view().bytes()[offset];
    let after = if used { before | bit } else { before & !bit };
    ([before, after], offset)
}

fn set_map_byte(offset: usize, bytes: &[u8; 2]) -> PageOperation<'_> {
    PageOperation::SetBytes {
        offset: offset as u16,
        before: &bytes[..1],
        after: &bytes[1..],
    }
}
