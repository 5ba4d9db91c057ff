//! Cursors that clients open by handle: `sp_cursoropen` and related procedures (sql-docs, "sp_cursor"). Like named cursors they are static
//! and read-only: the rows are those at the time the cursor was opened.

use std::collections::HashMap;
use std::rc::Rc;

use engine::error::{Error, Result};

use super::cursor::opened_bytes;
use crate::grant::{KeptRows, Share, Tally};
use crate::sink::ResultColumn;

/// Cursors and prepared cursors of a session at most: each is asked for by one small message, and nobody has to close it.
const HANDLES_MAX: usize = 16_384;

/// The handle before the first, of the kind that SQL Server gives.
const HANDLE_BASE: i32 = 180_150_000;

/// Handles come round after so many; far more than there can be at once.
const HANDLE_MASK: i32 = 0x00FF_FFFF;

/// What a cursor or a prepared one takes beside its texts.
const CURSOR_BYTES: u64 = 256;

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

impl ApiCursor {
    /// What it takes and nobody else charges.
    fn bytes(&self) -> u64 {
        CURSOR_BYTES + opened_bytes(&self.columns, &self.rows)
    }
}

/// A statement that cursors are opened on.
#[derive(Clone, Debug)]
pub(crate) struct PreparedCursor {
    pub(crate) declarations: String,
    pub(crate) statement: String,
    pub(crate) scroll_option: i32,
    pub(crate) concurrency_option: i32,
}

impl PreparedCursor {
    fn bytes(&self) -> u64 {
        CURSOR_BYTES + (self.declarations.len() + self.statement.len()) as u64
    }
}

#[derive(Debug, Default)]
pub(crate) struct ApiCursors {
    last: i32,
    open: HashMap<i32, (ApiCursor, Share)>,
    prepared: HashMap<i32, (PreparedCursor, Share)>,
    tally: Rc<Tally>,
}

impl ApiCursors {
    /// A handle that nothing has.
    fn next_handle(&mut self) -> Result<i32> {
        if self.open.len() + self.prepared.len() >= HANDLES_MAX {
            return Err(Error::insufficient_memory());
        }
        loop {
            self.last = self.last.wrapping_add(2) & HANDLE_MASK;
            let handle = HANDLE_BASE + self.last + 1;
            if !self.open.contains_key(&handle) && !self.prepared.contains_key(&handle) {
                return Ok(handle);
            }
        }
    }

    /// Keeps an open cursor; answers its handle.
    ///
    /// # Errors
    /// 701 when there are too many, or no memory for it.
    pub(crate) fn keep(&mut self, cursor: ApiCursor) -> Result<i32> {
        let handle = self.next_handle()?;
        let share = self.tally.share(cursor.bytes())?;
        self.open.insert(handle, (cursor, share));
        Ok(handle)
    }

    /// Keeps a prepared statement; answers its handle.
    ///
    /// # Errors
    /// 701 when there are too many, or no memory for its texts.
    pub(crate) fn prepare(&mut self, prepared: PreparedCursor) -> Result<i32> {
        let handle = self.next_handle()?;
        let share = self.tally.share(prepared.bytes())?;
        self.prepared.insert(handle, (prepared, share));
        Ok(handle)
    }

    /// The cursor of a handle.
    pub(crate) fn find(&mut self, handle: i32) -> Option<&mut ApiCursor> {
        self.open.get_mut(&handle).map(|(cursor, _)| cursor)
    }

    /// The prepared statement of a handle.
    pub(crate) fn prepared(&self, handle: i32) -> Option<&PreparedCursor> {
        self.prepared.get(&handle).map(|(prepared, _)| prepared)
    }

    /// Closes a cursor; false when there is none.
    pub(crate) fn close(&mut self, handle: i32) -> bool {
        self.open.remove(&handle).is_some()
    }

    pub(crate) fn close_all(&mut self) {
        self.open.clear();
    }

