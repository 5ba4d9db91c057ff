//! Undo in a tree: the row is found by its key, starting at the page on which it changed.
//!
//! Since then splits may have moved it to the right, or the page may have become the root above its old contents. The page is still in the
//! tree: it may not leave before the end of every transaction with a change on it (`store::ghosts`). Rows never move to the left. So the
//! path leads down to a leaf and then only to the right, from latch to latch, and never reaches leaves that have left the tree.

use super::super::change::{Author, Planned, Subject, damaged, foreign, live_rows, log_and_apply, write};
use super::super::row::parse_tree_row;
use super::super::undo::compensation;
use super::{empty_leaf, key_at};
use crate::buffer::{DatabaseStorage, PageWrite};
use crate::error::{Error, Result};
use crate::page::{Change, PageId, PageKind, PageOperation, PageRef};

/// Undoes the change of one row. Answers the leaf that it is, or was, on.
pub fn undo_by_key(
    storage: &DatabaseStorage,
    author: Author<'_>,
    change: &Change<'_>,
    id: PageId,
    operation: &PageOperation<'_>,
) -> Result<PageId> {
    let mut page = leaf_below(storage, id, change)?;
    let slot = loop {
        match slot_of(storage, &page, change.key)? {
            Some(slot) => break slot,
            None => page = right_neighbour(storage, page, change)?,
        }
    };
    let inverse = operation.inverse().and_then(|inverse| at_slot(inverse, slot));
    let operation =
        inverse.ok_or_else(|| Error::log_damaged(&storage.name, "a tree row's change without its way back"))?;
    let mut planned = [Planned {
        page: &mut page,
        operation,
    }];
    log_and_apply(storage, author, compensation(change), &mut planned)?;
    Ok(page.id())
}

/// What undoes a row's change on a leaf whose latch is held: the inverse of its operation, if it has one, at the slot of its key. `None` when the key
/// is not on the leaf.
///
/// # Errors
/// 824 for a row that cannot be read.
pub fn inverse_on_leaf<'r>(
    storage: &DatabaseStorage,
    page: &PageWrite<'_>,
    key: &[u8],
    operation: &PageOperation<'r>,
) -> Result<Option<Option<PageOperation<'r>>>> {
    let slot = slot_of(storage, page, key)?;
    Ok(slot.map(|slot| operation.inverse().and_then(|inverse| at_slot(inverse, slot))))
}

/// Before a filled leaf is emptied: empties the pages on its right that later inserts of the same transaction split off it, up to the leaf `behind` if
/// that is known to lie behind them.
/// `change.key` is the last key filled in. Not part of the transaction: doing it twice does no harm. No split set log space aside for
/// this, so the log grows for it where it has to.
pub fn empty_split_off_pages(
    storage: &DatabaseStorage,
    change: &Change<'_>,
    id: PageId,
    behind: Option<PageId>,
) -> Result<()> {
    if change.key.is_empty() {
        return Ok(());
    }
    let mut next = leaf(storage, id, change)?.view().next();
    while !next.is_none() && Some(next) != behind {
        let mut page = leaf(storage, next, change)?;
        let first = page.view().row(0).and_then(parse_tree_row);
        if first.is_some_and(|(key, _)| key > change.key) {
            return Ok(());
        }
        next = page.view().next();
        if first.is_some() {
            storage.row_counts.add(change.object, -live_rows(page.view()));
            let operation = empty_leaf(change.object, next, page.view().previous());
            let mut planned = [Planned {
                page: &mut page,
                operation,
            }];
            log_and_apply(
                storage,
                Author::BesideRollback,
                Subject::structure(change.object),
                &mut planned,
            )?;
        }
    }
    Ok(())
}

/// The leaf a key was on: the page itself, or below it when the page was a root that has grown since.
fn leaf_below<'s>(storage: &'s DatabaseStorage, id: PageId, change: &Change<'_>) -> Result<PageWrite<'s>> {
    let mut page = write(storage, id)?;
    while page.view().kind() == Some(PageKind::TreeBranch) && page.view().object() == change.object {
        let child = child_for(storage, page.view(), page.id(), change.key)?;
        page = write(storage, child)?;
    }
    check_leaf(storage, page, change)
}

/// A leaf of the tree that changed.
fn leaf<'s>(storage: &'s DatabaseStorage, id: PageId, change: &Change<'_>) -> Result<PageWrite<'s>> {
    check_leaf(storage, write(storage, id)?, change)
}

fn check_leaf<'s>(storage: &DatabaseStorage, page: PageWrite<'s>, change: &Change<'_>) -> Result<PageWrite<'s>> {
    let view = page.view();
    if view.kind() != Some(PageKind::TreeLeaf) || view.object() != change.object {
        return Err(foreign(storage, page.id(), view, change.object, "a leaf"));
    }
    Ok(page)
}

/// The child of a branch that leads to a key.
pub fn child_for(storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, key: &[u8]) -> Result<PageId> {
    let mut slot = 0;
    for candidate in 1..page.slot_count() {
        if key_at(storage, page, id, candidate)? > key {
            break;
        }
        slot = candidate;
    }
    let child = page
        .row(slot)
        .and_then(parse_tree_row)
        .and_then(|(_, child)| child.first_chunk().copied());
    let child = child.map(PageId::from_bytes).filter(|child| *child != id);
    child.ok_or_else(|| damaged(storage, id, "a separator leads to no page"))
}

fn slot_of(storage: &DatabaseStorage, page: &PageWrite<'_>, key: &[u8]) -> Result<Option<u16>> {
    let view = page.view();
    let (mut low, mut high) = (0, view.slot_count());
    while low < high {
        let middle = low + (high - low) / 2;
        if key_at(storage, view, page.id(), middle)? < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let is_there = low < view.slot_count() && key_at(storage, view, page.id(), low)? == key;
    Ok(is_there.then_some(low))
}

fn right_neighbour<'s>(
    storage: &'s DatabaseStorage,
    page: PageWrite<'s>,
    change: &Change<'_>,
) -> Result<PageWrite<'s>> {
    let view = page.view();
    let has_passed = view
        .row(0)
        .and_then(parse_tree_row)
        .is_some_and(|(first, _)| first > change.key);
    if has_passed || view.next().is_none() {
        return Err(damaged(
            storage,
            page.id(),
            "the row of a change to be taken back is gone",
        ));
    }
    leaf(storage, view.next(), change)
}

fn at_slot<'r>(operation: PageOperation<'r>, slot: u16) -> Option<PageOperation<'r>> {
    Some(match operation {
        PageOperation::RemoveShift { before, .. } => PageOperation::RemoveShift { slot, before },
        PageOperation::SetStatus { before, after, .. } => PageOperation::SetStatus { slot, before, after },
        PageOperation::ReplaceRow { before, after, .. } => PageOperation::ReplaceRow { slot, before, after },
        PageOperation::PatchRow {
            offset, before, after, ..
        } => PageOperation::PatchRow {
            slot,
            offset,
            before,
            after,
        },
        PageOperation::FlipBits {
            offset, bit, bitmap, ..
        } => PageOperation::FlipBits {
            slot,
            offset,
            bit,
            bitmap,
        },
        _ => return None,
    })
}
