//! SET STATISTICS IO, TIME, PROFILE and XML: the figures of a statement, in SQL Server's words, columns and elements.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// 2,000 rows of 500 bytes in `t`, 100 in `u`.
fn started() -> Session {
    let mut one = session(&instance());
    let setup = "set nocount on create table t (a int not null constraint pk_t primary key, b int not null, c char(500)) \
        create index ib on t (b) create table u (k int not null primary key, a int) create table h (x int) \
        declare @i int = 0 while @i < 2000 begin insert t values (@i, @i % 10, 'x') if @i < 100 insert u values (@i, @i * 7) set @i += 1 end \
        set nocount off";
    assert_eq!(run(&mut one, setup), "");
    one
}

/// The number behind a word.
fn number(text: &str, word: &str) -> u64 {
    let found = text.split(word).nth(1).unwrap_or_else(|| panic!("{word} in {text}"));
    let digits: String = found.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits
        .parse()
        .unwrap_or_else(|_| panic!("a number behind {word} in {text}"))
}

/// The line of a table.
fn line<'a>(answer: &'a str, table: &str) -> &'a str {
    let begin = format!("Table '{table}'.");
    let mut lines = answer.lines().filter(|line| line.contains(&begin));
    let found = lines.next().unwrap_or_else(|| panic!("{begin} in {answer}"));
    assert_eq!(lines.next(), None, "one line for a table: {answer}");
    found
}

#[test]
fn statistics_io_tells_of_each_table_once() {
    let mut one = started();
    assert_eq!(run(&mut one, "set statistics io on"), "", "SET reads nothing");
    let answer = run(&mut one, "select count(*) from t where c = 'y'");
    let scanned = line(&answer, "t");
    assert_eq!(number(scanned, "Scan count"), 1);
    let pages = number(scanned, "logical reads");
    assert!((125..160).contains(&pages), "2,000 rows of 511 bytes: {scanned}");
    let rest = scanned.split_once("logical reads").unwrap().1;
    let rest = rest.split_once(',').unwrap().1;
    assert_eq!(
        rest,
        " physical reads 0, page server reads 0, read-ahead reads 0, page server read-ahead reads 0, lob logical reads 0, \
         lob physical reads 0, lob page server reads 0, lob read-ahead reads 0, lob page server read-ahead reads 0."
    );
    // One row by a unique index is not a scan; it is found through the root and a leaf.
    let answer = run(&mut one, "select b from t where a = 77");
    let found = line(&answer, "t");
    assert_eq!(number(found, "Scan count"), 0, "{found}");
    assert!((1..=3).contains(&number(found, "logical reads")), "{found}");
    // A table that is joined to itself, and another one.
    let answer = run(
        &mut one,
        "select count(*) from t x join t y on y.a = x.a + 1 join u on u.k = x.b where u.a < 30",
    );
    assert!(number(line(&answer, "t"), "logical reads") > 0);
    assert!(number(line(&answer, "u"), "logical reads") > 0);
    let answer = run(&mut one, "set statistics io off select count(*) from t");
    assert!(!answer.contains("Table '"), "{answer}");
}

#[test]
fn statistics_io_tells_of_changes_queries_in_conditions_and_procedures() {
    let mut one = started();
    run(
        &mut one,
        "create procedure p as begin select a from u where k = 1 delete h end",
    );
    run(&mut one, "set statistics io on");
    let answer = run(&mut one, "insert h select a from u");
    assert!(number(line(&answer, "u"), "logical reads") > 0, "{answer}");
    assert!(number(line(&answer, "h"), "logical reads") > 0, "{answer}");
    assert_eq!(number(line(&answer, "h"), "Scan count"), 0);
    let answer = run(&mut one, "update t set c = 'z' where a < 3");
    assert_eq!(number(line(&answer, "t"), "Scan count"), 1, "{answer}");
    let answer = run(&mut one, "if exists (select 1 from u where a = 7) print 'there'");
    assert!(number(line(&answer, "u"), "logical reads") > 0, "{answer}");
    let answer = run(&mut one, "declare @n int set @n = (select count(*) from u)");
    assert!(number(line(&answer, "u"), "logical reads") > 0, "{answer}");
    let answer = run(&mut one, "exec p");
    assert!(answer.find("Table 'u'") < answer.find("Table 'h'"), "{answer}");
    assert_eq!(
        answer.matches("Table '").count(),
        2,
        "EXECUTE itself reads nothing: {answer}"
    );
}

