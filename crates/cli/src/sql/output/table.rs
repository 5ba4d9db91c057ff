//! Columns as wide as their values: the first rows, at most [`ROWS_KEPT_MAX`] and [`BYTES_KEPT_MAX`], are buffered to find the widths;
//! later values are cut to these widths.
//!
//! If a table is wider than the terminal, its widest columns are narrowed, and cut values end with `…`. If columns would become narrower
//! than [`COLUMN_WIDTH_MIN`], rows are shown as records instead.

use super::lines::{Records, visible};
use super::style::{Format, Style};
use lab::client::{Alignment, Heading};
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ROWS_KEPT_MAX: usize = 1_000;
const BYTES_KEPT_MAX: usize = 4 << 20;
/// No column is narrowed to less.
const COLUMN_WIDTH_MIN: usize = 12;
/// Without a terminal, no column is wider.
const COLUMN_WIDTH_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Table {
    headings: Vec<Heading>,
    kept: Vec<Vec<Option<String>>>,
    kept_bytes: usize,
    shape: Option<Shape>,
    has_cut: bool,
}

/// How the rows are shown, once that is known.
#[derive(Debug)]
enum Shape {
    Columns(Vec<usize>),
    Records(Records),
}

impl Table {
    pub(super) fn begin(headings: &[Heading]) -> Table {
        Table {
            headings: headings.to_vec(),
            kept: Vec::new(),
            kept_bytes: 0,
            shape: None,
            has_cut: false,
        }
    }

    pub(super) fn row(&mut self, values: &[Option<String>], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        if self.shape.is_some() {
            return self.print_row(values, style, out);
        }
        self.kept_bytes += values.iter().flatten().map(String::len).sum::<usize>();
        self.kept.push(values.to_vec());
        match self.kept.len() >= ROWS_KEPT_MAX || self.kept_bytes >= BYTES_KEPT_MAX {
            true => self.settle(style, out),
            false => Ok(()),
        }
    }

    /// Prints what was kept; the widths are settled by that.
    pub(super) fn settle(&mut self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        if self.shape.is_some() {
            return Ok(());
        }
        let kept = std::mem::take(&mut self.kept);
        let shape = self.shape_of(&kept, style);
        if let Shape::Columns(widths) = &shape {
            self.print_head(widths, style, out)?;
        }
        self.shape = Some(shape);
        kept.iter().try_for_each(|values| self.print_row(values, style, out))
    }

    pub(super) fn end(&mut self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        self.settle(style, out)?;
        if let (Format::Ascii, Some(Shape::Columns(widths))) = (style.format, &self.shape) {
            writeln!(out, "{}", ascii_rule(widths))?;
        }
        if self.has_cut {
            writeln!(out, "(Values are cut to the screen; :vertical shows them whole.)")?;
        }
        Ok(())
    }

    fn shape_of(&self, rows: &[Vec<Option<String>>], style: &Style) -> Shape {
        let widest = |(place, heading): (usize, &Heading)| {
            let values = rows.iter().filter_map(|row| row.get(place));
            let width = |value: &Option<String>| value.as_ref().map_or(4, |value| visible(value, false).width());
            let name = visible(&heading.name, false).width().max(1);
            values.map(width).max().unwrap_or(0).max(name)
        };
        let mut widths: Vec<usize> = self.headings.iter().enumerate().map(widest).collect();
        let (edge, between) = match style.format {
            Format::Ascii => (4, 3),
            _ => (0, style.separator.width()),
        };
        let screen = match (style.screen_width, style.terminal_width) {
            (0, 0) => {
                widths
                    .iter_mut()
                    .for_each(|width| *width = (*width).min(COLUMN_WIDTH_MAX));
                return Shape::Columns(widths);
            }
            (0, terminal) => terminal,
            (screen, _) => screen,
        };
        let room = screen.saturating_sub(edge + between * widths.len().saturating_sub(1));
        match narrow(&mut widths, room) {
            true => Shape::Columns(widths),
            false => Shape::Records(Records::begin(&self.headings)),
        }
    }

