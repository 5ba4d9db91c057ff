//! Modules are shared and never out of date: after every ALTER, DROP, rollback or restore, the next statement of every
//! session runs the current text.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use answers::{error, rows, run};
use engine::seams::SystemClock;
use transcript::{instance, instance_with, session};
use tsql::session::BatchOutcome;

const ASK: &str = "select dbo.f(1) exec p select a from v select * from dbo.i() select * from dbo.m()";

fn define(verb: &str, n: i32) -> Vec<String> {
    [
        format!("{verb} function dbo.f(@x int) returns int as begin return @x * {n} end"),
        format!("{verb} procedure p as select {n}"),
        format!("{verb} view v as select {n} as a"),
        format!("{verb} function dbo.i() returns table as return select {n} as a"),
        format!("{verb} function dbo.m() returns @r table (a int) as begin insert @r values ({n}) return end"),
    ]
    .into()
}

fn expected(n: i32) -> String {
    [n.to_string().as_str(); 5].join("|")
}

#[test]
fn what_another_session_alters_is_what_runs_next() {
    let instance = instance();
    let (mut one, mut two) = (session(&instance), session(&instance));
    for batch in define("create", 1) {
        run(&mut one, &[&batch]);
    }
    assert_eq!(rows(&mut two, ASK), expected(1));
    for n in 2..5 {
        for batch in define("alter", n) {
            run(&mut one, &[&batch]);
        }
        assert_eq!(rows(&mut two, ASK), expected(n));
        assert_eq!(rows(&mut one, ASK), expected(n));
    }
    // In the middle of a batch as well, whose plans are kept.
    let looped = "declare @i int = 0 while @i < 3 begin set @i += 1 select dbo.f(1)
                  if @i = 2 exec('alter function dbo.f(@x int) returns int as begin return 70 end') end";
    assert_eq!(rows(&mut two, looped), "4|4|70");
    for batch in [
        "drop function dbo.f",
        "drop procedure p",
        "drop view v",
        "drop function dbo.i",
        "drop function dbo.m",
    ] {
        run(&mut two, &[batch]);
    }
    for (batch, number) in [
        ("select dbo.f(1)", 4121),
        ("exec p", 2812),
        ("select a from v", 208),
        ("select * from dbo.i()", 208),
        ("select * from dbo.m()", 208),
    ] {
        assert_eq!(error(&mut one, batch), number, "{batch}");
    }
}

#[test]
fn an_alteration_that_is_rolled_back_was_never_seen_by_others_and_is_not_run_after() {
    let instance = instance();
    let (mut one, mut two) = (session(&instance), session(&instance));
    for batch in define("create", 1) {
        run(&mut one, &[&batch]);
    }
    rows(&mut one, "begin tran");
    for batch in define("alter", 2) {
        run(&mut one, &[&batch]);
    }
    assert_eq!(rows(&mut one, ASK), expected(2), "its own changes are seen");
    // What is altered and not committed is waited for: it may be undone.
    rows(&mut two, "set lock_timeout 0");
    for batch in [
        "select dbo.f(1)",
        "exec p",
        "select a from v",
        "select * from dbo.i()",
        "select * from dbo.m()",
    ] {
        assert_eq!(error(&mut two, batch), 1222, "{batch}");
    }
    rows(&mut two, "set lock_timeout -1");
    rows(&mut one, "rollback");
    assert_eq!(rows(&mut one, ASK), expected(1));
    assert_eq!(rows(&mut two, ASK), expected(1));
    // What is created and not committed is waited for, not run.
    rows(&mut one, "begin tran");
    run(
        &mut one,
        &[
            "create function dbo.late() returns int as begin return 5 end",
            "create procedure late_p as select 5",
        ],
    );
    rows(&mut two, "set lock_timeout 0");
    assert_eq!(error(&mut two, "select dbo.late()"), 1222);
    assert_eq!(error(&mut two, "exec late_p"), 1222);
    rows(&mut one, "rollback");
    assert_eq!(error(&mut two, "select dbo.late()"), 4121);
    assert_eq!(error(&mut two, "exec late_p"), 2812);
}

