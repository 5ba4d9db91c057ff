//! Parameters in place of constants: which statements share a plan, under which text it is shown, and that answers do not
//! change.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use std::sync::Arc;

use engine::instance::Instance;
use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The rows of an answer, without their blanks.
fn rows(session: &mut Session, query: &str) -> Vec<String> {
    let answer = run(session, query);
    assert!(!answer.contains("Msg "), "{query}: {answer}");
    let lines = answer.lines().skip(1);
    let lines = lines.filter(|line| line.starts_with("  ") && !line.ends_with("Select)"));
    lines.map(|line| line.trim().to_owned()).collect()
}

fn started() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut one = session(&instance);
    let setup = "set nocount on create database d";
    assert_eq!(run(&mut one, setup), "");
    run(&mut one, "use d");
    let setup = "set nocount on
        create table t (a int not null primary key, b int not null, c varchar(20) null, d decimal(9, 2) null, e datetime null)
        create index ib on t (b)
        create table h (x int null, y nvarchar(10) null, z char(3) null)
        declare @i int = 0
        while @i < 300 begin
            insert t values (@i, 300 - @i, char(97 + @i % 26), @i / 4.0, dateadd(day, @i, '2024-01-01'))
            insert h values (@i % 50, nchar(97 + @i % 26), char(97 + @i % 26))
            set @i += 1
        end";
    assert_eq!(run(&mut one, setup), "");
    run(&mut one, "dbcc freeproccache with no_infomsgs");
    (instance, one)
}

/// Texts of templates, each with its uses. They begin with the declarations of their parameters.
fn templates(session: &mut Session) -> Vec<String> {
    let query = "select concat(x.text, ' ', p.usecounts) from sys.dm_exec_cached_plans p \
                 cross apply sys.dm_exec_sql_text(p.plan_handle) x where p.objtype = 'Prepared' and x.text like '(@%' order by x.text";
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

fn forget(session: &mut Session) {
    run(session, "dbcc freeproccache with no_infomsgs");
}

#[test]
fn statements_that_differ_in_constants_share_one_plan() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    run(&mut other, "use d");
    assert_eq!(rows(&mut one, "select b from t where a = 3"), ["297"]);
    assert_eq!(
        rows(&mut other, "SELECT b\n  FROM t -- all of it\n WHERE a = 7;"),
        ["293"]
    );
    assert_eq!(rows(&mut one, "select b from t where a = 3"), ["297"]);
    assert_eq!(rows(&mut one, "select b from t where a = 299"), ["1"]);
    let counted = "select p.objtype, p.usecounts, q.plan_generation_num, q.execution_count, q.statement_start_offset \
                   from sys.dm_exec_cached_plans p join sys.dm_exec_query_stats q on q.plan_handle = p.plan_handle \
                   cross apply sys.dm_exec_sql_text(p.plan_handle) x where x.text like '(@1 %' order by x.text";
    assert_eq!(
        rows(&mut one, counted),
        ["Prepared | 1 | 1 | 1 | 26", "Prepared | 3 | 1 | 3 | 24"]
    );
    assert_eq!(
        templates(&mut one),
        [
            "(@1 smallint)SELECT [b] FROM [t] WHERE [a]=@1 1",
            "(@1 tinyint)SELECT [b] FROM [t] WHERE [a]=@1 3"
        ]
    );
    let batches = "select p.usecounts, x.text from sys.dm_exec_cached_plans p cross apply sys.dm_exec_sql_text(p.plan_handle) x \
                   where p.objtype = 'Adhoc' and x.text like 'select b from t%' order by x.text";
    assert_eq!(
        rows(&mut one, batches)[0..2],
        ["1 | select b from t where a = 299", "2 | select b from t where a = 3"]
    );
}

