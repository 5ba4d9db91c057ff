//! KILL.
//!
//! | the session | KILL | KILL ... WITH STATUSONLY |
//! |---|---|---|
//! | is the current one | 6104 | 6104 |
//! | belongs to the system (1 to 50) | 6107 | 6107 |
//! | does not exist | 6106 | 6106 |
//! | was killed and is rolling back | 6109: its progress | 6109 |
//! | anything else | ended | 6120 |
//!
//! Numbers and words are those of `sys.messages`. A repeated KILL reports like STATUSONLY (SQL Server docs, "KILL").

use engine::error::{Error, Result};
use engine::seams::WorkKind;

use super::Host;
use crate::ast::Expression;
use crate::views::SystemContext;

/// Ends a session, or tells how far the rollback of one that was ended is.
pub fn kill(context: &SystemContext<'_>, host: &mut dyn Host, session: &Expression, status_only: bool) -> Result<()> {
    if host.transaction_count() > 0 {
        let text = "KILL command cannot be used inside user transactions.";
        return Err(Error::new(6115, 16, 1, text));
    }
    let number = session_number(host, session)?;
    if number == context.session_id {
        return Err(Error::new(6104, 16, 1, "Cannot use KILL to kill your own process."));
    }
    if number <= 50 {
        return Err(Error::new(6107, 14, 1, "Only user processes can be killed."));
    }
    if !context.instance.session_ids().contains(&number) {
        return Err(not_active(number));
    }
    let was_killed = context.instance.has_ended(number);
    match rollback_status(context, number) {
        Some(status) if was_killed => return host.message(&status),
        _ if status_only => {
            let text = format!(
                "Status report cannot be obtained. Rollback operation for Process ID {number} is not in progress."
            );
            return Err(Error::new(6120, 16, 1, text));
        }
        _ => {}
    }
    if !context.instance.end_session(number) {
        return Err(not_active(number));
    }
    let text = format!(
        "Process ID {number} was killed by hostname {}, host process ID {}.",
        context.host,
        std::process::id()
    );
    let source = format!("spid{}", context.session_id);
    context.instance.env.errorlog.write(&source, text);
    Ok(())
}

fn not_active(number: u16) -> Error {
    let text = format!("Process ID {number} is not an active process ID.");
    Error::new(6106, 16, 2, text)
}

fn session_number(host: &mut dyn Host, session: &Expression) -> Result<u16> {
    let value = host.evaluate(session)?;
    let id = value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    let id = id.ok_or_else(|| Error::new(6101, 16, 1, "Session ID is not valid."))?;
    let number = u16::try_from(id).ok().filter(|id| *id > 0);
    number.ok_or_else(|| Error::new(6101, 16, 1, format!("Session ID {id} is not valid.")))
}

/// 6109, when the session rolls back so much that it is watched.
fn rollback_status(context: &SystemContext<'_>, number: u16) -> Option<Error> {
    let env = &context.instance.env;
    let works = env.activity.works();
    let rollback = works
        .iter()
        .find(|work| work.kind == WorkKind::Rollback && work.session == Some(number))?;
    let seconds = rollback.milliseconds_left(env.clock.now_micros()).div_ceil(1_000);
    let text = format!(
        "SPID {number}: transaction rollback in progress. Estimated rollback completion: {:.0}%. Estimated time remaining: {seconds} seconds.",
        rollback.percent().floor()
    );
    Some(Error::new(6109, 10, 1, text))
}
