//! ACCELERATED_DATABASE_RECOVERY: an open transaction does not hold the log.
//!
//! A rollback reads only the transaction's own records. If a transaction stays open for long, they are a small part of the log that it
//! would keep from being reused. A checkpoint writes them again at the end of the log, and the transaction's chain continues from there:
//!
//! ```text
//! VLF 5                     VLF 6 to 90              VLF 91
//! Begin <- A <- B           work of others           carried A <- carried B <- end, for B     <- C, as the transaction goes on
//! |_____ can be reused, as can what is behind it __| |_ needed from here on
//! ```
//! The copies take effect once their end is in the log, and only if the transaction has written nothing meanwhile. After an earlier crash
//! the chain is unchanged. Redo skips the copies. Undo treats each as the change that it carries, with the usual compensation. The copies
//! are bounded: one part in [`HELD_PARTS_MIN`] of the log that they free. A transaction that has written more holds the log as it does
//! without the option.
//!
//! | | carried |
//! |---|---|
//! | nothing has changed hands: it needs the log from the VLF that is being written | no |
//! | it is rolling back, or was found by recovery and is undone soon | no |
//! | a log backup, a backup, a reader or a snapshot holds a VLF as old as it does | no |
//! | it has written more than a part of what it holds, or more records than are carried | no |
//! | the log has no room for twice what it has written | no |
//! | else | yes |
//!
//! SQL Server keeps versions of rows for the same purpose, and a log of its own (SLOG) for what has no versions (sql-docs, "Accelerated
//! database recovery"). Here a rollback takes as long as without the option, which only lets the log be reused.
//!
//! Invariant: [`crate::log::ChainEnd::needed_from`] advances after the copies are durable and before a checkpoint names it.
//! Invariant: carrying holds the turn of checkpoints, so that no list of transactions is written in between.

use super::Database;
use crate::cancel;
use crate::error::{Error, Result};
use crate::log::{ChainEnd, OwnedRecord, RecordKind, TransactionId};
use crate::page::{Change, Damage, UndoKind};
use crate::txn::ActiveTransaction;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// How many times what a transaction has written it has to hold of the log.
const HELD_PARTS_MIN: u64 = 16;
/// Records of a transaction that is carried, at most: their places are in memory meanwhile.
const RECORDS_MAX: u64 = 1 << 20;

/// What the log is like when open transactions are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Surroundings {
    /// The VLF that is being written.
    end_vlf: u32,
    /// The oldest VLF that something else than transactions holds.
    held_vlf: Option<u32>,
    /// Room in the log, in bytes.
    free_bytes: u64,
}

/// What there is to know of an open transaction before its changes are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    /// The VLF from which on it needs the log.
    needed_vlf: u32,
    /// Log that it holds, in bytes.
    held_bytes: u64,
    /// Log that its own records take, in bytes; 0 when it is not known.
    logged_bytes: u64,
    logged_records: u64,
}

impl Candidate {
    /// The module's table.
    fn is_carried(self, log: Surroundings) -> bool {
        let frees_vlfs = self.needed_vlf < log.end_vlf && log.held_vlf.is_none_or(|held| self.needed_vlf < held);
        let is_small = self.logged_bytes > 0
            && self.logged_records <= RECORDS_MAX
            && self.logged_bytes.saturating_mul(HELD_PARTS_MIN) <= self.held_bytes;
        frees_vlfs && is_small && self.logged_bytes.saturating_mul(2) <= log.free_bytes
    }
}

impl Database {
    /// ACCELERATED_DATABASE_RECOVERY.
    pub fn is_recovery_accelerated(&self) -> bool {
        self.is_recovery_accelerated.load(Ordering::Relaxed)
    }

    /// Sets ACCELERATED_DATABASE_RECOVERY. What was carried stays as it is.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written.
    pub fn set_accelerated_recovery(&self, is_on: bool) -> Result<()> {
        self.change_boot(|boot| {
            boot.is_recovery_accelerated = is_on;
            boot.has_carried_changes |= is_on;
        })
    }