#[test]
fn a_table_or_database_that_takes_the_place_of_another_is_the_one_that_is_read() {
    let instance = instance();
    let (mut one, mut two) = (session(&instance), session(&instance));
    let setup = [
        "create database d",
        "use d",
        "create table t (a int) insert t values (1)",
        "create function dbo.f() returns varchar(20) as begin return (select cast(max(a) as varchar(20)) from t) end",
        "create procedure p as select dbo.f()",
    ];
    run(&mut one, &setup);
    // Names in a module are those of its own database.
    let ask = "select d.dbo.f() exec d.dbo.p";
    assert_eq!(rows(&mut two, ask), "1|1");
    run(
        &mut one,
        &[
            "drop table t",
            "create table t (b bit, a varchar(9)) insert t values (1, 'text')",
        ],
    );
    assert_eq!(rows(&mut two, ask), "text|text");
    rows(&mut one, "backup database d to disk = 'd.bak'");
    run(
        &mut one,
        &["alter function dbo.f() returns varchar(20) as begin return 'altered' end"],
    );
    assert_eq!(rows(&mut two, ask), "altered|altered");
    rows(
        &mut one,
        "use master restore database d from disk = 'd.bak' with replace",
    );
    assert_eq!(rows(&mut two, ask), "text|text");
    assert_eq!(rows(&mut one, ask), "text|text");
    run(&mut one, &["drop database d", "create database d", "use d"]);
    assert_eq!(error(&mut two, "select d.dbo.f()"), 4121);
    run(
        &mut one,
        &[
            "create function dbo.f() returns varchar(20) as begin return 'new' end",
            "create procedure p as select 'new'",
        ],
    );
    assert_eq!(rows(&mut two, ask), "new|new");
}

/// Four sessions run a function, a procedure and a table-valued function while a fifth alters them: every answer is one that was
/// committed while its statement ran, and of one function a statement sees one definition.
#[test]
fn sessions_that_run_while_another_alters_get_what_is_there() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut alterer = session(&instance);
    for batch in define("create", 0) {
        run(&mut alterer, &[&batch]);
    }
    let (committed, begun, done) = (AtomicI64::new(0), AtomicI64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut runners = Vec::new();
        for number in 0..4 {
            let (instance, committed, begun, done) = (&instance, &committed, &begun, &done);
            runners.push(scope.spawn(move || {
                let mut own = session(instance);
                let batches = [
                    "select dbo.f(1)",
                    "exec p",
                    "select a from v",
                    "select * from dbo.m()",
                    "select * from dbo.i()",
                ];
                let mut asked = 0;
                while !done.load(Ordering::SeqCst) {
                    let low = committed.load(Ordering::SeqCst);
                    let answer = rows(&mut own, batches[(asked + number) % batches.len()]);
                    let high = begun.load(Ordering::SeqCst);
                    let answer: i64 = answer.parse().unwrap();
                    assert!((low..=high).contains(&answer), "{answer} is not from {low} to {high}");
                    assert_eq!(rows(&mut own, "select dbo.f(1) - dbo.f(1)"), "0");
                    asked += 1;
                }
                asked
            }));
        }
        for n in 1..60 {
            begun.store(n, Ordering::SeqCst);
            for batch in define("alter", n as i32) {
                run(&mut alterer, &[&batch]);
            }
            committed.store(n, Ordering::SeqCst);
        }
        done.store(true, Ordering::SeqCst);
        let asked: usize = runners.into_iter().map(|runner| runner.join().unwrap()).sum();
        assert!(asked > 0);
    });
}

#[test]
fn temporary_procedures_are_their_sessions_and_go_with_it() {
    let instance = instance();
    let (mut one, mut two) = (session(&instance), session(&instance));
    run(
        &mut one,
        &[
            "create database d",
            "use d",
            "create table t (a int) insert t values (7)",
            "create procedure #p @x int as select a + @x from t",
        ],
    );
    run(&mut two, &["create procedure #p as select 'mine'"]);
    assert_eq!(rows(&mut one, "exec #p 1 exec #p @x = 2"), "8|9");
    assert_eq!(rows(&mut two, "exec #p"), "mine");
    assert_eq!(error(&mut one, "create procedure #p as select 1"), 2714);
    run(&mut one, &["alter procedure #p as select 'altered'"]);
    assert_eq!(rows(&mut one, "exec #p"), "altered");
    assert_eq!(rows(&mut two, "exec #p"), "mine");
    run(&mut two, &["drop procedure #p"]);
    assert_eq!(error(&mut two, "exec #p"), 2812);
    run(&mut one, &["create procedure ##g as select 'for all'"]);
    assert_eq!(rows(&mut two, "exec ##g"), "for all");
    assert_eq!(error(&mut one, "create view #v as select 1 as a"), 4103);
    assert_eq!(error(&mut one, "create procedure master.dbo.q as select 1"), 166);
    let left = "select count(*) from tempdb.sys.objects where type = 'P'";
    assert_eq!(rows(&mut two, left), "2");
    drop(one);
    assert_eq!(rows(&mut two, left), "0");
    assert_eq!(error(&mut two, "exec ##g"), 2812);
}

