//! Filtered indexes: their rows, the queries that use them, their definitions, and refused filters. Expected answers are those of SQL
//! Server's documentation ("CREATE INDEX", "Create filtered indexes", the list of errors).
#![allow(clippy::unwrap_used)]

use crate::answers::{answers, error, rows, run};
use crate::story::{Again, Story};
use crate::transcript;

use tsql::session::Session;

/// Rows of every value, NULL among them.
fn begun() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table t (id int not null primary key, a int, b int, s varchar(10), flag bit, d date, n decimal(9, 2))",
            "insert t select i, nullif(i % 8, 7), i % 3, nullif(char(97 + i % 5), 'e'), i % 2, dateadd(day, i, '20200101'), i * 0.5 \
             from (select row_number() over (order by object_id, column_id) i from sys.all_columns) x where i <= 400",
        ],
    );
    session
}

/// The plan of a query names the index that it uses.
fn uses(session: &mut Session, query: &str, index: &str) -> bool {
    run(session, &["set showplan_xml on"]);
    let plan = answers(session, query);
    run(session, &["set showplan_xml off"]);
    assert!(plan.errors.is_empty(), "{query}: {:?}", plan.errors);
    plan.rows.concat().contains(&format!("[{index}]"))
}

/// Filters, conditions, and whether the conditions leave out all rows that the filter leaves out.
const TABLE: &[(&str, &[(&str, bool)])] = &[
    (
        "a is not null",
        &[
            ("a is not null", true),
            ("a = 3", true),
            ("a > 2", true),
            ("a <> 2", true),
            ("a in (1, 2)", true),
            ("a between 2 and 4", true),
            ("a = b", true),
            ("a = 1 or a = 2", true),
            ("a is null", false),
            ("b = 1", false),
            ("a = 1 or b = 1", false),
            ("isnull(a, 0) = 0", false),
            ("not a = 3", true),
        ],
    ),
    (
        "a is null",
        &[
            ("a is null", true),
            ("a is null and b = 1", true),
            ("b = 1", false),
            ("a is null or b = 1", false),
        ],
    ),
    (
        "a > 3",
        &[
            ("a > 3", true),
            ("a > 4", true),
            ("a = 4", true),
            ("a in (4, 6)", true),
            ("a >= 4 and b = 1", true),
            ("a > 3 or a = 5", true),
            ("a >= 3", false),
            ("a > 2", false),
            ("a = 3", false),
            ("a <> 3", false),
            ("a < 9", false),
            ("a in (3, 4)", false),
            ("a > 3 or b = 1", false),
            ("a is not null", false),
        ],
    ),
    (
        "a >= 3",
        &[
            ("a >= 3", true),
            ("a > 3", true),
            ("a = 3", true),
            ("a > 2", false),
            ("a is null", false),
        ],
    ),
    (
        "a < 3",
        &[
            ("a < 3", true),
            ("a <= 2", true),
            ("a = 2", true),
            ("a <= 3", false),
            ("a = 3", false),
            ("a > 0", false),
        ],
    ),
    (
        "a <= 3",
        &[
            ("a <= 3", true),
            ("a < 3", true),
            ("a < 4", false),
            ("a is null", false),
        ],
    ),
    (
        "a <> 3",
        &[
            ("a <> 3", true),
            ("a = 2", true),
            ("a > 3", true),
            ("a < 3", true),
            ("a >= 3", false),
            ("a <> 2", false),
            ("a is not null", false),
        ],
    ),
    (
        "a = 3",
        &[
            ("a = 3", true),
            ("a = 3 and b = 1", true),
            ("a in (3)", true),
            ("a in (3, 4)", false),
            ("a = 4", false),
            ("b = 0", false),
        ],
    ),
    (
        "a in (1, 2, 5)",
        &[
            ("a = 2", true),
            ("a in (5, 1)", true),
            ("a = 1 or a = 5", true),
            ("a in (1, 3)", false),
            ("a > 0", false),
            ("a between 1 and 2", false),
        ],
    ),
    (
        "a > 2 and b = 1",
        &[
            ("a > 2 and b = 1", true),
            ("b = 1 and a = 5", true),
            ("a > 2", false),
            ("b = 1", false),
            ("a > 2 or b = 1", false),
        ],
    ),
    (
        "s = 'a'",
        &[
            ("s = 'a'", true),
            ("s in ('a')", true),
            ("s = 'A'", true),
            ("s = 'b'", false),
            ("s like 'a%'", false),
        ],
    ),
    (
        "flag = 1",
        &[
            ("flag = 1", true),
            ("flag = 1 and a = 2", true),
            ("flag = 0", false),
            ("a = 2", false),
        ],
    ),
    (
        "d >= '20200301'",
        &[
            ("d >= '20200301'", true),
            ("d = '20200401'", true),
            ("d > '20200201'", false),
        ],
    ),
    (
        "n < 10.5",
        &[
            ("n < 10.5", true),
            ("n < 10", true),
            ("n <= 10.5", false),
            ("n < 11", false),
        ],
    ),
    (
        "a > 2.5",
        &[("a > 2", true), ("a >= 3", true), ("a > 1", false), ("a = 2", false)],
    ),
    ("a = 2.5", &[("a = 2", false), ("a > 2", false)]),
];

