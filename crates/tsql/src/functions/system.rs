//! Functions about the session and the server.

use engine::error::Result;
use engine::store::Rid;
use engine::types::{Length, SqlType, Value};

use super::Answer::Fixed;
use super::Parameter::{Any, Int, Name};
use super::{Call, INT, NAME, Signature, signature};
use crate::messages;
use crate::scalar::row_place;
use crate::security::{self, Principal};

pub(super) const FUNCTIONS: &[Signature] = &[
    signature("app_name", 0, &[], NAME, app_name).told(": program that the client says it is"),
    signature(
        "connectionproperty",
        1,
        &[Name],
        Fixed(SqlType::SqlVariant),
        connectionproperty,
    )
    .told("property: a property of the connection"),
    signature(
        "fn_hadr_backup_is_preferred_replica",
        1,
        &[Name],
        Fixed(SqlType::Bit),
        is_preferred_replica,
    )
    .told("database: 1 if the database is there: it is in no availability group"),
    signature(
        "fn_physlocformatter",
        1,
        &[Any],
        Fixed(SqlType::VarChar(Length::Limited(128))),
        format_row_place,
    )
    .told("place: file, page and slot of a row, told from its %%physloc%%"),
    signature("fulltextserviceproperty", 1, &[Name], INT, full_text_service_property)
        .told("property: 0 for IsFullTextInstalled: there is no full-text search"),
    signature("getansinull", 0, &[Name], Fixed(SqlType::SmallInt), getansinull)
        .told("database: 1: new columns allow NULL by default"),
    signature("has_dbaccess", 1, &[Name], INT, has_dbaccess)
        .told("database: 1 if the database is there and can be used"),
    signature("host_id", 0, &[], Fixed(SqlType::Char(10)), host_id).told(": id of the client's process"),
    signature("host_name", 0, &[], NAME, host_name).told(": machine of the client"),
    signature("is_srvrolemember", 1, &[Name, Name], INT, is_srvrolemember)
        .told("role, login: 1 if the login is in a role of the server"),
    signature(
        "loginproperty",
        2,
        &[Name, Name],
        Fixed(SqlType::SqlVariant),
        loginproperty,
    )
    .told("login, property: a property of a login: it is never locked, and its password does not expire"),
    signature("original_login", 0, &[], NAME, original_login).told(": name of the login that opened the session"),
    signature("suser_id", 0, &[Name], INT, suser_id).told("login: id of a login or role of the server"),
    signature("suser_name", 0, &[Int], NAME, suser_name).told("id: name of a login"),
    signature(
        "suser_sid",
        0,
        &[Name, Int],
        Fixed(SqlType::VarBinary(Length::Limited(85))),
        suser_sid,
    )
    .told("login, only_if_known: security identifier of a login"),
    signature("suser_sname", 0, &[Any], NAME, suser_name).told("sid: name of the login"),
    signature("system_user", 0, &[], NAME, suser_name).told(": name of the login"),
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

fn original_login(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.login.login.as_str()))
}

fn suser_name(call: &Call<'_>) -> Result<Value> {
    Ok(Value::from(call.context.session.login_name()))
}

