//! The seams through which everything that is not deterministic enters the engine: files, time, background work.
//!
//! With a simulated disk, a [`ManualClock`] and [`Background::Inline`], one seed replays one history: no thread runs that a
//! caller did not start, and no clock moves that a caller did not move.

use crate::activity::Activity;
pub use crate::activity::{TRACE_FILE_WORK, Work, WorkKind, WorkUnderWay};
use crate::errorlog::ErrorLog;
use crate::waits::WaitStatistics;
use disk::modelled::VirtualTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A point of wall-clock time as `datetime` holds it: days since 1900-01-01 and ticks of 1/300 second since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct DateTimeTicks {
    /// Days since 1900-01-01; negative before it.
    pub days: i32,
    /// Ticks of 1/300 second since midnight, below 25,920,000.
    pub ticks: u32,
}

/// Days from 1900-01-01 to the Unix epoch, 1970-01-01.
const DAYS_TO_UNIX_EPOCH: i32 = 25_567;
const MICROS_PER_DAY: u64 = 86_400_000_000;

impl DateTimeTicks {
    /// From microseconds since the Unix epoch, rounded to the nearest tick as `datetime` does.
    pub fn from_unix_micros(unix_micros: u64) -> DateTimeTicks {
        let days = (unix_micros / MICROS_PER_DAY) as i32 + DAYS_TO_UNIX_EPOCH;
        let micros = unix_micros % MICROS_PER_DAY;
        let ticks = ((micros * 3 + 5_000) / 10_000) as u32;
        if ticks >= 25_920_000 {
            return DateTimeTicks {
                days: days + 1,
                ticks: 0,
            };
        }
        DateTimeTicks { days, ticks }
    }

    /// Microseconds since the Unix epoch; times before it count as the epoch.
    pub fn unix_micros(self) -> u64 {
        let days = i64::from(self.days) - i64::from(DAYS_TO_UNIX_EPOCH);
        let micros = days * MICROS_PER_DAY as i64 + i64::from(self.ticks) * 10_000 / 3;
        micros.max(0) as u64
    }

    /// `2026-11-20 21:22:23.45`, the error log's own form (hundredths of a second).
    pub fn errorlog_text(self) -> String {
        let (year, month, day) = civil_from_days(i64::from(self.days) - i64::from(DAYS_TO_UNIX_EPOCH));
        let hundredths = u64::from(self.ticks) / 3;
        let (seconds, fraction) = (hundredths / 100, hundredths % 100);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:02}")
    }
}

/// Year, month and day of a count of days since 1970-01-01 (proleptic Gregorian calendar).
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Microseconds that never go back; the origin is the clock's own.
    fn now_micros(&self) -> u64;
    /// Microseconds since the Unix epoch, in UTC.
    fn unix_micros(&self) -> u64;
    /// Microseconds that the calling thread has spent on a processor; the origin is the thread's own. A clock that knows of no processor
    /// answers with the time that goes by.
    fn thread_micros(&self) -> u64 {
        self.now_micros()
    }
    /// Of the microseconds that [`Clock::now_micros`] answers those that a modelled device took; `None` where devices are what they are.
    fn device_micros(&self) -> Option<u64> {
        None
    }
    /// Wall-clock time as `datetime` holds it.
    fn wall_ticks(&self) -> DateTimeTicks {
        DateTimeTicks::from_unix_micros(self.unix_micros())
    }
}

