//! EXECUTE: user and system procedures, dynamic SQL.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use engine::catalog::{CatalogObject, ModuleKind, ObjectDefinition};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};
use engine::workspace::Workspace;

use super::cursor_procedures::CursorProcedure;
use super::cursor_told::ToldCursors;
use super::executor::{Executor, Flow, Outcome, Returns, closed};
use super::host::{BatchHost, type_of};
use super::prepared_handles::HandleProcedure;
use super::table_argument::{GivenTable, TableArguments, name_of_table};
use crate::ast::{Argument, Execute, ExecuteModule, ExpressionKind, Literal, Name};
use crate::failure::{Class, Failure, Reach};
use crate::grant::KeptRows;
use crate::messages;
use crate::modules::{LentTable, ModuleBody, ModuleCall, ModuleParameter};
use crate::optimize::Optimizer;
use crate::parser::DEFINING_PROCEDURES;
use crate::prepared::{Callable, CompiledBatch};
use crate::scalar::convert::{convert, convert_given, text_of_statements};
use crate::scalar::xml::XmlCollectionName;
use crate::sink::{CallEnd, DoneKind, Message, ResultColumn, ResultSink, SinkClosed};
use crate::state::{Execution, LevelFrame, ModuleFrame, Through};
use crate::system::procedures::{SystemProcedure, WITHOUT_COUNTS as JOB_PROCEDURES};

/// One argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct GivenArgument<'g> {
    /// With its `@`; empty when passed by position.
    pub(crate) name: &'g str,
    /// Its value; `None` is the word DEFAULT.
    pub(crate) value: Option<Cow<'g, Value>>,
    /// The value's type.
    pub(crate) sql_type: SqlType,
    /// The table, in place of a value.
    pub(crate) table: Option<GivenTable<'g>>,
    /// The caller's cursor variable, in place of a value.
    pub(crate) cursor: Option<GivenCursor<'g>>,
}

/// A cursor variable as an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenCursor<'g> {
    /// The variable, with its `@`.
    variable: &'g str,
    /// Whether it refers to a cursor.
    is_allocated: bool,
}

/// What a callee begins with.
struct Received<'g> {
    /// Of its first variables.
    values: Vec<Value>,
    tables: TableArguments<'g>,
}

/// What runs inside of something else.
struct Frame {
    batch: Rc<CompiledBatch>,
    /// The procedure's name; empty for a text.
    procedure: String,
    returns: Returns,
    recompiles: bool,
    /// The module's clause EXECUTE AS.
    execute_as: Option<i32>,
    /// Its parameters that are cursors.
    cursors: Vec<String>,
}

/// What a call answers.
#[derive(Debug)]
pub(crate) struct CallResult {
    /// Where it ends: [`Flow::Next`], or a shutdown.
    pub(crate) flow: Flow,
    /// The return status.
    pub(crate) status: i32,
    /// What a scalar function returned, in place of a status.
    pub(crate) value: Option<(Value, SqlType)>,
    /// Final values of the parameters that are OUTPUT.
    pub(crate) outputs: Vec<OutputValue>,
}

/// The final value of an OUTPUT parameter.
#[derive(Debug)]
pub(crate) struct OutputValue {
    /// Its place among the arguments of the call.
    pub(crate) position: usize,
    /// Its name, with the `@`.
    pub(crate) name: String,
    pub(crate) sql_type: SqlType,
    pub(crate) value: Value,
    /// The schema collection of typed xml.
    pub(crate) xml_collection: Option<Arc<XmlCollectionName>>,
}

/// What OUTPUT parameters have got, for the arguments that stand for them.
fn given_outputs(procedure: &SystemProcedure, places: &[usize], outputs: Vec<(usize, Value)>) -> Vec<OutputValue> {
    let given = outputs.into_iter().filter_map(|(parameter, value)| {
        let position = places.iter().position(|place| *place == parameter)?;
        let (name, sql_type, _) = procedure.parameters.get(parameter)?;
        Some(OutputValue {
            position,
            name: (*name).to_owned(),
            sql_type: *sql_type,
            value,
            xml_collection: None,
        })
    });
    given.collect()
}

/// Procedures of the system that begin with SET NOCOUNT ON, as far as it is known (tedious tests, "should exec proc as sql").
const WITHOUT_COUNTS: [&str; 1] = ["sp_help"];

/// A procedure of the system that reads texts or handles of the session, so that it runs in the executor itself.
#[derive(Clone, Copy)]
enum ExecutorProcedure {
    ExecuteSql,
    DescribeResultSet,
    DescribeParameters,
    SequenceRange,
    Handle(HandleProcedure),
    Cursor(CursorProcedure),
    ToldCursors(ToldCursors),
}

