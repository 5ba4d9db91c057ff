//! The instance's error log: the lines SQL Server writes to ERRORLOG, in its words and its columns.
//!
//! ```text
//! 2008-05-16 13:22:47.97 spid18s     Starting up database 'vlf'.
//! \____ date and time __/ \_ source _/ \_ text ...
//! ```
//! Lines are kept in memory for `sp_readerrorlog` and handed to a sink: a file in the instance folder, and the console when
//! the server asks for it. At start the former file becomes `ERRORLOG.1`, as SQL Server cycles its own (up to `.6`).

use crate::seams::{Clock, DateTimeTicks};
use parking_lot::Mutex;
use std::sync::Arc;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLogLine {
    /// When.
    pub time: DateTimeTicks,
    /// Who: `Server`, `spid51`, `spid7s` (a system task), `Logon`, `Backup`.
    pub source: String,
    /// What.
    pub text: String,
}

impl ErrorLogLine {
    /// The line as it stands in the file.
    pub fn file_text(&self) -> String {
        format!("{} {:<11} {}", self.time.errorlog_text(), self.source, self.text)
    }
}

/// Takes each line as it is written. Must not call back into the log.
pub type ErrorLogSink = Box<dyn Fn(&ErrorLogLine) + Send + Sync>;

/// Lines kept in memory at most; older ones are in the file only.
const LINES_KEPT_MAX: usize = 100_000;

/// The log itself; shared by everyone.
pub struct ErrorLog {
    clock: Arc<dyn Clock>,
    lines: Mutex<std::collections::VecDeque<ErrorLogLine>>,
    sinks: Mutex<Vec<ErrorLogSink>>,
}

impl ErrorLog {
    /// An empty log that keeps its lines in memory.
    pub fn new(clock: Arc<dyn Clock>) -> ErrorLog {
        ErrorLog {
            clock,
            lines: Mutex::new(std::collections::VecDeque::new()),
            sinks: Mutex::new(Vec::new()),
        }
    }

    /// Adds a taker of lines; it first gets those already kept.
    pub fn add_sink(&self, sink: ErrorLogSink) {
        let lines = self.lines.lock();
        lines.iter().for_each(&sink);
        self.sinks.lock().push(sink);
    }

    /// Writes one line.
    pub fn write(&self, source: &str, text: impl Into<String>) {
        let line = ErrorLogLine {
            time: self.clock.wall_ticks(),
            source: source.to_string(),
            text: text.into(),
        };
        let mut lines = self.lines.lock();
        for sink in self.sinks.lock().iter() {
            sink(&line);
        }
        if lines.len() == LINES_KEPT_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    /// Writes an error as SQL Server logs it: a line with its numbers, a line with its text.
    pub fn write_error(&self, source: &str, error: &crate::error::Error) {
        self.write(
            source,
            format!(
                "Error: {}, Severity: {}, State: {}.",
                error.number, error.severity, error.state
            ),
        );
        self.write(source, error.message.clone());
    }

    /// A copy of the lines kept, oldest first.
    pub fn lines(&self) -> Vec<ErrorLogLine> {
        self.lines.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::ManualClock;

    #[test]
    fn lines_look_like_sql_servers() {
        let clock = Arc::new(ManualClock::starting_at(1_210_944_167_970_000));
        let log = ErrorLog::new(clock);
        log.write("spid18s", "Starting up database 'vlf'.");
        assert_eq!(
            log.lines()[0].file_text(),
            "2008-05-16 13:22:47.97 spid18s     Starting up database 'vlf'."
        );
    }

    #[test]
    fn a_sink_that_comes_late_still_gets_every_line() {
        let log = ErrorLog::new(Arc::new(ManualClock::starting_at(0)));
        log.write("Server", "one");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let taker = seen.clone();
        log.add_sink(Box::new(move |line| taker.lock().push(line.text.clone())));
        log.write("Server", "two");
        assert_eq!(*seen.lock(), ["one", "two"]);
    }
}
