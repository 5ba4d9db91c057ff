//! How a tree lies in its pages, level by level from the root. See [`crate::store::physical`].

use super::Tree;
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel;
use crate::error::Result;
use crate::page::{PageId, PageRef};
use crate::store::change::{foreign, read};
use crate::store::physical::{Marks, Order, Physical, PhysicalLevel, PhysicalMode, Sum, read_every};

/// Where a level begins.
#[derive(Clone, Copy)]
struct LevelStart {
    level: u8,
    /// Its first page.
    page: PageId,
    /// The first page of the level above; the root has none.
    branch: Option<PageId>,
}

impl Tree {
    /// How it lies in its pages. The caller keeps it from being dropped.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read; 701 when there is no memory for a mark of each page; 3617 when the request is to stop.
    pub fn physical(&self, storage: &DatabaseStorage, mode: PhysicalMode) -> Result<Physical> {
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
        let mut start = LevelStart {
            level: top,
            page: self.root_page(),
            branch: None,
        };
        let mut levels = Vec::new();
        loop {
            if start.level == 0 || mode == PhysicalMode::Detailed {
                levels.push(self.level_of(storage, start, mode)?);
            }
            if start.level == 0 {
                break;
            }
            start = LevelStart {
                level: start.level - 1,
                page: self.first_child(storage, start.page, start.level)?,
                branch: Some(start.page),
            };
        }
        levels.reverse();
        Ok(Physical {
            depth: top.saturating_add(1),
            levels,
        })
    }

    fn level_of(&self, storage: &DatabaseStorage, start: LevelStart, mode: PhysicalMode) -> Result<PhysicalLevel> {
        let mut marks = Marks::default();
        self.each_page(storage, start, &mut |id| marks.mark(id.file, id.page))?;
        let every = read_every(mode, marks.count);
        let (mut order, mut sum) = (Order::new(marks), Sum::default());
        match every {
            Some(1) => self.walk(storage, start.page, start.level, &mut |id, page| {
                sum.add(page);
                order.add(id)
            })?,
            _ => self.each_page(storage, start, &mut |id| {
                if every.is_some_and(|every| order.pages % every == 0) {
                    cancel::spend(cancel::STEPS_PER_PAGE)?;
                    sum.add(self.open_level(storage, id, start.level)?.view());
                }
                order.add(id)
            })?,
        }
        Ok(PhysicalLevel {
            level: start.level,
            pages: order.pages,
            fragments: Some(order.fragments),
            out_of_order: Some(order.out_of_order()),
            contents: every.map(|_| sum.finish(order.pages)),
        })
    }

    /// Calls `each` for the pages of a level in order, by what the level above says of them; no page is latched meanwhile. Only the root
    /// itself is read.
    fn each_page(
        &self,
        storage: &DatabaseStorage,
        start: LevelStart,
        each: &mut dyn FnMut(PageId) -> Result<()>,
    ) -> Result<()> {
        let Some(branch) = start.branch else {
            return each(start.page);
        };
        let (mut next, mut walked, mut children) = (branch, 0, Vec::new());
        while !next.is_none() {
            cancel::spend(cancel::STEPS_PER_PAGE)?;
            let page = self.open_level(storage, next, start.level + 1)?;
            let view = page.view();
            for slot in 0..view.slot_count() {
                children.push(self.child(storage, view, next, slot)?);
            }
            walked += 1;
            self.check_walked(storage, next, view, walked)?;
            next = view.next();
            drop(page);
            children.drain(..).try_for_each(&mut *each)?;
        }
        Ok(())
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
            self.check_walked(storage, next, page.view(), walked)?;
            next = page.view().next();
        }
        Ok(())
    }

    /// A level has no more pages than the tree; links that lead in a circle would go on for ever.
    fn check_walked(&self, storage: &DatabaseStorage, id: PageId, page: PageRef<'_>, walked: u64) -> Result<()> {
        match walked > self.page_count() {
            true => Err(foreign(
                storage,
                id,
                page,
                self.root().object,
                "the last page of a level",
            )),
            false => Ok(()),
        }
    }
}
