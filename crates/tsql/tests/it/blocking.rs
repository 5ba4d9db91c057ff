//! Sessions that wait: for each other (locks, cancellation, KILL, a deadlock), and for time to pass.
#![allow(clippy::unwrap_used)]

use crate::answers;
use crate::transcript;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::seams::SystemClock;
use transcript::{Transcript, instance, instance_with, session};
use tsql::session::{BatchOutcome, Session};

fn run(session: &mut Session, batch: &str) -> String {
    let mut transcript = Transcript::default();
    let outcome = session.execute(batch, &mut transcript);
    format!("{}{outcome:?}", transcript.text)
}

#[test]
fn writers_block_readers_until_they_commit() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut writer, mut other) = (session(&instance), session(&instance));
    run(
        &mut writer,
        "set nocount on create table t (a int, b int) insert t values (1, 0), (2, 0)",
    );
    run(&mut writer, "begin tran update t set b = 1 where a = 1");
    run(&mut other, "set nocount on set lock_timeout 30");
    for waits in ["update t set b = 2 where a = 1", "select sum(b) from t", "delete t"] {
        assert!(run(&mut other, waits).contains("Msg 1222"), "{waits}");
    }
    assert!(run(&mut other, "select sum(b) from t with (nolock)").contains("\n  1\n"));
    assert!(run(&mut other, "insert t values (3, 5) select @@rowcount").contains("\n  1\n"));
    run(&mut writer, "commit");
    assert!(run(&mut other, "select sum(b) from t").contains("\n  6\n"));
}

/// Tables with rows by `id`, which a search finds them by, and `b`, which only a scan does.
const SCANNED: [&str; 2] = [
    "create table t (id int not null primary key, b int not null, c int not null default 0)",
    "create table t (id int not null primary key nonclustered, b int not null, c int not null default 0)",
];

/// An UPDATE that looked through a table kept the lock of every row that it had met to the end of its transaction, beyond 5,000 rows that of
/// the table. A level that promises that rows stay as they were read keeps them.
#[test]
fn a_change_keeps_from_others_the_rows_that_qualify() {
    for shape in SCANNED {
        let instance = instance_with(Arc::new(SystemClock::new()));
        let (mut writer, mut other) = (session(&instance), session(&instance));
        run(&mut writer, shape);
        run(
            &mut writer,
            "insert t (id, b) select top (6000) row_number() over (order by (select 1)), 0 from sys.all_columns a, sys.all_columns b
             update t set b = id where id < 10",
        );
        run(&mut other, "set nocount on set lock_timeout 30");
        for change in [
            "update t set c = 1 where b = 3",
            "delete t where b = 3",
            "update top (1) t set c = 1 where b % 10 = 3",
        ] {
            run(&mut writer, "begin tran");
            run(&mut writer, change);
            let outcome = run(
                &mut other,
                "update t set c = 2 where id = 5 delete t where id = 5999 select @@error",
            );
            assert!(outcome.contains("\n  0\n"), "{change}: {outcome}");
            for waits in [
                "update t set c = 2 where id = 3",
                "update t set c = 2 where b = 5",
                "delete t where c = 7",
            ] {
                assert!(run(&mut other, waits).contains("Msg 1222"), "{change}: {waits}");
            }
            run(&mut writer, "rollback");
        }
        for kept in [
            "set transaction isolation level repeatable read update t set c = 1 where b = 3",
            "set transaction isolation level read committed update t with (repeatableread) set c = 1 where b = 3",
            "update t with (updlock) set c = 1 where b = 3",
        ] {
            run(&mut writer, "begin tran");
            run(&mut writer, kept);
            let outcome = run(&mut other, "update t set c = 2 where id = 5");
            assert!(outcome.contains("Msg 1222"), "{kept}: {outcome}");
            run(&mut writer, "rollback");
        }
    }
}

/// A scan tests a row before it locks it. While it waits for one row, others on the same page are changed and deleted: it was right to take
/// them for rows that qualify, and must not change what they are by then.
#[test]
fn a_row_that_no_longer_qualifies_when_it_is_locked_is_not_changed() {
    for (shape, change, expected) in [
        (SCANNED[0], "update t set c = c + 1 where b = 1", "1 1 1|2 9 0|4 1 1"),
        (SCANNED[1], "update t set c = c + 1 where b = 1", "1 1 1|2 9 0|4 1 1"),
        (SCANNED[0], "delete t where b = 1", "2 9 0"),
        (SCANNED[1], "delete t where b = 1", "2 9 0"),
    ] {
        let instance = instance_with(Arc::new(SystemClock::new()));
        let (mut holder, mut other) = (session(&instance), session(&instance));
        run(&mut other, shape);
        run(&mut other, "insert t (id, b) values (1, 1), (2, 1), (3, 1), (4, 1)");
        run(&mut holder, "begin tran select * from t with (updlock) where id = 1");
        std::thread::scope(|threads| {
            let changing = threads.spawn(|| run(&mut session(&instance), change));
            let waiting = "select count(*) from sys.dm_tran_locks where request_status = 'WAIT'";
            while answers::rows(&mut other, waiting) != "1" {
                assert!(!changing.is_finished(), "{change} has not waited");
                std::thread::yield_now();
            }
            answers::run(
                &mut other,
                &["update t set b = 9 where id = 2", "delete t where id = 3"],
            );
            run(&mut holder, "commit");
            changing.join().unwrap();
        });
        let left = answers::rows(&mut other, "select id, b, c from t order by id");
        assert_eq!(left, expected, "{shape}: {change}");
    }
}

