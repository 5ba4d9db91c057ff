//! NEXT VALUE FOR, which has special syntax: `bind` creates the call.

use engine::catalog::ObjectDefinition;
use engine::error::{Error, Result};
use engine::types::Value;

use super::Call;
use crate::scalar::convert::whole_number;

/// The next value of a sequence. Its arguments: the database, the sequence, the place of the call in its statement, for "if the same sequence is
/// used in several places of one row, all get the same value" (sql-docs, "NEXT VALUE FOR"), and with OVER the number of the row.
pub(crate) fn next_value(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let number = |index| call.integer(index).unwrap_or_default();
    let key = (number(0) as u16, number(1) as u32);
    let next = || {
        let gone = || Error::assertion("a sequence that is not there");
        let database = session.instance.database_by_id(key.0).ok_or_else(gone)?;
        let object = database.catalog.by_id(key.1, session.id).ok_or_else(gone)?;
        let ObjectDefinition::Sequence(sequence) = &object.definition else {
            return Err(gone());
        };
        database.next_sequence_value(sequence, &session.locks)
    };
    let value = match (call.integer(3), session.sequences.of_row(key, number(2))) {
        (Some(row), _) => session.sequences.of_number(key, row, next)?,
        (None, Some(value)) => value,
        (None, None) => {
            let value = next()?;
            session.sequences.give(key, number(2), value);
            value
        }
    };
    whole_number(value, call.result)
}
