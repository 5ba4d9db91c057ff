//! ALTER SCHEMA ... TRANSFER: what goes to another schema, what stays, what is refused.
//!
//! Source: sql-docs, "ALTER SCHEMA"; words of 15151, 15347, 15348, 15530 there in "Database Engine events and errors".
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};

#[test]
fn an_object_goes_with_its_rows_triggers_and_references() {
    let mut one = session(&instance());
    run(
        &mut one,
        &[
            "create schema a",
            "create schema b",
            "create table a.t (n int primary key, w int default 7)",
            "create table dbo.child (n int references a.t)",
            "create trigger a.tr on a.t after insert as insert dbo.log values (1)",
            "create table dbo.log (n int)",
            "insert a.t (n) values (1)",
            "create procedure a.p as select count(*) from b.t",
            "create sequence a.s",
            "create view a.v as select 1 as n",
            "create synonym a.y for a.v",
        ],
    );
    for name in ["a.t", "object::a.p", "a.s", "a.v", "a.y"] {
        run(&mut one, &[&format!("alter schema B transfer {name}")]);
    }
    let objects = "select string_agg(schema_name(schema_id) + '.' + name, '/') within group (order by name) from sys.objects where name in ('t', 'tr', 'p', 's', 'v', 'y')";
    assert_eq!(rows(&mut one, objects), "b.p/b.s/b.t/b.tr/b.v/b.y");
    run(&mut one, &["insert b.t (n) values (2)", "insert child values (2)"]);
    assert_eq!(
        rows(
            &mut one,
            "select count(*), sum(w) from b.t select count(*) from log exec b.p"
        ),
        "2 14|2|2"
    );
    assert_eq!(error(&mut one, "insert child values (3)"), 547);
    assert_eq!(error(&mut one, "select * from a.t"), 208);
    run(&mut one, &["begin tran alter schema dbo transfer b.t rollback"]);
    assert_eq!(rows(&mut one, "select count(*) from b.t"), "2");
    run(&mut one, &["alter schema b transfer b.t", "drop schema a"]);
}

#[test]
fn what_cannot_go_is_refused_by_its_number() {
    let mut one = session(&instance());
    run(
        &mut one,
        &[
            "create schema a",
            "create table t (n int)",
            "create table a.t (n int)",
            "create table u (n int)",
            "create trigger tr on t after insert as return",
            "create view v with schemabinding as select n from dbo.u",
        ],
    );
    for (batch, number) in [
        ("alter schema none transfer dbo.t", 15151),
        ("alter schema a transfer dbo.none", 15151),
        ("alter schema a transfer master.dbo.u", 166),
        ("alter schema a transfer dbo.t", 15530),
        ("alter schema a transfer dbo.tr", 15347),
        ("alter schema a transfer dbo.u", 15348),
        ("alter schema a transfer type::dbo.x", 40517),
        ("alter schema a transfer xml schema collection::dbo.x", 40517),
        ("alter schema a", 102),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}