    fn print_head(&self, widths: &[usize], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        if style.format == Format::Ascii {
            writeln!(out, "{}", ascii_rule(widths))?;
        }
        if !style.has_headings() {
            return Ok(());
        }
        let names = self.headings.iter().zip(widths);
        let names: Vec<String> = names
            .map(|(heading, width)| padded(&cut(&visible(&heading.name, false), *width).0, *width, Alignment::Left))
            .collect();
        print_cells(&names, style, out)?;
        match style.format {
            Format::Ascii => writeln!(out, "{}", ascii_rule(widths)),
            _ => {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                print_cells(&rules, style, out)
            }
        }
    }

    fn print_row(&mut self, values: &[Option<String>], style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let widths = match &mut self.shape {
            Some(Shape::Records(records)) => return records.row(values, style, out),
            Some(Shape::Columns(widths)) => widths,
            None => return Ok(()),
        };
        let mut cells = Vec::with_capacity(widths.len());
        for ((heading, width), value) in self.headings.iter().zip(widths).zip(values) {
            let Some(value) = value else {
                let blanks = " ".repeat(width.saturating_sub(4));
                cells.push(match heading.alignment {
                    Alignment::Left => style.null() + &blanks,
                    Alignment::Right => blanks + &style.null(),
                });
                continue;
            };
            let (text, is_cut) = cut(&visible(&style.controls.applied(value), false), *width);
            self.has_cut |= is_cut;
            cells.push(padded(&text, *width, heading.alignment));
        }
        print_cells(&cells, style, out)
    }
}

fn print_cells(cells: &[String], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    match style.format {
        Format::Ascii => writeln!(out, "| {} |", cells.join(" | ")),
        _ => writeln!(out, "{}", cells.join(&style.separator).trim_end()),
    }
}

fn ascii_rule(widths: &[usize]) -> String {
    widths
        .iter()
        .fold("+".to_owned(), |rule, width| rule + &"-".repeat(width + 2) + "+")
}

/// Makes the widest columns narrower until all fit into `room`; false where they cannot.
fn narrow(widths: &mut [usize], room: usize) -> bool {
    loop {
        let sum: usize = widths.iter().sum();
        if sum <= room {
            return true;
        }
        let widest = widths.iter().copied().max().unwrap_or(0);
        if widest <= COLUMN_WIDTH_MIN {
            return false;
        }
        // All that are the widest go down to the next one, or as far as is needed.
        let count = widths.iter().filter(|width| **width == widest).count();
        let next = widths
            .iter()
            .copied()
            .filter(|width| *width < widest)
            .max()
            .unwrap_or(0);
        let step = (widest - next)
            .min((sum - room).div_ceil(count))
            .min(widest - COLUMN_WIDTH_MIN);
        widths
            .iter_mut()
            .filter(|width| **width == widest)
            .for_each(|width| *width -= step);
    }
}

/// The text in so many columns of the screen, and whether something is missing.
fn cut(text: &str, width: usize) -> (String, bool) {
    if text.width() <= width {
        return (text.to_owned(), false);
    }
    let mut shown = String::new();
    let mut room = width.saturating_sub(1);
    for letter in text.chars() {
        let Some(left) = room.checked_sub(letter.width().unwrap_or(0)) else {
            break;
        };
        room = left;
        shown.push(letter);
    }
    shown.push('…');
    (shown, true)
}

fn padded(text: &str, width: usize, alignment: Alignment) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    match alignment {
        Alignment::Left => format!("{text}{blanks}"),
        Alignment::Right => format!("{blanks}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_room_first() {
        for (widths, room, narrowed) in [
            (vec![5, 10], 20, Some(vec![5, 10])),
            (vec![5, 100], 40, Some(vec![5, 35])),
            (vec![80, 100, 3], 63, Some(vec![30, 30, 3])),
            (vec![20, 20, 20], 36, Some(vec![12, 12, 12])),
            (vec![20, 20, 20], 35, None),
            (vec![10, 10], 15, None),
        ] {
            let mut got = widths.clone();
            assert_eq!(narrow(&mut got, room).then_some(got), narrowed, "{widths:?} in {room}");
        }
    }

    #[test]
    fn cutting_counts_columns_of_the_screen() {
        assert_eq!(cut("abc", 3), ("abc".to_owned(), false));
        assert_eq!(cut("abcd", 3), ("ab…".to_owned(), true));
        // These take two columns each.
        assert_eq!(cut("漢字", 3), ("漢…".to_owned(), true));
        assert_eq!(visible("a\u{1b}[2J\tb\n", false), "a␛[2J␉b␊");
    }
}
