//! Functions that tell the state of the session: its transaction, last identity and row count, context, cursors.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Int, Name};
use super::{Call, INT, Signature, signature};

pub(super) const FUNCTIONS: &[Signature] = &[
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
