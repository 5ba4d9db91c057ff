//! A small table: numbers to the right, text to the left, as columns of a terminal or as Markdown.

use std::fmt::Write;

use crate::html::escape;

/// On which side a column's cells stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A heading and rows of as many cells.
pub(super) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&'static str, Align)]) -> Table {
        Table {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// For a terminal, indented by two.
    pub(super) fn text(&self) -> String {
        let headings = self
            .columns
            .iter()
            .map(|column| column.0.to_owned())
            .collect::<Vec<_>>();
        let width_of = |index: usize| {
            let cells = self.rows.iter().chain([&headings]).filter_map(|row| row.get(index));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width_of).collect();
        let mut out = String::new();
        for row in [&headings].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                let padding = " ".repeat(
                    widths
                        .get(index)
                        .map_or(0, |width| width.saturating_sub(cell.chars().count())),
                );
                let right = self.columns.get(index).is_some_and(|column| column.1 == Align::Right);
                let (before, after) = if right {
                    (padding.as_str(), "")
                } else {
                    ("", padding.as_str())
                };
                let _ = write!(line, "  {before}{cell}{after}");
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
        out
    }

    /// For a browser; a cell of several words may break in its first column only.
    pub(super) fn html(&self) -> String {
        let class = |index: usize| match self.columns.get(index) {
            Some((_, Align::Right)) => " class=\"n\"",
            _ => "",
        };
        let mut out = String::from("<div class=\"card scroll\"><table><tr>");
        for (index, (heading, _)) in self.columns.iter().enumerate() {
            let _ = write!(out, "<th{}>{}</th>", class(index), escape(heading));
        }
        out.push_str("</tr>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (index, cell) in row.iter().enumerate() {
                let _ = write!(out, "<td{}>{}</td>", class(index), escape(cell));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table></div>\n");
        out
    }

    pub(super) fn markdown(&self) -> String {
        let mut out = String::from("|");
        for (heading, _) in &self.columns {
            let _ = write!(out, " {heading} |");
        }
        out.push_str("\n|");
        for (_, align) in &self.columns {
            out.push_str(if *align == Align::Right { "---:|" } else { "---|" });
        }
        out.push('\n');
        for row in &self.rows {
            out.push('|');
            for cell in row {
                let _ = write!(out, " {} |", cell.replace('|', "\\|"));
            }
            out.push('\n');
        }
        out
    }
}