/// Reads of a function are part of no line (SQL Server tells of none), and its statements tell nothing.
#[test]
fn what_functions_read_is_not_told() {
    let mut one = started();
    run(
        &mut one,
        "create function f (@k int) returns int as begin return (select a from t where a = @k) end",
    );
    run(&mut one, "set statistics io, time, profile on");
    let answer = run(&mut one, "select dbo.f(k) from u where k < 3");
    assert_eq!(answer.matches("Table '").count(), 1, "{answer}");
    assert!(number(line(&answer, "u"), "logical reads") < 10, "{answer}");
    assert_eq!(answer.matches("Execution Times").count(), 1, "{answer}");
}

#[test]
fn older_versions_know_no_page_servers() {
    let mut one = started();
    let instance = one.state().instance.clone();
    assert_eq!(instance.options.version, vlf::ServerVersion::V2022);
    run(&mut one, "set statistics io on");
    let answer = run(&mut one, "select count(*) from u");
    assert!(answer.contains("page server reads 0"), "{answer}");
}

#[test]
fn statistics_time_tells_of_parsing_planning_and_running() {
    let mut one = started();
    let answer = run(&mut one, "set statistics time on");
    assert_eq!(answer, "", "what turns it on is not told of");
    let answer = run(&mut one, "select count(*) from u");
    let compile = "SQL Server parse and compile time: \r\n   CPU time = 0 ms, elapsed time = 0 ms.";
    assert_eq!(
        answer.matches(compile).count(),
        2,
        "the batch, and the statement's plan: {answer:?}"
    );
    let run_time = "\r\n SQL Server Execution Times:\r\n   CPU time = ";
    assert_eq!(answer.matches(run_time).count(), 1, "{answer:?}");
    assert!(
        answer.find(compile) < answer.find("  100\n") && answer.find("  100\n") < answer.find(run_time),
        "{answer:?}"
    );
    let answer = run(&mut one, "set statistics time off select 1");
    assert!(!answer.contains("Execution Times"), "{answer:?}");
}

#[test]
fn statistics_profile_has_rows_and_executes_before_the_columns_of_showplan_all() {
    let mut one = started();
    run(&mut one, "set statistics profile on");
    let answer = run(
        &mut one,
        "select top 3 t.b from u join t on t.a = u.a where u.k < 20 option (loop join)",
    );
    let (result, plan) = answer.split_once("[Rows bigint | Executes bigint | StmtText").unwrap();
    assert!(result.contains("(3 rows, Select)"), "the result comes first: {answer}");
    let rows: Vec<Vec<&str>> = plan
        .lines()
        .skip(1)
        .map(|line| line.split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows[0][..2], ["3", "1"], "the statement has its result's: {plan}");
    let of = |word: &str| {
        let row = rows
            .iter()
            .find(|row| row.get(2).is_some_and(|text| text.contains(word)));
        row.unwrap_or_else(|| panic!("{word} in {plan}")).clone()
    };
    assert_eq!(of("Top(")[..2], ["3", "1"]);
    let joined: f64 = of("Nested Loops(")[10].parse().unwrap();
    assert!(joined > 10.0, "each of twenty rows finds its own: {plan}");
    assert!(
        plan.contains("[t].[a]=[master].[dbo].[u].[a]"),
        "a search by the left row: {plan}"
    );
    assert_eq!(
        of("Clustered Index Seek(OBJECT:([master].[dbo].[t]")[..2],
        ["3", "3"],
        "{plan}"
    );
    let answer = run(&mut one, "update t set b = 5 where a < 4");
    assert!(
        answer.contains("\n  4 | 1 | |--Clustered Index Update(")
            || answer.contains("4 | 1 |   |--Clustered Index Update("),
        "{answer}"
    );
    run(&mut one, "set statistics profile off");
    assert!(!run(&mut one, "select 1").contains("StmtText"));
}

