//! Transactions: BEGIN, COMMIT, ROLLBACK, SAVE; and the implicit transaction of every statement outside one.

use std::borrow::Cow;

use engine::error::Result;
use engine::log::LogMark;
use engine::session::{Mark, USER_TRANSACTION};
use engine::types::{Collation, Value};

use super::executor::Executor;
use crate::ast::{ExpressionKind, Literal, TRANSACTION_NAME_CHARACTERS_MAX, TransactionMark, TransactionName};
use crate::messages;
use crate::sink::{DoneKind, TransactionEvent};
use crate::state::{SessionState, UnitFrame};

/// The name of a transaction that SET IMPLICIT_TRANSACTIONS began (sql-docs, "sys.dm_tran_active_transactions").
const IMPLICIT_TRANSACTION: &str = "implicit_transaction";

/// Begins a transaction or nests one. Only the outermost one's name can be rolled back.
pub(crate) fn begin(session: &SessionState, name: &str) -> Option<TransactionEvent> {
    match name {
        "" => begin_shown(session, name, Cow::Borrowed(USER_TRANSACTION)),
        name => begin_shown(session, name, Cow::Owned(name.to_owned())),
    }
}

/// As [`begin`], with the name that views and the log show.
fn begin_shown(session: &SessionState, name: &str, shown: Cow<'static, str>) -> Option<TransactionEvent> {
    let count = session.transaction_count();
    session.set_transaction_count(count + 1);
    if count > 0 {
        return None;
    }
    name.clone_into(&mut session.transaction.name.borrow_mut());
    session.engine.borrow_mut().begin_named(shown);
    Some(TransactionEvent::Begun(session.transaction_descriptor()))
}

/// Commits one level; the outermost one ends the transaction.
pub(crate) fn commit(session: &SessionState) -> Result<Option<TransactionEvent>> {
    match session.transaction_count() {
        0 => Err(messages::commit_without_transaction()),
        _ if session.is_doomed() => Err(messages::transaction_doomed()),
        1 => {
            let result = commit_changes(session);
            session.set_transaction_count(0);
            session.close_cursors_at_end();
            result?;
            Ok(Some(TransactionEvent::Committed(session.last_descriptor())))
        }
        count => {
            session.set_transaction_count(count - 1);
            Ok(None)
        }
    }
}

/// Commits what the session's transaction has changed. Its marks are noted in msdb once they are in the logs: what keeps them from being noted
/// goes into the error log, for the transaction has committed.
fn commit_changes(session: &SessionState) -> Result<()> {
    let mut engine = session.engine.borrow_mut();
    let result = engine.commit();
    let marks = engine.take_committed_marks();
    drop(engine);
    if !marks.is_empty() {
        session.instance.note_marks(&marks, &session.login.login);
    }
    result
}

/// Rolls back everything.
pub(crate) fn roll_back(session: &SessionState) -> Result<Option<TransactionEvent>> {
    if session.transaction_count() == 0 {
        return Err(messages::rollback_without_transaction());
    }
    let result = session.engine.borrow_mut().roll_back();
    session.set_transaction_count(0);
    session.close_cursors_at_end();
    result?;
    Ok(Some(TransactionEvent::RolledBack(session.last_descriptor())))
}

/// Sets a savepoint.
pub(crate) fn save(session: &SessionState, name: &str) -> Result<()> {
    if session.transaction_count() == 0 {
        return Err(messages::save_without_transaction());
    }
    if session.is_doomed() {
        return Err(messages::transaction_doomed());
    }
    let mark = session.engine.borrow().mark();
    session
        .transaction
        .savepoints
        .borrow_mut()
        .push((name.to_owned(), mark));
    Ok(())
}

/// Sets a savepoint for the client's protocol, which cuts no name short and takes no empty one.
pub(crate) fn save_for_client(session: &SessionState, name: &str) -> Result<()> {
    if name.chars().count() > TRANSACTION_NAME_CHARACTERS_MAX {
        return Err(messages::transaction_name_too_long(name));
    }
    if name.is_empty() && session.transaction_count() > 0 {
        roll_back(session)?;
        return Err(messages::savepoint_without_name());
    }
    save(session, name)
}

/// Rolls back to the latest savepoint of a name, or everything if the outermost transaction has it. Rolling back to a savepoint
/// uses it up, and those behind it.
///
/// Names of savepoints compare as the database's texts do, names of transactions letter by letter.
pub(crate) fn roll_back_named(session: &SessionState, name: &str) -> Result<Option<TransactionEvent>> {
    if session.transaction_count() == 0 {
        return Err(messages::rollback_without_transaction());
    }
    let name = name.trim_end_matches(' ');
    let position = {
        let savepoints = session.transaction.savepoints.borrow();
        savepoints
            .iter()
            .rposition(|(other, _)| Collation::default().equal(other, name))
    };
    match position {
        Some(position) if !name.is_empty() => roll_back_to(session, position).map(|()| None),
        _ if !name.is_empty() && session.transaction.name.borrow().trim_end_matches(' ') == name => roll_back(session),
        _ => Err(messages::no_such_savepoint(name)),
    }
}

