//! Each rule of the optimizer switched off by a session: its plan goes, the answer stays.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

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
    "create table skewed (a int not null primary key, k int not null, d char(200) not null, index i_k (k))
     insert skewed select a, case when a < 3 then 3 else a % 2 end, '' from big",
];

/// A rule, a question, what its shown plan holds with the rule alone, and what without it alone.
const CASES: &[(Rule, &str, &str, &str)] = &[
    (
        Rule::FactorAlternatives,
        "select count(*) from small s, big b where s.a = b.a and b.c = 3 or s.a = b.a and b.c = 4",
        "HASH:([master].[dbo].[small].[a])=",
        "HASH:()=()",
    ),
    (
        Rule::DrawFromAlternatives,
        "select count(*) from small s join big b on s.a = b.d where s.a = 1 and b.a = 7 or s.b = 2 and b.a = 9",
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
        Rule::AntiFromOuter,
        "select count(*) from small s left join big b on b.a = s.b where b.c is null",
        "Anti Semi Join",
        "Outer Join",
    ),
    (
        Rule::OrderJoins,
        "select count(*) from big x, big y, small s where x.a = s.a and y.a = s.b",
        "Clustered Index Seek(",
        "Index Scan(",
    ),
    (
        Rule::HashJoin,
        "select count(*) from big x join big y on x.b + 0 = y.c",
        "Hash Match(Inner Join",
        "Nested Loops(Inner Join",
    ),
    (
        Rule::MergeJoin,
        "select count(*) from big x join big y on x.b = y.c",
        "Merge Join(Inner Join, MANY-TO-MANY MERGE:",
        "Hash Match(Inner Join",
    ),
    (
        Rule::ProbeBitmaps,
        "select max(b.d) from small s join big b on b.b = s.a option (hash join)",
        "WHERE:(PROBE(",
        "",
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
    (
        Rule::SortFromOrder,
        "select a, max(d) from big group by a order by a",
        "",
        "Sort(",
    ),
    (
        Rule::PartialSort,
        "select top 3 a, b, c from big order by b, c",
        "Sort(PARTIAL SORT, PRESORTED:([master].[dbo].[big].[b] ASC), ORDER BY:(",
        "Clustered Index Scan(",
    ),
    (
        Rule::WindowFromOrder,
        "select a, row_number() over (partition by b order by a) from big order by a",
        "Window Aggregate(STREAM BY:([master].[dbo].[big].[b]), ORDERED, DEFINE:(",
        "Window Aggregate(DEFINE:(",
    ),
    (
        Rule::TopFromNumber,
        "select n from (select row_number() over (order by (select null)) as n from big) x where n <= 5",
        "Top(",
        "",
    ),
    (
        Rule::StreamAggregate,
        "select a, max(d) from big group by a",
        "Stream Aggregate(GROUP BY:",
        "Hash Match(Aggregate, HASH:",
    ),
    (
        Rule::DistinctFromKey,
        "select distinct a, d from big where d <> ''",
        "",
        "Aggregate(",
    ),
    (Rule::ExtremeFromIndex, "select max(b) from big", "Top(", ""),
    (
        Rule::MergeQueries,
        "select x.d from small s join (select a, d from big) x on x.a = s.a",
        "Clustered Index Seek(",
        "Clustered Index Scan(",
    ),
    (
        Rule::InnerFromOuter,
        "select s.a from small s left join big b on b.a = s.a where b.b = 1",
        "Inner Join",
        "Outer Join",
    ),
    (
        Rule::DropOuterJoins,
        "select s.b from small s left join big b on b.a = s.a",
        "",
        "Outer Join",
    ),
    (
        Rule::SettleConditions,
        "select a from big where b > 5 and b < 3",
        "Constant Scan",
        "[big]",
    ),
    (
        Rule::ReadSmallTables,
        "select max(x.d) from small s join skewed x on x.k = s.a where s.b = 3",
        "Index Seek(OBJECT:([master].[dbo].[skewed].[i_k])",
        "Index Scan(OBJECT:([master].[dbo].[skewed].",
    ),
    (
        Rule::InferEqualities,
        "select s.b, b.d from small s join big b on b.a = s.a where b.a = 3",
        "[small].[a]=(3)",
        "",
    ),
    (
        Rule::PushConditions,
        "select b, n from (select b, count(*) as n from big group by b) g where b = 7",
        "Index Seek(",
        "Filter(",
    ),
    (
        Rule::KeepCommonTables,
        "with c as (select c, count(*) as n from big group by c) select sum(x.n * y.n) from c x join c y on y.c = x.n",
        "Table Spool(Eager Spool)",
        "",
    ),
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

/// The parts of a plan before and after a rule, as trace flag 8621 tells them, wherever the rule was used.
fn applications<'t>(told: &'t str, rule: &str) -> Vec<(&'t str, &'t str)> {
    let heading = format!("Apply Rule: {rule}\r\n*** Before: ***\r\n");
    let all = told.split(&heading).skip(1).filter_map(|rest| {
        let (whole, _) = rest.split_once("*******************")?;
        whole.split_once("*** After: ***\r\n")
    });
    all.collect()
}

#[test]
fn each_rule_tells_what_it_has_changed_where_trace_flags_ask() {
    let mut one = session(&instance());
    run(&mut one, TABLES);
    let mut faults: Vec<String> = Vec::new();
    for (rule, query, ..) in CASES {
        let rows = answer(&mut one, query);
        answer(&mut one, "dbcc traceon (3604, 8621)");
        let told = answer(&mut one, query);
        answer(&mut one, &format!("dbcc ruleoff ('{}')", rule.name()));
        let without = answer(&mut one, query);
        answer(
            &mut one,
            &format!("dbcc ruleon ('{}') dbcc traceoff (3604, 8621)", rule.name()),
        );
        let found = applications(&told, rule.name());
        let is_shown = |tree: &str| tree.starts_with("    LogOp_") || tree.starts_with("    PhyOp_");
        let is_sound = |(before, after): &(&str, &str)| before != after && is_shown(before) && is_shown(after);
        let is_missing = found.is_empty() && !ONLY_ESTIMATING.contains(rule);
        if is_missing || !found.iter().all(is_sound) {
            faults.push(format!("{rule:?}: {told}"));
        }
        if !applications(&without, rule.name()).is_empty() && !is_needed_by_hint(query) {
            faults.push(format!("{rule:?} without it: {without}"));
        }
        assert!(told.ends_with(&rows), "{rule:?}: {told}");
        assert_eq!(answer(&mut one, query), rows);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Rules that change nothing but estimates: the rules they lead to are reported.
const ONLY_ESTIMATING: &[Rule] = &[Rule::ReadSmallTables];

/// Whether a hint asks for what a rule would do.
fn is_needed_by_hint(query: &str) -> bool {
    query.contains("option (")
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
