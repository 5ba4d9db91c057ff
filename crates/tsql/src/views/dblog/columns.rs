//! The columns of `fn_dblog`, in SQL Server's order and types (of two published lists, which agree: the output of `sp_help 'sys.fn_dblog'`
//! in "fn_dblog() function documentation", db4breakfast 2013, for the types and first columns, and a table made for the rows of
//! `fn_dump_dblog` of a later version, for all of them; its misspelling of "CopyVerionInfo" is SQL Server's).
//!
//! Two differ. `Log Record Length` is smallint there; a record of ours can be longer than 32,767 bytes, and a sum of lengths fits int.
//! `Page Operations`, the last, is ours: one of our records may cover work for which SQL Server writes several, and this column lists all
//! of it.

use engine::types::{Length, SqlType};

use super::super::{BIGINT, INT, SID, SMALLINT, nvarchar};

const BITS: SqlType = SqlType::Binary(2);
const STATUS: SqlType = SqlType::Binary(4);
const BYTE: SqlType = SqlType::Binary(1);
const POINTER: SqlType = SqlType::Binary(16);
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));

/// Name and type of each column.
pub(crate) const COLUMNS: [(&str, SqlType); 131] = [
    ("Current LSN", nvarchar(23)),
    ("Operation", nvarchar(31)),
    ("Context", nvarchar(31)),
    ("Transaction ID", nvarchar(14)),
    ("LogBlockGeneration", BIGINT),
    ("Tag Bits", BITS),
    ("Log Record Fixed Length", SMALLINT),
    ("Log Record Length", INT),
    ("Previous LSN", nvarchar(23)),
    ("Flag Bits", BITS),
    ("Log Reserve", INT),
    ("AllocUnitId", BIGINT),
    ("AllocUnitName", nvarchar(387)),
    ("Page ID", nvarchar(14)),
    ("Slot ID", INT),
    ("Previous Page LSN", nvarchar(23)),
    ("PartitionId", BIGINT),
    ("RowFlags", SMALLINT),
    ("Num Elements", SMALLINT),
    ("Offset in Row", SMALLINT),
    ("Modify Size", SMALLINT),
    ("Checkpoint Begin", nvarchar(24)),
    ("CHKPT Begin DB Version", SMALLINT),
    ("Max XDESID", nvarchar(14)),
    ("Num Transactions", SMALLINT),
    ("Checkpoint End", nvarchar(24)),
    ("CHKPT End DB Version", SMALLINT),
    ("Minimum LSN", nvarchar(23)),
    ("Dirty Pages", INT),
    ("Oldest Replicated Begin LSN", nvarchar(23)),
    ("Next Replicated End LSN", nvarchar(23)),
    ("Last Distributed Backup End LSN", nvarchar(23)),
    ("Last Distributed End LSN", nvarchar(23)),
    ("Repl Min Hold LSN", nvarchar(23)),
    ("Server UID", INT),
    ("SPID", INT),
    ("Beginlog Status", STATUS),
    ("Xact Type", INT),
    ("Begin Time", nvarchar(24)),
    ("Transaction Name", nvarchar(33)),
    ("Transaction SID", SID),
    ("Parent Transaction ID", nvarchar(14)),
    ("Oldest Active Transaction ID", nvarchar(14)),
    ("Xact ID", BIGINT),
    ("Xact Node ID", INT),
    ("Xact Node Local ID", INT),
    ("End AGE", BIGINT),
    ("End Time", nvarchar(24)),
    ("Transaction Begin", nvarchar(23)),
    ("Replicated Records", BIGINT),
    ("Oldest Active LSN", nvarchar(23)),
    ("Server Name", nvarchar(129)),
    ("Database Name", nvarchar(129)),
    ("Mark Name", nvarchar(33)),
    ("Repl Partition ID", INT),
    ("Repl Epoch", INT),
    ("Repl CSN", BIGINT),
    ("Repl Flags", INT),
    ("Repl Msg", BYTES),
    ("Repl Source Commit Time", nvarchar(24)),
    ("Master XDESID", nvarchar(14)),
    ("Master DBID", INT),
    ("Preplog Begin LSN", nvarchar(23)),
    ("Prepare Time", nvarchar(24)),
    ("Virtual Clock", BIGINT),
    ("Previous Savepoint", nvarchar(23)),
    ("Savepoint Name", nvarchar(33)),
    ("Rowbits First Bit", SMALLINT),
    ("Rowbits Bit Count", SMALLINT),
    ("Rowbits Bit Value", BYTE),
    ("Number of Locks", SMALLINT),
    ("Lock Information", nvarchar(256)),
    ("LSN before writes", nvarchar(23)),
    ("Pages Written", SMALLINT),
    ("Command Type", INT),
    ("Publication ID", INT),
    ("Article ID", INT),
    ("Partial Status", INT),
    ("Command", nvarchar(26)),
    ("Byte Offset", SMALLINT),
    ("New Value", BYTE),
    ("Old Value", BYTE),
    ("New Split Page", nvarchar(14)),
    ("Rows Deleted", SMALLINT),
    ("Bytes Freed", SMALLINT),
    ("CI Table Id", INT),
    ("CI Index Id", SMALLINT),
    ("NewAllocUnitId", BIGINT),
    ("FileGroup ID", SMALLINT),
    ("Meta Status", STATUS),
    ("File Status", STATUS),
    ("File ID", SMALLINT),
    ("Physical Name", nvarchar(261)),
    ("Logical Name", nvarchar(129)),
    ("Format LSN", nvarchar(23)),
    ("RowsetId", BIGINT),
    ("TextPtr", POINTER),
    ("Column Offset", INT),
    ("Flags", INT),
    ("Text Size", BIGINT),
    ("Offset", BIGINT),
    ("Old Size", BIGINT),
    ("New Size", BIGINT),
    ("Description", nvarchar(256)),
    ("Bulk allocated extent count", INT),
    ("Bulk RowsetId", BIGINT),
    ("Bulk AllocUnitId", BIGINT),
    ("Bulk allocation first IAM Page ID", nvarchar(14)),
    ("Bulk allocated extent ids", nvarchar(961)),
    ("VLFs added", nvarchar(688)),
    ("InvalidateCache Id", INT),
    ("InvalidateCache keys", nvarchar(256)),
    ("CopyVerionInfo Source Page Id", nvarchar(14)),
    ("CopyVerionInfo Source Page LSN", nvarchar(23)),
    ("CopyVerionInfo Source Slot Id", INT),
    ("CopyVerionInfo Source Slot Count", INT),
    ("RowLog Contents 0", BYTES),
    ("RowLog Contents 1", BYTES),
    ("RowLog Contents 2", BYTES),
    ("RowLog Contents 3", BYTES),
    ("RowLog Contents 4", BYTES),
    ("RowLog Contents 5", BYTES),
    ("Compression Log Type", SMALLINT),
    ("Compression Info", BYTES),
    ("PageFormat PageType", SMALLINT),
    ("PageFormat PageFlags", SMALLINT),
    ("PageFormat PageLevel", SMALLINT),
    ("PageFormat PageStat", SMALLINT),
    ("PageFormat FormatOption", SMALLINT),
    ("Log Record", BYTES),
    ("Page Operations", nvarchar(4000)),
];

