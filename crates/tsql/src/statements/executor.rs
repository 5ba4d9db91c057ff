//! The executor of a batch, as used by every statement: the session, the client, the variables, plans, and errors by their reach.
//!
//! Invariant: it knows no statements. `dispatch` decides which statement runs, and in which order.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::buffer::{PageUse, page_use};
use engine::error::{Error, Result};
use engine::errorlog::ErrorNumbers;
use engine::memory::Charge;
use engine::session::USER_TRANSACTION;
use engine::types::{SqlType, Value};
use engine::waits::waited_micros;

use crate::ast::{Numbered, Statement};
use crate::bind::{Binder, PlanAdvice};
use crate::context::{Context, TableVariable, Variables};
use crate::failure::{Class, Failure, Fate, Place, Reach};
use crate::optimize::estimate::{Expectations, Peeked, Premises};
use crate::optimize::{Logical, Optimizer};
use crate::plan_cache::{CountedHints, Execution, PlanCache, QueryStatistics};
use crate::prepared::{Bound, CompiledBatch, Planned, Prepared, Template};
use crate::sink::{DoneKind, Message, ResultSink, SinkClosed};
use crate::state::{CursorReading, Dependencies, SessionState, SharedCursor};

/// How often a statement is bound again because definitions change while it is bound. Each time another session has ended a CREATE,
/// ALTER or DROP.
pub(super) const BINDINGS_MAX: usize = 1_000;

/// Errors from this severity on are the administrator's as well.
const FATAL_SEVERITY_MIN: u8 = 20;
/// The log of a database cannot be used: reported once, by the log.
const LOG_NOT_AVAILABLE: i32 = 9001;
/// The first number of messages that are not the server's.
const FIRST_OF_USERS: i32 = 50_000;

/// Where execution goes after a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Flow {
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

/// An execution that is counted when it ends.
struct Running {
    statistics: Arc<QueryStatistics>,
    /// The time, in microseconds since 1970.
    began_unix_micros: u64,
    /// By the clock that is never set.
    began_micros: u64,
    waited_micros: u64,
    pages: PageUse,
    /// The most threads of what it is a part of, so far.
    degree_around: u64,
}

impl Running {
    fn begin(statistics: &Arc<QueryStatistics>, session: &SessionState) -> Running {
        Running {
            statistics: statistics.clone(),
            began_unix_micros: session.now_unix_micros(),
            began_micros: session.instance.env.clock.now_micros(),
            waited_micros: waited_micros(),
            pages: page_use(),
            degree_around: session.replace_degree(1),
        }
    }

    fn end(self, session: &SessionState) {
        let elapsed = session.instance.env.clock.now_micros() - self.began_micros;
        let degree = session.replace_degree(1);
        session.replace_degree(degree.max(self.degree_around));
        self.statistics.add(Execution {
            began_unix_micros: self.began_unix_micros,
            elapsed_micros: elapsed,
            worker_micros: elapsed.saturating_sub(waited_micros() - self.waited_micros),
            pages: page_use() - self.pages,
            rows: u64::try_from(session.row_count()).unwrap_or(0),
            degree,
        });
    }
}

/// What was bound just now.
pub(super) struct New<T> {
    pub(super) bound: T,
    /// Whether it is for this execution alone.
    is_once: bool,
    /// What is expected of its operators.
    expectations: Expectations,
    /// Until when the statistics are in date that it was made from.
    premises: Premises,
    /// What it takes.
    bytes: u64,
    /// What was asked for it.
    charge: Charge,
    dependencies: Dependencies,
}

impl<T> New<T> {
    /// What was bound, for someone who keeps it beyond the statement, and what that depends on.
    pub(super) fn into_parts(self) -> (T, Dependencies) {
        (self.bound, self.dependencies)
    }
}

/// What a statement ends in.
pub(super) type Outcome<T> = std::result::Result<T, Box<Failure>>;

