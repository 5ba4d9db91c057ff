//! DBCC commands about identity columns, trace flags, the session and the buffer pool.

use engine::activity::{Activity, TraceStatus};
use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, Table};
use super::Command;
use super::check::find_table;
use crate::grammar::TRACE_FLAGS;

/// The flags of a TRACEON, TRACEOFF or TRACESTATUS: every argument but -1, which means the whole server.
fn flags(command: &Command<'_>) -> Vec<u16> {
    (0..command.arguments.len())
        .filter_map(|index| u16::try_from(command.integer(index)?).ok())
        .filter(|flag| *flag > 0)
        .collect()
}

/// The session whose flags are meant; `None` with -1: the server's.
fn scope(command: &Command<'_>) -> Option<u16> {
    let is_global = (0..command.arguments.len()).any(|index| command.integer(index) == Some(-1));
    (!is_global).then_some(command.context.session_id)
}

/// `DBCC TRACEON (flag, ... [, -1])`.
pub(super) fn trace_on(command: &Command<'_>) -> Result<()> {
    for flag in flags(command) {
        super::admitted(TRACE_FLAGS.admit(1, &flag.to_string(), None))?;
    }
    change_flags(command, "ON", Activity::trace_on)
}

/// `DBCC TRACEOFF (flag, ... [, -1])`.
pub(super) fn trace_off(command: &Command<'_>) -> Result<()> {
    change_flags(command, "OFF", Activity::trace_off)
}

fn change_flags(command: &Command<'_>, verb: &str, change: impl Fn(&Activity, u16, Option<u16>)) -> Result<()> {
    let source = format!("spid{}", command.context.session_id);
    let env = &command.context.instance.env;
    let scope = scope(command);
    if flags(command).is_empty() {
        return Err(crate::messages::dbcc_argument_count());
    }
    for flag in flags(command) {
        change(&env.activity, flag, scope);
        let text = format!(
            "DBCC TRACE{verb} {flag}, server process ID (SPID) {}. This is an informational message only; no user action is required.",
            command.context.session_id
        );
        env.errorlog.write(&source, text);
    }
    Ok(())
}

/// `DBCC TRACESTATUS ([flag, ...] [, -1])`: the flags named, or those that are on, with -1 only for the server.
pub(super) fn trace_status(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let mut wanted = flags(command);
    wanted.sort_unstable();
    let mut table = Table::new(&[
        ("TraceFlag", SqlType::SmallInt),
        ("Status", SqlType::SmallInt),
        ("Global", SqlType::SmallInt),
        ("Session", SqlType::SmallInt),
    ]);
    let activity = &command.context.instance.env.activity;
    let on = activity.trace_statuses(command.context.session_id);
    let off = |flag| TraceStatus {
        flag,
        global: false,
        session: false,
    };
    let shown: Vec<TraceStatus> = if wanted.is_empty() {
        let is_meant = |status: &TraceStatus| status.global || scope(command).is_some();
        on.into_iter().filter(is_meant).collect()
    } else {
        let status_of = |flag| on.iter().find(|status| status.flag == flag).copied();
        wanted
            .into_iter()
            .map(|flag| status_of(flag).unwrap_or(off(flag)))
            .collect()
    };
    for status in shown {
        let bit = |on: bool| Value::SmallInt(i16::from(on));
        table.push(vec![
            Value::SmallInt(i16::try_from(status.flag).unwrap_or(i16::MAX)),
            bit(status.global || status.session),
            bit(status.global),
            bit(status.session),
        ]);
    }
    table.send(host)
}

/// `DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]])`.
pub(super) fn check_identity(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let written = command.text(0).unwrap_or_default();
    let (database, object) = find_table(command, &written)?;
    let ObjectDefinition::Table(table) = &object.definition else {
        return Ok(());
    };
    let (_, identity) = table
        .identity()
        .ok_or_else(|| Error::new(7997, 16, 1, format!("'{written}' does not contain an identity column.")))?;
    let current = database.identity_current(table, identity);
    let shown = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
    let reseeds = command.text(1).is_some_and(|word| word.eq_ignore_ascii_case("RESEED"));
    if let (true, Some(value)) = (reseeds, command.integer(2)) {
        // Before the first row the value itself comes next, afterwards the one that follows it (sql-docs, DBCC CHECKIDENT).
        let next = if current.is_some() {
            value.saturating_add(identity.increment)
        } else {
            value
        };
        database.reseed_identity(table, identity, next)?;
    }
    if command.is_silent() {
        return Ok(());
    }
    let mut text = format!(
        "Checking identity information: current identity value '{}'",
        shown(current)
    );
    if command.integer(2).is_none() {
        text.push_str(&format!(", current column value '{}'", shown(current)));
    }
    text.push('.');
    host.message(&Error::new(
        if command.integer(2).is_none() { 7998 } else { 7999 },
        10,
        1,
        text,
    ))
}

/// `DBCC INPUTBUFFER (session)`.
pub(super) fn input_buffer(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let id = command.integer(0).unwrap_or_default();
    let sessions = command.context.instance.sessions();
    let session = sessions
        .iter()
        .find(|session| i64::from(session.id) == id)
        .ok_or_else(|| Error::new(7955, 16, 2, format!("Invalid SPID {id} specified.")))?;
    let mut table = Table::new(&[
        ("EventType", SqlType::NVarChar(Length::Limited(14))),
        ("Parameters", SqlType::SmallInt),
        ("EventInfo", SqlType::NVarChar(Length::Limited(4000))),
    ]);
    let text: String = session.text.chars().take(4000).collect();
    table.push(vec!["Language Event".into(), Value::SmallInt(0), text.into()]);
    table.send(host)
}

/// `DBCC USEROPTIONS`
pub(super) fn user_options(host: &mut dyn Host) -> Result<()> {
    let mut table = Table::new(&[("Set Option", SqlType::SYSNAME), ("Value", SqlType::SYSNAME)]);
    for (name, value) in host.user_options() {
        table.push(vec![name.into(), value.into()]);
    }
    table.send(host)
}

/// `DBCC DROPCLEANBUFFERS`: pages that are as they are on disk leave memory.
pub(super) fn drop_clean_buffers(command: &Command<'_>) -> Result<()> {
    command.context.instance.pool.drop_clean();
    Ok(())
}
