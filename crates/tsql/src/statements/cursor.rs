//! Cursors. All are static and read-only: the rows are those at the time the cursor was opened.

use engine::error::{Error, Result};
use engine::types::Value;

use super::executor::{Executor, closed};
use crate::ast::{CursorReference, DeclareCursor, FetchCursor, FetchDirection, Query};
use crate::context::Context;
use crate::grant::KeptRows;
use crate::messages;
use crate::sink::{DoneKind, ResultColumn};
use crate::state::{Cursor, declared_bytes, opened_bytes};

/// Cursors that are neither asked to scroll nor static fetch forward only (SQL Server docs, DECLARE CURSOR).
fn is_forward_only(options: &[String]) -> bool {
    let any = |words: &[&str]| options.iter().any(|option| words.contains(&option.as_str()));
    any(&["FORWARD_ONLY", "FAST_FORWARD", "INSENSITIVE"]) && !any(&["SCROLL"]) || !any(&["SCROLL", "STATIC"])
}

/// How errors call a direction; none for the one that every cursor knows.
fn word_of(direction: &FetchDirection) -> Option<&'static str> {
    match direction {
        FetchDirection::Next => None,
        FetchDirection::Prior => Some("prior"),
        FetchDirection::First => Some("first"),
        FetchDirection::Last => Some("last"),
        FetchDirection::Absolute(_) => Some("absolute"),
        FetchDirection::Relative(_) => Some("relative"),
    }
}

fn not_found(name: &str) -> Error {
    Error::new(
        16_916,
        16,
        1,
        format!("A cursor with the name '{name}' does not exist."),
    )
}

