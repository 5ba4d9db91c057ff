//! All rows of a rowset: one partition of a heap, or of the leaves of a clustered index.
//!
//! A clustered index is read along its chain of leaves, so rows come in the order of its key. A heap is read by its IAM pages: the single
//! pages in mixed extents, then the extents, in each of which the PFS says which pages are allocated.
//!
//! A page that does not fit is a fault among the rows. A heap goes on behind it; a chain ends there, for the next page was named on it.
//!
//! [`Rows`] makes values. [`check_rows`] finds what [`Rows`] would, and makes none: each row is looked at where it lies, by two threads.

use crate::catalog::stored::{ColumnPlace, Compression, RowSet, StoredColumn};
use crate::fault::{Fault, Result};
use crate::page::maps::{Iam, Pfs, pfs_page_of};
use crate::page::{EXTENT_PAGES, HEADER_BYTES, Page, PageId, PageKind, PageSource, PageWindow};
use crate::row::compressed::{CompressedKind, CompressedRecord, PageCompression, Stored};
use crate::row::{Record, RecordKind, Variable, lob, sparse_value};
use crate::types::{ColumnType, SystemType, Value, check, decode, expand};
use crate::verdicts::Verdicts;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::Builder;

/// What is done with each row: its values, in the order of the rowset's columns, or what is wrong with it.
pub type Visit<'v> = dyn FnMut(Result<Vec<Value>>) -> ControlFlow<()> + 'v;

/// Visits every row of `rowset`.
pub fn for_each_row(source: &dyn PageSource, rowset: &RowSet, visit: &mut Visit<'_>) {
    for row in Rows::new(source, rowset) {
        if visit(row).is_break() {
            break;
        }
    }
}

/// The values of one record of `rowset`, wherever it was kept: each on its own, for one of them can lie on pages that are not to be had.
///
/// # Errors
/// The record does not fit, or it is compressed with the dictionary of its page, which is not known here.
pub fn values_of_record(source: &dyn PageSource, rowset: &RowSet, bytes: &[u8]) -> Result<Vec<Result<Value>>> {
    let scan = Scan { source, rowset };
    let whole = |reason: String| Fault::whole(format!("a row: {reason}"));
    let named = |column: &StoredColumn, value: std::result::Result<Value, ValueFault>| {
        value.map_err(|fault| fault.in_column(PageId::default(), 0, &column.name))
    };
    let columns = rowset.columns.iter();
    match rowset.compression {
        Compression::None => {
            let record = Record::parse(bytes).map_err(whole)?;
            let vector = scan.sparse_vector(&record).map_err(whole)?;
            let value = |column: &StoredColumn| named(column, scan.plain_value(&record, vector, column));
            Ok(columns.map(value).collect())
        }
        Compression::Row => {
            let record = CompressedRecord::parse(bytes).map_err(whole)?;
            let around = PageCompression::default();
            let value = |column: &StoredColumn| named(column, scan.compressed_value(&around, &record, column));
            Ok(columns.map(value).collect())
        }
        Compression::Page | Compression::Columnstore => Err(Fault::whole(
            "a row: it is compressed with what its page or segment has, and the log does not have that",
        )),
    }
}

/// The rows of a rowset, one after another: a page and a row are in memory at a time, some pages that were read ahead, and for a heap the numbers of
/// its pages on one map.
pub struct Rows<'s> {
    pages: Pages<'s>,
    page: Option<Page>,
    slot: u16,
}

/// The pages of a rowset that rows are on, in their order.
struct Pages<'s> {
    scan: Scan<'s>,
    way: Way,
    /// Pages that may still come: a chain is no longer than there are pages.
    pages_left: u64,
    window: PageWindow,
    /// The map of a heap's pages that was read last.
    allocated: Option<(PageId, Pfs)>,
    /// Pages that need not be checked again.
    verdicts: Option<&'s Verdicts>,
}

/// How the next page is found.
enum Way {
    /// The leaf that follows.
    Chain(Option<PageId>),
    Heap {
        next_map: Option<PageId>,
        pages: VecDeque<PageId>,
    },
}

impl<'s> Rows<'s> {
    /// The rows of `rowset`, from its first one on.
    pub fn new(source: &'s dyn PageSource, rowset: &'s RowSet) -> Rows<'s> {
        Rows {
            pages: Pages::new(source, rowset, None),
            page: None,
            slot: 0,
        }
    }
}

