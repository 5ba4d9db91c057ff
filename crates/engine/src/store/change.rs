//! Steps 4 to 6 of the recipe in one place: encode the change, append it to the log, apply it with its LSN.

use super::lock_information::LockInformation;
use super::reserve;
use super::row::splice;
use super::scan::ReadMode;
use crate::buffer::{DatabaseStorage, PageRead, PageWrite};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource, RowTaken};
use crate::log::{Links, RecordKind, Trailer, TransactionChain, Undoing, UndoneFirst};
use crate::page::flipped_bit;
use crate::page::{
    Change, Damage, ObjectId, PageId, PageKind, PageOperation, PageRef, ROW_FORWARDED, ROW_GHOST, RowIterator, UndoKind,
};
use std::cell::RefCell;
use vlf::Lsn;

/// Pages of a change that need no memory of their own: a split with its neighbour, its parent and room to spare. A leaf that leaves its
/// tree with branches of its own touches more.
const PAGES_USUAL: usize = 6;

/// Whose record a change becomes.
pub enum Author<'a> {
    /// A transaction's: it can be undone, and its rollback has its space reserved.
    Transaction(&'a mut TransactionChain),
    /// A rollback's: it undoes one change.
    Rollback(&'a mut TransactionChain, UndoStep),
    /// Without a transaction: space maps changed after it is over.
    System,
    /// Without a transaction, though a rollback cannot go on without it: never refused for want of log space.
    BesideRollback,
}

/// Which change a rollback undoes, and where it goes on.
#[derive(Debug, Clone, Copy)]
pub struct UndoStep {
    /// The record of the change.
    pub change: Lsn,
    /// The change has links, so log space was set aside for those of its compensation.
    pub has_links: bool,
    /// The next one to undo; `None` where changes are undone page by page, in no order: then a later rollback meets all of them again.
    pub next: Option<Lsn>,
}

/// A page fixed with the exclusive latch, and what is to happen to it.
pub struct Planned<'p, 'w, 'b> {
    pub page: &'p mut PageWrite<'w>,
    pub operation: PageOperation<'b>,
}

/// What a change is about, beside its pages.
#[derive(Clone, Copy)]
pub struct Subject<'k> {
    /// The heap or tree.
    pub object: ObjectId,
    /// How the change is undone.
    pub undo: UndoKind,
    /// Key of a tree's row; empty elsewhere.
    pub key: &'k [u8],
    /// The locks of a row's change.
    pub locks: LockInformation,
}

impl Subject<'static> {
    /// A structure change: never undone.
    pub fn structure(object: ObjectId) -> Subject<'static> {
        Subject {
            object,
            undo: UndoKind::None,
            key: &[],
            locks: LockInformation::NONE,
        }
    }
}

/// How a change is undone when its transaction is rolled back by marking (`crate::marked`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoneBy {
    /// By the first to fix the page that it is on: a row's change, rows filled into a page. Or it stays.
    Page,
    /// By the background: pages of a large value, which only rows lead to.
    Background,
    /// By the rollback itself, before it marks the transaction: definitions.
    Rollback,
}

impl UndoneBy {
    /// How a change of an object is undone.
    pub fn of(object: ObjectId, undo: UndoKind) -> UndoneBy {
        match undo {
            _ if object == ObjectId(super::CATALOG_UNIT) && undo != UndoKind::None => UndoneBy::Rollback,
            UndoKind::None | UndoKind::Fill => UndoneBy::Page,
            UndoKind::HeapInsert | UndoKind::HeapDelete | UndoKind::HeapUpdate => UndoneBy::Page,
            UndoKind::TreeInsert | UndoKind::TreeDelete | UndoKind::TreeUpdate => UndoneBy::Page,
            UndoKind::LargeWrite | UndoKind::LargeGiveUp => UndoneBy::Background,
        }
    }
}

