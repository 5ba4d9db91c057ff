//! `sp_prepare`, `sp_execute`, `sp_prepexec` and `sp_unprepare`, called from T-SQL: texts that a session keeps under a handle (sql-docs,
//! "sp_prepare (Transact-SQL)" and its neighbours).
//!
//! ```text
//! sp_prepare    handle OUTPUT, declarations, statement [, options]
//! sp_execute    handle [, values ...]
//! sp_prepexec   handle OUTPUT, declarations, statement [, values ...]
//! sp_unprepare  handle
//! ```
//! Arguments go by position. Of the options there is 1, RETURN_METADATA: the statement's columns are sent, without a row.

use engine::error::{Error, Result};
use engine::types::SqlType;

use super::cursor_procedures::{Arguments, answered};
use super::execute::{CallResult, GivenArgument, only_statement};
use super::executor::{Executor, Outcome};
use crate::prepared::PreparedText;

/// RETURN_METADATA of sp_prepare.
const RETURN_METADATA: i32 = 1;

/// One of the procedures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandleProcedure {
    Prepare,
    Execute,
    PrepareAndExecute,
    Unprepare,
}

impl HandleProcedure {
    /// The procedure of a name in lower case.
    pub(super) fn of(name: &str) -> Option<HandleProcedure> {
        Some(match name {
            "sp_prepare" => HandleProcedure::Prepare,
            "sp_execute" => HandleProcedure::Execute,
            "sp_prepexec" => HandleProcedure::PrepareAndExecute,
            "sp_unprepare" => HandleProcedure::Unprepare,
            _ => return None,
        })
    }
}

/// 8179: no such handle.
fn unknown(handle: i32) -> Error {
    let text = format!("Could not find prepared statement with handle {handle}.");
    Error::new(8179, 16, 1, text)
}

impl Executor<'_> {
    /// Calls one of the procedures.
    pub(super) fn call_handle_procedure(
        &mut self,
        procedure: HandleProcedure,
        name: &str,
        given: &[GivenArgument<'_>],
        line: u32,
    ) -> Outcome<CallResult> {
        let arguments = Arguments { procedure: name, given };
        match procedure {
            HandleProcedure::Prepare => self.prepare_text(&arguments, line),
            HandleProcedure::PrepareAndExecute => {
                let text = given_text(&arguments).map_err(|error| self.failure(error, line))?;
                let handle = self.prepared.prepare(text.clone());
                let handle = handle.map_err(|error| self.failure(error, line))?;
                let called = self.run_text(&text, &arguments, 3, line);
                if called.is_err() {
                    // Nobody learns of it.
                    self.prepared.unprepare(handle);
                }
                let mut called = called?;
                called.outputs.push(arguments.output(0, handle));
                Ok(called)
            }
            HandleProcedure::Execute => {
                let handle = arguments.handle(0).map_err(|error| self.failure(error, line))?;
                match self.prepared.by_handle(handle) {
                    Some(text) => self.run_text(&text, &arguments, 1, line),
                    None => Err(self.failure(unknown(handle), line)),
                }
            }
            HandleProcedure::Unprepare => {
                let handle = arguments.handle(0).map_err(|error| self.failure(error, line))?;
                match self.prepared.unprepare(handle) {
                    true => Ok(answered(0, Vec::new())),
                    false => Err(self.failure(unknown(handle), line)),
                }
            }
        }
    }

    fn prepare_text(&mut self, arguments: &Arguments<'_, '_>, line: u32) -> Outcome<CallResult> {
        let asked = given_text(arguments).and_then(|text| Ok((text, arguments.int(3)?.unwrap_or(0))));
        let (text, options) = asked.map_err(|error| self.failure(error, line))?;
        if options & !RETURN_METADATA != 0 {
            let error = Error::new(214, 16, 2, "Procedure expects parameter '@options' of type 'int'.");
            return Err(self.failure(error, line));
        }
        // What a batch would be refused for is refused here.
        let callable = self.text(&text.declarations, &text.statement).map_err(only_statement)?;
        if options & RETURN_METADATA != 0 {
            let nulls: Vec<_> = callable.parameters.iter().map(|_| GivenArgument::null()).collect();
            let was = self.session.options().fmtonly;
            self.session.change_options(|options| options.fmtonly = true);
            let told = self.parametrised(&text.statement, &text.declarations, &nulls, line);
            self.session.change_options(|options| options.fmtonly = was);
            told?;
        }
        let handle = self.prepared.prepare(text);
        let handle = handle.map_err(|error| self.failure(error, line))?;
        Ok(answered(0, vec![arguments.output(0, handle)]))
    }

    /// Runs a text whose values begin at an argument of the call.
    fn run_text(
        &mut self,
        text: &PreparedText,
        arguments: &Arguments<'_, '_>,
        first: usize,
        line: u32,
    ) -> Outcome<CallResult> {
        let values = arguments.from(first);
        let mut called = self.parametrised(&text.statement, &text.declarations, values, line)?;
        called.outputs.iter_mut().for_each(|output| output.position += first);
        Ok(called)
    }
}

fn given_text(arguments: &Arguments<'_, '_>) -> Result<PreparedText> {
    Ok(PreparedText {
        declarations: arguments.text(1)?.unwrap_or_default(),
        statement: arguments.statement(2)?,
    })
}

impl GivenArgument<'_> {
    fn null() -> GivenArgument<'static> {
        GivenArgument {
            name: "",
            value: Some(std::borrow::Cow::Owned(engine::types::Value::Null)),
            sql_type: SqlType::Int,
            table: None,
            cursor: None,
        }
    }
}
