//! Rows as sqlcmd shows them: horizontal, or a line for each value. Each row is printed as it arrives, without buffering.

use super::style::Style;
use lab::client::{Alignment, Heading};
use std::io::{self, Write};

/// Rows across.
#[derive(Debug)]
pub(super) struct Lines {
    headings: Vec<Heading>,
    rows: i32,
}

impl Lines {
    pub(super) fn begin(headings: &[Heading], style: &Style, out: &mut dyn Write) -> io::Result<Lines> {
        let lines = Lines {
            headings: headings.to_vec(),
            rows: 0,
        };
        if style.has_headings() {
            lines.print_headings(style, out)?;
        }
        Ok(lines)
    }

    fn print_headings(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let (mut names, mut rules) = (Vec::new(), Vec::new());
        for heading in &self.headings {
            let name = heading.name.chars().count();
            let width = match style.trim {
                // sqlcmd draws a line of one dash below no name.
                true => name.max(1),
                false => style.width(heading),
            };
            let name: String = match style.trim {
                true => heading.name.clone(),
                false => heading.name.chars().take(width).collect(),
            };
            names.push(format!("{name:<width$}"));
            rules.push("-".repeat(width));
        }
        line(&names.join(&style.separator), style, out)?;
        line(&rules.join(&style.separator), style, out)
    }

    pub(super) fn row(&mut self, values: &[Option<String>], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        if style.heading_rows > 0 && self.rows == style.heading_rows && style.has_headings() {
            self.rows = 0;
            writeln!(out)?;
            self.print_headings(style, out)?;
        }
        self.rows = self.rows.saturating_add(1);
        let mut text = String::new();
        for (index, (heading, value)) in self.headings.iter().zip(values).enumerate() {
            if index > 0 {
                text.push_str(&style.separator);
            }
            let value = style.shown(value.as_deref(), heading);
            let width = style.width(heading);
            match (style.trim, heading.alignment) {
                (true, _) => text.push_str(value.trim_end()),
                (false, Alignment::Left) => text.push_str(&format!("{value:<width$}")),
                (false, Alignment::Right) => text.push_str(&format!("{value:>width$}")),
            }
        }
        line(&text, style, out)
    }
}

/// A line, broken where it is wider than the screen was said to be.
pub(super) fn line(text: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if style.screen_width == 0 {
        return writeln!(out, "{text}");
    }
    let mut column = 0;
    for letter in text.chars() {
        if column == style.screen_width && letter != '\n' {
            writeln!(out)?;
            column = 0;
        }
        column = if letter == '\n' { 0 } else { column + 1 };
        write!(out, "{letter}")?;
    }
    writeln!(out)
}

/// A line for each value: the column's name, then the value. A blank line follows each row.
#[derive(Debug)]
pub(super) struct Records {
    headings: Vec<Heading>,
    name_width: usize,
}

impl Records {
    pub(super) fn begin(headings: &[Heading]) -> Records {
        let names = headings.iter().map(|heading| heading.name.chars().count());
        Records {
            headings: headings.to_vec(),
            name_width: names.max().unwrap_or(0),
        }
    }

    pub(super) fn row(&mut self, values: &[Option<String>], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        for (heading, value) in self.headings.iter().zip(values) {
            let shown = style.shown(value.as_deref(), heading);
            let shown = match (style.terminal_width > 0, value) {
                (true, Some(_)) => visible(&shown, true),
                (true, None) => style.null(),
                (false, _) => shown,
            };
            let width = self.name_width;
            match style.has_headings() {
                true => line(&format!("{:<width$} {shown}", heading.name), style, out)?,
                false => line(&shown, style, out)?,
            }
        }
        writeln!(out)
    }
}

impl Style {
    /// NULL at a terminal.
    pub(super) fn null(&self) -> String {
        match self.has_colour {
            true => "\x1b[2mNULL\x1b[0m".to_owned(),
            false => "NULL".to_owned(),
        }
    }
}

/// The text with control characters as pictures of them, so that no value of a table steers the terminal. Line breaks may stay.
pub(super) fn visible(text: &str, keeps_lines: bool) -> String {
    let picture = |letter: char| match letter {
        '\n' if keeps_lines => '\n',
        '\u{7f}' => '\u{2421}',
        letter if letter.is_ascii_control() => char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}'),
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    text.chars().map(picture).collect()
}
