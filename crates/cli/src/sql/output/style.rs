//! The style of rows: formats, widths, separators. All settings come from scripting variables, which the command line's switches set.

use crate::sql::variables::{self, Variables};
use lab::client::{ColumnKind, Heading};

/// A form of result sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) enum Format {
    /// sqlcmd's: columns as wide as their types.
    Horizontal,
    /// A line for each value, with the column's name.
    Vertical,
    /// As Horizontal, as wide as the values, within the terminal's width; vertical where that is too narrow.
    Fit,
    /// A table drawn with `+`, `-` and `|`.
    Ascii,
    /// An array of objects for each result set.
    Json,
    Csv,
    /// Markdown's table.
    Markdown,
}

impl Format {
    /// The names of `--format`, of `:format` and of SQLCMDFORMAT; empty chooses by the destination of the rows.
    ///
    /// # Errors
    /// There is none of that name.
    pub(in crate::sql) fn of_name(name: &str) -> Result<Option<Format>, String> {
        Ok(Some(match name.to_ascii_lowercase().as_str() {
            "" | "auto" => return Ok(None),
            "horiz" | "horizontal" => Format::Horizontal,
            "vert" | "vertical" => Format::Vertical,
            "fit" => Format::Fit,
            "ascii" => Format::Ascii,
            "json" => Format::Json,
            "csv" => Format::Csv,
            "md" | "markdown" => Format::Markdown,
            _ => {
                return Err(format!(
                    "{name:?} is not a format; formats are auto, horizontal, vertical, fit, ascii, json, csv and md"
                ));
            }
        }))
    }

    /// Whether it is for programs: then nothing but rows goes where rows go.
    pub(super) fn is_document(self) -> bool {
        matches!(self, Format::Json | Format::Csv | Format::Markdown)
    }
}

/// What `-k` does to control characters of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::sql) enum Controls {
    #[default]
    Keep,
    Remove,
    /// Each becomes a space.
    Replace,
    /// Those that follow one another become one space.
    ReplaceRuns,
}

impl Controls {
    /// The text as it is shown.
    pub(super) fn applied(self, text: &str) -> String {
        let mut was_control = false;
        let mut shown = String::with_capacity(text.len());
        for letter in text.chars() {
            let is_control = letter.is_ascii_control();
            match (is_control, self) {
                (false, _) | (true, Controls::Keep) => shown.push(letter),
                (true, Controls::Remove) => {}
                (true, Controls::ReplaceRuns) if was_control => {}
                (true, _) => shown.push(' '),
            }
            was_control = is_control;
        }
        shown
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sql) struct Style {
    pub(super) format: Format,
    pub(super) separator: String,
    /// Whether the separator is anybody's wish.
    pub(super) is_separator_given: bool,
    /// Rows after which the headings come again; 0 never, below 0 no headings at all.
    pub(super) heading_rows: i32,
    /// Characters of a line, after which it is broken; 0 never.
    pub(super) screen_width: usize,
    /// The most that columns of bounded text take; 0 is what their type needs.
    pub(super) fixed_width: usize,
    /// The most that columns of unbounded text take; 0 means no limit; so does None, but then they are padded to sqlcmd's
    /// 256.
    pub(super) large_width: Option<usize>,
    /// Columns of the terminal; 0 where the rows go to none.
    pub(super) terminal_width: usize,
    pub(in crate::sql) trim: bool,
    pub(in crate::sql) controls: Controls,
    /// Whether NULL is shown dim, so that it differs from a text of these letters.
    pub(super) has_colour: bool,
}

/// Columns to fill up to are no wider (go-sqlcmd, `maxPadWidth`).
const PADDING_MAX: usize = 8_000;

impl Style {
    /// What the variables say, for rows that go to a terminal of so many columns, or to none.
    pub(in crate::sql) fn new(variables: &Variables, terminal_width: usize) -> Style {
        let number = |name| usize::try_from(variables.number(name)).unwrap_or_default();
        let widths = [
            variables::SCREEN_WIDTH,
            variables::FIXED_WIDTH,
            variables::LARGE_WIDTH,
            variables::COLUMN_SEPARATOR,
            variables::HEADING_ROWS,
        ];
        let has_widths = widths.iter().any(|name| variables.explicit(name).is_some());
        // sqlcmd's widths, if asked for, hold at a terminal too.
        let suited = match terminal_width > 0 && !has_widths {
            true => Format::Fit,
            false => Format::Horizontal,
        };
        let format = Format::of_name(variables.own(variables::FORMAT)).ok().flatten();
        Style {
            format: format.unwrap_or(suited),
            separator: variables.own(variables::COLUMN_SEPARATOR).to_owned(),
            is_separator_given: variables.explicit(variables::COLUMN_SEPARATOR).is_some(),
            heading_rows: i32::try_from(variables.number(variables::HEADING_ROWS)).unwrap_or(i32::MAX),
            screen_width: number(variables::SCREEN_WIDTH),
            fixed_width: number(variables::FIXED_WIDTH),
            large_width: variables
                .explicit(variables::LARGE_WIDTH)
                .map(|_| number(variables::LARGE_WIDTH)),
            terminal_width,
            trim: false,
            controls: Controls::Keep,
            has_colour: terminal_width > 0 && std::env::var_os("NO_COLOR").is_none(),
        }
    }

    /// Whether rows are for programs.
    pub(in crate::sql) fn is_document(&self) -> bool {
        self.format.is_document()
    }

    /// Whether columns have names above them. Without a limit for unbounded text sqlcmd leaves them out.
    pub(super) fn has_headings(&self) -> bool {
        self.heading_rows >= 0 && self.large_width != Some(0)
    }

    /// Characters of a column.
    pub(super) fn width(&self, heading: &Heading) -> usize {
        let name = heading.name.chars().count();
        match (heading.kind, self.large_width) {
            (_, Some(0)) => 0,
            (ColumnKind::LargeText | ColumnKind::LargeBinary, Some(width)) => width,
            (ColumnKind::Text | ColumnKind::Binary | ColumnKind::Variant, _) if self.fixed_width > 0 => {
                heading.width.min(self.fixed_width).max(name)
            }
            _ => heading.width.max(name).min(PADDING_MAX),
        }
    }

    /// Characters after which a value of a column is cut, where that was asked for.
    pub(super) fn cut(&self, heading: &Heading) -> Option<usize> {
        match (heading.kind, self.large_width) {
            (ColumnKind::LargeText | ColumnKind::LargeBinary, width) => width.filter(|width| *width > 0),
            (ColumnKind::Text | ColumnKind::Binary | ColumnKind::Variant, _) if self.fixed_width > 0 => {
                Some(self.width(heading).max(self.fixed_width.min(heading.width)))
            }
            _ => None,
        }
    }

    /// A value as it is shown, for a column.
    pub(super) fn shown(&self, value: Option<&str>, heading: &Heading) -> String {
        let Some(value) = value else {
            return "NULL".to_owned();
        };
        let is_text = matches!(
            heading.kind,
            ColumnKind::Text | ColumnKind::LargeText | ColumnKind::Variant
        );
        let text = match is_text && self.controls != Controls::Keep {
            true => self.controls.applied(value),
            false => value.to_owned(),
        };
        match self.cut(heading) {
            Some(width) if text.chars().count() > width => text.chars().take(width).collect(),
            _ => text,
        }
    }
}
