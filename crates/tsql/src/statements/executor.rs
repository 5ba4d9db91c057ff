//! Running a batch: statements in order, errors by their reach.

use std::rc::Rc;

use engine::cancel;
use engine::error::{Error, Result};
use engine::memory::Charge;
use engine::types::{SqlType, Value};

use super::batch::{Bound, CompiledBatch};
use super::error::{Failure, Reach};
use super::unexecuted::is_executed;
use crate::ast::{Numbered, Statement, StatementKind};
use crate::bind::Binder;
use crate::exec::{Context, TableVariable, Variables};
use crate::session::{Dependencies, DoneKind, Execution, Message, ResultSink, SessionState, SinkClosed};

/// How often a statement is bound anew because definitions change while it is bound. Each time somebody else has ended a statement of
/// CREATE, ALTER or DROP.
const BINDINGS_MAX: usize = 1_000;

/// Where execution goes after a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Flow {
    /// On.
    Next,
    /// Out of the loop.
    Break,
    /// To the loop's next turn.
    Continue,
    /// Out of the batch or procedure, with its status.
    Return(i32),
    /// To a label.
    Goto(String),
    /// The server shuts down; true with NOWAIT.
    Shutdown(bool),
}

/// What was bound just now.
pub(super) struct New<T> {
    pub(super) bound: T,
    /// What it takes.
    bytes: u64,
    /// What was asked for it.
    charge: Charge,
    dependencies: Dependencies,
}

/// What a statement ends in.
pub(super) type Outcome<T> = std::result::Result<T, Box<Failure>>;

/// Runs one batch or procedure.
pub struct Executor<'s> {
    /// The session.
    pub session: &'s SessionState,
    /// Who is told.
    pub sink: &'s mut dyn ResultSink,
    /// What runs.
    pub batch: Rc<CompiledBatch>,
    /// Its variables.
    pub variables: Variables,
    /// The procedure's name; empty in a batch.
    pub procedure: String,
    /// How many TRY blocks are around the current statement, those of callers included.
    pub try_depth: usize,
    /// What RETURN may say.
    pub(super) returns: Returns,
    /// What RETURN of a function has said.
    pub(super) returned: Value,
}

/// What the code that runs answers to who has called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    /// Nothing: a batch.
    Nothing,
    /// A status: a procedure, or a text that is called like one.
    Status,
    /// A value of this type: a scalar function.
    Value(SqlType),
    /// Rows: a table-valued function.
    Rows,
}

impl Returns {
    /// Whether a function runs: an error ends it, and is the error of the statement that called it.
    pub(super) fn is_function(self) -> bool {
        matches!(self, Returns::Value(_) | Returns::Rows)
    }
}

