//! Rewrites of FROM (`optimize/rewrite`): each rule's plan, and that no answer changes. A derived table must answer what a
//! table with the same rows answers.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// Few rows with NULLs, duplicates, strings that differ only in case, and a table without rows.
const FEW: &[&str] = &[
    "create table t (k int not null primary key, a int null, s varchar(10) null, d int not null)",
    "create table u (k int not null primary key, t_k int null, b int null)",
    "create index by_t on u (t_k)",
    "create table v (k int null, c int null)",
    "create table e (k int not null primary key, x int null, s varchar(10) null)",
    "insert t values (1, 1, 'a', 1), (2, null, 'A', 1), (3, 3, null, 2), (4, 3, 'b', 2), (5, 0, 'ab', 3), (6, 9, 'B ', 3)",
    "insert u values (1, 1, 1), (2, 1, null), (3, 3, 0), (4, null, 4), (5, 4, 4), (6, 9, 2), (7, 5, 3)",
    "insert v values (1, 1), (1, 1), (null, 2), (3, null), (null, null)",
];

/// Queries of the columns k, x, s.
const SOURCES: &[&str] = &[
    "select k, a + 1 as x, s from t where a > 2",
    "select t.k, u.b as x, s from t join u on u.t_k = t.k",
    "select t.k, u.b as x, s from t left join u on u.t_k = t.k",
    "select t.k, u.b as x, s from t full join u on u.t_k = t.k where u.b > 1",
    "select k, 0 as x, s from t",
    "select k, isnull(a, 7) as x, s from t",
    "select k, case when a is null then 1 end as x, s from t",
    "select a as k, count(*) as x, s from t group by a, s",
    "select max(k) as k, count(*) as x, max(s) as s from e",
    "select count(*) as k, 7 as x, 'a' as s from t",
    "select distinct a as k, d as x, s from t",
    "select k, a as x, s from t union all select k, b, 'u' from u",
    "select k, a as x, s from t union select b, t_k, 'b' from u",
    "select k, a as x, s from t except select k, b, 'a' from u",
    "select top 3 k, a as x, s from t order by k desc",
    "select k, row_number() over (partition by d order by k) as x, s from t",
    "select d as k, sum(a) over (partition by d, s) as x, s from t",
    "select k, a as x, s from t where 1 = 0",
    "select 1 as k, cast(null as int) as x, 'a' as s",
    "select k, c as x, cast(null as varchar(10)) as s from v",
    "select k, (select count(*) from u where u.t_k = t.k) as x, s from t",
    "select k, x, s from e",
    "select q.k, w.x, q.s from (select k, s, d from t where d < 3) q join (select d as j, a as x from t) w on w.j = q.d",
    "select t.k, q.x, t.s from t cross apply (select b as x from u where u.t_k = t.k) q",
    "select t.k, q.x, t.s from t outer apply (select b + t.d as x from u where u.t_k = t.k and b > 0) q",
    "select t.k, q.x, t.s from t cross apply (select t.a + 1 as x) q",
    "select t.k, q.x, t.s from t cross apply (select w.x from (values (t.a), (t.d)) w (x) where w.x > 1) q",
    "select t.k, q.x, t.s from t outer apply (select n + t.d as x from (select count(*) as n from u where u.t_k = t.k) g) q",
];

