//! How a plan comes about: the trees that trace flags 8605, 8606 and 8607 ask for.
#![allow(clippy::unwrap_used, missing_docs)]

mod transcript;

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
    // 8605 alone is told to nobody.
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
    assert!(answer.ends_with("[b int]\n  10\n  (Select)\n"), "{answer}");
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
    // A plan that is kept came about earlier.
    run(&mut one, "dbcc traceon (8607, 3604) with no_infomsgs");
    let change = "update t set b = 11 where a = 1 and b in (select d + 3 from u)";
    assert!(run(&mut one, change).contains("*** Output Tree: ***\n    PhyOp_"));
    assert!(!run(&mut one, change).contains("***"));
    // And to the error log.
    run(&mut one, "dbcc traceoff (3604) dbcc traceon (3605)");
    assert!(!run(&mut one, &format!("{QUERY} option (recompile)")).contains("***"));
    let told = run(&mut one, "exec sp_readerrorlog 0, 1, 'Output Tree'");
    assert!(told.contains("PhyOp_"), "{told}");
    assert!(run(&mut one, "select 1 option (querytraceon 'x')").contains("Msg "));
}
