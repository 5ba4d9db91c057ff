//! Large values: off-row columns, on separate pages.
//!
//! ```text
//! row        | .. | place | ..        in a heap or clustered tree (unit IN_ROW_DATA); the end of the column has bit 15
//! place      0 u8 level | 1 u8 zero | 2 u48 bytes of the value | 8 one to five page ids (u32 page, u16 file)
//! page       header, kind 4 data or 5 branch | one row: u8 status 0, then 8,088 bytes of the value, or 1,348 page ids (the last page fewer)
//! level      0: the place lists data pages; 1: branches of data pages; 2: branches of branches
//! ```
//! A value of up to 40,440 bytes needs no branch, one of up to 54 MB needs one level of branches. All pages except the last of each level
//! are full, so the page of any byte can be computed.
//!
//! **Units.** Values of `max` types, text, ntext, image and xml are in the table's unit LOB_DATA, those of limited types and `sql_variant`
//! in its unit ROW_OVERFLOW_DATA. A unit is created with its first value: the first extent list of the rows' unit links to it, and the
//! first list of one such unit to the other (`store::space`). The catalog does not mention them: a table of an older version gets its unit
//! with its first large value, and nothing is rewritten. DROP, TRUNCATE and rebuilds free these units together with the rows' unit. The
//! entry of an extent has two bytes for its pages:
//! ```text
//! low byte   bit n: page n is in use          both clear: free, whatever is on the page
//! high byte  bit n: page n is given up        set with the low bit only
//! ```
//! An extent that begins with a list has its bytes in the list's last entry, which refers to no extent.
//!
//! **Values never change.** An update writes a new value and gives up the old one. So a statement that has a place may read it as long as
//! the pages stay. A page that was given up at some LSN becomes free after three ends: that of the transaction that gave it up, those of
//! all transactions open then, and those of all statements reading then ([`Readers`]). A row is changed before the pages of its old value
//! are given up, so later readers of the row do not find them.
//!
//! | change | log record | undone by |
//! |---|---|---|
//! | a page of a new value | its bytes and its bit, one record, the same in both log policies | the page is given up |
//! | a value is given up | the bits of each extent | the bits are cleared |
//! | given up pages become free | the bits of each extent, in no transaction | stays |
//! | an extent is returned | as for any object, in no transaction | stays |
//! | a unit is created, an extent added | as for any object | stays |
//!
//! So a crash leaves no orphaned pages: undo gives up new pages, and pages that are given up when the database opens become free like
//! others. BACKUP copies whole extents and needs no special code; neither do RESTORE and redo, which work on pages.
//!
//! The first unit sets feature bit 512 in the boot record. Rows with off-row columns leave 14 bytes free for a version pointer; pages of
//! values need none, because they never change.
//!
//! An extent without pages in use is returned to its file, unless it begins with a list: its entry refers to none, and is used again. No
//! transaction under way has a record that names the entry, since every page of the extent has been free only after its end. The first one sets
//! feature bit 134217728.
//!
//! Order: the upkeep of a unit, then its map in memory, then the allocation of extents, then a page of a value, then an extent list. No latch is
//! held when the upkeep or the map is locked.

mod pages;
mod part;
mod readers;
mod units;
mod verify;

pub use pages::PageCounts;
pub use part::LargeValue;
pub use readers::{Readers, Reading};
pub(super) use units::units_beside;
pub use units::{LargeKind, LargeSpace, LargeUnit, LargeUnits, UnitsBeside};
pub use verify::{LargeCheck, PlacesOf, PlacesOfRow};

use super::StoreContext;
use super::change::{Author, Planned, Subject, UndoStep, damaged, foreign, fresh, log_and_apply, read, write};
use super::lock_information::LockInformation;
use super::space::SpaceMap;
use crate::buffer::{DatabaseStorage, PageRead};
use crate::cancel::{self, STEPS_PER_PAGE};
use crate::error::{Error, Result};
use crate::marked::Marked;
use crate::page::{Change, ObjectId, PackedRows, PageId, PageKind, PageOperation, UndoKind};
use crate::types::HeldValue;
use crate::types::off_row::{PAGE_BRANCHES, PAGE_VALUE_BYTES, PLACE_HEAD_BYTES, PLACE_PAGES_MAX, top_pages};
use pages::Bits;
use vlf::Lsn;