/// What is asked of them: `{}` stands for the query or the table.
const QUESTIONS: &[&str] = &[
    "select k, x, s from {} d",
    "select count(*) from {} d",
    "select d.k, d.x from {} d where d.k = 3",
    "select d.k, d.x from {} d where d.x > 1 and d.x < 9",
    "select d.k from {} d where d.x is null",
    "select d.k from {} d where d.x is not null and d.s = 'A'",
    "select d.k, d.s from {} d where d.s like 'a%'",
    "select d.k, d.x from {} d where d.k in (1, 2, null, 5)",
    "select d.k from {} d where d.k > 5 and d.k < 3",
    "select d.k from {} d where d.k = 2 or d.x = 1",
    "select t.k, d.k, d.x, d.s from t left join {} d on d.k = t.k",
    "select t.k, d.x from t left join {} d on d.k = t.k where d.x is null",
    "select t.k, d.x from t left join {} d on d.k = t.k where d.x = 0",
    "select t.k, d.x from t left join {} d on d.k = t.k where d.x > 0 or d.x < 2",
    "select t.k, d.x from t left join {} d on d.k = t.k and d.x > 1 where t.k = 3",
    "select t.k, d.x, isnull(d.x, -1) from t left join {} d on d.k = t.k and t.d = 2",
    "select t.k, d.k, d.x from t full join {} d on d.k = t.a",
    "select t.k, d.k, d.x from t full join {} d on d.k = t.a where d.x > 1",
    "select t.k, d.k, d.x from t full join {} d on d.k = t.a where t.k > 2",
    "select t.k, d.k, d.x from t full join {} d on d.k = t.a where t.k + d.k > 4",
    "select d.k, d.x, u.b from {} d left join u on u.t_k = d.k",
    "select d.k, d.x from {} d left join u on u.k = d.k",
    "select d.k, d.x, u.b from {} d left join u on u.t_k = d.k where u.b = 4 or u.b = 1",
    "select d.k, d.x, u.k from {} d right join u on u.t_k = d.k",
    "select count(*), sum(d.x) from t, {} d where t.k = d.k and t.k = 3",
    "select d.k, count(*) from {} d group by d.k having d.k > 1",
    "select count(distinct d.s) from {} d where d.s > ''",
    "select d.x, f.x from {} d join {} f on f.k = d.k where d.k = 3",
    "select d.x, f.x from {} d left join {} f on f.k = d.x where f.x = 3 or f.k > 0",
    "select t.k, u.b, d.x from t left join (u join {} d on d.k = u.k) on u.t_k = t.k and d.x = 1",
    "select t.k, u.b, d.x from t left join (u left join {} d on d.k = u.k) on u.t_k = t.k and d.x = 1",
    "select t.k, d.x from t left join u on u.t_k = t.k left join {} d on d.k = u.b where d.x > 0",
    "select t.k from t where exists (select * from {} d where d.k = t.k and d.x >= t.d)",
    "select t.k from t where t.k in (select d.k from {} d where d.x > 0)",
    "select t.k from t where t.k not in (select d.k from {} d where d.x > 0 and d.k is not null)",
    "select t.k, (select max(d.x) from {} d where d.k = t.k) from t",
    "select t.k, q.x, q.one from t outer apply (select d.x, 1 as one from {} d where d.k = t.k and d.x > 0) q",
    "select t.k, q.x from t cross apply (select d.x + t.d as x from {} d where d.k = t.k) q where q.x > 2",
    "select t.k, q.x from t outer apply (select d.x + t.d as x from {} d where d.k = t.k and t.d > 1) q",
    "select d.k, row_number() over (order by d.k, d.x, d.s) + d.k, sum(d.x) over (partition by d.k) from {} d where d.k < 5",
    // The places of window functions stand behind all others, and move when merging adds some.
    "select d.k, row_number() over (order by d.k, d.x, d.s, t.k) as n from {} d cross join t",
    "select sum(d.x) over (), count(*) over (order by d.k, t.k), max(t.d) over (partition by d.s) from {} d join t on t.k = d.k",
    "select a.k, b.x from v a, {} b where a.k = b.k and b.x = a.k and a.k = 1",
    "select t.k, d.k, d.x from t, {} d where (t.k = 1 and d.x = 1) or (t.a = 3 and d.k = 3)",
    "select t.k, d.k from t join {} d on d.k = t.d where (t.k = 1 and d.x is null) or (t.a > 2 and d.x > 0) or (t.a is null and d.s = 'A')",
    "select t.k, d.k from t left join {} d on d.k = t.k where (t.k < 3 and d.x is null) or (t.k > 4 and d.x > 0)",
    "select t.k, d.k, u.b from t cross join {} d left join u on u.k = d.k
     where (t.k = 1 and (d.x = 1 or d.x is null) and u.b is null) or (t.d = 2 and d.k in (1, 3) and u.b > 0)",
    "select t.k, (select count(*) from {} d, u where (d.k = t.k and u.b = 4) or (d.x = 1 and u.t_k = t.k)) from t",
    "select t.k from t where exists (select * from {} d, u where (d.k = t.k and u.b = 4) or (d.x = 1 and u.k = 2 and u.t_k = t.k))",
];