/// Every filter with every condition: the rows are those that are found without the index, and the index is used exactly where the condition
/// implies the filter. A use where it does not would lose rows: each condition that does not has rows that the filter leaves out.
#[test]
fn an_index_is_used_exactly_where_its_filter_is_implied() {
    transcript::on_a_sessions_stack(|| {
        let mut session = begun();
        for (filter, conditions) in TABLE {
            let expected: Vec<String> = conditions
                .iter()
                .map(|(condition, _)| rows(&mut session, &format!("select id from t where {condition} order by id")))
                .collect();
            run(
                &mut session,
                &[&format!(
                    "create index f on t (id) include (a, b, s, flag, d, n) where {filter}"
                )],
            );
            for ((condition, is_implied), expected) in conditions.iter().zip(&expected) {
                let query = format!("select id from t where {condition} order by id");
                assert_eq!(rows(&mut session, &query), *expected, "{filter} | {condition}");
                let hinted = format!("select id from t with (index (f)) where {condition} order by id");
                let found = answers(&mut session, &hinted);
                match is_implied {
                    true => {
                        assert_eq!(found.rows.join("|"), *expected, "{filter} | {condition}");
                        assert!(uses(&mut session, &hinted, "f"), "{filter} | {condition}");
                    }
                    false => assert_eq!(
                        found.errors.first().map(|error| error.0),
                        Some(8622),
                        "{filter} | {condition}"
                    ),
                }
            }
            run(&mut session, &["drop index f on t"]);
        }
    });
}

/// Nobody asks for it by name: it is the cheapest where few rows are in it.
#[test]
fn an_index_of_few_rows_is_chosen() {
    let mut session = begun();
    run(&mut session, &["create index few on t (b) where a = 3"]);
    assert!(uses(&mut session, "select id from t where a = 3 and b = 1", "few"));
    assert!(!uses(&mut session, "select id from t where a = 4 and b = 1", "few"));
    let by_variable = "declare @x int = 3 select id from t where a = @x and b = 1";
    assert!(!uses(&mut session, by_variable, "few"));
    // The same text with another constant is another plan.
    for constant in [3, 4, 3] {
        let counted = |hint: &str| format!("select count(*) from t {hint} where a = {constant} and b = 1");
        let all = rows(&mut session, &counted("with (index (0))"));
        assert_eq!(rows(&mut session, &counted("")), all);
    }
}

/// Uniqueness is that of the rows in the index.
#[test]
fn a_unique_one_is_unique_among_its_rows() {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table u (id int primary key, email varchar(20), deleted bit not null default 0)",
            "create unique index ue on u (email) where email is not null and deleted = 0",
            "insert u (id, email) values (1, null), (2, null), (3, 'a'), (4, 'b')",
        ],
    );
    assert_eq!(error(&mut session, "insert u (id, email) values (5, 'a')"), 2601);
    assert_eq!(error(&mut session, "update u set email = 'a' where id in (1, 2)"), 2601);
    run(
        &mut session,
        &[
            "insert u values (6, 'a', 1), (7, 'a', 1)",
            "update u set deleted = 1 - deleted where id in (3, 6)",
        ],
    );
    assert_eq!(error(&mut session, "update u set deleted = 0"), 2601);
    assert_eq!(
        rows(&mut session, "select id from u where email = 'a' and deleted = 0"),
        "6"
    );
    assert_eq!(
        rows(
            &mut session,
            "select id from u with (index (ue)) where email = 'a' and deleted = 0"
        ),
        "6"
    );
    run(
        &mut session,
        &["delete u where id = 6", "update u set deleted = 0 where id = 7"],
    );
}

