//! Computed columns: what they answer, where they may stand, which statements keep them, what outlives rollbacks, kills and backups. Expected
//! answers are those of SQL Server's documentation ("Specify computed columns in a table", "Indexes on computed columns", the list of errors).
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use std::sync::Arc;

use engine::seams::ManualClock;
use tsql::session::Session;

fn begun() -> Session {
    let clock = Arc::new(ManualClock::starting_at(1_800_000_000_000_000));
    let mut session = transcript::session(&transcript::instance_with(clock));
    run(
        &mut session,
        &[
            "create table t (id int not null primary key, a int, b as a + 1, c as a * 2 persisted, d varchar(10))",
            "insert t (id, a, d) values (1, 10, 'x'), (2, 20, 'y'), (3, null, 'z')",
        ],
    );
    session
}

/// One that rows have and one that they do not have answer alike, wherever a column may stand.
#[test]
fn both_kinds_answer_wherever_a_column_may_stand() {
    let mut session = begun();
    for (query, answer) in [
        (
            "select * from t order by id",
            "1 10 11 20 x|2 20 21 40 y|3 NULL NULL NULL z",
        ),
        ("select id from t where b = 21", "2"),
        ("select id from t where c = 20", "1"),
        ("select id from t where b > 5 and c < 30 and d = 'x'", "1"),
        (
            "select b, count(*) from t group by b order by b desc",
            "21 1|11 1|NULL 1",
        ),
        ("select sum(b), max(c) from t", "32 40"),
        ("select x.id, y.id from t x join t y on x.b = y.b", "1 1|2 2"),
        (
            "select x.id, y.b from t x left join t y on y.b = x.c + 1 order by x.id",
            "1 21|2 NULL|3 NULL",
        ),
        (
            "select id from t x where exists (select * from t y where y.b = x.b) order by id",
            "1|2",
        ),
        (
            "select id, (select max(y.b) from t y where y.b <= x.b) from t x order by id",
            "1 11|2 21|3 NULL",
        ),
        ("select top (1) b from t order by b desc", "21"),
        (
            "select row_number() over (order by b desc), id from t order by 1",
            "1 2|2 1|3 3",
        ),
        (
            "select q.b from (select b from t where a is not null) q order by q.b",
            "11|21",
        ),
        ("select b from t union select c from t order by 1", "NULL|11|20|21|40"),
        (
            "select t.b, v.n from t cross apply (select t.b * 10 as n) v where t.id = 1",
            "11 110",
        ),
    ] {
        assert_eq!(rows(&mut session, query), answer, "{query}");
    }
}

/// A column that is computed has its value before NULLs and CHECK are judged, on insert and on update.
#[test]
fn computed_columns_are_computed_before_they_are_judged() {
    let mut session = begun();
    run(
        &mut session,
        &["create table j (a int not null primary key, b int, c as b persisted not null check (c < 10))"],
    );
    assert_eq!(error(&mut session, "insert j values (1, null)"), 515);
    assert_eq!(error(&mut session, "insert j values (1, 11)"), 547);
    run(&mut session, &["insert j values (1, 4)", "update j set b = 5"]);
    assert_eq!(error(&mut session, "update j set b = 12"), 547);
    assert_eq!(error(&mut session, "update j set b = null"), 515);
    assert_eq!(rows(&mut session, "select a, b, c from j"), "1 5 5");
}

/// A side of an outer join that has no partner has no computed columns either, though what computes them makes a value of NULL.
#[test]
fn an_outer_join_without_a_partner_computes_nothing() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table o (id int, n as isnull(id, 0) + 100)",
            "insert o (id) values (1), (null)",
        ],
    );
    assert_eq!(rows(&mut session, "select n from o order by n"), "100|101");
    assert_eq!(
        rows(
            &mut session,
            "select t.id, o.n from t left join o on o.id = t.id order by t.id"
        ),
        "1 101|2 NULL|3 NULL"
    );
}