/// Bytes of a value that is read in parts, read and written at once: whole pages.
const HELD_PART_BYTES: usize = 16 * PAGE_VALUE_BYTES;

/// Bytes of the entry of a compensation record: an extent list, the offset, and two bytes before and after.
pub(super) const UNDO_BYTES: usize = PageId::BYTES + 11;

/// A place taken apart.
struct Place {
    level: u8,
    bytes: u64,
    pages: Vec<PageId>,
}

impl Place {
    /// `None` when the bytes are none: what they say of level and pages follows from the length.
    fn decode(place: &[u8]) -> Option<Place> {
        let (head, ids) = place.split_first_chunk::<PLACE_HEAD_BYTES>()?;
        let [level, 0, a, b, c, d, e, f] = *head else {
            return None;
        };
        let bytes = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        let pages: Vec<PageId> = page_ids(ids).collect();
        let is_whole = ids.len() == pages.len() * PageId::BYTES && top_pages(bytes) == (level, pages.len() as u64);
        is_whole.then_some(Place { level, bytes, pages })
    }

    fn encode(&self) -> Vec<u8> {
        let mut place = Vec::with_capacity(PLACE_HEAD_BYTES + self.pages.len() * PageId::BYTES);
        place.extend_from_slice(&[self.level, 0]);
        place.extend_from_slice(&self.bytes.to_le_bytes()[..6]);
        self.pages
            .iter()
            .for_each(|page| place.extend_from_slice(&page.to_bytes()));
        place
    }
}

fn page_ids(bytes: &[u8]) -> impl Iterator<Item = PageId> {
    let ids = bytes.chunks_exact(PageId::BYTES);
    ids.filter_map(|id| Some(PageId::from_bytes(*id.first_chunk()?)))
}

fn no_place(storage: &DatabaseStorage) -> Error {
    Error::damaged_row(&format!(
        "a column of a row of database '{}' has no place outside of it",
        storage.name
    ))
}

/// What is on the pages of a value, in the value's order.
enum Part<'p> {
    /// A page that lists pages.
    Branch,
    Data(&'p [u8]),
}

/// Hands every page of a value to `take`, each branch before what it lists.
///
/// # Errors
/// 823 and 824 when a page cannot be read or is none of `units`; 3617; those of `take`.
fn walk(
    storage: &DatabaseStorage,
    units: &[ObjectId],
    place: &Place,
    take: &mut dyn FnMut(PageId, Part<'_>) -> Result<()>,
) -> Result<()> {
    let mut left = place.bytes;
    for &page in &place.pages {
        walk_page(storage, units, (page, place.level), &mut left, take)?;
    }
    Ok(())
}

/// One page of a value, and those below it. Levels fall and `left` shrinks, so damaged branches cannot lead in circles.
fn walk_page(
    storage: &DatabaseStorage,
    units: &[ObjectId],
    (id, level): (PageId, u8),
    left: &mut u64,
    take: &mut dyn FnMut(PageId, Part<'_>) -> Result<()>,
) -> Result<()> {
    cancel::spend(STEPS_PER_PAGE)?;
    let kind = if level > 0 {
        PageKind::LargeBranch
    } else {
        PageKind::LargeData
    };
    let listed: Vec<PageId> = {
        let page = read(storage, id)?;
        let content = content_of(storage, units, &page, kind)?;
        if level == 0 {
            let expected = (*left).min(PAGE_VALUE_BYTES as u64);
            if content.len() as u64 != expected {
                return Err(not_as_long(storage, id));
            }
            *left -= expected;
            return take(id, Part::Data(content));
        }
        page_ids(content).collect()
    };
    take(id, Part::Branch)?;
    for below in listed {
        walk_page(storage, units, (below, level - 1), left, take)?;
    }
    Ok(())
}

/// What a page has of a value; every promised page passes here.
///
/// # Errors
/// 824 when it is another kind of page, none of `units`, or empty.
fn content_of<'p>(
    storage: &DatabaseStorage,
    units: &[ObjectId],
    page: &'p PageRead<'_>,
    kind: PageKind,
) -> Result<&'p [u8]> {
    let view = page.view();
    if view.kind() != Some(kind) || !units.contains(&view.object()) {
        let unit = units.first().copied().unwrap_or_default();
        return Err(foreign(storage, page.id(), view, unit, "a page of a large value"));
    }
    let content = view.row(0).and_then(|row| row.get(1..));
    content.ok_or_else(|| damaged(storage, page.id(), "a page of a large value has no content"))
}

