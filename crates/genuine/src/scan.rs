//! All rows of a rowset: one partition of a heap, or of the leaves of a clustered index.
//!
//! A clustered index is read along its chain of leaves, so rows come in the order of its key. A heap is read by its IAM pages: the single
//! pages in mixed extents, then the extents, in each of which the PFS says which pages are allocated.
//!
//! A page that does not fit is a fault among the rows. A heap goes on behind it; a chain ends there, for the next page was named on it.

use crate::catalog::stored::{ColumnPlace, Compression, RowSet, StoredColumn};
use crate::fault::{Fault, Result};
use crate::page::maps::{Iam, Pfs};
use crate::page::{EXTENT_PAGES, HEADER_BYTES, Page, PageId, PageKind, PageSource};
use crate::row::compressed::{CompressedKind, CompressedRecord, PageCompression, Stored};
use crate::row::{Record, RecordKind, Variable, lob, sparse_value};
use crate::types::{ColumnType, SystemType, Value, decode, expand};
use std::ops::ControlFlow;

/// What is done with each row: its values, in the order of the rowset's columns, or what is wrong with it.
pub type Visit<'v> = dyn FnMut(Result<Vec<Value>>) -> ControlFlow<()> + 'v;

/// Visits every row of `rowset`.
pub fn for_each_row(source: &dyn PageSource, rowset: &RowSet, visit: &mut Visit<'_>) {
    let scan = Scan { source, rowset };
    // Either all was visited, or the visitor has seen enough.
    let _ = match rowset.is_heap {
        true => scan.heap(visit),
        false => scan.chain(visit),
    };
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

type Visited = ControlFlow<()>;

#[derive(Clone, Copy)]
struct Scan<'s> {
    source: &'s dyn PageSource,
    rowset: &'s RowSet,
}

