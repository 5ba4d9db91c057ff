//! Statements that act on databases and on the server as a whole.

mod alter;
mod backup;
mod create;
mod file;
mod filegroup;
mod foreign;
mod kill;
mod media;
mod options;
mod restore;
mod with_options;

use engine::error::{Error, Result};

pub use alter::alter as alter_database;
pub use backup::backup;
pub use create::{create as create_database, drop as drop_databases};
pub use kill::kill;
pub use restore::restore;

use super::{Host, SystemContext};
use crate::ast::Expression;
use crate::messages;
use crate::plan_cache::PlanCache;

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

/// CHECKPOINT.
///
/// # Errors
/// Those of writing the database.
pub fn checkpoint(context: &SystemContext<'_>) -> Result<()> {
    context.database.checkpoint()
}

/// SHUTDOWN, as far as it is said. The server ends after the answer, and the engine is shut down by its owner.
///
/// # Errors
/// When the client is gone.
pub fn announce_shutdown(context: &SystemContext<'_>, host: &mut dyn Host, no_wait: bool) -> Result<()> {
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
    Ok(())
}

/// RECONFIGURE.
///
/// # Errors
/// 574 in a transaction; those of keeping a setting.
pub fn reconfigure(context: &SystemContext<'_>, host: &mut dyn Host) -> Result<()> {
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
