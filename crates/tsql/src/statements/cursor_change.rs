//! UPDATE and DELETE of the row that a cursor is at: WHERE CURRENT OF.
//!
//! The statement is bound and planned as any other; its plan reads one row, by the locator that the cursor has. The row is locked for the
//! change (U, then X) before it is compared with what was fetched, so nobody changes it in between.
//!
//! ```text
//! in this order                                                        error
//! the cursor only reads                                                16929
//! a table of the cursor was redefined                                  16943
//! its query does not read the table, or FOR UPDATE OF names none of    16933    read more than once: the first is meant, 16961 tells
//! its columns
//! the table is read uncommitted                                        16941
//! nothing was fetched                                                  16931
//! the row fetched was gone, or is NULL of an outer join                16947
//! FOR UPDATE OF does not name a column that is set                     16932
//! the row is gone, or another one than was fetched                     16947, and 16934 behind it if it is compared
//! ```
//! The order is as the SqlServerSimulator project has probed it on SQL Server 2025 (its notes on "Cursors"). After the change the cursor is
//! at the row as it is: it may be changed again, and a keyset finds it under the key that it was given, if that is the key of a unique index. Where
//! the change is rolled back later, such a keyset finds the row no more.

use std::rc::Rc;
use std::sync::Arc;

use engine::error::{Error, Result};
use engine::store::ReadMode;
use engine::types::Value;

use super::executor::Executor;
use crate::ast::{CursorReference, UpdateAssignment};
use crate::messages;
use crate::modify::Changed;
use crate::plan::{BoundTable, Target};
use crate::scalar::row_place::{locator_of, locator_value};
use crate::state::{
    CurrentRow, Cursor, CursorConcurrency, CursorModel, CursorOperation, CursorReading, SharedCursor, TableRow,
};

/// The row that a statement changes through a cursor.
pub(super) struct CursorChange {
    cursor: SharedCursor,
    /// The number of its table among the cursor's.
    table: usize,
    target: Arc<BoundTable>,
    reading: Rc<CursorReading>,
    /// How often the cursor had moved when it was at the row.
    moves: u64,
}

