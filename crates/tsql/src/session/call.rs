//! Calls by the client: parametrised batches, procedures by name, prepared statements.

use engine::error::Error;
use engine::types::{SqlType, Value};

use super::{BatchOutcome, ClientRows, Failure, Parameter, ResultSink, Session, tell};
use crate::ast::Name;
use crate::messages;
use crate::prepared::PreparedText;
use crate::sink::OutputParameter;
use crate::statements::{CallResult, Executor, given_by_client, status_of};

/// Parameters of a call (sql-docs, "Maximum capacity specifications").
const PARAMETERS_MAX: usize = 2_100;

/// What a call by the client is of; a failed one returns a status of its kind.
#[derive(Clone, Copy)]
enum Called {
    Text,
    Procedure,
}

fn text(parameters: &[Parameter], index: usize) -> String {
    parameters
        .get(index)
        .and_then(|parameter| parameter.value.as_str())
        .unwrap_or("")
        .to_owned()
}

/// The text that sp_prepare and sp_prepexec are given.
fn given_text(parameters: &[Parameter]) -> PreparedText {
    PreparedText {
        declarations: text(parameters, 1),
        statement: text(parameters, 2),
    }
}

fn handle(parameters: &[Parameter]) -> i32 {
    let number = parameters.first().and_then(|parameter| parameter.value.as_i64());
    number.and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
}

impl Session {
    /// Executes a text with parameters (sp_executesql). Values of OUTPUT parameters come back through the sink.
    pub fn execute_with_parameters(
        &mut self,
        sql: &str,
        declarations: &str,
        parameters: &[Parameter],
        sink: &mut dyn ResultSink,
    ) -> BatchOutcome {
        let _working = self.enter();
        if let Some(outcome) = self.begin_request(sql) {
            return outcome;
        }
        if let Some(outcome) = self.too_many(parameters.len(), sink) {
            return outcome;
        }
        self.run_parametrised(sql, declarations, parameters, sink)
    }

    /// Loads the rows of the bulk load that the batch before has announced. False, with nothing sent, when none was.
    pub fn bulk_load(&mut self, rows: &mut dyn ClientRows, sink: &mut dyn ResultSink) -> Option<BatchOutcome> {
        let _working = self.enter();
        let target = self.state.take_bulk()?;
        if let Some(outcome) = self.begin_request("INSERT BULK") {
            return Some(outcome);
        }
        let loaded = match self.caller(sink) {
            Ok(mut executor) => executor.bulk_loaded(&target, rows),
            Err(failure) => Err(failure),
        };
        Some(match loaded {
            Ok(flow) => self.end_request(sink, Ok(flow)),
            Err(failure) => {
                if !failure.told && !failure.silent {
                    tell(&self.state, sink, &failure);
                }
                self.end_request(sink, Err(failure))
            }
        })
    }

    /// Forgets what INSERT BULK has announced: its rows have come and are not served.
    pub fn forget_bulk_load(&mut self) {
        self.state.take_bulk();
    }

    fn run_parametrised(
        &mut self,
        sql: &str,
        declarations: &str,
        parameters: &[Parameter],
        sink: &mut dyn ResultSink,
    ) -> BatchOutcome {
        let given: Vec<_> = parameters.iter().map(given_by_client).collect();
        let (outcome, used) = match self.caller(sink) {
            Ok(mut executor) => {
                let outcome = executor.parametrised(sql, declarations, &given, 1);
                (outcome, executor.used_database.take())
            }
            Err(failure) => (Err(failure), None),
        };
        // USE in a text that the client itself has called lasts, unlike that in a text of EXECUTE: drivers that send every statement so
        // rely on it (TypeORM makes the schema of another database by USE, CREATE SCHEMA and USE, through node-mssql).
        let used = used.map_or(Ok(()), |name| self.state.use_database(&name));
        let outcome = outcome.and_then(|result| match used {
            Ok(()) => Ok(result),
            Err(error) => Err(Failure::new(error, 1, "").into()),
        });
        self.end_call(sink, parameters, Called::Text, outcome)
    }

    /// An executor of an empty batch, from which a call is made.
    fn caller<'s>(&'s mut self, sink: &'s mut dyn ResultSink) -> Result<Executor<'s>, Box<Failure>> {
        let empty = self.prepared.empty_batch()?;
        Ok(Executor::new(&self.state, &self.prepared, sink, empty))
    }

    fn end_call(
        &mut self,
        sink: &mut dyn ResultSink,
        parameters: &[Parameter],
        called: Called,
        outcome: Result<CallResult, Box<Failure>>,
    ) -> BatchOutcome {
        match outcome {
            Ok(result) => {
                sink.return_status(result.status);
                for output in &result.outputs {
                    let is_wanted = |(position, parameter): (usize, &Parameter)| match parameter.name.as_str() {
                        "" => parameter.output && position == output.position,
                        name => parameter.output && name.eq_ignore_ascii_case(&output.name),
                    };
                    if parameters.iter().enumerate().any(is_wanted) {
                        sink.output_parameter(OutputParameter {
                            xml_collection: output.xml_collection.as_ref(),
                            ..OutputParameter::new(&output.name, output.sql_type, &output.value)
                        });
                    }
                }
                self.end_request(sink, Ok(result.flow))
            }
            Err(failure) => {
                // A failure of the call itself has not been sent yet; one inside its batch has.
                if !failure.told && !failure.silent {
                    tell(&self.state, sink, &failure);
                }
                sink.return_status(match called {
                    Called::Text => failure.last_message().number,
                    Called::Procedure => status_of(failure.message.severity),
                });
                self.end_request(sink, Err(failure))
            }
        }
    }

