//! DBCC CHECKIDENT.

use engine::cancel;
use engine::catalog::{Identity, ObjectDefinition};
use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::session::Table;
use engine::store::ReadMode;

use super::super::Host;
use super::Command;
use super::check::find_table;

/// `DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]])`.
pub(super) fn check_identity(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let written = command.text(0).unwrap_or_default();
    let (database, object) = find_table(command, &written)?;
    let ObjectDefinition::Table(table) = &object.definition else {
        return Ok(());
    };
    let (column, identity) = table
        .identity()
        .ok_or_else(|| Error::new(7997, 16, 1, format!("'{written}' does not contain an identity column.")))?;
    let current = database.identity_current(table, identity);
    let shown = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
    let is_word = |wanted: &str| command.text(1).is_some_and(|word| word.eq_ignore_ascii_case(wanted));
    let locks = command.context.engine.borrow().locks().clone();
    let stored = farthest_value(&Table::open(&database, &object)?, &locks, column, identity)?;
    let is_behind = match (current, stored) {
        (Some(current), Some(stored)) if identity.increment > 0 => current < stored,
        (Some(current), Some(stored)) => current > stored,
        // Nothing was given since it was set: what comes next has been said, or is the seed.
        (None, _) | (Some(_), None) => false,
    };
    if let (true, Some(value)) = (is_word("RESEED"), command.integer(2)) {
        // Before the first row the value itself comes next, afterwards the one that follows it (sql-docs, DBCC CHECKIDENT).
        let next = if current.is_some() {
            value.saturating_add(identity.increment)
        } else {
            value
        };
        database.reseed_identity(table, identity, next)?;
    } else if let (true, false, Some(stored)) = (is_behind, is_word("NORESEED"), stored) {
        // "If the current identity value for a table is less than the maximum identity value stored in the identity column, it is
        // reset using the maximum value in the identity column" (sql-docs, DBCC CHECKIDENT).
        let next = stored.saturating_add(identity.increment);
        database.reseed_identity(table, identity, next)?;
    }
    if command.is_silent() {
        return Ok(());
    }
    let mut text = format!(
        "Checking identity information: current identity value '{}'",
        shown(current)
    );
    if command.integer(2).is_none() {
        text.push_str(&format!(", current column value '{}'", shown(stored)));
    }
    text.push('.');
    host.message(&Error::new(
        if command.integer(2).is_none() { 7998 } else { 7999 },
        10,
        1,
        text,
    ))
}

/// The value of an identity column that lies farthest in the direction it counts in.
fn farthest_value(table: &Table, locks: &LockOwner, column: usize, identity: Identity) -> Result<Option<i64>> {
    let mut farthest: Option<i64> = None;
    let mut scan = table.scan(locks, ReadMode::Uncommitted)?;
    while scan.next_batch()? {
        for position in 0..scan.len() {
            cancel::spend(1)?;
            let stored = scan.row(position).unwrap_or_default();
            let Some(value) = table.layout().column(stored, column)?.as_i64() else {
                continue;
            };
            farthest = Some(match farthest {
                Some(other) if identity.increment > 0 => other.max(value),
                Some(other) => other.min(value),
                None => value,
            });
        }
    }
    Ok(farthest)
}
