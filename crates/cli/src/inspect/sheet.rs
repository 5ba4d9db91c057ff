//! Rows under headings, as a table for the terminal, CSV, or a JSON array of objects.

use super::database::csv_cell;
use crate::exit::Failure;
use advisor::Format;
use serde_json::{Map, Value as Json};
use std::fmt::Display;
use std::io::{self, Write};

/// Characters of a cell in a table; longer ones are cut, in a table only.
const CELL_CHARACTERS_MAX: usize = 40;

/// A cell in each of the forms.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub text: String,
    pub csv: String,
    pub json: Json,
}

impl Field {
    pub(super) fn text(text: impl Display) -> Field {
        let text = text.to_string();
        Field {
            csv: csv_cell(&text),
            json: Json::String(text.clone()),
            text,
        }
    }

    pub(super) fn number(number: u64) -> Field {
        Field {
            text: number.to_string(),
            csv: number.to_string(),
            json: Json::from(number),
        }
    }
}

/// Headings and rows.
pub(super) struct Sheet {
    headings: Vec<String>,
    /// Columns of a user's table begin here: in JSON they are an object of their own, `row`, so that no name of theirs meets one of ours.
    row_from: Option<usize>,
    rows: Vec<Vec<Field>>,
}

impl Sheet {
    pub(super) fn new(headings: &[&str]) -> Sheet {
        let mut sheet = Sheet {
            headings: Vec::new(),
            row_from: None,
            rows: Vec::new(),
        };
        sheet.add_columns(headings);
        sheet
    }

    pub(super) fn add_columns(&mut self, headings: &[&str]) {
        self.headings
            .extend(headings.iter().map(|heading| (*heading).to_owned()));
    }

    /// The columns of a user's table, which end the headings.
    pub(super) fn add_row_columns(&mut self, headings: &[&str]) {
        self.row_from = Some(self.headings.len());
        self.add_columns(headings);
    }

    pub(super) fn row(&mut self, fields: Vec<Field>) {
        self.rows.push(fields);
    }

    /// Writes it to the standard output.
    pub(super) fn write(&self, format: Format) -> Result<(), Failure> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match format {
            Format::Csv => self.write_csv(&mut out)?,
            Format::Json => self.write_json(&mut out)?,
            Format::Table | Format::Markdown => self.write_table(&mut out)?,
        }
        Ok(out.flush()?)
    }

    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let headings: Vec<String> = self.headings.iter().map(|heading| csv_cell(heading)).collect();
        writeln!(out, "{}", headings.join(","))?;
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(|field| field.csv.as_str()).collect();
            writeln!(out, "{}", cells.join(","))?;
        }
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let own = self.row_from.unwrap_or(self.headings.len());
        let members = |row: &[Field], headings: &[String]| -> Map<String, Json> {
            let values = row.iter().map(|field| field.json.clone());
            headings.iter().cloned().zip(values).collect()
        };
        let object = |row: &Vec<Field>| {
            let (mine, users) = row.split_at(own.min(row.len()));
            let mut object = members(mine, &self.headings);
            if self.row_from.is_some() {
                object.insert("row".to_owned(), Json::Object(members(users, &self.headings[own..])));
            }
            Json::Object(object)
        };
        let objects: Vec<Json> = self.rows.iter().map(object).collect();
        serde_json::to_writer_pretty(&mut *out, &objects).map_err(io::Error::from)?;
        writeln!(out)
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let lines: Vec<Vec<String>> = std::iter::once(self.headings.clone())
            .chain(
                self.rows
                    .iter()
                    .map(|row| row.iter().map(|field| shown(&field.text)).collect()),
            )
            .collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        for line in &lines {
            let cells: Vec<String> = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        writeln!(out, "{} rows", self.rows.len())
    }
}

/// A cell on one line, of bounded width.
fn shown(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    match line.chars().count() <= CELL_CHARACTERS_MAX {
        true => line,
        false => line.chars().take(CELL_CHARACTERS_MAX - 1).chain(['…']).collect(),
    }
}