impl<'s> Pages<'s> {
    fn new(source: &'s dyn PageSource, rowset: &'s RowSet, verdicts: Option<&'s Verdicts>) -> Pages<'s> {
        let way = match rowset.is_heap {
            true => Way::Heap {
                next_map: rowset.first_iam,
                pages: VecDeque::new(),
            },
            false => Way::Chain(rowset.first_page),
        };
        Pages {
            scan: Scan { source, rowset },
            way,
            pages_left: source.page_count(),
            window: PageWindow::new(),
            allocated: None,
            verdicts,
        }
    }

    /// Page `id`, if it has rows of this rowset.
    fn data_page(&mut self, id: PageId) -> Result<Page> {
        let bytes = Box::new(*self.window.page(self.scan.source, id)?);
        let page = match self.verdicts.is_some_and(|verdicts| verdicts.are_as_written(id)) {
            true => Page::found_sound(bytes),
            false => Page::of(bytes).checked(id)?,
        };
        self.scan.check_page(&page, id)?;
        Ok(page)
    }

    /// A page that belongs to the heap; `None` if the PFS says that it is not allocated.
    fn heap_page(&mut self, id: PageId) -> Option<Result<Page>> {
        let files = self.scan.source.files();
        if !files.iter().any(|file| file.id == id.file && id.page < file.pages) {
            return Some(Err(Fault::of_page(
                id,
                "an IAM page leads here, and there is no such page",
            )));
        }
        let map = pfs_page_of(id);
        let pfs = match self.allocated.take().filter(|(known, _)| *known == map) {
            Some((_, pfs)) => pfs,
            None => match Pfs::covering(self.scan.source, id) {
                Ok(pfs) => pfs,
                Err(fault) => return Some(Err(fault)),
            },
        };
        let is_allocated = pfs.byte(id).is_allocated();
        self.allocated = Some((map, pfs));
        is_allocated.then(|| self.data_page(id))
    }

    /// The page after the one that is read, if there is one.
    fn next_page(&mut self) -> Option<Result<Page>> {
        let scan = self.scan;
        loop {
            match &mut self.way {
                Way::Chain(next) => {
                    let id = next.take()?;
                    let page = count_down(&mut self.pages_left, id).and_then(|()| self.data_page(id));
                    self.way = Way::Chain(page.as_ref().ok().and_then(Page::next));
                    return Some(page);
                }
                Way::Heap { next_map, pages } => {
                    if let Some(id) = pages.pop_front() {
                        match self.heap_page(id) {
                            Some(page) => return Some(page),
                            None => continue,
                        }
                    }
                    let id = next_map.take()?;
                    let map = count_down(&mut self.pages_left, id).and_then(|()| scan.iam(id));
                    match map {
                        Ok(map) => {
                            *next_map = map.next();
                            pages.extend(map.single_pages());
                            let extents = map.extents();
                            pages.extend(extents.flat_map(|first| {
                                (0..EXTENT_PAGES)
                                    .map(move |page| PageId::new(first.file, first.page.saturating_add(page)))
                            }));
                        }
                        Err(fault) => return Some(Err(fault)),
                    }
                }
            }
        }
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.next_page()
    }
}

fn count_down(pages_left: &mut u64, id: PageId) -> Result<()> {
    *pages_left = pages_left
        .checked_sub(1)
        .ok_or_else(|| Fault::of_page(id, "the chain of pages that leads here runs in a circle"))?;
    Ok(())
}

impl Iterator for Rows<'_> {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Result<Vec<Value>>> {
        loop {
            if let Some(page) = &self.page {
                while self.slot < page.slot_count() {
                    self.slot += 1;
                    if let Some(row) = self.pages.scan.row(page, self.slot - 1).transpose() {
                        return Some(row);
                    }
                }
                self.page = None;
            }
            match self.pages.next()? {
                Ok(page) => (self.page, self.slot) = (Some(page), 0),
                Err(fault) => return Some(Err(fault)),
            }
        }
    }
}

/// Pages of a rowset behind so many are read by a thread of their own. What the catalog says of their number may be anything.
const THREAD_PAGES_MIN: usize = 256;
/// Pages that go from that thread at once, and how many such batches wait.
const BATCH_PAGES: usize = 32;
const BATCHES_AHEAD: usize = 8;