/// The place of a column.
const fn place(name: &str) -> usize {
    let mut place = 0;
    while place < COLUMNS.len() {
        if is_same(COLUMNS[place].0.as_bytes(), name.as_bytes()) {
            return place;
        }
        place += 1;
    }
    panic!("no column has that name")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut place = 0;
    while place < one.len() {
        if one[place] != other[place] {
            return false;
        }
        place += 1;
    }
    true
}

pub(super) const CURRENT_LSN: usize = place("Current LSN");
pub(super) const OPERATION: usize = place("Operation");
pub(super) const CONTEXT: usize = place("Context");
pub(super) const TRANSACTION_ID: usize = place("Transaction ID");
pub(super) const LOG_BLOCK_GENERATION: usize = place("LogBlockGeneration");
pub(super) const TAG_BITS: usize = place("Tag Bits");
pub(super) const LOG_RECORD_FIXED_LENGTH: usize = place("Log Record Fixed Length");
pub(super) const LOG_RECORD_LENGTH: usize = place("Log Record Length");
pub(super) const PREVIOUS_LSN: usize = place("Previous LSN");
pub(super) const PREVIOUS_PAGE_LSN: usize = place("Previous Page LSN");
pub(super) const FLAG_BITS: usize = place("Flag Bits");
pub(super) const LOG_RESERVE: usize = place("Log Reserve");
pub(super) const ALLOC_UNIT_ID: usize = place("AllocUnitId");
pub(super) const ALLOC_UNIT_NAME: usize = place("AllocUnitName");
pub(super) const PAGE_ID: usize = place("Page ID");
pub(super) const SLOT_ID: usize = place("Slot ID");
pub(super) const PARTITION_ID: usize = place("PartitionId");
pub(super) const NUM_ELEMENTS: usize = place("Num Elements");
pub(super) const OFFSET_IN_ROW: usize = place("Offset in Row");
pub(super) const MODIFY_SIZE: usize = place("Modify Size");
pub(super) const CHECKPOINT_BEGIN: usize = place("Checkpoint Begin");
pub(super) const NUM_TRANSACTIONS: usize = place("Num Transactions");
pub(super) const CHECKPOINT_END: usize = place("Checkpoint End");
pub(super) const MINIMUM_LSN: usize = place("Minimum LSN");
pub(super) const SPID: usize = place("SPID");
pub(super) const BEGIN_TIME: usize = place("Begin Time");
pub(super) const TRANSACTION_NAME: usize = place("Transaction Name");
pub(super) const TRANSACTION_SID: usize = place("Transaction SID");
pub(super) const XACT_ID: usize = place("Xact ID");
pub(super) const END_TIME: usize = place("End Time");
pub(super) const MARK_NAME: usize = place("Mark Name");
pub(super) const OLDEST_ACTIVE_LSN: usize = place("Oldest Active LSN");
pub(super) const NUMBER_OF_LOCKS: usize = place("Number of Locks");
pub(super) const LOCK_INFORMATION: usize = place("Lock Information");
pub(super) const NEW_SPLIT_PAGE: usize = place("New Split Page");
pub(super) const DESCRIPTION: usize = place("Description");
pub(super) const ROW_LOG_CONTENTS: usize = place("RowLog Contents 0");
pub(super) const PAGE_TYPE: usize = place("PageFormat PageType");
pub(super) const PAGE_LEVEL: usize = place("PageFormat PageLevel");
pub(super) const LOG_RECORD: usize = place("Log Record");
pub(super) const PAGE_OPERATIONS: usize = place("Page Operations");
