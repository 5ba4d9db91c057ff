//! The row of a table that a text pointer means: fetched by its locator, or looked for where the pointer has only a digest of it.

use engine::cancel;
use engine::error::Result;
use engine::lock::LockOwner;
use engine::session::Table;
use engine::store::{ReadMode, RowLocator};
use engine::types::Value;

use crate::scalar::row_place::{locator_of, locator_value};
use crate::scalar::text_pointer::{PointedRow, locator_bytes};

/// What fetching a row comes to.
const STEPS_PER_FETCH: usize = 4;

/// Reads the row of a table that is named into `bytes`, and answers its locator; `None` when there is no such row.
///
/// # Errors
/// Those of reading pages, and of waiting for the row.
pub fn find_pointed(
    table: &Table,
    wanted: &PointedRow,
    locks: &LockOwner,
    mode: ReadMode,
    bytes: &mut Vec<u8>,
) -> Result<Option<RowLocator>> {
    if let PointedRow::Locator(locator) = wanted {
        let Some(locator) = own_locator(table, locator)? else {
            return Ok(None);
        };
        cancel::spend(STEPS_PER_FETCH)?;
        let found = table.fetch_named(locks, mode, &locator, bytes)?;
        return Ok(found.then_some(locator));
    }
    // Ghosts are passed at first; where none is left but rows that others have deleted, those are waited for, or read as they were.
    let behind = match mode {
        ReadMode::Uncommitted => None,
        ReadMode::Versioned(snapshot) | ReadMode::LockedAt(_, snapshot) => Some(ReadMode::Versioned(snapshot)),
        _ => Some(ReadMode::Committed),
    };
    for looked in [Some(ReadMode::Uncommitted), behind].into_iter().flatten() {
        let mut rows = table.scan(locks, looked)?;
        rows.leave_out_bytes();
        while rows.next_batch()? {
            for place in 0..rows.len() {
                cancel::spend(1)?;
                let Some(locator) = rows.locator(place) else { continue };
                let is_it = locator_bytes(&locator_value(&locator)).is_some_and(|own| wanted.is(&own));
                if is_it && table.fetch(locks, mode, &locator, bytes)? {
                    return Ok(Some(locator));
                }
            }
        }
    }
    Ok(None)
}

/// The locator of the table's kind with these bytes; `None` when they are none.
fn own_locator(table: &Table, bytes: &[u8]) -> Result<Option<RowLocator>> {
    if table.definition().clustered().is_some() {
        return locator_of(&Value::binary(bytes.to_vec())).map(Some);
    }
    let place = <[u8; 8]>::try_from(bytes).ok().map(i64::from_le_bytes);
    place.map(|place| locator_of(&Value::BigInt(place))).transpose()
}
