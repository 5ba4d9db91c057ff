//! BACKUP DATABASE and BACKUP LOG.

use engine::backup::{BackupEvent, BackupKind, BackupRequest, LogTail};
use engine::cancel;
use engine::error::Result;
use engine::seams::{WorkKind, WorkUnderWay};

use super::super::{Host, SystemContext};
use super::refuse_backup_in_transaction;
use super::with_options::{Options, admit, ended, paths_of, reference, sent, unsupported};
use crate::ast::Backup;
use crate::grammar::BACKUP_OPTIONS;

/// Runs BACKUP. Every error of a failed one is sent, 3013 last.
pub fn backup(context: &SystemContext<'_>, host: &mut dyn Host, statement: &Backup) -> Result<()> {
    let kind = if statement.log {
        BackupKind::Log
    } else {
        BackupKind::Database
    };
    let command = if statement.log { "BACKUP LOG" } else { "BACKUP DATABASE" };
    refuse_backup_in_transaction(host, command)?;
    if !statement.files.is_empty() {
        return Err(unsupported("FILE"));
    }
    if !statement.mirrors.is_empty() {
        return Err(unsupported("MIRROR TO"));
    }
    let database = reference(host, &statement.database)?;
    let mut request = request_of(host, statement)?;
    request.kind = kind;
    let paths = paths_of(host, &statement.devices);
    let mut paths = ended(host, command, paths)?.into_iter();
    request.path = paths.next().unwrap_or_default();
    request.further_paths = paths.collect();
    request.user = context.login.to_owned();
    let instance = context.instance;
    let work = match kind {
        BackupKind::Database => WorkKind::BackupDatabase,
        BackupKind::Log => WorkKind::BackupLog,
    };
    let outcome = {
        let work = instance.env.begin_work(work, &database, 0);
        let mut report = |event| report(host, &work, event);
        instance.backup(&database, &request, &context.engine.borrow(), &mut report)
    };
    outcome.map(|_| ()).map_err(|errors| sent(host, errors))
}

/// Sends what a backup or restore says, and how far it is to those who watch it.
pub(super) fn report(host: &mut dyn Host, work: &WorkUnderWay, event: BackupEvent) -> Result<()> {
    match event {
        BackupEvent::Message(message) => host.message(&message),
        BackupEvent::Progress {
            processed_bytes,
            total_bytes,
        } => {
            work.set_total(total_bytes);
            work.set_done(processed_bytes);
            cancel::look()
        }
    }
}

fn request_of(host: &mut dyn Host, statement: &Backup) -> Result<BackupRequest> {
    let mut request = BackupRequest::default();
    let mut options = Options::new(host, &statement.options);
    while let Some(option) = options.next() {
        match option.name.as_str() {
            "INIT" => request.init = true,
            "FORMAT" => request.format = true,
            "DIFFERENTIAL" if !statement.log => request.differential = true,
            "COPY_ONLY" => request.copy_only = true,
            "COMPRESSION" => request.compression = true,
            "NO_COMPRESSION" => request.compression = false,
            "CHECKSUM" => request.checksum = true,
            "NAME" => request.name = Some(options.text(option)?),
            "DESCRIPTION" => request.description = Some(options.text(option)?),
            "MEDIANAME" => request.media_name = Some(options.text(option)?),
            "STATS" => request.stats_percent = Some(options.percent(option)?),
            "NORECOVERY" if statement.log => request.tail = LogTail::NoRecovery,
            "NO_TRUNCATE" if statement.log => request.tail = LogTail::NoTruncate,
            // What changes nothing, what is refused, and what there is not.
            _ => admit(&BACKUP_OPTIONS, option)?,
        }
    }
    Ok(request)
}
