//! Appending: records go straight into the open block, under one short mutex, and get their LSN at once.
//!
//! A record goes into the open block, the next block, or the next VLF. Whatever prevents that is an [`Obstacle`], and each obstacle has one
//! remedy:
//!
//! | obstacle | remedy |
//! |---|---|
//! | every buffer in use | wait for the write in flight (LOGBUFFER), or write |
//! | no space | wait for the growth in progress, grow, or 9002 |
//! | zeros are being written in that place | wait for that one write |

use super::LogManager;
use super::counters::add;
use super::hold::Held;
use super::policy::GrowthTiming;
use super::record::{
    ChainEnd, RecordHeader, RecordKind, Trailer, TransactionChain, TransactionId, Undoing, undo_reserve_bytes,
};
use super::state::{Claim, Obstacle};
use crate::error::{Error, Result};
use crate::seams::{Background, LogEventKind};
use crate::waits::WaitType;
use vlf::Lsn;
use vlf::block::{RECORD_BYTES_MAX, SLOT_BYTES};

impl LogManager {
    /// Appends a record of a transaction and extends its chain. `undo_reserve` is the size in bytes that the payload of the
    /// compensation record will have at most, 0 if the record is never undone; that much log stays free for it.
    ///
    /// # Errors
    /// 9002 when the log is full and cannot grow, and nothing was changed then; never for `Commit` and `Abort`. 9001 after
    /// a failed write.
    pub fn append(
        &self,
        chain: &mut TransactionChain,
        kind: RecordKind,
        payload: &[&[u8]],
        undo_reserve: u32,
    ) -> Result<Lsn> {
        self.append_with_tail(chain, kind, payload, Trailer::NONE, undo_reserve)
    }

    /// As [`LogManager::append`], with lock information and links behind the payload.
    ///
    /// # Errors
    /// As [`LogManager::append`].
    pub(crate) fn append_with_tail(
        &self,
        chain: &mut TransactionChain,
        kind: RecordKind,
        payload: &[&[u8]],
        tail: Trailer<'_>,
        undo_reserve: u32,
    ) -> Result<Lsn> {
        let header = header_of(kind, chain.id).with(tail);
        let record_bytes = header.record_bytes(payload_bytes(payload));
        if kind.ends_transaction() {
            let (lsn, mut state) = self.append_record(Some(chain), header, payload, tail, Claim::Promised)?;
            state.release_all(chain);
            chain.extend(kind, lsn, record_bytes);
            self.look_ahead(state);
            return Ok(lsn);
        }
        let undo_bytes = undo_reserve_bytes(undo_reserve);
        let end_bytes = if chain.reserved_bytes == 0 {
            self.end_reserve_bytes
        } else {
            0
        };
        let claim = Claim::Work {
            undo_reserve: undo_bytes + end_bytes,
        };
        let (lsn, mut state) = self.append_record(Some(chain), header, payload, tail, claim)?;
        state.reserve(undo_bytes);
        state.reserve(end_bytes);
        chain.reserved_bytes += undo_bytes + end_bytes;
        chain.extend(kind, lsn, record_bytes);
        self.look_ahead(state);
        Ok(lsn)
    }

    /// Appends the record of one undone change; undo continues at `undo_next`. Uses the space set aside by the change's own
    /// `append`, so it does not fail for want of space.
    ///
    /// # Errors
    /// 9001 after a failed write.
    pub(crate) fn append_compensation(
        &self,
        chain: &mut TransactionChain,
        undo_next: Lsn,
        payload: &[&[u8]],
        tail: Trailer<'_>,
    ) -> Result<Lsn> {
        let header = RecordHeader {
            undo_next,
            ..header_of(RecordKind::Compensation, chain.id).with(tail)
        };
        let (lsn, mut state) = self.append_record(Some(chain), header, payload, tail, Claim::Promised)?;
        let record_bytes = header.record_bytes(payload_bytes(payload));
        let spent = (record_bytes + SLOT_BYTES) as u64;
        let others = self.end_reserve_bytes + chain.surplus_bytes;
        let spent = spent.min(chain.reserved_bytes.saturating_sub(others));
        state.release(spent);
        chain.reserved_bytes -= spent;
        chain.extend(RecordKind::Compensation, lsn, record_bytes);
        self.look_ahead(state);
        Ok(lsn)
    }

    /// Appends a record of the system's own, such as a checkpoint's. It may use a small reserve that transactions may not.
    ///
    /// # Errors
    /// 9002 when even that is used up, 9001 after a failed write.
    pub fn append_system(&self, kind: RecordKind, payload: &[&[u8]]) -> Result<Lsn> {
        self.append_on(kind, payload, Trailer::NONE, Claim::System)
    }

