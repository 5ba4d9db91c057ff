//! Each of SQL Server's error numbers has one severity, wherever the sources raise it: clients and `TRY ... CATCH` decide by
//! both.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use xtask::rust_files;

/// Numbers whose severity the statement or the place says: RAISERROR's, and damage of the log, which ends a session that meets it
/// and is a finding of DBCC CHECKDB.
const SEVERAL: [u32; 3] = [9004, 18_054, 50_000];

/// What stands before a number and its severity. A syntax error has severity 15 where no other is written before it.
const RAISED_BY: [&str; 5] = ["Error::new(", " notice(", ".inform(", ") = ", "Self::new("];

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
        notice(5701, 0, state, text)
        Error::new(number, severity, 1, text)";
    let mut read = raised(source);
    read.sort_unstable();
    let expected = [(102, 15), (207, 16), (2526, 16), (5701, 10), (5703, 10), (8115, 16)];
    assert_eq!(read, expected);
}
