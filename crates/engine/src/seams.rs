//! The seams through which all nondeterminism enters the engine: files, time, background work.
//!
//! With a simulated disk, a [`ManualClock`] and [`Background::Inline`], one seed replays one history: no thread runs that a
//! caller did not start, and no clock moves that a caller did not move.

use crate::activity::Activity;
pub use crate::activity::events::{GrowthCause, LogEventKind, RecoveryPhase};
pub use crate::activity::{TRACE_FILE_WORK, Work, WorkKind, WorkUnderWay};
pub use crate::clock::{Clock, DateTimeTicks, ManualClock, SystemClock, VirtualClock, civil_from_days};
use crate::errorlog::ErrorLog;
use crate::waits::WaitStatistics;
use std::sync::Arc;

/// Where background work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Threads of the engine's own: log growth ahead of need, checkpoints, the lazy writer.
    Threads,
    /// No thread: the caller that finds work due does it inline, or it is done on request. For simulation.
    Inline,
}

impl Background {
    /// Drops what takes long to free: the last handle of a large file that has no name any more, above all.
    pub fn let_go(self, what: impl Send + 'static) {
        if self == Background::Threads {
            // Where no thread can be had, the closure is dropped here, with what it holds.
            let _ = std::thread::Builder::new()
                .name("let-go".to_string())
                .spawn(move || drop(what));
        }
    }
}

/// Everything the engine's rooms need from outside.
#[derive(Clone)]
pub struct Environment {
    /// The only door to files.
    pub disk: Arc<dyn disk::Disk>,
    /// The only source of time.
    pub clock: Arc<dyn Clock>,
    /// Whether threads may be started.
    pub background: Background,
    /// Wait statistics of the instance.
    pub waits: Arc<WaitStatistics>,
    /// What the instance is doing, and its trace flags.
    pub activity: Arc<Activity>,
    /// The instance's error log.
    pub errorlog: Arc<ErrorLog>,
}

/// Where one log tells what happens to it.
#[derive(Clone)]
pub struct Journal {
    activity: Arc<Activity>,
    clock: Arc<dyn Clock>,
    database: Arc<str>,
}

impl Journal {
    /// Enters an event that is over now.
    pub fn tell(&self, kind: LogEventKind) {
        let now = self.clock.now_micros();
        self.activity.log_events.tell(&self.database, now, kind);
    }

    /// The session whose request this thread serves.
    pub fn session(&self) -> Option<u16> {
        self.activity.session()
    }
}

impl Environment {
    /// The journal of a database's log.
    pub fn journal(&self, database: &str) -> Journal {
        Journal {
            activity: Arc::clone(&self.activity),
            clock: Arc::clone(&self.clock),
            database: Arc::from(database),
        }
    }

    /// Begins work of which `sys.dm_exec_requests` shows how far it is.
    pub fn begin_work(&self, kind: WorkKind, database: &str, total: u64) -> WorkUnderWay {
        self.activity.begin(kind, database, total, self.clock.now_micros())
    }

    /// Begins the writing of zeros over `bytes` of a file, its new part: counted as work, and logged under trace flag
    /// 3004.
    pub fn begin_zeroing(&self, database: &str, path: &std::path::Path, bytes: std::ops::Range<u64>) -> Zeroing<'_> {
        const PAGE_BYTES: u64 = 8192;
        let text = || {
            let (from, to) = (bytes.start, bytes.end);
            let (first, last) = (from / PAGE_BYTES, to / PAGE_BYTES);
            format!(
                "Zeroing {} from page {first} to {last} ({from:#x} to {to:#x})",
                path.display()
            )
        };
        self.trace(TRACE_FILE_WORK, text);
        Zeroing {
            environment: self,
            path: path.to_path_buf(),
            start: bytes.start,
            started_micros: self.clock.now_micros(),
            work: self.begin_work(WorkKind::Zeroing, database, bytes.end - bytes.start),
        }
    }

    /// Writes to the error log what a trace flag asks for; the text is made only when it is on.
    pub fn trace(&self, flag: u16, text: impl FnOnce() -> String) {
        if self.activity.tells(flag) {
            let session = self.activity.session();
            let source = session.map_or("Server".to_string(), |session| format!("spid{session}"));
            self.errorlog.write(&source, text());
        }
    }
}

/// Zeros being written. See [`Environment::begin_zeroing`].
pub struct Zeroing<'e> {
    environment: &'e Environment,
    path: std::path::PathBuf,
    start: u64,
    started_micros: u64,
    work: WorkUnderWay,
}

impl Zeroing<'_> {
    /// Everything before `offset` in the file is written.
    pub fn reached(&self, offset: u64) {
        self.work.set_done(offset.saturating_sub(self.start));
    }

    /// All of it is written.
    pub fn completed(self) {
        let micros = self.environment.clock.now_micros().saturating_sub(self.started_micros);
        self.environment.trace(TRACE_FILE_WORK, || {
            let path = self.path.display();
            format!("Zeroing completed on {path} (elapsed = {} ms)", micros / 1_000)
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Tells which thread dropped it.
    struct Tells(std::sync::mpsc::Sender<std::thread::ThreadId>);

    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(std::thread::current().id()).unwrap();
        }
    }

    #[test]
    fn what_is_let_go_is_dropped_by_another_thread_where_there_may_be_one() {
        for background in [Background::Threads, Background::Inline] {
            let (tell, told) = std::sync::mpsc::channel();
            background.let_go(Tells(tell));
            let is_here = told.recv().unwrap() == std::thread::current().id();
            assert_eq!(is_here, background == Background::Inline);
        }
    }
}
