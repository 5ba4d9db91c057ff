//! The plan cache: one entry for a text in a database, plans shared by sessions, what makes a plan stale, and what hints
//! change.
//!
//! Which plan was made is seen by the order of rows: those of `t` come by falling `b` from the table, by rising `b` from the index on it.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::instance::Instance;
use engine::types::{SqlType, Value};
use std::sync::Arc;
use transcript::{Transcript, instance, session};
use tsql::session::{Parameter, Session};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The rows of an answer, in one line.
fn rows_in(answer: &str) -> String {
    let lines = answer.lines().skip(1);
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("  ("));
    lines.map(str::trim).collect::<Vec<_>>().join("; ")
}

fn rows(session: &mut Session, query: &str) -> String {
    rows_in(&run(session, query))
}

/// Executes a text with `@p int`.
fn with_p(session: &mut Session, sql: &str, value: i32) -> String {
    let parameter = Parameter {
        name: "@p".to_owned(),
        sql_type: SqlType::Int,
        value: Value::Int(value),
        output: false,
        is_default: false,
        table: None,
    };
    let mut transcript = Transcript::default();
    session.execute_with_parameters(sql, "@p int", &[parameter], &mut transcript);
    rows_in(&transcript.text)
}

fn started() -> (Arc<Instance>, Session) {
    let instance = instance();
    let mut one = session(&instance);
    let setup = "set nocount on create table t (a int not null primary key, b int not null, c varchar(20) not null) \
        declare @i int = 0 while @i < 1000 begin insert t values (@i, 1000 - @i, 'x') set @i += 1 end create index ib on t (b) \
        dbcc freeproccache with no_infomsgs";
    assert_eq!(run(&mut one, setup), "");
    (instance, one)
}

/// What is counted of the plans whose text begins so: kind, uses, plans made, executions.
fn counted(session: &mut Session, text: &str) -> String {
    let query = format!(
        "select p.objtype, p.usecounts, q.plan_generation_num, q.execution_count from sys.dm_exec_cached_plans p \
         join sys.dm_exec_query_stats q on q.plan_handle = p.plan_handle cross apply sys.dm_exec_sql_text(p.plan_handle) x \
         where x.text like '{}%'",
        text.replace('\'', "''")
    );
    rows(session, &query)
}

const FEW: &str = "select a from t where b >= @p and c <> 'y'";

#[test]
fn sessions_that_send_one_text_share_its_plan_and_are_counted_together() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    for session in [&mut one, &mut other] {
        assert_eq!(rows(session, "select c from t where a in (3)"), "x");
    }
    assert_eq!(rows(&mut one, "select c from t where a in (3)"), "x");
    assert_eq!(
        counted(&mut other, "select c from t where a in (3)"),
        "Adhoc | 3 | 1 | 3"
    );
    with_p(&mut one, FEW, 996);
    assert_eq!(
        counted(&mut one, "select a from t where b >= @p"),
        "Prepared | 1 | 1 | 1"
    );
    run(&mut one, "create procedure dbo.q as select max(a) from t");
    assert_eq!(rows(&mut one, "exec dbo.q"), "999");
    assert_eq!(rows(&mut other, "exec dbo.q"), "999");
    assert_eq!(counted(&mut one, "create procedure dbo.q"), "Proc | 2 | 1 | 2");
}

#[test]
fn a_plan_is_made_anew_when_a_definition_changes_and_when_an_administrator_says_so() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    let text = "select * from t where a in (3)";
    assert_eq!(rows(&mut one, text), "3 | 997 | x");
    run(&mut other, "alter table t add d int null");
    assert_eq!(rows(&mut one, text), "3 | 997 | x | NULL");
    assert_eq!(counted(&mut one, text), "Adhoc | 2 | 2 | 2");
    let handle = "select plan_handle from sys.dm_exec_cached_plans p cross apply sys.dm_exec_sql_text(p.plan_handle) x where x.text like 'select * from t where a%'";
    let first = rows(&mut one, handle);
    assert!(run(&mut other, "dbcc freeproccache").contains("DBCC execution completed."));
    assert_eq!(counted(&mut one, text), "");
    assert_eq!(rows(&mut one, text), "3 | 997 | x | NULL");
    assert_eq!(counted(&mut one, text), "Adhoc | 1 | 1 | 1");
    let second = rows(&mut one, handle);
    assert!(first != second && second.starts_with("0x06"), "{first} {second}");
    run(&mut other, &format!("dbcc freeproccache ({second})"));
    assert_eq!(rows(&mut one, handle), "");
    assert!(run(&mut one, "dbcc freeproccache ('no pool')").contains("Msg 2560"));
    rows(&mut one, text);
    run(&mut one, "dbcc freesystemcache ('Object Plans')");
    assert_ne!(rows(&mut one, handle), "");
    run(&mut one, "dbcc freesystemcache ('SQL Plans') with no_infomsgs");
    assert_eq!(rows(&mut one, handle), "");
    rows(&mut one, text);
    run(&mut one, "alter database scoped configuration clear procedure_cache");
    assert_eq!(rows(&mut one, handle), "");
}

