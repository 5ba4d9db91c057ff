//! ACCELERATED_DATABASE_RECOVERY: an open transaction does not hold the log.
//!
//! A rollback reads the transaction's own changes from the log. A transaction that stays open while the log fills has few changes, compared with the
//! log that it holds. A checkpoint writes them once more at the end of the log, and the transaction's chain continues from there:
//!
//! ```text
//! VLF 5                     VLF 6 to 90              VLF 91
//! Begin <- A <- B           work of others           carried A <- carried B <- end, for B     <- C, as the transaction continues
//! |_______________ can be reused _______________|    |_ needed from here on
//! ```
//! The copies count once their end record is in the log. What the transaction changed meanwhile is copied in a further round, and the end record is
//! written only if nothing was added since. After a crash before that the chain is as it was. Redo ignores copies, undo treats each as the change
//! that it carries, and compensations are as always.
//!
//! The log is freed from its oldest part on, so transactions are carried oldest first, up to the first that is not. Those behind it would free nothing.
//!
//! | transaction | carried |
//! |---|---|
//! | needs the log from the VLF that is being written | no |
//! | is rolling back, or was found by recovery and is undone soon | no |
//! | a log backup, a backup, a reader or a snapshot holds a VLF as old as it does | no |
//! | it and the older ones of this round wrote more than one part in [`HELD_PARTS_MIN`] of what it holds, or more records than are carried | no |
//! | wrote more than [`SMALL_BYTES`], and the log has no room for twice of that | no |
//! | the last attempt came to nothing, and it does not hold twice as much since | no |
//! | else | yes |
//!
//! A few changes may use part of the reserve for checkpoints, so a log that is full because of such a transaction is freed by the next checkpoint.
//!
//! SQL Server keeps row versions for the same purpose, and a log of its own (SLOG) for what has no versions (sql-docs, "Accelerated database
//! recovery"). The other half of the option, rollbacks that are over at once, is in [`crate::marked`].
//!
//! Invariant: [`crate::log::ChainEnd::needed_from`] advances after the copies are durable, before a checkpoint lists it.
//! Invariant: carrying needs the turn of checkpoints, so no list of transactions is written in between.

use super::Database;
use crate::cancel;
use crate::error::{Error, Result};
use crate::log::{ChainEnd, OwnedRecord, RecordKind, ToCarry, TransactionId};
use crate::page::{Change, Damage, UndoKind};
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// How many times the bytes of its copies a transaction has to hold of the log.
const HELD_PARTS_MIN: u64 = 16;
/// Records of a transaction that is carried, at most: their places are in memory meanwhile.
const RECORDS_MAX: u64 = 1 << 20;
/// Copies of so many bytes fit into the part of the checkpoints' reserve that they may use.
const SMALL_BYTES: u64 = 8 << 10;
/// How often what was added meanwhile is copied before the attempt is given up.
const ROUNDS_MAX: usize = 4;

/// The log when open transactions are examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Surroundings {
    /// The VLF that is being written.
    end_vlf: u32,
    /// The oldest VLF that something other than transactions holds.
    held_vlf: Option<u32>,
    /// Room in the log, in bytes.
    free_bytes: u64,
}

impl Surroundings {
    /// Whether the log could be freed if a transaction did not need it from this VLF on.
    fn could_free(self, needed_vlf: u32) -> bool {
        needed_vlf < self.end_vlf && self.held_vlf.is_none_or(|held| needed_vlf < held)
    }

    /// The rest of the module's table. `held_bytes` is the log that the transaction holds, `copied_bytes` what older ones have written.
    fn is_worth(self, to_carry: ToCarry, held_bytes: u64, copied_bytes: u64) -> bool {
        let ToCarry {
            logged_bytes,
            logged_records,
            put_off_bytes,
            ..
        } = to_carry;
        let bytes = copied_bytes.saturating_add(logged_bytes);
        let has_room = bytes <= SMALL_BYTES || bytes.saturating_mul(2) <= self.free_bytes;
        has_room
            && logged_records <= RECORDS_MAX
            && bytes.saturating_mul(HELD_PARTS_MIN) <= held_bytes
            && put_off_bytes <= held_bytes
    }
}

/// Which open transactions the next checkpoint carries.
struct Plan {
    /// The oldest first, each with the log that it holds, in bytes.
    carried: Vec<(TransactionId, ChainEnd, u64)>,
    /// The oldest record that a rollback may have to read behind that.
    needed_after: Option<Lsn>,
}

