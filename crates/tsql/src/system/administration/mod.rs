//! Statements that act on databases and on the server as a whole.

mod alter;
mod backup;
mod create;
mod file;
mod kill;
mod media;
mod options;
mod restore;
mod with_options;

use engine::error::{Error, Result};

use super::{Completion, Host, SystemContext};
use crate::ast::{Expression, ObjectKind, StatementKind};
use crate::messages;
use crate::plan_cache::PlanCache;

/// Runs a statement; `None` when it is not one of these.
pub(super) fn execute(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    statement: &StatementKind,
) -> Option<Result<Completion>> {
    let done = match statement {
        StatementKind::CreateDatabase(statement) => create::create(context, host, statement),
        StatementKind::AlterDatabase(statement) => alter::alter(context, host, statement),
        StatementKind::Drop(statement) if statement.kind == ObjectKind::Database => {
            create::drop(context, host, statement)
        }
        StatementKind::Backup(statement) => backup::backup(context, host, statement),
        StatementKind::Restore(statement) => restore::restore(context, host, statement),
        StatementKind::Checkpoint(_) => checkpoint(context, host),
        StatementKind::Kill { session, status_only } => kill::kill(context, host, session, *status_only),
        StatementKind::Reconfigure { .. } => reconfigure(context, host),
        StatementKind::Shutdown { no_wait } => return Some(shutdown(context, host, *no_wait)),
        _ => return None,
    };
    Some(done.map(|()| Completion::Done))
}

/// Lets go of the instance's plans. They keep the databases that they were made in, whose files would take their room on the disk
/// until the last plan is gone; so statements that close, drop or replace a database come here first. SQL Server does the same
/// (sql-docs, "RESTORE Statements": "Restoring a database clears the plan cache for the instance").
fn let_go_of_plans(context: &SystemContext<'_>) {
    PlanCache::of(context.instance).remove(|_| true);
}

/// 574: statements that cannot be rolled back do not run inside of a transaction.
fn refuse_transaction(host: &dyn Host, statement: &str) -> Result<()> {
    if host.transaction_count() == 0 {
        return Ok(());
    }
    let text = format!("{statement} statement cannot be used inside a user transaction.");
    Err(Error::new(574, 16, 0, text))
}

/// 226: as 574, for statements about databases.
fn refuse_in_transaction(host: &dyn Host, statement: &str) -> Result<()> {
    if host.transaction_count() == 0 {
        return Ok(());
    }
    let text = format!("{statement} statement not allowed within multi-statement transaction.");
    Err(Error::new(226, 16, 5, text))
}

/// 3021, then 3013: BACKUP and RESTORE, of which nothing can be rolled back. Those that only read media files may stand in a
/// transaction.
fn refuse_backup_in_transaction(host: &mut dyn Host, statement: &str) -> Result<()> {
    if host.transaction_count() == 0 {
        return Ok(());
    }
    Err(with_options::sent(
        host,
        vec![
            messages::backup_in_transaction(),
            Error::terminating_abnormally(statement),
        ],
    ))
}

fn checkpoint(context: &SystemContext<'_>, _host: &mut dyn Host) -> Result<()> {
    context.database.checkpoint()
}

/// The server ends after the answer; the engine's owner shuts it down.
fn shutdown(context: &SystemContext<'_>, host: &mut dyn Host, no_wait: bool) -> Result<Completion> {
    let text = format!(
        "Server shut down by {} from login {}.",
        if no_wait { "NOWAIT request" } else { "request" },
        context.login
    );
    host.message(&Error::new(6006, 10, 1, text.clone()))?;
    context
        .instance
        .env
        .errorlog
        .write(&format!("spid{}", context.session_id), text);
    Ok(Completion::Shutdown { no_wait })
}

fn reconfigure(context: &SystemContext<'_>, host: &mut dyn Host) -> Result<()> {
    refuse_transaction(host, "RECONFIGURE")?;
    let configuration = &context.instance.configuration;
    let changed: Vec<_> = configuration
        .all()
        .into_iter()
        .filter(|value| value.configured != value.in_use)
        .collect();
    configuration.reconfigure();
    context.instance.apply_server_memory();
    for value in changed {
        context.instance.store_setting(value.option.name, value.configured)?;
    }
    Ok(())
}

/// The text of an option's value or a variable.
fn required_text(host: &mut dyn Host, expression: &Expression) -> Result<String> {
    let value = host.evaluate(expression)?;
    super::text_of(&value).ok_or_else(|| messages::incorrect_syntax_near_keyword("NULL"))
}
