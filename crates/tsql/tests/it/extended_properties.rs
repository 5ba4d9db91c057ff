//! Extended properties: their possible owners, the error numbers of refused ones, and that they are dropped and renamed with their owners.
//!
//! Sources: sql-docs, sp_addextendedproperty, sp_updateextendedproperty, sp_dropextendedproperty, fn_listextendedproperty,
//! sys.extended_properties; Microsoft's list of "Database Engine events and errors".
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};

const ADD: &str = "exec sp_addextendedproperty";
const ALL: &str = "select class, isnull(object_name(major_id), ''), minor_id, name, cast(value as nvarchar(50))
    from sys.extended_properties order by class, major_id, minor_id, name";

#[test]
fn whatever_has_a_name_has_properties() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create schema sales",
            "create table sales.t (id int not null constraint pk_t primary key, v varchar(5) constraint df_v default 'x', n int)",
            "create index ix_n on sales.t (n)",
            "create view sales.w as select id from sales.t",
            "create type dbo.word from varchar(3)",
            "exec sp_addextendedproperty 'p', N'of the database'",
            "exec sp_addextendedproperty @name = N'p', @value = 'of the schema', @level0type = 'schema', @level0name = 'SALES'",
            "exec sys.sp_addextendedproperty 'p', 5, 'SCHEMA', 'sales', 'TABLE', 't'",
            "exec sp_addextendedproperty 'p', null, 'SCHEMA', 'sales', 'TABLE', 't', 'COLUMN', 'V'",
            "exec sp_addextendedproperty 'p', 'of the index', 'SCHEMA', 'sales', 'TABLE', 't', 'INDEX', 'ix_n'",
            "exec sp_addextendedproperty 'p', 'of the key', 'SCHEMA', 'sales', 'TABLE', 't', 'CONSTRAINT', 'pk_t'",
            "exec sp_addextendedproperty 'p', 'of the view', 'SCHEMA', 'sales', 'VIEW', 'w'",
            "exec sp_addextendedproperty 'p', 'of the type', 'SCHEMA', 'dbo', 'TYPE', 'word'",
        ],
    );
    let listed = "select class_desc, count(*) from sys.extended_properties group by class_desc order by 1";
    assert_eq!(
        rows(&mut one, listed),
        "DATABASE 1|INDEX 1|OBJECT_OR_COLUMN 4|SCHEMA 1|TYPE 1"
    );
    let of_table = "select minor_id, cast(sql_variant_property(value, 'BaseType') as nvarchar(20)), cast(value as int) from sys.extended_properties
        where major_id = object_id('sales.t') and class = 1 order by minor_id";
    assert_eq!(rows(&mut one, of_table), "0 int 5|2 NULL NULL");
    for (arguments, expected) in [
        (
            "default, default, default, default, default, default, default",
            "NULL NULL p of the database",
        ),
        (
            "'p', 'schema', 'sales', default, default, default, default",
            "SCHEMA sales p of the schema",
        ),
        ("null, 'schema', 'sales', 'table', default, null, null", "TABLE t p 5"),
        (
            "null, 'schema', 'sales', 'table', 't', 'column', default",
            "COLUMN v p NULL",
        ),
        (
            "null, 'schema', 'sales', 'table', 't', 'index', null",
            "INDEX ix_n p of the index",
        ),
        ("'q', 'schema', 'sales', 'table', 't', null, null", ""),
    ] {
        let query = format!(
            "select objtype, objname, name, cast(value as nvarchar(50)) from fn_listextendedproperty({arguments})"
        );
        assert_eq!(rows(&mut one, &query), expected, "{arguments}");
    }
}