fn roll_back_to(session: &SessionState, position: usize) -> Result<()> {
    if session.is_doomed() {
        return Err(messages::transaction_doomed_savepoint());
    }
    let mark = {
        let mut savepoints = session.transaction.savepoints.borrow_mut();
        let used_up = savepoints.drain(position..);
        used_up.into_iter().next().map(|(_, mark)| mark)
    };
    match mark {
        Some(mark) => session.engine.borrow_mut().roll_back_to(&mark),
        None => Ok(()),
    }
}

impl Executor<'_> {
    pub(super) fn begin_transaction(
        &mut self,
        name: Option<&TransactionName>,
        mark: Option<&TransactionMark>,
    ) -> Result<()> {
        let name = match name {
            Some(name) => self.transaction_name(name)?.unwrap_or_default(),
            None => String::new(),
        };
        if mark.is_some() && name.is_empty() {
            return Err(messages::mark_without_name());
        }
        let description = mark.map(|mark| self.mark_description(mark)).transpose()?;
        // BEGIN TRANSACTION is itself one of the statements that begin an implicit transaction (sql-docs, SET
        // IMPLICIT_TRANSACTIONS).
        let implicit = self.begin_implicit();
        let begun = begin(self.session, &name);
        if let Some(description) = description {
            let mark = LogMark::new(name.trim_end_matches(' '), &description);
            let is_first = self.session.engine.borrow_mut().mark_in_log(mark);
            if !is_first {
                let ignored = messages::marked_already();
                self.inform(ignored.number, ignored.severity, self.statement.line, ignored.message)?;
            }
        }
        self.transaction_done((implicit.or(begun), true))
    }

    pub(super) fn commit_transaction(&mut self) -> Result<()> {
        // What INSERT ... EXECUTE runs is part of the INSERT, and cannot end what the INSERT is part of.
        let insert_execute_count = self.session.transaction.insert_execute_count.get();
        if insert_execute_count.is_some_and(|count| self.session.transaction_count() <= count) {
            return Err(messages::commit_in_insert_execute());
        }
        let is_known = !self.session.transaction.is_of_statement.get();
        let event = commit(self.session)?;
        self.transaction_done((event, is_known))
    }

    /// ROLLBACK TRANSACTION. A name that is NULL is none.
    pub(super) fn roll_back_transaction(&mut self, name: Option<&TransactionName>) -> Result<()> {
        if self.session.transaction.insert_execute_count.get().is_some() {
            return Err(messages::rollback_in_insert_execute());
        }
        let name = match name {
            Some(name) => self.transaction_name(name)?,
            None => None,
        };
        let is_known = !self.session.transaction.is_of_statement.get();
        let event = match name {
            Some(name) => roll_back_named(self.session, &name)?,
            None => roll_back(self.session)?,
        };
        self.transaction_done((event, is_known))
    }

    /// SAVE TRANSACTION. A name that is NULL saves nothing.
    pub(super) fn save_transaction(&mut self, name: &TransactionName) -> Result<()> {
        if let Some(name) = self.transaction_name(name)? {
            save(self.session, &name)?;
        }
        self.transaction_done((None, true))
    }

    fn transaction_done(&mut self, (event, is_known): (Option<TransactionEvent>, bool)) -> Result<()> {
        if let (Some(event), true) = (event, is_known) {
            self.sink.transaction_changed(event);
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    fn begin_implicit(&self) -> Option<TransactionEvent> {
        let is_due = self.session.options().implicit_transactions
            && self.session.transaction_count() == 0
            && !self.session.is_in_function();
        match is_due {
            true => begin_shown(self.session, "", Cow::Borrowed(IMPLICIT_TRANSACTION)),
            false => None,
        }
    }

    /// Runs what INSERT ... EXECUTE executes: inside of a transaction, the INSERT's own if there is no other.
    pub(super) fn within_insert_execute<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.session.transaction.insert_execute_count.get();
        let count = self.session.transaction_count();
        self.session.set_transaction_count(count.max(1));
        self.session.transaction.insert_execute_count.set(Some(count.max(1)));
        let result = work(self);
        self.session.transaction.insert_execute_count.set(outer);
        if count == 0 {
            self.session.set_transaction_count(0);
        }
        result
    }

    /// The description of a mark; empty if it is not given, or NULL.
    fn mark_description(&self, mark: &TransactionMark) -> Result<String> {
        let variable = match mark.description.as_ref().map(|description| &description.kind) {
            Some(ExpressionKind::Literal(Literal::Text(text) | Literal::NationalText(text))) => return Ok(text.clone()),
            Some(ExpressionKind::Variable(variable)) => variable,
            Some(_) | None => return Ok(String::new()),
        };
        let scalar = self.batch.scope.scalar(variable);
        let (slot, _) = scalar.ok_or_else(|| messages::variable_not_declared(variable))?;
        Ok(match self.context().variable(slot) {
            Value::Text(text) => text.to_string(),
            _ => String::new(),
        })
    }

    /// The name of a transaction or savepoint: NULL is none; a variable's text is cut to what a name can have.
    fn transaction_name(&self, name: &TransactionName) -> Result<Option<String>> {
        let variable = match name {
            TransactionName::Name(name) => return Ok(Some(name.text.clone())),
            TransactionName::Variable(variable) => variable,
        };
        let (slot, sql_type) = self
            .batch
            .scope
            .scalar(variable)
            .ok_or_else(|| messages::variable_not_declared(variable))?;
        if !sql_type.is_character() {
            return Err(messages::transaction_name_type(sql_type.name()));
        }
        Ok(match self.context().variable(slot) {
            Value::Text(text) => Some(text.chars().take(TRANSACTION_NAME_CHARACTERS_MAX).collect()),
            _ => None,
        })
    }

    /// Ends the transaction because an error demands it. Where a TRY block catches the error, the transaction is found as one that can
    /// only be rolled back.
    pub(super) fn roll_back_everything(&mut self, is_caught: bool) {
        let had_transaction = self.session.transaction_count() > 0;
        let is_known = !self.session.transaction.is_of_statement.get();
        let result = self.session.engine.borrow_mut().roll_back();
        if is_caught && had_transaction {
            self.session.engine.borrow_mut().begin();
            self.session.doom();
        } else {
            self.session.set_transaction_count(0);
            if had_transaction && is_known {
                self.sink
                    .transaction_changed(TransactionEvent::RolledBack(self.session.last_descriptor()));
            }
        }
        if let Err(error) = result {
            // What a rollback leaves undone, recovery does; the session only hears of it.
            self.session
                .instance
                .env
                .errorlog
                .write_error(&format!("spid{}", self.session.id), &error);
        }
    }

    /// Runs a statement that reads or writes as one unit: outside of a transaction as one of its own, inside of one up to a
    /// mark to which an error returns. SET IMPLICIT_TRANSACTIONS makes it begin a transaction that stays.
    pub(super) fn atomically<T>(&mut self, writes: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if writes && self.session.is_doomed() {
            return Err(messages::transaction_doomed());
        }
        if let Some(event) = self.begin_implicit() {
            self.sink.transaction_changed(event);
        }
        let result = self.as_unit(writes, work);
        self.statement.has_undone.set(writes && result.is_err());
        result
    }

    /// As [`Executor::atomically`], for a statement that begins no implicit transaction.
    pub(super) fn as_unit<T>(&mut self, writes: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.session.is_in_function() {
            return self.within_unit(work);
        }
        let _unit = UnitFrame::of_statement(self.session);
        self.as_own_unit(writes, work)
    }

    /// A statement of a function is part of the unit that has called the function: it ends only the locks it took itself.
    fn within_unit<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = self.session.transaction.statement_locks.take();
        let result = work(self);
        self.session.end_statement_locks();
        self.session.transaction.statement_locks.replace(outer);
        result
    }

    fn as_own_unit<T>(&mut self, writes: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.session.transaction_count() > 0 {
            let mark = if writes {
                Some(self.session.engine.borrow().mark())
            } else {
                None
            };
            let transaction = self.session.transaction_descriptor();
            let result = work(self);
            self.session.end_statement_locks();
            // A trigger may have ended the transaction, and the mark with it.
            let goes_on = self.session.transaction_descriptor() == transaction;
            if let (Err(_), Some(mark), true) = (&result, mark, goes_on) {
                if self.session.instance.has_ended(self.session.id) {
                    // KILL: all of the transaction is undone at once, and until then it can only be that.
                    self.session.doom();
                } else {
                    self.return_to(&mark)?;
                }
            }
            return result;
        }
        self.session.begin_own_transaction();
        self.session
            .engine
            .borrow_mut()
            .begin_named(self.statement.transaction_name);
        let result = work(self);
        self.session.end_own_transaction();
        self.session.end_statement_locks();
        match result {
            // A trigger has begun a transaction and left it open: the statement is part of it.
            Ok(value) if self.session.transaction_count() > 0 => Ok(value),
            Ok(value) => {
                commit_changes(self.session)?;
                Ok(value)
            }
            Err(error) => {
                self.session.engine.borrow_mut().roll_back()?;
                Err(error)
            }
        }
    }

    fn return_to(&mut self, mark: &Mark) -> Result<()> {
        self.session.engine.borrow_mut().roll_back_to(mark)
    }
}
