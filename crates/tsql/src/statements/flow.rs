//! Control of flow: blocks, IF, WHILE, RETURN, GOTO, TRY and CATCH.

use engine::error::{Error, Result};

use super::executor::{Executor, Flow, Outcome, Returns};
use crate::ast::{Expression, If, Statement, StatementKind, While};
use crate::context::Context;
use crate::exec::{evaluate, holds};
use crate::failure::Class;
use crate::messages;
use crate::plan::Condition;
use crate::prepared::{Bound, Planned};
use crate::sink::DoneKind;

impl Executor<'_> {
    /// Runs a statement of control of flow.
    pub(super) fn flow(&mut self, statement: &Statement) -> Outcome<Flow> {
        match &statement.kind {
            StatementKind::Block(statements) => self.statements(statements),
            StatementKind::If(branch) => self.branch(branch, statement.line),
            StatementKind::While(repeated) => self.repeat(repeated, statement.line),
            StatementKind::Break => Ok(Flow::Break),
            StatementKind::Continue => Ok(Flow::Continue),
            StatementKind::Goto(label) => Ok(Flow::Goto(label.text.clone())),
            StatementKind::Return(value) => self.return_value(value.as_ref(), statement.line),
            StatementKind::TryCatch { attempt, handler } => self.try_catch(attempt, handler),
            StatementKind::Label(_) => Ok(Flow::Next),
            other => {
                let error = Error::assertion(&format!("{} taken for control of flow", other.facts().name));
                Err(self.failure(error, statement.line))
            }
        }
    }

    /// Whether a condition holds; `None` when its failure has been sent and the statement is passed over.
    fn decide(&mut self, condition: &Expression, line: u32) -> Outcome<Option<bool>> {
        self.session.take_time();
        let ahead = |executor: &Self| executor.truth(condition).map(|_| ());
        let is_told = self.tell_trees_of(&[], line, ahead)?;
        let counting = self.count();
        let result = match is_told {
            false => self.truth(condition),
            true => self.recompiling(|executor| executor.truth(condition)),
        };
        let result = result.and_then(|bound| {
            let condition = condition_of(&bound);
            holds(condition, &[], &Context::new(self.session, &self.variables))
        });
        self.session.end_statement();
        self.counted(counting, result.is_ok(), line)?;
        match result {
            Ok(truth) => {
                // The documentation of @@ROWCOUNT does not name IF and WHILE; users do (codecorner.galanter.net, 2012-01-19).
                self.session.set_row_count(0);
                // A condition counts as a statement each time (go-mssqldb tests, "TestSprocWithCursorNoResult": 13 results).
                self.done(None, DoneKind::Other)
                    .map_err(|error| self.failure(error, line))?;
                Ok(Some(truth))
            }
            Err(error) => {
                let failure = self.failure(error, line);
                self.handle(failure).map(|()| None)
            }
        }
    }

    fn truth(&self, condition: &Expression) -> Result<Planned> {
        self.plan(condition, |binder, condition| {
            Ok(Bound::Condition(binder.truth(condition)?))
        })
    }

    fn branch(&mut self, branch: &If, line: u32) -> Outcome<Flow> {
        match self.decide(&branch.condition, line)? {
            Some(true) => self.statement(&branch.then),
            Some(false) => match &branch.otherwise {
                Some(otherwise) => self.statement(otherwise),
                None => Ok(Flow::Next),
            },
            None => Ok(Flow::Next),
        }
    }

    fn repeat(&mut self, repeated: &While, line: u32) -> Outcome<Flow> {
        loop {
            if self.decide(&repeated.condition, line)? != Some(true) {
                return Ok(Flow::Next);
            }
            match self.statement(&repeated.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => return Ok(Flow::Next),
                other => return Ok(other),
            }
        }
    }

    fn return_value(&mut self, value: Option<&Expression>, line: u32) -> Outcome<Flow> {
        // "RETURN ... resets the @@ROWCOUNT value to 0"; with a value it has assigned one (sql-docs, "@@ROWCOUNT": statements that make a
        // simple assignment set it to 1).
        if !self.returns.is_function() {
            self.session.set_row_count(i64::from(value.is_some()));
        }
        let Some(value) = value else {
            return Ok(Flow::Return(self.default_status()));
        };
        match self.returns {
            Returns::Status => {}
            Returns::Value(sql_type) => return self.function_value(value, sql_type, line),
            Returns::Nothing | Returns::Rows => {
                return Err(self.failure(messages::return_with_value(), line));
            }
        }
        let result = self
            .plan(value, |binder, value| {
                Ok(Bound::Expressions(vec![
                    binder.scalar_as(value, engine::types::SqlType::Int)?,
                ]))
            })
            .and_then(|bound| {
                let expressions = expressions_of(&bound);
                let context = Context::new(self.session, &self.variables);
                match expressions.first() {
                    Some(expression) => Ok(evaluate(expression, &[], &context)?.as_i64().unwrap_or(0)),
                    None => Ok(0),
                }
            });
        self.session.end_statement();
        match result {
            Ok(status) => Ok(Flow::Return(i32::try_from(status).unwrap_or(0))),
            Err(error) => {
                let failure = self.failure(error, line);
                self.handle(failure).map(|()| Flow::Return(0))
            }
        }
    }

    fn try_catch(&mut self, attempt: &[Statement], handler: &[Statement]) -> Outcome<Flow> {
        self.try_depth += 1;
        let result = self.statements(attempt);
        self.try_depth -= 1;
        let failure = match result {
            Ok(flow) => return Ok(self.end_catch(flow)),
            Err(failure) if failure.silent || matches!(failure.class, Class::Session | Class::Binding) => {
                return Err(failure);
            }
            Err(failure) => failure,
        };
        self.session.push_caught(failure.last_message().clone());
        let result = self.statements(handler);
        self.session.pop_caught();
        result.map(|flow| self.end_catch(flow))
    }

    /// END CATCH, which is passed on either way, is a statement that sets @@ROWCOUNT to 0.
    fn end_catch(&self, flow: Flow) -> Flow {
        if matches!(flow, Flow::Next) {
            self.session.set_row_count(0);
        }
        flow
    }
}

/// The condition of a plan that is one.
pub(super) fn condition_of(bound: &Bound) -> &Condition {
    const UNKNOWN: Condition = Condition::Constant(None);
    match bound {
        Bound::Condition(condition) => condition,
        _ => &UNKNOWN,
    }
}

/// The expressions of a plan that is a list of them.
pub(super) fn expressions_of(bound: &Bound) -> &[crate::plan::Expr] {
    match bound {
        Bound::Expressions(expressions) => expressions,
        _ => &[],
    }
}