/// What is not stored is computed when it is read: it follows the clock, and fails when it is read.
#[test]
fn one_that_is_not_stored_is_computed_when_it_is_read() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create table n (a int, quotient as 10 / a, now as getdate(), name as db_name())",
            "insert n (a) values (5), (0)",
            "update n set a = 4 where a = 5",
        ],
    );
    assert_eq!(error(&mut session, "select quotient from n"), 8134);
    assert_eq!(rows(&mut session, "select count(*), max(name) from n"), "2 master");
    assert_eq!(rows(&mut session, "select quotient from n where a = 4"), "2");
    assert_eq!(
        rows(
            &mut session,
            "select iif(abs(datediff(minute, now, getdate())) < 2, 'now', 'then') from n"
        ),
        "now|now"
    );
    assert_eq!(
        error(
            &mut session,
            "create table s (a int, q as 10 / a persisted) insert s (a) values (0)"
        ),
        8134
    );
    assert_eq!(error(&mut session, "create index i on n (quotient)"), 8134);
    // The index that failed has left the table as it was.
    assert_eq!(
        rows(
            &mut session,
            "select count(*) from sys.indexes where object_id = object_id('n') and index_id > 0"
        ),
        "0"
    );
    run(&mut session, &["insert n (a) values (0)"]);
}

#[test]
fn changes_keep_them_and_none_may_be_given() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "update t set a = 30 where id = 1",
            "insert t values (4, 40, 'w')",
            "delete t where b = 21",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, b, c from t order by id"),
        "1 31 60|3 NULL NULL|4 41 80"
    );
    assert_eq!(
        rows(
            &mut session,
            "update t set a += 1 output deleted.b, inserted.b, deleted.c, inserted.c where id = 4"
        ),
        "41 42 80 82"
    );
    assert_eq!(
        rows(&mut session, "insert t output inserted.* values (5, 1, 'v')"),
        "5 1 2 2 v"
    );
    assert_eq!(
        rows(&mut session, "delete t output deleted.b, deleted.c where id = 5"),
        "2 2"
    );
    run(
        &mut session,
        &[
            "merge t using (values (1, 7), (9, 9)) s (id, a) on t.id = s.id when matched then update set a = s.a \
           when not matched then insert (id, a) values (s.id, s.a);",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, b, c from t where id in (1, 9) order by id"),
        "1 8 14|9 10 18"
    );
    for batch in [
        "insert t (id, b) values (7, 1)",
        "insert t (id, c) values (7, 1)",
        "update t set b = 1",
        "update t set c = 1",
        "merge t using (select 1 x) s on t.id = s.x when matched then update set c = 1;",
    ] {
        assert_eq!(error(&mut session, batch), 271, "{batch}");
    }
    let told = answers(&mut session, "update t set b = 1").errors;
    let text = "The column \"b\" cannot be modified because it is either a computed column or is the result of a UNION operator.";
    assert_eq!(told, [(271, 1, text.to_owned())]);
    assert_eq!(error(&mut session, "insert t values (8, 1, 2, 3, 'x')"), 213);
}

/// What SELECT INTO makes is plain; a view passes changes of the other columns on.
#[test]
fn copies_and_views_of_them() {
    let mut session = begun();
    run(&mut session, &["select * into plain from t", "update plain set b = 0"]);
    assert_eq!(
        rows(
            &mut session,
            "select sum(is_computed + 0) from sys.columns where object_id = object_id('plain')"
        ),
        "0"
    );
    run(
        &mut session,
        &[
            "create view vt as select * from t where a > 0",
            "update vt set a = 70 where id = 1",
        ],
    );
    assert_eq!(rows(&mut session, "select b, c from vt where id = 1"), "71 140");
    assert_eq!(error(&mut session, "update vt set b = 1"), 271);
}

