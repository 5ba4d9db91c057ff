//! The header's fields and the slotted rows, read and written in place.

use super::{Damage, HEADER_BYTES, ObjectId, PAGE_BYTES, PageBytes, PageId, ROW_GHOST, ROW_OVERHEAD_BYTES};
use vlf::Lsn;

pub(super) const VERSION: u8 = 1;
pub(super) const AT_KIND: usize = 1;
pub(super) const AT_LEVEL: usize = 2;
const AT_CHECKSUM: usize = 4;
pub(super) const AT_ID: usize = 8;
pub(super) const AT_SLOT_COUNT: usize = 14;
pub(super) const AT_LSN: usize = 16;
pub(super) const AT_FREE_OFFSET: usize = 26;
pub(super) const AT_HOLE_BYTES: usize = 28;
pub(super) const AT_GHOST_COUNT: usize = 30;
pub(super) const AT_OBJECT: usize = 32;
pub(super) const AT_NEXT: usize = 36;
pub(super) const AT_PREVIOUS: usize = 42;
pub(super) const AT_RECLAIM_LSN: usize = 48;
pub(super) const AT_RESERVED_BYTES: usize = 58;
/// Bytes of the length in front of each row.
pub(super) const PREFIX_BYTES: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PageKind {
    /// Rows of a heap; slots never move.
    Heap = 1,
    /// Separators and child pages of a tree.
    TreeBranch = 2,
    /// Rows of a tree in key order.
    TreeLeaf = 3,
    /// Part of a large value.
    LargeData = 4,
    /// Which pages a large value has.
    LargeBranch = 5,
    /// Which extents of the file are free.
    SpaceMap = 8,
    /// Given up by its heap or tree, in an extent that is still the object's.
    Free = 9,
    /// Which extents belong to an object.
    ExtentList = 10,
    /// The database's boot page.
    Boot = 13,
    /// Page 0 of every data file.
    FileHeader = 15,
    /// Which extents of the file were written since the last full backup.
    ChangeMap = 16,
}

impl PageKind {
    /// The kind of a header's byte.
    pub fn from_byte(byte: u8) -> Option<PageKind> {
        Some(match byte {
            1 => PageKind::Heap,
            2 => PageKind::TreeBranch,
            3 => PageKind::TreeLeaf,
            4 => PageKind::LargeData,
            5 => PageKind::LargeBranch,
            8 => PageKind::SpaceMap,
            9 => PageKind::Free,
            10 => PageKind::ExtentList,
            13 => PageKind::Boot,
            15 => PageKind::FileHeader,
            16 => PageKind::ChangeMap,
            _ => return None,
        })
    }

    /// True for pages made of rows; the others are raw bytes behind the header.
    pub fn has_rows(self) -> bool {
        matches!(
            self,
            PageKind::Heap | PageKind::TreeBranch | PageKind::TreeLeaf | PageKind::LargeData | PageKind::LargeBranch
        )
    }
}

#[inline]
pub(super) fn get_u16(page: &PageBytes, at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}

#[inline]
pub(super) fn put_u16(page: &mut PageBytes, at: usize, value: u16) {
    page[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

#[inline]
fn get_array<const N: usize>(page: &PageBytes, at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&page[at..at + N]);
    array
}

/// Offset in the page of a slot's two bytes. The slot must be below 4048, so that they lie behind the header.
#[inline]
pub(super) fn slot_at(slot: usize) -> usize {
    PAGE_BYTES - 2 * (slot + 1)
}

fn checksum(page: &PageBytes) -> u32 {
    let head = crc32c::crc32c(&page[..AT_CHECKSUM]);
    let field = crc32c::crc32c_append(head, &[0; 4]);
    crc32c::crc32c_append(field, &page[AT_CHECKSUM + 4..])
}

/// Writes the checksum of the page as it stands; the last thing before the page goes to disk.
pub fn seal(page: &mut PageBytes) {
    let value = checksum(page);
    page[AT_CHECKSUM..AT_CHECKSUM + 4].copy_from_slice(&value.to_le_bytes());
}

/// True when the page carries the checksum of its bytes. A page of zeros does not.
pub fn checksum_holds(page: &PageBytes) -> bool {
    let (stored, computed) = checksums(page);
    stored == computed
}

/// The checksum the page carries, and that of its bytes.
pub fn checksums(page: &PageBytes) -> (u32, u32) {
    (u32::from_le_bytes(get_array(page, AT_CHECKSUM)), checksum(page))
}

/// A page to read. Any bytes may be viewed: nothing is believed that is not checked on use.
#[derive(Clone, Copy)]
pub struct PageRef<'a> {
    bytes: &'a PageBytes,
}

