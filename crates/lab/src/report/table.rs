//! Tables as data, so that HTML and Markdown say the same.
//!
//! ```text
//!            |  published        |  measured, classic |   <- groups
//!            |  bad  good  ratio |  bad  good  ratio  |   <- columns
//! filling    |  561   114  4.9   |   ...              |   <- the first cell of a row names it
//! ```

use super::format::escape;

/// What a cell is to the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Look {
    /// Set to the right.
    #[default]
    Figure,
    /// Set to the left, broken into lines where needed.
    Text,
    /// A ratio, which stands out.
    Ratio,
    /// Good news.
    Held,
    /// Bad news.
    Missed,
    /// How much it hurts, 0 to 3.
    Heat(u8),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    /// Neighbours of the same group have a common head.
    pub group: String,
    /// Its own head.
    pub name: String,
    /// How its head is set.
    pub look: Look,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// The figure or the text.
    pub text: String,
    /// Below it, smaller: the spread.
    pub below: String,
    pub look: Look,
}

/// A row, or a line that heads the rows after it.
#[derive(Debug, Clone)]
pub(super) enum Row {
    /// A heading across all columns.
    Heading(String),
    /// The cells; the first names the row.
    Cells(Vec<Cell>),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// What it shows, for readers who cannot see it.
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// Shown in place of a missing figure.
pub(super) const NO_FIGURE: &str = "–";

fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        kept.get(index - 1).copied().unwrap_or(true)
    });
}

impl Cell {
    pub(super) fn figure(text: impl Into<String>) -> Cell {
        Cell::look(text, Look::Figure)
    }

    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell::look(text, Look::Text)
    }

    pub(super) fn look(text: impl Into<String>, look: Look) -> Cell {
        Cell {
            text: text.into(),
            below: String::new(),
            look,
        }
    }
}

impl Table {
    /// A table without groups; names of text columns begin with `<`, as their cells are set to the left.
    pub(super) fn plain(caption: impl Into<String>, names: &[&str]) -> Table {
        let columns = names.iter().map(|name| Column {
            group: String::new(),
            name: name.trim_start_matches('<').into(),
            look: if name.starts_with('<') {
                Look::Text
            } else {
                Look::Figure
            },
        });
        Table {
            caption: caption.into(),
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row::Cells(cells));
    }

    /// Without the columns that have no figure in any row: dashes alone tell nothing.
    pub(super) fn without_empty_columns(mut self) -> Table {
        let is_empty = |index: usize| {
            let mut cells = self.rows.iter().filter_map(|row| match row {
                Row::Heading(_) => None,
                Row::Cells(cells) => cells.get(index),
            });
            cells.all(|cell| cell.below.is_empty() && ["", NO_FIGURE].contains(&cell.text.as_str()))
        };
        let mut kept: Vec<bool> = (0..self.columns.len())
            .map(|index| index == 0 || !is_empty(index))
            .collect();
        if self.rows.is_empty() {
            kept.fill(true);
        }
        retain(&mut self.columns, &kept);
        for row in &mut self.rows {
            if let Row::Cells(cells) = row {
                retain(cells, &kept);
            }
        }
        self
    }