#[test]
fn triggers_see_them() {
    let mut session = begun();
    run(&mut session, &["create table seen (what varchar(9), b int, c int)"]);
    run(
        &mut session,
        &[
            "create trigger tr on t after insert, update, delete as insert seen select 'new', b, c from inserted union all \
           select 'old', b, c from deleted",
        ],
    );
    run(
        &mut session,
        &[
            "update t set a = 11 where id = 1",
            "insert t (id, a) values (6, 60)",
            "delete t where id = 2",
        ],
    );
    assert_eq!(
        rows(&mut session, "select what, b, c from seen order by b"),
        "old 11 20|new 12 22|old 21 40|new 61 120"
    );
    run(
        &mut session,
        &["create table p (id int primary key)", "insert p values (1)"],
    );
    run(
        &mut session,
        &[
            "create table k (p int references p on delete cascade, v as p + 5, w as p + 6 persisted)",
            "insert k (p) values (1)",
        ],
    );
    run(
        &mut session,
        &["create trigger tk on k after delete as insert seen select 'gone', v, w from deleted"],
    );
    run(&mut session, &["delete p"]);
    assert_eq!(rows(&mut session, "select b, c from seen where what = 'gone'"), "6 7");
}

/// Indexes, keys and constraints over them: used, kept right, refused where SQL Server refuses them.
#[test]
fn indexes_and_constraints_over_them() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "create unique index ib on t (b)",
            "create index ic on t (c) include (b)",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id from t with (index (ib)) where b = 21"),
        "2"
    );
    assert_eq!(error(&mut session, "insert t (id, a) values (4, 20)"), 2601);
    run(
        &mut session,
        &[
            "update t set a = a + 10 where a is not null",
            "insert t (id, a) values (4, 10)",
        ],
    );
    assert_eq!(
        rows(
            &mut session,
            "select id, b from t with (index (ib)) where b > 0 order by b"
        ),
        "4 11|1 21|2 31"
    );
    assert_eq!(
        rows(&mut session, "select b from t with (index (ic)) where c = 40"),
        "21"
    );
    assert_eq!(rows(&mut session, "dbcc checkdb (master) with no_infomsgs"), "");
    run(
        &mut session,
        &[
            "create table k (a int not null, b as a + 1 persisted not null primary key, c as a % 3 persisted check (c < 2), \
             d as a unique)",
            "create table r (k int not null, x as k + 0 persisted references k (b))",
            "insert k (a) values (0), (1)",
            "insert r (k) values (1), (2)",
        ],
    );
    assert_eq!(error(&mut session, "insert k (a) values (0)"), 2627);
    assert_eq!(error(&mut session, "insert k (a) values (2)"), 547);
    assert_eq!(error(&mut session, "insert r (k) values (3)"), 547);
    assert_eq!(error(&mut session, "update r set k = 9"), 547);
    assert_eq!(error(&mut session, "delete k where a = 0"), 547);
}

/// What is refused, and by which number; `t` and `k` are there.
const REFUSED: &[(&str, i32)] = &[
    ("create table e (a int, b as c + 1, c as a + 1)", 1759),
    ("create table e (a int, b as getdate() persisted)", 4936),
    ("create table e (a datetime, b as datepart(weekday, a) persisted)", 4936),
    (
        "create table e (a varchar(9), b as convert(datetime, a) persisted)",
        4936,
    ),
    ("create table e (a int, b as a + 1 not null)", 8183),
    ("create table e (a int, b as a + 1 check (b > 0))", 8183),
    ("create table e (a int, b as a + 1 references k (b))", 8183),
    ("create table e (a int, b as a + 1, check (b > 0))", 1764),
    (
        "create table e (a int, b as a + 1, foreign key (b) references k (b))",
        1764,
    ),
    ("create table e (a int, b as a + 1 primary key)", 1711),
    (
        "create table e (a int not null, b as a + 1 persisted primary key)",
        1711,
    ),
    ("create table e (a int, b as (select 1))", 1046),
    ("create table e (a int, b as nothing + 1)", 207),
    ("create table e (a int, b as a + 1 default 5)", 156),
    ("create table e (a int, b as @x)", 137),
    ("create table e (a int, a as 1)", 2705),
    ("alter table t alter column b int", 4928),
    ("alter table t alter column a bigint", 5074),
    ("alter table t drop column a", 5074),
    ("alter table t add default 1 for b", 1752),
    ("exec sp_rename 't.a', 'z', 'column'", 15336),
];

