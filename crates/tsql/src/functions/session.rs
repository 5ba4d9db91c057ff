//! Functions that return the state of the session: its transaction, last identity and row count, context, cursors.

use engine::error::Result;
use engine::lock::{Account, ApplicationName};
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Int, Name};
use super::{Call, INT, Signature, signature};
use crate::messages;
use crate::security::principal_named;
use crate::views::lock_words;

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("xact_state", 0, &[], Fixed(SqlType::SmallInt), xact_state)
        .told(": 1 in a transaction, -1 in one that can only be rolled back, else 0"),
    signature(
        "scope_identity",
        0,
        &[],
        Fixed(SqlType::Decimal {
            precision: 38,
            scale: 0,
        }),
        scope_identity,
    )
    .told(": last identity value that this batch or module has made"),
    // "The default request identifier is 0" (SQL Server docs, CURRENT_REQUEST_ID); requests of one session come one after another.
    signature("current_request_id", 0, &[], Fixed(SqlType::SmallInt), |_| {
        Ok(Value::SmallInt(0))
    })
    .told(": id of the request within its session, 0"),
    signature("original_db_name", 0, &[], super::NAME, original_db_name)
        .told(": the database that the client asked for when it connected, else master"),
    signature("rowcount_big", 0, &[], Fixed(SqlType::BigInt), rowcount_big)
        .told(": rows of the last statement, as bigint"),
    signature(
        "current_transaction_id",
        0,
        &[],
        Fixed(SqlType::BigInt),
        current_transaction_id,
    )
    .told(": id of the transaction"),
    signature(
        "context_info",
        0,
        &[],
        Fixed(SqlType::VarBinary(Length::Limited(128))),
        context_info,
    )
    .told(": the bytes that SET CONTEXT_INFO has left"),
    signature(
        "cursor_status",
        2,
        &[Name, Name],
        Fixed(SqlType::SmallInt),
        cursor_status,
    )
    .told("scope, name: state of a cursor"),
    signature(
        "applock_mode",
        3,
        &[Name, Name, Name],
        Fixed(SqlType::NVarChar(Length::Limited(32))),
        applock_mode,
    )
    .told("principal, resource, owner: how the session holds an application lock"),
    signature(
        "applock_test",
        4,
        &[Name, Name, Name, Name],
        Fixed(SqlType::SmallInt),
        applock_test,
    )
    .told("principal, resource, mode, owner: 1 if an application lock would be granted at once"),
    signature(
        "session_context",
        1,
        &[Name],
        Fixed(SqlType::SqlVariant),
        session_context,
    )
    .told("key: what sp_set_session_context keeps under a key"),
    signature("trigger_nestlevel", 0, &[Int, Name, Name], INT, trigger_nestlevel)
        .told("object_id, type, category: triggers under way, of all or of one"),
    signature(
        "columns_updated",
        0,
        &[],
        Fixed(SqlType::VarBinary(Length::Limited(128))),
        columns_updated,
    )
    .told(": in a trigger, a bit for each column, from the lowest of the first byte on: whether the statement sets it"),
    signature("eventdata", 0, &[], Fixed(SqlType::XML), event_data)
        .told(": in a trigger of the database, as xml: the event that it fires for; elsewhere NULL"),
    signature("update", 1, &[Name], INT, update)
        .told("column: in a trigger, as a condition: whether the statement sets a column, as an INSERT does with all"),
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

fn event_data(call: &Call<'_>) -> Result<Value> {
    let document = call.context.session.event_data();
    Ok(document.map_or(Value::Null, |document| Value::from(&*document)))
}

