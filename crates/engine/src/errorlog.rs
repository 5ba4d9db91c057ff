//! The instance's error log: the lines SQL Server writes to ERRORLOG, in its words and its columns.
//!
//! ```text
//! 2008-05-16 13:22:47.97 spid18s     Starting up database 'vlf'.
//! \____ date and time __/ \_ source _/ \_ text ...
//! ```
//! Lines are kept in memory for `sp_readerrorlog` and passed to a sink: a file in the instance folder, and on request the console.
//!
//! Invariant: one entry can never be read as two. Its continuation lines are indented in the file, so that none looks like an entry with
//! its own time. Control characters are escaped, so that they have no effect on a terminal ([`ErrorLogLine::file_text`], [`lines_of`]).
//! Text from clients that have not logged in is reduced to one line ([`one_line`]).
//!
//! Invariant: every client that can reach the port can cause log entries, so their space is bounded. Memory keeps at most
//! [`LINES_KEPT_MAX`] lines, and [`BYTES_KEPT_MAX`] bytes of them; [`FileLimits`] limits the number and size of files. Repeated messages
//! caused by such clients are counted instead of written ([`ErrorLog::write_repeatable`], `repeats`).

mod repeats;

use crate::clock::{Clock, DateTimeTicks};
use crate::error::Result;
use parking_lot::Mutex;
use repeats::{Message, Repeated, Repeats};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

/// What SQL Server numbers an error by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorNumbers {
    pub number: i32,
    /// Its severity, 0 to 25.
    pub severity: u8,
    pub state: u8,
}

/// What a line is part of. An error has two lines: its numbers, then its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It stands alone.
    Plain,
    /// The first line of an error: nothing but its numbers, as text.
    Numbers(ErrorNumbers),
    /// The second line of that error.
    Sentence(ErrorNumbers),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorLogLine {
    pub time: DateTimeTicks,
    /// The source: `Server`, `spid51`, `spid7s` (a system task), `Logon`, `Backup`.
    pub source: String,
    pub text: String,
    /// What it is part of. Lines read back from a file are [`LineKind::Plain`].
    pub kind: LineKind,
}

impl ErrorLogLine {
    /// The line as it stands in the file.
    pub fn file_text(&self) -> String {
        let mut text = format!("{} {:<11} ", self.time.errorlog_text(), self.source);
        for (number, line) in self.text.lines().enumerate() {
            if number > 0 {
                text.push('\n');
                text.push_str(FURTHER_LINE);
            }
            text.push_str(&one_line(line));
        }
        text
    }

    /// What it takes in memory.
    fn bytes(&self) -> usize {
        size_of::<ErrorLogLine>() + self.source.len() + self.text.len()
    }
}

/// What a text's lines but the first begin with in the file: blanks as wide as the columns.
const FURTHER_LINE: &str = "                                   ";
/// Bytes of the first column, behind which a blank stands.
const TIME_BYTES: usize = 22;

/// A text without what ends a line or acts on a terminal: such characters are shown escaped, `\u{a}`. A tab stays.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| {
        let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
        ends_line || character.is_control() && character != '\t'
    };
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match is_escaped(character) {
            // Writing to a string does not fail.
            true => drop(write!(escaped, "{}", character.escape_unicode())),
            false => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// The lines of a file, as [`ErrorLogLine::file_text`] writes them; `time_of` reads a time. A line without a time of its own belongs to
/// the one before it.
pub fn lines_of(text: &str, time_of: impl Fn(&str) -> Option<DateTimeTicks>) -> Vec<ErrorLogLine> {
    let mut lines: Vec<ErrorLogLine> = Vec::new();
    for line in text.lines() {
        let further = line.strip_prefix(FURTHER_LINE);
        // A lenient parser would take blanks for midnight.
        let columns = further.is_none().then(|| line.get(..TIME_BYTES).and_then(&time_of));
        match (columns.flatten(), line.get(TIME_BYTES + 1..)) {
            (Some(time), Some(rest)) => {
                let (source, text) = rest.split_once(' ').unwrap_or((rest, ""));
                lines.push(ErrorLogLine {
                    time,
                    source: source.to_owned(),
                    text: text.trim_start().to_owned(),
                    kind: LineKind::Plain,
                });
            }
            _ => {
                if let Some(last) = lines.last_mut() {
                    last.text.push('\n');
                    last.text.push_str(further.unwrap_or(line));
                }
            }
        }
    }
    lines
}

/// Takes each line as it is written. Must not call back into the log.
pub type ErrorLogSink = Box<dyn Fn(&ErrorLogLine) + Send + Sync>;

/// Is asked before each message whether the log has to start over, and has made it so when it answers with the lines, their sources first,
/// that the new one begins with. Must not call back into the log.
pub type ErrorLogTurn = Box<dyn Fn() -> Option<Vec<(String, String)>> + Send + Sync>;

/// What the files of the error log take at most: a file is ended by the message that brings it to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// Bytes of a file.
    pub bytes: u64,
    /// Former files that are kept beside the one that is written.
    pub former: usize,
}