#[test]
fn what_cannot_be_is_refused_by_its_number() {
    let mut session = begun();
    run(
        &mut session,
        &["create table k (a int not null, b as a + 1 persisted not null primary key)"],
    );
    for (batch, number) in REFUSED {
        assert_eq!(error(&mut session, batch), *number, "{batch}");
    }
    run(
        &mut session,
        &["create table f (a float, b as a * 2, c as a * 2 persisted, d as getdate())"],
    );
    for (batch, number) in [
        ("create index i on f (b)", 2799),
        ("create index i on f (d)", 2729),
        ("create statistics s on f (d)", 2729),
        ("create index i on f (c)", 0),
        ("set quoted_identifier off create index j on f (c)", 1934),
        ("set ansi_nulls off insert f (a) values (1)", 1934),
    ] {
        let told = answers(&mut session, batch).errors;
        assert_eq!(told.first().map_or(0, |told| told.0), number, "{batch}: {told:?}");
    }
}

#[test]
fn what_depends_on_what_is_told_by_name() {
    let mut session = begun();
    let told = answers(&mut session, "alter table t drop column a").errors;
    assert_eq!(
        told,
        [
            (5074, 1, "The column 'b' is dependent on column 'a'.".to_owned()),
            (
                4922,
                9,
                "ALTER TABLE DROP COLUMN a failed because one or more objects access this column.".to_owned()
            ),
        ]
    );
    run(
        &mut session,
        &[
            "alter table t drop column b",
            "alter table t drop column c",
            "alter table t alter column a bigint",
        ],
    );
    run(
        &mut session,
        &["create function dbo.twice (@x int) returns int with schemabinding as begin return @x * 2 end"],
    );
    run(
        &mut session,
        &["alter table t add e as dbo.twice(id) persisted, f as upper(d)"],
    );
    assert_eq!(
        rows(&mut session, "select id, e, f from t order by id"),
        "1 2 X|2 4 Y|3 6 Z"
    );
    assert_eq!(error(&mut session, "drop function dbo.twice"), 3729);
    run(
        &mut session,
        &["alter table t drop column e", "drop function dbo.twice"],
    );
}

/// ALTER TABLE ADD: nothing is written for one that is not stored; rows get the values of one that is.
#[test]
fn columns_are_added_to_rows_that_are_there() {
    let mut session = begun();
    run(
        &mut session,
        &[
            "alter table t add e as a - 1, f as isnull(a, 0) persisted not null",
            "create index iff on t (f)",
            "alter table t add g as d + '!' unique",
            "alter table t rebuild",
        ],
    );
    assert_eq!(
        rows(&mut session, "select id, e, f, g from t order by id"),
        "1 9 10 x!|2 19 20 y!|3 NULL 0 z!"
    );
    assert_eq!(error(&mut session, "insert t (id, a, d) values (8, 1, 'x')"), 2627);
    run(&mut session, &["create table m (a int null)", "insert m values (null)"]);
    assert_eq!(
        error(&mut session, "alter table m add b as a + 1 persisted not null"),
        515
    );
    assert_eq!(
        rows(
            &mut session,
            "select count(*) from sys.columns where object_id = object_id('m')"
        ),
        "1"
    );
    run(
        &mut session,
        &["begin tran alter table m add b as a + 1 persisted rollback"],
    );
    assert_eq!(rows(&mut session, "select * from m"), "NULL");
}

