//! A log record as a row of `fn_dblog`.
//!
//! | column | of our record |
//! |---|---|
//! | Operation | [`vlf::own_record`] has the names |
//! | Context | by the kind of page where the record tells it, else by the heap or index |
//! | Log Record Fixed Length | the record's header |
//! | Flag Bits | 0x0200 in records of transactions, as published outputs have it |
//! | Previous Page LSN | the change before this one of the record's first page, where records have links |
//! | Log Reserve | set aside for undoing the record, in bytes |
//! | RowLog Contents 0 ... | as in SQL Server's records: row, key, locks of an insert; row, locks of a delete; before, after, key, locks of a change |
//! | Mark Name | of the mark of a marked transaction, in its LOP_COMMIT_XACT |
//! | Description | name and SID of a beginning transaction; COMPENSATION where a change is undone; the description of a mark |

use engine::error::Result;
use engine::log::{LogMark, LogRecord, RecordKind, TransactionId};
use engine::page::{Change, PageId, PageKind, PageOperation, UndoKind};
use engine::recovery::ActiveEntry;
use engine::seams::DateTimeTicks;
use engine::store::{BOOT_PAGES, LoggedLock, is_space_map, undo_reserve_bytes};
use engine::types::{SqlType, Value};
use vlf::own_record::{Step, Steps, operation_name};
use vlf::record::Context;
use vlf::{Lsn, own_record};

use super::super::units::{UnitKind, Units};
use super::columns::{self, COLUMNS};
use crate::scalar::moment::Moment;
use crate::scalar::moment_format;
use crate::security;

/// `Flag Bits` of a transaction's record.
const OF_TRANSACTION: [u8; 2] = [0x02, 0x00];
/// Bytes that a column of bytes holds.
const BYTES_MAX: usize = 8000;
/// Characters of `Description` and `Lock Information`.
const TEXT_MAX: usize = 256;
/// Characters of `Page Operations`.
const OPERATIONS_MAX: usize = 4000;
const UNKNOWN_UNIT: &str = "Unknown Alloc Unit";
/// The columns `RowLog Contents 0` to `5`.
const CONTENTS: usize = 6;

/// Makes rows of records.
pub(super) struct RowMaker {
    pub(super) units: Units,
    pub(super) database_id: u16,
}

impl RowMaker {
    /// The row of a record.
    ///
    /// # Errors
    /// Those of looking for the unit of a large value.
    pub(super) fn row(&mut self, record: &LogRecord<'_>) -> Result<Vec<Value>> {
        let mut row = vec![Value::Null; COLUMNS.len()];
        let header = &record.header;
        let operation = operation_name(record.bytes).unwrap_or_default();
        row[columns::CURRENT_LSN] = text(record.lsn);
        row[columns::OPERATION] = operation.as_ref().into();
        row[columns::CONTEXT] = text(Context::NULL);
        row[columns::TRANSACTION_ID] = text(header.transaction);
        row[columns::LOG_BLOCK_GENERATION] = 0_i64.into();
        row[columns::TAG_BITS] = Value::binary(&[0; 2][..]);
        row[columns::LOG_RECORD_FIXED_LENGTH] = small(header.kind.header_bytes());
        row[columns::LOG_RECORD_LENGTH] = whole(record.bytes.len());
        row[columns::PREVIOUS_LSN] = text(header.previous);
        row[columns::FLAG_BITS] = Value::binary(match header.transaction {
            TransactionId::SYSTEM => &[0; 2][..],
            _ => &OF_TRANSACTION[..],
        });
        row[columns::LOG_RESERVE] = 0.into();
        row[columns::DESCRIPTION] = "".into();
        row[columns::LOG_RECORD] = bytes(record.bytes);
        match header.kind {
            RecordKind::Change | RecordKind::Compensation => self.put_change(record, &mut row)?,
            RecordKind::Begin => self.put_begin(record, &mut row),
            RecordKind::Commit | RecordKind::Abort => put_end(record, &mut row),
            RecordKind::CheckpointBegin => row[columns::CHECKPOINT_BEGIN] = time(record.payload, 0),
            RecordKind::CheckpointActive => put_active(record.payload, &mut row),
            RecordKind::CheckpointEnd => {
                row[columns::CHECKPOINT_END] = time(record.payload, 2 * Lsn::BYTES);
                row[columns::MINIMUM_LSN] = Lsn::read(record.payload, Lsn::BYTES).map_or(Value::Null, text);
            }
            RecordKind::Carried | RecordKind::CarriedEnd => {
                row[columns::DESCRIPTION] = record
                    .stands_for()
                    .map_or(Value::Null, |of| cut(format!("for {of}"), TEXT_MAX));
            }
            RecordKind::Marked => row[columns::END_TIME] = time(record.payload, 0),
            RecordKind::CheckpointLocks
            | RecordKind::IdRange
            | RecordKind::ShrinkNoop
            | RecordKind::CheckpointCarried
            | RecordKind::CheckpointMarked => {}
        }
        Ok(row)
    }