impl Default for FileLimits {
    /// Six former files as SQL Server has them, and 16 MB each, where SQL Server sets no limit unless it is configured (sql-docs, "Configure
    /// SQL Server error logs").
    fn default() -> FileLimits {
        FileLimits {
            bytes: 16 << 20,
            former: 6,
        }
    }
}

/// Lines kept in memory at most; older ones are in the file only.
pub const LINES_KEPT_MAX: usize = 100_000;
/// Maximum bytes of the kept lines. They are not part of `max server memory`, because clients cause lines before their login.
pub const BYTES_KEPT_MAX: usize = 16 << 20;

/// What memory keeps.
#[derive(Default)]
struct Kept {
    lines: VecDeque<ErrorLogLine>,
    bytes: usize,
}

impl Kept {
    fn clear(&mut self) {
        *self = Kept::default();
    }

    /// Keeps a line, at the cost of the oldest ones. The last one is always kept.
    fn push(&mut self, line: ErrorLogLine) {
        self.bytes += line.bytes();
        self.lines.push_back(line);
        while self.lines.len() > LINES_KEPT_MAX || self.bytes > BYTES_KEPT_MAX && self.lines.len() > 1 {
            let oldest = self.lines.pop_front();
            self.bytes -= oldest.map_or(0, |line| line.bytes());
        }
    }
}

/// The log itself; shared by everyone.
pub struct ErrorLog {
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
    sinks: Mutex<Vec<ErrorLogSink>>,
    turn: Mutex<Option<ErrorLogTurn>>,
    repeats: Mutex<Repeats>,
    file_limits: Mutex<FileLimits>,
}

impl ErrorLog {
    /// An empty log that keeps its lines in memory.
    pub fn new(clock: Arc<dyn Clock>) -> ErrorLog {
        ErrorLog {
            clock,
            kept: Mutex::default(),
            sinks: Mutex::new(Vec::new()),
            turn: Mutex::new(None),
            repeats: Mutex::default(),
            file_limits: Mutex::default(),
        }
    }

    /// Bounds the files of an instance that is yet to start.
    pub fn set_file_limits(&self, limits: FileLimits) {
        *self.file_limits.lock() = limits;
    }

    /// What its files take at most.
    pub fn file_limits(&self) -> FileLimits {
        *self.file_limits.lock()
    }

    /// From now on `turn` decides when the log starts over by itself.
    pub fn set_turn(&self, turn: ErrorLogTurn) {
        *self.turn.lock() = Some(turn);
    }

    /// Adds a taker of lines; it first gets those already kept.
    pub fn add_sink(&self, sink: ErrorLogSink) {
        let kept = self.kept.lock();
        kept.lines.iter().for_each(&sink);
        self.sinks.lock().push(sink);
    }

    /// Starts over: when `work` has succeeded, the lines kept so far are forgotten. Meanwhile nobody writes; nor may `work`.
    ///
    /// # Errors
    /// Those of `work`; all is as before then.
    pub fn begin_anew(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut kept = self.kept.lock();
        let _sinks = self.sinks.lock();
        work()?;
        kept.clear();
        Ok(())
    }

