//! DBCC CHECKDB, CHECKALLOC, CHECKFILEGROUP, CHECKTABLE and CHECKCATALOG: [`Database::check`] in SQL Server's words.

use std::sync::Arc;

use engine::buffer::PRIMARY_FILEGROUP;
use engine::catalog::{CatalogObject, FilegroupEntry, StorageRoot, TableDefinition};
use engine::database::{AccessMode, CheckReport, CheckedObject, Database};
use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode, Resource};
use engine::seams::DateTimeTicks;
use engine::store::Finding;

use super::super::Host;
use super::{Command, no_object};
use crate::scalar::spatial;

/// `DBCC CHECKDB [(database [, NOINDEX | REPAIR_...])]`. Writers and DDL are kept out of the database while it runs.
pub(super) fn database(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let database = command.database(0)?;
    refuse_repair(command, &database)?;
    let clock = &command.context.instance.env.clock;
    let (begun, begun_unix_micros) = (clock.now_micros(), clock.unix_micros());
    let report = checked(command, &database)?;
    let name = database.name();
    let silent = command.is_silent();
    if !silent {
        host.message(&Error::new(2536, 10, 2, format!("DBCC results for '{name}'.")))?;
    }
    findings(host, report.allocation.iter())?;
    for object in &report.objects {
        if !silent {
            host.message(&Error::new(2536, 10, 2, format!("DBCC results for '{}'.", object.name)))?;
            host.message(&counted(object))?;
        }
    }
    findings(host, report.consistency.iter())?;
    for text in &report.log {
        host.message(&Error::new(9004, 16, 1, text.clone()))?;
    }
    let allocation = report.allocation.len();
    let consistency = report.consistency.len() + report.log.len();
    if !silent || allocation + consistency > 0 {
        let text = format!(
            "CHECKDB found {allocation} allocation errors and {consistency} consistency errors in database '{name}'."
        );
        host.message(&Error::new(8989, 10, 1, text))?;
    }
    tell_errorlog(command, &name, allocation + consistency, begun);
    if allocation + consistency == 0 {
        database.note_good_check(DateTimeTicks::from_unix_micros(begun_unix_micros))?;
    }
    Ok(())
}

