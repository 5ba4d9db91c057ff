//! ALTER DATABASE ... SET.
//!
//! Supported options: READ_COMMITTED_SNAPSHOT, ALLOW_SNAPSHOT_ISOLATION, RECOVERY, COMPATIBILITY_LEVEL, AUTO_CREATE_STATISTICS,
//! AUTO_UPDATE_STATISTICS, PARAMETERIZATION, SINGLE_USER, RESTRICTED_USER, MULTI_USER, READ_ONLY, READ_WRITE, EMERGENCY, ONLINE, OFFLINE.
//! An option that supports only its default is accepted with that value, or if it changes nothing that a client could see. Some options can
//! only be set OFF: ON gives 5058, because a script that sets it relies on it.

use std::sync::Arc;
use std::time::Duration;

use engine::cancel;
use engine::database::{AccessMode, Database};
use engine::error::{Error, Result};
use engine::instance::{DatabaseSlot, DatabaseState, MASTER, MSDB, Operation, TEMPDB, Work};
use engine::recovery::RecoveryModel;
use engine::versions::SnapshotState;

use super::super::{Host, SystemContext};
use crate::ast::{DatabaseOption, Termination};

/// How often those who still use a database are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Patience of SET options that need the database for themselves, when nothing is said about others' transactions.
const PATIENCE_MICROS: u64 = 20_000_000;

/// Runs `SET option, ...`.
pub(super) fn set(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    name: &str,
    options: &[DatabaseOption],
    termination: Option<Termination>,
) -> Result<()> {
    for option in options {
        match option.name.as_str() {
            "SINGLE_USER" | "RESTRICTED_USER" | "MULTI_USER" => {
                set_access(context, host, name, &option.name, termination)?
            }
            "OFFLINE" => take_offline(context, host, name, termination)?,
            "ONLINE" => bring_online(context, host, name)?,
            "RECOVERY" => {
                let model = recovery_model(option)?;
                let operation = context.instance.alter(name, Work::Alter)?;
                writable(&operation, name)?.set_recovery_model(model)?;
            }
            "COMPATIBILITY_LEVEL" => set_compatibility_level(context, name, option)?,
            "TARGET_RECOVERY_TIME" => check_target_recovery_time(context, name, option)?,
            "AUTO_CREATE_STATISTICS" | "AUTO_UPDATE_STATISTICS" | "AUTO_UPDATE_STATISTICS_ASYNC" => {
                set_statistics(context, name, option)?;
            }
            "PARAMETERIZATION" => {
                let is_forced = match option.value.as_deref() {
                    Some("FORCED") => true,
                    Some("SIMPLE") => false,
                    other => return Err(crate::messages::incorrect_syntax_near(other.unwrap_or(&option.name))),
                };
                let operation = context.instance.alter(name, Work::Alter)?;
                writable(&operation, name)?.force_parameterization(is_forced)?;
            }
            "RECURSIVE_TRIGGERS" => {
                let is_on = is_on(option)?;
                let operation = context.instance.alter(name, Work::Alter)?;
                writable(&operation, name)?.set_recursive_triggers(is_on)?;
            }
            "READ_ONLY" | "READ_WRITE" => {
                set_updateability(context, host, name, option.name == "READ_ONLY", termination)?;
            }
            "EMERGENCY" => {
                let database = context.instance.database(name)?;
                if database.id > MSDB {
                    clear_others(context, host, &database, termination)?;
                }
                context.instance.set_emergency(name)?;
            }
            "READ_COMMITTED_SNAPSHOT" => set_read_committed_snapshot(context, host, name, option, termination)?,
            "ALLOW_SNAPSHOT_ISOLATION" => allow_snapshots(context, name, option)?,
            "ACCELERATED_DATABASE_RECOVERY" => accelerate_recovery(context, name, option)?,
            "ENCRYPTION" | "HADR" if option.value.as_deref() != Some("OFF") => {
                return refused(name, &option.name);
            }
            // What the grammar admits beside these says what is so here anyway, or asks for a way to the same answers.
            _ => {}
        }
    }
    Ok(())
}

