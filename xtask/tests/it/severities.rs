//! Each of SQL Server's error numbers has one severity, wherever the sources raise it: clients and `TRY ... CATCH` decide by both.
//! And the rows of the tables of errors (`engine::messages!`), all of them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use xtask::rust_files;

/// Numbers whose severity the statement or the place says: RAISERROR's, and damage of the log, which ends a session that meets it
/// and is a finding of DBCC CHECKDB. A number that is too large is 1007 of the syntax in a batch (15), and of the data in a json (16).
/// Columns behind a permission that has none are 1020 of the syntax (15), and of the object for a synonym (16).
const SEVERAL: [u32; 5] = [1007, 1020, 9004, 18_054, 50_000];

/// What stands before a number and its severity. A syntax error has severity 15 where no other is written before it.
const RAISED_BY: [&str; 4] = ["Error::new(", ".inform(", ") = ", "Self::new("];

/// A number at the start of `text`, with `_` between its digits or not, and what is behind it.
fn number(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|character: char| !character.is_ascii_digit() && character != '_')
        .unwrap_or(text.len());
    let digits = text[..end].replace('_', "");
    Some((digits.parse().ok()?, &text[end..]))
}

/// The severity that `severity: 16, ..` gives the syntax error behind it; 15 without.
fn severity_before(text: &str) -> u32 {
    let nearby = text.rsplit(['{', '}']).next().unwrap_or_default();
    let written = nearby.split("severity: ").nth(1).and_then(number);
    written.map_or(15, |(severity, _)| severity)
}

/// Every number with its severity, as the words of one source raise them. 10 is sent as 0, and both are written.
fn raised(source: &str) -> Vec<(u32, u32)> {
    let words = source.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for before in RAISED_BY {
        for (at, _) in words.match_indices(before) {
            let Some((error, rest)) = number(&words[at + before.len()..]) else {
                continue;
            };
            let is_syntax = before == "Self::new(" || words[..at].ends_with("Parse");
            let written = rest.strip_prefix(',').and_then(number);
            let severity = match (is_syntax, written) {
                (true, _) => Some(severity_before(&words[..at])),
                (false, Some((severity, rest))) if rest.starts_with(',') => Some(severity),
                (false, _) => None,
            };
            found.extend(severity.map(|severity| (error, if severity == 0 { 10 } else { severity })));
        }
    }
    found
}

#[test]
fn a_number_has_one_severity() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../crates");
    let mut seen: BTreeMap<u32, BTreeMap<u32, String>> = BTreeMap::new();
    for path in rust_files(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        if inside.components().nth(1).is_none_or(|part| part.as_os_str() != "src") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let own = source.split("#[cfg(test)]").next().unwrap_or_default();
        for (error, severity) in raised(own) {
            let places = seen.entry(error).or_default();
            places.entry(severity).or_insert_with(|| inside.display().to_string());
        }
    }
    assert!(
        seen.len() > 400,
        "only {} numbers found: the reader is broken",
        seen.len()
    );
    let several: Vec<_> = seen
        .iter()
        .filter(|(error, places)| places.len() > 1 && !SEVERAL.contains(error))
        .collect();
    assert!(several.is_empty(), "with several severities: {several:#?}");
}

#[test]
fn numbers_are_read_as_they_are_written() {
    let source = "
        Error::new(\n 8_115,\n 16, 2, text)
        ParseError { severity: 16, state: 3, ..ParseError::new(2526, line, text) }
        ParseError::new(102, line, text)
        name(of: &str) = 207, 16, 1, \"Invalid column name\";
        self.inform(5703, 10, 1, text)
        context(database: &str) = 5701, 0, 1, \"Changed database context to '{database}'.\";
        Error::new(number, severity, 1, text)";
    let mut read = raised(source);
    read.sort_unstable();
    let expected = [(102, 15), (207, 16), (2526, 16), (5701, 10), (5703, 10), (8115, 16)];
    assert_eq!(read, expected);
}

