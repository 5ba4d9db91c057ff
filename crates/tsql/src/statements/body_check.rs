//! The names in a procedure's body, checked when the procedure is created.
//!
//! Only tables, views, procedures and functions may be missing then: a statement that names one is not looked at (sql-docs, "Deferred name
//! resolution": "if a table that is referenced does not exist ... deferred name resolution can only be used when you reference
//! nonexistent table objects. All other objects must exist"). Every other error of binding a statement is one of making the
//! procedure: unknown columns (207) and variables (137), columns without a name (8155), types that do not go together.

use std::cell::Cell;

use engine::cancel;
use engine::error::{Error, Result};
use engine::types::SqlType;

use super::executor::BINDINGS_MAX;
use crate::ast::{
    AssignmentOperator, DeclarationKind, Execute, ExecuteModule, ExpressionKind, InsertSource, Statement, StatementKind,
};
use crate::bind::{Binder, VariableScope};
use crate::messages;
use crate::state::SessionState;

/// Errors that say nothing about the text: an object that may be there when the procedure runs (208, 2812, 4121), and what an option says
/// by then (IDENTITY_INSERT: 544, 545, 8101).
const DEFERRED: [i32; 6] = [208, 544, 545, 2812, 4121, 8101];

/// Binds the statements of a body.
pub(super) struct BodyCheck<'w> {
    pub(super) session: &'w SessionState,
    pub(super) scope: &'w VariableScope,
    /// The line of the statement that is looked at.
    pub(super) line: &'w Cell<u32>,
}

impl<'w> BodyCheck<'w> {
    fn bind<T>(&self, bind: impl Fn(&mut Binder<'w>) -> Result<T>) -> Result<()> {
        for _ in 0..BINDINGS_MAX {
            self.session.take_dependencies();
            let mut binder = Binder::new(self.session, self.scope);
            match bind(&mut binder) {
                Err(error) if error.number == Error::DEFINITION_CHANGED => {}
                Err(error) if DEFERRED.contains(&error.number) => return Ok(()),
                outcome => return outcome.map(drop),
            }
        }
        Err(Error::definition_changed("CREATE PROCEDURE"))
    }

    /// # Errors
    /// The first of binding a statement, as the module's documentation says.
    pub(super) fn statements(&self, statements: &'w [Statement]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&self, statement: &'w Statement) -> Result<()> {
        crate::stack::require()?;
        cancel::look()?;
        self.line.set(statement.line);
        match &statement.kind {
            StatementKind::Block(inner) => self.statements(inner),
            StatementKind::If(branch) => {
                self.bind(|binder| binder.truth(&branch.condition))?;
                self.statement(&branch.then)?;
                let mut otherwise = branch.otherwise.iter();
                otherwise.try_for_each(|otherwise| self.statement(otherwise))
            }
            StatementKind::While(repeated) => {
                self.bind(|binder| binder.truth(&repeated.condition))?;
                self.statement(&repeated.body)
            }
            StatementKind::TryCatch { attempt, handler } => {
                self.statements(attempt)?;
                self.statements(handler)
            }
            kind => self.simple(kind),
        }
    }

    /// A statement without others in it.
    fn simple(&self, kind: &'w StatementKind) -> Result<()> {
        match kind {
            StatementKind::Select(query) => self.bind(|binder| binder.statement_query(query)),
            StatementKind::Insert(insert) => {
                if let InsertSource::Execute(execute) = &insert.source {
                    self.execute(execute)?;
                }
                self.bind(|binder| binder.insert(insert))
            }
            StatementKind::Update(update) => self.bind(|binder| binder.update(update)),
            StatementKind::Delete(delete) => self.bind(|binder| binder.delete(delete)),
            StatementKind::SetVariable(assignment) => {
                let operator = match assignment.operator {
                    AssignmentOperator::Assign => None,
                    AssignmentOperator::Compound(operator) => Some(operator),
                };
                self.bind(|binder| binder.assigned(&assignment.variable, operator, &assignment.value))
            }
            StatementKind::Declare(declarations) => declarations.iter().try_for_each(|one| match &one.kind {
                DeclarationKind::Scalar {
                    initial: Some(initial), ..
                } => self.bind(|binder| binder.assigned(&one.variable, None, initial)),
                _ => Ok(()),
            }),
            StatementKind::DeclareCursor(cursor) | StatementKind::SetCursorVariable(cursor) => {
                self.bind(|binder| binder.statement_query(&cursor.query))
            }
            StatementKind::Print(value) => self.bind(|binder| binder.scalar(value)),
            StatementKind::Return(Some(value)) => self.bind(|binder| binder.scalar_as(value, SqlType::Int)),
            StatementKind::RaiseError(raise) => {
                let said = [&raise.message, &raise.severity, &raise.state];
                let mut all = said.into_iter().chain(&raise.arguments);
                all.try_for_each(|value| self.bind(|binder| binder.scalar(value)))
            }
            StatementKind::Execute(execute) => self.execute(execute),
            _ => Ok(()),
        }
    }

    /// EXECUTE: the procedure may be missing, the variables may not.
    fn execute(&self, execute: &'w Execute) -> Result<()> {
        if let ExecuteModule::Text(text) = &execute.module {
            return self.bind(|binder| binder.scalar(text));
        }
        let arguments = execute
            .arguments
            .iter()
            .filter_map(|argument| match &argument.value.kind {
                ExpressionKind::Variable(name) => Some(name),
                _ => None,
            });
        let mut named = arguments.chain(&execute.return_variable);
        let is_unknown = |name: &&String| self.scope.scalar(name).is_none() && self.scope.table(name).is_none();
        match named.find(is_unknown) {
            Some(name) => Err(messages::variable_not_declared(name)),
            None => Ok(()),
        }
    }
}