fn not_as_long(storage: &DatabaseStorage, id: PageId) -> Error {
    damaged(storage, id, "a page of a large value is not as long as the value says")
}

/// Reads a value. The caller has asked for the memory.
///
/// # Errors
/// 823 and 824 when its pages cannot be read or are not what its place promises; 3617 when the request is to stop.
pub fn read_value(storage: &DatabaseStorage, units: &[ObjectId], place: &[u8]) -> Result<Vec<u8>> {
    let place = Place::decode(place).ok_or_else(|| no_place(storage))?;
    let mut value = Vec::with_capacity(usize::try_from(place.bytes).unwrap_or(0));
    walk(storage, units, &place, &mut |_, part| {
        if let Part::Data(bytes) = part {
            value.extend_from_slice(bytes);
        }
        Ok(())
    })?;
    match value.len() as u64 == place.bytes {
        true => Ok(value),
        false => Err(no_place(storage)),
    }
}

/// Writes a value, as part of the transaction; answers its place.
///
/// # Errors
/// 1101, 1105, 9002 for want of space; 3617 when the request is to stop. Pages written until then are given up by the rollback.
pub fn write_value(ctx: &mut StoreContext<'_>, unit: &LargeUnit, value: &[u8]) -> Result<Vec<u8>> {
    let mut packed = PackedRows::new();
    let mut pages = Vec::with_capacity(value.len().div_ceil(PAGE_VALUE_BYTES));
    write_parts(ctx, unit, value, &mut pages, &mut packed)?;
    write_branches(ctx, unit, value.len() as u64, pages, &mut packed)
}

/// As [`write_value`], of a value that is read in parts while it is written: memory has one part of it at a time, and the ids of its pages.
///
/// # Errors
/// As for [`write_value`], and those of reading it.
pub fn write_held(ctx: &mut StoreContext<'_>, unit: &LargeUnit, value: &HeldValue) -> Result<Vec<u8>> {
    let mut packed = PackedRows::new();
    let (mut pages, mut part) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < value.bytes() {
        value.read(at, HELD_PART_BYTES, &mut part)?;
        write_parts(ctx, unit, &part, &mut pages, &mut packed)?;
        at += part.len() as u64;
    }
    write_branches(ctx, unit, value.bytes(), pages, &mut packed)
}

/// Writes data pages, all of them full but for the last.
fn write_parts(
    ctx: &mut StoreContext<'_>,
    unit: &LargeUnit,
    bytes: &[u8],
    pages: &mut Vec<PageId>,
    packed: &mut PackedRows,
) -> Result<()> {
    for part in bytes.chunks(PAGE_VALUE_BYTES) {
        pages.push(write_page(ctx, unit, PageKind::LargeData, part, packed)?);
    }
    Ok(())
}

/// Writes the branches above the data pages of a value; answers its place.
fn write_branches(
    ctx: &mut StoreContext<'_>,
    unit: &LargeUnit,
    bytes: u64,
    mut pages: Vec<PageId>,
    packed: &mut PackedRows,
) -> Result<Vec<u8>> {
    let mut level = 0;
    while pages.len() > PLACE_PAGES_MAX {
        let mut above = Vec::with_capacity(pages.len().div_ceil(PAGE_BRANCHES));
        for group in pages.chunks(PAGE_BRANCHES) {
            let ids: Vec<u8> = group.iter().flat_map(|page| page.to_bytes()).collect();
            above.push(write_page(ctx, unit, PageKind::LargeBranch, &ids, packed)?);
        }
        pages = above;
        level += 1;
    }
    Ok(Place { level, bytes, pages }.encode())
}

