//! Pages of one object on which rows were deleted, and pages of a heap that have room for rows.

use crate::page::PageId;
use std::collections::{HashMap, VecDeque};
use vlf::Lsn;

/// Pages remembered of each kind. More are found again in the extent lists, or by the next scan.
const PAGES_MAX: usize = 65_536;

/// A page to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    pub page: PageId,
    /// The newest change that left something here. Nobody can want it back once the horizon has passed this.
    pub since: Lsn,
    /// The lists said so when the object was opened, and nobody has handed the page out since unless it has rows.
    pub is_from_lists: bool,
}

/// In the order of `since`, nearly: what is behind one that must wait, waits.
#[derive(Default)]
pub(super) struct Queue {
    noted: VecDeque<Noted>,
    /// The pages noted, and whether the lists have them too.
    pages: HashMap<PageId, bool>,
    /// Pages with room for rows, of heaps.
    holes: VecDeque<PageId>,
    /// Pages were left out: the place in the lists from which on they are looked for again.
    pub(super) left_out_from: Option<usize>,
}

impl Queue {
    /// Notes a page. True when the lists are to have it, as `in_lists` asks, and do not yet as far as is known here.
    pub(super) fn note(&mut self, noted: Noted, in_lists: bool) -> bool {
        if let Some(back) = self.noted.back_mut().filter(|back| back.page == noted.page) {
            back.since = back.since.max(noted.since);
        } else if !self.pages.contains_key(&noted.page) {
            if self.noted.len() >= PAGES_MAX {
                self.left_out_from = Some(0);
                return in_lists;
            }
            self.noted.push_back(noted);
        }
        let known = self.pages.entry(noted.page).or_insert(noted.is_from_lists);
        in_lists && !std::mem::replace(known, in_lists || *known)
    }

    pub(super) fn has_room(&self) -> bool {
        self.noted.len() < PAGES_MAX
    }

    /// The next page whose leavings nobody can want back.
    pub(super) fn take_due(&mut self, is_due: impl Fn(Lsn) -> bool) -> Option<Noted> {
        let noted = self.noted.pop_front_if(|front| is_due(front.since))?;
        self.pages.remove(&noted.page);
        Some(noted)
    }

    pub(super) fn has_due(&self, is_due: impl Fn(Lsn) -> bool) -> bool {
        match self.noted.front() {
            Some(front) => is_due(front.since),
            None => self.left_out_from.is_some(),
        }
    }

    /// The place from which on the lists are to be looked through again, once nothing is noted.
    pub(super) fn take_left_out(&mut self) -> Option<usize> {
        self.left_out_from.take_if(|_| self.noted.is_empty())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.noted.is_empty() && self.holes.is_empty()
    }

    pub(super) fn note_hole(&mut self, page: PageId) {
        if self.holes.back() != Some(&page) && self.holes.len() < PAGES_MAX {
            self.holes.push_back(page);
        }
    }

    pub(super) fn take_hole(&mut self) -> Option<PageId> {
        self.holes.pop_front()
    }
}
