//! ALTER DATABASE ADD, REMOVE and MODIFY FILEGROUP.
//!
//! Numbers, states and words of the errors are as the SqlServerSimulator project has probed them on SQL Server 2025 (its errors of filegroups
//! and files), and as the list of "Database Engine events and errors (5000 to 5999)" has them. READ_ONLY and READ_WRITE need the database for
//! themselves, and do not wait for it (5070; sql-docs, "ALTER DATABASE File and Filegroup Options").

use engine::catalog::{FilegroupEntry, PRIMARY_FILEGROUP};
use engine::error::{Error, Result};
use engine::instance::{MSDB, Operation, Work};

use super::super::{Host, SystemContext};
use super::options::clear_others;
use crate::ast::{FilegroupProperty, Identifier, Termination};
use crate::messages;

/// The most filegroups of a database (sql-docs, "Maximum capacity specifications for SQL Server").
const FILEGROUPS_MAX: usize = 32_767;

fn is_primary(filegroup: &FilegroupEntry) -> bool {
    u32::from(filegroup.id) == PRIMARY_FILEGROUP
}

/// 1826: the databases of the system have PRIMARY alone.
fn check_user_database(operation: &Operation) -> Result<()> {
    let entry = operation.entry();
    match entry.database_id <= MSDB {
        true => Err(messages::no_filegroups_of_system_database(&entry.name)),
        false => Ok(()),
    }
}

fn position(filegroups: &[FilegroupEntry], name: &str) -> Option<usize> {
    let folded = name.to_lowercase();
    filegroups
        .iter()
        .position(|filegroup| filegroup.name.to_lowercase() == folded)
}

/// # Errors
/// 5035 for a name that another filegroup has, 5051 for DEFAULT.
pub(super) fn check_new_name(filegroups: &[FilegroupEntry], name: &str, state: u8) -> Result<()> {
    if name.eq_ignore_ascii_case("DEFAULT") {
        return Err(messages::filegroup_named_default());
    }
    match position(filegroups, name) {
        Some(_) => Err(messages::filegroup_exists(name, state)),
        None => Ok(()),
    }
}

/// ADD FILEGROUP.
pub(super) fn add(context: &SystemContext<'_>, operation: &Operation, name: &Identifier) -> Result<()> {
    check_user_database(operation)?;
    let instance = context.instance;
    instance.alter_filegroups(operation, |filegroups| {
        check_new_name(filegroups, &name.text, 1)?;
        if filegroups.len() >= FILEGROUPS_MAX {
            return Err(messages::not_supported("more than 32767 filegroups"));
        }
        let new = instance.new_filegroup(filegroups, &name.text);
        filegroups.push(new);
        Ok(())
    })
}

/// REMOVE FILEGROUP: one without files, that no definition names.
pub(super) fn remove(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    operation: &Operation,
    name: &Identifier,
) -> Result<()> {
    let (entry, database) = (operation.entry(), operation.database()?);
    context.instance.alter_filegroups(operation, |filegroups| {
        let place = position(filegroups, &name.text);
        let place = place.ok_or_else(|| messages::no_such_filegroup(&name.text, &entry.name, 1))?;
        let filegroup = &filegroups[place];
        let has_files = entry
            .files
            .iter()
            .any(|file| !file.log && file.filegroup == filegroup.id);
        let state = match () {
            () if is_primary(filegroup) => Some(6),
            () if has_files || filegroup.is_default => Some(7),
            () => database
                .table_in_filegroup(filegroup.id, context.session_id)
                .map(|_| 12),
        };
        if let Some(state) = state {
            return Err(messages::filegroup_not_empty(&name.text, state));
        }
        filegroups.remove(place);
        Ok(())
    })?;
    let text = format!("The filegroup '{}' has been removed.", name.text);
    host.message(&Error::new(5044, 10, 1, text))
}

/// MODIFY FILEGROUP.
pub(super) fn modify(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (database, name): (&str, &Identifier),
    property: &FilegroupProperty,
) -> Result<()> {
    match property {
        FilegroupProperty::ReadOnly(is_read_only) => set_read_only(context, host, (database, name), *is_read_only)?,
        other => {
            let operation = context.instance.alter(database, Work::Alter)?;
            change(context, &operation, name, other)?;
        }
    }
    host.message(&match property {
        FilegroupProperty::Name(new) => {
            let text = format!("The filegroup name '{}' has been set.", new.text);
            Error::new(5021, 10, 1, text)
        }
        other => {
            let text = format!("The filegroup property '{}' has been set.", word_of(other));
            Error::new(5046, 10, 1, text)
        }
    })
}

