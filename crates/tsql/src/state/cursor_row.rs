//! Where a cursor is, as its statements tell the operators that read for it, and these tell back.
//!
//! ```text
//! keyset     locators of the rows of all tables  --->  scans of one row each   --->  the rows' bytes, or that one is missing
//! dynamic    the place among the rows            --->  a walk of the one table --->  the next place, locator and bytes
//! UPDATE     locator and bytes of the row        --->  a scan of one row       --->  16947 if it is another one
//! ```

use std::cell::{Cell, RefCell};

use engine::store::Rid;
use engine::types::Value;

/// The row of one table that a cursor is at.
#[derive(Clone, Debug)]
pub(crate) struct TableRow {
    /// As in the wide row; NULL where an outer join has found none.
    pub(crate) locator: Value,
    /// As it is stored, once it has been read.
    pub(crate) bytes: Vec<u8>,
}

/// The row that WHERE CURRENT OF means.
#[derive(Debug, Default)]
pub(crate) enum CurrentRow {
    /// None: nothing was fetched, or nothing was there.
    #[default]
    Nothing,
    /// One that is gone.
    Gone,
    /// Of each table its row.
    Fetched(Vec<TableRow>),
}

/// A place among the rows of a table, in the order in which a dynamic cursor reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CursorPlace {
    /// The key of an index.
    Key(Vec<u8>),
    /// A row of a heap, with the place of its extent then.
    Row { rid: Rid, extent: usize },
}

/// The way of a dynamic cursor through its table.
#[derive(Debug)]
pub(crate) struct CursorWay {
    /// The place it goes on behind; none at the beginning.
    pub(crate) from: Option<CursorPlace>,
    pub(crate) is_backward: bool,
    /// The place of the row that was read last.
    pub(crate) found: RefCell<Option<CursorPlace>>,
}

/// What a statement of a cursor reads, and what it has read.
#[derive(Debug)]
pub(crate) struct CursorReading {
    /// By the numbers of the tables.
    rows: RefCell<Vec<TableRow>>,
    is_missing: Cell<bool>,
    /// The rows have to be as these bytes say.
    pub(crate) is_compared: bool,
    /// The values that a row was given.
    changed: RefCell<Option<Vec<Value>>>,
    pub(crate) walk: Option<CursorWay>,
}

impl CursorReading {
    /// Rows by their locators.
    pub(crate) fn of_rows(locators: impl Iterator<Item = Value>) -> CursorReading {
        let row = |locator| TableRow {
            locator,
            bytes: Vec::new(),
        };
        CursorReading {
            rows: RefCell::new(locators.map(row).collect()),
            is_missing: Cell::new(false),
            is_compared: false,
            changed: RefCell::default(),
            walk: None,
        }
    }

    /// The row that is to be changed, which has to be as it was fetched.
    pub(crate) fn of_change(row: TableRow) -> CursorReading {
        CursorReading {
            rows: RefCell::new(vec![row]),
            is_missing: Cell::new(false),
            is_compared: true,
            changed: RefCell::default(),
            walk: None,
        }
    }

    /// The rows behind a place, or before it.
    pub(crate) fn of_walk(from: Option<CursorPlace>, is_backward: bool) -> CursorReading {
        CursorReading {
            rows: RefCell::default(),
            is_missing: Cell::new(false),
            is_compared: false,
            changed: RefCell::default(),
            walk: Some(CursorWay {
                from,
                is_backward,
                found: RefCell::default(),
            }),
        }
    }

    /// The row of a table that is to be read.
    pub(crate) fn row(&self, table: usize) -> Option<TableRow> {
        self.rows.borrow().get(table).cloned()
    }

    /// Takes the bytes of a table's row that was read.
    pub(crate) fn found(&self, table: usize, bytes: &[u8]) {
        if let Some(row) = self.rows.borrow_mut().get_mut(table) {
            row.bytes = bytes.to_vec();
        }
    }

    /// A row is not there.
    pub(crate) fn missing(&self) {
        self.is_missing.set(true);
    }

    /// Whether one was not there.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_missing.get()
    }

    /// Takes the row that a walk has come to.
    pub(crate) fn arrived(&self, place: CursorPlace, row: TableRow) {
        if let Some(walk) = &self.walk {
            walk.found.replace(Some(place));
            self.rows.replace(vec![row]);
        }
    }

    /// Notes the values that the row is given.
    pub(crate) fn change_to(&self, values: &[Value]) {
        self.changed.replace(Some(values.to_vec()));
    }

    /// The values that the row was given, if all of them are known.
    pub(crate) fn changed_to(&self) -> Option<Vec<Value>> {
        self.changed.take()
    }

    /// Where a walk has come to.
    pub(crate) fn place(&self) -> Option<CursorPlace> {
        self.walk.as_ref()?.found.borrow().clone()
    }

    /// The rows that were read.
    pub(crate) fn take_rows(&self) -> Vec<TableRow> {
        self.rows.take()
    }
}
