//! B-trees: rows in the order of their keys, unique by key. Clustered indexes hold the rows themselves, nonclustered ones a
//! locator.
//!
//! ```text
//!                 root (its page never changes)          level 2
//!            [-inf -> A] [m -> B]                        level 1
//!   leaf <-> leaf <-> leaf <-> leaf                      level 0, linked both ways
//! ```
//! Keys are byte strings that compare as by `memcmp`; the first separator of a branch counts as minus infinity, whatever its bytes are.
//!
//! * Readers and writers descend by latch coupling: a child is latched before its parent's latch is released. A writer that finds no space
//!   releases its latches and descends again with exclusive latches. On the way it splits every branch that has no space for a separator,
//!   so a split never goes upward.
//! * A split moves rows to a new page on the right, and is one change without undo. Rows never move to the left.
//! * A leaf without rows leaves the tree (`unlink`), with branches that lead to no other leaf, once no open transaction has a change on it
//!   to undo (`store::ghosts` says how that is known). So undo finds the page of its record still in the tree, and the key on it or to the
//!   right of it.
//! * A page other than the root may move to another place of the file as it is (`relocate`): the former page leaves the tree.
//! * Latches are taken from the root down and from left to right in each level. Removing a leaf latches the branch above all removed pages,
//!   then, level by level, left neighbour, page and right neighbour. A descent holds the parent until it has the child, so it never reaches
//!   a removed page. Links read earlier are valid without a latch as long as no page has left the tree since ([`ObjectSpace::given_up`]);
//!   otherwise a scan continues from the root after the last key it returned. Code with lists of leaves, or that walks along branches, pins
//!   the tree.
//! * Every key of a leaf lies between those of its neighbours. If a leaf has a key not above and a key not below a third key, only that
//!   leaf can hold the third key. So a writer may go directly to a remembered leaf and check: a removed page has no keys, and a page reused
//!   as another leaf is judged by its keys.
//! * A split at the right end of the tree moves nothing, so ascending keys leave full pages behind.
//! * A reader under SERIALIZABLE locks keys with the gaps before them (`ranges`).
//! * A delete leaves a ghost. Inserting its key again replaces it; a full page loses its ghosts before it splits.

mod physical;
mod ranges;
mod relocate;
mod scan;
mod split;
mod undo;
mod unlink;

pub(super) use relocate::relocate;
pub use scan::{TreeBatch, TreeScan};
use split::{AT_NEXT, AT_PREVIOUS, set_link};
pub(super) use undo::{child_for, empty_split_off_pages, inverse_on_leaf, undo_by_key};
pub(super) use unlink::{Emptied, Unlinked, unlink};

use super::StoreContext;
use super::change::{
    Author, Planned, Subject, damaged, foreign, fresh, if_shared, is_settled, log_and_apply, read, update_operation,
    while_locked, while_shared, write, write_cached,
};
use super::ghosts::{Horizon, relieve, under_pressure};
use super::heap::Placement;
use super::lock_information::LockInformation;
use super::row::{GHOST, PAYLOAD_BYTES_MAX, Rid, encode_tree_row, is_ghost, parse_tree_row};
use super::row_buffer::RowBuffer;
use super::scan::ReadMode;
use super::space::{ObjectRoot, ObjectSpace, Pin, Room, SpaceMap, SpaceUsage};
use super::versioned::{as_seen, is_as_seen, is_settled_for_snapshots};
use crate::buffer::{DatabaseStorage, PageRead, PageWrite};
use crate::error::{Error, Result};
use crate::lock::{LockOwner, Mode, Resource};
use crate::page::{ObjectId, PageId, PageKind, PageOperation, PageRef, ROW_BYTES_MAX, ROW_OVERHEAD_BYTES, UndoKind};
use crate::versions::Snapshot;
use std::cmp::Ordering;
use std::sync::Arc;
use vlf::Lsn;

