//! Functions that fit nowhere else: FORMAT, NEWID, ERROR_*(), the state of the transaction.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Any, Int, Name, Text};
use super::{Call, INT, LONG_NAME, NAME, Signature, signature, variadic};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("error_line", 0, &[], INT, error_line),
    signature("error_message", 0, &[], LONG_NAME, error_message),
    signature("error_number", 0, &[], INT, error_number),
    signature("error_procedure", 0, &[], NAME, error_procedure),
    signature("error_severity", 0, &[], INT, error_severity),
    signature("error_state", 0, &[], INT, error_state),
    signature("format", 2, &[Any, Name, Name], LONG_NAME, format),
    signature("newid", 0, &[], Fixed(SqlType::UniqueIdentifier), newid),
    signature("newsequentialid", 0, &[], Fixed(SqlType::UniqueIdentifier), newid),
    signature("xact_state", 0, &[], Fixed(SqlType::SmallInt), xact_state),
    signature(
        "scope_identity",
        0,
        &[],
        Fixed(SqlType::Decimal {
            precision: 38,
            scale: 0,
        }),
        scope_identity,
    ),
    signature("rowcount_big", 0, &[], Fixed(SqlType::BigInt), rowcount_big),
    variadic(
        "formatmessage",
        1,
        &[Text, Any],
        Fixed(SqlType::NVarChar(Length::Limited(2048))),
        formatmessage,
    ),
    signature(
        "current_transaction_id",
        0,
        &[],
        Fixed(SqlType::BigInt),
        current_transaction_id,
    ),
    signature(
        "context_info",
        0,
        &[],
        Fixed(SqlType::VarBinary(Length::Limited(128))),
        context_info,
    ),
    signature(
        "cursor_status",
        2,
        &[Name, Name],
        Fixed(SqlType::SmallInt),
        cursor_status,
    ),
    signature("trigger_nestlevel", 0, &[Int], INT, trigger_nestlevel),
];

fn caught(call: &Call<'_>, read: impl Fn(&crate::sink::Message) -> Value) -> Result<Value> {
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

fn format(call: &Call<'_>) -> Result<Value> {
    let Some(pattern) = call.text(1) else {
        return Ok(Value::Null);
    };
    if call.value(0).is_null() {
        return Ok(Value::Null);
    }
    Ok(super::format::format(call.value(0), call.argument_type(0), pattern).map_or(Value::Null, Value::from))
}

/// A random (version 4) identifier.
fn newid(call: &Call<'_>) -> Result<Value> {
    let mut bytes = [0u8; 16];
    for chunk in bytes.chunks_exact_mut(8) {
        chunk.copy_from_slice(&call.context.session.random.next_bits().to_le_bytes());
    }
    // The third group is stored little-endian: its high byte, with the version, comes second.
    bytes[7] = bytes[7] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Ok(Value::UniqueIdentifier(bytes))
}

fn xact_state(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let state = if session.is_doomed() {
        -1
    } else {
        i16::from(session.transaction_count() > 0)
    };
    Ok(Value::SmallInt(state))
}

fn scope_identity(call: &Call<'_>) -> Result<Value> {
    Ok(super::variable::identity_value(call.context.session.scope_identity()))
}

fn rowcount_big(call: &Call<'_>) -> Result<Value> {
    Ok(Value::BigInt(call.context.session.row_count()))
}

fn formatmessage(call: &Call<'_>) -> Result<Value> {
    let Some(text) = call.text(0) else {
        return Ok(Value::Null);
    };
    let arguments = call.values.get(1..).unwrap_or_default();
    Ok(Value::from(super::message_format::format_message(text, arguments)))
}

fn current_transaction_id(call: &Call<'_>) -> Result<Value> {
    Ok(Value::BigInt(call.context.session.transaction_descriptor() as i64))
}

/// What SET CONTEXT_INFO has said, filled up with zeros to the 128 bytes it has.
fn context_info(call: &Call<'_>) -> Result<Value> {
    let bytes = call.context.session.options().context_info.clone();
    Ok(bytes.map_or(Value::Null, |mut bytes| {
        bytes.resize(128, 0);
        Value::binary(bytes)
    }))
}

/// -3: there is no such cursor; cursors in use are looked up by the statement that uses them.
fn cursor_status(call: &Call<'_>) -> Result<Value> {
    let (Some(scope), Some(name)) = (call.text(0), call.text(1)) else {
        return Ok(Value::Null);
    };
    Ok(Value::SmallInt(call.context.session.cursor_status(scope, name)))
}

fn trigger_nestlevel(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(0))
}
