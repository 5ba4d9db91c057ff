//! What was used, and what whole modules cost: sys.dm_db_index_usage_stats, sys.dm_exec_procedure_stats, sys.dm_exec_function_stats.
#![allow(clippy::unwrap_used, missing_docs)]

mod transcript;

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
    let instance = instance();
    let (mut one, other) = (session(&instance), session(&instance));
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

/// What is dropped and made anew under the same number begins at nothing, and a table that is gone has no row.
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