/// A table with a unique index of some of its rows.
fn with_unique() -> Session {
    let mut session = transcript::session(&transcript::instance());
    run(
        &mut session,
        &[
            "create table u (id int primary key, email varchar(20), deleted bit not null default 0)",
            "create unique index ue on u (email) where email is not null and deleted = 0",
            "insert u values (3, 'a', 1), (4, 'b', 0), (7, 'a', 0)",
        ],
    );
    session
}

/// What is unique among some rows says nothing of the others.
#[test]
fn a_unique_one_is_no_key_of_the_table() {
    let mut session = with_unique();
    // The table has no such key: a foreign key cannot refer to it, and a join by it may find several rows.
    assert_eq!(
        error(&mut session, "create table c (e varchar(20) references u (email))"),
        1776
    );
    assert_eq!(
        rows(
            &mut session,
            "select count(*) from u x left join u y on y.email = x.email where x.email = 'a'"
        ),
        "4"
    );
    assert_eq!(
        rows(
            &mut session,
            "select count(distinct email), count(*) from u where email = 'a'"
        ),
        "1 2"
    );
    run(
        &mut session,
        &[
            "merge u using (values (3, 'q'), (8, 'r')) s (id, e) on u.id = s.id when matched then update set email = s.e, deleted = 0 \
           when not matched then insert (id, email) values (s.id, s.e);",
        ],
    );
    assert_eq!(
        rows(
            &mut session,
            "select email from u with (index (ue)) where email is not null and deleted = 0 order by email"
        ),
        "a|b|q|r"
    );
    assert_eq!(
        error(&mut session, "insert u (id, email) values (20, 'n'), (21, 'n')"),
        2601
    );
    assert_eq!(rows(&mut session, "dbcc checktable (u) with no_infomsgs"), "");
    assert_eq!(
        error(&mut session, "create unique index ux on u (deleted) where id > 1"),
        1505
    );
}

/// Rows enter and leave with every statement, in heaps and trees, through rollbacks and rows that move.
#[test]
fn rows_enter_and_leave() {
    for primary_key in ["", "primary key"] {
        let mut session = transcript::session(&transcript::instance());
        run(
            &mut session,
            &[
                &format!("create table r (id int not null {primary_key}, state int, note varchar(100))"),
                "create index open_ones on r (note) where state in (1, 2)",
                "insert r select top (200) row_number() over (order by (select 1)), abs(checksum(object_id)) % 4, 'n' from sys.all_columns",
                "update r set state = (state + 1) % 4",
                "update r set note = 'm' where state = 1",
                "update r set id = id + 1000 where id % 7 = 0",
                "begin tran update r set state = 1 delete r where id % 2 = 0 rollback",
                "delete r where id % 5 = 0",
            ],
        );
        let all = rows(
            &mut session,
            "select id from r with (index (0)) where state in (1, 2) order by id",
        );
        assert!(!all.is_empty());
        assert_eq!(
            rows(
                &mut session,
                "select id from r with (index (open_ones)) where state in (1, 2) order by id"
            ),
            all
        );
        // What it is searched by is what it changes: every row once.
        run(
            &mut session,
            &[
                "update x set state = 2 from r x with (index (open_ones)) where state in (1, 2)",
                "update r set state = 3 where state = 2",
            ],
        );
        assert_eq!(
            rows(
                &mut session,
                "select count(*) from r with (index (open_ones)) where state in (1, 2)"
            ),
            "0"
        );
        assert_eq!(rows(&mut session, "dbcc checktable (r) with no_infomsgs"), "");
    }
}

/// Filters as they are written, and as `sys.indexes` shows them.
const DEFINITIONS: &[(&str, &str)] = &[
    ("a = 1 and b > 2", "([a]=(1) AND [b]>(2))"),
    ("a in (1, 2)", "([a] IN ((1), (2)))"),
    ("a in (10)", "([a]=(10))"),
    ("a is null and s = 'x'", "([a] IS NULL AND [s]='x')"),
    ("a is not null", "([a] IS NOT NULL)"),
    ("(a > 1 and (b = 2))", "([a]>(1) AND [b]=(2))"),
    ("a = -1", "([a]=(-1))"),
    ("a !< 10", "([a]>=(10))"),
    ("a = cast(10 as int)", "([a]=CONVERT([int],(10)))"),
    ("d > '2020-01-01'", "([d]>'2020-01-01')"),
];