fn sorted(session: &mut Session, query: &str) -> Vec<String> {
    let text = rows(session, query);
    let mut all: Vec<String> = text.split('|').map(str::to_owned).collect();
    all.sort();
    all
}

#[test]
fn a_query_in_from_answers_what_a_table_of_its_rows_answers() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    for source in SOURCES {
        run(&mut one, &[&format!("select * into #d from ({source}) d")]);
        for question in QUESTIONS {
            let kept = sorted(&mut one, &question.replace("{}", "#d"));
            let query = question.replace("{}", &format!("({source})"));
            assert_eq!(sorted(&mut one, &query), kept, "{query}");
            let forced = sorted(&mut one, &format!("{query} option (force order)"));
            assert_eq!(forced, kept, "{query}");
        }
        run(&mut one, &["drop table #d"]);
    }
}

/// Enough rows for a search to be worth it.
const MANY: &[&str] = &[
    "create table t (k int not null primary key, a int not null, s varchar(10) null, d int not null)",
    "create table u (k int not null primary key, t_k int not null, b int null)",
    "create index by_t on u (t_k)",
    "create view big as select k, a + 1 as x, s from t where a >= 0",
    "create view deep as select b.k, b.x, u.b from big b join u on u.t_k = b.k",
    "create function of_t (@k int) returns table as return select k, b from u where t_k = @k",
    "declare @i int = 0 while @i < 500 begin insert t values (@i, @i % 10, 'x', @i % 7) insert u values (@i, @i / 5, 1) set @i += 1 end",
];

fn plan(session: &mut Session, query: &str) -> String {
    run(session, &["set showplan_text on"]);
    let shown = rows(session, query).replace('|', "\n");
    run(session, &["set showplan_text off"]);
    // The first row is the statement's text.
    shown.replacen(query, "", 1)
}

