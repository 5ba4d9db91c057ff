//! Writes log blocks of our format (see [`crate::block`] for the bytes) straight into the buffer that goes to disk.
//!
//! Records are copied once, into their final place. While the block is open the slot array lies at the far end of the
//! buffer; sealing moves it behind the last record, stamps the sectors and computes both checksums.
//!
//! The unused part of a block is zeros. A reused buffer is not zeroed as a whole: [`UsedBuffer`] records which bytes the previous block
//! left, and few of them lie beyond the end of a block of the same length.

use std::ops::{Deref, DerefMut};

use crate::block::{
    BLOCK_HEADER_BYTES, FLAG_BLOCK, FLAG_CHECKSUM, FLAG_WRITE_START, SLOT_BYTES, sealed_length, stamp_of,
};
use crate::bytes::{put, u16_at};
use crate::checksum::{CRC_OFFSET, XOR_OFFSET, used_block_crc, used_block_xor};
use crate::lsn::Lsn;
use crate::vlf_header::{FormatVersion, Parity};
use crate::{BLOCK_BYTES_MAX, SECTOR_BYTES};

/// Where a block begins and what it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockOrigin {
    /// VLF sequence and block number; the slot is ignored.
    pub lsn: Lsn,
    /// Parity of the VLF's current use.
    pub parity: Parity,
    /// Length of the block before it, 0 for the first block of a log.
    pub previous_block_bytes: u16,
    /// 512 or 4096: the sealed length is a multiple of it.
    pub sector_bytes: u16,
    /// Bytes left in the VLF: the sealed length stays within them, and within 60 KB.
    pub bytes_max: usize,
}

/// A buffer and the range of bytes that a block may have left behind; all others are zeros.
#[derive(Clone, Debug)]
pub struct UsedBuffer<B> {
    bytes: B,
    left: Left,
}

/// What is not zero in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Anything.
    Unknown,
    /// A sealed block: its records up to `used`, its stamps and what they displaced up to `length`.
    Block { used: usize, length: usize },
}

impl<B> UsedBuffer<B> {
    /// A buffer of zeros.
    pub fn zeroed(bytes: B) -> UsedBuffer<B> {
        UsedBuffer {
            bytes,
            left: Left::Block { used: 0, length: 0 },
        }
    }

    pub fn into_bytes(self) -> B {
        self.bytes
    }
}

impl<B: Deref<Target = [u8]>> Deref for UsedBuffer<B> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Left {
    /// Ensures that a buffer holds zeros from `used` to `length`; returns its new state.
    fn clear(self, buffer: &mut [u8], used: usize, length: usize) -> Left {
        let (former_used, former_length) = match self {
            Left::Unknown => {
                buffer[used..length].fill(0);
                return Left::Unknown;
            }
            Left::Block { used, length } => (used, length),
        };
        if former_used > used {
            buffer[used..former_used].fill(0);
        }
        for stamp in (used.next_multiple_of(SECTOR_BYTES)..former_length).step_by(SECTOR_BYTES) {
            buffer[stamp] = 0;
        }
        let displaced = (former_length - former_length / SECTOR_BYTES).max(used);
        if displaced < former_length {
            buffer[displaced..former_length].fill(0);
        }
        Left::Block { used, length }
    }
}

/// An open block in a buffer `B` (`&mut [u8]`, `Vec<u8>`, `Box<[u8]>`, an aligned buffer ...).
#[derive(Debug)]
pub struct BlockBuilder<B> {
    buffer: B,
    left: Left,
    origin: BlockOrigin,
    /// Largest value `used` may reach: the largest sealed length less one displaced byte per sector.
    used_max: usize,
    records_end: usize,
    slot_count: u16,
    flags: u16,
    durable_before: Lsn,
}

