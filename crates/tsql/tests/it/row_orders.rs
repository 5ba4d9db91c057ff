//! Orders that rows already have: sorts of equal prefixes alone, window functions without a sort, descending joins and
//! groups. Answers are those of plans without.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// The plan of a query, as text.
fn plan(session: &mut Session, query: &str) -> String {
    run(session, &["set showplan_text on"]);
    let shown = rows(session, query);
    run(session, &["set showplan_text off"]);
    shown
}

/// Numbers that look like chance and are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// A value of `end`, or NULL.
    fn or_null(&mut self, end: u64) -> String {
        match self.below(6) {
            0 => "null".to_owned(),
            _ => self.below(end).to_string(),
        }
    }

    /// A word in one case or the other, with blanks at its end at times, or NULL.
    fn word(&mut self) -> &'static str {
        self.one(&["'a'", "'A'", "'b '", "'B'", "'ab'", "'Ab'", "''", "'z'", "null"])
    }
}

/// Two tables of columns that repeat, with indexes that give beginnings of many orders, in either direction.
fn started(seed: u64, count: u64) -> Session {
    let mut numbers = Numbers(seed);
    let mut one = session(&instance());
    let columns = "a int null, b smallint null, w varchar(10) collate Latin1_General_CI_AS null, x varbinary(4) null, c decimal(7, 2) not null";
    run(
        &mut one,
        &[
            &format!(
                "create table t (id int not null constraint pk_t primary key nonclustered, {columns});
                 create clustered index t_a on t (a, b desc); create index t_w on t (w desc, id) include (b, c); create index t_x on t (x, c)
                   include (a, b, w, id)"
            ),
            &format!(
                "create table u (id int not null constraint pk_u primary key, {columns});
                 create index u_ab on u (a, b) include (w, c); create index u_b on u (b desc) include (a, c)"
            ),
        ],
    );
    for (table, offset) in [("t", 0), ("u", 1)] {
        let values: Vec<String> = (0..count)
            .map(|id| {
                let binary = numbers.one(&["0x01", "0x0100", "0x02", "0x", "null"]);
                format!(
                    "({}, {}, {}, {}, {binary}, {})",
                    id * 2 + offset,
                    numbers.or_null(12),
                    numbers.or_null(5),
                    numbers.word(),
                    numbers.below(9)
                )
            })
            .collect();
        for part in values.chunks(500) {
            run(&mut one, &[&format!("insert {table} values {}", part.join(", "))]);
        }
    }
    one
}

const RULES: &str = "('PartialSort', 'WindowFromOrder', 'SortFromIndex', 'SortFromOrder', 'StreamAggregate', 'MergeJoin') with no_infomsgs";

/// Asks with and without the rules, which must answer the same.
fn assert_same(one: &mut Session, query: &str) {
    let with = rows(one, query);
    let without = sorted_by_rules_off(one, query);
    assert_eq!(with, without, "{query}\n{}", plan(one, query));
}

/// Keys of an order, each once.
fn keys(numbers: &mut Numbers, names: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut chosen, mut ordered): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for _ in 0..=numbers.below(4) {
        let key = numbers.one(names);
        if !chosen.iter().any(|other| other == key) {
            chosen.push(key.to_owned());
            ordered.push(format!("{key}{}", numbers.one(&["", " desc"])));
        }
    }
    (chosen, ordered)
}

