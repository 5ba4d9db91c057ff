//! The instance's current activity: long-running work with its progress, the request of each thread, the trace flags, and the last events
//! of its logs ([`events`]).
//!
//! Long-running work reports its progress in a few atomics, which `sys.dm_exec_requests` reads. Work started on a thread that serves a
//! request belongs to that request; other work belongs to the engine, and is shown as a background request. Work may be nested: a restore
//! creates files and then rolls forward.
//!
//! Trace flags are global or belong to one session (`DBCC TRACEON`). Among the supported ones, 3004 reports the zeroing of files and the
//! steps of backup and restore, and 3605 sends these reports to the error log (Paul Randal, "Search Engine Q&A #24", names both for
//! watching instant initialization).

pub mod events;

use events::LogEvents;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tells of zeroing, and of the steps of backup and restore.
pub const TRACE_FILE_WORK: u16 = 3004;
/// What traces tell goes to the error log.
pub const TRACE_TO_ERRORLOG: u16 = 3605;

/// A kind of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    BackupDatabase,
    BackupLog,
    RestoreDatabase,
    RestoreLog,
    /// RESTORE VERIFYONLY.
    Verify,
    /// DBCC CHECKDB and its parts.
    Check,
    /// DBCC SHRINKFILE and SHRINKDATABASE.
    Shrink,
    /// Zeros written over new space of a file.
    Zeroing,
    /// The first phase of a recovery: what was under way is found out.
    Analysis,
    /// The second one: what the pages lack is done again. The third, undo, is rollbacks that belong to no session.
    Redo,
    /// A transaction rolled back.
    Rollback,
}

impl WorkKind {
    /// `command` of a request that consists of this work; `None` when the statement itself says what it is.
    pub fn command(self) -> Option<&'static str> {
        match self {
            WorkKind::BackupDatabase => Some("BACKUP DATABASE"),
            WorkKind::BackupLog => Some("BACKUP LOG"),
            WorkKind::RestoreDatabase => Some("RESTORE DATABASE"),
            WorkKind::RestoreLog => Some("RESTORE LOG"),
            WorkKind::Verify => Some("RESTORE VERIFYONLY"),
            WorkKind::Check => Some("DBCC TABLE CHECK"),
            WorkKind::Shrink => Some("DbccFilesCompact"),
            WorkKind::Zeroing | WorkKind::Analysis | WorkKind::Redo | WorkKind::Rollback => None,
        }
    }

    /// `command` when the engine does it by itself. `DB STARTUP` is SQL Server's own word.
    pub fn background_command(self) -> &'static str {
        match self {
            // What recovery rolls back belongs to no session either.
            WorkKind::Analysis | WorkKind::Redo | WorkKind::Rollback => "DB STARTUP",
            WorkKind::Zeroing => "LOG GROWTH",
            other => other.command().unwrap_or("TASK MANAGER"),
        }
    }

    /// The wait type that a request doing this shows, if the work is one long wait for the operating system.
    pub fn wait_type(self) -> Option<&'static str> {
        (self == WorkKind::Zeroing).then_some("PREEMPTIVE_OS_WRITEFILEGATHER")
    }
}

/// One piece of work under way, as others see it.
#[derive(Debug)]
pub struct Work {
    pub kind: WorkKind,
    /// The database it is done for.
    pub database: String,
    /// The session whose request it is; `None` = the engine's own.
    pub session: Option<u16>,
    /// When it began, microseconds of the instance's clock.
    pub started_micros: u64,
    number: u64,
    done: AtomicU64,
    total: AtomicU64,
}

