//! DBCC TRACEON, TRACEOFF and TRACESTATUS.

use engine::activity::{Activity, TraceStatus};
use engine::error::Result;
use engine::types::{SqlType, Value};

use super::super::{Host, Table};
use super::Command;
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