    /// Releases a prepared statement; false if there is none.
    pub(crate) fn unprepare(&mut self, handle: i32) -> bool {
        self.prepared.remove(&handle).is_some()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.prepared.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use engine::memory::{Accountant, FREE_BYTES, enter};

    fn prepared(bytes: usize) -> PreparedCursor {
        PreparedCursor {
            declarations: String::new(),
            statement: "s".repeat(bytes),
            scroll_option: 8,
            concurrency_option: 1,
        }
    }

    fn cursor(name: &str) -> ApiCursor {
        ApiCursor {
            columns: vec![ResultColumn::new(name, engine::types::SqlType::Int)],
            rows: KeptRows::default(),
            scroll_option: 8,
            concurrency_option: 1,
            closes_itself: false,
            first: 0,
            fetched: 0,
        }
    }

    /// Handles come round, and one that is still open was handed out again: its cursor was gone, and two who held it shared another.
    #[test]
    fn handles_that_come_round_pass_over_those_that_are_open() {
        let mut cursors = ApiCursors::default();
        let first = cursors.keep(cursor("first")).unwrap();
        let second = cursors.prepare(prepared(1)).unwrap();
        cursors.last = HANDLE_MASK - 1;
        let third = cursors.keep(cursor("third")).unwrap();
        let fourth = cursors.keep(cursor("fourth")).unwrap();
        cursors.last = HANDLE_MASK - 1;
        let fifth = cursors.prepare(prepared(5)).unwrap();
        let mut handles = [first, second, third, fourth, fifth];
        handles.sort_unstable();
        assert!(handles.windows(2).all(|pair| pair[0] != pair[1]), "{handles:?}");
        assert_eq!(cursors.find(first).unwrap().columns[0].name, "first");
        assert_eq!(cursors.prepared(second).unwrap().statement.len(), 1);
    }

    /// Grants so many bytes.
    struct Purse {
        used: AtomicU64,
        limit: u64,
    }

    impl Accountant for Purse {
        fn take(&self, bytes: u64) -> bool {
            let fits = self.used.load(Ordering::Relaxed) + bytes <= self.limit;
            if fits {
                self.take_beyond(bytes);
            }
            fits
        }

        fn take_beyond(&self, bytes: u64) {
            self.used.fetch_add(bytes, Ordering::Relaxed);
        }

        fn give_back(&self, bytes: u64) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Nobody was asked for the texts of prepared cursors, and a session could keep 16,384 of them as long as it liked; nor for the
    /// columns of open ones, whose rows had 256 KB each for nothing besides.
    #[test]
    fn what_cursors_take_is_charged_and_given_back() {
        let purse = Arc::new(Purse {
            used: AtomicU64::new(0),
            limit: 4 << 20,
        });
        let used = || purse.used.load(Ordering::Relaxed);
        let _working = enter(purse.clone());
        let mut cursors = ApiCursors::default();
        let small = cursors.prepare(prepared(1)).unwrap();
        assert_eq!(used(), 0, "a few small ones are free");
        let big = cursors.prepare(prepared(3 << 20)).unwrap();
        assert_eq!(used(), 3 << 20);
        assert_eq!(cursors.prepare(prepared(3 << 20)).unwrap_err().number, 701);
        let name = "n".repeat(1 << 20);
        let open = cursors.keep(cursor(&name)).unwrap();
        assert_eq!(used(), 4 << 20);
        assert_eq!(cursors.keep(cursor(&name)).unwrap_err().number, 701);
        assert_eq!(used(), 4 << 20, "a refusal charges nothing");
        assert!(cursors.close(open) && cursors.unprepare(big));
        assert_eq!(used(), 0);
        assert!(cursors.unprepare(small));
        let open = cursors.keep(cursor(&"n".repeat(FREE_BYTES as usize))).unwrap();
        assert_eq!(used(), 1 << 20);
        assert!(cursors.find(open).is_some());
        drop(cursors);
        assert_eq!(used(), 0);
    }
}
