//! ROWGUIDCOL: which columns may be it, what finds them (sql-docs, "CREATE TABLE", "SELECT clause": `$ROWGUID`).
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

#[test]
fn one_uniqueidentifier_of_a_table_may_be_it() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table g (a int identity, r uniqueidentifier rowguidcol not null default newid(), s uniqueidentifier)",
            "insert g (s) values (newid()), (null)",
            "create table h (a int)",
            "alter table h add r uniqueidentifier rowguidcol null",
            "declare @v table (a uniqueidentifier rowguidcol) insert @v values (null)",
        ],
    );
    for (query, answer) in [
        ("select count(*) from g where $rowguid = r", "2"),
        ("select count($rowguid), count(g.r) from g", "2 2"),
        ("select a from g where $identity = 2 and $rowguid is not null", "2"),
        (
            "select name, is_rowguidcol from sys.columns where object_id = object_id('g') order by column_id",
            "a 0|r 1|s 0",
        ),
        (
            "select columnproperty(object_id('g'), 'r', 'IsRowGuidCol'), columnproperty(object_id('g'), 's', 'IsRowGuidCol')",
            "1 0",
        ),
        (
            "select objectproperty(object_id('h'), 'TableHasRowGuidCol'), objectproperty(object_id('g'), 'TableHasRowGuidCol')",
            "1 1",
        ),
    ] {
        assert_eq!(rows(&mut session, query), answer, "{query}");
    }
    for (batch, number) in [
        ("create table e (a int rowguidcol)", 2761),
        (
            "create table e (a uniqueidentifier rowguidcol, b uniqueidentifier rowguidcol)",
            8196,
        ),
        ("alter table g add t uniqueidentifier rowguidcol", 8196),
        ("select $rowguid from (select 1 x) q", 207),
    ] {
        assert_eq!(error(&mut session, batch), number, "{batch}");
    }
}

#[test]
fn it_stays_what_it_is() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story
            .run("use d create table g (r uniqueidentifier rowguidcol default newid(), a int) insert g (a) values (1)");
        story.run("alter table g add b int alter table g rebuild");
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows("select a from g where $rowguid = r"), ["1"], "{again:?}");
    }
}
