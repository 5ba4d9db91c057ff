//! Cursors by name and by variable: DECLARE, SET, OPEN, FETCH, CLOSE, DEALLOCATE.
//!
//! ```text
//! asked for                                   becomes                                        rows
//! STATIC, INSENSITIVE                         static                                         copied by OPEN
//! FAST_FORWARD; read-only and forward only    fast forward                                   copied by OPEN
//! KEYSET; SCROLL alone                        keyset, or static without keys                 found again by FETCH (`cursor_rows`)
//! DYNAMIC; nothing                            dynamic, keyset if rows are sorted, limited    walked to by FETCH (`cursor_rows`)
//!                                             or joined, or static
//! ```
//! (sql-docs, DECLARE CURSOR; learn.microsoft.com, "Using Implicit Cursor Conversions".) A cursor that comes out static is read-only. DECLARE
//! binds the query of a cursor that may be another one than it asks for, to decide; a static cursor's is bound by OPEN. The variables in the
//! query have the values that they had at DECLARE.

use std::cell::RefCell;
use std::rc::Rc;

use engine::error::Result;
use engine::types::Value;

use super::cursor_rows::{CursorPlans, DeclaredIn, Fetched, empty_row, reads_table_variables};
use super::executor::{Executor, closed};
use crate::ast::{
    AssignmentOperator, CursorReference, DeclareCursor, ExpressionKind, FetchCursor, FetchDirection, Query,
    VariableAssignment,
};
use crate::context::Context;
use crate::grant::KeptRows;
use crate::messages;
use crate::sink::{DoneKind, ResultColumn};
use crate::state::{
    Cursor, CursorConcurrency, CursorDeclaration, CursorModel, CursorOperation, SharedCursor, declared_bytes,
    opened_bytes,
};

/// The model that a declaration asks for.
fn asked_model(declare: &DeclareCursor) -> CursorModel {
    let is_written = |word: &str| declare.options.iter().any(|option| option == word);
    let is_read_only = declare.read_only || is_written("READ_ONLY");
    match () {
        () if is_written("STATIC") || is_written("INSENSITIVE") => CursorModel::Static,
        () if is_written("KEYSET") => CursorModel::Keyset,
        () if is_written("DYNAMIC") => CursorModel::Dynamic,
        () if is_written("FAST_FORWARD") => CursorModel::FastForward,
        () if is_written("SCROLL") => CursorModel::Keyset,
        () if is_read_only => CursorModel::FastForward,
        () => CursorModel::Dynamic,
    }
}

/// Cursors that are neither asked to scroll nor of a named model fetch forward only (sql-docs, DECLARE CURSOR).
fn is_forward_only(options: &[String]) -> bool {
    let any = |words: &[&str]| options.iter().any(|option| words.contains(&option.as_str()));
    any(&["FORWARD_ONLY", "FAST_FORWARD"]) || !any(&["SCROLL", "STATIC", "KEYSET", "DYNAMIC"])
}

