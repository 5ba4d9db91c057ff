//! Subqueries as joins against evaluation row by row: the same rows by every method, with NULLs, and no error that would not
//! come anyway; and the joins that plans show.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{answers, error, rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// As it is written a subquery is asked for each row under FORCE ORDER. Any other way has to answer the same.
const WAYS: [&str; 4] = ["", "option (hash join)", "option (loop join)", "option (merge join)"];

fn same_in_all_ways(session: &mut Session, query: &str) -> String {
    let written = rows(session, &format!("{query} option (force order)"));
    for way in WAYS {
        assert_eq!(rows(session, &format!("{query} {way}")), written, "{query} {way}");
    }
    written
}

/// The plan of a query, as text.
fn plan(session: &mut Session, query: &str) -> String {
    run(session, &["set showplan_text on"]);
    let shown = rows(session, query);
    run(session, &["set showplan_text off"]);
    shown
}

const TABLES: &[&str] = &[
    "create table o (id int not null primary key, k int null, kind int not null, word varchar(10) not null)",
    "create table i (id int not null primary key, k int null, o_id int not null, amount int not null)",
    "create table u (id int not null primary key, k int not null)",
    "create table nothing (id int not null primary key, k int null)",
    "create index by_o on i (o_id)",
    "declare @n int = 0 while @n < 300 begin
       insert o values (@n, case when @n % 7 = 0 then null else @n % 13 end, @n % 3, 'w' + cast(@n % 5 as varchar(10)))
       insert i values (@n, case when @n % 11 = 0 then null else @n % 29 end, @n / 4, @n * 3 % 100)
       if @n % 2 = 0 insert u values (@n, @n % 4)
       set @n += 1
     end",
];

fn started() -> Session {
    let mut one = session(&instance());
    run(&mut one, TABLES);
    one
}

/// Each with how many rows there are, and what its plan shows under HASH JOIN.
const JOINED: &[(&str, &str)] = &[
    ("exists (select * from i where i.o_id = o.id)", "Semi Join"),
    (
        "exists (select i.id, i.k from i where i.o_id = o.id and i.amount > 50)",
        "Semi Join",
    ),
    (
        "exists (select * from i where i.o_id = o.id and i.amount > o.kind * 30)",
        "Semi Join",
    ),
    ("exists (select distinct i.k from i where i.o_id = o.id)", "Semi Join"),
    (
        "exists (select top 1 i.k from i where i.o_id = o.id order by i.k)",
        "Semi Join",
    ),
    (
        "exists (select i.k, count(*) from i where i.o_id = o.id group by i.k)",
        "Semi Join",
    ),
    (
        "exists (select * from i join u on u.id = i.id where i.o_id = o.id)",
        "Semi Join",
    ),
    (
        "exists (select * from i left join u on u.id = i.id where i.o_id = o.id and u.id is null)",
        "Semi Join",
    ),
    ("exists (select * from i where i.k = o.k)", "Semi Join"),
    (
        "o.kind = 1 and exists (select * from i where i.k = o.k)",
        "Right Semi Join",
    ),
    (
        "o.kind = 1 and exists (select * from i where i.k = o.k and i.amount > o.id)",
        "Right Semi Join",
    ),
    (
        "o.kind = 1 and not exists (select * from i where i.k = o.k)",
        "Right Anti Semi Join",
    ),
    (
        "o.kind = 1 and not exists (select * from i where i.k = o.k and i.amount > o.id)",
        "Right Anti Semi Join",
    ),
    (
        "exists (select * from i where i.o_id = o.id and exists (select * from u where u.id = i.id))",
        "Semi Join",
    ),
    ("exists (select * from nothing where nothing.id = o.id)", "Inner Join"),
    ("exists (select * from u where u.id = o.id)", "Inner Join"),
    ("exists (select * from u where u.id = o.id and u.k > 1)", "Inner Join"),
    ("not exists (select * from i where i.o_id = o.id)", "Anti Semi Join"),
    (
        "not exists (select * from i where i.o_id = o.id and i.amount > o.kind * 30)",
        "Anti Semi Join",
    ),
    ("not exists (select * from i where i.k = o.k)", "Anti Semi Join"),
    (
        "not exists (select * from nothing where nothing.id = o.id)",
        "Anti Semi Join",
    ),
    ("not (not exists (select * from i where i.o_id = o.id))", "Semi Join"),
    ("o.k in (select i.k from i)", "Semi Join"),
    ("o.k in (select i.k + 1 from i where i.amount > 20)", "Semi Join"),
    ("o.k in (select distinct k from i)", "Semi Join"),
    ("o.k in (select k from i group by k having count(*) > 5)", "Inner Join"),
    ("o.k in (select k from i where i.o_id = o.kind)", "Semi Join"),
    ("o.k = any (select i.k from i where i.amount < 10)", "Semi Join"),
    ("o.id in (select id from u where k = 2)", "Inner Join"),
    ("o.id in (select k from i union select k from nothing)", "Inner Join"),
    ("o.id in (select k from i union all select k from nothing)", "Semi Join"),
    ("o.id in (select top 7 k from i order by k desc)", "Semi Join"),
    ("o.id not in (select o_id from i)", "Anti Semi Join"),
    ("o.id not in (select k from i where k is not null)", "Anti Semi Join"),
    ("o.id not in (select k from i where k > 3)", "Anti Semi Join"),
    (
        "o.k not in (select o_id from i where amount > 40) and o.k is not null",
        "Anti Semi Join",
    ),
    ("o.id <> all (select o_id from i)", "Anti Semi Join"),
    ("o.kind in (select k from u where u.id = o.id)", "Inner Join"),
    ("o.id not in (select id from nothing)", "Anti Semi Join"),
];