/// What a filter may not be, and the number that says so.
const ERRORS: &[(&str, i32)] = &[
    ("a = 1 or a = 2", 156),
    ("not a = 1", 156),
    ("a between 1 and 5", 156),
    ("s like 'a%'", 156),
    ("a not in (1, 2)", 102),
    ("a = b", 10735),
    ("1 = a", 10735),
    ("a + 1 = 2", 10735),
    ("a = abs(1)", 10735),
    ("a = @@spid", 10735),
    ("c = 1", 10609),
    ("s = 1", 10611),
    ("s = N'x'", 10611),
    ("a = 'x'", 10612),
    ("d = 'never'", 10612),
    ("a = null", 10620),
    ("a <> null", 10620),
    ("z = 1", 207),
];

#[test]
fn definitions_and_errors() {
    let mut session = begun();
    for (written, shown) in DEFINITIONS {
        run(&mut session, &[&format!("create index i on t (b) where {written}")]);
        let query = "select has_filter, filter_definition from sys.indexes where name = 'i'";
        assert_eq!(rows(&mut session, query), format!("1 {shown}"));
        run(&mut session, &["drop index i on t"]);
    }
    run(&mut session, &["alter table t add c as a + 1"]);
    for (filter, number) in ERRORS {
        assert_eq!(
            error(&mut session, &format!("create index i on t (b) where {filter}")),
            *number,
            "{filter}"
        );
    }
    let text = "Filtered index 'i' cannot be created on table 't' because the column 'c' in the filter expression is a computed column. \
                Rewrite the filter expression so that it does not include this column.";
    assert_eq!(
        answers(&mut session, "create index i on t (b) where c = 1").errors,
        [(10609, 1, text.to_owned())]
    );
    run(
        &mut session,
        &["alter table t drop column c", "create index i on t (b) where a = 1"],
    );
    assert_eq!(error(&mut session, "alter table t drop column a"), 4922);
    assert_eq!(error(&mut session, "alter table t alter column a bigint"), 5074);
    assert_eq!(error(&mut session, "set ansi_nulls off update t set b = 1"), 1934);
    run(
        &mut session,
        &[
            "set ansi_nulls on",
            "alter table t drop column d",
            "alter index i on t rebuild",
        ],
    );
    assert_eq!(
        rows(&mut session, "select count(*) from t with (index (i)) where a = 1"),
        "50"
    );
    run(
        &mut session,
        &[
            "create table w (a int, v int, index ix unique (v) include (a) where v > 0)",
            "insert w values (1, -1), (2, -1), (3, 5)",
        ],
    );
    assert_eq!(error(&mut session, "insert w values (3, 5)"), 2601);
    assert_eq!(
        rows(
            &mut session,
            "select filter_definition from sys.indexes where name = 'ix'"
        ),
        "([v]>(0))"
    );
}

/// A kill, a clean stop, a backup and a restore leave the entries as they were.
#[test]
fn they_outlive_the_server() {
    for again in Again::ALL {
        let mut story = Story::begin();
        story.run("create database d");
        story.run("use d create table t (id int primary key, a varchar(9), b int)");
        story.run("insert t values (1, 'x', 1), (2, 'y', 0), (3, null, 1) create unique index f on t (a) where b = 1");
        story.run("begin tran update t set b = 1 - b where a is not null insert t values (9, 'x', 1) rollback");
        story.again(again, "d");
        story.run("use d insert t values (4, 'y', 0), (5, 'z', 1)");
        assert_eq!(
            story.rows("select id from t with (index (f)) where b = 1 order by id"),
            ["1", "3", "5"],
            "{again:?}"
        );
        assert_eq!(story.errors("insert t values (6, 'x', 1)"), [2601], "{again:?}");
        assert_eq!(
            story.rows("select 'is ' + filter_definition from sys.indexes where name = 'f'"),
            ["is ([b]=(1))"],
            "{again:?}"
        );
        story.is_sound("d");
    }
}

/// A clustered index holds every row, and the syntax of table variables has no filter: neither is accepted and ignored.
#[test]
fn filters_that_cannot_be_are_refused_where_a_table_is_made() {
    let mut session = begun();
    assert_eq!(
        error(
            &mut session,
            "create table c (a int, index c clustered (a) where a > 1)"
        ),
        10735
    );
    for table in [
        "declare @t table (a int, index i unique (a) where a > 1)",
        "create type tt as table (a int, index i (a) where a > 1)",
        "create function f() returns @t table (a int, index i (a) where a > 1) as begin return end",
    ] {
        assert_eq!(error(&mut session, table), 40517, "{table}");
    }
}