impl Executor<'_> {
    /// DECLARE CURSOR, or SET of a cursor variable; `span` is where the statement stands.
    pub(super) fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        is_variable: bool,
        span: (u32, u32),
    ) -> Result<()> {
        let is_local = is_variable || declare.options.iter().any(|option| option == "LOCAL");
        let name = declare.name.to_lowercase();
        let key = if is_local {
            self.session.local_cursor(&name)
        } else {
            name
        };
        if !is_variable && self.session.cursors.borrow().contains_key(&key) {
            let text = format!("A cursor with the name '{}' already exists.", declare.name);
            return Err(Error::new(16_915, 16, 1, text));
        }
        let share = self.session.cursor_tally.share(declared_bytes(&key, span))?;
        let cursor = Cursor {
            _declared: Some(share),
            query: Some(declare.query.clone()),
            forward_only: is_forward_only(&declare.options),
            ..Cursor::default()
        };
        self.session.cursors.borrow_mut().insert(key, cursor);
        self.session.set_row_count(1);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn close_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let key = self.cursor_key(reference);
        {
            let mut cursors = self.session.cursors.borrow_mut();
            let cursor = cursors.get_mut(&key);
            let cursor = cursor.ok_or_else(|| not_found(&reference.name))?;
            if !cursor.is_open() {
                return Err(Error::new(16_917, 16, 1, "Cursor is not open."));
            }
            cursor.close();
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn deallocate_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let key = self.cursor_key(reference);
        let removed = self.session.cursors.borrow_mut().remove(&key);
        removed.ok_or_else(|| not_found(&reference.name))?;
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    /// What a cursor is kept under: a local one stands before a global one of its name.
    fn cursor_key(&self, reference: &CursorReference) -> String {
        let name = reference.name.to_lowercase();
        let local = self.session.local_cursor(&name);
        if !reference.global && self.session.cursors.borrow().contains_key(&local) {
            return local;
        }
        name
    }

    pub(super) fn open_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let key = self.cursor_key(reference);
        let query = {
            let cursors = self.session.cursors.borrow();
            let cursor = cursors.get(&key).ok_or_else(|| not_found(&reference.name))?;
            if cursor.is_open() {
                return Err(Error::new(16_905, 16, 1, "The cursor is already open."));
            }
            cursor.query.clone()
        };
        let Some(query) = query else {
            return Err(not_found(&reference.name));
        };
        let (columns, rows) = self.rows_of(&query)?;
        let share = self.session.cursor_tally.share(opened_bytes(&columns, &rows))?;
        self.session.last_cursor.replace(key.clone());
        if let Some(cursor) = self.session.cursors.borrow_mut().get_mut(&key) {
            cursor.columns = columns;
            cursor.rows = Some(rows);
            cursor.position = 0;
            cursor._opened = Some(share);
        }
        self.done(None, DoneKind::Other)
    }

    /// The columns and all rows of a query, as a cursor keeps them.
    pub(super) fn rows_of(&mut self, query: &Query) -> Result<(Vec<ResultColumn>, KeptRows)> {
        let bound = self.bound(query, |binder, query| binder.statement_query(query))?.bound;
        if bound.into.is_some() {
            return Err(messages::incorrect_syntax_near_keyword("INTO"));
        }
        if bound.assignments.is_some() {
            return Err(messages::assignment_with_retrieval());
        }
        let rows = self.atomically(false, |executor| {
            let context = Context::new(executor.session, &executor.variables);
            let mut rows = KeptRows::default();
            crate::exec::run(&bound.plan, &context, &mut |row| {
                rows.push(row.to_vec(), &executor.session.instance.workspace)
            })?;
            Ok(rows)
        })?;
        Ok((bound.plan.columns, rows))
    }

    pub(super) fn fetch(&mut self, fetch: &FetchCursor) -> Result<()> {
        let key = self.cursor_key(&fetch.cursor);
        let amount = match &fetch.direction {
            FetchDirection::Absolute(number) | FetchDirection::Relative(number) => self
                .value_as(number, engine::types::SqlType::BigInt)?
                .as_i64()
                .unwrap_or(0),
            _ => 0,
        };
        let session = self.session;
        // Held while the row is sent, so that neither it nor the columns are copied: no sink comes back to the cursors.
        let mut cursors = session.cursors.borrow_mut();
        let cursor = cursors.get_mut(&key).ok_or_else(|| not_found(&fetch.cursor.name))?;
        let Some(KeptRows { rows, .. }) = &cursor.rows else {
            return Err(Error::new(16_917, 16, 1, "Cursor is not open."));
        };
        if let (true, Some(direction)) = (cursor.forward_only, word_of(&fetch.direction)) {
            return Err(messages::forward_only_cursor(direction));
        }
        let count = rows.len() as i64;
        let wanted = match fetch.direction {
            FetchDirection::Next => cursor.position + 1,
            FetchDirection::Prior => cursor.position - 1,
            FetchDirection::First => 1,
            FetchDirection::Last => count,
            FetchDirection::Absolute(_) if amount < 0 => count + 1 + amount,
            FetchDirection::Absolute(_) => amount,
            FetchDirection::Relative(_) => cursor.position.saturating_add(amount),
        };
        cursor.position = wanted.clamp(0, count + 1);
        let row = usize::try_from(wanted - 1).ok().and_then(|index| rows.get(index));
        let columns = &cursor.columns;
        session.set_fetch_status(if row.is_some() { 0 } else { -1 });
        if fetch.into.is_empty() {
            self.sink.columns(columns).map_err(closed)?;
            if let Some(row) = row {
                let cut = super::select::Cut::of(columns, session.options().text_size_bytes);
                super::select::send_row(self.sink, row, &cut)?;
            }
        } else if let Some(row) = row {
            self.fetch_into(fetch, columns, row)?;
        }
        let count = u64::from(row.is_some());
        session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Select)
    }

    fn fetch_into(&self, fetch: &FetchCursor, columns: &[ResultColumn], row: &[Value]) -> Result<()> {
        if fetch.into.len() != columns.len() {
            let text =
                "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.";
            return Err(Error::new(16_924, 16, 1, text));
        }
        for ((variable, column), value) in fetch.into.iter().zip(columns).zip(row) {
            let (slot, sql_type) = self
                .batch
                .scope
                .scalar(variable)
                .ok_or_else(|| messages::variable_not_declared(variable))?;
            let value = crate::scalar::convert::convert(value, column.sql_type, sql_type, None)?;
            self.context().set_variable(slot, value)?;
        }
        Ok(())
    }
}
