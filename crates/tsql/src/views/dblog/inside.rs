//! The contents of a log, for pages that draw it: the records of one VLF, of one transaction, of one page, and a page.
//!
//! Each answer is limited, and says where it was cut off. Reading goes by VLFs: [`LogReader`] finds blocks from the start of theirs on, and
//! what a transaction wrote is found back through the place of the record before, which every record names.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::database::{Database, LogExtent, LogReader};
use engine::error::Result;
use engine::log::{LogRecord, RecordKind, TransactionId};
use engine::page::{PAGE_BYTES, PageBytes, PageId, PageKind, PageRef, ROW_FORWARDED, ROW_GHOST, ROW_STUB};
use engine::types::Value;
use vlf::own_record::Steps;
use vlf::{FIRST_BLOCK, Lsn};

use super::super::units::Units;
use super::columns;
use super::row::RowMaker;

/// Records of one answer at most.
pub const RECORDS_MAX: usize = 1_000;
/// Bytes of log that one answer reads at most, to the end of a VLF.
const READ_BYTES_MAX: u64 = 256 << 20;

/// A record as `fn_dblog` has it, in the columns that a reader of a log looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRecord {
    pub lsn: Lsn,
    pub operation: String,
    pub context: String,
    /// 0 = the engine's own.
    pub transaction: u64,
    /// Length as it is stored.
    pub bytes: usize,
    /// The transaction's record before this one.
    pub previous: Lsn,
    /// Of a record that takes one back: what of its transaction is left to take back. Zero: it takes none back, or nothing is left.
    pub undo_next: Lsn,
    /// It takes a record back.
    pub is_compensation: bool,
    /// Its transaction ends with it.
    pub is_end: bool,
    /// `schema.table.index` whose page it changes first.
    pub unit: String,
    pub pages: Vec<PageId>,
    pub slot: Option<i64>,
    /// The name of a transaction, of the record that begins it.
    pub name: String,
    /// Of records that have one, when: `2012/05/25 10:22:33:123`.
    pub time: String,
    /// Every step, with its page.
    pub steps: String,
}

/// Records, and whether there are more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenRecords {
    pub records: Vec<SeenRecord>,
    /// Before the first there are more that are no longer kept, or would be too many.
    pub is_cut_before: bool,
    /// Behind the last there are more.
    pub is_cut_behind: bool,
}

/// A row of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRow {
    pub slot: u16,
    /// From the start of the page.
    pub offset: usize,
    pub bytes: usize,
    /// `row`, `ghost`, `forwarded` or `stub`.
    pub kind: &'static str,
}

/// A page as it is in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenPage {
    pub id: PageId,
    /// In words; none for a page that was never used.
    pub kind: Option<PageKind>,
    pub level: u8,
    pub lsn: Lsn,
    pub unit: String,
    pub next: PageId,
    pub previous: PageId,
    pub rows: Vec<SeenRow>,
    pub ghosts: u16,
    /// Behind the last row.
    pub free_bytes: usize,
    /// The last records that changed it.
    pub records: SeenRecords,
}

/// Reads a log for those that look into it.
pub struct Inside {
    database: Arc<Database>,
    maker: RowMaker,
    read_bytes: u64,
}

impl Inside {
    /// Looks into a database's log from now on. Names are those of this moment.
    pub fn of(database: &Arc<Database>) -> Inside {
        Inside {
            maker: RowMaker {
                units: Units::of(database, 0),
                database_id: database.id,
            },
            database: Arc::clone(database),
            read_bytes: 0,
        }
    }

    /// The records of a VLF, by its sequence, behind `after`; those that are not kept any more are not there.
    ///
    /// # Errors
    /// 9001 when the log is closed, 9004 when it is damaged.
    pub fn vlf(&mut self, sequence: u32, after: Lsn) -> Result<SeenRecords> {
        let mut seen = SeenRecords::default();
        let mut reader = self.reader(sequence)?;
        while let Some(record) = reader.next()? {
            if record.lsn.vlf > sequence {
                break;
            }
            if record.lsn <= after || record.lsn.vlf < sequence {
                continue;
            }
            if seen.records.len() >= RECORDS_MAX {
                seen.is_cut_behind = true;
                break;
            }
            seen.records.push(self.seen(&record)?);
        }
        Ok(seen)
    }

