//! Undoing changes: rollback, and the undo pass of recovery.
//!
//! Each change says how it is undone. In a heap, rows keep their place, so the operation is inverted on the same page and slot. In a tree,
//! splits move rows to the right, so undo searches for the row by its key, starting at its old page. In both cases the space is available:
//! freed bytes stay reserved until their transaction is over (see [`crate::page`]), and log space for the compensation record was reserved
//! when the change was logged. The undo is logged with the LSN of the next change to undo, so no change is ever undone twice.

use super::change::{Author, Planned, Subject, UndoStep, UndoneBy, damage, foreign, log_and_apply, write};
use super::large;
use super::space::SpaceMap;
use super::tree;
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::log::{OwnedRecord, TransactionChain};
use crate::page::{Change, Damage, ObjectId, PageId, PageKind, PageOperation, UndoKind};
use std::collections::HashMap;
use vlf::Lsn;

/// Pages read ahead of a rollback that walks down through them.
const PAGES_AHEAD: u32 = 64;
/// Pages met one below the other before a rollback counts as walking down: fewer are as well read one by one.
const STEPS_DOWN_MIN: u32 = 4;
/// The furthest from one page to the next below it: an extent of others may lie between.
const STEP_PAGES_MAX: u32 = 16;

/// Reads ahead for a rollback. Rows that were written one after the other lie in pages one above the other, so taking them back goes
/// down. Where these have left memory, each would be waited for alone, and the rollback would take longer than the work.
#[derive(Debug)]
pub struct ReadDownward {
    /// The page met last.
    last: PageId,
    /// Pages met one below the other.
    steps: u32,
    /// All pages from here to `last` have been read.
    read_from: u32,
}

impl Default for ReadDownward {
    /// Nothing met yet.
    fn default() -> ReadDownward {
        ReadDownward {
            last: PageId::NONE,
            steps: 0,
            read_from: 0,
        }
    }
}

impl ReadDownward {
    /// A change of a page was undone.
    pub fn met(&mut self, storage: &DatabaseStorage, page: PageId) {
        if page == self.last {
            return;
        }
        let is_below = page.file == self.last.file && page.page < self.last.page;
        self.steps = match is_below && self.last.page - page.page <= STEP_PAGES_MAX {
            true => self.steps + 1,
            false => 0,
        };
        self.last = page;
        if self.steps == 0 {
            self.read_from = page.page;
        }
        if self.steps < STEPS_DOWN_MIN || page.page > self.read_from {
            return;
        }
        let first = page.page.saturating_sub(PAGES_AHEAD);
        self.read_from = first;
        let id = PageId::new(page.file, first);
        // A hint: a page that cannot be read says so when it is wanted.
        let _ = storage.pool.read_ahead(storage.id, id, page.page - first);
    }
}

/// Pages of trees that a rollback in order has emptied last, of those that were filled. Pages are filled from left to right, and what is behind the last
/// one was looked at with it.
#[derive(Debug, Default)]
pub struct FilledPages(HashMap<ObjectId, PageId>);

/// Undoes the change of one record of the transaction; the next one to undo is the record before it. A structure
/// change is left as it is, and nothing is logged for it. Answers the page that the change was of, if it was undone.
///
/// # Errors
/// 824 when page and record contradict each other, 823, 9001; never 9002.
pub fn undo(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    chain: &mut TransactionChain,
    record: &OwnedRecord,
    filled: &mut FilledPages,
) -> Result<Option<PageId>> {
    undo_and_go_on((storage, space), chain, record, Some(record.header.previous), filled)
}

/// As [`undo`], of a change that is undone before those behind it: a later rollback meets the record again, and skips it ([`is_undone_first`]).
///
/// # Errors
/// Those of [`undo`].
pub fn undo_first(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    chain: &mut TransactionChain,
    record: &OwnedRecord,
) -> Result<()> {
    undo_and_go_on((storage, space), chain, record, None, &mut FilledPages::default()).map(|_| ())
}

/// Whether a change is one of those that a rollback undoes before it marks the transaction.
pub fn is_undone_first(record: &OwnedRecord) -> bool {
    Change::decode(&record.payload).is_ok_and(|change| UndoneBy::of(change.object, change.undo) == UndoneBy::Rollback)
}