/// A statement, and the text of its template under SIMPLE; none where it stays as it is.
const SIMPLE: &[(&str, &str)] = &[
    (
        "select c from t where a = 5 and d > 1.5",
        "(@1 tinyint,@2 numeric(2,1))SELECT [c] FROM [t] WHERE [a]=@1 AND [d]>@2",
    ),
    (
        "select t.c as \"x\" from dbo.t where t.a = -3000000000",
        "(@1 numeric(10,0))SELECT [t].[c] AS [x] FROM [dbo].[t] WHERE [t].[a]=-@1",
    ),
    (
        "select * from h where x between 3 and 70000 and y = N'a' and z = 'b'",
        "(@1 tinyint,@2 int,@3 nvarchar(4000),@4 varchar(8000))SELECT * FROM [h] WHERE [x] BETWEEN @1 AND @2 AND [y]=@3 AND [z]=@4",
    ),
    (
        "select count(*), max(x) + 1 from h where x < 1e1 and x > $2",
        "(@1 float,@2 money)SELECT count(*),max(x)+1 FROM [h] WHERE [x]<@1 AND [x]>@2",
    ),
    (
        "select x from h where x = 5 order by 1",
        "(@1 tinyint)SELECT [x] FROM [h] WHERE [x]=@1 ORDER BY 1",
    ),
    (
        "insert h values (7, 'x', null)",
        "(@1 tinyint,@2 varchar(8000))INSERT [h] VALUES (@1,@2,NULL)",
    ),
    (
        "update h set x = 8, y = y + N'!' where x = 7",
        "(@1 tinyint,@2 tinyint)UPDATE [h] SET [x]=@1,[y]=[y]+N'!' WHERE [x]=@2",
    ),
    ("delete h where x = 8", "(@1 tinyint)DELETE [h] WHERE [x]=@1"),
    (
        "delete from t where a = 999",
        "(@1 smallint)DELETE FROM [t] WHERE [a]=@1",
    ),
    // The index on b leaves a choice, but for a row found by the key.
    ("select a from t where b = 5", ""),
    ("select c from t where c = 'q' order by b", ""),
    (
        "select b from t where a = 5",
        "(@1 tinyint)SELECT [b] FROM [t] WHERE [a]=@1",
    ),
    // Not of simple form.
    ("select x from h where x in (1, 2)", ""),
    ("select x from h where x = 1 or x = 2", ""),
    ("select x from h where x <> 1", ""),
    ("select top 1 x from h where x = 1", ""),
    ("select distinct x from h where x = 1", ""),
    ("select x from h where x = 1 group by x", ""),
    ("select x from h with (nolock) where x = 1", ""),
    ("select x from h where x = 1 option (maxdop 1)", ""),
    ("select x from h where x = (select max(a) from t where a < 9)", ""),
    ("select h.x from h join t on t.a = h.x where t.a = 3", ""),
    ("select x from h where x = 1 union all select x from h where x = 2", ""),
    ("insert h values (1, 'x', 'y'), (2, 'x', 'y')", ""),
    ("insert h select a, c, null from t where a = 3", ""),
    ("select x into i from h where x = 3", ""),
    ("declare @v int = 3 select x from h where x = 5 and x = @v", ""),
    ("select name from sys.tables where name = 'h'", ""),
    // No constant is left that stands for itself.
    ("select x, 5 from h", ""),
    (
        "select x from h where x = 1 + 2 and y like 'a%' and left(y, 1) = substring('abc', 1, 1)",
        "",
    ),
];

#[test]
fn simple_parameterization_takes_statements_of_one_table_that_leave_no_choice() {
    let (_instance, mut one) = started();
    for (statement, text) in SIMPLE {
        forget(&mut one);
        let answer = run(&mut one, statement);
        assert!(!answer.contains("Msg "), "{statement}: {answer}");
        let expected: Vec<String> = Some(*text)
            .filter(|text| !text.is_empty())
            .map(|text| format!("{text} 1"))
            .into_iter()
            .collect();
        assert_eq!(templates(&mut one), expected, "{statement}");
    }
    // What EXECUTE is given stays as it is, and so do modules.
    run(&mut one, "create procedure p as select b from t where a = 3");
    forget(&mut one);
    rows(&mut one, "exec ('select b from t where a = 3')");
    rows(&mut one, "exec p");
    assert_eq!(templates(&mut one), [""; 0]);
    run(&mut one, "set ansi_nulls off");
    rows(&mut one, "select b from t where a = 3");
    assert_eq!(templates(&mut one), [""; 0]);
}

