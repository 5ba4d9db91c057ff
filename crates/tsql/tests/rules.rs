//! Rules of the optimizer that a session switches off: each one's plan goes, and the answer stays.
#![allow(clippy::unwrap_used, missing_docs)]

mod answers;
mod transcript;

use answers::run;
use transcript::{Transcript, instance, session};
use tsql::session::Session;
use tsql::state::Rule;

const TABLES: &[&str] = &[
    "create table small (a int not null, b int not null)
     create table big (a int not null constraint pk_big primary key, b int not null, c int not null, d char(200) not null,
       index i_b (b), index i_c (c))",
    "declare @i int = 0 while @i < 2000 begin
       insert big values (@i, @i % 500, @i % 400, '')
       if @i < 5 insert small values (@i, @i)
       set @i += 1
     end",
];

/// A rule, a question, what its shown plan holds with the rule alone, and what without it alone.
const CASES: &[(Rule, &str, &str, &str)] = &[
    (
        Rule::FactorAlternatives,
        "select count(*) from small s, big b where s.a = b.a and b.c = 3 or s.a = b.a and b.c = 4",
        "Clustered Index Seek(",
        "Index Scan(",
    ),
    (
        Rule::SemiJoin,
        "select count(*) from big x where exists (select * from big y where y.b = x.c and y.c > 7)",
        "Semi Join",
        "EXISTS(subquery)",
    ),
    (
        Rule::AntiJoin,
        "select count(*) from big where c not in (select b from small)",
        "Anti Semi Join",
        "",
    ),
    (
        Rule::OrderJoins,
        "select count(*) from big x, big y, small s where x.a = s.a and y.a = s.b",
        "Clustered Index Seek(",
        "Index Scan(",
    ),
    (
        Rule::HashJoin,
        "select count(*) from big x join big y on x.b = y.c",
        "Hash Match(Inner Join",
        "Nested Loops(Inner Join",
    ),
    (
        Rule::IndexJoin,
        "select s.a, b.d from small s join big b on b.a = s.a",
        "Clustered Index Seek(",
        "Clustered Index Scan(",
    ),
    (
        Rule::IndexRange,
        "select d from big where b = 7",
        "Index Seek(",
        "Clustered Index Scan(",
    ),
    (
        Rule::IndexUnion,
        "select d from big where b = 7 or c = 9",
        "Index Seek(",
        "Clustered Index Scan(",
    ),
    (
        Rule::IndexCover,
        "select sum(b) from big",
        "--Index Scan(",
        "Clustered Index Scan(",
    ),
    (
        Rule::SortFromIndex,
        "select a, d from big order by a desc",
        "BACKWARD",
        "Sort(",
    ),
    (Rule::ExtremeFromIndex, "select max(b) from big", "Top(", ""),
];

fn answer(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn plan(session: &mut Session, query: &str) -> String {
    answer(session, "set showplan_text on");
    let text = answer(session, query);
    answer(session, "set showplan_text off");
    text
}

#[test]
fn each_rule_makes_its_plan_and_no_answer() {
    let mut one = session(&instance());
    run(&mut one, TABLES);
    let mut faults: Vec<String> = Vec::new();
    for (rule, query, own, other) in CASES {
        let (with, rows) = (plan(&mut one, query), answer(&mut one, query));
        let said = answer(&mut one, &format!("dbcc ruleoff ('{}')", rule.name()));
        assert!(said.contains("DBCC execution completed"), "{said}");
        let (without, same_rows) = (plan(&mut one, query), answer(&mut one, query));
        assert_ne!(with, without, "{rule:?}");
        let is_alone =
            |mark: &str, here: &str, there: &str| mark.is_empty() || here.contains(mark) && !there.contains(mark);
        if !is_alone(own, &with, &without) || !is_alone(other, &without, &with) {
            faults.push(format!("{rule:?}: with it {with}\nwithout it {without}"));
        }
        assert_eq!(rows, same_rows, "{rule:?}");
        answer(&mut one, &format!("dbcc ruleon ('{}')", rule.name()));
        assert_eq!(plan(&mut one, query), with, "{rule:?}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let tried: Vec<Rule> = CASES.iter().map(|(rule, ..)| *rule).collect();
    let missing: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !tried.contains(rule)).collect();
    assert!(missing.is_empty(), "without a case: {missing:?}");
}

#[test]
fn rules_are_the_sessions_own_and_wrong_names_switch_nothing() {
    let instance = instance();
    let (mut one, mut other) = (session(&instance), session(&instance));
    assert!(answer(&mut one, "dbcc ruleoff ('HashJoin', 'nothing')").contains("Msg 2560"));
    assert!(answer(&mut one, "dbcc ruleoff").contains("Msg 2583"));
    assert!(!answer(&mut one, "dbcc showoffrules").contains("HashJoin"));
    answer(&mut one, "dbcc ruleoff ('hashjoin', 'IndexJoin')");
    assert!(answer(&mut one, "dbcc showoffrules").contains("HashJoin"));
    assert!(!answer(&mut other, "dbcc showoffrules").contains("HashJoin"));
    assert!(!answer(&mut one, "dbcc showonrules").contains("HashJoin"));
}
