//! Results of queries on a small document, refused queries, and queries assembled from pieces.
#![allow(clippy::unwrap_used)]

use super::*;

const TEXT: &str =
    "<r a='1' xmlns:p='urn:p'><b n='x'>1</b><b n='y'>2</b><c><b n='z'>3</b>t<!--k--></c><p:d>&lt;&#65;</p:d> </r>";

fn found(query: &str) -> String {
    let document = Document::read(TEXT).unwrap();
    let query = parse("value", query, &[("q".to_owned(), "urn:p".to_owned())]).unwrap();
    let (items, _charge) = evaluate(&document, &query.body, 0, &[]).unwrap();
    let texts = items.iter().map(|item| atom_text(&document, item));
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn paths_and_functions_find_what_they_name() {
    for (query, answer) in [
        ("/r/b", "1|2"),
        ("//b", "1|2|3"),
        ("(//b)[2]", "2"),
        ("//b[1]", "1|3"),
        ("/r/b[last()]", "2"),
        ("/r/b[@n='y']", "2"),
        ("/r/b[@n=\"y\"]/@n", "y"),
        ("/r/@a", "1"),
        ("/r/*[3]/b/..", "3t"),
        ("/r/c/text()", "t"),
        ("/r/c/node()", "3|t|k"),
        ("/r/c/comment()", "k"),
        ("/r/q:d", "<A"),
        ("/r/*:d", "<A"),
        ("/r/d", ""),
        ("declare namespace z='urn:p'; /r/z:d", "<A"),
        ("declare default element namespace 'urn:p'; //d", "<A"),
        ("count(//b)", "3"),
        ("sum(//b) + 1", "7"),
        ("avg(/r/b)", "1.5"),
        ("max(//b) - min(//b)", "2"),
        ("//b[. > 1]", "2|3"),
        ("//b[not(. = 2) and position() < 3]", "1|3"),
        ("/r/b[contains(@n, 'x') or . = '2']", "1|2"),
        ("local-name(/r/*[4])", "d"),
        ("namespace-uri(/r/*[4])", "urn:p"),
        ("string-length(concat('ab', /r/b[1]))", "3"),
        ("substring('abcde', 2, 3)", "bcd"),
        ("if (/r/@a = 1) then 'one' else 'other'", "one"),
        ("for $x in /r/b where $x > 1 return $x/@n", "y"),
        ("let $x := /r/b return count($x)", "2"),
        ("distinct-values((1, 2, 1))", "1|2"),
        ("(: comment :) 7 mod 4", "3"),
        ("self::node()/r/descendant::b[3]", "3"),
        ("/descendant::b[3]", "3"),
        ("'it''s &amp;'", "it's &"),
    ] {
        assert_eq!(found(query), answer, "{query}");
    }
}

#[test]
fn what_is_not_xquery_is_refused_by_a_number() {
    let deep = "(".repeat(10_000);
    for (query, number) in [
        ("", 2209),
        ("/r/", 2209),
        ("/r[", 2209),
        ("'a", 2209),
        ("a b", 2209),
        ("p:a", 2229),
        ("nothing(1)", 2395),
        ("count()", 2209),
        ("<a>", 2209),
        ("<a></b>", 2209),
        ("<p:a/>", 2229),
        ("<a>{</a>", 2209),
        ("a |", 2209),
        ("for $x in a order by return $x", 2209),
        ("some $x in a return $x", 2209),
        ("following-sibling::a", 40517),
        (deep.as_str(), 8631),
    ] {
        assert_eq!(parse("value", query, &[]).unwrap_err().number, number, "{query}");
    }
}

#[test]
fn one_item_is_known_from_the_query() {
    for (query, is_one) in [
        ("(/a/b)[1]", true),
        ("/a[1]/b[1]", true),
        ("/a/b", false),
        ("/a/b[1]", false),
        ("@a", true),
        (".", true),
        ("a/@b", false),
        ("a[1]/@b", true),
        ("(a/@b)[1]", true),
        ("count(//a)", true),
        ("text()[1]", true),
        ("//a[1]", false),
        ("../@a", true),
        ("sql:variable(\"@x\")", true),
    ] {
        assert_eq!(
            parse("value", query, &[]).unwrap().body.is_singleton(),
            is_one,
            "{query}"
        );
    }
}

/// Queries put together of pieces are read or refused, and what is read ends.
#[test]
fn any_text_is_read_or_refused() {
    const PIECES: [&str; 24] = [
        "/",
        "//",
        "b",
        "@n",
        "*",
        "[",
        "]",
        "(",
        ")",
        "1",
        "'x'",
        "=",
        "count(",
        ".",
        "..",
        "and",
        "+",
        "-",
        "$x",
        "for $x in ",
        " return ",
        ",",
        "text()",
        "p:",
    ];
    let document = Document::read(TEXT).unwrap();
    let mut seed = 11_u64;
    let mut read = 0;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..8 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(PIECES[(seed >> 33) as usize % (PIECES.len() + 1) % PIECES.len()]);
            if let Ok(query) = parse("query", &text, &[]) {
                evaluate(&document, &query.body, 0, &[]).unwrap();
                read += 1;
            }
        }
    }
    assert!(read > 1_000, "{read} read");
}

#[test]
fn a_node_alone_has_the_declarations_around_it() {
    let document = Document::read("<a xmlns='u' xmlns:p='v'><p:b c='\"&amp;'>x &gt; y<d/></p:b></a>").unwrap();
    let mut text = String::new();
    let query = parse("query", "/*/*", &[]).unwrap();
    for item in evaluate(&document, &query.body, 0, &[]).unwrap().0 {
        let Item::Node(id) = item else { panic!("{item:?}") };
        document.push_alone(&mut text, id).unwrap();
    }
    assert_eq!(
        text,
        "<p:b xmlns=\"u\" xmlns:p=\"v\" c=\"&quot;&amp;\">x &gt; y<d/></p:b>"
    );
}