/// A rule, a query, what its plan shows, and what it does not show.
type Shape = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const SHAPES: &[Shape] = &[
    (
        "groups that are read twice are made once, by the columns that one of the two reads",
        "with c as (select a, count(*) as n from t group by a) select a from c where n = (select max(n) from c)",
        &["Table Spool(Eager Spool)"],
        &[],
    ),
    (
        "what is asked of one reference alone is asked inside of it, and its rows are its own",
        "with c as (select a, count(*) as n from t group by a) select x.n from c x join c y on y.a = x.n where x.a = 3",
        &["[t].[a]=(3)"],
        &["Spool"],
    ),
    (
        "a LEFT JOIN of which only rows without partner are kept is an anti join",
        "select t.a from t left join u on u.t_k = t.d where u.k is null",
        &["Anti Semi Join"],
        &["Outer Join", "IS NULL"],
    ),
    (
        "a LEFT JOIN whose partners may have that NULL stays one",
        "select t.a from t left join (select k, t_k, nullif(b, 1) as b from u) u on u.t_k = t.d where u.b is null",
        &["Outer Join"],
        &["Anti"],
    ),
    (
        "what every branch of an OR says of a table is asked where it is read, that of a query inside of it",
        "select g.a, u.b from (select a, count(*) as n from t group by a) g join u on u.b = g.n
         where (g.a = 3 and u.k = 4) or (g.a = 5 and u.k = 6 and u.t_k > 7)",
        &["[u].[k]=(4) OR", "[t].[a]=(3) OR"],
        &[],
    ),
    (
        "a derived table is merged, and searched by the condition on it",
        "select d.x from (select k, a + 1 as x from t) d where d.k = 5",
        &["[t].[k]=(5)", "Seek"],
        &["Scan"],
    ),
    (
        "views in views are merged",
        "select x, b from deep where k = 5",
        &["[t].[k]=(5)"],
        &["Clustered Index Scan"],
    ),
    (
        "a common table expression is merged wherever it is used",
        "with c as (select k, a from t) select p.a, q.a from c p join c q on q.k = p.k where p.k = 7",
        &["[t].[k]=(7)"],
        &["Scan"],
    ),
    (
        "an inline function is merged with its argument",
        "select b from of_t(7)",
        &["[u].[t_k]=(7)"],
        &["Scan"],
    ),
    (
        "APPLY of a function is a join",
        "select q.b from t cross apply of_t(t.k) q where t.k = 7",
        &["[t].[k]=(7)", "Inner Join"],
        &["Clustered Index Scan"],
    ),
    (
        "a LEFT JOIN whose rows without partner are left out is an inner join",
        "select t.a, u.b from t left join u on u.t_k = t.k where u.b = 1",
        &["Inner Join"],
        &["Outer Join"],
    ),
    (
        "a LEFT JOIN whose rows without partner are asked for stays one",
        "select t.a, u.b from t left join u on u.t_k = t.k where u.b is null",
        &["Outer Join"],
        &["Inner Join"],
    ),
    (
        "a FULL JOIN of which one side is asked for is an outer join of that side",
        "select t.a, u.b from t full join u on u.t_k = t.k where t.a = 1",
        &["Outer Join"],
        &["Full Outer Join"],
    ),
    (
        "a join by a unique key that nothing is read of goes",
        "select t.a from t left join u on u.k = t.a",
        &["[t]"],
        &["[u]", "Join"],
    ),
    (
        "a join that may find several rows stays",
        "select t.a from t left join u on u.t_k = t.a",
        &["[t]", "[u]"],
        &[],
    ),
    (
        "a join on what is false is none",
        "select t.a, u.b from t left join u on 1 = 0",
        &["[t]"],
        &["[u]", "Join"],
    ),
    (
        "bounds that exclude each other are not read",
        "select a from t where k > 5 and k < 3",
        &["Constant Scan"],
        &["[t]"],
    ),
    (
        "two values of one column are not read",
        "select t.a from t join u on u.k = t.k where t.k = 5 and u.k = 6",
        &["Constant Scan"],
        &["[t]", "[u]"],
    ),
    (
        "what is said of a column is said of the one that equals it",
        "select t.a, u.b from t join u on u.k = t.k where t.k = 5",
        &["[t].[k]=(5)", "[u].[k]=(5)"],
        &["Scan"],
    ),
    (
        "and of the partner in an outer join",
        "select t.a, u.b from t left join u on u.k = t.k where t.k = 5",
        &["[t].[k]=(5)", "[u].[k]=(5)"],
        &["Scan"],
    ),
    (
        "a condition on a key of GROUP BY is asked below it",
        "select t_k, n from (select t_k, count(*) as n from u group by t_k) g where t_k = 7",
        &["[u].[t_k]=(7)", "Seek"],
        &["Scan"],
    ),
    (
        "a condition on what is counted is asked above",
        "select t_k, n from (select t_k, count(*) as n from u group by t_k) g where n = 7",
        &["Filter"],
        &["Seek"],
    ),
    (
        "a condition is asked of both branches of UNION ALL",
        "select k from (select k from t union all select k from u) q where k = 5",
        &["[t].[k]=(5)", "[u].[k]=(5)"],
        &["Scan"],
    ),
    (
        "a branch that cannot answer a row is not read",
        "select k from (select 1 as which, k from t union all select 2, k from u) q where which = 2",
        &["[u]", "Constant Scan"],
        &["[t]"],
    ),
    (
        "a condition is asked below DISTINCT",
        "select k from (select distinct k, a from t) q where k = 5",
        &["[t].[k]=(5)", "Seek"],
        &["Scan"],
    ),
    (
        "a condition on what partitions a window is asked below it",
        "select t_k, n from (select t_k, row_number() over (partition by t_k order by k) as n from u) q where t_k = 7",
        &["[u].[t_k]=(7)", "Seek"],
        &["Scan"],
    ),
    (
        "nothing is asked below TOP",
        "select k from (select top 10 k, a from t order by a) q where k = 5",
        &["Scan"],
        &["Seek"],
    ),
];