    fn put_begin(&self, record: &LogRecord<'_>, row: &mut [Value]) {
        let payload = record.payload;
        row[columns::BEGIN_TIME] = time(payload, 0);
        // Earlier releases wrote the name alone.
        let named = payload.get(8..).unwrap_or_default();
        let mut parts = named.splitn(2, |byte| *byte == 0);
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        let session = parts.next().and_then(|bytes| bytes.first_chunk());
        let session = session.map(|bytes| u16::from_le_bytes(*bytes));
        row[columns::SPID] = session.map_or(Value::Null, |session| i32::from(session).into());
        // There is one login, and what the server does for itself has the same owner.
        let sid = security::of_server("sa").map(security::sid_of).unwrap_or_default();
        let shown: String = sid.iter().map(|byte| format!("{byte:02x}")).collect();
        row[columns::DESCRIPTION] = cut(format!("{name};0x{shown}"), TEXT_MAX);
        row[columns::TRANSACTION_NAME] = cut(name, 33);
        row[columns::TRANSACTION_SID] = Value::binary(sid);
        let id = (i64::from(self.database_id) << 48) | record.header.transaction.0 as i64;
        row[columns::XACT_ID] = id.into();
    }

    fn put_change(&mut self, record: &LogRecord<'_>, row: &mut [Value]) -> Result<()> {
        let is_undo = record.header.kind == RecordKind::Compensation;
        if is_undo {
            row[columns::DESCRIPTION] = "COMPENSATION".into();
        }
        let steps = Steps::of(record.bytes);
        row[columns::PAGE_OPERATIONS] = cut(told(steps.clone()), OPERATIONS_MAX);
        if own_record::operation_of(steps.clone()) == Some("LOP_DELETE_SPLIT") {
            row[columns::NEW_SPLIT_PAGE] = steps.clone().nth(1).map_or(Value::Null, |step| page_text(&step));
        }
        let Ok(change) = Change::decode(record.payload) else {
            return Ok(());
        };
        let Some((step, Ok((page, operation)))) = steps.clone().next().zip(change.entries().next()) else {
            return Ok(());
        };
        if !record.links().is_empty() {
            row[columns::PREVIOUS_PAGE_LSN] = text(record.links().before(0));
        }
        row[columns::PAGE_ID] = page_text(&step);
        row[columns::SLOT_ID] = step.slot.map_or(Value::Null, |slot| i32::from(slot).into());
        if !is_undo {
            let reserve = undo_reserve_bytes(&change, !record.links().is_empty()).unwrap_or_default();
            row[columns::LOG_RESERVE] = whole(reserve as usize);
        }
        let unit = self.units.find(change.object)?;
        row[columns::CONTEXT] = text(context_of(
            (page, &operation),
            &step,
            (change.undo, is_undo),
            unit.map(|unit| unit.kind),
        ));
        let locks = record.locks();
        match unit {
            Some(unit) => {
                row[columns::ALLOC_UNIT_ID] = i64::from(unit.id).into();
                row[columns::ALLOC_UNIT_NAME] = cut(unit.name.clone(), 387);
                row[columns::PARTITION_ID] = unit.partition.into();
            }
            None if change.object.0 == 0 => {}
            None => {
                row[columns::ALLOC_UNIT_ID] = i64::from(change.object.0).into();
                row[columns::ALLOC_UNIT_NAME] = UNKNOWN_UNIT.into();
            }
        }
        let partition = unit.map(|unit| (unit.partition, unit.kind));
        put_locks(&LoggedLock::all(locks), (self.database_id, partition), row);
        put_elements(&operation, change.key, locks, row);
        Ok(())
    }
}

/// Every step: what it does, and where.
fn told(steps: Steps<'_>) -> String {
    let mut text = String::new();
    for step in steps {
        if text.len() >= OPERATIONS_MAX {
            break;
        }
        let slot = step.slot.map(|slot| format!(":{slot}")).unwrap_or_default();
        let separator = if text.is_empty() { "" } else { "; " };
        text.push_str(&format!(
            "{separator}{} {:04x}:{:08x}{slot}",
            step.operation(),
            step.file,
            step.page
        ));
    }
    text
}