fn undo_and_go_on(
    (storage, space): (&DatabaseStorage, &SpaceMap),
    chain: &mut TransactionChain,
    record: &OwnedRecord,
    next: Option<Lsn>,
    filled: &mut FilledPages,
) -> Result<Option<PageId>> {
    let change = Change::decode(&record.payload).map_err(|found| record_damage(storage, found))?;
    if change.undo == UndoKind::None {
        return Ok(None);
    }
    let entry = change
        .entries()
        .next()
        .ok_or_else(|| record_damage(storage, Damage("a change without pages")))?;
    let (page, operation) = entry.map_err(|found| record_damage(storage, found))?;
    let step = UndoStep {
        change: record.lsn,
        has_links: !record.links().is_empty(),
        next,
    };
    let author = Author::Rollback(chain, step);
    match change.undo {
        UndoKind::None => {}
        UndoKind::HeapInsert | UndoKind::HeapDelete | UndoKind::HeapUpdate => {
            undo_in_place(storage, author, &change, page, &operation)?;
            space.note_reclaimable(storage, change.object, page);
        }
        UndoKind::TreeInsert | UndoKind::TreeDelete | UndoKind::TreeUpdate => {
            let leaf = tree::undo_by_key(storage, author, &change, page, &operation)?;
            if change.undo == UndoKind::TreeInsert {
                space.note_reclaimable(storage, change.object, leaf);
            }
        }
        UndoKind::LargeWrite | UndoKind::LargeGiveUp => {
            large::undo(storage, space, author, &change)?;
            return Ok(None);
        }
        UndoKind::Fill => {
            let behind = filled.0.insert(change.object, page);
            tree::empty_split_off_pages(storage, &change, page, behind)?;
            undo_fill(storage, author, &change, page)?;
            space.note_reclaimable(storage, change.object, page);
        }
    }
    Ok(Some(page))
}

/// The unit to which a record added rows: `None` when it is about anything else, or cannot be read.
pub fn unit_added_to(record: &OwnedRecord) -> Option<(ObjectId, UndoKind)> {
    let change = Change::decode(&record.payload).ok()?;
    let adds = matches!(
        change.undo,
        UndoKind::HeapInsert | UndoKind::TreeInsert | UndoKind::Fill
    );
    adds.then_some((change.object, change.undo))
}

fn record_damage(storage: &DatabaseStorage, found: Damage) -> Error {
    Error::log_damaged(&storage.name, found.0)
}

/// The subject of a compensation record: redo only.
pub(super) fn compensation(change: &Change<'_>) -> Subject<'static> {
    Subject::structure(change.object)
}

fn undo_in_place(
    storage: &DatabaseStorage,
    author: Author<'_>,
    change: &Change<'_>,
    id: PageId,
    operation: &PageOperation<'_>,
) -> Result<()> {
    let inverse = operation.inverse();
    let operation = inverse.ok_or_else(|| record_damage(storage, Damage("a row's change without its way back")))?;
    let mut page = write(storage, id)?;
    if page.view().kind() != Some(PageKind::Heap) || page.view().object() != change.object {
        return Err(foreign(storage, id, page.view(), change.object, "a heap page"));
    }
    let mut planned = [Planned {
        page: &mut page,
        operation,
    }];
    log_and_apply(storage, author, compensation(change), &mut planned).map(|_| ())
}

/// Empties a page that was filled. It keeps its place in the object, and in a tree its neighbours of today.
fn undo_fill(storage: &DatabaseStorage, author: Author<'_>, change: &Change<'_>, id: PageId) -> Result<()> {
    let mut page = write(storage, id)?;
    let view = page.view();
    if view.object() != change.object {
        return Err(foreign(storage, id, view, change.object, "a filled page"));
    }
    let kind = view
        .kind()
        .filter(|kind| matches!(kind, PageKind::Heap | PageKind::TreeLeaf));
    let kind = kind.ok_or_else(|| damage(storage, id, Damage("a filled page has become one of another kind")))?;
    let operation = PageOperation::Format {
        kind,
        level: 0,
        object: change.object,
        next: view.next(),
        previous: view.previous(),
    };
    let mut planned = [Planned {
        page: &mut page,
        operation,
    }];
    log_and_apply(storage, author, compensation(change), &mut planned).map(|_| ())
}
