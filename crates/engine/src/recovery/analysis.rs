//! Analysis: one pass from the checkpoint to the end of the log that finds the open transactions.
//!
//! | record | transaction not known | known |
//! |---|---|---|
//! | Begin | enters | (cannot be) |
//! | Change, Compensation | enters with this record as its last | this record is its last |
//! | Commit, Abort | is over | leaves, is over |
//! | listed by CheckpointActive | enters, unless it is over | keeps the later of the two last records |
//! | listed by CheckpointLocks | its locks are remembered | its locks are remembered |
//! | Carried | (a copy of a known change) | (a copy of a known change) |
//! | CarriedEnd | enters with this record as its last | this record is its last; it needs the log from its first Carried on |
//! | Marked | enters with this record as its last, and is undone page by page | this record is its last; the same |
//! | listed by CheckpointMarked | it can be undone page by page, or is | the same |
//! | listed by CheckpointCarried | it needs the log from there on | it needs the log from there on |
//!
//! A transaction can be undone page by page if the checkpoint says so, or it began behind the checkpoint, and what it has changed since allows it
//! (`store::undone_by`).
//!
//! An IdRange belongs to no transaction; its range stays reserved.

use super::redo::{Redo, Redone};
use crate::buffer::{DamagedPages, DatabaseStorage};
use crate::cancel;
use crate::error::Result;
use crate::lock::WriteLock;
use crate::log::{EndOfLog, LogManager, LogRecord, RecordKind, TransactionId, UNDONE_FIRST_MAX, Undoing};
use crate::store::{self, IdCounters, UndoneBy};
use std::collections::{BTreeSet, HashMap, HashSet};
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
    /// From where on its rollback needs the log: its Begin, or what was carried forward. A list of its own says so.
    pub needed_from: Lsn,
    /// Log space that was set aside for its rollback when a checkpoint listed it, in bytes.
    pub reserved_bytes: u64,
    /// How it can be undone. A list of its own says so.
    pub undoing: Undoing,
    /// Log space that undoing its changes since the checkpoint takes at most, in bytes; counted in logs with links.
    pub undo_bytes_since: u64,
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
        let first = Lsn::read(bytes, 8)?;
        Some(ActiveEntry {
            id,
            first,
            last: Lsn::read(bytes, 18)?,
            needed_from: first,
            reserved_bytes: u64::from_le_bytes(*bytes.get(28..)?.first_chunk()?),
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
        })
    }
}

/// Bytes of an entry of a list of CheckpointCarried.
const CARRIED_BYTES: usize = 8 + Lsn::BYTES;

/// An entry of a list of CheckpointCarried: a transaction, and from where on it needs the log.
pub(super) fn encode_carried(id: u64, needed_from: Lsn) -> [u8; CARRIED_BYTES] {
    let mut bytes = [0; CARRIED_BYTES];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8..].copy_from_slice(&needed_from.to_bytes());
    bytes
}

fn decode_carried(bytes: &[u8]) -> Option<(u64, Lsn)> {
    Some((u64::from_le_bytes(*bytes.first_chunk()?), Lsn::read(bytes, 8)?))
}

/// Bytes of an entry of a list of CheckpointMarked.
const MARKED_BYTES: usize = 8 + 1;

/// An entry of a list of CheckpointMarked: a transaction, and how it can be undone, if not only in order.
pub(super) fn encode_marked(id: u64, undoing: Undoing) -> Option<[u8; MARKED_BYTES]> {
    let mut bytes = [0; MARKED_BYTES];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    bytes[8] = undoing.number()?;
    Some(bytes)
}

fn decode_marked(bytes: &[u8]) -> Option<(u64, Undoing)> {
    let (id, number) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*id), Undoing::from_number(*number.first()?)))
}

/// Changes that a checkpoint lists for one transaction: with more of them it lists nothing, and a restart undoes the transaction in order. Far below
/// the size of a log block.
const UNDONE_FIRST_LISTED_MAX: usize = 4_096;

/// A CheckpointMarked of one transaction that is undone page by page behind the undo of these changes.
pub(super) fn encode_undone_first(id: u64, undone_first: &[Lsn]) -> Option<Vec<u8>> {
    let head = encode_marked(id, Undoing::PartlyByPage)?;
    let is_short = undone_first.len() <= UNDONE_FIRST_LISTED_MAX;
    is_short.then(|| {
        head.into_iter()
            .chain(undone_first.iter().flat_map(|lsn| lsn.to_bytes()))
            .collect()
    })
}

fn decode_undone_first(bytes: &[u8]) -> Option<(u64, Vec<Lsn>)> {
    let (head, lsns) = bytes.split_at_checked(MARKED_BYTES)?;
    let (id, undoing) = decode_marked(head)?;
    let lsns = lsns.chunks_exact(Lsn::BYTES).filter_map(|lsn| Lsn::read(lsn, 0));
    (undoing == Undoing::PartlyByPage).then(|| (id, lsns.collect()))
}

