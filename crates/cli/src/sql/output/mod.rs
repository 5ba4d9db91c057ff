//! The output of a batch: its destination and its format.
//!
//! ```text
//! id          name
//! ----------- ----------
//!           1 abc
//!
//! (1 rows affected)
//! Msg 208, Level 16, State 1, Server here, Line 1
//! Invalid object name 'x'.
//! ```

mod documents;
mod lines;
mod sink;
mod style;
mod table;

use documents::{Csv, Json, Markdown};
use lab::client::{Event, Heading, ServerMessage};
use lines::{Lines, Records};
pub(super) use sink::Sink;
use std::io::{self, Write};
pub(super) use style::{Controls, Format, Style};
use table::Table;

/// What a batch came to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct BatchEnd {
    /// The highest severity of its errors, or messages.
    pub(super) severity_max: u8,
    /// The number of the first message of state 127, which ends scripts.
    pub(super) last_word: Option<i32>,
    /// The first column of the last row of the last result set, if there is one.
    pub(super) value: Option<Option<String>>,
    /// Whether there was an error.
    pub(super) has_error: bool,
}

/// Errors of this severity and above are errors; below they are messages.
const ERROR_SEVERITY_MIN: u8 = 11;

/// Prints events and remembers what they mean.
pub(super) struct Output {
    rows_to: Sink,
    /// Where errors go if not where rows go.
    errors_to: Option<Sink>,
    /// `-r`: messages of this severity and above go to standard error.
    stderr_severity_min: Option<u8>,
    /// `-m`: messages below are not shown.
    shown_severity_min: i64,
    style: Style,
    is_xml: bool,
    /// Whether there was a result set for programs before, from which the next one is to be separated.
    had_document: bool,
    result: ResultSet,
    failure: Option<io::Error>,
    end: BatchEnd,
    saw_corruption: bool,
}

/// The result set that is being printed.
enum ResultSet {
    None,
    Lines(Lines),
    Records(Records),
    Table(Table),
    Json(Json),
    Csv(Csv),
    Markdown(Markdown),
    /// The first column of each row, one after the other.
    Stream,
}

/// Numbers that mean damaged data: a page that fails its checks, and what DBCC CHECKDB reports.
fn is_corruption(number: i32) -> bool {
    matches!(number, 824 | 825 | 2570 | 8901..=8999)
}

impl Output {
    /// Prints rows to `rows_to`; `stderr_severity_min` is of `-r`.
    pub(super) fn new(rows_to: Sink, style: Style, stderr_severity_min: Option<u8>) -> Output {
        Output {
            rows_to,
            errors_to: None,
            stderr_severity_min,
            shown_severity_min: 0,
            style,
            is_xml: false,
            had_document: false,
            result: ResultSet::None,
            failure: None,
            end: BatchEnd::default(),
            saw_corruption: false,
        }
    }

    /// How the next batch's answer is shown: its form, and the least severity that is shown.
    pub(super) fn set_style(&mut self, style: Style, shown_severity_min: i64) {
        self.style = style;
        self.shown_severity_min = shown_severity_min;
    }

    /// `:out`.
    pub(super) fn set_rows_to(&mut self, sink: Sink) {
        self.rows_to = sink;
    }

    /// `:error`.
    pub(super) fn set_errors_to(&mut self, sink: Sink) {
        self.errors_to = Some(sink);
    }

    /// `:xml`.
    pub(super) fn set_xml(&mut self, is_on: bool) {
        self.is_xml = is_on;
    }

    pub(super) fn rows_to(&mut self) -> &mut Sink {
        &mut self.rows_to
    }

    /// Takes one event. A failure to print is kept until [`Output::end_of_batch`].
    pub(super) fn event(&mut self, event: &Event<'_>) {
        if self.failure.is_none() {
            self.failure = self.print(event).err();
        }
    }