/// The longest key: SQL Server's limit for the columns of nonclustered indexes (1,700 bytes; SQL Server docs), and what tells rows with
/// one key apart.
pub const KEY_BYTES_MAX: usize = 1_760;
/// Times a writer descends again after making room. Each time makes room or finds that another has used it up.
const ATTEMPTS_MAX: usize = 10_000;

/// A b-tree, open. Cheap to clone; all handles of one tree share its space.
#[derive(Clone)]
pub struct Tree {
    root: ObjectRoot,
    table: u32,
    space: Arc<ObjectSpace>,
}

/// Where a key is on a page, or where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    slot: u16,
    is_there: bool,
}

impl Tree {
    /// Creates an empty tree in PRIMARY. The caller has chosen an object id never used before.
    ///
    /// # Errors
    /// 1101 and 1105 when the files are full, 9002 when the log is.
    pub fn create(ctx: &mut StoreContext<'_>, object: ObjectId) -> Result<ObjectRoot> {
        Tree::create_by(ctx, object, Room::PRIMARY)
    }

    /// As [`Tree::create`], where `room` says.
    ///
    /// # Errors
    /// As for [`Tree::create`].
    pub fn create_by(ctx: &mut StoreContext<'_>, object: ObjectId, room: Room) -> Result<ObjectRoot> {
        let root = under_pressure(ctx, |ctx| {
            ctx.space.create_object(ctx.storage, ctx.chain, (object, room))
        })?;
        ctx.note_made(object);
        let page_id = ctx.space.open_new_object(ctx.storage, root)?.take_page(
            ctx.storage,
            ctx.space,
            ctx.chain,
            Placement::AtEnd,
        )?;
        let mut page = fresh(ctx.storage, page_id)?;
        let mut planned = [Planned {
            page: &mut page,
            operation: empty_leaf(object, PageId::NONE, PageId::NONE),
        }];
        log_and_apply(
            ctx.storage,
            Author::Transaction(ctx.chain),
            Subject::structure(object),
            &mut planned,
        )?;
        Ok(root)
    }

    /// Opens a tree. `table` is the id that its table locks name.
    ///
    /// # Errors
    /// 823 and 824 when its extent list cannot be read.
    pub fn open(storage: &DatabaseStorage, space: &SpaceMap, root: ObjectRoot, table: u32) -> Result<Tree> {
        let space = space.open_object(storage, root)?;
        Ok(Tree { root, table, space })
    }

    /// Where the tree begins.
    pub fn root(&self) -> ObjectRoot {
        self.root
    }

    /// The root page: the second of the first extent, forever.
    pub(super) fn root_page(&self) -> PageId {
        root_page(self.root)
    }

    /// Inserts a row; false when a row with this key exists. The row's lock is held exclusively from then on.
    ///
    /// # Errors
    /// 511 for a row longer than 8,060 bytes, or too long for a page with its key; 1946 for a key longer than [`KEY_BYTES_MAX`]; those of waiting for a lock; 1101, 1105, 9002 for want of space.
    pub fn insert(&self, ctx: &mut StoreContext<'_>, key: &[u8], payload: &[u8]) -> Result<bool> {
        check_lengths(key, payload)?;
        self.lock_row(ctx.storage, ctx.locks, key, Mode::X)?; // step 1
        let mut row = RowBuffer::new();
        encode_tree_row(key, payload, &mut row);
        for _ in 0..ATTEMPTS_MAX {
            let mut leaf = self.descend_write(ctx.storage, key)?; // step 2
            let found = self.find(ctx.storage, leaf.view(), leaf.id(), key)?;
            let Found { slot, is_there } = found;
            let old = leaf.view().row(slot).filter(|_| is_there);
            if old.is_some_and(|row| !is_ghost(row)) {
                return Ok(false);
            }
            if self.has_room(ctx.storage, leaf.view(), row.len(), old.map(<[u8]>::len)) {
                let place = (leaf.view(), leaf.id(), slot);
                if !is_there && let Some(next) = self.key_in_the_way(ctx.storage, ctx.locks, place, key)? {
                    drop(leaf);
                    ctx.locks.wait_to_insert_before(next)?;
                    continue;
                }
                let before = old.map(<[u8]>::to_vec);
                let (undo, operation) = match &before {
                    None => (UndoKind::TreeInsert, PageOperation::InsertShift { slot, row: &row }),
                    Some(before) => {
                        let after = &row;
                        (UndoKind::TreeUpdate, PageOperation::ReplaceRow { slot, before, after })
                    }
                };
                ctx.keep_version(self.root.object, key, None);
                self.log_row_change(ctx, &mut leaf, undo, key, operation)?;
                return Ok(true);
            }
            match self.make_room(ctx, leaf, key, row.len()) {
                Err(error) if error.is_data_full() => relieve(ctx, error)?,
                outcome => outcome?,
            }
        }
        Err(damaged(
            ctx.storage,
            self.root_page(),
            "a tree makes no room however often it splits",
        ))
    }

