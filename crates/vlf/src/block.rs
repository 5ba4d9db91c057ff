//! Log blocks: the unit in which the log is written, 512 to 61,440 bytes.
//!
//! ```text
//! 0x00  u16  format version of the writer (its low byte is displaced by the first stamp while on disk)
//! 0x02  u16  slot count: number of records; 0 in a filler that ends a VLF
//! 0x04  u16  used bytes: header, records and slot array
//! 0x06  u16  block length, a multiple of 512
//! 0x08  u16  flags: 1, 2 when 0x18 holds a checksum, ours 4 when a write of the log began with this block
//! 0x0A  u16  length of the block before it, across the border of VLFs too
//! 0x0C  LSN  (10 bytes) of the first record: VLF sequence, block number, 1
//! 0x18  u32  XOR checksum
//! 0x1C  u32  ours: CRC32C of the stamped block, 0x18 and 0x1C as 0
//! 0x20  u32  ours: CRC32C of the block before it (0 for the first block of a log)
//! 0x24  u16  ours: sector bytes the length was rounded to, 512 or 4096
//! 0x28  u64  ours: write time, ticks the writer chooses
//! 0x30  LSN  (10 bytes) ours, with flag 4: the place below which the log was durable when the write began; else 0
//! 0x3A       ours: 0 up to 0x48, where the records begin
//! ...        records, ours without padding
//! used - 2 x slots:  slot array, u16 offsets; slot 1 is the last entry, the array grows down
//! used       zeros
//! end - n    the n displaced bytes: sector i's at end - 1 - i
//! ```
//!
//! On disk the first byte of every 512-byte sector is a stamp: parity of the VLF's use (0x40 / 0x80), 0x10 in the first sector, 0x08 in the
//! last. A write that stopped half-way leaves stamps of another use, or none. A stamp cannot detect a use with the same parity, two uses
//! ago; the checksums can. Our chain of CRCs ensures that a block left over from before a crash never follows a block written after it,
//! even if sequence, position and length match.
//!
//! A block without records is a filler. When no further record fits into a VLF, SQL Server fills the rest with one (seen in formats 2 and
//! 4), so that the next block finds its predecessor's length.
//!
//! Slots, used bytes and LSN are published (parsers of .ldf files). Flags, previous length, checksum and the meaning of the first two bytes
//! were derived here and hold for every block of the real files tested. Headers have 24 bytes in format 2, 28 in 3, 40 in 4, 48 in 5, 72 in
//! 6 and in ours.
//!
//! A block has the format of the server that wrote it, independent of its VLF's format ([`FormatVersion`]). SQL Server 2005 writes blocks
//! of format 3 into VLFs of format 2, 2019 writes blocks of format 6 into VLFs of format 5, and a VLF that was current during an upgrade
//! has blocks of two formats.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::checksum::{block_crc, block_xor};
use crate::lsn::{Lsn, VlfSequence};
use crate::tail::BlockFault;
use crate::vlf_header::{FormatVersion, Parity, VlfHeader};
use crate::{BLOCK_BYTES_MAX, FIRST_BLOCK, SECTOR_BYTES};

/// Bytes of our block header.
pub const BLOCK_HEADER_BYTES: usize = 72;
/// Bytes of the smallest block header, SQL Server 2000's.
const BLOCK_HEADER_BYTES_MIN: usize = 24;
/// Bytes of a record's entry in the slot array.
pub const SLOT_BYTES: usize = 2;
/// What a block of one record holds beside it: our header and one slot.
pub const BLOCK_OVERHEAD_BYTES: usize = BLOCK_HEADER_BYTES + SLOT_BYTES;
/// The largest record a block of ours can hold.
pub const RECORD_BYTES_MAX: usize = BLOCK_BYTES_MAX - BLOCK_BYTES_MAX / SECTOR_BYTES - BLOCK_OVERHEAD_BYTES;
/// Set in every block.
pub const FLAG_BLOCK: u16 = 1;
/// The XOR checksum is present.
pub const FLAG_CHECKSUM: u16 = 2;
/// Ours: a write of the log began with this block; [`BlockHeader::durable_before`] says what was durable then.
pub const FLAG_WRITE_START: u16 = 4;

pub(crate) const STAMP_FIRST: u8 = 0x10;
pub(crate) const STAMP_LAST: u8 = 0x08;
const STAMP_PARITY: u8 = 0xC0;
const STAMP_KNOWN: u8 = STAMP_PARITY | STAMP_FIRST | STAMP_LAST;