/// Whatever the plan, the rows of its root are those that were sent, however often it is run.
#[test]
fn the_root_has_given_what_was_sent() {
    let mut one = started();
    run(&mut one, "set statistics profile on");
    let queries = [
        "select b, count(*) from t group by b",
        "select distinct b from t",
        "select a from t order by c, a desc",
        "select top 10 a from t order by c, a desc",
        "select a from t order by a offset 5 rows fetch next 7 rows only",
        "select a, (select max(k) from u where u.a = t.a) from t where a < 50",
        "select k from u where exists (select 1 from t where t.a = u.a and t.b = 7)",
        "select k from u where a not in (select a from t where b = 3)",
        "select a from u union select b from t",
        "select a from u intersect select a from t",
        "select row_number() over (order by b) from t where a < 30",
        "with n as (select 1 as i union all select i + 1 from n where i < 9) select i from n",
        "select x.i from (values (1), (2)) x (i)",
        "select u.k, t.b from u left join t on t.a = u.a and t.b = 1",
        "select name from sys.tables",
    ];
    for query in queries {
        for _ in 0..2 {
            let answer = run(&mut one, query);
            let sent = answer.split(" rows, Select)").next().unwrap();
            let sent = sent.rsplit('(').next().unwrap();
            let plan = answer
                .split("[Rows bigint")
                .nth(1)
                .unwrap_or_else(|| panic!("{query}: {answer}"));
            let root = plan.lines().nth(1).unwrap().trim();
            assert!(
                root.starts_with(&format!("{sent} | 1 |")),
                "{query}: {sent} rows\n{plan}"
            );
        }
    }
}

#[test]
fn statistics_xml_has_what_the_operators_came_to() {
    let mut one = started();
    run(&mut one, "set statistics xml on");
    let mut whole = transcript::Whole::default();
    one.execute("select a from t where c = 'x' and b = 3 and a < 100", &mut whole);
    let xml = whole.0.last().unwrap();
    for part in [
        "<RunTimeInformation><RunTimeCountersPerThread Thread=\"0\" ActualRows=\"10\"",
        "ActualExecutions=\"1\"",
        "ActualLogicalReads=\"",
        "ActualElapsedms=\"",
        "<QueryTimeStats CpuTime=\"",
        "StatementType=\"SELECT\"",
    ] {
        assert!(xml.contains(part), "{part} in {xml}");
    }
    assert!(number(xml, "ActualLogicalReads=\"") > 0, "{xml}");
}

/// Runs something while others have taken of the workspace what operators that can spill may have.
fn starved<T>(session: &mut Session, run: impl FnOnce(&mut Session) -> T) -> T {
    let workspace = session.state().instance.workspace.clone();
    let all = workspace.limit_bytes() - workspace.used_bytes() - workspace.reserve_bytes();
    assert!(workspace.take(all));
    let answer = run(session);
    workspace.give_back(all);
    answer
}

/// The plan behind a statement's results.
fn plan_in_xml(session: &mut Session, query: &str) -> String {
    run(session, "set statistics xml on");
    let mut whole = transcript::Whole::default();
    session.execute(query, &mut whole);
    run(session, "set statistics xml off");
    whole.0.pop().unwrap()
}

const SORT: &str = "select a from t order by c, b desc";
const HASH_JOIN: &str = "select max(x.c), max(y.c) from t x join t y on y.b = x.a + 0 option (hash join)";
const HASH_AGGREGATE: &str = "select max(c) from t group by a % 1999, b % 3";