    /// Replaces the row of a key; false when there is none.
    ///
    /// # Errors
    /// As for [`Tree::insert`].
    pub fn update(&self, ctx: &mut StoreContext<'_>, key: &[u8], payload: &[u8]) -> Result<bool> {
        self.change(ctx, key, |_, row| {
            row.extend_from_slice(payload);
            Ok(())
        })
    }

    /// As [`Tree::update`], with a row that `make` appends to what it is given, knowing the old one. Called under the leaf's
    /// latch, it must not wait for anything.
    ///
    /// # Errors
    /// As for [`Tree::insert`], and those of `make`.
    pub fn change(
        &self,
        ctx: &mut StoreContext<'_>,
        key: &[u8],
        make: impl Fn(&[u8], &mut Vec<u8>) -> Result<()>,
    ) -> Result<bool> {
        self.lock_row(ctx.storage, ctx.locks, key, Mode::X)?; // step 1
        let mut row = RowBuffer::new();
        for _ in 0..ATTEMPTS_MAX {
            let mut leaf = self.descend_write(ctx.storage, key)?; // step 2
            let found = self.find(ctx.storage, leaf.view(), leaf.id(), key)?;
            let Some(old) = leaf
                .view()
                .row(found.slot)
                .filter(|row| found.is_there && !is_ghost(row))
            else {
                return Ok(false);
            };
            encode_tree_row(key, &[], &mut row);
            let head_bytes = row.len();
            make(parse(ctx.storage, leaf.id(), old)?.1, &mut row)?;
            check_lengths(key, row.get(head_bytes..).unwrap_or_default())?;
            if self.has_room(ctx.storage, leaf.view(), row.len(), Some(old.len())) {
                let (mut before, mut bitmap) = (RowBuffer::new(), RowBuffer::new());
                before.extend_from_slice(old);
                let Some(operation) = update_operation(ctx.storage, found.slot, &before, &row, &mut bitmap) else {
                    return Ok(true);
                };
                ctx.keep_version(self.root.object, key, Some(parse(ctx.storage, leaf.id(), &before)?.1));
                self.log_row_change(ctx, &mut leaf, UndoKind::TreeUpdate, key, operation)?;
                return Ok(true);
            }
            match self.make_room(ctx, leaf, key, row.len()) {
                Err(error) if error.is_data_full() => relieve(ctx, error)?,
                outcome => outcome?,
            }
        }
        Err(damaged(
            ctx.storage,
            self.root_page(),
            "a tree makes no room however often it splits",
        ))
    }