    /// A change of the system's own, with links; `is_promised` as [`LogManager::append_promised`] has it.
    ///
    /// # Errors
    /// Those of [`LogManager::append_system`] or [`LogManager::append_promised`].
    pub(crate) fn append_change(&self, payload: &[u8], tail: Trailer<'_>, is_promised: bool) -> Result<Lsn> {
        let claim = if is_promised { Claim::Promised } else { Claim::System };
        self.append_on(RecordKind::Change, &[payload], tail, claim)
    }

    /// Marks a transaction that is rolled back page by page from here on.
    ///
    /// # Errors
    /// 9002 when the log has no room for it as it is: nothing was set aside for it, so it does not grow. 9001 after a failed write.
    pub(crate) fn append_mark(&self, chain: &mut TransactionChain, payload: &[&[u8]]) -> Result<Lsn> {
        let header = header_of(RecordKind::Marked, chain.id);
        let record_bytes = header.record_bytes(payload_bytes(payload));
        let (lsn, state) = self.append_record(Some(chain), header, payload, Trailer::NONE, Claim::Carried)?;
        chain.set_undoing(Undoing::Marked);
        chain.extend(RecordKind::Marked, lsn, record_bytes);
        self.look_ahead(state);
        Ok(lsn)
    }

    /// Appends a record of the system's own that may no more be refused than a rollback's: the log grows past MAXSIZE rather than
    /// fail. Such are what a rollback changes beside taking records back, and the checkpoint that ends recovery: a log that was full
    /// at the crash has no reserve left, and this checkpoint is what lets it be reused.
    ///
    /// # Errors
    /// 9001 after a failed write; those of growing the file.
    pub fn append_promised(&self, kind: RecordKind, payload: &[&[u8]]) -> Result<Lsn> {
        self.append_on(kind, payload, Trailer::NONE, Claim::Promised)
    }

    fn append_on(&self, kind: RecordKind, payload: &[&[u8]], tail: Trailer<'_>, claim: Claim) -> Result<Lsn> {
        let header = header_of(kind, TransactionId::SYSTEM).with(tail);
        let (lsn, state) = self.append_record(None, header, payload, tail, claim)?;
        self.look_ahead(state);
        Ok(lsn)
    }

    /// Writes the change at `of` of a transaction under way once more, for its rollback alone, behind `previous`. The transaction does not take
    /// notice of it until [`LogManager::append_carried_end`].
    ///
    /// # Errors
    /// 9002 when the log has no room for it as it is; it does not grow, and nobody hears of it. 9001 after a failed write.
    pub(crate) fn append_carried(&self, id: TransactionId, previous: Lsn, of: Lsn, payload: &[u8]) -> Result<Lsn> {
        let header = carried_header(RecordKind::Carried, id, previous);
        let payload = [&of.to_bytes()[..], payload];
        let (lsn, state) = self.append_record(None, header, &payload, Trailer::NONE, Claim::Carried)?;
        self.look_ahead(state);
        Ok(lsn)
    }

    /// The rollback of a transaction under way goes on at `previous`, the last of its changes that were carried, instead of at `of`, its newest
    /// record. `first` is the first of them; both are zero when there is none. `None` when the transaction has gone on meanwhile: it stays as it is.
    ///
    /// # Errors
    /// As [`LogManager::append_carried`].
    pub(crate) fn append_carried_end(
        &self,
        (id, end): (TransactionId, &ChainEnd),
        of: Lsn,
        (first, previous): (Lsn, Lsn),
    ) -> Result<Option<Lsn>> {
        let header = carried_header(RecordKind::CarriedEnd, id, previous);
        let (of_bytes, first) = (of.to_bytes(), first.to_bytes());
        let payload = [&of_bytes[..], &first[..]];
        let record_bytes = header.record_bytes(payload_bytes(&payload));
        let mut state = self.hold();
        self.wait_for_room(&mut state, record_bytes, Claim::Carried)?;
        let moved = end.move_to(of, || {
            let lsn = state.push(&header, record_bytes, &payload, &[]);
            lsn.ok_or_else(no_room_in_block)
        })?;
        self.look_ahead(state);
        Ok(moved)
    }

    /// Sets `bytes` of log aside for a transaction found at restart, as its own appends had done before the crash. Never
    /// refused: the space was there then.
    pub fn restore_reserve(&self, chain: &mut TransactionChain, bytes: u64) {
        self.hold().reserve(bytes);
        chain.reserved_bytes += bytes;
        chain.show_reserve();
    }

    /// Sets `bytes` of log aside until the transaction ends, beside what its rollback needs. Never refused; records that come later are
    /// admitted with it in mind.
    pub fn set_aside(&self, chain: &mut TransactionChain, bytes: u64) {
        let mut state = self.hold();
        state.reserved_bytes += bytes;
        state.surplus_bytes += bytes;
        chain.reserved_bytes += bytes;
        chain.surplus_bytes += bytes;
        chain.show_reserve();
    }