fn asked_concurrency(declare: &DeclareCursor, model: CursorModel) -> CursorConcurrency {
    let is_written = |word: &str| declare.options.iter().any(|option| option == word);
    match () {
        () if model.is_copied() || declare.read_only || is_written("READ_ONLY") => CursorConcurrency::ReadOnly,
        () if is_written("SCROLL_LOCKS") => CursorConcurrency::ScrollLocks,
        () => CursorConcurrency::Optimistic,
    }
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

/// 16911 and 16925 for a direction that a cursor does not know.
fn check_direction(cursor: &Cursor, direction: &FetchDirection) -> Result<()> {
    let declaration = &cursor.declaration;
    match (declaration.model, direction) {
        (CursorModel::Dynamic, FetchDirection::Absolute(_)) => return Err(messages::dynamic_cursor("Absolute")),
        (CursorModel::Dynamic | CursorModel::Static | CursorModel::Keyset | CursorModel::FastForward, _) => {}
    }
    match (declaration.forward_only, word_of(direction)) {
        (true, Some(word)) => Err(messages::forward_only_cursor(word)),
        _ => Ok(()),
    }
}

/// The place that a direction leads to among so many rows, from 1; `amount` is its number.
pub(super) fn wanted_place(direction: &FetchDirection, amount: i64, position: i64, count: i64) -> i64 {
    match direction {
        FetchDirection::Next => position + 1,
        FetchDirection::Prior => position - 1,
        FetchDirection::First => 1,
        FetchDirection::Last => count,
        FetchDirection::Absolute(_) if amount < 0 => (count + 1).saturating_add(amount),
        FetchDirection::Absolute(_) => amount,
        FetchDirection::Relative(_) => position.saturating_add(amount),
    }
}

impl Executor<'_> {
    /// DECLARE CURSOR, or SET of a cursor variable; `span` is where the statement stands.
    pub(super) fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        is_variable: bool,
        span: (u32, u32),
    ) -> Result<()> {
        if is_variable {
            self.require_cursor_variable(&declare.name)?;
        }
        let is_local = is_variable || declare.options.iter().any(|option| option == "LOCAL");
        let name = declare.name.to_lowercase();
        let key = match is_local {
            true => self.session.local_cursor(&name),
            false => name,
        };
        if !is_variable && self.session.cursor(&key).is_some() {
            return Err(messages::cursor_exists(&declare.name));
        }
        let declared_in = DeclaredIn::of(self);
        let bytes = declared_bytes(&key, span) + declared_in.bytes();
        let share = self.session.cursor_tally.share(bytes)?;
        let model = asked_model(declare);
        let mut declaration = CursorDeclaration {
            name: declare.name.clone(),
            is_local,
            query: Rc::new(declare.query.clone()),
            forward_only: is_forward_only(&declare.options),
            model,
            concurrency: asked_concurrency(declare, model),
            update_columns: declare
                .update_columns
                .iter()
                .map(|column| column.text.to_lowercase())
                .collect(),
            declared_in: Rc::new(declared_in),
        };
        let plans = match model.is_copied() {
            true => None,
            false => self.decide_model(&mut declaration, declare)?,
        };
        let mut cursor = Cursor::new(declaration, share);
        cursor.plans = plans;
        let shared = Rc::new(RefCell::new(cursor));
        self.session.cursors.borrow_mut().insert(key, shared);
        self.session.set_row_count(1);
        self.done(None, DoneKind::Other)
    }

    /// Binds the query of a cursor that is not copied, which decides what it becomes.
    ///
    /// # Errors
    /// Those of binding; 16957 for FOR UPDATE of what becomes static, 207 for a column of FOR UPDATE OF that is none.
    fn decide_model(
        &mut self,
        declaration: &mut CursorDeclaration,
        declare: &DeclareCursor,
    ) -> Result<Option<Rc<dyn std::any::Any>>> {
        let asked = declaration.model;
        let plans = self.plan_cursor(declaration)?;
        declaration.model = plans.model;
        if declaration.model == CursorModel::Static {
            if declare.for_update {
                return Err(messages::for_update_of_read_only());
            }
            declaration.concurrency = CursorConcurrency::ReadOnly;
        }
        plans.require_columns(&declare.update_columns)?;
        let warns = declare.options.iter().any(|option| option == "TYPE_WARNING");
        if warns && declaration.model != asked {
            let warning = messages::cursor_of_another_type();
            self.inform(warning.number, warning.severity, self.statement.line, warning.message)?;
        }
        Ok(match declaration.model.is_copied() {
            true => None,
            false => Some(Rc::new(plans)),
        })
    }

    /// 16948 for a variable that holds a value, 137 for none.
    fn require_cursor_variable(&self, variable: &str) -> Result<()> {
        let scope = &self.batch.scope;
        match scope.is_cursor(variable) {
            true => Ok(()),
            false if scope.scalar(variable).is_some() || scope.table(variable).is_some() => {
                Err(messages::not_a_cursor_variable(variable))
            }
            false => Err(messages::variable_not_declared(variable)),
        }
    }

    /// `SET @variable = cursor`, where the former is a cursor variable: both refer to one cursor then.
    ///
    /// # Errors
    /// 16916, 16950; 102 for an operator, 16948 and 16949 for another value.
    pub(super) fn set_cursor_reference(&mut self, assignment: &VariableAssignment) -> Result<()> {
        if assignment.operator != AssignmentOperator::Assign || assignment.is_modified {
            return Err(messages::cursor_variable_as_value(&assignment.variable));
        }
        let name = match &assignment.value.kind {
            ExpressionKind::Column(name) if name.parts.len() == 1 => name.object().to_owned(),
            ExpressionKind::Variable(name) => {
                self.require_cursor_variable(name)?;
                name.clone()
            }
            _ => return Err(messages::cursor_variable_as_value(&assignment.variable)),
        };
        let cursor = self.find_cursor(&CursorReference { name, global: false })?;
        let key = self.session.local_cursor(&assignment.variable.to_lowercase());
        self.session.cursors.borrow_mut().insert(key, cursor);
        self.session.set_row_count(1);
        self.done(None, DoneKind::Other)
    }

    /// The cursor that a statement names: a local one stands before a global one of its name.
    ///
    /// # Errors
    /// 16916; of a variable 16950, 16948 and 137.
    pub(super) fn find_cursor(&self, reference: &CursorReference) -> Result<SharedCursor> {
        self.find_with_key(reference).map(|(_, cursor)| cursor)
    }

    /// The same with what it is kept under.
    fn find_with_key(&self, reference: &CursorReference) -> Result<(String, SharedCursor)> {
        let name = reference.name.to_lowercase();
        let key = self.session.local_cursor(&name);
        let local = match reference.global {
            true => None,
            false => self.session.cursor(&key),
        };
        if let Some(cursor) = local {
            return Ok((key, cursor));
        }
        if name.starts_with('@') {
            self.require_cursor_variable(&reference.name)?;
            return Err(messages::no_cursor_allocated(&reference.name));
        }
        let global = self.session.cursor(&name);
        let cursor = global.ok_or_else(|| messages::cursor_not_found(&reference.name, 1))?;
        Ok((name, cursor))
    }

    pub(super) fn close_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let cursor = self.find_cursor(reference)?;
        {
            let mut cursor = cursor.borrow_mut();
            if !cursor.is_open() {
                return Err(messages::cursor_not_open(1));
            }
            cursor.close();
            cursor.note(CursorOperation::Close, 0);
        }
        self.session.forget_opened();
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn deallocate_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let (key, _) = self.find_with_key(reference)?;
        self.session.cursors.borrow_mut().remove(&key);
        self.session.forget_opened();
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    pub(super) fn open_cursor(&mut self, reference: &CursorReference) -> Result<()> {
        let shared = self.find_cursor(reference)?;
        self.open_shared(&shared)?;
        self.session.note_opened(&shared);
        self.done(None, DoneKind::Other)
    }

    /// Opens a cursor.
    ///
    /// # Errors
    /// 16905, 16943, 16946; those of the query; 701.
    pub(super) fn open_shared(&mut self, shared: &SharedCursor) -> Result<()> {
        let mut cursor = shared.borrow_mut();
        if cursor.is_open() {
            return Err(messages::cursor_is_open());
        }
        let (columns, rows) = match cursor.declaration.model.is_copied() {
            true => {
                let declaration = &cursor.declaration;
                let is_elsewhere = !self.has_declared(declaration);
                self.as_declared(declaration, |executor| {
                    executor.rows_of(&declaration.query, is_elsewhere)
                })?
            }
            false => self.members_of(&mut cursor)?,
        };
        let share = self.session.cursor_tally.share(opened_bytes(&columns, &rows))?;
        let count = rows.rows.len() as i64;
        cursor.columns = columns;
        cursor.rows = Some(rows);
        cursor.opened = Some(share);
        cursor.note(CursorOperation::Open, count);
        Ok(())
    }

    /// The columns and all rows of a query, as a cursor keeps them; `is_elsewhere` says that its batch is not the one that runs.
    pub(super) fn rows_of(&mut self, query: &Query, is_elsewhere: bool) -> Result<(Vec<ResultColumn>, KeptRows)> {
        let bound = self.bound(query, |binder, query| binder.statement_query(query))?.bound;
        if is_elsewhere && reads_table_variables(&bound.plan.root) {
            return Err(messages::cursor_table_out_of_scope());
        }
        if bound.into.is_some() {
            return Err(messages::into_in_cursor());
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
        let shared = self.find_cursor(&fetch.cursor)?;
        let amount = match &fetch.direction {
            FetchDirection::Absolute(number) | FetchDirection::Relative(number) => self
                .value_as(number, engine::types::SqlType::BigInt)?
                .as_i64()
                .unwrap_or(0),
            _ => 0,
        };
        // Held while the row is sent, so that neither it nor the columns are copied: no sink comes back to the cursors.
        let mut cursor = shared.borrow_mut();
        // What a FETCH leaves that fails.
        self.session.set_fetch_status(-1);
        cursor.fetch_status = -1;
        cursor.moves += 1;
        if !cursor.is_open() {
            return Err(messages::cursor_not_open(2));
        }
        check_direction(&cursor, &fetch.direction)?;
        if !fetch.into.is_empty() && fetch.into.len() != cursor.columns.len() {
            return Err(messages::cursor_variable_count());
        }
        let count = match cursor.declaration.model.is_copied() {
            true => self.fetch_copied(&mut cursor, fetch, amount)?,
            false => self.fetch_found(&mut cursor, fetch, amount)?,
        };
        cursor.note(CursorOperation::Fetch, count as i64);
        cursor.fetch_status = self.session.fetch_status();
        drop(cursor);
        self.session.set_row_count(count as i64);
        self.done(Some(count), DoneKind::Select)
    }

    /// FETCH from rows that were copied; answers how many it fetched.
    fn fetch_copied(&mut self, cursor: &mut Cursor, fetch: &FetchCursor, amount: i64) -> Result<u64> {
        let rows = cursor.rows.as_ref().map_or(&[][..], |kept| kept.rows.as_slice());
        let count = rows.len() as i64;
        let wanted = wanted_place(&fetch.direction, amount, cursor.position, count);
        cursor.position = wanted.clamp(0, count + 1);
        let row = usize::try_from(wanted - 1).ok().and_then(|index| rows.get(index));
        self.session.set_fetch_status(if row.is_some() { 0 } else { -1 });
        self.hand_over(fetch, &cursor.columns, row.map(Vec::as_slice))?;
        Ok(u64::from(row.is_some()))
    }

    /// FETCH of a row that is found again; answers how many it fetched.
    fn fetch_found(&mut self, cursor: &mut Cursor, fetch: &FetchCursor, amount: i64) -> Result<u64> {
        let fetched = self.row_of_cursor(cursor, &fetch.direction, amount)?;
        let (row, status) = match fetched {
            Fetched::Row(row) => (Some(row), 0),
            Fetched::Gone => (Some(empty_row(&cursor.columns)?), -2),
            Fetched::Nothing => (None, -1),
        };
        self.session.set_fetch_status(status);
        self.hand_over(fetch, &cursor.columns, row.as_deref())?;
        Ok(u64::from(status == 0))
    }

    /// Gives a row to the variables of INTO, or sends it.
    fn hand_over(&mut self, fetch: &FetchCursor, columns: &[ResultColumn], row: Option<&[Value]>) -> Result<()> {
        if !fetch.into.is_empty() {
            return row.map_or(Ok(()), |row| self.fetch_into(fetch, columns, row));
        }
        self.sink.columns(columns).map_err(closed)?;
        match row {
            Some(row) => {
                let cut = super::select::Cut::of(columns, self.session.options().text_size_bytes);
                super::select::send_row(self.sink, row, &cut)
            }
            None => Ok(()),
        }
    }

    fn fetch_into(&self, fetch: &FetchCursor, columns: &[ResultColumn], row: &[Value]) -> Result<()> {
        for ((variable, column), value) in fetch.into.iter().zip(columns).zip(row) {
            let (slot, sql_type) =
                self.batch
                    .scope
                    .scalar(variable)
                    .ok_or_else(|| match self.batch.scope.is_cursor(variable) {
                        true => messages::cursor_variable_as_value(variable),
                        false => messages::variable_not_declared(variable),
                    })?;
            let value = crate::scalar::convert::convert(value, column.sql_type, sql_type, None)?;
            self.context().set_variable(slot, value)?;
        }
        Ok(())
    }

    /// The plans of an open cursor whose rows are found again.
    pub(super) fn plans_of(cursor: &Cursor) -> Option<Rc<CursorPlans>> {
        cursor.plans.clone()?.downcast::<CursorPlans>().ok()
    }
}
