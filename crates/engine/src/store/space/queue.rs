//! Pages of one object on which rows were deleted, by extent, and pages of a heap that have room for rows.
//!
//! Rows are mostly deleted in page order. Then each deletion hits the extent recorded last and costs no lookup.
//!
//! Invariant: an extent has at most one entry. Once its first page is taken it has none. A later entry goes to the end of the queue, so a
//! page that could not be cleaned yet does not come again before the others.

use super::{EXTENT_PAGES, ExtentId};
use crate::page::PageId;
use std::collections::{HashMap, VecDeque};
use vlf::Lsn;

/// Extents, and pages with room, remembered. More are found again in the extent lists, or by the next scan.
const REMEMBERED_MAX: usize = 65_536;

/// A page to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    pub page: PageId,
    /// The newest change that left something here. Nobody can want it back once the horizon has passed this.
    pub since: Lsn,
    /// The lists said so when the object was opened, and nobody has handed the page out since unless it has rows.
    pub is_from_lists: bool,
}

/// The noted pages of an extent, a bit each.
#[derive(Debug, Clone, Copy)]
struct NotedExtent {
    extent: ExtentId,
    pages: u8,
    /// Those with [`Noted::is_from_lists`].
    from_lists: u8,
    /// Pages of the extent, noted or not, that the lists are known to have among those to look at.
    listed: u8,
    since: Lsn,
}

impl NotedExtent {
    fn of(extent: ExtentId) -> NotedExtent {
        NotedExtent {
            extent,
            pages: 0,
            from_lists: 0,
            listed: 0,
            since: Lsn::ZERO,
        }
    }

    fn add(&mut self, noted: Noted) {
        let page = bit_of(noted.page);
        if noted.is_from_lists && self.pages & page == 0 {
            self.from_lists |= page;
            self.listed |= page;
        }
        self.pages |= page;
    }

    fn take_first(&mut self) -> Option<Noted> {
        let page = self.pages.trailing_zeros();
        (page < EXTENT_PAGES).then(|| self.pages &= self.pages - 1)?;
        Some(Noted {
            page: self.extent.page(page),
            since: self.since,
            is_from_lists: self.from_lists >> page & 1 == 1,
        })
    }
}

fn bit_of(page: PageId) -> u8 {
    1 << (page.page % EXTENT_PAGES)
}

/// In the order of `since`, nearly: what is behind one that must wait, waits.
#[derive(Default)]
pub(super) struct Queue {
    noted: VecDeque<NotedExtent>,
    /// Extents that were taken from the front so far: the number of the one at the front.
    front: u64,
    /// The numbers of the extents noted.
    numbers: HashMap<ExtentId, u64>,
    /// What is left of the extent taken last.
    taking: Option<NotedExtent>,
    /// Pages with room for rows, of heaps.
    holes: VecDeque<PageId>,
    /// Pages were left out: the place in the lists from which on they are looked for again.
    pub(super) left_out_from: Option<usize>,
}

impl Queue {
    /// Notes a page. True when the lists are not known to have it among those to look at.
    pub(super) fn note(&mut self, noted: Noted) -> bool {
        let extent = ExtentId::of(noted.page);
        let index = match self.index_of(extent) {
            Some(index) => index,
            None if self.has_room() => {
                let index = self.noted.len();
                self.numbers.insert(extent, self.front + index as u64);
                self.noted.push_back(NotedExtent::of(extent));
                index
            }
            None => {
                self.left_out_from = Some(0);
                return true;
            }
        };
        let is_last = index + 1 == self.noted.len();
        let entry = &mut self.noted[index];
        if is_last {
            // Nothing is behind it that would have to wait longer.
            entry.since = entry.since.max(noted.since);
        }
        entry.add(noted);
        entry.listed & bit_of(noted.page) == 0
    }

    /// The lists have these pages of an extent among those to look at, and no others of it. Said while they cannot change.
    pub(super) fn set_listed(&mut self, extent: ExtentId, listed: u8) {
        if let Some(index) = self.index_of(extent) {
            self.noted[index].listed = listed;
        }
    }

    /// Whether a page is noted, and not taken since.
    pub(super) fn is_noted(&self, page: PageId) -> bool {
        let index = self.index_of(ExtentId::of(page));
        index.is_some_and(|index| self.noted[index].pages & bit_of(page) != 0)
    }

