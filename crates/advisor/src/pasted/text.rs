//! Rows of plain text, whatever a tool puts around them.

use super::columns::{self, Column};
use super::rows::{Row, row_of};
use super::{NOTHING, PastedError, error, numbers};

/// Every row of the text.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, PastedError> {
    let mut reader = TableReader::default();
    let mut number = 0;
    for (index, line) in text.lines().enumerate() {
        number = index + 1;
        let line = without_frames(line);
        let line = without_prompts(&line);
        if line.is_empty() || is_ruler(line) {
            reader.end_of_record(number)?;
        } else if !is_message(line) {
            reader.line(line, number)?;
        }
    }
    reader.finish(number)
}

/// A table drawn with lines of characters, as one drawn with bars.
fn without_frames(line: &str) -> String {
    let plain = |c: char| match c {
        '│' | '║' | '┃' => '|',
        '\u{2500}'..='\u{257f}' => '-',
        other => other,
    };
    line.chars().map(plain).collect()
}

/// The line behind the prompts of sqlcmd: `1> 2> FileId ...`.
fn without_prompts(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((number, behind)) = rest.split_once('>') {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        rest = behind.trim_start();
    }
    rest
}

/// A line under a heading, or between rows: `----- ----`, `+----+`, `|---:|`, `-[ RECORD 2 ]-`.
fn is_ruler(line: &str) -> bool {
    let is_record = line.starts_with('-') && line.to_ascii_lowercase().contains("record");
    is_record || line.chars().all(|c| "-:=+|,;\t *".contains(c))
}

/// What is said around a result: commands, counts of rows, what DBCC says when it is done, in any language.
fn is_message(line: &str) -> bool {
    let lower = line.to_lowercase();
    let begins = [
        "(",
        "msg ",
        "go ",
        "use ",
        "select ",
        "exec",
        "ps ",
        "changed database context",
        "warning",
    ];
    lower == "go" || lower.contains("dbcc") || begins.iter().any(|word| lower.starts_with(word))
}

/// The cells of a line, and what separates them; `None` = blanks.
fn cells_of(line: &str) -> (Vec<String>, Option<char>) {
    let separator = ['\t', '|', ';', ','].into_iter().find(|c| line.contains(*c));
    let Some(separator) = separator else {
        return (line.split_whitespace().map(str::to_owned).collect(), None);
    };
    let line = if separator == '|' { line.trim_matches('|') } else { line };
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c == separator && !is_quoted => cells.push(String::new()),
            c => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    (
        cells.into_iter().map(|cell| cell.trim().to_owned()).collect(),
        Some(separator),
    )
}

/// Makes rows of what one line or one table row holds after the other.
#[derive(Default)]
pub(super) struct TableReader {
    columns: Option<Vec<Option<Column>>>,
    /// The line before was a heading: another one continues it.
    in_heading: bool,
    /// The begin of a row that goes on in the next line.
    broken: Vec<String>,
    /// Values that came with their names.
    record: Vec<(Column, String)>,
    rows: Vec<Row>,
}

impl TableReader {
    /// A line of text that is neither empty nor around the table.
    fn line(&mut self, line: &str, number: usize) -> Result<(), PastedError> {
        if let Some((name, value)) = named_value(line) {
            self.value(name, value);
            return Ok(());
        }
        let (mut cells, separator) = cells_of(line);
        // The value of a column that is not known, among those that are.
        if !self.record.is_empty() && cells.len() == 2 {
            return Ok(());
        }
        if separator.is_none() && !self.is_heading(&cells) {
            let known = self.columns.as_ref().map_or(0, Vec::len);
            let begins = self.broken.is_empty() && cells.len() < known;
            let is_number = |cell: &String| numbers::whole(cell).is_some();
            if begins && !cells.first().is_some_and(is_number) {
                // Words around the table.
                return Ok(());
            }
            self.broken.append(&mut cells);
            if self.broken.len() < known {
                return Ok(());
            }
            cells = std::mem::take(&mut self.broken);
        }
        if separator == Some(',') {
            self.join_decimal_comma(&mut cells);
        }
        self.cells(&cells, number)
    }

    fn is_heading(&self, cells: &[String]) -> bool {
        let names = cells.iter().filter(|cell| columns::by_name(cell).is_some()).count();
        let numbers = cells.iter().filter(|cell| numbers::whole(cell).is_some()).count();
        numbers == 0 && (names >= 2 || names == 1 && (self.in_heading || cells.len() == 1))
    }