/// A sealed block: the first `bytes` bytes of `buffer` are what goes to disk.
#[derive(Debug)]
pub struct SealedBlock<B> {
    /// The buffer that was given to the builder.
    pub buffer: UsedBuffer<B>,
    /// Length of the block.
    pub bytes: usize,
    /// Its CRC32C, which the next block names as its predecessor's.
    pub crc: u32,
    /// LSN of its first record.
    pub lsn: Lsn,
    /// Its records.
    pub slot_count: u16,
}

impl<B: DerefMut<Target = [u8]>> BlockBuilder<B> {
    /// Opens a block in a buffer of any content. `None` when the buffer or the VLF's rest is shorter than a sector, or `sector_bytes` is
    /// neither 512 nor 4096.
    pub fn new(buffer: B, origin: BlockOrigin) -> Option<BlockBuilder<B>> {
        let unknown = UsedBuffer {
            bytes: buffer,
            left: Left::Unknown,
        };
        BlockBuilder::again(unknown, origin)
    }

    /// The same in a buffer of which it is known what it holds.
    pub fn again(buffer: UsedBuffer<B>, origin: BlockOrigin) -> Option<BlockBuilder<B>> {
        let UsedBuffer {
            bytes: mut buffer,
            left,
        } = buffer;
        let sector_bytes = usize::from(origin.sector_bytes);
        if ![512, 4096].contains(&sector_bytes) {
            return None;
        }
        let room = buffer.len().min(origin.bytes_max).min(BLOCK_BYTES_MAX);
        let capacity = room / sector_bytes * sector_bytes;
        if capacity == 0 {
            return None;
        }
        buffer[..BLOCK_HEADER_BYTES].fill(0);
        Some(BlockBuilder {
            buffer,
            left,
            origin,
            used_max: capacity - capacity / SECTOR_BYTES,
            records_end: BLOCK_HEADER_BYTES,
            slot_count: 0,
            flags: FLAG_BLOCK | FLAG_CHECKSUM,
            durable_before: Lsn::ZERO,
        })
    }

    /// Whether a record of `record_bytes` still fits. A record has at least one byte.
    pub fn fits(&self, record_bytes: usize) -> bool {
        record_bytes > 0
            && self
                .used_bytes()
                .saturating_add(record_bytes)
                .saturating_add(SLOT_BYTES)
                <= self.used_max
    }

    /// No record yet.
    pub fn is_empty(&self) -> bool {
        self.slot_count == 0
    }

    /// Records so far.
    pub fn slot_count(&self) -> u16 {
        self.slot_count
    }

    /// LSN the next record will get.
    pub fn next_lsn(&self) -> Lsn {
        self.origin.lsn.with_slot(self.slot_count.saturating_add(1))
    }

    /// Bytes of header, records and slot array so far.
    pub fn used_bytes(&self) -> usize {
        self.records_end + SLOT_BYTES * usize::from(self.slot_count)
    }

    /// The length the block would have if sealed now: what the next block's LSN is computed from.
    pub fn sealed_bytes(&self) -> usize {
        sealed_length(self.used_bytes(), usize::from(self.origin.sector_bytes))
    }

    /// Copies `record` into the block and answers its slot (from 1). `None` when it does not fit: seal this block and open
    /// the next.
    pub fn try_push(&mut self, record: &[u8]) -> Option<u16> {
        let (slot, place) = self.reserve(record.len())?;
        place.copy_from_slice(record);
        Some(slot)
    }

    /// Makes room for a record the caller encodes in place: its slot, and its bytes with arbitrary content.
    pub fn reserve(&mut self, record_bytes: usize) -> Option<(u16, &mut [u8])> {
        if !self.fits(record_bytes) {
            return None;
        }
        let start = self.records_end;
        let offset = u16::try_from(start).ok()?;
        self.slot_count += 1;
        self.records_end += record_bytes;
        let slot_position = self.used_max - SLOT_BYTES * usize::from(self.slot_count);
        put(&mut self.buffer, slot_position, &offset.to_le_bytes());
        let place = self.buffer.get_mut(start..start + record_bytes)?;
        Some((self.slot_count, place))
    }

