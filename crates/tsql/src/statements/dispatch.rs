//! Running statements in order, each by the file that has it.
//!
//! Blocks, procedures, functions and texts run statements of their own, and come back here by [`Executor::run`] and
//! [`Executor::statements`]: the language nests, so these two calls go up.

use engine::cancel;

use super::done::kind_of;
use super::executor::{Executor, Flow, Outcome};
use super::unexecuted::is_executed;
use crate::ast::{Statement, StatementKind};
use crate::failure::Place;
use crate::messages;
use crate::state::Execution;

impl Executor<'_> {
    /// Runs all statements.
    ///
    /// # Errors
    /// The failure that ended the batch; its message has been sent unless a TRY block is around.
    pub fn run(&mut self) -> Outcome<Flow> {
        let batch = self.batch.clone();
        match self.statements(&batch.statements)? {
            Flow::Goto(label) => {
                let failure = self.failure(messages::label_not_declared(&label), 1);
                self.handle(failure).map(|()| Flow::Next)
            }
            flow => Ok(flow),
        }
    }

    /// Runs statements in order.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> Outcome<Flow> {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            match self.statement(statement)? {
                Flow::Next => at += 1,
                Flow::Goto(label) => match position_of(statements, &label) {
                    Some(position) => at = position + 1,
                    None => return Ok(Flow::Goto(label)),
                },
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a statement that is not control of flow, and tells what it came to if that is asked for.
    fn run_whole(&mut self, statement: &Statement) -> Outcome<Flow> {
        match self.tell_trees(statement)? {
            false => self.run_counted(statement),
            true => self.recompiling(|executor| executor.run_counted(statement)),
        }
    }

    fn run_counted(&mut self, statement: &Statement) -> Outcome<Flow> {
        let is_measured = self.session.options().statistics.any();
        match is_measured {
            false => self.dispatch(statement),
            true => self.measured(statement),
        }
    }

    /// Runs one statement; an error that ends only the statement is sent, and the batch goes on.
    pub(super) fn statement(&mut self, statement: &Statement) -> Outcome<Flow> {
        let may_run = cancel::look().and_then(|()| crate::stack::require());
        may_run.map_err(|error| self.failure(error, statement.line))?;
        let execution = self.session.options().execution();
        if execution != Execution::Whole && !is_executed(&statement.kind, execution) {
            return self.pass_over(statement, execution);
        }
        if is_flow(&statement.kind) {
            return self.flow(statement);
        }
        if !self.session.is_in_unit() && !self.returns.is_function() {
            self.session.instance.look_for_checkpoints();
        }
        self.session.take_time();
        self.line = statement.line;
        self.statement_kind = kind_of(&statement.kind);
        self.has_undone.set(false);
        self.place.set(Place::Execution);
        let outcome = match self.batch.template(statement, self.session) {
            None => self.run_whole(statement),
            Some(template) => self.with_parameters(&template, Self::run_whole),
        };
        self.count_execution();
        self.session.end_statement();
        match outcome {
            Ok(flow) => {
                if !keeps_error(&statement.kind) {
                    self.session.set_error_number(0);
                }
                Ok(flow)
            }
            Err(mut failure) => {
                failure.undoes = self.has_undone.take() && is_change(&statement.kind) || failure.message.number == 1505;
                self.handle(failure).map(|()| Flow::Next)
            }
        }
    }

    /// Runs a statement that is not control of flow.
    pub(super) fn dispatch(&mut self, statement: &Statement) -> Outcome<Flow> {
        let line = statement.line;
        if !works_without_database(&statement.kind)
            && let Err(error) = self.session.check_intact()
        {
            return Err(self.failure(error, line));
        }
        let result = match &statement.kind {
            StatementKind::Select(query) => self.select(query, line),
            StatementKind::Insert(insert) => self.with_current_plan(|executor| executor.insert(insert, line)),
            StatementKind::Update(update) => self.with_current_plan(|executor| executor.update(update, line)),
            StatementKind::Delete(delete) => self.with_current_plan(|executor| executor.delete(delete, line)),
            StatementKind::Declare(declarations) => self.declare(declarations),
            StatementKind::SetVariable(assignment) => self.set_variable(assignment),
            StatementKind::SetOption(option) => self.set_option(option),
            StatementKind::Print(expression) => return self.print(expression, line),
            StatementKind::RaiseError(raise) => return self.raise_error(raise, line),
            StatementKind::Throw(throw) => return self.throw(throw.as_deref(), line),
            StatementKind::Execute(execute) => return self.execute(execute, line),
            StatementKind::BeginTransaction { .. }
            | StatementKind::CommitTransaction { .. }
            | StatementKind::RollbackTransaction { .. }
            | StatementKind::SaveTransaction(_) => self.transaction(&statement.kind),
            StatementKind::DeclareCursor(_)
            | StatementKind::SetCursorVariable(_)
            | StatementKind::OpenCursor(_)
            | StatementKind::FetchCursor(_)
            | StatementKind::CloseCursor(_)
            | StatementKind::DeallocateCursor(_) => self.cursor(statement),
            StatementKind::CreateFunction(function) => return self.create_function(function, line),
            StatementKind::CreateProcedure(procedure) => return self.create_procedure(procedure, line),
            StatementKind::CreateView(view) => return self.create_view(view, line),
            StatementKind::WaitFor { kind, value } => self.wait_for(*kind, value),
            other => match self.system_statement(statement) {
                Some(outcome) => return outcome,
                None => {
                    let result = self.definition(other, line);
                    let conflicts = matches!(&result, Err(error) if error.number == 547);
                    if conflicts && matches!(other, StatementKind::AlterTable(_)) {
                        self.place.set(Place::Definition);
                    }
                    result
                }
            },
        };
        result.map(|()| Flow::Next).map_err(|error| self.failure(error, line))
    }
}

/// Whether a statement changes rows. (What else fails changes nothing that a client would look for.)
fn is_change(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) | StatementKind::Select(_)
    )
}

/// Where a label stands in a list of statements.
fn position_of(statements: &[Statement], label: &str) -> Option<usize> {
    statements
        .iter()
        .position(|statement| matches!(&statement.kind, StatementKind::Label(name) if name.is(label)))
}

/// Control of flow: runs other statements, and neither fails nor counts by itself.
fn is_flow(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Block(_)
            | StatementKind::If(_)
            | StatementKind::While(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(_)
            | StatementKind::Goto(_)
            | StatementKind::Label(_)
            | StatementKind::TryCatch { .. }
    )
}

/// Statements with which a session leaves a database whose log has failed, or mends it.
fn works_without_database(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Use(_)
            | StatementKind::SetOption(_)
            | StatementKind::AlterDatabase(_)
            | StatementKind::Restore(_)
            | StatementKind::Kill { .. }
            | StatementKind::Shutdown { .. }
            | StatementKind::Print(_)
            | StatementKind::CommitTransaction { .. }
            | StatementKind::RollbackTransaction { .. }
    )
}

/// Statements after which `@@ERROR` is not theirs.
fn keeps_error(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Declare(_) | StatementKind::RaiseError(_) | StatementKind::Execute(_)
    )
}
