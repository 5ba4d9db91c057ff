//! Moves a page of a tree to another page of the file.
//!
//! ```text
//! branch   [a -> A] [m -> P] [t -> B]          branch   [a -> A] [m -> N] [t -> B]
//! level        A <-> P <-> B               =>  level        A <-> N <-> B           P is free
//! ```
//! The move is one change of the page, its two neighbours, its parent and the new page, without undo. The new page is a byte for byte copy.
//! The search works as for a leaf without rows (`unlink`): it finds the parent with shared latches, then latches parent, left neighbour,
//! page and right neighbour exclusively, from above and from left to right. The root never moves this way.
//!
//! Invariant: a leaf moves only if its last change is older than every open transaction. So no transaction has a change to undo that names
//! it.

use super::super::change::{Author, Planned, Subject, fresh, log_and_apply, read, write};
use super::super::ghosts::free_page;
use super::super::space::ObjectSpace;
use super::unlink::Level;
use super::{AT_NEXT, AT_PREVIOUS, Tree, check_level, key_at, parse, set_link};
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::Result;
use crate::page::{PAGE_BYTES, PageId, PageKind, PageOperation, PageRef};
use std::sync::Arc;
use vlf::Lsn;

/// Moves a page of a tree to `to`, which belongs to the tree and is in no structure. Answers the newest deletion on it; `None`, and nothing
/// has changed, when it is the root or not in the tree, or when an open transaction may have to undo a change of it. The caller lets no one
/// else give up pages of this tree meanwhile, and holds no latch.
///
/// # Errors
/// 9002 when the log is full, 823 and 824 for pages.
pub fn relocate(storage: &DatabaseStorage, space: &Arc<ObjectSpace>, from: PageId, to: PageId) -> Result<Option<Lsn>> {
    let tree = Tree {
        root: space.root(),
        table: 0,
        space: space.clone(),
    };
    let Some((parent, slot)) = tree.parent_of(storage, from)? else {
        return Ok(None);
    };
    let mut branch = write(storage, parent)?;
    let view = branch.view();
    let is_there =
        view.kind() == Some(PageKind::TreeBranch) && view.object() == tree.root.object && slot < view.slot_count();
    if !is_there || tree.child(storage, view, parent, slot)? != from {
        return Ok(None);
    }
    let kind = match view.level() {
        1 => PageKind::TreeLeaf,
        _ => PageKind::TreeBranch,
    };
    let Some(mut level) = tree.latch_level(storage, from, kind)? else {
        return Ok(None);
    };
    let view = level.page.view();
    if view.level() == 0 && view.lsn() >= storage.oldest_active.load() {
        return Ok(None);
    }
    let since = view.reclaim_lsn();
    tree.space.count_given_up();
    tree.log_relocated(storage, (&mut branch, slot), &mut level, to)?;
    Ok(Some(since))
}

impl Tree {
    /// The branch that leads to a page, and the slot by which it does; `None` for the root and for a page that is not in the tree.
    fn parent_of(&self, storage: &DatabaseStorage, id: PageId) -> Result<Option<(PageId, u16)>> {
        let Some((level, key)) = self.level_and_key(storage, id)? else {
            return Ok(None);
        };
        let mut page = read(storage, self.root_page())?;
        while page.view().level() > level {
            let (view, at) = (page.view(), page.id());
            let slot = self.child_slot(storage, view, at, &key)?;
            let child = self.child(storage, view, at, slot)?;
            if view.level() == level + 1 {
                return Ok((child == id).then_some((at, slot)));
            }
            let child = read(storage, child)?;
            check_level(storage, child.view(), child.id(), page.view().level())?;
            page = child;
        }
        Ok(None)
    }

    /// The level of a page, and a key that leads to it. The first separator of a branch need not be one.
    fn level_and_key(&self, storage: &DatabaseStorage, id: PageId) -> Result<Option<(u8, Vec<u8>)>> {
        let is_ours = |page: PageRef<'_>| {
            let kind = page.kind();
            matches!(kind, Some(PageKind::TreeLeaf | PageKind::TreeBranch)) && page.object() == self.root.object
        };
        let mut page = read(storage, id)?;
        let level = page.view().level();
        loop {
            let view = page.view();
            let slots = view.slot_count();
            if !is_ours(view) || slots == 0 {
                return Ok(None);
            }
            if view.level() == 0 || slots > 1 {
                let slot = u16::from(view.level() > 0);
                let key = key_at(storage, view, page.id(), slot)?.to_vec();
                return Ok(Some((level, key)));
            }
            let child = read(storage, self.child(storage, view, page.id(), 0)?)?;
            check_level(storage, child.view(), child.id(), view.level())?;
            page = child;
        }
    }

    fn log_relocated<'s>(
        &self,
        storage: &'s DatabaseStorage,
        (branch, slot): (&mut PageWrite<'s>, u16),
        level: &mut Level<'s>,
        to: PageId,
    ) -> Result<()> {
        let (link, former) = (to.to_bytes(), level.page.id().to_bytes());
        let mut image = Vec::with_capacity(PAGE_BYTES);
        level.page.view().image_into(&mut image);
        let row = branch.view().row(slot).unwrap_or_default();
        let child_bytes = parse(storage, branch.id(), row)?.1.len();
        let offset = (row.len() - child_bytes) as u16; // rows are shorter than a page
        let mut new = fresh(storage, to)?;
        let mut planned = vec![Planned {
            page: branch,
            operation: PageOperation::PatchRow {
                slot,
                offset,
                before: &former,
                after: &link,
            },
        }];
        if let Some(left) = &mut level.left {
            planned.push(Planned {
                page: left,
                operation: set_link(AT_NEXT, &link),
            });
        }
        planned.push(Planned {
            page: &mut new,
            operation: PageOperation::Image { bytes: &image },
        });
        planned.push(Planned {
            page: &mut level.page,
            operation: free_page(self.root.object),
        });
        if let Some(right) = &mut level.right {
            planned.push(Planned {
                page: right,
                operation: set_link(AT_PREVIOUS, &link),
            });
        }
        let subject = Subject::structure(self.root.object);
        log_and_apply(storage, Author::System, subject, &mut planned).map(|_| ())
    }
}
