//! Rollback: a transaction's records from the newest back, each undone and the undo logged.
//!
//! ```text
//! Begin <- change A <- change B <- change C        rollback to A's savepoint
//!                                  <- CLR(C), next B <- CLR(B), next A        undo never undoes a CLR: it jumps to `undo_next`
//! ```
//! The same walk serves ROLLBACK, ROLLBACK TO a savepoint, a failed statement, and the undo phase of recovery.
//!
//! Changes that were carried forward in the log are undone from their copies, which take the places of the originals in the chain. A savepoint is
//! the LSN of a record, so a copy counts as old as its original:
//!
//! ```text
//! change A <- change B                      both are carried, and the transaction continues
//! carried A <- carried B <- end, for B <- change C        rollback to A's savepoint undoes C and carried B
//! ```
//!
//! A rollback by marking (`super::marked`) undoes some changes before the others. Their compensations go on with the record before them, so a rollback
//! in order that follows, because it did not come to the mark, meets all changes, and skips those: they are undone from the newest on.
//!
//! If the rollback frees a whole unit (CREATE TABLE, TRUNCATE, CREATE INDEX, rebuilds), rows added to the unit are left in place. Removing
//! them might read their pages from the disk, only to free them afterwards. The definition is locked, so no session sees these rows.
//! Nothing is logged for them, which is safe because
//!
//! - the unit's row in the catalog is older than all rows of the unit, and is undone after them: its record says that the next record to
//!   undo lies before all of them, so no later rollback visits a freed page;
//! - after a crash in between, recovery undoes the older records, and the remaining rows do not interfere. A filled page has only its own
//!   rows, with keys above all older ones. Rows added one by one are left only if the transaction changed and deleted none, so the older
//!   records of the unit also added rows, in other places and with other keys. The unit then has no owner, and is freed.

use crate::buffer::DatabaseStorage;
use crate::cancel;
use crate::error::{Error, Result};
use crate::log::{OwnedRecord, RecordKind, TransactionChain, Undoing};
use crate::page::{ObjectId, UndoKind};
use crate::seams::{WorkKind, WorkUnderWay};
use crate::store::{self, FilledPages, ReadDownward, SpaceMap};
use std::collections::HashSet;
use vlf::Lsn;

/// What a rollback did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undone {
    pub changes: u64,
    /// Nothing is left to undo.
    pub is_complete: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Changes newer than this one; zero: all of them.
    pub target: Lsn,
    /// The session that shows its progress; 0 = the engine's own.
    pub session: u16,
    /// Units that are given back as soon as the rollback is over.
    pub doomed: &'a HashSet<ObjectId>,
}

/// Undoes the changes of the chain that are wanted, for as long as `goes_on` says so after a change undone.
///
/// # Errors
/// 9004 when a record of the chain cannot be read, and whatever a page says of itself (823, 824).
pub(super) fn roll_back_while(
    storage: &DatabaseStorage,
    space: &SpaceMap,
    chain: &mut TransactionChain,
    wanted: Wanted<'_>,
    goes_on: &mut dyn FnMut(&TransactionChain) -> bool,
) -> Result<Undone> {
    // A stopped statement is rolled back, and the rollback is not stopped in turn.
    let _nobody = cancel::serve(None);
    let Wanted {
        target,
        session,
        doomed,
    } = wanted;
    let _stays = chain.begin_rollback();
    let mut undone = Undone::default();
    let mut next = chain.last;
    let mut watched = Watched::new(session, next, target.max(chain.first));
    let mut reads = ReadDownward::default();
    let mut filled = FilledPages::default();
    let undone_first_from = match target {
        Lsn::ZERO => undone_first_from(storage, chain)?,
        _ => Lsn::MAX,
    };
    while next > target && next != Lsn::ZERO {
        if let Some(before) = run_left(chain, next, doomed) {
            next = before;
            continue;
        }
        let record = storage.log.read_record(next)?;
        if record.stands_for().is_some_and(|change| change <= target) {
            break;
        }
        let record = match record.header.kind {
            RecordKind::Carried => record.into_carried_change().ok_or_else(|| damaged(storage, next))?,
            _ => record,
        };
        next = match record.header.kind {
            RecordKind::Change => {
                let is_undone = record.lsn >= undone_first_from && store::is_undone_first(&record);
                if !is_undone
                    && !is_left(&record, chain, doomed)
                    && let Some(page) = store::undo(storage, space, chain, &record, &mut filled)?
                {
                    reads.met(storage, page);
                }
                undone.changes += 1;
                watched.reached(storage, undone.changes, next);
                if !goes_on(chain) {
                    return Ok(undone);
                }
                record.header.previous
            }
            RecordKind::Compensation => record.header.undo_next,
            RecordKind::CarriedEnd => record.header.previous,
            RecordKind::Begin => Lsn::ZERO,
            other => {
                let detail = format!("the record {other:?} at {next} cannot be part of a transaction under way");
                return Err(Error::log_damaged(&storage.name, &detail));
            }
        };
    }
    undone.is_complete = true;
    Ok(undone)
}