#[test]
fn sorts_of_groups_answer_what_sorts_of_all_rows_do() {
    let mut partial = 0;
    for seed in 1..=6 {
        let mut numbers = Numbers(seed);
        let mut one = started(seed, [40, 400, 1_500][seed as usize % 3]);
        for _ in 0..60 {
            let is_joined = numbers.below(3) == 0;
            let table = numbers.one(&["t", "u"]);
            let (from, mut names): (String, Vec<String>) = match is_joined {
                false => (table.to_owned(), ["id", "a", "b", "w", "c"].map(str::to_owned).to_vec()),
                true => (
                    format!("{table} join u v on v.a = {table}.a"),
                    [
                        format!("{table}.a"),
                        format!("{table}.b"),
                        "v.id".to_owned(),
                        "v.b".to_owned(),
                    ]
                    .to_vec(),
                ),
            };
            if !is_joined {
                names.push("x".to_owned());
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (mut shown, mut order) = keys(&mut numbers, &names);
            let filter = numbers.one(&["", "where c < 5", "where a = 3", "where a > 4", "where b in (1, 3)"]);
            let filter = if is_joined { String::new() } else { filter.to_owned() };
            let first = format!("top {}{}", numbers.below(60), numbers.one(&["", "", " with ties"]));
            let (first, behind) = match numbers.below(4) {
                0 => (String::new(), String::new()),
                1 => (
                    String::new(),
                    format!(
                        " offset {} rows fetch next {} rows only",
                        numbers.below(30),
                        numbers.below(20) + 1
                    ),
                ),
                _ => (first, String::new()),
            };
            // Else what is shown is all that the order goes by, so that equal rows are the same.
            if !is_joined && numbers.below(2) == 0 && !shown.iter().any(|key| key == "id") {
                order.push("id".to_owned());
                shown = ["id", "a", "b", "w", "x", "c"].map(str::to_owned).to_vec();
            }
            // Words that are equal may be written otherwise.
            let shown: Vec<String> = shown
                .iter()
                .map(|key| match key.as_str() {
                    "w" => "upper(rtrim(w)) w1".to_owned(),
                    "x" => "case when x = 0x01 then 0x01 else x end x1".to_owned(),
                    other => other.to_owned(),
                })
                .collect();
            let query = format!(
                "select {first} {} from {from} {filter} order by {}{behind}",
                shown.join(", "),
                order.join(", ")
            );
            partial += usize::from(plan(&mut one, &query).contains("PARTIAL SORT, PRESORTED:("));
            assert_same(&mut one, &query);
        }
    }
    assert!(partial > 20, "{partial} were partial");
}

#[test]
fn what_is_equal_in_the_first_keys_is_sorted_by_itself() {
    let mut one = started(3, 1_500);
    for (query, mark) in [
        (
            "select a, b, c from t order by a, c, b",
            "PRESORTED:([master].[dbo].[t].[a] ASC), ORDER BY:(",
        ),
        (
            "select a, b, c from t order by a, b desc, c",
            "[a] ASC, [master].[dbo].[t].[b] DESC), ORDER BY:(",
        ),
        (
            "select a, b, c from t order by a desc, c, b",
            "PRESORTED:([master].[dbo].[t].[a] DESC), ORDER BY:(",
        ),
        (
            "select top 5 id, b, c from u order by b desc, c, id",
            "PRESORTED:([master].[dbo].[u].[b] DESC), ORDER BY:(",
        ),
        (
            "select top 5 id, b, c from u order by b, c desc, id",
            "PRESORTED:([master].[dbo].[u].[b] ASC), ORDER BY:(",
        ),
        (
            "select t.a, v.c from t join u v on v.id = t.c order by t.a, v.c option (loop join, force order)",
            "PRESORTED:([master].[dbo].[t].[a] ASC), ORDER BY:(",
        ),
        (
            "select a, b, count(*) n from u group by a, b order by a, n, b",
            "PRESORTED:([master].[dbo].[u].[a] ASC), ORDER BY:(",
        ),
    ] {
        let shown = plan(&mut one, query);
        assert!(
            shown.contains("Sort(PARTIAL SORT, ") && shown.contains(mark),
            "{query}: {shown}"
        );
        assert_same(&mut one, query);
    }
    for query in [
        "select a, b, c from t order by b, a, c",
        // Zeros at the end of a binary string count in an index and nowhere else.
        "select top 5 c from t order by x, c",
        "select a, b from t where a = 3 order by b desc, a",
    ] {
        let shown = plan(&mut one, query);
        assert!(!shown.contains("PARTIAL SORT"), "{query}: {shown}");
        assert_same(&mut one, query);
    }
}

/// A window function of columns, as text.
fn window(numbers: &mut Numbers) -> String {
    let names = ["a", "b", "w", "x", "c"];
    let partition: Vec<&str> = names.iter().copied().filter(|_| numbers.below(3) == 0).collect();
    let (_, mut order) = keys(numbers, &names);
    let function = numbers.one(&[
        "row_number()",
        "rank()",
        "dense_rank()",
        "lag(id)",
        "sum(c)",
        "count(*)",
        "first_value(id)",
        "ntile(3)",
        "percent_rank()",
    ]);
    // What looks at single rows wants to know which is first.
    if !matches!(
        function,
        "rank()" | "dense_rank()" | "sum(c)" | "count(*)" | "percent_rank()"
    ) {
        order.push("id".to_owned());
    }
    let partition = match partition.is_empty() {
        true => String::new(),
        false => format!("partition by {} ", partition.join(", ")),
    };
    let frame = match function {
        "sum(c)" | "count(*)" => numbers.one(&["", " range between current row and unbounded following"]),
        _ => "",
    };
    format!("{function} over ({partition}order by {}{frame})", order.join(", "))
}

#[test]
fn windows_of_rows_in_order_answer_what_sorted_ones_do() {
    let (mut streamed, mut ordered) = (0, 0);
    for seed in 1..=9 {
        let mut numbers = Numbers(seed + 100);
        let mut one = started(seed, [30, 300, 900][seed as usize % 3]);
        for _ in 0..50 {
            let calls: Vec<String> = (0..=numbers.below(2)).map(|_| window(&mut numbers)).collect();
            let table = numbers.one(&["t", "u", "u"]);
            let filter = numbers.one(&["", "where c < 5", "where a = 3", "where a > 4", "where b in (1, 3)"]);
            let query = format!("select id, {} from {table} {filter} order by id", calls.join(", "));
            let shown = plan(&mut one, &query);
            streamed += usize::from(shown.contains("STREAM BY:("));
            ordered += usize::from(shown.contains("ORDERED, "));
            assert_same(&mut one, &query);
        }
    }
    assert!(streamed > 30 && ordered > 4, "{streamed} and {ordered}");
}

/// SQL Server promises no order without ORDER BY, and returns rows in that of the last window function, which sorted them: SQLAlchemy's
/// `OperatorTest.test_over` and many a published result show it. A sort by that order, and by a row number, has nothing left to do.
#[test]
fn rows_come_out_in_the_order_of_the_last_window() {
    let mut left_out = 0;
    for seed in 1..=4 {
        let mut numbers = Numbers(seed + 300);
        let mut one = started(seed, [25, 250][seed as usize % 2]);
        for _ in 0..40 {
            let table = numbers.one(&["t", "u"]);
            let (parts, _) = keys(&mut numbers, &["a", "b", "w"]);
            let (_, order) = keys(&mut numbers, &["c", "a", "b", "id"]);
            let partition = match numbers.below(2) {
                0 => String::new(),
                _ => format!("partition by {} ", parts.join(", ")),
            };
            let order = format!(
                "{}, id",
                order.join(", ").replace("id desc", "c desc").replace("id", "c")
            );
            let before = match numbers.below(3) {
                0 => format!("{}, ", window(&mut numbers)),
                _ => String::new(),
            };
            let function = numbers.one(&["row_number()", "sum(c)", "rank()", "lag(id)"]);
            let query =
                format!("select id, {before}{function} over ({partition}order by {order}) as last from {table}");
            let by = match partition.is_empty() {
                true if function == "row_number()" => "last".to_owned(),
                true => order.clone(),
                false => format!("{}, {order}", parts.join(", ")),
            };
            let sorted = format!("{query} order by {by}");
            if !is_valid_order(&by) {
                continue;
            }
            // PARTITION BY has no direction: rows that come by partition keep theirs.
            let shown = plan(&mut one, &query);
            if !shown.contains("STREAM BY:(") && !shown.contains("(ORDERED") {
                assert_eq!(
                    rows(&mut one, &query),
                    sorted_by_rules_off(&mut one, &sorted),
                    "{query}\n{shown}"
                );
                left_out += usize::from(!plan(&mut one, &sorted).contains("Sort("));
            }
            assert_same(&mut one, &sorted);
        }
    }
    assert!(left_out > 20, "{left_out}");
}

/// Whether no column stands twice in ORDER BY, which is 169.
fn is_valid_order(by: &str) -> bool {
    let mut names: Vec<&str> = by.split(", ").map(|key| key.trim_end_matches(" desc")).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() == count
}

/// The rows of a query that is sorted by a sort.
fn sorted_by_rules_off(one: &mut Session, query: &str) -> String {
    run(one, &[&format!("dbcc ruleoff {RULES}")]);
    let sorted = rows(one, query);
    run(one, &[&format!("dbcc ruleon {RULES}")]);
    sorted
}

#[test]
fn windows_go_by_the_order_that_rows_come_in() {
    let mut one = started(3, 900);
    for (query, mark) in [
        (
            "select id, row_number() over (partition by a order by b desc) from t",
            "(STREAM BY:([master].[dbo].[t].[a]), ORDERED, DEFINE:(",
        ),
        // PARTITION BY has no direction, and no sequence.
        (
            "select id, rank() over (partition by b order by a) from u",
            "(STREAM BY:([master].[dbo].[u].[b]), DEFINE:(",
        ),
        (
            "select sum(c) over (partition by b, a) from t",
            "(STREAM BY:([master].[dbo].[t].[a], [master].[dbo].[t].[b]), ORDERED, DEFINE:(",
        ),
        // A part is what the partitions of all calls have in common.
        (
            "select sum(c) over (partition by b, a), lag(c) over (partition by a order by b desc) from t",
            "(STREAM BY:([master].[dbo].[t].[a]), ORDERED, DEFINE:(",
        ),
        (
            "select max(id) over (partition by a order by c) from t",
            "(STREAM BY:([master].[dbo].[t].[a]), DEFINE:(",
        ),
        (
            "select row_number() over (order by a desc, b) from t",
            "(ORDERED, DEFINE:(",
        ),
        (
            "select sum(count(*)) over (partition by a) from u group by a, b",
            "(STREAM BY:(",
        ),
    ] {
        let shown = plan(&mut one, query);
        assert!(shown.contains(&format!("Window Aggregate{mark}")), "{query}: {shown}");
    }
    for query in [
        "select row_number() over (partition by x order by id) from t",
        "select rank() over (partition by c order by a) from t",
    ] {
        let shown = plan(&mut one, query);
        assert!(shown.contains("Window Aggregate(DEFINE:("), "{query}: {shown}");
    }
    // What is above them needs no sort either, and takes no more than it wants.
    let query = "select top 3 a, b, id, rank() over (partition by a order by b desc) from t order by a, b desc";
    let shown = plan(&mut one, query);
    assert!(!shown.contains("Sort("), "{shown}");
}

#[test]
fn rows_that_come_greatest_first_are_joined_and_grouped() {
    let mut one = session(&instance());
    run(
        &mut one,
        &[
            "create table l (k int not null, n int null, v int not null, constraint pk_l primary key (k desc)); create index l_n on l (n desc)
               include (v)",
            "create table r (k int not null, n int null, v int not null, constraint pk_r primary key (k desc)); create index r_n on r (n desc)
               include (v)",
            "declare @i int = 0 while @i < 700 begin
               insert l values (@i, nullif(@i % 50, 7), @i % 9)
               if @i % 3 > 0 insert r values (@i + 5, nullif(@i % 70, 9), @i % 8)
               set @i += 1
             end",
        ],
    );
    for (query, is_sorted) in [
        ("select l.k, r.v from l join r on r.k = l.k order by l.k desc", false),
        ("select l.k, r.v from l join r on r.k = l.k order by l.k", false),
        ("select l.k, r.v from l left join r on r.k = l.k order by l.k", false),
        (
            "select r.k, l.v from l full join r on r.k = l.k order by r.k, l.v",
            true,
        ),
        (
            "select k from l where exists (select * from r where r.k = l.k) order by k",
            false,
        ),
        (
            "select k from l where k not in (select k from r) order by k desc",
            false,
        ),
        ("select count(*), sum(l.v * r.v) from l join r on r.n = l.n", false),
        (
            "select l.k, count(*) from l join r on r.k = l.k group by l.k order by l.k",
            false,
        ),
        ("select top 4 n, sum(v) from l group by n order by n", false),
        ("select top 4 n, sum(v) from l group by n order by n desc", false),
        ("select distinct n from l order by n", false),
        ("select n, count(*) c from l group by n order by n, c desc", true),
    ] {
        let hinted = match query.contains("join") || query.contains("exists") || query.contains("not in") {
            true => format!("{query} option (merge join)"),
            false => query.to_owned(),
        };
        let shown = plan(&mut one, &hinted);
        let is_merged = shown.contains("Merge Join(") || !hinted.contains("merge");
        assert!(is_merged && shown.contains("Sort(") == is_sorted, "{query}: {shown}");
        for asked in [query, &hinted] {
            assert_same(&mut one, asked);
        }
    }
}

/// Of a long string its beginning is compared first: with blanks that do not count, letters of two bytes at its end, equal ones.
#[test]
fn the_first_rows_by_long_strings_are_those_of_a_sort_of_all() {
    let mut numbers = Numbers(11);
    let mut one = session(&instance());
    let collations = [
        "SQL_Latin1_General_CP1_CI_AS",
        "SQL_Latin1_General_CP1_CS_AS",
        "Latin1_General_CI_AI",
        "Latin1_General_CS_AS",
        "Latin1_General_BIN",
        "Latin1_General_BIN2",
    ];
    run(
        &mut one,
        &["create table long_strings (id int not null primary key, s nvarchar(600) null)"],
    );
    let pieces = [
        "replicate(N'a', 31)",
        "replicate(N'A', 31)",
        "replicate(N'a', 40)",
        "replicate(N' ', 150)",
        "replicate(N'ä', 60)",
        "N'é'",
        "N'ß'",
        "N'ж'",
        "N'-'",
        "replicate(N'a', 31) + N'é'",
        "replicate(N'z', 200)",
        "N''",
        "nchar(9)",
        "N'B'",
        "replicate(N'a ', 70)",
        "cast(null as nvarchar(9))",
    ];
    for id in 0..400 {
        let text: Vec<&str> = (0..=numbers.below(3)).map(|_| numbers.one(&pieces)).collect();
        let text = text.join(" + ");
        run(&mut one, &[&format!("insert long_strings values ({id}, {text})")]);
    }
    for collation in collations {
        for direction in ["", " desc"] {
            let order = format!("from long_strings order by s collate {collation}{direction}, id desc");
            let all = rows(&mut one, &format!("select id, s {order}"));
            for wanted in [1, 7, 30, 50, 60, 70, 120, 390] {
                let first = rows(&mut one, &format!("select top {wanted} id, s {order}"));
                let expected: Vec<&str> = all.split('|').take(wanted).collect();
                assert_eq!(first.split('|').collect::<Vec<_>>(), expected, "{wanted} of {order}");
            }
        }
    }
}
