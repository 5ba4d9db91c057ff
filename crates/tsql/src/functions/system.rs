//! Functions about the session and the server.

use engine::error::Result;
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Any, Int, Name};
use super::{Call, INT, NAME, Signature, signature};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("app_name", 0, &[], NAME, app_name),
    signature("connectionproperty", 1, &[Name], NAME, connectionproperty),
    signature("current_user", 0, &[], NAME, user_name),
    signature("getansinull", 0, &[Name], Fixed(SqlType::SmallInt), getansinull),
    signature("has_dbaccess", 1, &[Name], INT, has_dbaccess),
    signature("has_perms_by_name", 3, &[Name, Name, Name, Name, Name], INT, one),
    signature("host_id", 0, &[], Fixed(SqlType::Char(10)), host_id),
    signature("host_name", 0, &[], NAME, host_name),
    signature("is_member", 1, &[Name], INT, one),
    signature("is_rolemember", 1, &[Name, Name], INT, one),
    signature("is_srvrolemember", 1, &[Name, Name], INT, one),
    signature("original_login", 0, &[], NAME, suser_name),
    signature("session_user", 0, &[], NAME, user_name),
    signature("suser_id", 0, &[Name], INT, one),
    signature("suser_name", 0, &[Int], NAME, suser_name),
    signature(
        "suser_sid",
        0,
        &[Name, Int],
        Fixed(SqlType::VarBinary(Length::Limited(85))),
        suser_sid,
    ),
    signature("suser_sname", 0, &[Any], NAME, suser_name),
    signature("system_user", 0, &[], NAME, suser_name),
    signature("user", 0, &[], NAME, user_name),
    signature("user_id", 0, &[Name], INT, one),
    signature("user_name", 0, &[Int], NAME, user_name),
];

fn app_name(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.login.application.as_str()))
}

fn host_name(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.login.host.as_str()))
}

fn host_id(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(format!("{:<10}", std::process::id())))
}

fn suser_name(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.login.login.as_str()))
}

/// The one login is the administrator, whose sid is 0x01.
fn suser_sid(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::binary(&[1][..]))
}

/// Every login works as the owner of every database.
fn user_name(call: &Call<'_>) -> Result<Value> {
    Ok(match call.integer(0) {
        None | Some(1) => Value::from("dbo"),
        Some(0) => Value::from("public"),
        Some(2) => Value::from("guest"),
        Some(_) => Value::Null,
    })
}

/// Permissions and roles: the one login has them all.
fn one(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(1))
}

fn has_dbaccess(call: &Call<'_>) -> Result<Value> {
    let Some(name) = call.text(0) else {
        return Ok(Value::Null);
    };
    let slots = call.context.session.instance.slots();
    let found = slots.iter().find(|slot| slot.entry().name.eq_ignore_ascii_case(name));
    Ok(found.map_or(Value::Null, |slot| Value::Int(i32::from(slot.database().is_ok()))))
}

fn getansinull(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::SmallInt(1))
}

fn connectionproperty(call: &Call<'_>) -> Result<Value> {
    Ok(match call.text(0).map(str::to_ascii_lowercase).as_deref() {
        Some("net_transport") => Value::from("TCP"),
        Some("protocol_type") => Value::from("TSQL"),
        Some("auth_scheme") => Value::from("SQL"),
        _ => Value::Null,
    })
}