#[test]
fn subqueries_become_joins_and_answer_the_same() {
    let mut one = started();
    for (condition, shown) in JOINED {
        let query = format!("select o.id from o where {condition} order by 1");
        same_in_all_ways(&mut one, &query);
        let plan = plan(&mut one, &format!("{query} option (hash join)"));
        assert!(plan.contains(shown), "{condition}: {plan}");
    }
    let lines = rows(
        &mut one,
        "select count(*) from o where exists (select * from i where i.o_id = o.id)",
    );
    assert_eq!(lines, "75");
    let lines = rows(
        &mut one,
        "select count(*) from o where o.id not in (select o_id from i where amount >= 0)",
    );
    assert_eq!(lines, "225");
}

/// What stays a subquery, and answers what it did.
const KEPT: &[&str] = &[
    "exists (select * from i)",
    "exists (select count(*) from i where i.o_id = o.id)",
    "exists (select i.k from i where i.o_id = o.id group by i.k having count(*) > 1)",
    "exists (select * from i where i.o_id = o.id union all select * from i where i.k = o.k)",
    "exists (select top (0) i.k from i where i.o_id = o.id)",
    "exists (select i.k from i where i.o_id = o.id order by i.k offset 2 rows)",
    "exists (select i.k from i where i.o_id = o.id group by grouping sets ((i.k), ()))",
    "o.k not in (select k from i)",
    "o.id not in (select k from i)",
    "o.k not in (select o_id from i)",
    "o.k not in (select k from nothing)",
    "not o.k > all (select k from i where i.o_id = o.id) or o.id < 3",
    "(o.id = 5 or exists (select * from i where i.o_id = o.id and i.amount > 90))",
    "o.id in (select top 2 i.k from i where i.o_id = o.kind order by i.k)",
    "case when exists (select * from i where i.o_id = o.id) then 1 else 0 end = 1",
];

#[test]
fn what_is_no_join_stays_a_subquery() {
    let mut one = started();
    for condition in KEPT {
        same_in_all_ways(&mut one, &format!("select o.id from o where {condition} order by 1"));
    }
}