thread_local! {
    /// One buffer per thread, so that a change of a row allocates nothing.
    static PAYLOAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static TAIL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Steps 4 to 6: logs the change and applies it to the fixed pages. On error nothing has changed.
pub fn log_and_apply(
    storage: &DatabaseStorage,
    author: Author<'_>,
    subject: Subject<'_>,
    planned: &mut [Planned<'_, '_, '_>],
) -> Result<Lsn> {
    let mut few = [(PageId::NONE, PageOperation::PurgeGhosts); PAGES_USUAL];
    let mut many = Vec::new();
    let entries = match few.get_mut(..planned.len()) {
        Some(few) => few,
        None => {
            many.resize(planned.len(), (PageId::NONE, PageOperation::PurgeGhosts));
            &mut many[..]
        }
    };
    for (entry, one) in entries.iter_mut().zip(planned.iter()) {
        *entry = (one.page.id(), one.operation);
    }
    // The catalog's rows are the system's work as well, which has to go on.
    let is_refused = matches!(author, Author::Transaction(_)) && subject.object != ObjectId(super::CATALOG_UNIT);
    storage.files.claim(entries.iter().map(|(id, _)| *id), is_refused)?;
    let counts_rows = match &author {
        Author::Transaction(_) => !matches!(
            subject.undo,
            UndoKind::None | UndoKind::LargeWrite | UndoKind::LargeGiveUp
        ),
        Author::Rollback(..) => true,
        Author::System | Author::BesideRollback => false,
    };
    let rows_added = if counts_rows { rows_added(planned) } else { 0 };
    let lsn = PAYLOAD.with_borrow_mut(|payload| {
        payload.clear();
        Change::encode(subject.object, subject.undo, subject.key, entries, payload);
        let (undone, has_links) = match &author {
            Author::Rollback(_, step) => (Some(step.change), step.has_links),
            Author::Transaction(_) | Author::System | Author::BesideRollback => (None, storage.has_links()),
        };
        with_tail(has_links, undone, subject, planned, |tail| {
            append(storage, author, subject, (entries, payload), tail)
        })
    })?;
    for one in planned {
        one.page.apply(&one.operation, lsn)?;
    }
    if rows_added != 0 {
        storage.row_counts.add(subject.object, rows_added);
    }
    Ok(lsn)
}

/// Hands over what follows the payload: the locks, and links to the changes of these pages before this one. `undone` is what a compensation undoes;
/// it has links if the change has, whether the option is on or not.
fn with_tail<T>(
    has_links: bool,
    undone: Option<Lsn>,
    subject: Subject<'_>,
    planned: &[Planned<'_, '_, '_>],
    work: impl FnOnce(Trailer<'_>) -> T,
) -> T {
    let locks = subject.locks.bytes();
    if !has_links {
        return work(Trailer {
            bytes: locks,
            lock_bytes: locks.len(),
        });
    }
    TAIL.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.extend_from_slice(locks);
        Links::encode(undone, planned.iter().map(|one| one.page.last_change()), bytes);
        work(Trailer {
            bytes,
            lock_bytes: locks.len(),
        })
    })
}

/// Changed bytes from which on it is worth looking whether they all changed in one bit.
const FLIP_BYTES_MIN: usize = 64;

/// What turns a row into another, as the log's policy wants it recorded; `None` when they are the same. `bitmap` is what a
/// [`PageOperation::FlipBits`] borrows. From the first byte that differs to the last, as SQL Server's LOP_MODIFY_ROW has it in
/// `RowLog Contents 0` and `1`; for bits flipped in many bytes SQL Server has nothing, so classic has not.
pub fn update_operation<'r>(
    storage: &DatabaseStorage,
    slot: u16,
    before: &'r [u8],
    after: &'r [u8],
    bitmap: &'r mut Vec<u8>,
) -> Option<PageOperation<'r>> {
    let found = splice(before, after)?;
    let offset = found.offset as u16; // rows are shorter than a page
    if !storage.log_whole_rows()
        && offset > 0
        && found.before.len() >= FLIP_BYTES_MIN
        && let Some(bit) = flipped_bit(found.before, found.after, bitmap)
    {
        return Some(PageOperation::FlipBits {
            slot,
            offset,
            bit,
            bitmap,
        });
    }
    Some(PageOperation::PatchRow {
        slot,
        offset,
        before: found.before,
        after: found.after,
    })
}