/// Takes a page and fills it, in one record.
fn write_page(
    ctx: &mut StoreContext<'_>,
    unit: &LargeUnit,
    kind: PageKind,
    content: &[u8],
    packed: &mut PackedRows,
) -> Result<PageId> {
    cancel::spend(STEPS_PER_PAGE)?;
    let taken = unit.take_page(ctx)?;
    packed.clear();
    if !packed.push_parts(&[&[0], content]) {
        return Err(Error::assertion("a part of a large value is longer than a page"));
    }
    let filled = fill_page(ctx, unit, kind, packed, &taken);
    if filled.is_err() {
        unit.put_back(taken.page);
    }
    filled.map(|()| taken.page)
}

fn fill_page(
    ctx: &mut StoreContext<'_>,
    unit: &LargeUnit,
    kind: PageKind,
    packed: &PackedRows,
    taken: &pages::TakenPage,
) -> Result<()> {
    let storage = ctx.storage;
    let object = unit.root().object;
    let mut page = fresh(storage, taken.page)?;
    let mut list = write(storage, taken.at.list)?;
    let before = taken.at.read(storage, &list, object)?;
    let after = before.with_used(taken.page);
    let (before, after) = (before.to_bytes(), after.to_bytes());
    let mut planned = [
        Planned {
            page: &mut page,
            operation: PageOperation::Fill {
                kind,
                object,
                next: PageId::NONE,
                previous: PageId::NONE,
                rows: packed.as_bytes(),
            },
        },
        Planned {
            page: &mut list,
            operation: taken.at.set(&before, &after),
        },
    ];
    let first_list = unit.root().first_iam.to_bytes();
    let subject = subject(object, UndoKind::LargeWrite, &first_list);
    log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned).map(|_| ())
}

fn subject(object: ObjectId, undo: UndoKind, first_list: &[u8]) -> Subject<'_> {
    Subject {
        object,
        undo,
        key: first_list,
        locks: LockInformation::NONE,
    }
}

/// Gives up the pages of a value, as part of the transaction. The row does not have the value any more. False, and nothing is done, while a marked
/// transaction that gave up the same pages is not taken back (`crate::marked`).
///
/// # Errors
/// 823 and 824 when its pages cannot be found; 9002.
pub fn give_up_value(ctx: &mut StoreContext<'_>, unit: &LargeUnit, place: &[u8]) -> Result<bool> {
    let storage = ctx.storage;
    let object = unit.root().object;
    let mut pages = Vec::new();
    let place = Place::decode(place).ok_or_else(|| no_place(storage))?;
    walk_ids(storage, object, &place, &mut pages)?;
    let first_list = unit.root().first_iam.to_bytes();
    let by_extent = unit.by_extent(pages)?;
    if !storage.marked.is_empty() {
        for (at, group) in &by_extent {
            let list = write(storage, at.list)?;
            let bits = at.read(storage, &list, object)?;
            if group.iter().any(|&page| bits.is_given_up(page)) {
                return Ok(false);
            }
        }
    }
    for (at, group) in by_extent {
        let mut list = write(storage, at.list)?;
        let before = at.read(storage, &list, object)?;
        let after = group.iter().fold(before, |bits, &page| bits.with_given_up(page));
        let (before, after) = (before.to_bytes(), after.to_bytes());
        let mut planned = [Planned {
            page: &mut list,
            operation: at.set(&before, &after),
        }];
        let subject = subject(object, UndoKind::LargeGiveUp, &first_list);
        let lsn = log_and_apply(storage, Author::Transaction(ctx.chain), subject, &mut planned)?;
        drop(list);
        unit.note_given_up(&group, lsn);
    }
    Ok(true)
}