impl<'a> PageRef<'a> {
    /// Views the bytes as a page.
    pub fn new(bytes: &'a PageBytes) -> PageRef<'a> {
        PageRef { bytes }
    }

    pub fn bytes(self) -> &'a PageBytes {
        self.bytes
    }

    /// The header version; 1 on every formatted page, 0 on a page never formatted.
    pub fn version(self) -> u8 {
        self.bytes[0]
    }

    /// What the page is for; `None` for a byte that names no kind.
    pub fn kind(self) -> Option<PageKind> {
        PageKind::from_byte(self.bytes[AT_KIND])
    }

    /// Height above the leaves of a tree, 0 elsewhere.
    pub fn level(self) -> u8 {
        self.bytes[AT_LEVEL]
    }

    /// The page's own idea of where it is.
    pub fn id(self) -> PageId {
        PageId::from_bytes(get_array(self.bytes, AT_ID))
    }

    /// Slots, empty ones included.
    pub fn slot_count(self) -> u16 {
        get_u16(self.bytes, AT_SLOT_COUNT)
    }

    /// LSN of the last change.
    pub fn lsn(self) -> Lsn {
        Lsn::from_bytes(get_array(self.bytes, AT_LSN))
    }

    /// Where the rows end and contiguous free space begins.
    pub fn free_offset(self) -> u16 {
        get_u16(self.bytes, AT_FREE_OFFSET)
    }

    /// Free bytes between rows, won back by compaction.
    pub fn hole_bytes(self) -> u16 {
        get_u16(self.bytes, AT_HOLE_BYTES)
    }

    /// Rows whose ghost bit is set.
    pub fn ghost_count(self) -> u16 {
        get_u16(self.bytes, AT_GHOST_COUNT)
    }

    /// The heap or tree the page belongs to.
    pub fn object(self) -> ObjectId {
        ObjectId(u32::from_le_bytes(get_array(self.bytes, AT_OBJECT)))
    }

    /// The next page in key order or in the chain.
    pub fn next(self) -> PageId {
        PageId::from_bytes(get_array(self.bytes, AT_NEXT))
    }

    /// The page before this one in key order or in the chain.
    pub fn previous(self) -> PageId {
        PageId::from_bytes(get_array(self.bytes, AT_PREVIOUS))
    }

    /// LSN of the newest change that freed bytes or made a ghost.
    pub fn reclaim_lsn(self) -> Lsn {
        Lsn::from_bytes(get_array(self.bytes, AT_RECLAIM_LSN))
    }

    /// Bytes that undo may need back while transactions as old as `reclaim_lsn` are active.
    pub fn reserved_bytes(self) -> u16 {
        get_u16(self.bytes, AT_RESERVED_BYTES)
    }

    /// True when no active transaction can undo what freed bytes or made ghosts here: ghosts may go, the reserve is void.
    /// `oldest_active` is the first LSN of the oldest active transaction, or the end of the log when there is none.
    pub fn is_reclaimable(self, oldest_active: Lsn) -> bool {
        self.reclaim_lsn() < oldest_active
    }

    /// Bytes between the rows and the slot array.
    pub fn contiguous_free(self) -> usize {
        let slots_from = PAGE_BYTES.saturating_sub(2 * usize::from(self.slot_count()));
        slots_from.saturating_sub(usize::from(self.free_offset()))
    }

