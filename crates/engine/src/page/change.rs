//! The payload of a log record: pages that change together.
//!
//! ```text
//! u32 object | u8 undo kind | u16 key length, key | entries to the end: page id (6), operation
//! ```
//! One change may contain a page twice. The entries of one page are adjacent, and the first of them stamps the record's LSN on the page. So
//! redo decides once for each page, by the LSN that the page has before the record's first entry for it.

use super::operation::Reader;
use super::{Damage, ObjectId, PageId, PageOperation};

/// How a change is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum UndoKind {
    /// Not at all: structure changes (splits, allocation) stay.
    None = 0,
    /// A row came into a heap.
    HeapInsert = 1,
    /// A row left a heap.
    HeapDelete = 2,
    /// A row of a heap changed.
    HeapUpdate = 3,
    /// A row came into a tree.
    TreeInsert = 4,
    /// A row left a tree.
    TreeDelete = 5,
    /// A row of a tree changed.
    TreeUpdate = 6,
    /// A fresh page was filled with rows.
    Fill = 7,
    /// A page was filled with part of a large value.
    LargeWrite = 8,
    /// Pages of a large value were given up.
    LargeGiveUp = 9,
}

impl UndoKind {
    /// Whether a row was changed or deleted: something that was there is not, or is another.
    pub fn changes_rows(self) -> bool {
        use UndoKind::{HeapDelete, HeapUpdate, TreeDelete, TreeUpdate};
        matches!(self, HeapDelete | HeapUpdate | TreeDelete | TreeUpdate)
    }

    /// The kind of an encoded byte.
    pub fn from_byte(byte: u8) -> Option<UndoKind> {
        Some(match byte {
            0 => UndoKind::None,
            1 => UndoKind::HeapInsert,
            2 => UndoKind::HeapDelete,
            3 => UndoKind::HeapUpdate,
            4 => UndoKind::TreeInsert,
            5 => UndoKind::TreeDelete,
            6 => UndoKind::TreeUpdate,
            7 => UndoKind::Fill,
            8 => UndoKind::LargeWrite,
            9 => UndoKind::LargeGiveUp,
            _ => return None,
        })
    }
}

/// A change read from a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// The heap or tree that changes.
    pub object: ObjectId,
    /// How it is undone.
    pub undo: UndoKind,
    /// Key of the row, for undo in a tree where the row may have moved; for a large value the first list of its unit; empty elsewhere.
    pub key: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Change<'a> {
    /// Appends the encoded change. Keys are at most a page long.
    pub fn encode(
        object: ObjectId,
        undo: UndoKind,
        key: &[u8],
        entries: &[(PageId, PageOperation<'_>)],
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&object.0.to_le_bytes());
        out.push(undo as u8);
        out.extend_from_slice(&(key.len() as u16).to_le_bytes());
        out.extend_from_slice(key);
        for (page, operation) in entries {
            out.extend_from_slice(&page.to_bytes());
            operation.encode(out);
        }
    }

    /// Reads the head of a change; the entries are read as they are walked.
    ///
    /// # Errors
    /// An unknown undo kind, or bytes that end too early.
    pub fn decode(bytes: &'a [u8]) -> Result<Change<'a>, Damage> {
        let mut reader = Reader { bytes };
        let object = reader.object()?;
        let undo = UndoKind::from_byte(reader.u8()?).ok_or(Damage("an unknown undo kind"))?;
        let key = reader.string()?;
        Ok(Change {
            object,
            undo,
            key,
            entries: reader.bytes,
        })
    }

    /// The pages with their operations, in order.
    pub fn entries(&self) -> Entries<'a> {
        Entries {
            reader: Reader { bytes: self.entries },
        }
    }

    /// Bytes that the encoded change needs.
    pub fn encoded_bytes(key: &[u8], entries: &[(PageId, PageOperation<'_>)]) -> usize {
        let entry = |entry: &(PageId, PageOperation<'_>)| PageId::BYTES + entry.1.encoded_bytes();
        7 + key.len() + entries.iter().map(entry).sum::<usize>()
    }
}

/// Walks the entries of a change; an error ends it.
pub struct Entries<'a> {
    reader: Reader<'a>,
}

impl<'a> Entries<'a> {
    fn read(&mut self) -> Result<(PageId, PageOperation<'a>), Damage> {
        let page = self.reader.page_id()?;
        let (operation, rest) = PageOperation::decode(self.reader.bytes)?;
        self.reader.bytes = rest;
        Ok((page, operation))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(PageId, PageOperation<'a>), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.bytes.is_empty() {
            return None;
        }
        let entry = self.read();
        if entry.is_err() {
            self.reader.bytes = &[];
        }
        Some(entry)
    }
}
