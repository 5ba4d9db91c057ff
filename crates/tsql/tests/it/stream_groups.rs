//! GROUP BY and DISTINCT over ordered rows, against hash tables, with and without hints; sorts that become unnecessary; how
//! plans show them.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// The plan of a query, as text.
fn plan(session: &mut Session, query: &str) -> String {
    run(session, &["set showplan_text on"]);
    let shown = rows(session, query);
    run(session, &["set showplan_text off"]);
    shown
}

const TABLES: &[&str] = &[
    "create table t (id int not null, a int null, b smallint null, w varchar(10) collate Latin1_General_CI_AS null, x varbinary(4) null,
       m decimal(9, 2) not null, pad char(200) not null default '', constraint pk_t primary key (id))
     create index t_ab on t (a, b) include (m)
     create index t_w on t (w desc)",
    "create table parent (id int not null constraint pk_parent primary key, day int not null, name varchar(20) not null)",
    "create table child (parent int not null, n int not null, amount int not null, constraint pk_child primary key (parent, n))",
    "declare @i int = 0 while @i < 600 begin
       insert t (id, a, b, w, x, m) values (@i, nullif(@i * 7 % 23, 5), nullif(@i * 11 % 5, 3), case @i % 6 when 0 then null when 1 then 'a' when 2 then 'A' when 3
         then 'b ' when 4 then 'B' else 'c' end, case @i % 4 when 0 then 0x01 when 1 then 0x0100 when 2 then null else 0x02 end, @i % 31 * 0.25)
       if @i % 5 > 0 insert parent values (@i, @i % 12, 'p')
       if @i % 5 > 1 insert child values (@i, 1, @i % 7), (@i, 2, @i % 11)
       set @i += 1
     end",
];

fn started() -> Session {
    let mut one = session(&instance());
    run(&mut one, TABLES);
    one
}

/// Questions whose answers have one order.
const QUERIES: &[&str] = &[
    "select a, count(*), sum(m), min(b), max(id) from t group by a order by a",
    "select a, b, count(*), count(distinct m), avg(m) from t group by a, b order by a, b",
    "select b, a, count(*), sum(distinct m) from t group by b, a order by b desc, a desc",
    "select upper(w), count(*), count(x), count(distinct x) from t group by w order by 1",
    "select count(*), sum(n) from (select x, count(*) as n from t group by x) g",
    "select count(*), sum(n) from (select x, a, count(*) as n from t group by x, a) g",
    "select a, grouping(a), count(*) from t group by (a) order by a",
    "select id % 10, count(*) from t group by id % 10 having count(*) > 3 order by 1",
    "select a, count(*) from t where a = 7 group by a",
    "select a, count(*) from t where a > 1000 group by a order by a",
    "select string_agg(s, ',') within group (order by s) from (select distinct a as s from t) g",
    "select distinct a, b from t order by a, b",
    "select distinct b from t where a = 4 order by b",
    "select distinct id, a from t where id < 20 order by id, a",
    "select distinct top 5 a, b from t order by a desc, b desc",
    "select count(*), sum(a) from (select distinct a, x from t) g",
    "select p.id, p.day, count(*), sum(c.amount) from parent p join child c on c.parent = p.id group by p.id, p.day order by p.id",
    "select c.parent, p.name, count(*) from child c join parent p on c.parent = p.id where p.day < 5 group by p.name, c.parent order by c.parent",
    "select p.id, count(c.n) from parent p left join child c on c.parent = p.id group by p.id order by p.id, count(c.n)",
    "select p.day, count(*) from parent p full join child c on c.parent = p.id + 1 group by p.day order by p.day",
    "select top 3 p.id, c.n from parent p join child c on c.parent = p.id order by p.id, c.n",
    "select distinct p.id, p.name from parent p join child c on c.parent = p.id order by p.id",
];