/// Some pages of a rowset, as they go from the thread that reads them to the one that asked.
enum Batch {
    /// Still to be looked at.
    Read(Vec<Result<Page>>),
    /// Looked at by the reader, while as many batches waited as may: the rows that are as they should be, and what is wrong with the others.
    Checked(u64, Vec<Fault>),
}

/// Looks at every row of `rowset`, as [`Rows`] does, and makes no values. Answers how many rows are as they should be; `fault` gets the
/// others, in the order in which [`Rows`] meets them. Pages in `verdicts` are not checked again.
pub fn check_rows(source: &dyn PageSource, rowset: &RowSet, verdicts: &Verdicts, fault: &mut dyn FnMut(Fault)) -> u64 {
    let scan = Scan { source, rowset };
    let mut pages = Pages::new(source, rowset, Some(verdicts));
    let mut rows = scan.check_all(pages.by_ref().take(THREAD_PAGES_MIN), fault);
    let Some(page) = pages.next() else {
        return rows;
    };
    rows += scan.check_all([page], fault);
    std::thread::scope(|scope| {
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let ahead = &mut pages;
        let reader = Builder::new().spawn_scoped(scope, move || read_ahead(scan, ahead, &sender));
        if reader.is_err() {
            return;
        }
        for batch in batches {
            rows += match batch {
                Batch::Read(pages) => scan.check_all(pages, fault),
                Batch::Checked(rows, faults) => {
                    faults.into_iter().for_each(&mut *fault);
                    rows
                }
            };
        }
    });
    // Where there is no other thread to be had, this one reads.
    rows + scan.check_all(pages, fault)
}

/// Reads the pages and sends them on. While enough of them wait, their rows are checked here, so that neither thread waits for the other.
fn read_ahead(scan: Scan<'_>, pages: &mut Pages<'_>, sender: &SyncSender<Batch>) {
    loop {
        let batch: Vec<Result<Page>> = pages.by_ref().take(BATCH_PAGES).collect();
        if batch.is_empty() {
            return;
        }
        let is_sent = match sender.try_send(Batch::Read(batch)) {
            Err(TrySendError::Full(Batch::Read(batch))) => {
                let mut faults = Vec::new();
                let rows = scan.check_all(batch, &mut |found| faults.push(found));
                sender.send(Batch::Checked(rows, faults)).is_ok()
            }
            sent => sent.is_ok(),
        };
        if !is_sent {
            return;
        }
    }
}

