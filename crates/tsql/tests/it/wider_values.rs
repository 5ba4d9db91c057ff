//! An index is searched for a value of a wider type than its column has: a `tinyint` for an `int`, a `datetime` for a `datetime2`.
//! Found by HammerDB's TPROC-C, whose district numbers are `tinyint` and whose parameters are `int`: each payment read the whole table of
//! customers, since its condition converts the column.
#![allow(clippy::unwrap_used)]

use crate::answers::{rows, run};
use crate::transcript::{instance, session};
use tsql::session::Session;

/// Type of the column, its values, types of what is searched, and those values.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

const CASES: &[Case] = &[
    (
        "tinyint",
        &["0", "1", "3", "254", "255"],
        &["smallint", "int", "bigint", "decimal(12,2)", "float", "money"],
        &["-300", "-1", "0", "1", "2", "2.5", "3", "255", "256", "9000"],
    ),
    (
        "int",
        &["-2147483648", "-2", "0", "1", "2", "2147483647"],
        &["bigint", "decimal(20,4)", "float"],
        &[
            "-3000000000",
            "-2147483648",
            "-1.5",
            "0",
            "0.4",
            "1",
            "2147483647",
            "2147483647.5",
            "3000000000",
        ],
    ),
    (
        "bit",
        &["0", "1"],
        &["int", "decimal(5,1)", "float"],
        &["-1", "0", "0.5", "1", "2"],
    ),
    (
        "decimal(10,2)",
        &["-1.25", "0", "0.01", "99.99", "99999999.99"],
        &["decimal(20,4)", "decimal(12,3)"],
        &["-1.255", "-1.25", "0.005", "0.01", "0.011", "99.99", "99999999.999"],
    ),
    (
        "real",
        &["-1.5", "0", "0.1", "3"],
        &["float"],
        &["-1.5", "0.1", "0.2", "3", "1e300", "-1e300"],
    ),
    (
        "smallmoney",
        &["-1.5", "0", "0.0001", "214748.3647"],
        &["money", "decimal(20,6)"],
        &[
            "-900000",
            "-1.5",
            "0.00005",
            "0.0001",
            "214748.3647",
            "214748.36475",
            "900000",
        ],
    ),
    (
        "date",
        &["'1900-01-01'", "'2000-02-29'", "'2026-11-27'"],
        &["datetime", "smalldatetime", "datetime2(7)"],
        &[
            "'1900-01-01'",
            "'2000-02-29'",
            "'2000-02-29 12:00'",
            "'2026-11-27 23:59'",
            "'2030-01-01'",
        ],
    ),
    (
        "smalldatetime",
        &["'1900-01-01'", "'2000-02-29 12:30'", "'2079-06-06 23:59'"],
        &["datetime", "datetime2(7)"],
        &[
            "'1899-01-01'",
            "'2000-02-29 12:29:45'",
            "'2000-02-29 12:30'",
            "'2000-02-29 12:30:10'",
            "'2100-01-01'",
        ],
    ),
    (
        "datetime",
        &[
            "'1753-01-01'",
            "'2000-02-29 12:30:00.003'",
            "'2000-02-29 12:30:00.007'",
            "'9999-12-31 23:59:59.997'",
        ],
        &["datetime2(7)", "datetime2(3)"],
        &[
            "'1753-01-01'",
            "'2000-02-29 12:30:00.003'",
            "'2000-02-29 12:30:00.005'",
            "'2000-02-29 12:30:00.007'",
            "'9999-12-31 23:59:59.999'",
        ],
    ),
    (
        "datetime2(0)",
        &["'0001-01-01'", "'2000-02-29 12:30:01'", "'9999-12-31 23:59:59'"],
        &["datetime2(7)"],
        &[
            "'0001-01-01'",
            "'2000-02-29 12:30:00.6'",
            "'2000-02-29 12:30:01'",
            "'2000-02-29 12:30:01.4'",
            "'9999-12-31 23:59:59.9999999'",
        ],
    ),
];

const CONDITIONS: [&str; 8] = [
    "k = @v",
    "k < @v",
    "k <= @v",
    "k > @v",
    "k >= @v",
    "k between @v and @v",
    "k in (@v, null)",
    "@v < k and k <= @v",
];

fn is_searched(session: &mut Session, query: &str) -> bool {
    run(session, &["set showplan_text on"]);
    let plan = rows(session, query);
    run(session, &["set showplan_text off"]);
    plan.contains("Index Seek")
}

#[test]
fn an_index_is_searched_for_values_of_wider_types() {
    let instance = instance();
    let mut session = session(&instance);
    let mut searched = 0;
    for direction in ["asc", "desc"] {
        for (column, values, types, wanted) in CASES {
            let fill: Vec<String> = values
                .iter()
                .map(|value| format!("(7, {value}), (8, {value})"))
                .collect();
            run(
                &mut session,
                &[
                    &format!(
                        "create table w (p int not null, k {column} null, index i (p, k {direction}), index o (k {direction}))"
                    ),
                    &format!("insert w values {}, (7, null)", fill.join(", ")),
                ],
            );
            for sql_type in *types {
                for value in *wanted {
                    let declared = format!("declare @v {sql_type} = {value}");
                    for condition in CONDITIONS {
                        let ask = |hint: &str, more: &str| {
                            format!("{declared} select count(*) from w with (index({hint})) where {condition}{more}")
                        };
                        for more in ["", " and p = 7"] {
                            let index = if more.is_empty() { "o" } else { "i" };
                            let expected = rows(&mut session, &ask("0", more));
                            let found = rows(&mut session, &ask(index, more));
                            assert_eq!(found, expected, "{column} {direction}, {declared}: {condition}{more}");
                            searched += 1;
                        }
                    }
                }
                let query = |condition: &str| {
                    format!("declare @v {sql_type} select p, k from w with (forceseek) where {condition}")
                };
                for condition in &CONDITIONS[..5] {
                    assert!(
                        is_searched(&mut session, &query(condition)),
                        "{column}, {sql_type}: {condition}"
                    );
                }
            }
            run(&mut session, &["drop table w"]);
        }
    }
    assert!(searched > 2_000, "{searched}");
}

/// The numbers of a literal are `int` whatever the column has, and a column of another table may be wider too.
#[test]
fn literals_and_columns_of_other_tables_find_their_rows_by_the_index() {
    let instance = instance();
    let mut session = session(&instance);
    run(
        &mut session,
        &[
            "create table line (district tinyint not null, number smallint not null, filler char(200) not null default '', primary key (district, number))",
            "insert line (district, number) select d.value, n.value from generate_series(1, 10) d, generate_series(1, 200) n",
            "create table wanted (district bigint not null, number int not null)",
            "insert wanted values (3, 7), (300, 7), (4, 40000), (-1, 0), (10, 200)",
        ],
    );
    let query = "select filler from line where district = 3 and number = 7";
    assert!(is_searched(&mut session, query));
    let query = "select l.district, l.number from wanted w inner loop join line l on l.district = w.district and l.number = w.number";
    assert!(is_searched(&mut session, query));
    assert_eq!(rows(&mut session, query), "3 7|10 200");
    let change = "update line set filler = 'x' where district = 3 and number = 7 and filler = ''";
    assert!(is_searched(&mut session, change));
    run(&mut session, &[change]);
    assert_eq!(
        rows(&mut session, "select district, number from line where filler = 'x'"),
        "3 7"
    );
}
