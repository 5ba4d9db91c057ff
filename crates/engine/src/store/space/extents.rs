//! The extents of one open object in memory: in the order of their entries, with the pages that are free, and the frontier.
//!
//! Invariant: the position of an extent is that of its entry, and does not change while the object is open. An entry whose extent was
//! returned is empty, and may later hold another extent. So a scan by position visits no extent twice, and extents after its end stay
//! there.

use super::{AT_LOOKS, AT_OWN_LOOKS, EXTENT_PAGES, Entries, EntryPlace, ExtentId, LIST_ENTRIES, entry_offset};
use crate::page::PageId;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A place in the order of an object's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Index of the extent in the object's lists.
    pub extent: usize,
    /// Page within the extent.
    pub page: u32,
}

/// What an open object knows of its extents.
pub(super) struct Extents {
    all: Vec<Option<ExtentId>>,
    /// Pages to look at, as the lists have them.
    looks: Vec<u8>,
    /// Free pages before the frontier, by the places of their extents.
    free: BTreeMap<usize, u8>,
    /// Places of extents that were given back.
    given_back: BTreeSet<usize>,
    lists: Vec<usize>,
    tail_entries: usize,
    /// The first page never handed out.
    frontier: Position,
    /// Place by extent, made when it is first asked for: when a row is deleted.
    places: HashMap<ExtentId, usize>,
    avoided: Option<ExtentId>,
}

impl Extents {
    /// The frontier is still to be found.
    pub(super) fn new(mut entries: Entries) -> Extents {
        // Entries at the end that stand for no extent are written anew.
        while let Some(None) = entries.extents.last() {
            entries.extents.pop();
            entries.looks.pop();
            entries.tail_entries = entries.tail_entries.saturating_sub(1);
        }
        let gone = (0..entries.extents.len()).filter(|place| entries.extents[*place].is_none());
        Extents {
            given_back: gone.collect(),
            all: entries.extents,
            looks: entries.looks,
            free: BTreeMap::new(),
            lists: entries.lists,
            tail_entries: entries.tail_entries,
            frontier: Position { extent: 0, page: 1 },
            places: HashMap::new(),
            avoided: None,
        }
    }

    pub(super) fn frontier(&self) -> Position {
        self.frontier
    }

    pub(super) fn set_frontier(&mut self, frontier: Position) {
        self.frontier = frontier;
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, place: usize) -> Option<ExtentId> {
        self.all.get(place).copied().flatten()
    }

    /// Extents from a place on, those given back left out.
    pub(super) fn some_from(&self, place: usize, count: usize) -> impl Iterator<Item = ExtentId> {
        self.all.iter().skip(place).take(count).flatten().copied()
    }

    pub(super) fn starts_with_list(&self, place: usize) -> bool {
        self.lists.binary_search(&place).is_ok()
    }

    /// First page for rows of an extent.
    pub(super) fn first_page(&self, place: usize) -> u32 {
        u32::from(self.starts_with_list(place))
    }

    /// All pages; those handed out, free ones left out; list pages.
    pub(super) fn page_counts(&self) -> (u64, u64, u64) {
        let handed_out = |place: usize| match self.get(place) {
            None => 0,
            Some(_) => {
                let free = self.free.get(&place).map_or(0, |free| free.count_ones());
                u64::from((EXTENT_PAGES - self.first_page(place)).saturating_sub(free))
            }
        };
        let whole: u64 = (0..self.frontier.extent.min(self.all.len())).map(handed_out).sum();
        let at = self.frontier.extent;
        let free = self.free.get(&at).map_or(0, |free| free.count_ones());
        let begun = self.frontier.page - self.first_page(at).min(self.frontier.page);
        let begun = match self.get(at) {
            Some(_) => begun.saturating_sub(free),
            None => 0,
        };
        let kept = self.all.len() - self.given_back.len();
        let reserved = kept as u64 * u64::from(EXTENT_PAGES);
        (reserved, whole + u64::from(begun), self.lists.len() as u64)
    }

    /// Takes the first free page, if there is one. Those of the extent that is to be emptied are the last.
    pub(super) fn take_free(&mut self) -> Option<PageId> {
        let avoided = self.avoided;
        let found = self.take_free_in(|extent| Some(extent) != avoided);
        found.or_else(|| avoided.and_then(|avoided| self.take_free_in(|extent| extent == avoided)))
    }

    /// Takes the first free page of an extent that is wanted.
    pub(super) fn take_free_in(&mut self, is_wanted: impl Fn(ExtentId) -> bool) -> Option<PageId> {
        let mut free = self.free.keys().copied();
        let place = free.find(|&place| self.get(place).is_some_and(&is_wanted))?;
        let extent = self.get(place)?;
        let pages = self.free.get_mut(&place)?;
        let page = pages.trailing_zeros();
        *pages &= pages.wrapping_sub(1);
        if *pages == 0 {
            self.free.remove(&place);
        }
        (page < EXTENT_PAGES).then(|| extent.page(page))
    }

