//! The headers of SQL Server's log records, for the inspector, which shows what a log consists of.
//!
//! ```text
//! formats 3 to 6                         format 2
//! 0x02  u16  length of the fixed part    0x02  u16  length of the record
//! 0x04  LSN  previous record of the transaction (both)
//! 0x0E  u16  flag bits                   0x0E  u8 operation, 0x0F u8 context
//! 0x10  u32, u16  transaction id (both)
//! 0x16  u8   operation
//! 0x17  u8   context
//! 0x18  rows: u32 page, u16 file, u16 slot (both)
//! 0x24  LSN the page had before (both)
//! 0x18  commit and abort: u32 1/300 seconds, u32 days since 1900 (both)
//! 0x28  begin: the same (both)
//! fixed part, then u16 element count, u16 lengths, and the elements, each at a multiple of 4 (formats 3 to 6)
//! ```
//!
//! Operation and context numbers and most offsets come from open-source parsers of .ldf files. The offsets in format 2 and the element list
//! were derived here and hold for every record of the real files tested. This module does not read our own records, whose encoding is the
//! engine's.

use std::fmt;

use crate::bytes::{u16_at, u32_at};
use crate::lsn::Lsn;
use crate::vlf_header::FormatVersion;

/// What a record does (`Operation` of `fn_dblog`). `Display` gives its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(pub u8);

const OPERATIONS: [(u8, &str); 81] = [
    (1, "LOP_FORMAT_PAGE"),
    (2, "LOP_INSERT_ROWS"),
    (3, "LOP_DELETE_ROWS"),
    (4, "LOP_MODIFY_ROW"),
    (5, "LOP_MODIFY_HEADER"),
    (6, "LOP_MODIFY_COLUMNS"),
    (7, "LOP_SET_BITS"),
    (9, "LOP_DELTA_SYSIND"),
    (10, "LOP_SET_FREE_SPACE"),
    (11, "LOP_DELETE_SPLIT"),
    (12, "LOP_UNDO_DELETE_SPLIT"),
    (13, "LOP_EXPUNGE_ROWS"),
    (16, "LOP_FILE_HDR_MODIFY"),
    (17, "LOP_SET_GAM_BITS"),
    (18, "LOP_COUNT_DELTA"),
    (19, "LOP_ROOT_CHANGE"),
    (20, "LOP_COMPRESSION_INFO"),
    (21, "LOP_ENCRYPT_PAGE"),
    (22, "LOP_INSYSXACT"),
    (126, "LOP_REMOVE_VERSION_INFO"),
    (128, "LOP_BEGIN_XACT"),
    (129, "LOP_COMMIT_XACT"),
    (130, "LOP_ABORT_XACT"),
    (131, "LOP_PREP_XACT"),
    (132, "LOP_MARK_SAVEPOINT"),
    (133, "LOP_FORGET_XACT"),
    (134, "LOP_CREATE_FILE"),
    (135, "LOP_DROP_FILE"),
    (136, "LOP_MARK_DDL"),
    (137, "LOP_HOBT_DDL"),
    (138, "LOP_IDENT_NEWVAL"),
    (139, "LOP_IDENT_SENTVAL"),
    (140, "LOP_HOBT_DELTA"),
    (141, "LOP_LOCK_XACT"),
    (142, "LOP_CREATE_STREAMFILE"),
    (143, "LOP_MIGRATE_LOCKS"),
    (144, "LOP_DROP_STREAMFILE"),
    (145, "LOP_FS_DOWNLEVEL_OP"),
    (146, "LOP_MODIFY_STREAMFILE_HDR"),
    (148, "LOP_BP_DBVER"),
    (149, "LOP_COPY_VERSION_INFO"),
    (150, "LOP_BEGIN_CKPT"),
    (152, "LOP_XACT_CKPT"),
    (153, "LOP_END_CKPT"),
    (154, "LOP_BUF_WRITE"),
    (155, "LOP_IDENTITY_TYPE"),
    (160, "LOP_BEGIN_RECOVERY"),
    (161, "LOP_END_RECOVERY"),
    (162, "LOP_NONLOGGED_OP"),
    (166, "LOP_FEDTM_INFO"),
    (170, "LOP_SORT_BEGIN"),
    (171, "LOP_SORT_END"),
    (172, "LOP_SORT_EXTENT"),
    (173, "LOP_CREATE_INDEX"),
    (174, "LOP_DROP_INDEX"),
    (175, "LOP_SORT_MEMORY"),
    (176, "LOP_CREATE_ALLOCCHAIN"),
    (180, "LOP_CREATE_FTCAT"),
    (181, "LOP_DROP_FTCAT"),
    (200, "LOP_REPL_COMMAND"),
    (201, "LOP_BEGIN_UPDATE"),
    (202, "LOP_END_UPDATE"),
    (203, "LOP_TEXT_POINTER"),
    (204, "LOP_TEXT_INFO_BEGIN"),
    (205, "LOP_TEXT_INFO_END"),
    (206, "LOP_REPL_NOOP"),
    (207, "LOP_TEXT_VALUE"),
    (211, "LOP_SHRINK_NOOP"),
    (212, "LOP_FILESTREAM_INFO_BEGIN"),
    (213, "LOP_FILESTREAM_INFO_END"),
    (214, "LOP_BULK_EXT_ALLOCATION"),
    (215, "LOP_SECURITY_OP"),
    (216, "LOP_PAGE_REENCRYPT"),
    (217, "LOP_CREATE_PHYSICAL_FILE"),
    (220, "LOP_RANGE_INSERT"),
    (221, "LOP_INVALIDATE_CACHE"),
    (223, "LOP_CSI_ROWGROUP"),
    (230, "LOP_HK"),
    (231, "LOP_HK_CHECKPOINT"),
    (232, "LOP_HK_CHAINED"),
    (240, "LOP_SEREPL_MSG"),
];

