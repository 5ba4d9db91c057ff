//! xml as a type of its own: columns stay xml over restarts, backups and rollbacks however they were made, and what is not xml does not become it by
//! itself (sql-docs, "xml data type and columns", "Create instances of XML data", "CAST and CONVERT": explicit and implicit conversions).
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

/// What a column is was said by its declaration alone: one of SELECT INTO, and a computed one, was `nvarchar(max)` after a restart.
#[test]
fn a_column_that_was_not_declared_as_xml_stays_xml() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d");
        story.run("create table s (x xml) insert s values (N'<a b=\"4\"/>') select x into t from s");
        story.run("create table c (a nvarchar(max), b as cast(a as xml)) insert c (a) values (N'<a b=\"5\"/>')");
        story.again(again, "d");
        story.run("use d");
        let asked = "select t.x.value('(/a/@b)[1]', 'int'), c.b.value('(/a/@b)[1]', 'int') from t cross join c";
        assert_eq!(story.rows(asked), ["4 5"], "{again:?}");
        let kinds = "select name, type_name(user_type_id), collation_name from sys.columns \
                     where object_id in (object_id('t'), object_id('c')) and name <> 'a' order by name";
        assert_eq!(story.rows(kinds), ["b xml NULL", "x xml NULL"], "{again:?}");
        assert_eq!(story.errors("insert t values (N'<a>')"), [9400], "{again:?}");
        story.is_sound("d");
    }
}

/// An argument other than a string was NULL behind a parameter of type xml, without a word.
#[test]
fn what_is_not_xml_does_not_become_it_by_itself() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (x xml)",
            "create procedure p @x xml as insert t values (@x)",
            "exec p N'<a/>' exec p 0x3C0062002F003E00 exec p null",
        ],
    );
    for batch in [
        "exec p 5",
        "declare @d date = '2020-01-01' exec p @d",
        "declare @g uniqueidentifier = newid() exec p @g",
        "exec sp_executesql N'insert t values (@x)', N'@x xml', 5",
    ] {
        assert_eq!(error(&mut session, batch), 206, "{batch}");
    }
    for (text, number) in [
        ("N' <?xml version=\"1.0\"?><a/>'", 9438),
        ("N'<a/><?xml version=\"1.0\"?>'", 9438),
        ("0xFFFE3C0061002F003E0000", 9420),
    ] {
        assert_eq!(
            error(&mut session, &format!("insert t values ({text})")),
            number,
            "{text}"
        );
    }
    // A declaration is not kept, an instruction is; characters that are not Latin stand first in UTF-16 without a mark.
    run(
        &mut session,
        &[
            "delete t",
            "insert t values (N'<?xml version=\"1.0\"?><a/>'), (N'<?xml-stylesheet href=\"a\"?><a/>'), (0x2D4E87653C0061002F003E00)",
        ],
    );
    assert_eq!(
        rows(&mut session, "select cast(x as nvarchar(max)) from t"),
        "<a/>|<?xml-stylesheet href=\"a\"?><a/>|\u{4e2d}\u{6587}<a/>"
    );
}

#[test]
fn a_result_set_that_is_announced_as_for_xml_may_have_its_type() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create procedure p as select 1 a for xml path('r'), type",
            "create procedure q as select 1 a for xml path('r')",
        ],
    );
    for name in ["p", "q"] {
        let answer = rows(&mut session, &format!("exec {name} with result sets (as for xml)"));
        assert_eq!(answer, "<r><a>1</a></r>", "{name}");
    }
}