impl<'s> Executor<'s> {
    /// An executor with all variables NULL.
    pub fn new(session: &'s SessionState, sink: &'s mut dyn ResultSink, batch: Rc<CompiledBatch>) -> Executor<'s> {
        Executor::with_values(session, sink, batch, Vec::new())
    }

    /// An executor whose first variables have these values; the others are NULL.
    pub(super) fn with_values(
        session: &'s SessionState,
        sink: &'s mut dyn ResultSink,
        batch: Rc<CompiledBatch>,
        mut values: Vec<Value>,
    ) -> Executor<'s> {
        values.resize(batch.scope.types().len(), Value::Null);
        let shapes = batch.scope.shapes().iter();
        let tables = shapes.map(|shape| TableVariable::new(shape.clone())).collect();
        Executor {
            session,
            sink,
            batch,
            variables: Variables::new(values, tables),
            procedure: String::new(),
            try_depth: 0,
            returns: Returns::Nothing,
            returned: Value::Null,
        }
    }

    /// Runs all statements.
    ///
    /// # Errors
    /// The failure that ended the batch; its message has been sent unless a TRY block is around.
    pub fn run(&mut self) -> Outcome<Flow> {
        let batch = self.batch.clone();
        match self.statements(&batch.statements)? {
            Flow::Goto(label) => {
                let failure = self.failure(crate::messages::label_not_declared(&label), 1);
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

    /// Runs one statement; an error that ends only the statement is told and passed over.
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
        self.session.take_time();
        let outcome = self.dispatch(statement);
        self.session.end_statement();
        match outcome {
            Ok(flow) => {
                if !keeps_error(&statement.kind) {
                    self.session.set_error_number(0);
                }
                Ok(flow)
            }
            Err(failure) => self.handle(failure).map(|()| Flow::Next),
        }
    }

    /// Decides about a failure: hands it to the TRY block around, or tells the client and perhaps goes on.
    pub(super) fn handle(&mut self, failure: Box<Failure>) -> Outcome<()> {
        if self.returns.is_function() {
            return Err(failure);
        }
        self.session.set_error_number(failure.message.number);
        if failure.silent {
            return Err(failure);
        }
        let ends_transaction = failure.message.number == 1205;
        if ends_transaction {
            self.roll_back_everything();
        }
        let xact_abort = self.session.options().xact_abort && failure.obeys_xact_abort;
        if self.try_depth > 0 && failure.reach < Reach::Session {
            if xact_abort || failure.dooms {
                self.session.doom();
            }
            return Err(failure);
        }
        let mut failure = failure;
        if !failure.told {
            self.send(&failure.message)?;
            failure.told = true;
        }
        let ends_batch = failure.reach > Reach::Statement || xact_abort && failure.message.severity > 10;
        if !ends_batch {
            return Ok(());
        }
        if (xact_abort || failure.dooms) && self.session.transaction_count() > 0 {
            self.roll_back_everything();
        }
        Err(failure)
    }

    /// Runs a statement that is not control of flow.
    fn dispatch(&mut self, statement: &Statement) -> Outcome<Flow> {
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
            | StatementKind::DeallocateCursor(_) => self.cursor(&statement.kind),
            StatementKind::CreateFunction(function) => return self.create_function(function, line),
            StatementKind::WaitFor { kind, value } => self.wait_for(*kind, value),
            other => match self.system_statement(statement) {
                Some(outcome) => return outcome,
                None => self.definition(other, line),
            },
        };
        result.map(|()| Flow::Next).map_err(|error| self.failure(error, line))
    }

    /// A failure at a line of what runs.
    pub(super) fn failure(&self, error: Error, line: u32) -> Box<Failure> {
        Box::new(Failure::new(error, line, &self.procedure))
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Message) -> Outcome<()> {
        self.sink
            .message(message)
            .map_err(|SinkClosed| Box::new(Failure::closed()))
    }

    /// Sends an information message of severity 0 to 10.
    pub(super) fn inform(&mut self, number: i32, severity: u8, line: u32, text: impl Into<String>) -> Result<()> {
        let message = Message {
            number,
            severity,
            state: 1,
            line,
            procedure: self.procedure.clone(),
            text: text.into(),
        };
        self.sink.message(&message).map_err(closed)
    }

    /// Tells that a statement is done. Under NOCOUNT the count is left out, and statements without rows say nothing.
    pub(super) fn done(&mut self, count: Option<u64>, kind: DoneKind) -> Result<()> {
        if kind == DoneKind::Select {
            // What was read is told of only if it may be seen to the end.
            self.session.check_intact()?;
        }
        let nocount = self.session.options().nocount;
        if nocount && kind != DoneKind::Select {
            return Ok(());
        }
        let count = if nocount { None } else { count };
        self.sink.done(count, kind).map_err(closed)
    }

    /// The plan of a piece of syntax: the kept one, or one bound now.
    pub(super) fn plan<K: Numbered>(
        &self,
        key: &K,
        bind: impl for<'b> Fn(&mut Binder<'b>, &'b K) -> Result<Bound>,
    ) -> Result<Rc<Bound>> {
        self.session.check_intact()?;
        let number = key.number();
        if let Some(kept) = self.batch.plan(number, self.session)? {
            return Ok(kept);
        }
        let New {
            bound,
            bytes,
            dependencies,
            charge: _charge,
        } = self.bound(key, bind)?;
        let bound = Rc::new(bound);
        if number.is_given() {
            self.batch
                .keep(number, bound.clone(), bytes, dependencies, self.session);
        }
        Ok(bound)
    }

    /// Binds a piece of syntax, to definitions that are held until the end of the statement.
    ///
    /// # Errors
    /// Those of binding and of waiting for locks; 2801 when definitions never stay for as long as binding takes.
    pub(super) fn bound<K, T>(
        &self,
        key: &K,
        bind: impl for<'b> Fn(&mut Binder<'b>, &'b K) -> Result<T>,
    ) -> Result<New<T>> {
        for _ in 0..BINDINGS_MAX {
            self.session.take_dependencies();
            let mut binder = Binder::new(self.session, &self.batch.scope);
            let bound = match bind(&mut binder, key) {
                Err(error) if error.number == Error::DEFINITION_CHANGED => continue,
                outcome => outcome?,
            };
            let (bytes, charge) = binder.take_size();
            let dependencies = self.session.take_dependencies();
            // Definitions that changed in the middle of it may have given the plan parts that do not belong together.
            if dependencies.are_current(self.session) {
                return Ok(New {
                    bound,
                    bytes,
                    charge,
                    dependencies,
                });
            }
        }
        Err(Error::definition_changed(&self.procedure))
    }

    /// What evaluation of this statement sees.
    pub(super) fn context(&self) -> Context<'_> {
        Context::new(self.session, &self.variables)
    }
}

/// The client is gone: nothing that is sent would arrive.
pub(super) fn closed(_: SinkClosed) -> Error {
    Error::cancelled()
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
