//! JSON_VALUE, JSON_QUERY and ISJSON: paths, modes, and text that is not JSON.
//!
//! Sources: sql-docs, "JSON_VALUE", "JSON_QUERY", "ISJSON", "JSON path expressions"; Microsoft's list of "Database Engine events and errors".
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows};
use transcript::{instance, session};

const TEXT: &str =
    r#"{"a": 1.50, "b": {"c d": ["x", {"e": "t\u00e9\n\"q\""}]}, "t": true, "n": null, "a": 2, "m": [[1], {}]}"#;

#[test]
fn a_path_leads_to_a_value_or_to_nothing() {
    let instance = instance();
    let mut one = session(&instance);
    for (path, value, query) in [
        ("$.a", "1.50", "NULL"),
        ("lax $.a", "1.50", "NULL"),
        (r#"$.b."c d"[0]"#, "x", "NULL"),
        (r#"$.b."c d"[1].e"#, "t\u{e9}\n\"q\"", "NULL"),
        ("$.t", "true", "NULL"),
        ("$.n", "NULL", "NULL"),
        ("$.m", "NULL", "[[1], {}]"),
        ("$.m[0]", "NULL", "[1]"),
        ("$.m[0][0]", "1", "NULL"),
        ("$.m[1]", "NULL", "{}"),
        ("$.m[7]", "NULL", "NULL"),
        ("$.a.b", "NULL", "NULL"),
        ("$.A", "NULL", "NULL"),
    ] {
        let batch = format!("select json_value(N'{TEXT}', N'{path}')");
        assert_eq!(rows(&mut one, &batch), value, "{path}");
        let batch = format!("select json_query(N'{TEXT}', N'{path}')");
        assert_eq!(rows(&mut one, &batch), query, "{path}");
    }
    assert_eq!(
        rows(
            &mut one,
            "select json_query('[1]'), json_query('[1]', null), json_value(null, '$')"
        ),
        "[1] NULL NULL"
    );
    let long = "select len(json_value('{\"a\":\"' + replicate(cast('x' as varchar(max)), 4000) + '\"}', '$.a'))";
    assert_eq!(rows(&mut one, long), "4000");
    assert_eq!(rows(&mut one, &long.replace("4000", "4001")), "NULL");
}

#[test]
fn a_strict_path_that_leads_elsewhere_is_an_error() {
    let instance = instance();
    let mut one = session(&instance);
    for (call, number) in [
        ("json_value('{}', 'strict $.a')", 13608),
        ("json_value('{\"a\":[]}', 'strict $.a')", 13623),
        ("json_query('{\"a\":1}', 'strict $.a')", 13624),
        ("json_query('{}', 'strict $.a')", 13608),
        (
            "json_value('{\"a\":\"' + replicate(cast('x' as varchar(max)), 4001) + '\"}', 'strict $.a')",
            13625,
        ),
        ("json_value('{}', 'a')", 13607),
        ("json_value('{}', '$a')", 13607),
        ("json_value('{}', '$.')", 13607),
        ("json_value('{}', '$[x]')", 13607),
        ("json_value('{\"a\"}', '$.a')", 13609),
        ("json_value('{\"a\":01}', '$.a')", 13609),
        ("json_value('[1,]', '$[0]')", 13609),
        ("json_value('', '$')", 13609),
        ("json_value('{\"a\":\"b', '$.a')", 13609),
        ("json_value(replicate('[', 200) + replicate(']', 200), '$')", 13609),
        ("json_value('{}')", 174),
    ] {
        assert_eq!(error(&mut one, &format!("select {call}")), number, "{call}");
    }
}

#[test]
fn only_objects_and_arrays_are_json() {
    let instance = instance();
    let mut one = session(&instance);
    let texts = [
        "'{}'",
        "' [1, \"a\", null] '",
        "'1'",
        "'\"a\"'",
        "'{a:1}'",
        "'{\"a\":1}}'",
        "''",
        "null",
        "'[\"\\x\"]'",
    ];
    let found: Vec<String> = texts
        .iter()
        .map(|text| rows(&mut one, &format!("select isjson({text})")))
        .collect();
    assert_eq!(found, ["1", "1", "0", "0", "0", "0", "0", "NULL", "0"]);
}