#[test]
fn what_is_a_sessions_own_is_planned_for_it_alone() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    run(&mut one, "create table #t (x int) insert #t values (1)");
    run(
        &mut other,
        "create table #t (x varchar(9), y int) insert #t values ('two', 3)",
    );
    assert_eq!(rows(&mut one, "select * from #t"), "1");
    assert_eq!(rows(&mut other, "select * from #t"), "two | 3");
    assert_eq!(rows(&mut one, "select * from #t"), "1");
    // A view that is changed and not committed is seen by the session that changed it.
    run(&mut one, "create view v as select 1 as x");
    assert_eq!(rows(&mut one, "select * from v"), "1");
    run(&mut one, "begin tran");
    run(&mut one, "alter view v as select 2 as x");
    assert_eq!(rows(&mut one, "select * from v"), "2");
    run(&mut one, "rollback");
    assert_eq!(rows(&mut other, "select * from v"), "1");
    assert_eq!(rows(&mut one, "select * from v"), "1");
}

#[test]
fn sp_recompile_lets_go_of_plans_of_a_procedure_and_of_all_that_read_a_table() {
    let (_instance, mut one) = started();
    run(&mut one, "create procedure dbo.q as select max(a) from t");
    rows(&mut one, "exec dbo.q");
    assert_eq!(counted(&mut one, "create procedure"), "Proc | 1 | 1 | 1");
    let answer = run(&mut one, "exec sp_recompile 'dbo.q'");
    assert!(
        answer.contains("Object 'dbo.q' was successfully marked for recompilation."),
        "{answer}"
    );
    assert_eq!(counted(&mut one, "create procedure"), "");
    rows(&mut one, "exec dbo.q");
    rows(&mut one, "select 5 as five");
    run(&mut one, "exec sp_recompile 't'");
    assert_eq!(counted(&mut one, "create procedure"), "");
    assert_eq!(counted(&mut one, "select 5"), "Adhoc | 1 | 1 | 1");
}

#[test]
fn a_plan_is_made_for_the_parameters_it_is_first_executed_with() {
    let (instance, mut one) = started();
    assert_eq!(with_p(&mut one, FEW, 996), "4; 3; 2; 1; 0");
    let all = with_p(&mut one, FEW, 1);
    assert!(all.starts_with("999; 998; "), "made for few: {all}");
    run(&mut one, "dbcc freeproccache with no_infomsgs");
    let mut other = session(&instance);
    let all = with_p(&mut other, FEW, 1);
    assert!(all.starts_with("0; 1; 2; "), "made for all: {all}");
    assert_eq!(with_p(&mut one, FEW, 996), "0; 1; 2; 3; 4");
}

#[test]
fn variables_are_not_looked_at_but_under_recompile() {
    let (_instance, mut one) = started();
    let text = "declare @v int = 996 select a from t where b >= @v and c <> 'y'";
    assert_eq!(rows(&mut one, text), "0; 1; 2; 3; 4");
    let recompiled = format!("{text} option (recompile)");
    assert_eq!(rows(&mut one, &recompiled), "4; 3; 2; 1; 0");
    let hinted = format!("{FEW} option (recompile)");
    assert_eq!(with_p(&mut one, &hinted, 996), "4; 3; 2; 1; 0");
    assert!(with_p(&mut one, &hinted, 1).starts_with("0; 1; 2; "));
    assert_eq!(counted(&mut one, &hinted), "Prepared | 2 | 2 | 2");
}