    /// Gives back what a transaction without an end record still holds: one that wrote nothing, or is given up at shutdown.
    pub fn forget(&self, chain: &mut TransactionChain) {
        self.hold().release_all(chain);
    }

    fn append_record(
        &self,
        chain: Option<&mut TransactionChain>,
        mut header: RecordHeader,
        payload: &[&[u8]],
        tail: Trailer<'_>,
        claim: Claim,
    ) -> Result<(Lsn, Held<'_>)> {
        let record_bytes = header.record_bytes(payload_bytes(payload));
        if record_bytes > RECORD_BYTES_MAX {
            return Err(Error::assertion("a log record is longer than a log block"));
        }
        let mut state = self.hold();
        self.wait_for_room(&mut state, record_bytes, claim)?;
        if let Some(chain) = chain {
            chain.follow_end();
            header.previous = chain.last;
        }
        let lsn = state.push(&header, record_bytes, payload, tail.bytes);
        let lsn = lsn.ok_or_else(no_room_in_block)?;
        Ok((lsn, state))
    }

    fn wait_for_room(&self, state: &mut Held<'_>, record_bytes: usize, claim: Claim) -> Result<()> {
        let mut waiting_since = None;
        loop {
            self.check_usable()?;
            match state.make_room(record_bytes, claim) {
                Ok(()) => {
                    self.tell_wait(waiting_since);
                    return Ok(());
                }
                Err(Obstacle::NoBuffer) => self.wait_for_buffer(state)?,
                Err(Obstacle::Warming) => self.wait_for_change(state)?,
                Err(Obstacle::NoSpace) if claim == Claim::Carried => {
                    return Err(Error::log_full(&self.database, state.reuse_wait));
                }
                Err(Obstacle::NoSpace) => {
                    if waiting_since.is_none() {
                        waiting_since = Some(self.env.clock.now_micros());
                        add(&self.counters.growth_waits, 1);
                    }
                    match state.resizing {
                        true => self.wait_for_change(state)?,
                        false => self.grow_when_full(state, claim)?,
                    }
                }
                Err(Obstacle::NotResumed) => return Err(Error::log_not_available(&self.database)),
                Err(Obstacle::SequencesUsedUp) => {
                    return Err(Error::log_damaged(
                        &self.database,
                        "all VLF sequence numbers are used up",
                    ));
                }
            }
        }
    }

    /// A record has found room. Had it waited for a growth since that moment, it says how long.
    fn tell_wait(&self, since_micros: Option<u64>) {
        if let Some(since) = since_micros {
            self.journal.tell(LogEventKind::Waited {
                session: self.journal.session(),
                micros: self.env.clock.now_micros().saturating_sub(since),
            });
        }
    }

    /// LOGBUFFER: "waiting for space in the log buffer to store a log record" (sql-docs, sys.dm_os_wait_stats).
    pub(super) fn wait_for_buffer(&self, state: &mut Held<'_>) -> Result<()> {
        let clock = &*self.env.clock;
        self.env.waits.time(clock, WaitType::LogBuffer, || {
            if state.may_begin_write(0) {
                self.lead_write(state)
            } else {
                self.wait_for_change(state)
            }
        })
    }

    /// The record is in and accounted for: starts work that is better done ahead of need.
    fn look_ahead(&self, mut state: Held<'_>) {
        let growth_due = std::mem::take(&mut state.growth_due);
        let growth_due = growth_due && state.policy.growth == GrowthTiming::AheadOfNeed;
        let warming_due = std::mem::take(&mut state.warming_due);
        let write_due = std::mem::take(&mut state.write_due);
        let fullness_due = std::mem::take(&mut state.fullness_due);
        let nearly_full = fullness_due && self.note_fullness(&mut state);
        let state = match self.env.background {
            Background::Inline if growth_due => self.grow_ahead_or_wait(state),
            Background::Inline => state,
            Background::Threads => {
                if growth_due || warming_due || write_due {
                    self.worker.ask(growth_due);
                }
                state
            }
        };
        drop(state);
        if nearly_full {
            self.tell_owner();
        }
    }
}

/// A header; the chain's place is put in when the record is appended.
fn header_of(kind: RecordKind, transaction: TransactionId) -> RecordHeader {
    RecordHeader {
        kind,
        transaction,
        previous: Lsn::ZERO,
        undo_next: Lsn::ZERO,
        lock_bytes: 0,
        link_bytes: 0,
    }
}

fn carried_header(kind: RecordKind, id: TransactionId, previous: Lsn) -> RecordHeader {
    RecordHeader {
        previous,
        ..header_of(kind, id)
    }
}

fn no_room_in_block() -> Error {
    Error::assertion("the open log block has room for the record")
}

fn payload_bytes(payload: &[&[u8]]) -> usize {
    payload.iter().map(|part| part.len()).sum()
}
