//! A page: 8,192 bytes, of which the first 96 are a header and the last an array of slots that grows downward.
//!
//! ```text
//! 0        1      2       3       4       6        8            14         16        22      24          28           30
//! +--------+------+-------+-------+-------+--------+------------+----------+---------+-------+-----------+------------+-----------+
//! | version| kind | flags | level | flags | index  | previous   | length   | next    | slots | object    | free bytes | first free|
//! | u8 = 1 | u8   | of the| u8    | u16   | id u16 | page u32   | of fixed | page u32| u16   | id u32    | u16        | byte u16  |
//! |        |      | kind  |       |       |        | file u16   | part u16 | file u16|       |           |            |           |
//! +--------+------+-------+-------+-------+--------+------------+----------+---------+-------+-----------+------------+-----------+
//! 32            38         40                 50          52         58       60          64                               96
//! +-------------+----------+------------------+-----------+----------+--------+-----------+--------------------------------+---
//! | own id      | reserved | LSN of the last  | reserved  | newest   | ghosts | checksum  | unused                         | records
//! | page u32    | bytes    | change           | by that   | transac- | u16    | or torn   |                                |
//! | file u16    | u16      | u32, u32, u16    | xact u16  | tion 6 B |        | bits u32  |                                |
//! +-------------+----------+------------------+-----------+----------+--------+-----------+--------------------------------+---
//!
//! ...  | slot n-1 | ... | slot 1 | slot 0 |     slot: u16, where its record begins in the page
//!                                    8192
//! ```
//!
//! Source of the fields: the output of DBCC PAGE, which names them (Delaney and others, "SQL Server 2008 Internals", chapter 5; Randal,
//! "Inside the Storage Engine: Anatomy of a page"); their offsets are measured. Two flags of the word at 4 matter here: 0x100, the page has
//! torn bits, and 0x200, it has a checksum.
//!
//! **Checksum** (measured on all pages of 19 databases): with the field as 0, each of the 16 sectors is 128 words of 32 bits XORed together;
//! sector `i` is rotated left by `15 - i`; the 16 are XORed together.
//!
//! **Torn bits** (inferred, and measured on databases made by SQL Server 2000): when the page was written, the lowest two bits of the last
//! byte of the sectors 1 to 15 went to the field, those of sector `i` to its bits `2i` and `2i + 1`, and a pattern took their place. The
//! lowest two bits of the field are that pattern, so a sector without it is from another write.
//!
//! **Allocation unit** (measured): the object id and the index id of a page are two parts of the id of the allocation unit that it belongs
//! to, `index << 48 | object << 16`, in every database that SQL Server 2005 or later has opened.

pub mod maps;
mod source;
mod window;

pub(crate) use source::read_pages;
pub use source::{DataFiles, FileOfPages, PageSource};
pub(crate) use window::PageWindow;

use crate::bytes::{array_at, u16_at, u32_at};
use crate::fault::{Fault, Result};
use std::fmt;
use vlf::{Lsn, SECTOR_BYTES};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 8192;
/// Bytes of a page's header.
pub const HEADER_BYTES: usize = 96;
/// Pages of an extent.
pub const EXTENT_PAGES: u32 = 8;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_BYTES];

const CHECKSUM_OFFSET: usize = 60;
const FLAG_TORN_BITS: u16 = 0x100;
const FLAG_CHECKSUM: u16 = 0x200;

/// A page of a database: `(file:page)`, as SQL Server writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    pub file: u16,
    pub page: u32,
}

impl PageId {
    /// The page `page` of file `file`.
    pub const fn new(file: u16, page: u32) -> PageId {
        PageId { file, page }
    }

    /// Six bytes of a page, `page u32, file u16`; `None` past the end of `bytes`.
    pub fn read(bytes: &[u8], offset: usize) -> Option<PageId> {
        let file = u16_at(bytes, offset.checked_add(4)?)?;
        Some(PageId::new(file, u32_at(bytes, offset)?))
    }

    /// Zeros stand for no page: file ids begin at 1.
    pub fn is_none(self) -> bool {
        self.file == 0
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.file, self.page)
    }
}

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Rows of a heap or of the leaves of a clustered index.
    Data,
    /// An index, except the leaves of a clustered one.
    Index,
    /// Pieces of large values, of several values together.
    TextMix,
    /// Pieces of large values, of one value.
    TextTree,
    /// A sort's own.
    Sort,
    /// Global allocation map: which extents are free.
    Gam,
    /// Shared global allocation map: which mixed extents have a free page.
    Sgam,
    /// Index allocation map: which extents belong to an allocation unit.
    Iam,
    /// Page free space.
    Pfs,
    /// The boot record of the database.
    Boot,
    /// The header of the file.
    FileHeader,
    /// Extents changed since the last full backup.
    DifferentialMap,
    /// Extents changed by minimally logged work since the last log backup.
    MinimallyLoggedMap,
    /// Another number: zero on a page that was never formatted.
    Other(u8),
}