#[test]
fn the_catalog_shows_them() {
    let mut session = begun();
    assert_eq!(
        rows(
            &mut session,
            "select name, definition, is_persisted, column_id from sys.computed_columns where object_id = object_id('t')"
        ),
        "b ([a]+(1)) 0 3|c ([a]*(2)) 1 4"
    );
    let inherited = "select max_length, scale, is_computed, is_identity, is_sparse, uses_database_collation from sys.computed_columns \
         where object_id = object_id('t') and is_persisted = 1";
    assert_eq!(rows(&mut session, inherited), "4 0 1 0 0 0");
    assert_eq!(
        rows(
            &mut session,
            "select name, is_computed, is_nullable from sys.columns where object_id = object_id('t') order by column_id"
        ),
        "id 0 0|a 0 1|b 1 1|c 1 1|d 0 1"
    );
    assert_eq!(
        rows(
            &mut session,
            "select columnproperty(object_id('t'), 'b', 'IsComputed'), columnproperty(object_id('t'), 'a', 'IsComputed')"
        ),
        "1 0"
    );
    run(
        &mut session,
        &[
            "create table n (a int not null, s varchar(5), b as isnull(s, 'none'), c as cast(a as decimal(9, 2)), d as a * 1.5, \
           e as case when a > 0 then 'p' else N'n' end)",
        ],
    );
    assert_eq!(
        rows(
            &mut session,
            "select c.name, t.name, c.max_length, c.precision, c.scale from sys.columns c join sys.types t on t.user_type_id = \
             c.user_type_id where object_id = object_id('n') and is_computed = 1 order by column_id"
        ),
        "b varchar 5 0 0|c decimal 5 9 2|d numeric 9 13 1|e nvarchar 2 0 0"
    );
}

/// In table variables, table types, functions and temporary tables.
#[test]
fn tables_of_every_kind_have_them() {
    let mut session = begun();
    assert_eq!(
        rows(
            &mut session,
            "declare @v table (a int, b as a + 1, c as a * 2 persisted unique) insert @v (a) values (1), (2) update @v set a = 5 where b = 2 \
             select a, b, c from @v order by a"
        ),
        "2 3 4|5 6 10"
    );
    assert_eq!(
        error(
            &mut session,
            "declare @v table (a int, b as a + 1) insert @v values (1, 2)"
        ),
        213
    );
    assert_eq!(
        error(&mut session, "declare @v table (a int, b as a + 1) update @v set b = 1"),
        271
    );
    assert_eq!(
        rows(
            &mut session,
            "create table #w (a int, b as a + 1) insert #w values (4) select * from #w"
        ),
        "4 5"
    );
    run(&mut session, &["create type tt as table (a int, b as a + 1 persisted)"]);
    run(
        &mut session,
        &["create procedure p @x tt readonly as select a, b from @x"],
    );
    assert_eq!(
        rows(&mut session, "declare @y tt insert @y values (7) exec p @y"),
        "7 8"
    );
    run(
        &mut session,
        &[
            "create function f () returns @r table (a int, b as a * 10) as begin insert @r (a) values (1), (2) return end",
        ],
    );
    assert_eq!(rows(&mut session, "select a, b from f() where b > 10"), "2 20");
}

/// A kill, a clean stop, a backup and a restore leave rows and indexes as they were.
#[test]
fn they_outlive_the_server() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run(
            "use d create table t (id int primary key, a varchar(9), b as a + '-', c as len(a) persisted, d as id % 2)",
        );
        story.run(
            "insert t (id, a) values (1, 'x'), (2, 'yy') create index id on t (d) create unique index ib on t (b)",
        );
        story.run("begin tran insert t (id, a) values (3, 'zzz') update t set a = 'no' where id = 1 rollback");
        story.again(again, "d");
        story.run("use d insert t (id, a) values (4, 'wwww')");
        assert_eq!(
            story.rows("select id, b, c, d from t order by id").len(),
            3,
            "{again:?}"
        );
        assert_eq!(
            story.rows("select b from t with (index (id)) where d = 1"),
            ["x-"],
            "{again:?}"
        );
        assert_eq!(story.errors("insert t (id, a) values (5, 'x')"), [2601], "{again:?}");
        story.is_sound("d");
    }
}

/// TypeORM compares what a column was declared with and what the catalog says (its "generated columns").
#[test]
fn a_column_of_concat_does_not_take_null() {
    let mut one = crate::transcript::session(&crate::transcript::instance());
    crate::answers::run(
        &mut one,
        &["create table t (a varchar(9), b as concat(a, '!'), c as concat_ws('-', a, a), d as a + '!')"],
    );
    let nullable = "select string_agg(is_nullable, '') within group (order by column_id) from sys.columns where object_id = object_id('t')";
    assert_eq!(crate::answers::rows(&mut one, nullable), "1001");
}
