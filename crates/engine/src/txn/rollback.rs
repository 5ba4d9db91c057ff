//! Rollback: a transaction's records from the newest back, each taken back and the taking-back logged.
//!
//! ```text
//! Begin <- change A <- change B <- change C        rollback to A's savepoint
//!                                  <- CLR(C), next B <- CLR(B), next A        undo never undoes a CLR: it jumps to `undo_next`
//! ```
//! The same walk serves ROLLBACK, ROLLBACK TO a savepoint, a failed statement, and the undo phase of recovery.

use crate::buffer::DatabaseStorage;
use crate::error::{Error, Result};
use crate::log::{RecordKind, TransactionChain};
use crate::store::{self, SpaceMap};
use vlf::Lsn;

/// What a rollback did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undone {
    /// Changes taken back.
    pub changes: u64,
}

/// Takes back every change of the chain that is newer than `target` (zero: all of them).
///
/// Errors: 9004 when a record of the chain cannot be read, and whatever a page says of itself (823, 824).
pub fn roll_back_to(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    chain: &mut TransactionChain,
    target: Lsn,
) -> Result<Undone> {
    let mut undone = Undone::default();
    let mut next = chain.last;
    while next > target && next != Lsn::ZERO {
        let record = storage.log.read_record(next)?;
        next = match record.header.kind {
            RecordKind::Change => {
                store::undo(storage, space, chain, &record)?;
                undone.changes += 1;
                record.header.previous
            }
            RecordKind::Compensation => record.header.undo_next,
            RecordKind::Begin => Lsn::ZERO,
            other => {
                let detail = format!("the record {other:?} at {next} cannot be part of a transaction under way");
                return Err(Error::log_damaged(&storage.name, &detail));
            }
        };
    }
    Ok(undone)
}