#[test]
fn each_rule_shows_in_the_plan() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, MANY);
    let mut wrong = Vec::new();
    for (rule, query, shows, hides) in SHAPES {
        let plan = plan(&mut one, query);
        let is_missing = shows.iter().any(|part| !plan.contains(part));
        if is_missing || hides.iter().any(|part| plan.contains(part)) {
            wrong.push(format!("{rule}: {query}\n{plan}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_merged_answers_its_rows() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, MANY);
    let table = [
        ("select x, b from deep where k = 5", "6 1|6 1|6 1|6 1|6 1"),
        ("select count(*), sum(b) from of_t(7)", "5 5"),
        (
            "select t.k, q.k from t outer apply of_t(t.k) q where t.k in (0, 499) order by 1, 2",
            "0 0|0 1|0 2|0 3|0 4|499 NULL",
        ),
        (
            "with c as (select k, a from t where a = 3) select count(*) from c p join c q on q.a = p.a where p.k < 20",
            "100",
        ),
        ("select count(*) from t left join u on u.k = t.a", "500"),
        (
            "select count(*), max(n) from (select t_k, count(*) as n from u group by t_k) g where t_k < 3",
            "3 5",
        ),
    ];
    for (query, expected) in table {
        assert_eq!(rows(&mut one, query), expected, "{query}");
    }
}

/// A condition that may fail is tested only for rows for which the query as it is written tests it.
#[test]
fn what_a_query_leaves_out_does_not_fail_around_it() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    let table = [
        (
            "select x.k from (select k, a from t where a <> 0) x where 10 / x.a > 5 order by 1",
            "1",
        ),
        (
            "select x.k from (select t.k, t.a from t join u on u.k = t.k where u.b = 1) x where 10 / x.a > 5",
            "1",
        ),
        (
            "select x.q from (select t.k, 10 / t.a as q from t join u on u.k = t.k where u.b = 1) x where x.q > 5",
            "10",
        ),
        (
            "select t.k, u.b from t left join u on u.t_k = t.k and u.b <> 0 where 4 / u.b = 1 order by 1",
            "4 4|5 3",
        ),
        (
            "select q.k from (select top 3 k, a from t order by k) q where 10 / q.a > 5",
            "1",
        ),
        (
            "select n.k from (select k, a from t where a > 0 union all select 0, 0 from e) n where 9 / n.a = 1",
            "6",
        ),
    ];
    for (query, expected) in table {
        assert_eq!(rows(&mut one, query), expected, "{query}");
    }
    assert_eq!(
        error(&mut one, "select x.k from (select k, a from t) x where 10 / x.a > 5"),
        8134
    );
}

/// What is written once is evaluated once where that can be seen, and in the order of RAND's places.
#[test]
fn what_may_differ_from_time_to_time_is_evaluated_once() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    let query = "select count(*) from (select k, newid() as n from t) d where d.n <> d.n or d.n is null";
    assert_eq!(rows(&mut one, query), "0");
    let query = "select count(*) from t cross apply (select newid() as n) d where d.n <> d.n";
    assert_eq!(rows(&mut one, query), "0");
}

/// Every level reads the column below it twice: put into each other the expressions would be of 2 to the power of 40 parts.
#[test]
fn expressions_that_grow_with_every_level_are_not_put_into_each_other() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    let mut query = "select k, cast(a as float) / 1e12 as x from t where k = 1".to_owned();
    for _ in 0..25 {
        query = format!("select k, x + x as x from ({query}) d");
    }
    let query = format!("select count(*) from ({query}) d where x > 0 and x + x > x");
    assert_eq!(rows(&mut one, &query), "1");
}