/// Every way in which one or two values, NULL among them, can stand on either side of a comparison with a subquery.
#[test]
fn null_is_what_it_is_row_by_row() {
    let mut one = session(&instance());
    run(
        &mut one,
        &[
            "create table a (id int not null primary key, x int null, y int not null)",
            "create table b (id int not null primary key, set_id int not null, x int null, y int not null)",
            "insert a values (1, null, 0), (2, 1, 1), (3, 2, 2), (4, 1, 3)",
            // Sets of no value, NULL, one value, two, and a value beside NULL.
            "insert b values (1, 1, null, 0), (2, 2, 1, 1), (3, 3, 1, 1), (4, 3, 2, 2), (5, 4, 1, 1), (6, 4, null, 2), (7, 5, 3, 3)",
        ],
    );
    let sides = ["x", "y"];
    let operators = ["=", "<>", "<", ">="];
    for left in sides {
        for right in sides {
            for set in 0..6 {
                let subquery = format!("(select b.{right} from b where b.set_id = {set})");
                let correlated = format!("(select b.{right} from b where b.set_id = {set} and b.y <= a.y)");
                for subquery in [&subquery, &correlated] {
                    let mut conditions = vec![
                        format!("a.{left} in {subquery}"),
                        format!("a.{left} not in {subquery}"),
                        format!("exists (select * from b where b.set_id = {set} and b.{right} = a.{left})"),
                        format!("not exists (select * from b where b.set_id = {set} and b.{right} = a.{left})"),
                        format!("not exists (select * from b where b.set_id = {set} and not b.{right} = a.{left})"),
                    ];
                    for operator in operators {
                        for quantifier in ["any", "all"] {
                            conditions.push(format!("a.{left} {operator} {quantifier} {subquery}"));
                            conditions.push(format!("not (a.{left} {operator} {quantifier} {subquery})"));
                        }
                    }
                    for condition in conditions {
                        same_in_all_ways(&mut one, &format!("select a.id from a where {condition} order by 1"));
                    }
                }
            }
        }
    }
}

#[test]
fn subqueries_stand_among_other_joins() {
    let mut one = started();
    for query in [
        "select o.id, i.id from o join i on i.o_id = o.id where exists (select * from u where u.id = i.id) and o.kind = 1 order by 1, 2",
        "select o.id, i.id from o left join i on i.o_id = o.id where not exists (select * from u where u.id = i.id) order by 1, 2",
        "select o.id, i.id from o left join i on i.o_id = o.id where not exists (select * from u where u.id = o.id and u.k = i.amount) order by 1, 2",
        "select o.id from o where exists (select * from i where i.o_id = o.id) and not exists (select * from u where u.id = o.id) and o.k in (select k from i) order by 1",
        "select a.id, b.id from o a, o b where a.id = b.id + 1 and exists (select * from i where i.o_id = a.id and i.amount > b.kind) order by 1, 2",
        "select kind, count(*) from o where exists (select * from i where i.o_id = o.id) group by kind order by 1",
        "select top 5 id, word from o where id in (select o_id from i) order by id desc",
        "select distinct kind from o where id not in (select o_id from i) order by 1",
        "select o.id from o join u on u.id = o.id and exists (select * from i where i.o_id = u.k) order by 1",
        "select id from o where id in (select o_id from i where exists (select * from u where u.id = i.id and u.k = o.kind)) order by 1",
        "select q.id from (select id from o where exists (select * from i where i.o_id = o.id)) q order by 1",
        "select (select count(*) from i where i.o_id = o.id and exists (select * from u where u.id = i.id)) from o order by o.id",
        "select id from o where exists (select * from i where i.o_id = o.id) union select id from u where not exists (select * from i where i.o_id = u.id) order by 1",
        "select id, row_number() over (order by id) from o where exists (select * from i where i.o_id = o.id) order by 1",
        "with c as (select id from o where exists (select * from i where i.o_id = o.id)) select a.id from c a join c b on a.id = b.id order by 1",
        "select id from o where word in (select 'w' + cast(k as varchar(5)) from u) order by 1",
        "select id from o where exists (select * from (select o_id, max(amount) m from i group by o_id) q where q.o_id = o.id and q.m > 90) order by 1",
    ] {
        assert!(!same_in_all_ways(&mut one, query).is_empty(), "{query}");
    }
}

