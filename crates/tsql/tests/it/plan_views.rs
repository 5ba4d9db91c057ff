//! sys.dm_exec_query_plan, sys.dm_exec_text_query_plan, sys.dm_exec_query_stats and sys.dm_exec_cached_plans: the plans that
//! the instance keeps, and what they have cost.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use transcript::{Transcript, Whole, instance, session};
use tsql::session::Session;

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    session.execute(batch, &mut transcript);
    transcript.text
}

/// The first column of the rows.
fn values(session: &mut Session, query: &str) -> Vec<String> {
    let mut whole = Whole::default();
    session.execute(query, &mut whole);
    whole.0
}

fn started() -> (Session, Session) {
    let instance = instance();
    let (mut one, other) = (session(&instance), session(&instance));
    let setup = "set nocount on create table t (a int not null constraint pk_t primary key, b int not null) \
        declare @i int = 0 while @i < 300 begin insert t values (@i, @i % 10) set @i += 1 end";
    assert_eq!(run(&mut one, setup), "");
    (one, other)
}

/// The query that everybody has in his drawer, asked by another session than the one that ran the statement.
#[test]
fn another_session_sees_what_a_statement_cost_and_its_plan() {
    let (mut one, mut other) = started();
    for _ in 0..3 {
        run(&mut one, "select count(*) from t where b in (3)");
    }
    let asked = "select concat(qs.execution_count, ' ', qs.total_rows, ' ', case when qs.total_logical_reads > 0 then 'reads' end, ' ', \
        case when qs.total_worker_time <= qs.total_elapsed_time then 'time' end, ' ', cp.objtype, ' ', st.text) \
        from sys.dm_exec_query_stats qs join sys.dm_exec_cached_plans cp on cp.plan_handle = qs.plan_handle \
        cross apply sys.dm_exec_sql_text(qs.sql_handle) st where st.text like 'select count(*) from t where%'";
    assert_eq!(
        values(&mut other, asked),
        ["3 3 reads time Adhoc select count(*) from t where b in (3)"]
    );
    let plan = "select qp.query_plan from sys.dm_exec_query_stats qs cross apply sys.dm_exec_query_plan(qs.plan_handle) qp \
        cross apply sys.dm_exec_sql_text(qs.plan_handle) st where st.text like 'select count(*) from t where%'";
    let plans = values(&mut other, plan);
    assert_eq!(plans.len(), 1);
    for part in [
        "<ShowPlanXML xmlns=\"http://schemas.microsoft.com/sqlserver/2004/07/showplan\"",
        "StatementText=\"select count(*) from t where b in (3)\"",
        "PhysicalOp=\"Clustered Index Scan\"",
        "Column=\"b\"",
        "EstimateRows=\"30\"",
    ] {
        assert!(plans[0].contains(part), "{part} in {}", plans[0]);
    }
    assert!(!plans[0].contains("RunTimeInformation"), "what is kept was not counted");
}

/// The estimates are those that the plan was made by, however the table has changed since.
#[test]
fn a_kept_plan_shows_what_was_expected_when_it_was_made() {
    let (mut one, mut other) = started();
    run(&mut one, "select a from t where not b >= 100");
    run(&mut one, "delete t where a >= 10");
    let plan = "select qp.query_plan from sys.dm_exec_cached_plans cp cross apply sys.dm_exec_query_plan(cp.plan_handle) qp \
        cross apply sys.dm_exec_sql_text(cp.plan_handle) st where st.text = 'select a from t where not b >= 100'";
    let plans = values(&mut other, plan);
    assert!(plans[0].contains("TableCardinality=\"300\""), "{}", plans[0]);
}

#[test]
fn statements_of_a_batch_have_their_own_rows_texts_and_plans() {
    let (mut one, mut other) = started();
    // Pages that are to be written anyhow are not counted again.
    run(&mut one, "checkpoint");
    run(
        &mut one,
        "select max(b) from t\nselect min(a) from t\nwhere b in (2)\n\ndelete t where a in (7)",
    );
    let texts = "select substring(st.text, qs.statement_start_offset / 2 + 1, \
        (case qs.statement_end_offset when -1 then datalength(st.text) else qs.statement_end_offset end - qs.statement_start_offset) / 2 + 1) \
        from sys.dm_exec_query_stats qs cross apply sys.dm_exec_sql_text(qs.sql_handle) st \
        where st.text like 'select max(b) from t%' order by qs.statement_start_offset";
    let found: Vec<String> = values(&mut other, texts)
        .iter()
        .map(|text| text.trim().to_owned())
        .collect();
    assert_eq!(
        found,
        [
            "select max(b) from t",
            "select min(a) from t\nwhere b in (2)",
            "delete t where a in (7)"
        ]
    );
    let plans = "select p.query_plan from sys.dm_exec_query_stats qs cross apply sys.dm_exec_sql_text(qs.sql_handle) st \
        cross apply sys.dm_exec_text_query_plan(qs.plan_handle, qs.statement_start_offset, qs.statement_end_offset) p \
        where st.text like 'select max(b) from t%' and qs.total_logical_writes > 0";
    let found = values(&mut other, plans);
    assert_eq!(found.len(), 1, "one of them has changed pages");
    assert!(
        found[0].contains("StatementType=\"DELETE\"") && found[0].matches("<StmtSimple ").count() == 1,
        "{}",
        found[0]
    );
    let all = "select qp.query_plan from sys.dm_exec_cached_plans cp cross apply sys.dm_exec_query_plan(cp.plan_handle) qp \
        cross apply sys.dm_exec_sql_text(cp.plan_handle) st where st.text like 'select max(b) from t%'";
    assert_eq!(values(&mut other, all)[0].matches("<StmtSimple ").count(), 3);
}

