//! Documented maximums: the maximum runs, one more is refused by its number (sql-docs, "Maximum capacity specifications for
//! SQL Server"; for others the page is named). Limits of memory or disk alone are not here.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use std::sync::Arc;

use answers::{answers, error, rows};
use engine::instance::Instance;
use transcript::{instance, session};
use tsql::session::Session;

/// A maximum: what it is, and a batch with so many.
struct Maximum {
    what: &'static str,
    count: usize,
    number: i32,
    batch: fn(usize) -> String,
}

/// `count` pieces with something between them.
fn list(count: usize, between: &str, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect::<Vec<_>>().join(between)
}

fn columns(count: usize, text: &str) -> String {
    list(count, ", ", |n| text.replace('$', &n.to_string()))
}

/// A table of so many columns that something is said of all of.
fn keyed(count: usize, rest: &str) -> String {
    let rest = rest.replace("KEYS", &columns(count, "c$"));
    format!("create table k ({}) {rest}", columns(count, "c$ bit not null"))
}

/// A query with so many different keys in its grouping sets.
fn grouped(count: usize, by: &str) -> String {
    let by = by.replace("KEYS", &columns(count, "c$"));
    format!(
        "select count(*) from (select {}) t group by {by}",
        columns(count, "1 c$")
    )
}

const MAXIMUMS: &[Maximum] = &[
    Maximum {
        what: "columns of a table",
        count: 1_024,
        number: 1702,
        batch: |count| format!("create table w ({})", columns(count, "c$ bit")),
    },
    Maximum {
        what: "columns of a SELECT",
        count: 4_096,
        number: 1056,
        batch: |count| format!("select {}", columns(count, "$")),
    },
    Maximum {
        what: "key columns of an index",
        count: 32,
        number: 1904,
        batch: |count| keyed(count, "create index i on k (KEYS)"),
    },
    Maximum {
        what: "key columns of a primary key",
        count: 32,
        number: 1904,
        batch: |count| keyed(count, "alter table k add constraint p primary key (KEYS)"),
    },
    Maximum {
        what: "key columns of an index of CREATE TABLE",
        count: 32,
        number: 1904,
        batch: |count| {
            let keys = columns(count, "c$");
            format!(
                "create table k ({}, unique ({keys}))",
                columns(count, "c$ bit not null")
            )
        },
    },
    Maximum {
        what: "nonclustered indexes of a table",
        count: 999,
        number: 1910,
        batch: |count| format!("create table n (c int, {})", columns(count, "index i$ (c)")),
    },
    Maximum {
        what: "characters of an identifier",
        count: 128,
        number: 103,
        batch: |count| format!("select 1 as {}", "a".repeat(count)),
    },
    Maximum {
        what: "parameters of a procedure",
        count: 2_100,
        number: 180,
        batch: |count| format!("create procedure p {} as return", columns(count, "@p$ int")),
    },
    Maximum {
        what: "parameters of a function",
        count: 2_100,
        number: 180,
        batch: |count| {
            format!(
                "create function f ({}) returns int as begin return 1 end",
                columns(count, "@p$ int")
            )
        },
    },
    Maximum {
        what: "expressions beside grouping sets",
        count: 32,
        number: 10706,
        batch: |count| grouped(count, "rollup (KEYS)"),
    },
    Maximum {
        what: "columns of CUBE: 4,096 grouping sets",
        count: 12,
        number: 10703,
        batch: |count| grouped(count, "cube (KEYS)"),
    },
    Maximum {
        what: "grouping sets",
        count: 4_096,
        number: 10703,
        batch: |count| grouped(1, &format!("grouping sets ({})", columns(count, "(c0)"))),
    },
    Maximum {
        what: "grouping sets of several lists",
        count: 64,
        number: 10703,
        batch: |count| {
            let sets = columns(count, "(c0)");
            grouped(
                1,
                &format!("grouping sets ({sets}), grouping sets ({})", columns(64, "(c0)")),
            )
        },
    },
    Maximum {
        // sql-docs, "Table Value Constructor".
        what: "rows of VALUES in an INSERT",
        count: 1_000,
        number: 10738,
        batch: |count| format!("declare @t table (c int) insert @t values {}", columns(count, "($)")),
    },
    Maximum {
        // sql-docs, "MSSQLSERVER_8632".
        what: "identifiers and constants of a search condition",
        count: 65_535,
        number: 8632,
        batch: |count| {
            // Comparisons of two, and one of what is left.
            let pairs = (count - 3) / 2;
            let sum = list(count - 2 * pairs - 1, " + ", |_| "0".to_owned());
            let others = list(pairs, " or ", |_| "a = 1".to_owned());
            format!("select a from (select 1 a) t where a = {sum} or {others}")
        },
    },
    Maximum {
        what: "variables of an IN, with what is looked for",
        count: 65_535,
        number: 8632,
        batch: |count| format!("declare @v int = 1 select 1 where 1 in ({})", columns(count - 1, "@v")),
    },
    Maximum {
        what: "identifiers and constants of a select list",
        count: 65_535,
        number: 8632,
        batch: |count| {
            // Branches of three, and a few columns beside.
            let branches = list(21_840, " ", |_| "when 1 = 1 then 1".to_owned());
            format!("select case {branches} end, {}", columns(count - 3 * 21_840, "1"))
        },
    },
];

fn fresh() -> (Arc<Instance>, Session) {
    let instance = instance();
    let session = session(&instance);
    (instance, session)
}

#[test]
fn what_is_at_a_maximum_runs_and_what_is_beyond_it_is_refused() {
    for maximum in MAXIMUMS {
        let (_instance, mut client) = fresh();
        let allowed = answers(&mut client, &(maximum.batch)(maximum.count));
        assert!(allowed.errors.is_empty(), "{}: {:?}", maximum.what, allowed.errors);
        let (_instance, mut client) = fresh();
        let refused = error(&mut client, &(maximum.batch)(maximum.count + 1));
        assert_eq!(refused, maximum.number, "{}", maximum.what);
        assert_eq!(rows(&mut client, "select 1"), "1", "after {}", maximum.what);
    }
}

/// A clause has terms of its own, and so has every statement: none counts for another.
#[test]
fn terms_are_counted_for_each_clause() {
    let (_instance, mut client) = fresh();
    let condition = list(20_000, " or ", |_| "1 = 1".to_owned());
    let batch = format!("select 1 where {condition} group by () having {condition} select 2 where {condition}");
    assert_eq!(rows(&mut client, &batch), "1|2");
    let inside = format!("select 1 where exists (select 1 where {condition}) and ({condition})");
    assert_eq!(rows(&mut client, &inside), "1");
    let (number, state, text) =
        answers(&mut client, &format!("select 1 where {condition} or {condition}")).errors[0].clone();
    assert_eq!((number, state), (8632, 2));
    assert!(
        text.starts_with("Internal error: An expression services limit has been reached."),
        "{text}"
    );
}

/// Constants of an IN are one list, however many there are.
#[test]
fn an_in_of_constants_has_no_maximum() {
    let (_instance, mut client) = fresh();
    let batch = format!(
        "select 1 where 70000 in ({}) and -5 in ({})",
        columns(70_001, "$"),
        columns(70_000, "-$")
    );
    assert_eq!(rows(&mut client, &batch), "1");
}