#[test]
fn procedures_with_recompile_are_planned_at_each_call() {
    let (_instance, mut one) = started();
    run(&mut one, &format!("create procedure dbo.few @p int as {FEW}"));
    run(
        &mut one,
        &format!("create procedure dbo.anew @p int with recompile as {FEW}"),
    );
    assert_eq!(rows(&mut one, "exec dbo.few 996"), "4; 3; 2; 1; 0");
    assert!(rows(&mut one, "exec dbo.few 1").starts_with("999; "));
    assert!(rows(&mut one, "exec dbo.few 1 with recompile").starts_with("0; 1; "));
    assert!(
        rows(&mut one, "exec dbo.few 1").starts_with("999; "),
        "the kept plan is as it was"
    );
    assert_eq!(rows(&mut one, "exec dbo.anew 996"), "4; 3; 2; 1; 0");
    assert!(rows(&mut one, "exec dbo.anew 1").starts_with("0; 1; "));
    let recompiled = "select o.name, m.is_recompiled from sys.sql_modules m join sys.objects o on o.object_id = m.object_id order by o.name";
    assert_eq!(rows(&mut one, recompiled), "anew | 1; few | 0");
}

#[test]
fn optimize_for_says_which_values_a_plan_is_made_for() {
    let (_instance, mut one) = started();
    let of = |hint: &str| format!("{FEW} option ({hint})");
    let all = with_p(&mut one, &of("optimize for (@p = 996)"), 1);
    assert!(all.starts_with("999; 998; "), "{all}");
    for hint in [
        "optimize for (@p unknown)",
        "OPTIMIZE FOR UNKNOWN",
        "use hint ('DISABLE_PARAMETER_SNIFFING')",
    ] {
        assert_eq!(with_p(&mut one, &of(hint), 996), "0; 1; 2; 3; 4", "{hint}");
    }
    let local = "declare @v int = 996, @w int = 0 select a from t where b >= @v and c <> 'y' and @w = 0 option (optimize for (@w unknown, @v = 990))";
    assert_eq!(rows(&mut one, local), "4; 3; 2; 1; 0");
    let refused = [
        ("optimize for (@q = 1)", "Msg 137,"),
        ("optimize for (@v = a)", "Msg 102,"),
        ("optimize for (@v = 'x')", "Msg 245,"),
        ("optimize for (@v)", "Msg 102,"),
    ];
    for (hint, number) in refused {
        let answer = run(
            &mut one,
            &format!("declare @v int = 1 select a from t where b = @v option ({hint})"),
        );
        assert!(answer.contains(number), "{hint}: {answer}");
    }
}

#[test]
fn first_rows_come_from_an_index_where_fast_asks_for_them() {
    let (_instance, mut one) = started();
    run(&mut one, "set showplan_text on");
    let mut plan = |text: &str| run(&mut one, text);
    assert!(plan("select a, c from t order by b").contains("--Sort("));
    let fast = plan("select a, c from t order by b option (fast 5)");
    assert!(!fast.contains("--Sort(") && fast.contains("[ib]"), "{fast}");
    assert!(plan("select a, c from t order by b option (fast 1000)").contains("--Sort("));
    assert!(!plan("select top 5 a, c from t order by b").contains("Sort("));
    let without = plan("select top 5 a, c from t order by b option (use hint ('DISABLE_OPTIMIZER_ROWGOAL'))");
    assert!(without.contains("Sort("), "{without}");
}

/// A plan made over an empty table searched for each of its rows; the same text went on doing so for 100,000 of them.
#[test]
fn a_plan_is_made_anew_when_a_table_has_grown_since() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    run(&mut one, "create table e (k int not null, v int not null)");
    let query = "select count(*) from e join t on t.a = e.k where e.v >= 0";
    let planned = |session: &mut Session| {
        let shown = run(
            session,
            &format!("set statistics profile on {query} set statistics profile off"),
        );
        ["Nested Loops", "Hash Match", "Merge Join"]
            .into_iter()
            .find(|join| shown.contains(join))
    };
    rows(&mut one, query);
    assert_eq!(planned(&mut one), Some("Nested Loops"));
    assert_eq!(planned(&mut other), Some("Nested Loops"));
    let fill = "set nocount on insert e select top (100000) x.a, y.a from t x cross join t y";
    assert_eq!(run(&mut one, fill), "");
    assert_ne!(planned(&mut one), Some("Nested Loops"));
    assert_ne!(
        planned(&mut other),
        Some("Nested Loops"),
        "what others have in hand is as old"
    );
    assert_eq!(rows(&mut one, query), "100000");
}