#[test]
fn what_is_refused_has_its_number() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create table t (id int)",
            "exec sp_addextendedproperty 'p', 1, 'SCHEMA', 'dbo', 'TABLE', 't'",
        ],
    );
    for (call, number) in [
        ("sp_addextendedproperty 'P', 2, 'SCHEMA', 'dbo', 'TABLE', 't'", 15233),
        (
            "sp_addextendedproperty 'p', 2, 'SCHEMA', 'dbo', 'TABLE', 'absent'",
            15135,
        ),
        ("sp_addextendedproperty 'p', 2, 'SCHEMA', 'dbo', 'VIEW', 't'", 15135),
        (
            "sp_addextendedproperty 'p', 2, 'SCHEMA', 'dbo', 'TABLE', 't', 'COLUMN', 'absent'",
            15135,
        ),
        ("sp_addextendedproperty 'p', 2, 'NOTHING', 'dbo'", 15135),
        ("sp_addextendedproperty 'p', 2, 'SCHEMA', null, 'TABLE', 't'", 15600),
        ("sp_addextendedproperty 'p', 2, null, null, 'TABLE', 't'", 15600),
        ("sp_updateextendedproperty 'q', 2, 'SCHEMA', 'dbo', 'TABLE', 't'", 15217),
        ("sp_dropextendedproperty 'q', 'SCHEMA', 'dbo', 'TABLE', 't'", 15217),
        ("sp_dropextendedproperty 'p'", 15217),
    ] {
        assert_eq!(error(&mut one, &format!("exec {call}")), number, "{call}");
    }
    run(
        &mut one,
        &["exec sp_updateextendedproperty 'p', 'new', 'SCHEMA', 'dbo', 'TABLE', 't'"],
    );
    assert_eq!(rows(&mut one, ALL), "1 t 0 p new");
    run(
        &mut one,
        &["exec sp_dropextendedproperty 'p', 'SCHEMA', 'dbo', 'TABLE', 't'"],
    );
    assert_eq!(rows(&mut one, ALL), "");
}

/// Knex' suite counts on a limit that was none: a value may have 7,500 bytes, whichever characters they are of.
#[test]
fn a_value_has_7500_bytes_at_most() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &["create table t (id int)"]);
    let of_table = "'SCHEMA', 'dbo', 'TABLE', 't'";
    let declared = "declare @v sql_variant =";
    for (number, fits, exceeds) in [
        (1, "replicate('x', 7500)", "replicate('x', 7501)"),
        (2, "replicate(N'x', 3750)", "replicate(N'x', 3751)"),
        (
            3,
            "cast(replicate('x', 7500) as varbinary(8000))",
            "cast(replicate('x', 7501) as varbinary(8000))",
        ),
    ] {
        let refused = format!("{declared} {exceeds} exec sp_addextendedproperty 'p{number}', @v, {of_table}");
        assert_eq!(error(&mut one, &refused), 15097, "{exceeds}");
        run(
            &mut one,
            &[&format!(
                "{declared} {fits} exec sp_addextendedproperty 'p{number}', @v, {of_table}"
            )],
        );
        let refused = format!("{declared} {exceeds} exec sp_updateextendedproperty 'p{number}', @v, {of_table}");
        assert_eq!(error(&mut one, &refused), 15097, "{exceeds}");
        run(
            &mut one,
            &[&format!(
                "{declared} {fits} exec sp_updateextendedproperty 'p{number}', @v, {of_table}"
            )],
        );
    }
    let sizes = "select name, datalength(value) from sys.extended_properties order by name";
    assert_eq!(rows(&mut one, sizes), "p1 7500|p2 7500|p3 7500");
}

/// A column's number changes when one before it goes: its property must not end up on its neighbour.
#[test]
fn properties_follow_what_they_belong_to() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create table t (a int, b int, c int, constraint u unique (c))",
            "create index i on t (b)",
        ],
    );
    for part in [
        "'COLUMN', 'a'",
        "'COLUMN', 'b'",
        "'COLUMN', 'c'",
        "'INDEX', 'i'",
        "'CONSTRAINT', 'u'",
    ] {
        run(
            &mut one,
            &[&format!(
                "{ADD} 'p', {}, 'SCHEMA', 'dbo', 'TABLE', 't', {part}",
                part.replace("', '", " ")
            )],
        );
    }
    run(&mut one, &["alter table t drop column a"]);
    assert_eq!(
        rows(&mut one, ALL),
        "1 t 1 p COLUMN b|1 t 2 p COLUMN c|1 u 0 p CONSTRAINT u|7 t 3 p INDEX i"
    );
    run(
        &mut one,
        &["begin tran drop index i on t alter table t drop constraint u"],
    );
    assert_eq!(rows(&mut one, ALL), "1 t 1 p COLUMN b|1 t 2 p COLUMN c");
    run(
        &mut one,
        &[
            "rollback",
            "exec sp_rename 't.b', 'renamed', 'COLUMN'",
            "alter table t add d int",
        ],
    );
    assert_eq!(
        rows(&mut one, ALL),
        "1 t 1 p COLUMN b|1 t 2 p COLUMN c|1 u 0 p CONSTRAINT u|7 t 3 p INDEX i"
    );
    run(&mut one, &["drop table t"]);
    assert_eq!(rows(&mut one, ALL), "");
}