    /// Bytes that new rows may use: all free bytes but those undo may need. A row costs [`ROW_OVERHEAD_BYTES`] beside itself,
    /// or two bytes less in an empty slot.
    pub fn usable_free(self, oldest_active: Lsn) -> usize {
        let free = self.contiguous_free() + usize::from(self.hole_bytes());
        if self.is_reclaimable(oldest_active) {
            free
        } else {
            free.saturating_sub(usize::from(self.reserved_bytes()))
        }
    }

    /// True when a new row of `row_bytes` bytes fits in a new slot without touching the reserve.
    pub fn fits(self, row_bytes: usize, oldest_active: Lsn) -> bool {
        self.usable_free(oldest_active) >= row_bytes + ROW_OVERHEAD_BYTES
    }

    /// Offset and length of a row's bytes. `None` for an empty slot.
    #[inline]
    pub(super) fn locate(self, slot: u16) -> Result<Option<(usize, usize)>, Damage> {
        let slot = usize::from(slot);
        if slot >= usize::from(self.slot_count()) {
            return Err(Damage("the slot does not exist"));
        }
        let at = PAGE_BYTES
            .checked_sub(2 * (slot + 1))
            .filter(|at| *at >= HEADER_BYTES)
            .ok_or(Damage("the slot array runs into the header"))?;
        let prefix = usize::from(get_u16(self.bytes, at));
        if prefix == 0 {
            return Ok(None);
        }
        if !(HEADER_BYTES..PAGE_BYTES - PREFIX_BYTES).contains(&prefix) {
            return Err(Damage("a slot points outside the rows"));
        }
        let row_bytes = usize::from(get_u16(self.bytes, prefix));
        let start = prefix + PREFIX_BYTES;
        let end = usize::from(self.free_offset()).min(PAGE_BYTES);
        if row_bytes == 0 || start + row_bytes > end {
            return Err(Damage("a row reaches outside the rows"));
        }
        Ok(Some((start, row_bytes)))
    }

    /// The row of a slot. `None` when the slot is empty, does not exist, or is damaged (which [`super::verify_page`] tells).
    #[inline]
    pub fn row(self, slot: u16) -> Option<&'a [u8]> {
        let (start, row_bytes) = self.locate(slot).ok()??;
        self.bytes.get(start..start + row_bytes)
    }

    /// Status bits of a slot's row; `None` when there is no row.
    pub fn status(self, slot: u16) -> Option<u8> {
        self.row(slot).map(|row| row[0])
    }

    /// Copies the header, the slot array and the beginning of every row, so many bytes at most, to their places in `copy`. Slots
    /// that are damaged become empty ones there.
    pub fn copy_heads_to(self, row_bytes_max: usize, copy: &mut PageBytes) {
        let slots_from = PAGE_BYTES.saturating_sub(2 * usize::from(self.slot_count()));
        let slots_from = slots_from.max(HEADER_BYTES);
        copy[..HEADER_BYTES].copy_from_slice(&self.bytes[..HEADER_BYTES]);
        copy[slots_from..].copy_from_slice(&self.bytes[slots_from..]);
        for slot in 0..self.slot_count() {
            let at = PAGE_BYTES.saturating_sub(2 * (usize::from(slot) + 1));
            match self.locate(slot) {
                Ok(Some((start, row_bytes))) => {
                    let head = start - PREFIX_BYTES..start + row_bytes.min(row_bytes_max);
                    copy[head.clone()].copy_from_slice(&self.bytes[head]);
                }
                Ok(None) => {}
                Err(_) if at >= slots_from => put_u16(copy, at, 0),
                Err(_) => {}
            }
        }
    }

    /// Slots with their rows, ghosts included, empty slots left out.
    pub fn rows(self) -> impl DoubleEndedIterator<Item = (u16, &'a [u8])> {
        (0..self.slot_count()).filter_map(move |slot| self.row(slot).map(|row| (slot, row)))
    }

    /// The lowest empty slot of a heap page, or the number of slots when none is empty. Checks at most every slot.
    pub fn first_empty_slot(self) -> u16 {
        let empty = |slot: &u16| matches!(self.locate(*slot), Ok(None));
        (0..self.slot_count()).find(empty).unwrap_or(self.slot_count())
    }

    /// Copies the header, the slot array and the rows of some slots to their places in `copy`; false when a slot has no row.
    pub fn copy_rows_to(self, slots: std::ops::Range<u16>, copy: &mut PageBytes) -> bool {
        let slots_from = PAGE_BYTES.saturating_sub(2 * usize::from(self.slot_count()));
        copy[..HEADER_BYTES].copy_from_slice(&self.bytes[..HEADER_BYTES]);
        copy[slots_from..].copy_from_slice(&self.bytes[slots_from..]);
        for slot in slots {
            let Ok(Some((start, row_bytes))) = self.locate(slot) else {
                return false;
            };
            let range = start - PREFIX_BYTES..start + row_bytes;
            copy[range.clone()].copy_from_slice(&self.bytes[range]);
        }
        true
    }

    /// Appends what [`super::PageOperation::Image`] carries: header and rows, then the slot array.
    pub fn image_into(self, image: &mut Vec<u8>) {
        let rows_end = usize::from(self.free_offset()).min(PAGE_BYTES);
        let slots_from = PAGE_BYTES.saturating_sub(2 * usize::from(self.slot_count()));
        image.extend_from_slice(&self.bytes[..rows_end]);
        image.extend_from_slice(&self.bytes[slots_from.max(rows_end)..]);
    }
}

