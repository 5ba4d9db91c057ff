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
}

const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

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
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Seconds left, if the rest goes on like the part done.
    fn seconds_left(&self) -> Option<u64> {
        let done = self.done as f64;
        let left = self.units.saturating_sub(self.done) as f64;
        (done > 0.0).then(|| (self.begin.elapsed().as_secs_f64() * left / done).round() as u64)
    }
}

impl Observer for Progress {
    fn begin(&mut self, units: u64) {
        self.units = units;
        self.begin = Instant::now();
        if let Some(bar) = &self.bar {
            let template = "{bar:30} {percent:>3}%  {elapsed} gone, {eta} left  {msg}";
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
    }

    fn step(&mut self, configuration: &str, run: usize, label: &str) {
        let text = format!("{}, {configuration}, run {run}: {label}", self.experiment);
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => {
                let percent = self.done * 100 / self.units.max(1);
                let left = self
                    .seconds_left()
                    .map(|seconds| format!(", {seconds} s left"))
                    .unwrap_or_default();
                // Progress nobody can read is no reason to stop.
                let _ = writeln!(io::stderr(), "[{percent:>3}%{left}] {text}");
            }
        }
    }

    fn advance(&mut self, units: u64) {
        self.done = units;
        if let Some(bar) = &self.bar {
            bar.set_position(units);
        }
    }
}
