//! Transactions: BEGIN, COMMIT, ROLLBACK, SAVE; and the transaction that every statement outside of one is.

use engine::error::{Error, Result};
use engine::session::Mark;
use engine::types::{Length, SqlType, Value};

use super::executor::Executor;
use crate::ast::{StatementKind, TransactionName};
use crate::messages;
use crate::session::{DoneKind, SessionState, TransactionEvent};

/// Begins a transaction or nests one.
pub(crate) fn begin(session: &SessionState) -> Option<TransactionEvent> {
    let count = session.transaction_count();
    session.set_transaction_count(count + 1);
    if count > 0 {
        return None;
    }
    session.engine.borrow_mut().begin();
    Some(TransactionEvent::Begun(session.transaction_descriptor()))
}

/// Commits one level; the outermost one ends the transaction.
pub(crate) fn commit(session: &SessionState) -> Result<Option<TransactionEvent>> {
    match session.transaction_count() {
        0 => Err(messages::commit_without_transaction()),
        _ if session.is_doomed() => Err(messages::transaction_doomed()),
        1 => {
            let result = session.engine.borrow_mut().commit();
            session.set_transaction_count(0);
            result?;
            Ok(Some(TransactionEvent::Committed(session.last_descriptor())))
        }
        count => {
            session.set_transaction_count(count - 1);
            Ok(None)
        }
    }
}

/// Rolls back everything.
pub(crate) fn roll_back(session: &SessionState) -> Result<Option<TransactionEvent>> {
    if session.transaction_count() == 0 {
        return Err(messages::rollback_without_transaction());
    }
    let result = session.engine.borrow_mut().roll_back();
    session.set_transaction_count(0);
    result?;
    Ok(Some(TransactionEvent::RolledBack(session.last_descriptor())))
}

/// Sets a savepoint.
pub(crate) fn save(session: &SessionState, name: &str) -> Result<()> {
    if session.transaction_count() == 0 {
        return Err(messages::save_without_transaction());
    }
    let mark = session.engine.borrow().mark();
    session.savepoints.borrow_mut().push((name.to_lowercase(), mark));
    Ok(())
}

/// Rolls back to a savepoint; false when there is none of that name.
pub(crate) fn roll_back_to(session: &SessionState, name: &str) -> Result<bool> {
    let position = {
        let savepoints = session.savepoints.borrow();
        savepoints.iter().rposition(|(other, _)| *other == name.to_lowercase())
    };
    let Some(position) = position else { return Ok(false) };
    if session.is_doomed() {
        return Err(messages::transaction_doomed_savepoint());
    }
    let mark = {
        let mut savepoints = session.savepoints.borrow_mut();
        savepoints.truncate(position + 1);
        savepoints.last().map(|(_, mark)| mark.clone()).unwrap_or_default()
    };
    session.engine.borrow_mut().roll_back_to(&mark)?;
    Ok(true)
}

impl Executor<'_> {
    /// BEGIN, COMMIT, ROLLBACK, SAVE.
    pub(super) fn transaction(&mut self, kind: &StatementKind) -> Result<()> {
        let event = match kind {
            StatementKind::BeginTransaction { .. } => begin(self.session),
            StatementKind::CommitTransaction { .. } => commit(self.session)?,
            StatementKind::SaveTransaction(name) => {
                let name = self.transaction_name(name)?;
                save(self.session, &name)?;
                None
            }
            StatementKind::RollbackTransaction { name: Some(name) } => {
                let name = self.transaction_name(name)?;
                // A name that is no savepoint's is the outermost transaction's.
                if roll_back_to(self.session, &name)? {
                    None
                } else {
                    roll_back(self.session)?
                }
            }
            _ => roll_back(self.session)?,
        };
        if let Some(event) = event {
            self.sink.transaction_changed(event);
        }
        self.session.set_row_count(0);
        self.done(None, DoneKind::Other)
    }

    fn transaction_name(&self, name: &TransactionName) -> Result<String> {
        match name {
            TransactionName::Name(name) => Ok(name.text.clone()),
            TransactionName::Variable(variable) => {
                let (slot, sql_type) = self
                    .batch
                    .scope
                    .scalar(variable)
                    .ok_or_else(|| messages::variable_not_declared(variable))?;
                let value = self.context().variable(slot);
                let target = SqlType::NVarChar(Length::Limited(32));
                match crate::scalar::convert::convert(&value, sql_type, target, None)? {
                    Value::Text(text) => Ok(text.to_string()),
                    _ => Err(Error::new(
                        6401,
                        16,
                        1,
                        "Cannot roll back. No transaction or savepoint of that name was found.",
                    )),
                }
            }
        }
    }

    /// Ends the transaction because an error demands it.
    pub(super) fn roll_back_everything(&mut self) {
        let had_transaction = self.session.transaction_count() > 0;
        let result = self.session.engine.borrow_mut().roll_back();
        if self.try_depth > 0 && had_transaction {
            // The CATCH block finds the transaction as one that can only be rolled back.
            self.session.engine.borrow_mut().begin();
            self.session.doom();
        } else {
            self.session.set_transaction_count(0);
            if had_transaction {
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
    /// mark to which an error returns.
    pub(super) fn atomically<T>(&mut self, writes: bool, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if writes && self.session.is_doomed() {
            return Err(messages::transaction_doomed());
        }
        if self.session.options().implicit_transactions
            && self.session.transaction_count() == 0
            && let Some(event) = begin(self.session)
        {
            self.sink.transaction_changed(event);
        }
        if self.session.transaction_count() > 0 {
            let mark = if writes {
                Some(self.session.engine.borrow().mark())
            } else {
                None
            };
            let result = work(self);
            if let (Err(_), Some(mark)) = (&result, mark) {
                self.return_to(&mark)?;
            }
            return result;
        }
        self.session.engine.borrow_mut().begin();
        let result = work(self);
        match result {
            Ok(value) => {
                self.session.engine.borrow_mut().commit()?;
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