/// What the connection string names, or the login's default database (SQL Server docs, ORIGINAL_DB_NAME), which is master here.
fn original_db_name(call: &Call<'_>) -> Result<Value> {
    let asked = call.context.session.login.database.as_deref();
    Ok(Value::from(asked.unwrap_or("master")))
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

/// `TRIGGER_NESTLEVEL(object_id, 'AFTER' | 'IOT', 'DML' | 'DDL')`: the triggers under way, all of them or one and its kind; NULL for NULL
/// among the arguments (sql-docs, TRIGGER_NESTLEVEL).
fn trigger_nestlevel(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    if call.values.is_empty() {
        return Ok(Value::Int(session.triggers_under_way(|_| true) as i32));
    }
    if call.any_null() {
        return Ok(Value::Null);
    }
    let Some(wanted) = call.integer(0) else {
        return Ok(Value::Null);
    };
    let kind = call.text(1).map(str::to_ascii_uppercase);
    let is_dml = call.text(2).is_none_or(|category| category.eq_ignore_ascii_case("DML"));
    let count = session.triggers_under_way(|trigger| {
        let is_kind = match kind.as_deref() {
            None => true,
            Some("AFTER") => !trigger.is_instead_of,
            Some("IOT") => trigger.is_instead_of,
            Some(_) => false,
        };
        let is_it = wanted == 0 || i64::from(trigger.object_id) == wanted;
        is_dml && is_kind && is_it
    });
    Ok(Value::Int(count as i32))
}

/// `COLUMNS_UPDATED()`: "one or more bytes of bit patterns; the least significant bit of each byte is the leftmost" column (sql-docs,
/// COLUMNS_UPDATED).
fn columns_updated(call: &Call<'_>) -> Result<Value> {
    let Some(set) = call.context.session.trigger_set() else {
        return Ok(Value::Null);
    };
    let mut bytes = vec![0_u8; set.len().div_ceil(8)];
    for (column, _) in set.iter().enumerate().filter(|(_, is_set)| **is_set) {
        bytes[column / 8] |= 1 << (column % 8);
    }
    Ok(Value::binary(bytes))
}

/// `UPDATE(column)` as the parser writes it: 1 for a column that was set.
fn update(call: &Call<'_>) -> Result<Value> {
    let column = call.text(0).unwrap_or_default();
    let is_set = call.context.session.trigger_sets(column);
    let is_set = is_set.ok_or_else(|| messages::invalid_column_name(column))?;
    Ok(Value::Int(is_set.into()))
}

/// The lock and the account that the arguments name: principal, resource, and the owner at `owner`.
fn application_lock(call: &Call<'_>, owner: usize, function: &str) -> Result<(ApplicationName, Account)> {
    let given = |index: usize| {
        let text = call.text(index);
        text.ok_or_else(|| messages::invalid_argument_type("NULL", index + 1, function))
    };
    let (principal, resource) = (given(0)?, given(1)?);
    let session = call.context.session;
    let found = principal_named(&session.database(), session.id, principal);
    let found = found.ok_or_else(|| messages::no_database_principal(principal))?;
    let id = found.id as u16;
    let account = call
        .text(owner)
        .map_or(Some(Account::Transaction), lock_words::account_of);
    let account = account.ok_or_else(|| messages::invalid_application_lock("owner", function, 1))?;
    if account == Account::Transaction && call.context.session.transaction_count() == 0 {
        return Err(messages::no_user_transaction());
    }
    let name = ApplicationName {
        database: call.context.session.database_id(),
        principal: id,
        name: resource.chars().take(RESOURCE_CHARACTERS_MAX).collect(),
    };
    Ok((name, account))
}

/// What is read of an application resource's name (sql-docs, APPLOCK_MODE).
const RESOURCE_CHARACTERS_MAX: usize = 255;

/// `APPLOCK_MODE(principal, resource, owner)`: the mode in which this session holds a name (sql-docs, APPLOCK_MODE).
fn applock_mode(call: &Call<'_>) -> Result<Value> {
    let (name, account) = application_lock(call, 2, "applock_mode")?;
    let held = call.context.session.locks.application_mode(&name, account);
    Ok(lock_words::word_of(held).into())
}

/// `APPLOCK_TEST(principal, resource, mode, owner)`: 1 when the lock would be granted at once, else 0 (sql-docs, APPLOCK_TEST).
fn applock_test(call: &Call<'_>) -> Result<Value> {
    let mode = call.text(2);
    let mode = mode.ok_or_else(|| messages::invalid_argument_type("NULL", 3, "applock_test"))?;
    let (name, _) = application_lock(call, 3, "applock_test")?;
    let mode = lock_words::mode_of(mode);
    let mode = mode.ok_or_else(|| messages::invalid_application_lock("mode", "applock_test", 3))?;
    let granted = call.context.session.locks.could_lock_application(&name, mode);
    Ok(Value::SmallInt(granted.into()))
}

/// `SESSION_CONTEXT(key)`: what `sp_set_session_context` has kept under a key.
fn session_context(call: &Call<'_>) -> Result<Value> {
    Ok(call
        .text(0)
        .map_or(Value::Null, |key| call.context.session.session_context(key)))
}