/// What is made of a value: the value, or nothing but the certainty that it is one.
trait Taken: Sized {
    fn null() -> Self;
    fn bit(bit: bool) -> Self;
    fn plain(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<Self, String>;
    fn compressed(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<Self, String>;
    fn known(value: &Value) -> Self;
}

impl Taken for Value {
    fn null() -> Value {
        Value::Null
    }

    fn bit(bit: bool) -> Value {
        Value::Bit(bit)
    }

    fn plain(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<Value, String> {
        decode(kind, bytes)
    }

    fn compressed(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<Value, String> {
        expand(kind, bytes)
    }

    fn known(value: &Value) -> Value {
        value.clone()
    }
}

impl Taken for () {
    fn null() {}

    fn bit(_bit: bool) {}

    fn plain(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<(), String> {
        check(kind, bytes)
    }

    fn compressed(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<(), String> {
        expand(kind, bytes).map(|_| ())
    }

    fn known(_value: &Value) {}
}

#[derive(Clone, Copy)]
struct Scan<'s> {
    source: &'s dyn PageSource,
    rowset: &'s RowSet,
}

impl Scan<'_> {
    fn iam(self, id: PageId) -> Result<Iam> {
        let iam = Iam::read(self.source, id)?;
        match iam.belongs_to(self.rowset.allocation_unit) {
            true => Ok(iam),
            false => Err(Fault::of_page(id, "this IAM page belongs to another table")),
        }
    }

    /// Page `id` has rows of this rowset.
    fn check_page(self, page: &Page, id: PageId) -> Result<()> {
        if page.kind() != PageKind::Data || page.level() != 0 {
            return Err(Fault::of_page(
                id,
                format!(
                    "rows are looked for here, and it is {:?}, level {}",
                    page.kind(),
                    page.level()
                ),
            ));
        }
        match page.belongs_to(self.rowset.allocation_unit) {
            true => Ok(()),
            false => Err(Fault::of_page(
                id,
                "rows are looked for here, and it belongs to another table",
            )),
        }
    }

    /// How many rows of some pages are as they should be. A page that could not be read is a fault as well.
    fn check_all(self, pages: impl IntoIterator<Item = Result<Page>>, fault: &mut dyn FnMut(Fault)) -> u64 {
        let mut rows = 0;
        for page in pages {
            match page {
                Ok(page) => rows += self.check(&page, fault),
                Err(found) => fault(found),
            }
        }
        rows
    }

    /// How many slots of a page have a row that is as it should be.
    fn check(self, page: &Page, fault: &mut dyn FnMut(Fault)) -> u64 {
        let mut rows = 0;
        for slot in 0..page.slot_count() {
            match self.taken::<(), ()>(page, slot) {
                Ok(Some(())) => rows += 1,
                Ok(None) => {}
                Err(found) => fault(found),
            }
        }
        rows
    }

    /// The row in a slot; `None` for what is not a row: a ghost, a stub, an empty slot.
    fn row(self, page: &Page, slot: u16) -> Result<Option<Vec<Value>>> {
        self.taken::<Value, Vec<Value>>(page, slot)
    }

    /// What is made of the row in a slot.
    fn taken<T: Taken, R: FromIterator<T>>(self, page: &Page, slot: u16) -> Result<Option<R>> {
        let Some(bytes) = page.record(slot)? else {
            return Ok(None);
        };
        if self.rowset.compression != Compression::None {
            return self.compressed_row(page, slot, bytes);
        }
        let is_row = bytes
            .first()
            .is_some_and(|status| RecordKind::of_status(*status).is_row());
        is_row.then(|| self.plain_row(page.id(), slot, bytes)).transpose()
    }

    fn plain_row<T: Taken, R: FromIterator<T>>(self, page: PageId, slot: u16, bytes: &[u8]) -> Result<R> {
        let at_slot = |reason: String| Fault::of_slot(page, slot, reason);
        let record = Record::parse(bytes).map_err(at_slot)?;
        let vector = self.sparse_vector(&record).map_err(at_slot)?;
        let columns = self.rowset.columns.iter();
        columns
            .map(|column| {
                self.plain_value(&record, vector, column)
                    .map_err(|fault| fault.in_column(page, slot, &column.name))
            })
            .collect()
    }

    /// The sparse columns of a row share a complex value, the last one of its variable values.
    fn sparse_vector<'p>(self, record: &Record<'p>) -> std::result::Result<Option<&'p [u8]>, String> {
        let has_sparse = self
            .rowset
            .columns
            .iter()
            .any(|column| matches!(column.place, ColumnPlace::Sparse));
        if !has_sparse {
            return Ok(None);
        }
        let vector = record.last_variable()?;
        Ok(vector
            .filter(|vector| vector.is_complex && vector.bytes.starts_with(&[5, 0]))
            .map(|vector| vector.bytes))
    }

    fn plain_value<T: Taken>(
        self,
        record: &Record<'_>,
        vector: Option<&[u8]>,
        column: &StoredColumn,
    ) -> std::result::Result<T, ValueFault> {
        match record.is_null(column.null_bit) {
            Some(true) => return Ok(T::null()),
            Some(false) => {}
            None => return of_older_row(column),
        }
        match column.place {
            // A sparse column has no bit among the nulls, so it comes here.
            ColumnPlace::Sparse => {
                let id = u16::try_from(column.id).map_err(|_| "its id is too large for a sparse column".to_owned())?;
                match vector.map(|vector| sparse_value(vector, id)).transpose()?.flatten() {
                    Some(bytes) => Ok(T::plain(&column.kind, bytes)?),
                    None => Ok(T::null()),
                }
            }
            ColumnPlace::Fixed(offset) => {
                let length = column.kind.fixed_bytes().ok_or("its type has no fixed length")?;
                let bytes = record
                    .fixed(usize::from(offset), length)
                    .ok_or_else(|| format!("its {length} bytes at {offset} are not in the row"))?;
                Ok(T::plain(&column.kind, bytes)?)
            }
            ColumnPlace::Bit { offset, bit } => {
                let byte = record
                    .fixed(usize::from(offset), 1)
                    .ok_or("its bit is not in the row")?[0];
                Ok(T::bit(byte >> (bit & 7) & 1 == 1))
            }
            ColumnPlace::Variable(number) => match record.variable(usize::from(number))? {
                Some(variable) => self.variable_value(&column.kind, variable),
                None => Ok(of_variable_part(&column.kind, &[])?),
            },
        }
    }

    fn variable_value<T: Taken>(self, kind: &ColumnType, variable: Variable<'_>) -> std::result::Result<T, ValueFault> {
        if !variable.is_complex {
            return Ok(of_variable_part(kind, variable.bytes)?);
        }
        // An empty pointer stands for a value that was never written.
        if variable.bytes.is_empty() {
            return Ok(T::null());
        }
        let bytes = lob::read_value(self.source, variable.bytes)?;
        Ok(T::plain(kind, &bytes)?)
    }

    fn compressed_row<T: Taken, R: FromIterator<T>>(self, page: &Page, slot: u16, bytes: &[u8]) -> Result<Option<R>> {
        let at_slot = |reason: String| Fault::of_slot(page.id(), slot, reason);
        let record = CompressedRecord::parse(bytes).map_err(at_slot)?;
        if record.kind == CompressedKind::Other {
            return Ok(None);
        }
        let around = match self.rowset.compression {
            Compression::Page => PageCompression::parse(&page.bytes()[HEADER_BYTES..]).map_err(at_slot)?,
            _ => PageCompression::default(),
        };
        let columns = self.rowset.columns.iter();
        let values: Result<R> = columns
            .map(|column| {
                self.compressed_value(&around, &record, column)
                    .map_err(|fault| fault.in_column(page.id(), slot, &column.name))
            })
            .collect();
        values.map(Some)
    }

    fn compressed_value<T: Taken>(
        self,
        around: &PageCompression<'_>,
        record: &CompressedRecord<'_>,
        column: &StoredColumn,
    ) -> std::result::Result<T, ValueFault> {
        let Some(number) = column.null_bit.checked_sub(1).map(usize::from) else {
            return Err("it has no number among the columns of a compressed row"
                .to_owned()
                .into());
        };
        let Some(stored) = record.columns.get(number) else {
            return of_older_row(column);
        };
        if let (Stored::True, SystemType::Bit) = (stored, column.kind.system) {
            return Ok(T::bit(true));
        }
        let Some(value) = around.value(number, *stored)? else {
            return Ok(T::null());
        };
        let variable = value.as_variable();
        match variable.is_complex {
            true => self.variable_value(&column.kind, variable),
            false => Ok(T::compressed(&column.kind, variable.bytes)?),
        }
    }
}

/// The value of `bytes` of the variable part of a row that is not compressed. Two types of fixed length can lie there (sql-docs):
///
/// - decimals of a table with `vardecimal storage format` (sp_tableoption, SQL Server 2005 SP2 to 2008), as compressed rows have them;
/// - `char` and `binary` that are nullable and were declared under ANSI_PADDING OFF, without the blanks or zeros at their end.
fn of_variable_part<T: Taken>(kind: &ColumnType, bytes: &[u8]) -> std::result::Result<T, String> {
    let system = match kind.system {
        SystemType::Decimal | SystemType::Numeric => return T::compressed(kind, bytes),
        SystemType::Char => SystemType::VarChar,
        SystemType::Binary => SystemType::VarBinary,
        other => other,
    };
    T::plain(&ColumnType { system, ..*kind }, bytes)
}

/// The value of a column that the row does not have, because the column was added later.
fn of_older_row<T: Taken>(column: &StoredColumn) -> std::result::Result<T, ValueFault> {
    let value = column.value_of_older_rows.as_ref();
    value.map(T::known).ok_or_else(|| {
        "the row is older than the column, and the catalog does not say in a way that is read what the column is in such rows".into()
    })
}

/// What is wrong with a value: in its row, or on the pages that its pointer leads to.
enum ValueFault {
    Here(String),
    Elsewhere(Fault),
}

impl From<String> for ValueFault {
    fn from(reason: String) -> ValueFault {
        ValueFault::Here(reason)
    }
}

impl From<&str> for ValueFault {
    fn from(reason: &str) -> ValueFault {
        ValueFault::Here(reason.to_owned())
    }
}

impl From<Fault> for ValueFault {
    fn from(fault: Fault) -> ValueFault {
        ValueFault::Elsewhere(fault)
    }
}

impl ValueFault {
    fn in_column(self, page: PageId, slot: u16, column: &str) -> Fault {
        match self {
            ValueFault::Here(reason) => Fault::of_slot(page, slot, format!("column {column}: {reason}")),
            ValueFault::Elsewhere(fault) => Fault::of_slot(page, slot, format!("column {column}: {fault}")),
        }
    }
}
