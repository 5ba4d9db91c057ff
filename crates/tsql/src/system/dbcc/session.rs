//! DBCC INPUTBUFFER, USEROPTIONS, DROPCLEANBUFFERS and ERRORLOG: a session's last batch, its options, an empty page cache, and a new error
//! log.

use engine::error::{Error, Result};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, Table};
use super::Command;

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

/// `DBCC ERRORLOG`: what SQL Server's `sp_cycle_errorlog` executes.
pub(super) fn cycle_errorlog(context: &SystemContext<'_>) -> Result<()> {
    context.instance.cycle_errorlog(&format!("spid{}", context.session_id))
}
