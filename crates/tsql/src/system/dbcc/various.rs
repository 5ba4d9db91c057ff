//! DBCC commands about identity columns, trace flags, the session and the buffer pool.

use std::collections::BTreeSet;

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};
use parking_lot::Mutex;

use super::super::{Host, Table};
use super::Command;
use super::check::find_table;

/// Trace flags set on the server. Flag 3004 and 3605 change what the error log tells in SQL Server; here it always tells.
static TRACE_FLAGS: Mutex<BTreeSet<i64>> = Mutex::new(BTreeSet::new());

/// The flags of a TRACEON, TRACEOFF or TRACESTATUS: every argument but -1, which means the whole server.
fn flags(command: &Command<'_>) -> Vec<i64> {
    (0..command.arguments.len())
        .filter_map(|index| command.integer(index))
        .filter(|flag| *flag > 0)
        .collect()
}

/// `DBCC TRACEON (flag, ... [, -1])`.
pub(super) fn trace_on(command: &Command<'_>) -> Result<()> {
    change_flags(command, "ON", |set, flag| {
        set.insert(flag);
    })
}

/// `DBCC TRACEOFF (flag, ... [, -1])`.
pub(super) fn trace_off(command: &Command<'_>) -> Result<()> {
    change_flags(command, "OFF", |set, flag| {
        set.remove(&flag);
    })
}

fn change_flags(command: &Command<'_>, verb: &str, change: impl Fn(&mut BTreeSet<i64>, i64)) -> Result<()> {
    let flags = flags(command);
    let source = format!("spid{}", command.context.session_id);
    let mut set = TRACE_FLAGS.lock();
    for flag in flags {
        change(&mut set, flag);
        let text = format!(
            "DBCC TRACE{verb} {flag}, server process ID (SPID) {}. This is an informational message only; no user action is required.",
            command.context.session_id
        );
        command.context.instance.env.errorlog.write(&source, text);
    }
    Ok(())
}

/// `DBCC TRACESTATUS ([flag, ...] [, -1])`.
pub(super) fn trace_status(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let wanted = flags(command);
    let mut table = Table::new(&[
        ("TraceFlag", SqlType::SmallInt),
        ("Status", SqlType::SmallInt),
        ("Global", SqlType::SmallInt),
        ("Session", SqlType::SmallInt),
    ]);
    let set = TRACE_FLAGS.lock().clone();
    let shown: BTreeSet<i64> = if wanted.is_empty() {
        set.clone()
    } else {
        wanted.into_iter().collect()
    };
    for flag in shown {
        let on = Value::SmallInt(i16::from(set.contains(&flag)));
        table.push(vec![
            Value::SmallInt(i16::try_from(flag).unwrap_or(i16::MAX)),
            on.clone(),
            on,
            Value::SmallInt(0),
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
        let locks = command.context.engine.borrow().locks().clone();
        database.reseed_identity(table, identity, next, &locks)?;
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
