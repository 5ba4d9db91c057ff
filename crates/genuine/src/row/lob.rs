//! Values that lie outside their row: row overflow, `varchar(max)` and its kin, `text`, `ntext`, `image`.
//!
//! In the row, a complex value, one of
//!
//! ```text
//! text pointer, 16 bytes               inline root, 12 + 12n bytes (row overflow: kind 2, n = 1; max types: kind 4)
//! 0       4        8      12     14    0      1       2        4        8         12
//! +-------+--------+------+------+---- +------+-------+--------+--------+---------+-----------------------------------+
//! | stamp | unused | page | file | slot| kind | level | unused | update | stamp   | n links: end u32, page u32,       |
//! | u32   | u32    | u32  | u16  | u16 | u8   | u8    | u16    | u32    | u32     | file u16, slot u16                |
//! +-------+--------+------+------+---- +------+-------+--------+--------+---------+-----------------------------------+
//! ```
//!
//! and on pages of the kinds text mix and text tree, records
//!
//! ```text
//! 0          2           4           12         14
//! +----------+-----------+-----------+----------+------------------------------------------------------------------+
//! | status   | length of | id of the | kind u16 | 0 small root:     length u16, 4 unused, the value                |
//! | 2 bytes  | this u16  | value u64 |          | 3 data:           bytes of the value up to the record's end      |
//! |          |           |           |          | 2 internal:       room u16, n u16, level u16, n links of 16:     |
//! |          |           |           |          |                   end u64, page u32, file u16, slot u16          |
//! |          |           |           |          | 4, 5 large root:  room u16, n u16, level u16, 4 unused,          |
//! |          |           |           |          |                   n links of 12: end u32, page, file, slot       |
//! |          |           |           |          | 8 null: no value                                                 |
//! +----------+-----------+-----------+----------+------------------------------------------------------------------+
//! ```
//!
//! Roots of the kind 4 are SQL Server 2000's (measured on Northwind). The end in a link is where its part ends in the part of the value that its node covers. (The names are those of DBCC PAGE; Korotkevitch,
//! "SQL Server storage engine: LOB storage"; offsets measured on databases of SQL Server 2000 to 2014.)
//!
//! Every byte of a value lies on a page, so a value that is longer than all pages together is damaged: that bounds the memory.

use crate::bytes::{array_at, u16_at, u32_at, u64_at};
use crate::fault::{Fault, Result};
use crate::page::{PAGE_BYTES, Page, PageId, PageKind, PageSource};

/// Levels of a tree of a large value: a value of 2 GB needs four.
const LEVELS_MAX: u8 = 12;
/// Bytes of the smallest record and its slot.
const RECORD_BYTES_MIN: u64 = 16;

/// The record that a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordId {
    page: PageId,
    slot: u16,
}

impl RecordId {
    fn read(bytes: &[u8], offset: usize) -> Option<RecordId> {
        Some(RecordId {
            page: PageId::read(bytes, offset)?,
            slot: u16_at(bytes, offset + 6)?,
        })
    }
}

/// The value that the complex value `pointer` of a row leads to.
///
/// # Errors
/// The pointer is of no known form, or leads to pages that cannot be read, to records that do not fit, or in circles.
pub fn read_value(source: &dyn PageSource, pointer: &[u8]) -> Result<Vec<u8>> {
    let mut reader = Reader {
        source,
        page: None,
        value: Vec::new(),
        bytes_max: source.page_count().saturating_mul(PAGE_BYTES as u64),
        records_left: source.page_count().saturating_mul(PAGE_BYTES as u64 / RECORD_BYTES_MIN),
    };
    match (pointer.len(), pointer.first()) {
        (16, _) => {
            let root = RecordId::read(pointer, 8).expect("it has 16 bytes");
            reader.node(root, LEVELS_MAX, None)?;
        }
        (length, Some(2 | 4)) if length >= 12 && (length - 12) % 12 == 0 => {
            let mut start = 0;
            for link in pointer[12..].chunks_exact(12) {
                let end = u64::from(u32::from_le_bytes([link[0], link[1], link[2], link[3]]));
                let record = RecordId::read(link, 4).expect("a link has 12 bytes");
                if record.page.is_none() {
                    continue;
                }
                reader.part(record, LEVELS_MAX, start, end)?;
                start = end;
            }
        }
        (length, first) => {
            return Err(Fault::whole(format!(
                "a pointer to a large value has {length} bytes and begins with {first:?}"
            )));
        }
    }
    Ok(reader.value)
}

