//! What a record of the log does to a page that rows are read by: pages of rows and large values, and two kinds of maps.
//!
//! ```text
//! LOP_FORMAT_PAGE     0x30 kind, flags, level u8 | 0x34 previous page u32, u16 | 0x3A bytes of the fixed part u16 | 0x3C next page u32, u16
//!                     0x44 of an IAM page: the first page that it maps u32, u16
//! LOP_MODIFY_HEADER   0x38 offset in the page's header u16, elements: before, after
//! LOP_MODIFY_ROW      of an IAM or a PFS page: 0x38 offset in the record of the slot u16, elements: before, after
//! LOP_SET_BITS        0x30 number of the first bit u16 | 0x32 how many u16 | 0x34 what they become u16      counted from where the record begins
//! LOP_SET_FREE_SPACE  0x30 which byte of the record u16 | 0x32 the byte after | 0x33 before
//! LOP_ROOT_CHANGE     0x48 page after u32, u16 | 0x50 page before u32, u16 | 0x58 offset in the row of sysallocunits u16
//! LOP_COUNT_DELTA     counts in sysallocunits, sysrowsets and sysrscols: they are left as they are
//! ```
//!
//! A LOP_MODIFY_ROW that makes a piece of a large value longer or shorter does not say that the length in its header changes too.
//!
//! Measured on the logs of 73 public databases of SQL Server 2008 to 2016: the headers that the first two make are those of 1,090 of 1,098 pages in the data
//! files; every one of 3,200 records of maps and of 21,000 root changes and counts names the LSN of the record before it on its page.

use crate::bytes::{array_at, u16_at, u32_at};
use crate::log::LogRecord;
use crate::log::record::{Change, PageChange};
use crate::page::PageId;
use vlf::Lsn;
use vlf::record::{Operation, SqlRecord, SqlTransactionId};

const FORMAT_PAGE: Operation = Operation(1);
const MODIFY_ROW: Operation = Operation(4);
const MODIFY_HEADER: Operation = Operation(5);
const SET_BITS: Operation = Operation(7);
const SET_FREE_SPACE: Operation = Operation(10);
const COUNT_DELTA: Operation = Operation(18);
const ROOT_CHANGE: Operation = Operation(19);
/// Contexts of the two maps.
const IAM: u8 = 10;
const PFS: u8 = 11;
/// Contexts of the pages of an index that have no rows of a table.
const INDEX: [u8; 2] = [3, 4];

/// A record that changes such a page.
#[derive(Clone, Debug)]
pub(super) struct Step<'a> {
    pub lsn: Lsn,
    pub transaction: SqlTransactionId,
    pub page: PageId,
    /// The LSN that the page had.
    pub page_lsn_before: Lsn,
    pub action: Action<'a>,
}

/// What it does.
#[derive(Clone, Debug)]
pub(super) enum Action<'a> {
    /// The page has this header, and nothing on it.
    Format(Header),
    Rows(PageChange<'a>),
    /// Bytes of the header.
    Header(Replaced<'a>),
    /// Bytes of the record in a slot, as many as before.
    Record {
        slot: u16,
        replaced: Replaced<'a>,
    },
    Bits {
        slot: u16,
        first: u16,
        count: u16,
        value: bool,
    },
    FreeSpace {
        page: u16,
        before: u8,
        after: u8,
    },
    /// Nothing that matters to rows; the page has the record's LSN then.
    Nothing,
}

/// Bytes in place of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replaced<'a> {
    pub offset: usize,
    pub before: &'a [u8],
    pub after: &'a [u8],
}

/// The header of a formatted page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub kind: u8,
    /// Kind, flags, level.
    pub first: [u8; 3],
    /// Previous page, bytes of the fixed part, next page.
    pub links: [u8; 14],
    pub object: u32,
    pub index: u16,
    /// Of an IAM page: the first page that it maps.
    pub first_mapped: [u8; 6],
}

impl<'a> Step<'a> {
    /// What `record` does; `None` if it changes no such page, or has not the bytes it should have.
    pub fn read(record: LogRecord<'a>) -> Option<Step<'a>> {
        let bytes = record.bytes;
        let header = SqlRecord::decode(record.format, bytes)?;
        if INDEX.contains(&header.context.0) {
            return None;
        }
        Some(Step {
            lsn: record.lsn,
            transaction: header.transaction,
            page: PageId::new(u16_at(bytes, 0x1C)?, u32_at(bytes, 0x18)?),
            page_lsn_before: Lsn::read(bytes, 0x24)?,
            action: action_of(record, &header)?,
        })
    }

    /// It changes rows, so that they are no longer in the slots that other records name.
    pub fn rows(&self) -> Option<&PageChange<'a>> {
        match &self.action {
            Action::Rows(change) => Some(change),
            _ => None,
        }
    }
}

fn action_of<'a>(record: LogRecord<'a>, header: &SqlRecord<'a>) -> Option<Action<'a>> {
    let bytes = record.bytes;
    let slot = u16_at(bytes, 0x1E)?;
    let is_map = matches!(header.context.0, IAM | PFS);
    match header.operation {
        FORMAT_PAGE => Some(Action::Format(Header {
            kind: *bytes.get(0x30)?,
            first: array_at(bytes, 0x30)?,
            links: array_at(bytes, 0x34)?,
            object: u32_at(bytes, 0x20)?,
            index: u16_at(bytes, 0x2E)?,
            first_mapped: array_at(bytes, 0x44).unwrap_or_default(),
        })),
        MODIFY_HEADER => Some(Action::Header(replaced(header, bytes)?)),
        MODIFY_ROW if is_map => Some(Action::Record {
            slot,
            replaced: replaced(header, bytes)?,
        }),
        SET_BITS if is_map => Some(Action::Bits {
            slot,
            first: u16_at(bytes, 0x30)?,
            count: u16_at(bytes, 0x32)?,
            value: u16_at(bytes, 0x34)? != 0,
        }),
        SET_FREE_SPACE if is_map => Some(Action::FreeSpace {
            page: u16_at(bytes, 0x30)?,
            after: *bytes.get(0x32)?,
            before: *bytes.get(0x33)?,
        }),
        ROOT_CHANGE => Some(Action::Record {
            slot,
            replaced: Replaced {
                offset: usize::from(u16_at(bytes, 0x58)?),
                before: bytes.get(0x50..0x56)?,
                after: bytes.get(0x48..0x4E)?,
            },
        }),
        COUNT_DELTA => Some(Action::Nothing),
        _ => PageChange::of_table(record, header).map(|change| match change.change {
            Change::Nothing => Action::Nothing,
            _ => Action::Rows(change),
        }),
    }
}

fn replaced<'a>(header: &SqlRecord<'a>, bytes: &'a [u8]) -> Option<Replaced<'a>> {
    let elements = header.elements();
    Some(Replaced {
        offset: usize::from(u16_at(bytes, 0x38)?),
        before: elements.first()?,
        after: elements.get(1)?,
    })
}
