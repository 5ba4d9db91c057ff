//! Result sets and messages in every output format.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::sql::variables::{self, Variables};
use lab::client::{Alignment, ColumnKind};
use std::fs;
use std::path::PathBuf;

/// A file that is removed when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("vlflab-output-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// What is printed with variables set, at a terminal of so many columns or none, and what the batch came to.
fn printed(name: &str, set: &[(&str, &str)], terminal_width: usize, events: &[Event<'_>]) -> (String, BatchEnd) {
    let file = Scratch::new(name);
    let mut variables = Variables::new(false).unwrap();
    for (name, value) in set {
        variables.put_checked(name, value).unwrap();
    }
    let mut style = Style::new(&variables, terminal_width);
    style.has_colour = false;
    style.trim = set.contains(&("trim", "1"));
    let mut output = Output::new(Sink::file(&file.0, false).unwrap(), style.clone(), None);
    output.set_style(style, variables.number(variables::ERROR_LEVEL));
    events.iter().for_each(|event| output.event(event));
    let end = output.end_of_batch().unwrap();
    (fs::read_to_string(&file.0).unwrap(), end)
}

fn headings() -> Vec<Heading> {
    let heading = |name: &str, width, alignment, kind| Heading {
        name: name.into(),
        width,
        alignment,
        kind,
    };
    vec![
        heading("id", 11, Alignment::Right, ColumnKind::Number),
        heading("name", 6, Alignment::Left, ColumnKind::Text),
    ]
}

fn message(number: i32, severity: u8) -> ServerMessage {
    ServerMessage {
        number,
        severity,
        state: 1,
        line: 3,
        server: "here".into(),
        procedure: String::new(),
        text: "What it says.".into(),
    }
}

fn row(id: &str, name: Option<&str>) -> Vec<Option<String>> {
    vec![Some(id.to_owned()), name.map(str::to_owned)]
}

/// Two rows.
fn shown(name: &str, set: &[(&str, &str)], terminal_width: usize) -> String {
    let headings = headings();
    let rows = [row("1", Some("abc")), row("20", None)];
    let events = [
        Event::Columns(&headings),
        Event::Row(&rows[0]),
        Event::Row(&rows[1]),
        Event::Done { rows: Some(2) },
    ];
    printed(name, set, terminal_width, &events).0
}

#[test]
fn a_result_set_looks_like_sqlcmds() {
    assert_eq!(
        shown("plain", &[], 0),
        "id          name  \n----------- ------\n          1 abc   \n         20 NULL  \n\n(2 rows affected)\n"
    );
    let bare = [
        ("trim", "1"),
        (variables::COLUMN_SEPARATOR, "|"),
        (variables::HEADING_ROWS, "-1"),
    ];
    assert_eq!(shown("bare", &bare, 0), "1|abc\n20|NULL\n\n(2 rows affected)\n");
    let again = shown("again", &[(variables::HEADING_ROWS, "1")], 0);
    assert_eq!(again.matches("id ").count(), 2);
    let broken = shown("broken", &[(variables::SCREEN_WIDTH, "12")], 0);
    assert!(
        broken.starts_with("id          \nname  \n----------- \n------\n"),
        "{broken}"
    );
    // The widths that were asked for count at a terminal, too.
    let narrow = shown("narrow", &[(variables::FIXED_WIDTH, "2")], 80);
    assert!(
        narrow.contains("\n          1 ab  \n") || narrow.contains("\n          1 abc "),
        "{narrow}"
    );
}

#[test]
fn at_a_terminal_columns_are_as_wide_as_their_values() {
    assert_eq!(
        shown("fit", &[], 80),
        "id name\n-- ----\n 1 abc\n20 NULL\n\n(2 rows affected)\n"
    );
    let ascii = shown("ascii", &[(variables::FORMAT, "ascii")], 80);
    assert_eq!(
        ascii,
        "+----+------+\n| id | name |\n+----+------+\n|  1 | abc  |\n| 20 | NULL |\n+----+------+\n\n(2 rows affected)\n"
    );
    let headings = headings();
    let long = row("1", Some(&"x".repeat(100)));
    let events = [
        Event::Columns(&headings),
        Event::Row(&long),
        Event::Done { rows: Some(1) },
    ];
    let cut = printed("cut", &[], 30, &events).0;
    assert!(
        cut.contains(&format!(" 1 {}…\n", "x".repeat(26))) && cut.contains(":vertical"),
        "{cut}"
    );
    let records = printed("records", &[], 12, &events).0;
    assert!(records.starts_with("id   1\nname xxx"), "{records}");
}

#[test]
fn every_format_of_two_rows() {
    for (format, expected) in [
        (
            "vertical",
            "id   1\nname abc\n\nid   20\nname NULL\n\n\n(2 rows affected)\n",
        ),
        (
            "json",
            "[\n {\"id\": 1, \"name\": \"abc\"},\n {\"id\": 20, \"name\": null}\n]\n",
        ),
        ("csv", "id,name\n1,abc\n20,\n"),
        ("md", "| id | name |\n| ---: | --- |\n| 1 | abc |\n| 20 | NULL |\n"),
    ] {
        assert_eq!(shown(format, &[(variables::FORMAT, format)], 0), expected, "{format}");
    }
}

#[test]
fn unbounded_text_is_cut_only_where_that_was_asked_for() {
    let mut headings = headings();
    headings[1].kind = ColumnKind::LargeText;
    headings[1].width = 256;
    let long = row("1", Some(&"x".repeat(300)));
    let events = [Event::Columns(&headings), Event::Row(&long)];
    let count = |set: &[(&str, &str)]| printed("large", set, 0, &events).0.matches('x').count();
    assert_eq!(count(&[]), 300);
    assert_eq!(count(&[(variables::LARGE_WIDTH, "5")]), 5);
    let unlimited = printed("unlimited", &[(variables::LARGE_WIDTH, "0")], 0, &events).0;
    assert_eq!(unlimited, format!("1 {}\n\n", "x".repeat(300)));
}

#[test]
fn errors_carry_their_numbers_and_fail_the_batch() {
    let told = |name, events: &[Event<'_>], set: &[(&str, &str)]| printed(name, set, 0, events);
    let (text, end) = told("error", &[Event::Error(&message(208, 16))], &[]);
    assert_eq!(text, "Msg 208, Level 16, State 1, Server here, Line 3\nWhat it says.\n");
    assert!(end.has_error && end.severity_max == 16);
    let (text, end) = told("print", &[Event::Information(&message(0, 0))], &[]);
    assert_eq!((text.as_str(), end.has_error), ("What it says.\n", false));
    let (text, end) = told(
        "quiet",
        &[Event::Error(&message(208, 16))],
        &[(variables::ERROR_LEVEL, "17")],
    );
    assert_eq!((text.as_str(), end.has_error), ("", true));
    let (text, _) = told(
        "heads",
        &[Event::Information(&message(0, 0))],
        &[(variables::ERROR_LEVEL, "-1")],
    );
    assert!(text.starts_with("Msg 0, Level 0"), "{text}");
    assert!(is_corruption(824) && !is_corruption(208));
}

#[test]
fn the_value_of_exit_is_the_last_rows_first_column() {
    let headings = headings();
    let (first, last) = (row("1", None), row("7", Some("x")));
    let events = [
        Event::Columns(&headings),
        Event::Row(&first),
        Event::Done { rows: Some(1) },
        Event::Columns(&headings),
        Event::Row(&first),
        Event::Row(&last),
    ];
    assert_eq!(printed("value", &[], 0, &events).1.value, Some(Some("7".to_owned())));
    assert_eq!(printed("none", &[], 0, &events[..1]).1.value, None);
}

#[test]
fn a_file_in_utf_16_keeps_characters_whole() {
    let file = Scratch::new("utf16");
    let mut sink = Sink::file(&file.0, true).unwrap();
    for byte in "é😀".as_bytes() {
        sink.write_all(&[*byte]).unwrap();
    }
    sink.flush().unwrap();
    let bytes = fs::read(&file.0).unwrap();
    assert_eq!(bytes, [0xFF, 0xFE, 0xE9, 0x00, 0x3D, 0xD8, 0x00, 0xDE]);
}
