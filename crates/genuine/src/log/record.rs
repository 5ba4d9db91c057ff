//! What a record changes: pages and rows, in the logs of SQL Server 2005 to 2022.
//!
//! ```text
//! 0x00      0x02       0x04        0x0E    0x10          0x16  0x17     0x18      0x1C   0x1E    0x20       0x24        0x2E    0x30      0x38
//! +---------+----------+-----------+-------+-------------+-----+--------+---------+------+-------+----------+-----------+-------+---------+--------+
//! | ...     | bytes of | previous  | flags | transaction | op  | con-   | page    | file | slot  | object   | LSN the   | index | rowset  | offset |
//! |         | the fixed| record of | u16   | u32, u16    | u8  | text   | u32     | u16  | u16   | part of  | page had  | part  | u64, 0  | in the |
//! |         | part u16 | the same  |       |             |     | u8     |         |      |       | the unit | before it |       | with    | row    |
//! |         |          | transact. |       |             |     |        |         |      |       | u32      | 10 B      | u16   | several | u16    |
//! +---------+----------+-----------+-------+-------------+-----+--------+---------+------+-------+----------+-----------+-------+---------+--------+
//!
//! at the end of the fixed part: u16 count of elements, u16 length of each, then the elements, each at a multiple of 4
//!
//! LOP_INSERT_ROWS     rows ..., key, lock       1 row; several when an index is built or a page split; bit 2 at 0x3A: in the place of a ghost
//! LOP_DELETE_ROWS     row, lock                 context 19: the row is marked as a ghost and stays; LOP_EXPUNGE_ROWS takes it away later
//! LOP_MODIFY_ROW      before, after, key, lock  at the offset in the row
//! LOP_MODIFY_COLUMNS  offsets (u16 before, u16 after, for each piece), lengths, key, lock, then before and after of each piece
//! LOP_DELETE_SPLIT    the rows from the slot on have gone to another page
//! LOP_FORMAT_PAGE     the page is empty
//! ```
//!
//! Numbers of operations and contexts are published by open readers of logs (`vlf::record`). The elements are **measured**: replaying every record
//! of 754 pages from their LOP_FORMAT_PAGE on gave the rows of 75 data files, byte for byte (SQL Server 2008 to 2016). Object and
//! index are the two parts of the allocation unit's id (`index << 48 | object << 16`), as in the headers of pages.

use super::LogRecord;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::page::PageId;
use vlf::Lsn;
use vlf::record::{Context, Operation, SqlRecord, SqlTransactionId};

/// Contexts in which a record changes rows of a table or an index.
const HEAP: Context = Context(1);
const CLUSTERED: Context = Context(2);
const INDEX_LEAF: Context = Context(3);
const INDEX_INTERIOR: Context = Context(4);
/// Pages of large values: of several of them, and of one.
const TEXT_MIX: Context = Context(5);
const TEXT_TREE: Context = Context(6);
/// Contexts of rows and large values, apart from indexes; what 14, 18 and 26 are called is not known, and their records are as the others.
const ROWS: [Context; 8] = [
    HEAP,
    CLUSTERED,
    TEXT_MIX,
    TEXT_TREE,
    MARK_AS_GHOST,
    Context(14),
    Context(18),
    Context(26),
];
const MARK_AS_GHOST: Context = Context(19);
/// A bit at 0x3A of LOP_INSERT_ROWS.
const OVER_GHOST: u16 = 2;
const DELETE_SPLIT: Operation = Operation(11);
const UNDO_DELETE_SPLIT: Operation = Operation(12);
const EXPUNGE_ROWS: Operation = Operation(13);
const COMPRESSION_INFO: Operation = Operation(20);
const INSYSXACT: Operation = Operation(22);

/// What a record does to the rows of its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// The page has no rows.
    Format,
    Insert {
        /// They follow one another from the slot on.
        rows: Vec<&'a [u8]>,
        /// The row takes the place of a ghost with the same key.
        over_ghost: bool,
    },
    Delete {
        row: &'a [u8],
        /// The row stays, marked, until it is expunged.
        is_ghost: bool,
    },
    /// Pieces of a row, by ascending offset.
    Modify(Vec<Piece<'a>>),
    /// The rows from the slot on are cut off.
    Split,
    /// A ghost is taken away.
    Expunge,
    /// No row is changed.
    Nothing,
    /// Rows may be changed, in a way that is not known.
    Unknown,
}

/// A piece of a row that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// In the row as it was before.
    pub offset: usize,
    pub before: &'a [u8],
    pub after: &'a [u8],
}

/// A record that changes a page of rows.
#[derive(Clone, Debug)]
pub struct PageChange<'a> {
    pub lsn: Lsn,
    pub transaction: SqlTransactionId,
    pub operation: Operation,
    pub context: Context,
    pub page: PageId,
    pub slot: u16,
    /// The LSN that the page had before.
    pub page_lsn_before: Lsn,
    /// The allocation unit of the page.
    pub unit: u64,
    /// The rowset; 0 where the record does not say.
    pub rowset: u64,
    pub change: Change<'a>,
}