/// An administrator who looks at a long request asks for its plan next.
#[test]
fn a_request_leads_to_its_text_and_its_plan() {
    let (mut one, _) = started();
    let own = "select concat(cp.objtype, ' ', t.text) from sys.dm_exec_requests r join sys.dm_exec_cached_plans cp on cp.plan_handle = r.plan_handle \
        cross apply sys.dm_exec_sql_text(r.sql_handle) t where r.session_id = @@spid";
    assert_eq!(values(&mut one, own), [format!("Adhoc {own}")]);
}

/// Monitors group requests by this word. Until a batch is over it is that of its first statement.
#[test]
fn a_request_is_called_by_its_first_statement() {
    let (mut one, _) = started();
    let own = "select command from sys.dm_exec_requests where session_id = @@spid";
    let named = [
        ("", "SELECT"),
        ("set nocount on", "SET OPTION ON"),
        (
            "set transaction isolation level read committed",
            "SET TRANSACTION ISOLATION LEVEL",
        ),
        ("begin transaction commit", "BEGIN TRANSACTION"),
        ("update statistics t", "UPDATE STATISTICS"),
        ("create statistics s on t (b) drop statistics t.s", "CREATE STATISTICS"),
        ("alter index pk_t on t rebuild", "ALTER INDEX"),
        ("if 1 = 0 print ''", "CONDITIONAL"),
        ("drop table if exists missing", "DROP OBJECT"),
        ("checkpoint", "CHECKPOINT"),
        ("declare @v int = 1", "BATCH"),
    ];
    for (first, name) in named {
        assert_eq!(values(&mut one, &format!("{first} {own}")), [name], "{first}");
    }
}

#[test]
fn handles_that_lead_nowhere_have_no_rows() {
    let (_, mut other) = started();
    for handle in ["0x06", "null", "0x"] {
        let query = format!("select query_plan from sys.dm_exec_query_plan({handle})");
        assert_eq!(values(&mut other, &query), Vec::<String>::new(), "{handle}");
    }
}

/// sp_Blitz reads the first, sp_BlitzWho the second: neither view had them (208, 207).
#[test]
fn optimizations_and_degrees_of_parallelism_are_counted() {
    let (mut one, mut other) = started();
    let counters = "select concat(counter, ' ', occurrence) from sys.dm_exec_query_optimizer_info \
        where counter in ('insert stmt', 'update stmt', 'delete stmt', 'merge stmt', 'hints', 'order hint', 'join hint') order by counter";
    let count = |values: &[String], counter: &str| -> u64 {
        let found = values.iter().find_map(|value| value.strip_prefix(counter));
        found.unwrap().trim().parse().unwrap()
    };
    let before = values(&mut other, counters);
    run(&mut one, "update t set b = 1 where a = -1");
    run(&mut one, "delete t where a = -1");
    run(
        &mut one,
        "merge t using (values (-1)) s (a) on t.a = s.a when matched then delete;",
    );
    run(&mut one, "select count(*) from t x inner hash join t y on x.a = y.a");
    run(
        &mut one,
        "select count(*) from t x join t y on x.a = y.a option (force order)",
    );
    let after = values(&mut other, counters);
    let grown: Vec<u64> = [
        "delete stmt",
        "insert stmt",
        "join hint",
        "merge stmt",
        "order hint",
        "update stmt",
        "hints",
    ]
    .iter()
    .map(|counter| count(&after, counter) - count(&before, counter))
    .collect();
    assert_eq!(grown, [1, 0, 1, 1, 1, 1, 2]);
    let elapsed = "select case when occurrence > 0 and value > 0 then 'measured' end from sys.dm_exec_query_optimizer_info \
        where counter in ('optimizations', 'elapsed time')";
    assert_eq!(values(&mut other, elapsed), ["measured", "measured"]);
    // Background work is done inline here, so nothing runs on several threads.
    let degrees = "select concat(qs.last_dop, ' ', qs.min_dop, ' ', qs.max_dop, ' ', qs.total_used_threads, ' ', qs.last_grant_kb) \
        from sys.dm_exec_query_stats qs cross apply sys.dm_exec_sql_text(qs.sql_handle) st where st.text like '%inner hash join t y%' \
        and st.text not like '%dm_exec%'";
    assert_eq!(values(&mut other, degrees), ["1 1 1 0 0"]);
}
