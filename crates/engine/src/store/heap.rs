//! Heaps: rows in no order, found by a row identifier that never changes while the row lives.
//!
//! ```text
//! object -> extent list -> extent -> page -> slot -> row
//!                                             stub  -> forwarded row on another page
//! ```
//! * An insert goes to the object's current insert page, which all sessions share. If the row does not fit, it tries a page with
//!   reclaimable space, then a free page of the object's extents, then a fresh one.
//! * A delete marks the row as a ghost. `store::ghosts` says when ghosts, and pages without other rows, are removed. A row identifier that
//!   leads to a page freed since belongs to a deleted row.
//! * An update stays in place if it fits. Otherwise the row moves and leaves a stub of nine bytes: locators stay valid, and scans return
//!   the row once, at its stub. A row that moves again is reached through the same stub: there are no chains.

use super::StoreContext;
use super::change::{
    Author, Planned, Subject, as_reader_is_told, damaged, foreign, if_shared, is_settled, log_and_apply, misplaced,
    read, update_operation, while_locked, while_shared, write, write_if_in_file,
};
use super::ghosts::{HOLE_BYTES_MIN, relieve, under_pressure};
use super::lock_information::LockInformation;
use super::row::{
    FORWARDED, GHOST, HeapRow, PAYLOAD_BYTES_MAX, RID_BYTES, RowLocator, encode_forwarded_row, encode_heap_row,
    encode_stub, is_ghost, parse_heap_row,
};
use super::row::{Rid, STUB};
use super::scan::{HeapScan, ReadMode};
use super::space::{ObjectRoot, ObjectSpace, Pin, Room, SpaceMap, SpaceUsage};
use super::versioned::{as_seen, is_as_seen, key_of};
use crate::buffer::{DatabaseStorage, PageRead, PageWrite};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::page::{ObjectId, PageId, PageKind, PageOperation, PageRef, UndoKind};
use crate::versions::Snapshot;
use std::sync::Arc;

/// Where an insert may put a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Wherever there is room.
    Anywhere,
    /// Behind every row there is, so that a scan begun before does not meet it.
    AtEnd,
}

/// What a look at a row found.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRead {
    /// There is a row.
    pub is_there: bool,
    /// Everything on the pages looked at was committed.
    pub is_settled: bool,
}

/// A heap, open. Cheap to clone; all handles of one heap share its insert state.
#[derive(Clone)]
pub struct Heap {
    root: ObjectRoot,
    table: u32,
    space: Arc<ObjectSpace>,
}

impl Heap {
    /// Allocates the heap's first extent, with its extent list, in PRIMARY. The caller has chosen an object id never used before.
    ///
    /// # Errors
    /// 1101 and 1105 when the files are full, 9002 when the log is.
    pub fn create(ctx: &mut StoreContext<'_>, object: crate::page::ObjectId) -> Result<ObjectRoot> {
        Heap::create_by(ctx, object, Room::PRIMARY)
    }

    /// As [`Heap::create`], where `room` says.
    ///
    /// # Errors
    /// As for [`Heap::create`].
    pub fn create_by(ctx: &mut StoreContext<'_>, object: crate::page::ObjectId, room: Room) -> Result<ObjectRoot> {
        let root = under_pressure(ctx, |ctx| {
            ctx.space.create_object(ctx.storage, ctx.chain, (object, room))
        })?;
        ctx.note_made(object);
        Ok(root)
    }

    /// Keeps its pages what they are until the answer is dropped: for those who remember them.
    pub fn pin(&self) -> Pin {
        self.space.pin()
    }

    /// From now on its pages may come from the reserve of the files: it must grow in a full one.
    pub fn use_reserve(&self) {
        self.space.use_reserve();
    }

    /// Opens a heap. `table` is the id that its table locks name.
    ///
    /// # Errors
    /// 823 and 824 when its extent list cannot be read.
    pub fn open(storage: &DatabaseStorage, space: &SpaceMap, root: ObjectRoot, table: u32) -> Result<Heap> {
        let space = space.open_object(storage, root)?;
        Ok(Heap { root, table, space })
    }

    /// The same heap, whose rows are locked under another object's id.
    pub fn locked_under(&self, table: u32) -> Heap {
        Heap { table, ..self.clone() }
    }

    /// Where the heap begins.
    pub fn root(&self) -> ObjectRoot {
        self.root
    }

    /// Pages handed out to the heap so far.
    pub fn page_count(&self) -> u64 {
        self.space.page_counts().1
    }