/// From where on changes are undone that a rollback undoes before it marks the transaction: one was begun, and did not come to the mark. Their
/// compensations lie at the end of the chain, with those of the rollback in order that followed: nothing is changed behind a whole rollback.
fn undone_first_from(storage: &DatabaseStorage, chain: &TransactionChain) -> Result<Lsn> {
    let mut oldest = Lsn::MAX;
    if chain.undoing == Undoing::ByPage {
        return Ok(oldest);
    }
    let mut place = chain.last;
    while place != Lsn::ZERO {
        let record = storage.log.read_record(place)?;
        // Only what has links can have been begun so, and its compensations have links.
        if record.header.kind != RecordKind::Compensation || record.links().is_empty() {
            break;
        }
        if record.header.undo_next == record.header.previous {
            oldest = oldest.min(record.links().undone());
        }
        place = record.header.previous;
    }
    Ok(oldest)
}

/// Undoes the changes of a transaction that are undone before it is marked, newest first. False when `goes_on` has stopped that.
///
/// # Errors
/// As for [`roll_back_while`].
pub(super) fn undo_first(
    (storage, space): (&DatabaseStorage, &SpaceMap),
    chain: &mut TransactionChain,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<bool> {
    while let Some(place) = chain.last_undone_first() {
        let record = storage.log.read_record(place)?;
        store::undo_first(storage, space, chain, &record)?;
        if chain.last_undone_first() >= Some(place) {
            return Err(Error::assertion(
                "a change was undone, and its compensation did not take it off the list",
            ));
        }
        if chain.last_undone_first().is_some() && !goes_on() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn damaged(storage: &DatabaseStorage, lsn: Lsn) -> Error {
    Error::log_damaged(&storage.name, &format!("the record at {lsn} carries no change"))
}

/// The record before a run that ends here and is about rows that are left where they are.
fn run_left(chain: &TransactionChain, last: Lsn, doomed: &HashSet<ObjectId>) -> Option<Lsn> {
    if doomed.is_empty() {
        return None;
    }
    let run = chain.runs.ending_at(last)?;
    let is_left = doomed.contains(&ObjectId(run.unit)) && !chain.rows_changed_in.contains(&run.unit);
    is_left.then_some(run.before)
}

/// Whether a record is about rows that are left where they are.
fn is_left(record: &OwnedRecord, chain: &TransactionChain, doomed: &HashSet<ObjectId>) -> bool {
    !doomed.is_empty()
        && store::unit_added_to(record).is_some_and(|(unit, how)| {
            doomed.contains(&unit) && (how == UndoKind::Fill || !chain.rows_changed_in.contains(&unit.0))
        })
}

/// Changes undone between two looks at how far a rollback is; one that needs fewer is over before anybody looks.
const WATCHED_CHANGES: u64 = 1_024;

/// How far a rollback is: the share of the log between its two ends that it has walked back over.
struct Watched {
    session: u16,
    from: Lsn,
    target: Lsn,
    work: Option<WorkUnderWay>,
}

impl Watched {
    fn new(session: u16, from: Lsn, target: Lsn) -> Watched {
        Watched {
            session,
            from,
            target,
            work: None,
        }
    }

    fn reached(&mut self, storage: &DatabaseStorage, changes: u64, place: Lsn) {
        if !changes.is_multiple_of(WATCHED_CHANGES) {
            return;
        }
        // Both are counted from the log's end, which moves on: only their difference says anything.
        let log_bytes = |older: Lsn, newer: Lsn| {
            let log = &storage.log;
            log.used_since(older).saturating_sub(log.used_since(newer))
        };
        let env = &storage.env;
        let work = self.work.get_or_insert_with(|| {
            let session = (self.session != 0).then_some(self.session);
            let now = env.clock.now_micros();
            env.activity
                .begin_for(session, WorkKind::Rollback, &storage.name, 0, now)
        });
        work.set_total(log_bytes(self.target, self.from).max(1));
        work.set_done(log_bytes(place, self.from));
    }
}