impl PageKind {
    /// The kind whose number in the header is `number`.
    pub fn of(number: u8) -> PageKind {
        match number {
            1 => PageKind::Data,
            2 => PageKind::Index,
            3 => PageKind::TextMix,
            4 => PageKind::TextTree,
            7 => PageKind::Sort,
            8 => PageKind::Gam,
            9 => PageKind::Sgam,
            10 => PageKind::Iam,
            11 => PageKind::Pfs,
            13 => PageKind::Boot,
            15 => PageKind::FileHeader,
            16 => PageKind::DifferentialMap,
            17 => PageKind::MinimallyLoggedMap,
            other => PageKind::Other(other),
        }
    }
}

/// Whether a page is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// It was never formatted: all of it is zeros.
    Empty,
    /// It has neither a checksum nor torn bits.
    Unprotected,
    /// Its checksum, or its torn bits, fit.
    Sound,
    /// Its checksum is not that of its bytes.
    WrongChecksum { expected: u32, computed: u32 },
    /// Its sectors are from different writes.
    Torn,
}

impl Soundness {
    /// The bytes are not those that were written.
    pub fn is_damaged(self) -> bool {
        matches!(self, Soundness::WrongChecksum { .. } | Soundness::Torn)
    }
}

/// A page in memory, its sectors as the server sees them: torn bits are put back.
#[derive(Clone)]
pub struct Page {
    bytes: Box<PageBytes>,
    soundness: Soundness,
}

impl Page {
    /// Reads page `id`.
    ///
    /// # Errors
    /// The source does not have it, or cannot read it, or the bytes are those of another page, or damaged.
    pub fn read(source: &dyn PageSource, id: PageId) -> Result<Page> {
        Page::read_unchecked(source, id)?.checked(id)
    }

    /// The page, if it is as it was written, and is page `id`.
    pub(crate) fn checked(self, id: PageId) -> Result<Page> {
        match self.soundness {
            Soundness::WrongChecksum { expected, computed } => Err(Fault::of_page(
                id,
                format!("its checksum is 0x{expected:08x}, that of its bytes 0x{computed:08x}"),
            )),
            Soundness::Torn => Err(Fault::of_page(id, "torn: its sectors are from different writes")),
            _ if self.id() != id => Err(Fault::of_page(id, format!("page {} is in its place", self.id()))),
            _ => Ok(self),
        }
    }

    /// A page that was found sound already, and has no torn bits to put back.
    pub(crate) fn found_sound(bytes: Box<PageBytes>) -> Page {
        Page {
            bytes,
            soundness: Soundness::Sound,
        }
    }

