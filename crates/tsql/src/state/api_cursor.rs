//! Cursors that clients open by handle: `sp_cursoropen` and its kin (sql-docs, "sp_cursor"). As cursors by name they are static and
//! read-only: the rows are those there were when the cursor was opened.

use std::collections::HashMap;

use engine::error::{Error, Result};

use crate::grant::KeptRows;
use crate::sink::ResultColumn;

/// Cursors and prepared cursors of a session at most: each is asked for by one small message, and nobody has to close it.
const HANDLES_MAX: usize = 16_384;

/// The handle before the first, of the kind that SQL Server gives.
const HANDLE_BASE: i32 = 180_150_000;

/// An open cursor.
#[derive(Debug)]
pub(crate) struct ApiCursor {
    pub(crate) columns: Vec<ResultColumn>,
    pub(crate) rows: KeptRows,
    /// `scrollopt` and `ccopt` as they were granted.
    pub(crate) scroll_option: i32,
    pub(crate) concurrency_option: i32,
    /// The cursor is closed when its last row has been fetched.
    pub(crate) closes_itself: bool,
    /// The first row of the fetch buffer, from 1; 0 before the first row, one more than there are behind the last.
    pub(crate) first: i64,
    /// Rows in the fetch buffer.
    pub(crate) fetched: i64,
}

/// A statement that cursors are opened on.
#[derive(Clone, Debug)]
pub(crate) struct PreparedCursor {
    pub(crate) declarations: String,
    pub(crate) statement: String,
    pub(crate) scroll_option: i32,
    pub(crate) concurrency_option: i32,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ApiCursors {
    last: i32,
    open: HashMap<i32, ApiCursor>,
    prepared: HashMap<i32, PreparedCursor>,
}

impl ApiCursors {
    fn next_handle(&mut self) -> Result<i32> {
        if self.open.len() + self.prepared.len() >= HANDLES_MAX {
            return Err(Error::insufficient_memory());
        }
        self.last = self.last.wrapping_add(2) & 0x00FF_FFFF;
        Ok(HANDLE_BASE + self.last + 1)
    }

    /// Keeps an open cursor; answers its handle.
    ///
    /// # Errors
    /// 701 when there are too many.
    pub(crate) fn keep(&mut self, cursor: ApiCursor) -> Result<i32> {
        let handle = self.next_handle()?;
        self.open.insert(handle, cursor);
        Ok(handle)
    }

    /// Keeps a prepared statement; answers its handle.
    ///
    /// # Errors
    /// 701 when there are too many.
    pub(crate) fn prepare(&mut self, prepared: PreparedCursor) -> Result<i32> {
        let handle = self.next_handle()?;
        self.prepared.insert(handle, prepared);
        Ok(handle)
    }

    /// The cursor of a handle.
    pub(crate) fn find(&mut self, handle: i32) -> Option<&mut ApiCursor> {
        self.open.get_mut(&handle)
    }

    /// The prepared statement of a handle.
    pub(crate) fn prepared(&self, handle: i32) -> Option<&PreparedCursor> {
        self.prepared.get(&handle)
    }

    /// Closes a cursor; false when there is none.
    pub(crate) fn close(&mut self, handle: i32) -> bool {
        self.open.remove(&handle).is_some()
    }

    /// Closes all cursors.
    pub(crate) fn close_all(&mut self) {
        self.open.clear();
    }

    /// Lets go of a prepared statement; false when there is none.
    pub(crate) fn unprepare(&mut self, handle: i32) -> bool {
        self.prepared.remove(&handle).is_some()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.prepared.clear();
    }
}
