//! The state of a log for monitoring: all figures at once, and the VLFs that have changed, without examining each VLF.
//!
//! A VLF is active if its sequence lies between [`LogPulse::first_active`] and [`LogPulse::last_active`]. So two numbers give the states of
//! all VLFs, and [`LogManager::entered_since`] gives the new sequences. The VLFs are read again only if [`LogPulse::layout`] has changed.

use super::state::{LogState, Tail};
use super::table::VlfPlace;
use super::{LogManager, LogSpace, VlfInfo};
use vlf::{FIRST_BLOCK, Lsn};

/// The figures of a log at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPulse {
    pub space: LogSpace,
    /// LSN that the next record gets; [`Lsn::ZERO`] before the log is open for appending.
    pub end: Lsn,
    /// Sequence of the oldest VLF that cannot be reused.
    pub first_active: u32,
    /// Sequence of the VLF in which the log stands.
    pub last_active: u32,
    /// Counts up whenever VLFs or files come or go.
    pub layout: u64,
}

impl LogManager {
    /// Where the log stands.
    pub fn pulse(&self) -> LogPulse {
        self.hold().pulse()
    }

    /// Where the log stands, and every VLF as it is at that moment.
    pub fn map(&self) -> (LogPulse, Vec<VlfInfo>) {
        let state = self.hold();
        (state.pulse(), state.vlf_infos())
    }

    /// The oldest VLF from which on the log can be read to its end without a break, free VLFs included, by its sequence.
    pub fn oldest_kept(&self) -> Option<u32> {
        let state = self.hold();
        let (mut oldest, _) = state.table.active_sequences()?;
        while let Some(before) = oldest.checked_sub(1)
            && state.table.free_of_sequence(before).is_some()
        {
            oldest = before;
        }
        Some(oldest)
    }

    /// Whether a VLF holds log that is needed, by its sequence.
    pub fn is_active(&self, sequence: u32) -> bool {
        self.hold().table.of_sequence(sequence).is_some()
    }

    /// The VLFs entered since the one of this sequence. `None` where one of them can be reused by now: then only [`LogManager::map`] tells.
    pub fn entered_since(&self, sequence: u32) -> Option<Vec<VlfInfo>> {
        let state = self.hold();
        let (first, last) = state.table.active_sequences()?;
        if sequence.saturating_add(1) < first || sequence > last {
            return None;
        }
        let entered = (sequence + 1..=last).filter_map(|sequence| state.table.of_sequence(sequence));
        Some(entered.filter_map(|place| state.vlf_info(place)).collect())
    }
}

impl LogState {
    fn pulse(&self) -> LogPulse {
        let (first_active, last_active) = self.table.active_sequences().unwrap_or_default();
        LogPulse {
            space: LogSpace {
                total_bytes: self.table.total_bytes(),
                used_bytes: self.used_bytes(),
                reserved_bytes: self.reserved_bytes,
                active_vlfs: self.table.active_count(),
                vlf_count: self.table.active_count() + self.table.free_count(),
            },
            end: self.tail.as_ref().map_or(Lsn::ZERO, Tail::next_lsn),
            first_active,
            last_active,
            layout: self.table.layout_changes,
        }
    }

    /// Every VLF, by file and offset.
    pub(super) fn vlf_infos(&self) -> Vec<VlfInfo> {
        self.table.places().filter_map(|place| self.vlf_info(place)).collect()
    }

    fn vlf_info(&self, place: VlfPlace) -> Option<VlfInfo> {
        let vlf = self.table.vlf(place)?;
        let header = &vlf.header;
        let used = header.sequence.0 != 0;
        Some(VlfInfo {
            file_id: place.file,
            offset: header.start_offset,
            bytes: header.vlf_bytes,
            sequence: header.sequence.0,
            status: if vlf.active { 2 } else { 0 },
            parity: header.parity.byte(),
            create_lsn: header.create_lsn,
            first_lsn: if used {
                Lsn::new(header.sequence.0, FIRST_BLOCK, 1)
            } else {
                Lsn::ZERO
            },
        })
    }
}
