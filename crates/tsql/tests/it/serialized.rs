//! FOR JSON and FOR XML as a client gets them, and texts of JSON that were not made to be read.
//!
//! Sources: sql-docs, "Use FOR JSON output in SQL Server and in client apps" (the column's name, pieces of 2,033 characters), "JSON path
//! expressions".
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::rows;
use engine::types::Value;
use transcript::{instance, session};
use tsql::session::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

/// The name of the first column, and its values.
#[derive(Default)]
struct Pieces {
    name: String,
    texts: Vec<String>,
}

impl ResultSink for Pieces {
    fn columns(&mut self, columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.name.clone_from(&columns[0].name);
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        self.texts.push(row[0].as_str().unwrap().to_owned());
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        assert!(message.severity <= 10, "{}", message.text);
        Ok(())
    }

    fn database_changed(&mut self, _from: &str, _to: &str) {}
}

#[test]
fn a_long_text_is_sent_in_pieces() {
    let instance = instance();
    let mut one = session(&instance);
    for (form, name, whole) in [
        (
            "json path",
            "JSON_F52E2B61-18A1-11d1-B105-00805F49916B",
            format!("[{{\"a\":\"{}\"}}]", "x".repeat(5_000)),
        ),
        (
            "xml path",
            "XML_F52E2B61-18A1-11d1-B105-00805F49916B",
            format!("<row><a>{}</a></row>", "x".repeat(5_000)),
        ),
    ] {
        let mut pieces = Pieces::default();
        one.execute(&format!("select replicate('x', 5000) as a for {form}"), &mut pieces);
        assert_eq!(pieces.name, name);
        let lengths: Vec<usize> = pieces.texts.iter().map(String::len).collect();
        assert_eq!(lengths, [2_033, 2_033, whole.len() - 4_066], "{form}");
        assert_eq!(pieces.texts.concat(), whole);
    }
    // A character of two units is in one piece.
    let mut pieces = Pieces::default();
    let batch = "select cast(replicate(N'x', 2025) as nvarchar(max)) + N'\u{1F600}y' as a for json path";
    one.execute(batch, &mut pieces);
    let units: Vec<usize> = pieces.texts.iter().map(|text| text.encode_utf16().count()).collect();
    assert_eq!(units, [2_032, 6]);
    // A value of type xml is one value, without a name.
    let mut typed = Pieces::default();
    one.execute("select replicate('x', 5000) as a for xml path, type", &mut typed);
    assert_eq!((typed.name.as_str(), typed.texts.len()), ("", 1));
}

#[test]
fn the_plan_shows_who_writes_and_who_splits() {
    let instance = instance();
    let mut one = session(&instance);
    rows(&mut one, "set showplan_text on");
    let plan = rows(&mut one, "select value from string_split('a,b', ',') for json path");
    assert!(plan.contains("UDX"), "{plan}");
    assert!(
        plan.contains("Table-valued function(OBJECT:([sys].[string_split]))"),
        "{plan}"
    );
}

/// A generator of small numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'p>(&mut self, parts: &[&'p str]) -> &'p str {
        parts[self.below(parts.len())]
    }
}

/// Texts put together of pieces of JSON, right and wrong: each is refused by a number or answered, and what a change of JSON makes is JSON.
#[test]
fn any_text_is_answered_or_refused() {
    const TEXTS: [&str; 16] = [
        "{",
        "}",
        "[",
        "]",
        "\"a\"",
        ":",
        ",",
        "1",
        "-0.5e3",
        "null",
        "true",
        "\"\\u00e9\"",
        "\"b c\"",
        " ",
        "{\"a\":[1,{\"b\":2}]}",
        "[]",
    ];
    const PATHS: [&str; 12] = [
        "$", ".a", ".b", "[0]", "[1]", ".\"b c\"", "lax ", "strict ", "append ", ".", "[", "x",
    ];
    let instance = instance();
    let mut one = session(&instance);
    let mut numbers = Numbers(7);
    let (mut answered, mut changed) = (0, 0);
    for round in 0..2_000 {
        let mut text = String::new();
        if round % 2 == 0 {
            text.push_str(numbers.pick(&["{\"a\":[1,{\"b\":2}],\"b c\":{}}", "[[1], {\"b\" : null}]", "{}", "[]"]));
        } else {
            for _ in 0..=numbers.below(9) {
                text.push_str(numbers.pick(&TEXTS));
            }
        }
        let mut path = numbers.pick(&["", "", "", "lax ", "strict ", "append "]).to_owned();
        path.push_str(numbers.pick(&["$", "$", "$", ""]));
        for _ in 0..numbers.below(4) {
            path.push_str(numbers.pick(&PATHS));
        }
        let value = numbers.pick(&["1", "'x\"'", "null", "json_query('[1]')"]);
        let batch = format!(
            "declare @t nvarchar(max) = N'{text}', @p nvarchar(200) = N'{path}' select isjson(@t) select isjson(json_modify(@t, @p, {value})) \
             select json_value(@t, @p) select json_query(@t, @p) select count(*) from openjson(@t, @p)"
        );
        let found = answers::answers(&mut one, &batch);
        for (number, _, words) in &found.errors {
            assert!((13_600..13_700).contains(number), "{batch}: {number} {words}");
        }
        answered += usize::from(found.errors.is_empty());
        // Without errors the second answer is that of the changed text.
        if found.errors.is_empty() && found.rows[0] == "1" {
            assert_eq!(found.rows[1], "1", "{batch}");
            changed += 1;
        }
    }
    assert!(
        answered > 100 && changed > 100,
        "{answered} answered, {changed} changed"
    );
}

/// Deep nesting is refused by a number, not by the stack.
#[test]
fn json_deeper_than_128_is_refused() {
    let instance = instance();
    let mut one = session(&instance);
    let deep = |levels: usize| format!("select isjson('{}{}')", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(rows(&mut one, &deep(128)), "1");
    assert_eq!(rows(&mut one, &deep(100_000)), "0");
}
