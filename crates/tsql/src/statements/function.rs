//! User-defined functions: running their statements for the plans that call them.
//!
//! A function is part of the statement that calls it: it sees that statement's time, leaves `@@ROWCOUNT`, `@@ERROR` and the identity
//! as they were, begins and ends no transaction, keeps no lock beyond its own statements that the isolation level does not keep,
//! and its error is that statement's error. "Transact-SQL errors that cause a statement to be canceled and continue with the next
//! statement in the module are treated differently inside a function. In functions, such errors cause the execution of the
//! function to stop" (sql-docs, "Create user-defined functions").
//!
//! If no statement has an active unit of work (SET, IF, PRINT, arguments of EXECUTE), the outermost call gets its own.

use std::rc::Rc;

use engine::error::{Error, Result};
use engine::types::{SqlType, Value};

use super::executor::{Executor, Flow, Outcome, Returns};
use crate::ast::Expression;
use crate::context::Variables;
use crate::modules::{ModuleBody, ModuleCall};
use crate::prepared::{Bound, Prepared};
use crate::sink::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};
use crate::state::{FunctionFrame, LevelFrame, ModuleCaller, SessionState, TableLender, UnitFrame};

/// Runs functions of the user for the plans of a session.
pub(crate) struct FunctionRunner {
    prepared: Rc<Prepared>,
}

impl FunctionRunner {
    /// With what the session has ready to be executed.
    pub(crate) fn new(prepared: Rc<Prepared>) -> FunctionRunner {
        FunctionRunner { prepared }
    }

    /// Runs a function; what RETURN said, and the variables as they are at its end.
    fn call(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        returns: Returns,
        arguments: (Vec<Value>, &dyn TableLender),
    ) -> Result<(Value, Variables)> {
        let _level = LevelFrame::enter(session)?;
        let _frame = FunctionFrame::enter(session);
        let schema = call.module.name.split('.').next();
        session.within_database(&call.database, || {
            session.within_schema(schema, || {
                session.under_settings(call.module.settings, || {
                    session.within_module(call.module.object_id, || {
                        session.within_context(call.module.execute_as, || {
                            within_unit(session, || self.run(session, call, returns, arguments))
                        })
                    })
                })
            })
        })
    }

    fn run(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        returns: Returns,
        arguments: (Vec<Value>, &dyn TableLender),
    ) -> Result<(Value, Variables)> {
        let (values, caller) = arguments;
        let callable = self.prepared.callable(&call.module, &call.database)?;
        let mut client = NoClient;
        let mut executor = Executor::with_values(session, &self.prepared, &mut client, callable.batch, values);
        executor.procedure.clone_from(&call.module.name);
        executor.returns = returns;
        executor.with_lent_tables(caller, &call.tables, |executor| {
            executor.run_module().map(|_| ()).map_err(|failure| failure.error())
        })?;
        Ok((executor.returned, executor.variables))
    }
}

/// No receiver, because a function has no client.
struct NoClient;

impl ResultSink for NoClient {
    fn columns(&mut self, _columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _row: &[Value]) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, _message: &Message) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }
}

impl ModuleCaller for FunctionRunner {
    fn scalar(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        values: Vec<Value>,
        caller: &dyn TableLender,
    ) -> Result<Value> {
        let ModuleBody::Scalar {
            returns, null_on_null, ..
        } = &call.module.body
        else {
            return Err(Error::assertion("a function that is not scalar is called for a value"));
        };
        if *null_on_null && values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        Ok(self.call(session, call, Returns::Value(*returns), (values, caller))?.0)
    }

    fn rows(
        &self,
        session: &SessionState,
        call: &ModuleCall,
        arguments: (Vec<Value>, &dyn TableLender),
        each: &mut dyn FnMut(Vec<Value>) -> Result<()>,
    ) -> Result<()> {
        let (_, variables) = self.call(session, call, Returns::Rows, arguments)?;
        let mut tables = variables.tables.take();
        let returned = tables
            .get_mut(call.module.table_parameters())
            .map(|table| std::mem::take(&mut table.rows));
        returned.unwrap_or_default().into_iter().flatten().try_for_each(each)
    }

    fn first_result(&self, session: &SessionState, text: (&str, &str), browse: bool) -> Result<Vec<Vec<Value>>> {
        let mut client = NoClient;
        let empty = self.prepared.empty_batch().map_err(|failure| failure.error())?;
        let _frame = FunctionFrame::enter(session);
        Executor::new(session, &self.prepared, &mut client, empty).first_result(text, browse)
    }
}

/// Runs a function inside of the unit of the statement that calls it, or inside of one of its own when that has none.
fn within_unit<T>(session: &SessionState, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_own = !session.is_in_unit() && session.transaction_count() == 0;
    if is_own {
        session.engine.borrow_mut().begin();
    }
    let unit = UnitFrame::of_function(session);
    let result = work();
    drop(unit);
    if is_own {
        let mut engine = session.engine.borrow_mut();
        match &result {
            Ok(_) => engine.commit()?,
            Err(_) => engine.roll_back()?,
        }
    }
    result
}

impl Executor<'_> {
    /// RETURN of a scalar function.
    pub(super) fn function_value(&mut self, value: &Expression, sql_type: SqlType, line: u32) -> Outcome<Flow> {
        let bound = self.plan(value, |binder, value| {
            Ok(Bound::Expressions(vec![binder.scalar_as(value, sql_type)?]))
        });
        let value = bound.and_then(|bound| self.first_value(&bound));
        self.returned = value.map_err(|error| self.failure(error, line))?;
        Ok(Flow::Return(0))
    }
}
