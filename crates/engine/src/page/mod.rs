//! Pages as bytes: header, slotted rows, checksum, and the operations that change them. Pure: no I/O, no locks, no clock.
//!
//! ```text
//! 0        96                    free_offset                      8192
//! | header | [u16 length][row] ... |   contiguous free   | ... slot 1 | slot 0 |
//!
//! header, little-endian:
//!   0 u8 version 1   1 u8 kind   2 u8 level   3 u8 flags   4 u32 crc32c, taken with this field as zero
//!   8 page id (u32 page, u16 file)   14 u16 slot count   16 lsn (10)   26 u16 free_offset   28 u16 hole_bytes
//!  30 u16 ghost count   32 u32 object   36 next page id   42 previous page id
//!  48 reclaim_lsn (10)   58 u16 reserved_bytes   60..96 zero
//! ```
//! A slot is the offset of its row's length prefix, or 0 when it is empty (heaps only: their row identifiers must not move). The first byte
//! of a row holds the status bits [`ROW_GHOST`], [`ROW_STUB`] and [`ROW_FORWARDED`]. Everything else belongs to the caller, including the
//! other bits of that byte (`store::row` shows which are used and which are reserved). Kinds without rows (space maps, boot page, file
//! header) have `free_offset` 8192 and no slot; all their bytes are content.
//!
//! Invariants, checked by [`verify_page`]:
//! * rows and holes fill the space from 96 to `free_offset` exactly; rows do not overlap; slots point at rows;
//! * `ghost count` is the number of rows whose ghost bit is set;
//! * [`apply()`] is the only way a page changes, in normal work and in redo: the same page and the same operation give the same bytes.
//!
//! **Room that undo may need.** A transaction that shrinks a row must be able to grow it back, so bytes freed by shrinking or
//! removing a live row stay reserved: `reclaim_lsn` is the newest such change or ghost mark, `reserved_bytes` their sum. Once
//! every active transaction began after `reclaim_lsn`, [`PageMut::release_reserved`] frees them. That release is not logged.
//! Redo never needs to know the reserve, so a redone page merely holds it longer than it must.

mod apply;
mod change;
mod flip;
mod layout;
mod operation;
mod verify;

pub use apply::apply;
pub use change::{Change, Entries, UndoKind};
pub use flip::flipped_bit;
pub use layout::{PageKind, PageMut, PageRef, checksum_holds, checksums, seal};
pub use operation::{PackedRows, PageOperation, RowIterator};
pub use verify::verify_page;

use std::fmt;

pub const PAGE_BYTES: usize = 8192;
/// Bytes of a page's header.
pub const HEADER_BYTES: usize = 96;
/// Bytes a row costs beside itself: its length prefix and its slot.
pub const ROW_OVERHEAD_BYTES: usize = 4;
/// The longest row a page can hold: 8192 - 96 - 4. Rows of a table are limited to 8060 bytes above this room.
pub const ROW_BYTES_MAX: usize = PAGE_BYTES - HEADER_BYTES - ROW_OVERHEAD_BYTES;

/// Status bit of a row: deleted, kept until no transaction can bring it back.
pub const ROW_GHOST: u8 = 1;
/// Status bit of a row: a forwarding stub of a heap, followed by the 8-byte row identifier of the row itself.
pub const ROW_STUB: u8 = 2;
/// Status bit of a row: reached through a stub; it carries a pointer back.
pub const ROW_FORWARDED: u8 = 4;

/// The bytes of one page.
/// Pages of an extent: eight pages of a file that belong together.
pub const EXTENT_PAGES: u32 = 8;
/// Extents of a file that one space map and one change map cover.
pub const INTERVAL_EXTENTS: u32 = 64_000;

pub type PageBytes = [u8; PAGE_BYTES];

/// Where a page is: file and number within it. Prints as `(1:42)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// File number within the database; 1 is the primary file. 0 names no page.
    pub file: u16,
    /// Page number within the file, from 0.
    pub page: u32,
}

impl PageId {
    /// No page.
    pub const NONE: PageId = PageId { file: 0, page: 0 };
    /// Bytes of the encoded form.
    pub const BYTES: usize = 6;

    /// A page of a file.
    pub const fn new(file: u16, page: u32) -> PageId {
        PageId { file, page }
    }

    /// True for [`PageId::NONE`].
    pub fn is_none(self) -> bool {
        self.file == 0
    }

    /// Encoded: u32 page, u16 file, little-endian.
    pub fn to_bytes(self) -> [u8; PageId::BYTES] {
        let [a, b, c, d] = self.page.to_le_bytes();
        let [e, f] = self.file.to_le_bytes();
        [a, b, c, d, e, f]
    }

    /// Decodes [`PageId::to_bytes`]. Every value is a page id.
    pub fn from_bytes(bytes: [u8; PageId::BYTES]) -> PageId {
        let [a, b, c, d, e, f] = bytes;
        PageId {
            page: u32::from_le_bytes([a, b, c, d]),
            file: u16::from_le_bytes([e, f]),
        }
    }

    /// Byte offset of the page in its file.
    pub fn file_offset(self) -> u64 {
        u64::from(self.page) * PAGE_BYTES as u64
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "({}:{})", self.file, self.page)
    }
}

/// The allocation unit of the catalog.
pub const CATALOG_UNIT: u32 = 1;

/// A heap or a tree: the unit to which pages belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Bytes that contradict themselves, or an operation that contradicts its page. The text names the contradiction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage(pub &'static str);

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Damage {}
