//! The physical layout of a tree, level by level from the root. See [`crate::store::physical`].

use super::Tree;
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel;
use crate::error::Result;
use crate::page::{PageId, PageRef};
use crate::store::change::{foreign, read};
use crate::store::physical::{PageList, Physical, PhysicalLevel, PhysicalMode, contents_of};

impl Tree {
    /// How it lies in its pages. The caller keeps it from being dropped.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; 701 when there is no memory for a list of its pages; 3617 when the request is to stop.
    pub fn physical(&self, storage: &DatabaseStorage, mode: PhysicalMode) -> Result<Physical> {
        let _pages_stay = self.pin();
        loop {
            let top = self.top_level(storage)?;
            match self.physical_below(storage, mode, top) {
                // The root has grown a level meanwhile: it is the one page whose level changes.
                Err(_) if self.top_level(storage)? != top => {}
                outcome => return outcome,
            }
        }
    }

    fn top_level(&self, storage: &DatabaseStorage) -> Result<u8> {
        Ok(read(storage, self.root_page())?.view().level())
    }

    fn physical_below(&self, storage: &DatabaseStorage, mode: PhysicalMode, top: u8) -> Result<Physical> {
        let mut first = self.root_page();
        let mut levels = Vec::new();
        for level in (0..=top).rev() {
            let list = match level {
                0 if top > 0 => self.leaves_listed(storage, first)?,
                _ => self.level_listed(storage, first, level)?,
            };
            if level > 1 {
                first = self.first_child(storage, first, level)?;
            }
            let is_wanted = level == 0 || mode == PhysicalMode::Detailed;
            if !is_wanted {
                continue;
            }
            let contents = match mode {
                PhysicalMode::Limited => None,
                _ => Some(contents_of(storage, &list, mode, |id| {
                    self.open_level(storage, id, level).map(Some)
                })?),
            };
            levels.push(PhysicalLevel {
                level,
                pages: list.pages.len() as u64,
                fragments: list.fragments(),
                out_of_order: list.out_of_order(),
                contents,
            });
        }
        levels.reverse();
        Ok(Physical {
            depth: top.saturating_add(1),
            levels,
        })
    }

    fn open_level<'s>(&self, storage: &'s DatabaseStorage, id: PageId, level: u8) -> Result<PageRead<'s>> {
        let page = read(storage, id)?;
        self.check_page(storage, page.view(), id, level)?;
        Ok(page)
    }

    fn first_child(&self, storage: &DatabaseStorage, branch: PageId, level: u8) -> Result<PageId> {
        let page = self.open_level(storage, branch, level)?;
        self.child(storage, page.view(), branch, 0)
    }

    /// The pages of a level from its first one on.
    fn level_listed(&self, storage: &DatabaseStorage, first: PageId, level: u8) -> Result<PageList> {
        let mut list = PageList::default();
        self.walk(storage, first, level, &mut |id, _| list.push(id))?;
        Ok(list)
    }

    /// The leaves, as the branches above them name them: `first` is the first of these.
    fn leaves_listed(&self, storage: &DatabaseStorage, first: PageId) -> Result<PageList> {
        let mut list = PageList::default();
        self.walk(storage, first, 1, &mut |id, page| {
            (0..page.slot_count()).try_for_each(|slot| list.push(self.child(storage, page, id, slot)?))
        })?;
        Ok(list)
    }

    /// Calls `each` for the pages of a level, from `first` to the right.
    fn walk(
        &self,
        storage: &DatabaseStorage,
        first: PageId,
        level: u8,
        each: &mut dyn FnMut(PageId, PageRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut next, mut walked) = (first, 0);
        while !next.is_none() {
            cancel::spend(cancel::STEPS_PER_PAGE)?;
            let page = self.open_level(storage, next, level)?;
            each(next, page.view())?;
            walked += 1;
            let neighbour = page.view().next();
            if walked > self.page_count() {
                return Err(foreign(
                    storage,
                    next,
                    page.view(),
                    self.root().object,
                    "the last page of a level",
                ));
            }
            next = neighbour;
        }
        Ok(())
    }
}