impl Operation {
    /// Start of a transaction.
    pub const BEGIN_XACT: Operation = Operation(128);
    /// End of a committed transaction.
    pub const COMMIT_XACT: Operation = Operation(129);
    /// End of a rolled-back transaction.
    pub const ABORT_XACT: Operation = Operation(130);

    /// The published name; `None` for numbers without one.
    pub fn name(self) -> Option<&'static str> {
        OPERATIONS
            .iter()
            .find(|(number, _)| *number == self.0)
            .map(|(_, name)| *name)
    }

    /// The record names the page it changes.
    fn has_page(self) -> bool {
        matches!(self.0, 1..=7 | 9..=13)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("LOP_{}", self.0)),
        }
    }
}

/// What kind of place a record changes (`Context` of `fn_dblog`). `Display` gives its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Context(pub u8);

const CONTEXTS: [(u8, &str); 32] = [
    (0, "LCX_NULL"),
    (1, "LCX_HEAP"),
    (2, "LCX_CLUSTERED"),
    (3, "LCX_INDEX_LEAF"),
    (4, "LCX_INDEX_INTERIOR"),
    (5, "LCX_TEXT_MIX"),
    (6, "LCX_TEXT_TREE"),
    (7, "LCX_DIAGNOSTICS"),
    (8, "LCX_GAM"),
    (9, "LCX_SGAM"),
    (10, "LCX_IAM"),
    (11, "LCX_PFS"),
    (12, "LCX_IDENTITY_VALUE"),
    (13, "LCX_OBJECT_ID"),
    (14, "LCX_NONSYS_SPLIT"),
    (17, "LCX_FILE_HEADER"),
    (18, "LCX_SCHEMA_VERSION"),
    (19, "LCX_MARK_AS_GHOST"),
    (20, "LCX_BOOT_PAGE"),
    (21, "LCX_SYSCONFIG_PAGE"),
    (22, "LCX_CTR_ABORTED"),
    (23, "LCX_BOOT_PAGE_CKPT"),
    (24, "LCX_DIFF_MAP"),
    (25, "LCX_ML_MAP"),
    (26, "LCX_REMOVE_VERSION_INFO"),
    (27, "LCX_DBCC_FORMATTED"),
    (28, "LCX_UNLINKED_REORG_PAGE"),
    (29, "LCX_BULK_OPERATION_PAGE"),
    (30, "LCX_TRACKED_XDES"),
    (31, "LCX_ENCRYPT_UNALLOC_PAGE"),
    (32, "LCX_SORT_PAGE"),
    (33, "LCX_WORK_FILE_PAGE"),
];

impl Context {
    /// No place: transactions and checkpoints.
    pub const NULL: Context = Context(0);
    /// Rows of a heap.
    pub const HEAP: Context = Context(1);
    /// Rows of a clustered index.
    pub const CLUSTERED: Context = Context(2);
    /// Rows of another index.
    pub const INDEX_LEAF: Context = Context(3);
    /// An index above its rows.
    pub const INDEX_INTERIOR: Context = Context(4);
    /// Parts of large values.
    pub const TEXT_MIX: Context = Context(5);
    /// Which parts a large value has.
    pub const TEXT_TREE: Context = Context(6);
    /// Which extents are in use.
    pub const GAM: Context = Context(8);
    /// Which extents an allocation unit has.
    pub const IAM: Context = Context(10);
    /// Page 0 of a file.
    pub const FILE_HEADER: Context = Context(17);
    /// A deleted row that stays on its page.
    pub const MARK_AS_GHOST: Context = Context(19);
    /// The database's boot page.
    pub const BOOT_PAGE: Context = Context(20);
    /// Which extents were written since the last full backup.
    pub const DIFF_MAP: Context = Context(24);