    /// A record pushed before, by its slot (from 1).
    pub fn record(&self, slot: u16) -> Option<&[u8]> {
        let end = match slot == self.slot_count {
            true => self.records_end,
            false => self.record_start(slot.checked_add(1)?)?,
        };
        self.buffer.get(self.record_start(slot)?..end)
    }

    fn record_start(&self, slot: u16) -> Option<usize> {
        let known = (1..=self.slot_count).contains(&slot);
        let position = self
            .used_max
            .checked_sub(SLOT_BYTES * usize::from(slot))
            .filter(|_| known)?;
        u16_at(&self.buffer, position).map(usize::from)
    }

    /// A write of the log begins with this block, and the log is durable below `durable_before`: [`FLAG_WRITE_START`].
    pub fn mark_write_start(&mut self, durable_before: Lsn) {
        self.flags |= FLAG_WRITE_START;
        self.durable_before = durable_before;
    }

    /// Seals the block: `previous_crc` is that of the block before it (0 for the first of a log), `write_ticks` is stored
    /// as given. A block without records is a valid filler.
    pub fn finish(mut self, previous_crc: u32, write_ticks: u64) -> SealedBlock<B> {
        let used = self.used_bytes();
        let length = self.sealed_bytes();
        let slot_bytes = SLOT_BYTES * usize::from(self.slot_count);
        let slots_from = self.used_max - slot_bytes;
        self.buffer.copy_within(slots_from..self.used_max, self.records_end);
        self.buffer[slots_from.max(used)..self.used_max].fill(0);
        let left = self.left.clear(&mut self.buffer, used, length);
        let lsn = self.origin.lsn.with_slot(1);
        let block = &mut self.buffer[..length];
        debug_assert!(
            block[used..].iter().all(|&byte| byte == 0),
            "what a block does not fill is zeros"
        );
        // All values are at most 61,440, so the casts lose nothing.
        put(block, 0x00, &FormatVersion::Vlflab.number().to_le_bytes());
        put(block, 0x02, &self.slot_count.to_le_bytes());
        put(block, 0x04, &(used as u16).to_le_bytes());
        put(block, 0x06, &(length as u16).to_le_bytes());
        put(block, 0x08, &self.flags.to_le_bytes());
        put(block, 0x0A, &self.origin.previous_block_bytes.to_le_bytes());
        put(block, 0x0C, &lsn.to_bytes());
        put(block, 0x20, &previous_crc.to_le_bytes());
        put(block, 0x24, &self.origin.sector_bytes.to_le_bytes());
        put(block, 0x28, &write_ticks.to_le_bytes());
        put(block, 0x30, &self.durable_before.to_bytes());
        stamp_block(block, self.origin.parity);
        let crc = used_block_crc(block, used);
        put(block, CRC_OFFSET, &crc.to_le_bytes());
        let checksum = used_block_xor(block, used);
        put(block, XOR_OFFSET, &checksum.to_le_bytes());
        SealedBlock {
            buffer: UsedBuffer {
                bytes: self.buffer,
                left,
            },
            bytes: length,
            crc,
            lsn,
            slot_count: self.slot_count,
        }
    }

    /// Gives the buffer back without sealing.
    pub fn into_buffer(self) -> B {
        self.buffer
    }
}

/// Stamps the sectors of a block whose stamps were undone: the bytes are again what [`BlockBuilder::finish`] had made.
/// Nothing happens to bytes that are no whole number of sectors.
pub fn stamp_block(block: &mut [u8], parity: Parity) {
    let end = block.len();
    if end == 0 || !end.is_multiple_of(SECTOR_BYTES) {
        return;
    }
    let last = end / SECTOR_BYTES - 1;
    for (index, position) in (0..end).step_by(SECTOR_BYTES).enumerate() {
        block[end - 1 - index] = block[position];
        block[position] = stamp_of(index, last, parity);
    }
}