    /// Deletes the row of a key; false when there is none.
    ///
    /// # Errors
    /// Those of waiting for a lock, and 9002.
    pub fn delete(&self, ctx: &mut StoreContext<'_>, key: &[u8]) -> Result<bool> {
        self.lock_row(ctx.storage, ctx.locks, key, Mode::X)?; // step 1
        let mut leaf = self.descend_write(ctx.storage, key)?; // step 2
        let found = self.find(ctx.storage, leaf.view(), leaf.id(), key)?;
        let slot = found.slot;
        let Some(row) = leaf.view().row(slot).filter(|row| found.is_there && !is_ghost(row)) else {
            return Ok(false);
        };
        ctx.keep_version(self.root.object, key, Some(parse(ctx.storage, leaf.id(), row)?.1));
        let status = row[0];
        let whole_row = if ctx.storage.log_whole_rows() {
            row.to_vec()
        } else {
            Vec::new()
        };
        let mut ghost = Vec::new();
        encode_tree_row(key, &[], &mut ghost);
        ghost[0] |= GHOST;
        let operation = match whole_row.is_empty() {
            true => PageOperation::SetStatus {
                slot,
                before: status,
                after: status | GHOST,
            },
            false => PageOperation::ReplaceRow {
                slot,
                before: &whole_row,
                after: &ghost,
            },
        };
        let since = self.log_row_change(ctx, &mut leaf, UndoKind::TreeDelete, key, operation)?;
        let id = leaf.id();
        drop(leaf); // step 7
        self.space.note_ghost(ctx, id, since).map(|()| true)
    }

    /// Reads the row of a key into `payload`; false when there is none. Under [`ReadMode::Committed`] waits for the
    /// transaction that changes it.
    ///
    /// # Errors
    /// Those of waiting for a lock, 823 and 824.
    pub fn fetch(
        &self,
        storage: &DatabaseStorage,
        locks: &LockOwner,
        mode: ReadMode,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        payload.clear();
        match mode {
            ReadMode::Uncommitted => self.copy_row(storage, &self.descend_read(storage, key)?, key, payload),
            ReadMode::Locked(_) | ReadMode::LockedPast(_) | ReadMode::Ranges(_) => {
                let row = (self.table, self.resource(storage, key));
                while_locked(storage, locks, row, mode, || {
                    let leaf = self.descend_read(storage, key)?;
                    scan::note_leaf(storage, leaf.id());
                    self.copy_row(storage, &leaf, key, payload)
                })
            }
            ReadMode::Versioned(snapshot) => self.fetch_as_seen(storage, snapshot, key, payload),
            ReadMode::LockedAt(_, snapshot) => {
                let row = (self.table, self.resource(storage, key));
                let unit = (self.root.object, self.table);
                while_locked(storage, locks, row, mode, || {
                    let is_seen = is_as_seen(storage, snapshot, unit, key)?;
                    Ok(is_seen && self.copy_row(storage, &self.descend_read(storage, key)?, key, payload)?)
                })
            }
            ReadMode::CommittedPast => {
                let leaf = self.descend_read(storage, key)?;
                if is_settled(storage, leaf.view()) {
                    return self.copy_row(storage, &leaf, key, payload);
                }
                drop(leaf);
                let read = if_shared(storage, locks, self.table, self.resource(storage, key), || {
                    self.copy_row(storage, &self.descend_read(storage, key)?, key, payload)
                });
                Ok(read?.unwrap_or(false))
            }
            ReadMode::Committed => {
                let leaf = self.descend_read(storage, key)?;
                if is_settled(storage, leaf.view()) {
                    return self.copy_row(storage, &leaf, key, payload);
                }
                drop(leaf);
                while_shared(storage, locks, self.table, self.resource(storage, key), || {
                    self.copy_row(storage, &self.descend_read(storage, key)?, key, payload)
                })
            }
        }
    }

    /// Reads the row that a snapshot sees of a key.
    fn fetch_as_seen(
        &self,
        storage: &DatabaseStorage,
        snapshot: Snapshot,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let leaf = self.descend_read(storage, key)?;
        let is_there = self.copy_row(storage, &leaf, key, payload)?;
        if is_settled_for_snapshots(storage, leaf.view()) {
            return Ok(is_there);
        }
        drop(leaf);
        let unit = (self.root.object, self.table);
        as_seen(storage, snapshot, unit, key, (is_there, 0), payload)
    }