/// What is so of the statement under way alone: the next one begins with a frame of its own.
pub(super) struct StatementFrame {
    /// The line of its first word, in the batch or module.
    pub(super) line: u32,
    /// Where it stands in the text of its batch or module.
    pub(super) span: (u32, u32),
    /// What the client learns that it was.
    pub(super) done: DoneKind,
    /// What the transaction is called that it is by itself.
    pub(super) transaction_name: &'static str,
    /// Whether it failed when it had begun to change rows.
    pub(super) has_undone: Cell<bool>,
    /// Where it has met its error.
    pub(super) place: Cell<Place>,
    /// What has ended one of its triggers, and so the statement: with the trigger's name and line, told or not.
    pub(super) in_trigger: RefCell<Option<Box<Failure>>>,
}

impl StatementFrame {
    pub(super) fn new(line: u32, done: DoneKind, transaction_name: Option<&'static str>) -> StatementFrame {
        StatementFrame {
            line,
            span: (0, 0),
            done,
            transaction_name: transaction_name.unwrap_or(USER_TRANSACTION),
            has_undone: Cell::new(false),
            place: Cell::new(Place::Execution),
            in_trigger: RefCell::default(),
        }
    }
}

/// Runs one batch or procedure.
pub struct Executor<'s> {
    pub session: &'s SessionState,
    /// What the session has ready to be executed.
    pub prepared: &'s Prepared,
    /// Where results and messages go.
    pub sink: &'s mut dyn ResultSink,
    /// What runs.
    pub batch: Rc<CompiledBatch>,
    pub variables: Variables,
    /// The procedure's name; empty in a batch.
    pub procedure: String,
    /// How many TRY blocks are around the current statement, those of callers included.
    pub try_depth: usize,
    /// Those of callers alone.
    pub(super) outer_try_depth: usize,
    /// What RETURN may say.
    pub(super) returns: Returns,
    /// What RETURN of a function has said.
    pub(super) returned: Value,
    /// The statement under way.
    pub(super) statement: StatementFrame,
    /// The highest severity among the errors that it went on after.
    pub(super) severity_max: u8,
    /// Rows sent of a result set that is not over.
    pub(super) rows_sent: Option<u64>,
    /// WITH RECOMPILE: no plan of it is kept.
    pub(super) recompiles: bool,
    /// The batch whose statement runs with parameters in place of its constants.
    pub(super) whole: Option<Rc<CompiledBatch>>,
    running: RefCell<Option<Running>>,
    /// The plan that the statement under way runs by, where its figures are counted.
    pub(super) ran: RefCell<Option<Planned>>,
    /// The row that the statement under way changes, if it is a cursor's.
    pub(super) at_cursor: Option<Rc<CursorReading>>,
    /// What the last call has given the parameters that are cursors, by their names.
    pub(super) given_cursors: Vec<(String, SharedCursor)>,
    /// The database that the module or text called last was in at its end, where USE has left the caller's.
    pub(crate) used_database: Option<String>,
}