/// UPDATE and DELETE find their rows by what follows from other conditions, and change the same rows.
#[test]
fn changes_find_the_same_rows() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    run(
        &mut one,
        &[
            "update t set d = 10 from t left join u on u.t_k = t.k where u.b = 4",
            "update t set d = 20 from t join (select t_k, count(*) as n from u group by t_k) g on g.t_k = t.k where g.t_k = 1",
            "delete u from u left join t on t.k = u.t_k where t.k > 4 and t.k < 6",
            "delete u where b > 5 and b < 4",
            "update d set x = 99 from (select k, a as x from t where a is null) d where d.k = 2",
        ],
    );
    assert_eq!(
        rows(&mut one, "select k, a, d from t order by k"),
        "1 1 20|2 99 1|3 3 2|4 3 10|5 0 3|6 9 3"
    );
    assert_eq!(rows(&mut one, "select k from u order by k"), "1|2|3|4|5|6");
}

/// More joins than are ordered together, and more queries in each other than there are relations for.
#[test]
fn long_and_deep_statements_stay_bounded() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    let wide: Vec<String> = (0..200)
        .map(|n| format!("(select k, a from t where k = 1) d{n}"))
        .collect();
    let query = format!("select count(*) from {}", wide.join(", "));
    assert_eq!(rows(&mut one, &query), "1");
    let mut left = "(select k from t) d0".to_owned();
    for n in 1..100 {
        left = format!("{left} left join (select k, a from t) d{n} on d{n}.k = d{}.k", n - 1);
    }
    assert_eq!(
        rows(&mut one, &format!("select count(*) from {left} where d99.a = 3")),
        "2"
    );
    assert_eq!(rows(&mut one, &format!("select count(*) from {left}")), "6");
    let mut deep = "select k from t".to_owned();
    for _ in 0..60 {
        deep = format!("select k from ({deep}) d where k > 0");
    }
    assert_eq!(
        rows(&mut one, &format!("select count(*) from ({deep}) d where k = 3")),
        "1"
    );
}

/// What a common table expression answers that is read several times is what a table of its rows answers.
#[test]
fn an_expression_that_is_kept_answers_what_a_table_of_its_rows_answers() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, FEW);
    let questions = [
        "select x.k, y.x from {} x join {} y on y.k = x.x",
        "select x.k, (select max(k) from {}), (select count(*) from {}) from {} x where x.x = (select max(x) from {})",
        "select k from {} where k not in (select x from {} where x is not null)",
        "select x.k from {} x where exists (select * from {} y where y.k > x.k) and x.k < 4",
        "select x.k, y.k from {} x join {} y on x.k < y.k where y.x > 0",
        "select x.k, y.k from {} x cross join {} y where x.k = 3",
        "select t.k, q.x from t outer apply (select top 1 x from {} where k >= t.d order by k, x) q",
        "select (select count(*) from {} where 1 = 0), (select max(x) from {})",
        "select k from {} union all select x from {}",
    ];
    for source in [
        "select a as k, count(*) as x from t group by a",
        "select max(k) as k, count(*) as x from e",
        "select d as k, sum(a) over (partition by d, s) as x from t",
        "select top 3 k, a as x from t order by k desc",
        "select k, row_number() over (order by b, k) as x from u",
        "select k, max(x) as x from (select t_k as k, b as x from u union all select k, d from t) q group by k",
    ] {
        run(&mut one, &[&format!("select * into #c from ({source}) c")]);
        for question in questions {
            let tabled = sorted(&mut one, &question.replace("{}", "#c"));
            let query = format!("; with c as ({source}) {}", question.replace("{}", "c"));
            assert_eq!(sorted(&mut one, &query), tabled, "{query}");
        }
        run(&mut one, &["drop table #c"]);
    }
    // What is another each time stays so, and what is not read is not computed.
    let query = "with c as (select newid() as i, count(*) as n from t) select count(*) from c x join c y on y.i = x.i";
    assert_eq!(rows(&mut one, query), "0");
    let query =
        "with c as (select d, max(1 / (a - a)) as n from t group by d) select count(*), (select sum(d) from c) from c";
    assert_eq!(rows(&mut one, query), "3 6");
    // A table of one statement is not that of the next.
    let batch = "declare @n int = 0
        while @n < 2 begin
          insert v values (7, @n)
          ; with c as (select count(*) as n from v) select (select max(n) from c), (select min(n) from c)
          set @n += 1
        end";
    assert_eq!(rows(&mut one, batch), "6 6|7 7");
}