/// The pages of a value. Data pages are named by what is above them, and not read.
fn walk_ids(storage: &DatabaseStorage, object: ObjectId, place: &Place, pages: &mut Vec<PageId>) -> Result<()> {
    let mut level = place.level;
    let mut ids = place.pages.clone();
    while level > 0 {
        let mut below = Vec::new();
        for &id in &ids {
            cancel::spend(STEPS_PER_PAGE)?;
            let page = read(storage, id)?;
            below.extend(page_ids(content_of(storage, &[object], &page, PageKind::LargeBranch)?));
        }
        pages.extend(std::mem::replace(&mut ids, below));
        level -= 1;
    }
    pages.extend(ids);
    Ok(())
}

/// What a record changed in an extent list.
struct ListChange {
    at: pages::EntryAt,
    before: Bits,
    after: Bits,
}

impl ListChange {
    fn of(storage: &DatabaseStorage, change: &Change<'_>) -> Result<ListChange> {
        let record_damage = || Error::log_damaged(&storage.name, "a change of a large value without its extent list");
        let last = change.entries().last().and_then(std::result::Result::ok);
        let Some((list, PageOperation::SetBytes { offset, before, after })) = last else {
            return Err(record_damage());
        };
        let at = pages::EntryAt::from_offset(list, offset).ok_or_else(record_damage)?;
        let [before, after] = [before, after].map(Bits::from_bytes);
        let (before, after) = before.zip(after).ok_or_else(record_damage)?;
        Ok(ListChange { at, before, after })
    }
}

/// As [`undo`], of a change of a marked transaction: its table may be gone.
///
/// # Errors
/// Those of [`undo`].
pub(super) fn undo_marked(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    (marked, step): (&Marked, UndoStep),
    change: &Change<'_>,
) -> Result<()> {
    let list = ListChange::of(storage, change)?.at.list;
    if storage.files.page_count(list.file) <= list.page || !space.is_in_use(list) {
        return Ok(());
    }
    undo_by(storage, space, change, true, |planned| {
        let author = Author::Rollback(&mut marked.chain(), step);
        log_and_apply(storage, author, Subject::structure(change.object), planned)
    })
}

/// Undoes one change of a large value; see the table of the module.
///
/// # Errors
/// 824 when the list is not what the record says, 823, 9001.
pub(super) fn undo(storage: &DatabaseStorage, space: &SpaceMap, author: Author<'_>, change: &Change<'_>) -> Result<()> {
    undo_by(storage, space, change, false, |planned| {
        log_and_apply(storage, author, Subject::structure(change.object), planned)
    })
}

/// `log_and_apply` is called with the latch of the list. A list that is none of the unit's any more is an error, unless it may be gone.
fn undo_by(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    change: &Change<'_>,
    may_be_gone: bool,
    log_and_apply: impl FnOnce(&mut [Planned<'_, '_, '_>]) -> Result<Lsn>,
) -> Result<()> {
    let record_damage = || Error::log_damaged(&storage.name, "a change of a large value without its extent list");
    let ListChange { at, before, after } = ListChange::of(storage, change)?;
    let mut list = write(storage, at.list)?;
    let is_there = list.view().kind() == Some(PageKind::ExtentList) && list.view().object() == change.object;
    if may_be_gone && !is_there {
        return Ok(());
    }
    let now = at.read(storage, &list, change.object)?;
    let extent = at.extent(&list).ok_or_else(record_damage)?;
    let becomes = match change.undo {
        UndoKind::LargeWrite => now.giving_up(after.used_beyond(before)),
        _ => now.keeping(after.given_up_beyond(before)),
    };
    let bytes = (now.to_bytes(), becomes.to_bytes());
    let mut planned = [Planned {
        page: &mut list,
        operation: at.set(&bytes.0, &bytes.1),
    }];
    let lsn = log_and_apply(&mut planned)?;
    drop(list);
    if let Some(unit) = space.large.loaded(change.object) {
        match change.undo {
            UndoKind::LargeWrite => unit.note_given_up(&pages::pages_of(extent, after.used_beyond(before)), lsn),
            _ => unit.note_kept(&pages::pages_of(extent, after.given_up_beyond(before))),
        }
    }
    Ok(())
}
