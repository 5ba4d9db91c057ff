//! Making room: splits from the root down, each one change without undo.
//!
//! | what | pages in the record |
//! |---|---|
//! | root grows | root: image with one separator; new child: image of the old root |
//! | page in the middle | page and new right page: images of their halves; right neighbour: link; parent: separator |
//! | leaf at the right end, new key after all others | new right leaf: format; leaf: link; parent: separator |
//!
//! Images include what undo may still need: both halves keep the page's reserve and the LSN of its newest change, which the horizon must
//! pass first. So a page from which rows were moved stays in the tree as long as a transaction is open that has changed one of them there
//! (`store::ghosts`).

use super::super::change::{Author, Planned, Subject, damage, fresh, log_and_apply, write};
use super::super::reserve::{Gain, set_aside_for_page};
use super::super::row::encode_tree_row;
use super::{KEY_BYTES_MAX, Tree, empty_leaf, key_at};
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageBytes, PageId, PageKind, PageOperation, PageRef, ROW_OVERHEAD_BYTES, apply};
use crate::store::{Placement, StoreContext};
use vlf::Lsn;

/// Room every branch on the way down must have: a separator with the longest key.
const SEPARATOR_BYTES_MAX: usize = 3 + KEY_BYTES_MAX + PageId::BYTES + ROW_OVERHEAD_BYTES;
/// Offsets in the header (see [`crate::page`]) that halves of a page take over: `reclaim_lsn` and `reserved_bytes`.
const UNDO_NEEDS: std::ops::Range<usize> = 48..60;
const RECLAIM_LSN: std::ops::Range<usize> = 48..58;
pub(super) const AT_NEXT: u16 = 36;
pub(super) const AT_PREVIOUS: u16 = 42;

/// Where a page is cut.
struct Cut {
    /// The first slot that moves to the right.
    slot: u16,
    /// The lowest key of the right page.
    separator: Vec<u8>,
}

impl Tree {
    /// Splits what must be split for a row of `row_bytes` with this key to fit, one leaf split at most. The caller descends
    /// again: between the two, others may use the room.
    pub(super) fn split_for(&self, ctx: &mut StoreContext<'_>, key: &[u8], row_bytes: usize) -> Result<()> {
        self.descend_splitting(ctx, key, |tree, ctx, parent, leaf, slot| {
            if tree.has_room(ctx.storage, leaf.view(), row_bytes, None) {
                return Ok(());
            }
            let is_last = leaf.view().next().is_none();
            let ends_before_key = match leaf.view().slot_count().checked_sub(1) {
                Some(last) => key_at(ctx.storage, leaf.view(), leaf.id(), last)? < key,
                None => true,
            };
            if is_last && ends_before_key {
                tree.append_leaf_after(ctx, parent, leaf, slot, key).map(|_| ())
            } else {
                tree.split_page(ctx, parent, leaf, slot, key)
            }
        })
    }

    /// Makes an empty leaf at the right end for keys from `key` on, and returns it; `None` when the tree holds keys that are
    /// not below `key`. The empty leaf that may already be there is used.
    pub(in crate::store) fn append_leaf(&self, ctx: &mut StoreContext<'_>, key: &[u8]) -> Result<Option<PageId>> {
        self.descend_splitting(ctx, key, |tree, ctx, parent, leaf, slot| {
            if !leaf.view().next().is_none() {
                return Ok(None);
            }
            let Some(last) = leaf.view().slot_count().checked_sub(1) else {
                return Ok(Some(leaf.id()));
            };
            if key_at(ctx.storage, leaf.view(), leaf.id(), last)? >= key {
                return Ok(None);
            }
            tree.append_leaf_after(ctx, parent, leaf, slot, key).map(Some)
        })
    }

    /// Descends with exclusive latches to the leaf of `key`, making sure that its parent has room for a separator, and hands
    /// over parent, leaf and the leaf's slot in the parent. A tree of one leaf grows a root above it first.
    fn descend_splitting<'s, T>(
        &self,
        ctx: &mut StoreContext<'s>,
        key: &[u8],
        at_leaf: impl FnOnce(&Tree, &mut StoreContext<'s>, &mut PageWrite<'s>, PageWrite<'s>, u16) -> Result<T>,
    ) -> Result<T> {
        let storage = ctx.storage;
        let mut parent = write(storage, self.root_page())?;
        self.check_page(storage, parent.view(), parent.id(), parent.view().level())?;
        if parent.view().level() == 0 || !self.has_separator_room(storage, &parent) {
            self.grow_root(ctx, &mut parent)?;
        }
        loop {
            let (level, parent_id) = (parent.view().level(), parent.id());
            let slot = self.child_slot(storage, parent.view(), parent_id, key)?;
            let child = write(storage, self.child(storage, parent.view(), parent_id, slot)?)?;
            self.check_page(storage, child.view(), child.id(), level - 1)?;
            if level == 1 {
                return at_leaf(self, ctx, &mut parent, child, slot);
            }
            if self.has_separator_room(storage, &child) {
                parent = child;
            } else {
                self.split_page(ctx, &mut parent, child, slot, key)?;
            }
        }
    }

