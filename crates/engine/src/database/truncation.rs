//! Log truncation: what prevents the reuse of log, and freeing the rest.
//!
//! `log_reuse_wait_desc` is the last known reason: it is updated when truncation is tried (checkpoint, log backup) and when the log is
//! full, and stays until then (Bob Ward, "log truncation" demonstration). It says why the last clearing of the log cleared no VLF (Paul
//! Randal, "Why is log_reuse_wait_desc saying LOG_BACKUP after doing a log backup?"). A log that grows because no VLF is free is such a
//! case. The log cannot see what holds it, so the checkpoint thread, or the first session that asks, looks up the reason after the growth.

use super::Database;
use crate::error::Error;
use crate::log::LogManager;
use crate::seams::LogEventKind;
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use vlf::Lsn;

/// Why the oldest part of the log cannot be reused: numbers and names of `sys.databases.log_reuse_wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ReuseWait {
    /// Nothing holds it.
    Nothing = 0,
    /// Pages changed since then are not written yet.
    Checkpoint = 1,
    /// It has not been backed up.
    LogBackup = 2,
    /// A backup or restore is reading it.
    ActiveBackupOrRestore = 3,
    /// A transaction under way began in it.
    ActiveTransaction = 4,
    /// A database snapshot that is being made reads it.
    DatabaseSnapshotCreation = 7,
    /// It is being read, by `fn_dblog` or its kin.
    LogScan = 8,
}

/// The waits with their names. SQL Server has more: their numbers leave gaps.
const REUSE_WAITS: [(ReuseWait, &str); 7] = [
    (ReuseWait::Nothing, "NOTHING"),
    (ReuseWait::Checkpoint, "CHECKPOINT"),
    (ReuseWait::LogBackup, "LOG_BACKUP"),
    (ReuseWait::ActiveBackupOrRestore, "ACTIVE_BACKUP_OR_RESTORE"),
    (ReuseWait::ActiveTransaction, "ACTIVE_TRANSACTION"),
    (ReuseWait::DatabaseSnapshotCreation, "DATABASE_SNAPSHOT_CREATION"),
    (ReuseWait::LogScan, "LOG_SCAN"),
];

impl ReuseWait {
    /// `log_reuse_wait_desc`.
    pub fn name(self) -> &'static str {
        let own = REUSE_WAITS.iter().find(|(wait, _)| *wait == self);
        own.map_or("OTHER_TRANSIENT", |(_, name)| name)
    }

    /// From `log_reuse_wait`.
    pub fn from_number(number: u8) -> ReuseWait {
        let known = REUSE_WAITS.iter().find(|(wait, _)| *wait as u8 == number);
        known.map_or(ReuseWait::Nothing, |(wait, _)| *wait)
    }
}

/// Log positions from which backups, or readers of the log, still have to read.
#[derive(Default)]
pub(super) struct HeldPositions {
    positions: Mutex<Vec<Lsn>>,
}

impl HeldPositions {
    /// The oldest of them.
    pub(super) fn oldest(&self) -> Option<Lsn> {
        self.positions.lock().iter().min().copied()
    }

    pub(super) fn add(&self, lsn: Lsn) {
        self.positions.lock().push(lsn);
    }

    pub(super) fn remove(&self, lsn: Lsn) {
        let mut positions = self.positions.lock();
        if let Some(place) = positions.iter().position(|&held| held == lsn) {
            positions.swap_remove(place);
        }
    }
}

/// Keeps the log from `lsn` on until dropped.
pub struct LogHold<'d> {
    holds: &'d HeldPositions,
    log: &'d LogManager,
    lsn: Lsn,
}

impl Drop for LogHold<'_> {
    fn drop(&mut self) {
        self.holds.remove(self.lsn);
        self.log.tell(LogEventKind::HoldEnded { lsn: self.lsn });
    }
}

/// Of the positions that hold the log, the oldest, and the reason of the oldest VLF held. Whole VLFs are reused, so among
/// positions in one VLF the order of the arguments decides: what only a person can end is named before what ends by itself.
fn oldest_hold(holds: &[(Option<Lsn>, ReuseWait)]) -> Option<(Lsn, ReuseWait)> {
    let held = || holds.iter().filter_map(|&(lsn, reason)| Some((lsn?, reason)));
    let (oldest, _) = held().min_by_key(|&(lsn, _)| lsn)?;
    let (_, reason) = held().min_by_key(|&(lsn, _)| lsn.vlf)?;
    Some((oldest, reason))
}