    /// `5,2,8192,1,93,...`: where columns are separated by commas, a decimal comma makes one cell too many.
    fn join_decimal_comma(&self, cells: &mut Vec<String>) {
        let columns = match &self.columns {
            Some(columns) => columns.clone(),
            // In the view's output an LSN stands in the ninth column; with one cell too many, in the tenth.
            None if cells.len() == 11 && cells.get(8).is_some_and(|cell| !cell.contains(':')) => columns::by_count(10)
                .unwrap_or_default()
                .into_iter()
                .map(Some)
                .collect(),
            None => return,
        };
        let place = columns.iter().position(|column| *column == Some(Column::Megabytes));
        if let Some(place) = place.filter(|place| cells.len() == columns.len() + 1 && place + 1 < cells.len()) {
            let decimals = cells.remove(place + 1);
            if let Some(cell) = cells.get_mut(place) {
                *cell = format!("{cell},{decimals}");
            }
        }
    }

    /// The cells of one row, or of a heading.
    pub(super) fn cells(&mut self, cells: &[String], number: usize) -> Result<(), PastedError> {
        if cells.iter().all(String::is_empty) {
            return Ok(());
        }
        if self.is_heading(cells) {
            let names = cells.iter().map(|cell| columns::by_name(cell));
            match &mut self.columns {
                Some(columns) if self.in_heading => columns.extend(names),
                columns => *columns = Some(names.collect()),
            }
            self.in_heading = true;
            return Ok(());
        }
        self.in_heading = false;
        let columns = match &self.columns {
            Some(columns) => columns,
            None => match columns::by_count(cells.len()) {
                Some(by_count) => self.columns.insert(by_count.into_iter().map(Some).collect()),
                None => {
                    return error(number, format!("{} columns without a heading; {NOTHING}", cells.len()));
                }
            },
        };
        let filled = cells
            .iter()
            .rposition(|cell| !cell.is_empty())
            .map_or(0, |last| last + 1);
        if filled > columns.len() {
            return error(
                number,
                format!(
                    "{filled} columns, and {} in the heading; quote numbers that contain the separator",
                    columns.len()
                ),
            );
        }
        let named = columns
            .iter()
            .zip(cells)
            .filter_map(|(column, cell)| Some(((*column)?, cell.as_str())));
        let row = row_of(named, number)?;
        self.rows.push(row);
        Ok(())
    }

    /// A value with its name. Answers whether the name is a column's.
    pub(super) fn value(&mut self, name: &str, value: &str) -> bool {
        let Some(column) = columns::by_name(name) else {
            return false;
        };
        self.record.push((column, value.to_owned()));
        true
    }

    /// The values that came with their names make a row.
    pub(super) fn end_of_record(&mut self, number: usize) -> Result<(), PastedError> {
        let record = std::mem::take(&mut self.record);
        // One value by itself is a word of the text around.
        if record.len() >= 2 {
            let cells = record.iter().map(|(column, value)| (*column, value.as_str()));
            self.rows.push(row_of(cells, number)?);
        }
        Ok(())
    }

    pub(super) fn finish(mut self, number: usize) -> Result<Vec<Row>, PastedError> {
        self.end_of_record(number)?;
        if !self.broken.is_empty() {
            return error(number, "the last row is cut off: it has fewer columns than the heading");
        }
        Ok(self.rows)
    }
}

/// `FileId : 2`, `FileId | 2` or `FileId 2`: a name and its value. With a colon any name will do, otherwise one of a column.
fn named_value(line: &str) -> Option<(&str, &str)> {
    let at = line.find([':', '|', '\t']).or_else(|| line.find(char::is_whitespace))?;
    let (name, behind) = (line[..at].trim(), &line[at..]);
    let separator = behind.chars().next()?;
    let behind = &behind[separator.len_utf8()..];
    let value = behind.trim();
    let is_name =
        name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || "_ ".contains(c));
    if separator == ':' {
        let stands_apart = behind.is_empty() || behind.starts_with(char::is_whitespace);
        return (is_name && stands_apart).then_some((name, value));
    }
    let is_one = !value.is_empty() && !value.contains(['|', '\t', ',', ';', ' ']);
    (columns::by_name(name).is_some() && is_one && columns::by_name(value).is_none()).then_some((name, value))
}
