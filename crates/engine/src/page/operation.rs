//! The operations that change one page, and their bytes in a log record.
//!
//! ```text
//! u8 code | fields, little-endian, in the order of the variant | each byte string as u16 length, bytes
//! ```

use super::layout::{PREFIX_BYTES, PageKind};
use super::{Damage, HEADER_BYTES, ObjectId, PAGE_BYTES, PageId};

/// One change of one page, physiological: it names the page and the slot, the rest is the page's own business.
///
/// A `before` that the variant's text calls optional may be empty when the record is never undone, as in compensation
/// and system records; where it is given, `apply` checks it against the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageOperation<'a> {
    /// Makes the page an empty one.
    Format {
        /// What the page becomes.
        kind: PageKind,
        /// Height above the leaves.
        level: u8,
        object: ObjectId,
        /// Next page or none.
        next: PageId,
        /// Previous page or none.
        previous: PageId,
    },
    /// Puts a row into an empty slot or into the slot behind the last (heaps: slots are stable).
    InsertAt { slot: u16, row: &'a [u8] },
    /// Puts a row into a slot; those from there on move up by one (trees).
    InsertShift { slot: u16, row: &'a [u8] },
    /// Empties a slot (heaps).
    RemoveAt {
        slot: u16,
        /// The row, optional.
        before: &'a [u8],
    },
    /// Removes a slot; those behind move down by one (trees).
    RemoveShift {
        slot: u16,
        /// The row, optional.
        before: &'a [u8],
    },
    /// Replaces the status bits of a row.
    SetStatus {
        slot: u16,
        /// Bits as they are.
        before: u8,
        /// Bits as they become.
        after: u8,
    },
    ReplaceRow {
        slot: u16,
        /// The row as it is, optional.
        before: &'a [u8],
        /// The row as it becomes.
        after: &'a [u8],
    },
    /// Splices a row: `before` at `offset` becomes `after`; the lengths may differ.
    PatchRow {
        slot: u16,
        /// Offset in the row.
        offset: u16,
        /// Bytes taken out; never optional, their length counts.
        before: &'a [u8],
        /// Bytes put in.
        after: &'a [u8],
    },
    /// Flips one bit in some bytes of a row; undoes itself.
    FlipBits {
        slot: u16,
        /// Offset in the row of the first bitmap bit's byte; not 0, where the status is.
        offset: u16,
        bit: u8,
        /// In which bytes; see [`super::flipped_bit`].
        bitmap: &'a [u8],
    },
    /// Makes the page one with these rows in this order, in one record.
    Fill {
        /// What the page becomes; a kind with rows.
        kind: PageKind,
        object: ObjectId,
        /// Next page or none.
        next: PageId,
        /// Previous page or none.
        previous: PageId,
        /// The rows as they lie on the page; see [`PackedRows`].
        rows: &'a [u8],
    },
    /// Makes the page what [`super::PageRef::image_into`] took from another.
    Image {
        /// Header and rows, then slots.
        bytes: &'a [u8],
    },
    /// Overwrites bytes: the two links of any page (offsets 36 to 47), anything behind the header of a page without rows.
    SetBytes {
        /// Offset in the page.
        offset: u16,
        /// Bytes as they are, optional.
        before: &'a [u8],
        /// Bytes as they become.
        after: &'a [u8],
    },
    /// Removes every ghost of the page: empties their slots on a heap page, removes them elsewhere.
    PurgeGhosts,
}

const FORMAT: u8 = 1;
const INSERT_AT: u8 = 2;
const INSERT_SHIFT: u8 = 3;
const REMOVE_AT: u8 = 4;
const REMOVE_SHIFT: u8 = 5;
const SET_STATUS: u8 = 6;
const REPLACE_ROW: u8 = 7;
const PATCH_ROW: u8 = 8;
const FILL: u8 = 9;
const IMAGE: u8 = 10;
const SET_BYTES: u8 = 11;
const PURGE_GHOSTS: u8 = 12;
const FLIP_BITS: u8 = 13;

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    // Every byte string of an operation is part of one page, so its length fits.
    out.extend_from_slice(&(bytes.len().min(PAGE_BYTES) as u16).to_le_bytes());
    out.extend_from_slice(&bytes[..bytes.len().min(PAGE_BYTES)]);
}