impl Database {
    /// ACCELERATED_DATABASE_RECOVERY.
    pub fn is_recovery_accelerated(&self) -> bool {
        self.is_recovery_accelerated.load(Ordering::Relaxed)
    }

    /// Sets ACCELERATED_DATABASE_RECOVERY. Copies that were made stay in use. What is rolled back page by page is taken back first, and what is under way
    /// when it goes off is rolled back in order.
    ///
    /// # Errors
    /// 823 when the boot record cannot be written; those of a rollback.
    pub fn set_accelerated_recovery(&self, is_on: bool) -> Result<()> {
        if !is_on {
            self.take_back_all_marked()?;
        }
        let no_mark = (!is_on).then(|| self.storage.marked.lose_links());
        self.change_boot(|boot| {
            boot.is_recovery_accelerated = is_on;
            boot.has_carried_changes |= is_on;
            boot.has_links |= is_on;
        })?;
        if !is_on {
            let under_way = self.transactions.snapshot();
            under_way.iter().for_each(|(_, one)| one.end.loses_links());
            drop(no_mark);
            // What was marked meanwhile.
            self.take_back_all_marked()?;
        }
        Ok(())
    }

    /// Carries the changes of open transactions that hold the log. The caller has the turn of checkpoints, and writes one.
    ///
    /// # Errors
    /// 3617 when the request is to stop, 9001 when the log is closed. Whatever else prevents it leaves the log held, and is reported.
    pub(super) fn carry_forward(&self) -> Result<()> {
        if !self.is_recovery_accelerated() {
            return Ok(());
        }
        for (id, end, held_bytes) in self.plan_of_carrying().carried {
            let again_at = held_bytes.saturating_mul(2);
            match self.carry(id, &end) {
                Ok(true) => continue,
                Ok(false) => end.put_off(again_at),
                Err(error) if error == Error::cancelled() || error.number == LOG_CLOSED => return Err(error),
                Err(error) if error.is_log_full() => end.put_off(again_at),
                // It has ended meanwhile, and its records may be gone.
                Err(_) if end.to_carry().is_none() => {}
                Err(error) => {
                    end.put_off(u64::MAX);
                    self.storage.env.errorlog.write_error("Server", &error);
                }
            }
            break;
        }
        Ok(())
    }

    /// The oldest record that the rollback of an open transaction may have to read behind the next checkpoint.
    pub(super) fn log_needed_after_carrying(&self) -> Option<Lsn> {
        match self.is_recovery_accelerated() {
            true => self.plan_of_carrying().needed_after,
            false => self.transactions.log_needed_from(),
        }
    }

    /// Whether the next checkpoint would let go of log that open transactions hold.
    pub(super) fn is_carrying_due(&self) -> bool {
        self.is_recovery_accelerated() && !self.plan_of_carrying().carried.is_empty()
    }

    fn plan_of_carrying(&self) -> Plan {
        let log = &self.storage.log;
        let space = log.space();
        let surroundings = Surroundings {
            end_vlf: log.end().vlf,
            held_vlf: self.log_held_by_readers().map(|held| held.vlf),
            free_bytes: space
                .total_bytes
                .saturating_sub(space.used_bytes + space.reserved_bytes),
        };
        let under_way = self.transactions.snapshot().into_iter();
        let mut under_way: Vec<(Lsn, TransactionId, ChainEnd)> = under_way
            .map(|(id, active)| (active.end.needed_from().unwrap_or(active.first), id, active.end))
            .collect();
        under_way.sort_by_key(|(needed, ..)| *needed);
        let mut carried = Vec::new();
        let mut copied_bytes = 0;
        for (needed, id, end) in under_way {
            let to_carry = end.to_carry().filter(|_| surroundings.could_free(needed.vlf));
            let held_bytes = to_carry.map_or(0, |_| log.used_since(needed));
            let to_carry = to_carry.filter(|&to_carry| surroundings.is_worth(to_carry, held_bytes, copied_bytes));
            let Some(to_carry) = to_carry else {
                let needed_after = Some(needed);
                return Plan { carried, needed_after };
            };
            copied_bytes += to_carry.logged_bytes;
            carried.push((id, end, held_bytes));
        }
        let needed_after = None;
        Plan { carried, needed_after }
    }