    /// The extent whose pages are handed out last, because it is to be emptied.
    pub(super) fn avoided(&self) -> Option<ExtentId> {
        self.avoided
    }

    pub(super) fn set_avoided(&mut self, extent: Option<ExtentId>) {
        self.avoided = extent;
    }

    /// Pages never handed out, up to the end of the extent in a place.
    pub(super) fn new_pages_up_to(&self, place: usize) -> Vec<PageId> {
        let mut pages = Vec::new();
        for at in self.frontier.extent..=place {
            let from = match at == self.frontier.extent {
                true => self.frontier.page.max(self.first_page(at)),
                false => self.first_page(at),
            };
            let extent = self.get(at);
            pages.extend((from..EXTENT_PAGES).filter_map(|page| Some(extent?.page(page))));
        }
        pages
    }

    /// Moves the frontier behind the extent in a place: the pages that were never handed out are free ones from then on.
    pub(super) fn close(&mut self, place: usize) {
        let end = Position {
            extent: place,
            page: EXTENT_PAGES,
        };
        if self.frontier >= end {
            return;
        }
        let skipped = self.new_pages_up_to(place);
        self.frontier = end;
        for page in skipped {
            if let Some(place) = self.place_of(page) {
                self.set_free(place, page);
            }
        }
    }

    /// Whether every page for rows of an extent is free.
    pub(super) fn is_empty(&self, place: usize) -> bool {
        self.free_pages(place) == 0xFF << self.first_page(place)
    }

    /// The free pages of an extent, a bit each.
    pub(super) fn free_pages(&self, place: usize) -> u8 {
        self.free.get(&place).copied().unwrap_or(0)
    }

    /// The pages for rows of an extent that are not free.
    pub(super) fn pages_in_use(&self, place: usize) -> Vec<PageId> {
        let Some(extent) = self.get(place) else {
            return Vec::new();
        };
        let pages = self.first_page(place)..EXTENT_PAGES;
        let in_use = pages.filter(|&page| !self.is_free(place, page));
        in_use.map(|page| extent.page(page)).collect()
    }

    /// The list pages before and behind that of an extent which begins with one.
    pub(super) fn lists_beside(&self, place: usize) -> (Option<PageId>, Option<PageId>) {
        let Ok(at) = self.lists.binary_search(&place) else {
            return (None, None);
        };
        let page = |at: usize| Some(self.get(*self.lists.get(at)?)?.page(0));
        (at.checked_sub(1).and_then(page), page(at + 1))
    }

    /// Another extent has taken the place of one that begins with a list. The pages `free` of it are free, and to be looked at.
    pub(super) fn replace_list(&mut self, place: usize, extent: ExtentId, free: u8) {
        if let Some(slot) = self.all.get_mut(place)
            && let Some(former) = slot.replace(extent)
        {
            self.places.remove(&former);
            if !self.places.is_empty() {
                self.places.insert(extent, place);
            }
        }
        self.set_looks(place, free);
        self.free.insert(place, free);
    }

    /// The next page never handed out; `None` when an extent must come first.
    pub(super) fn take_new(&mut self) -> Option<PageId> {
        if self.frontier.page >= EXTENT_PAGES {
            let next = self.frontier.extent + 1;
            if next >= self.all.len() {
                return None;
            }
            let page = self.first_page(next);
            self.frontier = Position { extent: next, page };
        }
        let taken = self.get(self.frontier.extent)?.page(self.frontier.page);
        self.frontier.page += 1;
        Some(taken)
    }

    /// An entry that stands for no extent, to be used again.
    pub(super) fn unused_entry(&self) -> Option<(usize, EntryPlace)> {
        let place = *self.given_back.first()?;
        let (list, index) = self.entry_of(place)?;
        let looks = 0xFF;
        Some((place, EntryPlace::Entry { list, index, looks }))
    }

    /// An extent has come into an entry that stood for none: its pages are free.
    pub(super) fn refill(&mut self, place: usize, extent: ExtentId) {
        self.given_back.remove(&place);
        if let (Some(slot), Some(looks)) = (self.all.get_mut(place), self.looks.get_mut(place)) {
            (*slot, *looks) = (Some(extent), 0xFF);
            self.free.insert(place, 0xFF);
            if !self.places.is_empty() {
                self.places.insert(extent, place);
            }
        }
    }

    /// Where the entry of an extent behind all others goes.
    pub(super) fn next_entry(&self) -> Option<EntryPlace> {
        let list = self.get(*self.lists.last()?)?.page(0);
        Some(match self.tail_entries {
            index if index < LIST_ENTRIES => EntryPlace::Entry { list, index, looks: 0 },
            _ => EntryPlace::NewList { after: list },
        })
    }

