//! The facts of SQL Server's documentation about types, operators, functions, options and targets (`tests/reference/*.txt`),
//! each with its page, beside what the engine answers.
//!
//! Each file of `tests/reference` holds cases:
//!
//! ```text
//! @ 2025, in the first line of a file about that version of SQL Server; all others are about 2022
//! == title, and the address of the page
//! -- the fact, in the words of the page or short of them
//! > a batch
//! | its further lines
//! : the types of the columns, where they matter
//! = a row, its cells joined by " | "
//! ! the number of an error
//! ```
//! Batches of one file run in one session, one after the other. Results must be all there is: every row, every error, in order.
//! With `UPDATE_REFERENCE=1` the files are written again with what was answered: read the difference before you keep it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::fmt::Write as _;
use std::path::Path;

use engine::types::{Length, SqlType, Value, float_text};
use tsql::scalar::convert::convert;
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};
use vlf::ServerVersion;

/// Writes answers in the form of the files.
#[derive(Default)]
struct Answers {
    text: String,
    types: Vec<SqlType>,
}

impl ResultSink for Answers {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.types = columns.iter().map(|column| column.sql_type).collect();
        let types: Vec<String> = self.types.iter().map(ToString::to_string).collect();
        writeln!(self.text, ": {}", types.join(" | ")).unwrap();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        let cells = row.iter().zip(&self.types);
        let cells: Vec<String> = cells.map(|(value, sql_type)| cell(value, *sql_type)).collect();
        writeln!(self.text, "= {}", cells.join(" | ")).unwrap();
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        if message.severity > 10 {
            writeln!(self.text, "! {}", message.number).unwrap();
        }
        Ok(())
    }

    fn database_changed(&mut self, _from: &str, _to: &str) {}
}

fn cell(value: &Value, sql_type: SqlType) -> String {
    assert!(value.belongs_to(sql_type), "{value:?} in a {sql_type} column");
    let text = match value {
        Value::Null => return "NULL".to_owned(),
        Value::Float(number) => return float_text(*number, 15),
        Value::Real(number) => return float_text(f64::from(*number), 7),
        // The bytes of a node, too.
        Value::Binary(_) => {
            let bytes = SqlType::VarBinary(Length::Max);
            convert(value, bytes, SqlType::VarChar(Length::Max), Some(1))
        }
        Value::Money(_) | Value::SmallMoney(_) => convert(value, sql_type, SqlType::VarChar(Length::Max), Some(2)),
        _ if sql_type.is_temporal() => convert(value, sql_type, SqlType::VarChar(Length::Max), Some(121)),
        _ => convert(value, sql_type, SqlType::NVarChar(Length::Max), None),
    };
    text.unwrap().as_str().unwrap().to_owned()
}

/// A file with what the product answers in place of what stands there; types only where the file has them.
fn answered(file: &str) -> String {
    let version = match file.lines().next() {
        Some("@ 2025") => ServerVersion::V2025,
        _ => ServerVersion::V2022,
    };
    let instance = transcript::instance_of(version);
    let mut session = transcript::session(&instance);
    let mut written = String::new();
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix('>') else {
            writeln!(written, "{line}").unwrap();
            continue;
        };
        let mut batch = first.trim_start().to_owned();
        writeln!(written, "{line}").unwrap();
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            batch.push('\n');
            batch.push_str(line.trim_start_matches('|').trim_start());
            writeln!(written, "{line}").unwrap();
        }
        let mut has_types = false;
        while let Some(line) = lines.next_if(|line| line.starts_with([':', '=', '!'])) {
            has_types |= line.starts_with(':');
        }
        let mut answers = Answers::default();
        session.execute(&batch, &mut answers);
        for line in answers.text.lines().filter(|line| has_types || !line.starts_with(':')) {
            writeln!(written, "{}", line.trim_end()).unwrap();
        }
    }
    written
}

#[test]
fn the_product_answers_as_the_reference_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let (mut wrong, mut cases) = (Vec::new(), 0);
    for path in files {
        let expected = std::fs::read_to_string(&path).unwrap();
        cases += expected.lines().filter(|line| line.starts_with(['=', '!'])).count();
        let found = answered(&expected);
        if std::env::var_os("UPDATE_REFERENCE").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let differing = expected
            .lines()
            .zip(found.lines())
            .position(|(left, right)| left != right);
        if let Some(line) = differing {
            let shown = |text: &str| {
                text.lines()
                    .skip(line.saturating_sub(3))
                    .take(6)
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            let (expected, found) = (shown(&expected), shown(&found));
            wrong.push(format!(
                "{name}, line {}:\n--- expected\n{expected}\n--- found\n{found}",
                line + 1
            ));
        } else if expected != found {
            wrong.push(format!(
                "{name}: {} lines, found {}",
                expected.lines().count(),
                found.lines().count()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    println!("{cases} answers");
}
