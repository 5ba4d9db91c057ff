//! Plans as shown: SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML, in SQL Server's columns, words and elements.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

fn started() -> Session {
    let mut one = session(&instance());
    let setup = "set nocount on create table t (a int not null constraint pk_t primary key, b int not null, c varchar(20)) \
        create table u (k int not null constraint pk_u primary key, a int not null, d varchar(20)) create table h (x int) \
        declare @i int = 0 while @i < 500 begin insert t values (@i, @i % 10, 'x') insert u values (@i, @i / 5, 'y') set @i += 1 end";
    assert_eq!(run(&mut one, setup), "");
    one
}

const PLANS: [(&str, &[&str]); 9] = [
    ("select 1", &["|--Constant Scan"]),
    ("select * from h", &["|--Table Scan(OBJECT:([master].[dbo].[h]))"]),
    (
        "select b from t",
        &["|--Clustered Index Scan(OBJECT:([master].[dbo].[t].[pk_t]))"],
    ),
    (
        "select b from t where a = 5",
        &[
            "|--Clustered Index Seek(OBJECT:([master].[dbo].[t].[pk_t]), SEEK:([master].[dbo].[t].[a]=(5))",
            "ORDERED FORWARD)",
        ],
    ),
    ("select b from t where c = 'x'", &["WHERE:([master].[dbo].[t].[c]='x')"]),
    (
        "select b, count(*) from t group by b",
        &[
            "|--Hash Match(Aggregate, HASH:([master].[dbo].[t].[b]) DEFINE:([Expr1001]=COUNT(*)))",
            "     |--Clustered Index Scan",
        ],
    ),
    (
        "select count(*) from h",
        &["|--Stream Aggregate(DEFINE:([Expr1000]=COUNT(*)))"],
    ),
    (
        "delete t where a = 5",
        &[
            "|--Clustered Index Delete(Delete, OBJECT:([master].[dbo].[t].[pk_t]))",
            "     |--Clustered Index Seek(",
        ],
    ),
    (
        "insert h values (1), (2)",
        &[
            "|--Table Insert(Insert, OBJECT:([master].[dbo].[h]))",
            "     |--Constant Scan",
        ],
    ),
];

#[test]
fn showplan_text_draws_operators_by_their_names() {
    let mut one = started();
    run(&mut one, "set showplan_text on");
    for (query, parts) in PLANS {
        let answer = run(&mut one, query);
        assert!(answer.contains(query), "the statement's text: {answer}");
        for part in parts {
            assert!(answer.contains(part), "{query}: {part}\n{answer}");
        }
    }
    let joined = run(
        &mut one,
        "select t.b, u.d from t join u on u.a = t.a where u.k < 40 order by u.d",
    );
    for word in [
        "|--Sort(ORDER BY:(",
        "Inner Join",
        "[master].[dbo].[t]",
        "[master].[dbo].[u]",
    ] {
        assert!(joined.contains(word), "{word}\n{joined}");
    }
    run(&mut one, "set showplan_text off");
    assert!(
        run(&mut one, "select count(*) from t").contains("\n  500\n"),
        "nothing was executed"
    );
}

/// SHOWPLAN_ALL has a row for the statement, which is the parent of the first operator, and its estimates are near the truth.
#[test]
fn showplan_all_tells_numbers_and_estimates() {
    let mut one = started();
    run(&mut one, "set showplan_all on");
    let answer = run(&mut one, "select b from t where b = 3");
    let lines: Vec<&str> = answer.lines().collect();
    let columns = "StmtText | StmtId | NodeId | Parent | PhysicalOp | LogicalOp | Argument | DefinedValues | EstimateRows | EstimateIO | EstimateCPU | AvgRowSize | TotalSubtreeCost | OutputList | Warnings | Type | Parallel | EstimateExecutions";
    let plain: String = lines[0].split(['(', ')']).step_by(2).collect();
    for column in columns.split(" | ") {
        assert!(plain.contains(column), "{column} in {}", lines[0]);
    }
    let rows: Vec<Vec<&str>> = lines[1..]
        .iter()
        .map(|line| line.split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows[0][1..4], ["1", "1", "0"], "{answer}");
    let scan = rows
        .iter()
        .find(|row| row.get(4) == Some(&"Clustered Index Scan"))
        .unwrap();
    assert_eq!(scan[1..4], ["1", "2", "1"]);
    assert_eq!(scan[8], "50", "a tenth of 500 rows has the value: {answer}");
    assert_eq!(scan[15], "PLAN_ROW");
}

/// What an XML parser of a few lines says of a document: the elements in their order, all closed.
fn elements(xml: &str) -> Vec<String> {
    let (mut open, mut found): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "text with a bare >: {}", &rest[..start]);
        let mut quoted = false;
        let end = rest[start..].char_indices().find(|(_, c)| {
            quoted ^= *c == '"';
            *c == '>' && !quoted
        });
        let tag = &rest[start + 1..start + end.unwrap().0];
        rest = &rest[start + tag.len() + 2..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let inside = tag.trim_end_matches('/');
        let name = inside.split(' ').next().unwrap().to_owned();
        for reference in inside.split('&').skip(1) {
            assert!(
                ["amp;", "lt;", "gt;", "quot;", "#"]
                    .iter()
                    .any(|known| reference.starts_with(known)),
                "{tag}"
            );
        }
        assert!(
            !inside.contains('<') && inside.matches('"').count().is_multiple_of(2),
            "{tag}"
        );
        found.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    found
}

