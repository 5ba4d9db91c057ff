//! DBCC CHECKIDENT.

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};

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
    let (_, identity) = table
        .identity()
        .ok_or_else(|| Error::new(7997, 16, 1, format!("'{written}' does not contain an identity column.")))?;
    let current = database.identity_current(table, identity);
    let shown = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
    let reseeds = command.text(1).is_some_and(|word| word.eq_ignore_ascii_case("RESEED"));
    if let (true, Some(value)) = (reseeds, command.integer(2)) {
        // Before the first row the value itself comes next, afterwards the one that follows it (sql-docs, DBCC CHECKIDENT).
        let next = if current.is_some() {
            value.saturating_add(identity.increment)
        } else {
            value
        };
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
        text.push_str(&format!(", current column value '{}'", shown(current)));
    }
    text.push('.');
    host.message(&Error::new(
        if command.integer(2).is_none() { 7998 } else { 7999 },
        10,
        1,
        text,
    ))
}
