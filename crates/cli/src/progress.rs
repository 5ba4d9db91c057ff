//! Progress of a run: a bar with the time left on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::driver::Observer;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shows a run's progress on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    begin: Instant,
    units: u64,
    done: u64,
    /// `growth (1 of 4)`.
    experiment: String,
    /// What is being done.
    doing: String,
    lines: Lines,
}

/// Which lines are written without a terminal: they are few, however long the run is and however many steps it has.
///
/// One is due with each experiment, with each [`PERCENT_STEP`], and after a silence. Each silence may last twice as long as the one
/// before, up to [`SILENCE_MAX`].
#[derive(Debug)]
struct Lines {
    /// When the last line was written.
    told: Instant,
    silence: Duration,
    /// A line is due from here on.
    percent: u64,
}

const PERCENT_STEP: u64 = 10;
const SILENCE_MIN: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = Duration::from_secs(320);

impl Lines {
    fn new(now: Instant) -> Lines {
        Lines {
            told: now,
            silence: SILENCE_MIN,
            percent: 0,
        }
    }

    /// Whether a line is due at so many percent; if so, it counts as written.
    fn is_due(&mut self, now: Instant, percent: u64) -> bool {
        let is_silent = now.duration_since(self.told) >= self.silence;
        if percent < self.percent && !is_silent {
            return false;
        }
        if is_silent && percent < self.percent {
            self.silence = (self.silence * 2).min(SILENCE_MAX);
        }
        self.percent = self.percent.max((percent / PERCENT_STEP + 1) * PERCENT_STEP);
        self.told = now;
        true
    }

    /// The next line is due whenever it comes: something else begins.
    fn begin(&mut self) {
        self.percent = 0;
    }
}

const REDRAW_INTERVAL: Duration = Duration::from_millis(200);
/// A unit is about a millisecond of an ordinary machine; so much of that expectation goes into the time left, which
/// otherwise would jump about while little is done.
const EXPECTED_UNITS: f64 = 5000.0;

impl Progress {
    /// A bar when standard error is a terminal.
    pub fn new() -> Progress {
        let bar = io::stderr()
            .is_terminal()
            .then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        Progress {
            bar,
            begin: Instant::now(),
            units: 0,
            done: 0,
            experiment: String::new(),
            doing: String::new(),
            lines: Lines::new(Instant::now()),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Writes a line beside the bar.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => {
                // As with progress: what cannot be written does not stop the run.
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    /// Shows where the run is; without a terminal, if a line is due.
    fn tell(&mut self) {
        let percent = self.done * 100 / self.units.max(1);
        if self.bar.is_none() && !self.lines.is_due(Instant::now(), percent) {
            return;
        }
        let left = time_text(seconds_left(self.begin.elapsed(), self.done, self.units));
        let text = format!("{left} left  {}, {}", self.experiment, self.doing);
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => {
                // Progress that cannot be written does not stop the run.
                let _ = writeln!(io::stderr(), "[{percent:>3}%] {text}");
            }
        }
    }
}

/// Seconds left, if the rest goes on like the part done; at the beginning, if it goes as expected.
fn seconds_left(elapsed: Duration, done: u64, units: u64) -> u64 {
    let left = units.saturating_sub(done) as f64;
    let milliseconds_per_unit = (elapsed.as_secs_f64() * 1000.0 + EXPECTED_UNITS) / (done as f64 + EXPECTED_UNITS);
    (left * milliseconds_per_unit / 1000.0).round() as u64
}

/// `45 s`, `3 min 05 s`, `1 h 12 min`.
fn time_text(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

impl Observer for Progress {
    fn begin(&mut self, units: u64) {
        self.units = units;
        self.begin = Instant::now();
        if let Some(bar) = &self.bar {
            let template = "{bar:30} {percent:>3}%  {elapsed} gone, {msg}";
            // The template is fixed text; should it ever be refused, the default style shows the same figures.
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_length(units);
            bar.enable_steady_tick(REDRAW_INTERVAL);
        }
    }

    fn experiment(&mut self, name: &str, ordinal: usize, count: usize) {
        self.experiment = if count == 1 {
            name.to_string()
        } else {
            format!("{name} ({ordinal} of {count})")
        };
        self.lines.begin();
    }

    fn step(&mut self, configuration: &str, run: usize, label: &str) {
        self.doing = format!("{configuration}, run {run}: {label}");
        self.tell();
    }

    fn advance(&mut self, units: u64) {
        self.done = units;
        if let Some(bar) = &self.bar {
            bar.set_position(units);
        }
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_begins_with_what_was_expected_and_ends_with_what_was_measured() {
        let left = |elapsed_s, done| seconds_left(Duration::from_secs(elapsed_s), done, 100_000);
        assert_eq!(left(0, 0), 100);
        assert_eq!(
            left(20, 10_000),
            150,
            "twice as slow as expected, part of which is believed"
        );
        assert!((95..=100).contains(&left(100, 50_000)));
        assert_eq!(left(200, 100_000), 0);
    }

    /// A run of so many seconds that reports ten times a second.
    fn lines_of(run_s: u64, experiments: u64) -> usize {
        let begin = Instant::now();
        let mut lines = Lines::new(begin);
        let ticks = run_s * 10;
        let is_due = |tick: u64| {
            if tick.is_multiple_of(ticks.div_ceil(experiments)) {
                lines.begin();
            }
            lines.is_due(begin + Duration::from_millis(tick * 100), tick * 100 / ticks)
        };
        (0..ticks).map(is_due).filter(|is_due| *is_due).count()
    }

    /// Without a terminal a run of two minutes has no more lines than a screen, and one of a day is not silent for long.
    #[test]
    fn lines_are_few_however_long_the_run_is() {
        assert_eq!(lines_of(8, 1), 10);
        assert_eq!(lines_of(8, 3), 12);
        for (run_s, experiments, most) in [(120, 2, 20), (7200, 7, 45), (86_400, 7, 300)] {
            let lines = lines_of(run_s, experiments);
            assert!((10..=most).contains(&lines), "{lines} lines in {run_s} s");
        }
        let silence_s = SILENCE_MAX.as_secs();
        assert!(lines_of(86_400, 1) as u64 >= 86_400 / silence_s - 10);
    }

    #[test]
    fn times_are_written_as_people_say_them() {
        for (seconds, text) in [(0, "0 s"), (99, "99 s"), (185, "3 min 05 s"), (7320, "2 h 02 min")] {
            assert_eq!(time_text(seconds), text);
        }
    }
}
