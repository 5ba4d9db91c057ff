//! A folder as the destination: the script in two files, and a file of rows for each table.
//!
//! ```text
//! FOLDER/before-data.sql   tables and their prerequisites
//! FOLDER/data/SCHEMA.TABLE.csv or .parquet
//! FOLDER/after-data.sql    indexes, constraints, modules
//! ```
//! CSV is RFC 4180 with a line of names and LF: NULL is an empty field, an empty string is `""`. Bytes are hexadecimal with the prefix
//! `0x`, dates and times ISO 8601.

use super::catalog::{Column, Table};
use super::script::Statement;
use super::sums::{ColumnSums, Sums, is_exact_number};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a column of a file of rows holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    Bit,
    /// Up to 64 bits.
    Whole,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Real,
    Date,
    /// Of a day; digits of a second.
    Time {
        scale: u8,
    },
    /// Date and time without an offset; digits of a second.
    Moment {
        scale: u8,
    },
    /// Also identifiers, moments with an offset, XML.
    Text,
    /// `0x` and digits.
    Bytes,
}

/// A column of a file of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataColumn {
    pub name: String,
    pub kind: DataKind,
}

/// A file that rows are written to, one after the other.
pub trait RowFile {
    /// Adds a row, in the text forms of [`DataKind`].
    ///
    /// # Errors
    /// A sentence.
    fn row(&mut self, values: &[Option<String>]) -> Result<(), String>;

    /// Ends the file; it is whole and durable then.
    ///
    /// # Errors
    /// A sentence.
    fn finish(self: Box<Self>) -> Result<(), String>;
}

/// Makes a file of rows at a path.
pub type MakeFile = dyn Fn(&Path, &[DataColumn]) -> Result<Box<dyn RowFile>, String> + Sync;

pub(super) fn data_column(column: &Column) -> DataColumn {
    let kind = match column.base.as_str() {
        "bit" => DataKind::Bit,
        "tinyint" | "smallint" | "int" | "bigint" => DataKind::Whole,
        "money" => DataKind::Decimal {
            precision: 19,
            scale: 4,
        },
        "smallmoney" => DataKind::Decimal {
            precision: 10,
            scale: 4,
        },
        "decimal" | "numeric" => DataKind::Decimal {
            precision: column.precision,
            scale: column.scale,
        },
        "float" | "real" => DataKind::Real,
        "date" => DataKind::Date,
        "time" => DataKind::Time { scale: column.scale },
        "datetime2" => DataKind::Moment { scale: column.scale },
        "datetime" => DataKind::Moment { scale: 3 },
        "smalldatetime" => DataKind::Moment { scale: 0 },
        "binary" | "varbinary" | "image" | "hierarchyid" | "geometry" | "geography" => DataKind::Bytes,
        _ => DataKind::Text,
    };
    DataColumn {
        name: column.name.clone(),
        kind,
    }
}

/// `data/SCHEMA.TABLE.EXTENSION`; what file systems mind is written as `%XX`, and so is a dot, so that no two tables share a file.
pub(super) fn path_of(folder: &Path, table: &Table, extension: &str) -> PathBuf {
    let safe = |name: &str| -> String {
        let mut text = String::new();
        for byte in name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b' ' => text.push(char::from(byte)),
                other => text += &format!("%{other:02X}"),
            }
        }
        text
    };
    let name = format!("{}.{}.{extension}", safe(&table.schema), safe(&table.plain_name));
    folder.join("data").join(name)
}

/// Counts and sums of what is written: of columns of numbers, sums too.
pub(super) struct Counter {
    sums: Sums,
    /// Of numbers: the sum in units of the column's last digit.
    totals: Vec<Option<i128>>,
    scales: Vec<u8>,
}

impl Counter {
    pub(super) fn new(columns: &[&Column]) -> Counter {
        let scale = |column: &&Column| match column.base.as_str() {
            "money" | "smallmoney" => 4,
            "decimal" | "numeric" => column.scale,
            _ => 0,
        };
        let named = |column: &&Column| ColumnSums {
            name: column.name.clone(),
            ..ColumnSums::default()
        };
        Counter {
            sums: Sums {
                rows: 0,
                columns: columns.iter().map(named).collect(),
            },
            totals: columns
                .iter()
                .map(|column| is_exact_number(column).then_some(0))
                .collect(),
            scales: columns.iter().map(scale).collect(),
        }
    }