#[test]
fn showplan_xml_is_well_formed_and_has_the_elements_of_a_plan() {
    let mut one = started();
    run(&mut one, "set showplan_xml on");
    let mut whole = Whole::default();
    let query = "select t.b, count(*) from t join u on u.a = t.a where t.c < '\"<&>' and u.k > 3 group by t.b";
    one.execute(query, &mut whole);
    let xml = whole.0[0].as_str();
    let found = elements(xml);
    let first: Vec<&str> = found.iter().take(7).map(String::as_str).collect();
    assert_eq!(
        first,
        [
            "ShowPlanXML",
            "BatchSequence",
            "Batch",
            "Statements",
            "StmtSimple",
            "QueryPlan",
            "RelOp"
        ]
    );
    for wanted in ["OutputList", "ColumnReference", "IndexScan", "Predicate"] {
        assert!(found.iter().any(|name| name == wanted), "{wanted} in {found:?}");
    }
    assert!(xml.contains("PhysicalOp=\"Hash Match\"") && xml.contains("EstimateRows=") && xml.contains("NodeId=\"0\""));
    assert!(xml.contains("&quot;&lt;&amp;&gt;"), "{xml}");
}

/// Every kind of operator is an element with what its tools expect inside: the order of elements is that of the published schema.
#[test]
fn elements_of_operators_have_what_the_schema_asks_for() {
    let mut one = started();
    run(&mut one, "set showplan_xml on");
    let plans = [
        (
            "select b from t where a = 5 and c like 'x%'",
            "<SeekPredicates><SeekPredicateNew><SeekKeys><Prefix ScanType=\"EQ\"><RangeColumns><ColumnReference Database=\"[master]\" \
             Schema=\"[dbo]\" Table=\"[t]\" Column=\"a\"/></RangeColumns><RangeExpressions><ScalarOperator ScalarString=\"(5)\"><Const ConstValue=\"(5)\"/>",
        ),
        (
            "select b from t where a >= 5 and a < 9",
            "</StartRange><EndRange ScanType=\"LT\">",
        ),
        (
            "select b from t order by b desc",
            "<Sort Distinct=\"0\"><OrderBy><OrderByColumn Ascending=\"0\"><ColumnReference Database=\"[master]\"",
        ),
        (
            "select b, count(*) from t group by b",
            "<Hash><DefinedValues><DefinedValue><ColumnReference Column=\"Expr1001\"/><ScalarOperator ScalarString=\"COUNT(*)\">\
             <Aggregate AggType=\"COUNT\" Distinct=\"0\"></Aggregate></ScalarOperator></DefinedValue></DefinedValues><HashKeysBuild>",
        ),
        (
            "select top 3 * from h",
            "<Top RowCount=\"0\" IsPercent=\"0\" WithTies=\"0\"><TopExpression>",
        ),
        (
            "select * from h",
            "<TableScan Ordered=\"0\" ForcedIndex=\"0\" NoExpandHint=\"0\" Storage=\"RowStore\"><DefinedValues><DefinedValue>",
        ),
        (
            "delete h",
            "<Update><Object Database=\"[master]\" Schema=\"[dbo]\" Table=\"[h]\" IndexKind=\"Heap\" Storage=\"RowStore\"/><RelOp NodeId=\"1\"",
        ),
        (
            "select t.b from t left join u on u.k = t.a where abs(t.b) + 1 > 3",
            "<Compare CompareOp=\"GT\"><ScalarOperator><Arithmetic Operation=\"ADD\"><ScalarOperator><Intrinsic FunctionName=\"abs\">",
        ),
    ];
    for (query, part) in plans {
        let mut whole = Whole::default();
        one.execute(query, &mut whole);
        elements(&whole.0[0]);
        assert!(whole.0[0].contains(part), "{query}: {part}\n{}", whole.0[0]);
    }
}

/// Functions have their names, and queries that are asked row by row their operators.
#[test]
fn what_conditions_hold_is_shown() {
    let mut one = started();
    run(&mut one, "set showplan_text on");
    for (query, parts) in [
        (
            "select upper(c), datepart(yy, getdate()), dateadd(day, a, 0) from t where len(c) = 1",
            &[
                "upper([master].[dbo].[t].[c])",
                "datepart(year,getdate())",
                "dateadd(day,CONVERT_IMPLICIT(bigint,[master].[dbo].[t].[a],0),",
                "len([master].[dbo].[t].[c])=(1)",
            ][..],
        ),
        (
            "select (select max(d) from u where u.a = t.b) from t",
            &[
                "Nested Loops(Left Outer Join",
                "[master].[dbo].[u].[pk_u]",
                "MAX([master].[dbo].[u].[d])",
            ][..],
        ),
    ] {
        let mut whole = Whole::default();
        one.execute(query, &mut whole);
        let plan = whole.0.join("\n");
        for part in parts {
            assert!(plan.contains(part), "{query}: {part}\n{plan}");
        }
    }
}
