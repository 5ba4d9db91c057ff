//! The cursors of a session, and their names.
//!
//! ```text
//! name, lower case           a global cursor            until DEALLOCATE, or the end of the session
//! name \0 level              a local one                until the module or batch of that level ends
//! @variable \0 level         what a cursor variable     likewise
//!                            refers to
//! ```
//! A cursor is shared by the names and variables that refer to it, with its position; it goes with the last of them.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::rc::{Rc, Weak};

use super::SessionState;
use super::cursor_row::{CurrentRow, CursorPlace};
use crate::ast::Query;
use crate::grant::{KeptRows, Share};
use crate::sink::ResultColumn;

/// What a cursor takes beside its query and its rows.
const CURSOR_BYTES: u64 = 512;
/// What the tree of a query takes at most for each byte of its text, as measured for statements in `prepared::template`.
const TREE_BYTES_PER_TEXT_BYTE: u64 = 24;

/// `@@FETCH_STATUS` of a cursor before its first FETCH, as it is described.
const NEVER_FETCHED: i32 = -9;

/// How a cursor has its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorModel {
    /// As they were when it was opened.
    Static,
    /// Those of the moment when it was opened, as they are when they are fetched.
    Keyset,
    /// Those there are when they are fetched.
    Dynamic,
    /// As static ones; only the next one can be fetched, and their count is not told.
    FastForward,
}

impl CursorModel {
    /// The number by which procedures describe it (sql-docs, sp_describe_cursor).
    pub(crate) fn number(self) -> u8 {
        match self {
            CursorModel::Static => 1,
            CursorModel::Keyset => 2,
            CursorModel::Dynamic => 3,
            CursorModel::FastForward => 4,
        }
    }

    /// Whether its rows are copied when it is opened.
    pub(crate) fn is_copied(self) -> bool {
        matches!(self, CursorModel::Static | CursorModel::FastForward)
    }
}

/// What a cursor does against changes of its rows between FETCH and WHERE CURRENT OF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorConcurrency {
    /// Nothing can be changed through it.
    ReadOnly,
    /// It locks the row it is at, as long as the transaction goes on.
    ScrollLocks,
    /// It refuses to change a row that is another one than was fetched.
    Optimistic,
}

impl CursorConcurrency {
    /// The number by which procedures describe it (sql-docs, sp_describe_cursor).
    pub(crate) fn number(self) -> u8 {
        match self {
            CursorConcurrency::ReadOnly => 1,
            CursorConcurrency::ScrollLocks => 2,
            CursorConcurrency::Optimistic => 3,
        }
    }
}

/// The last that was done with a cursor, with the numbers by which procedures describe it (sql-docs, sp_describe_cursor).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CursorOperation {
    #[default]
    None = 0,
    Open = 1,
    Fetch = 2,
    Update = 4,
    Delete = 5,
    Close = 6,
}

/// What a declaration says of a cursor.
#[derive(Debug)]
pub(crate) struct CursorDeclaration {
    /// As it is written; of a variable's cursor the variable.
    pub(crate) name: String,
    pub(crate) is_local: bool,
    pub(crate) query: Rc<Query>,
    /// Only the next row can be fetched.
    pub(crate) forward_only: bool,
    pub(crate) model: CursorModel,
    pub(crate) concurrency: CursorConcurrency,
    /// FOR UPDATE OF, in lower case; empty without.
    pub(crate) update_columns: Vec<String>,
    /// The batch that declared it, with the values that its variables had: what its query is bound and evaluated by.
    pub(crate) declared_in: Rc<dyn Any>,
}

/// A cursor of a session.
#[derive(Debug)]
pub struct Cursor {
    pub(crate) declaration: CursorDeclaration,
    /// How rows are found again, as statements know it.
    pub(crate) plans: Option<Rc<dyn Any>>,
    pub(crate) columns: Vec<ResultColumn>,
    /// Of a static cursor its rows, of a keyset cursor what they are found by; none of a dynamic one.
    pub(crate) rows: Option<KeptRows>,
    /// 0 before the first row, 1 on it; of a dynamic cursor only whether that is before its rows (0), among them (1), or behind them (2).
    pub(crate) position: i64,
    /// Where among its rows a dynamic cursor is.
    pub(crate) place: Option<CursorPlace>,
    /// The row that WHERE CURRENT OF means.
    pub(crate) row: CurrentRow,
    /// How often it was fetched from and closed.
    pub(crate) moves: u64,
    /// What the last FETCH came to.
    pub(crate) fetch_status: i32,
    pub(crate) last_operation: CursorOperation,
    /// Rows of the last operation.
    pub(crate) last_count: i64,
    /// The memory of the query.
    _declared: Share,
    /// Of the columns and rows, as far as nobody else charges it.
    pub(crate) opened: Option<Share>,
}

/// A cursor as names and variables share it.
pub(crate) type SharedCursor = Rc<RefCell<Cursor>>;

impl Cursor {
    /// A cursor that is declared.
    pub(crate) fn new(declaration: CursorDeclaration, share: Share) -> Cursor {
        Cursor {
            declaration,
            plans: None,
            columns: Vec::new(),
            rows: None,
            position: 0,
            place: None,
            row: CurrentRow::Nothing,
            moves: 0,
            fetch_status: NEVER_FETCHED,
            last_operation: CursorOperation::None,
            last_count: 0,
            _declared: share,
            opened: None,
        }
    }