/// A demonstration left one row uncommitted, and went on in another session with `INSERT ... SELECT TOP (300)`, which waited for the whole table:
/// pages are filled under an exclusive lock. Few rows did not wait, and on SQL Server many do not either.
#[test]
fn an_insert_of_many_rows_does_not_wait_for_a_row_that_another_has_inserted() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut writer, mut other) = (session(&instance), session(&instance));
    run(
        &mut writer,
        "set nocount on create table t (a int, filler char(900) not null default '')
         create table source (a int) declare @i int = 0
         while @i < 1000 begin insert source values (@i) set @i += 1 end",
    );
    run(&mut writer, "begin tran insert t (a) values (-1)");
    run(&mut other, "set nocount on set lock_timeout 30");
    let inserted = run(&mut other, "insert t (a) select a from source select @@rowcount");
    assert!(inserted.contains("\n  1000\n"), "{inserted}");
    // TABLOCK asks for the whole table, and waits for it.
    let waits = run(&mut other, "insert t with (tablock) (a) select a from source");
    assert!(waits.contains("Msg 1222"), "{waits}");
    run(&mut writer, "rollback");
    assert!(run(&mut other, "select count(*), min(a) from t").contains("1000"));
}

#[test]
fn a_cancelled_batch_ends_and_the_session_goes_on() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut session = session(&instance);
    let cancel = session.cancel_flag();
    let stopper = std::thread::spawn({
        let cancel = cancel.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            cancel.store(true, Ordering::Relaxed);
        }
    });
    let mut transcript = Transcript::default();
    let outcome = session.execute("declare @i int = 0 while 1 = 1 set @i = 1", &mut transcript);
    assert_eq!((outcome, transcript.text.as_str()), (BatchOutcome::Cancelled, ""));
    stopper.join().unwrap();
    // A cancellation that comes before its request is not lost: the caller that hands requests over clears the flag.
    assert!(run(&mut session, "declare @i int = 0 while 1 = 1 set @i = 1").ends_with("Cancelled"));
    cancel.store(false, Ordering::Relaxed);
    assert!(run(&mut session, "select 1").ends_with("Completed"));
}

#[test]
fn a_killed_session_is_disconnected() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let (mut victim, mut killer) = (session(&instance), session(&instance));
    assert!(run(&mut killer, &format!("kill {}", victim.id())).ends_with("Completed"));
    assert_eq!(run(&mut victim, "select 1"), "Disconnected");
}

#[test]
fn a_deadlock_has_one_victim() {
    let instance = instance_with(Arc::new(SystemClock::new()));
    let mut first = session(&instance);
    run(
        &mut first,
        "create table x (a int) insert x values (1) create table y (a int) insert y values (1)",
    );
    run(&mut first, "begin tran update x set a = 2");
    let other_instance = instance.clone();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let other = std::thread::spawn(move || {
        let mut second = session(&other_instance);
        run(&mut second, "begin tran update y set a = 3");
        ready.send(()).unwrap();
        run(&mut second, "update x set a = 3 select @@trancount t")
    });
    is_ready.recv().unwrap();
    let found = run(&mut first, "update y set a = 2 commit");
    let other = other.join().unwrap();
    let victims = [&found, &other]
        .iter()
        .filter(|answer| answer.contains("Msg 1205"))
        .count();
    assert_eq!(victims, 1, "{found}\n{other}");
}

/// WAITFOR slept by the machine's clock. On a modelled disk, where nobody waits for time, a script that waited for an hour took one, and what
/// it measured afterwards was none.
#[test]
fn waitfor_goes_by_the_clock_of_the_instance() {
    let instance = instance();
    let mut session = session(&instance);
    let delay =
        "declare @begun datetime = getdate() waitfor delay '10:30:00' select datediff(minute, @begun, getdate())";
    let answer = run(&mut session, delay);
    assert!(answer.contains("\n  630\n"), "{answer}");
    let answer = run(
        &mut session,
        "waitfor time '12:34' select convert(char(5), getdate(), 108)",
    );
    assert!(answer.contains("\n  12:34\n"), "{answer}");
    let waits = "select waiting_tasks_count, case when wait_time_ms > 37800000 then 'long' end from sys.dm_os_wait_stats \
                 where wait_type = 'WAITFOR'";
    let answer = run(&mut session, waits);
    assert!(answer.contains("\n  2 | long\n"), "{answer}");
    session.cancel_flag().store(true, Ordering::Relaxed);
    assert!(run(&mut session, "waitfor delay '10:00:00'").ends_with("Cancelled"));
}