impl<'a> PageOperation<'a> {
    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            PageOperation::Format {
                kind,
                level,
                object,
                next,
                previous,
            } => {
                out.extend_from_slice(&[FORMAT, kind as u8, level]);
                put_owner(out, object, next, previous);
            }
            PageOperation::InsertAt { slot, row } => put_slotted(out, INSERT_AT, slot, &[row]),
            PageOperation::InsertShift { slot, row } => put_slotted(out, INSERT_SHIFT, slot, &[row]),
            PageOperation::RemoveAt { slot, before } => put_slotted(out, REMOVE_AT, slot, &[before]),
            PageOperation::RemoveShift { slot, before } => put_slotted(out, REMOVE_SHIFT, slot, &[before]),
            PageOperation::SetStatus { slot, before, after } => {
                put_slotted(out, SET_STATUS, slot, &[]);
                out.extend_from_slice(&[before, after]);
            }
            PageOperation::ReplaceRow { slot, before, after } => put_slotted(out, REPLACE_ROW, slot, &[before, after]),
            PageOperation::PatchRow {
                slot,
                offset,
                before,
                after,
            } => {
                put_slotted(out, PATCH_ROW, slot, &[]);
                out.extend_from_slice(&offset.to_le_bytes());
                put_bytes(out, before);
                put_bytes(out, after);
            }
            PageOperation::FlipBits {
                slot,
                offset,
                bit,
                bitmap,
            } => {
                put_slotted(out, FLIP_BITS, slot, &[]);
                out.extend_from_slice(&offset.to_le_bytes());
                out.push(bit);
                put_bytes(out, bitmap);
            }
            PageOperation::Fill {
                kind,
                object,
                next,
                previous,
                rows,
            } => {
                out.extend_from_slice(&[FILL, kind as u8]);
                put_owner(out, object, next, previous);
                put_bytes(out, rows);
            }
            PageOperation::Image { bytes } => {
                out.push(IMAGE);
                put_bytes(out, bytes);
            }
            PageOperation::SetBytes { offset, before, after } => put_slotted(out, SET_BYTES, offset, &[before, after]),
            PageOperation::PurgeGhosts => out.push(PURGE_GHOSTS),
        }
    }

    /// Reads one operation from the front of `bytes`; returns it with what follows.
    ///
    /// # Errors
    /// An unknown code, an unknown page kind, or bytes that end too early.
    pub fn decode(bytes: &'a [u8]) -> Result<(PageOperation<'a>, &'a [u8]), Damage> {
        let mut reader = Reader { bytes };
        let operation = match reader.u8()? {
            FORMAT => PageOperation::Format {
                kind: reader.kind()?,
                level: reader.u8()?,
                object: reader.object()?,
                next: reader.page_id()?,
                previous: reader.page_id()?,
            },
            INSERT_AT => PageOperation::InsertAt {
                slot: reader.u16()?,
                row: reader.string()?,
            },
            INSERT_SHIFT => PageOperation::InsertShift {
                slot: reader.u16()?,
                row: reader.string()?,
            },
            REMOVE_AT => PageOperation::RemoveAt {
                slot: reader.u16()?,
                before: reader.string()?,
            },
            REMOVE_SHIFT => PageOperation::RemoveShift {
                slot: reader.u16()?,
                before: reader.string()?,
            },
            SET_STATUS => PageOperation::SetStatus {
                slot: reader.u16()?,
                before: reader.u8()?,
                after: reader.u8()?,
            },
            REPLACE_ROW => PageOperation::ReplaceRow {
                slot: reader.u16()?,
                before: reader.string()?,
                after: reader.string()?,
            },
            PATCH_ROW => PageOperation::PatchRow {
                slot: reader.u16()?,
                offset: reader.u16()?,
                before: reader.string()?,
                after: reader.string()?,
            },
            FLIP_BITS => PageOperation::FlipBits {
                slot: reader.u16()?,
                offset: reader.u16()?,
                bit: reader.u8()?,
                bitmap: reader.string()?,
            },
            FILL => PageOperation::Fill {
                kind: reader.kind()?,
                object: reader.object()?,
                next: reader.page_id()?,
                previous: reader.page_id()?,
                rows: reader.string()?,
            },
            IMAGE => PageOperation::Image {
                bytes: reader.string()?,
            },
            SET_BYTES => PageOperation::SetBytes {
                offset: reader.u16()?,
                before: reader.string()?,
                after: reader.string()?,
            },
            PURGE_GHOSTS => PageOperation::PurgeGhosts,
            _ => return Err(Damage("an unknown page operation")),
        };
        Ok((operation, reader.bytes))
    }

    /// True when the page's former content does not matter: redo needs no read of the page.
    pub fn replaces_page(&self) -> bool {
        matches!(
            self,
            PageOperation::Format { .. } | PageOperation::Fill { .. } | PageOperation::Image { .. }
        )
    }

    /// The operation that undoes this one on the same page and slot, as a compensation record carries it. `None` when it
    /// cannot be undone from its own bytes: page-making operations, purges, and those whose optional `before` is empty.
    pub fn inverse(&self) -> Option<PageOperation<'a>> {
        Some(match *self {
            PageOperation::InsertAt { slot, .. } => PageOperation::RemoveAt { slot, before: &[] },
            PageOperation::InsertShift { slot, .. } => PageOperation::RemoveShift { slot, before: &[] },
            PageOperation::RemoveAt { slot, before } if !before.is_empty() => {
                PageOperation::InsertAt { slot, row: before }
            }
            PageOperation::RemoveShift { slot, before } if !before.is_empty() => {
                PageOperation::InsertShift { slot, row: before }
            }
            PageOperation::SetStatus { slot, before, after } => PageOperation::SetStatus {
                slot,
                before: after,
                after: before,
            },
            PageOperation::ReplaceRow { slot, before, .. } if !before.is_empty() => PageOperation::ReplaceRow {
                slot,
                before: &[],
                after: before,
            },
            PageOperation::PatchRow {
                slot,
                offset,
                before,
                after,
            } => PageOperation::PatchRow {
                slot,
                offset,
                before: after,
                after: before,
            },
            PageOperation::FlipBits { .. } => *self,
            PageOperation::SetBytes { offset, before, .. } if !before.is_empty() => PageOperation::SetBytes {
                offset,
                before: &[],
                after: before,
            },
            _ => return None,
        })
    }

    /// The slot an operation on one row names.
    pub fn slot(&self) -> Option<u16> {
        match *self {
            PageOperation::InsertAt { slot, .. }
            | PageOperation::InsertShift { slot, .. }
            | PageOperation::RemoveAt { slot, .. }
            | PageOperation::RemoveShift { slot, .. }
            | PageOperation::SetStatus { slot, .. }
            | PageOperation::ReplaceRow { slot, .. }
            | PageOperation::PatchRow { slot, .. }
            | PageOperation::FlipBits { slot, .. } => Some(slot),
            _ => None,
        }
    }

    /// Bytes of the encoded form.
    pub fn encoded_bytes(&self) -> usize {
        match *self {
            PageOperation::Format { .. } => 3 + OWNER_BYTES,
            PageOperation::InsertAt { row, .. } | PageOperation::InsertShift { row, .. } => 5 + row.len(),
            PageOperation::RemoveAt { before, .. } | PageOperation::RemoveShift { before, .. } => 5 + before.len(),
            PageOperation::SetStatus { .. } => 5,
            PageOperation::ReplaceRow { before, after, .. } => 7 + before.len() + after.len(),
            PageOperation::PatchRow { before, after, .. } => 9 + before.len() + after.len(),
            PageOperation::FlipBits { bitmap, .. } => 8 + bitmap.len(),
            PageOperation::Fill { rows, .. } => 4 + OWNER_BYTES + rows.len(),
            PageOperation::Image { bytes } => 3 + bytes.len(),
            PageOperation::SetBytes { before, after, .. } => 7 + before.len() + after.len(),
            PageOperation::PurgeGhosts => 1,
        }
    }

    /// Upper estimate in bytes of the encoded operation that undoes this one, for the log space a rollback reserves.
    pub fn undo_bytes(&self) -> usize {
        self.inverse().map_or(0, |inverse| inverse.encoded_bytes())
    }
}