    /// As HTML, in a box that scrolls by itself when the page is too narrow.
    pub(super) fn html(&self) -> String {
        let mut html = format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table>\n<caption class=\"unseen\">{0}</caption>\n<thead>",
            escape(&self.caption)
        );
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            html.push_str(&self.group_head());
        }
        html.push_str("<tr>");
        for (index, column) in self.columns.iter().enumerate() {
            let class = class(column.look, self.begins_group(index));
            html.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(&column.name)));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str(&self.row_html(row));
        }
        html + "</tbody></table></div>\n"
    }

    fn begins_group(&self, index: usize) -> bool {
        let group = |index: usize| self.columns.get(index).map(|column| column.group.as_str());
        index > 0 && group(index) != group(index - 1)
    }

    fn group_head(&self) -> String {
        let mut html = String::from("<tr>");
        for group in self.columns.chunk_by(|left, right| left.group == right.group) {
            let name = group.first().map_or("", |column| column.group.as_str());
            if name.is_empty() {
                html.push_str(&format!("<td colspan=\"{}\"></td>", group.len()));
            } else {
                html.push_str(&format!(
                    "<th scope=\"colgroup\" class=\"group first\" colspan=\"{}\">{}</th>",
                    group.len(),
                    escape(name)
                ));
            }
        }
        html + "</tr>\n"
    }

    fn row_html(&self, row: &Row) -> String {
        let cells = match row {
            Row::Heading(text) => {
                return format!(
                    "<tr class=\"heading\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n",
                    self.columns.len(),
                    escape(text)
                );
            }
            Row::Cells(cells) => cells,
        };
        let mut html = String::from("<tr>");
        for (index, cell) in cells.iter().enumerate() {
            let text = escape(&cell.text);
            let below = if cell.below.is_empty() {
                String::new()
            } else {
                format!("<br><span class=\"range\">{}</span>", escape(&cell.below))
            };
            if index == 0 {
                html.push_str(&format!("<th scope=\"row\">{text}{below}</th>"));
            } else {
                let class = class(cell.look, self.begins_group(index));
                html.push_str(&format!("<td{class}>{text}{below}</td>"));
            }
        }
        html + "</tr>\n"
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = String::from("|");
        for column in &self.columns {
            let name = [column.group.as_str(), column.name.as_str()];
            let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
            text.push_str(&format!(" {} |", markdown_text(&name.join(": "))));
        }
        text.push_str("\n|");
        for (index, column) in self.columns.iter().enumerate() {
            let left = index == 0 || column.look == Look::Text;
            text.push_str(if left { "---|" } else { "--:|" });
        }
        text.push('\n');
        for row in &self.rows {
            match row {
                Row::Heading(heading) => text.push_str(&format!(
                    "| **{}** |{}\n",
                    markdown_text(heading),
                    " |".repeat(self.columns.len().saturating_sub(1))
                )),
                Row::Cells(cells) => text.push_str(&markdown_row(cells)),
            }
        }
        text + "\n"
    }
}

fn class(look: Look, first: bool) -> String {
    let look = match look {
        Look::Figure => "",
        Look::Text => "text",
        Look::Ratio => "ratio",
        Look::Held => "text held",
        Look::Missed => "text missed",
        Look::Heat(0) => "heat h0",
        Look::Heat(1) => "heat h1",
        Look::Heat(2) => "heat h2",
        Look::Heat(_) => "heat h3",
    };
    match (look, first) {
        ("", false) => String::new(),
        ("", true) => " class=\"first\"".into(),
        (look, false) => format!(" class=\"{look}\""),
        (look, true) => format!(" class=\"{look} first\""),
    }
}

fn markdown_row(cells: &[Cell]) -> String {
    let mut text = String::from("|");
    for cell in cells {
        let below = if cell.below.is_empty() {
            String::new()
        } else {
            format!(" ({})", cell.below)
        };
        text.push_str(&format!(" {} |", markdown_text(&(cell.text.clone() + &below))));
    }
    text + "\n"
}

/// Text that Markdown shows as it is, on one line.
pub(super) fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' => {
                out.push('\\');
                out.push(character);
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::plain("what & why", &["<name", "value", "<remark"]);
        if let Some(column) = table.columns.get_mut(1) {
            column.group = "ours".into();
        }
        table.rows.push(Row::Heading("all".into()));
        table.push(vec![
            Cell::text("a|b"),
            Cell {
                below: "1–2".into(),
                ..Cell::figure("1.5")
            },
            Cell::look("<missed>", Look::Missed),
        ]);
        table
    }

    #[test]
    fn html_escapes_and_groups() {
        let html = table().html();
        for part in [
            "aria-label=\"what &amp; why\"",
            "<th scope=\"colgroup\" class=\"group first\" colspan=\"1\">ours</th>",
            "<th scope=\"rowgroup\" colspan=\"3\">all</th>",
            "<td class=\"first\">1.5<br><span class=\"range\">1–2</span></td>",
            "<td class=\"text missed first\">&lt;missed&gt;</td>",
        ] {
            assert!(html.contains(part), "{part}\n{html}");
        }
    }

    #[test]
    fn columns_without_a_figure_vanish() {
        let mut table = Table::plain("c", &["<name", "a", "b", "<c"]);
        for (first, third) in [("x", ""), ("y", "–")] {
            table.push(vec![
                Cell::text(first),
                Cell::figure("–"),
                Cell::figure("1"),
                Cell::text(third),
            ]);
        }
        let markdown = table.without_empty_columns().markdown();
        assert_eq!(markdown, "| name | b |\n|---|--:|\n| x | 1 |\n| y | 1 |\n\n");
    }

    #[test]
    fn markdown_keeps_its_columns() {
        let expected =
            "| name | ours: value | remark |\n|---|--:|---|\n| **all** | | |\n| a\\|b | 1.5 (1–2) | \\<missed\\> |\n\n";
        assert_eq!(table().markdown(), expected);
    }
}