/// Rows with keys of many types, NULL among them, strings and bytes that are equal without being the same.
const KEYS: &[&str] = &[
    "create table few (k int not null, i int null, l bigint null, m decimal(9, 2) null, d date null, s varchar(20) null,
       n nvarchar(20) null, b varbinary(8) null, f float null, j int not null)",
    "create table many (k int not null, i int null, l bigint null, m decimal(9, 2) null, d date null, s varchar(20) null,
       n nvarchar(20) null, b varbinary(8) null, f float null, j int not null)",
    "insert many select n, nullif(n % 300, 7), n % 300, cast(n % 300 as decimal(9, 2)) / 4, dateadd(day, n % 300, '2020-01-01'),
       concat('Key ', n % 300), concat('a longer key ', n % 300), cast(n % 300 * 256 as varbinary(4)), -(n % 300) / 7.0, n % 40
       from (select a.n + 10 * b.n + 100 * c.n + 1000 * d.n as n from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) a (n),
       (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) b (n), (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) c (n),
       (values (0), (1), (2), (3), (4), (5)) d (n)) q",
    "insert few select k, i, l, m, d, upper(s) + '  ', upper(n), b + 0x0000, f, j from many where k < 40",
    "update few set i = null, s = null where k = 5",
];

#[test]
fn a_bitmap_leaves_out_no_row_that_has_a_partner() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, KEYS);
    let mut queries: Vec<String> = Vec::new();
    for on in [
        "m.i = f.i",
        "m.l = f.l",
        "m.m = f.m",
        "m.d = f.d",
        "m.s = f.s",
        "m.n = f.n",
        "m.b = f.b",
        "m.f = f.f",
        "m.j = f.j",
    ] {
        for on in [on.to_owned(), format!("{on} and m.l = f.l")] {
            let joined = format!(
                "select count(*), sum(m.k), min(m.s), max(m.n) from many m join few f on {on} where f.k < 9 and m.j <> 3"
            );
            assert!(
                plan(&mut one, &joined).contains("PROBE([Bitmap"),
                "{joined}: {}",
                plan(&mut one, &joined)
            );
            queries.push(joined);
            queries.push(format!(
                "select count(*), sum(k) from many m where exists (select * from few f where {on} and f.k < 9)"
            ));
            queries.push(format!(
                "select count(*), sum(f.k), sum(m.k) from few f left join many m on {on} and m.k > 300 where f.k < 9"
            ));
            queries.push(format!(
                "select count(*) from few f where not exists (select * from many m where {on} and m.k > 3)"
            ));
            queries.push(format!(
                "select count(*) from few f left join many m on {on} and m.k > 3 where m.k is null"
            ));
            queries.push(format!(
                "select count(*), sum(m.k), sum(g.k) from many m join few f on {on} join few g on g.j = m.j where f.k < 9 and g.k > 5"
            ));
            queries.push(format!(
                "select count(*), sum(m.k) from many m left join few g on g.j = m.j and g.k > 5 join few f on {on} where f.k < 9"
            ));
        }
    }
    for query in queries {
        let with = rows(&mut one, &query);
        run(&mut one, &["dbcc ruleoff ('ProbeBitmaps', 'AntiFromOuter')"]);
        assert_eq!(rows(&mut one, &query), with, "{query}");
        run(&mut one, &["dbcc ruleon ('ProbeBitmaps', 'AntiFromOuter')"]);
    }
}
