//! Remote procedure calls: the statement-preparing procedures are served here, all others go to the backend by name.

use std::collections::HashMap;

use engine::error::Error;
use engine::memory::Charge;
use engine::types::Text;
use tds::{Column, ColumnType, Procedure, RpcParameter, RpcRequest, Value, XmlCollection};
use tsql::session::{Message, ResultSink as _};

use crate::backend::{BackendSession, ParameterizedSql};
use crate::notices;
use crate::results::Results;
use crate::sql::whole_text;

/// A prepared statement: the text is kept, its plan is the backend's to cache.
#[derive(Debug)]
struct Prepared {
    /// The statement, or the name of the procedure.
    text: String,
    declarations: String,
    /// A procedure that is called, not a text (sp_prepexecrpc).
    is_call: bool,
}

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    statements: HashMap<i32, Prepared>,
    last_handle: i32,
    bytes: u64,
    charge: Charge,
}

/// What a prepared statement takes beside its texts.
const PREPARED_BYTES: usize = 128;

impl Prepared {
    fn bytes(&self) -> u64 {
        (self.text.capacity() + self.declarations.capacity() + PREPARED_BYTES) as u64
    }
}

impl PreparedStatements {
    /// Forgets all, as the reset of a connection does.
    pub(crate) fn clear(&mut self) {
        *self = PreparedStatements {
            last_handle: self.last_handle,
            ..PreparedStatements::default()
        };
    }

    /// Keeps a statement; 701 when there is no memory for its text.
    fn add(&mut self, prepared: Prepared) -> Result<i32, Error> {
        let bytes = self.bytes + prepared.bytes();
        self.charge.grow_to(bytes).map_err(|_| notices::insufficient_memory())?;
        self.bytes = bytes;
        loop {
            self.last_handle = self.last_handle.checked_add(1).unwrap_or(1);
            if !self.statements.contains_key(&self.last_handle) {
                self.statements.insert(self.last_handle, prepared);
                return Ok(self.last_handle);
            }
        }
    }

    /// Keeps what has just been executed, and adds its handle to what is returned.
    fn added(
        &mut self,
        mut answer: Answer,
        text: String,
        declarations: String,
        is_call: bool,
    ) -> Result<Answer, Error> {
        let handle = self.add(Prepared {
            text,
            declarations,
            is_call,
        })?;
        answer.values.insert(0, AnsweredValue::handle(handle));
        Ok(answer)
    }

    fn get(&self, handle: Option<i64>) -> Result<&Prepared, Error> {
        handle
            .and_then(|handle| i32::try_from(handle).ok())
            .and_then(|handle| self.statements.get(&handle))
            .ok_or_else(|| notices::prepared_statement_unknown(handle.unwrap_or(0)))
    }

    fn remove(&mut self, handle: Option<i64>) -> Result<(), Error> {
        self.get(handle)?;
        if let Some(handle) = handle.and_then(|handle| i32::try_from(handle).ok()) {
            let removed = self.statements.remove(&handle);
            self.bytes -= removed.map_or(0, |prepared| prepared.bytes());
        }
        Ok(())
    }
}

/// What a call is answered with behind its results.
struct Answer {
    status: i32,
    /// The output parameters.
    values: Vec<AnsweredValue>,
}

/// An output parameter.
struct AnsweredValue {
    /// The place of its argument in the request.
    place: usize,
    value: Value,
    /// The schema collection of typed xml.
    xml_collection: Option<XmlCollection>,
}

impl AnsweredValue {
    /// The handle of a prepared text, the first argument.
    fn handle(handle: i32) -> AnsweredValue {
        AnsweredValue {
            place: 0,
            value: Value::Int(handle),
            xml_collection: None,
        }
    }
}

impl Answer {
    /// The answer of what was called with these arguments, the first of them at this place of the request.
    fn of_call(results: &mut Results<'_>, arguments: &[RpcParameter], first_argument: usize) -> Self {
        let returned = results.take_returned();
        let mut values = Vec::new();
        for returned in returned.for_arguments(arguments) {
            match returned.value {
                Ok(value) => values.push(AnsweredValue {
                    place: returned.place + first_argument,
                    value,
                    xml_collection: returned.xml_collection,
                }),
                Err(error) => results.tell(&error),
            }
        }
        Self {
            status: returned.status,
            values,
        }
    }
}

