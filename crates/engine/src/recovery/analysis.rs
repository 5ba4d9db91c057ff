//! Analysis: one pass from the checkpoint to the end of the log that finds the open transactions.
//!
//! | record | transaction not known | known |
//! |---|---|---|
//! | Begin | enters | (cannot be) |
//! | Change, Compensation | enters with this record as its last | this record is its last |
//! | Commit, Abort | is over | leaves, is over |
//! | listed by CheckpointActive | enters, unless it is over | keeps the later of the two last records |
//! | listed by CheckpointLocks | its locks are remembered | its locks are remembered |
//!
//! An IdRange belongs to no transaction; its range stays reserved.

use super::redo::{Redo, Redone};
use crate::buffer::{DamagedPages, DatabaseStorage};
use crate::cancel;
use crate::error::Result;
use crate::lock::WriteLock;
use crate::log::{EndOfLog, LogManager, LogRecord, RecordKind};
use crate::store::IdCounters;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use vlf::Lsn;

/// A transaction under way, as a checkpoint lists it: `u64 id | first lsn (10) | last lsn (10) | u64 bytes reserved`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveEntry {
    pub id: u64,
    /// Its Begin record.
    pub first: Lsn,
    /// Its newest record known.
    pub last: Lsn,
    /// Log space that was set aside for its rollback when a checkpoint listed it, in bytes.
    pub reserved_bytes: u64,
}

impl ActiveEntry {
    /// Bytes of one entry.
    pub const BYTES: usize = 36;

    /// The entry as bytes.
    pub fn encode(&self) -> [u8; ActiveEntry::BYTES] {
        let mut bytes = [0u8; ActiveEntry::BYTES];
        bytes[..8].copy_from_slice(&self.id.to_le_bytes());
        bytes[8..18].copy_from_slice(&self.first.to_bytes());
        bytes[18..28].copy_from_slice(&self.last.to_bytes());
        bytes[28..].copy_from_slice(&self.reserved_bytes.to_le_bytes());
        bytes
    }

    /// Reads an entry; `None` when there are too few bytes.
    pub fn decode(bytes: &[u8]) -> Option<ActiveEntry> {
        let id = u64::from_le_bytes(*bytes.first_chunk()?);
        Some(ActiveEntry {
            id,
            first: Lsn::read(bytes, 8)?,
            last: Lsn::read(bytes, 18)?,
            reserved_bytes: u64::from_le_bytes(*bytes.get(28..)?.first_chunk()?),
        })
    }
}

/// Records between two calls of `progress`.
pub(super) const PROGRESS_RECORDS: u64 = 16_384;

#[derive(Debug, Clone)]
pub struct Analysis {
    /// Transactions to undo, the one with the newest record first.
    pub losers: Vec<ActiveEntry>,
    /// What those of them had locked for writing that the checkpoint knew.
    pub locks: HashMap<u64, Vec<WriteLock>>,
    /// Transactions that ended with a Commit since the checkpoint: those that are rolled forward.
    pub committed: u64,
    /// The highest transaction number met.
    pub transaction_max: u64,
    /// Ids below these have been promised.
    pub ids: IdCounters,
    /// Where the log ends.
    pub end: EndOfLog,
    /// Records read.
    pub records: u64,
}

/// The transactions under way, record by record. See the module's table.
#[derive(Default)]
struct Census {
    active: HashMap<u64, ActiveEntry>,
    over: HashSet<u64>,
    locks: HashMap<u64, Vec<WriteLock>>,
    committed: u64,
    transaction_max: u64,
    ids: IdCounters,
}

