//! The cursors of a session, and their names.

use super::SessionState;
use crate::ast::Query;
use crate::grant::{KeptRows, Share};
use crate::sink::ResultColumn;

/// What a cursor takes beside its query and its rows.
const CURSOR_BYTES: u64 = 256;
/// What the tree of a query takes at most for each byte of its text, as measured for statements in `prepared::template`.
const TREE_BYTES_PER_TEXT_BYTE: u64 = 24;

/// A cursor of a session.
#[derive(Debug, Default)]
pub struct Cursor {
    pub(crate) query: Option<Query>,
    pub(crate) columns: Vec<ResultColumn>,
    pub(crate) rows: Option<KeptRows>,
    /// Only the next row can be fetched.
    pub(crate) forward_only: bool,
    /// 0 before the first row, 1 on it.
    pub(crate) position: i64,
    /// The memory of the query.
    pub(crate) _declared: Option<Share>,
    /// Of the columns and rows, as far as nobody else charges it.
    pub(crate) _opened: Option<Share>,
}

impl Cursor {
    /// Whether it has been opened.
    pub fn is_open(&self) -> bool {
        self.rows.is_some()
    }

    /// How many rows it has; none while it is not open.
    fn row_count(&self) -> usize {
        self.rows.as_ref().map_or(0, |kept| kept.rows.len())
    }

    /// Releases its rows.
    pub(crate) fn close(&mut self) {
        self.rows = None;
        self._opened = None;
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
        let cursors = self.cursors.borrow();
        let count = cursors.get(&*self.last_cursor.borrow()).map_or(0, Cursor::row_count);
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    /// CURSOR_CLOSE_ON_COMMIT: the end of a transaction closes every cursor.
    pub(crate) fn close_cursors_at_end(&self) {
        if self.options().cursor_close_on_commit {
            self.cursors.borrow_mut().values_mut().for_each(Cursor::close);
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

    /// `CURSOR_STATUS`: 1 open, -1 closed, -3 no such cursor.
    pub fn cursor_status(&self, scope: &str, name: &str) -> i16 {
        let name = name.to_lowercase();
        let key = if scope.eq_ignore_ascii_case("global") {
            name
        } else {
            self.local_cursor(&name)
        };
        match self.cursors.borrow().get(&key) {
            Some(cursor) if cursor.is_open() => 1,
            Some(_) => -1,
            None => -3,
        }
    }
}
