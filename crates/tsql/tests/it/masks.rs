//! Data masks of columns: what is kept and shown of them, and that no session reads through them (sql-docs, "Dynamic data masking",
//! "sys.masked_columns"; numbers and forms are those that the SqlServerSimulator project has seen of SQL Server 2025).
#![allow(clippy::unwrap_used)]

use crate::answers::{error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

/// The masks of all columns.
const MASKS: &str =
    "select concat(object_name(object_id), '.', name, ' ', masking_function) from sys.masked_columns order by 1";

#[test]
fn masks_come_and_go_with_columns() {
    let mut one = transcript::session(&transcript::instance());
    run(
        &mut one,
        &[
            "create table t (id int masked with (function = 'default()') identity primary key, \
             e varchar(30) collate Latin1_General_BIN masked with (function = 'EMAIL()') not null, \
             p varchar(20) masked with (function = N'partial(1, \"x\", 1)') null, m money masked with (function = 'random(1, 2.5)'), plain int)",
            "insert t (e, p, m, plain) values ('ann@example.com', 'secret', 5, 1)",
        ],
    );
    assert_eq!(
        rows(&mut one, MASKS),
        "t.e email()|t.id default()|t.m random(1, 2.5)|t.p partial(1, \"x\", 1)"
    );
    // Every session is dbo, who has UNMASK.
    assert_eq!(rows(&mut one, "select id, e, p from t"), "1 ann@example.com secret");
    assert_eq!(
        rows(
            &mut one,
            "select sum(cast(is_masked as int)) from sys.columns where object_id = object_id('t') \
             select columnproperty(object_id('t'), 'e', 'IsMasked'), columnproperty(object_id('t'), 'plain', 'IsMasked')"
        ),
        "4|1 0"
    );
    run(
        &mut one,
        &[
            "alter table t alter column e drop masked",
            "alter table t alter column p add masked with (function = 'default()')",
            "alter table t alter column plain add masked with (function = 'random(1, 9)')",
            // A type that is written anew is written with its mask, or has none.
            "alter table t alter column m money",
            "alter table t add d date masked with (function = 'datetime(\"Y\")') null",
            "alter table t alter column d date masked with (function = 'datetime(\"M\")') null",
            "begin tran alter table t alter column p drop masked alter table t alter column e add masked with (function = 'email()') rollback",
            "create type ty as table (a varchar(9) masked with (function = 'email()'))",
            "alter table t drop column plain",
        ],
    );
    assert_eq!(
        rows(&mut one, MASKS).replace("TT_ty", "ty"),
        ".a email()|t.d datetime(\"M\")|t.id default()|t.p default()"
    );
    assert_eq!(rows(&mut one, "select e, p from t"), "ann@example.com secret");
}

#[test]
fn what_is_no_mask_is_refused_by_its_number() {
    let mut one = transcript::session(&transcript::instance());
    run(&mut one, &["create table t (a int, b varchar(9), c as b + '!')"]);
    for (batch, number) in [
        ("create table n (a varchar(9) masked with (function = 'foo()'))", 16002),
        ("create table n (a int masked with (function = 'email()'))", 16003),
        ("create table n (a int masked with (function = 'default(1)'))", 16004),
        ("create table n (a int masked with (function = 'random(9, 1)'))", 16005),
        ("create table n (a int masked with (function = 'default'))", 16006),
        (
            "create table n (a int not null masked with (function = 'default()'))",
            102,
        ),
        (
            "create table n (a int default 1 masked with (function = 'default()'))",
            102,
        ),
        ("create table n (a int masked (function = 'default()'))", 102),
        ("create table n (a int masked with (function 'default()'))", 102),
        ("alter table t alter column a drop masked", 16007),
        ("alter table t alter column z drop masked", 4924),
        (
            "alter table t alter column a add masked with (function = 'email()')",
            16003,
        ),
        (
            "alter table t alter column b add masked with (function = 'email()')",
            5074,
        ),
        (
            "alter table t alter column c add masked with (function = 'default()')",
            4928,
        ),
        (
            "alter table t alter column a bigint masked with (function = 'email()')",
            16003,
        ),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
    assert_eq!(rows(&mut one, MASKS), "");
}

#[test]
fn masks_are_kept() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d");
        story.run("create table t (a varchar(20) masked with (function = 'partial(2, \"-\", 1)'), b int)");
        story.run("backup database d to disk = 'd.bak' with init");
        story.again(again, "d");
        story.run("use d");
        assert_eq!(story.rows(MASKS), ["t.a partial(2, \"-\", 1)"], "{again:?}");
        story.run("alter table t alter column a drop masked use master dbcc clonedatabase (d, c) with no_infomsgs");
        story.run("restore database d from disk = 'd.bak' with replace");
        story.run("use d");
        assert_eq!(story.rows(MASKS), ["t.a partial(2, \"-\", 1)"], "{again:?}");
        story.is_sound("d");
    }
}