/// How many rows more an object has after a change. What goes is read from the page: an operation that undoes another
/// need not name it.
fn rows_added(planned: &[Planned<'_, '_, '_>]) -> i64 {
    let added = planned.iter().map(|one| {
        let row = |slot| one.page.view().row(slot).unwrap_or_default();
        match one.operation {
            PageOperation::InsertAt { row, .. } | PageOperation::InsertShift { row, .. } => is_counted(row),
            PageOperation::RemoveAt { slot, .. } | PageOperation::RemoveShift { slot, .. } => -is_counted(row(slot)),
            PageOperation::SetStatus { slot, after, .. } => is_counted(&[after]) - is_counted(row(slot)),
            PageOperation::ReplaceRow { slot, after, .. } => is_counted(after) - is_counted(row(slot)),
            // A splice that begins at the status begins with the status to be.
            PageOperation::PatchRow {
                slot, offset: 0, after, ..
            } => is_counted(after) - is_counted(row(slot)),
            PageOperation::Fill { rows, .. } => RowIterator::new(rows).flatten().map(is_counted).sum(),
            PageOperation::Format { .. } => -live_rows(one.page.view()),
            _ => 0,
        }
    });
    added.sum()
}

/// The rows of a page that count.
pub fn live_rows(page: PageRef<'_>) -> i64 {
    match page.kind() {
        Some(PageKind::Heap | PageKind::TreeLeaf) => {
            let rows = (0..page.slot_count()).filter_map(|slot| page.row(slot));
            rows.map(is_counted).sum()
        }
        _ => 0,
    }
}

/// 1 for a row, 0 for a deleted one, and for the forwarded part of one that counts where its stub is.
fn is_counted(row: &[u8]) -> i64 {
    i64::from(
        row.first()
            .is_some_and(|status| status & (ROW_GHOST | ROW_FORWARDED) == 0),
    )
}

fn append(
    storage: &DatabaseStorage,
    author: Author<'_>,
    subject: Subject<'_>,
    (entries, payload): (&[(PageId, PageOperation<'_>)], &[u8]),
    tail: Trailer<'_>,
) -> Result<Lsn> {
    match author {
        Author::Transaction(chain) => {
            let has_links = tail.bytes.len() > tail.lock_bytes;
            let needed = undo_bytes(subject, entries, has_links);
            let undone_by = UndoneBy::of(subject.object, subject.undo);
            chain.undoing = chain.undoing.behind(has_links, undone_by == UndoneBy::Rollback);
            if undone_by == UndoneBy::Rollback && chain.undoing == Undoing::PartlyByPage {
                chain.undone_first = UndoneFirst::Changed;
            }
            let lsn = storage
                .log
                .append_with_tail(chain, RecordKind::Change, &[payload], tail, needed)
                .inspect_err(|_| chain.undone_first = UndoneFirst::No)?;
            reserve::set_aside_for_row(storage, chain, subject.undo, needed);
            match subject.undo.changes_rows() {
                true => drop(chain.rows_changed_in.insert(subject.object.0)),
                false => chain.runs.note(subject.object.0, chain.before_last, lsn),
            }
            Ok(lsn)
        }
        Author::Rollback(chain, UndoStep { change, next, .. }) => {
            let next = next.unwrap_or(chain.last);
            if chain.undoing == Undoing::PartlyByPage {
                chain.undone_first = UndoneFirst::Undone(change);
            }
            storage
                .log
                .append_compensation(chain, next, &[payload], tail)
                .inspect_err(|_| chain.undone_first = UndoneFirst::No)
        }
        Author::System => storage.log.append_change(payload, tail, false),
        Author::BesideRollback => storage.log.append_change(payload, tail, true),
    }
}

/// Bytes of the compensation record that would undo the change, but for its header; 0 for changes that stay.
pub(super) fn undo_bytes(subject: Subject<'_>, entries: &[(PageId, PageOperation<'_>)], has_links: bool) -> u32 {
    if subject.undo == UndoKind::None {
        return 0;
    }
    let empty_page = PageOperation::Format {
        kind: crate::page::PageKind::Heap,
        level: 0,
        object: subject.object,
        next: PageId::NONE,
        previous: PageId::NONE,
    };
    let operations = entries.iter().map(|(_, operation)| match subject.undo {
        UndoKind::Fill => PageId::BYTES + empty_page.encoded_bytes(),
        UndoKind::LargeWrite | UndoKind::LargeGiveUp => super::large::UNDO_BYTES,
        _ => PageId::BYTES + operation.undo_bytes(),
    });
    // A compensation record needs no key: it is never undone.
    let link_bytes = if has_links { Links::OF_COMPENSATION_BYTES } else { 0 };
    let bytes = operations.sum::<usize>() + Change::encoded_bytes(&[], &[]) + link_bytes;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Fixes a page with the shared latch. What transactions that are rolled back page by page have changed on it is taken back first.
pub fn read(storage: &DatabaseStorage, id: PageId) -> Result<PageRead<'_>> {
    loop {
        let page = storage.pool.read(storage.id, id)?;
        if !storage.marked.concern(id, page.view()) {
            return Ok(page);
        }
        drop(page);
        drop(write(storage, id)?);
    }
}

/// True when everything on a page, whose latch the caller holds, is committed: its last change is older than the first record
/// of every active transaction. (A transaction makes itself known before it changes its first page.)
pub fn is_settled(storage: &DatabaseStorage, page: PageRef<'_>) -> bool {
    page.lsn() < storage.oldest_active.load()
}

/// Reads a row under READ COMMITTED when it may be someone's work: with its lock held in S for as long as the reading takes. A
/// lock the reader has already keeps writers out as well as S does.
pub fn while_shared<T>(
    storage: &DatabaseStorage,
    locks: &LockOwner,
    table: u32,
    row: Resource,
    read: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if locks.mode_of(&row).is_some() || locks.covers_table(storage.id.0, table, Mode::S) {
        return read();
    }
    locks.lock(row, Mode::S)?;
    let outcome = read();
    locks.unlock(row);
    outcome
}

/// As [`while_shared`], but `None` instead of waiting for the row's lock.
pub fn if_shared<T>(
    storage: &DatabaseStorage,
    locks: &LockOwner,
    table: u32,
    row: Resource,
    read: impl FnOnce() -> Result<T>,
) -> Result<Option<T>> {
    if locks.mode_of(&row).is_some() || locks.covers_table(storage.id.0, table, Mode::S) {
        return read().map(Some);
    }
    if !locks.try_lock(row, Mode::S) {
        return Ok(None);
    }
    let outcome = read();
    locks.unlock(row);
    outcome.map(Some)
}

/// Looks for a row under REPEATABLE READ, or for a change: with its lock, which stays if `look` finds the row. A deletion that is not
/// committed is waited for, for it may be undone. If the row is gone then, there is nothing to repeat: its lock would keep others
/// from inserting the key, as only a key-range lock does (sql-docs, "Transaction locking and row versioning guide":
/// under REPEATABLE READ others can insert rows, which then are phantoms). So the lock is given back, unless it was held before: by who
/// deleted the row himself, or for another key of the same hash. False when there is no row, or [`ReadMode::LockedPast`] passes it by.
///
/// # Errors
/// Those of waiting for the lock, and of `look`.
pub fn while_locked(
    storage: &DatabaseStorage,
    locks: &LockOwner,
    (table, row): (u32, Resource),
    mode: ReadMode,
    look: impl FnOnce() -> Result<bool>,
) -> Result<bool> {
    let (lock_mode, waits) = match mode {
        ReadMode::Locked(lock_mode) | ReadMode::Ranges(lock_mode) => (lock_mode, true),
        ReadMode::LockedAt(lock_mode, _) => (lock_mode, true),
        ReadMode::LockedPast(lock_mode) => (lock_mode, false),
        _ => return Err(Error::assertion("a row is locked for an owner that locks no rows")),
    };
    // A row that cannot be locked without waiting is locked by another session, or a failure keeps it, which the next
    // look meets.
    let taken = locks.take_row(storage.id.0, table, row, lock_mode, waits);
    let taken = if waits {
        taken?
    } else {
        taken.unwrap_or(RowTaken::Refused)
    };
    if taken == RowTaken::Refused {
        return Ok(false);
    }
    let is_there = look()?;
    if !is_there && taken == RowTaken::New {
        locks.unlock_row(storage.id.0, table, row);
    }
    Ok(is_there)
}

/// As [`read`], with the exclusive latch; gives free what nobody active can want back.
pub fn write(storage: &DatabaseStorage, id: PageId) -> Result<PageWrite<'_>> {
    let mut page = storage.pool.write(storage.id, id)?;
    if storage.marked.concern(id, page.view()) {
        super::revert::revert(storage, &mut page)?;
    }
    page.release_reserved(storage.oldest_active.load());
    Ok(page)
}

/// As [`write()`], for a page that may have been given up: `None` when the file has become too short to have it.
pub fn write_if_in_file(storage: &DatabaseStorage, id: PageId) -> Result<Option<PageWrite<'_>>> {
    let is_cut_off = || storage.files.page_count(id.file) <= id.page;
    if is_cut_off() {
        return Ok(None);
    }
    match write(storage, id) {
        Err(_) if is_cut_off() => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Fixes a page with the shared latch if it is in memory and nothing has to be taken back on it. It need not be what the caller takes it for.
pub fn read_cached(storage: &DatabaseStorage, id: PageId) -> Option<PageRead<'_>> {
    let page = storage.pool.read_cached(storage.id, id);
    page.filter(|page| !storage.marked.concern(id, page.view()))
}

/// As [`read_cached`], with the exclusive latch.
pub fn write_cached(storage: &DatabaseStorage, id: PageId) -> Option<PageWrite<'_>> {
    let page = storage.pool.write_cached(storage.id, id);
    page.filter(|page| !storage.marked.concern(id, page.view()))
}