struct Reader<'s> {
    source: &'s dyn PageSource,
    /// The page read last: the parts of a value lie side by side.
    page: Option<Page>,
    value: Vec<u8>,
    bytes_max: u64,
    /// A tree whose nodes lead to each other again and again ends when it has visited more records than there can be.
    records_left: u64,
}

impl Reader<'_> {
    /// A part that covers the bytes from `start` to `end` of its parent.
    fn part(&mut self, record: RecordId, levels: u8, start: u64, end: u64) -> Result<()> {
        let length = end.checked_sub(start).ok_or_else(|| {
            fault(
                record,
                format!("its part of the value ends at {end} and begins at {start}"),
            )
        })?;
        self.node(record, levels, Some(length))
    }

    /// The record `id` and all below it. `length` is what the parent says it holds.
    fn node(&mut self, id: RecordId, levels: u8, length: Option<u64>) -> Result<()> {
        if levels == 0 {
            return Err(fault(
                id,
                format!("the tree of a value has more than {LEVELS_MAX} levels"),
            ));
        }
        self.records_left = self
            .records_left
            .checked_sub(1)
            .ok_or_else(|| fault(id, "the tree of a value has more pieces than there can be"))?;
        let record = self.record(id)?;
        let before = self.value.len();
        let kind = u16_at(&record, 12).ok_or_else(|| fault(id, "it is too short for a piece of a value"))?;
        match kind {
            0 => {
                let length = usize::from(u16_at(&record, 14).unwrap_or(0));
                self.append(id, record.get(20..20 + length))?;
            }
            3 => self.append(id, record.get(14..))?,
            2 | 4 | 5 => self.links(id, kind, &record, levels)?,
            8 => {}
            other => return Err(fault(id, format!("a piece of a value has the kind {other}"))),
        }
        let got = (self.value.len() - before) as u64;
        match length {
            Some(length) if length != got => Err(fault(
                id,
                format!("a piece of a value has {got} bytes, and its parent says {length}"),
            )),
            _ => Ok(()),
        }
    }

    fn links(&mut self, id: RecordId, kind: u16, record: &[u8], levels: u8) -> Result<()> {
        let count = usize::from(u16_at(record, 16).unwrap_or(0));
        let (first, link_bytes) = if kind == 2 { (20, 16) } else { (24, 12) };
        let links = record
            .get(first..first + count * link_bytes)
            .ok_or_else(|| fault(id, format!("its {count} links lead out of the record")))?;
        let mut start = 0;
        for link in links.chunks_exact(link_bytes) {
            let end = match kind {
                2 => u64_at(link, 0),
                _ => u32_at(link, 0).map(u64::from),
            };
            let child = RecordId::read(link, link_bytes - 8);
            let (end, child) = end.zip(child).expect("a link is long enough");
            self.part(child, levels - 1, start, end)?;
            start = end;
        }
        Ok(())
    }

    fn append(&mut self, id: RecordId, bytes: Option<&[u8]>) -> Result<()> {
        let bytes = bytes.ok_or_else(|| fault(id, "a piece of a value leads out of its record"))?;
        if (self.value.len() + bytes.len()) as u64 > self.bytes_max {
            return Err(fault(id, "a value is longer than all pages together"));
        }
        self.value.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes of record `id`, copied: reading on replaces the page.
    fn record(&mut self, id: RecordId) -> Result<Vec<u8>> {
        if self.page.as_ref().is_none_or(|page| page.id() != id.page) {
            let page = Page::read(self.source, id.page)?;
            if !matches!(page.kind(), PageKind::TextMix | PageKind::TextTree) {
                let kind = page.kind();
                return Err(Fault::of_page(
                    id.page,
                    format!("a piece of a value is looked for here, and it is {kind:?}"),
                ));
            }
            self.page = Some(page);
        }
        let page = self.page.as_ref().expect("it was just read");
        let bytes = page.record(id.slot)?.ok_or_else(|| fault(id, "the slot is empty"))?;
        let [low, high] = array_at(bytes, 2).ok_or_else(|| fault(id, "it has no room for its header"))?;
        let length = usize::from(u16::from_le_bytes([low, high]));
        let record = bytes
            .get(..length)
            .ok_or_else(|| fault(id, format!("its {length} bytes lead out of the page")))?;
        Ok(record.to_vec())
    }
}

fn fault(record: RecordId, reason: impl Into<String>) -> Fault {
    Fault::of_slot(record.page, record.slot, reason)
}
