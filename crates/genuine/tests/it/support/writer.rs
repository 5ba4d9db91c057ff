//! Writes pages as SQL Server does: header, records, slots, and a checksum or torn bits.

use genuine::PAGE_BYTES;
use genuine::PageId;
use genuine::page::{PageBytes, checksum};

/// How a page is protected.
#[derive(Clone, Copy)]
pub enum Protection {
    None,
    Checksum,
    /// With this pattern of two bits.
    TornBits(u8),
}

/// A page in the making.
pub struct PageWriter {
    bytes: PageBytes,
    slots: u16,
    free: usize,
}

impl PageWriter {
    pub fn new(id: PageId, kind: u8) -> PageWriter {
        let mut bytes = [0; PAGE_BYTES];
        bytes[0] = 1;
        bytes[1] = kind;
        bytes[32..36].copy_from_slice(&id.page.to_le_bytes());
        bytes[36..38].copy_from_slice(&id.file.to_le_bytes());
        PageWriter {
            bytes,
            slots: 0,
            free: 96,
        }
    }

    /// Bytes of the header, or of a map.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) -> &mut PageWriter {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Puts what a compressed page has before its first record.
    pub fn before_records(&mut self, bytes: &[u8]) -> &mut PageWriter {
        let at = self.free;
        self.put(at, bytes);
        self.free += bytes.len();
        self
    }

    /// Appends a record and its slot.
    pub fn record(&mut self, record: &[u8]) -> &mut PageWriter {
        let at = self.free;
        self.put(at, record);
        self.free += record.len();
        self.slots += 1;
        let slot = PAGE_BYTES - 2 * usize::from(self.slots);
        assert!(self.free <= slot, "the page is full");
        let slots = self.slots;
        self.put(slot, &u16::try_from(at).unwrap().to_le_bytes())
            .put(22, &slots.to_le_bytes())
    }

    pub fn finish(&self, protection: Protection) -> Box<PageBytes> {
        let mut bytes = Box::new(self.bytes);
        match protection {
            Protection::None => {}
            Protection::Checksum => {
                bytes[5] |= 2;
                let sum = checksum(&bytes);
                bytes[60..64].copy_from_slice(&sum.to_le_bytes());
            }
            Protection::TornBits(pattern) => {
                bytes[5] |= 1;
                let mut field = u32::from(pattern);
                for sector in 1..16 {
                    let last = &mut bytes[sector * 512 + 511];
                    field |= u32::from(*last & 3) << (2 * sector);
                    *last = *last & !3 | pattern;
                }
                bytes[60..64].copy_from_slice(&field.to_le_bytes());
            }
        }
        bytes
    }
}