#[test]
fn each_statement_of_a_batch_is_taken_by_itself_and_an_index_made_later_is_seen() {
    let (_instance, mut one) = started();
    let batch = "select b from t where a = 3 select x from h where x in (1) if 1 = 1 select z from h where x = 4\n select b from t where a = 9";
    run(&mut one, batch);
    run(&mut one, batch);
    assert_eq!(
        templates(&mut one),
        [
            "(@1 tinyint)SELECT [b] FROM [t] WHERE [a]=@1 4",
            "(@1 tinyint)SELECT [z] FROM [h] WHERE [x]=@1 2"
        ]
    );
    run(&mut one, "create index ix on h (x)");
    run(&mut one, batch);
    assert_eq!(
        templates(&mut one),
        [
            "(@1 tinyint)SELECT [b] FROM [t] WHERE [a]=@1 6",
            "(@1 tinyint)SELECT [z] FROM [h] WHERE [x]=@1 2"
        ]
    );
}

#[test]
fn forced_parameterization_takes_what_simple_leaves_and_is_stored() {
    let (_instance, mut one) = started();
    let is_forced = "select is_parameterization_forced, databasepropertyex('d', 'IsParameterizationForced') \
                     from sys.databases where name = 'd'";
    assert_eq!(rows(&mut one, is_forced), ["0 | 0"]);
    assert_eq!(run(&mut one, "alter database d set parameterization forced"), "");
    assert_eq!(rows(&mut one, is_forced), ["1 | 1"]);
    run(
        &mut one,
        "use master alter database d set offline alter database d set online",
    );
    run(&mut one, "use d");
    assert_eq!(rows(&mut one, is_forced), ["1 | 1"], "after it was opened again");
    assert!(run(&mut one, "alter database d set parameterization odd").contains("Msg 102"));
    for (statement, text) in [
        (
            "SELECT b, 5 FROM t WHERE a IN (3, 70000) OR c = 'q'",
            "(@0 int,@1 int,@2 varchar(8000))select b , 5 from t where a in ( @0 , @1 ) or c = @2",
        ),
        (
            "select top 2 h.x from h join t on t.a = h.x and t.b > 7 where exists (select 1 from t u where u.a = h.x and u.d = 1.5) order by 1",
            "(@0 int,@1 numeric(2,1))select top 2 h . x from h join t on t . a = h . x and t . b > @0 where exists ( select 1 from t u \
             where u . a = h . x and u . d = @1 ) order by 1",
        ),
        (
            "insert h select a, c, null from t where a = 3",
            "(@0 int)insert h select a , c , null from t where a = @0",
        ),
        (
            "select x from h where x <> 1e0",
            "(@0 float(53))select x from h where x <> @0",
        ),
        (
            "select x + 1 from h where x = 1 group by x + 1 having max(x) > 0",
            "(@0 int)select x + 1 from h where x = @0 group by x + 1 having max ( x ) > 0",
        ),
        (
            "exec ('select b from t where b = 3')",
            "(@0 int)select b from t where b = @0",
        ),
        ("select x from h where x = 1 option (recompile)", ""),
        ("declare @v int = 3 select x from h where x = 5 and x = @v", ""),
        (
            "select case when x = 1 then 'y' else 'no' end from h where y like 'a%' and 20 > 5",
            "",
        ),
    ] {
        forget(&mut one);
        let answer = run(&mut one, statement);
        assert!(!answer.contains("Msg "), "{statement}: {answer}");
        let expected: Vec<String> = Some(text)
            .filter(|text| !text.is_empty())
            .map(|text| format!("{text} 1"))
            .into_iter()
            .collect();
        // What asks for the templates is one itself.
        let mut found = templates(&mut one);
        found.retain(|text| !text.contains("dm_exec_cached_plans"));
        assert_eq!(found, expected, "{statement}");
    }
    assert_eq!(run(&mut one, "alter database d set parameterization simple"), "");
    assert_eq!(rows(&mut one, is_forced), ["0 | 0"]);
}