    pub(super) fn object_space(&self) -> &Arc<ObjectSpace> {
        &self.space
    }

    /// Inserts a row, whose lock is held exclusively from then on.
    ///
    /// # Errors
    /// 511 when it is longer than 8,060 bytes; 1101, 1105, 9002 when there is no space.
    pub fn insert(&self, ctx: &mut StoreContext<'_>, payload: &[u8], placement: Placement) -> Result<Rid> {
        let mut row = Vec::with_capacity(payload.len() + 1 + RID_BYTES);
        check_length(payload)?;
        encode_heap_row(payload, &mut row);
        self.place(ctx, &row, placement, true)
    }

    /// Inserts a row on a page of the heap; `None` when it has no room there.
    ///
    /// # Errors
    /// As for [`Heap::insert`].
    pub fn insert_on(&self, ctx: &mut StoreContext<'_>, page: PageId, payload: &[u8]) -> Result<Option<Rid>> {
        let mut row = Vec::with_capacity(payload.len() + 1 + RID_BYTES);
        check_length(payload)?;
        encode_heap_row(payload, &mut row);
        self.place_on(ctx, page, &row, (Placement::AtEnd, true))
    }

    /// The identifiers of the rows that are on a page of its extents, or have a stub there: where they are known by. A free page has none.
    ///
    /// # Errors
    /// 823 and 824 when the page cannot be read.
    pub fn rows_on(&self, storage: &DatabaseStorage, id: PageId) -> Result<Vec<Rid>> {
        let page = read(storage, id)?;
        let mut rows = Vec::new();
        if page.view().kind() != Some(PageKind::Heap) || page.view().object() != self.root.object {
            return Ok(rows);
        }
        for (slot, row) in page.view().rows().filter(|(_, row)| !is_ghost(row)) {
            let rid = Rid { page: id, slot };
            rows.push(match self.parse(storage, rid, row)? {
                HeapRow::Plain(_) | HeapRow::Stub(_) => rid,
                HeapRow::Forwarded(home, _) => home,
            });
        }
        Ok(rows)
    }

    /// Replaces a row. False when there is no such row (any more).
    ///
    /// # Errors
    /// As for [`Heap::insert`], and those of waiting for a lock.
    pub fn update(&self, ctx: &mut StoreContext<'_>, rid: Rid, payload: &[u8]) -> Result<bool> {
        check_length(payload)?;
        self.lock_row(ctx.storage, ctx.locks, rid, Mode::X)?; // step 1
        let mut row = Vec::with_capacity(payload.len() + 1 + RID_BYTES);
        let Some(page) = self.fix_if_there(ctx.storage, rid)? else {
            return Ok(false);
        }; // step 2
        let Some(before) = page.view().row(rid.slot).filter(|row| !is_ghost(row)) else {
            return Ok(false);
        };
        match self.parse(ctx.storage, rid, before)? {
            HeapRow::Forwarded(..) => Ok(false),
            HeapRow::Plain(old) => {
                self.keep_version(ctx, rid, Some(old));
                encode_heap_row(payload, &mut row);
                if !self.change_in_place(ctx, page, rid, &row)? {
                    self.forward(ctx, rid, payload)?;
                }
                Ok(true)
            }
            HeapRow::Stub(target) => {
                drop(page);
                encode_forwarded_row(rid, payload, &mut row);
                let page = self.fix(ctx.storage, target)?;
                if let Some(old) = page.view().row(target.slot)
                    && let HeapRow::Forwarded(_, old) = self.parse(ctx.storage, target, old)?
                {
                    self.keep_version(ctx, rid, Some(old));
                }
                if !self.change_in_place(ctx, page, target, &row)? {
                    self.forward(ctx, rid, payload)?;
                    self.mark_ghost(ctx, target)?;
                }
                Ok(true)
            }
        }
    }