#[test]
fn few_rows_ask_by_an_index_and_many_by_a_hash_table() {
    let mut one = started();
    run(
        &mut one,
        &[
            "insert i select id + 1000, k, o_id + 75, amount from i",
            "insert i select id + 2000, k, o_id + 150, amount from i",
        ],
    );
    let few = plan(
        &mut one,
        "select * from o where id = 5 and exists (select * from i where i.o_id = o.id)",
    );
    assert!(few.contains("Index Seek(OBJECT:([master].[dbo].[i].[by_o])"), "{few}");
    let many = plan(
        &mut one,
        "select * from o where exists (select * from i where i.k = o.id and i.amount > 3)",
    );
    assert!(many.contains("Hash Match") && many.contains("Semi Join"), "{many}");
}

/// What fails in a subquery, or behind it, fails only for the rows for which it is asked.
#[test]
fn nothing_fails_that_would_not_row_by_row() {
    let mut one = started();
    for query in [
        // Amounts of zero belong to rows that nobody asks about.
        "select id from o where exists (select * from i where i.o_id = o.id and i.amount > 0 and 10 / i.amount >= 1) order by 1",
        "select id from o where kind = 9 and exists (select * from i where i.o_id = o.id and 10 / i.amount > 1) order by 1",
        // Only rows that have a partner are divided by what is zero elsewhere.
        "select id from o where id in (select id from u where k > 0) and 10 / (id % 4) > 1 order by 1",
        "select o.id from o join i on i.o_id = o.id where o.id in (select id from u where k > 0) and 10 / (o.id % 4 + 0 * i.id) > 1 order by 1",
        "select id from o where id in (select id from u where k > 0) and exists (select * from i where i.o_id = o.id and 10 / (o.id % 4) > 1) order by 1",
    ] {
        same_in_all_ways(&mut one, query);
    }
    let failing =
        "select id from o where exists (select * from i where i.o_id = o.id and 10 / (i.amount - i.amount) > 1)";
    assert_eq!(error(&mut one, failing), 8134);
}

/// Rows are found before the first is changed, also when the subquery reads what is changed.
#[test]
fn changes_go_by_subqueries() {
    for way in ["", "option (hash join)", "option (loop join)", "option (force order)"] {
        let mut one = started();
        let change = |session: &mut Session, statement: &str| {
            let found = answers(session, &format!("{statement} {way}"));
            assert!(found.errors.is_empty(), "{statement}: {:?}", found.errors);
        };
        change(
            &mut one,
            "delete o where not exists (select * from i where i.o_id = o.id)",
        );
        assert_eq!(rows(&mut one, "select count(*), min(id), max(id) from o"), "75 0 74");
        change(
            &mut one,
            "update o set kind = kind + 10 where id in (select id from u) and kind < 2",
        );
        assert_eq!(
            rows(&mut one, "select count(*), sum(id) from o where kind > 9"),
            "25 912"
        );
        change(
            &mut one,
            "delete a from o a where exists (select * from o b where b.id = a.id + 1)",
        );
        assert_eq!(rows(&mut one, "select count(*), min(id) from o"), "1 74");
        change(
            &mut one,
            "update i set amount = -1 where not exists (select * from o where o.id = i.o_id)",
        );
        assert_eq!(rows(&mut one, "select count(*) from i where amount >= 0"), "4");
        change(
            &mut one,
            "insert o select id + 500, k, 0, 'n' from i where exists (select * from o where o.id = i.o_id)",
        );
        assert_eq!(rows(&mut one, "select count(*) from o"), "5");
    }
}

/// Subqueries below subqueries below subqueries are planned in a time that is not exponential in their number.
#[test]
fn deep_nesting_is_planned_in_no_time_to_speak_of() {
    let mut one = started();
    let mut query = "select * from u u0 where u0.id = u1.id".to_owned();
    for depth in 1..24 {
        query = format!(
            "select * from u u{depth} where u{depth}.id = u{}.id and exists ({query})",
            depth + 1
        );
    }
    let query = format!("select count(*) from u u24 where exists ({query})");
    assert_eq!(rows(&mut one, &query), "150");
}
