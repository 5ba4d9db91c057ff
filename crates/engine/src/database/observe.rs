//! A snapshot of one database's log for monitoring: its figures, its marks, and what holds it.
//!
//! It waits only for short mutexes and, while the boot record is being written, for that.

use super::{Database, ReuseWait};
use crate::log::{LogCounters, LogPulse};
use crate::recovery::RecoveryModel;
use crate::seams::DateTimeTicks;
use vlf::Lsn;

/// A log at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LogView {
    pub pulse: LogPulse,
    pub recovery_model: RecoveryModel,
    /// Log from here on is kept, and the reason for it.
    pub needed_from: Lsn,
    pub holder: ReuseWait,
    /// `log_reuse_wait_desc`.
    pub reuse_wait: ReuseWait,
    /// The last checkpoint.
    pub checkpoint: Lsn,
    /// Where recovery would begin to read if the server ended now.
    pub recovery: Lsn,
    /// What recovery would read, in bytes.
    pub recovery_bytes: u64,
    /// Where the next log backup begins; [`Lsn::ZERO`] while there is no chain.
    pub log_backup: Lsn,
    pub log_backup_time: DateTimeTicks,
    pub oldest: Option<OldestTransaction>,
    /// Transactions under way that have logged something.
    pub transactions: usize,
    pub counters: LogCounters,
    /// Undo of what a crash left goes on.
    pub is_recovering: bool,
}

/// The transaction under way that began first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldestTransaction {
    pub id: u64,
    /// 0 for the engine's own.
    pub session: u16,
    pub name: String,
    pub first: Lsn,
    /// From where on its rollback needs the log: its first record, or what was carried forward.
    pub needed_from: Lsn,
    /// Since it began, by the clock of dates.
    pub age_micros: u64,
    /// Set aside for its rollback.
    pub reserved_bytes: u64,
}

impl Database {
    /// Its log as it is now.
    pub fn observe_log(&self) -> LogView {
        let reuse_wait = self.reuse_wait();
        let boot = self.boot();
        let (needed_from, holder) = self.truncation_point();
        let log = &self.storage.log;
        let under_way = self.transactions.snapshot();
        let oldest = under_way.iter().min_by_key(|(_, entry)| entry.log_needed_from());
        let needed = self.transactions.log_needed_from();
        let recovery = needed.map_or(boot.redo_start, |needed| needed.min(boot.redo_start));
        let now = self.storage.env.clock.wall_ticks().unix_micros();
        let oldest = oldest.map(|(id, entry)| OldestTransaction {
            id: id.0,
            session: entry.session,
            name: entry.name.to_string(),
            first: entry.first,
            needed_from: entry.log_needed_from().unwrap_or(entry.first),
            age_micros: now.saturating_sub(entry.begun.unix_micros()),
            reserved_bytes: entry.end.reserved_bytes(),
        });
        LogView {
            pulse: log.pulse(),
            recovery_model: boot.recovery_model,
            needed_from,
            holder,
            reuse_wait,
            checkpoint: boot.checkpoint,
            recovery,
            recovery_bytes: log.used_since(recovery),
            log_backup: boot.log_backup_start,
            log_backup_time: boot.log_backup_time,
            oldest,
            transactions: under_way.len(),
            counters: log.counters(),
            is_recovering: self.is_recovering(),
        }
    }
}
