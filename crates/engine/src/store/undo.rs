//! Taking changes back: rollback, and the undo pass of recovery.
//!
//! Each change names how it is taken back. In a heap, rows keep their place, so the operation is inverted on the same page
//! and slot. In a tree, splits move rows to the right, so the row is looked for by its key from the page it was on. Either way
//! the space is there: freed bytes stay reserved until their transaction is over (see [`crate::page`]), and log space
//! for the compensation record was reserved when the change was logged. What is taken back is recorded with the LSN of
//! the next change to take back, so that no change is ever taken back twice.

use super::change::{Author, Planned, Subject, damage, foreign, log_and_apply, write};
use super::space::SpaceMap;
use super::tree;
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::log::{OwnedRecord, TransactionChain};
use crate::page::{Change, Damage, PageId, PageKind, PageOperation, UndoKind};

/// Takes back the change of one record of the transaction; the next one to take back is the record before it. A structure
/// change is left as it is, and nothing is logged for it.
///
/// # Errors
/// 824 when page and record contradict each other, 823, 9001; never 9002.
pub fn undo(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    chain: &mut TransactionChain,
    record: &OwnedRecord,
) -> Result<()> {
    let change = Change::decode(&record.payload).map_err(|found| record_damage(storage, found))?;
    if change.undo == UndoKind::None {
        return Ok(());
    }
    let entry = change
        .entries()
        .next()
        .ok_or_else(|| record_damage(storage, Damage("a change without pages")))?;
    let (page, operation) = entry.map_err(|found| record_damage(storage, found))?;
    let author = Author::Rollback(chain, record.header.previous);
    match change.undo {
        UndoKind::None => Ok(()),
        UndoKind::HeapInsert | UndoKind::HeapDelete | UndoKind::HeapUpdate => {
            undo_in_place(storage, author, &change, page, &operation)?;
            space.note_reclaimable(change.object, page);
            Ok(())
        }
        UndoKind::TreeInsert | UndoKind::TreeDelete | UndoKind::TreeUpdate => {
            tree::undo_by_key(storage, author, &change, page, &operation)
        }
        UndoKind::Fill => {
            tree::empty_split_off_pages(storage, &change, page)?;
            undo_fill(storage, author, &change, page)?;
            space.note_reclaimable(change.object, page);
            Ok(())
        }
    }
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
