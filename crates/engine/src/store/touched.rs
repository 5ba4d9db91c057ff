//! The rows that the undo of a logged change will touch. Other sessions may neither see nor change them until then.

use super::change::{Subject, UndoneBy, read, undo_bytes};
use super::lock_information::LockInformation;
use super::row::{HeapRow, Rid, parse_heap_row};
use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::lock::Resource;
use crate::log::{COMPENSATION_HEADER_BYTES, Links, LogRecord, RECORD_HEADER_BYTES};
use crate::page::{Change, Damage, ObjectId, PageId, PageOperation, UndoKind};
use vlf::block::SLOT_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Nothing: the change stays.
    Nothing,
    /// Rows of a heap or tree, by the number that [`Resource::Row`] gives them.
    Rows(ObjectId, Vec<u64>),
    Everything(ObjectId),
}

/// What undo of `change` will touch. The change is in its page: redo is over.
///
/// # Errors
/// 9004 when the change cannot be read, 823 and 824 for its page.
pub fn touched(storage: &DatabaseStorage, change: &Change<'_>) -> Result<Touched> {
    match change.undo {
        // Nobody sees a page that a large value has written or given up but by its row.
        UndoKind::None | UndoKind::LargeWrite | UndoKind::LargeGiveUp => Ok(Touched::Nothing),
        UndoKind::Fill => Ok(Touched::Everything(change.object)),
        UndoKind::TreeInsert | UndoKind::TreeDelete | UndoKind::TreeUpdate => {
            match Resource::tree_row(storage.id.0, change.object.0, change.key) {
                Resource::Row(_, _, row) => Ok(Touched::Rows(change.object, vec![row])),
                _ => Ok(Touched::Everything(change.object)),
            }
        }
        UndoKind::HeapInsert | UndoKind::HeapDelete | UndoKind::HeapUpdate => {
            let damage = |found: Damage| Error::log_damaged(&storage.name, found.0);
            let entry = change.entries().next().transpose().map_err(damage)?;
            let (page, operation) = entry.ok_or_else(|| damage(Damage("a change without pages")))?;
            match operation.slot() {
                Some(slot) => heap_rows(storage, change.object, Rid { page, slot }),
                None => Ok(Touched::Everything(change.object)),
            }
        }
    }
}

/// The row, and if it was forwarded here the row that points to it: that one carries the lock.
fn heap_rows(storage: &DatabaseStorage, object: ObjectId, rid: Rid) -> Result<Touched> {
    let page = read(storage, rid.page)?;
    let home = match page.view().row(rid.slot).and_then(parse_heap_row) {
        Some(HeapRow::Forwarded(home, _)) => Some(home.to_u64()),
        _ => None,
    };
    Ok(Touched::Rows(
        object,
        std::iter::once(rid.to_u64()).chain(home).collect(),
    ))
}

/// By what a change is undone if its transaction is rolled back by marking (`crate::marked`), and the log space that its compensation record takes at
/// most, in bytes. `None` when it can be undone in order only.
pub fn undone_by(record: &LogRecord<'_>) -> Option<(UndoneBy, u64)> {
    let change = Change::decode(record.payload)
        .ok()
        .filter(|_| !record.links().is_empty())?;
    let undone_by = UndoneBy::of(change.object, change.undo);
    // The inverse of a row's change is no longer than the change.
    let bytes = record.bytes.len() + Links::OF_COMPENSATION_BYTES + (COMPENSATION_HEADER_BYTES - RECORD_HEADER_BYTES);
    let bytes = match change.undo {
        UndoKind::None => 0,
        _ if undone_by != UndoneBy::Page || change.undo == UndoKind::Fill => undo_reserve_bytes(&change, true).ok()?,
        _ => (bytes + SLOT_BYTES) as u64,
    };
    Some((undone_by, bytes))
}

/// Log space that the compensation record for `change` may take, in bytes; 0 when there will be none.
///
/// # Errors
/// Damage in the change.
pub fn undo_reserve_bytes(change: &Change<'_>, has_links: bool) -> std::result::Result<u64, Damage> {
    let entries: Vec<(PageId, PageOperation<'_>)> = change.entries().collect::<std::result::Result<_, _>>()?;
    let subject = Subject {
        object: change.object,
        undo: change.undo,
        key: change.key,
        locks: LockInformation::NONE,
    };
    Ok(crate::log::undo_reserve_bytes(undo_bytes(subject, &entries, has_links)))
}