    fn has_separator_room(&self, storage: &DatabaseStorage, page: &PageWrite<'_>) -> bool {
        page.view().usable_free(storage.oldest_active.load()) >= SEPARATOR_BYTES_MAX
    }

    /// Moves the root's content to a new child and makes the root a branch above it.
    fn grow_root<'s>(&self, ctx: &mut StoreContext<'s>, root: &mut PageWrite<'s>) -> Result<()> {
        let storage = ctx.storage;
        let child_id = self
            .space
            .take_page(storage, ctx.space, ctx.chain, Placement::Anywhere)?;
        let mut child = fresh(storage, child_id)?;
        let mut child_image = Vec::with_capacity(PAGE_BYTES);
        root.view().image_into(&mut child_image);
        let level = root.view().level().checked_add(1);
        let level = level.ok_or_else(|| Error::assertion("a tree has 255 levels"))?;
        let mut first = Vec::new();
        encode_tree_row(&[], &child_id.to_bytes(), &mut first);
        let format = PageOperation::Format {
            kind: PageKind::TreeBranch,
            level,
            object: self.root.object,
            next: PageId::NONE,
            previous: PageId::NONE,
        };
        let root_image = build_image(storage, root.id(), &format, std::iter::once(&first[..]))?;
        let mut planned = [
            Planned {
                page: root,
                operation: PageOperation::Image { bytes: &root_image },
            },
            Planned {
                page: &mut child,
                operation: PageOperation::Image { bytes: &child_image },
            },
        ];
        let subject = Subject::structure(self.root.object);
        log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        set_aside_for_page(ctx, Gain::NewPage);
        Ok(())
    }

    /// Puts an empty leaf to the right of the last one.
    fn append_leaf_after<'s>(
        &self,
        ctx: &mut StoreContext<'s>,
        parent: &mut PageWrite<'s>,
        mut leaf: PageWrite<'s>,
        slot: u16,
        key: &[u8],
    ) -> Result<PageId> {
        let storage = ctx.storage;
        let right_id = self
            .space
            .take_page(storage, ctx.space, ctx.chain, Placement::Anywhere)?;
        let mut right = fresh(storage, right_id)?;
        let mut separator = Vec::new();
        encode_tree_row(key, &right_id.to_bytes(), &mut separator);
        let link = right_id.to_bytes();
        let format = empty_leaf(self.root.object, PageId::NONE, leaf.id());
        let mut planned = [
            Planned {
                page: &mut right,
                operation: format,
            },
            Planned {
                page: &mut leaf,
                operation: set_link(AT_NEXT, &link),
            },
            Planned {
                page: parent,
                operation: PageOperation::InsertShift {
                    slot: slot + 1,
                    row: &separator,
                },
            },
        ];
        let subject = Subject::structure(self.root.object);
        log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        set_aside_for_page(ctx, Gain::NewPage);
        Ok(right_id)
    }

    /// Moves the upper rows of a page to a new page on its right.
    fn split_page<'s>(
        &self,
        ctx: &mut StoreContext<'s>,
        parent: &mut PageWrite<'s>,
        mut page: PageWrite<'s>,
        slot: u16,
        key: &[u8],
    ) -> Result<()> {
        let storage = ctx.storage;
        let cut = self.choose_cut(storage, page.view(), page.id(), key)?;
        let right_id = self
            .space
            .take_page(storage, ctx.space, ctx.chain, Placement::Anywhere)?;
        let mut right = fresh(storage, right_id)?;
        let neighbour_id = page.view().next();
        let mut neighbour = if neighbour_id.is_none() {
            None
        } else {
            let neighbour = write(storage, neighbour_id)?;
            self.check_page(storage, neighbour.view(), neighbour_id, page.view().level())?;
            Some(neighbour)
        };
        let left_image = self.half(
            storage,
            &page,
            page.id(),
            0..cut.slot,
            (right_id, page.view().previous()),
        )?;
        let slot_count = page.view().slot_count();
        let right_image = self.half(
            storage,
            &page,
            right_id,
            cut.slot..slot_count,
            (neighbour_id, page.id()),
        )?;
        let mut separator = Vec::new();
        encode_tree_row(&cut.separator, &right_id.to_bytes(), &mut separator);
        let link = right_id.to_bytes();
        let mut planned = Vec::with_capacity(4);
        planned.push(Planned {
            page: &mut page,
            operation: PageOperation::Image { bytes: &left_image },
        });
        planned.push(Planned {
            page: &mut right,
            operation: PageOperation::Image { bytes: &right_image },
        });
        if let Some(neighbour) = &mut neighbour {
            planned.push(Planned {
                page: neighbour,
                operation: set_link(AT_PREVIOUS, &link),
            });
        }
        planned.push(Planned {
            page: parent,
            operation: PageOperation::InsertShift {
                slot: slot + 1,
                row: &separator,
            },
        });
        let subject = Subject::structure(self.root.object);
        log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        set_aside_for_page(ctx, Gain::Split);
        Ok(())
    }

    /// Cuts a page in two halves of about equal bytes; at the right end of a level, where keys grow, behind the last row but one.
    fn choose_cut(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, key: &[u8]) -> Result<Cut> {
        let slot_count = page.slot_count();
        let is_branch = page.level() > 0;
        let key_of = |slot: u16| key_at(storage, page, id, slot);
        if slot_count < 2 {
            // A page without rows has room for any, so there is one. It stays where it is or moves as a whole.
            let is_below = key_of(0)? < key;
            let separator = if is_below { key } else { key_of(0)? };
            return Ok(Cut {
                slot: u16::from(is_below),
                separator: separator.to_vec(),
            });
        }
        let grows_at_end = is_branch && page.next().is_none() && key_of(slot_count - 1)? <= key;
        let slot = if grows_at_end {
            slot_count - 1
        } else {
            middle_slot(page)
        };
        Ok(Cut {
            slot,
            separator: key_of(slot)?.to_vec(),
        })
    }

    /// The image of a half of a page: rows of some slots, new links, and the whole page's needs of undo.
    fn half(
        &self,
        storage: &DatabaseStorage,
        page: &PageWrite<'_>,
        id: PageId,
        slots: std::ops::Range<u16>,
        (next, previous): (PageId, PageId),
    ) -> Result<Vec<u8>> {
        let view = page.view();
        let format = PageOperation::Format {
            kind: if view.level() > 0 {
                PageKind::TreeBranch
            } else {
                PageKind::TreeLeaf
            },
            level: view.level(),
            object: self.root.object,
            next,
            previous,
        };
        let is_empty = slots.is_empty();
        let mut image = build_image(storage, id, &format, slots.filter_map(|slot| view.row(slot)))?;
        if !is_empty {
            image[UNDO_NEEDS].copy_from_slice(&view.bytes()[UNDO_NEEDS]);
        }
        let newest = view.reclaim_lsn().max(view.lsn());
        image[RECLAIM_LSN].copy_from_slice(&newest.to_bytes());
        Ok(image)
    }
}

