//! Which pages of a unit are in use: two bytes an extent, in its extent lists and in memory.

use super::super::change::damaged;
use super::super::space::{EXTENT_PAGES, ExtentId, LIST_ENTRIES};
use crate::buffer::{DatabaseStorage, PageRead, PageWrite};
use crate::error::{Error, Result};
use crate::page::{HEADER_BYTES, ObjectId, PageId, PageKind, PageOperation, PageRef};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use vlf::Lsn;

/// Bytes of an entry of an extent list.
const ENTRY_BYTES: usize = 8;
/// Offset in the entry of the two bytes.
const AT_BITS: usize = 6;
/// Extents that a list of such a unit names; the last entry is the list's own.
pub(super) const ENTRIES_MAX: usize = LIST_ENTRIES - 1;

/// The two bytes of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bits {
    pub used: u8,
    pub given_up: u8,
}

fn bit(page: PageId) -> u8 {
    1 << (page.page % EXTENT_PAGES)
}

impl Bits {
    pub fn from_bytes(bytes: &[u8]) -> Option<Bits> {
        match *bytes {
            [used, given_up] => Some(Bits { used, given_up }),
            _ => None,
        }
    }

    pub fn to_bytes(self) -> [u8; 2] {
        [self.used, self.given_up]
    }

    pub fn with_used(self, page: PageId) -> Bits {
        Bits {
            used: self.used | bit(page),
            given_up: self.given_up & !bit(page),
        }
    }

    pub fn with_given_up(self, page: PageId) -> Bits {
        self.giving_up(bit(page))
    }

    pub fn giving_up(self, pages: u8) -> Bits {
        Bits {
            given_up: self.given_up | (pages & self.used),
            ..self
        }
    }

    /// These pages are not given up after all.
    pub fn keeping(self, pages: u8) -> Bits {
        Bits {
            given_up: self.given_up & !pages,
            ..self
        }
    }

    /// These pages are free, if they were given up.
    pub fn freeing(self, pages: u8) -> Bits {
        let freed = pages & self.given_up;
        Bits {
            used: self.used & !freed,
            given_up: self.given_up & !freed,
        }
    }

    pub fn is_given_up(self, page: PageId) -> bool {
        self.given_up & bit(page) != 0
    }

    pub fn used_beyond(self, before: Bits) -> u8 {
        self.used & !before.used
    }

    pub fn given_up_beyond(self, before: Bits) -> u8 {
        self.given_up & !before.given_up
    }
}

/// The pages of an extent that have a bit.
pub(super) fn pages_of(extent: ExtentId, bits: u8) -> Vec<PageId> {
    let set = (0..EXTENT_PAGES).filter(|page| bits >> page & 1 == 1);
    set.map(|page| extent.page(page)).collect()
}

/// Where an extent has its two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryAt {
    pub list: PageId,
    /// The entry's number in the list.
    pub entry: usize,
}

impl EntryAt {
    fn offset(self) -> usize {
        HEADER_BYTES + self.entry * ENTRY_BYTES + AT_BITS
    }

    /// `None` when there are no such bytes.
    pub fn from_offset(list: PageId, offset: u16) -> Option<EntryAt> {
        let behind = usize::from(offset).checked_sub(HEADER_BYTES + AT_BITS)?;
        (behind % ENTRY_BYTES == 0).then_some(EntryAt {
            list,
            entry: behind / ENTRY_BYTES,
        })
    }

    /// The bytes as they are on the list.
    ///
    /// # Errors
    /// 824 when it is not a list of the unit.
    pub fn read(self, storage: &DatabaseStorage, list: &PageWrite<'_>, object: ObjectId) -> Result<Bits> {
        let view = list.view();
        let is_ours = view.kind() == Some(PageKind::ExtentList) && view.object() == object;
        let bytes = view.bytes().get(self.offset()..self.offset() + 2).filter(|_| is_ours);
        bytes
            .and_then(Bits::from_bytes)
            .ok_or_else(|| damaged(storage, self.list, "an extent list of large values was expected"))
    }

    /// The extent that the bytes are of.
    pub fn extent(self, list: &PageWrite<'_>) -> Option<ExtentId> {
        entry_of(list.view(), self).flatten()
    }

    pub fn set<'b>(self, before: &'b [u8; 2], after: &'b [u8; 2]) -> PageOperation<'b> {
        PageOperation::SetBytes {
            offset: self.offset() as u16,
            before,
            after,
        }
    }
}

/// `Some(None)` where the extent was given back, and `None` behind the last entry.
fn entry_of(list: PageRef<'_>, at: EntryAt) -> Option<Option<ExtentId>> {
    if at.entry == ENTRIES_MAX {
        return Some(Some(ExtentId::of(at.list)));
    }
    let start = HEADER_BYTES + at.entry * ENTRY_BYTES;
    ExtentId::from_entry(list.bytes().get(start..start + ENTRY_BYTES)?)
}