/// ACCELERATED_DATABASE_RECOVERY. There is no version store in the database, so none has a filegroup.
///
/// # Errors
/// 5058 for ON in a database of the system, 40517 for PERSISTENT_VERSION_STORE_FILEGROUP.
fn accelerate_recovery(context: &SystemContext<'_>, name: &str, option: &DatabaseOption) -> Result<()> {
    let is_on = is_on(option)?;
    if let Some(argument) = option.arguments.first() {
        return Err(crate::messages::not_supported(&argument.name.to_ascii_uppercase()));
    }
    let operation = context.instance.alter(name, Work::Alter)?;
    let database = writable(&operation, name)?;
    match (is_on, database.id) {
        (true, MASTER | TEMPDB | MSDB) => refused(name, &option.name),
        (false, MASTER | TEMPDB | MSDB) => Ok(()),
        _ => database.set_accelerated_recovery(is_on),
    }
}

fn is_on(option: &DatabaseOption) -> Result<bool> {
    match option.value.as_deref() {
        Some("ON") => Ok(true),
        Some("OFF") => Ok(false),
        other => Err(crate::messages::incorrect_syntax_near(other.unwrap_or(&option.name))),
    }
}

/// READ_COMMITTED_SNAPSHOT: "there must be no active connections to the database except for the connection executing the ALTER
/// DATABASE command" (sql-docs, ALTER DATABASE SET). Without a termination they are waited for, for as long as it takes.
///
/// # Errors
/// 5058 for master, tempdb and msdb; 5070 under NO_WAIT while others use it.
fn set_read_committed_snapshot(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    name: &str,
    option: &DatabaseOption,
    termination: Option<Termination>,
) -> Result<()> {
    let is_on = is_on(option)?;
    let database = context.instance.database(name)?;
    if database.storage.versions.are_read_by_default() == is_on {
        return Ok(());
    }
    if is_on && matches!(database.id, MASTER | TEMPDB | MSDB) {
        return refused(name, &option.name);
    }
    loop {
        match clear_others(context, host, &database, termination) {
            Err(error) if error.number == NOT_ALONE && termination == Some(Termination::NoWait) => {
                return Err(crate::messages::users_in_database(name));
            }
            Err(error) if error.number == NOT_ALONE && termination.is_none() => continue,
            outcome => outcome?,
        }
        let operation = context.instance.alter(name, Work::Alter)?;
        let database = writable(&operation, name)?;
        // No session enters while the lock on the database is being tried.
        let alone = context.engine.borrow().alone_in(&database);
        if let Some(_alone) = alone {
            return database.set_read_committed_snapshot(is_on);
        }
        drop(operation);
        cancel::look()?;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// The error of [`clear_others`] when others stay.
const NOT_ALONE: i32 = 5061;

/// ALLOW_SNAPSHOT_ISOLATION: transactions under way are waited for, new ones go on (sql-docs, ALTER DATABASE SET). Who stops waiting finds
/// the option as it was.
///
/// # Errors
/// 5058 for master, tempdb and msdb; 3617.
fn allow_snapshots(context: &SystemContext<'_>, name: &str, option: &DatabaseOption) -> Result<()> {
    let is_on = is_on(option)?;
    let operation = context.instance.alter(name, Work::Alter)?;
    let database = writable(&operation, name)?;
    let state = database.storage.versions.state();
    if state == if is_on { SnapshotState::On } else { SnapshotState::Off } {
        return Ok(());
    }
    if matches!(database.id, MASTER | TEMPDB | MSDB) {
        return refused(name, &option.name);
    }
    let wait = database.begin_snapshot_state(is_on);
    while !database.is_over(&wait) {
        let goes_on = database.check_open().and_then(|()| cancel::look());
        if let Err(error) = goes_on {
            database.give_snapshot_state_up(&wait);
            return Err(error);
        }
        // As in `clear_others`.
        std::thread::sleep(LOOK_EVERY);
    }
    database.end_snapshot_state(&wait, is_on)
}

/// AUTO_CREATE_STATISTICS and its kin. ON may say INCREMENTAL = OFF behind it.
fn set_statistics(context: &SystemContext<'_>, name: &str, option: &DatabaseOption) -> Result<()> {
    let is_on = match option.value.as_deref() {
        Some("ON") => true,
        Some("OFF") => false,
        other => return Err(crate::messages::incorrect_syntax_near(other.unwrap_or(&option.name))),
    };
    let operation = context.instance.alter(name, Work::Alter)?;
    let database = writable(&operation, name)?;
    let mut options = database.statistics_options();
    match option.name.as_str() {
        "AUTO_CREATE_STATISTICS" => options.auto_create = is_on,
        "AUTO_UPDATE_STATISTICS" => options.auto_update = is_on,
        _ => options.auto_update_async = is_on,
    }
    database.set_statistics_options(options)
}

/// READ_ONLY and READ_WRITE. Those who use the database are waited for, or ended; then changes are refused, and sessions that came in
/// between are waited for as well, so that no transaction is cut in half.
///
/// # Errors
/// 5058 for a system database, 5061 while others use it; those of the checkpoint and of the boot record.
fn set_updateability(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    name: &str,
    is_read_only: bool,
    termination: Option<Termination>,
) -> Result<()> {
    let database = context.instance.database(name)?;
    if database.boot().is_read_only == is_read_only {
        return Ok(());
    }
    if database.id <= MSDB {
        return refused(name, "READ_ONLY");
    }
    clear_others(context, host, &database, termination)?;
    database.refuse_changes(true);
    let outcome = clear_others(context, host, &database, termination).and_then(|()| {
        let operation = context.instance.alter(name, Work::Alter)?;
        operation.database()?.set_read_only(is_read_only)
    });
    // What the boot record says counts, whatever became of this.
    database.refuse_changes(database.boot().is_read_only);
    outcome
}

/// The open database of an operation, unless its own files are not to be written.
///
/// # Errors
/// 5063 for a standby database, 3906 and 3908 for one that is READ_ONLY or EMERGENCY; 942 and its kin for one that is not open.
fn writable(operation: &Operation, name: &str) -> Result<Arc<Database>> {
    let database = operation.database()?;
    if database.is_standby() {
        return Err(in_warm_standby(name));
    }
    database.check_writable()?;
    Ok(database)
}

/// 5063: a standby database takes no options that its own files would say.
pub(super) fn in_warm_standby(name: &str) -> Error {
    let text = format!("Database '{name}' is in warm standby. A warm-standby database is read-only.");
    Error::new(5063, 16, 1, text)
}

/// Options about who uses a database, and whether anybody: they live outside its files.
pub(super) fn is_of_use(option: &DatabaseOption) -> bool {
    let of_use = ["SINGLE_USER", "RESTRICTED_USER", "MULTI_USER", "OFFLINE", "ONLINE"];
    of_use.contains(&option.name.as_str())
}

fn refused(name: &str, option: &str) -> Result<()> {
    Err(Error::option_refused(name, option))
}

fn recovery_model(option: &DatabaseOption) -> Result<RecoveryModel> {
    match option.value.as_deref() {
        Some("FULL") => Ok(RecoveryModel::Full),
        Some("BULK_LOGGED") => Ok(RecoveryModel::BulkLogged),
        Some("SIMPLE") => Ok(RecoveryModel::Simple),
        other => Err(crate::messages::incorrect_syntax_near_keyword(
            other.unwrap_or("RECOVERY"),
        )),
    }
}

/// The target recovery time follows from the log policy: 60 seconds, or 0 where checkpoints come by the recovery interval. What
/// it is already may be set, as scripts of whole databases do.
///
/// # Errors
/// 5058 for another one.
fn check_target_recovery_time(context: &SystemContext<'_>, name: &str, option: &DatabaseOption) -> Result<()> {
    let database = context.instance.database(name)?;
    let mut words = option.value.as_deref().unwrap_or_default().split_whitespace();
    let amount = words.next().and_then(|amount| amount.parse::<u64>().ok());
    let unit = if words.next() == Some("MINUTES") { 60 } else { 1 };
    match amount.map(|amount| amount.saturating_mul(unit)) {
        Some(seconds) if seconds == database.target_recovery_seconds() => Ok(()),
        _ => refused(name, "TARGET_RECOVERY_TIME"),
    }
}

fn set_compatibility_level(context: &SystemContext<'_>, name: &str, option: &DatabaseOption) -> Result<()> {
    let highest = context.instance.default_compatibility_level();
    // Each version knows its own level and the two before it; from 2016 on every level since 2008's.
    let lowest = if highest >= 130 {
        100
    } else {
        highest.saturating_sub(20).max(80)
    };
    let level = option.value.as_deref().and_then(|value| value.parse::<u16>().ok());
    let level = level
        .filter(|level| level % 10 == 0 && (lowest..=highest).contains(level))
        .ok_or_else(|| {
            let valid: Vec<String> = (lowest..=highest).step_by(10).map(|level| level.to_string()).collect();
            let text = match valid.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{}, or {last}", others.join(", ")),
                _ => highest.to_string(),
            };
            Error::new(
                15048,
                16,
                3,
                format!("Valid values of the database compatibility level are {text}."),
            )
        })?;
    let operation = context.instance.alter(name, Work::Alter)?;
    writable(&operation, name)?.change_boot(|boot| boot.compatibility_level = level)
}

fn set_access(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    name: &str,
    option: &str,
    termination: Option<Termination>,
) -> Result<()> {
    let database = context.instance.database(name)?;
    if let AccessMode::Single(owner) = database.access()
        && owner != context.session_id
        && others_in(context, &database).contains(&owner)
    {
        return Err(Error::new(
            5064,
            16,
            1,
            format!(
                "Changes to the state or options of database '{name}' cannot be made at this time. The database is in single-user mode, and a user is currently connected to it."
            ),
        ));
    }
    let access = match option {
        "SINGLE_USER" if database.id <= MSDB => return refused(name, option),
        "SINGLE_USER" => AccessMode::Single(context.session_id),
        "RESTRICTED_USER" => AccessMode::Restricted,
        _ => AccessMode::Multiple,
    };
    if let AccessMode::Single(_) = access {
        clear_others(context, host, &database, termination)?;
    }
    database.set_access(access);
    Ok(())
}

/// Sessions other than this one that use a database: those with a lock on it.
fn others_in(context: &SystemContext<'_>, database: &Database) -> Vec<u16> {
    context.instance.users_of(database.id, context.session_id)
}

/// Ends or waits for the sessions that use a database.
pub(super) fn clear_others(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    database: &Arc<Database>,
    termination: Option<Termination>,
) -> Result<()> {
    let patience = match termination {
        Some(Termination::NoWait) => 0,
        Some(Termination::RollbackImmediate) => 0,
        Some(Termination::RollbackAfter { seconds }) => u64::from(seconds) * 1_000_000,
        None => PATIENCE_MICROS,
    };
    let rolls_back = matches!(
        termination,
        Some(Termination::RollbackImmediate | Termination::RollbackAfter { .. })
    );
    let (mut has_ended_them, mut waited) = (false, 0);
    loop {
        // Another one may have its id by now, and other sessions.
        database.check_open()?;
        let others = others_in(context, database);
        if others.is_empty() {
            return Ok(());
        }
        if waited >= patience && rolls_back && !has_ended_them {
            has_ended_them = true;
            others.iter().for_each(|id| {
                context.instance.end_session(*id);
            });
            host.message(&rolled_back_percent(100))?;
        } else if waited >= patience.max(if rolls_back { PATIENCE_MICROS } else { 0 }) {
            let text = format!(
                "ALTER DATABASE failed because a lock could not be placed on database '{}'. Try again later.",
                database.name()
            );
            return Err(Error::new(5061, 16, 1, text));
        }
        cancel::look()?;
        // Others need time that goes by for all, whatever clock the instance has: a modelled disk's stands still meanwhile.
        std::thread::sleep(LOOK_EVERY);
        waited += LOOK_EVERY.as_micros() as u64;
    }
}

fn rolled_back_percent(percent: u8) -> Error {
    let text = format!("Nonqualified transactions are being rolled back. Estimated rollback completion: {percent}%.");
    Error::new(5060, 10, 1, text)
}

fn take_offline(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    name: &str,
    termination: Option<Termination>,
) -> Result<()> {
    let slot = context.slot(name).ok_or_else(|| Error::no_such_database(name))?;
    if slot.entry().database_id <= MSDB {
        return refused(name, "OFFLINE");
    }
    leave_broken(context, host, &slot)?;
    if let DatabaseState::Online(database) = slot.state() {
        if context.database.id == database.id {
            host.change_database("master")?;
        }
        clear_others(context, host, &database, termination)?;
    }
    drop(slot);
    super::let_go_of_plans(context);
    context.instance.take_offline(name, &context.engine.borrow())
}

/// A database whose log has failed is left by everybody, this session included, before its files are opened again.
fn leave_broken(context: &SystemContext<'_>, host: &mut dyn Host, slot: &DatabaseSlot) -> Result<()> {
    match slot.broken() {
        Some(database) if database.id == context.database.id => host.change_database("master"),
        _ => Ok(()),
    }
}

fn bring_online(context: &SystemContext<'_>, host: &mut dyn Host, name: &str) -> Result<()> {
    let slot = context.slot(name).ok_or_else(|| Error::no_such_database(name))?;
    leave_broken(context, host, &slot)?;
    drop(slot);
    context.instance.bring_online(name, &context.engine.borrow())
}