    /// The highest key, ghosts aside; `None` in an empty tree. Takes no locks.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn last_key(&self, storage: &DatabaseStorage) -> Result<Option<Vec<u8>>> {
        self.last_key_where(storage, |row| !is_ghost(row))
    }

    /// The highest key, be its row a ghost: the deletion may be rolled back.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn last_key_with_ghosts(&self, storage: &DatabaseStorage) -> Result<Option<Vec<u8>>> {
        self.last_key_where(storage, |_| true)
    }

    fn last_key_where(&self, storage: &DatabaseStorage, counts: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
        let mut page = self.descend_last(storage)?;
        let mut given_up = self.space.given_up();
        loop {
            let last_row = page.view().rows().rev().find(|(_, row)| counts(row));
            if let Some((_, row)) = last_row {
                let (key, _) = parse(storage, page.id(), row)?;
                return Ok(Some(key.to_vec()));
            }
            let (neighbour, of) = (page.view().previous(), page.id());
            if neighbour.is_none() {
                return Ok(None);
            }
            drop(page);
            page = match self.left_neighbour(storage, neighbour, of, given_up)? {
                Some(page) => page,
                None => self.descend_last(storage)?,
            };
            given_up = self.space.given_up();
        }
    }

    /// Keeps its pages what they are until the answer is dropped: for those who walk along them without latches.
    pub fn pin(&self) -> Pin {
        self.space.pin()
    }

    /// Pages by purpose, for `sp_spaceused`. Reads the branches just above the leaves.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn space_usage(&self, storage: &DatabaseStorage) -> Result<SpaceUsage> {
        let _pages_stay = self.pin();
        let (reserved_pages, used, lists) = self.space.page_counts();
        let mut page = read(storage, self.root_page())?;
        let mut branches = 0;
        while page.view().level() > 1 {
            branches += self.count_level(storage, &page)?;
            let child = self.child(storage, page.view(), page.id(), 0)?;
            page = read(storage, child)?;
        }
        if page.view().level() == 1 {
            branches += self.count_level(storage, &page)?;
        }
        Ok(SpaceUsage {
            reserved_pages,
            data_pages: used.saturating_sub(branches),
            index_pages: branches + lists,
        })
    }

    fn count_level(&self, storage: &DatabaseStorage, first: &PageRead<'_>) -> Result<u64> {
        let (mut count, mut next) = (1, first.view().next());
        while !next.is_none() {
            count += 1;
            let page = read(storage, next)?;
            self.check_page(storage, page.view(), next, first.view().level())?;
            next = page.view().next();
        }
        Ok(count)
    }

    /// The lock resource of a key.
    pub fn resource(&self, storage: &DatabaseStorage, key: &[u8]) -> Resource {
        Resource::tree_row(storage.id.0, self.root.object.0, key)
    }

    pub(super) fn table(&self) -> u32 {
        self.table
    }

    pub(super) fn lock_row(&self, storage: &DatabaseStorage, locks: &LockOwner, key: &[u8], mode: Mode) -> Result<()> {
        locks.lock_row(storage.id.0, self.table, self.resource(storage, key), mode)
    }

    fn copy_row(&self, storage: &DatabaseStorage, leaf: &PageRead<'_>, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let found = self.find(storage, leaf.view(), leaf.id(), key)?;
        let Some(row) = leaf
            .view()
            .row(found.slot)
            .filter(|row| found.is_there && !is_ghost(row))
        else {
            return Ok(false);
        };
        out.extend_from_slice(parse(storage, leaf.id(), row)?.1);
        Ok(true)
    }

    /// Where the row of a key is stored at this moment; `None` when there is none. Takes no locks.
    ///
    /// # Errors
    /// 823 and 824 when a page cannot be read.
    pub fn place_of(&self, storage: &DatabaseStorage, key: &[u8]) -> Result<Option<Rid>> {
        let leaf = self.descend_read(storage, key)?;
        let found = self.find(storage, leaf.view(), leaf.id(), key)?;
        Ok(found.is_there.then(|| Rid {
            page: leaf.id(),
            slot: found.slot,
        }))
    }

    /// Steps 4 to 6 for a row of a leaf.
    fn log_row_change(
        &self,
        ctx: &mut StoreContext<'_>,
        leaf: &mut PageWrite<'_>,
        undo: UndoKind,
        key: &[u8],
        operation: PageOperation<'_>,
    ) -> Result<Lsn> {
        let subject = Subject {
            object: self.root.object,
            undo,
            key,
            locks: LockInformation::of(ctx, self.table, self.resource(ctx.storage, key)),
        };
        let mut planned = [Planned { page: leaf, operation }];
        log_and_apply(ctx.storage, Author::Transaction(ctx.chain), subject, &mut planned)
    }

    /// Step 3: whether a new row, or a row in place of an old one, fits.
    fn has_room(
        &self,
        storage: &DatabaseStorage,
        page: PageRef<'_>,
        row_bytes: usize,
        old_bytes: Option<usize>,
    ) -> bool {
        // A page without rows, or with none but the one to be replaced, keeps its reserve for nobody else: rows that shrank are
        // still on their page, and the one row's lock is ours.
        let free_of_others = page.contiguous_free() + usize::from(page.hole_bytes());
        let usable = page.usable_free(storage.oldest_active.load());
        match (old_bytes, page.slot_count()) {
            (None, 0) => row_bytes + ROW_OVERHEAD_BYTES <= free_of_others,
            (None, _) => row_bytes + ROW_OVERHEAD_BYTES <= usable,
            (Some(old_bytes), 1) => row_bytes.saturating_sub(old_bytes) <= free_of_others,
            (Some(old_bytes), _) => row_bytes.saturating_sub(old_bytes) <= usable,
        }
    }

    /// Removes the ghosts of a full leaf if nobody can bring them back; splits it otherwise.
    fn make_room(
        &self,
        ctx: &mut StoreContext<'_>,
        mut leaf: PageWrite<'_>,
        key: &[u8],
        row_bytes: usize,
    ) -> Result<()> {
        let view = leaf.view();
        if view.ghost_count() > 0 && Horizon::of(ctx.storage).frees_ghosts_of(view) {
            let mut planned = [Planned {
                page: &mut leaf,
                operation: PageOperation::PurgeGhosts,
            }];
            let subject = Subject::structure(self.root.object);
            log_and_apply(ctx.storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
            return Ok(());
        }
        drop(leaf);
        self.split_for(ctx, key, row_bytes)
    }

    /// Binary search among the rows of a leaf.
    fn find(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, key: &[u8]) -> Result<Found> {
        let (mut low, mut high) = (0, page.slot_count());
        while low < high {
            let middle = low + (high - low) / 2;
            match key_at(storage, page, id, middle)?.cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => {
                    return Ok(Found {
                        slot: middle,
                        is_there: true,
                    });
                }
            }
        }
        Ok(Found {
            slot: low,
            is_there: false,
        })
    }

    /// The slot of the child that covers a key: the last separator not above it, the first when all are.
    fn child_slot(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, key: &[u8]) -> Result<u16> {
        let (mut low, mut high) = (1, page.slot_count());
        while low < high {
            let middle = low + (high - low) / 2;
            if key_at(storage, page, id, middle)? <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low - 1)
    }

    /// The child page of a slot of a branch.
    fn child(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, slot: u16) -> Result<PageId> {
        let is_branch = page.kind() == Some(PageKind::TreeBranch) && page.object() == self.root.object;
        let row = page.row(slot).filter(|_| is_branch);
        let row = row.ok_or_else(|| foreign(storage, id, page, self.root.object, "a branch"))?;
        let (_, child) = parse(storage, id, row)?;
        let child = child.first_chunk().copied().map(PageId::from_bytes);
        child
            .filter(|child| !child.is_none())
            .ok_or_else(|| damaged(storage, id, "a separator leads to no page"))
    }

    fn descend_read<'s>(&self, storage: &'s DatabaseStorage, key: &[u8]) -> Result<PageRead<'s>> {
        self.descend_read_by(storage, |view, id| self.child_slot(storage, view, id, key))
    }

    fn descend_first<'s>(&self, storage: &'s DatabaseStorage) -> Result<PageRead<'s>> {
        self.descend_read_by(storage, |_, _| Ok(0))
    }

    fn descend_last<'s>(&self, storage: &'s DatabaseStorage) -> Result<PageRead<'s>> {
        self.descend_read_by(storage, |view, _| Ok(view.slot_count().saturating_sub(1)))
    }

    /// Descends with shared latches to a leaf; each child is latched before its parent is let go.
    fn descend_read_by<'s>(
        &self,
        storage: &'s DatabaseStorage,
        choose: impl Fn(PageRef<'_>, PageId) -> Result<u16>,
    ) -> Result<PageRead<'s>> {
        let mut page = read(storage, self.root_page())?;
        while page.view().level() > 0 {
            let slot = choose(page.view(), page.id())?;
            let child = read(storage, self.child(storage, page.view(), page.id(), slot)?)?;
            check_level(storage, child.view(), child.id(), page.view().level())?;
            page = child;
        }
        self.check_leaf(storage, page.view(), page.id())?;
        Ok(page)
    }

    /// The leaf of a key with the exclusive latch, without a descent: the one that this thread's scan has found the key on, if
    /// the key still lies between two that are there.
    fn leaf_scanned_last<'s>(&self, storage: &'s DatabaseStorage, key: &[u8]) -> Result<Option<PageWrite<'s>>> {
        let scanned = scan::leaf_scanned_last(storage).and_then(|id| write_cached(storage, id));
        let Some(mut leaf) = scanned else { return Ok(None) };
        let (view, id) = (leaf.view(), leaf.id());
        let is_ours = view.kind() == Some(PageKind::TreeLeaf) && view.object() == self.root.object;
        let Some(last) = view.slot_count().checked_sub(1).filter(|_| is_ours) else {
            return Ok(None);
        };
        if key_at(storage, view, id, 0)? > key || key_at(storage, view, id, last)? < key {
            return Ok(None);
        }
        leaf.release_reserved(storage.oldest_active.load());
        Ok(Some(leaf))
    }

    /// Descends with shared latches and takes the exclusive one on the leaf.
    fn descend_write<'s>(&self, storage: &'s DatabaseStorage, key: &[u8]) -> Result<PageWrite<'s>> {
        if let Some(leaf) = self.leaf_scanned_last(storage, key)? {
            return Ok(leaf);
        }
        loop {
            let mut page = read(storage, self.root_page())?;
            if page.view().level() == 0 {
                drop(page);
                let root = write(storage, self.root_page())?;
                if root.view().level() > 0 {
                    continue;
                }
                self.check_leaf(storage, root.view(), root.id())?;
                return Ok(root);
            }
            loop {
                let slot = self.child_slot(storage, page.view(), page.id(), key)?;
                let child = self.child(storage, page.view(), page.id(), slot)?;
                let level = page.view().level();
                if level == 1 {
                    let leaf = write(storage, child)?;
                    self.check_leaf(storage, leaf.view(), child)?;
                    return Ok(leaf);
                }
                let child = read(storage, child)?;
                check_level(storage, child.view(), child.id(), level)?;
                page = child;
            }
        }
    }

    fn check_leaf(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId) -> Result<()> {
        let is_leaf = page.kind() == Some(PageKind::TreeLeaf) && page.object() == self.root.object;
        if !is_leaf {
            return Err(foreign(storage, id, page, self.root.object, "a leaf"));
        }
        Ok(())
    }

    /// 824 unless the page is one of this tree, on the level given.
    fn check_page(&self, storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, level: u8) -> Result<()> {
        let kind = match level {
            0 => PageKind::TreeLeaf,
            _ => PageKind::TreeBranch,
        };
        let is_ours = page.kind() == Some(kind) && page.level() == level && page.object() == self.root.object;
        if !is_ours {
            let promised = format!("a tree page of level {level}");
            return Err(foreign(storage, id, page, self.root.object, &promised));
        }
        Ok(())
    }

    /// The page that a link leads to, which was read when `given_up` pages had left the tree; `None` when more have since.
    fn follow<'s>(&self, storage: &'s DatabaseStorage, link: PageId, given_up: u64) -> Result<Option<PageRead<'s>>> {
        let page = read(storage, link);
        if self.space.given_up() != given_up {
            return Ok(None);
        }
        page.map(Some)
    }

    /// The leaf just before the leaf `of`, whose left neighbour was `neighbour` and may have split since. No latch is held on the
    /// way left: latches go from left to right. `None` when pages have left the tree since `given_up` had.
    fn left_neighbour<'s>(
        &self,
        storage: &'s DatabaseStorage,
        neighbour: PageId,
        of: PageId,
        given_up: u64,
    ) -> Result<Option<PageRead<'s>>> {
        let Some(mut page) = self.follow(storage, neighbour, given_up)? else {
            return Ok(None);
        };
        self.check_leaf(storage, page.view(), neighbour)?;
        while page.view().next() != of {
            let next = page.view().next();
            if next.is_none() {
                return Err(damaged(
                    storage,
                    of,
                    "a leaf is not to be reached from its left neighbour",
                ));
            }
            let Some(right) = self.follow(storage, next, given_up)? else {
                return Ok(None);
            };
            page = right;
            self.check_leaf(storage, page.view(), next)?;
        }
        Ok(Some(page))
    }
}

