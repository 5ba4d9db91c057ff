//! The last events of all logs: a ring buffer of fixed size, for monitoring.
//!
//! Rare events are recorded here: a VLF entered, a growth, a truncation, a checkpoint, a backup, a hold, a shrink, a phase of recovery.
//! Commits are not recorded; the state of the log is polled instead (`Database::observe_log`). So an event costs one short mutex next to a
//! disk write, and never waits for a reader.
//!
//! Events are numbered from 1 without gaps, in order. The ring keeps the last [`EVENTS_KEPT_MAX`]; a late reader knows from the numbers how
//! many it missed ([`LogEvents::after`]).

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use vlf::Lsn;

/// Events kept; about 100 bytes each.
pub const EVENTS_KEPT_MAX: usize = 4096;

/// Something that happened to a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Its number, from 1 on.
    pub number: u64,
    /// When it was over, microseconds of the instance's clock.
    pub at_micros: u64,
    /// The name that the database had when it was opened.
    pub database: Arc<str>,
    pub kind: LogEventKind,
}

/// Why a log file became larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrowthCause {
    /// `ALTER DATABASE ... MODIFY FILE`.
    Request,
    /// The last free VLF was entered, and no session waits yet.
    Ahead,
    /// A record found no room.
    Full,
}

/// A part of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// The VLFs of the log are found; the count is theirs.
    Discovery,
    /// What was under way is found out; the count is that of records.
    Analysis,
    /// What the pages lack is done again; the count is that of commits. In one pass with analysis under a policy that reads once.
    Redo,
    /// What was not committed is taken back; the count is that of transactions.
    Undo,
    /// All of it, to the last checkpoint; the count is that of transactions taken back.
    Whole,
}

/// What happened. Times in microseconds, sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEventKind {
    /// The log went on in another VLF.
    Switched {
        from: u32,
        to: u32,
        file_id: u16,
        offset: u64,
        bytes: u64,
        /// The sequence the VLF had the last time; 0 = it was never used.
        former: u32,
        /// It lies before the VLF that was left: the log has come round.
        wrapped: bool,
    },
    Grown {
        file_id: u16,
        from_bytes: u64,
        to_bytes: u64,
        vlfs_added: u32,
        micros: u64,
        cause: GrowthCause,
        /// Zeros were written over the new space.
        zeroed: bool,
    },
    /// 9002: no room, and no file can grow. The reason is that of `log_reuse_wait_desc`.
    Full {
        reuse_wait: &'static str,
    },
    /// A record waited for room until a growth was over.
    Waited {
        session: Option<u16>,
        micros: u64,
    },
    /// VLFs became reusable; log from `needed_from` on is still needed.
    Truncated {
        freed: u32,
        needed_from: Lsn,
    },
    /// `log_reuse_wait_desc` changed.
    ReuseWait {
        from: &'static str,
        to: &'static str,
    },
    Checkpointed {
        begin: Lsn,
        redo_start: Lsn,
        micros: u64,
        /// Only the oldest of the changed pages were written.
        indirect: bool,
    },
    BackedUp {
        /// BACKUP LOG; otherwise BACKUP DATABASE.
        log: bool,
        first: Lsn,
        end: Lsn,
        micros: u64,
    },
    /// A backup needs the log from here on.
    HoldBegan {
        lsn: Lsn,
        session: Option<u16>,
    },
    HoldEnded {
        lsn: Lsn,
    },
    /// A shrink was tried.
    Shrunk {
        file_id: u16,
        from_bytes: u64,
        to_bytes: u64,
        /// Why the file is still larger than asked for: 9006 to 9009.
        refusal: Option<i32>,
    },
    /// A shrink filled the rest of the file's last VLF, so that the log goes on elsewhere.
    LeftLastVlf {
        file_id: u16,
    },
    /// Recovery took back a transaction, from its last record to its first.
    TookBack {
        transaction: u64,
        last: Lsn,
        first: Lsn,
    },
    Recovered {
        phase: RecoveryPhase,
        from: Lsn,
        to: Lsn,
        count: u64,
        micros: u64,
    },
}

/// The ring.
#[derive(Default)]
pub struct LogEvents {
    ring: Mutex<Ring>,
}

#[derive(Default)]
struct Ring {
    last_number: u64,
    kept: VecDeque<LogEvent>,
}

/// What a reader finds behind an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventsAfter {
    /// So many have left the ring unread, and were before the first one here.
    pub skipped: u64,
    pub events: Vec<LogEvent>,
}

impl LogEvents {
    /// Enters an event.
    pub fn tell(&self, database: &Arc<str>, at_micros: u64, kind: LogEventKind) {
        let mut ring = self.ring.lock();
        ring.last_number += 1;
        if ring.kept.len() >= EVENTS_KEPT_MAX {
            ring.kept.pop_front();
        }
        let event = LogEvent {
            number: ring.last_number,
            at_micros,
            database: Arc::clone(database),
            kind,
        };
        ring.kept.push_back(event);
    }

    /// The events behind the one of this number, the last `count_max` of them; 0 = from the first one on.
    pub fn after(&self, number: u64, count_max: usize) -> EventsAfter {
        let ring = self.ring.lock();
        let behind = ring.last_number.saturating_sub(number);
        let given = (ring.kept.len() as u64).min(behind).min(count_max as u64);
        let from = ring.kept.len() - given as usize;
        EventsAfter {
            skipped: behind - given,
            events: ring.kept.range(from..).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(count: u64) -> LogEvents {
        let (events, name) = (LogEvents::default(), Arc::from("db"));
        (0..count).for_each(|at| events.tell(&name, at, LogEventKind::Full { reuse_wait: "NOTHING" }));
        events
    }

    fn numbers(after: &EventsAfter) -> Vec<u64> {
        after.events.iter().map(|event| event.number).collect()
    }

    #[test]
    fn a_reader_gets_what_is_behind_its_last_event_in_order() {
        let events = full(5);
        assert_eq!(numbers(&events.after(0, 10)), [1, 2, 3, 4, 5]);
        assert_eq!(numbers(&events.after(3, 10)), [4, 5]);
        assert_eq!(events.after(5, 10), EventsAfter::default());
        assert_eq!(events.after(u64::MAX, 10), EventsAfter::default());
    }

    #[test]
    fn the_ring_keeps_the_last_and_says_how_many_were_missed() {
        let kept = EVENTS_KEPT_MAX as u64;
        let events = full(kept + 7);
        let all = events.after(0, usize::MAX);
        assert_eq!((all.skipped, all.events.len() as u64), (7, kept));
        assert_eq!(all.events[0].number, 8);
        let some = events.after(10, 3);
        assert_eq!(
            (some.skipped, numbers(&some)),
            (kept - 6, vec![kept + 5, kept + 6, kept + 7])
        );
    }
}