    pub fn write(&self, source: &str, text: impl Into<String>) {
        self.write_all(source, [(text.into(), LineKind::Plain)]);
    }

    /// Writes an error as SQL Server logs it: a line with its numbers, a line with its text.
    pub fn write_error(&self, source: &str, error: &crate::error::Error) {
        let numbers = ErrorNumbers {
            number: error.number,
            severity: error.severity,
            state: error.state,
        };
        self.write_numbered(source, numbers, error.message.clone());
    }

    /// [`ErrorLog::write_error`] for an error that is logged by its numbers and a sentence of the log's own.
    pub fn write_numbered(&self, source: &str, numbers: ErrorNumbers, sentence: impl Into<String>) {
        self.write_all(source, numbered(numbers, sentence.into()));
    }

    /// [`ErrorLog::write_numbered`] for errors that a client can cause at will: repetitions within a minute are counted, and logged with
    /// their count when the minute is over.
    pub fn write_repeatable(&self, source: &str, numbers: ErrorNumbers, sentence: impl Into<String>) {
        let message = Message {
            source: source.to_owned(),
            numbers,
            sentence: sentence.into(),
        };
        self.tell_repeats(self.clock.now_micros());
        let (is_written, displaced) = self.repeats.lock().hear(&message, self.clock.now_micros());
        displaced.iter().for_each(|repeated| self.write_repeated(repeated));
        if is_written {
            self.write_all(&message.source, numbered(numbers, message.sentence));
        }
    }

    /// Writes the counts that are still open: the log ends here.
    pub fn end(&self) {
        self.tell_repeats(u64::MAX);
    }

    /// Tells the counts of messages whose time is over at `now`.
    fn tell_repeats(&self, now: u64) {
        let ended = self.repeats.lock().ended(now);
        ended.iter().for_each(|repeated| self.write_repeated(repeated));
    }

    fn write_repeated(&self, repeated: &Repeated) {
        let message = &repeated.message;
        self.write_together(&message.source, numbered(message.numbers, repeated.sentence()));
    }

    /// Writes lines that nobody else's stand between, behind what is due of others.
    fn write_all<const COUNT: usize>(&self, source: &str, texts: [(String, LineKind); COUNT]) {
        self.tell_repeats(self.clock.now_micros());
        self.write_together(source, texts);
    }

    fn write_together<const COUNT: usize>(&self, source: &str, texts: [(String, LineKind); COUNT]) {
        let time = self.clock.wall_ticks();
        let mut kept = self.kept.lock();
        let sinks = self.sinks.lock();
        let begun = self.turn.lock().as_ref().and_then(|turn| turn());
        if begun.is_some() {
            // What memory keeps is this log's, as after `begin_anew`.
            kept.clear();
        }
        let first = begun.into_iter().flatten();
        let first = first.map(|(source, text)| (source, text, LineKind::Plain));
        let asked = texts.into_iter().map(|(text, kind)| (source.to_owned(), text, kind));
        for (source, text, kind) in first.chain(asked) {
            let line = ErrorLogLine {
                time,
                source,
                text,
                kind,
            };
            sinks.iter().for_each(|sink| sink(&line));
            kept.push(line);
        }
    }

    /// What a copy of the lines kept takes in memory.
    pub fn bytes_kept(&self) -> usize {
        self.kept.lock().bytes
    }

    /// A copy of the lines kept, oldest first.
    pub fn lines(&self) -> Vec<ErrorLogLine> {
        self.tell_repeats(self.clock.now_micros());
        self.kept.lock().lines.iter().cloned().collect()
    }
}

