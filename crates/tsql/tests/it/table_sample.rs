//! TABLESAMPLE: whole pages, about the share that is asked for, the same ones under REPEATABLE, of heaps and of clustered tables.
//!
//! Source: SQL Server docs, "Limiting Result Sets by Using TABLESAMPLE", and the list of "Database Engine events and errors".
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use answers::{error, rows, run};
use transcript::{instance, session};
use tsql::session::Session;

/// Two tables of 4,000 rows, 4 on a page.
fn tables(session: &mut Session) {
    for (name, key) in [("heap", ""), ("tree", " primary key")] {
        run(
            session,
            &[&format!(
                "create table {name} (n int not null{key}, pad char(1900) not null default 'x'); \
                 insert {name} (n) select value from generate_series(1, 4000)"
            )],
        );
    }
}

fn count(session: &mut Session, query: &str) -> i64 {
    rows(session, query).parse().unwrap()
}

#[test]
fn about_the_share_of_all_pages_is_read_and_each_page_whole() {
    let instance = instance();
    let mut one = session(&instance);
    tables(&mut one);
    for table in ["heap", "tree"] {
        for (size, low, high) in [
            ("(0 percent)", 0, 0),
            ("(100 percent)", 4_000, 4_000),
            ("system (50)", 1_600, 2_400),
            ("(10 percent)", 200, 640),
            ("(1000 rows)", 700, 1_320),
            ("(2 * 50 + 0.0 percent)", 4_000, 4_000),
            ("(1000000000 rows)", 4_000, 4_000),
        ] {
            let query = format!("select count(*) from {table} tablesample {size} repeatable (3)");
            let found = count(&mut one, &query);
            assert!((low..=high).contains(&found), "{query}: {found}");
        }
        // Of each page that is in the sample all rows are.
        let pages = |sample: &str| {
            format!(
                "select substring(%%physloc%%, 1, 6) as page, count(*) as n from {table} {sample} group by substring(%%physloc%%, 1, 6)"
            )
        };
        let (all, some) = (pages(""), pages("tablesample (30 percent) repeatable (9)"));
        let whole = format!("select count(*) from ({all}) a join ({some}) s on s.page = a.page where s.n <> a.n");
        assert_eq!(rows(&mut one, &whole), "0", "{table}");
    }
}

#[test]
fn a_seed_gives_the_same_rows_again_and_none_gives_others() {
    let instance = instance();
    let mut one = session(&instance);
    tables(&mut one);
    let mut sums = Vec::new();
    for table in ["heap", "tree"] {
        let by_seed = |seed: &str| format!("select sum(n) from {table} tablesample (20 percent) {seed}");
        let first = rows(&mut one, &by_seed("repeatable (77)"));
        assert_eq!(first, rows(&mut one, &by_seed("repeatable (77)")));
        assert_ne!(first, rows(&mut one, &by_seed("repeatable (78)")));
        sums.push(first);
        // Five samples of 200 of 1,000 pages that are all the same would be no samples.
        let drawn: Vec<String> = (0..5).map(|_| rows(&mut one, &by_seed(""))).collect();
        assert!(drawn.iter().any(|sum| *sum != drawn[0]), "{drawn:?}");
    }
    // Who joins, filters, groups or changes a sample, has its rows alone.
    let sampled = "select n from heap tablesample (20 percent) repeatable (77)";
    let joined = format!(
        "select count(*) from tree t join heap h tablesample (20 percent) repeatable (77) on h.n = t.n \
         where h.n not in ({sampled})"
    );
    assert_eq!(rows(&mut one, &joined), "0");
    let kept = rows(&mut one, &format!("select count(*) from ({sampled}) s"));
    run(
        &mut one,
        &["update h set pad = 'y' from heap h tablesample (20 percent) repeatable (77)"],
    );
    assert_eq!(rows(&mut one, "select count(*) from heap where pad = 'y'"), kept);
    run(
        &mut one,
        &["delete h from heap h tablesample (20 percent) repeatable (77)"],
    );
    assert_eq!(rows(&mut one, "select count(*) from heap where pad = 'y'"), "0");
}

#[test]
fn what_cannot_be_sampled_says_so() {
    let instance = instance();
    let mut one = session(&instance);
    tables(&mut one);
    run(&mut one, &["create view v as select n from heap"]);
    run(&mut one, &["create synonym s for heap"]);
    run(&mut one, &["create index ix on heap (n)"]);
    for (query, number) in [
        ("select * from heap tablesample (101 percent)", 476),
        ("select * from heap tablesample (-1)", 476),
        ("select * from heap tablesample (1.5 rows)", 477),
        ("select * from heap tablesample (5) repeatable (0.5)", 477),
        ("select * from heap tablesample (0 rows)", 479),
        ("select * from heap tablesample (5) repeatable (-3)", 479),
        ("declare @n int = 5 select * from heap tablesample (@n rows)", 482),
        ("select * from heap tablesample (null)", 482),
        ("select * from heap tablesample ('5')", 482),
        ("select * from v tablesample (5)", 494),
        ("select * from sys.objects tablesample (5)", 494),
        ("with c as (select n from heap) select * from c tablesample (5)", 494),
        ("select * from (select n from heap) d tablesample (5)", 475),
        ("declare @t table (n int) select * from @t tablesample (5)", 475),
        ("select * from string_split('a', ',') x tablesample (5)", 480),
        ("select * from heap tablesample (5) with (index (ix))", 8622),
        ("select * from heap tablesample (5) with (forceseek)", 8622),
    ] {
        assert_eq!(error(&mut one, query), number, "{query}");
    }
    for definition in [
        "create view w as select n from heap tablesample (5)",
        "create view w as with c as (select n from heap tablesample (5)) select n from c",
        "create function f () returns table as return (select n from heap tablesample (5))",
    ] {
        assert_eq!(error(&mut one, definition), 478, "{definition}");
    }
    // A procedure may, and a synonym stands for its table.
    run(
        &mut one,
        &["create procedure p as select count(*) from s tablesample (100 percent)"],
    );
    assert_eq!(rows(&mut one, "exec p"), "4000");
}