/// SQL Server writes every CHECKDB with its outcome into the error log (message 8957).
fn tell_errorlog(command: &Command<'_>, name: &str, errors: usize, begun: u64) {
    let instance = command.context.instance;
    let seconds = instance.env.clock.now_micros().saturating_sub(begun) / 1_000_000;
    let text = format!(
        "DBCC CHECKDB ({name}) executed by {} found {errors} errors and repaired 0 errors. Elapsed time: {} hours {} minutes {} seconds.",
        command.context.login,
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    instance
        .env
        .errorlog
        .write(&format!("spid{}", command.context.session_id), text);
}

/// `DBCC CHECKALLOC [(database)]`.
pub(super) fn allocation(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let database = command.database(0)?;
    refuse_repair(command, &database)?;
    let report = checked(command, &database)?;
    findings(host, report.allocation.iter())?;
    let text = format!(
        "CHECKALLOC found {} allocation errors and 0 consistency errors in database '{}'.",
        report.allocation.len(),
        database.name()
    );
    host.message(&Error::new(8989, 10, 1, text))
}

/// `DBCC CHECKFILEGROUP [(filegroup [, NOINDEX])]`: of the current database; without an argument, or for 0, PRIMARY. Tables are looked at
/// of which anything is in the filegroup, and of what is found what concerns it (sql-docs, "DBCC CHECKFILEGROUP").
///
/// # Errors
/// 1921 for a filegroup that is not there.
pub(super) fn filegroup(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let database = command.context.database.clone();
    let filegroup = filegroup_of(command, &database)?;
    let report = checked(command, &database)?;
    let silent = command.is_silent();
    let files = &database.storage.files;
    let is_there = |root: &StorageRoot| files.filegroup_of(root.first_iam.0) == filegroup;
    let objects = database.catalog.objects(0);
    let tables: Vec<&TableDefinition> = objects.iter().filter_map(|object| object.definition.table()).collect();
    let units: Vec<u32> = tables
        .iter()
        .flat_map(|table| table.storage_roots())
        .filter(is_there)
        .map(|root| root.unit)
        .collect();
    let is_meant = |id: u32| match tables.iter().find(|table| table.object_id == id) {
        Some(table) => table.storage_roots().any(|root| is_there(&root)),
        // The catalog.
        None => filegroup == PRIMARY_FILEGROUP,
    };
    let is_of_others = |finding: &&Finding| {
        let is_its_page = files.filegroup_of(finding.page.file) == filegroup;
        is_its_page || units.contains(&finding.object.0)
    };
    let allocation: Vec<&Finding> = report.allocation.iter().filter(is_of_others).collect();
    let consistency: Vec<&Finding> = report.consistency.iter().filter(is_of_others).collect();
    if !silent {
        host.message(&Error::new(
            2536,
            10,
            2,
            format!("DBCC results for '{}'.", database.name()),
        ))?;
    }
    findings(host, allocation.iter().copied())?;
    for object in report
        .objects
        .iter()
        .filter(|object| !silent && is_meant(object.object_id))
    {
        host.message(&Error::new(2536, 10, 2, format!("DBCC results for '{}'.", object.name)))?;
        host.message(&counted(object))?;
    }
    findings(host, consistency.iter().copied())?;
    if silent && allocation.is_empty() && consistency.is_empty() {
        return Ok(());
    }
    let text = format!(
        "CHECKFILEGROUP found {} allocation errors and {} consistency errors in database '{}'.",
        allocation.len(),
        consistency.len(),
        database.name()
    );
    host.message(&Error::new(8989, 10, 1, text))
}

/// The filegroup that the first argument names or numbers.
fn filegroup_of(command: &Command<'_>, database: &Database) -> Result<u16> {
    let filegroups = database.entry().every_filegroup();
    let written = command.text(0).unwrap_or_default();
    let number = command.integer(0);
    let is_meant = |filegroup: &&FilegroupEntry| match number {
        Some(0) => filegroup.id == PRIMARY_FILEGROUP,
        Some(number) => i64::from(filegroup.id) == number,
        None if written.is_empty() => filegroup.id == PRIMARY_FILEGROUP,
        None => filegroup.name.to_lowercase() == written.to_lowercase(),
    };
    let found = filegroups.iter().find(is_meant).map(|filegroup| filegroup.id);
    found.ok_or_else(|| crate::messages::invalid_data_space("filegroup", &written, 1))
}

/// `DBCC CHECKTABLE ('table')`.
pub(super) fn table(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let written = command.text(0).unwrap_or_default();
    let (database, object) = find_table(command, &written)?;
    refuse_repair(command, &database)?;
    let report = checked(command, &database)?;
    let id = object.definition.object_id();
    let found = report
        .objects
        .iter()
        .find(|checked| checked.object_id == id)
        .ok_or_else(|| no_object(&written))?;
    let own: Vec<&Finding> = report
        .consistency
        .iter()
        .filter(|finding| is_of(finding, &object))
        .collect();
    findings(host, own.iter().copied())?;
    if !command.is_silent() {
        host.message(&Error::new(2536, 10, 2, format!("DBCC results for '{}'.", found.name)))?;
        host.message(&counted(found))?;
    }
    if own.is_empty() {
        return Ok(());
    }
    let text = format!(
        "CHECKTABLE found 0 allocation errors and {} consistency errors in table '{}' (object ID {id}).",
        own.len(),
        found.name
    );
    host.message(&Error::new(8990, 10, 1, text))
}

/// `DBCC CHECKCATALOG [(database)]`: reading the catalog at startup is the check; a database that is open has passed it.
pub(super) fn catalog(command: &Command<'_>) -> Result<()> {
    command.database(0).map(|_| ())
}

/// A table, or a view with indexes, by its name as written in an argument.
pub(super) fn find_table(command: &Command<'_>, written: &str) -> Result<(Arc<Database>, Arc<CatalogObject>)> {
    let context = command.context;
    let name = crate::ast::Name::parse(written).ok_or_else(|| no_object(written))?;
    let database = match name.database() {
        Some(database) => context.instance.database(database)?,
        None => context.database.clone(),
    };
    let object = database
        .catalog
        .find(name.schema().unwrap_or("dbo"), name.object(), context.session_id);
    let object = object.filter(|object| object.definition.table().is_some());
    Ok((database, object.ok_or_else(|| no_object(written))?))
}

fn is_of(finding: &Finding, object: &CatalogObject) -> bool {
    let Some(table) = object.definition.table() else {
        return false;
    };
    table.storage_roots().any(|root| root.unit == finding.object.0)
}

fn counted(object: &CheckedObject) -> Error {
    let text = format!(
        "There are {} rows in {} pages for object \"{}\".",
        object.rows, object.pages, object.name
    );
    Error::new(2593, 10, 1, text)
}

fn findings<'f>(host: &mut dyn Host, findings: impl Iterator<Item = &'f Finding>) -> Result<()> {
    for finding in findings {
        host.message(&Error::new(finding.number, 16, 1, finding.text.clone()))?;
    }
    Ok(())
}

