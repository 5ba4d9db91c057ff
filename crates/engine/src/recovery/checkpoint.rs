//! The fuzzy checkpoint: sessions go on while it is written.
//!
//! 1. CheckpointBegin is logged.
//! 2. The transactions under way are logged, some hundreds to a record (CheckpointActive).
//! 3. Every page dirty before step 1 is written; by an indirect checkpoint only those whose first change is oldest.
//! 4. CheckpointEnd is logged with the place where redo would start, and the log is flushed.
//!
//! The caller then makes the boot record point here, and only then may the log before it be reused.
//!
//! A transaction may end between steps 1 and 2; analysis meets its Commit before the list that may still name it, and
//! believes the Commit.

use super::analysis::ActiveEntry;
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::log::RecordKind;
use crate::txn::TransactionTable;
use vlf::Lsn;

/// Entries of the active list in one record: far below the size of a log block.
const ENTRIES_PER_RECORD: usize = 512;

/// Where a checkpoint stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpointed {
    /// Its CheckpointBegin record: analysis starts here.
    pub begin: Lsn,
    /// Redo starts here.
    pub redo_start: Lsn,
    /// First record of the oldest transaction under way.
    pub oldest_active: Option<Lsn>,
}

/// What a checkpoint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To make the next recovery short, or the log reusable. Fails with 9002 when the log is full.
    Routine,
    /// To end recovery. Has to find room.
    EndOfRecovery,
    /// To keep the next start short at little cost: of the pages whose first change is before the LSN given, the oldest are
    /// written, so many at most. Fails with 9002 when the log is full.
    Indirect {
        /// Where redo would ideally start.
        first_change_before: Lsn,
        /// The budget.
        pages_max: usize,
    },
}

/// Writes a checkpoint.
pub fn checkpoint(
    storage: &DatabaseStorage,
    transactions: &TransactionTable,
    purpose: Purpose,
) -> Result<Checkpointed> {
    let append = |kind, payload: &[&[u8]]| match purpose {
        Purpose::Routine | Purpose::Indirect { .. } => storage.log.append_system(kind, payload),
        Purpose::EndOfRecovery => storage.log.append_end_of_recovery(kind, payload),
    };
    let now = storage.env.clock.wall_ticks();
    let time = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
    let begin = append(RecordKind::CheckpointBegin, &time)?;
    let active: Vec<ActiveEntry> = transactions
        .snapshot()
        .into_iter()
        // One whose Commit is logged but not yet durable is still in the table, and is over all the same: its Commit is
        // before this checkpoint, where analysis will not look.
        .filter_map(|(id, entry)| {
            Some(ActiveEntry {
                id: id.0,
                first: entry.first,
                last: entry.end.under_way()?,
            })
        })
        .collect();
    for entries in active.chunks(ENTRIES_PER_RECORD) {
        let bytes: Vec<u8> = entries.iter().flat_map(ActiveEntry::encode).collect();
        append(RecordKind::CheckpointActive, &[&bytes])?;
    }
    match purpose {
        Purpose::Routine | Purpose::EndOfRecovery => storage.pool.flush_database(storage.id, None)?,
        Purpose::Indirect {
            first_change_before,
            pages_max,
        } => storage.pool.flush_oldest(storage.id, first_change_before, pages_max)?,
    };
    let redo_start = storage
        .pool
        .oldest_dirty(storage.id)
        .map_or(begin, |dirty| dirty.min(begin));
    let places = [&begin.to_bytes()[..], &redo_start.to_bytes()[..]];
    let end = append(RecordKind::CheckpointEnd, &places)?;
    storage.log.flush_to(end)?;
    let oldest_active = active.iter().map(|entry| entry.first).min();
    Ok(Checkpointed {
        begin,
        redo_start,
        oldest_active,
    })
}