/// Changes that the rollback of a transaction undoes before it marks it, as a checkpoint and the records behind it tell of them.
#[derive(Debug, Default)]
struct UndoneFirst {
    lsns: BTreeSet<Lsn>,
    /// What compensations have undone: changes from the first LSN on that are older than the second.
    undone: Vec<(Lsn, Lsn)>,
    /// There was such a change behind the last compensation.
    has_changed: bool,
}

impl UndoneFirst {
    fn changed(&mut self, lsn: Lsn) {
        self.lsns.insert(lsn);
        self.has_changed = true;
    }

    /// Compensations come newest change first, whether they undo all changes or only these: what is newer than the change undone is undone, too.
    fn compensated(&mut self, lsn: Lsn, change: Lsn) {
        match self.undone.last_mut().filter(|_| !self.has_changed) {
            Some(undone) => *undone = (undone.0.min(change), lsn),
            None => self.undone.push((change, lsn)),
        }
        self.has_changed = false;
    }

    fn into_left(self) -> Vec<Lsn> {
        // The oldest change that this compensation or a later one has undone.
        let mut undone = self.undone;
        let mut oldest = Lsn::MAX;
        for (change, _) in undone.iter_mut().rev() {
            oldest = oldest.min(*change);
            *change = oldest;
        }
        let is_left = |lsn: &Lsn| {
            let behind = undone.partition_point(|(_, by)| by <= lsn);
            undone.get(behind).is_none_or(|(change, _)| lsn < change)
        };
        self.lsns.into_iter().filter(is_left).collect()
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
    /// What is left of the changes that rollbacks of those by marking undo first.
    pub undone_first: HashMap<u64, Vec<Lsn>>,
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
    /// From where on those need the log whose changes were carried forward.
    carried: HashMap<u64, Lsn>,
    /// How those can be undone that a checkpoint or their own records tell of.
    undoing: HashMap<u64, Undoing>,
    /// Those that have done what is undone in order only.
    in_order: HashSet<u64>,
    /// What is undone first of the others.
    undone_first: HashMap<u64, UndoneFirst>,
    /// Log space that undoing what they have done takes at most, in bytes.
    undo_bytes: HashMap<u64, u64>,
    committed: u64,
    transaction_max: u64,
    ids: IdCounters,
    /// Log records have links.
    has_links: bool,
}

impl Census {
    fn of(storage: &DatabaseStorage) -> Census {
        Census {
            has_links: storage.has_links(),
            ..Census::default()
        }
    }

