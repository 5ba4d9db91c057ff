//! sys.dm_db_index_usage_stats, sys.dm_exec_procedure_stats and sys.dm_exec_function_stats: what was used, and what whole
//! modules cost.
#![allow(clippy::unwrap_used)]

use crate::transcript;

use engine::instance::Instance;
use std::sync::Arc;
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

/// A clustered index, one on `b`, one on `c`; and a heap.
fn started() -> (Session, Session) {
    started_on(&instance())
}

fn started_on(instance: &Arc<Instance>) -> (Session, Session) {
    let (mut one, other) = (session(instance), session(instance));
    let setup = "set nocount on create database d";
    assert_eq!(run(&mut one, setup), "");
    let setup = "use d alter database d set auto_create_statistics off alter database d set auto_update_statistics off \
        create table t (a int not null constraint pk_t primary key, b int not null, c int not null, filler char(200) not null) \
        create index ix_b on t (b) create index ix_c on t (c) include (b) create table h (a int not null)";
    run(&mut one, setup);
    let rows = "set nocount on declare @i int = 0 begin tran while @i < 2000 begin insert t values (@i, @i, @i % 50, '') set @i += 1 end \
        insert h values (1) commit";
    assert_eq!(run(&mut one, rows), "");
    (one, other)
}

/// Seeks, scans, lookups and updates of the indexes of `d`, as text.
fn uses(session: &mut Session) -> Vec<String> {
    let asked = "select concat(o.name, ' ', s.index_id, ': ', user_seeks, ' ', user_scans, ' ', user_lookups, ' ', user_updates) \
        from sys.dm_db_index_usage_stats s join d.sys.objects o on o.object_id = s.object_id \
        where s.database_id = db_id('d') order by o.name, s.index_id";
    values(session, asked)
}

/// One row for each index that was used: an execution counts once, however many rows it sees.
#[test]
fn each_execution_counts_once_for_each_of_its_operators() {
    let (mut one, mut other) = started();
    // 2,000 statements have filled t.
    assert_eq!(
        uses(&mut other),
        ["h 0: 0 0 0 1", "t 1: 0 0 0 2000", "t 2: 0 0 0 2000", "t 3: 0 0 0 2000"]
    );
    for _ in 0..3 {
        run(&mut one, "select filler from t where a = 7");
    }
    assert_eq!(uses(&mut other)[1], "t 1: 3 0 0 2000");
    // The entry has not all that is asked for: its row is looked up.
    run(&mut one, "select filler from t where b = 7");
    assert_eq!(uses(&mut other)[1..3], ["t 1: 3 0 1 2000", "t 2: 1 0 0 2000"]);
    // Here it has.
    run(&mut one, "select b from t where c = 7");
    assert_eq!(
        uses(&mut other)[1..],
        ["t 1: 3 0 1 2000", "t 2: 1 0 0 2000", "t 3: 1 0 0 2000"]
    );
    run(&mut one, "select filler from t where filler = 'x'");
    run(&mut one, "select a from h");
    assert_eq!(uses(&mut other)[..2], ["h 0: 0 1 0 1", "t 1: 3 1 1 2000"]);
    // A subquery of a condition is a part of the plan.
    run(&mut one, "if exists (select * from t where a = 3) select 1");
    assert_eq!(uses(&mut other)[1], "t 1: 4 1 1 2000");
}

/// "user_updates ... includes Insert, Delete, and Updates representing number of operations done not the actual rows affected" (sql-docs).
#[test]
fn changes_count_for_the_indexes_that_they_touch() {
    let (mut one, mut other) = started();
    run(&mut one, "update t set b = b + 1 where a < 100");
    assert_eq!(
        uses(&mut other)[1..],
        ["t 1: 1 0 0 2001", "t 2: 0 0 0 2001", "t 3: 0 0 0 2001"],
        "b is in both"
    );
    run(&mut one, "update t set c = 1 where a = 1");
    assert_eq!(
        uses(&mut other)[1..],
        ["t 1: 2 0 0 2002", "t 2: 0 0 0 2001", "t 3: 0 0 0 2002"]
    );
    run(&mut one, "delete t where a = 5000");
    assert_eq!(
        uses(&mut other)[1..],
        ["t 1: 3 0 0 2003", "t 2: 0 0 0 2002", "t 3: 0 0 0 2003"],
        "without a row, too"
    );
}

#[test]
fn times_are_those_of_the_last_use_and_null_without_one() {
    let (mut one, mut other) = started();
    run(&mut one, "select filler from t where a = 7");
    let asked = "select concat(iif(abs(datediff(second, last_user_seek, getdate())) < 60, 'now', 'then'), ' ', \
        isnull(convert(varchar(30), last_user_scan), 'never'), ' ', system_scans) \
        from sys.dm_db_index_usage_stats where database_id = db_id('d') and index_id = 1";
    assert_eq!(values(&mut other, asked), ["now never 0"]);
    run(&mut one, "update statistics t");
    assert_eq!(
        values(&mut other, asked),
        ["now never 1"],
        "statistics are nobody's query"
    );
}

/// What is dropped and made again under the same number begins at nothing, and a table that is gone has no row.
#[test]
fn an_index_that_is_dropped_takes_its_counters_along() {
    let (mut one, mut other) = started();
    run(&mut one, "drop index ix_c on t");
    assert_eq!(uses(&mut other).len(), 3);
    run(&mut one, "create index ix_c on t (c) include (b)");
    assert_eq!(uses(&mut other).len(), 3);
    run(&mut one, "select b from t where c = 7");
    assert_eq!(uses(&mut other)[3], "t 3: 1 0 0 0");
    run(&mut one, "drop table t");
    assert_eq!(uses(&mut other), ["h 0: 0 0 0 1"]);
    run(&mut one, "create clustered index cx on h (a)");
    assert_eq!(
        uses(&mut other),
        ["h 1: 0 0 0 0"],
        "it is no heap any more, and statistics were made of its index"
    );
}