/// What the running code returns to its caller.
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
    pub fn new(
        session: &'s SessionState,
        prepared: &'s Prepared,
        sink: &'s mut dyn ResultSink,
        batch: Rc<CompiledBatch>,
    ) -> Executor<'s> {
        Executor::with_values(session, prepared, sink, batch, Vec::new())
    }

    /// An executor whose first variables have these values; the others are NULL.
    pub(super) fn with_values(
        session: &'s SessionState,
        prepared: &'s Prepared,
        sink: &'s mut dyn ResultSink,
        batch: Rc<CompiledBatch>,
        mut values: Vec<Value>,
    ) -> Executor<'s> {
        values.resize(batch.scope.types().len(), Value::Null);
        let shapes = batch.scope.shapes().iter();
        let tables = shapes.map(|shape| TableVariable::new(shape.clone())).collect();
        Executor {
            session,
            prepared,
            sink,
            batch,
            variables: Variables::new(values, tables),
            procedure: String::new(),
            try_depth: 0,
            outer_try_depth: 0,
            returns: Returns::Nothing,
            returned: Value::Null,
            statement: StatementFrame::new(1, DoneKind::Other, None),
            severity_max: 0,
            rows_sent: None,
            recompiles: false,
            whole: None,
            running: RefCell::default(),
            ran: RefCell::default(),
            at_cursor: None,
            given_cursors: Vec::new(),
            used_database: None,
        }
    }

    /// Runs a statement with parameters in place of its constants.
    pub(super) fn with_parameters<T>(
        &mut self,
        template: &Template,
        run: impl FnOnce(&mut Self, &Statement) -> Outcome<T>,
    ) -> Outcome<T> {
        let code = template.batch.code().clone();
        let Some(statement) = code.statements.first() else {
            return Err(self.failure(Error::assertion("a template without a statement"), self.statement.line));
        };
        template.batch.use_once();
        let values = Variables::new(template.values.clone(), Vec::new());
        let variables = std::mem::replace(&mut self.variables, values);
        self.whole = Some(std::mem::replace(&mut self.batch, template.batch.clone()));
        let outcome = run(self, statement);
        if let Some(whole) = self.whole.take() {
            self.batch = whole;
        }
        self.variables = variables;
        outcome
    }

    /// Decides about a failure: hands it to the TRY block around, or tells the client and perhaps goes on.
    pub(super) fn handle(&mut self, failure: Box<Failure>) -> Outcome<()> {
        if self.returns.is_function() {
            return Err(failure);
        }
        self.session.set_error_number(failure.last_message().number);
        if failure.silent {
            return Err(failure);
        }
        let mut failure = failure;
        let in_try = match failure.class {
            Class::Binding => self.outer_try_depth > 0,
            _ => self.try_depth > 0,
        };
        let effect = failure.class.effect(self.session.options().xact_abort, in_try);
        failure.reach = match failure.told {
            // What has ended the batch inside of a procedure ends it here, whatever the procedure's XACT_ABORT was.
            true => failure.reach.max(effect.reach),
            false => effect.reach,
        };
        if effect.is_caught {
            self.end_rows_cut_short()?;
        }
        if failure.message.number == 1205 {
            // Others wait for the victim's locks: they are free before CATCH runs.
            self.roll_back_everything(effect.is_caught);
        }
        if effect.is_caught {
            if effect.fate == Fate::Doomed {
                self.session.doom();
            }
            return Err(failure);
        }
        self.tell(&mut failure)?;
        if failure.reach == Reach::Statement {
            if failure.undoes {
                self.send(&failure.statement_terminated())?;
            }
            // The statement is over, and the client learns which of them failed, under NOCOUNT too.
            self.rows_sent = None;
            let told = self.sink.done(None, self.statement.done);
            return told.map_err(|SinkClosed| Box::new(Failure::closed()));
        }
        if effect.fate == Fate::RolledBack && self.session.transaction_count() > 0 {
            self.roll_back_everything(false);
        }
        Err(failure)
    }

    /// Ends a result set in whose midst an error came that the client does not see, or what CATCH sends next would belong to it. It has as
    /// many rows as were sent.
    fn end_rows_cut_short(&mut self) -> Outcome<()> {
        let Some(count) = self.rows_sent.take() else {
            return Ok(());
        };
        let count = (!self.session.options().nocount).then_some(count);
        let told = self.sink.done(count, DoneKind::Select);
        told.map_err(|SinkClosed| Box::new(Failure::closed()))
    }

    /// Sends what is said of a failure, once.
    fn tell(&mut self, failure: &mut Failure) -> Outcome<()> {
        self.severity_max = self.severity_max.max(failure.message.severity);
        if failure.told {
            return Ok(());
        }
        self.log_fatal(&failure.message);
        failure.messages().try_for_each(|message| self.send(message))?;
        if failure.is_urgent {
            self.flush()?;
        }
        failure.told = true;
        Ok(())
    }

    /// Errors from severity 20 on stand in the error log as well (SQL Server docs, "Database Engine error severities"). RAISERROR writes
    /// its own, and that a log is not available (9001) was written when it failed.
    fn log_fatal(&self, message: &Message) {
        let is_written = message.number == LOG_NOT_AVAILABLE || message.number >= FIRST_OF_USERS;
        if message.severity < FATAL_SEVERITY_MIN || is_written {
            return;
        }
        let numbers = ErrorNumbers {
            number: message.number,
            severity: message.severity,
            state: message.state,
        };
        let source = format!("spid{}", self.session.id);
        let errorlog = &self.session.instance.env.errorlog;
        errorlog.write_numbered(&source, numbers, message.text.as_str());
    }

    /// What a procedure returns that does not say so itself: 0, or 10 less the highest severity of its errors (Microsoft Knowledge
    /// Base Q96237, "Interpreting Return Status Values from Stored Procedures"); a text returns the number of the error that its last
    /// statement had.
    pub(super) fn default_status(&self) -> i32 {
        match self.procedure.is_empty() {
            true => self.session.error_number(),
            false => status_of(self.severity_max),
        }
    }

    /// A failure at a line of what runs.
    pub(super) fn failure(&self, error: Error, line: u32) -> Box<Failure> {
        if let Some(failure) = self.statement.in_trigger.take() {
            return failure;
        }
        let place = self.statement.place.replace(Place::Execution);
        // "If SET ARITHABORT is ON and SET ANSI WARNINGS is OFF, these error conditions cause the batch to terminate" (SQL Server docs,
        // SET ARITHABORT).
        let ends_batch = crate::state::is_arithmetic(error.number) && !self.session.options().ansi_warnings;
        let failure = Failure::met(error, place, line, &self.procedure);
        match ends_batch {
            true => Box::new(failure).with_class(Class::Batch),
            false => Box::new(failure),
        }
    }

    /// A failure of a statement that makes a module, at a line of the module's text; a trigger's failure stays what it is.
    pub(super) fn failure_of_module(&self, error: Error, line: u32, name: &str) -> Box<Failure> {
        let in_trigger = self.statement.in_trigger.take();
        in_trigger.unwrap_or_else(|| Box::new(Failure::new(error, line, name)))
    }

    pub(super) fn send(&mut self, message: &Message) -> Outcome<()> {
        self.sink
            .message(message)
            .map_err(|SinkClosed| Box::new(Failure::closed()))
    }

    /// Has what was said so far sent now.
    pub(super) fn flush(&mut self) -> Outcome<()> {
        self.sink.flush().map_err(|SinkClosed| Box::new(Failure::closed()))
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

    /// Tells of what the statement has passed over: arithmetic errors, and duplicates, which come as a text of severity 0.
    fn warn_of_what_was_passed_over(&mut self) -> Result<()> {
        let warned = self.session.take_warnings();
        let line = self.statement.line;
        if warned.overflow {
            self.inform(3606, 10, line, "Arithmetic overflow occurred.")?;
        }
        if warned.division {
            self.inform(3607, 10, line, "Division by zero occurred.")?;
        }
        if warned.duplicate {
            self.inform(3604, 0, line, "Duplicate key was ignored.")?;
        }
        Ok(())
    }

    /// Tells that a statement is done. Under NOCOUNT the count is left out, and statements without rows say nothing.
    pub(super) fn done(&mut self, count: Option<u64>, kind: DoneKind) -> Result<()> {
        self.warn_of_what_was_passed_over()?;
        if kind == DoneKind::Select {
            // Counts of what was read are sent only if it may be seen to the end.
            self.session.check_intact()?;
        }
        let nocount = self.session.options().nocount;
        if nocount && kind != DoneKind::Select {
            return Ok(());
        }
        let count = if nocount { None } else { count };
        let kind = match kind {
            DoneKind::Other => self.statement.done,
            known => known,
        };
        self.rows_sent = None;
        self.sink.done(count, kind).map_err(closed)
    }

    /// The plan of a piece of syntax: the kept one, or one bound now.
    pub(super) fn plan<K: Numbered>(
        &self,
        key: &K,
        bind: impl for<'b> Fn(&mut Binder<'b>, &'b K) -> Result<Bound>,
    ) -> Result<Planned> {
        self.session.check_intact()?;
        let number = key.number();
        let kept = if self.recompiles {
            None
        } else {
            self.batch.plan(number, self.session)?
        };
        let planned = match kept {
            Some(kept) => kept,
            None => {
                let New {
                    bound,
                    is_once,
                    expectations,
                    premises,
                    bytes,
                    dependencies,
                    charge: _charge,
                } = self.bound(key, bind)?;
                if let Some(change) = bound.change() {
                    PlanCache::of(&self.session.instance).optimizations().add_change(change);
                }
                let planned = self.batch.planned(
                    (number, self.statement.line),
                    (bound, expectations, premises),
                    dependencies,
                    self.session,
                );
                if number.is_given() && !is_once && !self.recompiles {
                    self.batch.keep(number, &planned, bytes, self.session);
                }
                planned
            }
        };
        if let Some(statistics) = planned.statistics() {
            self.running.replace(Some(Running::begin(statistics, self.session)));
        }
        planned.note_uses(self.session.now_unix_micros());
        self.note_plan(&planned);
        Ok(planned)
    }

    /// Counts the execution of a statement that has ended, if it had a plan.
    pub(super) fn count_execution(&self) {
        if let Some(running) = self.running.take() {
            running.end(self.session);
        }
    }

    /// Runs what was called, which is counted as one execution if it is a module.
    pub(super) fn run_module(&mut self) -> Outcome<Flow> {
        let whole = self.batch.whole_statistics(self.session);
        let running = whole.map(|statistics| Running::begin(&statistics, self.session));
        let outcome = self.run();
        if let Some(running) = running {
            running.end(self.session);
        }
        outcome
    }

    /// What a plan may know of variables: parameters as they are now, and as hints say; others only if it is for this execution alone.
    fn peeked(&self, advice: &PlanAdvice) -> Peeked {
        let values = self.variables.values.borrow();
        // Without advice this is nothing, however many variables the batch has: it is asked for every expression of the batch.
        let looked_at = match (advice.recompile, advice.is_unknown) {
            (true, _) => values.len(),
            (false, true) => 0,
            (false, false) => self.batch.parameters.min(values.len()),
        };
        let known = |value: &Value| (!matches!(value, Value::Held(_))).then(|| value.clone());
        let mut peeked: Vec<Option<Value>> = values[..looked_at].iter().map(known).collect();
        for (slot, value) in advice.values.iter().filter(|(slot, _)| *slot < values.len()) {
            peeked.resize(peeked.len().max(slot + 1), None);
            peeked[*slot].clone_from(value);
        }
        Peeked(peeked)
    }

    /// Remembers by which plan the statement runs, if its figures are counted.
    fn note_plan(&self, planned: &Planned) {
        if self.session.is_measured() && !matches!(**planned, Bound::Condition(_) | Bound::Expressions(_)) {
            self.ran.replace(Some(planned.clone()));
        }
    }

    /// Binds a piece of syntax, to definitions that are held until the end of the statement, and plans it.
    ///
    /// # Errors
    /// Those of binding, of planning and of waiting for locks; 2801 when definitions never stay for as long as binding takes.
    pub(super) fn bound<K, T: Logical>(
        &self,
        key: &K,
        bind: impl for<'b> Fn(&mut Binder<'b>, &'b K) -> Result<T>,
    ) -> Result<New<T>> {
        // It stays so if the statement ends by an error of this.
        self.statement.place.set(Place::Binding);
        for _ in 0..BINDINGS_MAX {
            self.session.take_dependencies();
            let mut binder = Binder::new(self.session, &self.batch.scope);
            let mut bound = match bind(&mut binder, key) {
                Err(error) if error.number == Error::DEFINITION_CHANGED => continue,
                outcome => outcome?,
            };
            let (bytes, charge) = binder.take_size();
            let advice = binder.take_advice();
            let dependencies = self.session.take_dependencies();
            // Definitions that changed in the middle of it may have given the plan parts that do not belong together.
            if dependencies.are_current(self.session) {
                let clock = &self.session.instance.env.clock;
                let began_micros = clock.now_micros();
                let mut optimizer = Optimizer::new(self.session).advised(&advice, self.peeked(&advice));
                bound.optimize(&mut optimizer)?;
                let cache = PlanCache::of(&self.session.instance);
                let elapsed_micros = clock.now_micros() - began_micros;
                let hints = CountedHints {
                    joins: advice.has_join_hint,
                    order: advice.has_order_hint,
                    groups: advice.has_group_hint,
                };
                cache.optimizations().add(elapsed_micros, hints);
                self.statement.place.set(Place::Execution);
                return Ok(New {
                    expectations: bound.expected(optimizer.estimator()),
                    premises: optimizer.estimator().take_premises(),
                    bound,
                    is_once: advice.recompile,
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

/// The status of a procedure whose worst error had this severity (see [`Executor::default_status`]).
pub(crate) fn status_of(severity: u8) -> i32 {
    match severity {
        0..=10 => 0,
        error => 10 - i32::from(error),
    }
}

/// The client is gone: nothing that is sent would arrive.
pub(super) fn closed(_: SinkClosed) -> Error {
    Error::cancelled()
}