    /// Deletes a row. False when there is no such row (any more).
    ///
    /// # Errors
    /// Those of waiting for a lock, and 9002.
    pub fn delete(&self, ctx: &mut StoreContext<'_>, rid: Rid) -> Result<bool> {
        self.lock_row(ctx.storage, ctx.locks, rid, Mode::X)?; // step 1
        let target = {
            let Some(page) = self.read_if_there(ctx.storage, rid.page)? else {
                return Ok(false);
            };
            let Some(row) = page.view().row(rid.slot).filter(|row| !is_ghost(row)) else {
                return Ok(false);
            };
            match self.parse(ctx.storage, rid, row)? {
                HeapRow::Plain(_) => None,
                HeapRow::Stub(target) => Some(target),
                HeapRow::Forwarded(..) => return Ok(false),
            }
        };
        if ctx.versions.writer.is_some() {
            let mut old = Vec::new();
            let is_there = self.read_row(ctx.storage, rid, &mut old)?.is_there;
            self.keep_version(ctx, rid, is_there.then_some(&old[..]));
        }
        // The stub first: a reader that finds the forwarded row gone looks at the stub again.
        self.mark_ghost(ctx, rid)?;
        if let Some(target) = target {
            self.mark_ghost(ctx, target)?;
        }
        Ok(true)
    }

    /// Keeps what a row is for snapshots, before it changes.
    fn keep_version(&self, ctx: &StoreContext<'_>, rid: Rid, before: Option<&[u8]>) {
        ctx.keep_version(self.root.object, &key_of(rid), before);
    }

    /// Reads a row into `payload`; false when there is none. Under [`ReadMode::Committed`] waits for the transaction
    /// that changes it.
    ///
    /// # Errors
    /// Those of waiting for a lock, 823 and 824.
    pub fn fetch(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        mode: ReadMode,
        rid: Rid,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        payload.clear();
        match mode {
            ReadMode::Uncommitted => self.read_dirty(storage, locks, rid, payload),
            ReadMode::Committed => self.read_committed(storage, locks, rid, payload),
            ReadMode::CommittedPast => self.read_past(storage, locks, rid, payload),
            ReadMode::Versioned(snapshot) => self.read_as_seen(storage, snapshot, rid, payload),
            ReadMode::LockedAt(_, snapshot) => {
                let resource = self.resource(storage, rid);
                let unit = (self.root.object, self.table);
                while_locked(storage, locks, (self.table, resource), mode, || {
                    let is_seen = is_as_seen(storage, snapshot, unit, &key_of(rid))?;
                    Ok(is_seen && self.read_row(storage, rid, payload)?.is_there)
                })
            }
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::Ranges(_) => {
                let resource = self.resource(storage, rid);
                while_locked(storage, locks, (self.table, resource), mode, || {
                    Ok(self.read_row(storage, rid, payload)?.is_there)
                })
            }
        }
    }

    /// Reads a row as it stands, appending to `out`, for a reader without locks; false when there is none.
    pub(super) fn read_dirty(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        rid: Rid,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let told = |error| as_reader_is_told(storage, locks, self.table, error);
        Ok(self.read_row(storage, rid, out).map_err(told)?.is_there)
    }

    /// Reads a row as a snapshot sees it, appending to `out`; false when it sees none.
    pub(super) fn read_as_seen(
        &self,
        storage: &DatabaseStorage,
        snapshot: Snapshot,
        rid: Rid,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = out.len();
        let is_there = self.read_row(storage, rid, out)?.is_there;
        let unit = (self.root.object, self.table);
        as_seen(storage, snapshot, unit, &key_of(rid), (is_there, start), out)
    }

    /// Reads a row, appending to `out`, once the transaction that changes it has ended; false when it is gone then.
    pub(super) fn read_committed(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        rid: Rid,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = out.len();
        let read = self.read_row(storage, rid, out)?;
        if read.is_settled {
            return Ok(read.is_there);
        }
        out.truncate(start);
        let resource = self.resource(storage, rid);
        while_shared(storage, locks, self.table, resource, || {
            Ok(self.read_row(storage, rid, out)?.is_there)
        })
    }

    /// Reads a row, appending to `out`, if no transaction is changing it; false when there is none, or one is.
    pub(super) fn read_past(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        rid: Rid,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = out.len();
        let read = self.read_row(storage, rid, out)?;
        if read.is_settled {
            return Ok(read.is_there);
        }
        out.truncate(start);
        let resource = self.resource(storage, rid);
        let read = if_shared(storage, locks, self.table, resource, || {
            Ok(self.read_row(storage, rid, out)?.is_there)
        })?;
        Ok(read.unwrap_or(false))
    }

