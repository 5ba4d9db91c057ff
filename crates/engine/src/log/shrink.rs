//! Shrinking a log file: whole free VLFs are cut off its end, and the log leaves the last VLF if it stands there.
//!
//! ```text
//!   | free | free | log ... -> here | free |      DBCC SHRINKFILE (log, 1), first round
//!   | free | free | log ... -> here |             the free end is cut off; 9008: the end is in use
//!   | -> here | free | log, LOP_SHRINK_NOOP |     the rest of the last VLF is filled, the log goes on in a free one
//!   | -> here | free | free |                     a checkpoint or log backup has freed it
//!   | -> here | free |                            second round: it is cut off
//! ```
//! The filling consists of dummy records: recovery skips them, and a log backup includes them. SQL Server does the same ("may fill the
//! remaining part of the virtual log with dummy records, forcing the end of the log file to a different virtual log", Books Online on DBCC
//! SHRINKFILE; KB 907511 describes the rounds).
//!
//! Invariant: a VLF that holds needed log, or space that a rollback may need, is never cut off or filled. Invariant: the filling never
//! makes the log grow.

use super::counters::add;
use super::directory::{DirectoryState, delete_directory};
use super::files::write_page;
use super::hold::Held;
use super::record::{RECORD_HEADER_BYTES, RecordHeader, RecordKind, TransactionId};
use super::state::{Claim, LogState, Obstacle};
use super::table::VlfPlace;
use super::{LogManager, PAYLOAD_BYTES_MAX};
use crate::cancel;
use crate::error::{Error, Result};
use crate::seams::LogEventKind;
use vlf::Lsn;

/// Fewest VLFs a log file keeps (message 9006; two is what the smallest real files have).
const VLFS_MIN: usize = 2;

/// What a shrink did. Sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShrinkOutcome {
    /// Size before.
    pub bytes_before: u64,
    /// Size now.
    pub bytes: u64,
    /// Why the file is still larger than asked for, if it is: message 9006 to 9009.
    pub refusal: Option<Error>,
}

impl LogManager {
    /// Cuts whole free VLFs off the end of a file, as long as it stays at least `target_bytes` long
    /// (`DBCC SHRINKFILE`; Remus Rusanu, "How to shrink the SQL Server log").
    ///
    /// # Errors
    /// 5020 for an unknown file, 9001 when the disk fails. That the file cannot become as small as asked is not an error:
    /// see [`ShrinkOutcome::refusal`].
    pub fn shrink_file(&self, file_id: u16, target_bytes: u64) -> Result<ShrinkOutcome> {
        let mut state = self.hold();
        self.wait_until_resizable(&mut state)?;
        let plan = state
            .plan_shrink(file_id, target_bytes)
            .ok_or_else(|| Error::no_such_log_file(file_id))?;
        let file = state
            .table
            .files
            .get(&file_id)
            .ok_or_else(|| Error::no_such_log_file(file_id))?;
        let bytes_before = file.bytes();
        let mut outcome = ShrinkOutcome {
            bytes_before,
            bytes: bytes_before,
            refusal: plan.refusal,
        };
        if plan.keep == file.vlfs.len() {
            self.tell_shrink(file_id, &outcome);
            return Ok(outcome);
        }
        let mut layout = file.layout.clone();
        layout.truncate(plan.keep);
        let mut page = file.page.clone();
        page.generation += 1;
        page.set_layout(&layout);
        outcome.bytes = layout.file_bytes();
        // Page 0 before the cut: a file longer than it says is cut when it is opened. The VLFs leave the table before the mutex is
        // released, so that the log cannot move into them.
        let handle = file.handle.clone();
        let directory_of = state.table.first_file_path();
        state.directory = DirectoryState::default();
        state.table.cut(file_id, plan.keep, page.clone(), layout);
        state.resizing = true;
        let cut = Held::unlocked(&mut state, || {
            if let Some(path) = directory_of {
                // A growth may lay out other VLFs in the place of those that go.
                delete_directory(&*self.env.disk, &path)?;
            }
            handle.sync()?;
            write_page(&*handle, &page)?;
            handle.set_len(page.file_bytes)?;
            handle.sync()
        });
        state.resizing = false;
        self.room.notify_all();
        cut.map_err(|error| self.latch(&error))?;
        add(&self.counters.shrinks, 1);
        self.tell_shrink(file_id, &outcome);
        drop(state);
        self.save_directory();
        Ok(outcome)
    }

    fn tell_shrink(&self, file_id: u16, outcome: &ShrinkOutcome) {
        self.journal.tell(LogEventKind::Shrunk {
            file_id,
            from_bytes: outcome.bytes_before,
            to_bytes: outcome.bytes,
            refusal: outcome.refusal.as_ref().map(|refusal| refusal.number),
        });
    }