    /// Prints a line that no event brought.
    ///
    /// # Errors
    /// It cannot be printed.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.rows_to, "{text}")?;
        self.rows_to.flush()
    }

    /// Prints a complaint of this program's own: where `:error` said, or to standard error.
    ///
    /// # Errors
    /// It cannot be printed.
    pub(super) fn complain(&mut self, text: &str) -> io::Result<()> {
        self.rows_to.flush()?;
        match &mut self.errors_to {
            Some(sink) => {
                writeln!(sink, "{text}")?;
                sink.flush()
            }
            None => writeln!(io::stderr(), "{text}"),
        }
    }

    /// Ends the result set and flushes; answers what the batch came to.
    ///
    /// # Errors
    /// The first failure to print.
    pub(super) fn end_of_batch(&mut self) -> io::Result<BatchEnd> {
        let ended = self.end_result(false);
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        ended?;
        self.rows_to.flush()?;
        if let Some(sink) = &mut self.errors_to {
            sink.flush()?;
        }
        Ok(std::mem::take(&mut self.end))
    }

    /// Whether any error so far reported damaged data.
    pub(super) fn saw_corruption(&self) -> bool {
        self.saw_corruption
    }

    fn print(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Columns(headings) => {
                self.end_result(false)?;
                self.end.value = None;
                self.begin_result(headings)
            }
            Event::Row(values) => {
                self.end.value = values.first().cloned();
                self.print_row(values)
            }
            Event::Done { rows } => self.done(*rows),
            Event::Information(message) | Event::Error(message) => self.message(message),
            // Its rows come as text: it never asks for bytes.
            Event::WireRow(_) => Ok(()),
        }
    }

    fn begin_result(&mut self, headings: &[Heading]) -> io::Result<()> {
        let (style, out) = (&self.style, &mut self.rows_to);
        let is_table = matches!(style.format, Format::Csv | Format::Markdown) && !self.is_xml;
        if is_table && std::mem::replace(&mut self.had_document, true) {
            writeln!(out)?;
        }
        self.result = match style.format {
            _ if self.is_xml => ResultSet::Stream,
            Format::Horizontal => ResultSet::Lines(Lines::begin(headings, style, out)?),
            Format::Vertical => ResultSet::Records(Records::begin(headings)),
            Format::Fit | Format::Ascii => ResultSet::Table(Table::begin(headings)),
            Format::Json => ResultSet::Json(Json::begin(headings, out)?),
            Format::Csv => ResultSet::Csv(Csv::begin(headings, style, out)?),
            Format::Markdown => ResultSet::Markdown(Markdown::begin(headings, out)?),
        };
        Ok(())
    }

    fn print_row(&mut self, values: &[Option<String>]) -> io::Result<()> {
        let (style, out) = (&self.style, &mut self.rows_to);
        match &mut self.result {
            ResultSet::None => Ok(()),
            ResultSet::Lines(lines) => lines.row(values, style, out),
            ResultSet::Records(records) => records.row(values, style, out),
            ResultSet::Table(table) => table.row(values, style, out),
            ResultSet::Json(json) => json.row(values, out),
            ResultSet::Csv(csv) => csv.row(values, out),
            ResultSet::Markdown(markdown) => markdown.row(values, out),
            ResultSet::Stream => match values.first() {
                Some(Some(value)) => write!(out, "{value}"),
                _ => Ok(()),
            },
        }
    }

    /// Ends what is being printed. A count of rows that follows has a blank line of its own.
    fn end_result(&mut self, has_count: bool) -> io::Result<()> {
        let (style, out) = (&self.style, &mut self.rows_to);
        match std::mem::replace(&mut self.result, ResultSet::None) {
            ResultSet::None => return Ok(()),
            ResultSet::Table(mut table) => table.end(style, out)?,
            ResultSet::Json(mut json) => return json.end(out),
            ResultSet::Csv(_) | ResultSet::Markdown(_) => return Ok(()),
            ResultSet::Stream => return writeln!(out),
            ResultSet::Lines(_) | ResultSet::Records(_) => {}
        }
        match has_count {
            true => Ok(()),
            false => writeln!(out),
        }
    }

    fn done(&mut self, rows: Option<u64>) -> io::Result<()> {
        let is_silent = self.is_xml || self.style.format.is_document();
        let count = rows.filter(|_| !is_silent);
        self.end_result(count.is_some())?;
        if let Some(count) = count {
            writeln!(self.rows_to, "\n({count} rows affected)")?;
        }
        // At a terminal each statement's answer shows as it comes.
        match self.style.terminal_width {
            0 => Ok(()),
            _ => self.rows_to.flush(),
        }
    }

    fn message(&mut self, message: &ServerMessage) -> io::Result<()> {
        if let (ResultSet::Table(table), style) = (&mut self.result, &self.style) {
            table.settle(style, &mut self.rows_to)?;
        }
        let is_error = message.severity >= ERROR_SEVERITY_MIN;
        self.end.severity_max = self.end.severity_max.max(message.severity);
        self.end.has_error |= is_error;
        if message.state == 127 {
            self.end.last_word.get_or_insert(message.number);
        }
        self.saw_corruption |= is_error && is_corruption(message.number);
        if i64::from(message.severity) < self.shown_severity_min || self.is_xml && !is_error {
            return Ok(());
        }
        // Messages without a severity are text; the others come with their number, as do all with -m -1.
        let has_head = !matches!(message.severity, 0 | 10) || self.shown_severity_min < 0;
        let text = match has_head {
            true => format!("{}\n{}", head(message), message.text),
            false => message.text.clone(),
        };
        self.print_message(&text, message.severity)
    }

    fn print_message(&mut self, text: &str, severity: u8) -> io::Result<()> {
        let is_error = severity >= ERROR_SEVERITY_MIN;
        let goes_to_stderr = match self.stderr_severity_min {
            Some(severity_min) => severity >= severity_min,
            None => self.style.format.is_document() && !self.is_xml,
        };
        match &mut self.errors_to {
            Some(sink) if is_error => lines::line(text, &self.style, sink),
            _ if goes_to_stderr => {
                self.rows_to.flush()?;
                writeln!(io::stderr(), "{text}")
            }
            _ => {
                lines::line(text, &self.style, &mut self.rows_to)?;
                // A message with NOWAIT is shown at once.
                self.rows_to.flush()
            }
        }
    }
}

fn head(message: &ServerMessage) -> String {
    let procedure = match message.procedure.is_empty() {
        true => String::new(),
        false => format!(", Procedure {}", message.procedure),
    };
    format!(
        "Msg {}, Level {}, State {}, Server {}{procedure}, Line {}",
        message.number, message.severity, message.state, message.server, message.line
    )
}

#[cfg(test)]
mod tests;
