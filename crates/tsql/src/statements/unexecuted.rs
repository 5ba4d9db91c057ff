//! Statements that are not executed: under PARSEONLY, NOEXEC, FMTONLY and SHOWPLAN.
//!
//! | option | set | what happens to a statement |
//! |---|---|---|
//! | PARSEONLY | while a batch is parsed, wherever it is | nothing |
//! | NOEXEC | when it is executed | queries and changes are bound, so that wrong columns are reported |
//! | FMTONLY | when it is executed | queries return their columns; both branches of IF and the bodies of procedures are processed |
//! | SHOWPLAN | when it is executed, alone in its batch | its plan is shown (`showplan`); calls by the client's protocol are refused by 40517 |
//!
//! (SQL Server docs, the pages of these SETs.) The statement that turns one of them off is always executed.

use engine::error::{Error, Result};

use super::execute::CallResult;
use super::executor::{Executor, Flow, Outcome, closed};
use crate::ast::{Query, SetOption, Statement, StatementKind};
use crate::failure::Class;
use crate::prepared::Bound;
use crate::sink::DoneKind;
use crate::state::Execution;

/// Whether a statement is executed all the same.
pub(super) fn is_executed(kind: &StatementKind, execution: Execution) -> bool {
    let turns = |wanted: &dyn Fn(&str) -> bool| match kind {
        StatementKind::SetOption(SetOption::Switch { options, .. }) => options.iter().any(|option| wanted(option)),
        _ => false,
    };
    match execution {
        Execution::Whole => true,
        Execution::Parsed => turns(&|option| option == "PARSEONLY"),
        Execution::Bound => turns(&|option| option == "NOEXEC"),
        Execution::Described => kind.facts().runs_under_fmtonly,
        Execution::Shown(_) => turns(&|option| option.starts_with("SHOWPLAN_")),
    }
}

impl Executor<'_> {
    /// What becomes of a statement that is not executed.
    pub(super) fn pass_over(&mut self, statement: &Statement, execution: Execution) -> Outcome<Flow> {
        match (execution, &statement.kind) {
            (Execution::Shown(_), kind) if kind.facts().has_inside() => self.pass_over_inside(kind),
            (Execution::Shown(how), kind) => {
                let result = self.show_plan(how, kind);
                self.session.end_statement();
                self.told(result, statement.line)
            }
            (Execution::Bound, StatementKind::Block(statements)) => self.statements(statements),
            (Execution::Bound, kind) => {
                let result = self.bind_only(kind);
                self.told(result, statement.line)
            }
            (Execution::Described, StatementKind::Select(query)) => {
                let result = self.describe(query);
                self.told(result, statement.line)
            }
            (Execution::Described, kind) => self.pass_over_inside(kind),
            (Execution::Whole | Execution::Parsed, _) => Ok(Flow::Next),
        }
    }

    /// What becomes of the statements inside of one that only says which of them run: all are passed over, one after the other.
    fn pass_over_inside(&mut self, kind: &StatementKind) -> Outcome<Flow> {
        kind.facts()
            .inside()
            .try_for_each(|inner| self.statement(inner).map(|_| ()))?;
        Ok(Flow::Next)
    }

    /// A call of a system procedure that is not executed.
    pub(super) fn pass_over_call(&mut self, execution: Execution, line: u32) -> Outcome<CallResult> {
        match execution {
            Execution::Shown(kind) => Err(self.plans_are_not_shown(kind, line)),
            _ => Ok(CallResult {
                flow: Flow::Next,
                status: 0,
                value: None,
                outputs: Vec::new(),
            }),
        }
    }

    /// 40517, which ends the batch: nothing of it may seem to have been done.
    fn plans_are_not_shown(&self, kind: &str, line: u32) -> Box<crate::failure::Failure> {
        let failure = self.failure(crate::bind::not_supported(kind), line);
        failure.with_class(Class::BatchAlone)
    }

    fn told(&mut self, result: Result<()>, line: u32) -> Outcome<Flow> {
        match result {
            Ok(()) => Ok(Flow::Next),
            Err(error) => {
                let failure = self.failure(error, line);
                self.handle(failure).map(|()| Flow::Next)
            }
        }
    }

    /// Binds a query or a change. Names of objects are resolved when a statement is executed, so that what does not exist yet is
    /// not an error (SQL Server docs, "Deferred name resolution").
    fn bind_only(&mut self, kind: &StatementKind) -> Result<()> {
        match self.planned(kind) {
            Err(error) if error.number != 208 => Err(error),
            _ => Ok(()),
        }
    }

    /// FMTONLY: the columns of a query, without a row. A query that fills variables or a table has none to tell.
    fn describe(&mut self, query: &Query) -> Result<()> {
        let bound = self.plan(query, |binder, query| Ok(Bound::Query(binder.statement_query(query)?)))?;
        let Bound::Query(bound) = &*bound else {
            return Err(Error::assertion("a SELECT bound to something else"));
        };
        if bound.into.is_some() || bound.assignments.is_some() {
            return Ok(());
        }
        if self.sink.wants_sources() {
            let (sources, hidden) = self.sources_of(query)?;
            self.sink.sources(sources, hidden);
        }
        self.sink.columns(&bound.plan.columns).map_err(closed)?;
        self.session.set_row_count(0);
        self.done(Some(0), DoneKind::Select)
    }
}