fn word_of(property: &FilegroupProperty) -> &'static str {
    match property {
        FilegroupProperty::Default => "DEFAULT",
        FilegroupProperty::ReadOnly(true) => "READ_ONLY",
        FilegroupProperty::ReadOnly(false) => "READ_WRITE",
        FilegroupProperty::GrowsAllFiles(true) => "AUTOGROW_ALL_FILES",
        FilegroupProperty::GrowsAllFiles(false) => "AUTOGROW_SINGLE_FILE",
        FilegroupProperty::Name(_) => "NAME",
    }
}

/// READ_ONLY and READ_WRITE: nobody is changing anything in the filegroup when it becomes what is said.
///
/// # Errors
/// 5070 while others use the database; those of [`change`].
fn set_read_only(
    context: &SystemContext<'_>,
    host: &mut dyn Host,
    (name, filegroup): (&str, &Identifier),
    is_read_only: bool,
) -> Result<()> {
    let database = context.instance.database(name)?;
    let mut alone = || {
        let cleared = clear_others(context, host, &database, Some(Termination::NoWait));
        cleared.map_err(|_| messages::users_in_database(name))
    };
    alone()?;
    let operation = context.instance.alter(name, Work::Alter)?;
    change(
        context,
        &operation,
        filegroup,
        &FilegroupProperty::ReadOnly(is_read_only),
    )?;
    // Who came in meanwhile may have begun a change; from now on none begins.
    let outcome = alone();
    if outcome.is_err() {
        change(
            context,
            &operation,
            filegroup,
            &FilegroupProperty::ReadOnly(!is_read_only),
        )?;
    }
    outcome
}

/// # Errors
/// 5014 for a filegroup that is not there; 5012 and 5047 for PRIMARY; 5035 and 5051 for a new name; 5045 for what it is already; 5050 without
/// files.
fn change(
    context: &SystemContext<'_>,
    operation: &Operation,
    name: &Identifier,
    property: &FilegroupProperty,
) -> Result<()> {
    let entry = operation.entry();
    operation.database()?.check_writable()?;
    context.instance.alter_filegroups(operation, |filegroups| {
        let place = position(filegroups, &name.text);
        let place = place.ok_or_else(|| messages::no_such_filegroup(&name.text, &entry.name, 2))?;
        let is_set = |state: u8| Err(messages::filegroup_property_is_set(word_of(property), state));
        let filegroup = &filegroups[place];
        let has_files = entry
            .files
            .iter()
            .any(|file| !file.log && file.filegroup == filegroup.id);
        if let FilegroupProperty::Name(new) = property {
            if is_primary(filegroup) {
                return Err(messages::primary_filegroup_keeps_its_name());
            }
            check_new_name(filegroups, &new.text, 2)?;
            filegroups[place].name.clone_from(&new.text);
            return Ok(());
        }
        if !has_files {
            return Err(messages::filegroup_is_empty(&filegroup.name));
        }
        match property {
            FilegroupProperty::ReadOnly(_) if is_primary(filegroup) => {
                return Err(messages::primary_filegroup_stays_writable());
            }
            FilegroupProperty::ReadOnly(wanted) if filegroup.is_read_only == *wanted => {
                return is_set(if *wanted { 1 } else { 2 });
            }
            FilegroupProperty::ReadOnly(wanted) => filegroups[place].is_read_only = *wanted,
            FilegroupProperty::GrowsAllFiles(wanted) if filegroup.grows_all_files == *wanted => {
                return is_set(if *wanted { 3 } else { 4 });
            }
            FilegroupProperty::GrowsAllFiles(wanted) => filegroups[place].grows_all_files = *wanted,
            FilegroupProperty::Default if filegroup.is_default => return is_set(3),
            FilegroupProperty::Default => {
                for (other, filegroup) in filegroups.iter_mut().enumerate() {
                    filegroup.is_default = other == place;
                }
            }
            FilegroupProperty::Name(_) => {}
        }
        Ok(())
    })
}