/// The root page of a tree.
pub(super) fn root_page(root: ObjectRoot) -> PageId {
    PageId::new(root.first_iam.file, root.first_iam.page + 1)
}

/// Levels fall by one from parent to child: a damaged tree cannot lead a descent in circles.
fn check_level(storage: &DatabaseStorage, child: PageRef<'_>, id: PageId, parent_level: u8) -> Result<()> {
    if child.level().checked_add(1) != Some(parent_level) {
        return Err(damaged(storage, id, "a tree page is not one level below its parent"));
    }
    Ok(())
}

fn parse<'r>(storage: &DatabaseStorage, id: PageId, row: &'r [u8]) -> Result<(&'r [u8], &'r [u8])> {
    parse_tree_row(row).ok_or_else(|| damaged(storage, id, "a tree row's key is longer than the row"))
}

/// The key in a slot. A search asks for a dozen of them.
#[inline]
fn key_at<'p>(storage: &DatabaseStorage, page: PageRef<'p>, id: PageId, slot: u16) -> Result<&'p [u8]> {
    match page.row(slot).and_then(parse_tree_row) {
        Some((key, _)) => Ok(key),
        None => Err(no_key_at(storage, page, id, slot)),
    }
}

#[cold]
fn no_key_at(storage: &DatabaseStorage, page: PageRef<'_>, id: PageId, slot: u16) -> Error {
    match page.row(slot) {
        Some(_) => damaged(storage, id, "a tree row's key is longer than the row"),
        None => damaged(storage, id, "a tree page has an empty slot"),
    }
}

fn empty_leaf(object: ObjectId, next: PageId, previous: PageId) -> PageOperation<'static> {
    PageOperation::Format {
        kind: PageKind::TreeLeaf,
        level: 0,
        object,
        next,
        previous,
    }
}

pub(super) fn check_lengths(key: &[u8], payload: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::tree_entry_too_long(key.len(), KEY_BYTES_MAX));
    }
    let limit = PAYLOAD_BYTES_MAX.min(ROW_BYTES_MAX - 3 - key.len());
    if payload.len() > limit {
        return Err(Error::row_too_long(payload.len(), limit));
    }
    Ok(())
}