/// 7919: repairs need SINGLE_USER, in which they are refused by 40517: a database is restored from a backup.
fn refuse_repair(command: &Command<'_>, database: &Database) -> Result<()> {
    let words = (1..command.arguments.len()).filter_map(|index| command.text(index));
    let repairs = words.into_iter().any(|word| word.to_uppercase().starts_with("REPAIR"));
    if !repairs {
        return Ok(());
    }
    if matches!(database.access(), AccessMode::Single(_)) {
        return Err(crate::messages::not_supported("REPAIR of DBCC"));
    }
    let text = "Repair statement not processed. Database needs to be in single user mode.";
    Err(Error::new(7919, 16, 3, text))
}

/// How often locking everything starts over because a session that holds one part waits for another.
const ATTEMPTS_MAX: usize = 20;

/// Runs the check with a shared lock on every table and on the catalog, so that nothing changes while it is read: no row, no
/// allocation, no definition. Changes under way are waited for.
pub(super) fn checked(command: &Command<'_>, database: &Arc<Database>) -> Result<CheckReport> {
    let _in_use = command.context.engine.borrow().hold(database)?;
    let locks = command.context.engine.borrow().locks().clone();
    let mut taken = Vec::new();
    let mut outcome = lock_everything(&locks, database, &mut taken);
    for _ in 1..ATTEMPTS_MAX {
        // The victim of a deadlock; a check has nothing to lose by starting over.
        if !outcome.as_ref().is_err_and(|error| error.number == 1205) {
            break;
        }
        taken.drain(..).for_each(|resource| locks.unlock(resource));
        outcome = lock_everything(&locks, database, &mut taken);
    }
    let report = outcome.and_then(|()| {
        let mut report = database.check()?;
        database.check_values(&mut report, &spatial::is_value)?;
        Ok(report)
    });
    taken.into_iter().for_each(|resource| locks.unlock(resource));
    report
}

/// Tables first, then the catalog, as those who change definitions do; then the tables that came meanwhile. The system's own work last.
fn lock_everything(locks: &LockOwner, database: &Database, taken: &mut Vec<Resource>) -> Result<()> {
    let tables = || -> Vec<Resource> {
        let objects = database.catalog.objects(0);
        let tables = objects.iter().filter(|object| object.definition.table().is_some());
        tables
            .map(|object| Resource::Object(database.id, object.definition.object_id()))
            .collect()
    };
    let catalog = Resource::Object(database.id, database.catalog_object_id());
    let mut lock = |resource: Resource| -> Result<()> {
        let before = locks.mode_of(&resource);
        locks.lock(resource, Mode::S)?;
        // What the session's transaction has locked before stays locked, in the stronger mode.
        if before.is_none() {
            taken.push(resource);
        }
        Ok(())
    };
    tables().into_iter().try_for_each(&mut lock)?;
    lock(catalog)?;
    tables().into_iter().try_for_each(&mut lock)?;
    // Behind this one nothing is waited for: a session's own thread may wait here, and everybody else for that session.
    lock(database.system_work_lock())
}