    /// An extent has come behind all others.
    pub(super) fn push(&mut self, extent: ExtentId, is_list: bool) {
        let place = self.all.len();
        if is_list {
            self.lists.push(place);
            self.tail_entries = 0;
        } else {
            self.tail_entries += 1;
        }
        self.all.push(Some(extent));
        self.looks.push(0);
        if !self.places.is_empty() {
            self.places.insert(extent, place);
        }
    }

    /// The list page that an extent, which is not a list's own, is entered in, and the entry's number there.
    pub(super) fn entry_of(&self, place: usize) -> Option<(PageId, usize)> {
        let list = self.lists.partition_point(|list| *list < place).checked_sub(1)?;
        let list = *self.lists.get(list)?;
        Some((self.get(list)?.page(0), place - list - 1))
    }

    /// The place of a page's extent.
    pub(super) fn place_of(&mut self, page: PageId) -> Option<usize> {
        if self.places.is_empty() {
            let all = self.all.iter().enumerate();
            self.places = all.filter_map(|(place, extent)| Some(((*extent)?, place))).collect();
        }
        self.places.get(&ExtentId::of(page)).copied()
    }

    /// Enters a page among those to look at, and with it all of its extent, so that deletions that go through a table cost a record an
    /// extent: where the lists have that, and the byte as it becomes. `None` if the page was there.
    pub(super) fn look_at(&self, place: usize, page: PageId) -> Option<(PageId, u16, u8)> {
        let before = *self.looks.get(place)?;
        (before >> (page.page % EXTENT_PAGES) & 1 == 0).then_some(())?;
        // The page of a list is in use, and no page for rows.
        let after = 0xFF << self.first_page(place);
        self.looks_place(place).map(|(list, offset)| (list, offset, after))
    }

    /// As [`Extents::look_at`], for a page that need not be looked at any more.
    pub(super) fn look_away(&self, place: usize, page: PageId) -> Option<(PageId, u16, u8)> {
        let before = *self.looks.get(place)?;
        let after = before & !(1 << (page.page % EXTENT_PAGES));
        (after != before).then_some(())?;
        self.looks_place(place).map(|(list, offset)| (list, offset, after))
    }

    fn looks_place(&self, place: usize) -> Option<(PageId, u16)> {
        if self.starts_with_list(place) {
            return Some((self.get(place)?.page(0), entry_offset(0) + AT_OWN_LOOKS as u16));
        }
        let (list, index) = self.entry_of(place)?;
        Some((list, entry_offset(index) + AT_LOOKS as u16))
    }

    /// Pages of an extent to look at, as the lists have them.
    pub(super) fn looks(&self, place: usize) -> u8 {
        self.looks.get(place).copied().unwrap_or(0)
    }

    /// The lists have a byte of pages to look at as [`Extents::look_at`] said.
    pub(super) fn set_looks(&mut self, place: usize, looks: u8) {
        if let Some(held) = self.looks.get_mut(place) {
            *held = looks;
        }
    }

    /// Pages to look at before the frontier, from a place on.
    pub(super) fn pages_to_look_at(&self, from: usize) -> impl Iterator<Item = (usize, PageId)> {
        let places = (from..self.all.len()).filter(|place| self.looks[*place] != 0);
        places.flat_map(move |place| {
            let pages = (0..EXTENT_PAGES).filter(move |page| self.looks[place] >> page & 1 == 1);
            let pages = pages.filter(move |page| {
                Position {
                    extent: place,
                    page: *page,
                } < self.frontier
            });
            pages.filter_map(move |page| Some((place, self.get(place)?.page(page))))
        })
    }

    /// A page has become free. True when all pages of its extent are, so that the extent may be given back.
    pub(super) fn set_free(&mut self, place: usize, page: PageId) -> bool {
        let page = page.page % EXTENT_PAGES;
        if (Position { extent: place, page }) >= self.frontier || self.get(place).is_none() {
            return false;
        }
        let free = self.free.entry(place).or_insert(0);
        *free |= 1 << page;
        *free == 0xFF
    }

    pub(super) fn is_free(&self, place: usize, page: u32) -> bool {
        let free = self.free.get(&place).copied().unwrap_or(0);
        free >> (page % EXTENT_PAGES) & 1 == 1
    }

    /// An extent was given back.
    pub(super) fn drop_extent(&mut self, place: usize) {
        self.free.remove(&place);
        if let Some(extent) = self.all.get_mut(place).and_then(Option::take) {
            self.places.remove(&extent);
        }
        self.set_looks(place, 0);
        self.given_back.insert(place);
    }
}