    /// What a transaction wrote, of which the record at `near` is one: back to its begin, and on to its end.
    ///
    /// # Errors
    /// 9001 when the log is closed, 9004 when it is damaged.
    pub fn transaction(&mut self, id: u64, near: Lsn) -> Result<SeenRecords> {
        let is_its = |record: &LogRecord<'_>| record.header.transaction == TransactionId(id);
        let (mut records, mut is_cut_behind) = (VecDeque::new(), false);
        let mut reader = self.reader(near.vlf)?;
        while let Some(record) = reader.next()? {
            if !self.takes(&record) || records.len() >= RECORDS_MAX {
                is_cut_behind = true;
                break;
            }
            if is_its(&record) {
                records.push_back(self.seen(&record)?);
                if matches!(record.header.kind, RecordKind::Commit | RecordKind::Abort) {
                    break;
                }
            }
        }
        drop(reader);
        while let Some(first) = records.front().filter(|first| first.previous != Lsn::ZERO) {
            let (vlf, end) = (first.previous.vlf, first.lsn);
            let before = self.between(vlf, end, is_its)?;
            if before.is_cut_before || before.records.is_empty() || records.len() + before.records.len() > RECORDS_MAX {
                break;
            }
            before
                .records
                .into_iter()
                .rev()
                .for_each(|record| records.push_front(record));
        }
        Ok(SeenRecords {
            // A copy of a change that was carried forward is the first of its chain as well.
            is_cut_before: records.front().is_none_or(|first| first.operation != "LOP_BEGIN_XACT"),
            records: records.into(),
            is_cut_behind,
        })
    }

    /// A page as it is in memory, and the last records that changed it.
    ///
    /// # Errors
    /// 9001 when the log is closed, 9004 when it is damaged; those of reading the page. There is no page of this number: `None`.
    pub fn page(&mut self, id: PageId) -> Result<Option<SeenPage>> {
        let storage = &self.database.storage;
        if id.page >= storage.files.page_count(id.file) {
            return Ok(None);
        }
        let bytes: Box<PageBytes> = Box::new(*storage.pool.read(storage.id, id)?.view().bytes());
        let view = PageRef::new(&bytes);
        let records = self.of_page(id, view.lsn())?;
        let unit = self.maker.units.find(view.object())?;
        Ok(Some(SeenPage {
            id,
            kind: view.kind(),
            level: view.level(),
            lsn: view.lsn(),
            unit: unit.map_or(String::new(), |unit| unit.name.clone()),
            next: view.next(),
            previous: view.previous(),
            rows: rows(view),
            ghosts: view.ghost_count(),
            free_bytes: view.contiguous_free(),
            records,
        }))
    }

    /// The last records up to `last` that change a page; VLF by VLF, the newest first, until there are enough to look at.
    fn of_page(&mut self, id: PageId, last: Lsn) -> Result<SeenRecords> {
        const ENOUGH: usize = 40;
        let is_its = |record: &LogRecord<'_>| Steps::of(record.bytes).any(|step| page_of(&step) == id);
        let oldest = self.database.storage.log.oldest_kept().unwrap_or(last.vlf);
        let mut records: VecDeque<SeenRecord> = VecDeque::new();
        let mut is_cut_before = true;
        for sequence in (oldest..=last.vlf).rev() {
            if records.len() >= ENOUGH || self.read_bytes > READ_BYTES_MAX {
                break;
            }
            let found = self.between(sequence, Lsn::MAX, is_its)?;
            found
                .records
                .into_iter()
                .rev()
                .for_each(|record| records.push_front(record));
            if found.is_cut_before {
                is_cut_before = true;
                break;
            }
            is_cut_before = records.front().is_none_or(|first| first.operation != "LOP_FORMAT_PAGE");
        }
        let surplus = records.len().saturating_sub(RECORDS_MAX);
        records.drain(..surplus);
        Ok(SeenRecords {
            records: records.into(),
            is_cut_before: is_cut_before || surplus > 0,
            is_cut_behind: false,
        })
    }