/// A page that was taken in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct TakenPage {
    pub page: PageId,
    pub at: EntryAt,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// `None` when it was given back: the entry is for another one.
    extent: Option<ExtentId>,
    at: EntryAt,
    bits: Bits,
}

/// The extents of a unit in memory. A page taken counts as used before its list says so, and until its list says that it is free.
#[derive(Debug, Default)]
pub(super) struct PageMap {
    extents: Vec<Kept>,
    places: HashMap<ExtentId, usize>,
    /// Places of extents of which every page is free.
    empty: BTreeSet<usize>,
    /// Places whose extents were given back.
    given_back: BTreeSet<usize>,
    /// No extent before this one has a free page.
    search_from: usize,
    /// Pages given up, with the LSN of the record that says so.
    given_up: BTreeMap<PageId, Lsn>,
    /// The last list, and the extents that it names.
    tail: Option<(PageId, usize)>,
    lists: u64,
}

impl PageMap {
    /// Adds what a list has, in the order of the lists; answers the next list.
    ///
    /// # Errors
    /// 824 when it is not a list of the unit.
    pub fn add_list(
        &mut self,
        storage: &DatabaseStorage,
        page: &PageRead<'_>,
        object: ObjectId,
        given_up_at: Lsn,
    ) -> Result<PageId> {
        let (view, list) = (page.view(), page.id());
        let is_ours = view.kind() == Some(PageKind::ExtentList) && view.object() == object;
        if !is_ours || self.places.contains_key(&ExtentId::of(list)) {
            return Err(damaged(storage, list, "an extent list of large values was expected"));
        }
        self.begin_list(list, bits_at(view, ENTRIES_MAX), given_up_at);
        for entry in 0..ENTRIES_MAX {
            let at = EntryAt { list, entry };
            let Some(extent) = entry_of(view, at) else { break };
            self.tail = Some((list, entry + 1));
            let Some(extent) = extent else {
                self.given_back.insert(self.extents.len());
                let bits = Bits::default();
                self.extents.push(Kept { extent, at, bits });
                continue;
            };
            if extent.is_reserved() {
                return Err(damaged(
                    storage,
                    list,
                    "an extent list names an extent that belongs to no object",
                ));
            }
            self.push(extent, at, bits_at(view, entry), given_up_at);
        }
        Ok(view.next())
    }

    fn begin_list(&mut self, list: PageId, bits: Bits, given_up_at: Lsn) {
        let at = EntryAt {
            list,
            entry: ENTRIES_MAX,
        };
        // The list itself is on the first page.
        let bits = Bits {
            used: bits.used | 1,
            ..bits
        };
        self.push(ExtentId::of(list), at, bits, given_up_at);
        self.tail = Some((list, 0));
        self.lists += 1;
    }

    fn push(&mut self, extent: ExtentId, at: EntryAt, bits: Bits, given_up_at: Lsn) {
        for page in pages_of(extent, bits.given_up) {
            self.given_up.insert(page, given_up_at);
        }
        let place = self.extents.len();
        self.places.insert(extent, place);
        if bits.used == 0 {
            self.empty.insert(place);
        }
        let extent = Some(extent);
        self.extents.push(Kept { extent, at, bits });
    }

    /// The list and the number of the entry for another extent: one whose extent was given back, or the next of the last list. A full list gets
    /// no more.
    pub fn next_entry(&self) -> Result<(PageId, usize)> {
        if let Some(&place) = self.given_back.first() {
            let at = self.extents[place].at;
            return Ok((at.list, at.entry));
        }
        let (list, entries) = self.tail.ok_or_else(|| Error::assertion("a unit has no extent list"))?;
        Ok((list, if entries >= ENTRIES_MAX { LIST_ENTRIES } else { entries }))
    }

    /// Adds an extent that was allocated for [`PageMap::next_entry`].
    pub fn add_extent(&mut self, extent: ExtentId, is_list: bool) {
        if let Some(place) = self.given_back.pop_first() {
            self.extents[place].extent = Some(extent);
            self.places.insert(extent, place);
            self.empty.insert(place);
            self.search_from = self.search_from.min(place);
            return;
        }
        if is_list {
            self.begin_list(extent.page(0), Bits::default(), Lsn::ZERO);
            return;
        }
        if let Some((list, entries)) = self.tail {
            let at = EntryAt { list, entry: entries };
            self.push(extent, at, Bits::default(), Lsn::ZERO);
            self.tail = Some((list, entries + 1));
        }
    }

    /// Takes a free page.
    pub fn take(&mut self) -> Option<TakenPage> {
        while let Some(kept) = self.extents.get_mut(self.search_from) {
            let free = kept.bits.used.trailing_ones();
            if let Some(extent) = kept.extent
                && free < EXTENT_PAGES
            {
                let page = extent.page(free);
                kept.bits = kept.bits.with_used(page);
                self.empty.remove(&self.search_from);
                return Some(TakenPage { page, at: kept.at });
            }
            self.search_from += 1;
        }
        None
    }

