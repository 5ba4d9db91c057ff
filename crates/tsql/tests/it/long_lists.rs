//! A long IN of constants answers as the same comparisons joined by OR: over types, collations, NULL, and beside values that no constant has.
#![allow(clippy::unwrap_used)]

use crate::answers::{rows, run};
use crate::transcript::{instance, session};

/// Type of the column, its values, and the constants of the list, some of which are equal to each other or to values that look otherwise.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "int",
        &["-3", "0", "4", "5", "2147483647"],
        &["4", "4", "-3", "2147483647", "77", "1000"],
    ),
    ("bit", &["0", "1"], &["1", "1"]),
    ("bigint", &["4", "3000000000"], &["3000000000", "4", "9"]),
    (
        "decimal(9,3)",
        &["1.500", "2", "0.001"],
        &["1.5", "1.50", "2.000", "0.0010"],
    ),
    ("float", &["0", "0.1", "1e300"], &["-0e0", "0.1e0", "1e300"]),
    ("money", &["1.25", "3"], &["$1.25", "3"]),
    (
        "varchar(20) collate Latin1_General_CI_AS",
        &["'abc'", "'ABC  '", "'abd'", "''", "'\u{e4}'"],
        &["'Abc'", "' abc'", "'   '", "'\u{c4}'", "'a'"],
    ),
    (
        "nvarchar(20) collate Latin1_General_BIN2",
        &["N'abc'", "N'ABC'", "N'abc  '"],
        &["N'abc'", "N'ab'", "N'abd'"],
    ),
    ("varbinary(10)", &["0x01", "0x0100", "0x"], &["0x01", "0x", "0x02"]),
    (
        "datetime2(3)",
        &["'2020-01-01'", "'2020-01-01 00:00:00.001'"],
        &["'2020-01-01T00:00:00'", "'2021-01-01'"],
    ),
    (
        "uniqueidentifier",
        &[
            "'00000000-0000-0000-0000-000000000001'",
            "'10000000-0000-0000-0000-000000000000'",
        ],
        &[
            "'00000000-0000-0000-0000-000000000001'",
            "'00000000-0000-0000-0000-000000000002'",
        ],
    ),
    ("sql_variant", &["1", "'1'", "N'1'", "1.0"], &["1", "'1'", "2"]),
];

#[test]
fn a_long_list_answers_as_its_comparisons_do() {
    let instance = instance();
    let mut client = session(&instance);
    let mut asked = 0;
    for (number, (sql_type, values, constants)) in CASES.iter().enumerate() {
        let table = format!("t{number}");
        run(
            &mut client,
            &[&format!("create table {table} (id int identity, a {sql_type} null)")],
        );
        for value in values.iter().chain(&["null"]) {
            run(&mut client, &[&format!("insert {table} values ({value})")]);
        }
        for with_null in [false, true] {
            let repeated = constants.iter().cycle().take(40).copied();
            let all: Vec<&str> = repeated.chain(with_null.then_some("null")).collect();
            let compared: Vec<String> = all.iter().map(|constant| format!("a = {constant}")).collect();
            for (listed, apart) in [
                (format!("a in ({})", all.join(", ")), compared.join(" or ")),
                (
                    format!("a not in ({})", all.join(", ")),
                    format!("not ({})", compared.join(" or ")),
                ),
            ] {
                let ids = |condition: &str| format!("select id from {table} where {condition} order by id");
                let (found, wanted) = (rows(&mut client, &ids(&listed)), rows(&mut client, &ids(&apart)));
                assert_eq!(found, wanted, "{sql_type}: {listed}");
                asked += found.len();
            }
        }
    }
    assert!(asked > CASES.len(), "{asked} rows were found");
}