impl Scan<'_> {
    fn chain(self, visit: &mut Visit<'_>) -> Visited {
        self.chain_pages(&mut |page| self.page(page, visit))
    }

    fn heap(self, visit: &mut Visit<'_>) -> Visited {
        self.heap_pages(&mut |page| self.page(page, visit))
    }

    fn page(self, page: Result<Page>, visit: &mut Visit<'_>) -> Visited {
        match page {
            Ok(page) => self.rows_of(&page, visit),
            Err(fault) => visit(Err(fault)),
        }
    }

    fn chain_pages(self, visit: &mut dyn FnMut(Result<Page>) -> Visited) -> Visited {
        let mut next = self.rowset.first_page;
        for _ in 0..self.source.page_count() {
            let Some(id) = next else {
                return ControlFlow::Continue(());
            };
            match self.data_page(id) {
                Ok(page) => {
                    next = page.next();
                    visit(Ok(page))?;
                }
                Err(fault) => return visit(Err(fault)),
            }
        }
        match next {
            None => ControlFlow::Continue(()),
            Some(id) => visit(Err(Fault::of_page(
                id,
                "the chain of pages that leads here runs in a circle",
            ))),
        }
    }

    fn heap_pages(self, visit: &mut dyn FnMut(Result<Page>) -> Visited) -> Visited {
        let mut next = self.rowset.first_iam;
        for _ in 0..self.source.page_count() {
            let Some(id) = next else {
                return ControlFlow::Continue(());
            };
            let iam = match self.iam(id) {
                Ok(iam) => iam,
                Err(fault) => return visit(Err(fault)),
            };
            for page in iam.single_pages() {
                self.heap_page(page, visit)?;
            }
            for extent in iam.extents() {
                for page in 0..EXTENT_PAGES {
                    self.heap_page(PageId::new(extent.file, extent.page + page), visit)?;
                }
            }
            next = iam.next();
        }
        match next {
            None => ControlFlow::Continue(()),
            Some(id) => visit(Err(Fault::of_page(
                id,
                "the chain of IAM pages that leads here runs in a circle",
            ))),
        }
    }

    fn iam(self, id: PageId) -> Result<Iam> {
        let iam = Iam::read(self.source, id)?;
        match iam.belongs_to(self.rowset.allocation_unit) {
            true => Ok(iam),
            false => Err(Fault::of_page(id, "this IAM page belongs to another table")),
        }
    }

    /// A page that belongs to the heap, if the PFS says that it is allocated.
    fn heap_page(self, id: PageId, visit: &mut dyn FnMut(Result<Page>) -> Visited) -> Visited {
        let is_in_file = self
            .source
            .files()
            .iter()
            .any(|file| file.id == id.file && id.page < file.pages);
        if !is_in_file {
            return visit(Err(Fault::of_page(
                id,
                "an IAM page leads here, and there is no such page",
            )));
        }
        match Pfs::covering(self.source, id) {
            Ok(pfs) if !pfs.byte(id).is_allocated() => ControlFlow::Continue(()),
            Ok(_) => visit(self.data_page(id)),
            Err(fault) => visit(Err(fault)),
        }
    }

    fn data_page(self, id: PageId) -> Result<Page> {
        let page = Page::read(self.source, id)?;
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
        if !page.belongs_to(self.rowset.allocation_unit) {
            return Err(Fault::of_page(
                id,
                "rows are looked for here, and it belongs to another table",
            ));
        }
        Ok(page)
    }

    fn rows_of(self, page: &Page, visit: &mut Visit<'_>) -> Visited {
        if self.rowset.compression != Compression::None {
            return self.compressed_rows_of(page, visit);
        }
        for slot in 0..page.slot_count() {
            let bytes = match page.record(slot) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(fault) => {
                    visit(Err(fault))?;
                    continue;
                }
            };
            if bytes
                .first()
                .is_some_and(|status| RecordKind::of_status(*status).is_row())
            {
                visit(self.plain_row(page.id(), slot, bytes))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn plain_row(self, page: PageId, slot: u16, bytes: &[u8]) -> Result<Vec<Value>> {
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

    fn plain_value(
        self,
        record: &Record<'_>,
        vector: Option<&[u8]>,
        column: &StoredColumn,
    ) -> std::result::Result<Value, ValueFault> {
        match record.is_null(column.null_bit) {
            Some(true) => return Ok(Value::Null),
            Some(false) => {}
            None => return Ok(column.value_of_older_rows.clone()),
        }
        match column.place {
            // A sparse column has no bit among the nulls, so it comes here.
            ColumnPlace::Sparse => {
                let id = u16::try_from(column.id).map_err(|_| "its id is too large for a sparse column".to_owned())?;
                match vector.map(|vector| sparse_value(vector, id)).transpose()?.flatten() {
                    Some(bytes) => Ok(decode(&column.kind, bytes)?),
                    None => Ok(Value::Null),
                }
            }
            ColumnPlace::Fixed(offset) => {
                let length = column.kind.fixed_bytes().ok_or("its type has no fixed length")?;
                let bytes = record
                    .fixed(usize::from(offset), length)
                    .ok_or_else(|| format!("its {length} bytes at {offset} are not in the row"))?;
                Ok(decode(&column.kind, bytes)?)
            }
            ColumnPlace::Bit { offset, bit } => {
                let byte = record
                    .fixed(usize::from(offset), 1)
                    .ok_or("its bit is not in the row")?[0];
                Ok(Value::Bit(byte >> (bit & 7) & 1 == 1))
            }
            ColumnPlace::Variable(number) => match record.variable(usize::from(number))? {
                Some(variable) => self.variable_value(&column.kind, variable),
                None => Ok(decode(&column.kind, &[])?),
            },
        }
    }

    fn variable_value(self, kind: &ColumnType, variable: Variable<'_>) -> std::result::Result<Value, ValueFault> {
        if !variable.is_complex {
            return Ok(decode(kind, variable.bytes)?);
        }
        // An empty pointer stands for a value that was never written.
        if variable.bytes.is_empty() {
            return Ok(Value::Null);
        }
        let bytes = lob::read_value(self.source, variable.bytes)?;
        Ok(decode(kind, &bytes)?)
    }

    fn compressed_rows_of(self, page: &Page, visit: &mut Visit<'_>) -> Visited {
        let around = match PageCompression::parse(&page.bytes()[HEADER_BYTES..]) {
            Ok(around) if self.rowset.compression == Compression::Page => around,
            Ok(_) => PageCompression::default(),
            Err(reason) => return visit(Err(Fault::of_page(page.id(), reason))),
        };
        for slot in 0..page.slot_count() {
            let at_slot = |reason: String| Fault::of_slot(page.id(), slot, reason);
            let record = page.record(slot).and_then(|bytes| {
                bytes
                    .map(|bytes| CompressedRecord::parse(bytes).map_err(at_slot))
                    .transpose()
            });
            match record {
                Ok(None) => {}
                Ok(Some(record)) if record.kind == CompressedKind::Other => {}
                Ok(Some(record)) => visit(self.compressed_row(page.id(), slot, &around, &record))?,
                Err(fault) => visit(Err(fault))?,
            }
        }
        ControlFlow::Continue(())
    }

    fn compressed_row(
        self,
        page: PageId,
        slot: u16,
        around: &PageCompression<'_>,
        record: &CompressedRecord<'_>,
    ) -> Result<Vec<Value>> {
        let columns = self.rowset.columns.iter();
        columns
            .map(|column| {
                self.compressed_value(around, record, column)
                    .map_err(|fault| fault.in_column(page, slot, &column.name))
            })
            .collect()
    }

    fn compressed_value(
        self,
        around: &PageCompression<'_>,
        record: &CompressedRecord<'_>,
        column: &StoredColumn,
    ) -> std::result::Result<Value, ValueFault> {
        let Some(number) = column.null_bit.checked_sub(1).map(usize::from) else {
            return Err("it has no number among the columns of a compressed row"
                .to_owned()
                .into());
        };
        let Some(stored) = record.columns.get(number) else {
            return Ok(column.value_of_older_rows.clone());
        };
        if let (Stored::True, SystemType::Bit) = (stored, column.kind.system) {
            return Ok(Value::Bit(true));
        }
        let Some(value) = around.value(number, *stored)? else {
            return Ok(Value::Null);
        };
        let variable = value.as_variable();
        match variable.is_complex {
            true => self.variable_value(&column.kind, variable),
            false => Ok(expand(&column.kind, variable.bytes)?),
        }
    }
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