    /// Calls a procedure by name, the ones that prepare statements included.
    pub fn execute_procedure(
        &mut self,
        name: &str,
        parameters: &[Parameter],
        sink: &mut dyn ResultSink,
    ) -> BatchOutcome {
        let _working = self.enter();
        if let Some(outcome) = self.begin_request(name) {
            return outcome;
        }
        if let Some(outcome) = self.too_many(parameters.len(), sink) {
            return outcome;
        }
        let Some(parsed) = Name::parse(name) else {
            let failure = Failure::new(messages::procedure_not_found(name), 1, "");
            sink.return_status(status_of(failure.message.severity));
            return tell(&self.state, sink, &failure);
        };
        let is_here = parsed.database().is_none();
        match parsed.object().to_lowercase().as_str() {
            "sp_executesql" if is_here => {
                let values = parameters.get(2..).unwrap_or_default();
                self.run_parametrised(&text(parameters, 0), &text(parameters, 1), values, sink)
            }
            "sp_prepare" if is_here => self.prepare(parameters, sink),
            "sp_prepexec" if is_here => {
                let number = match self.prepared.prepare(given_text(parameters)) {
                    Ok(number) => number,
                    Err(error) => return tell(&self.state, sink, &Failure::new(error, 1, "")),
                };
                let values = parameters.get(3..).unwrap_or_default();
                let outcome = self.run_parametrised(&text(parameters, 2), &text(parameters, 1), values, sink);
                tell_handle(sink, parameters, number);
                outcome
            }
            "sp_execute" if is_here => {
                let Some(prepared) = self.prepared.by_handle(handle(parameters)) else {
                    return self.unknown_handle(handle(parameters), sink);
                };
                let PreparedText {
                    declarations,
                    statement,
                } = prepared;
                self.run_parametrised(&statement, &declarations, parameters.get(1..).unwrap_or_default(), sink)
            }
            "sp_unprepare" if self.prepared.unprepare(handle(parameters)) => {
                sink.return_status(0);
                BatchOutcome::Completed
            }
            "sp_unprepare" => self.unknown_handle(handle(parameters), sink),
            "sp_reset_connection" => self.reset(super::Reset::default()),
            _ => {
                let given: Vec<_> = parameters.iter().map(given_by_client).collect();
                let outcome = match self.caller(sink) {
                    Ok(mut executor) => executor.call(&parsed, &given, false, 1),
                    Err(failure) => Err(failure),
                };
                self.end_call(sink, parameters, Called::Procedure, outcome)
            }
        }
    }

    /// 8003 for a call with more parameters than SQL Server takes.
    fn too_many(&mut self, parameters: usize, sink: &mut dyn ResultSink) -> Option<BatchOutcome> {
        (parameters > PARAMETERS_MAX).then(|| {
            let failure = Failure::new(messages::too_many_parameters(), 1, "");
            self.describe_end();
            tell(&self.state, sink, &failure)
        })
    }

    fn prepare(&mut self, parameters: &[Parameter], sink: &mut dyn ResultSink) -> BatchOutcome {
        let given = given_text(parameters);
        // What a batch would be refused for, its options included, is refused here.
        let prepared = self.prepared.text(&self.state, &given.declarations, &given.statement);
        if let Err(failure) = prepared {
            return tell(&self.state, sink, &failure);
        }
        let number = match self.prepared.prepare(given) {
            Ok(number) => number,
            Err(error) => return tell(&self.state, sink, &Failure::new(error, 1, "")),
        };
        sink.return_status(0);
        tell_handle(sink, parameters, number);
        BatchOutcome::Completed
    }

    fn unknown_handle(&mut self, number: i32, sink: &mut dyn ResultSink) -> BatchOutcome {
        let text = format!("Could not find prepared statement with handle {number}.");
        tell(&self.state, sink, &Failure::new(Error::new(8179, 16, 1, text), 1, ""))
    }
}

/// Gives the client the handle of a prepared text.
fn tell_handle(sink: &mut dyn ResultSink, parameters: &[Parameter], number: i32) {
    let (name, handle) = (output_name(parameters), Value::Int(number));
    sink.output_parameter(OutputParameter::new(&name, SqlType::Int, &handle));
}

/// The name under which the client wants the handle back.
fn output_name(parameters: &[Parameter]) -> String {
    parameters
        .first()
        .map_or_else(String::new, |parameter| parameter.name.clone())
}