/// Serves one call and writes its RETURNSTATUS, RETURNVALUEs and DONEPROC.
pub(crate) fn serve<S: BackendSession>(
    session: &mut S,
    prepared: &mut PreparedStatements,
    request: &RpcRequest,
    results: &mut Results<'_>,
    more: bool,
) {
    results.enter_procedure();
    // Of the procedures that drivers ask this of, SQL Server leaves the columns out of the answer to a fetch alone (Babelfish, `tdsresponse.c`).
    if request.no_metadata && request.procedure == Procedure::CursorFetch {
        results.leave_out_columns();
    }
    let answer = match valid(request).and_then(|()| dispatch(session, prepared, request, results)) {
        Ok(answer) => answer,
        Err(error) => {
            let procedure = match error.number {
                notices::PARAMETER_MISSING | notices::PARAMETER_TYPE => request.procedure.name(),
                _ => "",
            };
            // The sink only says that nobody listens any more; the call is over anyway.
            let _ = results.message(&Message::new(&error, 1, procedure));
            Answer {
                status: error.number,
                values: Vec::new(),
            }
        }
    };
    results.tokens().return_status(answer.status);
    for output in answer.values {
        write_output(request, &output, results);
    }
    results.procedure_done(more);
}

/// Refuses a call with a value that is none of its type: no statement may meet it.
fn valid(request: &RpcRequest) -> Result<(), Error> {
    for (parameter, number) in request.parameters.iter().zip(1..) {
        if !parameter.value.is_valid(parameter.column_type) {
            let type_name = type_name(parameter.column_type);
            return Err(notices::parameter_invalid(number, &parameter.name, type_name));
        }
        let Some(table) = &parameter.table else { continue };
        if let Some((row, column)) = table.invalid {
            let type_name = table
                .columns
                .get(column - 1)
                .map_or("", |column| type_name(column.column_type));
            return Err(notices::table_value_invalid(
                number,
                &parameter.name,
                row,
                column,
                type_name,
            ));
        }
    }
    Ok(())
}

/// The names of the types that have bytes which are no value.
fn type_name(column: ColumnType) -> &'static str {
    match column {
        ColumnType::Real => "real",
        ColumnType::Float => "float",
        ColumnType::Decimal { .. } => "decimal",
        ColumnType::Numeric { .. } => "numeric",
        ColumnType::Time { .. } => "time",
        ColumnType::DateTime2 { .. } => "datetime2",
        ColumnType::DateTimeOffset { .. } => "datetimeoffset",
        ColumnType::DateTime => "datetime",
        ColumnType::SmallDateTime => "smalldatetime",
        _ => "sql_variant",
    }
}

fn write_output(request: &RpcRequest, output: &AnsweredValue, results: &mut Results<'_>) {
    let Some(parameter) = request.parameters.get(output.place) else {
        return;
    };
    let ordinal = u16::try_from(output.place).unwrap_or(u16::MAX);
    let column = Column {
        xml_collection: output.xml_collection.clone(),
        ..Column::new(
            parameter.name.as_str(),
            output_type(parameter.column_type, &output.value),
        )
    };
    let written = results.tokens().return_value(ordinal, &column, &output.value);
    if let Err(reason) = written {
        results.tell(&notices::row_mismatch(&reason.to_string()));
    }
}

/// Strings keep the kind the client declared, in a length that holds the value.
fn output_type(declared: ColumnType, value: &Value) -> ColumnType {
    let longest = |bytes: &[u8], limit: usize, short: ColumnType, long: ColumnType| {
        if bytes.len() <= limit { short } else { long }
    };
    match (value, declared) {
        (Value::NVarChar(_), ColumnType::Xml) => ColumnType::Xml,
        (Value::NVarChar(bytes), _) => longest(bytes, 8000, ColumnType::NVarChar(4000), ColumnType::NVarCharMax),
        (Value::VarChar(bytes), _) => longest(bytes, 8000, ColumnType::VarChar(8000), ColumnType::VarCharMax),
        (Value::Binary(bytes), _) => longest(bytes, 8000, ColumnType::VarBinary(8000), ColumnType::VarBinaryMax),
        (Value::Decimal { scale, .. }, _) => ColumnType::Decimal {
            precision: 38,
            scale: *scale,
        },
        (Value::Time { scale, .. }, _) => ColumnType::Time { scale: *scale },
        (Value::DateTime2 { scale, .. }, _) => ColumnType::DateTime2 { scale: *scale },
        (Value::DateTimeOffset { scale, .. }, _) => ColumnType::DateTimeOffset { scale: *scale },
        (_, other) => other,
    }
}

