//! A log of several pages in the making: each record names the LSN that its page had.

use super::database::{FIRST_OBJECT, FIRST_TABLE_PAGE, WRITTEN_LSN};
use super::log::{LogWriter, PagePlace, RecordWriter, log_file};
use std::collections::BTreeMap;
use vlf::Lsn;

/// Operations and contexts of records.
pub const FORMAT_PAGE: u8 = 1;
pub const INSERT_ROWS: u8 = 2;
pub const DELETE_ROWS: u8 = 3;
pub const MODIFY_ROW: u8 = 4;
pub const MODIFY_HEADER: u8 = 5;
pub const SET_BITS: u8 = 7;
pub const SET_FREE_SPACE: u8 = 10;
pub const DELETE_SPLIT: u8 = 11;
pub const COMMIT: u8 = 129;
pub const HEAP: u8 = 1;
pub const CLUSTERED: u8 = 2;
pub const IAM: u8 = 10;
pub const PFS: u8 = 11;
pub const GHOST: u8 = 19;

/// What happens to the pages of a database that `database` has written.
pub struct LogStory {
    log: LogWriter,
    last: BTreeMap<u32, Lsn>,
}

impl Default for LogStory {
    fn default() -> LogStory {
        LogStory {
            log: LogWriter::new(WRITTEN_LSN.vlf + 1),
            last: BTreeMap::new(),
        }
    }
}

impl LogStory {
    fn add(&mut self, record: Vec<u8>) -> &mut LogStory {
        self.log.block(&[record]);
        self
    }

    pub fn begin(&mut self, transaction: u32) -> &mut LogStory {
        self.add(RecordWriter::begin(transaction, "user_transaction", &[1], 40_000))
    }

    pub fn commit(&mut self, transaction: u32) -> &mut LogStory {
        self.commit_on(transaction, 40_001)
    }

    /// A commit at the midnight that a day begins with.
    pub fn commit_on(&mut self, transaction: u32, day: u32) -> &mut LogStory {
        self.add(RecordWriter::end(transaction, COMMIT, day))
    }

    /// Where the next record goes: bytes of log before it, and its LSN.
    pub fn place(&self) -> (usize, Lsn) {
        (self.log.bytes.len(), self.log.next_lsn(1))
    }

    /// The VLF of all records, and the log of it between two places.
    pub fn log(&self, from: usize, to: usize) -> (u32, Vec<u8>) {
        (self.log.sequence, self.log.bytes[from..to].to_vec())
    }

    fn page(&mut self, operation: u8, context: u8, transaction: u32, (page, slot): (u32, u16)) -> RecordWriter {
        let page_lsn_before = self.last.get(&page).copied().unwrap_or(WRITTEN_LSN);
        self.last.insert(page, self.log.next_lsn(1));
        let place = PagePlace {
            page,
            slot,
            page_lsn_before,
        };
        let table = page.saturating_sub(FIRST_TABLE_PAGE) / 8;
        RecordWriter::page(operation, context, transaction, place).put(0x20, &(FIRST_OBJECT + table).to_le_bytes())
    }

    pub fn insert(&mut self, context: u8, transaction: u32, place: (u32, u16), row: &[u8]) -> &mut LogStory {
        let record = self.page(INSERT_ROWS, context, transaction, place);
        self.add(record.elements(&[row, b"", b""]))
    }

    /// The row becomes a ghost.
    pub fn delete(&mut self, transaction: u32, place: (u32, u16), row: &[u8]) -> &mut LogStory {
        let record = self.page(DELETE_ROWS, GHOST, transaction, place);
        self.add(record.elements(&[row, b""]))
    }

    pub fn replace(
        &mut self,
        (operation, context): (u8, u8),
        transaction: u32,
        place: (u32, u16),
        (offset, before, after): (u16, &[u8], &[u8]),
    ) -> &mut LogStory {
        let record = self.page(operation, context, transaction, place);
        let record = record.put(0x38, &offset.to_le_bytes());
        self.add(record.elements(&[before, after, b"", b""]))
    }

    /// The rows from the slot on go to another page.
    pub fn split(&mut self, transaction: u32, place: (u32, u16)) -> &mut LogStory {
        let record = self.page(DELETE_SPLIT, CLUSTERED, transaction, place);
        self.add(record.elements(&[]))
    }

    /// An empty page of the allocation unit `object << 16`.
    pub fn format(&mut self, transaction: u32, page: u32, object: u32, previous: u32) -> &mut LogStory {
        let lsn = self.log.next_lsn(1);
        self.last.insert(page, lsn);
        let record = RecordWriter::new(76, FORMAT_PAGE, CLUSTERED, transaction)
            .put(0x18, &page.to_le_bytes())
            .put(0x1C, &[1, 0, 0xFF, 0xFF])
            .put(0x20, &object.to_le_bytes())
            .put(0x30, &[1, 0, 0])
            .put(0x34, &previous.to_le_bytes())
            .put(0x38, &u16::from(previous != 0).to_le_bytes());
        self.add(record.elements(&[]))
    }

    pub fn set_bits(&mut self, context: u8, place: (u32, u16), first: u16, value: u16) -> &mut LogStory {
        let record = self.page(SET_BITS, context, 0, place).put(0x30, &first.to_le_bytes());
        let record = record.put(0x32, &[1, 0]).put(0x34, &value.to_le_bytes());
        self.add(record.elements(&[]))
    }

    pub fn set_free_space(&mut self, page_of_map: u16, before: u8, after: u8) -> &mut LogStory {
        let record = self.page(SET_FREE_SPACE, PFS, 0, (1, 0));
        let record = record.put(0x30, &page_of_map.to_le_bytes()).put(0x32, &[after, before]);
        self.add(record.elements(&[]))
    }

    /// The next record of the page names an LSN that the page never had: log is missing before it.
    pub fn lose(&mut self, page: u32) -> &mut LogStory {
        self.last.insert(page, Lsn::new(WRITTEN_LSN.vlf, 99, 9));
        self
    }

    /// All records so far, in a log file with one used VLF.
    pub fn file(&self) -> Vec<u8> {
        log_file(&self.log)
    }
}