#[test]
fn groups_are_the_same_however_they_are_made() {
    let mut one = started();
    for query in QUERIES {
        run(
            &mut one,
            &["dbcc ruleoff ('StreamAggregate', 'SortFromOrder', 'DistinctFromKey', 'MergeJoin')"],
        );
        let wanted = rows(&mut one, query);
        run(
            &mut one,
            &["dbcc ruleon ('StreamAggregate', 'SortFromOrder', 'DistinctFromKey', 'MergeJoin')"],
        );
        for way in [
            "",
            "option (order group)",
            "option (hash group)",
            "option (order group, merge join)",
            "option (hash group, merge join)",
        ] {
            assert_eq!(rows(&mut one, &format!("{query} {way}")), wanted, "{query} {way}");
        }
    }
}

#[test]
fn hints_say_how_groups_are_made() {
    let mut one = started();
    for query in [
        "select a, count(*) from t group by a",
        "select id % 3, sum(m) from t group by id % 3",
        "select distinct a, m from t",
    ] {
        let by_order = plan(&mut one, &format!("{query} option (order group)"));
        assert!(
            by_order.contains("Stream Aggregate(GROUP BY:(") && !by_order.contains("Hash Match"),
            "{by_order}"
        );
        let by_hash = plan(&mut one, &format!("{query} option (hash group)"));
        assert!(
            by_hash.contains("Hash Match(Aggregate, HASH:(") && !by_hash.contains("Stream"),
            "{by_hash}"
        );
        // Both together are not a hint.
        let either = plan(&mut one, &format!("{query} option (hash group, order group)"));
        let operators = |shown: &str| shown.split("|--").skip(1).collect::<String>();
        assert_eq!(operators(&either), operators(&plan(&mut one, query)));
    }
    let sorted = plan(&mut one, "select m, count(*) from t group by m option (order group)");
    assert!(
        sorted.contains("Sort(ORDER BY:([master].[dbo].[t].[m] ASC)"),
        "{sorted}"
    );
    // Grouping sets are made by a table alone.
    let sets = "select a, b, count(*) from t group by rollup (a, b) option (order group)";
    assert_eq!(error(&mut one, sets), 8622);
}

#[test]
fn groups_stream_where_rows_come_so() {
    let mut one = started();
    for (query, has_sort) in [
        (
            "select a, b, count(*) from t with (index (t_ab)) group by b, a order by a, b",
            false,
        ),
        (
            "select a, count(*) from t with (index (t_ab)) where b > 0 group by a order by a",
            false,
        ),
        ("select id, w, count(*) from t group by id, w order by id", false),
        (
            "select p.id, p.day, p.name, sum(c.amount) from parent p join child c on c.parent = p.id group by p.day, p.name, p.id order by p.id",
            false,
        ),
        (
            "select p.id, sum(c.amount) from parent p join child c on c.parent = p.id group by p.id order by sum(c.amount)",
            true,
        ),
    ] {
        let shown = plan(&mut one, query);
        assert!(shown.contains("Stream Aggregate(GROUP BY:("), "{query}: {shown}");
        assert_eq!(shown.contains("Sort("), has_sort, "{query}: {shown}");
    }
    for query in [
        // Strings of bytes that are equal lie apart in an index.
        "select x, a, count(*) from t group by x, a",
        "select b, sum(m) from t group by b",
        "select p.day, count(*) from parent p join child c on c.parent = p.id group by p.day",
    ] {
        let shown = plan(&mut one, query);
        assert!(shown.contains("Hash Match(Aggregate"), "{query}: {shown}");
    }
    let distinct = plan(&mut one, "select distinct p.day, p.id from parent p where p.name = 'p'");
    assert!(!distinct.contains("Aggregate"), "{distinct}");
}

#[test]
fn binary_strings_sort_as_they_compare() {
    let mut one = started();
    run(&mut one, &["create table v (x varbinary(4) not null, n int not null)"]);
    run(
        &mut one,
        &["insert v values (0x0100, 1), (0x01, 2), (0x010000, 0), (0x0101, 9)"],
    );
    assert_eq!(rows(&mut one, "select n from v order by x, n"), "0|1|2|9");
    assert_eq!(
        rows(
            &mut one,
            "select row_number() over (order by x, n) * 10 + n from v order by 1"
        ),
        "10|21|32|49"
    );
}
