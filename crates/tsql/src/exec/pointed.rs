//! A scan of the one row that a text pointer means.

use engine::error::{Error, Result};
use engine::lock::LockOwner;
use engine::store::ReadMode;
use engine::types::Value;

use super::scan::{decode, named, place_locator, within_timeout};
use super::{Operator, evaluate};
use crate::context::Context;
use crate::messages;
use crate::plan::{ScanNode, TextRow, find_pointed};
use crate::scalar::text_pointer::{TEXT_POINTER_BYTES, pointed_row};

/// The row, and then nothing.
pub(super) struct Pointed<'p> {
    node: &'p ScanNode,
    pointer: &'p TextRow,
    locks: &'p LockOwner,
    mode: ReadMode,
    /// The row's bytes.
    bytes: Vec<u8>,
    is_read: bool,
}

impl<'p> Pointed<'p> {
    /// The row of a table that is locked for reading it.
    pub(super) fn new(node: &'p ScanNode, pointer: &'p TextRow, locks: &'p LockOwner, mode: ReadMode) -> Pointed<'p> {
        Pointed {
            node,
            pointer,
            locks,
            mode,
            bytes: Vec::new(),
            is_read: false,
        }
    }
}

impl Operator for Pointed<'_> {
    fn next(&mut self, context: &Context<'_>, row: &mut [Value]) -> Result<bool> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(false);
        }
        let pointer = evaluate(&self.pointer.pointer, row, context)?.into_owned();
        let Value::Binary(pointer) = pointer else {
            return Err(null_pointer(self.pointer.statement));
        };
        let pointer = pointer.get(..TEXT_POINTER_BYTES).unwrap_or(&pointer).to_vec();
        let invalid = || messages::text_pointer_value(&hexadecimal(&pointer));
        let wanted = pointed_row(self.pointer.column, &pointer).ok_or_else(invalid)?;
        let node = self.node;
        let (locks, mode, bytes) = (self.locks, self.mode, &mut self.bytes);
        let found = within_timeout(node, context, || {
            find_pointed(&node.table.table, &wanted, locks, mode, bytes)
        });
        let locator = found.map_err(|error| named(node, error))?.ok_or_else(invalid)?;
        decode(node, &self.bytes, row)?;
        place_locator(node, &locator, row)?;
        Ok(true)
    }

    fn rewind(&mut self) -> bool {
        self.is_read = false;
        true
    }
}

/// 7133, whose state tells reading from writing.
fn null_pointer(statement: &str) -> Error {
    let state = match statement {
        "READ TEXT" => 1,
        _ => 2,
    };
    messages::null_text_pointer(statement, state)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}