    pub(super) fn add(&mut self, values: &[Option<String>]) {
        self.sums.rows += 1;
        for (index, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            if let Some(column) = self.sums.columns.get_mut(index) {
                column.values += 1;
            }
            if let Some(Some(total)) = self.totals.get_mut(index) {
                let digits: String = value.chars().filter(|letter| *letter != '.').collect();
                *total += digits.parse::<i128>().unwrap_or_default();
            }
        }
    }

    pub(super) fn finish(mut self) -> Sums {
        for ((column, total), scale) in self.sums.columns.iter_mut().zip(&self.totals).zip(&self.scales) {
            if let Some(total) = total.filter(|_| column.values > 0) {
                column.sum = Some(crate::client::scaled(total, *scale));
            }
        }
        self.sums
    }
}

/// What a server says of a table, reduced to what was counted here.
pub(super) fn comparable(mut sums: Sums, columns: &[&Column]) -> Sums {
    for (of, column) in sums.columns.iter_mut().zip(columns) {
        of.bytes = None;
        if !is_exact_number(column) {
            of.sum = None;
        }
    }
    sums
}

/// Values as text files have them: a digit before the point, bytes and identifiers as they are.
pub(super) fn tidy(columns: &[DataColumn], values: &mut [Option<String>]) {
    for (column, value) in columns.iter().zip(values) {
        let Some(text) = value.as_mut() else { continue };
        if matches!(column.kind, DataKind::Decimal { .. }) {
            if text.starts_with('.') {
                text.insert(0, '0');
            } else if text.starts_with("-.") {
                text.insert(1, '0');
            }
        }
    }
}

/// A file of comma-separated values, which appears whole.
pub struct CsvFile {
    path: PathBuf,
    beside: PathBuf,
    out: BufWriter<File>,
}

impl CsvFile {
    /// Begins one with its line of names.
    ///
    /// # Errors
    /// A sentence: it cannot be written.
    pub fn create(path: &Path, columns: &[DataColumn]) -> Result<Box<dyn RowFile>, String> {
        let beside = path.with_extension("new");
        let file = File::create(&beside).map_err(|error| format!("{}: {error}", beside.display()))?;
        let mut file = CsvFile {
            path: path.to_owned(),
            beside,
            out: BufWriter::new(file),
        };
        let names: Vec<Option<String>> = columns.iter().map(|column| Some(column.name.clone())).collect();
        file.row(&names)?;
        Ok(Box::new(file))
    }
}

impl RowFile for CsvFile {
    fn row(&mut self, values: &[Option<String>]) -> Result<(), String> {
        let mut line = String::new();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            match value.as_deref() {
                None => {}
                Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                    line += &format!("\"{}\"", text.replace('"', "\"\""));
                }
                Some(text) => line += text,
            }
        }
        line.push('\n');
        let written = self.out.write_all(line.as_bytes());
        written.map_err(|error| format!("{}: {error}", self.beside.display()))
    }

    fn finish(mut self: Box<Self>) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        self.out.flush().map_err(failed)?;
        self.out.get_ref().sync_all().map_err(failed)?;
        std::fs::rename(&self.beside, &self.path).map_err(failed)
    }
}

/// A script of batches.
pub(super) fn script_text(statements: &[Statement]) -> String {
    let mut text = String::new();
    let mut settings = None;
    for statement in statements {
        if settings != Some(statement.settings) {
            let word = |is: bool| if is { "ON" } else { "OFF" };
            let (nulls, identifiers) = statement.settings;
            text += &format!(
                "SET ANSI_NULLS {}\nGO\nSET QUOTED_IDENTIFIER {}\nGO\n",
                word(nulls),
                word(identifiers)
            );
            settings = Some(statement.settings);
        }
        text += &format!("{}\nGO\n", statement.text.trim_end());
    }
    text
}