impl Work {
    /// So much more is done.
    pub fn add_done(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Share done, 0 to 100.
    pub fn percent(&self) -> f32 {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        if total == 0 {
            return 0.0;
        }
        (done as f64 * 100.0 / total as f64) as f32
    }

    /// Time left if it goes on as so far, in ms; 0 before the first step.
    pub fn milliseconds_left(&self, now_micros: u64) -> u64 {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        if done == 0 {
            return 0;
        }
        let elapsed = u128::from(now_micros.saturating_sub(self.started_micros));
        (elapsed * u128::from(total - done) / u128::from(done) / 1_000) as u64
    }
}

/// Work under way; it is over when this is dropped.
pub struct WorkUnderWay {
    activity: Arc<Activity>,
    work: Arc<Work>,
}

impl WorkUnderWay {
    /// So much is done, in the unit of the total.
    pub fn set_done(&self, done: u64) {
        self.work.done.store(done, Ordering::Relaxed);
    }

    /// For those who do parts of the work and know nothing of the rest.
    pub fn work(&self) -> &Arc<Work> {
        &self.work
    }

    /// So much is to be done in all.
    pub fn set_total(&self, total: u64) {
        self.work.total.store(total, Ordering::Relaxed);
    }
}

impl Drop for WorkUnderWay {
    fn drop(&mut self) {
        self.activity
            .works
            .lock()
            .retain(|work| work.number != self.work.number);
    }
}

/// A trace flag that is on somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceStatus {
    pub flag: u16,
    /// On for the server.
    pub global: bool,
    /// On for the session that asks.
    pub session: bool,
}

#[derive(Default)]
struct TraceFlags {
    global: BTreeSet<u16>,
    sessions: BTreeMap<u16, BTreeSet<u16>>,
}

thread_local! {
    /// The session whose request this thread serves. A thread serves one instance at a time.
    static SERVED: Cell<Option<u16>> = const { Cell::new(None) };
}

#[derive(Default)]
pub struct Activity {
    next_number: AtomicU64,
    works: Mutex<Vec<Arc<Work>>>,
    traces: Mutex<TraceFlags>,
    has_traces: AtomicBool,
    /// What happened to logs.
    pub log_events: LogEvents,
}

impl Activity {
    /// This thread serves a request of `session` from now on.
    pub fn begin_request(&self, session: u16) {
        SERVED.set(Some(session));
    }

    /// This thread no longer serves a request.
    pub fn end_request(&self) {
        SERVED.set(None);
    }

    /// The session that this thread serves.
    pub fn session(&self) -> Option<u16> {
        SERVED.get()
    }

    /// Begins work of this thread's session, of `total` steps, bytes or whatever the work counts; 0 = not known yet.
    pub fn begin(self: &Arc<Self>, kind: WorkKind, database: &str, total: u64, now_micros: u64) -> WorkUnderWay {
        let session = self.session();
        self.begin_for(session, kind, database, total, now_micros)
    }

    /// As [`Activity::begin`], for a session that is named.
    pub fn begin_for(
        self: &Arc<Self>,
        session: Option<u16>,
        kind: WorkKind,
        database: &str,
        total: u64,
        now_micros: u64,
    ) -> WorkUnderWay {
        let work = Arc::new(Work {
            kind,
            database: database.to_string(),
            session,
            started_micros: now_micros,
            number: self.next_number.fetch_add(1, Ordering::Relaxed),
            done: AtomicU64::new(0),
            total: AtomicU64::new(total),
        });
        self.works.lock().push(work.clone());
        WorkUnderWay {
            activity: self.clone(),
            work,
        }
    }

    /// All work under way, the oldest first.
    pub fn works(&self) -> Vec<Arc<Work>> {
        self.works.lock().clone()
    }

    /// DBCC TRACEON, for one session or (`None`) for the server.
    pub fn trace_on(&self, flag: u16, session: Option<u16>) {
        let mut traces = self.traces.lock();
        match session {
            Some(session) => traces.sessions.entry(session).or_default().insert(flag),
            None => traces.global.insert(flag),
        };
        self.has_traces.store(true, Ordering::Relaxed);
    }

    /// DBCC TRACEOFF.
    pub fn trace_off(&self, flag: u16, session: Option<u16>) {
        let mut traces = self.traces.lock();
        match session {
            Some(session) => {
                if let Some(flags) = traces.sessions.get_mut(&session) {
                    flags.remove(&flag);
                }
            }
            None => {
                traces.global.remove(&flag);
            }
        }
    }

