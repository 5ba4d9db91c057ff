//! RESTORE DATABASE and RESTORE LOG.

use engine::backup::{AfterRestore, RestoreKind as Kind, RestoreRequest, StopPlace, StopPoint};
use engine::error::{Error, Result};
use engine::seams::{DateTimeTicks, WorkKind};
use engine::types::{Length, SqlType, Value};

use super::super::{Host, SystemContext, text_of};
use super::backup::report;
use super::with_options::{Options, admit, ended, paths_of, reference, sent, unsupported};
use super::{foreign, media, refuse_backup_in_transaction, required_text};
use crate::ast::{Restore, RestoreKind};
use crate::grammar::RESTORE_OPTIONS;
use crate::scalar::convert::convert;

/// Runs RESTORE, all kinds.
pub fn restore(context: &SystemContext<'_>, host: &mut dyn Host, statement: &Restore) -> Result<()> {
    let kind = match statement.kind {
        RestoreKind::Database => Kind::Database,
        RestoreKind::Log => Kind::Log,
        _ => return media::show(context, host, statement),
    };
    let command = if kind == Kind::Log {
        "RESTORE LOG"
    } else {
        "RESTORE DATABASE"
    };
    refuse_backup_in_transaction(host, command)?;
    if !statement.files.is_empty() {
        return Err(unsupported("FILE"));
    }
    let name = statement
        .database
        .as_ref()
        .ok_or_else(|| crate::messages::incorrect_syntax_near_keyword("RESTORE"))?;
    let database = reference(host, name)?;
    if let Some(snapshot) = &statement.snapshot {
        super::let_go_of_plans(context);
        let reverted = context
            .instance
            .revert_database(&database, snapshot, &context.engine.borrow());
        return reverted.map_err(|error| sent(host, vec![error, Error::terminating_abnormally(command)]));
    }
    let request = request_of(host, statement);
    let mut request = ended(host, command, request)?;
    request.kind = kind;
    request.user = context.login.to_owned();
    let paths = paths_of(host, &statement.devices);
    let paths = ended(host, command, paths)?;
    request.path = paths.first().cloned();
    request.further_paths = paths.iter().skip(1).cloned().collect();
    for (logical, path) in &statement.moves {
        request
            .moves
            .push((required_text(host, logical)?, required_text(host, path)?));
    }
    if paths.is_empty() {
        refuse_without_backup(statement)?;
    }
    if paths.is_empty() && foreign::recover(context, host, (&database, &request))? {
        return Ok(());
    }
    let instance = context.instance;
    let work = match kind {
        Kind::Database => WorkKind::RestoreDatabase,
        Kind::Log => WorkKind::RestoreLog,
    };
    if kind == Kind::Database {
        super::let_go_of_plans(context);
    }
    let outcome = {
        let work = instance.env.begin_work(work, &database, 0);
        let mut report = |event| report(host, &work, event);
        instance.restore(&database, &request, &context.engine.borrow(), &mut report)
    };
    let Err(errors) = outcome else { return Ok(()) };
    match foreign::opened(context, &paths, &errors) {
        Some(files) => foreign::restore(context, host, (&database, &request), (&paths, files)),
        None => Err(sent(host, errors)),
    }
}

/// Without FROM there is nothing that these options could be about: a database is recovered, or goes on waiting.
fn refuse_without_backup(statement: &Restore) -> Result<()> {
    let about_a_backup = ["CHECKSUM", "FILE", "REPLACE", "STOPAT", "STOPATMARK", "STOPBEFOREMARK"];
    let mut named = statement.options.iter().map(|option| option.name.as_str());
    match named.find(|name| about_a_backup.contains(name)) {
        Some(name) => Err(unsupported(&format!("{name} of RESTORE without FROM"))),
        None if !statement.moves.is_empty() => Err(unsupported("MOVE of RESTORE without FROM")),
        None => Ok(()),
    }
}

fn request_of(host: &mut dyn Host, statement: &Restore) -> Result<RestoreRequest> {
    let mut request = RestoreRequest::default();
    let after = match &statement.after {
        Some(after) => Some(time_of(&host.evaluate(after)?)?),
        None => None,
    };
    let mut stops_by = None;
    let mut options = Options::new(host, &statement.options);
    while let Some(option) = options.next() {
        match option.name.as_str() {
            "FILE" => request.file = options.number(option)?,
            "REPLACE" => request.replace = true,
            "RECOVERY" => request.after = AfterRestore::Recovery,
            "NORECOVERY" => request.after = AfterRestore::NoRecovery,
            "STANDBY" => {
                request.after = AfterRestore::NoRecovery;
                request.standby = Some(options.text(option)?);
            }
            "CHECKSUM" => request.checksum = true,
            "STATS" => request.stats_percent = Some(options.percent(option)?),
            "STOPAT" | "STOPATMARK" | "STOPBEFOREMARK" => {
                if let Some(other) = stops_by.replace(option.name.as_str()) {
                    return Err(crate::messages::options_conflict(&option.name, other));
                }
                let value = options.value(option)?;
                request.stop_at = Some(match option.name.as_str() {
                    "STOPAT" => StopPoint::Time(time_of(&value)?),
                    name => StopPoint::Place {
                        place: place_of(statement.kind, &value)?,
                        is_before: name == "STOPBEFOREMARK",
                        after,
                    },
                });
            }
            // What changes nothing, what is refused, and what there is not.
            _ => admit(&RESTORE_OPTIONS, option)?,
        }
    }
    Ok(request)
}

/// What STOPATMARK and STOPBEFOREMARK look for: an LSN in decimal digits or, behind 0x, in SQL Server's three hexadecimal parts; or a mark.
///
/// # Errors
/// 4334 for an LSN that is none, and for a mark in RESTORE DATABASE ("The mark_name parameter is supported only by the RESTORE LOG statement":
/// SQL Server docs, "RESTORE Statements - Arguments").
fn place_of(kind: RestoreKind, value: &Value) -> Result<StopPlace> {
    let text = text_of(value).ok_or_else(Error::mark_is_no_lsn)?;
    let is_lsn = text.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("lsn:"));
    if !is_lsn {
        return match kind {
            RestoreKind::Log => Ok(StopPlace::Mark(text.trim_end_matches(' ').to_owned())),
            _ => Err(Error::mark_is_no_lsn()),
        };
    }
    let number = text[4..].trim();
    let has_parts = number.starts_with("0x") || number.starts_with("0X");
    match number.contains(':') == has_parts {
        true => number.parse().map(StopPlace::Lsn).map_err(|_| Error::mark_is_no_lsn()),
        false => Err(Error::mark_is_no_lsn()),
    }
}

/// STOPAT: a datetime, or text that is one.
fn time_of(value: &Value) -> Result<DateTimeTicks> {
    let from = match value {
        Value::DateTime2 { .. } => SqlType::DateTime2 { scale: 7 },
        Value::Date(_) => SqlType::Date,
        Value::SmallDateTime { .. } => SqlType::SmallDateTime,
        Value::DateTime { .. } => SqlType::DateTime,
        _ => SqlType::NVarChar(Length::Limited(4000)),
    };
    match convert(value, from, SqlType::DateTime, None)? {
        Value::DateTime { days, ticks } => Ok(DateTimeTicks { days, ticks }),
        _ => Err(crate::messages::text_to_date()),
    }
}
