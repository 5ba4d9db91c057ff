//! Writes log blocks and log files as SQL Server 2012 to 2017 does (format 5): header, records, slots, stamps.

use vlf::{Lsn, SECTOR_BYTES};

const HEADER_BYTES: usize = 48;

/// The log of one VLF in the making.
pub struct LogWriter {
    pub sequence: u32,
    /// Sectors from the start of the VLF to the next block.
    block: u32,
    previous_bytes: u16,
    pub bytes: Vec<u8>,
}

impl LogWriter {
    pub fn new(sequence: u32) -> LogWriter {
        LogWriter {
            sequence,
            block: vlf::FIRST_BLOCK,
            previous_bytes: 0,
            bytes: Vec::new(),
        }
    }

    /// The LSN that record `slot` (from 1) of the next block gets.
    pub fn next_lsn(&self, slot: u16) -> Lsn {
        Lsn::new(self.sequence, self.block, slot)
    }

    /// Appends a block with `records`.
    pub fn block(&mut self, records: &[Vec<u8>]) -> &mut LogWriter {
        let mut block = vec![0; HEADER_BYTES];
        let mut slots = Vec::new();
        for record in records {
            block.resize(block.len().next_multiple_of(4), 0);
            slots.push(block.len() as u16);
            block.extend(record);
        }
        block.resize(block.len().next_multiple_of(4), 0);
        slots.iter().rev().for_each(|slot| block.extend(slot.to_le_bytes()));
        let used = block.len();
        let length = used.div_ceil(SECTOR_BYTES - 1) * SECTOR_BYTES;
        block.resize(length, 0);
        let lsn = self.next_lsn(1).to_bytes();
        for (offset, value) in [
            (0, 5),
            (2, slots.len()),
            (4, used),
            (6, length),
            (8, 1),
            (10, usize::from(self.previous_bytes)),
        ] {
            block[offset..offset + 2].copy_from_slice(&(value as u16).to_le_bytes());
        }
        block[12..22].copy_from_slice(&lsn);
        let sectors = length / SECTOR_BYTES;
        for sector in 0..sectors {
            block[length - 1 - sector] = block[sector * SECTOR_BYTES];
            let first = if sector == 0 { 0x10 } else { 0 };
            let last = if sector == sectors - 1 { 0x08 } else { 0 };
            block[sector * SECTOR_BYTES] = 0x40 | first | last;
        }
        self.bytes.extend(block);
        self.block += sectors as u32;
        self.previous_bytes = length as u16;
        self
    }
}
