//! A leaf without rows leaves its tree.
//!
//! ```text
//! branch   [a -> A] [m -> P] [t -> B]          branch   [a -> A] [t -> B]
//! leaves       A <-> P <-> B               =>  leaves       A <-> B           P is free
//! ```
//! One change of the leaf, its two neighbours and its parent, without undo. Afterwards its key range belongs to its left neighbour, or to
//! its right neighbour if it was its parent's first child. If it is a branch's only child, that branch leaves with it, and so on upward.
//! The root stays, and with it the tree's height and its last leaf.
//!
//! The leaf is searched for twice. The first search finds the path with shared latches. Then the remaining ancestor, the branches in
//! between and the leaves are latched exclusively, level by level from the top and from left to right. If anything has changed in between,
//! the attempt ends. No pages leave meanwhile, because only one cleaner at a time works on an object.

use super::super::change::{Author, Planned, Subject, log_and_apply, read, write};
use super::super::ghosts::{Horizon, free_page};
use super::super::space::ObjectSpace;
use super::{AT_NEXT, AT_PREVIOUS, Tree, key_at, set_link};
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::Result;
use crate::page::{PageId, PageKind, PageOperation, PageRef};
use std::sync::Arc;

/// What came of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unlinked {
    /// These pages are free, and in no structure: the leaf, and branches that led to it alone.
    Done(Vec<PageId>),
    /// It is all there is of the tree.
    TheOnlyLeaf,
    /// It is in use again, or cannot be found yet: a neighbour without keys may have to go first.
    NotNow,
}

/// A leaf without rows, and how it is found.
pub struct Emptied {
    id: PageId,
    /// The key of a ghost on it.
    key: Option<Vec<u8>>,
    next: PageId,
}

/// A branch on the way down.
#[derive(Debug, Clone, Copy)]
struct Step {
    id: PageId,
    /// Where it leads on.
    slot: u16,
    children: u16,
}

impl Emptied {
    /// Notes what is needed of a leaf that is latched.
    pub fn of(storage: &DatabaseStorage, leaf: PageRef<'_>, id: PageId) -> Result<Emptied> {
        let key = match leaf.slot_count() {
            0 => None,
            _ => Some(key_at(storage, leaf, id, 0)?.to_vec()),
        };
        Ok(Emptied {
            id,
            key,
            next: leaf.next(),
        })
    }
}

/// Takes a leaf out of its tree and makes it a free page, if it has no rows and nobody active has a record to undo that names it. The caller lets no
/// one else do so in this tree meanwhile, and holds no latch.
///
/// # Errors
/// 9002 when the log is full, 823 and 824 for pages.
pub fn unlink(
    storage: &DatabaseStorage,
    space: &Arc<ObjectSpace>,
    emptied: &Emptied,
    horizon: Horizon,
) -> Result<Unlinked> {
    let tree = Tree {
        root: space.root(),
        table: 0,
        space: space.clone(),
    };
    let Some(way) = tree.way_to(storage, emptied)? else {
        return Ok(Unlinked::NotNow);
    };
    let Some(kept) = way.iter().rposition(|step| step.children > 1) else {
        return Ok(Unlinked::TheOnlyLeaf);
    };
    let leaving: Vec<PageId> = way[kept + 1..].iter().map(|step| step.id).chain([emptied.id]).collect();
    let done = tree.unlink_below(storage, way[kept], &leaving, horizon)?;
    Ok(if done {
        Unlinked::Done(leaving)
    } else {
        Unlinked::NotNow
    })
}