/// Object, next and previous page of the operations that make a page.
const OWNER_BYTES: usize = 4 + 2 * PageId::BYTES;

fn put_owner(out: &mut Vec<u8>, object: ObjectId, next: PageId, previous: PageId) {
    out.extend_from_slice(&object.0.to_le_bytes());
    out.extend_from_slice(&next.to_bytes());
    out.extend_from_slice(&previous.to_bytes());
}

fn put_slotted(out: &mut Vec<u8>, code: u8, slot: u16, strings: &[&[u8]]) {
    out.push(code);
    out.extend_from_slice(&slot.to_le_bytes());
    for string in strings {
        put_bytes(out, string);
    }
}

/// Takes fields from the front of untrusted bytes.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(Damage("a page operation ends too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Damage> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn u16(&mut self) -> Result<u16, Damage> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn string(&mut self) -> Result<&'a [u8], Damage> {
        let count = self.u16()?;
        self.take(usize::from(count))
    }

    fn kind(&mut self) -> Result<PageKind, Damage> {
        PageKind::from_byte(self.u8()?).ok_or(Damage("an unknown page kind"))
    }

    pub(super) fn object(&mut self) -> Result<ObjectId, Damage> {
        Ok(ObjectId(u32::from_le_bytes(self.array()?)))
    }

    pub(super) fn page_id(&mut self) -> Result<PageId, Damage> {
        Ok(PageId::from_bytes(self.array()?))
    }
}