impl Executor<'_> {
    /// The row that WHERE CURRENT OF means, if the statement has it; `set` are the assignments of an UPDATE.
    ///
    /// # Errors
    /// See the module.
    pub(super) fn cursor_of_change(
        &mut self,
        reference: Option<&CursorReference>,
        target: &Target,
        set: &[UpdateAssignment],
    ) -> Result<Option<CursorChange>> {
        let Some(reference) = reference else { return Ok(None) };
        let shared = self.find_cursor(reference)?;
        let cursor = shared.borrow();
        if cursor.declaration.concurrency == CursorConcurrency::ReadOnly {
            return Err(messages::cursor_is_read_only());
        }
        if !cursor.is_open() {
            return Err(messages::cursor_not_open(1));
        }
        let (table, target) = self.table_of_change(&cursor, target)?;
        let row = match &cursor.row {
            CurrentRow::Nothing => return Err(messages::no_row_in_fetch_buffer()),
            CurrentRow::Gone => return Err(messages::no_row_changed()),
            CurrentRow::Fetched(rows) => rows.get(table).cloned(),
        };
        let row = row.filter(|row| !row.locator.is_null());
        let row = row.ok_or_else(messages::no_row_changed)?;
        let listed = &cursor.declaration.update_columns;
        let is_listed = |assignment: &UpdateAssignment| {
            let column = assignment.column.as_ref().map(|name| name.object().to_lowercase());
            column.is_none_or(|column| listed.contains(&column))
        };
        if !listed.is_empty() && !set.iter().all(is_listed) {
            return Err(messages::column_not_for_update());
        }
        // Under SCROLL_LOCKS as well: the transaction that has locked the row may have ended since.
        let reading = Rc::new(CursorReading::of_change(row));
        let moves = cursor.moves;
        drop(cursor);
        Ok(Some(CursorChange {
            cursor: shared,
            table,
            target,
            reading,
            moves,
        }))
    }

    /// Which of the cursor's tables is the target of a change.
    ///
    /// # Errors
    /// 16933, 16941.
    fn table_of_change(&mut self, cursor: &Cursor, target: &Target) -> Result<(usize, Arc<BoundTable>)> {
        let plans = Self::plans_of(cursor).ok_or_else(messages::cursor_is_read_only)?;
        // The target is held by now. Under another definition the locators would lead to other rows.
        if !plans.has_same_tables(self.session.id) {
            return Err(messages::cursor_table_redefined());
        }
        let Target::Table(target) = target else {
            return Err(messages::table_not_in_cursor());
        };
        let id = |table: &BoundTable| (table.table.database().id, table.table.definition().object_id);
        let tables = plans.members.tables.iter().enumerate();
        let mut same = tables.filter(|(_, table)| id(&table.table) == id(target));
        let (place, table) = same.next().ok_or_else(messages::table_not_in_cursor)?;
        let listed = &cursor.declaration.update_columns;
        let mut columns = target.table.definition().columns.iter();
        if !listed.is_empty() && !columns.any(|column| listed.contains(&column.name.to_lowercase())) {
            return Err(messages::table_not_in_cursor());
        }
        if table.is_uncommitted {
            return Err(messages::cursor_reads_uncommitted());
        }
        if same.next().is_some() {
            let note = messages::first_instance_changed();
            self.inform(note.number, note.severity, self.statement.line, note.message)?;
        }
        Ok((place, target.clone()))
    }

    /// Changes rows, those of a cursor alone if the statement is about one.
    ///
    /// # Errors
    /// Those of the change; 16947 when the cursor's row is not there.
    pub(super) fn through_cursor(
        &mut self,
        change: Option<&CursorChange>,
        work: impl FnOnce(&Self) -> Result<Changed>,
    ) -> Result<Changed> {
        let Some(change) = change else { return work(self) };
        self.at_cursor = Some(change.reading.clone());
        let changed = work(self);
        self.at_cursor = None;
        let changed = changed?;
        match changed.count {
            0 => Err(messages::changed_outside_cursor()),
            _ => Ok(changed),
        }
    }

    /// Leaves the cursor of a change at the row as it is then.
    ///
    /// # Errors
    /// Those of reading the row.
    pub(super) fn note_change(&self, change: Option<&CursorChange>, operation: CursorOperation) -> Result<()> {
        let Some(change) = change else { return Ok(()) };
        let table = &change.target.table;
        let mut cursor = change.cursor.borrow_mut();
        // A trigger may have fetched another row, closed the cursor, or redefined the table.
        if cursor.moves != change.moves || !table.is_current(self.session.id) {
            return Ok(());
        }
        cursor.note(operation, 1);
        let former = change.reading.row(0).map_or(Value::Null, |row| row.locator);
        let values = change.reading.changed_to();
        let moved = match &values {
            Some(values) => table.locator_by_values(values)?.map(|locator| locator_value(&locator)),
            None => None,
        };
        let locator = moved.unwrap_or(former);
        let mut bytes = Vec::new();
        let locks = &self.session.locks;
        let is_there = operation != CursorOperation::Delete
            && table.fetch_named(locks, ReadMode::Uncommitted, &locator_of(&locator)?, &mut bytes)?;
        if !is_there {
            cursor.row = CurrentRow::Gone;
            return Ok(());
        }
        follow(&mut cursor, change.table, &locator, values.as_deref())?;
        let CurrentRow::Fetched(rows) = &mut cursor.row else {
            return Ok(());
        };
        if let Some(row) = rows.get_mut(change.table) {
            *row = TableRow { locator, bytes };
        }
        Ok(())
    }
}

/// Has a keyset find a row under the key that it was given.
fn follow(cursor: &mut Cursor, table: usize, locator: &Value, values: Option<&[Value]>) -> Result<()> {
    if cursor.declaration.model != CursorModel::Keyset {
        return Ok(());
    }
    let plans = Executor::plans_of(cursor).ok_or_else(|| Error::assertion("a cursor without plans"))?;
    let shown = plans.members.shown;
    let place = usize::try_from(cursor.position - 1).unwrap_or(usize::MAX);
    let member = cursor.rows.as_mut().and_then(|kept| kept.rows.get_mut(place));
    let (Some(member), Some(table)) = (member, plans.members.tables.get(table)) else {
        return Ok(());
    };
    if let Some(kept) = member.get_mut(table.locator - shown) {
        kept.clone_from(locator);
    }
    for (place, column) in table.key.clone().zip(&table.key_columns) {
        let value = values.and_then(|values| values.get(*column));
        if let (Some(kept), Some(value)) = (member.get_mut(place - shown), value) {
            kept.clone_from(value);
        }
    }
    Ok(())
}