/// The login or role of the server that the first argument names; the session's own login without an argument. Every login works as
/// the administrator.
fn server_principal(call: &Call<'_>) -> Option<&'static Principal> {
    let own = call.context.session.login_name();
    match call.text(0) {
        _ if call.values.is_empty() => security::of_server("sa"),
        Some(name) if name.trim_end_matches(' ').eq_ignore_ascii_case(&own) => security::of_server("sa"),
        Some(name) => security::of_server(name),
        None => None,
    }
}

/// SQL Server docs, "LOGINPROPERTY": NULL for what is not a login, and for what the server does not keep. Passwords follow no policy.
fn loginproperty(call: &Call<'_>) -> Result<Value> {
    let found = call.text(0).and_then(security::of_server);
    if !found.is_some_and(Principal::is_login) {
        return Ok(Value::Null);
    }
    let property = call
        .text(1)
        .map(|property| property.trim_end_matches(' ').to_ascii_lowercase());
    let never = Value::DateTime { days: 0, ticks: 0 };
    let (value, own) = match property.as_deref() {
        Some("badpasswordcount" | "historylength" | "isexpired" | "islocked" | "ismustchange") => {
            (Value::Int(0), SqlType::Int)
        }
        Some("badpasswordtime" | "lockouttime") => (never, SqlType::DateTime),
        Some("defaultdatabase") => (Value::from("master"), SqlType::SYSNAME),
        Some("defaultlanguage") => (Value::from("us_english"), SqlType::SYSNAME),
        // DaysUntilExpiration, PasswordHash, PasswordHashAlgorithm and PasswordLastSetTime are not kept.
        _ => return Ok(Value::Null),
    };
    crate::scalar::convert::convert(&value, own, SqlType::SqlVariant, None)
}

fn suser_id(call: &Call<'_>) -> Result<Value> {
    Ok(server_principal(call).map_or(Value::Null, |found| Value::Int(i32::from(found.id))))
}

fn suser_sid(call: &Call<'_>) -> Result<Value> {
    Ok(server_principal(call).map_or(Value::Null, |found| Value::binary(security::sid_of(found))))
}

/// The fixed server roles (sql-docs, "Server-level roles").
const SERVER_ROLES: [&str; 9] = [
    "bulkadmin",
    "dbcreator",
    "diskadmin",
    "processadmin",
    "public",
    "securityadmin",
    "serveradmin",
    "setupadmin",
    "sysadmin",
];

fn is_role(roles: &[&str], name: &str) -> bool {
    roles.iter().any(|role| role.eq_ignore_ascii_case(name.trim_end()))
}

/// `IS_SRVROLEMEMBER('role', 'login')`: NULL for a role or login that does not exist. The one login, sa, is in sysadmin, which
/// has what every other role has.
fn is_srvrolemember(call: &Call<'_>) -> Result<Value> {
    let Some(role) = call.text(0).filter(|role| is_role(&SERVER_ROLES, role)) else {
        return Ok(Value::Null);
    };
    let own = call.context.session.login_name();
    let login = match call.values.len() {
        1 => Some(own.as_str()),
        _ => call.text(1),
    };
    Ok(match login {
        Some(login) if login.eq_ignore_ascii_case("sa") => Value::Int(1),
        // A login is a member of public as well; other roles cannot be members of anything.
        Some(login) if login.eq_ignore_ascii_case(&own) => Value::Int(1),
        Some(login) if is_role(&SERVER_ROLES, login) => Value::Int(i32::from(role.eq_ignore_ascii_case(login))),
        _ => Value::Null,
    })
}

fn has_dbaccess(call: &Call<'_>) -> Result<Value> {
    let Some(name) = call.text(0) else {
        return Ok(Value::Null);
    };
    let slots = call.context.session.instance.slots();
    let found = slots.iter().find(|slot| slot.entry().name.eq_ignore_ascii_case(name));
    Ok(found.map_or(Value::Null, |slot| Value::Int(i32::from(slot.database().is_ok()))))
}

/// `sys.fn_hadr_backup_is_preferred_replica` (sql-docs): 1 for a database in no availability group, 0 for one that does not exist.
fn is_preferred_replica(call: &Call<'_>) -> Result<Value> {
    let slots = call.context.session.instance.slots();
    let is_there = |name: &str| slots.iter().any(|slot| slot.entry().name.eq_ignore_ascii_case(name));
    Ok(Value::Bit(call.text(0).is_some_and(is_there)))
}

/// `sys.fn_PhysLocFormatter` (undocumented, beside `sys.fn_PhysLocCracker`): `(1:157:0)`.
fn format_row_place(call: &Call<'_>) -> Result<Value> {
    let bytes = match call.values.first() {
        Some(Value::Binary(bytes)) => bytes,
        None | Some(Value::Null) => return Ok(Value::Null),
        Some(_) => {
            return Err(messages::invalid_argument_type(
                &call.argument_type(0).to_string(),
                1,
                "fn_PhysLocFormatter",
            ));
        }
    };
    let Rid { page, slot } = row_place::place_of(bytes);
    Ok(Value::from(format!("({}:{}:{slot})", page.file, page.page)))
}

/// `FULLTEXTSERVICEPROPERTY` (sql-docs): whether full-text search is installed; the other properties are those of an installed one.
fn full_text_service_property(call: &Call<'_>) -> Result<Value> {
    let is_known = call
        .text(0)
        .is_some_and(|name| name.eq_ignore_ascii_case("IsFullTextInstalled"));
    Ok(if is_known { Value::Int(0) } else { Value::Null })
}

fn getansinull(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::SmallInt(1))
}

/// sql-docs, "CONNECTIONPROPERTY": the answers are sql_variant. A session that came over no network has no port.
fn connectionproperty(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let name = |text: &str| (Value::from(text), SqlType::NVarChar(Length::Limited(40)));
    let address = |text: &str| match text.is_empty() {
        true => (Value::Null, SqlType::VarChar(Length::Limited(48))),
        false => (Value::from(text), SqlType::VarChar(Length::Limited(48))),
    };
    let mut connection = engine::instance::ClientConnection::default();
    session.describe(|own| connection = own.connection.clone());
    let property = call
        .text(0)
        .map(|property| property.trim_end_matches(' ').to_ascii_lowercase());
    let (value, own) = match property.as_deref() {
        Some("net_transport" | "physical_net_transport") => name("TCP"),
        Some("protocol_type") => name("TSQL"),
        Some("auth_scheme") => name("SQL"),
        Some("client_net_address") => address(&connection.address),
        Some("local_net_address") => address(&connection.local.0),
        Some("local_tcp_port") => match connection.local.1 {
            0 => (Value::Null, SqlType::Int),
            port => (Value::Int(i32::from(port)), SqlType::Int),
        },
        _ => return Ok(Value::Null),
    };
    crate::scalar::convert::convert(&value, own, SqlType::SqlVariant, None)
}