/// Fixes a page whose former content does not matter with the exclusive latch.
pub fn fresh(storage: &DatabaseStorage, id: PageId) -> Result<PageWrite<'_>> {
    storage.pool.fresh(storage.id, id)
}

/// 824 for a page whose content contradicts itself.
pub fn damaged(storage: &DatabaseStorage, id: PageId, what: &str) -> Error {
    storage.files.damaged(id, what)
}

/// The state of 824 that tells a sound page in the wrong place from damage of its bytes.
const MISPLACED: u8 = 4;

/// 824 for a page that is not what a structure of `object` promises: of another object, or of another kind.
pub fn foreign(storage: &DatabaseStorage, id: PageId, page: PageRef<'_>, object: ObjectId, promised: &str) -> Error {
    let what = format!(
        "{promised} of object {object} was expected; the page is of kind {} and belongs to object {}",
        page.bytes()[1],
        page.object()
    );
    misplaced(storage, id, &what)
}

/// 824 for a sound page or row that is not where a structure has it.
pub fn misplaced(storage: &DatabaseStorage, id: PageId, what: &str) -> Error {
    Error {
        state: MISPLACED,
        ..damaged(storage, id, what)
    }
}

/// The error for a reader of a table when the next page is not the one expected: 601 when it holds no lock on the table
/// that would keep writers from moving it, and the error itself otherwise.
pub fn as_reader_is_told(storage: &DatabaseStorage, locks: &LockOwner, table: u32, error: Error) -> Error {
    let is_misplaced = error.number == 824 && error.state == MISPLACED;
    match locks.mode_of(&Resource::Object(storage.id.0, table)) {
        Some(Mode::SchS) if is_misplaced => Error::data_movement(),
        _ => error,
    }
}

/// 824 for damage the page room found.
pub fn damage(storage: &DatabaseStorage, id: PageId, found: Damage) -> Error {
    damaged(storage, id, found.0)
}
