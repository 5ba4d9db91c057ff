//! The cursors of a session: what they are, and under which names they are kept.

use super::SessionState;
use crate::ast::Query;
use crate::grant::KeptRows;
use crate::sink::ResultColumn;

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

    /// Lets go of its rows.
    pub(crate) fn close(&mut self) {
        self.rows = None;
    }
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