    fn meet(&mut self, kind: RecordKind, id: u64, lsn: Lsn, payload: &[u8]) {
        self.transaction_max = self.transaction_max.max(id);
        match kind {
            RecordKind::Begin | RecordKind::Change | RecordKind::Compensation => self.extend(id, lsn),
            RecordKind::Marked => {
                self.extend(id, lsn);
                self.undoing.insert(id, Undoing::Marked);
            }
            RecordKind::CheckpointMarked => {
                if let Some((id, undone_first)) = decode_undone_first(payload) {
                    self.undone_first.entry(id).or_default().lsns.extend(undone_first);
                    self.can_be_undone(id, Undoing::PartlyByPage);
                    return;
                }
                for (id, undoing) in payload.chunks_exact(MARKED_BYTES).filter_map(decode_marked) {
                    self.can_be_undone(id, undoing);
                }
            }
            RecordKind::CarriedEnd => {
                self.extend(id, lsn);
                let first = Lsn::read(payload, Lsn::BYTES).filter(|first| *first != Lsn::ZERO);
                self.carried.insert(id, first.unwrap_or(lsn));
                self.in_order.insert(id);
            }
            RecordKind::CheckpointCarried => {
                for (id, needed_from) in payload.chunks_exact(CARRIED_BYTES).filter_map(decode_carried) {
                    self.carried.insert(id, needed_from);
                    self.in_order.insert(id);
                }
            }
            RecordKind::Commit | RecordKind::Abort => {
                self.active.remove(&id);
                self.over.insert(id);
                self.undoing.remove(&id);
                self.undo_bytes.remove(&id);
                self.undone_first.remove(&id);
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
            RecordKind::Carried | RecordKind::CheckpointBegin | RecordKind::CheckpointEnd | RecordKind::ShrinkNoop => {}
        }
    }

    /// A checkpoint lists how a transaction can be undone.
    fn can_be_undone(&mut self, id: u64, undoing: Undoing) {
        // The option has been switched off since: what came behind the checkpoint has no links.
        if undoing != Undoing::Marked && !self.has_links {
            return;
        }
        // The list was made when the checkpoint began, or soon after.
        let known = self.undoing.entry(id).or_insert(undoing);
        *known = if *known == Undoing::Marked { *known } else { undoing };
    }

    fn extend(&mut self, id: u64, lsn: Lsn) {
        let begun = ActiveEntry {
            id,
            first: lsn,
            last: lsn,
            needed_from: lsn,
            reserved_bytes: 0,
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
        };
        self.active.entry(id).or_insert(begun).last = lsn;
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
        entry.needed_from = named.first;
        entry.last = entry.last.max(named.last);
        entry.reserved_bytes = named.reserved_bytes;
    }
}

impl Census {
    fn into_analysis(mut self, end: EndOfLog, records: u64) -> Analysis {
        for entry in self.active.values_mut() {
            entry.undo_bytes_since = self.undo_bytes.get(&entry.id).copied().unwrap_or_default();
            let is_in_order = self.in_order.contains(&entry.id);
            entry.undoing = match self.undoing.get(&entry.id) {
                Some(Undoing::ByPage | Undoing::PartlyByPage) if is_in_order => Undoing::InOrder,
                Some(Undoing::ByPage) if self.undone_first.get(&entry.id).is_some_and(|one| !one.lsns.is_empty()) => {
                    Undoing::PartlyByPage
                }
                known => known.copied().unwrap_or_default(),
            };
        }
        let undone_first = self.undone_first.into_iter().map(|(id, one)| (id, one.into_left()));
        for (id, needed_from) in self.carried {
            if let Some(entry) = self.active.get_mut(&id) {
                entry.needed_from = needed_from;
            }
        }
        let mut losers: Vec<ActiveEntry> = self.active.into_values().collect();
        losers.sort_by_key(|entry| std::cmp::Reverse(entry.last));
        self.locks.retain(|id, _| losers.iter().any(|loser| loser.id == *id));
        Analysis {
            losers,
            locks: self.locks,
            undone_first: undone_first.collect(),
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
        match header.kind {
            RecordKind::Begin if self.has_links => drop(self.undoing.insert(header.transaction.0, Undoing::ByPage)),
            RecordKind::Change => self.judge(record),
            RecordKind::Compensation => {
                let undone = record.links().undone();
                if self.has_links && undone != Lsn::ZERO {
                    let first = self.undone_first.entry(header.transaction.0).or_default();
                    first.compensated(record.lsn, undone);
                }
            }
            _ => {}
        }
    }

    /// How a transaction can be undone behind another change.
    fn judge(&mut self, record: &LogRecord<'_>) {
        let id = record.header.transaction;
        if !self.has_links {
            return;
        }
        // The option was off for a while: links do not lead past this record.
        if record.links().is_empty() {
            self.in_order.extend(self.active.keys());
        }
        if id == TransactionId::SYSTEM {
            return;
        }
        let Some((undone_by, bytes)) = store::undone_by(record) else {
            self.in_order.insert(id.0);
            return;
        };
        *self.undo_bytes.entry(id.0).or_default() += bytes;
        if undone_by == UndoneBy::Rollback {
            let first = self.undone_first.entry(id.0).or_default();
            first.changed(record.lsn);
            if first.lsns.len() > UNDONE_FIRST_MAX {
                self.undone_first.remove(&id.0);
                self.in_order.insert(id.0);
            }
        }
    }
}

/// Reads the log from the checkpoint at `from` to its end; calls `progress` with the place reached now and then.
pub fn analyse(storage: &DatabaseStorage, from: Lsn, progress: &mut dyn FnMut(Lsn)) -> Result<Analysis> {
    let mut census = Census::of(storage);
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
/// As those of [`analyse`] and [`super::redo()`].
pub fn analyse_and_redo(
    storage: &DatabaseStorage,
    redo_start: Lsn,
    checkpoint: Lsn,
    progress: &mut dyn FnMut(Lsn),
) -> Result<(Analysis, Redone, DamagedPages)> {
    // Pages may reach the data files before the log is opened for appending, so it has to be durable as it stands.
    storage.log.sync()?;
    let mut census = Census::of(storage);
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
    let mut census = Census::of(storage);
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

    /// Histories of changes that are undone first, of savepoints, and of a rollback that was cut off, with a checkpoint whose list was made at any moment
    /// since it began: what is left of them is what the transaction itself has left.
    #[test]
    fn what_is_left_to_be_undone_first_is_what_the_transaction_has_left() {
        let mut seed = 1_u64;
        let mut below = |bound: u32| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % bound
        };
        let mut stale = 0;
        for _ in 0..20_000 {
            let (begun, listed, events) = (below(12), below(6), 6 + below(24));
            let (mut left, mut list) = (Vec::new(), None);
            let mut found = UndoneFirst::default();
            let mut now = 0;
            for event in 0..events {
                if event == begun + listed {
                    list = Some(left.clone());
                }
                let has_begun = event >= begun;
                let is_cut = event == events - 1;
                if below(5) > 1 && !is_cut {
                    now += 1;
                    left.push(lsn(now));
                    if has_begun {
                        found.changed(lsn(now));
                    }
                    continue;
                }
                for _ in 0..below(4) {
                    let Some(change) = left.pop() else { break };
                    now += 1;
                    if has_begun {
                        found.compensated(lsn(now), change);
                    }
                }
            }
            let Some(list) = list else { continue };
            stale += u32::from(list.iter().any(|lsn| !left.contains(lsn)));
            found.lsns.extend(list);
            assert_eq!(found.into_left(), left);
        }
        assert!(stale > 1_000, "lists are older than what followed: {stale}");
    }

    /// The module's table: each kind of record, met by a transaction not known, known, or already over.
    #[test]
    fn every_record_kind_in_every_state() {
        use RecordKind::{
            Abort, Begin, Carried, CarriedEnd, Change, CheckpointActive, CheckpointCarried, CheckpointLocks,
            CheckpointMarked, Commit, Compensation, Marked,
        };
        let named = ActiveEntry {
            id: 7,
            first: lsn(1),
            last: lsn(3),
            needed_from: lsn(1),
            reserved_bytes: 5,
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
        };
        // (kind, last when not known, last when known with last 2, last when over)
        let cases: [(RecordKind, Option<u32>, Option<u32>); 12] = [
            (Begin, Some(9), Some(9)),
            (Change, Some(9), Some(9)),
            (Compensation, Some(9), Some(9)),
            (Commit, None, None),
            (Abort, None, None),
            (CheckpointActive, Some(3), Some(3)),
            (CheckpointLocks, None, Some(2)),
            (Carried, None, Some(2)),
            (CarriedEnd, Some(9), Some(9)),
            (CheckpointCarried, None, Some(2)),
            (Marked, Some(9), Some(9)),
            (CheckpointMarked, None, Some(2)),
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

    /// What was carried forward is known from its end, and from the list of a later checkpoint; a transaction that is over needs nothing.
    #[test]
    fn a_transaction_needs_the_log_from_what_was_carried_on() {
        use RecordKind::{Begin, CarriedEnd, Change, CheckpointActive, CheckpointCarried, Commit};
        let end = |first: Lsn| [lsn(2).to_bytes(), first.to_bytes()].concat();
        let named = ActiveEntry {
            id: 7,
            first: lsn(1),
            last: lsn(6),
            needed_from: lsn(1),
            reserved_bytes: 5,
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
        };
        let list = (CheckpointActive, 0, named.encode().to_vec());
        let carried = (CheckpointCarried, 0, encode_carried(7, lsn(5)).to_vec());
        let ended = (CarriedEnd, 7, end(lsn(5)));
        let begun = (Begin, 7, Vec::new());
        type Met = (RecordKind, u64, Vec<u8>);
        let cases: [(&[Met], Option<Lsn>); 7] = [
            (&[begun.clone(), (Change, 7, Vec::new())], Some(lsn(10))),
            (&[begun.clone(), ended.clone()], Some(lsn(5))),
            (&[begun.clone(), (CarriedEnd, 7, end(Lsn::ZERO))], Some(lsn(11))),
            (&[ended.clone(), list.clone()], Some(lsn(5))),
            (&[list.clone(), carried.clone()], Some(lsn(5))),
            (&[carried.clone(), list.clone(), (Change, 7, Vec::new())], Some(lsn(5))),
            (&[begun, ended, (Commit, 7, Vec::new()), carried], None),
        ];
        for (records, expected) in cases {
            let mut census = Census::default();
            for (block, (kind, id, payload)) in (10..).zip(records) {
                census.meet(*kind, *id, lsn(block), payload);
            }
            let nowhere = EndOfLog {
                next: Lsn::ZERO,
                fault: None,
                previous_block_bytes: 0,
                previous_crc: 0,
            };
            let analysis = census.into_analysis(nowhere, 0);
            let needed = analysis.losers.first().map(|loser| loser.needed_from);
            assert_eq!(needed, expected, "{records:?}");
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
            needed_from: lsn(1),
            reserved_bytes: 5,
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
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
            needed_from: lsn(1),
            reserved_bytes: 5,
            undoing: Undoing::InOrder,
            undo_bytes_since: 0,
        };
        census.meet(RecordKind::CheckpointActive, 0, lsn(9), &named.encode());
        assert_eq!(
            census.active[&7],
            ActiveEntry {
                id: 7,
                first: lsn(1),
                last: lsn(8),
                needed_from: lsn(1),
                reserved_bytes: 5,
                undoing: Undoing::InOrder,
                undo_bytes_since: 0,
            }
        );
    }
}
