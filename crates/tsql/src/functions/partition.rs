//! `$PARTITION.function(value)`, which has special syntax: `bind` creates the call.

use engine::error::{Error, Result};
use engine::types::Value;

use super::Call;

/// The number of the partition of a value, from 1. Its arguments: the database, the partition function by the id of its row in the catalog, and the
/// value, in the function's type.
pub(crate) fn partition_number(call: &Call<'_>) -> Result<Value> {
    let session = call.context.session;
    let number = |index| call.integer(index).unwrap_or_default();
    let gone = || Error::assertion("a partition function that is not there");
    let database = session.instance.database_by_id(number(0) as u16).ok_or_else(gone)?;
    let object = database.catalog.by_id(number(1) as u32, session.id).ok_or_else(gone)?;
    let function = object.definition.partition_function().ok_or_else(gone)?;
    let value = call.values.get(2).cloned().unwrap_or(Value::Null).whole()?;
    Ok(Value::Int(function.partition_of(&value) as i32 + 1))
}