/// A block's header, whatever its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// How the block is read.
    pub format: FormatVersion,
    /// The number of its format. Where it is not known yet, `format` is the newest one that is.
    pub format_number: u16,
    /// Parity of all its stamps.
    pub parity: Parity,
    /// LSN of its first record (slot 1).
    pub lsn: Lsn,
    /// Records.
    pub slot_count: u16,
    /// Bytes of header, records and slot array.
    pub used_bytes: u16,
    /// Length of the block.
    pub block_bytes: u16,
    /// [`FLAG_BLOCK`], [`FLAG_CHECKSUM`], [`FLAG_WRITE_START`].
    pub flags: u16,
    /// Length of the block before it.
    pub previous_block_bytes: u16,
    /// The XOR checksum, meaningful with [`FLAG_CHECKSUM`].
    pub checksum: u32,
    /// Ours: CRC32C of this block. 0 in SQL Server's formats, like the fields below.
    pub crc: u32,
    /// Ours: CRC32C of the block before it.
    pub previous_crc: u32,
    /// Ours: what the length was rounded to.
    pub sector_bytes: u16,
    /// Ours: when the block was sealed, in the writer's ticks.
    pub write_ticks: u64,
    /// Ours: with [`FLAG_WRITE_START`], the place below which the log was durable when the write began; else
    /// [`Lsn::ZERO`], which says nothing.
    pub durable_before: Lsn,
}

/// What a reader knows of the block before it reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// Format of the VLF: whether it is ours or SQL Server's.
    pub format: FormatVersion,
    /// Parity of the VLF's current use.
    pub parity: Parity,
    /// Sequence of the VLF's current use.
    pub sequence: VlfSequence,
    /// The block's offset from the start of its VLF, in sectors.
    pub block: u32,
    /// Bytes left in the VLF.
    pub bytes_max: u64,
    /// Length of the block before it; `None` = not known, not checked.
    pub previous_block_bytes: Option<u16>,
    /// CRC32C of the block before it; `None` = not known, not checked. Only blocks of ours are checked.
    pub previous_crc: Option<u32>,
}

impl Expectations {
    /// For the first block of a VLF whose predecessor (the last block of the VLF before it in sequence) is not known.
    pub fn first_of(vlf: &VlfHeader) -> Expectations {
        Expectations {
            format: vlf.format,
            parity: vlf.parity,
            sequence: vlf.sequence,
            block: FIRST_BLOCK,
            bytes_max: vlf.body_bytes(),
            previous_block_bytes: None,
            previous_crc: None,
        }
    }

    /// For the first block of a VLF, following `previous`, the last block of the VLF before it in sequence.
    pub fn first_of_after(vlf: &VlfHeader, previous: &BlockHeader) -> Expectations {
        Expectations {
            previous_block_bytes: Some(previous.block_bytes),
            previous_crc: Some(previous.crc),
            ..Expectations::first_of(vlf)
        }
    }

    /// For the block behind `block` in the same VLF, when `self` were the expectations that `block` met.
    pub fn after(&self, block: &BlockHeader) -> Expectations {
        Expectations {
            block: block.lsn.next_block(usize::from(block.block_bytes)).block,
            bytes_max: self.bytes_max.saturating_sub(u64::from(block.block_bytes)),
            previous_block_bytes: Some(block.block_bytes),
            previous_crc: Some(block.crc),
            ..*self
        }
    }

    /// For a block `skipped_bytes` further on, reading on behind damage: its predecessor is not known.
    pub fn skip(&self, skipped_bytes: u64) -> Expectations {
        let sectors = u32::try_from(skipped_bytes / SECTOR_BYTES as u64).unwrap_or(u32::MAX);
        Expectations {
            block: self.block.saturating_add(sectors),
            bytes_max: self.bytes_max.saturating_sub(skipped_bytes),
            previous_block_bytes: None,
            previous_crc: None,
            ..*self
        }
    }
}

/// A block whose stamps are undone and whose every check has passed.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    header: BlockHeader,
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// A block that [`parse_block`] has checked and restored into `bytes`.
    pub(crate) fn checked(header: BlockHeader, bytes: &'a [u8]) -> Block<'a> {
        Block { header, bytes }
    }

    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// The whole block with its stamps undone.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The record in `slot`, as [`BlockHeader::record`].
    pub fn record(&self, slot: u16) -> Option<&'a [u8]> {
        self.header.record(self.bytes, slot)
    }

    /// Every record with its LSN, in order.
    pub fn records(&self) -> impl Iterator<Item = (Lsn, &'a [u8])> + use<'a> {
        let block = *self;
        (1..=self.header.slot_count).filter_map(move |slot| {
            block
                .record(slot)
                .map(|record| (block.header.lsn.with_slot(slot), record))
        })
    }
}