/// The two lines of an error.
fn numbered(numbers: ErrorNumbers, sentence: String) -> [(String, LineKind); 2] {
    let ErrorNumbers {
        number,
        severity,
        state,
    } = numbers;
    let first = format!("Error: {number}, Severity: {severity}, State: {state}.");
    [
        (first, LineKind::Numbers(numbers)),
        (sentence, LineKind::Sentence(numbers)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    const LOGIN_FAILED: ErrorNumbers = ErrorNumbers {
        number: 18456,
        severity: 14,
        state: 8,
    };

    /// More than all looks of a test at the clock take.
    const LOOKS_MICROS: u64 = 1_000_000;

    fn sentences(log: &ErrorLog) -> Vec<String> {
        let lines = log.lines().into_iter();
        let sentences = lines.filter(|line| !matches!(line.kind, LineKind::Numbers(_)));
        sentences.map(|line| line.text).collect()
    }

    /// Sixty wrong logins a second made the log grow by gigabytes a day.
    #[test]
    fn what_strangers_cause_again_is_counted() {
        let clock = Arc::new(ManualClock::starting_at(0));
        let log = ErrorLog::new(clock.clone());
        let fail = |address: &str| log.write_repeatable("Logon", LOGIN_FAILED, format!("Failed. [CLIENT: {address}]"));
        for _ in 0..1000 {
            fail("a");
            fail("b");
        }
        assert_eq!(sentences(&log), ["Failed. [CLIENT: a]", "Failed. [CLIENT: b]"]);
        // The clock goes on by a microsecond with each look, and each message looks a few times.
        clock.advance(repeats::WINDOW_MICROS - LOOKS_MICROS);
        fail("a");
        assert_eq!(sentences(&log).len(), 2, "the minute is not over");
        clock.advance(LOOKS_MICROS);
        log.write("Server", "other");
        let a = "Failed. [CLIENT: a] (This message was repeated 1000 times.)";
        let b = "Failed. [CLIENT: b] (This message was repeated 999 times.)";
        let mut told = sentences(&log).split_off(2);
        told[..2].sort();
        assert_eq!(told, [a, b, "other"]);
        fail("a");
        fail("a");
        assert_eq!(sentences(&log).split_off(5), ["Failed. [CLIENT: a]"], "a new minute");
        log.end();
        assert_eq!(
            sentences(&log).split_off(6),
            ["Failed. [CLIENT: a] (This message was repeated once.)"]
        );
        clock.advance(repeats::WINDOW_MICROS);
        assert_eq!(sentences(&log).len(), 7, "what is told is forgotten");
    }

    /// A client that varies what it sends costs a line each, and no memory; counts are logged all the same.
    #[test]
    fn no_more_messages_are_remembered_than_there_is_room_for() {
        let log = ErrorLog::new(Arc::new(ManualClock::starting_at(0)));
        let fail = |name: usize| log.write_repeatable("Logon", LOGIN_FAILED, format!("{name}"));
        (0..2).for_each(|_| fail(0));
        (1..=repeats::MESSAGES_MAX + 5).for_each(fail);
        assert!(log.repeats.lock().len() <= repeats::MESSAGES_MAX);
        let told = sentences(&log);
        assert_eq!(told.len(), repeats::MESSAGES_MAX + 5 + 2);
        let long = "x".repeat(repeats::SENTENCE_BYTES_MAX + 1);
        let before = log.repeats.lock().len();
        (0..2).for_each(|_| log.write_repeatable("Logon", LOGIN_FAILED, long.clone()));
        let after = log.repeats.lock().len();
        assert_eq!((after, sentences(&log).len()), (before, told.len() + 2));
        log.end();
        assert!(sentences(&log).contains(&"0 (This message was repeated once.)".to_owned()));
    }

    #[test]
    fn a_log_that_begins_anew_by_itself_keeps_the_lines_of_the_new_one() {
        let log = ErrorLog::new(Arc::new(ManualClock::starting_at(0)));
        let asked = std::sync::atomic::AtomicUsize::new(0);
        log.set_turn(Box::new(move || {
            let asked = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            (asked == 2).then(|| vec![("Server".to_owned(), "begun".to_owned())])
        }));
        for text in ["one", "two", "three"] {
            log.write("Server", text);
        }
        assert_eq!(sentences(&log), ["begun", "three"]);
    }

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

    /// A hundred thousand refused logins of 64 KB each took 6 GB that were not charged.
    #[test]
    fn memory_keeps_the_newest_lines_and_no_more_than_16_mb_of_them() {
        let log = ErrorLog::new(Arc::new(ManualClock::starting_at(0)));
        let text = |number: usize| format!("{number}: {}", "x".repeat(64 << 10));
        for number in 0..400 {
            log.write("Logon", text(number));
        }
        let lines = log.lines();
        let bytes: usize = lines.iter().map(ErrorLogLine::bytes).sum();
        assert_eq!(log.bytes_kept(), bytes);
        assert!(
            bytes <= BYTES_KEPT_MAX && bytes > BYTES_KEPT_MAX - (70 << 10),
            "{bytes}"
        );
        let first = 400 - lines.len();
        assert!(
            lines
                .iter()
                .zip(first..)
                .all(|(line, number)| line.text == text(number))
        );
        log.write("Logon", "y".repeat(BYTES_KEPT_MAX));
        assert_eq!(log.lines().len(), 1, "a line that is larger by itself");
        for _ in 0..=LINES_KEPT_MAX {
            log.write("Logon", "z");
        }
        assert_eq!(log.lines().len(), LINES_KEPT_MAX);
    }

    fn line(text: &str) -> ErrorLogLine {
        ErrorLogLine {
            time: DateTimeTicks {
                days: 39_582,
                ticks: 14_450_390,
            },
            source: "spid14s".into(),
            text: text.into(),
            kind: LineKind::Plain,
        }
    }

    fn read_back(text: &str) -> Vec<ErrorLogLine> {
        let time = line("").time;
        // As lenient as T-SQL: blanks are a time too.
        lines_of(text, |text| {
            (text.starts_with("2008-") || text.trim().is_empty()).then_some(time)
        })
    }

    #[test]
    fn what_is_written_is_read_back() {
        let texts = ["Starting up database 'vlf'.", "two\nlines", "a\n\n  b\n\tc", "d\te", ""];
        let file: Vec<String> = texts.iter().map(|text| line(text).file_text()).collect();
        let read = read_back(&file.join("\n"));
        let read: Vec<&str> = read.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(read, texts);
        assert_eq!(read_back(&file[0])[0], line(texts[0]));
        let former = format!("{}\nnot indented", file[0]);
        assert_eq!(read_back(&former)[0].text, format!("{}\nnot indented", texts[0]));
    }

    /// A user name with a line break in it, or a text for RAISERROR, could put any line into the log.
    #[test]
    fn no_text_makes_a_line_that_looks_like_another_ones() {
        let forged = line("Login succeeded for user 'sa'.").file_text();
        let breaks = [
            "\n",
            "\r\n",
            "\r",
            "\n\r",
            "\u{b}",
            "\u{c}",
            "\u{85}",
            "\u{2028}",
            "\u{2029}",
            "\n\u{1b}[1G",
        ];
        for between in breaks {
            let written = line(&format!("Login failed for user 'x{between}{forged}")).file_text();
            for part in written
                .split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
                .skip(1)
            {
                assert!(part.starts_with(FURTHER_LINE), "{between:?}: {written}");
            }
            assert!(!written.contains(|character: char| character.is_control() && character != '\n'));
            assert_eq!(read_back(&written).len(), 1, "{between:?}: {written}");
        }
        assert_eq!(one_line("a\tb \u{e4}"), "a\tb \u{e4}");
        assert_eq!(one_line("a\r\nb\u{1b}"), "a\\u{d}\\u{a}b\\u{1b}");
    }

    #[test]
    fn an_error_has_a_line_of_numbers_and_one_of_words() {
        let log = ErrorLog::new(Arc::new(ManualClock::starting_at(0)));
        let numbers = ErrorNumbers {
            number: 9002,
            severity: 17,
            state: 4,
        };
        log.write_numbered("spid51", numbers, "The log is full.");
        let lines: Vec<(String, LineKind)> = log.lines().into_iter().map(|line| (line.text, line.kind)).collect();
        let first = "Error: 9002, Severity: 17, State: 4.".to_owned();
        let second = "The log is full.".to_owned();
        assert_eq!(
            lines,
            [
                (first, LineKind::Numbers(numbers)),
                (second, LineKind::Sentence(numbers))
            ]
        );
    }
}