impl Census {
    fn meet(&mut self, kind: RecordKind, id: u64, lsn: Lsn, payload: &[u8]) {
        self.transaction_max = self.transaction_max.max(id);
        match kind {
            RecordKind::Begin | RecordKind::Change | RecordKind::Compensation => {
                self.active
                    .entry(id)
                    .or_insert(ActiveEntry {
                        id,
                        first: lsn,
                        last: lsn,
                        reserved_bytes: 0,
                    })
                    .last = lsn;
            }
            RecordKind::Commit | RecordKind::Abort => {
                self.active.remove(&id);
                self.over.insert(id);
                self.committed += u64::from(kind == RecordKind::Commit);
            }
            RecordKind::CheckpointActive => {
                payload
                    .chunks_exact(ActiveEntry::BYTES)
                    .filter_map(ActiveEntry::decode)
                    .for_each(|named| self.named(named));
            }
            RecordKind::CheckpointLocks => self.hold(payload),
            RecordKind::IdRange => self.ids = self.ids.max(IdCounters::from_bytes(payload).unwrap_or_default()),
            _ => {}
        }
    }

    fn hold(&mut self, payload: &[u8]) {
        if let Some((id, locks)) = payload.split_first_chunk()
            && let Some(locks) = WriteLock::decode_all(locks)
        {
            self.locks.entry(u64::from_le_bytes(*id)).or_default().extend(locks);
        }
    }

    fn named(&mut self, named: ActiveEntry) {
        self.transaction_max = self.transaction_max.max(named.id);
        if self.over.contains(&named.id) {
            return;
        }
        let entry = self.active.entry(named.id).or_insert(named);
        entry.first = named.first;
        entry.last = entry.last.max(named.last);
        entry.reserved_bytes = named.reserved_bytes;
    }
}

impl Census {
    fn into_analysis(mut self, end: EndOfLog, records: u64) -> Analysis {
        let mut losers: Vec<ActiveEntry> = self.active.into_values().collect();
        losers.sort_by_key(|entry| std::cmp::Reverse(entry.last));
        self.locks.retain(|id, _| losers.iter().any(|loser| loser.id == *id));
        Analysis {
            losers,
            locks: self.locks,
            committed: self.committed,
            transaction_max: self.transaction_max,
            ids: self.ids,
            end,
            records,
        }
    }

    fn meet_record(&mut self, record: &LogRecord<'_>) {
        let header = &record.header;
        self.meet(header.kind, header.transaction.0, record.lsn, record.payload);
    }
}

/// Reads the log from the checkpoint at `from` to its end; calls `progress` with the place reached now and then.
pub fn analyse(storage: &DatabaseStorage, from: Lsn, progress: &mut dyn FnMut(Lsn)) -> Result<Analysis> {
    let mut census = Census::default();
    let mut records = 0;
    let mut scan = storage.log.scan(from)?;
    while let Some(record) = scan.next()? {
        census.meet_record(&record);
        records += 1;
        if records % PROGRESS_RECORDS == 0 {
            progress(scan.position());
        }
    }
    Ok(census.into_analysis(scan.end(), records))
}

/// Analysis from the checkpoint and redo from `redo_start` in one pass, so that the log is read once. Redo repeats history, so it
/// needs nothing that analysis finds out.
///
/// # Errors
/// As those of [`analyse`] and [`super::redo`].
pub fn analyse_and_redo(
    storage: &DatabaseStorage,
    redo_start: Lsn,
    checkpoint: Lsn,
    progress: &mut dyn FnMut(Lsn),
) -> Result<(Analysis, Redone, DamagedPages)> {
    // Pages may reach the data files before the log is opened for appending, so it has to be durable as it stands.
    storage.log.sync()?;
    let mut census = Census::default();
    let mut redo = Redo::new(storage);
    let mut records = 0;
    let mut scan = storage.log.scan(redo_start.min(checkpoint))?;
    while let Some(record) = scan.next()? {
        if record.lsn >= checkpoint {
            census.meet_record(&record);
            records += 1;
        }
        if record.lsn >= redo_start {
            redo.meet(&record)?;
        }
        if redo.done.records.is_multiple_of(PROGRESS_RECORDS) {
            progress(scan.position());
        }
    }
    let analysis = census.into_analysis(scan.end(), records);
    let (redone, damaged) = redo.finish()?;
    Ok((analysis, redone, damaged))
}

