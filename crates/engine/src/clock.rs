//! Clocks: the machine's, that of a modelled disk, and one that tests move. Callers get the time from [`crate::seams`].

use disk::modelled::VirtualTime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    /// Lets time go by in which the caller does nothing, at most so many microseconds: no longer than `nap` if time goes by itself, and
    /// all of it at once if the clock is virtual. So a waiter calls again until the time has come, and can look for cancellation between
    /// calls.
    fn pass(&self, micros: u64, nap: Duration) {
        std::thread::sleep(Duration::from_micros(micros).min(nap));
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

    fn pass(&self, micros: u64, _nap: Duration) {
        self.time.pass(micros.saturating_mul(1_000));
    }
}

/// A clock that tests move, and that moves by one microsecond at each reading so that no two readings are equal.
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

    fn pass(&self, micros: u64, _nap: Duration) {
        self.advance(micros);
    }
}

#[cfg(test)]
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

    /// WAITFOR slept by the machine's clock, whatever clock the instance had.
    #[test]
    fn time_in_which_nobody_works_is_over_at_once_where_nobody_waits_for_it() {
        const DAY: Duration = Duration::from_secs(86_400);
        let manual = ManualClock::starting_at(0);
        let modelled = VirtualClock::new(Arc::new(VirtualTime::new(false)), 0);
        let clocks: [&dyn Clock; 2] = [&manual, &modelled];
        for clock in clocks {
            let begun = clock.now_micros();
            clock.pass(MICROS_PER_DAY, Duration::from_millis(20));
            assert!(clock.now_micros() - begun >= DAY.as_micros() as u64);
        }
        assert_eq!(modelled.device_micros(), Some(0), "the device did nothing");
        let real = SystemClock::new();
        real.pass(MICROS_PER_DAY, Duration::from_micros(1));
        assert!(real.now_micros() < MICROS_PER_DAY);
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