impl<'a> PageChange<'a> {
    /// What `record` changes; `None` if it changes no page of rows, or has not the bytes it should have.
    pub fn read(record: LogRecord<'a>) -> Option<PageChange<'a>> {
        let header = SqlRecord::decode(record.format, record.bytes)?;
        let is_of_rows = matches!(
            header.context,
            HEAP | CLUSTERED | INDEX_LEAF | INDEX_INTERIOR | MARK_AS_GHOST
        );
        is_of_rows.then(|| PageChange::of(record, &header)).flatten()
    }

    /// As [`PageChange::read`], with pages of large values and without those of indexes.
    pub(crate) fn of_table(record: LogRecord<'a>, header: &SqlRecord<'a>) -> Option<PageChange<'a>> {
        let is_of_rows = ROWS.contains(&header.context);
        is_of_rows.then(|| PageChange::of(record, header)).flatten()
    }

    fn of(record: LogRecord<'a>, header: &SqlRecord<'a>) -> Option<PageChange<'a>> {
        let bytes = record.bytes;
        if !matches!(header.operation.0, 1..=6 | 11..=13 | 20 | 22) {
            return None;
        }
        let object = u64::from(u32_at(bytes, 0x20)?);
        let index = u64::from(u16_at(bytes, 0x2E)?);
        let fixed_bytes = usize::from(u16_at(bytes, 2)?);
        Some(PageChange {
            lsn: record.lsn,
            transaction: header.transaction,
            operation: header.operation,
            context: header.context,
            page: PageId::new(u16_at(bytes, 0x1C)?, u32_at(bytes, 0x18)?),
            slot: u16_at(bytes, 0x1E)?,
            page_lsn_before: Lsn::read(bytes, 0x24)?,
            unit: index << 48 | object << 16,
            rowset: match fixed_bytes >= 0x38 {
                true => u64_at(bytes, 0x30)?,
                false => 0,
            },
            change: change_of(header, bytes),
        })
    }

    /// The row is a piece of a large value.
    pub fn is_of_large_value(&self) -> bool {
        matches!(self.context, TEXT_MIX | TEXT_TREE)
    }

    /// The slot of a row stays when the row goes: in a heap, and on pages of large values.
    pub fn keeps_slots(&self) -> bool {
        matches!(self.context, HEAP | TEXT_MIX | TEXT_TREE)
    }
}

/// What the elements say. A list that does not fit its record is [`Change::Unknown`].
fn change_of<'a>(header: &SqlRecord<'a>, bytes: &'a [u8]) -> Change<'a> {
    let elements = header.elements();
    let offset = usize::from(u16_at(bytes, 0x38).unwrap_or(0));
    match header.operation {
        Operation(1) => Change::Format,
        Operation(2) => match elements.split_last_chunk::<2>() {
            Some((rows, _)) if !rows.is_empty() => Change::Insert {
                rows: rows.to_vec(),
                over_ghost: u16_at(bytes, 0x3A).is_some_and(|bits| bits & OVER_GHOST != 0),
            },
            _ => Change::Unknown,
        },
        Operation(3) => elements.first().map_or(Change::Unknown, |row| Change::Delete {
            row,
            is_ghost: header.context == MARK_AS_GHOST,
        }),
        Operation(4) => match elements[..] {
            [before, after, ..] => Change::Modify(vec![Piece { offset, before, after }]),
            _ => Change::Unknown,
        },
        Operation(6) => pieces_of(&elements).map_or(Change::Unknown, Change::Modify),
        Operation(5) | INSYSXACT => Change::Nothing,
        DELETE_SPLIT => Change::Split,
        EXPUNGE_ROWS => Change::Expunge,
        UNDO_DELETE_SPLIT | COMPRESSION_INFO => Change::Unknown,
        _ => Change::Unknown,
    }
}

/// The pieces of LOP_MODIFY_COLUMNS.
fn pieces_of<'a>(elements: &[&'a [u8]]) -> Option<Vec<Piece<'a>>> {
    let (offsets, _) = elements.first()?.as_chunks::<4>();
    let pieces = elements.get(4..)?;
    let mut found = Vec::with_capacity(offsets.len());
    for (place, pair) in offsets.iter().zip(pieces.chunks(2)) {
        let [before, after] = *pair else { return None };
        found.push(Piece {
            offset: usize::from(u16::from_le_bytes([place[0], place[1]])),
            before,
            after,
        });
    }
    let ascends = found
        .windows(2)
        .all(|two| two[0].offset + two[0].before.len() <= two[1].offset);
    (ascends && found.len() == offsets.len()).then_some(found)
}