impl Tree {
    /// The branches on the way to a leaf without rows, from the root down. `None` when it is not there.
    fn way_to(&self, storage: &DatabaseStorage, emptied: &Emptied) -> Result<Option<Vec<Step>>> {
        let way = match (&emptied.key, emptied.next) {
            (Some(key), _) => self.way_by(storage, |view, id| self.child_slot(storage, view, id, key))?,
            (None, PageId::NONE) => self.way_by(storage, |view, _| Ok(view.slot_count().saturating_sub(1)))?,
            (None, next) => {
                let Some(key) = self.first_key_of(storage, next)? else {
                    return Ok(None);
                };
                let way = self.way_by(storage, |view, id| self.child_slot(storage, view, id, &key))?;
                match self.way_left_of(storage, way)? {
                    Some(way) => way,
                    None => return Ok(None),
                }
            }
        };
        let Some(last) = way.last() else {
            return Ok(Some(way)); // a tree of one leaf
        };
        let parent = read(storage, last.id)?;
        let leads_there = last.slot < parent.view().slot_count()
            && self.child(storage, parent.view(), last.id, last.slot)? == emptied.id;
        Ok(leads_there.then_some(way))
    }

    fn first_key_of(&self, storage: &DatabaseStorage, leaf: PageId) -> Result<Option<Vec<u8>>> {
        let page = read(storage, leaf)?;
        self.check_leaf(storage, page.view(), leaf)?;
        match page.view().slot_count() {
            0 => Ok(None),
            _ => key_at(storage, page.view(), leaf, 0).map(|key| Some(key.to_vec())),
        }
    }

    /// The branches on the way that `choose` takes, down to a leaf's parent.
    fn way_by(
        &self,
        storage: &DatabaseStorage,
        choose: impl Fn(PageRef<'_>, PageId) -> Result<u16>,
    ) -> Result<Vec<Step>> {
        let mut way = Vec::new();
        self.go_down(storage, self.root_page(), &choose, &mut way)?;
        Ok(way)
    }

    fn go_down(
        &self,
        storage: &DatabaseStorage,
        from: PageId,
        choose: &impl Fn(PageRef<'_>, PageId) -> Result<u16>,
        way: &mut Vec<Step>,
    ) -> Result<()> {
        let mut page = read(storage, from)?;
        while page.view().level() > 0 {
            let (view, id) = (page.view(), page.id());
            let slot = choose(view, id)?;
            way.push(Step {
                id,
                slot,
                children: view.slot_count(),
            });
            if view.level() == 1 {
                break;
            }
            let child = read(storage, self.child(storage, view, id, slot)?)?;
            super::check_level(storage, child.view(), child.id(), page.view().level())?;
            page = child;
        }
        Ok(())
    }

    /// The way to the leaf just left of the one that a way leads to.
    fn way_left_of(&self, storage: &DatabaseStorage, mut way: Vec<Step>) -> Result<Option<Vec<Step>>> {
        while way.last().is_some_and(|step| step.slot == 0) {
            way.pop();
        }
        let Some(turn) = way.last_mut() else { return Ok(None) };
        turn.slot -= 1;
        let turn = *turn;
        let below = {
            let page = read(storage, turn.id)?;
            if page.view().level() == 1 || turn.slot >= page.view().slot_count() {
                return Ok(Some(way));
            }
            self.child(storage, page.view(), turn.id, turn.slot)?
        };
        let last = |view: PageRef<'_>, _: PageId| Ok(view.slot_count().saturating_sub(1));
        self.go_down(storage, below, &last, &mut way)?;
        Ok(Some(way))
    }

    /// Takes the pages `leaving` out of their levels, the first of them out of the branch `kept`. False when something is not as it was.
    fn unlink_below(
        &self,
        storage: &DatabaseStorage,
        kept: Step,
        leaving: &[PageId],
        horizon: Horizon,
    ) -> Result<bool> {
        let mut branch = write(storage, kept.id)?;
        let view = branch.view();
        let is_there = view.kind() == Some(PageKind::TreeBranch)
            && view.object() == self.root.object
            && view.slot_count() > 1
            && kept.slot < view.slot_count();
        if !is_there || Some(&self.child(storage, view, kept.id, kept.slot)?) != leaving.first() {
            return Ok(false);
        }
        let mut levels = Vec::with_capacity(leaving.len());
        for (depth, id) in leaving.iter().enumerate() {
            match self.latch_with_neighbours(storage, *id, leaving.get(depth + 1).copied())? {
                Some(level) => levels.push(level),
                None => return Ok(false),
            }
        }
        let is_free = levels.last().is_some_and(|leaf| horizon.frees_page(leaf.page.view()));
        if !is_free {
            return Ok(false);
        }
        self.space.count_given_up();
        self.log_unlinked(storage, &mut branch, kept.slot, &mut levels)
            .map(|()| true)
    }

    /// Latches a page that is to leave its level, between its neighbours: a branch with one child, `only`, or a leaf.
    fn latch_with_neighbours<'s>(
        &self,
        storage: &'s DatabaseStorage,
        id: PageId,
        only: Option<PageId>,
    ) -> Result<Option<Level<'s>>> {
        let Some(child) = only else {
            return self.latch_level(storage, id, PageKind::TreeLeaf);
        };
        let Some(level) = self.latch_level(storage, id, PageKind::TreeBranch)? else {
            return Ok(None);
        };
        let view = level.page.view();
        let leads_on = view.slot_count() == 1 && self.child(storage, view, id, 0)? == child;
        Ok(leads_on.then_some(level))
    }

