//! How a plan comes about: the trees of trace flags 8605, 8606 and 8607, and the rules of 8619 and 8621 (`rules.rs` has each
//! rule).
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text.replace("\r\n", "\n")
}

const SETUP: &str = "set nocount on
    create table t (a int not null constraint pk_t primary key, b int not null)
    create table u (c int not null constraint pk_u primary key, d int not null)
    insert t values (1, 10), (2, 20) insert u values (1, 7)";

const QUERY: &str = "select t.b from t where exists (select 1 from u where u.c = t.a) and t.a > 0";

#[test]
fn flags_ask_for_the_trees_of_a_plan_and_where_they_go() {
    let instance = instance();
    let mut one = session(&instance);
    assert_eq!(run(&mut one, SETUP), "");
    // 8605 alone shows nothing.
    let quiet = run(
        &mut one,
        &format!("dbcc traceon (8605) with no_infomsgs {QUERY} option (recompile)"),
    );
    assert!(!quiet.contains("***"), "{quiet}");
    run(&mut one, "dbcc traceon (3604) with no_infomsgs");
    let answer = run(&mut one, &format!("{QUERY} option (recompile)"));
    let tree = answer.split("[b int").next().unwrap();
    assert!(
        tree.contains("*** Converted Tree: ***\n    LogOp_Select EXISTS"),
        "{answer}"
    );
    assert!(
        tree.contains("LogOp_Select") && tree.contains("LogOp_Get OBJECT:([master].[dbo].[t]"),
        "{answer}"
    );
    assert!(!tree.contains("SemiJoin") && !answer.contains("Simplified"), "{answer}");
    assert!(answer.ends_with("[b int]\n  10\n"), "{answer}");
    run(&mut one, "dbcc traceoff (8605, 3604) with no_infomsgs");
    // The same for one statement.
    let hinted =
        format!("{QUERY} option (recompile, querytraceon 3604, querytraceon 8606, querytraceon 8607, querytraceon 1)");
    let answer = run(&mut one, &hinted);
    let places: Vec<usize> = [
        "Input Tree",
        "Simplified Tree",
        "Join-collapsed Tree",
        "LogOp_LeftSemiJoin",
        "Output Tree",
        "PhyOp_",
    ]
    .iter()
    .map(|part| answer.find(part).unwrap_or_else(|| panic!("{part} in {answer}")))
    .collect();
    assert!(places.is_sorted(), "{answer}");
    assert!(!answer.contains("Converted Tree"), "{answer}");
    assert!(!run(&mut one, &format!("{QUERY} option (recompile)")).contains("***"));
    // A plan that is kept is made once more to be shown.
    let change = "update t set b = 11 where a = 1 and b in (select d + 3 from u)";
    run(&mut one, change);
    run(&mut one, "dbcc traceon (8607, 3604) with no_infomsgs");
    for _ in 0..2 {
        assert!(run(&mut one, change).contains("*** Output Tree: ***\n    PhyOp_"));
    }
    // And to the error log.
    run(&mut one, "dbcc traceoff (3604) dbcc traceon (3605)");
    assert!(!run(&mut one, &format!("{QUERY} option (recompile)")).contains("***"));
    let told = run(&mut one, "exec sp_readerrorlog 0, 1, 'Output Tree'");
    assert!(told.contains("PhyOp_"), "{told}");
    assert!(run(&mut one, "select 1 option (querytraceon 'x')").contains("Msg "));
}

/// What is reported of rules by name only.
fn rules_told(answer: &str) -> Vec<&str> {
    answer
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Apply Rule: "))
        .collect()
}

#[test]
fn rules_are_told_by_name_wherever_a_statement_stands() {
    let mut one = session(&instance());
    run(&mut one, SETUP);
    run(
        &mut one,
        &format!("create procedure p as begin if exists ({QUERY}) {QUERY} end"),
    );
    let value = "declare @v int = (select max(c) from u) set @v = (select b from t where a = @v)";
    for batch in [QUERY, "exec p", value] {
        assert!(rules_told(&run(&mut one, batch)).is_empty(), "{batch}");
    }
    run(&mut one, "dbcc traceon (3604, 8619) with no_infomsgs");
    let alone = run(&mut one, QUERY);
    let rules = ["SemiJoin", "IndexRange", "MergeJoin", "OrderJoins"];
    assert_eq!(rules_told(&alone), rules, "{alone}");
    assert!(!alone.contains("LogOp_"), "{alone}");
    // Once for the condition and once for the statement, at each call, though their plans are kept.
    for _ in 0..2 {
        let called = run(&mut one, "exec p");
        let semi_joins = rules_told(&called)
            .into_iter()
            .filter(|rule| *rule == "SemiJoin")
            .count();
        assert_eq!(semi_joins, 2, "{called}");
    }
    let assigned = run(&mut one, value);
    assert_eq!(rules_told(&assigned), ["ExtremeFromIndex", "IndexRange"], "{assigned}");
    // A function has nobody to tell; its caller has.
    run(
        &mut one,
        "create function f () returns int as begin return (select max(c) from u) end",
    );
    assert!(rules_told(&run(&mut one, "select dbo.f()")).is_empty());
    run(&mut one, "dbcc traceoff (8619) with no_infomsgs");
    assert!(rules_told(&run(&mut one, "exec p")).is_empty());
    let hinted = format!("{QUERY} option (querytraceon 8619)");
    assert_eq!(rules_told(&run(&mut one, &hinted)), rules);
}

/// A trace of a statement grew with the square of its size: it is cut, line by line and as a whole, and says so.
#[test]
fn what_is_told_of_a_large_statement_is_bounded() {
    let mut one = session(&instance());
    run(&mut one, SETUP);
    run(&mut one, "dbcc traceon (3604, 8605, 8606, 8607, 8621) with no_infomsgs");
    let list: Vec<String> = (0..30_000).map(|value| (value * 7).to_string()).collect();
    let listed = run(&mut one, &format!("select b from t where b in ({})", list.join(", ")));
    assert!(
        listed.contains("LogOp_Select") && listed.len() < 200_000,
        "{}",
        listed.len()
    );
    let longest = listed.lines().map(str::len).max();
    assert!(longest < Some(2_500), "{longest:?}");
    let nested = |depth: usize| {
        format!(
            "{}select a from t{}",
            "select a from (".repeat(depth),
            ") x".repeat(depth)
        )
    };
    let shallow = run(&mut one, &nested(8));
    assert!(shallow.contains("Apply Rule: MergeQueries"), "{shallow}");
    let deep = run(&mut one, &nested(1_000));
    assert!(deep.contains("Msg ") && !deep.contains("Apply Rule"), "{deep}");
}