    /// Writes a transaction's changes once more, and lets its chain continue from there. False when the transaction does not stand still for that.
    fn carry(&self, id: TransactionId, end: &ChainEnd) -> Result<bool> {
        let log = &self.storage.log;
        let (mut first, mut previous, mut copied_to) = (Lsn::ZERO, Lsn::ZERO, Lsn::ZERO);
        for _ in 0..ROUNDS_MAX {
            let Some(ToCarry { last, .. }) = end.to_carry() else {
                return Ok(false);
            };
            let Some(places) = self.changes_between(copied_to, last)? else {
                return Ok(false);
            };
            for place in places.into_iter().rev() {
                cancel::look()?;
                if end.to_carry().is_none() {
                    return Ok(false);
                }
                let record = log.read_record(place)?;
                let of = record.stands_for().unwrap_or(place);
                let change = change_of(record).ok_or_else(|| self.carries_nothing(place))?;
                previous = log.append_carried(id, previous, of, &change.payload)?;
                if first == Lsn::ZERO {
                    first = previous;
                }
            }
            copied_to = last;
            if let Some(moved) = log.append_carried_end((id, end), last, (first, previous))? {
                log.flush_to(moved)?;
                end.set_needed_from(match first {
                    Lsn::ZERO => moved,
                    first => first,
                });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The places of what a rollback would undo from `last` back to `until`, the newest first. `None` when changes before `until` were undone
    /// since, or there are too many.
    fn changes_between(&self, until: Lsn, last: Lsn) -> Result<Option<Vec<Lsn>>> {
        let log = &self.storage.log;
        let (mut places, mut next, mut records) = (Vec::new(), last, 0);
        while next > until {
            cancel::look()?;
            records += 1;
            if records > RECORDS_MAX {
                return Ok(None);
            }
            let record = log.read_record(next)?;
            let place = next;
            next = record.before_in_chain();
            let Some(change) = change_of(record) else { continue };
            let damage =
                |found: Damage| Error::log_damaged(&self.storage.name, &format!("record {place}: {}", found.0));
            if Change::decode(&change.payload).map_err(damage)?.undo != UndoKind::None {
                places.push(place);
            }
        }
        Ok((next == until).then_some(places))
    }

    fn carries_nothing(&self, place: Lsn) -> Error {
        Error::log_damaged(&self.storage.name, &format!("the record at {place} carries no change"))
    }
}

/// The log of a database is not available.
const LOG_CLOSED: i32 = 9001;

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

    const ROOMY: Surroundings = Surroundings {
        end_vlf: 90,
        held_vlf: None,
        free_bytes: 200_000,
    };

    /// The log is freed only where the transaction is the one that holds it.
    #[test]
    fn what_holds_the_log_alone_can_free_it() {
        let frees = [
            (90, None, true),
            (5, None, false),
            (6, None, true),
            (90, Some(4), false),
            (90, Some(5), false),
            (90, Some(6), true),
        ];
        for (end_vlf, held_vlf, expected) in frees {
            let surroundings = Surroundings {
                end_vlf,
                held_vlf,
                ..ROOMY
            };
            assert_eq!(surroundings.could_free(5), expected, "{surroundings:?}");
        }
    }

    /// The other lines of the module's table, and both sides of each limit.
    #[test]
    fn what_frees_much_and_costs_little_is_carried() {
        const HELD_BYTES: u64 = 1_600_000;
        let of = |logged_bytes: u64, logged_records: u64, put_off_bytes: u64| ToCarry {
            last: Lsn::ZERO,
            logged_bytes,
            logged_records,
            put_off_bytes,
        };
        let small = of(100_000, 10, 0);
        let tiny = of(SMALL_BYTES, 10, 0);
        let free = ROOMY.free_bytes;
        let cases = [
            (free, small, HELD_BYTES, 0, true),
            (free, small, HELD_BYTES - 1, 0, false),
            (free, small, HELD_BYTES, 1, false),
            (free - 1, small, HELD_BYTES, 0, false),
            (0, tiny, HELD_BYTES, 0, true),
            (0, tiny, HELD_BYTES, 1, false),
            (free, of(100_000, RECORDS_MAX, 0), HELD_BYTES, 0, true),
            (free, of(100_000, RECORDS_MAX + 1, 0), HELD_BYTES, 0, false),
            (free, of(100_000, 10, HELD_BYTES), HELD_BYTES, 0, true),
            (free, of(100_000, 10, HELD_BYTES + 1), HELD_BYTES, 0, false),
            (free, of(u64::MAX, 10, 0), u64::MAX, 0, false),
        ];
        for (free_bytes, to_carry, held_bytes, copied_bytes, expected) in cases {
            let surroundings = Surroundings { free_bytes, ..ROOMY };
            let found = surroundings.is_worth(to_carry, held_bytes, copied_bytes);
            assert_eq!(
                found, expected,
                "{surroundings:?} {to_carry:?} {held_bytes} {copied_bytes}"
            );
        }
    }
}