/// How often a plan of a text was made.
fn made(session: &mut Session, text: &str) -> String {
    let query = format!(
        "select q.plan_generation_num from sys.dm_exec_query_stats q cross apply sys.dm_exec_sql_text(q.plan_handle) x where x.text = '{}'",
        text.replace('\'', "''")
    );
    rows(session, &query)
}

/// Statistics were a change of the catalog like any other: UPDATE STATISTICS of one table, or statistics that a plan made for itself, had
/// every plan of the database be made again.
#[test]
fn statistics_that_change_remake_the_plans_that_went_by_them_and_no_others() {
    let (instance, mut one) = started();
    let mut other = session(&instance);
    run(&mut one, "create database d");
    for session in [&mut one, &mut other] {
        run(session, "use d");
    }
    for table in ["r", "u"] {
        run(
            &mut one,
            &format!("select * into {table} from master.dbo.t alter table {table} add primary key (a)"),
        );
    }
    let by_statistics = "select max(a) from r where b in (1, 2)";
    let others = [
        "select max(a) from u where b in (1, 2)",
        "select c from r where a = 3 union all select c from u where a = 4",
        "select max(a) from r where b in (1, 2) option (keepfixed plan)",
    ];
    let ask = |session: &mut Session| {
        rows(session, by_statistics);
        for text in others {
            rows(session, text);
            assert_eq!(made(session, text), "1", "{text}");
        }
        made(session, by_statistics)
    };
    // The statistics of b are made with the plan, which is none the older for it.
    assert_eq!(ask(&mut one), "1");
    assert_eq!(ask(&mut one), "1");
    let changes = [
        "update statistics r",
        "create statistics s on r (c)",
        "update statistics r s with fullscan",
        "drop statistics r.s",
        "begin tran update statistics r rollback",
        "select count(*) from r where c in ('x', 'y')",
    ];
    for (times, change) in changes.iter().enumerate() {
        run(&mut other, change);
        assert_eq!(ask(&mut one), (times + 2).to_string(), "{change}");
        assert_eq!(ask(&mut other), (times + 2).to_string(), "{change}");
    }
    run(&mut other, "update statistics u");
    rows(&mut one, by_statistics);
    assert_eq!(made(&mut one, by_statistics), (changes.len() + 1).to_string());
    rows(&mut one, others[0]);
    assert_eq!(made(&mut one, others[0]), "2");
}

/// What a transaction has counted is seen by its own plans at once, and by none when it was rolled back.
#[test]
fn plans_follow_statistics_into_a_transaction_and_out_of_it() {
    let (_instance, mut one) = started();
    run(&mut one, "create statistics s on t (c) with norecompute");
    let all = expected_rows(&mut one);
    run(
        &mut one,
        "begin tran update t set c = 'z' where a >= 10 update statistics t s with fullscan, norecompute",
    );
    assert_ne!(expected_rows(&mut one), all);
    run(&mut one, "rollback");
    assert_eq!(expected_rows(&mut one), all);
}

/// How many rows a plan expects of a condition on the column that `s` is of.
fn expected_rows(session: &mut Session) -> String {
    run(session, "set showplan_all on");
    let shown = run(session, "select count(*) from t where c in ('x', 'y')");
    run(session, "set showplan_all off");
    let scan = shown.lines().find(|line| line.contains("| Clustered Index Scan |"));
    scan.unwrap_or(&shown).split(" | ").nth(8).unwrap_or(&shown).to_owned()
}

/// Rows of the table when the plan is made, rows that come then, and whether the plan is still used.
const GROWTHS: [(&str, u32, u32, bool); 9] = [
    ("e", 0, 500, true),
    ("e", 0, 501, false),
    ("e", 500, 500, true),
    ("e", 500, 501, false),
    ("e", 1000, 700, true),
    ("e", 1000, 701, false),
    ("#e", 5, 6, true),
    ("#e", 5, 7, false),
    ("#e", 6, 500, true),
];