/// Statements with constants of all kinds in places where their types, their values or their errors could be seen.
const ANSWERS: &[&str] = &[
    "select a, 'x' as k, 1.50 as n, d * 1.5 as m from t where a = 3",
    "select c + 'z' as w, isnull(c, 'abcdef') as v from t where a = 3",
    "select a from t where d = 0.75",
    "select a from t where d = .750000000000000000001",
    "select a from t where a = 3.0",
    "select a from t where a = '3'",
    "select a from t where a = 'x'",
    "select x from h where z = 'a ' and y = 'A'",
    "select count(*) from h where z = 0x61",
    "select a from t where e = '2024-01-05'",
    "select a from t where e = 'no date'",
    "select a from t where e between '2024-01-05' and '20240107'",
    "select a from t where a = 2147483648",
    "select a from t where a = -2147483648 or a = -3",
    "select a from t where a / 0 = 5 and a = 3",
    "select a from t where 100 / a = 50 and a < 5",
    "select a\nfrom t\nwhere a = 3 and 1 / (a - 3) = 7",
    "select 1\nselect a from t where a =\n'q'\nselect 2",
    "insert h values (300, N'more than ten characters', null)",
    "insert h values ('x', N'n', null)",
    "insert h values (3000000000, N'n', null)",
    "insert t values (3, 1, null, null, null)",
    "insert t values (1001, 1, '', 1234567.891, '2024-13-01')",
    "insert t values (1001, 1, 0x4142, 12345.678, 5.5) select * from t where a = 1001 delete t where a = 1001",
    "update t set d = 99999999.99 where a = 3",
    "update t set c = 'twenty-one characters' where a = 3",
    "update t set c = 5, d = '7.125' where a = 3 select * from t where a = 3",
    "update h set x = null, y = '' where x = 49 select @@rowcount",
    "select * from t where nothing = 3",
    "select * from nowhere where a = 3",
    "select a from t where a = 3 order by 2",
    "begin try select a from t where a = 'x' end try begin catch select error_number(), error_line(), error_message() end catch",
    "select a from t where c = 'b' collate Latin1_General_BIN2 and a < 30",
    "select x from h where y = null",
    "select x from h where x between null and 5",
    "select count(*) from h where x is null and y = ''",
    "delete from t where a = 3 and c = 'no' select @@rowcount, @@error",
];

/// A transcript of all answers, under a setting.
fn answers(option: &str) -> String {
    let (_instance, mut one) = started();
    assert!(!run(&mut one, option).contains("Msg "), "{option}");
    // The second time plans are there already.
    let asked = ANSWERS.iter().chain(ANSWERS);
    asked
        .map(|batch| format!("> {batch}\n{}", run(&mut one, batch)))
        .collect()
}

#[test]
fn answers_and_errors_are_those_of_statements_with_constants() {
    let plain = answers("set nocount on");
    // A text that another one executes keeps its constants under SIMPLE.
    let (_instance, mut one) = started();
    let quoted = |batch: &str| format!("exec ('{}')", batch.replace('\'', "''"));
    let mut kept = String::new();
    for batch in ANSWERS.iter().chain(ANSWERS) {
        kept.push_str(&format!("> {batch}\n{}", run(&mut one, &quoted(batch))));
    }
    let forced = answers("alter database d set parameterization forced");
    assert!(
        plain.contains("Msg 245") && plain.contains("Msg 8134") && plain.contains("Msg 8115"),
        "{plain}"
    );
    assert_eq!(plain, kept, "SIMPLE");
    assert_eq!(forced, kept, "FORCED");
}
