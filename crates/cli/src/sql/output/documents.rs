//! Rows for programs: JSON, CSV, Markdown. Each row is written as it arrives.

use super::style::Style;
use lab::client::{Alignment, ColumnKind, Heading};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// A result set in JSON: an array of objects.
///
/// Numbers and bits are numbers, NULL is null, everything else is text. A column without a name, or with that of another one, is called
/// by its place.
#[derive(Debug)]
pub(super) struct Json {
    names: Vec<String>,
    kinds: Vec<ColumnKind>,
    has_row: bool,
}

impl Json {
    pub(super) fn begin(headings: &[Heading], out: &mut dyn Write) -> io::Result<Json> {
        write!(out, "[")?;
        Ok(Json {
            names: unlike_names(headings),
            kinds: headings.iter().map(|heading| heading.kind).collect(),
            has_row: false,
        })
    }

    pub(super) fn row(&mut self, values: &[Option<String>], out: &mut dyn Write) -> io::Result<()> {
        let between = if self.has_row { ",\n " } else { "\n " };
        self.has_row = true;
        write!(out, "{between}{{")?;
        for (place, ((name, kind), value)) in self.names.iter().zip(&self.kinds).zip(values).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(
                out,
                "{comma}{}: {}",
                json_text(name),
                json_value(value.as_deref(), *kind)
            )?;
        }
        write!(out, "}}")
    }

    pub(super) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}]", if self.has_row { "\n" } else { "" })
    }
}

/// The names with those that are empty or taken replaced by the column's place.
fn unlike_names(headings: &[Heading]) -> Vec<String> {
    let given: BTreeSet<&str> = headings.iter().map(|heading| heading.name.as_str()).collect();
    let mut taken = BTreeSet::new();
    let mut names = Vec::with_capacity(headings.len());
    for (place, heading) in headings.iter().enumerate() {
        let mut name = heading.name.clone();
        if name.is_empty() || !taken.insert(name.clone()) {
            name = format!("column{}", place + 1);
            while given.contains(name.as_str()) || !taken.insert(name.clone()) {
                name.push('_');
            }
        }
        names.push(name);
    }
    names
}

fn json_value(value: Option<&str>, kind: ColumnKind) -> String {
    let Some(value) = value else {
        return "null".to_owned();
    };
    let is_number = matches!(kind, ColumnKind::Number | ColumnKind::Bit);
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_plain = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+'));
    if !is_number || !is_plain {
        return json_text(value);
    }
    // T-SQL leaves the zero before the point out; JSON has it.
    let sign = if value.starts_with('-') { "-" } else { "" };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{digits}")
}

fn json_text(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for letter in text.chars() {
        match letter {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            letter if u32::from(letter) < 0x20 => written.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => written.push(letter),
        }
    }
    written.push('"');
    written
}

/// A result set as comma-separated values (RFC 4180, lines end by a line feed). NULL is nothing, an empty text is `""`.
#[derive(Debug)]
pub(super) struct Csv {
    separator: String,
}

impl Csv {
    pub(super) fn begin(headings: &[Heading], style: &Style, out: &mut dyn Write) -> io::Result<Csv> {
        let separator = match style.is_separator_given {
            true => style.separator.clone(),
            false => ",".to_owned(),
        };
        let csv = Csv { separator };
        if style.heading_rows >= 0 {
            let names: Vec<Option<String>> = headings.iter().map(|heading| Some(heading.name.clone())).collect();
            csv.row(&names, out)?;
        }
        Ok(csv)
    }

    pub(super) fn row(&self, values: &[Option<String>], out: &mut dyn Write) -> io::Result<()> {
        let cell = |value: &Option<String>| value.as_ref().map_or(String::new(), |value| self.cell(value));
        let cells: Vec<String> = values.iter().map(cell).collect();
        writeln!(out, "{}", cells.join(&self.separator))
    }

    fn cell(&self, value: &str) -> String {
        let needs_quotes = value.is_empty()
            || value.contains(['"', '\n', '\r'])
            || value.contains(&self.separator)
            || value.starts_with(' ')
            || value.ends_with(' ');
        match needs_quotes {
            true => format!("\"{}\"", value.replace('"', "\"\"")),
            false => value.to_owned(),
        }
    }
}

/// A result set as a table in Markdown.
#[derive(Debug)]
pub(super) struct Markdown;

impl Markdown {
    pub(super) fn begin(headings: &[Heading], out: &mut dyn Write) -> io::Result<Markdown> {
        let names: Vec<Option<String>> = headings.iter().map(|heading| Some(heading.name.clone())).collect();
        Markdown.row(&names, out)?;
        let rules = headings.iter().map(|heading| match heading.alignment {
            Alignment::Left => " --- |",
            Alignment::Right => " ---: |",
        });
        writeln!(out, "|{}", rules.collect::<String>())?;
        Ok(Markdown)
    }

    pub(super) fn row(&self, values: &[Option<String>], out: &mut dyn Write) -> io::Result<()> {
        let cell = |value: &Option<String>| {
            let text = value.as_deref().unwrap_or("NULL");
            let text = text.replace('\\', "\\\\").replace('|', "\\|");
            let text = text.replace("\r\n", "<br>").replace(['\n', '\r'], "<br>");
            format!(" {text} |")
        };
        writeln!(out, "|{}", values.iter().map(cell).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_numbers_as_numbers_and_one_name_for_each_column() {
        for (value, kind, written) in [
            (Some("-.50"), ColumnKind::Number, "-0.50"),
            (Some("12"), ColumnKind::Number, "12"),
            (Some("inf"), ColumnKind::Number, "\"inf\""),
            (Some("1"), ColumnKind::Bit, "1"),
            (Some("12"), ColumnKind::Text, "\"12\""),
            (Some("a\"\\\u{1}\n"), ColumnKind::Text, "\"a\\\"\\\\\\u0001\\n\""),
            (None, ColumnKind::Text, "null"),
        ] {
            assert_eq!(json_value(value, kind), written);
        }
        let heading = |name: &str| Heading {
            name: name.to_owned(),
            width: 1,
            alignment: Alignment::Left,
            kind: ColumnKind::Text,
        };
        let headings = ["a", "", "a", "column3", ""].map(heading);
        assert_eq!(
            unlike_names(&headings),
            ["a", "column2", "column3_", "column3", "column5"]
        );
    }

    #[test]
    fn csv_quotes_what_would_be_read_otherwise() {
        let csv = Csv {
            separator: ",".to_owned(),
        };
        for (value, written) in [
            ("a", "a"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            (" a", "\" a\""),
        ] {
            assert_eq!(csv.cell(value), written);
        }
    }
}