    /// Carries forward what open transactions hold the log for. The caller has the turn of checkpoints, and writes one.
    ///
    /// # Errors
    /// 3617 when the request is to stop, 9001 and 9004 of the log. A full log is not an error here: the transactions hold it.
    pub(super) fn carry_forward(&self) -> Result<()> {
        if !self.is_recovery_accelerated() {
            return Ok(());
        }
        for (id, active) in self.transactions.snapshot() {
            // The one before has taken of the room.
            if !self.is_carried(&active, self.surroundings()) {
                continue;
            }
            let Some(last) = active.end.under_way() else { continue };
            match self.carry(id, &active.end, last) {
                Err(error) if error.is_log_full() => break,
                // It has ended or gone on, and what was read of it may be gone.
                Err(_) if !active.end.stands_at(last) => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// The oldest record that the rollback of an open transaction may have to read behind the next checkpoint.
    pub(super) fn log_needed_after_carrying(&self) -> Option<Lsn> {
        if !self.is_recovery_accelerated() {
            return self.transactions.log_needed_from();
        }
        let surroundings = self.surroundings();
        let under_way = self.transactions.snapshot().into_iter();
        let held = under_way.filter(|(_, active)| !self.is_carried(active, surroundings));
        held.map(|(_, active)| active.end.needed_from().unwrap_or(active.first))
            .min()
    }

    fn surroundings(&self) -> Surroundings {
        let space = self.storage.log.space();
        Surroundings {
            end_vlf: self.storage.log.end().vlf,
            held_vlf: self.log_held_by_readers().map(|held| held.vlf),
            free_bytes: space
                .total_bytes
                .saturating_sub(space.used_bytes + space.reserved_bytes),
        }
    }

    fn is_carried(&self, active: &ActiveTransaction, surroundings: Surroundings) -> bool {
        let needed = active.end.needed_from().unwrap_or(active.first);
        let stands = active.end.under_way().is_some_and(|last| active.end.stands_at(last));
        let candidate = || Candidate {
            needed_vlf: needed.vlf,
            held_bytes: self.storage.log.used_since(needed),
            logged_bytes: active.end.logged_bytes(),
            logged_records: active.end.logged_records(),
        };
        stands && candidate().is_carried(surroundings)
    }

    /// Writes the changes of a transaction once more whose newest record is `last`, and lets its chain go on from there.
    fn carry(&self, id: TransactionId, end: &ChainEnd, last: Lsn) -> Result<()> {
        let log = &self.storage.log;
        let (mut first, mut previous) = (Lsn::ZERO, Lsn::ZERO);
        for place in self.changes_of(last)?.into_iter().rev() {
            cancel::look()?;
            // It has ended or gone on: what is carried of it is of no use.
            if !end.stands_at(last) {
                return Ok(());
            }
            let record = log.read_record(place)?;
            let of = record.stands_for().unwrap_or(place);
            let change = change_of(record).ok_or_else(|| self.carries_nothing(place))?;
            previous = log.append_carried(id, previous, of, &change.payload)?;
            if first == Lsn::ZERO {
                first = previous;
            }
        }
        let Some(moved) = log.append_carried_end((id, end), last, (first, previous))? else {
            return Ok(());
        };
        log.flush_to(moved)?;
        end.set_needed_from(match first {
            Lsn::ZERO => moved,
            first => first,
        });
        Ok(())
    }

    /// The places of what a rollback would undo, the newest first.
    fn changes_of(&self, last: Lsn) -> Result<Vec<Lsn>> {
        let log = &self.storage.log;
        let (mut places, mut next) = (Vec::new(), last);
        while next != Lsn::ZERO {
            cancel::look()?;
            let record = log.read_record(next)?;
            let place = next;
            next = match record.header.kind {
                RecordKind::Compensation => record.header.undo_next,
                RecordKind::Begin => Lsn::ZERO,
                _ => record.header.previous,
            };
            let Some(change) = change_of(record) else { continue };
            let damage =
                |found: Damage| Error::log_damaged(&self.storage.name, &format!("record {place}: {}", found.0));
            if Change::decode(&change.payload).map_err(damage)?.undo != UndoKind::None {
                places.push(place);
            }
        }
        Ok(places)
    }

    fn carries_nothing(&self, place: Lsn) -> Error {
        Error::log_damaged(&self.storage.name, &format!("the record at {place} carries no change"))
    }
}

/// The change that a record makes or carries.
fn change_of(record: OwnedRecord) -> Option<OwnedRecord> {
    match record.header.kind {
        RecordKind::Change => Some(record),
        _ => record.into_carried_change(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line of the module's table, and both sides of each limit.
    #[test]
    fn what_frees_much_and_costs_little_is_carried() {
        let small = Candidate {
            needed_vlf: 5,
            held_bytes: 16_000,
            logged_bytes: 1_000,
            logged_records: 10,
        };
        let roomy = Surroundings {
            end_vlf: 90,
            held_vlf: None,
            free_bytes: 2_000,
        };
        let endless = Candidate {
            logged_bytes: u64::MAX,
            held_bytes: u64::MAX,
            ..small
        };
        let cases = [
            (small, roomy, true),
            (small, Surroundings { end_vlf: 5, ..roomy }, false),
            (small, Surroundings { end_vlf: 6, ..roomy }, true),
            (
                small,
                Surroundings {
                    held_vlf: Some(4),
                    ..roomy
                },
                false,
            ),
            (
                small,
                Surroundings {
                    held_vlf: Some(5),
                    ..roomy
                },
                false,
            ),
            (
                small,
                Surroundings {
                    held_vlf: Some(6),
                    ..roomy
                },
                true,
            ),
            (
                Candidate {
                    held_bytes: 15_999,
                    ..small
                },
                roomy,
                false,
            ),
            (
                Candidate {
                    logged_bytes: 0,
                    ..small
                },
                roomy,
                false,
            ),
            (
                Candidate {
                    logged_records: RECORDS_MAX,
                    ..small
                },
                roomy,
                true,
            ),
            (
                Candidate {
                    logged_records: RECORDS_MAX + 1,
                    ..small
                },
                roomy,
                false,
            ),
            (
                small,
                Surroundings {
                    free_bytes: 1_999,
                    ..roomy
                },
                false,
            ),
            (endless, roomy, false),
        ];
        for (candidate, surroundings, expected) in cases {
            assert_eq!(
                candidate.is_carried(surroundings),
                expected,
                "{candidate:?} {surroundings:?}"
            );
        }
    }
}
