//! OPENROWSET(BULK ...): the rows of a file, or the whole of it as one value.
//!
//! The file is open as long as its rows are read. A row that a value of is wrong ends the query, as does a file that cannot be read on.

use engine::error::Result;
use engine::instance::RowsFile;
use engine::types::Value;

use crate::context::Context;
use crate::data_file::{Destination, FileRowset, Read, Reader, RowsetContent, ends_load, fault_error, whole_value};
use crate::plan::FunctionRows;

/// A value that is shown once.
struct OneValue(Option<Value>);

impl FunctionRows for OneValue {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        Ok(self.0.take().map(|value| vec![value]))
    }
}

struct Rows {
    reader: Reader<RowsFile>,
    destinations: Vec<Destination>,
}

impl FunctionRows for Rows {
    fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let mut row = Vec::with_capacity(self.destinations.len());
        match self.reader.next(&mut row)? {
            Read::Row => Ok(Some(row)),
            Read::End => Ok(None),
            Read::Fault(fault) => Err(ends_load(fault_error(&fault, &self.destinations))),
        }
    }
}

/// Opens a file in FROM.
///
/// # Errors
/// 4860, 4861 and 4862; those of `whole_value`.
pub(super) fn file_rows(rowset: &FileRowset, context: &Context<'_>) -> Result<Box<dyn FunctionRows>> {
    let file = context.session.instance.open_rows_file(&rowset.file)?;
    match &rowset.content {
        RowsetContent::Value(single, collation) => {
            Ok(Box::new(OneValue(Some(whole_value(&file, *single, *collation)?))))
        }
        RowsetContent::Rows(rows) => {
            let (layout, destinations) = (rows.layout.clone(), rows.destinations.clone());
            Ok(Box::new(Rows {
                reader: Reader::new(file, layout, destinations.clone(), rows.options.clone())?,
                destinations,
            }))
        }
    }
}