    /// Whether it has been opened.
    pub fn is_open(&self) -> bool {
        self.rows.is_some()
    }

    /// `@@CURSOR_ROWS`: how many rows it has, -1 if that is not known, 0 while it is not open.
    pub(crate) fn row_count(&self) -> i64 {
        match (&self.rows, self.declaration.model) {
            (None, _) => 0,
            (Some(_), CursorModel::Dynamic | CursorModel::FastForward) => -1,
            (Some(kept), CursorModel::Static | CursorModel::Keyset) => kept.rows.len() as i64,
        }
    }

    /// `CURSOR_STATUS`: 1 open, 0 open without rows, -1 closed. Whether a dynamic cursor has rows is not known.
    pub(crate) fn status(&self) -> i16 {
        match (self.is_open(), self.row_count()) {
            (false, _) => -1,
            (true, 0) => 0,
            (true, _) => 1,
        }
    }

    /// Releases its rows.
    pub(crate) fn close(&mut self) {
        self.rows = None;
        self.opened = None;
        self.place = None;
        self.row = CurrentRow::Nothing;
        self.position = 0;
        self.moves += 1;
    }

    /// Notes what was done last.
    pub(crate) fn note(&mut self, operation: CursorOperation, count: i64) {
        self.last_operation = operation;
        self.last_count = count;
    }
}

/// About what a cursor takes that is declared by a statement of so many bytes.
pub(crate) fn declared_bytes(name: &str, (start, end): (u32, u32)) -> u64 {
    CURSOR_BYTES + name.len() as u64 + u64::from(end.saturating_sub(start)) * TREE_BYTES_PER_TEXT_BYTE
}

/// What the columns and rows of an open cursor take that is not charged by the rows themselves.
pub(crate) fn opened_bytes(columns: &[ResultColumn], rows: &KeptRows) -> u64 {
    let column = |column: &ResultColumn| (size_of::<ResultColumn>() + column.name.len()) as u64;
    columns.iter().map(column).sum::<u64>() + rows.free_bytes()
}

impl SessionState {
    /// `@@CURSOR_ROWS`: rows of the cursor opened last, 0 when it is closed.
    pub(crate) fn last_cursor_rows(&self) -> i32 {
        let last = self.last_cursor.borrow().upgrade();
        let count = last.map_or(0, |cursor| cursor.try_borrow().map_or(0, |cursor| cursor.row_count()));
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    /// Notes the cursor that was opened last.
    pub(crate) fn note_opened(&self, cursor: &SharedCursor) {
        self.last_cursor.replace(Rc::downgrade(cursor));
    }

    /// Has `@@CURSOR_ROWS` answer 0.
    pub(crate) fn forget_opened(&self) {
        self.last_cursor.replace(Weak::new());
    }

    /// CURSOR_CLOSE_ON_COMMIT: the end of a transaction closes every cursor.
    pub(crate) fn close_cursors_at_end(&self) {
        if self.options().cursor_close_on_commit {
            let cursors = self.cursors.borrow();
            // One that is in use fetches for the transaction of its own statement.
            let free = cursors.values().filter_map(|cursor| cursor.try_borrow_mut().ok());
            free.for_each(|mut cursor| cursor.close());
            self.api_cursors.borrow_mut().close_all();
        }
    }

    /// What a cursor of the module or batch that runs is kept under: no name has a zero in it.
    pub(crate) fn local_cursor(&self, name: &str) -> String {
        format!("{name}\0{}", self.nest_level.get())
    }

    /// Drops the cursors of the module or batch that ends.
    pub(crate) fn drop_local_cursors(&self) {
        let mut cursors = self.cursors.borrow_mut();
        if !cursors.is_empty() {
            let suffix = self.local_cursor("");
            cursors.retain(|name, _| !name.ends_with(&suffix));
        }
    }

    /// The cursor of a key.
    pub(crate) fn cursor(&self, key: &str) -> Option<SharedCursor> {
        self.cursors.borrow().get(key).cloned()
    }

    /// All cursors with the keys they are kept under, as they can be seen from where the session is: those of outer levels cannot.
    pub(crate) fn visible_cursors(&self) -> Vec<(String, SharedCursor)> {
        let suffix = self.local_cursor("");
        let cursors: Ref<'_, _> = self.cursors.borrow();
        let is_visible = |key: &str| !key.contains('\0') || key.ends_with(&suffix);
        let visible = cursors.iter().filter(|(key, _)| is_visible(key));
        let mut visible: Vec<_> = visible.map(|(key, cursor)| (key.clone(), cursor.clone())).collect();
        visible.sort_by(|left, right| left.0.cmp(&right.0));
        visible
    }

    /// `CURSOR_STATUS` of a name; -3 where there is no such cursor, -2 for a variable without one.
    pub fn cursor_status(&self, scope: &str, name: &str) -> i16 {
        let name = name.to_lowercase();
        let is_variable = scope.eq_ignore_ascii_case("variable");
        let key = match scope.eq_ignore_ascii_case("global") {
            true => name,
            false => self.local_cursor(&name),
        };
        match self.cursor(&key) {
            Some(cursor) => cursor.try_borrow().map_or(1, |cursor| cursor.status()),
            None if is_variable => -2,
            None => -3,
        }
    }
}
