//! DBCC CLONEDATABASE (sql-docs, "DBCC CLONEDATABASE (Transact-SQL)"; "Database Engine events and errors", 12600 to 12630). The order of
//! its messages is that of outputs which were published (started, finished, what it is); the order of the others is our choice.
//!
//! Databases here have no query store data and no Service Broker objects, so NO_QUERYSTORE and SERVICEBROKER have nothing to omit or to
//! add.

use std::sync::Arc;

use engine::backup::{BackupKind, BackupRequest};
use engine::database::Database;
use engine::error::{Error, Result};
use engine::instance::{CloneDatabase, default_file_name};

use super::super::Host;
use super::Command;
use super::check::checked;

/// `DBCC CLONEDATABASE (source, target) [WITH NO_STATISTICS, NO_QUERYSTORE, VERIFY_CLONEDB | SERVICEBROKER, BACKUP_CLONEDB]`.
pub(super) fn database(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let (source, target) = names(command)?;
    let verifies = command.has("VERIFY_CLONEDB");
    if verifies && command.has("SERVICEBROKER") {
        let text = "VERIFY_CLONE option cannot be specified together with SERVICEBROKER option.";
        return Err(Error::new(12630, 16, 1, text));
    }
    if host.transaction_count() > 0 {
        let text = "DBCC CLONEDATABASE is not allowed within a transaction.";
        return Err(Error::new(12601, 16, 1, text));
    }
    let started = format!("Database cloning for '{source}' has started with target as '{target}'.");
    tell(command, host, 12620, started)?;
    let statement = CloneDatabase {
        source: source.clone(),
        target: target.clone(),
        has_statistics: !verifies && !command.has("NO_STATISTICS"),
    };
    let instance = command.context.instance;
    let made = instance.clone_database(&statement, &mut command.context.engine.borrow_mut());
    let clone = made?;
    let finished = format!("Database cloning for '{source}' has finished. Cloned database is '{target}'.");
    tell(command, host, 12622, finished)?;
    if verifies {
        verify(command, host, &clone)?;
    }
    drop(clone);
    if command.has("BACKUP_CLONEDB") {
        back_up(command, host, &target)?;
    }
    match verifies {
        true => tell(
            command,
            host,
            12629,
            format!("Database '{target}' is a cloned database."),
        ),
        false => {
            let text = format!(
                "Database '{target}' is a cloned database. This database should be used for diagnostic purposes only and is not supported for use in a production environment."
            );
            tell(command, host, 12621, text)
        }
    }
}

/// Both names, which no statement leaves out.
fn names(command: &Command<'_>) -> Result<(String, String)> {
    if command.arguments.len() != 2 {
        return Err(crate::messages::dbcc_argument_count());
    }
    let name = |place: usize| {
        let text = command.text(place).filter(|text| !text.is_empty());
        text.ok_or_else(|| super::incorrect_parameter(place))
    };
    Ok((name(0)?, name(1)?))
}

fn verify(command: &Command<'_>, host: &mut dyn Host, clone: &Arc<Database>) -> Result<()> {
    let options = "NO_STATISTICS and NO_QUERYSTORE options turned ON as part of VERIFY_CLONE.";
    tell(command, host, 12628, options.to_owned())?;
    // Held, so that it is not dropped between the check and its registration.
    let _in_use = command.context.engine.borrow().hold(clone)?;
    if checked(command, clone)?.is_empty() {
        clone.note_verified_clone()?;
        return tell(
            command,
            host,
            12626,
            "Clone database verification has passed.".to_owned(),
        );
    }
    host.message(&message(12627, "Clone database verification has failed.".to_owned()))
}

/// BACKUP_CLONEDB: a backup in a file of its own, read again. A clone that cannot be backed up stays.
fn back_up(command: &Command<'_>, host: &mut dyn Host, target: &str) -> Result<()> {
    let instance = command.context.instance;
    let number = instance.env.clock.unix_micros();
    let request = BackupRequest {
        kind: BackupKind::Database,
        path: format!("{}_{number}.bak", default_file_name(target)),
        user: command.context.login.to_owned(),
        ..BackupRequest::default()
    };
    let backed_up = instance.backup(target, &request, &command.context.engine.borrow(), &mut |_| Ok(()));
    if let Err(errors) = backed_up {
        return failed(host, &errors, message(12624, "Clone backup failed.".to_owned()));
    }
    let path = instance.device_path(&request.path);
    if let Err(errors) = instance.verify_backup(std::slice::from_ref(&request.path), None, &mut |_| Ok(())) {
        let text = format!("RESTORE VERIFY failed on the clone backup {path}");
        return failed(host, &errors, message(12625, text));
    }
    let text = format!("Clone backup succeeded and is stored in {path}.");
    tell(command, host, 12623, text)
}

fn failed(host: &mut dyn Host, errors: &[Error], last: Error) -> Result<()> {
    errors.iter().try_for_each(|error| host.message(error))?;
    host.message(&last)
}

/// A line of the error log, and of the client unless it wants none.
fn tell(command: &Command<'_>, host: &mut dyn Host, number: i32, text: String) -> Result<()> {
    let source = format!("spid{}", command.context.session_id);
    command.context.instance.env.errorlog.write(&source, text.clone());
    match command.is_silent() {
        true => Ok(()),
        false => host.message(&message(number, text)),
    }
}

fn message(number: i32, text: String) -> Error {
    Error::new(number, 10, 1, text)
}