impl Database {
    /// Keeps the log from `lsn` on for as long as the answer lives.
    pub fn hold_log(&self, lsn: Lsn) -> LogHold<'_> {
        self.hold_log_in(&self.holds, lsn)
    }

    /// The same for a database snapshot that is being made.
    pub(super) fn hold_log_for_snapshot(&self, lsn: Lsn) -> LogHold<'_> {
        self.hold_log_in(&self.snapshots_being_made, lsn)
    }

    fn hold_log_in<'d>(&'d self, holds: &'d HeldPositions, lsn: Lsn) -> LogHold<'d> {
        holds.add(lsn);
        let log = &*self.storage.log;
        log.tell(LogEventKind::HoldBegan {
            lsn,
            session: log.teller(),
        });
        LogHold { holds, log, lsn }
    }

    /// Up to where the log may be reused, and what holds it there.
    pub fn truncation_point(&self) -> (Lsn, ReuseWait) {
        // Before the table of transactions is looked at: one that is not in it yet begins behind this checkpoint.
        let boot = self.boot();
        let backup_start = self.keeps_log_for_backup().then_some(boot.log_backup_start);
        let holds = [
            (backup_start, ReuseWait::LogBackup),
            (self.transactions.log_needed_from(), ReuseWait::ActiveTransaction),
            (self.holds.oldest(), ReuseWait::ActiveBackupOrRestore),
            (self.snapshots_being_made.oldest(), ReuseWait::DatabaseSnapshotCreation),
            (self.scans.oldest(), ReuseWait::LogScan),
            (Some(boot.redo_start), ReuseWait::Checkpoint),
        ];
        oldest_hold(&holds).unwrap_or((boot.redo_start, ReuseWait::Nothing))
    }

    /// What else than transactions under way and pages that are not written yet holds the log.
    pub(super) fn log_held_by_readers(&self) -> Option<Lsn> {
        let boot = self.boot();
        let backup_start = self.keeps_log_for_backup().then_some(boot.log_backup_start);
        let readers = [&self.holds, &self.snapshots_being_made, &self.scans];
        readers
            .into_iter()
            .filter_map(HeldPositions::oldest)
            .chain(backup_start)
            .min()
    }

    /// Makes reusable every VLF that nothing holds. Returns their number.
    pub fn truncate_log(&self) -> usize {
        let (point, reason) = self.truncation_point();
        let freed = self.storage.log.truncate(point);
        self.show_reuse_wait(point, reason);
        freed
    }

    fn show_reuse_wait(&self, point: Lsn, reason: ReuseWait) {
        // When all that is held is the VLF being written, nothing keeps the log from being reused.
        let held = self.storage.log.end().vlf != point.vlf;
        let shown = if held { reason } else { ReuseWait::Nothing };
        self.note_reuse_wait(shown);
        self.storage.log.set_reuse_wait(shown.name());
    }

    fn note_reuse_wait(&self, shown: ReuseWait) {
        let former = ReuseWait::from_number(self.reuse_wait.swap(shown as u8, Ordering::Relaxed));
        if former != shown {
            self.storage.log.tell(LogEventKind::ReuseWait {
                from: former.name(),
                to: shown.name(),
            });
        }
    }

    /// Finds out why the log had to grow, if it did since the last look.
    pub(crate) fn explain_growth(&self) {
        let growths = self.storage.log.counters().growths_for_room;
        if self.growths_explained.swap(growths, Ordering::Relaxed) != growths {
            let (point, reason) = self.truncation_point();
            self.show_reuse_wait(point, reason);
        }
    }

    /// The name in `log_reuse_wait_desc` when the log was last looked at.
    pub fn reuse_wait(&self) -> ReuseWait {
        self.explain_growth();
        ReuseWait::from_number(self.reuse_wait.load(Ordering::Relaxed))
    }

    /// Puts the reason into a 9002 that the log raised without knowing it.
    pub fn explain(&self, error: Error) -> Error {
        if !error.is_log_full() {
            return error;
        }
        let (_, reason) = self.truncation_point();
        self.note_reuse_wait(reason);
        self.ask_for_checkpoint();
        Error::log_full(&self.name(), reason.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of holders of the log and positions, against the rule written out.
    #[test]
    fn the_oldest_position_gives_the_reason() {
        let reasons = [
            ReuseWait::LogBackup,
            ReuseWait::ActiveTransaction,
            ReuseWait::ActiveBackupOrRestore,
            ReuseWait::Checkpoint,
        ];
        let place = |choice: usize| {
            (choice > 0).then_some(Lsn {
                vlf: choice as u32,
                block: 16,
                slot: 1,
            })
        };
        for combination in 0..4usize.pow(4) {
            let choices: Vec<usize> = (0..4).map(|digit| combination / 4usize.pow(digit) % 4).collect();
            let holds: Vec<_> = choices
                .iter()
                .zip(reasons)
                .map(|(&choice, reason)| (place(choice), reason))
                .collect();
            let oldest = choices.iter().filter(|&&choice| choice > 0).min();
            let expected = oldest.map(|oldest| {
                let first = choices.iter().position(|choice| choice == oldest).unwrap_or_default();
                (holds[first].0.unwrap_or(Lsn::ZERO), reasons[first])
            });
            assert_eq!(oldest_hold(&holds), expected, "{choices:?}");
        }
    }

    #[test]
    fn numbers_and_names_agree_with_sys_databases() {
        let names = [
            (0, "NOTHING"),
            (1, "CHECKPOINT"),
            (2, "LOG_BACKUP"),
            (3, "ACTIVE_BACKUP_OR_RESTORE"),
            (4, "ACTIVE_TRANSACTION"),
            (7, "DATABASE_SNAPSHOT_CREATION"),
            (8, "LOG_SCAN"),
        ];
        for (number, name) in names {
            let wait = ReuseWait::from_number(number);
            assert_eq!((wait as u8, wait.name()), (number, name));
        }
        // Numbers of waits that nothing here can cause.
        for number in [5, 6, 9, 13, 255] {
            assert_eq!(ReuseWait::from_number(number), ReuseWait::Nothing);
        }
    }
}