    /// A page is free.
    pub fn put_back(&mut self, page: PageId) {
        self.given_up.remove(&page);
        if let Some(&place) = self.places.get(&ExtentId::of(page)) {
            let bits = &mut self.extents[place].bits;
            bits.used &= !bit(page);
            bits.given_up &= !bit(page);
            if bits.used == 0 {
                self.empty.insert(place);
            }
            self.search_from = self.search_from.min(place);
        }
    }

    /// Whether there is an extent of which every page is free.
    pub fn has_empty(&self) -> bool {
        !self.empty.is_empty()
    }

    /// Has `give_back` give back the last extent of which every page is free. False when there is none.
    ///
    /// # Errors
    /// Those of `give_back`: the extent stays.
    pub fn give_back_one(&mut self, give_back: impl FnOnce(ExtentId, EntryAt) -> Result<()>) -> Result<bool> {
        let Some(&place) = self.empty.last() else {
            return Ok(false);
        };
        let kept = &mut self.extents[place];
        let Some(extent) = kept.extent else {
            return Err(Error::assertion("an extent was given back twice"));
        };
        give_back(extent, kept.at)?;
        kept.extent = None;
        self.empty.remove(&place);
        self.places.remove(&extent);
        self.given_back.insert(place);
        Ok(true)
    }

    pub fn note_given_up(&mut self, pages: &[PageId], lsn: Lsn) {
        for &page in pages {
            if let Some(&place) = self.places.get(&ExtentId::of(page)) {
                let kept = &mut self.extents[place];
                kept.bits = kept.bits.with_used(page).with_given_up(page);
                self.given_up.insert(page, lsn);
            }
        }
    }

    pub fn note_kept(&mut self, pages: &[PageId]) {
        for page in pages {
            self.given_up.remove(page);
            if let Some(&place) = self.places.get(&ExtentId::of(*page)) {
                let kept = &mut self.extents[place];
                kept.bits = kept.bits.keeping(bit(*page));
            }
        }
    }

    /// Where an extent has its two bytes.
    pub fn at(&self, extent: ExtentId) -> Option<EntryAt> {
        self.places.get(&extent).map(|&place| self.extents[place].at)
    }

    /// The pages given up before `horizon`, by extent.
    pub fn given_up_before(&self, horizon: Lsn) -> BTreeMap<EntryAt, (ExtentId, u8)> {
        let mut found: BTreeMap<EntryAt, (ExtentId, u8)> = BTreeMap::new();
        for (&page, _) in self.given_up.iter().filter(|(_, lsn)| **lsn < horizon) {
            let extent = ExtentId::of(page);
            if let Some(at) = self.at(extent) {
                found.entry(at).or_insert((extent, 0)).1 |= bit(page);
            }
        }
        found
    }

    /// Pages in use, pages given up, lists, and pages of all extents.
    pub fn counts(&self) -> PageCounts {
        let sum = |count: fn(&Bits) -> u32| {
            self.extents
                .iter()
                .map(|kept| u64::from(count(&kept.bits)))
                .sum::<u64>()
        };
        PageCounts {
            used: sum(|bits| (bits.used & !bits.given_up).count_ones()) - self.lists,
            given_up: self.given_up.len() as u64,
            lists: self.lists,
            reserved: self.places.len() as u64 * u64::from(EXTENT_PAGES),
        }
    }

    /// Whether a page is in use and not given up, as memory has it.
    pub fn used_pages(&self) -> Vec<PageId> {
        let pages = self.extents.iter().filter_map(|kept| {
            let list = u8::from(kept.at.entry == ENTRIES_MAX);
            Some(pages_of(kept.extent?, kept.bits.used & !kept.bits.given_up & !list))
        });
        pages.flatten().collect()
    }

    /// Whether anything is given up and not free.
    pub fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }
}

fn bits_at(view: PageRef<'_>, entry: usize) -> Bits {
    let at = HEADER_BYTES + entry * ENTRY_BYTES + AT_BITS;
    let bytes = view.bytes().get(at..at + 2).unwrap_or_default();
    Bits::from_bytes(bytes).unwrap_or_default()
}

impl PageCounts {
    /// Everything that is not free: parts of values, of those that are gone as well, and lists.
    pub fn in_use(&self) -> u64 {
        self.used + self.given_up + self.lists
    }
}

/// Pages of a unit of large values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageCounts {
    /// With parts of values.
    pub used: u64,
    /// Of values that are gone, until nobody can want them back.
    pub given_up: u64,
    /// Extent lists.
    pub lists: u64,
    /// Of all extents.
    pub reserved: u64,
}