impl BlockHeader {
    /// The record in `slot` (from 1) of `block`, whose header this is and whose stamps are undone: from its slot's offset to the
    /// next slot's, or to the slot array. In our format exactly the bytes that were pushed; in SQL Server's with up to 3 bytes of
    /// padding behind it. `None` for a slot the block has not, or a slot array that contradicts itself.
    pub fn record<'b>(&self, block: &'b [u8], slot: u16) -> Option<&'b [u8]> {
        let end = match slot == self.slot_count {
            true => self.slot_position(slot)?,
            false => self.record_offset(block, slot.checked_add(1)?)?,
        };
        block.get(self.record_offset(block, slot)?..end)
    }

    /// Where the entry of a slot lies; that of the last is where the slot array begins.
    fn slot_position(&self, slot: u16) -> Option<usize> {
        usize::from(self.used_bytes).checked_sub(SLOT_BYTES * usize::from(slot))
    }

    /// Where the record of a slot begins; `None` for a slot the block has not.
    fn record_offset(&self, block: &[u8], slot: u16) -> Option<usize> {
        let known = (1..=self.slot_count).contains(&slot);
        let position = self.slot_position(slot).filter(|_| known)?;
        u16_at(block, position).map(usize::from)
    }
}

/// The length a block takes on disk that uses `used` bytes for header, records and slots: the smallest multiple of `sector_bytes`,
/// 512 or 4096, that holds them and one displaced byte for each 512.
pub fn sealed_length(used: usize, sector_bytes: usize) -> usize {
    let per_unit = sector_bytes - sector_bytes / SECTOR_BYTES;
    used.div_ceil(per_unit) * sector_bytes
}

/// The length of the block that begins at `first_sector`, from its stamp and length field alone; `None` when the stamp is
/// none of a first sector or the length is impossible. For readers that must know how much to read before they parse.
pub fn peek_block_length(first_sector: &[u8]) -> Option<usize> {
    stamped_parity(*first_sector.first()?)?;
    let length = usize::from(u16_at(first_sector, 0x06)?);
    possible_length(length).then_some(length)
}

fn possible_length(length: usize) -> bool {
    (SECTOR_BYTES..=BLOCK_BYTES_MAX).contains(&length) && length.is_multiple_of(SECTOR_BYTES)
}

/// The parity of a block's first stamp, if it is one.
fn stamped_parity(stamp: u8) -> Option<Parity> {
    if stamp & STAMP_FIRST == 0 || stamp & !STAMP_KNOWN != 0 {
        return None;
    }
    match Parity::from_byte(stamp & STAMP_PARITY) {
        Some(Parity::Unused) | None => None,
        used => used,
    }
}

/// Undoes the stamps of `block`: every sector gets back the byte that its stamp displaced.
pub(crate) fn restore(block: &mut [u8]) {
    let end = block.len();
    for (index, position) in (0..end).step_by(SECTOR_BYTES).enumerate() {
        block[position] = block[end - 1 - index];
    }
}

/// Checks everything that can be checked on the block as it lies on disk: all but the slot array.
fn verify(bytes: &[u8], expected: &Expectations) -> Result<BlockHeader, BlockFault> {
    let Some(first) = bytes.get(..SECTOR_BYTES) else {
        return Err(BlockFault::Short {
            bytes_needed: SECTOR_BYTES,
        });
    };
    let mut header = read_header(first, expected).ok_or(BlockFault::Short {
        bytes_needed: SECTOR_BYTES,
    })??;
    let length = usize::from(header.block_bytes);
    let block = bytes.get(..length).ok_or(BlockFault::Short { bytes_needed: length })?;
    check_stamps(block, expected.parity)?;
    let has_checksum = header.flags & FLAG_CHECKSUM != 0;
    let ours = expected.format == FormatVersion::Vlflab;
    if (ours || has_checksum) && block_xor(block, header.checksum) != header.checksum {
        return Err(BlockFault::Checksum);
    }
    if ours && block_crc(block) != header.crc {
        return Err(BlockFault::Crc);
    }
    // Byte 0 is under the first stamp; its own value is the block's very last byte.
    let found = u16::from_le_bytes([block[length - 1], block[1]]);
    let format = expected.format.of_block(found);
    header.format = format.ok_or(BlockFault::WrongFormat { found })?;
    header.format_number = found;
    let linked = |expected: Option<u16>| expected.is_none_or(|b| b == header.previous_block_bytes);
    if !linked(expected.previous_block_bytes) {
        return Err(BlockFault::WrongPreviousLength {
            found: header.previous_block_bytes,
        });
    }
    if ours && expected.previous_crc.is_some_and(|crc| crc != header.previous_crc) {
        return Err(BlockFault::Chain {
            found: header.previous_crc,
        });
    }
    Ok(header)
}