#[test]
fn hashes_have_a_workfile_and_a_worktable_and_sorts_none_where_they_fit() {
    let mut one = started();
    run(&mut one, "set statistics io on");
    let zeros = "Scan count 0, logical reads 0, physical reads 0, page server reads 0, read-ahead reads 0,";
    for query in [HASH_JOIN, HASH_AGGREGATE, "select b from t except select a from u"] {
        let answer = run(&mut one, query);
        assert!(line(&answer, "Workfile").contains(zeros), "{answer}");
        assert!(line(&answer, "Worktable").contains(zeros), "{answer}");
        assert!(answer.find("Table 't'") < answer.find("Table 'Workfile'"), "{answer}");
        assert!(
            answer.find("Table 'Workfile'") < answer.find("Table 'Worktable'"),
            "{answer}"
        );
    }
    for query in [
        SORT,
        "select a from t where a = 7",
        "select x.a from t x join u on u.k = x.a option (loop join)",
    ] {
        let answer = run(&mut one, query);
        assert!(!answer.contains("Work"), "{answer}");
    }
    // Spools, and merge joins that keep the rows of a key, have a worktable alone.
    let spooled = "with c as (select b, count(*) as n from t group by b) select x.b from c x join c y on y.n = x.n + 1";
    let merged = "select count(*) from t x join t y on y.b = x.b option (merge join)";
    for query in [spooled, merged] {
        let answer = run(&mut one, query);
        assert!(line(&answer, "Worktable").contains(zeros), "{answer}");
    }
    assert!(!run(&mut one, merged).contains("Workfile"));
}

#[test]
fn what_does_not_fit_is_told_by_its_pages_and_warned_of_in_the_plan() {
    let mut one = started();
    for (query, table, details) in [
        (SORT, "Worktable", "SortSpillDetails"),
        (HASH_JOIN, "Workfile", "HashSpillDetails"),
        (HASH_AGGREGATE, "Workfile", "HashSpillDetails"),
    ] {
        let roomy = plan_in_xml(&mut one, query);
        assert!(!roomy.contains("<Warnings>"), "{roomy}");
        let answer = starved(&mut one, |one| plan_in_xml(one, query));
        run(&mut one, "set statistics io on");
        let figures = starved(&mut one, |one| run(one, query));
        run(&mut one, "set statistics io off");
        let told = line(&figures, table);
        let read = number(told, "physical reads") + number(told, "read-ahead reads");
        assert!(read > 50 && number(told, "physical reads") > 0, "{told}");
        match table {
            "Workfile" => {
                assert!(number(told, "Scan count") > 1, "{told}");
                assert_eq!(number(told, "logical reads"), read, "{told}");
            }
            _ => assert!(told.contains("Scan count 0, logical reads 0,"), "{told}"),
        }
        let warned = "</OutputList><Warnings><SpillToTempDb SpillLevel=\"";
        let (before, warnings) = answer
            .split_once(warned)
            .unwrap_or_else(|| panic!("{warned} in {answer}"));
        assert!(!warnings.contains("<Warnings>"), "one operator: {answer}");
        let name = if table == "Worktable" { "Sort" } else { "Hash Match" };
        let operator = before.rsplit_once("<RelOp ").unwrap().1;
        assert!(operator.contains(&format!("PhysicalOp=\"{name}\"")), "{operator}");
        let (own, _) = warnings.split_once("</Warnings><RunTimeInformation>").unwrap();
        let details = format!("\" SpilledThreadCount=\"1\"/><{details} GrantedMemoryKb=\"");
        assert!(
            own.trim_start_matches(|digit: char| ('1'..='9').contains(&digit))
                .starts_with(&details),
            "{own}"
        );
        assert_eq!(number(own, "ReadsFromTempDb=\""), read, "{own}");
        assert!(number(own, "WritesToTempDb=\"") >= read, "{own}");
        assert!(
            number(own, "UsedMemoryKb=\"") <= number(own, "GrantedMemoryKb=\""),
            "{own}"
        );
    }
}