    /// Latches a page of a kind between its neighbours; `None` when it is not what it was thought to be.
    pub(super) fn latch_level<'s>(
        &self,
        storage: &'s DatabaseStorage,
        id: PageId,
        kind: PageKind,
    ) -> Result<Option<Level<'s>>> {
        // Latches go from left to right, so the left neighbour is looked up first. It may have split by the time it is latched.
        let previous = read(storage, id)?.view().previous();
        let left = match previous.is_none() {
            true => None,
            false => Some(write(storage, previous)?),
        };
        let page = write(storage, id)?;
        let view = page.view();
        let is_ours = view.kind() == Some(kind) && view.object() == self.root.object && view.previous() == previous;
        if !is_ours || left.as_ref().is_some_and(|left| left.view().next() != id) {
            return Ok(None);
        }
        let next = view.next();
        let right = match next.is_none() {
            true => None,
            false => Some(write(storage, next)?),
        };
        for neighbour in left.iter().chain(&right) {
            self.check_page(storage, neighbour.view(), neighbour.id(), page.view().level())?;
        }
        Ok(Some(Level { left, page, right }))
    }

    fn log_unlinked<'s>(
        &self,
        storage: &'s DatabaseStorage,
        branch: &mut PageWrite<'s>,
        slot: u16,
        levels: &mut [Level<'s>],
    ) -> Result<()> {
        let links: Vec<([u8; PageId::BYTES], [u8; PageId::BYTES])> = levels
            .iter()
            .map(|level| {
                (
                    level.page.view().previous().to_bytes(),
                    level.page.view().next().to_bytes(),
                )
            })
            .collect();
        let mut planned = vec![Planned {
            page: branch,
            operation: PageOperation::RemoveShift { slot, before: &[] },
        }];
        for (level, (previous, next)) in levels.iter_mut().zip(&links) {
            if let Some(left) = &mut level.left {
                planned.push(Planned {
                    page: left,
                    operation: set_link(AT_NEXT, next),
                });
            }
            planned.push(Planned {
                page: &mut level.page,
                operation: free_page(self.root.object),
            });
            if let Some(right) = &mut level.right {
                planned.push(Planned {
                    page: right,
                    operation: set_link(AT_PREVIOUS, previous),
                });
            }
        }
        let subject = Subject::structure(self.root.object);
        log_and_apply(storage, Author::System, subject, &mut planned).map(|_| ())
    }
}

/// A page that leaves its level, and its neighbours.
pub(super) struct Level<'s> {
    pub left: Option<PageWrite<'s>>,
    pub page: PageWrite<'s>,
    pub right: Option<PageWrite<'s>>,
}
