//! Names for what the log has as numbers: tables by allocation unit and rowset, columns, users by SID.
//!
//! The log has no names. They come from the catalog of a data file or a backup of the same database. A table or an index that was dropped or rebuilt
//! since has another rowset: its changes keep their numbers.

use super::record::PageChange;
use super::rows::{RowChange, RowImage};
use crate::bytes::u32_at;
use crate::catalog::stored::{Compression, RowSet};
use crate::catalog::{Catalog, Table, User, users};
use crate::fault::{Fault, Result};
use crate::page::{FileOfPages, PageBytes, PageId, PageSource};
use crate::row::RecordKind;
use crate::scan::values_of_record;
use crate::types::Value;
use std::collections::HashMap;

/// The catalog, as the log needs it.
pub struct Names {
    catalog: Catalog,
    users: Vec<User>,
    /// Table and rowset by allocation unit, and by rowset.
    by_unit: HashMap<u64, (usize, usize)>,
    by_rowset: HashMap<u64, (usize, usize)>,
}

/// A value of a row in the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Known(Value),
    /// Why the log does not have it.
    Missing(String),
}

impl Cell {
    /// The value, if the log has it.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Cell::Known(value) => Some(value),
            Cell::Missing(_) => None,
        }
    }
}

impl Names {
    /// Names from the database whose pages `source` has.
    ///
    /// # Errors
    /// Its catalog cannot be read.
    pub fn open(source: &dyn PageSource) -> Result<Names> {
        let catalog = Catalog::open(source)?;
        let mut by_unit = HashMap::new();
        let mut by_rowset = HashMap::new();
        for (number, table) in catalog.tables.iter().enumerate() {
            for (partition, rowset) in table.rowsets.iter().enumerate() {
                by_unit.insert(rowset.allocation_unit, (number, partition));
                by_rowset.insert(rowset.id, (number, partition));
            }
        }
        Ok(Names {
            users: users(source)?,
            catalog,
            by_unit,
            by_rowset,
        })
    }

    /// Where the names are from.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The table, and the partition of it, that a page of `unit` or a row of `rowset` belongs to.
    pub fn table(&self, unit: u64, rowset: u64) -> Option<(&Table, &RowSet)> {
        let place = self.by_rowset.get(&rowset).or_else(|| self.by_unit.get(&unit))?;
        let table = self.catalog.tables.get(place.0)?;
        Some((table, table.rowsets.get(place.1)?))
    }

    /// Whether `change` is of rows of the table whose id is `table`.
    pub fn is_of(&self, change: &PageChange<'_>, table: i64) -> bool {
        let found = self.table(change.unit, change.rowset);
        found.is_some_and(|(found, _)| found.id == table)
    }

    /// The user of the database whose login has this SID.
    pub fn user(&self, sid: &[u8]) -> Option<&str> {
        let found = self.users.iter().find(|user| !sid.is_empty() && user.sid == sid);
        found.map(|user| user.name.as_str())
    }

    /// The values of a row of `rowset`, in the order of its columns.
    pub fn cells(&self, rowset: &RowSet, image: &RowImage) -> Vec<Cell> {
        let all = |reason: &str| vec![Cell::Missing(reason.to_owned()); rowset.columns.len()];
        match image {
            RowImage::Absent => all("there was no row"),
            RowImage::Pieces(_) => all("the log that is left has only a part of the row"),
            RowImage::Whole(row) => match values_of_record(&NoPages, rowset, row) {
                Ok(values) => values
                    .into_iter()
                    .map(|value| match value {
                        Ok(value) => Cell::Known(value),
                        Err(fault) => Cell::Missing(fault.reason),
                    })
                    .collect(),
                Err(fault) => all(&fault.reason),
            },
        }
    }
}

/// Whether a change is one that a statement made to a row: no move of rows between pages, and no stub of a row that has moved.
pub fn is_of_statement(change: &RowChange, rowset: &RowSet, transaction_name: &str) -> bool {
    if transaction_name == PAGE_SPLIT {
        return false;
    }
    let image = change.before.whole().or(change.after.whole());
    let status = image.and_then(|row| row.first());
    rowset.compression != Compression::None
        || status.is_none_or(|status| {
            let kind = RecordKind::of_status(*status);
            kind.is_row() || matches!(kind, RecordKind::GhostData)
        })
}

/// The name of the system's own transaction that splits a page.
const PAGE_SPLIT: &str = "SplitPage";

/// A SID as Windows writes it, or in hex if it is that of a SQL Server login.
pub fn sid_text(sid: &[u8]) -> String {
    match sid {
        [] => String::new(),
        [1] => "sa".to_owned(),
        [1, count, a, b, c, d, e, f, rest @ ..] if rest.len() == 4 * usize::from(*count) => {
            let authority = [*a, *b, *c, *d, *e, *f]
                .iter()
                .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            let parts = (0..usize::from(*count)).filter_map(|part| u32_at(rest, 4 * part));
            parts.fold(format!("S-1-{authority}"), |text, part| format!("{text}-{part}"))
        }
        _ => Value::Bytes(sid.to_vec()).to_string(),
    }
}

/// Large values lie on pages of their own, which can hold something else by now.
struct NoPages;

impl PageSource for NoPages {
    fn read_page(&self, id: PageId, _bytes: &mut PageBytes) -> Result<()> {
        Err(Fault::of_page(
            id,
            "a large value: the log's row has only a pointer to it",
        ))
    }

    fn files(&self) -> &[FileOfPages] {
        &[]
    }
}