impl ExecutorProcedure {
    /// The procedure of a name in lower case.
    fn of(name: &str) -> Option<ExecutorProcedure> {
        match name {
            "sp_executesql" => Some(ExecutorProcedure::ExecuteSql),
            super::describe::NAME => Some(ExecutorProcedure::DescribeResultSet),
            super::undeclared::NAME => Some(ExecutorProcedure::DescribeParameters),
            super::sequence::GET_RANGE => Some(ExecutorProcedure::SequenceRange),
            _ => {
                let handle = HandleProcedure::of(name).map(ExecutorProcedure::Handle);
                let cursor = || CursorProcedure::of(name).map(ExecutorProcedure::Cursor);
                let told = || ToldCursors::of(name).map(ExecutorProcedure::ToldCursors);
                handle.or_else(cursor).or_else(told)
            }
        }
    }
}

impl Executor<'_> {
    /// EXECUTE. One of a batch is a call of its own for the client; one inside of what is called is a statement of that.
    pub(super) fn execute(&mut self, execute: &Execute, line: u32) -> Outcome<Flow> {
        let is_of_batch = self.session.nest_level() == 0;
        if is_of_batch {
            self.sink.call_begun();
        }
        let result = match &execute.result_sets {
            None => self.executed(execute, line),
            // What is only described is not held against it.
            Some(_) if self.session.options().execution() != Execution::Whole => self.executed(execute, line),
            Some(sets) => self.within_result_sets(sets, line, |inner| inner.executed(execute, line)),
        };
        let told = match &result {
            Ok((Flow::Shutdown(_), _)) => Ok(()),
            Ok((_, end)) if is_of_batch => self.sink.call_ended(*end).map_err(closed),
            Ok(_) => self.done(None, DoneKind::Execute),
            Err(_) if is_of_batch => self.sink.call_ended(CallEnd::Failed).map_err(closed),
            Err(_) => Ok(()),
        };
        let (flow, _) = result?;
        told.map_err(|error| self.failure(error, line))?;
        match flow {
            shutdown @ Flow::Shutdown(_) => Ok(shutdown),
            _ => Ok(Flow::Next),
        }
    }

    /// What is called, and how it has ended.
    fn executed(&mut self, execute: &Execute, line: u32) -> Outcome<(Flow, CallEnd)> {
        match &execute.module {
            ExecuteModule::Text(text) => {
                let text = self
                    .value_as(text, SqlType::NVarChar(Length::Max))
                    .map_err(|error| self.failure(error, line))?;
                let context = execute.execute_as.as_ref().map(|context| self.login_of(context));
                let context = context.transpose().map_err(|error| self.failure(error, line))?;
                let (session, text) = (self.session, text.as_str().unwrap_or(""));
                let flow = match context {
                    Some(login) => session.within_login(login, || self.execute_text(text))?,
                    None => self.execute_text(text)?,
                };
                Ok((flow, CallEnd::Returned(0)))
            }
            ExecuteModule::Procedure(name) => self.execute_module(execute, name, line),
            ExecuteModule::Variable(variable) => {
                let text = self
                    .variable_text(variable)
                    .map_err(|error| self.failure(error, line))?;
                let name = crate::ast::Name::parse(&text)
                    .ok_or_else(|| self.failure(messages::procedure_not_found(&text), line))?;
                self.execute_module(execute, &name, line)
            }
        }
    }

    fn execute_module(&mut self, execute: &Execute, name: &Name, line: u32) -> Outcome<(Flow, CallEnd)> {
        let given = self
            .given_arguments(&execute.arguments)
            .map_err(|error| self.failure(error, line))?;
        let called = self.call(name, &given, execute.recompile, line)?;
        self.take_outputs(execute, &called)
            .map_err(|error| self.failure(error, line))?;
        let end = match &called.value {
            Some(_) => CallEnd::Finished,
            None => CallEnd::Returned(called.status),
        };
        Ok((called.flow, end))
    }

    fn given_arguments<'g>(&self, arguments: &'g [Argument]) -> Result<Vec<GivenArgument<'g>>> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let table = match &argument.value.kind {
                ExpressionKind::Variable(name) => self.batch.scope.table(name),
                _ => None,
            };
            let cursor = match &argument.value.kind {
                ExpressionKind::Variable(name) => self.given_cursor(name),
                _ => None,
            };
            let is_default = table.is_some()
                || cursor.is_some()
                || matches!(argument.value.kind, ExpressionKind::Literal(Literal::Default));
            let (value, sql_type) = if is_default {
                (Value::Null, SqlType::Int)
            } else {
                self.value_or_held(&argument.value)?
            };
            given.push(GivenArgument {
                name: argument.name.as_deref().unwrap_or_default(),
                value: (!is_default).then_some(Cow::Owned(value)),
                sql_type,
                table: table.map(|(slot, _)| GivenTable::Variable(slot)),
                cursor,
            });
        }
        Ok(given)
    }

    /// A cursor variable as an argument, if the name is one's.
    fn given_cursor<'g>(&self, name: &'g str) -> Option<GivenCursor<'g>> {
        self.batch.scope.is_cursor(name).then(|| {
            let key = self.session.local_cursor(&name.to_lowercase());
            GivenCursor {
                variable: name,
                is_allocated: self.session.cursor(&key).is_some(),
            }
        })
    }

    /// Has the caller's variables refer to the cursors that the parameters of what was called refer to. Those alone that are open come back
    /// (sql-docs, CREATE PROCEDURE, "Use cursor output parameters").
    fn take_cursor(&mut self, variable: &str, parameter: &str) {
        let given = self.given_cursors.iter();
        let mut given = given.filter(|(name, _)| name.eq_ignore_ascii_case(parameter));
        if let Some((_, cursor)) = given.next() {
            let key = self.session.local_cursor(&variable.to_lowercase());
            self.session.cursors.borrow_mut().insert(key, cursor.clone());
        }
    }

    /// Copies OUTPUT parameters and the return status back into the caller's variables.
    fn take_outputs(&mut self, execute: &Execute, called: &CallResult) -> Result<()> {
        for (position, argument) in execute.arguments.iter().enumerate() {
            let output = match &argument.name {
                Some(name) => called
                    .outputs
                    .iter()
                    .find(|output| output.name.eq_ignore_ascii_case(name)),
                None => called.outputs.iter().find(|output| output.position == position),
            };
            let (true, Some(output), ExpressionKind::Variable(variable)) =
                (argument.output, output, &argument.value.kind)
            else {
                continue;
            };
            if self.batch.scope.is_cursor(variable) {
                self.take_cursor(variable, &output.name);
            } else if let Some((slot, sql_type)) = self.batch.scope.scalar(variable) {
                self.context()
                    .set_variable(slot, convert_given(&output.value, output.sql_type, sql_type)?)?;
            }
        }
        self.given_cursors.clear();
        if let Some(variable) = &execute.return_variable {
            let (slot, sql_type) = self
                .batch
                .scope
                .scalar(variable)
                .ok_or_else(|| messages::variable_not_declared(variable))?;
            let returned = match &called.value {
                Some((value, from)) => convert_given(value, *from, sql_type)?,
                None => convert(&Value::Int(called.status), SqlType::Int, sql_type, None)?,
            };
            self.context().set_variable(slot, returned)?;
        }
        Ok(())
    }

    /// Runs a text as a batch of its own: it sees none of the caller's variables.
    pub(super) fn execute_text(&mut self, text: &str) -> Outcome<Flow> {
        let batch = self.text("", text).map_err(only_statement)?.batch.clone();
        let session = self.session;
        let frame = Frame {
            batch,
            procedure: String::new(),
            returns: Returns::Nothing,
            recompiles: false,
            execute_as: None,
            cursors: Vec::new(),
        };
        let received = Received {
            values: Vec::new(),
            tables: Vec::new(),
        };
        let nested = || self.nested(frame, received);
        let nested = || session.within_module(0, nested);
        session.within_schema(None, nested).map(|(flow, _)| flow)
    }

    /// Runs a batch inside this one, with what its first variables have received.
    fn nested(&mut self, frame: Frame, received: Received<'_>) -> Outcome<(Flow, Vec<Value>)> {
        let Frame {
            batch,
            procedure,
            returns,
            recompiles,
            execute_as,
            cursors,
        } = frame;
        let of_module = ModuleFrame::enter(self.session).map_err(|error| self.failure(error, 1))?;
        let (count, name) = (self.session.transaction_count(), procedure.clone());
        let Received { values, tables } = received;
        let mut inner = Executor::with_values(self.session, self.prepared, &mut *self.sink, batch, values);
        inner.procedure = procedure;
        inner.returns = returns;
        inner.recompiles = recompiles;
        (inner.try_depth, inner.outer_try_depth) = (self.try_depth, self.try_depth);
        let result = match inner.receive_tables(&self.variables, &tables) {
            Ok(()) => self
                .session
                .within_context(execute_as, || inner.run_module())
                .map(|flow| match flow {
                    Flow::Next if returns == Returns::Status => Flow::Return(inner.default_status()),
                    other => other,
                }),
            Err(failure) => Err(failure),
        };
        inner.return_tables(&self.variables, &tables);
        let values = inner.variables.values.take();
        self.given_cursors = cursors
            .into_iter()
            .filter_map(|name| {
                let cursor = self.session.cursor(&self.session.local_cursor(&name.to_lowercase()))?;
                let is_open = cursor.borrow().is_open();
                is_open.then_some((name, cursor))
            })
            .collect();
        self.end_temporary_tables();
        self.used_database = of_module.used_database();
        let left = of_module.leave();
        left.map_err(|error| self.failure(error, 1).with_class(Class::Batch))?;
        let flow = match result {
            Err(failure) if failure.class == Class::Binding && (failure.reach < Reach::Batch || !failure.told) => {
                // The scope is over. Its caller goes on behind the EXECUTE, or catches the error.
                if failure.told {
                    self.check_transaction_count(count, name)?;
                }
                return Err(failure.with_class(Class::Statement));
            }
            outcome => outcome?,
        };
        self.check_transaction_count(count, name)?;
        Ok((flow, values))
    }

    /// 266 when a procedure or text has left other transactions open than it found. The new count stays. Implicit transactions
    /// begin where they are needed, inside as well.
    fn check_transaction_count(&mut self, before: u32, procedure: String) -> Outcome<()> {
        let after = self.session.transaction_count();
        if before == after || self.session.options().implicit_transactions {
            return Ok(());
        }
        let error = messages::transaction_count_mismatch(before, after);
        self.handle(Box::new(Failure::new(error, 0, &procedure)))
    }

    /// Calls a procedure by its name; WITH RECOMPILE with plans that are made for this call.
    pub(crate) fn call(
        &mut self,
        name: &Name,
        given: &[GivenArgument<'_>],
        recompiles: bool,
        line: u32,
    ) -> Outcome<CallResult> {
        let own_name = name.object().to_lowercase();
        if self.session.is_in_function() {
            return Err(self.failure(messages::only_functions_in_function(), line));
        }
        if let Some(procedure) = ExecutorProcedure::of(&own_name) {
            return self.in_database_of(name, line, |inner| {
                inner.call_executor_procedure(procedure, &own_name, given, line)
            });
        }
        let found = self
            .session
            .find_in_module(name)
            .map_err(|error| self.failure(error, line))?;
        let found = match self.session.through_synonym(name, found) {
            Ok(Through::Direct(found)) => found,
            // What the synonym stands for is called by its own name, which is what errors tell.
            Ok(Through::Synonym(base, _)) => return self.call(&base, given, recompiles, line),
            Err(error) => return Err(self.failure(error, line)),
        };
        if let Some((database, object)) = found
            && let ObjectDefinition::Module(definition) = &object.definition
        {
            match definition.kind {
                ModuleKind::Procedure => {
                    let (session, schema) = (self.session, definition.schema.as_str());
                    return session.within_schema(Some(schema), || {
                        self.call_user_procedure((&database, &object), &definition.name, given, recompiles, line)
                    });
                }
                ModuleKind::Function => {
                    let called = self.call_function(database, &object, given);
                    return called.map_err(|error| self.failure(error, line));
                }
                ModuleKind::View | ModuleKind::DatabaseTrigger => {}
                ModuleKind::Trigger => {
                    return Err(self.failure(messages::not_a_procedure(&definition.name), line));
                }
            }
        }
        match crate::system::procedures::find(&own_name) {
            Some(procedure) => {
                self.in_database_of(name, line, |inner| inner.call_system_procedure(procedure, given, line))
            }
            None => Err(self.failure(crate::system::procedures::unknown(name), line)),
        }
    }

    fn call_executor_procedure(
        &mut self,
        procedure: ExecutorProcedure,
        own_name: &str,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        match procedure {
            ExecutorProcedure::ExecuteSql => self.execute_sql(given, line),
            ExecutorProcedure::DescribeResultSet => self.describe_first_result_set(given, line),
            ExecutorProcedure::DescribeParameters => self.describe_undeclared_parameters(given, line),
            ExecutorProcedure::SequenceRange => {
                let answered = self.sequence_get_range(given);
                answered.map_err(|error| self.failure(error, line))
            }
            ExecutorProcedure::Handle(procedure) => self.call_handle_procedure(procedure, own_name, given, line),
            ExecutorProcedure::Cursor(procedure) => self.call_cursor_procedure(procedure, own_name, given, line),
            ExecutorProcedure::ToldCursors(procedure) => {
                let told = self.tell_cursors(procedure, given);
                told.map_err(|error| self.failure(error, line))
            }
        }
    }

    /// A procedure runs in its own database, whatever the current one is; a temporary one in the current one.
    fn call_user_procedure(
        &mut self,
        (database, object): (&Arc<Database>, &Arc<CatalogObject>),
        name: &str,
        given: &[GivenArgument<'_>],
        recompiles: bool,
        line: u32,
    ) -> Outcome<CallResult> {
        let module = self.session.module(database, object);
        let module = module.map_err(|error| self.failure(error, line))?;
        let callable = self.prepared.callable(&module, database);
        let callable = callable.map_err(|error| self.failure(error, line))?;
        let missing = |parameter: &str| messages::parameter_not_supplied(name, parameter);
        let values = self.argument_values(&callable, name, given, &missing);
        let values = values.map_err(|error| self.failure(error, line))?;
        let session = self.session;
        let frame = Frame {
            batch: callable.batch.clone(),
            procedure: name.to_owned(),
            returns: Returns::Status,
            recompiles: recompiles || module.is_recompiled,
            execute_as: module.execute_as,
            cursors: cursor_parameters(&callable.parameters),
        };
        let run = || {
            session.under_settings(module.settings, || {
                session.within_module(module.object_id, || {
                    self.run_callable(&callable.parameters, frame, values)
                })
            })
        };
        session.telling_module((database.id, module.object_id), || match name.starts_with('#') {
            true => run(),
            false => session.within_database(database, run),
        })
    }

    /// EXECUTE of a scalar function: parameters that are left out have their defaults, as those of procedures do (sql-docs, CREATE
    /// FUNCTION). Table-valued ones are 2809, as everything else that is not a procedure.
    fn call_function(
        &mut self,
        database: Arc<Database>,
        object: &Arc<CatalogObject>,
        given: &[GivenArgument<'_>],
    ) -> Result<CallResult> {
        let module = self.session.module(&database, object)?;
        let ModuleBody::Scalar { returns, .. } = &module.body else {
            return Err(messages::not_a_procedure(&module.name));
        };
        let sql_type = *returns;
        let callable = self.prepared.callable(&module, &database)?;
        let missing = |parameter: &str| messages::parameter_not_supplied(&module.name, parameter);
        let Received { values, tables } = self.argument_values(&callable, &module.name, given, &missing)?;
        let lent = tables.into_iter().map(|(parameter, table)| match table {
            GivenTable::Variable(variable) => Ok(LentTable { parameter, variable }),
            GivenTable::Client(_) => Err(messages::not_supported(
                "table-valued parameter of a function from a client",
            )),
        });
        let call = ModuleCall {
            module: module.clone(),
            database,
            tables: lent.collect::<Result<_>>()?,
        };
        let caller = self.session.module_caller();
        let value = caller.scalar(self.session, &call, values, &self.variables)?;
        Ok(CallResult {
            flow: Flow::Next,
            status: 0,
            value: Some((value, sql_type)),
            outputs: Vec::new(),
        })
    }

    /// The parameters' values in order: what was given, else their defaults.
    fn argument_values<'g>(
        &self,
        callable: &Callable,
        name: &str,
        given: &[GivenArgument<'g>],
        missing: &dyn Fn(&str) -> Error,
    ) -> Result<Received<'g>> {
        let parameter = |place: usize| callable.parameters.get(place).map(|parameter| parameter.name.as_str());
        let places = places_of(given, &parameter, name)?;
        let mut values = Vec::with_capacity(callable.batch.scope.types().len());
        let (mut tables, mut table_slot) = (Vec::new(), 0);
        for (position, parameter) in callable.parameters.iter().enumerate() {
            let sql_type = parameter.sql_type;
            let argument = places
                .iter()
                .position(|&place| place == position)
                .and_then(|index| given.get(index));
            if let Some(shape) = &parameter.table {
                let table = self.table_given(argument, shape, position)?;
                tables.extend(table.map(|table| (table_slot, table)));
                table_slot += 1;
                values.push(Value::Null);
                continue;
            }
            if parameter.is_cursor {
                argument.map_or_else(|| Err(missing(&parameter.name)), require_cursor)?;
                values.push(Value::Null);
                continue;
            }
            argument.map_or(Ok(()), |argument| self.require_value(argument, sql_type))?;
            let value = argument.and_then(|argument| Some((argument.value.as_deref()?, argument.sql_type)));
            values.push(match (value, &parameter.default) {
                (Some((value, from)), _) => convert_given(value, from, sql_type)?,
                (None, Some(default)) => {
                    let mut binder = crate::bind::Binder::new(self.session, &self.batch.scope);
                    let mut bound = binder.scalar_as(default, sql_type)?;
                    Optimizer::new(self.session).expression(&mut bound)?;
                    crate::exec::evaluate(&bound, &[], &self.context())?.into_owned()
                }
                (None, None) => return Err(missing(&parameter.name)),
            });
        }
        Ok(Received { values, tables })
    }

    /// 206 for a table in place of a value, 16949 for a cursor.
    fn require_value(&self, argument: &GivenArgument<'_>, wanted: SqlType) -> Result<()> {
        if let Some(cursor) = &argument.cursor {
            return Err(messages::cursor_variable_as_value(cursor.variable));
        }
        let given = match argument.table {
            None => return Ok(()),
            Some(GivenTable::Client(table)) => table.type_name()[2],
            Some(GivenTable::Variable(slot)) => {
                let shape = self.batch.scope.shapes().get(slot);
                name_of_table(shape.and_then(|shape| shape.table_type.as_ref()))
            }
        };
        Err(messages::operand_type_clash(given, messages::type_name(wanted)))
    }

    /// Runs a procedure or text with its arguments in place.
    fn run_callable(
        &mut self,
        parameters: &[ModuleParameter],
        frame: Frame,
        received: Received<'_>,
    ) -> Outcome<CallResult> {
        let (flow, finals) = self.nested(frame, received)?;
        let outputs = parameters.iter().zip(finals).enumerate();
        let outputs = outputs
            .filter(|(_, (parameter, _))| parameter.output)
            .map(|(position, (parameter, value))| OutputValue {
                position,
                name: parameter.name.clone(),
                sql_type: parameter.sql_type,
                value,
                xml_collection: parameter.xml_collection.clone(),
            });
        let outputs = outputs.collect();
        Ok(match flow {
            Flow::Shutdown(_) => CallResult {
                flow,
                status: 0,
                value: None,
                outputs,
            },
            Flow::Return(status) => CallResult {
                flow: Flow::Next,
                status,
                value: None,
                outputs,
            },
            _ => CallResult {
                flow: Flow::Next,
                status: 0,
                value: None,
                outputs,
            },
        })
    }

    fn call_system_procedure(
        &mut self,
        procedure: &'static SystemProcedure,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        match self.session.options().execution() {
            Execution::Whole => {}
            execution => return self.pass_over_call(execution, line),
        }
        let prepared = (|| {
            let parameter = |place: usize| procedure.parameters.get(place).map(|parameter| parameter.0);
            let places = places_of(given, &parameter, procedure.name)?;
            let mut values = vec![Value::Null; procedure.parameters.len()];
            for (argument, &place) in given.iter().zip(&places) {
                self.require_value(argument, procedure.parameters[place].1)?;
                if let (Some(value), Some(slot)) = (&argument.value, values.get_mut(place)) {
                    *slot = convert_given(value, argument.sql_type, procedure.parameters[place].1)?.whole()?;
                }
            }
            for (place, (parameter, _, required)) in procedure.parameters.iter().enumerate() {
                if *required && !places.contains(&place) {
                    return Err(messages::parameter_not_supplied(procedure.name, parameter));
                }
            }
            Ok((values, places))
        })();
        let (values, places) = prepared.map_err(|error| self.failure(error, line))?;
        let session = self.session;
        let context = session.system_context(session.database());
        let former = std::mem::replace(&mut self.procedure, procedure.name.to_owned());
        let nocount = session.options().nocount;
        let is_silent = WITHOUT_COUNTS.contains(&procedure.name) || JOB_PROCEDURES.contains(&procedure.name);
        session.change_options(|options| options.nocount |= is_silent);
        let mut outputs = Vec::new();
        let mut run = |executor: &mut Self| {
            let mut host = BatchHost {
                executor,
                line,
                given: &places,
                outputs: Vec::new(),
            };
            let result = procedure.call(&context, &mut host, &values);
            outputs = std::mem::take(&mut host.outputs);
            result
        };
        let is_defining = DEFINING_PROCEDURES.contains(&procedure.name);
        let expected = is_defining.then(|| self.expected_of_procedure(procedure.name, &values));
        let result = match expected.flatten() {
            None => run(self),
            Some(expected) => self.atomically(true, |executor| {
                let status = run(executor)?;
                executor.fire_expected(None, Some(expected))?;
                Ok(status)
            }),
        };
        let failure = result.map_err(|error| self.failure(error, line));
        self.procedure = former;
        session.change_options(|options| options.nocount = nocount);
        let status = failure?;
        Ok(CallResult {
            flow: Flow::Next,
            status,
            value: None,
            outputs: given_outputs(procedure, &places, outputs),
        })
    }

    /// `EXECUTE shop.sys.sp_executesql` runs its text in that database, `shop.sys.sp_help` tells of its objects, and the caller goes on
    /// in its own: what sp_ineachdb and the maintenance scripts of Ola Hallengren rest upon. Neither database can be dropped meanwhile, nor entered by
    /// others under SINGLE_USER. Where what was called has closed the caller's, the batch ends.
    fn in_database_of(
        &mut self,
        name: &Name,
        line: u32,
        work: impl FnOnce(&mut Self) -> Outcome<CallResult>,
    ) -> Outcome<CallResult> {
        let session = self.session;
        let place = session.database_of(name).map_err(|error| self.failure(error, line))?;
        if session.is_in(&place) {
            return work(self);
        }
        let outer = session.database();
        let depth = session.engine.borrow().databases_called_in();
        session
            .enter_database(place)
            .map_err(|error| self.failure(error, line))?;
        let called = work(self);
        let left = session.leave_database(outer, depth);
        let called = called?;
        left.map_err(|error| self.failure(error, line).with_class(Class::Batch))?;
        Ok(called)
    }

    /// `sp_executesql statement, declarations, values...`
    fn execute_sql(&mut self, given: &[GivenArgument<'_>], line: u32) -> Outcome<CallResult> {
        let Some(statement) = given.first() else {
            let error = messages::procedure_expects_parameter("@statement", "ntext/nchar/nvarchar");
            return Err(self.failure(error, line));
        };
        let text_of =
            |argument: Option<&GivenArgument<'_>>| match argument.and_then(|argument| argument.value.as_deref()) {
                Some(value) => text_of_statements(value),
                None => Ok(Value::Null),
            };
        let statement = text_of(Some(statement)).map_err(|error| self.failure(error, line))?;
        let declarations = text_of(given.get(1)).map_err(|error| self.failure(error, line))?;
        let statement = statement.as_str().unwrap_or("");
        let declarations = declarations.as_str().unwrap_or("");
        let mut called = self.parametrised(statement, declarations, given.get(2..).unwrap_or_default(), line)?;
        // Two arguments of sp_executesql come before those of the text.
        called.outputs.iter_mut().for_each(|output| output.position += 2);
        Ok(called)
    }

    /// A text ready to be executed under the session's options.
    pub(super) fn text(&self, declarations: &str, statement: &str) -> Outcome<Rc<Callable>> {
        self.prepared.text(self.session, declarations, statement)
    }

    /// Runs a text with parameters.
    pub(crate) fn parametrised(
        &mut self,
        statement: &str,
        declarations: &str,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        let callable = self.text(declarations, statement).map_err(only_statement)?;
        let missing = |parameter: &str| parameter_missing(declarations, statement, parameter);
        let values = self.argument_values(&callable, "sp_executesql", given, &missing);
        let values = values.map_err(|error| self.failure(error, line))?;
        let session = self.session;
        let frame = Frame {
            batch: callable.batch.clone(),
            procedure: String::new(),
            returns: Returns::Status,
            recompiles: false,
            execute_as: None,
            cursors: cursor_parameters(&callable.parameters),
        };
        let run = || self.run_callable(&callable.parameters, frame, values);
        session.within_schema(None, || session.within_module(0, run))
    }

    /// Does something inside of a text whose parameters have their values.
    pub(super) fn with_values_of<T>(
        &mut self,
        callable: &Callable,
        (declarations, statement): (&str, &str),
        given: &[GivenArgument<'_>],
        work: impl FnOnce(&mut Executor<'_>) -> Result<T>,
    ) -> Result<T> {
        let missing = |parameter: &str| parameter_missing(declarations, statement, parameter);
        let Received { values, .. } = self.argument_values(callable, "sp_cursoropen", given, &missing)?;
        let session = self.session;
        let _level = LevelFrame::enter(session)?;
        let batch = callable.batch.clone();
        let mut inner = Executor::with_values(session, self.prepared, &mut *self.sink, batch, values);
        session.within_schema(None, || session.within_module(0, || work(&mut inner)))
    }

    /// Runs EXECUTE and keeps its result sets, for INSERT ... EXECUTE into so many columns.
    ///
    /// # Errors
    /// 213 as soon as a result set has another number of columns: nothing inside catches it. Those of what is executed; 701.
    pub(super) fn collect_execute(
        &mut self,
        execute: &Execute,
        listed: usize,
        line: u32,
    ) -> Result<(Vec<SqlType>, KeptRows)> {
        let mut collector = Collector {
            listed,
            types: Vec::new(),
            rows: KeptRows::default(),
            refused: None,
            workspace: self.session.instance.workspace.clone(),
            client: &mut *self.sink,
        };
        let variables = std::mem::take(&mut self.variables);
        let mut inner = Executor::new(self.session, self.prepared, &mut collector, self.batch.clone());
        inner.variables = variables;
        // An error inside is this statement's error.
        (inner.try_depth, inner.outer_try_depth) = (self.try_depth + 1, self.outer_try_depth);
        let result = inner.within_insert_execute(|inner| inner.execute(execute, line));
        self.variables = std::mem::take(&mut inner.variables);
        if let Some(refused) = collector.refused {
            return Err(refused);
        }
        result.map_err(|failure| failure.error())?;
        Ok((collector.types, collector.rows))
    }
}

/// The names of the parameters that are cursors.
fn cursor_parameters(parameters: &[ModuleParameter]) -> Vec<String> {
    let cursors = parameters.iter().filter(|parameter| parameter.is_cursor);
    cursors.map(|parameter| parameter.name.clone()).collect()
}

/// 206 for a value in place of a cursor, 16951 for a variable that has one already.
pub(super) fn require_cursor(argument: &GivenArgument<'_>) -> Result<()> {
    match &argument.cursor {
        None => Err(messages::operand_type_clash(
            messages::type_name(argument.sql_type),
            "cursor",
        )),
        Some(cursor) if cursor.is_allocated => Err(messages::cursor_argument_allocated(cursor.variable)),
        Some(_) => Ok(()),
    }
}

/// 8178: a text whose parameter has no value.
fn parameter_missing(declarations: &str, statement: &str, parameter: &str) -> Error {
    let text = format!(
        "The parameterized query '({declarations}){statement}' expects the parameter '{parameter}', which was not supplied."
    );
    Error::new(8178, 16, 1, text)
}

/// A sink that keeps rows and passes messages on.
struct Collector<'c> {
    /// Columns that a result set has to have.
    listed: usize,
    types: Vec<SqlType>,
    rows: KeptRows,
    /// Why a result set or a row could not be taken.
    refused: Option<Error>,
    workspace: Arc<Workspace>,
    client: &'c mut dyn ResultSink,
}

impl ResultSink for Collector<'_> {
    fn columns_to_come(&mut self, columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        if columns.len() != self.listed {
            self.refused = Some(messages::column_count_mismatch());
            return Err(SinkClosed);
        }
        Ok(())
    }

    fn columns(&mut self, columns: &[ResultColumn]) -> std::result::Result<(), SinkClosed> {
        self.columns_to_come(columns)?;
        self.types = columns.iter().map(|column| column.sql_type).collect();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        self.rows.push(row.to_vec(), &self.workspace).map_err(|error| {
            self.refused = Some(error);
            SinkClosed
        })
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> std::result::Result<(), SinkClosed> {
        self.client.message(message)
    }

    fn flush(&mut self) -> std::result::Result<(), SinkClosed> {
        self.client.flush()
    }
}

/// A text that does not parse ends the EXECUTE, not the batch around it.
pub(super) fn only_statement(failure: Box<Failure>) -> Box<Failure> {
    match failure.class {
        Class::Binding | Class::BatchAlone => failure.with_class(Class::Statement),
        _ => failure,
    }
}

/// For every argument the place of its parameter; `parameter` gives the names of the parameters.
fn places_of<'n>(
    given: &[GivenArgument<'_>],
    parameter: &dyn Fn(usize) -> Option<&'n str>,
    module: &str,
) -> Result<Vec<usize>> {
    let mut places = Vec::with_capacity(given.len());
    for (position, argument) in given.iter().enumerate() {
        let place = if argument.name.is_empty() {
            position
        } else {
            let mut names = (0..).map_while(parameter);
            let found = names.position(|name| name.eq_ignore_ascii_case(argument.name));
            found.ok_or_else(|| messages::not_a_parameter(argument.name, module))?
        };
        if parameter(place).is_none() {
            return Err(messages::too_many_arguments(module));
        }
        places.push(place);
    }
    Ok(places)
}

/// An argument given by the client.
pub(crate) fn given_by_client(parameter: &crate::sink::Parameter) -> GivenArgument<'_> {
    let sql_type = if parameter.value.belongs_to(parameter.sql_type) {
        parameter.sql_type
    } else {
        type_of(&parameter.value)
    };
    GivenArgument {
        name: &parameter.name,
        value: (!parameter.is_default && parameter.table.is_none()).then_some(Cow::Borrowed(&parameter.value)),
        sql_type,
        table: parameter.table.as_deref().map(GivenTable::Client),
        cursor: None,
    }
}