fn dispatch<S: BackendSession>(
    session: &mut S,
    prepared: &mut PreparedStatements,
    request: &RpcRequest,
    results: &mut Results<'_>,
) -> Result<Answer, Error> {
    let arguments = Arguments { request };
    match &request.procedure {
        Procedure::ExecuteSql => {
            let text = arguments.text(0, "@statement")?;
            let declarations = arguments.optional_text(1, "@params")?;
            let first = if request.parameters.len() > 1 { 2 } else { 1 };
            Ok(run(
                session,
                &text,
                &declarations,
                arguments.from(first),
                first,
                results,
            ))
        }
        Procedure::Prepare => {
            let declarations = arguments.optional_text(1, "@params")?;
            let text = arguments.text(2, "@stmt")?;
            let handle = prepared.add(Prepared {
                text: text.to_string(),
                declarations: declarations.to_string(),
                is_call: false,
            })?;
            Ok(Answer {
                status: 0,
                values: vec![AnsweredValue::handle(handle)],
            })
        }
        Procedure::Execute => execute(session, prepared, &arguments, results),
        Procedure::PrepExec => {
            let text = arguments.text(2, "@stmt")?;
            let declarations = arguments.optional_text(1, "@params")?;
            // Drivers return the handle they no longer need; one already gone is not an error here.
            let _ = prepared.remove(arguments.handle(0));
            let answer = run(session, &text, &declarations, arguments.from(3), 3, results);
            prepared.added(answer, text.to_string(), declarations.to_string(), false)
        }
        Procedure::PrepExecRpc => {
            let text = arguments.text(1, "@RpcCall")?;
            let _ = prepared.remove(arguments.handle(0));
            let answer = call(session, &text, arguments.from(2), 2, results);
            prepared.added(answer, text.to_string(), String::new(), true)
        }
        Procedure::Unprepare => {
            prepared.remove(arguments.handle(0))?;
            Ok(Answer {
                status: 0,
                values: Vec::new(),
            })
        }
        other => Ok(call(session, other.name(), &request.parameters, 0, results)),
    }
}

/// Runs what a handle stands for.
fn execute<S: BackendSession>(
    session: &mut S,
    prepared: &PreparedStatements,
    arguments: &Arguments<'_>,
    results: &mut Results<'_>,
) -> Result<Answer, Error> {
    let statement = prepared.get(arguments.handle(0))?;
    let (text, declarations) = (&statement.text, &statement.declarations);
    let values = arguments.from(1);
    Ok(match statement.is_call {
        true => call(session, text, values, 1, results),
        false => run(session, text, declarations, values, 1, results),
    })
}

fn run<S: BackendSession>(
    session: &mut S,
    text: &str,
    declarations: &str,
    arguments: &[RpcParameter],
    first_argument: usize,
    results: &mut Results<'_>,
) -> Answer {
    let sql = ParameterizedSql {
        text,
        declarations,
        arguments,
    };
    session.run_parameterized(sql, results);
    Answer::of_call(results, arguments, first_argument)
}

fn call<S: BackendSession>(
    session: &mut S,
    procedure: &str,
    arguments: &[RpcParameter],
    first_argument: usize,
    results: &mut Results<'_>,
) -> Answer {
    session.call(procedure, arguments, results);
    Answer::of_call(results, arguments, first_argument)
}

/// The arguments of a system procedure by position, as all drivers pass them.
struct Arguments<'a> {
    request: &'a RpcRequest,
}

impl<'a> Arguments<'a> {
    fn handle(&self, index: usize) -> Option<i64> {
        self.request
            .parameters
            .get(index)
            .and_then(|parameter| parameter.value.integer())
    }

    fn from(&self, index: usize) -> &'a [RpcParameter] {
        self.request.parameters.get(index..).unwrap_or_default()
    }

    fn text(&self, index: usize, name: &str) -> Result<Text, Error> {
        let procedure = self.request.procedure.name();
        let parameter = self
            .request
            .parameters
            .get(index)
            .ok_or_else(|| notices::parameter_missing(procedure, name))?;
        whole_text(&parameter.value)?.ok_or_else(|| notices::parameter_type(name, "ntext/nchar/nvarchar"))
    }

    fn optional_text(&self, index: usize, name: &str) -> Result<Text, Error> {
        match self.request.parameters.get(index).map(|parameter| &parameter.value) {
            None | Some(Value::Null) => Ok(Text::from("")),
            Some(_) => self.text(index, name),
        }
    }
}
