//! A long IN of constants, or of variables, answers as the same comparisons one by one: over types, collations, NULL, and beside values
//! that no constant has.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use engine::instance::Instance;
use engine::types::Value;
use tsql::sink::{DoneKind, Message, ResultColumn, ResultSink, SinkClosed};

use crate::answers::{error, rows, run};
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
        // More rows than are compared before a list of variables is searched.
        for value in values.iter().chain(&["null"]).cycle().take(40) {
            run(&mut client, &[&format!("insert {table} values ({value})")]);
        }
        let of_variables = sql_type.split(" collate").next().unwrap();
        for with_null in [false, true] {
            let repeated = constants.iter().cycle().take(40).copied();
            let all: Vec<&str> = repeated.chain(with_null.then_some("null")).collect();
            // Comparisons that no list is made of.
            let compared: Vec<String> = all.iter().map(|constant| format!("not a <> {constant}")).collect();
            let (declared, names) = declared(of_variables, &all);
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
                let is_negated = listed.contains("not in");
                let word = if is_negated { "not in" } else { "in" };
                let chain: Vec<String> = names.split(", ").map(|name| format!("a = {name}")).collect();
                let chain = format!("{} ({})", if is_negated { "not" } else { "" }, chain.join(" or "));
                for condition in [format!("a {word} ({names})"), chain] {
                    let batch = format!("{declared}{}", ids(&condition));
                    assert_eq!(rows(&mut client, &batch), wanted, "{sql_type}: {batch}");
                }
                asked += found.len();
            }
        }
    }
    assert!(asked > CASES.len(), "{asked} rows were found");
}

/// A declaration of variables `@p0` and so on, and their names as a list.
fn declared(sql_type: &str, values: &[&str]) -> (String, String) {
    let names: Vec<String> = (0..values.len()).map(|number| format!("@p{number}")).collect();
    let all: Vec<String> = names
        .iter()
        .zip(values)
        .map(|(name, value)| format!("{name} {sql_type} = {value}"))
        .collect();
    (format!("declare {} ", all.join(", ")), names.join(", "))
}

/// Variables that the statement itself sets, and those that do not convert, are compared as they are when their row comes.
#[test]
fn variables_that_change_or_fail_are_compared_one_by_one() {
    let instance = instance();
    let mut client = session(&instance);
    run(
        &mut client,
        &["create table n (a int primary key, b int) insert n (a) select value from generate_series(1, 100)"],
    );
    let (own, names) = declared("int", &["1"; 20]);
    // @p0 meets the row's number at rows 11 and 22: by then the list would be searched.
    let searched =
        format!("{own} update n set @p0 = b = case when a < 10 then a when a in ({names}) then 2 else @p0 + 2 end");
    let walked = searched.replace(&format!("a in ({names})"), "(a = @p0 or a = 1)");
    let numbers = "select b from n order by a";
    run(&mut client, &[&searched]);
    let found = rows(&mut client, numbers);
    run(&mut client, &["update n set b = null", &walked]);
    assert_eq!(found, rows(&mut client, numbers));
    assert_eq!(rows(&mut client, "select b from n where a in (11, 22)"), "2|2");
    let mut texts = ["'1'"; 20];
    texts[19] = "'x'";
    let (own, names) = declared("varchar(5)", &texts);
    // A row that is found among the first is not compared with the last.
    assert_eq!(
        rows(
            &mut client,
            &format!("{own} select count(*) from n where 1 in ({names})")
        ),
        "100"
    );
    assert_eq!(
        error(
            &mut client,
            &format!("{own} select count(*) from n where a in ({names})")
        ),
        245
    );
}

