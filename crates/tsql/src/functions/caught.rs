//! `ERROR_NUMBER()` and similar functions: the error caught by the enclosing CATCH block, NULL outside of one.

use engine::error::Result;
use engine::types::Value;

use super::{Call, INT, LONG_NAME, NAME, Signature, signature};
use crate::sink::Message;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("error_line", 0, &[], INT, error_line).told(": line of the error that CATCH is handling"),
    signature("error_message", 0, &[], LONG_NAME, error_message).told(": its words"),
    signature("error_number", 0, &[], INT, error_number).told(": its number"),
    signature("error_procedure", 0, &[], NAME, error_procedure).told(": the procedure in which it was raised"),
    signature("error_severity", 0, &[], INT, error_severity).told(": its severity"),
    signature("error_state", 0, &[], INT, error_state).told(": its state"),
];

fn caught(call: &Call<'_>, read: impl Fn(&Message) -> Value) -> Result<Value> {
    Ok(call
        .context
        .session
        .caught()
        .map_or(Value::Null, |message| read(&message)))
}

fn error_number(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| Value::Int(message.number))
}

fn error_severity(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| Value::Int(i32::from(message.severity)))
}

fn error_state(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| Value::Int(i32::from(message.state)))
}

fn error_line(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| Value::Int(message.line as i32))
}

fn error_message(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| Value::from(message.text.as_str()))
}

fn error_procedure(call: &Call<'_>) -> Result<Value> {
    caught(call, |message| {
        if message.procedure.is_empty() {
            Value::Null
        } else {
            Value::from(message.procedure.as_str())
        }
    })
}