/// Rows laid one after another exactly as they will lie on a fresh page, so that filling it is one copy.
#[derive(Debug, Clone, Default)]
pub struct PackedRows {
    bytes: Vec<u8>,
    row_count: usize,
}

impl PackedRows {
    /// None yet, with room for a page.
    pub fn new() -> PackedRows {
        PackedRows {
            bytes: Vec::with_capacity(PAGE_BYTES),
            row_count: 0,
        }
    }

    /// Adds a row unless the page would overflow; false when it would. An empty row is refused too.
    pub fn push(&mut self, row: &[u8]) -> bool {
        self.push_parts(&[row])
    }

    /// Adds a row that lies in parts, as [`PackedRows::push`].
    pub fn push_parts(&mut self, parts: &[&[u8]]) -> bool {
        let row_bytes: usize = parts.iter().map(|part| part.len()).sum();
        let used = HEADER_BYTES + self.bytes.len() + 2 * self.row_count;
        if row_bytes == 0 || used + row_bytes + PREFIX_BYTES + 2 > PAGE_BYTES {
            return false;
        }
        self.bytes.extend_from_slice(&(row_bytes as u16).to_le_bytes());
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.row_count += 1;
        true
    }

    /// For [`PageOperation::Fill`].
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Rows held.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// True before the first row.
    pub fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.row_count = 0;
    }
}

/// The rows of [`PageOperation::Fill`] in order; an error ends it.
pub struct RowIterator<'a> {
    reader: Reader<'a>,
}

impl<'a> RowIterator<'a> {
    pub fn new(rows: &'a [u8]) -> RowIterator<'a> {
        RowIterator {
            reader: Reader { bytes: rows },
        }
    }
}

impl<'a> Iterator for RowIterator<'a> {
    type Item = Result<&'a [u8], Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.bytes.is_empty() {
            return None;
        }
        let row = self.reader.string();
        if row.is_err() {
            self.reader.bytes = &[];
        }
        Some(row)
    }
}