#[test]
fn a_function_can_be_cancelled_and_does_not_take_more_memory_than_there_is() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create function dbo.forever() returns int as begin while 1 = 1 begin declare @i int = 1 end return 1 end",
            "create function dbo.many() returns @r table (a varchar(8000)) as
             begin while 1 = 1 insert @r values (replicate('x', 8000)) return end",
        ],
    );
    let cancel = one.cancel_flag();
    let stopper = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            cancel.store(true, Ordering::Relaxed);
        }
    });
    let mut heard = answers::Answers::default();
    let outcome = one.execute("select dbo.forever()", &mut heard);
    assert_eq!((outcome, heard.errors.len()), (BatchOutcome::Cancelled, 0));
    stopper.join().unwrap();
    cancel.store(false, Ordering::Relaxed);
    assert_eq!(error(&mut one, "select count(*) from dbo.many()"), 701);
    assert_eq!(rows(&mut one, "select @@nestlevel, @@trancount"), "0 0");
}

#[test]
fn a_flood_of_texts_forgets_neither_plans_nor_answers() {
    let instance = instance();
    let mut one = session(&instance);
    run(&mut one, &["create table t (a int) insert t values (1)"]);
    for n in 0..3_000 {
        assert_eq!(rows(&mut one, &format!("select a + {n} from t")), (n + 1).to_string());
        if n % 50 == 0 {
            assert_eq!(rows(&mut one, "select a from t"), "1");
        }
    }
    // What a text means depends on QUOTED_IDENTIFIER, also when it is sent with parameters.
    let text = "exec sp_executesql N'select \"a\" from t'";
    assert_eq!(rows(&mut one, text), "1");
    assert_eq!(rows(&mut one, &format!("set quoted_identifier off {text}")), "a");
    assert_eq!(rows(&mut one, text), "a");
    assert_eq!(rows(&mut one, &format!("set quoted_identifier on {text}")), "1");
}

/// HammerDB's schema has a procedure WITH EXECUTE AS 'dbo'. There is one login, which is dbo in every database.
#[test]
fn modules_run_as_their_owner_as_who_made_them_or_as_dbo() {
    let instance = instance();
    let mut one = session(&instance);
    run(
        &mut one,
        &[
            "create procedure none as select user_name()",
            "create procedure caller with execute as caller as select user_name()",
            "create procedure owner with recompile, exec as owner as select user_name()",
            "create procedure self with execute as self as select user_name()",
            "create procedure dbo with execute as 'DBO' as select user_name()",
            "create function scalar() returns sysname with execute as owner as begin return user_name() end",
        ],
    );
    assert_eq!(
        rows(
            &mut one,
            "exec none exec caller exec owner exec self exec dbo select dbo.scalar()"
        ),
        ["dbo"; 6].join("|")
    );
    let principals =
        "select object_name(object_id), isnull(execute_as_principal_id, 0) from sys.sql_modules order by 1";
    assert_eq!(
        rows(&mut one, principals),
        "caller 0|dbo 1|none 0|owner -2|scalar -2|self 1"
    );
    assert_eq!(
        error(&mut one, "create procedure other with execute as 'someone' as select 1"),
        15_151
    );
}

/// What modules refer to is what their texts say since the last ALTER; of a schema-bound one, its columns too.
#[test]
fn dependencies_are_those_of_the_altered_text() {
    let mut session = session(&instance());
    run(
        &mut session,
        &[
            "create table t (a int)",
            "create view v with schemabinding as select a from dbo.t",
            "create procedure p as select a from v",
        ],
    );
    let all = "select object_name(referencing_id), referenced_entity_name, referenced_minor_id from sys.sql_expression_dependencies \
               order by 1, 2, 3";
    assert_eq!(rows(&mut session, all), "p v 0|v t 0|v t 1");
    run(&mut session, &["alter procedure p as select v.a from v, t"]);
    assert_eq!(rows(&mut session, all), "p t 0|p v 0|v t 0|v t 1");
    assert_eq!(
        rows(
            &mut session,
            "select referencing_entity_name from sys.dm_sql_referencing_entities('dbo.t', 'OBJECT') order by 1"
        ),
        "p|v"
    );
}