    /// Reads a row as it stands, appending to `out`.
    pub(super) fn read_row(&self, storage: &DatabaseStorage, rid: Rid, out: &mut Vec<u8>) -> Result<RowRead> {
        // A stub may be pointed elsewhere between the two latches: then the row it pointed at is gone, and it is read again.
        for _ in 0..1_000 {
            let (target, is_home_settled) = {
                let Some(page) = self.read_if_there(storage, rid.page)? else {
                    return Ok(RowRead {
                        is_there: false,
                        is_settled: true,
                    });
                };
                let (view, is_settled) = (page.view(), is_settled(storage, page.view()));
                let read = |is_there| Ok(RowRead { is_there, is_settled });
                let Some(row) = view.row(rid.slot).filter(|row| !is_ghost(row)) else {
                    return read(false);
                };
                match self.parse(storage, rid, row)? {
                    HeapRow::Plain(payload) => {
                        out.extend_from_slice(payload);
                        return read(true);
                    }
                    HeapRow::Forwarded(..) => return read(false),
                    HeapRow::Stub(target) => (target, is_settled),
                }
            };
            let Some(page) = self.read_if_there(storage, target.page)? else {
                continue;
            };
            let Some(row) = page.view().row(target.slot).filter(|row| !is_ghost(row)) else {
                continue;
            };
            if let HeapRow::Forwarded(stub, payload) = self.parse(storage, target, row)?
                && stub == rid
            {
                out.extend_from_slice(payload);
                return Ok(RowRead {
                    is_there: true,
                    is_settled: is_home_settled && is_settled(storage, page.view()),
                });
            }
        }
        Err(misplaced(storage, rid.page, "a forwarding stub leads nowhere"))
    }

    /// Whether a place that a client names is on a page of rows of this heap. It stays so while the heap is pinned.
    ///
    /// # Errors
    /// 823 and 824 when the page cannot be read.
    pub fn has_row_page(&self, storage: &DatabaseStorage, rid: Rid) -> Result<bool> {
        self.space.has_row_page(storage, rid.page, PageKind::Heap)
    }

    /// Pages by purpose, for `sp_spaceused`.
    pub fn space_usage(&self) -> SpaceUsage {
        let (reserved_pages, data_pages, index_pages) = self.space.page_counts();
        SpaceUsage {
            reserved_pages,
            data_pages,
            index_pages,
        }
    }

    /// Begins a scan of all rows there are now, in the order of the object's pages.
    pub fn scan<'s>(&self, storage: &'s DatabaseStorage, locks: &'s LockOwner, mode: ReadMode) -> Result<HeapScan<'s>> {
        HeapScan::new(self.clone(), storage, locks, mode)
    }

    pub(super) fn table(&self) -> u32 {
        self.table
    }

    /// The lock resource of a row.
    pub fn resource(&self, storage: &DatabaseStorage, rid: Rid) -> Resource {
        Resource::Row(storage.id.0, self.root.object.0, rid.to_u64())
    }

    pub(super) fn lock_row(&self, storage: &DatabaseStorage, locks: &LockOwner, rid: Rid, mode: Mode) -> Result<()> {
        locks.lock_row(storage.id.0, self.table, self.resource(storage, rid), mode)
    }