    /// The records of one VLF before `end` that are asked for, the last [`RECORDS_MAX`] of them; none where too much was read already. They are counted
    /// first: a record that is not shown costs no more than reading it.
    fn between(&mut self, sequence: u32, end: Lsn, is_asked: impl Fn(&LogRecord<'_>) -> bool) -> Result<SeenRecords> {
        let is_before = |record: &LogRecord<'_>| record.lsn.vlf == sequence && record.lsn < end;
        let mut count = 0usize;
        let mut reader = self.reader(sequence)?;
        while let Some(record) = reader.next()? {
            if !is_before(&record) {
                break;
            }
            if !self.takes(&record) {
                return Ok(SeenRecords {
                    is_cut_before: true,
                    ..SeenRecords::default()
                });
            }
            count += usize::from(is_asked(&record));
        }
        let mut surplus = count.saturating_sub(RECORDS_MAX);
        let mut seen = SeenRecords {
            is_cut_before: surplus > 0,
            ..SeenRecords::default()
        };
        let wanted = count - surplus;
        let mut reader = self.reader(sequence)?;
        while seen.records.len() < wanted
            && let Some(record) = reader.next()?
            && is_before(&record)
        {
            match (is_asked(&record), surplus) {
                (false, _) => {}
                (true, 0) => seen.records.push(self.seen(&record)?),
                (true, _) => surplus -= 1,
            }
        }
        Ok(seen)
    }

    fn reader(&self, sequence: u32) -> Result<LogReader> {
        LogReader::open(
            &self.database,
            Some(Lsn::new(sequence, FIRST_BLOCK, 1)),
            LogExtent::Kept,
        )
    }

    /// Counts what was read; false where it is enough.
    fn takes(&mut self, record: &LogRecord<'_>) -> bool {
        self.read_bytes += record.bytes.len() as u64;
        self.read_bytes <= READ_BYTES_MAX
    }

    fn seen(&mut self, record: &LogRecord<'_>) -> Result<SeenRecord> {
        let row = self.maker.row(record)?;
        let text = |column: usize| row[column].as_str().unwrap_or_default().to_owned();
        let mut pages: Vec<PageId> = Vec::new();
        for page in Steps::of(record.bytes).map(|step| page_of(&step)) {
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
        let times = [
            columns::BEGIN_TIME,
            columns::END_TIME,
            columns::CHECKPOINT_BEGIN,
            columns::CHECKPOINT_END,
        ];
        Ok(SeenRecord {
            lsn: record.lsn,
            operation: text(columns::OPERATION),
            context: text(columns::CONTEXT),
            transaction: record.header.transaction.0,
            bytes: record.bytes.len(),
            previous: record.header.previous,
            undo_next: record.header.undo_next,
            is_compensation: record.header.kind == RecordKind::Compensation,
            is_end: matches!(record.header.kind, RecordKind::Commit | RecordKind::Abort),
            unit: text(columns::ALLOC_UNIT_NAME),
            pages,
            slot: Some(&row[columns::SLOT_ID]).and_then(Value::as_i64),
            name: text(columns::TRANSACTION_NAME),
            time: times.map(text).concat(),
            steps: text(columns::PAGE_OPERATIONS),
        })
    }
}

fn page_of(step: &vlf::own_record::Step) -> PageId {
    PageId::new(step.file, step.page)
}

/// Where the rows of a page lie; none on a page that has no rows.
fn rows(view: PageRef<'_>) -> Vec<SeenRow> {
    if !view.kind().is_some_and(PageKind::has_rows) {
        return Vec::new();
    }
    let start = view.bytes().as_ptr() as usize;
    let rows = view.rows().map(|(slot, row)| {
        let status = row.first().copied().unwrap_or_default();
        let kind = match status {
            status if status & ROW_GHOST != 0 => "ghost",
            status if status & ROW_STUB != 0 => "stub",
            status if status & ROW_FORWARDED != 0 => "forwarded",
            _ => "row",
        };
        SeenRow {
            slot,
            offset: (row.as_ptr() as usize - start).min(PAGE_BYTES),
            bytes: row.len(),
            kind,
        }
    });
    rows.collect()
}