/// `None` = a field lies beyond the sector, which 512 bytes rule out.
fn read_header(first: &[u8], expected: &Expectations) -> Option<Result<BlockHeader, BlockFault>> {
    let stamp = *first.first()?;
    let Some(parity) = stamped_parity(stamp) else {
        return Some(Err(BlockFault::NotABlock { stamp }));
    };
    let ours = expected.format == FormatVersion::Vlflab;
    let header = BlockHeader {
        format: expected.format,
        format_number: expected.format.number(),
        parity,
        lsn: Lsn::read(first, 0x0C)?,
        slot_count: u16_at(first, 0x02)?,
        used_bytes: u16_at(first, 0x04)?,
        block_bytes: u16_at(first, 0x06)?,
        flags: u16_at(first, 0x08)?,
        previous_block_bytes: u16_at(first, 0x0A)?,
        checksum: u32_at(first, 0x18)?,
        crc: if ours { u32_at(first, 0x1C)? } else { 0 },
        previous_crc: if ours { u32_at(first, 0x20)? } else { 0 },
        sector_bytes: if ours { u16_at(first, 0x24)? } else { 0 },
        write_ticks: if ours { u64_at(first, 0x28)? } else { 0 },
        durable_before: if ours { Lsn::read(first, 0x30)? } else { Lsn::ZERO },
    };
    Some(check_header(&header, stamp, expected).map(|()| header))
}

fn check_header(header: &BlockHeader, stamp: u8, expected: &Expectations) -> Result<(), BlockFault> {
    if header.parity != expected.parity {
        return Err(BlockFault::StaleParity { stamp });
    }
    if header.lsn.vlf != expected.sequence.0 {
        return Err(BlockFault::WrongSequence { found: header.lsn.vlf });
    }
    if header.lsn.block != expected.block {
        return Err(BlockFault::WrongOffset {
            found: header.lsn.block,
        });
    }
    let length = usize::from(header.block_bytes);
    let used = usize::from(header.used_bytes);
    let used_min = BLOCK_HEADER_BYTES_MIN + SLOT_BYTES * usize::from(header.slot_count);
    let fits = possible_length(length)
        && u64::from(header.block_bytes) <= expected.bytes_max
        && used >= used_min
        && used <= length - length / SECTOR_BYTES;
    if fits {
        Ok(())
    } else {
        Err(BlockFault::Length {
            found: header.block_bytes,
        })
    }
}

fn check_stamps(block: &[u8], parity: Parity) -> Result<(), BlockFault> {
    let last = block.len() / SECTOR_BYTES - 1;
    for (index, sector) in block.chunks_exact(SECTOR_BYTES).enumerate() {
        if sector[0] != stamp_of(index, last, parity) {
            return Err(BlockFault::Torn {
                sector: u16::try_from(index).unwrap_or(u16::MAX),
            });
        }
    }
    Ok(())
}

pub(crate) fn stamp_of(index: usize, last: usize, parity: Parity) -> u8 {
    let first = if index == 0 { STAMP_FIRST } else { 0 };
    let last = if index == last { STAMP_LAST } else { 0 };
    parity.byte() | first | last
}

/// Offsets must rise from the header's end to the slot array's start.
fn check_slots(bytes: &[u8], header: &BlockHeader) -> Result<(), BlockFault> {
    let end = header.slot_position(header.slot_count).unwrap_or(0);
    let mut offset_min = header.format.block_header_bytes();
    for slot in 1..=header.slot_count {
        match header.record_offset(bytes, slot) {
            Some(offset) if offset >= offset_min && offset < end => offset_min = offset + 1,
            _ => return Err(BlockFault::SlotArray { slot }),
        }
    }
    Ok(())
}

/// Parses the block at the start of `bytes` (which may reach beyond it), undoing its stamps in `scratch`.
///
/// # Errors
/// The first check that fails, see [`BlockFault`]; [`BlockFault::Short`] asks for more bytes.
pub fn parse_block<'a>(
    bytes: &[u8],
    expected: &Expectations,
    scratch: &'a mut Vec<u8>,
) -> Result<Block<'a>, BlockFault> {
    let header = verify(bytes, expected)?;
    scratch.clear();
    scratch.extend_from_slice(&bytes[..usize::from(header.block_bytes)]);
    restore(scratch);
    check_slots(scratch, &header)?;
    Ok(Block { header, bytes: scratch })
}

/// Parses the block at the start of `bytes`, undoing its stamps in place. Once that has happened (success, or a fault in
/// the slot array) the bytes can no longer be parsed a second time.
///
/// # Errors
/// As [`parse_block`].
pub fn parse_block_in_place<'a>(bytes: &'a mut [u8], expected: &Expectations) -> Result<Block<'a>, BlockFault> {
    let header = verify(bytes, expected)?;
    let block = &mut bytes[..usize::from(header.block_bytes)];
    restore(block);
    check_slots(block, &header)?;
    Ok(Block { header, bytes: block })
}