/// The list of a correlated subquery, of a procedure that calls itself with other values, and of a call by sp_executesql.
#[test]
fn each_execution_has_its_own_values() {
    let instance = instance();
    let mut client = session(&instance);
    run(
        &mut client,
        &["create table n (a int primary key) insert n select value from generate_series(1, 50)"],
    );
    let parameters: Vec<String> = (0..20).map(|number| format!("@p{number} int")).collect();
    let names: Vec<String> = (0..20).map(|number| format!("@p{number}")).collect();
    let later: Vec<String> = names.iter().map(|name| format!("{name} = {name} + 20")).collect();
    let procedure = format!(
        "create procedure counted {} as begin select sum(a) from n where a in ({names});
         if @p0 = 1 begin select {}; exec counted {names} end; select sum(a) from n where a in ({names}) end",
        parameters.join(", "),
        later.join(", "),
        names = names.join(", "),
    );
    run(&mut client, &[&procedure]);
    let given: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
    assert_eq!(
        rows(&mut client, &format!("exec counted {}", given.join(", "))),
        "210|610|610|610"
    );
    let text = format!("select sum(a) from n where a in ({})", names.join(", "));
    for shift in [0, 30] {
        let given: Vec<String> = (1..=20).map(|number| (number + shift).to_string()).collect();
        let call = format!(
            "exec sp_executesql N'{text}', N'{}', {}",
            parameters.join(", "),
            given.join(", ")
        );
        assert_eq!(rows(&mut client, &call), (210 + 20 * shift).to_string());
    }
    let correlated = format!(
        "declare {} select count(*) from n o where exists (select * from n i where i.a in ({}) and i.a = o.a)",
        (0..20)
            .map(|number| format!("@p{number} int = {number}"))
            .collect::<Vec<_>>()
            .join(", "),
        names.join(", ")
    );
    assert_eq!(rows(&mut client, &correlated), "19");
}

/// Notes what is taken of the workspace when a result begins and at each row.
struct Watching {
    instance: Arc<Instance>,
    first_bytes: u64,
    taken_bytes: Vec<u64>,
}

impl ResultSink for Watching {
    fn columns_to_come(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        self.first_bytes = self.instance.workspace.used_bytes();
        Ok(())
    }

    fn columns(&mut self, _columns: &[ResultColumn]) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, _row: &[Value]) -> Result<(), SinkClosed> {
        self.taken_bytes.push(self.instance.workspace.used_bytes());
        Ok(())
    }

    fn done(&mut self, _row_count: Option<u64>, _kind: DoneKind) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn message(&mut self, message: &Message) -> Result<(), SinkClosed> {
        panic!("{message:?}");
    }
}

/// The values of 60,000 items take 24 bytes each beside their strings, and 4 in their order: the query asks for them, gives them back, and
/// compares one by one where there is no room. Few rows are compared one by one anyway.
#[test]
fn the_values_of_a_list_are_charged_to_the_query() {
    let instance = instance();
    let mut client = session(&instance);
    run(
        &mut client,
        &["create table n (a int primary key) insert n select value from generate_series(1, 50)"],
    );
    let (own, _) = declared("int", &["7"; 20]);
    let names: Vec<String> = (0..60_000).map(|number| format!("@p{}", number % 20)).collect();
    let names = names.join(", ");
    let mut taken = |rows: usize, is_full: bool| {
        let batch = format!("{own} declare @n int = {rows:02} select a from n where a <= @n and a not in ({names})");
        let workspace = instance.workspace.clone();
        let mut sink = Watching {
            instance: instance.clone(),
            first_bytes: 0,
            taken_bytes: Vec::new(),
        };
        // The text and its plan are kept, so that the second run asks for nothing but what it runs with.
        client.execute(&batch, &mut sink);
        let others = match is_full {
            true => workspace.limit_bytes() - workspace.used_bytes() - workspace.reserve_bytes() - (16 << 20),
            false => 0,
        };
        sink.taken_bytes.clear();
        assert!(workspace.take(others));
        client.execute(&batch, &mut sink);
        workspace.give_back(others);
        assert_eq!(sink.taken_bytes.len(), rows - usize::from(rows > 7));
        sink.taken_bytes.iter().max().unwrap() - sink.first_bytes
    };
    assert_eq!(
        taken(50, false),
        2 << 20,
        "1.6 MB, of which 256 KB are free, in steps of 1 MB"
    );
    assert_eq!(taken(5, false), 0);
    assert_eq!(taken(50, true), 0, "no room: the rows are compared one by one");
}