/// The first slot of the upper half by bytes; at least one row stays on each side.
fn middle_slot(page: PageRef<'_>) -> u16 {
    let bytes_of = |slot: u16| page.row(slot).map_or(0, <[u8]>::len) + ROW_OVERHEAD_BYTES;
    let total: usize = (0..page.slot_count()).map(bytes_of).sum();
    let mut left = 0;
    for slot in 0..page.slot_count() {
        left += bytes_of(slot);
        if left * 2 >= total {
            return (slot + 1).min(page.slot_count() - 1);
        }
    }
    page.slot_count() / 2
}

/// What [`PageOperation::Image`] carries for a page of these rows.
fn build_image<'r>(
    storage: &DatabaseStorage,
    id: PageId,
    format: &PageOperation<'_>,
    rows: impl Iterator<Item = &'r [u8]>,
) -> Result<Vec<u8>> {
    let mut bytes: PageBytes = [0; PAGE_BYTES];
    let failed = |found| damage(storage, id, found);
    apply(id, &mut bytes, format, Lsn::ZERO).map_err(failed)?;
    for (slot, row) in (0..).zip(rows) {
        apply(id, &mut bytes, &PageOperation::InsertShift { slot, row }, Lsn::ZERO).map_err(failed)?;
    }
    let mut image = Vec::with_capacity(PAGE_BYTES);
    PageRef::new(&bytes).image_into(&mut image);
    Ok(image)
}

pub(super) fn set_link(offset: u16, link: &[u8]) -> PageOperation<'_> {
    PageOperation::SetBytes {
        offset,
        before: &[],
        after: link,
    }
}
