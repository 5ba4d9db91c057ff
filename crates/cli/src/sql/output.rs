//! What comes back from a batch, printed as sqlcmd prints it.
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

use crate::arguments::SqlOptions;
use lab::client::{Alignment, Event, Heading, ServerMessage};
use std::io::{self, Write};

/// Prints events and remembers what they mean for the exit code.
pub struct Output {
    sink: Box<dyn Write>,
    separator: String,
    trim: bool,
    /// Rows after which the headings come again; 0 never, below 0 no headings at all.
    heading_rows: i32,
    headings: Vec<Heading>,
    rows: i32,
    failure: Option<io::Error>,
    batch_failed: bool,
    saw_corruption: bool,
}

/// Numbers that mean damaged data: a page that fails its checks, and what DBCC CHECKDB reports.
fn is_corruption(number: i32) -> bool {
    matches!(number, 824 | 825 | 2570 | 8901..=8999)
}

impl Output {
    /// Prints to `sink`.
    pub fn new(sink: Box<dyn Write>, options: &SqlOptions) -> Output {
        Output {
            sink,
            separator: options.separator.clone(),
            trim: options.trim,
            heading_rows: options.heading_rows,
            headings: Vec::new(),
            rows: 0,
            failure: None,
            batch_failed: false,
            saw_corruption: false,
        }
    }

    /// Takes one event. A failure to print is kept until [`Output::end_of_batch`].
    pub fn event(&mut self, event: &Event<'_>) {
        if self.failure.is_none() {
            self.failure = self.print(event).err();
        }
    }

    /// Prints a line that no event brought.
    ///
    /// # Errors
    /// It cannot be printed.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.sink, "{text}")?;
        self.sink.flush()
    }

    /// Flushes; answers whether the batch had an error.
    ///
    /// # Errors
    /// The first failure to print.
    pub fn end_of_batch(&mut self) -> io::Result<bool> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.sink.flush()?;
        Ok(std::mem::take(&mut self.batch_failed))
    }

    /// Whether any error so far told of damaged data.
    pub fn saw_corruption(&self) -> bool {
        self.saw_corruption
    }

    fn print(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Columns(headings) => {
                self.headings = headings.to_vec();
                self.rows = 0;
                if self.heading_rows >= 0 {
                    self.print_headings()
                } else {
                    Ok(())
                }
            }
            Event::Row(values) => self.print_row(values),
            Event::Done { rows: Some(rows) } => writeln!(self.sink, "\n({rows} rows affected)"),
            Event::Done { rows: None } => Ok(()),
            Event::Information(message) => self.print_information(message),
            Event::Error(message) => self.print_error(message),
        }
    }

    /// Characters of a column: its values' or its name's, whichever is wider.
    fn width(heading: &Heading) -> usize {
        heading.width.max(heading.name.chars().count())
    }

    fn print_headings(&mut self) -> io::Result<()> {
        let (mut names, mut lines) = (Vec::new(), Vec::new());
        for heading in &self.headings {
            let width = if self.trim {
                heading.name.chars().count()
            } else {
                Output::width(heading)
            };
            names.push(format!("{:<width$}", heading.name));
            lines.push("-".repeat(width));
        }
        writeln!(self.sink, "{}", names.join(&self.separator))?;
        writeln!(self.sink, "{}", lines.join(&self.separator))
    }

    fn print_row(&mut self, values: &[Option<String>]) -> io::Result<()> {
        if self.heading_rows > 0 && self.rows == self.heading_rows {
            self.rows = 0;
            writeln!(self.sink)?;
            self.print_headings()?;
        }
        self.rows = self.rows.saturating_add(1);
        for (index, (heading, value)) in self.headings.iter().zip(values).enumerate() {
            if index > 0 {
                self.sink.write_all(self.separator.as_bytes())?;
            }
            let value = value.as_deref().unwrap_or("NULL");
            let width = Output::width(heading);
            match (self.trim, heading.alignment) {
                (true, _) => write!(self.sink, "{}", value.trim_end())?,
                (false, Alignment::Left) => write!(self.sink, "{value:<width$}")?,
                (false, Alignment::Right) => write!(self.sink, "{value:>width$}")?,
            }
        }
        writeln!(self.sink)
    }

    /// Messages without a severity are text; the others come with their number.
    fn print_information(&mut self, message: &ServerMessage) -> io::Result<()> {
        if message.severity == 0 || message.severity == 10 {
            return writeln!(self.sink, "{}", message.text);
        }
        self.print_message(message)
    }

    fn print_error(&mut self, message: &ServerMessage) -> io::Result<()> {
        self.batch_failed = true;
        self.saw_corruption |= is_corruption(message.number);
        self.print_message(message)
    }

    fn print_message(&mut self, message: &ServerMessage) -> io::Result<()> {
        let procedure = if message.procedure.is_empty() {
            String::new()
        } else {
            format!(", Procedure {}", message.procedure)
        };
        writeln!(
            self.sink,
            "Msg {}, Level {}, State {}, Server {}{procedure}, Line {}\n{}",
            message.number, message.severity, message.state, message.server, message.line, message.text
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn printed(options: &[&str], events: &[Event<'_>]) -> (String, bool, bool) {
        let line = ["vlflab", "sql"].iter().chain(options);
        let Command::Sql(options) = Arguments::try_parse_from(line).unwrap().command else {
            panic!("not sql")
        };
        let shared = Shared::default();
        let mut output = Output::new(Box::new(shared.clone()), &options);
        events.iter().for_each(|event| output.event(event));
        let failed = output.end_of_batch().unwrap();
        let text = String::from_utf8(shared.0.lock().unwrap().clone()).unwrap();
        (text, failed, output.saw_corruption())
    }

    fn headings() -> Vec<Heading> {
        let heading = |name: &str, width, alignment| Heading {
            name: name.into(),
            width,
            alignment,
        };
        vec![heading("id", 11, Alignment::Right), heading("name", 6, Alignment::Left)]
    }

    fn message(number: i32, severity: u8) -> ServerMessage {
        ServerMessage {
            number,
            severity,
            state: 1,
            line: 3,
            server: "here".into(),
            procedure: String::new(),
            text: "What it says.".into(),
        }
    }

    #[test]
    fn a_result_set_looks_like_sqlcmds() {
        let headings = headings();
        let events = [
            Event::Columns(&headings),
            Event::Row(&[Some("1".into()), Some("abc".into())]),
            Event::Row(&[Some("20".into()), None]),
            Event::Done { rows: Some(2) },
        ];
        let expected =
            "id          name  \n----------- ------\n          1 abc   \n         20 NULL  \n\n(2 rows affected)\n";
        assert_eq!(printed(&[], &events).0, expected);
        assert_eq!(
            printed(&["-W", "-s", "|", "-h", "-1"], &events).0,
            "1|abc\n20|NULL\n\n(2 rows affected)\n"
        );
        let again = printed(&["-h", "1"], &events).0;
        assert_eq!(again.matches("id ").count(), 2);
    }

    #[test]
    fn errors_carry_their_numbers_and_fail_the_batch() {
        let (text, failed, corrupt) = printed(&[], &[Event::Error(&message(208, 16))]);
        assert_eq!(text, "Msg 208, Level 16, State 1, Server here, Line 3\nWhat it says.\n");
        assert!(failed && !corrupt);
        let (text, failed, _) = printed(&[], &[Event::Information(&message(0, 0))]);
        assert_eq!(text, "What it says.\n");
        assert!(!failed);
        assert!(printed(&[], &[Event::Error(&message(824, 24))]).2, "824 is damage");
    }
}