/// A procedure that calls another and a function, each counted by itself from its beginning to its end.
#[test]
fn modules_are_counted_as_wholes() {
    let (mut one, mut other) = started();
    for module in [
        "create procedure inside as select count(*) from t",
        "create function twice (@a int) returns int as begin return 2 * @a end",
        "create procedure outside as exec inside select dbo.twice(21) exec inside",
    ] {
        assert_eq!(run(&mut one, module), "");
    }
    for _ in 0..2 {
        run(&mut one, "exec outside");
    }
    let asked = |view: &str| {
        format!(
            "select concat(o.name, ' ', s.type, ' ', s.type_desc, ' ', s.execution_count, ' ', iif(s.total_logical_reads > 0, 'reads', ''), \
             ' ', iif(s.total_elapsed_time >= s.max_elapsed_time and s.max_elapsed_time >= s.min_elapsed_time, 'time', ''), ' ', \
             iif(abs(datediff(second, s.cached_time, getdate())) < 60, 'cached', ''), ' ', left(x.text, 25)) \
             from sys.{view} s join d.sys.objects o on o.object_id = s.object_id cross apply sys.dm_exec_sql_text(s.sql_handle) x \
             where s.database_id = db_id('d') order by o.name"
        )
    };
    assert_eq!(
        values(&mut other, &asked("dm_exec_procedure_stats")),
        [
            "inside P  SQL_STORED_PROCEDURE 4 reads time cached create procedure inside a",
            "outside P  SQL_STORED_PROCEDURE 2 reads time cached create procedure outside "
        ]
    );
    let functions = values(&mut other, &asked("dm_exec_function_stats"));
    assert_eq!(
        functions,
        ["twice FN SQL_SCALAR_FUNCTION 2  time cached create function twice (@a"]
    );
    run(&mut one, "dbcc freeproccache with no_infomsgs");
    assert_eq!(
        values(&mut other, &asked("dm_exec_procedure_stats")),
        [""; 0],
        "the rows go with the plans"
    );
}

/// "Blocked sessions" of everybody's drawer: the waiting task and the lock that it waits for are joined by their address.
#[test]
fn a_waiting_task_is_joined_with_its_lock() {
    let instance = instance();
    let (mut one, mut asked) = started_on(&instance);
    run(&mut one, "begin tran update t set b = 0 where a = 1");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| run(&mut session(&instance), "use d select b from t where a = 1"));
        let joined = "select concat(l.request_status, ' ', l.resource_type, ' ', w.wait_type, ' ', iif(w.blocking_session_id > 50, 'blocked', '')) \
            from sys.dm_tran_locks l join sys.dm_os_waiting_tasks w on l.lock_owner_address = w.resource_address";
        while values(&mut asked, "select session_id from sys.dm_os_waiting_tasks").is_empty() {
            std::thread::yield_now();
        }
        let found = values(&mut asked, joined);
        let of_index = "select concat(count(*), ' ', max(p.index_id)) from sys.dm_tran_locks l join d.sys.partitions p \
            on p.hobt_id = l.resource_associated_entity_id where l.resource_type = 'KEY' and p.index_id = 1";
        let rows = values(&mut asked, of_index);
        // Whatever was found, or the one who waits would wait forever.
        run(&mut one, "commit");
        assert!(waits.join().unwrap().contains('0'));
        assert_eq!(found, ["WAIT KEY LCK_M_S blocked"]);
        assert_eq!(
            rows,
            ["2 1"],
            "the lock that is held and the one that is waited for, of the clustered index"
        );
    });
}

#[test]
fn memory_clerks_have_what_is_in_use() {
    let (mut one, mut other) = started();
    let asked = "select concat(type, ' ', iif(pages_kb > 0, 'some', 'none')) from sys.dm_os_memory_clerks order by memory_clerk_address";
    run(&mut one, "create procedure p as select count(*) from t");
    run(&mut one, "exec p");
    assert_eq!(
        values(&mut other, asked)[..3],
        [
            "MEMORYCLERK_SQLBUFFERPOOL some",
            "CACHESTORE_SQLCP some",
            "CACHESTORE_OBJCP some"
        ]
    );
    let pages = "select case when pages_kb between 8 and (select committed_kb from sys.dm_os_sys_info) then 'fits' end \
        from sys.dm_os_memory_clerks where type = 'MEMORYCLERK_SQLBUFFERPOOL'";
    assert_eq!(values(&mut other, pages), ["fits"]);
}

/// "CPU by database": the database of a plan is one of its attributes, as a sql_variant.
#[test]
fn a_plan_tells_its_database() {
    let (mut one, mut other) = started();
    run(&mut one, "select count(*) from t where c in (3)");
    let asked = "select concat(db_name(convert(int, a.value)), ' ', a.is_cache_key) from sys.dm_exec_query_stats q \
        cross apply sys.dm_exec_sql_text(q.plan_handle) x cross apply sys.dm_exec_plan_attributes(q.plan_handle) a \
        where x.text like 'select count(*) from t where c in%' and a.attribute = 'dbid'";
    assert_eq!(values(&mut other, asked), ["d 1"]);
}