/// A page to change. The only public changes are the unlogged ones; all others go through [`super::apply()`].
pub struct PageMut<'a> {
    bytes: &'a mut PageBytes,
}

impl<'a> PageMut<'a> {
    /// Views the bytes as a page.
    pub fn new(bytes: &'a mut PageBytes) -> PageMut<'a> {
        PageMut { bytes }
    }

    /// The same page to read.
    pub fn as_ref(&self) -> PageRef<'_> {
        PageRef::new(self.bytes)
    }

    /// Gives the reserve free when nobody active can need it. Call before a change under the exclusive latch; needs no log
    /// record (see the module's contract) and no dirty mark of its own.
    pub fn release_reserved(&mut self, oldest_active: Lsn) {
        if self.as_ref().reserved_bytes() != 0 && self.as_ref().is_reclaimable(oldest_active) {
            put_u16(self.bytes, AT_RESERVED_BYTES, 0);
        }
    }

    pub(super) fn bytes(&mut self) -> &mut PageBytes {
        self.bytes
    }

    pub(super) fn set_lsn(&mut self, lsn: Lsn) {
        self.bytes[AT_LSN..AT_LSN + Lsn::BYTES].copy_from_slice(&lsn.to_bytes());
    }

    pub(super) fn set_u16(&mut self, at: usize, value: usize) {
        // Every value stored this way is an offset or a sum of bytes within one page, so at most 8192.
        put_u16(self.bytes, at, value.min(PAGE_BYTES) as u16);
    }

    pub(super) fn add_holes(&mut self, bytes: usize) {
        let holes = usize::from(self.as_ref().hole_bytes()) + bytes;
        self.set_u16(AT_HOLE_BYTES, holes);
    }

    /// Keeps freed bytes for undo.
    pub(super) fn reserve(&mut self, bytes: usize, lsn: Lsn) {
        let reserved = usize::from(self.as_ref().reserved_bytes()) + bytes;
        self.set_u16(AT_RESERVED_BYTES, reserved);
        self.note_reclaimable(lsn);
    }

    fn note_reclaimable(&mut self, lsn: Lsn) {
        self.bytes[AT_RECLAIM_LSN..AT_RECLAIM_LSN + Lsn::BYTES].copy_from_slice(&lsn.to_bytes());
    }

    /// Follows the ghost bit of a row that changed its status; a row that was not there had status 0.
    pub(super) fn note_status(&mut self, before: u8, after: u8, lsn: Lsn) {
        let ghosts = usize::from(self.as_ref().ghost_count());
        match (before & ROW_GHOST, after & ROW_GHOST) {
            (0, ROW_GHOST) => {
                self.set_u16(AT_GHOST_COUNT, ghosts + 1);
                self.note_reclaimable(lsn);
            }
            (ROW_GHOST, 0) => self.set_u16(AT_GHOST_COUNT, ghosts.saturating_sub(1)),
            _ => {}
        }
    }
}
