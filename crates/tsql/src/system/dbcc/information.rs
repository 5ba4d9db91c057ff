//! DBCC DBINFO (undocumented): the fields of a database's boot record, under SQL Server's names (published outputs, First Responder Kit;
//! Paul Randal, "Importance of running regular consistency checks", has `dbi_dbccLastKnownGood`).
//!
//! It lists the fields that the database has: versions and id, name, LSNs and dates. As in SQL Server, 1900-01-01 means never.

use engine::error::Result;
use engine::seams::DateTimeTicks;
use engine::types::{Length, SqlType, Value};

use super::super::Host;
use super::Command;
use super::page::{Shown, send};
use crate::scalar::convert::convert;

/// The version of databases that `DATABASEPROPERTYEX` tells as well.
const VERSION: u16 = 957;

/// `DBCC DBINFO [(database)] [WITH TABLERESULTS]`.
pub(super) fn show(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let database = command.database(0)?;
    let boot = database.boot();
    let mut shown = Shown::default();
    shown.under("DBINFO STRUCTURE:", "DBINFO @0x0000000000000000".to_owned());
    shown.field("dbi_version", VERSION);
    shown.field("dbi_createVersion", VERSION);
    shown.field("dbi_dbid", database.id);
    shown.field("dbi_cmptlevel", boot.compatibility_level);
    shown.field("dbi_dbname", database.name());
    shown.field("dbi_crdate", moment(boot.created));
    shown.field("dbi_checkptLSN", boot.checkpoint);
    shown.field("dbi_dbbackupLSN", boot.full_backup);
    shown.field("dbi_collation", database.collation().name());
    shown.field("dbi_familyGUID", guid(boot.guid));
    shown.field("dbi_recoveryForkNameStack", guid(boot.path.fork.0));
    shown.field("dbi_differentialBaseGuid", guid(boot.change_base));
    shown.field("dbi_dbccLastKnownGood", moment(boot.last_good_check));
    send(&shown, command.has("TABLERESULTS"), command, host)
}

/// `2026-11-27 21:24:00.000`
fn moment(time: DateTimeTicks) -> String {
    let value = Value::DateTime {
        days: time.days,
        ticks: time.ticks,
    };
    let text = convert(&value, SqlType::DateTime, SqlType::VarChar(Length::Max), Some(121));
    text.ok()
        .and_then(|text| text.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// A GUID as T-SQL writes it.
fn guid(bytes: [u8; 16]) -> String {
    let value = Value::UniqueIdentifier(bytes);
    let text = convert(&value, SqlType::UniqueIdentifier, SqlType::VarChar(Length::Max), None);
    text.ok()
        .and_then(|text| text.as_str().map(str::to_owned))
        .unwrap_or_default()
}
