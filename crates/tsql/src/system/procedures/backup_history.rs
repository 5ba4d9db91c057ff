//! `sp_delete_backuphistory` and `sp_delete_database_backuphistory`: delete old history of backups and restores. In SQL Server they are in
//! msdb.

use engine::error::Result;
use engine::instance::OldHistory;
use engine::seams::DateTimeTicks;
use engine::types::{SqlType, Value};

use super::super::{Host, SystemContext};
use super::{NAME, SystemProcedure, in_transaction, text};

pub(super) const PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_delete_backuphistory",
        parameters: &[("@oldest_date", SqlType::DateTime, true)],
        run: delete_before,
    },
    SystemProcedure {
        name: "sp_delete_database_backuphistory",
        parameters: &[("@database_name", NAME, true)],
        run: delete_of_database,
    },
];

fn delete(context: &SystemContext<'_>, old: &OldHistory) -> Result<i32> {
    in_transaction(context, |session| context.instance.delete_history(session, old))?;
    Ok(0)
}

/// A NULL is older than nothing.
fn delete_before(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match arguments.first() {
        Some(&Value::DateTime { days, ticks }) => delete(context, &OldHistory::Before(DateTimeTicks { days, ticks })),
        _ => Ok(0),
    }
}

fn delete_of_database(context: &SystemContext<'_>, _host: &mut dyn Host, arguments: &[Value]) -> Result<i32> {
    match text(arguments, 0) {
        Some(name) => delete(context, &OldHistory::OfDatabase(name.to_string())),
        None => Ok(0),
    }
}
