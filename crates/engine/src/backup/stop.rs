//! Where RESTORE stops: STOPAT, STOPATMARK and STOPBEFOREMARK.
//!
//! | asked for | the first record that is not restored |
//! |---|---|
//! | a time | the first Commit with a later one |
//! | before a mark | the first Commit with the mark |
//! | at a mark | what follows that Commit |
//! | before an LSN | the first record at the LSN, or behind it |
//! | at an LSN | the first record behind it |
//!
//! AFTER passes over marks, and over Commits at an LSN, that are older than its time (SQL Server docs, "RESTORE Statements - Arguments": "recovery
//! stops at the first mark having the specified name exactly at or after *datetime*"). A mark's time is the time of its Commit. Names of
//! marks compare letter by letter, as those of transactions do. Neither a full nor a differential backup is searched for a mark: its log ends
//! where all of its pages are of one moment.

use crate::error::{Error, Result};
use crate::log::{LogMark, LogRecord, RecordKind, end_time};
use crate::seams::DateTimeTicks;
use vlf::Lsn;

/// A place in the log that a statement names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopPoint {
    /// STOPAT: no transaction that committed later is restored.
    Time(DateTimeTicks),
    Place {
        place: StopPlace,
        /// STOPBEFOREMARK: what is at the place is not restored.
        is_before: bool,
        /// AFTER: only places with this time, or a later one, count.
        after: Option<DateTimeTicks>,
    },
}

/// What STOPATMARK and STOPBEFOREMARK look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopPlace {
    /// A mark, by its name.
    Mark(String),
    /// A record.
    Lsn(Lsn),
}

/// What a record means to a restore that looks for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Restored,
    /// It is restored, what follows is not.
    Last,
    /// The record is the first that is not restored.
    Behind,
}

impl StopPoint {
    /// The time of STOPAT.
    pub fn time(&self) -> Option<DateTimeTicks> {
        match self {
            StopPoint::Time(time) => Some(*time),
            StopPoint::Place { .. } => None,
        }
    }

    /// The mark that is looked for.
    pub fn mark(&self) -> Option<&str> {
        match self {
            StopPoint::Place {
                place: StopPlace::Mark(name),
                ..
            } => Some(name),
            StopPoint::Time(_) | StopPoint::Place { .. } => None,
        }
    }

    /// Whether it is STOPBEFOREMARK.
    pub fn is_before(&self) -> bool {
        matches!(self, StopPoint::Place { is_before: true, .. })
    }

    /// Whether a full or differential set that ends at this LSN, and has every commit up to this time, may be restored.
    ///
    /// # Errors
    /// 4338 when the point lies inside of the set.
    pub fn check_data_set(&self, end: Lsn, log_end: DateTimeTicks) -> Result<()> {
        let is_too_early = match self {
            StopPoint::Time(time) => *time < log_end,
            StopPoint::Place {
                place: StopPlace::Lsn(lsn),
                ..
            } => *lsn < end,
            StopPoint::Place { .. } => false,
        };
        match is_too_early {
            true => Err(Error::stop_point_too_early()),
            false => Ok(()),
        }
    }

    /// Whether log may be added to a database that is restored up to `position`, and has every commit up to `time`.
    ///
    /// # Errors
    /// 4335 when the database is beyond the point.
    pub(crate) fn check_passed(&self, position: Lsn, time: DateTimeTicks) -> Result<()> {
        let is_passed = match self {
            StopPoint::Time(stop) => *stop < time,
            StopPoint::Place {
                place: StopPlace::Lsn(lsn),
                ..
            } => *lsn < position,
            StopPoint::Place { .. } => false,
        };
        match is_passed {
            true => Err(Error::stop_point_passed()),
            false => Ok(()),
        }
    }

    /// Whether a set that was restored to its end has brought the database to the point: it ends at this LSN, and has every commit up to
    /// this time.
    pub(crate) fn is_reached_by(&self, end: Lsn, log_end: DateTimeTicks) -> bool {
        match self {
            StopPoint::Time(time) => *time <= log_end,
            StopPoint::Place {
                place: StopPlace::Lsn(lsn),
                is_before: true,
                after: None,
            } => *lsn <= end,
            StopPoint::Place { .. } => false,
        }
    }

    /// 4322 or 4329: the point lies behind the set.
    pub(crate) fn not_reached(&self) -> Error {
        match self {
            StopPoint::Time(_) => Error::stop_point_not_reached(),
            StopPoint::Place { .. } => Error::mark_not_reached(),
        }
    }

    /// What a record of a log set means to it.
    pub(super) fn verdict(&self, record: &LogRecord<'_>) -> Verdict {
        let time = match record.header.kind {
            RecordKind::Commit => end_time(record.payload),
            _ => None,
        };
        let (place, is_before, after) = match self {
            StopPoint::Time(stop) if time.is_some_and(|time| time > *stop) => return Verdict::Behind,
            StopPoint::Time(_) => return Verdict::Restored,
            StopPoint::Place {
                place,
                is_before,
                after,
            } => (place, *is_before, *after),
        };
        let is_late_enough = match (after, time) {
            (Some(after), Some(time)) => time >= after,
            (Some(_), None) => false,
            (None, _) => true,
        };
        let is_there = match place {
            StopPlace::Mark(name) => {
                time.is_some() && LogMark::of_commit(record.payload).is_some_and(|mark| mark.name() == name)
            }
            StopPlace::Lsn(lsn) if !is_before && after.is_none() && record.lsn > *lsn => return Verdict::Behind,
            StopPlace::Lsn(lsn) => record.lsn >= *lsn,
        };
        match (is_there && is_late_enough, is_before) {
            (false, _) => Verdict::Restored,
            (true, true) => Verdict::Behind,
            (true, false) => Verdict::Last,
        }
    }
}