/// A row of a table of errors.
#[derive(Debug)]
struct Row<'s> {
    /// The documentation above it, without its slashes.
    documentation: Vec<&'s str>,
    name: &'s str,
    arguments: Vec<&'s str>,
    number: u32,
    severity: u32,
    state: &'s str,
    sentence: &'s str,
}

/// The rows of the tables in a source.
fn rows(source: &str) -> Vec<Row<'_>> {
    let mut found = Vec::new();
    for table in source.split("messages! {").skip(1) {
        let mut documentation = Vec::new();
        for line in table.lines().skip(1).map(str::trim) {
            if let Some(comment) = line.strip_prefix("///") {
                documentation.push(comment.trim());
            } else if line == "}" {
                break;
            } else {
                found.push(row(line, std::mem::take(&mut documentation)));
            }
        }
    }
    found
}

fn row<'s>(line: &'s str, documentation: Vec<&'s str>) -> Row<'s> {
    let parts = || {
        let (name, rest) = line.split_once('(')?;
        let (arguments, rest) = rest.split_once(") = ")?;
        let (error, rest) = number(rest)?;
        let (severity, rest) = number(rest.strip_prefix(',')?)?;
        let (state, rest) = rest.strip_prefix(", ")?.split_once(", \"")?;
        let arguments = arguments.split(", ").filter(|argument| !argument.is_empty());
        Some(Row {
            documentation,
            name,
            arguments: arguments.map(|argument| argument.split(':').next().unwrap()).collect(),
            number: error,
            severity,
            state,
            sentence: rest.strip_suffix("\";")?,
        })
    };
    parts().unwrap_or_else(|| panic!("no row of a table of errors: {line}"))
}

/// What is wrong with a row.
fn faults(row: &Row<'_>) -> Vec<&'static str> {
    let documentation = row.documentation.join(" ");
    let is_own = row.number >= 50_000;
    let used = |argument: &&str| {
        let begins = [format!("{{{argument}}}"), format!("{{{argument}:")];
        row.state == *argument || begins.iter().any(|begin| row.sentence.contains(begin))
    };
    let checks = [
        (
            documentation.starts_with(&row.number.to_string()) || is_own,
            "its documentation begins with its number",
        ),
        (row.severity <= 25, "a severity is at most 25"),
        (
            row.state.parse::<u8>().is_ok() || row.arguments.contains(&row.state),
            "its state is a number or an argument",
        ),
        (row.arguments.iter().all(used), "each argument is used"),
        (
            !row.sentence.is_empty() && !row.sentence.contains("{}"),
            "each place in its sentence has a name",
        ),
    ];
    checks
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, rule)| rule)
        .collect()
}

#[test]
fn every_row_of_the_tables_of_errors_is_whole_and_stands_once() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../crates");
    let mut all = 0;
    for path in rust_files(&root) {
        let source = std::fs::read_to_string(&path).unwrap();
        let source = source.replace("macro_rules! messages {", "");
        let rows = rows(&source);
        all += rows.len();
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(faults(row), Vec::<&str>::new(), "{} in {}", row.name, path.display());
            let twin = rows[..place]
                .iter()
                .find(|other| (other.number, other.state, other.sentence) == (row.number, row.state, row.sentence));
            assert!(
                twin.is_none(),
                "{} is {} again in {}",
                row.name,
                twin.unwrap().name,
                path.display()
            );
        }
    }
    assert!(all > 400, "only {all} rows found: the reader is broken");
}

#[test]
fn a_row_that_is_not_whole_is_found() {
    let source = "messages! { pub fn;
        /// 207: no such column.
        right(name: &str, state: u8) = 207, 16, state, \"Invalid column name '{name}'.\";
        /// No such column.
        unnamed(name: &str) = 207, 26, 1, \"Invalid column name '{name}'.\";
        /// 207: no such column.
        unused(name: &str, more: u8) = 207, 16, other, \"Invalid column name '{name}' {}.\";
    }";
    let found: Vec<usize> = rows(source).iter().map(|row| faults(row).len()).collect();
    assert_eq!(found, [0, 2, 3]);
}