    /// Where in the queue the entry of an extent is.
    fn index_of(&self, extent: ExtentId) -> Option<usize> {
        match self.noted.back() {
            Some(back) if back.extent == extent => Some(self.noted.len() - 1),
            Some(_) => Some((self.numbers.get(&extent)? - self.front) as usize),
            None => None,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.noted.len() < REMEMBERED_MAX
    }

    /// The next page whose leavings nobody can want back.
    pub(super) fn take_due(&mut self, is_due: impl Fn(Lsn) -> bool) -> Option<Noted> {
        if let Some(next) = self.taking.as_mut().and_then(NotedExtent::take_first) {
            return Some(next);
        }
        let mut taken = self.noted.pop_front_if(|front| is_due(front.since))?;
        self.front += 1;
        self.numbers.remove(&taken.extent);
        let first = taken.take_first();
        self.taking = Some(taken);
        first
    }

    pub(super) fn has_due(&self, is_due: impl Fn(Lsn) -> bool) -> bool {
        if self.is_taking() {
            return true;
        }
        match self.noted.front() {
            Some(front) => is_due(front.since),
            None => self.left_out_from.is_some(),
        }
    }

    fn is_taking(&self) -> bool {
        self.taking.is_some_and(|taking| taking.pages != 0)
    }

    /// The place from which on the lists are to be looked through again, once nothing is noted.
    pub(super) fn take_left_out(&mut self) -> Option<usize> {
        let is_done = self.noted.is_empty() && !self.is_taking();
        self.left_out_from.take_if(|_| is_done)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.noted.is_empty() && !self.is_taking() && self.holes.is_empty()
    }

    pub(super) fn note_hole(&mut self, page: PageId) {
        if self.holes.back() != Some(&page) && self.holes.len() < REMEMBERED_MAX {
            self.holes.push_back(page);
        }
    }

    pub(super) fn take_hole(&mut self) -> Option<PageId> {
        self.holes.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(page: u32, since: u32) -> Noted {
        Noted {
            page: PageId::new(1, page),
            since: Lsn::new(since, 1, 1),
            is_from_lists: false,
        }
    }

    fn taken(queue: &mut Queue) -> Vec<u32> {
        std::iter::from_fn(|| queue.take_due(|_| true))
            .map(|noted| noted.page.page)
            .collect()
    }

    #[test]
    fn every_page_noted_is_taken_once_by_extent() {
        let mut queue = Queue::default();
        for page in [17, 16, 40, 17, 23, 41, 8] {
            queue.note(noted(page, 1));
        }
        assert_eq!(taken(&mut queue), [16, 17, 23, 40, 41, 8]);
        assert!(queue.is_empty() && !queue.has_due(|_| true));
    }

    #[test]
    fn a_page_noted_again_while_its_extent_is_taken_waits_behind_the_others() {
        let mut queue = Queue::default();
        for page in [16, 17, 40] {
            queue.note(noted(page, 1));
        }
        let first = queue.take_due(|_| true).expect("three are due");
        queue.note(noted(first.page.page, 2));
        assert!(queue.is_noted(first.page));
        assert_eq!(taken(&mut queue), [17, 40, 16]);
    }

    #[test]
    fn an_extent_waits_for_the_newest_change_while_it_is_the_last() {
        let mut queue = Queue::default();
        queue.note(noted(16, 1));
        queue.note(noted(17, 5));
        let before_five = |since: Lsn| since < Lsn::new(5, 0, 0);
        assert!(!queue.has_due(before_five) && queue.take_due(before_five).is_none());
        assert_eq!(taken(&mut queue), [16, 17]);
    }

    #[test]
    fn the_lists_are_asked_for_once_an_extent_until_they_drop_a_page() {
        let mut queue = Queue::default();
        let extent = ExtentId::of(PageId::new(1, 16));
        assert!(queue.note(noted(16, 1)), "nothing is known of the lists");
        assert!(queue.note(noted(17, 1)), "the lists were not changed so far");
        queue.set_listed(extent, 0xFF);
        assert!(!queue.note(noted(16, 2)) && !queue.note(noted(23, 2)));
        queue.set_listed(extent, 0xFE);
        assert!(queue.note(noted(16, 3)) && !queue.note(noted(17, 3)));
    }

    #[test]
    fn what_finds_no_room_is_looked_for_in_the_lists_again() {
        let mut queue = Queue::default();
        for extent in 0..REMEMBERED_MAX as u32 {
            queue.note(noted(extent * EXTENT_PAGES, 1));
        }
        assert!(!queue.has_room() && queue.left_out_from.is_none());
        assert!(queue.note(noted(REMEMBERED_MAX as u32 * EXTENT_PAGES, 1)));
        assert_eq!(queue.take_left_out(), None, "what is noted comes first");
        assert_eq!(taken(&mut queue).len(), REMEMBERED_MAX);
        assert!(queue.has_due(|_| true));
        assert_eq!(queue.take_left_out(), Some(0));
    }
}