/// Makes a table of so many rows, a plan, and so many rows more; whether that plan is executed then.
fn is_kept(session: &mut Session, (table, before, more): (&str, u32, u32), hint: &str) -> bool {
    run(
        session,
        &format!("drop table if exists {table} create table {table} (k int not null)"),
    );
    let fill = |rows: u32| format!("set nocount on insert {table} select top ({rows}) a from t");
    run(session, &fill(before));
    let query = format!("select max(k) from {table} where k in (1, 2) {hint}");
    let made = "select q.plan_generation_num, q.execution_count from sys.dm_exec_query_stats q \
        cross apply sys.dm_exec_sql_text(q.plan_handle) x where x.text not like '%dm_exec%' and x.text like";
    let (_, first) = (
        rows(session, &query),
        rows(session, &format!("{made} '%max(k) from {table} where%'")),
    );
    run(session, &fill(more));
    rows(session, &query);
    let second = rows(session, &format!("{made} '%max(k) from {table} where%'"));
    run(session, "dbcc freeproccache with no_infomsgs");
    assert_eq!(first, "1 | 1", "{table} {before} {more}");
    assert!(second == "1 | 2" || second == "2 | 2", "{second}");
    second == "1 | 2"
}

#[test]
fn a_plan_is_used_until_its_statistics_are_out_of_date() {
    let (_instance, mut one) = started();
    for (table, before, more, kept) in GROWTHS {
        assert_eq!(
            is_kept(&mut one, (table, before, more), ""),
            kept,
            "{table}: {before} and {more}"
        );
    }
    // With statistics kept as they are, plans stay too.
    run(
        &mut one,
        "create database d alter database d set auto_update_statistics off",
    );
    run(&mut one, "use d create table t (a int not null primary key)");
    run(&mut one, "insert t select top (1000) a from master.dbo.t");
    assert!(is_kept(&mut one, ("e", 0, 1_000), ""));
}

#[test]
fn hints_say_how_soon_a_plan_is_out_of_date() {
    let (_instance, mut one) = started();
    let table = [
        ("#e", 5, 7, "", false),
        ("#e", 5, 7, "option (keep plan)", true),
        ("#e", 5, 600, "option (keep plan)", false),
        ("#e", 5, 600, "option (keepfixed plan)", true),
        ("#e", 5, 600, "option (keepfixed plan, keep plan)", true),
        ("e", 0, 1_000, "option (keepfixed plan)", true),
    ];
    for (table, before, more, hint, kept) in table {
        assert_eq!(
            is_kept(&mut one, (table, before, more), hint),
            kept,
            "{table}: {before} and {more} {hint}"
        );
    }
}

/// The plans of a database that was dropped, replaced or taken offline kept its files open: the disk had no room for a RESTORE over a
/// database that filled half of it, and none after DROP DATABASE until the cache was emptied.
#[test]
fn no_plan_keeps_a_database_that_is_gone() {
    for statement in [
        "drop database d",
        "restore database d from disk = 'd.bak' with replace",
        "alter database d set offline",
    ] {
        let instance = instance();
        let (mut one, mut other) = (session(&instance), session(&instance));
        let told = |session: &mut Session, batch: &str| {
            let mut transcript = Transcript::default();
            session.execute(batch, &mut transcript);
            assert!(!transcript.text.contains("Level 16"), "{batch}: {}", transcript.text);
        };
        told(&mut one, "create database d");
        told(
            &mut one,
            "create table d..t (a int not null primary key) insert d..t values (1)",
        );
        told(&mut one, "backup database d to disk = 'd.bak'");
        for session in [&mut one, &mut other] {
            told(
                session,
                "select a from d..t where a = 1 update d..t set a = 1 where a = 1",
            );
        }
        let database = Arc::downgrade(&instance.database("d").unwrap());
        assert!(database.upgrade().is_some());
        // The batch itself may have read it.
        told(&mut one, &format!("select a from d..t where a = 1 {statement}"));
        assert!(database.upgrade().is_none(), "{statement}");
    }
}