    /// A session's own flags end with it.
    pub fn forget_session(&self, session: u16) {
        self.traces.lock().sessions.remove(&session);
    }

    /// The flags that are on for the server or for `session`, in the order of their numbers.
    pub fn trace_statuses(&self, session: u16) -> Vec<TraceStatus> {
        let traces = self.traces.lock();
        let none = BTreeSet::new();
        let own = traces.sessions.get(&session).unwrap_or(&none);
        let status = |&flag: &u16| TraceStatus {
            flag,
            global: traces.global.contains(&flag),
            session: own.contains(&flag),
        };
        traces.global.union(own).map(status).collect()
    }

    /// Whether a flag was ever set: what asks for each statement asks this first.
    #[inline]
    pub fn has_traces(&self) -> bool {
        self.has_traces.load(Ordering::Relaxed)
    }

    /// Whether a flag is on for this thread's session, or for the server.
    pub fn is_on(&self, flag: u16) -> bool {
        if !self.has_traces() {
            return false;
        }
        let session = self.session();
        let traces = self.traces.lock();
        let own = session.and_then(|session| traces.sessions.get(&session));
        traces.global.contains(&flag) || own.is_some_and(|own| own.contains(&flag))
    }

    /// Whether a trace tells in the error log for this thread: the flag and 3605 are both on.
    pub fn tells(&self, flag: u16) -> bool {
        self.is_on(flag) && self.is_on(TRACE_TO_ERRORLOG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_tells_its_share_and_the_time_left_and_is_over_when_dropped() {
        let activity = Arc::new(Activity::default());
        activity.begin_request(51);
        let outer = activity.begin(WorkKind::RestoreDatabase, "db", 0, 1_000);
        let inner = activity.begin_for(None, WorkKind::Zeroing, "db", 400, 1_000_000);
        inner.set_done(100);
        let works = activity.works();
        assert_eq!((works[0].session, works[1].session), (Some(51), None));
        assert_eq!((works[0].percent(), works[1].percent()), (0.0, 25.0));
        // A quarter took one second.
        assert_eq!(works[1].milliseconds_left(2_000_000), 3_000);
        assert_eq!(works[0].milliseconds_left(2_000_000), 0, "nothing is known yet");
        drop(inner);
        assert_eq!(activity.works().len(), 1);
        drop(outer);
        activity.end_request();
        assert!(activity.works().is_empty());
        assert_eq!(activity.session(), None);
    }

    /// Flag and 3605, each for the server, for this session, or for another one.
    #[test]
    fn a_trace_tells_only_where_both_flags_are_on() {
        let places = [None, Some(51), Some(52)];
        for flag_at in places {
            for errorlog_at in places {
                let activity = Activity::default();
                activity.begin_request(51);
                activity.trace_on(TRACE_FILE_WORK, flag_at);
                assert!(!activity.tells(TRACE_FILE_WORK), "3605 is off");
                activity.trace_on(TRACE_TO_ERRORLOG, errorlog_at);
                let reaches = flag_at != Some(52) && errorlog_at != Some(52);
                assert_eq!(activity.tells(TRACE_FILE_WORK), reaches, "{flag_at:?}, {errorlog_at:?}");
                activity.trace_off(TRACE_FILE_WORK, flag_at);
                assert!(!activity.tells(TRACE_FILE_WORK));
            }
        }
    }

    #[test]
    fn statuses_join_the_servers_flags_and_the_sessions_own() {
        let activity = Activity::default();
        activity.trace_on(3605, None);
        activity.trace_on(3004, Some(51));
        activity.trace_on(1118, Some(52));
        let status = |flag, global, session| TraceStatus { flag, global, session };
        assert_eq!(
            activity.trace_statuses(51),
            [status(3004, false, true), status(3605, true, false)]
        );
        activity.forget_session(51);
        assert_eq!(activity.trace_statuses(51), [status(3605, true, false)]);
    }
}