/// For a database snapshot: analysis from the checkpoint and redo from `redo_start`, of the log of its base, which goes on meanwhile, up
/// to the block that begins at `end`, and onto the pages of the snapshot.
///
/// # Errors
/// As those of [`analyse_and_redo`].
pub fn analyse_and_redo_of_base(
    storage: &DatabaseStorage,
    base: &Arc<LogManager>,
    (redo_start, checkpoint): (Lsn, Lsn),
    end: Lsn,
) -> Result<Analysis> {
    let mut census = Census::default();
    let mut redo = Redo::new(storage);
    let mut records = 0;
    let mut scan = base.scan(redo_start.min(checkpoint))?;
    while let Some(record) = scan.next()? {
        if record.lsn.with_slot(0) >= end.with_slot(0) {
            break;
        }
        if record.lsn >= checkpoint {
            census.meet_record(&record);
            records += 1;
        }
        if record.lsn >= redo_start {
            redo.meet(&record)?;
        }
        cancel::look()?;
    }
    let (_, damaged) = redo.finish()?;
    damaged.into_result()?;
    let end = EndOfLog {
        next: end,
        ..scan.end()
    };
    Ok(census.into_analysis(end, records))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lsn(block: u32) -> Lsn {
        Lsn { vlf: 1, block, slot: 1 }
    }

    /// The module's table: each kind of record, met by a transaction not known, known, or already over.
    #[test]
    fn every_record_kind_in_every_state() {
        use RecordKind::{Abort, Begin, Change, CheckpointActive, CheckpointLocks, Commit, Compensation};
        let named = ActiveEntry {
            id: 7,
            first: lsn(1),
            last: lsn(3),
            reserved_bytes: 5,
        };
        // (kind, last when not known, last when known with last 2, last when over)
        let cases: [(RecordKind, Option<u32>, Option<u32>); 7] = [
            (Begin, Some(9), Some(9)),
            (Change, Some(9), Some(9)),
            (Compensation, Some(9), Some(9)),
            (Commit, None, None),
            (Abort, None, None),
            (CheckpointActive, Some(3), Some(3)),
            (CheckpointLocks, None, Some(2)),
        ];
        for (kind, unknown, known) in cases {
            let payload = if kind == CheckpointActive {
                named.encode().to_vec()
            } else {
                Vec::new()
            };
            let id = if kind == CheckpointActive { 0 } else { 7 };
            let last = |census: &Census| census.active.get(&7).map(|entry| entry.last);
            let mut census = Census::default();
            census.meet(kind, id, lsn(9), &payload);
            assert_eq!(last(&census), unknown.map(lsn), "{kind:?}, not known");
            let mut census = Census::default();
            census.meet(Begin, 7, lsn(1), &[]);
            census.meet(Change, 7, lsn(2), &[]);
            census.meet(kind, id, lsn(9), &payload);
            assert_eq!(last(&census), known.map(lsn), "{kind:?}, known");
        }
    }

    #[test]
    fn a_commit_between_a_checkpoints_begin_and_its_list_is_believed() {
        let mut census = Census::default();
        census.meet(RecordKind::Commit, 7, lsn(5), &[]);
        let named = ActiveEntry {
            id: 7,
            first: lsn(1),
            last: lsn(3),
            reserved_bytes: 5,
        };
        census.meet(RecordKind::CheckpointActive, 0, lsn(6), &named.encode());
        assert!(census.active.is_empty());
        assert_eq!(census.committed, 1);
    }

    #[test]
    fn a_list_never_takes_a_transaction_back_to_an_older_record() {
        let mut census = Census::default();
        census.meet(RecordKind::Change, 7, lsn(8), &[]);
        let named = ActiveEntry {
            id: 7,
            first: lsn(1),
            last: lsn(3),
            reserved_bytes: 5,
        };
        census.meet(RecordKind::CheckpointActive, 0, lsn(9), &named.encode());
        assert_eq!(
            census.active[&7],
            ActiveEntry {
                id: 7,
                first: lsn(1),
                last: lsn(8),
                reserved_bytes: 5,
            }
        );
    }
}
