//! One row of a paste, from named cells.

use super::columns::Column;
use super::{PastedError, error, numbers};

/// One VLF as the text gives it, before it is checked against the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    /// Name or id of the database; empty where the text names none.
    pub(super) database: String,
    pub(super) file_id: u64,
    pub(super) offset: u64,
    /// Exact size.
    pub(super) bytes: Option<u64>,
    /// Size in MB to two decimals.
    pub(super) megabytes: Option<f64>,
    /// Anything that tells growths apart.
    pub(super) growth: String,
    /// `FSeqNo`; 0 where the text has none.
    pub(super) sequence: u32,
    /// `None` where the text has none.
    pub(super) status: Option<u8>,
}

/// The row that cells under known columns make.
pub(super) fn row_of<'c>(cells: impl Iterator<Item = (Column, &'c str)>, line: usize) -> Result<Row, PastedError> {
    let mut row = Row::default();
    let mut offset = None;
    let mut has_name = false;
    for (column, cell) in cells {
        let whole = || numbers::whole(cell).ok_or_else(|| not_a_number(line, cell));
        match column {
            Column::FileId => row.file_id = whole()?,
            Column::Offset => offset = Some(whole()?),
            Column::Bytes => row.bytes = Some(whole()?),
            Column::Megabytes => {
                row.megabytes = Some(numbers::decimal(cell).ok_or_else(|| not_a_number(line, cell))?);
            }
            Column::DatabaseName => {
                has_name = true;
                row.database = cell.to_owned();
            }
            Column::DatabaseId if !has_name => row.database = cell.to_owned(),
            Column::CreateLsn | Column::GrowthStep => row.growth = cell.to_owned(),
            // A layout needs neither: anything but a number there counts as unknown.
            Column::Sequence => row.sequence = numbers::whole(cell).and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            Column::Status => row.status = numbers::whole(cell).and_then(|n| u8::try_from(n).ok()),
            Column::DatabaseId | Column::Other => {}
        }
    }
    match offset {
        Some(offset) => Ok(Row { offset, ..row }),
        None => error(
            line,
            "there is no offset: expected is the column StartOffset (DBCC LOGINFO) or vlf_begin_offset (sys.dm_db_log_info)",
        ),
    }
}

fn not_a_number(line: usize, cell: &str) -> PastedError {
    PastedError {
        line,
        reason: format!("'{cell}' is not a number"),
    }
}