/// The machine's clock.
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose monotonic origin is now.
    pub fn new() -> SystemClock {
        SystemClock { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now_micros(&self) -> u64 {
        self.origin.elapsed().as_micros() as u64
    }

    fn unix_micros(&self) -> u64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        since_epoch.map_or(0, |elapsed| elapsed.as_micros() as u64)
    }

    fn thread_micros(&self) -> u64 {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        u64::try_from(spent.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(spent.tv_nsec).unwrap_or(0) / 1_000
    }
}

/// The time of a modelled disk: what its device took and what processors took. Nobody waits for it.
///
/// Where processors take no time, nothing of what it shows is this machine's: the catalog stores dates and identities made of them as
/// text, a digit more makes a log record longer, and now and then a log write with it, by a sector. So its dates begin at
/// [`REPEATABLE_ORIGIN_UNIX_MICROS`], and those of each further process on the same disk [`PROCESS_MICROS`] later: time does not go back
/// when a server is started again.
pub struct VirtualClock {
    time: Arc<VirtualTime>,
    /// When it was made, if processors take time.
    origin_unix_micros: Option<u64>,
}

/// 2026-01-01 00:00:00.
const REPEATABLE_ORIGIN_UNIX_MICROS: u64 = 1_767_225_600_000_000;
/// Longer than a process works on a modelled disk: ten days.
const PROCESS_MICROS: u64 = 10 * MICROS_PER_DAY;

impl VirtualClock {
    /// A clock of `time`. Its dates begin at `now_unix_micros` since the Unix epoch, if processors take time.
    pub fn new(time: Arc<VirtualTime>, now_unix_micros: u64) -> VirtualClock {
        VirtualClock {
            origin_unix_micros: time.counts_processor().then_some(now_unix_micros),
            time,
        }
    }
}

impl Clock for VirtualClock {
    fn now_micros(&self) -> u64 {
        self.time.now_ns() / 1_000
    }

    fn unix_micros(&self) -> u64 {
        let repeatable = || REPEATABLE_ORIGIN_UNIX_MICROS + self.time.processes_before() * PROCESS_MICROS;
        self.origin_unix_micros.unwrap_or_else(repeatable) + self.now_micros()
    }

    fn thread_micros(&self) -> u64 {
        self.time.parts().processor_ns / 1_000
    }

    fn device_micros(&self) -> Option<u64> {
        Some(self.time.parts().device_ns / 1_000)
    }
}

/// A clock that moves only when told to, and by one microsecond at each reading so that no two readings are equal.
pub struct ManualClock {
    micros: AtomicU64,
}

impl ManualClock {
    /// Starts at `unix_micros` since the Unix epoch.
    pub fn starting_at(unix_micros: u64) -> ManualClock {
        ManualClock {
            micros: AtomicU64::new(unix_micros),
        }
    }

    /// Moves the clock on.
    pub fn advance(&self, micros: u64) {
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_micros(&self) -> u64 {
        self.micros.fetch_add(1, Ordering::SeqCst)
    }

    fn unix_micros(&self) -> u64 {
        self.micros.fetch_add(1, Ordering::SeqCst)
    }
}

/// Who does work that nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Threads of the engine's own: log growth ahead of need, checkpoints, the lazy writer.
    Threads,
    /// Nobody: such work is done inline by whoever finds it due, or when a caller asks. For simulation.
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

impl Environment {
    /// Begins work of which `sys.dm_exec_requests` shows how far it is.
    pub fn begin_work(&self, kind: WorkKind, database: &str, total: u64) -> WorkUnderWay {
        self.activity.begin(kind, database, total, self.clock.now_micros())
    }

    /// Begins the writing of zeros over `bytes` of a file, its new part: work, and told when flag 3004 asks for it.
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

    #[test]
    fn ticks_round_trip_and_print_as_the_error_log_prints() {
        // 2008-05-16 13:22:47.97 UTC
        let unix_micros = 1_210_944_167_970_000;
        let ticks = DateTimeTicks::from_unix_micros(unix_micros);
        assert_eq!(ticks.errorlog_text(), "2008-05-16 13:22:47.97");
        assert_eq!(ticks.unix_micros() / 10_000, unix_micros / 10_000);
    }

    #[test]
    fn dates_without_processor_time_are_not_this_machines() {
        let dates = |counts_processor: bool| {
            let clock_at = |now| VirtualClock::new(Arc::new(VirtualTime::new(counts_processor)), now);
            [clock_at(1_700_000_000_000_000), clock_at(1_800_000_000_000_000)].map(|clock| clock.wall_ticks().days)
        };
        let [early, late] = dates(true);
        assert!(early < late);
        let [early, late] = dates(false);
        assert_eq!(early, late);
    }

    #[test]
    fn the_last_half_tick_of_a_day_belongs_to_the_next() {
        let ticks = DateTimeTicks::from_unix_micros(MICROS_PER_DAY - 1);
        assert_eq!(
            ticks,
            DateTimeTicks {
                days: DAYS_TO_UNIX_EPOCH + 1,
                ticks: 0
            }
        );
    }

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

    #[test]
    fn civil_dates_around_leap_days() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (-25_567, (1900, 1, 1)),
        ] {
            assert_eq!(civil_from_days(days), date);
        }
    }
}
