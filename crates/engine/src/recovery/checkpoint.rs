//! The fuzzy checkpoint: sessions keep working while it is written.
//!
//! 1. CheckpointBegin is logged.
//! 2. The open transactions are logged, some hundreds to a record (CheckpointActive), with the place from which on each needs the log if that is
//!    not its first record (CheckpointCarried), whether it can be undone page by page (CheckpointMarked), and for each its locks for writing (CheckpointLocks), unless it is changing definitions.
//! 3. Every page dirty before step 1 is written; by an indirect checkpoint only those whose first change is oldest.
//! 4. CheckpointEnd is logged with the place where redo would start, and the log is flushed.
//!
//! The caller then points the boot record to this checkpoint. Only then may the log before it be reused.
//!
//! A transaction may end between steps 1 and 2. Analysis then reads its Commit before the list that may still name it, and the Commit
//! counts.

use super::analysis::{ActiveEntry, encode_carried, encode_marked, encode_undone_first};
use crate::buffer::DatabaseStorage;
use crate::error::Result;
use crate::lock::WriteLock;
use crate::log::{RecordKind, Undoing};
use crate::txn::{ActiveTransaction, TransactionTable};
use vlf::Lsn;

/// Entries of the active list in one record: far below the size of a log block.
const ENTRIES_PER_RECORD: usize = 512;
/// Locks in one record: below the size of a log block.
const LOCKS_PER_RECORD: usize = 2_048;

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
        pages_max: usize,
    },
}

pub fn checkpoint(
    storage: &DatabaseStorage,
    transactions: &TransactionTable,
    purpose: Purpose,
) -> Result<Checkpointed> {
    let append = |kind, payload: &[&[u8]]| match purpose {
        Purpose::Routine | Purpose::Indirect { .. } => storage.log.append_system(kind, payload),
        Purpose::EndOfRecovery => storage.log.append_promised(kind, payload),
    };
    let now = storage.env.clock.wall_ticks();
    let time = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
    let begin = append(RecordKind::CheckpointBegin, &time)?;
    let UnderWay {
        active,
        locks,
        undone_first,
    } = UnderWay::of(storage, transactions);
    for entries in active.chunks(ENTRIES_PER_RECORD) {
        list(entries, &append)?;
    }
    for (id, undone_first) in &undone_first {
        if let Some(bytes) = encode_undone_first(*id, undone_first) {
            append(RecordKind::CheckpointMarked, &[&bytes])?;
        }
    }
    for (id, locks) in &locks {
        // A list without locks is one all the same: it says that there are none.
        for some in locks
            .chunks(LOCKS_PER_RECORD)
            .chain(locks.is_empty().then_some(&locks[..]))
        {
            let mut bytes = Vec::with_capacity(some.len() * WriteLock::BYTES_MAX);
            some.iter().for_each(|lock| lock.encode(&mut bytes));
            append(RecordKind::CheckpointLocks, &[&id.to_le_bytes(), &bytes])?;
        }
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
    let now = storage.env.clock.wall_ticks();
    let places = [&begin.to_bytes()[..], &redo_start.to_bytes()[..]];
    let time = [&now.days.to_le_bytes()[..], &now.ticks.to_le_bytes()[..]];
    let end = append(RecordKind::CheckpointEnd, &[places[0], places[1], time[0], time[1]])?;
    storage.log.flush_to(end)?;
    let oldest_active = active.iter().map(|entry| entry.first).min();
    Ok(Checkpointed {
        begin,
        redo_start,
        oldest_active,
    })
}

/// Appends a record of a checkpoint.
type Append<'a> = dyn Fn(RecordKind, &[&[u8]]) -> Result<Lsn> + 'a;

/// Lists some of the transactions under way, and what there is to know about them.
fn list(entries: &[ActiveEntry], append: &Append<'_>) -> Result<()> {
    let bytes: Vec<u8> = entries.iter().flat_map(ActiveEntry::encode).collect();
    append(RecordKind::CheckpointActive, &[&bytes])?;
    let carried = entries.iter().filter(|entry| entry.needed_from != entry.first);
    let bytes: Vec<u8> = carried
        .flat_map(|entry| encode_carried(entry.id, entry.needed_from))
        .collect();
    if !bytes.is_empty() {
        append(RecordKind::CheckpointCarried, &[&bytes])?;
    }
    let by_page = entries
        .iter()
        .filter(|entry| entry.undoing != Undoing::PartlyByPage)
        .filter_map(|entry| encode_marked(entry.id, entry.undoing));
    let bytes: Vec<u8> = by_page.flatten().collect();
    if !bytes.is_empty() {
        append(RecordKind::CheckpointMarked, &[&bytes])?;
    }
    Ok(())
}

/// The transactions under way, as a checkpoint lists them.
#[derive(Default)]
struct UnderWay {
    active: Vec<ActiveEntry>,
    /// The locks of those whose locks say all that undo needs.
    locks: Vec<(u64, Vec<WriteLock>)>,
    /// What the rollbacks of those that are undone partly by page undo first.
    undone_first: Vec<(u64, Vec<Lsn>)>,
}

impl UnderWay {
    fn of(storage: &DatabaseStorage, transactions: &TransactionTable) -> UnderWay {
        let mut found = UnderWay::default();
        for (id, entry) in transactions.snapshot() {
            found.add(storage, id.0, &entry);
        }
        found
    }

    fn add(&mut self, storage: &DatabaseStorage, id: u64, entry: &ActiveTransaction) {
        // One whose Commit is logged but not yet durable is still in the table, and is over all the same: its Commit is
        // before this checkpoint, where analysis will not look.
        let Some(last) = entry.end.under_way() else { return };
        let ActiveTransaction { first, ref end, .. } = *entry;
        let (undoing, undone_first) = end.undoing_with_first();
        self.active.push(ActiveEntry {
            id,
            first,
            last,
            needed_from: end.needed_from().unwrap_or(first),
            reserved_bytes: end.reserved_bytes(),
            undoing,
            undo_bytes_since: 0,
        });
        self.locks
            .extend(entry.write_locks(storage.id.0).map(|locks| (id, locks)));
        if undoing == Undoing::PartlyByPage {
            self.undone_first.push((id, undone_first));
        }
    }
}