fn page_text(step: &Step) -> Value {
    format!("{:04x}:{:08x}", step.file, step.page).into()
}

/// What kind of place a record's first step changes.
fn context_of(
    (page, operation): (PageId, &PageOperation<'_>),
    step: &Step,
    (undo, is_undo): (UndoKind, bool),
    unit: Option<UnitKind>,
) -> Context {
    let rows = || match unit {
        Some(UnitKind::Heap) => Context::HEAP,
        Some(UnitKind::Clustered) => Context::CLUSTERED,
        Some(UnitKind::Nonclustered) => Context::INDEX_LEAF,
        Some(UnitKind::Large) => Context::TEXT_MIX,
        // What it was is gone with its definition; slots of heaps do not move.
        None => match operation {
            PageOperation::InsertShift { .. } | PageOperation::RemoveShift { .. } => Context::CLUSTERED,
            _ => Context::HEAP,
        },
    };
    match operation {
        _ if step.marks_ghost() => Context::MARK_AS_GHOST,
        PageOperation::Format { kind, .. } | PageOperation::Fill { kind, .. } => match kind {
            PageKind::Heap | PageKind::TreeLeaf | PageKind::Free => rows(),
            PageKind::TreeBranch => Context::INDEX_INTERIOR,
            PageKind::LargeData => Context::TEXT_MIX,
            PageKind::LargeBranch => Context::TEXT_TREE,
            PageKind::SpaceMap => Context::GAM,
            PageKind::ExtentList => Context::IAM,
            PageKind::Boot => Context::BOOT_PAGE,
            PageKind::FileHeader => Context::FILE_HEADER,
            PageKind::ChangeMap => Context::DIFF_MAP,
        },
        PageOperation::SetBytes { .. } if step.sets_link() => rows(),
        PageOperation::SetBytes { .. } => match page {
            page if is_space_map(page) => Context::GAM,
            page if BOOT_PAGES.contains(&page) => Context::BOOT_PAGE,
            _ => Context::IAM,
        },
        // Rows of a tree whose change is never undone are its separators.
        PageOperation::InsertShift { .. } | PageOperation::RemoveShift { .. } | PageOperation::ReplaceRow { .. }
            if undo == UndoKind::None && !is_undo && unit != Some(UnitKind::Heap) =>
        {
            Context::INDEX_INTERIOR
        }
        _ => rows(),
    }
}

/// The parts of a record that SQL Server shows as `RowLog Contents`.
fn put_elements(operation: &PageOperation<'_>, key: &[u8], locks: &[u8], row: &mut [Value]) {
    let status = |byte: &u8| std::slice::from_ref(byte).to_vec();
    let mut elements: Vec<Vec<u8>> = match operation {
        PageOperation::InsertAt { row, .. } | PageOperation::InsertShift { row, .. } => {
            vec![row.to_vec(), key.to_vec()]
        }
        PageOperation::RemoveAt { before, .. } | PageOperation::RemoveShift { before, .. } => vec![before.to_vec()],
        PageOperation::SetStatus { before, after, .. } => vec![status(before), status(after), key.to_vec()],
        PageOperation::ReplaceRow { before, after, .. }
        | PageOperation::PatchRow { before, after, .. }
        | PageOperation::SetBytes { before, after, .. } => vec![before.to_vec(), after.to_vec(), key.to_vec()],
        PageOperation::FlipBits { bitmap, .. } => vec![bitmap.to_vec(), key.to_vec()],
        PageOperation::Fill { rows, .. } => vec![rows.to_vec()],
        PageOperation::Image { bytes } => vec![bytes.to_vec()],
        PageOperation::Format { .. } | PageOperation::PurgeGhosts => Vec::new(),
    };
    if !locks.is_empty() {
        elements.push(locks.to_vec());
    }
    let (offset, size) = match operation {
        PageOperation::PatchRow {
            offset, before, after, ..
        } => (Some(*offset), before.len().max(after.len())),
        PageOperation::SetBytes { offset, after, .. } => (Some(*offset), after.len()),
        PageOperation::FlipBits { offset, bitmap, .. } => (Some(*offset), bitmap.len()),
        PageOperation::ReplaceRow { before, after, .. } => (Some(0), before.len().max(after.len())),
        _ => (None, 0),
    };
    if let Some(offset) = offset {
        row[columns::OFFSET_IN_ROW] = small(usize::from(offset));
        row[columns::MODIFY_SIZE] = small(size);
    }
    if let PageOperation::Format { kind, level, .. } = operation {
        row[columns::PAGE_TYPE] = Value::SmallInt(*kind as i16);
        row[columns::PAGE_LEVEL] = Value::SmallInt(i16::from(*level));
    }
    row[columns::NUM_ELEMENTS] = small(elements.len());
    for (place, element) in elements.iter().take(CONTENTS).enumerate() {
        row[columns::ROW_LOG_CONTENTS + place] = bytes(element);
    }
}

/// In SQL Server's form: `HoBt 72057594039042048:ACQUIRE_LOCK_IX OBJECT: 5:245575913:0 ;ACQUIRE_LOCK_X KEY: 5:72057594039042048 (hash)`
/// (Remus Rusanu, "How to read and interpret the SQL Server log").
fn put_locks(locks: &[LoggedLock], (database, unit): (u16, Option<(i64, UnitKind)>), row: &mut [Value]) {
    if locks.is_empty() {
        return;
    }
    row[columns::NUMBER_OF_LOCKS] = small(locks.len());
    let partition = unit.map_or(0, |(partition, _)| partition);
    let each = locks.iter().map(|lock| match *lock {
        LoggedLock::Table { mode, database, table } => {
            format!("ACQUIRE_LOCK_{} OBJECT: {database}:{table}:0 ", lock_name(mode.name()))
        }
        LoggedLock::Row { mode, row, .. } => match unit {
            Some((_, UnitKind::Heap)) => format!(
                "ACQUIRE_LOCK_{} RID: {database}:{}:{}:{} ",
                lock_name(mode.name()),
                row >> 48,
                row >> 16 & 0xFFFF_FFFF,
                row & 0xFFFF
            ),
            _ => format!(
                "ACQUIRE_LOCK_{} KEY: {database}:{partition} ({:012x})",
                lock_name(mode.name()),
                row & 0xFFFF_FFFF_FFFF
            ),
        },
    });
    let each: Vec<String> = each.collect();
    row[columns::LOCK_INFORMATION] = cut(format!("HoBt {partition}:{}", each.join(";")), TEXT_MAX);
}

fn lock_name(mode: &str) -> String {
    mode.replace('-', "_").to_uppercase()
}

/// The end of a transaction; and its mark, if it has one, with the description in `Description`.
fn put_end(record: &LogRecord<'_>, row: &mut [Value]) {
    row[columns::END_TIME] = time(record.payload, 0);
    let is_commit = record.header.kind == RecordKind::Commit;
    if let Some(mark) = LogMark::of_commit(record.payload).filter(|_| is_commit) {
        row[columns::MARK_NAME] = mark.name().into();
        row[columns::DESCRIPTION] = mark.description().into();
    }
}

fn put_active(payload: &[u8], row: &mut [Value]) {
    let entries = || payload.chunks_exact(ActiveEntry::BYTES).filter_map(ActiveEntry::decode);
    row[columns::NUM_TRANSACTIONS] = small(entries().count());
    row[columns::OLDEST_ACTIVE_LSN] = entries().map(|entry| entry.first).min().map_or(Value::Null, text);
}

fn text(shown: impl std::fmt::Display) -> Value {
    shown.to_string().into()
}

/// A text as long as its column.
fn cut(text: String, characters_max: usize) -> Value {
    match text.char_indices().nth(characters_max) {
        None => text.into(),
        Some((end, _)) => text[..end].into(),
    }
}

/// Bytes as far as their column holds them.
fn bytes(bytes: &[u8]) -> Value {
    Value::binary(&bytes[..bytes.len().min(BYTES_MAX)])
}

fn whole(number: usize) -> Value {
    i32::try_from(number).unwrap_or(i32::MAX).into()
}

fn small(number: usize) -> Value {
    Value::SmallInt(i16::try_from(number).unwrap_or(i16::MAX))
}

/// The time in a record: days since 1900 and 1/300 seconds, as `2012/05/25 10:22:33:123`; NULL in a record that has none.
fn time(payload: &[u8], at: usize) -> Value {
    let field = |at: usize| payload.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
    let (Some(days), Some(ticks)) = (field(at), field(at + 4)) else {
        return Value::Null;
    };
    let time = DateTimeTicks {
        days: i32::from_le_bytes(*days),
        ticks: u32::from_le_bytes(*ticks),
    };
    let moment = Moment::from_value(&Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    });
    let form = |style| moment.and_then(|moment| moment_format::format(moment, SqlType::DateTime, style));
    match form(DATE_STYLE).zip(form(TIME_STYLE)) {
        Some((date, time)) => format!("{date} {time}").into(),
        None => Value::Null,
    }
}

/// `yyyy/mm/dd`
const DATE_STYLE: i32 = 111;
/// `hh:mi:ss:mmm`
const TIME_STYLE: i32 = 114;
