//! Writes log blocks and log files as SQL Server 2012 to 2017 does (format 5): header, records, slots, stamps.

use vlf::{FormatVersion, Lsn, Parity, SECTOR_BYTES, VlfHeader, VlfSequence};

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
/// A log file with one used VLF that holds `log`, and an unused one behind it.
pub fn log_file(log: &LogWriter) -> Vec<u8> {
    let vlf_bytes = (log.bytes.len() as u64 + 8192).next_multiple_of(65_536);
    let mut file = vec![0; 8192];
    file[..2].copy_from_slice(&[1, 15]);
    for (number, sequence) in [log.sequence, 0].into_iter().enumerate() {
        let header = VlfHeader {
            format: FormatVersion::SqlServer2012,
            parity: if sequence == 0 { Parity::Unused } else { Parity::Odd },
            sequence: VlfSequence(sequence),
            use_count: u32::from(sequence != 0),
            vlf_bytes,
            start_offset: 8192 + number as u64 * vlf_bytes,
            create_lsn: Lsn::ZERO,
            durable_before: Lsn::ZERO,
        };
        file.extend(header.encode());
        file.resize(8192 + number * vlf_bytes as usize + 8192, 0);
        if number == 0 {
            file.extend(&log.bytes);
        }
        file.resize(8192 + (number + 1) * vlf_bytes as usize, 0);
    }
    file
}

/// A record in the making: its fixed part, and elements behind it.
pub struct RecordWriter(Vec<u8>);

impl RecordWriter {
    /// A record of transaction `transaction`, with `fixed_bytes` before its elements.
    pub fn new(fixed_bytes: usize, operation: u8, context: u8, transaction: u32) -> RecordWriter {
        let mut bytes = vec![0; fixed_bytes];
        bytes[2..4].copy_from_slice(&(fixed_bytes as u16).to_le_bytes());
        bytes[0x10..0x14].copy_from_slice(&transaction.to_le_bytes());
        bytes[0x16] = operation;
        bytes[0x17] = context;
        RecordWriter(bytes)
    }

    /// LOP_BEGIN_XACT.
    pub fn begin(transaction: u32, name: &str, sid: &[u8], days: u32) -> Vec<u8> {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        RecordWriter::new(76, 128, 0, transaction)
            .put(0x2C, &days.to_le_bytes())
            .elements(&[&name, sid])
    }

    /// LOP_COMMIT_XACT, or LOP_ABORT_XACT.
    pub fn end(transaction: u32, operation: u8, days: u32) -> Vec<u8> {
        RecordWriter::new(80, operation, 0, transaction)
            .put(0x1C, &days.to_le_bytes())
            .elements(&[])
    }

    /// A change of a page of the allocation unit `object << 16`.
    pub fn page(operation: u8, context: u8, transaction: u32, place: PagePlace) -> RecordWriter {
        RecordWriter::new(62, operation, context, transaction)
            .put(0x18, &place.page.to_le_bytes())
            .put(0x1C, &[1, 0])
            .put(0x1E, &place.slot.to_le_bytes())
            .put(0x20, &OBJECT.to_le_bytes())
            .put(0x24, &place.page_lsn_before.to_bytes())
    }

    pub fn put(mut self, offset: usize, value: &[u8]) -> RecordWriter {
        self.0[offset..offset + value.len()].copy_from_slice(value);
        self
    }

    /// The record with its elements.
    pub fn elements(self, elements: &[&[u8]]) -> Vec<u8> {
        let mut bytes = self.0;
        bytes.extend((elements.len() as u16).to_le_bytes());
        elements
            .iter()
            .for_each(|element| bytes.extend((element.len() as u16).to_le_bytes()));
        for element in elements {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(*element);
        }
        bytes
    }
}

/// The object part of the allocation unit that records of pages name.
pub const OBJECT: u32 = 77;

/// Where a record changes a page, and which LSN the page had.
#[derive(Clone, Copy)]
pub struct PagePlace {
    pub page: u32,
    pub slot: u16,
    pub page_lsn_before: Lsn,
}