    /// Reads page `id` whatever it holds: [`Page::soundness`] and [`Page::id`] say more.
    ///
    /// # Errors
    /// The source does not have it, or cannot read it.
    pub fn read_unchecked(source: &dyn PageSource, id: PageId) -> Result<Page> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        source.read_page(id, &mut bytes)?;
        Ok(Page::of(bytes))
    }

    /// The page that was written as `bytes`.
    pub fn of(mut bytes: Box<PageBytes>) -> Page {
        let soundness = soundness(&bytes);
        if u16_at(&bytes[..], 4).unwrap_or(0) & FLAG_TORN_BITS != 0 && soundness == Soundness::Sound {
            put_torn_bits_back(&mut bytes);
        }
        Page { bytes, soundness }
    }

    /// The header, the records and the slots.
    pub fn bytes(&self) -> &PageBytes {
        &self.bytes
    }

    /// Whether it is as it was written.
    pub fn soundness(&self) -> Soundness {
        self.soundness
    }

    /// It was written with a checksum.
    pub fn has_checksum(&self) -> bool {
        self.u16(4) & FLAG_CHECKSUM != 0
    }

    /// What is on it, as its header says.
    pub fn kind(&self) -> PageKind {
        PageKind::of(self.bytes[1])
    }

    /// Its level in an index: 0 is the leaf.
    pub fn level(&self) -> u8 {
        self.bytes[3]
    }

    /// The id it says it has.
    pub fn id(&self) -> PageId {
        PageId::new(self.u16(36), self.u32(32))
    }

    /// The page before it, at its level of the index.
    pub fn previous(&self) -> Option<PageId> {
        self.link(8)
    }

    /// The page after it, at its level of the index.
    pub fn next(&self) -> Option<PageId> {
        self.link(16)
    }

    /// How many slots it has.
    pub fn slot_count(&self) -> u16 {
        self.u16(22)
    }

    /// The object id: with the index id a part of the id of the allocation unit.
    pub fn object_id(&self) -> u32 {
        self.u32(24)
    }

    /// The index id: with the object id a part of the id of the allocation unit.
    pub fn index_id(&self) -> u16 {
        self.u16(6)
    }

    /// It belongs to the allocation unit `unit`. A page of a clustered index that SQL Server 2000 wrote has the index id 0.
    pub fn belongs_to(&self, unit: u64) -> bool {
        let index = unit >> 48;
        let object = unit >> 16 & 0xFFFF_FFFF;
        let is_index = u64::from(self.index_id()) == index || (self.index_id() == 0 && index == 1);
        is_index && u64::from(self.object_id()) == object
    }

    /// The log record of its last change.
    pub fn lsn(&self) -> Lsn {
        Lsn::from_bytes(array_at(&self.bytes[..], 40).expect("the header is within the page"))
    }

    /// How many of its records are ghosts: deleted, and not yet removed.
    pub fn ghost_count(&self) -> u16 {
        self.u16(58)
    }

    /// The bytes from the beginning of the record of `slot` to the slot array: its own length is for the record to say. `None` if the slot
    /// is empty, as those are in a heap whose rows were deleted.
    ///
    /// # Errors
    /// There is no such slot, or it leads out of the room for records.
    pub fn record(&self, slot: u16) -> Result<Option<&[u8]>> {
        let fault = |reason: String| Fault::of_slot(self.id(), slot, reason);
        let count = self.slot_count();
        if slot >= count {
            return Err(fault(format!("there are {count} slots")));
        }
        let records_end = PAGE_BYTES
            .checked_sub(2 * usize::from(count))
            .filter(|end| *end >= HEADER_BYTES)
            .ok_or_else(|| fault(format!("{count} slots leave no room for records")))?;
        let start = usize::from(self.u16(PAGE_BYTES - 2 * (usize::from(slot) + 1)));
        if start == 0 {
            return Ok(None);
        }
        if start < HEADER_BYTES || start >= records_end {
            return Err(fault(format!("its record begins at byte {start} of the page")));
        }
        Ok(Some(&self.bytes[start..records_end]))
    }

    fn link(&self, offset: usize) -> Option<PageId> {
        PageId::read(&self.bytes[..], offset).filter(|page| !page.is_none())
    }

    fn u16(&self, offset: usize) -> u16 {
        u16_at(&self.bytes[..], offset).expect("the callers' offsets are within the page")
    }

    fn u32(&self, offset: usize) -> u32 {
        u32_at(&self.bytes[..], offset).expect("the callers' offsets are within the page")
    }
}

/// The checksum that belongs into the header of `bytes`.
pub fn checksum(bytes: &PageBytes) -> u32 {
    let (words, _) = bytes.as_chunks::<4>();
    let mut sum = 0;
    for (sector, rotation) in words.chunks_exact(SECTOR_BYTES / 4).zip((0..16).rev()) {
        let of_sector = sector.iter().fold(0, |sum, word| sum ^ u32::from_le_bytes(*word));
        sum ^= of_sector.rotate_left(rotation);
    }
    // The field itself counts as 0; it lies in the first sector.
    let field = u32_at(bytes, CHECKSUM_OFFSET).expect("the header is within the page");
    sum ^ field.rotate_left(15)
}

pub(crate) fn soundness(bytes: &PageBytes) -> Soundness {
    let flags = u16::from_le_bytes([bytes[4], bytes[5]]);
    let field = u32_at(bytes, CHECKSUM_OFFSET).expect("the header is within the page");
    if flags & FLAG_CHECKSUM != 0 {
        let computed = checksum(bytes);
        return match computed == field {
            true => Soundness::Sound,
            false => Soundness::WrongChecksum {
                expected: field,
                computed,
            },
        };
    }
    if flags & FLAG_TORN_BITS != 0 {
        let pattern = (field & 3) as u8;
        let is_whole = (1..PAGE_BYTES / SECTOR_BYTES).all(|sector| bytes[last_byte_of(sector)] & 3 == pattern);
        return if is_whole { Soundness::Sound } else { Soundness::Torn };
    }
    match bytes.iter().all(|byte| *byte == 0) {
        true => Soundness::Empty,
        false => Soundness::Unprotected,
    }
}

fn last_byte_of(sector: usize) -> usize {
    sector * SECTOR_BYTES + SECTOR_BYTES - 1
}

fn put_torn_bits_back(bytes: &mut PageBytes) {
    let field = u32_at(&bytes[..], CHECKSUM_OFFSET).expect("the header is within the page");
    for sector in 1..PAGE_BYTES / SECTOR_BYTES {
        let bits = (field >> (2 * sector)) as u8 & 3;
        let byte = &mut bytes[last_byte_of(sector)];
        *byte = *byte & !3 | bits;
    }
}