    /// The published name; `None` for numbers without one.
    pub fn name(self) -> Option<&'static str> {
        let found = CONTEXTS.iter().find(|(number, _)| *number == self.0);
        found.map(|(_, name)| *name)
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("LCX_{}", self.0)),
        }
    }
}

/// A transaction's number, as `fn_dblog` shows it: `0000:00001b07`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlTransactionId {
    /// Shown first.
    pub high: u16,
    /// Shown second.
    pub low: u32,
}

impl fmt::Display for SqlTransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:08x}", self.high, self.low)
    }
}

/// The page a record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPage {
    /// Page number in its file.
    pub page: u32,
    /// File number.
    pub file: u16,
    /// Slot of the row.
    pub slot: u16,
    /// LSN of the change before this one.
    pub page_lsn_before: Lsn,
}

/// A `datetime`: days since 1900-01-01 and 1/300 seconds since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordTime {
    /// Days since 1900-01-01.
    pub days: u32,
    /// 1/300 seconds since midnight.
    pub ticks: u32,
}

/// The header of one of SQL Server's log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlRecord<'a> {
    pub operation: Operation,
    /// To what kind of place.
    pub context: Context,
    /// The transaction's record before this one; [`Lsn::ZERO`] = none.
    pub previous_lsn: Lsn,
    /// Whose it is.
    pub transaction: SqlTransactionId,
    /// Flag bits; 0 in format 2, which has none.
    pub flags: u16,
    /// The page it changes, for changes of rows and pages.
    pub page: Option<ChangedPage>,
    /// Begin or end time of the transaction, for the records that carry it.
    pub time: Option<RecordTime>,
    /// Where the element list begins; format 2 has none that is known.
    elements_offset: Option<usize>,
    bytes: &'a [u8],
}

impl<'a> SqlRecord<'a> {
    /// Reads a record of a block of `format`. `None` for records of ours, and for bytes too short to be a record.
    pub fn decode(format: FormatVersion, bytes: &'a [u8]) -> Option<SqlRecord<'a>> {
        let old = match format {
            FormatVersion::Vlflab => return None,
            FormatVersion::SqlServer2000 => true,
            FormatVersion::SqlServer2005
            | FormatVersion::SqlServer2008
            | FormatVersion::SqlServer2012
            | FormatVersion::SqlServer2019 => false,
        };
        let operation_offset = if old { 0x0E } else { 0x16 };
        let operation = Operation(*bytes.get(operation_offset)?);
        let time_offset = match operation {
            Operation::BEGIN_XACT => Some(0x28),
            Operation::COMMIT_XACT | Operation::ABORT_XACT => Some(0x18),
            _ => None,
        };
        Some(SqlRecord {
            operation,
            context: Context(*bytes.get(operation_offset + 1)?),
            previous_lsn: Lsn::read(bytes, 0x04)?,
            transaction: SqlTransactionId {
                low: u32_at(bytes, 0x10)?,
                high: u16_at(bytes, 0x14)?,
            },
            flags: if old { 0 } else { u16_at(bytes, 0x0E)? },
            page: operation.has_page().then(|| changed_page(bytes)).flatten(),
            time: time_offset.and_then(|offset| record_time(bytes, offset)),
            elements_offset: if old {
                None
            } else {
                u16_at(bytes, 0x02).map(usize::from)
            },
            bytes,
        })
    }

    /// The parts behind the fixed one (row images, names ...). Empty when the list does not fit the record.
    pub fn elements(&self) -> Vec<&'a [u8]> {
        self.checked_elements().unwrap_or_default()
    }

    fn checked_elements(&self) -> Option<Vec<&'a [u8]>> {
        let list = self.elements_offset?;
        let count = usize::from(u16_at(self.bytes, list)?);
        let mut start = (list + 2 + 2 * count).next_multiple_of(4);
        let mut elements = Vec::new();
        for index in 0..count {
            let length = usize::from(u16_at(self.bytes, list + 2 + 2 * index)?);
            elements.push(self.bytes.get(start..start + length)?);
            start = (start + length).next_multiple_of(4);
        }
        Some(elements)
    }

    /// The name a transaction was begun with.
    pub fn transaction_name(&self) -> Option<String> {
        if self.operation != Operation::BEGIN_XACT {
            return None;
        }
        let name = *self.elements().first()?;
        let (units, _) = name.as_chunks::<2>();
        let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        Some(String::from_utf16_lossy(&units))
    }
}

fn changed_page(bytes: &[u8]) -> Option<ChangedPage> {
    Some(ChangedPage {
        page: u32_at(bytes, 0x18)?,
        file: u16_at(bytes, 0x1C)?,
        slot: u16_at(bytes, 0x1E)?,
        page_lsn_before: Lsn::read(bytes, 0x24)?,
    })
}

fn record_time(bytes: &[u8], offset: usize) -> Option<RecordTime> {
    Some(RecordTime {
        ticks: u32_at(bytes, offset)?,
        days: u32_at(bytes, offset + 4)?,
    })
}
