//! DBCC CHECKIDENT.

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};

use super::super::Host;
use super::Command;
use super::check::find_table;

/// `DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]])`. Without a value, and without NORESEED: "If the current identity value for a
/// table is less than the maximum identity value stored in the identity column, it is reset using the maximum value in the identity
/// column" (sql-docs, DBCC CHECKIDENT).
pub(super) fn check_identity(command: &Command<'_>, host: &mut dyn Host) -> Result<()> {
    let written = command.text(0).unwrap_or_default();
    let (database, object) = find_table(command, &written)?;
    let ObjectDefinition::Table(table) = &object.definition else {
        return Ok(());
    };
    let (ordinal, identity) = table
        .identity()
        .ok_or_else(|| Error::new(7997, 16, 1, format!("'{written}' does not contain an identity column.")))?;
    let locks = command.context.engine.borrow().locks().clone();
    let current = database.identity_current(table, identity);
    let is_word = |word: &str| {
        command
            .text(1)
            .is_some_and(|written| written.eq_ignore_ascii_case(word))
    };
    if command.arguments.len() > 2 {
        let value = command.integer(2).filter(|_| is_word("RESEED"));
        let value = value.ok_or_else(|| super::incorrect_parameter(2))?;
        database.reseed_identity(table, identity, value, &locks)?;
        return tell(command, host, 7989, &format!("'{}'", shown(current)));
    }
    let farthest = if identity.increment > 0 { "max" } else { "min" };
    let in_column = host.value_of(&format!(
        "(select convert(bigint, {farthest}({})) from {}.{}.{})",
        quoted(&table.columns[ordinal].name),
        quoted(&database.name()),
        quoted(&table.schema),
        quoted(&table.name),
    ))?;
    let in_column = in_column.as_i64();
    if let (false, Some(value)) = (is_word("NORESEED"), in_column) {
        database.identity_used(table, identity, value, &locks)?;
    }
    let found = format!("'{}', current column value '{}'", shown(current), shown(in_column));
    tell(command, host, 7998, &found)
}

fn tell(command: &Command<'_>, host: &mut dyn Host, number: i32, found: &str) -> Result<()> {
    if command.is_silent() {
        return Ok(());
    }
    let text = format!("Checking identity information: current identity value {found}.");
    host.message(&Error::new(number, 10, 1, text))
}

fn shown(value: Option<i64>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