    pub(super) fn parse<'r>(&self, storage: &DatabaseStorage, rid: Rid, row: &'r [u8]) -> Result<HeapRow<'r>> {
        parse_heap_row(row).ok_or_else(|| damaged(storage, rid.page, "a heap row contradicts itself"))
    }

    fn fix<'w>(&self, storage: &'w DatabaseStorage, rid: Rid) -> Result<PageWrite<'w>> {
        let page = write(storage, rid.page)?;
        self.check_page(storage, page.view(), rid.page)?;
        Ok(page)
    }

    /// The page that a row identifier leads to; `None` when the heap has given it up since the row was met, and the row is gone.
    fn read_if_there<'s>(&self, storage: &'s DatabaseStorage, id: PageId) -> Result<Option<PageRead<'s>>> {
        if self.has_left_the_file(storage, id) {
            return Ok(None);
        }
        let page = match read(storage, id) {
            Err(_) if self.has_left_the_file(storage, id) => return Ok(None),
            outcome => outcome?,
        };
        match self.is_gone(page.view()) {
            true => Ok(None),
            false => self.check_page(storage, page.view(), id).map(|()| Some(page)),
        }
    }

    /// As [`Heap::read_if_there`], with the exclusive latch.
    fn fix_if_there<'w>(&self, storage: &'w DatabaseStorage, rid: Rid) -> Result<Option<PageWrite<'w>>> {
        let page = match self.space.given_up() {
            0 => write(storage, rid.page)?,
            _ => match write_if_in_file(storage, rid.page)? {
                Some(page) => page,
                None => return Ok(None),
            },
        };
        match self.is_gone(page.view()) {
            true => Ok(None),
            false => self.check_page(storage, page.view(), rid.page).map(|()| Some(page)),
        }
    }

    /// Whether a page is not one of this heap, which has given up pages since it was opened.
    fn is_gone(&self, page: PageRef<'_>) -> bool {
        let is_ours = page.kind() == Some(PageKind::Heap) && page.object() == self.root.object;
        !is_ours && self.space.given_up() > 0
    }

    /// Whether the file is too short to have a page, and the heap has given up pages: they may have been cut off.
    pub(super) fn has_left_the_file(&self, storage: &DatabaseStorage, id: PageId) -> bool {
        self.space.given_up() > 0 && storage.files.page_count(id.file) <= id.page
    }

    /// 824 unless a page where a row is looked for, or put, is one of this heap.
    fn check_page(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId) -> Result<()> {
        if page.kind() != Some(PageKind::Heap) || page.object() != self.root.object {
            return Err(foreign(storage, id, page, self.root.object, "a heap page"));
        }
        Ok(())
    }

    fn subject(&self, ctx: &StoreContext<'_>, undo: UndoKind, rid: Rid) -> Subject<'static> {
        Subject {
            object: self.root.object,
            undo,
            key: &[],
            locks: LockInformation::of(ctx, self.table, self.resource(ctx.storage, rid)),
        }
    }

    /// Puts an encoded row on a page with room. `lockable` rows are locked; forwarded rows are covered by their stub's lock.
    fn place(&self, ctx: &mut StoreContext<'_>, row: &[u8], placement: Placement, lockable: bool) -> Result<Rid> {
        let storage = ctx.storage;
        if lockable {
            let table = Resource::Object(storage.id.0, self.table);
            ctx.locks.lock(table, Mode::IX)?;
        }
        loop {
            let page_id = under_pressure(ctx, |ctx| self.space.insert_page(ctx, placement))?;
            match self.place_on(ctx, page_id, row, (placement, lockable))? {
                Some(rid) => return Ok(rid),
                None => self.leave_full_page(ctx, page_id, row.len(), placement)?,
            }
        }
    }

    /// Puts an encoded row on a page; `None` when it has no room, or was given up.
    fn place_on(
        &self,
        ctx: &mut StoreContext<'_>,
        page_id: PageId,
        row: &[u8],
        (placement, lockable): (Placement, bool),
    ) -> Result<Option<Rid>> {
        let storage = ctx.storage;
        let fixed = self.fix_if_there(storage, Rid { page: page_id, slot: 0 })?; // step 2
        let slot = fixed
            .as_ref()
            .and_then(|page| self.slot_for(ctx, page, row, placement, lockable)); // steps 1 and 3
        let (Some(mut page), Some(slot)) = (fixed, slot) else {
            return Ok(None);
        };
        let mut planned = [Planned {
            page: &mut page,
            operation: PageOperation::InsertAt { slot, row },
        }];
        let rid = Rid { page: page_id, slot };
        let subject = self.subject(ctx, UndoKind::HeapInsert, rid);
        if lockable {
            self.keep_version(ctx, rid, None);
        }
        log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?; // steps 4 to 6
        Ok(Some(rid))
    }

    /// Chooses another page to insert into than one that has no room for a row, or was given up.
    fn leave_full_page(
        &self,
        ctx: &mut StoreContext<'_>,
        left: PageId,
        row_bytes: usize,
        placement: Placement,
    ) -> Result<()> {
        let oldest_active = ctx.storage.oldest_active.load();
        let may_hold_more = self
            .read_if_there(ctx.storage, left)?
            .is_some_and(|page| page.view().usable_free(oldest_active) > HOLE_BYTES_MIN);
        let outcome = self
            .space
            .leave_insert_page(ctx, left, may_hold_more, row_bytes, placement);
        match outcome {
            Err(error) if error.is_data_full() => relieve(ctx, error),
            outcome => outcome,
        }
    }

    /// A slot the row may take: it fits, and its lock is ours without waiting (nobody waits under a latch).
    fn slot_for(
        &self,
        ctx: &StoreContext<'_>,
        page: &PageWrite<'_>,
        row: &[u8],
        placement: Placement,
        lockable: bool,
    ) -> Option<u16> {
        let (storage, view) = (ctx.storage, page.view());
        if !view.fits(row.len(), storage.oldest_active.load()) {
            return None;
        }
        let may_reuse = placement == Placement::Anywhere
            && self.space.may_have_empty_slots()
            && view.is_reclaimable(storage.oldest_active.load());
        let last = view.slot_count();
        let first = if may_reuse { view.first_empty_slot() } else { last };
        [first, last].into_iter().find(|&slot| {
            let rid = Rid { page: page.id(), slot };
            let row_lock = self.resource(storage, rid);
            !lockable || ctx.locks.try_lock_row(storage.id.0, self.table, row_lock, Mode::X)
        })
    }

    /// Changes the row of a fixed page in place, if it fits (steps 3 to 7). False when it does not.
    fn change_in_place(
        &self,
        ctx: &mut StoreContext<'_>,
        mut page: PageWrite<'_>,
        rid: Rid,
        after: &[u8],
    ) -> Result<bool> {
        let storage = ctx.storage;
        let view = page.view();
        let Some(row) = view.row(rid.slot) else {
            return Err(damaged(storage, rid.page, "a row disappeared under its lock"));
        };
        let growth = after.len().saturating_sub(row.len());
        if growth > view.usable_free(storage.oldest_active.load()) {
            return Ok(false); // step 3
        }
        let before = row.to_vec();
        let mut bitmap = Vec::new();
        let Some(operation) = update_operation(storage, rid.slot, &before, after, &mut bitmap) else {
            return Ok(true);
        };
        let shrinks = after.len() < before.len();
        let mut planned = [Planned {
            page: &mut page,
            operation,
        }];
        let subject = self.subject(ctx, UndoKind::HeapUpdate, rid);
        let since = log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?; // steps 4 to 6
        if shrinks {
            self.space.note_shrunk(rid.page, since);
        }
        Ok(true)
    }

    /// Moves a row to a page with room and points its stub there. The row's lock is held.
    fn forward(&self, ctx: &mut StoreContext<'_>, rid: Rid, payload: &[u8]) -> Result<()> {
        let mut row = Vec::with_capacity(payload.len() + 1 + RID_BYTES);
        encode_forwarded_row(rid, payload, &mut row);
        let target = self.place(ctx, &row, Placement::Anywhere, false)?;
        let page = self.fix(ctx.storage, rid)?;
        if !self.change_in_place(ctx, page, rid, &encode_stub(target))? {
            return Err(damaged(
                ctx.storage,
                rid.page,
                "a row is shorter than a forwarding stub",
            ));
        }
        Ok(())
    }

    /// Marks a row, stub or forwarded row as deleted (steps 2 to 7).
    fn mark_ghost(&self, ctx: &mut StoreContext<'_>, rid: Rid) -> Result<()> {
        let storage = ctx.storage;
        let mut page = self.fix(storage, rid)?;
        let Some(row) = page.view().row(rid.slot) else {
            return Err(damaged(storage, rid.page, "a row disappeared under its lock"));
        };
        let status = row[0];
        let ghost = [(status & (STUB | FORWARDED)) | GHOST];
        let before = if storage.log_whole_rows() {
            row.to_vec()
        } else {
            Vec::new()
        };
        let operation = match before.is_empty() {
            false => PageOperation::ReplaceRow {
                slot: rid.slot,
                before: &before,
                after: &ghost,
            },
            true => PageOperation::SetStatus {
                slot: rid.slot,
                before: status,
                after: status | GHOST,
            },
        };
        let mut planned = [Planned {
            page: &mut page,
            operation,
        }];
        let subject = self.subject(ctx, UndoKind::HeapDelete, rid);
        let since = log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        drop(page); // step 7
        self.space.note_ghost(ctx, rid.page, since)
    }
}

impl From<Rid> for RowLocator {
    fn from(rid: Rid) -> RowLocator {
        RowLocator::Rid(rid)
    }
}

pub(super) fn check_length(payload: &[u8]) -> Result<()> {
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Error::row_too_long(payload.len(), PAYLOAD_BYTES_MAX));
    }
    Ok(())
}

/// The unit whose rows a page has; `None` for a page of another kind, or one that is not in its file any more.
///
/// # Errors
/// 823 and 824 when the page cannot be read.
pub fn unit_of_page(storage: &DatabaseStorage, page: PageId) -> Result<Option<ObjectId>> {
    if page.page >= storage.files.page_count(page.file) {
        return Ok(None);
    }
    let page = read(storage, page)?;
    let view = page.view();
    Ok((view.kind() == Some(PageKind::Heap)).then(|| view.object()))
}
