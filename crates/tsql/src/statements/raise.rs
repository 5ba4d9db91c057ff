//! RAISERROR and THROW.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::executor::{Executor, Flow, Outcome};
use crate::ast::{RaiseError, Throw};
use crate::failure::{Class, Failure};
use crate::functions::format_message;
use crate::messages;

impl Executor<'_> {
    /// RAISERROR: up to severity 10 a message, above an error, from 20 on the end of the session.
    pub(super) fn raise_error(&mut self, raise: &RaiseError, line: u32) -> Outcome<Flow> {
        let error = self.raised(raise).map_err(|error| self.failure(error, line))?;
        self.session.set_row_count(0);
        if raise.log {
            self.session
                .instance
                .env
                .errorlog
                .write_error(&format!("spid{}", self.session.id), &error);
        }
        if error.severity <= 10 {
            self.session
                .set_error_number(if raise.set_error { error.number } else { 0 });
            let mut failure = self.failure(error, line);
            failure.message.severity = failure.message.severity.min(10);
            self.send(&failure.message)?;
            if raise.no_wait {
                self.flush()?;
            }
            return Ok(Flow::Next);
        }
        let mut failure = self.failure(error, line);
        if failure.class != Class::Session {
            failure = failure.with_class(Class::Raised);
        }
        failure.is_urgent = raise.no_wait;
        Err(failure)
    }

    fn raised(&self, raise: &RaiseError) -> Result<Error> {
        let (message, sql_type) = self.value(&raise.message)?;
        let severity = self
            .value_as(&raise.severity, SqlType::Int)?
            .as_i64()
            .unwrap_or(0)
            .clamp(0, 25);
        let state = self.value_as(&raise.state, SqlType::Int)?.as_i64().unwrap_or(1);
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        for (place, argument) in raise.arguments.iter().enumerate() {
            let (value, own) = self.value(argument)?;
            if own.is_spatial() || own == SqlType::HierarchyId {
                return Err(messages::no_substitution_parameter(own.name(), place + 1));
            }
            arguments.push(value);
        }
        let state = u8::try_from(state).unwrap_or(1);
        if sql_type.is_integer() {
            let number = message.as_i64().unwrap_or(0);
            if number < 13_000 || number == 50_000 {
                return Err(messages::message_number_invalid(number));
            }
            let text = format!(
                "Error {number}, severity {severity}, state {state} was raised, but no message with that error number was found in sys.messages. If error is larger than 50000, make sure the user-defined message is added using sp_addmessage."
            );
            return Ok(Error::new(18_054, severity as u8, state, text));
        }
        let text = format_message(message.as_str().unwrap_or(""), &arguments);
        let text: String = text.chars().take(2047).collect();
        Ok(Error::new(50_000, severity as u8, state, text))
    }

    /// THROW: always severity 16, always the end of the batch.
    pub(super) fn throw(&mut self, throw: Option<&Throw>, line: u32) -> Outcome<Flow> {
        let failure = match throw {
            None => {
                let caught = self.session.caught();
                let caught = caught.ok_or_else(|| self.failure(messages::throw_outside_catch(), line))?;
                let error = Error::new(caught.number, caught.severity, caught.state, caught.text.clone());
                Box::new(Failure {
                    message: caught,
                    ..Failure::new(error, line, &self.procedure)
                })
            }
            Some(throw) => {
                let error = self.thrown(throw).map_err(|error| self.failure(error, line))?;
                self.failure(error, line)
            }
        };
        Err(match failure.class {
            Class::Session => failure,
            _ => failure.with_class(Class::BatchAlone),
        })
    }

    fn thrown(&self, throw: &Throw) -> Result<Error> {
        let number = self.value_as(&throw.number, SqlType::Int)?.as_i64().unwrap_or(0);
        let text = self.value_as(&throw.message, SqlType::NVarChar(Length::Limited(2048)))?;
        let state = self.value_as(&throw.state, SqlType::Int)?.as_i64().unwrap_or(1);
        if number < 50_000 {
            return Err(messages::throw_number_invalid(number));
        }
        let text = match &text {
            Value::Text(text) => text.to_string(),
            _ => String::new(),
        };
        Ok(Error::new(
            i32::try_from(number).unwrap_or(i32::MAX),
            16,
            u8::try_from(state).unwrap_or(1),
            text,
        ))
    }
}
