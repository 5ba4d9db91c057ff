//! A scan of the one row of a table that a cursor is at: a row of a keyset, or the row that WHERE CURRENT OF changes.

use engine::error::{Error, Result};
use engine::lock::{LockOwner, Mode};
use engine::store::ReadMode;
use engine::types::Value;

use super::Operator;
use super::scan::{decode, lock_table, named, place_locator, read_mode, within_timeout};
use crate::context::Context;
use crate::messages;
use crate::plan::ScanNode;
use crate::scalar::row_place::locator_of;

/// The row, and then nothing.
pub(super) struct CursorRow<'p> {
    node: &'p ScanNode,
    /// The number of its table among the cursor's.
    table: usize,
    locks: &'p LockOwner,
    mode: ReadMode,
    /// The row's bytes.
    bytes: Vec<u8>,
    is_read: bool,
}

impl<'p> CursorRow<'p> {
    /// The row of a table that is locked for reading it.
    pub(super) fn new(node: &'p ScanNode, table: usize, locks: &'p LockOwner, mode: ReadMode) -> CursorRow<'p> {
        CursorRow {
            node,
            table,
            locks,
            mode,
            bytes: Vec::new(),
            is_read: false,
        }
    }
}

impl Operator for CursorRow<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(false);
        }
        let reading = context.cursor().ok_or_else(without_cursor)?;
        let wanted = reading.row(self.table).ok_or_else(without_cursor)?;
        if wanted.locator.is_null() {
            return Ok(false);
        }
        let (node, locks, mode) = (self.node, self.locks, self.mode);
        let locator = locator_of(&wanted.locator)?;
        self.bytes.clear();
        let bytes = &mut self.bytes;
        let found = within_timeout(node, context, || {
            node.table.table.fetch_named(locks, mode, &locator, bytes)
        });
        if !found.map_err(|error| named(node, error))? {
            reading.missing();
            return Ok(false);
        }
        if reading.is_compared && wanted.bytes != self.bytes {
            return Err(messages::changed_outside_cursor());
        }
        reading.found(self.table, &self.bytes);
        decode(node, &self.bytes, row)?;
        place_locator(node, &locator, row)?;
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.is_read = false;
        true
    }
}

/// Locks a row of a scan's table for a change to come, by the level that the scan reads by, and reads its bytes; false when it is not there.
///
/// # Errors
/// Those of waiting; 3960 under SNAPSHOT for a row that has changed since.
pub(crate) fn read_for_change(
    scan: &ScanNode,
    locator: &Value,
    context: &Context<'_>,
    bytes: &mut Vec<u8>,
) -> Result<bool> {
    let mut scan = scan.clone();
    scan.locking.rows = scan.locking.rows.or(Some(Mode::U));
    lock_table(&scan, context)?;
    let mode = read_mode(&scan, context);
    let locator = locator_of(locator)?;
    let table = &scan.table.table;
    let found = within_timeout(&scan, context, || {
        table.fetch_named(context.locks(), mode, &locator, bytes)
    });
    found.map_err(|error| named(&scan, error))
}

/// A plan of a cursor is executed without one.
pub(super) fn without_cursor() -> Error {
    Error::assertion("a cursor's plan without the cursor")
}