    /// Moves the writing end of the log out of the last VLF of a file into a free one: fills the rest of the VLF with
    /// `LOP_SHRINK_NOOP` records, durably. True when the log stands elsewhere by that. False, and nothing is written, when it does
    /// not stand there, a file of `target_bytes` keeps some of that VLF, no other is free, or open transactions could not all be
    /// rolled back in what would be left.
    ///
    /// # Errors
    /// 9001 when the log fails, 3617 when the request is to stop.
    pub fn leave_last_vlf(&self, file_id: u16, target_bytes: u64) -> Result<bool> {
        let mut state = self.hold();
        self.wait_until_resizable(&mut state)?;
        let Some(last) = state
            .last_vlf_written(file_id, target_bytes)
            .filter(|_| state.can_leave_vlf())
        else {
            return Ok(false);
        };
        let mut filled_to = Lsn::ZERO;
        while state.tail.as_ref().is_some_and(|tail| tail.place == last) {
            cancel::look()?;
            self.check_usable()?;
            match state.push_filling() {
                Ok(lsn) => filled_to = lsn,
                Err(Obstacle::NoBuffer) => self.wait_for_buffer(&mut state)?,
                Err(Obstacle::Warming) => self.wait_for_change(&mut state)?,
                // Others have used the space meanwhile.
                Err(Obstacle::NoSpace) => return Ok(false),
                Err(Obstacle::NotResumed | Obstacle::SequencesUsedUp) => {
                    return Err(Error::log_not_available(&self.database));
                }
            }
        }
        // The log shall become smaller: it grows when it is full, not because its last free VLF was entered.
        state.growth_due = false;
        drop(state);
        self.journal.tell(LogEventKind::LeftLastVlf { file_id });
        self.flush_to(filled_to)?;
        Ok(true)
    }
}

struct ShrinkPlan {
    keep: usize,
    refusal: Option<Error>,
}

impl LogState {
    /// How many VLFs stay, and what stops the shrink there.
    fn plan_shrink(&self, file_id: u16, target_bytes: u64) -> Option<ShrinkPlan> {
        let file = self.table.files.get(&file_id)?;
        let name = &file.logical_name;
        let (mut keep, mut cut_bytes) = (file.vlfs.len(), 0);
        let refusal = loop {
            let last = file.vlfs.get(keep.checked_sub(1)?)?;
            let start = last.header.start_offset;
            let body_bytes = cut_bytes + last.header.body_bytes();
            let bytes = start + last.header.vlf_bytes;
            if bytes <= target_bytes {
                break None;
            } else if keep <= VLFS_MIN {
                break Some(Error::shrink_needs_vlfs(file_id, name, VLFS_MIN));
            } else if last.active {
                break Some(Error::shrink_end_in_use(file_id, name));
            } else if start < target_bytes {
                break Some(Error::shrink_target_in_last_vlf(file_id, name, target_bytes / 1024));
            } else if !self.can_spare(file.vlfs.len() - keep + 1, body_bytes) {
                break Some(Error::shrink_needs_log_space(file_id, name));
            }
            keep -= 1;
            cut_bytes = body_bytes;
        };
        Some(ShrinkPlan { keep, refusal })
    }

    /// The last VLF of a file, if the log stands in it and all of it lies behind `target_bytes`.
    fn last_vlf_written(&self, file_id: u16, target_bytes: u64) -> Option<VlfPlace> {
        let count = self.table.files.get(&file_id)?.vlfs.len();
        let tail = self.tail.as_ref()?;
        let is_last = tail.place.file == file_id && tail.place.index + 1 == count;
        (is_last && tail.vlf_offset >= target_bytes).then_some(tail.place)
    }

    /// Adds one record of filling: as large as the rest of the VLF has room for, or one that goes to the next VLF.
    fn push_filling(&mut self) -> std::result::Result<Lsn, Obstacle> {
        static NOTHING: [u8; PAYLOAD_BYTES_MAX] = [0; PAYLOAD_BYTES_MAX];
        let left = self.bytes_left_in_vlf() as usize; // below 2 TB
        let sector_bytes = usize::from(self.sector_bytes);
        let around = self.block_bytes(RECORD_HEADER_BYTES) as usize + sector_bytes;
        let payload_bytes = match left.checked_sub(around) {
            None | Some(0) => left + sector_bytes,
            Some(room) => room,
        };
        let payload = &NOTHING[..payload_bytes.min(PAYLOAD_BYTES_MAX)];
        let header = RecordHeader {
            kind: RecordKind::ShrinkNoop,
            transaction: TransactionId::SYSTEM,
            previous: Lsn::ZERO,
            undo_next: Lsn::ZERO,
            lock_bytes: 0,
            link_bytes: 0,
        };
        let record_bytes = header.record_bytes(payload.len());
        self.make_room(record_bytes, Claim::Work { undo_reserve: 0 })?;
        self.push(&header, record_bytes, &[payload], &[])
            .ok_or(Obstacle::NoSpace)
    }
}
